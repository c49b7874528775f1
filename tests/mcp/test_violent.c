// Violent states: every class of the set of bench_violent up to 10 rows, one seed each, and
// problems that were unsolved in the past.
#include "../bench/violent_set.h"
#include "mcp/chain/pdipm_stages.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

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

// These problems are solved only by path following.
static void test_path_following_is_needed(void **state) {
  (void)state;
  assert_solved(10, 1, 1.5, 17);
}

// The system of a violent pyramid, at rest and without impulses.
typedef struct Violent {
  S2World *world;
  S2Problem *problem;
  double *velocities, *lambda, *u; // velocities and lambda of the problem; u: 2 a unit, scaled
  S2Quad *v;
  S2Arena arena;
  S2System system;
} Violent;

static void violent_open(Violent *at, double friction, int seed) {
  at->world = violent_build(5, 1, friction, seed);
  at->problem = violent_problem(at->world, &at->velocities);
  s2_arena_init(&at->arena);
  s2_system_init(&at->system, at->problem, &at->arena);
  s2_system_prepare(&at->system, &at->arena);
  at->v = S2_TAKE_ZEROED(&at->arena, S2Quad, at->system.nodes + 1);
  at->lambda = S2_TAKE_ZEROED(&at->arena, double, 2 * at->system.units);
  at->u = S2_TAKE(&at->arena, double, 2 * at->system.units);
}

static void violent_close(Violent *at) {
  s2_arena_free(&at->arena);
  s2_problem_free(at->problem);
  free(at->velocities);
  s2_world_destroy(at->world);
}

static double violent_residual(const Violent *at) {
  return s2_system_residual(&at->system, at->v, at->lambda, at->u);
}

enum { SEEDS = 5 };

// Without friction the problem is convex: every proximal step exists and has one solution, and they
// converge.
static void test_paths_arrive_without_friction(void **state) {
  (void)state;
  enum { STEPS = 30 };
  static const S2FollowStart start = {.weight = 1e3, .segments = 1000};
  for (int seed = 1; seed <= SEEDS; seed++) {
    Violent at;
    violent_open(&at, 0, seed);
    int factorizations = 0;
    for (int i = 0; i < STEPS; i++) {
      assert_true(s2_follow_solve(&at.system, &start, at.v, at.lambda, &factorizations, &at.arena));
    }
    assert_true(violent_residual(&at) < VIOLENT_TOLERANCE);
    violent_close(&at);
  }
}

// Rows that moved a little: the solution is in the modes that the last impulses show.
static void test_modes_of_the_guess_are_finished(void **state) {
  (void)state;
  enum { SEGMENTS = 20, MOST = 40 }; // segments of the chain; most factorisations
  static const double MOVED = 1e-7;  // relative change of impulses
  for (int seed = 1; seed <= SEEDS; seed++) {
    Violent at;
    violent_open(&at, 0.6, seed);
    S2SolverOptions options = {
        .solver = S2_SOLVER_AUTO, .tolerance = VIOLENT_TOLERANCE, .max_iterations = 100};
    S2Solution solution = {.v = at.velocities,
                           .lambda = S2_TAKE_ZEROED(&at.arena, double, at.problem->rows)};
    assert_int_equal(s2_mcp_solve(at.problem, &options, &at.arena, &solution), S2_SOLVED);
    s2_system_read(&at.system, solution.v, solution.lambda, at.v, at.lambda);
    for (int i = 0; i < 2 * at.system.units; i++) {
      at.lambda[i] *= 1 + MOVED * sin(i + seed);
    }
    s2_system_velocity(&at.system, at.lambda, at.v);
    assert_true(violent_residual(&at) > VIOLENT_TOLERANCE);
    int factorizations = 0;
    double residual = s2_finish_solve(&at.system, SEGMENTS, INT_MAX, VIOLENT_TOLERANCE, at.v,
                                      at.lambda, &factorizations, &at.arena);
    assert_true(residual <= VIOLENT_TOLERANCE);
    assert_true(violent_residual(&at) == residual);
    assert_in_range(factorizations, 1, MOST);
    violent_close(&at);
  }
}

// Solves with a budget use no more than that and no more than without any, improve with a larger
// budget, and report whether it ended them.
static void test_a_budget_is_kept(void **state) {
  (void)state;
  static const double budgets[] = {0, 3e3, 1e4, 1e9};
  enum { BUDGETS = sizeof budgets / sizeof *budgets };
  S2World *world = violent_build(10, 1, 0.6, 1);
  double *v, last = INFINITY;
  S2Problem *problem = violent_problem(world, &v);
  double *start = memcpy(calloc((size_t)problem->nodes, 3 * sizeof *v), v,
                         3 * sizeof *v * (size_t)problem->nodes);
  S2Arena arena;
  s2_arena_init(&arena);
  for (int i = 0; i < 2 * BUDGETS; i++) {
    S2SolverOptions options = {.solver = S2_SOLVER_AUTO,
                               .tolerance = VIOLENT_TOLERANCE,
                               .max_iterations = 100,
                               .bounded = true,
                               .budget = budgets[i / 2]};
    memcpy(v, start, 3 * sizeof *v * (size_t)problem->nodes);
    S2Solution solution = {.v = v, .lambda = S2_TAKE_ZEROED(&arena, double, problem->rows)};
    S2SolveStatus status = s2_mcp_solve(problem, &options, &arena, &solution);
    double residual = solution.residual.scaled;
    if (i % 2 == 1) { // a second time
      assert_true(residual == last);
      continue;
    }
    double most = budgets[i / 2] + 6 * solution.work / (1 + solution.iterations);
    assert_true(solution.work > 0 && solution.work <= most);
    assert_true(solution.cut == (status != S2_SOLVED));
    print_message("budget %g: %.1e after %g\n", budgets[i / 2], residual, solution.work);
    assert_true(residual < last);
    last = residual;
  }
  assert_true(last <= VIOLENT_TOLERANCE);
  s2_arena_free(&arena);
  s2_problem_free(problem);
  free(v);
  free(start);
  s2_world_destroy(world);
}

// A guess within the tolerance that is not the former solution is refined within a budget as well;
// one that is the former solution is unchanged.
static void test_a_budget_refines_what_is_fresh(void **state) {
  (void)state;
  S2World *world = violent_build(10, 1, 0.6, 1);
  double *v;
  S2Problem *problem = violent_problem(world, &v);
  S2Arena arena;
  s2_arena_init(&arena);
  S2SolverOptions options = {
      .solver = S2_SOLVER_AUTO, .tolerance = VIOLENT_TOLERANCE, .max_iterations = 100};
  S2Solution solution = {.v = v, .lambda = S2_TAKE_ZEROED(&arena, double, problem->rows)};
  assert_int_equal(s2_mcp_solve(problem, &options, &arena, &solution), S2_SOLVED);
  double off = VIOLENT_TOLERANCE / 100; // relative change of the impulses
  for (int i = 0; i < problem->rows; i++) {
    solution.lambda[i] *= 1 + off * (i % 2);
  }
  options.bounded = true;
  options.budget = 1e6;
  assert_int_equal(s2_mcp_solve(problem, &options, &arena, &solution), S2_SOLVED);
  double left = solution.residual.scaled;
  assert_int_equal(solution.iterations, 0);
  assert_true(left > off / 100);
  options.fresh = true;
  assert_int_equal(s2_mcp_solve(problem, &options, &arena, &solution), S2_SOLVED);
  assert_true(solution.iterations > 0);
  assert_true(solution.residual.scaled < 1e-3 * left);
  s2_arena_free(&arena);
  s2_problem_free(problem);
  free(v);
  s2_world_destroy(world);
}

// The flow alone, starting from sweeps.
static void test_the_flow_finds_solutions(void **state) {
  (void)state;
  enum { SWEEPS = 300, MOST = 400 };
  int flowed = 0;
  for (int seed = 1; seed <= SEEDS; seed++) {
    Violent at;
    violent_open(&at, 0.6, seed);
    S2Iterate iterates[MOST];
    S2History history = {.at = iterates, .capacity = MOST};
    at.system.history = &history;
    s2_nncg_sweeps(&at.system, SWEEPS, 0, at.v, at.lambda, &at.arena);
    int factorizations = 0;
    double residual = s2_flow_solve(&at.system, MOST, false, VIOLENT_TOLERANCE, &(S2FlowWatch){0},
                                    at.v, at.lambda, &factorizations, &at.arena);
    if (!(residual <= VIOLENT_TOLERANCE)) {
      fail_msg("seed %d: residual %.1e after %d factorisations", seed, residual, factorizations);
    }
    // The history contains all of it: the sweeps, and the flow, whose compliance decreases.
    assert_true(iterates[0].mu == 0 && history.count > (factorizations > 0));
    if (factorizations > 0) {
      flowed++;
      assert_true(iterates[1].mu > 0 && iterates[history.count - 1].mu < iterates[1].mu);
    }
    violent_close(&at);
  }
  assert_true(flowed > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_class_is_solved),
      cmocka_unit_test(test_path_following_is_needed),
      cmocka_unit_test(test_paths_arrive_without_friction),
      cmocka_unit_test(test_modes_of_the_guess_are_finished),
      cmocka_unit_test(test_a_budget_is_kept),
      cmocka_unit_test(test_a_budget_refines_what_is_fresh),
      cmocka_unit_test(test_the_flow_finds_solutions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
