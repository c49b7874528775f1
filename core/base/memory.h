// The one door to the heap, so that tests can count what passes it, and let it fail.
#ifndef S2_MEMORY_H
#define S2_MEMORY_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

// Never return NULL. On exhaustion they end what runs under the innermost guard (below); without
// one they print one line and abort, as nothing sensible can follow.
void *s2_memory_take(size_t bytes);
void *s2_memory_take_zeroed(size_t bytes);
void *s2_memory_grow(void *memory, size_t bytes); // when it fails, `memory` is as it was
void s2_memory_free(void *memory);

// NULL on exhaustion (`memory` is as it was), guard or not: for those who know what to do.
void *s2_memory_try(size_t bytes);
void *s2_memory_try_grow(void *memory, size_t bytes);

// Is there room for an array of `count` times `item` bytes? Else S2_MEMORY, with what it is for:
// "an array of 9 GB". To ask before something large that a script or a file wants.
S2Status s2_memory_room(size_t count, size_t item, const char *what);

S2Status s2_memory_exhausted(size_t bytes); // S2_MEMORY, "out of memory (... more wanted)"

// Runs `run` so that exhaustion within it comes back as S2_MEMORY, from wherever it happens: the
// rest of `run` and of what it called is left out, as by longjmp. For work that either has all it
// changes in one place that can then be thrown away or put right, or changes nothing:
//   s2_memory_building  what was taken within and not given back is given back: for what makes
//                       something new, which nobody has got yet
//   s2_memory_guarded   nothing is: for what fills arrays of somebody who lives on. They are sound:
//                       those of array.h and line.h change only when the memory is there.
// Foreign code that must not be left like that (a callback) runs masked: there exhaustion is none
// of the guard's.
typedef S2Status S2MemoryRun(void *user);
S2Status s2_memory_building(S2MemoryRun *run, void *user);
S2Status s2_memory_guarded(S2MemoryRun *run, void *user);
bool s2_memory_mask(bool masked); // returns what it was, to be set again

// Calls of take, try and grow in this thread since it started.
uint64_t s2_memory_count(void);

// For tests: the nth of them from now on fails in this thread (1: the next), and all after it when
// `all`. 0: none does any more. Returns whether one has failed since the last call of this.
bool s2_memory_fail(uint64_t nth, bool all);

#endif
