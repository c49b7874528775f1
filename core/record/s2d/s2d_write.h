// Writes .s2d recordings to a file. Can also write single chunks to memory, for programs that send
// them.
#ifndef S2_S2D_WRITE_H
#define S2_S2D_WRITE_H

#include "record/run.h"
#include "record/s2d/output.h"
#include "record/s2d/s2d_frame.h"

// ---- Writing to memory: each function appends to `bytes` ---------------------------------------

void s2_s2d_put_header(S2S2dBytes *bytes); // header of the file
void s2_s2d_put_run(S2S2dBytes *bytes, const S2Run *run);
// Writes the table of channels, if there are any, and the scene. Sets the grains to which frames of
// this scene are rounded.
S2Status s2_s2d_put_scene(S2S2dBytes *bytes, S2S2dPast *past, const S2Moment *moment);
// The scene and the channels that were written last. A structure of zeros contains none.
typedef struct S2S2dScene {
  S2S2dBytes bytes;  // contents without the grains
  S2S2dBytes fresh;  // contents of the compared moment
  uint64_t revision; // revision of the compared moment
} S2S2dScene;

// Returns true if the scene and channels of the moment equal `last`. Otherwise copies them to
// `last`.
bool s2_s2d_same_scene(S2S2dScene *last, const S2Moment *moment);
void s2_s2d_scene_free(S2S2dScene *scene);
// Writes a key frame if `key` is set, otherwise a frame that depends on the last frame in `past`.
// Callers that do not keep `past` between frames must always set `key`. Returns S2_INVALID if the
// frame would not fit into 4 GB.
S2Status s2_s2d_put_frame(S2S2dBytes *bytes, S2S2dPast *past, const S2Moment *moment, bool key);
// Appends the script's drawings of a frame, if any. Call this after the frame.
S2Status s2_s2d_put_annotations(S2S2dBytes *bytes, const S2Moment *moment);

// ---- Writing to a file ------------------------------------------------------------------------

typedef struct S2S2dIndexScene {
  uint64_t channels, scene; // positions of the chunks; `channels` is 0 if there are none
} S2S2dIndexScene;

typedef struct S2S2dIndexFrame {
  uint64_t offset;
  uint32_t scene, behind; // index of the scene, and number of frames since the last key frame
} S2S2dIndexFrame;

// Zero initialise this before the first call.
typedef struct S2S2dWriter {
  uint64_t offset; // bytes written so far
  S2S2dScene scene;
  S2S2dBytes chunk; // under construction
  S2S2dPast past;
  uint64_t since_key,
      items; // frames since the last key frame, and bodies and contacts in these frames
  S2_ARRAY(S2S2dIndexScene) scenes;
  S2_ARRAY(S2S2dIndexFrame) frames;
} S2S2dWriter;

// Begins the file. `run` may be NULL.
void s2_s2d_start(S2S2dWriter *writer, S2Output *output, const S2Run *run);
// Writes the moment, preceded by the scene if the scene has changed. Returns S2_INVALID if a chunk
// would not fit into 4 GB. Failures of the file are stored in `output`.
S2Status s2_s2d_frame(S2S2dWriter *writer, S2Output *output, const S2Moment *moment);
// Writes a plot of the script. This is possible at any time before the end. Returns S2_INVALID if
// the plot would not fit into 4 GB.
S2Status s2_s2d_plot(S2S2dWriter *writer, S2Output *output, const char *name, const char *svg);
// Writes the `count` clock-dependent decisions since the last call. Returns S2_INVALID if the chunk
// would not fit into 4 GB.
S2Status s2_s2d_decisions(S2S2dWriter *writer, S2Output *output, const uint32_t *decisions,
                          int count);
void s2_s2d_end(S2S2dWriter *writer, S2Output *output);
void s2_s2d_free(S2S2dWriter *writer);

#endif
