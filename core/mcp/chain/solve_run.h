// One solve on the scaled system: the point a method works on, the best point met so far, and the
// way back to the caller's units. What pdipm, newton, al and ncp share.
#ifndef S2_SOLVE_RUN_H
#define S2_SOLVE_RUN_H

#include "mcp/chain/pdipm_stages.h"

typedef struct S2SolveRun {
  S2System system;
  S2Arena *arena;
  double tolerance, best;           // scaled residuals; of the best point
  S2Quad *v, *v_best;               // nodes + 1
  double *lambda, *lambda_best, *u; // 2 a unit; u: what s2_run_measure leaves
  int iterations;                   // factorisations
  S2FlowWatch watch;
  bool jammed; // flows from two starts ended on rays
} S2SolveRun;

// Scales the problem and judges the guess of impulses, with the velocities that belong to it.
// Everything is taken from `arena`: mark it before, rewind it after s2_run_end.
S2SolveRun s2_run_begin(const S2Problem *problem, const S2SolverOptions *options,
                        const S2Solution *guess, S2Arena *arena);

// Judges (v, lambda), which becomes the best point when it is better. Returns its residual.
double s2_run_measure(S2SolveRun *run);
void s2_run_keep(S2SolveRun *run, double residual); // the same, its residual known
void s2_run_back(S2SolveRun *run);                  // (v, lambda) := the best point
bool s2_run_solved(const S2SolveRun *run);

// Makes (v, lambda) the best point or the one without impulses, whichever is better.
void s2_run_start(S2SolveRun *run);

// Writes the best point; judged by what the caller sees.
S2SolveStatus s2_run_end(S2SolveRun *run, S2Solution *solution);

#endif
