// Contacts at the joints between segments of a chain, or between pieces of a body. Decides which of
// them are real. Private to collide/.
#ifndef S2_CHAIN_H
#define S2_CHAIN_H

#include "shape/shape.h"

#include <stdbool.h>

// Returns true if the shape is a segment of a chain, or a piece that adjoins other pieces of its
// body.
bool s2_is_joined(const S2Shape *shape);

// Returns true if this joined shape reports a contact at its vertex `vertex`. `direction` is the
// unit normal of the contact, from this shape to the other shape, in the frame of this shape.
// `against_edge` is true if the other shape touches with an edge instead of a vertex.
//
// A contact at a joint is real if its direction is between the normals of the two edges of the
// outline on the convex side. Exactly one of the shapes there reports it: the one with
// (approximately) the nearer normal.
bool s2_corner_owns(const S2Shape *shape, int vertex, S2Vec2 direction, bool against_edge);

// Returns true if the position `at` (m along edge `edge`, whose length is `length`) is on the
// outline. It is not if it is beyond a joint, or where the edge adjoins another piece of the body.
bool s2_side_has(const S2Shape *shape, int edge, double at, double length, double tolerance);

// Returns the length (m) by which an edge extends beyond one of its ends, or 0 if the corner there
// is not concave. *normal receives the outward unit normal of the next edge of the outline, in the
// frame of the shape.
double s2_side_overhang(const S2Shape *shape, int edge, bool at_end, S2Vec2 *normal);

// Returns true if the whole edge is hidden inside the outline of its body.
static inline bool s2_side_is_inner(const S2Shape *shape, int edge) {
  return shape->sides != NULL && shape->sides[edge].from > shape->sides[edge].to;
}

#endif
