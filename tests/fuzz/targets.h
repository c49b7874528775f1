// What reads files of others, one target a format: bytes are put into a file and read with all that
// can be asked of it. Nothing may crash, hang or leak; what is read must be sane.
#ifndef S2_FUZZ_TARGETS_H
#define S2_FUZZ_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct S2FuzzTarget {
  const char *name;
  // Returns whether the bytes were read: else they were refused with a message. Ends the process on
  // anything else.
  bool (*run)(const uint8_t *bytes, size_t size);
} S2FuzzTarget;

extern const S2FuzzTarget s2_fuzz_targets[];
extern const int s2_fuzz_target_count;

const S2FuzzTarget *s2_fuzz_target(const char *name); // or NULL

// The file that targets put their bytes into goes.
void s2_fuzz_end(void);

#endif
