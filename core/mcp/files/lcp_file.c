// Linear complementarity problems as text (docs/problem-format.md): n, the rows of M, q.
#include "mcp/lcp/lcp.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
  SHOWN = 40,     // characters of a word that an error quotes
  LEAST_WORD = 2, // bytes of a number and a blank: bounds the n a file can honestly announce
};

// ---- Writing ----------------------------------------------------------------------------------

static void write_numbers(FILE *file, const double *x, int count) {
  for (int i = 0; i < count; ++i) {
    fputs(i > 0 ? " " : "", file);
    s2_number_put(file, x[i]);
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

static S2Status read_size(S2Tokens *reader, int *n) {
  double value = 0;
  S2_TRY(s2_tokens_seek(reader, "n"));
  S2_TRY(s2_tokens_real(reader, "n", S2_ANY_REAL, &value));
  if (!(value >= 0 && value <= S2_LCP_MAX) || value != (double)(int)value) {
    return s2_tokens_complain(reader, "n is %.*s; it must be an integer in 0..%d",
                              reader->length < SHOWN ? reader->length : SHOWN, reader->word,
                              S2_LCP_MAX);
  }
  *n = (int)value;
  if (value * (value + 1) * LEAST_WORD > (double)reader->size + 1) {
    return s2_tokens_complain(reader, "the file is too short for n = %d", *n);
  }
  return s2_ok();
}

static S2Status read_rows(S2Tokens *reader, int n, double *m, double *q) {
  char what[32];
  for (int i = 0; i <= n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (i < n) {
        snprintf(what, sizeof what, "M[%d][%d]", i + 1, j + 1);
      } else {
        snprintf(what, sizeof what, "q[%d]", j + 1);
      }
      double *to = i < n ? &m[(size_t)i * (size_t)n + (size_t)j] : &q[j];
      S2_TRY(s2_tokens_seek(reader, what));
      S2_TRY(s2_tokens_real(reader, what, S2_ANY_REAL, to));
    }
  }
  return s2_tokens_end_file(reader);
}

static S2Status read_problem(S2Tokens *reader, S2LcpProblem **problem) {
  int n = 0;
  S2_TRY(read_size(reader, &n));
  size_t numbers = (size_t)n * (size_t)n + (size_t)n;
  S2LcpProblem *read = s2_memory_take(sizeof *read + sizeof(double) * numbers);
  double *m = (double *)(void *)(read + 1), *q = m + (size_t)n * (size_t)n;
  *read = (S2LcpProblem){.n = n, .m = m, .q = q};
  S2Status status = read_rows(reader, n, m, q);
  if (status.code == S2_OK) {
    *problem = read;
  } else {
    s2_memory_free(read);
  }
  return status;
}

typedef struct Reading {
  S2Tokens tokens;
  S2LcpProblem *problem;
} Reading;

static S2Status read_tokens(void *user) {
  Reading *reading = user;
  return read_problem(&reading->tokens, &reading->problem);
}

S2Status s2_lcp_read(const char *path, S2LcpProblem **problem) {
  *problem = NULL;
  Reading reading = {.problem = NULL};
  S2Status status = s2_tokens_open(&reading.tokens, path);
  if (status.code == S2_OK) {
    status = s2_memory_building(read_tokens, &reading);
  }
  s2_tokens_close(&reading.tokens);
  *problem = status.code == S2_OK ? reading.problem : NULL;
  return status;
}

void s2_lcp_free(S2LcpProblem *problem) {
  s2_memory_free(problem);
}
