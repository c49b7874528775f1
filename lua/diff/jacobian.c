// sim.jacobian: all derivatives of a vector-valued function.
#include "lua/diff/array.h"
#include "lua/solve/matrix.h"

#include <math.h>
#include <string.h>

// One of the numbers in a node.
typedef struct Number {
  S2Var var; // 0 for a constant
  int index;
  double value;
} Number;

typedef struct Numbers {
  Number *at; // a userdata
  int count;
  bool array; // whether the script gave an array
} Numbers;

static Number *jacobian_take(lua_State *L, int count) {
  return lua_newuserdatauv(L, sizeof(Number) * ((size_t)count + 1), 0);
}

// Pushes a userdata for the numbers, and the argument for the function. A table is a list of
// numbers.
static Numbers jacobian_track_inputs(lua_State *L, S2Tape *tape) {
  bool is_array = s2_lua_test(L, 2, s2_type_array) != NULL;
  // A number is a list of length one.
  if (lua_type(L, 2) == LUA_TNUMBER) {
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, 2);
    lua_rawseti(L, -2, 1);
  } else {
    lua_pushvalue(L, 2);
  }
  S2LuaArray *given = s2_lua_array_test(L, -1);
  if (given == NULL) {
    given = s2_lua_array_from(L, lua_gettop(L), "x");
  }
  // One node holds all numbers.
  S2Array x = s2_lua_array_view(L, given);
  int count = (int)s2_size_count(x.shape);
  if (!s2_array_finite((size_t)count, x.data)) {
    s2_lua_fail(L, "x has numbers that are not finite");
  }
  if (!is_array && x.shape.axes != 1) {
    s2_lua_fail(L, "x: list of numbers expected, got a list of lists");
  }
  S2Var var = s2_tape_input(tape, x.data, count);
  Numbers inputs = {.at = jacobian_take(L, count), .count = count, .array = is_array};
  for (int i = 0; i < count; i++) {
    inputs.at[i] = (Number){var, i, x.data[i]};
  }
  // The function receives the same kind of value that the caller gave: an array, a number or a
  // list.
  if (is_array) {
    S2LuaArray *copy = s2_lua_array_push(L, x.shape);
    memcpy(copy->data, x.data, (size_t)count * sizeof(double));
    s2_lua_array_track(L, copy, var);
  } else if (lua_type(L, 2) == LUA_TNUMBER) {
    s2_lua_tracked_push(L, x.data[0], s2_tape_element(tape, var, 0));
  } else {
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
      s2_lua_tracked_push(L, x.data[i], s2_tape_element(tape, var, i));
      lua_rawseti(L, -2, i + 1);
    }
  }
  return inputs;
}

static Number jacobian_read_output(lua_State *L, int index, int position) {
  Number number = {0, 0, 0};
  if (lua_type(L, index) == LUA_TNUMBER) {
    number.value = lua_tonumber(L, index);
  } else if (!s2_lua_tracked_test(L, index, &number.value, &number.var)) {
    char text[S2_LUA_TEXT];
    s2_lua_describe(L, index, text);
    // Position 0 means that the function returned a single value.
    if (position == 0) {
      s2_lua_fail(L,
                  "the function has to return a number, a list of numbers or an array; it "
                  "returned %s",
                  text);
    }
    s2_lua_fail(L, "output %d has to be a number, got %s", position, text);
  }
  return number;
}

// Pushes a userdata with the numbers that the function returned at `index`.
static Numbers jacobian_read_outputs(lua_State *L, int index) {
  Numbers outputs = {.count = 1};
  S2LuaArray *array = s2_lua_array_test(L, index);
  // The result is an array, a list or a number. Each output has a node and a position in the node.
  if (array != NULL) {
    S2Array y = s2_lua_array_view(L, array);
    outputs = (Numbers){.count = (int)s2_size_count(y.shape), .array = true};
    outputs.at = jacobian_take(L, outputs.count);
    for (int i = 0; i < outputs.count; i++) {
      outputs.at[i] = (Number){y.var, i, y.data[i]};
    }
  } else if (lua_type(L, index) == LUA_TTABLE) {
    outputs.count = (int)lua_rawlen(L, index);
    lua_pushnil(L);
    if (outputs.count == 0 && lua_next(L, index) != 0) {
      char text[S2_LUA_TEXT];
      s2_lua_fail(L, "the function has to return a list of numbers, got a table with the key %s",
                  s2_lua_describe(L, -2, text));
    }
    lua_settop(L, index);
    outputs.at = jacobian_take(L, outputs.count);
    for (int i = 0; i < outputs.count; i++) {
      lua_rawgeti(L, index, i + 1);
      outputs.at[i] = jacobian_read_output(L, -1, i + 1);
      lua_pop(L, 1);
    }
  } else {
    outputs.at = jacobian_take(L, 1);
    outputs.at[0] = jacobian_read_output(L, index, 0);
  }
  for (int i = 0; i < outputs.count; i++) {
    if (!isfinite(outputs.at[i].value)) {
      s2_lua_fail(L, "output %d is %g: it has no derivative", i + 1, fabs(outputs.at[i].value));
    }
  }
  return outputs;
}

static const S2TapeNumber *jacobian_places(lua_State *L, Numbers numbers) {
  S2TapeNumber *places = lua_newuserdatauv(L, sizeof *places * ((size_t)numbers.count + 1), 0);
  for (int i = 0; i < numbers.count; i++) {
    places[i] = (S2TapeNumber){numbers.at[i].var, numbers.at[i].index};
  }
  return places;
}

static void jacobian_check_matrix(lua_State *L, const double *matrix, int rows, int columns) {
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < columns; j++) {
      double value = matrix[(size_t)i * (size_t)columns + (size_t)j];
      if (!isfinite(value)) {
        s2_lua_fail(L, "the derivative of output %d with respect to x[%d] is %g", i + 1, j + 1,
                    isnan(value) ? fabs(value) : value);
      }
    }
  }
}

// The body of sim.jacobian. The matrix is an array if x or f(x) is an array, otherwise a list of
// rows.
static int jacobian_differentiate(lua_State *L) {
  S2LuaDiff *diff = s2_lua_diff(L);
  // Call y = f(x).
  Numbers inputs = jacobian_track_inputs(L, diff->tape);
  lua_pushvalue(L, 1);
  lua_insert(L, -2);
  lua_call(L, 1, 1);
  int returned = lua_gettop(L);
  Numbers outputs = jacobian_read_outputs(L, returned);
  const S2TapeNumber *of = jacobian_places(L, outputs), *by = jacobian_places(L, inputs);
  double *values = lua_newuserdatauv(L, sizeof(double) * ((size_t)outputs.count + 1), 0);
  double *matrix =
      lua_newuserdatauv(L, sizeof(double) * ((size_t)outputs.count * (size_t)inputs.count + 1), 0);
  bool one = outputs.count == 1 && s2_lua_is_tracked(L, returned);
  one = one || lua_type(L, returned) == LUA_TNUMBER;
  diff->generation = 0;
  s2_lua_check_sweep(L, s2_tape_jacobian(diff->tape, outputs.count, of, inputs.count, by, matrix));
  jacobian_check_matrix(L, matrix, outputs.count, inputs.count);
  // The matrix and y are arrays if x or y is an array, otherwise lists.
  for (int i = 0; i < outputs.count; i++) {
    values[i] = outputs.at[i].value;
  }
  if (inputs.array || outputs.array) {
    S2LuaArray *array = s2_lua_array_push(L, s2_size_matrix(outputs.count, inputs.count));
    memcpy(array->data, matrix, sizeof(double) * (size_t)outputs.count * (size_t)inputs.count);
  } else {
    s2_lua_push_matrix(L, matrix, outputs.count, inputs.count);
  }
  if (one) {
    lua_pushnumber(L, values[0]);
  } else if (outputs.array) {
    S2LuaArray *array = s2_lua_array_push(L, s2_lua_array_test(L, returned)->shape);
    memcpy(array->data, values, sizeof(double) * (size_t)outputs.count);
  } else {
    s2_lua_push_numbers(L, values, outputs.count);
  }
  return 2;
}

// (f, x): returns the matrix, one row per output, and f(x).
static int sim_jacobian(lua_State *L) {
  s2_lua_refuse_nested(L);
  s2_lua_check_function(L, 1);
  lua_settop(L, 2);
  if (lua_type(L, 2) != LUA_TNUMBER && lua_type(L, 2) != LUA_TTABLE &&
      s2_lua_test(L, 2, s2_type_array) == NULL) {
    char text[S2_LUA_TEXT];
    s2_lua_bad_argument(L, 2, "number, list of numbers or array expected, got %s",
                        s2_lua_describe(L, 2, text));
  }
  return s2_lua_record(L, jacobian_differentiate);
}

void s2_lua_open_jacobian(lua_State *L) {
  static const luaL_Reg functions[] = {{"jacobian", sim_jacobian}, {NULL, NULL}};
  s2_lua_functions(L, functions, 0);
}
