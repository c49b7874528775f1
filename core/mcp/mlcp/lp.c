#include "mcp/mlcp/lp.h"

#include "mcp/mixed/mixed.h"
#include "mcp/mlcp/mlcp.h"

#include <math.h>

static double lp_lower(const S2Lp *lp, int i) {
  return lp->lo != NULL ? lp->lo[i] : -INFINITY;
}

static double lp_upper(const S2Lp *lp, int i) {
  return lp->hi != NULL ? lp->hi[i] : INFINITY;
}

// Adds the row sign * x_i with the right side sign * value.
static void add_bound(double *matrix, double *right, int *count, int n, int i, double sign,
                      double value) {
  double *row = matrix + (size_t)*count * (size_t)n;
  s2_clear_numbers(row, (size_t)n);
  row[i] = sign;
  right[*count] = sign * value;
  *count += 1;
}

// Builds the equivalent quadratic program. The rows of the linear program come first, followed by
// the bounds of each variable in turn. The bounds become one equation, or up to two inequalities
// with the lower bound first.
static S2Qp lp_make(const S2Lp *lp, S2Arena *arena) {
  int n = lp->n;
  size_t e = (size_t)lp->equalities + (size_t)n;
  size_t m = (size_t)lp->inequalities + 2 * (size_t)n;
  double *a = S2_TAKE(arena, double, e *(size_t)n + 1), *b = S2_TAKE(arena, double, e + 1);
  double *g = S2_TAKE(arena, double, m *(size_t)n + 1), *h = S2_TAKE(arena, double, m + 1);
  S2Qp qp = {.n = n,
             .equalities = lp->equalities,
             .inequalities = lp->inequalities,
             .q = lp->c,
             .a = a,
             .b = b,
             .g = g,
             .h = h};
  // Copy the rows of the program.
  s2_copy_numbers(a, lp->a_eq, (size_t)lp->equalities * (size_t)n);
  s2_copy_numbers(b, lp->b_eq, (size_t)lp->equalities);
  s2_copy_numbers(g, lp->a_ub, (size_t)lp->inequalities * (size_t)n);
  s2_copy_numbers(h, lp->b_ub, (size_t)lp->inequalities);
  // Add the rows of the bounds of each variable in turn.
  for (int i = 0; i < n; i++) {
    double lo = lp_lower(lp, i), hi = lp_upper(lp, i);
    if (lo == hi) {
      add_bound(a, b, &qp.equalities, n, i, 1, lo);
      continue;
    }
    if (lo != -INFINITY) {
      add_bound(g, h, &qp.inequalities, n, i, -1, lo);
    }
    if (hi != INFINITY) {
      add_bound(g, h, &qp.inequalities, n, i, 1, hi);
    }
  }
  return qp;
}

// Splits the multipliers (y, z) of all rows into multipliers of the program's own rows and of its
// bounds.
static void lp_share(const S2Lp *lp, const double *y, const double *z, double *to_y, double *to_z,
                     double *to_lower, double *to_upper) {
  if (to_y != NULL) {
    s2_copy_numbers(to_y, y, (size_t)lp->equalities);
  }
  if (to_z != NULL) {
    s2_copy_numbers(to_z, z, (size_t)lp->inequalities);
  }
  // A fixed unknown has one multiplier. If it is positive, it belongs to the upper bound, else to
  // the lower bound.
  y += lp->equalities;
  z += lp->inequalities;
  for (int i = 0; i < lp->n; i++) {
    double lo = lp_lower(lp, i), hi = lp_upper(lp, i), at_lo = 0, at_hi = 0;
    if (lo == hi) {
      at_lo = fmax(-*y, 0);
      at_hi = fmax(*y++, 0);
    } else {
      at_lo = lo != -INFINITY ? *z++ : 0;
      at_hi = hi != INFINITY ? *z++ : 0;
    }
    if (to_lower != NULL) {
      to_lower[i] = at_lo;
    }
    if (to_upper != NULL) {
      to_upper[i] = at_hi;
    }
  }
}

static S2SolveStatus lp_refuse(const S2Lp *lp, S2LpSolution *solution) {
  s2_clear_numbers(solution->x, (size_t)lp->n);
  s2_clear_numbers(solution->y, (size_t)lp->equalities);
  s2_clear_numbers(solution->z, (size_t)lp->inequalities);
  s2_clear_numbers(solution->lower, (size_t)lp->n);
  s2_clear_numbers(solution->upper, (size_t)lp->n);
  solution->iterations = 0;
  solution->unbounded = false;
  solution->kappa = 0;
  solution->objective = solution->residual = NAN;
  solution->primal = solution->dual = solution->complementarity = NAN;
  return solution->status = S2_UNSUPPORTED;
}

S2SolveStatus s2_lp_solve(const S2Lp *problem, const S2QpOptions *options, S2Arena *arena,
                          S2LpSolution *solution) {
  int rows =
      problem->equalities > problem->inequalities ? problem->equalities : problem->inequalities;
  if (problem->n > S2_MLCP_MAX || rows > S2_MLCP_MAX) {
    return lp_refuse(problem, solution); // reject it before the rows of bounds are written
  }
  // Solve a quadratic program without a quadratic term, where bounds are rows.
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Qp qp = lp_make(problem, arena);
  size_t e = (size_t)qp.equalities, m = (size_t)qp.inequalities;
  double *proof_y = S2_TAKE_ZEROED(arena, double, e + 1);
  double *proof_z = S2_TAKE_ZEROED(arena, double, m + 1);
  S2QpSolution qs = {
      .x = solution->x,
      .y = S2_TAKE(arena, double, e + 1),
      .z = S2_TAKE(arena, double, m + 1),
      .proof_y = proof_y,
      .proof_z = proof_z,
      .direction = solution->direction,
  };
  solution->status = s2_qp_solve(&qp, options, arena, &qs);
  // Convert multipliers and proofs to the rows and bounds of the linear program.
  lp_share(problem, qs.y, qs.z, solution->y, solution->z, solution->lower, solution->upper);
  lp_share(problem, proof_y, proof_z, solution->proof_y, solution->proof_z, solution->proof_lower,
           solution->proof_upper);
  solution->kappa = qs.kappa;
  solution->unbounded = qs.unbounded;
  solution->iterations = qs.iterations;
  solution->objective = qs.objective;
  solution->primal = qs.primal;
  solution->dual = qs.dual;
  solution->complementarity = qs.complementarity;
  solution->residual = qs.residual;
  s2_arena_rewind(arena, mark);
  return solution->status;
}

// ---- Derivatives ------------------------------------------------------------------------------

static double lp_entry(const double *list, int i) {
  return list != NULL ? list[i] : 0;
}

// Collects the multipliers of the rows and bounds, or the derivatives of the loss with respect to
// them, in the order of lp_make. A fixed unknown has two multipliers, and its equation takes the
// one that is not 0 at the solution.
static void lp_gather(const S2Lp *lp, const S2LpLoss *from, const S2LpSolution *side, double *y,
                      double *z) {
  if (from->y != NULL) {
    s2_copy_numbers(y, from->y, (size_t)lp->equalities);
  }
  if (from->z != NULL) {
    s2_copy_numbers(z, from->z, (size_t)lp->inequalities);
  }
  y += lp->equalities;
  z += lp->inequalities;
  // Collect the rows of bounds in the order of lp_make.
  for (int i = 0; i < lp->n; i++) {
    double lo = lp_lower(lp, i), hi = lp_upper(lp, i);
    double at_lo = lp_entry(from->lower, i), at_hi = lp_entry(from->upper, i);
    if (lo == hi) {
      *y++ =
          (lp_entry(side->upper, i) > 0 ? at_hi : 0) - (lp_entry(side->lower, i) > 0 ? at_lo : 0);
      continue;
    }
    if (lo != -INFINITY) {
      *z++ = at_lo;
    }
    if (hi != INFINITY) {
      *z++ = at_hi;
    }
  }
}

static void share_bounds(const S2Lp *lp, const double *b, const double *h,
                         const S2LpGradient *gradient) {
  b += lp->equalities;
  h += lp->inequalities;
  for (int i = 0; i < lp->n; i++) {
    double lo = lp_lower(lp, i), hi = lp_upper(lp, i), to_lo = 0, to_hi = 0;
    if (lo == hi) {
      to_lo = to_hi = *b++ / 2;
    } else {
      to_lo = lo != -INFINITY ? 0 - *h++ : 0;
      to_hi = hi != INFINITY ? *h++ : 0;
    }
    if (gradient->lo != NULL) {
      gradient->lo[i] = to_lo;
    }
    if (gradient->hi != NULL) {
      gradient->hi[i] = to_hi;
    }
  }
}

// Returns true if the loss has a derivative. If the loss depends on the multipliers of a fixed
// unknown, one of these must not be 0.
static bool has_sides(const S2Lp *lp, const S2LpLoss *loss, const S2LpSolution *solution) {
  for (int i = 0; i < lp->n; i++) {
    bool asked = lp_entry(loss->lower, i) != 0 || lp_entry(loss->upper, i) != 0;
    if (asked && lp_lower(lp, i) == lp_upper(lp, i) && solution->lower[i] == 0 &&
        solution->upper[i] == 0) {
      return false;
    }
  }
  return true;
}

static void copy_if(double *to, const double *from, int count) {
  if (to != NULL) {
    s2_copy_numbers(to, from, (size_t)count);
  }
}

bool s2_lp_vjp(const S2Lp *problem, const S2LpSolution *solution, const S2LpLoss *loss,
               const S2LpGradient *gradient, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Qp qp = lp_make(problem, arena);
  size_t n = (size_t)qp.n, e = (size_t)qp.equalities, m = (size_t)qp.inequalities;
  double *y = S2_TAKE(arena, double, e + 1), *z = S2_TAKE(arena, double, m + 1);
  double *dl_dy = S2_TAKE_ZEROED(arena, double, e + 1);
  double *dl_dz = S2_TAKE_ZEROED(arena, double, m + 1);
  // Differentiate the equivalent quadratic program.
  S2QpGradient all = {.q = gradient->c,
                      .a = S2_TAKE(arena, double, e *n + 1),
                      .b = S2_TAKE(arena, double, e + 1),
                      .g = S2_TAKE(arena, double, m *n + 1),
                      .h = S2_TAKE(arena, double, m + 1)};
  S2LpLoss multipliers = {
      .y = solution->y, .z = solution->z, .lower = solution->lower, .upper = solution->upper};
  lp_gather(problem, &multipliers, solution, y, z);
  lp_gather(problem, loss, solution, dl_dy, dl_dz);
  S2QpSolution at = {.x = solution->x, .y = y, .z = z, .kappa = solution->kappa};
  bool regular = s2_qp_vjp(&qp, &at, loss->x, dl_dy, dl_dz, &all, arena);
  // Copy the derivatives for the rows of the program. The rows of bounds give the derivatives for
  // lo and hi.
  copy_if(gradient->a_eq, all.a, problem->equalities * problem->n);
  copy_if(gradient->b_eq, all.b, problem->equalities);
  copy_if(gradient->a_ub, all.g, problem->inequalities * problem->n);
  copy_if(gradient->b_ub, all.h, problem->inequalities);
  share_bounds(problem, all.b, all.h, gradient);
  s2_arena_rewind(arena, mark);
  return regular && has_sides(problem, loss, solution);
}
