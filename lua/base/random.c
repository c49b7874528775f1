// sim.random: seeded, splittable random numbers. The functions of sim.random itself accept a dot or
// a colon. Split generators require the colon, so that a mistyped dot does not draw from the wrong
// stream.
#include "lua/world/binding.h"

#include <math.h>

// Returns the generator of a call. *first becomes the index of the first argument that is not the
// generator: 2 if the call passes a generator, 1 for sim.random.uniform(...).
static S2LuaRandom *random_generator(lua_State *L, int *first) {
  // Only the functions of sim.random itself may omit the generator.
  S2LuaRandom *random = s2_lua_test(L, 1, s2_type_random);
  *first = random != NULL ? 2 : 1;
  if (random == NULL && lua_toboolean(L, lua_upvalueindex(1))) {
    random = s2_lua_session(L)->random;
  }
  return random != NULL ? random : s2_lua_check(L, 1, s2_type_random);
}

static int random_uniform(lua_State *L) {
  int at;
  S2LuaRandom *random = random_generator(L, &at);
  double lo = 0, hi = 1;
  // The caller gives both ends of the range, or neither.
  if (!lua_isnoneornil(L, at)) {
    lo = s2_argument_number(L, at, S2_ANY_NUMBER);
    hi = s2_argument_number(L, at + 1, S2_ANY_NUMBER);
  }
  if (hi < lo) {
    return s2_lua_bad_argument(L, at + 1, "a number not below %.14g expected, got %.14g", lo, hi);
  }
  double u = s2_rng_uniform(&random->rng);
  lua_pushnumber(L, (1 - u) * lo + u * hi); // avoids hi - lo, which may overflow
  return 1;
}

static int random_normal(lua_State *L) {
  int at;
  S2LuaRandom *random = random_generator(L, &at);
  double mean = lua_isnoneornil(L, at) ? 0 : s2_argument_number(L, at, S2_ANY_NUMBER);
  double deviation =
      lua_isnoneornil(L, at + 1) ? 1 : s2_argument_number(L, at + 1, S2_NON_NEGATIVE);
  lua_pushnumber(L, mean + deviation * s2_rng_normal(&random->rng));
  return 1;
}

static int random_integer(lua_State *L) {
  int at;
  S2LuaRandom *random = random_generator(L, &at);
  // integer(n) draws from 1 .. n, and integer(lo, hi) draws from lo .. hi. Both ends are included.
  int64_t lo = 1, hi = s2_argument_integer(L, at, INT64_MIN, INT64_MAX);
  if (!lua_isnoneornil(L, at + 1)) {
    lo = hi;
    hi = s2_argument_integer(L, at + 1, INT64_MIN, INT64_MAX);
  }
  if (hi < lo) {
    return s2_lua_bad_argument(L, at, "there is no integer from %lld to %lld", (long long)lo,
                               (long long)hi);
  }
  lua_pushinteger(L, s2_rng_integer(&random->rng, lo, hi));
  return 1;
}

static lua_Integer list_length(lua_State *L, int argument) {
  if (lua_type(L, argument) != LUA_TTABLE && luaL_getmetafield(L, argument, "__len") == LUA_TNIL) {
    char text[S2_LUA_TEXT];
    s2_lua_bad_argument(L, argument, "list expected, got %s", s2_lua_describe(L, argument, text));
  }
  return luaL_len(L, argument);
}

static int random_choice(lua_State *L) {
  int at;
  S2LuaRandom *random = random_generator(L, &at);
  lua_Integer n = list_length(L, at);
  if (n == 0) {
    return s2_lua_bad_argument(L, at, "a list with at least one element expected");
  }
  lua_geti(L, at, s2_rng_integer(&random->rng, 1, n));
  return 1;
}

static int random_shuffle(lua_State *L) {
  int at;
  S2LuaRandom *random = random_generator(L, &at);
  // Fisher-Yates shuffle: every order is equally likely.
  for (lua_Integer i = list_length(L, at); i > 1; i--) {
    lua_Integer j = s2_rng_integer(&random->rng, 1, i);
    lua_geti(L, at, i);
    lua_geti(L, at, j);
    lua_seti(L, at, i);
    lua_seti(L, at, j);
  }
  lua_pushvalue(L, at);
  return 1;
}

static int random_seed(lua_State *L) {
  int at;
  S2LuaRandom *random = random_generator(L, &at);
  random->rng = s2_rng_seeded((uint64_t)s2_argument_integer(L, at, INT64_MIN, INT64_MAX));
  return 0;
}

static int random_split(lua_State *L) {
  int at;
  S2LuaRandom *random = random_generator(L, &at);
  // The child's seed is drawn from the parent.
  S2LuaRandom *child = lua_newuserdatauv(L, sizeof *child, 0);
  *child = (S2LuaRandom){s2_type_random, s2_rng_split(&random->rng)};
  luaL_setmetatable(L, "sim2d.Random");
  return 1;
}

static int random_tostring(lua_State *L) {
  lua_pushfstring(L, "Random: %p", s2_lua_check(L, 1, s2_type_random));
  return 1;
}

static int random_no_field(lua_State *L) {
  return s2_lua_no_field(L, "Random", 2, lua_upvalueindex(1));
}

static int random_read_only(lua_State *L) {
  return s2_lua_fail(L, "Random has no fields to assign");
}

static const luaL_Reg methods[] = {{"uniform", random_uniform}, {"normal", random_normal},
                                   {"integer", random_integer}, {"choice", random_choice},
                                   {"shuffle", random_shuffle}, {"seed", random_seed},
                                   {"split", random_split},     {NULL, NULL}};

// Fills the metatable on top of the stack. `dot` allows calls without a generator.
static void random_fill(lua_State *L, bool dot) {
  // Each method stores whether it may be called with a dot.
  luaL_newlibtable(L, methods);
  lua_pushboolean(L, dot);
  s2_lua_functions(L, methods, 1);
  // Reading an unknown name raises an error that suggests the nearest name.
  lua_createtable(L, 0, 1); // the __index of this table raises the error
  lua_pushvalue(L, -2);
  lua_pushcclosure(L, random_no_field, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, random_read_only);
  lua_setfield(L, -2, "__newindex");
  lua_pushcfunction(L, random_tostring);
  lua_setfield(L, -2, "__tostring");
}

void s2_lua_open_random(lua_State *L) {
  // Create the metatable of generators that scripts split from others.
  S2LuaSession *session = s2_lua_session(L);
  s2_lua_metatable(L, s2_type_random);
  random_fill(L, false);
  lua_pop(L, 1);
  // sim.random itself has its own metatable, because only it may be called with a dot.
  S2LuaRandom *random = lua_newuserdatauv(L, sizeof *random, 0);
  *random = (S2LuaRandom){s2_type_random, s2_rng_seeded(session->open.seed)};
  lua_createtable(L, 0, 5);
  lua_pushstring(L, s2_type_random);
  lua_setfield(L, -2, "__name");
  lua_pushstring(L, s2_type_random);
  lua_setfield(L, -2, "__metatable");
  random_fill(L, true);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, s2_type_random); // keeps it alive for the session
  session->random = random;
}
