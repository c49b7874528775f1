// Sums and extremes along axes, gather and scatter, products of matrices.
#include "diff/tape/array.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

// ---- Reductions -------------------------------------------------------------------------------

enum {
  LANES = 8,   // number of independent partial sums; a single sum would wait for each addition
  BLOCK = 1024 // numbers per block; summing blocks separately keeps rounding errors small
};

static double axes_sum_of(size_t count, const double *a, size_t stride) {
  double total = 0;
  for (size_t start = 0; start < count; start += BLOCK) {
    size_t end = count - start < BLOCK ? count : start + BLOCK, i = start;
    double lane[LANES] = {0};
    for (; i + LANES <= end; i += LANES) {
      for (size_t k = 0; k < LANES; k++) {
        lane[k] += a[(i + k) * stride];
      }
    }
    for (size_t k = 0; i < end; i++, k++) {
      lane[k] += a[i * stride];
    }
    total +=
        ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
  }
  return total;
}

// The first of the largest (smallest) numbers. A NaN counts as both largest and smallest.
static size_t axes_extreme_of(S2ArrayReduce op, size_t count, const double *a, size_t stride) {
  size_t best = 0;
  for (size_t i = 0; i < count; i++) {
    double x = a[i * stride], y = a[best * stride];
    if (isnan(x)) {
      return i;
    }
    if (op == S2_ARRAY_MAX ? x > y : x < y) {
      best = i;
    }
  }
  return best;
}

// Result k is computed from `count` numbers, which begin at `k * step` and are `stride` apart.
typedef struct Lines {
  size_t results, count, stride, step;
} Lines;

static Lines axes_lines_of(S2ArrayAxis axis, S2Size in) {
  size_t rows = (size_t)in.rows, columns = (size_t)in.columns;
  switch (axis) {
  case S2_ARRAY_OVER_ROWS:
    return (Lines){columns, rows, columns, 1};
  case S2_ARRAY_OVER_COLUMNS:
    return (Lines){rows, columns, 1, columns};
  case S2_ARRAY_ALL:
    break;
  }
  return (Lines){1, rows * columns, 1, 0};
}

S2Size s2_array_reduce_shape(S2Size in, S2ArrayAxis axis) {
  if (axis == S2_ARRAY_ALL) {
    return s2_size_number();
  }
  return s2_size_list(axis == S2_ARRAY_OVER_ROWS ? in.columns : in.rows);
}

void s2_array_reduce(S2ArrayReduce op, S2ArrayAxis axis, S2Size in, const double *a, double *out) {
  Lines lines = axes_lines_of(axis, in);
  for (size_t k = 0; k < lines.results; k++) {
    const double *from = a + k * lines.step;
    if (op == S2_ARRAY_SUM || op == S2_ARRAY_MEAN) {
      double sum = axes_sum_of(lines.count, from, lines.stride);
      out[k] = op == S2_ARRAY_SUM ? sum : sum / (double)lines.count;
    } else {
      out[k] = from[axes_extreme_of(op, lines.count, from, lines.stride) * lines.stride];
    }
  }
}

void s2_array_reduce_vjp(S2ArrayReduce op, S2ArrayAxis axis, S2Size in, const double *a,
                         const double *dl_dout, double *dl_da) {
  Lines lines = axes_lines_of(axis, in);
  for (size_t k = 0; k < lines.results; k++) {
    const double *from = a + k * lines.step;
    double *to = dl_da + k * lines.step;
    if (op == S2_ARRAY_SUM || op == S2_ARRAY_MEAN) {
      double each = op == S2_ARRAY_SUM ? dl_dout[k] : dl_dout[k] / (double)lines.count;
      for (size_t i = 0; i < lines.count; i++) {
        to[i * lines.stride] += each;
      }
    } else {
      to[axes_extreme_of(op, lines.count, from, lines.stride) * lines.stride] += dl_dout[k];
    }
  }
}

double s2_array_norm(size_t count, const double *a) {
  double largest = 0, sum = 0;
  for (size_t i = 0; i < count; i++) {
    if (isnan(a[i])) {
      return a[i];
    }
    largest = fmax(largest, fabs(a[i]));
  }
  if (!(largest > 0) || isinf(largest)) {
    return largest;
  }
  // Scale by a power of two. This prevents overflow of the squares, and does not change their
  // rounding.
  int exponent;
  frexp(largest, &exponent);
  double scale = ldexp(1, exponent > 1000 ? -1000 : exponent < -1000 ? 1000 : -exponent);
  for (size_t i = 0; i < count; i++) {
    double x = a[i] * scale;
    sum += x * x;
  }
  return sqrt(sum) / scale;
}

void s2_array_norm_vjp(size_t count, const double *a, double norm, double dl_dout, double *dl_da) {
  for (size_t i = 0; i < count && norm > 0; i++) {
    dl_da[i] += dl_dout * (a[i] / norm);
  }
}

// ---- Blocks -----------------------------------------------------------------------------------

#define FOR_BLOCK(STATEMENT)                                                                       \
  size_t dense = 0;                                                                                \
  for (ptrdiff_t r = 0; r < block->rows; r++) {                                                    \
    ptrdiff_t at = block->start + r * block->row_stride;                                           \
    for (ptrdiff_t c = 0; c < block->columns; c++, at += block->column_stride, dense++) {          \
      STATEMENT;                                                                                   \
    }                                                                                              \
  }

void s2_array_gather(const S2ArrayBlock *block, const double *a, double *out) {
  FOR_BLOCK(out[dense] = a[at])
}

void s2_array_scatter(const S2ArrayBlock *block, const double *a, double *out) {
  FOR_BLOCK(out[at] = a[dense])
}

void s2_array_gather_add(const S2ArrayBlock *block, const double *a, double *out) {
  FOR_BLOCK(out[dense] += a[at])
}

void s2_array_scatter_add(const S2ArrayBlock *block, const double *a, double *out) {
  FOR_BLOCK(out[at] += a[dense])
}

// ---- Products ---------------------------------------------------------------------------------

enum { SMALL = 512 }; // with fewer multiplications, calling BLAS costs more than it saves

void s2_array_product(const S2ArrayProduct *product, const double *a, const double *b,
                      double *out) {
  int m = product->m, k = product->k, n = product->n;
  bool a_flip = product->a_flip == S2_ARRAY_TRANSPOSED,
       b_flip = product->b_flip == S2_ARRAY_TRANSPOSED;
  if (m == 0 || n == 0) {
    return;
  }
  // Compute large products by BLAS.
  if (k > 0 && (double)m * k * n > SMALL) {
    cblas_dgemm(CblasRowMajor, a_flip ? CblasTrans : CblasNoTrans,
                b_flip ? CblasTrans : CblasNoTrans, m, n, k, product->scale, a, a_flip ? m : k, b,
                b_flip ? k : n, product->add, out, n);
    return;
  }
  // Compute small products with plain loops, which work for any strides.
  ptrdiff_t a_row = a_flip ? 1 : k, a_column = a_flip ? m : 1;
  ptrdiff_t b_row = b_flip ? 1 : n, b_column = b_flip ? k : 1;
  for (ptrdiff_t i = 0; i < m; i++) {
    for (ptrdiff_t j = 0; j < n; j++) {
      double sum = 0;
      for (ptrdiff_t l = 0; l < k; l++) {
        sum += a[i * a_row + l * a_column] * b[l * b_row + j * b_column];
      }
      double *to = &out[i * n + j];
      *to = (product->add == 0 ? 0 : product->add * *to) + product->scale * sum;
    }
  }
}

void s2_array_product_vjp(int m, int k, int n, const double *a, const double *b,
                          const double *dl_dout, double *dl_da, double *dl_db) {
  if (dl_da != NULL) {
    const S2ArrayProduct of_a = {m, n, k, S2_ARRAY_PLAIN, S2_ARRAY_TRANSPOSED, 1, 1};
    s2_array_product(&of_a, dl_dout, b, dl_da);
  }
  if (dl_db != NULL) {
    const S2ArrayProduct of_b = {k, m, n, S2_ARRAY_TRANSPOSED, S2_ARRAY_PLAIN, 1, 1};
    s2_array_product(&of_b, a, dl_dout, dl_db);
  }
}
