// The cone interior point: problems with known answers, derivatives, options, statuses.
#include "base/arena.h"
#include "base/memory.h"
#include "base/rng.h"
#include "mcp/lcp.h"
#include "mcp/ncp.h"
#include "mcp/solvers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MAX = 64 }; // unknowns and equations of any problem here

static const double FINE = 1e-11; // tolerance of solves whose answers are compared digit by digit

static void assert_near(double got, double want, double tolerance) {
  if (!(fabs(got - want) <= tolerance)) {
    fail_msg("got %.17g, want %.17g within %g", got, want, tolerance);
  }
}

static double uniform(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

// ---- Affine problems ---------------------------------------------------------------------------

// c = A w + b + T theta + cubic x^3, the last in the equations of the same number
typedef struct Affine {
  int equations, numbers, cone, stored, parameters;
  double a[MAX][MAX], b[MAX], t[MAX][MAX], cubic;
} Affine;

static double stored_at(const Affine *p, const double *x, const double *y, const double *z, int i) {
  return i < p->numbers             ? x[i]
         : i < p->numbers + p->cone ? y[i - p->numbers]
                                    : z[i - p->numbers - p->cone];
}

static bool affine_residual(void *user, const double *x, const double *y, const double *z,
                            const double *theta, double *c) {
  const Affine *p = user;
  for (int i = 0; i < p->equations; ++i) {
    c[i] = p->b[i];
    for (int k = 0; k < p->stored; ++k) {
      c[i] += p->a[i][k] * stored_at(p, x, y, z, k);
    }
    for (int k = 0; k < p->parameters; ++k) {
      c[i] += p->t[i][k] * theta[k];
    }
    c[i] += i < p->numbers ? p->cubic * x[i] * x[i] * x[i] : 0;
  }
  return true;
}

static bool affine_jacobian(void *user, const double *x, const double *y, const double *z,
                            const double *theta, double *j) {
  (void)y;
  (void)z;
  (void)theta;
  const Affine *p = user;
  for (int i = 0; i < p->equations; ++i) {
    for (int k = 0; k < p->stored; ++k) {
      double bend = i == k && i < p->numbers ? 3 * p->cubic * x[i] * x[i] : 0;
      j[i * p->stored + k] = p->a[i][k] + bend;
    }
  }
  return true;
}

// No unknowns, equations or parameters beyond those the cones bring.
static S2Ncp affine_problem(Affine *p, S2Cones cones, int numbers) {
  memset(p, 0, sizeof *p);
  p->numbers = numbers;
  p->cone = s2_cones_size(&cones);
  p->equations = numbers + p->cone;
  p->stored = numbers + 2 * p->cone;
  assert_true(p->stored <= MAX);
  return (S2Ncp){.x = {.size = numbers},
                 .cones = cones,
                 .residual = affine_residual,
                 .jacobian = affine_jacobian,
                 .user = p};
}

// z = M y + q
static S2Ncp lcp_problem(Affine *p, int n, const double *m, const double *q) {
  S2Ncp ncp = affine_problem(p, (S2Cones){.orthant = n}, 0);
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < n; ++k) {
      p->a[i][k] = -m[i * n + k];
    }
    p->a[i][n + i] = 1;
    p->b[i] = -q[i];
  }
  return ncp;
}

typedef struct Answer {
  double x[MAX], y[MAX], z[MAX];
  S2NcpInfo info;
} Answer;

static S2NcpOptions fine_options(void) {
  S2NcpOptions options = s2_ncp_options();
  options.r_tol = options.b_tol = FINE;
  return options;
}

// What holds whatever happened: the status tells the truth, the point is finite and in the cones.
static void check_honest(const S2Ncp *ncp, const S2NcpOptions *options, const Answer *at) {
  int cone = s2_cones_size(&ncp->cones);
  double c[MAX], product[MAX], r = 0, b = 0;
  ncp->residual(ncp->user, at->x, at->y, at->z, ncp->theta, c);
  for (int i = 0; i < s2_manifold_dimension(&ncp->x) + cone; ++i) {
    r = fmax(r, fabs(c[i]));
  }
  s2_cones_product(&ncp->cones, at->y, at->z, product);
  s2_cones_add_neutral(&ncp->cones, -options->kappa, product);
  for (int i = 0; i < cone; ++i) {
    b = fmax(b, fabs(product[i]));
  }
  assert_true(at->info.r_vio == r && at->info.b_vio == b);
  assert_int_equal(at->info.status == S2_SOLVED, r <= options->r_tol && b <= options->b_tol);
  assert_true(cone == 0 || s2_cones_margin(&ncp->cones, at->y) > 0);
  assert_true(cone == 0 || s2_cones_margin(&ncp->cones, at->z) > 0);
  assert_true(at->info.iterations <= options->max_iter);
}

static void solve(const S2Ncp *ncp, const S2NcpOptions *options, Answer *answer) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2Status status =
      s2_ncp_solve(ncp, options, answer->x, answer->y, answer->z, NULL, &arena, &answer->info);
  assert_int_equal(status.code, S2_OK);
  assert_int_equal(arena.used, 0);
  check_honest(ncp, options, answer);
  s2_arena_free(&arena);
}

static void solve_fine(const S2Ncp *ncp, Answer *answer) {
  S2NcpOptions options = fine_options();
  solve(ncp, &options, answer);
  assert_int_equal(answer->info.status, S2_SOLVED);
}

// ---- Random vectors ---------------------------------------------------------------------------

static void random_vector(S2Rng *rng, double *v, int n, double deviation) {
  for (int i = 0; i < n; ++i) {
    v[i] = deviation * s2_rng_normal(rng);
  }
}

// Inside the cones, by `margin` at least.
static void random_inside(S2Rng *rng, const S2Cones *cones, double *v, double margin) {
  random_vector(rng, v, s2_cones_size(cones), 1);
  for (int i = 0; i < cones->orthant; ++i) {
    v[i] = fabs(v[i]) + margin;
  }
  v += cones->orthant;
  for (int i = 0; i < cones->soc_count; v += cones->soc[i], ++i) {
    double sum = 0;
    for (int k = 1; k < cones->soc[i]; ++k) {
      sum += v[k] * v[k];
    }
    v[0] = sqrt(sum) + fabs(v[0]) + margin;
  }
}

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

// Biased right sides: which speed comes out, in closed form.
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

// y = (ln, mu ln, lt), z = (un, psi, ut), u = G l + q
static void friction_problem(Affine *p, S2Ncp *ncp, const double g[3], const double q[2],
                             double mu) {
  static const int two = 2;
  *ncp = affine_problem(p, (S2Cones){.orthant = 1, .soc_count = 1, .soc = &two}, 0);
  p->a[0][3] = p->a[1][5] = p->a[2][1] = 1;
  p->a[0][0] = -g[0];
  p->a[0][2] = p->a[1][0] = -g[1];
  p->a[1][2] = -g[2];
  p->a[2][0] = -mu;
  p->b[0] = -q[0];
  p->b[1] = -q[1];
}

// A stick that touches the ground: coupled normal and tangent, against the closed form.
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

// minimise x'P x / 2 + cubic x^4 / 4 + p'x with s = G x + h in K: a random one with a point inside.
// y is s, z its multiplier; theta shifts p and h.
static void random_program(S2Rng *rng, Affine *p, S2Ncp *ncp, S2Cones cones, int numbers,
                           double cubic) {
  int cone = s2_cones_size(&cones);
  double root[MAX], g[MAX * MAX], inside[MAX], at[MAX];
  *ncp = affine_problem(p, cones, numbers);
  p->cubic = cubic;
  for (int i = 0; i < numbers; ++i) {
    random_vector(rng, root, numbers, 1);
    for (int k = 0; k < numbers; ++k) {
      for (int l = 0; l < numbers; ++l) {
        p->a[k][l] += root[k] * root[l];
      }
    }
    p->a[i][i] += 0.1;
    p->b[i] = 3 * s2_rng_normal(rng);
  }
  random_vector(rng, g, cone * numbers, 1);
  random_vector(rng, at, numbers, 1);
  random_inside(rng, &cones, inside, 0.1);
  for (int i = 0; i < cone; ++i) {
    double *row = p->a[numbers + i];
    row[numbers + i] = 1;
    p->b[numbers + i] = -inside[i];
    for (int k = 0; k < numbers; ++k) {
      row[k] = -g[i * numbers + k];
      p->a[k][numbers + cone + i] = -g[i * numbers + k];
      p->b[numbers + i] += g[i * numbers + k] * at[k];
    }
  }
}

static const int SOME_SIZES[] = {3, 2};

static S2Cones some_cones(int trial) {
  return (S2Cones){.orthant = 1 + trial % 4, .soc_count = trial % 3, .soc = SOME_SIZES};
}

// Of 5000 such programs 43 were not solved before points at the boundary were lifted off it.
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

// Anything at all: most of it has no solution. What counts is that the status is right.
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

enum { MAX_CONTACTS = 6 };

// Contacts between bodies of unit inertia, or with the ground, at random places:
// y = (ln, then mu ln and lt of each), z = (un, then psi and ut of each), u = J (v + J' l).
static void random_contacts(uint64_t seed, int contacts, int bodies, double mu, Affine *p,
                            S2Ncp *ncp) {
  static const int sizes[MAX_CONTACTS] = {2, 2, 2, 2, 2, 2};
  S2Rng rng = s2_rng_seeded(seed);
  double j[2 * MAX_CONTACTS][3 * MAX_CONTACTS] = {{0}}, v[3 * MAX_CONTACTS];
  int row_of[2 * MAX_CONTACTS];
  random_vector(&rng, v, 3 * bodies, 1);
  for (int c = 0; c < contacts; ++c) {
    int a = (int)s2_rng_integer(&rng, 0, bodies - 1), b = (int)s2_rng_integer(&rng, -1, bodies - 1);
    double angle = uniform(&rng, 0, 6), arms[4];
    random_vector(&rng, arms, 4, 1);
    for (int e = 0; e < 2; ++e, angle += asin(1)) {
      double x = cos(angle), y = sin(angle), *row = j[2 * c + e];
      const double at_a[3] = {arms[0] * y - arms[1] * x, x, y};
      const double at_b[3] = {arms[2] * y - arms[3] * x, x, y};
      for (int k = 0; k < 3; ++k) {
        row[3 * a + k] += at_a[k];
        if (b >= 0 && b != a) {
          row[3 * b + k] -= at_b[k];
        }
      }
      row_of[2 * c + e] = e == 0 ? c : contacts + 2 * c + 1;
    }
  }
  *ncp = affine_problem(p, (S2Cones){.orthant = contacts, .soc_count = contacts, .soc = sizes}, 0);
  for (int i = 0; i < 2 * contacts; ++i) {
    int row = row_of[i];
    p->a[row][p->cone + row] = 1;
    for (int d = 0; d < 3 * bodies; ++d) {
      p->b[row] -= j[i][d] * v[d];
      for (int k = 0; k < 2 * contacts; ++k) {
        p->a[row][row_of[k]] -= j[i][d] * j[k][d];
      }
    }
  }
  for (int c = 0; c < contacts; ++c) {
    p->a[contacts + 2 * c][contacts + 2 * c] = 1;
    p->a[contacts + 2 * c][c] = -mu;
  }
}

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

// A rod held by a spring at the angle theta, its end above the floor:
//     sin(angle - theta) - 2 cos(angle) z = 0,   y = 1 + 2 sin(angle)
static bool rod_residual(void *user, const double *x, const double *y, const double *z,
                         const double *theta, double *c) {
  (void)user;
  c[0] = x[1] * cos(theta[0]) - x[0] * sin(theta[0]) - 2 * x[0] * z[0];
  c[1] = y[0] - 1 - 2 * x[1];
  return true;
}

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
    assert_int_equal(s2_manifold_normalise(&ncp.x, theta), -1);
    Answer a;
    s2_manifold_origin(&ncp.x, a.x);
    solve_fine(&ncp, &a);
    double sign = a.x[0] * theta[0] + a.x[1] * theta[1] + a.x[2] * theta[2] + a.x[3] * theta[3];
    double dw[16];
    bool regular;
    assert_int_equal(s2_ncp_derivative(&ncp, a.x, NULL, NULL, dw, &regular, &arena).code, S2_OK);
    assert_true(regular);
    for (int i = 0; i < 4; ++i) {
      assert_near(a.x[i], copysign(1, sign) * theta[i], 1e-10);
      for (int k = 0; k < 4; ++k) { // of +-theta / |theta|
        assert_near(dw[4 * i + k], copysign(1, sign) * ((i == k) - theta[i] * theta[k]), 1e-8);
      }
    }
  }
  s2_arena_free(&arena);
}

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

// Where y and z vanish together there is none, and where the answer is one of many.
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

// ---- Options -----------------------------------------------------------------------------------

enum { HISTORY = 60 };

typedef struct Record {
  S2Iterate at[HISTORY];
  S2History history;
} Record;

static void solve_recorded(const S2Ncp *ncp, const S2NcpOptions *options, Answer *a, Record *r) {
  S2Arena arena;
  s2_arena_init(&arena);
  r->history = (S2History){.at = r->at, .capacity = HISTORY};
  memset(a, 0, sizeof *a);
  S2Status status = s2_ncp_solve(ncp, options, a->x, a->y, a->z, &r->history, &arena, &a->info);
  assert_int_equal(status.code, S2_OK);
  assert_int_equal(r->history.count, a->info.iterations);
  check_honest(ncp, options, a);
  s2_arena_free(&arena);
}

// A friction contact that slides.
static void sliding_problem(Affine *p, S2Ncp *ncp) {
  const double g[3] = {1, 0.2, 1}, q[2] = {-1, 3};
  friction_problem(p, ncp, g, q, 0.5);
}

static void test_iterations_run_out(void **state) {
  (void)state;
  Affine p;
  S2Ncp ncp;
  Answer a;
  Record r;
  sliding_problem(&p, &ncp);
  S2NcpOptions options = s2_ncp_options();
  solve_recorded(&ncp, &options, &a, &r);
  assert_int_equal(a.info.status, S2_SOLVED);
  assert_near(r.at[a.info.iterations - 1].residual, fmax(a.info.r_vio, a.info.b_vio), 0);
  int needed = a.info.iterations;
  for (int limit = 0; limit <= needed; ++limit) {
    options.max_iter = limit;
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, limit < needed ? S2_MAX_ITERATIONS : S2_SOLVED);
    assert_int_equal(a.info.iterations, limit);
  }
}

static void test_undercut(void **state) {
  (void)state;
  Affine p;
  S2Ncp ncp;
  Answer a;
  Record r;
  sliding_problem(&p, &ncp);
  S2NcpOptions options = s2_ncp_options();
  const double undercuts[] = {1.5, 5, 100};
  for (int i = 0; i < 3; ++i) { // the floor alone; published code stalls above it
    options.undercut = undercuts[i];
    options.no_progress_undercut = 1;
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, S2_SOLVED);
    assert_true(a.info.iterations <= 10);
    for (int k = 0; k < r.history.count; ++k) {
      assert_true(r.at[k].mu >= options.b_tol / undercuts[i]);
    }
  }
  options.undercut = INFINITY;
  solve_recorded(&ncp, &options, &a, &r);
  assert_int_equal(a.info.status, S2_SOLVED);
  assert_true(r.at[r.history.count - 1].mu < options.b_tol / 1000);
}

// A floor above the tolerance is out of the solver's way as soon as the rule says so.
static void test_no_progress(void **state) {
  (void)state;
  Affine p;
  S2Ncp ncp;
  Answer a, late;
  Record r;
  sliding_problem(&p, &ncp);
  S2NcpOptions options = s2_ncp_options();
  options.undercut = 0.5;
  solve_recorded(&ncp, &options, &a, &r);
  assert_int_equal(a.info.status, S2_SOLVED);
  options.no_progress_max = 20;
  solve_recorded(&ncp, &options, &late, &r);
  assert_int_equal(late.info.status, S2_SOLVED);
  assert_true(late.info.iterations > a.info.iterations + 10);
  options.no_progress_undercut = 1;
  solve_recorded(&ncp, &options, &a, &r);
  assert_int_not_equal(a.info.status, S2_SOLVED);
  assert_near(a.info.b_vio, 2 * options.b_tol, 1e-3 * options.b_tol);
}

// Newton's method alone diverges from 3.
static bool arctangent(void *user, const double *x, const double *y, const double *z,
                       const double *theta, double *c) {
  (void)user;
  (void)y;
  (void)z;
  (void)theta;
  c[0] = atan(x[0] + 3);
  return true;
}

static void test_line_search(void **state) {
  (void)state;
  S2Ncp ncp = {.x = {.size = 1}, .residual = arctangent};
  S2NcpOptions options = s2_ncp_options();
  Answer a;
  Record r;
  const double scales[] = {0.5, 0.3};
  for (int i = 0; i < 2; ++i) {
    options.ls_scale = scales[i];
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, S2_SOLVED);
    assert_near(a.x[0], -3, 1e-7);
    double first = log(r.at[0].step) / log(scales[i]);
    assert_true(first > 0.5);
    assert_near(first, round(first), 1e-12);
  }
  options.max_ls = 1;
  solve_recorded(&ncp, &options, &a, &r);
  assert_int_equal(a.info.status, S2_MAX_ITERATIONS);
  assert_int_equal(a.info.iterations, 0);
}

static void test_regularisation(void **state) {
  (void)state;
  Affine p;
  Answer a;
  Record r;
  S2NcpOptions options = s2_ncp_options();
  for (int i = 0; i < 2; ++i, options.reg = 0) {
    const double m[4] = {0, 0, 0, 0}, q[2] = {0, 0}, one = 1, none = 0;
    S2Ncp ncp = lcp_problem(&p, 2, m, q); // z = 0, any y
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, S2_SOLVED);
    ncp = lcp_problem(&p, 1, &one, &none); // y = z = 0
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, S2_SOLVED);
    ncp = affine_problem(&p, (S2Cones){0}, 2); // x1 + x2 = 1, twice; then = 1 and = 2
    p.a[0][0] = p.a[0][1] = p.a[1][0] = p.a[1][1] = 1;
    p.b[0] = p.b[1] = -1;
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, S2_SOLVED);
    assert_near(a.x[0] + a.x[1], 1, 1e-8);
    p.b[1] = -2;
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, S2_SINGULAR);
  }
}

// z = y - v on the central path: y = (v + sqrt(v^2 + 4 kappa)) / 2.
static void test_central_path(void **state) {
  (void)state;
  Affine p;
  Answer a;
  const double one = 1, speeds[] = {-10, -1, 0, 1, 10};
  S2NcpOptions options = fine_options();
  for (int i = 0; i < 5; ++i) {
    for (double kappa = 1e-6; kappa < 200; kappa *= 10) {
      double v = speeds[i];
      S2Ncp ncp = lcp_problem(&p, 1, &one, &(double){-v});
      options.kappa = kappa;
      solve(&ncp, &options, &a);
      assert_int_equal(a.info.status, S2_SOLVED);
      assert_true(a.info.iterations <= 10);
      double y =
          v > 0 ? (v + sqrt(v * v + 4 * kappa)) / 2 : 2 * kappa / (sqrt(v * v + 4 * kappa) - v);
      assert_near(a.y[0], y, 2 * FINE * (1 + y) / (2 * y - v)); // r_tol and b_tol, over y + z
    }
  }
}

static void test_refusals(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Affine p;
  double room[8] = {0};
  S2NcpInfo info;
  const double one = 1;
  struct {
    S2NcpOptions options;
    const char *message;
  } cases[10];
  for (int i = 0; i < 10; ++i) {
    cases[i].options = s2_ncp_options();
  }
  cases[0].options.r_tol = 0, cases[0].message = "r_tol must be above 0, not 0";
  cases[1].options.b_tol = NAN, cases[1].message = "b_tol must be above 0, not nan";
  cases[2].options.kappa = -1, cases[2].message = "kappa must be at least 0, not -1";
  cases[3].options.max_iter = -1, cases[3].message = "max_iter must be at least 0, not -1";
  cases[4].options.ls_scale = 1, cases[4].message = "ls_scale must be between 0 and 1, not 1";
  cases[5].options.max_ls = 0, cases[5].message = "max_ls must be at least 1, not 0";
  cases[6].options.undercut = 0, cases[6].message = "undercut must be above 0, not 0";
  cases[7].options.no_progress_max = 0;
  cases[7].message = "no_progress_max must be at least 1, not 0";
  cases[8].options.no_progress_undercut = 0.5;
  cases[8].message = "no_progress_undercut must be at least 1, not 0.5";
  cases[9].options.reg = INFINITY, cases[9].message = "reg must be at least 0, not inf";
  S2Ncp ncp = lcp_problem(&p, 1, &one, &one);
  for (int i = 0; i < 10; ++i) {
    S2Status status = s2_ncp_solve(&ncp, &cases[i].options, room, room, room, NULL, &arena, &info);
    assert_int_equal(status.code, S2_INVALID);
    assert_string_equal(status.message, cases[i].message);
  }
  const int empty = 0, first = 0;
  S2NcpOptions options = s2_ncp_options();
  ncp.cones = (S2Cones){.soc_count = 1, .soc = &empty};
  assert_string_equal(s2_ncp_check(&ncp).message,
                      "second-order cone 1 has size 0, it must be at least 1");
  ncp.cones = (S2Cones){.orthant = 2000000000};
  assert_string_equal(s2_ncp_check(&ncp).message,
                      "x and twice the cones have 4000000000 numbers, more than 2048");
  ncp.cones = (S2Cones){.orthant = -1};
  assert_int_equal(s2_ncp_check(&ncp).code, S2_INVALID);
  ncp = (S2Ncp){.x = {.size = 2, .rotations = 1, .rotation = &first}, .residual = rod_residual};
  S2Status status = s2_ncp_solve(&ncp, &options, room, room, room, NULL, &arena, &info);
  assert_string_equal(status.message, "the rotation or quaternion at number 1 of x has length 0");
  s2_arena_free(&arena);
}

// ---- Numbers and calls out of the ordinary -----------------------------------------------------

static void test_nothing(void **state) {
  (void)state;
  Affine p;
  Answer a;
  S2Ncp ncp = affine_problem(&p, (S2Cones){0}, 0);
  solve_fine(&ncp, &a);
  assert_int_equal(a.info.iterations, 0);
  assert_true(a.info.r_vio == 0 && a.info.b_vio == 0);
}

static void test_extreme_numbers(void **state) {
  (void)state;
  Affine p;
  Answer a;
  S2NcpOptions options = s2_ncp_options();
  const double sizes[] = {1e-300, 1e-150, 1e-20, 1e20, 1e150, 1e300};
  for (int i = 0; i < 6; ++i) {
    for (int k = 0; k < 6; ++k) {
      for (int sign = -1; sign <= 1; sign += 2) {
        double m = sizes[i], q = sign * sizes[k];
        S2Ncp ncp = lcp_problem(&p, 1, &m, &q);
        memset(&a, 0, sizeof a);
        solve(&ncp, &options, &a);
      }
    }
  }
}

typedef struct Trouble {
  int calls, at; // which call makes it
  bool stop;     // by returning false, else by a NaN
} Trouble;

static bool troubled(void *user, const double *x, const double *y, const double *z,
                     const double *theta, double *c) {
  (void)theta;
  Trouble *trouble = user;
  bool now = trouble->calls++ == trouble->at;
  c[0] = now && !trouble->stop ? NAN : z[0] - y[0] - x[0];
  c[1] = x[0] * x[0] * x[0] - 8;
  return !(now && trouble->stop);
}

static void test_trouble(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  const S2NcpOptions options = s2_ncp_options();
  int solved = 0, calls = 1000;
  for (int at = 0; at < calls; ++at) {
    for (int stop = 0; stop < 2; ++stop) {
      Trouble trouble = {.at = at, .stop = stop};
      S2Ncp ncp = {
          .x = {.size = 1}, .cones = {.orthant = 1}, .residual = troubled, .user = &trouble};
      double x = 1, y, z;
      S2NcpInfo info;
      S2Status status = s2_ncp_solve(&ncp, &options, &x, &y, &z, NULL, &arena, &info);
      assert_int_equal(arena.used, 0);
      if (stop) {
        assert_int_equal(status.code, trouble.calls > at ? S2_ABORTED : S2_OK);
        assert_true(status.code == S2_OK || trouble.calls == at + 1);
        calls = status.code == S2_OK ? at : calls;
      } else {
        assert_int_equal(status.code, S2_OK);
        bool small = info.r_vio <= options.r_tol && info.b_vio <= options.b_tol;
        assert_int_equal(info.status == S2_SOLVED, small);
        assert_true(at > 0 || (info.status == S2_SINGULAR && isnan(info.r_vio)));
        solved += small;
      }
    }
  }
  assert_true(calls < 1000 && solved > 0);
  s2_arena_free(&arena);
}

// c is defined on one side only; the line search stays there.
static bool logarithm(void *user, const double *x, const double *y, const double *z,
                      const double *theta, double *c) {
  (void)user;
  (void)y;
  (void)z;
  (void)theta;
  c[0] = log(x[0] + 5);
  return true;
}

static void test_leaves_the_domain(void **state) {
  (void)state;
  S2Ncp ncp = {.x = {.size = 1}, .residual = logarithm};
  Answer a = {0};
  solve_fine(&ncp, &a);
  assert_near(a.x[0], -4, 1e-10);
}

static void test_same_bits_and_no_heap(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(16);
  S2Arena arena;
  s2_arena_init(&arena);
  Affine p;
  S2Ncp ncp;
  Answer first, again;
  random_program(&rng, &p, &ncp, some_cones(5), 7, 0.3);
  S2NcpOptions options = s2_ncp_options();
  uint64_t before = 0;
  for (int i = 0; i < 4; ++i) {
    memset(&again, 0, sizeof again);
    s2_arena_reset(&arena);
    before = i == 2 ? s2_memory_count() : before;
    s2_ncp_solve(&ncp, &options, again.x, again.y, again.z, NULL, &arena, &again.info);
    first = i == 0 ? again : first;
    assert_memory_equal(&again.x, &first.x, sizeof again.x);
    assert_memory_equal(&again.y, &first.y, sizeof again.y);
    assert_memory_equal(&again.z, &first.z, sizeof again.z);
  }
  assert_int_equal(s2_memory_count(), before);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_falling_block),      cmocka_unit_test(test_sliding),
      cmocka_unit_test(test_traditional),        cmocka_unit_test(test_biased),
      cmocka_unit_test(test_infeasible),         cmocka_unit_test(test_agrees_with_lemke),
      cmocka_unit_test(test_projection),         cmocka_unit_test(test_one_contact),
      cmocka_unit_test(test_friction_in_space),  cmocka_unit_test(test_convex_programs),
      cmocka_unit_test(test_duplicates),         cmocka_unit_test(test_nonsense),
      cmocka_unit_test(test_many_contacts),      cmocka_unit_test(test_rod),
      cmocka_unit_test(test_attitude),           cmocka_unit_test(test_exact_derivatives),
      cmocka_unit_test(test_smooth_derivatives), cmocka_unit_test(test_no_derivative),
      cmocka_unit_test(test_iterations_run_out), cmocka_unit_test(test_undercut),
      cmocka_unit_test(test_no_progress),        cmocka_unit_test(test_line_search),
      cmocka_unit_test(test_regularisation),     cmocka_unit_test(test_central_path),
      cmocka_unit_test(test_refusals),           cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_extreme_numbers),    cmocka_unit_test(test_trouble),
      cmocka_unit_test(test_leaves_the_domain),  cmocka_unit_test(test_same_bits_and_no_heap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
