// Step problems with bilateral rows alone, by the methods of kkt.h.
#include "mcp/kkt/kkt.h"
#include "mcp/solvers.h"

static const S2KktSolver METHODS[S2_LINEAR_COUNT] = {
    [S2_LINEAR_AUTO] = S2_KKT_LDL,       [S2_LINEAR_LDLT] = S2_KKT_LDL,
    [S2_LINEAR_CHOLESKY] = S2_KKT_SCHUR, [S2_LINEAR_CG] = S2_KKT_CG,
    [S2_LINEAR_MINRES] = S2_KKT_MINRES,
};

// Of the tolerance: velocities are recomputed from the impulses afterwards, which moves the rows.
static const double AIM = 0.1;

S2SolveStatus s2_linear_solve(const S2Problem *problem, const S2SolverOptions *options,
                              S2Arena *arena, S2Solution *solution) {
  S2Kkt kkt;
  solution->iterations = 0;
  if (problem->mobility != NULL || !s2_kkt_from_problem(problem, arena, &kkt)) {
    solution->residual = s2_mcp_residual(problem, solution->v, solution->lambda, arena);
    return solution->status = S2_UNSUPPORTED;
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
