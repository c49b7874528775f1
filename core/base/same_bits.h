// Are numbers the same ones, bit for bit? Unlike ==, a nan is itself, and 0 is not -0.
#ifndef S2_SAME_BITS_H
#define S2_SAME_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool s2_same_bits(const double *a, const double *b, size_t count) {
  return memcmp(a, b, count * sizeof *a) == 0; // NOLINT(bugprone-suspicious-memory-comparison)
}

#endif
