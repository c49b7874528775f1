// Hinge: two bodies (or a body and the world) share a point (lcp-physics appendix, A.4.1; written
// in b's frame, see measure.c). Coordinate: the angle.
//
// Every joint type has a file like this one with the same functions in the same order.
#include "dynamics/joints/joint.h"

static int rows(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]) {
  s2_measure_offsets(at, rows);
  return 2;
}

static void hessians(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]) {
  S2JointRow row;
  s2_measure_offset(at, s2_vec2(1, 0), &row, &hessians[0]);
  s2_measure_offset(at, s2_vec2(0, 1), &row, &hessians[1]);
}

static S2Status create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  (void)world, (void)def, (void)joint;
  return s2_ok();
}

const S2JointKind s2_hinge_kind = {
    .name = "hinge",
    .parts = S2_HAS_COMPLIANCE | S2_HAS_LIMITS | S2_HAS_DRIVE,
    .rows = rows,
    .hessians = hessians,
    .coordinate = s2_measure_angle,
    .drive = s2_measure_angle,
    .create = create,
};
