#include "record/record.h"

#include "base/memory.h"
#include "record/csv.h"
#include "record/html.h"
#include "record/picture.h"
#include "record/s2d.h"
#include "record/suffix.h"
#include "record/svg.h"

typedef enum Format { CSV, HTML, S2D, SVG, FORMATS } Format;

struct S2Recorder {
  Format format;
  S2Output output;
  S2Moment moment;    // of the last frame
  S2S2dWriter writer; // .s2d
  S2HtmlWriter html;
};

// Also closes the file, and tells whether all of it was written.
static S2Status free_recorder(S2Recorder *recorder) {
  S2Status closed = s2_output_close(&recorder->output);
  s2_html_free(&recorder->html);
  s2_s2d_free(&recorder->writer);
  s2_moment_free(&recorder->moment);
  s2_memory_free(recorder);
  return closed;
}

S2Status s2_recorder_open(const char *path, S2Recorder **recorder) {
  static const char *const suffixes[FORMATS] = {
      [CSV] = ".csv", [HTML] = ".html", [S2D] = ".s2d", [SVG] = ".svg"};
  *recorder = NULL;
  int format = 0;
  S2_TRY(s2_suffix_find(path, suffixes, FORMATS, &format));
  if (format == HTML) {
    S2_TRY(s2_html_available()); // before the file is emptied
  }
  S2Output output;
  S2_TRY(s2_output_open(&output, path));
  S2Recorder *opened = s2_memory_take_zeroed(sizeof *opened);
  opened->format = (Format)format;
  opened->output = output;
  S2Status status = s2_ok();
  switch (opened->format) {
  case CSV:
    s2_csv_header(&opened->output);
    break;
  case HTML:
    status = s2_html_start(&opened->html, &opened->output);
    break;
  case S2D:
    s2_s2d_start(&opened->output);
    break;
  case SVG:
  case FORMATS:
    break;
  }
  if (status.code != S2_OK) {
    free_recorder(opened);
    return status;
  }
  *recorder = opened;
  return s2_ok();
}

S2Status s2_recorder_frame(S2Recorder *recorder, S2World *world) {
  S2_TRY(s2_moment_capture(&recorder->moment, world));
  switch (recorder->format) {
  case CSV:
    s2_csv_frame(&recorder->output, &recorder->moment);
    break;
  case HTML:
    S2_TRY(s2_html_frame(&recorder->html, &recorder->output, &recorder->moment));
    break;
  case S2D:
    S2_TRY(s2_s2d_frame(&recorder->writer, &recorder->output, &recorder->moment));
    break;
  case SVG:
  case FORMATS:
    return s2_ok();
  }
  // Whole frames reach the file one by one: whatever ends this process, they are there.
  return s2_output_flush(&recorder->output);
}

static S2Status finish(S2Recorder *recorder) {
  if (recorder->format == S2D) {
    s2_s2d_end(&recorder->output);
  } else if (recorder->format == HTML) {
    return s2_html_end(&recorder->html, &recorder->output);
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
  S2Status closed = free_recorder(recorder);
  return finished.code != S2_OK ? finished : closed;
}
