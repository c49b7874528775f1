// A progress bar on stderr that shows the percentage, the simulated time and the remaining time. It
// is shown only if stderr is a terminal. It is redrawn at most ten times per second, and removed
// when the run ends.
#ifndef S2_PROGRESS_H
#define S2_PROGRESS_H

#include <stdbool.h>

typedef struct S2Progress {
  bool shown;   // if false, all calls have no effect
  double start; // monotonic time of the start (s)
  double next;  // time of the next drawing (s)
} S2Progress;

// If `wanted` is false (--quiet, or not requested), the bar is never shown.
void s2_progress_begin(S2Progress *progress, bool wanted);

// `done` is between 0 and 1. `time` is the simulated time (s), or NAN if there is none. The call is
// cheap enough for every step.
void s2_progress_update(S2Progress *progress, double done, double time);

// Clears the line. If the run fails, call it before the message is printed. It may be called twice.
void s2_progress_end(S2Progress *progress);

#endif
