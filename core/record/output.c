#include "record/output.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SHOWN = 130 }; // bytes of a path in a message of S2_MESSAGE_SIZE, with room for more

const char *s2_path_tail(const char *path) {
  size_t length = strlen(path);
  return length > PATH_SHOWN ? path + (length - PATH_SHOWN) : path;
}

const char *s2_path_suffix(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *dot = strrchr(slash == NULL ? path : slash + 1, '.');
  return dot == NULL ? "" : dot;
}

// Emptied only once it is ours: two recordings into one file would leave neither.
static FILE *open_alone(const char *path) {
  int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) {
    return NULL;
  }
  struct stat info;
  bool taken = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  bool emptied =
      !taken && fstat(file, &info) == 0 && (!S_ISREG(info.st_mode) || ftruncate(file, 0) == 0);
  FILE *stream = emptied ? fdopen(file, "wb") : NULL;
  if (stream == NULL) {
    int reason = errno;
    close(file);
    errno = reason;
  }
  return stream;
}

S2Status s2_output_open(S2Output *output, const char *path) {
  *output = (S2Output){0};
  FILE *file = open_alone(path);
  if (file == NULL) {
    return s2_error(S2_IO, "cannot write '%s': %s", s2_path_tail(path),
                    errno == EWOULDBLOCK ? "it is being written already" : strerror(errno));
  }
  size_t bytes = strlen(path) + 1;
  output->path = s2_memory_try(bytes);
  if (output->path == NULL) {
    fclose(file);
    return s2_memory_exhausted(bytes);
  }
  memcpy(output->path, path, bytes);
  output->file = file;
  return s2_ok();
}

static void fail(S2Output *output) {
  if (output->error == 0) {
    output->error = errno != 0 ? errno : EIO;
  }
}

void s2_output_bytes(S2Output *output, const void *bytes, size_t size) {
  if (output->error != 0 || size == 0) {
    return;
  }
  errno = 0;
  if (fwrite(bytes, 1, size, output->file) != size) {
    fail(output);
  }
}

void s2_output_text(S2Output *output, const char *text) {
  s2_output_bytes(output, text, strlen(text));
}

void s2_output_format(S2Output *output, const char *format, ...) {
  if (output->error != 0) {
    return;
  }
  errno = 0;
  va_list args;
  va_start(args, format);
  if (vfprintf(output->file, format, args) < 0) {
    fail(output);
  }
  va_end(args);
}

static S2Status state(const S2Output *output) {
  if (output->error != 0) {
    return s2_error(S2_IO, "cannot write '%s': %s", s2_path_tail(output->path),
                    strerror(output->error));
  }
  return s2_ok();
}

S2Status s2_output_flush(S2Output *output) {
  errno = 0;
  if (output->error == 0 && fflush(output->file) != 0) {
    fail(output);
  }
  return state(output);
}

S2Status s2_output_close(S2Output *output) {
  if (output->file == NULL) {
    return s2_ok();
  }
  errno = 0;
  if (fclose(output->file) != 0) {
    fail(output);
  }
  S2Status status = state(output);
  s2_memory_free(output->path);
  *output = (S2Output){0};
  return status;
}

// printf writes the decimal point of the locale, which a host program may have set. It stands
// before the exponent, so that the search ends there.
static void point_decimal(char *text) {
  for (char *at = text; *at != '\0' && *at != 'e'; at++) {
    if ((*at < '0' || *at > '9') && *at != '-') {
      *at = '.';
    }
  }
}

static bool special(char text[S2_NUMBER_SIZE], double value) {
  if (isfinite(value)) {
    return false;
  }
  snprintf(text, S2_NUMBER_SIZE, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  return true;
}

size_t s2_number_printed(char text[S2_NUMBER_SIZE], double value) {
  if (!special(text, value)) {
    snprintf(text, S2_NUMBER_SIZE, "%.17g", value);
    point_decimal(text);
  }
  return strlen(text);
}

void s2_number_short(char text[S2_NUMBER_SIZE], double value, int decimals) {
  if (special(text, value)) {
    return;
  }
  snprintf(text, S2_NUMBER_SIZE, "%.*f", decimals, value);
  point_decimal(text);
  if (strchr(text, '.') != NULL) {
    char *end = text + strlen(text);
    while (end[-1] == '0') {
      end--;
    }
    if (end[-1] == '.') {
      end--;
    }
    *end = '\0';
  }
  if (strcmp(text, "-0") == 0) {
    snprintf(text, S2_NUMBER_SIZE, "0");
  }
}
