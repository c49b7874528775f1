// The linear system of the chain: where few responses change, it is factored in part, which must
// give the same as a whole factorisation, to the last bit. Further, sweeps over it.
#include "islands.h"

#include "base/rng.h"
#include "mcp/chain/pdipm_stages.h"

#include <stdio.h>
#include <string.h>

static const double SOFTEST = 1e-2, HARDEST = 1e8; // weights of rows, decades apart

// A unit sticks, slides or separates.
static S2Response random_response(const S2Unit *unit, bool slides, S2Rng *rng) {
  double weight = pow(HARDEST / SOFTEST, s2_rng_uniform(rng)) * SOFTEST;
  S2Response response = {0};
  switch (s2_rng_integer(rng, 0, slides ? 3 : 1)) {
  case 0:
    return response;
  case 1:
    response.tt = unit->rows == 2 ? weight : 0;
    break;
  default:
    response.tn = (s2_rng_uniform(rng) < 0.5 ? -1 : 1) * unit->mu * weight;
    break;
  }
  response.nn = weight;
  return response;
}

// The data of two systems of one problem after their factorisations.
static void assert_same_factors(const S2BlockSparse *a, const S2BlockSparse *b) {
  assert_int_equal(a->blocks, b->blocks);
  size_t pivots = 3 * sizeof(S2Quad) * (size_t)a->nodes;
  size_t blocks = S2_BLOCK * sizeof(double) * (size_t)a->blocks;
  assert_memory_equal(a->diagonal, b->diagonal, pivots);
  assert_memory_equal(a->inverse, b->inverse, pivots);
  assert_memory_equal(a->lower, b->lower, blocks);
  if (a->nonsymmetric) {
    assert_memory_equal(a->upper, b->upper, blocks);
  }
}

static void check_partial_factors(const Scene *scene, uint64_t seed) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(seed);
  S2System system;
  s2_system_init(&system, &scene->problem, &arena);
  s2_system_prepare(&system, &arena);
  S2Response *response = S2_TAKE_ZEROED(&arena, S2Response, system.units);
  // From one to all units change; the method of factoring changes sometimes.
  enum { TURNS = 40 };
  bool nonsymmetric = false;
  for (int turn = 0; turn < TURNS; turn++) {
    if (turn % 10 == 0) {
      nonsymmetric = !nonsymmetric;
      for (int k = 0; k < system.units; k++) {
        response[k] = random_response(&system.unit[k], nonsymmetric, &rng);
      }
    }
    int most = (int)pow(system.units, s2_rng_uniform(&rng));
    for (int i = 0; i < most; i++) {
      int k = (int)s2_rng_integer(&rng, 0, system.units - 1);
      response[k] = random_response(&system.unit[k], nonsymmetric, &rng);
    }
    system.sparse.accurate = turn / 5 % 2 == 1;
    S2System whole;
    S2ArenaMark mark = s2_arena_mark(&arena);
    s2_system_init(&whole, &scene->problem, &arena);
    s2_system_prepare(&whole, &arena);
    whole.sparse.accurate = system.sparse.accurate;
    assert_true(s2_system_factor(&system, response, nonsymmetric));
    assert_true(s2_system_factor(&whole, response, nonsymmetric));
    assert_same_factors(&system.sparse, &whole.sparse);
    s2_arena_rewind(&arena, mark);
  }
  assert_true(system.spent < TURNS); // some of them in part
  s2_arena_free(&arena);
}

static void test_partial_factors_have_the_same_bits(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 5; seed++) {
    Scene *pile = make_disc_pile(6 + (int)seed, 8, 0.5, 1, seed);
    check_partial_factors(pile, seed);
    scene_free(pile);
    Scene *pyramid = make_pyramid(4 + (int)seed, 0.8, 1, seed);
    check_partial_factors(pyramid, seed);
    scene_free(pyramid);
  }
}

// A matrix that could not be factored must not be used for partial factorisations.
static void test_a_failure_is_forgotten(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Scene *pile = make_disc_pile(5, 5, 0.5, 0, 1);
  S2System system, whole;
  s2_system_init(&system, &pile->problem, &arena);
  s2_system_prepare(&system, &arena);
  s2_system_init(&whole, &pile->problem, &arena);
  s2_system_prepare(&whole, &arena);
  S2Response *response = S2_TAKE_ZEROED(&arena, S2Response, system.units);
  assert_true(s2_system_factor(&system, response, false));
  response[3].nn = NAN;
  assert_false(s2_system_factor(&system, response, false));
  response[3].nn = 1;
  assert_true(s2_system_factor(&system, response, false));
  assert_true(s2_system_factor(&whole, response, false));
  assert_same_factors(&system.sparse, &whole.sparse);
  scene_free(pile);
  s2_arena_free(&arena);
}

// A row on the rotation of a body alone.
static void add_turning(Scene *scene, int body, double lo, double hi) {
  scene->row[scene->rows++] = (S2Row){.a = body,
                                      .b = -1,
                                      .coupled_to = -1,
                                      .group = scene->groups++,
                                      .lo = lo,
                                      .hi = hi,
                                      .bias = 0.1,
                                      .ja = {1, 0, 0}};
}

// Rows of all kinds together: the result of sweeps is a solution, which shows that they respect the
// bounds of each.
static void test_sweeps_of_all_kinds_of_units(void **state) {
  (void)state;
  enum { COLUMNS = 4, LEVELS = 3, SWEEPS = 20000 };
  S2Arena arena;
  s2_arena_init(&arena);
  int slides = 0, bounded = 0;
  for (uint64_t seed = 0; seed < 20; seed++) {
    S2Rng rng = s2_rng_seeded(seed);
    Scene *pile = make_disc_pile(COLUMNS, LEVELS, 0.3, 0.2, seed);
    // A hinge between two discs, a bounded motor on one, a brake on one, and a limit.
    Scene *scene = scene_new(pile->nodes, pile->rows + 5);
    memcpy(scene->mass, pile->mass, sizeof(double) * (size_t)(3 * pile->nodes));
    memcpy(scene->position, pile->position, sizeof(double) * (size_t)(3 * pile->nodes));
    memcpy(scene->row, pile->row, sizeof *pile->row * (size_t)pile->rows);
    scene->rows = pile->rows;
    scene->groups = pile->groups;
    int first = (int)s2_rng_integer(&rng, 0, pile->nodes - 5);
    add_hinge(scene, first + 1, first, scene->position[3 * first + 1] + 0.5,
              scene->position[3 * first + 2], 0.001);
    int box = scene->rows;
    add_turning(scene, first + 2, -0.01, 0.01);
    add_turning(scene, first + 3, -INFINITY, INFINITY);
    add_turning(scene, first + 4, 0, INFINITY);
    push(scene, 0.2, &rng);
    // Sweeps from a cold start, until they change nothing.
    S2System system;
    s2_system_init(&system, &scene->problem, &arena);
    double *lambda = S2_TAKE_ZEROED(&arena, double, 2 * system.units);
    S2Quad *v = S2_TAKE_ZEROED(&arena, S2Quad, system.nodes + 1);
    double residual = s2_nncg_sweeps(&system, SWEEPS, 1e-13, v, lambda, &arena);
    if (!(residual <= TOLERANCE)) {
      fail_msg("seed %d: residual %.1e", (int)seed, residual);
    }
    for (int k = 0; k < system.units; k++) {
      const S2Unit *unit = &system.unit[k];
      double at = unit->mu * lambda[2 * k];
      slides +=
          unit->kind == S2_UNIT_CONTACT && at > 0 && fabs(fabs(lambda[2 * k + 1]) - at) < 1e-12;
      bounded += unit->row == box && (lambda[2 * k] >= unit->hi || lambda[2 * k] <= unit->lo);
    }
    scene_free(scene);
    scene_free(pile);
  }
  assert_true(slides > 20 && bounded > 0);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_partial_factors_have_the_same_bits),
      cmocka_unit_test(test_a_failure_is_forgotten),
      cmocka_unit_test(test_sweeps_of_all_kinds_of_units),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
