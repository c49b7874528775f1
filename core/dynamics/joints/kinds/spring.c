// Spring: an elastic distance with damping. The pull is a polynomial of the extension, or a
// callback computes it. The coordinate is the length.
#include "dynamics/joints/joint.h"
#include "dynamics/trace/notes.h"

bool s2_spring_curved(const S2Joint *joint) {
  return joint->has_law || joint->quadratic != 0 || joint->cubic != 0;
}

void s2_spring_pull(const S2Joint *joint, const S2JointRow *row, double *force, double *tangent) {
  // F = x (k + x (q + x c)) and its derivative, by Horner's scheme.
  double x = row->value;
  *force = x * (joint->stiffness + x * (joint->quadratic + x * joint->cubic));
  *tangent = joint->stiffness + x * (2 * joint->quadratic + x * 3 * joint->cubic);
  if (joint->has_law) {
    *force = row->force;
    *tangent = row->tangent;
  }
}

void s2_spring_ask(S2World *world, int32_t slot, S2JointRow *row) {
  const S2Joint *joint = &world->joints.at[slot];
  if (!joint->has_law || world->refused.code != S2_OK) {
    return;
  }
  // Call the law only once per solve, because the callback may be slow. Only request slopes if the
  // step is recorded for its derivative.
  S2Slope slope[2] = {{{0}, 0}, {{0}, 0}};
  S2SpringCall call = {.joint = {(uint32_t)slot + 1, joint->serial},
                       .extension = row->value,
                       .slope = world->notes == NULL ? NULL : slope};
  // The callback may read the world but must not change it.
  bool stepping = world->stepping;
  world->stepping = true;
  bool masked = s2_memory_mask(true);
  bool going = world->callbacks.spring(world->callbacks.user, world, &call);
  s2_memory_mask(masked);
  world->stepping = stepping;
  row->force = call.force;
  row->tangent = call.tangent;
  // Store the result in the row, for the problem and for the derivative of the step.
  const double answer[2] = {call.force, call.tangent};
  s2_note_answer(world, &(S2Answer){.asked = S2_ASKED_PULL,
                                    .slot = slot,
                                    .q = {row->value},
                                    .count = 2,
                                    .number = answer,
                                    .slope = call.sloped ? slope : NULL});
  // An error aborts the step.
  if (!going) {
    world->refused = s2_error(S2_ABORTED, "the step was stopped by a callback");
  } else if (!isfinite(row->force) || !isfinite(row->tangent)) {
    world->refused =
        s2_error(S2_INVALID,
                 "spring%s%s%s: at the extension %g m its force is %g N, its derivative "
                 "%g N/m: finite numbers expected",
                 joint->name[0] != 0 ? " '" : "", joint->name, joint->name[0] != 0 ? "'" : "",
                 row->value, row->force, row->tangent);
  }
}

static S2Status spring_create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  S2JointRow now;
  s2_measure_length(&(S2JointAt){world, joint, world->q.at, 0, NULL}, &now, NULL);
  joint->length = isnan(def->rest_length) ? now.value : def->rest_length;
  return joint->length >= 0 && isfinite(joint->length)
             ? s2_ok()
             : s2_error(S2_INVALID, "rest_length: a number not below 0 expected, got %g",
                        joint->length);
}

const S2JointKind s2_spring_kind = {
    .traits = {.name = "spring",
               .keys = S2_KEYS(S2_KEYS_LENGTH, S2_KEYS_DRIVEN, "rest_length", "stiffness",
                               "quadratic", "cubic", "force", "damping", "stabilization"),
               .span = S2_SPAN_SPRING,
               .dots = S2_DOTS_ENDS},
    .parts = S2_HAS_STIFFNESS | S2_HAS_LIMITS | S2_HAS_DRIVE | S2_HAS_LENGTH,
    .fields = S2_FIELD_BIT(REST_LENGTH) | S2_FIELD_BIT(QUADRATIC) | S2_FIELD_BIT(CUBIC),
    .anchors = S2_ANCHORS_TWO,
    .equation = {s2_measure_stretch},
    .coordinate = s2_measure_length,
    .drive = s2_measure_length,
    .create = spring_create,
};
