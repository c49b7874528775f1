// Lemke's method as a stage, and the chain of methods for `auto` (see lcp.h).
#include "mcp/lcp/lcp_stages.h"
#include "mcp/mixed/mixed.h"

#include <math.h>
#include <string.h>

enum {
  QUICK_BLOCKS = 30, // maximum number of block moves; suitable problems take 3 to 10
};

// Improves the result of pivoting by an active-set walk from its end point. Pivoting measures all
// rows by the largest scaled -q_i, and treats 1e-16 of this value as 0. The walk measures each row
// by its own size.
static void lcp_auto_polish(S2LcpRun *run) {
  const S2LcpProblem *problem = run->problem;
  int n = problem->n;
  if (s2_lcp_residual(n, problem->m, problem->q, run->z, run->allowed) <= run->allowed) {
    return;
  }
  // Work on a copy, because the walk may fail.
  S2ArenaMark mark = s2_arena_mark(run->arena);
  S2Mixed p = s2_mixed_pairs(n, problem->m, problem->q, run->arena);
  double *x = S2_TAKE(run->arena, double, n);
  memcpy(x, run->z, sizeof(double) * (size_t)n);
  if (s2_mixed_walk(&p, &(S2Bounds){0}, x, run->arena)) {
    memcpy(run->z, x, sizeof(double) * (size_t)n);
  }
  s2_arena_rewind(run->arena, mark);
}

S2SolveStatus s2_lcp_lemke_stage(S2LcpRun *run) {
  const S2LcpProblem *problem = run->problem;
  S2ArenaMark mark = s2_arena_mark(run->arena);
  double *w = S2_TAKE(run->arena, double, problem->n);
  S2LcpOptions options = {
      .max_pivots = run->options->max_iterations,
      .history = run->options->history,
  };
  S2LcpInfo info;
  S2SolveStatus status = s2_lcp_lemke(problem->n, problem->m, problem->q, run->z, w, run->ray,
                                      &options, run->arena, &info);
  s2_arena_rewind(run->arena, mark);
  run->iterations = info.pivots;
  run->has_ray = status == S2_RAY;
  run->proved = info.infeasible;
  if (status == S2_SOLVED) {
    lcp_auto_polish(run);
  }
  return status;
}

// Runs a method of the chain and keeps the best point. Returns true if it solved the problem.
static bool lcp_auto_attempt(S2LcpRun *run, S2LcpSolver solver, S2LcpStage *stage,
                             int max_iterations, double *least, S2SolveStatus *claim) {
  int n = run->problem->n;
  // Start a separate run from z = 0, with the caller's iteration limit or else the given limit.
  S2ArenaMark mark = s2_arena_mark(run->arena);
  S2LcpSolverOptions options = *run->options;
  options.max_iterations = options.max_iterations > 0 ? options.max_iterations : max_iterations;
  S2LcpRun inner = *run;
  inner.options = &options;
  inner.iterations = 0;
  inner.z = S2_TAKE_ZEROED(run->arena, double, n);
  *claim = stage(&inner);
  run->iterations += inner.iterations;
  run->proved = inner.proved;
  if (inner.has_ray) {
    run->has_ray = true;
  }
  // Clip the point to z >= 0 and compute its residual, as for all methods.
  for (int i = 0; i < n; ++i) {
    inner.z[i] = fmax(0, inner.z[i]);
  }
  double residual = s2_lcp_residual(n, run->problem->m, run->problem->q, inner.z, run->allowed);
  if (residual < *least) {
    *least = residual;
    run->used = solver;
    memcpy(run->z, inner.z, sizeof(double) * (size_t)n);
  }
  s2_arena_rewind(run->arena, mark);
  return residual <= run->allowed;
}

static bool positive_diagonal(const S2LcpProblem *problem) {
  for (int i = 0; i < problem->n; ++i) {
    if (!(problem->m[(size_t)i * (size_t)problem->n + (size_t)i] > 0)) {
      return false;
    }
  }
  return true;
}

S2SolveStatus s2_lcp_auto_stage(S2LcpRun *run) {
  double least = INFINITY;
  S2SolveStatus claim, ended;
  // Block pivoting needs few iterations if M is a P matrix.
  if (positive_diagonal(run->problem) &&
      lcp_auto_attempt(run, S2_LCP_BPP, s2_lcp_bpp_stage, QUICK_BLOCKS, &least, &claim)) {
    return S2_SOLVED;
  }
  // If Lemke's method ends on a ray, the ray may prove that there is no solution.
  if (lcp_auto_attempt(run, S2_LCP_LEMKE, s2_lcp_lemke_stage, 0, &least, &ended)) {
    return S2_SOLVED;
  }
  if (run->proved) {
    run->used = S2_LCP_LEMKE;
    return S2_INFEASIBLE;
  }
  // For small problems, enumeration decides: it tries every set of positive z_i.
  if (run->problem->n <= S2_LCP_ENUMERATE_MAX) {
    if (lcp_auto_attempt(run, S2_LCP_ENUMERATE, s2_lcp_enumerate_stage, 0, &least, &claim)) {
      return S2_SOLVED;
    }
    if (claim == S2_INFEASIBLE) {
      run->used = S2_LCP_ENUMERATE;
      return claim;
    }
  }
  // Try further methods, the most promising first.
  if (lcp_auto_attempt(run, S2_LCP_LEMKE, s2_lcp_restart_stage, 0, &least, &claim) ||
      lcp_auto_attempt(run, S2_LCP_NEWTON, s2_lcp_newton_stage, 0, &least, &claim) ||
      lcp_auto_attempt(run, S2_LCP_PDIPM, s2_lcp_pdipm_stage, 0, &least, &claim) ||
      lcp_auto_attempt(run, S2_LCP_BPP, s2_lcp_bpp_stage, 0, &least, &claim)) {
    return S2_SOLVED;
  }
  return ended;
}
