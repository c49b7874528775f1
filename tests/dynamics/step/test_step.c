// Rare situations in a step: contacts found late, bodies that change their type, sub-steps.
#include "worlds.h"

static int count_events(S2World *world, S2EventType type) {
  int count, n = 0;
  const S2Event *events = s2_world_events(world, &count);
  for (int i = 0; i < count; i++) {
    n += events[i].type == type;
  }
  return n;
}

// ---- Pre-solve --------------------------------------------------------------------------------

typedef struct Veto {
  S2BodyId body; // whose contacts are disabled
  int asked;
} Veto;

static bool veto(void *user, S2World *world, S2PreContact *contact) {
  Veto *no = user;
  (void)world;
  bool is = contact->a.serial == no->body.serial || contact->b.serial == no->body.serial;
  no->asked += is;
  contact->enabled = !is;
  return true;
}

static void pre_solve_is_asked_about_contacts_found_late(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyDef wall = rough(fixed_at(2, 0), 0, 0), hammer = rough(at(-1.2, 0), 0, 0);
  // its bounding box meets the ball's, but it is out of reach
  wall.angle = 0.75 * 3.141592653589793;
  hammer.velocity = s2_vec2(200, 0);
  hammer.density = 1e3;
  Veto no = {.body = add_box(world, wall, 6, 0.2)};
  S2BodyId ball = add_disc(world, rough(at(0, 0), 0, 0), 0.5);
  add_disc(world, hammer, 0.5);
  s2_world_set_callbacks(world, &(S2Callbacks){.user = &no, .pre_solve = veto});
  must(s2_world_step(world));
  assert_int_equal(no.asked, 2); // hammer and wall, ball and wall
  near(get(world, ball, S2_BODY_VY), 0, 0);
  assert_true(get(world, ball, S2_BODY_X) > 1.5);
  s2_world_destroy(world);
}

static void a_disabled_contact_carries_nothing(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  Veto no = {.body = {0, 0}};
  add_box(world, fixed_at(0, -1), 10, 2);
  S2BodyId box = add_box(world, at(0, 0.5), 1, 1);
  s2_world_set_callbacks(world, &(S2Callbacks){.user = &no, .pre_solve = veto});
  steps(world, 3);
  assert_true(count_events(world, S2_CONTACT_IMPULSE) > 0);
  no.body = box;
  must(s2_world_step(world));
  assert_int_equal(count_events(world, S2_CONTACT_IMPULSE), 0);
  assert_int_equal(count_events(world, S2_CONTACT_END), 1);
  s2_world_destroy(world);
}

// ---- Events -----------------------------------------------------------------------------------

static void a_body_that_becomes_a_sensor_ends_its_contact(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  add_box(world, fixed_at(0, -1), 10, 2);
  S2BodyId ball = add_disc(world, at(0, 0.5), 0.5);
  steps(world, 2);
  must(s2_body_set(world, ball, S2_BODY_SENSOR, 1));
  must(s2_world_step(world));
  assert_int_equal(count_events(world, S2_CONTACT_END), 1);
  assert_int_equal(count_events(world, S2_SENSOR_BEGIN), 1); // the ball has sunk in
  must(s2_body_set(world, ball, S2_BODY_SENSOR, 0));
  must(s2_world_step(world));
  assert_int_equal(count_events(world, S2_SENSOR_END), 1);
  assert_int_equal(count_events(world, S2_CONTACT_BEGIN), 1);
  s2_world_destroy(world);
}

static void a_destroyed_sensor_is_named_first(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  add_disc(world, at(0, 0), 0.5);
  S2BodyDef def = fixed_at(0, 0);
  def.sensor = true;
  S2BodyId sensor = add_box(world, def, 2, 2);
  must(s2_world_step(world));
  assert_int_equal(count_events(world, S2_SENSOR_BEGIN), 1);
  must(s2_body_destroy(world, sensor));
  must(s2_world_step(world));
  int count;
  const S2Event *events = s2_world_events(world, &count);
  assert_int_equal(count, 1);
  assert_int_equal(events[0].type, S2_SENSOR_END);
  assert_int_equal(events[0].a.serial, sensor.serial);
  s2_world_destroy(world);
}

static void asking_for_the_problem_makes_no_event(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  add_box(world, fixed_at(0, -1), 10, 2);
  add_disc(world, at(0, 0.3), 0.5);
  S2Problem *problem;
  S2BodyId nodes[2];
  must(s2_world_problem(world, &problem, nodes, 2));
  s2_problem_free(problem);
  assert_int_equal(count_events(world, S2_SOLVER_WARNING), 0);
  must(s2_world_step(world));
  assert_int_equal(count_events(world, S2_SOLVER_WARNING), 1);
  must(s2_world_step(world));
  assert_int_equal(count_events(world, S2_SOLVER_WARNING), 0);
  s2_world_destroy(world);
}

// ---- Bodies that do not move ------------------------------------------------------------------

static void the_velocity_of_a_static_body_does_nothing(void **state) {
  (void)state;
  for (int stepping = 0; stepping < 2; stepping++) {
    S2World *world = world_new(-10, 0.01);
    S2WorldDef settings = *s2_world_settings(world);
    settings.stepping = stepping ? S2_BISECT : S2_SPECULATIVE;
    must(s2_world_configure(world, &settings));
    S2BodyDef lift = rough(fixed_at(0, -1), 0.5, 0.8);
    lift.velocity = s2_vec2(0, 10);
    S2BodyId floor = add_box(world, lift, 10, 2);
    S2BodyId ball = add_disc(world, rough(at(0, 0.5), 0.5, 0.8), 0.5);
    must(s2_world_step(world));
    near(get(world, ball, S2_BODY_VY), 0, 1e-12);
    int count;
    const S2Event *events = s2_world_events(world, &count);
    for (int i = 0; i < count; i++) {
      near(events[i].speed, 0, 0);
    }
    near(get(world, floor, S2_BODY_VY), 10, 0); // it waits
    s2_world_destroy(world);
  }
}

static void a_joint_of_a_disabled_body_carries_nothing(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2JointDef def = hinge_def(add_box(world, at(0, 0), 1, 1), no_body, 0, 0);
  S2JointId hinge;
  S2JointInfo info;
  must(s2_joint_create(world, &def, &hinge));
  must(s2_world_step(world));
  must(s2_joint_info(world, hinge, &info));
  near(info.force.y, 10, 1e-9);
  must(s2_body_set(world, def.a, S2_BODY_ENABLED, 0));
  must(s2_world_step(world));
  must(s2_joint_info(world, hinge, &info));
  near(info.force.y, 0, 0);
  s2_world_destroy(world);
}

// ---- Predicted contacts -----------------------------------------------------------------------

static S2BodyId add_chain(S2World *world, const S2Vec2 *points, int count) {
  S2ShapeDef shapes[8];
  for (int i = 0; i + 1 < count; i++) {
    shapes[i] = plain_shape(points + i, 2, 0);
    shapes[i].has_previous = i > 0;
    shapes[i].has_next = i + 2 < count;
    shapes[i].previous = points[i > 0 ? i - 1 : 0];
    shapes[i].next = points[i + 2 < count ? i + 2 : i + 1];
  }
  S2BodyDef def = rough(fixed_at(0, 0), 0, 0);
  def.shapes = shapes;
  def.shape_count = count - 1;
  S2BodyId body;
  must(s2_body_create(world, &def, &body));
  return body;
}

static void a_corner_does_not_dive_across_a_valley(void **state) {
  (void)state;
  const S2Stepping ways[] = {S2_SPECULATIVE, S2_EVENT, S2_AUTO};
  for (int i = 0; i < 60; i++) {
    S2World *world = world_new(-10, 0.01);
    S2WorldDef settings = *s2_world_settings(world);
    settings.contact_margin = 0;
    settings.stepping = ways[i % 3];
    must(s2_world_configure(world, &settings));
    const S2Vec2 valley[3] = {{4, 1}, {0, 0}, {-4, 1}};
    add_chain(world, valley, 3);
    double slope = atan(0.25), along = 2 + 0.05 * (i / 3);
    S2BodyDef def = rough(
        at(along * cos(slope) - 0.2 * sin(slope), along * sin(slope) + 0.2 * cos(slope)), 0, 0);
    def.angle = slope;
    def.velocity = s2_vec2(-15 * cos(slope), -15 * sin(slope));
    add_box(world, def, 1, 0.4);
    steps_solved(world, 20, 1e-9, 1e-8);
    s2_world_destroy(world);
  }
}

// Rings of bars, hinged all around, spinning fast in a box: a bar turns so far in a step that its
// velocity violates the joints in the next step.
static void impacts_on_jointed_bodies_gain_no_energy(void **state) {
  (void)state;
  enum { RINGS = S2_FEWER(20, 6) };
  int impacts = 0;
  for (int seed = 0; seed < RINGS; seed++) {
    S2Rng rng = s2_rng_seeded((uint64_t)seed);
    S2World *world = world_new(0, 1.0 / 30);
    for (int side = 0; side < 4; side++) {
      S2BodyDef wall = rough(
          fixed_at(side < 2 ? 2 * (2 * side - 1) : 0, side < 2 ? 0 : 2 * (2 * side - 5)), 0, 1);
      add_box(world, wall, side < 2 ? 1 : 5, side < 2 ? 5 : 1);
    }
    S2BodyId bars[4];
    for (int i = 0; i < 4; i++) {
      double turn = i * 1.5707963267948966;
      S2BodyDef def = rough(at(0.5 * cos(turn), 0.5 * sin(turn)), 0, 1);
      def.angle = turn + 1.5707963267948966;
      def.density = pow(10, 2 * s2_rng_uniform(&rng) - 1);
      def.velocity = s2_vec2(20 * s2_rng_uniform(&rng) - 10, 20 * s2_rng_uniform(&rng) - 10);
      def.angular_velocity = 40 * s2_rng_uniform(&rng) - 20;
      bars[i] = add_box(world, def, 1, 0.1);
    }
    for (int i = 0; i < 4; i++) {
      double turn = (i + 0.5) * 1.5707963267948966;
      S2JointDef def =
          hinge_def(bars[i], bars[(i + 1) % 4], sqrt(0.5) * cos(turn), sqrt(0.5) * sin(turn));
      S2JointId hinge;
      must(s2_joint_create(world, &def, &hinge));
    }
    for (int k = 0; k < 20; k++) {
      double before = s2_world_energy(world).kinetic;
      must(s2_world_step(world));
      double after = s2_world_energy(world).kinetic;
      // A jammed ring carries thousands of N s, each with an error of the tolerance on velocities.
      if (!(after <= before * (1 + 1e-4))) {
        fail_msg("seed %d step %d: kinetic energy from %.6g to %.6g", seed, k, before, after);
      }
    }
    impacts += (int)s2_world_stats(world)->second_solves;
    s2_world_destroy(world);
  }
  assert_true(impacts > 4 * RINGS); // 5.5 a ring are observed
}

// ---- Bisect -----------------------------------------------------------------------------------

typedef struct Asked {
  int calls, fractions; // counts in the current step
  double t;             // time of the last call
} Asked;

static bool count_force(void *user, S2World *world, S2ForceCall *call) {
  Asked *asked = user;
  double part = (call->t - s2_world_time(world)) / call->dt;
  assert_true(part >= 0 && part < 1);
  near(call->dt, s2_world_settings(world)->dt, 0);
  // Fractions follow each other, each of them a halved step.
  assert_true(asked->calls == 0 ? part == 0 : call->t >= asked->t);
  near(1024 * part, round(1024 * part), 1e-9);
  asked->fractions += asked->calls == 0 || call->t > asked->t;
  asked->calls += 1;
  asked->t = call->t;
  return true;
}

// In flight at both ends of a fraction, where rows are evaluated at its start only.
static void force_laws_are_called_in_each_fraction(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.05);
  S2WorldDef settings = *s2_world_settings(world);
  settings.stepping = S2_BISECT;
  must(s2_world_configure(world, &settings));
  add_box(world, fixed_at(0, -1), 10, 2);
  S2BodyId ball = add_disc(world, at(0, 2), 0.5);
  must(s2_body_set_force_law(world, ball, true));
  Asked asked;
  s2_world_set_callbacks(world, &(S2Callbacks){.user = &asked, .force = count_force});
  // It falls 1.5 m at 10 m/s^2: 0.548 s, so that the eleventh step lands, and no other is halved.
  for (int k = 1; k <= 20; k++) {
    asked = (Asked){.calls = 0};
    uint64_t before = s2_world_stats(world)->bisections;
    steps(world, 1);
    bool halved = s2_world_stats(world)->bisections > before;
    assert_true(halved == (k == 11));
    if (!halved) {
      assert_int_equal(asked.fractions, 1);
      assert_int_equal(asked.calls, k < 11 ? 2 : 1);
    } else {
      // The first of its fractions are flights, and the last one ends at rest.
      assert_true(asked.fractions > 2);
      assert_true(asked.calls > asked.fractions && asked.calls < 2 * asked.fractions);
    }
  }
  s2_world_destroy(world);
}

// The memory of a step does not grow with its attempts.
static void halving_takes_no_more_memory(void **state) {
  (void)state;
  size_t bytes[2];
  for (int halved = 0; halved < 2; halved++) {
    S2World *world = world_new(-10, 0.05);
    S2WorldDef settings = *s2_world_settings(world);
    settings.stepping = S2_BISECT;
    must(s2_world_configure(world, &settings));
    add_box(world, fixed_at(0, -1), 40, 2);
    for (int i = 0; i < 20; i++) {
      add_box(world, at(-19 + 1.5 * i, 0.5), 1, 1);
    }
    S2BodyDef def = at(15, 3);
    def.velocity = s2_vec2(0, halved ? -40 : 0);
    add_disc(world, def, 0.5);
    steps(world, 2);
    assert_int_equal(s2_world_stats(world)->bisections >= 5, halved);
    bytes[halved] = s2_world_stats(world)->arena_bytes;
    s2_world_destroy(world);
  }
  assert_true(bytes[1] < 2 * bytes[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pre_solve_is_asked_about_contacts_found_late),
      cmocka_unit_test(a_disabled_contact_carries_nothing),
      cmocka_unit_test(a_body_that_becomes_a_sensor_ends_its_contact),
      cmocka_unit_test(a_destroyed_sensor_is_named_first),
      cmocka_unit_test(asking_for_the_problem_makes_no_event),
      cmocka_unit_test(the_velocity_of_a_static_body_does_nothing),
      cmocka_unit_test(a_joint_of_a_disabled_body_carries_nothing),
      cmocka_unit_test(a_corner_does_not_dive_across_a_valley),
      cmocka_unit_test(impacts_on_jointed_bodies_gain_no_energy),
      cmocka_unit_test(force_laws_are_called_in_each_fraction),
      cmocka_unit_test(halving_takes_no_more_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
