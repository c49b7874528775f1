// sim.linalg. If there is no result, for example for a singular matrix, functions return nil and a
// reason.
#include "lua/diff/array.h"
#include "lua/solve/solve_info.h"

#include <string.h>

static int linalg_failed(lua_State *L, S2Status status) {
  lua_pushnil(L);
  lua_pushstring(L, status.message);
  return 2;
}

static S2Array linalg_check_matrix(lua_State *L, int argument, bool square, double *number) {
  char text[S2_LUA_TEXT], shape[S2_SIZE_TEXT];
  if (!s2_lua_array_is_operand(L, argument)) {
    s2_lua_bad_argument(L, argument, "matrix expected, got %s", s2_lua_describe(L, argument, text));
  }
  S2Array a = s2_lua_array_operand(L, argument, number);
  if (a.shape.axes != 2 || (square && a.shape.rows != a.shape.columns)) {
    s2_lua_bad_argument(L, argument, "%s expected, got %s%s", square ? "square matrix" : "matrix",
                        a.shape.axes > 0 ? "shape " : "", s2_size_text(a.shape, shape));
  }
  return a;
}

// ---- Functions of one matrix ------------------------------------------------------------------

typedef struct Factoring {
  S2ArrayFactor factor;
  const S2Array *a;
  double *out;
  S2Status status;
} Factoring;

static void linalg_run_factor(void *user, S2Arena *arena) {
  Factoring *of = user;
  of->status = s2_array_factor(of->factor, of->a->shape, of->a->data, of->out, arena);
}

// NOLINTNEXTLINE(readability-non-const-parameter): written to through factoring
static S2Status linalg_compute(lua_State *L, S2ArrayFactor factor, const S2Array *a, double *out) {
  Factoring factoring = {factor, a, out, s2_ok()};
  s2_lua_with_arena(L, linalg_run_factor, &factoring);
  return factoring.status;
}

// Pushes one result, whose numbers begin at position `start` in the node.
static void linalg_push_result(lua_State *L, const S2Array *whole, size_t start, S2Size shape) {
  const S2ArrayBlock block = {1, (int)s2_size_count(shape), (ptrdiff_t)start, 0, 1};
  s2_lua_push_block(L, whole, &block, shape);
}

static int linalg_one_square(lua_State *L, S2ArrayFactor factor) {
  double number;
  S2Array a = linalg_check_matrix(L, 1, true, &number);
  S2LuaArray *out = s2_lua_array_push(L, a.shape);
  S2Status status = linalg_compute(L, factor, &a, out->data);
  if (status.code != S2_OK) {
    return linalg_failed(L, status);
  }
  if (a.var != 0) {
    s2_lua_array_track(L, out, s2_note_factor(s2_lua_tape(L), factor, &a, out->data));
  }
  return 1;
}

static int linalg_inv(lua_State *L) {
  return linalg_one_square(L, S2_ARRAY_INVERSE);
}

static int linalg_cholesky(lua_State *L) {
  return linalg_one_square(L, S2_ARRAY_CHOLESKY);
}

static int linalg_expm(lua_State *L) {
  return linalg_one_square(L, S2_ARRAY_EXPONENTIAL);
}

static int linalg_det(lua_State *L) {
  double number, out;
  S2Array a = linalg_check_matrix(L, 1, true, &number);
  linalg_compute(L, S2_ARRAY_DETERMINANT, &a, &out);
  S2Var var = a.var != 0 ? s2_note_factor(s2_lua_tape(L), S2_ARRAY_DETERMINANT, &a, &out) : 0;
  s2_lua_array_push_number(L, out, var);
  return 1;
}

// Pushes a userdata with the results of a factorisation, one after the other. Also returns the node
// of the results.
static S2Status linalg_factorise(lua_State *L, S2ArrayFactor factor, const S2Array *a,
                                 S2Array *whole) {
  size_t size = s2_array_factor_size(factor, a->shape);
  size_t more = factor == S2_ARRAY_EIGEN ? (size_t)a->shape.rows : 0; // imaginary parts
  double *out = s2_lua_take_numbers(L, size + more);
  *whole = (S2Array){s2_size_list((int)size), out, 0};
  return linalg_compute(L, factor, a, out);
}

static void linalg_track_factors(lua_State *L, S2ArrayFactor factor, const S2Array *a,
                                 S2Array *whole) {
  whole->var = a->var != 0 ? s2_note_factor(s2_lua_tape(L), factor, a, whole->data) : 0;
}

static int linalg_qr(lua_State *L) {
  double number;
  S2Array a = linalg_check_matrix(L, 1, false, &number), whole;
  S2Status status = linalg_factorise(L, S2_ARRAY_QR, &a, &whole);
  if (status.code != S2_OK) {
    return linalg_failed(L, status);
  }
  linalg_track_factors(L, S2_ARRAY_QR, &a, &whole);
  // The node holds both results, one after the other.
  int rows = a.shape.rows, columns = a.shape.columns, k = rows < columns ? rows : columns;
  linalg_push_result(L, &whole, 0, s2_size_matrix(rows, k));
  linalg_push_result(L, &whole, (size_t)rows * (size_t)k, s2_size_matrix(k, columns));
  return 2;
}

static int linalg_svd(lua_State *L) {
  double number;
  S2Array a = linalg_check_matrix(L, 1, false, &number), whole;
  S2Status status = linalg_factorise(L, S2_ARRAY_SVD, &a, &whole);
  if (status.code != S2_OK) {
    return linalg_failed(L, status);
  }
  linalg_track_factors(L, S2_ARRAY_SVD, &a, &whole);
  int rows = a.shape.rows, columns = a.shape.columns, k = rows < columns ? rows : columns;
  linalg_push_result(L, &whole, 0, s2_size_matrix(rows, k));
  linalg_push_result(L, &whole, (size_t)rows * (size_t)k, s2_size_list(k));
  linalg_push_result(L, &whole, ((size_t)rows + 1) * (size_t)k, s2_size_matrix(columns, k));
  return 3;
}

// Returns eigenvalues and eigenvectors. If eigenvalues are complex, also returns their imaginary
// parts.
static int linalg_eig(lua_State *L) {
  double number;
  S2Array a = linalg_check_matrix(L, 1, true, &number), whole;
  S2Status status = linalg_factorise(L, S2_ARRAY_EIGEN, &a, &whole);
  if (status.code != S2_OK) {
    return linalg_failed(L, status);
  }
  int n = a.shape.rows;
  size_t values = (size_t)n, all = values * (values + 1);
  // Imaginary parts follow the results of the factorisation.
  bool complex = false;
  for (size_t i = 0; i < values; i++) {
    complex = complex || whole.data[all + i] != 0;
  }
  if (complex && a.var != 0) {
    return s2_lua_fail(L, "eig: complex eigenvalues have no derivative yet; use sim.stop_gradient "
                          "to treat the matrix as constant");
  }
  linalg_track_factors(L, S2_ARRAY_EIGEN, &a, &whole);
  linalg_push_result(L, &whole, 0, s2_size_list(n));
  linalg_push_result(L, &whole, values, s2_size_matrix(n, n));
  if (!complex) {
    return 2;
  }
  linalg_push_result(L, &whole, all, s2_size_list(n));
  return 3;
}

// ---- Systems ----------------------------------------------------------------------------------

// Checks the right-hand side of a system of `rows` equations. It must be a list or a matrix.
static S2Array linalg_check_right(lua_State *L, const S2Array *a, double *number, int *columns) {
  S2Array b = s2_lua_array_operand(L, 2, number);
  int length = b.shape.axes == 1 ? b.shape.columns : b.shape.rows;
  if (b.shape.axes == 0 || length != a->shape.rows) {
    char a_text[S2_SIZE_TEXT], b_text[S2_SIZE_TEXT];
    s2_lua_bad_argument(L, 2, "right-hand side: shapes do not fit: %s and %s",
                        s2_size_text(a->shape, a_text), s2_size_text(b.shape, b_text));
  }
  *columns = b.shape.axes == 1 ? 1 : b.shape.columns;
  return b;
}

static S2LuaArray *linalg_push_solution(lua_State *L, const S2Array *b, int n, int columns) {
  return s2_lua_array_push(L, b->shape.axes == 1 ? s2_size_list(n) : s2_size_matrix(n, columns));
}

typedef struct Solving { // Solves a x = b.
  int columns;
  const S2Array *a, *b;
  double *x, *factors;
  int *pivot, rank;
  S2Status status;
} Solving;

static void linalg_run_solve(void *user, S2Arena *arena) {
  Solving *of = user;
  of->status = s2_array_solve(of->a->shape.rows, of->columns, of->a->data, of->b->data, of->x,
                              of->factors, of->pivot, arena);
}

static int linalg_solve(lua_State *L) {
  double number, right;
  int columns;
  lua_settop(L, 2);
  S2Array a = linalg_check_matrix(L, 1, true, &number),
          b = linalg_check_right(L, &a, &right, &columns);
  int n = a.shape.rows;
  // Keep the factors, because the derivative uses them to solve another system.
  double *factors = s2_lua_take_numbers(L, (size_t)n * (size_t)n);
  int *pivot = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *pivot, 0);
  S2LuaArray *x = linalg_push_solution(L, &b, n, columns);
  Solving solving = {columns, &a, &b, x->data, factors, pivot, 0, s2_ok()};
  s2_lua_with_arena(L, linalg_run_solve, &solving);
  if (solving.status.code != S2_OK) {
    return linalg_failed(L, solving.status);
  }
  // The derivative needs K^-T g and the products of K^-T g with x.
  if (a.var != 0 || b.var != 0) {
    S2Var var = s2_note_array_solve(s2_lua_tape(L), n, columns, &a, &b, x->data, factors, pivot);
    s2_lua_array_track(L, x, var);
  }
  return 1;
}

static void linalg_run_least_squares(void *user, S2Arena *arena) {
  Solving *of = user;
  of->status = s2_array_least_squares(of->a->shape.rows, of->a->shape.columns, of->columns,
                                      of->a->data, of->b->data, of->x, &of->rank, arena);
}

// Returns x and the rank.
static int linalg_lstsq(lua_State *L) {
  double number, right;
  int columns;
  lua_settop(L, 2);
  S2Array a = linalg_check_matrix(L, 1, false, &number),
          b = linalg_check_right(L, &a, &right, &columns);
  S2LuaArray *x = linalg_push_solution(L, &b, a.shape.columns, columns);
  Solving solving = {columns, &a, &b, x->data, NULL, NULL, 0, s2_ok()};
  s2_lua_with_arena(L, linalg_run_least_squares, &solving);
  if (solving.status.code != S2_OK) {
    return linalg_failed(L, solving.status);
  }
  if (a.var != 0 || b.var != 0) {
    s2_lua_array_track(L, x, s2_note_least_squares(s2_lua_tape(L), columns, &a, &b, x->data));
  }
  lua_pushinteger(L, solving.rank);
  return 2;
}

void s2_lua_push_linalg(lua_State *L) {
  static const luaL_Reg functions[] = {{"solve", linalg_solve},
                                       {"lstsq", linalg_lstsq},
                                       {"inv", linalg_inv},
                                       {"det", linalg_det},
                                       {"norm", s2_lua_array_norm},
                                       {"cholesky", linalg_cholesky},
                                       {"qr", linalg_qr},
                                       {"svd", linalg_svd},
                                       {"eig", linalg_eig},
                                       {"expm", linalg_expm},
                                       {NULL, NULL}};
  s2_lua_push_library(L, "sim.linalg", functions);
}
