// sim.sin and similar functions: the functions of math for plain numbers, tracked numbers and
// arrays. Values and derivatives are computed as for array elements
// (core/diff/tape/array_elements.c).
#include "lua/diff/array.h"
#include "lua/diff/formula/formula.h"

#include <math.h>

// ---- Operations -------------------------------------------------------------------------------

// Reads the plain or tracked number at `index`. Returns false for any other value.
static bool sim_test_number(lua_State *L, int index, double *value, S2Var *var) {
  *var = 0;
  if (lua_type(L, index) == LUA_TNUMBER) {
    *value = lua_tonumber(L, index);
    return true;
  }
  return s2_lua_tracked_test(L, index, value, var);
}

static void sim_check_number(lua_State *L, int argument, double *value, S2Var *var) {
  if (!sim_test_number(L, argument, value, var)) {
    char text[S2_LUA_TEXT];
    s2_lua_bad_argument(L, argument, "number expected, got %s", s2_lua_describe(L, argument, text));
  }
}

static int sim_unary(lua_State *L, S2ArrayUnary op) {
  double a = 0, value = 0, da = 0;
  S2Var var = 0;
  if (s2_lua_array_unary(L, op) || s2_lua_formula_unary(L, op)) {
    return 1;
  }
  sim_check_number(L, 1, &a, &var);
  // Compute the result as an array with one number.
  s2_array_unary(op, 1, &a, &value);
  if (var == 0) {
    lua_pushnumber(L, value);
    return 1;
  }
  const double one = 1;
  s2_array_unary_vjp(op, 1, &a, &value, &one, &da);
  s2_lua_tracked_push(L, value, s2_tape_scalar1(s2_lua_tape(L), value, var, da));
  return 1;
}

// Applies the operation to arguments 1 and 2.
static int sim_binary(lua_State *L, S2ArrayBinary op) {
  double a = 0, b = 0;
  S2Var a_var = 0, b_var = 0;
  if (s2_lua_array_binary(L, op) || s2_lua_formula_binary(L, op)) {
    return 1;
  }
  sim_check_number(L, 1, &a, &a_var);
  sim_check_number(L, 2, &b, &b_var);
  S2LuaPartials at = s2_lua_partials(op, a, b);
  S2Var var = a_var == 0 && b_var == 0
                  ? 0
                  : s2_tape_scalar2(s2_lua_tape(L), at.value, a_var, at.da, b_var, at.db);
  s2_lua_tracked_push(L, at.value, var);
  return 1;
}

// ---- Functions --------------------------------------------------------------------------------

#define UNARY(NAME, OP)                                                                            \
  static int sim_##NAME(lua_State *L) {                                                            \
    return sim_unary(L, S2_ARRAY_##OP);                                                            \
  }

UNARY(sin, SIN)
UNARY(cos, COS)
UNARY(tan, TAN)
UNARY(asin, ASIN)
UNARY(acos, ACOS)
UNARY(sinh, SINH)
UNARY(cosh, COSH)
UNARY(tanh, TANH)
UNARY(exp, EXP)
UNARY(sqrt, SQRT)
UNARY(abs, ABS)

// Step functions return plain numbers, since their derivative is zero.
static int sim_sign(lua_State *L) {
  double a = 0;
  S2Var var = 0;
  if (s2_lua_array_unary(L, S2_ARRAY_SIGN)) {
    return 1;
  }
  sim_check_number(L, 1, &a, &var);
  lua_pushinteger(L, (a > 0) - (a < 0));
  return 1;
}

static int sim_floor(lua_State *L) {
  double a = 0;
  S2Var var = 0;
  lua_Integer whole = 0;
  if (s2_lua_array_unary(L, S2_ARRAY_FLOOR)) {
    return 1;
  }
  sim_check_number(L, 1, &a, &var);
  // As in math.floor, the result is an integer if it fits.
  if (lua_isinteger(L, 1)) {
    lua_pushvalue(L, 1);
  } else if (lua_numbertointeger(floor(a), &whole)) {
    lua_pushinteger(L, whole);
  } else {
    lua_pushnumber(L, floor(a));
  }
  return 1;
}

static int sim_atan2(lua_State *L) {
  return sim_binary(L, S2_ARRAY_ATAN2);
}

static int sim_atan(lua_State *L) {
  return lua_isnoneornil(L, 2) ? sim_unary(L, S2_ARRAY_ATAN) : sim_binary(L, S2_ARRAY_ATAN2);
}

static int sim_pow(lua_State *L) {
  return sim_binary(L, S2_ARRAY_POWER);
}

// Treat bases 2 and 10 as math.log does, so that the values are equal.
static double sim_logarithm(double a, double base) {
  return base == 2 ? log2(a) : base == 10 ? log10(a) : log(a) / log(base);
}

static int sim_log(lua_State *L) {
  double a = 0, base = 0;
  S2Var a_var = 0, base_var = 0;
  if (lua_isnoneornil(L, 2)) {
    return sim_unary(L, S2_ARRAY_LOG);
  }
  // Computes log(a)/log(base), element by element.
  if (s2_lua_test(L, 1, s2_type_array) != NULL) {
    sim_check_number(L, 2, &base, &base_var);
    s2_lua_array_unary(L, S2_ARRAY_LOG);
    lua_replace(L, 1);
    lua_pushcfunction(L, sim_log);
    lua_pushvalue(L, 2);
    lua_call(L, 1, 1);
    lua_replace(L, 2);
    return sim_binary(L, S2_ARRAY_DIVIDE);
  }
  sim_check_number(L, 1, &a, &a_var);
  sim_check_number(L, 2, &base, &base_var);
  // d/da = 1/(a ln base), d/dbase = -value/(base ln base)
  double value = sim_logarithm(a, base);
  S2Var var = a_var == 0 && base_var == 0
                  ? 0
                  : s2_tape_scalar2(s2_lua_tape(L), value, a_var, 1 / (a * log(base)), base_var,
                                    -value / (base * log(base)));
  s2_lua_tracked_push(L, value, var);
  return 1;
}

// Replaces arguments 1 and 2 by the larger or smaller one. Plain numbers keep their type, so
// integers remain integers.
static void sim_choose(lua_State *L, S2ArrayBinary op) {
  // Compare plain numbers in Lua, so that they keep their type.
  if (lua_type(L, 1) == LUA_TNUMBER && lua_type(L, 2) == LUA_TNUMBER) {
    double a = lua_tonumber(L, 1), b = lua_tonumber(L, 2);
    bool first = isnan(a) || (op == S2_ARRAY_MAXIMUM ? a >= b : a <= b);
    lua_pushvalue(L, first ? 1 : 2);
  } else {
    sim_binary(L, op);
  }
  lua_replace(L, 1);
  lua_remove(L, 2);
}

static void sim_check_arguments(lua_State *L, int count) {
  for (int i = 1; i <= count; i++) {
    double value = 0;
    S2Var var = 0;
    s2_lua_formula_refuse(L, i);
    if (s2_lua_test(L, i, s2_type_array) == NULL) {
      sim_check_number(L, i, &value, &var);
    }
  }
}

static int sim_extreme(lua_State *L, S2ArrayBinary op, const char *method) {
  // For a single array, call its method.
  if (lua_gettop(L) == 1 && s2_lua_test(L, 1, s2_type_array) != NULL) {
    lua_getfield(L, 1, method);
    lua_insert(L, 1);
    lua_call(L, 1, 1);
    return 1;
  }
  sim_check_arguments(L, lua_gettop(L) > 0 ? lua_gettop(L) : 1);
  // Combine the arguments from left to right, two at a time.
  while (lua_gettop(L) > 1) {
    sim_choose(L, op);
  }
  return 1;
}

static int sim_max(lua_State *L) {
  return sim_extreme(L, S2_ARRAY_MAXIMUM, "max");
}

static int sim_min(lua_State *L) {
  return sim_extreme(L, S2_ARRAY_MINIMUM, "min");
}

static int sim_clamp(lua_State *L) {
  double lo = 0, hi = 0;
  S2Var var = 0;
  lua_settop(L, 3);
  sim_check_arguments(L, 3);
  if (sim_test_number(L, 2, &lo, &var) && sim_test_number(L, 3, &hi, &var) && lo > hi) {
    s2_lua_bad_argument(L, 2, "the lower bound %g is above the upper bound %g", lo, hi);
  }
  // Compute min(hi, max(lo, x)), so that the derivatives are those of `min` and `max`.
  lua_insert(L, 1); // stack: hi, x, lo
  lua_pushcfunction(L, sim_max);
  lua_insert(L, 2);
  lua_call(L, 2, 1);
  return sim_extreme(L, S2_ARRAY_MINIMUM, "min");
}

void s2_lua_open_tracked_functions(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"sin", sim_sin},     {"cos", sim_cos},     {"tan", sim_tan},   {"asin", sim_asin},
      {"acos", sim_acos},   {"atan", sim_atan},   {"sinh", sim_sinh}, {"cosh", sim_cosh},
      {"tanh", sim_tanh},   {"exp", sim_exp},     {"log", sim_log},   {"sqrt", sim_sqrt},
      {"abs", sim_abs},     {"sign", sim_sign},   {"max", sim_max},   {"min", sim_min},
      {"floor", sim_floor}, {"atan2", sim_atan2}, {"pow", sim_pow},   {"clamp", sim_clamp},
      {NULL, NULL}};
  s2_lua_functions(L, functions, 0);
}
