// Spring: a distance that gives way, with stiffness and damping. Coordinate: the length.
#include "dynamics/joint.h"

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
  joint->length = isnan(def->rest_length) ? now.value : def->rest_length;
  return joint->length >= 0 && isfinite(joint->length)
             ? s2_ok()
             : s2_error(S2_INVALID, "rest_length: a number not below 0 expected, got %g",
                        joint->length);
}

const S2JointKind s2_spring_kind = {
    .name = "spring",
    .parts = S2_HAS_STIFFNESS | S2_HAS_LIMITS | S2_HAS_DRIVE | S2_HAS_LENGTH,
    .rows = rows,
    .hessians = hessians,
    .coordinate = s2_measure_length,
    .drive = s2_measure_length,
    .create = create,
};
