// Distance: two anchors keep a given distance, by default their initial distance.
#include "dynamics/joints/joint.h"

static S2Status distance_create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  S2JointRow now;
  s2_measure_length(&(S2JointAt){world, joint, world->q.at, 0, NULL}, &now, NULL);
  joint->length = isnan(def->length) ? now.value : def->length;
  if (!(joint->length > S2_NO_LENGTH) || !isfinite(joint->length)) {
    return s2_error(S2_INVALID,
                    "length: a number above 0 expected, got %g (use a hinge to hold "
                    "points that coincide)",
                    joint->length);
  }
  return s2_ok();
}

const S2JointKind s2_distance_kind = {
    .traits = {.name = "distance",
               .keys = S2_KEYS(S2_KEYS_LENGTH, "length", "compliance", "damping", "stabilization"),
               .span = S2_SPAN_LINE,
               .dots = S2_DOTS_ENDS},
    .parts = S2_HAS_COMPLIANCE | S2_HAS_LENGTH,
    .fields = S2_FIELD_BIT(LENGTH), // scripts can set the length
    .anchors = S2_ANCHORS_TWO,
    .equation = {s2_measure_stretch},
    .create = distance_create,
};
