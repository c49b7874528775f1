#define _XOPEN_SOURCE 700 // NOLINT(bugprone-reserved-identifier): realpath
#include "record/s2d/output.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// bytes of a path in a message, so that there is space for the reason
enum { PATH_SHOWN = 130 };

const char *s2_path_tail(const char *path) {
  size_t length = strlen(path);
  return length > PATH_SHOWN ? path + (length - PATH_SHOWN) : path;
}

const char *s2_path_suffix(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *dot = strrchr(slash == NULL ? path : slash + 1, '.');
  return dot == NULL ? "" : dot;
}

// Moves a file descriptor above those of the standard streams. Otherwise, if a standard stream was
// closed, printed output would go into the file.
static int above_streams(int file) {
  if (file < 0 || file > STDERR_FILENO) {
    return file;
  }
  int moved = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int reason = errno;
  close(file);
  errno = reason;
  return moved;
}

static int output_give_up(int file, int reason) {
  close(file);
  errno = reason;
  return -1;
}

// Opens and locks a file. Two recordings into one file would destroy each other. Returns -1 and
// sets errno on failure.
static int open_alone(const char *path) {
  for (;;) {
    struct stat info, named;
    int file = above_streams(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (file < 0) {
      return -1;
    }
    if (fstat(file, &info) != 0) {
      return output_give_up(file, errno);
    }
    if (!S_ISREG(info.st_mode)) { // devices are not locked
      return file;
    }
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      return output_give_up(file, EWOULDBLOCK);
    }
    // Try again if another process has renamed the file before it was locked here.
    if (stat(path, &named) == 0 && named.st_ino == info.st_ino && named.st_dev == info.st_dev) {
      return file;
    }
    close(file);
  }
}

// Opens a file, and empties it after it is locked.
static FILE *open_emptied(const char *path) {
  struct stat info;
  int file = open_alone(path);
  if (file < 0) {
    return NULL;
  }
  bool emptied = fstat(file, &info) == 0 && (!S_ISREG(info.st_mode) || ftruncate(file, 0) == 0);
  FILE *stream = emptied ? fdopen(file, "wb") : NULL;
  if (stream == NULL) {
    (void)output_give_up(file, errno);
  }
  return stream;
}

static char *output_joined(const char *a, const char *b) {
  size_t length = strlen(a), more = strlen(b) + 1;
  char *text = s2_memory_try(length + more);
  if (text != NULL) {
    memcpy(text, a, length); // NOLINT(bugprone-not-null-terminated-result): b terminates the text
    memcpy(text + length, b, more);
  }
  return text;
}

static void output_release(S2Output *output) {
  s2_memory_free(output->path);
  s2_memory_free(output->part);
  s2_memory_free(output->target);
  *output = (S2Output){0};
}

// Sets the names of an output. `target` is the file that is replaced at the end, or NULL.
static S2Status set_names(S2Output *output, const char *path, const char *target) {
  *output = (S2Output){.path = output_joined(path, "")};
  if (target != NULL) {
    output->target = output_joined(target, "");
    output->part = output_joined(target, S2_OUTPUT_PART);
  }
  if (output->path == NULL ||
      (target != NULL && (output->target == NULL || output->part == NULL))) {
    output_release(output);
    return s2_memory_exhausted(strlen(path));
  }
  return s2_ok();
}

static S2Status cannot_write(S2Output *output, int reason) {
  S2Status status =
      s2_error(S2_IO, "cannot write '%s': %s", s2_path_tail(output->path),
               reason == EWOULDBLOCK ? "the file is already being written" : strerror(reason));
  output_release(output);
  return status;
}

S2Status s2_output_open(S2Output *output, const char *path) {
  S2_TRY(set_names(output, path, NULL));
  output->file = open_emptied(path);
  return output->file != NULL ? s2_ok() : cannot_write(output, errno);
}

// Resolves the links of a path. Release the result with free. Returns NULL if the file does not
// exist or is a device.
static char *find_old(const char *path, struct stat *info) {
  return stat(path, info) == 0 && S_ISREG(info->st_mode) ? realpath(path, NULL) : NULL;
}

S2Status s2_output_open_whole(S2Output *output, const char *path) {
  struct stat info;
  char *old = find_old(path, &info);
  bool replaces = old != NULL;
  if (!replaces && lstat(path, &info) == 0) {
    return s2_output_open(output, path); // a device, or a link to a missing file
  }
  // Set the names of the partial file and of the file that it replaces.
  S2Status named = set_names(output, path, replaces ? old : path);
  free(old);
  S2_TRY(named);
  if (replaces) { // the old file must be writable, and no other recording may be writing it
    int file = open_alone(output->target);
    if (file < 0) {
      return cannot_write(output, errno);
    }
    close(file);
  }
  output->file = open_emptied(output->part);
  if (output->file == NULL) {
    if (errno == EWOULDBLOCK) {
      return cannot_write(output, errno);
    }
    output_release(output);
    // Write in place if the partial file cannot be created, for example because the folder is
    // read-only or the name is too long.
    return s2_output_open(output, path);
  }
  // The new file gets the permissions of the old one.
  if (replaces) {
    (void)fchmod(fileno(output->file), info.st_mode & 0777);
  }
  return s2_ok();
}

static void output_fail(S2Output *output) {
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
    output_fail(output);
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
    output_fail(output);
  }
  va_end(args);
}

static S2Status output_state(const S2Output *output) {
  if (output->error != 0) {
    return s2_error(S2_IO, "cannot write '%s': %s", s2_path_tail(output->path),
                    strerror(output->error));
  }
  return s2_ok();
}

S2Status s2_output_flush(S2Output *output) {
  errno = 0;
  if (output->error == 0 && fflush(output->file) != 0) {
    output_fail(output);
  }
  return output_state(output);
}

S2Status s2_output_close(S2Output *output) {
  if (output->file == NULL) {
    return s2_ok();
  }
  // Rename the partial file after all bytes are written. Keep it locked until then.
  int lock = output->part != NULL ? dup(fileno(output->file)) : -1; // locked until the file is
                                                                    // renamed
  errno = 0;
  if (fclose(output->file) != 0) {
    output_fail(output);
  }
  if (output->part != NULL && output->error == 0 && rename(output->part, output->target) != 0) {
    output_fail(output);
  }
  if (output->part != NULL && output->error != 0) {
    (void)unlink(output->part);
  }
  if (lock >= 0) {
    close(lock);
  }
  S2Status status = output_state(output);
  output_release(output);
  return status;
}

void s2_output_abandon(S2Output *output) {
  if (output->file == NULL) {
    return;
  }
  if (output->part != NULL) {
    (void)unlink(output->part);
  }
  (void)fclose(output->file);
  output_release(output);
}
