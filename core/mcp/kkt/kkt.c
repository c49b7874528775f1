#include "mcp/kkt/kkt.h"

#include "linalg/numbers.h"
#include "mcp/kkt/kkt_stages.h"

#include <math.h>
#include <string.h>

static const double TOLERANCE = 1e-9;

// Default limits of the refinement passes, over all regularisations together, and of the steps of
// the iterative methods. In exact arithmetic, an iterative method needs at most one step per
// unknown. With rounding and large mass ratios it needs several.
enum { PASSES = 120, STEPS_PER_UNKNOWN = 10, STEPS_LEAST = 200 };

// The methods aim at this fraction of the tolerance, because the final residual is rounded
// differently.
static const double AIM = 1 - 1e-12;

// W and its transpose may differ by this fraction of sqrt(W_ii W_jj), because W was computed with
// rounding.
static const double ASYMMETRY = 1e-12;

// A unit vector y proves that rows contradict each other if J' y and C y are below this fraction of
// b' y in scaled units. A solution would then be larger than the data by the inverse of this
// fraction.
static const double CONTRADICTION = 1e-8;

// ---- Scaling ----------------------------------------------------------------------------------

static double kkt_compliance(const S2Kkt *kkt, int i) {
  return kkt->compliance != NULL ? kkt->compliance[i] : 0;
}

static bool kkt_is_symmetric(const S2Csr *w, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Csr other = s2_csr_transpose(w, arena);
  double *row = S2_TAKE_ZEROED(arena, double, w->rows);
  bool symmetric = true;
  // Scatter the difference of row i of W and row i of W', then check and clear it.
  for (int i = 0; i < w->rows; i++) {
    for (int32_t p = w->start[i]; p < w->start[i + 1]; p++) {
      row[w->column[p]] += w->value[p];
    }
    for (int32_t p = other.start[i]; p < other.start[i + 1]; p++) {
      row[other.column[p]] -= other.value[p];
    }
    for (int32_t p = w->start[i]; p < w->start[i + 1]; p++) {
      symmetric = symmetric && fabs(row[w->column[p]]) <= ASYMMETRY;
      row[w->column[p]] = 0;
    }
    for (int32_t p = other.start[i]; p < other.start[i + 1]; p++) {
      symmetric = symmetric && fabs(row[other.column[p]]) <= ASYMMETRY;
      row[other.column[p]] = 0;
    }
  }
  s2_arena_rewind(arena, mark);
  return symmetric;
}

static S2Csr scaled_copy(const S2Csr *matrix, const double *row, const double *column,
                         S2Arena *arena) {
  S2Csr copy = *matrix;
  copy.value = S2_TAKE(arena, double, matrix->start[matrix->rows]);
  for (int i = 0; i < matrix->rows; i++) {
    for (int32_t p = matrix->start[i]; p < matrix->start[i + 1]; p++) {
      copy.value[p] = matrix->value[p] * row[i] * column[matrix->column[p]];
    }
  }
  return copy;
}

static void scale_rows(const S2Kkt *from, S2KktScaled *kkt, double scale) {
  for (int i = 0; i < kkt->m; i++) {
    double sum = kkt_compliance(from, i);
    for (int32_t p = from->j.start[i]; p < from->j.start[i + 1]; p++) {
      double entry = from->j.value[p] * kkt->v_unit[from->j.column[p]];
      sum += entry * entry;
    }
    // The sum is zero if no impulse can change the speed of the row.
    kkt->row_unit[i] = sum > 0 ? s2_half_inverse(sum) : 1;
    kkt->compliance[i] = kkt_compliance(from, i) * kkt->row_unit[i] * kkt->row_unit[i];
    kkt->b[i] = from->b[i] * kkt->row_unit[i];
    kkt->row_measure[i] = s2_kkt_weight(from->row_weight, i) / kkt->row_unit[i] / scale;
  }
}

// Scales the system. Returns S2_SOLVED if the scaled system is valid.
static S2SolveStatus kkt_scale(const S2Kkt *from, S2KktScaled *kkt, S2Arena *arena) {
  int n = from->n, m = from->m;
  double size = s2_kkt_velocity_scale(from);
  *kkt = (S2KktScaled){
      .n = n,
      .m = m,
      .compliance = S2_TAKE(arena, double, m),
      .c = S2_TAKE(arena, double, n),
      .b = S2_TAKE(arena, double, m),
      .v_unit = S2_TAKE(arena, double, n),
      .row_unit = S2_TAKE(arena, double, m),
      .v_measure = S2_TAKE(arena, double, n),
      .row_measure = S2_TAKE(arena, double, m),
  };
  // Scale the unknowns by the diagonal of W.
  for (int i = 0; i < n; i++) {
    double d = s2_kkt_diagonal(&from->w, i);
    if (!(d > 0) && !isnan(d)) {
      return S2_UNSUPPORTED;
    }
    kkt->v_unit[i] = s2_half_inverse(d);
    kkt->c[i] = from->c[i] * kkt->v_unit[i];
    kkt->v_measure[i] = s2_kkt_weight(from->v_weight, i) / (d * kkt->v_unit[i]) / size;
  }
  // Then scale the rows by their new lengths.
  scale_rows(from, kkt, size);
  S2Csr w = scaled_copy(&from->w, kkt->v_unit, kkt->v_unit, arena);
  S2Csr j = scaled_copy(&from->j, kkt->row_unit, kkt->v_unit, arena);
  kkt->w = w;
  kkt->j = j;
  // Reject unsupported systems, and numbers that are too large for a double.
  bool sound = s2_all_finite(w.value, (size_t)w.start[n]) &&
               s2_all_finite(j.value, (size_t)j.start[m]) &&
               s2_all_finite(kkt->compliance, (size_t)m) && s2_all_finite(kkt->c, (size_t)n) &&
               s2_all_finite(kkt->b, (size_t)m) && s2_all_finite(kkt->v_measure, (size_t)n) &&
               s2_all_finite(kkt->row_measure, (size_t)m);
  if (!sound) {
    return S2_SINGULAR;
  }
  for (int i = 0; i < m; i++) {
    if (kkt->compliance[i] < 0) {
      return S2_UNSUPPORTED;
    }
  }
  return kkt_is_symmetric(&kkt->w, arena) ? S2_SOLVED : S2_UNSUPPORTED;
}

// ---- Solving ----------------------------------------------------------------------------------

typedef void MethodFn(S2KktRun *run);

static const struct {
  const char *name, *summary;
  MethodFn *solve;
} METHODS[S2_KKT_SOLVER_COUNT] = {
    {"ldl", "L D L' factorisation of the whole system, with rows as nodes of its graph",
     s2_kkt_solve_ldl},
    {"schur", "Cholesky factorisation of J W^-1 J' + C, dense or in blocks", s2_kkt_solve_schur},
    {"cg", "conjugate gradients on J W^-1 J' + C, which is never formed", s2_kkt_solve_cg},
    {"minres", "minimal residual method on the whole system", s2_kkt_solve_minres},
};

const char *s2_kkt_solver_name(S2KktSolver solver) {
  return (unsigned)solver < S2_KKT_SOLVER_COUNT ? METHODS[solver].name : NULL;
}

const char *s2_kkt_solver_summary(S2KktSolver solver) {
  return (unsigned)solver < S2_KKT_SOLVER_COUNT ? METHODS[solver].summary : NULL;
}

// Returns true if the rows provably contradict each other. In that case the best compromise leaves
// row speeds u that no impulse can reduce: J' u = 0, C u = 0 and b' u = u' u. Then y = u is the
// proof. Direct methods supply u. For other methods, this function tries the speeds at the best
// point.
static bool kkt_contradictory(S2KktRun *run, double *proof) {
  const S2KktScaled *kkt = run->kkt;
  s2_kkt_offer(run, run->v, run->lambda);
  // Normalise the vector of the direct method, or the speeds at the best point.
  double *y = run->r_row, *pull = run->r_v, length = 0, along = 0, most = 0, largest = 0;
  if (run->witness != NULL) {
    memcpy(y, run->witness, sizeof(double) * (size_t)kkt->m);
  }
  for (int i = 0; i < kkt->m; i++) {
    length += y[i] * y[i];
  }
  length = sqrt(length);
  if (!(length > 0)) {
    return false;
  }
  // Compare |J' y| and |C y| with b' y, relative to the size of c and b.
  memset(pull, 0, sizeof(double) * (size_t)kkt->n);
  for (int i = 0; i < kkt->m; i++) {
    y[i] /= length;
    along += kkt->b[i] * y[i];
    most = fmax(most, fabs(kkt->compliance[i] * y[i]));
  }
  double side = along < 0 ? -1 : 1;
  along = fabs(along);
  s2_csr_add_transposed_times(&kkt->j, 1, y, pull);
  for (int i = 0; i < kkt->n; i++) {
    most = fmax(most, fabs(pull[i]));
  }
  // A solution would satisfy b' y = -(J' y)' v - (C y)' lambda, so it would be larger than the data
  // by the inverse of CONTRADICTION.
  double size = 0;
  for (int i = 0; i < kkt->n; i++) {
    size = fmax(size, fabs(kkt->c[i]));
  }
  for (int i = 0; i < kkt->m; i++) {
    size = fmax(size, fabs(kkt->b[i]));
    largest = fmax(largest, fabs(y[i] * kkt->row_unit[i]));
  }
  if (!(along > 0 && most * size <= CONTRADICTION * along)) {
    return false;
  }
  // Convert to the caller's units, with b' y > 0.
  for (int i = 0; i < kkt->m && proof != NULL; i++) {
    proof[i] = side * y[i] * kkt->row_unit[i] / largest;
  }
  return true;
}

static S2SolveStatus kkt_run_method(const S2KktScaled *kkt, const S2KktOptions *options,
                                    S2Arena *arena, S2KktSolution *solution) {
  int n = kkt->n, m = kkt->m;
  S2KktRun run = {
      .kkt = kkt,
      .tolerance = AIM * (options->tolerance > 0 ? options->tolerance : TOLERANCE),
      .max_iterations = options->max_iterations,
      .history = options->history,
      .v = S2_TAKE(arena, double, n),
      .lambda = S2_TAKE_ZEROED(arena, double, m),
      .r_v = S2_TAKE(arena, double, n),
      .r_row = S2_TAKE(arena, double, m),
      .best = INFINITY,
      .status = S2_MAX_ITERATIONS,
      .arena = arena,
  };
  // Allow fewer refinement passes than steps of iterative methods, because passes are expensive.
  if (run.max_iterations == 0) {
    bool direct = options->solver == S2_KKT_LDL || options->solver == S2_KKT_SCHUR;
    run.max_iterations = direct ? PASSES : STEPS_LEAST + STEPS_PER_UNKNOWN * (n + m);
  }
  // The first point is lambda = 0.
  s2_kkt_velocity(kkt, run.lambda, run.v, arena);
  s2_kkt_offer(&run, run.v, run.lambda);
  if (!s2_kkt_done(&run)) {
    METHODS[options->solver].solve(&run);
    // Recompute v from the impulses, which balances the momentum to the last digit. Keep this v
    // unless it has a larger residual.
    double *balanced = S2_TAKE(arena, double, n);
    s2_kkt_velocity(kkt, run.lambda, balanced, arena);
    s2_kkt_offer(&run, balanced, run.lambda);
  }
  // Convert to the caller's units.
  for (int i = 0; i < n; i++) {
    solution->v[i] = run.v[i] * kkt->v_unit[i];
  }
  for (int i = 0; i < m; i++) {
    solution->lambda[i] = run.lambda[i] * kkt->row_unit[i];
  }
  solution->iterations = run.iterations;
  if (!s2_kkt_done(&run) && kkt_contradictory(&run, solution->proof)) {
    return S2_INFEASIBLE;
  }
  return run.status;
}

S2SolveStatus s2_kkt_solve(const S2Kkt *kkt, const S2KktOptions *options, S2Arena *arena,
                           S2KktSolution *solution) {
  static const S2KktOptions defaults = {0};
  S2ArenaMark mark = s2_arena_mark(arena);
  S2KktScaled scaled;
  options = options != NULL ? options : &defaults;
  memset(solution->v, 0, sizeof(double) * (size_t)kkt->n);
  memset(solution->lambda, 0, sizeof(double) * (size_t)kkt->m);
  solution->iterations = 0;
  // Scale the system, divide it into blocks, and run the method. If the result is not finite,
  // return zeros.
  solution->status = kkt_scale(kkt, &scaled, arena);
  if (solution->status == S2_SOLVED) {
    solution->status = s2_kkt_prepare(&scaled, arena);
  }
  bool taken = solution->status == S2_SOLVED;
  if (taken) {
    solution->status = kkt_run_method(&scaled, options, arena, solution);
    if (!s2_all_finite(solution->v, (size_t)kkt->n) ||
        !s2_all_finite(solution->lambda, (size_t)kkt->m)) {
      memset(solution->v, 0, sizeof(double) * (size_t)kkt->n);
      memset(solution->lambda, 0, sizeof(double) * (size_t)kkt->m);
      solution->status = S2_SINGULAR;
    }
  }
  // The residual in the caller's units decides.
  s2_arena_rewind(arena, mark);
  solution->residual = s2_kkt_residual(kkt, solution->v, solution->lambda, arena);
  double tolerance = options->tolerance > 0 ? options->tolerance : TOLERANCE;
  if (taken && solution->residual <= tolerance) {
    solution->status = S2_SOLVED;
  } else if (solution->status == S2_SOLVED) {
    solution->status = S2_MAX_ITERATIONS;
  }
  return solution->status;
}
