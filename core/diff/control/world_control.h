// Fields of bodies and joints on a tape.
#ifndef S2_WORLD_CONTROL_H
#define S2_WORLD_CONTROL_H

#include "diff/world/world_tape.h"

// The node of a field of a body, or of a joint if `body` is null. Only commands count as tracked
// inputs, and the parameters of the world count as constants. Returns S2_UNAVAILABLE if the field
// has no derivative.
S2Status s2_world_tape_field(S2WorldTape *tape, S2World *world, S2BodyId body, S2JointId joint,
                             int field, double *value, S2Var *var);

#endif
