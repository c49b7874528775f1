// LU with complete pivoting compared with plain loops, to the last bit. The active set uses these
// factors: of entries of one size the first has to be the pivot, whatever the width of the
// registers in the search.
#include "base/rng.h"
#include "mcp/pivot/dense_lu.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 23, MATRICES = 4000 };
static const double REPEATS = 1e-11;

typedef struct Factors {
  int rank, row[MOST], column[MOST];
  double a[MOST * MOST];
} Factors;

static void swap_rows(Factors *f, int n, int x, int y) {
  for (int j = 0; j < n; j++) {
    double kept = f->a[x * n + j];
    f->a[x * n + j] = f->a[y * n + j];
    f->a[y * n + j] = kept;
  }
  int kept = f->row[x];
  f->row[x] = f->row[y];
  f->row[y] = kept;
}

static void swap_columns(Factors *f, int n, int x, int y) {
  for (int i = 0; i < n; i++) {
    double kept = f->a[i * n + x];
    f->a[i * n + x] = f->a[i * n + y];
    f->a[i * n + y] = kept;
  }
  int kept = f->column[x];
  f->column[x] = f->column[y];
  f->column[y] = kept;
}

static void factor_plainly(Factors *f, int n) {
  double largest = 0;
  f->rank = 0;
  for (int i = 0; i < n; i++) {
    f->row[i] = f->column[i] = i;
  }
  for (int k = 0; k < n; k++) {
    // The first of the largest remaining entries, row by row.
    int row = k, column = k;
    double best = 0;
    for (int i = k; i < n; i++) {
      for (int j = k; j < n; j++) {
        if (fabs(f->a[i * n + j]) > best) {
          best = fabs(f->a[i * n + j]);
          row = i;
          column = j;
        }
      }
    }
    swap_rows(f, n, k, row);
    swap_columns(f, n, k, column);
    largest = k == 0 ? best : largest;
    if (!(best > REPEATS * largest)) {
      return;
    }
    f->rank = k + 1;
    for (int i = k + 1; i < n; i++) {
      double factor = f->a[i * n + k] / f->a[k * n + k];
      f->a[i * n + k] = f->a[i * n + k] == 0 ? f->a[i * n + k] : factor;
      for (int j = k + 1; j < n && factor != 0; j++) {
        f->a[i * n + j] -= factor * f->a[k * n + j];
      }
    }
  }
}

// Small whole numbers, of which many have one size, or any numbers; some rows repeat others.
static void fill(S2Rng *rng, double *a, int n) {
  bool whole = s2_rng_integer(rng, 0, 1) == 0;
  for (int i = 0; i < n; i++) {
    int from = i > 0 && s2_rng_integer(rng, 0, 3) == 0 ? (int)s2_rng_integer(rng, 0, i - 1) : -1;
    for (int j = 0; j < n; j++) {
      double fresh = whole ? (double)s2_rng_integer(rng, -2, 2) : s2_rng_normal(rng);
      a[i * n + j] = from >= 0 ? a[from * n + j] : fresh;
    }
  }
}

static void same_factors(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(7);
  S2Arena arena = {0};
  int deficient = 0;
  for (int m = 0; m < MATRICES; m++) {
    int n = 1 + m % MOST;
    Factors plain;
    double a[MOST * MOST];
    fill(&rng, a, n);
    memcpy(plain.a, a, sizeof a);
    factor_plainly(&plain, n);
    S2DenseLu lu = s2_dense_lu_factor(n, a, REPEATS, &arena);
    assert_int_equal(lu.rank, plain.rank);
    assert_memory_equal(lu.row, plain.row, sizeof(int) * (size_t)n);
    assert_memory_equal(lu.column, plain.column, sizeof(int) * (size_t)n);
    assert_memory_equal(a, plain.a, sizeof(double) * (size_t)(n * n));
    deficient += lu.rank < n;
    s2_arena_reset(&arena);
  }
  // Both kinds of matrices were among them.
  assert_in_range(deficient, MATRICES / 4, MATRICES - MATRICES / 10);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_factors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
