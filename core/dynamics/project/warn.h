// Warnings about conditions of a step and its result.
#ifndef S2_WARN_H
#define S2_WARN_H

#include "dynamics/step/assemble.h"

// Warns about initial overlaps. Call this after each search for touches. It only acts after the
// first search since bodies were created or moved. (overlap.c)
void s2_step_warn_of_overlaps(const S2Step *step);
// Warns about a solution that missed the tolerance. Names the contacts and joints that provably
// contradict each other, or else those with the largest errors. (contradict.c)
void s2_step_warn_of_unsolved(const S2Step *step, const S2Island *island, const S2Choice *choices,
                              S2SolveKind kind, const S2Assembly *assembly,
                              const S2Solution *solution);
// Warns about joints that have large errors at q1. (contradict.c)
void s2_step_warn_of_misfits(const S2Step *step, const S2Island *island);

#endif
