// Sparse linear complementarity problems compared with the dense methods and with known solutions.
#include "sanitized.h"

#include "base/rng.h"
#include "mcp/lcp/lcp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// A membrane between fixed ends, pushed down onto an obstacle: z is its height above that.
static S2Csr laplacian(int side, double skew, S2Arena *arena) {
  int n = side * side, count = 0;
  S2Triplet *t = S2_TAKE(arena, S2Triplet, 5 * n);
  for (int i = 0; i < n; i++) {
    const int step[4] = {-side, -1, 1, side};
    t[count++] = (S2Triplet){i, i, 4};
    for (int k = 0; k < 4; k++) {
      bool inside = k == 0   ? i >= side
                    : k == 1 ? i % side > 0
                    : k == 2 ? i % side < side - 1
                             : i < n - side;
      if (inside) {
        t[count++] = (S2Triplet){i, i + step[k], -1 + (k % 2 == 0 ? skew : -skew)};
      }
    }
  }
  return s2_csr_from_triplets(n, n, count, t, arena);
}

static double min_map(const S2Csr *m, const double *q, const double *z) {
  double *w = calloc((size_t)m->rows, sizeof(double)), worst = 0;
  memcpy(w, q, sizeof(double) * (size_t)m->rows);
  s2_csr_add_times(m, 1, z, w);
  for (int i = 0; i < m->rows; i++) {
    worst = fmax(worst, fabs(fmin(z[i], w[i])));
  }
  free(w);
  return worst;
}

static void obstacles(void **state) {
  (void)state;
  static const int SIDES[] = {1, 2, 3, 10, 40};
  S2Arena arena;
  s2_arena_init(&arena);
  for (int k = 0; k < 5; k++) {
    for (int skewed = 0; skewed < 2; skewed++) {
      s2_arena_reset(&arena);
      int n = SIDES[k] * SIDES[k];
      S2Csr m = laplacian(SIDES[k], .3 * skewed, &arena);
      S2Rng rng = s2_rng_seeded((uint64_t)k + 1);
      double *q = S2_TAKE(&arena, double, n);
      for (int i = 0; i < n; i++) {
        q[i] = 2 * s2_rng_uniform(&rng) - 1.2;
      }
      S2LcpSolution s = {.z = S2_TAKE(&arena, double, n), .w = S2_TAKE(&arena, double, n)};
      assert_int_equal(s2_lcp_sparse_solve(&m, q, NULL, &arena, &s), S2_SOLVED);
      assert_int_equal(s.used, S2_LCP_PDIPM);
      assert_true(min_map(&m, q, s.z) <= 2e-9);
      S2LcpSolution dense = {.z = S2_TAKE(&arena, double, n), .w = S2_TAKE(&arena, double, n)};
      S2LcpSolverOptions options = {.solver = S2_LCP_LEMKE};
      if (n <= 100) {
        assert_int_equal(s2_lcp_sparse_solve(&m, q, &options, &arena, &dense), S2_SOLVED);
        for (int i = 0; i < n; i++) {
          assert_true(fabs(s.z[i] - dense.z[i]) <= 1e-7); // M is a P matrix: one solution
        }
      }
    }
  }
  s2_arena_free(&arena);
}

// Solvable and unsolvable problems must be reported as by enumeration.
static void like_enumeration(void **state) {
  (void)state;
  enum { PROBLEMS = S2_FEWER(1000, 24), MOST = 6 };
  int solvable = 0;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(7);
  for (int problem = 0; problem < PROBLEMS; problem++) {
    s2_arena_reset(&arena);
    int n = 1 + (int)(s2_rng_uniform(&rng) * MOST);
    double dense[MOST * MOST], q[MOST], z[MOST], w[MOST], z2[MOST], w2[MOST];
    for (int i = 0; i < n * n; i++) {
      dense[i] = floor(5 * s2_rng_uniform(&rng)) - 2;
    }
    for (int i = 0; i < n; i++) {
      q[i] = floor(5 * s2_rng_uniform(&rng)) - 2;
    }
    S2Csr m = s2_csr_from_dense(n, n, dense, &arena);
    S2LcpSolution one = {.z = z, .w = w}, two = {.z = z2, .w = w2};
    S2LcpSolverOptions options = {.solver = S2_LCP_ENUMERATE};
    S2LcpProblem oracle = {n, dense, q};
    S2SolveStatus found = s2_lcp_sparse_solve(&m, q, NULL, &arena, &one);
    S2SolveStatus truth = s2_lcp_solve(&oracle, &options, &arena, &two);
    assert_int_equal(found == S2_SOLVED, truth == S2_SOLVED);
    if (found == S2_SOLVED) {
      assert_true(min_map(&m, q, z) <= 2e-9);
      solvable++;
    } else {
      assert_int_equal(found, S2_INFEASIBLE);
    }
  }
  s2_arena_free(&arena);
  assert_true(solvable > PROBLEMS / 4 && solvable < PROBLEMS * 3 / 4);
}

static void bad_input(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Csr none = s2_csr_from_triplets(0, 0, 0, NULL, &arena);
  S2LcpSolution s = {0};
  assert_int_equal(s2_lcp_sparse_solve(&none, NULL, NULL, &arena, &s), S2_SOLVED);
  double entry = NAN, q = -1, z, w;
  S2Csr m = s2_csr_diagonal(1, &entry, &arena);
  s = (S2LcpSolution){.z = &z, .w = &w};
  assert_int_equal(s2_lcp_sparse_solve(&m, &q, NULL, &arena, &s), S2_SINGULAR);
  entry = -1;
  m = s2_csr_diagonal(1, &entry, &arena);
  assert_int_equal(s2_lcp_sparse_solve(&m, &q, NULL, &arena, &s), S2_INFEASIBLE);
  int big = S2_LCP_DENSE_MAX + 1;
  double *minus = S2_TAKE(&arena, double, big), *z_big = S2_TAKE(&arena, double, 2 * big);
  for (int i = 0; i < big; i++) {
    minus[i] = -1;
  }
  m = s2_csr_diagonal(big, minus, &arena); // no solution, and too large to prove it
  s = (S2LcpSolution){.z = z_big, .w = z_big + big};
  S2LcpSolverOptions options = {.solver = S2_LCP_LEMKE};
  assert_int_equal(s2_lcp_sparse_solve(&m, minus, &options, &arena, &s), S2_UNSUPPORTED);
  options = (S2LcpSolverOptions){.max_iterations = 5};
  S2SolveStatus status = s2_lcp_sparse_solve(&m, minus, &options, &arena, &s);
  assert_int_not_equal(status, S2_SOLVED);
  assert_true(s.residual > .5);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(obstacles),
      cmocka_unit_test(like_enumeration),
      cmocka_unit_test(bad_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
