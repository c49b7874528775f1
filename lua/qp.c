// sim.qp and sim.lp: quadratic and linear programs in plain tables.
#include "binding.h"
#include "matrix.h"
#include "solve_info.h"

#include "mcp/lp.h"
#include "mcp/mlcp.h"
#include "mcp/qp.h"

#include <math.h>

typedef struct Call {
  S2LuaSolve solve;
  S2Qp qp;
  S2QpSolution qp_solution;
  S2Lp lp;
  S2LpSolution lp_solution;
  bool linear;
  double time; // s
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

static void read_qp(const S2Keys *keys, S2Qp *qp) {
  int n = -1;
  s2_keys_require(keys, "q");
  qp->q = s2_lua_problem_vector(keys, "q", &n);
  int rows = n, columns = n;
  qp->n = n;
  qp->p = s2_lua_problem_matrix(keys, "P", &rows, &columns);
  qp->equalities = read_rows(keys, "A", "b", n, &qp->a, &qp->b);
  qp->inequalities = read_rows(keys, "G", "h", n, &qp->g, &qp->h);
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

static void read_lp(const S2Keys *keys, S2Lp *lp) {
  int n = -1;
  s2_keys_require(keys, "c");
  lp->c = s2_lua_problem_vector(keys, "c", &n);
  lp->n = n;
  lp->inequalities = read_rows(keys, "A_ub", "b_ub", n, &lp->a_ub, &lp->b_ub);
  lp->equalities = read_rows(keys, "A_eq", "b_eq", n, &lp->a_eq, &lp->b_eq);
  read_bounds(keys, lp);
}

// ---- Solving ----------------------------------------------------------------------------------

// No call into Lua between the arena's beginning and its end: an error would leak it.
static void solve(Call *call) {
  S2QpOptions options = {call->solve.tolerance, call->solve.max_iterations,
                         call->solve.record ? &call->solve.history : NULL};
  S2Arena arena;
  s2_arena_init(&arena);
  double start = s2_lua_clock();
  if (call->linear) {
    s2_lp_solve(&call->lp, &options, &arena, &call->lp_solution);
  } else {
    s2_qp_solve(&call->qp, &options, &arena, &call->qp_solution);
  }
  call->time = s2_lua_clock() - start;
  s2_arena_free(&arena);
}

// Fields of the info on top of the stack.
static void set_measures(lua_State *L, double objective, double primal, double dual,
                         double complementarity, bool solved) {
  s2_lua_set_number(L, "primal", primal);
  s2_lua_set_number(L, "dual", dual);
  s2_lua_set_number(L, "complementarity", complementarity);
  s2_lua_set_number(L, "r_vio", fmax(primal, dual));
  s2_lua_set_number(L, "b_vio", complementarity);
  if (solved) {
    s2_lua_set_number(L, "objective", objective);
  }
}

// x, info or nil, status, info; the info lies on the top of the stack.
static int answer(lua_State *L, const double *x, int n, S2SolveStatus status) {
  int info = lua_gettop(L);
  if (status == S2_SOLVED) {
    s2_lua_push_numbers(L, x, n);
    lua_pushvalue(L, info);
    return 2;
  }
  lua_pushnil(L);
  lua_pushstring(L, s2_solve_status_name(status));
  lua_pushvalue(L, info);
  return 3;
}

static double *take(lua_State *L, int n) {
  return lua_newuserdatauv(L, sizeof(double) * ((size_t)n + 1), 0);
}

static int qp_solve(lua_State *L) {
  static const char *const names[] = {"P", "q", "A", "b", "G", "h", NULL};
  Call call = {0};
  S2Qp *qp = &call.qp;
  lua_settop(L, 1);
  S2Keys keys = s2_keys_open(L, 1, false, names, s2_lua_solve_names, 0);
  read_qp(&keys, qp);
  s2_lua_solve_read(&keys, &call.solve);
  int n = qp->n, e = qp->equalities, m = qp->inequalities;
  check_size(L, n + e + m);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  S2QpSolution *to = &call.qp_solution;
  *to = (S2QpSolution){.x = take(L, n),
                       .y = take(L, e),
                       .z = take(L, m),
                       .proof_y = take(L, e),
                       .proof_z = take(L, m),
                       .direction = take(L, n)};
  solve(&call);
  s2_lua_solve_info(L, &call.solve, to->status, to->iterations, to->residual, call.time);
  set_measures(L, to->objective, to->primal, to->dual, to->complementarity,
               to->status == S2_SOLVED);
  if (to->status == S2_SOLVED) {
    s2_lua_set_numbers(L, "y", to->y, e);
    s2_lua_set_numbers(L, "z", to->z, m);
  } else if (to->status == S2_INFEASIBLE) {
    lua_pushboolean(L, to->unbounded);
    lua_setfield(L, -2, "unbounded");
    if (to->unbounded) {
      s2_lua_set_numbers(L, "direction", to->direction, n);
    } else {
      lua_createtable(L, 0, 2);
      s2_lua_set_numbers(L, "y", to->proof_y, e);
      s2_lua_set_numbers(L, "z", to->proof_z, m);
      lua_setfield(L, -2, "certificate");
    }
  }
  return answer(L, to->x, n, to->status);
}

static int lp_solve(lua_State *L) {
  static const char *const names[] = {"c", "A_ub", "b_ub", "A_eq", "b_eq", "bounds", NULL};
  Call call = {.linear = true};
  S2Lp *lp = &call.lp;
  lua_settop(L, 1);
  S2Keys keys = s2_keys_open(L, 1, false, names, s2_lua_solve_names, 0);
  read_lp(&keys, lp);
  s2_lua_solve_read(&keys, &call.solve);
  int n = lp->n, e = lp->equalities, m = lp->inequalities;
  check_size(L, n + e + m);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  S2LpSolution *to = &call.lp_solution;
  *to = (S2LpSolution){.x = take(L, n),
                       .y = take(L, e),
                       .z = take(L, m),
                       .lower = take(L, n),
                       .upper = take(L, n),
                       .proof_y = take(L, e),
                       .proof_z = take(L, m),
                       .proof_lower = take(L, n),
                       .proof_upper = take(L, n),
                       .direction = take(L, n)};
  solve(&call);
  s2_lua_solve_info(L, &call.solve, to->status, to->iterations, to->residual, call.time);
  set_measures(L, to->objective, to->primal, to->dual, to->complementarity,
               to->status == S2_SOLVED);
  if (to->status == S2_SOLVED) {
    s2_lua_set_numbers(L, "y", to->y, e);
    s2_lua_set_numbers(L, "z", to->z, m);
    s2_lua_set_numbers(L, "lower", to->lower, n);
    s2_lua_set_numbers(L, "upper", to->upper, n);
  } else if (to->status == S2_INFEASIBLE) {
    lua_pushboolean(L, to->unbounded);
    lua_setfield(L, -2, "unbounded");
    if (to->unbounded) {
      s2_lua_set_numbers(L, "direction", to->direction, n);
    } else {
      lua_createtable(L, 0, 4);
      s2_lua_set_numbers(L, "y", to->proof_y, e);
      s2_lua_set_numbers(L, "z", to->proof_z, m);
      s2_lua_set_numbers(L, "lower", to->proof_lower, n);
      s2_lua_set_numbers(L, "upper", to->proof_upper, n);
      lua_setfield(L, -2, "certificate");
    }
  }
  return answer(L, to->x, n, to->status);
}

void s2_lua_open_qp(lua_State *L) {
  static const luaL_Reg functions[] = {{"solve", qp_solve}, {NULL, NULL}};
  s2_lua_push_library(L, "sim.qp", functions);
}

void s2_lua_open_lp(lua_State *L) {
  static const luaL_Reg functions[] = {{"solve", lp_solve}, {NULL, NULL}};
  s2_lua_push_library(L, "sim.lp", functions);
}
