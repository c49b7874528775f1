// Solves mixed problems that are not monotone. Free unknowns are eliminated by Gaussian elimination
// with complete pivoting. The remaining problem is a linear complementarity problem (LCP), which is
// solved by Lemke's method or another LCP method. Each equation without a pivot becomes two
// opposite inequalities, which form pairs with the positive and the negative part of an unknown
// without a pivot.
#include "mcp/mlcp/mlcp_pivot.h"

#include "mcp/lcp/lcp.h"

#include <math.h>
#include <string.h>

// Pivots below this fraction of the largest pivot count as zero.
static const double RANK = 1e-12;

// The matrix [A C a; D B b], with its first rows and columns in pivoting order.
typedef struct Tableau {
  int n, size, width; // width: size + 1
  double *at;
  int *column; // order of the free unknowns
} Tableau;

static double *mlcp_pivot_row_of(const Tableau *t, int i) {
  return t->at + (size_t)i * (size_t)t->width;
}

static Tableau mlcp_pivot_make(const S2Mixed *p, S2Arena *arena) {
  int size = s2_mixed_size(p);
  Tableau t = {p->n, size, size + 1, NULL, S2_TAKE(arena, int, p->n + 1)};
  t.at = S2_TAKE(arena, double, (size_t)size *(size_t)t.width + 1);
  for (int i = 0; i < size; i++) {
    memcpy(mlcp_pivot_row_of(&t, i), p->k + (size_t)i * (size_t)size,
           sizeof(double) * (size_t)size);
    mlcp_pivot_row_of(&t, i)[size] = p->r[i];
  }
  for (int i = 0; i < p->n; i++) {
    t.column[i] = i;
  }
  return t;
}

static double mlcp_pivot_bring_pivot(Tableau *t, int k) {
  int best_row = k, best_column = k;
  // Find the largest entry of the remaining part of A.
  for (int i = k; i < t->n; i++) {
    for (int j = k; j < t->n; j++) {
      if (fabs(mlcp_pivot_row_of(t, i)[j]) > fabs(mlcp_pivot_row_of(t, best_row)[best_column])) {
        best_row = i;
        best_column = j;
      }
    }
  }
  // Exchange whole rows and columns, including C, D and the right side.
  for (int j = 0; j < t->width; j++) {
    s2_swap_numbers(&mlcp_pivot_row_of(t, k)[j], &mlcp_pivot_row_of(t, best_row)[j]);
  }
  for (int i = 0; i < t->size; i++) {
    s2_swap_numbers(&mlcp_pivot_row_of(t, i)[k], &mlcp_pivot_row_of(t, i)[best_column]);
  }
  int kept = t->column[k];
  t->column[k] = t->column[best_column];
  t->column[best_column] = kept;
  return fabs(mlcp_pivot_row_of(t, k)[k]);
}

// Eliminates the free unknowns. Returns the number of eliminated unknowns.
static int mlcp_pivot_eliminate(Tableau *t) {
  double largest = 0;
  for (int k = 0; k < t->n; k++) {
    double pivot = mlcp_pivot_bring_pivot(t, k);
    largest = fmax(largest, pivot);
    if (!(pivot > RANK * largest)) {
      return k;
    }
    // Subtract the pivot row from all rows below, including the rows of the pairs.
    const double *from = mlcp_pivot_row_of(t, k);
    for (int i = k + 1; i < t->size; i++) {
      double *row = mlcp_pivot_row_of(t, i), factor = row[k] / from[k];
      for (int j = k; j < t->width && factor != 0; j++) {
        row[j] -= factor * from[j];
      }
    }
  }
  return t->n;
}

S2SolveStatus s2_mixed_pivot(const S2Mixed *p, double *x, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  Tableau t = mlcp_pivot_make(p, arena);
  int rank = mlcp_pivot_eliminate(&t), left = p->n - rank, pairs = 2 * left + p->m;
  size_t width = (size_t)pairs;
  double *m = S2_TAKE(arena, double, width *width + 1), *q = S2_TAKE(arena, double, width + 1);
  double *z = S2_TAKE_ZEROED(arena, double, width + 1);
  double *w = S2_TAKE_ZEROED(arena, double, width + 1);
  // The unknowns of the remaining problem are the positive parts of the remaining free unknowns,
  // their negative parts, and v.
  for (int i = 0; i < pairs; i++) {
    int from = i < left ? rank + i : i < 2 * left ? rank + i - left : i - 2 * left + p->n;
    double sign = i >= left && i < 2 * left ? -1 : 1, *to = m + (size_t)i * width;
    const double *row = mlcp_pivot_row_of(&t, from);
    for (int j = 0; j < left; j++) {
      double entry = i < 2 * left ? 0 : row[rank + j]; // only rounding errors remain here
      to[j] = entry;
      to[left + j] = -entry;
    }
    for (int j = 0; j < p->m; j++) {
      to[2 * left + j] = sign * row[p->n + j];
    }
    q[i] = sign * row[t.size];
  }
  // Try Lemke's method. If it fails, try all LCP methods.
  S2LcpInfo info;
  S2SolveStatus status = s2_lcp_lemke(pairs, m, q, z, w, NULL, NULL, arena, &info);
  if (status != S2_SOLVED) { // a ray does not exclude a solution
    S2LcpSolution other = {.z = S2_TAKE(arena, double, width + 1), .w = w};
    status = s2_lcp_solve(&(S2LcpProblem){pairs, m, q}, NULL, arena, &other) == S2_SOLVED
                 ? S2_SOLVED
                 : status;
    z = status == S2_SOLVED ? other.z : z;
  }
  // Compute unknowns without a pivot from their two parts, copy v, and find the other unknowns by
  // back substitution.
  for (int j = 0; j < left; j++) {
    x[t.column[rank + j]] = z[j] - z[left + j];
  }
  memcpy(x + p->n, z + 2 * left, sizeof(double) * (size_t)p->m);
  for (int i = rank - 1; i >= 0; i--) {
    const double *row = mlcp_pivot_row_of(&t, i);
    double sum = row[t.size];
    for (int j = i + 1; j < t.size; j++) {
      sum += row[j] * x[j < p->n ? t.column[j] : j];
    }
    x[t.column[i]] = -sum / row[i];
  }
  s2_arena_rewind(arena, mark);
  return status;
}
