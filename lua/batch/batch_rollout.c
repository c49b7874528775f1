// Workers and rollouts for scripts.
#include "lua/batch/batch.h"
#include "lua/diff/array.h"

#include "batch/rollout.h"
#include "dynamics/control/control.h"

// Runs the rollout into the given arrays.
static S2Status run_rollout(lua_State *L, const S2LuaWorld *lw, S2Workers *workers,
                            const S2Rollout *rollout) {
  int failed = 0;
  S2Status why = s2_ok();
  S2Status status = s2_rollout(workers, lw->world, rollout, &failed, &why);
  if (status.code == S2_OK) {
    lua_pushinteger(L, failed);
    lua_pushstring(L, why.message);
  }
  return status;
}

int s2_lua_rollout(lua_State *L) {
  const S2LuaWorld *lw = s2_lua_world(L, 1);
  S2Workers *workers = s2_lua_workers(L, 2);
  const S2Judge *judge = s2_lua_judge(L, 3);
  const S2LuaArray *controls = s2_lua_array_check(L, 4);
  S2Rollout rollout = {.samples = controls->shape.rows,
                       .knots = (int)luaL_checkinteger(L, 5),
                       .hold = (int)luaL_checkinteger(L, 6),
                       .controls = controls->data,
                       .judge = judge};
  if (lw->phase == S2_INSIDE) {
    return s2_lua_fail(
        L, "sim.rollout() cannot be called while the engine is in the middle of a step");
  }
  // Lua owns the result arrays, so that an error does not leak them.
  int state = s2_world_state_size(lw->world);
  if (state > 0 && rollout.knots > INT32_MAX / state) {
    return s2_lua_fail(L, "sim.rollout: the states of %d knots are too many for an array",
                       rollout.knots);
  }
  bool states = lua_toboolean(L, 7) && state > 0, gradient = lua_toboolean(L, 8) != 0;
  lua_settop(L, 8);
  rollout.costs = s2_lua_array_push(L, s2_size_list(rollout.samples))->data;
  if (states) {
    rollout.states =
        s2_lua_array_push(L, s2_size_matrix(rollout.samples, rollout.knots * state))->data;
  } else {
    lua_pushnil(L);
  }
  if (gradient) {
    rollout.gradient = s2_lua_array_push(L, controls->shape)->data;
  } else {
    lua_pushnil(L);
  }
  S2Status status = run_rollout(L, lw, workers, &rollout);
  if (s2_lua_interrupted(lw->session)) {
    return s2_lua_fail(L, "interrupted");
  }
  s2_lua_try(L, status);
  return 5;
}
