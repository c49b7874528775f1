#include "mcp/contact/contact.h"

#include "mcp/contact/contact_form.h"
#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

static const double PATH = 1e-3; // required accuracy of the products, as a fraction of kappa

static S2SolveStatus contact_refuse(S2ContactSolution *solution, const S2SolverOptions *options,
                                    int contacts, S2SolveStatus status) {
  if (contacts > 0) {
    memset(solution->r, 0, sizeof(double) * 2 * (size_t)contacts);
    memset(solution->u, 0, sizeof(double) * 2 * (size_t)contacts);
  }
  solution->residual =
      (S2Residual){.dynamics = NAN, .complementarity = NAN, .cone = NAN, .scaled = NAN};
  solution->iterations = 0;
  solution->used = options->solver;
  return solution->status = status;
}

static void run_exact(const S2Problem *step, const S2SolverOptions *options, S2Solution found,
                      S2Arena *arena, S2ContactSolution *solution) {
  s2_mcp_solve(step, options, arena, &found);
  solution->residual = found.residual;
  solution->used = found.used;
  solution->iterations = found.iterations;
  solution->status = found.status;
}

static void run_smooth(S2Problem *step, const S2SolverOptions *options, double *v, S2Arena *arena,
                       S2ContactSolution *solution) {
  // V must be at least sqrt(kappa), the size of velocities on the central path.
  step->velocity_scale = fmax(step->velocity_scale, sqrt(solution->kappa));
  double kappa = solution->kappa / (step->velocity_scale * step->velocity_scale);
  S2SolverOptions aim = *options;
  aim.tolerance = fmin(aim.tolerance, PATH * kappa);
  S2SmoothSolution found = {
      .v = v, .lambda = solution->r, .z = S2_TAKE(arena, double, 4 * step->rows)};
  s2_mcp_smooth_solve(step, kappa, &aim, arena, &found);
  // Copy the 4 pairs of each contact from its normal row.
  for (int k = 0; k < step->rows / 2; k++) {
    memcpy(solution->z + 4 * (size_t)k, found.z + 8 * (size_t)k, 4 * sizeof(double));
  }
  solution->residual = s2_mcp_residual(step, v, found.lambda, arena);
  solution->residual.scaled = found.residual;
  solution->used = S2_SOLVER_PDIPM;
  solution->iterations = found.iterations;
  solution->status = found.status;
}

// Solves `step` exactly or on the central path. v has 3 numbers per node and contains a guess on
// input.
static void contact_run(S2Problem *step, const S2SolverOptions *options, double *v, S2Arena *arena,
                        S2ContactSolution *solution) {
  if (solution->kappa > 0) {
    run_smooth(step, options, v, arena, solution);
  } else {
    run_exact(step, options, (S2Solution){.v = v, .lambda = solution->r}, arena, solution);
  }
  // Compute u = J v + b of the solution.
  s2_mcp_row_velocity(step, v, solution->u);
  for (int i = 0; i < step->rows; i++) {
    solution->u[i] += step->row[i].bias;
  }
  bool fits = s2_all_finite(solution->r, (size_t)step->rows) &&
              s2_all_finite(solution->u, (size_t)step->rows) &&
              s2_all_finite(v, 3 * (size_t)step->nodes) && !isnan(solution->residual.scaled);
  if (!fits && solution->status != S2_UNSUPPORTED) { // some numbers are too large for a double
    contact_refuse(solution, options, step->rows / 2, S2_SINGULAR);
  }
}

// ---- Local form -------------------------------------------------------------------------------

static S2SolveStatus contact_solve_local(const S2ContactProblem *problem,
                                         const S2SolverOptions *options, S2Arena *arena,
                                         S2ContactSolution *solution) {
  int n = problem->contacts;
  if (!s2_contact_finite(problem)) {
    return contact_refuse(solution, options, n, S2_SINGULAR);
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Problem step = s2_contact_step_problem(problem, arena);
  double *v = S2_TAKE(arena, double, 3 * n);
  memcpy(v, step.rhs, sizeof(double) * 3 * (size_t)n);
  contact_run(&step, options, v, arena, solution);
  s2_arena_rewind(arena, mark);
  return solution->status;
}

S2SolveStatus s2_contact_solve(const S2ContactProblem *problem, const S2SolverOptions *options,
                               S2Arena *arena, S2ContactSolution *solution) {
  solution->kappa = 0;
  return contact_solve_local(problem, options, arena, solution);
}

S2SolveStatus s2_contact_smooth_solve(const S2ContactProblem *problem, double kappa,
                                      const S2SolverOptions *options, S2Arena *arena,
                                      S2ContactSolution *solution) {
  solution->kappa = kappa;
  if (!(kappa > 0 && isfinite(kappa))) {
    return contact_refuse(solution, options, problem->contacts, S2_UNSUPPORTED);
  }
  return contact_solve_local(problem, options, arena, solution);
}

// ---- Global form ------------------------------------------------------------------------------

static S2SolveStatus contact_solve_global(const S2GlobalContactProblem *problem,
                                          const S2SolverOptions *options, S2Arena *arena,
                                          S2ContactSolution *solution) {
  size_t size = sizeof(double) * (size_t)problem->freedoms;
  S2ArenaMark mark = s2_arena_mark(arena);
  S2GlobalForm form;
  memset(solution->v, 0, size);
  S2SolveStatus status = s2_contact_global_form(problem, &form, arena);
  if (status != S2_SOLVED) {
    s2_arena_rewind(arena, mark);
    return contact_refuse(solution, options, problem->contacts, status);
  }
  // v comes from the bodies if there are any. Otherwise v = M^-1 (H r + q).
  contact_run(&form.step, options, form.v, arena, solution);
  if (form.bodies) {
    memcpy(solution->v, form.v, size);
  } else {
    memcpy(solution->v, problem->q, size);
    s2_csr_add_times(problem->h, 1, solution->r, solution->v);
    s2_global_form_respond(&form, problem->freedoms, solution->v);
  }
  s2_arena_rewind(arena, mark);
  if (!s2_all_finite(solution->v, (size_t)problem->freedoms)) {
    memset(solution->v, 0, size);
    contact_refuse(solution, options, problem->contacts, S2_SINGULAR);
  }
  return solution->status;
}

S2SolveStatus s2_contact_solve_global(const S2GlobalContactProblem *problem,
                                      const S2SolverOptions *options, S2Arena *arena,
                                      S2ContactSolution *solution) {
  solution->kappa = 0;
  return contact_solve_global(problem, options, arena, solution);
}

S2SolveStatus s2_contact_smooth_solve_global(const S2GlobalContactProblem *problem, double kappa,
                                             const S2SolverOptions *options, S2Arena *arena,
                                             S2ContactSolution *solution) {
  solution->kappa = kappa;
  if (!(kappa > 0 && isfinite(kappa))) {
    memset(solution->v, 0, sizeof(double) * (size_t)problem->freedoms);
    return contact_refuse(solution, options, problem->contacts, S2_UNSUPPORTED);
  }
  return contact_solve_global(problem, options, arena, solution);
}
