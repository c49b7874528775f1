#include "batch/rollout_gradient.h"

S2Status s2_rollout_gradient(S2World *world, const S2RolloutSample *sample) {
  (void)world, (void)sample;
  return s2_error(S2_UNAVAILABLE, "no derivative yet");
}
