// Reads a .s2d recording (docs/replay-format.md), even if it is truncated or still being written.
// All frames before the first incomplete or damaged byte are available. The contents of the file
// are not trusted. For any contents, the result is either moments whose references are in range, or
// an error. Numbers in them may have any value, including NaN.
#ifndef S2_REPLAY_H
#define S2_REPLAY_H

#include "record/draw/plots.h"
#include "record/moment.h"
#include "record/run.h"

typedef struct S2Replay S2Replay;

// Opens a recording and finds its frames: by the index if the recording was closed, otherwise by
// reading the whole file once. S2_IO: the file cannot be read. S2_INVALID: it is not a .s2d file,
// or has an unknown version.
S2Status s2_replay_open(const char *path, S2Replay **replay);

// The description of the run that produced the recording.
const S2Run *s2_replay_run(const S2Replay *replay);

uint64_t s2_replay_frame_count(const S2Replay *replay);

// Whether the recording was closed. If not, it contains the frames before the truncation.
bool s2_replay_complete(const S2Replay *replay);

// Returns frame `index` (from 0). Reading forwards is fastest. The moment is valid until the next
// call. S2_INVALID: no such frame. S2_IO: the file can no longer be read, is damaged at this frame,
// or has changed since it was opened.
S2Status s2_replay_frame(S2Replay *replay, uint64_t index, const S2Moment **moment);

// The plots of the script in the file, in order.
void s2_replay_plots(S2Replay *replay, S2Plots *plots);

// Appends the clock-dependent decisions of the run to `decisions`, in order.
typedef S2_ARRAY(uint32_t) S2Decisions;
void s2_replay_decisions(S2Replay *replay, S2Decisions *decisions);

void s2_replay_close(S2Replay *replay); // NULL is allowed

#endif
