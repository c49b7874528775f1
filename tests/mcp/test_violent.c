// Violent states: every class of the set of bench_violent up to 10 rows, one seed each, and what
// once was not solved.
#include "../bench/violent_set.h"
#include "mcp/chain/pdipm_stages.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_solved(int base, double speed, double friction, int seed) {
  S2World *world = violent_build(base, speed, friction, seed);
  double *v;
  S2Problem *problem = violent_problem(world, &v);
  S2Arena arena;
  s2_arena_init(&arena);
  S2SolverOptions options = {
      .solver = S2_SOLVER_AUTO, .tolerance = VIOLENT_TOLERANCE, .max_iterations = 100};
  S2Solution solution = {.v = v, .lambda = S2_TAKE_ZEROED(&arena, double, problem->rows)};
  S2SolveStatus status = s2_mcp_solve(problem, &options, &arena, &solution);
  S2Residual residual = s2_mcp_residual(problem, solution.v, solution.lambda, &arena);
  if (status != S2_SOLVED || !(residual.scaled <= VIOLENT_TOLERANCE)) {
    fail_msg("B %d, s %g, mu %g, seed %d: %s, residual %.1e", base, speed, friction, seed,
             s2_solve_status_name(status), residual.scaled);
  }
  s2_arena_free(&arena);
  s2_problem_free(problem);
  free(v);
  s2_world_destroy(world);
}

static void test_every_class_is_solved(void **state) {
  (void)state;
  static const double speeds[] = {0.01, 1, 10}, frictions[] = {0, 0.1, 0.6, 1.5};
  for (int base = 5; base <= 10; base += 5) {
    for (int i = 0; i < 3; i++) {
      for (int k = 0; k < 4; k++) {
        assert_solved(base, speeds[i], frictions[k], 1);
      }
    }
  }
}

// Not solved before paths were followed.
static void test_path_following_is_needed(void **state) {
  (void)state;
  assert_solved(10, 1, 1.5, 17);
}

// Without friction the problem is convex: every proximal step exists and has one answer, and they
// converge.
static void test_paths_arrive_without_friction(void **state) {
  (void)state;
  enum { SEEDS = 5, STEPS = 30 };
  static const S2FollowStart start = {.weight = 1e3, .segments = 1000};
  for (int seed = 1; seed <= SEEDS; seed++) {
    S2World *world = violent_build(5, 1, 0, seed);
    double *velocities;
    S2Problem *problem = violent_problem(world, &velocities);
    S2Arena arena;
    s2_arena_init(&arena);
    S2System system;
    s2_system_init(&system, problem, &arena);
    s2_system_prepare(&system, &arena);
    S2Quad *v = S2_TAKE_ZEROED(&arena, S2Quad, system.nodes + 1);
    double *lambda = S2_TAKE_ZEROED(&arena, double, 2 * system.units);
    double *u = S2_TAKE(&arena, double, 2 * system.units);
    int factorizations = 0;
    for (int i = 0; i < STEPS; i++) {
      assert_true(s2_follow_solve(&system, &start, v, lambda, &factorizations, &arena));
    }
    assert_true(s2_system_residual(&system, v, lambda, u) < VIOLENT_TOLERANCE);
    s2_arena_free(&arena);
    s2_problem_free(problem);
    free(velocities);
    s2_world_destroy(world);
  }
}

// Rows that moved a little: the solution is in the modes that the impulses of the last one show.
static void test_modes_of_the_guess_are_finished(void **state) {
  (void)state;
  enum { SEEDS = 5, SEGMENTS = 200 };
  static const double MOVED = 1e-7; // of impulses, scaled
  for (int seed = 1; seed <= SEEDS; seed++) {
    S2World *world = violent_build(5, 1, 0.6, seed);
    double *v;
    S2Problem *problem = violent_problem(world, &v);
    S2Arena arena;
    s2_arena_init(&arena);
    S2SolverOptions options = {
        .solver = S2_SOLVER_AUTO, .tolerance = VIOLENT_TOLERANCE, .max_iterations = 100};
    S2Solution solution = {.v = v, .lambda = S2_TAKE_ZEROED(&arena, double, problem->rows)};
    assert_int_equal(s2_mcp_solve(problem, &options, &arena, &solution), S2_SOLVED);
    S2System system;
    s2_system_init(&system, problem, &arena);
    s2_system_prepare(&system, &arena);
    S2Quad *at = S2_TAKE_ZEROED(&arena, S2Quad, system.nodes + 1);
    double *lambda = S2_TAKE_ZEROED(&arena, double, 2 * system.units);
    double *u = S2_TAKE(&arena, double, 2 * system.units);
    s2_system_read(&system, solution.v, solution.lambda, at, lambda);
    for (int i = 0; i < 2 * system.units; i++) {
      lambda[i] *= 1 + MOVED * sin(i + seed);
    }
    s2_system_velocity(&system, lambda, at);
    assert_true(s2_system_residual(&system, at, lambda, u) > VIOLENT_TOLERANCE);
    int factorizations = 0;
    double residual =
        s2_finish_solve(&system, SEGMENTS, VIOLENT_TOLERANCE, at, lambda, &factorizations, &arena);
    assert_true(residual <= VIOLENT_TOLERANCE);
    assert_true(s2_system_residual(&system, at, lambda, u) == residual);
    s2_arena_free(&arena);
    s2_problem_free(problem);
    free(v);
    s2_world_destroy(world);
  }
}

// The flow alone, from nothing but sweeps.
static void test_the_flow_finds_solutions(void **state) {
  (void)state;
  enum { SEEDS = 5, SWEEPS = 300, MOST = 400 };
  for (int seed = 1; seed <= SEEDS; seed++) {
    S2World *world = violent_build(5, 1, 0.6, seed);
    double *velocities;
    S2Problem *problem = violent_problem(world, &velocities);
    S2Arena arena;
    s2_arena_init(&arena);
    S2System system;
    s2_system_init(&system, problem, &arena);
    s2_system_prepare(&system, &arena);
    S2Quad *v = S2_TAKE_ZEROED(&arena, S2Quad, system.nodes + 1);
    double *lambda = S2_TAKE_ZEROED(&arena, double, 2 * system.units);
    s2_nncg_sweeps(&system, SWEEPS, v, lambda, &arena);
    int factorizations = 0;
    double residual =
        s2_flow_solve(&system, MOST, VIOLENT_TOLERANCE, v, lambda, &factorizations, &arena);
    if (!(residual <= VIOLENT_TOLERANCE)) {
      fail_msg("seed %d: residual %.1e after %d factorisations", seed, residual, factorizations);
    }
    s2_arena_free(&arena);
    s2_problem_free(problem);
    free(velocities);
    s2_world_destroy(world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_class_is_solved),
      cmocka_unit_test(test_path_following_is_needed),
      cmocka_unit_test(test_paths_arrive_without_friction),
      cmocka_unit_test(test_modes_of_the_guess_are_finished),
      cmocka_unit_test(test_the_flow_finds_solutions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
