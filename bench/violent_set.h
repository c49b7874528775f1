// The violent set: touching pyramids with random velocities. Shared by bench_violent and
// test_violent.
//
// Row i = 0 .. base-1 has base - i boxes of 1 m, density 1, at rest height and 1.25 m apart, so
// that sides do not touch; g = 10 m/s^2, h = 1/60 s, e = 0. Each of the three velocities of every
// box is normal with deviation `speed` (m/s, rad/s).
#ifndef S2_VIOLENT_SET_H
#define S2_VIOLENT_SET_H

#include "sim2d.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double VIOLENT_TOLERANCE = 1e-8;
static const double VIOLENT_SPACING = 1.25; // m between the centres of a row

static inline void violent_must(S2Status status) {
  if (status.code != S2_OK) {
    fprintf(stderr, "violent set: %s\n", status.message);
    exit(1);
  }
}

static inline S2BodyId violent_box(S2World *world, S2BodyType type, double x, double y, double w,
                                   double h, double friction) {
  const S2Vec2 v[4] = {{-w / 2, -h / 2}, {w / 2, -h / 2}, {w / 2, h / 2}, {-w / 2, h / 2}};
  S2ShapeDef shape = {
      .vertices = v, .count = 4, .friction = NAN, .restitution = NAN, .density = NAN};
  S2BodyDef def = s2_body_def();
  def.type = type;
  def.position = s2_vec2(x, y);
  def.density = 1;
  def.friction = friction;
  def.restitution = 0;
  def.shapes = &shape;
  def.shape_count = 1;
  S2BodyId id;
  violent_must(s2_body_create(world, &def, &id));
  return id;
}

static inline S2World *violent_build(int base, double speed, double friction, int seed) {
  S2WorldDef def = s2_world_def();
  def.gravity = s2_vec2(0, -10);
  def.dt = 1.0 / 60;
  def.tolerance = VIOLENT_TOLERANCE;
  S2World *world;
  violent_must(s2_world_create(&def, &world));
  violent_box(world, S2_STATIC, 0, -1, 4.0 * base + 20, 2, friction);
  S2Rng rng = s2_rng_seeded((uint64_t)seed);
  for (int i = 0; i < base; i++) {
    for (int j = 0; j < base - i; j++) {
      double x = (j - (base - i - 1) / 2.0) * VIOLENT_SPACING;
      S2BodyId id = violent_box(world, S2_DYNAMIC, x, i + 0.5, 1, 1, friction);
      double v[3];
      for (int k = 0; k < 3; k++) {
        v[k] = speed * s2_rng_normal(&rng);
      }
      violent_must(s2_body_set_v(world, id, v));
    }
  }
  return world;
}

// The problem of the first step and the velocities before it, 3 a node; free both.
static inline S2Problem *violent_problem(S2World *world, double **velocities) {
  int bodies = s2_world_bodies(world, NULL, 0);
  S2BodyId *node = malloc(sizeof *node * (size_t)bodies);
  S2Problem *problem;
  violent_must(s2_world_problem(world, &problem, node, bodies));
  *velocities = malloc(3 * sizeof(double) * (size_t)problem->nodes);
  for (int i = 0; i < problem->nodes; i++) {
    violent_must(s2_body_v(world, node[i], *velocities + 3 * i));
  }
  free(node);
  return problem;
}

#endif
