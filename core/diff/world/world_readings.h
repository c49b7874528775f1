// The parts of S2WorldTape that the acts on a world use. Private to core/diff.
#ifndef S2_WORLD_READINGS_H
#define S2_WORLD_READINGS_H

#include "diff/world/world_tape.h"

// Returns a gradient with the size of the world.
S2WorldGradient *s2_world_tape_gradient(S2WorldTape *tape, const S2World *world);
S2Tape *s2_world_tape_of(const S2WorldTape *tape);
void s2_world_tape_flag(S2WorldTape *tape, unsigned flags); // S2GradientFlag
S2Arena *s2_world_tape_arena(S2WorldTape *tape);            // workspace for one act

#endif
