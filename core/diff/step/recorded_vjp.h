// The derivative of steps that worlds take side by side by their programs, from the records of
// dynamics/program/recorded.h. It costs about as much as the steps.
#ifndef S2_RECORDED_VJP_H
#define S2_RECORDED_VJP_H

#include "diff/world/world_gradient.h"
#include "dynamics/program/recorded.h"

enum { S2_SWEEP_ISLANDS = 2 }; // largest number of islands of worlds in lanes

// Constants of the worlds of the last step, in lanes.
typedef struct S2RecordedSweep {
  double *constants[S2_SWEEP_ISLANDS];
  int lanes;
  int32_t index[S2_RECORDED_LANES];
} S2RecordedSweep;

// Starts a sweep. The arena must stay as it is until the end of the sweep.
void s2_recorded_sweep_start(S2RecordedSweep *sweep, S2Arena *arena);

// Converts the gradients with respect to the states after the step to those with respect to the
// states before it, as s2_trace_vjp does, for each world of the step. Afterwards gradient->f is
// dl/d(force). Parameters get no gradient. The arrays are indexed by S2RecordedStep.index.
// `programs` took the step. `good` becomes false for a world whose
// gradient cannot be computed.
void s2_recorded_vjp(S2RecordedSweep *sweep, const S2RecordedStep *step,
                     const S2Program *const *programs, S2WorldGradient *gradients, bool *good);

#endif
