// Random worlds for step programs, and the comparison of all bits of two worlds.
#ifndef S2_TEST_PROGRAMS_H
#define S2_TEST_PROGRAMS_H

#include "worlds.h"

#include "dynamics/program/program.h"

typedef struct Recipe { // a random world
  uint64_t shape;       // seed of its topology: worlds of one shape have the same tables
  uint64_t numbers;     // seed of masses, anchors, poses, settings
  S2FlowRule flow;
  bool floor; // true if bodies may meet a floor
} Recipe;

static inline double between(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static inline int pick(S2Rng *rng, int count) {
  return (int)s2_rng_integer(rng, 0, count - 1);
}

static inline S2BodyId recipe_body(S2World *world, S2Rng *rng, S2BodyType type) {
  S2BodyDef def = s2_body_def();
  def.type = type;
  def.position = s2_vec2(between(rng, -2, 2), between(rng, -2, 2));
  def.angle = between(rng, -3, 3);
  if (type != S2_STATIC) {
    def.velocity = s2_vec2(between(rng, -1, 1), between(rng, -1, 1));
    def.angular_velocity = between(rng, -3, 3);
  }
  def.mass = between(rng, 0.2, 3);
  def.gravity_scale = between(rng, 0.5, 1.5);
  def.mask = 0; // nothing collides
  return add_box(world, def, between(rng, 0.1, 1), between(rng, 0.1, 1));
}

// A tree of bodies on the world, on ground or on nothing; some close loops, some are free.
static inline void recipe_joints(S2World *world, S2Rng *shape, S2Rng *rng, S2BodyId ground) {
  int nodes = 1 + pick(shape, 6), count = 0;
  bool hangs = pick(shape, 3) > 0;
  S2BodyId none = {0, 0}, node[8];
  for (int i = 0; i < nodes; i++) {
    node[i] = recipe_body(world, rng, S2_DYNAMIC);
  }
  int loops = pick(shape, 3) == 0 ? 1 : 0;
  for (int i = 0; i < nodes + loops; i++) {
    S2JointDef def = s2_joint_def(pick(shape, 4) == 0 ? S2_SLIDER : S2_HINGE);
    int child = i % nodes, parent = child == 0            ? -1
                                    : pick(shape, 3) == 0 ? pick(shape, child)
                                                          : child - 1;
    if (i >= nodes) { // closes a loop, with hinges only
      def = s2_joint_def(S2_HINGE);
      child = nodes - 1;
      parent = 0;
      if (nodes < 4) {
        continue;
      }
    }
    if (parent < 0 && !hangs) {
      continue;
    }
    S2BodyId other = parent >= 0 ? node[parent] : pick(shape, 2) == 0 ? none : ground;
    bool turned = parent < 0 && pick(shape, 4) == 0; // the world may also be side a
    def.a = turned ? other : node[child];
    def.b = turned ? node[child] : other;
    double q[3];
    must(s2_body_q(world, node[child], q));
    def.anchor_a = s2_vec2(q[1] + between(rng, -0.5, 0.5), q[2] + between(rng, -0.5, 0.5));
    def.axis = s2_vec2(between(rng, -1, 1), between(rng, 0.1, 1));
    S2JointId id;
    must(s2_joint_create(world, &def, &id));
    count++;
  }
  if (count == 0) {
    S2JointDef def = s2_joint_def(S2_HINGE);
    def.a = node[0];
    def.anchor_a = s2_vec2(between(rng, -1, 1), between(rng, -1, 1));
    S2JointId id;
    must(s2_joint_create(world, &def, &id));
  }
}

// Adds a floor, near or far, and lets all bodies collide with it.
static inline void recipe_floor(S2World *world, S2Rng *rng) {
  enum { PARTS = 2, FLOOR = 4 };
  for (int i = 0; s2_world_body(world, i).index != 0; i++) {
    S2BodyId id = s2_world_body(world, i);
    must(s2_body_set(world, id, S2_BODY_CATEGORY, PARTS));
    must(s2_body_set(world, id, S2_BODY_MASK, FLOOR));
  }
  S2BodyDef def = s2_body_def();
  def.type = S2_STATIC;
  def.position = s2_vec2(0, between(rng, -14, -5));
  def.angle = between(rng, -0.1, 0.1);
  def.category = FLOOR;
  add_box(world, def, 60, 1);
}

static inline S2World *recipe_world(Recipe recipe) {
  S2Rng shape = s2_rng_seeded(recipe.shape), rng = s2_rng_seeded(recipe.numbers);
  S2WorldDef def = s2_world_def();
  def.gravity = s2_vec2(between(&rng, -1, 1), between(&rng, -10, 0));
  def.dt = 1.0 / (60 + 60 * pick(&rng, 4));
  def.flow = recipe.flow;
  def.stepping = pick(&shape, 3) == 0 ? S2_SPECULATIVE : S2_AUTO;
  S2World *world;
  must(s2_world_create(&def, &world));
  S2BodyId ground = recipe_body(world, &rng, pick(&shape, 2) == 0 ? S2_STATIC : S2_KINEMATIC);
  int islands = 1 + pick(&shape, 2);
  for (int i = 0; i < islands; i++) {
    recipe_joints(world, &shape, &rng, ground);
  }
  for (int i = pick(&shape, 3); i > 0; i--) {
    recipe_body(world, &rng, S2_DYNAMIC);
  }
  if (recipe.floor) {
    recipe_floor(world, &rng);
  }
  return world;
}

// External forces in some steps; the same ones for the same step and seed.
static inline void recipe_push(S2World *world, uint64_t seed, int step) {
  S2Rng rng = s2_rng_seeded(seed + 1000 * (uint64_t)step);
  for (int i = 0; s2_world_body(world, i).index != 0 && step % 3 == 0; i++) {
    S2Vec2 force = s2_vec2(between(&rng, -5, 5), between(&rng, -5, 5));
    must(s2_body_apply_force(world, s2_world_body(world, i), force, NULL));
    must(s2_body_apply_torque(world, s2_world_body(world, i), between(&rng, -1, 1)));
  }
}

static inline bool same_bits(const void *a, const void *b, size_t size) {
  return memcmp(a, b, size) == 0;
}

// Only the arena and measured times may differ.
static inline void assert_same_world(const S2World *a, const S2World *b, const char *where) {
  size_t slots = 3 * (size_t)a->bodies.count;
  S2WorldStats one = a->stats, other = b->stats;
  one.arena_bytes = other.arena_bytes = 0;
  const char *wrong =
      a->kept.time != b->kept.time || a->kept.steps != b->kept.steps ||
              a->kept.fresh != b->kept.fresh
          ? "times"
      : !same_bits(a->q.at, b->q.at, 8 * slots) ? "positions"
      : !same_bits(a->v.at, b->v.at, 8 * slots) ? "velocities"
      : !same_bits(a->f.at, b->f.at, 8 * slots) ? "forces"
      : a->corrected.count != b->corrected.count ||
              (a->corrected.count > 0 &&
               !same_bits(a->corrected.at, b->corrected.at, 8 * (size_t)a->corrected.count))
          ? "corrections"
      : !same_bits(&a->residuals, &b->residuals, sizeof a->residuals) ? "residuals"
      : !same_bits(&one, &other, sizeof one)                          ? "statistics"
                                                                      : NULL;
  for (int i = 0; i < a->joints.count && wrong == NULL; i++) {
    const S2Joint *x = &a->joints.at[i], *y = &b->joints.at[i];
    wrong = !same_bits(x->impulse, y->impulse, sizeof x->impulse)      ? "impulses of joints"
            : !same_bits(x->reaction, y->reaction, sizeof x->reaction) ? "reactions of joints"
            : x->reaction_time != y->reaction_time                     ? "times of joints"
                                                                       : NULL;
  }
  if (wrong != NULL) {
    fail_msg("%s: %s differ after step %d", where, wrong, (int)a->kept.steps);
  }
}

// Does the world have a program that takes steps?
static inline bool has_program(const S2World *world) {
  return world->program_is == S2_PROGRAM_MADE && world->program != NULL;
}

#endif
