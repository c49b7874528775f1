// The interior-point chain on scenes a simulator meets: stacks, pyramids, piles, chains of hinges,
// and random problems. Every one must be solved to the tolerance users ask for.
#include "base/memory.h"
#include "base/rng.h"
#include "mcp/solvers.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double TOLERANCE = 1e-9; // the default of a world
static const double STEP = 1.0 / 60;  // s
static const double GRAVITY = 9.81;   // m/s^2

// ---- Scenes -----------------------------------------------------------------------------------

typedef struct Scene {
  int nodes, rows, groups;
  double *mass, *rhs, *position, *v, *lambda;
  S2Row *row;
  S2Problem problem;
} Scene;

static Scene *scene_new(int nodes, int rows) {
  Scene *scene = calloc(1, sizeof *scene);
  size_t n = (size_t)(3 * nodes);
  scene->nodes = nodes;
  scene->mass = calloc(n, sizeof(double));
  scene->rhs = calloc(n, sizeof(double));
  scene->position = calloc(n, sizeof(double));
  scene->v = calloc(n, sizeof(double));
  scene->lambda = calloc((size_t)rows + 1, sizeof(double));
  scene->row = calloc((size_t)rows + 1, sizeof(S2Row));
  return scene;
}

static void scene_free(Scene *scene) {
  free(scene->mass);
  free(scene->rhs);
  free(scene->position);
  free(scene->v);
  free(scene->lambda);
  free(scene->row);
  free(scene);
}

static void set_body(Scene *scene, int i, double x, double y, double mass, double inertia) {
  double *m = scene->mass + 3 * i;
  m[0] = inertia;
  m[1] = m[2] = mass;
  scene->position[3 * i + 1] = x;
  scene->position[3 * i + 2] = y;
}

static void fill_jacobian(const Scene *scene, S2Row *row, double px, double py, double nx,
                          double ny) {
  for (int side = 0; side < 2; side++) {
    int node = side == 0 ? row->a : row->b;
    double sign = side == 0 ? 1 : -1, *j = side == 0 ? row->ja : row->jb;
    if (node >= 0) {
      double rx = px - scene->position[3 * node + 1], ry = py - scene->position[3 * node + 2];
      j[0] = sign * (rx * ny - ry * nx);
      j[1] = sign * nx;
      j[2] = sign * ny;
    }
  }
}

// Contact at p with the normal n from b to a; mu < 0: no friction row at all.
static void add_contact(Scene *scene, int a, int b, double px, double py, double nx, double ny,
                        double mu, double gap) {
  S2Row *row = &scene->row[scene->rows];
  row[0] = (S2Row){.a = a, .b = b, .coupled_to = -1, .group = scene->groups, .hi = INFINITY};
  row[0].bias = gap / STEP;
  fill_jacobian(scene, row, px, py, nx, ny);
  if (mu >= 0) {
    row[1] = (S2Row){.a = a, .b = b, .coupled_to = scene->rows, .group = scene->groups, .mu = mu};
    fill_jacobian(scene, row + 1, px, py, ny, -nx);
  }
  scene->rows += mu >= 0 ? 2 : 1;
  scene->groups++;
}

static void add_hinge(Scene *scene, int a, int b, double px, double py, double compliance) {
  for (int k = 0; k < 2; k++) {
    S2Row *row = &scene->row[scene->rows++];
    *row = (S2Row){.a = a,
                   .b = b,
                   .coupled_to = -1,
                   .group = scene->groups,
                   .lo = -INFINITY,
                   .hi = INFINITY,
                   .compliance = compliance};
    fill_jacobian(scene, row, px, py, k == 0, k == 1);
  }
  scene->groups++;
}

// Gravity, and a velocity each in noise * (-1 .. 1).
static void push(Scene *scene, double noise, S2Rng *rng) {
  double fastest = GRAVITY * STEP;
  for (int i = 0; i < 3 * scene->nodes; i++) {
    double v = noise > 0 ? noise * s2_rng_normal(rng) : 0;
    scene->rhs[i] = scene->mass[i] * (v - (i % 3 == 2 ? GRAVITY * STEP : 0));
    scene->v[i] = v;
    fastest = fmax(fastest, fabs(v));
  }
  scene->problem = (S2Problem){.nodes = scene->nodes,
                               .rows = scene->rows,
                               .mass = scene->mass,
                               .rhs = scene->rhs,
                               .row = scene->row,
                               .velocity_scale = fastest,
                               .length = 1};
}

static Scene *make_stack(int count, double top_mass, double mu) {
  Scene *scene = scene_new(count, 4 * count);
  for (int i = 0; i < count; i++) {
    double mass = i == count - 1 ? top_mass : 1;
    set_body(scene, i, 0, i + 0.5, mass, mass / 6);
    add_contact(scene, i, i - 1, -0.5, i, 0, 1, mu, 0);
    add_contact(scene, i, i - 1, 0.5, i, 0, 1, mu, 0);
  }
  push(scene, 0, NULL);
  return scene;
}

static Scene *make_pyramid(int base, double mu, double noise, uint64_t seed) {
  Scene *scene = scene_new(base * (base + 1) / 2, 8 * base * base);
  S2Rng rng = s2_rng_seeded(seed);
  int node = 0;
  for (int level = 0; level < base; level++) {
    for (int j = 0; j < base - level; j++, node++) {
      double x = j + 0.5 * level, y = level + 0.5;
      set_body(scene, node, x, y, 1, 1.0 / 6);
      int below = node - (base - level) - 1;
      for (int d = 0; d < (level > 0 ? 2 : 1); d++) {
        double left = level > 0 ? x - 0.5 + 0.5 * d : x - 0.5;
        double right = level > 0 ? left + 0.5 : x + 0.5;
        int support = level > 0 ? below + d : S2_GROUND;
        add_contact(scene, node, support, left, y - 0.5, 0, 1, mu, 0);
        add_contact(scene, node, support, right, y - 0.5, 0, 1, mu, 0);
      }
      if (j > 0) {
        add_contact(scene, node, node - 1, x - 0.5, y - 0.5, 1, 0, mu, 0);
        add_contact(scene, node, node - 1, x - 0.5, y + 0.5, 1, 0, mu, 0);
      }
    }
  }
  push(scene, noise, &rng);
  return scene;
}

// Contacts of all discs (radius .5, moment .125 m) nearer than `reach`, with a floor and two walls.
static void find_disc_contacts(Scene *scene, double width, double mu, double reach) {
  scene->rows = scene->groups = 0;
  for (int i = 0; i < scene->nodes; i++) {
    double x = scene->position[3 * i + 1], y = scene->position[3 * i + 2];
    if (y - 0.5 < reach) {
      add_contact(scene, i, S2_GROUND, x, y - 0.5, 0, 1, mu, fmax(0, y - 0.5));
    }
    if (x - 0.5 < reach) {
      add_contact(scene, i, S2_GROUND, x - 0.5, y, 1, 0, mu, fmax(0, x - 0.5));
    }
    if (width - x - 0.5 < reach) {
      add_contact(scene, i, S2_GROUND, x + 0.5, y, -1, 0, mu, fmax(0, width - x - 0.5));
    }
    for (int k = 0; k < i; k++) {
      double dx = x - scene->position[3 * k + 1], dy = y - scene->position[3 * k + 2];
      double distance = hypot(dx, dy);
      if (distance - 1 < reach) {
        double nx = dx / distance, ny = dy / distance;
        add_contact(scene, i, k, x - nx / 2, y - ny / 2, nx, ny, mu, fmax(0, distance - 1));
      }
    }
  }
}

static Scene *make_disc_pile(int columns, int levels, double mu, double noise, uint64_t seed) {
  Scene *scene = scene_new(columns * levels, 12 * columns * levels);
  S2Rng rng = s2_rng_seeded(seed);
  for (int i = 0; i < columns * levels; i++) {
    int level = i / columns, j = i % columns;
    double x = 0.5 + j + 0.5 * (level % 2) + 0.01 * s2_rng_uniform(&rng);
    set_body(scene, i, x, 0.5 + level * sqrt(0.75) + 0.01 * s2_rng_uniform(&rng), 1, 0.125);
  }
  find_disc_contacts(scene, columns + 0.52, mu, 0.02);
  push(scene, noise, &rng);
  return scene;
}

static double spread(S2Rng *rng, double decades) {
  return pow(10, decades * (s2_rng_uniform(rng) - 0.5));
}

// Bodies at random places, contacts at random points and directions: nothing physical about it.
static Scene *make_random(uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  int nodes = (int)s2_rng_integer(&rng, 1, 10), contacts = (int)s2_rng_integer(&rng, 1, 20);
  int hinges = nodes > 1 ? (int)s2_rng_integer(&rng, 0, 2) : 0;
  Scene *scene = scene_new(nodes, 2 * contacts + 2 * hinges);
  for (int i = 0; i < nodes; i++) {
    double mass = spread(&rng, 6);
    set_body(scene, i, 4 * s2_rng_uniform(&rng), 4 * s2_rng_uniform(&rng), mass,
             mass * (0.05 + 0.3 * s2_rng_uniform(&rng)));
  }
  for (int i = 0; i < hinges; i++) {
    int a = (int)s2_rng_integer(&rng, 1, nodes - 1), b = (int)s2_rng_integer(&rng, -1, a - 1);
    add_hinge(scene, a, b, 4 * s2_rng_uniform(&rng), 4 * s2_rng_uniform(&rng), 0);
  }
  for (int i = 0; i < contacts; i++) {
    int a = (int)s2_rng_integer(&rng, 0, nodes - 1), b = (int)s2_rng_integer(&rng, -1, a - 1);
    double ax = scene->position[3 * a + 1], ay = scene->position[3 * a + 2];
    double bx = b >= 0 ? scene->position[3 * b + 1] : ax;
    double by = b >= 0 ? scene->position[3 * b + 2] : ay - 1;
    double angle = atan2(ay - by, ax - bx) + 0.5 * s2_rng_normal(&rng);
    double px = (ax + bx) / 2 + 0.3 * s2_rng_normal(&rng);
    double py = (ay + by) / 2 + 0.3 * s2_rng_normal(&rng);
    double kind = s2_rng_uniform(&rng);
    double mu = kind < 0.1 ? -1 : kind < 0.2 ? 0 : 2 * s2_rng_uniform(&rng);
    add_contact(scene, a, b, px, py, cos(angle), sin(angle), mu, 0);
  }
  push(scene, spread(&rng, 4), &rng);
  return scene;
}

static S2Solution solve(Scene *scene, S2Solver solver, S2Arena *arena) {
  S2SolverOptions options = {.solver = solver, .tolerance = TOLERANCE, .max_iterations = 50};
  S2Solution solution = {.v = scene->v, .lambda = scene->lambda};
  s2_mcp_solve(&scene->problem, &options, arena, &solution);
  return solution;
}

// ---- Known answers ----------------------------------------------------------------------------

static void assert_near(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-12 * fmax(1, fabs(expected)))) {
    fail_msg("%.17g is not %.17g", value, expected);
  }
}

// A box on two corners under gravity that leans by `angle`.
static Scene *make_incline(double mu, double angle) {
  Scene *scene = make_stack(1, 1, mu);
  scene->rhs[1] = -sin(angle) * GRAVITY * STEP;
  scene->rhs[2] = -cos(angle) * GRAVITY * STEP;
  return scene;
}

static void test_box_sticks_on_an_incline(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Scene *scene = make_incline(0.6, atan(0.5));
  S2Solution solution = solve(scene, S2_SOLVER_PDIPM, &arena);
  assert_int_equal(solution.status, S2_SOLVED);
  assert_true(solution.residual.scaled <= 1e-13);
  for (int i = 0; i < 3; i++) {
    assert_near(scene->v[i], 0);
  }
  assert_near(scene->lambda[0] + scene->lambda[2], cos(atan(0.5)) * GRAVITY * STEP);
  scene_free(scene);
  s2_arena_free(&arena);
}

static void test_box_slides_on_a_steeper_incline(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  double angle = atan(0.8), mu = 0.3;
  Scene *scene = make_incline(mu, angle);
  S2Solution solution = solve(scene, S2_SOLVER_PDIPM, &arena);
  assert_int_equal(solution.status, S2_SOLVED);
  assert_near(scene->v[0], 0);
  assert_near(scene->v[1], -(sin(angle) - mu * cos(angle)) * GRAVITY * STEP);
  assert_near(scene->v[2], 0);
  scene_free(scene);
  s2_arena_free(&arena);
}

// A rod of mass 1, length 2 on a hinge at its end, `copies` times the same hinge.
static Scene *make_pendulum(int copies, double compliance) {
  Scene *scene = scene_new(1, 2 * copies);
  set_body(scene, 0, 1, 0, 1, 1.0 / 3);
  for (int i = 0; i < copies; i++) {
    add_hinge(scene, 0, S2_GROUND, 0, 0, compliance);
  }
  push(scene, 0, NULL);
  return scene;
}

static void test_hinge_turns_gravity_into_rotation(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int copies = 1; copies <= 4; copies++) {
    Scene *scene = make_pendulum(copies, 0);
    S2Solution solution = solve(scene, S2_SOLVER_PDIPM, &arena);
    assert_int_equal(solution.status, S2_SOLVED);
    assert_true(solution.residual.scaled <= 1e-13);
    double rate = -GRAVITY * STEP * 3 / 4; // m g r over the moment 4/3 about the hinge
    assert_near(scene->v[0], rate);
    assert_near(scene->v[1], 0);
    assert_near(scene->v[2], rate);
    for (int i = 0; i < copies; i++) { // redundant hinges share the load
      assert_near(scene->lambda[2 * i + 1], GRAVITY * STEP / 4 / copies);
    }
    scene_free(scene);
  }
  s2_arena_free(&arena);
}

static void test_compliant_hinge_gives_way(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  double compliance = 0.7, w = 1 + 3; // 1 / m + r^2 / I
  Scene *scene = make_pendulum(1, compliance);
  S2Solution solution = solve(scene, S2_SOLVER_PDIPM, &arena);
  assert_int_equal(solution.status, S2_SOLVED);
  double impulse = GRAVITY * STEP / (w + compliance);
  assert_near(scene->lambda[1], impulse);
  assert_near(scene->v[2], impulse - GRAVITY * STEP);
  scene_free(scene);
  s2_arena_free(&arena);
}

static void test_long_chain_with_a_heavy_end(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  enum { LINKS = 60 };
  for (double heavy = 1; heavy <= 1e6; heavy *= 1000) {
    Scene *scene = scene_new(LINKS, 2 * LINKS);
    for (int i = 0; i < LINKS; i++) {
      double mass = i == LINKS - 1 ? heavy : 1;
      set_body(scene, i, i + 0.5, 0, mass, mass / 12);
      add_hinge(scene, i, i - 1, i, 0, 0);
    }
    push(scene, 0, NULL);
    S2Solution solution = solve(scene, S2_SOLVER_PDIPM, &arena);
    if (!(solution.residual.scaled <= TOLERANCE)) {
      fail_msg("end mass %g: scaled residual %g", heavy, solution.residual.scaled);
    }
    scene_free(scene);
  }
  s2_arena_free(&arena);
}

// ---- The residual -----------------------------------------------------------------------------

static void test_residual_names_what_is_wrong(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Scene *scene = scene_new(1, 4);
  set_body(scene, 0, 0, 0.5, 2, 0.5);
  add_contact(scene, 0, S2_GROUND, 0, 0, 0, 1, 0.5, 0);
  push(scene, 0, NULL);
  double scale = scene->problem.velocity_scale, weight = 2 * GRAVITY * STEP;
  double v[3] = {0, 0, 0}, lambda[2] = {weight, 0};
  S2Residual r = s2_mcp_residual(&scene->problem, v, lambda, &arena);
  assert_near(r.scaled, 0);
  v[2] = 0.1; // lifts off while the ground still pushes; the momentum balance fails with it
  r = s2_mcp_residual(&scene->problem, v, lambda, &arena);
  assert_near(r.dynamics, 0.2);
  assert_near(r.complementarity, 0.1);
  assert_near(r.cone, 0);
  assert_near(r.scaled, 0.1 / scale);
  v[2] = 0;
  lambda[1] = weight; // twice what mu allows
  r = s2_mcp_residual(&scene->problem, v, lambda, &arena);
  assert_near(r.cone, weight / 2);
  lambda[0] = NAN;
  assert_true(isnan(s2_mcp_residual(&scene->problem, v, lambda, &arena).scaled));
  scene_free(scene);
  s2_arena_free(&arena);
}

// ---- Scenes at rest and in motion -------------------------------------------------------------

static void check(Scene *scene, S2Solver solver, S2Arena *arena, const char *name, double what) {
  s2_arena_reset(arena);
  S2Solution solution = solve(scene, solver, arena);
  if (!(solution.residual.scaled <= TOLERANCE) || solution.status != S2_SOLVED) {
    fail_msg("%s %g: scaled residual %g", name, what, solution.residual.scaled);
  }
}

static void test_stacks_of_all_mass_ratios(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int count = 1; count <= 20; count++) {
    for (double top = 1e-3; top < 2e6; top *= 10) {
      Scene *scene = make_stack(count, top, 0.6);
      check(scene, S2_SOLVER_PDIPM, &arena, "stack with top mass", top);
      for (int i = 0; i < 3 * count; i++) { // at rest, as closely as the heaviest body allows
        assert_true(fabs(scene->v[i]) <= 1e-8);
      }
      scene_free(scene);
    }
  }
  s2_arena_free(&arena);
}

static void test_pyramids_stand(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int base = 3; base <= 20; base++) {
    for (double mu = 0.3; mu < 1.6; mu += 0.6) {
      Scene *scene = make_pyramid(base, mu, 0, 1);
      check(scene, S2_SOLVER_PDIPM, &arena, "pyramid", base);
      s2_arena_reset(&arena);
      assert_int_equal(solve(scene, S2_SOLVER_AUTO, &arena).iterations, 0); // the answer is kept
      scene_free(scene);
    }
  }
  s2_arena_free(&arena);
}

static void test_shaken_pyramids(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (uint64_t seed = 1; seed <= 12; seed++) {
    double noise = pow(10, (double)(seed % 4) - 3);
    Scene *scene = make_pyramid(4 + (int)seed % 7, 0.3 * (double)(1 + seed % 3), noise, seed);
    check(scene, S2_SOLVER_AUTO, &arena, "shaken pyramid, seed", (double)seed);
    scene_free(scene);
  }
  s2_arena_free(&arena);
}

static void test_shaken_piles_of_discs(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (uint64_t seed = 1; seed <= 40; seed++) {
    Scene *scene = make_disc_pile(5, 4, 0.9, pow(10, (double)(seed % 4) - 2), seed);
    check(scene, S2_SOLVER_AUTO, &arena, "pile of discs, seed", (double)seed);
    scene_free(scene);
  }
  s2_arena_free(&arena);
}

// Rounding the impulses to doubles alone moves rows by this much of V: light bodies caught between
// heavy ones can bear impulses of 1e7 times their own momentum.
static double representable(const Scene *scene) {
  double largest = 0, *w = calloc((size_t)scene->rows, sizeof(double));
  s2_mcp_delassus_diagonal(&scene->problem, w);
  for (int i = 0; i < scene->rows; i++) {
    largest = fmax(largest, fabs(scene->lambda[i]) * w[i]);
  }
  free(w);
  return largest / scene->problem.velocity_scale * DBL_EPSILON / 2;
}

static void test_random_islands(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  int beyond = 0;
  for (uint64_t seed = 1; seed <= 1000; seed++) {
    s2_arena_reset(&arena);
    Scene *scene = make_random(seed);
    S2Solution solution = solve(scene, S2_SOLVER_AUTO, &arena);
    if (!(solution.residual.scaled <= fmax(TOLERANCE, representable(scene)))) {
      fail_msg("random island, seed %d: scaled residual %g", (int)seed, solution.residual.scaled);
    }
    beyond += solution.status != S2_SOLVED;
    scene_free(scene);
  }
  assert_true(beyond <= 1); // seed 834, whose impulses reach 5e7
  s2_arena_free(&arena);
}

// The same scene in other units has the same solution: nothing in the solver has a size of its own.
static void test_units_do_not_matter(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  double *reference = calloc(3 * 15, sizeof(double));
  for (double unit = 1; unit < 2e6; unit *= 1000) { // m, mm, um
    Scene *scene = make_pyramid(5, 0.5, 0.2, 3);
    for (int i = 0; i < 3 * scene->nodes; i++) {
      scene->rhs[i] *= i % 3 == 0 ? unit * unit : unit;
      scene->mass[i] *= i % 3 == 0 ? unit * unit : 1;
    }
    for (int i = 0; i < scene->rows; i++) {
      scene->row[i].ja[0] *= unit;
      scene->row[i].jb[0] *= unit;
    }
    scene->problem.velocity_scale *= unit;
    scene->problem.length *= unit;
    check(scene, S2_SOLVER_PDIPM, &arena, "units in a metre", unit);
    for (int i = 0; i < 3 * scene->nodes; i++) {
      double v = scene->v[i] / (i % 3 == 0 ? 1 : unit);
      reference[i] = unit == 1 ? v : reference[i];
      assert_true(fabs(v - reference[i]) <= 1e-8);
    }
    scene_free(scene);
  }
  free(reference);
  s2_arena_free(&arena);
}

static void test_solving_twice_gives_the_same_bits(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Scene *one = make_disc_pile(5, 4, 0.9, 1, 5), *two = make_disc_pile(5, 4, 0.9, 1, 5);
  solve(one, S2_SOLVER_AUTO, &arena);
  s2_arena_take(&arena, 1000); // other addresses
  solve(two, S2_SOLVER_AUTO, &arena);
  assert_memory_equal(one->v, two->v, sizeof(double) * 3 * 20);
  assert_memory_equal(one->lambda, two->lambda, sizeof(double) * (size_t)one->rows);
  scene_free(one);
  scene_free(two);
  s2_arena_free(&arena);
}

static void test_steady_state_calls_no_heap(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int round = 0; round < 4; round++) {
    Scene *scene = make_pyramid(8, 0.6, 0.05, 1);
    uint64_t before = s2_memory_count();
    s2_arena_reset(&arena);
    solve(scene, S2_SOLVER_PDIPM, &arena);
    if (round >= 2) { // the arena has its final size by then
      assert_int_equal(s2_memory_count(), before);
    }
    scene_free(scene);
  }
  s2_arena_free(&arena);
}

static void test_solver_names(void **state) {
  (void)state;
  for (int i = 0; i < S2_SOLVER_COUNT; i++) {
    assert_int_equal(s2_solver_from_name(s2_solver_name((S2Solver)i)), i);
    assert_non_null(s2_solver_summary((S2Solver)i));
  }
  assert_null(s2_solver_name(S2_SOLVER_COUNT));
  assert_int_equal(s2_solver_from_name("simplex"), S2_SOLVER_COUNT);
  assert_string_equal(s2_solve_status_name(S2_UNSUPPORTED), "unsupported");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_box_sticks_on_an_incline),
      cmocka_unit_test(test_box_slides_on_a_steeper_incline),
      cmocka_unit_test(test_hinge_turns_gravity_into_rotation),
      cmocka_unit_test(test_compliant_hinge_gives_way),
      cmocka_unit_test(test_long_chain_with_a_heavy_end),
      cmocka_unit_test(test_residual_names_what_is_wrong),
      cmocka_unit_test(test_stacks_of_all_mass_ratios),
      cmocka_unit_test(test_pyramids_stand),
      cmocka_unit_test(test_shaken_pyramids),
      cmocka_unit_test(test_shaken_piles_of_discs),
      cmocka_unit_test(test_random_islands),
      cmocka_unit_test(test_units_do_not_matter),
      cmocka_unit_test(test_solving_twice_gives_the_same_bits),
      cmocka_unit_test(test_steady_state_calls_no_heap),
      cmocka_unit_test(test_solver_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
