#include "record/draw/trails.h"

#include <string.h>

enum {
  MOST_POINTS = 4096
}; // maximum number of points of a trail. If exceeded, every other one is dropped

static bool trail_wanted(const S2MomentBody *body, const S2RecordOptions *options) {
  if (options->trails == S2_TRAILS_ALL) {
    return body->type != S2_STATIC && !body->sensor;
  }
  for (int i = 0; i < options->trail_count; i++) {
    const S2BodyId *listed = &options->trail_bodies[i];
    if (listed->index == body->id.index && listed->serial == body->id.serial) {
      return true;
    }
  }
  return false;
}

static void trail_thin(S2Trails *trails) {
  for (int i = 0; i < trails->list.count; i++) {
    S2Trail *trail = &trails->list.at[i];
    int kept = 0;
    for (int k = trail->first % 2; k < trail->points.count; k += 2) {
      trail->points.at[kept++] = trail->points.at[k];
    }
    trail->points.count = kept;
    trail->first = (trail->first + 1) / 2;
  }
  int kept = 0;
  for (int k = 0; k < trails->times.count; k += 2) {
    trails->times.at[kept++] = trails->times.at[k];
  }
  trails->times.count = kept;
  trails->every *= 2;
}

// Returns the index of the body's trail, or the index where it must be inserted.
static int trail_find(const S2Trails *trails, uint64_t serial) {
  int lo = 0, hi = trails->list.count;
  while (lo < hi) {
    int middle = lo + (hi - lo) / 2;
    if (trails->list.at[middle].serial < serial) {
      lo = middle + 1;
    } else {
      hi = middle;
    }
  }
  return lo;
}

static void add_point(S2Trails *trails, const S2MomentBody *body, int sample) {
  int place = trail_find(trails, body->id.serial);
  if (place == trails->list.count || trails->list.at[place].serial != body->id.serial) {
    (void)s2_array_push(trails->list);
    S2Trail *at = trails->list.at + place;
    memmove(at + 1, at, sizeof *at * (size_t)(trails->list.count - 1 - place));
    *at = (S2Trail){.serial = body->id.serial, .first = sample};
  }
  *s2_array_append(trails->list.at[place].points) = s2_vec2(body->q[1], body->q[2]);
}

void s2_trails_add(S2Trails *trails, const S2Moment *moment, const S2RecordOptions *options) {
  if (options->trails == S2_TRAILS_NONE) {
    return;
  }
  if (trails->every == 0) {
    trails->every = trails->skipped = 1;
  }
  // If there are too many points, drop every other one, and add later points half as often.
  if (trails->skipped < trails->every) {
    trails->skipped++;
    return;
  }
  trails->skipped = 1;
  if (trails->times.count == MOST_POINTS) {
    trail_thin(trails);
  }
  // The times are common to all trails.
  int sample = trails->times.count;
  *s2_array_append(trails->times) = moment->time;
  for (int i = 0; i < moment->bodies.count; i++) {
    if (trail_wanted(&moment->bodies.at[i], options)) {
      add_point(trails, &moment->bodies.at[i], sample);
    }
  }
}

const S2Trail *s2_trails_find(const S2Trails *trails, S2BodyId id) {
  int place = trail_find(trails, id.serial);
  bool there = place < trails->list.count && trails->list.at[place].serial == id.serial;
  return there ? &trails->list.at[place] : NULL;
}

void s2_trails_free(S2Trails *trails) {
  for (int i = 0; i < trails->list.count; i++) {
    s2_array_free(trails->list.at[i].points);
  }
  s2_array_free(trails->list);
  s2_array_free(trails->times);
}
