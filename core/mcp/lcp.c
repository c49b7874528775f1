#include "mcp/lcp.h"

#include "mcp/dense_lu.h"

#include <math.h>
#include <string.h>

enum {
  EQUILIBRATION_PASSES = 4, // each halves the spread's logarithm; scales are powers of two
  REFINEMENTS = 2,          // of the final basic solution; the first brings nearly all there is
};

// S2_SOLVED means a residual below this times (1 + |q|) after equilibration. Pivoting that went
// right leaves 1e-14 or so; a wrong basis leaves a sizeable part of |q|.
static const double ACCEPT = 1e-10;

// Relative to the largest entry of the final basis matrix (entries about 1).
static const double RANK_TOLERANCE = 1e-15;

// A ray proves infeasibility when M' ray <= 0 up to this (entries of M and the ray about 1).
static const double CERTIFICATE = 1e-9;

typedef struct Scaled {
  int n;
  double *m, *q;        // R M C, R q / unit
  double *row, *column; // R, C
  double unit;          // max(-R q): what is to be overcome has size 1
} Scaled;

static bool all_finite(const double *x, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!isfinite(x[i])) {
      return false;
    }
  }
  return true;
}

// The power of two next to 1 / sqrt(size): scaling by it rounds nothing.
static double half_inverse(double size) {
  if (!(size > 0)) {
    return 1;
  }
  int exponent;
  frexp(size, &exponent);
  return ldexp(1, -exponent / 2);
}

// Scales rows and columns by powers of two until their largest entries are within 2 of 1 or so
// (Ruiz 2001). Positive scales keep the problem: w' = R w, z = C z'.
static Scaled equilibrate(int n, const double *m, const double *q, S2Arena *arena) {
  size_t size = (size_t)n;
  Scaled s = {
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
  for (int pass = 0; pass < EQUILIBRATION_PASSES; ++pass) {
    memset(row_max, 0, sizeof(double) * size);
    memset(column_max, 0, sizeof(double) * size);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        double entry = fabs(s.m[i * n + j]);
        row_max[i] = fmax(row_max[i], entry);
        column_max[j] = fmax(column_max[j], entry);
      }
    }
    for (int i = 0; i < n; ++i) {
      row_max[i] = half_inverse(row_max[i]);
      column_max[i] = half_inverse(column_max[i]);
      s.row[i] *= row_max[i];
      s.column[i] *= column_max[i];
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

static double row_value(int n, const double *m, const double *q, const double *z, int i) {
  double sum = q[i];
  for (int j = 0; j < n; ++j) {
    sum += m[(size_t)i * (size_t)n + (size_t)j] * z[j];
  }
  return sum;
}

static double residual_of(int n, const double *m, const double *q, const double *z) {
  double residual = 0;
  for (int i = 0; i < n; ++i) {
    residual = fmax(residual, fabs(fmin(z[i], row_value(n, m, q, z, i))));
  }
  return residual;
}

// Solves M_BB z_B = -q_B afresh for the basic z, with refinement, and keeps it when it is better
// than the dictionary's values.
static double clean_up(const Scaled *s, double *z, const bool *basic, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = s->n, count = 0;
  int *index = S2_TAKE(arena, int, n);
  for (int i = 0; i < n; ++i) {
    if (basic[i]) {
      index[count++] = i;
    }
  }
  double *block = S2_TAKE(arena, double, (size_t)count *(size_t)count);
  double *step = S2_TAKE(arena, double, count);
  double *trial = S2_TAKE_ZEROED(arena, double, n);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) {
      block[i * count + j] = s->m[index[i] * n + index[j]];
    }
  }
  S2DenseLu lu = s2_dense_lu_factor(count, block, RANK_TOLERANCE, arena);
  double best = residual_of(n, s->m, s->q, z);
  for (int pass = 0; pass <= REFINEMENTS; ++pass) {
    for (int i = 0; i < count; ++i) {
      step[i] = -row_value(n, s->m, s->q, trial, index[i]);
    }
    s2_dense_lu_solve(&lu, step);
    for (int i = 0; i < count; ++i) {
      trial[index[i]] = trial[index[i]] + step[i];
    }
    double *clipped = S2_TAKE(arena, double, n);
    for (int i = 0; i < n; ++i) {
      clipped[i] = fmax(0, trial[i]);
    }
    double residual = residual_of(n, s->m, s->q, clipped);
    if (residual < best) {
      best = residual;
      memcpy(z, clipped, sizeof(double) * (size_t)n);
    }
  }
  s2_arena_rewind(arena, mark);
  return best;
}

// Farkas: ray >= 0, M' ray <= 0 and q' ray < 0 leave no z >= 0 with M z + q >= 0.
static bool proves_infeasible(const Scaled *s, const double *ray) {
  double along_q = 0, largest = 0;
  for (int j = 0; j < s->n; ++j) {
    double sum = 0;
    for (int i = 0; i < s->n; ++i) {
      sum += s->m[i * s->n + j] * ray[i];
    }
    largest = fmax(largest, sum);
    along_q += s->q[j] * ray[j];
  }
  return largest <= CERTIFICATE && along_q < -CERTIFICATE;
}

// Back to the caller's units.
static void deliver(const Scaled *s, const double *m, const double *q, double *z, double *w,
                    double *ray, S2LcpInfo *info) {
  double largest = 0;
  for (int i = 0; i < s->n; ++i) {
    z[i] *= s->column[i] * s->unit;
    ray[i] *= s->column[i];
    largest = fmax(largest, ray[i]);
  }
  for (int i = 0; i < s->n && largest > 0; ++i) {
    ray[i] /= largest;
  }
  info->ray_cover = largest > 0 ? info->ray_cover / largest : info->ray_cover;
  info->residual = residual_of(s->n, m, q, z);
  for (int i = 0; i < s->n; ++i) {
    w[i] = row_value(s->n, m, q, z, i);
  }
}

S2SolveStatus s2_lcp_lemke(int n, const double *m, const double *q, double *z, double *w,
                           double *ray, const S2LcpOptions *options, S2Arena *arena,
                           S2LcpInfo *info) {
  *info = (S2LcpInfo){0};
  if (n == 0) {
    return S2_SOLVED;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  size_t size = (size_t)n;
  memset(z, 0, sizeof(double) * size);
  memset(w, 0, sizeof(double) * size);
  double *cover = S2_TAKE(arena, double, size), *direction = S2_TAKE_ZEROED(arena, double, size);
  bool valid = all_finite(m, size * size) && all_finite(q, size);
  for (int i = 0; i < n; ++i) {
    cover[i] = options != NULL && options->cover != NULL ? options->cover[i] : 1;
    valid = valid && isfinite(cover[i]) && cover[i] > 0;
  }
  if (!valid) {
    info->residual = NAN;
    s2_arena_rewind(arena, mark);
    return S2_SINGULAR;
  }
  Scaled s = equilibrate(n, m, q, arena);
  if (!all_finite(s.m, size * size) || !all_finite(s.q, size)) {
    info->residual = residual_of(n, m, q, z);
    s2_arena_rewind(arena, mark);
    return S2_SINGULAR; // no scaling of these numbers fits into a double
  }
  bool *basic = S2_TAKE(arena, bool, size);
  S2LcpPivoting pivoting = s2_lcp_pivoting_default(n, cover);
  if (options != NULL && options->max_pivots > 0) {
    pivoting.max_pivots = options->max_pivots;
  }
  S2SolveStatus status = S2_SINGULAR;
  for (int attempt = 0; attempt < 2 && (status == S2_SINGULAR || status == S2_RAY); ++attempt) {
    int pivots = 0;
    status =
        s2_lcp_pivot(n, s.m, s.q, z, basic, direction, &info->ray_cover, &pivoting, arena, &pivots);
    info->pivots += pivots;
    if (status == S2_SOLVED && !(clean_up(&s, z, basic, arena) <= ACCEPT)) {
      status = S2_SINGULAR;
    }
    s2_lcp_pivoting_careful(&pivoting);
  }
  info->infeasible = status == S2_RAY && proves_infeasible(&s, direction);
  deliver(&s, m, q, z, w, direction, info);
  if (!all_finite(z, size) || !all_finite(w, size)) {
    memset(z, 0, sizeof(double) * size);
    memcpy(w, q, sizeof(double) * size);
    status = S2_SINGULAR;
  }
  if (ray != NULL && status == S2_RAY) {
    memcpy(ray, direction, sizeof(double) * size);
  }
  s2_arena_rewind(arena, mark);
  return status;
}
