// Slider: a moves along an axis fixed in b and does not turn against it. Coordinate: the
// translation along the axis.
#include "dynamics/joints/joint.h"

const S2JointKind s2_slider_kind = {
    .traits = {.name = "slider",
               .keys = S2_KEYS(S2_KEYS_SHARED, S2_KEYS_DRIVEN, "axis"),
               .span = S2_SPAN_FAINT,
               .dots = S2_DOTS_FIXED},
    .parts = S2_HAS_COMPLIANCE | S2_HAS_LIMITS | S2_HAS_DRIVE | S2_HAS_AXIS,
    .anchors = S2_ANCHORS_SHARED,
    .equation = {s2_measure_across, s2_measure_angle},
    .coordinate = s2_measure_translation,
    .drive = s2_measure_translation,
};
