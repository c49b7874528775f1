// sim.qp and sim.lp: quadratic and linear programs in plain tables.
#include "lua/diff/solve_tracked.h"
#include "lua/solve/matrix.h"
#include "lua/solve/solve_info.h"
#include "lua/world/binding.h"

#include "mcp/mlcp/lp.h"
#include "mcp/mlcp/mlcp.h"
#include "mcp/mlcp/qp.h"

#include <math.h>

typedef struct Call {
  S2LuaSolve solve;
  bool linear; // true for sim.lp, false for sim.qp
  S2Qp qp;
  S2Lp lp;
  int n, equalities, inequalities; // sizes of the program
  S2LpSolution solution;           // a quadratic program has no multipliers of bounds
  S2LpLoss loss;
  double r_vio; // the larger of the primal and dual residual
  S2LuaAnswer answer;
} Call;

// ---- Fields of problems and solutions ---------------------------------------------------------

#define QP(name)    offsetof(Call, qp.name)
#define LP(name)    offsetof(Call, lp.name)
#define FOUND(name) offsetof(Call, solution.name)
#define LOSS(name)  offsetof(Call, loss.name)
#define OF_QP(name) .gradient = offsetof(S2QpGradient, name)
#define OF_LP(name) .gradient = offsetof(S2LpGradient, name)
enum { N = offsetof(Call, n), E = offsetof(Call, equalities), M = offsetof(Call, inequalities) };

// Fields of quadratic programs (qp.h).
static const S2LuaField qp_fields[] = {
    {"q", S2_LUA_VECTOR, QP(q), N, 0, S2_LUA_SIZES | S2_LUA_REQUIRED, OF_QP(q)},
    {"P", S2_LUA_MATRIX, QP(p), N, N, OF_QP(p)},
    {"b", S2_LUA_VECTOR, QP(b), E, 0, S2_LUA_SIZES, .partner = "A", OF_QP(b)},
    {"A", S2_LUA_MATRIX, QP(a), E, N, OF_QP(a)},
    {"h", S2_LUA_VECTOR, QP(h), M, 0, S2_LUA_SIZES, .partner = "G", OF_QP(h)},
    {"G", S2_LUA_MATRIX, QP(g), M, N, OF_QP(g)},
    {0}};

// Fields of linear programs (lp.h). read_bounds reads the key `bounds`.
static const S2LuaField lp_fields[] = {
    {"c", S2_LUA_VECTOR, LP(c), N, 0, S2_LUA_SIZES | S2_LUA_REQUIRED, OF_LP(c)},
    {"b_ub", S2_LUA_VECTOR, LP(b_ub), M, 0, S2_LUA_SIZES, .partner = "A_ub", OF_LP(b_ub)},
    {"A_ub", S2_LUA_MATRIX, LP(a_ub), M, N, OF_LP(a_ub)},
    {"b_eq", S2_LUA_VECTOR, LP(b_eq), E, 0, S2_LUA_SIZES, .partner = "A_eq", OF_LP(b_eq)},
    {"A_eq", S2_LUA_MATRIX, LP(a_eq), E, N, OF_LP(a_eq)},
    {0}};

static const S2LuaField result_fields[] = {{"x", S2_LUA_VECTOR, FOUND(x), .rows = N}, {0}};

static const S2LuaField info_fields[] = {
    {"primal", S2_LUA_NUMBER, .at = FOUND(primal)},
    {"dual", S2_LUA_NUMBER, .at = FOUND(dual)},
    {"complementarity", S2_LUA_NUMBER, .at = FOUND(complementarity)},
    {"r_vio", S2_LUA_NUMBER, .at = offsetof(Call, r_vio)},
    {"b_vio", S2_LUA_NUMBER, .at = FOUND(complementarity)},
    {"objective", S2_LUA_NUMBER, FOUND(objective), .flags = S2_LUA_IF_SOLVED},
    {"y", S2_LUA_VECTOR, FOUND(y), E, .flags = S2_LUA_IF_SOLVED},
    {"z", S2_LUA_VECTOR, FOUND(z), M, .flags = S2_LUA_IF_SOLVED},
    {"lower", S2_LUA_VECTOR, FOUND(lower), N, .flags = S2_LUA_IF_SOLVED}, // only in linear programs
    {"upper", S2_LUA_VECTOR, FOUND(upper), N, .flags = S2_LUA_IF_SOLVED},
    {"unbounded", S2_LUA_BOOLEAN, FOUND(unbounded), .flags = S2_LUA_IF_INFEASIBLE},
    {"direction", S2_LUA_VECTOR, FOUND(direction), N, .flags = S2_LUA_IF_INFEASIBLE},
    {0}};

static const S2LuaField certificate_fields[] = {
    {"y", S2_LUA_VECTOR, FOUND(proof_y), .rows = E},
    {"z", S2_LUA_VECTOR, FOUND(proof_z), .rows = M},
    {"lower", S2_LUA_VECTOR, FOUND(proof_lower), .rows = N},
    {"upper", S2_LUA_VECTOR, FOUND(proof_upper), .rows = N},
    {0}};

static const S2LuaField qp_loss_fields[] = {{"x", S2_LUA_VECTOR, LOSS(x), .rows = N},
                                            {"y", S2_LUA_VECTOR, LOSS(y), .rows = E},
                                            {"z", S2_LUA_VECTOR, LOSS(z), .rows = M},
                                            {0}};
static const S2LuaField lp_loss_fields[] = {{"x", S2_LUA_VECTOR, LOSS(x), .rows = N},
                                            {"y", S2_LUA_VECTOR, LOSS(y), .rows = E},
                                            {"z", S2_LUA_VECTOR, LOSS(z), .rows = M},
                                            {"lower", S2_LUA_VECTOR, LOSS(lower), .rows = N},
                                            {"upper", S2_LUA_VECTOR, LOSS(upper), .rows = N},
                                            {0}};

// ---- Reading ----------------------------------------------------------------------------------

// Reads one side of {lo, hi}. A value of nil is infinite.
static double read_bound(lua_State *L, int i, int side) {
  double value = side == 0 ? -INFINITY : INFINITY;
  char text[S2_LUA_TEXT];
  int type = lua_rawgeti(L, -1, side + 1);
  if (type == LUA_TNUMBER) {
    value = lua_tonumber(L, -1);
  } else if (type != LUA_TNIL) {
    s2_lua_fail(L, "bounds[%d][%d]: number expected, got %s", i + 1, side + 1,
                s2_lua_describe(L, -1, text));
  }
  lua_pop(L, 1);
  return value;
}

// Without `bounds`, x >= 0, as is usual for linear programs.
static void read_bounds(const S2Keys *keys, S2Lp *lp) {
  lua_State *L = keys->L;
  char text[S2_LUA_TEXT];
  size_t n = (size_t)lp->n;
  double *lo = lua_newuserdatauv(L, sizeof(double) * (2 * n + 1), 0), *hi = lo + n;
  bool given = s2_keys_push(keys, "bounds") != LUA_TNIL;
  // Each message names the key, because no key reader is used.
  if (given && lua_type(L, -1) != LUA_TTABLE) {
    s2_lua_fail(L, "bounds: list of {lo, hi} expected, got %s", s2_lua_describe(L, -1, text));
  }
  if (given && lua_rawlen(L, -1) != n) {
    s2_lua_fail(L, "bounds: %d pairs {lo, hi} expected, got %d", lp->n, (int)lua_rawlen(L, -1));
  }
  // There is one pair per unknown. Either side may be nil.
  for (int i = 0; i < lp->n; i++) {
    lo[i] = 0;
    hi[i] = INFINITY;
    if (given) {
      if (lua_rawgeti(L, -1, i + 1) != LUA_TTABLE) {
        s2_lua_fail(L, "bounds[%d]: {lo, hi} expected, got %s", i + 1,
                    s2_lua_describe(L, -1, text));
      }
      if (s2_lua_pair_stray(L, -1, text)) {
        s2_lua_fail(L, "bounds[%d]: {lo, hi} expected, two values without names, got key %s", i + 1,
                    text);
      }
      lo[i] = read_bound(L, i, 0);
      hi[i] = read_bound(L, i, 1);
      lua_pop(L, 1);
    }
  }
  lp->lo = lo;
  lp->hi = hi;
}

// Reads the program in argument 1 and returns its keys.
static S2Keys read_program(lua_State *L, Call *call) {
  static const char *const qp_names[] = {"P", "q", "A", "b", "G", "h", NULL};
  static const char *const lp_names[] = {"c", "A_ub", "b_ub", "A_eq", "b_eq", "bounds", NULL};
  const char *const *names = call->linear ? lp_names : qp_names;
  const S2LuaField *fields = call->linear ? lp_fields : qp_fields;
  luaL_checkstack(L, 3 * LUA_MINSTACK, NULL);
  S2Keys keys = s2_keys_open(L, 1, false, names, s2_lua_solve_names, 0);
  s2_lua_fields_read(&keys, fields, call);
  call->qp.n = call->lp.n = call->n;
  call->qp.equalities = call->lp.equalities = call->equalities;
  call->qp.inequalities = call->lp.inequalities = call->inequalities;
  if (call->linear) {
    read_bounds(&keys, &call->lp);
  }
  // The limit applies to the size of the equivalent mixed complementarity problem.
  int size = call->n + call->equalities + call->inequalities;
  if (size > S2_MLCP_MAX) {
    s2_lua_fail(L, "at most %d unknowns and constraints together expected, got %d", S2_MLCP_MAX,
                size);
  }
  return keys;
}

// ---- Solving ----------------------------------------------------------------------------------

static void solve_qp(Call *call, const S2QpOptions *options, S2Arena *arena) {
  S2LpSolution *to = &call->solution;
  S2QpSolution s = {.x = to->x,
                    .y = to->y,
                    .z = to->z,
                    .proof_y = to->proof_y,
                    .proof_z = to->proof_z,
                    .direction = to->direction};
  s2_qp_solve(&call->qp, options, arena, &s);
  // Both kinds of programs share this form of the solution.
  to->status = s.status;
  to->unbounded = s.unbounded;
  to->iterations = s.iterations;
  to->objective = s.objective;
  to->primal = s.primal;
  to->dual = s.dual;
  to->complementarity = s.complementarity;
  to->residual = s.residual;
}

// Called by s2_lua_with_arena.
static void qp_run(void *user, S2Arena *arena) {
  Call *call = user;
  S2QpOptions options = {.tolerance = call->solve.tolerance,
                         .max_iterations = call->solve.max_iterations,
                         .history = call->solve.record ? &call->solve.history : NULL,
                         .kappa = call->solve.kappa};
  double start = s2_lua_clock();
  if (call->linear) {
    s2_lp_solve(&call->lp, &options, arena, &call->solution);
  } else {
    solve_qp(call, &options, arena);
  }
  const S2LpSolution *found = &call->solution;
  double time = s2_lua_clock() - start;
  call->answer = (S2LuaAnswer){found->status, found->iterations, found->residual, time, NULL};
  call->r_vio = fmax(found->primal, found->dual);
}

// Returns x and info, or nil, the status and info.
static int solve_program(lua_State *L, bool linear) {
  Call call = {.linear = linear};
  int results = s2_lua_solve_tracked(L, linear ? "lp" : "qp");
  if (results >= 0) {
    return results;
  }
  lua_settop(L, 1);
  // Allocate memory for all possible results.
  S2Keys keys = read_program(L, &call);
  s2_lua_solve_read(&keys, &call.solve);
  size_t n = (size_t)call.n, e = (size_t)call.equalities, m = (size_t)call.inequalities;
  call.solution = (S2LpSolution){.x = s2_lua_take_numbers(L, n),
                                 .y = s2_lua_take_numbers(L, e),
                                 .z = s2_lua_take_numbers(L, m),
                                 .proof_y = s2_lua_take_numbers(L, e),
                                 .proof_z = s2_lua_take_numbers(L, m),
                                 .direction = s2_lua_take_numbers(L, n)};
  if (linear) {
    call.solution.lower = s2_lua_take_numbers(L, n);
    call.solution.upper = s2_lua_take_numbers(L, n);
    call.solution.proof_lower = s2_lua_take_numbers(L, n);
    call.solution.proof_upper = s2_lua_take_numbers(L, n);
  }
  s2_lua_with_arena(L, qp_run, &call);
  bool unbounded = call.solution.unbounded; // the proof of unboundedness is a direction
  call.solution.direction = unbounded ? call.solution.direction : NULL;
  const S2LuaReturns returns = {result_fields, info_fields, unbounded ? NULL : certificate_fields};
  return s2_lua_solve_return(L, &call.solve, &call.answer, &returns, &call);
}

static int qp_solve(lua_State *L) {
  return solve_program(L, false);
}

static int lp_solve(lua_State *L) {
  return solve_program(L, true);
}

// ---- Derivatives ------------------------------------------------------------------------------

// Reads x from argument 2 and the multipliers from the info in argument 3.
static void qp_read_solution(lua_State *L, Call *call) {
  S2LpSolution *at = &call->solution;
  int count;
  // The multipliers are in the info of the solve.
  S2Keys info = s2_lua_solved_open(L, 3);
  at->x = s2_lua_check_vector(L, 2, "x", call->n, &count);
  at->y = s2_lua_solved_vector(&info, "y", call->equalities);
  at->z = s2_lua_solved_vector(&info, "z", call->inequalities);
  at->kappa = s2_lua_solved_kappa(&info);
  if (call->linear) {
    at->lower = s2_lua_solved_vector(&info, "lower", call->n);
    at->upper = s2_lua_solved_vector(&info, "upper", call->n);
  }
}

// Reads the program, the solution and the loss from arguments 1 to 4.
static S2Keys read_derivative(lua_State *L, Call *call) {
  lua_settop(L, 4);
  S2Keys keys = read_program(L, call);
  qp_read_solution(L, call);
  const S2LuaField *fields = call->linear ? lp_loss_fields : qp_loss_fields;
  S2Keys loss = s2_lua_loss_open(L, 4, fields);
  s2_lua_fields_read(&loss, fields, call);
  return keys;
}

// Arguments: program, x, info, dl.
static int qp_vjp(lua_State *L) {
  Call call = {0};
  read_derivative(L, &call);
  const S2LpSolution *at = &call.solution;
  S2QpSolution solution = {.x = at->x, .y = at->y, .z = at->z, .kappa = at->kappa};
  S2QpGradient to;
  s2_lua_gradient_take(L, qp_fields, &call, &to);
  S2Arena arena; // do not call Lua while the arena exists
  s2_arena_init(&arena);
  bool regular = s2_qp_vjp(&call.qp, &solution, call.loss.x, call.loss.y, call.loss.z, &to, &arena);
  s2_arena_free(&arena);
  s2_lua_gradient_push(L, qp_fields, &call, &to);
  return s2_lua_set_regular(L, regular);
}

// Sets bounds = {{lo, hi}, ...}.
static void qp_set_bounds(lua_State *L, const S2LpGradient *from, int n) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    double pair[2] = {from->lo[i], from->hi[i]};
    s2_lua_push_numbers(L, pair, 2);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "bounds");
}

// Arguments: program, x, info, dl.
static int lp_vjp(lua_State *L) {
  Call call = {.linear = true};
  S2Keys keys = read_derivative(L, &call);
  bool bounded = s2_keys_has(&keys, "bounds");
  S2LpGradient to;
  s2_lua_gradient_take(L, lp_fields, &call, &to);
  to.lo = s2_lua_take_numbers(L, (size_t)call.n);
  to.hi = s2_lua_take_numbers(L, (size_t)call.n);
  S2Arena arena; // do not call Lua while the arena exists
  s2_arena_init(&arena);
  bool regular = s2_lp_vjp(&call.lp, &call.solution, &call.loss, &to, &arena);
  s2_arena_free(&arena);
  s2_lua_gradient_push(L, lp_fields, &call, &to);
  if (bounded) {
    qp_set_bounds(L, &to, call.n);
  }
  return s2_lua_set_regular(L, regular);
}

void s2_lua_open_qp(lua_State *L) {
  static const luaL_Reg functions[] = {{"solve", qp_solve}, {"vjp", qp_vjp}, {NULL, NULL}};
  s2_lua_push_library(L, "sim.qp", functions);
}

void s2_lua_open_lp(lua_State *L) {
  static const luaL_Reg functions[] = {{"solve", lp_solve}, {"vjp", lp_vjp}, {NULL, NULL}};
  s2_lua_push_library(L, "sim.lp", functions);
}
