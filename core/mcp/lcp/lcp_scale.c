#include "mcp/lcp/lcp_stages.h"

#include "linalg/double2.h"
#include "linalg/quad.h"
#include "mcp/pivot/dense_lu.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
  // Number of scaling passes. Each pass roughly replaces the ratio of the entries by its square
  // root.
  EQUILIBRATION_PASSES = 4,
  REFINEMENTS = 2, // number of refinement passes for the final basis
};

// Pivots up to this fraction of the largest entry of the final basis matrix count as 0.
static const double RANK_TOLERANCE = 1e-15;

// The rounding error of w may reach this fraction of the allowed residual.
static const double SURE = 0.1;

// Returns the larger number. Vectorised loops use this instead of fmax, because a plain comparison
// is one instruction.
S2_INLINE double lcp_scale_larger(double a, double b) {
  return b > a ? b : a;
}

// Sums are split into this many interleaved partial sums, so that additions do not wait for each
// other.
enum { LANES = 4 };

S2_WIDE double s2_lcp_row(int n, const double *m, const double *q, const double *z, int i) {
  const double *row = m + (size_t)i * (size_t)n;
  double sum[LANES] = {q[i], 0, 0, 0};
  int j = 0;
  for (; j + LANES <= n; j += LANES) {
    for (int k = 0; k < LANES; ++k) {
      sum[k] += row[j + k] * z[j + k];
    }
  }
  for (; j < n; ++j) {
    sum[0] += row[j] * z[j];
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Computes row i of M z + q with twice the digits.
static double precise_row(int n, const double *m, const double *q, const double *z, int i) {
  S2Double2 sum = {q[i], 0};
  for (int j = 0; j < n; ++j) {
    double entry = m[(size_t)i * (size_t)n + (size_t)j];
    sum = s2_double2_add(sum, s2_double2_product(entry, z[j]));
  }
  return sum.hi + sum.lo;
}

S2_WIDE double s2_lcp_sure_row(int n, const double *m, const double *q, const double *z, int i,
                               double allowed) {
  const double *row = m + (size_t)i * (size_t)n;
  double sum[LANES] = {q[i], 0, 0, 0}, size[LANES] = {fabs(q[i]), 0, 0, 0};
  int j = 0;
  // Compute the sum, and the sum of magnitudes, which bounds the rounding error.
  for (; j + LANES <= n; j += LANES) {
    for (int k = 0; k < LANES; ++k) {
      double term = row[j + k] * z[j + k];
      sum[k] += term;
      size[k] += fabs(term);
    }
  }
  for (; j < n; ++j) {
    double term = row[j] * z[j];
    sum[0] += term;
    size[0] += fabs(term);
  }
  bool sure = ((size[0] + size[1]) + (size[2] + size[3])) * DBL_EPSILON <= SURE * allowed;
  return sure ? (sum[0] + sum[1]) + (sum[2] + sum[3]) : precise_row(n, m, q, z, i);
}

double s2_lcp_residual(int n, const double *m, const double *q, const double *z, double allowed) {
  double residual = 0;
  for (int i = 0; i < n; ++i) {
    double w = s2_lcp_sure_row(n, m, q, z, i, allowed);
    if (!isfinite(z[i]) || !isfinite(w)) {
      return INFINITY; // fmin would ignore NaN
    }
    residual = fmax(residual, fabs(fmin(z[i], w)));
  }
  return residual;
}

// Finds the largest entry of each row and each column.
S2_WIDE static void find_largest(int n, const double *m, double *rows, double *columns) {
  memset(columns, 0, sizeof(double) * (size_t)n);
  for (int i = 0; i < n; ++i) {
    const double *row = m + (size_t)i * (size_t)n;
    double most = 0;
    for (int j = 0; j < n; ++j) {
      double entry = fabs(row[j]);
      most = lcp_scale_larger(most, entry);
      columns[j] = lcp_scale_larger(columns[j], entry);
    }
    rows[i] = most;
  }
}

// Each pass divides rows and columns by the square roots of their largest entries (Ruiz 2001).
S2LcpScaled s2_lcp_equilibrate(int n, const double *m, const double *q, S2Arena *arena) {
  size_t size = (size_t)n;
  S2LcpScaled s = {
      .n = n,
      .m = S2_TAKE(arena, double, size *size),
      .q = S2_TAKE(arena, double, size),
      .row = S2_TAKE(arena, double, size),
      .column = S2_TAKE(arena, double, size),
  };
  double *row_max = S2_TAKE(arena, double, size), *column_max = S2_TAKE(arena, double, size);
  memcpy(s.m, m, sizeof(double) * size * size);
  for (int i = 0; i < n; ++i) {
    s.row[i] = s.column[i] = 1;
  }
  // Scale by powers of two until no scale changes.
  for (int pass = 0; pass < EQUILIBRATION_PASSES; ++pass) {
    find_largest(n, s.m, row_max, column_max);
    bool changed = false;
    for (int i = 0; i < n; ++i) {
      row_max[i] = s2_half_inverse(row_max[i]);
      column_max[i] = s2_half_inverse(column_max[i]);
      s.row[i] *= row_max[i];
      s.column[i] *= column_max[i];
      changed = changed || row_max[i] != 1 || column_max[i] != 1;
    }
    if (!changed) {
      break;
    }
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        s.m[i * n + j] *= row_max[i] * column_max[j];
      }
    }
  }
  for (int i = 0; i < n; ++i) {
    s.q[i] = s.row[i] * q[i];
    s.unit = fmax(s.unit, -s.q[i]);
  }
  s.unit = s.unit > 0 ? s.unit : 1;
  for (int i = 0; i < n; ++i) {
    s.q[i] /= s.unit;
  }
  return s;
}

static double scaled_residual(const S2LcpScaled *s, const double *z) {
  double residual = 0;
  for (int i = 0; i < s->n; ++i) {
    residual = fmax(residual, fabs(fmin(z[i], s2_lcp_row(s->n, s->m, s->q, z, i))));
  }
  return residual;
}

double s2_lcp_clean_up(const S2LcpScaled *s, double *z, const bool *basic, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = s->n, count = 0;
  int *index = S2_TAKE(arena, int, n);
  for (int i = 0; i < n; ++i) {
    if (basic[i]) {
      index[count++] = i;
    }
  }
  // Copy M_BB of the scaled problem. It may be singular.
  double *block = S2_TAKE(arena, double, (size_t)count *(size_t)count);
  double *step = S2_TAKE(arena, double, count);
  double *trial = S2_TAKE_ZEROED(arena, double, n);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) {
      block[i * count + j] = s->m[index[i] * n + index[j]];
    }
  }
  S2DenseLu lu = s2_dense_lu_factor(count, block, RANK_TOLERANCE, arena);
  double best = scaled_residual(s, z);
  // Correct z by the residuals of the basic rows. The residual of each point is computed after
  // clipping.
  for (int pass = 0; pass <= REFINEMENTS; ++pass) {
    for (int i = 0; i < count; ++i) {
      step[i] = -s2_lcp_row(n, s->m, s->q, trial, index[i]);
    }
    s2_dense_lu_solve(&lu, step);
    for (int i = 0; i < count; ++i) {
      trial[index[i]] = trial[index[i]] + step[i];
    }
    double *clipped = S2_TAKE(arena, double, n);
    for (int i = 0; i < n; ++i) {
      clipped[i] = fmax(0, trial[i]);
    }
    double residual = scaled_residual(s, clipped);
    if (residual < best) {
      best = residual;
      memcpy(z, clipped, sizeof(double) * (size_t)n);
    }
  }
  s2_arena_rewind(arena, mark);
  return best;
}

double s2_lcp_finish(const S2LcpScaled *s, double *z, const double *w, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  bool *basic = S2_TAKE(arena, bool, s->n);
  for (int i = 0; i < s->n; ++i) {
    basic[i] = z[i] > w[i];
    z[i] = fmax(0, z[i]);
  }
  double residual = s2_lcp_clean_up(s, z, basic, arena);
  s2_arena_rewind(arena, mark);
  return residual;
}

double s2_lcp_unscaled_residual(const S2LcpScaled *s, const double *z, const double *w) {
  double residual = 0;
  for (int i = 0; i < s->n; ++i) {
    if (!isfinite(z[i]) || !isfinite(w[i])) {
      return INFINITY;
    }
    double error = fmin(z[i] * s->column[i], w[i] / s->row[i]) * s->unit;
    residual = fmax(residual, fabs(error));
  }
  return residual;
}

void s2_lcp_unscale(const S2LcpScaled *s, double *z) {
  for (int i = 0; i < s->n; ++i) {
    z[i] = fmax(0, z[i]) * s->column[i] * s->unit;
  }
}
