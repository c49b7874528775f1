#include "lua/command/ulimits.h"

#include "linalg/dense.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void go_on(int number) {
  (void)number;
}

// The threads of OpenBLAS start before main and reserve 128 MB each, which sim2d does not need.
// Under a tight limit they retry for ever, so exec is used to end them.
static void start_without_threads(char **argv) {
  static const char variable[] = "OPENBLAS_NUM_THREADS";
  const char *threads = getenv(variable);
  if ((threads == NULL || strcmp(threads, "1") != 0) && setenv(variable, "1", 1) == 0) {
    (void)execv("/proc/self/exe", argv); // If exec fails, continue with the threads.
  }
}

bool s2_ulimits_obey(char **argv) {
  // With a handler, a write beyond the file size limit (-f) fails like a write to a full disk.
  // Ignoring the signal instead would also affect child processes, which inherit it.
  struct sigaction action = {.sa_handler = go_on, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGXFSZ, &action, NULL);

  struct rlimit space;
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) {
    return true;
  }
  start_without_threads(argv);
  s2_dense_single_threaded();
  if (!s2_dense_take_buffer()) {
    fprintf(stderr,
            "sim2d: not enough memory: the limit of %llu kB (ulimit -v) leaves no room for the %d "
            "MB that OpenBLAS needs\n",
            (unsigned long long)space.rlim_cur / 1024, S2_DENSE_BUFFER >> 20);
    return false;
  }
  return true;
}
