// sim.problem: reads step problems from dumped files and solves them with any solver.
#include "lua/solve/solve_info.h"
#include "lua/world/binding.h"

#include "mcp/mcp.h"

enum { MAX_ITERATIONS = 100 }; // the default for worlds

typedef struct Call {
  S2Problem *problem;
  S2LuaSolve solve;
  S2SolverOptions options;
  S2Solution solution;
  int velocities, rows, nodes;
  S2LuaAnswer answer;
} Call;

#define FOUND(name) offsetof(Call, solution.name)

static const S2LuaField result_fields[] = {
    {"lambda", S2_LUA_VECTOR, FOUND(lambda), .rows = offsetof(Call, rows)},
    {"v", S2_LUA_VECTOR, FOUND(v), .rows = offsetof(Call, velocities)},
    {0}};
static const S2LuaField info_fields[] = {
    {"dynamics", S2_LUA_NUMBER, .at = FOUND(residual.dynamics)},
    {"complementarity", S2_LUA_NUMBER, .at = FOUND(residual.complementarity)},
    {"cone", S2_LUA_NUMBER, .at = FOUND(residual.cone)},
    {"joint", S2_LUA_NUMBER, .at = FOUND(residual.joint)},
    {"nodes", S2_LUA_INTEGER, .at = offsetof(Call, nodes)},
    {"rows", S2_LUA_INTEGER, .at = offsetof(Call, rows)},
    {0}};

static void problem_file_read_options(lua_State *L, int argument, Call *call) {
  static const char *const names[] = {"solver", "omega", NULL};
  S2Keys keys = s2_keys_open(L, argument, true, names, s2_lua_solve_names, 0);
  call->options = s2_lua_step_options(&keys, &call->solve, MAX_ITERATIONS);
  call->options.history = call->solve.record ? &call->solve.history : NULL;
  if (call->solve.kappa > 0) {
    s2_keys_fail(&keys, "kappa", "does not apply to step problems");
  }
}

static void problem_file_solve(Call *call, S2Arena *arena) {
  const S2Problem *problem = call->problem;
  call->solution = (S2Solution){.v = S2_TAKE_ZEROED(arena, double, 3 * problem->nodes),
                                .lambda = S2_TAKE_ZEROED(arena, double, problem->rows)};
  // Measure only the time of the solver.
  double start = s2_lua_clock();
  s2_mcp_solve(problem, &call->options, arena, &call->solution);
  double time = s2_lua_clock() - start;
  const S2Solution *found = &call->solution;
  call->nodes = problem->nodes;
  call->velocities = 3 * problem->nodes;
  call->rows = problem->rows;
  call->answer = (S2LuaAnswer){found->status, found->iterations, found->residual.scaled, time,
                               s2_solver_name(found->used)};
}

// The argument is the call. Runs everything that can raise an error, under pcall, so that the
// caller can free all memory.
static int push_answer(lua_State *L) {
  static const S2LuaReturns returns = {result_fields, info_fields, NULL};
  const Call *call = lua_touserdata(L, 1);
  return s2_lua_solve_return(L, &call->solve, &call->answer, &returns, call);
}

static int problem_solve(lua_State *L) {
  const char *path = s2_lua_check_path(L, 1);
  Call call = {0};
  lua_settop(L, 2);
  problem_file_read_options(L, 2, &call);
  S2Status status = s2_problem_read(path, &call.problem);
  if (status.code != S2_OK) {
    return s2_lua_file_failed(L, status);
  }
  // The solution is in the arena and the problem is on the heap. Both exist until the results are
  // pushed.
  S2Arena arena;
  s2_arena_init(&arena);
  problem_file_solve(&call, &arena);
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
