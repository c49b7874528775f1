// Implicit blending, compliance and stiffness, geometric stiffness, formulations.
#include "worlds.h"

static S2World *blended(double gravity, double dt, double alpha, double beta) {
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0, gravity);
  def.dt = dt;
  def.alpha = alpha;
  def.beta = beta;
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

static S2JointId make(S2World *world, S2JointDef def) {
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

static S2BodyDef weighing(S2BodyDef def, double mass) {
  def.mass = mass;
  return def;
}

// A mass on a spring to the origin, the same in all directions: exactly linear.
static S2BodyId oscillator(S2World *world, double mass, double stiffness, double damping) {
  S2JointDef def = joint_def(S2_MOUSE, add_disc(world, weighing(at(0, 0), mass), 0.1), no_body);
  def.target = s2_vec2(0, 0);
  def.stiffness = stiffness;
  def.damping.linear = damping;
  make(world, def);
  return def.a;
}

static void place(S2World *world, S2BodyId body, double x, double v) {
  must(s2_body_set_q(world, body, (const double[3]){0, x, 0}));
  must(s2_body_set_v(world, body, (const double[3]){0, v, 0}));
}

static void set_formulation(S2World *world, S2Formulation formulation, S2Elasticity elasticity) {
  S2WorldDef def = *s2_world_settings(world);
  def.formulation = formulation;
  def.elasticity = elasticity;
  must(s2_world_configure(world, &def));
}

static void set_geometric(S2World *world, S2GeometricStiffness geometric, bool projection) {
  S2WorldDef def = *s2_world_settings(world);
  def.geometric_stiffness = geometric;
  def.stabilization = projection ? S2_PROJECTION : S2_NO_STABILIZATION;
  must(s2_world_configure(world, &def));
}

// ---- Linear oscillators -----------------------------------------------------------------------

// Amplification per step from the trajectory alone: as x_{n+2} = tr x_{n+1} - det x_n, x_n x_{n+2}
// - x_{n+1}^2 grows by det in each step.
static void amplification_of(double alpha, double beta, double big_x, S2Formulation formulation,
                             S2Elasticity elasticity) {
  const double h = 0.01, mass = 1.7;
  double stiffness = big_x * mass / (h * h);
  S2World *world = blended(0, h, alpha, beta);
  S2BodyId body = oscillator(world, mass, stiffness, 0);
  set_formulation(world, formulation, elasticity);
  double ab = alpha * beta;
  double det = (1 + (1 - alpha) * (1 - beta) * big_x) / (1 + ab * big_x);
  double trace = 2 - (alpha + beta) * big_x / (1 + ab * big_x);
  if (trace * trace < 4 * det * 0.999) {
    enum { STEPS = 5 }; // the error of a solve is relative to the largest speed, not to a small one
    double x[STEPS + 3], first = 0;
    place(world, body, 0.7, 0.3);
    for (int n = 0; n < STEPS + 3; n++) {
      x[n] = get(world, body, S2_BODY_X);
      steps_solved(world, 1, 1e-9, 0);
    }
    first = x[0] * x[2] - x[1] * x[1];
    double last = x[STEPS] * x[STEPS + 2] - x[STEPS + 1] * x[STEPS + 1];
    near(pow(last / first, 0.5 / STEPS), sqrt(det), 1e-9);
    double one[2], two[2]; // the columns of the step map
    place(world, body, 1, 0);
    steps(world, 1);
    one[0] = get(world, body, S2_BODY_X), one[1] = get(world, body, S2_BODY_VX);
    place(world, body, 0, 1);
    steps(world, 1);
    two[0] = get(world, body, S2_BODY_X), two[1] = get(world, body, S2_BODY_VX);
    near(one[0] * two[1] - one[1] * two[0], det, 1e-9);
    near(one[0] + two[1], trace, 1e-9);
  }
  s2_world_destroy(world);
}

static void amplification_is_that_of_the_formula(void **state) {
  (void)state;
  const double parts[] = {0, 0.0001, 0.2, 0.5, 0.7, 1}, sizes[] = {1e-3, 0.1, 1, 3.5, 30};
  for (int a = 0; a < 6; a++) {
    for (int b = 0; b < 6; b++) {
      for (int x = 0; x < 5; x++) {
        for (int way = 0; way < 3; way++) {
          amplification_of(parts[a], parts[b], sizes[x], (S2Formulation)way, S2_AS_COMPLIANCE);
          amplification_of(parts[a], parts[b], sizes[x], (S2Formulation)way, S2_AS_STIFFNESS);
        }
      }
    }
  }
}

// Amplitude of the energy-like form after 5000 steps, relative to the start.
static double kept(double alpha, double beta) {
  S2World *world = blended(0, 0.01, alpha, beta);
  S2BodyId body = oscillator(world, 1, 400, 0);
  double before[2] = {0}, after[2] = {0};
  place(world, body, 1, 0);
  for (int n = 0; n < 5000; n++) {
    double *most = n < 200 ? before : after;
    most[0] = fmax(most[0], fabs(get(world, body, S2_BODY_X)));
    if (n == 4800) {
      after[0] = 0;
    }
    steps(world, 1);
  }
  s2_world_destroy(world);
  return after[0] / before[0];
}

static void amplitude_is_kept_where_alpha_and_beta_sum_to_one(void **state) {
  (void)state;
  near(kept(0.5, 0.5), 1, 1e-3);
  near(kept(0.25, 0.75), 1, 1e-3);
  near(kept(1, 0), 1, 1e-3);
  near(kept(0, 1), 1, 1e-3);
  assert_true(kept(0.55, 0.5) < 0.7 && kept(1, 1) < 1e-6);
  assert_true(kept(0.45, 0.5) > 1.3);
}

// (x, v) at 1 s of x'' = -k x - (d + damping m) x' / m from (1, 0.5), minus the closed form.
static double damped_error(double h, double alpha, double beta, double d, double damping) {
  const double k = 30, mass = 1.3, v0 = 0.5;
  S2World *world = blended(0, h, alpha, beta);
  S2BodyId body = oscillator(world, mass, k, d);
  must(s2_body_set(world, body, S2_BODY_LINEAR_DAMPING, damping));
  place(world, body, 1, v0);
  steps(world, (int)lround(1 / h));
  double x = get(world, body, S2_BODY_X), v = get(world, body, S2_BODY_VX);
  s2_world_destroy(world);
  double slow = (d / mass + damping) / 2, w = sqrt(k / mass - slow * slow);
  double decay = exp(-slow), sine = (v0 + slow) / w;
  double want = decay * (cos(w) + sine * sin(w));
  return hypot(x - want, v + slow * want - decay * w * (sine * cos(w) - sin(w)));
}

static double order(double alpha, double beta, double d, double damping) {
  return log2(fabs(damped_error(1.0 / 1600, alpha, beta, d, damping) /
                   damped_error(1.0 / 3200, alpha, beta, d, damping)));
}

static void damped_oscillator_converges(void **state) {
  (void)state;
  for (int body = 0; body < 2; body++) { // damping of the joint, of the body
    double d = body ? 0 : 1.1, damping = body ? 1.1 : 0;
    near(order(1, 1, d, damping), 1, 0.05);
    near(order(0.7, 0.8, d, damping), 1, 0.05);
    near(order(0, 1, d, damping), 1, 0.05);
    near(order(0.5, 0.5, d, damping), 2, 0.02);
    assert_true(fabs(damped_error(1.0 / 800, 0.5, 0.5, d, damping)) < 5e-5);
  }
}

// ---- Three forms of a spring ------------------------------------------------------------------

static bool spring_law(void *user, S2World *world, S2ForceCall *call) {
  const double *k_d = user;
  double q[3], v[3];
  must(s2_body_q(world, call->body, q));
  must(s2_body_v(world, call->body, v));
  call->force[1] -= k_d[0] * q[1] + k_d[1] * v[1];
  return true;
}

static double with_law(double h, double k, double d) {
  S2World *world = blended(0, h, 1, 1);
  S2BodyId body = add_disc(world, weighing(at(1, 0), 1.3), 0.1);
  double k_d[2] = {k, d};
  s2_world_set_callbacks(world, &(S2Callbacks){.user = k_d, .force = spring_law});
  must(s2_body_set_force_law(world, body, true));
  steps(world, (int)lround(1 / h));
  double x = get(world, body, S2_BODY_X);
  s2_world_destroy(world);
  return x;
}

static double with_rows(double h, double k, double d, S2Elasticity elasticity) {
  S2World *world = blended(0, h, 1, 1);
  S2BodyId body = oscillator(world, 1.3, k, d);
  set_formulation(world, S2_FORM_VELOCITY, elasticity);
  place(world, body, 1, 0);
  steps(world, (int)lround(1 / h));
  double x = get(world, body, S2_BODY_X);
  s2_world_destroy(world);
  return x;
}

static void law_stiffness_and_compliance_meet(void **state) {
  (void)state;
  double before = INFINITY;
  for (int n = 100; n <= 3200; n *= 2) {
    double law = with_law(1.0 / n, 40, 0.7);
    double soft = with_rows(1.0 / n, 40, 0.7, S2_AS_COMPLIANCE);
    double stiff = with_rows(1.0 / n, 40, 0.7, S2_AS_STIFFNESS);
    near(soft, stiff, 1e-12);
    if (n > 400) { // first order, because the law is explicit
      near(log2(before / fabs(law - soft)), 1, 0.05);
    }
    before = fabs(law - soft);
  }
  assert_true(before < 1e-2);
}

// A chain of all kinds of compliant joints, suspended, on a floor, with friction.
static S2World *soft_things(double alpha, double beta, S2Formulation formulation,
                            S2Elasticity elasticity) {
  S2World *world = blended(-9.81, 1.0 / 120, alpha, beta);
  add_box(world, fixed_at(0, -3), 20, 1);
  S2BodyId last = no_body;
  for (int i = 0; i < 5; i++) {
    S2BodyId body = add_box(world, weighing(at(i + 0.5, 0), 1 + i), 0.8, 0.2);
    S2JointDef def = hinge_def(body, last, i, 0);
    if (i == 1) {
      def = joint_def(S2_WELD, body, last);
      def.anchor_a = s2_vec2(i, 0);
      def.compliance = (S2JointWeights){.linear = 1e-4, .angular = 1e-2};
      def.damping = (S2JointWeights){.linear = 1, .angular = 0.1};
    } else if (i == 2) {
      def.compliance = (S2JointWeights){.size = 2, .matrix = {1e-3, 2e-4, 2e-4, 5e-4}};
      def.damping = (S2JointWeights){.size = 2, .matrix = {3, 1, 1, 1}};
    } else if (i == 3) {
      def = joint_def(S2_SPRING, body, last);
      def.stiffness = 500;
      def.damping.linear = 2;
    }
    make(world, def);
    last = body;
  }
  add_box(world, weighing(at(7, -2), 2), 1, 1);
  add_box(world, weighing(at(7, -1), 1), 1, 1);
  set_formulation(world, formulation, elasticity);
  return world;
}

static double difference(S2World *a, S2World *b) {
  enum { SIZE = 6 * 7 };
  double x[SIZE], y[SIZE], worst = 0;
  assert_int_equal(s2_world_state_size(a), SIZE);
  s2_world_state(a, x);
  s2_world_state(b, y);
  for (int i = 0; i < SIZE; i++) {
    assert_true(isfinite(x[i]) && isfinite(y[i]));
    worst = fmax(worst, fabs(x[i] - y[i]));
  }
  return worst;
}

static void formulations_and_elasticities_agree(void **state) {
  (void)state;
  const double blends[][2] = {{1, 1}, {0.5, 0.5}, {0.7, 0.9}};
  for (int i = 0; i < 3; i++) {
    double alpha = blends[i][0], beta = blends[i][1];
    S2World *worlds[] = {soft_things(alpha, beta, S2_FORM_VELOCITY, S2_AS_COMPLIANCE),
                         soft_things(alpha, beta, S2_FORM_VARIATION, S2_AS_COMPLIANCE),
                         soft_things(alpha, beta, S2_FORM_ACCELERATION, S2_AS_COMPLIANCE),
                         soft_things(alpha, beta, S2_FORM_VELOCITY, S2_AS_STIFFNESS),
                         soft_things(alpha, beta, S2_FORM_ACCELERATION, S2_AS_STIFFNESS)};
    for (int k = 0; k < 5; k++) {
      steps_solved(worlds[k], 40, 1e-9, 1e-9);
    }
    near(difference(worlds[0], worlds[1]), 0, 1e-12);
    near(difference(worlds[0], worlds[2]), 0, 1e-12);
    near(difference(worlds[0], worlds[3]), 0, 1e-10);
    near(difference(worlds[0], worlds[4]), 0, 1e-10);
    for (int k = 0; k < 5; k++) {
      s2_world_destroy(worlds[k]);
    }
  }
}

// ---- Chains -----------------------------------------------------------------------------------

// A chain of `count` links of 1 m from the origin along `along`, the last one of another mass.
static S2BodyId chain(S2World *world, int count, S2Vec2 along, double mass, double compliance) {
  S2BodyId last = no_body;
  for (int i = 0; i < count; i++) {
    S2BodyDef link =
        weighing(at((i + 0.5) * along.x, (i + 0.5) * along.y), i + 1 < count ? 1 : mass);
    link.mask = 0;
    S2BodyId body = add_box(world, link, 0.8, 0.2);
    S2JointDef def = hinge_def(body, last, i * along.x, i * along.y);
    def.compliance.linear = compliance;
    make(world, def);
    last = body;
  }
  return last;
}

static void compliances_need_no_tuning(void **state) {
  (void)state;
  const double blends[][2] = {{1, 1}, {0.5, 1}, {0.6, 0.6}};
  for (int k = 0; k < 3; k++) {
    for (int e = 0; e >= -12; e--) {
      S2World *world = blended(-9.81, 1.0 / 120, blends[k][0], blends[k][1]);
      set_geometric(world, k == 2 ? S2_GEOMETRIC_ON : S2_GEOMETRIC_OFF, true);
      S2BodyId last = chain(world, 8, s2_vec2(1, 0), 100, pow(10, e));
      steps_solved(world, 240, 1e-9, 0);
      double q[3];
      must(s2_body_q(world, last, q));
      assert_true(hypot(q[1], q[2]) < (e <= -6 ? 8 : 1e4));
      s2_world_destroy(world);
    }
  }
}

typedef struct Heavy {
  // lost: at most this part of the kinetic energy or of the fall
  double alpha, beta, mass, compliance, lost;
  S2GeometricStiffness geometric;
  bool level;
} Heavy;

static double fall(const Heavy *is) {
  return is->level ? is->mass * 9.81 * 8 : is->mass * 0.5 * 0.5 / 2;
}

// Suspended and pushed to 0.5 m/s, or released from the horizontal. Light links under such a weight
// oscillate faster than any step resolves: explicitly they gain energy without bound.
static void heavy_end(Heavy is, bool stiffens) {
  S2World *world = blended(-9.81, 1.0 / 240, is.alpha, is.beta);
  set_geometric(world, is.geometric, true);
  S2Vec2 along = is.level ? s2_vec2(1, 0) : s2_vec2(0, -1);
  S2BodyId last = chain(world, 8, along, is.mass, is.compliance);
  if (!is.level) {
    must(s2_body_set_v(world, last, (const double[3]){0, 0.5, 0}));
  }
  double start = s2_world_energy(world).total, scale = fall(&is);
  for (int i = 0; i < 480; i++) {
    steps_solved(world, 1, 1e-9, 0);
    assert_true(s2_world_residuals(world).joint_error < 1e-8);
    double gain = s2_world_energy(world).total - start;
    if (!(gain < 1e-3 * scale && gain > -is.lost * scale)) {
      fail_msg("(%g, %g), %g kg, %d: step %d gained %g of %g J", is.alpha, is.beta, is.mass,
               is.geometric, i, gain, scale);
    }
  }
  assert_true((s2_world_stats(world)->stiffened > 0) == stiffens);
  s2_world_destroy(world);
}

static void a_heavy_end_does_not_tear_a_chain(void **state) {
  (void)state;
  const double blends[][2] = {{1, 1}, {0.5, 0.5}, {0.6, 0.6}, {0.5, 1}};
  for (int k = 0; k < 4; k++) {
    for (int geometric = S2_GEOMETRIC_OFF; geometric <= S2_GEOMETRIC_PSD; geometric++) {
      bool implicit = blends[k][1] == 1 && geometric != S2_GEOMETRIC_OFF;
      Heavy is = {.alpha = blends[k][0], .beta = blends[k][1], .mass = 1e6, .lost = 0.05};
      is.geometric = (S2GeometricStiffness)geometric;
      heavy_end(is, !implicit);
      is.level = true, is.lost = 0.1;
      heavy_end(is, !implicit);
    }
  }
}

// Springs that the weight stretches by 10 m, which no step of this length resolves.
static void a_heavy_end_does_not_shake_soft_chains(void **state) {
  (void)state;
  Heavy is = {.alpha = 1, .beta = 1, .mass = 1e6, .compliance = 1e-6, .lost = INFINITY};
  heavy_end(is, true);
  is.alpha = is.beta = 0.6;
  heavy_end(is, true);
}

// A rod suspended from the world and pulled by its weight swings with w^2 = m g r / (I + m r^2):
// the estimate of the stiffness has to react from (h w)^2 = 2 on and not before, in spite of its
// approximations.
static void stiffness_begins_where_the_swing_says(void **state) {
  (void)state;
  const double r = 0.5, inertia = (0.8 * 0.8 + 0.2 * 0.2) / 12, dt = 1.0 / 120;
  for (int above = 0; above < 2; above++) {
    double pull = (above ? 2.02 : 1.98) * (inertia + r * r) / (r * dt * dt);
    for (int side = 0; side < 2; side++) { // the rod as a or as b
      S2World *world = blended(-pull, dt, 1, 1);
      S2BodyDef rod = weighing(at(0, -r), 1);
      S2BodyId body = add_box(world, rod, 0.2, 0.8);
      make(world, side == 0 ? hinge_def(body, no_body, 0, 0) : hinge_def(no_body, body, 0, 0));
      steps_solved(world, 3, 1e-9, 0);
      assert_int_equal(s2_world_stats(world)->stiffened > 0, above);
      s2_world_destroy(world);
    }
  }
}

// Where the step resolves all frequencies, no bit differs from the step without the estimate of the
// stiffness.
static void ordinary_chains_are_not_stiffened(void **state) {
  (void)state;
  for (int level = 0; level < 2; level++) {
    S2World *world = blended(-9.81, 1.0 / 240, 1, 1);
    chain(world, 8, level ? s2_vec2(1, 0) : s2_vec2(0, -1), 30, 0);
    steps_solved(world, 480, 1e-9, 0);
    assert_int_equal(s2_world_stats(world)->stiffened, 0);
    s2_world_destroy(world);
  }
}

// ---- Rigid rows -------------------------------------------------------------------------------

static void rigid_joints_need_beta(void **state) {
  (void)state;
  S2World *world = blended(-9.81, 0.01, 1, 0);
  S2JointDef def = hinge_def(add_box(world, at(1, 0), 2, 0.1), no_body, 0, 0);
  def.name = "elbow";
  S2JointId hinge = make(world, def);
  uint64_t hash = s2_world_hash(world);
  S2Status status = s2_world_step(world);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "beta = 0 cannot hold hinge 'elbow'"));
  assert_true(s2_world_hash(world) == hash);
  must(s2_joint_set(world, hinge, S2_JOINT_COMPLIANCE, 1e-2));
  steps_solved(world, 10, 1e-9, 0);
  S2WorldDef settings = *s2_world_settings(world);
  settings.alpha = 1.5;
  assert_int_equal(s2_world_configure(world, &settings).code, S2_INVALID);
  settings.alpha = NAN;
  assert_int_equal(s2_world_configure(world, &settings).code, S2_INVALID);
  s2_world_destroy(world);
}

// The velocity error of a rigid row must not grow, also where (1 - beta)/beta > 1, and an impact
// sets it to 0.
static void velocity_errors_do_not_grow(void **state) {
  (void)state;
  for (double beta = 0.1; beta < 1; beta += 0.2) {
    S2World *world = blended(0, 0.01, 0.5, beta);
    S2JointDef def = joint_def(S2_LOCK, add_disc(world, at(0, 0), 0.5), no_body);
    def.lock_y = true;
    make(world, def);
    must(s2_body_set_v(world, def.a, (const double[3]){0, 1, 0.3}));
    for (int i = 0; i < 200; i++) {
      steps_solved(world, 1, 1e-9, 0);
      assert_true(fabs(get(world, def.a, S2_BODY_VY)) <= 0.3 * (1 + 1e-9));
    }
    if (beta < 0.51) {
      near(fabs(get(world, def.a, S2_BODY_VY)), 0.3, 1e-9);
    }
    add_box(world, fixed_at(3.5, 0), 1, 4); // 0.5 m ahead
    steps_solved(world, 100, 1e-9, 1e-9);
    near(get(world, def.a, S2_BODY_VY), 0, 1e-12);
    near(get(world, def.a, S2_BODY_VX), 0, 1e-12);
    s2_world_destroy(world);
  }
}

// ---- Contacts ---------------------------------------------------------------------------------

static void contacts_do_not_bounce(void **state) {
  (void)state;
  for (double beta = 0; beta < 1; beta += 0.25) {
    for (int stepping = 0; stepping < 2; stepping++) {
      S2World *world = blended(-9.81, 1.0 / 120, 0.5, beta);
      S2WorldDef settings = *s2_world_settings(world);
      settings.stepping = (S2Stepping)stepping;
      must(s2_world_configure(world, &settings));
      add_box(world, fixed_at(0, -0.5), 10, 1);
      S2BodyId low = add_box(world, at(0, 0.5), 1, 1), high = add_box(world, at(0, 2), 1, 1);
      steps_solved(world, 240, 1e-9, 2e-6);
      double slack = stepping == S2_BISECT ? settings.contact_margin : 1e-8;
      near(get(world, low, S2_BODY_Y), 0.5, slack);
      near(get(world, high, S2_BODY_Y), 1.5, 2 * slack);
      near(get(world, high, S2_BODY_VY), 0, 1e-9);
      s2_world_destroy(world);
    }
  }
}

// The part of the old velocity in the motion must not move a body through a wall.
static void walls_hold_for_every_beta(void **state) {
  (void)state;
  for (double beta = 0; beta < 1; beta += 0.25) {
    for (double speed = 5; speed < 200; speed *= 1.3) {
      S2World *world = blended(0, 1.0 / 120, 0.5, beta);
      add_box(world, rough(fixed_at(5, 0), 0, 0.5), 0.05, 4);
      S2BodyId ball = add_disc(world, rough(at(0, 0), 0, 0.5), 0.1);
      must(s2_body_set_v(world, ball, (const double[3]){0, speed, 0}));
      steps_solved(world, (int)ceil(1 + 120 * 6 / speed), 1e-9, 1e-9);
      near(get(world, ball, S2_BODY_VX), -speed / 2, 1e-9 * speed);
      s2_world_destroy(world);
    }
  }
}

// Targets of restitution are velocities: alpha and beta do not scale any part of them. A ball at a
// wall, and two balls of different mass that meet head on, without forces.
static void targets_of_impacts_know_no_alpha(void **state) {
  (void)state;
  const double parts[] = {0.25, 0.5, 0.75, 1};
  for (int k = 0; k < 4 * 4 * 3 * 2; k++) {
    double alpha = parts[k % 4], beta = parts[k / 4 % 4], e = 0.4 * (k / 16 % 3);
    S2World *world = blended(0, 1.0 / 120, alpha, beta);
    S2WorldDef settings = *s2_world_settings(world);
    settings.stepping = k / 48 == 0 ? S2_SPECULATIVE : S2_BISECT;
    must(s2_world_configure(world, &settings));
    add_box(world, rough(fixed_at(3, 0), 0, e), 1, 4);
    S2BodyId ball = add_disc(world, rough(at(1, 0), 0, e), 0.5);
    must(s2_body_set_v(world, ball, (const double[3]){0, 5, 0.75}));
    S2BodyId light = add_disc(world, weighing(rough(at(-10, 0), 0, e), 1), 0.5);
    S2BodyId heavy = add_disc(world, weighing(rough(at(-8, 0), 0, e), 3), 0.5);
    must(s2_body_set_v(world, light, (const double[3]){0, 4, 0}));
    must(s2_body_set_v(world, heavy, (const double[3]){0, -2, 0}));
    steps_solved(world, 60, 1e-9, 1e-9);
    near(get(world, ball, S2_BODY_VX), -e * 5, 1e-12);
    near(get(world, ball, S2_BODY_VY), 0.75, 1e-12);
    double left = get(world, light, S2_BODY_VX), right = get(world, heavy, S2_BODY_VX);
    near(right - left, e * 6, 1e-12);
    near(left + 3 * right, -2, 1e-12);
    s2_world_destroy(world);
  }
}

// Under forces that bring the ball to the floor within the step the law includes the fall to the
// surface, sqrt(u^2 + 2 g gap): the same at every alpha, as gravity does not depend on it.
static void arrivals_under_forces_know_no_alpha(void **state) {
  (void)state;
  double first = 0;
  for (double alpha = 1; alpha > 0; alpha -= 0.25) {
    S2World *world = blended(-9.81, 1.0 / 120, alpha, 1);
    add_box(world, rough(fixed_at(0, -0.5), 0, 0.8), 10, 1);
    S2BodyId ball = add_disc(world, rough(at(0, 0.1 + 0.02), 0, 0.8), 0.1);
    must(s2_body_set_v(world, ball, (const double[3]){0, 0, -3}));
    steps_solved(world, 1, 1e-9, 1e-9);
    double v = get(world, ball, S2_BODY_VY);
    near(v, 0.8 * sqrt(9 + 2 * 9.81 * 0.02), 1e-12);
    first = alpha == 1 ? v : first;
    near(v, first, 1e-15);
    s2_world_destroy(world);
  }
}

static void bounces_reach_their_height(void **state) {
  (void)state;
  for (double beta = 0.25; beta <= 1; beta += 0.25) {
    S2World *world = blended(-9.81, 1.0 / 960, 0.5, beta);
    add_box(world, rough(fixed_at(0, -0.5), 0, 0.8), 10, 1);
    S2BodyId ball = add_disc(world, rough(at(0, 1.1), 0, 0.8), 0.1);
    double top = 0;
    bool down = false;
    for (int i = 0; i < 1000; i++) {
      steps_solved(world, 1, 1e-9, 1e-9);
      double vy = get(world, ball, S2_BODY_VY);
      down |= vy > 1;
      top = down ? fmax(top, get(world, ball, S2_BODY_Y) - 0.1) : 0;
      if (down && vy < 0) {
        break;
      }
    }
    near(top, 0.64, 0.02);
    s2_world_destroy(world);
  }
}

// ---- Geometric stiffness ----------------------------------------------------------------------

// The factored form for a distance: a row across it with stiffness tension/length.
static void a_distance_stiffens_across(void **state) {
  (void)state;
  for (int sign = -1; sign <= 1; sign += 2) { // pulled or pushed
    const double h = 0.01, alpha = 0.7, beta = 0.6;
    S2World *world = blended(0, h, alpha, beta);
    S2BodyId body = add_disc(world, weighing(at(3, 4), 2), 0.5);
    S2JointDef def = joint_def(S2_SPRING, body, no_body);
    def.anchor_b = s2_vec2(0, 0);
    def.stiffness = 200;
    def.rest_length = sign < 0 ? 4.5 : 5.5;
    S2JointId spring = make(world, def);
    set_geometric(world, S2_GEOMETRIC_ON, true);
    steps(world, 1);
    double force, q[3];
    must(s2_joint_get(world, spring, S2_JOINT_FORCE, &force));
    must(s2_body_q(world, body, q));
    double length = hypot(q[1], q[2]);
    S2Problem *problem;
    S2BodyId nodes[1];
    must(s2_world_problem(world, &problem, nodes, 1));
    if (sign < 0) {
      assert_int_equal(problem->rows, 2);
      const S2Row *row = &problem->row[1];
      near(1 / row->compliance, h * h * alpha * beta * force / length, 1e-12);
      near(fabs(row->ja[1] * -q[2] + row->ja[2] * q[1]), length, 1e-12);
      near(row->ja[0], 0, 0);
      near(row->bias, 0, 0);
    } else { // negative stiffness: none in W, all of it explicit
      assert_int_equal(problem->rows, 1);
    }
    double v[3], rhs[3];
    must(s2_body_v(world, body, v));
    double across = (-q[2] * v[1] + q[1] * v[2]) / length, s = -sign * force / length;
    double push = -h * h * alpha * (sign < 0 ? 1 - beta : 1) * s * across;
    rhs[1] = 2 * v[1] - push * q[2] / length;
    rhs[2] = 2 * v[2] + push * q[1] / length;
    near(problem->rhs[1], rhs[1], 1e-12);
    near(problem->rhs[2], rhs[2], 1e-12);
    s2_problem_free(problem);
    set_geometric(world, S2_GEOMETRIC_PSD, true);
    must(s2_world_problem(world, &problem, nodes, 1));
    assert_int_equal(problem->rows, sign < 0 ? 2 : 1);
    s2_problem_free(problem);
    s2_world_destroy(world);
  }
}

// Angle after 1 s of a pendulum of 1 m, released from the horizontal with 1 rad/s: Runge-Kutta.
static double pendulum_angle(double inertia) {
  double a = 0, w = -1;
  enum { N = 20000 };
  for (int i = 0; i < N; i++) {
    double h = 1.0 / N, k[4][2], g = -9.81 / (1 + inertia), x = a, u = w;
    for (int s = 0; s < 4; s++) {
      k[s][0] = u;
      k[s][1] = g * cos(x);
      double part = s == 2 ? h : h / 2;
      x = a + part * k[s][0];
      u = w + part * k[s][1];
    }
    a += h / 6 * (k[0][0] + 2 * k[1][0] + 2 * k[2][0] + k[3][0]);
    w += h / 6 * (k[0][1] + 2 * k[1][1] + 2 * k[2][1] + k[3][1]);
  }
  return a;
}

typedef struct Pendulum {
  double alpha, beta;
  S2GeometricStiffness geometric;
  bool projection, hinge;
} Pendulum;

static S2World *pendulum(int n, Pendulum is) {
  S2World *world = blended(-9.81, 1.0 / n, is.alpha, is.beta);
  S2BodyDef body = weighing(at(1, 0), 1);
  body.inertia = 0.05;
  S2BodyId bob = add_disc(world, body, 0.1);
  S2JointDef def = joint_def(is.hinge ? S2_HINGE : S2_DISTANCE, bob, no_body);
  def.anchor_b = s2_vec2(0, 0);
  def.anchor_a = is.hinge ? s2_vec2(0, 0) : def.anchor_a;
  make(world, def);
  set_geometric(world, is.geometric, is.projection);
  must(s2_body_set_v(world, bob, (const double[3]){is.hinge ? -1 : 0, 0, -1}));
  return world;
}

static double pendulum_error(int n, Pendulum is) {
  S2World *world = pendulum(n, is);
  S2BodyId bob;
  assert_int_equal(s2_world_bodies(world, &bob, 1), 1);
  steps_solved(world, n, 1e-9, 0);
  double q[3], want = pendulum_angle(is.hinge ? 0.05 : 0);
  must(s2_body_q(world, bob, q));
  s2_world_destroy(world);
  return hypot(q[1] - cos(want), q[2] - sin(want));
}

static double pendulum_order(Pendulum is) {
  return log2(pendulum_error(100, is) / pendulum_error(1600, is)) / 4;
}

static void pendulums_are_of_second_order_with_geometric_stiffness(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    bool projection = way % 2 == 1, hinge = way / 2 == 1;
    Pendulum second = {0.5, 0.5, S2_GEOMETRIC_ON, projection, hinge};
    double order = pendulum_order(second);
    assert_true(order > 1.95 && order < 2.3);
    assert_true(pendulum_error(400, second) < 3e-5);
    Pendulum positive = second, first = second;
    positive.geometric = S2_GEOMETRIC_PSD;
    first.geometric = S2_GEOMETRIC_OFF;
    near(pendulum_order(first), 1, 0.05);
    assert_true(pendulum_error(400, first) > 1e-3);
    if (!hinge) { // the rod is pulled most of the time, and has no other stiffness
      assert_true(pendulum_order(positive) > 1.9);
    }
    near(pendulum_order((Pendulum){1, 1, S2_GEOMETRIC_OFF, projection, hinge}), 1, 0.1);
  }
}

// x of the last link of a chain released from the horizontal, after 0.5 s.
static double chain_end(int n, int links, double compliance, bool projection) {
  S2World *world = blended(-9.81, 1.0 / n, 0.5, 0.5);
  set_geometric(world, S2_GEOMETRIC_ON, projection);
  S2BodyId last = chain(world, links, s2_vec2(1, 0), 2, compliance);
  steps_solved(world, n / 2, 1e-9, 0);
  double x = get(world, last, S2_BODY_X);
  s2_world_destroy(world);
  return x;
}

// With the multipliers of the last step, for rigid and compliant chains.
static void chains_are_of_second_order_with_geometric_stiffness(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    double compliance = way % 2 == 0 ? 0 : 1e-3, x[3];
    for (int k = 0; k < 3; k++) { // Richardson: no reference needed
      x[k] = chain_end(800 << k, 3, compliance, way / 2 == 1);
    }
    near(log2((x[1] - x[0]) / (x[2] - x[1])), 2, 0.1);
  }
}

// A rotated velocity keeps its magnitude: rods at (1/2, 1/2), without projection.
static void rods_keep_energy_at_one_half(void **state) {
  (void)state;
  S2World *world = pendulum(200, (Pendulum){0.5, 0.5, S2_GEOMETRIC_OFF, false, false});
  double start = s2_world_energy(world).total;
  steps_solved(world, 2000, 1e-9, 0);
  near(s2_world_energy(world).total, start, 1e-11);
  s2_world_destroy(world);
}

static void momentum_is_kept(void **state) {
  (void)state;
  for (int way = 0; way < 6; way++) {
    S2World *world = blended(0, 1.0 / 240, way < 3 ? 0.5 : 0.8, way < 3 ? 0.5 : 1);
    set_geometric(world, (S2GeometricStiffness)(way % 3), true);
    S2BodyId a = add_box(world, weighing(at(0, 0), 1), 1, 0.2);
    S2BodyId b = add_box(world, weighing(at(1, 0), 3), 1, 0.2);
    S2BodyId c = add_box(world, weighing(at(2, 0.5), 2), 1, 0.2);
    make(world, hinge_def(a, b, 0.5, 0));
    S2JointDef def = joint_def(S2_SPRING, b, c);
    def.stiffness = 300;
    def.damping.linear = 0.5;
    make(world, def);
    must(s2_body_set_v(world, a, (const double[3]){2, 0, -1}));
    must(s2_body_set_v(world, c, (const double[3]){-1, 0, 2}));
    double before[3], after[3];
    s2_world_momentum(world, before);
    steps_solved(world, 480, 1e-9, 0);
    s2_world_momentum(world, after);
    near(after[1], before[1], 1e-12);
    near(after[2], before[2], 1e-12);
    // Second order at (1/2, 1/2) with the full stiffness, otherwise first.
    near(after[0], before[0], fabs(before[0]) * (way == 1 ? 3e-5 : 0.02));
    s2_world_destroy(world);
  }
}

// A snapshot contains the data that the next step takes from the last one.
static void snapshots_go_on_with_the_same_bits(void **state) {
  (void)state;
  S2World *world = soft_things(0.6, 0.6, S2_FORM_ACCELERATION, S2_AS_STIFFNESS), *copy;
  set_geometric(world, S2_GEOMETRIC_ON, true);
  steps(world, 20);
  must(s2_world_clone(world, &copy));
  assert_true(s2_world_settings(copy)->alpha == 0.6);
  steps(world, 20);
  steps(copy, 20);
  assert_true(s2_world_hash(world) == s2_world_hash(copy));
  s2_world_destroy(world);
  s2_world_destroy(copy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(amplification_is_that_of_the_formula),
      cmocka_unit_test(amplitude_is_kept_where_alpha_and_beta_sum_to_one),
      cmocka_unit_test(damped_oscillator_converges),
      cmocka_unit_test(law_stiffness_and_compliance_meet),
      cmocka_unit_test(formulations_and_elasticities_agree),
      cmocka_unit_test(compliances_need_no_tuning),
      cmocka_unit_test(a_heavy_end_does_not_tear_a_chain),
      cmocka_unit_test(a_heavy_end_does_not_shake_soft_chains),
      cmocka_unit_test(stiffness_begins_where_the_swing_says),
      cmocka_unit_test(ordinary_chains_are_not_stiffened),
      cmocka_unit_test(rigid_joints_need_beta),
      cmocka_unit_test(velocity_errors_do_not_grow),
      cmocka_unit_test(contacts_do_not_bounce),
      cmocka_unit_test(walls_hold_for_every_beta),
      cmocka_unit_test(targets_of_impacts_know_no_alpha),
      cmocka_unit_test(arrivals_under_forces_know_no_alpha),
      cmocka_unit_test(bounces_reach_their_height),
      cmocka_unit_test(a_distance_stiffens_across),
      cmocka_unit_test(pendulums_are_of_second_order_with_geometric_stiffness),
      cmocka_unit_test(chains_are_of_second_order_with_geometric_stiffness),
      cmocka_unit_test(rods_keep_energy_at_one_half),
      cmocka_unit_test(momentum_is_kept),
      cmocka_unit_test(snapshots_go_on_with_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
