// Pseudo-static equilibrium.
#include "worlds.h"

static bool solve(S2World *world, S2StaticResult *result) {
  S2StaticOptions options = s2_static_options();
  must(s2_world_solve_static(world, &options, result));
  return result->solved;
}

// A chain between two points: horizontal forces are the same in all links, vertical ones grow by
// one weight per link, so the slopes of the links form an arithmetic progression (the discrete
// catenary).
static void hang_chain(int links, double length, double mass, double slope, double dt) {
  enum { MOST = 60 };
  assert_true(links <= MOST);
  S2World *world = world_new(-9.81, dt);
  S2BodyId link[MOST], last = {0, 0};
  S2Vec2 end = {0, 0};
  for (int i = 0; i <= links; i++) { // first a V of two straight halves
    double angle = i < links / 2 ? -slope : slope;
    S2Vec2 next = s2_add(end, s2_scale(length, s2_vec2(cos(angle), sin(angle))));
    S2BodyId now = {0, 0};
    if (i < links) {
      S2BodyDef def = at((end.x + next.x) / 2, (end.y + next.y) / 2);
      def.angle = angle;
      def.mass = mass;
      now = link[i] = add_box(world, def, length, 0.02);
    }
    S2JointDef hinge = hinge_def(now.index != 0 ? now : last, no_body, end.x, end.y);
    if (now.index != 0) {
      hinge.b = last;
    }
    S2JointId joint;
    must(s2_joint_create(world, &hinge, &joint));
    last = now;
    end = next;
  }
  S2StaticResult result;
  assert_true(solve(world, &result));
  assert_true(result.residual <= 1e-6);
  assert_true(s2_world_energy(world).kinetic == 0 && s2_world_time(world) == 0);
  assert_true(s2_world_settings(world)->dt == dt);
  assert_true(s2_world_residuals(world).joint_error < 1e-9);
  double step = tan(get(world, link[1], S2_BODY_ANGLE)) - tan(get(world, link[0], S2_BODY_ANGLE));
  for (int i = 1; i < links; i++) {
    double now = tan(get(world, link[i], S2_BODY_ANGLE));
    double before = tan(get(world, link[i - 1], S2_BODY_ANGLE));
    near(now - before, step, 1e-5);
  }
  assert_true(step > 0.05);
  s2_world_destroy(world);
}

static void a_hanging_chain_is_a_catenary(void **state) {
  (void)state;
  hang_chain(12, 0.25, 0.3, 0.7, 1.0 / 120);
}

// Lengths of steps for which kinetic damping does not need shorter steps: tension turns light links
// within a step, but not so fast that the step includes its stiffness.
static void long_chains_hang_at_any_dt(void **state) {
  (void)state;
  const double slope = acos(0.5); // 4 m between two points 2 m apart
  const double dt[] = {0.005, 0.01, 1.0 / 60, 0.05};
  for (int i = 0; i < (int)(sizeof dt / sizeof *dt); i++) {
    hang_chain(40, 0.1, 0.1, slope, dt[i]);
    hang_chain(20, 0.2, 0.2, slope, dt[i]);
  }
  hang_chain(40, 0.1, 0.1, acos(0.75), 0.01);
  hang_chain(20, 0.2, 0.2, slope, 0.02);
  hang_chain(60, 4.0 / 60, 4.0 / 60, slope, 1.0 / 120);
}

static void a_box_is_pushed_against_a_wall(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 120);
  add_box(world, rough(fixed_at(0, -1), 0, 0), 40, 2);
  S2BodyId wall = add_box(world, rough(fixed_at(4, 1), 0, 0), 2, 4);
  S2BodyDef def = rough(at(0, 0.5), 0, 0);
  def.mass = 2;
  def.velocity = s2_vec2(-3, 0);
  S2BodyId box = add_box(world, def, 1, 1);
  must(s2_body_apply_force(world, box, s2_vec2(7, 0), NULL));
  S2StaticResult result;
  assert_true(solve(world, &result));
  near(get(world, box, S2_BODY_X), 2.5, 1e-9);
  near(get(world, box, S2_BODY_Y), 0.5, 1e-9);
  assert_true(get(world, box, S2_BODY_VX) == 0);
  int count;
  const S2Contact *contact = s2_world_contacts(world, &count);
  double push = 0;
  for (int i = 0; i < count; i++) {
    bool on_wall = contact[i].a.index == wall.index || contact[i].b.index == wall.index;
    push += on_wall ? contact[i].normal_impulse * 120 : 0;
  }
  near(push, 7, 1e-6);
  double force[3];
  must(s2_body_force(world, box, force)); // the force has acted
  near(force[1], 0, 0);
  s2_world_destroy(world);
}

static void what_falls_for_ever_is_not_solved(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 60);
  S2BodyId ball = add_disc(world, at(0, 0), 0.5);
  S2StaticOptions options = {.tolerance = 1e-6, .max_steps = 50};
  S2StaticResult result;
  must(s2_world_solve_static(world, &options, &result));
  assert_false(result.solved);
  assert_int_equal(result.steps, 50);
  near(result.residual, 10, 1e-9);
  assert_true(get(world, ball, S2_BODY_VY) == 0 && get(world, ball, S2_BODY_Y) < 0);
  options.tolerance = 0;
  assert_int_equal(s2_world_solve_static(world, &options, &result).code, S2_INVALID);
  s2_world_destroy(world);
}

static bool stop(void *user) {
  return --*(int *)user > 0;
}

static void stopped_it_leaves_no_trace(void **state) {
  (void)state;
  S2World *world = world_new(-10, 1.0 / 60);
  add_box(world, fixed_at(0, -1), 40, 2);
  add_disc(world, at(0, 3), 0.5);
  uint64_t hash = s2_world_hash(world);
  int left = 1; // the first contact, after a long fall
  S2Callbacks callbacks = {.user = &left, .proceed = stop};
  s2_world_set_callbacks(world, &callbacks);
  S2StaticOptions options = s2_static_options();
  S2StaticResult result;
  assert_int_equal(s2_world_solve_static(world, &options, &result).code, S2_ABORTED);
  assert_true(s2_world_hash(world) == hash);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_hanging_chain_is_a_catenary),
      cmocka_unit_test(long_chains_hang_at_any_dt),
      cmocka_unit_test(a_box_is_pushed_against_a_wall),
      cmocka_unit_test(what_falls_for_ever_is_not_solved),
      cmocka_unit_test(stopped_it_leaves_no_trace),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
