// Wheel: a moves along an axis fixed in b on a damped spring, and turns freely. Limits act on the
// translation, motor and friction on the angle.
#include "dynamics/joints/joint.h"

static int rows(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]) {
  s2_measure_offset(at, s2_left(at->joint->axis), &rows[0], NULL);
  s2_measure_offset(at, at->joint->axis, &rows[1], NULL); // the spring's
  return 2;
}

static void hessians(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]) {
  S2JointRow row;
  s2_measure_offset(at, s2_left(at->joint->axis), &row, &hessians[0]);
  s2_measure_offset(at, at->joint->axis, &row, &hessians[1]);
}

static S2Status create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  (void)world, (void)def, (void)joint;
  return s2_ok();
}

const S2JointKind s2_wheel_kind = {
    .name = "wheel",
    .parts = S2_HAS_STIFFNESS | S2_HAS_LIMITS | S2_HAS_DRIVE | S2_HAS_AXIS,
    .rows = rows,
    .hessians = hessians,
    .coordinate = s2_measure_translation,
    .drive = s2_measure_angle,
    .create = create,
};
