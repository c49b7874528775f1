// Array operations: operators, methods and functions of sim.
#include "lua/diff/array.h"

#include <math.h>
#include <string.h>

// ---- Element by element -----------------------------------------------------------------------

static int array_apply_binary(lua_State *L, S2ArrayBinary op) {
  double a_number, b_number;
  S2Array a = s2_lua_array_operand(L, 1, &a_number), b = s2_lua_array_operand(L, 2, &b_number);
  S2Size shape = s2_size_number();
  S2Status status = s2_array_broadcast(a.shape, b.shape, &shape);
  if (status.code != S2_OK) {
    return s2_lua_fail(L, "%s: %s", s2_array_binary_name(op), status.message);
  }
  S2LuaResult out;
  double *to = s2_lua_result_begin(L, shape, &out);
  s2_array_binary(op, a.shape, a.data, b.shape, b.data, to);
  bool tracked = a.var != 0 || b.var != 0;
  return s2_lua_result_end(L, &out,
                           tracked ? s2_note_binary(s2_lua_tape(L), op, &a, &b, shape, to) : 0);
}

static int array_apply_unary(lua_State *L, S2ArrayUnary op) {
  double number;
  S2Array a = s2_lua_array_operand(L, 1, &number);
  S2LuaResult out;
  double *to = s2_lua_result_begin(L, a.shape, &out);
  s2_array_unary(op, s2_size_count(a.shape), a.data, to);
  return s2_lua_result_end(L, &out, a.var != 0 ? s2_note_unary(s2_lua_tape(L), op, &a, to) : 0);
}

bool s2_lua_array_unary(lua_State *L, S2ArrayUnary op) {
  return s2_lua_array_test(L, 1) != NULL && array_apply_unary(L, op) == 1;
}

bool s2_lua_array_binary(lua_State *L, S2ArrayBinary op) {
  bool array = s2_lua_array_test(L, 1) != NULL || s2_lua_array_test(L, 2) != NULL;
  return array && array_apply_binary(L, op) == 1;
}

static bool array_has_tracked(lua_State *L, int index) {
  double value;
  S2Var var;
  bool found = s2_lua_tracked_test(L, index, &value, &var);
  // A table that represents a vector is tracked if one of its numbers is tracked.
  for (int i = 1; lua_type(L, index) == LUA_TTABLE && i <= 3 && !found; i++) {
    lua_rawgeti(L, index, i);
    found = s2_lua_tracked_test(L, -1, &value, &var);
    lua_pop(L, 1);
  }
  return found;
}

bool s2_lua_array_takes_over(lua_State *L, S2ArrayBinary op) {
  bool tracked = array_has_tracked(L, 1) || array_has_tracked(L, 2);
  return tracked ? array_apply_binary(L, op) == 1 : s2_lua_array_binary(L, op);
}

// Functions that consist of one operation.
#define OPERATION(NAME, CALL)                                                                      \
  static int NAME(lua_State *L) {                                                                  \
    return CALL;                                                                                   \
  }

OPERATION(operator_add, array_apply_binary(L, S2_ARRAY_ADD))
OPERATION(operator_sub, array_apply_binary(L, S2_ARRAY_SUBTRACT))
OPERATION(operator_mul, array_apply_binary(L, S2_ARRAY_MULTIPLY))
OPERATION(operator_div, array_apply_binary(L, S2_ARRAY_DIVIDE))
OPERATION(operator_pow, array_apply_binary(L, S2_ARRAY_POWER))
OPERATION(operator_unm, array_apply_unary(L, S2_ARRAY_NEGATE))
OPERATION(array_lt, array_apply_binary(L, S2_ARRAY_LESS))
OPERATION(array_le, array_apply_binary(L, S2_ARRAY_LESS_EQUAL))
OPERATION(array_eq, array_apply_binary(L, S2_ARRAY_EQUAL))
OPERATION(sim_relu, array_apply_unary(L, S2_ARRAY_RELU))

static bool array_equal(const S2LuaArray *a, const S2LuaArray *b, double tolerance) {
  if (!s2_size_equal(a->shape, b->shape)) {
    return false;
  }
  size_t size = s2_size_count(a->shape);
  for (size_t i = 0; i < size; i++) {
    bool same = a->data[i] == b->data[i] || fabs(a->data[i] - b->data[i]) <= tolerance;
    if (!same) {
      return false;
    }
  }
  return true;
}

static int operator_eq(lua_State *L) {
  const S2LuaArray *a = s2_lua_array_test(L, 1), *b = s2_lua_array_test(L, 2);
  lua_pushboolean(L, a != NULL && b != NULL && array_equal(a, b, 0));
  return 1;
}

const luaL_Reg s2_array_operators[] = {{"__add", operator_add}, {"__sub", operator_sub},
                                       {"__mul", operator_mul}, {"__div", operator_div},
                                       {"__pow", operator_pow}, {"__unm", operator_unm},
                                       {"__eq", operator_eq},   {NULL, NULL}};

static int array_gt(lua_State *L) {
  lua_settop(L, 2);
  lua_insert(L, 1);
  return array_apply_binary(L, S2_ARRAY_LESS);
}

static int array_ge(lua_State *L) {
  lua_settop(L, 2);
  lua_insert(L, 1);
  return array_apply_binary(L, S2_ARRAY_LESS_EQUAL);
}

static int array_equals(lua_State *L) {
  const S2LuaArray *a = s2_lua_array_check(L, 1);
  double number, tolerance = lua_isnoneornil(L, 3) ? 0 : s2_argument_number(L, 3, S2_NON_NEGATIVE);
  if (lua_type(L, 2) == LUA_TNUMBER || !s2_lua_array_is_operand(L, 2)) {
    char text[S2_LUA_TEXT];
    return s2_lua_bad_argument(L, 2, "Array expected, got %s", s2_lua_describe(L, 2, text));
  }
  // Tables and vectors are compared as arrays.
  s2_lua_array_operand(L, 2, &number); // replaces a table by an array
  const S2LuaArray *b = s2_lua_array_test(L, 2);
  lua_pushboolean(L, b != NULL && array_equal(a, b, tolerance));
  return 1;
}

// ---- Along axes -------------------------------------------------------------------------------

static int array_reduce(lua_State *L, S2ArrayReduce op, const char *name) {
  double number;
  S2Array a = s2_lua_array_operand(L, 1, &number);
  S2ArrayAxis axis = S2_ARRAY_ALL;
  // Axis 1 runs over rows, and axis 2 over columns. A list has one axis.
  if (!lua_isnoneornil(L, 2)) {
    int given = s2_lua_array_integer(L, 2, 1, a.shape.axes > 1 ? 2 : 1);
    axis = a.shape.axes < 2 ? S2_ARRAY_ALL
           : given == 1     ? S2_ARRAY_OVER_ROWS
                            : S2_ARRAY_OVER_COLUMNS;
  }
  // An empty array has a sum, but no mean, minimum or maximum.
  int count = axis == S2_ARRAY_OVER_ROWS      ? a.shape.rows
              : axis == S2_ARRAY_OVER_COLUMNS ? a.shape.columns
                                              : (int)s2_size_count(a.shape);
  if (count == 0 && op != S2_ARRAY_SUM) {
    char text[S2_SIZE_TEXT];
    return s2_lua_fail(L, "%s: the array of shape %s is empty", name, s2_size_text(a.shape, text));
  }
  S2LuaResult out;
  double *to = s2_lua_result_begin(L, s2_array_reduce_shape(a.shape, axis), &out);
  s2_array_reduce(op, axis, a.shape, a.data, to);
  return s2_lua_result_end(L, &out,
                           a.var != 0 ? s2_note_reduce(s2_lua_tape(L), op, axis, &a, to) : 0);
}

OPERATION(array_sum, array_reduce(L, S2_ARRAY_SUM, "sum"))
OPERATION(array_mean, array_reduce(L, S2_ARRAY_MEAN, "mean"))
OPERATION(array_max, array_reduce(L, S2_ARRAY_MAX, "max"))
OPERATION(array_min, array_reduce(L, S2_ARRAY_MIN, "min"))

int s2_lua_array_norm(lua_State *L) {
  double number;
  S2Array a = s2_lua_array_operand(L, 1, &number);
  double norm = s2_array_norm(s2_size_count(a.shape), a.data);
  s2_lua_array_push_number(L, norm, a.var != 0 ? s2_note_norm(s2_lua_tape(L), &a, norm) : 0);
  return 1;
}

// ---- Products ---------------------------------------------------------------------------------

static int array_unfit(lua_State *L, const char *name, S2Size a, S2Size b) {
  char a_text[S2_SIZE_TEXT], b_text[S2_SIZE_TEXT];
  return s2_lua_fail(L, "%s: shapes do not fit: %s and %s", name, s2_size_text(a, a_text),
                     s2_size_text(b, b_text));
}

// A list is a row as left operand and a column as right operand. The result keeps the remaining
// axes.
static int array_multiply(lua_State *L, const char *name) {
  double number;
  S2Array a = s2_lua_array_operand(L, 1, &number), b = s2_lua_array_operand(L, 2, &number);
  if (a.shape.axes == 0 || b.shape.axes == 0) {
    return s2_lua_fail(L, "%s: two arrays expected; use * for a number", name);
  }
  // Multiplies an m x k matrix by a k x n matrix. A list on the right is a column.
  int m = a.shape.rows, k = a.shape.columns, inner = b.shape.rows, n = b.shape.columns;
  if (b.shape.axes == 1) {
    inner = b.shape.columns;
    n = 1;
  }
  if (k != inner) {
    return array_unfit(L, name, a.shape, b.shape);
  }
  // For each operand that is a list, the result has one axis less.
  S2Size shape = a.shape.axes == 2 && b.shape.axes == 2 ? s2_size_matrix(m, n)
                 : a.shape.axes == 2                    ? s2_size_list(m)
                 : b.shape.axes == 2                    ? s2_size_list(n)
                                                        : s2_size_number();
  const S2ArrayProduct product = {m, k, n, S2_ARRAY_PLAIN, S2_ARRAY_PLAIN, 1, 0};
  S2LuaResult out;
  double *to = s2_lua_result_begin(L, shape, &out);
  s2_array_product(&product, a.data, b.data, to);
  bool tracked = a.var != 0 || b.var != 0;
  return s2_lua_result_end(L, &out,
                           tracked ? s2_note_product(s2_lua_tape(L), m, k, n, &a, &b, to) : 0);
}

static int array_mm(lua_State *L) {
  return array_multiply(L, "mm");
}

int s2_lua_array_dot(lua_State *L) {
  double number;
  S2Size a = s2_lua_array_operand(L, 1, &number).shape;
  S2Size b = s2_lua_array_operand(L, 2, &number).shape;
  if (a.axes != 1 || b.axes != 1 || a.columns != b.columns) {
    return array_unfit(L, "dot of two lists", a, b);
  }
  return array_multiply(L, "dot");
}

// ---- Parts ------------------------------------------------------------------------------------

static S2Array array_check_matrix(lua_State *L, const char *name) {
  S2Array a = s2_lua_array_view(L, s2_lua_array_check(L, 1));
  if (a.shape.axes != 2) {
    char text[S2_SIZE_TEXT];
    s2_lua_fail(L, "%s: matrix expected, got an array of shape %s", name,
                s2_size_text(a.shape, text));
  }
  return a;
}

static int array_t(lua_State *L) {
  S2Array a = array_check_matrix(L, "t");
  int rows = a.shape.rows, columns = a.shape.columns;
  const S2ArrayBlock block = {columns, rows, 0, 1, columns};
  return s2_lua_push_block(L, &a, &block, s2_size_matrix(columns, rows));
}

static int array_row(lua_State *L) {
  S2Array a = array_check_matrix(L, "row");
  int i = s2_lua_array_integer(L, 2, 1, a.shape.rows), columns = a.shape.columns;
  const S2ArrayBlock block = {1, columns, (ptrdiff_t)(i - 1) * columns, 0, 1};
  return s2_lua_push_block(L, &a, &block, s2_size_list(columns));
}

static int array_column(lua_State *L) {
  S2Array a = array_check_matrix(L, "column");
  int j = s2_lua_array_integer(L, 2, 1, a.shape.columns), rows = a.shape.rows;
  const S2ArrayBlock block = {1, rows, j - 1, 0, a.shape.columns};
  return s2_lua_push_block(L, &a, &block, s2_size_list(rows));
}

static int array_diagonal(lua_State *L) {
  S2Array a = array_check_matrix(L, "diagonal");
  int n = a.shape.rows < a.shape.columns ? a.shape.rows : a.shape.columns;
  const S2ArrayBlock block = {1, n, 0, 0, (ptrdiff_t)a.shape.columns + 1};
  return s2_lua_push_block(L, &a, &block, s2_size_list(n));
}

// Reads {first, last}, or nil for all `limit` elements. The returned `first` counts from 0.
static void array_read_range(lua_State *L, int argument, int limit, int *first, int *count) {
  *first = 0;
  *count = limit;
  if (lua_isnoneornil(L, argument)) {
    return;
  }
  char text[S2_LUA_TEXT];
  if (lua_type(L, argument) != LUA_TTABLE || lua_rawlen(L, argument) != 2) {
    s2_lua_bad_argument(L, argument, "{first, last} expected, got %s",
                        lua_type(L, argument) == LUA_TTABLE ? "another table"
                                                            : s2_lua_describe(L, argument, text));
  }
  // The range is two integers in order. An empty range may start after the last element.
  lua_Integer ends[2];
  for (int i = 0; i < 2; i++) {
    lua_rawgeti(L, argument, i + 1);
    if (!s2_value_whole(L, -1, &ends[i])) {
      s2_lua_bad_argument(L, argument, "{first, last}: integer expected, got %s",
                          s2_lua_describe(L, -1, text));
    }
    lua_pop(L, 1);
  }
  if (ends[0] < 1 || ends[1] > limit || ends[1] < ends[0] - 1) {
    s2_lua_bad_argument(L, argument, "{first, last} from 1 to %d expected, got {%lld, %lld}", limit,
                        (long long)ends[0], (long long)ends[1]);
  }
  *first = (int)ends[0] - 1;
  *count = (int)(ends[1] - ends[0] + 1);
}

static int array_slice(lua_State *L) {
  S2Array a = s2_lua_array_view(L, s2_lua_array_check(L, 1));
  ptrdiff_t width = a.shape.columns;
  int row = 0, rows = 1, column, columns;
  // A list takes one range. A matrix takes one range per axis.
  if (a.shape.axes == 1) {
    if (!lua_isnoneornil(L, 3)) {
      return s2_lua_bad_argument(L, 3, "a list has no second axis");
    }
    array_read_range(L, 2, a.shape.columns, &column, &columns);
  } else {
    array_read_range(L, 2, a.shape.rows, &row, &rows);
    array_read_range(L, 3, a.shape.columns, &column, &columns);
  }
  const S2ArrayBlock block = {rows, columns, row * width + column, width, 1};
  return s2_lua_push_block(L, &a, &block, (S2Size){a.shape.axes, rows, columns});
}

// ---- Copies -----------------------------------------------------------------------------------

static int array_value(lua_State *L) {
  const S2LuaArray *array = s2_lua_array_check(L, 1);
  S2LuaArray *out = s2_lua_array_push(L, array->shape);
  memcpy(out->data, array->data, s2_size_count(array->shape) * sizeof *out->data);
  return 1;
}

static int array_copy(lua_State *L) {
  S2Array a = s2_lua_array_view(L, s2_lua_array_check(L, 1));
  const S2ArrayBlock block = {1, (int)s2_size_count(a.shape), 0, 0, 1};
  return s2_lua_push_block(L, &a, &block, a.shape);
}

// Tracked arrays become tables of tracked numbers.
static void array_push_list(lua_State *L, const S2Array *a, size_t start, int count) {
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    size_t at = start + (size_t)i;
    S2Var var = a->var == 0 ? 0 : s2_tape_element(s2_lua_tape(L), a->var, (int)at);
    s2_lua_array_push_number(L, a->data[at], var);
    lua_rawseti(L, -2, i + 1);
  }
}

static int array_table(lua_State *L) {
  S2Array a = s2_lua_array_view(L, s2_lua_array_check(L, 1));
  if (a.shape.axes == 1) {
    array_push_list(L, &a, 0, a.shape.columns);
    return 1;
  }
  // Create one table per row.
  lua_createtable(L, a.shape.rows, 0);
  for (int i = 0; i < a.shape.rows; i++) {
    array_push_list(L, &a, (size_t)i * (size_t)a.shape.columns, a.shape.columns);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

void s2_lua_array_unfold(lua_State *L, int index) {
  if (s2_lua_array_test(L, index) != NULL) {
    index = lua_absindex(L, index);
    lua_pushcfunction(L, array_table);
    lua_pushvalue(L, index);
    lua_call(L, 1, 1);
    lua_replace(L, index);
  }
}

const luaL_Reg s2_array_methods[] = {{"sum", array_sum},
                                     {"mean", array_mean},
                                     {"max", array_max},
                                     {"min", array_min},
                                     {"norm", s2_lua_array_norm},
                                     {"mm", array_mm},
                                     {"dot", s2_lua_array_dot},
                                     {"t", array_t},
                                     {"reshape", s2_lua_array_reshape},
                                     {"row", array_row},
                                     {"column", array_column},
                                     {"diagonal", array_diagonal},
                                     {"slice", array_slice},
                                     {"copy", array_copy},
                                     {"value", array_value},
                                     {"table", array_table},
                                     {"lt", array_lt},
                                     {"le", array_le},
                                     {"gt", array_gt},
                                     {"ge", array_ge},
                                     {"eq", array_eq},
                                     {"equals", array_equals},
                                     {NULL, NULL}};

// ---- Functions of sim -------------------------------------------------------------------------

const luaL_Reg s2_array_functions[] = {
    {"relu", sim_relu}, {"sum", array_sum}, {"mean", array_mean}, {NULL, NULL}};
