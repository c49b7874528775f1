// Linear systems of bilateral rows: every method compared with LAPACK on random systems, with the
// solver of step problems on chains and loops, and on systems without a solution or with invalid
// data.
#include "base/arena.h"
#include "base/rng.h"
#include "mcp/kkt/kkt.h"

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// ---- Systems with a known solution ------------------------------------------------------------

typedef struct Kind {
  const char *name;
  bool coupled;     // W has off-diagonal entries
  double ratio;     // ratio of the largest to the smallest mass
  double compliant; // share of the rows with C > 0
  double redundant; // share of the rows that combine earlier ones
} Kind;

static const Kind KINDS[] = {
    {"plain", false, 1, 0, 0},        {"coupled", true, 10, 0, 0},
    {"compliant", false, 10, 1, 0},   {"partly compliant", true, 10, 0.5, 0},
    {"redundant", false, 10, 0, 0.4}, {"redundant and coupled", true, 10, 0.2, 0.4},
    {"heavy", false, 1e6, 0, 0},      {"heavy and redundant", false, 1e6, 0.2, 0.3},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS, SEEDS = 50, LARGEST = 60 };

typedef struct Case {
  S2Kkt kkt;
  double *w, *j, *compliance, *c, *b; // dense, row-major
  double *v;                          // the solution
} Case;

static double signed_uniform(S2Rng *rng) {
  return 2 * s2_rng_uniform(rng) - 1;
}

// W: a diagonal in the range of the masses and, when coupled, off-diagonal entries below half of
// it.
static void fill_w(Case *c, const Kind *kind, S2Rng *rng) {
  int n = c->kkt.n;
  for (int i = 0; i < n; i++) {
    c->w[i * n + i] = pow(kind->ratio, s2_rng_uniform(rng));
  }
  for (int k = 0; kind->coupled && k < 2 * n; k++) {
    int i = (int)s2_rng_integer(rng, 0, n - 1), j = (int)s2_rng_integer(rng, 0, n - 1);
    if (i != j && c->w[i * n + j] == 0) {
      double part = signed_uniform(rng) / (2 * n);
      c->w[i * n + j] = c->w[j * n + i] = part * sqrt(c->w[i * n + i] * c->w[j * n + j]);
    }
  }
}

// Rows on two bodies of three unknowns each, like joints; some rows combine two earlier ones.
static void fill_j(Case *c, const Kind *kind, S2Rng *rng) {
  int n = c->kkt.n, bodies = (n + 2) / 3;
  for (int k = 0; k < c->kkt.m; k++) {
    double *row = c->j + k * n;
    if (k >= 2 && s2_rng_uniform(rng) < kind->redundant) {
      double x = signed_uniform(rng), y = signed_uniform(rng);
      int a = (int)s2_rng_integer(rng, 0, k - 1), b = (int)s2_rng_integer(rng, 0, k - 1);
      for (int i = 0; i < n; i++) {
        row[i] = x * c->j[a * n + i] + y * c->j[b * n + i];
      }
    } else {
      for (int side = 0; side < 2; side++) {
        int body = (int)s2_rng_integer(rng, 0, bodies - 1);
        for (int i = 3 * body; i < 3 * body + 3 && i < n; i++) {
          row[i] = signed_uniform(rng);
        }
      }
      c->compliance[k] = s2_rng_uniform(rng) < kind->compliant ? s2_rng_uniform(rng) : 0;
    }
  }
}

static Case make_case(const Kind *kind, int n, int m, uint64_t seed, S2Arena *arena) {
  S2Rng rng = s2_rng_seeded(seed);
  Case c = {
      .w = S2_TAKE_ZEROED(arena, double, n *n),
      .j = S2_TAKE_ZEROED(arena, double, m *n),
      .compliance = S2_TAKE_ZEROED(arena, double, m),
      .c = S2_TAKE_ZEROED(arena, double, n),
      .b = S2_TAKE_ZEROED(arena, double, m),
      .v = S2_TAKE(arena, double, n),
  };
  c.kkt = (S2Kkt){.n = n, .m = m, .compliance = c.compliance, .c = c.c, .b = c.b};
  fill_w(&c, kind, &rng);
  if (n > 0) {
    fill_j(&c, kind, &rng);
  }
  for (int i = 0; i < n; i++) {
    c.v[i] = signed_uniform(&rng);
  }
  c.kkt.w = s2_csr_from_dense(n, n, c.w, arena);
  c.kkt.j = s2_csr_from_dense(m, n, c.j, arena);
  s2_csr_add_times(&c.kkt.w, 1, c.v, c.c);
  s2_csr_add_times(&c.kkt.j, -1, c.v, c.b);
  for (int k = 0; k < m; k++) {
    double lambda = signed_uniform(&rng);
    c.b[k] -= c.compliance[k] * lambda;
    for (int i = 0; i < n; i++) {
      c.c[i] -= c.j[k * n + i] * lambda;
    }
  }
  return c;
}

// v of the whole system by LAPACK's least squares, which accepts redundant rows, after scaling to a
// diagonal of 1.
static void solve_by_lapack(const Case *c, double *v, S2Arena *arena) {
  int n = c->kkt.n, m = c->kkt.m, size = n + m, rank;
  double *k = S2_TAKE_ZEROED(arena, double, size *size), *x = S2_TAKE(arena, double, size);
  double *unit = S2_TAKE(arena, double, size), *singular = S2_TAKE(arena, double, size);
  for (int i = 0; i < n; i++) {
    unit[i] = 1 / sqrt(c->w[i * n + i]);
  }
  for (int r = 0; r < m; r++) {
    double sum = c->compliance[r];
    for (int i = 0; i < n; i++) {
      sum += c->j[r * n + i] * unit[i] * c->j[r * n + i] * unit[i];
    }
    unit[n + r] = sum > 0 ? 1 / sqrt(sum) : 1;
  }
  for (int i = 0; i < size; i++) {
    for (int j = 0; j < size; j++) {
      double entry = 0;
      if (i < n && j < n) {
        entry = c->w[i * n + j];
      } else if (i < n) {
        entry = -c->j[(j - n) * n + i];
      } else if (j < n) {
        entry = c->j[(i - n) * n + j];
      } else if (i == j) {
        entry = c->compliance[i - n];
      }
      k[i * size + j] = entry * unit[i] * unit[j];
    }
    x[i] = (i < n ? c->c[i] : -c->b[i - n]) * unit[i];
  }
  assert_int_equal(
      LAPACKE_dgelsd(LAPACK_ROW_MAJOR, size, size, 1, k, size, x, 1, singular, 1e-13, &rank), 0);
  for (int i = 0; i < n; i++) {
    v[i] = x[i] * unit[i];
  }
}

// ---- Against LAPACK ---------------------------------------------------------------------------

// Tolerances of the methods here, and of v then: soft rows of heavy bodies amplify the remaining
// error.
static const double TIGHT = 1e-12, CLOSE = 1e-8;

static S2SolveStatus solve(const Case *c, S2KktSolver solver, double tolerance, S2Arena *arena,
                           S2KktSolution *solution) {
  S2KktOptions options = {.solver = solver, .tolerance = tolerance};
  size_t used = arena->used;
  S2SolveStatus status = s2_kkt_solve(&c->kkt, &options, arena, solution);
  assert_int_equal(status, solution->status);
  assert_int_equal(arena->used, used); // all of the memory was released
  return status;
}

// The largest error of both equations, from the dense matrices.
static double dense_miss(const Case *c, const double *v, const double *lambda) {
  int n = c->kkt.n, m = c->kkt.m;
  double miss = 0;
  for (int i = 0; i < n; i++) {
    double sum = -c->c[i];
    for (int j = 0; j < n; j++) {
      sum += c->w[i * n + j] * v[j];
    }
    for (int k = 0; k < m; k++) {
      sum -= c->j[k * n + i] * lambda[k];
    }
    miss = fmax(miss, fabs(sum / c->w[i * n + i]));
  }
  for (int k = 0; k < m; k++) {
    double sum = c->b[k] + c->compliance[k] * lambda[k];
    for (int i = 0; i < n; i++) {
      sum += c->j[k * n + i] * v[i];
    }
    miss = fmax(miss, fabs(sum));
  }
  return miss;
}

static void check_case(const Case *c, const char *name, int seed, S2KktSolver solver,
                       const double *lapack, double tolerance, S2Arena *arena) {
  double v[LARGEST], lambda[LARGEST];
  S2KktSolution solution = {.v = v, .lambda = lambda};
  S2SolveStatus status = solve(c, solver, tolerance, arena, &solution);
  double off = 0, scale = 0, miss = dense_miss(c, v, lambda);
  for (int i = 0; i < c->kkt.n; i++) {
    off = fmax(off, fmax(fabs(v[i] - c->v[i]), fabs(v[i] - lapack[i])));
    scale = fmax(scale, fabs(c->c[i] / c->w[i * c->kkt.n + i]));
  }
  for (int k = 0; k < c->kkt.m; k++) {
    scale = fmax(scale, fabs(c->b[k]));
  }
  // The equations again, summed independently: twice, because of the order of the sums.
  if (status != S2_SOLVED || !(solution.residual <= tolerance) || !(off <= CLOSE) ||
      !(miss <= 2 * tolerance * scale)) {
    fail_msg("%s, seed %d, %s: %s, residual %.1e, equations %.1e, velocities off by %.1e", name,
             seed, s2_kkt_solver_name(solver), s2_solve_status_name(status), solution.residual,
             miss / scale, off);
  }
}

static void test_methods_agree_with_lapack(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int kind = 0; kind < KIND_COUNT; kind++) {
    for (int seed = 1; seed <= SEEDS; seed++) {
      S2Rng rng = s2_rng_seeded((uint64_t)(1000 * kind + seed));
      int n = (int)s2_rng_integer(&rng, 1, LARGEST), m = (int)s2_rng_integer(&rng, 0, n);
      Case c = make_case(&KINDS[kind], n, m, (uint64_t)seed, &arena);
      double lapack[LARGEST];
      solve_by_lapack(&c, lapack, &arena);
      for (int solver = 0; solver < S2_KKT_SOLVER_COUNT; solver++) {
        check_case(&c, KINDS[kind].name, seed, (S2KktSolver)solver, lapack,
                   solver == S2_KKT_MINRES ? 10 * TIGHT : TIGHT, &arena);
      }
      s2_arena_reset(&arena);
    }
  }
  s2_arena_free(&arena);
}

// Schur complements with more rows than the dense method takes, and their result compared with the
// others'.
static void test_large_systems_in_blocks(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int kind = 0; kind < KIND_COUNT; kind++) {
    enum { N = 600, M = 300 };
    Case c = make_case(&KINDS[kind], N, M, 7, &arena);
    for (int solver = 0; solver < S2_KKT_SOLVER_COUNT; solver++) {
      double v[N], lambda[M];
      S2KktSolution solution = {.v = v, .lambda = lambda};
      assert_int_equal(solve(&c, (S2KktSolver)solver, 1e-10, &arena, &solution), S2_SOLVED);
      for (int i = 0; i < N; i++) {
        assert_true(fabs(v[i] - c.v[i]) <= 1e-7);
      }
    }
    s2_arena_reset(&arena);
  }
  s2_arena_free(&arena);
}

static void test_same_bits_twice(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Case c = make_case(&KINDS[7], 40, 30, 3, &arena);
  for (int solver = 0; solver < S2_KKT_SOLVER_COUNT; solver++) {
    double v[2][40], lambda[2][30];
    for (int k = 0; k < 2; k++) {
      S2KktSolution solution = {.v = v[k], .lambda = lambda[k]};
      solve(&c, (S2KktSolver)solver, 0, &arena, &solution);
    }
    assert_memory_equal(v[0], v[1], sizeof v[0]);
    assert_memory_equal(lambda[0], lambda[1], sizeof lambda[0]);
  }
  s2_arena_free(&arena);
}

// ---- Edges ------------------------------------------------------------------------------------

static void test_nothing_to_solve(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  static const Kind kind = {"edges", true, 10, 1, 0};
  for (int solver = 0; solver < S2_KKT_SOLVER_COUNT; solver++) {
    double v[5], lambda[5];
    S2KktSolution solution = {.v = v, .lambda = lambda};
    Case none = make_case(&kind, 0, 0, 1, &arena);
    assert_int_equal(solve(&none, (S2KktSolver)solver, 0, &arena, &solution), S2_SOLVED);
    Case rows = make_case(&kind, 0, 3, 1, &arena); // C lambda + b = 0 alone
    for (int k = 0; k < 3; k++) {
      rows.compliance[k] = 2;
      rows.b[k] = k + 1;
    }
    assert_int_equal(solve(&rows, (S2KktSolver)solver, 0, &arena, &solution), S2_SOLVED);
    for (int k = 0; k < 3; k++) {
      assert_true(fabs(lambda[k] + (k + 1) / 2.0) <= 1e-9);
    }
    Case free_motion = make_case(&kind, 5, 0, 1, &arena); // W v = c alone
    assert_int_equal(solve(&free_motion, (S2KktSolver)solver, 0, &arena, &solution), S2_SOLVED);
    for (int i = 0; i < 5; i++) {
      assert_true(fabs(v[i] - free_motion.v[i]) <= 1e-12);
    }
  }
  s2_arena_free(&arena);
}

// Two rows require different values of the same velocity: all methods that reach the best
// compromise give the proof, and none reports success.
static void test_contradictions_are_not_solved(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int seed = 1; seed <= 30; seed++) {
    enum { N = 12, M = 6 };
    Case c = make_case(&KINDS[0], N, M, (uint64_t)seed, &arena);
    for (int i = 0; i < N; i++) {
      c.j[(M - 1) * N + i] = 2 * c.j[i];
    }
    c.kkt.j = s2_csr_from_dense(M, N, c.j, &arena);
    c.b[M - 1] = 2 * c.b[0] + 1;
    for (int solver = 0; solver < S2_KKT_SOLVER_COUNT; solver++) {
      double v[N], lambda[M], y[M];
      S2KktSolution solution = {.v = v, .lambda = lambda, .proof = y};
      S2SolveStatus status = solve(&c, (S2KktSolver)solver, 0, &arena, &solution);
      assert_true(status == S2_INFEASIBLE || status == S2_MAX_ITERATIONS);
      assert_true(solution.residual > 1e-3);
      if (solver <= S2_KKT_SCHUR) {
        assert_int_equal(status, S2_INFEASIBLE);
      }
      if (status == S2_INFEASIBLE) {
        double along = 0, largest = 0, pull[N] = {0};
        for (int k = 0; k < M; k++) {
          along += c.b[k] * y[k];
          largest = fmax(largest, fabs(y[k]));
        }
        s2_csr_add_transposed_times(&c.kkt.j, 1, y, pull);
        assert_true(along > 0 && largest == 1);
        for (int i = 0; i < N; i++) {
          assert_true(fabs(pull[i]) <= 1e-7 * along);
        }
      }
    }
    s2_arena_reset(&arena);
  }
  s2_arena_free(&arena);
}

static void expect(Case *c, S2SolveStatus expected, S2Arena *arena) {
  c->kkt.w = s2_csr_from_dense(c->kkt.n, c->kkt.n, c->w, arena);
  c->kkt.j = s2_csr_from_dense(c->kkt.m, c->kkt.n, c->j, arena);
  for (int solver = 0; solver < S2_KKT_SOLVER_COUNT; solver++) {
    double v[LARGEST], lambda[LARGEST];
    S2KktSolution solution = {.v = v, .lambda = lambda};
    assert_int_equal(solve(c, (S2KktSolver)solver, 0, arena, &solution), expected);
    for (int i = 0; i < c->kkt.n; i++) {
      assert_true(isfinite(v[i]));
    }
  }
}

static void test_senseless_systems_are_refused(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  enum { N = 8, M = 4 };
  const double bad[] = {NAN, INFINITY};
  for (int k = 0; k < 2; k++) {
    for (int place = 0; place < 5; place++) {
      Case c = make_case(&KINDS[3], N, M, 1, &arena);
      double *const to[] = {c.w, c.j, c.compliance, c.c, c.b};
      to[place][0] = bad[k];
      expect(&c, S2_SINGULAR, &arena);
    }
  }
  Case c = make_case(&KINDS[1], N, M, 1, &arena);
  c.w[1] = 0.5;
  c.w[N] = -0.5;
  expect(&c, S2_UNSUPPORTED, &arena); // not symmetric
  c = make_case(&KINDS[0], N, M, 1, &arena);
  c.w[1] = c.w[N] = 2;
  expect(&c, S2_UNSUPPORTED, &arena); // indefinite within a block
  c = make_case(&KINDS[0], N, M, 1, &arena);
  c.w[4] = c.w[4 * N] = 2;
  expect(&c, S2_UNSUPPORTED, &arena); // and with an off-diagonal entry
  c = make_case(&KINDS[0], N, M, 1, &arena);
  c.w[0] = 0;
  expect(&c, S2_UNSUPPORTED, &arena);
  c = make_case(&KINDS[0], N, M, 1, &arena);
  c.compliance[1] = -1;
  expect(&c, S2_UNSUPPORTED, &arena);
  c = make_case(&KINDS[0], N, M, 1, &arena);
  memset(c.j, 0, sizeof(double) * N);
  c.b[0] = 1;
  c.kkt.j = s2_csr_from_dense(M, N, c.j, &arena);
  for (int solver = 0; solver <= S2_KKT_SCHUR; solver++) { // a row that nothing can move
    double v[N], lambda[M];
    S2KktSolution solution = {.v = v, .lambda = lambda};
    assert_int_equal(solve(&c, (S2KktSolver)solver, 0, &arena, &solution), S2_INFEASIBLE);
  }
  s2_arena_free(&arena);
}

static void test_limits_and_history(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Case c = make_case(&KINDS[6], 60, 40, 5, &arena);
  for (int solver = 0; solver < S2_KKT_SOLVER_COUNT; solver++) {
    double v[60], lambda[40];
    S2Iterate at[1000];
    S2History history = {.at = at, .capacity = 1000};
    S2KktOptions options = {.solver = (S2KktSolver)solver, .history = &history};
    S2KktSolution solution = {.v = v, .lambda = lambda};
    assert_int_equal(s2_kkt_solve(&c.kkt, &options, &arena, &solution), S2_SOLVED);
    assert_true(history.count > 0 && history.count == solution.iterations);
    assert_true(at[history.count - 1].residual < at[0].residual || history.count == 1);
    options.max_iterations = 1;
    options.tolerance = 1e-300;
    history.count = 0;
    assert_int_equal(s2_kkt_solve(&c.kkt, &options, &arena, &solution), S2_MAX_ITERATIONS);
    assert_int_equal(solution.iterations, 1);
    assert_int_equal(history.count, 1);
  }
  s2_arena_free(&arena);
}

// ---- Step problems ----------------------------------------------------------------------------

enum { NODES_MAX = 24, ROWS_MAX = 64 };

typedef struct Linkage {
  S2Problem problem;
  S2Row row[ROWS_MAX];
  double mass[3 * NODES_MAX], rhs[3 * NODES_MAX];
} Linkage;

static void add_hinge(Linkage *l, int a, int b, double xa, double ya, double xb, double yb) {
  for (int k = 0; k < 2; k++) {
    S2Row *row = &l->row[l->problem.rows];
    *row = (S2Row){.a = a, .b = b, .coupled_to = -1, .group = l->problem.rows / 2};
    row->lo = -INFINITY;
    row->hi = INFINITY;
    row->ja[0] = k == 0 ? -ya : xa;
    row->ja[1 + k] = 1;
    if (b >= 0) {
      row->jb[0] = k == 0 ? yb : -xb;
      row->jb[1 + k] = -1;
    }
    l->problem.rows++;
  }
}

// Links of length 1 hung from the ground; `closed` also hinges the last one to the ground, and
// `twice` repeats every third hinge. Masses increase and decrease by `ratio`.
static void make_linkage(Linkage *l, int nodes, bool closed, bool twice, double ratio, double soft,
                         uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  *l = (Linkage){.problem = {.nodes = nodes, .velocity_scale = 0.1, .length = 1}};
  l->problem.mass = l->mass;
  l->problem.rhs = l->rhs;
  l->problem.row = l->row;
  for (int i = 0; i < nodes; i++) {
    double mass = i % 2 == 0 ? 1 : ratio;
    l->mass[3 * i] = mass / 12;
    l->mass[3 * i + 1] = l->mass[3 * i + 2] = mass;
    for (int k = 0; k < 3; k++) {
      l->rhs[3 * i + k] = l->mass[3 * i + k] * signed_uniform(&rng);
    }
    double angle = 3 * signed_uniform(&rng), x = cos(angle) / 2, y = sin(angle) / 2;
    double other = 3 * signed_uniform(&rng), xo = cos(other) / 2, yo = sin(other) / 2;
    for (int k = 0; k < (twice && i % 3 == 0 ? 2 : 1); k++) {
      add_hinge(l, i, i - 1, -x, -y, xo, yo); // node -1 is the ground
    }
    if (closed && i == nodes - 1) {
      add_hinge(l, i, S2_GROUND, x, y, 0, 0);
    }
  }
  for (int i = 0; i < l->problem.rows; i++) {
    l->row[i].compliance = i % 4 < 2 ? soft : 0;
  }
}

// With a mass ratio of 1e6 impulses that are doubles leave 3e-9 (see below), and minres stops
// earliest: 1.1e-8, measured with exact sums.
enum { MINRES_AT_ROUNDING = 2 };

static void check_linkage(const Linkage *l, double tolerance, S2Arena *arena) {
  double v[3 * NODES_MAX] = {0}, lambda[ROWS_MAX] = {0};
  S2Solution expected = {.v = v, .lambda = lambda};
  S2SolverOptions options = {.tolerance = tolerance, .max_iterations = 50};
  assert_int_equal(s2_mcp_solve(&l->problem, &options, arena, &expected), S2_SOLVED);
  S2Kkt kkt;
  assert_true(s2_kkt_from_problem(&l->problem, arena, &kkt));
  double off_v[3 * NODES_MAX], off_lambda[ROWS_MAX];
  S2Rng rng = s2_rng_seeded(1);
  for (int i = 0; i < 3 * NODES_MAX; i++) {
    off_v[i] = signed_uniform(&rng);
  }
  for (int i = 0; i < ROWS_MAX; i++) {
    off_lambda[i] = signed_uniform(&rng);
  }
  double measured = s2_mcp_residual(&l->problem, off_v, off_lambda, arena).scaled;
  assert_true(fabs(s2_kkt_residual(&kkt, off_v, off_lambda, arena) - measured) <= 1e-12 * measured);
  for (int solver = 0; solver < S2_KKT_SOLVER_COUNT; solver++) {
    double x[3 * NODES_MAX], y[ROWS_MAX];
    S2KktSolution solution = {.v = x, .lambda = y};
    S2KktOptions tight = {.solver = (S2KktSolver)solver, .tolerance = tolerance};
    if (solver == S2_KKT_MINRES && tolerance > 1e-9) {
      tight.tolerance *= MINRES_AT_ROUNDING;
    }
    if (s2_kkt_solve(&kkt, &tight, arena, &solution) != S2_SOLVED) {
      fail_msg("%s: residual %.1e", s2_kkt_solver_name((S2KktSolver)solver), solution.residual);
    }
    S2Residual residual = s2_mcp_residual(&l->problem, x, y, arena);
    assert_true(residual.scaled <= 2 * tight.tolerance); // the sums differ by rounding
    for (int i = 0; i < 3 * l->problem.nodes; i++) {
      if (!(fabs(x[i] - v[i]) <= 1e-6)) {
        fail_msg("%s: v[%d] = %.12g, step solver %.12g", s2_kkt_solver_name((S2KktSolver)solver), i,
                 x[i], v[i]);
      }
    }
  }
}

static void test_step_problems_agree(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  // The rounding of an impulse that moves a mass of 1e6 moves a mass of 1 by 1e-9 of the scale.
  static const double ratios[] = {1, 1e-3, 1e6}, tolerances[] = {1e-10, 1e-10, 1e-8};
  for (int k = 0; k < 3 * 2 * 2 * 2 * 5; k++) {
    Linkage l;
    int nodes = 1 + k % 5 * 4;
    make_linkage(&l, nodes, k / 5 % 2, k / 10 % 2, ratios[k / 40], k / 20 % 2 * 0.1, (uint64_t)k);
    check_linkage(&l, tolerances[k / 40], &arena);
    s2_arena_reset(&arena);
  }
  s2_arena_free(&arena);
}

static void test_contacts_are_not_bilateral(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Linkage l;
  make_linkage(&l, 2, false, false, 1, 0, 1);
  l.row[1].lo = 0;
  S2Kkt kkt;
  assert_false(s2_kkt_from_problem(&l.problem, &arena, &kkt));
  s2_arena_free(&arena);
}

// ---- Sparse matrices --------------------------------------------------------------------------

static void test_triplets_are_summed_and_sorted(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  const S2Triplet triplet[] = {{1, 2, 1}, {0, 1, 2}, {1, 0, 3}, {1, 2, 4}, {0, 1, -2}};
  S2Csr a = s2_csr_from_triplets(3, 3, 5, triplet, &arena);
  const int32_t start[] = {0, 1, 3, 3}, column[] = {1, 0, 2};
  const double value[] = {0, 3, 5};
  assert_memory_equal(a.start, start, sizeof start);
  assert_memory_equal(a.column, column, sizeof column);
  assert_memory_equal(a.value, value, sizeof value);
  S2Csr t = s2_csr_transpose(&a, &arena);
  double x[] = {1, 2, 3}, y[3] = {1, 1, 1}, z[3] = {1, 1, 1}, back[3] = {1, 1, 1};
  s2_csr_add_times(&a, 2, x, y);
  assert_true(y[0] == 1 && y[1] == 37 && y[2] == 1);
  s2_csr_add_transposed_times(&a, 2, x, z);
  s2_csr_add_times(&t, 2, x, back);
  assert_true(z[0] == 13 && z[1] == 1 && z[2] == 21);
  assert_memory_equal(z, back, sizeof z);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_methods_agree_with_lapack),
      cmocka_unit_test(test_large_systems_in_blocks),
      cmocka_unit_test(test_same_bits_twice),
      cmocka_unit_test(test_nothing_to_solve),
      cmocka_unit_test(test_contradictions_are_not_solved),
      cmocka_unit_test(test_senseless_systems_are_refused),
      cmocka_unit_test(test_limits_and_history),
      cmocka_unit_test(test_step_problems_agree),
      cmocka_unit_test(test_contacts_are_not_bilateral),
      cmocka_unit_test(test_triplets_are_summed_and_sorted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
