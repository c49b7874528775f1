// Shapes. There is one type: a convex core polygon of 1 or more vertices plus a radius. A circle is
// one vertex and a radius, a capsule two, a segment two with radius 0, a polygon three or more
// (counter-clockwise). Vertices are in the body frame: origin at the centre of mass.
#ifndef S2_SHAPE_H
#define S2_SHAPE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"

#include <stdint.h>

// Of a piece of a body, edge i and vertex i as parts of the body's outline. Numbers alone, so that
// they can be kept among vertices.
typedef struct S2Side {
  double from, to; // m along the edge from vertex i: what is beyond belongs to other pieces or lies
                   // against them; from > to: all of it. At a hollow they are a little beyond it
  S2Vec2 in, out;  // unit: in which directions the body's outline comes to the vertex and leaves it
  double owns_in, owns_out; // 1: this piece has the edge in that direction, 0: another one
} S2Side;

// Geometry only, borrowed: the vertices belong to someone else and must outlive the view.
typedef struct S2Shape {
  const S2Vec2 *vertices; // m
  int count;              // >= 1
  double radius;          // m, >= 0; > 0 when count == 1
  // Terrain chains only (count == 2): the neighbours' far ends, so that a body gliding from one
  // segment to the next meets no corner that is not there.
  bool has_previous, has_next;
  S2Vec2 previous, next;
  // Pieces of bodies only: a side a vertex, so that a body gliding over an inner cut meets nothing.
  // NULL: the piece lies beside no other.
  const S2Side *sides;
} S2Shape;

typedef struct S2MassProperties {
  double area;    // m^2; 0 for a bare segment
  double length;  // m, of a bare segment; 0 for a shape with an area
  S2Vec2 centre;  // centroid, m
  double inertia; // second polar moment about the centroid: of area, m^4; of a bare segment's
                  // length, m^3
} S2MassProperties;

// Smallest size accepted, m: below it contact arithmetic loses its digits. And the largest.
#define S2_SHAPE_MIN_SIZE 1e-6
#define S2_SHAPE_MAX_SIZE 1e6

// Checks finite numbers, sizes, convexity and order; messages name the offending value.
S2Status s2_shape_check(const S2Shape *shape);

// Exact, rounded corners included: polygon + strips along the edges + sectors at the vertices.
S2MassProperties s2_shape_mass(const S2Shape *shape);

// Largest distance of a point of the shape from the body's origin, m.
double s2_shape_reach(const S2Shape *shape);

S2Box s2_shape_box(const S2Shape *shape, S2Pose pose);
bool s2_shape_contains(const S2Shape *shape, S2Pose pose, S2Vec2 point);

// Convex hull, counter-clockwise, no three vertices in line. `hull` holds `count` at least; returns
// the number of hull vertices, fewer than 3 when the points are (nearly) in line.
int s2_hull(const S2Vec2 *points, int count, S2Vec2 *hull);

// Splits a simple polygon (either orientation) into convex counter-clockwise pieces, taken from
// `arena`, each of which passes s2_shape_check. Vertices nearer than S2_SHAPE_MIN_SIZE are one, and
// parts thinner than that are left out. Errors: fewer than 3 vertices, repeated or collinear
// vertices only, edges that cross or touch (decided exactly); the message names the vertices
// (1-based). A convex polygon gives one piece.
typedef struct S2Pieces {
  int count;
  int *sizes;        // vertices per piece
  S2Vec2 **vertices; // per piece
} S2Pieces;
S2Status s2_decompose(const S2Vec2 *points, int count, S2Arena *arena, S2Pieces *pieces);

// Writes to sides[i] what of piece i is on the outline of the body that they are pieces of, NULL
// for one that lies beside no other. Sharp polygons only; memory from `arena`.
void s2_sides(const S2Shape *pieces, int count, S2Arena *arena, S2Side **sides);

#endif
