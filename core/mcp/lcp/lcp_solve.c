// The entry point of the solver. Performs the steps that all methods share, before and after the
// chosen method.
#include "mcp/lcp/lcp.h"

#include "linalg/dense.h"
#include "mcp/lcp/lcp_stages.h"
#include "mcp/mixed/mixed.h"

#include <math.h>
#include <string.h>

static const double DEFAULT_TOLERANCE = 1e-9;

static const struct {
  const char *name, *summary;
  S2LcpStage *stage;
} METHODS[S2_LCP_SOLVER_COUNT] = {
    [S2_LCP_AUTO] = {"auto", "block pivoting, then Lemke, then other methods", s2_lcp_auto_stage},
    [S2_LCP_LEMKE] = {"lemke", "complementary pivoting, lexicographic", s2_lcp_lemke_stage},
    [S2_LCP_BPP] = {"bpp", "block principal pivoting, for P-matrices", s2_lcp_bpp_stage},
    [S2_LCP_ENUMERATE] = {"enumerate", "checks every complementary basis, for at most 16 rows",
                          s2_lcp_enumerate_stage},
    [S2_LCP_PGS] = {"pgs", "projected Gauss-Seidel with over-relaxation", s2_lcp_pgs_stage},
    [S2_LCP_NEWTON] = {"newton", "semismooth Newton on the Fischer-Burmeister function",
                       s2_lcp_newton_stage},
    [S2_LCP_PDIPM] = {"pdipm", "interior-point method, for monotone problems", s2_lcp_pdipm_stage},
};

const char *s2_lcp_solver_name(S2LcpSolver solver) {
  return (unsigned)solver < S2_LCP_SOLVER_COUNT ? METHODS[solver].name : NULL;
}

const char *s2_lcp_solver_summary(S2LcpSolver solver) {
  return (unsigned)solver < S2_LCP_SOLVER_COUNT ? METHODS[solver].summary : NULL;
}

S2LcpSolver s2_lcp_solver_from_name(const char *name) {
  for (int i = 0; i < S2_LCP_SOLVER_COUNT; ++i) {
    if (strcmp(name, METHODS[i].name) == 0) {
      return (S2LcpSolver)i;
    }
  }
  return S2_LCP_SOLVER_COUNT;
}

// Clips z and computes its residual. Replaces z with zeros if results are too large for a double.
static void lcp_solve_deliver(const S2LcpProblem *problem, double allowed,
                              S2LcpSolution *solution) {
  int n = problem->n;
  for (int i = 0; i < n; ++i) {
    solution->z[i] = solution->z[i] > 0 ? solution->z[i] : 0;
  }
  // If the residual of z is not finite, use z = 0.
  solution->residual = s2_lcp_residual(n, problem->m, problem->q, solution->z, allowed);
  if (!isfinite(solution->residual)) {
    memset(solution->z, 0, sizeof(double) * (size_t)n);
    solution->residual = s2_lcp_residual(n, problem->m, problem->q, solution->z, allowed);
  }
  for (int i = 0; i < n; ++i) {
    solution->w[i] = s2_lcp_sure_row(n, problem->m, problem->q, solution->z, i, allowed);
  }
}

static S2SolveStatus lcp_solve_run_method(const S2LcpProblem *problem,
                                          const S2LcpSolverOptions *options, double allowed,
                                          S2Arena *arena, S2LcpSolution *solution) {
  S2ArenaMark mark = s2_arena_mark(arena);
  size_t size = sizeof(double) * (size_t)problem->n;
  S2LcpRun run = {
      .problem = problem,
      .options = options,
      .allowed = allowed,
      .arena = arena,
      .z = solution->z,
      .ray = S2_TAKE_ZEROED(arena, double, problem->n),
      .used = options->solver,
  };
  // Use one thread, because starting a second thread takes longer than solving these systems.
  s2_dense_single_threaded();
  S2SolveStatus claim = METHODS[options->solver].stage(&run);
  solution->used = run.used;
  solution->iterations = run.iterations;
  solution->has_ray = run.has_ray;
  if (run.has_ray && solution->ray != NULL) {
    memcpy(solution->ray, run.ray, size);
  }
  s2_arena_rewind(arena, mark);
  return claim;
}

// ---- Central path -----------------------------------------------------------------------------
// Points with z o w = kappa are found by the interior-point method for mixed problems. It starts
// from its usual start, then near a solution, which helps if the problem is not monotone.

enum { PATH_ITERATIONS = 100 };

static bool lcp_path_judge(const S2Mixed *p, const S2LcpSolverOptions *options,
                           S2LcpSolution *solution) {
  s2_mixed_apply(p, solution->z, solution->w);
  solution->residual = s2_mixed_off_path(p, solution->z, solution->w, options->kappa);
  return solution->residual <= s2_mixed_path_tolerance(options->tolerance, options->kappa);
}

static S2SolveStatus lcp_path(const S2LcpProblem *problem, const S2LcpSolverOptions *options,
                              S2Arena *arena, S2LcpSolution *solution) {
  solution->residual = INFINITY;
  if (options->solver != S2_LCP_AUTO && options->solver != S2_LCP_PDIPM) {
    return S2_UNSUPPORTED;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Mixed p = s2_mixed_pairs(problem->n, problem->m, problem->q, arena);
  int most = options->max_iterations > 0 ? options->max_iterations : PATH_ITERATIONS;
  // Run the interior-point method, aimed at kappa, from its usual start.
  solution->used = S2_LCP_PDIPM;
  solution->iterations =
      s2_mixed_interior(&p, options->kappa, most, options->history, solution->z, arena);
  bool solved = lcp_path_judge(&p, options, solution);
  // If that fails, start near a solution, where the path ends for small kappa.
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

// ---- Entry point ------------------------------------------------------------------------------

S2SolveStatus s2_lcp_solve(const S2LcpProblem *problem, const S2LcpSolverOptions *options,
                           S2Arena *arena, S2LcpSolution *solution) {
  int n = problem->n;
  S2LcpSolverOptions chosen = options != NULL ? *options : (S2LcpSolverOptions){0};
  chosen.tolerance = chosen.tolerance > 0 ? chosen.tolerance : DEFAULT_TOLERANCE;
  chosen.omega = chosen.omega > 0 ? chosen.omega : 1;
  *solution = (S2LcpSolution){
      .z = solution->z, .w = solution->w, .ray = solution->ray, .used = chosen.solver};
  solution->kappa = fmax(0, chosen.kappa);
  if (n == 0) {
    return solution->status;
  }
  // Return z = 0 unless a better point is found. Reject problems that are too large or not finite.
  memset(solution->z, 0, sizeof(double) * (size_t)n);
  memcpy(solution->w, problem->q, sizeof(double) * (size_t)n);
  if (n > S2_LCP_MAX) {
    solution->residual = NAN;
    return solution->status = S2_UNSUPPORTED;
  }
  if (!s2_all_finite(problem->m, (size_t)n * (size_t)n) || !s2_all_finite(problem->q, (size_t)n)) {
    solution->residual = NAN;
    return solution->status = S2_SINGULAR;
  }
  if (solution->kappa > 0) {
    return solution->status = lcp_path(problem, &chosen, arena, solution);
  }
  // z = 0 is a solution if no q_i is negative.
  double largest = 0;
  bool trivial = true;
  for (int i = 0; i < n; ++i) {
    largest = fmax(largest, fabs(problem->q[i]));
    trivial = trivial && problem->q[i] >= 0;
  }
  double allowed = chosen.tolerance * fmax(1, largest);
  S2SolveStatus claim = S2_SOLVED;
  if (!trivial) {
    claim = lcp_solve_run_method(problem, &chosen, allowed, arena, solution);
  }
  // The residual decides whether the problem is solved.
  lcp_solve_deliver(problem, allowed, solution);
  if (solution->residual <= allowed) {
    solution->status = S2_SOLVED;
    solution->has_ray = false; // a ray has no meaning if the problem is solved
  } else {
    // The method reported success, but rounding errors have ruined its result.
    solution->status = claim == S2_SOLVED ? S2_SINGULAR : claim;
  }
  return solution->status;
}
