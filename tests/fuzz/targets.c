#include "targets.h"

#include "base/memory.h"
#include "mcp/contact/contact.h"
#include "mcp/lcp/lcp.h"
#include "mcp/mcp.h"
#include "record/data/data.h"
#include "record/draw/picture.h"
#include "record/s2d/replay_column.h"
#include "record/s2d/s2d.h"
#include "temporary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static void check(bool good, const char *what) {
  if (!good) {
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
  }
}

// True: it was read; otherwise it must have been refused with a message.
static bool was_read(S2Status status) {
  check(status.code == S2_OK || status.code == S2_INVALID || status.code == S2_IO ||
            status.code == S2_UNAVAILABLE,
        "neither read nor refused");
  check(status.code == S2_OK || strlen(status.message) > 10, "refused without a word");
  return status.code == S2_OK;
}

// ---- The file ---------------------------------------------------------------------------------

static char folder[TEMPORARY_SIZE];

static const char *path_of(const char *suffix) {
  static char path[TEMPORARY_SIZE + 32];
  if (folder[0] == '\0') {
    temporary_name(folder, "fuzz");
    if (access("/dev/shm", W_OK) == 0) { // in memory
      snprintf(folder, sizeof folder, "/dev/shm/sim2d-fuzz-XXXXXX");
    }
    check(mkdtemp(folder) != NULL, "no folder for the file");
  }
  snprintf(path, sizeof path, "%s/a%s", folder, suffix);
  return path;
}

static const char *put(const char *suffix, const uint8_t *bytes, size_t size) {
  const char *path = path_of(suffix);
  FILE *file = fopen(path, "wb");
  check(file != NULL, "cannot write the file");
  check(fwrite(bytes, 1, size, file) == size && fclose(file) == 0, "cannot write the file");
  return path;
}

void s2_fuzz_end(void) {
  static const char *const suffixes[] = {".s2d", ".npz", ".npy", ".csv", ".h5", ".txt"};
  for (size_t i = 0; folder[0] != '\0' && i < sizeof suffixes / sizeof *suffixes; i++) {
    remove(path_of(suffixes[i]));
  }
  if (folder[0] != '\0') {
    rmdir(folder);
  }
}

// ---- Recordings -------------------------------------------------------------------------------

static void look_at(const S2Moment *moment) {
  for (int i = 0; i < moment->contacts.count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    check(contact->a >= 0 && contact->a < moment->bodies.count, "a contact's body");
    check(contact->b >= 0 && contact->b < moment->bodies.count, "a contact's body");
  }
  S2Scene scene = {0};
  S2DrawOptions options = s2_draw_options();
  options.names = true;
  if (s2_picture_build(&scene, moment, &options).code == S2_OK) {
    for (int k = 0; k < scene.points.count; k++) {
      S2Vec2 pixel = s2_view_pixel(&scene.view, scene.points.at[k]);
      check(isfinite(pixel.x) && isfinite(pixel.y), "a point off the picture");
    }
  }
  s2_scene_free(&scene);
}

static void read_columns(S2Replay *replay, uint64_t frames) {
  static const char *const names[] = {"t",        "energy",  "bodies[1].x", "b.angle",
                                      "contacts", "kinetic", "c",           "joints[1].angle"};
  double *values = s2_memory_take(sizeof(double) * (size_t)(frames + 1));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    (void)was_read(s2_replay_column(replay, names[i], values));
  }
  s2_memory_free(values);
}

static bool read_replay(const char *path) {
  S2Replay *replay = NULL;
  S2Status status = s2_replay_open(path, &replay);
  check((status.code == S2_OK) == (replay != NULL), "a replay without a status");
  if (!was_read(status)) {
    return false;
  }
  enum { MOST_FRAMES = 64 }; // read backwards as well, which reads many of them again
  uint64_t frames = s2_replay_frame_count(replay);
  const S2Moment *moment = NULL;
  for (uint64_t i = 0; i < frames && i < MOST_FRAMES; i++) {
    if (was_read(s2_replay_frame(replay, i, &moment)) && i < 4) {
      look_at(moment);
    }
  }
  for (uint64_t i = frames < MOST_FRAMES ? frames : MOST_FRAMES; i > 0; i--) {
    (void)was_read(s2_replay_frame(replay, i - 1, &moment));
  }
  check(s2_replay_frame(replay, frames, &moment).code == S2_INVALID, "a frame too many");
  if (frames < 1000) {
    read_columns(replay, frames);
  }
  const S2Run *run = s2_replay_run(replay);
  for (int i = 0; i < run->entries.count; i++) {
    check(run->entries.at[i].key != NULL && run->entries.at[i].value != NULL, "a run's word");
  }
  S2Plots plots = {0};
  s2_replay_plots(replay, &plots);
  s2_plots_free(&plots);
  s2_replay_close(replay);
  return frames > 0;
}

// Corrects the checksums, so that the reader gets beyond them.
static void mend(uint8_t *bytes, size_t size) {
  if (size < S2_S2D_FILE_HEADER) {
    return;
  }
  for (size_t at = S2_S2D_FILE_HEADER; at + S2_S2D_CHUNK_HEADER <= size;) {
    size_t length = s2_s2d_get32(bytes + at + 4);
    if (length > size - at - S2_S2D_CHUNK_HEADER) {
      return;
    }
    uint64_t hash = s2_s2d_hash(s2_s2d_hash(S2_S2D_HASH_START, bytes + at, 8),
                                bytes + at + S2_S2D_CHUNK_HEADER, length);
    s2_s2d_set64(bytes + at + 8, hash);
    at += S2_S2D_CHUNK_HEADER + length;
  }
}

static bool run_s2d(const uint8_t *bytes, size_t size) {
  bool good = read_replay(put(".s2d", bytes, size));
  uint8_t *mended = s2_memory_take(size + 1);
  memcpy(mended, bytes, size);
  mend(mended, size);
  if (memcmp(mended, bytes, size) != 0) {
    good |= read_replay(put(".s2d", mended, size));
  }
  s2_memory_free(mended);
  return good;
}

// ---- Arrays -----------------------------------------------------------------------------------

static bool load(const char *path, const S2DataOptions *options) {
  S2DataSet set;
  bool good = was_read(s2_data_load(path, options, &set));
  check(good || set.arrays.count == 0, "arrays of a file that was refused");
  for (int i = 0; i < set.arrays.count; i++) {
    const S2DataArray *array = &set.arrays.at[i];
    size_t count = s2_data_count(array), texts = 0;
    check(array->axes >= 0 && array->axes <= S2_DATA_AXES, "axes");
    check(count == 0 || array->values != NULL, "an array without values");
    if (array->type == S2_DATA_TEXT) {
      for (size_t at = 0; at < array->bytes; at += strlen((char *)array->values + at) + 1) {
        texts++;
      }
      check(texts == count, "texts that are not there");
    } else if (count > 0) { // reads the last value: a sanitizer checks that it exists
      size_t item = array->type == S2_DATA_FLAG ? 1 : sizeof(double);
      volatile uint8_t last = ((const uint8_t *)array->values)[count * item - 1];
      (void)last;
    }
  }
  s2_data_free(&set);
  return good;
}

// Corrects the checksums of entries that are not packed, in both their places.
static void mend_npz(uint8_t *bytes, size_t size) {
  enum { LOCAL = 30, ENTRY = 46 };
  for (size_t at = 0; at + ENTRY <= size; at++) {
    if (memcmp(bytes + at, "PK\1\2", 4) != 0) {
      continue;
    }
    size_t offset = s2_s2d_get32(bytes + at + 42), length = s2_s2d_get32(bytes + at + 24);
    if (offset + LOCAL > size || memcmp(bytes + offset, "PK\3\4", 4) != 0) {
      continue;
    }
    size_t start = offset + LOCAL + bytes[offset + 26] + bytes[offset + 28];
    if (start <= size && length <= size - start) {
      uint32_t sum = (uint32_t)crc32(0, bytes + start, (uInt)length);
      s2_s2d_set32(bytes + at + 16, sum);
      s2_s2d_set32(bytes + offset + 14, sum);
    }
  }
}

static bool run_npz(const uint8_t *bytes, size_t size) {
  bool good = load(put(".npz", bytes, size), NULL);
  uint8_t *mended = s2_memory_take(size + 1);
  memcpy(mended, bytes, size);
  mend_npz(mended, size);
  if (memcmp(mended, bytes, size) != 0) {
    good |= load(put(".npz", mended, size), NULL);
  }
  s2_memory_free(mended);
  return good;
}

static bool run_npy(const uint8_t *bytes, size_t size) {
  return load(put(".npy", bytes, size), NULL);
}

static bool run_h5(const uint8_t *bytes, size_t size) {
  return load(put(".h5", bytes, size), NULL);
}

static bool run_csv(const uint8_t *bytes, size_t size) {
  static const char *const names[] = {"a", "b"};
  static const S2DataOptions options[] = {{0},
                                          {.ragged = true},
                                          {.separator = ' '},
                                          {.separator = ';', .names = names, .name_count = 2}};
  const char *path = put(".csv", bytes, size);
  bool good = false;
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    good |= load(path, &options[i]);
  }
  return good;
}

// ---- Problems ---------------------------------------------------------------------------------

// A problem that was read can be written and read again.
static bool run_lcp(const uint8_t *bytes, size_t size) {
  const char *path = put(".txt", bytes, size);
  S2LcpProblem *problem;
  bool good = was_read(s2_lcp_read(path, &problem));
  check(good == (problem != NULL), "a problem without a status");
  if (good) {
    check(s2_lcp_write(problem, path).code == S2_OK, "cannot write what was read");
    s2_lcp_free(problem);
    check(s2_lcp_read(path, &problem).code == S2_OK, "cannot read what was written");
  }
  s2_lcp_free(problem);
  return good;
}

static bool run_problem(const uint8_t *bytes, size_t size) {
  const char *path = put(".txt", bytes, size);
  S2Problem *problem;
  bool good = was_read(s2_problem_read(path, &problem));
  check(good == (problem != NULL), "a problem without a status");
  if (good) {
    check(s2_problem_write(problem, path).code == S2_OK, "cannot write what was read");
    s2_problem_free(problem);
    check(s2_problem_read(path, &problem).code == S2_OK, "cannot read what was written");
  }
  s2_problem_free(problem);
  return good;
}

static bool run_contact(const uint8_t *bytes, size_t size) {
  const char *path = put(".txt", bytes, size);
  S2ContactFile *file;
  bool good = was_read(s2_contact_read(path, &file));
  check(good == (file != NULL), "a problem without a status");
  if (good) {
    S2Status written = file->global ? s2_contact_write_global(&file->global_form, path)
                                    : s2_contact_write(&file->local_form, path);
    check(written.code == S2_OK, "cannot write what was read");
    s2_contact_free(file);
    check(s2_contact_read(path, &file).code == S2_OK, "cannot read what was written");
  }
  s2_contact_free(file);
  return good;
}

const S2FuzzTarget s2_fuzz_targets[] = {
    {"s2d", run_s2d}, {"npz", run_npz},         {"npy", run_npy},         {"csv", run_csv},
    {"lcp", run_lcp}, {"contact", run_contact}, {"problem", run_problem}, {"h5", run_h5},
};
const int s2_fuzz_target_count = sizeof s2_fuzz_targets / sizeof *s2_fuzz_targets;

const S2FuzzTarget *s2_fuzz_target(const char *name) {
  for (int i = 0; i < s2_fuzz_target_count; i++) {
    if (strcmp(s2_fuzz_targets[i].name, name) == 0) {
      return &s2_fuzz_targets[i];
    }
  }
  return NULL;
}
