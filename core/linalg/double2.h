// Numbers of twice the working precision, as unevaluated sums of two doubles (Dekker 1971). They
// are used only in the few places where cancellation loses more digits than a double has. The code
// needs arithmetic without contraction (-ffp-contract=off).
#ifndef S2_DOUBLE2_H
#define S2_DOUBLE2_H

#include <math.h>
#include <stdbool.h>

// Larger doubles would overflow when they are split.
static const double S2_DOUBLE2_LARGE = 0x1p990;

typedef struct S2Double2 {
  double hi, lo; // |lo| <= half a unit in the last place of hi
} S2Double2;

// Computes a + b exactly (Knuth).
static inline S2Double2 s2_double2_sum(double a, double b) {
  double sum = a + b, shadow = sum - a;
  return (S2Double2){sum, (a - (sum - shadow)) + (b - shadow)};
}

// Computes a b exactly (Dekker, Veltkamp), unless there is overflow or underflow.
static inline S2Double2 s2_double2_product(double a, double b) {
  const double split = 134217729; // 2^27 + 1: splits a double into two parts of 26 bits
  double unit = 1;
  if (fabs(a) > S2_DOUBLE2_LARGE) {
    a *= 0x1p-64;
    unit = 0x1p64;
  }
  if (fabs(b) > S2_DOUBLE2_LARGE) {
    b *= 0x1p-64;
    unit *= 0x1p64;
  }
  double a_big = split * a, b_big = split * b;
  double a_hi = a_big - (a_big - a), b_hi = b_big - (b_big - b);
  double a_lo = a - a_hi, b_lo = b - b_hi;
  double product = a * b;
  double lost = ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo;
  return (S2Double2){product * unit, lost * unit};
}

static inline S2Double2 s2_double2_add(S2Double2 a, S2Double2 b) {
  S2Double2 hi = s2_double2_sum(a.hi, b.hi), lo = s2_double2_sum(a.lo, b.lo);
  hi = s2_double2_sum(hi.hi, hi.lo + lo.hi);
  return s2_double2_sum(hi.hi, hi.lo + lo.lo);
}

static inline S2Double2 s2_double2_multiply(S2Double2 a, S2Double2 b) {
  S2Double2 product = s2_double2_product(a.hi, b.hi);
  return s2_double2_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

static inline S2Double2 s2_double2_negate(S2Double2 a) {
  return (S2Double2){-a.hi, -a.lo};
}

static inline bool s2_double2_less(S2Double2 a, S2Double2 b) {
  return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

static inline S2Double2 s2_double2_divide(S2Double2 a, S2Double2 b) {
  double first = a.hi / b.hi;
  S2Double2 rest =
      s2_double2_add(a, s2_double2_negate(s2_double2_multiply(b, (S2Double2){first, 0})));
  double second = rest.hi / b.hi;
  rest = s2_double2_add(rest, s2_double2_negate(s2_double2_multiply(b, (S2Double2){second, 0})));
  S2Double2 sum = s2_double2_sum(first, second);
  return s2_double2_add(sum, (S2Double2){rest.hi / b.hi, 0});
}

#endif
