// The one door to the heap, so that tests can count what passes it.
#ifndef S2_MEMORY_H
#define S2_MEMORY_H

#include <stddef.h>
#include <stdint.h>

// Never return NULL: on exhaustion they print one line and abort, as nothing sensible can follow.
void *s2_memory_take(size_t bytes);
void *s2_memory_take_zeroed(size_t bytes);
void *s2_memory_grow(void *memory, size_t bytes);
// For what a file asks for, which may be anything: NULL when there is no room.
void *s2_memory_try(size_t bytes);
void s2_memory_free(void *memory);

// Calls of take and grow in this thread since it started.
uint64_t s2_memory_count(void);

#endif
