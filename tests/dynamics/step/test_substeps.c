// Steps of several parts.
#include "worlds.h"

static S2World *world_of(double gravity, double dt, int substeps, S2Stepping stepping) {
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0, gravity);
  def.dt = dt;
  def.substeps = substeps;
  def.stepping = stepping;
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

static void fill(S2World *world) {
  add_box(world, rough(fixed_at(0, -1), 0.5, 0.3), 40, 2);
  for (int i = 0; i < 6; i++) {
    S2BodyDef def = rough(at(i % 3 - 1 + 0.1 * i, 0.6 + 1.1 * (i / 3)), 0.5, 0.3);
    def.angle = 0.1 * i;
    add_box(world, def, 0.9, 0.9);
  }
}

// n parts of dt / n are n steps of dt / n, bit for bit.
static void parts_are_steps(void **state) {
  (void)state;
  for (int s = 0; s < 2; s++) {
    S2Stepping stepping = s == 0 ? S2_SPECULATIVE : S2_BISECT;
    // 1/64 and 4 parts: times without rounding
    S2World *coarse = world_of(-10, 1.0 / 64, 4, stepping);
    S2World *fine = world_of(-10, 1.0 / 256, 1, stepping);
    fill(coarse);
    fill(fine);
    for (int i = 0; i < 100; i++) {
      must(s2_world_step(coarse));
      steps(fine, 4);
      assert_true(s2_world_hash(coarse) == s2_world_hash(fine));
    }
    assert_int_equal(s2_world_step_count(coarse), 100);
    assert_int_equal(s2_world_stats(coarse)->steps, 100);
    assert_true(s2_world_stats(coarse)->solves == s2_world_stats(fine)->solves);
    s2_world_destroy(coarse);
    s2_world_destroy(fine);
  }
}

static void time_is_steps_times_dt(void **state) {
  (void)state;
  S2World *world = world_of(-10, 0.125, 3, S2_SPECULATIVE);
  steps(world, 8);
  assert_true(s2_world_time(world) == 1);
  s2_world_destroy(world);
}

// An external force acts in all parts of its step, and not afterwards.
static void forces_act_in_all_parts(void **state) {
  (void)state;
  S2World *world = world_of(0, 0.1, 5, S2_SPECULATIVE);
  S2BodyDef def = at(0, 0);
  def.mass = 2;
  S2BodyId ball = add_disc(world, def, 0.5);
  must(s2_body_apply_force(world, ball, s2_vec2(4, 0), NULL));
  steps(world, 1);
  near(get(world, ball, S2_BODY_VX), 0.2, 1e-15);
  steps(world, 1);
  near(get(world, ball, S2_BODY_VX), 0.2, 1e-15);
  s2_world_destroy(world);
}

typedef struct Asked {
  int times, fail_at;
  double t[8], dt[8];
} Asked;

static bool law(void *user, S2World *world, S2ForceCall *call) {
  (void)world;
  Asked *asked = user;
  asked->t[asked->times] = call->t;
  asked->dt[asked->times] = call->dt;
  call->force[1] += 1;
  return ++asked->times != asked->fail_at;
}

static void laws_are_asked_in_each_part(void **state) {
  (void)state;
  S2World *world = world_of(0, 0.5, 4, S2_SPECULATIVE);
  S2BodyId ball = add_disc(world, at(0, 0), 0.5);
  must(s2_body_set_force_law(world, ball, true));
  Asked asked = {0};
  S2Callbacks callbacks = {.user = &asked, .force = law};
  s2_world_set_callbacks(world, &callbacks);
  steps(world, 1);
  // At the start of each part, and for the velocity at its end.
  assert_int_equal(asked.times, 8);
  for (int i = 0; i < 8; i++) {
    assert_true(asked.t[i] == 0.125 * (i / 2) && asked.dt[i] == 0.125);
  }
  s2_world_destroy(world);
}

// A step that is aborted in a late part leaves no trace.
static void a_late_abort_undoes_the_step(void **state) {
  (void)state;
  S2World *world = world_of(-10, 1.0 / 60, 4, S2_SPECULATIVE);
  fill(world);
  steps(world, 20);
  S2BodyId body[8];
  s2_world_bodies(world, body, 8);
  must(s2_body_set_force_law(world, body[2], true));
  must(s2_body_apply_force(world, body[3], s2_vec2(5, 0), NULL));
  size_t size = s2_world_image_size(world);
  void *before = malloc(size), *after = malloc(size);
  s2_world_image_write(world, before);
  Asked asked = {.fail_at = 3};
  S2Callbacks callbacks = {.user = &asked, .force = law};
  s2_world_set_callbacks(world, &callbacks);
  assert_int_equal(s2_world_step(world).code, S2_ABORTED);
  assert_int_equal(asked.times, 3);
  assert_int_equal(s2_world_image_size(world), size);
  s2_world_image_write(world, after);
  int count;
  s2_world_events(world, &count);
  assert_int_equal(count, 0);
  uint64_t hash = s2_world_hash(world);
  must(s2_world_image_read(world, before, size));
  assert_true(s2_world_hash(world) == hash);
  // and the world continues as if the step had not been tried
  s2_world_set_callbacks(world, NULL);
  steps(world, 5);
  hash = s2_world_hash(world);
  must(s2_world_image_read(world, after, size));
  steps(world, 5);
  assert_true(s2_world_hash(world) == hash);
  free(before);
  free(after);
  s2_world_destroy(world);
}

// Impulses of contacts, and their events, are those of the whole step: weight times dt at rest, and
// the change of momentum in a bounce that ends before the step does.
static void impulses_are_summed(void **state) {
  (void)state;
  S2World *world = world_of(-10, 0.1, 8, S2_SPECULATIVE);
  add_box(world, rough(fixed_at(0, -1), 0.5, 0), 40, 2);
  S2BodyDef def = at(0, 0.5);
  def.mass = 3;
  add_box(world, def, 1, 1);
  for (int i = 0; i < 5; i++) {
    steps(world, 1);
    int count, events;
    const S2Contact *contact = s2_world_contacts(world, &count);
    const S2Event *event = s2_world_events(world, &events);
    double sum = 0, told = 0;
    for (int k = 0; k < count; k++) {
      sum += contact[k].normal_impulse;
    }
    int impacts = 0;
    for (int k = 0; k < events; k++) {
      told += event[k].type == S2_CONTACT_IMPULSE ? event[k].normal_impulse : 0;
      impacts += event[k].type == S2_CONTACT_IMPULSE;
    }
    near(sum, 3 * 10 * 0.1, 1e-9);
    near(told, 3 * 10 * 0.1, 1e-9);
    assert_int_equal(impacts, 2);
  }
  s2_world_destroy(world);

  world = world_of(0, 0.1, 10, S2_SPECULATIVE);
  add_box(world, rough(fixed_at(0, -1), 0, 1), 40, 2);
  def = rough(at(0, 0.6), 0, 1);
  def.velocity = s2_vec2(0, -4);
  def.mass = 3;
  add_disc(world, def, 0.5);
  steps(world, 1); // at the floor after 0.025 s, 0.3 above it at the end
  int events, seen = 0;
  const S2Event *event = s2_world_events(world, &events);
  for (int k = 0; k < events; k++) {
    if (event[k].type == S2_CONTACT_IMPULSE) {
      near(event[k].normal_impulse, 2 * 3 * 4, 1e-9);
      seen += 1;
    }
  }
  assert_int_equal(seen, 1);
  s2_world_destroy(world);
}

static void snapshots_hold_between_steps(void **state) {
  (void)state;
  S2World *world = world_of(-10, 1.0 / 60, 3, S2_SPECULATIVE);
  fill(world);
  steps(world, 10);
  size_t size = s2_world_image_size(world);
  void *image = malloc(size);
  s2_world_image_write(world, image);
  steps(world, 30);
  uint64_t hash = s2_world_hash(world);
  must(s2_world_image_read(world, image, size));
  steps(world, 30);
  assert_true(s2_world_hash(world) == hash);
  free(image);
  s2_world_destroy(world);
}

static void none_is_an_error(void **state) {
  (void)state;
  S2WorldDef def = fixed_def();
  def.substeps = 0;
  S2World *world;
  assert_int_equal(s2_world_create(&def, &world).code, S2_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_are_steps),
      cmocka_unit_test(time_is_steps_times_dt),
      cmocka_unit_test(forces_act_in_all_parts),
      cmocka_unit_test(laws_are_asked_in_each_part),
      cmocka_unit_test(a_late_abort_undoes_the_step),
      cmocka_unit_test(impulses_are_summed),
      cmocka_unit_test(snapshots_hold_between_steps),
      cmocka_unit_test(none_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
