// The type Tracked: arithmetic recorded on the tape. Most of the cost of an operation is the
// creation of its result, a userdata. To keep the other costs low, the metatable and the shared
// state of gradient calls are upvalues and not looked up by name.
#include "lua/diff/tracked.h"

#include "lua/world/binding.h"

#include <math.h>
#include <string.h>

// Functions that accept only plain numbers, such as math.sin and string.format, print this name
// after "number expected, got ". This name is the only place where such messages can give advice.
static const char NAME[] = "tracked number, use sim.sin instead of math.sin and so on, or "
                           "x:value() where a plain number is needed";

typedef struct Tracked {
  const char *type;
  double value;
  S2Var var;
  uint32_t generation;
} Tracked;

// ---- State shared by gradient calls -----------------------------------------------------------

static const char DIFF = 'd'; // its address is the registry key

static int diff_gc(lua_State *L) {
  S2LuaDiff *diff = lua_touserdata(L, 1);
  s2_tape_free(diff->tape);
  s2_array_free(diff->reads);
  *diff = (S2LuaDiff){.last = diff->last};
  return 0;
}

S2LuaDiff *s2_lua_diff(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &DIFF);
  S2LuaDiff *diff = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return diff;
}

S2Tape *s2_lua_tape(lua_State *L) {
  const S2LuaDiff *diff = s2_lua_diff(L);
  return diff->generation != 0 ? diff->tape : NULL;
}

uint32_t s2_lua_tape_generation(lua_State *L) {
  return s2_lua_diff(L)->generation;
}

// ---- Making and reading -----------------------------------------------------------------------

void s2_lua_tracked_push(lua_State *L, double value, S2Var var) {
  if (var == 0) {
    lua_pushnumber(L, value);
    return;
  }
  Tracked *tracked = lua_newuserdatauv(L, sizeof *tracked, 0);
  *tracked = (Tracked){s2_type_tracked, value, var, s2_lua_tape_generation(L)};
  lua_rawgetp(L, LUA_REGISTRYINDEX, s2_type_tracked);
  lua_setmetatable(L, -2);
}

int s2_lua_tracked_ended(lua_State *L, const char *what) {
  return s2_lua_fail(L,
                     "a tracked %s is used outside of the gradient call it belongs to; make it "
                     "plain with x:value() or sim.stop_gradient(x)",
                     what);
}

bool s2_lua_tracked_test(lua_State *L, int index, double *value, S2Var *var) {
  const Tracked *tracked = s2_lua_test(L, index, s2_type_tracked);
  if (tracked == NULL) {
    return false;
  }
  if (tracked->generation != s2_lua_tape_generation(L)) {
    s2_lua_tracked_ended(L, "number");
  }
  *value = tracked->value;
  *var = tracked->var;
  return true;
}

bool s2_lua_tracked_get(lua_State *L, int index, double *value, S2Var *var) {
  const Tracked *tracked = s2_lua_test(L, index, s2_type_tracked);
  if (tracked == NULL || tracked->generation != s2_lua_tape_generation(L)) {
    return false;
  }
  *value = tracked->value;
  *var = tracked->var;
  return true;
}

bool s2_lua_is_tracked(lua_State *L, int index) {
  return s2_lua_test(L, index, s2_type_tracked) != NULL;
}

// ---- Operators --------------------------------------------------------------------------------

// Upvalues of all metamethods: the metatable, S2LuaDiff.
typedef struct Operand {
  double value;
  S2Var var;
} Operand;

static S2LuaDiff *tracked_upvalue_diff(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(2));
}

static bool tracked_operand(lua_State *L, const S2LuaDiff *diff, int index, Operand *number) {
  if (lua_type(L, index) == LUA_TNUMBER) {
    *number = (Operand){lua_tonumber(L, index), 0};
    return true;
  }
  const Tracked *tracked = s2_lua_test(L, index, s2_type_tracked);
  if (tracked == NULL) {
    return false;
  }
  if (tracked->generation != diff->generation) {
    s2_lua_tracked_ended(L, "number");
  }
  *number = (Operand){tracked->value, tracked->var};
  return true;
}

static bool tracked_operands(lua_State *L, const S2LuaDiff *diff, Operand *a, Operand *b) {
  return tracked_operand(L, diff, 1, a) && tracked_operand(L, diff, 2, b);
}

static int tracked_refuse(lua_State *L, const char *what) {
  char text[S2_LUA_TEXT];
  int other = s2_lua_is_tracked(L, 1) ? 2 : 1;
  return s2_lua_fail(L, "%s a tracked number: number expected, got %s", what,
                     s2_lua_describe(L, other, text));
}

// If the other operand is an array or a vector, its type handles the operation.
static int tracked_elsewhere(lua_State *L, const S2LuaDiff *diff, S2ArrayBinary op) {
  // Arrays and vectors can handle the operation.
  bool takes = false;
  for (int i = 1; i <= 2; i++) {
    takes |= s2_lua_test(L, i, s2_type_array) != NULL || s2_lua_test(L, i, s2_type_vector) != NULL;
  }
  return takes && diff->arrays != NULL && diff->arrays(L, op) ? 1
                                                              : tracked_refuse(L, "arithmetic on");
}

static int tracked_result(lua_State *L, const S2LuaDiff *diff, double value, S2Var var) {
  Tracked *tracked = lua_newuserdatauv(L, sizeof *tracked, 0);
  *tracked = (Tracked){s2_type_tracked, value, var, diff->generation};
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_setmetatable(L, -2);
  return 1;
}

// Arithmetic on two numbers, with partial derivatives from `rule`. If an operand is an array, its
// type handles `op`.
static inline int tracked_arithmetic(lua_State *L, S2LuaPartials (*rule)(double a, double b),
                                     const S2ArrayBinary *op) {
  const S2LuaDiff *diff = tracked_upvalue_diff(L);
  Operand a, b;
  if (!tracked_operands(L, diff, &a, &b)) {
    return op == NULL ? tracked_refuse(L, "arithmetic on") : tracked_elsewhere(L, diff, *op);
  }
  S2LuaPartials at = rule(a.value, b.value);
  return tracked_result(L, diff, at.value,
                        s2_tape_scalar2(diff->tape, at.value, a.var, at.da, b.var, at.db));
}

// As in Lua, the result has the sign of the divisor.
static double tracked_modulo(double a, double b) {
  double rest = fmod(a, b);
  return (rest > 0 ? b < 0 : rest < 0 && rest != b) ? rest + b : rest;
}

#define RULE(NAME, VALUE, BY_A, BY_B)                                                              \
  static S2LuaPartials rule_##NAME(double a, double b) {                                           \
    return (S2LuaPartials){VALUE, BY_A, BY_B};                                                     \
  }
RULE(add, a + b, 1, 1)
RULE(sub, a - b, 1, -1)
RULE(mul, (a * b), b, a)
RULE(div, a / b, 1 / b, -(a / b) / b)
RULE(mod, tracked_modulo(a, b), 1, -floor(a / b))
RULE(idiv, floor(a / b), 0, 0) // tracked like other results, although its derivative is 0

S2LuaPartials s2_lua_partials(S2ArrayBinary op, double a, double b) {
  S2LuaPartials partials = {0, 0, 0};
  const double one = 1;
  S2Size number = s2_size_number();
  const S2ArrayPair pair = {number, number, &a, &b};
  s2_array_binary(op, number, &a, number, &b, &partials.value);
  s2_array_binary_vjp(op, &pair, &partials.value, &one, &partials.da, &partials.db);
  return partials;
}

static S2LuaPartials rule_pow(double a, double b) {
  return s2_lua_partials(S2_ARRAY_POWER, a, b);
}

#define ARITHMETIC(NAME, OP)                                                                       \
  static int tracked_##NAME(lua_State *L) {                                                        \
    return tracked_arithmetic(L, rule_##NAME, OP);                                                 \
  }
ARITHMETIC(add, &(S2ArrayBinary){S2_ARRAY_ADD})
ARITHMETIC(sub, &(S2ArrayBinary){S2_ARRAY_SUBTRACT})
ARITHMETIC(mul, &(S2ArrayBinary){S2_ARRAY_MULTIPLY})
ARITHMETIC(div, &(S2ArrayBinary){S2_ARRAY_DIVIDE})
ARITHMETIC(pow, &(S2ArrayBinary){S2_ARRAY_POWER})
ARITHMETIC(mod, NULL)
ARITHMETIC(idiv, NULL)

static int tracked_unm(lua_State *L) {
  const S2LuaDiff *diff = tracked_upvalue_diff(L);
  Operand a = {0, 0};
  tracked_operand(L, diff, 1, &a);
  return tracked_result(L, diff, -a.value, s2_tape_scalar1(diff->tape, -a.value, a.var, -1));
}

static int tracked_lt(lua_State *L) {
  Operand a, b;
  if (!tracked_operands(L, tracked_upvalue_diff(L), &a, &b)) {
    return tracked_refuse(L, "attempt to compare");
  }
  lua_pushboolean(L, a.value < b.value);
  return 1;
}

static int tracked_le(lua_State *L) {
  Operand a, b;
  if (!tracked_operands(L, tracked_upvalue_diff(L), &a, &b)) {
    return tracked_refuse(L, "attempt to compare");
  }
  lua_pushboolean(L, a.value <= b.value);
  return 1;
}

static int tracked_eq(lua_State *L) { // Lua calls this only for two userdata
  Operand a, b;
  lua_pushboolean(L, tracked_operands(L, tracked_upvalue_diff(L), &a, &b) && a.value == b.value);
  return 1;
}

static int tracked_concat(lua_State *L) {
  return s2_lua_fail(L, "attempt to concatenate a tracked number; use x:value() for the plain "
                        "number, or tostring(x) for its text");
}

static int tracked_tostring(lua_State *L) {
  const Tracked *tracked = s2_lua_check(L, 1, s2_type_tracked);
  lua_pushnumber(L, isnan(tracked->value) ? fabs(tracked->value) : tracked->value);
  lua_pushfstring(L, "%s (tracked)", luaL_tolstring(L, -1, NULL));
  return 1;
}

// ---- Fields -----------------------------------------------------------------------------------

// This also works after the gradient call has ended. Messages recommend it for such numbers.
static int tracked_value(lua_State *L) {
  const Tracked *tracked = s2_lua_check(L, 1, s2_type_tracked);
  lua_pushnumber(L, tracked->value);
  return 1;
}

static int tracked_index(lua_State *L) {
  s2_lua_check(L, 1, s2_type_tracked);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
    return 1;
  }
  return s2_lua_no_field(L, "Tracked", 2, lua_upvalueindex(1));
}

static int tracked_newindex(lua_State *L) {
  char text[S2_LUA_TEXT];
  return s2_lua_fail(L, "a tracked number has no field %s that can be assigned",
                     s2_lua_describe(L, 2, text));
}

// ---- Noting what is read ----------------------------------------------------------------------

typedef struct Scope {
  S2LuaDiff *diff; // NULL if the scope has ended
  int from;        // index of its first read in the list
} Scope;

static const char SCOPE[] = "sim2d.TrackedScope";

static void scope_end(Scope *scope) {
  if (scope->diff != NULL) {
    scope->diff->reads.count = scope->from;
    scope->diff->reading -= 1;
    scope->diff->shift_by = 0;
    scope->diff = NULL;
  }
}

static int scope_close(lua_State *L) {
  scope_end(luaL_checkudata(L, 1, SCOPE));
  return 0;
}

void s2_lua_tracked_begin(lua_State *L) {
  S2LuaDiff *diff = s2_lua_diff(L);
  if (diff->generation == 0) {
    lua_pushnil(L);
    return;
  }
  Scope *scope = lua_newuserdatauv(L, sizeof *scope, 0);
  *scope = (Scope){.from = diff->reads.count};
  luaL_setmetatable(L, SCOPE);
  lua_toclose(L, -1);
  scope->diff = diff;
  diff->reading += 1;
}

int s2_lua_tracked_end(lua_State *L, int scope_index, const S2LuaRead **list) {
  Scope *scope = lua_touserdata(L, scope_index);
  if (scope == NULL || scope->diff == NULL) {
    *list = NULL;
    return 0;
  }
  S2LuaDiff *diff = scope->diff;
  int count = diff->reads.count - scope->from;
  *list = diff->reads.at == NULL ? NULL : diff->reads.at + scope->from;
  scope_end(scope);
  return count;
}

int s2_lua_tracked_count(lua_State *L, int begin, const S2LuaRead **list) {
  const Scope *scope = lua_touserdata(L, begin);
  *list = NULL;
  if (scope == NULL || scope->diff == NULL || scope->diff->reads.at == NULL) {
    return 0;
  }
  *list = scope->diff->reads.at + scope->from;
  return scope->diff->reads.count - scope->from;
}

void s2_lua_tracked_shift(lua_State *L, int begin, int which, double by) {
  Scope *scope = lua_touserdata(L, begin);
  if (scope != NULL && scope->diff != NULL) {
    scope->diff->reads.count = scope->from;
    scope->diff->shift_read = scope->from + which;
    scope->diff->shift_by = by;
  }
}

bool s2_lua_tracked_read(lua_State *L, int index, double *value) {
  const S2LuaDiff *diff = s2_lua_diff(L);
  const Tracked *tracked = s2_lua_test(L, index, s2_type_tracked);
  if (tracked == NULL || diff->reading == 0 || tracked->generation != diff->generation) {
    return false;
  }
  *value = tracked->value;
  return true;
}

void s2_lua_tracked_note(lua_State *L, int index, double *where) {
  S2LuaDiff *diff = s2_lua_diff(L);
  if (diff->shift_by != 0 && diff->shift_read == diff->reads.count) {
    *where += diff->shift_by;
  }
  const Tracked *tracked = lua_touserdata(L, index);
  S2LuaRead *read = s2_array_append(diff->reads);
  *read = (S2LuaRead){.where = where, .value = tracked->value, .var = tracked->var};
}

// ---- Opening ----------------------------------------------------------------------------------

void s2_lua_open_tracked(lua_State *L) {
  static const luaL_Reg diff_meta[] = {{"__gc", diff_gc}, {NULL, NULL}};
  static const luaL_Reg scope_meta[] = {{"__close", scope_close}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__add", tracked_add},
                                  {"__sub", tracked_sub},
                                  {"__mul", tracked_mul},
                                  {"__div", tracked_div},
                                  {"__mod", tracked_mod},
                                  {"__idiv", tracked_idiv},
                                  {"__pow", tracked_pow},
                                  {"__unm", tracked_unm},
                                  {"__lt", tracked_lt},
                                  {"__le", tracked_le},
                                  {"__eq", tracked_eq},
                                  {"__concat", tracked_concat},
                                  {"__tostring", tracked_tostring},
                                  {"__newindex", tracked_newindex},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {{"value", tracked_value}, {NULL, NULL}};
  // The shared state lives as long as the Lua state.
  S2LuaDiff *diff = lua_newuserdatauv(L, sizeof *diff, 0);
  *diff = (S2LuaDiff){0};
  luaL_newlib(L, diff_meta);
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &DIFF);

  luaL_newmetatable(L, SCOPE);
  luaL_setfuncs(L, scope_meta, 0);
  lua_pop(L, 1);

  // Upvalues of the metamethods: this state and the metatable.
  s2_lua_metatable(L, s2_type_tracked);
  lua_pushstring(L, NAME);
  lua_setfield(L, -2, "__name");
  lua_pushvalue(L, -1);
  lua_pushlightuserdata(L, diff);
  luaL_setfuncs(L, meta, 2);
  lua_newtable(L);
  s2_lua_functions(L, methods, 0);
  lua_pushcclosure(L, tracked_index, 1);
  lua_setfield(L, -2, "__index");
  lua_rawsetp(L, LUA_REGISTRYINDEX, s2_type_tracked);
}
