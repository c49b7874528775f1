#include "collide/collide.h"
#include "collide/placed.h"

#include <math.h>

// Part of an edge that it is longer at each end, so that no ray slips through a corner by rounding.
static const double END_SLACK = 1e-14;

typedef struct Ray {
  S2Vec2 from, along; // frame of the shape; from + t along, t in 0..1
} Ray;

static void take_earlier(S2RayHit *hit, double fraction, S2Vec2 normal) {
  if (fraction >= 0 && fraction <= 1 && (!hit->hit || fraction < hit->fraction)) {
    hit->hit = true;
    hit->fraction = fraction;
    hit->normal = normal;
  }
}

// Enters the disc about `centre`. The ray's nearest point to the centre first: the textbook
// discriminant loses its digits far away.
static void cast_disc(S2RayHit *hit, const Ray *ray, S2Vec2 centre, double radius) {
  // Pythagoras: half the chord is the root of r^2 - d^2, in parts of the ray's length.
  double length2 = s2_length2(ray->along);
  double nearest = s2_dot(s2_sub(centre, ray->from), ray->along) / length2;
  S2Vec2 offset = s2_sub(s2_add_scaled(ray->from, nearest, ray->along), centre);
  double half2 = radius * radius - s2_length2(offset);
  if (half2 < 0) {
    return;
  }
  double half = sqrt(half2 / length2);
  S2Vec2 outward = s2_add_scaled(offset, -half, ray->along);
  take_earlier(hit, nearest - half, s2_scale(1 / radius, outward));
}

// Crosses, from outside, the edge p -> q moved outwards by `radius`.
static void cast_edge(S2RayHit *hit, const Ray *ray, S2Vec2 p, S2Vec2 q, S2Vec2 normal,
                      double radius) {
  double approach = -s2_dot(ray->along, normal);
  if (approach <= 0) {
    return; // leaving, or along the edge
  }
  // Where the ray meets the edge's line, and whether that is between its ends.
  S2Vec2 to = s2_sub(ray->from, p);
  double fraction = (s2_dot(to, normal) - radius) / approach;
  S2Vec2 at = s2_add_scaled(to, fraction, ray->along);
  S2Vec2 edge = s2_sub(q, p);
  double along = s2_dot(at, edge);
  double slack = END_SLACK * s2_length2(edge);
  if (along >= -slack && along <= s2_length2(edge) + slack) {
    take_earlier(hit, fraction, normal);
  }
}

S2RayHit s2_shape_raycast(const S2Shape *shape, S2Pose pose, S2Vec2 from, S2Vec2 to) {
  S2RayHit hit = {0};
  S2Vec2 along = s2_sub(to, from);
  if (!(s2_length2(along) > 0) || s2_shape_contains(shape, pose, from)) {
    return hit;
  }
  // In the frame of the shape; the outline of a rounded one is discs and edges moved out.
  Ray ray = {s2_pose_local(pose, from), s2_unrotate(pose.rotation, along)};
  // The outline is discs at the vertices and edges moved outwards: the first that is met.
  for (int i = 0; i < shape->count; i++) {
    S2Vec2 p = shape->vertices[i];
    if (shape->radius > 0) {
      cast_disc(&hit, &ray, p, shape->radius);
    }
    if (shape->count > 1) {
      S2Vec2 q = shape->vertices[s2_edge_end(shape, i)];
      cast_edge(&hit, &ray, p, q, s2_edge_normal(shape, i), shape->radius);
    }
  }
  // Back to the world.
  if (hit.hit) {
    hit.point = s2_add_scaled(from, hit.fraction, along);
    hit.normal = s2_rotate(pose.rotation, hit.normal);
  }
  return hit;
}
