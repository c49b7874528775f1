// Events of contacts and touches, and the reports of contacts() on features that begin and end
// within a step.
#include "worlds.h"

typedef struct Told {
  int contact_begin, contact_end, touch_begin, touch_end, impulses;
  double speed, impulse; // values of the last touch_begin and touch_end
  double sum;            // N s, of contact_impulse
} Told;

static void listen(S2World *world, Told *told) {
  int count;
  const S2Event *events = s2_world_events(world, &count);
  for (int i = 0; i < count; i++) {
    const S2Event *event = &events[i];
    told->contact_begin += event->type == S2_CONTACT_BEGIN;
    told->contact_end += event->type == S2_CONTACT_END;
    if (event->type == S2_TOUCH_BEGIN) {
      told->touch_begin += 1;
      told->speed = event->speed;
      near(s2_dot(event->impulse, event->normal), event->normal_impulse,
           1e-12 * (1 + event->normal_impulse));
    } else if (event->type == S2_TOUCH_END) {
      told->touch_end += 1;
      told->impulse = event->normal_impulse;
    } else if (event->type == S2_CONTACT_IMPULSE) {
      told->impulses += 1;
      told->sum += event->normal_impulse;
    }
  }
}

static Told follow(S2World *world, int count) {
  Told told = {0};
  for (int i = 0; i < count; i++) {
    must(s2_world_step(world));
    listen(world, &told);
  }
  return told;
}

static S2World *world_of(S2Stepping stepping, double gravity, double dt) {
  S2WorldDef def = fixed_def();
  def.stepping = stepping;
  def.gravity = s2_vec2(0, gravity);
  def.dt = dt;
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

// Passing at a distance of 5 mm is a contact, and no touch. (With bisect, bodies within the margin
// act on each other.)
static void a_miss_is_no_touch(void **state) {
  (void)state;
  for (int s = 0; s < 3; s += 2) {
    S2World *world = world_of((S2Stepping)s, 0, 1.0 / 120);
    add_box(world, fixed_at(0, 0), 1, 1);
    S2BodyDef ball = at(-2, 0.605);
    ball.velocity = s2_vec2(3, 0);
    add_disc(world, ball, 0.1);
    Told told = follow(world, 240);
    assert_int_equal(told.contact_begin, 1);
    assert_int_equal(told.contact_end, 1);
    assert_int_equal(told.touch_begin, 0);
    assert_int_equal(told.touch_end, 0);
    s2_world_destroy(world);
  }
}

// A ball that keeps bouncing, lower than the margin: every bounce is reported, with its speed.
// (With bisect it would never leave.)
static void each_bounce_is_a_touch(void **state) {
  (void)state;
  for (int s = 0; s < 3; s += 2) {
    S2World *world = world_of((S2Stepping)s, 0, 1.0 / 120);
    S2BodyDef floor = rough(fixed_at(0, -0.5), 0, 1), roof = rough(fixed_at(0, 0.708), 0, 1);
    add_box(world, floor, 4, 1);
    add_box(world, roof, 4, 1);
    S2BodyDef ball = rough(at(0, 0.1), 0, 1);
    ball.mass = 2;
    ball.velocity = s2_vec2(0, 0.1);
    add_disc(world, ball, 0.1);
    Told told = follow(world, 480);
    // 0.4 m, 8 mm a way: 50, minus the parts of steps lost by bodies that are stopped at a surface
    assert_in_range(told.touch_begin, s == S2_EVENT ? 49 : 45, 51);
    assert_in_range(told.touch_end, told.touch_begin - 1, told.touch_begin);
    assert_int_equal(told.contact_begin, 2);
    assert_int_equal(told.contact_end, 0);
    near(told.speed, 0.1, 1e-6);
    near(told.impulse, 0.4, 1e-5);
    near(told.sum, 0.4 * told.touch_begin, 1e-4);
    s2_world_destroy(world);
  }
}

// The speed of arrival is that of the fall, not that before the step, however long the step is.
static void a_fall_arrives_at_its_speed(void **state) {
  (void)state;
  for (int s = 0; s < 3; s += 2) {
    S2World *world = world_of((S2Stepping)s, -10, 1.0 / 20);
    add_box(world, fixed_at(0, -0.5), 4, 1);
    add_disc(world, at(0, 1.1), 0.1);
    Told told = follow(world, 20);
    assert_int_equal(told.touch_begin, 1);
    near(told.speed, sqrt(20), s == S2_EVENT ? 1e-8 : 0.5);
    s2_world_destroy(world);
  }
}

static S2BodyId add_chain(S2World *world, int segments, double length) {
  S2Vec2 p[128];
  S2ShapeDef shapes[128];
  for (int i = 0; i <= segments; i++) {
    p[i] = s2_vec2(length * (segments - i), 0);
  }
  for (int i = 0; i < segments; i++) {
    shapes[i] = plain_shape(p + i, 2, 0);
    shapes[i].has_previous = i > 0;
    shapes[i].has_next = i + 1 < segments;
    shapes[i].previous = i > 0 ? p[i - 1] : p[i];
    shapes[i].next = i + 1 < segments ? p[i + 2] : p[i];
  }
  S2BodyDef def = rough(fixed_at(0, 0), 0.5, 0);
  def.shapes = shapes;
  def.shape_count = segments;
  S2BodyId body;
  must(s2_body_create(world, &def, &body));
  return body;
}

// One contact and one touch over forty joints of a chain, and the weight is carried in every step.
static void a_roll_over_a_chain_is_one_touch(void **state) {
  (void)state;
  for (int s = 0; s < 3; s++) {
    for (int box = 0; box < 2; box++) {
      S2World *world = world_of((S2Stepping)s, -9.81, 1.0 / 1000);
      add_chain(world, 100, 0.1);
      S2BodyDef def = rough(at(1.03, 0.1), box ? 0 : 0.5, 0);
      def.mass = 1;
      def.velocity = s2_vec2(2, 0);
      def.angular_velocity = box ? 0 : -20;
      S2BodyId body = box ? add_box(world, def, 0.2, 0.2) : add_disc(world, def, 0.1);
      Told all = {0};
      for (int k = 0; k < 2000; k++) {
        Told told = follow(world, 1);
        double net[3];
        must(s2_body_contact_impulse(world, body, net));
        near(net[2], 9.81e-3, 1e-8);
        near(told.sum, 9.81e-3, 1e-8);
        all.contact_begin += told.contact_begin;
        all.touch_begin += told.touch_begin;
        all.touch_end += told.touch_end;
        all.contact_end += told.contact_end;
      }
      assert_int_equal(all.contact_begin, 1);
      assert_int_equal(all.touch_begin, 1);
      assert_int_equal(all.touch_end + all.contact_end, 0);
      s2_world_destroy(world);
    }
  }
}

// A body of two pieces lands on both: one touch. If it is destroyed, its events still end.
static void pieces_are_one_body(void **state) {
  (void)state;
  S2World *world = world_of(S2_SPECULATIVE, -10, 1.0 / 100);
  add_box(world, fixed_at(0, -0.5), 4, 1);
  const S2Vec2 v[8] = {{-1, 0}, {-0.5, 0}, {-0.5, 1}, {-1, 1}, {0.5, 0}, {1, 0}, {1, 1}, {0.5, 1}};
  const S2ShapeDef pieces[2] = {plain_shape(v, 4, 0), plain_shape(v + 4, 4, 0)};
  S2BodyDef def = at(0, 0.3);
  def.shapes = pieces;
  def.shape_count = 2;
  S2BodyId body;
  must(s2_body_create(world, &def, &body));
  Told told = follow(world, 50);
  assert_int_equal(told.contact_begin, 1);
  assert_int_equal(told.touch_begin, 1);
  assert_int_equal(told.touch_end, 0);
  must(s2_body_destroy(world, body));
  told = follow(world, 2);
  assert_int_equal(told.contact_end, 1);
  assert_int_equal(told.touch_end, 1);
  s2_world_destroy(world);
}

// Touches at the time of a snapshot continue after it.
static void snapshots_know_of_touches(void **state) {
  (void)state;
  S2World *world = world_of(S2_SPECULATIVE, -10, 1.0 / 100), *other;
  add_box(world, fixed_at(0, -0.5), 4, 1);
  S2BodyDef def = at(0, 0.1);
  def.mass = 1;
  S2BodyId body = add_disc(world, def, 0.1);
  steps(world, 20);
  must(s2_world_clone(world, &other));
  double here[3], there[3];
  must(s2_body_contact_impulse(world, body, here));
  must(s2_body_contact_impulse(other, body, there));
  assert_memory_equal(here, there, sizeof here);
  must(s2_body_set(other, body, S2_BODY_VY, 3));
  Told told = follow(other, 5);
  assert_int_equal(told.touch_begin, 0);
  assert_int_equal(told.touch_end, 1);
  near(told.impulse, 20 * 0.1, 1e-9);
  s2_world_destroy(other);
  s2_world_destroy(world);
}

// A box slides off the edge of another: the corners that carry it change, and the full weight is
// carried.
static void corners_change_at_an_edge(void **state) {
  (void)state;
  S2World *world = world_of(S2_SPECULATIVE, -9.81, 1.0 / 60);
  add_box(world, rough(fixed_at(0, 0), 0.1, 0), 2, 1);
  S2BodyDef def = rough(at(0, 0.75), 0.1, 0);
  def.mass = 1;
  def.velocity = s2_vec2(1.5, 0);
  S2BodyId box = add_box(world, def, 1, 0.5);
  for (int i = 0; i < 60 && get(world, box, S2_BODY_X) < 0.95; i++) {
    double v[3], was[3], sum = 0;
    must(s2_body_v(world, box, was));
    steps(world, 1);
    must(s2_body_v(world, box, v));
    int count;
    const S2Contact *contacts = s2_world_contacts(world, &count);
    for (int k = 0; k < count; k++) {
      sum += contacts[k].normal_impulse;
    }
    near(sum, v[2] - was[2] + 9.81 / 60, 1e-14);
  }
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_miss_is_no_touch),
      cmocka_unit_test(each_bounce_is_a_touch),
      cmocka_unit_test(a_fall_arrives_at_its_speed),
      cmocka_unit_test(a_roll_over_a_chain_is_one_touch),
      cmocka_unit_test(pieces_are_one_body),
      cmocka_unit_test(snapshots_know_of_touches),
      cmocka_unit_test(corners_change_at_an_edge),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
