// Impacts without a solution: contradicting restitution targets, and targets that no solver met.
#include "mcp/lcp/lcp.h"
#include "mcp/problem/conflict.h"
#include "worlds.h"

static S2BodyDef wall(double x, double speed) {
  S2BodyDef def = rough(at(x, 0), 0, 1);
  def.type = S2_KINEMATIC;
  def.velocity = s2_vec2(speed, 0);
  return def;
}

static void closing_walls_are_a_proved_contradiction(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.001);
  add_box(world, wall(-1.5, 1), 2, 4);
  add_box(world, wall(1.5, -1), 2, 4);
  S2BodyId ball = add_disc(world, rough(at(0, 0), 0, 1), 0.5);
  must(s2_world_step(world));
  const S2WorldStats *stats = s2_world_stats(world);
  assert_true(stats->contradictions > 0);
  assert_int_equal(stats->unsolved_impacts, 0);
  near(get(world, ball, S2_BODY_VX), 0, 1e-9);
  s2_world_destroy(world);
}

// The closed form treats one contact, so it never meets the two targets of a valley, although a
// solution meets both.
static void targets_nobody_met_are_no_contradiction(void **state) {
  (void)state;
  for (int closed = 0; closed < 2; closed++) {
    S2WorldDef def = fixed_def();
    def.gravity = s2_vec2(0, 0);
    def.dt = 0.01;
    def.solver = closed ? S2_SOLVER_CLOSED : S2_SOLVER_AUTO;
    S2World *world;
    must(s2_world_create(&def, &world));
    add_box(world, rough(fixed_at(-1.5, 0), 0, 1), 2, 4);
    add_box(world, rough(fixed_at(0, -1.5), 0, 1), 4, 2);
    S2BodyDef thrown = rough(at(0, 0), 0, 1);
    thrown.velocity = s2_vec2(-1, -1);
    S2BodyId ball = add_disc(world, thrown, 0.5);
    must(s2_world_step(world));
    const S2WorldStats *stats = s2_world_stats(world);
    assert_int_equal(stats->contradictions, 0);
    assert_int_equal(stats->unsolved_impacts > 0, closed);
    if (!closed) {
      near(get(world, ball, S2_BODY_VX), 1, 1e-9);
      near(get(world, ball, S2_BODY_VY), 1, 1e-9);
    }
    s2_world_destroy(world);
  }
}

// ---- The proof --------------------------------------------------------------------------------

// Normal rows between a few nodes of unit mass, all with small whole numbers: often degenerate.
static void the_proof_agrees_with_enumeration(void **state) {
  (void)state;
  enum { NODES = 2, ROWS = 5, TRIALS = 2000 };
  S2Rng rng = s2_rng_seeded(5);
  S2Arena arena;
  s2_arena_init(&arena);
  int conflicts = 0, quick = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    S2Row row[ROWS];
    double mass[3 * NODES], rhs[3 * NODES] = {0}, m[ROWS * ROWS], q[ROWS], z[ROWS], w[ROWS];
    for (int i = 0; i < 3 * NODES; i++) {
      mass[i] = 1;
    }
    for (int i = 0; i < ROWS; i++) {
      row[i] = (S2Row){.a = i % NODES,
                       .b = i % 3 == 0 ? S2_GROUND : (i + 1) % NODES,
                       .coupled_to = -1,
                       .group = i,
                       .hi = INFINITY};
      row[i].bias = q[i] = (double)s2_rng_integer(&rng, -2, 2);
      row[i].compliance = s2_rng_integer(&rng, 0, 9) == 0 ? 1 : 0;
      for (int k = 0; k < 3; k++) {
        row[i].ja[k] = (double)s2_rng_integer(&rng, -1, 1);
        row[i].jb[k] = row[i].b == S2_GROUND ? 0 : (double)s2_rng_integer(&rng, -1, 1);
      }
    }
    for (int i = 0; i < ROWS; i++) {
      for (int j = 0; j < ROWS; j++) {
        double sum = i == j ? row[i].compliance : 0;
        for (int k = 0; k < 3; k++) {
          sum += row[i].a == row[j].a ? row[i].ja[k] * row[j].ja[k] : 0;
          sum += row[i].a == row[j].b ? row[i].ja[k] * row[j].jb[k] : 0;
          sum += row[i].b == row[j].a ? row[i].jb[k] * row[j].ja[k] : 0;
          sum += row[i].b == row[j].b ? row[i].jb[k] * row[j].jb[k] : 0;
        }
        m[i * ROWS + j] = sum;
      }
    }
    S2LcpSolverOptions options = {.solver = S2_LCP_ENUMERATE};
    S2LcpSolution solution = {.z = z, .w = w};
    s2_lcp_solve(&(S2LcpProblem){ROWS, m, q}, &options, &arena, &solution);
    S2Problem problem = {.nodes = NODES,
                         .rows = ROWS,
                         .mass = mass,
                         .rhs = rhs,
                         .row = row,
                         .velocity_scale = 1,
                         .length = 1};
    bool conflict = s2_mcp_conflict(&problem, NULL, &arena);
    assert_int_equal(arena.used, 0);
    assert_int_equal(conflict, solution.status == S2_INFEASIBLE);
    assert_int_equal(conflict, solution.status != S2_SOLVED);
    conflicts += conflict;
    S2SolverOptions quickly = {.tolerance = 1e-12, .max_iterations = 100};
    bool proved = s2_mcp_conflict_quick(&problem, &quickly, NULL, &arena);
    assert_int_equal(arena.used, 0);
    assert_true(!proved || conflict);
    quick += proved;
  }
  assert_true(conflicts > TRIALS / 100 && conflicts < TRIALS * 99 / 100);
  assert_true(quick >= conflicts * 85 / 100);
  s2_arena_free(&arena);
}

// A body welded to the ground by joint rows cannot yield to a contact; with compliance it can.
static void joints_take_part(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int soft = 0; soft < 2; soft++) {
    const double mass[3] = {1, 1, 1}, rhs[3] = {0};
    const S2Row row[2] = {
        {.a = 0,
         .b = S2_GROUND,
         .coupled_to = -1,
         .ja = {0, 0, 1},
         .lo = -INFINITY,
         .hi = INFINITY,
         .compliance = soft},
        {.a = 0,
         .b = S2_GROUND,
         .coupled_to = -1,
         .group = 1,
         .ja = {0, 0, 1},
         .hi = INFINITY,
         .bias = -1},
    };
    S2Problem problem = {.nodes = 1,
                         .rows = 2,
                         .mass = mass,
                         .rhs = rhs,
                         .row = row,
                         .velocity_scale = 1,
                         .length = 1};
    assert_int_equal(s2_mcp_conflict(&problem, NULL, &arena), !soft);
    S2SolverOptions options = {.tolerance = 1e-12, .max_iterations = 100};
    assert_int_equal(s2_mcp_conflict_quick(&problem, &options, NULL, &arena), !soft);
  }
  s2_arena_free(&arena);
}

// A motor turns as fast as it can; one that is too weak contradicts nothing.
static void motors_with_a_bound_give_way(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  const double mass[3] = {1, 1, 1}, rhs[3] = {0};
  S2Row row[2] = {
      {.a = 0, .b = S2_GROUND, .coupled_to = -1, .ja = {0, 0, 1}, .lo = -1, .hi = 1, .bias = -1},
      {.a = 0, .b = S2_GROUND, .coupled_to = -1, .group = 1, .ja = {0, 0, -1}, .hi = INFINITY}};
  S2Problem problem = {.nodes = 1,
                       .rows = 2,
                       .mass = mass,
                       .rhs = rhs,
                       .row = row,
                       .velocity_scale = 1,
                       .length = 1};
  S2SolverOptions options = {.tolerance = 1e-12, .max_iterations = 100};
  for (int strong = 0; strong < 2; strong++) {
    row[0].lo = strong ? -INFINITY : -1;
    row[0].hi = -row[0].lo;
    assert_int_equal(s2_mcp_conflict(&problem, NULL, &arena), strong);
    assert_int_equal(s2_mcp_conflict_quick(&problem, &options, NULL, &arena), strong);
  }
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(closing_walls_are_a_proved_contradiction),
      cmocka_unit_test(targets_nobody_met_are_no_contradiction),
      cmocka_unit_test(the_proof_agrees_with_enumeration),
      cmocka_unit_test(joints_take_part),
      cmocka_unit_test(motors_with_a_bound_give_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
