#include "record/record.h"

#include "base/memory.h"
#include "base/number.h"
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
#include <stdio.h>
#include <string.h>

// A format of recordings. A function is NULL if the format does not need it.
typedef struct Sink {
  const char *suffix;
  // Useful while incomplete. The file is written in place, so that it survives a killed process.
  bool stream;
  bool foreign; // calls other programs and libraries, which must not be interrupted
  bool arrays, picture, gif;
  // Checks that this build can write the format. Called before the file is emptied.
  S2Status (*available)(void);
  S2Status (*capture)(S2Moment *moment, S2World *world);
  S2Status (*start)(S2Recorder *recorder); // called with the first frame, or at the end if there is
                                           // none
  bool (*wants)(const S2Recorder *recorder, double time); // NULL if every step is needed
  S2Status (*frame)(S2Recorder *recorder, const S2Moment *moment);
  S2Status (*plot)(S2Recorder *recorder, const char *name, const char *svg);
  S2Status (*decisions)(S2Recorder *recorder, const uint32_t *decisions, int count);
  S2Status (*finish)(S2Recorder *recorder);
} Sink;

#define LATE 1e-9 // s; tolerance, because times are sums of steps

struct S2Recorder {
  const Sink *sink;
  S2RecordOptions options;
  S2BodyId *trail_bodies; // owned copies of the lists in the options
  double *strobe_times;
  bool started;
  S2Run run;
  S2Output output;
  char *path;         // owned
  S2Moment moment;    // state of the world, and channels
  S2S2dWriter writer; // .s2d
  S2HtmlWriter html;
  S2Track *track;  // .npz, .h5
  S2Album album;   // .svg, .png
  S2Status failed; // error of the first frame that could not be added
  S2Video video;   // .gif, .mp4
  S2Scene scene;   // the picture, filled at the end
  S2DataSet set;   // the arrays, filled at the end
  bool exhausted;  // memory ran out, so no more frames are recorded
  bool whole;      // set at the end if there is a file, even an incomplete one
};

// Maximum size of an .npz file without its headers. The recording ends when it is reached.
static const uint64_t MOST_BYTES = (uint64_t)UINT32_MAX - (1u << 24);

S2RecordOptions s2_record_options(void) {
  S2RecordOptions options = {
      .from = -INFINITY, .to = INFINITY, .draw = s2_draw_options(), .fps = 30, .speed = 1};
  options.draw.width = 0;
  return options;
}

// ---- Sinks: .csv, .s2d, .html -------------------------------------------------------------------

static S2Status csv_start(S2Recorder *recorder) {
  s2_csv_header(&recorder->output);
  return s2_ok();
}

static S2Status csv_frame(S2Recorder *recorder, const S2Moment *moment) {
  s2_csv_frame(&recorder->output, moment);
  return s2_ok();
}

static S2Status s2d_start(S2Recorder *recorder) {
  s2_s2d_start(&recorder->writer, &recorder->output, &recorder->run);
  return s2_ok();
}

static S2Status s2d_frame(S2Recorder *recorder, const S2Moment *moment) {
  return s2_s2d_frame(&recorder->writer, &recorder->output, moment);
}

static S2Status s2d_plot(S2Recorder *recorder, const char *name, const char *svg) {
  return s2_s2d_plot(&recorder->writer, &recorder->output, name, svg);
}

static S2Status s2d_decisions(S2Recorder *recorder, const uint32_t *decisions, int count) {
  return s2_s2d_decisions(&recorder->writer, &recorder->output, decisions, count);
}

static S2Status s2d_finish(S2Recorder *recorder) {
  s2_s2d_end(&recorder->writer, &recorder->output);
  return s2_ok();
}

// Store the initial settings of the page as entries of the run.
static S2Status html_start(S2Recorder *recorder) {
  const S2RecordOptions *options = &recorder->options;
  char number[S2_NUMBER_SIZE];
  if (options->draw.follow.index != 0) {
    snprintf(number, sizeof number, "%u", (unsigned)options->draw.follow.serial);
    s2_run_add(&recorder->run, "view_follow", number);
  }
  if (options->trails != S2_TRAILS_NONE) {
    s2_run_add(&recorder->run, "view_trails", "all");
  }
  if (options->speed != s2_record_options().speed) { // NOLINT: any difference counts, however small
    s2_number_exact(number, options->speed);
    s2_run_add(&recorder->run, "view_speed", number);
  }
  return s2_html_start(&recorder->html, &recorder->output, &recorder->run);
}

static S2Status html_frame(S2Recorder *recorder, const S2Moment *moment) {
  return s2_html_frame(&recorder->html, &recorder->output, moment);
}

static S2Status html_plot(S2Recorder *recorder, const char *name, const char *svg) {
  return s2_html_plot(&recorder->html, &recorder->output, name, svg);
}

static S2Status html_decisions(S2Recorder *recorder, const uint32_t *decisions, int count) {
  return s2_html_decisions(&recorder->html, &recorder->output, decisions, count);
}

static S2Status html_finish(S2Recorder *recorder) {
  return s2_html_end(&recorder->html, &recorder->output);
}

// ---- Arrays: .npz, .h5 --------------------------------------------------------------------------

static S2Status track_frame(S2Recorder *recorder, const S2Moment *moment) {
  return s2_track_frame(recorder->track, moment);
}

static S2Status npz_too_long(const S2Recorder *recorder) {
  return s2_error(
      S2_IO, "'%s': an .npz file holds less than 4 GB; record every nth step, or use .h5 or .s2d",
      s2_path_tail(recorder->output.path));
}

static S2Status npz_frame(S2Recorder *recorder, const S2Moment *moment) {
  return s2_track_bytes(recorder->track) > MOST_BYTES ? npz_too_long(recorder)
                                                      : track_frame(recorder, moment);
}

static S2Status track_gather(void *user) {
  S2Recorder *recorder = user;
  s2_run_copy(&recorder->set.run, &recorder->run);
  return s2_track_arrays(recorder->track, &recorder->set);
}

// Writes all recorded frames, even if the recording ended early.
static S2Status track_finish(S2Recorder *recorder) {
  S2Status gathered = s2_memory_guarded(track_gather, recorder);
  if (gathered.code == S2_MEMORY) {
    return gathered;
  }
  S2_TRY(s2_data_write(&recorder->set, recorder->output.path, &recorder->output));
  recorder->whole = true;
  return gathered;
}

static S2Status npz_finish(S2Recorder *recorder) {
  bool ended = s2_track_bytes(recorder->track) > MOST_BYTES;
  S2Status status = track_finish(recorder);
  return recorder->whole && ended ? npz_too_long(recorder) : status;
}

// ---- Pictures: .svg, .png -----------------------------------------------------------------------

static bool picture_wants(const S2Recorder *recorder, double time) {
  return s2_album_wants(&recorder->album, time, &recorder->options);
}

static S2Status picture_frame(S2Recorder *recorder, const S2Moment *moment) {
  return s2_album_add(&recorder->album, moment, &recorder->options);
}

static S2Status picture_scene(void *user) {
  S2Recorder *recorder = user;
  return s2_album_scene(&recorder->album, &recorder->options, &recorder->scene);
}

static S2Status picture_build(S2Recorder *recorder) {
  S2Status made = s2_memory_building(picture_scene, recorder);
  if (made.code == S2_MEMORY) {
    recorder->scene = (S2Scene){0}; // the guard has freed the contents
  }
  return made;
}

static S2Status svg_finish(S2Recorder *recorder) {
  S2_TRY(picture_build(recorder));
  s2_svg_write(&recorder->output, &recorder->scene);
  return s2_ok();
}

static S2Status png_finish(S2Recorder *recorder) {
  S2_TRY(picture_build(recorder));
  return s2_png_write(&recorder->output, &recorder->scene);
}

// ---- Videos: .gif, .mp4 -------------------------------------------------------------------------

static bool video_wants(const S2Recorder *recorder, double time) {
  return s2_video_wants(&recorder->video, time, &recorder->options);
}

static S2Status video_frame(S2Recorder *recorder, const S2Moment *moment) {
  return s2_video_add(&recorder->video, moment, &recorder->options);
}

static S2Status video_finish(S2Recorder *recorder) {
  const S2Output *output = &recorder->output; // reserves the path for ffmpeg
  const char *path = output->part != NULL ? output->part : recorder->path;
  // Do not write a video if a frame has failed.
  S2Status status = recorder->failed.code != S2_OK
                        ? recorder->failed
                        : s2_video_write(&recorder->video, path, &recorder->options);
  if (status.code == S2_OK) {
    return status;
  }
  if (output->part == NULL) {
    (void)remove(path);
  }
  return s2_error(status.code, "cannot write '%s': %s", s2_path_tail(recorder->path),
                  status.message);
}

// ---- The table of formats -----------------------------------------------------------------------

static const Sink sinks[] = {
    {".csv", .stream = true, .capture = s2_moment_capture_bodies, .start = csv_start,
     .frame = csv_frame},
    {".npz", .capture = s2_moment_capture, .arrays = true, .frame = npz_frame,
     .finish = npz_finish},
    {".h5", .capture = s2_moment_capture, .arrays = true, .frame = track_frame,
     .finish = track_finish},
    {".s2d", .stream = true, .capture = s2_moment_capture, .start = s2d_start, .frame = s2d_frame,
     .plot = s2d_plot, .decisions = s2d_decisions, .finish = s2d_finish},
    {".html", .stream = true, .capture = s2_moment_capture, .available = s2_html_available,
     .start = html_start, .frame = html_frame, .plot = html_plot, .decisions = html_decisions,
     .finish = html_finish},
    {".svg", .picture = true, .capture = s2_moment_capture, .wants = picture_wants,
     .frame = picture_frame, .finish = svg_finish},
    {".png", .picture = true, .foreign = true, .capture = s2_moment_capture,
     .available = s2_canvas_available, .wants = picture_wants, .frame = picture_frame,
     .finish = png_finish},
    {".gif", .foreign = true, .capture = s2_moment_capture, .gif = true,
     .available = s2_video_available, .wants = video_wants, .frame = video_frame,
     .finish = video_finish},
    {".mp4", .foreign = true, .capture = s2_moment_capture, .available = s2_video_available,
     .wants = video_wants, .frame = video_frame, .finish = video_finish},
};
enum { SINKS = sizeof sinks / sizeof sinks[0] };

// ---- Recorders ----------------------------------------------------------------------------------

static void *copy_of(const void *from, size_t bytes) {
  return from == NULL ? NULL : memcpy(s2_memory_take(bytes), from, bytes);
}

static S2Status recorder_check_options(const S2RecordOptions *options) {
  if (!(options->fps > 0) || !isfinite(options->fps) || !(options->speed > 0) ||
      !isfinite(options->speed)) {
    return s2_error(S2_INVALID,
                    "fps and speed of a video are %g and %g; both must be > 0 and finite",
                    options->fps, options->speed);
  }
  if (!(options->strobe_period >= 0)) {
    return s2_error(S2_INVALID, "strobe_period is %g s; it must be >= 0", options->strobe_period);
  }
  return s2_ok();
}

S2Status s2_recorder_open(const char *path, S2Recorder **recorder) {
  return s2_recorder_open_with(path, NULL, recorder);
}

typedef struct Making {
  const char *path;
  const S2RecordOptions *options;
  const Sink *sink;
  S2Output output;
  S2Recorder *recorder;
} Making;

static S2Status recorder_make(void *user) {
  Making *making = user;
  const S2RecordOptions *used = making->options;
  S2Recorder *opened = s2_memory_take_zeroed(sizeof *opened);
  opened->sink = making->sink;
  // Copy the lists, because they belong to the caller.
  opened->options = *used;
  opened->options.trail_bodies = opened->trail_bodies =
      copy_of(used->trail_bodies, sizeof(S2BodyId) * (size_t)used->trail_count);
  opened->options.strobe_times = opened->strobe_times =
      copy_of(used->strobe_times, sizeof(double) * (size_t)used->strobe_count);
  // Videos choose their default width later.
  if (opened->sink->picture && used->draw.width == 0) {
    opened->options.draw.width = s2_draw_options().width;
  }
  opened->path = copy_of(making->path, strlen(making->path) + 1);
  opened->output = making->output;
  opened->video.gif = making->sink->gif;
  opened->track = making->sink->arrays ? s2_track_new() : NULL;
  making->recorder = opened;
  return s2_ok();
}

S2Status s2_recorder_open_with(const char *path, const S2RecordOptions *options,
                               S2Recorder **recorder) {
  *recorder = NULL;
  const S2RecordOptions defaults = s2_record_options();
  const S2RecordOptions *used = options == NULL ? &defaults : options;
  // The suffix selects the format.
  const char *suffixes[SINKS];
  for (int i = 0; i < SINKS; i++) {
    suffixes[i] = sinks[i].suffix;
  }
  int index = 0;
  S2_TRY(s2_suffix_find(path, suffixes, SINKS, &index));
  const Sink *sink = &sinks[index];
  Making making = {.path = path, .options = used, .sink = sink};
  // Perform all checks before the file is opened.
  S2_TRY(recorder_check_options(used));
  if (sink->arrays) {
    S2_TRY(s2_data_check_path(path));
  } else if (sink->available != NULL) {
    S2_TRY(sink->available());
  }
  S2_TRY(sink->stream ? s2_output_open(&making.output, path)
                      : s2_output_open_whole(&making.output, path));
  S2Status made = s2_memory_building(recorder_make, &making);
  if (made.code != S2_OK) {
    s2_output_abandon(&making.output);
    return made;
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
    recorder->exhausted = true; // the next frame returns the error
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

// The description of the run comes before the first frame.
static S2Status recorder_start(S2Recorder *recorder) {
  bool first = !recorder->started && recorder->sink->start != NULL;
  recorder->started = true;
  return first ? recorder->sink->start(recorder) : s2_ok();
}

static S2Status write_moment(S2Recorder *recorder, const S2Moment *moment) {
  S2_TRY(recorder_start(recorder));
  S2_TRY(recorder->sink->frame(recorder, moment));
  // Flush each frame, so that it survives a crash of this process.
  return recorder->sink->stream ? s2_output_flush(&recorder->output) : s2_ok();
}

static bool is_wanted(const S2Recorder *recorder, double time) {
  if (time < recorder->options.from - LATE || time > recorder->options.to + LATE) {
    return false;
  }
  return recorder->sink->wants == NULL || recorder->sink->wants(recorder, time);
}

static S2Status no_memory(const S2Recorder *recorder) {
  return s2_error(S2_MEMORY, "'%s': out of memory; the frames recorded so far are kept",
                  s2_path_tail(recorder->path));
}

// Adds data unless memory has run out. Each frame depends on the preceding one, so do not write
// frames after an incomplete one.
static S2Status within_memory(S2Recorder *recorder, S2MemoryRun *run, void *user) {
  if (recorder->exhausted) {
    return no_memory(recorder);
  }
  S2Status status = s2_memory_guarded(run, user);
  recorder->exhausted = status.code == S2_MEMORY;
  if (recorder->failed.code == S2_OK && !recorder->exhausted) {
    recorder->failed = status;
  }
  return recorder->exhausted ? no_memory(recorder) : status;
}

typedef struct Adding {
  S2Recorder *recorder;
  S2World *world;         // the world to record, or NULL to record `moment`
  const S2Moment *moment; // used if `world` is NULL
} Adding;

static S2Status recorder_add(void *user) {
  const Adding *adding = user;
  S2Recorder *recorder = adding->recorder;
  if (adding->world == NULL) {
    return write_moment(recorder, adding->moment);
  }
  S2_TRY(recorder->sink->capture(&recorder->moment, adding->world));
  return write_moment(recorder, &recorder->moment);
}

S2Status s2_recorder_frame(S2Recorder *recorder, S2World *world) {
  Adding adding = {recorder, world, NULL};
  return is_wanted(recorder, s2_world_time(world)) ? within_memory(recorder, recorder_add, &adding)
                                                   : s2_ok();
}

S2Status s2_recorder_moment(S2Recorder *recorder, const S2Moment *moment) {
  Adding adding = {recorder, NULL, moment};
  return is_wanted(recorder, moment->time) ? within_memory(recorder, recorder_add, &adding)
                                           : s2_ok();
}

bool s2_recorder_holds_plots(const S2Recorder *recorder) {
  return recorder->sink->plot != NULL;
}

S2Status s2_recorder_plot(S2Recorder *recorder, const char *name, const char *svg) {
  if (!s2_recorder_holds_plots(recorder)) {
    return s2_error(S2_INVALID, "only .html and .s2d recordings hold plots");
  }
  S2_TRY(recorder_start(recorder));
  S2_TRY(recorder->sink->plot(recorder, name, svg));
  return s2_output_flush(&recorder->output);
}

S2Status s2_recorder_decisions(S2Recorder *recorder, const uint32_t *decisions, int count) {
  if (recorder->sink->decisions == NULL || count == 0) {
    return s2_ok();
  }
  S2_TRY(recorder_start(recorder));
  return recorder->sink->decisions(recorder, decisions, count);
}

static S2Status recorder_finish(void *user) {
  S2Recorder *recorder = user;
  const Sink *sink = recorder->sink;
  recorder->whole = sink->stream;
  S2_TRY(recorder_start(recorder));
  S2Status status = sink->finish != NULL ? sink->finish(recorder) : s2_ok();
  recorder->whole = recorder->whole || status.code == S2_OK;
  return status;
}

S2Status s2_recorder_close(S2Recorder *recorder) {
  if (recorder == NULL) {
    return s2_ok();
  }
  // Finishes the file. A file without any content is removed.
  S2Status finished = recorder->sink->foreign ? recorder_finish(recorder)
                                              : s2_memory_guarded(recorder_finish, recorder);
  if (!recorder->whole) {
    s2_output_abandon(&recorder->output);
  }
  if (finished.code == S2_OK) {
    finished = recorder->exhausted ? no_memory(recorder) : recorder->failed;
  }
  // This may report failures of earlier writes, because they are buffered.
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
