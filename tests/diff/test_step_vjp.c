// Derivatives of bodies and contacts: world_differences.h describes the comparison.
#include "world_differences.h"

enum { SEEDS = S2_FEWER(5, 3), VARIANTS = 13 };

// ---- Scenes -----------------------------------------------------------------------------------

static S2World *exact_world(double gravity_y, double dt) {
  S2World *world = world_new(gravity_y, dt);
  S2WorldDef def = *s2_world_settings(world);
  def.gravity.x = 0.3;
  def.tolerance = 1e-12;
  must(s2_world_configure(world, &def));
  return world;
}

static S2BodyDef moving(double x, double y, double vx, double vy, double omega) {
  S2BodyDef def = at(x, y);
  def.velocity = s2_vec2(vx, vy);
  def.angular_velocity = omega;
  def.density = 1.3;
  return def;
}

static void free_flight(void **state) {
  (void)state;
  Count counts[CLASSES] = {0};
  S2World *world = exact_world(-9.8, 1.0 / 60);
  S2BodyDef def = moving(0, 0, 1, 2, 3);
  def.linear_damping = 0.4;
  def.angular_damping = 0.3;
  def.gravity_scale = 0.8;
  S2BodyId body = add_box(world, def, 0.4, 0.2);
  S2WorldDef settings = *s2_world_settings(world);
  settings.alpha = 0.7;
  settings.beta = 0.6;
  must(s2_world_configure(world, &settings));
  must(s2_body_apply_force(world, body, s2_vec2(1, 2), NULL));
  must(s2_body_apply_torque(world, body, 0.2));
  compare("free flight", world, 10, 1, counts);
  report("free flight", counts);
  assert_true(counts[OF_F].nonzero == 3 && counts[OF_ALPHA].nonzero == 1 &&
              counts[OF_BETA].nonzero == 1 && counts[OF_LINEAR_DAMPING].nonzero == 1);
  s2_world_destroy(world);
}

static void bouncing_ball(void **state) {
  (void)state;
  Count counts[CLASSES] = {0};
  S2World *world = exact_world(-9.8, 1.0 / 60);
  S2BodyDef floor = fixed_at(0, -1);
  floor.angle = 0.1;
  floor.restitution = 0.5;
  floor.friction = 0.3;
  add_box(world, floor, 10, 1);
  S2BodyDef def = moving(0, 1, 1, 0, 30);
  def.restitution = 0.8;
  def.friction = 0.1;
  add_disc(world, def, 0.3);
  compare("bouncing ball", world, 60, 2, counts);
  report("bouncing ball", counts);
  assert_true(counts[OF_RESTITUTION].nonzero > 0 && counts[OF_FRICTION].nonzero > 0);
  s2_world_destroy(world);
}

static void sliding_and_sticking(void **state) {
  (void)state;
  may_skip(0.6, 0.45);
  Count counts[CLASSES] = {0};
  for (int k = 0; k < 4; k++) {
    S2World *world = exact_world(-9.8, 1.0 / 60);
    S2BodyDef floor = fixed_at(0, -0.5);
    floor.friction = k < 2 ? 0.2 : 0.9;
    floor.surface_speed = k == 1 ? 0.4 : 0;
    add_box(world, floor, 10, 1);
    S2BodyDef def = moving(0.1, 0.2, 1.5, 0, 0);
    def.friction = 0.5;
    def.surface_speed = k == 1 ? 0.2 : 0;
    add_box(world, def, 0.8, 0.4);
    if (k % 2 == 1) {
      add_disc(world, moving(-1, 0.25, 1, 0, -2), 0.25);
    }
    compare("sliding and sticking", world, 30, 3 + (uint64_t)k, counts);
    s2_world_destroy(world);
  }
  report("sliding and sticking", counts);
  assert_true(counts[OF_FRICTION].nonzero > 0 && counts[OF_SURFACE_SPEED].nonzero > 0);
}

static void pushed(void **state) {
  (void)state;
  may_skip(0.5, 0.5);
  Count counts[CLASSES] = {0};
  S2World *world = exact_world(-9.8, 1.0 / 60);
  S2BodyDef floor = fixed_at(0, -0.5);
  add_box(world, floor, 10, 1);
  S2BodyDef pusher = moving(-1, 0.4, 1.2, 0.1, 0.2);
  pusher.type = S2_KINEMATIC;
  add_box(world, pusher, 0.4, 0.6);
  add_box(world, moving(-0.3, 0.25, 0, 0, 0), 0.5, 0.5);
  compare("pushed", world, 30, 11, counts);
  report("pushed", counts);
  s2_world_destroy(world);
}

static void soft(void **state) {
  (void)state;
  Count counts[CLASSES] = {0};
  S2World *world = exact_world(-9.8, 1.0 / 60);
  S2BodyDef floor = fixed_at(0, -0.5);
  floor.contact_compliance = 1e-3;
  floor.contact_damping = 2;
  add_box(world, floor, 10, 1);
  S2BodyDef def = moving(0.1, 0.4, 0.5, 0, 0.3);
  def.friction = 0.1;
  def.contact_compliance = 2e-3;
  def.contact_damping = 3;
  add_box(world, def, 0.5, 0.5);
  compare("soft", world, 40, 13, counts);
  report("soft", counts);
  assert_true(counts[OF_CONTACT_COMPLIANCE].nonzero > 0 && counts[OF_CONTACT_DAMPING].nonzero > 0);
  s2_world_destroy(world);
}

// The step resolves these slow soft contacts, so alpha and beta apply to them.
static void soft_blended(void **state) {
  (void)state;
  Count counts[CLASSES] = {0};
  S2World *world = exact_world(-9.8, 1.0 / 60);
  S2WorldDef settings = *s2_world_settings(world);
  settings.alpha = 0.7;
  settings.beta = 0.6;
  must(s2_world_configure(world, &settings));
  S2BodyDef floor = fixed_at(0, -0.5);
  floor.contact_compliance = 0.02;
  floor.contact_damping = 2;
  add_box(world, floor, 10, 1);
  S2BodyDef def = moving(0.1, 0.27, 0.5, 0, 0.3);
  def.contact_compliance = 0.03;
  def.contact_damping = 3;
  add_box(world, def, 0.5, 0.5);
  compare("soft, blended", world, 20, 15, counts);
  report("soft, blended", counts);
  assert_true(counts[OF_CONTACT_COMPLIANCE].nonzero > 0 && counts[OF_ALPHA].nonzero == 1 &&
              counts[OF_BETA].nonzero == 1);
  s2_world_destroy(world);
}

static void stack(void **state) {
  (void)state;
  Count counts[CLASSES] = {0};
  S2World *world = exact_world(-9.8, 1.0 / 60);
  add_box(world, fixed_at(0, -0.5), 10, 1);
  for (int k = 0; k < 3; k++) {
    add_box(world, moving(0.03 * k, 0.26 + 0.53 * k, 0.1 * k, 0, 0.1), 0.5, 0.5);
  }
  compare("stack", world, 8, 17,
          counts); // lands; from step 10 on it rests, on an edge between two modes
  report("stack", counts);
  s2_world_destroy(world);
}

static S2JointId add_hinge(S2World *world, S2BodyId a, S2BodyId b, double x, double y) {
  S2JointDef def = s2_joint_def(S2_HINGE);
  def.a = a;
  def.b = b;
  def.anchor_a = s2_vec2(x, y);
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

// Swinging, and thrown onto the floor and against a disc.
static void hinges(void **state) {
  (void)state;
  Count counts[CLASSES] = {0};
  for (int k = 0; k < 10; k++) {
    S2World *world = exact_world(-9.8, 1.0 / 60);
    bool thrown = k >= 8;
    S2BodyId base = add_box(world, fixed_at(0, thrown ? -0.5 : 0), thrown ? 10 : 0.1, 0.1);
    S2BodyDef link = moving(0.5, 0, thrown ? 1 : 0, 0, thrown ? 0.4 : 0);
    link.restitution = 0.6;
    link.friction = 0.2;
    S2BodyId first = add_box(world, link, 1, 0.1);
    link.position.x = 1.5;
    link.velocity.y = k == 2 ? 8 : 0;
    S2BodyId second = add_box(world, link, 1, 0.1);
    add_hinge(world, second, first, 1, 0);
    if (thrown) {
      S2BodyDef disc = moving(2.3, 0, -2, 0, 2);
      disc.gravity_scale = 1.3; // bodies that fall alike have no relative acceleration, an edge
      add_disc(world, disc, 0.2);
    } else {
      add_hinge(world, first, base, 0, 0);
    }
    S2WorldDef def = *s2_world_settings(world);
    const S2Stabilization how[4] = {S2_BAUMGARTE, S2_POST, S2_POST_ASSEMBLY, S2_PRE};
    def.stabilization = k >= 3 && k < 7 ? how[k - 3] : S2_PROJECTION;
    // For bodies that fall alike, the displacement of joints has two equal bounds, and a weak
    // derivative.
    def.stabilization = thrown ? S2_POST_ASSEMBLY : def.stabilization;
    def.stepping = k == 7 || k == 9 ? S2_BISECT : S2_SPECULATIVE;
    def.substeps = k == 1 ? 2 : 1;
    must(s2_world_configure(world, &def));
    compare("hinges", world, thrown ? 22 : 16, 19, counts);
    s2_world_destroy(world);
  }
  report("hinges", counts);
  assert_true(counts[OF_RESTITUTION].nonzero > 0);
}

// ---- Random scenes ----------------------------------------------------------------------------

static double between(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static void add_polygon(S2World *world, S2BodyDef def, S2Rng *rng) {
  S2Vec2 v[5];
  int count = 3 + (int)between(rng, 0, 2.99);
  for (int k = 0; k < count; k++) {
    double angle = 6.283185307179586 * (k + between(rng, 0, 0.5)) / count,
           reach = between(rng, 0.25, 0.4);
    v[k] = s2_vec2(reach * cos(angle), reach * sin(angle));
  }
  S2Vec2 hull[5];
  int kept = s2_hull(v, count, hull);
  add_body(world, def, hull, kept, s2_rng_uniform(rng) < 0.5 ? 0 : 0.05);
}

// Bodies of all kinds over a leaning floor, thrown at each other.
static S2World *random_scene(uint64_t seed, const S2WorldDef *settings) {
  S2Rng rng = s2_rng_seeded(seed);
  S2WorldDef def = *settings;
  S2World *world;
  must(s2_world_create(&def, &world));
  S2BodyDef floor = fixed_at(0, -0.5);
  floor.angle = between(&rng, -0.2, 0.2);
  floor.friction = between(&rng, 0.1, 0.9);
  floor.restitution = between(&rng, 0.1, 0.9);
  add_box(world, floor, 20, 1);
  int bodies = 1 + (int)between(&rng, 0, 4.99);
  for (int k = 0; k < bodies; k++) {
    S2BodyDef body = moving(0.9 * k - 1, between(&rng, 0.5, 1.2), between(&rng, -2, 2),
                            between(&rng, -3, 0), between(&rng, -4, 4));
    body.angle = between(&rng, 0, 6);
    body.friction = between(&rng, 0.05, 0.9);
    body.restitution = between(&rng, 0.1, 0.9);
    body.linear_damping = between(&rng, 0, 0.3);
    body.angular_damping = between(&rng, 0, 0.3);
    body.gravity_scale = between(&rng, 0.5, 1.5);
    body.surface_speed = s2_rng_uniform(&rng) < 0.3 ? between(&rng, -1, 1) : 0;
    bool springy = s2_rng_uniform(&rng) < 0.2;
    body.contact_compliance = springy ? between(&rng, 1e-4, 1e-2) : 0;
    body.contact_damping = springy ? between(&rng, 0, 5) : 0;
    body.contact_viscosity = s2_rng_uniform(&rng) < 0.4 ? between(&rng, 0.05, 1) : 0;
    body.type = s2_rng_uniform(&rng) < 0.1 ? S2_KINEMATIC : S2_DYNAMIC;
    double kind = s2_rng_uniform(&rng);
    if (kind < 0.3) {
      add_disc(world, body, between(&rng, 0.2, 0.4));
    } else if (kind < 0.5) {
      const S2Vec2 ends[2] = {{-0.2, 0}, {0.2, 0}};
      add_body(world, body, ends, 2, 0.15);
    } else {
      add_polygon(world, body, &rng);
    }
  }
  for (int k = 0; k < world->pieces.count; k++) { // some with their own materials
    S2Piece *piece = &world->pieces.at[k];
    bool own = s2_rng_uniform(&rng) < 0.6;
    piece->friction = own ? between(&rng, 0.1, 0.8) : piece->friction;
    piece->restitution = own ? between(&rng, 0.1, 0.8) : piece->restitution;
  }
  return world;
}

static S2WorldDef settings_of(int variant) {
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0.2, -9.8);
  def.dt = 1.0 / 60;
  def.tolerance = 1e-12;
  switch (variant) {
  case 1:
    def.restitution_model = S2_REFLECTIONS;
    break;
  case 2:
    def.stepping = S2_BISECT;
    break;
  case 3:
    def.substeps = 3;
    break;
  case 4:
    def.stabilization = S2_POST_ASSEMBLY;
    break;
  case 5:
    def.stabilization = S2_PRE;
    break;
  case 6:
    def.stabilization = S2_BAUMGARTE;
    break;
  case 7:
    def.alpha = 0.7;
    def.beta = 0.6;
    break;
  case 8:
    def.combine_friction = S2_COMBINE_MIN;
    def.combine_restitution = S2_COMBINE_GEOMETRIC;
    def.dt = 1.0 / 20; // fast: rows are evaluated again at the end of steps
    break;
  case 9:
    def.contact = S2_FRICTIONLESS;
    def.combine_restitution = S2_COMBINE_MULTIPLY;
    def.stabilization = S2_NO_STABILIZATION;
    break;
  case 10:
    def.stabilization = S2_POST;
    break;
  case 11:
    def.contact = S2_CONVEX;
    break;
  case 12:
    def.contact = S2_CONVEX;
    def.alpha = 0.7;
    def.beta = 0.6;
    break;
  default:
    break;
  }
  return def;
}

static void random_scenes(void **state) {
  (void)state;
  const char *wanted = getenv("S2_VARIANT"), *more = getenv("S2_SEEDS");
  uint64_t seeds = more == NULL ? SEEDS : strtoull(more, NULL, 10);
  int nonzero[CLASSES] = {0};
  for (int variant = 0; variant < VARIANTS; variant++) {
    if (wanted != NULL && atoi(wanted) != variant) {
      continue;
    }
    Count counts[CLASSES] = {0};
    may_skip(0.5, 0.2);
    S2WorldDef settings = settings_of(variant);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
      char name[64];
      snprintf(name, sizeof name, "random %d.%d", variant, (int)seed);
      S2World *world = random_scene(seed, &settings);
      compare(name, world, 13, seed, counts);
      s2_world_destroy(world);
    }
    char name[64];
    snprintf(name, sizeof name, "random %d", variant);
    report(name, counts);
    assert_true(counts[OF_V].nonzero > 5);
    for (Class of = 0; of < OF_NOTHING; of++) {
      nonzero[of] += counts[of].nonzero;
    }
  }
  for (Class of = 0; of < OF_CONTACT_VISCOSITY && wanted == NULL; of++) {
    assert_true(nonzero[of] > 0);
  }
}

// ---- Traces ----------------------------------------------------------------------------------

// Steps with and without notes give the same bits, and so do two sweeps back over them.
static void same_bits(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 10; seed++) {
    S2WorldDef settings = settings_of((int)seed % 10);
    S2World *world = random_scene(seed, &settings), *plain;
    must(s2_world_clone(world, &plain));
    Rollout rollout = {.steps = 20, .weight = {{1, 2, 3}, {4, 5, 6}}};
    S2Trace *trace = s2_trace_new();
    for (int k = 0; k < rollout.steps; k++) {
      must(s2_world_step_traced(world, trace));
      must(s2_world_step(plain));
      assert_true(s2_trace_bytes(trace) > 0);
    }
    size_t size = s2_world_image_size(world);
    assert_int_equal(s2_world_image_size(plain), size);
    unsigned char *image[2] = {malloc(size), malloc(size)};
    s2_world_image_write(world, image[0]);
    s2_world_image_write(plain, image[1]);
    assert_memory_equal(image[0], image[1], size);
    S2WorldGradient g[2] = {{0}, {0}};
    for (int k = 0; k < 2; k++) {
      backward(plain, &rollout, &g[k]);
      free(image[k]);
    }
    assert_memory_equal(g[0].q, g[1].q, sizeof(double) * 3 * (size_t)g[0].slots);
    assert_memory_equal(g[0].v, g[1].v, sizeof(double) * 3 * (size_t)g[0].slots);
    assert_memory_equal(g[0].body, g[1].body, sizeof *g[0].body * (size_t)g[0].slots);
    assert_memory_equal(g[0].vertex, g[1].vertex, sizeof(S2Vec2) * (size_t)g[0].vertices);
    assert_true(g[0].dt == g[1].dt && g[0].gravity.y == g[1].gravity.y);
    s2_world_gradient_free(&g[0]);
    s2_world_gradient_free(&g[1]);
    s2_trace_free(trace);
    s2_world_destroy(world);
    s2_world_destroy(plain);
  }
}

static S2BodyDef heaped(double x, double y, S2BodyType type) {
  S2BodyDef def = at(x, y);
  def.type = type;
  def.density = 1;
  def.friction = 0.2;
  def.restitution = 0.6;
  return def;
}

// Discs piled in a trough, whose sliding contacts press according to the load distribution of
// redundant contacts. Derivatives that follow this distribution grow by 1e5 a step, until no system
// can be solved.
static void jammed_heap(void **state) {
  (void)state;
  enum { DISCS = 30, BEFORE = 150, STEPS = 100 };
  S2World *world = world_new(-9.81, 1.0 / 240);
  add_box(world, heaped(0, -0.5, S2_STATIC), 20, 1);
  add_box(world, heaped(-1.6, 2, S2_STATIC), 0.2, 6);
  add_box(world, heaped(1.6, 2, S2_STATIC), 0.2, 6);
  for (int k = 0; k < DISCS; k++) {
    double x = -1.2 + 0.6 * (k % 5) + 0.05 * (k / 5 % 2), y = 0.4 + 0.6 * (k / 5);
    add_disc(world, heaped(x, y, S2_DYNAMIC), 0.25);
  }
  for (int k = 0; k < BEFORE; k++) {
    must(s2_world_step(world));
  }
  S2Trace *trace[STEPS];
  for (int k = 0; k < STEPS; k++) {
    trace[k] = s2_trace_new();
    must(s2_world_step_traced(world, trace[k]));
  }
  S2WorldGradient g = {0};
  S2Arena arena;
  s2_arena_init(&arena);
  s2_world_gradient_fit(&g, world);
  s2_world_gradient_clear(&g);
  for (int i = 0; i < 3 * g.slots; i++) {
    g.q[i] = 1 + 0.1 * i;
  }
  for (int k = STEPS - 1; k >= 0; k--) {
    must(s2_trace_vjp(trace[k], &g, &arena));
    s2_trace_free(trace[k]);
  }
  double largest = 0;
  for (int i = 0; i < 3 * g.slots; i++) {
    assert_true(isfinite(g.v[i]) && isfinite(g.q[i]));
    largest = fmax(largest, fabs(g.v[i]));
  }
  assert_int_equal(g.flags & (S2_GRADIENT_SINGULAR | S2_GRADIENT_PARTIAL), 0);
  assert_true(g.flags & S2_GRADIENT_UNDETERMINED); // otherwise the heap tests nothing
  assert_true(largest > 1 && largest < 1e3);
  s2_world_gradient_free(&g);
  s2_arena_free(&arena);
  s2_world_destroy(world);
}

// A trace outlives its world, is empty after a step that failed, and reports what it cannot do.
static bool refuse(void *user, S2World *world, S2ForceCall *call) {
  (void)user, (void)world, (void)call;
  return false;
}

static void misuse(void **state) {
  (void)state;
  S2WorldGradient g = {0};
  S2Arena arena;
  s2_arena_init(&arena);
  S2Trace *trace = s2_trace_new();
  S2Status status = s2_trace_vjp(trace, &g, &arena);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "empty"));
  S2World *world = exact_world(-9.8, 1.0 / 60);
  S2BodyId body = add_disc(world, moving(0, 1, 1, 0, 0), 0.2);
  must(s2_world_step_traced(world, trace));
  status = s2_trace_vjp(trace, &g, &arena);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "s2_world_gradient_fit"));
  s2_world_gradient_fit(&g, world);
  g.q[1] = 1;
  S2Trace *failed = s2_trace_new();
  must(s2_body_set_force_law(world, body, true));
  s2_world_set_callbacks(world, &(S2Callbacks){.force = refuse});
  uint64_t hash = s2_world_hash(world);
  assert_int_equal(s2_world_step_traced(world, failed).code, S2_ABORTED);
  assert_true(s2_world_hash(world) == hash);
  assert_int_equal(s2_trace_vjp(failed, &g, &arena).code, S2_INVALID);
  s2_world_destroy(world);
  must(s2_trace_vjp(trace, &g, &arena));
  assert_true(g.q[1] == 1 && g.v[1] == 1.0 / 60);
  s2_trace_free(failed);
  s2_trace_free(trace);
  s2_world_gradient_free(&g);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(free_flight),
      cmocka_unit_test(bouncing_ball),
      cmocka_unit_test(sliding_and_sticking),
      cmocka_unit_test(pushed),
      cmocka_unit_test(soft),
      cmocka_unit_test(soft_blended),
      cmocka_unit_test(stack),
      cmocka_unit_test(hinges),
      cmocka_unit_test(random_scenes),
      cmocka_unit_test(same_bits),
      cmocka_unit_test(jammed_heap),
      cmocka_unit_test(misuse),
  };
  picked = 4;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
