// Derivatives of joints: each type in each of its ways to hold, yield, stop or drive.
//
// Environment variables, besides those that world_differences.h reads: S2_FULL compares all scenes,
// S2_TEST runs one test.
#include "joint_ways.h"

// For the derivatives of a class: the loss is about 10, and Newton's iterations of a step stop at
// 1e-12 of the speeds.
static const double LEAST = 1e-2;

// Is the number of comparisons large enough to require every dependence to occur?
static bool counts_all(void) {
  return getenv("S2_ONLY") == NULL && getenv("S2_PICKED") == NULL;
}

typedef struct Plan {
  const char *what;
  int steps;
  bool apart; // begins with separated joints
  double torn, other;
  int one_of;    // one of so many scenes
  double picked; // numbers of a class
} Plan;

static void compare_ways(S2JointType type, const Plan *plan, Count counts[CLASSES]) {
  const bool whole = getenv("S2_FULL") != NULL;
  for (int way = 0; way < WAYS; way++) {
    S2World *world = scene(type, (Way)way, (Way)way);
    if (world == NULL || (!whole && (way + (int)type) % plan->one_of != 0)) {
      s2_world_destroy(world);
      continue;
    }
    for (int k = 0; k < 2; k++) {
      must(s2_world_step(world));
    }
    for (int i = 3; i < 6 && plan->apart; i++) {
      world->q.at[i] += 2e-3 * (i - 2);
    }
    char name[96];
    snprintf(name, sizeof name, "%s, %s, %s", s2_joint_type_name(type), way_name[way], plan->what);
    compare_to(name, world, plan->steps, 31 * (uint64_t)type + (uint64_t)way, plan->torn,
               plan->other, LEAST, counts);
    s2_world_destroy(world);
  }
}

static void compare_types(const Plan *plan, int nonzero[CLASSES]) {
  pick(getenv("S2_FULL") == NULL ? plan->picked : INFINITY);
  for (int i = 0; i < TYPES; i++) {
    Count counts[CLASSES] = {{0}};
    compare_ways(types[i], plan, counts);
    report(s2_joint_type_name(types[i]), counts);
    for (Class of = 0; of < OF_NOTHING; of++) {
      nonzero[of] += counts[of].nonzero;
    }
  }
}

static void one_step(void **state) {
  (void)state;
  int nonzero[CLASSES] = {0};
  compare_types(&(Plan){"one step", 1, false, 1e-3, 1e-6, 1, 6}, nonzero);
  for (Class of = OF_JOINTS; of < OF_NOTHING && counts_all(); of++) {
    bool limit = of == OF_LIMIT_LO || of == OF_LIMIT_HI; // below
    if (nonzero[of] < 2 && !limit) {
      fail_msg("nothing depends on %s", class_name[of]);
    }
  }
}

// None of the corrections enters the velocities, and differences are as exact as elsewhere.
static void torn_apart(void **state) {
  (void)state;
  int nonzero[CLASSES] = {0};
  compare_types(&(Plan){"torn apart", 1, true, 1e-6, 1e-6, 1, 4}, nonzero);
  for (Class of = OF_ANCHOR_A; of <= OF_GOAL && counts_all(); of++) {
    if (nonzero[of] < 2) {
      fail_msg("nothing depends on %s", class_name[of]);
    }
  }
}

// One body that reaches a limit within a few steps, and stays there or leaves.
static void stopped(void **state) {
  (void)state;
  pick(INFINITY);
  const S2JointType limited[] = {S2_HINGE, S2_SLIDER, S2_SPRING, S2_WHEEL, S2_ROPE};
  Count counts[CLASSES] = {{0}};
  for (int k = 0; k < 5 * 2 * 4; k++) {
    S2JointType type = limited[k % 5];
    double sign = k / 5 % 2 == 0 ? 1 : -1;
    S2World *world = world_new(-0.5, 1.0 / 60);
    S2WorldDef def = *s2_world_settings(world);
    def.tolerance = 1e-12;
    def.alpha = k / 10 == 1 ? 0.8 : 1;
    def.beta = k / 10 == 1 ? 0.7 : 1;
    def.stabilization = k / 10 == 2 ? S2_BAUMGARTE : S2_PROJECTION;
    def.stepping = k / 10 == 3 ? S2_BISECT : S2_SPECULATIVE;
    must(s2_world_configure(world, &def));
    S2BodyDef body = moving(1, 0.1, sign, 0, type == S2_HINGE ? sign : 0);
    S2JointDef joint = joint_def(type, add_box(world, body, 0.5, 0.3), no_body);
    bool length = type == S2_SPRING || type == S2_ROPE;
    joint.anchor_a = length ? s2_vec2(1, 0.1) : s2_vec2(type == S2_HINGE ? 1 : 0.9, 0.1);
    joint.anchor_b = s2_vec2(0, 0.2);
    joint.axis = s2_vec2(1, 0.1);
    joint.stiffness = 3;
    joint.has_limits = type != S2_ROPE;
    joint.limit_lo = length ? 0.97 : -0.04;
    joint.limit_hi = length ? 1.04 : 0.035;
    joint.max_length = 1.04;
    S2JointId id;
    must(s2_joint_create(world, &joint, &id));
    char name[64];
    snprintf(name, sizeof name, "stopped %d", k);
    compare_to(name, world, 5, (uint64_t)k + 170, 1e-6, 1e-6, LEAST, counts);
    s2_world_destroy(world);
  }
  report("stopped", counts);
  assert_true(!counts_all() ||
              (counts[OF_LIMIT_LO].nonzero >= 5 && counts[OF_LIMIT_HI].nonzero >= 5));
}

// Three bodies on hinges with no fixed body, with and without gravity, damping and a spring.
static void floating(void **state) {
  (void)state;
  Count counts[CLASSES] = {{0}};
  for (int k = 0; k < 6; k++) {
    S2World *world = world_new(k % 2 == 0 ? 0 : -9.8, 1.0 / 60);
    S2WorldDef def = *s2_world_settings(world);
    def.tolerance = 1e-12;
    def.alpha = k < 4 ? 1 : 0.7;
    def.beta = k < 4 ? 1 : 0.6;
    must(s2_world_configure(world, &def));
    S2BodyId bodies[3];
    for (int i = 0; i < 3; i++) {
      S2BodyDef body = moving(0.8 * i, 0.1 * i, 0.1 * i, 0.3, 2 - 2 * i);
      body.angular_damping = k < 2 ? 0 : 0.2;
      bodies[i] = add_box(world, body, 0.6 + 0.1 * i, 0.2);
    }
    for (int i = 0; i < 2; i++) {
      S2JointDef joint = hinge_def(bodies[i], bodies[i + 1], 0.8 * i + 0.4, 0.1 * i + 0.05);
      if (k == 3 && i == 1) {
        joint.compliance.linear = 1e-3;
      }
      S2JointId id;
      must(s2_joint_create(world, &joint, &id));
    }
    for (int i = 0; i < 2; i++) {
      must(s2_world_step(world));
    }
    char name[64];
    for (int steps = 1; steps <= 10; steps += 9) {
      snprintf(name, sizeof name, "floating %d, %d steps", k, steps);
      compare_to(name, world, steps, (uint64_t)k + 70, 1e-6, 1e-6, LEAST, counts);
    }
    s2_world_destroy(world);
  }
  report("floating", counts);
  assert_true(!counts_all() || (counts[OF_V].nonzero > 30 && counts[OF_INERTIA].nonzero > 10));
}

// A box that slides on a viscous floor, and rolls.
static void viscous(void **state) {
  (void)state;
  may_skip(0.35, 0.25);
  Count counts[CLASSES] = {{0}};
  for (int k = 0; k < 2; k++) {
    S2World *world = world_new(-9.8, 1.0 / 60);
    S2WorldDef def = *s2_world_settings(world);
    def.tolerance = 1e-12;
    must(s2_world_configure(world, &def));
    S2BodyDef floor = fixed_at(0, -0.5);
    floor.friction = 0.1;
    floor.contact_viscosity = 0.8;
    floor.surface_speed = 0.2;
    add_box(world, floor, 10, 1);
    S2BodyDef body = moving(0.1, 0.2, 2, -0.1, 0);
    body.contact_viscosity = 0.4;
    body.friction = 0.3;
    if (k == 0) {
      add_box(world, body, 0.8, 0.4);
    } else {
      add_disc(world, body, 0.2);
    }
    for (int i = 0; i < 2; i++) {
      must(s2_world_step(world));
    }
    compare(k == 0 ? "viscous box" : "viscous disc", world, 12, (uint64_t)k + 90, counts);
    s2_world_destroy(world);
  }
  report("viscous", counts);
  assert_true(!counts_all() || counts[OF_CONTACT_VISCOSITY].nonzero == 4);
}

static void many_steps(void **state) {
  (void)state;
  int nonzero[CLASSES] = {0};
  compare_types(&(Plan){"20 steps", 20, false, 1e-5, 1e-6, 4, 2}, nonzero);
  assert_true(nonzero[OF_V] > 100 || !counts_all());
}

// ---- All together -----------------------------------------------------------------------------

static bool refused(const S2World *start, const S2Callbacks *callbacks, int steps) {
  S2World *world;
  S2Trace *trace = s2_trace_new();
  bool found = false;
  must(s2_world_clone(start, &world));
  s2_world_set_callbacks(world, callbacks);
  for (int k = 0; k < steps && !found; k++) {
    must(s2_world_step_traced(world, trace));
    S2WorldGradient g = {0};
    S2Arena arena;
    s2_arena_init(&arena);
    s2_world_gradient_fit(&g, world);
    S2Status status = s2_trace_vjp(trace, &g, &arena);
    found = status.code != S2_OK;
    assert_true(!found || strstr(status.message, "has no derivative") != NULL);
    s2_arena_free(&arena);
    s2_world_gradient_free(&g);
  }
  s2_trace_free(trace);
  s2_world_destroy(world);
  return found;
}

// The bodies of `scene` land on it.
static void add_floor(S2World *world) {
  S2BodyDef floor = fixed_at(1.3, -1.11);
  floor.restitution = 0.3;
  add_box(world, floor, 3, 1);
}

// Each way of a joint in each way of a world: the derivative is right, or refused.
static void mixed(void **state) {
  (void)state;
  const Way joints[] = {AS_IS,         SCALAR,        DAMPED,  MATRIX,
                        LIMITED,       LIMITED_BELOW, PINCHED, MOTOR_AT_BOUND,
                        MOTOR_ENDLESS, DRY_FRICTION,  CURVED};
  const Way worlds[] = {AS_IS,          STIFFNESS_FORM, BLENDED,           EXPLICIT,
                        GEOMETRIC,      GEOMETRIC_PSD,  GEOMETRIC_BLENDED, GEOMETRIC_NO_MENDS,
                        SUBSTEPS,       BAUMGARTE,      POST_SAME,         POST_ANEW,
                        BEFORE,         UNMENDED,       BISECTED,          TWO_STAGES,
                        ON_A_CARRIER,   REFLECTING,     FRICTIONLESS,      ACCELERATIONS,
                        BISECTED_SHORT, STIFFENED,      BY_EVENTS};
  enum {
    JOINTS = sizeof joints / sizeof *joints,
    WORLDS = sizeof worlds / sizeof *worlds,
    ONE_OF = 4
  };
  Count counts[CLASSES] = {{0}};
  int without = 0, events = 0;
  const bool whole = getenv("S2_FULL") != NULL || getenv("S2_ONLY") != NULL;
  pick(getenv("S2_ONLY") == NULL ? 0.3 : INFINITY);
  for (int k = 0; k < TYPES * JOINTS * WORLDS; k++) {
    S2JointType type = types[k % TYPES];
    Way joint = joints[k / TYPES % JOINTS], way = worlds[k / TYPES / JOINTS];
    // Each pair of two of them is combined with some values of the third.
    bool turn = (k % TYPES + k / TYPES % JOINTS + k / TYPES / JOINTS) % ONE_OF == 0;
    if (!turn && !whole) {
      continue;
    }
    S2World *world = scene(type, joint, way);
    bool cannot = way == REFLECTING && type == S2_GROUND_FRICTION;
    if (world == NULL || cannot) {
      s2_world_destroy(world);
      continue;
    }
    add_floor(world);
    char name[96];
    snprintf(name, sizeof name, "%s, %s, %s", s2_joint_type_name(type), way_name[joint],
             way_name[way]);
    if (refused(world, &(S2Callbacks){0}, 4)) {
      without += 1;
    } else {
      compare_to(name, world, 4, (uint64_t)k, 1e-3, 1e-6, LEAST, counts);
      events += way == BY_EVENTS;
    }
    s2_world_destroy(world);
  }
  report("mixed", counts);
  if (getenv("S2_SHOW") != NULL) {
    printf("%d refused, %d by events\n", without, events);
  }
  assert_true(!counts_all() || (counts[OF_NOTHING].compared > 1000 / ONE_OF && without < 20 &&
                                events > 40 / ONE_OF));
}

// Hinges and sliders with a spring along their coordinate, in each way of a world.
static void sprung(void **state) {
  (void)state;
  Count counts[CLASSES] = {{0}};
  int without = 0;
  pick(1);
  for (int k = 0; k < 2 * ALL_WAYS; k++) {
    S2JointType type = k % 2 == 0 ? S2_HINGE : S2_SLIDER;
    Way way = (Way)(k / 2);
    // Differences are too coarse (4e-8) where forces rotate too fast: `mixed` covers those.
    bool in_use = (way >= SUBSTEPS && way != STIFFENED) ||
                  (way >= STIFFNESS_FORM && way <= GEOMETRIC_NO_MENDS);
    S2World *world = in_use ? scene(type, SPRUNG, way) : NULL;
    if (world == NULL) {
      continue;
    }
    add_floor(world);
    char name[96];
    snprintf(name, sizeof name, "sprung %s, %s", s2_joint_type_name(type), way_name[way]);
    if (refused(world, &(S2Callbacks){0}, 4)) {
      without += 1;
    } else {
      compare_to(name, world, 4, (uint64_t)k, 1e-3, 1e-6, LEAST, counts);
    }
    s2_world_destroy(world);
  }
  report("sprung", counts);
  assert_true(!counts_all() || (without <= 4 && counts[OF_STIFFNESS].nonzero > 20 &&
                                counts[OF_DAMPING].nonzero > 20 && counts[OF_LENGTH].nonzero > 20));
}

static bool pull(void *user, S2World *world, S2SpringCall *call) {
  (void)user, (void)world;
  call->force = 3 * call->extension;
  call->tangent = 3;
  return true;
}

static bool turn(void *user, S2World *world, S2MotionCall *call) {
  (void)user, (void)world;
  call->v[0] = 1;
  return true;
}

// If compliance has added energy, no energy is left for the displacement of rigid joints.
// Velocities then take none of it on either side, although rounding leaves 1e-13 of it.
static void no_room(void **state) {
  (void)state;
  const Way joints[] = {SCALAR, DAMPED};
  Count counts[CLASSES] = {{0}};
  pick(INFINITY);
  for (int k = 0; k < 4; k++) {
    S2World *world =
        scene(k < 2 ? S2_LOCK : S2_MOUSE, k < 2 ? joints[k] : AS_IS, k < 3 ? AS_IS : SUBSTEPS);
    add_floor(world);
    char name[32];
    snprintf(name, sizeof name, "no room %d", k);
    compare_to(name, world, 1 + k, 3, 1e-3, 1e-6, LEAST, counts);
    s2_world_destroy(world);
  }
  report("no room", counts);
  assert_true(counts[OF_NOTHING].compared == 4 || !counts_all());
}

static unsigned flags_of(const S2World *start, int steps) {
  Rollout rollout = {.steps = steps};
  S2WorldGradient g = {0};
  for (int i = 0; i < 3 * start->bodies.count; i++) {
    rollout.weight[0][i] = rollout.weight[1][i] = 1 + 0.3 * i;
  }
  backward(start, &rollout, &g);
  unsigned flags = g.flags;
  s2_world_gradient_free(&g);
  return flags;
}

// A limit that is exactly met at the start has an approach speed on one side and a correction on
// the other. A limit that a step has reached is met whatever the data are.
static void exactly_met(void **state) {
  (void)state;
  const S2JointType limited[] = {S2_ROPE, S2_SPRING, S2_SLIDER};
  for (int k = 0; k < 3 * 3; k++) {
    S2JointType type = limited[k / 3];
    int way = k % 3; // pulls, leaves, begins before the limit
    S2World *world = world_new(-9.8, 1.0 / 60);
    S2BodyDef body = moving(0.6, -0.8, way == 1 ? -0.6 : 0.1, way == 1 ? 1.2 : -0.2, 0);
    S2JointDef joint = joint_def(type, add_disc(world, body, 0.1), no_body);
    joint.anchor_a = s2_vec2(0.6, -0.8);
    joint.anchor_b = s2_vec2(0, 0);
    joint.axis = s2_vec2(0.6, -0.8);
    joint.stiffness = 3;
    joint.has_limits = type != S2_ROPE;
    joint.limit_lo = type == S2_SLIDER ? -1 : 0.2;
    joint.limit_hi = (type == S2_SLIDER ? 0 : 1) + (way == 2 ? 1e-4 : 0);
    joint.max_length = joint.limit_hi;
    S2JointId id;
    must(s2_joint_create(world, &joint, &id));
    for (int steps = 1; steps <= 3; steps++) {
      assert_int_equal(flags_of(world, steps) & S2_GRADIENT_WEAK, way == 0 ? S2_GRADIENT_WEAK : 0);
    }
    for (int i = 0; i < 2; i++) {
      must(s2_world_step(world));
    }
    assert_int_equal(flags_of(world, 3) & S2_GRADIENT_WEAK, 0);
    s2_world_destroy(world);
  }
}

// Functions that a program computes itself.
static void refusals(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    S2World *world = world_new(-9.8, 1.0 / 60);
    S2BodyId body = add_box(world, moving(0.6, 0, 0, 0, 0), 0.4, 0.2);
    S2JointDef def = joint_def(k == 0 ? S2_SPRING : S2_LOCK, body, no_body);
    def.has_law = k == 0;
    def.stiffness = k == 0 ? 0 : def.stiffness;
    def.driven = def.lock_angle = k == 1;
    def.anchor_b = s2_vec2(0, 1);
    S2JointId joint;
    must(s2_joint_create(world, &def, &joint));
    if (!refused(world, &(S2Callbacks){.spring = pull, .motion = turn}, 1)) {
      fail_msg("%s is not refused", k == 0 ? "a law" : "a driven lock");
    }
    s2_world_destroy(world);
  }
}

static bool sloped_pull(void *user, S2World *world, S2SpringCall *call) {
  (void)user, (void)world;
  double x = call->extension;
  call->force = x * (20 + 60 * x * x);
  call->tangent = 20 + 180 * x * x;
  if (call->slope != NULL) {
    call->slope[0].by[0] = call->tangent;
    call->slope[1].by[0] = 360 * x;
    call->sloped = true;
  }
  return true;
}

// The same spring given by numbers and by a callback with slopes.
static void given_slopes(void **state) {
  (void)state;
  double found[2][6];
  for (int k = 0; k < 2; k++) {
    S2World *world = world_new(-9.8, 1.0 / 60);
    S2WorldDef settings = *s2_world_settings(world);
    settings.alpha = settings.beta = 0.5;
    must(s2_world_configure(world, &settings));
    s2_world_set_callbacks(world, &(S2Callbacks){.spring = sloped_pull});
    S2BodyId body = add_box(world, moving(0.6, 0, 0.3, 0, 0), 0.4, 0.2);
    S2JointDef def = joint_def(S2_SPRING, body, no_body);
    def.anchor_b = s2_vec2(0, 1);
    def.rest_length = 0.5;
    def.has_law = k == 1;
    def.stiffness = k == 1 ? 0 : 20;
    def.cubic = k == 1 ? 0 : 60;
    S2JointId joint;
    must(s2_joint_create(world, &def, &joint));
    S2Trace *trace = s2_trace_new();
    must(s2_world_step_traced(world, trace));
    S2WorldGradient g = {0};
    S2Arena arena;
    s2_arena_init(&arena);
    s2_world_gradient_fit(&g, world);
    g.q[0] = 0.5, g.q[1] = 1, g.v[2] = 0.7;
    must(s2_trace_vjp(trace, &g, &arena));
    memcpy(found[k], g.q, 3 * sizeof(double));
    memcpy(found[k] + 3, g.v, 3 * sizeof(double));
    s2_arena_free(&arena);
    s2_world_gradient_free(&g);
    s2_trace_free(trace);
    s2_world_destroy(world);
  }
  for (int i = 0; i < 6; i++) {
    near(found[1][i], found[0][i], 1e-13);
  }
  assert_true(fabs(found[0][1] - 1) > 1e-3); // the spring has an effect
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_step),    cmocka_unit_test(torn_apart), cmocka_unit_test(stopped),
      cmocka_unit_test(floating),    cmocka_unit_test(viscous),    cmocka_unit_test(many_steps),
      cmocka_unit_test(mixed),       cmocka_unit_test(sprung),     cmocka_unit_test(no_room),
      cmocka_unit_test(exactly_met), cmocka_unit_test(refusals),   cmocka_unit_test(given_slopes),
  };
  cmocka_set_test_filter(getenv("S2_TEST"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
