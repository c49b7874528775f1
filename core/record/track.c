#include "record/track.h"

#include "record/data/spill.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// A column of doubles, integers or flags. Doubles and integers have 8 bytes. S2_ARRAY is not used,
// because its count is an int.
typedef struct Column {
  union {
    double *numbers;
    int64_t *integers;
    unsigned char *flags;
    void *at; // the address of `bytes`
  };
  size_t count;
  S2Spill bytes;
} Column;

typedef struct Body {
  uint32_t serial;
  char name[S2_NAME_SIZE];
} Body;

typedef struct Channel {
  char name[S2_NAME_SIZE], unit[S2_UNIT_SIZE];
  Column values;
} Channel;

struct S2Track {
  S2Status status;     // status of the last allocation. After a failure, no more frames are added
  size_t frames, rows; // number of complete frames, and number of rows in the contact arrays
  Column time, energy, momentum, residual, contacts;
  Column q, v; // each frame has space for `stride` bodies, of which bodies.count are used
  size_t stride;
  S2_ARRAY(Body) bodies; // in order of first appearance
  uint32_t newest;       // largest serial of these bodies
  S2_ARRAY(int) places;  // track indices of the moment's bodies
  Column contact_frame, contact_bodies, contact_point, contact_normal, contact_gap, contact_impulse;
  Column contact_sliding;
  S2_ARRAY(Channel) channels;
};

S2Track *s2_track_new(void) {
  return s2_memory_take_zeroed(sizeof(S2Track));
}

// Reserves memory for `count` more values. Returns false and sets track->status on failure.
static bool reserve_bytes(S2Track *track, Column *column, size_t count, size_t size) {
  if (track->status.code == S2_OK && (column->count + count) * size > column->bytes.size) {
    track->status = s2_spill_grow(&column->bytes, (column->count + count) * size);
    column->at = column->bytes.at;
  }
  return track->status.code == S2_OK;
}

static bool track_reserve(S2Track *track, Column *column, size_t count) {
  return reserve_bytes(track, column, count, sizeof(double));
}

static void track_append(S2Track *track, Column *column, size_t count, const double *numbers) {
  if (track_reserve(track, column, count)) {
    memcpy(column->numbers + column->count, numbers, count * sizeof *numbers);
    column->count += count;
  }
}

static void append_integer(S2Track *track, Column *column, int64_t value) {
  if (track_reserve(track, column, 1)) {
    column->integers[column->count++] = value;
  }
}

// Appends NaN to the column, up to the current number of frames.
static void track_pad(S2Track *track, Column *column, size_t count) {
  const double none = (double)NAN;
  while (column->count < count && track->status.code == S2_OK) {
    track_append(track, column, 1, &none);
  }
}

// ---- Bodies -----------------------------------------------------------------------------------

// Changes the space of each frame from `from` to `to` bodies, in place. The memory must be
// reserved.
static void track_restride(Column *column, size_t frames, size_t from, size_t to, size_t used) {
  size_t row = 3 * sizeof(double);
  for (size_t i = 0; i < frames && to < from; i++) {
    memmove(column->numbers + 3 * i * to, column->numbers + 3 * i * from, used * row);
  }
  for (size_t i = frames; i > 0 && to > from; i--) {
    double *start = column->numbers + 3 * (i - 1) * to;
    memmove(start, column->numbers + 3 * (i - 1) * from, used * row);
    for (size_t k = 3 * used; k < 3 * to; k++) {
      start[k] = (double)NAN;
    }
  }
  column->count = 3 * frames * to;
}

// Returns the index of a body in the track, and adds the body if it is new. The search begins after
// the index `after` of the previous body, because the order is usually the same.
static int track_place_of(S2Track *track, const S2MomentBody *body, int after) {
  int count = track->bodies.count;
  bool is_new = body->id.serial > track->newest; // serials grow
  for (int i = 0; i < count && !is_new; i++) {
    int place = (after + 1 + i) % count;
    if (track->bodies.at[place].serial == body->id.serial) {
      return place;
    }
  }
  Body *added = s2_array_append(track->bodies);
  added->serial = body->id.serial;
  memcpy(added->name, body->name, sizeof added->name);
  track->newest = is_new ? body->id.serial : track->newest;
  return count;
}

static void add_poses(S2Track *track, const S2Moment *moment) {
  // Find or add the bodies of this frame. Reserve the memory first.
  s2_array_reserve(track->places, moment->bodies.count);
  // the steps below cannot fail
  s2_array_reserve(track->bodies, track->bodies.count + moment->bodies.count);
  int *places = track->places.at;
  int before = track->bodies.count, after = -1;
  for (int i = 0; i < moment->bodies.count; i++) {
    after = places[i] = track_place_of(track, &moment->bodies.at[i], after);
  }
  // Rows have space for additional bodies. If a row is too short, double its length.
  size_t stride = track->stride < 1 ? 1 : track->stride;
  while (stride < (size_t)track->bodies.count) {
    stride *= 2;
  }
  // Reserve memory for all frames with this stride, including the new one.
  size_t more = 3 * stride * (track->frames + 1) - track->q.count;
  if (!track_reserve(track, &track->q, more) || !track_reserve(track, &track->v, more)) {
    track->bodies.count = before;
    return;
  }
  // Convert the earlier rows to the new length.
  if (stride != track->stride) {
    track_restride(&track->q, track->frames, track->stride, stride, (size_t)before);
    track_restride(&track->v, track->frames, track->stride, stride, (size_t)before);
    track->stride = stride;
  }
  // Append a new row, with NaN for bodies that do not exist.
  double *q = track->q.numbers + track->q.count, *v = track->v.numbers + track->v.count;
  for (size_t k = 0; k < 3 * stride; k++) {
    q[k] = v[k] = (double)NAN;
  }
  for (int i = 0; i < moment->bodies.count; i++) {
    memcpy(q + 3 * (size_t)places[i], moment->bodies.at[i].q, sizeof moment->bodies.at[i].q);
    memcpy(v + 3 * (size_t)places[i], moment->bodies.at[i].v, sizeof moment->bodies.at[i].v);
  }
  track->q.count += 3 * stride;
  track->v.count += 3 * stride;
}

// ---- Frames -----------------------------------------------------------------------------------

static bool reserve_contacts(S2Track *track, size_t count) {
  return track_reserve(track, &track->contact_frame, count) &&
         track_reserve(track, &track->contact_bodies, 2 * count) &&
         track_reserve(track, &track->contact_point, 2 * count) &&
         track_reserve(track, &track->contact_normal, 2 * count) &&
         track_reserve(track, &track->contact_gap, count) &&
         track_reserve(track, &track->contact_impulse, 2 * count) &&
         reserve_bytes(track, &track->contact_sliding, count, 1);
}

static void add_contacts(S2Track *track, const S2Moment *moment) {
  // Append one row for each contact, in parallel arrays.
  append_integer(track, &track->contacts, moment->contacts.count);
  size_t count = (size_t)moment->contacts.count;
  if (count == 0 || !reserve_contacts(track, count)) {
    return;
  }
  int64_t *frame = track->contact_frame.integers + track->contact_frame.count;
  int64_t *bodies = track->contact_bodies.integers + track->contact_bodies.count;
  double *point = track->contact_point.numbers + track->contact_point.count;
  double *normal = track->contact_normal.numbers + track->contact_normal.count;
  double *gap = track->contact_gap.numbers + track->contact_gap.count;
  double *impulse = track->contact_impulse.numbers + track->contact_impulse.count;
  unsigned char *sliding = track->contact_sliding.flags + track->contact_sliding.count;
  for (size_t i = 0; i < count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    frame[i] = (int64_t)track->frames;
    bodies[2 * i] = track->places.at[contact->a];
    bodies[2 * i + 1] = track->places.at[contact->b];
    point[2 * i] = contact->point.x;
    point[2 * i + 1] = contact->point.y;
    normal[2 * i] = contact->normal.x;
    normal[2 * i + 1] = contact->normal.y;
    gap[i] = contact->gap;
    impulse[2 * i] = contact->normal_impulse;
    impulse[2 * i + 1] = contact->tangent_impulse;
    sliding[i] = contact->sliding;
  }
  track->contact_frame.count += count;
  track->contact_bodies.count += 2 * count;
  track->contact_point.count += 2 * count;
  track->contact_normal.count += 2 * count;
  track->contact_gap.count += count;
  track->contact_impulse.count += 2 * count;
  track->contact_sliding.count += count;
}

// Adds the channels of a frame. Earlier channels that are missing in this frame get NaN.
static void add_channels(S2Track *track, const S2Moment *moment) {
  for (int i = 0; i < moment->channels.count; i++) {
    int known = 0;
    while (known < track->channels.count &&
           strcmp(track->channels.at[known].name, moment->channels.at[i].name) != 0) {
      known++;
    }
    if (known == track->channels.count) {
      Channel *added = s2_array_append(track->channels);
      *added = (Channel){.values = {.count = 0}};
      memcpy(added->name, moment->channels.at[i].name, sizeof added->name);
      memcpy(added->unit, moment->channels.at[i].unit, sizeof added->unit);
    }
    Channel *channel = &track->channels.at[known];
    track_pad(track, &channel->values, track->frames);
    track_append(track, &channel->values, 1, &moment->channels.at[i].value);
  }
}

S2Status s2_track_frame(S2Track *track, const S2Moment *moment) {
  S2_TRY(track->status);
  const double energies[3] = {moment->kinetic, moment->potential,
                              moment->kinetic + moment->potential};
  track_append(track, &track->time, 1, &moment->time);
  track_append(track, &track->energy, 3, energies);
  track_append(track, &track->momentum, 3, moment->momentum);
  track_append(track, &track->residual, 1, &moment->residual);
  add_poses(track, moment);
  add_contacts(track, moment);
  add_channels(track, moment);
  S2_TRY(track->status);
  track->frames++;
  track->rows += (size_t)moment->contacts.count;
  return s2_ok();
}

uint64_t s2_track_bytes(const S2Track *track) {
  uint64_t poses = 2 * 3 * (uint64_t)track->frames * (uint64_t)track->bodies.count;
  uint64_t contact = 1 + 2 + 7, frame = 1 + 3 + 3 + 1 + 1;
  frame += (uint64_t)track->channels.count;
  uint64_t values = poses + frame * track->frames + contact * track->rows;
  return sizeof(double) * values + track->rows;
}

// ---- Arrays -----------------------------------------------------------------------------------

// Adds an array with the values of the column.
static void track_add_column(S2DataSet *set, const char *name, const char *unit, S2DataType type,
                             const Column *column, int axes, const size_t *shape) {
  const size_t none[S2_DATA_AXES] = {0};
  S2DataArray *array = s2_data_add(set, name, unit, type, axes, none);
  memcpy(array->shape, shape, (size_t)axes * sizeof *shape);
  if (column->at != NULL) {
    s2_memory_free(array->values);
    array->values = column->at;
    array->borrowed = true;
  }
}

static void add_pose_array(S2DataSet *set, const char *name, Column *column, const S2Track *track) {
  size_t bodies = (size_t)track->bodies.count;
  const size_t shape[3] = {track->frames, bodies, 3};
  track_restride(column, track->frames, track->stride, bodies, bodies);
  // Poses consist of an angle and a position, so they have no common unit.
  track_add_column(set, name, name[0] == 'q' ? "rad, m, m" : "rad/s, m/s, m/s", S2_DATA_NUMBER,
                   column, 3, shape);
}

enum { CHANNEL_SIZE = S2_NAME_SIZE + 24 }; // bytes, including the prefix of the name

static void add_contact_arrays(S2DataSet *set, const S2Track *track) {
  const size_t rows[2] = {track->rows, 2};
  track_add_column(set, "contact_frame", "", S2_DATA_INTEGER, &track->contact_frame, 1, rows);
  track_add_column(set, "contact_bodies", "", S2_DATA_INTEGER, &track->contact_bodies, 2, rows);
  track_add_column(set, "contact_point", "m", S2_DATA_NUMBER, &track->contact_point, 2, rows);
  track_add_column(set, "contact_normal", "", S2_DATA_NUMBER, &track->contact_normal, 2, rows);
  track_add_column(set, "contact_gap", "m", S2_DATA_NUMBER, &track->contact_gap, 1, rows);
  track_add_column(set, "contact_impulse", "N s", S2_DATA_NUMBER, &track->contact_impulse, 2, rows);
  track_add_column(set, "contact_sliding", "", S2_DATA_FLAG, &track->contact_sliding, 1, rows);
}

// Selects an unused name that is valid in all formats. The script may choose any name, and an
// invalid name must not lose the numbers at the end of a run.
static void pick_name(const S2DataSet *set, const char *wanted, char name[CHANNEL_SIZE]) {
  static const char *const kept[] = {"", ".", "units", "run"};
  snprintf(name, CHANNEL_SIZE, "%s", wanted);
  // Names that are reserved or already in use get the prefix "channel_".
  for (int i = 0;; i++) {
    for (char *at = strchr(name, '/'); at != NULL; at = strchr(at, '/')) {
      *at = '_'; // a slash would separate groups in .h5
    }
    bool free = s2_data_find(set, name) == NULL;
    for (size_t k = 0; k < sizeof kept / sizeof kept[0]; k++) {
      free = free && strcmp(name, kept[k]) != 0;
    }
    if (free) {
      return;
    }
    char number[16] = "";
    if (i > 0) {
      snprintf(number, sizeof number, "%d_", i + 1);
    }
    snprintf(name, CHANNEL_SIZE, "channel_%s%s", number, wanted);
  }
}

static void add_channel_arrays(S2DataSet *set, const S2Track *track) {
  for (int i = 0; i < track->channels.count; i++) {
    const Channel *channel = &track->channels.at[i];
    char name[CHANNEL_SIZE];
    pick_name(set, channel->name, name);
    size_t count = channel->values.count;
    if (count >= track->frames) {
      track_add_column(set, name, channel->unit, S2_DATA_NUMBER, &channel->values, 1,
                       &track->frames);
      continue;
    }
    // If the channel is missing in the last frames, add NaN.
    double *values =
        s2_data_add(set, name, channel->unit, S2_DATA_NUMBER, 1, &track->frames)->values;
    for (size_t k = 0; k < track->frames; k++) {
      values[k] = k < count ? channel->values.numbers[k] : (double)NAN;
    }
  }
}

static void track_clear(S2Track *track) {
  for (int i = 0; i < track->channels.count; i++) {
    s2_spill_free(&track->channels.at[i].values.bytes);
  }
  s2_array_free(track->channels);
  // Frees all columns, in memory or in files.
  Column *const columns[] = {&track->time,
                             &track->energy,
                             &track->momentum,
                             &track->residual,
                             &track->contacts,
                             &track->q,
                             &track->v,
                             &track->contact_frame,
                             &track->contact_bodies,
                             &track->contact_point,
                             &track->contact_normal,
                             &track->contact_gap,
                             &track->contact_impulse,
                             &track->contact_sliding};
  for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
    s2_spill_free(&columns[i]->bytes);
  }
  s2_array_free(track->bodies);
  s2_array_free(track->places);
  *track = (S2Track){0};
}

S2Status s2_track_arrays(S2Track *track, S2DataSet *set) {
  // Add the arrays in the order of docs/reference/data-files.md.
  const size_t frames[2] = {track->frames, 3}, bodies = (size_t)track->bodies.count;
  track_add_column(set, "time", "s", S2_DATA_NUMBER, &track->time, 1, frames);
  add_pose_array(set, "q", &track->q, track);
  add_pose_array(set, "v", &track->v, track);
  track_add_column(set, "energy", "J", S2_DATA_NUMBER, &track->energy, 2, frames);
  track_add_column(set, "momentum", "kg m^2/s, kg m/s, kg m/s", S2_DATA_NUMBER, &track->momentum, 2,
                   frames);
  track_add_column(set, "residual", "", S2_DATA_NUMBER, &track->residual, 1, frames);
  track_add_column(set, "contacts", "", S2_DATA_INTEGER, &track->contacts, 1, frames);
  int64_t *serials = s2_data_add(set, "serial", "", S2_DATA_INTEGER, 1, &bodies)->values;
  for (size_t i = 0; i < bodies; i++) {
    serials[i] = track->bodies.at[i].serial;
  }
  S2DataArray *names = s2_data_add(set, "name", "", S2_DATA_TEXT, 1, &bodies);
  for (size_t i = 0; i < bodies; i++) {
    s2_data_add_text(names, track->bodies.at[i].name);
  }
  add_contact_arrays(set, track);
  add_channel_arrays(set, track);
  return track->status;
}

void s2_track_free(S2Track *track) {
  if (track != NULL) {
    track_clear(track);
    s2_memory_free(track);
  }
}
