// One solve on the scaled system: the current point of a method, the best point so far, and the
// conversion to the caller's units. Shared by the solvers pdipm, newton, al and ncp.
#ifndef S2_SOLVE_RUN_H
#define S2_SOLVE_RUN_H

#include "mcp/chain/pdipm_stages.h"

typedef struct S2SolveRun {
  S2System system;
  S2Arena *arena;
  double tolerance, best;           // best: scaled residual of the best point
  S2Quad *v, *v_best;               // nodes + 1 entries
  double *lambda, *lambda_best, *u; // 2 per unit; s2_run_measure sets u
  int iterations;                   // factorisations
  S2FlowWatch watch;
  bool jammed; // true if two consecutive flows ended on rays
} S2SolveRun;

// Scales the problem and measures the guessed impulses with the velocities that they give. All
// memory comes from `arena`. Mark the arena before this call and rewind it after s2_run_end.
S2SolveRun s2_run_begin(const S2Problem *problem, const S2SolverOptions *options,
                        const S2Solution *guess, S2Arena *arena);

// Computes the residual of (v, lambda), and keeps this point if it is the best so far. Returns the
// residual.
double s2_run_measure(S2SolveRun *run);
void s2_run_keep(S2SolveRun *run, double residual); // like s2_run_measure, with a known residual
void s2_run_back(S2SolveRun *run);                  // (v, lambda) := the best point
bool s2_run_solved(const S2SolveRun *run);

// Sets (v, lambda) to the best point, or to zero impulses if they are better.
void s2_run_start(S2SolveRun *run);

// Writes the best point to `solution`. The status depends on the residual in the caller's units.
S2SolveStatus s2_run_end(S2SolveRun *run, S2Solution *solution);

#endif
