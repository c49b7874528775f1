// Private to core/dynamics and core/diff: how actuators act in a step, and what observations read.
#ifndef S2_APPLY_H
#define S2_APPLY_H

#include "dynamics/world/world.h"

// Adds the forces of actuators to `f` for this step only. Call this before the step adds its own
// forces. s2_world_unpush restores `f` if the step is not taken; if s2_world_push fails, `f` is
// already restored. Both functions do nothing if steps do not apply actuators.
S2Status s2_world_push(S2World *world);
void s2_world_unpush(S2World *world);

// Returns the command in force. *command receives its index in world->commands, or S2_NONE if no
// command is due yet.
double s2_actuator_due(S2World *world, int index, int *command);
// The direction in which a force on a joint pushes its first body. Returns false if there is none.
bool s2_joint_push_line(const S2JointInfo *info, S2Vec2 *n);
// m: the lever arm about the centre of mass, for a force that is fixed to its body.
double s2_actuator_arm(const S2Actuator *actuator);
// The joint coordinate that a position actuator controls.
S2JointField s2_actuator_coordinate(const S2World *world, const S2Actuator *actuator);

// Numbers of observations that are computed from fields.
enum { S2_OBSERVED_COS, S2_OBSERVED_SIN, S2_OBSERVED_TOUCHES, S2_OBSERVED_MORE };
// Which of them number k of an observation is. Negative: a field.
int s2_observed_more(const S2Observation *of, int k);

#endif
