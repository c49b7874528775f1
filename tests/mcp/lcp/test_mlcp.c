// Mixed linear complementarity problems compared with enumeration, and their derivatives.
#include "sanitized.h"

#include "base/arena.h"
#include "base/memory.h"
#include "base/rng.h"
#include "mcp/mlcp/mlcp.h"

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX = 40 };

typedef struct Case {
  S2Mlcp problem;
  double a_uu[MAX * MAX], c_uv[MAX * MAX], d_vu[MAX * MAX], b_vv[MAX * MAX], a[MAX], b[MAX];
  double u[MAX], v[MAX], w[MAX], proof_free[MAX], proof_row[MAX];
  S2MlcpSolution solution;
} Case;

static Case *make(int n, int m) {
  Case *c = calloc(1, sizeof *c);
  assert_non_null(c);
  c->problem = (S2Mlcp){.n = n,
                        .m = m,
                        .a_uu = c->a_uu,
                        .c_uv = c->c_uv,
                        .d_vu = c->d_vu,
                        .b_vv = c->b_vv,
                        .a_free = c->a,
                        .b_row = c->b};
  c->solution = (S2MlcpSolution){
      .u = c->u, .v = c->v, .w = c->w, .proof_free = c->proof_free, .proof_row = c->proof_row};
  return c;
}

static S2SolveStatus solve(Case *c) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2SolveStatus status = s2_mlcp_solve(&c->problem, NULL, &arena, &c->solution);
  assert_int_equal(status, c->solution.status);
  assert_true(arena.used == 0); // all of the memory was released
  s2_arena_free(&arena);
  return status;
}

// Entry (i, j) of [A C; D B].
static double *entry(Case *c, int i, int j) {
  int n = c->problem.n, m = c->problem.m;
  if (i < n) {
    return j < n ? &c->a_uu[i * n + j] : &c->c_uv[i * m + j - n];
  }
  return j < n ? &c->d_vu[(i - n) * n + j] : &c->b_vv[(i - n) * m + j - n];
}

// The distance of (u, v) from a solution, computed here from scratch; w is compared as well.
static double miss_of(Case *c) {
  int n = c->problem.n, m = c->problem.m;
  double miss = 0;
  for (int i = 0; i < n + m; ++i) {
    double sum = i < n ? c->a[i] : c->b[i - n];
    for (int j = 0; j < n + m; ++j) {
      sum += *entry(c, i, j) * (j < n ? c->u[j] : c->v[j - n]);
    }
    if (i < n) {
      miss = fmax(miss, fabs(sum));
    } else {
      miss = fmax(miss, fmax(fabs(fmin(sum, c->v[i - n])), fabs(sum - c->w[i - n])));
    }
  }
  return miss;
}

static void check_proof(Case *c) {
  static const double small = 1e-7;
  int n = c->problem.n, m = c->problem.m;
  double gain = 0;
  for (int i = 0; i < n + m; ++i) {
    gain -= i < n ? c->a[i] * c->proof_free[i] : c->b[i - n] * c->proof_row[i - n];
    assert_true(i < n || c->proof_row[i - n] >= 0);
  }
  assert_true(gain > 0);
  for (int j = 0; j < n + m; ++j) {
    double sum = 0;
    for (int i = 0; i < n + m; ++i) {
      sum += *entry(c, i, j) * (i < n ? c->proof_free[i] : c->proof_row[i - n]);
    }
    assert_true((j < n ? fabs(sum) : sum) <= small * gain);
  }
}

static void fill(S2Rng *rng, double *to, int count) {
  for (int i = 0; i < count; ++i) {
    to[i] = s2_rng_normal(rng);
  }
}

// [A C; D B] = F F' / size + skew, and (a, b) such that (u, v) is a solution with half the pairs
// on either side.
static void make_monotone(S2Rng *rng, Case *c, double u[MAX], double v[MAX]) {
  int n = c->problem.n, m = c->problem.m, size = n + m;
  double f[MAX * MAX];
  fill(rng, f, size * size);
  fill(rng, u, n);
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      double sum = i == j ? 0.1 : 0;
      for (int k = 0; k < size; ++k) {
        sum += f[i * size + k] * f[j * size + k] / size;
      }
      *entry(c, i, j) = sum + (f[i * size + j] - f[j * size + i]) / 2;
    }
  }
  for (int i = 0; i < m; ++i) {
    v[i] = i % 2 == 0 ? 0.1 + s2_rng_uniform(rng) : 0;
  }
  for (int i = 0; i < size; ++i) {
    double sum = i >= n && (i - n) % 2 != 0 ? -0.1 - s2_rng_uniform(rng) : 0;
    for (int j = 0; j < size; ++j) {
      sum += *entry(c, i, j) * (j < n ? u[j] : v[j - n]);
    }
    *(i < n ? &c->a[i] : &c->b[i - n]) = -sum;
  }
}

static void monotone_problems_have_their_answer(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(11);
  for (int k = 0; k < 100; ++k) {
    int n = (int)s2_rng_integer(&rng, 0, 15), m = (int)s2_rng_integer(&rng, 0, 20);
    double u[MAX], v[MAX];
    Case *c = make(n, m);
    make_monotone(&rng, c, u, v);
    assert_int_equal(solve(c), S2_SOLVED);
    assert_true(miss_of(c) <= 1e-12);
    for (int i = 0; i < n; ++i) {
      assert_true(fabs(c->u[i] - u[i]) <= 1e-10);
    }
    for (int i = 0; i < m; ++i) {
      assert_true(fabs(c->v[i] - v[i]) <= 1e-10);
    }
    free(c);
  }
}

// ---- enumeration ------------------------------------------------------------------------------

// The states of a pair at a solution. On a smallest face of the set of solutions each pair is in
// one of these, and any point of that face's linear hull is a solution, including that of least
// norm.
enum { V_ZERO, W_ZERO, BOTH_ZERO, STATES };

static bool solves_with(Case *trial, unsigned states) {
  int n = trial->problem.n, m = trial->problem.m, row[8], column[8], rows = 0, columns = 0;
  for (int i = 0; i < n + m; ++i) {
    unsigned state = i < n ? W_ZERO : states % STATES;
    states /= i < n ? 1 : STATES;
    if (state != V_ZERO) {
      row[rows++] = i;
    }
    if (state == W_ZERO) {
      column[columns++] = i;
    }
  }
  memset(trial->u, 0, sizeof trial->u);
  memset(trial->v, 0, sizeof trial->v);
  if (columns > 0) {
    double k[8 * 8], r[8];
    for (int i = 0; i < rows; ++i) {
      r[i] = -(row[i] < n ? trial->a[row[i]] : trial->b[row[i] - n]);
      for (int j = 0; j < columns; ++j) {
        k[i * columns + j] = *entry(trial, row[i], column[j]);
      }
    }
    lapack_int rank, order[8] = {0};
    assert_int_equal(
        LAPACKE_dgelsy(LAPACK_ROW_MAJOR, rows, columns, 1, k, columns, r, 1, order, 1e-11, &rank),
        0);
    for (int j = 0; j < columns; ++j) {
      *(column[j] < n ? &trial->u[column[j]] : &trial->v[column[j] - n]) = r[j];
    }
  }
  for (int i = 0; i < m; ++i) {
    trial->w[i] = trial->b[i];
    for (int j = 0; j < n + m; ++j) {
      trial->w[i] += *entry(trial, n + i, j) * (j < n ? trial->u[j] : trial->v[j - n]);
    }
  }
  return miss_of(trial) <= 1e-9;
}

static bool enumerate(Case *c) {
  unsigned choices = 1;
  for (int i = 0; i < c->problem.m; ++i) {
    choices *= STATES;
  }
  bool solvable = false;
  for (unsigned states = 0; states < choices && !solvable; ++states) {
    solvable = solves_with(c, states);
  }
  return solvable;
}

static void draw_integers(S2Rng *rng, Case *c, bool monotone) {
  int n = c->problem.n, size = n + c->problem.m, rank = (int)s2_rng_integer(rng, 0, size);
  double f[8 * 8], skew[8 * 8];
  for (int i = 0; i < 64; ++i) {
    f[i] = (double)s2_rng_integer(rng, -2, 2);
    skew[i] = (double)s2_rng_integer(rng, -1, 1);
  }
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      double sum = skew[i * 8 + j] - skew[j * 8 + i];
      for (int k = 0; k < rank; ++k) {
        sum += f[i * 8 + k] * f[j * 8 + k];
      }
      *entry(c, i, j) = monotone ? sum : f[i * 8 + j];
    }
    *(i < n ? &c->a[i] : &c->b[i - n]) = (double)s2_rng_integer(rng, -2, 2);
  }
}

// For monotone problems the result is known in either case.
static void small_monotone_problems_agree_with_enumeration(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(12);
  int count[2] = {0};
  for (int k = 0; k < S2_FEWER(2000, 400); ++k) {
    Case *c = make((int)s2_rng_integer(&rng, 0, 3), (int)s2_rng_integer(&rng, 0, 4));
    draw_integers(&rng, c, true);
    bool solvable = enumerate(c);
    S2SolveStatus status = solve(c);
    if (status != (solvable ? S2_SOLVED : S2_INFEASIBLE)) {
      fail_msg("problem %d: %s, enumeration says %s", k, s2_solve_status_name(status),
               solvable ? "solvable" : "not solvable");
    }
    if (solvable) {
      assert_true(miss_of(c) <= 1e-10);
    } else {
      check_proof(c);
    }
    count[solvable] += 1;
    free(c);
  }
  assert_true(count[0] > S2_FEWER(200, 40) && count[1] > S2_FEWER(500, 100));
}

// For other problems Lemke's method misses solutions, which are then searched for.
static void answers_to_problems_of_any_kind_are_true(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(13);
  int solvable = 0, solved = 0;
  for (int k = 0; k < S2_FEWER(2000, 400); ++k) {
    Case *c = make((int)s2_rng_integer(&rng, 0, 3), (int)s2_rng_integer(&rng, 0, 4));
    draw_integers(&rng, c, false);
    bool has = enumerate(c);
    S2SolveStatus status = solve(c);
    solvable += has;
    if (status == S2_SOLVED) {
      solved += 1;
      assert_true(has);
      assert_true(miss_of(c) <= 1e-9);
    } else if (status == S2_INFEASIBLE) {
      assert_false(has);
      check_proof(c);
    } else {
      assert_true(c->solution.residual > 1e-9);
    }
    free(c);
  }
  assert_true(solvable > S2_FEWER(1000, 200));
  assert_int_equal(solved, solvable); // the problem without u is small enough for enumeration
}

// ---- named cases ------------------------------------------------------------------------------

static void problems_with_nothing_in_them(void **state) {
  (void)state;
  Case *c = make(0, 0);
  c->problem = (S2Mlcp){0};
  c->solution = (S2MlcpSolution){0};
  assert_int_equal(solve(c), S2_SOLVED);
  assert_true(c->solution.residual == 0);
  free(c);
}

static void equations_only(void **state) {
  (void)state;
  Case *c = make(2, 0);
  memcpy(c->a_uu, (double[]){0, 2, -1, 0}, sizeof(double[4])); // neither definite nor symmetric
  memcpy(c->a, (double[]){-6, 5}, sizeof(double[2]));
  assert_int_equal(solve(c), S2_SOLVED);
  assert_true(fabs(c->u[0] - 5) <= 1e-12 && fabs(c->u[1] - 3) <= 1e-12);
  memcpy(c->a_uu, (double[]){1, 2, 2, 4}, sizeof(double[4]));
  memcpy(c->a, (double[]){-1, -2}, sizeof(double[2])); // consistent: least norm
  assert_int_equal(solve(c), S2_SOLVED);
  assert_true(miss_of(c) <= 1e-12);
  c->a[1] = -3;
  assert_int_equal(solve(c), S2_INFEASIBLE);
  check_proof(c);
  free(c);
}

static void numbers_that_are_not_finite(void **state) {
  (void)state;
  Case *c = make(1, 1);
  c->a_uu[0] = c->b_vv[0] = 1;
  double *const places[] = {c->a_uu, c->c_uv, c->d_vu, c->b_vv, c->a, c->b};
  for (int i = 0; i < 6; ++i) {
    double kept = *places[i];
    *places[i] = i % 2 == 0 ? NAN : INFINITY;
    assert_int_equal(solve(c), S2_SINGULAR);
    assert_true(isnan(c->solution.residual));
    *places[i] = kept;
  }
  assert_int_equal(solve(c), S2_SOLVED);
  free(c);
}

static void the_heap_is_left_alone(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(14);
  S2Arena arena;
  s2_arena_init(&arena);
  Case *c = make(2, 3);
  uint64_t before = 0;
  draw_integers(&rng, c, false); // goes through all stages
  for (int k = 0; k < 2; ++k) {
    before = s2_memory_count();
    s2_mlcp_solve(&c->problem, NULL, &arena, &c->solution);
    s2_arena_reset(&arena);
  }
  before = s2_memory_count();
  s2_mlcp_solve(&c->problem, NULL, &arena, &c->solution);
  assert_true(s2_memory_count() == before);
  s2_arena_free(&arena);
  free(c);
}

// ---- derivatives ------------------------------------------------------------------------------

static double loss(Case *c, const double *g) {
  assert_int_equal(solve(c), S2_SOLVED);
  double sum = 0;
  for (int i = 0; i < c->problem.n; ++i) {
    sum += g[i] * c->u[i];
  }
  for (int i = 0; i < c->problem.m; ++i) {
    sum += g[c->problem.n + i] * c->v[i];
  }
  return sum;
}

static void check_block(Case *c, const double *g, double *data, const double *gradient, int count) {
  static const double step = 1e-5;
  for (int i = 0; i < count; ++i) {
    double kept = data[i];
    data[i] = kept + step;
    double above = loss(c, g);
    data[i] = kept - step;
    double below = loss(c, g), expected = (above - below) / (2 * step);
    data[i] = kept;
    if (!(fabs(gradient[i] - expected) <= 1e-6 * fmax(1, fabs(expected)))) {
      fail_msg("derivative %.12g, central difference %.12g", gradient[i], expected);
    }
  }
}

static void derivatives_agree_with_central_differences(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(15);
  double largest = 0;
  for (int k = 0; k < S2_FEWER(250, 50); ++k) {
    int n = (int)s2_rng_integer(&rng, 0, 4), m = (int)s2_rng_integer(&rng, 0, 4);
    double u[MAX], v[MAX], g[8], a_uu[16], c_uv[16], d_vu[16], b_vv[16], a[4], b[4];
    Case *c = make(n, m);
    make_monotone(&rng, c, u, v);
    for (int i = 0; i < n + m; ++i) {
      *entry(c, i, i) += 1; // keeps third derivatives small; moves the solution
      *(i < n ? &c->a[i] : &c->b[i - n]) -= i < n ? u[i] : v[i - n];
    }
    fill(&rng, g, n + m);
    assert_int_equal(solve(c), S2_SOLVED);
    S2Arena arena;
    s2_arena_init(&arena);
    S2MlcpGradient gradient = {
        .a_uu = a_uu, .c_uv = c_uv, .d_vu = d_vu, .b_vv = b_vv, .a_free = a, .b_row = b};
    assert_true(s2_mlcp_vjp(&c->problem, &c->solution, g, g + n, &gradient, &arena));
    s2_arena_free(&arena);
    check_block(c, g, c->a_uu, a_uu, n * n);
    check_block(c, g, c->c_uv, c_uv, n * m);
    check_block(c, g, c->d_vu, d_vu, m * n);
    check_block(c, g, c->b_vv, b_vv, m * m);
    check_block(c, g, c->a, a, n);
    check_block(c, g, c->b, b, m);
    for (int i = 0; i < m; ++i) {
      largest = fmax(largest, fabs(b[i]));
    }
    free(c);
  }
  assert_true(largest > 0.1);
}

static void a_pair_with_both_zero_has_no_derivative(void **state) {
  (void)state;
  Case *c = make(0, 1);
  c->b_vv[0] = 1;
  assert_int_equal(solve(c), S2_SOLVED);
  double b = 1;
  S2Arena arena;
  s2_arena_init(&arena);
  assert_false(s2_mlcp_vjp(&c->problem, &c->solution, NULL, (double[]){1},
                           &(S2MlcpGradient){.b_row = &b}, &arena));
  s2_arena_free(&arena);
  assert_true(b == 0); // counts as w > 0
  free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(monotone_problems_have_their_answer),
      cmocka_unit_test(small_monotone_problems_agree_with_enumeration),
      cmocka_unit_test(answers_to_problems_of_any_kind_are_true),
      cmocka_unit_test(problems_with_nothing_in_them),
      cmocka_unit_test(equations_only),
      cmocka_unit_test(numbers_that_are_not_finite),
      cmocka_unit_test(the_heap_is_left_alone),
      cmocka_unit_test(derivatives_agree_with_central_differences),
      cmocka_unit_test(a_pair_with_both_zero_has_no_derivative),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
