// Which contacts at the joints of a chain's segments, or of a body's pieces, are real. Private to
// collide/.
#ifndef S2_CHAIN_H
#define S2_CHAIN_H

#include "shape/shape.h"

#include <stdbool.h>

// A segment of a chain, or a piece that lies beside others of its body.
bool s2_is_joined(const S2Shape *shape);

// Whether a contact at vertex `vertex` of a joined shape is this shape's to report. `direction` is
// the unit normal of the contact, from the shape to the other one, in the frame of the shape.
// `against_edge`: the other shape touches with an edge, not with a vertex.
//
// At a joint a contact is real when its direction lies between the normals of the two edges of the
// outline on the convex side. Exactly one of the shapes there reports it: the one whose normal is
// (about) the nearer.
bool s2_corner_owns(const S2Shape *shape, int vertex, S2Vec2 direction, bool against_edge);

// Whether the place `at`, m along edge `edge` of `length`, is in front of this edge, not beyond a
// joint or where another piece of the body lies.
bool s2_side_has(const S2Shape *shape, int edge, double at, double length, double tolerance);

// The length, m, by which an edge is extended beyond one of its ends; 0 unless the corner is
// hollow. *normal: outward unit normal of the next edge of the outline, in the frame of the shape.
double s2_side_overhang(const S2Shape *shape, int edge, bool at_end, S2Vec2 *normal);

// Is none of an edge on the outline of its body?
static inline bool s2_side_is_inner(const S2Shape *shape, int edge) {
  return shape->sides != NULL && shape->sides[edge].from > shape->sides[edge].to;
}

#endif
