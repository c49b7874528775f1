// Computes the residual of a point, in the caller's units and in units of the scaled system.
#include "linalg/double2.h"
#include "linalg/numbers.h"
#include "mcp/kkt/kkt_stages.h"

#include <math.h>
#include <string.h>

double s2_kkt_diagonal(const S2Csr *w, int i) {
  for (int32_t p = w->start[i]; p < w->start[i + 1]; p++) {
    if (w->column[p] == i) {
      return w->value[p];
    }
  }
  return 0;
}

double s2_kkt_velocity_scale(const S2Kkt *kkt) {
  double scale = 0;
  if (kkt->velocity_scale > 0) {
    return kkt->velocity_scale;
  }
  for (int i = 0; i < kkt->n; i++) {
    scale = s2_larger(scale, fabs(kkt->c[i] / s2_kkt_diagonal(&kkt->w, i)) *
                                 s2_kkt_weight(kkt->v_weight, i));
  }
  for (int i = 0; i < kkt->m; i++) {
    scale = s2_larger(scale, fabs(kkt->b[i]) * s2_kkt_weight(kkt->row_weight, i));
  }
  return scale == 0 ? 1 : scale;
}

static void residual_add_product(S2Double2 *sum, double a, double b) {
  *sum = s2_double2_add(*sum, s2_double2_product(a, b));
}

static double residual_rounded(S2Double2 x) {
  double sum = x.hi + x.lo;
  return isnan(x.lo) && !isnan(x.hi) ? x.hi : sum; // an infinite number has no low part
}

// Computes f = W v - J' lambda - c and u = J v + C lambda + b, summed with twice the digits. In
// plain double precision, cancellation of large terms could hide an error or prevent refinement
// from converging.
static void residual_find_misses(const S2Csr *w, const S2Csr *j, const double *c, const double *b,
                                 const double *compliances, const double *v, const double *lambda,
                                 double *f, double *u, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Double2 *sum = S2_TAKE(arena, S2Double2, w->rows);
  // Compute W v - c.
  for (int i = 0; i < w->rows; i++) {
    sum[i] = (S2Double2){-c[i], 0};
    for (int32_t p = w->start[i]; p < w->start[i + 1]; p++) {
      residual_add_product(&sum[i], w->value[p], v[w->column[p]]);
    }
  }
  // Subtract J' lambda and compute the rows in one loop over the entries of J.
  for (int k = 0; k < j->rows; k++) {
    S2Double2 row = {b[k], 0};
    residual_add_product(&row, compliances != NULL ? compliances[k] : 0, lambda[k]);
    for (int32_t p = j->start[k]; p < j->start[k + 1]; p++) {
      residual_add_product(&row, j->value[p], v[j->column[p]]);
      residual_add_product(&sum[j->column[p]], j->value[p], -lambda[k]);
    }
    u[k] = residual_rounded(row);
  }
  for (int i = 0; i < w->rows; i++) {
    f[i] = residual_rounded(sum[i]);
  }
  s2_arena_rewind(arena, mark);
}

double s2_kkt_residual(const S2Kkt *kkt, const double *v, const double *lambda, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  double *f = S2_TAKE(arena, double, kkt->n), *u = S2_TAKE(arena, double, kkt->m);
  double worst = 0;
  residual_find_misses(&kkt->w, &kkt->j, kkt->c, kkt->b, kkt->compliance, v, lambda, f, u, arena);
  // Divide momentum errors by the diagonal of W, which converts them to velocities, and apply the
  // weights.
  for (int i = 0; i < kkt->n; i++) {
    double error = fabs(f[i] / s2_kkt_diagonal(&kkt->w, i));
    worst = s2_larger(worst, error * s2_kkt_weight(kkt->v_weight, i));
  }
  for (int i = 0; i < kkt->m; i++) {
    worst = s2_larger(worst, fabs(u[i]) * s2_kkt_weight(kkt->row_weight, i));
  }
  s2_arena_rewind(arena, mark);
  return worst / s2_kkt_velocity_scale(kkt);
}

double s2_kkt_offer(S2KktRun *run, const double *v, const double *lambda) {
  const S2KktScaled *kkt = run->kkt;
  double worst = 0;
  residual_find_misses(&kkt->w, &kkt->j, kkt->c, kkt->b, kkt->compliance, v, lambda, run->r_v,
                       run->r_row, run->arena);
  for (int i = 0; i < kkt->n; i++) {
    worst = s2_larger(worst, fabs(run->r_v[i]) * kkt->v_measure[i]);
  }
  for (int i = 0; i < kkt->m; i++) {
    worst = s2_larger(worst, fabs(run->r_row[i]) * kkt->row_measure[i]);
  }
  // Keep the best point. The errors of the current point stay in r_v and r_row.
  if (worst < run->best) {
    run->best = worst;
    memmove(run->v, v, sizeof(double) * (size_t)kkt->n);
    memmove(run->lambda, lambda, sizeof(double) * (size_t)kkt->m);
  }
  return worst;
}
