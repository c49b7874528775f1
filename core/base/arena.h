// Arena: memory of one step, taken in order and released all at once. After the first steps the
// arena has its final size, and steps no longer use the heap.
#ifndef S2_ARENA_H
#define S2_ARENA_H

#include <stddef.h>
#include <string.h>

enum { S2_ARENA_ALIGNMENT = 64 }; // the size of a cache line, and enough for any vector register

typedef struct S2ArenaBlock S2ArenaBlock;
struct S2ArenaBlock { // private to arena.c
  S2ArenaBlock *older;
  size_t size; // number of bytes of `data`
  size_t at;   // bytes taken
  unsigned char *data;
};

typedef struct S2Arena {
  S2ArenaBlock *block; // newest first; only the newest block supplies memory
  size_t used;         // bytes taken since the last reset, over all blocks
  size_t peak;         // largest `used` ever
} S2Arena;

// A position in the arena. s2_arena_rewind releases everything that was taken after it. The mark is
// valid until the next reset.
typedef struct S2ArenaMark {
  S2ArenaBlock *block;
  size_t at;
  size_t used;
} S2ArenaMark;

void s2_arena_init(S2Arena *arena);
void s2_arena_free(S2Arena *arena);

// Releases everything. If the arena has grown, its blocks are merged into one block of their total
// size.
void s2_arena_reset(S2Arena *arena);

// Exchanges the memory of two arenas, and releases what was taken from them. Each keeps its peak.
void s2_arena_exchange(S2Arena *a, S2Arena *b);

// private to arena.c: adds a block with space for `bytes`
void s2_arena_grow(S2Arena *arena, size_t bytes);

// Returns aligned, uninitialised memory. If memory runs out, the current call ends (memory.h).
static inline void *s2_arena_take(S2Arena *arena, size_t bytes) {
  size_t rounded = (bytes + S2_ARENA_ALIGNMENT - 1) & ~(size_t)(S2_ARENA_ALIGNMENT - 1);
  if (arena->block == NULL || arena->block->size - arena->block->at < rounded) {
    s2_arena_grow(arena, rounded);
  }
  S2ArenaBlock *block = arena->block;
  void *memory = block->data + block->at;
  block->at += rounded;
  arena->used += rounded;
  if (arena->used > arena->peak) {
    arena->peak = arena->used;
  }
  return memory;
}

static inline void *s2_arena_take_zeroed(S2Arena *arena, size_t bytes) {
  return memset(s2_arena_take(arena, bytes), 0, bytes);
}

// Returns a copy of `count` numbers. `from` may be NULL if `count` is 0.
double *s2_arena_copy(S2Arena *arena, const double *from, int count);

S2ArenaMark s2_arena_mark(const S2Arena *arena);
void s2_arena_rewind(S2Arena *arena, S2ArenaMark mark);

#define S2_TAKE(arena, Type, count) ((Type *)s2_arena_take((arena), sizeof(Type) * (size_t)(count)))
#define S2_TAKE_ZEROED(arena, Type, count)                                                         \
  ((Type *)s2_arena_take_zeroed((arena), sizeof(Type) * (size_t)(count)))

#endif
