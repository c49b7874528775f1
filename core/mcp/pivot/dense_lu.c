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

// Four signs and sizes of numbers, or four answers of a comparison.
typedef long long Bits __attribute__((vector_size(sizeof(S2Quad))));

// max |x_i|, at least 0, in four lanes: looking for pivots is most of the work. NaN is none.
static inline double lu_largest(const double *x, int count) {
  const Bits sizes = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
  Bits most = {0};
  int i = 0;
  for (; i + 4 <= count; i += 4) {
    Bits size;
    memcpy(&size, x + i, sizeof size);
    size &= sizes;
    Bits above = (S2Quad)size > (S2Quad)most;
    most = (above & size) | (~above & most);
  }
  // The largest of the lanes and of what is left over.
  double largest = 0, lane[4];
  memcpy(lane, &most, sizeof lane);
  for (int c = 0; c < 4; c++) {
    largest = lane[c] > largest ? lane[c] : largest;
  }
  for (; i < count; i++) {
    largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
  }
  return largest;
}

// Brings the largest entry of the trailing block to (k, k) and returns its size. Of several, the
// first, row by row.
static double lu_bring_pivot(S2DenseLu *lu, int k) {
  int n = lu->n, best_row = k, best_column = k;
  double best = 0;
  for (int i = k; i < n; ++i) {
    double size = lu_largest(lu->a + i * n + k, n - k);
    if (size > best) {
      best = size;
      best_row = i;
    }
  }
  while (best > 0 && fabs(lu->a[best_row * n + best_column]) != best) {
    best_column++;
  }
  // Rows and columns change places in the matrix and in the lists that remember them.
  if (best_row != k) {
    for (int j = 0; j < n; ++j) {
      s2_swap_numbers(&lu->a[k * n + j], &lu->a[best_row * n + j]);
    }
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

S2DenseLu s2_dense_lu_factor(int n, double *a, double rank_tolerance, S2Arena *arena) {
  S2DenseLu lu = {
      .n = n,
      .a = a,
      .row = S2_TAKE(arena, int, n),
      .column = S2_TAKE(arena, int, n),
      .work = S2_TAKE(arena, double, n),
  };
  for (int i = 0; i < n; ++i) {
    lu.row[i] = lu.column[i] = i;
  }
  // Gauss with the largest entry left as the pivot: when that is rounding, so is all that remains.
  double largest = 0;
  for (int k = 0; k < n; ++k) {
    double pivot = lu_bring_pivot(&lu, k);
    largest = k == 0 ? pivot : largest;
    if (!(pivot > rank_tolerance * largest)) {
      break;
    }
    lu.rank = k + 1;
    // a_ij -= l_ik u_kj below and right of the pivot; l_ik is kept in place of the zero.
    const double *restrict pivot_row = a + k * n;
    for (int i = k + 1; i < n; ++i) {
      double *restrict row = a + i * n;
      if (row[k] == 0) {
        continue;
      }
      double factor = row[k] / pivot_row[k];
      row[k] = factor;
      for (int j = k + 1; j < n; ++j) {
        row[j] -= factor * pivot_row[j];
      }
    }
  }
  return lu;
}

void s2_dense_lu_solve(const S2DenseLu *lu, double *x) {
  int n = lu->n, rank = lu->rank;
  double *y = lu->work;
  // L y = P b, then U x = y; unknowns beyond the rank are 0.
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
  // U from its last row, for all columns side by side.
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
