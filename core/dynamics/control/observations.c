#include "dynamics/control/apply.h"
#include "dynamics/joints/joint.h"
#include "dynamics/world/world.h"

#include <string.h>

static const char *const more_names[S2_OBSERVED_MORE] = {"cos_angle", "sin_angle", "touches"};

static bool observed_has_more(const S2World *world, const S2ObservationDef *def, int more) {
  bool joint = def->joint.index != 0;
  return !joint || (more != S2_OBSERVED_TOUCHES && // of the joint that the definition names
                    s2_joint_type_has(world->joints.at[def->joint.index - 1].type, S2_JOINT_ANGLE));
}

// Returns the index of the field with this name, or -1 if there is none.
static int observed_field(const S2World *world, const S2ObservationDef *def, const char *name) {
  int fields = def->joint.index == 0 ? (int)S2_BODY_FIELD_COUNT : (int)S2_JOINT_FIELD_COUNT;
  for (int k = 0; k < S2_OBSERVED_MORE; k++) {
    if (strcmp(more_names[k], name) == 0) {
      return observed_has_more(world, def, k) ? fields + k : -1;
    }
  }
  if (def->joint.index == 0) {
    for (int i = 0; i < S2_BODY_FIELD_COUNT; i++) {
      if (strcmp(s2_body_field((S2BodyField)i)->name, name) == 0) {
        return i;
      }
    }
    return -1;
  }
  S2JointType type = world->joints.at[def->joint.index - 1].type;
  for (int i = 0; i < S2_JOINT_FIELD_COUNT; i++) {
    S2JointField field = (S2JointField)i;
    if (s2_joint_type_has(type, field) && strcmp(s2_joint_field_name(field), name) == 0) {
      return i;
    }
  }
  return -1;
}

S2Status s2_observation_create(S2World *world, const S2ObservationDef *def, int *index) {
  S2_TRY(s2_world_idle(world));
  S2Observation observation;
  memset(&observation, 0, sizeof observation); // images contain the padding, so it must be zero
  observation.body = def->body;
  observation.joint = def->joint;
  observation.noise = def->noise;
  bool alive =
      def->joint.index != 0 ? s2_joint_alive(world, def->joint) : s2_body_alive(world, def->body);
  if (!alive) {
    return s2_error(S2_STALE, "observation '%s': its joint or body is destroyed", def->name);
  }
  if (def->field_count < 1 || def->field_count > S2_OBSERVED_FIELDS || !(def->noise >= 0)) {
    return s2_error(S2_INVALID, "observation '%s': 1 to %d fields and noise >= 0 expected",
                    def->name, S2_OBSERVED_FIELDS);
  }
  for (int i = 0; i < def->field_count; i++) {
    int field = observed_field(world, def, def->fields[i]);
    if (field < 0) {
      return s2_error(S2_INVALID, "observation '%s': there is no field '%s'", def->name,
                      def->fields[i]);
    }
    observation.field[observation.count++] = field;
  }
  *index = world->observations.count;
  *s2_array_append(world->observations) = observation;
  return s2_ok();
}

int s2_observed_more(const S2Observation *of, int k) {
  int fields = of->joint.index != 0 ? (int)S2_JOINT_FIELD_COUNT : (int)S2_BODY_FIELD_COUNT;
  return of->field[k] - fields;
}

int s2_world_observation_size(const S2World *world) {
  int size = 0;
  for (int i = 0; i < world->observations.count; i++) {
    size += world->observations.at[i].count;
  }
  return size;
}

int s2_world_observed_at(const S2World *world, S2BodyId body, S2JointId joint, int field) {
  int at = 0;
  for (int i = 0; i < world->observations.count; i++) {
    const S2Observation *of = &world->observations.at[i];
    bool same = of->body.index == body.index && of->body.serial == body.serial &&
                of->joint.index == joint.index && of->joint.serial == joint.serial;
    for (int k = 0; k < of->count; k++, at++) {
      if (same && of->noise == 0 && of->field[k] == field) {
        return at;
      }
    }
  }
  return -1;
}

void s2_world_set_noise_seed(S2World *world, uint64_t seed) {
  world->noise_seed = seed;
}

uint64_t s2_world_noise_seed(const S2World *world) {
  return world->noise_seed;
}

void s2_world_renew_noise(S2World *world, S2Rng *rng) {
  if (world->noise_seed == 0) {
    return;
  }
  do {
    world->noise_seed = s2_rng_next(rng);
  } while (world->noise_seed == 0);
}

static S2Status observe_more(const S2World *world, const S2Observation *of, int more,
                             double *value) {
  bool touches;
  if (more == S2_OBSERVED_TOUCHES) {
    S2_TRY(s2_body_touches(world, of->body, &touches));
    *value = touches ? 1 : 0;
    return s2_ok();
  }
  double angle;
  S2_TRY(of->joint.index != 0 ? s2_joint_get(world, of->joint, S2_JOINT_ANGLE, &angle)
                              : s2_body_get(world, of->body, S2_BODY_ANGLE, &angle));
  *value = more == S2_OBSERVED_COS ? cos(angle) : sin(angle);
  return s2_ok();
}

static S2Status observe_field(const S2World *world, const S2Observation *of, int k, double *value) {
  int more = s2_observed_more(of, k), field = of->field[k];
  if (more >= 0) {
    return observe_more(world, of, more, value);
  }
  return of->joint.index != 0 ? s2_joint_get(world, of->joint, (S2JointField)field, value)
                              : s2_body_get(world, of->body, (S2BodyField)field, value);
}

S2Status s2_world_observe(S2World *world, double *numbers) {
  // The noise depends only on seed and time, so it is reproducible.
  double t = s2_world_time(world);
  uint64_t bits;
  memcpy(&bits, &t, sizeof bits);
  S2Rng rng = {{0}};
  bool seeded = false; // most worlds have no noise
  for (int i = 0; i < world->observations.count; i++) {
    const S2Observation *observation = &world->observations.at[i];
    for (int k = 0; k < observation->count; k++) {
      double *value = numbers++;
      bool pair = k + 1 < observation->count && observation->noise == 0 &&
                  observation->joint.index != 0 && observation->field[k + 1] == S2_JOINT_SPEED &&
                  s2_joint_get_motion(world, observation->joint,
                                      (S2JointField)observation->field[k], value, value + 1);
      if (pair) {
        k += 1;
        numbers += 1;
        continue;
      }
      S2_TRY(observe_field(world, observation, k, value));
      if (observation->noise > 0) {
        rng = seeded ? rng : s2_rng_seeded(world->noise_seed ^ bits);
        seeded = true;
        *value += observation->noise * s2_rng_normal(&rng);
      }
    }
  }
  return s2_ok();
}
