// Recordings: drawings and trajectory files.
//
// All picture back ends draw the same description of a scene, a list of primitives in world
// coordinates (S2Scene).
#ifndef S2_RECORD_H
#define S2_RECORD_H

#include "base/status.h"
#include "dynamics/dynamics.h"
#include "record/column.h"
#include "record/data/data.h"
#include "record/moment.h"
#include "record/rows.h"
#include "record/run.h"

enum { S2_TITLE_SIZE = 120 }; // bytes, including the final 0

typedef struct S2DrawOptions {
  int width;     // pixels. In recordings, 0 selects the usual width of the format
  bool contacts; // draw contact points with normal and friction impulses
  bool joints;
  bool names;
  bool legend; // draw time, scale and meaning of the arrows below the picture
  bool dark;   // draw light colours on a dark background
  bool fit;    // fit the view to all moving bodies and their surroundings, otherwise show lo to hi
  S2Vec2 lo, hi; // m
  S2BodyId
      follow; // the view follows this body without changing its size. Not used if the index is 0
  char title[S2_TITLE_SIZE];
} S2DrawOptions;

S2DrawOptions s2_draw_options(void);

// Draws the present state of the world. `options` may be NULL. The suffix selects the format, .svg
// or .png. The latter needs a build with cairo.
S2Status s2_world_draw(S2World *world, const char *path, const S2DrawOptions *options);

typedef enum S2TrailsOf { S2_TRAILS_NONE, S2_TRAILS_ALL, S2_TRAILS_LISTED } S2TrailsOf;

typedef struct S2RecordOptions {
  double from, to; // s of world time. Frames outside this range are omitted

  // Pictures and videos
  S2DrawOptions draw;
  S2TrailsOf trails; // draw the paths of centres of mass
  const S2BodyId *trail_bodies;
  int trail_count;

  // Pictures show the last frame, or several frames if either of these is set
  double strobe_period;       // s; 0: none
  const double *strobe_times; // s, ascending; NULL: none
  int strobe_count;

  // Videos
  double fps;   // frames per second
  double speed; // seconds of world time per second of the video
} S2RecordOptions;

S2RecordOptions s2_record_options(void);

// A recording in progress: one file, one world. The suffix selects the format:
//   .csv  one row per body and frame: time, body index, name, angle, x, y, omega, vx, vy
//   .html a page that plays it, with the .s2d in it; S2_UNAVAILABLE in a build without the page
//   .s2d  binary, append-only (docs/replay-format.md)
//   .npz, .h5 arrays over time (record/track.h), which are written at the end
//   .svg, .png  the last frame, or a strobe picture
//   .gif, .mp4 a video, which ffmpeg makes when the recorder is closed
typedef struct S2Recorder S2Recorder;

S2Status s2_recorder_open(const char *path, S2Recorder **recorder);
// Copies `options`, which may be NULL.
S2Status s2_recorder_open_with(const char *path, const S2RecordOptions *options,
                               S2Recorder **recorder);
// Sets the description of the run, for formats that store it. Call this before the first frame.
void s2_recorder_run(S2Recorder *recorder, const S2Run *run);
// Adds a channel, which is a number that is recorded in addition to the world's state. Some formats
// ignore channels. Returns the index of the channel. The value is NaN at first, and keeps its last
// setting. A channel that is added after the first frame makes the file larger, because the scene
// is repeated.
int s2_recorder_channel(S2Recorder *recorder, const char *name, const char *unit);
void s2_recorder_set(S2Recorder *recorder, int channel, double value);
S2Status s2_recorder_frame(S2Recorder *recorder, S2World *world);
// Adds a frame of another recording.
S2Status s2_recorder_moment(S2Recorder *recorder, const S2Moment *moment);
// Adds a plot of the script, which is shown beside the frames. Replaces an earlier plot of the same
// name. Returns S2_INVALID if the format does not store plots.
bool s2_recorder_holds_plots(const S2Recorder *recorder);
S2Status s2_recorder_plot(S2Recorder *recorder, const char *name, const char *svg);
// Appends decisions of the run that depended on the clock, in order. They are needed to repeat the
// run (docs/replay-format.md). Some formats ignore them.
S2Status s2_recorder_decisions(S2Recorder *recorder, const uint32_t *decisions, int count);
S2Status s2_recorder_close(S2Recorder *recorder); // also frees the recorder; NULL is allowed

#endif
