// Short functions that fill worlds, for the tests of the engine.
#ifndef S2_TEST_WORLDS_H
#define S2_TEST_WORLDS_H

// these must be included before cmocka.h
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sanitized.h"

#include "base/rng.h"
#include "dynamics/dynamics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define must(expression)                                                                           \
  do {                                                                                             \
    S2Status must_status = (expression);                                                           \
    if (must_status.code != S2_OK) {                                                               \
      fail_msg("%s: %s", #expression, must_status.message);                                        \
    }                                                                                              \
  } while (0)

// Audits check every step of a test, unless S2_TEST_AUDIT=0 is in the environment.
static inline bool audits_wanted(void) {
  const char *given = getenv("S2_TEST_AUDIT");
  return given == NULL || strcmp(given, "0") != 0;
}

// Steps that are never split: most tests compare the result of one step of a given length. Programs
// that tests/CMakeLists.txt lists are run once more with S2_TEST_STEPPING=auto in the environment.
static inline S2WorldDef fixed_def(void) {
  const char *given = getenv("S2_TEST_STEPPING");
  S2WorldDef def = s2_world_def();
  def.stepping = given != NULL && strcmp(given, "auto") == 0 ? S2_AUTO : S2_SPECULATIVE;
  def.audit = audits_wanted();
  return def;
}

// A finding fails the test that destroys the world, unless its kind is known for this program
// (known_findings.cmake). A test that expects one calls (s2_world_destroy)(world).
static inline void world_destroy_judged(S2World *world) {
  if (world == NULL) {
    return;
  }
  S2AuditStats found = s2_world_stats(world)->audit;
  const struct {
    const char *name;
    uint64_t count;
  } kinds[] = {{"passages", found.passages}, {"overlaps", found.overlaps}, {"jumps", found.jumps},
               {"momenta", found.momenta},   {"slips", found.slips},       {"drifts", found.drifts},
               {"energies", found.energies}, {"events", found.events}};
  char first[S2_MESSAGE_SIZE];
  snprintf(first, sizeof first, "%s", s2_world_finding(world));
  s2_world_destroy(world);
  const char *known = getenv("S2_TEST_KNOWN");
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && audits_wanted(); i++) {
    if (kinds[i].count > 0 && (known == NULL || strstr(known, kinds[i].name) == NULL)) {
      fail_msg("audits: %s %llu; the first finding of all: %s", kinds[i].name,
               (unsigned long long)kinds[i].count, first);
    }
  }
}
#define s2_world_destroy(world) world_destroy_judged(world)

static inline S2World *world_new(double gravity_y, double dt) {
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0, gravity_y);
  def.dt = dt;
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

// A shape definition with nothing of its own.
static inline S2ShapeDef plain_shape(const S2Vec2 *vertices, int count, double radius) {
  return (S2ShapeDef){.vertices = vertices,
                      .count = count,
                      .radius = radius,
                      .friction = NAN,
                      .restitution = NAN,
                      .density = NAN};
}

static inline S2BodyId add_body(S2World *world, S2BodyDef def, const S2Vec2 *vertices, int count,
                                double radius) {
  S2ShapeDef shape = plain_shape(vertices, count, radius);
  def.shapes = &shape;
  def.shape_count = 1;
  S2BodyId body;
  must(s2_body_create(world, &def, &body));
  return body;
}

static inline S2BodyId add_box(S2World *world, S2BodyDef def, double width, double height) {
  double x = width / 2, y = height / 2;
  const S2Vec2 v[4] = {{-x, -y}, {x, -y}, {x, y}, {-x, y}};
  return add_body(world, def, v, 4, 0);
}

static inline S2BodyId add_disc(S2World *world, S2BodyDef def, double radius) {
  const S2Vec2 v[1] = {{0, 0}};
  return add_body(world, def, v, 1, radius);
}

static inline S2BodyDef at(double x, double y) {
  S2BodyDef def = s2_body_def();
  def.position = s2_vec2(x, y);
  return def;
}

static inline S2BodyDef fixed_at(double x, double y) {
  S2BodyDef def = at(x, y);
  def.type = S2_STATIC;
  return def;
}

static inline S2JointDef joint_def(S2JointType type, S2BodyId a, S2BodyId b) {
  S2JointDef def = s2_joint_def(type);
  def.a = a;
  def.b = b;
  return def;
}

static inline S2JointDef hinge_def(S2BodyId a, S2BodyId b, double x, double y) {
  S2JointDef def = joint_def(S2_HINGE, a, b);
  def.anchor_a = s2_vec2(x, y);
  return def;
}

static const S2BodyId no_body = {0, 0};

static inline S2BodyDef rough(S2BodyDef def, double friction, double restitution) {
  def.friction = friction;
  def.restitution = restitution;
  return def;
}

static inline double get(const S2World *world, S2BodyId body, S2BodyField field) {
  double value = NAN;
  must(s2_body_get(world, body, field, &value));
  return value;
}

static inline void steps(S2World *world, int count) {
  for (int i = 0; i < count; i++) {
    must(s2_world_step(world));
  }
}

// Steps one by one and checks the properties of each step.
static inline void steps_solved(S2World *world, int count, double residual, double penetration) {
  for (int i = 0; i < count; i++) {
    must(s2_world_step(world));
    S2WorldResiduals r = s2_world_residuals(world);
    if (!(r.solve.scaled <= residual)) {
      fail_msg("step %d: scaled residual %.3e > %.1e", i + 1, r.solve.scaled, residual);
    }
    if (!(r.penetration <= penetration)) {
      fail_msg("step %d: penetration %.3e > %.1e", i + 1, r.penetration, penetration);
    }
  }
}

#define near(a, b, tolerance)                                                                      \
  do {                                                                                             \
    double near_a = (a), near_b = (b);                                                             \
    if (!(fabs(near_a - near_b) <= (tolerance))) {                                                 \
      fail_msg("%s = %.17g, expected %.17g (+- %g)", #a, near_a, near_b, (double)(tolerance));     \
    }                                                                                              \
  } while (0)

#endif
