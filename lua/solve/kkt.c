// sim.kkt: the linear system of bilateral rows in plain tables.
#include "lua/diff/solve_tracked.h"
#include "lua/solve/matrix.h"
#include "lua/solve/solve_info.h"
#include "lua/solve/sparse.h"
#include "lua/world/binding.h"

#include "mcp/kkt/kkt.h"

enum { KKT_MAX = 1 << 24 }; // maximum number of unknowns or rows; indices must fit into an int

typedef struct Call {
  int n, m;
  S2LuaSparse w, j;
  const double *compliance, *c, *b;
  int solver; // S2KktSolver
  S2LuaSolve solve;
  S2KktSolution solution;
  S2LuaAnswer answer;
} Call;

enum { N = offsetof(Call, n), M = offsetof(Call, m) };
#define DATA(name) offsetof(Call, name)

// The members of the system (kkt.h), and `solver`.
static const S2LuaField problem_fields[] = {
    {"c", S2_LUA_VECTOR, DATA(c), N, .flags = S2_LUA_SIZES | S2_LUA_REQUIRED},
    {"b", S2_LUA_VECTOR, DATA(b), M, .flags = S2_LUA_SIZES},
    {"W", S2_LUA_SPARSE, DATA(w), N, .columns = N},
    {"J", S2_LUA_SPARSE, DATA(j), M, N, .flags = S2_LUA_NOT_EMPTY},
    {"C", S2_LUA_VECTOR, DATA(compliance), .rows = M},
    {0}};

static const S2LuaField result_fields[] = {
    {"v", S2_LUA_VECTOR, offsetof(Call, solution.v), .rows = N},
    {"lambda", S2_LUA_VECTOR, offsetof(Call, solution.lambda), .rows = M},
    {0}};
static const S2LuaField info_fields[] = {{"certificate", S2_LUA_VECTOR,
                                          offsetof(Call, solution.proof), M,
                                          .flags = S2_LUA_IF_INFEASIBLE},
                                         {0}};

static const char *kkt_solver_name(int solver) {
  return s2_kkt_solver_name((S2KktSolver)solver);
}

static const char *kkt_solver_summary(int solver) {
  return s2_kkt_solver_summary((S2KktSolver)solver);
}

// Called by s2_lua_with_arena.
static void kkt_run(void *user, S2Arena *arena) {
  Call *call = user;
  S2KktOptions options = {(S2KktSolver)call->solver, call->solve.tolerance,
                          call->solve.max_iterations,
                          call->solve.record ? &call->solve.history : NULL};
  double start = s2_lua_clock();
  // Entries at the same position are added.
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
  double time = s2_lua_clock() - start;
  const S2KktSolution *found = &call->solution;
  call->answer = (S2LuaAnswer){found->status, found->iterations, found->residual, time,
                               kkt_solver_name(call->solver)};
}

static int kkt_solve(lua_State *L) {
  static const char *const names[] = {"W", "J", "C", "c", "b", "solver", NULL};
  static const S2LuaReturns returns = {result_fields, info_fields, NULL};
  Call call = {.solver = S2_KKT_LDL};
  int results = s2_lua_solve_tracked(L, "kkt");
  if (results >= 0) {
    return results;
  }
  lua_settop(L, 1);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  S2Keys keys = s2_keys_open(L, 1, false, names, s2_lua_solve_names, 0);
  // The sizes are the lengths of the vectors c and b.
  s2_lua_fields_read(&keys, problem_fields, &call);
  if (call.n > KKT_MAX - call.m) {
    s2_lua_fail(L, "c, b: at most %d numbers expected, got %d", KKT_MAX, call.n + call.m);
  }
  s2_lua_read_solver(&keys, kkt_solver_name, S2_KKT_SOLVER_COUNT, &call.solver);
  s2_lua_solve_read(&keys, &call.solve);
  call.solution = (S2KktSolution){.v = s2_lua_take_numbers(L, (size_t)call.n),
                                  .lambda = s2_lua_take_numbers(L, (size_t)call.m),
                                  .proof = s2_lua_take_numbers(L, (size_t)call.m)};
  s2_lua_with_arena(L, kkt_run, &call);
  return s2_lua_solve_return(L, &call.solve, &call.answer, &returns, &call);
}

static int kkt_solvers(lua_State *L) {
  return s2_lua_push_solvers(L, kkt_solver_name, kkt_solver_summary, S2_KKT_SOLVER_COUNT);
}

void s2_lua_open_kkt(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"solve", kkt_solve}, {"solvers", kkt_solvers}, {NULL, NULL}};
  s2_lua_push_library(L, "sim.kkt", functions);
}
