// The largest separation of two cores along an edge's normal, and their nearest vertices. Private
// to collide/.
//
// In the plane these two separations determine the distance between the cores, which is the largest
// separation over all directions. While the cores are apart, this largest separation is either
// along an edge's normal or between two vertices. So no iteration is needed.
#ifndef S2_SEPARATION_H
#define S2_SEPARATION_H

#include "collide/placed.h"

typedef struct S2Axis {
  int edge;          // -1: the shape has no edge (a circle)
  int support;       // vertex of the other shape that is deepest along the normal
  double separation; // m, distance of that vertex from the edge's line; -INFINITY without an edge
  double length;     // m, length of the edge
} S2Axis;

// The edge of `placed` with the largest separation from the nearest vertex of `other`. Ties go to
// the lowest index.
S2Axis s2_separation(const S2Placed *placed, const S2Placed *other);

// The largest separation over the edges that are on the outline of the body of `placed`.
S2Axis s2_outline_separation(const S2Placed *placed, const S2Placed *other);
// The separation of one edge of `placed`.
S2Axis s2_edge_separation(const S2Placed *placed, const S2Placed *other, int edge);

// Separation beyond the ends of a segment, along its direction; -INFINITY if `placed` is not a
// segment. With the separations along normals, it decides whether two collinear segments touch.
double s2_end_separation(const S2Placed *placed, const S2Placed *other);

// Finds the nearest pair of vertices and returns their distance. Ties go to the lowest indices.
double s2_nearest_vertices(const S2Placed *a, const S2Placed *b, int *vertex_a, int *vertex_b);

#endif
