// Visual recordings: strobe pictures, trails, PNG files, videos (through programs that replace
// ffmpeg; test_ffmpeg.c tests the real one).
#include "files.h"

#include "record/album.h"
#include "record/draw/pixels.h"
#include "record/draw/view.h"
#include "record/record.h"
#include "record/video/video.h"

#include <stdlib.h>
#include <sys/stat.h>

static bool has_cairo(void) {
  return s2_canvas_available().code == S2_OK;
}

// A ball in free flight to the right, over a floor.
static S2World *flight(S2BodyId *ball) {
  S2World *world = world_new(0, 1.0 / 64);
  add_box(world, fixed_at(0, -1.5), 40, 1);
  *ball = add_disc(world, named(at(0, 0), "ball"), 0.5);
  must(s2_body_set_v(world, *ball, (const double[3]){0, 4, 0}));
  return world;
}

static S2Status record_seconds(S2World *world, const char *path, const S2RecordOptions *options,
                               double seconds) {
  S2Recorder *recorder = NULL;
  S2_TRY(s2_recorder_open_with(path, options, &recorder));
  S2Status status = s2_recorder_frame(recorder, world);
  while (status.code == S2_OK && s2_world_time(world) < seconds - 1e-9) {
    must(s2_world_step(world));
    status = s2_recorder_frame(recorder, world);
  }
  S2Status closed = s2_recorder_close(recorder);
  return status.code != S2_OK ? status : closed;
}

static S2RecordOptions plain_options(void) {
  S2RecordOptions options = s2_record_options();
  options.draw.contacts = options.draw.legend = false;
  return options;
}

static char *recorded_svg(const S2RecordOptions *options, double seconds) {
  S2BodyId ball;
  S2World *world = flight(&ball);
  must(record_seconds(world, in_directory("flight.svg"), options, seconds));
  s2_world_destroy(world);
  size_t size = 0;
  char *svg = read_all(in_directory("flight.svg"), &size);
  assert_well_formed(svg);
  return svg;
}

static void test_strobe(void **state) {
  (void)state;
  S2RecordOptions options = plain_options();
  options.strobe_period = 0.25;
  char *svg = recorded_svg(&options, 1.1);
  // 0, 0.25, 0.5, 0.75 and 1 s: a disc and the dot of its centre each.
  assert_int_equal(occurrences(svg, "<circle"), 5 * 2);
  assert_int_equal(occurrences(svg, "\"#f7bd7c\""), 1); // only the last in full colour
  s2_memory_free(svg);

  const double times[] = {0.5, 0.75};
  options.strobe_period = 0;
  options.strobe_times = times;
  options.strobe_count = 2;
  options.draw.legend = true;
  svg = recorded_svg(&options, 1);
  assert_non_null(strstr(svg, ">t = 0.5 \xe2\x80\xa6 0.75 s<"));
  s2_memory_free(svg);

  options.from = 0.9; // only later times of the strobe are left
  options.strobe_count = 1;
  options.to = 0.95;
  svg = recorded_svg(&options, 1);
  assert_non_null(strstr(svg, ">t = 0.9062 s<"));
  s2_memory_free(svg);

  S2BodyId ball;
  S2World *world = flight(&ball);
  options.from = 5;
  options.to = INFINITY;
  S2Status status = record_seconds(world, in_directory("none.svg"), &options, 0.1);
  assert_int_equal(status.code, S2_IO);
  assert_non_null(strstr(status.message, "none of the requested times"));
  s2_world_destroy(world);
}

// However long the run and short the period, a bounded number is kept, evenly spaced.
static void test_strobe_is_bounded(void **state) {
  (void)state;
  S2BodyId ball;
  S2World *world = flight(&ball);
  S2RecordOptions options = plain_options();
  options.strobe_period = 1e-6;
  S2Album album = {0};
  S2Moment moment = {0};
  must(s2_moment_capture(&moment, world));
  for (int i = 0; i < 3000; i++) {
    moment.time = i;
    must(s2_album_add(&album, &moment, &options));
  }
  assert_in_range(album.count, 100, 256);
  for (int i = 1; i < album.count; i++) {
    double step = album.moments.at[i].time - album.moments.at[i - 1].time;
    assert_true(fabs(step - album.moments.at[1].time) <= 1e-9);
  }
  s2_album_free(&album);
  s2_moment_free(&moment);
  s2_world_destroy(world);
}

static void test_trails(void **state) {
  (void)state;
  S2RecordOptions options = plain_options();
  char *without = recorded_svg(&options, 1);
  options.trails = S2_TRAILS_ALL;
  char *with = recorded_svg(&options, 1);
  assert_true(occurrences(with, "<path") > occurrences(without, "<path"));
  const S2BodyId stranger = {77, 77};
  options.trails = S2_TRAILS_LISTED;
  options.trail_bodies = &stranger;
  options.trail_count = 1;
  char *none = recorded_svg(&options, 1);
  assert_int_equal(occurrences(none, "<path"), occurrences(without, "<path"));
  s2_memory_free(none);
  s2_memory_free(with);
  s2_memory_free(without);

  // Long ones are thinned: bounded, from the first point to the last.
  S2BodyId ball;
  S2World *world = flight(&ball);
  S2Moment moment = {0};
  must(s2_moment_capture(&moment, world));
  S2Trails trails = {0};
  options.trails = S2_TRAILS_ALL;
  for (int i = 0; i < 20000; i++) {
    moment.time = i;
    moment.bodies.at[1].q[1] = i;
    s2_trails_add(&trails, &moment, &options);
  }
  const S2Trail *trail = s2_trails_find(&trails, ball);
  assert_non_null(trail);
  assert_in_range(trail->points.count, 2000, 4096);
  for (int i = 0; i < trail->points.count; i++) {
    assert_true(trail->points.at[i].x == trails.times.at[trail->first + i]);
  }
  assert_true(trails.times.at[0] == 0 && trails.times.at[trails.times.count - 1] > 19900);
  s2_trails_free(&trails);
  s2_moment_free(&moment);
  s2_world_destroy(world);
}

static void test_title_dark_follow(void **state) {
  (void)state;
  S2BodyId ball;
  S2World *world = flight(&ball);
  S2DrawOptions options = s2_draw_options();
  snprintf(options.title, sizeof options.title, "a < b & c");
  options.dark = true;
  options.follow = ball;
  must(s2_body_set_q(world, ball, (const double[3]){0, 7, 3}));
  must(s2_world_draw(world, in_directory("dark.svg"), &options));
  size_t size = 0;
  char *svg = read_all(in_directory("dark.svg"), &size);
  assert_well_formed(svg);
  assert_non_null(strstr(svg, ">a &lt; b &amp; c</text>"));
  assert_non_null(strstr(svg, "fill=\"#16181d\""));
  assert_null(strstr(svg, "#fcfbf8"));
  s2_memory_free(svg);
  S2Moment moment = {0};
  must(s2_moment_capture(&moment, world));
  options.fit = false;
  options.lo = s2_vec2(-1, -1);
  options.hi = s2_vec2(1, 1);
  S2SceneView view;
  must(s2_view_of(&moment, &options, &view));
  S2Vec2 pixel = s2_view_pixel(&view, s2_vec2(7, 3));
  assert_true(fabs(pixel.x - 0.5 * view.width) < 1e-6);
  assert_true(fabs(pixel.y - (view.top + 0.5 * (view.height - view.top - view.bottom))) < 1e-6);
  s2_moment_free(&moment);
  s2_world_destroy(world);
}

// A body on a long rope: the picture includes the point from which it hangs, whichever end is named
// first.
static void test_far_anchor(void **state) {
  (void)state;
  for (int order = 0; order < 2; order++) {
    S2World *world = world_new(-10, 1.0 / 120);
    S2BodyId ball = add_disc(world, at(0, 0), 0.1);
    S2JointDef def =
        order == 0 ? joint_def(S2_ROPE, ball, no_body) : joint_def(S2_ROPE, no_body, ball);
    S2Vec2 *far = order == 0 ? &def.anchor_b : &def.anchor_a;
    *far = s2_vec2(0, 12);
    def.length = 13;
    S2JointId rope;
    S2Status made = s2_joint_create(world, &def, &rope);
    if (order == 1 && made.code != S2_OK) {
      s2_world_destroy(world);
      continue; // joints name their body first
    }
    must(made);
    S2Moment moment = {0};
    must(s2_moment_capture(&moment, world));
    S2DrawOptions options = s2_draw_options();
    S2SceneView view;
    must(s2_view_of(&moment, &options, &view));
    assert_true(view.hi.y > 12 && view.lo.y < -0.1);
    s2_moment_free(&moment);
    s2_world_destroy(world);
  }
}

static void test_png(void **state) {
  (void)state;
  S2World *world = small_world();
  S2DrawOptions options = s2_draw_options();
  options.width = 321;
  options.names = true;
  if (!has_cairo()) {
    S2Status status = s2_world_draw(world, in_directory("a.png"), &options);
    assert_int_equal(status.code, S2_UNAVAILABLE);
    assert_non_null(strstr(status.message, "without cairo"));
    s2_world_destroy(world);
    skip();
  }
  must(s2_world_draw(world, in_directory("a.png"), &options));
  must(s2_world_draw(world, in_directory("b.png"), &options));
  size_t size = 0, again = 0;
  char *png = read_all(in_directory("a.png"), &size),
       *same = read_all(in_directory("b.png"), &again);
  assert_true(size == again && memcmp(png, same, size) == 0);
  assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
  assert_int_equal((unsigned char)png[18] << 8 | (unsigned char)png[19], 321);
  s2_memory_free(png);
  s2_memory_free(same);
  S2Status status = s2_world_draw(world, in_directory("no/such.png"), &options);
  assert_int_equal(status.code, S2_IO);
  s2_world_destroy(world);
}

// The pixels are where the scene places them.
static void test_pixels(void **state) {
  (void)state;
  if (!has_cairo()) {
    skip();
  }
  S2BodyId ball;
  S2World *world = flight(&ball);
  must(s2_body_set(world, ball, S2_BODY_COLOR, 0x123456ff));
  S2Moment moment = {0};
  S2Scene scene = {0};
  S2DrawOptions options = s2_draw_options();
  options.fit = false;
  options.lo = s2_vec2(-2, -2);
  options.hi = s2_vec2(2, 2);
  must(s2_moment_capture(&moment, world));
  must(s2_picture_build(&scene, &moment, &options));
  S2Canvas *canvas = NULL;
  must(s2_pixels_open(&canvas, &scene.view));
  must(s2_pixels_draw(canvas, &scene));
  const unsigned char *pixels = s2_canvas_pixels(canvas);
  const struct {
    S2Vec2 at;
    uint32_t color;
  } expected[] = {
      {{-0.2, 0.2}, 0x123456},   {{0.2, -0.3}, 0x123456},  {{0, 0.8}, 0xfcfbf8},
      {{-0.45, 0.45}, 0xfcfbf8}, {{0.1, -1.15}, 0xdedad2},
  };
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    S2Vec2 pixel = s2_view_pixel(&scene.view, expected[i].at);
    uint32_t value;
    memcpy(&value, pixels + 4 * ((size_t)pixel.y * (size_t)scene.view.width + (size_t)pixel.x), 4);
    assert_int_equal(value & 0xffffff, expected[i].color);
  }
  s2_canvas_free(canvas);
  s2_scene_free(&scene);
  s2_moment_free(&moment);
  s2_world_destroy(world);
}

// ---- Videos -----------------------------------------------------------------------------------

static char old_path[4096];

// PATH is a folder with only this program as `ffmpeg`; NULL: with nothing at all.
static void fake_ffmpeg(const char *script) {
  const char *folder = in_directory("bin");
  (void)mkdir(folder, 0777);
  char program[160];
  snprintf(program, sizeof program, "%s/ffmpeg", folder);
  remove(program);
  if (script != NULL) {
    write_all(program, script, strlen(script));
    assert_int_equal(chmod(program, 0755), 0);
  }
  setenv("PATH", folder, 1);
}

static S2Status record_video(const char *name, const S2RecordOptions *options, double seconds) {
  S2BodyId ball;
  S2World *world = flight(&ball);
  S2Status status = record_seconds(world, in_directory(name), options, seconds);
  // The run itself is not affected.
  assert_true(status.code != S2_OK || fabs(s2_world_time(world) - seconds) < 1e-9);
  s2_world_destroy(world);
  return status;
}

// Answers -version; otherwise writes the frames to a file next to the video.
static const char keeping[] = "#!/bin/sh\n"
                              "for last; do :; done\n"
                              "case $last in -version) exit 0;; esac\n"
                              "/bin/cat > \"${last#file:}.raw\"\n"
                              "echo made > \"${last#file:}\"\n";

static void test_frames(void **state) {
  (void)state;
  if (!has_cairo()) {
    skip();
  }
  S2RecordOptions options = plain_options();
  options.draw.fit = false;
  options.draw.lo = s2_vec2(-1, -1);
  options.draw.hi = s2_vec2(7, 3);
  options.draw.width = 81; // rounded up to even numbers
  fake_ffmpeg(keeping);
  static const struct {
    double fps, speed;
    int frames;
  } cases[] = {{32, 1, 33}, {64, 1, 65}, {128, 1, 129}, {30, 1, 31}, {30, 0.5, 61}, {16, 2, 9}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    options.fps = cases[i].fps;
    options.speed = cases[i].speed;
    must(record_video("run.mp4", &options, 1));
    size_t size = 0;
    char *raw = read_all(in_directory("run.mp4.part.raw"), &size);
    assert_int_equal(size, (size_t)cases[i].frames * 82 * 42 * 4); // 41 rows become 42
    s2_memory_free(raw);
  }
  setenv("PATH", old_path, 1);
}

static void expect_failure(const char *script, const char *name, const char *message) {
  S2RecordOptions options = plain_options();
  fake_ffmpeg(script);
  S2Status status = record_video(name, &options, 1);
  setenv("PATH", old_path, 1);
  assert_int_equal(status.code, S2_IO);
  if (strstr(status.message, message) == NULL) {
    fail_msg("'%s' is not in '%s'", message, status.message);
  }
}

static void test_ffmpeg_fails(void **state) {
  (void)state;
  if (!has_cairo()) {
    skip();
  }
  expect_failure(NULL, "run.mp4", "ffmpeg, which makes .gif and .mp4, is not in PATH");
  expect_failure("#!/bin/sh\necho no library >&2\nexit 127\n", "run.gif", "no library");
  // Dies without reading, while frames are sent: this must not cause a signal.
  expect_failure("#!/bin/sh\ncase $* in *-version) exit 0;; esac\n"
                 "echo first line >&2\necho 'Unknown encoder' >&2\nexit 1\n",
                 "run.mp4", "run.mp4': ffmpeg failed: Unknown encoder");
  expect_failure("#!/bin/sh\ncase $* in *-version) exit 0;; esac\nkill -9 $$\n", "run.mp4",
                 "killed by signal 9");
  expect_failure("#!/bin/sh\nexit 0\n", "run.gif", "ended before the last frame");
  expect_failure(keeping, "no/such/run.mp4", "No such file or directory");
  // An incomplete video is dropped: the former one stays.
  expect_failure("#!/bin/sh\nfor last; do :; done\ncase $last in -version) exit 0;; esac\n"
                 "echo half > \"${last#file:}\"\nexit 1\n",
                 "run.mp4", "ffmpeg");
  assert_true(access(in_directory("run.mp4.part"), F_OK) != 0);
  size_t size = 0;
  char *video = read_all(in_directory("run.mp4"), &size);
  assert_string_equal(video, "made\n");
  s2_memory_free(video);
  assert_true(access(in_directory("run.gif"), F_OK) != 0); // there never was one
}

static void test_bad_options(void **state) {
  (void)state;
  S2Recorder *recorder = NULL;
  const double bad[] = {0, -1, NAN, INFINITY};
  for (int i = 0; i < 4; i++) {
    S2RecordOptions options = s2_record_options();
    options.fps = bad[i];
    assert_int_equal(s2_recorder_open_with(in_directory("x.mp4"), &options, &recorder).code,
                     S2_INVALID);
    options = s2_record_options();
    options.speed = bad[i];
    assert_int_equal(s2_recorder_open_with(in_directory("x.mp4"), &options, &recorder).code,
                     S2_INVALID);
  }
  S2RecordOptions options = s2_record_options();
  options.strobe_period = NAN;
  assert_int_equal(s2_recorder_open_with(in_directory("x.svg"), &options, &recorder).code,
                   S2_INVALID);
}

static int set_up(void **state) {
  const char *path = getenv("PATH");
  snprintf(old_path, sizeof old_path, "%s", path == NULL ? "" : path);
  return make_directory(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strobe),       cmocka_unit_test(test_strobe_is_bounded),
      cmocka_unit_test(test_trails),       cmocka_unit_test(test_title_dark_follow),
      cmocka_unit_test(test_far_anchor),   cmocka_unit_test(test_png),
      cmocka_unit_test(test_pixels),       cmocka_unit_test(test_frames),
      cmocka_unit_test(test_ffmpeg_fails), cmocka_unit_test(test_bad_options),
  };
  return cmocka_run_group_tests(tests, set_up, remove_directory);
}
