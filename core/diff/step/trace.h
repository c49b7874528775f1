// What a step remembers of itself for its derivative, and that derivative.
//
// A traced step notes, in its order, every solve, projection and impact that its result came from
// (not those that were thrown away), with the state, the contact features and the multipliers;
// matrices are made again from these. Nothing is noted, and nothing looked at but one pointer, when
// no trace is asked for.
#ifndef S2_TRACE_H
#define S2_TRACE_H

#include "diff/world/world_gradient.h"

typedef struct S2Trace S2Trace; // of one step of one world, all its parts

S2Trace *s2_trace_new(void);
void s2_trace_free(S2Trace *trace);
size_t s2_trace_bytes(const S2Trace *trace);

// s2_world_step, noted. On failure the trace is empty and the world as it was.
S2Status s2_world_step_traced(S2World *world, S2Trace *trace);

// Turns the gradient with respect to the state after the step into that before it, adding to the
// parameters. `gradient` fits the world. The world need not live any more. S2_INVALID where the
// step used something without a derivative (the message names it); the gradient is of no use then.
// gradient->f, after it, is dl/d(force) of each body in the step: of what was applied by hand, and
// of what a force law returned (of a step of several parts the sum over them).
S2Status s2_trace_vjp(const S2Trace *trace, S2WorldGradient *gradient, S2Arena *arena);

#endif
