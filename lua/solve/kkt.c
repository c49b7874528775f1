// sim.kkt: the linear system of bilateral rows in plain tables.
#include "lua/diff/solve_tracked.h"
#include "lua/solve/matrix.h"
#include "lua/solve/solve_info.h"
#include "lua/solve/sparse.h"
#include "lua/world/binding.h"

#include "mcp/kkt/kkt.h"

#include <math.h>

enum { KKT_MAX = 1 << 24 }; // unknowns and rows: their indices stay well within an int

typedef struct Call {
  int n, m;
  S2LuaSparse w, j;
  const double *compliance, *c, *b;
  S2KktSolver solver;
  S2LuaSolve solve;
  S2KktSolution solution;
  double time; // s
} Call;

static void read_problem(const S2Keys *keys, Call *call) {
  int n = -1, m = -1;
  s2_keys_require(keys, "c");
  call->c = s2_lua_problem_vector(keys, "c", &n);
  call->b = s2_lua_problem_vector(keys, "b", &m);
  m = m < 0 ? 0 : m;
  if (n > KKT_MAX - m) {
    s2_lua_fail(keys->L, "c, b: at most %d numbers expected, got %d", KKT_MAX, n + m);
  }
  call->n = n;
  call->m = m;
  call->w = s2_lua_problem_sparse(keys, "W", n, n, false);
  call->j = (S2LuaSparse){.rows = m, .columns = n};
  if (s2_keys_has(keys, "J") || (n > 0 && m > 0)) {
    call->j = s2_lua_problem_sparse(keys, "J", m, n, false);
  }
  call->compliance = s2_lua_problem_vector(keys, "C", &m);
}

static void read_solver(const S2Keys *keys, Call *call) {
  const char *solvers[S2_KKT_SOLVER_COUNT + 1] = {NULL};
  for (int i = 0; i < S2_KKT_SOLVER_COUNT; i++) {
    solvers[i] = s2_kkt_solver_name((S2KktSolver)i);
  }
  int solver = S2_KKT_LDL;
  s2_keys_choice(keys, "solver", solvers, &solver);
  call->solver = (S2KktSolver)solver;
}

// For s2_lua_with_arena.
static void solve(void *user, S2Arena *arena) {
  Call *call = user;
  S2KktOptions options = {call->solver, call->solve.tolerance, call->solve.max_iterations,
                          call->solve.record ? &call->solve.history : NULL};
  double start = s2_lua_clock();
  S2Kkt kkt = {
      .n = call->n,
      .m = call->m,
      .w = s2_csr_from_triplets(call->n, call->n, call->w.count, call->w.triplet, arena),
      .j = s2_csr_from_triplets(call->m, call->n, call->j.count, call->j.triplet, arena),
      .compliance = call->compliance,
      .c = call->c,
      .b = call->b,
  };
  s2_kkt_solve(&kkt, &options, arena, &call->solution);
  call->time = s2_lua_clock() - start;
}

static void push_info(lua_State *L, const Call *call) {
  const S2KktSolution *solution = &call->solution;
  s2_lua_solve_info(L, &call->solve, solution->status, solution->iterations, solution->residual,
                    call->time);
  lua_pushstring(L, s2_kkt_solver_name(call->solver));
  lua_setfield(L, -2, "solver");
  if (solution->status == S2_INFEASIBLE) {
    s2_lua_set_numbers(L, "certificate", solution->proof, call->m);
  }
}

static int kkt_solve(lua_State *L) {
  static const char *const names[] = {"W", "J", "C", "c", "b", "solver", NULL};
  Call call = {0};
  int results = s2_lua_solve_tracked(L, "kkt");
  if (results >= 0) {
    return results;
  }
  lua_settop(L, 1);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  S2Keys keys = s2_keys_open(L, 1, false, names, s2_lua_solve_names, 0);
  read_problem(&keys, &call);
  read_solver(&keys, &call);
  s2_lua_solve_read(&keys, &call.solve);
  size_t n = (size_t)call.n, m = (size_t)call.m;
  double *memory = lua_newuserdatauv(L, sizeof(double) * (n + 2 * m + 1), 0);
  call.solution = (S2KktSolution){.v = memory, .lambda = memory + n, .proof = memory + n + m};
  s2_lua_with_arena(L, solve, &call);
  if (call.solution.status == S2_SOLVED) {
    s2_lua_push_numbers(L, call.solution.v, call.n);
    s2_lua_push_numbers(L, call.solution.lambda, call.m);
  } else {
    lua_pushnil(L);
    lua_pushstring(L, s2_solve_status_name(call.solution.status));
  }
  push_info(L, &call);
  return 3;
}

static int kkt_solvers(lua_State *L) {
  lua_createtable(L, S2_KKT_SOLVER_COUNT, 0);
  for (int i = 0; i < S2_KKT_SOLVER_COUNT; i++) {
    lua_createtable(L, 0, 2);
    lua_pushstring(L, s2_kkt_solver_name((S2KktSolver)i));
    lua_setfield(L, -2, "name");
    lua_pushstring(L, s2_kkt_solver_summary((S2KktSolver)i));
    lua_setfield(L, -2, "summary");
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

void s2_lua_open_kkt(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"solve", kkt_solve}, {"solvers", kkt_solvers}, {NULL, NULL}};
  s2_lua_push_library(L, "sim.kkt", functions);
}
