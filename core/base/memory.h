// All heap allocation goes through these functions, so that tests can count it and make it fail.
#ifndef S2_MEMORY_H
#define S2_MEMORY_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

// These functions never return NULL. If memory runs out, they end the call that runs under the
// innermost guard (below). Without a guard they print one line and abort.
void *s2_memory_take(size_t bytes);
void *s2_memory_take_zeroed(size_t bytes);
void *s2_memory_grow(void *memory, size_t bytes); // `memory` is unchanged on failure
void s2_memory_free(void *memory);

// These functions return NULL if memory runs out (`memory` is unchanged), with or without a guard.
// They are for callers that handle the failure.
void *s2_memory_try(size_t bytes);
void *s2_memory_try_grow(void *memory, size_t bytes);

// Checks that an array of `count` times `item` bytes can be allocated. If not, it returns
// S2_MEMORY, and the message contains `what`: "an array of 9 GB". Call this before you allocate a
// large size that a script or a file requests.
S2Status s2_memory_room(size_t count, size_t item, const char *what);

S2Status s2_memory_exhausted(size_t bytes); // S2_MEMORY, "out of memory (... more were requested)"

// Calls `run`. If memory runs out anywhere within it, the call ends there, as by longjmp, and
// returns S2_MEMORY. Guarded code must keep all its changes in one place that can be discarded or
// repaired, or change nothing:
//   s2_memory_building  frees the memory that `run` has taken and not freed; for code that makes
//                       a new object, to which no one else has a pointer yet
//   s2_memory_guarded   frees nothing; for code that fills arrays of a longer-lived object. Arrays
//                       of array.h and line.h stay valid: they change only once they have memory
// No jump may leave a callback. A callback therefore runs masked: no guard catches an exhaustion
// within it.
typedef S2Status S2MemoryRun(void *user);
S2Status s2_memory_building(S2MemoryRun *run, void *user);
S2Status s2_memory_guarded(S2MemoryRun *run, void *user);
bool s2_memory_mask(bool masked); // returns the previous value, to be restored

// Calls of take, try and grow in this thread since it started.
uint64_t s2_memory_count(void);

// For tests: makes the nth of these calls in this thread fail (1: the next call). With `all`, every
// later call fails, too. 0: no call fails. Returns whether a call has failed since the last call of
// this function.
bool s2_memory_fail(uint64_t nth, bool all);

#endif
