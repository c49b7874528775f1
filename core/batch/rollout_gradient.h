// How the cost of one sequence of controls changes with them.
#ifndef S2_ROLLOUT_GRADIENT_H
#define S2_ROLLOUT_GRADIENT_H

#include "batch/judge.h"

typedef struct S2RolloutSample {
  int knots, hold;
  const double *controls; // [knots][actuators]
  const S2Judge *judge;
  double *gradient; // as controls; is written
} S2RolloutSample;

// Steps `world` through the sample on a tape of its own and sweeps that. S2_UNAVAILABLE: something
// without a derivative; the message names it.
S2Status s2_rollout_gradient(S2World *world, const S2RolloutSample *sample);

#endif
