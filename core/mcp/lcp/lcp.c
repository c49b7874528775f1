#include "mcp/lcp/lcp.h"

#include "mcp/lcp/lcp_stages.h"
#include "mcp/pivot/lcp_pivot.h"

#include <math.h>
#include <string.h>

// Largest residual of a solution after equilibration. A correct basis leaves a residual of about
// 1e-14. A wrong basis leaves a significant fraction of |q|, which is about 1.
static const double ACCEPT = 1e-10;

// A ray proves infeasibility if M' ray <= 0 up to rounding, and q' ray is clearly below 0. (Entries
// of M and of the ray are about 1.) A solution would then have entries beyond 1e5.
static const double RAY_ROUNDING = 1e-14;
static const double RAY_CLEAR = 1e-9;

// Farkas' lemma: if ray >= 0, M' ray <= 0 and q' ray < 0, there is no z >= 0 with M z + q >= 0.
static bool proves_infeasible(const S2LcpScaled *s, const double *ray) {
  double along_q = 0, largest = 0;
  // Compute the largest entry of M' ray, and q' ray.
  for (int j = 0; j < s->n; ++j) {
    double sum = 0;
    for (int i = 0; i < s->n; ++i) {
      sum += s->m[i * s->n + j] * ray[i];
    }
    largest = fmax(largest, sum);
    along_q += s->q[j] * ray[j];
  }
  return largest <= RAY_ROUNDING && along_q < -RAY_CLEAR;
}

// Converts the result to the caller's units.
static void lcp_deliver(const S2LcpScaled *s, const double *m, const double *q, double *z,
                        double *w, double *ray, S2LcpInfo *info) {
  double largest = 0;
  // Compute z = C z' unit. Scale the ray so that its largest entry is 1 again.
  for (int i = 0; i < s->n; ++i) {
    z[i] *= s->column[i] * s->unit;
    ray[i] *= s->column[i];
    largest = fmax(largest, ray[i]);
  }
  for (int i = 0; i < s->n && largest > 0; ++i) {
    ray[i] /= largest;
  }
  info->ray_cover = largest > 0 ? info->ray_cover / largest : info->ray_cover;
  info->residual = s2_lcp_residual(s->n, m, q, z, INFINITY);
  for (int i = 0; i < s->n; ++i) {
    w[i] = s2_lcp_row(s->n, m, q, z, i);
  }
}

S2SolveStatus s2_lcp_lemke(int n, const double *m, const double *q, double *z, double *w,
                           double *ray, const S2LcpOptions *options, S2Arena *arena,
                           S2LcpInfo *info) {
  *info = (S2LcpInfo){0};
  if (n == 0) {
    return S2_SOLVED;
  }
  // Reject numbers that are not finite, and covering vectors that are not positive.
  S2ArenaMark mark = s2_arena_mark(arena);
  size_t size = (size_t)n;
  memset(z, 0, sizeof(double) * size);
  memset(w, 0, sizeof(double) * size);
  double *cover = S2_TAKE(arena, double, size), *direction = S2_TAKE_ZEROED(arena, double, size);
  bool valid = s2_all_finite(m, size * size) && s2_all_finite(q, size);
  for (int i = 0; i < n; ++i) {
    cover[i] = options != NULL && options->cover != NULL ? options->cover[i] : 1;
    valid = valid && isfinite(cover[i]) && cover[i] > 0;
  }
  if (!valid) {
    info->residual = NAN;
    s2_arena_rewind(arena, mark);
    return S2_SINGULAR;
  }
  // Scale the problem so that the largest entries of all rows and columns are about 1.
  S2LcpScaled s = s2_lcp_equilibrate(n, m, q, arena);
  if (!s2_all_finite(s.m, size * size) || !s2_all_finite(s.q, size)) {
    info->residual = s2_lcp_residual(n, m, q, z, INFINITY);
    s2_arena_rewind(arena, mark);
    return S2_SINGULAR; // the scaled numbers do not fit into a double
  }
  // Rounding errors may have caused a ray or a failure. Try again, and recompute the dictionary
  // more often.
  bool *basic = S2_TAKE(arena, bool, size);
  S2LcpPivoting pivoting = s2_lcp_pivoting_default(n, cover);
  if (options != NULL && options->max_pivots > 0) {
    pivoting.max_pivots = options->max_pivots;
  }
  pivoting.history = options != NULL ? options->history : NULL;
  S2SolveStatus status = S2_SINGULAR;
  for (int attempt = 0; attempt < 2 && (status == S2_SINGULAR || status == S2_RAY); ++attempt) {
    int pivots = 0;
    status =
        s2_lcp_pivot(n, s.m, s.q, z, basic, direction, &info->ray_cover, &pivoting, arena, &pivots);
    info->pivots += pivots;
    if (status == S2_SOLVED && !(s2_lcp_clean_up(&s, z, basic, arena) <= ACCEPT)) {
      status = S2_SINGULAR;
    }
    s2_lcp_pivoting_careful(&pivoting);
  }
  // A ray is a proof only if its numbers confirm it.
  info->infeasible = status == S2_RAY && proves_infeasible(&s, direction);
  lcp_deliver(&s, m, q, z, w, direction, info);
  if (!s2_all_finite(z, size) || !s2_all_finite(w, size)) {
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
