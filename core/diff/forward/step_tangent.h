// Forward derivatives of a recorded step. They need no sweeps, but support only bodies in free
// flight and islands whose pieces and impacts small/ describes. Private to
// core/diff/forward and core/diff/linear.
#ifndef S2_STEP_TANGENT_H
#define S2_STEP_TANGENT_H

#include "diff/forward/piece_tangent.h"
#include "diff/linear/lines.h"
#include "dynamics/trace/notes.h"

// Derivatives of the state of all bodies with columns in S2Lines, in several directions. The last
// direction is working memory for lengths of pieces. Its derivatives are 0 between steps.
typedef struct S2Tangents {
  int n, columns;
  double *q, *v; // n x columns
  double *force; // n x columns: derivatives of the forces on bodies in the step
  int fields;
  S2FieldTangent *field;
} S2Tangents;

S2Tangents s2_tangents_new(int n, int directions, int inputs, S2Arena *arena);
// Adds the change of the forces of the current commands, which turn with the poses. Called before
// the step.
S2Status s2_tangents_turn(S2World *world, S2Arena *arena, S2Tangents *tangents);
// Moves the derivatives over the step that the notes record. Returns false if it does not support
// the step. The derivatives are then unchanged.
bool s2_step_tangent(const S2World *world, const S2Notes *notes, const S2Lines *lines,
                     S2Arena *arena, S2Tangents *tangents);

#endif
