// The relaxation solvers (nsgs, pgs, si, nncg, pcg) on problems with known solutions, compared with
// the exact solvers on random ones, and where they cannot succeed.
#include "islands.h"
#include "worlds.h"

#include <stdio.h>
#include <string.h>

static const S2Solver SOLVERS[] = {S2_SOLVER_NSGS, S2_SOLVER_PGS, S2_SOLVER_SI, S2_SOLVER_NNCG,
                                   S2_SOLVER_PCG};
enum { SOLVER_COUNT = sizeof SOLVERS / sizeof *SOLVERS };

static S2Arena arena;

static int make_arena(void **state) {
  (void)state;
  s2_arena_init(&arena);
  return 0;
}

static int free_arena(void **state) {
  (void)state;
  s2_arena_free(&arena);
  return 0;
}

// Solves from a cold start; in all cases the reported residual must be true.
static S2Solution solve_with(Scene *scene, S2SolverOptions options) {
  S2Solution solution = {.v = scene->v, .lambda = scene->lambda};
  s2_mcp_solve(&scene->problem, &options, &arena, &solution);
  S2Residual judged = s2_mcp_residual(&scene->problem, scene->v, scene->lambda, &arena);
  assert_true(judged.scaled == solution.residual.scaled); // also: not NaN
  assert_int_equal(solution.status == S2_SOLVED, judged.scaled <= options.tolerance);
  assert_int_equal(solution.used, options.solver);
  for (int i = 0; i < 3 * scene->nodes; i++) {
    assert_true(isfinite(scene->v[i]));
  }
  for (int i = 0; i < scene->rows; i++) {
    assert_true(isfinite(scene->lambda[i]));
  }
  return solution;
}

static S2Solution solve_cold(Scene *scene, S2Solver solver) {
  memset(scene->lambda, 0, sizeof(double) * (size_t)scene->rows);
  return solve_with(
      scene, (S2SolverOptions){.solver = solver, .tolerance = TOLERANCE, .max_iterations = 100});
}

static void assert_solved(const Scene *scene, S2Solution solution, const char *what) {
  if (solution.status != S2_SOLVED) {
    fail_msg("%s on %s (%d rows): %s, residual %g after %d sweeps", s2_solver_name(solution.used),
             what, scene->rows, s2_solve_status_name(solution.status), solution.residual.scaled,
             solution.iterations);
  }
}

static void assert_close(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance)) {
    fail_msg("%.17g is not %.17g", value, expected);
  }
}

// ---- Known solutions --------------------------------------------------------------------------

// One node whose velocities (x, y) are the contact's own (t, n): W = I.
static Scene *make_identity(double qn, double qt, double mu) {
  Scene *scene = scene_new(1, 2);
  set_body(scene, 0, 0, 0, 1, 1);
  add_contact(scene, 0, S2_GROUND, 0, 0, 0, 1, mu, 0);
  push(scene, 0, NULL);
  scene->rhs[0] = 0;
  scene->rhs[1] = qt * scene->row[1].ja[1];
  scene->rhs[2] = qn;
  return scene;
}

// A projection on the cone as a whole would end at (1.6, -.8).
static void test_coulomb_not_the_projection_on_its_cone(void **state) {
  (void)state;
  for (int s = 0; s < SOLVER_COUNT; s++) {
    Scene *scene = make_identity(-1, 2, 0.5);
    assert_solved(scene, solve_cold(scene, SOLVERS[s]), "the identity");
    assert_close(scene->lambda[0], 1, 1e-9);
    assert_close(scene->lambda[1], -0.5, 1e-9);
    scene_free(scene);
    scene = make_identity(1, 2, 0.5); // leaves
    assert_solved(scene, solve_cold(scene, SOLVERS[s]), "the identity");
    assert_true(scene->lambda[0] == 0 && scene->lambda[1] == 0);
    scene_free(scene);
    scene = make_identity(-1, 0.25, 0.5); // sticks
    assert_solved(scene, solve_cold(scene, SOLVERS[s]), "the identity");
    assert_close(scene->lambda[1], -0.25, 1e-9);
    scene_free(scene);
  }
}

static Scene *make_chain(int links, double compliance) {
  Scene *scene = scene_new(links, 2 * links);
  for (int i = 0; i < links; i++) {
    set_body(scene, i, i + 0.5, 0, 1, 1.0 / 12);
    add_hinge(scene, i, i - 1, i, 0, compliance);
  }
  push(scene, 0, NULL);
  return scene;
}

static void test_joints_only_are_a_linear_system(void **state) {
  (void)state;
  double compliance[] = {0, 0.1};
  for (int s = 0; s < SOLVER_COUNT; s++) {
    for (int c = 0; c < 2; c++) {
      Scene *exact = make_chain(6, compliance[c]), *scene = make_chain(6, compliance[c]);
      solve(exact, S2_SOLVER_AUTO, &arena);
      assert_solved(scene, solve_cold(scene, SOLVERS[s]), "a chain");
      for (int i = 0; i < 18; i++) {
        assert_close(scene->v[i], exact->v[i], 1e-6);
      }
      scene_free(exact);
      scene_free(scene);
    }
  }
}

static void test_hyperstatic_box_carries_its_weight(void **state) {
  (void)state;
  for (int s = 0; s < SOLVER_COUNT; s++) {
    Scene *scene = scene_new(1, 16);
    set_body(scene, 0, 0, 0.5, 1, 1.0 / 6);
    for (int i = 0; i < 8; i++) {
      add_contact(scene, 0, S2_GROUND, -0.5 + i / 7.0, 0, 0, 1, 0.5, 0);
    }
    push(scene, 0, NULL);
    assert_solved(scene, solve_cold(scene, SOLVERS[s]), "a box on eight points");
    double weight = 0;
    for (int i = 0; i < 16; i += 2) {
      weight += scene->lambda[i];
    }
    assert_close(weight, GRAVITY * STEP, 1e-8);
    scene_free(scene);
  }
}

static void test_compliant_contact_sinks_in(void **state) {
  (void)state;
  for (int s = 0; s < SOLVER_COUNT; s++) {
    Scene *scene = make_identity(-1, 0, 0.5);
    scene->row[0].compliance = 3; // u = -1 + l, u + 3 l = 0
    assert_solved(scene, solve_cold(scene, SOLVERS[s]), "a compliant contact");
    assert_close(scene->lambda[0], 0.25, 1e-9);
    scene_free(scene);
  }
}

static void test_no_rows(void **state) {
  (void)state;
  for (int s = 0; s < SOLVER_COUNT; s++) {
    Scene *scene = scene_new(2, 0);
    set_body(scene, 0, 0, 0, 1, 1);
    set_body(scene, 1, 1, 0, 2, 1);
    push(scene, 0, NULL);
    assert_solved(scene, solve_cold(scene, SOLVERS[s]), "nothing");
    assert_close(scene->v[2], -GRAVITY * STEP, 1e-15);
    scene_free(scene);
  }
}

// ---- Against the exact solvers ----------------------------------------------------------------

// Bodies of similar masses with contacts at arms of half their size, friction too small to wedge
// (mu |W_nt| < W_nn) and some compliance: one solution, well conditioned.
static Scene *make_loose(uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  int nodes = (int)s2_rng_integer(&rng, 1, 8), contacts = (int)s2_rng_integer(&rng, 1, 14);
  int hinges = (int)s2_rng_integer(&rng, 0, 1);
  Scene *scene = scene_new(nodes, 2 * contacts + 2 * hinges);
  for (int i = 0; i < nodes; i++) {
    double mass = 0.5 + 1.5 * s2_rng_uniform(&rng);
    set_body(scene, i, 2 * s2_rng_uniform(&rng), 2 * s2_rng_uniform(&rng), mass, mass / 6);
  }
  for (int i = 0; i < hinges; i++) {
    const double *at = scene->position;
    add_hinge(scene, 0, S2_GROUND, at[1] + 0.3 * s2_rng_normal(&rng), at[2] + 0.3, 0.05);
  }
  for (int i = 0; i < contacts; i++) {
    int a = (int)s2_rng_integer(&rng, 0, nodes - 1), b = (int)s2_rng_integer(&rng, -1, a - 1);
    const double *at = scene->position + 3 * a;
    double angle = 6.28 * s2_rng_uniform(&rng), kind = s2_rng_uniform(&rng);
    double px = at[1] + 0.4 * s2_rng_normal(&rng), py = at[2] + 0.4 * s2_rng_normal(&rng);
    double mu = kind < 0.1 ? -1 : kind < 0.2 ? 0 : 0.5 * s2_rng_uniform(&rng);
    add_contact(scene, a, b, px, py, cos(angle), sin(angle), mu, 0);
    scene->row[scene->rows - 1].compliance = 0.1;
    scene->row[scene->rows - (mu >= 0 ? 2 : 1)].compliance = 0.1;
  }
  push(scene, 0.5, &rng);
  return scene;
}

static void test_random_islands_agree_with_exact_solvers(void **state) {
  (void)state;
  enum { ISLANDS = 300 };
  for (int s = 0; s < SOLVER_COUNT; s++) {
    int solved = 0;
    double worst = 0;
    for (uint64_t seed = 1; seed <= ISLANDS; seed++) {
      Scene *exact = make_loose(seed), *scene = make_loose(seed);
      S2Solution lemke = solve(exact, S2_SOLVER_LEMKE, &arena);
      assert_int_equal(lemke.status, S2_SOLVED);
      S2Solution solution = solve_cold(scene, SOLVERS[s]);
      solved += solution.status == S2_SOLVED;
      for (int i = 0; i < 3 * scene->nodes && solution.status == S2_SOLVED; i++) {
        worst = fmax(worst, fabs(scene->v[i] - exact->v[i]));
      }
      scene_free(exact);
      scene_free(scene);
    }
    printf("%s: %d of %d solved, worst difference of velocities %.1e m/s\n",
           s2_solver_name(SOLVERS[s]), solved, ISLANDS, worst);
    assert_int_equal(solved, ISLANDS);
    assert_true(worst <= 1e-6);
  }
}

static void test_pyramid_is_solved(void **state) {
  (void)state;
  for (int s = 0; s < SOLVER_COUNT; s++) {
    Scene *scene = make_pyramid(10, 0.5, 0, 1);
    S2Solution solution = solve_cold(scene, SOLVERS[s]);
    assert_solved(scene, solution, "a pyramid");
    assert_int_equal(solve(scene, SOLVERS[s], &arena).iterations, 0); // the solution is kept
    scene_free(scene);
  }
}

static void test_same_bits_twice(void **state) {
  (void)state;
  for (int s = 0; s < SOLVER_COUNT; s++) {
    Scene *one = make_pyramid(4, 0.6, 0.5, 3), *two = make_pyramid(4, 0.6, 0.5, 3);
    solve_cold(one, SOLVERS[s]);
    solve_cold(two, SOLVERS[s]);
    assert_memory_equal(one->lambda, two->lambda, sizeof(double) * (size_t)one->rows);
    scene_free(one);
    scene_free(two);
  }
}

// ---- Options ----------------------------------------------------------------------------------

// One row of W = 1: each sweep leaves 1 - omega of the error.
static void test_relaxation_factor(void **state) {
  (void)state;
  const S2Solver both[] = {S2_SOLVER_PGS, S2_SOLVER_SI};
  const double omegas[] = {0.7, 0, 1.3, 1.9};
  for (int s = 0; s < 2; s++) {
    for (size_t k = 0; k < sizeof omegas / sizeof *omegas; k++) {
      Scene *scene = make_identity(-1, 0, 0);
      S2Iterate first;
      S2History history = {.at = &first, .capacity = 1};
      S2SolverOptions options = {.solver = both[s],
                                 .tolerance = TOLERANCE,
                                 .max_iterations = 100,
                                 .omega = omegas[k],
                                 .history = &history};
      S2Solution solution = solve_with(scene, options);
      assert_solved(scene, solution, "one row");
      int sweeps = solution.iterations / history.count; // between two checks
      double left = pow(omegas[k] == 0 ? 0 : fabs(1 - omegas[k]), sweeps);
      assert_close(first.residual * scene->problem.velocity_scale, left, 1e-14);
      scene_free(scene);
    }
    Scene *scene = make_identity(-1, 0, 0);
    S2SolverOptions options = {
        .solver = both[s], .tolerance = TOLERANCE, .max_iterations = 100, .omega = 2.5};
    assert_int_equal(solve_with(scene, options).status, S2_UNSUPPORTED);
    scene_free(scene);
  }
}

static void test_history_falls_to_the_answer(void **state) {
  (void)state;
  enum { CAPACITY = 8 };
  for (int s = 0; s < SOLVER_COUNT; s++) {
    S2Iterate at[CAPACITY];
    S2History history = {.at = at, .capacity = CAPACITY};
    Scene *scene = make_pyramid(6, 0.5, 0, 1);
    S2Solution solution = solve_with(scene, (S2SolverOptions){.solver = SOLVERS[s],
                                                              .tolerance = TOLERANCE,
                                                              .max_iterations = 100,
                                                              .history = &history});
    assert_solved(scene, solution, "a pyramid");
    assert_true(history.count >= 1 && history.count <= solution.iterations);
    int kept = history.count < CAPACITY ? history.count : CAPACITY;
    assert_true(at[0].residual > 0 && at[kept - 1].residual < at[0].residual);
    scene_free(scene);
  }
}

static void test_guesses_of_all_kinds(void **state) {
  (void)state;
  const double guesses[] = {NAN, INFINITY, -1e300, 1e300, 1e8, -1, 0.01};
  for (int s = 0; s < SOLVER_COUNT; s++) {
    for (size_t k = 0; k < sizeof guesses / sizeof *guesses; k++) {
      Scene *scene = make_pyramid(3, 0.5, 0, 1);
      for (int i = 0; i < scene->rows; i++) {
        scene->lambda[i] = guesses[k];
      }
      for (int i = 0; i < 3 * scene->nodes; i++) {
        scene->v[i] = guesses[k];
      }
      assert_solved(scene, solve(scene, SOLVERS[s], &arena), "a pyramid, wild guess");
      scene_free(scene);
    }
  }
}

// ---- Problems that may be unsolvable ----------------------------------------------------------

// A rod that leans steeply with large friction (Painleve): mu |W_nt| > W_nn.
static void test_painleve_is_honest(void **state) {
  (void)state;
  for (int s = 0; s < SOLVER_COUNT; s++) {
    int solved = 0;
    for (int k = 0; k < 20; k++) {
      double angle = 0.5 + 0.05 * k;
      Scene *scene = scene_new(1, 2);
      set_body(scene, 0, 0, 0, 1, 1.0 / 30);
      add_contact(scene, 0, S2_GROUND, -0.5 * cos(angle), -0.5 * sin(angle), 0, 1, 3, 0);
      push(scene, 0, NULL);
      scene->rhs[1] = k % 2 == 0 ? 1 : -1;
      solved += solve_cold(scene, SOLVERS[s]).status == S2_SOLVED;
      scene_free(scene);
    }
    printf("%s: %d of 20 solved with mu |W_nt| > W_nn\n", s2_solver_name(SOLVERS[s]), solved);
    if (SOLVERS[s] == S2_SOLVER_NSGS) { // one contact is solved exactly
      assert_int_equal(solved, 20);
    }
  }
}

static void test_mass_ratio_is_honest(void **state) {
  (void)state;
  for (int s = 0; s < SOLVER_COUNT; s++) {
    Scene *scene = make_stack(10, 1e6, 0.5);
    S2Solution solution = solve_cold(scene, SOLVERS[s]);
    printf("%s: stack with a mass ratio of 1e6: %s, residual %.1e after %d\n",
           s2_solver_name(SOLVERS[s]), s2_solve_status_name(solution.status),
           solution.residual.scaled, solution.iterations);
    assert_true(solution.residual.scaled <= 1 + 1e-12); // the residual without impulses
    scene_free(scene);
  }
}

static void test_random_nonsense_is_honest(void **state) {
  (void)state;
  for (int s = 0; s < SOLVER_COUNT; s++) {
    int solved = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
      Scene *scene = make_random(seed);
      memset(scene->lambda, 0, sizeof(double) * (size_t)scene->rows);
      s2_mcp_velocity(&scene->problem, scene->lambda, scene->v);
      double cold = s2_mcp_residual(&scene->problem, scene->v, scene->lambda, &arena).scaled;
      S2Solution solution = solve_with(
          scene,
          (S2SolverOptions){.solver = SOLVERS[s], .tolerance = TOLERANCE, .max_iterations = 20});
      solved += solution.status == S2_SOLVED;
      assert_true(solution.residual.scaled <= cold * (1 + 1e-9)); // the best point is kept
      scene_free(scene);
    }
    printf("%s: %d of 100 random islands solved\n", s2_solver_name(SOLVERS[s]), solved);
    assert_true(solved > 0);
  }
}

// ---- Worlds -----------------------------------------------------------------------------------

static void test_worlds_run(void **state) {
  (void)state;
  enum { STEPS = 100 };
  for (int s = 0; s < SOLVER_COUNT; s++) {
    for (int pyramid = 0; pyramid < 2; pyramid++) {
      S2WorldDef def = fixed_def();
      def.solver = SOLVERS[s];
      S2World *world = NULL;
      must(s2_world_create(&def, &world));
      add_box(world, fixed_at(0, -0.5), 100, 1);
      for (int level = 0; level < 5; level++) {
        for (int j = 0; j < (pyramid ? 5 - level : 1); j++) {
          double x = pyramid ? 1.1 * (j + 0.5 * level) : 0.01 * level;
          add_box(world, at(x, level + 0.5), 1, 1);
        }
      }
      for (int i = 0; i < STEPS; i++) {
        must(s2_world_step(world));
      }
      S2WorldStats stats = *s2_world_stats(world);
      printf("%s: %s, %d steps, %llu of %llu solves missed, worst residual %.1e\n",
             s2_solver_name(SOLVERS[s]), pyramid ? "pyramid" : "stack", STEPS,
             (unsigned long long)stats.unsolved, (unsigned long long)stats.solves,
             stats.worst_scaled);
      assert_true(isfinite(stats.worst_scaled));
      assert_int_equal(stats.unsolved > 0, stats.worst_scaled > def.tolerance);
      assert_int_equal(stats.used[SOLVERS[s]], stats.solves);
      s2_world_destroy(world);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_coulomb_not_the_projection_on_its_cone),
      cmocka_unit_test(test_joints_only_are_a_linear_system),
      cmocka_unit_test(test_hyperstatic_box_carries_its_weight),
      cmocka_unit_test(test_compliant_contact_sinks_in),
      cmocka_unit_test(test_no_rows),
      cmocka_unit_test(test_random_islands_agree_with_exact_solvers),
      cmocka_unit_test(test_pyramid_is_solved),
      cmocka_unit_test(test_same_bits_twice),
      cmocka_unit_test(test_relaxation_factor),
      cmocka_unit_test(test_history_falls_to_the_answer),
      cmocka_unit_test(test_guesses_of_all_kinds),
      cmocka_unit_test(test_painleve_is_honest),
      cmocka_unit_test(test_mass_ratio_is_honest),
      cmocka_unit_test(test_random_nonsense_is_honest),
      cmocka_unit_test(test_worlds_run),
  };
  return cmocka_run_group_tests(tests, make_arena, free_arena);
}
