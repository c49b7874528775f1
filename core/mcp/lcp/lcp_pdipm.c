// Mehrotra's predictor-corrector interior-point method (1992) on w = M z + q, z, w > 0. It
// converges for monotone problems (z' M z >= 0, symmetric or not) that have a solution. With r = w
// - M z - q a step solves dw = M dz - r, z dw + w dz = c, so (M + diag(w / z)) dz = c / z + r.
#include "mcp/lcp/lcp_stages.h"

#include "linalg/dense.h"

#include <math.h>
#include <string.h>

enum { ITERATIONS = 60 }; // monotone problems take 7 to 25 iterations

static const double BACK_OFF = 0.99;  // fraction of the distance to the boundary
static const double STALLED = 1e-10;  // stop if the step is shorter than this
static const double LEAST_MU = 1e-20; // stop below this mu, because z / w loses all digits

typedef struct Interior {
  S2LcpScaled s;
  bool symmetric;
  double *z, *w, *r;
  double *dz, *dw, *c;
  double *matrix;
  int32_t *pivot;
  S2Dense dense;
} Interior;

static bool lcp_pdipm_is_symmetric(const S2LcpScaled *s) {
  for (int i = 0; i < s->n; ++i) {
    for (int j = 0; j < i; ++j) {
      if (s->m[i * s->n + j] != s->m[j * s->n + i]) {
        return false;
      }
    }
  }
  return true;
}

// Factors M + diag(w / z), or M + 1 if z is NULL.
static bool lcp_pdipm_factor(Interior *t, const double *z, const double *w) {
  int n = t->s.n;
  // Use Cholesky if M is symmetric. Otherwise, or if Cholesky fails, use LU.
  for (int attempt = t->symmetric ? 0 : 1; attempt < 2; ++attempt) {
    t->dense =
        (S2Dense){.size = n, .nonsymmetric = attempt == 1, .a = t->matrix, .pivot = t->pivot};
    for (int j = 0; j < n; ++j) {
      for (int i = attempt == 0 ? j : 0; i < n; ++i) {
        t->matrix[j * n + i] = attempt == 0 ? t->s.m[j * n + i] : t->s.m[i * n + j];
      }
      t->matrix[j * n + j] += z == NULL ? 1 : w[j] / z[j];
    }
    if (s2_dense_factor(&t->dense)) {
      return true;
    }
  }
  return false;
}

// Solves for z with w = -z, then shifts z and w until they are positive. This corresponds to the
// least-norm point from which Mattingley and Boyd (2012) start quadratic programs. If M + 1 is
// singular, which cannot happen for monotone problems, starts from ones.
static bool lcp_pdipm_start(Interior *t) {
  int n = t->s.n;
  // (M + 1) z = -q, w = -z
  if (!lcp_pdipm_factor(t, NULL, NULL)) {
    for (int i = 0; i < n; ++i) {
      t->z[i] = t->w[i] = 1;
    }
    return true;
  }
  for (int i = 0; i < n; ++i) {
    t->z[i] = -t->s.q[i];
  }
  s2_dense_solve(&t->dense, t->z);
  // Shift all entries of z, and all entries of w, until they are positive.
  double least = INFINITY, largest = -INFINITY;
  for (int i = 0; i < n; ++i) {
    least = fmin(least, t->z[i]);
    largest = fmax(largest, t->z[i]);
    t->w[i] = -t->z[i];
  }
  for (int i = 0; i < n; ++i) {
    t->z[i] += least <= 0 ? 1 - least : 0;
    t->w[i] += largest >= 0 ? 1 + largest : 0;
  }
  return s2_all_finite(t->z, (size_t)n) && s2_all_finite(t->w, (size_t)n);
}

// Computes dz and dw for the right side c.
static void lcp_pdipm_direction(Interior *t) {
  int n = t->s.n;
  for (int i = 0; i < n; ++i) {
    t->dz[i] = t->c[i] / t->z[i] + t->r[i];
  }
  s2_dense_solve(&t->dense, t->dz);
  for (int i = 0; i < n; ++i) {
    t->dw[i] = (t->c[i] - t->w[i] * t->dz[i]) / t->z[i];
  }
}

static double lcp_pdipm_longest_step(const Interior *t) {
  double step = INFINITY;
  for (int i = 0; i < t->s.n; ++i) {
    if (t->dz[i] < 0) {
      step = fmin(step, -t->z[i] / t->dz[i]);
    }
    if (t->dw[i] < 0) {
      step = fmin(step, -t->w[i] / t->dw[i]);
    }
  }
  return step;
}

static double lcp_pdipm_gap(const Interior *t, double step) {
  double sum = 0;
  for (int i = 0; i < t->s.n; ++i) {
    sum += (t->z[i] + step * t->dz[i]) * (t->w[i] + step * t->dw[i]);
  }
  return sum / t->s.n;
}

// Writes M z + q to dw, and the difference between t->w and dw to r. Returns the residual.
static double lcp_pdipm_measure(Interior *t) {
  int n = t->s.n;
  for (int i = 0; i < n; ++i) {
    t->dw[i] = s2_lcp_row(n, t->s.m, t->s.q, t->z, i);
    t->r[i] = t->w[i] - t->dw[i];
  }
  return s2_lcp_unscaled_residual(&t->s, t->z, t->dw);
}

static double lcp_pdipm_advance(Interior *t, double mu) {
  int n = t->s.n;
  // The predictor uses c = -z o w. The gap after its step determines the target of the corrector.
  for (int i = 0; i < n; ++i) {
    t->c[i] = -t->z[i] * t->w[i];
  }
  lcp_pdipm_direction(t);
  double affine = fmin(1, lcp_pdipm_longest_step(t)), ratio = lcp_pdipm_gap(t, affine) / mu;
  double target = mu * ratio * ratio * ratio;
  // Corrector: c += sigma mu - dz o dw
  for (int i = 0; i < n; ++i) {
    t->c[i] += target - t->dz[i] * t->dw[i];
  }
  lcp_pdipm_direction(t);
  // Take a fraction of the step to the boundary.
  double step = fmin(1, BACK_OFF * lcp_pdipm_longest_step(t));
  for (int i = 0; i < n; ++i) {
    t->z[i] += step * t->dz[i];
    t->w[i] += step * t->dw[i];
  }
  return step;
}

S2SolveStatus s2_lcp_pdipm_stage(S2LcpRun *run) {
  int n = run->problem->n;
  size_t size = (size_t)n;
  S2ArenaMark mark = s2_arena_mark(run->arena);
  Interior t = {
      .s = s2_lcp_equilibrate(n, run->problem->m, run->problem->q, run->arena),
      .z = run->z,
      .w = S2_TAKE(run->arena, double, size),
      .r = S2_TAKE(run->arena, double, size),
      .dz = S2_TAKE_ZEROED(run->arena, double, size),
      .dw = S2_TAKE_ZEROED(run->arena, double, size),
      .c = S2_TAKE(run->arena, double, size),
      .matrix = S2_TAKE(run->arena, double, size *size),
      .pivot = S2_TAKE(run->arena, int32_t, size),
  };
  t.symmetric = lcp_pdipm_is_symmetric(&t.s);
  int limit = run->options->max_iterations > 0 ? run->options->max_iterations : ITERATIONS;
  S2SolveStatus status = S2_SINGULAR;
  if (s2_all_finite(t.s.m, size * size) && s2_all_finite(t.s.q, size) && lcp_pdipm_start(&t)) {
    status = S2_MAX_ITERATIONS;
    // Iterate until the residual is small enough, steps become too short, or mu has no correct
    // digits.
    double residual = lcp_pdipm_measure(&t), step = 1;
    while (!(residual <= run->allowed) && run->iterations < limit) {
      double mu = lcp_pdipm_gap(&t, 0);
      if (!(mu > LEAST_MU) || !(step > STALLED)) {
        break;
      }
      if (!lcp_pdipm_factor(&t, t.z, t.w)) {
        status = S2_SINGULAR;
        break;
      }
      step = lcp_pdipm_advance(&t, mu);
      run->iterations += 1;
      residual = lcp_pdipm_measure(&t);
      s2_history_add(run->options->history, residual, step, mu);
      if (!isfinite(residual)) {
        status = S2_SINGULAR;
        break;
      }
    }
    // The set of positive z may be correct before their digits are, so solve for these z directly.
    if (residual > run->allowed && isfinite(residual)) {
      s2_lcp_finish(&t.s, t.z, t.dw, run->arena);
      residual = lcp_pdipm_measure(&t);
    }
    status = residual <= run->allowed ? S2_SOLVED : status;
  } else {
    memset(run->z, 0, sizeof(double) * size);
  }
  s2_lcp_unscale(&t.s, run->z);
  s2_arena_rewind(run->arena, mark);
  return status;
}
