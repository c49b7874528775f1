// Times of the methods for linear complementarity problems.
//
//   bench_lcp [FILE.lcp ...]     the families below, or the files
//
// Symmetric positive definite problems (M = A A' / n + 1, half of the q_i negative) are compared
// with LAPACK's dposv of the same size, measured in the same run: the ratio can be compared between
// machines. On Murty's and Fathi's problems, plain Lemke with a covering vector of ones needs 2^n
// pivots; the library avoids this by equilibrating first. These problems are also hard for block
// pivoting. The stacks are boxes on the ground with two contacts and friction each, in the
// formulation of Stewart and Trinkle. Every time is the best of a few, in ms of this thread.
#include "bench.h"

#include "base/arena.h"
#include "base/rng.h"
#include "linalg/dense.h"
#include "mcp/lcp/lcp.h"

#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  REPEATS = 5,
  PGS_SWEEPS = 100000,
  SEED = 1,
};

static const double PATIENCE = 2000; // ms: a longer solve is not repeated

// ---- Measuring --------------------------------------------------------------------------------

static double time_dposv(const S2LcpProblem *problem) {
  int n = problem->n;
  size_t size = (size_t)n;
  double *a = take_doubles(size * size), *b = take_doubles(size), best = INFINITY;
  for (int k = 0; k < REPEATS; ++k) {
    memcpy(a, problem->m, sizeof(double) * size * size);
    memcpy(b, problem->q, sizeof(double) * size);
    double start = bench_ms();
    LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', n, 1, a, n, b, n);
    best = fmin(best, bench_ms() - start);
  }
  free(a);
  free(b);
  return best;
}

static void measure(const char *name, const S2LcpProblem *problem, bool definite) {
  size_t size = (size_t)problem->n;
  double *z = take_doubles(size), *w = take_doubles(size);
  double dposv = definite ? time_dposv(problem) : NAN;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int solver = 0; solver < S2_LCP_SOLVER_COUNT; ++solver) {
    if (solver == S2_LCP_ENUMERATE && problem->n > S2_LCP_ENUMERATE_MAX) {
      continue;
    }
    S2LcpSolverOptions options = {.solver = (S2LcpSolver)solver};
    options.max_iterations = solver == S2_LCP_PGS ? PGS_SWEEPS : 0;
    S2LcpSolution solution = {.z = z, .w = w};
    double best = INFINITY;
    for (int k = 0; k < REPEATS && (k == 0 || best < PATIENCE); ++k) {
      double start = bench_ms();
      s2_lcp_solve(problem, &options, &arena, &solution);
      best = fmin(best, bench_ms() - start);
      s2_arena_reset(&arena);
    }
    printf("%-16s %4d  %-9s %-14s %7d %9.1e %10.3f", name, problem->n,
           s2_lcp_solver_name((S2LcpSolver)solver), s2_solve_status_name(solution.status),
           solution.iterations, solution.residual, best);
    if (definite) {
      printf(" %8.2f", best / dposv);
    }
    printf("\n");
  }
  s2_arena_free(&arena);
  free(z);
  free(w);
}

// ---- Families ---------------------------------------------------------------------------------

static void definite(int n) {
  size_t size = (size_t)n;
  double *a = take_doubles(size * size), *m = take_doubles(size * size), *q = take_doubles(size);
  S2Rng rng = s2_rng_seeded(SEED);
  for (size_t i = 0; i < size * size; ++i) {
    a[i] = s2_rng_normal(&rng);
  }
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = i == j ? 1 : 0;
      for (size_t k = 0; k < size; ++k) {
        sum += a[i * size + k] * a[j * size + k] / n;
      }
      m[i * size + j] = m[j * size + i] = sum;
    }
    q[i] = s2_rng_normal(&rng);
  }
  S2LcpProblem problem = {n, m, q};
  measure("definite", &problem, true);
  free(a);
  free(m);
  free(q);
}

// Murty: upper triangle 2, diagonal 1, q_i = 2^i - 2^(n+1), i from 1. Fathi: the lower triangle
// times its transpose, which is symmetric positive definite, q = -1.
static void exponential(int n, bool fathi) {
  double *m = take_doubles((size_t)n * (size_t)n), *q = take_doubles((size_t)n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      int least = i < j ? i : j;
      m[i * n + j] = fathi ? (i == j ? 1 + 4 * i : 2 + 4 * least) : i == j ? 1 : i < j ? 2 : 0;
    }
    q[i] = fathi ? -1 : ldexp(1, i + 1) - ldexp(1, n + 1);
  }
  S2LcpProblem problem = {n, m, q};
  measure(fathi ? "fathi" : "murty", &problem, false);
  free(m);
  free(q);
}

// Boxes of side 1 and mass 1 on one another, pushed sideways at the top; h g = 1/6. Variables: the
// normal impulses, both directions of friction, the slack of the cone.
static void stack(int boxes, double friction) {
  int contacts = 2 * boxes, rows = 3 * contacts, n = 4 * contacts, columns = 3 * boxes;
  double *jacobian = take_doubles((size_t)rows * (size_t)columns),
         *v = take_doubles((size_t)columns);
  double *m = take_doubles((size_t)n * (size_t)n), *q = take_doubles((size_t)n);
  const double inertia = 1.0 / 6, push = 0.01;
  for (int b = 0; b < boxes; ++b) {
    v[3 * b + 1] = -1.0 / 6;
    v[3 * b] = b == boxes - 1 ? push : 0;
    for (int side = 0; side < 2; ++side) {
      int c = 2 * b + side;
      for (int upper = 0; upper < 2 && b - upper >= 0; ++upper) {
        // upper = 0: the box above the contact, 1: the one below
        double sign = upper == 0 ? 1 : -1, x = side == 0 ? -0.5 : 0.5, y = upper == 0 ? -0.5 : 0.5;
        double *normal = jacobian + c * columns + 3 * (b - upper);
        normal[1] = sign;
        normal[2] = sign * x;
        for (int way = 0; way < 2; ++way) {
          double *tangent = jacobian + ((1 + way) * contacts + c) * columns + 3 * (b - upper);
          double direction = way == 0 ? sign : -sign;
          tangent[0] = direction;
          tangent[2] = -direction * y;
        }
      }
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int c = 0; c < columns; ++c) {
      q[i] += jacobian[i * columns + c] * v[c];
    }
    for (int j = 0; j < rows; ++j) {
      for (int c = 0; c < columns; ++c) {
        double weight = c % 3 == 2 ? 1 / inertia : 1;
        m[i * n + j] += weight * jacobian[i * columns + c] * jacobian[j * columns + c];
      }
    }
  }
  for (int c = 0; c < contacts; ++c) {
    int slack = rows + c;
    m[slack * n + c] = friction;
    for (int way = 1; way < 3; ++way) {
      m[(way * contacts + c) * n + slack] = 1;
      m[slack * n + way * contacts + c] = -1;
    }
  }
  S2LcpProblem problem = {n, m, q};
  measure("stack", &problem, false);
  free(jacobian);
  free(v);
  free(m);
  free(q);
}

static void file(const char *path) {
  S2LcpProblem *problem;
  S2Status status = s2_lcp_read(path, &problem);
  if (status.code != S2_OK) {
    fprintf(stderr, "bench_lcp: %s\n", status.message);
    exit(1);
  }
  const char *name = strrchr(path, '/');
  measure(name != NULL ? name + 1 : path, problem, false);
  s2_lcp_free(problem);
}

int main(int count, char **arguments) {
  s2_dense_single_threaded();
  printf("%-16s %4s  %-9s %-14s %7s %9s %10s %8s\n", "problem", "n", "solver", "status", "its",
         "residual", "ms", "dposv");
  for (int i = 1; i < count; ++i) {
    file(arguments[i]);
  }
  if (count > 1) {
    return 0;
  }
  definite(50);
  definite(200);
  definite(500);
  exponential(10, false);
  exponential(14, false);
  exponential(14, true);
  exponential(100, true);
  stack(1, 0.5);
  stack(10, 0.5);
  stack(25, 0.5);
  return 0;
}
