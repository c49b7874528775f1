// Actuators on a tape, and what costs read, for motions whose commands alone are tracked: a world
// begins as constants, with no derivative by what it is made of.
#ifndef S2_WORLD_CONTROL_H
#define S2_WORLD_CONTROL_H

#include "diff/world/world_tape.h"
#include "dynamics/control/control.h"

// Of an actuator: the nodes of its commands that may still be due.
typedef struct S2TapeCommand {
  double t, u; // s, when it was given, and as it was given
  S2Var var;
} S2TapeCommand;

// Notes what the actuators do in the step that comes next, which s2_world_tape_step is to make
// while they are on (s2_world_set_actuated). `command` has a row of `room` for each actuator, of
// which `count` were given so far, by time.
void s2_world_tape_actuate(S2WorldTape *tape, S2World *world, int room, int count,
                           const S2TapeCommand *command);

// The node of a field of a body, or of a joint (`body` null). S2_UNAVAILABLE: it has no derivative.
S2Status s2_world_tape_field(S2WorldTape *tape, S2World *world, S2BodyId body, S2JointId joint,
                             int field, double *value, S2Var *var);

#endif
