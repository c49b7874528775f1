// Derivatives of whole rollouts, backwards through the notes of their steps, compared with
// extrapolated central differences. A random linear function of the last state is differentiated by
// every number of the world.
//
// Environment variables: S2_SHOW prints errors and counts instead of failing, S2_ONLY names a
// scene, S2_PICKED sets how many numbers of a class are compared, S2_PROBE="gravity scale:1" prints
// differences of one number by their step.
//
// Numbers near a switch cannot be compared and are skipped: at most a share of each scene and of
// each report, whatever the environment sets (may_skip).
#ifndef S2_TEST_WORLD_DIFFERENCES_H
#define S2_TEST_WORLD_DIFFERENCES_H

#include "world_numbers.h"

#include "diff/step/trace_notes.h"

enum { MOST_STEPS = 256, LEVELS = 4 };
static bool partial_too = true;  // also compares derivatives that are reported to be incomplete
static double picked = INFINITY; // approximate number of comparisons in a class

static inline void pick(double count) {
  const char *given = getenv("S2_PICKED");
  picked = given != NULL ? strtod(given, NULL) : count;
}

// Shares of the numbers of a scene, and of all scenes of a report, that may be skipped; FEW more
// may be, where a scene has few numbers. A test that skips more sets its own shares, and the next
// report resets them.
static const double SKIPPED_OF_SCENE = 0.35, SKIPPED_OF_ALL = 0.12;
enum { FEW = 3 };
static double skipped_of_scene = SKIPPED_OF_SCENE, skipped_of_all = SKIPPED_OF_ALL;

static inline void may_skip(double of_scene, double of_all) {
  skipped_of_scene = of_scene;
  skipped_of_all = of_all;
}

typedef struct Count { // over all scenes
  int compared, skipped;
  // skipped numbers whose derivative is right on one side and different on the other
  int sided;
  double worst; // relative error
  int nonzero;
} Count;

// ---- Rollouts ---------------------------------------------------------------------------------

static inline void mix(uint64_t *hash, uint64_t what) {
  *hash = (*hash ^ what) * UINT64_C(1099511628211);
}

static const double NOISE = 1e-8; // N s: a smaller impulse counts as 0
// m: the residue of projection. The step of a contact at rest closes a gap above 0, and projection
// removes a gap below 0, so the derivative at 0 is one-sided.
static const double CLOSED = 1e-11;

// Sliding contacts have |tangent| = friction * normal; contacts are the last rows. `sticks`: a row.
static inline void sign_modes(const S2WorldDef *def, const S2Note *note, bool *sticks,
                              uint64_t *hash) {
  S2Choice *choices = calloc(2 * (size_t)note->of->island.touches + 1, sizeof *choices);
  s2_note_choices(note->of, choices);
  for (int pass = 0, r = 0; pass < 2; pass++) {
    r = pass == 0 ? 0 : note->solve.rows - r;
    for (int i = 0; i < note->of->island.touches && note->of->touch != NULL; i++) {
      S2Touch touch;
      s2_note_touch(def, note->of->touch[i], &touch);
      for (int k = 0; k < touch.count; k++) {
        bool used = choices[2 * i + k].use && s2_solve_presses(note->solve.kind, &touch);
        int rows = used * ((s2_solve_traits(note->solve.kind).normals) +
                           s2_solve_is_rough(note->solve.kind, &touch));
        if (pass == 1 && rows == 2) {
          double most = touch.friction * note->of->lambda[r], pull = note->of->lambda[r + 1];
          bool slides = fabs(pull) >= most * (1 - 1e-9) - NOISE * 1e-3;
          mix(hash, slides);
          sticks[r + 1] = !slides;
        }
        r += rows;
      }
    }
  }
  free(choices);
}

static inline void sign_touches(const S2WorldDef *def, const S2NoteIsland *of, uint64_t *hash) {
  S2Choice *choices = calloc(2 * (size_t)of->island.touches + 1, sizeof *choices);
  s2_note_choices(of, choices);
  for (int k = 0; k < of->island.touches; k++) {
    S2Touch touch;
    s2_note_touch(def, of->touch[k], &touch);
    for (int p = 0; p < touch.count; p++) {
      const S2Choice *choice = &choices[2 * k + p];
      mix(hash, touch.points[p].at.id);
      mix(hash, (uint64_t)choice->use + 2 * (uint64_t)choice->target);
      double gap = touch.points[p].at.gap;
      mix(hash, gap > CLOSED ? 1 : gap < -CLOSED ? 2 : 0);
    }
  }
  free(choices);
}

// The parts of an act's record that are branches.
static inline void sign_record(const S2Note *note, uint64_t *hash) {
  switch (note->act) {
  case S2_ACT_SOLVE:
  case S2_ACT_PROJECT:
  case S2_ACT_SHAKE:
  case S2_ACT_FEEDBACK:
    mix(hash, (uint64_t)note->solve.rows);
    mix(hash, note->solve.fraction == 1);
    break;
  case S2_ACT_SHORT:
    mix(hash, note->scaled.fraction == 1);
    break;
  case S2_ACT_KEEP:
    mix(hash, note->keep.fraction == 1);
    break;
  case S2_ACT_BLEND:
    mix(hash, note->blend.e == 1);
    break;
  case S2_ACT_INTERVAL:
    mix(hash, (uint64_t)note->interval.earlier);
    break;
  case S2_ACT_ARRIVE:
    mix(hash, (uint64_t)note->arrive.point);
    mix(hash, note->arrive.share == 1);
    break;
  default:
    break;
  }
}

// The branches of a step: acts, contacts, modes. All projections count as one, because rounding
// determines their number.
static inline void sign(const S2Trace *trace, uint64_t *hash) {
  const S2Fixed *fixed = trace->notes.fixed; // NULL: it is empty
  const S2WorldDef *def = fixed == NULL ? NULL : &fixed->def;
  for (int i = 0; i < trace->notes.at.count; i++) {
    const S2Note *note = s2_note_at(&trace->notes, i);
    if (i > 0 && note->act == S2_ACT_PROJECT &&
        s2_note_at(&trace->notes, i - 1)->act == S2_ACT_PROJECT) {
      continue;
    }
    mix(hash, (uint64_t)note->act);
    sign_record(note, hash);
    if (note->of != NULL && note->of->touch != NULL) {
      sign_touches(def, note->of, hash);
    }
    if (note->act == S2_ACT_SOLVE) {
      bool *sticks = calloc((size_t)note->solve.rows + 1, sizeof *sticks);
      sign_modes(def, note, sticks, hash);
      // Two points of a body that stick share their friction: its signs are no branch.
      for (int r = 0; r < note->solve.rows && !s2_solve_traits(note->solve.kind).displacements;
           r++) {
        double lambda = sticks[r] ? 0 : note->of->lambda[r];
        mix(hash, lambda > NOISE ? 1 : lambda < -NOISE ? 2 : 0);
      }
      free(sticks);
    }
  }
}

typedef struct Rollout {
  int steps;
  double weight[2][64]; // weights of q and v
} Rollout;

static inline double loss(const S2World *world, const Rollout *rollout) {
  double sum = 0;
  for (int i = 0; i < 3 * world->bodies.count; i++) {
    sum += rollout->weight[0][i] * world->q.at[i] + rollout->weight[1][i] * world->v.at[i];
  }
  return sum;
}

// Rounding of a loss, also from solves (their tolerance is 1e-12), relative to its terms.
static const double LOSS_ROUNDING = 1e-14;
static inline double size_of_loss(const S2World *world, const Rollout *rollout) {
  double sum = 0;
  for (int i = 0; i < 3 * world->bodies.count; i++) {
    sum +=
        fabs(rollout->weight[0][i] * world->q.at[i]) + fabs(rollout->weight[1][i] * world->v.at[i]);
  }
  return sum;
}

typedef struct Run {
  uint64_t branches[MOST_STEPS]; // hash of the branches taken up to the end of each step
  double rounding;               // rounding of the loss
} Run;

// The loss after all steps from `start`, one number of it set to `value`; NAN: other branches were
// taken than in `like`. Without `like`: all of `what` is written.
static inline double run(const S2World *start, const Rollout *rollout, Class of, int i,
                         double value, const Run *like, Run *what) {
  S2World *world;
  must(s2_world_clone(start, &world));
  if (of != OF_NOTHING) {
    *number_of(world, of, i) = value;
    if (of_matrix(of)) {
      const S2Joint *joint = &world->joints.at[i / 9];
      int size = of == OF_DAMPING_MATRIX ? joint->damping.size : joint->compliance.size;
      *number_of(world, of, i - i % 9 + mirrored(i % 9, size)) = value;
    }
  }
  S2Trace *trace = s2_trace_new();
  uint64_t hash = UINT64_C(1469598103934665603);
  bool same = true;
  for (int k = 0; k < rollout->steps && same; k++) {
    must(s2_world_step_traced(world, trace));
    sign(trace, &hash);
    same = like == NULL || hash == like->branches[k];
    if (like == NULL) {
      what->branches[k] = hash;
    }
  }
  double l = same ? loss(world, rollout) : NAN;
  if (like == NULL) {
    what->rounding = LOSS_ROUNDING * size_of_loss(world, rollout);
  }
  s2_trace_free(trace);
  s2_world_destroy(world);
  return l;
}

static const double KINK = 1e-4; // relative to the slope

typedef struct Difference {
  double slope, doubt, rounding;
  double kink; // slope to the right minus that to the left, extrapolated to distance 0
} Difference;

// Extrapolated central differences (Richardson, steps halved); false: a branch changed. `middle` is
// the loss at `start`, which took the branches `base`.
static inline bool difference(const S2World *start, const Rollout *rollout, Class of, int i,
                              double size, double middle, const Run *base, Difference *d) {
  double at = *number_of((S2World *)(uintptr_t)start, of, i), table[LEVELS][LEVELS], bend[LEVELS];
  for (int k = 0; k < LEVELS; k++) {
    double step = size / (1 << k);
    double up = run(start, rollout, of, i, at + step, base, NULL);
    double down = isnan(up) ? NAN : run(start, rollout, of, i, at - step, base, NULL);
    if (isnan(down)) {
      return false;
    }
    table[k][0] = (up - down) / (2 * step);
    bend[k] = (up + down - 2 * middle) / step;
    double power = 1;
    for (int j = 1; j <= k; j++) {
      power *= 4;
      table[k][j] = table[k][j - 1] + (table[k][j - 1] - table[k - 1][j - 1]) / (power - 1);
    }
  }
  d->slope = table[LEVELS - 1][LEVELS - 1];
  d->doubt = fabs(d->slope - table[LEVELS - 2][LEVELS - 2]);
  d->rounding = base->rounding / (size / (1 << (LEVELS - 1)));
  // If both sides differ at any distance, this is a kink that no act records (a limit that is just
  // met). For a smooth function the difference is proportional to the step.
  d->kink = 2 * bend[LEVELS - 1] - bend[LEVELS - 2];
  return !(fabs(d->kink) > KINK * fabs(d->slope) && fabs(d->kink) > 10 * d->rounding);
}

// All numbers may depend on a parameter, except for the restitution of limits and bodies, which is
// compared only where it is not 0: limits that close and bodies that land have no derivative by a
// restitution of 0, and report that.
static inline S2WorldGradient compared_numbers(const S2World *world) {
  S2WorldGradient all = {0};
  s2_world_gradient_fit(&all, world);
  // Doubles that are not 0.
  if (all.slots > 0) {
    memset(all.body, 0x3f, sizeof *all.body * (size_t)all.slots);
  }
  if (all.pieces > 0) {
    memset(all.piece, 0x3f, sizeof *all.piece * (size_t)all.pieces);
  }
  if (all.joints > 0) {
    memset(all.joint, 0x3f, sizeof *all.joint * (size_t)all.joints);
  }
  for (int i = 0; i < all.joints; i++) {
    all.joint[i].restitution = 0;
  }
  for (int i = 0; i < all.slots; i++) {
    all.body[i].restitution = 0;
  }
  return all;
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
  S2WorldGradient all = compared_numbers(start);
  g->tracked = &all;
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
  g->tracked = NULL;
  s2_world_gradient_free(&all);
  s2_arena_free(&arena);
  s2_world_destroy(world);
}

static inline bool small(Class of) { // its size limits its change
  return of == OF_MASS || of == OF_INERTIA || of == OF_CONTACT_COMPLIANCE || of == OF_COMPLIANCE ||
         of == OF_ANGULAR_COMPLIANCE || of == OF_COMPLIANCE_MATRIX;
}

// Entries that are not independent, or on an edge: those below the diagonal, no compliance.
static inline bool skip_of_joint(const S2World *start, Class of, int i, double at) {
  const S2Joint *joint = &start->joints.at[i / numbers_of_joint(of)];
  if (of_matrix(of)) {
    int size = of == OF_DAMPING_MATRIX ? joint->damping.size : joint->compliance.size, k = i % 9;
    return size == 0 || k >= size * size || k % size < k / size;
  }
  bool soft = of == OF_COMPLIANCE || of == OF_ANGULAR_COMPLIANCE,
       given = of == OF_DAMPING || of == OF_ANGULAR_DAMPER || of == OF_IMPULSE;
  bool bound = of == OF_MOTOR_MAX || of == OF_DRY || of == OF_MAX_FORCE || of == OF_MAX_TORQUE ||
               of == OF_STIFFNESS;
  bool curve = (of == OF_QUADRATIC || of == OF_CUBIC) && joint->type != S2_SPRING;
  // Numbers that only one or two joint types have: for other types the derivative is 0.
  bool pulley = joint->type == S2_PULLEY, lock = joint->type == S2_LOCK;
  bool unused = ((of == OF_GROUND_A || of == OF_GROUND_B) && !pulley) ||
                ((of == OF_GOAL || of == OF_RATE) && !lock) ||
                (of == OF_SUM && joint->type != S2_GEAR) ||
                (of == OF_RATIO && joint->type != S2_GEAR && !pulley) ||
                (of == OF_MOTOR_SPEED && !joint->has_motor);
  bool equal = (of == OF_LIMIT_LO || of == OF_LIMIT_HI) && joint->limit_lo == joint->limit_hi;
  bool warm = of == OF_IMPULSE && start->kept.def.geometric_stiffness == S2_GEOMETRIC_OFF;
  return warm || equal || curve || unused || ((soft || given || bound) && at == 0);
}

// Numbers that separate joints. A step may take only a small part of the separation into its
// velocities (S2_FEEDBACK_START), so the residue of projection (S2_PROJECTION_TOLERANCE) blurs
// differences.
static inline bool tears(Class of) {
  return of == OF_Q || (of >= OF_ANCHOR_A && of <= OF_GOAL) || of == OF_LIMIT_LO ||
         of == OF_LIMIT_HI || of == OF_GROUND_A || of == OF_GROUND_B;
}

static inline double whole_derivative(const S2World *start, const S2WorldGradient *g, Class of,
                                      int i) {
  double mine = derivative_of(g, of, i);
  if (of_matrix(of)) {
    const S2Joint *joint = &start->joints.at[i / 9];
    int size = of == OF_DAMPING_MATRIX ? joint->damping.size : joint->compliance.size;
    int across = mirrored(i % 9, size);
    mine += across == i % 9 ? 0 : derivative_of(g, of, i - i % 9 + across);
  }
  return mine;
}

// One-sided and central differences of the number that S2_PROBE names, whatever branches they take.
static inline void probe(const S2World *start, const Rollout *rollout, double middle,
                         const S2WorldGradient *g) {
  const char *named = getenv("S2_PROBE"), *colon = strchr(named, ':');
  size_t length = colon == NULL ? strlen(named) : (size_t)(colon - named);
  int i = colon == NULL ? 0 : atoi(colon + 1);
  for (Class of = 0; of < OF_NOTHING; of++) {
    if (strncmp(class_name[of], named, length) != 0 || class_name[of][length] != 0) {
      continue;
    }
    double at = *number_of((S2World *)(uintptr_t)start, of, i);
    printf("%s %d at %.17g: %.12g\n", class_name[of], i, at, derivative_of(g, of, i));
    for (double step = 1e-2; step > 1e-11; step /= 4) {
      Run unused;
      double up = run(start, rollout, of, i, at + step, NULL, &unused);
      double down = run(start, rollout, of, i, at - step, NULL, &unused);
      printf("  %.1e: %.10g, left %.10g, right %.10g\n", step, (up - down) / (2 * step),
             (middle - down) / step, (up - middle) / step);
    }
  }
}

// Numbers that are not compared, because they are not independent or on an edge.
static inline bool left_out(const S2World *start, Class of, int i) {
  double at = *number_of((S2World *)(uintptr_t)start, of, i);
  return (of >= OF_JOINTS && skip_of_joint(start, of, i, at)) || !isfinite(at) ||
         (of >= OF_MASS && of <= OF_PIECE_RESTITUTION && at == 0) ||
         ((of == OF_ALPHA || of == OF_BETA) && at == 1) || (of == OF_CONTACT_VISCOSITY && at == 0);
}

static inline Count sum_of(const Count counts[CLASSES]) {
  Count sum = {0};
  for (Class of = 0; of < OF_NOTHING; of++) {
    sum.compared += counts[of].compared;
    sum.skipped += counts[of].skipped;
  }
  return sum;
}

static inline void demand(const char *name, int compared, int skipped, double share) {
  if (!(skipped <= share * (compared + skipped) + FEW)) {
    printf("%s: %d numbers compared, %d skipped\n", name, compared, skipped);
    assert_non_null(getenv("S2_SHOW"));
  }
}

typedef struct Comparison {
  const char *name;
  const S2World *start;
  Rollout rollout;
  Run base;
  double middle; // the loss
  S2WorldGradient g;
  double torn, other, least;
} Comparison;

// Number i of a class, whose largest derivative is `scale`.
static inline void compare_number(const Comparison *c, Class of, int i, double scale,
                                  Count *count) {
  double at = *number_of((S2World *)(uintptr_t)c->start, of, i);
  double size = 1e-3 * fmax(fabs(at), small(of) ? 0 : of == OF_F ? 1 : 0.1);
  Difference d = {0};
  bool same = false;
  for (int tries = 0; tries < 5 && !same; tries++, size /= 8) {
    same = difference(c->start, &c->rollout, of, i, size, c->middle, &c->base, &d);
  }
  scale = fmax(scale, c->least);
  double mine = whole_derivative(c->start, &c->g, of, i), wrong = fabs(mine - d.slope);
  double bound = tears(of) ? c->torn : c->other;
  // A switch is near, or the error is so small that differences of these steps do not resolve it.
  if (!same || d.doubt > 3e-7 * scale || (wrong > bound * scale && wrong < d.rounding)) {
    count->skipped += 1;
    return;
  }
  // A kink smaller than KINK, with the derivative on one side of it as accurate as required.
  bool kinked = fabs(d.kink) > bound * scale && fabs(d.kink) > 10 * d.rounding;
  if (wrong > bound * scale && kinked && fabs(wrong - fabs(d.kink) / 2) <= bound * scale) {
    count->skipped += 1;
    count->sided += 1;
    return;
  }
  count->compared += 1;
  count->nonzero += fabs(mine) > 1e-6;
  count->worst = fmax(count->worst, wrong / scale);
  if (!(wrong <= bound * scale)) {
    printf("%s: %s %d: %.10g, differences %.10g (doubt %.1e), relative %.1e\n", c->name,
           class_name[of], i, mine, d.slope, d.doubt / scale, wrong / scale);
    assert_non_null(getenv("S2_SHOW"));
  }
}

// Compares derivatives, about `picked` of a class; the scale of a class is its largest in the
// scene. `torn`: the relative error of those that separate joints, `other` of the others; scales
// count as at least `least`.
static inline void compare_to(const char *name, const S2World *start, int steps, uint64_t seed,
                              double torn, double other, double least, Count counts[CLASSES]) {
  const char *only = getenv("S2_ONLY");
  if (only != NULL && strcmp(only, name) != 0) {
    return;
  }
  Comparison c = {.name = name, .start = start, .torn = torn, .other = other, .least = least};
  S2Rng rng = s2_rng_seeded(seed);
  assert_true(3 * start->bodies.count <= 64 && steps <= MOST_STEPS);
  c.rollout.steps = steps;
  for (int i = 0; i < 3 * start->bodies.count; i++) {
    c.rollout.weight[0][i] = s2_rng_normal(&rng);
    c.rollout.weight[1][i] = s2_rng_normal(&rng);
  }
  backward(start, &c.rollout, &c.g);
  bool edge = (c.g.flags & (S2_GRADIENT_WEAK | S2_GRADIENT_SINGULAR)) != 0; // one-sided
  bool partial = (c.g.flags & S2_GRADIENT_PARTIAL) != 0;
  if ((edge || partial) && getenv("S2_SHOW") != NULL) {
    printf("%s: %s, flags %u\n", name, edge ? "on an edge" : "partial", c.g.flags);
  }
  counts[OF_NOTHING].skipped += edge;
  bool whole = !partial || partial_too;
  counts[OF_NOTHING].nonzero += !edge && !whole;
  if (edge || !whole) {
    s2_world_gradient_free(&c.g);
    return;
  }
  Count before = sum_of(counts);
  counts[OF_NOTHING].compared += 1;
  c.middle = run(start, &c.rollout, OF_NOTHING, 0, 0, NULL, &c.base);
  if (getenv("S2_PROBE") != NULL) {
    probe(start, &c.rollout, c.middle, &c.g);
  }
  for (Class of = 0; of < OF_NOTHING; of++) {
    double scale = 0;
    int count = numbers_of(start, of), able = 0;
    for (int i = 0; i < count; i++) {
      scale = fmax(scale, fabs(derivative_of(&c.g, of, i)));
      able += !left_out(start, of, i);
    }
    for (int i = 0; i < count; i++) {
      if (!left_out(start, of, i) && s2_rng_uniform(&rng) * able <= picked) {
        compare_number(&c, of, i, scale, &counts[of]);
      }
    }
  }
  s2_world_gradient_free(&c.g);
  Count after = sum_of(counts);
  demand(name, after.compared - before.compared, after.skipped - before.skipped, skipped_of_scene);
}

static inline void compare(const char *name, const S2World *start, int steps, uint64_t seed,
                           Count counts[CLASSES]) {
  compare_to(name, start, steps, seed, 1e-6, 1e-6, 1e-3, counts);
}

// At the end of the scenes of a test.
static inline void report(const char *name, const Count counts[CLASSES]) {
  Count sum = sum_of(counts);
  if (getenv("S2_ONLY") == NULL) {
    demand(name, sum.compared, sum.skipped, skipped_of_all);
    // scenes on an edge have no derivative to compare
    assert_true(sum.compared > 0 && counts[OF_NOTHING].compared >= counts[OF_NOTHING].skipped);
  }
  may_skip(SKIPPED_OF_SCENE, SKIPPED_OF_ALL);
  if (getenv("S2_SHOW") == NULL) {
    return;
  }
  printf("%s: %d scenes, %d of them on an edge\n", name,
         counts[OF_NOTHING].compared + counts[OF_NOTHING].skipped, counts[OF_NOTHING].skipped);
  for (Class of = 0; of < OF_NOTHING; of++) {
    printf("  %-22s compared %4d skipped %4d (one-sided %d) not 0 %4d worst %.1e\n", class_name[of],
           counts[of].compared, counts[of].skipped, counts[of].sided, counts[of].nonzero,
           counts[of].worst);
  }
}

#endif
