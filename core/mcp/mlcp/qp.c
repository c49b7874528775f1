#include "mcp/mlcp/qp.h"

#include "mcp/mixed/mixed.h"
#include "mcp/mlcp/mlcp.h"
#include "mcp/mlcp/mlcp_pivot.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

static const double TOLERANCE = 1e-9;

// Added to the unit diagonal of the scaled P before the Cholesky factorisation. Rounding errors in
// P can turn zero eigenvalues into negative eigenvalues of up to this size.
static const double CONVEX = 1e-10;

enum { MAX_ITERATIONS = 100 };

// ---- The optimality conditions ----------------------------------------------------------------

// Returns (P + P')_ij / 2.
static double qp_curvature(const S2Qp *qp, int i, int j) {
  size_t n = (size_t)qp->n;
  return qp->p == NULL
             ? 0
             : qp->p[(size_t)i * n + (size_t)j] / 2 + qp->p[(size_t)j * n + (size_t)i] / 2;
}

// Builds the mixed problem with the unknowns x, y, and z of rows with finite h. row[k] receives the
// inequality of pair k.
static S2Mixed qp_make(const S2Qp *qp, int *row, S2Arena *arena) {
  int n = qp->n, e = qp->equalities, m = 0;
  // Skip rows with an infinite right side, which impose no condition.
  for (int i = 0; i < qp->inequalities; i++) {
    if (qp->h[i] != INFINITY) {
      row[m++] = i;
    }
  }
  size_t size = (size_t)n + (size_t)e + (size_t)m;
  S2Mixed p = {n + e, m, S2_TAKE_ZEROED(arena, double, size *size + 1),
               S2_TAKE(arena, double, size + 1)};
  // Write the stationarity condition 1/2 (P + P') x + A' y + G' z + q = 0.
  for (int i = 0; i < n; i++) {
    p.r[i] = qp->q[i];
    for (int j = 0; j < n; j++) {
      p.k[(size_t)i * size + (size_t)j] = qp_curvature(qp, i, j);
    }
  }
  // Write b - A x = 0 and 0 <= z _|_ h - G x >= 0.
  for (int i = 0; i < e + m; i++) {
    const double *from =
        i < e ? qp->a + (size_t)i * (size_t)n : qp->g + (size_t)row[i - e] * (size_t)n;
    p.r[n + i] = i < e ? qp->b[i] : qp->h[row[i - e]];
    for (int j = 0; j < n; j++) {
      p.k[(size_t)(n + i) * size + (size_t)j] = -from[j];
      p.k[(size_t)j * size + (size_t)(n + i)] = from[j];
    }
  }
  return p;
}

static bool qp_convex(const S2Qp *qp, S2Arena *arena) {
  int n = qp->n;
  if (qp->p == NULL || n == 0) {
    return true;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  double *a = S2_TAKE(arena, double, (size_t)n *(size_t)n), *s = S2_TAKE(arena, double, n);
  bool good = true;
  // Scale to a unit diagonal, so that CONVEX has the size of rounding errors in every row.
  for (int i = 0; i < n; i++) {
    double d = qp_curvature(qp, i, i);
    good = good && d >= 0;
    s[i] = d > 0 ? 1 / sqrt(d) : 0;
  }
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      // If a diagonal entry is zero, its whole row must be zero.
      double entry = qp_curvature(qp, i, j);
      good = good && (entry == 0 || (s[i] > 0 && s[j] > 0));
      a[(size_t)i * (size_t)n + (size_t)j] = entry * s[i] * s[j] + (i == j ? CONVEX : 0);
    }
    a[(size_t)i * ((size_t)n + 1)] += s[i] > 0 ? 0 : 1;
  }
  // If Cholesky succeeds, P is positive semidefinite up to rounding.
  good = good && LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, a, n) == 0;
  s2_arena_rewind(arena, mark);
  return good;
}

// ---- Residual ---------------------------------------------------------------------------------

// Computes the residuals of a point (x, y, z) of the mixed problem with f = K x + r. Each row has
// its own unit, because a bound of 1e9 must not hide errors of other rows.
static void qp_judge(const S2Mixed *p, int n, const double *x, const double *f, S2QpSolution *to) {
  int size = s2_mixed_size(p);
  double slope = fmax(1, s2_largest(p->r, (size_t)n));
  to->dual = to->primal = to->complementarity = 0;
  // The first n rows are stationarity conditions. Equations follow, then inequalities with their
  // pairs.
  for (int i = 0; i < size; i++) {
    double unit = s2_mixed_row_unit(p, x, i, i < n ? slope : fmax(1, fabs(p->r[i])));
    double miss = f[i] == 0 ? 0 : f[i] / unit;
    if (i < n) {
      to->dual = fmax(to->dual, fabs(miss));
      continue;
    }
    to->primal = fmax(to->primal, i < p->n ? fabs(miss) : -miss);
    if (i >= p->n && !(to->kappa > 0)) {
      double both = s2_mixed_pair_miss(x[i], fmax(f[i], 0), 0, INFINITY, slope, unit);
      to->complementarity = fmax(to->complementarity, both);
    }
  }
  if (to->kappa > 0) {
    to->complementarity = s2_mixed_off_path(p, x, f, to->kappa);
  }
  to->residual = fmax(to->dual, fmax(to->primal, to->complementarity));
  if (!s2_all_finite(x, (size_t)size) || !s2_all_finite(f, (size_t)size)) {
    to->residual = NAN;
  }
}

// ---- Proofs that there is no solution ---------------------------------------------------------

// Tries to prove that A x = b and G x <= h contradict each other.
static bool constraints_conflict(const S2Qp *qp, const S2Mixed *p, const int *row,
                                 S2QpSolution *solution, S2Arena *arena) {
  int n = qp->n, e = qp->equalities, size = s2_mixed_size(p);
  double *conditions = S2_TAKE(arena, double, (size_t)e + (size_t)p->m * (size_t)n + 1);
  double *proof = S2_TAKE(arena, double, e + 1), *proof_z = S2_TAKE(arena, double, p->m + 1);
  for (int i = 0; i < e + p->m; i++) {
    s2_copy_numbers(conditions + (size_t)i * (size_t)n, p->k + (size_t)(n + i) * (size_t)size,
                    (size_t)n);
  }
  // The conditions are b - A x = 0 and h - G x >= 0, with free x.
  S2Conditions rows = {
      .free = n,
      .equations = e,
      .inequalities = p->m,
      .e = conditions,
      .d = conditions + (size_t)e * (size_t)n,
      .e_constant = p->r + n,
      .d_constant = p->r + n + e,
  };
  if (!s2_conditions_conflict(&rows, proof, proof_z, arena)) {
    return false;
  }
  // The rows of the conditions are -A and -G.
  if (solution->proof_y != NULL) {
    s2_copy_numbers(solution->proof_y, proof, (size_t)e);
  }
  if (solution->proof_z != NULL) {
    s2_clear_numbers(solution->proof_z, (size_t)qp->inequalities);
    for (int i = 0; i < p->m; i++) {
      solution->proof_z[row[i]] = proof_z[i];
    }
  }
  return true;
}

// Tries to prove that the stationarity condition has no solution with z >= 0. The proof is a
// direction of unbounded descent.
static bool multipliers_conflict(const S2Qp *qp, const S2Mixed *p, S2QpSolution *solution,
                                 S2Arena *arena) {
  int n = qp->n, m = p->m, size = s2_mixed_size(p);
  double *left = S2_TAKE(arena, double, (size_t)n *(size_t)p->n + 1);
  double *right = S2_TAKE(arena, double, (size_t)n *(size_t)m + 1);
  double *d = S2_TAKE(arena, double, n + 1);
  // Copy the rows of the stationarity condition, with free (x, y) and z >= 0.
  for (int i = 0; i < n; i++) {
    const double *from = p->k + (size_t)i * (size_t)size;
    s2_copy_numbers(left + (size_t)i * (size_t)p->n, from, (size_t)p->n);
    s2_copy_numbers(right + (size_t)i * (size_t)m, from + p->n, (size_t)m);
  }
  S2Conditions rows = {
      .free = p->n,
      .bounded = m,
      .equations = n,
      .e = left,
      .c = right,
      .e_constant = p->r,
  };
  if (!s2_conditions_conflict(&rows, d, NULL, arena)) {
    return false;
  }
  // The multipliers of these rows are the direction d, with P d = 0, A d = 0, G d <= 0 and q' d <
  // 0.
  if (solution->direction != NULL) {
    s2_copy_numbers(solution->direction, d, (size_t)n);
  }
  return true;
}

// ---- The solve --------------------------------------------------------------------------------

static bool qp_finite(const S2Qp *qp) {
  size_t n = (size_t)qp->n, e = (size_t)qp->equalities, m = (size_t)qp->inequalities;
  bool good = (qp->p == NULL || s2_all_finite(qp->p, n * n)) && s2_all_finite(qp->q, n) &&
              s2_all_finite(qp->a, e * n) && s2_all_finite(qp->b, e) && s2_all_finite(qp->g, m * n);
  for (size_t i = 0; i < m; i++) {
    good = good && (isfinite(qp->h[i]) || qp->h[i] == INFINITY);
  }
  return good;
}

static void qp_deliver(const S2Qp *qp, const S2Mixed *p, const int *row, const double *x, double *f,
                       S2QpSolution *solution) {
  int n = qp->n;
  s2_mixed_apply(p, x, f);
  qp_judge(p, n, x, f, solution);
  s2_copy_numbers(solution->x, x, (size_t)n);
  s2_copy_numbers(solution->y, x + n, (size_t)qp->equalities);
  for (int i = 0; i < p->m; i++) {
    solution->z[row[i]] = x[p->n + i];
  }
  // Compute 1/2 x' P x + q' x.
  solution->objective = 0;
  for (int i = 0; i < n; i++) {
    double slope = qp->q[i];
    for (int j = 0; j < n; j++) {
      slope += qp_curvature(qp, i, j) * x[j] / 2;
    }
    solution->objective += slope * x[i];
  }
}

static bool qp_accepts(const S2QpSolution *solution, double tolerance) {
  return solution->residual <= tolerance &&
         (!(solution->kappa > 0) ||
          solution->complementarity <= s2_mixed_path_tolerance(tolerance, solution->kappa));
}

static S2SolveStatus qp_solve(const S2Qp *qp, const S2Mixed *p, const int *row,
                              const S2QpOptions *options, S2QpSolution *solution, S2Arena *arena) {
  int size = s2_mixed_size(p), most = options->max_iterations;
  double tolerance = options->tolerance > 0 ? options->tolerance : TOLERANCE;
  double *x = S2_TAKE(arena, double, size + 1), *f = S2_TAKE(arena, double, size + 1);
  double *other = S2_TAKE(arena, double, size + 1);
  S2QpSolution tried = {0};
  solution->iterations = s2_mixed_interior(p, solution->kappa, most > 0 ? most : MAX_ITERATIONS,
                                           options->history, x, arena);
  if (!s2_all_finite(x, (size_t)size)) { // numbers are too large for a double
    s2_clear_numbers(x, (size_t)size);
  }
  // Accept the answer of the interior-point method. Otherwise try to prove that there is no
  // solution or that the descent is unbounded.
  qp_deliver(qp, p, row, x, f, solution);
  if (qp_accepts(solution, tolerance)) {
    return S2_SOLVED;
  }
  if (constraints_conflict(qp, p, row, solution, arena)) {
    return S2_INFEASIBLE;
  }
  if (multipliers_conflict(qp, p, solution, arena)) {
    solution->unbounded = true;
    return S2_INFEASIBLE;
  }
  if (solution->kappa > 0) {
    return S2_MAX_ITERATIONS;
  }
  // If both fail, use pivoting, and keep the point with the smaller residual.
  s2_mixed_pivot(p, other, arena);
  if (s2_all_finite(other, (size_t)size)) {
    s2_mixed_finish(p, other, arena);
    s2_mixed_apply(p, other, f);
    qp_judge(p, qp->n, other, f, &tried);
    if (tried.residual < solution->residual) {
      qp_deliver(qp, p, row, other, f, solution);
    }
  }
  return solution->residual <= tolerance ? S2_SOLVED : S2_MAX_ITERATIONS;
}

S2SolveStatus s2_qp_solve(const S2Qp *problem, const S2QpOptions *options, S2Arena *arena,
                          S2QpSolution *solution) {
  static const S2QpOptions defaults = {0};
  options = options != NULL ? options : &defaults;
  int n = problem->n, e = problem->equalities, m = problem->inequalities;
  s2_clear_numbers(solution->x, (size_t)n);
  s2_clear_numbers(solution->y, (size_t)e);
  s2_clear_numbers(solution->z, (size_t)m);
  solution->iterations = 0;
  solution->unbounded = false;
  solution->kappa = fmax(0, options->kappa);
  solution->objective = solution->residual = NAN;
  solution->primal = solution->dual = solution->complementarity = NAN;
  if ((int64_t)n + e + m > S2_MLCP_MAX) {
    return solution->status = S2_UNSUPPORTED;
  }
  if (!qp_finite(problem)) {
    return solution->status = S2_SINGULAR;
  }
  // Refuse nonconvex programs, which no method here can minimise.
  S2ArenaMark mark = s2_arena_mark(arena);
  if (!qp_convex(problem, arena)) {
    solution->status = S2_UNSUPPORTED;
  } else {
    int *row = S2_TAKE(arena, int, m + 1);
    S2Mixed p = qp_make(problem, row, arena);
    solution->status = qp_solve(problem, &p, row, options, solution, arena);
  }
  s2_arena_rewind(arena, mark);
  return solution->status;
}

// ---- Derivatives ------------------------------------------------------------------------------

// Let l = K^-T (dl/dx, dl/dy, dl/dz) on the active set. Changes of the data change the conditions
// by
//   dP x + dq + dA' y + dG' z  and  db - dA x  and  dh - dG x,
// and change the loss by -l' times these changes.
static void qp_pull_back(const S2Qp *qp, const double *x, const double *y, const double *z,
                         const double *lx, const double *ly, const double *lz,
                         const S2QpGradient *to) {
  size_t n = (size_t)qp->n, e = (size_t)qp->equalities, m = (size_t)qp->inequalities;
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; to->p != NULL && i < n; i++) {
      to->p[i * n + j] = 0 - (lx[i] * x[j] + x[i] * lx[j]) / 2; // avoids -0
    }
    for (size_t i = 0; to->a != NULL && i < e; i++) {
      to->a[i * n + j] = ly[i] * x[j] - y[i] * lx[j];
    }
    for (size_t i = 0; to->g != NULL && i < m; i++) {
      to->g[i * n + j] = lz[i] * x[j] - z[i] * lx[j];
    }
    if (to->q != NULL) {
      to->q[j] = 0 - lx[j];
    }
  }
  for (size_t i = 0; to->b != NULL && i < e; i++) {
    to->b[i] = 0 - ly[i];
  }
  for (size_t i = 0; to->h != NULL && i < m; i++) {
    to->h[i] = 0 - lz[i];
  }
}

bool s2_qp_vjp(const S2Qp *problem, const S2QpSolution *solution, const double *dl_dx,
               const double *dl_dy, const double *dl_dz, const S2QpGradient *gradient,
               S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = problem->n, e = problem->equalities, m = problem->inequalities;
  int *row = S2_TAKE(arena, int, m + 1);
  S2Mixed p = qp_make(problem, row, arena);
  int size = s2_mixed_size(&p);
  double *x = S2_TAKE(arena, double, size + 1), *l = S2_TAKE(arena, double, size + 1);
  double *g = S2_TAKE_ZEROED(arena, double, size + 1);
  double *lz = S2_TAKE_ZEROED(arena, double, m + 1);
  // Set up (x, y, z) of the mixed problem, and the derivative g of the loss with respect to it.
  s2_copy_numbers(x, solution->x, (size_t)n);
  s2_copy_numbers(x + n, solution->y, (size_t)e);
  for (int i = 0; i < n && dl_dx != NULL; i++) {
    g[i] = dl_dx[i];
  }
  for (int i = 0; i < e && dl_dy != NULL; i++) {
    g[n + i] = dl_dy[i];
  }
  for (int i = 0; i < p.m; i++) {
    x[p.n + i] = solution->z[row[i]];
    g[p.n + i] = dl_dz != NULL ? dl_dz[row[i]] : 0;
  }
  // Compute l = K^-T g. Rows that impose no condition have no multiplier.
  bool regular = s2_mixed_adjoint(&p, &(S2Bounds){0}, x, solution->kappa, g, l, NULL, NULL, arena);
  for (int i = 0; i < p.m; i++) {
    lz[row[i]] = l[p.n + i];
  }
  qp_pull_back(problem, solution->x, solution->y, solution->z, l, l + n, lz, gradient);
  s2_arena_rewind(arena, mark);
  return regular;
}
