// Private to core/dynamics/rattle: a stage of a piece.
// The functions are in rattle_stage.c, rattle_residual.c (residuals of rows) and rattle_certified.c
// (certified problems).
#ifndef S2_RATTLE_STAGE_H
#define S2_RATTLE_STAGE_H

#include "dynamics/rattle/rattle.h"

typedef struct S2RattleStage {
  S2Rattle *rattle;
  bool second;
  S2Problem problem; // all rows, with the bounds of x
  S2Row *row;
  double *mass, *rhs; // 3 per node.
  // impulses x per row, velocities v (3 per node), residuals r per row (m/s)
  double *x, *v, *r;
  S2RattleState *state;
  // the held rows, in order
  S2Problem active;
  S2Row *part;
  S2RowSides *left;
  double *change;
  int32_t *index;
  int held;
  bool dense;    // true if the graph of the rows is dense, so there is no sparse pattern
  double turned; // displacement error (m) due to changed directions of late rows
} S2RattleStage;

// Returns true if the impulse of a row is known and therefore not an unknown of the stage.
static inline bool s2_stage_knows(S2RattleState state) {
  return state == S2_RATTLE_GIVEN || state == S2_RATTLE_KNOWN;
}

// Functions in rattle_residual.c.
// Computes the residuals r of all rows at the impulses x. Returns the largest error of a held row,
// as a displacement (m).
double s2_stage_measure(S2RattleStage *stage);
// Computes the residuals of stage 1 at the velocities v.
// r = (g(q1) - from)/h + C l + b
void s2_stage_measure_first(S2RattleStage *stage, const double *v);
// Linearises stage 1 with nodes at rest and the ground at its final pose.
void s2_stage_stand_still(S2RattleStage *stage);
// Computes the residual of the stage's problem with the current rows.
S2Residual s2_stage_certificate(S2RattleStage *stage);
// Returns true if the scaled residual of the stage is at most `most`, and records the residual.
bool s2_stage_accept(S2RattleStage *stage, double most);
double s2_stage_clip(S2RattleState state, const S2Row *row, double x);
void s2_stage_free_given(S2RattleStage *stage); // holds redundant rows again.

// Aligns the ground friction rows with the motion of the stage's solution. Returns the error (m/s)
// of the friction law. (rattle_ground.c)
double s2_stage_turn_ground(S2RattleStage *stage);

// Functions in rattle_certified.c.
// Finds the impulses of the stage and, if there are no contacts, the states of its rows. Returns
// false if there is no solution.
bool s2_stage_solve_certified(S2RattleStage *stage);
// Finds impulses. If the contact modes of the problem can be found, the solution is exact.
bool s2_stage_solve_modes(S2RattleStage *stage);
// Solves a sequence of certified problems, each linearised at the previous solution. This is used
// if the constraint graph is dense or if the active set does not converge.
bool s2_stage_solve_symmetric(S2RattleStage *stage);
bool s2_stage_solve_contacts(S2RattleStage *stage);
// Writes the problem of the stage to a file if the world requires it. The problem is linearised at
// its solution.
void s2_stage_dump(S2RattleStage *stage);

#endif
