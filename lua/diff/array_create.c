// Creates arrays from tables, from other arrays, or with a given shape.
#include "lua/diff/array.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WHERE = 64 }; // size of the text of an index in a message, such as "[3][1]"

// ---- From tables ------------------------------------------------------------------------------

// An array that is being filled. Tracked numbers and rows become parts of its node.
typedef struct Filling {
  lua_State *L;
  const char *what;
  S2LuaArray *array;
  S2ArrayPart *parts; // userdata at stack index parts_at; NULL before the first tracked number
  int count, parts_at;
} Filling;

static int create_complain(const Filling *filling, const char *where, int index,
                           const char *expected) {
  char text[S2_LUA_TEXT];
  return s2_lua_fail(filling->L, "%s%s: %s expected, got %s", filling->what, where, expected,
                     s2_lua_describe(filling->L, index, text));
}

static void create_add_part(Filling *filling, S2Var var, size_t at, int count) {
  lua_State *L = filling->L;
  if (filling->parts == NULL) {
    size_t most = s2_size_count(filling->array->shape);
    filling->parts = lua_newuserdatauv(L, most * sizeof *filling->parts, 0);
    lua_replace(L, filling->parts_at);
  }
  filling->parts[filling->count] = (S2ArrayPart){var, {1, count, (ptrdiff_t)at, 0, 1}};
  filling->count += 1;
}

static bool create_is_number(lua_State *L, int index) {
  double value;
  S2Var var;
  return lua_type(L, index) == LUA_TNUMBER || s2_lua_tracked_test(L, index, &value, &var);
}

// Stores the number on top of the stack at position `at`.
static void create_fill_number(Filling *filling, size_t at, const char *where) {
  lua_State *L = filling->L;
  double value = 0;
  S2Var var = 0;
  // The value must be a finite number, plain or tracked.
  if (lua_type(L, -1) == LUA_TNUMBER) {
    value = lua_tonumber(L, -1);
  } else if (!s2_lua_tracked_test(L, -1, &value, &var)) {
    create_complain(filling, where, -1, "number");
  }
  if (!isfinite(value)) {
    char text[S2_LUA_TEXT];
    lua_pushnumber(L, value);
    s2_lua_fail(L, "%s%s: finite number expected, got %s", filling->what, where,
                s2_lua_describe(L, -1, text));
  }
  filling->array->data[at] = value;
  if (var != 0) {
    create_add_part(filling, var, at, 1);
  }
}

// Stores the `count` numbers of the table at `index`, starting at position `at`. If row < 0, the
// table is not a row of a matrix.
static void create_fill_list(Filling *filling, int index, size_t at, int count, int row) {
  lua_State *L = filling->L;
  char where[WHERE] = "";
  for (int i = 0; i < count; i++) {
    // Only error messages need the text of the index.
    if (lua_geti(L, index, i + 1) != LUA_TNUMBER || !isfinite(lua_tonumber(L, -1))) {
      if (row < 0) {
        snprintf(where, sizeof where, "[%d]", i + 1);
      } else {
        snprintf(where, sizeof where, "[%d][%d]", row + 1, i + 1);
      }
    }
    create_fill_number(filling, at + (size_t)i, where);
    lua_pop(L, 1);
  }
}

// The length of a row or list if the value is a table, a vector or an array with one axis,
// otherwise -1.
static int create_list_length(lua_State *L, int index) {
  const S2LuaArray *array = s2_lua_array_test(L, index);
  // A matrix cannot be a row.
  if (array != NULL) {
    return array->shape.axes == 1 ? array->shape.columns : -1;
  }
  if (lua_type(L, index) == LUA_TTABLE || s2_lua_test(L, index, s2_type_vector) != NULL) {
    lua_Integer length = luaL_len(L, index);
    return length <= INT32_MAX ? (int)length : -1;
  }
  return -1;
}

// Stores the row on top of the stack.
static void create_fill_row(Filling *filling, int row) {
  lua_State *L = filling->L;
  S2Size shape = filling->array->shape;
  char where[WHERE], expected[WHERE];
  int length = create_list_length(L, -1);
  // All rows must have the length of the first row.
  if (length != shape.columns) {
    snprintf(where, sizeof where, "[%d]", row + 1);
    if (length >= 0) {
      s2_lua_fail(L, "%s%s: %d numbers expected, got %d", filling->what, where, shape.columns,
                  length);
    }
    snprintf(expected, sizeof expected, "a row of %d numbers", shape.columns);
    create_complain(filling, where, -1, expected);
  }
  // Tables are read number by number. Arrays are copied as a block.
  size_t at = (size_t)row * (size_t)shape.columns;
  const S2LuaArray *array = s2_lua_array_test(L, -1);
  if (array == NULL) {
    create_fill_list(filling, lua_gettop(L), at, length, row);
    return;
  }
  S2Array view = s2_lua_array_view(L, array);
  memcpy(filling->array->data + at, view.data, (size_t)length * sizeof *view.data);
  if (view.var != 0 && length > 0) {
    create_add_part(filling, view.var, at, length);
  }
}

// Adds a node for the tracked parts of the array.
static void create_finish(Filling *filling) {
  if (filling->count > 0) {
    S2LuaArray *array = filling->array;
    S2Var var = s2_note_join(s2_lua_tape(filling->L), filling->count, filling->parts,
                             s2_size_count(array->shape), array->data);
    s2_lua_array_track(filling->L, array, var);
  }
}

// Rejects tables without list elements but with other keys, since they would look like empty lists.
static void create_refuse_keys(const Filling *filling, int index) {
  lua_State *L = filling->L;
  char text[S2_LUA_TEXT];
  lua_pushnil(L);
  if (lua_next(L, index) != 0) {
    s2_lua_fail(L, "%s: list of numbers or of rows expected, got a table with the key %s",
                filling->what, s2_lua_describe(L, -2, text));
  }
}

S2LuaArray *s2_lua_array_from(lua_State *L, int index, const char *what) {
  index = lua_absindex(L, index);
  Filling filling = {.L = L, .what = what};
  // The lengths of the list and of its first row give the shape.
  int length = create_list_length(L, index);
  if (length < 0) {
    create_complain(&filling, "", index, "list of numbers or of rows");
  }
  if (length == 0 && lua_type(L, index) == LUA_TTABLE) {
    create_refuse_keys(&filling, index);
  }
  int width = -1;
  if (length > 0) {
    lua_geti(L, index, 1);
    width = create_is_number(L, -1) ? -1 : create_list_length(L, -1);
    if (width < 0 && !create_is_number(L, -1)) {
      create_complain(&filling, "[1]", -1, "number or row");
    }
    lua_pop(L, 1);
  }
  // Store the numbers, then join the tracked parts in one node.
  lua_pushnil(L); // slot for the userdata of the tracked parts
  filling.parts_at = lua_gettop(L);
  filling.array =
      s2_lua_array_push(L, width < 0 ? s2_size_list(length) : s2_size_matrix(length, width));
  if (width < 0) {
    create_fill_list(&filling, index, 0, length, -1);
  }
  for (int i = 0; width >= 0 && i < length; i++) {
    lua_geti(L, index, i + 1);
    create_fill_row(&filling, i);
    lua_pop(L, 1);
  }
  create_finish(&filling);
  lua_remove(L, filling.parts_at);
  return filling.array;
}

S2Array s2_lua_array_operand(lua_State *L, int index, double *number) {
  if (lua_type(L, index) == LUA_TNUMBER) {
    *number = lua_tonumber(L, index);
    return (S2Array){s2_size_number(), number, 0};
  }
  const S2LuaArray *array = s2_lua_array_test(L, index);
  S2Var var = 0;
  if (array == NULL && s2_lua_tracked_test(L, index, number, &var)) {
    return (S2Array){s2_size_number(), number, var};
  }
  if (array == NULL) {
    index = lua_absindex(L, index);
    array = s2_lua_array_from(L, index, "arithmetic on an array");
    lua_replace(L, index);
  }
  return s2_lua_array_view(L, array);
}

bool s2_lua_array_is_operand(lua_State *L, int index) {
  double number;
  S2Var var;
  return lua_type(L, index) == LUA_TTABLE || lua_type(L, index) == LUA_TNUMBER ||
         s2_lua_array_test(L, index) != NULL || s2_lua_tracked_test(L, index, &number, &var);
}

// ---- Shapes -----------------------------------------------------------------------------------

static int create_read_size(lua_State *L, int index, int argument) {
  lua_Integer size;
  if (!s2_value_whole(L, index, &size) || size < 0 || size > INT32_MAX) {
    char text[S2_LUA_TEXT];
    s2_lua_bad_argument(L, argument, "shape: integer not below 0 expected, got %s",
                        s2_lua_describe(L, index, text));
  }
  return (int)size;
}

// Reads a shape from arguments `first` to `last`. They are the length n, the numbers of rows and
// columns, or one table with these.
static S2Size create_read_shape(lua_State *L, int first, int last) {
  int count = last - first + 1, size[2] = {0, 0};
  bool in_table = count == 1 && lua_type(L, first) == LUA_TTABLE;
  if (in_table) {
    count = (int)lua_rawlen(L, first);
  }
  if (count < 1 || count > 2) {
    s2_lua_bad_argument(L, first, "shape expected: a length, or rows and columns; got %d numbers",
                        count);
  }
  for (int i = 0; i < count; i++) {
    if (in_table) {
      lua_rawgeti(L, first, i + 1);
      size[i] = create_read_size(L, -1, first);
      lua_pop(L, 1);
    } else {
      size[i] = create_read_size(L, first + i, first + i);
    }
  }
  return count == 1 ? s2_size_list(size[0]) : s2_size_matrix(size[0], size[1]);
}

// Pushes a copy of the array on top of the stack in another shape with the same number of elements.
static int create_push_reshaped(lua_State *L, S2Size shape) {
  const S2LuaArray *array = s2_lua_array_test(L, -1);
  S2Array from = s2_lua_array_view(L, array);
  if (s2_size_count(shape) != s2_size_count(from.shape)) {
    char had[S2_SIZE_TEXT], wanted[S2_SIZE_TEXT];
    return s2_lua_fail(L, "an array of shape %s cannot be reshaped to %s",
                       s2_size_text(from.shape, had), s2_size_text(shape, wanted));
  }
  S2LuaArray *out = s2_lua_array_push(L, shape);
  int size = (int)s2_size_count(shape);
  const S2ArrayBlock block = {1, size, 0, 0, 1};
  s2_array_gather(&block, from.data, out->data);
  if (from.var != 0) {
    s2_lua_array_track(L, out, s2_note_gather(s2_lua_tape(L), &block, &from, out->data));
  }
  return 1;
}

int s2_lua_array_reshape(lua_State *L) {
  s2_lua_array_check(L, 1);
  S2Size shape = create_read_shape(L, 2, lua_gettop(L));
  lua_pushvalue(L, 1);
  return create_push_reshaped(L, shape);
}

static int create_array(lua_State *L) {
  int last = lua_gettop(L);
  const S2LuaArray *copied = s2_lua_array_test(L, 1);
  S2Size shape = last > 1         ? create_read_shape(L, 2, last)
                 : copied != NULL ? copied->shape
                                  : s2_size_number();
  if (copied != NULL) {
    lua_pushvalue(L, 1);
  } else {
    s2_lua_array_from(L, 1, "array");
  }
  return last > 1 || copied != NULL ? create_push_reshaped(L, shape) : 1;
}

static int create_push_filled(lua_State *L, double value) {
  S2LuaArray *array = s2_lua_array_push(L, create_read_shape(L, 1, lua_gettop(L)));
  size_t size = s2_size_count(array->shape);
  for (size_t i = 0; i < size; i++) {
    array->data[i] = value;
  }
  return 1;
}

static int create_zeros(lua_State *L) {
  return create_push_filled(L, 0);
}

static int create_ones(lua_State *L) {
  return create_push_filled(L, 1);
}

static int create_eye(lua_State *L) {
  int n = s2_lua_array_integer(L, 1, 0, INT32_MAX);
  S2LuaArray *array = s2_lua_array_push(L, s2_size_matrix(n, n));
  size_t size = s2_size_count(array->shape);
  for (size_t i = 0; i < size; i++) {
    array->data[i] = i % ((size_t)n + 1) == 0;
  }
  return 1;
}

// The last argument may be a random generator.
static int create_randn(lua_State *L) {
  int last = lua_gettop(L);
  S2LuaRandom *random = s2_lua_test(L, last, s2_type_random);
  S2Size shape = create_read_shape(L, 1, random != NULL ? last - 1 : last);
  random = random != NULL ? random : s2_lua_session(L)->random;
  S2LuaArray *array = s2_lua_array_push(L, shape);
  size_t size = s2_size_count(shape);
  for (size_t i = 0; i < size; i++) {
    array->data[i] = s2_rng_normal(&random->rng);
  }
  return 1;
}

// Returns n evenly spaced numbers from a to b, both included.
static int create_linspace(lua_State *L) {
  double a = s2_argument_number(L, 1, S2_ANY_NUMBER), b = s2_argument_number(L, 2, S2_ANY_NUMBER);
  int n = s2_lua_array_integer(L, 3, 0, INT32_MAX);
  S2LuaArray *array = s2_lua_array_push(L, s2_size_list(n));
  for (int i = 0; i < n; i++) {
    double part = n > 1 ? (double)i / (n - 1) : 0;
    array->data[i] = part == 1 ? b : (1 - part) * a + part * b;
  }
  return 1;
}

// ---- Out of several ---------------------------------------------------------------------------

// Pushes the elements of the list at index 1 as arrays and returns their number. Raises an error if
// an element is not an array.
static int create_push_parts(lua_State *L) {
  char text[S2_LUA_TEXT];
  if (lua_type(L, 1) != LUA_TTABLE || lua_rawlen(L, 1) == 0) {
    s2_lua_bad_argument(L, 1, "list of arrays expected, got %s",
                        lua_type(L, 1) == LUA_TTABLE ? "an empty table"
                                                     : s2_lua_describe(L, 1, text));
  }
  lua_Unsigned count = lua_rawlen(L, 1);
  if (count > INT32_MAX || !lua_checkstack(L, (int)count + LUA_MINSTACK)) {
    s2_lua_bad_argument(L, 1, "%llu arrays are too many", (unsigned long long)count);
  }
  for (int i = 1; i <= (int)count; i++) {
    lua_rawgeti(L, 1, i);
    if (s2_lua_array_test(L, -1) == NULL) {
      char what[WHERE];
      snprintf(what, sizeof what, "part %d", i);
      s2_lua_array_from(L, -1, what);
      lua_replace(L, -2);
    }
  }
  return (int)count;
}

// Joins `count` arrays, starting at stack index `first`, along rows (axis 1) or columns (axis 2).
// All are treated as matrices. Lists become rows, or columns if `upright`.
static void create_join(lua_State *L, int first, int count, int axis, bool upright, S2Size shape) {
  // Copy each array into its block. The next block is below or beside this block.
  S2ArrayPart *parts = lua_newuserdatauv(L, (size_t)count * sizeof *parts, 0);
  S2LuaArray *out = s2_lua_array_push(L, shape);
  ptrdiff_t at = 0, width = shape.columns;
  bool tracked = false;
  for (int i = 0; i < count; i++) {
    S2Array part = s2_lua_array_view(L, s2_lua_array_test(L, first + i));
    bool turned = upright && part.shape.axes == 1;
    int rows = turned ? part.shape.columns : part.shape.rows;
    int columns = turned ? part.shape.rows : part.shape.columns;
    parts[i] = (S2ArrayPart){part.var, {rows, columns, at, width, 1}};
    s2_array_scatter(&parts[i].block, part.data, out->data);
    at += axis == 1 ? (ptrdiff_t)rows * width : columns;
    tracked = tracked || part.var != 0;
  }
  if (tracked) {
    S2Var var = s2_note_join(s2_lua_tape(L), count, parts, s2_size_count(shape), out->data);
    s2_lua_array_track(L, out, var);
  }
}

static int create_unlike(lua_State *L, const char *verb, int i, S2Size a, S2Size b) {
  char a_text[S2_SIZE_TEXT], b_text[S2_SIZE_TEXT];
  return s2_lua_fail(L, "%s: part %d of shape %s does not fit part 1 of shape %s", verb, i,
                     s2_size_text(b, b_text), s2_size_text(a, a_text));
}

static int create_optional_axis(lua_State *L) {
  return lua_isnoneornil(L, 2) ? 1 : s2_lua_array_integer(L, 2, 1, 2);
}

// Joins lists end to end. Joins matrices below one another (axis 1) or side by side (axis 2).
static int create_concat(lua_State *L) {
  int axis = create_optional_axis(L);
  lua_settop(L, 1);
  int count = create_push_parts(L);
  S2Size like = s2_lua_array_test(L, 2)->shape;
  if (like.axes == 1 && axis == 2) {
    return s2_lua_fail(L, "concat: lists have no axis 2; sim.stack makes a matrix of them");
  }
  // All arrays must have the same length along the other axis.
  bool along_columns = like.axes == 1 || axis == 2;
  int64_t rows = like.rows, columns = like.columns;
  for (int i = 2; i <= count; i++) {
    S2Size shape = s2_lua_array_test(L, i + 1)->shape;
    bool fits = shape.axes == like.axes &&
                (along_columns ? shape.rows == like.rows : shape.columns == like.columns);
    if (!fits) {
      return create_unlike(L, "concat", i, like, shape);
    }
    rows += along_columns ? 0 : shape.rows;
    columns += along_columns ? shape.columns : 0;
  }
  if (rows > INT32_MAX || columns > INT32_MAX) {
    return s2_lua_fail(L, "concat: the result is too large");
  }
  S2Size shape = {like.axes, (int)rows, (int)columns};
  create_join(L, 2, count, along_columns ? 2 : 1, false, shape);
  return 1;
}

// Makes lists of equal length the rows (axis 1) or columns (axis 2) of a matrix.
static int create_stack(lua_State *L) {
  int axis = create_optional_axis(L);
  lua_settop(L, 1);
  int count = create_push_parts(L);
  S2Size like = s2_lua_array_test(L, 2)->shape;
  for (int i = 1; i <= count; i++) {
    S2Size shape = s2_lua_array_test(L, i + 1)->shape;
    if (shape.axes != 1) {
      char text[S2_SIZE_TEXT];
      return s2_lua_fail(L, "stack: lists expected, but part %d has shape %s; use sim.concat", i,
                         s2_size_text(shape, text));
    }
    if (shape.columns != like.columns) {
      return create_unlike(L, "stack", i, like, shape);
    }
  }
  // Lists become rows or columns.
  bool upright = axis == 2;
  S2Size shape =
      upright ? s2_size_matrix(like.columns, count) : s2_size_matrix(count, like.columns);
  create_join(L, 2, count, axis, upright, shape);
  return 1;
}

const luaL_Reg s2_array_creators[] = {
    {"array", create_array},   {"zeros", create_zeros}, {"ones", create_ones},
    {"eye", create_eye},       {"randn", create_randn}, {"linspace", create_linspace},
    {"concat", create_concat}, {"stack", create_stack}, {NULL, NULL}};
