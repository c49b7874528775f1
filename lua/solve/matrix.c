#include "lua/solve/matrix.h"

#include "lua/diff/array.h"

#include <limits.h>
#include <string.h>

static double *take_numbers(lua_State *L, size_t count) {
  return lua_newuserdatauv(L, sizeof(double) * (count + 1), 0);
}

// Returns the length of the list at `index`. Raises an error for a table that has only other keys,
// because it would look like an empty list.
static int matrix_list_length(lua_State *L, int index, const char *what, const char *expected) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, index) != LUA_TTABLE) {
    s2_lua_fail(L, "%s: %s expected, got %s", what, expected, s2_lua_describe(L, index, text));
  }
  lua_Unsigned length = lua_rawlen(L, index);
  if (length > INT_MAX) {
    s2_lua_fail(L, "%s: too long", what);
  }
  // A table without list elements but with other keys is a mistake, not an empty list.
  if (length == 0) {
    lua_pushnil(L);
    if (lua_next(L, index) != 0) {
      s2_lua_fail(L, "%s: %s expected, got a table with the key %s", what, expected,
                  s2_lua_describe(L, -2, text));
    }
  }
  return (int)length;
}

// Reads `count` numbers of the list at `index`. If row < 0, the list is a vector.
static void matrix_read_numbers(lua_State *L, int index, const char *what, int row, int count,
                                double *numbers) {
  char text[S2_LUA_TEXT];
  for (int i = 0; i < count; i++) {
    if (lua_rawgeti(L, index, i + 1) != LUA_TNUMBER) {
      s2_lua_describe(L, -1, text);
      if (row < 0) {
        s2_lua_fail(L, "%s[%d]: number expected, got %s", what, i + 1, text);
      }
      s2_lua_fail(L, "%s[%d][%d]: number expected, got %s", what, row + 1, i + 1, text);
    }
    numbers[i] = lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
}

// Copies the numbers of an array with `axes` axes.
static double *copy_array(lua_State *L, const S2LuaArray *array, const char *what, int axes) {
  char text[S2_SIZE_TEXT];
  if (array->shape.axes != axes) {
    s2_lua_fail(L, "%s: %s expected, got an array of shape %s", what,
                axes == 1 ? "list of numbers" : "matrix", s2_size_text(array->shape, text));
  }
  // A tracked array would silently lose its derivatives.
  if (array->var != 0) {
    s2_lua_fail(L, "%s: this argument has no derivative yet; a:value() gives the plain array",
                what);
  }
  size_t size = s2_size_count(array->shape);
  double *numbers = take_numbers(L, size);
  memcpy(numbers, array->data, size * sizeof *numbers);
  return numbers;
}

static double *vector_of_array(lua_State *L, const S2LuaArray *array, const char *what, int wanted,
                               int *count) {
  double *numbers = copy_array(L, array, what, 1);
  *count = array->shape.columns;
  if (wanted >= 0 && *count != wanted) {
    s2_lua_fail(L, "%s: %d numbers expected, got %d", what, wanted, *count);
  }
  return numbers;
}

double *s2_lua_check_vector(lua_State *L, int index, const char *what, int wanted, int *count) {
  index = lua_absindex(L, index);
  const S2LuaArray *array = s2_lua_array_test(L, index);
  if (array != NULL) {
    return vector_of_array(L, array, what, wanted, count);
  }
  int length = matrix_list_length(L, index, what, "list of numbers");
  if (wanted >= 0 && length != wanted) {
    s2_lua_fail(L, "%s: %d numbers expected, got %d", what, wanted, length);
  }
  double *numbers = take_numbers(L, (size_t)length);
  matrix_read_numbers(L, index, what, -1, length, numbers);
  *count = length;
  return numbers;
}

static double *matrix_of_array(lua_State *L, const S2LuaArray *array, const char *what,
                               int wanted_rows, int wanted_columns, int *rows, int *columns) {
  double *numbers = copy_array(L, array, what, 2);
  *rows = array->shape.rows;
  *columns = array->shape.columns;
  if ((wanted_rows >= 0 && *rows != wanted_rows) ||
      (wanted_columns >= 0 && *columns != wanted_columns)) {
    char text[S2_SIZE_TEXT];
    S2Size wanted = s2_size_matrix(wanted_rows >= 0 ? wanted_rows : *rows,
                                   wanted_columns >= 0 ? wanted_columns : *columns);
    s2_lua_fail(L, "%s: %s matrix expected, got %d x %d", what, s2_size_text(wanted, text), *rows,
                *columns);
  }
  return numbers;
}

double *s2_lua_check_matrix(lua_State *L, int index, const char *what, int wanted_rows,
                            int wanted_columns, int *rows, int *columns) {
  index = lua_absindex(L, index);
  const S2LuaArray *array = s2_lua_array_test(L, index);
  if (array != NULL) {
    return matrix_of_array(L, array, what, wanted_rows, wanted_columns, rows, columns);
  }
  char text[S2_LUA_TEXT];
  int height = matrix_list_length(L, index, what, "list of rows"), width = 0;
  if (wanted_rows >= 0 && height != wanted_rows) {
    s2_lua_fail(L, "%s: %d rows expected, got %d", what, wanted_rows, height);
  }
  if (height == 0 && wanted_columns > 0) {
    width = wanted_columns; // without rows, any width is valid
  }
  double *numbers = NULL;
  // The first row determines the length of all rows, and so the size of the memory.
  for (int i = 0; i < height; i++) {
    if (lua_rawgeti(L, index, i + 1) != LUA_TTABLE) {
      s2_lua_fail(L, "%s[%d]: a row (list of numbers) expected, got %s", what, i + 1,
                  s2_lua_describe(L, -1, text));
    }
    lua_Unsigned length = lua_rawlen(L, -1);
    if (i == 0) {
      width = wanted_columns >= 0 ? wanted_columns : (int)length;
    }
    if (length != (lua_Unsigned)width) {
      s2_lua_fail(L, "%s[%d]: %d numbers expected, got %d", what, i + 1, width, (int)length);
    }
    if (i == 0) {
      // Put the memory below the row on the stack, so that it remains when rows are popped.
      numbers = take_numbers(L, (size_t)height * (size_t)width);
      lua_insert(L, -2);
    }
    matrix_read_numbers(L, lua_gettop(L), what, i, width, numbers + (size_t)i * (size_t)width);
    lua_pop(L, 1);
  }
  *rows = height;
  *columns = width;
  return numbers != NULL ? numbers : take_numbers(L, 0);
}

void s2_lua_push_numbers(lua_State *L, const double *numbers, int count) {
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_pushnumber(L, numbers[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

void s2_lua_push_matrix(lua_State *L, const double *numbers, int rows, int columns) {
  lua_createtable(L, rows, 0);
  for (int i = 0; i < rows; i++) {
    s2_lua_push_numbers(L, numbers + (size_t)i * (size_t)columns, columns);
    lua_rawseti(L, -2, i + 1);
  }
}
