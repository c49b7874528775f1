// Coulomb's law made convex: the conditions of its solutions, that they are the minimum, and the
// cases where they agree with Coulomb's law.
#include "islands.h"

#include "mcp/problem/convex.h"

#include <string.h>

// u = J v + b of one row.
static double speed_of(const S2Row *row, const double *v) {
  double u = row->bias;
  for (int c = 0; c < 3; c++) {
    u += row->a >= 0 ? row->ja[c] * v[3 * row->a + c] : 0;
    u += row->b >= 0 ? row->jb[c] * v[3 * row->b + c] : 0;
  }
  return u;
}

static S2SolveStatus solve_convex(Scene *scene, S2Arena *arena) {
  S2Problem given = scene->problem;
  scene->problem = s2_mcp_convex(&given, arena);
  s2_mcp_convex_edges(&given, scene->lambda);
  S2Solution solution = solve(scene, S2_SOLVER_AUTO, arena);
  scene->problem = given;
  s2_mcp_convex_impulses(&given, scene->lambda);
  return solution.status;
}

// Along each edge of the cone an impulse that does not pull, a velocity that does not approach, and
// one of both 0: the largest violation over the speed of the scene.
static double cone_miss(const Scene *scene, S2Arena *arena) {
  double miss = 0;
  S2Problem convex = s2_mcp_convex(&scene->problem, arena);
  double *w = calloc((size_t)scene->rows + 1, sizeof *w);
  s2_mcp_delassus_diagonal(&convex, w);
  for (int i = 1; i < scene->rows; i++) {
    const S2Row *row = &scene->row[i];
    for (int side = 0; side < 2 && row->coupled_to >= 0 && row->mu > 0; side++) {
      double mu = side == 0 ? row->mu : -row->mu;
      double impulse = w[i - 1 + side] * (scene->lambda[i - 1] + scene->lambda[i] / mu) / 2;
      double speed = speed_of(row - 1, scene->v) + mu * speed_of(row, scene->v);
      miss = fmax(miss, fabs(fmin(impulse, speed)));
    }
  }
  free(w);
  return miss / scene->problem.velocity_scale;
}

static void solutions_are_in_both_cones(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  int sliding = 0;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    Scene *scene = make_random(seed);
    assert_int_equal(solve_convex(scene, &arena), S2_SOLVED);
    assert_true(cone_miss(scene, &arena) < 2e-9);
    for (int i = 1; i < scene->rows; i++) {
      const S2Row *row = &scene->row[i];
      sliding += row->coupled_to >= 0 && scene->lambda[i - 1] > 0 &&
                 speed_of(row - 1, scene->v) > 1e-6 * scene->problem.velocity_scale;
    }
    scene_free(scene);
    s2_arena_reset(&arena);
  }
  assert_true(sliding > 100);
  s2_arena_free(&arena);
}

// v minimises (v - v_free)' M (v - v_free) among the velocities in the dual cone: no other
// feasible velocity is nearer, in particular none on the way to a random one.
static void solutions_are_minima(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(3);
  for (uint64_t seed = 1; seed <= 20; seed++) {
    Scene *scene = make_disc_pile(5, 4, 0.5, 1, seed), *other = make_disc_pile(5, 4, 0.5, 1, seed);
    assert_int_equal(solve_convex(scene, &arena), S2_SOLVED);
    // A feasible velocity: the solution of the same contacts for another push.
    push(other, 2, &rng);
    assert_int_equal(solve_convex(other, &arena), S2_SOLVED);
    // (v - v_free)' M (x - v) >= 0 for every feasible x.
    double slope = 0, size = 0;
    for (int i = 0; i < 3 * scene->nodes; i++) {
      double force = scene->mass[i] * scene->v[i] - scene->rhs[i];
      slope += force * (other->v[i] - scene->v[i]);
      size += fabs(force) * fabs(other->v[i] - scene->v[i]);
    }
    assert_true(slope >= -1e-7 * size);
    scene_free(scene);
    scene_free(other);
    s2_arena_reset(&arena);
  }
  s2_arena_free(&arena);
}

// Where nothing slides the two laws agree.
static void what_sticks_is_as_coulomb_has_it(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int base = 2; base <= 8; base += 2) {
    Scene *convex = make_pyramid(base, 0.5, 0, 1), *coulomb = make_pyramid(base, 0.5, 0, 1);
    assert_int_equal(solve_convex(convex, &arena), S2_SOLVED);
    assert_int_equal(solve(coulomb, S2_SOLVER_AUTO, &arena).status, S2_SOLVED);
    for (int i = 0; i < 3 * convex->nodes; i++) {
      assert_true(fabs(convex->v[i] - coulomb->v[i]) < 1e-9);
    }
    scene_free(convex);
    scene_free(coulomb);
    s2_arena_reset(&arena);
  }
  s2_arena_free(&arena);
}

// A disc that slides too fast to stick, without turning (its moment is nearly infinite): l_t = mu
// l_n against the motion, and it leaves with mu times the remaining speed along the floor.
static void what_slides_rises(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  double mu = 0.3, v = 2, g = GRAVITY * STEP;
  Scene *scene = scene_new(1, 2);
  set_body(scene, 0, 0, 0.5, 1, 1e9);
  add_contact(scene, 0, S2_GROUND, 0, 0, 0, 1, mu, 0);
  push(scene, 0, NULL);
  scene->rhs[1] = v;
  scene->problem.velocity_scale = v;
  assert_int_equal(solve_convex(scene, &arena), S2_SOLVED);
  // u_n = mu u_t, u_n = p - g, u_t = v - mu p
  double p = (g + mu * v) / (1 + mu * mu);
  assert_true(fabs(scene->lambda[0] - p) < 1e-9);
  assert_true(fabs(fabs(scene->lambda[1]) - mu * p) < 1e-9);
  assert_true(fabs(scene->v[1] - (v - mu * p)) < 1e-9);
  assert_true(fabs(scene->v[2] - mu * (v - mu * p)) < 1e-9);
  scene_free(scene);
  s2_arena_free(&arena);
}

// Contacts with compliance, contacts without friction, and equations are unchanged.
static void other_rows_stay(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Scene *scene = scene_new(2, 8);
  set_body(scene, 0, 0, 0.5, 1, 0.1);
  set_body(scene, 1, 1, 0.5, 1, 0.1);
  add_hinge(scene, 1, 0, 0.5, 0.5, 0);
  add_contact(scene, 0, S2_GROUND, 0, 0, 0, 1, 0.5, 0);
  scene->row[2].compliance = 1e-3;
  add_contact(scene, 1, S2_GROUND, 1, 0, 0, 1, 0, 0);
  add_contact(scene, 1, S2_GROUND, 1.1, 0, 0, 1, -1, 0);
  push(scene, 0, NULL);
  S2Problem convex = s2_mcp_convex(&scene->problem, &arena);
  assert_int_equal(convex.rows, scene->rows);
  assert_memory_equal(convex.row, scene->row, sizeof(S2Row) * (size_t)scene->rows);
  double kept[8] = {1, 2, 3, 4, 5, 6, 7, 0}, same[8];
  memcpy(same, kept, sizeof same);
  s2_mcp_convex_edges(&scene->problem, same);
  s2_mcp_convex_impulses(&scene->problem, same);
  s2_mcp_convex_seed(&scene->problem, same);
  assert_memory_equal(same, kept, sizeof same);
  S2Problem none = {.rows = 0};
  assert_int_equal(s2_mcp_convex(&none, &arena).rows, 0);
  scene_free(scene);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(solutions_are_in_both_cones),
      cmocka_unit_test(solutions_are_minima),
      cmocka_unit_test(what_sticks_is_as_coulomb_has_it),
      cmocka_unit_test(what_slides_rises),
      cmocka_unit_test(other_rows_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
