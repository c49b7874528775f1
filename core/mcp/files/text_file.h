// Private to core/mcp: functions for the text files of all kinds of problems.
#ifndef S2_TEXT_FILE_H
#define S2_TEXT_FILE_H

#include "base/status.h"
#include "base/token.h"

#include <stdio.h>

// Opens the file, calls `write` and closes the file. Returns S2_IO on failure.
typedef void S2TextWriter(FILE *file, const void *problem);
S2Status s2_text_write(const char *path, S2TextWriter *write, const void *problem);

// Writes numbers with all their digits, separated by spaces.
void s2_text_numbers(FILE *file, const double *x, int count);
void s2_text_line(FILE *file, const double *x, int count); // adds a newline

// Opens the file and calls `read` under a memory guard. `read` must free its memory if it fails.
typedef S2Status S2TextReader(S2Tokens *tokens, void **problem);
S2Status s2_text_read(const char *path, S2TextReader *read, void **problem);

// A number and a space take at least this many bytes. This limits the counts that a file can
// announce.
enum { S2_TEXT_LEAST_WORD = 2 };

#endif
