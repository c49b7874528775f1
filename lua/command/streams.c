#include "lua/command/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool s2_streams_open(void) {
  for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
    if (fcntl(i, F_GETFD) < 0 && open("/dev/null", i == STDIN_FILENO ? O_RDONLY : O_WRONLY) != i) {
      return false;
    }
  }
  return true;
}

int s2_streams_close(int status) {
  errno = 0;
  bool failed = ferror(stdout) != 0; // an earlier write failed for an unknown reason
  failed = fflush(stdout) != 0 || failed;
  if (failed) {
    fprintf(stderr, "sim2d: cannot write to standard output%s%s\n", errno != 0 ? ": " : "",
            errno != 0 ? strerror(errno) : "");
  }
  return failed && status == EXIT_SUCCESS ? EXIT_FAILURE : status;
}
