// Wheel: a moves on a damped spring along an axis fixed in b, and turns freely. Limits act on the
// translation; motor and friction act on the angle.
#include "dynamics/joints/joint.h"

const S2JointKind s2_wheel_kind = {
    .traits = {.name = "wheel",
               .keys = S2_KEYS("a", "b", "anchor", "axis", S2_KEYS_DRIVEN, "stiffness", "damping",
                               "stabilization"),
               .turns = true,
               .span = S2_SPAN_SPRING,
               .dots = S2_DOTS_RING},
    .parts = S2_HAS_STIFFNESS | S2_HAS_LIMITS | S2_HAS_DRIVE | S2_HAS_AXIS,
    .anchors = S2_ANCHORS_SHARED,
    .equation = {s2_measure_across, s2_measure_translation},
    .sprung = 1,
    .coordinate = s2_measure_translation,
    .drive = s2_measure_angle,
};
