#include "collide/separation.h"
#include "collide/chain.h"

#include <math.h>

// Returns the separation along the normal of an edge. `offset` is the position of `other` in the
// frame of `placed`.
static inline S2Axis separation_along(const S2Placed *placed, const S2Placed *other, S2Vec2 offset,
                                      int edge) {
  const S2Shape *against = other->shape;
  S2Vec2 normal = s2_edge_normal(placed->shape, edge);
  // Rotate the normal to the frame of `other`, to find the lowest vertex.
  S2Vec2 turned = s2_unrotate(other->pose.rotation, s2_rotate(placed->pose.rotation, normal));
  // Search in the frame of `other`, in which its vertices are given.
  int support = 0;
  double least = s2_dot(turned, against->vertices[0]);
  for (int k = 1; k < against->count; k++) {
    double height = s2_dot(turned, against->vertices[k]);
    if (height < least) {
      least = height;
      support = k;
    }
  }
  // The height of the lowest vertex above the edge.
  double separation = s2_dot(normal, s2_sub(offset, placed->shape->vertices[edge])) + least;
  return (S2Axis){.edge = edge, .support = support, .separation = separation};
}

// The position of `other` in the frame of `placed`, so that the vertices of `placed` need no
// rotation.
static S2Vec2 separation_offset(const S2Placed *placed, const S2Placed *other) {
  return s2_unrotate(placed->pose.rotation, s2_sub(other->pose.position, placed->pose.position));
}

static void set_axis_length(const S2Shape *shape, S2Axis *axis) {
  int end = s2_edge_end(shape, axis->edge);
  axis->length = s2_length(s2_sub(shape->vertices[end], shape->vertices[axis->edge]));
}

static inline S2Axis separation_of(const S2Placed *placed, const S2Placed *other, bool outline) {
  const S2Shape *shape = placed->shape;
  S2Axis best = {.edge = -1, .separation = -INFINITY};
  S2Vec2 offset = separation_offset(placed, other);
  // Use the largest separation of all edges.
  for (int i = 0; shape->count > 1 && i < shape->count; i++) {
    if (outline && s2_side_is_inner(shape, i)) {
      continue;
    }
    S2Axis axis = separation_along(placed, other, offset, i);
    best = axis.separation > best.separation ? axis : best;
  }
  if (best.edge >= 0) {
    set_axis_length(shape, &best);
  }
  return best;
}

S2Axis s2_edge_separation(const S2Placed *placed, const S2Placed *other, int edge) {
  S2Axis axis = separation_along(placed, other, separation_offset(placed, other), edge);
  set_axis_length(placed->shape, &axis);
  return axis;
}

S2Axis s2_separation(const S2Placed *placed, const S2Placed *other) {
  return separation_of(placed, other, false);
}

S2Axis s2_outline_separation(const S2Placed *placed, const S2Placed *other) {
  return separation_of(placed, other, true);
}

double s2_end_separation(const S2Placed *placed, const S2Placed *other) {
  if (placed->shape->count != 2) {
    return -INFINITY;
  }
  S2Vec2 start = s2_placed_vertex(placed, 0);
  S2Vec2 along = s2_sub(s2_placed_vertex(placed, 1), start);
  double length = s2_length(along);
  double lowest = INFINITY, highest = -INFINITY;
  // The other shape's extent along the segment.
  for (int k = 0; k < other->shape->count; k++) {
    double at = s2_dot(s2_sub(s2_placed_vertex(other, k), start), along) / length;
    lowest = fmin(lowest, at);
    highest = fmax(highest, at);
  }
  return fmax(lowest - length, -highest);
}

double s2_nearest_vertices(const S2Placed *a, const S2Placed *b, int *vertex_a, int *vertex_b) {
  double nearest2 = INFINITY;
  *vertex_a = *vertex_b = 0;
  for (int i = 0; i < a->shape->count; i++) {
    // Compare in b's frame, so that only one of the two shapes is rotated.
    S2Vec2 p = s2_unrotate(b->pose.rotation, s2_sub(s2_placed_vertex(a, i), b->pose.position));
    for (int k = 0; k < b->shape->count; k++) {
      double distance2 = s2_length2(s2_sub(p, b->shape->vertices[k]));
      if (distance2 < nearest2) {
        nearest2 = distance2;
        *vertex_a = i;
        *vertex_b = k;
      }
    }
  }
  return sqrt(nearest2);
}
