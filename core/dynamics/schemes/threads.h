// Processes islands in threads.
// Islands are independent: a phase that processes an island writes only the bodies, touches and
// joints of that island. If the setting `threads` is above 1, the large islands of a phase run in
// several threads. Each island uses a copy of the step and of the world's private data, with the
// memory of its thread. Statistics, the largest residual, the log of impulses and the first warning
// are added to the step in the order of the islands. Results therefore do not depend on the number
// of threads.
#ifndef S2_THREADS_H
#define S2_THREADS_H

#include "dynamics/step/context.h"

// Processes one island in a phase. In a thread, `step` is a copy. Returns false if aborted.
typedef bool S2IslandWork(S2Step *step, S2Island *island, void *user);

// Runs `work` for each island, in order or in threads. `chosen` contains, for each island,
// whether threads may process it. If `chosen` is NULL, threads may process all islands. If one
// island makes the step hurry, the other islands of the phase are not affected unless the budget
// has ended. Returns false if aborted.
bool s2_islands_run(S2Step *step, S2IslandWork *work, void *user, const bool *chosen);

#endif
