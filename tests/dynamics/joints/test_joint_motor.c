// Motors and dry friction of joints: boxed rows.
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

// A lift: the motor carries the weight exactly, up to its largest force.
static void a_motor_lifts_what_it_can(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2JointDef def = joint_def(S2_SLIDER, add_box(world, at(0, 0), 1, 1), no_body);
  double m = get(world, def.a, S2_BODY_MASS);
  def.anchor_a = s2_vec2(0, 0);
  def.axis = s2_vec2(0, 1);
  def.has_motor = true;
  def.motor_speed = 2;
  def.motor_max = 15 * m;
  S2JointId lift = make(world, def);
  steps_solved(world, 10, 1e-9, 0);
  near(get(world, def.a, S2_BODY_VY), 5 * 0.1, 1e-9); // at the bound: 15 - 10
  near(field(world, lift, S2_JOINT_FORCE), 15 * m, 1e-9);
  steps_solved(world, 100, 1e-9, 0);
  near(get(world, def.a, S2_BODY_VY), 2, 1e-9);
  near(field(world, lift, S2_JOINT_FORCE), 10 * m, 1e-7);
  must(s2_joint_set(world, lift, S2_JOINT_MOTOR_MAX, 8 * m)); // too weak: the load sinks
  steps_solved(world, 100, 1e-9, 0);
  near(get(world, def.a, S2_BODY_VY), 2 - 2 * 1, 1e-9);
  must(s2_joint_set(world, lift, S2_JOINT_MOTOR_MAX, INFINITY));
  must(s2_joint_set(world, lift, S2_JOINT_MOTOR_SPEED, -3));
  steps_solved(world, 1, 1e-9, 0);
  near(get(world, def.a, S2_BODY_VY), -3, 1e-9);
  s2_world_destroy(world);
}

// Dry friction holds a pendulum up to its bound and slows a uniform rotation.
static void friction_sticks_and_slides(void **state) {
  (void)state;
  for (int slides = 0; slides < 2; slides++) {
    S2World *world = world_new(-10, 0.01);
    S2JointDef def = hinge_def(add_box(world, at(1, 0), 2, 0.1), no_body, 0, 0);
    double weight = 10 * get(world, def.a, S2_BODY_MASS); // N, and N m at this arm
    def.friction = slides ? 0.9 * weight : 1.1 * weight;
    S2JointId hinge = make(world, def);
    steps_solved(world, 20, 1e-9, 0);
    if (slides) {
      assert_true(field(world, hinge, S2_JOINT_ANGLE) < -1e-3);
      near(field(world, hinge, S2_JOINT_TORQUE), 0.9 * weight, 1e-7 * weight);
    } else {
      near(field(world, hinge, S2_JOINT_ANGLE), 0, 1e-9);
      near(field(world, hinge, S2_JOINT_TORQUE), weight, 1e-7 * weight);
    }
    s2_world_destroy(world);
  }
}

// A motor between two free bodies turns them against each other and conserves the momentum.
static void motors_conserve_momentum(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyId a = add_disc(world, at(0, 0), 0.5), b = add_disc(world, at(2, 0), 1);
  S2JointDef def = hinge_def(a, b, 0.4, 0.3);
  def.has_motor = true;
  def.motor_speed = 3;
  def.motor_max = 0.7;
  def.friction = 0.1;
  S2JointId hinge = make(world, def);
  double momentum[3];
  steps_solved(world, 400, 1e-9, 0);
  s2_world_momentum(world, momentum);
  near(momentum[1], 0, 1e-12);
  near(momentum[2], 0, 1e-12);
  near(field(world, hinge, S2_JOINT_SPEED), 3, 1e-9);
  s2_world_destroy(world);
}

// A motor against a limit presses with its bound and no more.
static void a_motor_presses_against_a_limit(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2JointDef def = hinge_def(add_disc(world, at(0, 0), 0.5), no_body, 0, 0);
  def.has_motor = def.has_limits = true;
  def.motor_speed = 5;
  def.motor_max = 2;
  def.limit_lo = -1;
  def.limit_hi = 0.5;
  S2JointId hinge = make(world, def);
  for (int i = 0; i < 200; i++) {
    steps_solved(world, 1, 1e-9, 0);
    assert_true(field(world, hinge, S2_JOINT_ANGLE) <= 0.5 + 1e-9);
  }
  near(field(world, hinge, S2_JOINT_ANGLE), 0.5, 1e-9);
  near(field(world, hinge, S2_JOINT_TORQUE), 0, 1e-9); // motor and limit cancel
  s2_world_destroy(world);
}

// Chains of random joints with motors, friction and limits that fall on a floor.
static void random_machines_are_solved(void **state) {
  (void)state;
  static const S2JointType types[] = {S2_HINGE, S2_SLIDER, S2_WHEEL, S2_SPRING};
  S2Rng rng = s2_rng_seeded(7);
  int unsolved = 0, all = 0;
  for (int trial = 0; trial < 60; trial++) {
    S2World *world = world_new(-10, 0.01);
    add_box(world, fixed_at(0, -3), 40, 1);
    S2BodyId last = no_body;
    int links = (int)s2_rng_integer(&rng, 1, 6);
    for (int i = 0; i < links; i++) {
      S2BodyDef body = at(1.2 * i, uniform(&rng, -0.2, 0.2));
      body.angle = uniform(&rng, -1, 1);
      S2BodyId next = add_box(world, body, 0.8, 0.4);
      S2JointDef def = joint_def(types[s2_rng_integer(&rng, 0, 3)], next, last);
      def.anchor_a = s2_vec2(1.2 * i - 0.6, 0);
      def.anchor_b = s2_vec2(1.2 * i - 1.2, 0);
      def.axis = s2_vec2(1, uniform(&rng, -1, 1));
      bool springs = def.type == S2_WHEEL || def.type == S2_SPRING;
      double stiffness = exp(uniform(&rng, 3, 8));
      def.stiffness = springs ? stiffness : NAN;
      def.damping.linear = springs ? 1 : 0;
      def.has_motor = s2_rng_integer(&rng, 0, 1) == 1;
      def.motor_speed = uniform(&rng, -5, 5);
      def.motor_max = s2_rng_integer(&rng, 0, 3) == 0 ? INFINITY : exp(uniform(&rng, -2, 4));
      def.friction = s2_rng_integer(&rng, 0, 1) == 1 ? uniform(&rng, 0, 3) : 0;
      def.has_limits = s2_rng_integer(&rng, 0, 1) == 1 && def.motor_max < INFINITY;
      double middle = def.type == S2_SPRING ? 0.6 : 0;
      def.limit_lo = middle - uniform(&rng, 0, 0.5);
      def.limit_hi = middle + uniform(&rng, 0, 0.5);
      make(world, def);
      last = next;
    }
    for (int k = 0; k < 100; k++) {
      must(s2_world_step(world));
      all += 1;
      unsolved += !(s2_world_residuals(world).solve.scaled <= 1e-9);
    }
    s2_world_destroy(world);
  }
  if (unsolved > 0) {
    fail_msg("%d of %d steps missed the tolerance", unsolved, all);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_motor_lifts_what_it_can),
      cmocka_unit_test(friction_sticks_and_slides),
      cmocka_unit_test(motors_conserve_momentum),
      cmocka_unit_test(a_motor_presses_against_a_limit),
      cmocka_unit_test(random_machines_are_solved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
