// A progress bar on stderr: percentage, simulated time, time left. Shown only where stderr is a
// terminal, redrawn at most ten times a second, gone when the run ends.
#ifndef S2_PROGRESS_H
#define S2_PROGRESS_H

#include <stdbool.h>

typedef struct S2Progress {
  bool shown;   // false: all calls do nothing
  double start; // s, monotonic clock
  double next;  // s, when to draw again
} S2Progress;

// `wanted` false (--quiet, or not asked for) gives a bar that shows nothing.
void s2_progress_begin(S2Progress *progress, bool wanted);

// `done` from 0 to 1; `time` is the simulated time in s, NAN where there is none. Cheap enough to
// be called after every step.
void s2_progress_update(S2Progress *progress, double done, double time);

// Clears the line. Must also be called when the run fails, before its message is printed. May be
// called twice.
void s2_progress_end(S2Progress *progress);

#endif
