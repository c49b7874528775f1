#include "base/rng.h"

#include <assert.h>
#include <math.h>

static uint64_t rng_splitmix(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static uint64_t rng_rotl(uint64_t x, int k) {
  return (x << k) | (x >> (64 - k));
}

S2Rng s2_rng_seeded(uint64_t seed) {
  S2Rng rng;
  for (int i = 0; i < 4; i++) {
    rng.s[i] = rng_splitmix(&seed);
  }
  return rng;
}

S2Rng s2_rng_split(S2Rng *rng) {
  return s2_rng_seeded(s2_rng_next(rng));
}

uint64_t s2_rng_next(S2Rng *rng) {
  // xoshiro256** (Blackman and Vigna 2018).
  uint64_t *s = rng->s;
  uint64_t result = rng_rotl(s[1] * 5, 7) * 9;
  uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rng_rotl(s[3], 45);
  return result;
}

double s2_rng_uniform(S2Rng *rng) {
  // A random multiple of 2^-53 in [0, 1).
  return (double)(s2_rng_next(rng) >> 11) * 0x1p-53;
}

double s2_rng_normal(S2Rng *rng) {
  // Marsaglia's polar method. The second number is discarded, so s[] remains the complete state.
  double x, y, r;
  do {
    x = 2 * s2_rng_uniform(rng) - 1;
    y = 2 * s2_rng_uniform(rng) - 1;
    r = x * x + y * y;
  } while (r >= 1 || r == 0);
  return x * sqrt(-2 * log(r) / r);
}

int64_t s2_rng_integer(S2Rng *rng, int64_t lo, int64_t hi) {
  assert(lo <= hi);
  uint64_t span = (uint64_t)hi - (uint64_t)lo + 1;
  if (span == 0) {
    return (int64_t)s2_rng_next(rng);
  }
  // Reject draws above the last whole multiple of the span, so that all numbers are equally likely.
  uint64_t limit = UINT64_MAX - UINT64_MAX % span;
  uint64_t draw;
  do {
    draw = s2_rng_next(rng);
  } while (draw >= limit);
  return (int64_t)((uint64_t)lo + draw % span);
}
