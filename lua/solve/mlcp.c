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
  const double *dl_du, *dl_dv;
  S2LuaAnswer answer;
} Call;

#define SIZE(name)     offsetof(Call, problem.name)
#define DATA(name)     offsetof(Call, problem.name)
#define FOUND(name)    offsetof(Call, solution.name)
#define GRADIENT(name) .gradient = offsetof(S2MlcpGradient, name)

// The members of the problem (mlcp.h). Blocks are required unless they are empty.
static const S2LuaField problem_fields[] = {
    {"a", S2_LUA_VECTOR, DATA(a_free), SIZE(n), .flags = S2_LUA_SIZES, GRADIENT(a_free)},
    {"b", S2_LUA_VECTOR, DATA(b_row), SIZE(m), .flags = S2_LUA_SIZES, GRADIENT(b_row)},
    {"A", S2_LUA_MATRIX, DATA(a_uu), SIZE(n), SIZE(n), S2_LUA_NOT_EMPTY, GRADIENT(a_uu)},
    {"C", S2_LUA_MATRIX, DATA(c_uv), SIZE(n), SIZE(m), S2_LUA_NOT_EMPTY, GRADIENT(c_uv)},
    {"D", S2_LUA_MATRIX, DATA(d_vu), SIZE(m), SIZE(n), S2_LUA_NOT_EMPTY, GRADIENT(d_vu)},
    {"B", S2_LUA_MATRIX, DATA(b_vv), SIZE(m), SIZE(m), S2_LUA_NOT_EMPTY, GRADIENT(b_vv)},
    {"lo", S2_LUA_VECTOR, DATA(lo), SIZE(m), GRADIENT(lo)}, // default: 0
    {"hi", S2_LUA_VECTOR, DATA(hi), SIZE(m), GRADIENT(hi)}, // default: infinite
    {0}};

static const S2LuaField result_fields[] = {{"u", S2_LUA_VECTOR, FOUND(u), .rows = SIZE(n)},
                                           {"v", S2_LUA_VECTOR, FOUND(v), .rows = SIZE(m)},
                                           {0}};
static const S2LuaField info_fields[] = {
    {"r_vio", S2_LUA_NUMBER, .at = FOUND(r_vio)},
    {"b_vio", S2_LUA_NUMBER, .at = FOUND(b_vio)},
    {"w", S2_LUA_VECTOR, FOUND(w), SIZE(m), .flags = S2_LUA_IF_SOLVED},
    {0}};
static const S2LuaField certificate_fields[] = {
    {"a", S2_LUA_VECTOR, FOUND(proof_free), .rows = SIZE(n)},
    {"b", S2_LUA_VECTOR, FOUND(proof_row), .rows = SIZE(m)},
    {0}};
static const S2LuaField loss_fields[] = {
    {"u", S2_LUA_VECTOR, offsetof(Call, dl_du), .rows = SIZE(n)},
    {"v", S2_LUA_VECTOR, offsetof(Call, dl_dv), .rows = SIZE(m)},
    {0}};

// Reads the problem in argument 1 and returns its keys.
static S2Keys mlcp_read_problem(lua_State *L, Call *call) {
  static const char *const names[] = {"A", "B", "C", "D", "a", "b", "lo", "hi", NULL};
  S2Mlcp *problem = &call->problem;
  luaL_checkstack(L, 3 * LUA_MINSTACK, NULL);
  S2Keys keys = s2_keys_open(L, 1, false, names, s2_lua_solve_names, 0);
  s2_lua_fields_read(&keys, problem_fields, call);
  // The size must be within the limit, and the bounds must allow at least one value.
  if (problem->n > S2_MLCP_MAX - problem->m) {
    s2_lua_fail(L, "a, b: at most %d numbers expected, got %d", S2_MLCP_MAX,
                problem->n + problem->m);
  }
  for (int i = 0; i < problem->m; i++) {
    double lo = problem->lo != NULL ? problem->lo[i] : 0;
    double hi = problem->hi != NULL ? problem->hi[i] : (double)INFINITY;
    if (lo > hi) {
      s2_lua_fail(L, "lo[%d]: at most hi[%d] = %g expected, got %g", i + 1, i + 1, hi, lo);
    }
  }
  return keys;
}

// Called by s2_lua_with_arena.
static void mlcp_run(void *user, S2Arena *arena) {
  Call *call = user;
  const S2MlcpSolution *found = &call->solution;
  S2MlcpOptions options = {.tolerance = call->solve.tolerance,
                           .max_iterations = call->solve.max_iterations,
                           .history = call->solve.record ? &call->solve.history : NULL,
                           .kappa = call->solve.kappa};
  double start = s2_lua_clock();
  s2_mlcp_solve(&call->problem, &options, arena, &call->solution);
  double time = s2_lua_clock() - start;
  call->answer = (S2LuaAnswer){found->status, found->iterations, found->residual, time, NULL};
}

static int mlcp_solve(lua_State *L) {
  static const S2LuaReturns returns = {result_fields, info_fields, certificate_fields};
  Call call = {0};
  int results = s2_lua_solve_tracked(L, "mlcp");
  if (results >= 0) {
    return results;
  }
  lua_settop(L, 1);
  S2Keys keys = mlcp_read_problem(L, &call);
  s2_lua_solve_read(&keys, &call.solve);
  size_t n = (size_t)call.problem.n, m = (size_t)call.problem.m;
  // The memory for the solution is on the stack.
  call.solution = (S2MlcpSolution){.u = s2_lua_take_numbers(L, n),
                                   .v = s2_lua_take_numbers(L, m),
                                   .w = s2_lua_take_numbers(L, m),
                                   .proof_free = s2_lua_take_numbers(L, n),
                                   .proof_row = s2_lua_take_numbers(L, m)};
  s2_lua_with_arena(L, mlcp_run, &call);
  return s2_lua_solve_return(L, &call.solve, &call.answer, &returns, &call);
}

// ---- Derivatives ------------------------------------------------------------------------------

// Arguments: problem, u, v, info, dl.
static int mlcp_vjp(lua_State *L) {
  Call call = {0};
  int count;
  lua_settop(L, 5);
  mlcp_read_problem(L, &call);
  S2MlcpSolution *at = &call.solution;
  // Read the solution from the arguments and the info, and the loss from the last argument.
  at->u = s2_lua_check_vector(L, 2, "u", call.problem.n, &count);
  at->v = s2_lua_check_vector(L, 3, "v", call.problem.m, &count);
  S2Keys info = s2_lua_solved_open(L, 4);
  S2Keys loss = s2_lua_loss_open(L, 5, loss_fields);
  at->kappa = s2_lua_solved_kappa(&info);
  s2_lua_fields_read(&loss, loss_fields, &call);
  // Allocate a derivative for each given block.
  S2MlcpGradient to;
  s2_lua_gradient_take(L, problem_fields, &call, &to);
  S2Arena arena; // do not call Lua while the arena exists
  s2_arena_init(&arena);
  bool regular = s2_mlcp_vjp(&call.problem, at, call.dl_du, call.dl_dv, &to, &arena);
  s2_arena_free(&arena);
  s2_lua_gradient_push(L, problem_fields, &call, &to);
  return s2_lua_set_regular(L, regular);
}

void s2_lua_open_mlcp(lua_State *L) {
  static const luaL_Reg functions[] = {{"solve", mlcp_solve}, {"vjp", mlcp_vjp}, {NULL, NULL}};
  s2_lua_push_library(L, "sim.mlcp", functions);
}
