// Boxed rows (motors, dry friction in joints): closed forms, and every solver compared with brute
// force.
#include "base/rng.h"
#include "mcp/mcp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const double TOLERANCE = 1e-10;

// A motor of at most `limit` drives a wheel of inertia 2 from `speed` towards `aim`.
static void motor(void **state) {
  (void)state;
  static const double cases[][4] = {// speed, aim, limit, impulse expected
                                    {0, 1, 5, 2},
                                    {0, 1, .5, .5},
                                    {3, -1, 1, -1},
                                    {3, 2, 7, -2},
                                    {1, 1, 1, 0}};
  S2Arena arena;
  s2_arena_init(&arena);
  for (S2Solver solver = S2_SOLVER_AUTO; solver < S2_SOLVER_PROGRAM; solver++) {
    for (int i = 0; i < 5; i++) {
      const double *c = cases[i], mass[3] = {2, 1, 1}, rhs[3] = {2 * c[0], 0, 0};
      S2Row row = {.a = 0,
                   .b = S2_GROUND,
                   .coupled_to = -1,
                   .ja = {1, 0, 0},
                   .lo = -c[2],
                   .hi = c[2],
                   .bias = -c[1]};
      S2Problem problem = {.nodes = 1,
                           .rows = 1,
                           .mass = mass,
                           .rhs = rhs,
                           .row = &row,
                           .velocity_scale = 1,
                           .length = 1};
      double v[3] = {c[0], 0, 0}, lambda = 0;
      S2Solution solution = {.v = v, .lambda = &lambda};
      S2SolverOptions options = {.solver = solver, .tolerance = TOLERANCE, .max_iterations = 100};
      S2SolveStatus status = s2_mcp_solve(&problem, &options, &arena, &solution);
      bool may_fail = solver == S2_SOLVER_CLOSED || solver == S2_SOLVER_NCP ||
                      solver == S2_SOLVER_LINEAR; // no boxes there
      if (status != S2_SOLVED && may_fail) {
        assert_int_equal(status, S2_UNSUPPORTED);
        continue;
      }
      if (status != S2_SOLVED) {
        fail_msg("%s, case %d: %s", s2_solver_name(solver), i, s2_solve_status_name(status));
      }
      assert_true(fabs(lambda - c[3]) <= 1e-9);
      assert_true(fabs(v[0] - (c[0] + c[3] / 2)) <= 1e-9);
    }
  }
  s2_arena_free(&arena);
}

enum { NODES = 3, MOST = 8, PROBLEMS = 400 };

typedef struct Random {
  double mass[3 * NODES], rhs[3 * NODES];
  S2Row row[2 * MOST];
  S2Problem problem;
  int joints, boxes;
} Random;

static double uniform(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

// Joint rows, boxed rows, a limit, contacts with friction, between three bodies and the ground.
static void make(Random *r, uint64_t seed, double most_mu) {
  S2Rng rng = s2_rng_seeded(seed);
  memset(r, 0, sizeof *r);
  for (int i = 0; i < 3 * NODES; i++) {
    r->mass[i] = uniform(&rng, .3, 3);
    r->rhs[i] = uniform(&rng, -3, 3);
  }
  int joints = (int)(3 * s2_rng_uniform(&rng)), boxes = 1 + (int)(3 * s2_rng_uniform(&rng));
  int limits = (int)(2 * s2_rng_uniform(&rng)), contacts = (int)(3 * s2_rng_uniform(&rng)), n = 0;
  for (int k = 0; k < joints + boxes + limits + contacts; k++) {
    S2Row row = {.a = (int)(NODES * s2_rng_uniform(&rng)), .coupled_to = -1, .group = k};
    row.b = s2_rng_uniform(&rng) < .4 ? S2_GROUND : (row.a + 1) % NODES;
    for (int c = 0; c < 3; c++) {
      row.ja[c] = uniform(&rng, -1, 1);
      row.jb[c] = row.b == S2_GROUND ? 0 : uniform(&rng, -1, 1);
    }
    row.bias = uniform(&rng, -.5, .5);
    row.compliance = k % 3 == 0 ? uniform(&rng, 0, .2) : 0;
    if (k < joints) {
      row.lo = -INFINITY;
      row.hi = INFINITY;
    } else if (k < joints + boxes) {
      row.lo = uniform(&rng, -2, .5);
      row.hi = row.lo + uniform(&rng, .1, 2);
    } else {
      row.hi = INFINITY;
      row.bias = uniform(&rng, 0, .5); // open: with the ground at rest all can be satisfied
    }
    r->row[n++] = row;
    if (k >= joints + boxes + limits) {
      S2Row friction = row;
      friction.coupled_to = n - 1;
      friction.mu = uniform(&rng, 0, most_mu);
      friction.bias = 0;
      friction.compliance = 0;
      for (int c = 0; c < 3; c++) {
        friction.ja[c] = uniform(&rng, -1, 1);
        friction.jb[c] = row.b == S2_GROUND ? 0 : uniform(&rng, -1, 1);
      }
      r->row[n++] = friction;
    }
  }
  r->joints = joints;
  r->boxes = boxes;
  r->problem = (S2Problem){.nodes = NODES,
                           .rows = n,
                           .mass = r->mass,
                           .rhs = r->rhs,
                           .row = r->row,
                           .velocity_scale = 1,
                           .length = 1};
}

// The laws themselves, without the library's residual.
static void assert_lawful(const Random *r, const double *v, const double *lambda,
                          double tolerance) {
  double momentum[3 * NODES];
  for (int i = 0; i < 3 * NODES; i++) {
    momentum[i] = r->mass[i] * v[i] - r->rhs[i];
  }
  for (int i = 0; i < r->problem.rows; i++) {
    const S2Row *row = &r->row[i];
    double u = row->compliance * lambda[i] + row->bias, lo = row->lo, hi = row->hi;
    for (int c = 0; c < 3; c++) {
      u += row->ja[c] * v[3 * row->a + c];
      momentum[3 * row->a + c] -= row->ja[c] * lambda[i];
      if (row->b >= 0) {
        u += row->jb[c] * v[3 * row->b + c];
        momentum[3 * row->b + c] -= row->jb[c] * lambda[i];
      }
    }
    if (row->coupled_to >= 0) {
      hi = row->mu * lambda[i - 1];
      lo = -hi;
    }
    assert_true(lambda[i] >= lo - tolerance && lambda[i] <= hi + tolerance);
    if (lambda[i] > lo + 100 * tolerance) {
      assert_true(u <= tolerance * 100);
    }
    if (lambda[i] < hi - 100 * tolerance) {
      assert_true(u >= -tolerance * 100);
    }
  }
  for (int i = 0; i < 3 * NODES; i++) {
    assert_true(fabs(momentum[i]) <= 100 * tolerance);
  }
}

// auto must solve all; the others may report failure, but not often.
static void solvers_agree(void **state) {
  (void)state;
  int solved[S2_SOLVER_COUNT] = {0};
  S2Arena arena;
  s2_arena_init(&arena);
  for (uint64_t seed = 1; seed <= PROBLEMS; seed++) {
    Random r;
    make(&r, seed, .5);
    double exact[3 * NODES] = {0};
    bool known = false;
    for (S2Solver solver = S2_SOLVER_AUTO; solver < S2_SOLVER_PROGRAM; solver++) {
      s2_arena_reset(&arena);
      double v[3 * NODES] = {0}, lambda[2 * MOST] = {0};
      S2Solution solution = {.v = v, .lambda = lambda};
      S2SolverOptions options = {.solver = solver, .tolerance = TOLERANCE, .max_iterations = 100};
      S2SolveStatus status = s2_mcp_solve(&r.problem, &options, &arena, &solution);
      assert_int_equal(status == S2_SOLVED, solution.residual.scaled <= TOLERANCE);
      if (status == S2_SOLVED) {
        assert_lawful(&r, v, lambda, 1e-8);
        solved[solver]++;
        bool first = !known;
        for (int i = 0; i < 3 * NODES && r.problem.rows == r.joints + r.boxes; i++) {
          assert_true(first || fabs(v[i] - exact[i]) < 1e-7); // convex: one velocity
          exact[i] = v[i];
        }
        known = true;
      } else if (solver == S2_SOLVER_AUTO) {
        fail_msg("seed %d: auto left %.2e", (int)seed, solution.residual.scaled);
      }
    }
  }
  s2_arena_free(&arena);
  assert_int_equal(solved[S2_SOLVER_AUTO], PROBLEMS);
  assert_true(solved[S2_SOLVER_PDIPM] >= PROBLEMS * 99 / 100);
  assert_true(solved[S2_SOLVER_LEMKE] >= PROBLEMS * 99 / 100);
  assert_true(solved[S2_SOLVER_NEWTON] >= PROBLEMS * 99 / 100);
}

// Rows that may occur in files and that no solver supports are refused, without an assertion.
static void unknown_rows(void **state) {
  (void)state;
  static const double bounds[][2] = {{-1, INFINITY}, {1, INFINITY}, {2, 2}, {5, 1}, {-INFINITY, 3}};
  const double mass[6] = {1, 1, 1, 1, 1, 1}, rhs[6] = {0, 0, -1, 0, 0, 0};
  S2Arena arena;
  s2_arena_init(&arena);
  for (S2Solver solver = S2_SOLVER_AUTO; solver < S2_SOLVER_PROGRAM; solver++) {
    for (int i = 0; i < 7; i++) {
      S2Row row[2] = {{.a = 0, .b = S2_GROUND, .coupled_to = -1, .ja = {0, 0, 1}, .hi = INFINITY},
                      {.a = 0, .b = S2_GROUND, .coupled_to = 0, .ja = {0, 1, 0}, .mu = 1}};
      if (i < 5) {
        row[0].lo = bounds[i][0];
        row[0].hi = bounds[i][1];
      } else {
        row[i - 5].b = i == 5 ? 0 : 1; // a body against itself; friction of another pair
      }
      S2Problem problem = {.nodes = 2,
                           .rows = i < 5 ? 1 : 2,
                           .mass = mass,
                           .rhs = rhs,
                           .row = row,
                           .velocity_scale = 1,
                           .length = 1};
      double v[6] = {0}, lambda[2] = {0};
      S2Solution solution = {.v = v, .lambda = lambda};
      S2SolverOptions options = {.solver = solver, .tolerance = TOLERANCE, .max_iterations = 100};
      assert_int_equal(s2_mcp_solve(&problem, &options, &arena, &solution), S2_UNSUPPORTED);
    }
  }
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(motor), cmocka_unit_test(solvers_agree),
                                     cmocka_unit_test(unknown_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
