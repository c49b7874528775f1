#include "base/arena.h"

#include "base/memory.h"

#include <stdint.h>
#include <string.h>

enum {
  ALIGNMENT = S2_ARENA_ALIGNMENT,
  FIRST_BLOCK = 32768, // bytes, enough for all of a small world's steps
};

// bytes; a block that is smaller than this is followed by one of twice its size
static const size_t DOUBLED = (size_t)1 << 26;

static size_t raw_bytes(size_t size) {
  return sizeof(S2ArenaBlock) + size + ALIGNMENT;
}

static S2ArenaBlock *block_in(unsigned char *raw, size_t size) {
  // Data begin at an aligned address after the block's own header.
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
  // Merge the blocks into one block of their total size. From now on one block is enough.
  if (arena->block != NULL && arena->block->older != NULL) {
    size_t total = 0;
    for (const S2ArenaBlock *block = arena->block; block != NULL; block = block->older) {
      total += block->size;
    }
    free_until(arena, NULL);
    unsigned char *raw = s2_memory_try(raw_bytes(total)); // on failure the arena grows again later
    arena->block = raw == NULL ? NULL : block_in(raw, total);
  }
  if (arena->block != NULL) {
    arena->block->at = 0;
  }
  arena->used = 0;
}

void s2_arena_exchange(S2Arena *a, S2Arena *b) {
  S2ArenaBlock *block = a->block;
  a->block = b->block;
  b->block = block;
  s2_arena_reset(a);
  s2_arena_reset(b);
}

void s2_arena_grow(S2Arena *arena, size_t bytes) {
  // The new block is twice as large as the last block, or as large as the last block if that is at
  // least DOUBLED. It is never smaller than the requested size or a quarter of the used memory.
  size_t size = arena->block == NULL           ? FIRST_BLOCK
                : arena->block->size < DOUBLED ? 2 * arena->block->size
                                               : arena->block->size;
  size = size < arena->used / 4 ? arena->used / 4 : size;
  size = size < bytes ? bytes : size;
  unsigned char *raw = s2_memory_try(raw_bytes(size));
  if (raw == NULL) { // there may still be enough memory for the requested size
    size = bytes;
    raw = s2_memory_take(raw_bytes(size));
  }
  S2ArenaBlock *fresh = block_in(raw, size);
  fresh->older = arena->block;
  arena->block = fresh;
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
  // Keep newer blocks until the next reset merges them. If they were freed here, a loop that marks,
  // takes and rewinds at the end of a block would use the heap in every iteration.
  if (arena->block == mark.block) {
    if (arena->block != NULL) {
      arena->block->at = mark.at;
    }
  } else {
    arena->block->at = 0;
  }
  arena->used = mark.used;
}
