// A file that is being written. After a failure, all output is discarded. Writers need not check
// every call, because flush and close report the first failure.
#ifndef S2_OUTPUT_H
#define S2_OUTPUT_H

#include "base/number.h"
#include "base/status.h"

#include <stddef.h>
#include <stdio.h>

typedef struct S2Output {
  FILE *file; // NULL: closed
  char *path; // owned
  int error;  // errno of the first failure, or 0
  // Names of the partial file and of the file that it replaces at the end, both owned. NULL if the
  // file is written in place.
  char *part, *target;
} S2Output;

#define S2_OUTPUT_PART ".part" // suffix of an incomplete file.

// Creates or empties a file that is useful before it is complete. Returns S2_IO if the file cannot
// be opened, for example because this or another process is already writing it.
S2Status s2_output_open(S2Output *output, const char *path);
// Opens a file that is only useful when complete. Writes a partial file in the same folder, which
// replaces the file at the end. Until then the file does not change, even if this process is
// killed. Devices are written directly.
S2Status s2_output_open_whole(S2Output *output, const char *path);

void s2_output_bytes(S2Output *output, const void *bytes, size_t size);
void s2_output_text(S2Output *output, const char *text);
void s2_output_format(S2Output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Passes all buffered bytes to the operating system, so that they survive a crash of this process.
S2Status s2_output_flush(S2Output *output);
S2Status s2_output_close(S2Output *output); // closes the file, and reports the first failure
void s2_output_abandon(S2Output *output);   // removes the partial file.

// Returns the end of a path, for messages with limited space.
const char *s2_path_tail(const char *path);
// Returns the suffix of a path with its dot, or "".
const char *s2_path_suffix(const char *path);

#endif
