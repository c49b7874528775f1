// No body passes through a wall, however fast the body and thin the wall, in all steppings but
// bisect.
#include "worlds.h"

enum { PLATE, BOX, DISC, BODIES };

// In a box of walls of 0.1 m, 8 m wide.
static S2World *thrown(int what, double speed, S2Stepping stepping, uint64_t seed,
                       S2BodyId *projectile) {
  S2Rng rng = s2_rng_seeded(seed);
  S2WorldDef def = fixed_def();
  def.dt = 1.0 / 60;
  def.stepping = stepping;
  S2World *world;
  must(s2_world_create(&def, &world));
  for (int side = -1; side <= 1; side += 2) {
    add_box(world, rough(fixed_at(4.05 * side, 0), 0.3, 0.5), 0.1, 8.2);
    add_box(world, rough(fixed_at(0, 4.05 * side), 0.3, 0.5), 8.2, 0.1);
  }
  double along = 6.283185307179586 * s2_rng_uniform(&rng);
  S2BodyDef body = rough(at(6 * s2_rng_uniform(&rng) - 3, 6 * s2_rng_uniform(&rng) - 3), 0.3, 0.5);
  body.angle = 6.283185307179586 * s2_rng_uniform(&rng);
  body.velocity = s2_vec2(speed * cos(along), speed * sin(along));
  body.angular_velocity = 20 * s2_rng_uniform(&rng) - 10;
  *projectile = what == DISC    ? add_disc(world, body, 0.2)
                : what == PLATE ? add_box(world, body, 0.6, 0.01)
                                : add_box(world, body, 0.6, 0.4);
  return world;
}

static void nothing_passes_through_walls(void **state) {
  (void)state;
  const double speed[] = {50, 150, 400};
  const char *more = getenv("S2_THROWS");
  int throws = more != NULL ? atoi(more) : 40;
  const S2Stepping steppings[] = {S2_SPECULATIVE, S2_EVENT, S2_AUTO};
  for (int s = 0; s < 3; s++) {
    for (int what = PLATE; what < BODIES; what++) {
      for (int v = 0; v < 3; v++) {
        for (int k = 0; k < throws; k++) {
          S2BodyId body;
          S2World *world = thrown(what, speed[v], steppings[s], (uint64_t)k, &body);
          steps(world, 30);
          double x = get(world, body, S2_BODY_X), y = get(world, body, S2_BODY_Y);
          if (!(fabs(x) < 4 && fabs(y) < 4)) {
            fail_msg("throw %d of body %d at %g m/s, stepping %d: out at (%g, %g)", k, what,
                     speed[v], steppings[s], x, y);
          }
          s2_world_destroy(world);
        }
      }
    }
  }
}

// The tip of a plate meets a wall: it turns by more than a right angle within the step.
static void a_plate_stays_before_the_wall(void **state) {
  (void)state;
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0, -9.81);
  def.dt = 1.0 / 60;
  S2World *world;
  must(s2_world_create(&def, &world));
  add_box(world, rough(fixed_at(4.05, 4), 0.3, 0.5), 0.1, 8);
  S2BodyDef plate = rough(at(3.666445, 0.956244), 0.3, 0.5);
  plate.angle = 3.211227;
  plate.velocity = s2_vec2(49.998339, -0.900419);
  plate.angular_velocity = 1.110701;
  S2BodyId body = add_box(world, plate, 0.6, 0.01);
  for (int i = 0; i < 30; i++) {
    steps(world, 1);
    assert_true(get(world, body, S2_BODY_X) < 4);
    assert_true(s2_world_residuals(world).penetration < 1e-6);
  }
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_plate_stays_before_the_wall),
      cmocka_unit_test(nothing_passes_through_walls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
