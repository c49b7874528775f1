// Small functions for numbers and plain arrays of numbers.
#ifndef S2_NUMBERS_H
#define S2_NUMBERS_H

#include "linalg/quad.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// Returns the larger number. Unlike fmax, returns NaN if an argument is NaN.
S2_INLINE double s2_larger(double a, double b) {
  return b > a || isnan(b) ? b : a;
}

// Clamps x to the range from -bound to bound.
S2_INLINE double s2_clip(double x, double bound) {
  return x > bound ? bound : x < -bound ? -bound : x;
}

// Returns a power of two near 1 / sqrt(size), or 1 if there is none. Scaling by a power of two
// causes no rounding.
static inline double s2_half_inverse(double size) {
  int exponent = 0;
  if (size > 0 && isfinite(size)) {
    frexp(size, &exponent);
  }
  return ldexp(1, -exponent / 2);
}

static inline bool s2_all_finite(const double *x, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(x[i])) {
      return false;
    }
  }
  return true;
}

// Returns max |x_i|, or 0 for an empty array.
static inline double s2_largest(const double *x, size_t count) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) {
    largest = fmax(largest, fabs(x[i]));
  }
  return largest;
}

// Adds the products in order, from first to last.
static inline double s2_numbers_dot(const double *x, const double *y, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) {
    sum += x[i] * y[i];
  }
  return sum;
}

// The pointers may be NULL if the count is 0, because empty arrays have no memory.
static inline void s2_copy_numbers(double *to, const double *from, size_t count) {
  if (count > 0) {
    memcpy(to, from, sizeof(double) * count);
  }
}

static inline void s2_clear_numbers(double *to, size_t count) {
  if (count > 0) {
    memset(to, 0, sizeof(double) * count);
  }
}

// `to` may be NULL if the caller does not need the result.
static inline void s2_fill_numbers(double *to, int count, double value) {
  for (int i = 0; to != NULL && i < count; i++) {
    to[i] = value;
  }
}

static inline void s2_swap_numbers(double *x, double *y) {
  double kept = *x;
  *x = *y;
  *y = kept;
}

#endif
