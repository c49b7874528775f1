// sim.problem: step problems that were dumped to files, solved again by any solver.
#include "lua/solve/matrix.h"
#include "lua/solve/solve_info.h"
#include "lua/world/binding.h"

#include "mcp/mcp.h"

enum { MAX_ITERATIONS = 100 }; // as a world's default

typedef struct Call {
  S2Problem *problem;
  S2LuaSolve solve;
  S2SolverOptions options;
  S2Solution solution;
  double time; // s
} Call;

static void read_options(lua_State *L, int argument, Call *call) {
  static const char *const names[] = {"solver", "omega", NULL};
  S2Keys keys = s2_keys_open(L, argument, true, names, s2_lua_solve_names, 0);
  call->options = s2_lua_step_options(&keys, &call->solve, MAX_ITERATIONS);
  call->options.history = call->solve.record ? &call->solve.history : NULL;
  if (call->solve.kappa > 0) {
    s2_keys_fail(&keys, "kappa", "not for step problems");
  }
}

static void solve(Call *call, S2Arena *arena) {
  const S2Problem *problem = call->problem;
  call->solution = (S2Solution){.v = S2_TAKE_ZEROED(arena, double, 3 * problem->nodes),
                                .lambda = S2_TAKE_ZEROED(arena, double, problem->rows)};
  double start = s2_lua_clock();
  s2_mcp_solve(problem, &call->options, arena, &call->solution);
  call->time = s2_lua_clock() - start;
}

// Argument: the call. Everything that can raise happens in here, so that all can be freed after.
static int push_answer(lua_State *L) {
  const Call *call = lua_touserdata(L, 1);
  const S2Solution *solution = &call->solution;
  if (solution->status == S2_SOLVED) {
    s2_lua_push_numbers(L, solution->lambda, call->problem->rows);
    s2_lua_push_numbers(L, solution->v, 3 * call->problem->nodes);
  } else {
    lua_pushnil(L);
    lua_pushstring(L, s2_solve_status_name(solution->status));
  }
  s2_lua_solve_info(L, &call->solve, solution->status, solution->iterations,
                    solution->residual.scaled, call->time);
  lua_pushstring(L, s2_solver_name(solution->used));
  lua_setfield(L, -2, "solver");
  s2_lua_set_number(L, "dynamics", solution->residual.dynamics);
  s2_lua_set_number(L, "complementarity", solution->residual.complementarity);
  s2_lua_set_number(L, "cone", solution->residual.cone);
  s2_lua_set_number(L, "joint", solution->residual.joint);
  lua_pushinteger(L, call->problem->nodes);
  lua_setfield(L, -2, "nodes");
  lua_pushinteger(L, call->problem->rows);
  lua_setfield(L, -2, "rows");
  return 3;
}

static int problem_solve(lua_State *L) {
  const char *path = s2_lua_check_path(L, 1);
  Call call = {0};
  lua_settop(L, 2);
  read_options(L, 2, &call);
  S2Status status = s2_problem_read(path, &call.problem);
  if (status.code != S2_OK) { // what a file holds is not the script's fault
    lua_pushnil(L);
    lua_pushstring(L, status.message);
    return 2;
  }
  S2Arena arena;
  s2_arena_init(&arena);
  solve(&call, &arena);
  lua_pushcfunction(L, push_answer);
  lua_pushlightuserdata(L, &call);
  int failed = lua_pcall(L, 1, 3, 0);
  s2_arena_free(&arena);
  s2_problem_free(call.problem);
  return failed != LUA_OK ? lua_error(L) : 3;
}

void s2_lua_open_problem_library(lua_State *L) {
  static const luaL_Reg functions[] = {{"solve", problem_solve}, {NULL, NULL}};
  s2_lua_push_library(L, "sim.problem", functions);
}
