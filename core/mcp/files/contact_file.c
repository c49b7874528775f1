// Reads and writes frictional contact problems as text (docs/problem-format.md): `nc N`, matrices
// as triplets with zero-based indices, and named vectors.
#include "mcp/contact/contact.h"

#include "base/memory.h"
#include "mcp/files/text_file.h"

#include <stdio.h>

// ---- Writing ----------------------------------------------------------------------------------

static void contact_write_vector(FILE *file, const char *name, const double *x, int count) {
  fprintf(file, "%s\n", name);
  s2_text_line(file, x, count);
}

static void contact_write_matrix(FILE *file, const char *name, const S2Csr *matrix) {
  fprintf(file, "%s %d %d %d\n", name, matrix->rows, matrix->columns,
          (int)matrix->start[matrix->rows]);
  for (int i = 0; i < matrix->rows; i++) {
    for (int32_t p = matrix->start[i]; p < matrix->start[i + 1]; p++) {
      fprintf(file, "%d %d ", i, (int)matrix->column[p]);
      s2_text_line(file, &matrix->value[p], 1);
    }
  }
}

static void contact_write_local(FILE *file, const void *user) {
  const S2ContactProblem *problem = user;
  fprintf(file, "# frictional contact: u = W r + q; per contact (normal, tangent)\n");
  fprintf(file, "nc %d\n", problem->contacts);
  contact_write_matrix(file, "W", problem->w);
  contact_write_vector(file, "q", problem->q, 2 * problem->contacts);
  contact_write_vector(file, "mu", problem->mu, problem->contacts);
}

static void contact_write_global(FILE *file, const void *user) {
  const S2GlobalContactProblem *problem = user;
  fprintf(file,
          "# frictional contact: M v = H r + q, u = H' v + b; per contact (normal, tangent)\n");
  fprintf(file, "nc %d\n", problem->contacts);
  contact_write_matrix(file, "M", problem->m);
  contact_write_matrix(file, "H", problem->h);
  contact_write_vector(file, "q", problem->q, problem->freedoms);
  contact_write_vector(file, "b", problem->b, 2 * problem->contacts);
  contact_write_vector(file, "mu", problem->mu, problem->contacts);
}

S2Status s2_contact_write(const S2ContactProblem *problem, const char *path) {
  return s2_text_write(path, contact_write_local, problem);
}

S2Status s2_contact_write_global(const S2GlobalContactProblem *problem, const char *path) {
  return s2_text_write(path, contact_write_global, problem);
}

// ---- Reading ----------------------------------------------------------------------------------

static S2Status contact_read_real(S2Tokens *reader, const char *what, double *value) {
  S2_TRY(s2_tokens_seek(reader, what));
  return s2_tokens_real(reader, what, S2_ANY_REAL, value);
}

static S2Status contact_read_integer(S2Tokens *reader, const char *what, int most, int *value) {
  S2_TRY(s2_tokens_seek(reader, what));
  return s2_tokens_integer(reader, what, 0, most, value);
}

// Reject a file that announces more numbers than it can contain.
static int contact_most_numbers(const S2Tokens *reader) {
  size_t most = reader->size / S2_TEXT_LEAST_WORD;
  return most < INT32_MAX ? (int)most : INT32_MAX;
}

static S2Status contact_read_vector(S2Tokens *reader, const char *name, int count, S2Arena *arena,
                                    const double **vector) {
  double *x = S2_TAKE(arena, double, count);
  S2_TRY(s2_tokens_expect(reader, name));
  for (int i = 0; i < count; i++) {
    S2_TRY(contact_read_real(reader, name, &x[i]));
  }
  *vector = x;
  return s2_ok();
}

static S2Status contact_read_friction(S2Tokens *reader, int contacts, S2Arena *arena,
                                      const double **mu) {
  double *x = S2_TAKE(arena, double, contacts);
  S2_TRY(s2_tokens_expect(reader, "mu"));
  for (int i = 0; i < contacts; i++) {
    S2_TRY(contact_read_real(reader, "mu", &x[i]));
    if (x[i] < 0) {
      return s2_tokens_complain(reader, "mu[%d] is %g; it must not be negative", i, x[i]);
    }
  }
  *mu = x;
  return s2_ok();
}

static S2Status contact_read_triplets(S2Tokens *reader, int rows, int columns, int entries,
                                      S2Triplet *triplet) {
  for (int k = 0; k < entries; k++) {
    int row = 0, column = 0;
    S2_TRY(contact_read_integer(reader, "row", rows - 1, &row));
    S2_TRY(contact_read_integer(reader, "column", columns - 1, &column));
    S2_TRY(contact_read_real(reader, "entry", &triplet[k].value));
    triplet[k].row = row;
    triplet[k].column = column;
  }
  return s2_ok();
}

// Reads a matrix whose name has already been read. A negative number of `rows` or `columns` means
// any number.
static S2Status contact_read_matrix(S2Tokens *reader, int rows, int columns, S2Arena *arena,
                                    S2Csr *matrix) {
  int height = 0, width = 0, entries = 0, most = contact_most_numbers(reader);
  S2_TRY(contact_read_integer(reader, "rows", most, &height));
  S2_TRY(contact_read_integer(reader, "columns", most, &width));
  S2_TRY(contact_read_integer(reader, "entries", most, &entries));
  if ((rows >= 0 && height != rows) || (columns >= 0 && width != columns)) {
    return s2_tokens_complain(reader, "the matrix is %d x %d; %d x %d was expected", height, width,
                              rows >= 0 ? rows : height, columns >= 0 ? columns : width);
  }
  // Put the triplets on the heap, because they are freed once the matrix is in the arena.
  S2Triplet *triplet = s2_memory_take(sizeof *triplet * ((size_t)entries + 1));
  S2Status status = contact_read_triplets(reader, height, width, entries, triplet);
  if (status.code == S2_OK) {
    *matrix = s2_csr_from_triplets(height, width, entries, triplet, arena);
  }
  s2_memory_free(triplet);
  return status;
}

static S2Status contact_read_global(S2Tokens *reader, int n, S2ContactFile *file) {
  S2Arena *arena = &file->memory;
  S2Csr *m = &file->matrix[0], *h = &file->matrix[1];
  const double *q, *b, *mu;
  S2_TRY(s2_tokens_expect(reader, "M"));
  S2_TRY(contact_read_matrix(reader, -1, -1, arena, m));
  if (m->rows != m->columns) {
    return s2_tokens_complain(reader, "M is %d x %d; it must be square", m->rows, m->columns);
  }
  S2_TRY(s2_tokens_expect(reader, "H"));
  S2_TRY(contact_read_matrix(reader, m->rows, 2 * n, arena, h));
  S2_TRY(contact_read_vector(reader, "q", m->rows, arena, &q));
  S2_TRY(contact_read_vector(reader, "b", 2 * n, arena, &b));
  S2_TRY(contact_read_friction(reader, n, arena, &mu));
  file->global_form = (S2GlobalContactProblem){m->rows, n, m, h, q, b, mu};
  return s2_tokens_end_file(reader);
}

static S2Status contact_read_local(S2Tokens *reader, int n, S2ContactFile *file) {
  S2Arena *arena = &file->memory;
  const double *q, *mu;
  S2_TRY(s2_tokens_expect(reader, "W"));
  S2_TRY(contact_read_matrix(reader, 2 * n, 2 * n, arena, &file->matrix[0]));
  S2_TRY(contact_read_vector(reader, "q", 2 * n, arena, &q));
  S2_TRY(contact_read_friction(reader, n, arena, &mu));
  file->local_form = (S2ContactProblem){n, &file->matrix[0], q, mu};
  return s2_tokens_end_file(reader);
}

static S2Status contact_read_file(S2Tokens *reader, S2ContactFile *file) {
  int n = 0;
  S2_TRY(s2_tokens_expect(reader, "nc"));
  S2_TRY(contact_read_integer(reader, "nc", contact_most_numbers(reader) / 2, &n));
  S2_TRY(s2_tokens_seek(reader, "'W' or 'M'"));
  file->global = *reader->at == 'M';
  if (!file->global && *reader->at != 'W') {
    return s2_tokens_complain(reader, "expected 'W' or 'M'");
  }
  return file->global ? contact_read_global(reader, n, file) : contact_read_local(reader, n, file);
}

static S2Status contact_read_text(S2Tokens *reader, void **file) {
  S2ContactFile *result = s2_memory_take(sizeof *result);
  *result = (S2ContactFile){0};
  s2_arena_init(&result->memory);
  S2Status status = contact_read_file(reader, result);
  if (status.code == S2_OK) {
    *file = result;
  } else {
    s2_contact_free(result);
  }
  return status;
}

S2Status s2_contact_read(const char *path, S2ContactFile **file) {
  void *read = NULL;
  S2Status status = s2_text_read(path, contact_read_text, &read);
  *file = read;
  return status;
}

void s2_contact_free(S2ContactFile *file) {
  if (file != NULL) {
    s2_arena_free(&file->memory);
    s2_memory_free(file);
  }
}
