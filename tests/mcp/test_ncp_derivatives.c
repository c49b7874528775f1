// The cone interior point: derivatives of solutions.
#include "ncp_problems.h"

// ---- Derivatives -------------------------------------------------------------------------------

// Where the active set is about to change there is no derivative at kappa = 0.
static bool is_strict(const S2Ncp *ncp, const Answer *a) {
  double sum[MAX];
  for (int i = 0; i < s2_cones_size(&ncp->cones); ++i) {
    sum[i] = a->y[i] + a->z[i];
  }
  return s2_cones_margin(&ncp->cones, sum) > 0.1;
}

static void flatten(const Affine *p, const Answer *a, double *w) {
  for (int i = 0; i < p->stored; ++i) {
    w[i] = stored_at(p, a->x, a->y, a->z, i);
  }
}

static void check_derivatives(double kappa, int wanted) {
  S2Rng rng = s2_rng_seeded(15);
  S2Arena arena;
  s2_arena_init(&arena);
  Affine p;
  S2Ncp ncp;
  Answer a;
  enum { PARAMETERS = 3 };
  const double h = 1e-5;
  int compared = 0;
  double largest = 0;
  for (int trial = 0; trial < 2 * wanted && compared < wanted; ++trial) {
    double theta[PARAMETERS] = {0.1, -0.2, 0.3}, w[MAX], plus[MAX], minus[MAX];
    random_program(&rng, &p, &ncp, some_cones(trial), 1 + trial % 6, trial % 2 ? 0 : 0.3);
    p.parameters = ncp.parameters = PARAMETERS;
    ncp.theta = theta;
    ncp.jacobian = trial % 3 == 0 ? NULL : affine_jacobian;
    for (int i = 0; i < p.equations; ++i) {
      random_vector(&rng, p.t[i], PARAMETERS, 0.5);
    }
    S2NcpOptions options = s2_ncp_options();
    options.kappa = kappa;
    options.r_tol = options.b_tol = 1e-12;
    memset(a.x, 0, sizeof a.x);
    solve(&ncp, &options, &a);
    assert_int_equal(a.info.status, S2_SOLVED);
    if (kappa == 0 && !is_strict(&ncp, &a)) {
      continue;
    }
    compared += 1;
    double dw[MAX * PARAMETERS], g[MAX], gradient[PARAMETERS];
    bool regular;
    s2_ncp_derivative(&ncp, a.x, a.y, a.z, dw, &regular, &arena);
    assert_true(regular);
    random_vector(&rng, g, p.stored, 1);
    s2_ncp_pull_back(&ncp, a.x, a.y, a.z, g, gradient, &regular, &arena);
    assert_true(regular);
    flatten(&p, &a, w);
    for (int k = 0; k < PARAMETERS; ++k) {
      double centre = theta[k], sum = 0;
      theta[k] = centre + h;
      solve(&ncp, &options, &a);
      flatten(&p, &a, plus);
      theta[k] = centre - h;
      solve(&ncp, &options, &a);
      flatten(&p, &a, minus);
      theta[k] = centre;
      for (int i = 0; i < p.stored; ++i) {
        double difference = (plus[i] - minus[i]) / (2 * h);
        assert_near(dw[i * PARAMETERS + k], difference, 2e-5 * (1 + fabs(difference)));
        sum += g[i] * dw[i * PARAMETERS + k];
        largest = fmax(largest, fabs(difference));
      }
      assert_near(gradient[k], sum, 1e-8 * (1 + fabs(sum)));
    }
  }
  assert_int_equal(compared, wanted);
  assert_true(largest > 1);
  s2_arena_free(&arena);
}

static void test_exact_derivatives(void **state) {
  (void)state;
  check_derivatives(0, 250);
}

static void test_smooth_derivatives(void **state) {
  (void)state;
  check_derivatives(1e-3, 250);
}

// There is none where y and z vanish together, nor where the solution is not unique.
static void test_no_derivative(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Affine p;
  S2Ncp ncp = affine_problem(&p, (S2Cones){0}, 2);
  p.parameters = ncp.parameters = 1;
  double theta = 1, x[2] = {0.5, 0.5}, dw[2], gradient = 0;
  const double ones[2] = {1, 1};
  ncp.theta = &theta;
  for (int i = 0; i < 2; ++i) {
    p.a[i][0] = p.a[i][1] = 1;
    p.t[i][0] = -1;
  }
  bool regular = true;
  assert_int_equal(s2_ncp_derivative(&ncp, x, NULL, NULL, dw, &regular, &arena).code, S2_OK);
  assert_true(!regular && isnan(dw[0]) && isnan(dw[1]));
  regular = true;
  s2_ncp_pull_back(&ncp, x, NULL, NULL, ones, &gradient, &regular, &arena);
  assert_true(!regular && isnan(gradient));
  const double zero = 0;
  ncp = lcp_problem(&p, 1, ones, &zero);
  s2_ncp_derivative(&ncp, NULL, &zero, &zero, NULL, &regular, &arena);
  assert_false(regular);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact_derivatives),
      cmocka_unit_test(test_smooth_derivatives),
      cmocka_unit_test(test_no_derivative),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
