// One world, many futures: copies of it as it is now, each driven by its own sequence of controls.
//
// What comes out of a sequence depends on the world and on it alone, so never on threads. Nothing
// of the world itself changes.
#ifndef S2_ROLLOUT_H
#define S2_ROLLOUT_H

#include "base/threads/workers.h"
#include "batch/judge.h"

typedef struct S2Rollout {
  int samples, knots;     // sequences, and controls one after the other in each
  int hold;               // steps that each of these holds, >= 1
  const double *controls; // [samples][knots][actuators of the world], finite
  const S2Judge *judge;   // of this world
  double *costs;          // [samples]; INFINITY where a step failed
  double *states;         // NULL, or [samples][knots][s2_world_state_size]: after each of the knots
  double *gradient; // NULL, or as controls: how the cost changes with them; NAN where it failed
} S2Rollout;

// S2_INVALID: a control that is not finite, no steps; nothing is computed then. *failed (or NULL)
// is how many sequences failed, and *why what happened to the first of them, with its number.
S2Status s2_rollout(S2Workers *workers, const S2World *world, const S2Rollout *rollout, int *failed,
                    S2Status *why);

#endif
