// Derivatives of event stepping: against what is known in closed form, and against differences
// (world_differences.h).
#include "world_differences.h"

static S2World *event_world(double gravity, double dt) {
  S2World *world = world_new(gravity, dt);
  S2WorldDef def = *s2_world_settings(world);
  def.stepping = S2_EVENT;
  def.tolerance = 1e-12;
  must(s2_world_configure(world, &def));
  return world;
}

static S2BodyDef moving(double x, double y, double vx, double vy, double omega) {
  S2BodyDef def = at(x, y);
  def.velocity = s2_vec2(vx, vy);
  def.angular_velocity = omega;
  def.density = 1.3;
  return def;
}

// dl/d(start), l being number `of` of the last state's positions.
static void derive(const S2World *start, int steps, int of, S2WorldGradient *g) {
  Rollout rollout = {.steps = steps};
  rollout.weight[0][of] = 1;
  backward(start, &rollout, g);
}

// ---- Closed forms -----------------------------------------------------------------------------

typedef struct Bounced { // height at t, and its derivatives
  double y, by_y0, by_e, by_t, by_g;
  int bounces;
} Bounced;

// Let fall from y0 on a floor of restitution e, by sums over the flights.
static Bounced bounced(double y0, double e, double g, double t) {
  double fall = sqrt(2 * y0 / g), at = fall, v = g * fall;
  double at_y0 = 1 / v, v_y0 = g * at_y0, at_e = 0, v_e = 0;
  double at_g = -fall / (2 * g), v_g = fall + g * at_g;
  int n = 0;
  for (;; n++) {
    v_e = e * v_e + v;
    v *= e;
    v_y0 *= e;
    v_g *= e;
    if (t < at + 2 * v / g) {
      break;
    }
    at += 2 * v / g;
    at_y0 += 2 * v_y0 / g;
    at_e += 2 * v_e / g;
    at_g += 2 * v_g / g - 2 * v / (g * g);
  }
  double s = t - at, now = v - g * s;
  return (Bounced){.y = v * s - g * s * s / 2,
                   .by_y0 = v_y0 * s - now * at_y0,
                   .by_e = v_e * s - now * at_e,
                   .by_t = now,
                   .by_g = v_g * s - now * at_g - s * s / 2,
                   .bounces = n + 1};
}

static void relative(double value, double expected, double tolerance) {
  near(value, expected, tolerance * fmax(1, fabs(expected)));
}

static void a_ball_bounces(void **state) {
  (void)state;
  const int counts[] = {15, 37, 60, 240};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    int n = counts[i];
    double t = 1.9, dt = t / n, e = 0.8, g = 9.81;
    S2World *world = event_world(-g, dt);
    S2BodyDef floor = fixed_at(0, -1);
    floor.restitution = e;
    add_box(world, floor, 60, 2);
    S2BodyDef def = moving(0, 1.5, 0.3, 0, 0);
    def.restitution = e;
    S2BodyId ball = add_disc(world, def, 0.5);
    Bounced known = bounced(1, e, g, t);
    assert_int_equal(known.bounces, 3);
    S2World *after;
    must(s2_world_clone(world, &after));
    steps(after, n);
    near(get(after, ball, S2_BODY_Y) - 0.5, known.y, 1e-12);
    s2_world_destroy(after);
    S2WorldGradient gradient = {0};
    derive(world, n, 5, &gradient);
    relative(gradient.q[5], known.by_y0, 1e-10);
    relative(gradient.body[0].restitution + gradient.body[1].restitution, known.by_e, 1e-10);
    relative(gradient.dt, n * known.by_t, 1e-10);
    relative(gradient.gravity.y, -known.by_g, 1e-10);
    assert_int_equal(gradient.flags, 0);
    s2_world_gradient_free(&gradient);
    s2_world_destroy(world);
  }
}

// Inelastic, with friction mu: it slides on from where it lands, x(T) = vx T - mu vy (T - tau) ...
static void a_point_lands_and_slides(void **state) {
  (void)state;
  for (int n = 10; n <= 100; n += 30) {
    double t = 1, g = 9.81, mu = 0.1, y0 = 0.8, vx = 3;
    S2World *world = event_world(-g, t / n);
    S2BodyDef floor = rough(fixed_at(0, -1), mu, 0);
    add_box(world, floor, 60, 2);
    S2BodyDef def = rough(moving(0, y0 + 0.25, vx, 0, 0), mu, 0);
    S2BodyId box = add_box(world, def, 2.5, 0.5);
    must(s2_body_set(world, box, S2_BODY_INERTIA, 1e9)); // does not turn
    double tau = sqrt(2 * y0 / g), v = vx - mu * g * tau, s = t - tau;
    double tau_y0 = 1 / (g * tau), v_y0 = -mu * g * tau_y0;
    double x = vx * tau + v * s - mu * g * s * s / 2;
    double x_y0 = vx * tau_y0 + v_y0 * s - v * tau_y0 + mu * g * s * tau_y0;
    double x_mu = -g * tau * s - g * s * s / 2;
    S2World *after;
    must(s2_world_clone(world, &after));
    steps(after, n);
    near(get(after, box, S2_BODY_X), x, 1e-8);
    s2_world_destroy(after);
    S2WorldGradient gradient = {0};
    derive(world, n, 4, &gradient);
    relative(gradient.q[5], x_y0, 1e-8);
    relative(gradient.body[0].friction + gradient.body[1].friction, x_mu, 1e-8);
    relative(gradient.v[4], t, 1e-8);
    s2_world_gradient_free(&gradient);
    s2_world_destroy(world);
  }
}

// ---- Differences ------------------------------------------------------------------------------

static void a_box_tumbles(void **state) {
  (void)state;
  Count counts[CLASSES] = {0};
  for (int k = 0; k < 4; k++) {
    S2World *world = event_world(-9.8, 1.0 / 60);
    add_box(world, rough(fixed_at(0, -1), k < 2 ? 0.03 : 0.5, 0.5), 60, 2);
    S2BodyDef def = rough(moving(0, 1, 1, 0, 2 + k), 0.3, 0.5);
    def.linear_damping = k % 2 == 1 ? 0.2 : 0;
    def.angular_damping = k % 2 == 1 ? 0.1 : 0;
    add_box(world, def, 0.6, 0.3);
    compare("a box tumbles", world, 40, 5 + (uint64_t)k, counts);
    s2_world_destroy(world);
  }
  report("a box tumbles", counts);
  assert_true(counts[OF_Q].nonzero > 0 && counts[OF_RESTITUTION].nonzero > 0 &&
              counts[OF_FRICTION].nonzero > 0 && counts[OF_DT].nonzero > 0);
}

static void many_meet(void **state) {
  (void)state;
  Count counts[CLASSES] = {0};
  partial_too = false; // what says that it is not the whole derivative
  for (int seed = 0; seed < 12; seed++) {
    S2Rng rng = s2_rng_seeded(300 + (uint64_t)seed);
    S2World *world = event_world(-9.8, 1.0 / 60);
    S2BodyDef floor = rough(fixed_at(0, -1), 0.3, 0.4);
    floor.angle = 0.05;
    add_box(world, floor, 60, 2);
    S2BodyDef wall = rough(at(2.5, 1.5), 0.3, 0.4);
    wall.type = seed % 2 == 0 ? S2_STATIC : S2_KINEMATIC;
    wall.velocity = seed % 2 == 0 ? s2_vec2(0, 0) : s2_vec2(-0.7, 0.1);
    wall.angular_velocity = seed % 2 == 0 ? 0 : 0.3;
    add_box(world, wall, 0.4, 3);
    int bodies = 1 + seed % 4;
    for (int k = 0; k < bodies; k++) {
      S2BodyDef def = rough(moving(0.9 * k - 1, 0.7 + 0.3 * s2_rng_uniform(&rng),
                                   1 + s2_rng_normal(&rng), 0, 3 * s2_rng_normal(&rng)),
                            0.2 + 0.3 * s2_rng_uniform(&rng), 0.6 * s2_rng_uniform(&rng));
      if (k % 2 == 0) {
        add_box(world, def, 0.5, 0.3);
      } else {
        add_disc(world, def, 0.2);
      }
    }
    char name[32];
    snprintf(name, sizeof name, "many meet %d", seed);
    compare(name, world, 30, 40 + (uint64_t)seed, counts);
    s2_world_destroy(world);
  }
  report("many meet", counts);
  assert_true(counts[OF_Q].nonzero > 0 && counts[OF_V].nonzero > 0);
  assert_true(counts[OF_NOTHING].nonzero <= 4); // left out for that
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_ball_bounces),
      cmocka_unit_test(a_point_lands_and_slides),
      cmocka_unit_test(a_box_tumbles),
      cmocka_unit_test(many_meet),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
