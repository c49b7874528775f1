// Light nodes and small inertias: there the rounding of an impulse is a velocity, and solutions are
// stored with twice the digits. Long doubles check the reported residuals.
#include "base/rng.h"
#include "mcp/mcp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 5, ROWS = 4 * NODES, PROBLEMS = 600, DISCS = 200 };
static const double TOLERANCE = 1e-9;
// Decade of the smallest inertia: the rounding of long doubles moves such a node by 1e-11 m/s.
static const double SMALLEST = -10;
static const double FALL = 0.08; // m/s, of gravity in a step

typedef struct Scene {
  S2Problem problem;
  double mass[3 * NODES], rhs[3 * NODES], v[3 * NODES];
  S2Row row[ROWS];
  double lambda[ROWS], low[ROWS];
} Scene;

static double range(S2Rng *rng, double a, double b) {
  return a + (b - a) * s2_rng_uniform(rng);
}

// 10^a .. 10^b
static double decades(S2Rng *rng, double a, double b) {
  return pow(10, range(rng, a, b));
}

static S2SolveStatus solve(Scene *scene, S2Solution *solution, S2Arena *arena) {
  S2SolverOptions options = {.tolerance = TOLERANCE, .max_iterations = 100};
  memset(scene->v, 0, sizeof scene->v);
  memset(scene->lambda, 0, sizeof scene->lambda);
  *solution = (S2Solution){.v = scene->v, .lambda = scene->lambda, .low = scene->low};
  return s2_mcp_solve(&scene->problem, &options, arena, solution);
}

// Normal and friction row of node a on node b (or ground), `x` to the side of both centres.
static void add_contact(Scene *scene, int a, int b, double x, double height, double mu,
                        double gap) {
  int n = scene->problem.rows;
  scene->row[n] = (S2Row){.a = a,
                          .b = b,
                          .coupled_to = -1,
                          .group = n / 2,
                          .ja = {x, 0, 1},
                          .jb = {b < 0 ? 0 : -x, 0, b < 0 ? 0 : -1},
                          .hi = INFINITY,
                          .bias = gap};
  scene->row[n + 1] = (S2Row){.a = a,
                              .b = b,
                              .coupled_to = n,
                              .group = n / 2,
                              .ja = {height, 1, 0},
                              .jb = {b < 0 ? 0 : height, b < 0 ? 0 : -1, 0},
                              .mu = mu};
  scene->problem.rows += 2;
}

static void begin(Scene *scene, int nodes, double speed) {
  *scene = (Scene){.problem = {.nodes = nodes, .velocity_scale = fmax(speed, FALL), .length = 1}};
  scene->problem.mass = scene->mass;
  scene->problem.rhs = scene->rhs;
  scene->problem.row = scene->row;
}

static void set_node(Scene *scene, int i, double mass, double inertia, const double v[3]) {
  const double m[3] = {inertia, mass, mass};
  for (int c = 0; c < 3; c++) {
    scene->mass[3 * i + c] = m[c];
    scene->rhs[3 * i + c] = m[c] * (v[c] - (c == 2 ? FALL : 0));
  }
}

// A tower of nodes, with two points each.
static void random_tower(Scene *scene, S2Rng *rng) {
  int nodes = 1 + (int)range(rng, 0, NODES - 0.01);
  double speed = range(rng, 0, 1) < 0.5 ? 0 : 1, ratio = decades(rng, 3, 8);
  bool small = range(rng, 0, 1) < 0.5; // inertias
  begin(scene, nodes, speed);
  for (int i = 0; i < nodes; i++) {
    double mass = pow(ratio, range(rng, 0, 1));
    double inertia = small ? decades(rng, SMALLEST, -6) : mass / 6;
    const double v[3] = {0, speed * range(rng, -1, 1), 0};
    set_node(scene, i, small ? 1 : mass, inertia, v);
    for (int side = -1; side <= 1; side += 2) {
      add_contact(scene, i, i - 1, side * range(rng, 0.2, 0.5), 0.5, range(rng, 0, 1), 0);
    }
  }
}

// The scaled residual again, from its definition in docs/solvers.md.
static double certified(const Scene *scene) {
  const S2Problem *problem = &scene->problem;
  long double worst = 0, balance[3 * NODES] = {0};
  for (int i = 0; i < 3 * problem->nodes; i++) {
    balance[i] = scene->rhs[i];
  }
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &scene->row[i];
    long double lambda = (long double)scene->lambda[i] + (long double)scene->low[i];
    for (int c = 0; c < 3; c++) {
      balance[3 * row->a + c] += row->ja[c] * lambda;
      if (row->b >= 0) {
        balance[3 * row->b + c] += row->jb[c] * lambda;
      }
    }
  }
  for (int i = 0; i < 3 * problem->nodes; i++) {
    worst = fmaxl(worst, fabsl(scene->v[i] - balance[i] / scene->mass[i]));
  }
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &scene->row[i];
    long double u = row->bias, w = 0;
    long double lambda = (long double)scene->lambda[i] + (long double)scene->low[i];
    for (int c = 0; c < 3; c++) {
      u += (long double)row->ja[c] * scene->v[3 * row->a + c];
      w += (long double)row->ja[c] * row->ja[c] / scene->mass[3 * row->a + c];
      if (row->b >= 0) {
        u += (long double)row->jb[c] * scene->v[3 * row->b + c];
        w += (long double)row->jb[c] * row->jb[c] / scene->mass[3 * row->b + c];
      }
    }
    if (row->coupled_to < 0) {
      worst = fmaxl(worst, fabsl(fminl(w * lambda, u)));
    } else {
      long double normal = (long double)scene->lambda[i - 1] + (long double)scene->low[i - 1];
      long double bound = row->mu * fmaxl(normal, 0), push = u / w;
      long double above = lambda - bound, below = lambda + bound;
      worst = fmaxl(worst, w * fabsl(push < above ? above : push > below ? below : push));
    }
  }
  return (double)(worst / problem->velocity_scale);
}

// Impulses that are doubles are checked with sums in doubles; others with their own digits.
static void assert_certified(const Scene *scene, int k) {
  bool sums = false;
  for (int i = 0; i < scene->problem.rows; i++) {
    sums |= scene->low[i] != 0;
  }
  double residual = sums ? certified(scene) : 0;
  if (!(residual <= 2 * TOLERANCE)) {
    fail_msg("problem %d: residual %.1e in long doubles", k, residual);
  }
}

static void towers_are_solved(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(41);
  int beyond = 0;
  for (int k = 0; k < PROBLEMS; k++) {
    Scene scene;
    S2Solution solution;
    random_tower(&scene, &rng);
    S2SolveStatus status = solve(&scene, &solution, &arena);
    if (status != S2_SOLVED) {
      fail_msg("problem %d: %s, residual %.1e", k, s2_solve_status_name(status),
               solution.residual.scaled);
    }
    assert_certified(&scene, k);
    S2Residual rounded = s2_mcp_residual(&scene.problem, scene.v, scene.lambda, &arena);
    beyond += rounded.scaled > TOLERANCE; // except for their low parts
    s2_arena_reset(&arena);
  }
  // For some problems no impulses that are doubles are a solution.
  assert_true(beyond > PROBLEMS / 20);
  s2_arena_free(&arena);
}

// A disc of mass 1 that lands and rolls on: omega r = -v, and m r v0 of angular momentum about its
// point of contact, of which I is a part of 1e-10 and less.
static void small_discs_roll(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(42);
  for (int k = 0; k < DISCS; k++) {
    double inertia = decades(&rng, -12, -6), radius = decades(&rng, -2, 0);
    double speed = range(&rng, -5, 5);
    const double v[3] = {0, speed, -1};
    Scene scene;
    S2Solution solution;
    begin(&scene, 1, 5);
    set_node(&scene, 0, 1, inertia, v);
    add_contact(&scene, 0, S2_GROUND, 0, radius, 10, 0);
    assert_int_equal(solve(&scene, &solution, &arena), S2_SOLVED);
    double rolling = speed / (1 + inertia / (radius * radius));
    assert_true(fabs(scene.v[1] - rolling) <= 1e-12 * 5);
    assert_true(fabs(scene.v[0] * radius + rolling) <= 1e-12 * 5);
    assert_true(fabs(scene.v[2]) <= 1e-12 * 5);
    s2_arena_reset(&arena);
  }
  s2_arena_free(&arena);
}

// Two corners that stick require velocities that a turning body cannot have: one of them slides by
// the small difference.
static void corners_that_cannot_both_stick(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(43);
  for (int k = 0; k < DISCS; k++) {
    Scene scene;
    S2Solution solution;
    double inertia = decades(&rng, SMALLEST, -8), tilt = decades(&rng, -11, -6);
    const double v[3] = {0, range(&rng, -.1, .1), 0};
    begin(&scene, 1, 0.1);
    set_node(&scene, 0, 1, inertia, v);
    add_contact(&scene, 0, S2_GROUND, 0.25, 0.4, 2, 0);
    add_contact(&scene, 0, S2_GROUND, -0.25, 0.4 * (1 + tilt), 2, range(&rng, 0, 0.06));
    S2SolveStatus status = solve(&scene, &solution, &arena);
    if (status != S2_SOLVED) {
      fail_msg("problem %d: %s, residual %.1e", k, s2_solve_status_name(status),
               solution.residual.scaled);
    }
    assert_certified(&scene, k);
    s2_arena_reset(&arena);
  }
  s2_arena_free(&arena);
}

// Where doubles are sufficient, impulses are doubles.
static void ordinary_problems_need_no_more_digits(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int k = 0; k < 20; k++) {
    Scene scene;
    S2Solution solution;
    const double v[3] = {0, 0.1 * k, 0};
    begin(&scene, 2, 2);
    for (int i = 0; i < 2; i++) {
      set_node(&scene, i, 1, 1.0 / 6, v);
      add_contact(&scene, i, i - 1, -0.5, 0.5, 0.5, 0);
      add_contact(&scene, i, i - 1, 0.5, 0.5, 0.5, 0);
    }
    scene.low[0] = 1;
    assert_int_equal(solve(&scene, &solution, &arena), S2_SOLVED);
    for (int i = 0; i < scene.problem.rows; i++) {
      assert_true(scene.low[i] == 0);
    }
    s2_arena_reset(&arena);
  }
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(towers_are_solved),
      cmocka_unit_test(small_discs_roll),
      cmocka_unit_test(corners_that_cannot_both_stick),
      cmocka_unit_test(ordinary_problems_need_no_more_digits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
