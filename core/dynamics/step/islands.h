// Phase 3: islands, which are sets of bodies that act on each other.
#ifndef S2_ISLANDS_H
#define S2_ISLANDS_H

#include "dynamics/step/context.h"

void s2_step_islands(S2Step *step); // finds the islands from touches and joints.
// Returns the velocity scale V (m/s) of an island, max(|g| h, |v|, 1e-6 L/h). The velocities v
// before and after the action of forces are relative to the frame of the island.
double s2_island_speed(const S2Step *step, const S2Island *island);
// Returns a speed (m/s). Smaller speeds may be errors of the last solve.
double s2_island_rest_speed(const S2Step *step, const S2Island *island);

#endif
