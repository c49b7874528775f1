// Warnings about what a step meets or leaves.
#ifndef S2_WARN_H
#define S2_WARN_H

#include "dynamics/step/assemble.h"

// After each search, speaks after the first one since bodies were made or placed. (overlap.c)
void s2_step_warn_of_overlaps(const S2Step *step);
// Names what a solution that missed the tolerance leaves unmet: the contacts and joints that were
// proved to contradict each other, else those that are off by most. (contradict.c)
void s2_step_warn_of_unsolved(const S2Step *step, const S2Island *island, const S2Choice *choices,
                              S2SolveKind kind, const S2Assembly *assembly,
                              const S2Solution *solution);
// Names the joints that are far from where they should be at q1. (contradict.c)
void s2_step_warn_of_misfits(const S2Step *step, const S2Island *island);

#endif
