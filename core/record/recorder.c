#include "record/record.h"

#include "base/memory.h"
#include "record/csv.h"
#include "record/html.h"
#include "record/picture.h"
#include "record/s2d_write.h"
#include "record/suffix.h"
#include "record/svg.h"

#include <math.h>
#include <string.h>

typedef enum Format { CSV, HTML, S2D, SVG, FORMATS } Format;

struct S2Recorder {
  Format format;
  bool started;
  S2Run run;
  S2Output output;
  S2Moment moment;      // of the world, and the channels
  const S2Moment *last; // NULL: no frame yet
  S2S2dWriter writer;   // .s2d
  S2HtmlWriter html;
};

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
  switch (opened->format) {
  case CSV:
    s2_csv_header(&opened->output);
    break;
  case HTML:
  case S2D: // with the first frame: what is known of the run comes before it
  case SVG:
  case FORMATS:
    break;
  }
  *recorder = opened;
  return s2_ok();
}

void s2_recorder_run(S2Recorder *recorder, const S2Run *run) {
  if (!recorder->started) {
    s2_run_copy(&recorder->run, run);
  }
}

static void text_set(char *to, size_t size, const char *from) {
  memset(to, 0, size);
  memcpy(to, from, strnlen(from, size - 1));
}

int s2_recorder_channel(S2Recorder *recorder, const char *name, const char *unit) {
  S2MomentChannel *channel = s2_array_append(recorder->moment.channels);
  text_set(channel->name, sizeof channel->name, name);
  text_set(channel->unit, sizeof channel->unit, unit == NULL ? "" : unit);
  channel->value = (double)NAN;
  return recorder->moment.channels.count - 1;
}

void s2_recorder_set(S2Recorder *recorder, int channel, double value) {
  recorder->moment.channels.at[channel].value = value;
}

static S2Status start(S2Recorder *recorder) {
  bool started = recorder->started;
  recorder->started = true;
  if (!started && recorder->format == HTML) {
    return s2_html_start(&recorder->html, &recorder->output, &recorder->run);
  }
  if (!started && recorder->format == S2D) {
    s2_s2d_start(&recorder->writer, &recorder->output, &recorder->run);
  }
  return s2_ok();
}

static S2Status write_moment(S2Recorder *recorder, const S2Moment *moment) {
  S2_TRY(start(recorder));
  recorder->last = moment;
  switch (recorder->format) {
  case CSV:
    s2_csv_frame(&recorder->output, moment);
    break;
  case HTML:
    S2_TRY(s2_html_frame(&recorder->html, &recorder->output, moment));
    break;
  case S2D:
    S2_TRY(s2_s2d_frame(&recorder->writer, &recorder->output, moment));
    break;
  case SVG:
  case FORMATS:
    return s2_ok();
  }
  // Whole frames reach the file one by one: whatever ends this process, they are there.
  return s2_output_flush(&recorder->output);
}

S2Status s2_recorder_frame(S2Recorder *recorder, S2World *world) {
  S2_TRY(s2_moment_capture(&recorder->moment, world));
  return write_moment(recorder, &recorder->moment);
}

S2Status s2_recorder_moment(S2Recorder *recorder, const S2Moment *moment) {
  return write_moment(recorder, moment);
}

static S2Status finish(S2Recorder *recorder) {
  S2_TRY(start(recorder));
  if (recorder->format == HTML) {
    return s2_html_end(&recorder->html, &recorder->output);
  }
  if (recorder->format == S2D) {
    s2_s2d_end(&recorder->writer, &recorder->output);
  } else if (recorder->format == SVG) {
    S2Scene scene = {0};
    S2DrawOptions options = s2_draw_options();
    S2Status status = s2_picture_build(
        &scene, recorder->last != NULL ? recorder->last : &recorder->moment, &options);
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
  s2_html_free(&recorder->html);
  s2_s2d_free(&recorder->writer);
  s2_run_free(&recorder->run);
  s2_moment_free(&recorder->moment);
  s2_memory_free(recorder);
  return finished.code != S2_OK ? finished : closed;
}
