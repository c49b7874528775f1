// Reads text files word by word. Errors name the file and the line.
#ifndef S2_TOKEN_H
#define S2_TOKEN_H

#include "base/status.h"

#include <stddef.h>

// Words are separated by blanks and line ends; # starts a comment to the end of its line.
typedef struct S2Tokens {
  const char *path;
  char *text;       // the whole file, with a final 0
  size_t size;      // its bytes
  const char *at;   // the unread part of the text
  int line;         // line number of `at`, counted from 1
  const char *word; // the last word read, not terminated by a 0
  int length;       // 0 if no word was read
} S2Tokens;

typedef enum S2Reals {
  S2_ANY_REAL,     // infinities and NaN are allowed
  S2_NO_NAN,       // infinities are allowed
  S2_FINITE_REALS, // neither infinities nor NaN are allowed
} S2Reals;

// Reads the file into memory. Call s2_tokens_close to release it, even after an error. Returns
// S2_IO if the file cannot be read. Returns S2_INVALID if it is not text, or is larger than 1 GiB.
// Devices and pipes can be that large. `path` must outlive `tokens`.
S2Status s2_tokens_open(S2Tokens *tokens, const char *path);
void s2_tokens_close(S2Tokens *tokens);

// Returns the error S2_INVALID with the message "PATH:LINE: message".
S2Status s2_tokens_complain(const S2Tokens *tokens, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// For formats with a keyword at the start of each line. s2_tokens_expect moves to the next line
// that is not empty, and checks that it starts with `keyword`. s2_tokens_end_line checks that the
// line has no more words.
S2Status s2_tokens_expect(S2Tokens *tokens, const char *keyword);
S2Status s2_tokens_end_line(S2Tokens *tokens);

// For formats that ignore line breaks. s2_tokens_seek moves to the next word on any line, so that
// the functions below can read it. Error messages call that word `what`. s2_tokens_end_file checks
// that no word follows.
S2Status s2_tokens_seek(S2Tokens *tokens, const char *what);
S2Status s2_tokens_end_file(S2Tokens *tokens);

// Reads the next number on this line. Error messages call it `name`. After an error, *value is
// undefined.
S2Status s2_tokens_integer(S2Tokens *tokens, const char *name, long lo, long hi, int *value);
S2Status s2_tokens_real(S2Tokens *tokens, const char *name, S2Reals allowed, double *value);

#endif
