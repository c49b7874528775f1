// Linear systems of bilateral rows: every method against LAPACK on random systems, against the
// solver of step problems on chains and loops, and on what has no solution or no sense.
#include "base/arena.h"
#include "base/rng.h"
#include "mcp/kkt.h"

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
  bool coupled;     // W has entries beside its diagonal
  double ratio;     // of the largest to the smallest mass
  double compliant; // share of the rows with C > 0
  double redundant; // share of the rows that combine earlier ones
} Kind;

static const Kind KINDS[] = {
    {"plain", false, 1, 0, 0},       {"coupled", true, 10, 0, 0},
    {"compliant", false, 10, 1, 0},  {"partly compliant", true, 10, 0.5, 0},
    {"redundant", false, 10, 0, 0.4}, {"redundant and coupled", true, 10, 0.2, 0.4},
    {"heavy", false, 1e6, 0, 0},     {"heavy and redundant", false, 1e6, 0.2, 0.3},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS, SEEDS = 1000, LARGEST = 60 };

typedef struct Case {
  S2Kkt kkt;
  double *w, *j, *compliance, *c, *b; // dense, row-major
  double *v;                          // the solution
} Case;

static double signed_uniform(S2Rng *rng) {
  return 2 * s2_rng_uniform(rng) - 1;
}

// W: a diagonal in the range of the masses and, when coupled, less than half of it beside.
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

// v of the whole system by LAPACK's least squares, which bear redundant rows, after scaling to a
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
  assert_int_equal(LAPACKE_dgelsd(LAPACK_ROW_MAJOR, size, size, 1, k, size, x, 1, singular, 1e-13, &rank), 0);
  for (int i = 0; i < n; i++) {
    v[i] = x[i] * unit[i];
  }
}

static void test_experiment(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int kind = 0; kind < KIND_COUNT; kind++) {
    for (int solver = 0; solver < 2; solver++) {
      int solved = 0, iterations = 0, most = 0, status[6] = {0};
      double worst = 0, off = 0, lap = 0;
      for (int seed = 1; seed <= SEEDS; seed++) {
        S2Rng rng = s2_rng_seeded((uint64_t)(1000 * kind + seed));
        int n = (int)s2_rng_integer(&rng, 1, LARGEST), m = (int)s2_rng_integer(&rng, 1, n);
        Case c = make_case(&KINDS[kind], n, m, (uint64_t)seed, &arena);
        double v[LARGEST], lambda[LARGEST], lapack[LARGEST];
        S2KktSolution solution = {.v = v, .lambda = lambda};
        S2KktOptions options = {.solver = (S2KktSolver)solver, .tolerance = 1e-12};
        s2_kkt_solve(&c.kkt, &options, &arena, &solution);
        solve_by_lapack(&c, lapack, &arena);
        status[solution.status]++;
        solved += solution.status == S2_SOLVED;
        iterations += solution.iterations;
        most = solution.iterations > most ? solution.iterations : most;
        worst = fmax(worst, solution.residual);
        for (int i = 0; i < n; i++) {
          off = fmax(off, fabs(v[i] - c.v[i]));
          lap = fmax(lap, fabs(v[i] - lapack[i]));
        }
        s2_arena_reset(&arena);
      }
      printf("%-22s %-7s solved %d (%d %d %d %d %d), its %d most %d, worst %.1e, off %.1e %.1e\n", KINDS[kind].name,
             s2_kkt_solver_name((S2KktSolver)solver), solved, status[1], status[2], status[3], status[4], status[5], iterations / SEEDS, most,
             worst, off, lap);
    }
  }
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_experiment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
