#include "base/memory.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

// The memory blocks that a guard frees on failure. This is a hash table with open addressing that
// is at most half full.
typedef struct Held {
  void **at;
  size_t count, room; // `count` includes removed entries; `room` is a power of two
} Held;

typedef struct Guard {
  jmp_buf back;
  size_t wanted; // bytes
  bool building, was_masked;
  Held held;
  struct Guard *outer;
} Guard;

static _Thread_local uint64_t taken; // used only for statistics
static _Thread_local Guard *guard;   // the innermost
static _Thread_local bool masked;    // true inside a callback: no guard may jump out of it
static _Thread_local uint64_t failing_at;
static _Thread_local bool failing_on, failed;

static char gone; // The address of this variable marks removed entries.

// ---- Held memory ------------------------------------------------------------------------------

static void **memory_place_of(const Held *held, const void *memory) {
  size_t mask = held->room - 1, at = (size_t)((uintptr_t)memory >> 4) * (size_t)0x9e3779b97f4a7c15u;
  for (at = (at ^ at >> 32) & mask; held->at[at] != memory && held->at[at] != NULL;) {
    at = (at + 1) & mask;
  }
  return &held->at[at];
}

static bool memory_hold(Held *held, void *memory) {
  // Keeps at least half of the table free. Removed entries are not copied.
  if (2 * (held->count + 1) > held->room) {
    Held larger = {.room = held->room == 0 ? 64 : 2 * held->room};
    larger.at = calloc(larger.room, sizeof(void *));
    if (larger.at == NULL) {
      return false;
    }
    for (size_t i = 0; i < held->room; i++) {
      if (held->at[i] != NULL && held->at[i] != &gone) {
        *memory_place_of(&larger, held->at[i]) = held->at[i];
        larger.count += 1;
      }
    }
    free(held->at);
    *held = larger;
  }
  *memory_place_of(held, memory) = memory;
  held->count += 1;
  return true;
}

// Removes the memory block from the guard that owns it, if any.
static Guard *let_go(const void *memory) {
  for (Guard *at = guard; at != NULL && memory != NULL; at = at->outer) {
    void **place = at->held.room == 0 ? NULL : memory_place_of(&at->held, memory);
    if (place != NULL && *place == memory) {
      *place = &gone;
      return at;
    }
  }
  return NULL;
}

// ---- Allocation -------------------------------------------------------------------------------

// Returns true if this call must fail (for tests).
static bool memory_fails(void) {
  taken += 1;
  if (failing_at == 0 || taken < failing_at) {
    return false;
  }
  failing_at = failing_on ? failing_at : 0;
  failed = true;
  return true;
}

// Returns the innermost building guard, or NULL.
static Guard *memory_builder(void) {
  Guard *at = guard;
  while (at != NULL && !at->building) {
    at = at->outer;
  }
  return at;
}

static void *memory_keep(void *memory) {
  Guard *holder = memory == NULL ? NULL : memory_builder();
  if (holder == NULL || memory_hold(&holder->held, memory)) {
    return memory;
  }
  free(memory);
  return NULL;
}

void *s2_memory_try(size_t bytes) {
  // malloc(0) may return NULL
  return memory_fails() ? NULL : memory_keep(malloc(bytes > 0 ? bytes : 1));
}

void *s2_memory_try_grow(void *memory, size_t bytes) {
  if (memory == NULL) {
    return s2_memory_try(bytes);
  }
  if (memory_fails()) {
    return NULL;
  }
  Guard *holder = let_go(memory);
  void *grown = realloc(memory, bytes);
  if (holder != NULL) {
    // if the table cannot grow, the block leaks when the guard fails
    (void)memory_hold(&holder->held, grown != NULL ? grown : memory);
  }
  return grown;
}

static void *memory_checked(void *memory, size_t bytes) {
  if (memory == NULL && bytes > 0) {
    if (guard != NULL && !masked) {
      guard->wanted = bytes;
      longjmp(guard->back, 1);
    }
    fprintf(stderr, "sim2d: out of memory (%zu bytes)\n", bytes);
    abort();
  }
  return memory;
}

void *s2_memory_take(size_t bytes) {
  return memory_checked(s2_memory_try(bytes), bytes);
}

void *s2_memory_take_zeroed(size_t bytes) {
  return memory_checked(memory_fails() ? NULL : memory_keep(calloc(1, bytes)), bytes);
}

void *s2_memory_grow(void *memory, size_t bytes) {
  return memory_checked(s2_memory_try_grow(memory, bytes), bytes);
}

void s2_memory_free(void *memory) {
  if (guard != NULL) {
    (void)let_go(memory);
  }
  free(memory);
}

S2Status s2_memory_exhausted(size_t bytes) {
  return s2_error(S2_MEMORY, "out of memory (%.3g MB more were requested)", 1e-6 * (double)bytes);
}

S2Status s2_memory_room(size_t count, size_t item, const char *what) {
  enum { SMALL = 1 << 20 }; // bytes; smaller sizes are not tested
  if (count <= SMALL / item) {
    return s2_ok();
  }
  void *memory = count > SIZE_MAX / 2 / item ? NULL : s2_memory_try(count * item);
  s2_memory_free(memory);
  return memory != NULL ? s2_ok()
                        : s2_error(S2_MEMORY, "out of memory: %s of %.3g MB", what,
                                   1e-6 * (double)count * (double)item);
}

// ---- Guards -----------------------------------------------------------------------------------

// Passes the memory of an inner guard on to the outer guard, if there is one.
static void pass_on(Held *held) {
  Guard *outer = memory_builder();
  for (size_t i = 0; i < held->room && outer != NULL; i++) {
    if (held->at[i] != NULL && held->at[i] != &gone) {
      (void)memory_hold(&outer->held,
                        // if the table cannot grow, memory leaks when the outer guard also fails
                        held->at[i]);
    }
  }
  free(held->at);
}

static void give_back(Held *held) {
  for (size_t i = 0; i < held->room; i++) {
    if (held->at[i] != &gone) {
      free(held->at[i]);
    }
  }
  free(held->at);
}

static S2Status memory_under(Guard *inner, S2MemoryRun *run, void *user) {
  inner->outer = guard;
  inner->was_masked = masked;
  guard = inner;
  masked = false;
  if (setjmp(inner->back) != 0) {
    guard = inner->outer;
    masked = inner->was_masked;
    give_back(&inner->held);
    return s2_memory_exhausted(inner->wanted);
  }
  S2Status status = run(user);
  guard = inner->outer;
  masked = inner->was_masked;
  pass_on(&inner->held);
  return status;
}

S2Status s2_memory_building(S2MemoryRun *run, void *user) {
  Guard here = {.building = true};
  return memory_under(&here, run, user);
}

S2Status s2_memory_guarded(S2MemoryRun *run, void *user) {
  Guard here = {.building = false};
  return memory_under(&here, run, user);
}

bool s2_memory_mask(bool now) {
  bool before = masked;
  masked = now;
  return before;
}

uint64_t s2_memory_count(void) {
  return taken;
}

bool s2_memory_fail(uint64_t nth, bool all) {
  bool before = failed;
  failed = false;
  failing_at = nth == 0 ? 0 : taken + nth;
  failing_on = all;
  return before;
}
