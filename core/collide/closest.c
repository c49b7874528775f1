#include "collide/collide.h"

#include <math.h>

S2Closest s2_closest(const S2Shape *a, S2Pose pose_a, const S2Shape *b, S2Pose pose_b) {
  // Use only the shapes themselves, even if they belong to chains.
  S2Shape alone_a = {.vertices = a->vertices, .count = a->count, .radius = a->radius};
  S2Shape alone_b = {.vertices = b->vertices, .count = b->count, .radius = b->radius};
  S2Manifold manifold;
  s2_collide(&alone_a, pose_a, &alone_b, pose_b, INFINITY, &manifold);
  if (manifold.count == 0) { // possible only if a pose is NaN
    S2Vec2 none = {NAN, NAN};
    return (S2Closest){NAN, none, none, none};
  }
  // Take the contact point with the smaller gap. It is half way between the two surfaces.
  const S2ManifoldPoint *closest = &manifold.points[0];
  if (manifold.count == 2 && manifold.points[1].gap < closest->gap) {
    closest = &manifold.points[1];
  }
  S2Vec2 middle = s2_add(pose_a.position, closest->point);
  return (S2Closest){
      .distance = closest->gap,
      .point_a = s2_add_scaled(middle, closest->gap / 2, closest->normal),
      .point_b = s2_add_scaled(middle, -closest->gap / 2, closest->normal),
      .normal = closest->normal,
  };
}
