// Joints in worlds: each type compared with statics and closed forms, and all with invalid input.
#include "worlds.h"

static double uniform(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static S2JointId make(S2World *world, S2JointDef def) {
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

static double field(const S2World *world, S2JointId joint, S2JointField field) {
  double value = NAN;
  must(s2_joint_get(world, joint, field, &value));
  return value;
}

static S2JointInfo info(const S2World *world, S2JointId joint) {
  S2JointInfo info;
  must(s2_joint_info(world, joint, &info));
  return info;
}

static void expect_q(const S2World *world, S2BodyId body, double angle, double x, double y,
                     double tolerance) {
  double q[3];
  must(s2_body_q(world, body, q));
  near(q[0], angle, tolerance);
  near(q[1], x, tolerance);
  near(q[2], y, tolerance);
}

// ---- Statics ----------------------------------------------------------------------------------

static void limits_carry_weight(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2JointDef def = hinge_def(add_box(world, at(1, 0), 2, 0.1), no_body, 0, 0);
  def.has_limits = true;
  def.limit_lo = -0.25;
  def.limit_hi = 1;
  S2JointId hinge = make(world, def);
  S2BodyId mass = def.a;
  steps_solved(world, 300, 1e-9, 0);
  near(field(world, hinge, S2_JOINT_ANGLE), -0.25, 1e-9);
  double m = get(world, mass, S2_BODY_MASS);
  near(field(world, hinge, S2_JOINT_TORQUE), 10 * m * cos(0.25), 1e-6 * m); // arm 1 m
  near(info(world, hinge).force.y, 10 * m, 1e-6 * m);
  // Equal limits hold the coordinate at its value.
  must(s2_joint_set_limits(world, hinge, 0.5, 0.5));
  steps_solved(world, 5, 1e-9, 0);
  near(field(world, hinge, S2_JOINT_ANGLE), 0.5, 1e-9);
  near(field(world, hinge, S2_JOINT_SPEED), 0, 1e-9);
  near(field(world, hinge, S2_JOINT_TORQUE), 10 * m * cos(0.5), 1e-6 * m);
  s2_world_destroy(world);
}

// It arrives exactly and stops without a rebound; a body that leaves the limit is not held.
static void limits_stop_what_arrives(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2JointDef def = joint_def(S2_SLIDER, add_disc(world, at(0, 0), 0.5), no_body);
  def.anchor_a = s2_vec2(0, 0);
  def.axis = s2_vec2(1, 0);
  def.has_limits = true;
  def.limit_lo = -1;
  def.limit_hi = 0.333;
  S2JointId slider = make(world, def);
  must(s2_body_set_v(world, def.a, (const double[3]){0, 20, 0}));
  for (int i = 0; i < 20; i++) {
    steps_solved(world, 1, 1e-9, 0);
    assert_true(field(world, slider, S2_JOINT_TRANSLATION) <= 0.333 + 1e-12);
  }
  near(field(world, slider, S2_JOINT_TRANSLATION), 0.333, 1e-12);
  near(field(world, slider, S2_JOINT_SPEED), 0, 1e-12);
  must(s2_body_set_v(world, def.a, (const double[3]){0, -1, 0}));
  steps_solved(world, 10, 1e-9, 0);
  near(field(world, slider, S2_JOINT_SPEED), -1, 1e-12);
  expect_q(world, def.a, 0, 0.233, 0, 1e-9);
  s2_world_destroy(world);
}

// A ball that bounces on a floor inside a slider's limits: the second solve includes the limits.
static void limits_do_not_bounce(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyId ball = add_disc(world, rough(at(0, 0), 0, 1), 0.5);
  S2BodyId other = add_disc(world, rough(at(-1.5, 0), 0, 1), 0.5);
  S2JointDef def = joint_def(S2_SLIDER, ball, no_body);
  def.anchor_a = s2_vec2(0, 0);
  def.axis = s2_vec2(1, 0);
  def.has_limits = true;
  def.limit_lo = -1;
  def.limit_hi = 0;
  make(world, def);
  must(s2_body_set_v(world, other, (const double[3]){0, 3, 0}));
  steps_solved(world, 100, 1e-9, 1e-9);
  expect_q(world, ball, 0, 0, 0, 1e-9);
  near(get(world, other, S2_BODY_VX), -3, 1e-9); // as from a wall
  s2_world_destroy(world);
}

static void a_weld_holds(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2JointDef def = joint_def(S2_WELD, add_box(world, at(1, 0), 2, 0.1), no_body);
  def.anchor_a = s2_vec2(0, 0);
  S2JointId weld = make(world, def);
  double m = get(world, def.a, S2_BODY_MASS);
  steps_solved(world, 100, 1e-9, 0);
  expect_q(world, def.a, 0, 1, 0, 1e-9);
  near(field(world, weld, S2_JOINT_FORCE), 10 * m, 1e-9);
  near(field(world, weld, S2_JOINT_TORQUE), 10 * m, 1e-9);
  // Two welded bodies turn as one about their common centre.
  S2BodyId a = add_box(world, at(9, 5), 1, 1), b = add_box(world, at(11, 5), 1, 1);
  S2JointDef pair = joint_def(S2_WELD, a, b);
  pair.anchor_a = s2_vec2(10, 5);
  weld = make(world, pair);
  must(s2_body_set_v(world, a, (const double[3]){2, 0, -2}));
  must(s2_body_set_v(world, b, (const double[3]){2, 0, 2}));
  steps_solved(world, 100, 1e-9, 0);
  double qa[3], qb[3];
  must(s2_body_q(world, a, qa));
  must(s2_body_q(world, b, qb));
  near(qa[0], qb[0], 1e-9);
  near(hypot(qa[1] - qb[1], qa[2] - qb[2]), 2, 1e-9);
  assert_true(info(world, weld).error < 1e-9);
  s2_world_destroy(world);
}

static void a_slider_moves_along_its_axis_only(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2JointDef def = joint_def(S2_SLIDER, add_box(world, at(0, 0), 1, 1), no_body);
  def.anchor_a = s2_vec2(0.3, 0.2);
  def.axis = s2_vec2(3, -4);
  S2JointId slider = make(world, def);
  steps_solved(world, 100, 1e-9, 0);
  // Down a slope without friction: 0.8 g along it. By projection that is semi-implicit Euler; the
  // two stages move by the mean of both velocities, which is exact under constant forces.
  bool stages = s2_world_rattles(s2_world_settings(world));
  double s = stages ? 8 * 1.0 / 2 : 8 * 0.01 * 0.01 * 100 * 101 / 2;
  near(field(world, slider, S2_JOINT_TRANSLATION), s, 1e-9);
  near(field(world, slider, S2_JOINT_SPEED), 8, 1e-9);
  expect_q(world, def.a, 0, 0.6 * s, -0.8 * s, 1e-9);
  s2_world_destroy(world);
}

// One step of m x'' = -k x - d x': returns the force, and updates x and v. Projection uses implicit
// Euler. The two stages use the trapezoid, as (h w)^2 + 2 h d/m is below 4: with u = (x1 - x)/h
// both stages push with F = -(k (x + x1)/2 + d u), m (u - v) = h/2 F = m (v1 - u).
static double step_spring(bool stages, double h, double m, double k, double d, double *x,
                          double *v) {
  if (!stages) {
    *v = (m * *v - h * k * *x) / (m + h * d + h * h * k);
    *x += h * *v;
    return -k * *x - d * *v;
  }
  double u = (m * *v - h / 2 * k * *x) / (m + h / 2 * (d + h / 2 * k));
  double force = -k * (*x + h / 2 * u) - d * u;
  *x += h * u;
  *v = 2 * u - *v;
  return force;
}

static void springs_follow_the_closed_form(void **state) {
  (void)state;
  const double h = 0.01, k = 250, d = 1.5, rest = 1.5;
  S2World *world = world_new(0, h);
  S2JointDef def = joint_def(S2_SPRING, add_disc(world, at(2, 0), 0.1), no_body);
  def.anchor_b = s2_vec2(0, 0);
  def.rest_length = rest;
  def.stiffness = k;
  def.damping.linear = d;
  S2JointId spring = make(world, def);
  double m = get(world, def.a, S2_BODY_MASS), x = 0.5, v = 0;
  near(s2_world_energy(world).potential, k * x * x / 2, 1e-12);
  for (int i = 0; i < 300; i++) {
    steps_solved(world, 1, 1e-9, 0);
    double force = step_spring(s2_world_rattles(s2_world_settings(world)), h, m, k, d, &x, &v);
    near(field(world, spring, S2_JOINT_LENGTH) - rest, x, 1e-10);
    near(info(world, spring).force.x, force, 1e-7);
  }
  s2_world_destroy(world);
}

// A soft hinge under load deflects by C times the load, and stores 1/2 g' C^-1 g.
static void compliant_rows_sag(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2JointDef def = joint_def(S2_WELD, add_disc(world, at(0, 0), 0.5), no_body);
  def.anchor_a = s2_vec2(0, 0);
  def.compliance = (S2JointWeights){.size = 3, .matrix = {2e-3, 1e-3, 0, 1e-3, 3e-3, 0, 0, 0, 0}};
  def.damping = (S2JointWeights){.linear = 40};
  S2JointId weld = make(world, def);
  double m = get(world, def.a, S2_BODY_MASS), f = -10 * m;
  steps_solved(world, 2000, 1e-9, 0);
  expect_q(world, def.a, 0, 1e-3 * f, 3e-3 * f, 1e-9);
  near(s2_world_energy(world).potential, 10 * m * 3e-3 * f + 3e-3 * f * f / 2, 1e-9);
  assert_true(s2_world_residuals(world).joint_error < 1e-9); // error of the rigid row
  near(info(world, weld).force.y, -f, 1e-7);
  s2_world_destroy(world);
}

static void a_rope_is_slack_or_taut(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2JointDef def = joint_def(S2_ROPE, add_disc(world, at(0, -1), 0.1), no_body);
  def.anchor_b = s2_vec2(0, 0);
  def.max_length = 1.5;
  S2JointId rope = make(world, def);
  steps_solved(world, 10, 1e-9, 0);
  near(get(world, def.a, S2_BODY_VY), -10 * 0.1, 1e-12);
  near(field(world, rope, S2_JOINT_FORCE), 0, 0);
  steps_solved(world, 100, 1e-9, 0);
  near(field(world, rope, S2_JOINT_LENGTH), 1.5, 1e-9);
  near(get(world, def.a, S2_BODY_VY), 0, 1e-9);
  near(info(world, rope).force.y, 10 * get(world, def.a, S2_BODY_MASS), 1e-9);
  must(s2_joint_set(world, rope, S2_JOINT_MAX_LENGTH, 1.25));
  steps_solved(world, 2, 1e-9, 0);
  near(field(world, rope, S2_JOINT_LENGTH), 1.25, 1e-9);
  s2_world_destroy(world);
}

// Thrown up beside its anchor: a parabola while the rope is slack, then a circle, with the
// tangential speed that the parabola had.
static void a_rope_catches_what_was_thrown(void **state) {
  (void)state;
  for (double h = 1e-2; h > 5e-5; h /= 10) {
    S2World *world = world_new(-10, h);
    S2JointDef def = joint_def(S2_ROPE, add_disc(world, at(0.8, 0), 0.1), no_body);
    def.anchor_b = s2_vec2(0, 0);
    def.max_length = 1;
    S2JointId rope = make(world, def);
    must(s2_body_set_v(world, def.a, (const double[3]){0, 0, 2}));
    // x = 0.8, y = 2 t - 5 t^2, taut on the way down at y = -0.6.
    double taut = (2 + sqrt(4 + 12)) / 10, speed = 2 - 10 * taut;
    double along = 0.8 * speed, v = 0, x = 0, y = 0; // direction (0.6, 0.8)
    while (!(field(world, rope, S2_JOINT_FORCE) > 0)) {
      steps_solved(world, 1, 1e-9, 0);
      assert_true(field(world, rope, S2_JOINT_LENGTH) <= 1 + 1e-9);
    }
    near(s2_world_time(world), taut, 3 * h);
    steps_solved(world, 1, 1e-9, 0); // this step takes the rest of the outward velocity
    v = hypot(get(world, def.a, S2_BODY_VX), get(world, def.a, S2_BODY_VY));
    x = get(world, def.a, S2_BODY_X), y = get(world, def.a, S2_BODY_Y);
    near(v, fabs(along), 30 * h);                       // 10 m/s^2 for up to three steps
    near(hypot(x - 0.8, y + 0.6), 0, 20 * h);           // at 6 m/s
    steps_solved(world, (int)lround(0.1 / h), 1e-9, 0); // it continues to swing
    near(field(world, rope, S2_JOINT_LENGTH), 1, 1e-9);
    double energy = s2_world_energy(world).kinetic / get(world, def.a, S2_BODY_MASS);
    near(energy + 10 * get(world, def.a, S2_BODY_Y), along * along / 2 - 6, 60 * h);
    s2_world_destroy(world);
  }
}

// Where anchors coincide the only direction is the one kept from the start, here x.
static void lengths_may_be_zero(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2JointDef spring = joint_def(S2_SPRING, add_disc(world, at(0, 0), 0.1), no_body);
  S2JointDef rope = joint_def(S2_ROPE, add_disc(world, at(5, 0), 0.1), no_body);
  S2JointDef point = joint_def(S2_SPRING, add_disc(world, at(9, 0), 0.1), no_body);
  spring.anchor_b = s2_vec2(0, 0);
  spring.rest_length = 0.5;
  spring.stiffness = 10;
  spring.damping.linear = 1;
  make(world, spring);
  rope.anchor_b = s2_vec2(5, 0);
  rope.max_length = 1;
  S2JointId held = make(world, rope);
  point.anchor_b = s2_vec2(9, 0);
  point.rest_length = 0;
  point.stiffness = 10;
  point.damping.linear = 1;
  S2JointId pulled = make(world, point);
  must(s2_body_set_v(world, rope.a, (const double[3]){0, 0, 2}));
  must(s2_body_set_v(world, point.a, (const double[3]){0, 0.5, 0.5}));
  steps_solved(world, 1000, 1e-9, 0);
  expect_q(world, spring.a, 0, 0.5, 0, 1e-9);
  expect_q(world, rope.a, 0, 5, 1, 1e-9);
  near(field(world, held, S2_JOINT_LENGTH), 1, 1e-9);
  near(field(world, pulled, S2_JOINT_LENGTH), 0, 1e-6);
  s2_world_destroy(world);
}

// Energy and ratio of two wheels in mesh; a rack and a pinion.
static void gears_keep_their_ratio(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2BodyId a = add_disc(world, at(0, 0), 0.5), b = add_disc(world, at(2, 0), 1);
  S2BodyId rack = add_box(world, at(0, 3), 4, 0.2);
  S2JointDef gear = s2_joint_def(S2_GEAR), slide = joint_def(S2_SLIDER, rack, no_body);
  slide.anchor_a = s2_vec2(0, 3);
  slide.axis = s2_vec2(0, 1);
  gear.joint_a = make(world, hinge_def(a, no_body, 0, 0));
  gear.joint_b = make(world, hinge_def(b, no_body, 2, 0));
  gear.ratio = 2;
  S2JointId first = make(world, gear);
  gear.joint_b = make(world, slide);
  gear.ratio = 1 / 0.5; // a turns by 1 rad when the rack moves down by its radius
  S2JointId second = make(world, gear);
  steps_solved(world, 50, 1e-9, 0);
  double fall = get(world, rack, S2_BODY_Y) - 3, turn = get(world, a, S2_BODY_ANGLE);
  near(turn, -2 * fall, 1e-9);
  near(get(world, b, S2_BODY_ANGLE), -turn / 2, 1e-9);
  // Reduced to the rack: m + 4 I_a + I_b.
  double m = get(world, rack, S2_BODY_MASS), inertia_a = get(world, a, S2_BODY_INERTIA);
  double inertia_b = get(world, b, S2_BODY_INERTIA);
  near(get(world, rack, S2_BODY_VY), -10 * 0.5 * m / (m + 4 * inertia_a + inertia_b), 1e-9);
  assert_true(info(world, first).error < 1e-9 && info(world, second).error < 1e-9);
  // A gear is inactive while one of its joints is disabled.
  must(s2_joint_set(world, gear.joint_b, S2_JOINT_ENABLED, 0));
  steps_solved(world, 1, 1e-9, 0);
  near(get(world, rack, S2_BODY_VY), -10 * 0.5 * m / (m + 4 * inertia_a + inertia_b) - 10 * 0.01,
       1e-9);
  // Destroying a joint destroys its gear; destroying a body destroys both.
  must(s2_body_destroy(world, rack));
  assert_false(s2_joint_alive(world, second));
  assert_true(s2_joint_alive(world, first));
  must(s2_body_destroy(world, a));
  assert_int_equal(s2_world_joints(world, NULL, 0), 1);
  s2_world_destroy(world);
}

// A hundred turns of the small wheel, which lifts and lowers a weight on the rim of the large one.
static void a_gear_does_not_slip(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 120);
  S2BodyId small = add_disc(world, at(0, 0), 0.2), large = add_disc(world, at(2, 0), 0.5);
  S2BodyId load = add_disc(world, at(2.4, 0), 0.1);
  S2JointDef gear = s2_joint_def(S2_GEAR), drive = hinge_def(small, no_body, 0, 0);
  S2JointDef hold = joint_def(S2_WELD, load, large);
  drive.has_motor = true;
  drive.motor_speed = 30;
  hold.anchor_a = s2_vec2(2.4, 0);
  make(world, hold);
  gear.joint_a = make(world, drive);
  gear.joint_b = make(world, hinge_def(large, no_body, 2, 0));
  gear.ratio = 2.5;
  S2JointId joint = make(world, gear);
  const double turns = 100 * 6.283185307179586;
  while (get(world, small, S2_BODY_ANGLE) < turns) {
    steps_solved(world, 1, 1e-9, 0);
    double a = get(world, small, S2_BODY_ANGLE), b = get(world, large, S2_BODY_ANGLE);
    near(a + 2.5 * b, 0, 1e-9);
    assert_true(info(world, joint).error < 1e-9);
    assert_true(s2_world_time(world) < 22); // 628.3 rad at 30 rad/s: 20.9 s
  }
  s2_world_destroy(world);
}

static void locks_hold_and_drive(void **state) {
  (void)state;
  for (int stepping = 0; stepping < 2; stepping++) {
    S2World *world = world_new(-10, 0.01);
    S2WorldDef settings = *s2_world_settings(world);
    settings.stepping = stepping == 0 ? S2_SPECULATIVE : S2_BISECT;
    must(s2_world_configure(world, &settings));
    S2JointDef def = joint_def(S2_LOCK, add_box(world, at(0, 0), 1, 1), no_body);
    def.lock_y = def.lock_angle = true;
    def.angular_velocity = 0.7;
    S2JointId lock = make(world, def);
    must(s2_body_set_v(world, def.a, (const double[3]){0, 1, 5}));
    steps_solved(world, 100, 1e-9, 0);
    expect_q(world, def.a, 0.7, 1, 0, 1e-9);
    assert_true(s2_world_residuals(world).joint_error < 1e-9);
    near(info(world, lock).force.y, 10 * get(world, def.a, S2_BODY_MASS), 1e-7);
    must(s2_joint_set_velocity(world, lock, (const double[3]){0, 0, -2}));
    steps_solved(world, 50, 1e-9, 0);
    expect_q(world, def.a, 0.7, 1.5, -1, 1e-9);
    s2_world_destroy(world);
  }
}

static void a_mouse_pulls(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2JointDef def = joint_def(S2_MOUSE, add_disc(world, at(0, 0), 0.5), no_body);
  def.target = s2_vec2(0.3, 0.4);
  def.stiffness = 1e-3; // so soft that the body hardly moves
  S2JointId mouse = make(world, def);
  steps_solved(world, 1, 1e-9, 0);
  near(info(world, mouse).force.x, 0.3e-3, 1e-9);
  near(info(world, mouse).force.y, 0.4e-3, 1e-9);
  near(field(world, mouse, S2_JOINT_LENGTH), 0.5, 1e-7);
  near(s2_world_energy(world).potential, 0.5e-3 * 0.25, 1e-9);
  s2_world_destroy(world);
}

static void wheels_spring_and_turn(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyId car = add_box(world, at(0, 1), 2, 0.4), wheel = add_disc(world, at(0, 0), 0.3);
  S2JointDef def = joint_def(S2_WHEEL, wheel, car);
  def.anchor_a = s2_vec2(0, 0);
  def.axis = s2_vec2(0, 1);
  def.stiffness = 100;
  S2JointId joint = make(world, def);
  must(s2_body_set_v(world, wheel, (const double[3]){4, 0, 0.5}));
  double m = get(world, car, S2_BODY_MASS), n = get(world, wheel, S2_BODY_MASS);
  double reduced = m * n / (m + n), x = 0, v = 0.5;
  for (int i = 0; i < 200; i++) {
    steps_solved(world, 1, 1e-9, 0);
    step_spring(s2_world_rattles(s2_world_settings(world)), 0.01, reduced, 100, 0, &x, &v);
    near(field(world, joint, S2_JOINT_TRANSLATION), x, 1e-9);
  }
  near(field(world, joint, S2_JOINT_SPEED), 4, 1e-9);
  near(get(world, car, S2_BODY_ANGLE), 0, 1e-9);
  s2_world_destroy(world);
}

static void joints_break(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2JointDef def = hinge_def(add_box(world, at(0, -1), 1, 1), no_body, 0, 0);
  double m = get(world, def.a, S2_BODY_MASS);
  def.break_force = 15 * m;
  S2JointId joint = make(world, def);
  int count = 0;
  steps(world, 10);
  assert_true(field(world, joint, S2_JOINT_ENABLED) == 1);
  // 9 m/s^2 more: by projection only once the body has turned, which is in the next step.
  must(s2_body_set_v(world, def.a, (const double[3]){3, 3, 0}));
  steps(world, s2_world_rattles(s2_world_settings(world)) ? 1 : 2);
  const S2Event *events = s2_world_events(world, &count);
  assert_int_equal(count, 1);
  assert_int_equal(events[0].type, S2_JOINT_BREAK);
  assert_int_equal(events[0].joint.serial, joint.serial);
  assert_true(events[0].force > 18 * m && events[0].force < 20 * m);
  assert_true(field(world, joint, S2_JOINT_ENABLED) == 0 && info(world, joint).broken);
  double vy = get(world, def.a, S2_BODY_VY);
  steps(world, 1);
  (void)s2_world_events(world, &count);
  assert_int_equal(count, 0);
  near(get(world, def.a, S2_BODY_VY), vy - 0.1, 1e-12);
  must(s2_joint_set(world, joint, S2_JOINT_BREAK_FORCE, INFINITY));
  must(s2_joint_set(world, joint, S2_JOINT_ENABLED, 1));
  assert_false(info(world, joint).broken);
  steps(world, 5);
  assert_true(info(world, joint).error < 1e-9);
  s2_world_destroy(world);
}

// ---- All types --------------------------------------------------------------------------------

static S2JointDef random_def(S2Rng *rng, S2JointType type, S2BodyId a, S2BodyId b) {
  S2JointDef def = joint_def(type, a, b);
  bool shared = type == S2_HINGE || type == S2_WELD || type == S2_SLIDER || type == S2_WHEEL;
  def.anchor_a = s2_vec2(uniform(rng, -2, 2), uniform(rng, -2, 2));
  def.anchor_b = s2_vec2(uniform(rng, 2, 4), uniform(rng, -2, 2));
  def.axis = s2_vec2(uniform(rng, -1, 1), uniform(rng, 1, 2));
  bool either = type == S2_HINGE || type == S2_SLIDER; // compliance or a spring
  double stiffness = exp(uniform(rng, 0, 8));
  def.stiffness = stiffness;
  def.target = s2_vec2(uniform(rng, -2, 2), uniform(rng, -2, 2));
  def.lock_x = type == S2_LOCK && s2_rng_integer(rng, 0, 1) == 1;
  def.lock_angle = type == S2_LOCK;
  bool soft = s2_rng_integer(rng, 0, 1) == 1, limited = s2_rng_integer(rng, 0, 1) == 1;
  if (type == S2_SPRING || type == S2_MOUSE || type == S2_WHEEL) {
    def.damping.linear = uniform(rng, 0, 2);
  } else if (soft && type != S2_ROPE) {
    def.stiffness = either ? NAN : stiffness;
    def.compliance.linear = exp(uniform(rng, -9, 0));
    def.compliance.angular = s2_rng_integer(rng, 0, 1) == 1 ? exp(uniform(rng, -9, 0)) : 0;
    def.damping.linear = def.damping.angular = uniform(rng, 0, 2);
  }
  if (limited && (type == S2_HINGE || type == S2_SLIDER || type == S2_WHEEL || type == S2_SPRING)) {
    double middle = type == S2_SPRING
                        ? hypot(def.anchor_a.x - def.anchor_b.x, def.anchor_a.y - def.anchor_b.y)
                        : 0;
    def.has_limits = true;
    def.limit_lo = middle - uniform(rng, 0, 0.3);
    def.limit_hi = middle + uniform(rng, 0, 0.3);
  }
  def.b = type == S2_LOCK || type == S2_MOUSE ? no_body : b;
  def.collide = shared && s2_rng_integer(rng, 0, 3) == 0;
  return def;
}

static S2JointId random_joint(S2World *world, S2Rng *rng, S2JointType type, S2BodyId a,
                              S2BodyId b) {
  if (type != S2_GEAR) {
    return make(world, random_def(rng, type, a, b));
  }
  S2JointDef gear = s2_joint_def(S2_GEAR);
  gear.joint_a = make(world, random_def(rng, S2_HINGE, a, no_body));
  gear.joint_b = make(world, random_def(rng, S2_SLIDER, b, no_body));
  gear.ratio = uniform(rng, 0.3, 3);
  return make(world, gear);
}

static S2BodyId random_body(S2World *world, S2Rng *rng, double x) {
  S2BodyDef def = at(x, uniform(rng, -1, 1));
  def.angle = uniform(rng, -4, 4);
  def.velocity = s2_vec2(uniform(rng, -2, 2), uniform(rng, -2, 2));
  def.angular_velocity = uniform(rng, -3, 3);
  return add_box(world, def, uniform(rng, 0.3, 2), uniform(rng, 0.3, 2));
}

// Random joints between random bodies, some fixed, with all kinds of limits and softness.
static void random_joints_are_solved(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(5);
  for (int trial = 0; trial < 600; trial++) {
    S2World *world = world_new(-10, 0.01);
    S2JointType type = (S2JointType)(trial % (S2_WHEEL + 1));
    S2BodyId a = random_body(world, &rng, 0), b = random_body(world, &rng, 3);
    random_joint(world, &rng, type, a, b);
    if (s2_rng_integer(&rng, 0, 2) == 0) {
      random_joint(world, &rng, S2_ROPE, a, no_body);
    }
    for (int k = 0; k < 60; k++) {
      must(s2_world_step(world));
      S2WorldResiduals r = s2_world_residuals(world);
      if (!(r.solve.scaled <= 1e-9) || !(r.joint_error <= 1.5e-9)) { // bodies are up to 1.5 m large
        fail_msg("trial %d (%s) step %d: residual %.2e, joint error %.2e", trial,
                 s2_joint_type_name(type), k, r.solve.scaled, r.joint_error);
      }
    }
    s2_world_destroy(world);
  }
}

// Elastic energy never grows under implicit Euler.
static void springs_gain_no_energy(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(6);
  const S2JointType types[] = {S2_SPRING, S2_MOUSE, S2_DISTANCE};
  for (int trial = 0; trial < 60; trial++) {
    S2World *world = world_new(0, 0.01);
    S2BodyId a = random_body(world, &rng, 0), b = random_body(world, &rng, 3);
    S2JointDef def = random_def(&rng, types[trial % 3], a, b);
    // centres: no turning, where the error is only of
    def.anchor_a = def.anchor_b = s2_vec2(NAN, NAN);
    def.has_limits = false; // first order
    make(world, def);
    double before = s2_world_energy(world).total, start = before;
    for (int k = 0; k < 200; k++) {
      steps(world, 1);
      double now = s2_world_energy(world).total;
      if (types[trial % 3] == S2_MOUSE) { // linear: exactly
        assert_true(now <= before + 1e-9 * start);
      }
      before = now;
    }
    assert_true(before <= 1.05 * start);
    s2_world_destroy(world);
  }
}

// Two rods whose lengths no position satisfies, and two locks that pull in opposite directions.
static void contradictions_show(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2BodyId body = add_box(world, at(0, 0), 1, 1);
  S2JointDef rod = joint_def(S2_DISTANCE, body, no_body);
  rod.anchor_b = s2_vec2(0, 2);
  rod.length = 2;
  make(world, rod);
  rod.anchor_b = s2_vec2(0, -2);
  rod.length = 1;
  make(world, rod);
  steps(world, 50);
  assert_true(s2_world_residuals(world).joint_error > 0.2);
  assert_true(isfinite(get(world, body, S2_BODY_Y)));
  s2_world_destroy(world);

  world = world_new(0, 0.01);
  body = add_box(world, at(0, 0), 1, 1);
  S2JointDef lock = joint_def(S2_LOCK, body, no_body);
  lock.lock_x = true;
  lock.velocity.x = 1;
  make(world, lock);
  lock.velocity.x = -1;
  make(world, lock);
  steps(world, 10);
  S2WorldResiduals r = s2_world_residuals(world);
  assert_true(r.solve.joint > 0.5 && r.solve.scaled > 1e-9);
  assert_true(s2_world_stats(world)->unsolved >= 10);
  assert_true(isfinite(get(world, body, S2_BODY_X)));
  near(r.joint_error, 0.1, 0.11);
  s2_world_destroy(world);
}

// ---- Nonsense ---------------------------------------------------------------------------------

static void refused(S2World *world, S2JointDef def, S2Code code, const char *message) {
  S2JointId joint;
  S2Status status = s2_joint_create(world, &def, &joint);
  assert_int_equal(status.code, code);
  if (strstr(status.message, message) == NULL) {
    fail_msg("got \"%s\", want \"%s\"", status.message, message);
  }
}

static void nonsense_is_refused(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyId body = add_disc(world, at(0, 0), 1), gone = add_disc(world, at(9, 0), 1);
  S2BodyId wall = add_disc(world, fixed_at(3, 0), 1), other = add_disc(world, fixed_at(6, 0), 1);
  must(s2_body_destroy(world, gone));
  refused(world, hinge_def(body, body, 0, 0), S2_INVALID, "same body twice");
  refused(world, hinge_def(no_body, no_body, 0, 0), S2_INVALID, "at least one body");
  refused(world, hinge_def(wall, other, 0, 0), S2_INVALID, "at least one dynamic body");
  refused(world, hinge_def(wall, no_body, 0, 0), S2_INVALID, "at least one dynamic body");
  refused(world, hinge_def(body, gone, 0, 0), S2_STALE, "destroyed");
  refused(world, hinge_def(body, wall, NAN, 0), S2_INVALID, "anchor: finite numbers expected");
  S2JointDef def = hinge_def(body, wall, 0, 0), good = def;
  def.has_limits = true;
  def.limit_lo = 1;
  def.limit_hi = 0;
  refused(world, def, S2_INVALID, "limits: lo <= hi expected, got {1, 0}");
  def.limit_hi = NAN;
  refused(world, def, S2_INVALID, "limits");
  def = good;
  def.has_motor = true;
  def.motor_speed = INFINITY;
  refused(world, def, S2_INVALID, "motor_speed: finite number expected, got inf");
  def.motor_speed = 1;
  def.motor_max = -1;
  refused(world, def, S2_INVALID, "motor_max: a number not below 0 expected, got -1");
  def = good;
  def.friction = NAN;
  refused(world, def, S2_INVALID, "friction: a finite number not below 0 expected, got nan");
  def = good;
  def.compliance.linear = -1;
  refused(world, def, S2_INVALID, "compliance: a finite number not below 0 expected, got -1");
  def.compliance = (S2JointWeights){.size = 2, .matrix = {1, 2, 2, 1}};
  refused(world, def, S2_INVALID, "positive semidefinite");
  def.compliance = (S2JointWeights){.linear = 1};
  def.damping.linear = NAN;
  refused(world, def, S2_INVALID, "damping: a finite number not below 0 expected, got nan");
  def = good;
  def.break_force = NAN;
  refused(world, def, S2_INVALID, "break_force: a number above 0 expected, got nan");
  def = joint_def(S2_WELD, body, wall);
  def.anchor_a = s2_vec2(0, 0);
  def.has_limits = true;
  refused(world, def, S2_INVALID, "limits: does not apply to a weld");
  def.has_limits = false;
  def.friction = 1;
  refused(world, def, S2_INVALID, "friction: does not apply to a weld");
  def = joint_def(S2_SLIDER, body, wall);
  def.anchor_a = s2_vec2(0, 0);
  refused(world, def, S2_INVALID, "axis: a direction expected, got {0, 0}");
  def = joint_def(S2_SPRING, body, wall);
  refused(world, def, S2_INVALID, "stiffness: a finite number not below 0 expected, got nan");
  def.stiffness = -2;
  refused(world, def, S2_INVALID, "stiffness: a finite number not below 0 expected, got -2");
  def.stiffness = 2;
  def.rest_length = -1;
  refused(world, def, S2_INVALID, "rest_length: a number not below 0 expected, got -1");
  def = joint_def(S2_DISTANCE, body, wall);
  def.length = 0;
  refused(world, def, S2_INVALID, "length: a number above 0 expected, got 0");
  def.length = NAN;
  def.anchor_a = def.anchor_b = s2_vec2(1, 1);
  refused(world, def, S2_INVALID, "use a hinge to hold");
  def = joint_def(S2_ROPE, body, wall);
  def.max_length = -1;
  refused(world, def, S2_INVALID, "max_length: a number above 0 expected, got -1");
  refused(world, joint_def(S2_LOCK, body, no_body), S2_INVALID, "at least one of x, y and angle");
  refused(world, joint_def(S2_LOCK, body, wall), S2_INVALID, "a lock holds one body");
  def = joint_def(S2_MOUSE, body, no_body);
  def.stiffness = 1;
  refused(world, def, S2_INVALID, "target: finite numbers expected");
  def = s2_joint_def(S2_GEAR);
  refused(world, def, S2_STALE, "joint_a: a joint expected");
  assert_int_equal(s2_world_joints(world, NULL, 0), 0);
  // Three moving bodies are too many for a gear, except for one of hinges.
  S2BodyId one = add_disc(world, at(0, 9), 1), two = add_disc(world, at(0, 18), 1);
  def.joint_a = make(world, hinge_def(body, one, 0, 0));
  S2JointDef slide = joint_def(S2_SLIDER, two, no_body);
  slide.anchor_a = s2_vec2(0, 18);
  slide.axis = s2_vec2(1, 0);
  def.joint_b = make(world, slide);
  refused(world, def, S2_INVALID, "more than two bodies only if it couples two hinges");
  def.ratio = 0;
  refused(world, def, S2_INVALID, "ratio");
  assert_int_equal(s2_world_joints(world, NULL, 0), 2);
  s2_world_destroy(world);
}

static void fields_check_their_domain(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2JointId hinge = make(world, hinge_def(add_disc(world, at(0, 0), 1), no_body, 0, 0));
  static const struct {
    S2JointField field;
    double value;
    const char *message;
  } bad[] = {
      {S2_JOINT_ANGLE, 1, "angle: cannot be set"},
      {S2_JOINT_STIFFNESS, -1, "stiffness: a number not below 0 expected, got -1"},
      {S2_JOINT_QUADRATIC, 1, "quadratic: does not apply to a hinge"},
      {S2_JOINT_REST, NAN, "rest: finite number expected, got nan"},
      {S2_JOINT_MOTOR_MAX, -1, "motor_max: a number not below 0 expected, got -1"},
      {S2_JOINT_MOTOR_SPEED, NAN, "motor_speed: finite number expected, got nan"},
      {S2_JOINT_LIMIT_HI, -INFINITY, "limits: lo <= hi expected"},
      {S2_JOINT_BREAK_FORCE, 0, "break_force: a number above 0 expected, got 0"},
      {S2_JOINT_DAMPING, -1, "damping: a number not below 0 expected, got -1"},
      {S2_JOINT_ENABLED, 2, "enabled: 0 or 1 expected, got 2"},
      {S2_JOINT_COMPLIANCE, -1, "compliance: a number not below 0 expected, got -1"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    S2Status status = s2_joint_set(world, hinge, bad[i].field, bad[i].value);
    assert_int_equal(status.code, S2_INVALID);
    if (strstr(status.message, bad[i].message) == NULL) {
      fail_msg("got \"%s\", want \"%s\"", status.message, bad[i].message);
    }
  }
  for (int f = 0; f < S2_JOINT_FIELD_COUNT; f++) { // settable fields return the set value
    S2JointField at = (S2JointField)f;
    if (at == S2_JOINT_STIFFNESS) { // instead of compliance
      must(s2_joint_set(world, hinge, S2_JOINT_COMPLIANCE, 0));
    }
    if (s2_joint_type_sets(S2_HINGE, at)) {
      must(s2_joint_set(world, hinge, at, 1));
      near(field(world, hinge, at), 1, 0);
    }
  }
  steps_solved(world, 3, 1e-9, 0);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(limits_carry_weight),
      cmocka_unit_test(limits_stop_what_arrives),
      cmocka_unit_test(limits_do_not_bounce),
      cmocka_unit_test(a_weld_holds),
      cmocka_unit_test(a_slider_moves_along_its_axis_only),
      cmocka_unit_test(springs_follow_the_closed_form),
      cmocka_unit_test(compliant_rows_sag),
      cmocka_unit_test(a_rope_is_slack_or_taut),
      cmocka_unit_test(a_rope_catches_what_was_thrown),
      cmocka_unit_test(lengths_may_be_zero),
      cmocka_unit_test(gears_keep_their_ratio),
      cmocka_unit_test(a_gear_does_not_slip),
      cmocka_unit_test(locks_hold_and_drive),
      cmocka_unit_test(a_mouse_pulls),
      cmocka_unit_test(wheels_spring_and_turn),
      cmocka_unit_test(joints_break),
      cmocka_unit_test(random_joints_are_solved),
      cmocka_unit_test(springs_gain_no_energy),
      cmocka_unit_test(contradictions_show),
      cmocka_unit_test(nonsense_is_refused),
      cmocka_unit_test(fields_check_their_domain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
