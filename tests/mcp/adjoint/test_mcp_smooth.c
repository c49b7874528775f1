// Step problems on the central path and their derivatives compared with central differences; and
// the flags where there is no derivative.
#include "mcp_vjp_problems.h"

#include "base/memory.h"

// The pairs of a solved problem by their definition; returns the largest |z s w / V^2 - kappa|.
static double off_the_path(const Case *c) {
  double u[ROWS], w[ROWS], worst = 0, scale = c->problem.velocity_scale;
  s2_mcp_row_velocity(&c->problem, c->v, u);
  s2_mcp_delassus_diagonal(&c->problem, w);
  for (int i = 0; i < c->rows; i++) {
    const S2Row *row = &c->row[i];
    if (row->lo == -INFINITY || row->coupled_to >= 0) {
      continue;
    }
    const double *z = c->z + 4 * i;
    double un = u[i] + row->compliance * c->lambda[i] + row->bias;
    assert_true(z[0] == c->lambda[i] && z[0] > 0);
    worst = fmax(worst, fabs(z[0] * un * w[i] / (scale * scale) - c->kappa));
    if (i + 1 == c->rows || row[1].coupled_to != i || row[1].mu <= 0) {
      continue;
    }
    double ut = u[i + 1] + row[1].compliance * c->lambda[i + 1] + row[1].bias;
    double s[4] = {0, z[3] + ut, z[3] - ut, row[1].mu * z[0] - z[1] - z[2]};
    assert_true(fabs(z[1] - z[2] - c->lambda[i + 1]) <= 1e-14 * fmax(z[1], z[2]));
    for (int k = 1; k < 4; k++) {
      assert_true(z[k] > 0);
      worst = fmax(worst, fabs(z[k] * s[k] * w[i + 1] / (scale * scale) - c->kappa));
    }
  }
  return worst;
}

static void smooth_derivatives_agree_with_differences(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(7);
  int checked = 0, unsolved = 0, redundant = 0;
  double worst = 0;
  for (uint64_t seed = 1; seed <= PROBLEMS; seed++) {
    make_random(&c, seed);
    c.kappa = pow(10, -(double)s2_rng_integer(&rng, 1, 4));
    if (!solve(&c, &arena)) {
      unsolved++;
      continue;
    }
    assert_true(off_the_path(&c) <= 2e-12);
    Check check = {.base = &c, .arena = &arena};
    unsigned flags = vjp(&c, c.dv, c.dlambda, &g, &arena);
    if (flags & S2_VJP_REDUNDANT) { // hinges
      redundant++;
      continue;
    }
    assert_int_equal(flags, 0);
    check_against_differences(&check, &g, 3e-5, &rng);
    for (int i = 0; i < c.rows; i++) {
      assert_true(c.row[i].mu > 0 || g.mu[i] == 0);
    }
    checked += !check.moved;
    worst = fmax(worst, check.worst);
  }
  print_message("%d checked, %d not solved, %d redundant, worst %.1e\n", checked, unsolved,
                redundant, worst);
  assert_true(worst <= AGREE);
  assert_true(checked >= S2_FEWER(0.95, 0.9) * PROBLEMS);
  assert_true(unsolved <= S2_FEWER(0.04, 0.1) * PROBLEMS);
  s2_arena_free(&arena);
}

// Far from switches the path ends at the solution with its derivative.
static void smooth_derivatives_tend_to_exact_ones(void **state) {
  (void)state;
  static Case c, path;
  static Gradient g, h;
  S2Arena arena;
  s2_arena_init(&arena);
  int checked = 0, other = 0;
  for (uint64_t seed = 1; seed <= S2_FEWER(150, 45); seed++) {
    Mode mode[ROWS];
    make_random(&c, seed);
    path = c;
    path.kappa = 1e-9;
    path.problem.mass = path.mass;
    path.problem.rhs = path.rhs;
    path.problem.row = path.row;
    if (!solve(&c, &arena) || modes_of(&c, mode) < 0.05 || !solve(&path, &arena) ||
        vjp(&c, c.dv, c.dlambda, &g, &arena) != 0) {
      continue;
    }
    double apart = 0, largest = 0, error = 0;
    for (int i = 0; i < 3 * c.nodes; i++) {
      apart = fmax(apart, fabs(c.v[i] - path.v[i]));
    }
    if (apart > 1e-4) { // problems may have several solutions
      other++;
      continue;
    }
    assert_int_equal(vjp(&path, c.dv, c.dlambda, &h, &arena), 0);
    for (int i = 0; i < 3 * c.nodes; i++) {
      error = fmax(error, fabs(g.rhs[i] - h.rhs[i]));
      largest = fmax(largest, fabs(g.rhs[i]));
    }
    for (int i = 0; i < c.rows; i++) {
      error = fmax(error, fabs(g.bias[i] - h.bias[i]));
      largest = fmax(largest, fabs(g.bias[i]));
    }
    assert_true(error <= 1e-4 * largest);
    checked++;
  }
  print_message("%d checked, %d times another solution\n", checked, other);
  assert_true(checked >= S2_FEWER(80, 20) && other <= 10);
  s2_arena_free(&arena);
}

// A ball on the floor: l (l - m) = kappa V^2 m for the weight m (rhs is -m), whatever its inertia.
static void ball_on_the_floor_of_the_path(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(6);
  const double arm = 0, m = 3;
  make_box(&c, 1, &arm, -1, m, 0, &rng);
  c.kappa = 0.01;
  assert_true(solve(&c, &arena));
  double root = sqrt(m * m + 4 * c.kappa * m * m), l = (m + root) / 2;
  check_number(c.lambda[0], l);
  c.dlambda[0] = 1;
  assert_int_equal(vjp(&c, NULL, c.dlambda, &g, &arena), 0);
  check_number(g.rhs[2], -(1 + m / root) / 2);
  // kappa V^2 / w = kappa m grows with m: l^2 + rhs l = kappa m^2
  check_number(g.mass[2], 2 * c.kappa * m / root);
  s2_arena_free(&arena);
}

// ---- Odd input ---------------------------------------------------------------------------------

static void nothing_to_do(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  c = (Case){.nodes = 1, .mass = {1, 2, 2}, .v = {3, 4, 5}, .kappa = 0.1};
  S2Rng rng = s2_rng_seeded(8);
  finish(&c, &rng, 1);
  assert_true(solve(&c, &arena));
  assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena), 0);
  check_number(g.rhs[1], c.dv[1] / 2);
  c.problem.nodes = 0;
  assert_int_equal(vjp(&c, NULL, NULL, &g, &arena), 0);
  s2_arena_free(&arena);
}

static void numbers_that_are_not_finite(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(9);
  const double arm[2] = {-1, 1};
  make_box(&c, 2, arm, 0.5, 1, 0.7, &rng);
  c.kappa = 0.01;
  assert_true(solve(&c, &arena));
  check_not_finite(&c, &g, &arena);
  S2SmoothSolution solution = {.v = c.v, .lambda = c.lambda, .z = c.z};
  const double kappas[] = {0, -1, NAN, INFINITY};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(s2_mcp_smooth_solve(&c.problem, kappas[i], NULL, &arena, &solution),
                     S2_UNSUPPORTED);
    S2McpGradient none = {0};
    assert_true(s2_mcp_smooth_vjp(&c.problem, kappas[i], &solution, c.dv, NULL, &none, &arena) &
                S2_VJP_SINGULAR);
  }
  c.rhs[1] = NAN;
  assert_int_equal(s2_mcp_smooth_solve(&c.problem, 0.1, NULL, &arena, &solution),
                   S2_MAX_ITERATIONS);
  s2_arena_free(&arena);
}

static void the_heap_is_left_alone(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  uint64_t before = 0;
  for (int k = 0; k < 3; k++) {
    before = s2_memory_count();
    s2_arena_reset(&arena);
    make_random(&c, 8);
    c.kappa = 0.01;
    assert_true(solve(&c, &arena));
    vjp(&c, c.dv, c.dlambda, &g, &arena);
  }
  assert_true(s2_memory_count() == before);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(smooth_derivatives_agree_with_differences),
      cmocka_unit_test(smooth_derivatives_tend_to_exact_ones),
      cmocka_unit_test(ball_on_the_floor_of_the_path),
      cmocka_unit_test(nothing_to_do),
      cmocka_unit_test(numbers_that_are_not_finite),
      cmocka_unit_test(the_heap_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
