// Threads over islands. Islands are independent: the work of a phase on an island writes only its
// own bodies, touches and joints. If the setting `threads` is above 1, the large islands of a phase
// run in several threads. Each island runs in a copy of the step and of the world's private data,
// with the memory of its thread. The collected results (statistics, the largest residual, the log
// of impulses, the first warning) are added to the step in the order of the islands. So results do
// not depend on the number of threads.
#ifndef S2_THREADS_H
#define S2_THREADS_H

#include "dynamics/step/context.h"

// The work of a phase on one island; false: aborted. In a thread, `step` is a copy.
typedef bool S2IslandWork(S2Step *step, S2Island *island, void *user);

// Runs the work of a phase for each island, in order or in threads. `chosen`: whether threads may
// do each island; NULL: all of them. If one island makes the step hurry, the other islands of the
// phase are not affected, unless the budget has ended. False: aborted.
bool s2_islands_run(S2Step *step, S2IslandWork *work, void *user, const bool *chosen);

#endif
