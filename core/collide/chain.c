#include "collide/chain.h"

#include "collide/placed.h"

#include <math.h>

// Rounding error of the sine of an angle between unit vectors, with a margin for poses far from the
// origin.
static const double ANGLE_ROUNDING = 1e-12;

// rad: a joint between two segments counts as straight if it bends by less than this. An edge
// across a straight joint rests on its own two ends.
static const double STRAIGHT = 1e-9;

// An edge that rests on two joints of a hill tilts slightly, and its normal then leaves the cone of
// one joint. If that joint lost its contact, the edge would rock for ever. So the edge may tilt by
// this fraction of the bend, but at most by TILT_MAX rad. At a straight joint no tilt is allowed,
// because it would create a false contact.
static const double TILT_FRACTION = 0.25;
static const double TILT_MAX = 0.01;

// The cone of a joint is divided between the two segments at this ratio of sines. It is not divided
// in the middle, because rounding would then decide symmetric scenes.
static const double DIVISION = 0.86;

static bool is_chained(const S2Shape *shape) {
  return shape->count == 2 && (shape->has_previous || shape->has_next);
}

bool s2_is_joined(const S2Shape *shape) {
  return shape->sides != NULL || is_chained(shape);
}

// At a concave corner, a vertex can sink into one side while it still touches the other. So if the
// sine of the bend exceeds SHARP, each edge extends beyond the corner by the fraction OVERHANG of
// the shorter segment. In flatter corners one side alone supports the vertex.
static const double SHARP = 0.1;
static const double OVERHANG = 0.1;

static S2Vec2 chain_unit(S2Vec2 from, S2Vec2 to) {
  S2Vec2 along = s2_sub(to, from);
  return s2_scale(1 / s2_length(along), along);
}

// Returns the directions of the outline before and after a vertex, and the edges there that belong
// to the shape.
static S2Side chain_side(const S2Shape *segment, int vertex) {
  const S2Vec2 *v = segment->vertices;
  bool joint = vertex == 0 ? segment->has_previous : segment->has_next;
  if (!joint) {
    return (S2Side){.owns_in = 1, .owns_out = 1};
  }
  return (S2Side){
      .in = vertex == 0 ? chain_unit(segment->previous, v[0]) : chain_unit(v[0], v[1]),
      .out = vertex == 0 ? chain_unit(v[0], v[1]) : chain_unit(v[1], segment->next),
      .owns_in = vertex == 1,
      .owns_out = vertex == 0,
  };
}

bool s2_corner_owns(const S2Shape *shape, int vertex, S2Vec2 direction, bool against_edge) {
  S2Side side = shape->sides != NULL ? shape->sides[vertex] : chain_side(shape, vertex);
  if (side.owns_in > 0 && side.owns_out > 0) {
    return true;
  }
  // Sines of two angles. The first is how far the direction is past the normal of the first edge.
  // The second is how far it is short of the normal of the second edge.
  double beyond = s2_dot(direction, side.in);
  double before = -s2_dot(direction, side.out);
  double slack = ANGLE_ROUNDING;
  bool to_the_right = s2_dot(direction, s2_right(s2_add(side.in, side.out))) > 0;
  // An edge across a convex joint may tilt slightly. At a straight joint such a contact would be
  // false.
  if (against_edge) {
    double bend = to_the_right ? s2_cross(side.in, side.out) : -s2_cross(side.in, side.out);
    if (bend <= STRAIGHT) {
      return false;
    }
    slack += fmin(TILT_FRACTION * bend, TILT_MAX);
  }
  // Check that the direction is between the two normals, on the outside, and in this shape's part
  // of the cone.
  if (beyond < -slack || before < -slack || (shape->sides != NULL && !to_the_right)) {
    return false;
  }
  double past = beyond - DIVISION * before;
  return (side.owns_in > 0 && past <= ANGLE_ROUNDING) ||
         (side.owns_out > 0 && past >= -ANGLE_ROUNDING);
}

// `in` and `out` are the directions of the outline before and after the vertex; the solid is on
// their left.
static bool is_hollow(S2Vec2 in, S2Vec2 out) {
  double sine = s2_cross(in, out) / (s2_length(in) * s2_length(out));
  return sine < -SHARP || (sine < -STRAIGHT && s2_dot(in, out) < 0);
}

static double chain_overhang(const S2Shape *segment, int edge, bool at_end, S2Vec2 *normal) {
  int vertex = (edge == 0) == at_end ? 1 : 0;
  if (vertex == 0 ? !segment->has_previous : !segment->has_next) {
    return 0;
  }
  S2Vec2 joint = segment->vertices[vertex];
  S2Vec2 own = s2_sub(segment->vertices[1 - vertex], joint);
  S2Vec2 other = s2_sub(vertex == 0 ? segment->previous : segment->next, joint);
  // The outline's directions before and after the vertex; the outward normal is on their right.
  S2Vec2 in = at_end ? s2_neg(own) : s2_neg(other), out = at_end ? other : own;
  *normal = s2_scale(1 / s2_length(other), s2_right(at_end ? out : in));
  return is_hollow(in, out) ? OVERHANG * fmin(s2_length(in), s2_length(out)) : 0;
}

double s2_side_overhang(const S2Shape *shape, int edge, bool at_end, S2Vec2 *normal) {
  if (shape->sides == NULL) {
    return is_chained(shape) ? chain_overhang(shape, edge, at_end, normal) : 0;
  }
  int after = s2_edge_end(shape, edge);
  const S2Side *joint = &shape->sides[at_end ? after : edge];
  double length = s2_length(s2_sub(shape->vertices[after], shape->vertices[edge]));
  double over = at_end ? shape->sides[edge].to - length : -shape->sides[edge].from;
  *normal = s2_right(at_end ? joint->out : joint->in);
  return isfinite(over) && is_hollow(joint->in, joint->out) ? fmax(over, 0) : 0;
}

bool s2_side_has(const S2Shape *shape, int edge, double at, double length, double tolerance) {
  if (shape->sides != NULL) {
    return at >= shape->sides[edge].from - tolerance && at <= shape->sides[edge].to + tolerance;
  }
  bool joint_at_start = edge == 0 ? shape->has_previous : shape->has_next;
  bool joint_at_end = edge == 0 ? shape->has_next : shape->has_previous;
  S2Vec2 unused;
  double before = joint_at_start ? chain_overhang(shape, edge, false, &unused) : INFINITY;
  double after = joint_at_end ? chain_overhang(shape, edge, true, &unused) : INFINITY;
  return at >= -before - tolerance && at <= length + after + tolerance;
}
