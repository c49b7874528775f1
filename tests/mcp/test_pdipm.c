// The interior-point chain on scenes of simulators: stacks, pyramids, piles, chains of hinges, and
// random problems. Every one must be solved to the tolerance of users.
#include "islands.h"

#include "base/memory.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

// ---- Known solutions --------------------------------------------------------------------------

static void assert_near(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-12 * fmax(1, fabs(expected)))) {
    fail_msg("%.17g is not %.17g", value, expected);
  }
}

// A box on two corners under gravity, tilted by `angle`.
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
  v[2] = 0.1; // lifts off while the ground still pushes, which also violates the momentum balance
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
      for (int i = 0; i < 3 * count; i++) { // at rest, as accurately as the heaviest body allows
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
      assert_int_equal(solve(scene, S2_SOLVER_AUTO, &arena).iterations, 0); // the solution is kept
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

// Rounding the impulses to doubles alone changes rows by this much of V: light bodies between heavy
// ones can bear impulses of 1e7 times their own momentum.
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

// The same scene in other units has the same solution: the solver has no absolute scale.
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
