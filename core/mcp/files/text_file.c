#include "mcp/files/text_file.h"

#include "base/memory.h"
#include "base/number.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

S2Status s2_text_write(const char *path, S2TextWriter *write, const void *problem) {
  FILE *file = fopen(path, "w");
  bool failed = file == NULL;
  if (!failed) {
    write(file, problem);
    failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
  }
  return failed ? s2_error(S2_IO, "cannot write '%s': %s", path, strerror(errno)) : s2_ok();
}

void s2_text_numbers(FILE *file, const double *x, int count) {
  for (int i = 0; i < count; i++) {
    fputs(i > 0 ? " " : "", file);
    s2_number_put(file, x[i]);
  }
}

void s2_text_line(FILE *file, const double *x, int count) {
  s2_text_numbers(file, x, count);
  fputc('\n', file);
}

typedef struct TextReading {
  S2Tokens tokens;
  S2TextReader *read;
  void *problem;
} TextReading;

static S2Status text_read_tokens(void *user) {
  TextReading *reading = user;
  return reading->read(&reading->tokens, &reading->problem);
}

S2Status s2_text_read(const char *path, S2TextReader *read, void **problem) {
  TextReading reading = {.read = read};
  S2Status status = s2_tokens_open(&reading.tokens, path);
  if (status.code == S2_OK) {
    status = s2_memory_building(text_read_tokens, &reading);
  }
  s2_tokens_close(&reading.tokens);
  *problem = status.code == S2_OK ? reading.problem : NULL;
  return status;
}
