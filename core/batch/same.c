// Checks that worlds have the same structure.
#include "batch/batch.h"

#include "dynamics/control/control.h"

#include <string.h>

static S2Status batch_same_bodies(const S2World *a, const S2World *b) {
  int count = s2_world_bodies(a, NULL, 0), other = s2_world_bodies(b, NULL, 0);
  if (count != other) {
    return s2_error(S2_INVALID, "it has %d bodies, not %d", other, count);
  }
  for (int i = 0; i < count; i++) {
    S2BodyId p = s2_world_body(a, i), q = s2_world_body(b, i);
    S2BodyInfo first, second;
    S2_TRY(s2_body_info(a, p, &first));
    S2_TRY(s2_body_info(b, q, &second));
    // Handles are equal if both worlds were built and changed in the same order.
    if (p.index != q.index || p.serial != q.serial) {
      return s2_error(S2_INVALID,
                      "bodies were created or destroyed in a different order, from body %d on",
                      i + 1);
    }
    if (first.type != second.type || strcmp(first.name, second.name) != 0) {
      return s2_error(S2_INVALID, "its body %d ('%s') has another %s ('%s')", i + 1, second.name,
                      first.type != second.type ? "type" : "name", first.name);
    }
    if (first.shape_count != second.shape_count) {
      return s2_error(S2_INVALID, "body %d ('%s') has %d shapes, not %d", i + 1, second.name,
                      second.shape_count, first.shape_count);
    }
  }
  return s2_ok();
}

static S2Status batch_same_joints(const S2World *a, const S2World *b) {
  int count = s2_world_joints(a, NULL, 0), other = s2_world_joints(b, NULL, 0);
  if (count != other) {
    return s2_error(S2_INVALID, "it has %d joints, not %d", other, count);
  }
  for (int i = 0; i < count; i++) {
    S2JointId p = s2_world_joint(a, i), q = s2_world_joint(b, i);
    S2JointInfo first, second;
    S2_TRY(s2_joint_info(a, p, &first));
    S2_TRY(s2_joint_info(b, q, &second));
    if (p.index != q.index || p.serial != q.serial) {
      return s2_error(S2_INVALID,
                      "joints were created or destroyed in a different order, from joint %d on",
                      i + 1);
    }
    if (first.type != second.type) {
      return s2_error(S2_INVALID, "its joint %d is a %s, not a %s", i + 1,
                      s2_joint_type_name(second.type), s2_joint_type_name(first.type));
    }
    if (first.a.index != second.a.index || first.b.index != second.b.index) {
      return s2_error(S2_INVALID, "joint %d connects different bodies", i + 1);
    }
  }
  return s2_ok();
}

S2Status s2_batch_same(const S2World *a, const S2World *b) {
  S2_TRY(batch_same_bodies(a, b));
  S2_TRY(batch_same_joints(a, b));
  if (s2_world_actuator_count(a) != s2_world_actuator_count(b)) {
    return s2_error(S2_INVALID, "it has %d actuators, not %d", s2_world_actuator_count(b),
                    s2_world_actuator_count(a));
  }
  if (s2_world_observation_size(a) != s2_world_observation_size(b)) {
    return s2_error(S2_INVALID, "the observations are %d numbers, not %d",
                    s2_world_observation_size(b), s2_world_observation_size(a));
  }
  return s2_ok();
}
