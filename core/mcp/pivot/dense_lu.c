#include "mcp/pivot/dense_lu.h"
#include "linalg/numbers.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static void swap_ints(int *x, int *y) {
  int t = *x;
  *x = *y;
  *y = t;
}

// The bits of four numbers, or the results of four comparisons.
typedef long long Bits __attribute__((vector_size(sizeof(S2Quad))));

// Keeps the larger of each lane of `most` and the magnitude of the number in `x`. Ignores NaN.
S2_INLINE void lu_raise(Bits *most, const S2Quad *x) {
  const Bits sizes = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
  Bits size = (Bits)*x & sizes;
  Bits above = (S2Quad)size > (S2Quad)*most;
  *most = (above & size) | (~above & *most);
}

// Returns the largest of all lanes of `most` and the magnitudes of the `count` remaining numbers.
S2_INLINE double lu_settle(const Bits *most, const double *x, int count) {
  double largest = 0, lane[4];
  memcpy(lane, most, sizeof lane);
  for (int c = 0; c < 4; c++) {
    largest = lane[c] > largest ? lane[c] : largest;
  }
  for (int j = 0; j < count; j++) {
    largest = fabs(x[j]) > largest ? fabs(x[j]) : largest;
  }
  return largest;
}

// Returns the largest |x_j|, or 0 if there is none.
S2_INLINE double lu_largest(const double *x, int count) {
  Bits most = {0};
  int j = 0;
  for (; j + 4 <= count; j += 4) {
    S2Quad four;
    memcpy(&four, x + j, sizeof four);
    lu_raise(&most, &four);
  }
  return lu_settle(&most, x + j, count - j);
}

// Subtracts factor * y_j from each x_j and returns the largest |x_j| of the result. The search for
// a pivot takes as long as elimination, so both are done together.
S2_INLINE double lu_take_away(double *restrict x, double factor, const double *restrict y,
                              int count) {
  const S2Quad factors = {factor, factor, factor, factor};
  Bits most = {0};
  int j = 0;
  for (; j + 4 <= count; j += 4) {
    S2Quad left, pivot;
    memcpy(&left, x + j, sizeof left);
    memcpy(&pivot, y + j, sizeof pivot);
    left -= factors * pivot;
    memcpy(x + j, &left, sizeof left);
    lu_raise(&most, &left);
  }
  for (int c = j; c < count; c++) {
    x[c] -= factor * y[c];
  }
  return lu_settle(&most, x + j, count - j);
}

// Moves the largest entry of the trailing block to (k, k) and returns its size. Among equal entries
// it takes the first in row-major order. `largest` contains the largest entry of each row to the
// right of the finished columns.
S2_INLINE double lu_bring_pivot(S2DenseLu *lu, double *largest, int k) {
  int n = lu->n, best_row = k, best_column = k;
  double best = 0;
  for (int i = k; i < n; ++i) {
    if (largest[i] > best) {
      best = largest[i];
      best_row = i;
    }
  }
  while (best > 0 && fabs(lu->a[best_row * n + best_column]) != best) {
    best_column++;
  }
  // Exchange rows and columns in the matrix and in the permutations.
  if (best_row != k) {
    for (int j = 0; j < n; ++j) {
      s2_swap_numbers(&lu->a[k * n + j], &lu->a[best_row * n + j]);
    }
    s2_swap_numbers(&largest[k], &largest[best_row]);
    swap_ints(&lu->row[k], &lu->row[best_row]);
  }
  if (best_column != k) {
    for (int i = 0; i < n; ++i) {
      s2_swap_numbers(&lu->a[i * n + k], &lu->a[i * n + best_column]);
    }
    swap_ints(&lu->column[k], &lu->column[best_column]);
  }
  return best;
}

// Gaussian elimination with the largest remaining entry as the pivot. If this pivot is only a
// rounding error, so are all remaining entries.
S2_WIDE static void lu_eliminate(S2DenseLu *lu, double rank_tolerance, double *largest) {
  int n = lu->n;
  double *a = lu->a, first = 0;
  for (int i = 0; i < n; ++i) {
    largest[i] = lu_largest(a + i * n, n);
  }
  for (int k = 0; k < n; ++k) {
    double pivot = lu_bring_pivot(lu, largest, k);
    first = k == 0 ? pivot : first;
    if (!(pivot > rank_tolerance * first)) {
      break;
    }
    lu->rank = k + 1;
    // Compute a_ij -= l_ik u_kj below and to the right of the pivot. Store l_ik in place of the
    // zero.
    const double *restrict pivot_row = a + k * n;
    for (int i = k + 1; i < n; ++i) {
      double *restrict row = a + i * n;
      if (row[k] == 0) {
        continue;
      }
      double factor = row[k] / pivot_row[k];
      row[k] = factor;
      largest[i] = lu_take_away(row + k + 1, factor, pivot_row + k + 1, n - k - 1);
    }
  }
}

S2DenseLu s2_dense_lu_factor(int n, double *a, double rank_tolerance, S2Arena *arena) {
  S2DenseLu lu = {
      .n = n,
      .row = S2_TAKE(arena, int, n),
      .column = S2_TAKE(arena, int, n),
      .work = S2_TAKE(arena, double, n),
  };
  lu.a = a;
  for (int i = 0; i < n; ++i) {
    lu.row[i] = lu.column[i] = i;
  }
  lu_eliminate(&lu, rank_tolerance, lu.work); // borrows the scratch memory of s2_dense_lu_solve
  return lu;
}

void s2_dense_lu_solve(const S2DenseLu *lu, double *x) {
  int n = lu->n, rank = lu->rank;
  double *y = lu->work;
  // Solve L y = P b, then U x = y. Unknowns beyond the rank are 0.
  for (int i = 0; i < rank; ++i) {
    double sum = x[lu->row[i]];
    for (int j = 0; j < i; ++j) {
      sum -= lu->a[i * n + j] * y[j];
    }
    y[i] = sum;
  }
  for (int i = rank - 1; i >= 0; --i) {
    double sum = y[i];
    for (int j = i + 1; j < rank; ++j) {
      sum -= lu->a[i * n + j] * y[j];
    }
    y[i] = sum / lu->a[i * n + i];
  }
  for (int i = 0; i < n; ++i) {
    x[lu->column[i]] = i < rank ? y[i] : 0;
  }
}

double *s2_dense_lu_null(const S2DenseLu *lu, S2Arena *arena) {
  int n = lu->n, rank = lu->rank, count = n - rank;
  double *all = S2_TAKE(arena, double, (size_t)rank *(size_t)count);
  // Solve with U, beginning at its last row, for all columns together.
  for (int i = rank - 1; i >= 0; i--) {
    const double *a = lu->a + (size_t)i * (size_t)n;
    double *restrict z = all + (size_t)i * (size_t)count;
    for (int c = 0; c < count; c++) {
      z[c] = a[rank + c];
    }
    for (int j = i + 1; j < rank; j++) {
      const double *restrict other = all + (size_t)j * (size_t)count;
      double factor = a[j];
      for (int c = 0; c < count; c++) {
        z[c] -= factor * other[c];
      }
    }
    for (int c = 0; c < count; c++) {
      z[c] /= a[i];
    }
  }
  return all;
}
