// Rollouts: copies of one world in its present state, each with a separate sequence of controls.
//
// The result of a sequence depends only on the world and the sequence, never on threads. The world
// itself does not change.
#ifndef S2_ROLLOUT_H
#define S2_ROLLOUT_H

#include "base/threads/workers.h"
#include "batch/judge.h"

typedef struct S2Rollout {
  int samples, knots;     // number of sequences, and number of controls in each
  int hold;               // number of steps for which each control holds, >= 1
  const double *controls; // [samples][knots][actuators of the world], finite
  const S2Judge *judge;   // judge for this world
  double *costs;          // [samples]: cost, or INFINITY if a step failed.
  // NULL, or [samples][knots][s2_world_state_size]: the state after each knot
  double *states;
  // NULL, or the derivative of the cost with respect to the controls, in the same layout as
  // `controls`; NAN after a failure
  double *gradient;
} S2Rollout;

// Returns S2_INVALID, and computes nothing, if a control is not finite or if there are no steps.
// *failed (or NULL) receives the number of failed sequences. *why receives the error of the first
// failed sequence, with its index.
S2Status s2_rollout(S2Workers *workers, const S2World *world, const S2Rollout *rollout, int *failed,
                    S2Status *why);

#endif
