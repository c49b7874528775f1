#include "mcp/mlcp/mlcp.h"

#include "mcp/mixed/mixed.h"
#include "mcp/mlcp/mlcp_pivot.h"

#include <math.h>
#include <string.h>

static const double TOLERANCE = 1e-9;

enum { MAX_ITERATIONS = 100 };

// ---- The problem as one matrix ----------------------------------------------------------------

static S2Mixed mlcp_make(const S2Mlcp *problem, S2Arena *arena) {
  size_t n = (size_t)problem->n, m = (size_t)problem->m, size = n + m;
  S2Mixed p = {problem->n, problem->m, S2_TAKE(arena, double, size *size + 1),
               S2_TAKE(arena, double, size + 1)};
  // K = [A C; D B], r = (a, b).
  for (size_t i = 0; i < size; i++) {
    bool is_free = i < n;
    size_t row = is_free ? i : i - n;
    const double *left = is_free ? problem->a_uu : problem->d_vu;
    const double *right = is_free ? problem->c_uv : problem->b_vv;
    for (size_t j = 0; j < n; j++) {
      p.k[i * size + j] = left[row * n + j];
    }
    for (size_t j = 0; j < m; j++) {
      p.k[i * size + n + j] = right[row * m + j];
    }
    p.r[i] = is_free ? problem->a_free[row] : problem->b_row[row];
  }
  return p;
}

static S2Bounds bounds_of(const S2Mlcp *problem) {
  return (S2Bounds){problem->lo, problem->hi};
}

// ---- Solving ----------------------------------------------------------------------------------

typedef struct Run {
  S2Mixed p;
  S2Bounds bounds;
  S2Box box;
  // Vectors for p: x is the best point, f is K x + r, and trial is a candidate.
  double *x, *f, *trial;
  double *inner; // of box.p
  double residual, kappa;
  double scale;        // max(1, max |r|)
  double r_vio, b_vio; // violations at the best point, as in S2MlcpSolution
} Run;

// Returns the largest error of a row, in the unit of this row. The error of a pair is w or the
// distance from the bound, whichever is smaller.
static double mlcp_measure(const Run *run, const double *x, const double *f) {
  const S2Mixed *p = &run->p;
  int n = p->n, size = s2_mixed_size(p);
  if (!s2_all_finite(x, (size_t)size) || !s2_all_finite(f, (size_t)size)) {
    return NAN;
  }
  double residual = 0;
  // The error of an equation is its row. The error of a pair is the distance from w = 0 or from the
  // bound, whichever is smaller.
  for (int i = 0; i < size; i++) {
    double unit = s2_mixed_row_unit(p, x, i, run->scale), miss = f[i] == 0 ? 0 : fabs(f[i]) / unit;
    if (i >= n) {
      double lo = s2_bounds_lo(&run->bounds, i - n), hi = s2_bounds_hi(&run->bounds, i - n);
      double size_of_x = fmax(1, fabs(x[i]));
      miss = s2_mixed_pair_miss(x[i], f[i], lo, hi, size_of_x, unit);
    }
    residual = fmax(residual, miss);
  }
  return residual;
}

// Returns the largest |w_i| times the distance of v_i from the bound that it should have reached.
static double mlcp_products(const Run *run, const double *x, const double *f) {
  double largest = 0;
  for (int i = 0; i < run->p.m; i++) {
    double w = f[run->p.n + i], v = x[run->p.n + i];
    double below = v - s2_bounds_lo(&run->bounds, i), above = s2_bounds_hi(&run->bounds, i) - v;
    // Use the bound that the sign of w indicates, or the other bound if this bound is infinite.
    double right = w > 0 ? below : above, distance = isfinite(right) ? right : fmin(below, above);
    largest = fmax(largest, isfinite(distance) ? fabs(distance * w) : fabs(w));
  }
  return largest;
}

static void mlcp_offer(Run *run, double residual, double r_vio, double b_vio) {
  if (residual < run->residual || isnan(run->residual)) {
    run->residual = residual;
    run->r_vio = r_vio;
    run->b_vio = b_vio;
    s2_copy_numbers(run->x, run->trial, (size_t)s2_mixed_size(&run->p));
  }
}

// Keeps the point in `inner` if it is the best so far.
static void mlcp_consider(Run *run, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  const S2Mixed *p = &run->p, *q = &run->box.p;
  // Convert the point to the caller's unknowns, and compute its residual there.
  s2_box_point(&run->box, &run->bounds, run->inner, run->trial);
  s2_mixed_apply(p, run->trial, run->f);
  double residual = mlcp_measure(run, run->trial, run->f),
         b_vio = mlcp_products(run, run->trial, run->f);
  double r_vio = s2_largest(run->f, (size_t)p->n);
  // With kappa, use the residuals of the inner problem instead, in which every pair has x_i w_i =
  // kappa.
  if (run->kappa > 0 && isfinite(residual)) {
    double *f = S2_TAKE(arena, double, s2_mixed_size(q) + 1);
    s2_mixed_apply(q, run->inner, f);
    b_vio = s2_mixed_off_path(q, run->inner, f, run->kappa);
    r_vio = s2_largest(f, (size_t)q->n);
    residual = fmax(r_vio, b_vio);
  }
  mlcp_offer(run, residual, r_vio, b_vio);
  s2_arena_rewind(arena, mark);
}

// Runs the active-set walk from the best point on the original problem.
static void consider_walk(Run *run, S2Arena *arena) {
  s2_copy_numbers(run->trial, run->x, (size_t)s2_mixed_size(&run->p));
  if (run->kappa == 0 && s2_mixed_walk(&run->p, &run->bounds, run->trial, arena)) {
    s2_mixed_apply(&run->p, run->trial, run->f);
    mlcp_offer(run, mlcp_measure(run, run->trial, run->f), s2_largest(run->f, (size_t)run->p.n),
               mlcp_products(run, run->trial, run->f));
  }
}

static bool mlcp_accepts(const Run *run, double tolerance) {
  if (run->kappa > 0) {
    return run->r_vio <= tolerance * run->scale &&
           run->b_vio <= s2_mixed_path_tolerance(tolerance, run->kappa);
  }
  return run->residual <= tolerance;
}

static void copy_block(double *to, const S2Mixed *p, int row, int rows, int column, int columns) {
  for (int i = 0; i < rows; i++) {
    s2_copy_numbers(to + (size_t)i * (size_t)columns,
                    p->k + (size_t)(row + i) * (size_t)s2_mixed_size(p) + column, (size_t)columns);
  }
}

static bool mlcp_prove(const Run *run, S2MlcpSolution *solution, S2Arena *arena) {
  const S2Mixed *p = &run->box.p;
  int n = p->n, m = p->m, size = n + m;
  double *left = S2_TAKE(arena, double, (size_t)size *(size_t)n + 1);
  double *right = S2_TAKE(arena, double, (size_t)size *(size_t)m + 1);
  // Write the rows of the inner problem as linear conditions on u and v >= 0.
  copy_block(left, p, 0, size, 0, n);
  copy_block(right, p, 0, size, n, m);
  S2Conditions conditions = {
      .free = n,
      .bounded = m,
      .equations = n,
      .inequalities = m,
      .e = left,
      .c = right,
      .d = left + (size_t)n * (size_t)n,
      .b = right + (size_t)n * (size_t)m,
      .e_constant = p->r,
      .d_constant = p->r + n,
  };
  double *e = S2_TAKE(arena, double, n + 1), *t = S2_TAKE(arena, double, m + 1);
  if (!s2_conditions_conflict(&conditions, e, t, arena)) {
    return false;
  }
  // Convert the proof to multipliers of the rows of the caller.
  double *proof = S2_TAKE(arena, double, s2_mixed_size(&run->p) + 1);
  s2_box_proof(&run->box, &run->bounds, e, t, proof);
  if (solution->proof_free != NULL) {
    s2_copy_numbers(solution->proof_free, proof, (size_t)run->p.n);
  }
  if (solution->proof_row != NULL) {
    s2_copy_numbers(solution->proof_row, proof + run->p.n, (size_t)run->p.m);
  }
  return true;
}

static S2SolveStatus mlcp_solve(Run *run, const S2MlcpOptions *options, S2MlcpSolution *solution,
                                S2Arena *arena) {
  const S2Mixed *p = &run->box.p;
  int most = options->max_iterations > 0 ? options->max_iterations : MAX_ITERATIONS;
  double tolerance = options->tolerance > 0 ? options->tolerance : TOLERANCE;
  // Run the interior-point method, then a walk through active sets from its result.
  solution->iterations =
      s2_mixed_interior(p, run->kappa, most, options->history, run->inner, arena);
  mlcp_consider(run, arena);
  if (!mlcp_accepts(run, tolerance)) {
    consider_walk(run, arena);
  }
  if (mlcp_accepts(run, tolerance)) {
    return S2_SOLVED;
  }
  // The problem is not solved. Try to prove that there is no solution. Otherwise use pivoting,
  // which does not require a monotone problem.
  if (mlcp_prove(run, solution, arena)) {
    return S2_INFEASIBLE;
  }
  S2SolveStatus status = s2_mixed_pivot(p, run->inner, arena);
  // Consider the point as it is, then after the equations of its active set are solved.
  if (s2_all_finite(run->inner, (size_t)s2_mixed_size(p))) {
    if (run->kappa == 0) {
      mlcp_consider(run, arena);
    }
    s2_mixed_finish(p, run->inner, arena);
    if (run->kappa > 0) {
      solution->iterations +=
          s2_mixed_path_near(p, run->kappa, most, options->history, run->inner, arena);
    }
    mlcp_consider(run, arena);
  }
  if (mlcp_accepts(run, tolerance)) {
    return S2_SOLVED;
  }
  return status == S2_RAY && run->kappa == 0 ? S2_RAY : S2_MAX_ITERATIONS;
}

static void mlcp_deliver(Run *run, S2MlcpSolution *solution) {
  int n = run->p.n, m = run->p.m;
  s2_mixed_apply(&run->p, run->x, run->f);
  s2_copy_numbers(solution->u, run->x, (size_t)n);
  s2_copy_numbers(solution->v, run->x + n, (size_t)m);
  s2_copy_numbers(solution->w, run->f + n, (size_t)m);
  solution->residual = run->residual;
  solution->r_vio = run->r_vio;
  solution->b_vio = run->b_vio;
}

// Returns S2_SOLVED if the bounds are valid.
static S2SolveStatus check_bounds(const S2Mlcp *problem) {
  S2Bounds bounds = bounds_of(problem);
  S2SolveStatus status = S2_SOLVED;
  for (int i = 0; i < problem->m; i++) {
    double lo = s2_bounds_lo(&bounds, i), hi = s2_bounds_hi(&bounds, i);
    if (isnan(lo) || isnan(hi) || lo == INFINITY || hi == -INFINITY) {
      return S2_SINGULAR;
    }
    status = lo > hi ? S2_INFEASIBLE : status;
  }
  return status;
}

static void mlcp_clear(const S2Mlcp *problem, S2MlcpSolution *solution) {
  size_t n = (size_t)problem->n, m = (size_t)problem->m;
  s2_clear_numbers(solution->u, n);
  s2_clear_numbers(solution->v, m);
  s2_clear_numbers(solution->w, m);
  if (solution->proof_free != NULL) {
    s2_clear_numbers(solution->proof_free, n);
  }
  if (solution->proof_row != NULL) {
    s2_clear_numbers(solution->proof_row, m);
  }
  solution->iterations = 0;
  solution->kappa = 0;
  solution->residual = solution->r_vio = solution->b_vio = NAN;
}

S2SolveStatus s2_mlcp_solve(const S2Mlcp *problem, const S2MlcpOptions *options, S2Arena *arena,
                            S2MlcpSolution *solution) {
  static const S2MlcpOptions defaults = {0};
  options = options != NULL ? options : &defaults;
  int n = problem->n, m = problem->m;
  // Reject problems that are too large, have no point within their bounds, or are not finite.
  mlcp_clear(problem, solution);
  if (n > S2_MLCP_MAX - m) {
    return solution->status = S2_UNSUPPORTED;
  }
  solution->status = check_bounds(problem);
  if (solution->status != S2_SOLVED) {
    return solution->status;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  size_t size = (size_t)n + (size_t)m;
  Run run = {.p = mlcp_make(problem, arena), .bounds = bounds_of(problem), .residual = NAN};
  if (!s2_all_finite(run.p.k, size * size) || !s2_all_finite(run.p.r, size)) {
    s2_arena_rewind(arena, mark);
    return solution->status = S2_SINGULAR;
  }
  // Convert to bounds at 0 (mixed_box.c), and use zeros for all its unknowns as the first
  // candidate.
  run.scale = fmax(1, s2_largest(run.p.r, size));
  run.box = s2_box_make(&run.p, &run.bounds, arena);
  run.kappa = solution->kappa = fmax(0, options->kappa);
  run.x = S2_TAKE_ZEROED(arena, double, size + 1);
  run.f = S2_TAKE(arena, double, size + 1);
  run.trial = S2_TAKE(arena, double, size + 1);
  run.inner = S2_TAKE_ZEROED(arena, double, s2_mixed_size(&run.box.p) + 1);
  mlcp_consider(&run, arena);
  solution->status = mlcp_solve(&run, options, solution, arena);
  mlcp_deliver(&run, solution);
  s2_arena_rewind(arena, mark);
  return solution->status;
}

// ---- Derivatives ------------------------------------------------------------------------------

// Let l = K^-T (dl/du, dl/dv) on the active set. A change dK, dr of the data changes the loss by
// -l' (dK x + dr).
static void mlcp_outer(double *to, const double *l, int rows, const double *x, int columns) {
  for (int i = 0; to != NULL && i < rows; i++) {
    for (int j = 0; j < columns; j++) {
      to[(size_t)i * (size_t)columns + (size_t)j] = 0 - l[i] * x[j]; // avoids -0
    }
  }
}

static void mlcp_negate(double *to, const double *l, int count) {
  for (int i = 0; to != NULL && i < count; i++) {
    to[i] = 0 - l[i];
  }
}

bool s2_mlcp_vjp(const S2Mlcp *problem, const S2MlcpSolution *solution, const double *dl_du,
                 const double *dl_dv, const S2MlcpGradient *gradient, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = problem->n, m = problem->m;
  S2Mixed p = mlcp_make(problem, arena);
  S2Bounds bounds = bounds_of(problem);
  // Compute l = K^-T dl/dx on the active set, or along the path.
  double *x = S2_TAKE(arena, double, n + m + 1), *l = S2_TAKE(arena, double, n + m + 1);
  double *g = S2_TAKE_ZEROED(arena, double, n + m + 1);
  s2_copy_numbers(x, solution->u, (size_t)n);
  s2_copy_numbers(x + n, solution->v, (size_t)m);
  if (dl_du != NULL) {
    s2_copy_numbers(g, dl_du, (size_t)n);
  }
  if (dl_dv != NULL) {
    s2_copy_numbers(g + n, dl_dv, (size_t)m);
  }
  bool regular =
      s2_mixed_adjoint(&p, &bounds, x, solution->kappa, g, l, gradient->lo, gradient->hi, arena);
  // Write dl/dK = -l x' and dl/dr = -l, block by block.
  mlcp_outer(gradient->a_uu, l, n, solution->u, n);
  mlcp_outer(gradient->c_uv, l, n, solution->v, m);
  mlcp_outer(gradient->d_vu, l + n, m, solution->u, n);
  mlcp_outer(gradient->b_vv, l + n, m, solution->v, m);
  mlcp_negate(gradient->a_free, l, n);
  mlcp_negate(gradient->b_row, l + n, m);
  s2_arena_rewind(arena, mark);
  return regular;
}
