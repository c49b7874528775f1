// A file being written. The first failure is remembered and everything after it is dropped, so that
// writers need not check every call: flush and close tell.
#ifndef S2_OUTPUT_H
#define S2_OUTPUT_H

#include "base/number.h"
#include "base/status.h"

#include <stddef.h>
#include <stdio.h>

typedef struct S2Output {
  FILE *file; // NULL: closed
  char *path; // owned
  int error;  // errno of the first failure, 0: none
} S2Output;

// Creates the file or empties it. Fails with S2_IO, naming the path and the reason: one is that it
// is being written already, by this process or another.
S2Status s2_output_open(S2Output *output, const char *path);

void s2_output_bytes(S2Output *output, const void *bytes, size_t size);
void s2_output_text(S2Output *output, const char *text);
void s2_output_format(S2Output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Hands everything to the operating system: what was written survives the end of this process.
S2Status s2_output_flush(S2Output *output);
S2Status s2_output_close(S2Output *output); // reports failures of all that came before, too

// The end of a path, for messages that must have room for the reason.
const char *s2_path_tail(const char *path);
// The suffix of a path with its dot, "" when it has none.
const char *s2_path_suffix(const char *path);

#endif
