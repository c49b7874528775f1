// Shared by the relaxation solvers (nsgs, pgs, si, nncg, pcg): the start from the guess, sweeps
// over the units of the scaled system, checks of the residual, and the conversion of the result. A
// solver has this structure:
//
//     begin;  do { some sweeps } while (check);  end
#ifndef S2_RELAXATION_H
#define S2_RELAXATION_H

#include "mcp/chain/pdipm_system.h"
#include "mcp/solvers.h"

// Number of sweeps per unit of S2SolverOptions.max_iterations. Callers choose max_iterations for
// methods that factor a matrix. In pyramids, one such iteration costs as much as 8 sweeps, but tens
// of iterations achieve as much as thousands of sweeps.
enum { S2_SWEEPS_PER_ITERATION = 100 };

// A check of the residual costs about as much as a sweep, so it runs only every few sweeps.
enum { S2_SWEEPS_PER_CHECK = 4 };

typedef struct S2Relaxation {
  S2System system;
  S2Arena *arena;
  const S2SolverOptions *options;
  S2ArenaMark mark;
  S2Response *coupling; // coupling of each unit
  S2Quad *v;            // velocities that lambda gives; rounding errors accumulate between checks
  double *lambda, *lambda_best, *u;
  // residual at the last check, and the smallest residual so far (that of lambda_best)
  double residual, best;
  int sweeps, limit;
  double milestone; // residual when the run last made noticeable progress
  int progress;     // number of sweeps up to that time
} S2Relaxation;

// Starts from the impulses in `solution`, or from zero impulses if they have a smaller residual.
// The guess may contain any numbers. Returns false if the start already solves the problem.
bool s2_relaxation_begin(S2Relaxation *run, const S2Problem *problem,
                         const S2SolverOptions *options, S2Arena *arena,
                         const S2Solution *solution);

// Recomputes the velocities, computes the residual, keeps the best point and records the history.
// Returns true if the run should continue.
bool s2_relaxation_check(S2Relaxation *run);

// Writes the best point into `solution` and releases the scratch memory.
S2SolveStatus s2_relaxation_end(S2Relaxation *run, S2Solution *solution);

// The rule by which a step relaxes the rows of a unit. All three rules converge only to solutions
// of Coulomb's law.
typedef enum S2SweepRule {
  // Relax the normal row, then the tangent row within the bound of the new normal impulse.
  S2_SWEEP_ROWS,
  // Relax the tangent row within the bound of the last normal impulse, then the normal row.
  S2_SWEEP_IMPULSES,
  S2_SWEEP_BLOCKS // Solve both rows together exactly.
} S2SweepRule;

// Makes one sweep over all units. omega over-relaxes rows, but not blocks.
void s2_relaxation_sweep(S2Relaxation *run, S2SweepRule rule, double omega, bool backward);

#endif
