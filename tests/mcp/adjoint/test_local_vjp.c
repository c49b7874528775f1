// Derivatives of step problems in the local form by the numbers in their rows, which contact
// problems given as matrices do not vary (test_contact_vjp.c).
#include "base/rng.h"
#include "mcp/contact/contact.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { CONTACTS = 5, ROWS = 2 * CONTACTS };

static const double AGREE = 1e-6; // relative error

typedef struct Rows {
  S2Problem problem;
  S2Row row[ROWS];
  double kappa;
  double v[3 * CONTACTS], lambda[ROWS], z[4 * ROWS], dv[3 * CONTACTS], dlambda[ROWS];
} Rows;

static double solve_rows(Rows *rows, bool *solved, S2Arena *arena) {
  S2SolverOptions options = {.solver = S2_SOLVER_PDIPM, .tolerance = 1e-12, .max_iterations = 50};
  rows->problem.row = rows->row;
  if (rows->kappa > 0) {
    options.tolerance = 3e-14;
    S2SmoothSolution at = {.v = rows->v, .lambda = rows->lambda, .z = rows->z};
    s2_mcp_smooth_solve(&rows->problem, rows->kappa, &options, arena, &at);
    *solved = *solved && at.residual <= 1e-12;
  } else {
    S2Solution at = {.v = rows->v, .lambda = rows->lambda};
    *solved = *solved && s2_mcp_solve(&rows->problem, &options, arena, &at) == S2_SOLVED;
  }
  double sum = 0;
  for (int i = 0; i < 3 * rows->problem.nodes; i++) {
    sum += rows->dv[i] * rows->v[i];
  }
  for (int i = 0; i < rows->problem.rows; i++) {
    sum += rows->dlambda[i] * rows->lambda[i];
  }
  return sum;
}

// The difference along one number of the rows, and its distance from one with longer steps.
static double row_slope(const Rows *base, const double *at, bool *good, S2Arena *arena) {
  double slope[3], step = 1e-4;
  for (int i = 0; i < 3; i++, step /= 4) {
    double sides[2];
    for (int side = 0; side < 2; side++) {
      Rows rows = *base;
      *(double *)((char *)&rows + ((const char *)at - (const char *)base)) +=
          side == 0 ? step : -step;
      sides[side] = solve_rows(&rows, good, arena);
    }
    slope[i] = (sides[0] - sides[1]) / (2 * step);
  }
  double b0 = slope[1] + (slope[1] - slope[0]) / 15, b1 = slope[2] + (slope[2] - slope[1]) / 15;
  *good = *good && fabs(b1 - b0) <= 1e-5 * (1 + fabs(b1)); // otherwise a contact changes its mode
  return b1 + (b1 - b0) / 255;
}

// Nodes of two lanes that all act on each other, not symmetrically.
static void make_rows(Rows *rows, uint64_t seed, S2Arena *arena) {
  S2Rng rng = s2_rng_seeded(seed);
  int nodes = (int)s2_rng_integer(&rng, 1, CONTACTS), n = 2 * nodes;
  double dense[ROWS * ROWS], q[ROWS], mu[CONTACTS];
  for (int i = 0; i < n * n; i++) {
    dense[i] = (i % (n + 1) == 0 ? 2 : 0) + 0.2 * s2_rng_normal(&rng);
  }
  for (int i = 0; i < n; i++) {
    q[i] = s2_rng_normal(&rng) - (i % 2 == 0 ? 0.5 : 0);
    mu[i / 2] = 0.1 + 0.7 * s2_rng_uniform(&rng);
  }
  S2Csr w = s2_csr_from_dense(n, n, dense, arena);
  S2ContactProblem contacts = {nodes, &w, q, mu};
  *rows = (Rows){.problem = s2_contact_step_problem(&contacts, arena),
                 .kappa = seed % 2 == 0 ? 0 : 1e-2};
  memcpy(rows->row, rows->problem.row, sizeof(S2Row) * (size_t)rows->problem.rows);
  for (int i = 0; i < rows->problem.rows; i++) {
    for (int k = 1; k < 3; k++) {
      rows->row[i].ja[k] += 0.2 * s2_rng_normal(&rng);
    }
    rows->row[i].bias = 0.1 * s2_rng_normal(&rng);
    rows->row[i].compliance = seed % 3 == 0 ? 0.1 : 0.01;
    rows->dlambda[i] = s2_rng_normal(&rng);
  }
  for (int i = 0; i < 3 * rows->problem.nodes; i++) {
    rows->dv[i] = s2_rng_normal(&rng);
  }
}

static void rows_of_the_local_form(void **state) {
  (void)state;
  static Rows rows;
  int checked[2] = {0};
  double worst = 0, ja[3 * ROWS], bias[ROWS], compliance[ROWS];
  S2McpGradient to = {.ja = ja, .bias = bias, .compliance = compliance};
  S2Arena arena;
  s2_arena_init(&arena);
  for (uint64_t seed = 1; seed <= 200; seed++) {
    s2_arena_reset(&arena);
    bool good = true;
    make_rows(&rows, seed, &arena);
    solve_rows(&rows, &good, &arena);
    S2SmoothSolution at = {.v = rows.v, .lambda = rows.lambda, .z = rows.z};
    unsigned flags =
        rows.kappa > 0
            ? s2_mcp_smooth_vjp(&rows.problem, rows.kappa, &at, rows.dv, rows.dlambda, &to, &arena)
            : s2_mcp_vjp(&rows.problem, rows.v, rows.lambda, rows.dv, rows.dlambda, &to, &arena);
    assert_int_equal(flags, 0);
    int i = (int)(seed / 2) % rows.problem.rows;
    const double *const data[] = {&rows.row[i].ja[1], &rows.row[i].ja[2], &rows.row[i].bias,
                                  &rows.row[i].compliance};
    const double found[] = {ja[3 * i + 1], ja[3 * i + 2], bias[i], compliance[i]};
    double largest = 1;
    for (int k = 0; k < 4; k++) {
      largest = fmax(largest, fabs(found[k]));
    }
    for (int k = 0; k < 4 && good; k++) {
      double error = fabs(row_slope(&rows, data[k], &good, &arena) - found[k]);
      worst = good ? fmax(worst, error / largest) : worst;
    }
    checked[seed % 2] += good;
  }
  print_message("%d exact, %d smooth, worst %.1e\n", checked[0], checked[1], worst);
  s2_arena_free(&arena);
  assert_true(checked[0] >= 80 && checked[1] >= 80 && worst <= AGREE);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_the_local_form)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
