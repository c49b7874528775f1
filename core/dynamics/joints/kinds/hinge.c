// Hinge: two bodies, or a body and the world, share a point. The equations are those of
// lcp-physics, appendix A.4.1, but in b's frame (see measure.c). The coordinate is the angle. With
// stiffness or damping, the joint also has a torsional spring.
//
// Each joint type has a file like this one, with functions in the same order.
#include "dynamics/joints/joint.h"

static S2Status hinge_create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  (void)world;
  return s2_joint_read_rest(def, joint);
}

const S2JointKind s2_hinge_kind = {
    .traits = {.name = "hinge",
               .keys = S2_KEYS(S2_KEYS_SHARED, S2_KEYS_DRIVEN, S2_KEYS_REST, "stabilization"),
               .turns = true,
               .span = S2_SPAN_ERROR,
               .dots = S2_DOTS_RING},
    .parts = S2_HAS_COMPLIANCE | S2_HAS_STIFFNESS | S2_HAS_LIMITS | S2_HAS_DRIVE,
    .fields = S2_FIELD_BIT(REST),
    .anchors = S2_ANCHORS_SHARED,
    .equation = {s2_measure_x, s2_measure_y, s2_measure_twist},
    .sprung = 2,
    .coordinate = s2_measure_angle,
    .drive = s2_measure_angle,
    .create = hinge_create,
};
