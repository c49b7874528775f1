// Converts a step problem that has only bilateral rows to a linear system, and converts its
// solution back.
#include "mcp/kkt/kkt.h"
#include "mcp/solvers.h"

#include <math.h>

static int add_side(S2Triplet *triplet, int count, int row, int node, const double *j) {
  for (int k = 0; k < 3 && node >= 0; k++) {
    if (j[k] != 0) {
      triplet[count++] = (S2Triplet){row, 3 * node + k, j[k]};
    }
  }
  return count;
}

bool s2_kkt_from_problem(const S2Problem *problem, S2Arena *arena, S2Kkt *kkt) {
  int n = 3 * problem->nodes, m = problem->rows;
  // Equations only.
  for (int i = 0; i < m; i++) {
    const S2Row *row = &problem->row[i];
    if (row->coupled_to >= 0 || row->lo != -INFINITY || row->hi != INFINITY) {
      return false;
    }
  }
  double *compliance = S2_TAKE(arena, double, m), *b = S2_TAKE(arena, double, m);
  double *v_weight = S2_TAKE(arena, double, n), *row_weight = S2_TAKE(arena, double, m);
  *kkt = (S2Kkt){
      .n = n,
      .m = m,
      .w = s2_csr_diagonal(n, problem->mass, arena),
      .compliance = compliance,
      .c = problem->rhs,
      .b = b,
      .v_weight = v_weight,
      .row_weight = row_weight,
      .velocity_scale = problem->velocity_scale,
  };
  // Collect the nonzero entries of J and the weights of residuals. Angular residuals have the
  // weight L.
  S2Triplet *triplet = S2_TAKE(arena, S2Triplet, 6 * m);
  int count = 0;
  for (int i = 0; i < m; i++) {
    const S2Row *row = &problem->row[i];
    count = add_side(triplet, count, i, row->a, row->ja);
    count = add_side(triplet, count, i, row->b, row->jb);
    compliance[i] = row->compliance;
    b[i] = row->bias;
    row_weight[i] = s2_row_weight(problem, row);
  }
  for (int i = 0; i < n; i++) {
    v_weight[i] = i % 3 == 0 ? problem->length : 1;
  }
  kkt->j = s2_csr_from_triplets(m, n, count, triplet, arena);
  return true;
}

// ---- As a solver of step problems --------------------------------------------------------------

static const S2KktSolver METHODS[S2_LINEAR_COUNT] = {
    [S2_LINEAR_AUTO] = S2_KKT_LDL,       [S2_LINEAR_LDLT] = S2_KKT_LDL,
    [S2_LINEAR_CHOLESKY] = S2_KKT_SCHUR, [S2_LINEAR_CG] = S2_KKT_CG,
    [S2_LINEAR_MINRES] = S2_KKT_MINRES,
};

// The solver aims at this fraction of the tolerance, because velocities are recomputed from the
// impulses afterwards. This changes the residual of the rows.
static const double AIM = 0.1;

S2SolveStatus s2_linear_solve(const S2Problem *problem, const S2SolverOptions *options,
                              S2Arena *arena, S2Solution *solution) {
  S2Kkt kkt;
  solution->iterations = 0;
  if (problem->mobility != NULL || !s2_kkt_from_problem(problem, arena, &kkt)) {
    return s2_solver_refuse(problem, arena, solution);
  }
  S2KktOptions inner = {.solver = METHODS[options->linear],
                        .tolerance = AIM * options->tolerance,
                        .history = options->history};
  S2KktSolution found = {.v = solution->v, .lambda = solution->lambda};
  s2_kkt_solve(&kkt, &inner, arena, &found);
  solution->residual = s2_mcp_residual(problem, solution->v, solution->lambda, arena);
  solution->iterations = found.iterations;
  return solution->status = found.status;
}
