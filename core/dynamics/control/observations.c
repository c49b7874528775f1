#include "dynamics/control/control.h"
#include "dynamics/world/world.h"

#include <string.h>

static S2Status observation_read(const S2World *world, const S2ObservationDef *of, double *value) {
  return of->joint.index != 0 ? s2_joint_get(world, of->joint, (S2JointField)of->field, value)
                              : s2_body_get(world, of->body, (S2BodyField)of->field, value);
}

S2Status s2_observation_create(S2World *world, const S2ObservationDef *def, int *index) {
  double value;
  S2_TRY(s2_world_idle(world));
  if ((def->joint.index == 0) == (def->body.index == 0)) {
    return s2_error(S2_INVALID, "observation: either a joint or a body expected");
  }
  S2_TRY(observation_read(world, def, &value));
  S2ObservationDef kept;
  memset(&kept, 0, sizeof kept); // its padding goes into images
  kept.joint = def->joint;
  kept.body = def->body;
  kept.field = def->field;
  *index = world->observations.count;
  *s2_array_append(world->observations) = kept;
  return s2_ok();
}

int s2_world_observation_size(const S2World *world) {
  return world->observations.count;
}

S2Status s2_world_observe(const S2World *world, double *numbers) {
  for (int i = 0; i < world->observations.count; i++) {
    S2_TRY(observation_read(world, &world->observations.at[i], &numbers[i]));
  }
  return s2_ok();
}
