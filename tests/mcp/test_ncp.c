// The cone interior point: problems with known solutions.
#include "mcp/lcp/lcp.h"
#include "mcp/solvers.h"
#include "ncp_problems.h"

// ---- Linear complementarity --------------------------------------------------------------------

static double shrink(double x, double t) {
  return copysign(fmax(0, fabs(x) - t), x);
}

// Thrown up from 20 with speed 4, g = h = 1: it meets the ground in step 11 and rests from 12 on.
static void test_falling_block(void **state) {
  (void)state;
  Affine p;
  Answer a;
  const double one = 1, want[3][3] = {{0, -5, 2}, {0, 0, 6}, {0, 0, 1}}; // x, v, impulse
  double x = 20, v = 4;
  for (int step = 1; step <= 13; ++step) {
    double q = x + v - 1;
    S2Ncp ncp = lcp_problem(&p, 1, &one, &q);
    solve_fine(&ncp, &a);
    x = a.z[0];
    v += a.y[0] - 1;
    if (step >= 11) {
      assert_near(x, want[step - 11][0], 1e-9);
      assert_near(v, want[step - 11][1], 1e-9);
      assert_near(a.y[0], want[step - 11][2], 1e-9);
    } else {
      assert_near(a.y[0], 0, 1e-9);
    }
  }
}

static void test_sliding(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(4);
  Affine p;
  Answer a;
  for (int trial = 0; trial < 200; ++trial) {
    double v = uniform(&rng, 0, 2), u = uniform(&rng, 0, 3), h = uniform(&rng, 0.1, 1);
    double mug = uniform(&rng, 0, 2), m = 1 / h, q = -v / h - u + mug;
    S2Ncp ncp = lcp_problem(&p, 1, &m, &q);
    solve_fine(&ncp, &a);
    assert_near(a.y[0], fmax(0, v + h * (u - mug)), 1e-5);
    // both directions at once
    double w = v / h * (trial % 2 ? 1 : -1) + u, m2[4] = {1 / h, 0, 0, 1 / h};
    double q2[2] = {mug - w, mug + w};
    ncp = lcp_problem(&p, 2, m2, q2);
    solve_fine(&ncp, &a);
    assert_near(a.y[0] - a.y[1], shrink(h * w, mug * h), 1e-5);
  }
}

// The three unknowns of the traditional formulation; the split of the force is not unique.
static void test_traditional(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(5);
  Affine p;
  Answer a;
  for (int trial = 0; trial < 300; ++trial) {
    double v = 2 * s2_rng_normal(&rng), u = 2 * s2_rng_normal(&rng), h = uniform(&rng, 0.1, 1);
    double mass = uniform(&rng, 0.5, 2), mu = uniform(&rng, 0, 2), k = h / mass;
    double b = v + h * u / mass, m[9] = {k, -k, 1, -k, k, 1, -1, -1, 0};
    double q[3] = {b, -b, mu * mass * 9.8};
    S2Ncp ncp = lcp_problem(&p, 3, m, q);
    solve_fine(&ncp, &a);
    assert_near(b + k * (a.y[0] - a.y[1]), shrink(b, mu * 9.8 * h), 2e-5);
  }
}

// Biased right sides: the resulting speed in closed form.
static void test_biased(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(6);
  Affine p;
  Answer a;
  const double m[9] = {1, -1, 1, -1, 1, 1, -1, -1, 0};
  const double biases[] = {0.1, 1, 1.9, 2.1, 3};
  for (int i = 0; i < 5; ++i) {
    double e = biases[i], q[3] = {-e, 0, 1};
    S2Ncp ncp = lcp_problem(&p, 3, m, q);
    solve_fine(&ncp, &a);
    assert_near(a.y[0] - a.y[1], e <= 2 ? e / 2 : 1, 1e-5);
    assert_near(a.y[2], e <= 2 ? e / 2 : e - 1, 1e-5);
  }
  for (int trial = 0; trial < 100; ++trial) {
    double u = uniform(&rng, 0.01, 0.3), a1 = uniform(&rng, 0.5, 1.5), a2 = uniform(&rng, 0.5, 1.5);
    double q[3] = {a1 * u, -a2 * u, 1};
    S2Ncp ncp = lcp_problem(&p, 3, m, q);
    solve_fine(&ncp, &a);
    assert_near(a.y[2], fmax(0, (a2 - a1) * u / 2), 1e-5);
    double speed = a2 > a1 ? u * (1 - (a1 + a2) / 2) : u * (1 - a2);
    assert_near(u + a.y[0] - a.y[1], speed, 1e-5);
  }
}

static void test_infeasible(void **state) {
  (void)state;
  Affine p;
  Answer a = {0};
  const double m[9] = {0, -1, 0, -1, 0, 0, -1, -1, 0}, q[3] = {0.7, -0.7, 1};
  S2Ncp ncp = lcp_problem(&p, 3, m, q);
  S2NcpOptions options = s2_ncp_options();
  solve(&ncp, &options, &a);
  assert_int_not_equal(a.info.status, S2_SOLVED);
  const double minus = -1, below = -1; // z = -y - 1
  ncp = lcp_problem(&p, 1, &minus, &below);
  solve(&ncp, &options, &a);
  assert_int_not_equal(a.info.status, S2_SOLVED);
}

static void test_agrees_with_lemke(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(7);
  S2Arena arena;
  s2_arena_init(&arena);
  Affine p;
  Answer a;
  for (int trial = 0; trial < 200; ++trial) {
    int n = 1 + trial % 12;
    double m[144], q[12], z[12], w[12], g[144];
    random_vector(&rng, g, n * n, 1);
    random_vector(&rng, q, n, 1);
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < n; ++k) {
        m[i * n + k] = (i == k) + (g[i * n + k] - g[k * n + i]); // positive definite, not symmetric
        for (int l = 0; l < n; ++l) {
          m[i * n + k] += g[i * n + l] * g[k * n + l];
        }
      }
    }
    S2LcpInfo info;
    assert_int_equal(s2_lcp_lemke(n, m, q, z, w, NULL, NULL, &arena, &info), S2_SOLVED);
    S2Ncp ncp = lcp_problem(&p, n, m, q);
    S2NcpOptions options = s2_ncp_options();
    options.r_tol = options.b_tol = 1e-13;
    solve(&ncp, &options, &a);
    assert_int_equal(a.info.status, S2_SOLVED);
    for (int i = 0; i < n; ++i) {
      assert_near(a.y[i], z[i], 1e-6); // root of b_tol where z and w are both 0
    }
  }
  s2_arena_free(&arena);
}

// ---- Second-order cones ------------------------------------------------------------------------

// Nearest point of Q to v.
static void project(const double *v, int n, double *to) {
  double length = 0;
  for (int i = 1; i < n; ++i) {
    length += v[i] * v[i];
  }
  length = sqrt(length);
  double s = (v[0] + length) / 2;
  for (int i = 0; i < n; ++i) {
    if (length <= v[0]) {
      to[i] = v[i];
    } else if (length <= -v[0]) {
      to[i] = 0;
    } else {
      to[i] = i == 0 ? s : s * v[i] / length;
    }
  }
}

static void test_projection(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(8);
  Affine p;
  Answer a;
  for (int trial = 0; trial < 300; ++trial) {
    int n = 1 + trial % 6;
    S2Ncp ncp = affine_problem(&p, (S2Cones){.soc_count = 1, .soc = &n}, 0);
    double v[6], want[6];
    random_vector(&rng, v, n, 3);
    for (int i = 0; i < n; ++i) { // z = y - v
      p.a[i][n + i] = 1;
      p.a[i][i] = -1;
      p.b[i] = v[i];
    }
    solve_fine(&ncp, &a);
    project(v, n, want);
    for (int i = 0; i < n; ++i) {
      assert_near(a.y[i], want[i], 1e-8);
    }
  }
}

// A stick that touches the ground: coupled normal and tangent, compared with the closed form.
static void test_one_contact(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(9);
  S2Arena arena;
  s2_arena_init(&arena);
  Affine p;
  S2Ncp ncp;
  Answer a;
  int modes[3] = {0};
  for (int trial = 0; trial < 300; ++trial) {
    double mass[3] = {uniform(&rng, 0.5, 2), 1, 1}, v0[3], rx = uniform(&rng, -1, 1);
    double mu = uniform(&rng, 0, 0.6);
    random_vector(&rng, v0, 3, 1);
    mass[1] = mass[2] = uniform(&rng, 0.5, 2);
    double rhs[3] = {mass[0] * v0[0], mass[1] * v0[1], mass[2] * v0[2]};
    S2Row rows[2] = {
        {.a = 0, .b = S2_GROUND, .coupled_to = -1, .ja = {rx, 0, 1}, .hi = INFINITY},
        {.a = 0, .b = S2_GROUND, .ja = {0.5, 1, 0}, .mu = mu},
    };
    S2Problem problem = {.nodes = 1,
                         .rows = 2,
                         .mass = mass,
                         .rhs = rhs,
                         .row = rows,
                         .velocity_scale = 1,
                         .length = 1};
    S2SolverOptions options = {.tolerance = 1e-12, .max_iterations = 50};
    double v[3], lambda[2];
    S2Solution closed = {.v = v, .lambda = lambda};
    assert_int_equal(s2_closed_solve(&problem, &options, &arena, &closed), S2_SOLVED);
    double g[3] = {rx * rx / mass[0] + 1 / mass[2], rx * 0.5 / mass[0],
                   0.25 / mass[0] + 1 / mass[1]};
    double q[2] = {rx * v0[0] + v0[2], 0.5 * v0[0] + v0[1]};
    friction_problem(&p, &ncp, g, q, mu);
    solve_fine(&ncp, &a);
    assert_near(a.y[0], lambda[0], 1e-5);
    assert_near(a.y[2], lambda[1], 1e-5);
    modes[lambda[0] == 0 ? 0 : fabs(lambda[1]) < mu * lambda[0] - 1e-9 ? 1 : 2] += 1;
  }
  assert_true(modes[0] > 20 && modes[1] > 20 && modes[2] > 20);
  s2_arena_free(&arena);
}

// A point mass on the floor of space: v+ = max(0, 1 - mu |bn| / |bt|) bt.
static void test_friction_in_space(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(10);
  static const int three = 3;
  Affine p;
  Answer a;
  for (int trial = 0; trial < 200; ++trial) {
    double mass = uniform(&rng, 0.5, 2), mu = uniform(&rng, 0, 1.5), b[3];
    random_vector(&rng, b, 3, 1);
    // y = (ln, mu ln, lt), z = (vn, psi, vt), v = b + l / mass
    S2Ncp ncp = affine_problem(&p, (S2Cones){.orthant = 1, .soc_count = 1, .soc = &three}, 0);
    p.a[0][4] = p.a[1][6] = p.a[2][7] = p.a[3][1] = 1;
    p.a[0][0] = p.a[1][2] = p.a[2][3] = -1 / mass;
    p.a[3][0] = -mu;
    for (int i = 0; i < 3; ++i) {
      p.b[i] = -b[i];
    }
    solve_fine(&ncp, &a);
    double left = fmax(0, 1 - mu * fmax(0, -b[0]) / hypot(b[1], b[2]));
    assert_near(a.z[0], fmax(0, b[0]), 1e-5);
    assert_near(a.z[2], left * b[1], 1e-5);
    assert_near(a.z[3], left * b[2], 1e-5);
  }
}

// ---- Cone programs -----------------------------------------------------------------------------

// Out of 5000 such programs 43 are solved only because points at the boundary are lifted off it.
static void test_convex_programs(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(11);
  Affine p;
  S2Ncp ncp;
  Answer a;
  const double kappas[] = {0, 1e-4, 1e-2};
  for (int trial = 0; trial < 3000; ++trial) {
    random_program(&rng, &p, &ncp, some_cones(trial), 1 + trial % 7, trial % 2 ? 0 : 0.3);
    S2NcpOptions options = trial % 5 == 0 ? s2_ncp_options() : fine_options();
    options.kappa = kappas[trial % 3];
    options.undercut = trial % 4 == 0 ? INFINITY : 5;
    memset(a.x, 0, sizeof a.x);
    solve(&ncp, &options, &a);
    assert_int_equal(a.info.status, S2_SOLVED);
    assert_true(a.info.iterations <= 20);
  }
}

// The same program again, each of its constraints twice.
static void test_duplicates(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(12);
  Affine once, twice;
  S2Ncp ncp;
  Answer a, b;
  enum { NUMBERS = 4, ROWS = 5 };
  for (int trial = 0; trial < 100; ++trial) {
    random_program(&rng, &once, &ncp, (S2Cones){.orthant = ROWS}, NUMBERS, 0);
    memset(a.x, 0, sizeof a.x);
    solve_fine(&ncp, &a);
    ncp = affine_problem(&twice, (S2Cones){.orthant = 2 * ROWS}, NUMBERS);
    for (int i = 0; i < NUMBERS + 2 * ROWS; ++i) {
      int row = i < NUMBERS + ROWS ? i : i - ROWS;
      twice.b[i] = once.b[row];
      memcpy(twice.a[i], once.a[row], sizeof(double) * NUMBERS);
      if (i >= NUMBERS) {
        twice.a[i][i] = 1;
      }
      for (int k = 0; k < 2 * ROWS && i < NUMBERS; ++k) {
        twice.a[i][NUMBERS + 2 * ROWS + k] = once.a[i][NUMBERS + ROWS + k % ROWS];
      }
    }
    memset(b.x, 0, sizeof b.x);
    solve_fine(&ncp, &b);
    for (int i = 0; i < NUMBERS; ++i) {
      assert_near(b.x[i], a.x[i], 1e-5);
    }
  }
}

// Arbitrary data: most of it has no solution. Only the status is checked.
static void test_nonsense(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(13);
  Affine p;
  Answer a;
  int solved = 0, singular = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    S2Ncp ncp = affine_problem(&p, some_cones(trial), trial % 3);
    p.cubic = trial % 5 == 0;
    for (int i = 0; i < p.equations; ++i) {
      for (int k = 0; k < p.stored; ++k) {
        p.a[i][k] = (double)s2_rng_integer(&rng, -1, 1);
      }
      p.b[i] = (double)s2_rng_integer(&rng, -2, 2);
    }
    S2NcpOptions options = s2_ncp_options();
    memset(a.x, 0, sizeof a.x);
    solve(&ncp, &options, &a);
    solved += a.info.status == S2_SOLVED;
    singular += a.info.status == S2_SINGULAR;
  }
  assert_true(solved > 100 && singular > 0);
}

// ---- Many contacts -----------------------------------------------------------------------------

static void test_many_contacts(void **state) {
  (void)state;
  Affine p;
  S2Ncp ncp;
  Answer a;
  S2NcpOptions options = s2_ncp_options();
  for (int trial = 0; trial < 600; ++trial) {
    int contacts = 1 + trial % MAX_CONTACTS;
    random_contacts((uint64_t)trial, contacts, 1 + trial % 5 % contacts, 0.3, &p, &ncp);
    solve(&ncp, &options, &a);
    assert_int_equal(a.info.status, S2_SOLVED);
    assert_true(a.info.iterations <= 20);
  }
}

// ---- Rotations ---------------------------------------------------------------------------------

static bool rod_jacobian(void *user, const double *x, const double *y, const double *z,
                         const double *theta, double *j) {
  (void)user;
  (void)y;
  const double rows[8] = {-sin(theta[0]) - 2 * z[0], cos(theta[0]), 0, -2 * x[0], 0, -2, 1, 0};
  memcpy(j, rows, sizeof rows);
  return true;
}

static void test_rod(void **state) {
  (void)state;
  static const int first = 0;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int i = 0; i <= 40; ++i) {
    double theta = -1.4 + i * 0.07, angle = fmax(theta, asin(-0.5));
    S2Ncp ncp = {.x = {.size = 2, .rotations = 1, .rotation = &first},
                 .cones = {.orthant = 1},
                 .parameters = 1,
                 .theta = &theta,
                 .residual = rod_residual};
    Answer a;
    for (int way = 0; way < 2; ++way) {
      ncp.jacobian = way == 0 ? NULL : rod_jacobian;
      a.x[0] = 7; // any length
      a.x[1] = 0;
      solve_fine(&ncp, &a);
      assert_near(a.x[0], cos(angle), 1e-9);
      assert_near(a.x[1], sin(angle), 1e-9);
      assert_near(hypot(a.x[0], a.x[1]), 1, 1e-15);
      double dw[4], moves = theta > asin(-0.5);
      bool regular;
      assert_int_equal(s2_ncp_derivative(&ncp, a.x, a.y, a.z, dw, &regular, &arena).code, S2_OK);
      assert_true(regular);
      assert_near(dw[0], -sin(angle) * moves, 1e-8);
      assert_near(dw[1], cos(angle) * moves, 1e-8);
    }
  }
  s2_arena_free(&arena);
}

// The vector part of conj(theta) x: 0 for x = +-theta.
static bool attitude_residual(void *user, const double *x, const double *y, const double *z,
                              const double *theta, double *c) {
  (void)user;
  (void)y;
  (void)z;
  const double *t = theta;
  c[0] = t[0] * x[1] - t[1] * x[0] - t[2] * x[3] + t[3] * x[2];
  c[1] = t[0] * x[2] + t[1] * x[3] - t[2] * x[0] - t[3] * x[1];
  c[2] = t[0] * x[3] - t[1] * x[2] + t[2] * x[1] - t[3] * x[0];
  return true;
}

static void test_attitude(void **state) {
  (void)state;
  static const int first = 0;
  S2Rng rng = s2_rng_seeded(14);
  S2Arena arena;
  s2_arena_init(&arena);
  for (int trial = 0; trial < 100; ++trial) {
    double theta[4];
    S2Ncp ncp = {.x = {.size = 4, .quaternions = 1, .quaternion = &first},
                 .parameters = 4,
                 .theta = theta,
                 .residual = attitude_residual};
    random_vector(&rng, theta, 4, 1);
    assert_int_equal(s2_ncp_space_normalise(&ncp.x, theta), -1);
    Answer a;
    s2_ncp_space_origin(&ncp.x, a.x);
    solve_fine(&ncp, &a);
    double sign = a.x[0] * theta[0] + a.x[1] * theta[1] + a.x[2] * theta[2] + a.x[3] * theta[3];
    double dw[16];
    bool regular;
    assert_int_equal(s2_ncp_derivative(&ncp, a.x, NULL, NULL, dw, &regular, &arena).code, S2_OK);
    assert_true(regular);
    for (int i = 0; i < 4; ++i) {
      assert_near(a.x[i], copysign(1, sign) * theta[i], 1e-10);
      for (int k = 0; k < 4; ++k) { // derivative of +-theta / |theta|
        assert_near(dw[4 * i + k], copysign(1, sign) * ((i == k) - theta[i] * theta[k]), 1e-8);
      }
    }
  }
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_falling_block),     cmocka_unit_test(test_sliding),
      cmocka_unit_test(test_traditional),       cmocka_unit_test(test_biased),
      cmocka_unit_test(test_infeasible),        cmocka_unit_test(test_agrees_with_lemke),
      cmocka_unit_test(test_projection),        cmocka_unit_test(test_one_contact),
      cmocka_unit_test(test_friction_in_space), cmocka_unit_test(test_convex_programs),
      cmocka_unit_test(test_duplicates),        cmocka_unit_test(test_nonsense),
      cmocka_unit_test(test_many_contacts),     cmocka_unit_test(test_rod),
      cmocka_unit_test(test_attitude),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
