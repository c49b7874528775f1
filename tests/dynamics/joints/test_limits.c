// Arrivals at a joint's limit, and the loads that break joints.
#include "worlds.h"

static S2World *limit_world(double gravity, double dt, S2Stepping stepping) {
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0, gravity);
  def.dt = dt;
  def.stepping = stepping;
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

static S2JointId make(S2World *world, S2JointDef def) {
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

static S2BodyId roped(S2World *world, S2BodyDef def, double length) {
  S2BodyId disc = add_disc(world, def, 0.1);
  S2JointDef rope = joint_def(S2_ROPE, disc, no_body);
  rope.anchor_b = s2_vec2(0, 0);
  rope.max_length = length;
  make(world, rope);
  return disc;
}

static const S2Stepping steppings[2] = {S2_SPECULATIVE, S2_BISECT};

// A weight that falls on a rope stops in the step in which the rope becomes taut: whenever it is at
// the lowest point, its speed is 0.
static void a_rope_stops_a_fall_at_once(void **state) {
  (void)state;
  for (int k = 0; k < 20; k++) {
    S2World *world = limit_world(-10, 1.0 / 240, steppings[k % 2]);
    S2BodyId disc = roped(world, at(0, -0.3 - 0.0137 * k), 1);
    bool taut = false;
    for (int i = 0; i < 240; i++) {
      must(s2_world_step(world));
      double y = get(world, disc, S2_BODY_Y), vy = get(world, disc, S2_BODY_VY);
      assert_true(y > -1 - 1e-9);
      taut = taut || y < -1 + 1e-9;
      if (taut) {
        near(y, -1, 1e-9);
        near(vy, 0, 1e-8);
      }
    }
    assert_true(taut);
    s2_world_destroy(world);
  }
}

// A disc flies straight at 2 m/s and reaches the end of its rope of 1 m at (-0.8, 0.6): it loses
// 1.6 m/s along the rope and keeps 1.2 m/s across it, up to the turn of a step.
static void a_rope_takes_what_is_along_it(void **state) {
  (void)state;
  for (int stepping = 0; stepping < 2; stepping++) {
    double worst[3] = {0};
    for (int level = 0; level < 3; level++) {
      double h = 1.0 / (120 << (2 * level));
      for (int k = 0; k < 10; k++) {
        S2World *world = limit_world(0, h, steppings[stepping]);
        S2BodyDef def = at(-0.5 - 0.0137 * k, 0.6);
        def.velocity = s2_vec2(-2, 0);
        S2BodyId disc = roped(world, def, 1);
        steps(world, (int)(0.5 / h));
        double speed = hypot(get(world, disc, S2_BODY_VX), get(world, disc, S2_BODY_VY));
        worst[level] = fmax(worst[level], fabs(speed - 1.2));
        s2_world_destroy(world);
      }
      assert_true(worst[level] < 2 * 1.6 * h); // the direction turns by less than 2 m/s / 1 m h
    }
    assert_true(worst[1] < worst[0] / 2 && worst[2] < worst[1] / 2);
  }
}

// Two free bodies on a hinge that reaches its limit continue as one body: the loss has a closed
// form.
static void a_stop_loses_what_an_inelastic_one_does(void **state) {
  (void)state;
  for (int k = 0; k < 20; k++) {
    S2World *world = limit_world(0, 1.0 / 240, steppings[k % 2]);
    S2BodyDef swings = at(0.5, 0);
    swings.angular_velocity = 3;
    swings.velocity = s2_vec2(0, 1.5);
    S2BodyId rod = add_box(world, swings, 1, 0.1), post = add_box(world, at(0, 0), 0.3, 0.3);
    S2JointDef hinge = hinge_def(rod, post, 0, 0);
    hinge.has_limits = true;
    hinge.limit_lo = -2;
    hinge.limit_hi = 0.7 + 0.0137 * k;
    S2JointId joint = make(world, hinge);
    double m = get(world, rod, S2_BODY_MASS), n = get(world, post, S2_BODY_MASS);
    double inertia = get(world, rod, S2_BODY_INERTIA);
    double together = inertia + get(world, post, S2_BODY_INERTIA) + m * n / (m + n) * 0.25;
    double turning = inertia * 3 + m * n / (m + n) * 0.5 * 1.5, v = m * 1.5 / (m + n);
    double expected = (m + n) * v * v / 2 + turning * turning / together / 2;
    bool met = false;
    for (int i = 0; i < 200; i++) {
      must(s2_world_step(world));
      S2JointInfo info;
      must(s2_joint_info(world, joint, &info));
      met = met || info.angle >= hinge.limit_hi - 1e-9;
      if (met) {
        // Rows turn within a step: by 3 rad/s / 240, whose square is the remaining part.
        near(get(world, rod, S2_BODY_OMEGA) - get(world, post, S2_BODY_OMEGA), 0, 3 * 1.6e-4);
        near(s2_world_energy(world).kinetic, expected, 2e-4 * expected);
      }
    }
    assert_true(met);
    s2_world_destroy(world);
  }
}

// The impact at a limit conserves momentum and angular momentum.
static void stops_keep_momentum(void **state) {
  (void)state;
  for (int k = 0; k < 20; k++) {
    S2WorldDef settings = fixed_def();
    settings.gravity = s2_vec2(0, 0);
    settings.stepping = steppings[k % 2];
    settings.stabilization = S2_NO_STABILIZATION;
    S2World *world;
    must(s2_world_create(&settings, &world));
    S2BodyDef flies = at(0.2, 0.5);
    flies.velocity = s2_vec2(1 + 0.1 * k, 0.7);
    flies.angular_velocity = -2;
    S2BodyId a = add_box(world, flies, 0.3, 0.2), b = add_box(world, at(0, 0), 0.4, 0.3);
    S2JointDef rope = joint_def(S2_ROPE, a, b);
    rope.anchor_a = s2_vec2(0.3, 0.5);
    rope.anchor_b = s2_vec2(-0.1, 0.1);
    rope.max_length = 1;
    make(world, rope);
    double before[3], after[3];
    s2_world_momentum(world, before);
    double energy = s2_world_energy(world).kinetic;
    steps(world, 240);
    s2_world_momentum(world, after);
    for (int c = 0; c < 3; c++) {
      near(after[c], before[c], 1e-12);
    }
    assert_true(s2_world_energy(world).kinetic < 0.99 * energy); // it became taut
    s2_world_destroy(world);
  }
}

// A weight falls into a weld while another body makes bisecting steps halve: the load of the weld
// is reported, and compared with its strength, for the whole step.
static void bisecting_steps_break_joints_by_the_whole_step(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    S2World *world = limit_world(-10, 1.0 / 60, S2_BISECT);
    S2BodyDef def = at(0, 0);
    def.mass = 1;
    S2BodyId held = add_box(world, def, 1, 0.2);
    S2JointDef weld = joint_def(S2_WELD, held, no_body);
    weld.anchor_a = s2_vec2(0, 0);
    S2BodyDef falls = at(0, 0.2 + 0.1 + 0.03);
    falls.mass = 1;
    falls.velocity = s2_vec2(0, -4);
    add_box(world, falls, 0.2, 0.2);
    // The impact of 4 N s occurs within a step of 1/60 s: 240 N, plus 10 N of weight or a little
    // more.
    weld.break_force = k == 0 ? 230 : 300;
    S2JointId joint = make(world, weld);
    double most = 0;
    for (int i = 0; i < 10; i++) {
      must(s2_world_step(world));
      S2JointInfo info;
      must(s2_joint_info(world, joint, &info));
      most = fmax(most, info.impulse.y);
      near(info.impulse.y, info.force.y / 60, 1e-9);
    }
    assert_true(s2_world_stats(world)->bisections > 0);
    assert_true(most > 4 && most < 4.6);
    double broken;
    must(s2_joint_get(world, joint, S2_JOINT_BROKEN, &broken));
    assert_true((broken != 0) == (k == 0));
    s2_world_destroy(world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_rope_stops_a_fall_at_once),
      cmocka_unit_test(a_rope_takes_what_is_along_it),
      cmocka_unit_test(a_stop_loses_what_an_inelastic_one_does),
      cmocka_unit_test(stops_keep_momentum),
      cmocka_unit_test(bisecting_steps_break_joints_by_the_whole_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
