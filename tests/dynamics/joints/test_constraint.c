// Constraints given by callbacks, and dry friction against the ground.
#include "dynamics/joints/joint.h"
#include "worlds.h"

typedef struct Program { // the behaviour of the callback below
  int what, calls;
  bool fails, changes, is_nan;
  S2BodyId body;
  S2Code change;
} Program;

enum { PARABOLA, DISTANCE, ROLLING, FLOOR, MOVING };

static bool constraint(void *user, S2World *world, S2ConstraintCall *call) {
  Program *program = user;
  const double *a = call->q[0], *b = call->q[1];
  program->calls += 1;
  if (program->changes) {
    program->change = s2_world_step(world).code;
    S2Code set = s2_body_set(world, program->body, S2_BODY_X, 7).code;
    program->change = set == program->change ? set : S2_OK;
  }
  if (call->value != NULL) {
    const double values[] = {[PARABOLA] = a[2] - a[1] * a[1] / 2,
                             [DISTANCE] = hypot(a[1] - b[1], a[2] - b[2]) - 2,
                             [ROLLING] = 0,
                             [FLOOR] = a[2] - 1,
                             [MOVING] = a[1] - call->t * call->t};
    call->value[0] = program->is_nan ? NAN : values[program->what];
    if (program->what == MOVING) {
      call->value[1] = a[2] - 3 * call->t;
    }
  }
  if (call->jacobian != NULL && program->what == ROLLING) { // a disc of radius 0.5 on the x axis
    call->jacobian[0][0] = 0.5;
    call->jacobian[0][1] = 1;
  }
  if (call->jacobian != NULL && program->what == PARABOLA) {
    call->jacobian[0][1] = -a[1];
    call->jacobian[0][2] = 1;
  }
  return !program->fails;
}

static S2World *world_with(double gravity, double dt, Program *program) {
  S2World *world = world_new(gravity, dt);
  s2_world_set_callbacks(world, &(S2Callbacks){.user = program, .constraint = constraint});
  return world;
}

static S2JointDef definition(S2BodyId a, int rows) {
  S2JointDef def = s2_joint_def(S2_CONSTRAINT);
  def.a = a;
  def.rows = rows;
  def.name = "own";
  return def;
}

static S2JointId make(S2World *world, S2JointDef def) {
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

static double error_of(const S2World *world, S2JointId joint) {
  S2JointInfo info;
  must(s2_joint_info(world, joint, &info));
  return info.error;
}

// The motion is the same with a given Jacobian and with one from differences.
static void a_bead_stays_on_its_wire(void **state) {
  (void)state;
  double x[2];
  for (int given = 0; given < 2; given++) {
    Program program = {.what = PARABOLA};
    S2World *world = world_with(-10, 0.005, &program);
    S2JointDef def = definition(add_disc(world, at(1, 0.5), 0.1), 1);
    def.has_jacobian = given;
    S2JointId wire = make(world, def);
    for (int i = 0; i < 400; i++) {
      steps_solved(world, 1, 1e-9, 0);
      x[given] = get(world, def.a, S2_BODY_X);
      near(get(world, def.a, S2_BODY_Y), x[given] * x[given] / 2, 1e-9);
      assert_true(error_of(world, wire) < 1e-9);
    }
    s2_world_destroy(world);
  }
  near(x[0], x[1], 1e-8);
}

// Two bodies and a Jacobian from differences behave like the built-in distance joint.
static void a_distance_by_differences_is_a_distance(void **state) {
  (void)state;
  double x[2];
  for (int own = 0; own < 2; own++) {
    Program program = {.what = DISTANCE};
    S2World *world = world_with(0, 0.01, &program);
    S2BodyDef moving = at(0, 0);
    moving.velocity = s2_vec2(0.3, 1);
    S2BodyId a = add_disc(world, moving, 0.3), b = add_disc(world, at(2, 0), 0.6);
    S2JointDef def = own ? definition(a, 1) : s2_joint_def(S2_DISTANCE);
    def.a = a;
    def.b = b;
    make(world, def);
    steps_solved(world, 200, 1e-9, 0);
    x[own] = get(world, b, S2_BODY_X);
    s2_world_destroy(world);
  }
  near(x[0], x[1], 1e-6);
}

static void rolling_loses_a_third_of_the_pull(void **state) {
  (void)state;
  Program program = {.what = ROLLING};
  S2World *world = world_with(0, 0.01, &program);
  S2JointDef def = definition(add_disc(world, at(0, 0.5), 0.5), 1);
  def.velocity_only = def.has_jacobian = true;
  S2JointId rolling = make(world, def);
  double m = get(world, def.a, S2_BODY_MASS);
  for (int i = 0; i < 100; i++) {
    must(s2_body_apply_force(world, def.a, s2_vec2(3 * m, 0), NULL));
    steps_solved(world, 1, 1e-9, 0);
  }
  near(get(world, def.a, S2_BODY_VX), 2, 1e-9); // a disc: 2/3 of the pull
  near(get(world, def.a, S2_BODY_OMEGA), -4, 1e-9);
  near(error_of(world, rolling), 0, 0);
  s2_world_destroy(world);
}

static void a_unilateral_one_pushes_only(void **state) {
  (void)state;
  for (int soft = 0; soft < 2; soft++) {
    Program program = {.what = FLOOR};
    S2World *world = world_with(-10, 0.01, &program);
    S2JointDef def = definition(add_disc(world, at(0, 2), 0.5), 1);
    def.unilateral = true;
    def.compliance.linear = def.compliance.angular = soft ? 1e-4 : 0;
    S2JointId floor = make(world, def);
    double m = get(world, def.a, S2_BODY_MASS), force;
    steps_solved(world, 500, 1e-9, 0);
    near(get(world, def.a, S2_BODY_Y), soft ? 1 - 10 * m * 1e-4 : 1, 1e-7);
    must(s2_joint_get(world, floor, S2_JOINT_FORCE, &force));
    near(force, 10 * m, 1e-3 * m);
    must(s2_body_apply_impulse(world, def.a, s2_vec2(0, 5 * m), NULL));
    steps_solved(world, 10, 1e-9, 0); // nothing holds it
    near(get(world, def.a, S2_BODY_VY), 4, soft ? 0.1 : 1e-9);
    s2_world_destroy(world);
  }
}

static void goals_that_move_are_met_exactly(void **state) {
  (void)state;
  Program program = {.what = MOVING};
  S2World *world = world_with(-10, 0.01, &program);
  S2JointDef def = definition(add_disc(world, at(0, 0), 0.5), 2);
  make(world, def);
  steps_solved(world, 100, 1e-9, 0);
  near(get(world, def.a, S2_BODY_X), 1, 1e-9);
  near(get(world, def.a, S2_BODY_Y), 3, 1e-9);
  s2_world_destroy(world);
}

// A step that a constraint makes fail leaves no trace; the world is busy during the call.
static void failures_undo_the_step(void **state) {
  (void)state;
  Program program = {.what = PARABOLA};
  S2World *world = world_with(-10, 0.01, &program);
  S2JointDef def = definition(add_disc(world, at(1, 0.5), 0.1), 1);
  make(world, def);
  program.body = def.a;
  steps_solved(world, 3, 1e-9, 0);
  uint64_t before = s2_world_hash(world);
  program.fails = true;
  assert_int_equal(s2_world_step(world).code, S2_ABORTED);
  program.fails = false;
  program.is_nan = true;
  S2Status status = s2_world_step(world);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "constraint 'own': its value is nan in row 1"));
  S2Problem *problem;
  assert_int_equal(s2_world_problem(world, &problem, NULL, 0).code, S2_INVALID);
  assert_null(problem);
  program.is_nan = false;
  assert_true(s2_world_hash(world) == before);
  program.changes = true;
  must(s2_world_step(world));
  assert_int_equal(program.change, S2_BUSY);
  program.changes = false;
  int calls = program.calls;
  assert_true(isfinite(s2_world_energy(world).total));
  assert_int_equal(program.calls, calls); // outside a step no callback is called
  s2_world_destroy(world);
}

// A clone gives the bits of the original once it has the callbacks; without them the joint is
// inactive.
static void clones_go_on_with_the_same_bits(void **state) {
  (void)state;
  Program program = {.what = PARABOLA};
  S2World *world = world_with(-10, 0.01, &program), *clone, *free_one;
  S2JointDef def = definition(add_disc(world, at(1, 0.5), 0.1), 1);
  make(world, def);
  steps_solved(world, 10, 1e-9, 0);
  must(s2_world_clone(world, &clone));
  must(s2_world_clone(world, &free_one));
  s2_world_set_callbacks(clone, &(S2Callbacks){.user = &program, .constraint = constraint});
  double vx = get(world, def.a, S2_BODY_VX);
  steps_solved(world, 20, 1e-9, 0);
  steps_solved(clone, 20, 1e-9, 0);
  steps_solved(free_one, 20, 1e-9, 0);
  assert_true(s2_world_hash(world) == s2_world_hash(clone));
  near(get(free_one, def.a, S2_BODY_VX), vx, 0); // it flies
  s2_world_destroy(world);
  s2_world_destroy(clone);
  s2_world_destroy(free_one);
}

static void nonsense_is_refused(void **state) {
  (void)state;
  Program program = {.what = PARABOLA};
  S2World *world = world_with(-10, 0.01, &program);
  S2BodyId body = add_disc(world, at(1, 0.5), 0.1);
  S2JointId id;
  S2JointDef wrong[6];
  for (int i = 0; i < 6; i++) {
    wrong[i] = definition(body, i == 0 ? 0 : i == 1 ? 4 : 1);
  }
  wrong[2].unilateral = true;
  wrong[2].rows = 2;
  wrong[3].velocity_only = true; // without a jacobian
  wrong[4].velocity_only = wrong[4].has_jacobian = true;
  wrong[4].compliance.linear = wrong[4].compliance.angular = 1;
  wrong[5] = s2_joint_def(S2_GROUND_FRICTION);
  wrong[5].a = body;
  wrong[5].max_force = -1;
  for (int i = 0; i < 6; i++) {
    assert_int_equal(s2_joint_create(world, &wrong[i], &id).code, S2_INVALID);
  }
  S2JointDef good = definition(body, 1);
  program.is_nan = true;
  assert_int_equal(s2_joint_create(world, &good, &id).code, S2_INVALID);
  s2_world_set_callbacks(world, NULL);
  assert_int_equal(s2_joint_create(world, &good, &id).code, S2_INVALID);
  assert_int_equal(s2_world_joints(world, NULL, 0), 0);
  s2_world_destroy(world);
}

// First and second derivatives by differences against the exact ones of a distance.
static void differences_are_derivatives(void **state) {
  (void)state;
  Program program = {.what = DISTANCE};
  S2World *world = world_with(0, 0.01, &program);
  S2BodyId a = add_disc(world, at(0.3, -0.2), 0.3), b = add_disc(world, at(2, 1), 0.6);
  S2JointDef own = definition(a, 1), built_in = s2_joint_def(S2_DISTANCE);
  built_in.a = a;
  own.b = built_in.b = b;
  make(world, own);
  make(world, built_in);
  S2JointRow rows[2][S2_JOINT_EQUATIONS];
  S2JointHessian hessians[2][S2_JOINT_EQUATIONS];
  s2_constraints_begin(world);
  for (int i = 0; i < 2; i++) {
    const S2Joint *joint = &world->joints.at[i];
    S2JointAt here = {world, joint, world->q.at, 0, NULL};
    assert_int_equal(s2_joint_rows(&here, rows[i]), 1);
    s2_joint_hessians(&here, hessians[i]);
  }
  must(s2_constraints_end(world));
  for (int i = 0; i < 3; i++) {
    near(rows[0][0].ja[i], rows[1][0].ja[i], 1e-9);
    near(rows[0][0].jb[i], rows[1][0].jb[i], 1e-9);
  }
  for (int i = 0; i < 36; i++) {
    near(hessians[0][0].at[i / 6][i % 6], hessians[1][0].at[i / 6][i % 6], 1e-6);
  }
  s2_world_destroy(world);
}

// ---- Ground friction --------------------------------------------------------------------------

static S2JointId ground(S2World *world, S2BodyId body, double force, double torque) {
  S2JointDef def = s2_joint_def(S2_GROUND_FRICTION);
  def.a = body;
  def.max_force = force;
  def.max_torque = torque;
  return make(world, def);
}

// In any direction: a straight line of v^2/(2 a), and then rest. By projection the distance is
// shorter than that by at most v h/2, as by implicit Euler. By the two stages it is exact until the
// step in which the puck stops from the speed r < a h: that is h (r - a h/2) in place of r^2/(2 a),
// but not below 0, so at most a h^2/8 shorter. The turn stops at the end of a step, r = a h, and is
// exact.
static void pucks_stop_in_straight_lines(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(5);
  for (int trial = 0; trial < 40; trial++) {
    double h = 0.01, angle = 6.28 * s2_rng_uniform(&rng), v = 1 + 3 * s2_rng_uniform(&rng);
    S2World *world = world_new(0, h);
    S2BodyDef def = at(0, 0);
    def.velocity = s2_vec2(v * cos(angle), v * sin(angle));
    def.angular_velocity = 2;
    S2BodyId puck = add_disc(world, def, 0.3);
    double m = get(world, puck, S2_BODY_MASS), i = get(world, puck, S2_BODY_INERTIA);
    ground(world, puck, 2 * m, 1 * i);
    steps_solved(world, 300, 1e-9, 0);
    double x = get(world, puck, S2_BODY_X), y = get(world, puck, S2_BODY_Y);
    near(x * sin(angle) - y * cos(angle), 0, 1e-9);
    bool stages = s2_world_rattles(s2_world_settings(world));
    double way = x * cos(angle) + y * sin(angle), exact = v * v / (2 * 2);
    double falls_short = stages ? 2 * h * h / 8 : v * h / 2;
    assert_true(way <= exact + 1e-12 && way >= exact - falls_short * 1.01);
    near(get(world, puck, S2_BODY_ANGLE), 2 * 2 / (2 * 1.0) - (stages ? 0 : 2 * h / 2),
         stages ? 1e-12 : 1e-6);
    double v1[3];
    must(s2_body_v(world, puck, v1));
    near(fabs(v1[0]) + fabs(v1[1]) + fabs(v1[2]), 0, 1e-9);
    s2_world_destroy(world);
  }
}

// Up to the bound nothing moves; beyond it the remainder accelerates: the bound is a disc.
static void the_bound_is_a_disc(void **state) {
  (void)state;
  for (int i = 0; i < 32; i++) {
    double angle = 0.2 * i;
    for (int slides = 0; slides < 2; slides++) {
      S2World *world = world_new(0, 0.01);
      S2BodyId puck = add_disc(world, at(0, 0), 0.3);
      double force = slides ? 5.1 : 4.9;
      S2JointId friction = ground(world, puck, 5, 0);
      for (int step = 0; step < 20; step++) {
        S2Vec2 push = {force * cos(angle), force * sin(angle)};
        must(s2_body_apply_force(world, puck, push, NULL));
        steps_solved(world, 1, 1e-9, 0);
      }
      double v[3], held, m = get(world, puck, S2_BODY_MASS);
      must(s2_body_v(world, puck, v));
      must(s2_joint_get(world, friction, S2_JOINT_FORCE, &held));
      near(hypot(v[1], v[2]), slides ? 0.1 * 0.2 / m : 0, 1e-9);
      near(held, slides ? 5 : 4.9, 1e-7);
      s2_world_destroy(world);
    }
  }
}

// A puck pushed by another body obeys the disc from the first touch on.
static void a_pushed_puck_keeps_to_the_disc(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyDef pusher = at(-0.8, 0.13);
  pusher.type = S2_KINEMATIC;
  pusher.velocity = s2_vec2(0.2, 0);
  S2BodyId puck = add_disc(world, at(0, 0), 0.3);
  add_disc(world, pusher, 0.3);
  S2JointId friction = ground(world, puck, 5, 0.1);
  double worst = 0, held;
  for (int i = 0; i < 400; i++) {
    steps_solved(world, 1, 1e-9, 1e-9);
    must(s2_joint_get(world, friction, S2_JOINT_FORCE, &held));
    worst = fmax(worst, held);
  }
  assert_true(fabs(get(world, puck, S2_BODY_Y)) > 0.05); // it was displaced
  near(worst, 5, 1e-4);
  s2_world_destroy(world);
}

// J: the largest difference of the energy from its start in the first five seconds and in the next.
static void constraint_sway(int kind, int rate, double sway[2]) {
  bool pair = kind == 2;
  Program program = {.what = pair ? DISTANCE : PARABOLA};
  S2WorldDef def = fixed_def();
  def.dt = 1.0 / rate;
  def.flow = S2_FLOW_RATTLE;
  def.gravity = s2_vec2(0, pair ? 0 : -9.81);
  S2World *world;
  must(s2_world_create(&def, &world));
  s2_world_set_callbacks(world, &(S2Callbacks){.user = &program, .constraint = constraint});
  S2BodyDef first = at(pair ? 0 : 1, pair ? 0 : 0.5);
  first.velocity = s2_vec2(0, pair ? 2 : 0);
  S2JointDef own = definition(add_disc(world, first, 0.1), 1);
  own.b = pair ? add_disc(world, at(2, 0), 0.2) : no_body;
  own.has_jacobian = kind == 1;
  make(world, own);
  double before = s2_world_energy(world).total, p[3], now[3];
  s2_world_momentum(world, p);
  sway[0] = sway[1] = 0;
  for (int i = 0; i < 10 * rate; i++) {
    must(s2_world_step(world));
    double *worst = &sway[i / (5 * rate)];
    *worst = fmax(*worst, fabs(s2_world_energy(world).total - before));
    s2_world_momentum(world, now);
    for (int c = 0; c < 3 && pair; c++) { // the differences are accurate to 1e-10
      near(now[c], p[c], 1e-9);
    }
  }
  near(s2_world_residuals(world).joint_error, 0, 1e-11);
  s2_world_destroy(world);
}

// Rows that only a program evaluates: by two stages the energy oscillates with h^2 and does not
// drift, on a curved wire and for a free pair, whose momenta are constant.
static void energy_sways_and_does_not_drift(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    double coarse[2], fine[2];
    constraint_sway(kind, 240, coarse);
    constraint_sway(kind, 480, fine);
    if (getenv("S2_SHOW") != NULL) {
      printf("%d: %.3e %.3e J, %.3e %.3e J\n", kind, coarse[0], coarse[1], fine[0], fine[1]);
    }
    assert_true(coarse[1] < 1.05 * coarse[0] + 1e-9);
    near(fine[0], coarse[0] / 4, 0.1 * coarse[0] / 4 + 1e-9);
  }
}

// The sum of the heights of all its bodies.
static bool sum_of_heights(void *user, S2World *world, S2ConstraintCall *call) {
  (void)user;
  (void)world;
  for (int i = 0; i < call->bodies && call->value != NULL; i++) {
    call->value[0] += call->q[i][2];
  }
  for (int i = 0; i < call->bodies && call->jacobian != NULL; i++) {
    call->jacobian[0][3 * i + 2] = 1;
  }
  return true;
}

// m_i a_i = -m_i g + T and sum a_i = 0: T = n g / sum 1/m_i.
static void three_and_four_bodies_share_a_row(void **state) {
  (void)state;
  for (int n = 3; n <= S2_JOINT_BODIES; n++) {
    double dt = 1e-3, g = 10, light = 0, m[S2_JOINT_BODIES];
    S2World *world = world_new(-g, dt);
    s2_world_set_callbacks(world, &(S2Callbacks){.constraint = sum_of_heights});
    S2BodyId body[S2_JOINT_BODIES];
    for (int i = 0; i < n; i++) {
      S2BodyInfo ball;
      body[i] = add_disc(world, at(2 * i, 0), 0.1 * (i + 1));
      must(s2_body_info(world, body[i], &ball));
      m[i] = ball.mass;
      light += 1 / m[i];
    }
    S2JointDef def = definition(body[0], 1);
    def.b = body[1];
    def.more[0] = body[2];
    def.more[1] = n > 3 ? body[3] : (S2BodyId){0, 0};
    def.has_jacobian = n > 3;
    S2JointId joint = make(world, def);
    S2JointInfo info;
    for (int i = 0; i < 100; i++) {
      must(s2_world_step(world));
    }
    must(s2_joint_info(world, joint, &info));
    assert_int_equal(info.more[0].index, body[2].index);
    assert_int_equal(info.more[1].index, def.more[1].index);
    near(info.force.y, n * g / light, 1e-8);
    near(info.error, 0, 1e-12);
    for (int i = 0; i < n; i++) {
      double v[3];
      must(s2_body_v(world, body[i], v));
      near(v[2], 0.1 * (n * g / light / m[i] - g), 1e-9);
    }
    // It is destroyed with any of its bodies; the bodies before it are given, and all are
    // different.
    def.more[1] = def.a;
    assert_int_equal(s2_joint_create(world, &def, &joint).code, S2_INVALID);
    must(s2_body_destroy(world, body[n - 1]));
    assert_int_equal(s2_world_joints(world, NULL, 0), 0);
    must(s2_world_step(world));
    s2_world_destroy(world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(energy_sways_and_does_not_drift),
      cmocka_unit_test(a_bead_stays_on_its_wire),
      cmocka_unit_test(a_distance_by_differences_is_a_distance),
      cmocka_unit_test(rolling_loses_a_third_of_the_pull),
      cmocka_unit_test(a_unilateral_one_pushes_only),
      cmocka_unit_test(goals_that_move_are_met_exactly),
      cmocka_unit_test(failures_undo_the_step),
      cmocka_unit_test(clones_go_on_with_the_same_bits),
      cmocka_unit_test(nonsense_is_refused),
      cmocka_unit_test(differences_are_derivatives),
      cmocka_unit_test(three_and_four_bodies_share_a_row),
      cmocka_unit_test(pucks_stop_in_straight_lines),
      cmocka_unit_test(the_bound_is_a_disc),
      cmocka_unit_test(a_pushed_puck_keeps_to_the_disc),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
