// The composition of a world has a revision number that changes with it and not with its motion; a
// moment that relies on this number equals one taken from scratch.
#include "files.h"

#include "record/s2d/s2d_write.h"

typedef struct Watch {
  S2World *world;
  S2Moment moment;  // taken repeatedly
  S2S2dScene scene; // as passed to a recording so far
  uint64_t revision;
} Watch;

static void assert_as_from_scratch(Watch *watch) {
  S2Moment fresh = {0};
  S2S2dPast past[2] = {0};
  S2S2dBytes bytes[2] = {0};
  must(s2_moment_capture(&watch->moment, watch->world));
  must(s2_moment_capture(&fresh, watch->world));
  const S2Moment *const moments[2] = {&watch->moment, &fresh};
  for (int i = 0; i < 2; i++) {
    must(s2_s2d_put_scene(&bytes[i], &past[i], moments[i]));
    must(s2_s2d_put_frame(&bytes[i], &past[i], moments[i], true));
    s2_s2d_past_free(&past[i]);
  }
  assert_int_equal(bytes[0].size, bytes[1].size);
  assert_memory_equal(bytes[0].at, bytes[1].at, bytes[0].size);
  s2_s2d_bytes_free(&bytes[0]);
  s2_s2d_bytes_free(&bytes[1]);
  s2_moment_free(&fresh);
}

static void assert_changed(Watch *watch) {
  assert_int_not_equal(s2_world_revision(watch->world), watch->revision);
  watch->revision = s2_world_revision(watch->world);
  assert_as_from_scratch(watch);
  assert_false(s2_s2d_same_scene(&watch->scene, &watch->moment));
  assert_true(s2_s2d_same_scene(&watch->scene, &watch->moment));
}

static void assert_unchanged(Watch *watch) {
  assert_int_equal(s2_world_revision(watch->world), watch->revision);
  assert_as_from_scratch(watch);
  assert_true(s2_s2d_same_scene(&watch->scene, &watch->moment));
}

static S2BodyId new_disc(S2World *world, const char *name) {
  const S2Vec2 centre = {0, 0};
  S2ShapeDef shape = {.vertices = &centre,
                      .count = 1,
                      .radius = 0.5,
                      .friction = (double)NAN,
                      .restitution = (double)NAN,
                      .density = (double)NAN};
  S2BodyDef def = s2_body_def();
  def.position = s2_vec2(50, 50);
  def.name = name;
  def.shapes = &shape;
  def.shape_count = 1;
  S2BodyId body;
  must(s2_body_create(world, &def, &body));
  return body;
}

static Watch watch_new(void) {
  Watch watch = {.world = small_world()};
  assert_changed(&watch);
  return watch;
}

static void watch_free(Watch *watch) {
  s2_moment_free(&watch->moment);
  s2_s2d_scene_free(&watch->scene);
  s2_world_destroy(watch->world);
}

static void bodies_change(void **state) {
  (void)state;
  Watch watch = watch_new();
  S2BodyId body = new_disc(watch.world, "one");
  assert_changed(&watch);
  static const struct {
    S2BodyField field;
    double value;
  } seen[] = {{S2_BODY_MASS, 3},   {S2_BODY_INERTIA, 2}, {S2_BODY_COLOR, 0x112233ff},
              {S2_BODY_SENSOR, 1}, {S2_BODY_ENABLED, 0}, {S2_BODY_TYPE, S2_KINEMATIC}};
  for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
    must(s2_body_set(watch.world, body, seen[i].field, seen[i].value));
    assert_changed(&watch);
  }
  must(s2_body_set_name(watch.world, body, "two"));
  assert_changed(&watch);
  must(s2_body_destroy(watch.world, body));
  assert_changed(&watch);
  watch_free(&watch);
}

static void motion_does_not(void **state) {
  (void)state;
  Watch watch = watch_new();
  S2BodyId body = new_disc(watch.world, "one");
  assert_changed(&watch);
  static const S2BodyField unseen[] = {S2_BODY_X,        S2_BODY_ANGLE, S2_BODY_VY,
                                       S2_BODY_FRICTION, S2_BODY_MASK,  S2_BODY_GRAVITY_SCALE};
  for (size_t i = 0; i < sizeof unseen / sizeof unseen[0]; i++) {
    must(s2_body_set(watch.world, body, unseen[i], 1));
    assert_unchanged(&watch);
  }
  for (int i = 0; i < 20; i++) {
    must(s2_world_step(watch.world));
    assert_unchanged(&watch);
  }
  S2WorldDef def = *s2_world_settings(watch.world);
  def.dt *= 0.5;
  must(s2_world_configure(watch.world, &def)); // passed to a recording, but no part of the revision
  assert_int_equal(s2_world_revision(watch.world), watch.revision);
  assert_as_from_scratch(&watch);
  assert_false(s2_s2d_same_scene(&watch.scene, &watch.moment));
  watch_free(&watch);
}

static void joints_change(void **state) {
  (void)state;
  Watch watch = watch_new();
  S2BodyId body = new_disc(watch.world, "one");
  S2JointDef def = s2_joint_def(S2_HINGE);
  def.a = body;
  def.anchor_a = s2_vec2(51, 50);
  def.break_force = 0.5;
  def.compliance.linear = 1e-6;
  S2JointId joint, second;
  must(s2_joint_create(watch.world, &def, &joint));
  assert_changed(&watch);
  must(s2_world_step(watch.world)); // the body hangs on it: it breaks
  double broken = 0;
  must(s2_joint_get(watch.world, joint, S2_JOINT_BROKEN, &broken));
  assert_true(broken == 1);
  assert_changed(&watch);
  must(s2_joint_set(watch.world, joint, S2_JOINT_ENABLED, 1));
  assert_changed(&watch);
  must(s2_joint_set(watch.world, joint, S2_JOINT_COMPLIANCE, 0));
  assert_changed(&watch);
  must(s2_joint_create(watch.world, &def, &second));
  assert_changed(&watch);
  must(s2_joint_destroy(watch.world, joint));
  assert_changed(&watch);
  must(s2_body_destroy(watch.world, body)); // and its joint
  assert_changed(&watch);
  watch_free(&watch);
}

static void images_and_clones(void **state) {
  (void)state;
  Watch watch = watch_new();
  size_t size = s2_world_image_size(watch.world);
  void *image = s2_memory_take(size);
  s2_world_image_write(watch.world, image);
  new_disc(watch.world, "one");
  assert_changed(&watch);
  must(s2_world_image_read(watch.world, image, size));
  assert_changed(&watch);
  s2_memory_free(image);
  S2World *clone = NULL;
  must(s2_world_clone(watch.world, &clone));
  assert_unchanged(&watch);
  s2_world_destroy(watch.world);
  watch.world = clone;
  watch.revision = s2_world_revision(clone);
  watch.moment.revision = 0; // the moment is from another world
  assert_unchanged(&watch);
  watch_free(&watch);
}

// Joints are read again when the moment before had left them out.
static void bodies_alone(void **state) {
  (void)state;
  Watch watch = watch_new();
  S2JointDef def = s2_joint_def(S2_HINGE);
  def.a = new_disc(watch.world, "one");
  def.anchor_a = s2_vec2(51, 50);
  S2JointId joint;
  must(s2_joint_create(watch.world, &def, &joint));
  must(s2_moment_capture_bodies(&watch.moment, watch.world));
  assert_int_equal(watch.moment.joints.count, 0);
  assert_int_equal(watch.moment.contacts.count, 0);
  assert_as_from_scratch(&watch);
  assert_int_equal(watch.moment.joints.count, s2_world_joints(watch.world, NULL, 0));
  must(s2_world_step(watch.world));
  must(s2_moment_capture_bodies(&watch.moment, watch.world));
  assert_true(watch.moment.time == s2_world_time(watch.world));
  assert_as_from_scratch(&watch);
  watch_free(&watch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bodies_change), cmocka_unit_test(motion_does_not),
      cmocka_unit_test(joints_change), cmocka_unit_test(images_and_clones),
      cmocka_unit_test(bodies_alone),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
