// The memory of notes. It is a list of blocks that grows, and shrinks when an attempt is discarded.
#include "dynamics/trace/notes.h"

#include <stdint.h>

// Notes are allocated in blocks. The first block has the size of all notes of the last step. A
// larger step gets more blocks, each a fraction of that size.
enum { FIRST_BLOCK = 1024, ALIGNMENT = 8, MORE = 8 };

struct S2NoteBlock {
  S2NoteBlock *older;
  size_t size, at;
};

static const size_t HEAD = (sizeof(S2NoteBlock) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);

void s2_notes_init(S2Notes *notes) {
  *notes = (S2Notes){0};
}

static void notes_free_blocks(S2NoteBlock *block) {
  while (block != NULL) {
    S2NoteBlock *older = block->older;
    s2_memory_free(block);
    block = older;
  }
}

void s2_notes_clear(S2Notes *notes) {
  notes_free_blocks(notes->block);
  notes_free_blocks(notes->answer_block);
  s2_array_free(notes->at);
  s2_array_free(notes->latest);
  s2_fixed_release(notes->fixed);
  s2_memory_free(notes->text);
  s2_notes_init(notes);
}

static size_t notes_rounded(size_t bytes) {
  return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

void *s2_notes_take(S2Notes *notes, S2NoteBlock **blocks, size_t size, size_t bytes) {
  S2NoteBlock *block = *blocks;
  bytes = notes_rounded(bytes);
  // If the request does not fit, allocate a new block that is at least as large as the request.
  if (block == NULL || block->size - block->at < bytes) {
    size = size < bytes ? bytes : size;
    S2NoteBlock *fresh = s2_memory_take(HEAD + size);
    *fresh = (S2NoteBlock){.older = block, .size = size};
    *blocks = block = fresh;
    notes->bytes += HEAD + size;
  }
  void *memory = (unsigned char *)block + HEAD + block->at;
  block->at += bytes;
  return memory;
}

void *s2_note_take(S2Notes *notes, size_t bytes) {
  size_t first = notes->expected > 0 ? notes->expected : FIRST_BLOCK;
  size_t size = notes->block == NULL ? first : first / MORE;
  void *memory = s2_notes_take(notes, &notes->block, size, bytes);
  notes->used += notes_rounded(bytes);
  return memory;
}

int s2_notes_mark(const S2Step *step) {
  return step->world->notes == NULL ? 0 : step->world->notes->at.count;
}

static bool notes_holds(const S2NoteBlock *block, const void *memory) {
  uintptr_t start = (uintptr_t)block + HEAD, at = (uintptr_t)memory;
  return at >= start && at < start + block->size;
}

// Discards the notes since a mark. A note is the first allocation of its act, so all later
// allocations follow it.
void s2_notes_rewind(const S2Step *step, int mark) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL || mark >= notes->at.count) {
    return;
  }
  const S2Note *first = s2_note_at(notes, mark);
  // Free the blocks that were allocated after the first discarded note.
  while (!notes_holds(notes->block, first)) {
    S2NoteBlock *older = notes->block->older;
    notes->used -= notes->block->at;
    notes->bytes -= HEAD + notes->block->size;
    s2_memory_free(notes->block);
    notes->block = older;
  }
  // In the block of the first discarded note, free that note and everything after it.
  size_t at = (size_t)((uintptr_t)first - (uintptr_t)notes->block - HEAD);
  notes->latest.count = 0; // the records may be in freed memory
  notes->used -= notes->block->at - at;
  notes->block->at = at;
  notes->at.count = mark;
}

void s2_notes_end(S2Notes *notes) {
  s2_array_free(notes->latest);
  // The next trace of such a world starts with a block of this size.
  if (notes->fixed != NULL) {
    notes->fixed->expected = notes->used;
  }
}
