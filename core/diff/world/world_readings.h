// Private to core/diff: the parts of S2WorldTape that the acts on a world use.
#ifndef S2_WORLD_READINGS_H
#define S2_WORLD_READINGS_H

#include "diff/world/world_tape.h"

S2WorldGradient *s2_world_tape_gradient(S2WorldTape *tape, const S2World *world); // fits the world
S2Tape *s2_world_tape_of(const S2WorldTape *tape);
void s2_world_tape_flag(S2WorldTape *tape, unsigned flags); // S2GradientFlag
S2Arena *s2_world_tape_arena(S2WorldTape *tape);            // of one act

#endif
