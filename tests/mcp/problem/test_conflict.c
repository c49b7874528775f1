// Proofs that hard rows contradict each other (Farkas): J' d = 0 and b' d < 0, with d >= 0 on
// normal rows. Known contradictions, and random rows with and without one.
#include "base/arena.h"
#include "base/rng.h"
#include "mcp/problem/conflict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { NODES = 3, ROWS = 8 };

typedef struct Case {
  S2Problem problem;
  S2Row row[ROWS];
  double mass[3 * NODES], rhs[3 * NODES];
} Case;

static double uniform(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static void start(Case *it, int rows) {
  *it = (Case){{0}, {{0}}, {0}, {0}};
  for (int i = 0; i < 3 * NODES; i++) {
    it->mass[i] = 1;
  }
  for (int i = 0; i < rows; i++) {
    it->row[i] = (S2Row){
        .a = 0, .b = S2_GROUND, .coupled_to = -1, .group = i, .lo = -INFINITY, .hi = INFINITY};
  }
  it->problem = (S2Problem){.nodes = NODES,
                            .rows = rows,
                            .mass = it->mass,
                            .rhs = it->rhs,
                            .row = it->row,
                            .velocity_scale = 1,
                            .length = 1};
}

static void expect_proof(const Case *it, const double *d) {
  double pull[3 * NODES] = {0}, against = 0, size = 0;
  for (int i = 0; i < it->problem.rows; i++) {
    const S2Row *row = &it->row[i];
    for (int c = 0; c < 3; c++) {
      pull[3 * row->a + c] += row->ja[c] * d[i];
    }
    against += row->bias * d[i];
    size = fmax(size, fabs(d[i]));
    assert_true(row->lo < 0 || d[i] >= 0);
  }
  assert_true(against < 0);
  for (int i = 0; i < 3 * NODES; i++) {
    assert_true(fabs(pull[i]) <= 1e-6 * size);
  }
}

// Whether each function finds a proof; both must be right about it.
static void expect(const Case *it, bool contradicts, S2Arena *arena) {
  double d[ROWS] = {0};
  S2SolverOptions options = {.tolerance = 1e-9, .max_iterations = 100};
  assert_int_equal(s2_mcp_conflict(&it->problem, d, arena), contradicts);
  if (contradicts) {
    expect_proof(it, d);
  }
  double quick[ROWS] = {0};
  bool found = s2_mcp_conflict_quick(&it->problem, &options, quick, arena);
  assert_false(found && !contradicts);
  if (found) {
    expect_proof(it, quick);
  }
}

// A row without Jacobian: 0 + b = 0, or 0 + b >= 0.
static void rows_that_nothing_moves(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  const double bias[3] = {-0.5, 0, 0.5};
  for (int i = 0; i < 3; i++) {
    for (int normal = 0; normal < 2; normal++) {
      Case it;
      start(&it, 2);
      it.row[0].ja[1] = 1;
      it.row[0].bias = 0.25;
      it.row[1].lo = normal ? 0 : -INFINITY;
      it.row[1].bias = bias[i];
      expect(&it, normal ? bias[i] < 0 : bias[i] != 0, &arena);
    }
  }
  s2_arena_free(&arena);
}

// The last row is a combination of the others, with a bias that agrees or contradicts.
static void combinations(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(4);
  for (int n = 0; n < 400; n++) {
    Case it;
    int rows = 3 + n % (ROWS - 3);
    start(&it, rows);
    S2Row *last = &it.row[rows - 1];
    bool normal = n % 3 == 0, contradicts = n % 2 == 0;
    double bias = 0;
    for (int i = 0; i < rows - 1; i++) {
      S2Row *row = &it.row[i];
      double share = i < 2 ? uniform(&rng, -1, 1) : 0;
      row->a = i < 2 ? 0 : 1 + i % 2;
      for (int c = 0; c < 3; c++) {
        row->ja[c] = uniform(&rng, -1, 1);
        last->ja[c] += share * row->ja[c];
      }
      row->bias = uniform(&rng, -1, 1);
      bias += share * row->bias;
    }
    // Normal: J v + b >= 0 fails if b is smaller than the value that the other rows give.
    last->lo = normal ? 0 : -INFINITY;
    last->bias = bias + (!contradicts ? 0 : normal ? -0.3 : n % 4 == 0 ? 0.3 : -0.3);
    expect(&it, contradicts, &arena);
  }
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_that_nothing_moves),
      cmocka_unit_test(combinations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
