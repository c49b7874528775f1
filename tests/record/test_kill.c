// A recording over an existing file that is killed at any time: the file is the old one, or a new
// one that can be read.
#include "files.h"

#include "record/data/data.h"
#include "record/page/html.h"
#include "record/s2d/replay.h"

#include <sys/resource.h>

enum { OLD_FRAMES = 3, NEW_FRAMES = 30, PLACES = 12 };

typedef struct Format {
  const char *suffix;
  bool streamed; // frames reach the file one by one
} Format;

static const Format formats[] = {
    {".s2d", true}, {".csv", true},  {".html", true}, {".npz", false},
    {".h5", false}, {".svg", false}, {".png", false}, {".gif", false},
};

static S2Status record_frames(const char *path, int frames) {
  S2World *world = small_world();
  S2Recorder *recorder = NULL;
  S2Status status = s2_recorder_open(path, &recorder);
  for (int i = 0; i < frames && status.code == S2_OK; i++) {
    status = s2_recorder_frame(recorder, world);
    must(s2_world_step(world));
  }
  S2Status closed = s2_recorder_close(recorder);
  s2_world_destroy(world);
  return status.code == S2_OK ? closed : status;
}

static bool ends_with(const char *bytes, size_t size, const char *end, size_t length) {
  return size >= length && memcmp(bytes + size - length, end, length) == 0;
}

static bool is_readable(const char *path, const Format *format) {
  if (strcmp(format->suffix, ".s2d") == 0) {
    S2Replay *replay = NULL;
    bool good = s2_replay_open(path, &replay).code == S2_OK && s2_replay_frame_count(replay) > 0;
    s2_replay_close(replay);
    return good;
  }
  size_t size = 0;
  char *bytes = read_all(path, &size);
  bool good = false;
  if (strcmp(format->suffix, ".npz") == 0 || strcmp(format->suffix, ".h5") == 0) {
    S2DataSet set;
    good = size > 0 && s2_data_load(path, NULL, &set).code == S2_OK;
    if (good) {
      s2_data_free(&set);
    }
  } else if (strcmp(format->suffix, ".csv") == 0) {
    good = occurrences(bytes, "\n") > OLD_FRAMES;
  } else if (strcmp(format->suffix, ".html") == 0) {
    good = occurrences(bytes, "application/x-s2d\">\n") > 0;
  } else if (strcmp(format->suffix, ".svg") == 0) {
    good = ends_with(bytes, size, "</svg>\n", 7);
  } else if (strcmp(format->suffix, ".png") == 0) {
    good = ends_with(bytes, size, "IEND\xae\x42\x60\x82", 8);
  }
  s2_memory_free(bytes);
  return good;
}

// Records again and is killed when a file would grow beyond so many bytes. Returns false if it
// ended normally.
static bool killed_at(const char *path, size_t bytes) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const struct rlimit none = {0, 0}, limit = {bytes, bytes};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &limit); // SIGXFSZ
    signal(SIGXFSZ, SIG_DFL);
    _exit(record_frames(path, NEW_FRAMES).code == S2_OK ? 0 : 1);
  }
  int how = 0;
  assert_int_equal(waitpid(child, &how, 0), child);
  return !(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

static size_t size_of(const char *path) {
  size_t size = 0;
  s2_memory_free(read_all(path, &size));
  return size;
}

static void test_format(const Format *format) {
  char path[TEMPORARY_SIZE + 32];
  snprintf(path, sizeof path, "%s/old%s", directory, format->suffix);
  S2Status status = record_frames(path, OLD_FRAMES);
  if (status.code == S2_UNAVAILABLE) { // not in this build
    print_message("%s: skipped, %s\n", format->suffix, status.message);
    return;
  }
  must(status);
  size_t old_size = 0;
  char *old = read_all(path, &old_size);
  must(record_frames(path, 1));
  size_t least = format->streamed ? size_of(path) : 0; // the first frame is complete
  must(record_frames(path, NEW_FRAMES));
  size_t most = size_of(path);
  int lost = 0, killed = 0;
  for (int i = 0; i < PLACES; i++) {
    write_all(path, old, old_size);
    size_t bytes = least + (most - least) * (size_t)i / PLACES;
    if (!killed_at(path, bytes)) {
      continue; // the last part is written to the file in one piece, or by another program
    }
    killed += 1;
    size_t size = 0;
    char *now = read_all(path, &size);
    bool same = size == old_size && memcmp(now, old, size) == 0;
    s2_memory_free(now);
    lost += !same && !is_readable(path, format);
  }
  print_message("%s: killed %d times, lost %d\n", format->suffix, killed, lost);
  assert_true(killed > PLACES / 2);
  assert_int_equal(lost, 0);
  s2_memory_free(old);
  remove(path);
}

static void test_killed(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    test_format(&formats[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed)};
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
