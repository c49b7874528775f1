// Steps leave out islands at rest (rest/frozen.c) while bodies fall beside them, onto them and past
// them. A second world is restored from its own snapshot before each step, so it keeps no islands.
// Both worlds must agree to the last byte in all stepping methods, with threads, with a budget that
// cuts steps, and with convex contact.
#include "worlds.h"

#include "dynamics/world/world.h"

enum { ROWS = 6, PYRAMIDS = 3, FALLING = 12, STEPS = S2_FEWER(400, 150), WAYS = 3, KINDS = 4 };

static void *image_of(const S2World *world, size_t *size) {
  *size = s2_world_image_size(world);
  void *image = calloc(1, *size);
  assert_non_null(image);
  s2_world_image_write(world, image);
  return image;
}

// A force law of a body that never rests.
static bool pushes(void *user, S2World *world, S2ForceCall *call) {
  (void)user, (void)world;
  call->force[1] += 30 * sin(5 * call->t);
  return true;
}

static void add_pyramid(S2World *world, double x) {
  for (int i = 0; i < ROWS; i++) {
    for (int j = 0; j < ROWS - i; j++) {
      (void)add_box(world, rough(at(x + j - (ROWS - i - 1) / 2.0, i + 0.5), 0.6, 0), 1, 1);
    }
  }
}

static S2World *scene_of(int way, int kind) {
  const S2Stepping ways[WAYS] = {S2_AUTO, S2_SPECULATIVE, S2_EVENT};
  S2WorldDef def = s2_world_def();
  def.stepping = ways[way];
  def.gravity = s2_vec2(0, -10);
  def.threads = kind == 1 ? 2 : def.threads;
  def.budget = kind == 2 ? 1e-3 * S2_WORK_RATE : def.budget;
  def.contact = kind == 3 && def.stepping == S2_SPECULATIVE ? S2_CONVEX : S2_COULOMB;
  S2World *world;
  must(s2_world_create(&def, &world));
  (void)add_box(world, rough(fixed_at(0, -1), 0.6, 0), 80, 2);
  for (int p = 0; p < PYRAMIDS; p++) {
    add_pyramid(world, 12 * p - 12);
  }
  S2BodyId driven = add_disc(world, rough(at(30, 0.5), 0.6, 0), 0.5);
  s2_world_set_callbacks(world, &(S2Callbacks){.force = pushes});
  must(s2_body_set_force_law(world, driven, true));
  S2Rng rng = s2_rng_seeded((uint64_t)(WAYS * kind + way));
  for (int k = 0; k < FALLING; k++) {
    double x = -25 + 4 * k + s2_rng_uniform(&rng), y = 8 + 3 * s2_rng_uniform(&rng);
    S2BodyDef body = rough(at(x, y), 0.5, k % 3 == 0 ? 0.4 : 0);
    body.velocity = s2_vec2(4 * s2_rng_uniform(&rng) - 2, 0);
    (void)(k % 2 == 0 ? add_box(world, body, 0.5, 0.5) : add_disc(world, body, 0.3));
  }
  return world;
}

static void compare(S2World *one, S2World *other, int way, int kind, int step) {
  size_t size, other_size;
  void *image = image_of(one, &size), *other_image = image_of(other, &other_size);
  if (size != other_size || memcmp(image, other_image, size) != 0) {
    fail_msg("way %d, kind %d: the worlds differ after step %d", way, kind, step + 1);
  }
  free(image);
  free(other_image);
  S2WorldResiduals residuals = s2_world_residuals(one), others = s2_world_residuals(other);
  assert_memory_equal(&residuals, &others, sizeof residuals);
  const S2WorldStats *stats = s2_world_stats(one), *full = s2_world_stats(other);
  assert_int_equal(stats->solves, full->solves);
  assert_int_equal(stats->contacts, full->contacts);
  assert_int_equal(stats->islands, full->islands);
  assert_int_equal(stats->largest_island, full->largest_island);
  assert_int_equal(stats->mode_changes, full->mode_changes);
  assert_int_equal(full->kept, 0);
  int events, other_events;
  (void)s2_world_events(one, &events);
  (void)s2_world_events(other, &other_events);
  assert_int_equal(events, other_events);
}

static void run(int way, int kind) {
  S2World *one = scene_of(way, kind), *other = scene_of(way, kind);
  int listed = 0;
  for (int i = 0; i < STEPS; i++) {
    size_t size;
    void *before = image_of(other, &size);
    must(s2_world_image_read(other, before, size));
    free(before);
    if (i % 50 == 49) { // one more body, somewhere above the pyramids
      S2BodyDef body = rough(at(20 * sin(i), 12), 0.5, 0.2);
      (void)add_disc(one, body, 0.3);
      (void)add_disc(other, body, 0.3);
    }
    must(s2_world_step(one));
    must(s2_world_step(other));
    compare(one, other, way, kind, i);
    listed += one->rest.listed;
  }
  assert_true(listed > STEPS / 4); // the next step may leave out islands
  s2_world_destroy(one);
  s2_world_destroy(other);
}

static void test_frozen(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) {
    for (int way = 0; way < WAYS; way++) {
      run(way, kind);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_frozen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
