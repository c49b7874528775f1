// Common code of the benchmarks: their clocks, and the end of a run that cannot continue.
#ifndef S2_BENCH_H
#define S2_BENCH_H

#include "sim2d.h"

#include "linalg/dense.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double bench_clock(clockid_t clock) { // ms
  struct timespec t;
  clock_gettime(clock, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

// ms of this thread's work, which excludes other programs of the machine.
static inline double bench_ms(void) {
  return bench_clock(CLOCK_THREAD_CPUTIME_ID);
}

// ms of wall time, for comparisons with programs that use several threads.
static inline double bench_wall_ms(void) {
  return bench_clock(CLOCK_MONOTONIC);
}

// Runs before main. The threads of OpenBLAS would slow the first tenth of a second down.
__attribute__((constructor)) static void bench_alone(void) {
  s2_dense_end_threads();
}

static inline void must(S2Status status) {
  if (status.code != S2_OK) {
    fprintf(stderr, "benchmark: %s\n", status.message);
    exit(1);
  }
}

static inline void *take(size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  if (memory == NULL) {
    fprintf(stderr, "benchmark: out of memory\n");
    exit(1);
  }
  return memory;
}

static inline double *take_doubles(size_t count) {
  return take(count, sizeof(double));
}

#endif
