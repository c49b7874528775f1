#include "record/album.h"

#include <math.h>
#include <string.h>

enum { MOST_MOMENTS = 256 }; // maximum number of moments in a strobe picture
#define LATE 1e-9            // s; tolerance, because times are sums of steps

#define COPY(to, from, field)                                                                      \
  (s2_array_reserve((to)->field, (from)->field.count),                                             \
   (from)->field.count > 0 ? memcpy((to)->field.at, (from)->field.at,                              \
                                    sizeof *(from)->field.at * (size_t)(from)->field.count)        \
                           : NULL,                                                                 \
   (to)->field.count = (from)->field.count)

static void copy_moment(S2Moment *to, const S2Moment *from) {
  to->settings = from->settings;
  to->time = from->time;
  to->step = from->step;
  to->hash = from->hash;
  COPY(to, from, bodies);
  if (from->revision == 0 || to->revision != from->revision) {
    COPY(to, from, shapes);
    COPY(to, from, vertices);
  }
  to->revision = from->revision;
  COPY(to, from, contacts);
  COPY(to, from, joints);
  COPY(to, from, annotations);
}

static void album_keep(S2Album *album, const S2Moment *moment) {
  if (album->count == album->moments.count) {
    *s2_array_append(album->moments) = (S2Moment){0};
  }
  copy_moment(&album->moments.at[album->count], moment);
  album->count += 1; // only count complete copies
}

static void leave_out_every_other(S2Album *album) {
  double first = album->moments.at[0].time, last = album->moments.at[album->count - 1].time;
  double apart = (last - first) / (album->count - 1);
  if (apart > 1.5 * album->period) {
    album->period = apart; // steps may be longer than the period
  }
  int kept = 0;
  for (int i = 0; i < album->count; i += 2) {
    S2Moment moment = album->moments.at[kept];
    album->moments.at[kept++] = album->moments.at[i];
    album->moments.at[i] = moment;
  }
  album->count = kept;
  album->period *= 2;
  album->next = floor((last - first + LATE) / album->period) + 1;
}

static bool is_strobe(const S2RecordOptions *options) {
  return options->strobe_times != NULL || options->strobe_period > 0;
}

bool s2_album_wants(const S2Album *album, double time, const S2RecordOptions *options) {
  if (!is_strobe(options) || options->trails != S2_TRAILS_NONE) {
    return true;
  }
  if (options->strobe_times != NULL) {
    return album->shown < options->strobe_count &&
           time >= options->strobe_times[album->shown] - LATE;
  }
  return album->count == 0 || time - album->start + LATE >= album->next * album->period;
}

// Returns true if the moment belongs in the strobe picture, and advances to the time of the next
// one.
static bool album_pass(S2Album *album, double time, const S2RecordOptions *options) {
  if (options->strobe_times != NULL) {
    int before = album->shown;
    while (album->shown < options->strobe_count &&
           time >= options->strobe_times[album->shown] - LATE) {
      album->shown++;
    }
    return album->shown > before;
  }
  double passed = time - album->start + LATE;
  if (passed < album->next * album->period) {
    return false;
  }
  album->next = floor(passed / album->period) + 1;
  return true;
}

S2Status s2_album_add(S2Album *album, const S2Moment *moment, const S2RecordOptions *options) {
  s2_trails_add(&album->trails, moment, options);
  // Keep only the last moment. The view must also contain the trails.
  if (!is_strobe(options)) {
    if (options->trails != S2_TRAILS_NONE) {
      s2_sweep_add(&album->sweep, moment);
    }
    album->count = 0;
    album_keep(album, moment);
    return s2_ok();
  }
  if (album->count == 0) {
    album->start = moment->time;
    album->period = options->strobe_period;
  }
  // For a strobe picture, drop every other moment when there are too many.
  if (album_pass(album, moment->time, options)) {
    s2_sweep_add(&album->sweep, moment);
    album_keep(album, moment);
    if (album->count == MOST_MOMENTS && options->strobe_times == NULL) {
      leave_out_every_other(album);
    }
  }
  return s2_ok();
}

S2Status s2_album_scene(const S2Album *album, const S2RecordOptions *options, S2Scene *scene) {
  const S2Moment nothing = {0};
  bool chosen = is_strobe(options) || isfinite(options->from) || isfinite(options->to);
  if (album->count == 0 && chosen) {
    return s2_error(S2_IO, "no picture: the world reached none of the requested times");
  }
  S2Story story = {album->moments.at, album->count, &album->trails};
  if (album->count == 0) {
    story.moments = &nothing;
    story.count = 1;
  }
  const S2Moment *last = &story.moments[story.count - 1];
  S2Sweep sweep = {0};
  s2_sweep_add(&sweep, last);
  // A view that follows a body need not contain the earlier moments.
  bool many = story.count > 1 || options->trails != S2_TRAILS_NONE;
  bool all = many && options->draw.follow.index == 0;
  S2Status status = s2_view_fit(all ? &album->sweep : &sweep, last, &options->draw, &scene->view);
  s2_sweep_free(&sweep);
  if (status.code == S2_OK) {
    s2_view_follow(&scene->view, last, &options->draw);
    s2_picture_story(scene, &story, &options->draw);
  }
  return status;
}

void s2_album_free(S2Album *album) {
  for (int i = 0; i < album->moments.count; i++) {
    s2_moment_free(&album->moments.at[i]);
  }
  s2_array_free(album->moments);
  s2_trails_free(&album->trails);
  s2_sweep_free(&album->sweep);
}
