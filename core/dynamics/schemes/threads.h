// Threads over islands. Islands know nothing of each other: what a phase does of one writes its own
// bodies, touches and joints only. With the setting `threads` above 1 the large ones of a phase are
// shared out. Each works in a copy of the step and of the world's own things, with memory of its
// thread; what these copies gather (statistics, the worst residual, the log of what acted, the
// first warning) is added to the step in the order of the islands. So nothing depends on how many
// threads there are.
#ifndef S2_THREADS_H
#define S2_THREADS_H

#include "dynamics/step/context.h"

// What a phase does of one island; false: aborted. In another thread `step` is a copy.
typedef bool S2IslandWork(S2Step *step, S2Island *island, void *user);

// Does the work of a phase for each island, in their order or shared out to threads. `chosen`: may
// threads do it, an island each; NULL: all of them. Where an island makes the step hurry, those
// beside it in the phase learn nothing of that, but for the end of a budget. False: aborted.
bool s2_islands_run(S2Step *step, S2IslandWork *work, void *user, const bool *chosen);

#endif
