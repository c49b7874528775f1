// Weld: two bodies move as one. Its rows are those of a hinge plus the angle.
#include "dynamics/joints/joint.h"

const S2JointKind s2_weld_kind = {
    .traits = {.name = "weld",
               .keys = S2_KEYS(S2_KEYS_SHARED, "stabilization"),
               .span = S2_SPAN_ERROR,
               .dots = S2_DOTS_FIXED},
    .parts = S2_HAS_COMPLIANCE,
    .anchors = S2_ANCHORS_SHARED,
    .equation = {s2_measure_x, s2_measure_y, s2_measure_angle},
};
