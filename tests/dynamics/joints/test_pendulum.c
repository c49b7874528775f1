// Simple and double pendulum, compared with the true motion: order of the error, energy, joint
// errors.
#include "worlds.h"

enum { LINKS = 2 };
static const double LINK = 0.5, MASS = 0.2, GRAVITY = 9.81;

// ---- The reference ----------------------------------------------------------------------------

// Angles from the horizontal, then their rates, of one or two equal rods: Lagrange's equations.
static void lagrange(int links, double inertia, const double s[4], double ds[4]) {
  double about_end = inertia + MASS * LINK * LINK / 4;
  if (links == 1) {
    ds[0] = s[2];
    ds[1] = ds[3] = 0;
    ds[2] = -MASS * GRAVITY * LINK / 2 * cos(s[0]) / about_end;
    return;
  }
  double half = MASS * LINK * LINK / 2, c = cos(s[0] - s[1]), sn = sin(s[0] - s[1]);
  double a = about_end + MASS * LINK * LINK, b = half * c, d = about_end;
  double p = -half * sn * s[3] * s[3] - 1.5 * MASS * GRAVITY * LINK * cos(s[0]);
  double q = half * sn * s[2] * s[2] - 0.5 * MASS * GRAVITY * LINK * cos(s[1]);
  double det = a * d - b * b;
  ds[0] = s[2];
  ds[1] = s[3];
  ds[2] = (d * p - b * q) / det;
  ds[3] = (a * q - b * p) / det;
}

// One sequence of Gragg's midpoint steps, for the extrapolation of Bulirsch and Stoer.
static void gragg(int links, double inertia, const double s[4], double big, int parts,
                  double out[4]) {
  double h = big / parts, last[4], now[4], ds[4];
  lagrange(links, inertia, s, ds);
  for (int c = 0; c < 4; c++) {
    last[c] = s[c];
    now[c] = s[c] + h * ds[c];
  }
  for (int i = 1; i < parts; i++) {
    lagrange(links, inertia, now, ds);
    for (int c = 0; c < 4; c++) {
      double next = last[c] + 2 * h * ds[c];
      last[c] = now[c];
      now[c] = next;
    }
  }
  lagrange(links, inertia, now, ds);
  for (int c = 0; c < 4; c++) {
    out[c] = (last[c] + now[c] + h * ds[c]) / 2;
  }
}

// Extrapolated to order 16 in steps of `time / steps`.
static void extrapolate(int links, double inertia, double time, int steps, double s[4]) {
  enum { ROWS = 8 };
  for (int k = 0; k < steps; k++) {
    double table[ROWS][4];
    for (int j = 0; j < ROWS; j++) {
      gragg(links, inertia, s, time / steps, 2 * (j + 1), table[j]);
      for (int i = j - 1; i >= 0; i--) { // Neville's scheme in h^2
        double ratio = (double)(j + 1) / (i + 1);
        for (int c = 0; c < 4; c++) {
          table[i][c] = table[i + 1][c] + (table[i + 1][c] - table[i][c]) / (ratio * ratio - 1);
        }
      }
    }
    memcpy(s, table[0], 4 * sizeof(double));
  }
}

// The same with twice the steps: the remaining error is below 1e-12.
static void reference(int links, double inertia, double time, double s[4]) {
  double coarse[4] = {0};
  memset(s, 0, 4 * sizeof(double));
  extrapolate(links, inertia, time, 200, coarse);
  extrapolate(links, inertia, time, 400, s);
  for (int c = 0; c < 4; c++) {
    near(coarse[c], s[c], 1e-12);
  }
}

// ---- The engine -------------------------------------------------------------------------------

typedef struct Way { // a way of stepping
  double alpha, beta;
  S2GeometricStiffness geometric;
} Way;

static const Way DEFAULT = {1, 1, S2_GEOMETRIC_OFF}, BLENDED = {0.5, 0.5, S2_GEOMETRIC_ON};

static S2World *pendulum(int links, double dt, Way way, S2BodyId link[LINKS]) {
  S2WorldDef def = fixed_def();
  def.dt = dt;
  def.gravity = s2_vec2(0, -GRAVITY);
  def.alpha = way.alpha;
  def.beta = way.beta;
  def.geometric_stiffness = way.geometric;
  S2World *world;
  must(s2_world_create(&def, &world));
  for (int i = 0; i < links; i++) {
    S2BodyDef body = at(LINK * (i + 0.5), 0);
    body.mass = MASS;
    link[i] = add_box(world, body, LINK, 0.05);
    S2JointDef hinge = hinge_def(link[i], i == 0 ? no_body : link[i - 1], LINK * i, 0);
    S2JointId joint;
    must(s2_joint_create(world, &hinge, &joint));
  }
  return world;
}

// The error of the angles and of the position of the last link's centre after 1 s.
static double error_at(int links, int rate, Way way) {
  S2BodyId link[LINKS];
  S2World *world = pendulum(links, 1.0 / rate, way, link);
  double s[4], sum = 0, x = 0, y = 0;
  reference(links, get(world, link[0], S2_BODY_INERTIA), 1, s);
  steps_solved(world, rate, 1e-9, 0);
  for (int i = 0; i < links; i++) {
    double far = i + 1 < links ? LINK : LINK / 2;
    x += far * cos(s[i]);
    y += far * sin(s[i]);
    sum = fmax(sum, fabs(get(world, link[i], S2_BODY_ANGLE) - s[i]));
  }
  sum = fmax(sum, hypot(get(world, link[links - 1], S2_BODY_X) - x,
                        get(world, link[links - 1], S2_BODY_Y) - y));
  s2_world_destroy(world);
  return sum;
}

static void check_order(int links, Way way, double order, double tolerance, double at_480) {
  const int first = 120, finer = 16;
  double got = log(error_at(links, first, way) / error_at(links, finer * first, way)) / log(finer);
  double error = error_at(links, 480, way);
  near(got, order, tolerance);
  assert_true(error < at_480);
}

static void errors_fall_with_the_stated_order(void **state) {
  (void)state;
  for (int links = 1; links <= LINKS; links++) {
    check_order(links, DEFAULT, 1, 0.15, 0.05);
    check_order(links, BLENDED, 2, 0.3, 5e-3);
  }
}

// 10 s at 1/240 s: the oscillation of the energy and the joint errors, over all steps.
static void check_run(int links, Way way, double energy, double joints) {
  S2BodyId link[LINKS];
  S2World *world = pendulum(links, 1.0 / 240, way, link);
  double start = s2_world_energy(world).total, worst = 0, off = 0;
  for (int i = 0; i < 2400; i++) {
    steps_solved(world, 1, 1e-9, 0);
    worst = fmax(worst, fabs(s2_world_energy(world).total - start));
    off = fmax(off, s2_world_residuals(world).joint_error);
  }
  assert_true(worst <= energy);
  assert_true(off <= joints);
  s2_world_destroy(world);
}

static void energy_and_joints_last_for_ten_seconds(void **state) {
  (void)state;
  for (int links = 1; links <= LINKS; links++) {
    check_run(links, DEFAULT, 3e-2, 1e-9);
    check_run(links, BLENDED, 3e-2, 1e-9);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_fall_with_the_stated_order),
      cmocka_unit_test(energy_and_joints_last_for_ten_seconds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
