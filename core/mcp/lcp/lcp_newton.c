// Semismooth Newton on the Fischer-Burmeister equations z + w - sqrt(z^2 + w^2) = 0, w = M z + q
// (De Luca, Facchinei and Kanzow 1996). The merit is 1/2 |phi|^2. The method takes Armijo steps
// along Newton's direction or, if that does not descend, along the steepest descent. It ends at a
// stationary point of the merit. Such a point solves the problem if M is a P0 matrix with bounded
// level sets. Otherwise it may not be a solution.
#include "mcp/lcp/lcp_stages.h"

#include "base/rng.h"
#include "linalg/dense.h"

#include <math.h>
#include <string.h>

enum {
  ITERATIONS = 100, // iterations per start
  STARTS = 4,       // number of starts: zeros, ones, and two random points
  HALVINGS = 50,
  WINDOW = 10, // iterations with little progress before a run ends
  SEED = 1996,
};

static const double ARMIJO = 1e-4;
// The run ends if the merit is above this fraction of its value WINDOW iterations ago.
static const double HARDLY = 0.9;
static const double DESCENT = 1e-10; // smallest descent of Newton's direction, relative to |d|^2
static const double ORIGIN = 1e-14;  // z and w up to this value are at the kink of phi
static const double SPREAD = 2;      // random starts lie between exp(-SPREAD) and exp(SPREAD)

typedef struct Newton {
  S2LcpScaled s;
  double *w, *phi, *a, *b; // a, b: derivatives of phi with respect to z and w
  double *gradient, *direction, *trial, *trial_w;
  double *matrix;
  int32_t *pivot;
} Newton;

static void lcp_newton_product(const S2LcpScaled *s, const double *z, double *w) {
  for (int i = 0; i < s->n; ++i) {
    w[i] = s2_lcp_row(s->n, s->m, s->q, z, i);
  }
}

// Computes z + w - sqrt(z^2 + w^2) without cancellation.
static double lcp_newton_fischer(double z, double w) {
  double r = hypot(z, w), sum = z + w;
  return sum > 0 ? 2 * z * (w / (sum + r)) : sum - r;
}

static double lcp_newton_merit(int n, const double *z, const double *w) {
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    double phi = lcp_newton_fischer(z[i], w[i]);
    sum += phi * phi;
  }
  return sum / 2;
}

// Computes an element of the generalised Jacobian diag(a) + diag(b) M, and the gradient of the
// merit.
static void lcp_newton_linearise(Newton *t, const double *z) {
  int n = t->s.n;
  // At the kink, z_i = w_i = 0, a direction of z defines both derivatives.
  for (int i = 0; i < n; ++i) {
    t->trial[i] = hypot(z[i], t->w[i]) <= ORIGIN ? 1 : 0;
  }
  // Compute a = 1 - z / r and b = 1 - w / r with r = |(z, w)|.
  for (int i = 0; i < n; ++i) {
    double x = z[i], y = t->w[i];
    if (t->trial[i] != 0) {
      x = 1;
      // Subtract 1, because s2_lcp_row adds entry i of its second vector, which is 1 here.
      y = s2_lcp_row(n, t->s.m, t->trial, t->trial, i) - 1;
    }
    double r = hypot(x, y);
    t->phi[i] = lcp_newton_fischer(z[i], t->w[i]);
    t->a[i] = 1 - x / r;
    t->b[i] = 1 - y / r;
    t->gradient[i] = t->a[i] * t->phi[i];
  }
  // grad = (diag(a) + M' diag(b)) phi
  for (int i = 0; i < n; ++i) {
    double factor = t->b[i] * t->phi[i];
    for (int j = 0; j < n; ++j) {
      t->gradient[j] += factor * t->s.m[(size_t)i * (size_t)n + (size_t)j];
    }
  }
}

// Computes Newton's direction. Returns false if it does not descend.
static bool newton_direction(Newton *t, double *slope) {
  int n = t->s.n;
  // Solve (diag(a) + diag(b) M) d = -phi.
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      t->matrix[(size_t)j * (size_t)n + (size_t)i] =
          t->b[i] * t->s.m[(size_t)i * (size_t)n + (size_t)j] + (i == j ? t->a[i] : 0);
    }
    t->direction[j] = -t->phi[j];
  }
  S2Dense dense = {.size = n, .nonsymmetric = true, .a = t->matrix, .pivot = t->pivot};
  if (!s2_dense_factor(&dense)) {
    return false;
  }
  s2_dense_solve(&dense, t->direction);
  // The direction must descend: grad' d <= -DESCENT |d|^2.
  double size = 0;
  *slope = 0;
  for (int i = 0; i < n; ++i) {
    size += t->direction[i] * t->direction[i];
    *slope += t->gradient[i] * t->direction[i];
  }
  return isfinite(size) && *slope <= -DESCENT * size;
}

// Moves along the direction by the first step that reduces the merit enough, and writes this step
// to *step. Returns false if there is none.
static bool lcp_newton_search(Newton *t, double *z, double slope, double *step) {
  int n = t->s.n;
  double here = lcp_newton_merit(n, z, t->w);
  *step = 1;
  for (int k = 0; k < HALVINGS; ++k) {
    for (int i = 0; i < n; ++i) {
      t->trial[i] = z[i] + *step * t->direction[i];
    }
    lcp_newton_product(&t->s, t->trial, t->trial_w);
    if (lcp_newton_merit(n, t->trial, t->trial_w) <= here + ARMIJO * *step * slope) {
      memcpy(z, t->trial, sizeof(double) * (size_t)n);
      memcpy(t->w, t->trial_w, sizeof(double) * (size_t)n);
      return true;
    }
    *step /= 2;
  }
  return false;
}

// Clips z to z >= 0, as in the final answer, and returns the residual.
static double lcp_newton_clip(Newton *t, double *z) {
  for (int i = 0; i < t->s.n; ++i) {
    z[i] = fmax(0, z[i]);
  }
  lcp_newton_product(&t->s, z, t->w);
  return s2_lcp_unscaled_residual(&t->s, z, t->w);
}

// Iterates from z until the residual is small enough or no direction descends. Returns the
// residual.
static double lcp_newton_descend(Newton *t, double *z, int limit, S2LcpRun *run) {
  int n = t->s.n;
  lcp_newton_product(&t->s, z, t->w);
  double residual = INFINITY, before = INFINITY;
  for (int k = 0; k < limit; ++k) {
    // Stop if the merit hardly falls, because it is then near a local minimum.
    if (k % WINDOW == 0) {
      double now = lcp_newton_merit(t->s.n, z, t->w);
      if (now > HARDLY * before) {
        break;
      }
      before = now;
    }
    lcp_newton_linearise(t, z);
    // Take Newton's direction, or steepest descent.
    double slope, step;
    if (!newton_direction(t, &slope)) {
      slope = 0;
      for (int i = 0; i < n; ++i) {
        t->direction[i] = -t->gradient[i];
        slope -= t->gradient[i] * t->gradient[i];
      }
    }
    run->iterations += 1;
    if (!(slope < 0) || !lcp_newton_search(t, z, slope, &step)) {
      break;
    }
    // The residual must also be small after z is clipped.
    residual = s2_lcp_unscaled_residual(&t->s, z, t->w);
    s2_history_add(run->options->history, residual, step, 0);
    if (residual <= run->allowed && lcp_newton_clip(t, z) <= run->allowed) {
      return run->allowed;
    }
  }
  // Near a solution the set of positive z is often correct before their digits are, so solve for
  // these z directly.
  s2_lcp_finish(&t->s, z, t->w, run->arena);
  return lcp_newton_clip(t, z);
}

S2SolveStatus s2_lcp_newton_stage(S2LcpRun *run) {
  int n = run->problem->n;
  size_t size = (size_t)n;
  S2ArenaMark mark = s2_arena_mark(run->arena);
  Newton t = {
      .s = s2_lcp_equilibrate(n, run->problem->m, run->problem->q, run->arena),
      .w = S2_TAKE(run->arena, double, size),
      .phi = S2_TAKE(run->arena, double, size),
      .a = S2_TAKE(run->arena, double, size),
      .b = S2_TAKE(run->arena, double, size),
      .gradient = S2_TAKE(run->arena, double, size),
      .direction = S2_TAKE(run->arena, double, size),
      .trial = S2_TAKE(run->arena, double, size),
      .trial_w = S2_TAKE(run->arena, double, size),
      .matrix = S2_TAKE(run->arena, double, size *size),
      .pivot = S2_TAKE(run->arena, int32_t, size),
  };
  double *z = S2_TAKE(run->arena, double, size), least = INFINITY;
  int limit = run->options->max_iterations > 0 ? run->options->max_iterations : ITERATIONS;
  bool usable = s2_all_finite(t.s.m, size * size) && s2_all_finite(t.s.q, size);
  S2Rng rng = s2_rng_seeded(SEED);
  // Start from 0, from ones, then from random points. The best result counts.
  for (int start = 0; start < STARTS && usable && !(least <= run->allowed); ++start) {
    for (int i = 0; i < n; ++i) {
      z[i] = start == 0 ? 0 : start == 1 ? 1 : exp(SPREAD * (2 * s2_rng_uniform(&rng) - 1));
    }
    double residual = lcp_newton_descend(&t, z, limit, run);
    if (residual < least) {
      least = residual;
      memcpy(run->z, z, sizeof(double) * size);
      s2_lcp_unscale(&t.s, run->z);
    }
  }
  s2_arena_rewind(run->arena, mark);
  return least <= run->allowed ? S2_SOLVED : usable ? S2_MAX_ITERATIONS : S2_SINGULAR;
}
