// What the solvers of problems on their own say at the edges: nothing to solve, one unknown with
// any kind of number, rows of zeros, rows twice, and rows of 1e-150 beside rows of 1e150. The
// contract:
//
// - "solved" if and only if the residual as documented is at most the tolerance. It is measured
// here
//   anew, in long double, whose range (1e4932) none of these problems exhausts, with compensation.
// - nothing delivered is NaN or infinite, whatever the status.
// - data that are not finite are S2_SINGULAR.
// - "infeasible" only where there is no solution, "solved" only where there is one.
//
// Where a problem has a known answer and every row is measured by itself, the answer is compared.
#include "base/rng.h"
#include "mcp/contact.h"
#include "mcp/kkt.h"
#include "mcp/lcp.h"
#include "mcp/lp.h"
#include "mcp/mlcp.h"
#include "mcp/ncp.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef long double Long;

enum { MOST = 6 }; // unknowns of any problem here

static const double TOLERANCE = 1e-9;
// Residuals this close to the tolerance may be judged either way: rounding of the judge.
static const Long EDGE = 1e-3L;

static const double NUMBERS[] = {0, 1, -1, 1e-150, -1e-150, 1e150, -1e150};
static const double SIZES[] = {1e-150, 1, 1e150};
static const double M_OF_ONE[] = {-1,     0,           1e-150,          1, 1e150, -1e-150,
                                  -1e150, (double)NAN, (double)INFINITY};
enum { NUMBER_COUNT = 7, M_COUNT = 9 };

// right + row x, as exact as if summed with twice the digits.
static Long row_at(int size, const double *row, const double *x, double right) {
  Long sum = right, lost = 0;
  for (int j = 0; j < size; j++) {
    Long product = (Long)row[j] * x[j], next = sum + product, shadow = next - sum;
    lost += (sum - (next - shadow)) + (product - shadow) + fmal(row[j], x[j], -product);
    sum = next;
  }
  return sum + lost;
}

static Long larger(Long a, Long b) {
  return b > a || isnan(b) ? b : a;
}

static bool all_finite(const double *x, int count) {
  for (int i = 0; i < count; i++) {
    if (!isfinite(x[i])) {
      return false;
    }
  }
  return true;
}

// `miss`: the residual measured here, in parts of what is allowed.
static void check_judgement(const char *what, S2SolveStatus status, Long miss) {
  bool low = miss <= 1 - EDGE, high = !(miss <= 1 + EDGE);
  if ((status == S2_SOLVED && high) || (status != S2_SOLVED && low)) {
    fail_msg("%s: %s with %Lg of the allowed residual", what, s2_solve_status_name(status), miss);
  }
}

// ---- Linear complementarity -------------------------------------------------------------------

typedef struct Lcp {
  int n;
  double m[MOST * MOST], q[MOST];
  double z[MOST], w[MOST];
  char name[400];
} Lcp;

static void name_lcp(Lcp *p, const char *solver) {
  int at = snprintf(p->name, sizeof p->name, "%s M", solver);
  for (int i = 0; i < p->n * p->n; i++) {
    at += snprintf(p->name + at, sizeof p->name - (size_t)at, " %g", p->m[i]);
  }
  at += snprintf(p->name + at, sizeof p->name - (size_t)at, " q");
  for (int i = 0; i < p->n; i++) {
    at += snprintf(p->name + at, sizeof p->name - (size_t)at, " %g", p->q[i]);
  }
}

// max |min(z, w)| in parts of what is allowed
static Long lcp_miss(const Lcp *p) {
  Long worst = 0, size = 1;
  for (int i = 0; i < p->n; i++) {
    Long w = row_at(p->n, p->m + i * p->n, p->z, p->q[i]);
    worst = larger(worst, fabsl(fminl(w, p->z[i])));
    size = larger(size, fabsl(p->q[i]));
  }
  return worst / (TOLERANCE * size);
}

// kind 0: dense; 1: sparse
static S2SolveStatus solve_lcp(Lcp *p, S2LcpSolver solver, int kind, S2Arena *arena) {
  S2LcpSolverOptions options = {.solver = solver};
  S2LcpSolution solution = {.z = p->z, .w = p->w};
  S2LcpProblem dense = {p->n, p->m, p->q};
  S2Csr sparse = s2_csr_from_dense(p->n, p->n, p->m, arena);
  S2SolveStatus status = kind == 0 ? s2_lcp_solve(&dense, &options, arena, &solution)
                                   : s2_lcp_sparse_solve(&sparse, p->q, &options, arena, &solution);
  assert_int_equal(status, solution.status);
  name_lcp(p, s2_lcp_solver_name(solver));
  if (!all_finite(p->m, p->n * p->n) || !all_finite(p->q, p->n)) {
    assert_int_equal(status, S2_SINGULAR);
    assert_true(isnan(solution.residual) && all_finite(p->z, p->n));
    return status;
  }
  if (!all_finite(p->z, p->n) || !all_finite(p->w, p->n)) {
    fail_msg("%s: %s, not finite", p->name, s2_solve_status_name(status));
  }
  check_judgement(p->name, status, lcp_miss(p));
  return status;
}

static void lcp_of_one(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int k = 0; k < M_COUNT * NUMBER_COUNT * S2_LCP_SOLVER_COUNT * 2; k++) {
    S2LcpSolver solver = (S2LcpSolver)(k % S2_LCP_SOLVER_COUNT);
    int rest = k / S2_LCP_SOLVER_COUNT, kind = rest % 2;
    Lcp p = {.n = 1};
    p.m[0] = M_OF_ONE[rest / 2 % M_COUNT];
    p.q[0] = NUMBERS[rest / 2 / M_COUNT];
    s2_arena_reset(&arena);
    S2SolveStatus status = solve_lcp(&p, solver, kind, &arena);
    if (!isfinite(p.m[0])) {
      continue;
    }
    bool solvable = p.m[0] > 0 || p.q[0] >= -TOLERANCE;
    bool settles = solver == S2_LCP_AUTO || solver == S2_LCP_LEMKE || solver == S2_LCP_ENUMERATE;
    if (settles && solvable != (status == S2_SOLVED)) {
      fail_msg("%s: %s", p.name, s2_solve_status_name(status));
    }
    if (settles && !solvable && status != S2_INFEASIBLE && status != S2_RAY) {
      fail_msg("%s: %s", p.name, s2_solve_status_name(status));
    }
  }
  s2_arena_free(&arena);
}

// Unknowns that have nothing to do with each other, of any sizes: z_i = max(0, -q_i / M_ii).
static void lcp_mixed_diagonals(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(1);
  for (int k = 0; k < 2000; k++) {
    Lcp p = {.n = (int)s2_rng_integer(&rng, 2, 4)};
    for (int i = 0; i < p.n; i++) {
      p.m[i * (p.n + 1)] = SIZES[s2_rng_integer(&rng, 0, 2)];
      p.q[i] = NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
    }
    for (int solver = 0; solver < S2_LCP_SOLVER_COUNT; solver++) {
      for (int kind = 0; kind < 2; kind++) {
        s2_arena_reset(&arena);
        S2SolveStatus status = solve_lcp(&p, (S2LcpSolver)solver, kind, &arena);
        bool direct = solver <= S2_LCP_ENUMERATE;
        if (direct && status != S2_SOLVED) {
          fail_msg("%s: %s", p.name, s2_solve_status_name(status));
        }
        // The measure is in parts of max |q|: it asks for small z of those rows only.
        bool exactly = solver == S2_LCP_AUTO && kind == 0;
        for (int i = 0; i < p.n && exactly; i++) {
          double exact = fmax(0, -p.q[i] / p.m[i * (p.n + 1)]);
          if (!(fabs(p.z[i] - exact) <= 1e-12 * exact)) {
            fail_msg("%s: z[%d] = %g", p.name, i, p.z[i]);
          }
        }
      }
    }
  }
  s2_arena_free(&arena);
}

// Any numbers anywhere; rows of zeros and rows twice among them.
static void lcp_mixed(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(2);
  int solved = 0;
  for (int k = 0; k < 4000; k++) {
    Lcp p = {.n = (int)s2_rng_integer(&rng, 0, 4)};
    for (int i = 0; i < p.n * p.n; i++) {
      p.m[i] = NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
    }
    for (int i = 0; i < p.n; i++) {
      p.q[i] = NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
    }
    for (int j = 0; j < p.n && k % 4 < 2 && p.n > 1; j++) {
      p.m[j] = k % 4 == 0 ? 0 : p.m[p.n + j];
    }
    p.q[0] = k % 4 == 1 && p.n > 1 ? p.q[1] : p.q[0];
    bool found = false;
    for (int solver = 0; solver < S2_LCP_SOLVER_COUNT; solver++) {
      for (int kind = 0; kind < 2; kind++) {
        s2_arena_reset(&arena);
        S2SolveStatus status = solve_lcp(&p, (S2LcpSolver)solver, kind, &arena);
        found |= status == S2_SOLVED;
      }
    }
    solved += found;
  }
  print_message("%d of 4000 solved\n", solved);
  s2_arena_free(&arena);
}

// ---- Mixed problems, bounds -------------------------------------------------------------------

typedef struct Mlcp {
  int n, m; // k: [A C; D B] row-major, r: (a, b)
  double k[MOST * MOST], r[MOST], lo[MOST], hi[MOST];
  double x[MOST], w[MOST];
  bool bounded;
  char name[400];
} Mlcp;

// What counts as one in a row: its largest number, those of x counted as at least 1, but no more
// than `most`.
static Long row_unit(int size, const double *row, Long right, const double *x, Long most) {
  Long unit = fabsl(right);
  for (int j = 0; j < size; j++) {
    unit = larger(unit, fabsl((Long)row[j]) * fmaxl(1, fabsl((Long)x[j])));
  }
  return fminl(unit, most);
}

static Long in_parts(Long f, Long unit) {
  return f == 0 ? 0 : f / unit;
}

static Long mlcp_miss(const Mlcp *p) {
  int size = p->n + p->m;
  Long worst = 0, most = 1;
  for (int i = 0; i < size; i++) {
    most = larger(most, fabsl((Long)p->r[i]));
  }
  for (int i = 0; i < size; i++) {
    Long x = p->x[i], one = fmaxl(1, fabsl(x));
    Long f = in_parts(row_at(size, p->k + i * size, p->x, p->r[i]),
                      row_unit(size, p->k + i * size, p->r[i], p->x, most));
    if (i >= p->n) {
      Long lo = p->bounded ? p->lo[i - p->n] : 0;
      Long hi = p->bounded ? p->hi[i - p->n] : (Long)INFINITY;
      f = fmaxl((x - hi) / one, fminl((x - lo) / one, f));
    }
    worst = larger(worst, fabsl(f));
  }
  return worst / TOLERANCE;
}

static S2SolveStatus solve_mlcp(Mlcp *p, S2Arena *arena) {
  int n = p->n, m = p->m, size = n + m;
  double a[MOST * MOST], c[MOST * MOST], d[MOST * MOST], b[MOST * MOST];
  for (int i = 0; i < size; i++) {
    for (int j = 0; j < size; j++) {
      double *to = i < n ? (j < n ? &a[i * n + j] : &c[i * m + j - n])
                         : (j < n ? &d[(i - n) * n + j] : &b[(i - n) * m + j - n]);
      *to = p->k[i * size + j];
    }
  }
  S2Mlcp problem = {
      n, m, a, c, d, b, p->r, p->r + n, p->bounded ? p->lo : NULL, p->bounded ? p->hi : NULL};
  S2MlcpSolution solution = {.u = p->x, .v = p->x + n, .w = p->w};
  S2SolveStatus status = s2_mlcp_solve(&problem, NULL, arena, &solution);
  char *name = p->name;
  int at = snprintf(name, sizeof p->name, "n %d m %d K", n, m);
  for (int i = 0; i < size * size; i++) {
    at += snprintf(name + at, sizeof p->name - (size_t)at, " %g", p->k[i]);
  }
  for (int i = 0; i < size; i++) {
    at += snprintf(name + at, sizeof p->name - (size_t)at, "%s %g", i == 0 ? " r" : "", p->r[i]);
  }
  for (int i = 0; i < m && p->bounded; i++) {
    at += snprintf(name + at, sizeof p->name - (size_t)at, " [%g, %g]", p->lo[i], p->hi[i]);
  }
  if (!all_finite(p->k, size * size) || !all_finite(p->r, size)) {
    assert_int_equal(status, S2_SINGULAR);
    assert_true(isnan(solution.residual));
    return status;
  }
  if (!all_finite(p->x, size) || !all_finite(p->w, m)) {
    fail_msg("%s: %s, not finite", name, s2_solve_status_name(status));
  }
  check_judgement(name, status, mlcp_miss(p));
  return status;
}

static void mlcp_mixed(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(3);
  int bad = 0;
  static const double bounds[] = {0, 1, 1e150, 1e-150, (double)INFINITY};
  int solved = 0;
  for (int k = 0; k < 4000; k++) {
    Mlcp p = {.n = (int)s2_rng_integer(&rng, 0, 2),
              .m = (int)s2_rng_integer(&rng, 0, 2),
              .bounded = k % 2 == 0};
    int size = p.n + p.m;
    bool diagonal = k % 3 == 0;
    for (int i = 0; i < size; i++) {
      for (int j = 0; j < size; j++) {
        p.k[i * size + j] = !diagonal ? NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)]
                            : i == j  ? SIZES[s2_rng_integer(&rng, 0, 2)]
                                      : 0;
      }
      p.r[i] = NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
      p.lo[i] = -bounds[s2_rng_integer(&rng, 0, 4)];
      p.hi[i] = bounds[s2_rng_integer(&rng, 0, 4)];
    }
    s2_arena_reset(&arena);
    S2SolveStatus status = solve_mlcp(&p, &arena);
    solved += status == S2_SOLVED;
    for (int i = 0; i < size && diagonal; i++) {
      double free = -p.r[i] / p.k[i * size + i], exact = free;
      if (i >= p.n) {
        exact = p.bounded ? fmax(p.lo[i - p.n], fmin(p.hi[i - p.n], free)) : fmax(0, free);
      }
      if (!(fabs(p.x[i] - exact) <= 1e-9 * fmax(1, fabs(exact))) || status != S2_SOLVED) {
        print_message("%s: x[%d] = %g, %s\n", p.name, i, p.x[i], s2_solve_status_name(status));
        bad++;
        break;
      }
    }
  }
  print_message("%d of 4000 solved, %d bad\n", solved, bad);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lcp_of_one),
      cmocka_unit_test(lcp_mixed_diagonals),
      cmocka_unit_test(lcp_mixed),
      cmocka_unit_test(mlcp_mixed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
