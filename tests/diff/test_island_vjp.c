// Derivatives of acts on whole islands: gears that move more than two bodies; floating bodies with
// their balance and energy; and joints that cannot be corrected.
#include "world_differences.h"

static const double LEAST = 1e-2; // for the derivatives of a class, where the loss is about 10

static void use(S2World *world, const S2WorldDef *def) {
  must(s2_world_configure(world, def));
}

static S2WorldDef exactly(const S2World *world) {
  S2WorldDef def = *s2_world_settings(world);
  def.tolerance = 1e-12;
  return def;
}

static S2BodyId arm(S2World *world, double x, double y, double omega, double vx, double width) {
  S2BodyDef def = at(x, y);
  def.velocity = s2_vec2(vx, 0.2 * omega);
  def.angular_velocity = omega;
  def.angular_damping = 0.1;
  def.density = 1.3;
  def.category = 2; // they meet the floor, not each other
  def.mask = 1;
  return add_box(world, def, width, 0.2);
}

static S2JointId hinge(S2World *world, S2BodyId a, S2BodyId b, double x, double y) {
  S2JointDef def = hinge_def(a, b, x, y);
  S2JointId id;
  must(s2_joint_create(world, &def, &id));
  return id;
}

static void mesh(S2World *world, S2JointId a, S2JointId b, double ratio) {
  S2JointDef def = s2_joint_def(S2_GEAR);
  S2JointId id;
  def.joint_a = a;
  def.joint_b = b;
  def.ratio = ratio;
  must(s2_joint_create(world, &def, &id));
}

// ---- Gears ------------------------------------------------------------------------------------

typedef enum Way {
  AS_IS,
  BLENDED,
  SUBSTEPS,
  BAUMGARTE,
  POST_SAME,
  POST_ANEW,
  BEFORE,
  UNMENDED,
  BISECTED,
  GEOMETRIC,
  ACCELERATIONS,
  ON_A_CARRIER,
  WITHOUT_FACTOR,
  ON_THE_FLOOR,
  FREELY,
  WAYS
} Way;

static const char *const way_name[WAYS] = {
    "as is",
    "alpha, beta",
    "substeps",
    "baumgarte",
    "post",
    "post, new rows",
    "pre",
    "none",
    "bisect",
    "geometric",
    "acceleration",
    "on a carrier",
    "a body without a part",
    "on the floor",
    "freely",
};

static void shape_world(Way way, S2WorldDef *def) {
  def->alpha = way == BLENDED || way == GEOMETRIC ? 0.8 : 1;
  def->beta = way == BLENDED || way == GEOMETRIC ? 0.7 : 1;
  def->geometric_stiffness = way == GEOMETRIC ? S2_GEOMETRIC_ON : S2_GEOMETRIC_OFF;
  def->substeps = way == SUBSTEPS ? 2 : 1;
  def->stepping = way == BISECTED ? S2_BISECT : S2_SPECULATIVE;
  def->formulation = way == ACCELERATIONS ? S2_FORM_ACCELERATION : S2_FORM_VELOCITY;
  def->stabilization = way == BAUMGARTE   ? S2_BAUMGARTE
                       : way == POST_SAME ? S2_POST
                       : way == POST_ANEW ? S2_POST_ASSEMBLY
                       : way == BEFORE    ? S2_PRE
                       : way == UNMENDED  ? S2_NO_STABILIZATION
                                          : S2_PROJECTION;
}

// A train on an arm that swings: two wheels on the arm, the second of which has another one on it,
// and a separate pair. Gears of three and of four bodies.
static S2World *train(Way way) {
  S2World *world = world_new(-9.8, 1.0 / 60);
  S2WorldDef def = exactly(world);
  shape_world(way, &def);
  use(world, &def);
  S2BodyId on = no_body;
  if (way == ON_A_CARRIER) {
    S2BodyDef carrier = at(0, 0);
    carrier.type = S2_KINEMATIC;
    carrier.angular_velocity = 0.4;
    carrier.velocity = s2_vec2(0.1, 0.3);
    on = add_box(world, carrier, 0.1, 0.1);
  }
  S2BodyId whole = arm(world, 0.5, 0, -0.4, 0, 1.2);
  S2BodyId one = arm(world, 0.4, 0.05, 1.3, 0, 0.4), two = arm(world, 1, 0.02, -0.7, 0, 0.3);
  S2BodyId three = arm(world, 1.2, -0.03, 0.5, 0.1, 0.5);
  S2JointId root;
  if (way == FREELY) {
    root = hinge(world, whole, three, 1.4, -0.03);
  } else {
    root = hinge(world, whole, on, 0, 0);
  }
  S2JointId first = hinge(world, one, whole, 0.42, 0.03), second = hinge(world, two, whole, 1, 0);
  S2JointId third = hinge(world, three, two, 1.1, 0.01);
  mesh(world, first, second, way == WITHOUT_FACTOR ? -1 : 0.7); // of the arm 1 + ratio
  if (way == ON_A_CARRIER) {
    mesh(world, root, third, -1.2); // the arm, the second and the third wheel on a kinematic body
  } else if (way != FREELY && way != ON_THE_FLOOR) {
    mesh(world, first, third, -1.7);
  }
  if (way == ON_THE_FLOOR) {
    add_box(world, fixed_at(1, -0.75), 4, 1);
  }
  return world;
}

static void gears(void **state) {
  (void)state;
  const int part = S2_FEWER(1, 6);
  picked = getenv("S2_ONLY") == NULL ? 6.0 / part : INFINITY;
  Count counts[CLASSES] = {{0}};
  for (int way = 0; way < WAYS; way++) {
    S2World *world = train((Way)way);
    for (int k = 0; k < 2; k++) {
      must(s2_world_step(world));
    }
    char name[96];
    for (int steps = 1; steps <= 9; steps += 8) {
      snprintf(name, sizeof name, "gears %s, %d steps", way_name[way], steps);
      compare_to(name, world, steps, (uint64_t)way + 7, steps == 1 ? 1e-4 : 1e-5, 1e-6, LEAST,
                 counts);
    }
    for (int i = 3; i < 12; i++) { // none of these corrections enters the velocities
      world->q.at[i] += 1e-4 * (i - 6);
    }
    snprintf(name, sizeof name, "gears %s, torn apart", way_name[way]);
    compare_to(name, world, 1, (uint64_t)way + 77, 1e-6, 1e-6, LEAST, counts);
    s2_world_destroy(world);
  }
  picked *= part; // the following classes have few scenes
  report("gears", counts);
  if (getenv("S2_ONLY") == NULL) {
    assert_true(counts[OF_RATIO].nonzero > 60 / part && counts[OF_SUM].nonzero > 20 / part);
    assert_true(counts[OF_INERTIA].nonzero > 100 / part && counts[OF_V].nonzero > 200 / part);
    assert_true(counts[OF_NOTHING].skipped < 6);
  }
}

// ---- Floating bodies --------------------------------------------------------------------------

// A chain that turns so fast that the forces in it rotate too fast for its steps.
static void too_stiff(void **state) {
  (void)state;
  may_skip(0.45, 0.15);
  Count counts[CLASSES] = {{0}};
  int stiff = 0;
  for (int k = 0; k < 12; k++) {
    bool event = k >= 8;
    S2World *world = world_new(event || k % 2 == 1 ? -3 : 0, k % 4 < 2 ? 0.1 : 0.05);
    S2WorldDef def = exactly(world);
    def.alpha = k < 4 || event ? 1 : 0.8;
    def.beta = k < 4 || event ? 1 : 0.7;
    def.stepping = event ? S2_EVENT : S2_SPECULATIVE;
    def.geometric_stiffness = k == 5 ? S2_GEOMETRIC_ON : S2_GEOMETRIC_OFF;
    use(world, &def);
    S2BodyId body[3];
    for (int i = 0; i < 3; i++) {
      body[i] = arm(world, 0.8 * i, 0.03 * i, 30 + i, 0, i == 1 ? 0.3 : 0.7);
      world->v.at[3 * i + 2] = 30 * 0.8 * (i - 1);
    }
    world->bodies.at[1].mass *= 0.02;
    world->bodies.at[1].inertia *= 0.005;
    for (int i = 0; i < 2; i++) {
      (void)hinge(world, body[i], body[i + 1], 0.8 * i + 0.4, 0.02);
    }
    for (int i = 0; i < 2; i++) {
      must(s2_world_step(world));
    }
    char name[64];
    for (int steps = 1; steps <= 2; steps++) {
      snprintf(name, sizeof name, "too stiff %d, %d steps", k, steps);
      compare_to(name, world, steps, (uint64_t)k + 5, 1e-5, 1e-6, LEAST, counts);
    }
    for (int i = 0; i < 4; i++) {
      must(s2_world_step(world));
      stiff += (int)s2_world_stats(world)->stiffened;
    }
    s2_world_destroy(world);
  }
  report("too stiff", counts);
  if (getenv("S2_SHOW") != NULL) {
    printf("%d steps stiffened\n", stiff);
  }
  assert_true(stiff > 10 && counts[OF_V].nonzero > 20 && counts[OF_INERTIA].nonzero > 5);
}

// Does such an act occur from here on?
static int acts(const S2World *start, int steps, S2Act act) {
  S2World *world;
  must(s2_world_clone(start, &world));
  S2Trace *trace = s2_trace_new();
  int count = 0;
  for (int k = 0; k < steps; k++) {
    must(s2_world_step_traced(world, trace));
    for (int i = 0; i < trace->notes.at.count; i++) {
      count += s2_note_at(&trace->notes, i)->act == act;
    }
  }
  s2_trace_free(trace);
  s2_world_destroy(world);
  return count;
}

// Random chains that turn by large angles in a step: corrections would add more energy than is
// available.
static void capped(void **state) {
  (void)state;
  Count counts[CLASSES] = {{0}};
  S2Rng rng = s2_rng_seeded(5);
  int found = 0;
  const int wanted = S2_FEWER(8, 3);
  for (int k = 0; k < 200 && found < wanted; k++) {
    S2World *world = world_new(k % 2 == 0 ? 0 : -9.8, 1.0 / 30);
    S2WorldDef def = exactly(world);
    use(world, &def);
    S2BodyId body[4];
    int bodies = 2 + k % 3;
    for (int i = 0; i < bodies; i++) {
      body[i] = arm(world, 0.8 * i, 0.1 * s2_rng_normal(&rng), 10 * s2_rng_normal(&rng),
                    s2_rng_normal(&rng), 0.6);
    }
    for (int i = 0; i + 1 < bodies; i++) {
      (void)hinge(world, body[i], body[i + 1], 0.8 * i + 0.4, 0.02);
    }
    for (int i = 0; i < 2; i++) {
      must(s2_world_step(world));
    }
    if (acts(world, 3, S2_ACT_CAP) > 0) {
      found += 1;
      char name[64];
      snprintf(name, sizeof name, "capped %d", k);
      compare_to(name, world, 3, (uint64_t)k + 3, 1e-4, 1e-6, LEAST, counts);
    }
    s2_world_destroy(world);
  }
  report("capped", counts);
  if (getenv("S2_SHOW") != NULL) {
    printf("%d found\n", found);
  }
  assert_true(found == wanted && counts[OF_V].nonzero > 20 * wanted / 8 &&
              counts[OF_MASS].nonzero > 5 * wanted / 8);
}

// A nearly straight chain whose end is moved beyond its reach. The displacements of its joints
// enter the velocities, and the positions are restored.
static void unmendable(void **state) {
  (void)state;
  Count counts[CLASSES] = {{0}};
  S2Rng rng = s2_rng_seeded(6);
  int found = 0;
  for (int k = 0; k < 400 && found < S2_FEWER(8, 3); k++) {
    S2World *world = world_new(k % 2 == 0 ? 0 : -9.8, 1.0 / 60);
    S2WorldDef def = exactly(world);
    use(world, &def);
    S2BodyId body[3];
    for (int i = 0; i < 3; i++) {
      body[i] = arm(world, 0.8 * i, 0, s2_rng_normal(&rng), 0, 0.6);
    }
    (void)hinge(world, body[0], no_body, -0.4, 0.01 * s2_rng_normal(&rng));
    for (int i = 0; i < 2; i++) {
      (void)hinge(world, body[i], body[i + 1], 0.8 * i + 0.4, 0.03 * s2_rng_normal(&rng));
    }
    S2JointDef lock = s2_joint_def(S2_LOCK);
    lock.a = body[2];
    lock.lock_x = lock.lock_y = true;
    lock.lock_angle = k % 3 == 0;
    lock.velocity = s2_vec2(2 * s2_rng_uniform(&rng), 0);
    S2JointId id;
    must(s2_joint_create(world, &lock, &id));
    for (int i = 0; i < k % 3; i++) {
      must(s2_world_step(world));
    }
    if (acts(world, 1, S2_ACT_GO_BACK) > 0) {
      found += 1;
      char name[64];
      snprintf(name, sizeof name, "unmendable %d", k);
      compare_to(name, world, 1, (uint64_t)k + 3, 1e-4, 1e-6, LEAST, counts);
    }
    s2_world_destroy(world);
  }
  report("unmendable", counts);
  if (getenv("S2_SHOW") != NULL) {
    printf("%d found\n", found);
  }
  assert_true(found >= 3 && counts[OF_Q].nonzero > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gears),
      cmocka_unit_test(too_stiff),
      cmocka_unit_test(capped),
      cmocka_unit_test(unmendable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
