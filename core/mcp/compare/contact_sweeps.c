// The relaxation solvers without acceleration.
//
//
//   nsgs nonsmooth contact dynamics (Moreau 1999; Jean 1999): solves one contact at a time exactly,
//          in alternating order
//   pgs projected Gauss-Seidel: row by row in alternating order, over-relaxed by omega
//   si     sequential impulses (Catto 2005): row by row, tangents first, always forwards
#include "mcp/compare/relaxation.h"

static S2SolveStatus sweeps_solve(const S2Problem *problem, const S2SolverOptions *options,
                                  S2Arena *arena, S2Solution *solution, S2SweepRule rule,
                                  bool both_ways) {
  S2Relaxation run;
  double omega = options->omega == 0 ? 1 : options->omega;
  if (!(omega > 0 && omega < 2)) { // range of omega in which over-relaxation can converge
    return s2_solver_refuse(problem, arena, solution);
  }
  if (s2_relaxation_begin(&run, problem, options, arena, solution)) {
    do {
      for (int i = 0; i < S2_SWEEPS_PER_CHECK; i++) {
        s2_relaxation_sweep(&run, rule, omega, both_ways && i % 2 == 1);
      }
    } while (s2_relaxation_check(&run));
  }
  return s2_relaxation_end(&run, solution);
}

S2SolveStatus s2_contact_nsgs_solve(const S2Problem *problem, const S2SolverOptions *options,
                                    S2Arena *arena, S2Solution *solution) {
  S2SolverOptions plain = *options;
  plain.omega = 1;
  return sweeps_solve(problem, &plain, arena, solution, S2_SWEEP_BLOCKS, true);
}

S2SolveStatus s2_contact_pgs_solve(const S2Problem *problem, const S2SolverOptions *options,
                                   S2Arena *arena, S2Solution *solution) {
  return sweeps_solve(problem, options, arena, solution, S2_SWEEP_ROWS, true);
}

S2SolveStatus s2_contact_si_solve(const S2Problem *problem, const S2SolverOptions *options,
                                  S2Arena *arena, S2Solution *solution) {
  return sweeps_solve(problem, options, arena, solution, S2_SWEEP_IMPULSES, false);
}
