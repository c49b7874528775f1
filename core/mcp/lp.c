#include "mcp/lp.h"

#include "mcp/mlcp.h"
#include "mcp/mlcp_stages.h"

#include <math.h>

static double lower(const S2Lp *lp, int i) {
  return lp->lo != NULL ? lp->lo[i] : -INFINITY;
}

static double upper(const S2Lp *lp, int i) {
  return lp->hi != NULL ? lp->hi[i] : INFINITY;
}

// One more row, sign e_i x.
static void add_bound(double *matrix, double *right, int *count, int n, int i, double sign,
                      double value) {
  double *row = matrix + (size_t)*count * (size_t)n;
  s2_mixed_clear(row, (size_t)n);
  row[i] = sign;
  right[*count] = sign * value;
  *count += 1;
}

// Rows of the program followed by those of its bounds, variable after variable: one equation, or up
// to two inequalities, the lower bound first.
static S2Qp make(const S2Lp *lp, S2Arena *arena) {
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
  s2_mixed_copy(a, lp->a_eq, (size_t)lp->equalities * (size_t)n);
  s2_mixed_copy(b, lp->b_eq, (size_t)lp->equalities);
  s2_mixed_copy(g, lp->a_ub, (size_t)lp->inequalities * (size_t)n);
  s2_mixed_copy(h, lp->b_ub, (size_t)lp->inequalities);
  for (int i = 0; i < n; i++) {
    double lo = lower(lp, i), hi = upper(lp, i);
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

// The multipliers (y, z) of all rows become those of the program and of its bounds.
static void share(const S2Lp *lp, const double *y, const double *z, double *to_y, double *to_z,
                  double *to_lower, double *to_upper) {
  if (to_y != NULL) {
    s2_mixed_copy(to_y, y, (size_t)lp->equalities);
  }
  if (to_z != NULL) {
    s2_mixed_copy(to_z, z, (size_t)lp->inequalities);
  }
  y += lp->equalities;
  z += lp->inequalities;
  for (int i = 0; i < lp->n; i++) {
    double lo = lower(lp, i), hi = upper(lp, i), at_lo = 0, at_hi = 0;
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

static S2SolveStatus refuse(const S2Lp *lp, S2LpSolution *solution) {
  s2_mixed_clear(solution->x, (size_t)lp->n);
  s2_mixed_clear(solution->y, (size_t)lp->equalities);
  s2_mixed_clear(solution->z, (size_t)lp->inequalities);
  s2_mixed_clear(solution->lower, (size_t)lp->n);
  s2_mixed_clear(solution->upper, (size_t)lp->n);
  solution->iterations = 0;
  solution->unbounded = false;
  solution->objective = solution->residual = NAN;
  solution->primal = solution->dual = solution->complementarity = NAN;
  return solution->status = S2_UNSUPPORTED;
}

S2SolveStatus s2_lp_solve(const S2Lp *problem, const S2QpOptions *options, S2Arena *arena,
                          S2LpSolution *solution) {
  int rows =
      problem->equalities > problem->inequalities ? problem->equalities : problem->inequalities;
  if (problem->n > S2_MLCP_MAX || rows > S2_MLCP_MAX) {
    return refuse(problem, solution); // the rows of its bounds need not be written first
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Qp qp = make(problem, arena);
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
  share(problem, qs.y, qs.z, solution->y, solution->z, solution->lower, solution->upper);
  share(problem, proof_y, proof_z, solution->proof_y, solution->proof_z, solution->proof_lower,
        solution->proof_upper);
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
