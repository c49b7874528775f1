// Weld: two bodies that move as one. Rows: the hinge's and the angle.
#include "dynamics/joints/joint.h"

static int rows(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]) {
  s2_measure_offsets(at, rows);
  s2_measure_angle(at, &rows[2], NULL);
  return 3;
}

static void hessians(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]) {
  S2JointRow row;
  s2_measure_offset(at, s2_vec2(1, 0), &row, &hessians[0]);
  s2_measure_offset(at, s2_vec2(0, 1), &row, &hessians[1]);
  s2_measure_angle(at, &row, &hessians[2]);
}

static S2Status create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  (void)world, (void)def, (void)joint;
  return s2_ok();
}

const S2JointKind s2_weld_kind = {
    .name = "weld",
    .parts = S2_HAS_COMPLIANCE,
    .rows = rows,
    .hessians = hessians,
    .create = create,
};
