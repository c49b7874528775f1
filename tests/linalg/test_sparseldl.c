// Factors of sparse quasi-definite matrices, compared with dense elimination.
#include "base/rng.h"
#include "linalg/sparseldl.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double is, double was, double allowed) {
  if (!(fabs(is - was) <= allowed)) {
    fail_msg("%.17g is not within %g of %.17g", is, allowed, was);
  }
}

enum { MOST = 60, MOST_ENTRIES = 400 };
static const double ACCURACY = 1e-11; // relative; the condition numbers are below 1e4

typedef struct Case {
  int n, entries;
  int32_t entry[2 * MOST_ENTRIES], slot[MOST_ENTRIES];
  double value[MOST_ENTRIES];
  double full[MOST * MOST];
  bool positive[MOST];
  S2SparseLdl matrix;
} Case;

static double signed_uniform(S2Rng *rng) {
  return 2 * s2_rng_uniform(rng) - 1;
}

// Writes the values of the case into the sparse matrix. The first `unknowns` pivots are positive.
static void case_fill(Case *c, int unknowns) {
  memset(c->matrix.value, 0, sizeof(double) * (size_t)c->matrix.entries);
  memset(c->full, 0, sizeof c->full);
  for (int i = 0; i < c->n; i++) {
    double diagonal = i < unknowns ? 4 : -4;
    c->positive[i] = i < unknowns;
    c->matrix.value[c->matrix.start[c->matrix.place[i]]] = diagonal;
    c->full[i * c->n + i] = diagonal;
  }
  for (int e = 0; e < c->entries; e++) {
    int i = c->entry[2 * e], j = c->entry[2 * e + 1];
    c->matrix.value[c->slot[e]] += c->value[e];
    c->full[i * c->n + j] += c->value[e];
    if (i != j) {
      c->full[j * c->n + i] += c->value[e];
    }
  }
}

// Couples unknowns with equations, in both triangles and several times. A quasi-definite matrix may
// have any such entries.
static void random_case(Case *c, int unknowns, int equations, int entries, S2Rng *rng,
                        S2Arena *arena) {
  c->n = unknowns + equations;
  c->entries = entries;
  for (int e = 0; e < entries; e++) {
    int32_t i = (int32_t)s2_rng_integer(rng, 0, unknowns - 1);
    int32_t j = (int32_t)s2_rng_integer(rng, unknowns, c->n - 1);
    bool turned = e % 2 == 0;
    c->entry[2 * e] = turned ? j : i;
    c->entry[2 * e + 1] = turned ? i : j;
    c->value[e] = signed_uniform(rng);
  }
  s2_sparseldl_init(&c->matrix, c->n, entries, c->entry, c->slot, arena);
  case_fill(c, unknowns);
}

static void test_solutions_satisfy_the_system(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(41);
  S2Arena arena;
  s2_arena_init(&arena);
  static Case c;
  for (int k = 0; k < 50; k++) {
    int unknowns = 1 + k % 30, equations = 1 + k % 20;
    random_case(&c, unknowns, equations, k * 7 % MOST_ENTRIES, &rng, &arena);
    assert_true(s2_sparseldl_factor(&c.matrix, c.positive));
    double b[MOST], x[MOST], residual[MOST];
    for (int i = 0; i < c.n; i++) {
      b[i] = signed_uniform(&rng);
    }
    s2_sparseldl_solve(&c.matrix, b, x);
    double most = 0;
    for (int i = 0; i < c.n; i++) {
      double sum = b[i];
      for (int j = 0; j < c.n; j++) {
        sum -= c.full[i * c.n + j] * x[j];
      }
      most = fmax(most, fabs(sum));
    }
    assert_true(most < ACCURACY);
    // the residual of a wrong solution is that of the full matrix
    x[0] += 1;
    double found = s2_sparseldl_residual(&c.matrix, b, x, residual);
    assert_true(found >= 4 - ACCURACY);
    assert_near(residual[0], c.full[0] > 0 ? -4 : 4, ACCURACY);
    s2_arena_reset(&arena);
  }
  s2_arena_free(&arena);
}

// The factors do not change the values, so a second factorisation gives the same bits.
static void test_factors_keep_the_values(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(5);
  S2Arena arena;
  s2_arena_init(&arena);
  static Case c;
  random_case(&c, 20, 10, 80, &rng, &arena);
  double b[MOST], once[MOST], again[MOST];
  for (int i = 0; i < c.n; i++) {
    b[i] = i;
  }
  assert_true(s2_sparseldl_factor(&c.matrix, c.positive));
  s2_sparseldl_solve(&c.matrix, b, once);
  assert_true(s2_sparseldl_factor(&c.matrix, c.positive));
  s2_sparseldl_solve(&c.matrix, b, again);
  assert_memory_equal(once, again, sizeof(double) * (size_t)c.n);
  s2_arena_free(&arena);
}

static void test_wrong_signs_are_reported(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  // [1 2; 2 1] has eigenvalues 3 and -1
  int32_t entry[2] = {0, 1}, slot[1];
  bool positive[2] = {true, true};
  S2SparseLdl matrix;
  s2_sparseldl_init(&matrix, 2, 1, entry, slot, &arena);
  for (int i = 0; i < 2; i++) {
    matrix.value[matrix.start[i]] = 1;
  }
  matrix.value[slot[0]] = 2;
  assert_false(s2_sparseldl_factor(&matrix, positive));
  // A failed factorisation leaves nothing behind.
  matrix.value[slot[0]] = 0.5;
  assert_true(s2_sparseldl_factor(&matrix, positive));
  double x[2] = {1.5, 1.5};
  s2_sparseldl_solve(&matrix, x, x);
  assert_near(x[0], 1, 1e-15);
  assert_near(x[1], 1, 1e-15);
  matrix.value[slot[0]] = NAN;
  assert_false(s2_sparseldl_factor(&matrix, positive));
  s2_arena_free(&arena);
}

// A chain has no fill in a good order.
static void test_chains_get_no_fill(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  int32_t entry[2 * (MOST - 1)], slot[MOST - 1];
  for (int i = 0; i < MOST - 1; i++) {
    entry[2 * i] = i;
    entry[2 * i + 1] = i + 1;
  }
  S2SparseLdl matrix;
  s2_sparseldl_init(&matrix, MOST, MOST - 1, entry, slot, &arena);
  assert_int_equal(matrix.fill, MOST - 1);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_solutions_satisfy_the_system),
      cmocka_unit_test(test_factors_keep_the_values),
      cmocka_unit_test(test_wrong_signs_are_reported),
      cmocka_unit_test(test_chains_get_no_fill),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
