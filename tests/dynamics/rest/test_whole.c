// A world in which everything rests takes its steps without any work (s2_rest_step). If something
// moves, steps leave out the islands at rest (rest/frozen.c). Each test changes such a world in one
// way, and compares it after every step with a second world. The second world is restored from its
// own snapshot before each step, so it keeps no islands. Images, residuals, events, contacts and
// counters must agree to the last byte.
#include "worlds.h"

#include "dynamics/world/world.h"

enum { ROWS = 5, SETTLE = 60, AFTER = 30 };

typedef struct Pair {
  S2World *fast, *full;
} Pair;

static S2BodyId body_of(S2World *world, int i) {
  S2BodyId all[64];
  int count = s2_world_bodies(world, all, 64);
  assert_true(i < count);
  return all[i];
}

// A pyramid of boxes, a disc and a fixed sensor, at rest. Body 0 is the floor, and body
// 1 the first box.
static S2World *pyramid(S2Stepping stepping) {
  S2WorldDef def = s2_world_def();
  def.stepping = stepping;
  def.gravity = s2_vec2(0, -10);
  S2World *world;
  must(s2_world_create(&def, &world));
  (void)add_box(world, rough(fixed_at(0, -1), 0.6, 0), 40, 2);
  for (int i = 0; i < ROWS; i++) {
    for (int j = 0; j < ROWS - i; j++) {
      (void)add_box(world, rough(at(j - (ROWS - i - 1) / 2.0, i + 0.5), 0.6, 0), 1, 1);
    }
  }
  (void)add_disc(world, rough(at(8, 0.5), 0.6, 0), 0.5);
  S2BodyDef sensor = fixed_at(2, 1);
  sensor.sensor = true;
  (void)add_box(world, sensor, 2, 2);
  return world;
}

static void *image_of(const S2World *world, size_t *size) {
  *size = s2_world_image_size(world);
  void *image = calloc(1, *size);
  assert_non_null(image);
  s2_world_image_write(world, image);
  return image;
}

static void compare_lists(Pair *pair) {
  int count, other;
  const S2Event *events = s2_world_events(pair->fast, &count);
  const S2Event *others = s2_world_events(pair->full, &other);
  assert_int_equal(count, other);
  for (int i = 0; i < count; i++) {
    S2Event a = events[i], b = others[i];
    assert_string_equal(a.message, b.message);
    a.message = b.message = NULL;
    assert_memory_equal(&a, &b, sizeof a);
  }
  const S2Contact *contacts = s2_world_contacts(pair->fast, &count);
  const S2Contact *these = s2_world_contacts(pair->full, &other);
  assert_int_equal(count, other);
  for (int i = 0; i < count; i++) {
    const S2Contact *a = &contacts[i], *b = &these[i];
    assert_memory_equal(a, b, offsetof(S2Contact, sliding)); // padding follows
    assert_int_equal(a->sliding, b->sliding);
    assert_int_equal(a->shape_a, b->shape_a);
    assert_int_equal(a->shape_b, b->shape_b);
    assert_int_equal(a->feature, b->feature);
  }
}

static void compare(Pair *pair, const char *name, int step, bool lists) {
  size_t size, other;
  void *image = image_of(pair->fast, &size), *image_full = image_of(pair->full, &other);
  if (size != other || memcmp(image, image_full, size) != 0) {
    fail_msg("%s: the worlds differ after step %d", name, step);
  }
  free(image);
  free(image_full);
  S2WorldResiduals a = s2_world_residuals(pair->fast), b = s2_world_residuals(pair->full);
  assert_memory_equal(&a, &b, sizeof a);
  // The worlds differ only in the number of islands that they keep, and in their memory.
  S2WorldStats stats = *s2_world_stats(pair->fast), full = *s2_world_stats(pair->full);
  stats.kept = full.kept;
  stats.arena_bytes = full.arena_bytes;
  stats.shared = full.shared;
  assert_memory_equal(&stats, &full, sizeof stats);
  if (lists) {
    compare_lists(pair);
  }
}

static void step_both(Pair *pair, const char *name, int step, bool lists) {
  size_t size;
  void *before = image_of(pair->full, &size);
  must(s2_world_image_read(pair->full, before, size));
  free(before);
  uint64_t kept = s2_world_stats(pair->full)->kept;
  S2Status fast = s2_world_step(pair->fast), full = s2_world_step(pair->full);
  assert_int_equal(s2_world_stats(pair->full)->kept, kept);
  assert_int_equal(fast.code, full.code);
  must(fast);
  compare(pair, name, step, lists);
}

static Pair settled(S2Stepping stepping) {
  Pair pair = {.fast = pyramid(stepping), .full = pyramid(stepping)};
  for (int i = 0; i < SETTLE; i++) {
    step_both(&pair, "settling", i, false);
  }
  return pair;
}

// Steps both worlds. Returns true if the first one took a normal step, which reports its memory.
static bool step_works(Pair *pair, const char *name, int step) {
  pair->fast->stats.arena_bytes = 0;
  step_both(pair, name, step, step % 3 == 1);
  return pair->fast->stats.arena_bytes > 0;
}

// A pendulum beside the pyramid, and a disc that rolls along the floor and hits the pyramid.
static void add_movers(S2World *world) {
  S2BodyId bob = add_box(world, at(15, 4), 1, 1);
  S2JointDef hinge = hinge_def(bob, no_body, 17, 4);
  S2JointId joint;
  must(s2_joint_create(world, &hinge, &joint));
  S2BodyDef ball = rough(at(-12, 0.3), 0.6, 0);
  ball.velocity = s2_vec2(10, 0);
  ball.angular_velocity = -10 / 0.3;
  (void)add_disc(world, ball, 0.3);
}

typedef void Change(S2World *world, int step);

// Makes the change while other bodies move. The disc arrives after the change or before it.
static void disturb_among_movers(const char *name, Change *change) {
  const S2Stepping ways[] = {S2_AUTO, S2_SPECULATIVE, S2_EVENT};
  for (int w = 0; w < S2_FEWER(3, 1); w++) {
    Pair pair = settled(ways[w]);
    add_movers(pair.fast);
    add_movers(pair.full);
    for (int i = 0; i < (w == 1 ? 5 : 60); i++) {
      step_both(&pair, name, -1 - i, false);
    }
    uint64_t kept = s2_world_stats(pair.fast)->kept;
    assert_true(kept > 0);
    for (int i = 0; i < 2 * AFTER; i++) {
      change(pair.fast, i);
      change(pair.full, i);
      step_both(&pair, name, i, i % 3 == 1);
    }
    s2_world_destroy(pair.fast);
    s2_world_destroy(pair.full);
  }
}

static void disturb(const char *name, Change *change, bool wakes) {
  const S2Stepping ways[] = {S2_AUTO, S2_SPECULATIVE, S2_EVENT};
  for (int w = 0; w < S2_FEWER(3, 2); w++) {
    Pair pair = settled(ways[w]);
    bool woke = false;
    if (step_works(&pair, name, -1)) {
      fail_msg("%s: the scene does not rest before the change", name);
    }
    for (int i = 0; i < AFTER; i++) {
      change(pair.fast, i);
      change(pair.full, i);
      woke |= step_works(&pair, name, i);
    }
    if (woke != wakes) {
      fail_msg("%s: the world %s", name, wakes ? "was not stepped" : "was stepped");
    }
    s2_world_destroy(pair.fast);
    s2_world_destroy(pair.full);
  }
  disturb_among_movers(name, change);
}

// ---- Changes that leave the world at rest -------------------------------------------------------

static void nothing(S2World *world, int step) {
  (void)world, (void)step;
}

static void same_velocity(S2World *world, int step) {
  (void)step;
  must(s2_body_set_v(world, body_of(world, 3), (const double[3]){0, 0, 0}));
}

static void annotation(S2World *world, int step) {
  (void)step;
  S2Annotation text = {.type = S2_ANNOTATION_TEXT};
  must(s2_world_annotate(world, &text, 1));
}

static void read_everything(S2World *world, int step) {
  (void)step;
  int count;
  (void)s2_world_contacts(world, &count);
  (void)s2_world_events(world, &count);
  (void)s2_world_energy(world);
  double momentum[3];
  s2_world_momentum(world, momentum);
}

static void static_search(S2World *world, int step) {
  if (step == 2) {
    S2StaticOptions options = s2_static_options();
    S2StaticResult result;
    must(s2_world_solve_static(world, &options, &result));
  }
}

static void test_stays(void **state) {
  (void)state;
  disturb("nothing", nothing, false);
  disturb("same velocity", same_velocity, false);
  disturb("annotation", annotation, false);
  disturb("read everything", read_everything, false);
  disturb("static search", static_search, false);
}

// ---- Changes that need a normal step
// --------------------------------------------------------------

static void force(S2World *world, int step) {
  if (step % 10 < 5) {
    must(s2_body_apply_force(world, body_of(world, 4), s2_vec2(0.5, 0), NULL));
  }
}

static void constant_force(S2World *world, int step) {
  (void)step;
  must(s2_body_apply_force(world, body_of(world, 4), s2_vec2(0.5, 0), NULL));
}

static void torque(S2World *world, int step) {
  must(s2_body_apply_torque(world, body_of(world, 4), step == 2 ? 1 : 0));
}

static void negative_zero_force(S2World *world, int step) {
  if (step == 2) {
    world->f.at[3 * 4] = -0.0;
  }
}

static void impulse(S2World *world, int step) {
  if (step == 2) {
    must(s2_body_apply_impulse(world, body_of(world, 15), s2_vec2(1, 0), NULL));
  }
}

static void velocity(S2World *world, int step) {
  if (step == 2) {
    must(s2_body_set_v(world, body_of(world, 15), (const double[3]){0, 0.1, 0}));
  }
}

static void negative_zero(S2World *world, int step) {
  if (step == 2) {
    must(s2_body_set_v(world, body_of(world, 4), (const double[3]){0, -0.0, 0}));
  }
}

static void same_place(S2World *world, int step) {
  if (step == 2) {
    double q[3];
    must(s2_body_q(world, body_of(world, 4), q));
    must(s2_body_set_q(world, body_of(world, 4), q));
  }
}

static void other_place(S2World *world, int step) {
  if (step == 2) {
    must(s2_body_set_q(world, body_of(world, 15), (const double[3]){0.2, 12, 0.6}));
  }
}

static void floor_moves(S2World *world, int step) {
  if (step == 2) {
    must(s2_body_set_q(world, body_of(world, 0), (const double[3]){0, 0, -1.5}));
  }
}

static void floor_speed(S2World *world, int step) { // without effect until the floor can move
  if (step == 2) {
    must(s2_body_set_v(world, body_of(world, 0), (const double[3]){0, 1, 0}));
  }
}

static void state_again(S2World *world, int step) {
  if (step == 2) {
    int count = s2_world_state_size(world);
    double *state = calloc((size_t)count, sizeof *state);
    assert_non_null(state);
    s2_world_state(world, state);
    must(s2_world_set_state(world, state, count));
    free(state);
  }
}

static void falling_body(S2World *world, int step) {
  if (step == 2) {
    (void)add_box(world, rough(at(0.2, 6), 0.6, 0), 0.5, 0.5);
  }
}

static void far_body(S2World *world, int step) {
  if (step == 2) {
    (void)add_disc(world, at(-15, 50), 0.5);
  }
}

static void fast_body(S2World *world, int step) {
  if (step == 2) {
    S2BodyDef def = at(-15, 2);
    def.velocity = s2_vec2(100, 0);
    (void)add_disc(world, def, 0.2);
  }
}

static void static_body(S2World *world, int step) {
  if (step == 2) {
    (void)add_box(world, fixed_at(0, 6), 2, 2);
  }
}

static void kinematic_body(S2World *world, int step) {
  if (step == 2) {
    S2BodyDef def = at(-6, 0.5);
    def.type = S2_KINEMATIC;
    def.velocity = s2_vec2(10, 0);
    (void)add_box(world, def, 1, 1);
  }
}

static void moving_sensor(S2World *world, int step) {
  if (step == 2) {
    S2BodyDef def = at(-6, 0.5);
    def.type = S2_KINEMATIC;
    def.velocity = s2_vec2(10, 0);
    def.sensor = true;
    (void)add_box(world, def, 1, 1);
  }
}

static void destroyed(S2World *world, int step) {
  if (step == 2) {
    must(s2_body_destroy(world, body_of(world, 3)));
  }
}

static void destroyed_floor(S2World *world, int step) {
  if (step == 2) {
    must(s2_body_destroy(world, body_of(world, 0)));
  }
}

static void destroyed_sensor(S2World *world, int step) {
  if (step == 2) {
    must(s2_body_destroy(world, body_of(world, 17)));
  }
}

static void replaced(S2World *world, int step) { // a body in the slot of another one
  if (step == 2) {
    must(s2_body_destroy(world, body_of(world, 15)));
    (void)add_box(world, rough(at(0, 4.5), 0.6, 0), 1, 1);
  }
}

static void set_field(S2World *world, int step, int body, S2BodyField field, double value) {
  if (step == 2) {
    must(s2_body_set(world, body_of(world, body), field, value));
  }
}

static void friction(S2World *world, int step) {
  set_field(world, step, 3, S2_BODY_FRICTION, 0);
}

static void restitution(S2World *world, int step) {
  set_field(world, step, 3, S2_BODY_RESTITUTION, 0.5);
}

static void mass(S2World *world, int step) {
  set_field(world, step, 3, S2_BODY_MASS, 3);
}

static void gravity_scale(S2World *world, int step) {
  set_field(world, step, 15, S2_BODY_GRAVITY_SCALE, -1);
}

static void mask(S2World *world, int step) {
  set_field(world, step, 3, S2_BODY_MASK, 0);
}

static void becomes_sensor(S2World *world, int step) {
  set_field(world, step, 3, S2_BODY_SENSOR, 1);
}

static void becomes_static(S2World *world, int step) {
  set_field(world, step, 3, S2_BODY_TYPE, S2_STATIC);
}

static void belt(S2World *world, int step) {
  set_field(world, step, 0, S2_BODY_SURFACE_SPEED, 0.5);
}

static void compliance(S2World *world, int step) {
  set_field(world, step, 3, S2_BODY_CONTACT_COMPLIANCE, 1e-4);
}

static void disabled(S2World *world, int step) {
  if (step == 2 || step == 12) {
    must(s2_body_set(world, body_of(world, 3), S2_BODY_ENABLED, step == 12));
  }
}

static void gravity(S2World *world, int step) {
  if (step == 2) {
    S2WorldDef def = *s2_world_settings(world);
    def.gravity = s2_vec2(1, -9);
    must(s2_world_configure(world, &def));
  }
}

static void shorter(S2World *world, int step) {
  if (step == 2) {
    S2WorldDef def = *s2_world_settings(world);
    def.dt /= 2;
    must(s2_world_configure(world, &def));
  }
}

static void substeps(S2World *world, int step) {
  if (step == 2 || step == 12) {
    S2WorldDef def = *s2_world_settings(world);
    def.substeps = step == 2 ? 2 : 1;
    must(s2_world_configure(world, &def));
  }
}

static void no_contact(S2World *world, int step) {
  if (step == 2) {
    must(s2_world_no_contact(world, body_of(world, 3), body_of(world, 8), true));
  }
}

static void joined(S2World *world, int step) {
  if (step == 2) {
    S2JointDef def = hinge_def(body_of(world, 3), no_body, 0, 0.5);
    S2JointId joint;
    must(s2_joint_create(world, &def, &joint));
  }
}

static void overlaps_resolved(S2World *world, int step) {
  if (step == 2) {
    double remaining;
    must(s2_world_resolve_overlaps(world, &remaining));
  }
}

static void asks(S2World *world, int step) { // queries replace the boxes of the broad phase
  if (step % 3 == 2) {
    S2BodyId body;
    (void)s2_world_query_box(world, s2_vec2(-1, 0), s2_vec2(1, 1), NULL, &body, 1);
  }
}

static void actuator(S2World *world, int step) {
  if (step == 2) {
    S2ActuatorDef def = s2_actuator_def();
    def.name = "push";
    def.kind = S2_ACTUATOR_FORCE;
    def.body = body_of(world, 15);
    def.direction = s2_vec2(1, 0);
    def.delay = 5 * s2_world_settings(world)->dt;
    int index;
    must(s2_actuator_create(world, &def, &index));
  }
  if (step == 8) {
    must(s2_world_act(world, (const double[1]){30}, 1, NULL));
  }
}

static bool refuses(void *user, S2World *world, S2PreContact *contact) {
  (void)user, (void)world;
  contact->enabled = false;
  return true;
}

static void callback(S2World *world, int step) {
  if (step == 2) {
    s2_world_set_callbacks(world, &(S2Callbacks){.pre_solve = refuses});
  }
}

static bool pushes(void *user, S2World *world, S2ForceCall *call) {
  (void)user, (void)world;
  call->force[1] += 40 * sin(20 * call->t);
  return true;
}

static void law(S2World *world, int step) {
  if (step == 2) {
    s2_world_set_callbacks(world, &(S2Callbacks){.force = pushes});
    must(s2_body_set_force_law(world, body_of(world, 15), true));
  }
}

static void rolled_back(S2World *world, int step) {
  if (step == 2) {
    s2_world_mark(world);
  } else if (step == 10) {
    s2_world_rollback(world);
  }
}

static void test_wakes(void **state) {
  (void)state;
#define WAKES(change) disturb(#change, change, true)
  WAKES(force);
  WAKES(constant_force);
  WAKES(torque);
  WAKES(negative_zero_force);
  WAKES(impulse);
  WAKES(velocity);
  WAKES(negative_zero);
  WAKES(same_place);
  WAKES(other_place);
  WAKES(floor_moves);
  WAKES(floor_speed);
  WAKES(state_again);
  WAKES(falling_body);
  WAKES(far_body);
  WAKES(fast_body);
  WAKES(static_body);
  WAKES(kinematic_body);
  WAKES(moving_sensor);
  WAKES(destroyed);
  WAKES(destroyed_floor);
  WAKES(destroyed_sensor);
  WAKES(replaced);
}

static void test_wakes_by_definition(void **state) {
  (void)state;
  WAKES(friction);
  WAKES(restitution);
  WAKES(mass);
  WAKES(gravity_scale);
  WAKES(mask);
  WAKES(becomes_sensor);
  WAKES(becomes_static);
  WAKES(belt);
  WAKES(compliance);
  WAKES(disabled);
  WAKES(gravity);
  WAKES(shorter);
  WAKES(substeps);
  WAKES(no_contact);
  WAKES(joined);
  WAKES(overlaps_resolved);
  WAKES(asks);
  WAKES(actuator);
  WAKES(callback);
  WAKES(law);
  WAKES(rolled_back);
#undef WAKES
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stays),
      cmocka_unit_test(test_wakes),
      cmocka_unit_test(test_wakes_by_definition),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
