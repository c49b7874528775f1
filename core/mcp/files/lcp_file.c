// Reads and writes linear complementarity problems as text (docs/problem-format.md): n, the rows of
// M, and q.
#include "mcp/lcp/lcp.h"

#include "base/memory.h"
#include "mcp/files/text_file.h"

#include <stdio.h>

enum { SHOWN = 40 }; // Maximum number of characters of a word in an error message.

// ---- Writing ----------------------------------------------------------------------------------

static void lcp_write_text(FILE *file, const void *user) {
  const S2LcpProblem *problem = user;
  fprintf(file, "# LCP: z >= 0, w = M z + q >= 0, z'w = 0; n, M row by row, q\n%d\n", problem->n);
  for (int i = 0; i < problem->n; ++i) {
    s2_text_line(file, problem->m + (size_t)i * (size_t)problem->n, problem->n);
  }
  s2_text_line(file, problem->q, problem->n);
}

S2Status s2_lcp_write(const S2LcpProblem *problem, const char *path) {
  return s2_text_write(path, lcp_write_text, problem);
}

// ---- Reading ----------------------------------------------------------------------------------

static S2Status lcp_read_size(S2Tokens *reader, int *n) {
  double value = 0;
  S2_TRY(s2_tokens_seek(reader, "n"));
  S2_TRY(s2_tokens_real(reader, "n", S2_ANY_REAL, &value));
  if (!(value >= 0 && value <= S2_LCP_MAX) || value != (double)(int)value) {
    return s2_tokens_complain(reader, "n is %.*s; it must be an integer in 0..%d",
                              reader->length < SHOWN ? reader->length : SHOWN, reader->word,
                              S2_LCP_MAX);
  }
  *n = (int)value;
  if (value * (value + 1) * S2_TEXT_LEAST_WORD > (double)reader->size + 1) {
    return s2_tokens_complain(reader, "the file is too short for n = %d", *n);
  }
  return s2_ok();
}

static S2Status lcp_read_rows(S2Tokens *reader, int n, double *m, double *q) {
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

static S2Status lcp_read_text(S2Tokens *reader, void **problem) {
  int n = 0;
  S2_TRY(lcp_read_size(reader, &n));
  size_t numbers = (size_t)n * (size_t)n + (size_t)n;
  S2LcpProblem *read = s2_memory_take(sizeof *read + sizeof(double) * numbers);
  double *m = (double *)(void *)(read + 1), *q = m + (size_t)n * (size_t)n;
  *read = (S2LcpProblem){.n = n, .m = m, .q = q};
  S2Status status = lcp_read_rows(reader, n, m, q);
  if (status.code == S2_OK) {
    *problem = read;
  } else {
    s2_memory_free(read);
  }
  return status;
}

S2Status s2_lcp_read(const char *path, S2LcpProblem **problem) {
  void *read = NULL;
  S2Status status = s2_text_read(path, lcp_read_text, &read);
  *problem = read;
  return status;
}

void s2_lcp_free(S2LcpProblem *problem) {
  s2_memory_free(problem);
}
