// The record of a step for its derivative, and the computation of that derivative.
//
// A traced step records in order every solve, projection and impact that contributed to its result
// (not discarded ones), with the state, the contact features and the multipliers. The sweep
// assembles matrices again from these data. Without a trace, the only cost is the check of one
// pointer.
#ifndef S2_TRACE_H
#define S2_TRACE_H

#include "diff/world/world_gradient.h"

typedef struct S2Trace S2Trace; // one step of one world, with all its parts

S2Trace *s2_trace_new(void);
void s2_trace_free(S2Trace *trace);
size_t s2_trace_bytes(const S2Trace *trace);

// Takes a step as s2_world_step does, and records it. On failure the trace is empty and the world
// is unchanged.
S2Status s2_world_step_traced(S2World *world, S2Trace *trace);

// As s2_world_step_traced, but the derivatives with respect to parameters may be left out. Only
// those with respect to the state and to forces are computed. A step that the world's program takes
// then needs no notes, and its derivative costs about as much as the step. `recorder` is working
// memory.
struct S2Recorder;
S2Status s2_world_step_traced_state(S2World *world, struct S2Recorder *recorder, S2Trace *trace);

// Converts the gradient with respect to the state after the step to the gradient with respect to
// the state before it, and adds to the gradient of the parameters. `gradient` must fit the world.
// The world may already be destroyed. Returns S2_INVALID if the step used a feature without a
// derivative (the message names it); the gradient is then invalid. Afterwards gradient->f is
// dl/d(force) for each body, for forces of the user and of force laws. It is summed over all parts
// of the step.
S2Status s2_trace_vjp(const S2Trace *trace, S2WorldGradient *gradient, S2Arena *arena);

#endif
