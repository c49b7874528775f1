// Recordings that are pages: the player, followed by the bytes of a .s2d recording as base64.
#include "files.h"

#include "record/page/page.h"
#include "record/record.h"

enum { LARGEST_PAGE = 200000 }; // bytes: every recording as a page contains it

static const char block_start[] = "<script type=\"application/x-s2d\">\n";
static const char block_end[] = "</script>\n";

static void need_page(void) {
  if (s2_page_missing() != NULL) {
    print_message("skipped: no page in this build: %s\n", s2_page_missing());
    skip();
  }
}

static int digit(char c) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *found = strchr(digits, c);
  assert_true(c != '\0' && found != NULL);
  return (int)(found - digits);
}

// Decodes a line, up to its last bytes; returns the number of bytes.
static size_t decode_line(unsigned char *bytes, const char *line, size_t length) {
  assert_int_equal(length % 4, 0);
  size_t count = 0;
  for (size_t i = 0; i < length; i += 4) {
    int missing = (line[i + 2] == '=') + (line[i + 3] == '=');
    assert_true(missing == 0 || i + 4 == length);
    uint32_t word = (uint32_t)digit(line[i]) << 18 | (uint32_t)digit(line[i + 1]) << 12;
    word |= missing < 2 ? (uint32_t)digit(line[i + 2]) << 6 : 0;
    word |= missing < 1 ? (uint32_t)digit(line[i + 3]) : 0;
    for (int k = 0; k < 3 - missing; k++) {
      bytes[count++] = (unsigned char)(word >> (16 - 8 * k));
    }
  }
  return count;
}

// The data after the player in the page `text`; `*blocks`: the number of data blocks.
static unsigned char *embedded(const char *text, size_t size, size_t *count, int *blocks) {
  size_t page = 0;
  const unsigned char *bytes = s2_page_bytes(&page);
  assert_true(size > page);
  assert_memory_equal(text, bytes, page);
  unsigned char *result = s2_memory_take(size);
  *count = 0;
  *blocks = 0;
  bool open = false;
  const char *at = text + page, *end = text + size;
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    assert_non_null(stop); // complete lines only
    size_t length = (size_t)(stop + 1 - at);
    if (!open) {
      assert_int_equal(length, strlen(block_start));
      assert_memory_equal(at, block_start, length);
      *blocks += 1;
      open = true;
    } else if (*at == '<') {
      assert_int_equal(length, strlen(block_end));
      assert_memory_equal(at, block_end, length);
      open = false;
    } else {
      *count += decode_line(result + *count, at, length - 1);
    }
    at = stop + 1;
  }
  return result;
}

// The same run as a page and as .s2d: the same bytes.
static void check_same(int frames, int bodies, bool growing, int least_blocks) {
  S2World *world = world_new(0, 1.0 / 120);
  for (int i = 0; i < bodies; i++) {
    add_disc(world, at(3.0 * i, 0), 1);
  }
  S2Recorder *page = NULL, *plain = NULL;
  must(s2_recorder_open(in_directory("run.html"), &page));
  must(s2_recorder_open(in_directory("run.s2d"), &plain));
  for (int i = 0; i < frames; i++) {
    must(s2_recorder_frame(page, world));
    must(s2_recorder_frame(plain, world));
    must(s2_world_step(world));
    if (growing) {
      add_disc(world, at(3.0 * i, 9), 1); // the scene is written in full again
    }
  }
  must(s2_recorder_close(page));
  must(s2_recorder_close(plain));
  size_t size = 0, expected_size = 0, count = 0;
  int blocks = 0;
  char *text = read_all(in_directory("run.html"), &size);
  char *expected = read_all(in_directory("run.s2d"), &expected_size);
  unsigned char *got = embedded(text, size, &count, &blocks);
  assert_int_equal(count, expected_size);
  assert_memory_equal(got, expected, count);
  assert_true(blocks >= least_blocks);
  assert_memory_equal(text + size - strlen(block_end), block_end, strlen(block_end));
  s2_memory_free(got);
  s2_memory_free(text);
  s2_memory_free(expected);
  s2_world_destroy(world);
}

static void test_the_bytes_of_s2d(void **state) {
  (void)state;
  need_page();
  check_same(0, 0, false, 1);
  for (int bodies = 0; bodies < 4; bodies++) {
    check_same(5, bodies, false, 1);
  }
  check_same(10, 1500, true, 2); // more than a block holds
}

static void test_after_a_kill(void **state) {
  (void)state;
  need_page();
  const char *path = in_directory("killed.html");
  record_until_killed(path);
  size_t size = 0, count = 0;
  int blocks = 0;
  char *text = read_all(path, &size);
  s2_memory_free(embedded(text, size, &count, &blocks));
  assert_int_equal(blocks, 1);
  assert_true(count > 5 * 3 * sizeof(double) / 4);
  s2_memory_free(text);
}

static void test_size_of_the_page(void **state) {
  (void)state;
  need_page();
  size_t size = 0;
  const unsigned char *bytes = s2_page_bytes(&size);
  assert_non_null(bytes);
  assert_true(size < LARGEST_PAGE);
  // No part of it may look like a recording, or like an external resource.
  char *text = s2_memory_take_zeroed(size + 1);
  memcpy(text, bytes, size);
  assert_null(strstr(text, block_start));
  assert_null(strstr(text, "<link rel=\"stylesheet\""));
  assert_null(strstr(text, "src=\"http"));
  s2_memory_free(text);
}

static void test_without_a_page(void **state) {
  (void)state;
  if (s2_page_missing() == NULL) {
    return; // this build has one
  }
  S2Recorder *recorder = NULL;
  S2Status status = s2_recorder_open(in_directory("none.html"), &recorder);
  assert_int_equal(status.code, S2_UNAVAILABLE);
  assert_non_null(strstr(status.message, s2_page_missing()));
  assert_null(recorder);
}

static void test_full_device(void **state) {
  (void)state;
  need_page();
  if (access("/dev/full", W_OK) != 0 || symlink("/dev/full", in_directory("full.html")) != 0) {
    skip();
  }
  S2World *world = small_world();
  S2Recorder *recorder = NULL;
  must(s2_recorder_open(in_directory("full.html"), &recorder));
  for (int i = 0; i < 2; i++) {
    S2Status status = s2_recorder_frame(recorder, world);
    assert_int_equal(status.code, S2_IO);
    assert_non_null(strstr(status.message, "No space left on device"));
  }
  assert_int_equal(s2_recorder_close(recorder).code, S2_IO);
  s2_world_destroy(world);
  assert_int_equal(s2_recorder_open(in_directory("no/such/run.html"), &recorder).code, S2_IO);
}

static void test_steady_recording_leaves_the_heap_alone(void **state) {
  (void)state;
  need_page();
  S2World *world = small_world();
  S2Recorder *recorder = NULL;
  must(s2_recorder_open(in_directory("steady.html"), &recorder));
  must(s2_world_step(world));
  must(s2_recorder_frame(recorder, world));
  uint64_t before = s2_memory_count();
  for (int k = 0; k < 10; k++) {
    must(s2_recorder_frame(recorder, world));
  }
  assert_int_equal(s2_memory_count(), before);
  must(s2_recorder_close(recorder));
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_bytes_of_s2d),
      cmocka_unit_test(test_after_a_kill),
      cmocka_unit_test(test_size_of_the_page),
      cmocka_unit_test(test_without_a_page),
      cmocka_unit_test(test_full_device),
      cmocka_unit_test(test_steady_recording_leaves_the_heap_alone),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
