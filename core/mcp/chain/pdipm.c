// The chain of methods for islands of any size. Warm starts come first, as most steps of a resting
// scene need nothing else; the interior point does the work and hands over to an exact solution on
// the active set it finds; where it stalls, proximal Newton from a Gauss-Seidel start feels its
// way. The best point met is kept, judged by one residual.
#include "mcp/chain/solve_run.h"
#include "mcp/problem/conflict.h"
#include "mcp/solvers.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

// The active set is nearly known: go for it.
static const S2NewtonWay warm_way = {
    .weight = 1e6, .outers = 1, .inners = 3, .most = S2_NEWTON_MOST};
enum { WARM_ITERATIONS = 12 };
static const double WARM_FLOOR = 0.01; // distance from the boundary where the interior point starts
enum { POLISH_SWEEPS = 100 };
enum { FIRST_NEWTON = 3000 }; // factorisations; another start is worth more, at first

// Of piles. A guess with a residual below PILE_NEAR is the solution for rows that have moved a
// little; sweeps from such a one, from others, and where one search has failed.
enum { FINISH_SEGMENTS = 20, FLOW_FACTORIZATIONS = 400 };
enum { NEAR_SWEEPS = 100, FAR_SWEEPS = 300, SECOND_SWEEPS = 1000 };
static const double PILE_NEAR = 0.05;

// Of solves within a budget. Work is counted in blocks times factorisations; measured beside those
// on piles of 300 and 1000 discs and a pyramid of 1275 boxes, a sweep takes SWEEP_WORK a contact,
// and what a solve does beside all that the time of OVERHEAD_SWEEPS. There are LEAST_SWEEPS even
// where the budget is used up. A budget of few sweeps is not worth a factorisation. Else sweeps
// have SWEEPS_SHARE of it: they are what brings a pile in violent motion near, the flow finds the
// last digits of others.
enum { OVERHEAD_SWEEPS = 16, LEAST_SWEEPS = 20, FEW_SWEEPS = 64, MOST_SWEEPS = 1000 };
enum { ROOMY = 100 }; // factorisations
static const double SWEEP_WORK = 0.2, SWEEPS_SHARE = 2.0 / 3;

static void pdipm_newton(S2SolveRun *chain, const S2NewtonWay *way) {
  double residual = s2_newton_solve(&chain->system, way, chain->tolerance, chain->v, chain->lambda,
                                    &chain->iterations, chain->arena);
  s2_run_keep(chain, residual);
}

static void pdipm_refine(S2SolveRun *chain) {
  S2System *system = &chain->system;
  S2ArenaMark mark = s2_arena_mark(chain->arena);
  s2_run_back(chain);
  S2Mode *mode = S2_TAKE(chain->arena, S2Mode, system->units);
  double *u = S2_TAKE(chain->arena, double, 2 * system->units);
  s2_system_row_velocity(system, chain->v, u);
  s2_refine_modes(system, u, chain->lambda, mode);
  double residual =
      s2_refine_solve(system, mode, chain->v, chain->lambda, &chain->iterations, chain->arena);
  s2_arena_rewind(chain->arena, mark);
  s2_run_keep(chain, residual);
}

// Solved just so: another factorisation leaves less to the next step.
static bool is_worth_refining(const S2SolveRun *chain) {
  return s2_run_solved(chain) && chain->best > S2_REFINED && chain->iterations > 0 &&
         chain->system.contacts > 0;
}

static void pdipm_interior(S2SolveRun *chain, const S2InteriorStart *start, int iterations) {
  double residual = s2_interior_solve(&chain->system, start, chain->tolerance, iterations, chain->v,
                                      chain->lambda, &chain->iterations, chain->arena);
  s2_run_keep(chain, residual);
  if (chain->best > S2_REFINED) {
    pdipm_refine(chain);
  }
}

static void pdipm_sweep(S2SolveRun *chain, int sweeps) {
  double residual = s2_pgs_solve(&chain->system, sweeps, chain->v, chain->lambda, chain->arena);
  s2_run_keep(chain, residual);
}

static bool is_pile(const S2SolveRun *chain) {
  return chain->system.contacts >= S2_PILE_CONTACTS && chain->system.local == NULL;
}

// Is there a guess?
static bool is_warm(const S2SolveRun *chain, const double *lambda_guess) {
  bool warm = false;
  for (int i = 0; i < chain->system.problem->rows; i++) {
    warm |= lambda_guess[i] != 0;
  }
  return warm;
}

// Of its factored matrix, the diagonal included.
static double pile_blocks(const S2SolveRun *chain) {
  return chain->system.sparse.blocks + chain->system.nodes;
}

// In the modes that the impulses of the guess show.
static void pile_finish(S2SolveRun *chain, int most) {
  s2_run_keep(chain, s2_finish_solve(&chain->system, FINISH_SEGMENTS, most, chain->tolerance,
                                     chain->v, chain->lambda, &chain->iterations, chain->arena));
}

static void pile_sweep(S2SolveRun *chain, int sweeps) {
  s2_run_keep(chain, s2_nncg_sweeps(&chain->system, sweeps, chain->v, chain->lambda, chain->arena));
}

// From the best point near to a solution by sweeps, and then along the flow.
static void pile_flow(S2SolveRun *chain, int sweeps, int most, bool strictly) {
  s2_run_back(chain);
  pile_sweep(chain, sweeps);
  if (!s2_run_solved(chain)) {
    s2_run_keep(chain, s2_flow_solve(&chain->system, most, strictly, chain->tolerance, chain->v,
                                     chain->lambda, &chain->iterations, chain->arena));
  }
}

// The flow and what Newton makes of where it ends.
static void pile_search(S2SolveRun *chain, int sweeps) {
  if (!s2_run_solved(chain)) {
    pile_flow(chain, sweeps, FLOW_FACTORIZATIONS, false);
  }
  if (!s2_run_solved(chain)) {
    pdipm_newton(chain, &s2_newton_near);
  }
}

// Within a budget: of a guess that is near the modes it shows; sweeps, and the flow with what is
// left. (Newton in its place brings no more, and goes through points that are worse.) Returns the
// work.
static double pile_within(S2SolveRun *chain, double budget, const double *lambda_guess) {
  S2System *system = &chain->system;
  double sweep = SWEEP_WORK * system->units, overhead = OVERHEAD_SWEEPS * sweep;
  if (s2_run_solved(chain)) {
    return overhead;
  }
  if (budget < FEW_SWEEPS * sweep) {
    int sweeps = (int)fmax(LEAST_SWEEPS, budget / sweep);
    pile_sweep(chain, sweeps);
    return overhead + sweeps * sweep;
  }
  s2_system_prepare(system, chain->arena);
  double blocks = pile_blocks(chain);
  int most = (int)fmin(budget / blocks, S2_NEWTON_MOST), sweeps = 0;
  if (is_warm(chain, lambda_guess) && chain->best < PILE_NEAR) {
    pile_finish(chain, most - most / 2);
  }
  // What the sweeps leave is for the flow, and where that is much, for Newton.
  if (!s2_run_solved(chain)) {
    double left = fmax(0, budget - blocks * chain->iterations);
    // Where there is room for the whole flow, no more sweeps than without a budget.
    int usual = chain->best < PILE_NEAR ? NEAR_SWEEPS : FAR_SWEEPS;
    int limit = left > ROOMY * blocks ? usual : MOST_SWEEPS;
    sweeps = (int)fmin(limit, fmax(LEAST_SWEEPS, SWEEPS_SHARE * left / sweep));
    most = (int)fmin(fmax(0, left - sweeps * sweep) / blocks, S2_NEWTON_MOST);
    pile_flow(chain, sweeps, most < FLOW_FACTORIZATIONS ? most : FLOW_FACTORIZATIONS, true);
  }
  if (!s2_run_solved(chain) && most > FLOW_FACTORIZATIONS) {
    S2NewtonWay way = s2_newton_near;
    way.most = most - FLOW_FACTORIZATIONS;
    pdipm_newton(chain, &way);
  }
  if (is_worth_refining(chain)) {
    pdipm_refine(chain);
  }
  return overhead + blocks * chain->iterations + sweeps * sweep;
}

// From the guess: whether it already solves the problem; of piles the modes it shows; a few steps
// of Newton, then a warm interior point; of piles the search, in which case it is true.
static bool solve_warm(S2SolveRun *chain, const double *lambda_guess, bool fresh) {
  const S2System *system = &chain->system;
  // A body at rest: the guess is the solution.
  bool solved = s2_run_solved(chain);
  if (solved && !fresh) {
    return false;
  }
  s2_system_prepare(&chain->system, chain->arena);
  if (system->contacts == 0 || solved) {
    pdipm_refine(chain);
    return false;
  }
  if (!is_warm(chain, lambda_guess)) {
    return false;
  }
  // Rows that have moved a little leave most modes as they are: an interior point would lose them.
  bool pile = is_pile(chain), near = chain->best < PILE_NEAR;
  if (pile) {
    pile_finish(chain, INT_MAX);
    if (near && !s2_run_solved(chain)) {
      pile_flow(chain, NEAR_SWEEPS, FLOW_FACTORIZATIONS, false);
    }
    s2_run_back(chain);
  }
  // The active set of the last step is nearly right: Newton goes for it, then the interior point.
  if (!s2_run_solved(chain)) {
    pdipm_newton(chain, &warm_way);
  }
  if (!s2_run_solved(chain)) {
    s2_run_back(chain);
    pdipm_interior(chain, &(S2InteriorStart){.warm = true, .floor = WARM_FLOOR}, WARM_ITERATIONS);
  }
  if (pile) {
    pile_search(chain, FAR_SWEEPS);
  }
  return pile;
}

// True: it was proved that there is no solution, and the search for one ends.
static bool solve_cold(S2SolveRun *chain, const S2SolverOptions *options, bool thorough,
                       bool searched) {
  static const S2InteriorStart starts[] = {
      {.impulse = 1, .velocity = 1},
      {.impulse = 3, .velocity = 3, .spread = 1, .seed = 1},
      {.impulse = 1, .velocity = 1, .spread = 2, .seed = 2},
      {.impulse = 3, .velocity = 3, .spread = 2, .seed = 3},
  };
  // Of Gauss-Seidel from nothing before Newton; 0: POLISH_SWEEPS from the best point. Newton has
  // failed from the best point when another start is needed, so from nothing now and then.
  static const int fresh_sweeps[] = {0, 20, 0, 40};
  // Start after start: interior point, then proof of conflict (once), then Newton from sweeps.
  bool pile = is_pile(chain);
  int most = INT_MAX;
  if (pile) {
    most = (int)(S2_PATIENCE / pile_blocks(chain));
  }
  for (int i = 0; i < (int)(sizeof starts / sizeof *starts) && !s2_run_solved(chain) &&
                  chain->iterations < most;
       i++) {
    pdipm_interior(chain, &starts[i], options->max_iterations);
    if (!thorough) {
      return false;
    }
    if (i == 0 && pile) {
      pile_search(chain, searched ? SECOND_SWEEPS : FAR_SWEEPS);
    }
    if (!s2_run_solved(chain)) {
      if (i == 0 && s2_mcp_conflict_quick(chain->system.problem, options, NULL, chain->arena)) {
        return true;
      }
      s2_run_back(chain);
      // Sweeps from nothing leave where Newton was caught.
      if (fresh_sweeps[i] > 0) {
        memset(chain->lambda, 0, sizeof(double) * (size_t)(2 * chain->system.units));
      }
      pdipm_sweep(chain, fresh_sweeps[i] > 0 ? fresh_sweeps[i] : POLISH_SWEEPS);
      S2NewtonWay way = s2_newton_cold;
      way.outers *= options->max_iterations;
      way.most = i == 0 ? FIRST_NEWTON : way.most;
      way.most = (int)fmin(way.most, most - chain->iterations);
      pdipm_newton(chain, &way);
    }
  }
  return false;
}

static S2SolveStatus pdipm_solve(const S2Problem *problem, const S2SolverOptions *options,
                                 bool thorough, S2Arena *arena, S2Solution *solution) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2SolveRun chain = s2_run_begin(problem, options, solution, arena);
  if (options->bounded && is_pile(&chain)) {
    solution->work = pile_within(&chain, options->budget, solution->lambda);
    solution->cut = s2_run_end(&chain, solution) != S2_SOLVED;
    s2_arena_rewind(arena, mark);
    return solution->status;
  }
  bool searched = solve_warm(&chain, solution->lambda, options->fresh);
  if (is_worth_refining(&chain)) {
    pdipm_refine(&chain);
  }
  // Only where contacts are: equations alone are solved by the warm part to the last digits.
  bool proved = !s2_run_solved(&chain) && chain.system.contacts > 0 &&
                solve_cold(&chain, options, thorough, searched);
  s2_run_end(&chain, solution);
  solution->work = is_pile(&chain) ? chain.iterations * pile_blocks(&chain) : 0;
  if (proved && solution->status != S2_SOLVED) {
    solution->status = S2_INFEASIBLE;
  }
  s2_arena_rewind(arena, mark);
  return solution->status;
}

S2SolveStatus s2_pdipm_solve(const S2Problem *problem, const S2SolverOptions *options,
                             S2Arena *arena, S2Solution *solution) {
  return pdipm_solve(problem, options, true, arena, solution);
}

S2SolveStatus s2_pdipm_quick_solve(const S2Problem *problem, const S2SolverOptions *options,
                                   S2Arena *arena, S2Solution *solution) {
  return pdipm_solve(problem, options, false, arena, solution);
}

bool s2_mcp_conflict_quick(const S2Problem *problem, const S2SolverOptions *options, double *proof,
                           S2Arena *arena) {
  return s2_mcp_conflict_by(s2_pdipm_quick_solve, problem, options, proof, arena);
}
