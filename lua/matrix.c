#include "matrix.h"

#include "errors.h"

#include <limits.h>

static double *take_numbers(lua_State *L, size_t count) {
  return lua_newuserdatauv(L, sizeof(double) * (count + 1), 0);
}

// Length of the list at `index`. A table with other keys only would pass for an empty list.
static int list_length(lua_State *L, int index, const char *what, const char *expected) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, index) != LUA_TTABLE) {
    s2_lua_fail(L, "%s: %s expected, got %s", what, expected, s2_lua_describe(L, index, text));
  }
  lua_Unsigned length = lua_rawlen(L, index);
  if (length > INT_MAX) {
    s2_lua_fail(L, "%s: too long", what);
  }
  if (length == 0) {
    lua_pushnil(L);
    if (lua_next(L, index) != 0) {
      s2_lua_fail(L, "%s: %s expected, got a table with the key %s", what, expected,
                  s2_lua_describe(L, -2, text));
    }
  }
  return (int)length;
}

// Reads `count` numbers of the list at `index`; row < 0 stands for a plain vector.
static void read_numbers(lua_State *L, int index, const char *what, int row, int count,
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

double *s2_lua_check_vector(lua_State *L, int index, const char *what, int wanted, int *count) {
  index = lua_absindex(L, index);
  int length = list_length(L, index, what, "list of numbers");
  if (wanted >= 0 && length != wanted) {
    s2_lua_fail(L, "%s: %d numbers expected, got %d", what, wanted, length);
  }
  double *numbers = take_numbers(L, (size_t)length);
  read_numbers(L, index, what, -1, length, numbers);
  *count = length;
  return numbers;
}

double *s2_lua_check_matrix(lua_State *L, int index, const char *what, int wanted_rows,
                            int wanted_columns, int *rows, int *columns) {
  index = lua_absindex(L, index);
  char text[S2_LUA_TEXT];
  int height = list_length(L, index, what, "list of rows"), width = 0;
  if (wanted_rows >= 0 && height != wanted_rows) {
    s2_lua_fail(L, "%s: %d rows expected, got %d", what, wanted_rows, height);
  }
  if (height == 0 && wanted_columns > 0) {
    width = wanted_columns; // no rows of any length
  }
  double *numbers = NULL;
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
      // Under the row, where the caller finds it when the rows are gone.
      numbers = take_numbers(L, (size_t)height * (size_t)width);
      lua_insert(L, -2);
    }
    read_numbers(L, lua_gettop(L), what, i, width, numbers + (size_t)i * (size_t)width);
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
