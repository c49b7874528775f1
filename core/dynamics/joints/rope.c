// Rope: two anchors are at most so far apart. No equations: an upper limit on the length.
#include "dynamics/joints/joint.h"

static int rows(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]) {
  (void)at, (void)rows;
  return 0;
}

static void hessians(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]) {
  (void)at, (void)hessians;
}

static S2Status create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  S2JointRow now;
  s2_measure_length(&(S2JointAt){world, joint, world->q.at, 0, NULL, NULL}, &now, NULL);
  joint->limit_hi = isnan(def->max_length) ? now.value : def->max_length;
  return joint->limit_hi > S2_NO_LENGTH && isfinite(joint->limit_hi)
             ? s2_ok()
             : s2_error(S2_INVALID, "max_length: a number above 0 expected, got %g",
                        joint->limit_hi);
}

const S2JointKind s2_rope_kind = {
    .name = "rope",
    .parts = S2_HAS_LENGTH,
    .rows = rows,
    .hessians = hessians,
    .coordinate = s2_measure_length,
    .create = create,
};
