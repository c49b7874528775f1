// Private to core/dynamics and core/diff: the anchors of a joint, for measure.c and its
// derivatives.
#ifndef S2_SIDES_H
#define S2_SIDES_H

#include "dynamics/joints/joint.h"

typedef struct S2Sides {
  S2Rot turn_a, turn_b;
  S2Vec2 ra, rb; // arms of the anchors, in world axes
  S2Vec2 apart;  // p_a - p_b, computed from differences: accurate far from the origin
} S2Sides;

// The world counts as a body at the origin.
static inline const double *s2_sides_pose(const double *q, int32_t slot) {
  static const double world[3] = {0, 0, 0};
  return slot == S2_NONE ? world : q + 3 * slot;
}

static inline S2Rot s2_sides_turn(const S2JointAt *at, int32_t slot) {
  return slot == S2_NONE    ? (S2Rot){1, 0}
         : at->turn != NULL ? at->turn[slot]
                            : s2_rot(at->q[3 * slot]);
}

static inline S2Sides s2_sides_at(const S2JointAt *at) {
  const S2Joint *joint = at->joint;
  const double *qa = s2_sides_pose(at->q, joint->a), *qb = s2_sides_pose(at->q, joint->b);
  S2Sides sides = {.turn_a = s2_sides_turn(at, joint->a), .turn_b = s2_sides_turn(at, joint->b)};
  sides.ra = s2_rotate(sides.turn_a, joint->local_a);
  sides.rb = s2_rotate(sides.turn_b, joint->local_b);
  sides.apart = s2_vec2((qa[1] - qb[1]) + (sides.ra.x - sides.rb.x),
                        (qa[2] - qb[2]) + (sides.ra.y - sides.rb.y));
  return sides;
}

#endif
