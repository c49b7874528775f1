// Points of the central path, z o w = kappa, by the interior point of mixed problems: from its own
// start, then from next to a solution, which helps where the problem is not monotone.
#include "mcp/lcp/lcp_stages.h"
#include "mcp/mixed/mixed.h"

enum { MAX_ITERATIONS = 100 };

static bool lcp_path_judge(const S2Mixed *p, const S2LcpSolverOptions *options,
                           S2LcpSolution *solution) {
  s2_mixed_apply(p, solution->z, solution->w);
  solution->residual = s2_mixed_off_path(p, solution->z, solution->w, options->kappa);
  return solution->residual <= s2_mixed_path_tolerance(options->tolerance, options->kappa);
}

S2SolveStatus s2_lcp_path(const S2LcpProblem *problem, const S2LcpSolverOptions *options,
                          S2Arena *arena, S2LcpSolution *solution) {
  solution->residual = INFINITY;
  if (options->solver != S2_LCP_AUTO && options->solver != S2_LCP_PDIPM) {
    return S2_UNSUPPORTED;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Mixed p = s2_mixed_pairs(problem->n, problem->m, problem->q, arena);
  int most = options->max_iterations > 0 ? options->max_iterations : MAX_ITERATIONS;
  // The interior point, aimed at kappa from its own start.
  solution->used = S2_LCP_PDIPM;
  solution->iterations =
      s2_mixed_interior(&p, options->kappa, most, options->history, solution->z, arena);
  bool solved = lcp_path_judge(&p, options, solution);
  // From next to a solution, where a path with small kappa ends.
  if (!solved) {
    double *w = S2_TAKE(arena, double, problem->n);
    S2LcpSolution end = {.z = S2_TAKE(arena, double, problem->n), .w = w};
    if (s2_lcp_solve(problem, NULL, arena, &end) == S2_SOLVED) {
      s2_copy_numbers(solution->z, end.z, (size_t)problem->n);
      solution->iterations += end.iterations;
      solution->iterations +=
          s2_mixed_path_near(&p, options->kappa, most, options->history, solution->z, arena);
      solved = lcp_path_judge(&p, options, solution);
    }
  }
  s2_arena_rewind(arena, mark);
  return solved ? S2_SOLVED : S2_MAX_ITERATIONS;
}
