// Frictional contact problems as text (docs/problem-format.md): `nc N`, matrices as triplets that
// count from 0, vectors by name.
#include "mcp/contact.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_SIZE = 64 }; // the longest double in decimal has 25 characters

// ---- Writing ----------------------------------------------------------------------------------

static void write_vector(FILE *file, const char *name, const double *x, int count) {
  fprintf(file, "%s\n", name);
  for (int i = 0; i < count; i++) {
    fprintf(file, "%s%.17g", i > 0 ? " " : "", x[i]);
  }
  fputc('\n', file);
}

static void write_matrix(FILE *file, const char *name, const S2Csr *matrix) {
  fprintf(file, "%s %d %d %d\n", name, matrix->rows, matrix->columns,
          (int)matrix->start[matrix->rows]);
  for (int i = 0; i < matrix->rows; i++) {
    for (int32_t p = matrix->start[i]; p < matrix->start[i + 1]; p++) {
      fprintf(file, "%d %d %.17g\n", i, (int)matrix->column[p], matrix->value[p]);
    }
  }
}

static S2Status finish(FILE *file, const char *path) {
  bool failed = ferror(file) != 0;
  failed = fclose(file) != 0 || failed;
  return failed ? s2_error(S2_IO, "cannot write '%s': %s", path, strerror(errno)) : s2_ok();
}

S2Status s2_contact_write(const S2ContactProblem *problem, const char *path) {
  FILE *file = fopen(path, "w");
  if (file == NULL) {
    return s2_error(S2_IO, "cannot write '%s': %s", path, strerror(errno));
  }
  fprintf(file, "# frictional contact: u = W r + q; per contact (normal, tangent)\n");
  fprintf(file, "nc %d\n", problem->contacts);
  write_matrix(file, "W", problem->w);
  write_vector(file, "q", problem->q, 2 * problem->contacts);
  write_vector(file, "mu", problem->mu, problem->contacts);
  return finish(file, path);
}

S2Status s2_contact_write_global(const S2GlobalContactProblem *problem, const char *path) {
  FILE *file = fopen(path, "w");
  if (file == NULL) {
    return s2_error(S2_IO, "cannot write '%s': %s", path, strerror(errno));
  }
  fprintf(file,
          "# frictional contact: M v = H r + q, u = H' v + b; per contact (normal, tangent)\n");
  fprintf(file, "nc %d\n", problem->contacts);
  write_matrix(file, "M", problem->m);
  write_matrix(file, "H", problem->h);
  write_vector(file, "q", problem->q, problem->freedoms);
  write_vector(file, "b", problem->b, 2 * problem->contacts);
  write_vector(file, "mu", problem->mu, problem->contacts);
  return finish(file, path);
}

// ---- Reading ----------------------------------------------------------------------------------

typedef struct Reader {
  const char *path;
  FILE *file;
  int most; // numbers that the file can hold: what it announces beyond is a mistake
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

static S2Status read_real(Reader *reader, const char *what, double *value) {
  next_word(reader);
  if (reader->word[0] == 0) {
    return complain(reader, "the file ends where %s was expected", what);
  }
  char *stop;
  *value = strtod(reader->word, &stop);
  return *stop == 0 ? s2_ok()
                    : complain(reader, "%s must be a number, not '%.40s'", what, reader->word);
}

static S2Status read_integer(Reader *reader, const char *what, int most, int *value) {
  double real = 0;
  S2_TRY(read_real(reader, what, &real));
  if (!(real >= 0 && real <= most) || real != (double)(int)real) {
    return complain(reader, "%s is %.40s; it must be an integer in 0..%d", what, reader->word,
                    most);
  }
  *value = (int)real;
  return s2_ok();
}

static S2Status expect(Reader *reader, const char *word) {
  next_word(reader);
  if (strcmp(reader->word, word) != 0) {
    return complain(reader, "'%s' expected, got '%.40s'", word, reader->word);
  }
  return s2_ok();
}

static S2Status read_vector(Reader *reader, const char *name, int count, S2Arena *arena,
                            const double **vector) {
  double *x = S2_TAKE(arena, double, count);
  S2_TRY(expect(reader, name));
  for (int i = 0; i < count; i++) {
    S2_TRY(read_real(reader, name, &x[i]));
  }
  *vector = x;
  return s2_ok();
}

// rows, columns < 0: any.
static S2Status read_matrix(Reader *reader, int rows, int columns, S2Arena *arena, S2Csr *matrix) {
  int height = 0, width = 0, entries = 0;
  S2_TRY(read_integer(reader, "rows", reader->most, &height));
  S2_TRY(read_integer(reader, "columns", reader->most, &width));
  S2_TRY(read_integer(reader, "entries", reader->most, &entries));
  if ((rows >= 0 && height != rows) || (columns >= 0 && width != columns)) {
    return complain(reader, "the matrix is %d x %d; %d x %d was expected", height, width,
                    rows >= 0 ? rows : height, columns >= 0 ? columns : width);
  }
  S2Triplet *triplet = s2_memory_take(sizeof *triplet * (size_t)(entries + 1));
  S2Status status = s2_ok();
  for (int k = 0; k < entries && status.code == S2_OK; k++) {
    int row = 0, column = 0;
    status = read_integer(reader, "row", height - 1, &row);
    status = status.code != S2_OK ? status : read_integer(reader, "column", width - 1, &column);
    status = status.code != S2_OK ? status : read_real(reader, "entry", &triplet[k].value);
    triplet[k].row = row;
    triplet[k].column = column;
  }
  if (status.code == S2_OK) {
    *matrix = s2_csr_from_triplets(height, width, entries, triplet, arena);
  }
  s2_memory_free(triplet);
  return status;
}

static S2Status read_file(Reader *reader, S2ContactFile *file) {
  int n = 0;
  long bytes = fseek(reader->file, 0, SEEK_END) == 0 ? ftell(reader->file) : -1;
  if (bytes < 0 || fseek(reader->file, 0, SEEK_SET) != 0) {
    return s2_error(S2_IO, "cannot read '%s': %s", reader->path, strerror(errno));
  }
  reader->most = bytes / 2 < INT32_MAX ? (int)(bytes / 2) : INT32_MAX;
  S2Arena *arena = &file->memory;
  S2Csr *matrix = file->matrix;
  S2_TRY(expect(reader, "nc"));
  S2_TRY(read_integer(reader, "nc", reader->most / 2, &n));
  next_word(reader);
  file->global = strcmp(reader->word, "M") == 0;
  if (!file->global && strcmp(reader->word, "W") != 0) {
    return complain(reader, "'W' or 'M' expected, got '%.40s'", reader->word);
  }
  const double *q, *mu;
  if (file->global) {
    const double *b;
    S2_TRY(read_matrix(reader, -1, -1, arena, &matrix[0]));
    if (matrix[0].rows != matrix[0].columns) {
      return complain(reader, "M is %d x %d; it must be square", matrix[0].rows, matrix[0].columns);
    }
    S2_TRY(expect(reader, "H"));
    S2_TRY(read_matrix(reader, matrix[0].rows, 2 * n, arena, &matrix[1]));
    S2_TRY(read_vector(reader, "q", matrix[0].rows, arena, &q));
    S2_TRY(read_vector(reader, "b", 2 * n, arena, &b));
    S2_TRY(read_vector(reader, "mu", n, arena, &mu));
    file->global_form =
        (S2GlobalContactProblem){matrix[0].rows, n, &matrix[0], &matrix[1], q, b, mu};
  } else {
    S2_TRY(read_matrix(reader, 2 * n, 2 * n, arena, &matrix[0]));
    S2_TRY(read_vector(reader, "q", 2 * n, arena, &q));
    S2_TRY(read_vector(reader, "mu", n, arena, &mu));
    file->local_form = (S2ContactProblem){n, &matrix[0], q, mu};
  }
  for (int i = 0; i < n; i++) {
    if (mu[i] < 0) {
      return complain(reader, "mu[%d] is %g; it must not be negative", i, mu[i]);
    }
  }
  next_word(reader);
  return reader->word[0] == 0 ? s2_ok() : complain(reader, "'%.40s' after the end", reader->word);
}

S2Status s2_contact_read(const char *path, S2ContactFile **file) {
  *file = NULL;
  Reader reader = {.path = path, .file = fopen(path, "r"), .line = 1};
  if (reader.file == NULL) {
    return s2_error(S2_IO, "cannot read '%s': %s", path, strerror(errno));
  }
  S2ContactFile *result = s2_memory_take(sizeof *result);
  *result = (S2ContactFile){0};
  s2_arena_init(&result->memory);
  S2Status status = read_file(&reader, result);
  fclose(reader.file);
  if (status.code != S2_OK) {
    s2_contact_free(result);
    return status;
  }
  *file = result;
  return status;
}

void s2_contact_free(S2ContactFile *file) {
  if (file != NULL) {
    s2_arena_free(&file->memory);
    s2_memory_free(file);
  }
}
