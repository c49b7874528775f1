// The derivative of whole rollouts, backwards through the notes of their steps, against
// extrapolated central differences. A random linear function of the last state is differentiated by
// everything that a world is made of.
#include "worlds.h"

#include "diff/trace_notes.h"
#include "diff/world_gradient.h"

enum { CLASSES = 24, MOST_STEPS = 128, LEVELS = 4, SEEDS = 5, VARIANTS = 11 };

typedef enum Class {
  OF_Q,
  OF_V,
  OF_F,
  OF_MASS,
  OF_INERTIA,
  OF_FRICTION,
  OF_RESTITUTION,
  OF_LINEAR_DAMPING,
  OF_ANGULAR_DAMPING,
  OF_GRAVITY_SCALE,
  OF_SURFACE_SPEED,
  OF_CONTACT_COMPLIANCE,
  OF_CONTACT_DAMPING,
  OF_PIECE_RADIUS,
  OF_PIECE_FRICTION,
  OF_PIECE_RESTITUTION,
  OF_VERTEX_X,
  OF_VERTEX_Y,
  OF_GRAVITY_X,
  OF_GRAVITY_Y,
  OF_DT,
  OF_ALPHA,
  OF_BETA,
  OF_NOTHING
} Class;

static const char *const class_name[CLASSES] = {
    "q",
    "v",
    "f",
    "mass",
    "inertia",
    "friction",
    "restitution",
    "linear damping",
    "angular damping",
    "gravity scale",
    "surface speed",
    "contact compliance",
    "contact damping",
    "radius",
    "friction of a piece",
    "restitution of a piece",
    "x of a vertex",
    "y of a vertex",
    "x of gravity",
    "y of gravity",
    "dt",
    "alpha",
    "beta",
    "nothing",
};

typedef struct Count { // over all scenes
  int compared, skipped;
  double worst; // relative error
  int nonzero;
} Count;

// Fields are written as they are, past the checks and what hangs on them (the reach of a body).
static int numbers_of(const S2World *world, Class of) {
  switch (of) {
  case OF_Q:
  case OF_V:
  case OF_F:
    return 3 * world->bodies.count;
  case OF_PIECE_RADIUS:
  case OF_PIECE_FRICTION:
  case OF_PIECE_RESTITUTION:
    return world->pieces.count;
  case OF_VERTEX_X:
  case OF_VERTEX_Y:
    return world->vertices.count;
  case OF_GRAVITY_X:
  case OF_GRAVITY_Y:
  case OF_DT:
  case OF_ALPHA:
  case OF_BETA:
    return 1;
  case OF_NOTHING:
    return 0;
  default:
    return world->bodies.count;
  }
}

static double *number_of(S2World *world, Class of, int i) {
  S2Body *body = i < world->bodies.count ? &world->bodies.at[i] : NULL;
  S2Piece *piece = i < world->pieces.count ? &world->pieces.at[i] : NULL;
  S2WorldDef *def = &world->kept.def;
  switch (of) {
  case OF_Q:
    return &world->q.at[i];
  case OF_V:
    return &world->v.at[i];
  case OF_F:
    return &world->f.at[i];
  case OF_MASS:
    return &body->mass;
  case OF_INERTIA:
    return &body->inertia;
  case OF_FRICTION:
    return &body->friction;
  case OF_RESTITUTION:
    return &body->restitution;
  case OF_LINEAR_DAMPING:
    return &body->linear_damping;
  case OF_ANGULAR_DAMPING:
    return &body->angular_damping;
  case OF_GRAVITY_SCALE:
    return &body->gravity_scale;
  case OF_SURFACE_SPEED:
    return &body->surface_speed;
  case OF_CONTACT_COMPLIANCE:
    return &body->contact_compliance;
  case OF_CONTACT_DAMPING:
    return &body->contact_damping;
  case OF_PIECE_RADIUS:
    return &piece->radius;
  case OF_PIECE_FRICTION:
    return &piece->friction;
  case OF_PIECE_RESTITUTION:
    return &piece->restitution;
  case OF_VERTEX_X:
    return &world->vertices.at[i].x;
  case OF_VERTEX_Y:
    return &world->vertices.at[i].y;
  case OF_GRAVITY_X:
    return &def->gravity.x;
  case OF_GRAVITY_Y:
    return &def->gravity.y;
  case OF_DT:
    return &def->dt;
  case OF_ALPHA:
    return &def->alpha;
  case OF_BETA:
    return &def->beta;
  case OF_NOTHING:
    break;
  }
  return NULL;
}

static double derivative_of(const S2WorldGradient *g, Class of, int i) {
  switch (of) {
  case OF_Q:
    return g->q[i];
  case OF_V:
    return g->v[i];
  case OF_F:
    return g->f[i];
  case OF_MASS:
    return g->body[i].mass;
  case OF_INERTIA:
    return g->body[i].inertia;
  case OF_FRICTION:
    return g->body[i].friction;
  case OF_RESTITUTION:
    return g->body[i].restitution;
  case OF_LINEAR_DAMPING:
    return g->body[i].linear_damping;
  case OF_ANGULAR_DAMPING:
    return g->body[i].angular_damping;
  case OF_GRAVITY_SCALE:
    return g->body[i].gravity_scale;
  case OF_SURFACE_SPEED:
    return g->body[i].surface_speed;
  case OF_CONTACT_COMPLIANCE:
    return g->body[i].contact_compliance;
  case OF_CONTACT_DAMPING:
    return g->body[i].contact_damping;
  case OF_PIECE_RADIUS:
    return g->piece[i].radius;
  case OF_PIECE_FRICTION:
    return g->piece[i].friction;
  case OF_PIECE_RESTITUTION:
    return g->piece[i].restitution;
  case OF_VERTEX_X:
    return g->vertex[i].x;
  case OF_VERTEX_Y:
    return g->vertex[i].y;
  case OF_GRAVITY_X:
    return g->gravity.x;
  case OF_GRAVITY_Y:
    return g->gravity.y;
  case OF_DT:
    return g->dt;
  case OF_ALPHA:
    return g->alpha;
  case OF_BETA:
    return g->beta;
  case OF_NOTHING:
    break;
  }
  return 0;
}

// ---- Rollouts ---------------------------------------------------------------------------------

static void mix(uint64_t *hash, uint64_t what) {
  *hash = (*hash ^ what) * UINT64_C(1099511628211);
}

static const double NOISE = 1e-8; // of an impulse
// m: what mends leave. Of a contact at rest the gap is asked back when it is above 0 and mended
// when it is below: there the derivative is one-sided.
static const double CLOSED = 1e-11;

// Sliding shows in |tangent| = friction * normal; contacts are the last rows.
static void sign_modes(const S2Note *note, uint64_t *hash) {
  for (int pass = 0, r = 0; pass < 2; pass++) {
    r = pass == 0 ? 0 : note->rows - r;
    for (int i = 0; i < note->island.touches; i++) {
      const S2Touch *touch = &note->touches[i];
      for (int k = 0; k < touch->count; k++) {
        bool used = note->choices[2 * i + k].use && s2_kind_presses(note->kind, touch);
        int rows = used * ((note->kind != S2_RUB) + s2_kind_is_rough(note->kind, touch));
        if (pass == 1 && rows == 2) {
          double most = touch->friction * note->lambda[r];
          mix(hash, fabs(note->lambda[r + 1]) >= most * (1 - 1e-9) - NOISE * 1e-3);
        }
        r += rows;
      }
    }
  }
}

// Which branches a step took: acts, contacts, modes. Mends count as one, as how many it takes is
// decided by rounding.
static void sign(const S2Trace *trace, uint64_t *hash) {
  for (int i = 0; i < trace->notes.at.count; i++) {
    const S2Note *note = trace->notes.at.at[i];
    mix(hash, (uint64_t)note->act);
    mix(hash, (uint64_t)note->rows);
    mix(hash, note->part == 1);
    for (int k = 0; k < note->island.touches && note->touches != NULL; k++) {
      const S2Touch *touch = &note->touches[k];
      for (int p = 0; p < touch->count; p++) {
        const S2Choice *choice = &note->choices[2 * k + p];
        mix(hash, touch->points[p].at.id);
        mix(hash, (uint64_t)choice->use + 2 * (uint64_t)choice->target);
        double gap = touch->points[p].at.gap;
        mix(hash, gap > CLOSED ? 1 : gap < -CLOSED ? 2 : 0);
      }
    }
    for (int r = 0; r < note->rows && note->kind != S2_POSITIONS; r++) {
      double lambda = note->lambda[r];
      mix(hash, lambda > NOISE ? 1 : lambda < -NOISE ? 2 : 0);
    }
    if (note->act == S2_ACT_SOLVE) {
      sign_modes(note, hash);
    }
  }
}

typedef struct Rollout {
  int steps;
  double weight[2][64]; // of q and v
} Rollout;

static double loss(const S2World *world, const Rollout *rollout) {
  double sum = 0;
  for (int i = 0; i < 3 * world->bodies.count; i++) {
    sum += rollout->weight[0][i] * world->q.at[i] + rollout->weight[1][i] * world->v.at[i];
  }
  return sum;
}

// The loss after all steps from `start`, one number of it set to `value`.
static double run(const S2World *start, const Rollout *rollout, Class of, int i, double value,
                  uint64_t *hash) {
  S2World *world;
  must(s2_world_clone(start, &world));
  if (of != OF_NOTHING) {
    *number_of(world, of, i) = value;
  }
  S2Trace *trace = s2_trace_new();
  *hash = UINT64_C(1469598103934665603);
  for (int k = 0; k < rollout->steps; k++) {
    must(s2_world_step_traced(world, trace));
    sign(trace, hash);
  }
  double l = loss(world, rollout);
  s2_trace_free(trace);
  s2_world_destroy(world);
  return l;
}

// Extrapolated central differences (Richardson, steps halved); false: a branch changed.
static bool difference(const S2World *start, const Rollout *rollout, Class of, int i, double size,
                       uint64_t base, double *slope, double *doubt) {
  double at = *number_of((S2World *)(uintptr_t)start, of, i), table[LEVELS][LEVELS];
  for (int k = 0; k < LEVELS; k++) {
    double step = size / (1 << k);
    uint64_t up_hash, down_hash;
    double up = run(start, rollout, of, i, at + step, &up_hash);
    double down = run(start, rollout, of, i, at - step, &down_hash);
    if (up_hash != base || down_hash != base) {
      return false;
    }
    table[k][0] = (up - down) / (2 * step);
    double power = 1;
    for (int j = 1; j <= k; j++) {
      power *= 4;
      table[k][j] = table[k][j - 1] + (table[k][j - 1] - table[k - 1][j - 1]) / (power - 1);
    }
  }
  *slope = table[LEVELS - 1][LEVELS - 1];
  *doubt = fabs(*slope - table[LEVELS - 2][LEVELS - 2]);
  return true;
}

static void backward(const S2World *start, const Rollout *rollout, S2WorldGradient *g) {
  S2World *world;
  must(s2_world_clone(start, &world));
  S2Trace *trace[MOST_STEPS];
  for (int k = 0; k < rollout->steps; k++) {
    trace[k] = s2_trace_new();
    must(s2_world_step_traced(world, trace[k]));
  }
  s2_world_gradient_fit(g, world);
  for (int i = 0; i < 3 * world->bodies.count; i++) {
    g->q[i] = rollout->weight[0][i];
    g->v[i] = rollout->weight[1][i];
  }
  S2Arena arena;
  s2_arena_init(&arena);
  for (int k = rollout->steps - 1; k >= 0; k--) {
    must(s2_trace_vjp(trace[k], g, &arena));
    s2_trace_free(trace[k]);
  }
  s2_arena_free(&arena);
  s2_world_destroy(world);
}

// Compares all derivatives; the scale of a class is its largest in the scene.
static void compare(const char *name, const S2World *start, int steps, uint64_t seed,
                    Count counts[CLASSES]) {
  const char *only = getenv("S2_ONLY");
  if (only != NULL && strcmp(only, name) != 0) {
    return;
  }
  Rollout rollout = {.steps = steps};
  S2Rng rng = s2_rng_seeded(seed);
  assert_true(3 * start->bodies.count <= 64);
  for (int i = 0; i < 3 * start->bodies.count; i++) {
    rollout.weight[0][i] = s2_rng_normal(&rng);
    rollout.weight[1][i] = s2_rng_normal(&rng);
  }
  S2WorldGradient g = {0};
  backward(start, &rollout, &g);
  if ((g.flags & (S2_GRADIENT_WEAK | S2_GRADIENT_SINGULAR)) != 0) { // on an edge: one-sided
    counts[OF_NOTHING].skipped += 1;
    s2_world_gradient_free(&g);
    return;
  }
  counts[OF_NOTHING].compared += 1;
  uint64_t base;
  (void)run(start, &rollout, OF_NOTHING, 0, 0, &base);
  bool show = getenv("S2_SHOW") != NULL;
  for (Class of = 0; of < OF_NOTHING; of++) {
    double scale = 0;
    int count = numbers_of(start, of);
    for (int i = 0; i < count; i++) {
      scale = fmax(scale, fabs(derivative_of(&g, of, i)));
    }
    for (int i = 0; i < count; i++) {
      double at = *number_of((S2World *)(uintptr_t)start, of, i), slope = 0, doubt = 0;
      double size = 1e-3 * fmax(fabs(at), of == OF_CONTACT_COMPLIANCE ? 0 : 0.1);
      bool edge = isnan(at) || (of >= OF_MASS && of <= OF_PIECE_RESTITUTION && at == 0) ||
                  ((of == OF_ALPHA || of == OF_BETA) && at == 1);
      if (edge) {
        continue;
      }
      bool same = false;
      for (int tries = 0; tries < 4 && !same; tries++, size /= 8) {
        same = difference(start, &rollout, of, i, size, base, &slope, &doubt);
      }
      if (!same || doubt > 3e-7 * fmax(scale, 1e-3)) { // a switch is near
        counts[of].skipped += 1;
        continue;
      }
      double mine = derivative_of(&g, of, i), wrong = fabs(mine - slope);
      double relative = wrong / fmax(scale, 1e-3);
      counts[of].compared += 1;
      counts[of].nonzero += fabs(mine) > 1e-6;
      counts[of].worst = fmax(counts[of].worst, relative);
      if (show && relative > 1e-6) {
        printf("%s: %s %d: %.10g, differences %.10g (doubt %.1e), relative %.1e\n", name,
               class_name[of], i, mine, slope, doubt / fmax(scale, 1e-3), relative);
      }
      if (relative > 1e-6 && !show) {
        fail_msg("%s: %s %d: %.10g, differences %.10g (doubt %.1e)", name, class_name[of], i, mine,
                 slope, doubt);
      }
    }
  }
  s2_world_gradient_free(&g);
}

static void report(const char *name, const Count counts[CLASSES]) {
  if (getenv("S2_SHOW") == NULL) {
    return;
  }
  printf("%s: %d scenes, %d of them on an edge\n", name,
         counts[OF_NOTHING].compared + counts[OF_NOTHING].skipped, counts[OF_NOTHING].skipped);
  for (Class of = 0; of < OF_NOTHING; of++) {
    printf("  %-22s compared %4d skipped %4d not 0 %4d worst %.1e\n", class_name[of],
           counts[of].compared, counts[of].skipped, counts[of].nonzero, counts[of].worst);
  }
}

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

static void stack(void **state) {
  (void)state;
  Count counts[CLASSES] = {0};
  S2World *world = exact_world(-9.8, 1.0 / 60);
  add_box(world, fixed_at(0, -0.5), 10, 1);
  for (int k = 0; k < 3; k++) {
    add_box(world, moving(0.03 * k, 0.26 + 0.53 * k, 0.1 * k, 0, 0.1), 0.5, 0.5);
  }
  compare("stack", world, 20, 17, counts);
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
      add_disc(world, moving(2.3, 0, -2, 0, 2), 0.2);
    } else {
      add_hinge(world, first, base, 0, 0);
    }
    S2WorldDef def = *s2_world_settings(world);
    const S2Stabilization how[4] = {S2_BAUMGARTE, S2_POST, S2_POST_ASSEMBLY, S2_PRE};
    def.stabilization = k >= 3 && k < 7 ? how[k - 3] : S2_PROJECTION;
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
    double angle = 6.283185307179586 * (k + between(rng, 0, 0.5)) / count, reach = between(rng, 0.25, 0.4);
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
  for (int k = 0; k < world->pieces.count; k++) { // some with materials of their own
    S2Piece *piece = &world->pieces.at[k];
    bool own = s2_rng_uniform(&rng) < 0.3;
    piece->friction = own ? between(&rng, 0.1, 0.8) : piece->friction;
    piece->restitution = own ? between(&rng, 0.1, 0.8) : piece->restitution;
  }
  return world;
}

static S2WorldDef settings_of(int variant) {
  S2WorldDef def = s2_world_def();
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
    def.dt = 1.0 / 20; // fast: rows are taken anew at the end of steps
    break;
  case 9:
    def.contact = S2_FRICTIONLESS;
    def.combine_restitution = S2_COMBINE_MULTIPLY;
    def.stabilization = S2_NO_STABILIZATION;
    break;
  case 10:
    def.stabilization = S2_POST;
    break;
  default:
    break;
  }
  return def;
}

static void random_scenes(void **state) {
  (void)state;
  const char *wanted = getenv("S2_VARIANT");
  int nonzero[CLASSES] = {0};
  for (int variant = 0; variant < VARIANTS; variant++) {
    if (wanted != NULL && atoi(wanted) != variant) {
      continue;
    }
    Count counts[CLASSES] = {0};
    S2WorldDef settings = settings_of(variant);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
      char name[64];
      snprintf(name, sizeof name, "random %d.%d", variant, (int)seed);
      S2World *world = random_scene(seed, &settings);
      compare(name, world, 13, seed, counts);
      s2_world_destroy(world);
    }
    char name[64];
    snprintf(name, sizeof name, "random %d", variant);
    report(name, counts);
    assert_true(counts[OF_V].nonzero > 20);
    for (Class of = 0; of < OF_NOTHING; of++) {
      nonzero[of] += counts[of].nonzero;
    }
  }
  for (Class of = 0; of < OF_NOTHING && wanted == NULL; of++) {
    assert_true(nonzero[of] >= 3);
  }
}

// ---- What a trace is -------------------------------------------------------------------------

// Steps with and without notes give the same bits, and so does going back over them twice.
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

// A trace outlives its world, is empty after a step that failed, and says what it cannot do.
static bool refuse(void *user, S2World *world, S2BodyId body, double t, double dt, double f[3]) {
  (void)user, (void)world, (void)body, (void)t, (void)dt, (void)f;
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
      cmocka_unit_test(free_flight),          cmocka_unit_test(bouncing_ball),
      cmocka_unit_test(sliding_and_sticking), cmocka_unit_test(pushed),
      cmocka_unit_test(soft),                 cmocka_unit_test(stack),
      cmocka_unit_test(hinges),             cmocka_unit_test(random_scenes),
      cmocka_unit_test(same_bits),            cmocka_unit_test(misuse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
