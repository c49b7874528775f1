// Gears that move more than two bodies, compared with closed forms.
#include "worlds.h"

enum { TURNS = S2_FEWER(30, 2) }; // turns of the driven sun

static const S2BodyId nothing = {0, 0};

static S2JointId hinge(S2World *world, S2BodyId a, S2BodyId b, double x, double y) {
  S2JointDef def = s2_joint_def(S2_HINGE);
  S2JointId id;
  def.a = a;
  def.b = b;
  def.anchor_a = s2_vec2(x, y);
  must(s2_joint_create(world, &def, &id));
  return id;
}

static S2JointId mesh(S2World *world, S2JointId a, S2JointId b, double ratio) {
  S2JointDef def = s2_joint_def(S2_GEAR);
  S2JointId id;
  def.joint_a = a;
  def.joint_b = b;
  def.ratio = ratio;
  must(s2_joint_create(world, &def, &id));
  return id;
}

static double number(const S2World *world, S2JointId joint, S2JointField field) {
  double value;
  must(s2_joint_get(world, joint, field, &value));
  return value;
}

static S2BodyId wheel(S2World *world, double x, double mass, double inertia) {
  S2BodyDef def = at(x, 0);
  def.mass = mass;
  def.inertia = inertia;
  def.mask = 0;
  return add_disc(world, def, 0.05);
}

// Sun, ring and carrier about the origin, one planet on the carrier; a torque at the sun. Radii:
// sun 0.2 m, planet 0.1 m, ring 0.4 m. With the ring held, the carrier turns by 0.2 / 0.6 = 1/3 of
// the sun's turn.
static void a_planetary_gear_keeps_its_ratios(void **state) {
  (void)state;
  const double torque = 0.02, mass = 0.7, i_sun = 0.02, i_planet = 0.004, i_carrier = 0.05;
  const double carrier_part = 1.0 / 3, planet_part = carrier_part - 2 * (1 - carrier_part);
  const double arm = 0.3, whole = i_sun + i_carrier * carrier_part * carrier_part +
                                  i_planet * planet_part * planet_part +
                                  mass * arm * arm * carrier_part * carrier_part;
  for (int i = 0; i < 4; i++) {
    S2WorldDef def = fixed_def();
    def.gravity = s2_vec2(0, 0);
    def.dt = 1.0 / 240;
    def.substeps = i == 1 ? 2 : 1;
    def.stepping = i == 2 ? S2_BISECT : S2_SPECULATIVE;
    def.formulation = i == 3 ? S2_FORM_ACCELERATION : S2_FORM_VELOCITY;
    S2World *world;
    must(s2_world_create(&def, &world));
    S2BodyId sun = wheel(world, 0, 1, i_sun), carrier = wheel(world, 0, 1, i_carrier);
    S2BodyId planet = wheel(world, arm, mass, i_planet), ring = wheel(world, 0, 1, 0.3);
    hinge(world, carrier, nothing, 0, 0);
    S2JointDef hold = s2_joint_def(S2_LOCK);
    S2JointId held;
    hold.a = ring;
    hold.lock_x = hold.lock_y = hold.lock_angle = true;
    must(s2_joint_create(world, &hold, &held));
    S2JointId at_sun = hinge(world, sun, carrier, 0, 0);
    S2JointId at_planet = hinge(world, planet, carrier, arm, 0);
    S2JointId at_ring = hinge(world, ring, carrier, 0, 0);
    mesh(world, at_sun, at_planet, 0.5);
    mesh(world, at_ring, at_planet, -0.25);
    double worst = 0;
    while (number(world, at_sun, S2_JOINT_ANGLE) < TURNS * 6.283185307179586) {
      must(s2_body_apply_torque(world, sun, torque));
      must(s2_world_step(world));
      double a = number(world, at_sun, S2_JOINT_ANGLE), r = number(world, at_ring, S2_JOINT_ANGLE);
      double p = number(world, at_planet, S2_JOINT_ANGLE);
      worst = fmax(worst, fmax(fabs(a + 0.5 * p), fabs(r - 0.25 * p)));
      near(get(world, sun, S2_BODY_OMEGA) / (torque * s2_world_time(world) / whole), 1,
           1e-4); // the planet turns on its circle by 0.06 rad a step
    }
    assert_true(worst < 1e-9);
    assert_int_equal(s2_world_stats(world)->unsolved_solves, 0);
    s2_world_destroy(world);
  }
}

// Four free bodies in two pairs: one step gives them the speeds of the gear, as the row of four
// does.
static void four_bodies_share_an_impulse(void **state) {
  (void)state;
  const double inertia[4] = {0.01, 3, 0.2, 50}, ratio = -1.7;
  const double factor[4] = {1, -1, ratio, -ratio}, omega[4] = {3, -1, 0.5, 0.2};
  double row = 0, mobility = 0;
  for (int k = 0; k < 4; k++) {
    row += factor[k] * omega[k];
    mobility += factor[k] * factor[k] / inertia[k];
  }
  for (int solver = 0; solver < S2_SOLVER_PROGRAM; solver++) {
    if (solver == S2_SOLVER_CLOSED || solver == S2_SOLVER_PCG) {
      continue; // one contact; contacts
    }
    for (int form = 0; form < 3; form++) {
      S2WorldDef def = fixed_def();
      def.gravity = s2_vec2(0, 0);
      def.solver = (S2Solver)solver;
      def.formulation = (S2Formulation)form;
      S2World *world;
      must(s2_world_create(&def, &world));
      S2BodyId body[4];
      for (int k = 0; k < 4; k++) {
        body[k] = wheel(world, k < 2 ? 0 : 5, 1 + k, inertia[k]);
        must(s2_body_set(world, body[k], S2_BODY_OMEGA, omega[k]));
      }
      S2JointId a = hinge(world, body[0], body[1], 0, 0), b = hinge(world, body[2], body[3], 5, 0);
      S2JointId gear = mesh(world, a, b, ratio);
      must(s2_world_step(world));
      if (s2_world_stats(world)->unsolved_solves == 0) {
        for (int k = 0; k < 4; k++) {
          near(get(world, body[k], S2_BODY_OMEGA),
               omega[k] - factor[k] / inertia[k] * row / mobility, 1e-7);
        }
        near(number(world, gear, S2_JOINT_TORQUE), -row / mobility / def.dt, 1e-4);
      } else {
        fail_msg("unsolved by %s", s2_solver_name((S2Solver)solver));
      }
      // The gear also holds with a kinematic body at its given speed. A disabled gear adds no node
      // to the step problem.
      must(s2_body_set(world, body[3], S2_BODY_TYPE, S2_KINEMATIC));
      must(s2_body_set(world, body[3], S2_BODY_OMEGA, 0.4));
      for (int i = 0; i < 5 && solver == S2_SOLVER_AUTO; i++) {
        must(s2_world_step(world));
        double w[4], sum = 0;
        for (int k = 0; k < 4; k++) {
          w[k] = get(world, body[k], S2_BODY_OMEGA);
          sum += factor[k] * w[k];
        }
        near(w[3], 0.4, 0);
        near(sum, 0, 1e-9);
      }
      S2Problem *problem;
      S2BodyId nodes[8];
      must(s2_body_set(world, body[3], S2_BODY_TYPE, S2_DYNAMIC));
      must(s2_world_problem(world, &problem, nodes, 8));
      assert_int_equal(problem->nodes, 5);
      assert_int_equal(nodes[4].index, 0);
      s2_problem_free(problem);
      must(s2_joint_set(world, gear, S2_JOINT_ENABLED, 0));
      must(s2_world_problem(world, &problem, nodes, 8));
      assert_int_equal(problem->nodes, 4);
      s2_problem_free(problem);
      s2_world_destroy(world);
    }
  }
}

static void what_does_not_go_is_refused(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyId a = wheel(world, 0, 1, 1), b = wheel(world, 1, 1, 1), c = wheel(world, 2, 1, 1);
  S2JointDef slide = s2_joint_def(S2_SLIDER), gear = s2_joint_def(S2_GEAR);
  slide.a = c;
  slide.b = b;
  slide.anchor_a = s2_vec2(2, 0);
  slide.axis = s2_vec2(1, 0);
  S2JointId id;
  must(s2_joint_create(world, &slide, &gear.joint_a));
  gear.joint_b = hinge(world, a, b, 1, 0);
  S2Status status = s2_joint_create(world, &gear, &id);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "only if it couples two hinges"));
  gear.joint_a = hinge(world, c, b, 1, 0);
  gear.compliance.angular = 0.1;
  status = s2_joint_create(world, &gear, &id);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "compliance: does not apply to a gear that moves more"));
  gear.compliance.angular = 0;
  must(s2_joint_create(world, &gear, &id));
  must(s2_body_destroy(world, c));
  assert_false(s2_joint_alive(world, id));
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_planetary_gear_keeps_its_ratios),
      cmocka_unit_test(four_bodies_share_an_impulse),
      cmocka_unit_test(what_does_not_go_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
