// Arena: memory of one step, taken in order and given back all at once. After the first steps the
// arena has its final size and a step touches the heap no more.
#ifndef S2_ARENA_H
#define S2_ARENA_H

#include <stddef.h>

typedef struct S2ArenaBlock S2ArenaBlock;

typedef struct S2Arena {
  S2ArenaBlock *block; // newest first; only the newest is taken from
  size_t used;         // bytes taken since the last reset, over all blocks
  size_t peak;         // largest `used` ever
} S2Arena;

// A position to return to: everything taken after it is given back by s2_arena_rewind. Only valid
// while no reset has happened since.
typedef struct S2ArenaMark {
  S2ArenaBlock *block;
  size_t at;
  size_t used;
} S2ArenaMark;

void s2_arena_init(S2Arena *arena);
void s2_arena_free(S2Arena *arena);

// Gives everything back. When the arena had grown, its blocks are merged into one that fits.
void s2_arena_reset(S2Arena *arena);

// 64-byte aligned, uninitialised. Running out of memory ends the process: a step cannot go on.
void *s2_arena_take(S2Arena *arena, size_t bytes);
void *s2_arena_take_zeroed(S2Arena *arena, size_t bytes);
// A copy of `count` numbers; `from` may be NULL where there are none.
double *s2_arena_copy(S2Arena *arena, const double *from, int count);

S2ArenaMark s2_arena_mark(const S2Arena *arena);
void s2_arena_rewind(S2Arena *arena, S2ArenaMark mark);

#define S2_TAKE(arena, Type, count) ((Type *)s2_arena_take((arena), sizeof(Type) * (size_t)(count)))
#define S2_TAKE_ZEROED(arena, Type, count)                                                         \
  ((Type *)s2_arena_take_zeroed((arena), sizeof(Type) * (size_t)(count)))

#endif
