// Reads a .s2d recording (docs/replay-format.md), even if it is truncated or still being written.
// All frames before the first damaged or missing byte are available. The file need not be trusted.
// References in moments are always in range, but numbers may have any value, including NaN.
#ifndef S2_REPLAY_H
#define S2_REPLAY_H

#include "record/draw/plots.h"
#include "record/moment.h"
#include "record/run.h"

typedef struct S2Replay S2Replay;

// Opens a recording and finds its frames. Uses the index if the recording was closed, otherwise
// reads the whole file. Returns S2_IO if the file cannot be read, and S2_INVALID if it is not a
// .s2d file or has an unknown version.
S2Status s2_replay_open(const char *path, S2Replay **replay);

// Returns the description of the run that produced the recording.
const S2Run *s2_replay_run(const S2Replay *replay);

uint64_t s2_replay_frame_count(const S2Replay *replay);

// Returns true if the recording was closed. Otherwise frames may be missing at its end.
bool s2_replay_complete(const S2Replay *replay);

// Returns frame `index` (from 0). Reading forwards is fastest. The moment is valid until the next
// call. Returns S2_INVALID if there is no such frame, and S2_IO if the file cannot be read, is
// damaged, or has changed since it was opened.
S2Status s2_replay_frame(S2Replay *replay, uint64_t index, const S2Moment **moment);

// Reads the plots of the script, in order.
void s2_replay_plots(S2Replay *replay, S2Plots *plots);

// Appends the clock-dependent decisions of the run to `decisions`, in order.
typedef S2_ARRAY(uint32_t) S2Decisions;
void s2_replay_decisions(S2Replay *replay, S2Decisions *decisions);

void s2_replay_close(S2Replay *replay); // NULL is allowed

#endif
