// Force laws of a C program: order, energy, the arguments of their calls, and their derivative.
#include "worlds.h"

#include "diff/linear/linearize.h"

#include <math.h>

typedef struct Law { // f = -k x - d v + b (vy, -vx), of mass 1
  double k, d, b;
  int asked;
  bool slopes;
} Law;

static bool law_force(void *user, S2World *world, S2ForceCall *call) {
  Law *law = user;
  double q[3], v[3];
  must(s2_body_q(world, call->body, q));
  must(s2_body_v(world, call->body, v));
  law->asked += 1;
  int32_t slot = (int32_t)call->body.index - 1;
  for (int c = 1; c < 3; c++) {
    double side = c == 1 ? law->b : -law->b;
    call->force[c] += -law->k * q[c] - law->d * v[c] + side * v[3 - c];
    if (law->slopes && call->wanted) {
      s2_force_slope(world, c, slot, S2_BODY_ANGLE + c, -law->k);
      s2_force_slope(world, c, slot, S2_BODY_OMEGA + c, -law->d);
      s2_force_slope(world, c, slot, S2_BODY_OMEGA + 3 - c, side);
      call->sloped = true;
    }
  }
  return true;
}

static S2World *law_world(Law *law, double dt, S2Stepping stepping, S2BodyId *body) {
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0, 0);
  def.dt = dt;
  def.stepping = stepping;
  S2World *world;
  must(s2_world_create(&def, &world));
  S2BodyDef at_rest = at(1, 0);
  at_rest.mass = 1;
  at_rest.velocity = s2_vec2(0, 0.5);
  *body = add_disc(world, at_rest, 0.1);
  must(s2_body_set_force_law(world, *body, true));
  s2_world_set_callbacks(world, &(S2Callbacks){.user = law, .force = law_force});
  return world;
}

// Velocity Verlet keeps v^2 + k (1 - (h w)^2/4) x^2 of each direction.
static void springs_keep_their_energy(void **state) {
  (void)state;
  for (int i = 1; i < 20; i++) {
    double dt = 1.0 / 60, k = pow(0.1 * i / dt, 2);
    Law law = {.k = k};
    S2BodyId body;
    S2World *world = law_world(&law, dt, S2_AUTO, &body);
    double less = k * (1 - dt * dt * k / 4), before = less + 0.25;
    for (int n = 0; n < 2000; n++) {
      must(s2_world_step(world));
    }
    double x = get(world, body, S2_BODY_X), y = get(world, body, S2_BODY_Y);
    double vx = get(world, body, S2_BODY_VX), vy = get(world, body, S2_BODY_VY);
    near(vx * vx + vy * vy + less * (x * x + y * y), before, 1e-9 * before);
    s2_world_destroy(world);
  }
}

static double law_x(Law law, double dt, S2Stepping stepping) {
  S2BodyId body;
  S2World *world = law_world(&law, dt, stepping, &body);
  steps(world, (int)lround(1 / dt));
  double x = get(world, body, S2_BODY_X);
  s2_world_destroy(world);
  return x;
}

// x'' = -k x - d x' from 1 at rest, with weak, critical and strong damping.
static double damped_x(double k, double d, double t) {
  double a = d / 2, s = sqrt(fabs(k - a * a));
  double c = k > a * a ? cos(s * t) : cosh(s * t);
  double sine = s == 0 ? t : k > a * a ? sin(s * t) / s : sinh(s * t) / s;
  return exp(-a * t) * (c + a * sine);
}

static void dampers_are_of_second_order(void **state) {
  (void)state;
  const double dampers[] = {0, 1, 6, 12, 20, 40};
  for (size_t i = 0; i < sizeof dampers / sizeof *dampers; i++) {
    Law law = {.k = 36, .d = dampers[i]};
    double right = damped_x(law.k, law.d, 1);
    double coarse = fabs(law_x(law, 1.0 / 120, S2_AUTO) - right);
    double fine = fabs(law_x(law, 1.0 / 240, S2_AUTO) - right);
    near(log2(coarse / fine), 2, 0.1);
  }
}

static void magnets_keep_the_speed(void **state) {
  (void)state;
  const S2Stepping ways[] = {S2_AUTO, S2_EVENT, S2_SPECULATIVE, S2_BISECT};
  for (int i = 0; i < 4; i++) {
    Law law = {.b = 30};
    S2BodyId body;
    S2World *world = law_world(&law, 1.0 / 60, ways[i], &body);
    steps(world, 600);
    near(hypot(get(world, body, S2_BODY_VX), get(world, body, S2_BODY_VY)), 0.5, 1e-11);
    s2_world_destroy(world);
  }
}

// Once at the start, and at the end until a velocity and its force agree: once for a constant
// force, twice where it depends on the position.
static void laws_are_asked_at_both_ends(void **state) {
  (void)state;
  for (int spring = 0; spring < 2; spring++) {
    Law law = {.k = spring};
    S2BodyId body;
    S2World *world = law_world(&law, 1.0 / 60, S2_AUTO, &body);
    steps(world, 10);
    assert_int_equal(law.asked, spring ? 30 : 20);
    s2_world_destroy(world);
  }
}

static void linear_steps_are_those_of_differences(void **state) {
  (void)state;
  const S2Stepping ways[] = {S2_AUTO, S2_SPECULATIVE, S2_BISECT};
  S2Arena arena;
  s2_arena_init(&arena);
  for (int i = 0; i < 3; i++) {
    Law law = {.k = 36, .d = 3, .b = 5, .slopes = true};
    S2BodyId body;
    S2Linear linear;
    S2World *world = law_world(&law, 1.0 / 60, ways[i], &body), *clone;
    must(s2_world_clone(world, &clone));
    s2_world_set_callbacks(clone, &(S2Callbacks){.user = &law, .force = law_force});
    must(s2_world_linearize(clone, NULL, 0, &arena, &linear));
    s2_world_destroy(clone);
    double start[6], end[2][6], step = 1e-4; // the law is linear
    s2_world_state(world, start);
    for (int j = 0; j < 6; j++) {
      for (int side = 0; side < 2; side++) {
        double from[6];
        memcpy(from, start, sizeof from);
        from[j] += side == 0 ? step : -step;
        must(s2_world_set_state(world, from, 6));
        must(s2_world_step(world));
        s2_world_state(world, end[side]);
      }
      for (int r = 0; r < 6; r++) {
        near(linear.a[6 * r + j], (end[0][r] - end[1][r]) / (2 * step), 1e-9);
      }
    }
    s2_world_destroy(world);
    s2_arena_reset(&arena);
  }
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(springs_keep_their_energy),
      cmocka_unit_test(dampers_are_of_second_order),
      cmocka_unit_test(magnets_keep_the_speed),
      cmocka_unit_test(laws_are_asked_at_both_ends),
      cmocka_unit_test(linear_steps_are_those_of_differences),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
