// Event stepping: steps are split at impacts, and between these times the motion is exact.
#include "worlds.h"

#include "base/memory.h"

static S2World *event_world(double gravity, double dt) {
  S2WorldDef def = s2_world_def();
  def.gravity = s2_vec2(0, gravity);
  def.dt = dt;
  def.stepping = S2_EVENT;
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

static void add_floor(S2World *world, double friction, double restitution) {
  add_box(world, rough(fixed_at(0, -1), friction, restitution), 60, 2);
}

static double total(const S2World *world) {
  S2Energy energy = s2_world_energy(world);
  return energy.kinetic + energy.potential;
}

// Height of a point at the time `t`, dropped from y0 on a floor of restitution e.
static double bounced(double y0, double e, double t) {
  double g = 9.81, at = sqrt(2 * y0 / g), v = g * at;
  if (t < at) {
    return y0 - g * t * t / 2;
  }
  for (;;) {
    v *= e;
    if (t < at + 2 * v / g) {
      return v * (t - at) - g * (t - at) * (t - at) / 2;
    }
    at += 2 * v / g;
  }
}

static void a_bouncing_ball_follows_its_parabolas(void **state) {
  (void)state;
  for (int n = 15; n <= 1920; n *= 2) {
    S2World *world = event_world(-9.81, 1.5 / n);
    add_floor(world, 0, 0.8);
    S2BodyId ball = add_disc(world, rough(at(0, 1.5), 0, 0.8), 0.5);
    for (int k = 1; k <= n; k++) {
      steps(world, 1);
      near(get(world, ball, S2_BODY_Y) - 0.5, bounced(1, 0.8, k * 1.5 / n), 2e-14);
    }
    assert_int_equal(s2_world_stats(world)->splits, 2);
    assert_int_equal(s2_world_stats(world)->solves, 2); // flight has no rows
    s2_world_destroy(world);
  }
}

static void a_bouncing_ball_comes_to_rest(void **state) {
  (void)state;
  const double dt[] = {1.0 / 60, 1.0 / 240, 1.0 / 1000};
  double rests = sqrt(2 / 9.81) * (1 + 0.8) / (1 - 0.8); // duration of all bounces together
  for (int i = 0; i < 3; i++) {
    S2World *world = event_world(-9.81, dt[i]);
    add_floor(world, 0, 0.8);
    S2BodyId ball = add_disc(world, rough(at(0, 1.5), 0, 0.8), 0.5);
    double energy = total(world), scale = energy, rest = 0;
    while (s2_world_time(world) < 5) {
      steps(world, 1);
      assert_true(total(world) <= energy + 1e-12 * scale);
      energy = total(world);
      rest = get(world, ball, S2_BODY_VY) != 0 ? s2_world_time(world) : rest;
    }
    near(get(world, ball, S2_BODY_VY), 0, 0);
    near(get(world, ball, S2_BODY_Y), 0.5, 1e-9);
    near(rest, rests, 6 * dt[i]);
    s2_world_destroy(world);
  }
}

// Flight and impacts are exact, so the result does not depend on the step.
static void a_tumbling_box_does_not_depend_on_the_step(void **state) {
  (void)state;
  double q[3], v[3], q0[3], v0[3];
  for (int n = 45; n <= 1440; n *= 2) {
    S2World *world = event_world(-9.81, 0.9 / n);
    add_floor(world, 0.3, 0.5);
    S2BodyDef def = rough(at(0, 1), 0.3, 0.5);
    def.angle = 0.3;
    def.velocity = s2_vec2(1, 0);
    def.angular_velocity = 1;
    S2BodyId box = add_box(world, def, 1, 0.5);
    steps(world, n);
    must(s2_body_q(world, box, q));
    must(s2_body_v(world, box, v));
    for (int c = 0; c < 3 && n > 45; c++) {
      near(q[c], q0[c], 1e-12);
      near(v[c], v0[c], 2e-12);
    }
    memcpy(q0, q, sizeof q);
    memcpy(v0, v, sizeof v);
    assert_true(s2_world_stats(world)->splits >= 3);
    assert_true(s2_world_residuals(world).solve.scaled <= 1e-9);
    s2_world_destroy(world);
  }
}

// With gaps between the discs, each impact involves two of them, and all impacts follow each other
// within one step.
static void a_cradle_with_gaps_passes_the_impact_on(void **state) {
  (void)state;
  S2World *world = event_world(0, 0.1);
  S2BodyId disc[4];
  for (int i = 0; i < 4; i++) {
    S2BodyDef def = rough(at(1.01 * i, 0), 0, 1);
    def.velocity = s2_vec2(i == 0 ? 1 : 0, 0);
    disc[i] = add_disc(world, def, 0.5);
  }
  steps(world, 1);
  assert_int_equal(s2_world_stats(world)->splits, 3);
  for (int i = 0; i < 4; i++) {
    near(get(world, disc[i], S2_BODY_VX), i == 3 ? 1 : 0, 1e-14);
    near(get(world, disc[i], S2_BODY_X), i == 3 ? 3.03 + 0.07 : 1.01 * i + 0.01, 1e-14);
  }
  s2_world_destroy(world);
}

static void stacks_rest(void **state) {
  (void)state;
  S2World *world = event_world(-9.81, 1.0 / 120);
  add_floor(world, 0.5, 0.5);
  S2BodyId box[8];
  for (int i = 0; i < 8; i++) {
    box[i] = add_box(world, rough(at(0, 0.5 + i), 0.5, 0.5), 1, 1);
  }
  steps_solved(world, 600, 1e-9, 1e-9);
  for (int i = 0; i < 8; i++) {
    near(get(world, box[i], S2_BODY_Y), 0.5 + i, 1e-10);
    near(get(world, box[i], S2_BODY_X), 0, 1e-10);
  }
  assert_int_equal(s2_world_stats(world)->solves, 2 * 600); // both stages of one piece a step
  assert_int_equal(s2_world_stats(world)->splits, 0);
  s2_world_destroy(world);
}

// It stops within one step, in which friction acts for a part of it: the error of x is O(h^2). A
// box that stands on another turns only very slightly. Both fall together, so forces do not change
// their approach. The corner that leaves must count nevertheless, because the floor stops the lower
// box.
static void what_hardly_lifts_off_still_rests(void **state) {
  (void)state;
  const double ratios[] = {1, 10, 1e3, 1e6}, spins[] = {1e-6, 1e-4, 1e-2};
  for (int i = 0; i < 12; i++) {
    S2World *world = event_world(-9.81, 1.0 / 120);
    add_floor(world, 0.9, 0);
    S2BodyDef def = rough(at(0, 0.1), 0.9, 0);
    S2BodyId low = add_box(world, def, 0.2, 0.2);
    def.position.y = 0.3;
    def.density = ratios[i / 3];
    def.angular_velocity = spins[i % 3];
    def.velocity = s2_vec2(-0.1 * spins[i % 3], 0.1 * spins[i % 3]);
    S2BodyId high = add_box(world, def, 0.2, 0.2);
    for (int k = 0; k < 60; k++) {
      steps(world, 1);
      near(get(world, low, S2_BODY_X), 0, 1e-10);
      near(get(world, low, S2_BODY_Y), 0.1, 1e-10);
    }
    near(get(world, high, S2_BODY_Y), 0.3, 1e-9);
    near(get(world, high, S2_BODY_ANGLE), 0, 1e-8);
    s2_world_destroy(world);
  }
}

// Two boxes, face to face, turn alike and part at a corner: on the way to their meeting there are
// times at which only the resting point is in reach.
static void a_meeting_is_found_from_out_of_reach(void **state) {
  (void)state;
  S2World *world = event_world(-9.81, 1.0 / 120);
  S2BodyDef def = at(-1.1002406039839558, 1.0468654981008438);
  def.angle = 1.3625426110919157;
  def.velocity = s2_vec2(-1.0170548968130713, -0.6306426303344469);
  def.angular_velocity = 4.4190515321015837;
  S2BodyId a = add_box(world, def, 0.4, 0.4);
  def.position = s2_vec2(-1.0224244103968292, 1.439255053850953);
  def.velocity = s2_vec2(-0.28072461013969169, -0.93545043064510336);
  def.angular_velocity = 4.4190515321015846;
  add_box(world, def, 0.4, 0.4);
  steps(world, 1);
  assert_int_equal(s2_world_stats(world)->unsolved, 0);
  assert_true(s2_world_residuals(world).solve.scaled < 1e-9);
  near(get(world, a, S2_BODY_ANGLE), 1.3625426110919157 + 4.28 / 120, 2e-3);
  s2_world_destroy(world);
}

static void sliding_stops(void **state) {
  (void)state;
  double off[3];
  for (int i = 0; i < 3; i++) {
    double dt = 0.01003 / (1 << (2 * i));
    S2World *world = event_world(-10, dt);
    add_floor(world, 0.4, 0);
    S2BodyDef def = rough(at(0, 0.5), 0.4, 0);
    def.velocity = s2_vec2(2, 0);
    S2BodyId box = add_box(world, def, 1, 1);
    steps(world, (int)(0.6 / dt));
    near(get(world, box, S2_BODY_VX), 0, 1e-15);
    off[i] = fabs(get(world, box, S2_BODY_X) - 2.0 * 2 / (2 * 0.4 * 10));
    assert_true(off[i] <= 0.4 * 10 * dt * dt / 8 + 1e-12);
    s2_world_destroy(world);
  }
}

// Landing with friction, without bouncing: y0 determines the time, and with that the sliding
// distance.
static void a_landing_is_exact(void **state) {
  (void)state;
  const double y0 = 1, mu = 0.3, vx = 4, g = 9.81, end = 0.7;
  double fall = sqrt(2 * y0 / g), slides = end - fall, after = vx - mu * g * fall;
  for (int n = 10; n <= 1000; n *= 10) {
    S2World *world = event_world(-g, end / n);
    add_floor(world, mu, 0);
    S2BodyDef def = rough(at(0, y0 + 0.5), mu, 0);
    def.velocity = s2_vec2(vx, 0);
    def.inertia = 1e9; // slides like a point
    S2BodyId box = add_box(world, def, 1, 1);
    steps(world, n);
    near(get(world, box, S2_BODY_X), vx * fall + after * slides - mu * g * slides * slides / 2,
         1e-8);
    near(get(world, box, S2_BODY_VX), after - mu * g * slides, 1e-8);
    s2_world_destroy(world);
  }
}

static double ball_height(double y0, double e, int count) {
  S2World *world = event_world(-9.81, 1.5 / count);
  add_floor(world, 0, e);
  S2BodyId ball = add_disc(world, rough(at(0, y0 + 0.5), 0, e), 0.5);
  steps(world, count);
  double y = get(world, ball, S2_BODY_Y) - 0.5;
  s2_world_destroy(world);
  return y;
}

// Differences of fourth order of `f` by its argument x.
#define slope(f, x, ...)                                                                           \
  ((8 * (f((x) + 1e-4, __VA_ARGS__) - f((x)-1e-4, __VA_ARGS__)) -                                  \
    (f((x) + 2e-4, __VA_ARGS__) - f((x)-2e-4, __VA_ARGS__))) /                                     \
   12e-4)

static double height_by_e(double e, double y0, int count) {
  return ball_height(y0, e, count);
}

static double exact_by_e(double e, double y0, double t) {
  return bounced(y0, e, t);
}

// Fixed steps have an error of a third of this derivative, however small they are.
static void impacts_move_with_what_they_depend_on(void **state) {
  (void)state;
  for (int count = 30; count <= 480; count *= 2) {
    near(slope(ball_height, 1, 0.8, count), slope(bounced, 1, 0.8, 1.5), 1e-9);
    near(slope(height_by_e, 0.8, 1, count), slope(exact_by_e, 0.8, 1, 1.5), 1e-9);
  }
  near(slope(bounced, 1, 0.8, 1.5), 0.675556, 1e-6);
}

static void fast_bodies_do_not_tunnel(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(5);
  int bounced_back = 0;
  for (int i = 0; i < 200; i++) {
    S2World *world = event_world(-10, 1.0 / 60);
    double e = s2_rng_uniform(&rng);
    add_box(world, rough(fixed_at(3, 0), 0.3, e), 0.01, 40);
    S2BodyDef def = rough(at(0, 0), 0.3, e);
    def.angle = 6 * s2_rng_uniform(&rng);
    def.angular_velocity = 60 * (s2_rng_uniform(&rng) - 0.5);
    def.velocity = s2_vec2(20 + 400 * s2_rng_uniform(&rng), 40 * (s2_rng_uniform(&rng) - 0.5));
    S2BodyId body = i % 2 ? add_box(world, def, 0.3, 0.1) : add_disc(world, def, 0.05);
    steps_solved(world, 12, 1e-9, 1e-8);
    assert_true(get(world, body, S2_BODY_X) < 3);
    bounced_back += get(world, body, S2_BODY_VX) < 0;
    s2_world_destroy(world);
  }
  assert_true(bounced_back > 150);
}

// A box on one corner lands on the other: a pair that rests meets with its other point.
static void the_other_corner_lands(void **state) {
  (void)state;
  S2World *world = event_world(-10, 1.0 / 100);
  add_floor(world, 1, 0);
  S2BodyDef def = rough(at(0, 0.5 * (cos(0.2) + sin(0.2))), 1, 0);
  def.angle = 0.2;
  S2BodyId box = add_box(world, def, 1, 1);
  steps_solved(world, 200, 1e-9, 1e-9);
  near(get(world, box, S2_BODY_ANGLE), 0, 1e-9);
  near(get(world, box, S2_BODY_Y), 0.5, 1e-9);
  assert_true(s2_world_stats(world)->splits > 0);
  s2_world_destroy(world);
}

// Impacts with a kinematic body use its position at the time of the impact, and each island has its
// own times.
static void kinematic_bodies_strike_at_their_time(void **state) {
  (void)state;
  S2World *world = event_world(0, 0.1);
  S2BodyDef wall = rough(at(0, 0), 0, 1);
  wall.type = S2_KINEMATIC;
  wall.velocity = s2_vec2(2, 0);
  S2BodyId bat = add_box(world, wall, 1, 40);
  S2BodyId disc[3];
  for (int i = 0; i < 3; i++) {
    disc[i] = add_disc(world, rough(at(1.02 + 0.04 * i, 5 * i), 0, 1), 0.5);
  }
  steps(world, 1);
  near(get(world, bat, S2_BODY_X), 0.2, 1e-15);
  for (int i = 0; i < 3; i++) {
    double meets = (0.02 + 0.04 * i) / 2; // afterwards it moves twice as fast as the wall
    near(get(world, disc[i], S2_BODY_VX), 4, 1e-13);
    near(get(world, disc[i], S2_BODY_X), 1.02 + 0.04 * i + 4 * (0.1 - meets), 1e-14);
  }
  s2_world_destroy(world);
}

// An event, and a contact with an impulse, although the ball is far away at the end of the step.
static void a_bounce_within_a_step_is_told(void **state) {
  (void)state;
  S2World *world = event_world(0, 0.1);
  S2WorldDef def = *s2_world_settings(world);
  def.contact_margin = 0.001;
  must(s2_world_configure(world, &def));
  add_floor(world, 0, 1);
  S2BodyDef ball = rough(at(0, 0.7), 0, 1);
  ball.velocity = s2_vec2(0, -4);
  ball.mass = 3;
  S2BodyId body = add_disc(world, ball, 0.5);
  steps(world, 1);
  near(get(world, body, S2_BODY_Y), 0.7, 1e-14);
  int count, begun = 0, impulses = 0;
  const S2Event *events = s2_world_events(world, &count);
  for (int i = 0; i < count; i++) {
    begun += events[i].type == S2_CONTACT_BEGIN;
    if (events[i].type == S2_CONTACT_IMPULSE) {
      near(events[i].normal_impulse, 24, 1e-12);
      near(events[i].speed, 4, 1e-14);
      impulses += 1;
    }
  }
  assert_int_equal(begun, 1);
  assert_int_equal(impulses, 1);
  steps(world, 1);
  events = s2_world_events(world, &count);
  assert_int_equal(count, 2);
  assert_int_equal(events[0].type, S2_TOUCH_END);
  assert_int_equal(events[1].type, S2_CONTACT_END);
  s2_world_destroy(world);
}

static void jointed_bodies_meet_and_rest(void **state) {
  (void)state;
  S2World *world = event_world(-10, 1.0 / 120);
  add_floor(world, 0.5, 0.4);
  S2BodyId last = {0, 0};
  for (int i = 0; i < 5; i++) {
    S2BodyDef def = rough(at(0.8 * i, 2 + 0.3 * i), 0.5, 0.4);
    def.angle = atan2(0.3, 0.8);
    S2BodyId link = add_box(world, def, 0.8, 0.2);
    if (i > 0) {
      S2JointDef hinge = hinge_def(last, link, 0.8 * i - 0.4, 2 + 0.3 * i - 0.15);
      hinge.limit_lo = -0.5;
      hinge.limit_hi = i == 2 ? 0.5 : INFINITY;
      hinge.limit_lo = i == 2 ? -0.5 : -INFINITY;
      S2JointId joint;
      must(s2_joint_create(world, &hinge, &joint));
    }
    last = link;
  }
  double energy = total(world);
  for (int k = 0; k < 600; k++) {
    steps_solved(world, 1, 1e-9, 1e-8);
    assert_true(s2_world_residuals(world).joint_error <= 1e-8);
  }
  assert_true(total(world) < energy);
  assert_true(s2_world_energy(world).kinetic < 1e-12 * energy);
  assert_true(s2_world_stats(world)->splits > 0);
  s2_world_destroy(world);
}

// A ball that lies on a spring with a dashpot, starting at the first touch; its height after 2 s.
static double ball_on_a_spring(S2Stepping stepping, S2FlowRule flow, int rate) {
  S2World *world = event_world(-10, 1.0 / rate);
  S2WorldDef def = *s2_world_settings(world);
  def.stepping = stepping;
  def.flow = flow;
  must(s2_world_configure(world, &def));
  S2BodyDef floor = fixed_at(0, -1);
  floor.contact_compliance = 1e-3;
  floor.contact_damping = 5;
  add_box(world, floor, 20, 2);
  S2BodyDef ball = at(0, 0.5);
  ball.mass = 2;
  S2BodyId body = add_disc(world, ball, 0.5);
  steps(world, 2 * rate);
  double y = get(world, body, S2_BODY_Y);
  s2_world_destroy(world);
  return y;
}

// By projection it follows the same implicit Euler in both steppings.
static void soft_contacts_are_those_of_the_other_steppings(void **state) {
  (void)state;
  near(ball_on_a_spring(S2_EVENT, S2_FLOW_PROJECTED, 200),
       ball_on_a_spring(S2_SPECULATIVE, S2_FLOW_PROJECTED, 200), 1e-13);
}

// By the two stages it follows m y'' = -m g - (y - y0)/C - d y' with an error of second order: it
// sinks by m g C (1 - exp(-b t) (cos(w t) + b/w sin(w t))), b = d/(2 m), w^2 = 1/(C m) - b^2, and
// never leaves.
static void soft_contacts_are_of_second_order(void **state) {
  (void)state;
  const double m = 2, g = 10, compliance = 1e-3, b = 5 / (2 * m), t = 2;
  const double w = sqrt(1 / (compliance * m) - b * b);
  double sinks = m * g * compliance * (1 - exp(-b * t) * (cos(w * t) + b / w * sin(w * t)));
  double error[2];
  for (int k = 0; k < 2; k++) {
    error[k] = fabs(ball_on_a_spring(S2_EVENT, S2_FLOW_AUTO, 400 << k) - (0.5 - sinks));
  }
  print_message("errors %.3e %.3e\n", error[0], error[1]);
  assert_true(error[0] < 1e-4);
  near(error[0] / error[1], 4, 0.3);
}

// A ball between walls meets them more often than a step is split: the remaining impacts are
// inelastic, as in speculative steps.
static void the_rest_of_a_busy_step_is_speculative(void **state) {
  (void)state;
  S2World *world = event_world(0, 0.1);
  add_box(world, rough(fixed_at(-1.1, 0), 0, 1), 1, 4);
  add_box(world, rough(fixed_at(1.1, 0), 0, 1), 1, 4);
  S2BodyDef def = rough(at(0, 0), 0, 1);
  def.velocity = s2_vec2(30, 0);
  S2BodyId ball = add_disc(world, def, 0.5);
  steps_solved(world, 1, 1e-9, 1e-9);
  assert_int_equal(s2_world_stats(world)->splits, 4);
  assert_true(fabs(get(world, ball, S2_BODY_VX)) <= 30 + 1e-12);
  assert_true(fabs(get(world, ball, S2_BODY_X)) <= 0.1 + 1e-9);
  s2_world_destroy(world);
}

static bool stop(void *user, S2World *world, S2PreContact *contact) {
  (void)world, (void)contact;
  return !*(bool *)user;
}

static void a_step_that_is_stopped_leaves_no_trace(void **state) {
  (void)state;
  bool stops = true;
  S2World *world = event_world(-10, 0.1);
  add_floor(world, 0.3, 0.5);
  S2BodyDef def = rough(at(0, 0.6), 0.3, 0.5);
  def.velocity = s2_vec2(1, -5);
  add_disc(world, def, 0.5);
  s2_world_set_callbacks(world, &(S2Callbacks){.user = &stops, .pre_solve = stop});
  uint64_t before = s2_world_hash(world);
  assert_int_equal(s2_world_step(world).code, S2_ABORTED);
  assert_true(s2_world_hash(world) == before);
  stops = false;
  must(s2_world_step(world));
  s2_world_destroy(world);
}

static S2World *heap(void) {
  S2World *world = event_world(-10, 1.0 / 60);
  add_floor(world, 0.6, 0.3);
  add_box(world, rough(fixed_at(-4.5, 5), 0.6, 0.3), 1, 10);
  add_box(world, rough(fixed_at(4.5, 5), 0.6, 0.3), 1, 10);
  for (int k = 0; k < S2_FEWER(20, 12); k++) {
    S2BodyDef def = rough(at(-3 + (k % 6) * 1.1 + 0.01 * k, 0.6 + (k / 6) * 1.1), 0.6, 0.3);
    k % 2 ? add_disc(world, def, 0.5) : add_box(world, def, 0.8, 0.7);
  }
  return world;
}

static void same_bits_again_and_from_a_snapshot_without_the_heap(void **state) {
  (void)state;
  S2World *one = heap(), *two = heap();
  steps(one, 150);
  steps(two, 60);
  size_t size = s2_world_image_size(two);
  void *image = malloc(size);
  s2_world_image_write(two, image);
  steps(two, 90);
  assert_true(s2_world_hash(one) == s2_world_hash(two));
  must(s2_world_image_read(two, image, size));
  steps(two, 90);
  assert_true(s2_world_hash(one) == s2_world_hash(two));
  free(image);
  steps(one, 250);
  uint64_t before = s2_memory_count();
  steps(one, 100);
  assert_int_equal(s2_memory_count() - before, 0);
  assert_true(s2_world_stats(one)->splits > 0);
  s2_world_destroy(one);
  s2_world_destroy(two);
}

static void sub_steps_are_split_too(void **state) {
  (void)state;
  S2World *world = event_world(-9.81, 0.1);
  S2WorldDef def = *s2_world_settings(world);
  def.substeps = 3;
  must(s2_world_configure(world, &def));
  add_floor(world, 0, 0.8);
  S2BodyId ball = add_disc(world, rough(at(0, 1.5), 0, 0.8), 0.5);
  steps(world, 15);
  near(get(world, ball, S2_BODY_Y) - 0.5, bounced(1, 0.8, 1.5), 2e-14);
  s2_world_destroy(world);
}

static void settings_that_do_not_go_with_it_are_refused(void **state) {
  (void)state;
  S2World *world = event_world(-10, 0.1);
  const S2WorldDef good = *s2_world_settings(world);
  S2WorldDef def[6];
  for (int i = 0; i < 6; i++) {
    def[i] = good;
  }
  def[0].restitution_model = S2_REFLECTIONS;
  def[1].alpha = 0.5;
  def[2].beta = 0.5;
  def[3].geometric_stiffness = S2_GEOMETRIC_PSD;
  def[4].stabilization = S2_BAUMGARTE;
  def[5].stepping = (S2Stepping)(S2_AUTO + 1);
  const char *says[6] = {"restitution_model",   "alpha",         "beta",
                         "geometric_stiffness", "stabilization", "stepping"};
  for (int i = 0; i < 6; i++) {
    S2Status status = s2_world_configure(world, &def[i]);
    assert_int_equal(status.code, S2_INVALID);
    assert_non_null(strstr(status.message, says[i]));
    assert_int_equal(s2_world_settings(world)->stepping, S2_EVENT);
  }
  def[4].stabilization = S2_NO_STABILIZATION;
  must(s2_world_configure(world, &def[4]));
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_bouncing_ball_follows_its_parabolas),
      cmocka_unit_test(a_bouncing_ball_comes_to_rest),
      cmocka_unit_test(a_tumbling_box_does_not_depend_on_the_step),
      cmocka_unit_test(a_cradle_with_gaps_passes_the_impact_on),
      cmocka_unit_test(stacks_rest),
      cmocka_unit_test(what_hardly_lifts_off_still_rests),
      cmocka_unit_test(a_meeting_is_found_from_out_of_reach),
      cmocka_unit_test(sliding_stops),
      cmocka_unit_test(a_landing_is_exact),
      cmocka_unit_test(impacts_move_with_what_they_depend_on),
      cmocka_unit_test(fast_bodies_do_not_tunnel),
      cmocka_unit_test(the_other_corner_lands),
      cmocka_unit_test(kinematic_bodies_strike_at_their_time),
      cmocka_unit_test(a_bounce_within_a_step_is_told),
      cmocka_unit_test(jointed_bodies_meet_and_rest),
      cmocka_unit_test(soft_contacts_are_those_of_the_other_steppings),
      cmocka_unit_test(soft_contacts_are_of_second_order),
      cmocka_unit_test(the_rest_of_a_busy_step_is_speculative),
      cmocka_unit_test(a_step_that_is_stopped_leaves_no_trace),
      cmocka_unit_test(same_bits_again_and_from_a_snapshot_without_the_heap),
      cmocka_unit_test(sub_steps_are_split_too),
      cmocka_unit_test(settings_that_do_not_go_with_it_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
