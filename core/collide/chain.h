// Decides which contacts at the joints of a chain's segments, or of a body's pieces, are real.
// Private to collide/.
#ifndef S2_CHAIN_H
#define S2_CHAIN_H

#include "shape/shape.h"

#include <stdbool.h>

// Whether the shape is a segment of a chain, or a piece that adjoins other pieces of its body.
bool s2_is_joined(const S2Shape *shape);

// Whether this joined shape reports a contact at its vertex `vertex`. `direction` is the unit
// normal of the contact, from the shape to the other one, in the frame of the shape.
// `against_edge`: the other shape touches with an edge, not with a vertex.
//
// A contact at a joint is real if its direction is between the normals of the two edges of the
// outline on the convex side. Exactly one of the shapes there reports it: the one with
// (approximately) the nearer normal.
bool s2_corner_owns(const S2Shape *shape, int vertex, S2Vec2 direction, bool against_edge);

// Whether the position `at` (m along edge `edge`, whose length is `length`) is on the outline: not
// beyond a joint, and not at another piece of the body.
bool s2_side_has(const S2Shape *shape, int edge, double at, double length, double tolerance);

// The length, m, by which an edge is extended beyond one of its ends; 0 unless the corner is
// hollow. *normal: outward unit normal of the next edge of the outline, in the frame of the shape.
double s2_side_overhang(const S2Shape *shape, int edge, bool at_end, S2Vec2 *normal);

// Whether no part of an edge is on the outline of its body.
static inline bool s2_side_is_inner(const S2Shape *shape, int edge) {
  return shape->sides != NULL && shape->sides[edge].from > shape->sides[edge].to;
}

#endif
