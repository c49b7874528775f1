// A shape at its pose, and its edges. Private to collide/. Positions are relative to the position
// of the first shape of the pair, so that they are accurate far from the origin.
#ifndef S2_PLACED_H
#define S2_PLACED_H

#include "shape/shape.h"

typedef struct S2Placed {
  const S2Shape *shape;
  S2Pose pose;
} S2Placed;

// Edge i leads from vertex i to the next vertex. A segment has two edges, one for each side.
static inline int s2_edge_end(const S2Shape *shape, int edge) {
  return edge + 1 < shape->count ? edge + 1 : 0;
}

static inline S2Vec2 s2_placed_vertex(const S2Placed *placed, int vertex) {
  return s2_pose_point(placed->pose, placed->shape->vertices[vertex]);
}

// Outward unit normal in the frame of the shape.
static inline S2Vec2 s2_edge_normal(const S2Shape *shape, int edge) {
  S2Vec2 along = s2_sub(shape->vertices[s2_edge_end(shape, edge)], shape->vertices[edge]);
  return s2_scale(1 / s2_length(along), s2_right(along));
}

#endif
