// Derivatives of steps that rigid joints alone hold, forwards and without notes of the steps: what
// s2_linearizer_step gives, in a fraction of the time. Private to core/diff/linear.
#ifndef S2_DIRECT_H
#define S2_DIRECT_H

#include "diff/linear/reduce.h"

// Takes `steps` steps and fills `linear` (a and b from the arena): how the reduced state behind
// them follows from that before and from inputs that are held, which are those of the first
// actuators. *direct false: some step was none of that kind, and nothing has changed.
S2Status s2_direct_try(S2World *world, const S2Input *inputs, int count,
                       const S2Reduction *reduction, int steps, S2Arena *arena, S2Linear *linear,
                       bool *direct);

#endif
