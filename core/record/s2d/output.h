// A file that is being written. The first failure is stored, and all later output is discarded. So
// writers need not check every call, because flush and close report the failure.
#ifndef S2_OUTPUT_H
#define S2_OUTPUT_H

#include "base/number.h"
#include "base/status.h"

#include <stddef.h>
#include <stdio.h>

typedef struct S2Output {
  FILE *file; // NULL: closed
  char *path; // owned
  int error;  // errno of the first failure; 0: none.
  // Owned names of the partial file and of the file that it replaces at the end; NULL: the file is
  // written in place.
  char *part, *target;
} S2Output;

#define S2_OUTPUT_PART ".part" // suffix of an incomplete file.

// For files that are useful before they are complete: creates the file or empties it. Returns S2_IO
// if the file cannot be opened, for example because this or another process is already writing it.
// The message has the path and the reason.
S2Status s2_output_open(S2Output *output, const char *path);
// For files that are only useful when complete. Writes to a second file in the same folder, and
// replaces the file by it after all bytes are written. Until then the file does not change, even if
// this process is killed. Devices are written directly.
S2Status s2_output_open_whole(S2Output *output, const char *path);

void s2_output_bytes(S2Output *output, const void *bytes, size_t size);
void s2_output_text(S2Output *output, const char *text);
void s2_output_format(S2Output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Passes all buffered bytes to the operating system, so that they survive the end of this process.
S2Status s2_output_flush(S2Output *output);
S2Status s2_output_close(S2Output *output); // closes the file; also reports all earlier failures
void s2_output_abandon(S2Output *output);   // removes the partial file.

// Returns the end of a path, for messages with limited space.
const char *s2_path_tail(const char *path);
// Returns the suffix of a path with its dot, or "".
const char *s2_path_suffix(const char *path);

#endif
