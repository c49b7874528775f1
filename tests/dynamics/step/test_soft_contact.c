// Compliant contacts: springs and dashpots that push.
#include "worlds.h"

static const double g = 10, dt = 1.0 / 120;

static S2BodyDef soft(S2BodyDef def, double compliance, double damping) {
  def.contact_compliance = compliance;
  def.contact_damping = damping;
  return def;
}

static S2BodyDef heavy(S2BodyDef def, double mass) {
  def.mass = mass;
  return def;
}

// Its top is y = 0.
static S2BodyId add_floor(S2World *world, double compliance, double damping) {
  return add_box(world, soft(fixed_at(0, -1), compliance, damping), 40, 2);
}

static void use(S2World *world, S2Stepping stepping, S2RestitutionModel model) {
  S2WorldDef def = *s2_world_settings(world);
  def.stepping = stepping;
  def.restitution_model = model;
  must(s2_world_configure(world, &def));
}

// For tests of the row of implicit Euler, of blending, or of a solver that the two stages do not
// use. Their own rows are tested in tests/lua/joints/test_rattle_soft.lua.
static S2World *by_projection(S2World *world) {
  S2WorldDef def = *s2_world_settings(world);
  def.flow = S2_FLOW_PROJECTED;
  must(s2_world_configure(world, &def));
  return world;
}

static int warnings(S2World *world) {
  int count, found = 0;
  const S2Event *event = s2_world_events(world, &count);
  for (int i = 0; i < count; i++) {
    found += event[i].type == S2_SOLVER_WARNING;
  }
  return found;
}

// A box stands on two points: each carries half of its weight.
static void a_box_sinks_by_its_weight(void **state) {
  (void)state;
  for (int stepping = S2_SPECULATIVE; stepping <= S2_BISECT; stepping++) {
    S2World *world = world_new(-g, dt);
    use(world, (S2Stepping)stepping, S2_NEWTON);
    add_floor(world, 3e-4, 2e3);
    S2BodyId box = add_box(world, heavy(soft(at(0, 0.5), 2e-4, 1e3), 3), 1, 1);
    double sink = 3 * g * 5e-4 / 2;
    steps_solved(world, 2000, 1e-9, 0);
    near(0.5 - get(world, box, S2_BODY_Y), sink, 1e-9 * sink);
    near(get(world, box, S2_BODY_ANGLE), 0, 1e-12);
    near(s2_world_energy(world).potential, 3 * g * (0.5 - sink) + 2 * sink * sink / 2 / 5e-4, 1e-9);
    assert_int_equal(s2_world_overlaps(world, NULL, 0), 0);
    double left;
    must(s2_world_resolve_overlaps(world, &left));
    near(0.5 - get(world, box, S2_BODY_Y), sink, 1e-9 * sink); // stays
    s2_world_destroy(world);
  }
}

static void rest_is_found_on_springs(void **state) {
  (void)state;
  S2World *world = world_new(-g, dt);
  add_floor(world, 1e-3, 0);
  S2BodyId disc = add_disc(world, heavy(at(0, 0.7), 2), 0.5);
  S2StaticOptions options = s2_static_options();
  S2StaticResult result;
  must(s2_world_solve_static(world, &options, &result));
  assert_true(result.solved);
  near(get(world, disc, S2_BODY_Y), 0.5 - 2 * g * 1e-3, 1e-6 * 2 * 1e-3); // 1e-6 m/s^2
  s2_world_destroy(world);
}

// m y'' = -m g - k y - d y' by implicit Euler is linear: about y* = -m g C its n-th step is
// rho^n (a cos(n phi) + b sin(n phi)), rho^2 = 1/D, 2 rho cos(phi) = (2 + h d/m) / D,
// D = 1 + h^2 k/m + h d/m.
static void a_ball_bounces_as_implicit_euler_says(void **state) {
  (void)state;
  const double m = 2, k = 2e3, h = 1e-3, dampings[3] = {0, 5, 25}, v0 = -2;
  double last = -v0;
  for (int i = 0; i < 3; i++) {
    double d = dampings[i];
    S2World *world = by_projection(world_new(-g, h));
    add_floor(world, 1 / k, d);
    S2BodyDef def = heavy(rough(at(0, 0.5), 0, 1), m); // restitution has no effect
    def.velocity = s2_vec2(0, v0);
    S2BodyId ball = add_disc(world, def, 0.5);
    double big = 1 + h * h * k / m + h * d / m, rest = -m * g / k;
    double rho = 1 / sqrt(big), phi = acos((2 + h * d / m) / big / (2 * rho));
    double a = -rest, y1 = h * (v0 - h * g) / big; // from y = 0
    double b = ((y1 - rest) / rho - a * cos(phi)) / sin(phi), y = 0, v = v0;
    int n = 0;
    for (;; n++) {
      double y_next = rest + pow(rho, n + 1) * (a * cos((n + 1) * phi) + b * sin((n + 1) * phi));
      v = (y_next - y) / h;
      y = y_next;
      if (-k * y - d * v < 0) {
        break; // it has left: springs do not pull
      }
      steps_solved(world, 1, 1e-9, 0);
      near(get(world, ball, S2_BODY_Y), 0.5 + y, 1e-12);
      near(get(world, ball, S2_BODY_VY), v, 1e-10);
    }
    assert_in_range(n, 80, 120); // about half a period, 0.1 s
    double leaving = get(world, ball, S2_BODY_VY);
    assert_true(leaving > 0 && leaving < last); // the more damping, the slower
    last = leaving;
    steps_solved(world, 1, 1e-9, 0);
    near(get(world, ball, S2_BODY_VY), leaving - h * g, 1e-12);
    s2_world_destroy(world);
  }
}

// With a damped spring no force acts before the bodies touch, however fast they are.
static void nothing_acts_at_a_distance(void **state) {
  (void)state;
  S2World *world = world_new(0, dt);
  add_floor(world, 1e-2, 1e4); // h is far below C d = 100 s
  S2BodyDef def = at(0, 0.5 + 0.1);
  def.velocity = s2_vec2(0, -1);
  S2BodyId ball = add_disc(world, def, 0.5);
  for (int i = 0; i < 12; i++) { // reaches the floor at the end of the twelfth step
    steps_solved(world, 1, 1e-9, 0);
    near(get(world, ball, S2_BODY_VY), -1, 1e-9);
  }
  steps_solved(world, 1, 1e-9, 0);
  assert_true(get(world, ball, S2_BODY_VY) > -0.1);
  s2_world_destroy(world);
}

// One step of a disc on the floor: its speed after it.
static double speed_after(double ca, double da, double cb, double db) {
  S2World *world = by_projection(world_new(0, dt));
  add_floor(world, cb, db);
  S2BodyDef def = heavy(soft(at(0, 0.499), ca, da), 2);
  def.velocity = s2_vec2(0, -1);
  S2BodyId disc = add_disc(world, def, 0.5);
  steps_solved(world, 1, 1e-9, ca + cb > 0 ? 0 : 1);
  double v = get(world, disc, S2_BODY_VY);
  s2_world_destroy(world);
  return v;
}

static void springs_and_dashpots_combine(void **state) {
  (void)state;
  near(speed_after(1e-3, 50, 1e-3, 50), speed_after(2e-3, 25, 0, 0), 1e-12);
  near(speed_after(1e-3, 60, 2e-3, 30), speed_after(3e-3, 20, 0, 0), 1e-12); // 1/20 = 1/60 + 1/30
  near(speed_after(1e-3, 50, 0, 7), speed_after(1e-3, 50, 0, 0), 0);         // on a rigid one
  near(speed_after(1e-3, 50, 1e-15, 7), speed_after(1e-3, 50, 0, 0), 1e-9);
  near(speed_after(0, 50, 0, 50), speed_after(0, 0, 0, 0), 0); // no spring, no dashpot
  // W u = m v - lambda, u + C' lambda + b = 0
  double c = 1e-3, d = 50, under = dt * (dt + c * d), b = -1e-3 / (dt + c * d);
  double lambda = (1 - b) / (0.5 + c / under);
  near(speed_after(c, d, 0, 0), -1 + lambda / 2, 1e-12);
}

// Five boxes of 1 to 5 kg with these compliances, in a stack on a rigid floor; writes their final
// positions.
static void stack(const double *compliance, int count, double velocity, double y[5], double x[5]) {
  S2World *world = world_new(-g, dt);
  S2BodyId box[5];
  add_box(world, rough(fixed_at(0, -1), 0.025, 0), 40, 2);
  for (int i = 0; i < 5; i++) {
    S2BodyDef def = heavy(rough(at(0, 0.5 + i), 0.4, 0), 1 + i); // 0.1 with the floor
    def = soft(def, compliance[i], compliance[i] > 0 ? 0.05 / compliance[i] : 0);
    def.velocity = s2_vec2(velocity, 0);
    box[i] = add_box(world, def, 1, 1);
  }
  steps_solved(world, count, 1e-9, 1e-9);
  assert_int_equal(warnings(world), 0);
  for (int i = 0; i < 5; i++) {
    y[i] = get(world, box[i], S2_BODY_Y);
    x[i] = get(world, box[i], S2_BODY_X);
  }
  s2_world_destroy(world);
}

static void mixed_stacks_stand(void **state) {
  (void)state;
  // Pairs: floor-0 rigid, 0-1 and 1-2 soft, 2-3 rigid, 3-4 soft.
  const double c[5] = {0, 2e-5, 0, 0, 1e-4};
  double y[5], x[5], sunk = 0, above = 15;
  stack(c, 2400, 0, y, x);
  for (int i = 0; i < 5; i++) {
    sunk += above * g * ((i > 0 ? c[i - 1] : 0) + c[i]) / 2;
    above -= 1 + i;
    near(y[i], 0.5 + i - sunk, 1e-9);
    near(x[i], 0, 1e-9);
  }
}

static void stiff_springs_are_rigid(void **state) {
  (void)state;
  const double none[5] = {0};
  double y0[5], x0[5], y[5], x[5];
  stack(none, 240, 1.5, y0, x0); // slides for 1.5 s, then stands
  // On springs it slides as on rigid ground, by the two stages in both cases.
  for (double c = 1e-2; c > 1e-13; c /= 10) {
    double all[5] = {c, c, c, c, c}, most = 0;
    stack(all, 240, 1.5, y, x);
    for (int i = 0; i < 5 && c <= 1e-5; i++) {
      most = fmax(most, fmax(fabs(y[i] - y0[i]), fabs(x[i] - x0[i])));
    }
    // Five pairs of 2 c, at most 15 kg on two points, and rounding.
    if (!(most <= 5 * 2 * c * 15 * g + 1e-9)) {
      fail_msg("compliance %g: %g m off the rigid stack", c, most);
    }
  }
}

// A box that slides on springs, a disc on top: every solver gives the same motion while it solves,
// and those that always solve (docs/solvers.md) to the end.
static void all_solvers_agree(void **state) {
  (void)state;
  enum { STEPS = 30 };
  double expected[STEPS];
  for (int solver = S2_SOLVER_AUTO; solver < S2_SOLVER_PROGRAM; solver++) {
    // for one contact only; for none
    if (solver == S2_SOLVER_CLOSED || solver == S2_SOLVER_LINEAR) {
      continue;
    }
    S2World *world = world_new(-g, dt);
    S2WorldDef def = *s2_world_settings(world);
    def.solver = (S2Solver)solver;
    def.flow = S2_FLOW_PROJECTED;
    must(s2_world_configure(world, &def));
    add_floor(world, 1e-3, 100);
    S2BodyDef lower = at(0, 0.5);
    lower.velocity = s2_vec2(1, 0);
    add_box(world, lower, 1, 1);
    S2BodyId disc = add_disc(world, at(0.1, 1.5), 0.5);
    bool sure = solver == S2_SOLVER_AUTO || solver == S2_SOLVER_PDIPM ||
                solver == S2_SOLVER_LEMKE || solver == S2_SOLVER_NEWTON;
    int solved = 0;
    for (; solved < STEPS; solved++) {
      must(s2_world_step(world));
      if (s2_world_residuals(world).solve.scaled > 1e-9) {
        break;
      }
      double y = get(world, disc, S2_BODY_Y);
      expected[solved] = solver == S2_SOLVER_AUTO ? y : expected[solved];
      near(y, expected[solved], 1e-7);
    }
    assert_in_range(solved, sure ? STEPS : 1, STEPS);
    s2_world_destroy(world);
  }
}

static double between(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

// Discs of all kinds in a bin. Where all pairs are soft, or rigid ones do not bounce, no step gains
// energy, with the energy stored in compressed contacts included.
static void energy_is_never_gained(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(7);
  for (int scene = 0; scene < S2_FEWER(24, 8); scene++) {
    S2World *world = world_new(-g, dt);
    use(world, scene % 4 == 3 ? S2_BISECT : S2_SPECULATIVE, S2_NEWTON);
    bool all_soft = scene % 2 == 0;
    add_floor(world, all_soft ? 1e-4 : 0, 0);
    add_box(world, fixed_at(-3, 4), 2, 12);
    add_box(world, fixed_at(3, 4), 2, 12);
    for (int i = 0; i < 12; i++) {
      double c = pow(10, between(&rng, -8, -3));
      double d = i % 3 == 0 ? 0 : between(&rng, 0, 200);
      S2BodyDef def = heavy(at(-1.2 + 0.8 * (i % 4), 0.6 + 0.85 * (int)(i / 4)), 0);
      def = soft(def, all_soft || i % 2 == 0 ? c : 0, d);
      def.mass = between(&rng, 0.5, 5);
      def.velocity = s2_vec2(between(&rng, -4, 4), between(&rng, -4, 4));
      def.angular_velocity = between(&rng, -5, 5);
      add_disc(world, rough(def, between(&rng, 0, 1), all_soft ? 1 : 0), 0.38);
    }
    double before = s2_world_energy(world).total, first = before;
    for (int i = 0; i < 300; i++) {
      steps_solved(world, 1, 1e-9, 1e-9);
      double now = s2_world_energy(world).total;
      if (!(now <= before + 1e-9 * first)) {
        fail_msg("scene %d, step %d: %.3g J gained of %.3g J", scene, i, now - before, first);
      }
      before = now;
    }
    assert_true(before < first);
    s2_world_destroy(world);
  }
}

static S2World *blended(double step, double alpha) {
  S2World *world = by_projection(world_new(-g, step));
  S2WorldDef def = *s2_world_settings(world);
  def.alpha = def.beta = alpha;
  must(s2_world_configure(world, &def));
  return world;
}

// x'' = -x/(C m) about the depth of rest, while it stays on the floor; returns the error after 1 s.
static double swing_error(double alpha, int steps) {
  const double c = 1e-3, mass = 1, rest = c * mass * g;
  S2World *world = blended(1.0 / steps, alpha);
  add_floor(world, 0, 0);
  S2BodyId ball = add_disc(world, soft(heavy(at(0, 0.5 - rest / 2), mass), c, 0), 0.5);
  for (int i = 0; i < steps; i++) {
    must(s2_world_step(world));
  }
  double y = get(world, ball, S2_BODY_Y);
  s2_world_destroy(world);
  return fabs(y - (0.5 - rest + rest / 2 * cos(1 / sqrt(c * mass))));
}

static void contacts_are_of_second_order_at_one_half(void **state) {
  (void)state;
  double coarse = swing_error(0.5, 400), fine = swing_error(0.5, 1600);
  assert_true(coarse < 2e-5 && coarse > 14 * fine && coarse < 18 * fine);
  assert_true(swing_error(1, 1600) > 1e-3); // first order
}

// A body that falls on springs that the step resolves bounces no higher than its start.
static void blending_makes_no_bounce(void **state) {
  (void)state;
  for (int k = 0; k < 20; k++) {
    double alpha = k % 2 == 0 ? 0.5 : 0.75, c = pow(10, -3.5 + k / 10.0);
    S2World *world = blended(dt, alpha);
    add_floor(world, 0, 0);
    add_disc(world, soft(heavy(at(0, 1), 1), c, k % 3), 0.5);
    double first = s2_world_energy(world).total, before = first;
    for (int i = 0; i < 600; i++) {
      must(s2_world_step(world));
      double now = s2_world_energy(world).total;
      if (!(now <= before + 1e-12 * fabs(first))) {
        fail_msg("case %d, step %d: %.3g J gained of %.3g J", k, i, now - before, first);
      }
      before = now;
    }
    assert_true(before < first);
    s2_world_destroy(world);
  }
}

// An impact between rigid bodies of an island that also stands on springs.
static void impacts_go_past_springs(void **state) {
  (void)state;
  for (int which = 0; which < 4; which++) {
    S2World *world = world_new(-g, dt);
    use(world, which % 2 == 0 ? S2_SPECULATIVE : S2_BISECT, which < 2 ? S2_NEWTON : S2_REFLECTIONS);
    add_floor(world, 1e-4, 300);
    S2BodyId box = add_box(world, heavy(rough(at(0, 0.5), 0.5, 1), 4), 1, 1);
    steps_solved(world, 600, 1e-9, 0);
    double rest = get(world, box, S2_BODY_Y);
    S2BodyDef def = heavy(rough(at(0, 1.5 + 0.3), 0.5, 1), 1);
    def.velocity = s2_vec2(0, -4);
    S2BodyId ball = add_disc(world, def, 0.5);
    double energy = s2_world_energy(world).total;
    for (int i = 0; i < 20; i++) {
      steps_solved(world, 1, 1e-9, 1e-9);
      assert_true(s2_world_energy(world).total <= energy * (1 + 1e-9));
    }
    // -4.69 m/s at the box; the impact leaves (m - M)/(m + M) of that: 2.81 m/s, and the floor adds
    // to it.
    assert_true(get(world, ball, S2_BODY_VY) > 1);
    near(get(world, box, S2_BODY_Y), rest, 0.05);
    s2_world_destroy(world);
  }
}

static void two_discs_keep_their_momentum(void **state) {
  (void)state;
  S2World *world = world_new(0, dt);
  S2BodyDef left = heavy(soft(at(-0.6, 0), 1e-3, 3), 2), right = heavy(at(0.6, 0.2), 5);
  left.velocity = s2_vec2(3, 0);
  left.angular_velocity = 2;
  S2BodyId a = add_disc(world, left, 0.5);
  add_disc(world, right, 0.5);
  double before[3], after[3];
  s2_world_momentum(world, before);
  steps_solved(world, 100, 1e-9, 0);
  s2_world_momentum(world, after);
  near(after[1], before[1], 1e-12);
  near(after[2], before[2], 1e-12);
  assert_true(get(world, a, S2_BODY_VX) < 1);
  s2_world_destroy(world);
}

// Overlaps of soft pairs at rest push, with a scale of their own.
static void an_overlap_without_gravity_is_pushed_apart(void **state) {
  (void)state;
  S2World *world = world_new(0, dt);
  S2BodyId a = add_disc(world, heavy(soft(at(0, 0), 1e-3, 0), 1), 0.5);
  S2BodyId b = add_disc(world, heavy(at(0.9, 0), 1), 0.5);
  steps_solved(world, 1, 1e-9, 0);
  assert_int_equal(warnings(world), 0);
  steps_solved(world, 60, 1e-9, 0);
  double va = get(world, a, S2_BODY_VX), vb = get(world, b, S2_BODY_VX);
  near(va + vb, 0, 1e-12);
  assert_true(vb > 1); // 1/2 0.1^2 / C = 5 J would give 2.2 m/s
  near(s2_world_energy(world).potential, 0, 0);
  s2_world_destroy(world);
}

static void snapshots_carry_them(void **state) {
  (void)state;
  S2World *world = world_new(-g, dt);
  add_floor(world, 1e-3, 4);
  S2BodyId ball = add_disc(world, soft(at(0, 0.6), 1e-4, 2), 0.5);
  steps(world, 40);
  size_t size = s2_world_image_size(world);
  void *image = malloc(size);
  assert_non_null(image);
  s2_world_image_write(world, image);
  steps(world, 40);
  uint64_t hash = s2_world_hash(world);
  must(s2_body_set(world, ball, S2_BODY_CONTACT_COMPLIANCE, 0));
  must(s2_body_set(world, ball, S2_BODY_CONTACT_DAMPING, 0));
  must(s2_world_image_read(world, image, size));
  near(get(world, ball, S2_BODY_CONTACT_COMPLIANCE), 1e-4, 0);
  near(get(world, ball, S2_BODY_CONTACT_DAMPING), 2, 0);
  steps(world, 40);
  assert_true(s2_world_hash(world) == hash);
  free(image);
  s2_world_destroy(world);
}

static void nonsense_is_refused(void **state) {
  (void)state;
  S2World *world = world_new(-g, dt);
  S2BodyId kept = add_disc(world, at(0, 5), 0.5);
  const double bad[3] = {-1e-9, NAN, INFINITY};
  for (int i = 0; i < 4; i++) {
    double value = i < 3 ? bad[i] : 2 * S2_SOFTEST_CONTACT;
    const S2BodyField field[2] = {S2_BODY_CONTACT_COMPLIANCE, S2_BODY_CONTACT_DAMPING};
    for (int k = 0; k < (i < 3 ? 2 : 1); k++) {
      S2BodyDef def = k == 0 ? soft(at(0, 0), value, 0) : soft(at(0, 0), 1, value);
      const S2Vec2 centre = {0, 0};
      S2ShapeDef shape = plain_shape(&centre, 1, 1);
      def.shapes = &shape;
      def.shape_count = 1;
      S2BodyId body;
      S2Status made = s2_body_create(world, &def, &body);
      S2Status set = s2_body_set(world, kept, field[k], value);
      assert_int_equal(made.code, S2_INVALID);
      assert_int_equal(set.code, S2_INVALID);
      assert_non_null(strstr(made.message, s2_body_field(field[k])->name));
      assert_non_null(strstr(set.message, s2_body_field(field[k])->name));
      near(get(world, kept, field[k]), 0, 0);
    }
  }
  // The ends of the domains give finite worlds.
  const double extreme[4][2] = {
      {S2_SOFTEST_CONTACT, 0}, {S2_SOFTEST_CONTACT, 1e300}, {1e-300, 1e300}, {5e-324, 0}};
  add_floor(world, 0, 0);
  for (int i = 0; i < 4; i++) {
    add_box(world, soft(at(3 * i - 5, 0.51), extreme[i][0], extreme[i][1]), 1, 1);
  }
  steps_solved(world, 200, 1e-9, 0.5);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_box_sinks_by_its_weight),
      cmocka_unit_test(rest_is_found_on_springs),
      cmocka_unit_test(a_ball_bounces_as_implicit_euler_says),
      cmocka_unit_test(nothing_acts_at_a_distance),
      cmocka_unit_test(springs_and_dashpots_combine),
      cmocka_unit_test(mixed_stacks_stand),
      cmocka_unit_test(stiff_springs_are_rigid),
      cmocka_unit_test(all_solvers_agree),
      cmocka_unit_test(energy_is_never_gained),
      cmocka_unit_test(contacts_are_of_second_order_at_one_half),
      cmocka_unit_test(blending_makes_no_bounce),
      cmocka_unit_test(impacts_go_past_springs),
      cmocka_unit_test(two_discs_keep_their_momentum),
      cmocka_unit_test(an_overlap_without_gravity_is_pushed_apart),
      cmocka_unit_test(snapshots_carry_them),
      cmocka_unit_test(nonsense_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
