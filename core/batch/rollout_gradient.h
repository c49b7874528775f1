// Computes the derivative of the cost of one sequence of controls with respect to these controls.
#ifndef S2_ROLLOUT_GRADIENT_H
#define S2_ROLLOUT_GRADIENT_H

#include "batch/judge.h"

typedef struct S2RolloutSample {
  int knots, hold;
  const double *controls; // [knots][actuators]
  const S2Judge *judge;
  double *gradient; // same shape as the controls; overwritten
} S2RolloutSample;

// Steps `world` through the sample on its own tape, then sweeps the tape backwards. If a derivative
// does not exist, this returns S2_UNAVAILABLE with a message that gives the reason.
S2Status s2_rollout_gradient(S2World *world, const S2RolloutSample *sample);

#endif
