// Linear complementarity problems as text (docs/problem-format.md): n, the rows of M, q.
#include "mcp/lcp.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  WORD_SIZE = 64, // the longest double in decimal has 25 characters
  LEAST_WORD = 2, // bytes of a number and a blank: bounds the n a file can honestly announce
};

// ---- Writing ----------------------------------------------------------------------------------

static void write_numbers(FILE *file, const double *x, int count) {
  for (int i = 0; i < count; ++i) {
    fprintf(file, "%s%.17g", i > 0 ? " " : "", x[i]);
  }
  fputc('\n', file);
}

S2Status s2_lcp_write(const S2LcpProblem *problem, const char *path) {
  FILE *file = fopen(path, "w");
  if (file == NULL) {
    return s2_error(S2_IO, "cannot write '%s': %s", path, strerror(errno));
  }
  fprintf(file, "# LCP: z >= 0, w = M z + q >= 0, z'w = 0; n, M row by row, q\n%d\n", problem->n);
  for (int i = 0; i < problem->n; ++i) {
    write_numbers(file, problem->m + (size_t)i * (size_t)problem->n, problem->n);
  }
  write_numbers(file, problem->q, problem->n);
  bool failed = ferror(file) != 0;
  failed = fclose(file) != 0 || failed;
  return failed ? s2_error(S2_IO, "cannot write '%s': %s", path, strerror(errno)) : s2_ok();
}

// ---- Reading ----------------------------------------------------------------------------------

typedef struct Reader {
  const char *path;
  FILE *file;
  int line;
  char word[WORD_SIZE];
} Reader;

static S2Status complain(const Reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static S2Status complain(const Reader *reader, const char *format, ...) {
  char message[S2_MESSAGE_SIZE / 2];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return s2_error(S2_INVALID, "%s:%d: %s", reader->path, reader->line, message);
}

// The next word, "" at the end of the file; # starts a comment.
static void next_word(Reader *reader) {
  int c = getc(reader->file), length = 0;
  bool comment = false;
  while (c != EOF && (comment || c == '#' || isspace(c))) {
    comment = c != '\n' && (comment || c == '#');
    reader->line += c == '\n';
    c = getc(reader->file);
  }
  while (c != EOF && c != '#' && !isspace(c)) {
    if (length < WORD_SIZE - 1) {
      reader->word[length++] = (char)c;
    }
    c = getc(reader->file);
  }
  if (c != EOF) {
    ungetc(c, reader->file);
  }
  reader->word[length] = 0;
}

static S2Status read_number(Reader *reader, const char *what, double *value) {
  next_word(reader);
  if (reader->word[0] == 0) {
    return complain(reader, "the file ends where %s was expected", what);
  }
  char *stop;
  *value = strtod(reader->word, &stop);
  return *stop == 0 ? s2_ok()
                    : complain(reader, "%s must be a number, not '%.40s'", what, reader->word);
}

static S2Status read_size(Reader *reader, long bytes, int *n) {
  double value = 0;
  S2_TRY(read_number(reader, "n", &value));
  if (!(value >= 0 && value <= S2_LCP_MAX) || value != (double)(int)value) {
    return complain(reader, "n is %.40s; it must be an integer in 0..%d", reader->word, S2_LCP_MAX);
  }
  *n = (int)value;
  if (value * (value + 1) * LEAST_WORD > (double)bytes + 1) {
    return complain(reader, "the file is too short for n = %d", *n);
  }
  return s2_ok();
}

static S2Status read_rows(Reader *reader, int n, double *m, double *q) {
  char what[32];
  for (int i = 0; i <= n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (i < n) {
        snprintf(what, sizeof what, "M[%d][%d]", i + 1, j + 1);
      } else {
        snprintf(what, sizeof what, "q[%d]", j + 1);
      }
      S2_TRY(read_number(reader, what, i < n ? &m[(size_t)i * (size_t)n + (size_t)j] : &q[j]));
    }
  }
  next_word(reader);
  return reader->word[0] == 0 ? s2_ok() : complain(reader, "unexpected '%.40s'", reader->word);
}

static S2Status read_file(Reader *reader, S2LcpProblem **problem) {
  long bytes = fseek(reader->file, 0, SEEK_END) == 0 ? ftell(reader->file) : -1;
  if (bytes < 0 || fseek(reader->file, 0, SEEK_SET) != 0) {
    return s2_error(S2_IO, "cannot read '%s': %s", reader->path, strerror(errno));
  }
  int n = 0;
  S2_TRY(read_size(reader, bytes, &n));
  size_t numbers = (size_t)n * (size_t)n + (size_t)n;
  S2LcpProblem *read = s2_memory_take(sizeof *read + sizeof(double) * numbers);
  double *m = (double *)(void *)(read + 1), *q = m + (size_t)n * (size_t)n;
  *read = (S2LcpProblem){.n = n, .m = m, .q = q};
  S2Status status = read_rows(reader, n, m, q);
  if (status.code == S2_OK && ferror(reader->file) != 0) {
    status = s2_error(S2_IO, "cannot read '%s': %s", reader->path, strerror(errno));
  }
  if (status.code == S2_OK) {
    *problem = read;
  } else {
    s2_memory_free(read);
  }
  return status;
}

S2Status s2_lcp_read(const char *path, S2LcpProblem **problem) {
  *problem = NULL;
  Reader reader = {.path = path, .file = fopen(path, "rb"), .line = 1};
  if (reader.file == NULL) {
    return s2_error(S2_IO, "cannot read '%s': %s", path, strerror(errno));
  }
  S2Status status = read_file(&reader, problem);
  fclose(reader.file);
  return status;
}

void s2_lcp_free(S2LcpProblem *problem) {
  s2_memory_free(problem);
}
