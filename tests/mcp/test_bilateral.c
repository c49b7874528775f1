// Independent bilateral rows solved directly: compared with LAPACK and the interior point on random
// chains, trees and nets of joints, and the problems that are left to other solvers.
#include "islands.h"

#include "mcp/chain/bilateral.h"

#include <lapacke.h>
#include <string.h>

typedef enum Shape { CHAIN, TREE, NET, SHAPES } Shape;

enum { NODES = 30, SEEDS = 40, MOST = 3 * 2 * NODES };
static const double ACCURACY = 1e-10; // relative, of systems with condition numbers up to 1e5

static double signed_uniform(S2Rng *rng) {
  return 2 * s2_rng_uniform(rng) - 1;
}

// Joint g between the nodes a and b, of 1 to 3 random rows.
static void add_joint(Scene *scene, int32_t a, int32_t b, bool gives, S2Rng *rng) {
  int rows = (int)s2_rng_integer(rng, 1, 2);
  for (int r = 0; r < rows; r++) {
    S2Row *row = &scene->row[scene->rows++];
    *row = (S2Row){.a = a,
                   .b = b,
                   .coupled_to = -1,
                   .group = scene->groups,
                   .lo = -INFINITY,
                   .hi = INFINITY,
                   .compliance = gives ? s2_rng_uniform(rng) : 0,
                   .bias = signed_uniform(rng)};
    for (int c = 0; c < 3; c++) {
      row->ja[c] = a >= 0 ? signed_uniform(rng) : 0;
      row->jb[c] = b >= 0 ? signed_uniform(rng) : 0;
    }
  }
  scene->groups++;
}

static Scene *make(Shape shape, uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  Scene *scene = scene_new(NODES, MOST);
  scene->rows = 0;
  for (int i = 0; i < NODES; i++) {
    set_body(scene, i, i, 0, 0.1 + s2_rng_uniform(&rng), 0.1 + s2_rng_uniform(&rng));
    for (int c = 0; c < 3; c++) {
      scene->rhs[3 * i + c] = signed_uniform(&rng);
    }
  }
  for (int32_t i = 0; i < NODES; i++) {
    bool gives = shape == NET && i % 5 == 0;
    int32_t to = shape == TREE ? (i - 1) / 2 : i - 1;
    add_joint(scene, i, i == 0 ? S2_GROUND : to, gives, &rng);
    if (shape == NET && i >= 6 && i % 6 != 0) { // a row below: loops
      S2Row *last = &scene->row[scene->rows];
      add_joint(scene, i - 6, i, gives, &rng);
      scene->rows = (int)(last - scene->row) + 1; // one row each, so that all remain independent
    }
  }
  scene->problem = (S2Problem){.nodes = NODES,
                               .rows = scene->rows,
                               .mass = scene->mass,
                               .rhs = scene->rhs,
                               .row = scene->row,
                               .velocity_scale = 1,
                               .length = 1};
  return scene;
}

// x = (left W^-1 J' + C)^-1 b by LAPACK; left NULL: the rows themselves.
static void solve_dense(const S2Problem *problem, const S2RowSides *left, double *x) {
  int n = problem->rows;
  static double s[MOST * MOST];
  static lapack_int pivot[MOST];
  for (int i = 0; i < n; i++) {
    S2Row sees = problem->row[i];
    if (left != NULL) {
      memcpy(sees.ja, left[i].a, sizeof sees.ja);
      memcpy(sees.jb, left[i].b, sizeof sees.jb);
    }
    for (int j = 0; j < n; j++) {
      double own = i == j ? problem->row[i].compliance : 0;
      s[i * n + j] = s2_mcp_delassus(problem, &sees, &problem->row[j]) + own;
    }
  }
  assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, n, 1, s, n, pivot, x, 1), 0);
}

static double largest(const double *x, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) {
    most = fmax(most, fabs(x[i]));
  }
  return most;
}

static void factors_agree_with_lapack(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(7);
  for (int k = 0; k < SHAPES * SEEDS; k++) {
    Scene *scene = make((Shape)(k % SHAPES), (uint64_t)k);
    const S2Problem *problem = &scene->problem;
    S2RowSides turned[MOST]; // rows slightly later
    for (int i = 0; i < problem->rows; i++) {
      for (int c = 0; c < 3; c++) {
        turned[i].a[c] = problem->row[i].ja[c] * (1 + 0.05 * signed_uniform(&rng));
        turned[i].b[c] = problem->row[i].jb[c] * (1 + 0.05 * signed_uniform(&rng));
      }
    }
    S2Bilateral bilateral;
    assert_true(s2_bilateral_init(&bilateral, problem, &arena));
    for (int pass = 0; pass < 3; pass++) { // one pattern is used for all
      const S2RowSides *left = pass == 1 ? turned : NULL;
      double x[MOST], y[MOST];
      for (int i = 0; i < problem->rows; i++) {
        x[i] = y[i] = signed_uniform(&rng);
      }
      assert_true(s2_bilateral_factor(&bilateral, left));
      s2_bilateral_apply(&bilateral, x);
      solve_dense(problem, left, y);
      for (int i = 0; i < problem->rows; i++) {
        assert_true(fabs(x[i] - y[i]) <= ACCURACY * largest(y, problem->rows));
      }
    }
    s2_arena_reset(&arena);
    scene_free(scene);
  }
  s2_arena_free(&arena);
}

static void solutions_agree_with_the_interior_point(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int k = 0; k < SHAPES * SEEDS; k++) {
    Scene *scene = make((Shape)(k % SHAPES), (uint64_t)k);
    double v[3 * NODES] = {0}, lambda[MOST] = {NAN}; // no entry of the guess needs to be valid
    S2SolverOptions options = {.tolerance = TOLERANCE, .max_iterations = 100};
    S2Solution other = {.v = v, .lambda = lambda};
    S2Solution direct = {.v = scene->v, .lambda = scene->lambda};
    scene->lambda[1] = NAN;
    assert_int_equal(s2_mcp_solve(&scene->problem, &options, &arena, &direct), S2_SOLVED);
    assert_int_equal(direct.used, S2_SOLVER_LINEAR);
    assert_true(direct.residual.scaled <= 1e-12);
    options.solver = S2_SOLVER_PDIPM;
    assert_int_equal(s2_mcp_solve(&scene->problem, &options, &arena, &other), S2_SOLVED);
    for (int i = 0; i < 3 * NODES; i++) {
      assert_true(fabs(v[i] - scene->v[i]) <= 1e-9);
    }
    assert_int_equal(arena.used, 0);
    scene_free(scene);
  }
  s2_arena_free(&arena);
}

static void is_refused(const S2Problem *problem, S2Arena *arena) {
  S2Bilateral bilateral;
  assert_false(s2_bilateral_init(&bilateral, problem, arena) &&
               s2_bilateral_factor(&bilateral, NULL));
  s2_arena_reset(arena);
}

static void what_is_left_to_others(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Scene *scene = make(CHAIN, 1);
  S2Problem *problem = &scene->problem;
  // A joint twice: redundant rows. The chain of solvers still succeeds.
  Scene *twice = make(CHAIN, 1);
  int again = twice->rows - 1;
  twice->row[twice->rows] = twice->row[again];
  twice->row[twice->rows].group = twice->groups;
  twice->problem.rows = twice->rows + 1;
  is_refused(&twice->problem, &arena);
  S2SolverOptions options = {.tolerance = TOLERANCE, .max_iterations = 100};
  S2Bilateral kept;
  S2Solution solution = {.v = twice->v, .lambda = twice->lambda};
  options.keep = &kept;
  assert_int_equal(s2_mcp_solve(&twice->problem, &options, &arena, &solution), S2_SOLVED);
  assert_int_equal(kept.groups, 0);
  assert_true(fabs(twice->lambda[again] - twice->lambda[again + 1]) <= 1e-6);
  scene_free(twice);

  S2Row own = scene->row[3];
  scene->row[3].lo = 0; // a limit
  is_refused(problem, &arena);
  scene->row[3] = own;
  scene->row[3].ja[1] = NAN;
  is_refused(problem, &arena);
  scene->row[3] = own;
  problem->rows = 0;
  is_refused(problem, &arena);
  scene_free(scene);

  // A hub: all nodes are joined to node 0.
  Scene *hub = make(TREE, 2);
  for (int i = 1; i < hub->rows; i++) {
    hub->row[i].b = hub->row[i].a > 0 ? 0 : S2_GROUND;
  }
  is_refused(&hub->problem, &arena);
  scene_free(hub);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(factors_agree_with_lapack),
      cmocka_unit_test(solutions_agree_with_the_interior_point),
      cmocka_unit_test(what_is_left_to_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
