// Joints that contradict each other: steps stay finite and report it, by residuals and by a warning
// with the names of joints.
#include "worlds.h"

typedef struct Case {
  const char *name;
  void (*build)(S2World *world);
  const char *named[2]; // in the warning
  bool in_positions;    // otherwise in velocities
} Case;

static S2JointId make(S2World *world, S2JointDef def) {
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

static S2JointId named(S2World *world, S2JointDef def, const char *name) {
  def.name = name;
  return make(world, def);
}

static S2BodyId rod_at(S2World *world, double x) {
  S2BodyDef def = at(x, 0);
  def.mask = 0;
  return add_box(world, def, 1, 0.1);
}

static S2BodyId post_at(S2World *world, double x) {
  S2BodyDef def = fixed_at(x, 0);
  def.mask = 0;
  return add_box(world, def, 0.1, 0.1);
}

static void put(S2World *world, S2BodyId body, double x, double y) {
  must(s2_body_set(world, body, S2_BODY_X, x));
  must(s2_body_set(world, body, S2_BODY_Y, y));
}

// Three bars of 1 m between points 5 m apart.
static void open_loop(S2World *world) {
  S2BodyId last = no_body;
  for (int i = 0; i < 3; i++) {
    S2BodyId bar = rod_at(world, i + 0.5);
    named(world, hinge_def(bar, last, i, 0), "link");
    last = bar;
  }
  S2BodyId post = post_at(world, 3);
  named(world, hinge_def(last, post, 3, 0), "far");
  put(world, post, 5, 1);
}

static void torn_hinges(S2World *world) {
  S2BodyId rod = rod_at(world, 0.5), left = post_at(world, 0), right = post_at(world, 1);
  named(world, hinge_def(rod, left, 0, 0), "left");
  named(world, hinge_def(rod, right, 1, 0), "right");
  put(world, left, -1, 0.5);
  put(world, right, 3, 0);
}

static void torn_welds(S2World *world) {
  S2BodyId rod = rod_at(world, 0.5), left = post_at(world, 0), right = post_at(world, 1);
  S2JointDef weld = joint_def(S2_WELD, rod, left);
  weld.anchor_a = s2_vec2(0, 0);
  named(world, weld, "left");
  weld.b = right;
  weld.anchor_a = s2_vec2(1, 0);
  named(world, weld, "right");
  put(world, right, 3, 0);
  must(s2_body_set(world, left, S2_BODY_ANGLE, 1));
}

// Wheels that turn in the same direction, in opposite directions, and one of them as given.
static void gears(S2World *world) {
  S2BodyId wheel[2];
  S2JointId axle[2];
  for (int i = 0; i < 2; i++) {
    wheel[i] = add_disc(world, at(3 * i, 0), 0.5);
    axle[i] = make(world, hinge_def(wheel[i], no_body, 3 * i, 0));
  }
  for (int i = 0; i < 2; i++) {
    S2JointDef gear = joint_def(S2_GEAR, no_body, no_body);
    gear.joint_a = axle[0];
    gear.joint_b = axle[1];
    gear.ratio = i == 0 ? 1 : -1;
    named(world, gear, i == 0 ? "with" : "against");
  }
  S2JointDef lock = joint_def(S2_LOCK, wheel[0], no_body);
  lock.lock_angle = true;
  lock.angular_velocity = 2;
  named(world, lock, "drive");
}

static S2BodyId motor(S2World *world, double most) {
  S2BodyId wheel = add_disc(world, at(0, 0), 0.5);
  S2JointDef hinge = hinge_def(wheel, no_body, 0, 0);
  hinge.has_motor = true;
  hinge.motor_speed = 3;
  hinge.motor_max = most;
  named(world, hinge, "motor");
  return wheel;
}

static void lock_angle(S2World *world, S2BodyId wheel) {
  S2JointDef lock = joint_def(S2_LOCK, wheel, no_body);
  lock.lock_angle = true;
  named(world, lock, "lock");
}

static void motor_against_lock(S2World *world) {
  lock_angle(world, motor(world, INFINITY));
}

static void motor_against_limit(S2World *world) {
  S2BodyId rod = rod_at(world, 0.5);
  S2JointDef hinge = hinge_def(rod, no_body, 0, 0);
  hinge.has_motor = hinge.has_limits = true;
  hinge.motor_speed = 3;
  hinge.limit_lo = -0.1;
  hinge.limit_hi = 0.1;
  named(world, hinge, "motor");
}

static void limits_apart(S2World *world) {
  S2BodyId rod = rod_at(world, 0.5);
  for (int i = 0; i < 2; i++) {
    S2JointDef hinge = hinge_def(rod, no_body, 0, 0);
    hinge.has_limits = true;
    hinge.limit_lo = -1;
    hinge.limit_hi = 1;
    // Limits that exclude the initial coordinate are refused; those of an existing joint may be
    // set.
    S2JointId joint = named(world, hinge, i == 0 ? "up" : "down");
    must(s2_joint_set(world, joint, i == 0 ? S2_JOINT_LIMIT_LO : S2_JOINT_LIMIT_HI,
                      i == 0 ? 0.5 : -0.5));
  }
}

static void equal_limits_and_lock(S2World *world) {
  S2BodyId rod = rod_at(world, 0.5);
  S2JointDef hinge = hinge_def(rod, no_body, 0, 0);
  hinge.has_limits = true;
  hinge.limit_lo = 0;
  hinge.limit_hi = 0.5;
  must(s2_joint_set(world, named(world, hinge, "bent"), S2_JOINT_LIMIT_LO, 0.5));
  lock_angle(world, rod);
}

static void rope_too_short(S2World *world) {
  S2BodyId rod = rod_at(world, 0.5);
  S2JointDef rope = joint_def(S2_ROPE, rod, no_body);
  rope.anchor_b = s2_vec2(2, 0);
  rope.max_length = 1;
  named(world, rope, "rope");
  S2JointDef distance = rope;
  distance.type = S2_DISTANCE;
  distance.max_length = NAN;
  distance.length = 3;
  named(world, distance, "rod");
}

static const Case cases[] = {
    {"a loop that cannot close", open_loop, {"far", "link"}, true},
    {"hinges torn apart", torn_hinges, {"left", "right"}, true},
    {"welds torn apart", torn_welds, {"left", "right"}, true},
    {"gears against each other", gears, {"with", "against"}, false},
    {"a motor against a lock", motor_against_lock, {"motor", "lock"}, false},
    {"a motor against a limit", motor_against_limit, {"motor", "motor"}, false},
    {"limits apart", limits_apart, {"up", "down"}, true},
    {"equal limits and a lock", equal_limits_and_lock, {"bent", "bent"}, true},
    {"a rope too short", rope_too_short, {"rod", "rod"}, true},
};
enum { CASES = sizeof cases / sizeof cases[0], VARIANTS = 6 };

static S2World *variant(int k) {
  S2WorldDef def = fixed_def();
  def.dt = 1.0 / 120;
  def.stepping = k == 1 ? S2_BISECT : S2_SPECULATIVE;
  def.alpha = def.beta = k == 2 ? 0.5 : 1;
  def.stabilization = k == 3 ? S2_BAUMGARTE : k == 4 ? S2_POST_ASSEMBLY : S2_PROJECTION;
  def.restitution_model = k == 5 ? S2_REFLECTIONS : S2_NEWTON;
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

// Finite, and without a gain of energy (except for Baumgarte's corrections, which are velocities).
static bool all_finite(const S2World *world) {
  double most = s2_world_settings(world)->stabilization == S2_BAUMGARTE ? 1e4 : 100;
  S2BodyId bodies[16];
  int count = s2_world_bodies(world, bodies, 16);
  bool finite = true;
  for (int i = 0; i < count; i++) {
    for (S2BodyField field = S2_BODY_ANGLE; field <= S2_BODY_VY; field++) {
      double value = get(world, bodies[i], field);
      finite = finite && isfinite(value) && (field < S2_BODY_OMEGA || fabs(value) < most);
    }
  }
  return finite;
}

static void steps_stay_finite_and_say_so(void **state) {
  (void)state;
  for (int i = 0; i < CASES * VARIANTS; i++) {
    const Case *what = &cases[i / VARIANTS];
    S2World *world = variant(i % VARIANTS);
    what->build(world);
    bool projects = s2_world_settings(world)->stabilization == S2_PROJECTION;
    bool told = false;
    double scaled = 0, off = 0;
    for (int k = 0; k < (i % VARIANTS == 0 ? 300 : 20); k++) {
      must(s2_world_step(world));
      if (!all_finite(world)) {
        fail_msg("%s, %d: step %d is not finite", what->name, i % VARIANTS, k + 1);
      }
      S2WorldResiduals residuals = s2_world_residuals(world);
      assert_true(isfinite(residuals.solve.scaled) && isfinite(residuals.joint_error));
      scaled = fmax(scaled, residuals.solve.scaled);
      off = residuals.joint_error;
      int count;
      const S2Event *events = s2_world_events(world, &count);
      for (int e = 0; e < count; e++) {
        told = told || (events[e].type == S2_SOLVER_WARNING &&
                        strstr(events[e].message, what->named[0]) != NULL &&
                        strstr(events[e].message, what->named[1]) != NULL);
      }
    }
    if (!(what->in_positions ? off > 0.05 : scaled > 1e-6)) {
      fail_msg("%s, %d: no residual shows it: %.3e, %.3e m", what->name, i % VARIANTS, scaled, off);
    }
    if (!told && (projects || !what->in_positions)) {
      fail_msg("%s, %d: no warning names '%s' and '%s'", what->name, i % VARIANTS, what->named[0],
               what->named[1]);
    }
    s2_world_destroy(world);
  }
}

// A proof ends the search for a solution: all methods in turn took 2,000 iterations a solve here.
static void a_proof_ends_the_search(void **state) {
  (void)state;
  S2World *world = variant(0);
  S2BodyId last = no_body;
  for (int i = 0; i < 14; i++) {
    S2BodyId link = rod_at(world, i + 0.5);
    make(world, hinge_def(link, last, i, 0));
    last = link;
  }
  S2JointDef hinge = hinge_def(rod_at(world, 14.5), last, 14, 0);
  hinge.has_motor = hinge.has_limits = true;
  hinge.motor_speed = 3;
  hinge.limit_lo = -0.1;
  hinge.limit_hi = 0.1;
  make(world, hinge);
  uint64_t unsolved = 0;
  for (int i = 0; i < 20; i++) {
    S2WorldStats before = *s2_world_stats(world);
    must(s2_world_step(world));
    S2WorldStats after = *s2_world_stats(world);
    assert_true(all_finite(world));
    uint64_t fresh = after.unsolved - before.unsolved;
    assert_true(fresh == 0 || after.last_status == S2_INFEASIBLE);
    unsolved += fresh;
  }
  assert_true(unsolved > 10);
  assert_true(s2_world_stats(world)->iterations < 200 * s2_world_stats(world)->solves);
  s2_world_destroy(world);
}

// A bounded force is no contradiction.
static void bounded_motors_give_way(void **state) {
  (void)state;
  for (int k = 0; k < VARIANTS; k++) {
    S2World *world = variant(k);
    S2BodyId wheel = motor(world, 10);
    lock_angle(world, wheel);
    steps_solved(world, 1000, 1e-9, 0);
    near(get(world, wheel, S2_BODY_ANGLE), 0, 1e-9);
    s2_world_destroy(world);
  }
}

// Lengths that are 0 at the start or later still have a direction.
static void lengths_of_zero(void **state) {
  (void)state;
  for (int k = 0; k < 3 * VARIANTS; k++) {
    S2World *world = variant(k % VARIANTS);
    S2BodyId rod = rod_at(world, 0.5);
    S2JointDef def = joint_def(k / VARIANTS == 0   ? S2_SPRING
                               : k / VARIANTS == 1 ? S2_ROPE
                                                   : S2_DISTANCE,
                               rod, no_body);
    def.anchor_b = s2_vec2(k / VARIANTS == 2 ? 1.5 : 0.5, 0);
    def.max_length = 0.2;
    def.stiffness = 100;
    if (k / VARIANTS > 0) {
      def.stiffness = NAN;
    }
    make(world, def);
    if (k / VARIANTS == 2) {
      put(world, rod, 1.5, 0);
    }
    for (int i = 0; i < 1000; i++) {
      must(s2_world_step(world));
      assert_true(all_finite(world));
    }
    s2_world_destroy(world);
  }
}

static void refused(S2World *world, S2JointDef def, S2Code code, const char *message) {
  S2JointId joint;
  S2Status status = s2_joint_create(world, &def, &joint);
  assert_int_equal(status.code, code);
  if (strstr(status.message, message) == NULL) {
    fail_msg("'%s' expected in '%s'", message, status.message);
  }
  assert_int_equal(joint.index, 0);
}

static void nonsense_is_refused(void **state) {
  (void)state;
  S2World *world = variant(0);
  S2BodyId rod = rod_at(world, 0.5), gone = rod_at(world, 3);
  S2BodyId post = post_at(world, 0), other = post_at(world, 1);
  must(s2_body_destroy(world, gone));
  refused(world, hinge_def(rod, rod, 0, 0), S2_INVALID, "two different bodies");
  refused(world, hinge_def(post, other, 0, 0), S2_INVALID, "at least one dynamic body");
  refused(world, hinge_def(gone, post, 0, 0), S2_STALE, "destroyed");
  refused(world, hinge_def(rod, gone, 0, 0), S2_STALE, "destroyed");
  S2JointDef def = hinge_def(rod, post, 0, 0);
  def.has_limits = true;
  def.limit_lo = 1;
  def.limit_hi = -1;
  refused(world, def, S2_INVALID, "limits: lo <= hi expected, got {1, -1}");
  def = joint_def(S2_SLIDER, rod, post);
  def.anchor_a = s2_vec2(0, 0);
  def.axis = s2_vec2(0, 0);
  refused(world, def, S2_INVALID, "axis: a direction expected, got {0, 0}");
  def = joint_def(S2_DISTANCE, rod, post);
  def.anchor_a = def.anchor_b = s2_vec2(0, 0);
  refused(world, def, S2_INVALID, "length: a number above 0 expected, got 0");
  def.type = S2_ROPE;
  refused(world, def, S2_INVALID, "max_length: a number above 0 expected, got 0");
  def.type = S2_SPRING;
  def.stiffness = 1;
  def.has_limits = true;
  def.limit_lo = def.limit_hi = 0;
  refused(world, def, S2_INVALID, "limits: hi above 0 expected for a length, got {0, 0}");
  def.limit_hi = 1;
  S2JointId spring = make(world, def);
  assert_int_equal(s2_joint_set(world, spring, S2_JOINT_LIMIT_HI, 0).code, S2_INVALID);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_stay_finite_and_say_so), cmocka_unit_test(a_proof_ends_the_search),
      cmocka_unit_test(bounded_motors_give_way),      cmocka_unit_test(lengths_of_zero),
      cmocka_unit_test(nonsense_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
