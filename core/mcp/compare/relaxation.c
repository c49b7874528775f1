#include "mcp/compare/relaxation.h"

#include <math.h>
#include <string.h>

// A run ends early if STALL_SWEEPS sweeps do not reduce the residual to this fraction. Convergence
// is then too slow to reach the tolerance.
static const double PROGRESS = 0.99;
enum { STALL_SWEEPS = 2000 };

// The sweeps aim at this fraction of the tolerance, because the final residual is rounded
// differently and must still be within the tolerance.
static const double AIM = 0.99999;

static double relaxation_measure(S2Relaxation *run) {
  s2_system_velocity(&run->system, run->lambda, run->v);
  return s2_system_residual(&run->system, run->v, run->lambda, run->u);
}

bool s2_relaxation_begin(S2Relaxation *run, const S2Problem *problem,
                         const S2SolverOptions *options, S2Arena *arena,
                         const S2Solution *solution) {
  double sweeps = (double)options->max_iterations * S2_SWEEPS_PER_ITERATION;
  *run = (S2Relaxation){.arena = arena,
                        .options = options,
                        .mark = s2_arena_mark(arena),
                        .limit = (int)fmin(sweeps, INT32_MAX / 2)};
  S2System *system = &run->system;
  s2_system_init(system, problem, arena);
  // Allocate the current point and the best impulses, and compute the couplings of all units.
  size_t size = sizeof(double) * (size_t)(2 * system->units);
  run->v = S2_TAKE_ZEROED(arena, S2Quad, system->nodes + 1);
  run->lambda = s2_arena_take_zeroed(arena, size);
  run->lambda_best = s2_arena_take_zeroed(arena, size);
  run->u = s2_arena_take(arena, size);
  run->coupling = S2_TAKE(arena, S2Response, system->units);
  for (int k = 0; k < system->units; k++) {
    run->coupling[k] = s2_system_coupling(system, k);
  }
  // Compute the residuals of zero impulses and of the clipped guess. Start from the better point.
  run->best = relaxation_measure(run);
  s2_system_read(system, solution->v, solution->lambda, run->v, run->lambda);
  s2_system_clip(system, run->lambda);
  run->residual = relaxation_measure(run);
  if (run->residual <= run->best) {
    run->best = run->residual;
    memcpy(run->lambda_best, run->lambda, size);
  } else {
    run->residual = run->best;
    memset(run->lambda, 0, size);
    s2_system_velocity(system, run->lambda, run->v);
  }
  run->milestone = run->best;
  return !(run->best <= AIM * options->tolerance) && run->limit > 0;
}

bool s2_relaxation_check(S2Relaxation *run) {
  run->residual = relaxation_measure(run);
  s2_history_add(run->options->history, run->residual, 1, 0);
  if (!isfinite(run->residual)) {
    return false;
  }
  // Remember the last noticeable progress, so that the run can end after many sweeps without any.
  if (run->residual < PROGRESS * run->milestone) {
    run->milestone = run->residual;
    run->progress = run->sweeps;
  }
  if (run->residual < run->best) {
    run->best = run->residual;
    memcpy(run->lambda_best, run->lambda, sizeof(double) * (size_t)(2 * run->system.units));
  }
  return run->best > AIM * run->options->tolerance && run->sweeps < run->limit &&
         run->sweeps - run->progress < STALL_SWEEPS;
}

S2SolveStatus s2_relaxation_end(S2Relaxation *run, S2Solution *solution) {
  const S2Problem *problem = run->system.problem;
  s2_system_velocity(&run->system, run->lambda_best, run->v);
  s2_system_write(&run->system, run->v, run->lambda_best, solution->v, solution->lambda);
  s2_arena_rewind(run->arena, run->mark);
  solution->residual = s2_mcp_residual(problem, solution->v, solution->lambda, run->arena);
  solution->iterations = run->sweeps;
  bool good = solution->residual.scaled <= run->options->tolerance;
  return solution->status = good ? S2_SOLVED : S2_MAX_ITERATIONS;
}
