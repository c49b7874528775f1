// Numbers as text: up to 15 digits where they read back as the same number, otherwise the 17 of
// printf; for numbers of all sizes, infinities and nan.
#include "base/rng.h"
#include "record/s2d/output.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int digits_of(const char *text) {
  int count = 0;
  for (; *text != '\0' && *text != 'e'; text++) {
    count += *text >= '0' && *text <= '9' && (count > 0 || *text != '0');
  }
  return count;
}

static void check(double value) {
  char got[S2_NUMBER_SIZE], wanted[64];
  snprintf(wanted, sizeof wanted, "%.17g", value);
  size_t length = s2_number_exact(got, value);
  assert_int_equal(length, strlen(got));
  if (strcmp(got, wanted) != 0) {
    assert_true(strtod(got, NULL) == value && digits_of(got) <= 15);
  }
}

static void check_both(double value) {
  check(value);
  check(-value);
}

static double of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void powers_and_their_neighbours(void **state) {
  (void)state;
  for (int k = -1074; k <= 1023; k++) {
    double power = ldexp(1, k);
    check_both(power);
    check_both(nextafter(power, 0));
    check_both(nextafter(power, INFINITY));
  }
  for (int k = -323; k <= 308; k++) {
    char text[16];
    snprintf(text, sizeof text, "1e%d", k);
    double power = 0;
    assert_int_equal(sscanf(text, "%lf", &power), 1);
    check_both(power);
    check_both(nextafter(power, 0));
    check_both(nextafter(power, INFINITY));
  }
}

static void edges(void **state) {
  (void)state;
  const double values[] = {0,       0.1,     0.5,     1,    1.5,    123456789, 99999999999999984.0,
                           1e17,    1e16,    9e15,    0.25, 0.0001, 0.00001,   5e-324,
                           DBL_MIN, DBL_MAX, 3.14159, 1e22, 1e23,   12345.678, 0x1.8p60};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    check_both(values[i]);
  }
  for (int i = 0; i < 20000; i++) {
    check(i * 0.001);
    // many end in a five that is cut off, and round to the even neighbour
    check(ldexp(2 * i + 1, -58));
    check((double)((UINT64_C(1) << 53) + (uint64_t)i) * 8);
  }
}

static void few_digits(void **state) {
  (void)state;
  const struct {
    double value;
    const char *text;
  } cases[] = {{0.1, "0.1"},
               {0.6, "0.6"},
               {-0.3, "-0.3"},
               {123.456, "123.456"},
               {1e-5, "1e-05"},
               {2.5e-11, "2.5e-11"},
               {0.12345678901234, "0.12345678901234"},
               {1e22, "1e+22"},
               {1e23, "9.9999999999999992e+22"},
               {1.0 / 3, "0.33333333333333331"},
               {0.99999999999999989, "0.99999999999999989"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[S2_NUMBER_SIZE];
    s2_number_exact(text, cases[i].value);
    assert_string_equal(text, cases[i].text);
  }
}

static void any_bits(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(1);
  for (int i = 0; i < 200000; i++) {
    double value = of_bits(s2_rng_next(&rng));
    if (isfinite(value)) {
      check(value);
    }
    check(ldexp(s2_rng_uniform(&rng) - 0.5, i % 80 - 60));
  }
}

static void no_numbers(void **state) {
  (void)state;
  char text[S2_NUMBER_SIZE];
  const struct {
    double value;
    const char *text;
  } cases[] = {{(double)NAN, "nan"}, {-(double)NAN, "nan"}, {INFINITY, "inf"}, {-INFINITY, "-inf"}};
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(s2_number_exact(text, cases[i].value), strlen(cases[i].text));
    assert_string_equal(text, cases[i].text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(powers_and_their_neighbours),
      cmocka_unit_test(edges),
      cmocka_unit_test(few_digits),
      cmocka_unit_test(any_bits),
      cmocka_unit_test(no_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
