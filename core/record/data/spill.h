// A growing array of bytes. Large arrays are stored in a mapped temporary file, so that the system
// can reclaim their memory.
#ifndef S2_SPILL_H
#define S2_SPILL_H

#include "base/status.h"

#include <stddef.h>
#include <stdio.h>

typedef struct S2Spill {
  void *at;
  size_t size; // capacity in bytes
  FILE *file;  // the mapped file; NULL: in memory
} S2Spill;

// Makes room for at least `size` bytes. Keeps the contents, but may move them. Returns S2_IO and
// changes nothing if there is no space for the temporary file.
S2Status s2_spill_grow(S2Spill *spill, size_t size);
void s2_spill_free(S2Spill *spill);

#endif
