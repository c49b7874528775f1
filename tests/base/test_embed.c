// A ball falls on the ground. The exit status is 0 if it comes to rest there.
#include "sim2d.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void must(S2Status status) {
  if (status.code != S2_OK) {
    fprintf(stderr, "%s\n", status.message);
    exit(EXIT_FAILURE);
  }
}

static S2BodyId add(S2World *world, S2BodyType type, double y, const S2Vec2 *vertices, int count,
                    double radius) {
  S2ShapeDef shape = {.vertices = vertices,
                      .count = count,
                      .radius = radius,
                      .friction = (double)NAN, // the friction of the body
                      .restitution = (double)NAN,
                      .density = (double)NAN};
  S2BodyDef def = s2_body_def();
  def.type = type;
  def.position = s2_vec2(0, y);
  def.shapes = &shape;
  def.shape_count = 1;
  S2BodyId body;
  must(s2_body_create(world, &def, &body));
  return body;
}

int main(void) {
  S2WorldDef settings = s2_world_def();
  settings.strict = true; // a step that misses its tolerance is an error
  S2World *world;
  must(s2_world_create(&settings, &world));
  const S2Vec2 ground[] = {{-5, -1}, {5, -1}, {5, 0}, {-5, 0}}, centre = {0, 0};
  add(world, S2_STATIC, 0, ground, 4, 0);
  S2BodyId ball = add(world, S2_DYNAMIC, 3, &centre, 1, 0.5);
  for (int i = 0; i < 240; i++) {
    must(s2_world_step(world));
  }
  double y;
  must(s2_body_get(world, ball, S2_BODY_Y, &y));
  S2WorldResiduals left = s2_world_residuals(world);
  printf("t = %g s: y = %.9f m, residual %.0e\n", s2_world_time(world), y, left.solve.scaled);
  s2_world_destroy(world);
  return fabs(y - 0.5) < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
