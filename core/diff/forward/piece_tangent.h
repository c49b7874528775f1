// Forward derivatives of a piece of the two-stage flow that small/ has solved. Private to
// core/diff/forward and core/diff/linear.
#ifndef S2_PIECE_TANGENT_H
#define S2_PIECE_TANGENT_H

#include "dynamics/small/small.h"

// A field of a joint that depends on one column: the goal of a servo (index S2_JOINT_SERVO) or the
// speed of a motor (index S2_JOINT_MOTOR).
typedef struct S2FieldTangent {
  int32_t joint; // slot
  int index, column;
  double amount; // derivative of the field
} S2FieldTangent;

// Derivatives of the state of an island in several directions, one direction per column. The last
// column is the direction of the length of the piece, whose other derivatives are 0 at the start.
typedef struct S2PieceTangent {
  int columns;
  double *q, *v;       // (3 per node) x columns: in, at the start of the piece; out, at its end
  const double *force; // (3 per node) x columns
  int fields;
  const S2FieldTangent *field;
} S2PieceTangent;

// Differentiates the piece. `dt` is the length of the step (s). Returns false, and leaves the
// derivatives unchanged, if the piece has no derivative, or if a row is on the edge between two
// states of the active set.
bool s2_piece_tangent(const S2Small *piece, double dt, S2PieceTangent *tangent, S2Arena *arena);

// Differentiates an impact, which changes only the velocities. Returns false, and leaves the
// derivatives unchanged, if it has no derivative or if a row is on an edge.
bool s2_impact_tangent(const S2SmallImpact *impact, S2PieceTangent *tangent, S2Arena *arena);

// Returns true and sets `length` (1 per column) if the piece ends when a limit closes. `length` is
// then the derivative of the time of that end. `tangent` contains the derivatives at the end.
bool s2_piece_closing(const S2Small *piece, const S2PieceTangent *tangent, double *length);

#endif
