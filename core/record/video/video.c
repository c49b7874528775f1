#define _XOPEN_SOURCE 700 // NOLINT: needed for mkstemp
#include "record/video/video.h"

#include "record/draw/picture.h"
#include "record/draw/pixels.h"
#include "record/s2d/output.h"
#include "record/video/ffmpeg.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MP4_WIDTH = 960, GIF_WIDTH = 480 }; // pixels
#define EARLY                                                                                      \
  1e-6 // frames; tolerance, because times are sums of steps and may be early by
       // rounding

S2Status s2_video_available(void) {
  S2_TRY(s2_canvas_available());
  return s2_ffmpeg_available();
}

bool s2_video_wants(const S2Video *video, double time, const S2RecordOptions *options) {
  if (options->trails != S2_TRAILS_NONE || video->shown_from.count == 0) {
    return true;
  }
  double frame = floor((time - video->start) * options->fps / options->speed + EARLY);
  return frame >= (double)video->frames || frame < (double)(video->frames - 1);
}

S2Status s2_video_add(S2Video *video, const S2Moment *moment, const S2RecordOptions *options) {
  s2_trails_add(&video->trails, moment, options);
  bool first = video->shown_from.count == 0;
  if (first) {
    video->start = moment->time;
  }
  double rate = options->fps / options->speed; // frames per second of simulated time
  double frame = floor((moment->time - video->start) * options->fps / options->speed + EARLY);
  if (!first && frame < (double)(video->frames - 1)) {
    // Continue the video if the time was set back to a snapshot.
    video->start = moment->time - (double)video->frames / rate;
    frame = (double)video->frames;
  }
  if (!first && frame < (double)video->frames) {
    return s2_ok();
  }
  if (!(frame < 1e7)) {
    return s2_error(S2_IO, "a video of more than 10 million frames: choose a lower fps or a higher "
                           "speed");
  }
  *s2_array_append(video->shown_from) = (int64_t)frame;
  video->frames = (int64_t)frame + 1;
  s2_sweep_add(&video->sweep, moment);
  return s2_store_add(&video->store, moment);
}

// ---- Making the file --------------------------------------------------------------------------

typedef struct Film {
  S2Video *video;
  const S2RecordOptions *options;
  S2DrawOptions draw;
  S2Moment moment;
  S2Scene scene;
  S2Canvas *canvas;
  S2Ffmpeg ffmpeg;
} Film;

static S2Status video_set_view(Film *film) {
  S2SceneView *view = &film->scene.view;
  S2Sweep first = {0};
  s2_sweep_add(&first, &film->moment);
  bool follow = film->draw.follow.index != 0;
  first.contacts = film->video->sweep.contacts;
  S2Status status =
      s2_view_fit(follow ? &first : &film->video->sweep, &film->moment, &film->draw, view);
  s2_sweep_free(&first);
  if (status.code == S2_OK && view->height % 2 != 0) {
    view->height += 1; // pixels. The size must be even, because colours have half the resolution
    view->lo.y -= 1 / view->scale;
    view->bottom += view->rows > 0;
  }
  return status;
}

// The passes of ffmpeg. A .gif takes two passes, because ffmpeg would store all frames in a single
// one. The first pass writes the palette of all frames to a file, and the second pass writes the
// frames with this palette.
typedef enum Pass { PASS_MP4, PASS_PALETTE, PASS_GIF } Pass;

// Starts ffmpeg for a pass. `path` is the output. `palette` is the file that PASS_GIF reads.
static S2Status video_start(Film *film, Pass pass, const char *path, const char *palette) {
  // Format the size and frame rate. Pixels are words in the byte order of this machine.
  const S2SceneView *view = &film->scene.view;
  char size[32], rate[S2_NUMBER_SIZE];
  snprintf(size, sizeof size, "%dx%d", view->width, view->height);
  s2_number_short(rate, film->options->fps, 6);
  const uint32_t one = 1;
  bool little = *(const unsigned char *)&one == 1;
  // The prefix "file:" prevents ffmpeg from interpreting a name as an address.
  char target[4096 + 8];
  if (snprintf(target, sizeof target, "file:%s", path) >= (int)sizeof target) {
    return s2_error(S2_IO, "cannot write '%s': the path is too long", s2_path_tail(path));
  }
  // Arguments for the input.
  const char *arguments[40] = {"-hide_banner",
                               "-loglevel",
                               "error",
                               "-nostdin",
                               "-y",
                               "-f",
                               "rawvideo",
                               "-pixel_format",
                               little ? "bgr0" : "0rgb",
                               "-video_size",
                               size,
                               "-framerate",
                               rate,
                               "-i",
                               "pipe:0"};
  // Arguments for the output format.
  static const char *const mp4[] = {"-c:v", "libx264", "-pix_fmt",  "yuv420p",   "-crf",
                                    "18",   "-tune",   "animation", "-movflags", "+faststart",
                                    "-f",   "mp4",     NULL};
  static const char *const colours[] = {
      "-vf", "palettegen=stats_mode=full", "-c:v", "png", "-f", "image2pipe", NULL};
  const char *const gif[] = {
      "-f",    "png_pipe", "-i",
      palette, "-lavfi",   "[0:v][1:v]paletteuse=dither=none:diff_mode=rectangle",
      "-f",    "gif",      NULL};
  const char *const *const outputs[] = {
      [PASS_MP4] = mp4, [PASS_PALETTE] = colours, [PASS_GIF] = gif};
  int count = 0;
  while (arguments[count] != NULL) {
    count++;
  }
  for (const char *const *more = outputs[pass]; *more != NULL; more++) {
    arguments[count++] = *more;
  }
  // Leave out the date and the program's name, so that the same run gives the same file.
  static const char *const same_bits[] = {"-fflags",   "+bitexact",     "-flags:v",
                                          "+bitexact", "-map_metadata", "-1"};
  for (size_t i = 0; i < sizeof same_bits / sizeof same_bits[0]; i++) {
    arguments[count++] = same_bits[i];
  }
  arguments[count] = target;
  return s2_ffmpeg_start(&film->ffmpeg, arguments);
}

// Sends all frames to ffmpeg. Sets `good` to false if ffmpeg accepts no more data.
static S2Status send_frames(Film *film, bool *good) {
  S2Video *video = film->video;
  size_t bytes = (size_t)film->scene.view.width * (size_t)film->scene.view.height * 4;
  *good = true;
  for (int i = 0; i < video->shown_from.count && *good; i++) {
    if (i > 0) {
      S2_TRY(s2_store_next(&video->store, &film->moment));
    }
    s2_view_follow(&film->scene.view, &film->moment, &film->draw);
    const S2Story story = {&film->moment, 1, &video->trails};
    s2_picture_story(&film->scene, &story, &film->draw);
    S2_TRY(s2_pixels_draw(film->canvas, &film->scene));
    bool last = i + 1 == video->shown_from.count;
    int64_t until = last ? video->frames : video->shown_from.at[i + 1];
    for (int64_t frame = video->shown_from.at[i]; frame < until && *good; frame++) {
      *good = s2_ffmpeg_write(&film->ffmpeg, s2_canvas_pixels(film->canvas), bytes);
    }
  }
  return s2_ok();
}

// Runs one pass of ffmpeg over all frames.
static S2Status video_pass(Film *film, Pass pass, const char *path, const char *palette) {
  S2Video *video = film->video;
  S2_TRY(s2_store_rewind(&video->store));
  S2_TRY(s2_store_next(&video->store, &film->moment));
  S2_TRY(video_start(film, pass, path, palette));
  bool good = true;
  S2Status sent = send_frames(film, &good);
  S2Status ended = s2_ffmpeg_end(&film->ffmpeg);
  if (sent.code == S2_OK && ended.code == S2_OK && !good) {
    return s2_error(S2_IO, "ffmpeg ended before the last frame");
  }
  return sent.code != S2_OK ? sent : ended;
}

static S2Status video_make_gif(Film *film, const char *path) {
  const char *folder = getenv("TMPDIR");
  char palette[4096];
  int length = snprintf(palette, sizeof palette, "file:%s/sim2d-XXXXXX",
                        folder != NULL && *folder != '\0' ? folder : "/tmp");
  char *name = palette + strlen("file:");
  int file = length < (int)sizeof palette ? mkstemp(name) : -1;
  if (file < 0) {
    return s2_error(S2_IO, "cannot create a temporary file for the colours of a .gif: %s",
                    strerror(errno));
  }
  (void)close(file);
  S2Status status = video_pass(film, PASS_PALETTE, name, NULL);
  if (status.code == S2_OK) {
    status = video_pass(film, PASS_GIF, path, palette);
  }
  (void)remove(name);
  return status;
}

static S2Status video_make(Film *film, const char *path) {
  S2Video *video = film->video;
  S2_TRY(s2_store_rewind(&video->store));
  S2_TRY(s2_store_next(&video->store, &film->moment));
  S2_TRY(video_set_view(film));
  S2_TRY(s2_pixels_open(&film->canvas, &film->scene.view));
  return video->gif ? video_make_gif(film, path) : video_pass(film, PASS_MP4, path, NULL);
}

S2Status s2_video_write(S2Video *video, const char *path, const S2RecordOptions *options) {
  if (video->shown_from.count == 0) {
    return s2_error(S2_IO, "no video: the world reached none of the requested times");
  }
  Film film = {.video = video, .options = options, .draw = options->draw};
  if (film.draw.width == 0) {
    film.draw.width = video->gif ? GIF_WIDTH : MP4_WIDTH;
  }
  film.draw.width += film.draw.width % 2;
  S2Status status = video_make(&film, path);
  s2_canvas_free(film.canvas);
  s2_scene_free(&film.scene);
  s2_moment_free(&film.moment);
  return status;
}

void s2_video_free(S2Video *video) {
  s2_array_free(video->shown_from);
  s2_store_close(&video->store);
  s2_sweep_free(&video->sweep);
  s2_trails_free(&video->trails);
}
