#include "base/arena.h"

#include "base/memory.h"

#include <stdint.h>
#include <string.h>

enum {
  ALIGNMENT = 64,      // a cache line, and enough for any vector register
  FIRST_BLOCK = 32768, // bytes; a small world never needs a second block
};

struct S2ArenaBlock {
  S2ArenaBlock *older;
  size_t size; // bytes behind `data`
  size_t at;   // bytes taken
  unsigned char *data;
};

static S2ArenaBlock *block_new(size_t size) {
  unsigned char *raw = s2_memory_take(sizeof(S2ArenaBlock) + size + ALIGNMENT);
  S2ArenaBlock *block = (S2ArenaBlock *)(void *)raw;
  uintptr_t start = (uintptr_t)(raw + sizeof(S2ArenaBlock));
  uintptr_t aligned = (start + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
  *block = (S2ArenaBlock){.size = size, .data = raw + sizeof(S2ArenaBlock) + (aligned - start)};
  return block;
}

static void free_until(S2Arena *arena, const S2ArenaBlock *stop) {
  while (arena->block != stop) {
    S2ArenaBlock *older = arena->block->older;
    s2_memory_free(arena->block);
    arena->block = older;
  }
}

void s2_arena_init(S2Arena *arena) {
  *arena = (S2Arena){0};
}

void s2_arena_free(S2Arena *arena) {
  free_until(arena, NULL);
  *arena = (S2Arena){0};
}

void s2_arena_reset(S2Arena *arena) {
  if (arena->block != NULL && arena->block->older != NULL) {
    size_t total = 0;
    for (const S2ArenaBlock *block = arena->block; block != NULL; block = block->older) {
      total += block->size;
    }
    free_until(arena, NULL);
    arena->block = block_new(total);
  }
  if (arena->block != NULL) {
    arena->block->at = 0;
  }
  arena->used = 0;
}

void *s2_arena_take(S2Arena *arena, size_t bytes) {
  size_t rounded = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  S2ArenaBlock *block = arena->block;
  if (block == NULL || block->size - block->at < rounded) {
    size_t size = block == NULL ? FIRST_BLOCK : 2 * block->size;
    S2ArenaBlock *fresh = block_new(size < rounded ? rounded : size);
    fresh->older = block;
    arena->block = block = fresh;
  }
  void *memory = block->data + block->at;
  block->at += rounded;
  arena->used += rounded;
  if (arena->used > arena->peak) {
    arena->peak = arena->used;
  }
  return memory;
}

void *s2_arena_take_zeroed(S2Arena *arena, size_t bytes) {
  return memset(s2_arena_take(arena, bytes), 0, bytes);
}

double *s2_arena_copy(S2Arena *arena, const double *from, int count) {
  double *to = S2_TAKE(arena, double, count);
  if (count > 0) {
    memcpy(to, from, sizeof(double) * (size_t)count);
  }
  return to;
}

S2ArenaMark s2_arena_mark(const S2Arena *arena) {
  return (S2ArenaMark){
      .block = arena->block,
      .at = arena->block == NULL ? 0 : arena->block->at,
      .used = arena->used,
  };
}

void s2_arena_rewind(S2Arena *arena, S2ArenaMark mark) {
  // Newer blocks stay for the next reset to merge, else a loop of mark, take, rewind at the edge of
  // a block would call the heap every time: keep them by leaving only their contents unused.
  if (arena->block == mark.block) {
    if (arena->block != NULL) {
      arena->block->at = mark.at;
    }
  } else {
    arena->block->at = 0;
  }
  arena->used = mark.used;
}
