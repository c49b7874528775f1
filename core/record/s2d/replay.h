// Reading a .s2d recording (docs/replay-format.md), also one that was cut short or is still being
// written: all frames up to the first incomplete or damaged byte are there. The contents of the
// file are not trusted: whatever they are, the answers are moments whose references are in range,
// or an error. Numbers in them may be anything, NaN included.
#ifndef S2_REPLAY_H
#define S2_REPLAY_H

#include "record/draw/plots.h"
#include "record/moment.h"
#include "record/run.h"

typedef struct S2Replay S2Replay;

// Finds the frames: by the index of a recording that was closed, else by reading it once. S2_IO: it
// cannot be read. S2_INVALID: it is no .s2d file, or of a version not known here.
S2Status s2_replay_open(const char *path, S2Replay **replay);

// What is known of the run it comes from.
const S2Run *s2_replay_run(const S2Replay *replay);

uint64_t s2_replay_frame_count(const S2Replay *replay);

// Did the recording end as it should? If not, the frames counted are those before the cut.
bool s2_replay_complete(const S2Replay *replay);

// Frame `index`, from 0; going forwards is fastest. The moment is valid until the next call.
// S2_INVALID: no such frame; S2_IO: the file cannot be read any more, is damaged there, or has
// changed since it was opened.
S2Status s2_replay_frame(S2Replay *replay, uint64_t index, const S2Moment **moment);

// The plots of the script that the file holds, in order.
void s2_replay_plots(S2Replay *replay, S2Plots *plots);

// What clocks decided in the run, in order: appended to `decisions`.
typedef S2_ARRAY(uint32_t) S2Decisions;
void s2_replay_decisions(S2Replay *replay, S2Decisions *decisions);

void s2_replay_close(S2Replay *replay); // safe on NULL

#endif
