// The impulses that acted in a step and their places, separate from the impulses that touches keep
// as guesses for the next step.
#ifndef S2_ACTED_H
#define S2_ACTED_H

#include "dynamics/step/context.h"

void s2_acted_begin(const S2Step *step); // begins a substep
// Begins the log of an attempt for the present touches.
void s2_log_begin(S2Step *step);
// Adds the impulses of the touch with index `touch`. `as`: its state in the solves; `less`:
// impulses to subtract (normal, tangent; 2 points), or NULL.
void s2_log_touch(const S2Step *step, int32_t touch, const S2Touch *as, const double *less);
void s2_log_islands(S2Step *step); // begins the log, and adds all touches of the step's islands
// Makes the logged impulses part of the step (S2World.acting) and empties the log.
void s2_log_keep(S2Step *step);
// Records a correction of a body's v2 by dv times `fraction`; v2 does not contain it yet.
void s2_step_correct(const S2Step *step, int32_t slot, const double dv[3], double fraction);
// Ends the step: S2World.acted receives its impulses, with the places of features at q1.
void s2_acted_commit(S2Step *step);

#endif
