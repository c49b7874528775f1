#include "collide/chain.h"
#include "collide/collide.h"
#include "collide/placed.h"

#include <float.h>
#include <math.h>

// Rounding error of a point in the frame of a shape, relative to the coordinates from which it is
// computed.
static const double POINT_ROUNDING = 16 * DBL_EPSILON;

// A ray is parallel to a line or surface if the sine of the angle between them is smaller than
// this.
static const double ALONG_SINE = 1e-12;

// Each edge is made longer by this fraction at both ends, so that no ray passes through a corner
// because of rounding.
static const double END_SLACK = 1e-14;

typedef struct Ray {
  S2Vec2 from, along; // the ray in the frame of the shape: from + t along, with t in 0..1
} Ray;

static void take_earlier(S2RayHit *hit, double fraction, S2Vec2 normal) {
  if (fraction >= 0 && fraction <= 1 && (!hit->hit || fraction < hit->fraction)) {
    hit->hit = true;
    hit->fraction = fraction;
    hit->normal = normal;
  }
}

// Records where the ray enters the disc about `centre`. First computes the point of the ray nearest
// to the centre, because the usual discriminant is inaccurate at large distances.
static void cast_disc(S2RayHit *hit, const Ray *ray, S2Vec2 centre, double radius) {
  // By Pythagoras, half the chord is the root of r^2 - d^2. Convert it to a fraction of the ray's
  // length.
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

// Returns true if the position `to`, measured from the start of an edge, is on the outline of the
// body.
static bool on_outline(const S2Shape *shape, int i, S2Vec2 to) {
  S2Vec2 edge = s2_sub(shape->vertices[s2_edge_end(shape, i)], shape->vertices[i]);
  double length = s2_length(edge);
  return shape->sides == NULL || s2_side_has(shape, i, s2_dot(to, edge) / length, length, 0);
}

// Records where the ray crosses edge i from outside. The edge is moved outwards by the radius.
static void cast_edge(S2RayHit *hit, const Ray *ray, const S2Shape *shape, int i) {
  S2Vec2 p = shape->vertices[i], q = shape->vertices[s2_edge_end(shape, i)];
  S2Vec2 normal = s2_edge_normal(shape, i);
  double radius = shape->radius;
  double approach = -s2_dot(ray->along, normal);
  if (approach <= 0) {
    return; // the ray leaves the shape or runs along the edge
  }
  // The ray must meet the line of the edge between the ends of the edge.
  S2Vec2 to = s2_sub(ray->from, p);
  double fraction = (s2_dot(to, normal) - radius) / approach;
  S2Vec2 at = s2_add_scaled(to, fraction, ray->along);
  S2Vec2 edge = s2_sub(q, p);
  double along = s2_dot(at, edge);
  double slack = END_SLACK * s2_length2(edge);
  if (along >= -slack && along <= s2_length2(edge) + slack && on_outline(shape, i, at)) {
    take_earlier(hit, fraction, normal);
  }
}

// ---- Rays that begin on a surface -------------------------------------------------------------

static bool is_bare_segment(const S2Shape *shape) {
  return shape->count == 2 && shape->radius == 0;
}

static bool runs_along(const S2Shape *shape, const Ray *ray) {
  S2Vec2 along = s2_sub(shape->vertices[1], shape->vertices[0]);
  return fabs(s2_cross(ray->along, along)) <= ALONG_SINE * s2_length(ray->along) * s2_length(along);
}

// Finds the point of the core nearest to the start of the ray. Sets *inside if the start is within
// the core.
static S2Vec2 ray_nearest(const S2Shape *shape, S2Vec2 from, bool *inside) {
  S2Vec2 nearest = shape->vertices[0];
  double least2 = s2_length2(s2_sub(from, nearest));
  *inside = shape->count > 2;
  for (int i = 0; shape->count > 1 && i < shape->count; i++) {
    S2Vec2 start = shape->vertices[i];
    S2Vec2 along = s2_sub(shape->vertices[s2_edge_end(shape, i)], start);
    S2Vec2 to = s2_sub(from, start);
    double part = fmin(fmax(s2_dot(to, along) / s2_length2(along), 0), 1);
    double distance2 = s2_length2(s2_sub(to, s2_scale(part, along)));
    *inside = *inside && s2_cross(along, to) >= 0;
    if (distance2 < least2) {
      least2 = distance2;
      nearest = s2_add_scaled(start, part, along);
    }
  }
  return nearest;
}

static void hit_at_start(S2RayHit *hit, S2Vec2 normal) {
  *hit = (S2RayHit){.hit = true, .on_surface = true, .normal = normal};
}

// The ray starts in a polygon without radius. It hits at its start if it points inwards from every
// edge that the start lies on. The normal belongs to the edge that the ray would have crossed last.
static void begin_on_polygon(S2RayHit *hit, const S2Shape *shape, const Ray *ray, double depth) {
  double length = s2_length(ray->along), last = -INFINITY;
  S2Vec2 normal = {0, 0};
  for (int i = 0; i < shape->count; i++) {
    S2Vec2 n = s2_edge_normal(shape, i);
    double height = s2_dot(n, s2_sub(ray->from, shape->vertices[i]));
    double approach = -s2_dot(n, ray->along);
    if (height < -depth || !on_outline(shape, i, s2_sub(ray->from, shape->vertices[i]))) {
      continue; // below the surface, or at an internal cut between pieces
    }
    if (approach <= ALONG_SINE * length) {
      return;
    }
    if (height / approach > last) {
      last = height / approach;
      normal = n;
    }
  }
  if (isfinite(last)) {
    hit_at_start(hit, normal);
  }
}

// A line has no inside. A ray that begins on the line and is not parallel to it passes through the
// line.
static void begin_on_line(S2RayHit *hit, const S2Shape *shape, const Ray *ray) {
  S2Vec2 normal = s2_edge_normal(shape, 0);
  double approach = -s2_dot(normal, ray->along);
  if (fabs(approach) > ALONG_SINE * s2_length(ray->along)) {
    hit_at_start(hit, s2_scale(approach > 0 ? 1 : -1, normal));
  }
}

// Returns true if the ray starts on or in the shape. Such a ray cannot hit another part of the
// shape, so its hit is decided here.
static bool ray_begins(S2RayHit *hit, const S2Shape *shape, const Ray *ray, double depth) {
  bool inside = false;
  S2Vec2 offset = s2_sub(ray->from, ray_nearest(shape, ray->from, &inside));
  double distance = s2_length(offset);
  if (is_bare_segment(shape)) {
    if (distance <= depth) {
      begin_on_line(hit, shape, ray);
    }
    return hit->hit;
  }
  if (!inside && distance > shape->radius) {
    return false;
  }
  if (shape->radius == 0) {
    begin_on_polygon(hit, shape, ray, depth);
  } else if (!inside && distance >= shape->radius - depth && distance > 0) {
    S2Vec2 normal = s2_scale(1 / distance, offset);
    if (-s2_dot(normal, ray->along) > ALONG_SINE * s2_length(ray->along)) {
      hit_at_start(hit, normal);
    }
  }
  return true;
}

// ---- Along a line -----------------------------------------------------------------------------

// A ray along a segment without radius hits the nearer end of the segment. It does not hit an end
// that is a joint of a chain, because the line continues there.
static void cast_along(S2RayHit *hit, const S2Shape *shape, const Ray *ray, double rounding) {
  const S2Vec2 *v = shape->vertices;
  S2Vec2 along = s2_sub(v[1], v[0]);
  double length = s2_length(ray->along);
  bool forward = s2_dot(ray->along, along) > 0;
  S2Vec2 to = s2_sub(forward ? v[0] : v[1], ray->from);
  double beside = fabs(s2_cross(along, to)) / s2_length(along);
  if (beside <= ALONG_SINE * s2_length(to) + rounding &&
      !(forward ? shape->has_previous : shape->has_next)) {
    double ahead = s2_dot(to, ray->along) / length;
    double fraction = ahead < 0 && ahead >= -rounding ? 0 : ahead / length;
    take_earlier(hit, fraction, s2_scale(-1 / length, ray->along));
    hit->on_surface = hit->hit; // a ray slightly beside the line would miss it
  }
}

S2RayHit s2_shape_raycast(const S2Shape *shape, S2Pose pose, S2Vec2 from, S2Vec2 to) {
  S2RayHit hit = {0};
  S2Vec2 along = s2_sub(to, from);
  if (!(s2_length2(along) > 0)) {
    return hit;
  }
  // Work in the frame of the shape. The outline of a rounded shape consists of discs and shifted
  // edges.
  Ray ray = {s2_pose_local(pose, from), s2_unrotate(pose.rotation, along)};
  double size = s2_shape_reach(shape);
  double rounding = POINT_ROUNDING * (fabs(from.x) + fabs(from.y) + fabs(pose.position.x) +
                                      fabs(pose.position.y) + size);
  bool settled = ray_begins(&hit, shape, &ray, S2_RAY_SURFACE * size + rounding);
  if (!settled && is_bare_segment(shape) && runs_along(shape, &ray)) {
    cast_along(&hit, shape, &ray, rounding);
    settled = true;
  }
  // The outline consists of discs at the vertices and of edges moved outwards. Take the first hit.
  for (int i = 0; !settled && i < shape->count; i++) {
    S2Vec2 p = shape->vertices[i];
    if (shape->radius > 0) {
      cast_disc(&hit, &ray, p, shape->radius);
    }
    if (shape->count > 1) {
      cast_edge(&hit, &ray, shape, i);
    }
  }
  // Transform the hit back to the world frame.
  if (hit.hit) {
    hit.point = s2_add_scaled(from, hit.fraction, along);
    hit.normal = s2_rotate(pose.rotation, hit.normal);
  }
  return hit;
}
