#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

static _Thread_local uint64_t taken; // a statistic only: nothing depends on it

static void *checked(void *memory, size_t bytes) {
  if (memory == NULL && bytes > 0) {
    fprintf(stderr, "sim2d: out of memory (%zu bytes)\n", bytes);
    abort();
  }
  taken += 1;
  return memory;
}

void *s2_memory_take(size_t bytes) {
  return checked(malloc(bytes), bytes);
}

void *s2_memory_take_zeroed(size_t bytes) {
  return checked(calloc(1, bytes), bytes);
}

void *s2_memory_grow(void *memory, size_t bytes) {
  return checked(realloc(memory, bytes), bytes);
}

void *s2_memory_try(size_t bytes) {
  taken += 1;
  return malloc(bytes > 0 ? bytes : 1);
}

void s2_memory_free(void *memory) {
  free(memory);
}

uint64_t s2_memory_count(void) {
  return taken;
}
