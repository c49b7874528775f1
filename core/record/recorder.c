#include "record/record.h"

#include "base/memory.h"
#include "record/csv.h"
#include "record/data_formats.h"
#include "record/picture.h"
#include "record/s2d.h"
#include "record/suffix.h"
#include "record/svg.h"
#include "record/track.h"

typedef enum Format { CSV, S2D, SVG, NPZ, HDF5, FORMATS } Format;

struct S2Recorder {
  Format format;
  S2Output output;
  S2Moment moment;    // of the last frame
  S2S2dWriter writer; // .s2d
  S2Track *track;     // .npz, .h5
  S2DataSet notes;    // about the run
};

// Of an .npz file, with room for its headers; a recording that grows larger ends here.
static const uint64_t MOST_BYTES = (uint64_t)UINT32_MAX - (1u << 24);

S2Status s2_recorder_open(const char *path, S2Recorder **recorder) {
  static const char *const suffixes[FORMATS] = {
      [CSV] = ".csv", [S2D] = ".s2d", [SVG] = ".svg", [NPZ] = ".npz", [HDF5] = ".h5"};
  *recorder = NULL;
  int format = 0;
  S2_TRY(s2_suffix_find(path, suffixes, FORMATS, &format));
  if (format == NPZ || format == HDF5) {
    S2_TRY(s2_data_check_path(path));
  }
  S2Output output;
  S2_TRY(s2_output_open(&output, path));
  S2Recorder *opened = s2_memory_take_zeroed(sizeof *opened);
  opened->format = (Format)format;
  opened->output = output;
  switch (opened->format) {
  case CSV:
    s2_csv_header(&opened->output);
    break;
  case S2D:
    s2_s2d_start(&opened->output);
    break;
  case NPZ:
  case HDF5:
    opened->track = s2_track_new();
    break;
  case SVG:
  case FORMATS:
    break;
  }
  *recorder = opened;
  return s2_ok();
}

void s2_recorder_note(S2Recorder *recorder, const char *key, const char *value) {
  s2_data_note(&recorder->notes, key, value);
}

S2Status s2_recorder_frame(S2Recorder *recorder, S2World *world) {
  S2_TRY(s2_moment_capture(&recorder->moment, world));
  switch (recorder->format) {
  case CSV:
    s2_csv_frame(&recorder->output, &recorder->moment);
    break;
  case S2D:
    S2_TRY(s2_s2d_frame(&recorder->writer, &recorder->output, &recorder->moment));
    break;
  case NPZ:
    if (s2_track_bytes(recorder->track) > MOST_BYTES) {
      return s2_error(S2_INVALID,
                      "'%s': the recording ends at 4 GB, which is all an .npz file holds; record "
                      "every nth step, or .h5 or .s2d",
                      s2_path_tail(recorder->output.path));
    }
    s2_track_frame(recorder->track, world, &recorder->moment);
    return s2_ok();
  case HDF5:
    s2_track_frame(recorder->track, world, &recorder->moment);
    return s2_ok();
  case SVG:
  case FORMATS:
    return s2_ok();
  }
  // Whole frames reach the file one by one: whatever ends this process, they are there.
  return s2_output_flush(&recorder->output);
}

static S2Status write_track(S2Recorder *recorder) {
  S2DataSet set = recorder->notes;
  recorder->notes = (S2DataSet){0};
  s2_track_move(recorder->track, &set);
  S2Status status = s2_data_write(&set, recorder->output.path, &recorder->output);
  s2_data_free(&set);
  return status;
}

static S2Status finish(S2Recorder *recorder) {
  if (recorder->track != NULL) {
    return write_track(recorder);
  }
  if (recorder->format == S2D) {
    s2_s2d_end(&recorder->output);
  } else if (recorder->format == SVG) {
    S2Scene scene = {0};
    S2DrawOptions options = s2_draw_options();
    S2Status status = s2_picture_build(&scene, &recorder->moment, &options);
    if (status.code == S2_OK) {
      s2_svg_write(&recorder->output, &scene);
    }
    s2_scene_free(&scene);
    return status;
  }
  return s2_ok();
}

S2Status s2_recorder_close(S2Recorder *recorder) {
  if (recorder == NULL) {
    return s2_ok();
  }
  S2Status finished = finish(recorder);
  S2Status closed = s2_output_close(&recorder->output);
  s2_s2d_free(&recorder->writer);
  s2_moment_free(&recorder->moment);
  s2_track_free(recorder->track);
  s2_data_free(&recorder->notes);
  s2_memory_free(recorder);
  return finished.code != S2_OK ? finished : closed;
}
