// Springs whose force is not proportional to the extension: polynomials and laws of the program.
#include "worlds.h"

typedef struct Duffing { // x'' m = -k x - quadratic x^2 - cubic x^3
  double k, quadratic, cubic, mass;
} Duffing;

static const double REST = 5; // m, so that the extension has a sign

static S2World *blended(double dt, double alpha, double beta) {
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0, 0);
  def.dt = dt;
  def.alpha = alpha;
  def.beta = beta;
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

static S2JointDef spring_def(S2World *world, Duffing is, double extension) {
  S2BodyDef body = at(REST + extension, 0);
  body.mass = is.mass;
  S2JointDef def = joint_def(S2_SPRING, add_disc(world, body, 0.1), no_body);
  def.anchor_b = s2_vec2(0, 0);
  def.rest_length = REST;
  def.stiffness = is.k;
  def.quadratic = is.quadratic;
  def.cubic = is.cubic;
  return def;
}

static S2JointId make(S2World *world, S2JointDef def) {
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

// Complete elliptic integral of the first kind, of the parameter m < 1.
static double elliptic(double m) {
  double a = 1, b = sqrt(1 - m);
  for (int i = 0; i < 10; i++) {
    double mean = (a + b) / 2;
    b = sqrt(a * b);
    a = mean;
  }
  return 1.5707963267948966 / a;
}

// Distance from its start, in amplitudes, after a period in n steps.
static double after_a_period(Duffing is, double amplitude, int n, double alpha, double beta,
                             S2Elasticity elasticity) {
  double square = (is.k + is.cubic * amplitude * amplitude) / is.mass, w = sqrt(square);
  double m = is.cubic * amplitude * amplitude / (2 * square * is.mass);
  S2World *world = blended(4 * elliptic(m) / w / n, alpha, beta);
  S2WorldDef settings = *s2_world_settings(world);
  settings.elasticity = elasticity;
  must(s2_world_configure(world, &settings));
  S2JointDef def = spring_def(world, is, amplitude);
  make(world, def);
  steps_solved(world, n, 1e-9, 0);
  double x = get(world, def.a, S2_BODY_X) - REST - amplitude, v = get(world, def.a, S2_BODY_VX);
  s2_world_destroy(world);
  return hypot(x, v / w) / amplitude;
}

static double order(Duffing is, double amplitude, double alpha, double beta) {
  return log2(after_a_period(is, amplitude, 4000, alpha, beta, S2_AS_COMPLIANCE) /
              after_a_period(is, amplitude, 8000, alpha, beta, S2_AS_COMPLIANCE));
}

// Hardening, purely cubic, and softening so much that the tangent is negative at the turning
// points.
static const Duffing duffings[] = {{10, 0, 200, 1.3}, {0, 0, 50, 0.7}, {10, 0, -1, 2}};
static const double amplitudes[] = {0.8, 1, 2.5};

static void periods_are_those_of_the_elliptic_integral(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    near(order(duffings[i], amplitudes[i], 0.5, 0.5), 2, 0.1);
    near(order(duffings[i], amplitudes[i], 1, 1), 1, 0.15);
    near(order(duffings[i], amplitudes[i], 0.7, 0.9), 1, 0.15);
    double error = after_a_period(duffings[i], amplitudes[i], 1000, 0.5, 0.5, S2_AS_COMPLIANCE);
    assert_true(error < 1.5e-4);
    near(after_a_period(duffings[i], amplitudes[i], 1000, 0.5, 0.5, S2_AS_STIFFNESS), error, 1e-12);
  }
}

// A linear spring, computed as a polynomial: with a quadratic part too small to matter.
static void a_polynomial_ends_in_the_linear_spring(void **state) {
  (void)state;
  const double blends[][2] = {{1, 1}, {0.5, 0.5}, {0.7, 0.9}, {0, 1}};
  for (int i = 0; i < 4; i++) {
    double x[2];
    for (int curved = 0; curved < 2; curved++) {
      S2World *world = blended(0.01, blends[i][0], blends[i][1]);
      S2JointDef def =
          spring_def(world, (Duffing){.k = 40, .quadratic = curved * 1e-300, .mass = 2}, 0.7);
      def.damping.linear = 1.5;
      make(world, def);
      steps_solved(world, 300, 1e-9, 0);
      x[curved] = get(world, def.a, S2_BODY_X);
      s2_world_destroy(world);
    }
    near(x[1], x[0], 1e-12);
  }
}

static double energy_drift(int n) {
  S2World *world = blended(2.0 / n, 0.5, 0.5);
  make(world, spring_def(world, (Duffing){20, 15, 30, 1}, 0.9));
  double start = s2_world_energy(world).total, worst = 0;
  near(start, 20 * 0.81 / 2 + 15 * 0.729 / 3 + 30 * 0.6561 / 4, 1e-12);
  for (int i = 0; i < n; i++) {
    steps_solved(world, 1, 1e-9, 0);
    worst = fmax(worst, fabs(s2_world_energy(world).total - start));
  }
  s2_world_destroy(world);
  return worst;
}

static void energy_is_of_second_order(void **state) {
  (void)state;
  near(log2(energy_drift(400) / energy_drift(800)), 2, 0.2);
  assert_true(energy_drift(800) < 3e-3); // J, of 14.7 J in total
}

// A weight at rest: k x + quadratic x^2 = m g, and that is the reported force.
static void a_weight_hangs_where_the_pull_is(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 120);
  S2JointDef def = joint_def(S2_SPRING, add_disc(world, at(0, -1), 0.1), no_body);
  must(s2_body_set(world, def.a, S2_BODY_MASS, 3));
  def.anchor_b = s2_vec2(0, 0);
  def.stiffness = 20;
  def.quadratic = 50;
  def.damping.linear = 12;
  S2JointId spring = make(world, def);
  steps_solved(world, 2400, 1e-9, 0);
  near(-get(world, def.a, S2_BODY_Y) - 1, (-20 + sqrt(400 + 4 * 50 * 30)) / 100, 1e-9);
  double force;
  must(s2_joint_get(world, spring, S2_JOINT_FORCE, &force));
  near(force, 30, 1e-7);
  s2_world_destroy(world);
}

// ---- Laws -------------------------------------------------------------------------------------

typedef struct Law {
  Duffing is;
  double spoil; // the returned force where it is not 0
  bool stop;
  int calls;
} Law;

static bool pull(void *user, S2World *world, S2SpringCall *call) {
  Law *law = user;
  double x = call->extension;
  assert_true(s2_joint_alive(world, call->joint));
  assert_int_equal(s2_joint_set(world, call->joint, S2_JOINT_DAMPING, 1).code, S2_BUSY);
  law->calls += 1;
  call->force =
      law->spoil != 0 ? law->spoil : x * (law->is.k + x * (law->is.quadratic + x * law->is.cubic));
  call->tangent = law->is.k + x * (2 * law->is.quadratic + x * 3 * law->is.cubic);
  return !law->stop;
}

static void a_law_does_what_the_polynomial_does(void **state) {
  (void)state;
  Law law = {.is = {10, 5, 200, 1.3}};
  S2World *worlds[2];
  S2JointId springs[2];
  for (int i = 0; i < 2; i++) {
    worlds[i] = blended(0.005, 0.5, 0.5);
    s2_world_set_callbacks(worlds[i], &(S2Callbacks){.user = &law, .spring = pull});
    S2JointDef def = spring_def(worlds[i], law.is, 0.8);
    if (i == 1) {
      def.has_law = true;
      def.stiffness = def.quadratic = def.cubic = 0;
    }
    springs[i] = make(worlds[i], def);
    steps_solved(worlds[i], 400, 1e-9, 0);
    assert_int_equal(law.calls, i * 400); // one call per step
  }
  assert_true(s2_world_hash(worlds[0]) == s2_world_hash(worlds[1]));
  S2JointInfo info;
  must(s2_joint_info(worlds[1], springs[1], &info));
  assert_true(info.has_law);
  s2_world_set_callbacks(worlds[1], &(S2Callbacks){0}); // it is inactive
  double v = s2_world_energy(worlds[1]).kinetic;
  steps(worlds[1], 10);
  near(s2_world_energy(worlds[1]).kinetic, v, 0);
  s2_world_destroy(worlds[0]);
  s2_world_destroy(worlds[1]);
}

static void a_law_that_fails_undoes_the_step(void **state) {
  (void)state;
  Law law = {.is = {10, 0, 0, 1}};
  S2World *world = blended(0.01, 1, 1);
  s2_world_set_callbacks(world, &(S2Callbacks){.user = &law, .spring = pull});
  S2JointDef def = spring_def(world, (Duffing){.mass = 1}, 0.5);
  def.has_law = true;
  def.name = "coil";
  S2JointId spring = make(world, def);
  steps(world, 3);
  uint64_t hash = s2_world_hash(world);
  law.spoil = NAN;
  S2Status status = s2_world_step(world);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "spring 'coil': at the extension 0.4"));
  law.spoil = 0, law.stop = true;
  assert_int_equal(s2_world_step(world).code, S2_ABORTED);
  assert_true(s2_world_hash(world) == hash);
  law.stop = false;
  steps(world, 1);
  status = s2_joint_set(world, spring, S2_JOINT_CUBIC, 1);
  assert_non_null(strstr(status.message, "cubic: cannot be set"));
  s2_world_destroy(world);
}

static void what_makes_no_sense_is_refused(void **state) {
  (void)state;
  S2World *world = blended(0.01, 1, 1);
  S2JointDef good = spring_def(world, (Duffing){10, 0, 0, 1}, 0.5);
  S2JointDef bad[5] = {good, good, good, good, good};
  bad[0].quadratic = NAN;
  bad[1].cubic = INFINITY;
  bad[2].has_law = true;
  bad[3].type = S2_MOUSE, bad[3].cubic = 1, bad[3].target = s2_vec2(0, 0);
  bad[4].type = S2_MOUSE, bad[4].has_law = true, bad[4].target = s2_vec2(0, 0);
  const char *messages[5] = {
      "quadratic: finite number expected, got nan", "cubic: finite number expected, got inf",
      "force: a law replaces stiffness, quadratic and cubic",
      "quadratic, cubic: does not apply to a mouse", "force: does not apply to a mouse"};
  for (int i = 0; i < 5; i++) {
    S2JointId joint;
    S2Status status = s2_joint_create(world, &bad[i], &joint);
    assert_int_equal(status.code, S2_INVALID);
    if (strstr(status.message, messages[i]) == NULL) {
      fail_msg("%s", status.message);
    }
  }
  S2JointId spring = make(world, good);
  must(s2_joint_set(world, spring, S2_JOINT_CUBIC, -3));
  double cubic;
  must(s2_joint_get(world, spring, S2_JOINT_CUBIC, &cubic));
  near(cubic, -3, 0);
  assert_int_equal(s2_joint_set(world, spring, S2_JOINT_QUADRATIC, NAN).code, S2_INVALID);
  s2_world_destroy(world);
}

// Released from the horizontal; the gain of energy relative to the largest work of gravity.
static double gain_of_chain(double alpha, S2GeometricStiffness geometric, double compliance) {
  enum { LINKS = 8, STEPS = 960 };
  S2WorldDef def = fixed_def();
  def.dt = 1.0 / 240;
  def.alpha = def.beta = alpha;
  def.geometric_stiffness = geometric;
  S2World *world;
  must(s2_world_create(&def, &world));
  S2BodyId last = no_body;
  for (int i = 0; i < LINKS; i++) {
    S2BodyDef link = at(i + 0.5, 0);
    link.mask = 0;
    link.mass = 1;
    S2BodyId now = add_box(world, link, 1, 0.1);
    S2JointDef hinge = hinge_def(now, last, i, 0);
    hinge.compliance.linear = compliance;
    S2JointId joint;
    must(s2_joint_create(world, &hinge, &joint));
    last = now;
  }
  double start = s2_world_energy(world).kinetic + s2_world_energy(world).potential, most = 0;
  for (int i = 0; i < STEPS; i++) {
    must(s2_world_step(world));
    S2Energy energy = s2_world_energy(world);
    most = fmax(most, energy.kinetic + energy.potential - start);
  }
  s2_world_destroy(world);
  return most / (LINKS * 9.81 * LINKS / 2);
}

// The change of length that a turn causes in a stiff spring is not stored in it: the force at the
// end of the step includes the curvature. Without that: 4.7, 1.9, 0.39, 0.33.
static void stiff_springs_do_not_store_their_turns(void **state) {
  (void)state;
  assert_true(gain_of_chain(1, S2_GEOMETRIC_OFF, 1e-8) < 0.2);
  assert_true(gain_of_chain(1, S2_GEOMETRIC_ON, 1e-8) < 1e-6);
  assert_true(gain_of_chain(0.75, S2_GEOMETRIC_ON, 1e-8) < 1e-6);
  assert_true(gain_of_chain(0.6, S2_GEOMETRIC_ON, 1e-8) < 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(periods_are_those_of_the_elliptic_integral),
      cmocka_unit_test(a_polynomial_ends_in_the_linear_spring),
      cmocka_unit_test(energy_is_of_second_order),
      cmocka_unit_test(a_weight_hangs_where_the_pull_is),
      cmocka_unit_test(a_law_does_what_the_polynomial_does),
      cmocka_unit_test(a_law_that_fails_undoes_the_step),
      cmocka_unit_test(what_makes_no_sense_is_refused),
      cmocka_unit_test(stiff_springs_do_not_store_their_turns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
