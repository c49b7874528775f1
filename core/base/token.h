// Reading text files word by word, with errors that name file and line.
#ifndef S2_TOKEN_H
#define S2_TOKEN_H

#include "base/status.h"

#include <stddef.h>

// Words are separated by blanks and line ends; # starts a comment to the end of its line.
typedef struct S2Tokens {
  const char *path;
  char *text;       // the whole file, ends with 0
  size_t size;      // its bytes
  const char *at;   // what is not read yet
  int line;         // where that is, from 1
  const char *word; // the last word read, not ended by a 0
  int length;       // 0: there was none
} S2Tokens;

typedef enum S2Reals {
  S2_ANY_REAL,     // also inf and nan
  S2_NO_NAN,       // also inf
  S2_FINITE_REALS, // neither
} S2Reals;

// Reads the file into memory, to be freed by s2_tokens_close (also after an error). S2_IO, or
// S2_INVALID for bytes that are no text and for more than 1 GiB (a device, a pipe). `path` is kept.
S2Status s2_tokens_open(S2Tokens *tokens, const char *path);
void s2_tokens_close(S2Tokens *tokens);

// "PATH:LINE: message", S2_INVALID.
S2Status s2_tokens_complain(const S2Tokens *tokens, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// For formats where a line is a keyword and what belongs to it: goes to the next line that says
// something and checks that it starts with `keyword`; checks that the line says nothing more.
S2Status s2_tokens_expect(S2Tokens *tokens, const char *keyword);
S2Status s2_tokens_end_line(S2Tokens *tokens);

// For formats where lines mean nothing: moves to the next word, on whichever line it is, so that
// the readers below find it; checks that there is none.
S2Status s2_tokens_seek(S2Tokens *tokens, const char *what);
S2Status s2_tokens_end_file(S2Tokens *tokens);

// The next number of this line; `name` is what errors call it. On an error *value is not to be
// used.
S2Status s2_tokens_integer(S2Tokens *tokens, const char *name, long lo, long hi, int *value);
S2Status s2_tokens_real(S2Tokens *tokens, const char *name, S2Reals allowed, double *value);

#endif
