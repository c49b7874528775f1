// Output files: complete or absent where a half file is useless, and never in place of a standard
// stream.
#include "files.h"

#include "record/record.h"
#include "record/s2d/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect_text(const char *name, const char *text) {
  size_t size = 0;
  char *bytes = read_all(in_directory(name), &size);
  assert_int_equal(size, strlen(text));
  assert_memory_equal(bytes, text, size);
  s2_memory_free(bytes);
}

static bool exists(const char *name) {
  struct stat info;
  return lstat(in_directory(name), &info) == 0;
}

static void record_frames(const char *name, S2Recorder **recorder) {
  S2World *world = world_new(0, 1.0 / 120);
  add_disc(world, at(0, 0), 1);
  S2Status status = s2_recorder_open(in_directory(name), recorder);
  for (int i = 0; i < 3 && status.code == S2_OK; i++) {
    status = s2_recorder_frame(*recorder, world);
    must(s2_world_step(world));
  }
  if (status.code != S2_OK) {
    fail_msg("%s: %s", name, status.message);
  }
  s2_world_destroy(world);
}

// A killed run leaves the recording before it; the next run replaces it.
static void test_killed(void **state) {
  (void)state;
  static const char *const names[] = {"a.npz", "a.h5", "a.svg", "a.png"};
  static const char old[] = "the recording before";
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    S2Recorder *recorder = NULL;
    if (s2_recorder_open(in_directory(names[i]), &recorder).code == S2_UNAVAILABLE) {
      continue;
    }
    must(s2_recorder_close(recorder));
    write_all(in_directory(names[i]), old, strlen(old));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      record_frames(names[i], &recorder);
      raise(SIGKILL);
    }
    int ended = 0;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    expect_text(names[i], old);
    record_frames(names[i], &recorder);
    expect_text(names[i], old);
    must(s2_recorder_close(recorder));
    size_t size = 0;
    s2_memory_free(read_all(in_directory(names[i]), &size));
    assert_true(size > 100);
    char part[20];
    snprintf(part, sizeof part, "%s" S2_OUTPUT_PART, names[i]);
    assert_false(exists(part));
  }
}

static void open_whole(S2Output *output, const char *name) {
  must(s2_output_open_whole(output, in_directory(name)));
}

static void test_whole(void **state) {
  (void)state;
  S2Output output, second;
  open_whole(&output, "new");
  assert_false(exists("new"));
  s2_output_text(&output, "first");
  assert_int_equal(s2_output_open_whole(&second, in_directory("new")).code, S2_IO);
  must(s2_output_close(&output));
  expect_text("new", "first");

  open_whole(&output, "new");
  s2_output_text(&output, "second");
  s2_output_abandon(&output);
  s2_output_abandon(&output); // nothing to do
  expect_text("new", "first");
  assert_false(exists("new.part"));

  // Another process writes into the file itself.
  must(s2_output_open(&second, in_directory("new")));
  assert_int_equal(s2_output_open_whole(&output, in_directory("new")).code, S2_IO);
  s2_output_text(&second, "third");
  must(s2_output_close(&second));
  expect_text("new", "third");
}

// A replaced file keeps its permissions, and a link keeps its target.
static void test_replaced(void **state) {
  (void)state;
  S2Output output;
  struct stat info;
  write_all(in_directory("target"), "old", 3);
  assert_int_equal(chmod(in_directory("target"), 0640), 0);
  assert_int_equal(symlink("target", in_directory("link")), 0);
  open_whole(&output, "link");
  s2_output_text(&output, "new");
  expect_text("target", "old");
  must(s2_output_close(&output));
  expect_text("target", "new");
  assert_int_equal(lstat(in_directory("link"), &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(stat(in_directory("target"), &info), 0);
  assert_int_equal(info.st_mode & 0777, 0640);

  assert_int_equal(symlink("later", in_directory("dangling")), 0);
  open_whole(&output, "dangling");
  s2_output_text(&output, "there");
  must(s2_output_close(&output));
  expect_text("later", "there");

  assert_int_equal(chmod(in_directory("target"), 0440), 0);
  if (geteuid() != 0) { // root, whom nothing is forbidden
    assert_int_equal(s2_output_open_whole(&output, in_directory("target")).code, S2_IO);
  }
}

// Where no temporary file can be made in the folder, the file is written in place; where that is
// impossible as well, an error is reported.
static void test_no_place(void **state) {
  (void)state;
  S2Output output;
  char longest[256] = "";
  memset(longest, 'x', 255); // the longest possible name
  char path[TEMPORARY_SIZE + 256];
  snprintf(path, sizeof path, "%s/%s", directory, longest);
  must(s2_output_open_whole(&output, path));
  s2_output_text(&output, "text");
  must(s2_output_close(&output));
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_size, 4);
  remove(path);
  S2Status status = s2_output_open_whole(&output, in_directory("no/such/file"));
  assert_int_equal(status.code, S2_IO);
  assert_non_null(strstr(status.message, "no/such/file': No such file"));
  if (access("/dev/full", W_OK) == 0) {
    must(s2_output_open_whole(&output, "/dev/full"));
    s2_output_text(&output, "text");
    assert_int_equal(s2_output_close(&output).code, S2_IO);
    assert_int_equal(access("/dev/full", F_OK), 0);
  }
}

// The same in a host program, whose standard streams are its own.
static void test_closed_streams(void **state) {
  (void)state;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    for (int i = 0; i < 3; i++) {
      close(i);
    }
    S2Output output;
    bool good = s2_output_open(&output, in_directory("streams")).code == S2_OK &&
                fileno(output.file) > STDERR_FILENO;
    for (int i = 0; i < 3; i++) {
      good = good && write(i, "printed", 7) < 0 && errno == EBADF;
    }
    s2_output_text(&output, "recorded");
    _exit(good && s2_output_close(&output).code == S2_OK ? 0 : 1);
  }
  int ended = 0;
  assert_int_equal(waitpid(child, &ended, 0), child);
  assert_int_equal(ended, 0);
  expect_text("streams", "recorded");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_killed),         cmocka_unit_test(test_whole),
      cmocka_unit_test(test_replaced),       cmocka_unit_test(test_no_place),
      cmocka_unit_test(test_closed_streams),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
