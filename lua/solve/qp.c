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
  bool linear; // which of the two it is
  S2Qp qp;
  S2Lp lp;
  int n, equalities, inequalities; // of either
  S2LpSolution solution;           // of either; without `linear` it has no bounds
  double time;                     // s
} Call;

// ---- Reading ----------------------------------------------------------------------------------

// A matrix and its right side, of which neither goes without the other.
static int read_rows(const S2Keys *keys, const char *left, const char *right, int n,
                     const double **matrix, const double **vector) {
  int rows = -1, columns = n;
  if (s2_keys_has(keys, left) != s2_keys_has(keys, right)) {
    s2_keys_require(keys, left);
    s2_keys_require(keys, right);
  }
  *vector = s2_lua_problem_vector(keys, right, &rows);
  *matrix = s2_lua_problem_matrix(keys, left, &rows, &columns);
  return rows < 0 ? 0 : rows;
}

static void check_size(lua_State *L, int size) {
  if (size > S2_MLCP_MAX) {
    s2_lua_fail(L, "at most %d unknowns and constraints together expected, got %d", S2_MLCP_MAX,
                size);
  }
}

static void read_qp(const S2Keys *keys, Call *call) {
  S2Qp *qp = &call->qp;
  int n = -1;
  s2_keys_require(keys, "q");
  qp->q = s2_lua_problem_vector(keys, "q", &n);
  int rows = n, columns = n;
  call->n = qp->n = n;
  qp->p = s2_lua_problem_matrix(keys, "P", &rows, &columns);
  call->equalities = qp->equalities = read_rows(keys, "A", "b", n, &qp->a, &qp->b);
  call->inequalities = qp->inequalities = read_rows(keys, "G", "h", n, &qp->g, &qp->h);
}

// One of {lo, hi}; nil is infinite.
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

// Without `bounds` all x >= 0, the custom of linear programs.
static void read_bounds(const S2Keys *keys, S2Lp *lp) {
  lua_State *L = keys->L;
  char text[S2_LUA_TEXT];
  size_t n = (size_t)lp->n;
  double *lo = lua_newuserdatauv(L, sizeof(double) * (2 * n + 1), 0), *hi = lo + n;
  bool given = s2_keys_push(keys, "bounds") != LUA_TNIL;
  if (given && lua_type(L, -1) != LUA_TTABLE) {
    s2_lua_fail(L, "bounds: list of {lo, hi} expected, got %s", s2_lua_describe(L, -1, text));
  }
  if (given && lua_rawlen(L, -1) != n) {
    s2_lua_fail(L, "bounds: %d pairs {lo, hi} expected, got %d", lp->n, (int)lua_rawlen(L, -1));
  }
  for (int i = 0; i < lp->n; i++) {
    lo[i] = 0;
    hi[i] = INFINITY;
    if (given) {
      if (lua_rawgeti(L, -1, i + 1) != LUA_TTABLE) {
        s2_lua_fail(L, "bounds[%d]: {lo, hi} expected, got %s", i + 1,
                    s2_lua_describe(L, -1, text));
      }
      lo[i] = read_bound(L, i, 0);
      hi[i] = read_bound(L, i, 1);
      lua_pop(L, 1);
    }
  }
  lp->lo = lo;
  lp->hi = hi;
}

static void read_lp(const S2Keys *keys, Call *call) {
  S2Lp *lp = &call->lp;
  int n = -1;
  s2_keys_require(keys, "c");
  lp->c = s2_lua_problem_vector(keys, "c", &n);
  call->n = lp->n = n;
  call->inequalities = lp->inequalities = read_rows(keys, "A_ub", "b_ub", n, &lp->a_ub, &lp->b_ub);
  call->equalities = lp->equalities = read_rows(keys, "A_eq", "b_eq", n, &lp->a_eq, &lp->b_eq);
  read_bounds(keys, lp);
}

// The program in argument 1; returns its keys.
static S2Keys read_program(lua_State *L, Call *call) {
  static const char *const qp_names[] = {"P", "q", "A", "b", "G", "h", NULL};
  static const char *const lp_names[] = {"c", "A_ub", "b_ub", "A_eq", "b_eq", "bounds", NULL};
  luaL_checkstack(L, 3 * LUA_MINSTACK, NULL);
  S2Keys keys =
      s2_keys_open(L, 1, false, call->linear ? lp_names : qp_names, s2_lua_solve_names, 0);
  if (call->linear) {
    read_lp(&keys, call);
  } else {
    read_qp(&keys, call);
  }
  check_size(L, call->n + call->equalities + call->inequalities);
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
  to->status = s.status;
  to->unbounded = s.unbounded;
  to->iterations = s.iterations;
  to->objective = s.objective;
  to->primal = s.primal;
  to->dual = s.dual;
  to->complementarity = s.complementarity;
  to->residual = s.residual;
}

// For s2_lua_with_arena.
static void solve(void *user, S2Arena *arena) {
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
  call->time = s2_lua_clock() - start;
}

static void set_multipliers(lua_State *L, const Call *call, const double *y, const double *z,
                            const double *lower, const double *upper) {
  s2_lua_set_numbers(L, "y", y, call->equalities);
  s2_lua_set_numbers(L, "z", z, call->inequalities);
  s2_lua_set_numbers(L, "lower", lower, call->n);
  s2_lua_set_numbers(L, "upper", upper, call->n);
}

static void push_info(lua_State *L, const Call *call) {
  const S2LpSolution *s = &call->solution;
  s2_lua_solve_info(L, &call->solve, s->status, s->iterations, s->residual, call->time);
  s2_lua_set_number(L, "primal", s->primal);
  s2_lua_set_number(L, "dual", s->dual);
  s2_lua_set_number(L, "complementarity", s->complementarity);
  s2_lua_set_number(L, "r_vio", fmax(s->primal, s->dual));
  s2_lua_set_number(L, "b_vio", s->complementarity);
  if (s->status == S2_SOLVED) {
    s2_lua_set_number(L, "objective", s->objective);
    set_multipliers(L, call, s->y, s->z, s->lower, s->upper);
  } else if (s->status == S2_INFEASIBLE) {
    lua_pushboolean(L, s->unbounded);
    lua_setfield(L, -2, "unbounded");
    if (s->unbounded) {
      s2_lua_set_numbers(L, "direction", s->direction, call->n);
    } else {
      lua_createtable(L, 0, 4);
      set_multipliers(L, call, s->proof_y, s->proof_z, s->proof_lower, s->proof_upper);
      lua_setfield(L, -2, "certificate");
    }
  }
}

// x, info or nil, status, info.
static int solve_program(lua_State *L, bool linear) {
  Call call = {.linear = linear};
  int results = s2_lua_solve_tracked(L, linear ? "lp" : "qp");
  if (results >= 0) {
    return results;
  }
  lua_settop(L, 1);
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
  s2_lua_with_arena(L, solve, &call);
  if (call.solution.status == S2_SOLVED) {
    s2_lua_push_numbers(L, call.solution.x, call.n);
    push_info(L, &call);
    return 2;
  }
  lua_pushnil(L);
  lua_pushstring(L, s2_solve_status_name(call.solution.status));
  push_info(L, &call);
  return 3;
}

static int qp_solve(lua_State *L) {
  return solve_program(L, false);
}

static int lp_solve(lua_State *L) {
  return solve_program(L, true);
}

// ---- Derivatives ------------------------------------------------------------------------------

// x and the multipliers, from argument 2 and the info in argument 3.
static void read_solution(lua_State *L, Call *call) {
  S2LpSolution *at = &call->solution;
  int count;
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

// From argument 4.
static S2LpLoss read_loss(lua_State *L, const Call *call) {
  static const char *const names[] = {"x", "y", "z", NULL};
  static const char *const more[] = {"x", "y", "z", "lower", "upper", NULL};
  S2Keys keys = s2_lua_loss_open(L, 4, call->linear ? more : names);
  return (S2LpLoss){.x = s2_lua_loss_vector(&keys, "x", call->n),
                    .y = s2_lua_loss_vector(&keys, "y", call->equalities),
                    .z = s2_lua_loss_vector(&keys, "z", call->inequalities),
                    .lower = s2_lua_loss_vector(&keys, "lower", call->n),
                    .upper = s2_lua_loss_vector(&keys, "upper", call->n)};
}

// The table on top of the stack gets the key that says whether the gradient is one.
static int finish(lua_State *L, bool regular) {
  lua_pushboolean(L, regular);
  lua_setfield(L, -2, "regular");
  return 1;
}

// Arguments: program, x, info, dl.
static int qp_vjp(lua_State *L) {
  Call call = {0};
  lua_settop(L, 4);
  read_program(L, &call);
  read_solution(L, &call);
  S2LpLoss loss = read_loss(L, &call);
  const S2Qp *qp = &call.qp;
  int n = call.n, e = call.equalities, m = call.inequalities;
  size_t width = (size_t)n;
  S2QpGradient to = {.p = s2_lua_take_like(L, qp->p, width * width),
                     .q = s2_lua_take_like(L, qp->q, width),
                     .a = s2_lua_take_like(L, qp->a, (size_t)e * width),
                     .b = s2_lua_take_like(L, qp->b, (size_t)e),
                     .g = s2_lua_take_like(L, qp->g, (size_t)m * width),
                     .h = s2_lua_take_like(L, qp->h, (size_t)m)};
  const S2LpSolution *at = &call.solution;
  S2QpSolution solution = {.x = at->x, .y = at->y, .z = at->z, .kappa = at->kappa};
  S2Arena arena; // no call into Lua before its end
  s2_arena_init(&arena);
  bool regular = s2_qp_vjp(qp, &solution, loss.x, loss.y, loss.z, &to, &arena);
  s2_arena_free(&arena);
  lua_createtable(L, 0, 7);
  s2_lua_set_matrix(L, "P", to.p, n, n);
  s2_lua_set_numbers(L, "q", to.q, n);
  s2_lua_set_matrix(L, "A", to.a, e, n);
  s2_lua_set_numbers(L, "b", to.b, e);
  s2_lua_set_matrix(L, "G", to.g, m, n);
  s2_lua_set_numbers(L, "h", to.h, m);
  return finish(L, regular);
}

// bounds = {{lo, hi}, ...}
static void set_bounds(lua_State *L, const S2LpGradient *from, int n) {
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
  lua_settop(L, 4);
  S2Keys keys = read_program(L, &call);
  bool bounded = s2_keys_has(&keys, "bounds");
  read_solution(L, &call);
  S2LpLoss loss = read_loss(L, &call);
  const S2Lp *lp = &call.lp;
  int n = call.n, e = call.equalities, m = call.inequalities;
  size_t width = (size_t)n;
  S2LpGradient to = {.c = s2_lua_take_like(L, lp->c, width),
                     .a_ub = s2_lua_take_like(L, lp->a_ub, (size_t)m * width),
                     .b_ub = s2_lua_take_like(L, lp->b_ub, (size_t)m),
                     .a_eq = s2_lua_take_like(L, lp->a_eq, (size_t)e * width),
                     .b_eq = s2_lua_take_like(L, lp->b_eq, (size_t)e),
                     .lo = s2_lua_take_numbers(L, width),
                     .hi = s2_lua_take_numbers(L, width)};
  S2Arena arena; // no call into Lua before its end
  s2_arena_init(&arena);
  bool regular = s2_lp_vjp(lp, &call.solution, &loss, &to, &arena);
  s2_arena_free(&arena);
  lua_createtable(L, 0, 7);
  s2_lua_set_numbers(L, "c", to.c, n);
  s2_lua_set_matrix(L, "A_ub", to.a_ub, m, n);
  s2_lua_set_numbers(L, "b_ub", to.b_ub, m);
  s2_lua_set_matrix(L, "A_eq", to.a_eq, e, n);
  s2_lua_set_numbers(L, "b_eq", to.b_eq, e);
  if (bounded) {
    set_bounds(L, &to, n);
  }
  return finish(L, regular);
}

void s2_lua_open_qp(lua_State *L) {
  static const luaL_Reg functions[] = {{"solve", qp_solve}, {"vjp", qp_vjp}, {NULL, NULL}};
  s2_lua_push_library(L, "sim.qp", functions);
}

void s2_lua_open_lp(lua_State *L) {
  static const luaL_Reg functions[] = {{"solve", lp_solve}, {"vjp", lp_vjp}, {NULL, NULL}};
  s2_lua_push_library(L, "sim.lp", functions);
}
