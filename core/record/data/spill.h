// Bytes that grow: in memory while they are few, beyond that in a temporary file that is mapped, so
// that the system can put them away when it needs the memory.
#ifndef S2_SPILL_H
#define S2_SPILL_H

#include "base/status.h"

#include <stddef.h>
#include <stdio.h>

typedef struct S2Spill {
  void *at;
  size_t size; // there is room for so many bytes
  FILE *file;  // mapped; NULL: in memory
} S2Spill;

// Makes room for at least `size` bytes; those before stay, and may move. S2_IO: there is no room
// for the temporary file, and all is as it was.
S2Status s2_spill_grow(S2Spill *spill, size_t size);
void s2_spill_free(S2Spill *spill);

#endif
