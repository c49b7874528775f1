// The results of the solvers for single problems in extreme cases: empty problems, one unknown with
// any kind of number, rows of zeros, duplicate rows, and rows of 1e-150 next to rows of 1e150. The
// contract:
//
// - "solved" if and only if the residual as documented is at most the tolerance. It is measured
// here
//   again, in long double, whose range (1e4932) none of these problems exceeds, with compensation.
// - no result is NaN or infinite, whatever the status.
// - data that are not finite are S2_SINGULAR.
// - "infeasible" only where there is no solution, "solved" only where there is one.
//
// Where a problem has a known solution and every row is measured by itself, the result is compared
// with it.
#include "sanitized.h"

#include "base/rng.h"
#include "mcp/cone/ncp.h"
#include "mcp/contact/contact.h"
#include "mcp/kkt/kkt.h"
#include "mcp/lcp/lcp.h"
#include "mcp/mlcp/lp.h"
#include "mcp/mlcp/mlcp.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MIXED = S2_FEWER(4000, 300) }; // problems of numbers of any size

typedef long double Long;

static const double SUMMED = 1e-30; // relative rounding of a sum with twice the digits of a double

enum { MOST = 6 }; // unknowns of any problem here

static const double TOLERANCE = 1e-9;
// Residuals this close to the tolerance may have either status: rounding of this test.
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

// `miss`: the residual measured here, relative to the allowed one.
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

// max |min(z, w)| relative to the allowed value
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

// Independent unknowns of any sizes: z_i = max(0, -q_i / M_ii).
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
        // The measure is relative to max |q|: it requires small z of those rows only.
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

// Any numbers anywhere; rows of zeros and duplicate rows among them.
static void lcp_mixed(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(2);
  int solved = 0;
  for (int k = 0; k < MIXED; k++) {
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
  print_message("%d of %d solved\n", solved, (int)MIXED);
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

// The unit of a row: its largest number, where those of x count as at least 1, but no more than
// `most`.
static Long row_unit(int size, const double *row, Long right, const double *x, Long most) {
  Long unit = fabsl(right);
  for (int j = 0; j < size; j++) {
    unit = larger(unit, fabsl((Long)row[j]) * fmaxl(1, fabsl((Long)x[j])));
  }
  return fminl(unit, most);
}

// Is every term of a row in the range of doubles?
static bool fits(int size, const double *row, const double *x) {
  for (int j = 0; j < size; j++) {
    if (!isfinite(row[j] * x[j])) {
      return false;
    }
  }
  return true;
}

static Long largest_term(int size, const double *row, const double *x) {
  Long largest = 0;
  for (int j = 0; j < size; j++) {
    largest = larger(largest, fabsl((Long)row[j] * x[j]));
  }
  return largest;
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
  static const double bounds[] = {0, 1, 1e150, 1e-150, (double)INFINITY};
  int solved = 0;
  for (int k = 0; k < MIXED; k++) {
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
        fail_msg("%s: x[%d] = %g, %s", p.name, i, p.x[i], s2_solve_status_name(status));
      }
    }
  }
  print_message("%d of %d solved\n", solved, (int)MIXED);
  s2_arena_free(&arena);
}

// ---- Programs ---------------------------------------------------------------------------------

typedef struct Program {
  int n, e, m;
  double p[MOST * MOST], q[MOST], a[MOST * MOST], b[MOST], g[MOST * MOST], h[MOST];
  double x[MOST], y[MOST], z[MOST];
  char name[600];
} Program;

static void name_program(Program *p) {
  const struct {
    const char *what;
    const double *x;
    int count;
  } list[] = {{"P", p->p, p->n * p->n}, {"q", p->q, p->n},        {"A", p->a, p->e * p->n},
              {"b", p->b, p->e},        {"G", p->g, p->m * p->n}, {"h", p->h, p->m},
              {"x", p->x, p->n},        {"y", p->y, p->e},        {"z", p->z, p->m}};
  int at = 0;
  for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
    at += snprintf(p->name + at, sizeof p->name - (size_t)at, "%s ", list[k].what);
    for (int i = 0; i < list[k].count && at < 560; i++) {
      at += snprintf(p->name + at, sizeof p->name - (size_t)at, "%g ", list[k].x[i]);
    }
  }
}

// The optimality conditions as one square system, rows and unknowns (x, y, z).
static Long program_miss(const Program *p) {
  int n = p->n, e = p->e, m = p->m, size = n + e + m;
  double k[9 * MOST * MOST] = {0}, r[3 * MOST], x[3 * MOST];
  Long slope = 1, worst = 0;
  for (int i = 0; i < size; i++) {
    const double *row = i < n + e ? p->a + (i - n) * n : p->g + (i - n - e) * n;
    r[i] = i < n ? p->q[i] : i < n + e ? p->b[i - n] : p->h[i - n - e];
    x[i] = i < n ? p->x[i] : i < n + e ? p->y[i - n] : p->z[i - n - e];
    slope = i < n ? larger(slope, fabsl((Long)r[i])) : slope;
    for (int j = 0; j < n && r[i] != INFINITY; j++) {
      if (i < n) {
        k[i * size + j] = p->p[i * n + j];
      } else {
        k[i * size + j] = -row[j];
        k[j * size + i] = row[j];
      }
    }
  }
  for (int i = 0; i < size; i++) {
    if (r[i] == INFINITY) {
      continue;
    }
    Long most = i < n ? slope : fmaxl(1, fabsl((Long)r[i]));
    Long f = row_at(size, k + i * size, x, r[i]);
    if (!fits(size, k + i * size, x) || fabsl(f) > DBL_MAX) {
      return INFINITY;
    }
    f = in_parts(f, row_unit(size, k + i * size, r[i], x, most));
    worst = larger(worst, i < n + e ? fabsl(f) : fmaxl(-f, fminl(x[i] / slope, f)));
  }
  return worst / TOLERANCE;
}

static S2SolveStatus solve_program(Program *p, S2Arena *arena) {
  S2Qp problem = {p->n, p->e, p->m, p->p, p->q, p->a, p->b, p->g, p->h};
  S2QpSolution solution = {.x = p->x, .y = p->y, .z = p->z};
  S2SolveStatus status = s2_qp_solve(&problem, NULL, arena, &solution);
  name_program(p);
  bool finite = all_finite(p->x, p->n) && all_finite(p->y, p->e) && all_finite(p->z, p->m);
  if (!finite) {
    fail_msg("%s: %s, not finite", p->name, s2_solve_status_name(status));
  }
  if (status == S2_SINGULAR || status == S2_UNSUPPORTED) {
    assert_true(isnan(solution.residual));
  } else {
    check_judgement(p->name, status, program_miss(p));
  }
  return status;
}

// min p/2 x^2 + q x, g x <= g h: x = min(-q / p, h), whatever the sizes.
static void programs_of_one(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int k = 0; k < 9 * NUMBER_COUNT * 5 * M_COUNT; k++) {
    static const double right[] = {0, 1, -1, 1e150, -1e150};
    Program p = {.n = 1, .m = 1};
    p.p[0] = M_OF_ONE[k % 9];
    p.q[0] = NUMBERS[k / 9 % NUMBER_COUNT];
    p.h[0] = right[k / 9 / NUMBER_COUNT % 5];
    p.g[0] = M_OF_ONE[k / 9 / NUMBER_COUNT / 5];
    s2_arena_reset(&arena);
    S2SolveStatus status = solve_program(&p, &arena);
    if (!isfinite(p.p[0]) || !isfinite(p.g[0])) {
      assert_int_equal(status, S2_SINGULAR);
      continue;
    }
    if (p.p[0] < 0) {
      assert_int_equal(status, S2_UNSUPPORTED);
      continue;
    }
    if (p.p[0] > 0 && p.g[0] == 1) {
      double exact = fmin(-p.q[0] / p.p[0], p.h[0]);
      // Where P x is far above q the digits of the multiplier do not suffice to balance them.
      bool fits = fabs(exact) < 1e140 && fabs(p.p[0] * exact) <= 1e3 * fmax(1, fabs(p.q[0]));
      if (fits && (status != S2_SOLVED || !(fabs(p.x[0] - exact) <= 1e-9 * fmax(1, fabs(exact))))) {
        fail_msg("%s: %s", p.name, s2_solve_status_name(status));
      }
    }
    if (p.g[0] == 0 && p.h[0] < 0 && status != S2_INFEASIBLE) { // 0 <= -1
      fail_msg("%s: %s", p.name, s2_solve_status_name(status));
    }
  }
  s2_arena_free(&arena);
}

// Diagonal P of any sizes, between bounds of 1 or none, one of them twice and a row of zeros.
static void programs_mixed(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(4);
  int solved = 0;
  for (int k = 0; k < 2000; k++) {
    Program p = {.n = (int)s2_rng_integer(&rng, 0, 3)};
    for (int i = 0; i < p.n; i++) {
      p.p[i * (p.n + 1)] = SIZES[s2_rng_integer(&rng, 0, 2)];
      p.q[i] = NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
    }
    p.m = (int)s2_rng_integer(&rng, 0, p.n);
    for (int i = 0; i < p.m; i++) {
      // A multiplier counts as at least 1: a larger g would hide the error of the objective's row.
      p.g[i * p.n + i] = fmin(p.p[i * (p.n + 1)], SIZES[s2_rng_integer(&rng, 0, 2)]);
      p.h[i] = p.g[i * p.n + i]; // x_i <= 1
    }
    if (p.m > 0 && k % 3 == 0) {
      for (int j = 0; j < p.n; j++) {
        p.g[p.m * p.n + j] = p.g[j];
        p.g[(p.m + 1) * p.n + j] = 0;
      }
      p.h[p.m] = p.h[0];
      p.h[p.m + 1] = 0;
      p.m += 2;
    }
    s2_arena_reset(&arena);
    S2SolveStatus status = solve_program(&p, &arena);
    solved += status == S2_SOLVED;
    for (int i = 0; i < p.n && status == S2_SOLVED; i++) {
      double exact = -p.q[i] / p.p[i * (p.n + 1)];
      bool bound = p.m > i && p.g[i * p.n + i] != 0;
      exact = bound ? fmin(1, exact) : exact;
      if (!(fabs(p.x[i] - exact) <= 1e-9 * fmax(1, fabs(exact)))) {
        fail_msg("%s: x[%d]", p.name, i);
      }
    }
  }
  print_message("%d of 2000 solved\n", solved);
  s2_arena_free(&arena);
}

// Anything anywhere, also P = 0: linear programs.
static void programs_of_any_kind(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(5);
  int solved = 0;
  for (int k = 0; k < 3000; k++) {
    Program p = {.n = (int)s2_rng_integer(&rng, 0, 3),
                 .e = (int)s2_rng_integer(&rng, 0, 2),
                 .m = (int)s2_rng_integer(&rng, 0, 2)};
    for (int i = 0; i < p.n; i++) {
      p.p[i * (p.n + 1)] = k % 2 == 0 ? 0 : fabs(NUMBERS[s2_rng_integer(&rng, 0, 6)]);
      p.q[i] = NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
    }
    for (int i = 0; i < MOST * MOST; i++) {
      p.a[i] = NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
      p.g[i] = NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
    }
    for (int i = 0; i < MOST; i++) {
      p.b[i] = NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
      p.h[i] = k % 7 == 0 ? INFINITY : NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
    }
    s2_arena_reset(&arena);
    solved += solve_program(&p, &arena) == S2_SOLVED;
  }
  print_message("%d of 3000 solved\n", solved);
  s2_arena_free(&arena);
}

// ---- Equations --------------------------------------------------------------------------------

// W diagonal, J and C any; rows of zeros and duplicate rows (which agree, or contradict each
// other).
static void equations_mixed(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(6);
  int count[S2_KKT_SOLVER_COUNT] = {0};
  for (int k = 0; k < 2000; k++) {
    int n = (int)s2_rng_integer(&rng, 0, 3), m = (int)s2_rng_integer(&rng, 0, 3);
    double w[MOST], j[MOST * MOST], c[MOST], b[MOST], compliance[MOST];
    for (int i = 0; i < MOST; i++) {
      w[i] = k % 50 == 0 ? M_OF_ONE[s2_rng_integer(&rng, 0, 8)] : SIZES[s2_rng_integer(&rng, 0, 2)];
      c[i] = NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
      b[i] = NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
      compliance[i] = k % 3 == 0 ? SIZES[s2_rng_integer(&rng, 0, 2)] : 0;
    }
    for (int i = 0; i < m * n; i++) {
      j[i] = NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
    }
    for (int i = 0; i < n && m > 1 && k % 4 < 2; i++) {
      j[i] = k % 4 == 0 ? 0 : j[n + i];
    }
    for (int solver = 0; solver < S2_KKT_SOLVER_COUNT; solver++) {
      double v[MOST], lambda[MOST];
      s2_arena_reset(&arena);
      S2Kkt kkt = {.n = n, .m = m, .compliance = compliance, .c = c, .b = b};
      kkt.w = s2_csr_diagonal(n, w, &arena);
      kkt.j = s2_csr_from_dense(m, n, j, &arena);
      S2KktOptions options = {.solver = (S2KktSolver)solver};
      S2KktSolution solution = {.v = v, .lambda = lambda};
      S2SolveStatus status = s2_kkt_solve(&kkt, &options, &arena, &solution);
      assert_true(all_finite(v, n) && all_finite(lambda, m));
      count[solver] += status == S2_SOLVED;
      Long worst = 0, scale = 0, rounding = 0;
      bool bad = !all_finite(w, n);
      for (int i = 0; i < n; i++) {
        double column[MOST + 1], x[MOST + 1];
        for (int r = 0; r < m; r++) {
          column[r] = -j[r * n + i];
          x[r] = lambda[r];
        }
        column[m] = w[i];
        x[m] = v[i];
        worst = larger(worst, fabsl(row_at(m + 1, column, x, -c[i]) / w[i]));
        scale = larger(scale, fabsl(c[i] / (Long)w[i]));
        bad |= !(w[i] > 0) || !fits(m + 1, column, x);
        rounding = larger(rounding, largest_term(m + 1, column, x) / w[i]);
      }
      for (int i = 0; i < m; i++) {
        double row[MOST + 1], x[MOST + 1];
        for (int r = 0; r < n; r++) {
          row[r] = j[i * n + r];
          x[r] = v[r];
        }
        row[n] = compliance[i];
        x[n] = lambda[i];
        worst = larger(worst, fabsl(row_at(n + 1, row, x, b[i])));
        scale = larger(scale, fabsl((Long)b[i]));
        bad |= !fits(n + 1, row, x);
        rounding = larger(rounding, largest_term(n + 1, row, x));
      }
      Long miss = worst == 0 ? 0 : worst / (scale > 0 ? scale : 1) / TOLERANCE;
      char name[400];
      int at = snprintf(name, sizeof name, "%d: %s n %d m %d W, c", k,
                        s2_kkt_solver_name((S2KktSolver)solver), n, m);
      for (int i = 0; i < n; i++) {
        at += snprintf(name + at, sizeof name - (size_t)at, " %g %g ", w[i], c[i]);
      }
      for (int i = 0; i < m; i++) {
        at += snprintf(name + at, sizeof name - (size_t)at, "b C %g %g J", b[i], compliance[i]);
        for (int r = 0; r < n; r++) {
          at += snprintf(name + at, sizeof name - (size_t)at, " %g", j[i * n + r]);
        }
      }
      if (bad) {
        assert_int_not_equal(status, S2_SOLVED);
      } else if (scale < 1e300L && worst < 1e300L && rounding * SUMMED < worst) {
        // The residual is summed with twice the digits of a double, and is no more accurate than
        // that.
        check_judgement(name, status, miss);
      }
    }
  }
  print_message("of 2000 solved: ldl %d schur %d cg %d minres %d\n", count[0], count[1], count[2],
                count[3]);
  s2_arena_free(&arena);
}

// ---- Contact ----------------------------------------------------------------------------------

// u = W r + q measured as documented: velocities relative to max |q|.
static Long contact_miss(int contacts, const double *w, const double *q, const double *mu,
                         const double *r) {
  int size = 2 * contacts;
  Long worst = 0, scale = 0;
  for (int k = 0; k < contacts; k++) {
    const double *normal = w + (size_t)(2 * k * size), *tangent = normal + size;
    Long un = row_at(size, normal, r, q[2 * k]), ut = row_at(size, tangent, r, q[2 * k + 1]);
    Long wn = normal[2 * k], wt = tangent[2 * k + 1];
    Long bound = mu[k] * fmaxl(0, r[2 * k]), aim = r[2 * k + 1] - (wt > 0 ? ut / wt : 0);
    Long slip = r[2 * k + 1] - fmaxl(-bound, fminl(bound, aim));
    worst = larger(worst, larger(fabsl(fminl(wn * r[2 * k], un)), fabsl(slip * wt)));
    scale = larger(scale, larger(fabsl((Long)q[2 * k]), fabsl((Long)q[2 * k + 1])));
  }
  return worst == 0 ? 0 : worst / (scale > 0 ? scale : 1) / TOLERANCE;
}

// One to three independent contacts of any sizes; or copies of one contact, which is hyperstatic.
static void contacts_mixed(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(7);
  int count[S2_SOLVER_COUNT] = {0};
  for (int k = 0; k < 300; k++) {
    int n = (int)s2_rng_integer(&rng, 0, 3), size = 2 * n;
    double w[4 * MOST * MOST] = {0}, q[2 * MOST], mu[MOST];
    for (int i = 0; i < n; i++) {
      double one = SIZES[s2_rng_integer(&rng, 0, 2)];
      one = k % 40 == 0 ? M_OF_ONE[s2_rng_integer(&rng, 0, 8)] : one;
      mu[i] = i == 0 ? 0.5 : s2_rng_uniform(&rng);
      for (int t = 0; t < 2; t++) {
        q[2 * i + t] = NUMBERS[s2_rng_integer(&rng, 0, NUMBER_COUNT - 1)];
        w[(2 * i + t) * (size + 1)] = one;
      }
    }
    for (int i = 0; i < n && k % 3 == 0; i++) {
      for (int j = 0; j < n; j++) {
        w[2 * i * size + 2 * j] = w[(2 * i + 1) * size + 2 * j + 1] = w[0];
      }
      q[2 * i] = q[0];
      q[2 * i + 1] = q[1];
    }
    for (int solver = 0; solver < S2_SOLVER_PROGRAM; solver++) {
      double r[2 * MOST] = {0}, u[2 * MOST] = {0};
      s2_arena_reset(&arena);
      S2Csr matrix = s2_csr_from_dense(size, size, w, &arena);
      S2ContactProblem problem = {n, &matrix, q, mu};
      S2SolverOptions options = {
          .solver = (S2Solver)solver, .tolerance = TOLERANCE, .max_iterations = 50};
      S2ContactSolution solution = {.r = r, .u = u};
      S2SolveStatus status = s2_contact_solve(&problem, &options, &arena, &solution);
      char name[300];
      int at = snprintf(name, sizeof name, "%d: %s", k, s2_solver_name((S2Solver)solver));
      for (int i = 0; i < size; i++) {
        at += snprintf(name + at, sizeof name - (size_t)at, " w %g q %g r %g", w[i * (size + 1)],
                       q[i], r[i]);
      }
      count[solver] += status == S2_SOLVED;
      if (!all_finite(w, size * size)) {
        assert_int_equal(status, S2_SINGULAR);
        continue;
      }
      if (!all_finite(r, size) || !all_finite(u, size)) {
        fail_msg("%s: %s, not finite", name, s2_solve_status_name(status));
      }
      if (status == S2_UNSUPPORTED) {
        continue;
      }
      check_judgement(name, status, contact_miss(n, w, q, mu, r));
    }
  }
  for (int solver = 0; solver < S2_SOLVER_PROGRAM; solver++) {
    print_message("%s %d ", s2_solver_name((S2Solver)solver), count[solver]);
  }
  print_message("of 300 solved\n");
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lcp_of_one),
      cmocka_unit_test(lcp_mixed_diagonals),
      cmocka_unit_test(lcp_mixed),
      cmocka_unit_test(mlcp_mixed),
      cmocka_unit_test(programs_of_one),
      cmocka_unit_test(programs_mixed),
      cmocka_unit_test(programs_of_any_kind),
      cmocka_unit_test(equations_mixed),
      cmocka_unit_test(contacts_mixed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
