// Distance: two anchors stay as far apart as they are, or as is said.
#include "dynamics/joints/joint.h"

static int rows(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]) {
  s2_measure_length(at, &rows[0], NULL);
  rows[0].value -= at->joint->length;
  return 1;
}

static void hessians(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]) {
  S2JointRow row;
  s2_measure_length(at, &row, &hessians[0]);
}

static S2Status create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  S2JointRow now;
  s2_measure_length(&(S2JointAt){world, joint, world->q.at, 0, NULL, NULL}, &now, NULL);
  joint->length = isnan(def->length) ? now.value : def->length;
  if (!(joint->length > S2_NO_LENGTH) || !isfinite(joint->length)) {
    return s2_error(S2_INVALID,
                    "length: a number above 0 expected, got %g (points that coincide are held by "
                    "a hinge)",
                    joint->length);
  }
  return s2_ok();
}

const S2JointKind s2_distance_kind = {
    .name = "distance",
    .parts = S2_HAS_COMPLIANCE | S2_HAS_LENGTH,
    .rows = rows,
    .hessians = hessians,
    .create = create,
};
