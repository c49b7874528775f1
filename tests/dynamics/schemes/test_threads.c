// Threads over islands (dynamics/schemes/threads.h) do their part of the work and change no bit.
#include "worlds.h"

enum { HEAPS = 4, IN_A_HEAP = 24, STEPS = S2_FEWER(200, 60) };

static double between(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

// Heaps of discs and boxes that fall between walls, at distances from each other. In speculative
// steps their floor moves; in the others a moving ground depends on time, which threads do not
// support.
static S2World *heaps(S2Stepping stepping, S2ContactModel contact, double restitution) {
  S2Rng rng = s2_rng_seeded(5);
  S2WorldDef def = fixed_def();
  def.stepping = stepping;
  def.contact = contact;
  def.gravity = s2_vec2(0, -10);
  def.dt = 1.0 / 100;
  S2World *world;
  must(s2_world_create(&def, &world));
  S2BodyDef floor = rough(at(15, -0.5), 0.6, restitution);
  floor.type = stepping == S2_SPECULATIVE ? S2_KINEMATIC : S2_STATIC;
  floor.velocity = s2_vec2(0.2, 0);
  add_box(world, floor, 60, 1);
  for (int i = 0; i < HEAPS; i++) {
    double x = 10 * i;
    add_box(world, rough(fixed_at(x - 2.5, 5), 0.6, restitution), 1, 10);
    add_box(world, rough(fixed_at(x + 2.5, 5), 0.6, restitution), 1, 10);
    for (int k = 0; k < IN_A_HEAP; k++) {
      S2BodyDef one =
          rough(at(x - 1.5 + k % 4 + between(&rng, -0.02, 0.02), 0.5 + k / 4), 0.6, restitution);
      if (i % 2 == 0) {
        add_disc(world, one, 0.48);
      } else {
        add_box(world, one, 0.8, 0.7);
      }
    }
  }
  return world;
}

static void set_threads(S2World *world, int threads) {
  S2WorldDef def = *s2_world_settings(world);
  def.threads = threads;
  must(s2_world_configure(world, &def));
}

// A world and a copy with threads: every byte is equal except that of the setting.
static void assert_same(S2World *one, S2World *other, int threads, int step) {
  set_threads(other, 1);
  size_t size = s2_world_image_size(one);
  assert_int_equal(size, s2_world_image_size(other));
  void *image = calloc(2, size), *second = (char *)image + size;
  assert_non_null(image);
  s2_world_image_write(one, image);
  s2_world_image_write(other, second);
  if (memcmp(image, second, size) != 0) {
    fail_msg("%d threads: step %d differs", threads, step);
  }
  free(image);
  set_threads(other, threads);
  S2WorldResiduals residuals = s2_world_residuals(one), others = s2_world_residuals(other);
  assert_memory_equal(&residuals, &others, sizeof residuals);
}

static void compare(S2Stepping stepping, S2ContactModel contact, double restitution) {
  S2World *worlds[3];
  worlds[0] = heaps(stepping, contact, restitution);
  for (int i = 1; i < 3; i++) {
    must(s2_world_clone(worlds[0], &worlds[i]));
    set_threads(worlds[i], i + 1);
  }
  for (int k = 0; k < STEPS; k++) {
    must(s2_world_step(worlds[0]));
    for (int i = 1; i < 3; i++) {
      must(s2_world_step(worlds[i]));
      assert_same(worlds[0], worlds[i], i + 1, k + 1);
    }
  }
  assert_int_equal(s2_world_stats(worlds[0])->shared, 0);
  for (int i = 1; i < 3; i++) {
    assert_true(s2_world_stats(worlds[i])->shared > STEPS);
    assert_int_equal(s2_world_stats(worlds[i])->solves, s2_world_stats(worlds[0])->solves);
    assert_int_equal(s2_world_stats(worlds[i])->iterations, s2_world_stats(worlds[0])->iterations);
  }
  for (int i = 0; i < 3; i++) {
    s2_world_destroy(worlds[i]);
  }
}

static void test_threads_change_no_bit(void **state) {
  (void)state;
  compare(S2_SPECULATIVE, S2_COULOMB, 0);
  compare(S2_AUTO, S2_COULOMB, 0.3);
  compare(S2_SPECULATIVE, S2_CONVEX, 0);
}

// A budget is passed from island to island, so there is one thread; the result is the same as well.
static void test_budget_has_one_thread(void **state) {
  (void)state;
  S2World *worlds[2];
  worlds[0] = heaps(S2_SPECULATIVE, S2_COULOMB, 0);
  S2WorldDef def = *s2_world_settings(worlds[0]);
  def.budget = 2e4;
  must(s2_world_configure(worlds[0], &def));
  must(s2_world_clone(worlds[0], &worlds[1]));
  set_threads(worlds[1], 2);
  for (int k = 0; k < STEPS / 2; k++) {
    must(s2_world_step(worlds[0]));
    must(s2_world_step(worlds[1]));
    assert_same(worlds[0], worlds[1], 2, k + 1);
  }
  assert_int_equal(s2_world_stats(worlds[1])->shared, 0);
  s2_world_destroy(worlds[0]);
  s2_world_destroy(worlds[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_threads_change_no_bit),
      cmocka_unit_test(test_budget_has_one_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
