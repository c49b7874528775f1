// Private to core/dynamics and core/diff: what actuators do in a step.
#ifndef S2_APPLY_H
#define S2_APPLY_H

#include "dynamics/world/world.h"

// Before the step's own forces: what actuators push is added to `f`, of this step alone.
// s2_world_unpush puts `f` back where the step is not taken after all; on failure it is back
// already. Nothing, where steps do not apply them.
S2Status s2_world_push(S2World *world);
void s2_world_unpush(S2World *world);

// The command that counts now, and its place in world->commands (S2_NONE: none is due yet).
double s2_actuator_due(S2World *world, int index, int *command);
// The direction in which a force on a joint pushes its first body; false: there is none.
bool s2_joint_push_line(const S2JointInfo *info, S2Vec2 *n);
// m: the arm about the centre of mass of a force that is fixed to its body.
double s2_actuator_arm(const S2Actuator *actuator);
// What a position actuator holds.
S2JointField s2_actuator_coordinate(const S2World *world, const S2Actuator *actuator);

#endif
