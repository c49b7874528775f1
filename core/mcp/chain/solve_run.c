#include "mcp/chain/solve_run.h"

#include <math.h>
#include <string.h>

S2SolveRun s2_run_begin(const S2Problem *problem, const S2SolverOptions *options,
                        const S2Solution *guess, S2Arena *arena) {
  S2SolveRun run = {.arena = arena, .tolerance = options->tolerance, .best = INFINITY};
  s2_system_init(&run.system, problem, arena);
  run.system.history = options->history;
  int nodes = run.system.nodes + 1, rows = 2 * run.system.units;
  run.v = S2_TAKE_ZEROED(arena, S2Quad, nodes);
  run.v_best = S2_TAKE_ZEROED(arena, S2Quad, nodes);
  run.lambda = S2_TAKE_ZEROED(arena, double, rows);
  run.lambda_best = S2_TAKE_ZEROED(arena, double, rows);
  run.u = S2_TAKE(arena, double, rows);
  // Start from the guessed impulses and the velocities that they give. The given velocities are not
  // used.
  s2_system_read(&run.system, guess->v, guess->lambda, run.v, run.lambda);
  s2_system_velocity(&run.system, run.lambda, run.v);
  s2_run_measure(&run);
  return run;
}

double s2_run_measure(S2SolveRun *run) {
  double residual = s2_system_residual(&run->system, run->v, run->lambda, run->u);
  s2_run_keep(run, residual);
  return residual;
}

void s2_run_keep(S2SolveRun *run, double residual) {
  if (residual < run->best) { // false for NaN
    run->best = residual;
    memcpy(run->v_best, run->v, sizeof(S2Quad) * (size_t)(run->system.nodes + 1));
    memcpy(run->lambda_best, run->lambda, sizeof(double) * (size_t)(2 * run->system.units));
  }
}

void s2_run_back(S2SolveRun *run) {
  memcpy(run->v, run->v_best, sizeof(S2Quad) * (size_t)(run->system.nodes + 1));
  memcpy(run->lambda, run->lambda_best, sizeof(double) * (size_t)(2 * run->system.units));
}

bool s2_run_solved(const S2SolveRun *run) {
  return run->best <= run->tolerance;
}

void s2_run_start(S2SolveRun *run) {
  memset(run->lambda, 0, sizeof(double) * (size_t)(2 * run->system.units));
  s2_system_velocity(&run->system, run->lambda, run->v);
  s2_run_measure(run);
  s2_run_back(run);
}

S2SolveStatus s2_run_end(S2SolveRun *run, S2Solution *solution) {
  const S2System *system = &run->system;
  s2_system_write(system, run->v_best, run->lambda_best, solution->v, solution->lambda);
  solution->residual = s2_mcp_residual(system->problem, solution->v, solution->lambda, run->arena);
  solution->iterations = run->iterations;
  // Rounding in the conversion may have moved the residual across the tolerance.
  bool good = solution->residual.scaled <= run->tolerance;
  solution->status = good ? S2_SOLVED : !(run->best < INFINITY) ? S2_SINGULAR : S2_MAX_ITERATIONS;
  return solution->status;
}
