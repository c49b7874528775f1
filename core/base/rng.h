// Deterministic random numbers: xoshiro256** (Blackman and Vigna, public domain algorithm), seeded
// through splitmix64. The numbers are the same on every machine.
#ifndef S2_RNG_H
#define S2_RNG_H

#include <stdint.h>

typedef struct S2Rng {
  uint64_t s[4];
} S2Rng;

S2Rng s2_rng_seeded(uint64_t seed);

// Returns an independent stream, seeded from `rng`, which advances.
S2Rng s2_rng_split(S2Rng *rng);

uint64_t s2_rng_next(S2Rng *rng);
double s2_rng_uniform(S2Rng *rng);                          // a number in [0, 1), 53 bits
double s2_rng_normal(S2Rng *rng);                           // normal distribution with mean 0 and
                                                            // standard deviation 1 (polar method)
int64_t s2_rng_integer(S2Rng *rng, int64_t lo, int64_t hi); // an integer in lo..hi inclusive,
                                                            // unbiased; lo <= hi

#endif
