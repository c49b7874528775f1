// The impulses of a step and the points at which they acted.
// They are separate from the impulses that touches store as guesses for the next step.
#ifndef S2_ACTED_H
#define S2_ACTED_H

#include "dynamics/step/context.h"

void s2_acted_begin(const S2Step *step); // begins a substep.
// Begins the log of an attempt for the current touches.
void s2_log_begin(S2Step *step);
// Adds the impulses of the touch with index `touch`. `as` is the state of the touch in the solves.
// `less` contains impulses to subtract (normal and tangent impulses of 2 points), or is NULL.
void s2_log_touch(const S2Step *step, int32_t touch, const S2Touch *as, const double *less);
void s2_log_islands(S2Step *step); // begins the log, and adds all touches of islands.
// Makes the logged impulses part of the step (S2World.acting) and empties the log.
void s2_log_keep(S2Step *step);
// Records a correction of a body's v2 by dv times `fraction`. The caller changes v2.
void s2_step_correct(const S2Step *step, int32_t slot, const double dv[3], double fraction);
// Ends the step: copies its impulses to S2World.acted, with the positions of features at q1.
void s2_acted_commit(S2Step *step);

#endif
