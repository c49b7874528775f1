// Private to core/dynamics/rattle: a stage of a piece (rattle_stage.c), what its rows miss
// (rattle_residual.c) and its certified problems (rattle_certified.c).
#ifndef S2_RATTLE_STAGE_H
#define S2_RATTLE_STAGE_H

#include "dynamics/rattle/rattle.h"

typedef struct S2RattleStage {
  S2Rattle *rattle;
  bool second;
  S2Problem problem; // of the rows; bounds of x
  S2Row *row;
  double *mass, *rhs; // 3 a node
  double *x, *v, *r;  // a row: impulses; 3 a node: their velocities; a row: what it is off, m/s
  S2RattleState *state;
  // Rows that are held, in their order
  S2Problem active;
  S2Row *part;
  S2RowSides *left;
  double *change;
  int32_t *index;
  int held;
  bool dense;    // rows make a dense graph, which has no pattern
  double turned; // m: by how much late rows have changed what they push
} S2RattleStage;

// Is the impulse no unknown?
static inline bool s2_stage_knows(S2RattleState state) {
  return state == S2_RATTLE_GIVEN || state == S2_RATTLE_KNOWN;
}

// rattle_residual.c
// r of all rows at the impulses x; the largest of those that are held, as a displacement, m.
double s2_stage_measure(S2RattleStage *stage);
// r of stage 1 at the velocities v: (g(q1) - from)/h + C l + b.
void s2_stage_measure_first(S2RattleStage *stage, const double *v);
// As stage 1 is linearised first: at velocities 0 of the nodes, with the ground at its end.
void s2_stage_stand_still(S2RattleStage *stage);
// The residual of the stage's problem with the measured rows.
S2Residual s2_stage_certificate(S2RattleStage *stage);
// Is the scaled residual of the stage at most that? Then it counts.
bool s2_stage_accept(S2RattleStage *stage, double most);
double s2_stage_clip(S2RattleState state, const S2Row *row, double x);
void s2_stage_free_given(S2RattleStage *stage); // rows that were left out are held again

// rattle_ground.c: turns the rows of ground friction to where the solution of the stage moves. m/s:
// how far the forces were from the law of the disc.
double s2_stage_turn_ground(S2RattleStage *stage);

// rattle_certified.c
// Impulses and, of joints alone, states; false: it has no solution.
bool s2_stage_solve_certified(S2RattleStage *stage);
// The same by the modes of the problem, whose answer is exact, where there are such.
bool s2_stage_solve_modes(S2RattleStage *stage);
// Certified problems alone, each linearised where the one before has led: for graphs that have no
// pattern, and sets that do not settle.
bool s2_stage_solve_symmetric(S2RattleStage *stage);
bool s2_stage_solve_contacts(S2RattleStage *stage);
// Writes the problem of the stage, linear about its solution, where the world writes its problems.
void s2_stage_dump(S2RattleStage *stage);

#endif
