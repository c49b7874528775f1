// Mouse: a point of a body is pulled to a target by a damped spring, the same in all directions.
// The target is the anchor in the world.
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
  (void)world;
  if (joint->a == S2_NONE || joint->b != S2_NONE) {
    return s2_error(S2_INVALID, "a mouse pulls one body: a expected, and no b");
  }
  if (!isfinite(def->target.x) || !isfinite(def->target.y)) {
    return s2_error(S2_INVALID, "target: finite numbers expected, got {%g, %g}", def->target.x,
                    def->target.y);
  }
  joint->local_b = def->target;
  return s2_ok();
}

const S2JointKind s2_mouse_kind = {
    .name = "mouse",
    .parts = S2_HAS_STIFFNESS | S2_HAS_LENGTH,
    .rows = rows,
    .hessians = hessians,
    .create = create,
};
