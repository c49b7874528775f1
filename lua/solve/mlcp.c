// sim.mlcp: mixed linear complementarity problems in plain tables.
#include "lua/diff/solve_tracked.h"
#include "lua/solve/matrix.h"
#include "lua/solve/solve_info.h"
#include "lua/world/binding.h"

#include "mcp/mlcp/mlcp.h"

#include <math.h>

typedef struct Call {
  S2Mlcp problem;
  S2LuaSolve solve;
  S2MlcpSolution solution;
  double time; // s
} Call;

static void read_problem(const S2Keys *keys, S2Mlcp *problem) {
  int n = -1, m = -1;
  problem->a_free = s2_lua_problem_vector(keys, "a", &n);
  problem->b_row = s2_lua_problem_vector(keys, "b", &m);
  n = n < 0 ? 0 : n;
  m = m < 0 ? 0 : m;
  if (n > S2_MLCP_MAX - m) {
    s2_lua_fail(keys->L, "a, b: at most %d numbers expected, got %d", S2_MLCP_MAX, n + m);
  }
  const char *const names[] = {"A", "C", "D", "B"};
  const double **const matrices[] = {&problem->a_uu, &problem->c_uv, &problem->d_vu,
                                     &problem->b_vv};
  for (int i = 0; i < 4; i++) {
    int rows = i < 2 ? n : m, columns = i % 2 == 0 ? n : m;
    if (rows > 0 && columns > 0) {
      s2_keys_require(keys, names[i]);
    }
    *matrices[i] = s2_lua_problem_matrix(keys, names[i], &rows, &columns);
  }
  problem->lo = s2_lua_problem_vector(keys, "lo", &m);
  problem->hi = s2_lua_problem_vector(keys, "hi", &m);
  for (int i = 0; i < m; i++) {
    double lo = problem->lo != NULL ? problem->lo[i] : 0;
    double hi = problem->hi != NULL ? problem->hi[i] : (double)INFINITY;
    if (lo > hi) {
      s2_lua_fail(keys->L, "lo[%d]: at most hi[%d] = %g expected, got %g", i + 1, i + 1, hi, lo);
    }
  }
  problem->n = n;
  problem->m = m;
}

// For s2_lua_with_arena.
static void solve(void *user, S2Arena *arena) {
  Call *call = user;
  S2MlcpOptions options = {.tolerance = call->solve.tolerance,
                           .max_iterations = call->solve.max_iterations,
                           .history = call->solve.record ? &call->solve.history : NULL,
                           .kappa = call->solve.kappa};
  double start = s2_lua_clock();
  s2_mlcp_solve(&call->problem, &options, arena, &call->solution);
  call->time = s2_lua_clock() - start;
}

static void push_info(lua_State *L, const Call *call) {
  const S2MlcpSolution *solution = &call->solution;
  s2_lua_solve_info(L, &call->solve, solution->status, solution->iterations, solution->residual,
                    call->time);
  s2_lua_set_number(L, "r_vio", solution->r_vio);
  s2_lua_set_number(L, "b_vio", solution->b_vio);
  if (solution->status == S2_SOLVED) {
    s2_lua_set_numbers(L, "w", solution->w, call->problem.m);
  } else if (solution->status == S2_INFEASIBLE) {
    lua_createtable(L, 0, 2);
    s2_lua_set_numbers(L, "a", solution->proof_free, call->problem.n);
    s2_lua_set_numbers(L, "b", solution->proof_row, call->problem.m);
    lua_setfield(L, -2, "certificate");
  }
}

static const char *const problem_names[] = {"A", "B", "C", "D", "a", "b", "lo", "hi", NULL};

static int mlcp_solve(lua_State *L) {
  Call call = {0};
  int results = s2_lua_solve_tracked(L, "mlcp");
  if (results >= 0) {
    return results;
  }
  lua_settop(L, 1);
  luaL_checkstack(L, 3 * LUA_MINSTACK, NULL);
  S2Keys keys = s2_keys_open(L, 1, false, problem_names, s2_lua_solve_names, 0);
  read_problem(&keys, &call.problem);
  s2_lua_solve_read(&keys, &call.solve);
  size_t n = (size_t)call.problem.n, m = (size_t)call.problem.m;
  double *memory = lua_newuserdatauv(L, sizeof(double) * (2 * n + 3 * m + 1), 0);
  call.solution = (S2MlcpSolution){
      .u = memory,
      .v = memory + n,
      .w = memory + n + m,
      .proof_free = memory + n + 2 * m,
      .proof_row = memory + 2 * n + 2 * m,
  };
  s2_lua_with_arena(L, solve, &call);
  if (call.solution.status == S2_SOLVED) {
    s2_lua_push_numbers(L, call.solution.u, call.problem.n);
    s2_lua_push_numbers(L, call.solution.v, call.problem.m);
  } else {
    lua_pushnil(L);
    lua_pushstring(L, s2_solve_status_name(call.solution.status));
  }
  push_info(L, &call);
  return 3;
}

// ---- Derivatives ------------------------------------------------------------------------------

// No call into Lua between the arena's beginning and its end.
static bool pull_back(const S2Mlcp *problem, const S2MlcpSolution *solution, const double *dl_du,
                      const double *dl_dv, const S2MlcpGradient *to) {
  S2Arena arena;
  s2_arena_init(&arena);
  bool regular = s2_mlcp_vjp(problem, solution, dl_du, dl_dv, to, &arena);
  s2_arena_free(&arena);
  return regular;
}

// Arguments: problem, u, v, info, dl.
static int mlcp_vjp(lua_State *L) {
  static const char *const names[] = {"u", "v", NULL};
  S2Mlcp problem = {0};
  lua_settop(L, 5);
  luaL_checkstack(L, 3 * LUA_MINSTACK, NULL);
  S2Keys keys = s2_keys_open(L, 1, false, problem_names, s2_lua_solve_names, 0);
  read_problem(&keys, &problem);
  int n = problem.n, m = problem.m, count;
  S2MlcpSolution solution = {.u = s2_lua_check_vector(L, 2, "u", n, &count),
                             .v = s2_lua_check_vector(L, 3, "v", m, &count)};
  S2Keys info = s2_lua_solved_open(L, 4), loss = s2_lua_loss_open(L, 5, names);
  solution.kappa = s2_lua_solved_kappa(&info);
  const double *dl_du = s2_lua_loss_vector(&loss, "u", n);
  const double *dl_dv = s2_lua_loss_vector(&loss, "v", m);
  S2MlcpGradient to = {.a_uu = s2_lua_take_like(L, problem.a_uu, (size_t)n * (size_t)n),
                       .c_uv = s2_lua_take_like(L, problem.c_uv, (size_t)n * (size_t)m),
                       .d_vu = s2_lua_take_like(L, problem.d_vu, (size_t)m * (size_t)n),
                       .b_vv = s2_lua_take_like(L, problem.b_vv, (size_t)m * (size_t)m),
                       .a_free = s2_lua_take_like(L, problem.a_free, (size_t)n),
                       .b_row = s2_lua_take_like(L, problem.b_row, (size_t)m),
                       .lo = s2_lua_take_like(L, problem.lo, (size_t)m),
                       .hi = s2_lua_take_like(L, problem.hi, (size_t)m)};
  bool regular = pull_back(&problem, &solution, dl_du, dl_dv, &to);
  lua_createtable(L, 0, 9);
  s2_lua_set_matrix(L, "A", to.a_uu, n, n);
  s2_lua_set_matrix(L, "C", to.c_uv, n, m);
  s2_lua_set_matrix(L, "D", to.d_vu, m, n);
  s2_lua_set_matrix(L, "B", to.b_vv, m, m);
  s2_lua_set_numbers(L, "a", to.a_free, n);
  s2_lua_set_numbers(L, "b", to.b_row, m);
  s2_lua_set_numbers(L, "lo", to.lo, m);
  s2_lua_set_numbers(L, "hi", to.hi, m);
  lua_pushboolean(L, regular);
  lua_setfield(L, -2, "regular");
  return 1;
}

void s2_lua_open_mlcp(lua_State *L) {
  static const luaL_Reg functions[] = {{"solve", mlcp_solve}, {"vjp", mlcp_vjp}, {NULL, NULL}};
  s2_lua_push_library(L, "sim.mlcp", functions);
}
