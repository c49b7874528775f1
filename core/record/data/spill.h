// A growing array of bytes: in memory while it is small, otherwise in a mapped temporary file, so
// that the system can write it to disk when it needs the memory.
#ifndef S2_SPILL_H
#define S2_SPILL_H

#include "base/status.h"

#include <stddef.h>
#include <stdio.h>

typedef struct S2Spill {
  void *at;
  size_t size; // capacity in bytes
  FILE *file;  // mapped; NULL: in memory
} S2Spill;

// Makes room for at least `size` bytes. The contents are kept, and may move. S2_IO: there is no
// space for the temporary file, and nothing has changed.
S2Status s2_spill_grow(S2Spill *spill, size_t size);
void s2_spill_free(S2Spill *spill);

#endif
