// S2_AUTO: steps of small islands are split at their impacts; large islands, and those that only
// joints connect, use speculative steps, as do worlds that event stepping does not support.
#include "world_differences.h"

enum { HEAPS = S2_FEWER(3, 1) };

static S2World *stepped(S2Stepping stepping, double gravity, double dt) {
  S2World *world = world_new(gravity, dt);
  S2WorldDef def = *s2_world_settings(world);
  def.stepping = stepping;
  must(s2_world_configure(world, &def));
  return world;
}

static S2BodyDef thrown(double x, double y, double vx, double vy, double omega) {
  S2BodyDef def = at(x, y);
  def.velocity = s2_vec2(vx, vy);
  def.angular_velocity = omega;
  return def;
}

static S2BodyDef springy(S2BodyDef def, double restitution) {
  def.restitution = restitution;
  return def;
}

// Discs that fall into a bin, more of them than an island may have to be split.
static void add_heap(S2World *world, int count, double left, uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  add_box(world, fixed_at(left - 0.1, 1), 0.2, 4);
  add_box(world, fixed_at(left + 1.1, 1), 0.2, 4);
  for (int i = 0; i < count; i++) {
    double x = left + 0.14 + 0.24 * (i % 4) + 0.02 * s2_rng_uniform(&rng);
    double y = 0.15 + 0.3 * (i / 4) + 0.05 * s2_rng_uniform(&rng);
    add_disc(world, thrown(x, y, s2_rng_uniform(&rng) - 0.5, 0, 0), 0.1);
  }
}

// Height above the floor at t of a ball dropped from `drop`.
static double bounced(double drop, double e, double g, double t) {
  double fall = sqrt(2 * drop / g), v = g * fall;
  if (t <= fall) {
    return drop - g * t * t / 2;
  }
  double s = t - fall;
  for (v *= e; s > 2 * v / g; v *= e) {
    s -= 2 * v / g;
  }
  return v * s - g * s * s / 2;
}

static void a_ball_bounces_as_it_should_beside_a_heap(void **state) {
  (void)state;
  const double e = 0.8, g = 9.81, drop = 1, radius = 0.5;
  S2World *world = stepped(S2_AUTO, -g, 1.0 / 60);
  add_box(world, springy(fixed_at(0, -1), e), 40, 2);
  S2BodyId ball = add_disc(world, springy(at(-5, radius + drop), e), radius);
  add_heap(world, 16, 3, 1);
  for (int i = 1; i <= 120; i++) {
    must(s2_world_step(world));
    near(get(world, ball, S2_BODY_Y) - radius, bounced(drop, e, g, i / 60.0), 1e-9);
  }
  s2_world_destroy(world);
}

static void the_two_go_alike(S2World *a, S2World *b, int count) {
  for (int i = 0; i < count; i++) {
    must(s2_world_step(a));
    must(s2_world_step(b));
    assert_int_equal(s2_world_hash(a), s2_world_hash(b));
  }
  s2_world_destroy(a);
  s2_world_destroy(b);
}

static S2World *swinging(S2Stepping stepping, S2FlowRule flow) {
  S2World *world = stepped(stepping, -9.81, 1.0 / 60);
  S2WorldDef def = *s2_world_settings(world);
  def.flow = flow;
  must(s2_world_configure(world, &def));
  S2BodyId last = {0, 0};
  for (int i = 0; i < 5; i++) {
    S2BodyDef link = thrown(0.25 + 0.5 * i, 3, 0, 0, 2 - i);
    link.mask = 0; // otherwise links that fold up touch
    S2BodyId next = add_box(world, link, 0.5, 0.1);
    S2JointDef joint = hinge_def(next, last, 0.5 * i, 3);
    joint.limit_lo = -1;
    joint.limit_hi = 1;
    S2JointId id;
    must(s2_joint_create(world, &joint, &id));
    last = next;
  }
  return world;
}

static void what_joints_alone_hold_is_speculative(void **state) {
  (void)state;
  for (S2FlowRule flow = S2_FLOW_PROJECTED; flow <= S2_FLOW_RATTLE; flow++) {
    the_two_go_alike(swinging(S2_AUTO, flow), swinging(S2_SPECULATIVE, flow), 200);
  }
  // Left to the stepping, the flow is that by two stages with S2_AUTO only.
  the_two_go_alike(swinging(S2_AUTO, S2_FLOW_AUTO), swinging(S2_AUTO, S2_FLOW_RATTLE), 200);
  the_two_go_alike(swinging(S2_SPECULATIVE, S2_FLOW_AUTO),
                   swinging(S2_SPECULATIVE, S2_FLOW_PROJECTED), 200);
}

static void few_are_stepped_as_by_event(void **state) {
  (void)state;
  S2World *of[2];
  for (int k = 0; k < 2; k++) {
    of[k] = stepped(k == 0 ? S2_AUTO : S2_EVENT, -9.81, 1.0 / 60);
    add_box(of[k], springy(fixed_at(0, -1), 0.5), 40, 2);
    for (int i = 0; i < 8; i++) { // as many as an island may have
      add_box(of[k], springy(thrown(0.1 * i, 0.5 + 0.7 * i, 0.2 * i - 0.5, 0, 1 - i), 0.5), 0.6,
              0.4);
    }
  }
  the_two_go_alike(of[0], of[1], 200);
}

static void worlds_that_event_stepping_does_not_take_are_speculative(void **state) {
  (void)state;
  for (int setting = 0; setting < 4; setting++) {
    S2World *of[2];
    for (int k = 0; k < 2; k++) {
      of[k] = stepped(S2_SPECULATIVE, -9.81, 1.0 / 60);
      S2WorldDef def = *s2_world_settings(of[k]);
      def.stepping = k == 0 ? S2_AUTO : S2_SPECULATIVE;
      def.restitution_model = setting == 0 ? S2_REFLECTIONS : S2_NEWTON;
      def.alpha = def.beta = setting == 1 ? 0.5 : 1;
      def.geometric_stiffness = setting == 2 ? S2_GEOMETRIC_PSD : S2_GEOMETRIC_OFF;
      def.stabilization = setting == 3 ? S2_POST : S2_PROJECTION;
      assert_int_equal(s2_world_way(&def), S2_SPECULATIVE);
      must(s2_world_configure(of[k], &def));
      add_box(of[k], springy(fixed_at(0, -1), 0.5), 40, 2);
      add_box(of[k], springy(thrown(0, 1, 1, 0, 2), 0.5), 0.6, 0.4);
    }
    the_two_go_alike(of[0], of[1], 120);
  }
  S2WorldDef def = s2_world_def();
  assert_int_equal(def.stepping, S2_AUTO);
  assert_int_equal(s2_world_way(&def), S2_EVENT);
}

static void copies_go_on_alike(void **state) {
  (void)state;
  S2World *world = stepped(S2_AUTO, -9.81, 1.0 / 120), *copy;
  add_box(world, springy(fixed_at(0, -1), 0.3), 40, 2);
  add_heap(world, 14, 3, 2);
  add_box(world, springy(thrown(-3, 1, 1, 0, 3), 0.3), 0.6, 0.4);
  for (int i = 0; i < 45; i++) {
    must(s2_world_step(world));
  }
  must(s2_world_clone(world, &copy));
  the_two_go_alike(world, copy, 120);
}

// Kinetic and potential energy.
static double total(const S2World *world) {
  double sum = 0;
  for (int i = 0; s2_world_body(world, i).index != 0; i++) {
    S2BodyId body = s2_world_body(world, i);
    double m = get(world, body, S2_BODY_MASS), v = get(world, body, S2_BODY_VY);
    if (isfinite(m) && m > 0) {
      sum += m * 9.81 * get(world, body, S2_BODY_Y) + m * v * v / 2 +
             m * pow(get(world, body, S2_BODY_VX), 2) / 2 +
             get(world, body, S2_BODY_INERTIA) * pow(get(world, body, S2_BODY_OMEGA), 2) / 2;
    }
  }
  return sum;
}

// Islands grow, merge and separate on the way. With the two stages, the energy of small islands
// oscillates as rows turn, by at most 5e-9 of the total.
static void heap_loses_energy_and_rests(S2FlowRule flow, uint64_t seed) {
  S2World *world = stepped(S2_AUTO, -9.81, 1.0 / 120);
  S2WorldDef def = *s2_world_settings(world);
  def.flow = flow;
  must(s2_world_configure(world, &def));
  add_box(world, fixed_at(0, -1), 40, 2);
  add_heap(world, 24, 0, seed);
  double start = total(world), before = start;
  for (int i = 0; i < 120 * 8; i++) {
    must(s2_world_step(world));
    double now = total(world);
    double sway = flow == S2_FLOW_PROJECTED ? 0 : 1e-6 * s2_world_energy(world).kinetic;
    assert_true(now <= before + 1e-10 * start + sway);
    assert_true(now <= start);
    before = now;
  }
  double fastest = 0;
  for (int i = 3; i < 27; i++) {
    S2BodyId body = s2_world_body(world, i);
    fastest = fmax(fastest, hypot(get(world, body, S2_BODY_VX), get(world, body, S2_BODY_VY)));
  }
  assert_true(fastest < 1e-9);
  assert_true(s2_world_residuals(world).penetration < 1e-9);
  s2_world_destroy(world);
}

static void heaps_lose_energy_and_rest(void **state) {
  (void)state;
  for (uint64_t seed = 3; seed < 3 + HEAPS; seed++) {
    heap_loses_energy_and_rests(S2_FLOW_PROJECTED, seed);
    heap_loses_energy_and_rests(S2_FLOW_AUTO, seed);
  }
}

// Discs in rows of `across` that run into each other above the ground, and a separate one.
static S2World *add_swarm(uint64_t k, int discs, int across, double speed) {
  S2Rng rng = s2_rng_seeded(k + 11);
  S2World *world = stepped(S2_AUTO, 0, 1.0 / 60);
  S2WorldDef def = *s2_world_settings(world);
  def.tolerance = 1e-12;
  must(s2_world_configure(world, &def));
  add_box(world, springy(fixed_at(0, -1), 0.4), 40, 2);
  for (int i = 0; i < discs; i++) {
    S2BodyDef disc = at(0.21 * (i % across) + 0.01 * s2_rng_uniform(&rng),
                        0.5 + 0.21 * (i / across) + 0.01 * s2_rng_uniform(&rng));
    disc.velocity = s2_vec2(speed * s2_rng_normal(&rng), speed * s2_rng_normal(&rng));
    disc.friction = 0.2;
    add_disc(world, disc, 0.1);
  }
  add_disc(world, springy(thrown(-2, 0.5 + 0.1 * (double)k, 0.5, -2, 1), 0.6), 0.3);
  return world;
}

// Twelve discs have fewer pairs than S2_AUTO_PAIRS, so their impacts are located. 18 slow ones have
// more, and take speculative steps.
static void derivatives_are_those_of_differences(void **state) {
  (void)state;
  Count counts[CLASSES] = {{0}};
  for (uint64_t k = 0; k < 4; k++) {
    S2World *world = add_swarm(k, 12, 4, 1);
    compare("a swarm and a ball", world, 2, k + 40, counts);
    s2_world_destroy(world);
    world = add_swarm(k, 18, 6, 0.02);
    compare("a large swarm and a ball", world, 4, k + 40, counts);
    s2_world_destroy(world);
  }
  report("auto", counts);
  assert_true(counts[OF_NOTHING].compared >= 6);
  assert_true(counts[OF_V].nonzero > (picked < 10 ? 4 : 40));
}

// The flag that times of impacts are not part of the derivative: set for a heap, not for islands
// whose steps are split.
static void only_heaps_are_flagged(void **state) {
  (void)state;
  for (int heap = 0; heap < 2; heap++) {
    S2World *world = stepped(S2_AUTO, -9.81, 1.0 / 60);
    add_box(world, springy(fixed_at(0, -1), 0.4), 40, 2);
    for (int i = 0; i < (heap ? 14 : 6); i++) { // 27 pairs, 11 pairs
      add_disc(world, thrown(0.202 * i, 0.2 + 0.001 * i, 0.1 * i, 0, 0), 0.1);
    }
    Rollout rollout = {.steps = 12};
    rollout.weight[0][4] = 1;
    S2WorldGradient g = {0};
    backward(world, &rollout, &g);
    assert_int_equal((g.flags & S2_GRADIENT_IMPACT) != 0, heap);
    assert_true((g.flags & S2_GRADIENT_PARTIAL) == 0);
    s2_world_gradient_free(&g);
    s2_world_destroy(world);
  }
}

int main(void) {
  pick(10); // numbers of a class
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_ball_bounces_as_it_should_beside_a_heap),
      cmocka_unit_test(what_joints_alone_hold_is_speculative),
      cmocka_unit_test(few_are_stepped_as_by_event),
      cmocka_unit_test(worlds_that_event_stepping_does_not_take_are_speculative),
      cmocka_unit_test(copies_go_on_alike),
      cmocka_unit_test(heaps_lose_energy_and_rest),
      cmocka_unit_test(derivatives_are_those_of_differences),
      cmocka_unit_test(only_heaps_are_flagged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
