// Second-order cones and spaces of rotations: products, steps to the boundary, moves.
#include "cones.h"
#include "mcp/cone/ncp_space.h"

// ---- Cones -------------------------------------------------------------------------------------

static const int ALL_SIZES[] = {3, 1, 2, 5};
static const S2Cones ALL_CONES = {.orthant = 3, .soc_count = 4, .soc = ALL_SIZES};

static void test_cone_sizes(void **state) {
  (void)state;
  assert_int_equal(s2_cones_size(&ALL_CONES), 14);
  assert_int_equal(s2_cones_degree(&ALL_CONES), 7);
}

static void test_cone_product(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(1);
  enum { N = 14 };
  double a[N], b[N], ab[N], ba[N], matrix[N * N] = {0}, e[N] = {0};
  random_vector(&rng, a, N, 1);
  random_vector(&rng, b, N, 1);
  s2_cones_product(&ALL_CONES, a, b, ab);
  s2_cones_product(&ALL_CONES, b, a, ba);
  assert_memory_equal(ab, ba, sizeof ab);
  assert_near(ab[3], a[3] * b[3] + a[4] * b[4] + a[5] * b[5], 1e-15);
  assert_near(ab[4], a[3] * b[4] + a[4] * b[3], 1e-15);
  s2_cones_add_product_matrix(&ALL_CONES, a, 0.25, matrix, N);
  s2_cones_add_neutral(&ALL_CONES, 1, e);
  for (int i = 0; i < N; ++i) {
    double sum = -0.25 * b[i];
    for (int k = 0; k < N; ++k) {
      sum += matrix[i * N + k] * b[k];
    }
    assert_near(sum, ab[i], 1e-14);
  }
  s2_cones_product(&ALL_CONES, a, e, ab);
  assert_memory_equal(ab, a, sizeof a);
}

static void test_cone_step(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(2);
  enum { N = 14 };
  int met = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    double a[N], d[N], at[N], scale = exp(uniform(&rng, -5, 5));
    random_inside(&rng, &ALL_CONES, a, trial % 2 == 0 ? 1e-12 : 0.1);
    random_vector(&rng, d, N, scale);
    double step = s2_cones_step(&ALL_CONES, a, d, 1, 1);
    assert_true(step > 0 && step <= 1);
    for (int i = 0; i < N; ++i) {
      at[i] = a[i] + step * d[i];
    }
    double margin = s2_cones_margin(&ALL_CONES, at);
    double rounding = 1e-13 * fmax(1, step * scale);
    assert_true(margin >= -rounding);
    if (step < 1) {
      met += 1;
      assert_true(margin <= rounding);
      assert_near(s2_cones_step(&ALL_CONES, a, d, 0.5, 0.5), step / 2, 1e-15);
    }
  }
  assert_true(met > 1000);
}

static void test_cone_step_extremes(void **state) {
  (void)state;
  const int size = 3;
  const S2Cones q3 = {.soc_count = 1, .soc = &size};
  const double still[3] = {0}, up[3] = {1, 0, 0}, down[3] = {-2, 0, 0}, side[3] = {0, 2, 0};
  const double along[3] = {1, 1, 0}, huge[3] = {1e150, 1e149, 0}, tiny[3] = {-1e-150, 0, 0};
  const double deep[3] = {-1e300, 0, 0}, thin[3] = {1, 1 - 1e-14, 0}, inward[3] = {-1, -2, 0};
  assert_true(s2_cones_step(&q3, up, still, 1, 1) == 1);
  assert_near(s2_cones_step(&q3, up, down, 1, 1), 0.5, 1e-16);
  assert_near(s2_cones_step(&q3, up, side, 1, 1), 0.5, 1e-16);
  assert_near(s2_cones_step(&q3, up, side, 1, 0.9), 0.45, 1e-16);
  assert_true(s2_cones_step(&q3, up, along, 1, 1) == 1);
  assert_true(s2_cones_step(&q3, huge, tiny, 1, 1) == 1);
  assert_near(s2_cones_step(&q3, huge, deep, 1, 1) / 0.9e-150, 1, 1e-14);
  // from next to the boundary to the other side: 1 - s = |1 - 2 s|
  assert_near(s2_cones_step(&q3, thin, inward, 1, 1), 2.0 / 3, 1e-13);
}

// ---- Manifolds ---------------------------------------------------------------------------------

// two numbers, a rotation, a number, a quaternion
static const int ROTATION = 2, QUATERNION = 5;
static const S2NcpSpace MIXED = {
    .size = 9, .rotations = 1, .rotation = &ROTATION, .quaternions = 1, .quaternion = &QUATERNION};

static void random_mixed(S2Rng *rng, double *x) {
  random_vector(rng, x, MIXED.size, 1);
  assert_int_equal(s2_ncp_space_normalise(&MIXED, x), -1);
}

static void test_space_moves(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(3);
  enum { N = 9, D = 7 };
  assert_int_equal(s2_ncp_space_dimension(&MIXED), D);
  double x[N], d[D], row[N], pulled[D], pushed[N], plus[N], minus[N];
  for (int trial = 0; trial < 50; ++trial) {
    random_mixed(&rng, x);
    random_vector(&rng, d, D, 1);
    random_vector(&rng, row, N, 1);
    const double h = 1e-5;
    s2_ncp_space_move(&MIXED, x, d, h, plus);
    s2_ncp_space_move(&MIXED, x, d, -h, minus);
    s2_ncp_space_push(&MIXED, x, d, pushed);
    s2_ncp_space_pull(&MIXED, x, row, pulled);
    double along = 0, of_pulled = 0;
    for (int i = 0; i < N; ++i) {
      assert_near(pushed[i], (plus[i] - minus[i]) / (2 * h), 1e-9);
      along += row[i] * pushed[i];
    }
    for (int i = 0; i < D; ++i) {
      of_pulled += pulled[i] * d[i];
    }
    assert_near(of_pulled, along, 1e-13);
  }
  for (int i = 0; i < 100000; ++i) {
    s2_ncp_space_move(&MIXED, x, d, 1, x);
  }
  assert_near(x[2] * x[2] + x[3] * x[3], 1, 1e-15);
  assert_near(x[5] * x[5] + x[6] * x[6] + x[7] * x[7] + x[8] * x[8], 1, 1e-15);
}

static void test_space_known(void **state) {
  (void)state;
  double x[9], d[7] = {0, 0, 0.3, 0, 0, 0, 1.2};
  s2_ncp_space_origin(&MIXED, x);
  s2_ncp_space_move(&MIXED, x, d, 1, x);
  const double want[9] = {0, 0, cos(0.3), sin(0.3), 0, cos(0.6), 0, 0, sin(0.6)};
  for (int i = 0; i < 9; ++i) {
    assert_near(x[i], want[i], 1e-15);
  }
  double flat[9] = {1, 1, 1e-200, 1e-200, 0, 0, 0, 0, 0};
  assert_int_equal(s2_ncp_space_normalise(&MIXED, flat), 5);
  assert_near(flat[2], sqrt(0.5), 1e-15);
}

static void test_space_shapes(void **state) {
  (void)state;
  const int twice[] = {1, 1}, apart[] = {0, 2}, close[] = {0, 1}, late[] = {3}, first[] = {0};
  assert_true(s2_ncp_space_valid(&(S2NcpSpace){0}));
  assert_true(s2_ncp_space_valid(&(S2NcpSpace){.size = 4, .rotations = 2, .rotation = apart}));
  assert_false(s2_ncp_space_valid(&(S2NcpSpace){.size = 4, .rotations = 2, .rotation = twice}));
  assert_false(s2_ncp_space_valid(&(S2NcpSpace){.size = 4, .rotations = 2, .rotation = close}));
  assert_false(s2_ncp_space_valid(&(S2NcpSpace){.size = 4, .rotations = 1, .rotation = late}));
  assert_false(s2_ncp_space_valid(&(S2NcpSpace){
      .size = 4, .rotations = 1, .rotation = late, .quaternions = 1, .quaternion = first}));
  assert_false(s2_ncp_space_valid(&(S2NcpSpace){.size = 3, .quaternions = 1, .quaternion = first}));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cone_sizes),   cmocka_unit_test(test_cone_product),
      cmocka_unit_test(test_cone_step),    cmocka_unit_test(test_cone_step_extremes),
      cmocka_unit_test(test_space_moves),  cmocka_unit_test(test_space_known),
      cmocka_unit_test(test_space_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
