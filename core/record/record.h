// Seeing and keeping what happened: drawings and trajectory files.
//
// One scene description (S2Scene, a list of plain primitives in world coordinates) is filled from a
// world; every picture back end draws that and nothing else.
#ifndef S2_RECORD_H
#define S2_RECORD_H

#include "base/status.h"
#include "dynamics/dynamics.h"
#include "record/column.h"
#include "record/data.h"
#include "record/rows.h"

typedef struct S2DrawOptions {
  int width;     // pixels of the picture, > 0
  bool contacts; // contact points with normal and friction impulses
  bool joints;
  bool names;
  bool fit;      // view: fit to everything that moves (with context); else lo..hi
  S2Vec2 lo, hi; // m
} S2DrawOptions;

S2DrawOptions s2_draw_options(void);

// Draws the world as it is; `options` may be NULL. The suffix picks the back end: .svg today.
S2Status s2_world_draw(S2World *world, const char *path, const S2DrawOptions *options);

// A recording in progress: one file, one world. The suffix picks the format:
//   .csv  one row per body and frame: time, body index, name, angle, x, y, omega, vx, vy
//   .s2d  binary, append-only (docs/replay-format.md)
//   .svg  the last frame
//   .npz, .h5  arrays over time (record/track.h), kept in memory and written at the end
typedef struct S2Recorder S2Recorder;

S2Status s2_recorder_open(const char *path, S2Recorder **recorder);
// About the run, kept by .npz and .h5: "script", "seed", ...
void s2_recorder_note(S2Recorder *recorder, const char *key, const char *value);
S2Status s2_recorder_frame(S2Recorder *recorder, S2World *world);
S2Status s2_recorder_close(S2Recorder *recorder); // also frees; safe on NULL

#endif
