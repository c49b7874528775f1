// All shapes have the same type. A shape is a convex core with a radius. A circle has one vertex, a
// capsule or segment has two, and a polygon has three or more in counter-clockwise order. The
// radius of a segment is 0. Vertices are in the body frame, with the centre of mass at the origin.
#ifndef S2_SHAPE_H
#define S2_SHAPE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"

#include <stdint.h>

// Describes how edge i and vertex i of a piece belong to the outline of its body. Only contains
// doubles, so that it can be stored among vertices.
typedef struct S2Side {
  // The part of the edge that is on the outline of the body, in m from vertex i. The remaining
  // parts are inside other pieces or touch them. Empty if from > to. At a concave corner this part
  // extends slightly beyond the corner.
  double from, to;
  S2Vec2 in, out;           // unit directions of the body's outline before and after the vertex
  double owns_in, owns_out; // 1 if the edge in that direction belongs to this piece, 0 if it
                            // belongs to another piece
} S2Side;

// Geometry only. The vertices belong to another owner and must outlive this view.
typedef struct S2Shape {
  const S2Vec2 *vertices; // m
  int count;              // >= 1
  double radius;          // m, >= 0; > 0 if count == 1.
  // The far ends of the neighbours in a terrain chain. They prevent bodies that slide from one
  // segment to the next from catching on the common vertex.
  bool has_previous, has_next;
  S2Vec2 previous, next;
  // One side per vertex for a piece of a body, or NULL if it has no neighbouring piece. They
  // prevent bodies from catching on internal cuts.
  const S2Side *sides;
} S2Shape;

typedef struct S2MassProperties {
  double area;   // m^2; 0 for a segment without radius
  double length; // m, length of a segment without radius; 0 for a shape with an area
  S2Vec2 centre; // centroid, m.
  // Second polar moment about the centroid. This is a moment of area (m^4), or of length (m^3) for
  // a segment without radius.
  double inertia;
} S2MassProperties;

// The smallest and the largest accepted size, m. Contacts of smaller shapes would be inaccurate.
#define S2_SHAPE_MIN_SIZE 1e-6
#define S2_SHAPE_MAX_SIZE 1e6

// Checks that all numbers are finite, and that the sizes, convexity and order of vertices are
// valid. Messages contain the invalid value.
S2Status s2_shape_check(const S2Shape *shape);

// Computes the exact moments of a shape, including its rounded corners.
S2MassProperties s2_shape_mass(const S2Shape *shape);

// Returns the largest distance of the shape from the body's origin, m.
double s2_shape_reach(const S2Shape *shape);

S2Box s2_shape_box(const S2Shape *shape, S2Pose pose);
bool s2_shape_contains(const S2Shape *shape, S2Pose pose, S2Vec2 point);

// Computes the convex hull, counter-clockwise and without collinear vertices. `hull` must have
// space for `count` points. Returns the number of vertices, which is less than 3 if the points are
// nearly collinear.
int s2_hull(const S2Vec2 *points, int count, S2Vec2 *hull);

// Splits a simple polygon (in either orientation) into convex counter-clockwise pieces, allocated
// from `arena`. Each piece passes s2_shape_check. A convex polygon gives one piece. Vertices that
// are closer than S2_SHAPE_MIN_SIZE are merged, and thinner parts are omitted. Returns an error if
// there are fewer than 3 vertices, if all of them are equal or collinear, or if edges cross or
// touch. The message contains the vertices, counted from 1.
typedef struct S2Pieces {
  int count;
  int *sizes;        // number of vertices of each piece
  S2Vec2 **vertices; // per piece
} S2Pieces;
S2Status s2_decompose(const S2Vec2 *points, int count, S2Arena *arena, S2Pieces *pieces);

// Sets sides[i] to the parts of piece i that are on the outline of the body, or to NULL if the
// piece has no neighbour. All pieces must be polygons without radius. The memory is taken from
// `arena`.
void s2_sides(const S2Shape *pieces, int count, S2Arena *arena, S2Side **sides);

#endif
