// The chain of methods for islands of any size. Warm starts come first, because most steps of a
// resting scene need nothing else. Then the interior-point method runs, and the equations of the
// modes that it finds are solved exactly. If it stalls, proximal Newton continues from a
// Gauss-Seidel start. Piles are solved by a flow. The chain keeps the point with the smallest
// scaled residual.
#include "mcp/chain/solve_run.h"
#include "mcp/problem/conflict.h"
#include "mcp/problem/convex.h"
#include "mcp/solvers.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

// In a warm start the active set is nearly known, so the first weight is large.
static const S2NewtonWay warm_way = {
    .weight = 1e6, .outers = 1, .inners = 3, .most = S2_NEWTON_MOST};
enum { WARM_ITERATIONS = 12 };
// Distance from the boundary at which a warm interior-point run starts.
static const double WARM_FLOOR = 0.01;
enum { POLISH_SWEEPS = 100 };
// Limit of the factorisations in the first Newton run. Beyond it, another start is more promising.
enum { FIRST_NEWTON = 3000 };

// Limits for piles. A guess with a residual below PILE_NEAR is the solution for slightly different
// rows. The flow starts after NEAR_SWEEPS sweeps from such a guess, FAR_SWEEPS sweeps from another
// guess, or ANEW_SWEEPS sweeps from zero impulses. It is limited to FIRST_FLOW or LATER_FLOW
// factorisations. Nearly all flows that find a solution need at most FIRST_FLOW factorisations.
// Otherwise another start is more promising. The limits were measured on the first solves of poured
// discs and boxes, on hard solves, and on pyramids in violent motion.
enum { NEAR_SWEEPS = 100, FAR_SWEEPS = 400, ANEW_SWEEPS = 3000 };
enum { FINISH_SEGMENTS = 20, FIRST_FLOW = 1000, LATER_FLOW = 1500, PILE_NEWTON = 600 };
static const double CONVEX_TOLERANCE = 1e-6; // Tolerance of the convex start.
// No other start begins after this fraction of S2_PATIENCE, which takes about a second. With twice
// the work, the slowest steps of 1000 discs take a third longer, and 1 % more of them are solved.
static const double PILE_PATIENCE = 0.12;
static const double PILE_NEAR = 0.05;

// Constants for solves within a budget. The unit of work is one block in one factorisation. In this
// unit, a sweep costs SWEEP_WORK for each S2Unit, and the overhead of a solve equals
// OVERHEAD_SWEEPS sweeps. (Both were measured on piles of discs and on a pyramid of boxes.) At
// least LEAST_SWEEPS sweeps run even if the budget is used up. A budget of less than FEW_SWEEPS
// sweeps is too small for a factorisation. Larger budgets spend the fraction SWEEPS_SHARE on
// sweeps, which bring a pile in violent motion near its solution. In other piles, the flow then
// reaches full precision.
enum { OVERHEAD_SWEEPS = 24, LEAST_SWEEPS = 20, FEW_SWEEPS = 64, MOST_SWEEPS = 1000 };
enum { ROOMY = 100 }; // factorisations
static const double SWEEP_WORK = 0.15, SWEEPS_SHARE = 2.0 / 3;

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

// Returns true if the point meets the tolerance but has errors above rounding. One more
// factorisation then gives the next step a better guess.
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

// Returns true if there is a guess.
static bool is_warm(const S2SolveRun *chain, const double *lambda_guess) {
  bool warm = false;
  for (int i = 0; i < chain->system.problem->rows; i++) {
    warm |= lambda_guess[i] != 0;
  }
  return warm;
}

// Returns true if a contact has friction.
static bool is_rough(const S2SolveRun *chain) {
  bool rough = false;
  for (int k = 0; k < chain->system.units; k++) {
    rough |= chain->system.unit[k].kind == S2_UNIT_CONTACT;
  }
  return rough;
}

// Returns the number of blocks of the factored matrix, including the diagonal.
static double pile_blocks(const S2SolveRun *chain) {
  return chain->system.sparse.blocks + chain->system.nodes;
}

// Solves the equations of the modes that the impulses of the guess indicate.
static void pile_finish(S2SolveRun *chain, int most) {
  s2_run_keep(chain, s2_finish_solve(&chain->system, FINISH_SEGMENTS, most, chain->tolerance,
                                     chain->v, chain->lambda, &chain->iterations, chain->arena));
}

static void pile_sweep(S2SolveRun *chain, int sweeps) {
  double enough = S2_SWEPT * chain->tolerance;
  s2_run_keep(
      chain, s2_nncg_sweeps(&chain->system, sweeps, enough, chain->v, chain->lambda, chain->arena));
}

// Approaches a solution by sweeps, then follows the flow. If the sweeps solve the problem, only
// refines the result.
static void pile_flow(S2SolveRun *chain, int sweeps, int most, bool strictly) {
  pile_sweep(chain, sweeps);
  if (s2_run_solved(chain)) {
    pdipm_refine(chain);
  } else {
    s2_run_keep(chain,
                s2_flow_solve(&chain->system, most, strictly, chain->tolerance, &chain->watch,
                              chain->v, chain->lambda, &chain->iterations, chain->arena));
  }
}

// Starts from the impulses of the convex contact law, which are close enough to a solution. The
// convex problem has a unique solution, which is found at the first attempt.
static void pile_start_convex(S2SolveRun *chain, int iterations) {
  const S2Problem *problem = chain->system.problem;
  S2ArenaMark mark = s2_arena_mark(chain->arena);
  S2Solution solution = {.v = S2_TAKE_ZEROED(chain->arena, double, 3 * problem->nodes),
                         .lambda = S2_TAKE_ZEROED(chain->arena, double, problem->rows)};
  S2Problem convex = s2_mcp_convex(problem, chain->arena);
  S2SolverOptions options = {.tolerance = CONVEX_TOLERANCE, .max_iterations = iterations};
  s2_pdipm_quick_solve(&convex, &options, chain->arena, &solution);
  chain->iterations += solution.iterations;
  chain->system.spent += solution.iterations;
  s2_mcp_convex_impulses(problem, solution.lambda);
  s2_system_read(&chain->system, solution.v, solution.lambda, chain->v, chain->lambda);
  s2_arena_rewind(chain->arena, mark);
}

// Starts from the best point without its friction impulses.
static void pile_start_smooth(S2SolveRun *chain) {
  s2_run_back(chain);
  for (int k = 0; k < chain->system.units; k++) {
    chain->lambda[2 * k + 1] =
        chain->system.unit[k].kind == S2_UNIT_CONTACT ? 0 : chain->lambda[2 * k + 1];
  }
}

// Runs Newton after a few sweeps from the best point. It solves a third of the problems on which
// the flow fails.
static void pile_newton(S2SolveRun *chain, int iterations) {
  s2_run_back(chain);
  pdipm_sweep(chain, POLISH_SWEEPS);
  S2NewtonWay way = s2_newton_cold;
  way.outers *= iterations;
  way.most = PILE_NEWTON;
  pdipm_newton(chain, &way);
}

// Runs after the flow from the guess has failed: tries Newton, and flows from other starts. Each
// start solves most of the cases that the other starts do not solve. If two consecutive flows end
// on a ray, contacts are jammed, because bodies are driven into a place from which friction does
// not release them. In all measured cases of this kind, Newton and further starts found no
// solution.
static void pile_search_on(S2SolveRun *chain, int iterations) {
  enum { CONVEX, NOTHING, SMOOTH, STARTS };
  for (int start = CONVEX; start <= STARTS && !s2_run_solved(chain); start++) {
    if (chain->system.spent * pile_blocks(chain) > PILE_PATIENCE * S2_PATIENCE) {
      return;
    }
    // Newton from a ray would continue along it.
    bool ray = chain->watch.ray;
    if (!ray) {
      pile_newton(chain, iterations);
    }
    if (s2_run_solved(chain) || start == STARTS) {
      return;
    }
    // Run the flow from the next start.
    if (start == CONVEX) {
      pile_start_convex(chain, iterations);
    } else if (start == SMOOTH) {
      pile_start_smooth(chain);
    } else {
      memset(chain->lambda, 0, sizeof(double) * (size_t)(2 * chain->system.units));
    }
    bool first = start == CONVEX;
    pile_flow(chain, start == NOTHING ? ANEW_SWEEPS : FAR_SWEEPS, first ? FIRST_FLOW : LATER_FLOW,
              false);
    chain->jammed = ray && chain->watch.ray;
    if (chain->jammed) {
      return;
    }
  }
}

// Solves within a budget. If the guess is near, first tries its modes. Then runs sweeps, and the
// flow with the remaining budget. (Newton instead of the flow would not solve more problems, and
// passes through worse points.) Returns the work.
static double pile_within(S2SolveRun *chain, const S2SolverOptions *options,
                          const double *lambda_guess) {
  S2System *system = &chain->system;
  double sweep = SWEEP_WORK * system->units, overhead = OVERHEAD_SWEEPS * sweep;
  double budget = fmin(options->budget, S2_PATIENCE);
  bool solved = s2_run_solved(chain);
  if (solved && (!options->fresh || budget < FEW_SWEEPS * sweep)) {
    return overhead;
  }
  if (budget < FEW_SWEEPS * sweep) {
    int sweeps = (int)fmax(LEAST_SWEEPS, budget / sweep);
    pile_sweep(chain, sweeps);
    return overhead + sweeps * sweep;
  }
  s2_system_prepare(system, chain->arena);
  double blocks = pile_blocks(chain);
  int most = (int)(budget / blocks), sweeps = 0;
  if (solved && most > 0) {
    pdipm_refine(chain);
  } else if (!solved && is_warm(chain, lambda_guess) && chain->best < PILE_NEAR) {
    pile_finish(chain, most - most / 2);
  }
  // Run sweeps, then the flow.
  if (!s2_run_solved(chain)) {
    double left = fmax(0, budget - blocks * system->spent);
    // If the budget suffices for the whole flow, limit the sweeps as in a solve without a budget.
    int usual = chain->best < PILE_NEAR ? NEAR_SWEEPS : FAR_SWEEPS;
    int limit = left > ROOMY * blocks ? usual : MOST_SWEEPS;
    sweeps = (int)fmin(limit, fmax(LEAST_SWEEPS, SWEEPS_SHARE * left / sweep));
    most = (int)(fmax(0, left - sweeps * sweep) / blocks);
    pile_flow(chain, sweeps, most, true);
  }
  if (is_worth_refining(chain)) {
    pdipm_refine(chain);
  }
  return overhead + blocks * system->spent + sweeps * sweep;
}

// Starts from the guess. First checks whether it already solves the problem. For piles, solves in
// the modes of the guess, then runs the first flow. In impacts and without friction, the flow runs
// even without a guess. For other problems, takes a few Newton steps, then warm-starts the
// interior-point method, which would lose the modes of a pile. Returns true if the flow ran.
static bool solve_warm(S2SolveRun *chain, const S2SolverOptions *options, bool thorough,
                       const double *lambda_guess) {
  const S2System *system = &chain->system;
  // For bodies at rest, the guess is the solution.
  bool solved = s2_run_solved(chain);
  if (solved && !options->fresh) {
    return false;
  }
  s2_system_prepare(&chain->system, chain->arena);
  if (system->contacts == 0 || solved) {
    pdipm_refine(chain);
    return false;
  }
  bool warm = is_warm(chain, lambda_guess), near = chain->best < PILE_NEAR;
  if (is_pile(chain)) {
    if (warm) {
      pile_finish(chain, INT_MAX);
    }
    bool anyway = options->impact || !is_rough(chain);
    bool flows = !s2_run_solved(chain) && (warm || (thorough && anyway));
    if (flows) {
      int most = options->attempt > 0 ? options->attempt : FIRST_FLOW;
      pile_flow(chain, near ? NEAR_SWEEPS : FAR_SWEEPS, most, false);
    }
    return flows;
  }
  // The active set of the last step is nearly correct, so try Newton, then the interior-point
  // method.
  if (warm) {
    pdipm_newton(chain, &warm_way);
  }
  if (warm && !s2_run_solved(chain)) {
    s2_run_back(chain);
    pdipm_interior(chain, &(S2InteriorStart){.warm = true, .floor = WARM_FLOOR}, WARM_ITERATIONS);
  }
  return false;
}

// Continues after the first interior-point run. For piles, runs the flow if it has not been tried.
// Then returns true if the problem provably has no solution. Otherwise runs the remaining attempts
// for piles.
static bool cold_search(S2SolveRun *chain, const S2SolverOptions *options, bool flowed) {
  bool pile = is_pile(chain);
  if (pile && !flowed && !s2_run_solved(chain)) {
    s2_run_back(chain);
    pile_flow(chain, FAR_SWEEPS, FIRST_FLOW, false);
  }
  if (!s2_run_solved(chain) &&
      (chain->watch.asked
           ? chain->watch.proved
           : s2_mcp_conflict_quick(chain->system.problem, options, NULL, chain->arena))) {
    return true;
  }
  if (pile) {
    pile_search_on(chain, options->max_iterations);
  }
  return false;
}

// Returns true if the problem provably has no solution, which ends the search.
static bool solve_cold(S2SolveRun *chain, const S2SolverOptions *options, bool thorough,
                       bool flowed) {
  static const S2InteriorStart starts[] = {
      {.impulse = 1, .velocity = 1},
      {.impulse = 3, .velocity = 3, .spread = 1, .seed = 1},
      {.impulse = 1, .velocity = 1, .spread = 2, .seed = 2},
      {.impulse = 3, .velocity = 3, .spread = 2, .seed = 3},
  };
  // Number of Gauss-Seidel sweeps from zero impulses before Newton. 0 means POLISH_SWEEPS sweeps
  // from the best point. Some starts begin at zero impulses, because a further start is needed only
  // if Newton has failed from the best point.
  static const int fresh_sweeps[] = {0, 20, 0, 40};
  // Each start runs the interior-point method, then sweeps, then Newton. The first start also runs
  // the search before the sweeps.
  bool pile = is_pile(chain);
  double most = INFINITY; // factorisations
  if (pile) {
    most = S2_PATIENCE / pile_blocks(chain);
  }
  for (int i = 0; i < (int)(sizeof starts / sizeof *starts) && !s2_run_solved(chain) &&
                  chain->system.spent < most;
       i++) {
    pdipm_interior(chain, &starts[i], options->max_iterations);
    if (!thorough) {
      return false;
    }
    if (i == 0 && cold_search(chain, options, flowed)) {
      return true;
    }
    if ((pile && flowed) || chain->jammed) { // Newton hardly ever succeeds from another start here
      return false;
    }
    if (!s2_run_solved(chain)) {
      s2_run_back(chain);
      // Sweeps from zero impulses move away from the point at which Newton stalled.
      if (fresh_sweeps[i] > 0) {
        memset(chain->lambda, 0, sizeof(double) * (size_t)(2 * chain->system.units));
      }
      pdipm_sweep(chain, fresh_sweeps[i] > 0 ? fresh_sweeps[i] : POLISH_SWEEPS);
      S2NewtonWay way = s2_newton_cold;
      way.outers *= options->max_iterations;
      way.most = i == 0 ? FIRST_NEWTON : way.most;
      way.most = (int)fmin(way.most, most - chain->system.spent);
      pdipm_newton(chain, &way);
    }
  }
  return false;
}

typedef struct Question { // arguments of is_hopeless
  const S2Problem *problem;
  const S2SolverOptions *options;
  S2Arena *arena;
} Question;

static bool is_hopeless(void *user) {
  const Question *of = user;
  return s2_mcp_conflict_quick(of->problem, of->options, NULL, of->arena);
}

static S2SolveStatus pdipm_solve(const S2Problem *problem, const S2SolverOptions *options,
                                 bool thorough, S2Arena *arena, S2Solution *solution) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2SolveRun chain = s2_run_begin(problem, options, solution, arena);
  if (options->bounded && is_pile(&chain)) {
    solution->work = pile_within(&chain, options, solution->lambda);
    solution->cut = s2_run_end(&chain, solution) != S2_SOLVED;
    s2_arena_rewind(arena, mark);
    return solution->status;
  }
  Question question = {problem, options, arena};
  // A solve that is not thorough may be part of a proof, and does not start another one.
  if (thorough) {
    chain.watch = (S2FlowWatch){.hopeless = is_hopeless, .user = &question};
  }
  bool flowed = solve_warm(&chain, options, thorough, solution->lambda);
  if (is_worth_refining(&chain)) {
    pdipm_refine(&chain);
  }
  // Continue only if there are contacts, because solve_warm solves pure equations to full
  // precision. With `attempt`, a solve with friction ends after the flow. Other solves continue
  // with the interior-point method.
  bool ends = options->attempt > 0 && flowed;
  bool on = !s2_run_solved(&chain) && chain.system.contacts > 0 && !(ends && is_rough(&chain));
  bool proved = on && solve_cold(&chain, options, thorough && !ends, flowed);
  s2_run_end(&chain, solution);
  solution->work = is_pile(&chain) ? chain.system.spent * pile_blocks(&chain) : 0;
  if (proved && solution->status != S2_SOLVED) {
    solution->status = S2_INFEASIBLE;
  } else if (chain.jammed && solution->status != S2_SOLVED) {
    solution->status = S2_RAY;
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
