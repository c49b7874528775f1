#include "record/record.h"

#include "base/memory.h"
#include "record/album.h"
#include "record/data/csv.h"
#include "record/data/data_formats.h"
#include "record/draw/pixels.h"
#include "record/draw/svg.h"
#include "record/page/html.h"
#include "record/s2d/s2d_write.h"
#include "record/suffix.h"
#include "record/track.h"
#include "record/video/video.h"

#include <math.h>
#include <string.h>

typedef enum Format { CSV, NPZ, HDF5, S2D, HTML, SVG, PNG, GIF, MP4, FORMATS } Format;

#define LATE 1e-9 // s: times are sums of steps

struct S2Recorder {
  Format format;
  S2RecordOptions options;
  S2BodyId *trail_bodies; // owned lists of the options
  double *strobe_times;
  bool started;
  S2Run run;
  S2Output output;
  char *path;         // owned
  S2Moment moment;    // of the world, and the channels
  S2S2dWriter writer; // .s2d
  S2HtmlWriter html;
  S2Track *track; // .npz, .h5
  S2Album album;  // .svg, .png
  S2Video video;  // .gif, .mp4
  S2Scene scene;  // at the end: the picture
  S2DataSet set;  // and the arrays
  bool exhausted; // memory ran out: the frames before are all there is
};

// Of an .npz file, with room for its headers; a recording that grows larger ends here.
static const uint64_t MOST_BYTES = (uint64_t)UINT32_MAX - (1u << 24);

S2RecordOptions s2_record_options(void) {
  S2RecordOptions options = {
      .from = -INFINITY, .to = INFINITY, .draw = s2_draw_options(), .fps = 30, .speed = 1};
  options.draw.width = 0;
  return options;
}

static bool is_picture(Format format) {
  return format == SVG || format == PNG;
}

// Can it be read before it is whole? Then it is where it is looked for, also when a run is killed.
static bool is_stream(Format format) {
  return format == CSV || format == S2D || format == HTML;
}

static bool is_video(Format format) {
  return format == GIF || format == MP4;
}

static void *copy_of(const void *from, size_t bytes) {
  return from == NULL ? NULL : memcpy(s2_memory_take(bytes), from, bytes);
}

static S2Status check_options(const S2RecordOptions *options) {
  if (!(options->fps > 0) || !isfinite(options->fps) || !(options->speed > 0) ||
      !isfinite(options->speed)) {
    return s2_error(S2_INVALID, "fps and speed of a video are %g and %g, must be > 0 and finite",
                    options->fps, options->speed);
  }
  if (!(options->strobe_period >= 0)) {
    return s2_error(S2_INVALID, "strobe_period is %g s, must be >= 0", options->strobe_period);
  }
  return s2_ok();
}

// Can this build write such files? Told before the file is emptied.
static S2Status check_format(Format format, const char *path, S2Video *video) {
  switch (format) {
  case HTML:
    return s2_html_available();
  case NPZ:
  case HDF5:
    return s2_data_check_path(path);
  case PNG:
    return s2_canvas_available();
  case GIF:
  case MP4:
    return s2_video_open(video, format == GIF);
  default:
    return s2_ok();
  }
}

S2Status s2_recorder_open(const char *path, S2Recorder **recorder) {
  return s2_recorder_open_with(path, NULL, recorder);
}

typedef struct Making {
  const char *path;
  const S2RecordOptions *options;
  Format format;
  S2Output output;
  S2Video video;
  S2Recorder *recorder;
} Making;

static S2Status make(void *user) {
  Making *making = user;
  const S2RecordOptions *used = making->options;
  S2Recorder *opened = s2_memory_take_zeroed(sizeof *opened);
  opened->format = making->format;
  opened->options = *used;
  opened->options.trail_bodies = opened->trail_bodies =
      copy_of(used->trail_bodies, sizeof(S2BodyId) * (size_t)used->trail_count);
  opened->options.strobe_times = opened->strobe_times =
      copy_of(used->strobe_times, sizeof(double) * (size_t)used->strobe_count);
  if (is_picture(opened->format) && used->draw.width == 0) {
    opened->options.draw.width = s2_draw_options().width;
  }
  opened->path = copy_of(making->path, strlen(making->path) + 1);
  opened->output = making->output;
  opened->video = making->video;
  if (opened->format == NPZ || opened->format == HDF5) {
    opened->track = s2_track_new();
  }
  making->recorder = opened;
  return s2_ok();
}

S2Status s2_recorder_open_with(const char *path, const S2RecordOptions *options,
                               S2Recorder **recorder) {
  static const char *const suffixes[FORMATS] = {
      [CSV] = ".csv", [NPZ] = ".npz", [HDF5] = ".h5", [S2D] = ".s2d", [HTML] = ".html",
      [SVG] = ".svg", [PNG] = ".png", [GIF] = ".gif", [MP4] = ".mp4"};
  *recorder = NULL;
  const S2RecordOptions defaults = s2_record_options();
  const S2RecordOptions *used = options == NULL ? &defaults : options;
  int format = 0;
  Making making = {.path = path, .options = used};
  S2_TRY(s2_suffix_find(path, suffixes, FORMATS, &format));
  making.format = (Format)format;
  S2_TRY(check_options(used));
  S2_TRY(check_format(making.format, path, &making.video));
  S2_TRY(is_stream(making.format) ? s2_output_open(&making.output, path)
                                  : s2_output_open_whole(&making.output, path));
  S2Status made = s2_memory_building(make, &making);
  if (made.code != S2_OK) {
    s2_output_abandon(&making.output);
    return made;
  }
  if (making.format == CSV) {
    s2_csv_header(&making.recorder->output);
  }
  *recorder = making.recorder;
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

static S2Status add_channel(void *user) {
  S2Recorder *recorder = user;
  (void)s2_array_append(recorder->moment.channels);
  return s2_ok();
}

int s2_recorder_channel(S2Recorder *recorder, const char *name, const char *unit) {
  if (s2_memory_guarded(add_channel, recorder).code != S2_OK) {
    recorder->exhausted = true; // told with the next frame
    return -1;
  }
  S2MomentChannel *channel = &recorder->moment.channels.at[recorder->moment.channels.count - 1];
  text_set(channel->name, sizeof channel->name, name);
  text_set(channel->unit, sizeof channel->unit, unit == NULL ? "" : unit);
  channel->value = (double)NAN;
  return recorder->moment.channels.count - 1;
}

void s2_recorder_set(S2Recorder *recorder, int channel, double value) {
  if (channel >= 0) {
    recorder->moment.channels.at[channel].value = value;
  }
}

// With the first frame, or the end: what is known of the run comes before it.
static S2Status start(S2Recorder *recorder) {
  if (recorder->started) {
    return s2_ok();
  }
  recorder->started = true;
  if (recorder->format == S2D) {
    s2_s2d_start(&recorder->writer, &recorder->output, &recorder->run);
  } else if (recorder->format == HTML) {
    return s2_html_start(&recorder->html, &recorder->output, &recorder->run);
  }
  return s2_ok();
}

static S2Status too_long(const S2Recorder *recorder) {
  return s2_error(S2_IO,
                  "'%s': an .npz file holds less than 4 GB; record every nth step, or .h5 or .s2d",
                  s2_path_tail(recorder->output.path));
}

static S2Status write_moment(S2Recorder *recorder, const S2Moment *moment) {
  S2_TRY(start(recorder));
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
  case NPZ:
    if (s2_track_bytes(recorder->track) > MOST_BYTES) {
      return too_long(recorder);
    }
    return s2_track_frame(recorder->track, moment);
  case HDF5:
    return s2_track_frame(recorder->track, moment);
  case SVG:
  case PNG:
    return s2_album_add(&recorder->album, moment, &recorder->options);
  case GIF:
  case MP4:
    return s2_video_add(&recorder->video, moment, &recorder->options);
  case FORMATS:
    return s2_ok();
  }
  // Whole frames reach the file one by one: whatever ends this process, they are there.
  return s2_output_flush(&recorder->output);
}

// Most steps lie between the frames of a picture or video.
static bool is_wanted(const S2Recorder *recorder, double time) {
  if (time < recorder->options.from - LATE || time > recorder->options.to + LATE) {
    return false;
  }
  if (is_picture(recorder->format)) {
    return s2_album_wants(&recorder->album, time, &recorder->options);
  }
  return !is_video(recorder->format) || s2_video_wants(&recorder->video, time, &recorder->options);
}

static S2Status no_memory(const S2Recorder *recorder) {
  return s2_error(S2_MEMORY, "'%s': out of memory; what was recorded before is kept",
                  s2_path_tail(recorder->path));
}

// Half a frame is none, and frames build on each other: after one there is no other.
static S2Status within_memory(S2Recorder *recorder, S2MemoryRun *run, void *user) {
  if (recorder->exhausted) {
    return no_memory(recorder);
  }
  S2Status status = s2_memory_guarded(run, user);
  recorder->exhausted = status.code == S2_MEMORY;
  return recorder->exhausted ? no_memory(recorder) : status;
}

typedef struct Adding {
  S2Recorder *recorder;
  S2World *world;         // its present ...
  const S2Moment *moment; // ... or this
} Adding;

static S2Status add(void *user) {
  const Adding *adding = user;
  S2Recorder *recorder = adding->recorder;
  if (adding->world == NULL) {
    return write_moment(recorder, adding->moment);
  }
  S2_TRY(recorder->format == CSV ? s2_moment_capture_bodies(&recorder->moment, adding->world)
                                 : s2_moment_capture(&recorder->moment, adding->world));
  return write_moment(recorder, &recorder->moment);
}

S2Status s2_recorder_frame(S2Recorder *recorder, S2World *world) {
  Adding adding = {recorder, world, NULL};
  return is_wanted(recorder, s2_world_time(world)) ? within_memory(recorder, add, &adding)
                                                   : s2_ok();
}

S2Status s2_recorder_moment(S2Recorder *recorder, const S2Moment *moment) {
  Adding adding = {recorder, NULL, moment};
  return is_wanted(recorder, moment->time) ? within_memory(recorder, add, &adding) : s2_ok();
}

bool s2_recorder_holds_plots(const S2Recorder *recorder) {
  return recorder->format == S2D || recorder->format == HTML;
}

S2Status s2_recorder_plot(S2Recorder *recorder, const char *name, const char *svg) {
  if (!s2_recorder_holds_plots(recorder)) {
    return s2_error(S2_INVALID, "only .html and .s2d recordings hold plots");
  }
  S2_TRY(start(recorder));
  if (recorder->format == HTML) {
    S2_TRY(s2_html_plot(&recorder->html, &recorder->output, name, svg));
  } else {
    S2_TRY(s2_s2d_plot(&recorder->writer, &recorder->output, name, svg));
  }
  return s2_output_flush(&recorder->output);
}

static S2Status gather(void *user) {
  S2Recorder *recorder = user;
  s2_run_copy(&recorder->set.run, &recorder->run);
  return s2_track_arrays(recorder->track, &recorder->set);
}

static S2Status write_track(S2Recorder *recorder, bool *whole) {
  bool ended = recorder->format == NPZ && s2_track_bytes(recorder->track) > MOST_BYTES;
  S2Status gathered = s2_memory_guarded(gather, recorder);
  if (gathered.code == S2_MEMORY) {
    return gathered;
  }
  S2Status status = s2_data_write(&recorder->set, recorder->output.path, &recorder->output);
  *whole = status.code == S2_OK;
  if (*whole) {
    return ended ? too_long(recorder) : gathered;
  }
  return status;
}

static S2Status make_scene(void *user) {
  S2Recorder *recorder = user;
  return s2_album_scene(&recorder->album, &recorder->options, &recorder->scene);
}

static S2Status write_picture(S2Recorder *recorder) {
  S2Status made = s2_memory_building(make_scene, recorder);
  if (made.code == S2_MEMORY) {
    recorder->scene = (S2Scene){0}; // what was in it is gone
  }
  S2_TRY(made);
  if (recorder->format == PNG) {
    return s2_png_write(&recorder->output, &recorder->scene);
  }
  s2_svg_write(&recorder->output, &recorder->scene);
  return s2_ok();
}

static S2Status write_video(S2Recorder *recorder) {
  const S2Output *output = &recorder->output; // holds the place for ffmpeg
  const char *path = output->part != NULL ? output->part : recorder->path;
  S2Status status = s2_video_write(&recorder->video, path, &recorder->options);
  if (status.code == S2_OK) {
    return status;
  }
  if (output->part == NULL) {
    (void)remove(path); // half a video is none
  }
  return s2_error(status.code, "cannot write '%s': %s", s2_path_tail(recorder->path),
                  status.message);
}

typedef struct Finishing {
  S2Recorder *recorder;
  bool whole; // is there a file, be it one that lacks its end?
} Finishing;

static S2Status finish(void *user) {
  Finishing *finishing = user;
  S2Recorder *recorder = finishing->recorder;
  bool *whole = &finishing->whole;
  *whole = is_stream(recorder->format);
  S2_TRY(start(recorder));
  S2Status status = s2_ok();
  if (recorder->format == S2D) {
    s2_s2d_end(&recorder->writer, &recorder->output);
  } else if (recorder->format == HTML) {
    status = s2_html_end(&recorder->html, &recorder->output);
  } else if (recorder->track != NULL) {
    return write_track(recorder, whole);
  } else if (is_picture(recorder->format)) {
    status = write_picture(recorder);
  } else if (is_video(recorder->format)) {
    status = write_video(recorder);
  }
  *whole = *whole || status.code == S2_OK;
  return status;
}

S2Status s2_recorder_close(S2Recorder *recorder) {
  if (recorder == NULL) {
    return s2_ok();
  }
  // Of other programs and libraries nothing may be left in the middle.
  bool foreign = is_video(recorder->format) || recorder->format == PNG;
  Finishing finishing = {.recorder = recorder};
  S2Status finished = foreign ? finish(&finishing) : s2_memory_guarded(finish, &finishing);
  if (!finishing.whole) {
    s2_output_abandon(&recorder->output);
  }
  if (finished.code == S2_OK && recorder->exhausted) {
    finished = no_memory(recorder);
  }
  S2Status closed = s2_output_close(&recorder->output);
  s2_html_free(&recorder->html);
  s2_s2d_free(&recorder->writer);
  s2_track_free(recorder->track);
  s2_album_free(&recorder->album);
  s2_video_free(&recorder->video);
  s2_run_free(&recorder->run);
  s2_moment_free(&recorder->moment);
  s2_scene_free(&recorder->scene);
  s2_data_free(&recorder->set);
  s2_memory_free(recorder->trail_bodies);
  s2_memory_free(recorder->strobe_times);
  s2_memory_free(recorder->path);
  s2_memory_free(recorder);
  return finished.code != S2_OK ? finished : closed;
}
