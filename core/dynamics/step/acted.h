// What acted where in a step, apart from the impulses that touches keep for the next step's guess.
#ifndef S2_ACTED_H
#define S2_ACTED_H

#include "dynamics/step/context.h"

void s2_acted_begin(const S2Step *step); // of a substep
// Begins the log of an attempt, for the touches as they are now.
void s2_log_begin(S2Step *step);
// Adds the impulses of a touch (of index `touch`; `as` the solves had it), less those in `less`
// (normal, tangent; 2 points), or NULL.
void s2_log_touch(const S2Step *step, int32_t touch, const S2Touch *as, const double *less);
void s2_log_islands(S2Step *step); // begins it, with all touches of the step's islands
// What the log has is part of the step now (S2World.acting); it is empty then.
void s2_log_keep(S2Step *step);
// What changes v2 of a body by dv beside them, times `fraction`; v2 does not have it yet.
void s2_step_correct(const S2Step *step, int32_t slot, const double dv[3], double fraction);
// The step is over: S2World.acted is what acted, with features where they are at q1.
void s2_acted_commit(S2Step *step);

#endif
