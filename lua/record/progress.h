// A progress bar on stderr: percentage, simulated time, remaining time. It is shown only if stderr
// is a terminal, redrawn at most ten times per second, and removed when the run ends.
#ifndef S2_PROGRESS_H
#define S2_PROGRESS_H

#include <stdbool.h>

typedef struct S2Progress {
  bool shown;   // false: all calls have no effect
  double start; // s, monotonic clock
  double next;  // s, time of the next drawing
} S2Progress;

// If `wanted` is false (--quiet, or not requested), the bar is never shown.
void s2_progress_begin(S2Progress *progress, bool wanted);

// `done` is from 0 to 1; `time` is the simulated time in s, NAN if there is none. Cheap enough to
// call after every step.
void s2_progress_update(S2Progress *progress, double done, double time);

// Clears the line. Call it also when the run fails, before printing the message. It may be called
// twice.
void s2_progress_end(S2Progress *progress);

#endif
