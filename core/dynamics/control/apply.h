// Private to core/dynamics and core/diff: the effect of actuators in a step.
#ifndef S2_APPLY_H
#define S2_APPLY_H

#include "dynamics/world/world.h"

// Called before the step's own forces: adds the forces of actuators to `f`, for this step only.
// s2_world_unpush restores `f` if the step is not taken; on failure it is already restored. Both
// functions do nothing if steps do not apply actuators.
S2Status s2_world_push(S2World *world);
void s2_world_unpush(S2World *world);

// The command in force, and its index in world->commands (S2_NONE: none is due yet).
double s2_actuator_due(S2World *world, int index, int *command);
// The direction in which a force on a joint pushes its first body; false: there is none.
bool s2_joint_push_line(const S2JointInfo *info, S2Vec2 *n);
// m: the lever arm about the centre of mass of a force fixed to its body.
double s2_actuator_arm(const S2Actuator *actuator);
// The coordinate that a position actuator holds.
S2JointField s2_actuator_coordinate(const S2World *world, const S2Actuator *actuator);

#endif
