#include "lua/record/progress.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 }; // Characters. The whole line fits into 80 columns.

// Time between two drawings (s). Faster drawing is unreadable, and slow on some terminals.
static const double PERIOD = 0.1;

static double progress_now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

void s2_progress_begin(S2Progress *progress, bool wanted) {
  *progress = (S2Progress){.shown = wanted && isatty(STDERR_FILENO) == 1};
  if (progress->shown) {
    progress->start = progress_now();
    progress->next = progress->start + PERIOD; // short runs show no bar
  }
}

// Prints the remaining time, such as 17 s, 2:05 min or 1:30 h.
static void print_left(double seconds) {
  if (seconds < 60) {
    fprintf(stderr, ", %.0f s left", seconds);
  } else if (seconds < 3600) {
    fprintf(stderr, ", %.0f:%02.0f min left", floor(seconds / 60), fmod(seconds, 60));
  } else {
    fprintf(stderr, ", %.0f:%02.0f h left", floor(seconds / 3600), floor(fmod(seconds, 3600) / 60));
  }
}

void s2_progress_update(S2Progress *progress, double done, double time) {
  if (!progress->shown) {
    return;
  }
  double at = progress_now();
  if (at < progress->next) {
    return;
  }
  progress->next = at + PERIOD;
  done = fmin(fmax(done, 0), 1);
  int filled = (int)(done * BAR_WIDTH);
  char bar[BAR_WIDTH + 1];
  for (int i = 0; i < BAR_WIDTH; i++) {
    bar[i] = i < filled ? '#' : '.';
  }
  bar[BAR_WIDTH] = '\0';
  fprintf(stderr, "\r\033[K%3.0f%% [%s]", 100 * done, bar);
  if (!isnan(time)) {
    fprintf(stderr, " t = %.2f s", time);
  }
  if (done > 0) {
    print_left(ceil((at - progress->start) * (1 - done) / done));
  }
  fflush(stderr);
}

void s2_progress_end(S2Progress *progress) {
  // Clear the line only if the bar was drawn.
  if (progress->shown && progress->next > progress->start + PERIOD) {
    fputs("\r\033[K", stderr);
    fflush(stderr);
  }
  progress->shown = false;
}
