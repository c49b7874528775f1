// The ways to order the phases of a step, and what they share. step.c has the order of each.
#ifndef S2_SCHEMES_H
#define S2_SCHEMES_H

#include "dynamics/step/context.h"

bool s2_step_speculative(S2Step *step); // speculative.c; false: aborted
bool s2_step_bisect(S2Step *step);      // bisect.c; false: aborted
bool s2_step_event(S2Step *step);       // event.c; false: aborted

// speculative.c, of one island: the solve that looks ahead, into v1 and q1; what arrived, into v2.
// False: aborted.
bool s2_island_look_ahead(S2Step *step, const S2Island *island, S2Choice *choices);
bool s2_island_blow(S2Step *step, const S2Island *island, S2Choice *choices, bool *touching);
// Has a body gone further than the search for touches looked? Sets `slack`.
bool s2_step_outran(S2Step *step);
// Are these the contact points of the touches?
bool s2_step_same_points(const S2Step *step, const S2Touch *known, int count);

// Is all of its step speculative, in event stepping? (event.c)
bool s2_island_looks_ahead(const S2Step *step, const S2Island *island);

// The nonlinear midpoint step of an island, into v1 and v2; *done is false where the ordinary step
// has to do, and nothing is changed then. False: aborted. (midpoint.c)
bool s2_step_midpoint(S2Step *step, const S2Island *island, bool *done);

#endif
