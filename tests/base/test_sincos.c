// s2_sincos against the C library's long double functions.
#include "base/rng.h"
#include "base/vec.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const double PI = 3.14159265358979323846;

// |got - exact| in units in the last place of `exact`, which has more digits.
static double ulps(double got, long double exact) {
  int exponent;
  (void)frexp((double)exact, &exponent);
  int least = exponent - DBL_MANT_DIG;
  return (double)(fabsl((long double)got - exact) / ldexpl(1, least < -1074 ? -1074 : least));
}

static double worst_at(double x) {
  double s, c;
  s2_sincos(x, &s, &c);
  return fmax(ulps(s, sinl((long double)x)), ulps(c, cosl((long double)x)));
}

static void is_right_to_the_last_place(void **state) {
  (void)state;
  S2Rng random = s2_rng_seeded(1);
  double worst = 0;
  for (int i = 0; i < 400000; i++) {
    // Angles of all sizes, uniform and with uniform exponents.
    double size = i % 2 == 0 ? 8 : pow(10, -12 + 17.6 * s2_rng_uniform(&random));
    double x = size * (2 * s2_rng_uniform(&random) - 1);
    worst = fmax(worst, worst_at(x));
  }
  // Next to multiples of a quarter turn one of the two almost vanishes.
  for (int n = -100000; n <= 100000; n += 7) {
    double x = n * (PI / 2);
    worst = fmax(worst, fmax(worst_at(x), fmax(worst_at(nextafter(x, 1e9)), worst_at(x + 1e-9))));
  }
  print_message("worst: %.3f units in the last place\n", worst);
  assert_true(worst < 0.8);
}

static void knows_where_it_stands(void **state) {
  (void)state;
  double s, c;
  s2_sincos(0, &s, &c);
  assert_true(s == 0 && !signbit(s) && c == 1);
  s2_sincos(-0.0, &s, &c);
  assert_true(s == 0 && signbit(s) && c == 1);
  for (int i = 1; i < 1000; i++) { // odd and even
    double x = 0.37 * i, sm, cm;
    s2_sincos(x, &s, &c);
    s2_sincos(-x, &sm, &cm);
    assert_true(sm == -s && cm == c);
  }
}

static void answers_beyond_its_reduction(void **state) {
  (void)state;
  double s, c;
  const double far[] = {S2_SINCOS_MOST, nextafter(S2_SINCOS_MOST, 0), -1e6, 1e15, 1e300};
  for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
    s2_sincos(far[i], &s, &c);
    assert_true(ulps(s, sinl((long double)far[i])) < 1);
    assert_true(ulps(c, cosl((long double)far[i])) < 1);
  }
  s2_sincos(NAN, &s, &c);
  assert_true(isnan(s) && isnan(c));
  s2_sincos(INFINITY, &s, &c);
  assert_true(isnan(s) && isnan(c));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_right_to_the_last_place),
      cmocka_unit_test(knows_where_it_stands),
      cmocka_unit_test(answers_beyond_its_reduction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
