#include "base/token.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  READ_CHUNK = 65536, // initial size in bytes; doubled while the file is longer
  SHOWN = 40,         // largest number of characters of a word that an error message quotes
};

// Largest size of a file in bytes. It limits how much is read from a device or a pipe.
static const size_t LARGEST_FILE = (size_t)1 << 30;

static S2Status check_text(S2Tokens *tokens) {
  const char *zero = memchr(tokens->text, 0, tokens->size);
  if (zero == NULL) {
    return s2_ok();
  }
  for (const char *c = tokens->text; c < zero; ++c) {
    tokens->line += *c == '\n';
  }
  return s2_tokens_complain(tokens, "not a text file (it contains a zero byte)");
}

S2Status s2_tokens_open(S2Tokens *tokens, const char *path) {
  *tokens = (S2Tokens){.path = path, .line = 1};
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return s2_error(S2_IO, "cannot read '%s': %s", path, strerror(errno));
  }
  // Pipes and devices have no size, so read until the end of the file.
  size_t capacity = READ_CHUNK, used = 0;
  char *bytes = s2_memory_try(capacity), *grown = bytes;
  while (grown != NULL &&
         (used += fread(bytes + used, 1, capacity - 1 - used, file)) == capacity - 1 &&
         used < LARGEST_FILE) {
    capacity *= 2;
    grown = s2_memory_try_grow(bytes, capacity);
    bytes = grown != NULL ? grown : bytes;
  }
  // `tokens` owns the text from now on, even after an error
  bool failed = ferror(file) != 0;
  int reason = errno;
  fclose(file);
  tokens->at = tokens->text = bytes;
  if (grown == NULL) {
    return s2_memory_exhausted(capacity);
  }
  // Check for read errors, for the size limit and for bytes that are not text.
  bytes[used] = 0;
  tokens->size = used;
  if (failed) {
    return s2_error(S2_IO, "cannot read '%s': %s", path, strerror(reason));
  }
  if (used >= LARGEST_FILE) {
    return s2_error(S2_INVALID, "%s: too large for a problem file", path);
  }
  return check_text(tokens);
}

void s2_tokens_close(S2Tokens *tokens) {
  s2_memory_free(tokens->text);
  tokens->text = NULL;
}

S2Status s2_tokens_complain(const S2Tokens *tokens, const char *format, ...) {
  char message[S2_MESSAGE_SIZE / 2], clean[S2_MESSAGE_SIZE / 2];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  s2_text_escape(clean, sizeof clean, message); // the message may quote any bytes of the file
  return s2_error(S2_INVALID, "%s:%d: %s", tokens->path, tokens->line, clean);
}

static int token_shown(const S2Tokens *tokens) {
  return tokens->length < SHOWN ? tokens->length : SHOWN;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

// Skips blanks and comments. Returns false at the end of the line.
static bool token_skip_blanks(S2Tokens *tokens) {
  while (is_blank(*tokens->at)) {
    ++tokens->at;
  }
  if (*tokens->at == '#') {
    tokens->at += strcspn(tokens->at, "\n");
  }
  return *tokens->at != '\n' && *tokens->at != 0;
}

// Skips blanks, comments and line ends. Returns false at the end of the file.
static bool skip_lines(S2Tokens *tokens) {
  while (!token_skip_blanks(tokens)) {
    if (*tokens->at == 0) {
      return false;
    }
    ++tokens->at;
    ++tokens->line;
  }
  return true;
}

static bool next_word(S2Tokens *tokens) {
  tokens->length = 0;
  if (!token_skip_blanks(tokens)) {
    return false;
  }
  tokens->word = tokens->at;
  tokens->length = (int)strcspn(tokens->at, " \t\r\v\f\n#");
  tokens->at += tokens->length;
  return true;
}

S2Status s2_tokens_seek(S2Tokens *tokens, const char *what) {
  return skip_lines(tokens)
             ? s2_ok()
             : s2_tokens_complain(tokens, "the file ends where %s was expected", what);
}

S2Status s2_tokens_end_file(S2Tokens *tokens) {
  return skip_lines(tokens) ? s2_tokens_end_line(tokens) : s2_ok();
}

S2Status s2_tokens_end_line(S2Tokens *tokens) {
  return next_word(tokens)
             ? s2_tokens_complain(tokens, "unexpected '%.*s'", token_shown(tokens), tokens->word)
             : s2_ok();
}

S2Status s2_tokens_expect(S2Tokens *tokens, const char *keyword) {
  if (!skip_lines(tokens)) {
    return s2_tokens_complain(tokens, "the file ends where '%s' was expected", keyword);
  }
  next_word(tokens);
  bool same = (size_t)tokens->length == strlen(keyword) &&
              memcmp(tokens->word, keyword, strlen(keyword)) == 0;
  return same ? s2_ok()
              : s2_tokens_complain(tokens, "expected '%s', found '%.*s'", keyword,
                                   token_shown(tokens), tokens->word);
}

S2Status s2_tokens_integer(S2Tokens *tokens, const char *name, long lo, long hi, int *value) {
  if (!next_word(tokens)) {
    return s2_tokens_complain(tokens, "%s is missing", name);
  }
  char *stop;
  errno = 0;
  long number = strtol(tokens->word, &stop, 10);
  if (stop != tokens->at) {
    return s2_tokens_complain(tokens, "%s must be an integer, not '%.*s'", name,
                              token_shown(tokens), tokens->word);
  }
  if (errno != 0 || number < lo || number > hi) {
    return s2_tokens_complain(tokens, "%s is %.*s; it must be in %ld..%ld", name,
                              token_shown(tokens), tokens->word, lo, hi);
  }
  *value = (int)number;
  return s2_ok();
}

S2Status s2_tokens_real(S2Tokens *tokens, const char *name, S2Reals allowed, double *value) {
  if (!next_word(tokens)) {
    return s2_tokens_complain(tokens, "%s is missing", name);
  }
  char *stop;
  *value = s2_number_read(tokens->word, &stop);
  if (stop != tokens->at) {
    return s2_tokens_complain(tokens, "%s must be a number, not '%.*s'", name, token_shown(tokens),
                              tokens->word);
  }
  if (isnan(*value) && allowed != S2_ANY_REAL) {
    return s2_tokens_complain(tokens, "%s is not a number (nan)", name);
  }
  if (isinf(*value) && allowed == S2_FINITE_REALS) {
    return s2_tokens_complain(tokens, "%s must be finite", name);
  }
  return s2_ok();
}
