// Phase 3: islands, which are bodies that act on each other.
#ifndef S2_ISLANDS_H
#define S2_ISLANDS_H

#include "dynamics/step/context.h"

void s2_step_islands(S2Step *step); // of the touches and joints as they are
// The velocity scale V of an island (MATH: max(|g| h, |v|, 1e-6 L/h), m/s), forces included, v
// against its frame.
double s2_island_speed(const S2Step *step, const S2Island *island);
// Speeds below this are what the tolerance of the last solve left over, m/s.
double s2_island_rest_speed(const S2Step *step, const S2Island *island);

#endif
