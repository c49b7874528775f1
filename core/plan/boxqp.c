#include "plan/boxqp.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 100 };            // maximum number of Newton steps
static const double SETTLED = 1e-12;  // tolerance for the gradient of free numbers / max |g|
static const double ARMIJO = 0.1;     // fraction of the expected decrease that a step must achieve
static const double SHORTER = 0.6;    // factor for shortening a step that decreases too little
static const double SHORTEST = 1e-20; // shorter steps, relative to the first, are rounding errors

static bool boxqp_factor(const S2BoxQp *qp, const bool *free, double *factor, int *count) {
  int n = qp->n, m = 0;
  // Copy the rows and columns of the free numbers, in their order.
  for (int i = 0; i < n; i++) {
    if (!free[i]) {
      continue;
    }
    int k = 0;
    for (int j = 0; j <= i; j++) {
      if (free[j]) {
        factor[m * n + k++] = qp->h[i * n + j];
      }
    }
    m++;
  }
  // Compute L L', row by row.
  for (int i = 0; i < m; i++) {
    for (int j = 0; j <= i; j++) {
      double sum = factor[i * n + j];
      for (int k = 0; k < j; k++) {
        sum -= factor[i * n + k] * factor[j * n + k];
      }
      if (i == j && !(sum > 0)) {
        return false;
      }
      factor[i * n + j] = i == j ? sqrt(sum) : sum / factor[j * n + j];
    }
  }
  *count = m;
  return true;
}

void s2_boxqp_solve(int n, int stride, const double *factor, double *b) {
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++) {
      b[i] -= factor[i * stride + k] * b[k];
    }
    b[i] /= factor[i * stride + i];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++) {
      b[i] -= factor[k * stride + i] * b[k];
    }
    b[i] /= factor[i * stride + i];
  }
}

static double boxqp_clamp(const S2BoxQp *qp, int i, double x) {
  return x < qp->lo[i] ? qp->lo[i] : x > qp->hi[i] ? qp->hi[i] : x;
}

// Returns the value and writes the gradient to `slope`.
static double boxqp_value(const S2BoxQp *qp, const double *x, double *slope) {
  double value = 0;
  for (int i = 0; i < qp->n; i++) {
    double hx = 0;
    for (int j = 0; j < qp->n; j++) {
      hx += qp->h[i * qp->n + j] * x[j];
    }
    slope[i] = hx + qp->g[i];
    value += x[i] * (0.5 * hx + qp->g[i]);
  }
  return value;
}

// Marks the free numbers. A number is free if it is between its bounds, or at a bound with a slope
// that pulls it inwards. Returns true if the set has changed.
static bool boxqp_sort(const S2BoxQp *qp, const double *x, const double *slope, bool *free) {
  bool changed = false;
  for (int i = 0; i < qp->n; i++) {
    bool held = (x[i] <= qp->lo[i] && slope[i] > 0) || (x[i] >= qp->hi[i] && slope[i] < 0) ||
                qp->lo[i] == qp->hi[i];
    changed |= free[i] == held;
    free[i] = !held;
  }
  return changed;
}

// Computes the Newton step of the free numbers.
static void boxqp_step(const S2BoxQp *qp, const bool *free, const double *factor, int count,
                       const double *slope, double *packed, double *step) {
  int k = 0;
  for (int i = 0; i < qp->n; i++) {
    if (free[i]) {
      packed[k++] = -slope[i];
    }
  }
  s2_boxqp_solve(count, qp->n, factor, packed);
  k = 0;
  for (int i = 0; i < qp->n; i++) {
    step[i] = free[i] ? packed[k++] : 0;
  }
}

bool s2_boxqp(const S2BoxQp *qp, S2Arena *arena, double *x, bool *free, double *factor) {
  int n = qp->n, count = 0;
  S2ArenaMark mark = s2_arena_mark(arena);
  double *slope = S2_TAKE(arena, double, n + 1), *step = S2_TAKE(arena, double, n + 1);
  double *next = S2_TAKE(arena, double, n + 1), *packed = S2_TAKE(arena, double, n + 1);
  double size = 0;
  for (int i = 0; i < n; i++) {
    x[i] = boxqp_clamp(qp, i, x[i]);
    size = fmax(size, fabs(qp->g[i]));
    free[i] = true;
  }
  double value = boxqp_value(qp, x, slope);
  bool good = boxqp_factor(qp, free, factor, &count), first = true;
  for (int pass = 0; pass < MOST_STEPS && good; pass++) {
    // Factor h for the current free numbers.
    if (boxqp_sort(qp, x, slope, free) || first) {
      good = boxqp_factor(qp, free, factor, &count);
      first = false;
    }
    double left = 0;
    for (int i = 0; i < n; i++) {
      left = free[i] ? fmax(left, fabs(slope[i])) : left;
    }
    if (!good || left <= SETTLED * size) {
      break;
    }
    // Shorten the step, clipped to the bounds, until the value decreases enough.
    boxqp_step(qp, free, factor, count, slope, packed, step);
    double length = 1;
    do {
      double expected = 0;
      for (int i = 0; i < n; i++) {
        next[i] = boxqp_clamp(qp, i, x[i] + length * step[i]);
        expected += slope[i] * (next[i] - x[i]);
      }
      double found = boxqp_value(qp, next, packed);
      if (found <= value + ARMIJO * expected) {
        break;
      }
      length *= SHORTER;
    } while (length > SHORTEST);
    if (length <= SHORTEST) {
      break; // the remaining decrease is only rounding error
    }
    memcpy(x, next, sizeof(double) * (size_t)n);
    value = boxqp_value(qp, x, slope);
  }
  s2_arena_rewind(arena, mark);
  return good;
}
