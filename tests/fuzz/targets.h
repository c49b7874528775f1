// Readers of foreign files, one target per format: bytes are put into a file, read, and queried in
// all ways. No input may crash, hang or leak; the result must be consistent.
#ifndef S2_FUZZ_TARGETS_H
#define S2_FUZZ_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct S2FuzzTarget {
  const char *name;
  // Returns whether the bytes were read: otherwise they were refused with a message. Any other
  // result ends the process.
  bool (*run)(const uint8_t *bytes, size_t size);
} S2FuzzTarget;

extern const S2FuzzTarget s2_fuzz_targets[];
extern const int s2_fuzz_target_count;

const S2FuzzTarget *s2_fuzz_target(const char *name); // or NULL

// Removes the file into which targets write their bytes.
void s2_fuzz_end(void);

#endif
