// The flow by two stages: the formula of each kind of row on a body that slides along a line, and
// properties of all joints.
#include "worlds.h"

#include "dynamics/control/control.h"

static double uniform(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static double clip(double x, double most) {
  return x > most ? most : x < -most ? -most : x;
}

static S2WorldDef rattle_def(double dt) {
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0, 0);
  def.dt = dt;
  def.flow = S2_FLOW_RATTLE;
  return def;
}

static S2JointDef line_def(void) {
  return s2_joint_def(S2_SLIDER);
}

// ---- A body on a line --------------------------------------------------------------------------

typedef struct Line { // a body of mass m at x0 with v0, pushed by a constant force f
  double h, m, x0, v0, f, damping;
  S2World *world;
  S2BodyId body;
  S2JointId slider;
} Line;

static Line random_line(S2Rng *rng) {
  return (Line){.h = uniform(rng, 1e-3, 0.05),
                .m = uniform(rng, 0.1, 10),
                .x0 = uniform(rng, -1, 1),
                .v0 = uniform(rng, -2, 2),
                .f = uniform(rng, -10, 10)};
}

// On a slider that is made at 0, with the other fields of its definition.
static void line_make(Line *line, S2JointDef def) {
  S2WorldDef settings = rattle_def(line->h);
  must(s2_world_create(&settings, &line->world));
  S2BodyDef body = at(0, 0);
  body.mass = line->m;
  body.velocity = s2_vec2(line->v0, 0);
  body.linear_damping = line->damping;
  line->body = add_box(line->world, body, 1, 1);
  def.type = S2_SLIDER;
  def.a = line->body;
  def.b = no_body;
  def.anchor_a = s2_vec2(0, 0);
  def.axis = s2_vec2(1, 0);
  must(s2_joint_create(line->world, &def, &line->slider));
  must(s2_body_set(line->world, line->body, S2_BODY_X, line->x0));
}

static void line_step(Line *line, double *x1, double *v1) {
  must(s2_body_apply_force(line->world, line->body, s2_vec2(line->f, 0), NULL));
  must(s2_world_step(line->world));
  assert_int_equal(s2_world_stats(line->world)->unsolved_solves, 0);
  *x1 = get(line->world, line->body, S2_BODY_X);
  *v1 = get(line->world, line->body, S2_BODY_VX);
  near(get(line->world, line->body, S2_BODY_Y), 0, 1e-15);
  s2_world_destroy(line->world);
}

static void expect_step(Line *line, double x1, double v1) {
  double x, v;
  line_step(line, &x, &v);
  near(x, x1, 1e-12);
  near(v, v1, 1e-11);
}

// m (u - v0) = h/2 f,  x1 = x0 + h u,  m (v1 - u) = h/2 f
static void held_forces_are_exact(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(1);
  for (int n = 0; n < 200; n++) {
    Line line = random_line(&rng);
    double a = line.f / line.m, h = line.h;
    line_make(&line, line_def());
    expect_step(&line, line.x0 + h * line.v0 + h * h / 2 * a, line.v0 + h * a);
  }
}

// Damping of bodies: D u in both stages, and D v1 in the second where a step would reverse v.
static void damping_acts_on_what_carries(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(2);
  for (int n = 0; n < 200; n++) {
    Line line = random_line(&rng);
    line.damping = pow(10, uniform(&rng, -1, 4));
    double h = line.h, d = h / 2 * line.damping, a = line.f / line.m;
    double u = (line.v0 + h / 2 * a) / (1 + d);
    double v = h * line.damping <= 2 ? u * (1 - d) + h / 2 * a : (u + h / 2 * a) / (1 + d);
    line_make(&line, line_def());
    expect_step(&line, line.x0 + h * u, v);
  }
}

// l = h/2 F((x0 + x1)/2, u) and k = l where (h w)^2 + 2 h d/m <= 4, otherwise l = h/2 F(x1, u) and
// k = h/2 F(x1 + h/2 v1, v1). `most`: bound of the force, |l| and |k| <= h/2 most.
static void spring_step(const Line *line, double k, double d, double rest, double most, double *x1,
                        double *v1) {
  double h = line->h, m = line->m, x = line->x0 - rest, half = h / 2;
  bool resolved = h * h * k / m + 2 * h * d / m <= 4;
  double theta = resolved ? 0.5 : 1, free_u = line->v0 + half * line->f / m;
  // u = free_u + l/m,  l = -h/2 (k (x + theta h u) + d u)
  double u = (free_u - half * k * x / m) / (1 + half * (theta * h * k + d) / m);
  double l = clip(m * (u - free_u), half * most);
  u = free_u + l / m;
  double end = x + h * u, free_v = u + half * line->f / m;
  double v = (free_v - half * k * end / m) / (1 + half * (half * k + d) / m);
  double second = resolved ? l : clip(m * (v - free_v), half * most);
  *x1 = line->x0 + h * u;
  *v1 = free_v + second / m;
}

static void springs_are_trapezoids_or_damp(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(3);
  for (int n = 0; n < 400; n++) {
    Line line = random_line(&rng);
    S2JointDef def = line_def();
    def.stiffness = pow(10, uniform(&rng, 0, 7));
    def.damping.linear = def.damping.angular = pow(10, uniform(&rng, -2, 3));
    def.rest = uniform(&rng, -0.5, 0.5);
    double x, v;
    spring_step(&line, def.stiffness, def.damping.linear, def.rest, INFINITY, &x, &v);
    line_make(&line, def);
    expect_step(&line, x, v);
  }
}

static void servos_are_springs_with_bounds(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(4);
  int bounded = 0;
  for (int n = 0; n < 400; n++) {
    Line line = random_line(&rng);
    double kp = pow(10, uniform(&rng, 0, 5)), kd = pow(10, uniform(&rng, -2, 3));
    double most = pow(10, uniform(&rng, -1, 5)), x, v;
    line_make(&line, line_def());
    S2ActuatorDef servo = s2_actuator_def();
    int index;
    servo.name = "servo";
    servo.kind = S2_ACTUATOR_POSITION;
    servo.joint = line.slider;
    servo.kp = kp;
    servo.kd = kd;
    servo.most = most;
    must(s2_actuator_create(line.world, &servo, &index));
    double goal = uniform(&rng, -1, 1);
    must(s2_actuator_command(line.world, index, goal, NULL));
    spring_step(&line, kp, kd, goal, most, &x, &v);
    double free_x, free_v;
    spring_step(&line, kp, kd, goal, INFINITY, &free_x, &free_v);
    bounded += x != free_x;
    expect_step(&line, x, v);
  }
  assert_in_range(bounded, 50, 350);
}

// |l| <= h/2 F against u, |l + k| <= h F against v1.
static void drive_step(const Line *line, double speed, double most, double *x1, double *v1) {
  double half = line->h / 2, free_u = line->v0 + half * line->f / line->m;
  double l = clip(line->m * (speed - free_u), half * most), u = free_u + l / line->m;
  // with the sum P of both impulses: v1 = u - l/m + h/2 f/m + P/m
  double free_v = u + (half * line->f - l) / line->m;
  double sum = clip(line->m * (speed - free_v), line->h * most);
  *x1 = line->x0 + line->h * u;
  *v1 = free_v + sum / line->m;
}

static void motors_and_friction_have_bounds_in_both_stages(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(5);
  for (int n = 0; n < 400; n++) {
    Line line = random_line(&rng);
    S2JointDef def = line_def();
    double most = pow(10, uniform(&rng, -1, 4)), x, v;
    bool motor = n % 2 == 0, endless = n % 10 == 0;
    def.has_motor = motor;
    def.motor_speed = motor ? uniform(&rng, -2, 2) : 0;
    def.motor_max = endless ? INFINITY : most;
    def.friction = motor ? 0 : most;
    drive_step(&line, def.motor_speed, endless ? INFINITY : most, &x, &v);
    line_make(&line, def);
    expect_step(&line, x, v);
  }
}

// A limit that closes ends a piece. The body stops there, exactly if its path is a parabola. For
// the remaining time of the step it stays there, or the force moves it away.
static void limits_stop_at_their_place(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(6);
  int stopped = 0;
  for (int n = 0; n < 400; n++) {
    Line line = random_line(&rng);
    S2JointDef def = line_def();
    double gap = uniform(&rng, 0, 0.05), h = line.h, m = line.m;
    line.x0 = uniform(&rng, -0.5, 0.5);
    def.has_limits = true;
    def.limit_lo = line.x0 - gap;
    def.limit_hi = 2;
    double a = line.f / m, x = line.x0 + h * (line.v0 + h / 2 * a), v = line.v0 + h * a;
    bool arrives = x < def.limit_lo;
    if (arrives) {
      double root = sqrt(line.v0 * line.v0 - 2 * a * gap);
      double tau = line.v0 < 0 ? 2 * gap / (root - line.v0) : -(line.v0 + root) / a;
      double rest = h - tau;
      x = def.limit_lo + rest * rest / 2 * fmax(a, 0);
      v = rest * fmax(a, 0);
    }
    stopped += arrives;
    if (def.limit_lo > 0) { // at its initial coordinate
      continue;
    }
    line_make(&line, def);
    expect_step(&line, x, v);
  }
  assert_in_range(stopped, 50, 350);
}

// ---- All joints --------------------------------------------------------------------------------

static const S2JointType kinds[] = {S2_HINGE, S2_SLIDER, S2_WELD, S2_DISTANCE, S2_SPRING, S2_WHEEL};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static S2World *random_pair(S2Rng *rng, S2JointType type, int n, S2BodyId body[2]) {
  S2WorldDef settings = rattle_def(1.0 / 120);
  S2World *world;
  must(s2_world_create(&settings, &world));
  for (int i = 0; i < 2; i++) {
    S2BodyDef def = at(uniform(rng, -1, 1), uniform(rng, -1, 1));
    def.angle = uniform(rng, -3, 3);
    def.mass = pow(10, uniform(rng, -1, 1));
    def.velocity = s2_vec2(uniform(rng, -1, 1), uniform(rng, -1, 1));
    def.angular_velocity = uniform(rng, -3, 3);
    def.mask = 0;
    body[i] = add_box(world, def, 1, 0.5);
  }
  S2JointDef def = joint_def(type, body[0], body[1]);
  def.anchor_a = s2_vec2(uniform(rng, -1, 1), uniform(rng, -1, 1));
  def.axis = s2_vec2(cos(n), sin(n));
  bool soft = n % 3 == 1 && (type == S2_WELD || type == S2_HINGE || type == S2_DISTANCE);
  def.compliance.linear = soft ? pow(10, uniform(rng, -6, -2)) : 0;
  if (type == S2_SPRING || type == S2_WHEEL) {
    def.stiffness = pow(10, uniform(rng, 0, 4));
    def.damping.linear = def.damping.angular = uniform(rng, 0, 3);
  }
  def.friction = n % 3 == 2 && (type == S2_HINGE || type == S2_SLIDER) ? 0.5 : 0;
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return world;
}

static void momentum_of(const S2World *world, const S2BodyId body[2], double sum[3]) {
  memset(sum, 0, 3 * sizeof(double));
  for (int i = 0; i < 2; i++) {
    double m = get(world, body[i], S2_BODY_MASS), w = get(world, body[i], S2_BODY_OMEGA);
    double x = get(world, body[i], S2_BODY_X), y = get(world, body[i], S2_BODY_Y);
    double vx = get(world, body[i], S2_BODY_VX), vy = get(world, body[i], S2_BODY_VY);
    sum[0] += get(world, body[i], S2_BODY_INERTIA) * w + m * (x * vy - y * vx);
    sum[1] += m * vx;
    sum[2] += m * vy;
  }
}

static void free_pairs_keep_momenta(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(7);
  for (int n = 0; n < 120; n++) {
    S2BodyId body[2];
    S2World *world = random_pair(&rng, kinds[n % KINDS], n / KINDS, body);
    double before[3], after[3];
    momentum_of(world, body, before);
    steps(world, 120);
    momentum_of(world, body, after);
    for (int c = 0; c < 3; c++) {
      near(after[c], before[c], 1e-11);
    }
    assert_int_equal(s2_world_stats(world)->unsolved_solves, 0);
    assert_true(s2_world_residuals(world).joint_error <= 1e-12);
    s2_world_destroy(world);
  }
}

// Poses that the program has set are projected first: the projection gives no speed, and the
// gravity here is 0.
static void what_is_placed_is_projected(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(8);
  for (int n = 0; n < 100; n++) {
    S2BodyId body[2];
    S2World *world = random_pair(&rng, kinds[n % 4], 0, body);
    for (int i = 0; i < 2; i++) {
      must(s2_body_set(world, body[i], S2_BODY_VX, 0));
      must(s2_body_set(world, body[i], S2_BODY_VY, 0));
      must(s2_body_set(world, body[i], S2_BODY_OMEGA, 0));
    }
    must(s2_body_set(world, body[1], S2_BODY_X, get(world, body[1], S2_BODY_X) + 0.05));
    must(s2_world_step(world));
    assert_true(s2_world_residuals(world).joint_error <= 1e-11);
    near(s2_world_energy(world).kinetic, 0, 1e-20);
    s2_world_destroy(world);
  }
}

// A parallelogram of three cranks has one redundant row; its energy is of second order.
static double cranks_energy(double dt) {
  S2WorldDef settings = rattle_def(dt);
  settings.gravity = s2_vec2(0, -9.81);
  S2World *world;
  must(s2_world_create(&settings, &world));
  S2BodyDef beam = at(1, 1);
  beam.mass = 1;
  beam.mask = 0;
  S2BodyId top = add_box(world, beam, 2, 0.1);
  for (int i = 0; i < 3; i++) {
    S2BodyDef crank = at(i, 0.5);
    crank.mass = 0.5;
    crank.mask = 0;
    S2BodyId rod = add_box(world, crank, 0.1, 1);
    S2JointDef foot = hinge_def(rod, no_body, i, 0), head = hinge_def(rod, top, i, 1);
    S2JointId joint;
    must(s2_joint_create(world, &foot, &joint));
    must(s2_joint_create(world, &head, &joint));
    must(s2_body_set(world, rod, S2_BODY_OMEGA, -1));
    must(s2_body_set(world, rod, S2_BODY_VX, 0.5));
  }
  must(s2_body_set(world, top, S2_BODY_VX, 1));
  double before = s2_world_energy(world).total, worst = 0;
  for (int i = 0; i < lround(2 / dt); i++) {
    must(s2_world_step(world));
    worst = fmax(worst, fabs(s2_world_energy(world).total - before));
  }
  assert_int_equal(s2_world_stats(world)->unsolved_solves, 0);
  assert_true(s2_world_residuals(world).joint_error <= 1e-11);
  s2_world_destroy(world);
  return worst;
}

static void redundant_rows_are_left_out(void **state) {
  (void)state;
  double coarse = cranks_energy(1.0 / 60), fine = cranks_energy(1.0 / 120);
  assert_true(coarse < 0.1); // J, of 25
  assert_true(log2(coarse / fine) > 1.8);
}

// ---- Settings ----------------------------------------------------------------------------------

static void refused(S2WorldDef def, const char *what) {
  S2World *world;
  S2Status status = s2_world_create(&def, &world);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, what));
}

static void other_flows_are_refused(void **state) {
  (void)state;
  S2WorldDef def = rattle_def(0.01);
  def.stepping = S2_BISECT;
  refused(def, "flow rattle: cannot be combined with stepping bisect");
  def = rattle_def(0.01);
  def.beta = 0.5;
  refused(def, "flow rattle: cannot be combined with alpha or beta below 1");
  def = rattle_def(0.01);
  def.stabilization = S2_POST;
  refused(def, "flow rattle: cannot be combined with a stabilization");
  def = rattle_def(0.01);
  def.solver = S2_SOLVER_LEMKE;
  refused(def, "flow rattle: cannot be combined with a solver");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(held_forces_are_exact),
      cmocka_unit_test(damping_acts_on_what_carries),
      cmocka_unit_test(springs_are_trapezoids_or_damp),
      cmocka_unit_test(servos_are_springs_with_bounds),
      cmocka_unit_test(motors_and_friction_have_bounds_in_both_stages),
      cmocka_unit_test(limits_stop_at_their_place),
      cmocka_unit_test(free_pairs_keep_momenta),
      cmocka_unit_test(what_is_placed_is_projected),
      cmocka_unit_test(redundant_rows_are_left_out),
      cmocka_unit_test(other_flows_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
