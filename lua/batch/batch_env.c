// Steps and resets of one environment (lua/sim2d/env/env.lua), in C.
#include "lua/batch/batch.h"
#include "lua/diff/on_tape.h"

#include "diff/control/world_control.h"
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

double s2_lua_env_clip(const S2World *world, int actuator, double u) {
  double lo, hi;
  s2_actuator_range(world, actuator, &lo, &hi);
  return u < lo ? lo : u > hi ? hi : u;
}

// Reads command `i` of a list, or a single one. Returns false if it is not a number.
static bool env_number(lua_State *L, bool list, int i, double *value, S2Var *var) {
  if (list) {
    lua_rawgeti(L, 2, i + 1);
  } else {
    lua_pushvalue(L, 2);
  }
  bool number = lua_type(L, -1) == LUA_TNUMBER;
  *value = number ? lua_tonumber(L, -1) : (double)NAN;
  *var = 0;
  number = number || s2_lua_tracked_get(L, -1, value, var);
  lua_pop(L, 1);
  return number && !isnan(*value);
}

// (world, list of commands or a number): clips the commands, sets them and returns them as a list.
// Returns nil for other commands and, on a tape, clipped ones, which the Lua code handles.
static int env_act(lua_State *L) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  int count = s2_world_actuator_count(lw->world);
  double u[MOST_COMMANDS];
  S2Var vars[MOST_COMMANDS];
  bool list = lua_type(L, 2) == LUA_TTABLE, single = !list && count == 1;
  if (count > MOST_COMMANDS || (list ? (int)lua_rawlen(L, 2) != count : !single)) {
    return 0;
  }
  // Read and clip all commands before any of them is set.
  for (int i = 0; i < count; i++) {
    double given;
    if (!env_number(L, list, i, &given, &vars[i])) {
      return 0;
    }
    u[i] = s2_lua_env_clip(lw->world, i, given);
    if (u[i] != given && s2_lua_recording(lw)) { // the bound may be tracked
      return 0;
    }
  }
  s2_lua_try(L, s2_world_act(lw->world, u, count, NULL));
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    s2_lua_command_origin(lw, i, vars[i]);
    s2_lua_tracked_push(L, u[i], vars[i]);
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

// The node of a reward on a tape.
typedef struct EnvReward {
  S2LuaWorld *lw;
  const S2Var *controls;
  S2Var sum;
  bool known; // false if a reading has no derivative in C
} EnvReward;

static bool env_reads(const S2Reading *of) {
  bool coordinate = of->field == S2_JOINT_ANGLE || of->field == S2_JOINT_TRANSLATION ||
                    of->field == S2_JOINT_LENGTH || of->field == S2_JOINT_SPEED;
  return of->kind == S2_READ_BODY ? of->field < S2_BODY_STATE_COUNT : coordinate;
}

// Adds `slope` times a reading to the node.
static void env_read(void *user, const S2Reading *of, double slope) {
  EnvReward *reward = user;
  S2LuaWorld *lw = reward->lw;
  S2Var var = 0;
  double value;
  if (of->kind == S2_READ_CONTROL) {
    var = reward->controls[of->field];
  } else if (of->kind != S2_READ_TOUCHES) {
    reward->known = reward->known && env_reads(of) &&
                    s2_world_tape_field(s2_lua_on_tape(lw), lw->world, of->body, of->joint,
                                        of->field, &value, &var)
                            .code == S2_OK;
  }
  reward->sum = s2_tape_scalar2(lw->diff->tape, 0, reward->sum, 1, var, slope);
}

// Pushes a number whose node is the sum, which has the value 0.
static void env_push_reward(lua_State *L, const EnvReward *reward, double value) {
  S2Var sum = reward->sum;
  S2Var var = sum == 0 ? 0 : s2_tape_scalar1(reward->lw->diff->tape, value, sum, 1);
  s2_lua_tracked_push(L, value, var);
}

// (judge, world, list of commands, constant): returns the reward of a period, whether the episode
// has terminated, and the cost of the last state. On a tape, the reward is nil if the Lua code has
// to compute it and the cost.
static int env_judge(lua_State *L) {
  const S2Judge *judge = s2_lua_judge(L, 1);
  S2LuaWorld *lw = s2_lua_world(L, 2);
  int count = (int)lua_rawlen(L, 3);
  double u[MOST_COMMANDS], reward, last;
  S2Var vars[MOST_COMMANDS] = {0};
  bool ended, taped = s2_lua_on_tape(lw) != NULL;
  luaL_argcheck(L, count <= MOST_COMMANDS, 3, "at most 64 commands expected");
  // Commands may be tracked.
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, 3, i + 1);
    if (!s2_lua_tracked_get(L, -1, &u[i], &vars[i])) {
      u[i] = luaL_checknumber(L, -1);
    }
    lua_pop(L, 1);
  }
  // Compute the numbers and, on a tape, their nodes.
  double constant = luaL_checknumber(L, 4);
  EnvReward now = {lw, vars, 0, true}, later = now;
  S2JudgeSlope *tell = taped ? env_read : NULL;
  s2_lua_try(L, s2_judge_reward_slopes(judge, lw->world, u, constant, &reward, tell, &now));
  s2_lua_try(L, s2_judge_ended(judge, lw->world, u, &ended));
  s2_lua_try(L, s2_judge_slopes(judge, lw->world, u, true, 1, &last, tell, &later));
  if (!now.known || !later.known) {
    lua_pushnil(L);
    lua_pushboolean(L, ended);
    return 2;
  }
  env_push_reward(L, &now, reward);
  lua_pushboolean(L, ended);
  env_push_reward(L, &later, last);
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
