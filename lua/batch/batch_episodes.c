// Environments of one task that are stepped together: the object of lua/sim2d/env/env_vector.lua.
// It takes actions, steps a batch of worlds (core/batch), calls functions of the script for the
// parts that the task does not declare, and fills arrays.
#include "lua/batch/batch.h"
#include "lua/diff/array.h"
#include "lua/diff/on_tape.h"

#include "base/memory.h"
#include "dynamics/control/control.h"

#include <math.h>
#include <string.h>

static const char EPISODES[] = "sim2d.episodes";

// User values: lists with one entry per environment (environments, worlds, judges and draws), the
// options, the threads, and arrays for the results.
enum {
  STORE_ENVS = 1,
  STORE_WORLDS,
  STORE_JUDGES,
  STORE_DRAWS,
  STORE_OPTIONS,
  STORE_WORKERS,
  STORE_ARRAYS,
  STORES = STORE_ARRAYS
};

enum { ARRAYS = 7 }; // number of arrays of results

typedef struct Episode {
  S2LuaWorld *lw; // NULL for copies
  S2LuaRandom *random;
  bool begun; // whether the environment was reset at least once
  bool again; // a reset may rewind to the initial state of the world
} Episode;

typedef struct Episodes {
  S2Batch *batch;
  const S2LuaSession *session;
  bool copies; // the batch owns the worlds, and no script function is needed
  int count, controls, observed, begun;
  int width;                  // numbers in an action
  int actions;                // number of discrete actions; 0: actions are commands
  double *table;              // [actions][controls]
  double *command;            // [count][controls]
  int64_t period;             // steps
  bool starts, rewards, ends; // whether script functions do these parts of the task
  S2BatchResult result;
  // Stack indices and errors of the running call.
  lua_State *L;
  bool busy, all_asked, failed;
  int at_envs, at_worlds, at_options, at_reward, at_terminated, at_handler, at_error;
  Episode episode[];
} Episodes;

// ---- Callbacks of the script ------------------------------------------------------------------

// The reason why threads cannot step a world now, or NULL. If there is a reason, the batch reports
// a failed step.
static const char *episodes_refused(const Episodes *all, int i) {
  const S2LuaWorld *lw = all->episode[i].lw;
  if (lw->world == NULL) {
    return "the world is closed";
  }
  if (lw->phase != S2_IDLE) {
    return "the world is inside a step";
  }
  if (s2_lua_on_tape(lw) != NULL) {
    return "steps in threads have no derivative";
  }
  return s2_world_actuator_count(lw->world) != all->controls
             ? "the world has a different number of actuators"
             : NULL;
}

static unsigned episodes_own(void *user, int i) {
  const Episodes *all = user;
  const Episode *at = &all->episode[i];
  if (episodes_refused(all, i) != NULL) {
    return S2_OWN_ALL;
  }
  unsigned own = (all->rewards || all->ends) ? S2_OWN_JUDGE : 0;
  bool again = at->again && s2_batch_unchanged(all->batch, i);
  if (s2_lua_batch_stepped(at->lw)) {
    own |= S2_OWN_STEP | S2_OWN_RESET;
  }
  if (all->all_asked || all->starts || !again) {
    own |= S2_OWN_RESET;
  }
  return own | (at->lw->control_in_lua ? S2_OWN_OBSERVE : 0);
}

// Calls the function below its arguments. The first error is kept and raised at the end of the
// call.
static S2Status episodes_call(Episodes *all, int arguments, int results) {
  lua_State *L = all->L;
  if (lua_pcall(L, arguments, results, all->at_handler) == LUA_OK) {
    return s2_ok();
  }
  if (!all->failed) {
    all->failed = true;
    lua_replace(L, all->at_error);
  } else {
    lua_pop(L, 1);
  }
  return s2_error(S2_ABORTED, "a function of the task raised an error");
}

static void push_episode(const Episodes *all, int list, int i) {
  lua_rawgeti(all->L, list, i + 1);
}

static void episodes_push_list(lua_State *L, int count, const double *numbers) {
  lua_createtable(L, count, 0);
  for (int k = 0; k < count; k++) {
    lua_pushnumber(L, numbers[k]);
    lua_rawseti(L, -2, k + 1);
  }
}

static S2Status episodes_act(void *user, int i, double *commands) {
  const Episodes *all = user;
  const char *why = episodes_refused(all, i);
  if (why != NULL) {
    return s2_error(S2_INVALID, "%s", why);
  }
  S2World *world = all->episode[i].lw->world;
  for (int k = 0; k < all->controls; k++) {
    commands[k] = s2_lua_env_clip(world, k, commands[k]);
  }
  return s2_world_act(world, commands, all->controls, NULL);
}

static S2Status episodes_step(void *user, int i) {
  Episodes *all = user;
  lua_getfield(all->L, all->at_options, "step");
  push_episode(all, all->at_worlds, i);
  return episodes_call(all, 1, 0);
}

// Calls options.observe(env), which returns a list.
static S2Status episodes_observe(void *user, int i, double *numbers) {
  Episodes *all = user;
  lua_State *L = all->L;
  if (all->episode[i].lw->world == NULL) {
    return s2_error(S2_INVALID, "the world is closed");
  }
  lua_getfield(L, all->at_options, "observe");
  push_episode(all, all->at_envs, i);
  S2_TRY(episodes_call(all, 1, 1));
  int count = (int)lua_rawlen(L, -1);
  for (int k = 0; k < count && k < all->observed; k++) {
    lua_rawgeti(L, -1, k + 1);
    numbers[k] = lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return count == all->observed
             ? s2_ok()
             : s2_error(S2_INVALID, "it observes %d numbers, not %d", count, all->observed);
}

// Calls options.reset(i). The function uses the random generator of the environment, as the draws
// do.
static S2Status episodes_reset(void *user, int i) {
  Episodes *all = user;
  lua_State *L = all->L;
  S2BatchPlace place = s2_batch_place(all->batch, i);
  S2LuaRandom *random = all->episode[i].random;
  random->rng = place.rng;
  lua_getfield(L, all->at_options, "reset");
  lua_pushinteger(L, i + 1);
  S2Status status = episodes_call(all, 1, 0);
  place.rng = random->rng;
  s2_batch_set_place(all->batch, i, &place);
  if (status.code == S2_OK && !all->episode[i].begun) {
    all->episode[i].begun = true;
    all->begun++;
  }
  return status;
}

// Calls options.reward(world, commands, env) and options.terminated(world, env).
static S2Status episodes_judge(void *user, int i, const double *commands, double *reward,
                               bool *terminated) {
  Episodes *all = user;
  lua_State *L = all->L;
  // The reward may read the step number of the environment.
  push_episode(all, all->at_envs, i);
  int env = lua_gettop(L);
  lua_pushinteger(L, (lua_Integer)s2_batch_place(all->batch, i).steps + 1);
  lua_setfield(L, env, "steps");
  S2Status status = s2_ok();
  if (all->rewards) {
    lua_pushvalue(L, all->at_reward);
    push_episode(all, all->at_worlds, i);
    episodes_push_list(L, all->controls, commands);
    lua_pushvalue(L, env);
    status = episodes_call(all, 3, 1);
    if (status.code == S2_OK && lua_type(L, -1) != LUA_TNUMBER) {
      char text[S2_LUA_TEXT];
      status =
          s2_error(S2_INVALID, "reward: a number expected, got %s", s2_lua_describe(L, -1, text));
    } else if (status.code == S2_OK) {
      *reward = lua_tonumber(L, -1);
    }
  }
  if (status.code == S2_OK && all->ends) {
    lua_pushvalue(L, all->at_terminated);
    push_episode(all, all->at_worlds, i);
    lua_pushvalue(L, env);
    status = episodes_call(all, 2, 1);
    *terminated = status.code == S2_OK && lua_isboolean(L, -1) && lua_toboolean(L, -1) != 0;
  }
  lua_settop(L, env - 1);
  return status;
}

// ---- Calls ------------------------------------------------------------------------------------

static Episodes *check_episodes(lua_State *L) {
  Episodes *all = luaL_checkudata(L, 1, EPISODES);
  if (all->busy) {
    s2_lua_fail(L, "a function of a vector of environments cannot be called from inside its step");
  }
  return all;
}

// Pushes the values that script functions need.
static void episodes_begin(lua_State *L, Episodes *all) {
  luaL_checkstack(L, 40, "out of stack");
  lua_getiuservalue(L, 1, STORE_ENVS);
  all->at_envs = lua_gettop(L);
  lua_getiuservalue(L, 1, STORE_WORLDS);
  all->at_worlds = lua_gettop(L);
  lua_getiuservalue(L, 1, STORE_OPTIONS);
  all->at_options = lua_gettop(L);
  lua_getfield(L, all->at_options, "reward");
  all->at_reward = lua_gettop(L);
  lua_getfield(L, all->at_options, "terminated");
  all->at_terminated = lua_gettop(L);
  lua_pushcfunction(L, s2_lua_keep_traceback);
  all->at_handler = lua_gettop(L);
  lua_pushnil(L);
  all->at_error = lua_gettop(L);
  all->L = L;
  all->busy = true;
  all->failed = false;
}

// Raises the error of a script function, if any. Otherwise pushes the number and message of a
// failed step, or no value.
static int episodes_end(lua_State *L, Episodes *all) {
  all->busy = false;
  if (s2_lua_interrupted(all->session)) {
    return s2_lua_fail(L, "interrupted");
  }
  if (all->failed) {
    lua_pushvalue(L, all->at_error);
    return lua_error(L);
  }
  S2Status why;
  int failed = s2_batch_failed(all->batch, 0, &why);
  if (failed < 0) {
    return 0;
  }
  lua_pushinteger(L, failed + 1);
  lua_pushstring(L, why.message);
  return 2;
}

// Reads the action on top of the stack into `row`. Returns false if the value is not an action.
static bool read_action(lua_State *L, const Episodes *all, double *row) {
  if (lua_type(L, -1) == LUA_TNUMBER && all->width == 1) {
    row[0] = lua_tonumber(L, -1);
    return true;
  }
  if (lua_type(L, -1) != LUA_TTABLE || all->actions > 0 || (int)lua_rawlen(L, -1) != all->width) {
    return false;
  }
  for (int k = 0; k < all->width; k++) {
    lua_rawgeti(L, -1, k + 1);
    bool good = lua_type(L, -1) == LUA_TNUMBER;
    row[k] = lua_tonumber(L, -1);
    lua_pop(L, 1);
    if (!good) {
      return false;
    }
  }
  return true;
}

// Replaces the number of a discrete action in `row` by its commands. Returns false for an invalid
// action.
static bool command_row(const Episodes *all, double *row) {
  if (all->actions > 0) {
    double number = row[0];
    if (!(number >= 1 && number <= all->actions) || number != floor(number)) {
      return false;
    }
    const double *from = all->table + ((size_t)number - 1) * (size_t)all->controls;
    for (int k = 0; k < all->controls; k++) {
      row[k] = from[k];
    }
  }
  bool good = true;
  for (int k = 0; k < all->controls; k++) {
    good = good && !isnan(row[k]);
  }
  return good;
}

// Reads the commands of all environments from argument 2, a list of actions or an array. Returns
// the index (from 1) of the first bad action, or 0. A pointer is the
// address of numbers, with actions from 0. Actions of environments that are only reset are ignored.
static int read_actions(lua_State *L, Episodes *all, S2AutoReset autoreset) {
  const S2LuaArray *array = s2_lua_array_test(L, 2);
  bool shared = lua_islightuserdata(L, 2) != 0;
  const double *numbers = shared ? lua_touserdata(L, 2) : array != NULL ? array->data : NULL;
  double first = shared && all->actions > 0 ? 1 : 0;
  for (int i = 0; i < all->count; i++) {
    double *row = all->command + (size_t)i * (size_t)all->controls;
    bool good = true;
    if (numbers != NULL) {
      for (int k = 0; k < all->width; k++) {
        row[k] = numbers[i * all->width + k] + first;
      }
    } else {
      lua_rawgeti(L, 2, i + 1);
      good = read_action(L, all, row);
      lua_pop(L, 1);
    }
    good = good && command_row(all, row);
    if (!good && !(autoreset == S2_RESET_NEXT_STEP && s2_batch_place(all->batch, i).ended)) {
      return i + 1;
    }
  }
  return 0;
}

// The sizes of the results and where S2BatchResult keeps them: observations, rewards, terminated,
// truncated, final observations, unsolved steps, mode changes.
static void episodes_results(Episodes *all, int sizes[ARRAYS], double **to[ARRAYS]) {
  S2BatchResult *result = &all->result;
  double **const places[ARRAYS] = {&result->observations, &result->rewards, &result->terminated,
                                   &result->truncated,    &result->final,   &result->unsolved,
                                   &result->mode_changes};
  for (int k = 0; k < ARRAYS; k++) {
    bool rows = k == 0 || k == 4;
    sizes[k] = rows ? all->count * all->observed : all->count;
    to[k] = places[k];
  }
}

// Directs the results to numbers of the caller, one array after the other.
static void episodes_direct(Episodes *all, double *to) {
  int sizes[ARRAYS];
  double **at[ARRAYS];
  episodes_results(all, sizes, at);
  for (int k = 0; k < ARRAYS; k++) {
    *at[k] = to;
    to += sizes[k];
  }
}

// episodes:step(actions, autoreset, results): `actions` is an array with a number for each command,
// a list, or the address of such numbers. `results` is nil, or the address of numbers that receive
// the results of this call instead of the arrays. For a bad action, returns "action" and its index.
// If an environment must be reset first, returns "begin" and its index without stepping any world.
// If a step fails, returns its number and message.
static int episodes_lua_step(lua_State *L) {
  Episodes *all = check_episodes(L);
  lua_settop(L, 4);
  S2AutoReset autoreset = (S2AutoReset)luaL_checkinteger(L, 3);
  const S2LuaArray *array = s2_lua_array_test(L, 2);
  if (array != NULL && s2_lua_array_view(L, array).var != 0) {
    return s2_lua_fail(L, "a vector's step has no derivative; use plain numbers (x:value())");
  }
  // Find episodes that have ended, and step or reset the others.
  bool look = all->begun < all->count || autoreset == S2_RESET_DISABLED;
  for (int i = 0; look && i < all->count; i++) {
    if (!all->episode[i].begun ||
        (autoreset == S2_RESET_DISABLED && s2_batch_place(all->batch, i).ended)) {
      lua_pushliteral(L, "begin");
      lua_pushinteger(L, i + 1);
      return 2;
    }
  }
  int bad = read_actions(L, all, autoreset);
  if (bad > 0) {
    lua_pushliteral(L, "action");
    lua_pushinteger(L, bad);
    return 2;
  }
  episodes_begin(L, all);
  all->all_asked = false;
  S2BatchResult arrays = all->result;
  if (lua_islightuserdata(L, 4)) {
    episodes_direct(all, lua_touserdata(L, 4));
  }
  S2Status status = s2_batch_step(all->batch, all->command, (int)all->period, &all->result);
  all->result = arrays;
  int results = episodes_end(L, all);
  s2_lua_try(L, status);
  return results;
}

// episodes:reset(mask or nil): resets the environments of the mask. Returns the number and message
// of a failed reset, or no value.
static int episodes_lua_reset(lua_State *L) {
  Episodes *all = check_episodes(L);
  lua_settop(L, 2);
  const double *mask = lua_isnil(L, 2) ? NULL : s2_lua_array_check(L, 2)->data;
  episodes_begin(L, all);
  all->all_asked = true;
  s2_batch_reset(all->batch, NULL, mask, all->result.observations);
  for (int i = 0; i < all->count && all->copies; i++) {
    bool begins = !all->episode[i].begun && (mask == NULL || mask[i] != 0);
    all->episode[i].begun |= begins;
    all->begun += begins;
  }
  return episodes_end(L, all);
}

static Episode *check_episode(lua_State *L, Episodes **all, int *i) {
  *all = luaL_checkudata(L, 1, EPISODES);
  *i = (int)luaL_checkinteger(L, 2) - 1;
  luaL_argcheck(L, *i >= 0 && *i < (*all)->count, 2, "the number of an environment expected");
  return &(*all)->episode[*i];
}

static void episodes_keep(lua_State *L, int store, int i, int value) {
  lua_getiuservalue(L, 1, store);
  if (lua_isnoneornil(L, value)) {
    lua_pushboolean(L, 0);
  } else {
    lua_pushvalue(L, value);
  }
  lua_rawseti(L, -2, i + 1);
  lua_pop(L, 1);
}

// episodes:world(i, world, judge, draws, again): sets the world of an environment, in its initial
// state. `again`: resets may rewind to this state.
static int episodes_world(lua_State *L) {
  Episodes *all;
  int i;
  lua_settop(L, 6);
  Episode *at = check_episode(L, &all, &i);
  S2LuaWorld *lw = s2_lua_world(L, 3);
  const S2Judge *judge = s2_lua_judge(L, 4);
  const S2LuaDraws *draws = s2_lua_draws(L, 5);
  s2_batch_set_world(all->batch, i, lw->world, judge, draws != NULL ? draws->count : 0,
                     draws != NULL ? draws->draw : NULL);
  at->lw->held = NULL;
  lw->held = &all->busy;
  at->lw = lw;
  at->again = lua_toboolean(L, 6) != 0;
  episodes_keep(L, STORE_WORLDS, i, 3);
  episodes_keep(L, STORE_JUDGES, i, 4);
  episodes_keep(L, STORE_DRAWS, i, 5);
  return 0;
}

// episodes:rewind(i): if only the motion of the world has changed since episodes:world, rewinds the
// world and returns true. Otherwise returns false
static int episodes_rewind(lua_State *L) {
  Episodes *all;
  int i;
  const Episode *at = check_episode(L, &all, &i);
  bool again = at->again && at->lw->world != NULL && s2_lua_on_tape(at->lw) == NULL &&
               !s2_lua_batch_stepped(at->lw) && s2_batch_unchanged(all->batch, i);
  if (again) {
    s2_lua_try(L, s2_batch_rewind(all->batch, i)); // bodies and joints are still the same
  }
  lua_pushboolean(L, again);
  return 1;
}

// episodes:place(i): returns the number of steps of the episode, and whether the episode has ended.
static int episodes_place(lua_State *L) {
  Episodes *all;
  int i;
  (void)check_episode(L, &all, &i);
  S2BatchPlace place = s2_batch_place(all->batch, i);
  lua_pushinteger(L, (lua_Integer)place.steps);
  lua_pushboolean(L, place.ended);
  return 2;
}

// episodes:final(): returns the last observation of each episode that ended in the last step, by
// the index of the environment.
static int episodes_final(lua_State *L) {
  const Episodes *all = luaL_checkudata(L, 1, EPISODES);
  lua_newtable(L);
  for (int i = 0; i < all->count; i++) {
    if (all->result.terminated[i] != 0 || all->result.truncated[i] != 0) {
      episodes_push_list(L, all->observed, all->result.final + (size_t)i * (size_t)all->observed);
      lua_rawseti(L, -2, i + 1);
    }
  }
  return 1;
}

// episodes:seed(i, integer): restarts the random generator of an environment.
static int episodes_seed(lua_State *L) {
  Episodes *all;
  int i;
  (void)check_episode(L, &all, &i);
  S2BatchPlace place = s2_batch_place(all->batch, i);
  place.rng = s2_rng_seeded((uint64_t)luaL_checkinteger(L, 3));
  s2_batch_set_place(all->batch, i, &place);
  return 0;
}

// episodes:adopt(i, from): continues the episode of environment i of `from`, which has copies.
static int episodes_adopt(lua_State *L) {
  Episodes *all;
  int i;
  Episode *at = check_episode(L, &all, &i);
  const Episodes *from = luaL_checkudata(L, 3, EPISODES);
  const S2World *world;
  s2_lua_try(L, s2_batch_copy(from->batch, i, &world));
  size_t size = s2_world_image_size(world);
  void *image = lua_newuserdatauv(L, size, 0);
  s2_world_image_write(world, image);
  s2_lua_try(L, s2_world_image_read(at->lw->world, image, size));
  S2BatchPlace place = s2_batch_place(from->batch, i);
  s2_batch_set_place(all->batch, i, &place);
  all->begun += from->episode[i].begun - at->begun;
  at->begun = from->episode[i].begun;
  return 0;
}

static int episodes_collect(lua_State *L) {
  Episodes *all = luaL_checkudata(L, 1, EPISODES);
  for (int i = 0; i < all->count && all->batch != NULL && !all->copies; i++) {
    all->episode[i].lw->held = NULL;
  }
  s2_batch_free(all->batch);
  s2_memory_free(all->table);
  s2_memory_free(all->command);
  all->batch = NULL;
  all->table = all->command = NULL;
  return 0;
}

// ---- Making -----------------------------------------------------------------------------------

static int64_t option_integer(lua_State *L, const char *key) {
  lua_getfield(L, 2, key);
  int64_t value = (int64_t)luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  return value;
}

static bool option_given(lua_State *L, const char *key) {
  bool given = lua_getfield(L, 2, key) != LUA_TNIL;
  lua_pop(L, 1);
  return given;
}

// Read the lists, and the commands of each discrete action.
static void episodes_read(lua_State *L, int at, Episodes *all) {
  static const char *const lists[] = {[STORE_ENVS] = "envs", [STORE_WORLDS] = "worlds"};
  for (int store = STORE_ENVS; store <= STORE_DRAWS; store++) {
    if (store <= STORE_WORLDS) {
      lua_getfield(L, 2, lists[store]);
    } else {
      lua_createtable(L, all->count, 0);
    }
    lua_setiuservalue(L, at, store);
  }
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, at, STORE_OPTIONS);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, at, STORE_WORKERS);
  // Store the commands of each discrete action, and allocate memory for the commands of a step.
  all->table = s2_memory_take(sizeof(double) * (size_t)(all->actions * all->controls + 1));
  all->command = s2_memory_take_zeroed(sizeof(double) * (size_t)(all->count * all->controls + 1));
  for (int a = 0; a < all->actions; a++) {
    lua_getfield(L, 2, "actions");
    lua_rawgeti(L, -1, a + 1);
    for (int k = 0; k < all->controls; k++) {
      lua_rawgeti(L, -1, k + 1);
      all->table[a * all->controls + k] = luaL_checknumber(L, -1);
      lua_pop(L, 1);
    }
    lua_pop(L, 2);
  }
}

// Reads the worlds and generators from the options. The Lua code then calls episodes:world for each
// world. Pushes the list of the engine's worlds.
static S2World *const *episodes_push_worlds(lua_State *L, Episodes *all) {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
  S2World **worlds = lua_newuserdatauv(L, sizeof *worlds * (size_t)(all->count + 1), 0);
  int top = lua_gettop(L);
  for (int i = 0; i < all->count; i++) {
    lua_getfield(L, 2, "worlds");
    lua_rawgeti(L, -1, all->copies ? 1 : i + 1);
    lua_getfield(L, 2, "randoms");
    lua_rawgeti(L, -1, i + 1);
    S2LuaWorld *lw = s2_lua_world(L, -3);
    all->session = lw->session;
    all->episode[i] =
        (Episode){.lw = all->copies ? NULL : lw, .random = s2_lua_check(L, -1, s2_type_random)};
    worlds[i] = lw->world;
    lua_settop(L, top);
  }
  return worlds;
}

// Each environment continues with its own generator. Those of copies are used here as in the first
// episode of a task, except for the generators that have been used already (`drawn`).
static void episodes_set_generators(lua_State *L, Episodes *all) {
  for (int i = 0; i < all->count; i++) {
    S2BatchPlace place = s2_batch_place(all->batch, i);
    place.rng = all->episode[i].random->rng;
    s2_batch_set_place(all->batch, i, &place);
  }
  if (all->copies) {
    double *mask = lua_newuserdatauv(L, sizeof *mask * (size_t)all->count, 0);
    int drawn = (int)option_integer(L, "drawn");
    for (int i = 0; i < all->count; i++) {
      mask[i] = i < drawn ? 0 : 1;
    }
    s2_batch_reset(all->batch, NULL, mask, all->result.observations);
    memset(all->result.observations, 0,
           sizeof *all->result.observations * (size_t)(all->count * all->observed));
    lua_pop(L, 1);
  }
}

// Creates the arrays of results and pushes a list of them.
static void episodes_arrays(lua_State *L, Episodes *all) {
  int sizes[ARRAYS];
  double **to[ARRAYS];
  episodes_results(all, sizes, to);
  lua_createtable(L, ARRAYS, 0);
  for (int k = 0; k < ARRAYS; k++) {
    S2LuaArray *array = s2_lua_array_push(L, s2_size_list(sizes[k]));
    memset(array->data, 0, sizeof *array->data * (size_t)sizes[k]);
    *to[k] = array->data;
    lua_rawseti(L, -2, k + 1);
  }
}

// Uses the arrays of another object, the list on top of the stack.
static void episodes_take_arrays(lua_State *L, Episodes *all) {
  int sizes[ARRAYS];
  double **to[ARRAYS];
  episodes_results(all, sizes, to);
  for (int k = 0; k < ARRAYS; k++) {
    lua_rawgeti(L, -1, k + 1);
    *to[k] = s2_lua_array_check(L, -1)->data;
    lua_pop(L, 1);
  }
}

// Reads the numbers of the options.
static void episodes_options(lua_State *L, Episodes *all, int count) {
  *all = (Episodes){.copies = option_given(L, "judge"),
                    .count = count,
                    .controls = (int)option_integer(L, "controls"),
                    .observed = (int)option_integer(L, "observed"),
                    .period = option_integer(L, "period"),
                    .starts = option_given(L, "start"),
                    .rewards = option_given(L, "reward"),
                    .ends = option_given(L, "terminated")};
  if (option_given(L, "actions")) {
    lua_getfield(L, 2, "actions");
    all->actions = (int)lua_rawlen(L, -1);
    lua_pop(L, 1);
  }
  all->width = all->actions > 0 ? 1 : all->controls;
}

static void episodes_set_class(lua_State *L, int at) {
  if (luaL_newmetatable(L, EPISODES)) {
    static const luaL_Reg methods[] = {
        {"step", episodes_lua_step}, {"reset", episodes_lua_reset}, {"world", episodes_world},
        {"rewind", episodes_rewind}, {"place", episodes_place},     {"final", episodes_final},
        {"seed", episodes_seed},     {"adopt", episodes_adopt},     {NULL, NULL}};
    lua_pushcfunction(L, episodes_collect);
    lua_setfield(L, -2, "__gc");
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
  }
  lua_setmetatable(L, at);
}

static S2BatchDef episodes_def(lua_State *L, Episodes *all) {
  lua_getfield(L, 2, "constant");
  S2BatchDef def = {.autoreset = (S2AutoReset)option_integer(L, "autoreset"),
                    .worth = S2_WORTH_PERIODS,
                    .constant = luaL_checknumber(L, -1),
                    .max_steps = option_integer(L, "max_steps"),
                    .unlike = true,
                    .copies = all->copies,
                    .controls = all->controls,
                    .observed = all->observed};
  if (all->copies) { // the table of options keeps the judge and the draws
    lua_getfield(L, 2, "judge");
    def.judge = lua_toboolean(L, -1) ? s2_lua_judge(L, -1) : NULL;
    lua_getfield(L, 2, "draws");
    const S2LuaDraws *draws = s2_lua_draws(L, -1);
    def.draws = draws != NULL ? draws->count : 0;
    def.draw = draws != NULL ? draws->draw : NULL;
    lua_pop(L, 2);
  } else {
    def.program = (S2BatchProgram){.user = all,
                                   .own = episodes_own,
                                   .step = episodes_step,
                                   .reset = episodes_reset,
                                   .act = episodes_act,
                                   .observe = episodes_observe,
                                   .judge = episodes_judge};
  }
  lua_pop(L, 1);
  return def;
}

// (workers, { envs =, worlds =, randoms =, controls =, observed =, period =, max_steps =, autoreset
// =, constant =, actions =, step =, observe =, reset =, start =, reward =, terminated =, judge =,
// draws =, drawn =, arrays = }): the object and its arrays, or nil and a message. The options are
// lists, numbers and functions. Only the presence of `start` matters, not its value. With `judge`
// (a judge, or false), the environments are copies of worlds[1] that need no functions: `envs` has
// the environment of that world, and `drawn` of the generators have been used. `arrays` are those
// of another object.
int s2_lua_new_episodes(lua_State *L) {
  S2Workers *workers = s2_lua_workers(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  lua_getfield(L, 2, "randoms");
  int count = (int)lua_rawlen(L, -1);
  Episodes *all = lua_newuserdatauv(L, sizeof *all + sizeof(Episode) * (size_t)count, STORES);
  int at = lua_gettop(L); // after an error, Lua frees the object
  episodes_options(L, all, count);
  episodes_set_class(L, at);
  episodes_read(L, at, all);
  S2World *const *worlds = episodes_push_worlds(L, all);
  S2BatchDef def = episodes_def(L, all);
  S2Status status = s2_batch_create(&def, worlds, count, workers, &all->batch);
  if (status.code != S2_OK) {
    lua_pushnil(L);
    lua_pushstring(L, status.message);
    return 2;
  }
  lua_pushvalue(L, at);
  if (option_given(L, "arrays")) {
    lua_getfield(L, 2, "arrays");
    episodes_take_arrays(L, all);
  } else {
    episodes_arrays(L, all);
  }
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, at, STORE_ARRAYS);
  episodes_set_generators(L, all);
  return 2;
}
