// Private to core/dynamics/rattle: a stage of a piece (rattle_stage.c), the residuals of its rows
// (rattle_residual.c) and its certified problems (rattle_certified.c).
#ifndef S2_RATTLE_STAGE_H
#define S2_RATTLE_STAGE_H

#include "dynamics/rattle/rattle.h"

typedef struct S2RattleStage {
  S2Rattle *rattle;
  bool second;
  S2Problem problem; // all rows, with bounds of x
  S2Row *row;
  double *mass, *rhs; // 3 per node
  double *x, *v, *r;  // per row: impulses; 3 per node: their velocities; per row: residual, m/s
  S2RattleState *state;
  // the held rows, in their order
  S2Problem active;
  S2Row *part;
  S2RowSides *left;
  double *change;
  int32_t *index;
  int held;
  bool dense;    // the rows form a dense graph, which has no sparse pattern
  double turned; // m: displacement error from changed directions of late rows
} S2RattleStage;

// Whether the impulse of a row is known, so it is not an unknown.
static inline bool s2_stage_knows(S2RattleState state) {
  return state == S2_RATTLE_GIVEN || state == S2_RATTLE_KNOWN;
}

// rattle_residual.c
// Computes r of all rows at the impulses x. Returns the largest error of a held row, as a
// displacement, m.
double s2_stage_measure(S2RattleStage *stage);
// Computes r of stage 1 at the velocities v: (g(q1) - from)/h + C l + b.
void s2_stage_measure_first(S2RattleStage *stage, const double *v);
// Linearises stage 1 with nodes at rest and the ground at its final pose.
void s2_stage_stand_still(S2RattleStage *stage);
// The residual of the stage's problem with the measured rows.
S2Residual s2_stage_certificate(S2RattleStage *stage);
// Whether the scaled residual of the stage is at most `most`. If so, it is recorded.
bool s2_stage_accept(S2RattleStage *stage, double most);
double s2_stage_clip(S2RattleState state, const S2Row *row, double x);
void s2_stage_free_given(S2RattleStage *stage); // holds redundant rows again

// rattle_ground.c: turns the rows of ground friction to the motion of the stage's solution. Returns
// the error in the law of the disc, m/s.
double s2_stage_turn_ground(S2RattleStage *stage);

// rattle_certified.c
// Finds impulses and, if there are no contacts, states. False: there is no solution.
bool s2_stage_solve_certified(S2RattleStage *stage);
// Finds impulses. If the problem has modes, they are used, and the solution is exact.
bool s2_stage_solve_modes(S2RattleStage *stage);
// Solves only certified problems, each linearised at the solution of the previous one. This is for
// graphs without a sparse pattern, and for active sets that do not settle.
bool s2_stage_solve_symmetric(S2RattleStage *stage);
bool s2_stage_solve_contacts(S2RattleStage *stage);
// Writes the problem of the stage, linearised at its solution, if the world writes its problems.
void s2_stage_dump(S2RattleStage *stage);

#endif
