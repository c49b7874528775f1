#include "record/track.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Numbers or integers, 8 bytes each. Not S2_ARRAY: an int counts too little.
typedef struct Column {
  union {
    double *numbers;
    int64_t *integers;
    void *at;
  };
  size_t count, capacity;
} Column;

typedef struct Body {
  uint32_t serial;
  char name[S2_NAME_SIZE];
} Body;

typedef struct Channel {
  char name[S2_NAME_SIZE], unit[S2_UNIT_SIZE];
  Column values;
} Channel;

enum { CONTACT_NUMBERS = 7 }; // point, normal, gap, impulses

struct S2Track {
  size_t frames;
  Column time, energy, momentum, residual, contacts;
  Column q, v; // frame by frame, `stride` bodies each, of which the first bodies.count are in use
  size_t stride;
  S2_ARRAY(Body) bodies; // in the order they were first seen
  uint32_t newest;       // largest serial of them
  S2_ARRAY(int) places;  // of the moment's bodies
  Column contact_frame, contact_bodies, contact_numbers, contact_sliding;
  S2_ARRAY(Channel) channels;
};

S2Track *s2_track_new(void) {
  return s2_memory_take_zeroed(sizeof(S2Track));
}

static void reserve(Column *column, size_t count) {
  size_t wanted = column->count + count;
  if (wanted > column->capacity) {
    size_t capacity = column->capacity < 64 ? 64 : column->capacity;
    while (capacity < wanted) {
      capacity *= 2;
    }
    column->at = s2_memory_grow(column->at, capacity * sizeof(double));
    column->capacity = capacity;
  }
}

static void append(Column *column, size_t count, const double *numbers) {
  reserve(column, count);
  memcpy(column->numbers + column->count, numbers, count * sizeof *numbers);
  column->count += count;
}

static void append_integer(Column *column, int64_t value) {
  reserve(column, 1);
  column->integers[column->count++] = value;
}

// Fills up with nan.
static void pad(Column *column, size_t count) {
  const double none = (double)NAN;
  while (column->count < count) {
    append(column, 1, &none);
  }
}

// ---- Bodies -----------------------------------------------------------------------------------

// Gives each frame room for `stride` bodies, or takes room away, in place.
static void restride(Column *column, size_t frames, size_t from, size_t to, size_t used) {
  size_t row = 3 * sizeof(double);
  if (to > from) {
    column->count = 0;
    reserve(column, 3 * frames * to);
  }
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

// Where a body is kept. `after` is where the body before it in the world is: most often it is the
// next one.
static int place_of(S2Track *track, const S2MomentBody *body, int after) {
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
  s2_array_reserve(track->places, moment->bodies.count);
  int *places = track->places.at;
  int before = track->bodies.count, after = -1;
  for (int i = 0; i < moment->bodies.count; i++) {
    after = places[i] = place_of(track, &moment->bodies.at[i], after);
  }
  size_t stride = track->stride < 1 ? 1 : track->stride;
  while (stride < (size_t)track->bodies.count) {
    stride *= 2;
  }
  if (stride != track->stride) {
    restride(&track->q, track->frames, track->stride, stride, (size_t)before);
    restride(&track->v, track->frames, track->stride, stride, (size_t)before);
    track->stride = stride;
  }
  reserve(&track->q, 3 * stride);
  reserve(&track->v, 3 * stride);
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
  reserve(&track->contact_bodies, 2 * (size_t)moment->contacts.count);
  int64_t *of = track->contact_bodies.integers + track->contact_bodies.count;
  for (int i = 0; i < moment->contacts.count; i++) {
    *of++ = places[moment->contacts.at[i].a];
    *of++ = places[moment->contacts.at[i].b];
  }
  track->contact_bodies.count += 2 * (size_t)moment->contacts.count;
}

// ---- Frames -----------------------------------------------------------------------------------

static void add_contacts(S2Track *track, const S2Moment *moment) {
  size_t count = (size_t)moment->contacts.count;
  reserve(&track->contact_frame, count);
  reserve(&track->contact_numbers, CONTACT_NUMBERS * count);
  reserve(&track->contact_sliding, count);
  int64_t *frame = track->contact_frame.integers + track->contact_frame.count;
  int64_t *sliding = track->contact_sliding.integers + track->contact_sliding.count;
  double *numbers = track->contact_numbers.numbers + track->contact_numbers.count;
  for (size_t i = 0; i < count; i++, numbers += CONTACT_NUMBERS) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    frame[i] = (int64_t)track->frames;
    sliding[i] = contact->sliding;
    numbers[0] = contact->point.x;
    numbers[1] = contact->point.y;
    numbers[2] = contact->normal.x;
    numbers[3] = contact->normal.y;
    numbers[4] = contact->gap;
    numbers[5] = contact->normal_impulse;
    numbers[6] = contact->tangent_impulse;
  }
  track->contact_frame.count += count;
  track->contact_sliding.count += count;
  track->contact_numbers.count += CONTACT_NUMBERS * count;
  append_integer(&track->contacts, moment->contacts.count);
}

// Channels come but do not go; one that is not in this frame keeps nan.
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
    pad(&channel->values, track->frames);
    append(&channel->values, 1, &moment->channels.at[i].value);
  }
}

void s2_track_frame(S2Track *track, const S2Moment *moment) {
  const double energies[3] = {moment->kinetic, moment->potential,
                              moment->kinetic + moment->potential};
  append(&track->time, 1, &moment->time);
  append(&track->energy, 3, energies);
  append(&track->momentum, 3, moment->momentum);
  append(&track->residual, 1, &moment->residual);
  add_poses(track, moment);
  add_contacts(track, moment);
  add_channels(track, moment);
  track->frames++;
}

uint64_t s2_track_bytes(const S2Track *track) {
  uint64_t poses = 2 * 3 * (uint64_t)track->frames * (uint64_t)track->bodies.count;
  uint64_t contact = 1 + 2 + CONTACT_NUMBERS + 1, frame = 1 + 3 + 3 + 1 + 1;
  frame += (uint64_t)track->channels.count;
  uint64_t values = poses + frame * track->frames + contact * track->contact_frame.count;
  return sizeof(double) * values;
}

// ---- Arrays -----------------------------------------------------------------------------------

// An array whose values are those of the column, which is empty then.
static void move_column(S2DataSet *set, const char *name, const char *unit, S2DataType type,
                        Column *column, int axes, const size_t *shape) {
  const size_t none[S2_DATA_AXES] = {0};
  S2DataArray *array = s2_data_add(set, name, unit, type, axes, none);
  memcpy(array->shape, shape, (size_t)axes * sizeof *shape);
  if (column->at != NULL) {
    s2_memory_free(array->values);
    array->values = column->at;
  }
  *column = (Column){0};
}

static void move_poses(S2DataSet *set, const char *name, Column *column, const S2Track *track) {
  size_t bodies = (size_t)track->bodies.count;
  const size_t shape[3] = {track->frames, bodies, 3};
  restride(column, track->frames, track->stride, bodies, bodies);
  // Each body has an angle and a place: no one unit.
  move_column(set, name, name[0] == 'q' ? "rad, m, m" : "rad/s, m/s, m/s", S2_DATA_NUMBER, column,
              3, shape);
}

// `width` numbers of each contact from `first` on.
static void add_contact_array(S2DataSet *set, const char *name, const char *unit,
                              const Column *numbers, size_t first, size_t width) {
  size_t contacts = numbers->count / CONTACT_NUMBERS;
  const size_t shape[2] = {contacts, width};
  double *values = s2_data_add(set, name, unit, S2_DATA_NUMBER, width == 1 ? 1 : 2, shape)->values;
  for (size_t i = 0; i < contacts; i++) {
    memcpy(values + i * width, numbers->numbers + i * CONTACT_NUMBERS + first,
           width * sizeof *values);
  }
}

static void move_contacts(S2DataSet *set, S2Track *track) {
  const size_t rows[2] = {track->contact_frame.count, 2};
  move_column(set, "contact_frame", "", S2_DATA_INTEGER, &track->contact_frame, 1, rows);
  move_column(set, "contact_bodies", "", S2_DATA_INTEGER, &track->contact_bodies, 2, rows);
  add_contact_array(set, "contact_point", "m", &track->contact_numbers, 0, 2);
  add_contact_array(set, "contact_normal", "", &track->contact_numbers, 2, 2);
  add_contact_array(set, "contact_gap", "m", &track->contact_numbers, 4, 1);
  add_contact_array(set, "contact_impulse", "N s", &track->contact_numbers, 5, 2);
  unsigned char *sliding = s2_data_add(set, "contact_sliding", "", S2_DATA_FLAG, 1, rows)->values;
  for (size_t i = 0; i < rows[0]; i++) {
    sliding[i] = track->contact_sliding.integers[i] != 0;
  }
}

static void move_channels(S2DataSet *set, S2Track *track) {
  for (int i = 0; i < track->channels.count; i++) {
    Channel *channel = &track->channels.at[i];
    char name[S2_NAME_SIZE + 16];
    bool taken = s2_data_find(set, channel->name) != NULL;
    snprintf(name, sizeof name, "%s%s", taken ? "channel_" : "", channel->name);
    pad(&channel->values, track->frames);
    move_column(set, name, channel->unit, S2_DATA_NUMBER, &channel->values, 1, &track->frames);
  }
}

static void clear(S2Track *track) {
  for (int i = 0; i < track->channels.count; i++) {
    s2_memory_free(track->channels.at[i].values.at);
  }
  s2_array_free(track->channels);
  Column *const columns[] = {&track->time,
                             &track->energy,
                             &track->momentum,
                             &track->residual,
                             &track->contacts,
                             &track->q,
                             &track->v,
                             &track->contact_frame,
                             &track->contact_bodies,
                             &track->contact_numbers,
                             &track->contact_sliding};
  for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
    s2_memory_free(columns[i]->at);
  }
  s2_array_free(track->bodies);
  s2_array_free(track->places);
  *track = (S2Track){0};
}

void s2_track_move(S2Track *track, S2DataSet *set) {
  const size_t frames[2] = {track->frames, 3}, bodies = (size_t)track->bodies.count;
  move_column(set, "time", "s", S2_DATA_NUMBER, &track->time, 1, frames);
  move_poses(set, "q", &track->q, track);
  move_poses(set, "v", &track->v, track);
  move_column(set, "energy", "J", S2_DATA_NUMBER, &track->energy, 2, frames);
  move_column(set, "momentum", "kg m^2/s, kg m/s, kg m/s", S2_DATA_NUMBER, &track->momentum, 2,
              frames);
  move_column(set, "residual", "", S2_DATA_NUMBER, &track->residual, 1, frames);
  move_column(set, "contacts", "", S2_DATA_INTEGER, &track->contacts, 1, frames);
  int64_t *serials = s2_data_add(set, "serial", "", S2_DATA_INTEGER, 1, &bodies)->values;
  for (size_t i = 0; i < bodies; i++) {
    serials[i] = track->bodies.at[i].serial;
  }
  S2DataArray *names = s2_data_add(set, "name", "", S2_DATA_TEXT, 1, &bodies);
  for (size_t i = 0; i < bodies; i++) {
    s2_data_add_text(names, track->bodies.at[i].name);
  }
  move_contacts(set, track);
  move_channels(set, track);
  clear(track);
}

void s2_track_free(S2Track *track) {
  if (track != NULL) {
    clear(track);
    s2_memory_free(track);
  }
}
