// Running out of memory: each allocation fails in turn. Readers, recorders and steps return
// S2_MEMORY, leak nothing and leave existing data unchanged.
#include "files.h"

#include "mcp/contact/contact.h"
#include "mcp/lcp/lcp.h"
#include "mcp/mcp.h"
#include "record/data/data.h"
#include "record/page/html.h"
#include "record/s2d/output.h"
#include "record/s2d/replay.h"

enum { MOST_CALLS = 20000 }; // more heap allocations than a call of these tests makes

// ---- Guards -----------------------------------------------------------------------------------

static S2Status take_some(void *user) {
  void **kept = user;
  void *gone = s2_memory_take(100);
  kept[0] = s2_memory_take(16);
  for (int i = 0; i < 200; i++) {
    kept[0] = s2_memory_grow(kept[0], 16 + 100 * (size_t)i);
    gone = s2_memory_grow(gone, 100 + 10 * (size_t)i);
  }
  s2_memory_free(gone);
  kept[1] = s2_memory_take_zeroed(1000);
  return s2_ok();
}

static S2Status take_within(void *user) {
  S2_TRY(s2_memory_building(take_some, user));
  void **kept = user;
  kept[2] = s2_memory_take(10);
  return s2_ok();
}

static void test_building(void **state) {
  (void)state;
  void *kept[3] = {0};
  int failed = 0;
  for (uint64_t n = 1; n < MOST_CALLS; n++) {
    s2_memory_fail(n, n % 2 == 0);
    S2Status status = s2_memory_building(take_within, kept);
    s2_memory_fail(0, false);
    if (status.code == S2_OK) {
      break;
    }
    assert_int_equal(status.code, S2_MEMORY); // the leak checker reports leaks
    failed += 1;
  }
  assert_int_equal(failed, 1 + 1 + 2 * 200 + 1 + 1);
  for (int i = 0; i < 3; i++) {
    s2_memory_free(kept[i]);
  }
}

static S2Status nested(void *user) {
  int *left = user;
  if (--*left > 0) {
    S2Status inner = s2_memory_guarded(nested, left);
    assert_int_equal(inner.code, S2_MEMORY);
    return s2_ok(); // only the innermost block fails
  }
  bool masked = s2_memory_mask(true);
  void *some = s2_memory_try(10); // fails without a jump
  assert_null(some);
  s2_memory_mask(masked);
  s2_memory_fail(1, false);
  s2_memory_free(s2_memory_take(10));
  fail();
  return s2_ok();
}

static void test_nesting(void **state) {
  (void)state;
  int depth = 2;
  s2_memory_fail(1, false);
  assert_int_equal(s2_memory_guarded(nested, &depth).code, S2_OK);
  assert_int_equal(s2_memory_room(10, sizeof(double), "a list").code, S2_OK);
  S2Status status = s2_memory_room((size_t)1 << 61, sizeof(double), "a list");
  assert_int_equal(status.code, S2_MEMORY);
  assert_non_null(strstr(status.message, "a list of 1.84e+13 MB"));
}

// ---- Reading ----------------------------------------------------------------------------------

// Loads and frees; after a failed load the object must be empty.
static S2Status load_data(const char *path) {
  S2DataSet set;
  S2Status status = s2_data_load(path, NULL, &set);
  assert_true(status.code == S2_OK || set.arrays.count == 0);
  s2_data_free(&set);
  return status;
}

static S2Status load_lcp(const char *path) {
  S2LcpProblem *problem;
  S2Status status = s2_lcp_read(path, &problem);
  assert_int_equal(status.code == S2_OK, problem != NULL);
  s2_lcp_free(problem);
  return status;
}

static S2Status load_problem(const char *path) {
  S2Problem *problem;
  S2Status status = s2_problem_read(path, &problem);
  assert_int_equal(status.code == S2_OK, problem != NULL);
  s2_problem_free(problem);
  return status;
}

static S2Status load_contact(const char *path) {
  S2ContactFile *file;
  S2Status status = s2_contact_read(path, &file);
  assert_int_equal(status.code == S2_OK, file != NULL);
  s2_contact_free(file);
  return status;
}

static void fail_in_turn(const char *path, S2Status (*load)(const char *path), int least) {
  for (int all = 0; all < 2; all++) {
    int failed = 0;
    for (uint64_t n = 1; n < MOST_CALLS; n++) {
      s2_memory_fail(n, all == 1);
      S2Status status = load(path);
      bool tried = s2_memory_fail(0, false);
      if (status.code == S2_OK && !tried) {
        break;
      }
      if (status.code == S2_OK) { // some of the memory is optional
        continue;
      }
      assert_int_equal(status.code, S2_MEMORY);
      assert_non_null(strstr(status.message, "out of memory"));
      failed += 1;
    }
    assert_in_range(failed, least, MOST_CALLS - 2);
  }
}

// A recording in the format of the suffix, of a world that changes during the recording.
static S2Status record(const char *path, S2World *world, int *frames) {
  S2Recorder *recorder = NULL;
  *frames = 0;
  S2Status status = s2_recorder_open(path, &recorder);
  assert_int_equal(status.code == S2_OK, recorder != NULL);
  if (recorder == NULL) {
    return status;
  }
  int channel = s2_recorder_channel(recorder, "c", "m");
  for (int i = 0; i < 40; i++) {
    s2_recorder_set(recorder, channel, i);
    S2Status added = s2_recorder_frame(recorder, world);
    status = status.code == S2_OK ? added : status;
    *frames += added.code == S2_OK;
    if (i % 10 == 0) {
      S2Status stepped = s2_world_step(world);
      status = status.code == S2_OK ? stepped : status;
    }
  }
  S2Status closed = s2_recorder_close(recorder);
  return status.code == S2_OK ? closed : status;
}

static void sample(const char *path) {
  S2World *world = small_world();
  add_all_joints(world);
  int frames = 0;
  must(record(path, world, &frames));
  assert_int_equal(frames, 40);
  s2_world_destroy(world);
}

static S2Status load_frames(const char *path) { // frames of `sample`: a step every tenth frame
  S2Replay *replay = NULL;
  S2Status status = s2_replay_open(path, &replay);
  assert_int_equal(status.code == S2_OK, replay != NULL);
  for (uint64_t i = 0; status.code == S2_OK && i < s2_replay_frame_count(replay); i++) {
    const S2Moment *moment = NULL;
    status = s2_replay_frame(replay, i, &moment);
    if (status.code == S2_MEMORY) { // with memory again it continues
      s2_memory_fail(0, false);
      must(s2_replay_frame(replay, i, &moment));
      assert_int_equal(moment->step, (i + 9) / 10);
    }
  }
  s2_replay_close(replay);
  return status;
}

static void test_loading(void **state) {
  (void)state;
  static const char CSV[] = "a [m],b\n1,\"x, y\"\n2.5,z\n";
  sample(in_directory("a.s2d"));
  sample(in_directory("a.npz"));
  fail_in_turn(in_directory("a.s2d"), load_frames, 15);
  fail_in_turn(in_directory("a.npz"), load_data, 50);
  if (s2_data_check_path("a.h5").code == S2_OK) { // can be written
    sample(in_directory("a.h5"));
    fail_in_turn(in_directory("a.h5"), load_data, 50);
  }
  write_all(in_directory("a.csv"), CSV, sizeof CSV - 1);
  fail_in_turn(in_directory("a.csv"), load_data, 8);
  S2DataSet set = {0};
  const size_t shape[2] = {2, 3};
  memset(s2_data_add(&set, "", "", S2_DATA_NUMBER, 2, shape)->values, 0, 6 * sizeof(double));
  set.bare = true;
  must(s2_data_save(&set, in_directory("a.npy")));
  s2_data_free(&set);
  fail_in_turn(in_directory("a.npy"), load_data, 5);
}

static void test_problem_files(void **state) {
  (void)state;
  static const char LCP[] = "2\n2 1\n1 2\n-5 -6\n";
  static const char STEP[] = "sim2d-problem 1\nvelocity_scale 0.1\nlength 0.2\nnodes 1\nrows 1\n"
                             "node 0.005 1 1 0 0.3 -0.1\n"
                             "row 0 -1 -1 0 0 inf 0 0 0 0 0 1 0 0 0\nend\n";
  static const char CONTACT[] = "nc 1\nW 2 2 3\n0 0 1\n0 1 .5\n1 1 1\nq\n-1 2\nmu\n0.5\n";
  write_all(in_directory("a.lcp"), LCP, sizeof LCP - 1);
  fail_in_turn(in_directory("a.lcp"), load_lcp, 2);
  write_all(in_directory("a.problem"), STEP, sizeof STEP - 1);
  fail_in_turn(in_directory("a.problem"), load_problem, 2);
  write_all(in_directory("a.contact"), CONTACT, sizeof CONTACT - 1);
  fail_in_turn(in_directory("a.contact"), load_contact, 3);
}

// ---- Recording --------------------------------------------------------------------------------

static const char OLD[] = "old"; // content of the file before

// The frames recorded before memory ran out can be read (returns true), or the file has its old
// content (returns false).
static bool check_recording(const char *path, int frames) {
  char part[128];
  snprintf(part, sizeof part, "%s" S2_OUTPUT_PART, path);
  assert_int_not_equal(access(part, F_OK), 0);
  size_t size = 0;
  char *bytes = read_all(path, &size);
  bool is_new = size != strlen(OLD) || memcmp(bytes, OLD, size) != 0;
  const char *suffix = strrchr(path, '.');
  if (strcmp(suffix, ".s2d") == 0 && frames > 0) {
    S2Replay *replay = NULL;
    must(s2_replay_open(path, &replay));
    assert_int_equal(s2_replay_frame_count(replay), frames);
    s2_replay_close(replay);
  } else if (is_new && (strcmp(suffix, ".npz") == 0 || strcmp(suffix, ".h5") == 0)) {
    S2DataSet set;
    must(s2_data_load(path, NULL, &set));
    assert_int_equal(s2_data_find(&set, "time")->shape[0], frames);
    s2_data_free(&set);
  } else if (is_new && strcmp(suffix, ".svg") == 0) {
    assert_non_null(strstr(bytes, "</svg>"));
  }
  s2_memory_free(bytes);
  return is_new;
}

static void record_in_turn(const char *path, int least) {
  for (int all = 0; all < 2; all++) {
    int failed = 0, is_new = 0;
    for (uint64_t n = 1; n < MOST_CALLS; n++) {
      S2World *world = small_world();
      add_all_joints(world);
      int frames = 0;
      write_all(path, OLD, strlen(OLD));
      s2_memory_fail(n, all == 1);
      S2Status status = record(path, world, &frames);
      bool tried = s2_memory_fail(0, false);
      s2_world_destroy(world);
      if (status.code == S2_OK) { // some of the memory is optional
        assert_int_equal(frames, 40);
        if (!tried) {
          break;
        }
        continue;
      }
      assert_int_equal(status.code, S2_MEMORY);
      is_new += check_recording(path, frames);
      failed += 1;
    }
    print_message("%s: %d failures, %d with a file\n", strrchr(path, '.'), failed, is_new);
    assert_true(all == 1 || is_new > 0); // without any memory, nothing complete can be written
    assert_in_range(failed, least, MOST_CALLS - 2);
  }
}

static void test_recording(void **state) {
  (void)state;
  record_in_turn(in_directory("b.s2d"), 40);
  record_in_turn(in_directory("b.csv"), 15);
  record_in_turn(in_directory("b.npz"), 80);
  record_in_turn(in_directory("b.svg"), 40);
  if (s2_data_check_path("b.h5").code == S2_OK) {
    record_in_turn(in_directory("b.h5"), 80);
  }
  if (s2_html_available().code == S2_OK) {
    record_in_turn(in_directory("b.html"), 40);
  }
}

// ---- Steps ------------------------------------------------------------------------------------

static S2World *heap_of_bodies(S2Stepping stepping, int substeps, bool audit) {
  S2World *world = small_world();
  add_all_joints(world);
  for (int i = 0; i < 6; i++) {
    add_disc(world, at(0.3 * i, 1.5 + 0.4 * i), 0.3);
  }
  S2WorldDef def = *s2_world_settings(world);
  def.stepping = stepping;
  def.substeps = substeps;
  def.audit = audit;
  must(s2_world_configure(world, &def));
  return world;
}

// A step that failed leaves no trace: the next one gives the same result, bit for bit.
static void step_in_turn(S2Stepping stepping, int substeps, bool audit) {
  int failed = 0;
  S2World *plain = heap_of_bodies(stepping, substeps, audit);
  S2World *poor = heap_of_bodies(stepping, substeps, audit);
  for (int step = 0; step < 40; step++) {
    if (step == 20) { // the data of audits grow
      add_disc(plain, at(-3, 2), 0.3);
      add_disc(poor, at(-3, 2), 0.3);
    }
    must(s2_world_step(plain));
    for (uint64_t n = 1;; n++) {
      assert_true(n < MOST_CALLS);
      uint64_t before = s2_world_hash(poor), steps = s2_world_step_count(poor);
      s2_memory_fail(n, true);
      S2Status status = s2_world_step(poor);
      s2_memory_fail(0, false);
      if (status.code == S2_OK) { // perhaps without some optional parts
        break;
      }
      assert_int_equal(status.code, S2_MEMORY);
      assert_true(before == s2_world_hash(poor) && steps == s2_world_step_count(poor));
      failed += 1;
    }
    assert_true(s2_world_hash(plain) == s2_world_hash(poor));
  }
  assert_in_range(failed, 3, 1000);
  s2_world_destroy(plain);
  s2_world_destroy(poor);
}

static void test_steps(void **state) {
  (void)state;
  step_in_turn(S2_SPECULATIVE, 1, false);
  step_in_turn(S2_SPECULATIVE, 3, false);
  step_in_turn(S2_EVENT, 1, false);
  step_in_turn(S2_BISECT, 1, false);
  step_in_turn(S2_EVENT, 1, true);
  step_in_turn(S2_SPECULATIVE, 3, true);
}

// Bodies in one place, whose number of contacts grows with the square of their number.
static void test_one_place(void **state) {
  (void)state;
  S2World *world = world_new(-9.81, 1.0 / 120);
  for (int i = 0; i < 40; i++) {
    add_disc(world, at(0, 0), 0.5);
  }
  uint64_t before = s2_world_hash(world);
  double remaining;
  s2_memory_fail(1, true);
  assert_int_equal(s2_world_resolve_overlaps(world, &remaining).code, S2_MEMORY);
  int failed = 0;
  for (uint64_t n = 1;; n++) {
    s2_memory_fail(n, true);
    S2Status status = s2_world_step(world);
    if (status.code == S2_OK) {
      break;
    }
    assert_int_equal(status.code, S2_MEMORY);
    assert_non_null(strstr(status.message, "step 1 of 40 bodies"));
    assert_true(before == s2_world_hash(world));
    failed += 1;
  }
  s2_memory_fail(0, false);
  assert_in_range(failed, 5, 100);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_building),  cmocka_unit_test(test_nesting),
      cmocka_unit_test(test_loading),   cmocka_unit_test(test_problem_files),
      cmocka_unit_test(test_recording), cmocka_unit_test(test_steps),
      cmocka_unit_test(test_one_place),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
