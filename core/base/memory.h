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

// These functions return NULL if memory runs out, even inside a guard, and leave `memory`
// unchanged. Use them if the caller handles the failure.
void *s2_memory_try(size_t bytes);
void *s2_memory_try_grow(void *memory, size_t bytes);

// Checks that an array of `count` items of `item` bytes each can be allocated. If not, it returns
// S2_MEMORY with a message such as "out of memory: an array of 900 MB", where `what` is "an array".
// Call this before you allocate a large size that a script or a file requests.
S2Status s2_memory_room(size_t count, size_t item, const char *what);

// Returns S2_MEMORY with the message "out of memory (... more were requested)".
S2Status s2_memory_exhausted(size_t bytes);

// Calls `run`. If memory runs out during the call, the call ends there, as by longjmp, and returns
// S2_MEMORY. Guarded code must either change nothing, or keep all its changes in one place
// that can be discarded or repaired:
//   s2_memory_building  frees the memory that `run` has taken and not freed. Use it for code that
//                       creates a new object to which no other pointer exists yet.
//   s2_memory_guarded   frees nothing. Use it for code that fills arrays of a longer-lived object.
//                       Arrays of array.h and line.h remain valid, because they change only after
//                       their new memory is available.
// No jump may leave a callback. Callbacks therefore run masked: if memory runs out in a callback,
// no guard catches it.
typedef S2Status S2MemoryRun(void *user);
S2Status s2_memory_building(S2MemoryRun *run, void *user);
S2Status s2_memory_guarded(S2MemoryRun *run, void *user);
bool s2_memory_mask(bool masked); // returns the previous value, which the caller must restore.

// Returns the number of calls of take, try and grow that this thread has made.
uint64_t s2_memory_count(void);

// For tests: makes the nth of these calls in this thread fail. 1 is the next call, and 0 means no
// call. With `all`, every later call fails, too. Returns true if a call has failed since the last
// call of this function.
bool s2_memory_fail(uint64_t nth, bool all);

#endif
