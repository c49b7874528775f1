// Writing .s2d: into a file, or chunk by chunk into memory for programs that send them.
#ifndef S2_S2D_WRITE_H
#define S2_S2D_WRITE_H

#include "record/run.h"
#include "record/s2d/output.h"
#include "record/s2d/s2d_frame.h"

// ---- Into memory: each appends to `bytes` ------------------------------------------------------

void s2_s2d_put_header(S2S2dBytes *bytes); // of the file
void s2_s2d_put_run(S2S2dBytes *bytes, const S2Run *run);
// The table of channels, if there are any, and the scene. Sets the grains to which frames of this
// scene are rounded.
S2Status s2_s2d_put_scene(S2S2dBytes *bytes, S2S2dPast *past, const S2Moment *moment);
// The scene and the channels written last. All zeros: none.
typedef struct S2S2dScene {
  S2S2dBytes bytes;  // the contents, without the grains
  S2S2dBytes fresh;  // contents of the moment that is compared
  uint64_t revision; // of that moment
} S2S2dScene;

// Whether scene and channels of the moment equal those of `last`. If not, `last` is set to them.
bool s2_s2d_same_scene(S2S2dScene *last, const S2Moment *moment);
void s2_s2d_scene_free(S2S2dScene *scene);
// A frame: a key frame with `key`, otherwise a frame that follows the last frame in `past`. Callers
// that do not keep `past` between frames must always use `key`. S2_INVALID: the frame would not fit
// into 4 GB.
S2Status s2_s2d_put_frame(S2S2dBytes *bytes, S2S2dPast *past, const S2Moment *moment, bool key);
// Appends the script's drawings of a frame after that frame, if there are any.
S2Status s2_s2d_put_annotations(S2S2dBytes *bytes, const S2Moment *moment);

// ---- Into a file ------------------------------------------------------------------------------

typedef struct S2S2dIndexScene {
  uint64_t channels, scene; // positions in the file; channels 0: none
} S2S2dIndexScene;

typedef struct S2S2dIndexFrame {
  uint64_t offset;
  uint32_t scene, behind; // frames since the key frame
} S2S2dIndexFrame;

// All zeros: nothing written yet.
typedef struct S2S2dWriter {
  uint64_t offset; // bytes written so far
  S2S2dScene scene;
  S2S2dBytes chunk; // under construction
  S2S2dPast past;
  uint64_t since_key, items; // frames since the last key frame; bodies and contacts in them
  S2_ARRAY(S2S2dIndexScene) scenes;
  S2_ARRAY(S2S2dIndexFrame) frames;
} S2S2dWriter;

// `run` may be NULL.
void s2_s2d_start(S2S2dWriter *writer, S2Output *output, const S2Run *run);
// Writes the moment, and before it the scene if that has changed. S2_INVALID: a chunk would not fit
// into 4 GB. Failures of the file are stored in `output`.
S2Status s2_s2d_frame(S2S2dWriter *writer, S2Output *output, const S2Moment *moment);
// A plot of the script, at any place before the end. S2_INVALID: the plot would not fit into 4 GB.
S2Status s2_s2d_plot(S2S2dWriter *writer, S2Output *output, const char *name, const char *svg);
// The decisions of clocks since the last such chunk: `count` numbers. S2_INVALID as above.
S2Status s2_s2d_decisions(S2S2dWriter *writer, S2Output *output, const uint32_t *decisions,
                          int count);
void s2_s2d_end(S2S2dWriter *writer, S2Output *output);
void s2_s2d_free(S2S2dWriter *writer);

#endif
