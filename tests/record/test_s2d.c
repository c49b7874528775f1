// Bodies in compact frames: every bit is restored, and bodies at rest take little space.
#include "files.h"

#include "base/rng.h"
#include "dynamics/annotation.h"
#include "record/record.h"
#include "record/s2d/replay.h"
#include "record/s2d/s2d_frame.h"

// A speed: none, one of few bits (of any size), one like before, a bit pattern.
static double any_speed(S2Rng *rng, const double *before) {
  uint64_t bits = s2_rng_next(rng);
  double value = 0;
  switch (s2_rng_integer(rng, 0, 5)) {
  case 0:
    return (bits & 1) != 0 ? 0.0 : -0.0;
  case 1:
    return ldexp((double)(int64_t)(bits >> 50), (int)s2_rng_integer(rng, -1090, 1010));
  case 2:
    return ldexp((double)s2_rng_integer(rng, -99, 99), -60);
  case 3:
    return before[s2_rng_integer(rng, 0, 2)];
  case 4:
    return before[0] + ldexp((double)s2_rng_integer(rng, -99, 99), -60);
  default:
    memcpy(&value, &bits, sizeof value);
    return value;
  }
}

static void any_speeds_come_back(void **state) {
  (void)state;
  enum { FRAMES = 600 };
  S2World *world = small_world();
  S2Moment moment = {0};
  S2S2dPast past[2] = {0};
  S2Rng rng = s2_rng_seeded(3);
  must(s2_moment_capture(&moment, world));
  S2Moment read = {0};
  must(s2_moment_capture(&read, world));
  double before[4][3][3] = {0};
  for (int i = 0; i < FRAMES; i++) {
    for (int b = 0; b < moment.bodies.count; b++) {
      S2MomentBody *body = &moment.bodies.at[b];
      for (int k = 0; k < 3; k++) {
        body->v[k] = any_speed(&rng, before[b][k]);
        body->q[k] += (double)s2_rng_integer(&rng, 0, 1) * moment.settings.dt * body->v[k];
        before[b][k][2] = before[b][k][1];
        before[b][k][1] = before[b][k][0];
        before[b][k][0] = body->v[k];
      }
    }
    moment.step += 1;
    unsigned char *bytes = s2_memory_take(s2_s2d_frame_room(&moment));
    past[0].grain = past[1].grain = past[0].impulse_grain = past[1].impulse_grain = 0x1p-10;
    size_t size = s2_s2d_frame_write(&past[0], &moment, i % 50 == 0, bytes);
    assert_in_range(size, 1, s2_s2d_frame_room(&moment));
    assert_true(s2_s2d_frame_read(&past[1], bytes, size, &read));
    s2_memory_free(bytes);
    for (int b = 0; b < moment.bodies.count; b++) {
      assert_memory_equal(read.bodies.at[b].q, moment.bodies.at[b].q, 3 * sizeof(double));
      assert_memory_equal(read.bodies.at[b].v, moment.bodies.at[b].v, 3 * sizeof(double));
    }
  }
  s2_s2d_past_free(&past[0]);
  s2_s2d_past_free(&past[1]);
  s2_moment_free(&moment);
  s2_moment_free(&read);
  s2_world_destroy(world);
}

static void new_box(S2World *world, S2BodyType type, S2Vec2 position, double width) {
  const S2Vec2 corners[4] = {
      {-width / 2, -0.5}, {width / 2, -0.5}, {width / 2, 0.5}, {-width / 2, 0.5}};
  S2ShapeDef shape = {.vertices = corners,
                      .count = 4,
                      .friction = (double)NAN,
                      .restitution = (double)NAN,
                      .density = (double)NAN};
  S2BodyDef def = s2_body_def();
  S2BodyId body;
  def.type = type;
  def.position = position;
  def.shapes = &shape;
  def.shape_count = 1;
  must(s2_body_create(world, &def, &body));
}

// 14 bytes a body and frame in total, for a pyramid of 55 boxes. Without short numbers for speeds
// of bodies at rest it is 23.
static void rest_takes_little(void **state) {
  (void)state;
  enum { BASE = 10, FRAMES = 256, BODIES = 1 + BASE * (BASE + 1) / 2 };
  S2WorldDef def = s2_world_def();
  S2World *world = NULL;
  must(s2_world_create(&def, &world));
  new_box(world, S2_STATIC, s2_vec2(0, -0.5), 40);
  for (int row = 0; row < BASE; row++) {
    for (int i = 0; i < BASE - row; i++) {
      new_box(world, S2_DYNAMIC, s2_vec2(i - 0.5 * (BASE - row - 1), row + 0.5), 1);
    }
  }
  S2Recorder *recorder = NULL;
  must(s2_recorder_open(in_directory("rest.s2d"), &recorder));
  for (int i = 0; i < FRAMES; i++) {
    must(s2_world_step(world));
    must(s2_recorder_frame(recorder, world));
  }
  must(s2_recorder_close(recorder));
  size_t size = 0;
  s2_memory_free(read_all(in_directory("rest.s2d"), &size));
  assert_in_range(size / FRAMES / BODIES, 1, 17);
  s2_world_destroy(world);
}

static S2Annotation annotation(S2AnnotationType type, double x, const char *text,
                               const char *name) {
  S2Annotation one = {
      .type = type, .to = s2_vec2(x, 1), .color = 0x112233ff, .size = 3, .letters = 13};
  snprintf(one.text, sizeof one.text, "%s", text);
  snprintf(one.name, sizeof one.name, "%s", name);
  return one;
}

// The annotations in the frames of four steps: the newest one of a name, and none where a step made
// none.
static void annotations_are_those_of_their_frame(void **state) {
  (void)state;
  S2World *world = small_world(), *plain = small_world();
  S2Recorder *recorder = NULL;
  must(s2_recorder_open(in_directory("annotated.s2d"), &recorder));
  for (int i = 0; i < 4; i++) {
    S2Annotation arrow = annotation(S2_ANNOTATION_ARROW, i, "way", "");
    S2Annotation goal = annotation(S2_ANNOTATION_POINT, 10 + i, "\303\251 goal", "goal");
    if (i != 2) {
      must(s2_world_annotate(world, &arrow, 1));
    }
    if (i > 0) {
      must(s2_world_annotate(world, &goal, 1));
    }
    must(s2_world_step(world));
    must(s2_world_step(plain));
    assert_true(s2_world_hash(world) == s2_world_hash(plain));
    must(s2_recorder_frame(recorder, world));
  }
  must(s2_recorder_close(recorder));
  S2Replay *replay = NULL;
  must(s2_replay_open(in_directory("annotated.s2d"), &replay));
  static const int counts[4] = {1, 2, 1, 2}, order[4] = {3, 0, 2, 1};
  for (int k = 0; k < 4; k++) {
    int i = order[k];
    const S2Moment *moment;
    must(s2_replay_frame(replay, (uint64_t)i, &moment));
    assert_int_equal(moment->annotations.count, counts[i]);
    const S2MomentAnnotation *last = &moment->annotations.at[counts[i] - 1];
    assert_int_equal(last->type, i > 0 ? S2_ANNOTATION_POINT : S2_ANNOTATION_ARROW);
    assert_true(last->to.x == (i > 0 ? 10 + i : i) && last->color == 0x112233ff);
    assert_string_equal(last->text, i > 0 ? "\303\251 goal" : "way");
  }
  s2_replay_close(replay);
  // Neither images nor clones have them.
  int count;
  S2World *clone;
  must(s2_world_clone(world, &clone));
  s2_world_annotations(clone, &count);
  assert_int_equal(count, 0);
  s2_world_clear_annotations(world, "goal");
  s2_world_annotations(world, &count);
  assert_int_equal(count, 1);
  s2_world_clear_annotations(world, NULL);
  s2_world_annotations(world, &count);
  assert_int_equal(count, 0);
  s2_world_destroy(clone);
  s2_world_destroy(plain);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_speeds_come_back),
      cmocka_unit_test(rest_takes_little),
      cmocka_unit_test(annotations_are_those_of_their_frame),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
