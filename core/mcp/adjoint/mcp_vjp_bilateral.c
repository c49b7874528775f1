// The adjoint of a problem that has only bilateral rows: an island of joints. It uses the
// factorisation of the solver:
//
//     (J W^-1 J' + C) eta = -(dl/dlambda + J W^-1 dl/dv),    p = W^-1 (dl/dv + J' eta)
//
// (mcp_vjp.c defines p and eta.) Rows that are nearly dependent only because of the masses are
// solved in mcp_vjp_exact.c. Rows that are exactly or nearly linearly dependent are left to the
// general method.
#include "linalg/numbers.h"
#include "mcp/adjoint/mcp_vjp_stages.h"
#include "mcp/chain/bilateral.h"
#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

// Smallest number of rows for this method. With fewer rows, dense elimination is faster than
// ordering a graph.
enum { LEAST = 12 };
// Corrections continue while each of them leaves less than GAIN of the last residual. Residuals up
// to ROUNDING are not improved, and residuals up to ACCEPT are accepted, both relative to the right
// side.
enum { CORRECTIONS = 4 };
static const double GAIN = 0.5, ROUNDING = 1e-14, ACCEPT = 1e-9;

typedef struct Adjoint {
  const S2Problem *problem;
  const double *dl_dv, *dl_dlambda; // NULL: 0
  double *p;                        // 3 numbers per node
  double *eta, *change;             // per row
} Adjoint;

static void find_p(const Adjoint *a) {
  const S2Problem *problem = a->problem;
  size_t size = sizeof(double) * 3 * (size_t)problem->nodes;
  if (a->dl_dv != NULL) {
    memcpy(a->p, a->dl_dv, size);
  } else {
    memset(a->p, 0, size);
  }
  // p = W^-1 (dl/dv + J' eta)
  for (int r = 0; r < problem->rows; r++) {
    const S2Row *row = &problem->row[r];
    for (int c = 0; c < 3; c++) {
      if (row->a >= 0) {
        a->p[3 * row->a + c] += row->ja[c] * a->eta[r];
      }
      if (row->b >= 0) {
        a->p[3 * row->b + c] += row->jb[c] * a->eta[r];
      }
    }
  }
  for (int i = 0; i < 3 * problem->nodes; i++) {
    a->p[i] /= problem->mass[i];
  }
}

// Writes the residual of the rows at this p to `change` and returns its largest entry. `whole`
// receives the largest sum of the magnitudes of its terms. Both are divided by the square roots of
// the rows' diagonals.
static double vjp_bilateral_miss(const Adjoint *a, const double *diagonal, double *whole) {
  double worst = 0;
  *whole = 0;
  for (int r = 0; r < a->problem->rows; r++) {
    const S2Row *row = &a->problem->row[r];
    double terms[7] = {a->dl_dlambda != NULL ? a->dl_dlambda[r] : 0}, sum, size;
    for (int c = 0; c < 3; c++) {
      terms[1 + c] = row->a >= 0 ? row->ja[c] * a->p[3 * row->a + c] : 0;
      terms[4 + c] = row->b >= 0 ? row->jb[c] * a->p[3 * row->b + c] : 0;
    }
    // Add each term and its magnitude. The magnitudes bound the rounding error of the sum.
    sum = row->compliance * a->eta[r];
    size = fabs(sum);
    for (int k = 0; k < 7; k++) {
      sum += terms[k];
      size += fabs(terms[k]);
    }
    double scale = 1 / sqrt(diagonal[r]);
    a->change[r] = sum;
    worst = fabs(sum) * scale <= worst ? worst : fabs(sum) * scale; // propagates NaN
    *whole = fmax(*whole, size * scale);
  }
  return worst;
}

static bool vjp_bilateral_solve(const Adjoint *a, const S2Bilateral *matrix) {
  double last = INFINITY, missed, whole;
  memset(a->eta, 0, sizeof(double) * (size_t)a->problem->rows);
  find_p(a);
  missed = vjp_bilateral_miss(a, matrix->diagonal, &whole);
  // eta -= S^-1 (J p + C eta + dl/dlambda)
  for (int i = 0; i < CORRECTIONS && missed > ROUNDING * whole && missed < GAIN * last; i++) {
    last = missed;
    s2_bilateral_apply(matrix, a->change);
    for (int r = 0; r < a->problem->rows; r++) {
      a->eta[r] -= a->change[r];
    }
    find_p(a);
    missed = vjp_bilateral_miss(a, matrix->diagonal, &whole);
  }
  return missed <= ACCEPT * whole;
}

// Solves the same equations if pivots are small, provided that the rows are nearly dependent only
// because of the masses.
static bool vjp_bilateral_solve_exact(const Adjoint *a, S2Arena *arena) {
  const S2Problem *problem = a->problem;
  const S2Row **row = S2_TAKE(arena, const S2Row *, problem->rows);
  for (int r = 0; r < problem->rows; r++) {
    row[r] = &problem->row[r];
    a->change[r] = a->dl_dlambda != NULL ? a->dl_dlambda[r] : 0;
  }
  S2VjpHeld held = {problem, problem->rows, row, a->dl_dv, a->change};
  return s2_vjp_exact_solve(&held, a->p, a->eta, arena);
}

static void vjp_bilateral_write(const Adjoint *a, const double *v, const double *lambda,
                                const S2McpGradient *to) {
  const S2Problem *problem = a->problem;
  s2_vjp_write_bodies(problem, a->p, v, to);
  for (int r = 0; r < problem->rows; r++) {
    s2_vjp_write_products(problem, r, a->p, v, a->eta[r], lambda[r], to);
  }
  s2_fill_numbers(to->mu, problem->rows, 0);
  s2_fill_numbers(to->lo, problem->rows, 0);
  s2_fill_numbers(to->hi, problem->rows, 0);
  s2_fill_numbers(to->w, problem->rows, 0);
}

bool s2_mcp_vjp_bilateral(const S2Problem *problem, const double *v, const double *lambda,
                          const double *dl_dv, const double *dl_dlambda,
                          const S2McpGradient *gradient, S2Arena *arena) {
  if (problem->rows < LEAST || !s2_all_finite(v, 3 * (size_t)problem->nodes) ||
      !s2_all_finite(lambda, (size_t)problem->rows)) {
    return false;
  }
  // Accept the factor only if elimination leaves a clear fraction of each row's diagonal.
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Bilateral matrix;
  bool good = s2_bilateral_init(&matrix, problem, arena);
  if (good) {
    bool clear = s2_bilateral_factor(&matrix, NULL) &&
                 s2_bilateral_least_pivot(&matrix) > S2_VJP_INDEPENDENT;
    Adjoint a = {.problem = problem,
                 .dl_dv = dl_dv,
                 .dl_dlambda = dl_dlambda,
                 .p = S2_TAKE(arena, double, 3 * problem->nodes),
                 .eta = S2_TAKE(arena, double, problem->rows),
                 .change = S2_TAKE(arena, double, problem->rows)};
    good = clear ? vjp_bilateral_solve(&a, &matrix) : vjp_bilateral_solve_exact(&a, arena);
    if (good) {
      vjp_bilateral_write(&a, v, lambda, gradient);
    }
  }
  s2_arena_rewind(arena, mark);
  return good;
}
