// Proximal semismooth Newton (newton.c) without other methods. The first run has a large weight, as
// if the active set of the guess were nearly correct. The second run has a small weight. If it ends
// above the tolerance, Gauss-Seidel sweeps from the best point give the next start. The law is not
// monotone, so Newton may stall at a point from which its directions do not help.
#include "mcp/chain/solve_run.h"
#include "mcp/solvers.h"

// Settings for a start at which the active set is nearly known. This permits a large first weight.
static const S2NewtonWay warm_way = {
    .weight = 1e6, .outers = 3, .inners = 6, .most = S2_NEWTON_MOST};
// Maximum number of outer steps from each start, as a multiple of the caller's iteration limit.
enum { OUTERS_PER_ITERATION = 6 };
// Number of starts with a small weight. Gauss-Seidel sweeps run before all of them except the
// first.
enum { STARTS = 3, SWEEPS = 100 };

static void contact_newton_run(S2SolveRun *run, const S2NewtonWay *way) {
  double residual = s2_newton_solve(&run->system, way, run->tolerance, run->v, run->lambda,
                                    &run->iterations, run->arena);
  s2_run_keep(run, residual);
  s2_run_back(run);
}

S2SolveStatus s2_contact_newton_solve(const S2Problem *problem, const S2SolverOptions *options,
                                      S2Arena *arena, S2Solution *solution) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2SolveRun run = s2_run_begin(problem, options, solution, arena);
  if (!s2_run_solved(&run)) {
    s2_run_start(&run);
    s2_system_prepare(&run.system, arena);
    contact_newton_run(&run, &warm_way);
  }
  for (int start = 0; start < STARTS && !s2_run_solved(&run); start++) {
    if (start > 0) {
      s2_run_keep(&run, s2_pgs_solve(&run.system, SWEEPS, run.v, run.lambda, arena));
    }
    S2NewtonWay way = s2_newton_cold;
    way.outers = OUTERS_PER_ITERATION * options->max_iterations;
    contact_newton_run(&run, &way);
  }
  s2_run_end(&run, solution);
  s2_arena_rewind(arena, mark);
  return solution->status;
}
