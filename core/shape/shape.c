#include "shape/shape.h"

#include <math.h>

// Feature ids of contacts hold a vertex index in 15 bits.
enum { MAX_VERTICES = 32768 };

static const double PI = 3.14159265358979323846; // because M_PI is not part of C17.

// Minimum sine of the turn at a corner. The direction of smaller turns depends on rounding.
static const double MIN_TURN_SINE = 1e-9;

static const double TURN_TOLERANCE = 1e-3; // rad, small enough to distinguish numbers of full turns

static bool is_finite(S2Vec2 p) {
  return isfinite(p.x) && isfinite(p.y);
}

static S2Status check_vertices(const S2Shape *shape) {
  for (int i = 0; i < shape->count; i++) {
    S2Vec2 v = shape->vertices[i];
    if (!is_finite(v)) {
      return s2_error(S2_INVALID, "vertex %d is (%g, %g); it must be finite", i + 1, v.x, v.y);
    }
    if (fabs(v.x) > S2_SHAPE_MAX_SIZE || fabs(v.y) > S2_SHAPE_MAX_SIZE) {
      return s2_error(S2_INVALID, "vertex %d is (%g, %g); coordinates must be within +-%g m", i + 1,
                      v.x, v.y, S2_SHAPE_MAX_SIZE);
    }
  }
  for (int i = 0; shape->count > 1 && i < shape->count; i++) {
    int j = (i + 1) % shape->count;
    double length = s2_length(s2_sub(shape->vertices[j], shape->vertices[i]));
    if (length < S2_SHAPE_MIN_SIZE) {
      return s2_error(S2_INVALID, "vertices %d and %d are %g m apart; at least %g m are needed",
                      i + 1, j + 1, length, S2_SHAPE_MIN_SIZE);
    }
  }
  return s2_ok();
}

static S2Status check_convex(const S2Shape *shape) {
  int n = shape->count;
  double turned = 0;
  for (int i = 0; i < n; i++) {
    int middle = (i + 1) % n;
    S2Vec2 in = s2_sub(shape->vertices[middle], shape->vertices[i]);
    S2Vec2 out = s2_sub(shape->vertices[(i + 2) % n], shape->vertices[middle]);
    double sine = s2_cross(in, out) / (s2_length(in) * s2_length(out));
    if (!(sine > MIN_TURN_SINE)) {
      return s2_error(S2_INVALID,
                      "the outline does not turn left at vertex %d (sine of the turn %g); vertices "
                      "must go counter-clockwise around a convex polygon",
                      middle + 1, sine);
    }
    turned += atan2(s2_cross(in, out), s2_dot(in, out));
  }
  if (fabs(turned - 2 * PI) > TURN_TOLERANCE) {
    return s2_error(S2_INVALID, "the outline goes around %.0f times; it must go around once",
                    turned / (2 * PI));
  }
  // Reject slivers, which have long edges but are too thin.
  for (int i = 0; i < n; i++) {
    S2Vec2 start = shape->vertices[i];
    S2Vec2 along = s2_sub(shape->vertices[(i + 1) % n], start);
    double length = s2_length(along), thickness = 0;
    for (int k = 0; k < n && thickness < S2_SHAPE_MIN_SIZE; k++) { // start at the opposite vertex
      S2Vec2 vertex = shape->vertices[(i + n / 2 + k) % n];
      double height = s2_cross(along, s2_sub(vertex, start)) / length;
      thickness = height > thickness ? height : thickness;
    }
    if (thickness < S2_SHAPE_MIN_SIZE) {
      return s2_error(S2_INVALID,
                      "the polygon is %g m thick above edge %d; at least %g m are needed",
                      thickness, i + 1, S2_SHAPE_MIN_SIZE);
    }
  }
  return s2_ok();
}

static S2Status check_neighbour(S2Vec2 neighbour, S2Vec2 end, const char *name) {
  if (!is_finite(neighbour)) {
    return s2_error(S2_INVALID, "the %s point of the chain is (%g, %g); it must be finite", name,
                    neighbour.x, neighbour.y);
  }
  double length = s2_length(s2_sub(neighbour, end));
  if (length < S2_SHAPE_MIN_SIZE) {
    return s2_error(
        S2_INVALID,
        "the %s point of the chain is %g m from the end of the segment; at least %g m are needed",
        name, length, S2_SHAPE_MIN_SIZE);
  }
  return s2_ok();
}

S2Status s2_shape_check(const S2Shape *shape) {
  if (shape->count < 1 || shape->count > MAX_VERTICES) {
    return s2_error(S2_INVALID, "a shape has %d vertices; it must have 1 to %d", shape->count,
                    MAX_VERTICES);
  }
  if (!(shape->radius >= 0 && shape->radius <= S2_SHAPE_MAX_SIZE)) {
    return s2_error(S2_INVALID, "radius is %g; it must be from 0 to %g m", shape->radius,
                    S2_SHAPE_MAX_SIZE);
  }
  if (shape->count == 1 && shape->radius < S2_SHAPE_MIN_SIZE) {
    return s2_error(S2_INVALID, "radius is %g; the radius of a circle must be at least %g m",
                    shape->radius, S2_SHAPE_MIN_SIZE);
  }
  // Check that polygons are convex. Circles and segments always are.
  S2_TRY(check_vertices(shape));
  if (shape->count > 2) {
    S2_TRY(check_convex(shape));
  }
  // Only segments can be part of a chain. Neighbouring points must be distinct.
  if ((shape->has_previous || shape->has_next) && shape->count != 2) {
    return s2_error(S2_INVALID, "a shape in a chain has %d vertices; it must have 2", shape->count);
  }
  if (shape->has_previous) {
    S2_TRY(check_neighbour(shape->previous, shape->vertices[0], "previous"));
  }
  if (shape->has_next) {
    S2_TRY(check_neighbour(shape->next, shape->vertices[1], "next"));
  }
  return s2_ok();
}

double s2_shape_reach(const S2Shape *shape) {
  double reach = 0;
  for (int i = 0; i < shape->count; i++) {
    reach = fmax(reach, s2_length(shape->vertices[i]));
  }
  return reach + shape->radius;
}

S2Box s2_shape_box(const S2Shape *shape, S2Pose pose) {
  S2Vec2 first = s2_rotate(pose.rotation, shape->vertices[0]);
  S2Box box = {first, first};
  for (int i = 1; i < shape->count; i++) {
    S2Vec2 v = s2_rotate(pose.rotation, shape->vertices[i]);
    // Avoid fmin and fmax, because they are function calls.
    box.lo = s2_vec2(v.x < box.lo.x ? v.x : box.lo.x, v.y < box.lo.y ? v.y : box.lo.y);
    box.hi = s2_vec2(v.x > box.hi.x ? v.x : box.hi.x, v.y > box.hi.y ? v.y : box.hi.y);
  }
  // Extend the box by the radius.
  S2Vec2 margin = {shape->radius, shape->radius};
  box.lo = s2_add(pose.position, s2_sub(box.lo, margin));
  box.hi = s2_add(pose.position, s2_add(box.hi, margin));
  return box;
}

bool s2_shape_contains(const S2Shape *shape, S2Pose pose, S2Vec2 point) {
  S2Vec2 p = s2_pose_local(pose, point);
  double radius2 = shape->radius * shape->radius;
  if (shape->count == 1) {
    return s2_length2(s2_sub(p, shape->vertices[0])) <= radius2;
  }
  bool inside = shape->count > 2;
  double nearest2 = INFINITY;
  // A point is inside if it is to the left of all edges, or within the radius of an edge.
  for (int i = 0; i < shape->count; i++) {
    S2Vec2 start = shape->vertices[i];
    S2Vec2 along = s2_sub(shape->vertices[(i + 1) % shape->count], start);
    S2Vec2 to = s2_sub(p, start);
    inside = inside && s2_cross(along, to) >= 0;
    double t = fmin(fmax(s2_dot(to, along) / s2_length2(along), 0), 1);
    nearest2 = fmin(nearest2, s2_length2(s2_sub(to, s2_scale(t, along))));
  }
  return inside || nearest2 <= radius2;
}
