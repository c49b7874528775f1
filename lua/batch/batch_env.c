// Steps and resets of one environment (lua/sim2d/env/env.lua), in C.
#include "lua/batch/batch.h"
#include "lua/diff/on_tape.h"

#include "dynamics/control/control.h"

#include <math.h>
#include <string.h>

bool s2_lua_batch_stepped(const S2LuaWorld *lw) {
  bool stepped =
      lw->recorders.count > 0 || s2_world_settings(lw->world)->solver == S2_SOLVER_PROGRAM;
  for (int hook = 0; hook < S2_HOOK_COUNT; hook++) {
    stepped = stepped || lw->hooks[hook] > 0;
  }
  return stepped || s2_world_asks(lw->world);
}

bool s2_lua_batch_alone(const S2LuaWorld *lw) {
  return lw->control_in_lua || s2_lua_batch_stepped(lw);
}

// ---- Rewinding a world ------------------------------------------------------------------------

// Arguments: (draws, world, random).
static int env_draw(lua_State *L) {
  const S2LuaDraws *draws = s2_lua_draws(L, 1);
  const S2LuaWorld *lw = s2_lua_world(L, 2);
  S2LuaRandom *random = s2_lua_check(L, 3, s2_type_random);
  if (draws != NULL) {
    s2_lua_try(L, s2_draw(draws->draw, draws->count, lw->world, &random->rng));
  }
  return 0;
}

static int env_bare(lua_State *L) {
  const S2LuaWorld *lw = s2_lua_check(L, 1, s2_type_world);
  bool bare = lw->world != NULL && lw->recorders.count == 0 && s2_lua_on_tape(lw) == NULL;
  for (int hook = 0; hook < S2_HOOK_COUNT; hook++) {
    bare = bare && lw->hooks[hook] == 0;
  }
  if (!bare) {
    return 0;
  }
  lua_pushinteger(L, (lua_Integer)s2_world_revision(lw->world));
  lua_pushinteger(L, s2_world_actuator_count(lw->world));
  lua_pushinteger(L, s2_world_observation_size(lw->world));
  lua_pushinteger(L, (lua_Integer)s2_world_changes(lw->world));
  return 4;
}

static int env_drawn(lua_State *L) {
  const S2LuaRandom *random = s2_lua_check(L, 1, s2_type_random);
  lua_pushlstring(L, (const char *)&random->rng, sizeof random->rng);
  return 1;
}

// (world, world): true if the states and all numbers of both worlds are equal.
static int env_alike(lua_State *L) {
  const S2World *a = s2_lua_world(L, 1)->world, *b = s2_lua_world(L, 2)->world;
  size_t size = s2_world_image_size(a);
  bool alike = s2_world_image_size(b) == size;
  if (alike) {
    unsigned char *first = lua_newuserdatauv(L, size, 0), *second = lua_newuserdatauv(L, size, 0);
    s2_world_image_write(a, first);
    s2_world_image_write(b, second);
    alike = memcmp(first, second, size) == 0;
  }
  lua_pushboolean(L, alike);
  return 1;
}

// ---- A step -----------------------------------------------------------------------------------

enum { MOST_COMMANDS = 64 };

static bool env_number(lua_State *L, double *value) {
  bool good = lua_type(L, -1) == LUA_TNUMBER;
  *value = good ? lua_tonumber(L, -1) : NAN;
  lua_pop(L, 1);
  return !isnan(*value);
}

double s2_lua_env_clip(const S2World *world, int actuator, double u) {
  double lo, hi;
  s2_actuator_range(world, actuator, &lo, &hi);
  return u < lo ? lo : u > hi ? hi : u;
}

// (world, list of commands or a number): clips the commands, sets them and returns them as a list.
// Returns nil for tracked or invalid commands, which the Lua code handles.
static int env_act(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  int count = s2_world_actuator_count(lw->world);
  double u[MOST_COMMANDS];
  bool list = lua_type(L, 2) == LUA_TTABLE;
  // All commands must be plain numbers, one for each actuator.
  if (s2_lua_recording(lw) || s2_lua_on_tape(lw) != NULL || count > MOST_COMMANDS ||
      (list ? (int)lua_rawlen(L, 2) != count : lua_type(L, 2) != LUA_TNUMBER || count != 1)) {
    return 0;
  }
  for (int i = 0; i < count; i++) {
    if (list) {
      lua_rawgeti(L, 2, i + 1);
    } else {
      lua_pushvalue(L, 2);
    }
    if (!env_number(L, &u[i])) {
      return 0;
    }
    u[i] = s2_lua_env_clip(lw->world, i, u[i]);
  }
  s2_lua_try(L, s2_world_act(lw->world, u, count, NULL));
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_pushnumber(L, u[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

// (world): returns the observation as a list, or nil if the Lua code must observe.
static int env_seen(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  int count = s2_world_observation_size(lw->world);
  double *numbers;
  S2Var *vars;
  if (!s2_lua_observe(L, lw, &numbers, &vars)) {
    return 0;
  }
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    s2_lua_tracked_push(L, numbers[i], vars[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

// (world): returns the scaled residual of the last step, and the numbers of unsolved steps and of
// mode changes so far.
static int env_left(lua_State *L) {
  const S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_pushnumber(L, s2_world_residuals(lw->world).solve.scaled);
  const S2WorldStats *stats = s2_world_stats(lw->world);
  lua_pushinteger(L, (lua_Integer)stats->unsolved);
  lua_pushinteger(L, (lua_Integer)stats->mode_changes);
  return 3;
}

// (judge, world, list of commands, constant): returns the reward of a period, whether the episode
// has terminated, and the cost of the last state.
static int env_judge(lua_State *L) {
  const S2Judge *judge = s2_lua_judge(L, 1);
  const S2LuaWorld *lw = s2_lua_world(L, 2);
  int count = (int)lua_rawlen(L, 3);
  double u[MOST_COMMANDS], reward, last;
  bool ended;
  luaL_argcheck(L, count <= MOST_COMMANDS, 3, "at most 64 commands expected");
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, 3, i + 1);
    u[i] = luaL_checknumber(L, -1);
    lua_pop(L, 1);
  }
  double constant = luaL_checknumber(L, 4);
  s2_lua_try(L, s2_judge_reward(judge, lw->world, u, constant, &reward));
  s2_lua_try(L, s2_judge_ended(judge, lw->world, u, &ended));
  s2_lua_try(L, s2_judge_terminal(judge, lw->world, u, &last));
  lua_pushnumber(L, reward);
  lua_pushboolean(L, ended);
  lua_pushnumber(L, last);
  return 3;
}

void s2_lua_env_functions(lua_State *L) {
  static const luaL_Reg functions[] = {{"draw", env_draw},   {"bare", env_bare},
                                       {"drawn", env_drawn}, {"rewind", s2_lua_world_rewind},
                                       {"act", env_act},     {"seen", env_seen},
                                       {"left", env_left},   {"judged", env_judge},
                                       {"alike", env_alike}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
