// The chain of methods for islands of any size. Warm starts come first, as most steps of a resting
// scene need nothing else; the interior point does the work and hands over to an exact solution on
// the active set it finds; where it stalls, proximal Newton from a Gauss-Seidel start feels its
// way. The best point met is kept, judged by one residual.
#include "mcp/pdipm_stages.h"
#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

// A result this good is not improved further: refinement aims at round-off.
static const double EXACT = 1e-14;

static const double SIGMA_WARM = 1e6; // the active set is nearly known: go for it
static const double SIGMA_COLD = 10;  // feel the way
enum { WARM_OUTERS = 1, WARM_INNERS = 3, WARM_ITERATIONS = 12 };
static const double WARM_FLOOR = 0.01; // distance from the boundary where the interior point starts
enum { COLD_INNERS = 8, OUTERS_PER_ITERATION = 12 };
enum { POLISH_SWEEPS = 100 };

typedef struct Chain {
  S2System system;
  S2Arena *arena;
  double tolerance, best;
  S2Quad *v, *v_best; // the point being worked on; the best so far
  double *lambda, *lambda_best;
  int iterations;
} Chain;

static void keep_if_better(Chain *chain, double residual) {
  if (!(residual >= chain->best)) {
    const S2System *system = &chain->system;
    chain->best = residual;
    memcpy(chain->v_best, chain->v, sizeof(S2Quad) * (size_t)(system->nodes + 1));
    memcpy(chain->lambda_best, chain->lambda, sizeof(double) * (size_t)(2 * system->units));
  }
}

static void back_to_best(Chain *chain) {
  const S2System *system = &chain->system;
  memcpy(chain->v, chain->v_best, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  memcpy(chain->lambda, chain->lambda_best, sizeof(double) * (size_t)(2 * system->units));
}

static bool solved(const Chain *chain) {
  return chain->best <= chain->tolerance;
}

static void newton(Chain *chain, double sigma, int outers, int inners) {
  double residual = s2_newton_solve(&chain->system, sigma, outers, inners, chain->tolerance,
                                    chain->v, chain->lambda, &chain->iterations, chain->arena);
  keep_if_better(chain, residual);
}

static void refine(Chain *chain) {
  S2System *system = &chain->system;
  S2ArenaMark mark = s2_arena_mark(chain->arena);
  back_to_best(chain);
  S2Mode *mode = S2_TAKE(chain->arena, S2Mode, system->units);
  double *u = S2_TAKE(chain->arena, double, 2 * system->units);
  s2_system_row_velocity(system, chain->v, u);
  s2_refine_modes(system, u, chain->lambda, mode);
  double residual =
      s2_refine_solve(system, mode, chain->v, chain->lambda, &chain->iterations, chain->arena);
  s2_arena_rewind(chain->arena, mark);
  keep_if_better(chain, residual);
}

static void interior(Chain *chain, const S2InteriorStart *start, int iterations) {
  double residual = s2_interior_solve(&chain->system, start, chain->tolerance, iterations, chain->v,
                                      chain->lambda, &chain->iterations, chain->arena);
  keep_if_better(chain, residual);
  if (chain->best > EXACT) {
    refine(chain);
  }
}

static void sweep(Chain *chain, int sweeps) {
  double residual = s2_pgs_solve(&chain->system, sweeps, chain->v, chain->lambda, chain->arena);
  keep_if_better(chain, residual);
}

// From the guess: whether it already solves the problem, then a few steps of Newton, then a
// warm interior point.
static void solve_warm(Chain *chain, const double *lambda_guess) {
  const S2System *system = &chain->system;
  double *u = S2_TAKE(chain->arena, double, 2 * system->units);
  s2_system_velocity(system, chain->lambda, chain->v);
  keep_if_better(chain, s2_system_residual(system, chain->v, chain->lambda, u));
  if (solved(chain)) {
    return;
  }
  if (system->contacts == 0) {
    refine(chain);
    return;
  }
  bool warm = false;
  for (int i = 0; i < system->problem->rows; i++) {
    warm |= lambda_guess[i] != 0;
  }
  if (warm) {
    newton(chain, SIGMA_WARM, WARM_OUTERS, WARM_INNERS);
  }
  if (warm && !solved(chain)) {
    back_to_best(chain);
    interior(chain, &(S2InteriorStart){.warm = true, .floor = WARM_FLOOR}, WARM_ITERATIONS);
  }
}

static void solve_cold(Chain *chain, int max_iterations, bool thorough) {
  static const S2InteriorStart starts[] = {
      {.impulse = 1, .velocity = 1},
      {.impulse = 3, .velocity = 3, .spread = 1, .seed = 1},
      {.impulse = 1, .velocity = 1, .spread = 2, .seed = 2},
      {.impulse = 3, .velocity = 3, .spread = 2, .seed = 3},
  };
  // Of Gauss-Seidel from nothing before Newton; 0: POLISH_SWEEPS from the best point. Newton has
  // failed from the best point when another start is needed, so from nothing now and then.
  static const int fresh_sweeps[] = {0, 20, 0, 40};
  for (int i = 0; i < (int)(sizeof starts / sizeof *starts) && !solved(chain); i++) {
    interior(chain, &starts[i], max_iterations);
    if (!thorough) {
      return;
    }
    if (!solved(chain)) {
      back_to_best(chain);
      if (fresh_sweeps[i] > 0) {
        memset(chain->lambda, 0, sizeof(double) * (size_t)(2 * chain->system.units));
      }
      sweep(chain, fresh_sweeps[i] > 0 ? fresh_sweeps[i] : POLISH_SWEEPS);
      newton(chain, SIGMA_COLD, max_iterations * OUTERS_PER_ITERATION, COLD_INNERS);
    }
  }
}

static S2SolveStatus solve(const S2Problem *problem, const S2SolverOptions *options, bool thorough,
                           S2Arena *arena, S2Solution *solution) {
  S2ArenaMark mark = s2_arena_mark(arena);
  Chain chain = {.arena = arena, .tolerance = options->tolerance, .best = INFINITY};
  S2System *system = &chain.system;
  s2_system_init(system, problem, arena);
  chain.v = S2_TAKE_ZEROED(arena, S2Quad, system->nodes + 1);
  chain.v_best = S2_TAKE_ZEROED(arena, S2Quad, system->nodes + 1);
  chain.lambda = S2_TAKE_ZEROED(arena, double, 2 * system->units);
  chain.lambda_best = S2_TAKE_ZEROED(arena, double, 2 * system->units);
  s2_system_read(system, solution->v, solution->lambda, chain.v, chain.lambda);
  solve_warm(&chain, solution->lambda);
  if (solved(&chain) && chain.best > EXACT && chain.iterations > 0) {
    refine(&chain);
  }
  if (!solved(&chain) && system->contacts > 0) {
    solve_cold(&chain, options->max_iterations, thorough);
  }
  s2_system_write(system, chain.v_best, chain.lambda_best, solution->v, solution->lambda);
  s2_arena_rewind(arena, mark);
  solution->residual = s2_mcp_residual(problem, solution->v, solution->lambda, arena);
  solution->iterations = chain.iterations;
  // Judged by what the caller sees: unscaling may have rounded across the tolerance.
  bool good = solution->residual.scaled <= options->tolerance;
  solution->status = good ? S2_SOLVED : S2_MAX_ITERATIONS;
  return solution->status;
}

S2SolveStatus s2_pdipm_solve(const S2Problem *problem, const S2SolverOptions *options,
                             S2Arena *arena, S2Solution *solution) {
  return solve(problem, options, true, arena, solution);
}

S2SolveStatus s2_pdipm_quick_solve(const S2Problem *problem, const S2SolverOptions *options,
                                   S2Arena *arena, S2Solution *solution) {
  return solve(problem, options, false, arena, solution);
}
