// The last phase: the whole world changes together.
#ifndef S2_COMMIT_H
#define S2_COMMIT_H

#include "dynamics/step/context.h"

S2Status s2_step_commit(S2Step *step); // fails, with the world unchanged, if it is not finite
// Events of bodies that come near and separate, meet and separate, and (at the `last` substep) the
// impulses between them. (world/contact_events.c)
void s2_step_contact_events(S2Step *step, bool last);

#endif
