// Solves sparse problems as step problems on nodes of three unknowns, with M as the mobility.
#include "linalg/double2.h"
#include "mcp/lcp/lcp.h"
#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

static const double DEFAULT_TOLERANCE = 1e-9;
static const double LEAST_TOLERANCE = 1e-14; // below this, residuals are rounding errors
enum { MAX_ITERATIONS = 50 };                // default limit of the interior-point method

static double sure_row(const S2Csr *m, const double *q, const double *z, int i) {
  S2Double2 sum = {q[i], 0};
  for (int32_t p = m->start[i]; p < m->start[i + 1]; p++) {
    sum = s2_double2_add(sum, s2_double2_product(m->value[p], z[m->column[p]]));
  }
  double plain = sum.hi + sum.lo;
  if (isfinite(plain)) {
    return plain;
  }
  plain = q[i]; // splitting into two doubles overflows above 1e300
  for (int32_t p = m->start[i]; p < m->start[i + 1]; p++) {
    plain += m->value[p] * z[m->column[p]];
  }
  return plain;
}

// Clips z, computes w, and returns the residual, or infinity if a number is not finite.
static double lcp_sparse_deliver(const S2Csr *m, const double *q, double *z, double *w) {
  double worst = 0;
  for (int i = 0; i < m->rows; i++) {
    z[i] = z[i] > 0 ? z[i] : 0;
  }
  for (int i = 0; i < m->rows; i++) {
    w[i] = sure_row(m, q, z, i);
    double miss = isfinite(z[i]) && isfinite(w[i]) ? fabs(fmin(z[i], w[i])) : INFINITY;
    worst = fmax(worst, miss);
  }
  return worst;
}

static S2Problem step_problem(const S2Csr *m, const double *q, double scale, S2Arena *arena) {
  int n = m->rows, nodes = (n + 2) / 3;
  double *rhs = S2_TAKE_ZEROED(arena, double, 3 * nodes);
  S2Row *row = S2_TAKE(arena, S2Row, n);
  memcpy(rhs, q, sizeof(double) * (size_t)n);
  // Unknown i is the impulse of a normal row on lane i % 3 of node i / 3, with A = M.
  for (int i = 0; i < n; i++) {
    row[i] = (S2Row){.a = i / 3, .b = S2_GROUND, .coupled_to = -1, .group = i, .hi = INFINITY};
    row[i].ja[i % 3] = 1;
  }
  return (S2Problem){.nodes = nodes,
                     .rows = n,
                     .rhs = rhs,
                     .row = row,
                     .mobility = s2_mobility_from_csr(m, 3, 0, NULL, arena),
                     .velocity_scale = scale,
                     .length = 1};
}

// Returns a tolerance for the scaled residual that guarantees max |min(z, w)| <= `allowed`. The two
// differ because the scaled residual measures M_ii z instead of z.
static double scaled_tolerance(const S2Problem *problem, double allowed, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  double *d = S2_TAKE(arena, double, problem->rows), least = 1;
  s2_mcp_delassus_diagonal(problem, d);
  for (int i = 0; i < problem->rows; i++) {
    least = d[i] > 0 ? fmin(least, d[i]) : least;
  }
  s2_arena_rewind(arena, mark);
  return fmax(LEAST_TOLERANCE, allowed * least / problem->velocity_scale);
}

static void solve_sparse(const S2Csr *m, const double *q, const S2LcpSolverOptions *options,
                         double largest, double allowed, S2Arena *arena, S2LcpSolution *solution) {
  S2Problem problem = step_problem(m, q, largest, arena);
  S2SolverOptions inner = {
      .solver = S2_SOLVER_PDIPM,
      .tolerance = scaled_tolerance(&problem, allowed, arena),
      .max_iterations = options->max_iterations > 0 ? options->max_iterations : MAX_ITERATIONS,
  };
  double *v = S2_TAKE(arena, double, 3 * problem.nodes);
  memcpy(v, problem.rhs, sizeof(double) * 3 * (size_t)problem.nodes);
  S2Solution found = {.v = v, .lambda = solution->z};
  solution->status = s2_mcp_solve(&problem, &inner, arena, &found);
  solution->iterations = found.iterations;
  solution->used = S2_LCP_PDIPM;
}

static S2SolveStatus solve_dense(const S2Csr *m, const double *q, const S2LcpSolverOptions *options,
                                 S2Arena *arena, S2LcpSolution *solution) {
  int n = m->rows, before = solution->iterations;
  double *dense = S2_TAKE_ZEROED(arena, double, (size_t)n *(size_t)n);
  for (int i = 0; i < n; i++) {
    for (int32_t p = m->start[i]; p < m->start[i + 1]; p++) {
      dense[(size_t)i * (size_t)n + (size_t)m->column[p]] += m->value[p];
    }
  }
  S2LcpProblem problem = {n, dense, q};
  s2_lcp_solve(&problem, options, arena, solution);
  solution->iterations += before;
  return solution->status;
}

S2SolveStatus s2_lcp_sparse_solve(const S2Csr *m, const double *q,
                                  const S2LcpSolverOptions *options, S2Arena *arena,
                                  S2LcpSolution *solution) {
  int n = m->rows;
  S2LcpSolverOptions chosen = options != NULL ? *options : (S2LcpSolverOptions){0};
  chosen.tolerance = chosen.tolerance > 0 ? chosen.tolerance : DEFAULT_TOLERANCE;
  *solution = (S2LcpSolution){
      .z = solution->z, .w = solution->w, .ray = solution->ray, .used = chosen.solver};
  if (n == 0) {
    return solution->status = S2_SOLVED;
  }
  // Return z = 0 unless a better point is found. Reject problems whose numbers are not all finite.
  memset(solution->z, 0, sizeof(double) * (size_t)n);
  if (!s2_all_finite(m->value, (size_t)m->start[n]) || !s2_all_finite(q, (size_t)n)) {
    memcpy(solution->w, q, sizeof(double) * (size_t)n);
    solution->residual = NAN;
    return solution->status = S2_SINGULAR;
  }
  // Accept solutions by the same criterion as for dense problems.
  double largest = 0;
  for (int i = 0; i < n; i++) {
    largest = fmax(largest, fabs(q[i]));
  }
  double allowed = chosen.tolerance * fmax(1, largest);
  S2ArenaMark mark = s2_arena_mark(arena);
  // Run the sparse chain first, and compute its residual in the caller's units.
  bool sparse = chosen.solver == S2_LCP_AUTO || chosen.solver == S2_LCP_PDIPM;
  if (sparse && largest > 0) {
    solve_sparse(m, q, &chosen, largest, allowed, arena, solution);
  }
  solution->residual = lcp_sparse_deliver(m, q, solution->z, solution->w);
  if (!isfinite(solution->residual)) { // some numbers are too large for a double
    memset(solution->z, 0, sizeof(double) * (size_t)n);
    solution->residual = lcp_sparse_deliver(m, q, solution->z, solution->w);
    solution->status = S2_SINGULAR;
  }
  // Use dense methods if the chain failed or if the caller chose a dense method.
  bool solved = solution->residual <= allowed;
  if (solved) {
    solution->status = S2_SOLVED;
  } else if (chosen.solver != S2_LCP_PDIPM) {
    if (n <= S2_LCP_DENSE_MAX) {
      solve_dense(m, q, &chosen, arena, solution);
    } else if (!sparse) {
      solution->status = S2_UNSUPPORTED;
    }
  }
  if (!solved && solution->status == S2_SOLVED && !(solution->residual <= allowed)) {
    solution->status = S2_MAX_ITERATIONS;
  }
  s2_arena_rewind(arena, mark);
  return solution->status;
}
