// What the relaxation solvers (nsgs, pgs, si, nncg, pcg) share: the guess, sweeps over the units of
// the scaled system, looking at the residual now and then, and the way back to the caller.
//
//     begin;  do { some sweeps } while (check);  end
#ifndef S2_RELAXATION_H
#define S2_RELAXATION_H

#include "mcp/chain/pdipm_system.h"
#include "mcp/solvers.h"

// Sweeps for each of S2SolverOptions.max_iterations, which callers choose for methods that factor
// a matrix. One iteration of those costs as much as 8 sweeps (pyramids of 3 and 10 rows), but tens
// of them do what takes thousands of sweeps.
enum { S2_SWEEPS_PER_ITERATION = 100 };

// A look at the residual costs about as much as a sweep, so there is one every so many sweeps.
enum { S2_SWEEPS_PER_CHECK = 4 };

typedef struct S2Relaxation {
  S2System system;
  S2Arena *arena;
  const S2SolverOptions *options;
  S2ArenaMark mark;
  S2Response *coupling; // of each unit
  S2Quad *v;            // belongs to lambda, up to the rounding of the sweeps since the last check
  double *lambda, *lambda_best, *u;
  double residual, best; // at the last check; the least so far, that of lambda_best
  int sweeps, limit;
  double milestone; // least residual when there last was noticeable progress
  int progress;     // sweeps by then
} S2Relaxation;

// Starts from the solution's impulses, or from zeros where these have the smaller residual (a guess
// may be anything). True when there is something to do.
bool s2_relaxation_begin(S2Relaxation *run, const S2Problem *problem,
                         const S2SolverOptions *options, S2Arena *arena,
                         const S2Solution *solution);

// Recomputes the velocities, measures, keeps the best point, writes the history. True: go on.
bool s2_relaxation_check(S2Relaxation *run);

// Writes the best point into `solution` and gives the scratch memory back.
S2SolveStatus s2_relaxation_end(S2Relaxation *run, S2Solution *solution);

// What is solved at a time. All three have the same fixed points, those of Coulomb's law.
typedef enum S2SweepRule {
  S2_SWEEP_ROWS,     // one row: normal, then tangent within the bound of the new normal impulse
  S2_SWEEP_IMPULSES, // one row: tangent within the bound of the last normal impulse, then normal
  S2_SWEEP_BLOCKS    // one unit, exactly
} S2SweepRule;

// One sweep over all units; omega over-relaxes rows (blocks take no notice).
void s2_relaxation_sweep(S2Relaxation *run, S2SweepRule rule, double omega, bool backward);

#endif
