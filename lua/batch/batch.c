// Batches of worlds for scripts: the C object that lua/sim2d/batch/batch.lua uses.
#include "lua/batch/batch.h"
#include "lua/diff/array.h"
#include "lua/diff/on_tape.h"

#include "dynamics/control/control.h"

#include <string.h>

static const char BATCH[] = "sim2d.batch";

// User values of a batch.
enum { BATCH_WORLDS = 1, BATCH_JUDGE, BATCH_WORKERS, BATCH_PROGRAM, BATCH_STORES = BATCH_PROGRAM };

typedef struct BatchObject {
  S2Batch *batch; // NULL: closed
  int count;
  bool busy;                 // a call is running
  lua_State *L;              // Lua state of the running call, with the batch as argument 1
  int at_worlds, at_program; // stack indices in L
  S2LuaWorld **world;
} BatchObject;

// ---- Worlds of the script ---------------------------------------------------------------------

static unsigned program_own(void *user, int world) {
  const BatchObject *object = user;
  return s2_lua_batch_alone(object->world[world]) ? S2_OWN_STEP | S2_OWN_RESET | S2_OWN_OBSERVE : 0;
}

// Calls the function that is on the stack below its arguments. An error is returned as a status.
static S2Status call_protected(lua_State *L, int arguments, int results) {
  if (lua_pcall(L, arguments, results, 0) == LUA_OK) {
    return s2_ok();
  }
  const char *message = luaL_tolstring(L, -1, NULL);
  S2Status status = s2_error(S2_ABORTED, "%s", message);
  lua_pop(L, 2);
  return status;
}

// Pushes program[name] and the world.
static void push_call(const BatchObject *object, const char *name, int world) {
  lua_State *L = object->L;
  lua_getfield(L, object->at_program, name);
  lua_rawgeti(L, object->at_worlds, world + 1);
}

static S2Status program_step(void *user, int world) {
  const BatchObject *object = user;
  push_call(object, "step", world);
  return call_protected(object->L, 1, 0);
}

// NOLINTNEXTLINE(*-non-const-parameter): signature of a callback
static S2Status program_act(void *user, int world, double *commands) {
  const BatchObject *object = user;
  lua_State *L = object->L;
  push_call(object, "act", world);
  int count = s2_batch_controls(object->batch);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_pushnumber(L, commands[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return call_protected(L, 2, 0);
}

static S2Status program_observe(void *user, int world, double *numbers) {
  const BatchObject *object = user;
  lua_State *L = object->L;
  push_call(object, "observe", world);
  S2Status status = call_protected(L, 1, 1);
  if (status.code != S2_OK) {
    return status;
  }
  int count = (int)lua_rawlen(L, -1), expected = s2_batch_observed(object->batch);
  for (int i = 0; i < count && i < expected; i++) {
    lua_rawgeti(L, -1, i + 1);
    numbers[i] = lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return count == expected
             ? s2_ok()
             : s2_error(S2_INVALID, "it observes %d numbers, not %d", count, expected);
}

static S2Status program_reset(void *user, int world) {
  const BatchObject *object = user;
  push_call(object, "reset", world);
  lua_pushinteger(object->L, world + 1);
  return call_protected(object->L, 2, 0);
}

// ---- Calls ------------------------------------------------------------------------------------

static BatchObject *check_batch(lua_State *L) {
  BatchObject *object = luaL_checkudata(L, 1, BATCH);
  if (object->batch == NULL) {
    s2_lua_fail(L, "batch is closed");
  }
  if (object->busy) {
    s2_lua_fail(L, "a function of a batch cannot be called from inside its step");
  }
  return object;
}

// Checks the worlds before a step. Each must be open, not within a step, and not on a tape.
static void begin_call(lua_State *L, BatchObject *object, const char *what) {
  luaL_checkstack(L, 40, "out of stack");
  for (int i = 0; i < object->count; i++) {
    const S2LuaWorld *lw = object->world[i];
    if (lw->world == NULL) {
      s2_lua_fail(L, "batch: world %d is closed", i + 1);
    }
    if (lw->phase != S2_IDLE) {
      s2_lua_fail(L, "%s cannot be called from inside a step", what);
    }
    if (s2_lua_on_tape(lw) != NULL) {
      s2_lua_fail(L, "%s has no derivative; use sim.rollout", what);
    }
  }
  for (int i = 0; i < object->count; i++) {
    object->world[i]->held = &object->busy;
  }
  lua_getiuservalue(L, 1, BATCH_WORLDS);
  object->at_worlds = lua_gettop(L);
  lua_getiuservalue(L, 1, BATCH_PROGRAM);
  object->at_program = lua_gettop(L);
  object->L = L;
  object->busy = true;
}

static void end_call(lua_State *L, BatchObject *object) {
  object->busy = false;
  for (int i = 0; i < object->count; i++) {
    object->world[i]->held = NULL;
    s2_lua_world_changed(object->world[i]);
  }
  if (object->count > 0 && s2_lua_interrupted(object->world[0]->session)) {
    s2_lua_fail(L, "interrupted");
  }
}

// Returns the array at `index`. A value of nil is replaced by a new array.
static double *array_at(lua_State *L, int index, S2Size shape) {
  if (lua_isnoneornil(L, index)) {
    S2LuaArray *array = s2_lua_array_push(L, shape);
    lua_replace(L, index);
    return array->data;
  }
  S2LuaArray *array = s2_lua_array_check(L, index);
  luaL_argcheck(L, s2_size_equal(array->shape, shape), index,
                "an array of matching shape expected");
  return array->data;
}

// batch:step(commands or nil, steps, observations, rewards, terminated, truncated, final). The last
// five are arrays to fill. A new array is created for each nil, except for `final`. Returns the
// first four arrays and the number of worlds that failed.
static int object_step(lua_State *L) {
  BatchObject *object = check_batch(L);
  lua_settop(L, 8);
  int count = object->count, observed = s2_batch_observed(object->batch);
  const double *commands = NULL;
  if (!lua_isnil(L, 2)) {
    S2Array given = s2_lua_array_view(L, s2_lua_array_check(L, 2)); // its shape is checked in Lua
    if (given.var != 0) {
      return s2_lua_fail(
          L, "batch:step() has no derivative; use sim.rollout, or plain numbers (x:value())");
    }
    commands = given.data;
  }
  S2Size list = s2_size_list(count), matrix = s2_size_matrix(count, observed);
  S2BatchResult result = {.observations = array_at(L, 4, matrix),
                          .rewards = array_at(L, 5, list),
                          .terminated = array_at(L, 6, list),
                          .truncated = array_at(L, 7, list)};
  if (!lua_isnil(L, 8)) {
    result.final = array_at(L, 8, matrix);
  }
  int steps = (int)luaL_checkinteger(L, 3);
  begin_call(L, object, "batch:step()");
  S2Status status = s2_batch_step(object->batch, commands, steps, &result);
  end_call(L, object);
  s2_lua_try(L, status);
  lua_settop(L, 7);
  lua_pushinteger(L, s2_batch_failures(object->batch));
  return 5;
}

// batch:reset(seed or nil, mask or nil, observations or nil): resets worlds
static int object_reset(lua_State *L) {
  BatchObject *object = check_batch(L);
  lua_settop(L, 4);
  uint64_t seed = (uint64_t)luaL_optinteger(L, 2, 0);
  const double *mask = lua_isnil(L, 3) ? NULL : s2_lua_array_check(L, 3)->data;
  double *observations =
      array_at(L, 4, s2_size_matrix(object->count, s2_batch_observed(object->batch)));
  begin_call(L, object, "batch:reset()");
  s2_batch_reset(object->batch, lua_isnil(L, 2) ? NULL : &seed, mask, observations);
  end_call(L, object);
  lua_settop(L, 4);
  return 1;
}

static int object_observe(lua_State *L) {
  BatchObject *object = check_batch(L);
  lua_settop(L, 2);
  double *observations =
      array_at(L, 2, s2_size_matrix(object->count, s2_batch_observed(object->batch)));
  begin_call(L, object, "batch:observe()");
  s2_batch_observe(object->batch, observations);
  end_call(L, object);
  lua_settop(L, 2);
  return 1;
}

// ---- Reading ----------------------------------------------------------------------------------

static int object_failures(lua_State *L) {
  const BatchObject *object = check_batch(L);
  lua_newtable(L);
  S2Status why;
  for (int i = s2_batch_failed(object->batch, 0, &why); i >= 0;
       i = s2_batch_failed(object->batch, i + 1, &why)) {
    lua_pushstring(L, why.message);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushinteger(L, s2_batch_failures(object->batch));
  return 2;
}

static int object_time(lua_State *L) {
  const BatchObject *object = check_batch(L);
  S2LuaArray *times = s2_lua_array_push(L, s2_size_list(object->count));
  for (int i = 0; i < object->count; i++) {
    const S2World *world = object->world[i]->world;
    times->data[i] = world == NULL ? 0 : s2_world_time(world);
  }
  return 1;
}

static int object_unsolved(lua_State *L) {
  const BatchObject *object = check_batch(L);
  uint64_t sum = 0;
  for (int i = 0; i < object->count; i++) {
    const S2World *world = object->world[i]->world;
    sum += world == NULL ? 0 : s2_world_stats(world)->unsolved;
  }
  lua_pushinteger(L, (lua_Integer)sum);
  return 1;
}

enum { READINGS = 16 };

static int reading_count(lua_State *L, int index) {
  int count = (int)lua_rawlen(L, index) / 2;
  luaL_argcheck(L, count >= 1 && count <= READINGS, index, "1 to 16 readings expected");
  return count;
}

// Returns engine world i. Raises an error if the world is closed.
static S2World *open_world(lua_State *L, const BatchObject *object, int i) {
  if (object->world[i]->world == NULL) {
    s2_lua_fail(L, "batch: world %d is closed", i + 1);
  }
  return object->world[i]->world;
}

// batch:get(readings) -> array with a number for each world and reading
static int object_get(lua_State *L) {
  const BatchObject *object = check_batch(L);
  S2Reading reading[READINGS];
  int count = reading_count(L, 2);
  s2_lua_readings(L, 2, count, reading);
  S2LuaArray *array = s2_lua_array_push(L, count == 1 ? s2_size_list(object->count)
                                                      : s2_size_matrix(object->count, count));
  for (int i = 0; i < object->count; i++) {
    for (int k = 0; k < count; k++) {
      S2Status status =
          s2_reading_get(open_world(L, object, i), &reading[k], NULL, &array->data[i * count + k]);
      if (status.code != S2_OK) {
        return s2_lua_fail(L, "world %d: %s", i + 1, status.message);
      }
    }
  }
  return 1;
}

// batch:set(readings, array with a number for each world and reading)
static int object_set(lua_State *L) {
  const BatchObject *object = check_batch(L);
  S2Reading reading[READINGS];
  int count = reading_count(L, 2);
  s2_lua_readings(L, 2, count, reading);
  const S2LuaArray *array = s2_lua_array_check(L, 3);
  for (int i = 0; i < object->count; i++) {
    for (int k = 0; k < count; k++) {
      S2Status status =
          s2_reading_set(open_world(L, object, i), &reading[k], array->data[i * count + k]);
      if (status.code != S2_OK) {
        return s2_lua_fail(L, "world %d: %s", i + 1, status.message);
      }
    }
  }
  return 0;
}

// Saves or restores, as text, the data of a world that its snapshot does not contain.
static int object_place(lua_State *L) {
  const BatchObject *object = check_batch(L);
  int world = (int)luaL_checkinteger(L, 2) - 1;
  luaL_argcheck(L, world >= 0 && world < object->count, 2, "number of a world expected");
  if (lua_isnoneornil(L, 3)) {
    S2BatchPlace place;
    memset(&place, 0, sizeof place);
    place = s2_batch_place(object->batch, world);
    lua_pushlstring(L, (const char *)&place, sizeof place);
    return 1;
  }
  size_t size;
  const char *text = luaL_checklstring(L, 3, &size);
  S2BatchPlace place;
  luaL_argcheck(L, size == sizeof place, 3, "a place of a batch expected");
  memcpy(&place, text, sizeof place);
  s2_batch_set_place(object->batch, world, &place);
  return 0;
}

static int object_rewind(lua_State *L) { // also allowed during a step of the batch
  const BatchObject *object = luaL_checkudata(L, 1, BATCH);
  int world = (int)luaL_checkinteger(L, 2) - 1;
  luaL_argcheck(L, object->batch != NULL && world >= 0 && world < object->count, 2,
                "number of a world expected");
  s2_lua_try(L, s2_batch_rewind(object->batch, world));
  s2_lua_world_changed(object->world[world]);
  return 0;
}

// ---- Making -----------------------------------------------------------------------------------

static int object_close(lua_State *L) {
  BatchObject *object = luaL_checkudata(L, 1, BATCH);
  if (object->busy) {
    return s2_lua_fail(L, "a batch cannot be closed from inside its step");
  }
  s2_batch_free(object->batch);
  object->batch = NULL;
  return 0;
}

static int object_collect(lua_State *L) {
  BatchObject *object = luaL_checkudata(L, 1, BATCH);
  s2_batch_free(object->batch);
  object->batch = NULL;
  return 0;
}

static int64_t integer_of(lua_State *L, int table, const char *key) {
  lua_getfield(L, table, key);
  int64_t value = (int64_t)luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  return value;
}

// Pushes the draws from the options. The result is valid as long as they are on the stack.
static const S2Draw *push_draws(lua_State *L, int options, int *count) {
  lua_getfield(L, options, "draws");
  luaL_checktype(L, -1, LUA_TTABLE);
  int list = lua_gettop(L);
  *count = (int)lua_rawlen(L, list);
  S2Draw *draws = lua_newuserdatauv(L, sizeof *draws * (size_t)(*count + 1), 0);
  for (int i = 0; i < *count; i++) {
    lua_rawgeti(L, list, i + 1);
    s2_lua_read_draw(L, lua_gettop(L), &draws[i]);
    lua_pop(L, 1);
  }
  return draws;
}

static void push_metatable(lua_State *L) {
  if (luaL_newmetatable(L, BATCH)) {
    static const luaL_Reg methods[] = {
        {"step", object_step},     {"reset", object_reset},       {"observe", object_observe},
        {"time", object_time},     {"failures", object_failures}, {"unsolved", object_unsolved},
        {"get", object_get},       {"set", object_set},           {"place", object_place},
        {"rewind", object_rewind}, {"close", object_close},       {NULL, NULL}};
    lua_pushcfunction(L, object_collect);
    lua_setfield(L, -2, "__gc");
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
  }
}

// Creates a batch from (worlds, workers, {seed =, autoreset =, max_steps =, judge =, draws =,
// program =}).
static int batch_batch(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  S2Workers *workers = s2_lua_workers(L, 2);
  luaL_checktype(L, 3, LUA_TTABLE);
  int count = (int)lua_rawlen(L, 1);
  // The pointers to the worlds follow the object in memory.
  BatchObject *object = lua_newuserdatauv(
      L, sizeof *object + sizeof(S2LuaWorld *) * (size_t)(count + 1), BATCH_STORES);
  int at = lua_gettop(L);
  *object = (BatchObject){.count = count, .world = (S2LuaWorld **)(void *)(object + 1)};
  push_metatable(L);
  lua_setmetatable(L, at);
  // NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
  S2World **worlds = lua_newuserdatauv(L, sizeof *worlds * (size_t)(count + 1), 0);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, 1, i + 1);
    object->world[i] = s2_lua_world(L, -1);
    worlds[i] = object->world[i]->world;
    lua_pop(L, 1);
  }
  // The user values keep alive everything that the batch uses.
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, at, BATCH_WORLDS);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, at, BATCH_WORKERS);
  lua_getfield(L, 3, "judge");
  const S2Judge *judge = s2_lua_judge(L, -1);
  lua_setiuservalue(L, at, BATCH_JUDGE);
  lua_getfield(L, 3, "program");
  lua_setiuservalue(L, at, BATCH_PROGRAM);
  S2BatchDef def = {.autoreset = (S2AutoReset)integer_of(L, 3, "autoreset"),
                    .max_steps = integer_of(L, 3, "max_steps"),
                    .seed = (uint64_t)integer_of(L, 3, "seed"),
                    .judge = judge,
                    .program = {.user = object,
                                .own = program_own,
                                .step = program_step,
                                .reset = program_reset,
                                .act = program_act,
                                .observe = program_observe},
                    .controls = (int)integer_of(L, 3, "controls"),
                    .observed = (int)integer_of(L, 3, "observed")};
  def.draw = push_draws(L, 3, &def.draws);
  S2Status status = s2_batch_create(&def, worlds, count, workers, &object->batch);
  if (status.code != S2_OK) {
    lua_pushnil(L);
    lua_pushstring(L, status.message);
    return 2;
  }
  lua_pushvalue(L, at);
  return 1;
}

static int batch_alone(lua_State *L) {
  lua_pushboolean(L, s2_lua_batch_alone(s2_lua_world(L, 1)));
  return 1;
}

static int batch_controls(lua_State *L) {
  lua_pushinteger(L, s2_world_actuator_count(s2_lua_world(L, 1)->world));
  return 1;
}

static int batch_observed(lua_State *L) {
  lua_pushinteger(L, s2_world_observation_size(s2_lua_world(L, 1)->world));
  return 1;
}

static int batch_tracked(lua_State *L) {
  lua_pushboolean(L, s2_lua_array_view(L, s2_lua_array_check(L, 1)).var != 0);
  return 1;
}

static int batch_on_tape(lua_State *L) {
  lua_pushboolean(L, s2_lua_on_tape(s2_lua_world(L, 1)) != NULL);
  return 1;
}

void s2_lua_batch_push(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"workers", s2_lua_new_workers}, {"batch", batch_batch},
      {"alone", batch_alone},          {"controls", batch_controls},
      {"observed", batch_observed},    {"episodes", s2_lua_new_episodes},
      {"rollout", s2_lua_rollout},     {"tracked", batch_tracked},
      {"on_tape", batch_on_tape},      {NULL, NULL}};
  luaL_newlib(L, functions);
  s2_lua_judge_functions(L);
  s2_lua_env_functions(L);
}
