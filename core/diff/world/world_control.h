// Actuators and cost terms on a tape, if commands are the only tracked inputs. The parameters of
// the world count as constants.
#ifndef S2_WORLD_CONTROL_H
#define S2_WORLD_CONTROL_H

#include "diff/world/world_tape.h"
#include "dynamics/control/control.h"

// A command of an actuator, with its tape node. With a delay, the command takes effect later.
typedef struct S2TapeCommand {
  double t, u; // s, the time at which the command was given; its value
  S2Var var;
} S2TapeCommand;

// Records the effect of the actuators on the next step. Take that step with s2_world_tape_step, and
// leave the actuators on (s2_world_set_actuated). `command` has one row per actuator, with room for
// `room` commands. The first `count` entries of a row are the commands given so far, ordered by
// time.
void s2_world_tape_actuate(S2WorldTape *tape, S2World *world, int room, int count,
                           const S2TapeCommand *command);

// The node of a field of a body, or of a joint if `body` is null. Returns S2_UNAVAILABLE if the
// field has no derivative.
S2Status s2_world_tape_field(S2WorldTape *tape, S2World *world, S2BodyId body, S2JointId joint,
                             int field, double *value, S2Var *var);

#endif
