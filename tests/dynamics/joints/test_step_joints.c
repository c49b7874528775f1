// Options of the step with limits, motors, springs and moving goals of joints.
#include "worlds.h"

static S2JointId make(S2World *world, S2JointDef def) {
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

static double field(const S2World *world, S2JointId joint, S2JointField which) {
  double value;
  must(s2_joint_get(world, joint, which, &value));
  return value;
}

static S2World *world_with(double gravity, void (*set)(S2WorldDef *def)) {
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0, gravity);
  def.dt = 0.01;
  set(&def);
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

static void substeps(S2WorldDef *def) {
  def->substeps = 4;
}

// A moving goal is reached at the end of a step of several parts, and a motor pushes with its force
// in each part.
static void goals_and_motors_in_substeps(void **state) {
  (void)state;
  S2World *world = world_with(0, substeps);
  S2JointDef lock = s2_joint_def(S2_LOCK);
  lock.a = add_box(world, at(0, 0), 1, 1);
  lock.lock_x = lock.lock_y = lock.lock_angle = true;
  lock.velocity = s2_vec2(0.5, 0);
  make(world, lock);
  S2JointDef motor = hinge_def(add_disc(world, at(5, 0), 0.5), no_body, 5, 0);
  motor.has_motor = true;
  motor.motor_speed = 100;
  motor.motor_max = 2;
  make(world, motor);
  steps_solved(world, 100, 1e-9, 0);
  near(get(world, lock.a, S2_BODY_X), 0.5, 1e-9);
  near(get(world, motor.a, S2_BODY_OMEGA), 2 / get(world, motor.a, S2_BODY_INERTIA), 1e-9);
  s2_world_destroy(world);
}

static void baumgarte(S2WorldDef *def) {
  def->stabilization = S2_BAUMGARTE;
}

// Every rigid row loses a fifth of its error in a step; a compliant one has a force instead.
static void baumgarte_mends_all_rigid_rows(void **state) {
  (void)state;
  const S2JointType types[] = {S2_HINGE, S2_WELD, S2_DISTANCE};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    S2World *world = world_with(0, baumgarte);
    S2JointDef def = joint_def(types[t], add_disc(world, at(0, 0), 0.5), no_body);
    def.anchor_a = s2_vec2(0, 0);
    def.anchor_b = types[t] == S2_DISTANCE ? s2_vec2(1, 0) : def.anchor_b;
    make(world, def);
    must(s2_body_set(world, def.a, S2_BODY_X, 0.1));
    steps(world, 1);
    near(get(world, def.a, S2_BODY_X), 0.08, 1e-9);
    s2_world_destroy(world);
  }
}

static void reflections(S2WorldDef *def) {
  def->restitution_model = S2_REFLECTIONS;
}

// A disc hits a row of touching discs, the last of which is held by a motor of bounded torque and a
// limit of a slider: the impact propagates as without them, and energy does not grow.
static void reflections_with_limits_and_motors(void **state) {
  (void)state;
  for (int bisect = 0; bisect < 2; bisect++) {
    S2World *world = world_with(0, reflections);
    S2WorldDef settings = *s2_world_settings(world);
    settings.stepping = bisect ? S2_BISECT : S2_SPECULATIVE;
    must(s2_world_configure(world, &settings));
    S2BodyId disc[4];
    for (int i = 0; i < 4; i++) {
      S2BodyDef def = rough(at(i == 0 ? -1.01 : i, 0), 0, 1);
      def.velocity = s2_vec2(i == 0 ? 2 : 0, 0);
      disc[i] = add_disc(world, def, 0.5);
    }
    S2JointDef def = joint_def(S2_SLIDER, disc[3], no_body);
    def.anchor_a = s2_vec2(3, 0);
    def.axis = s2_vec2(1, 0);
    def.has_limits = def.has_motor = true;
    def.limit_lo = -1;
    def.limit_hi = 0.25;
    def.motor_max = 0.01;
    S2JointId slider = make(world, def);
    double start = s2_world_energy(world).kinetic, energy = start;
    bool arrived = false;
    for (int i = 0; i < 100; i++) {
      steps_solved(world, 1, 1e-9, 1e-8);
      double now = s2_world_energy(world).kinetic;
      assert_true(now <= energy + 1e-12 * start);
      energy = now;
      assert_true(field(world, slider, S2_JOINT_TRANSLATION) < 0.25 + 1e-8);
      arrived = arrived || get(world, disc[3], S2_BODY_VX) > 1.9;
    }
    assert_true(arrived);
    near(get(world, disc[3], S2_BODY_VX), 0, 1e-6); // stopped by the limit, without rebound
    s2_world_destroy(world);
  }
}

static void two_stages(S2WorldDef *def) {
  def->flow = S2_FLOW_RATTLE;
}

// The reaction is the force of the joint, for any angle of b: a weight hangs at rest.
static void the_reaction_is_a_force(void **state) {
  (void)state;
  S2World *world = world_with(-10, two_stages);
  S2BodyDef base = fixed_at(0, 0);
  base.angle = 1;
  S2BodyId post = add_box(world, base, 0.2, 0.2), weight = add_disc(world, at(0, -1), 0.2);
  S2JointId hinge = make(world, hinge_def(weight, post, 0, 0));
  steps(world, 3);
  double load = 10 * get(world, weight, S2_BODY_MASS);
  S2JointInfo info;
  must(s2_joint_info(world, hinge, &info));
  near(info.force.x, 0, 1e-9 * load);
  near(info.force.y, load, 1e-9 * load);
  s2_world_destroy(world);
}

// While the body of a lock stands still its goal waits, so the body does not jump afterwards.
static void goals_wait_for_their_body(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    S2World *world = world_new(0, 0.01);
    S2BodyId disc = add_disc(world, at(0, 0), 0.5);
    S2JointDef lock = joint_def(S2_LOCK, disc, no_body);
    lock.lock_x = true;
    lock.velocity = s2_vec2(1, 0);
    make(world, lock);
    steps(world, 10);
    double x = get(world, disc, S2_BODY_X), dt = s2_world_settings(world)->dt;
    S2BodyField field = k == 0 ? S2_BODY_ENABLED : S2_BODY_TYPE;
    must(s2_body_set(world, disc, field, k == 0 ? 0 : S2_STATIC));
    steps(world, 100);
    near(get(world, disc, S2_BODY_X), x, 0);
    must(s2_body_set(world, disc, field, k == 0 ? 1 : S2_DYNAMIC));
    steps(world, 1);
    near(get(world, disc, S2_BODY_X), x + dt, 1e-12);
    s2_world_destroy(world);
  }
}

// A moving goal has no equilibrium.
static void a_moving_goal_has_no_equilibrium(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2JointDef lock = s2_joint_def(S2_LOCK);
  lock.a = add_box(world, at(0, 0), 1, 1);
  lock.lock_x = lock.lock_y = lock.lock_angle = true;
  lock.velocity = s2_vec2(0.5, 0);
  make(world, lock);
  S2StaticOptions options = s2_static_options();
  S2StaticResult result;
  assert_int_equal(s2_world_solve_static(world, &options, &result).code, S2_INVALID);
  s2_world_destroy(world);
}

// A weight on a spring comes to rest where the spring carries it.
static void a_spring_finds_its_equilibrium(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2JointDef def = joint_def(S2_SPRING, add_disc(world, at(0, -1), 0.2), no_body);
  def.anchor_b = s2_vec2(0, 0);
  def.stiffness = 100;
  S2JointId spring = make(world, def);
  S2StaticOptions options = s2_static_options();
  S2StaticResult result;
  must(s2_world_solve_static(world, &options, &result));
  assert_true(result.solved);
  near(field(world, spring, S2_JOINT_LENGTH), 1 + 10 * get(world, def.a, S2_BODY_MASS) / 100, 1e-6);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(goals_and_motors_in_substeps),
      cmocka_unit_test(baumgarte_mends_all_rigid_rows),
      cmocka_unit_test(reflections_with_limits_and_motors),
      cmocka_unit_test(the_reaction_is_a_force),
      cmocka_unit_test(goals_wait_for_their_body),
      cmocka_unit_test(a_moving_goal_has_no_equilibrium),
      cmocka_unit_test(a_spring_finds_its_equilibrium),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
