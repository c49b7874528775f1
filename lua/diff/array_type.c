// Basic behaviour of arrays: reading and assigning numbers, conversion to text, and the metatable.
#include "lua/diff/array.h"

#include "linalg/dense.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- Reading numbers --------------------------------------------------------------------------

static int array_length_of(const S2LuaArray *array) {
  return array->shape.axes == 1 ? array->shape.columns : array->shape.rows;
}

// Pushes a block, or a number if the shape has no axes.
static void array_push_block(lua_State *L, const S2LuaArray *array, const S2ArrayBlock *block,
                             S2Size shape) {
  S2Array from = s2_lua_array_view(L, array);
  if (shape.axes == 0) {
    double value = from.data[block->start];
    S2Var var = from.var == 0 ? 0 : s2_tape_element(s2_lua_tape(L), from.var, (int)block->start);
    s2_lua_array_push_number(L, value, var);
    return;
  }
  s2_lua_push_block(L, &from, block, shape);
}

static void array_push_row(lua_State *L, const S2LuaArray *array, int row) {
  S2Size shape = array->shape;
  const S2ArrayBlock block = {1, shape.columns, (ptrdiff_t)row * shape.columns, 0, 1};
  array_push_block(L, array, &block, s2_size_list(shape.columns));
}

// Pushes element `index` (from 1) of a list, or row `index` of a matrix. For the index after the
// last one, pushes nil, which ends a loop with ipairs.
static int array_index_by_integer(lua_State *L, const S2LuaArray *array, lua_Integer index) {
  int length = array_length_of(array);
  if (index < 1 || index > length) {
    if (index == (lua_Integer)length + 1) {
      lua_pushnil(L);
      return 1;
    }
    char text[S2_SIZE_TEXT];
    return s2_lua_fail(L, "index %lld is out of range for an array of shape %s", (long long)index,
                       s2_size_text(array->shape, text));
  }
  // Rows are frozen copies: an assignment to a copy would be lost.
  if (array->shape.axes == 2) {
    array_push_row(L, array, (int)index - 1);
    s2_lua_array_test(L, -1)->frozen = true;
  } else if (array->var == 0) {
    lua_pushnumber(L, array->data[index - 1]);
  } else {
    const S2ArrayBlock block = {1, 1, (ptrdiff_t)index - 1, 0, 0};
    array_push_block(L, array, &block, s2_size_number());
  }
  return 1;
}

// The position of a[{i, j}], or of a[{i}] in a list. Raises an error if the element does not exist.
static ptrdiff_t array_place_of(lua_State *L, const S2LuaArray *array, int key) {
  S2Size shape = array->shape;
  const int axes = shape.axes == 1 ? 1 : 2;
  const int limits[] = {axes == 1 ? shape.columns : shape.rows, shape.columns};
  lua_Integer at[2] = {1, 1};
  char text[S2_SIZE_TEXT];
  if (lua_rawlen(L, key) != (lua_Unsigned)axes) {
    s2_lua_fail(L, "%d indices do not fit an array of shape %s", (int)lua_rawlen(L, key),
                s2_size_text(shape, text));
  }
  // There is one index per axis, each an integer within the shape.
  for (int i = 0; i < axes; i++) {
    lua_rawgeti(L, key, i + 1);
    if (!s2_value_whole(L, -1, &at[i])) {
      char found[S2_LUA_TEXT];
      s2_lua_fail(L, "index {i, j} of an array: integer expected, got %s",
                  s2_lua_describe(L, -1, found));
    }
    lua_pop(L, 1);
    if (at[i] < 1 || at[i] > limits[i]) {
      s2_lua_fail(L, "index %lld is outside 1 to %d, for an array of shape %s", (long long)at[i],
                  limits[i], s2_size_text(shape, text));
    }
  }
  return axes == 1 ? (ptrdiff_t)at[0] - 1
                   : ((ptrdiff_t)at[0] - 1) * shape.columns + (ptrdiff_t)at[1] - 1;
}

// Names of the elements of lists with two numbers (x, y) and three numbers (a, x, y; for velocities
// va, vx, vy).
typedef enum Field { FIELD_SHAPE = 1, FIELD_SIZE, FIELD_A, FIELD_X, FIELD_Y } Field;

static const struct {
  const char *name;
  Field field;
} fields[] = {{"shape", FIELD_SHAPE}, {"size", FIELD_SIZE}, {"a", FIELD_A},
              {"x", FIELD_X},         {"y", FIELD_Y},       {"va", FIELD_A},
              {"angular", FIELD_A},   {"vx", FIELD_X},      {"vy", FIELD_Y}};

// Index (from 1) of the element named by `key`.
static int array_named_index(lua_State *L, const S2LuaArray *array, Field field, int key) {
  int size = array->shape.axes == 1 ? array->shape.columns : 0;
  int index = (int)field - (size == 2 ? (int)FIELD_A : (int)FIELD_A - 1);
  if ((size != 2 && size != 3) || index < 1) {
    char text[S2_SIZE_TEXT];
    s2_lua_fail(L,
                "an array of shape %s has no field '%s': lists of two numbers have x, y, lists "
                "of three a, x, y",
                s2_size_text(array->shape, text), lua_tostring(L, key));
  }
  return index;
}

static int array_push_shape(lua_State *L, const S2LuaArray *array) {
  lua_createtable(L, array->shape.axes, 0);
  lua_pushinteger(L, array_length_of(array));
  lua_rawseti(L, -2, 1);
  if (array->shape.axes == 2) {
    lua_pushinteger(L, array->shape.columns);
    lua_rawseti(L, -2, 2);
  }
  return 1;
}

// Upvalue 1 maps names to methods and field numbers.
static int array_index(lua_State *L) {
  const S2LuaArray *array = s2_lua_array_check(L, 1);
  lua_Integer index;
  if (s2_value_whole(L, 2, &index)) {
    return array_index_by_integer(L, array, index);
  }
  // a[{i, j}]
  if (lua_type(L, 2) == LUA_TTABLE) {
    ptrdiff_t at = array_place_of(L, array, 2);
    const S2ArrayBlock block = {1, 1, at, 0, 0};
    array_push_block(L, array, &block, s2_size_number());
    return 1;
  }
  // The key is a method or a field: shape, size, a, x, y.
  lua_pushvalue(L, 2);
  int type = lua_rawget(L, lua_upvalueindex(1));
  if (type == LUA_TNIL) {
    return s2_lua_no_field(L, "Array", 2, lua_upvalueindex(1));
  }
  if (type != LUA_TNUMBER) {
    return 1;
  }
  Field field = (Field)lua_tointeger(L, -1);
  if (field == FIELD_SHAPE) {
    return array_push_shape(L, array);
  }
  if (field == FIELD_SIZE) {
    lua_pushinteger(L, (lua_Integer)s2_size_count(array->shape));
    return 1;
  }
  return array_index_by_integer(L, array, array_named_index(L, array, field, 2));
}

// ---- Assigning --------------------------------------------------------------------------------

// Reads the assigned number at stack index 3.
static double array_assigned_number(lua_State *L) {
  double value;
  S2Var var;
  char text[S2_LUA_TEXT];
  if (s2_lua_tracked_test(L, 3, &value, &var)) {
    s2_lua_fail(L, "a tracked number cannot be assigned into an array: make a new array of all "
                   "its numbers with sim.array{...}, or join parts with sim.concat");
  }
  if (lua_type(L, 3) != LUA_TNUMBER) {
    s2_lua_fail(L, "number expected, got %s", s2_lua_describe(L, 3, text));
  }
  if (!isfinite(lua_tonumber(L, 3))) {
    s2_lua_fail(L, "finite number expected, got %s", s2_lua_describe(L, 3, text));
  }
  return lua_tonumber(L, 3);
}

static void array_assign_row(lua_State *L, S2LuaArray *array, lua_Integer row) {
  size_t width = (size_t)array->shape.columns;
  double number, *to = array->data + ((size_t)row - 1) * width;
  if (lua_type(L, 3) == LUA_TNUMBER) {
    number = array_assigned_number(L);
    for (size_t i = 0; i < width; i++) {
      to[i] = number;
    }
    return;
  }
  S2Array from = s2_lua_array_operand(L, 3, &number);
  if (from.var != 0) {
    s2_lua_fail(L, "a tracked array cannot be assigned into another array: make the whole "
                   "array with sim.array{...} or sim.concat");
  }
  if (from.shape.axes != 1 || from.shape.columns != array->shape.columns) {
    char text[S2_SIZE_TEXT], row_text[S2_SIZE_TEXT];
    s2_lua_fail(L, "a row of %s numbers expected, got shape %s",
                s2_size_text(s2_size_list(array->shape.columns), row_text),
                s2_size_text(from.shape, text));
  }
  memmove(to, from.data, width * sizeof *to);
}

static int array_newindex(lua_State *L) {
  S2LuaArray *array = s2_lua_array_check(L, 1);
  int length = array_length_of(array);
  if (array->var != 0) {
    return s2_lua_fail(L, "a tracked array is read-only: make a new one, with arithmetic, "
                          "sim.array{...} or sim.concat");
  }
  if (array->frozen) {
    return s2_lua_fail(L, "a[i] of a matrix is a copy: assign a[{i, j}] or a whole row, a[i] = "
                          "{...}; a:row(i) gives a copy that can be changed");
  }
  // a[{i, j}]
  if (lua_type(L, 2) == LUA_TTABLE) {
    ptrdiff_t at = array_place_of(L, array, 2);
    array->data[at] = array_assigned_number(L);
    return 0;
  }
  // a[i], or a field whose number is in the table of methods
  lua_Integer index;
  if (!s2_value_whole(L, 2, &index)) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNUMBER || lua_tointeger(L, -1) < FIELD_A) {
      char text[S2_LUA_TEXT];
      return s2_lua_fail(L, "an array has no field %s that can be assigned",
                         s2_lua_describe(L, 2, text));
    }
    index = array_named_index(L, array, (Field)lua_tointeger(L, -1), 2);
  }
  if (index < 1 || index > length) {
    char text[S2_SIZE_TEXT];
    return s2_lua_fail(L,
                       "index %lld is out of range for an array of shape %s: an array does not "
                       "grow; use sim.concat",
                       (long long)index, s2_size_text(array->shape, text));
  }
  // In a matrix the assignment replaces a whole row.
  if (array->shape.axes == 2) {
    array_assign_row(L, array, index);
  } else {
    array->data[index - 1] = array_assigned_number(L);
  }
  return 0;
}

static int array_length(lua_State *L) {
  lua_pushinteger(L, array_length_of(s2_lua_array_check(L, 1)));
  return 1;
}

// ---- Text -------------------------------------------------------------------------------------

enum {
  NUMBER_TEXT = 32,
  LIST_DIGITS = 14, // significant digits, as in the output of Lua and of vectors
  MATRIX_DIGITS = 6,
  SHOWN = 1000, // larger arrays are abbreviated
  EDGE = 3      // rows and columns shown at each end of a larger array
};

// A float keeps its decimal point, as in Lua.
static const char *array_number_text(const S2LuaArray *array, double value,
                                     char text[NUMBER_TEXT]) {
  int digits = array->shape.axes == 2 ? MATRIX_DIGITS : LIST_DIGITS;
  // nan is printed without a sign.
  snprintf(text, NUMBER_TEXT, "%.*g", digits, isnan(value) ? fabs(value) : value);
  if (text[strspn(text, "-0123456789")] == '\0') {
    size_t length = strlen(text);
    memcpy(text + length, ".0", 3);
  }
  return text;
}

// True if row or column i of n is not shown.
static bool array_left_out(const S2LuaArray *array, int i, int n) {
  return s2_size_count(array->shape) > SHOWN && n > 2 * EDGE && i >= EDGE && i < n - EDGE;
}

static int array_column_width(const S2LuaArray *array, int column) {
  char text[NUMBER_TEXT];
  int widest = 0;
  for (int i = 0; i < array->shape.rows; i++) {
    // Only rows that are shown determine the width.
    if (!array_left_out(array, i, array->shape.rows)) {
      double value = array->data[(size_t)i * (size_t)array->shape.columns + (size_t)column];
      int width = (int)strlen(array_number_text(array, value, text));
      widest = width > widest ? width : widest;
    }
  }
  return widest;
}

static void array_add_row(luaL_Buffer *out, const S2LuaArray *array, int row) {
  char text[NUMBER_TEXT], padded[2 * NUMBER_TEXT];
  int columns = array->shape.columns;
  luaL_addstring(out, "{");
  for (int j = 0; j < columns; j++) {
    luaL_addstring(out, j == 0 ? "" : ", ");
    // Skip from the first omitted column to the last.
    if (array_left_out(array, j, columns)) {
      luaL_addstring(out, "...");
      j = columns - EDGE - 1;
      continue;
    }
    array_number_text(array, array->data[(size_t)row * (size_t)columns + (size_t)j], text);
    // The columns of a matrix are aligned.
    int width = array->shape.axes == 2 ? array_column_width(array, j) : 0;
    snprintf(padded, sizeof padded, "%*s", width, text);
    luaL_addstring(out, padded);
  }
  luaL_addstring(out, "}");
}

static int array_tostring(lua_State *L) {
  const S2LuaArray *array = s2_lua_array_check(L, 1);
  luaL_Buffer out;
  luaL_buffinit(L, &out);
  // A list is printed on one line, and a matrix with one line per row. The middle of a large array
  // is omitted.
  if (array->shape.axes == 1) {
    array_add_row(&out, array, 0);
  } else {
    luaL_addstring(&out, "{");
    for (int i = 0; i < array->shape.rows; i++) {
      luaL_addstring(&out, i == 0 ? "" : ",\n ");
      if (array_left_out(array, i, array->shape.rows)) {
        luaL_addstring(&out, "...");
        i = array->shape.rows - EDGE - 1;
        continue;
      }
      array_add_row(&out, array, i);
    }
    luaL_addstring(&out, "}");
  }
  luaL_addstring(&out, array->var != 0 ? " (tracked)" : "");
  luaL_pushresult(&out);
  return 1;
}

void s2_lua_open_array(lua_State *L) {
  static const luaL_Reg by_name[] = {
      {"__index", array_index}, {"__newindex", array_newindex}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__len", array_length}, {"__tostring", array_tostring}, {NULL, NULL}};
  s2_dense_single_threaded();
  s2_lua_diff(L)->arrays = s2_lua_array_takes_over;
  s2_lua_metatable(L, s2_type_array);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, s2_type_array);
  luaL_setfuncs(L, meta, 0);
  luaL_setfuncs(L, s2_array_operators, 0);
  lua_newtable(L);
  s2_lua_functions(L, s2_array_methods, 0);
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    lua_pushinteger(L, (lua_Integer)fields[i].field);
    lua_setfield(L, -2, fields[i].name);
  }
  luaL_setfuncs(L, by_name, 1);
  lua_pop(L, 1);
}
