// Shapes. There is one type: a convex core polygon of 1 or more vertices plus a radius. A circle
// has one vertex and a radius, a capsule has two vertices and a radius, a segment has two vertices
// and radius 0, and a polygon has three or more vertices (counter-clockwise). Vertices are in the
// body frame: origin at the centre of mass.
#ifndef S2_SHAPE_H
#define S2_SHAPE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"

#include <stdint.h>

// Edge i and vertex i of a piece, as parts of the outline of its body. The structure contains only
// doubles, so that it can be stored among vertices.
typedef struct S2Side {
  // Only the part from .. to of the edge (m, measured from vertex i) is on the outline of the body.
  // If from > to, no part is. The other parts are inside other pieces or touch them. At a concave
  // corner, `from` and `to` are slightly beyond the corner.
  double from, to;
  S2Vec2 in, out;           // unit vectors: directions of the body's outline before and after the
                            // vertex
  double owns_in, owns_out; // 1: this piece has the edge in that direction; 0: another piece has it
} S2Side;

// Geometry only. The vertices belong to another owner and must outlive this view.
typedef struct S2Shape {
  const S2Vec2 *vertices; // m
  int count;              // >= 1
  double radius;          // m, >= 0; > 0 if count == 1.
  // For terrain chains (count == 2): the far ends of the neighbours, so that a body that slides
  // from one segment to the next does not hit a false corner.
  bool has_previous, has_next;
  S2Vec2 previous, next;
  // For pieces of bodies: one side for each vertex, so that a body that slides over an internal cut
  // does not hit a corner there. NULL: the piece has no neighbour.
  const S2Side *sides;
} S2Shape;

typedef struct S2MassProperties {
  double area;   // m^2; 0 for a segment without radius
  double length; // m, length of a segment without radius; 0 for a shape with an area
  S2Vec2 centre; // centroid, m.
  // second polar moment about the centroid: of area, m^4; of length, m^3, for a segment without
  // radius
  double inertia;
} S2MassProperties;

// The smallest and the largest accepted size, m. Below the smallest size, contact arithmetic loses
// digits.
#define S2_SHAPE_MIN_SIZE 1e-6
#define S2_SHAPE_MAX_SIZE 1e6

// Checks that all numbers are finite, and checks sizes, convexity and order. Messages name the
// offending value.
S2Status s2_shape_check(const S2Shape *shape);

// Computes the exact moments, including rounded corners: polygon + strips along the edges + sectors
// at the vertices.
S2MassProperties s2_shape_mass(const S2Shape *shape);

// Largest distance of a point of the shape from the body's origin, m.
double s2_shape_reach(const S2Shape *shape);

S2Box s2_shape_box(const S2Shape *shape, S2Pose pose);
bool s2_shape_contains(const S2Shape *shape, S2Pose pose, S2Vec2 point);

// Computes the convex hull, counter-clockwise, without collinear vertices. `hull` must have space
// for `count` points. Returns the number of hull vertices, fewer than 3 if the points are (nearly)
// in line.
int s2_hull(const S2Vec2 *points, int count, S2Vec2 *hull);

// Splits a simple polygon (in either orientation) into convex counter-clockwise pieces, allocated
// from `arena`. Each piece passes s2_shape_check. Vertices that are closer than S2_SHAPE_MIN_SIZE
// are merged, and thinner parts are omitted. Errors: fewer than 3 vertices, only repeated or
// collinear vertices, edges that cross or touch (decided exactly); the message names the vertices
// (1-based). A convex polygon gives one piece.
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
