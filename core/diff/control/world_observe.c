// Observations on a tape.
#include "diff/control/world_measures.h"
#include "diff/world/world_tape_parts.h"
#include "dynamics/control/apply.h"

#include <math.h>

// The derivatives of a field that an observation reads. Returns their number, or -1 if they are not
// known.
static int observe_field_slopes(S2WorldTape *tape, const S2World *world, const S2Observation *of,
                                int field, S2PlaceSlope *slopes) {
  if (of->joint.index != 0) {
    return s2_measured_field(tape, world, (int32_t)of->joint.index - 1, (S2JointField)field,
                             slopes);
  }
  if (field >= S2_BODY_STATE_COUNT) {
    return -1;
  }
  bool pose = field < S2_BODY_OMEGA;
  S2Place place = s2_place(pose ? S2_PLACE_Q : S2_PLACE_V, (int32_t)of->body.index - 1,
                           pose ? field : field - S2_BODY_OMEGA);
  slopes[0] = (S2PlaceSlope){place, 1};
  return 1;
}

static double observe_angle(const S2World *world, const S2Observation *of) {
  double angle = 0;
  if (of->joint.index != 0) {
    (void)s2_joint_get(world, of->joint, S2_JOINT_ANGLE, &angle);
  } else {
    (void)s2_body_get(world, of->body, S2_BODY_ANGLE, &angle);
  }
  return angle;
}

static int observe_slopes(S2WorldTape *tape, const S2World *world, const S2Observation *of, int k,
                          S2PlaceSlope *slopes) {
  int more = s2_observed_more(of, k);
  if (more == S2_OBSERVED_TOUCHES) {
    return 0;
  }
  if (more < 0) {
    return observe_field_slopes(tape, world, of, of->field[k], slopes);
  }
  // the cosine or sine of the angle
  int angle = of->joint.index != 0 ? (int)S2_JOINT_ANGLE : (int)S2_BODY_ANGLE;
  int count = observe_field_slopes(tape, world, of, angle, slopes);
  double by_angle =
      more == S2_OBSERVED_COS ? -sin(observe_angle(world, of)) : cos(observe_angle(world, of));
  for (int i = 0; i < count; i++) {
    slopes[i].slope *= by_angle;
  }
  return count;
}

S2Status s2_world_tape_observe(S2WorldTape *tape, S2World *world, double *numbers, S2Var *vars) {
  int size = s2_world_observation_size(world), at = 0, used = 0;
  S2_TRY(s2_world_observe(world, numbers));
  // Collect the derivatives of all numbers. Noise is a constant.
  s2_arena_reset(&tape->arena);
  S2Term *terms = S2_TAKE(&tape->arena, S2Term, S2_FIELD_PLACES * (size_t)size + 1);
  bool *depends = S2_TAKE_ZEROED(&tape->arena, bool, size + 1);
  for (int i = 0; i < world->observations.count; i++) {
    const S2Observation *of = &world->observations.at[i];
    for (int k = 0; k < of->count; k++, at++) {
      S2PlaceSlope slopes[S2_FIELD_PLACES];
      int count = observe_slopes(tape, world, of, k, slopes);
      if (count < 0) {
        return s2_error(S2_UNAVAILABLE, "the derivative of observed number %d is not known",
                        at + 1);
      }
      depends[at] = count > 0;
      for (int j = 0; j < count; j++) {
        terms[used++] = (S2Term){.to = at, .source = slopes[j].place, .factor = slopes[j].slope};
      }
    }
  }
  // All numbers are one node, and its elements are the results.
  S2Var node = s2_world_tape_read(tape, world, size, numbers, used, terms);
  for (int i = 0; i < size; i++) {
    vars[i] = depends[i] ? s2_tape_element(tape->tape, node, i) : 0;
  }
  return s2_ok();
}
