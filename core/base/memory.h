// All heap allocation goes through these functions, so that tests can count it and make it fail.
#ifndef S2_MEMORY_H
#define S2_MEMORY_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

// These functions never return NULL. If memory runs out, they end the call that the innermost guard
// (below) protects. Without a guard they print one line and abort.
void *s2_memory_take(size_t bytes);
void *s2_memory_take_zeroed(size_t bytes);
void *s2_memory_grow(void *memory, size_t bytes); // on failure `memory` is unchanged
void s2_memory_free(void *memory);

// These functions return NULL if memory runs out (`memory` is unchanged), with or without a guard.
// Use them if the caller handles the failure.
void *s2_memory_try(size_t bytes);
void *s2_memory_try_grow(void *memory, size_t bytes);

// Checks that an array of `count` items of `item` bytes each can be allocated. If not, it returns
// S2_MEMORY with a message such as "out of memory: an array of 900 MB", where `what` is "an array".
// Call this before you allocate a large size that a script or a file requests.
S2Status s2_memory_room(size_t count, size_t item, const char *what);

S2Status s2_memory_exhausted(size_t bytes); // S2_MEMORY, "out of memory (... more were requested)".

// Calls `run`. If memory runs out anywhere within it, the call ends there, as by longjmp, and
// returns S2_MEMORY. Guarded code must either change nothing, or keep all its changes in one place
// that can be discarded or repaired:
//   s2_memory_building  frees the memory that `run` has taken and not freed. Use it for code that
//                       creates a new object to which no other pointer exists yet.
//   s2_memory_guarded   frees nothing. Use it for code that fills arrays of a longer-lived object.
//                       Arrays of array.h and line.h remain valid, because they change only after
//                       their new memory is available.
// No jump may leave a callback. A callback therefore runs masked: no guard catches an exhaustion
// within it.
typedef S2Status S2MemoryRun(void *user);
S2Status s2_memory_building(S2MemoryRun *run, void *user);
S2Status s2_memory_guarded(S2MemoryRun *run, void *user);
bool s2_memory_mask(bool masked); // returns the previous value, which the caller must restore.

// The number of calls of take, try and grow in this thread since it started.
uint64_t s2_memory_count(void);

// For tests: makes the nth of these calls in this thread fail (1: the next call; 0: none). With
// `all`, every later call fails, too. Returns whether a call has failed since this function was
// last called.
bool s2_memory_fail(uint64_t nth, bool all);

#endif
