// The largest separation of two cores along an edge's normal, and their nearest vertices. Private
// to collide/.
//
// The distance between the cores is the largest separation over all directions. While the cores are
// apart, the largest separation in the plane is either along an edge's normal or between two
// vertices. So no iteration is needed.
#ifndef S2_SEPARATION_H
#define S2_SEPARATION_H

#include "collide/placed.h"

typedef struct S2Axis {
  int edge;          // -1 if the shape has no edge (a circle)
  int support;       // vertex of the other shape that is deepest along the normal
  double separation; // m, distance of that vertex from the edge's line; -INFINITY without an edge
  double length;     // m, length of the edge
} S2Axis;

// Returns the edge of `placed` whose separation from `other` is largest. If several edges are
// equal, the lowest index is taken.
S2Axis s2_separation(const S2Placed *placed, const S2Placed *other);

// Like s2_separation, but only over the edges of `placed` that are on the outline of its body.
S2Axis s2_outline_separation(const S2Placed *placed, const S2Placed *other);
// The separation of one edge of `placed`.
S2Axis s2_edge_separation(const S2Placed *placed, const S2Placed *other, int edge);

// Returns the separation beyond the ends of a segment, along its direction, or -INFINITY if
// `placed` is not a segment. Together with the separations along normals, it decides whether two
// collinear segments touch.
double s2_end_separation(const S2Placed *placed, const S2Placed *other);

// Finds the nearest pair of vertices and returns their distance. If several pairs are equally near,
// the lowest indices are taken.
double s2_nearest_vertices(const S2Placed *a, const S2Placed *b, int *vertex_a, int *vertex_b);

#endif
