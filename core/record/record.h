// Seeing and keeping what happened: drawings and trajectory files.
//
// One scene description (S2Scene, a list of plain primitives in world coordinates) is filled from a
// world; every picture back end draws that and nothing else.
#ifndef S2_RECORD_H
#define S2_RECORD_H

#include "base/status.h"
#include "dynamics/dynamics.h"
#include "record/moment.h"
#include "record/run.h"

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
//   .html a page that plays it, with the .s2d in it; S2_UNAVAILABLE in a build without the page
//   .s2d  binary, append-only (docs/replay-format.md)
//   .svg  the last frame
typedef struct S2Recorder S2Recorder;

S2Status s2_recorder_open(const char *path, S2Recorder **recorder);
// What is known of the run, for formats that keep it; before the first frame.
void s2_recorder_run(S2Recorder *recorder, const S2Run *run);
// A number besides the world's state, for formats that keep such: returns its place. Its value is
// NAN until it is set, and then stays. Each new channel after the first frame costs a scene.
int s2_recorder_channel(S2Recorder *recorder, const char *name, const char *unit);
void s2_recorder_set(S2Recorder *recorder, int channel, double value);
S2Status s2_recorder_frame(S2Recorder *recorder, S2World *world);
// A frame of another recording. The last one has to stay until the recorder is closed.
S2Status s2_recorder_moment(S2Recorder *recorder, const S2Moment *moment);
S2Status s2_recorder_close(S2Recorder *recorder); // also frees; safe on NULL

#endif
