// Derivatives of whole rollouts, backwards through the notes of their steps, against extrapolated
// central differences. A random linear function of the last state is differentiated by everything
// that a world is made of.
//
// In the environment: S2_SHOW prints errors and counts instead of failing, S2_ONLY names a scene.
#ifndef S2_TEST_WORLD_DIFFERENCES_H
#define S2_TEST_WORLD_DIFFERENCES_H

#include "worlds.h"

#include "diff/trace_notes.h"
#include "diff/world_gradient.h"

enum { CLASSES = 24, MOST_STEPS = 128, LEVELS = 3, PICKED = 4 };

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
static inline int numbers_of(const S2World *world, Class of) {
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

static inline double *number_of(S2World *world, Class of, int i) {
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

static inline double derivative_of(const S2WorldGradient *g, Class of, int i) {
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

static inline void mix(uint64_t *hash, uint64_t what) {
  *hash = (*hash ^ what) * UINT64_C(1099511628211);
}

static const double NOISE = 1e-8; // of an impulse
// m: what mends leave. Of a contact at rest the gap is asked back when it is above 0 and mended
// when it is below: there the derivative is one-sided.
static const double CLOSED = 1e-11;

// Sliding shows in |tangent| = friction * normal; contacts are the last rows.
static inline void sign_modes(const S2Note *note, uint64_t *hash) {
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
static inline void sign(const S2Trace *trace, uint64_t *hash) {
  for (int i = 0; i < trace->notes.at.count; i++) {
    const S2Note *note = s2_note_at(&trace->notes, i);
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

static inline double loss(const S2World *world, const Rollout *rollout) {
  double sum = 0;
  for (int i = 0; i < 3 * world->bodies.count; i++) {
    sum += rollout->weight[0][i] * world->q.at[i] + rollout->weight[1][i] * world->v.at[i];
  }
  return sum;
}

// The loss after all steps from `start`, one number of it set to `value`.
static inline double run(const S2World *start, const Rollout *rollout, Class of, int i,
                         double value, uint64_t *hash) {
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
static inline bool difference(const S2World *start, const Rollout *rollout, Class of, int i,
                              double size, uint64_t base, double *slope, double *doubt) {
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

static inline void backward(const S2World *start, const Rollout *rollout, S2WorldGradient *g) {
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

// Compares derivatives, about PICKED of a class; the scale of a class is its largest in the scene.
static inline void compare(const char *name, const S2World *start, int steps, uint64_t seed,
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
      if (edge || s2_rng_uniform(&rng) * count > PICKED) {
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

static inline void report(const char *name, const Count counts[CLASSES]) {
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

#endif
