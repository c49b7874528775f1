// Included before every test program (tests/CMakeLists.txt): fmax and fmin that keep NAN. Those of
// C ignore it, so "the largest of all errors is small" would hold where every error is NAN.
#ifndef S2_TEST_NAN_H
#define S2_TEST_NAN_H

#include <math.h>

static inline double s2_test_larger(double a, double b) {
  return isnan(b) || b > a ? b : a;
}

static inline double s2_test_smaller(double a, double b) {
  return isnan(b) || b < a ? b : a;
}

#define fmax(a, b) s2_test_larger(a, b)
#define fmin(a, b) s2_test_smaller(a, b)

#endif
