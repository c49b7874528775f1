// Islands at rest are kept and not stepped (dynamics/rest/rest.h), which changes no bit. A world
// that was restored from a snapshot keeps no islands in its next step. So a second world, restored
// before each step, steps everything; both worlds must stay equal, to the last byte of their
// images.
#include "worlds.h"

enum { STEPS = 500, DISTURBED = 40 };

// S2_SCENES=400 build/tests/test_kept: runs that many scenes
static int scenes(void) {
  const char *more = getenv("S2_SCENES");
  return more != NULL ? atoi(more) : S2_FEWER(25, 6);
}

static double between(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static S2BodyId any_body(S2World *world, S2Rng *rng, double x, double y) {
  S2BodyDef def = rough(at(x, y), between(rng, 0.2, 1), s2_rng_uniform(rng) < 0.3 ? 0.3 : 0);
  def.density = between(rng, 0.5, 4);
  if (s2_rng_uniform(rng) < 0.3) {
    return add_disc(world, def, between(rng, 0.2, 0.4));
  }
  def.angle = s2_rng_uniform(rng) < 0.5 ? 0 : between(rng, -3, 3);
  return add_box(world, def, between(rng, 0.4, 0.8), between(rng, 0.4, 0.8));
}

// Heaps, stacks and a pendulum on one floor, whose islands rest and move independently of each
// other.
static S2World *scene_of(uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  S2WorldDef def = fixed_def();
  def.stepping = seed % 3 == 0 ? S2_SPECULATIVE : seed % 3 == 1 ? S2_EVENT : S2_AUTO;
  def.contact = seed % 5 == 4 && def.stepping == S2_SPECULATIVE ? S2_CONVEX : S2_COULOMB;
  def.gravity = s2_vec2(0, -9.81);
  def.dt = seed % 2 == 0 ? 1.0 / 60 : 1.0 / 200;
  S2World *world;
  must(s2_world_create(&def, &world));
  add_box(world, rough(fixed_at(0, -0.5), 0.6, 0), 60, 1);
  int heaps = (int)s2_rng_integer(&rng, 1, 4);
  for (int i = 0; i < heaps; i++) {
    int count = (int)s2_rng_integer(&rng, 1, def.stepping == S2_EVENT ? 4 : 12);
    bool stack = s2_rng_uniform(&rng) < 0.5;
    for (int k = 0; k < count; k++) {
      double x = 8 * i - 12;
      if (stack) {
        add_box(world, rough(at(x, 0.5 * k + 0.25), 0.6, 0), 0.5 + 0.1 * (k % 2), 0.5);
      } else {
        any_body(world, &rng, x + between(&rng, -1, 1), 0.6 + 0.9 * k);
      }
    }
  }
  // A plate that moves along the floor and carries the bodies that lie on it, a sensor, and a
  // pendulum.
  S2BodyDef plate = at(-20, 0.1);
  plate.type = S2_KINEMATIC;
  plate.velocity = s2_vec2(seed % 4 == 0 ? 2 : 0, 0);
  add_box(world, plate, 2, 0.2);
  any_body(world, &rng, -20, 1);
  S2BodyDef sensor = fixed_at(-12, 0.5);
  sensor.sensor = true;
  add_box(world, sensor, 2, 2);
  S2BodyId bob = any_body(world, &rng, 20, 4);
  S2JointDef hinge = hinge_def(bob, no_body, 22, 4);
  S2JointId joint;
  must(s2_joint_create(world, &hinge, &joint));
  must(s2_joint_set(world, joint, S2_JOINT_MOTOR_MAX, 20));
  return world;
}

// Changes that a program may make to a world between two steps.
static void disturb(S2World *world, S2Rng *rng) {
  S2BodyId all[128];
  int count = s2_world_bodies(world, all, 128);
  S2BodyId one = all[s2_rng_integer(rng, 1, count - 1)];
  double q[3], v[3] = {0, between(rng, -2, 2), between(rng, 0, 3)};
  must(s2_body_q(world, one, q));
  switch (s2_rng_integer(rng, 0, 7)) {
  case 0: { // a force, mostly too small to move anything
    must(s2_body_apply_force(world, one, s2_vec2(between(rng, -1, 1), 0), NULL));
    break;
  }
  case 1:
    must(s2_body_set_v(world, one, v));
    break;
  case 2: // to its own pose: the impulses of its contacts are forgotten
    must(s2_body_set_q(world, one, q));
    break;
  case 3:
    q[2] += 1;
    must(s2_body_set_q(world, one, q));
    break;
  case 4:
    (void)any_body(world, rng, between(rng, -14, 14), between(rng, 2, 8));
    break;
  case 5:
    must(s2_body_destroy(world, one));
    break;
  case 6:
    must(s2_body_set(world, one, S2_BODY_FRICTION, between(rng, 0, 1)));
    break;
  default: {
    S2BodyDef def = at(between(rng, -14, 14), 1);
    def.velocity = s2_vec2(between(rng, -10, 10), 0);
    (void)add_disc(world, def, 0.2);
  }
  }
}

static void *image_of(const S2World *world, size_t *size) {
  *size = s2_world_image_size(world);
  void *image = calloc(1, *size);
  assert_non_null(image);
  s2_world_image_write(world, image);
  return image;
}

static void test_same_bits(void **state) {
  (void)state;
  uint64_t kept = 0, islands = 0;
  for (int k = 0; k < scenes(); k++) {
    S2World *one = scene_of((uint64_t)k), *other;
    must(s2_world_clone(one, &other));
    S2Rng rng = s2_rng_seeded(77 + (uint64_t)k), same = rng;
    for (int i = 0; i < STEPS; i++) {
      if (i % DISTURBED == DISTURBED - 1) {
        disturb(one, &rng);
        disturb(other, &same);
      }
      // A law that moves the pendulum wakes no other body.
      S2JointId joint;
      if (s2_world_joints(one, &joint, 1) == 1) {
        must(s2_joint_set(one, joint, S2_JOINT_MOTOR_SPEED, sin(0.01 * i)));
        must(s2_joint_set(other, joint, S2_JOINT_MOTOR_SPEED, sin(0.01 * i)));
      }
      size_t size, other_size;
      void *before = image_of(other, &size);
      must(s2_world_image_read(other, before, size));
      free(before);
      must(s2_world_step(one));
      must(s2_world_step(other));
      void *image = image_of(one, &size), *other_image = image_of(other, &other_size);
      assert_int_equal(size, other_size);
      if (memcmp(image, other_image, size) != 0) {
        fail_msg("scene %d differs after step %d", k, i + 1);
      }
      S2WorldResiduals residuals = s2_world_residuals(one), others = s2_world_residuals(other);
      assert_memory_equal(&residuals, &others, sizeof residuals);
      free(image);
      free(other_image);
      islands += (uint64_t)s2_world_stats(one)->islands;
    }
    assert_int_equal(s2_world_stats(other)->kept, 0);
    assert_int_equal(s2_world_stats(one)->solves, s2_world_stats(other)->solves);
    assert_int_equal(s2_world_stats(one)->mode_changes, s2_world_stats(other)->mode_changes);
    kept += s2_world_stats(one)->kept;
    s2_world_destroy(one);
    s2_world_destroy(other);
  }
  print_message("%d of %d islands were kept\n", (int)kept, (int)islands);
  assert_true(kept > islands / 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
