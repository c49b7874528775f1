// Viscosity of contacts: a drag along the surface, in addition to Coulomb's friction.
#include "worlds.h"

static const double MASS = 3, DRAG = 2, H = 1.0 / 120; // kg, N s/m of each point, s

static S2BodyDef slippery(S2BodyDef def, double friction, double viscosity) {
  def.friction = friction;
  def.contact_viscosity = viscosity;
  return def;
}

// A box that slides on two points of a floor. The floor has a quarter of the viscosity, the box the
// rest.
static S2BodyId sliding(S2World *world, double friction, double speed) {
  add_box(world, slippery(fixed_at(0, -0.5), friction, DRAG / 4), 100, 1);
  S2BodyDef def = slippery(at(0, 0.25), friction, 3 * DRAG / 4);
  def.mass = MASS;
  def.velocity = s2_vec2(speed, 0);
  return add_box(world, def, 2, 0.5);
}

static void set_solver(S2World *world, S2Solver solver, S2Stepping stepping) {
  S2WorldDef def = *s2_world_settings(world);
  def.solver = solver;
  def.stepping = stepping;
  must(s2_world_configure(world, &def));
}

// m v' = -mu m g - 2 d v, by implicit Euler to rounding and close to the exponential.
static void a_block_slows_down_as_the_closed_form_says(void **state) {
  (void)state;
  const S2Solver solvers[] = {S2_SOLVER_AUTO, S2_SOLVER_PDIPM, S2_SOLVER_LEMKE, S2_SOLVER_NEWTON};
  for (int way = 0; way < 16; way++) {
    double friction = way % 2 == 0 ? 0 : 0.1, v = 4;
    S2World *world = world_new(-10, H);
    set_solver(world, solvers[way / 4], way % 4 < 2 ? S2_SPECULATIVE : S2_BISECT);
    S2BodyId box = sliding(world, friction, v);
    for (int i = 0; i < 120; i++) {
      steps_solved(world, 1, 1e-9, 1e-8);
      v = (v - H * friction * 10) / (1 + 2 * DRAG * H / MASS);
      near(get(world, box, S2_BODY_VX), v, 1e-9);
      near(get(world, box, S2_BODY_OMEGA), 0, 1e-9);
    }
    double rate = 2 * DRAG / MASS, slide = friction * 10 / rate;
    near(v, (4 + slide) * exp(-rate) - slide, 0.02);
    s2_world_destroy(world);
  }
}

static void an_incline_has_a_terminal_speed(void **state) {
  (void)state;
  const double slope = 0.3, friction = 0.1;
  S2World *world = world_new(-10, H);
  S2WorldDef def = *s2_world_settings(world);
  def.gravity = s2_vec2(10 * sin(slope), -10 * cos(slope));
  must(s2_world_configure(world, &def));
  S2BodyId box = sliding(world, friction, 0);
  steps_solved(world, 2400, 1e-9, 1e-8);
  double pull = MASS * 10 * (sin(slope) - friction * cos(slope));
  near(get(world, box, S2_BODY_VX), pull / (2 * DRAG), 1e-8);
  // The reported impulse along the surface is the sum of friction and drag.
  int count;
  const S2Contact *contacts = s2_world_contacts(world, &count);
  double along = 0;
  for (int i = 0; i < count; i++) {
    along += fabs(contacts[i].tangent_impulse) / H;
    assert_true(contacts[i].sliding);
  }
  near(along, MASS * 10 * sin(slope), 1e-6);
  s2_world_destroy(world);
}

// If friction can hold, it does: drag alone never makes a sticking contact creep.
static void what_sticks_does_not_creep(void **state) {
  (void)state;
  S2World *world = world_new(-10, H);
  S2WorldDef def = *s2_world_settings(world);
  def.gravity = s2_vec2(2, -10);
  must(s2_world_configure(world, &def));
  S2BodyId box = sliding(world, 0.5, 0);
  steps_solved(world, 240, 1e-9, 1e-8);
  near(get(world, box, S2_BODY_X), 0, 1e-9);
  s2_world_destroy(world);
}

// The drag acts on the speed relative to a belt's surface, and ends where bodies part.
static void drag_needs_a_touch(void **state) {
  (void)state;
  S2World *world = world_new(-10, H);
  S2BodyDef belt = slippery(fixed_at(0, -0.5), 0, DRAG);
  belt.surface_speed = -1.5; // to +x on top
  add_box(world, belt, 100, 1);
  S2BodyDef def = slippery(at(0, 0.25), 0, 0);
  def.mass = MASS;
  S2BodyId box = add_box(world, def, 2, 0.5);
  def.position = s2_vec2(8, 0.1 + 1e-3);
  def.gravity_scale = 0;
  def.velocity = s2_vec2(2, 0);
  S2BodyId above = add_disc(world, def, 0.1);
  steps_solved(world, 1800, 1e-9, 1e-8);
  near(get(world, box, S2_BODY_VX), 1.5, 1e-7);
  near(get(world, above, S2_BODY_VX), 2, 0);
  s2_world_destroy(world);
}

static void momentum_is_kept(void **state) {
  (void)state;
  S2World *world = world_new(0, H);
  S2BodyDef def = slippery(at(0, 0), 0.3, 5);
  def.velocity = s2_vec2(3, -0.1);
  add_box(world, def, 1, 1);
  def.position = s2_vec2(0.2, -1);
  def.velocity = s2_vec2(-2, 0.3);
  add_box(world, def, 1, 1);
  double before[3], after[3], start = s2_world_energy(world).kinetic;
  s2_world_momentum(world, before);
  steps_solved(world, 30, 1e-9, 1e-8);
  s2_world_momentum(world, after);
  near(after[1], before[1], 1e-12);
  near(after[2], before[2], 1e-12);
  assert_true(s2_world_energy(world).kinetic < start);
  s2_world_destroy(world);
}

static void viscosity_of_soft_contacts_and_bad_values(void **state) {
  (void)state;
  S2World *world = world_new(-10, H);
  S2BodyId box = sliding(world, 0, 4);
  must(s2_body_set(world, box, S2_BODY_CONTACT_COMPLIANCE, 1e-5));
  must(s2_body_set(world, box, S2_BODY_CONTACT_DAMPING, 1e4));
  steps_solved(world, 120, 1e-9, 0);
  near(get(world, box, S2_BODY_VX), 4 * pow(1 + 2 * DRAG * H / MASS, -120), 0.05);
  near(get(world, box, S2_BODY_CONTACT_VISCOSITY), 3 * DRAG / 4, 0);
  const double bad[] = {-1, NAN, INFINITY};
  for (int i = 0; i < 3; i++) {
    S2Status status = s2_body_set(world, box, S2_BODY_CONTACT_VISCOSITY, bad[i]);
    assert_int_equal(status.code, S2_INVALID);
    assert_non_null(strstr(status.message, "contact_viscosity"));
    S2BodyDef def = slippery(at(0, 0), 0, bad[i]);
    S2BodyId body;
    const S2Vec2 centre = {0, 0};
    S2ShapeDef shape = plain_shape(&centre, 1, 1);
    def.shapes = &shape;
    def.shape_count = 1;
    assert_int_equal(s2_body_create(world, &def, &body).code, S2_INVALID);
  }
  must(s2_body_set(world, box, S2_BODY_CONTACT_VISCOSITY, 1e12)); // its underside is held
  steps_solved(world, 10, 1e-9, 0);
  near(get(world, box, S2_BODY_VX) + 0.25 * get(world, box, S2_BODY_OMEGA), 0, 1e-6);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_block_slows_down_as_the_closed_form_says),
      cmocka_unit_test(an_incline_has_a_terminal_speed),
      cmocka_unit_test(what_sticks_does_not_creep),
      cmocka_unit_test(drag_needs_a_touch),
      cmocka_unit_test(momentum_is_kept),
      cmocka_unit_test(viscosity_of_soft_contacts_and_bad_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
