// Random vectors in cones and comparisons, for the tests of cones and of the solver that uses them.
#ifndef S2_TEST_CONES_H
#define S2_TEST_CONES_H

// these must be included before cmocka.h
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "mcp/cone/cone.h"

#include <math.h>

static inline void assert_near(double got, double want, double tolerance) {
  if (!(fabs(got - want) <= tolerance)) {
    fail_msg("got %.17g, want %.17g within %g", got, want, tolerance);
  }
}

static inline double uniform(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static inline void random_vector(S2Rng *rng, double *v, int n, double deviation) {
  for (int i = 0; i < n; ++i) {
    v[i] = deviation * s2_rng_normal(rng);
  }
}

// Inside the cones, at least by `margin`.
static inline void random_inside(S2Rng *rng, const S2Cones *cones, double *v, double margin) {
  random_vector(rng, v, s2_cones_size(cones), 1);
  for (int i = 0; i < cones->orthant; ++i) {
    v[i] = fabs(v[i]) + margin;
  }
  v += cones->orthant;
  for (int i = 0; i < cones->soc_count; v += cones->soc[i], ++i) {
    double sum = 0;
    for (int k = 1; k < cones->soc[i]; ++k) {
      sum += v[k] * v[k];
    }
    v[0] = sqrt(sum) + fabs(v[0]) + margin;
  }
}

#endif
