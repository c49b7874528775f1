// Private to core/mcp: what the text files of all kinds of problems share.
#ifndef S2_TEXT_FILE_H
#define S2_TEXT_FILE_H

#include "base/status.h"
#include "base/token.h"

#include <stdio.h>

// Opens the file, has it written and closes it; S2_IO where any of that fails.
typedef void S2TextWriter(FILE *file, const void *problem);
S2Status s2_text_write(const char *path, S2TextWriter *write, const void *problem);

// Numbers with all their digits and blanks between them.
void s2_text_numbers(FILE *file, const double *x, int count);
void s2_text_line(FILE *file, const double *x, int count); // and the end of the line

// Opens the file and has it read under a guard of memory. A reader that fails frees what it took.
typedef S2Status S2TextReader(S2Tokens *tokens, void **problem);
S2Status s2_text_read(const char *path, S2TextReader *read, void **problem);

enum { S2_TEXT_LEAST_WORD = 2 }; // bytes of a number and a blank: bounds what a file can announce

#endif
