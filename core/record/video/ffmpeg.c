#include "record/video/ffmpeg.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 // macOS has no MSG_NOSIGNAL and uses SO_NOSIGPIPE
#endif

enum { MOST_ARGUMENTS = 48, LINE_SIZE = 240 };

extern char **environ;

static S2Status ffmpeg_missing(int error) {
  if (error == ENOENT) {
    return s2_error(S2_IO,
                    "ffmpeg, which makes .gif and .mp4, is not in PATH: install it, or record "
                    ".html or .svg");
  }
  return s2_error(S2_IO, "cannot start ffmpeg, which makes .gif and .mp4: %s", strerror(error));
}

// Use a socket instead of a pipe. A pipe raises SIGPIPE if ffmpeg has ended, which would kill a
// host program that does not handle it.
static int open_socket(int ends[2]) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
    return errno;
  }
  for (int i = 0; i < 2; i++) {
    (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
  }
#ifdef SO_NOSIGPIPE
  int on = 1;
  (void)setsockopt(ends[0], SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
  return 0;
}

static int ffmpeg_spawn(S2Ffmpeg *ffmpeg, const char *const *arguments, int input) {
  char *list[MOST_ARGUMENTS + 2] = {(char *)"ffmpeg"};
  for (int i = 0; i < MOST_ARGUMENTS && arguments[i] != NULL; i++) {
    list[i + 1] = (char *)arguments[i]; // posix_spawn does not change these strings
  }
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) {
    return error;
  }
  error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  if (error == 0) {
    error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  }
  if (error == 0) {
    error = posix_spawn_file_actions_adddup2(&actions, fileno(ffmpeg->errors), STDERR_FILENO);
  }
  if (error == 0) {
    error = posix_spawnp(&ffmpeg->process, "ffmpeg", &actions, NULL, list, environ);
  }
  (void)posix_spawn_file_actions_destroy(&actions);
  return error;
}

S2Status s2_ffmpeg_start(S2Ffmpeg *ffmpeg, const char *const *arguments) {
  *ffmpeg = (S2Ffmpeg){.input = -1, .errors = tmpfile()};
  if (ffmpeg->errors == NULL) {
    return s2_error(S2_IO, "cannot create a temporary file for the output of ffmpeg: %s",
                    strerror(errno));
  }
  int ends[2];
  int error = open_socket(ends);
  if (error == 0) {
    error = ffmpeg_spawn(ffmpeg, arguments, ends[1]);
    close(ends[1]);
    ffmpeg->input = ends[0];
  }
  if (error != 0) {
    if (ffmpeg->input >= 0) {
      close(ffmpeg->input);
    }
    fclose(ffmpeg->errors);
    *ffmpeg = (S2Ffmpeg){.input = -1};
    return ffmpeg_missing(error);
  }
  return s2_ok();
}

bool s2_ffmpeg_write(S2Ffmpeg *ffmpeg, const unsigned char *bytes, size_t size) {
  while (size > 0) {
    ssize_t sent = send(ffmpeg->input, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent <= 0) {
      return false;
    }
    bytes += sent;
    size -= (size_t)sent;
  }
  return true;
}

// Finds the last line that is not empty. Replaces control characters with blanks.
static void last_line(FILE *file, char line[LINE_SIZE]) {
  line[0] = '\0';
  char next[LINE_SIZE];
  rewind(file);
  while (fgets(next, sizeof next, file) != NULL) {
    size_t length = strcspn(next, "\r\n");
    next[length] = '\0';
    for (size_t i = 0; i < length; i++) {
      next[i] = (unsigned char)next[i] < ' ' ? ' ' : next[i];
    }
    if (strspn(next, " ") < length) {
      memcpy(line, next, length + 1);
    }
  }
}

S2Status s2_ffmpeg_end(S2Ffmpeg *ffmpeg) {
  close(ffmpeg->input);
  int state = 0;
  pid_t ended;
  do {
    ended = waitpid(ffmpeg->process, &state, 0);
  } while (ended < 0 && errno == EINTR);
  // Any output is a failure, because ffmpeg runs at log level "error". Its exit state is not
  // sufficient. It reports success on a full disk, and is lost if the host ignores SIGCHLD.
  char line[LINE_SIZE];
  last_line(ffmpeg->errors, line);
  fclose(ffmpeg->errors);
  *ffmpeg = (S2Ffmpeg){.input = -1};
  bool quiet = line[0] == '\0';
  if (quiet && (ended < 0 || (WIFEXITED(state) && WEXITSTATUS(state) == 0))) {
    return s2_ok();
  }
  enum { INTERRUPTED = 255 }; // ended by Ctrl-C, which ffmpeg receives as well
  if (quiet && ended > 0 && WIFEXITED(state) && WEXITSTATUS(state) == INTERRUPTED) {
    return s2_error(S2_IO, "ffmpeg was interrupted");
  }
  if (ended > 0 && WIFSIGNALED(state)) {
    return s2_error(S2_IO, "ffmpeg was killed by signal %d", WTERMSIG(state));
  }
  return s2_error(S2_IO, "ffmpeg failed: %s", !quiet ? line : "it gave no reason");
}

S2Status s2_ffmpeg_available(void) {
  static const char *const arguments[] = {"-hide_banner", "-loglevel", "error", "-version", NULL};
  S2Ffmpeg ffmpeg;
  S2_TRY(s2_ffmpeg_start(&ffmpeg, arguments));
  return s2_ffmpeg_end(&ffmpeg);
}
