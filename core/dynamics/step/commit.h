// The last phase: the world changes, all at once.
#ifndef S2_COMMIT_H
#define S2_COMMIT_H

#include "dynamics/step/context.h"

S2Status s2_step_commit(S2Step *step); // fails, and leaves the world alone, where it is not finite
// Bodies that come near and part, meet and part, and (at the `last` substep) what acted between
// them. (world/contact_events.c)
void s2_step_contact_events(S2Step *step, bool last);

#endif
