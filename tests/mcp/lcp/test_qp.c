// Quadratic and linear programs compared with known solutions and with enumeration of active sets.
#include "sanitized.h"

#include "base/arena.h"
#include "base/memory.h"
#include "base/rng.h"
#include "mcp/mlcp/lp.h"
#include "mcp/mlcp/mlcp.h"
#include "mcp/mlcp/qp.h"

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_N = 60, MAX_E = 20, MAX_M = 120 };

static const double EXACT = 1e-11; // error for numbers of about 1, if the solution is unique

// ---- problems with their solutions ------------------------------------------------------------

typedef struct Case {
  S2Qp qp;
  double p[MAX_N * MAX_N], q[MAX_N], a[MAX_E * MAX_N], b[MAX_E], g[MAX_M * MAX_N], h[MAX_M];
  double x[MAX_N], y[MAX_E], z[MAX_M], proof_y[MAX_E], proof_z[MAX_M], direction[MAX_N];
  S2QpSolution solution;
} Case;

static Case *make(int n, int equalities, int inequalities) {
  Case *c = calloc(1, sizeof *c);
  assert_non_null(c);
  c->qp = (S2Qp){n, equalities, inequalities, c->p, c->q, c->a, c->b, c->g, c->h};
  c->solution = (S2QpSolution){.x = c->x,
                               .y = c->y,
                               .z = c->z,
                               .proof_y = c->proof_y,
                               .proof_z = c->proof_z,
                               .direction = c->direction};
  return c;
}

static S2SolveStatus solve(Case *c) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2SolveStatus status = s2_qp_solve(&c->qp, NULL, &arena, &c->solution);
  assert_int_equal(status, c->solution.status);
  assert_true(arena.used == 0); // all of the memory was released
  s2_arena_free(&arena);
  return status;
}

static double dot(const double *a, const double *b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

static double column_dot(const double *matrix, const double *y, int rows, int n, int j) {
  double sum = 0;
  for (int i = 0; i < rows; ++i) {
    sum += matrix[i * n + j] * y[i];
  }
  return sum;
}

// The largest violation of the optimality conditions, computed here from scratch.
static double kkt_miss(const Case *c) {
  int n = c->qp.n, e = c->qp.equalities, m = c->qp.inequalities;
  double miss = 0;
  for (int j = 0; j < n; ++j) {
    double sum = c->q[j] + column_dot(c->a, c->y, e, n, j) + column_dot(c->g, c->z, m, n, j);
    if (c->qp.p != NULL) {
      sum += dot(c->p + j * n, c->x, n);
    }
    miss = fmax(miss, fabs(sum));
  }
  for (int i = 0; i < e; ++i) {
    miss = fmax(miss, fabs(dot(c->a + i * n, c->x, n) - c->b[i]));
  }
  for (int i = 0; i < m; ++i) {
    miss = fmax(miss, fabs(fmin(c->z[i], c->h[i] - dot(c->g + i * n, c->x, n))));
  }
  return miss;
}

// The properties of S2_INFEASIBLE that the header documents.
static void check_proof(const Case *c) {
  static const double small = 1e-7;
  int n = c->qp.n, e = c->qp.equalities, m = c->qp.inequalities;
  if (c->solution.unbounded) {
    double descent = dot(c->q, c->direction, n);
    assert_true(descent < 0);
    for (int i = 0; i < n; ++i) {
      assert_true(fabs(dot(c->p + i * n, c->direction, n)) <= small * -descent);
    }
    for (int i = 0; i < e; ++i) {
      assert_true(fabs(dot(c->a + i * n, c->direction, n)) <= small * -descent);
    }
    for (int i = 0; i < m; ++i) {
      assert_true(dot(c->g + i * n, c->direction, n) <= small * -descent);
    }
    return;
  }
  double gain = -dot(c->b, c->proof_y, e) - dot(c->h, c->proof_z, m);
  assert_true(gain > 0);
  for (int i = 0; i < m; ++i) {
    assert_true(c->proof_z[i] >= 0);
  }
  for (int j = 0; j < n; ++j) {
    double sum = column_dot(c->a, c->proof_y, e, n, j) + column_dot(c->g, c->proof_z, m, n, j);
    assert_true(fabs(sum) <= small * gain);
  }
}

static void fill(S2Rng *rng, double *to, int count) {
  for (int i = 0; i < count; ++i) {
    to[i] = s2_rng_normal(rng);
  }
}

// P = F' F with F rank x n
static void make_curvature(S2Rng *rng, Case *c, int rank) {
  int n = c->qp.n;
  double f[MAX_N * MAX_N];
  fill(rng, f, rank * n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      c->p[i * n + j] = 0;
      for (int k = 0; k < rank; ++k) {
        c->p[i * n + j] += f[k * n + i] * f[k * n + j] / n;
      }
    }
  }
}

// q, b and h such that (x, y, z) drawn at random is a solution with `active` tight rows.
static void make_answer(S2Rng *rng, Case *c, int active, double *x, double *y, double *z) {
  int n = c->qp.n, e = c->qp.equalities, m = c->qp.inequalities;
  fill(rng, x, n);
  fill(rng, y, e);
  fill(rng, c->a, e * n);
  fill(rng, c->g, m * n);
  for (int i = 0; i < m; ++i) {
    z[i] = i < active ? 0.1 + s2_rng_uniform(rng) : 0;
    c->h[i] = dot(c->g + i * n, x, n) + (i < active ? 0 : 0.1 + s2_rng_uniform(rng));
  }
  for (int i = 0; i < e; ++i) {
    c->b[i] = dot(c->a + i * n, x, n);
  }
  for (int j = 0; j < n; ++j) {
    c->q[j] =
        -dot(c->p + j * n, x, n) - column_dot(c->a, y, e, n, j) - column_dot(c->g, z, m, n, j);
  }
}

static void assert_close(const double *a, const double *b, int count, double tolerance) {
  for (int i = 0; i < count; ++i) {
    assert_true(fabs(a[i] - b[i]) <= tolerance * fmax(1, fabs(b[i])));
  }
}

static void random_programs_have_their_answer(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(1);
  for (int k = 0; k < 60; ++k) {
    int n = (int)s2_rng_integer(&rng, 2, MAX_N), e = (int)s2_rng_integer(&rng, 0, n / 4);
    int m = (int)s2_rng_integer(&rng, 0, 2 * n);
    int active = (int)s2_rng_integer(&rng, 0, (n - e) / 2 < m ? (n - e) / 2 : m);
    Case *c = make(n, e, m);
    double x[MAX_N], y[MAX_E], z[MAX_M];
    make_curvature(&rng, c, n);
    for (int i = 0; i < n; ++i) {
      c->p[i * n + i] += 0.1;
    }
    make_answer(&rng, c, active, x, y, z);
    assert_int_equal(solve(c), S2_SOLVED);
    assert_true(kkt_miss(c) <= EXACT);
    assert_close(c->x, x, n, 1e-10);
    free(c);
  }
}

// Curvature in few directions, none at all, redundant rows: solutions are not unique.
static void degenerate_programs_are_solved(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(2);
  for (int k = 0; k < 200; ++k) {
    int n = (int)s2_rng_integer(&rng, 2, 20), e = (int)s2_rng_integer(&rng, 0, 3);
    int m = (int)s2_rng_integer(&rng, n, 2 * n);
    Case *c = make(n, 2 * e, 2 * m);
    double x[MAX_N], y[MAX_E] = {0}, z[MAX_M] = {0};
    make_curvature(&rng, c, k % 2 == 0 ? 0 : n / 3);
    c->qp.equalities = e;
    c->qp.inequalities = m;
    make_answer(&rng, c, (int)s2_rng_integer(&rng, 0, m), x, y, z);
    // every row a second time, with another scale
    for (int i = 0; i < e * n; ++i) {
      c->a[e * n + i] = 2 * c->a[i];
    }
    for (int i = 0; i < m * n; ++i) {
      c->g[m * n + i] = 3 * c->g[i];
    }
    for (int i = 0; i < e; ++i) {
      c->b[e + i] = 2 * c->b[i];
    }
    for (int i = 0; i < m; ++i) {
      c->h[m + i] = 3 * c->h[i];
    }
    c->qp.equalities = 2 * e;
    c->qp.inequalities = 2 * m;
    assert_int_equal(solve(c), S2_SOLVED);
    assert_true(kkt_miss(c) <= 1e-9);
    free(c);
  }
}

// ---- enumeration of active sets ---------------------------------------------------------------

// The states of a row of G x <= h at a solution. On a smallest face of the set of solutions each
// row is in one of these, and any point of that face's linear hull is a solution, including that of
// least norm.
enum { LOOSE, PRESSING, TOUCHING, STATES }; // z = 0; tight; tight and z = 0

// Is there a solution with the rows in the states that the base-3 number gives?
static bool solves_with(Case *trial, unsigned states) {
  int n = trial->qp.n, e = trial->qp.equalities, m = trial->qp.inequalities;
  int row[8], rows = n + e, columns = n + e;
  for (int wanted = PRESSING; wanted <= TOUCHING; ++wanted) {
    unsigned rest = states;
    for (int i = 0; i < m; ++i, rest /= STATES) {
      if (rest % STATES == (unsigned)wanted) {
        row[rows++ - n - e] = i;
        columns += wanted == PRESSING;
      }
    }
  }
  double k[16 * 16] = {0}, r[16];
  for (int i = 0; i < n; ++i) {
    r[i] = -trial->q[i];
    memcpy(k + i * columns, trial->p + i * n, sizeof(double) * (size_t)n);
  }
  for (int i = n; i < rows; ++i) {
    const double *from = i < n + e ? trial->a + (i - n) * n : trial->g + row[i - n - e] * n;
    r[i] = i < n + e ? trial->b[i - n] : trial->h[row[i - n - e]];
    for (int j = 0; j < n; ++j) {
      k[i * columns + j] = from[j];
      if (i < columns) {
        k[j * columns + i] = from[j];
      }
    }
  }
  lapack_int rank, order[16] = {0};
  assert_int_equal(
      LAPACKE_dgelsy(LAPACK_ROW_MAJOR, rows, columns, 1, k, columns, r, 1, order, 1e-11, &rank), 0);
  memcpy(trial->x, r, sizeof(double) * (size_t)n);
  memcpy(trial->y, r + n, sizeof(double) * (size_t)e);
  memset(trial->z, 0, sizeof trial->z);
  for (int i = n + e; i < columns; ++i) {
    trial->z[row[i - n - e]] = r[i];
  }
  return kkt_miss(trial) <= 1e-9;
}

static double objective(const Case *c, const double *x) {
  int n = c->qp.n;
  double sum = dot(c->q, x, n);
  for (int i = 0; i < n; ++i) {
    sum += dot(c->p + i * n, x, n) * x[i] / 2;
  }
  return sum;
}

// Small whole numbers: degenerate, redundant, infeasible and unbounded programs are frequent.
static void small_programs_agree_with_enumeration(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(3);
  int solved = 0, infeasible = 0, unbounded = 0;
  for (int k = 0; k < S2_FEWER(2000, 300); ++k) {
    int n = (int)s2_rng_integer(&rng, 1, 3), e = (int)s2_rng_integer(&rng, 0, n - 1);
    int m = (int)s2_rng_integer(&rng, 0, 6), rank = (int)s2_rng_integer(&rng, 0, n);
    Case *c = make(n, e, m);
    double f[9];
    for (int i = 0; i < 9; ++i) {
      f[i] = (double)s2_rng_integer(&rng, -2, 2);
    }
    for (int i = 0; i < n * n; ++i) {
      for (int r = 0; r < rank; ++r) {
        c->p[i] += f[3 * r + i / n] * f[3 * r + i % n];
      }
    }
    for (int i = 0; i < MAX_E; ++i) {
      c->q[i] = (double)s2_rng_integer(&rng, -2, 2);
      c->b[i] = (double)s2_rng_integer(&rng, -2, 2);
      c->h[i] = (double)s2_rng_integer(&rng, -2, 2);
    }
    for (int i = 0; i < 6 * n; ++i) {
      c->a[i] = (double)s2_rng_integer(&rng, -2, 2);
      c->g[i] = (double)s2_rng_integer(&rng, -2, 2);
    }
    bool solvable = false;
    unsigned choices = 1;
    for (int i = 0; i < m; ++i) {
      choices *= STATES;
    }
    for (unsigned states = 0; states < choices && !solvable; ++states) {
      solvable = solves_with(c, states);
    }
    double best = objective(c, c->x);
    S2SolveStatus status = solve(c);
    if (status != (solvable ? S2_SOLVED : S2_INFEASIBLE)) {
      fail_msg("program %d: %s, enumeration says %s", k, s2_solve_status_name(status),
               solvable ? "solvable" : "not solvable");
    }
    if (solvable) {
      assert_true(kkt_miss(c) <= 1e-10);
      assert_true(fabs(best - c->solution.objective) <= 1e-8);
    } else {
      check_proof(c);
    }
    solved += solvable;
    unbounded += !solvable && c->solution.unbounded;
    infeasible += !solvable && !c->solution.unbounded;
    free(c);
  }
  assert_true(solved > S2_FEWER(500, 75) && infeasible > S2_FEWER(200, 30) &&
              unbounded > S2_FEWER(200, 30));
}

// ---- named cases ------------------------------------------------------------------------------

static void equalities_only_are_a_linear_system(void **state) {
  (void)state;
  Case *c = make(2, 1, 0);
  c->p[0] = c->p[3] = 2;
  c->q[0] = -2;
  c->q[1] = -5;
  c->a[0] = c->a[1] = c->b[0] = 1;
  assert_int_equal(solve(c), S2_SOLVED);
  assert_close(c->x, (double[]){-0.25, 1.25}, 2, EXACT);
  assert_close(c->y, (double[]){2.5}, 1, EXACT);
  assert_true(fabs(c->solution.objective + 4.125) <= EXACT);
  free(c);
}

static void rows_without_bound_do_not_count(void **state) {
  (void)state;
  Case *c = make(1, 0, 2);
  c->p[0] = c->g[0] = c->g[1] = 1;
  c->q[0] = -3;
  c->h[0] = INFINITY;
  c->h[1] = 2;
  assert_int_equal(solve(c), S2_SOLVED);
  assert_close(c->x, (double[]){2}, 1, EXACT);
  assert_close(c->z, (double[]){0, 1}, 2, EXACT);
  free(c);
}

static void programs_without_unknowns(void **state) {
  (void)state;
  Case *c = make(0, 0, 0);
  assert_int_equal(solve(c), S2_SOLVED);
  assert_true(c->solution.residual == 0);
  c->qp.inequalities = 1;
  c->h[0] = 1;
  assert_int_equal(solve(c), S2_SOLVED);
  c->h[0] = -1;
  assert_int_equal(solve(c), S2_INFEASIBLE);
  check_proof(c);
  free(c);
}

static void what_is_not_convex_or_finite_is_refused(void **state) {
  (void)state;
  Case *c = make(2, 0, 1);
  c->p[0] = 1;
  c->p[3] = -1e-3;
  assert_int_equal(solve(c), S2_UNSUPPORTED);
  c->p[3] = 0;
  c->p[1] = c->p[2] = 1e-3; // a zero with a number next to it
  assert_int_equal(solve(c), S2_UNSUPPORTED);
  c->p[1] = 1;
  c->p[2] = -1; // only the symmetric part counts
  assert_int_equal(solve(c), S2_SOLVED);
  double *const places[] = {c->p, c->q, c->g, c->h};
  for (int i = 0; i < 4; ++i) {
    double kept = *places[i];
    *places[i] = NAN;
    assert_int_equal(solve(c), S2_SINGULAR);
    assert_true(isnan(c->solution.residual));
    *places[i] = -INFINITY;
    assert_int_equal(solve(c), S2_SINGULAR);
    *places[i] = kept;
  }
  free(c);
}

static void extreme_sizes_of_numbers(void **state) {
  (void)state;
  Case *c = make(1, 0, 1);
  static const double sizes[] = {1e-150, 1, 1e150};
  for (int k = 0; k < 27; ++k) {
    double p = sizes[k % 3], q = sizes[k / 3 % 3], g = sizes[k / 9];
    c->p[0] = p;
    c->q[0] = -q;
    c->g[0] = g;
    c->h[0] = g; // x <= 1
    S2SolveStatus status = solve(c);
    if (g < p || g < q) { // a multiplier of q / g next to p: not always found, and then reported
      assert_true((status == S2_SOLVED) == (c->solution.residual <= 1e-9));
    } else {
      assert_int_equal(status, S2_SOLVED);
    }
    if (status != S2_SOLVED) {
      continue;
    }
    assert_true(kkt_miss(c) <= 1e-9 * fmax(1, fmax(q, g)));
    assert_close(c->x, (double[]){fmin(1, q / p)}, 1, EXACT);
  }
  free(c);
}

// A very large bound must not loosen the tolerance of the others.
static void huge_bounds_excuse_nothing(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(4);
  static const double sizes[] = {1e6, 1e9, 1e12, 1e20, 1e30};
  for (int k = 0; k < S2_FEWER(500, 100); ++k) {
    int n = (int)s2_rng_integer(&rng, 2, 10);
    Case *c = make(n, 0, 2 * n);
    for (int i = 0; i < n; ++i) {
      c->p[i * n + i] = 1 + s2_rng_uniform(&rng);
      c->q[i] = 3 * s2_rng_normal(&rng);
      c->g[2 * i * n + i] = 1;
      c->g[(2 * i + 1) * n + i] = -1;
      c->h[2 * i] = s2_rng_uniform(&rng) < 0.5 ? sizes[k % 5] : 0.5;
      c->h[2 * i + 1] = s2_rng_uniform(&rng) < 0.5 ? sizes[k % 5] : 0.5;
    }
    assert_int_equal(solve(c), S2_SOLVED);
    for (int i = 0; i < n; ++i) {
      double expected = fmax(-c->h[2 * i + 1], fmin(c->h[2 * i], -c->q[i] / c->p[i * n + i]));
      assert_true(fabs(c->x[i] - expected) <= EXACT);
    }
    free(c);
  }
}

static void the_record_and_the_cap_of_iterations(void **state) {
  (void)state;
  Case *c = make(2, 0, 3);
  c->p[0] = c->p[3] = 1;
  c->q[0] = -1;
  c->q[1] = -2;
  fill(&(S2Rng){{1, 2, 3, 4}}, c->g, 6);
  S2Iterate kept[3];
  S2History history = {.at = kept, .capacity = 3};
  S2Arena arena;
  s2_arena_init(&arena);
  S2QpOptions options = {.history = &history};
  assert_int_equal(s2_qp_solve(&c->qp, &options, &arena, &c->solution), S2_SOLVED);
  assert_int_equal(history.count, c->solution.iterations);
  assert_true(history.count > 3);
  assert_true(kept[2].residual < kept[0].residual && kept[0].step > 0 && kept[0].step <= 1);
  // The second solve finds an arena of sufficient size: it does not use the heap.
  s2_arena_reset(&arena);
  uint64_t before = s2_memory_count();
  assert_int_equal(s2_qp_solve(&c->qp, &options, &arena, &c->solution), S2_SOLVED);
  assert_true(s2_memory_count() == before);
  s2_arena_free(&arena);
  free(c);
}

// ---- linear programs --------------------------------------------------------------------------

static S2LpSolution solve_lp(const S2Lp *lp) {
  static double x[MAX_N], y[MAX_E], z[MAX_M], lower[MAX_N], upper[MAX_N];
  S2LpSolution solution = {.x = x, .y = y, .z = z, .lower = lower, .upper = upper};
  S2Arena arena;
  s2_arena_init(&arena);
  s2_lp_solve(lp, NULL, &arena, &solution);
  s2_arena_free(&arena);
  return solution;
}

// Beale's example, on which the simplex method with the usual rule cycles.
static void beales_example(void **state) {
  (void)state;
  const double c[] = {-0.75, 150, -0.02, 6}, b[] = {0, 0, 1}, lo[4] = {0};
  const double a[] = {0.25, -60, -0.04, 9, 0.5, -90, -0.02, 3, 0, 0, 1, 0};
  S2LpSolution s =
      solve_lp(&(S2Lp){.n = 4, .inequalities = 3, .c = c, .a_ub = a, .b_ub = b, .lo = lo});
  assert_int_equal(s.status, S2_SOLVED);
  assert_close(s.x, (double[]){0.04, 0, 1, 0}, 4, EXACT);
  assert_true(fabs(s.objective + 0.05) <= EXACT);
}

// Klee and Minty's cube: max sum 2^(n-j) x_j, 2 sum_{j<i} 2^(i-j) x_j + x_i <= 5^i.
static void klee_minty_cubes(void **state) {
  (void)state;
  for (int n = 1; n <= 8; ++n) {
    double c[8], a[64] = {0}, b[8], lo[8] = {0}, expected[8] = {0};
    for (int i = 0; i < n; ++i) {
      c[i] = -ldexp(1, n - 1 - i);
      b[i] = pow(5, i + 1);
      for (int j = 0; j <= i; ++j) {
        a[i * n + j] = j == i ? 1 : ldexp(1, i - j + 1);
      }
    }
    expected[n - 1] = b[n - 1];
    S2LpSolution s =
        solve_lp(&(S2Lp){.n = n, .inequalities = n, .c = c, .a_ub = a, .b_ub = b, .lo = lo});
    assert_int_equal(s.status, S2_SOLVED);
    assert_close(s.x, expected, n, EXACT * b[n - 1]);
  }
}

static void bounds_of_every_kind(void **state) {
  (void)state;
  // fixed, free, above only, below only, both
  const double c[] = {1, 1, -1, 1, -2}, a[] = {1, 1, 1, 1, 1}, b[] = {10};
  const double lo[] = {2, -INFINITY, -INFINITY, -3, -1}, hi[] = {2, INFINITY, 4, INFINITY, 1};
  S2Lp lp = {.n = 5, .equalities = 1, .c = c, .a_eq = a, .b_eq = b, .lo = lo, .hi = hi};
  S2LpSolution s = solve_lp(&lp);
  // The free one gives the row a price of -1: x4 has the same price, the others go to their bounds.
  assert_int_equal(s.status, S2_SOLVED);
  assert_true(fabs(s.x[0] - 2) <= EXACT && fabs(s.x[2] - 4) <= EXACT);
  assert_true(fabs(s.x[1] + s.x[3] - 3) <= EXACT && fabs(s.x[4] - 1) <= EXACT);
  assert_true(fabs(s.objective - (2 + 3 - 4 - 2)) <= EXACT);
  for (int i = 0; i < 5; ++i) {
    assert_true(fabs(c[i] + a[i] * s.y[0] - s.lower[i] + s.upper[i]) <= EXACT);
  }
  assert_true(fabs(s.upper[2] - 2) <= EXACT && fabs(s.upper[4] - 3) <= EXACT);

  const double crossed[] = {1, -INFINITY, -INFINITY, -3, 2};
  lp.lo = crossed;
  assert_int_equal(solve_lp(&lp).status, S2_INFEASIBLE);
}

static void unbounded_programs(void **state) {
  (void)state;
  const double c[] = {-1, 1}, a[] = {1, -1}, b[] = {1}, lo[] = {0, 0};
  S2LpSolution s = solve_lp(&(S2Lp){.n = 2, .c = c, .lo = lo});
  assert_true(s.status == S2_INFEASIBLE && s.unbounded);
  s = solve_lp(&(S2Lp){.n = 2, .inequalities = 1, .c = c, .a_ub = a, .b_ub = b, .lo = lo});
  assert_int_equal(s.status, S2_SOLVED); // c is parallel to the row
  assert_true(fabs(s.objective + 1) <= EXACT);
}

// ---- derivatives ------------------------------------------------------------------------------

// w' (x, y, z) of the solution; NaN when there is none.
static double loss(Case *c, const double *w) {
  if (solve(c) != S2_SOLVED) {
    return NAN;
  }
  int n = c->qp.n, e = c->qp.equalities;
  return dot(w, c->x, n) + dot(w + n, c->y, e) + dot(w + n + e, c->z, c->qp.inequalities);
}

static void check_block(Case *c, const double *w, double *data, const double *gradient, int count) {
  static const double step = 1e-5;
  for (int i = 0; i < count; ++i) {
    double kept = data[i];
    data[i] = kept + step;
    double above = loss(c, w);
    data[i] = kept - step;
    double below = loss(c, w);
    data[i] = kept;
    double expected = (above - below) / (2 * step);
    // Truncation is about step^2 times third derivatives, which grow with the gradient's cube.
    if (!(fabs(gradient[i] - expected) <= 1e-6 * fmax(1, fabs(expected)))) {
      fail_msg("derivative %.12g, central difference %.12g", gradient[i], expected);
    }
  }
}

static void derivatives_agree_with_central_differences(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(5);
  double largest = 0;
  for (int k = 0; k < S2_FEWER(250, 50); ++k) {
    int n = (int)s2_rng_integer(&rng, 2, 5), e = (int)s2_rng_integer(&rng, 0, 1);
    int m = (int)s2_rng_integer(&rng, 1, 4), free_ = n - e;
    int active = (int)s2_rng_integer(&rng, 0, m < free_ ? m : free_);
    Case *c = make(n, e, m);
    double x[MAX_N], y[MAX_E], z[MAX_M], w[3 * MAX_N];
    make_curvature(&rng, c, n);
    for (int i = 0; i < n; ++i) {
      c->p[i * n + i] += 1;
    }
    make_answer(&rng, c, active, x, y, z);
    assert_int_equal(solve(c), S2_SOLVED);
    fill(&rng, w, n + e + m);
    double p[25], q[5], a[5], b[1], g[20], h[4];
    S2Arena arena;
    s2_arena_init(&arena);
    bool regular = s2_qp_vjp(&c->qp, &c->solution, w, w + n, w + n + e,
                             &(S2QpGradient){p, q, a, b, g, h}, &arena);
    s2_arena_free(&arena);
    assert_true(regular);
    check_block(c, w, c->p, p, n * n);
    check_block(c, w, c->q, q, n);
    check_block(c, w, c->a, a, e * n);
    check_block(c, w, c->b, b, e);
    check_block(c, w, c->g, g, m * n);
    check_block(c, w, c->h, h, m);
    for (int i = 0; i < m; ++i) {
      largest = fmax(largest, fabs(h[i]));
    }
    free(c);
  }
  assert_true(largest > 0.1);
}

// A row given twice: x depends on either, by half each in the solution of least norm.
static void derivatives_with_redundant_rows(void **state) {
  (void)state;
  Case *c = make(1, 0, 2);
  c->p[0] = c->g[0] = c->g[1] = 1;
  c->q[0] = -3;
  c->h[0] = c->h[1] = 2;
  assert_int_equal(solve(c), S2_SOLVED);
  double h[2], q[1];
  S2Arena arena;
  s2_arena_init(&arena);
  S2QpGradient gradient = {.q = q, .h = h};
  assert_false(s2_qp_vjp(&c->qp, &c->solution, (double[]){1}, NULL, NULL, &gradient, &arena));
  s2_arena_free(&arena);
  assert_close(h, (double[]){0.5, 0.5}, 2, EXACT);
  assert_close(q, (double[]){0}, 1, EXACT);
  free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_programs_have_their_answer),
      cmocka_unit_test(degenerate_programs_are_solved),
      cmocka_unit_test(small_programs_agree_with_enumeration),
      cmocka_unit_test(equalities_only_are_a_linear_system),
      cmocka_unit_test(rows_without_bound_do_not_count),
      cmocka_unit_test(programs_without_unknowns),
      cmocka_unit_test(what_is_not_convex_or_finite_is_refused),
      cmocka_unit_test(extreme_sizes_of_numbers),
      cmocka_unit_test(huge_bounds_excuse_nothing),
      cmocka_unit_test(the_record_and_the_cap_of_iterations),
      cmocka_unit_test(beales_example),
      cmocka_unit_test(klee_minty_cubes),
      cmocka_unit_test(bounds_of_every_kind),
      cmocka_unit_test(unbounded_programs),
      cmocka_unit_test(derivatives_agree_with_central_differences),
      cmocka_unit_test(derivatives_with_redundant_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
