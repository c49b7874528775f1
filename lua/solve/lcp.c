// sim.lcp: linear complementarity problems in plain tables.
#include "lua/diff/solve_tracked.h"
#include "lua/solve/matrix.h"
#include "lua/solve/solve_info.h"
#include "lua/solve/sparse.h"
#include "lua/world/binding.h"

#include "mcp/lcp/lcp.h"

typedef struct Call {
  S2LcpProblem problem;
  bool sparse;
  S2LuaSparse matrix; // M, if it is sparse
  S2LuaSolve solve;
  S2LcpSolverOptions options;
  S2LcpSolution solution;
  const double *ray; // NULL if the solution has no ray
  S2LuaAnswer answer;
} Call;

enum { N = offsetof(Call, problem.n) };

static const S2LuaField result_fields[] = {
    {"z", S2_LUA_VECTOR, offsetof(Call, solution.z), .rows = N},
    {"w", S2_LUA_VECTOR, offsetof(Call, solution.w), .rows = N},
    {0}};
static const S2LuaField info_fields[] = {{"ray", S2_LUA_VECTOR, offsetof(Call, ray), .rows = N},
                                         {0}};

static const char *lcp_solver_name(int solver) {
  return s2_lcp_solver_name((S2LcpSolver)solver);
}

static const char *lcp_solver_summary(int solver) {
  return s2_lcp_solver_summary((S2LcpSolver)solver);
}

// ---- Reading ----------------------------------------------------------------------------------

// Reads M and q from two arguments. Their memory stays on the stack.
static void lcp_read_problem(lua_State *L, int argument, S2LcpProblem *problem) {
  int rows, columns, count;
  // M must be square and small enough for int indices.
  problem->m = s2_lua_check_matrix(L, argument, "M", -1, -1, &rows, &columns);
  if (rows != columns) {
    s2_lua_fail(L, "M: square matrix expected, got %d rows of %d", rows, columns);
  }
  if (rows > S2_LCP_MAX) {
    s2_lua_fail(L, "M: at most %d rows expected, got %d", S2_LCP_MAX, rows);
  }
  problem->q = s2_lua_check_vector(L, argument + 1, "q", rows, &count);
  problem->n = rows;
}

static void read_sparse_problem(lua_State *L, Call *call) {
  int count;
  call->matrix = s2_lua_argument_sparse(L, 1, "M");
  if (call->matrix.rows != call->matrix.columns) {
    s2_lua_fail(L, "M: square matrix expected, got %d rows and %d columns", call->matrix.rows,
                call->matrix.columns);
  }
  call->sparse = true;
  call->problem.n = call->matrix.rows;
  call->problem.q = s2_lua_check_vector(L, 2, "q", call->problem.n, &count);
}

static void lcp_read_options(lua_State *L, int argument, Call *call) {
  static const char *const names[] = {"solver", "omega", NULL};
  S2Keys keys = s2_keys_open(L, argument, true, names, s2_lua_solve_names, 0);
  int solver = S2_LCP_AUTO;
  double omega = 0;
  // Read the solver, its over-relaxation, and the options common to all solvers.
  s2_lua_read_solver(&keys, lcp_solver_name, S2_LCP_SOLVER_COUNT, &solver);
  s2_lua_read_omega(&keys, &omega);
  // Only the interior-point solver can return points on the central path.
  s2_lua_solve_read(&keys, &call->solve);
  if (call->solve.kappa > 0 && solver != S2_LCP_AUTO && solver != S2_LCP_PDIPM) {
    s2_keys_fail(&keys, "kappa", "requires the solver 'pdipm' or 'auto', got '%s'",
                 lcp_solver_name(solver));
  }
  call->options = (S2LcpSolverOptions){.solver = (S2LcpSolver)solver,
                                       .tolerance = call->solve.tolerance,
                                       .max_iterations = call->solve.max_iterations,
                                       .omega = omega,
                                       .kappa = call->solve.kappa};
}

// ---- Solving ----------------------------------------------------------------------------------

// Called by s2_lua_with_arena.
static void lcp_run(void *user, S2Arena *arena) {
  Call *call = user;
  call->options.history = call->solve.record ? &call->solve.history : NULL;
  // Entries at the same position are added.
  S2Csr m = {0};
  if (call->sparse) {
    m = s2_csr_from_triplets(call->matrix.rows, call->matrix.columns, call->matrix.count,
                             call->matrix.triplet, arena);
  }
  // Measure only the time of the solver.
  double start = s2_lua_clock();
  if (call->sparse) {
    s2_lcp_sparse_solve(&m, call->problem.q, &call->options, arena, &call->solution);
  } else {
    s2_lcp_solve(&call->problem, &call->options, arena, &call->solution);
  }
  double time = s2_lua_clock() - start;
  const S2LcpSolution *found = &call->solution;
  call->ray = found->has_ray ? found->ray : NULL;
  call->answer = (S2LuaAnswer){found->status, found->iterations, found->residual, time,
                               s2_lcp_solver_name(found->used)};
}

static int lcp_solve(lua_State *L) {
  static const S2LuaReturns returns = {result_fields, info_fields, NULL};
  Call call = {0};
  int results = s2_lua_solve_tracked(L, "lcp");
  if (results >= 0) {
    return results;
  }
  lua_settop(L, 3);
  // A table of triplets is a sparse matrix. A list of rows is a dense matrix.
  if (s2_lua_is_sparse(L, 1)) {
    read_sparse_problem(L, &call);
  } else {
    lcp_read_problem(L, 1, &call.problem);
  }
  lcp_read_options(L, 3, &call);
  if (call.sparse && call.solve.kappa > 0) {
    s2_lua_fail(L, "kappa: does not apply to a sparse M");
  }
  // The memory for the solution is on the stack, so that an error does not leak it.
  size_t n = (size_t)call.problem.n;
  call.solution = (S2LcpSolution){.z = s2_lua_take_numbers(L, n),
                                  .w = s2_lua_take_numbers(L, n),
                                  .ray = s2_lua_take_numbers(L, n)};
  s2_lua_with_arena(L, lcp_run, &call);
  return s2_lua_solve_return(L, &call.solve, &call.answer, &returns, &call);
}

// ---- Derivatives ------------------------------------------------------------------------------

// This function must not call Lua while the arena exists, because an error would leak the arena.
static bool lcp_pull_back(const S2LcpProblem *problem, const S2LcpSolution *solution,
                          const double *dl_dz, const S2LcpGradient *to) {
  S2Arena arena;
  s2_arena_init(&arena);
  bool regular = s2_lcp_vjp(problem, solution, dl_dz, to, &arena);
  s2_arena_free(&arena);
  return regular;
}

// Arguments: M, q, z, dl/dz, options.
static int lcp_vjp(lua_State *L) {
  static const char *const names[] = {"kappa", NULL};
  S2LcpProblem problem;
  int count;
  lua_settop(L, 5);
  lcp_read_problem(L, 1, &problem);
  int n = problem.n;
  // Only z and kappa of the solution are needed.
  S2LcpSolution solution = {.z = s2_lua_check_vector(L, 3, "z", n, &count)};
  const double *dl_dz = s2_lua_check_vector(L, 4, "dl_dz", n, &count);
  S2Keys keys = s2_keys_open(L, 5, true, names, NULL, 0);
  s2_keys_number(&keys, "kappa", S2_NON_NEGATIVE, &solution.kappa);
  S2LcpGradient to = {.m = s2_lua_take_numbers(L, (size_t)n * (size_t)n),
                      .q = s2_lua_take_numbers(L, (size_t)n)};
  bool regular = lcp_pull_back(&problem, &solution, dl_dz, &to);
  // dl/dM and dl/dq have the shapes of M and q.
  lua_createtable(L, 0, 3);
  s2_lua_set_matrix(L, "M", to.m, n, n);
  s2_lua_set_numbers(L, "q", to.q, n);
  return s2_lua_set_regular(L, regular);
}

static int lcp_solvers(lua_State *L) {
  return s2_lua_push_solvers(L, lcp_solver_name, lcp_solver_summary, S2_LCP_SOLVER_COUNT);
}

// ---- Files ------------------------------------------------------------------------------------

// The argument is the problem.
static int lcp_push_problem(lua_State *L) {
  const S2LcpProblem *problem = lua_touserdata(L, 1);
  s2_lua_push_matrix(L, problem->m, problem->n, problem->n);
  s2_lua_push_numbers(L, problem->q, problem->n);
  return 2;
}

static int lcp_read(lua_State *L) {
  S2LcpProblem *problem;
  S2Status status = s2_lcp_read(s2_lua_check_path(L, 1), &problem);
  if (status.code != S2_OK) {
    return s2_lua_file_failed(L, status);
  }
  // Build the tables under pcall, so that the file's memory is always freed.
  lua_settop(L, 0);
  lua_pushcfunction(L, lcp_push_problem);
  lua_pushlightuserdata(L, problem);
  int failed = lua_pcall(L, 1, 2, 0);
  s2_lcp_free(problem);
  return failed != LUA_OK ? lua_error(L) : 2;
}

static int lcp_write(lua_State *L) {
  const char *path = s2_lua_check_path(L, 1);
  S2LcpProblem problem;
  lcp_read_problem(L, 2, &problem);
  S2Status status = s2_lcp_write(&problem, path);
  if (status.code != S2_OK) {
    return s2_lua_file_failed(L, status);
  }
  lua_pushboolean(L, 1);
  return 1;
}

void s2_lua_open_lcp(lua_State *L) {
  static const luaL_Reg functions[] = {{"solve", lcp_solve},     {"vjp", lcp_vjp},
                                       {"solvers", lcp_solvers}, {"read", lcp_read},
                                       {"write", lcp_write},     {NULL, NULL}};
  s2_lua_push_library(L, "sim.lcp", functions);
}
