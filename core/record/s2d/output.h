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
  // Owned; NULL: written in place. What is written, and the file whose place it takes at the end.
  char *part, *target;
} S2Output;

#define S2_OUTPUT_PART ".part" // after the name of a file that is not whole yet

// For what can be read before it is whole: creates the file or empties it. Fails with S2_IO, naming
// the path and the reason: one is that it is being written already, by this process or another.
S2Status s2_output_open(S2Output *output, const char *path);
// For what is only whole at its end: writes beside the file, which is replaced when all was written
// and stays as it is until then, whatever ends this process. Devices are written as they are.
S2Status s2_output_open_whole(S2Output *output, const char *path);

void s2_output_bytes(S2Output *output, const void *bytes, size_t size);
void s2_output_text(S2Output *output, const char *text);
void s2_output_format(S2Output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Hands everything to the operating system: what was written survives the end of this process.
S2Status s2_output_flush(S2Output *output);
S2Status s2_output_close(S2Output *output); // reports failures of all that came before, too
void s2_output_abandon(S2Output *output);   // what was written is of no use

// The end of a path, for messages that must have room for the reason.
const char *s2_path_tail(const char *path);
// The suffix of a path with its dot, "" when it has none.
const char *s2_path_suffix(const char *path);

#endif
