// Videos made by the real ffmpeg. Skipped, all at once and by name, where it or cairo is missing.
#include "files.h"

#include "record/draw/pixels.h"
#include "record/record.h"
#include "record/video/ffmpeg.h"

enum { SKIPPED = 77 }; // the value for ctest in CMakeLists.txt

static S2Status record(const char *name) {
  S2World *world = small_world();
  S2RecordOptions options = s2_record_options();
  options.draw.width = 121;
  options.trails = S2_TRAILS_ALL;
  S2Recorder *recorder = NULL;
  must(s2_recorder_open_with(in_directory(name), &options, &recorder));
  for (int i = 0; i <= 60; i++) {
    must(s2_recorder_frame(recorder, world));
    must(s2_world_step(world));
  }
  s2_world_destroy(world);
  return s2_recorder_close(recorder);
}

static char *made(const char *name, const char *again, size_t *size) {
  must(record(name));
  must(record(again));
  size_t same = 0;
  char *bytes = read_all(in_directory(name), size), *others = read_all(in_directory(again), &same);
  assert_int_equal(*size, same);
  assert_memory_equal(bytes, others, same); // the same input, the same bytes
  s2_memory_free(others);
  return bytes;
}

static void test_gif(void **state) {
  (void)state;
  size_t size = 0;
  char *bytes = made("a.gif", "b.gif", &size);
  assert_memory_equal(bytes, "GIF89a", 6);
  // rounded up to even numbers
  assert_int_equal((unsigned char)bytes[6] | (unsigned char)bytes[7] << 8, 122);
  s2_memory_free(bytes);
}

static void test_mp4(void **state) {
  (void)state;
  size_t size = 0;
  char *bytes = made("a.mp4", "b.mp4", &size);
  assert_memory_equal(bytes + 4, "ftyp", 4);
  // The index comes before the frames: a browser plays while it loads.
  const char *moov = NULL, *mdat = NULL;
  for (size_t i = 0; i + 4 <= size; i++) {
    moov = moov == NULL && memcmp(bytes + i, "moov", 4) == 0 ? bytes + i : moov;
    mdat = mdat == NULL && memcmp(bytes + i, "mdat", 4) == 0 ? bytes + i : mdat;
  }
  assert_true(moov != NULL && mdat != NULL && moov < mdat);
  s2_memory_free(bytes);
}

static void test_full_disk(void **state) {
  (void)state;
  static const char *const names[] = {"full.gif", "full.mp4"};
  for (int i = 0; i < 2; i++) {
    if (access("/dev/full", W_OK) != 0 || symlink("/dev/full", in_directory(names[i])) != 0) {
      skip();
    }
    S2Status status = record(names[i]);
    assert_int_equal(status.code, S2_IO);
    assert_non_null(strstr(status.message, names[i]));
    assert_non_null(strstr(status.message, "ffmpeg failed"));
  }
}

int main(void) {
  S2Status cairo = s2_canvas_available(), ffmpeg = s2_ffmpeg_available();
  if (cairo.code != S2_OK || ffmpeg.code != S2_OK) {
    printf("skipped: %s\n", cairo.code != S2_OK ? cairo.message : ffmpeg.message);
    return SKIPPED;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gif),
      cmocka_unit_test(test_mp4),
      cmocka_unit_test(test_full_disk),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
