// Rope: the distance between two anchors has a maximum. A rope has no equations, only an upper
// limit of its length.
#include "dynamics/joints/joint.h"

static S2Status rope_create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  S2JointRow now;
  s2_measure_length(&(S2JointAt){world, joint, world->q.at, 0, NULL}, &now, NULL);
  joint->limit_hi = isnan(def->max_length) ? now.value : def->max_length;
  return joint->limit_hi > S2_NO_LENGTH && isfinite(joint->limit_hi)
             ? s2_ok()
             : s2_error(S2_INVALID, "max_length: a number above 0 expected, got %g",
                        joint->limit_hi);
}

const S2JointKind s2_rope_kind = {
    .traits = {.name = "rope",
               .keys = S2_KEYS(S2_KEYS_LENGTH, "max_length", "restitution", "stabilization"),
               .span = S2_SPAN_LINE,
               .dots = S2_DOTS_ENDS},
    .parts = S2_HAS_LENGTH,
    .fields = S2_FIELD_BIT(MAX_LENGTH) | S2_FIELD_BIT(RESTITUTION),
    .anchors = S2_ANCHORS_TWO,
    .coordinate = s2_measure_length,
    .create = rope_create,
};
