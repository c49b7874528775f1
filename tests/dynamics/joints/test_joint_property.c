// Every joint type with all its options at once: limits, motor, dry friction, compliance and
// damping, between bodies of all masses. Steps are solved, numbers stay finite, momentum is
// conserved.
#include "worlds.h"

#include "mcp/problem/conflict.h"

enum { LIMITS = 1, MOTOR = 2, FRICTION = 4, SOFT = 8, DAMPED = 16, ALL = 32 };

static double uniform(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static bool coin(S2Rng *rng) {
  return s2_rng_integer(rng, 0, 1) == 1;
}

static S2JointId make(S2World *world, S2JointDef def) {
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

// The options of a type.
static unsigned parts_of(S2JointType type) {
  static const unsigned parts[S2_JOINT_TYPE_COUNT] = {
      [S2_HINGE] = ALL - 1,         [S2_SLIDER] = ALL - 1,
      [S2_WELD] = SOFT | DAMPED,    [S2_DISTANCE] = SOFT | DAMPED,
      [S2_GEAR] = SOFT | DAMPED,    [S2_LOCK] = SOFT | DAMPED,
      [S2_MOUSE] = DAMPED,          [S2_SPRING] = LIMITS | MOTOR | FRICTION | DAMPED,
      [S2_CONSTRAINT] = ALL - 1,    [S2_WHEEL] = LIMITS | MOTOR | FRICTION | DAMPED,
      [S2_GROUND_FRICTION] = MOTOR, [S2_PULLEY] = SOFT | DAMPED,
  };
  return parts[type];
}

// May it have a spring along its coordinate in place of compliance?
static bool either(S2JointType type) {
  return type == S2_HINGE || type == S2_SLIDER;
}

static bool possible(S2JointType type, unsigned parts) {
  bool idle = (parts_of(type) & SOFT) != 0 && (parts & (SOFT | DAMPED)) == DAMPED && !either(type);
  bool rows = type == S2_CONSTRAINT && (parts & (MOTOR | FRICTION)) != 0;
  return (parts & ~parts_of(type)) == 0 && !idle && !rows;
}

static double any_size(S2Rng *rng, double lo, double hi) {
  return exp(uniform(rng, log(lo), log(hi)));
}

static void add_parts(S2Rng *rng, unsigned parts, S2JointDef *def) {
  double middle = def->type == S2_SPRING
                      ? hypot(def->anchor_a.x - def->anchor_b.x, def->anchor_a.y - def->anchor_b.y)
                      : 0;
  def->has_limits = (parts & LIMITS) != 0;
  def->limit_lo = middle - (coin(rng) ? uniform(rng, 0, 0.5) : INFINITY);
  def->limit_hi = middle + (coin(rng) ? uniform(rng, 0, 0.5) : INFINITY);
  if (s2_rng_integer(rng, 0, 9) == 0) {
    def->limit_lo = def->limit_hi = middle;
  }
  def->has_motor = (parts & MOTOR) != 0;
  def->motor_speed = uniform(rng, -5, 5);
  // A motor without a bound on its force is a rigid row, which limits or a locked body may
  // contradict.
  bool free = (parts & LIMITS) == 0;
  def->motor_max = free && coin(rng) ? INFINITY : any_size(rng, 1e-2, 1e3);
  def->friction = (parts & FRICTION) != 0 ? any_size(rng, 1e-2, 1e3) : 0;
  if (either(def->type) && (parts & SOFT) != 0) {
    def->stiffness = NAN;
  }
  if ((parts & SOFT) != 0) {
    def->compliance.linear = any_size(rng, 1e-9, 1);
    def->compliance.angular = coin(rng) ? any_size(rng, 1e-9, 1) : 0;
  }
  if ((parts & DAMPED) != 0) {
    def->damping.linear = any_size(rng, 1e-3, 1e2);
    def->damping.angular = (parts & SOFT) != 0 ? any_size(rng, 1e-3, 1e2)
                           : either(def->type) ? def->damping.linear
                                               : 0;
  }
}

static S2BodyId random_body(S2World *world, S2Rng *rng, double x) {
  S2BodyDef def = at(x, uniform(rng, -1, 1));
  def.angle = uniform(rng, -4, 4);
  def.velocity = s2_vec2(uniform(rng, -2, 2), uniform(rng, -2, 2));
  def.angular_velocity = uniform(rng, -3, 3);
  def.mass = any_size(rng, 0.1, 100);
  return add_box(world, def, uniform(rng, 0.3, 2), uniform(rng, 0.3, 2));
}

static S2JointDef plain_def(S2Rng *rng, S2JointType type, S2BodyId a, S2BodyId b) {
  S2JointDef def = joint_def(type, a, b);
  bool one = type == S2_LOCK || type == S2_MOUSE || type == S2_GROUND_FRICTION;
  def.b = one ? no_body : b;
  def.anchor_a = s2_vec2(uniform(rng, -2, 2), uniform(rng, -2, 2));
  def.anchor_b = s2_vec2(uniform(rng, 2, 4), uniform(rng, -2, 2));
  def.axis = s2_vec2(uniform(rng, -1, 1), uniform(rng, 1, 2));
  def.stiffness = any_size(rng, 1e-1, 1e5);
  def.target = s2_vec2(uniform(rng, -2, 2), uniform(rng, -2, 2));
  def.lock_angle = type == S2_LOCK;
  def.lock_x = type == S2_LOCK && coin(rng);
  def.lock_y = type == S2_LOCK && coin(rng);
  def.velocity = type == S2_LOCK ? s2_vec2(uniform(rng, -1, 1), 0) : s2_vec2(0, 0);
  def.velocity.x = def.lock_x ? def.velocity.x : 0;
  def.rows = type == S2_CONSTRAINT ? 1 : 0;
  def.max_force = any_size(rng, 1e-2, 1e2);
  def.max_torque = any_size(rng, 1e-2, 1e2);
  if (type == S2_PULLEY) {
    def.ground_a = s2_vec2(uniform(rng, -2, 2), uniform(rng, 3, 5));
    def.ground_b = s2_vec2(uniform(rng, 2, 4), uniform(rng, 3, 5));
    def.ratio = any_size(rng, 0.3, 3);
  }
  return def;
}

// The distance of two centres, or of one from the origin, held at its initial value.
typedef struct Program {
  double length;
} Program;

static bool distance(void *user, S2World *world, S2ConstraintCall *call) {
  (void)world;
  Program *program = user;
  const double *a = call->q[0], *b = call->q[1];
  double length = hypot(a[1] - b[1], a[2] - b[2]);
  program->length = program->length > 0 ? program->length : length;
  if (call->value != NULL) {
    call->value[0] = length - program->length;
  }
  if (call->jacobian != NULL) {
    for (int c = 1; c < 3; c++) {
      call->jacobian[0][c] = (a[c] - b[c]) / length;
      call->jacobian[0][3 + c] = -call->jacobian[0][c];
    }
  }
  return true;
}

// A floating gear couples two lengths between the bodies, otherwise a pinion and a rack.
static void add_joint(S2World *world, S2Rng *rng, S2JointType type, unsigned parts, S2BodyId a,
                      S2BodyId b, bool floats) {
  if (type != S2_GEAR) {
    S2JointDef def = plain_def(rng, type, a, b);
    if (type == S2_CONSTRAINT) {
      def.unilateral = (parts & LIMITS) != 0;
      def.has_jacobian = true;
      parts &= ~(unsigned)LIMITS;
    } else if (type == S2_GROUND_FRICTION) {
      def.max_torque = (parts & MOTOR) != 0 ? def.max_torque : 0;
      parts = 0;
    } else if (type == S2_LOCK) { // a soft row has no bound
      bool soft = (parts & SOFT) != 0;
      def.max_force = soft || coin(rng) ? INFINITY : def.max_force;
      def.max_torque = soft || coin(rng) ? INFINITY : def.max_torque;
    }
    add_parts(rng, parts, &def);
    if (def.unilateral) { // a single value of it
      def.compliance.angular = def.compliance.linear;
    }
    make(world, def);
    return;
  }
  S2JointDef gear = s2_joint_def(S2_GEAR);
  if (floats) { // the gear couples two lengths between them
    gear.joint_a = make(world, plain_def(rng, S2_SPRING, a, b));
    gear.joint_b = make(world, plain_def(rng, S2_SPRING, a, b));
  } else {
    gear.joint_a = make(world, plain_def(rng, S2_HINGE, a, no_body));
    gear.joint_b = make(world, plain_def(rng, S2_SLIDER, b, no_body));
  }
  gear.ratio = uniform(rng, 0.3, 3);
  add_parts(rng, parts, &gear);
  make(world, gear);
}

// Were the rows of this step proved to contradict each other?
static bool proved_impossible(S2World *before) {
  S2Problem *problem;
  S2BodyId nodes[4];
  must(s2_world_problem(before, &problem, nodes, 4));
  S2Arena arena;
  s2_arena_init(&arena);
  bool proved = s2_mcp_conflict(problem, NULL, &arena);
  s2_arena_free(&arena);
  s2_problem_free(problem);
  return proved;
}

static S2World *new_world(S2Rng *rng, double gravity, Program *program) {
  S2World *world = world_new(gravity, 1 / uniform(rng, 60, 240));
  s2_world_set_callbacks(world, &(S2Callbacks){.user = program, .constraint = distance});
  return world;
}

static const int TRIALS = S2_FEWER(8, 1);

static void every_combination_is_solved(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(11);
  int scenes = 0, impossible = 0;
  for (int at = 0; at < S2_JOINT_TYPE_COUNT * ALL * TRIALS; at++) {
    S2JointType type = (S2JointType)(at / (ALL * TRIALS));
    unsigned parts = (unsigned)(at / TRIALS % ALL);
    if (!possible(type, parts)) {
      continue;
    }
    Program program = {0};
    S2World *world = new_world(&rng, coin(&rng) ? -10 : 0, &program), *before;
    S2BodyId a = random_body(world, &rng, 0), b;
    if (coin(&rng) && type != S2_GEAR) {
      b = add_box(world, fixed_at(3, 0), 1, 1);
    } else {
      b = random_body(world, &rng, 3);
    }
    add_joint(world, &rng, type, parts, a, b, coin(&rng));
    for (int k = 0; k < 120; k++) {
      must(s2_world_clone(world, &before));
      s2_world_set_callbacks(before, &(S2Callbacks){.user = &program, .constraint = distance});
      S2Status status = s2_world_step(world);
      double residual = s2_world_residuals(world).solve.scaled, q[3], v[3];
      must(s2_body_q(world, a, q));
      must(s2_body_v(world, a, v));
      bool finite = isfinite(q[0] + q[1] + q[2] + v[0] + v[1] + v[2]);
      bool proved = residual > 1e-9 && proved_impossible(before);
      impossible += proved;
      if (status.code != S2_OK || !finite || (!(residual <= 1e-9) && !proved)) {
        fail_msg("%s with parts %u, trial %d, step %d: residual %.2e %s", s2_joint_type_name(type),
                 parts, at % TRIALS, k, residual, status.message);
      }
      s2_world_destroy(before);
    }
    scenes += 1;
    s2_world_destroy(world);
  }
  assert_true(scenes > 90 * TRIALS);
  assert_int_equal(impossible, 0); // no scene has contradicting rows
}

// The size of the terms, so that a sum near zero is compared with their rounding.
static double momentum_scale(const S2World *world, const S2BodyId *body, double *linear) {
  double angular = 0;
  *linear = 0;
  for (int i = 0; i < 2; i++) {
    double q[3], v[3], m = get(world, body[i], S2_BODY_MASS);
    must(s2_body_q(world, body[i], q));
    must(s2_body_v(world, body[i], v));
    *linear += m * hypot(v[1], v[2]);
    angular += m * hypot(q[1], q[2]) * hypot(v[1], v[2]);
    angular += fabs(get(world, body[i], S2_BODY_INERTIA) * v[0]);
  }
  return angular;
}

// Linear and angular, for every joint between two free bodies, with the default projection.
static void momentum_is_kept(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(12);
  for (int at = 0; at < S2_JOINT_TYPE_COUNT * ALL * TRIALS; at++) {
    S2JointType type = (S2JointType)(at / (ALL * TRIALS));
    unsigned parts = (unsigned)(at / TRIALS % ALL);
    bool grounded =
        type == S2_LOCK || type == S2_MOUSE || type == S2_GROUND_FRICTION || type == S2_PULLEY;
    if (grounded || !possible(type, parts)) {
      continue;
    }
    Program program = {0};
    S2World *world = new_world(&rng, 0, &program);
    if (at % 2 == 1) {
      S2WorldDef settings = *s2_world_settings(world);
      settings.stabilization = S2_NO_STABILIZATION;
      must(s2_world_configure(world, &settings));
    }
    S2BodyId body[2] = {random_body(world, &rng, 0), random_body(world, &rng, 3)};
    add_joint(world, &rng, type, parts, body[0], body[1], true);
    double before[3], after[3], linear, scale = 0, linear_scale = 0;
    s2_world_momentum(world, before);
    for (int k = 0; k < 120; k++) {
      scale = fmax(scale, momentum_scale(world, body, &linear));
      linear_scale = fmax(linear_scale, linear);
      must(s2_world_step(world));
    }
    scale = fmax(scale, momentum_scale(world, body, &linear));
    linear_scale = fmax(linear_scale, linear);
    s2_world_momentum(world, after);
    double turned = fabs(after[0] - before[0]) / scale;
    double pushed = hypot(after[1] - before[1], after[2] - before[2]) / linear_scale;
    if (!(turned <= 1e-12) || !(pushed <= 1e-12)) {
      fail_msg("%s with parts %u, trial %d: momentum changed by %.1e, angular by %.1e",
               s2_joint_type_name(type), parts, at % TRIALS, pushed, turned);
    }
    s2_world_destroy(world);
  }
}

static bool wire(void *user, S2World *world, S2ConstraintCall *call) {
  (void)user, (void)world;
  if (call->value != NULL) {
    call->value[0] = call->q[0][2] - call->q[0][1] * call->q[0][1];
  }
  return true;
}

// Rows of two bodies that nevertheless push on the world: a bead on a wire, where the other body is
// only named. Neither may be turned to conserve a momentum that is not conserved.
static void what_pushes_on_the_world_is_let(void **state) {
  (void)state;
  double q[2][3], v[2][3];
  for (int two = 0; two < 2; two++) {
    S2World *world = world_new(0, 0.01);
    s2_world_set_callbacks(world, &(S2Callbacks){.constraint = wire});
    S2BodyDef bead = at(-1, 1);
    bead.velocity = s2_vec2(1, -2);
    S2JointDef def = s2_joint_def(S2_CONSTRAINT);
    def.a = add_disc(world, bead, 0.1);
    S2BodyId other = add_disc(world, at(5, 5), 0.1);
    def.b = two == 1 ? other : no_body;
    def.rows = 1;
    make(world, def);
    steps_solved(world, 100, 1e-9, 0);
    must(s2_body_q(world, def.a, q[two]));
    must(s2_body_v(world, def.a, v[two]));
    near(get(world, other, S2_BODY_X), 5, 0);
    near(get(world, other, S2_BODY_OMEGA), 0, 0);
    s2_world_destroy(world);
  }
  for (int c = 0; c < 3; c++) {
    near(q[1][c], q[0][c], 1e-12);
    near(v[1][c], v[0][c], 1e-12);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_combination_is_solved),
      cmocka_unit_test(momentum_is_kept),
      cmocka_unit_test(what_pushes_on_the_world_is_let),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
