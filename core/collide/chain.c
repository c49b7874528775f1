#include "collide/chain.h"

#include <math.h>

// Rounding of the sine of an angle between unit vectors, with room for poses far from the origin.
static const double ANGLE_ROUNDING = 1e-12;

// A joint bent by less is straight, rad: an edge resting across it rests on its own two ends.
static const double STRAIGHT = 1e-9;

// An edge resting on two joints of a hill tilts a little, and then its direction leaves the cone of
// the joint it lifts from by that tilt; without that contact it would rock for ever. So much of the
// bend (and at most so much, rad) is granted. Zero at straight joints, where it would be a ghost.
static const double TILT_PART = 0.25;
static const double TILT_MAX = 0.01;

// Where the cone is divided between the two segments, as a ratio of sines. Off the middle, because
// scenes are symmetric more often than not and rounding would decide.
static const double DIVISION = 0.86;

bool s2_is_chained(const S2Shape *shape) {
  return shape->count == 2 && (shape->has_previous || shape->has_next);
}

static S2Vec2 chain_unit(S2Vec2 from, S2Vec2 to) {
  S2Vec2 along = s2_sub(to, from);
  return s2_scale(1 / s2_length(along), along);
}

bool s2_chain_owns(const S2Shape *segment, int vertex, S2Vec2 direction, bool against_edge) {
  bool joint = vertex == 0 ? segment->has_previous : segment->has_next;
  if (!joint) {
    return true;
  }
  const S2Vec2 *v = segment->vertices;
  S2Vec2 in = vertex == 0 ? chain_unit(segment->previous, v[0]) : chain_unit(v[0], v[1]);
  S2Vec2 out = vertex == 0 ? chain_unit(v[0], v[1]) : chain_unit(v[1], segment->next);
  // Beyond the end of the first segment and before the start of the second.
  double beyond = s2_dot(direction, in);
  double before = -s2_dot(direction, out);
  double slack = ANGLE_ROUNDING;
  // Of an edge resting on the joint: only where the chain bends towards it, with room for tilting.
  if (against_edge) {
    bool to_the_right = s2_dot(direction, s2_right(s2_add(in, out))) > 0;
    double bend = to_the_right ? s2_cross(in, out) : -s2_cross(in, out);
    if (bend <= STRAIGHT) {
      return false;
    }
    slack += fmin(TILT_PART * bend, TILT_MAX);
  }
  // Outside the cone of directions of the joint: the faces of its segments have it.
  if (beyond < -slack || before < -slack) {
    return false;
  }
  // Within the cone one of the two segments owns the vertex.
  double past = beyond - DIVISION * before;
  return vertex == 1 ? past <= ANGLE_ROUNDING : past >= -ANGLE_ROUNDING;
}
