// The last phase of a step, which changes the world.
#ifndef S2_COMMIT_H
#define S2_COMMIT_H

#include "dynamics/step/context.h"

// Commits a step. If the motion is not finite, fails and leaves the world unchanged.
S2Status s2_step_commit(S2Step *step);
// Creates the events of bodies that come near or separate, and of bodies that begin or end a
// contact. If this is the `last` substep, also creates the events of impulses between bodies.
// (world/contact_events.c)
void s2_step_contact_events(S2Step *step, bool last);
// Adds the impulses of a step that left the whole world unchanged (S2Rest.growth) to the sums of
// the couples. (world/contact_events.c)
void s2_couples_grow(S2World *world);

#endif
