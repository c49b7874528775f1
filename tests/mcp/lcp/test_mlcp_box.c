// Mixed linear complementarity problems with bounds, lo <= v <= hi, compared with enumeration.
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
#include <string.h>

#include <cmocka.h>

enum { MAX = 8 };

typedef struct Case {
  S2Mlcp problem;
  double a_uu[MAX * MAX], c_uv[MAX * MAX], d_vu[MAX * MAX], b_vv[MAX * MAX], a[MAX], b[MAX];
  double lo[MAX], hi[MAX], u[MAX], v[MAX], w[MAX], proof_free[MAX], proof_row[MAX];
  S2MlcpSolution solution;
} Case;

static void set_up(Case *c, int n, int m) {
  memset(c, 0, sizeof *c);
  c->problem = (S2Mlcp){.n = n,
                        .m = m,
                        .a_uu = c->a_uu,
                        .c_uv = c->c_uv,
                        .d_vu = c->d_vu,
                        .b_vv = c->b_vv,
                        .a_free = c->a,
                        .b_row = c->b,
                        .lo = c->lo,
                        .hi = c->hi};
  c->solution = (S2MlcpSolution){
      .u = c->u, .v = c->v, .w = c->w, .proof_free = c->proof_free, .proof_row = c->proof_row};
}

static S2SolveStatus solve_at(Case *c, double kappa) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2MlcpOptions options = {.kappa = kappa};
  S2SolveStatus status = s2_mlcp_solve(&c->problem, &options, &arena, &c->solution);
  assert_int_equal(status, c->solution.status);
  assert_true(arena.used == 0);
  s2_arena_free(&arena);
  return status;
}

static S2SolveStatus solve(Case *c) {
  return solve_at(c, 0);
}

static double *entry(Case *c, int i, int j) {
  int n = c->problem.n, m = c->problem.m;
  if (i < n) {
    return j < n ? &c->a_uu[i * n + j] : &c->c_uv[i * m + j - n];
  }
  return j < n ? &c->d_vu[(i - n) * n + j] : &c->b_vv[(i - n) * m + j - n];
}

// Row i of K (u, v) + (a, b). Points far out in a flat valley need more digits than a double has.
static double row(Case *c, int i) {
  int n = c->problem.n, m = c->problem.m;
  long double sum = i < n ? c->a[i] : c->b[i - n];
  for (int j = 0; j < n + m; ++j) {
    sum += (long double)*entry(c, i, j) * (j < n ? c->u[j] : c->v[j - n]);
  }
  return (double)sum;
}

// The distance of (u, v) from a solution: by the definition, case by case.
static double miss_of(Case *c) {
  double miss = 0;
  for (int i = 0; i < c->problem.n; ++i) {
    miss = fmax(miss, fabs(row(c, i)));
  }
  for (int i = 0; i < c->problem.m; ++i) {
    double w = row(c, c->problem.n + i), v = c->v[i];
    double below = v - c->lo[i], above = c->hi[i] - v;
    miss = fmax(miss, fmax(-below, -above));
    miss = fmax(miss, fmin(fmax(below, 0), w));  // above lo, w may not be positive
    miss = fmax(miss, fmin(fmax(above, 0), -w)); // below hi, w may not be negative
  }
  return miss;
}

// ---- enumeration ------------------------------------------------------------------------------

// The states of a pair at a vertex of the set of solutions.
enum { AT_LO, AT_HI, INSIDE, LO_AND_ZERO, HI_AND_ZERO, STATES };

static bool solves_with(Case *c, unsigned states) {
  int n = c->problem.n, m = c->problem.m, rows[MAX], columns[MAX], height = 0, width = 0;
  memset(c->u, 0, sizeof c->u);
  memset(c->v, 0, sizeof c->v);
  for (int i = 0; i < n + m; ++i) {
    unsigned state = i < n ? INSIDE : states % STATES;
    states /= i < n ? 1 : STATES;
    bool at_lo = state == AT_LO || state == LO_AND_ZERO;
    if (state != AT_LO && state != AT_HI) {
      rows[height++] = i;
    }
    if (state == INSIDE) {
      columns[width++] = i;
    } else {
      c->v[i - n] = at_lo ? c->lo[i - n] : c->hi[i - n];
      if (!isfinite(c->v[i - n])) {
        return false;
      }
    }
  }
  if (width > 0) {
    double k[MAX * MAX], r[MAX];
    for (int i = 0; i < height; ++i) {
      r[i] = -row(c, rows[i]);
      for (int j = 0; j < width; ++j) {
        k[i * width + j] = *entry(c, rows[i], columns[j]);
      }
    }
    lapack_int rank, order[MAX] = {0};
    assert_int_equal(
        LAPACKE_dgelsy(LAPACK_ROW_MAJOR, height, width, 1, k, width, r, 1, order, 1e-11, &rank), 0);
    for (int j = 0; j < width; ++j) {
      *(columns[j] < n ? &c->u[columns[j]] : &c->v[columns[j] - n]) = r[j];
    }
  }
  return miss_of(c) <= 1e-9;
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

static void draw_bounds(S2Rng *rng, Case *c) {
  for (int i = 0; i < c->problem.m; ++i) {
    int kind = (int)s2_rng_integer(rng, 0, 4);
    c->lo[i] = kind == 1 || kind == 3 ? -INFINITY : (double)s2_rng_integer(rng, -3, 1);
    c->hi[i] = kind == 2 || kind == 3 ? INFINITY : (double)s2_rng_integer(rng, 1, 3);
    c->lo[i] = kind == 4 ? c->hi[i] : c->lo[i]; // constant
  }
}

// Small whole numbers: degenerate and singular problems of every kind.
static void draw(S2Rng *rng, Case *c, bool monotone) {
  int n = c->problem.n, size = n + c->problem.m, rank = (int)s2_rng_integer(rng, 0, size);
  double f[MAX * MAX], skew[MAX * MAX];
  for (int i = 0; i < MAX * MAX; ++i) {
    f[i] = (double)s2_rng_integer(rng, -2, 2);
    skew[i] = (double)s2_rng_integer(rng, -1, 1);
  }
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      double sum = skew[i * MAX + j] - skew[j * MAX + i];
      for (int k = 0; k < rank; ++k) {
        sum += f[i * MAX + k] * f[j * MAX + k];
      }
      *entry(c, i, j) = monotone ? sum : f[i * MAX + j];
    }
    *(i < n ? &c->a[i] : &c->b[i - n]) = (double)s2_rng_integer(rng, -3, 3);
  }
  draw_bounds(rng, c);
}

// The combination of rows is below 0 for every v within the bounds, but a solution would make it at
// least 0.
static void check_proof(Case *c) {
  static const double small = 1e-7;
  int n = c->problem.n, m = c->problem.m;
  double most = 0, rest[MAX];
  for (int i = 0; i < n + m; ++i) {
    double part = i < n ? c->proof_free[i] : c->proof_row[i - n];
    most += part * (i < n ? c->a[i] : c->b[i - n]);
    if (i >= n && part > 0) {
      assert_true(c->hi[i - n] == INFINITY); // w >= 0, or = 0 without bounds
    } else if (i >= n && part < 0) {
      assert_true(c->lo[i - n] == -INFINITY); // w <= 0, or = 0
    }
  }
  for (int j = 0; j < n + m; ++j) {
    rest[j] = 0;
    for (int i = 0; i < n + m; ++i) {
      rest[j] += *entry(c, i, j) * (i < n ? c->proof_free[i] : c->proof_row[i - n]);
    }
    double bound = j < n ? INFINITY : rest[j] > 0 ? c->hi[j - n] : c->lo[j - n];
    most += isfinite(bound) ? rest[j] * bound : 0;
  }
  assert_true(most < 0);
  for (int j = 0; j < n + m; ++j) {
    bool open = j < n || !isfinite(rest[j] > 0 ? c->hi[j - n] : c->lo[j - n]);
    assert_true(!open || fabs(rest[j]) <= -small * most);
  }
}

static void monotone_boxes_agree_with_enumeration(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(21);
  int count[2] = {0};
  for (int k = 0; k < 1500; ++k) {
    Case c;
    int m = (int)s2_rng_integer(&rng, 0, k % 100 == 0 ? 6 : 4);
    set_up(&c, (int)s2_rng_integer(&rng, 0, m > 4 ? 0 : 2), m);
    draw(&rng, &c, true);
    bool solvable = enumerate(&c);
    S2SolveStatus status = solve(&c);
    if (status != (solvable ? S2_SOLVED : S2_INFEASIBLE)) {
      fail_msg("problem %d: %s, enumeration says %s", k, s2_solve_status_name(status),
               solvable ? "solvable" : "not solvable");
    }
    if (solvable) {
      assert_true(miss_of(&c) <= 1e-10);
      assert_true(c.solution.residual <= 1e-9);
      for (int i = 0; i < m; ++i) {
        assert_true(c.v[i] >= c.lo[i] && c.v[i] <= c.hi[i]);
        assert_true(fabs(c.w[i] - row(&c, c.problem.n + i)) <= 1e-12);
      }
    } else {
      check_proof(&c);
    }
    count[solvable] += 1;
  }
  assert_true(count[0] > 100 && count[1] > 500);
}

static void boxes_of_any_kind_get_true_answers(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(22);
  int solvable = 0, solved = 0;
  for (int k = 0; k < 1500; ++k) {
    Case c;
    set_up(&c, (int)s2_rng_integer(&rng, 0, 2), (int)s2_rng_integer(&rng, 0, 4));
    draw(&rng, &c, false);
    bool has = enumerate(&c);
    S2SolveStatus status = solve(&c);
    solvable += has;
    if (status == S2_SOLVED) {
      solved += 1;
      assert_true(has);
      assert_true(miss_of(&c) <= 1e-8);
    } else if (status == S2_INFEASIBLE) {
      assert_false(has);
      check_proof(&c);
    }
  }
  assert_true(solvable > 1000);
  assert_int_equal(solved, solvable);
}

// ---- named cases ------------------------------------------------------------------------------

static void clipping(void **state) {
  (void)state;
  // w = v - t: the nearest number to t within the bounds
  static const double t[] = {-5, 0.5, 5, 7, -7}, expected[] = {-1, 0.5, 2, 7, -7};
  Case c;
  set_up(&c, 0, 5);
  for (int i = 0; i < 5; ++i) {
    c.b_vv[i * 5 + i] = 1;
    c.b[i] = -t[i];
    c.lo[i] = i < 3 ? -1 : -INFINITY;
    c.hi[i] = i < 3 ? 2 : INFINITY;
  }
  assert_int_equal(solve(&c), S2_SOLVED);
  for (int i = 0; i < 5; ++i) {
    assert_true(fabs(c.v[i] - expected[i]) <= 1e-12);
    assert_true(fabs(c.w[i] - (expected[i] - t[i])) <= 1e-12);
  }
  assert_true(c.solution.residual <= 1e-12 && c.solution.b_vio <= 1e-12);
}

static void bounds_far_from_zero(void **state) {
  (void)state;
  Case c;
  set_up(&c, 0, 1);
  c.b_vv[0] = 1;
  c.lo[0] = 1e8;
  c.hi[0] = 1e8 + 2;
  c.b[0] = -1e8 - 1;
  assert_int_equal(solve(&c), S2_SOLVED);
  assert_true(fabs(c.v[0] - (1e8 + 1)) <= 1e-7);
  c.b[0] = 0;
  assert_int_equal(solve(&c), S2_SOLVED);
  assert_true(c.v[0] == 1e8 && fabs(c.w[0] - 1e8) <= 1e-7);
}

static void malformed_bounds(void **state) {
  (void)state;
  Case c;
  set_up(&c, 0, 1);
  c.b_vv[0] = 1;
  c.lo[0] = 2;
  c.hi[0] = 1;
  assert_int_equal(solve(&c), S2_INFEASIBLE);
  c.lo[0] = NAN;
  assert_int_equal(solve(&c), S2_SINGULAR);
  assert_true(isnan(c.solution.residual));
  c.lo[0] = c.hi[0] = INFINITY;
  assert_int_equal(solve(&c), S2_SINGULAR);
  c.lo[0] = c.hi[0] = -INFINITY;
  assert_int_equal(solve(&c), S2_SINGULAR);
  c.problem.lo = NULL;
  c.hi[0] = 1;
  c.b[0] = -3;
  assert_int_equal(solve(&c), S2_SOLVED);
  assert_true(c.v[0] == 1 && c.w[0] == -2);
}

static void the_heap_is_left_alone(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(24);
  S2Arena arena;
  s2_arena_init(&arena);
  Case c;
  set_up(&c, 2, 4);
  draw(&rng, &c, false);
  for (int k = 0; k < 2; ++k) {
    s2_mlcp_solve(&c.problem, NULL, &arena, &c.solution);
    s2_arena_reset(&arena);
  }
  uint64_t before = s2_memory_count();
  s2_mlcp_solve(&c.problem, NULL, &arena, &c.solution);
  assert_true(s2_memory_count() == before);
  s2_arena_free(&arena);
}

// ---- the central path -------------------------------------------------------------------------

// w = kappa / (v - lo) - kappa / (hi - v), an equation each
static void the_central_path_of_boxes(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(25);
  static const double kappas[] = {1, 1e-2, 1e-4, 1e-7};
  for (int k = 0; k < 400; ++k) {
    Case c;
    set_up(&c, (int)s2_rng_integer(&rng, 0, 2), (int)s2_rng_integer(&rng, 0, 5));
    draw(&rng, &c, true);
    double kappa = kappas[k % 4];
    int size = c.problem.n + c.problem.m;
    for (int i = 0; i < size; ++i) {
      *entry(&c, i, i) += 1; // positive definite: there is a path
    }
    assert_int_equal(solve_at(&c, kappa), S2_SOLVED);
    assert_true(c.solution.kappa == kappa);
    assert_true(c.solution.b_vio <= 1e-3 * kappa && c.solution.residual <= 1e-9);
    for (int i = 0; i < size; ++i) {
      double lo = i < c.problem.n ? -INFINITY : c.lo[i - c.problem.n];
      double hi = i < c.problem.n ? INFINITY : c.hi[i - c.problem.n];
      double x = i < c.problem.n ? c.u[i] : c.v[i - c.problem.n], w = row(&c, i);
      if (lo == hi) {
        assert_true(x == lo);
        continue;
      }
      double expected = kappa / (x - lo) - kappa / (hi - x); // few digits close to a bound
      double digits = kappa / pow(x - lo, 2) + kappa / pow(hi - x, 2);
      assert_true(fabs(w - expected) <= 1e-12 + 1e-14 * digits);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(monotone_boxes_agree_with_enumeration),
      cmocka_unit_test(boxes_of_any_kind_get_true_answers),
      cmocka_unit_test(clipping),
      cmocka_unit_test(bounds_far_from_zero),
      cmocka_unit_test(malformed_bounds),
      cmocka_unit_test(the_heap_is_left_alone),
      cmocka_unit_test(the_central_path_of_boxes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
