// The adjoint of rows that are independent but appear dependent in double precision.
//
// A light node between heavy nodes makes rows nearly parallel: their common part is proportional to
// 1/m of the light node, and their difference to 1/m of the heavy nodes. A pivot is then no larger
// than the ratio of the masses. If it is below 1e-16, it has no correct digits in double precision.
// The solution is computed with more digits (exact.c), so its derivative must be, too. Whether rows
// are redundant depends only on the geometry and is therefore decided with equal masses. If these
// rows are independent, the equations
//
//     (J W^-1 J' + C) eta = -(dl/dlambda + J W^-1 dl/dv),    p = W^-1 (dl/dv + J' eta)
//
// (mcp_vjp_bilateral.c) are assembled and solved with twice the digits.
#include "linalg/double2.h"
#include "linalg/numbers.h"
#include "mcp/adjoint/mcp_vjp_stages.h"
#include "mcp/solvers.h"

#include <math.h>

// Largest number of rows. Elimination takes 20 ms at this limit, and the time grows with the cube
// of the number.
enum { MOST = 96 };
// A pivot must be at least this fraction of its diagonal, as in the general method (mcp_vjp.c,
// SIEVE).
static const double CLEAR = 3e-6;
// A row counts as compliant if its compliance is above this fraction of its diagonal. The
// compliance then keeps six digits, because the Jacobians have rounding errors of 1e-16.
static const double SOFT = 1e-10;
// Smallest pivot for rows scaled to about 1. Smaller pivots may be rounding errors even with twice
// the digits, so there is no derivative.
static const double NOTHING = 1e-24;

static S2Double2 vjp_exact_scaled(S2Double2 x, double factor) {
  return s2_double2_multiply(x, (S2Double2){factor, 0});
}

// Returns x' W^-1 y for two rows x and y.
static S2Double2 vjp_exact_meet(const S2Problem *problem, const S2Row *x, const S2Row *y) {
  S2Double2 sum = {0, 0};
  for (int i = 0; i < 4; i++) {
    int32_t node = i < 2 ? x->a : x->b, other = i % 2 == 0 ? y->a : y->b;
    const double *of_x = i < 2 ? x->ja : x->jb, *of_y = i % 2 == 0 ? y->ja : y->jb;
    for (int c = 0; c < 3 && node >= 0 && node == other; c++) {
      S2Double2 product = s2_double2_product(of_x[c], of_y[c]);
      S2Double2 mass = {problem->mass[3 * node + c], 0};
      sum = s2_double2_add(sum, s2_double2_divide(product, mass));
    }
  }
  return sum;
}

// Returns x' W^-1 y for two rows x and y, where all masses are 1 and all inertias are L^2.
static double vjp_exact_meet_alike(const S2Problem *problem, const S2Row *x, const S2Row *y) {
  double sum = 0, angle = 1 / (problem->length * problem->length);
  for (int i = 0; i < 4; i++) {
    int32_t node = i < 2 ? x->a : x->b, other = i % 2 == 0 ? y->a : y->b;
    const double *of_x = i < 2 ? x->ja : x->jb, *of_y = i % 2 == 0 ? y->ja : y->jb;
    for (int c = 0; c < 3 && node >= 0 && node == other; c++) {
      bool moves = isfinite(problem->mass[3 * node + c]);
      sum += moves ? of_x[c] * of_y[c] * (c == 0 ? angle : 1) : 0;
    }
  }
  return sum;
}

// Returns true if the rigid rows are independent. With equal masses, all pivots must then be a
// clear fraction of their diagonals. Compliant rows are not tested, because compliance makes them
// independent even if they are parallel to rigid rows.
static bool vjp_exact_independent(const S2VjpHeld *held, S2Arena *arena) {
  const S2Row **row = S2_TAKE(arena, const S2Row *, held->count);
  int n = 0;
  for (int i = 0; i < held->count; i++) {
    double w = vjp_exact_meet(held->problem, held->row[i], held->row[i]).hi;
    if (!(held->row[i]->compliance > SOFT * w)) {
      row[n++] = held->row[i];
    }
  }
  double *a = S2_TAKE(arena, double, n *n + 1), *diagonal = S2_TAKE(arena, double, n + 1);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      a[i * n + j] = vjp_exact_meet_alike(held->problem, row[i], row[j]);
    }
    diagonal[i] = a[i * n + i];
  }
  // Eliminate without row exchanges, because the matrix is symmetric and positive definite.
  for (int k = 0; k < n; k++) {
    if (!(a[k * n + k] > CLEAR * diagonal[k])) {
      return false;
    }
    for (int i = k + 1; i < n; i++) {
      double factor = a[i * n + k] / a[k * n + k];
      for (int j = k + 1; j < n && factor != 0; j++) {
        a[i * n + j] -= factor * a[k * n + j];
      }
    }
  }
  return true;
}

// Solves a x = b in place, so that b becomes x. Returns false if a pivot is only rounding.
static bool vjp_exact_eliminate(int n, S2Double2 *a, S2Double2 *b) {
  for (int k = 0; k < n; k++) {
    int pivot = k;
    for (int i = k + 1; i < n; i++) {
      pivot = fabs(a[i * n + k].hi) > fabs(a[pivot * n + k].hi) ? i : pivot;
    }
    if (!(fabs(a[pivot * n + k].hi) > NOTHING)) {
      return false;
    }
    // Exchange rows, then eliminate below.
    for (int j = 0; j < n && pivot != k; j++) {
      S2Double2 kept = a[k * n + j];
      a[k * n + j] = a[pivot * n + j];
      a[pivot * n + j] = kept;
    }
    S2Double2 right = b[k];
    b[k] = b[pivot];
    b[pivot] = pivot == k ? b[k] : right;
    for (int i = k + 1; i < n; i++) {
      if (a[i * n + k].hi == 0) {
        continue;
      }
      S2Double2 factor = s2_double2_negate(s2_double2_divide(a[i * n + k], a[k * n + k]));
      for (int j = k + 1; j < n; j++) {
        a[i * n + j] = s2_double2_add(a[i * n + j], s2_double2_multiply(factor, a[k * n + j]));
      }
      b[i] = s2_double2_add(b[i], s2_double2_multiply(factor, b[k]));
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    for (int j = k + 1; j < n; j++) {
      S2Double2 known = s2_double2_multiply(a[k * n + j], b[j]);
      b[k] = s2_double2_add(b[k], s2_double2_negate(known));
    }
    b[k] = s2_double2_divide(b[k], a[k * n + k]);
  }
  return true;
}

// Computes a = J W^-1 J' + C and b = -(dl/dlambda + J W^-1 dl/dv), with rows and columns scaled by
// powers of two.
static void vjp_exact_equations(const S2VjpHeld *held, const double *scale, S2Double2 *a,
                                S2Double2 *b) {
  const S2Problem *problem = held->problem;
  int n = held->count;
  for (int i = 0; i < n; i++) {
    const S2Row *of = held->row[i];
    for (int j = 0; j < n; j++) {
      const S2Row *normal = held->row[j];
      S2Double2 w = vjp_exact_meet(problem, of, normal);
      w = i == j ? s2_double2_add(w, (S2Double2){normal->compliance, 0}) : w;
      a[i * n + j] = vjp_exact_scaled(w, scale[i] * scale[j]);
    }
    S2Double2 pull = {held->dl_dlambda[i], 0};
    for (int k = 0; k < 6 && held->dl_dv != NULL; k++) {
      int32_t node = k < 3 ? of->a : of->b;
      double j = k < 3 ? of->ja[k] : of->jb[k - 3];
      if (node >= 0) {
        S2Double2 product = s2_double2_product(j, held->dl_dv[3 * node + k % 3]);
        S2Double2 mass = {problem->mass[3 * node + k % 3], 0};
        pull = s2_double2_add(pull, s2_double2_divide(product, mass));
      }
    }
    b[i] = vjp_exact_scaled(s2_double2_negate(pull), scale[i]);
  }
}

bool s2_vjp_exact_solve(const S2VjpHeld *held, double *p, double *eta, S2Arena *arena) {
  const S2Problem *problem = held->problem;
  int n = held->count, size = 3 * problem->nodes;
  if (n > MOST) {
    return false;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Double2 *a = S2_TAKE(arena, S2Double2, n * n), *b = S2_TAKE(arena, S2Double2, n),
            *sum = S2_TAKE(arena, S2Double2, size);
  double *scale = S2_TAKE(arena, double, n);
  for (int i = 0; i < n; i++) {
    double w = vjp_exact_meet(problem, held->row[i], held->row[i]).hi + held->row[i]->compliance;
    scale[i] = w > 0 ? ldexp(1, -ilogb(w) / 2) : 1;
  }
  bool good = vjp_exact_independent(held, arena);
  if (good) {
    vjp_exact_equations(held, scale, a, b);
    good = vjp_exact_eliminate(n, a, b);
  }
  // p = W^-1 (dl/dv + J' eta)
  for (int i = 0; i < size; i++) {
    sum[i] = (S2Double2){held->dl_dv != NULL ? held->dl_dv[i] : 0, 0};
  }
  for (int i = 0; i < n && good; i++) {
    const S2Row *row = held->row[i];
    b[i] = vjp_exact_scaled(b[i], scale[i]);
    eta[i] = b[i].hi;
    for (int k = 0; k < 6; k++) {
      int32_t node = k < 3 ? row->a : row->b;
      double j = k < 3 ? row->ja[k] : row->jb[k - 3];
      if (node >= 0) {
        int at = 3 * node + k % 3;
        sum[at] = s2_double2_add(sum[at], vjp_exact_scaled(b[i], j));
      }
    }
  }
  for (int i = 0; i < size && good; i++) {
    p[i] = s2_double2_divide(sum[i], (S2Double2){problem->mass[i], 0}).hi;
  }
  s2_arena_rewind(arena, mark);
  return good && s2_all_finite(p, (size_t)size) && s2_all_finite(eta, (size_t)n);
}
