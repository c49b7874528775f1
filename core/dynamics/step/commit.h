// The last phase: the whole world changes together.
#ifndef S2_COMMIT_H
#define S2_COMMIT_H

#include "dynamics/step/context.h"

S2Status s2_step_commit(S2Step *step); // fails, with the world unchanged, if the motion is not
                                       // finite
// Makes the events of bodies that come near or part, of bodies that begin or cease to touch, and
// (in the `last` substep) of impulses between bodies. (world/contact_events.c)
void s2_step_contact_events(S2Step *step, bool last);

#endif
