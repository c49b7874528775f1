// Random small islands for tests: trees of bodies with all kinds of rows, above a floor.
#ifndef TEST_SMALL_WORLDS_H
#define TEST_SMALL_WORLDS_H

#include "worlds.h"

static inline double between(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static inline int pick(S2Rng *rng, int count) {
  return (int)s2_rng_integer(rng, 0, count - 1);
}

enum { PARTS = 2, FLOOR = 4 };

static inline S2BodyId part(S2World *world, S2Rng *rng, S2Vec2 position, bool meets) {
  S2BodyDef def = s2_body_def();
  def.position = position;
  def.angle = between(rng, -0.6, 0.6);
  def.mass = between(rng, 0.3, 3);
  def.friction = pick(rng, 4) == 0 ? 0 : between(rng, 0.2, 1);
  def.restitution = pick(rng, 3) == 0 ? 0.5 : 0;
  def.linear_damping = pick(rng, 4) == 0 ? 0.3 : 0;
  def.category = PARTS;
  def.mask = meets ? FLOOR | PARTS : FLOOR;
  if (pick(rng, 4) == 0) {
    S2ShapeDef shape = {.vertices = &(S2Vec2){0, 0},
                        .count = 1,
                        .radius = between(rng, 0.1, 0.25),
                        .friction = NAN,
                        .restitution = NAN,
                        .density = NAN};
    def.shapes = &shape;
    def.shape_count = 1;
    S2BodyId id;
    must(s2_body_create(world, &def, &id));
    return id;
  }
  return add_box(world, def, between(rng, 0.15, 0.6), between(rng, 0.1, 0.5));
}

// Joins two bodies by a rod, a rope or a spring between two points. Some rods give way, and some
// springs have limits.
static inline void span(S2World *world, S2Rng *rng, S2BodyId a, S2BodyId b) {
  static const S2JointType types[] = {S2_DISTANCE, S2_ROPE, S2_SPRING};
  S2JointType type = types[pick(rng, 3)];
  S2JointDef def = s2_joint_def(type);
  def.a = a;
  def.b = b;
  double q[2][3];
  must(s2_body_q(world, a, q[0]));
  must(s2_body_q(world, b, q[1]));
  def.anchor_a = s2_vec2(q[0][1] - between(rng, 0, 0.1), q[0][2]);
  def.anchor_b = s2_vec2(q[1][1] + between(rng, 0, 0.1), q[1][2]);
  if (type == S2_SPRING) {
    def.stiffness = pick(rng, 2) == 0 ? 30 : 1e5;
    def.damping = (S2JointWeights){.linear = pick(rng, 2)};
  } else if (type == S2_DISTANCE && pick(rng, 2) == 0) {
    def.compliance = (S2JointWeights){.linear = pick(rng, 2) == 0 ? 1e-2 : 1e-6};
  }
  S2JointId id;
  must(s2_joint_create(world, &def, &id));
  if (type == S2_SPRING && pick(rng, 2) == 0) {
    must(s2_joint_set_limits(world, id, 0.2, 0.6));
  }
}

// Joins two bodies by a hinge, slider, weld or wheel, in some cases with limits, a motor or
// friction.
static inline void join(S2World *world, S2Rng *rng, S2BodyId a, S2BodyId b, S2Vec2 at) {
  static const S2JointType types[] = {S2_HINGE, S2_HINGE, S2_HINGE, S2_SLIDER, S2_WELD, S2_WHEEL};
  S2JointType type = types[pick(rng, 6)];
  S2JointDef def = s2_joint_def(type);
  def.a = a;
  def.b = b;
  def.anchor_a = at;
  def.axis = s2_vec2(between(rng, -1, 1), 1);
  double damping = pick(rng, 2);
  S2JointWeights give = {.linear = 1e-4, .angular = 1e-2};
  if (type == S2_WHEEL || (type != S2_WELD && pick(rng, 4) == 0)) { // a spring, stiff or not
    def.stiffness = pick(rng, 2) == 0 ? 50 : 1e5;
    def.damping = (S2JointWeights){.linear = damping, .angular = damping};
  } else if (pick(rng, 6) == 0) {
    def.compliance = give;
    def.damping = (S2JointWeights){.linear = damping, .angular = damping};
  }
  S2JointId id;
  must(s2_joint_create(world, &def, &id));
  if (type == S2_WELD) {
    return;
  }
  int kind = pick(rng, 5);
  if (kind == 0) {
    must(s2_joint_set_limits(world, id, between(rng, -0.3, 0), between(rng, 0.01, 0.3)));
  } else if (kind == 1) {
    must(s2_joint_set(world, id, S2_JOINT_MOTOR_MAX, pick(rng, 2) == 0 ? INFINITY : 3));
    must(s2_joint_set(world, id, S2_JOINT_MOTOR_SPEED, between(rng, -1, 1)));
  } else if (kind == 2) {
    must(s2_joint_set(world, id, S2_JOINT_FRICTION, between(rng, 0.1, 2)));
  } else if (kind == 3) {
    must(s2_joint_set(world, id, S2_JOINT_SERVO_GOAL, between(rng, -0.5, 0.5)));
    must(s2_joint_set(world, id, S2_JOINT_SERVO_KP, pick(rng, 2) == 0 ? 30 : 1e4));
    must(s2_joint_set(world, id, S2_JOINT_SERVO_KD, pick(rng, 2) == 0 ? 0 : 3));
    must(s2_joint_set(world, id, S2_JOINT_SERVO_MAX, pick(rng, 2) == 0 ? INFINITY : 4));
  }
}

// A tree of up to six bodies that falls on a floor, and up to two bodies beside it.
static inline S2World *random_world(uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  S2WorldDef def = s2_world_def();
  def.gravity = s2_vec2(0, -9.81);
  def.dt = 1.0 / (120 << pick(&rng, 2));
  S2World *world;
  must(s2_world_create(&def, &world));
  S2BodyDef floor = s2_body_def();
  floor.type = S2_STATIC;
  floor.position = s2_vec2(0, -0.5);
  floor.category = FLOOR;
  floor.friction = 0.7;
  add_box(world, floor, 40, 1);
  S2BodyId node[6], none = {0, 0};
  int nodes = 1 + pick(&rng, 6);
  for (int i = 0; i < nodes; i++) {
    S2Vec2 at = s2_vec2(0.45 * i, 0.5 + between(&rng, 0, 0.3));
    node[i] = part(world, &rng, at, false);
    if (i > 0 && pick(&rng, 4) == 0) {
      span(world, &rng, node[i], node[i - 1]);
    } else if (i > 0) {
      join(world, &rng, node[i], node[i - 1 - (i > 1 ? pick(&rng, 2) : 0)],
           s2_vec2(at.x - 0.2, at.y));
    } else if (pick(&rng, 5) == 0) {
      join(world, &rng, node[i], none, at);
    }
  }
  for (int i = pick(&rng, 3); i > 0; i--) {
    part(world, &rng, s2_vec2(-0.8 * i, 0.6), true);
  }
  return world;
}

// Torques on all bodies, for one step.
static inline void push(S2World *world, uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  for (int i = 1; s2_world_body(world, i).index != 0; i++) {
    must(s2_body_apply_torque(world, s2_world_body(world, i), between(&rng, -0.5, 0.5)));
  }
}

#endif
