#include "diff/control/world_measures.h"

#include "diff/joints/measure_vjp.h"
#include "diff/world/world_tape_parts.h"

bool s2_measured_at(const S2World *world, int32_t slot, S2Measure *measure, S2Measured *measured) {
  const S2Joint *joint = &world->joints.at[slot];
  // Measures of these types depend on more bodies or numbers.
  if (measure == NULL || joint->type == S2_GEAR || joint->type == S2_CONSTRAINT ||
      s2_joint_kind(joint->type)->way != NULL) {
    return false;
  }
  S2JointAt at = {world, joint, world->q.at, 0, NULL};
  measured->measure = measure;
  measured->joint = slot;
  measure(&at, &measured->row, &measured->hessian);
  return true;
}

double s2_measured_slope(const S2Measured *measured, int component) {
  return component < 3 ? measured->row.ja[component] : measured->row.jb[component - 3];
}

static int32_t measured_body(const S2World *world, const S2Measured *measured, int component) {
  const S2Joint *joint = &world->joints.at[measured->joint];
  return component < 3 ? joint->a : joint->b;
}

void s2_measured_velocities(const S2World *world, const S2Measured *measured, double v[6]) {
  for (int k = 0; k < 6; k++) {
    int32_t slot = measured_body(world, measured, k);
    v[k] = slot == S2_NONE ? 0 : world->v.at[3 * slot + k % 3];
  }
}

static int measured_add(S2PlaceSlope *slopes, int count, S2Place place, double slope) {
  if (slope != 0) {
    slopes[count++] = (S2PlaceSlope){place, slope};
  }
  return count;
}

// True if a number in the measures of the joint may depend on a parameter.
static bool measured_tracks(S2WorldTape *tape, const S2World *world, int32_t joint) {
  bool tracks = false;
  s2_world_gradient_fit(&tape->tracked, world);
  for (int number = 0; number <= S2_OF_ANGLE0; number++) {
    tracks |= *s2_place_gradient(&tape->tracked, s2_place(S2_PLACE_JOINT, joint, number)) != 0;
  }
  return tracks;
}

static int measured_numbers_vjp(S2WorldTape *tape, const S2World *world, const S2Measured *measured,
                                double value, const double *along, S2PlaceSlope *slopes,
                                int count) {
  S2RowBar bar = {.value = value};
  for (int k = 0; k < 6 && along != NULL; k++) {
    *(k < 3 ? &bar.ja[k] : &bar.jb[k - 3]) = along[k];
  }
  // Only the adjoints of the joint's numbers are used.
  S2JointGradient own = {0};
  S2WorldGradient gradient = {.joints = 1, .joint = &own};
  double elapsed = 0;
  S2PlaceBar to = {.q = S2_TAKE_ZEROED(&tape->arena, double, world->q.count + 1),
                   .elapsed = &elapsed,
                   .gradient = &gradient,
                   .joint = &own};
  S2JointAt at = {world, &world->joints.at[measured->joint], world->q.at, 0, NULL};
  (void)s2_measure_vjp(&at, measured->measure, &bar, &to);
  for (int number = 0; number <= S2_OF_ANGLE0; number++) {
    double slope = *s2_place_gradient(&gradient, s2_place(S2_PLACE_JOINT, 0, number));
    count = measured_add(slopes, count, s2_place(S2_PLACE_JOINT, measured->joint, number), slope);
  }
  return count;
}

int s2_measured_vjp(S2WorldTape *tape, const S2World *world, const S2Measured *measured,
                    double value, const double *along, S2PlaceSlope *slopes) {
  int count = 0;
  for (int j = 0; j < 6; j++) {
    int32_t slot = measured_body(world, measured, j);
    double slope = value * s2_measured_slope(measured, j);
    for (int i = 0; i < 6 && along != NULL; i++) {
      slope += along[i] * measured->hessian.at[i][j];
    }
    if (slot != S2_NONE) {
      count = measured_add(slopes, count, s2_place(S2_PLACE_Q, slot, j % 3), slope);
    }
  }
  return measured_tracks(tape, world, measured->joint)
             ? measured_numbers_vjp(tape, world, measured, value, along, slopes, count)
             : count;
}

int s2_measured_field(S2WorldTape *tape, const S2World *world, int32_t slot, S2JointField field,
                      S2PlaceSlope *slopes) {
  S2Measured measured;
  double v[6];
  if (!s2_measured_at(world, slot, s2_joint_measure(&world->joints.at[slot], field), &measured)) {
    return -1;
  }
  bool rate = field == S2_JOINT_SPEED;
  s2_measured_velocities(world, &measured, v);
  int count = s2_measured_vjp(tape, world, &measured, rate ? 0 : 1, rate ? v : NULL, slopes);
  for (int k = 0; k < 6 && rate; k++) {
    int32_t body = measured_body(world, &measured, k);
    if (body != S2_NONE) {
      count = measured_add(slopes, count, s2_place(S2_PLACE_V, body, k % 3),
                           s2_measured_slope(&measured, k));
    }
  }
  return count;
}

bool s2_world_tape_joint_field(S2WorldTape *tape, const S2World *world, int32_t slot,
                               S2JointField field, double value, S2Var *var) {
  S2PlaceSlope slopes[S2_FIELD_PLACES];
  S2Term terms[S2_FIELD_PLACES];
  s2_arena_reset(&tape->arena);
  int count = s2_measured_field(tape, world, slot, field, slopes);
  for (int i = 0; i < count; i++) {
    terms[i] = (S2Term){.source = slopes[i].place, .factor = slopes[i].slope};
  }
  *var = count > 0 ? s2_world_tape_read(tape, world, 1, &value, count, terms) : 0;
  return count >= 0;
}
