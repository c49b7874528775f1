// Forward derivatives of steps in which only rigid joints act. They need no recorded steps, and
// give the results of s2_linearizer_step in a fraction of the time. Private to core/diff/linear.
#ifndef S2_DIRECT_H
#define S2_DIRECT_H

#include "diff/linear/reduce.h"

// Takes `steps` steps and fills `linear` (a and b are in the arena). It describes how the final
// reduced state depends on the initial reduced state and on the inputs, which are constant over the
// steps. The inputs belong to the first actuators. If this method does not support a step, *direct
// is false and nothing has changed.
S2Status s2_direct_try(S2World *world, const S2Input *inputs, int count,
                       const S2Reduction *reduction, int steps, S2Arena *arena, S2Linear *linear,
                       bool *direct);

#endif
