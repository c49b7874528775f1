// Slider: a moves along an axis fixed in b without relative rotation. The coordinate is the
// translation along the axis. With stiffness or damping, the joint also has a spring along the
// axis.
#include "dynamics/joints/joint.h"

static S2Status slider_create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  (void)world;
  // Shift the point of b from which the translation is measured.
  joint->local_b = s2_add_scaled(joint->local_b, -def->reference, joint->axis);
  return s2_joint_read_rest(def, joint);
}

const S2JointKind s2_slider_kind = {
    .traits = {.name = "slider",
               .keys =
                   S2_KEYS(S2_KEYS_SHARED, S2_KEYS_DRIVEN, S2_KEYS_REST, "axis", "stabilization"),
               .span = S2_SPAN_FAINT,
               .dots = S2_DOTS_FIXED},
    .parts = S2_HAS_COMPLIANCE | S2_HAS_STIFFNESS | S2_HAS_LIMITS | S2_HAS_DRIVE | S2_HAS_AXIS,
    .fields = S2_FIELD_BIT(REST),
    .anchors = S2_ANCHORS_SHARED,
    .equation = {s2_measure_across, s2_measure_angle, s2_measure_shift},
    .sprung = 2,
    .coordinate = s2_measure_translation,
    .drive = s2_measure_translation,
    .create = slider_create,
};
