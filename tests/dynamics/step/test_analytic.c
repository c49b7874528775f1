// Scenes with known solutions.
#include "worlds.h"

static void free_fall(void **state) {
  (void)state;
  const double h = 1.0 / 120, g = 9.81;
  S2World *world = world_new(-g, h);
  S2BodyId ball = add_disc(world, at(0, 100), 0.5);
  steps(world, 240);
  // Semi-implicit Euler: y = y0 - g h^2 n (n + 1) / 2, exactly.
  near(get(world, ball, S2_BODY_Y), 100 - g * h * h * 240 * 241 / 2, 1e-11);
  near(get(world, ball, S2_BODY_VY), -g * 2, 1e-12);
  s2_world_destroy(world);
}

static double bounce_error(double e, double h) {
  S2World *world = world_new(-10, h);
  add_box(world, rough(fixed_at(0, -1), 0.5, e), 40, 2);
  S2BodyId ball = add_disc(world, rough(at(0, 1.5), 0.5, e), 0.5);
  double worst = 0, top = 0, previous = -1;
  int bounce = 0;
  for (int i = 0; i < (int)(4 / h) && bounce <= 3; i++) {
    must(s2_world_step(world));
    double vy = get(world, ball, S2_BODY_VY), y = get(world, ball, S2_BODY_Y);
    if (previous <= 0 && vy > 0) {
      bounce += 1;
      top = 0;
    }
    top = fmax(top, y - 0.5);
    if (bounce > 0 && previous > 0 && vy <= 0) {
      worst = fmax(worst, fabs(top - pow(e, 2 * bounce)));
    }
    previous = vy;
    assert_true(s2_world_residuals(world).penetration < 1e-9);
  }
  assert_true(bounce >= 3);
  s2_world_destroy(world);
  return worst;
}

static void bounce_heights_are_first_order(void **state) {
  (void)state;
  const double e[] = {1, 0.8, 0.5};
  for (int i = 0; i < 3; i++) {
    double coarse = bounce_error(e[i], 1.0 / 240), fine = bounce_error(e[i], 1.0 / 960);
    assert_true(coarse < 20.0 / 240); // O(h): at most 20 m/s times h, over three bounces
    assert_true(fine < 20.0 / 960);
  }
}

static void bouncing_comes_to_rest(void **state) {
  (void)state;
  S2World *world = world_new(-9.81, 1.0 / 240);
  add_box(world, rough(fixed_at(0, -1), 0.5, 0.8), 40, 2);
  S2BodyId ball = add_disc(world, rough(at(0, 1.5), 0.5, 0.8), 0.5);
  steps(world, 240 * 8);
  assert_true(get(world, ball, S2_BODY_VY) == 0);
  near(get(world, ball, S2_BODY_Y), 0.5, 1e-9);
  s2_world_destroy(world);
}

static double slide_stop(double h) {
  S2World *world = world_new(-10, h);
  add_box(world, rough(fixed_at(0, -1), 0.6, 0), 400, 2);
  S2BodyDef def = rough(at(0, 0.25), 0.6, 0);
  def.velocity = s2_vec2(5, 0);
  S2BodyId box = add_box(world, def, 1, 0.5);
  steps_solved(world, (int)(2 / h), 1e-9, 1e-9);
  near(get(world, box, S2_BODY_VX), 0, 1e-9); // the solver's tolerance times 1 m/s
  double x = get(world, box, S2_BODY_X);
  s2_world_destroy(world);
  return x;
}

static void sliding_box_stops(void **state) {
  (void)state;
  double coarse = fabs(slide_stop(1.0 / 60) - 25.0 / 12),
         fine = fabs(slide_stop(1.0 / 240) - 25.0 / 12);
  assert_true(coarse < 5.0 / 60); // v0 h
  assert_true(fine < 5.0 / 240);
}

static void incline(double factor, double *x, double *vx) {
  const double angle = 0.5, g = 9.81, h = 1.0 / 120;
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(g * sin(angle), -g * cos(angle));
  def.dt = h;
  S2World *world;
  must(s2_world_create(&def, &world));
  double mu = tan(angle) * factor;
  add_box(world, rough(fixed_at(0, -1), mu, 0), 400, 2);
  S2BodyId box = add_box(world, rough(at(0, 0.25), mu, 0), 1, 0.5);
  steps_solved(world, 240, 1e-9, 1e-9);
  *x = get(world, box, S2_BODY_X);
  *vx = get(world, box, S2_BODY_VX);
  if (factor < 1) {
    near(*vx, 2 * (g * sin(angle) - mu * g * cos(angle)), 1e-10);
  }
  s2_world_destroy(world);
}

static void incline_holds_and_slides(void **state) {
  (void)state;
  double x, vx;
  incline(1 + 1e-3, &x, &vx);
  near(x, 0, 1e-12);
  near(vx, 0, 1e-12);
  incline(1 - 1e-3, &x, &vx);
  assert_true(x > 0 && vx > 0);
}

static void rolling_disc_on_an_incline(void **state) {
  (void)state;
  const double angle = 0.3, g = 9.81, h = 1.0 / 120, r = 0.5;
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(g * sin(angle), -g * cos(angle));
  def.dt = h;
  S2World *world;
  must(s2_world_create(&def, &world));
  add_box(world, rough(fixed_at(0, -1), 0.8, 0), 400, 2);
  S2BodyId disc = add_disc(world, rough(at(0, r), 0.8, 0), r);
  steps_solved(world, 240, 1e-9, 1e-9);
  // Rolling without sliding: a = 2/3 g sin.
  near(get(world, disc, S2_BODY_VX), 2 * g * sin(angle) * 2 / 3, 1e-10);
  near(get(world, disc, S2_BODY_OMEGA), -get(world, disc, S2_BODY_VX) / r, 1e-10);
  s2_world_destroy(world);
}

static void cradle_with_gaps(void **state) {
  (void)state;
  const double v = 5;
  S2World *world = world_new(0, 1.0 / 120);
  S2BodyId discs[5];
  for (int i = 0; i < 5; i++) {
    S2BodyDef def = rough(at(i == 0 ? -3 : (i - 1) * 1.1, 0), 0, 1);
    def.velocity = s2_vec2(i == 0 ? v : 0, 0);
    discs[i] = add_disc(world, def, 0.5);
  }
  steps_solved(world, 240, 1e-9, 1e-9);
  for (int i = 0; i < 4; i++) {
    near(get(world, discs[i], S2_BODY_VX), 0, 1e-9);
  }
  near(get(world, discs[4], S2_BODY_VX), v, 1e-9);
  s2_world_destroy(world);
}

static void touching_cradle_keeps_momentum(void **state) {
  (void)state;
  S2World *world = world_new(0, 1.0 / 120);
  for (int i = 0; i < 5; i++) {
    S2BodyDef def = rough(at(i == 0 ? -3 : i - 1, 0), 0, 1);
    def.velocity = s2_vec2(i == 0 ? 5 : 0, 0);
    add_disc(world, def, 0.5);
  }
  double before[3], after[3], energy = s2_world_energy(world).kinetic;
  s2_world_momentum(world, before);
  for (int i = 0; i < 240; i++) {
    steps_solved(world, 1, 1e-9, 1e-9);
    s2_world_momentum(world, after);
    near(after[1], before[1], 1e-12 * fabs(before[1]));
    assert_true(s2_world_energy(world).kinetic <= energy * (1 + 1e-12));
  }
  s2_world_destroy(world);
}

static void elastic_gas_keeps_its_energy(void **state) {
  (void)state;
  S2World *world = world_new(0, 1.0 / 120);
  add_box(world, rough(fixed_at(0, -11), 0, 1), 24, 2);
  add_box(world, rough(fixed_at(0, 11), 0, 1), 24, 2);
  add_box(world, rough(fixed_at(-11, 0), 0, 1), 2, 24);
  add_box(world, rough(fixed_at(11, 0), 0, 1), 2, 24);
  for (int k = 0; k < 20; k++) {
    S2BodyDef def = rough(at(-8 + (k % 5) * 4, -6 + (k / 5) * 4), 0, 1);
    def.velocity = s2_vec2(5 * cos(k * 2.399963), 5 * sin(k * 2.399963));
    add_disc(world, def, 0.5);
  }
  double before = s2_world_energy(world).kinetic;
  steps_solved(world, 20 * 120, 1e-9, 1e-9);
  near(s2_world_energy(world).kinetic / before, 1, 1e-6);
  s2_world_destroy(world);
}

// Two bodies in space, glancing, with friction and restitution: momentum is conserved.
static void two_bodies_keep_momentum(void **state) {
  (void)state;
  S2World *world = world_new(0, 1.0 / 120);
  S2BodyDef a = rough(at(-2, 0.3), 0.7, 0.5), b = rough(at(2, 0), 0.7, 0.5);
  a.velocity = s2_vec2(3, 0.1);
  a.angular_velocity = 2;
  b.velocity = s2_vec2(-1, 0);
  b.density = 7;
  add_box(world, a, 1, 1);
  add_box(world, b, 1.5, 0.7);
  double before[3], after[3];
  s2_world_momentum(world, before);
  bool met = false;
  for (int i = 0; i < 240; i++) {
    steps_solved(world, 1, 1e-9, 1e-9);
    s2_world_momentum(world, after);
    near(after[1], before[1], 1e-12);
    near(after[2], before[2], 1e-12);
    int count;
    s2_world_contacts(world, &count);
    met |= count > 0;
  }
  assert_true(met);
  s2_world_destroy(world);
}

static void stack_with_heavy_top(void **state) {
  (void)state;
  const double top[] = {1, 10, 100, 1000};
  for (int r = 0; r < 4; r++) {
    S2World *world = world_new(-10, 1.0 / 60);
    add_box(world, rough(fixed_at(0, -1), 0.6, 0), 40, 2);
    S2BodyId last = {0, 0};
    for (int i = 0; i < 10; i++) {
      S2BodyDef def = rough(at(0, i + 0.5), 0.6, 0);
      def.density = i == 9 ? top[r] : 1;
      last = add_box(world, def, 1, 1);
    }
    steps_solved(world, 1000, 1e-9, 1e-6);
    near(get(world, last, S2_BODY_Y), 9.5, 1e-6);
    near(get(world, last, S2_BODY_X), 0, 1e-6);
    near(get(world, last, S2_BODY_ANGLE), 0, 1e-6);
    s2_world_destroy(world);
  }
}

static void pyramid(int base, int count) {
  S2World *world = world_new(-10, 1.0 / 60);
  add_box(world, rough(fixed_at(0, -1), 0.6, 0), 2 * (2 * base + 20), 2);
  S2BodyId top = {0, 0};
  for (int i = 0; i < base; i++) {
    for (int j = 0; j < base - i; j++) {
      top = add_box(world, rough(at(j - (base - i - 1) / 2.0, i + 0.5), 0.6, 0), 1, 1);
    }
  }
  steps_solved(world, count, 1e-9, 1e-6);
  near(get(world, top, S2_BODY_Y), base - 0.5, 1e-6);
  s2_world_destroy(world);
}

static void pyramids_stand(void **state) {
  (void)state;
  pyramid(10, 1000);
  pyramid(20, 1000);
}

static void pendulum_keeps_its_hinge(void **state) {
  (void)state;
  S2World *world = world_new(-9.81, 1.0 / 240);
  S2BodyId rod = add_box(world, at(0.5, 0), 1, 0.05);
  S2JointDef hinge = hinge_def(rod, no_body, 0, 0);
  S2JointId joint;
  must(s2_joint_create(world, &hinge, &joint));
  for (int i = 0; i < 2400; i++) {
    steps_solved(world, 1, 1e-9, 0);
    assert_true(s2_world_residuals(world).joint_error < 1e-9); // the trigger of the projection
  }
  s2_world_destroy(world);
}

// A plank on two props: the reactions follow from statics.
static void reactions_of_a_plank(void **state) {
  (void)state;
  const double g = 10, h = 1.0 / 60;
  S2World *world = world_new(-g, h);
  S2BodyId left = add_box(world, fixed_at(-1.5, 0), 0.2, 0.2);
  add_box(world, fixed_at(0.5, 0), 0.2, 0.2);
  S2BodyDef def = rough(at(0, 0.15), 0.5, 0);
  def.mass = 3;
  add_box(world, def, 4, 0.1);
  steps_solved(world, 10, 1e-9, 1e-9);
  int count;
  const S2Contact *contacts = s2_world_contacts(world, &count);
  double force = 0, moment = 0;
  for (int i = 0; i < count; i++) {
    double sign = contacts[i].normal.y > 0 ? 1 : -1; // direction of the force on a: upwards or not
    bool on_plank = contacts[i].a.index != left.index && contacts[i].a.index != left.index + 1;
    double up = fabs(contacts[i].normal_impulse) / h;
    assert_true(on_plank ? sign > 0 : sign < 0);
    force += up;
    moment += up * contacts[i].point.x;
  }
  near(force, 3 * g, 1e-9);
  near(moment, 0, 1e-8);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(free_fall),
      cmocka_unit_test(bounce_heights_are_first_order),
      cmocka_unit_test(bouncing_comes_to_rest),
      cmocka_unit_test(sliding_box_stops),
      cmocka_unit_test(incline_holds_and_slides),
      cmocka_unit_test(rolling_disc_on_an_incline),
      cmocka_unit_test(cradle_with_gaps),
      cmocka_unit_test(touching_cradle_keeps_momentum),
      cmocka_unit_test(elastic_gas_keeps_its_energy),
      cmocka_unit_test(two_bodies_keep_momentum),
      cmocka_unit_test(stack_with_heavy_top),
      cmocka_unit_test(pyramids_stand),
      cmocka_unit_test(pendulum_keeps_its_hinge),
      cmocka_unit_test(reactions_of_a_plank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
