// Coordinates of joints that the program sets: moved bodies, unchanged bodies, and loops.
#include "worlds.h"

static double uniform(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static double field(const S2World *world, S2JointId joint, S2JointField field) {
  double value = NAN;
  must(s2_joint_get(world, joint, field, &value));
  return value;
}

static double error_of(const S2World *world, S2JointId joint) {
  S2JointInfo info;
  must(s2_joint_info(world, joint, &info));
  return info.error;
}

static bool is_hinge(const S2World *world, S2JointId joint) {
  S2JointInfo info;
  must(s2_joint_info(world, joint, &info));
  return info.type == S2_HINGE;
}

static double coordinate(const S2World *world, S2JointId joint) {
  return field(world, joint, is_hinge(world, joint) ? S2_JOINT_ANGLE : S2_JOINT_TRANSLATION);
}

static S2JointId make(S2World *world, S2JointDef def) {
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

// A box on one of the bodies made before (or on nothing) by a hinge or slider, either side first.
enum { LINKS = 12 };
typedef struct Machine {
  S2World *world;
  S2BodyId body[LINKS];
  S2JointId joint[LINKS];
  double value[LINKS], speed[LINKS];
} Machine;

static Machine machine_new(S2Rng *rng, bool grounded) {
  Machine m = {.world = world_new(0, 0.01)};
  for (int i = 0; i < LINKS; i++) {
    S2Vec2 here = s2_vec2(uniform(rng, -2, 2), uniform(rng, -2, 2));
    S2BodyDef body = at(here.x, here.y);
    body.mask = 0;
    m.body[i] = add_box(m.world, body, uniform(rng, 0.2, 1), uniform(rng, 0.2, 1));
    double v[3] = {uniform(rng, -1, 1), uniform(rng, -1, 1), uniform(rng, -1, 1)};
    must(s2_body_set_v(m.world, m.body[i], v));
    if (i == 0 && !grounded) {
      continue;
    }
    S2BodyId other = i == 0 ? no_body : m.body[(int)uniform(rng, 0, i)];
    bool flip = i > 0 && uniform(rng, 0, 1) < 0.5;
    S2JointDef def = joint_def(uniform(rng, 0, 1) < 0.6 ? S2_HINGE : S2_SLIDER,
                               flip ? other : m.body[i], flip ? m.body[i] : other);
    def.anchor_a = here;
    def.axis = s2_vec2(cos(i), sin(i));
    m.joint[i] = make(m.world, def);
  }
  return m;
}

static void machine_read(Machine *m, int from) {
  for (int i = from; i < LINKS; i++) {
    m->value[i] = coordinate(m->world, m->joint[i]);
    m->speed[i] = field(m->world, m->joint[i], S2_JOINT_SPEED);
  }
}

// Some coordinates of a tree are given: they have the given values, all others and all speeds are
// unchanged, and every joint is exact.
static void trees(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(1);
  for (int round = 0; round < 200; round++) {
    bool grounded = round % 2 == 0;
    int from = grounded ? 0 : 1, count = 0;
    Machine m = machine_new(&rng, grounded);
    // Speeds consistent with the joints.
    steps_solved(m.world, 1, 1e-9, 0);
    machine_read(&m, from);
    S2JointCoordinate set[LINKS];
    for (int i = from; i < LINKS; i++) {
      if (uniform(&rng, 0, 1) < 0.4) {
        m.value[i] = uniform(&rng, -3, 3);
        set[count++] = (S2JointCoordinate){m.joint[i], m.value[i]};
      }
    }
    must(s2_world_set_coordinates(m.world, set, count));
    for (int i = from; i < LINKS; i++) {
      near(coordinate(m.world, m.joint[i]), m.value[i], 1e-12);
      near(field(m.world, m.joint[i], S2_JOINT_SPEED), m.speed[i], 1e-9);
      assert_true(error_of(m.world, m.joint[i]) <= 1e-9);
    }
    s2_world_destroy(m.world);
  }
}

// All coordinates given: no error remains from before.
static void exact_where_all_are_given(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(2);
  for (int round = 0; round < 100; round++) {
    Machine m = machine_new(&rng, true);
    S2JointCoordinate set[LINKS];
    for (int i = 0; i < LINKS; i++) {
      // Separated joints.
      double q[3] = {uniform(&rng, -1, 1), uniform(&rng, -1, 1), uniform(&rng, -1, 1)};
      must(s2_body_set_q(m.world, m.body[i], q));
      set[i] = (S2JointCoordinate){m.joint[i], uniform(&rng, -3, 3)};
    }
    must(s2_world_set_coordinates(m.world, set, LINKS));
    for (int i = 0; i < LINKS; i++) {
      near(coordinate(m.world, m.joint[i]), set[i].value, 1e-12);
      assert_true(error_of(m.world, m.joint[i]) <= 1e-12);
    }
    s2_world_destroy(m.world);
  }
}

static void expect_stays(const S2World *world, S2BodyId body, const double was[3]) {
  double q[3];
  must(s2_body_q(world, body, q));
  assert_memory_equal(q, was, sizeof q);
}

// If no body is held, the side with less mass moves, and other bodies do not.
static void the_lighter_side_moves(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyId small = add_box(world, at(0, 0), 1, 1), large = add_box(world, at(2, 0), 2, 2);
  S2BodyId far = add_box(world, at(9, 0), 1, 1);
  for (int flip = 0; flip < 2; flip++) {
    S2JointId hinge = make(world, hinge_def(flip ? large : small, flip ? small : large, 1, 0));
    double q[3], before[3], beside[3];
    must(s2_body_q(world, large, before));
    must(s2_body_q(world, far, beside));
    must(s2_world_set_coordinates(world, &(S2JointCoordinate){hinge, 0.5}, 1));
    expect_stays(world, large, before);
    expect_stays(world, far, beside);
    must(s2_body_q(world, small, q));
    near(q[0], flip ? -0.5 + 0.5 : 0.5, 1e-15);
    must(s2_joint_destroy(world, hinge));
  }
  s2_world_destroy(world);
}

// Four bars: crank 1 m, coupler 2 m, rocker 1 m, ground 2 m.
static void four_bars(S2World *world, S2JointId hinge[4]) {
  S2BodyId crank = add_box(world, at(0, 0.5), 0.1, 1), coupler = add_box(world, at(1, 1), 2, 0.1);
  S2BodyId rocker = add_box(world, at(2, 0.5), 0.1, 1);
  hinge[0] = make(world, hinge_def(crank, no_body, 0, 0));
  hinge[1] = make(world, hinge_def(coupler, crank, 0, 1));
  hinge[2] = make(world, hinge_def(rocker, coupler, 2, 1));
  hinge[3] = make(world, hinge_def(rocker, no_body, 2, 0));
}

// A parallelogram remains one: rocker and crank turn equally, the coupler does not turn.
static void loops_close(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2JointId hinge[4];
  four_bars(world, hinge);
  for (double angle = -1; angle <= 1; angle += 0.25) {
    must(s2_world_set_coordinates(world, &(S2JointCoordinate){hinge[0], angle}, 1));
    double turns[4] = {angle, -angle, angle, angle};
    for (int i = 0; i < 4; i++) {
      near(coordinate(world, hinge[i]), turns[i], 1e-11);
      assert_true(error_of(world, hinge[i]) <= 1e-11);
    }
  }
  s2_world_destroy(world);
}

// A crank and its rod: of the two positions of the piston the one on its present side is taken,
// however far the crank turns at once.
static void loops_stay_on_their_side(void **state) {
  (void)state;
  const double crank = 0.3, rod = 1;
  S2World *world = world_new(0, 0.01);
  S2BodyId one = add_box(world, at(crank / 2, 0), crank, 0.05);
  S2BodyId two = add_box(world, at(crank + rod / 2, 0), rod, 0.05);
  S2BodyId piston = add_box(world, at(crank + rod, 0), 0.2, 0.2);
  S2JointId turn = make(world, hinge_def(one, no_body, 0, 0));
  make(world, hinge_def(two, one, crank, 0));
  make(world, hinge_def(piston, two, crank + rod, 0));
  S2JointDef rail = hinge_def(piston, no_body, crank + rod, 0);
  rail.type = S2_SLIDER;
  rail.axis = s2_vec2(1, 0);
  S2JointId stroke = make(world, rail);
  for (double angle = -3; angle <= 9; angle += 2.4) {
    must(s2_world_set_coordinates(world, &(S2JointCoordinate){turn, angle}, 1));
    double x = crank * cos(angle) + sqrt(rod * rod - pow(crank * sin(angle), 2));
    near(get(world, piston, S2_BODY_X), x, 1e-12);
    near(coordinate(world, stroke), x - crank - rod, 1e-12);
  }
  // Beyond the reach of the rod.
  S2Status status = s2_world_set_coordinates(world, &(S2JointCoordinate){stroke, 0.2}, 1);
  assert_int_equal(status.code, S2_INVALID);
  s2_world_destroy(world);
}

static void loops_that_cannot(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2JointId hinge[4];
  four_bars(world, hinge);
  S2JointCoordinate set[2] = {{hinge[0], 0.5}, {hinge[3], -0.5}};
  uint64_t before = s2_world_hash(world);
  S2Status status = s2_world_set_coordinates(world, set, 2);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "stays open by"));
  assert_true(s2_world_hash(world) == before);
  // Both given, and consistent.
  set[1].value = 0.5;
  must(s2_world_set_coordinates(world, set, 2));
  near(coordinate(world, hinge[1]), -0.5, 1e-11);
  s2_world_destroy(world);
}

// A gear is a loop: coupled bodies turn as well.
static void gears_turn_along(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2JointId one = make(world, hinge_def(add_box(world, at(0, 0), 1, 1), no_body, 0, 0));
  S2JointId two = make(world, hinge_def(add_box(world, at(3, 0), 1, 1), no_body, 3, 0));
  S2JointDef def = joint_def(S2_GEAR, no_body, no_body);
  def.joint_a = one;
  def.joint_b = two;
  def.ratio = 2;
  make(world, def);
  double sum = coordinate(world, one) + 2 * coordinate(world, two);
  double difference = coordinate(world, one) - 2 * coordinate(world, two);
  must(s2_world_set_coordinates(world, &(S2JointCoordinate){one, 1.5}, 1));
  near(coordinate(world, one), 1.5, 1e-12);
  double now = coordinate(world, two);
  assert_true(fabs(1.5 + 2 * now - sum) < 1e-11 || fabs(1.5 - 2 * now - difference) < 1e-11);
  s2_world_destroy(world);
}

static void refusals(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyId box = add_box(world, at(0, 0), 1, 1);
  S2JointDef def = hinge_def(box, no_body, 0, 0);
  def.has_limits = true;
  def.limit_lo = -1;
  def.limit_hi = 1;
  S2JointId hinge = make(world, def);
  def = hinge_def(add_box(world, at(3, 0), 1, 1), box, 2, 0);
  def.type = S2_WELD;
  S2JointId weld = make(world, def);
  S2JointId off = make(world, hinge_def(add_box(world, at(6, 0), 1, 1), box, 3, 0));
  must(s2_joint_set(world, off, S2_JOINT_ENABLED, 0));
  const struct {
    S2JointCoordinate set[2];
    int count;
    const char *says;
  } cases[] = {
      {{{weld, 1}}, 1, "a hinge or slider expected"},
      {{{hinge, 2}}, 1, "2 is beyond its limits, {-1, 1}"},
      {{{hinge, NAN}}, 1, "finite number expected"},
      {{{hinge, 0.5}, {hinge, 0.25}}, 2, "given twice"},
      {{{off, 1}}, 1, "the joint is disabled"},
      {{{{99, 1}, 1}}, 1, "joint"},
  };
  uint64_t before = s2_world_hash(world);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    S2Status status = s2_world_set_coordinates(world, cases[i].set, cases[i].count);
    assert_int_not_equal(status.code, S2_OK);
    if (strstr(status.message, cases[i].says) == NULL) {
      fail_msg("%s: not in '%s'", cases[i].says, status.message);
    }
  }
  must(s2_world_set_coordinates(world, NULL, 0));
  assert_true(s2_world_hash(world) == before);
  s2_world_destroy(world);
  // A world without bodies.
  world = world_new(0, 0.01);
  must(s2_world_set_coordinates(world, NULL, 0));
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trees),
      cmocka_unit_test(exact_where_all_are_given),
      cmocka_unit_test(the_lighter_side_moves),
      cmocka_unit_test(loops_close),
      cmocka_unit_test(loops_stay_on_their_side),
      cmocka_unit_test(loops_that_cannot),
      cmocka_unit_test(gears_turn_along),
      cmocka_unit_test(refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
