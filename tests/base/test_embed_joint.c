// A pendulum of 1 m that swings by 0.1 rad: prints its period.
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

int main(void) {
  S2WorldDef settings = s2_world_def();
  settings.dt = 1e-3;
  S2World *world;
  must(s2_world_create(&settings, &world));
  S2BodyDef def = s2_body_def();
  def.position = s2_vec2(sin(0.1), -cos(0.1));
  def.mass = 1;
  def.inertia = 1e-6; // kg m^2: nearly a point
  S2BodyId bob;
  must(s2_body_create(world, &def, &bob));
  S2JointDef pivot = s2_joint_def(S2_HINGE);
  pivot.a = bob; // b stays null: the world
  pivot.anchor_a = s2_vec2(0, 0);
  S2JointId hinge;
  must(s2_joint_create(world, &pivot, &hinge));
  double x = 1;
  while (x > 0) { // a quarter of the period
    must(s2_world_step(world));
    must(s2_body_get(world, bob, S2_BODY_X, &x));
  }
  double period = 4 * s2_world_time(world);
  printf("period %.2f s\n", period);
  s2_world_destroy(world);
  return fabs(period - 2.0064) < 0.01 ? EXIT_SUCCESS : EXIT_FAILURE;
}
