// Nonlinear midpoint steps of jointed bodies.
#include "worlds.h"

static const double LINK = 0.5, GRAVITY = 9.81;

static S2World *double_pendulum(double dt, S2BodyId link[2]) {
  S2WorldDef def = s2_world_def();
  def.dt = dt;
  def.nonlinear = true;
  S2World *world;
  must(s2_world_create(&def, &world));
  for (int i = 0; i < 2; i++) {
    S2BodyDef body = at(LINK * (i + 0.5), 0);
    body.mass = 0.2;
    link[i] = add_box(world, body, LINK, 0.05);
    S2JointDef hinge = hinge_def(link[i], no_body, LINK * i, 0);
    if (i == 1) {
      hinge.b = link[0];
    }
    S2JointId joint;
    must(s2_joint_create(world, &hinge, &joint));
  }
  return world;
}

static void energy_and_joints_are_exact(void **state) {
  (void)state;
  const int rate[] = {120, 240, 480};
  for (int k = 0; k < 3; k++) {
    S2BodyId link[2];
    S2World *world = double_pendulum(1.0 / rate[k], link);
    double before = s2_world_energy(world).total;
    for (int i = 0; i < 10 * rate[k]; i++) {
      must(s2_world_step(world));
      near(s2_world_energy(world).total, before, 1e-9);
      assert_true(s2_world_residuals(world).joint_error <= 1e-12);
    }
    assert_int_equal(s2_world_stats(world)->projections, 0);
    s2_world_destroy(world);
  }
}

// Two equal rods, angles from the horizontal: the Lagrangian equations, solved by hand.
static void lagrange(double inertia, const double s[4], double ds[4]) {
  const double m = 0.2, l = LINK, c = cos(s[0] - s[1]), sn = sin(s[0] - s[1]);
  double a = inertia + m * l * l * 1.25, b = m * l * l * 0.5 * c, d = inertia + m * l * l * 0.25;
  double p = -m * l * l * 0.5 * sn * s[3] * s[3] - 1.5 * m * GRAVITY * l * cos(s[0]);
  double q = m * l * l * 0.5 * sn * s[2] * s[2] - 0.5 * m * GRAVITY * l * cos(s[1]);
  double det = a * d - b * b;
  ds[0] = s[2];
  ds[1] = s[3];
  ds[2] = (d * p - b * q) / det;
  ds[3] = (a * q - b * p) / det;
}

// Classical Runge-Kutta of order 4, with steps so small that 1e-12 is left.
static void reference(double inertia, double time, double s[4]) {
  const int count = 20000;
  double h = time / count, k[4][4], at[4];
  const double part[4] = {0, 0.5, 0.5, 1};
  for (int i = 0; i < count; i++) {
    for (int stage = 0; stage < 4; stage++) {
      for (int c = 0; c < 4; c++) {
        at[c] = s[c] + (stage > 0 ? part[stage] * h * k[stage - 1][c] : 0);
      }
      lagrange(inertia, at, k[stage]);
    }
    for (int c = 0; c < 4; c++) {
      s[c] += h / 6 * (k[0][c] + 2 * k[1][c] + 2 * k[2][c] + k[3][c]);
    }
  }
}

static void the_order_is_two(void **state) {
  (void)state;
  double error[4];
  for (int k = 0; k < 4; k++) {
    int rate = 60 << k;
    S2BodyId link[2];
    S2World *world = double_pendulum(1.0 / rate, link);
    double s[4] = {0}, inertia = get(world, link[0], S2_BODY_INERTIA);
    reference(inertia, 1, s);
    steps(world, rate);
    error[k] =
        hypot(get(world, link[0], S2_BODY_ANGLE) - s[0], get(world, link[1], S2_BODY_ANGLE) - s[1]);
    s2_world_destroy(world);
  }
  for (int k = 1; k < 4; k++) {
    double order = log2(error[k - 1] / error[k]);
    if (!(order > 1.8 && order < 2.2)) {
      fail_msg("errors %.3e %.3e: order %.3f", error[k - 1], error[k], order);
    }
  }
}

// Where the rule does not apply the ordinary step is taken: a chain that falls on a floor.
static void contacts_take_the_ordinary_step(void **state) {
  (void)state;
  S2BodyId link[2];
  S2World *world = double_pendulum(1.0 / 240, link);
  add_box(world, rough(fixed_at(0, -1.3), 0.5, 0), 10, 1);
  double before = s2_world_energy(world).total;
  for (int i = 0; i < 240 * 5; i++) {
    steps_solved(world, 1, 1e-9, 1e-8);
    assert_true(s2_world_residuals(world).joint_error < 1e-8);
    assert_true(s2_world_energy(world).total < before + 0.05);
  }
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(energy_and_joints_are_exact),
      cmocka_unit_test(the_order_is_two),
      cmocka_unit_test(contacts_take_the_ordinary_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
