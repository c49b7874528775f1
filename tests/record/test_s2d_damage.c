// Recordings that were cut, changed or made up: complete frames are read, nothing else is accepted.
#include "files.h"

#include "record/draw/picture.h"
#include "record/record.h"
#include "record/s2d/replay.h"

// A recording of a few frames, with a change of the scene in the middle.
// The four frames lie before the index and the end mark.
static unsigned char *sample_recording(const char *path, size_t *size) {
  S2World *world = small_world();
  S2Recorder *recorder = NULL;
  must(s2_recorder_open(path, &recorder));
  for (int i = 0; i < 4; i++) {
    if (i == 2) {
      add_disc(world, named(at(6, 3), "late"), 0.3);
    }
    must(s2_world_step(world));
    must(s2_recorder_frame(recorder, world));
  }
  must(s2_recorder_close(recorder));
  s2_world_destroy(world);
  return (unsigned char *)read_all(path, size);
}

static void test_s2d_cut_anywhere(void **state) {
  (void)state;
  size_t size = 0;
  unsigned char *bytes = sample_recording(in_directory("whole.s2d"), &size);
  const char *path = in_directory("cut.s2d");
  size_t chunk_end = S2_S2D_FILE_HEADER; // end of the chunk after the last complete one
  uint64_t frames = 0;
  for (size_t length = 0; length <= size; length++) {
    if (length >= chunk_end + S2_S2D_CHUNK_HEADER) {
      size_t next = chunk_end + S2_S2D_CHUNK_HEADER + s2_s2d_get32(bytes + chunk_end + 4);
      if (length == next) {
        frames += s2_s2d_get32(bytes + chunk_end) == S2_S2D_FRAME;
        chunk_end = next;
      }
    }
    write_all(path, bytes, length);
    S2Replay *replay = NULL;
    S2Status status = s2_replay_open(path, &replay);
    if (length < S2_S2D_FILE_HEADER) {
      assert_int_equal(status.code, S2_INVALID);
      assert_null(replay);
      continue;
    }
    must(status);
    assert_int_equal(s2_replay_frame_count(replay), frames);
    assert_int_equal(s2_replay_complete(replay), length == size);
    if (frames > 0) {
      const S2Moment *moment = NULL;
      must(s2_replay_frame(replay, frames - 1, &moment));
      assert_int_equal(moment->step, frames);
    }
    s2_replay_close(replay);
  }
  assert_int_equal(frames, 4);
  s2_memory_free(bytes);
}

// Reads and draws all frames; the result does not matter here, as long as it is consistent.
static uint64_t read_and_draw(const char *path) {
  S2Replay *replay = NULL;
  if (s2_replay_open(path, &replay).code != S2_OK) {
    return 0;
  }
  S2Scene scene = {0};
  S2DrawOptions options = s2_draw_options();
  options.names = true;
  uint64_t frames = s2_replay_frame_count(replay);
  for (uint64_t i = 0; i < frames; i++) {
    const S2Moment *moment = NULL;
    if (s2_replay_frame(replay, i, &moment).code != S2_OK) {
      frames = i; // the index promised more
      break;
    }
    must(s2_picture_build(&scene, moment, &options));
    for (int k = 0; k < scene.points.count; k++) {
      S2Vec2 pixel = s2_view_pixel(&scene.view, scene.points.at[k]);
      assert_true(isfinite(pixel.x) && isfinite(pixel.y));
    }
  }
  s2_scene_free(&scene);
  s2_replay_close(replay);
  return frames;
}

static void test_s2d_flipped_bytes(void **state) {
  (void)state;
  size_t size = 0;
  unsigned char *bytes = sample_recording(in_directory("whole.s2d"), &size);
  const char *path = in_directory("bent.s2d");
  size_t index = (size_t)s2_s2d_get64(bytes + size - 8);
  for (size_t i = 0; i < size; i++) {
    bytes[i] ^= 0x41;
    write_all(path, bytes, size);
    uint64_t frames = read_and_draw(path);
    bytes[i] ^= 0x41;
    // The checksums detect every change: except in the reserved bytes of the header, and after the
    // frames.
    bool header = i < S2_S2D_FILE_HEADER, end = i >= index;
    bool run = i < S2_S2D_FILE_HEADER + 20; // with an index to find the rest
    assert_true(header || (end || run ? frames == 4 : frames < 4));
  }
  s2_memory_free(bytes);
}

// Contents changed on purpose, with matching checksums.
static void test_s2d_hostile(void **state) {
  (void)state;
  size_t size = 0;
  unsigned char *bytes = sample_recording(in_directory("whole.s2d"), &size);
  unsigned char *bent = s2_memory_take(size);
  const char *path = in_directory("hostile.s2d");
  static const uint64_t words[] = {0,          1,          0x7fffffff,         0xffffffff,
                                   0x80000000, 0x10000000, 0x7ff8000000000000, 0x7fefffffffffffff};
  S2Rng rng = s2_rng_seeded(2);
  uint64_t frames = 0;
  for (int round = 0; round < 3000; round++) {
    memcpy(bent, bytes, size);
    int changes = (int)s2_rng_integer(&rng, 1, 4);
    for (int i = 0; i < changes; i++) {
      size_t at = (size_t)s2_rng_integer(&rng, 8, (int64_t)size - 9) & ~(size_t)3;
      uint64_t word = words[s2_rng_integer(&rng, 0, 7)];
      if (word > UINT32_MAX) {
        s2_s2d_set64(bent + at, word);
      } else {
        s2_s2d_set32(bent + at, (uint32_t)word);
      }
    }
    s2_s2d_set32(bent + 8, S2_S2D_VERSION);
    fix_checksums(bent, size);
    write_all(path, bent, size);
    frames += read_and_draw(path);
  }
  assert_true(frames > 1000); // most changes hit plain numbers, which may be anything
  s2_memory_free(bent);
  s2_memory_free(bytes);
}

// False counts, which only their sum modulo 2^32 or the size reveals.
static void test_s2d_lying_counts(void **state) {
  (void)state;
  size_t size = 0;
  unsigned char *bytes = sample_recording(in_directory("whole.s2d"), &size);
  const char *path = in_directory("lying.s2d");
  size_t scene = S2_S2D_FILE_HEADER + 2 * S2_S2D_CHUNK_HEADER + 4; // after an empty run
  size_t bodies = scene + S2_S2D_SCENE_HEADER;
  size_t shapes = bodies + (size_t)S2_S2D_BODY * s2_s2d_get32(bytes + bodies - 16);
  struct {
    size_t first, second; // where the counts are
    uint32_t change;      // added to the first, taken from the second
  } lies[] = {
      {bodies + 20, bodies + S2_S2D_BODY + 20, 0x80000000u}, // shapes of two bodies
      {bodies + 20, bodies + S2_S2D_BODY + 20, 1},           // still in range: only misplaced
      {shapes, shapes + S2_S2D_SHAPE, 0x80000000u},          // vertices of two shapes
  };
  for (int i = 0; i < 3; i++) {
    unsigned char *bent = s2_memory_take(size);
    memcpy(bent, bytes, size);
    s2_s2d_set32(bent + lies[i].first, s2_s2d_get32(bent + lies[i].first) + lies[i].change);
    if (lies[i].second > 0) {
      s2_s2d_set32(bent + lies[i].second, s2_s2d_get32(bent + lies[i].second) - lies[i].change);
    }
    fix_checksums(bent, size);
    write_all(path, bent, size);
    assert_int_equal(read_and_draw(path), i == 1 ? 4 : 0);
    s2_memory_free(bent);
  }
  s2_memory_free(bytes);
}

static void test_s2d_not_one(void **state) {
  (void)state;
  S2Replay *replay = NULL;
  S2Status status = s2_replay_open(in_directory("missing.s2d"), &replay);
  assert_int_equal(status.code, S2_IO);
  assert_non_null(strstr(status.message, "No such file"));
  assert_int_equal(s2_replay_open(directory, &replay).code, S2_IO);
  write_all(in_directory("text.s2d"), "time_s,body,name,angle_rad\n", 27);
  status = s2_replay_open(in_directory("text.s2d"), &replay);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "is not a .s2d recording"));

  size_t size = 0;
  unsigned char *bytes = sample_recording(in_directory("whole.s2d"), &size);
  for (int version = 0; version < 10; version++) {
    bytes[8] = (unsigned char)version;
    write_all(in_directory("other.s2d"), bytes, size);
    status = s2_replay_open(in_directory("other.s2d"), &replay);
    if (version != S2_S2D_VERSION) {
      char expected[80];
      snprintf(expected, sizeof expected,
               "has format version %d; this program reads version 6 only", version);
      assert_int_equal(status.code, S2_INVALID);
      assert_non_null(strstr(status.message, expected));
      assert_null(replay);
    }
    s2_replay_close(replay);
  }
  s2_memory_free(bytes);
  s2_replay_close(NULL);
}

// Complete frames exist although the recording was not closed.
static void test_s2d_after_a_kill(void **state) {
  (void)state;
  const char *path = in_directory("killed.s2d");
  record_until_killed(path);
  S2Replay *replay = NULL;
  must(s2_replay_open(path, &replay));
  assert_int_equal(s2_replay_frame_count(replay), 5);
  assert_false(s2_replay_complete(replay));
  s2_replay_close(replay);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_s2d_cut_anywhere), cmocka_unit_test(test_s2d_flipped_bytes),
      cmocka_unit_test(test_s2d_hostile),      cmocka_unit_test(test_s2d_lying_counts),
      cmocka_unit_test(test_s2d_not_one),      cmocka_unit_test(test_s2d_after_a_kill),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
