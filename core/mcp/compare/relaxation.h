// Shared by the relaxation solvers (nsgs, pgs, si, nncg, pcg): the guess, sweeps over the units of
// the scaled system, checks of the residual, and the conversion of the result.
//
//     begin;  do { some sweeps } while (check);  end
#ifndef S2_RELAXATION_H
#define S2_RELAXATION_H

#include "mcp/chain/pdipm_system.h"
#include "mcp/solvers.h"

// Sweeps for each of S2SolverOptions.max_iterations, which callers choose for methods that factor a
// matrix. One such iteration costs as much as 8 sweeps (pyramids of 3 and 10 rows). But tens of
// iterations achieve what thousands of sweeps do.
enum { S2_SWEEPS_PER_ITERATION = 100 };

// A check of the residual costs about as much as a sweep, so it runs only every few sweeps.
enum { S2_SWEEPS_PER_CHECK = 4 };

typedef struct S2Relaxation {
  S2System system;
  S2Arena *arena;
  const S2SolverOptions *options;
  S2ArenaMark mark;
  S2Response *coupling; // of each unit
  S2Quad *v;            // of lambda, up to the rounding of the sweeps since the last check
  double *lambda, *lambda_best, *u;
  double residual, best; // at the last check; the smallest so far, at lambda_best
  int sweeps, limit;
  double milestone; // residual at the last noticeable progress
  int progress;     // number of sweeps at that time
} S2Relaxation;

// Starts from the solution's impulses, or from zeros if those have the smaller residual (a guess
// may hold any numbers). False: the start already solves the problem.
bool s2_relaxation_begin(S2Relaxation *run, const S2Problem *problem,
                         const S2SolverOptions *options, S2Arena *arena,
                         const S2Solution *solution);

// Recomputes the velocities, measures, keeps the best point, writes the history. True: continue.
bool s2_relaxation_check(S2Relaxation *run);

// Writes the best point into `solution` and releases the scratch memory.
S2SolveStatus s2_relaxation_end(S2Relaxation *run, S2Solution *solution);

// The rows that one step relaxes. All three rules have the same fixed points: solutions of
// Coulomb's law.
typedef enum S2SweepRule {
  S2_SWEEP_ROWS,     // one row: normal, then tangent within the bound of the new normal impulse
  S2_SWEEP_IMPULSES, // one row: tangent within the bound of the last normal impulse, then normal
  S2_SWEEP_BLOCKS    // one unit, exactly
} S2SweepRule;

// One sweep over all units; omega over-relaxes rows (not blocks).
void s2_relaxation_sweep(S2Relaxation *run, S2SweepRule rule, double omega, bool backward);

#endif
