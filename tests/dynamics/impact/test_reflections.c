// Generalised reflections: impacts through bodies that touch.
#include "worlds.h"

static S2World *world_of(S2Stepping stepping, double gravity, double dt) {
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0, gravity);
  def.dt = dt;
  def.stepping = stepping;
  def.restitution_model = S2_REFLECTIONS;
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

static double between(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

enum { MOST = 12 };

// `first` discs at 1 m/s, touching each other, meet `others` discs that touch each other.
static void cradle(S2Stepping stepping, int first, int others, double e, double friction,
                   double v[MOST], double *energy) {
  S2World *world = world_of(stepping, 0, 1.0 / 120);
  S2BodyId disc[MOST];
  for (int i = 0; i < first + others; i++) {
    S2BodyDef def = rough(at(i < first ? i - 0.25 : i, 0), friction, e);
    def.velocity = s2_vec2(i < first ? 1 : 0, 0);
    disc[i] = add_disc(world, def, 0.5);
  }
  double before = s2_world_energy(world).kinetic, given[3], kept[3];
  s2_world_momentum(world, given);
  steps(world, 60);
  s2_world_momentum(world, kept);
  near(kept[1], given[1], 1e-12 * given[1]);
  for (int i = 0; i < first + others; i++) {
    v[i] = get(world, disc[i], S2_BODY_VX);
  }
  *energy = s2_world_energy(world).kinetic / before;
  assert_true(s2_world_stats(world)->unsolved_solves == 0);
  s2_world_destroy(world);
}

static void a_touching_cradle_passes_the_impact_on(void **state) {
  (void)state;
  const S2Stepping stepping[] = {S2_SPECULATIVE, S2_BISECT};
  const int size[] = {2, 3, 5, 10};
  for (int s = 0; s < 2; s++) {
    for (int n = 0; n < 4; n++) {
      double v[MOST], energy;
      cradle(stepping[s], 1, size[n] - 1, 1, 0, v, &energy);
      for (int i = 0; i < size[n]; i++) {
        near(v[i], i == size[n] - 1 ? 1 : 0, 1e-9);
      }
      near(energy, 1, 1e-12);
    }
    double v[MOST], energy;
    cradle(stepping[s], 2, 3, 1, 0, v, &energy); // two on three: five in all
    for (int i = 0; i < 5; i++) {
      near(v[i], i >= 3 ? 1 : 0, 1e-9);
    }
    near(energy, 1, 1e-12);
    cradle(stepping[s], 2, 5, 1, 0, v, &energy);
    for (int i = 0; i < 7; i++) {
      near(v[i], i >= 5 ? 1 : 0, 1e-9);
    }
    near(energy, 1, 1e-12);
  }
}

// e = 0.5: half of 0 0 0 0 1, half of the common 0.2.
static void one_restitution_blends(void **state) {
  (void)state;
  for (int s = 0; s < 2; s++) {
    double v[MOST], energy;
    cradle(s == 0 ? S2_SPECULATIVE : S2_BISECT, 1, 4, 0.5, 0, v, &energy);
    for (int i = 0; i < 5; i++) {
      near(v[i], i == 4 ? 0.6 : 0.1, 1e-9);
    }
    cradle(s == 0 ? S2_SPECULATIVE : S2_BISECT, 1, 4, 0, 0, v, &energy);
    for (int i = 0; i < 5; i++) {
      near(v[i], 0.2, 1e-9);
    }
  }
}

// Two discs alone: Newton's law, with and without spin.
static void two_bodies_are_newtons(void **state) {
  (void)state;
  const double e[] = {1, 0.7, 0.2, 0};
  for (int i = 0; i < 4; i++) {
    double v[MOST], energy;
    cradle(S2_SPECULATIVE, 1, 1, e[i], 0, v, &energy);
    near(v[0], (1 - e[i]) / 2, 1e-12);
    near(v[1], (1 + e[i]) / 2, 1e-12);
  }
}

// A ball on the floor bounces as high as with Newton's law, and comes to rest.
static void one_contact_is_as_before(void **state) {
  (void)state;
  const double e[] = {1, 0.8, 0.3};
  for (int i = 0; i < 3; i++) {
    S2World *world[2];
    S2BodyId ball[2];
    for (int k = 0; k < 2; k++) {
      world[k] = k == 0 ? world_new(-10, 1.0 / 240) : world_of(S2_SPECULATIVE, -10, 1.0 / 240);
      add_box(world[k], rough(fixed_at(0, -1), 0.5, e[i]), 40, 2);
      ball[k] = add_disc(world[k], rough(at(0, 1.5), 0.5, e[i]), 0.5);
    }
    for (int n = 0; n < 240 * 8; n++) {
      must(s2_world_step(world[0]));
      must(s2_world_step(world[1]));
      near(get(world[1], ball[1], S2_BODY_Y), get(world[0], ball[0], S2_BODY_Y), 1e-9);
    }
    assert_true(e[i] == 1 || get(world[1], ball[1], S2_BODY_VY) == 0);
    s2_world_destroy(world[0]);
    s2_world_destroy(world[1]);
  }
}

// Piles thrown together at random, with friction, spin, joints and e equal or mixed: an impact
// never gains energy, and every step is solved.
static void energy_is_never_gained(void **state) {
  (void)state;
  enum { TRIALS = 150, BODIES = 8 };
  S2Rng rng = s2_rng_seeded(17);
  for (int trial = 0; trial < TRIALS; trial++) {
    S2World *world = world_of(trial % 5 == 4 ? S2_BISECT : S2_SPECULATIVE, 0, 1.0 / 120);
    bool mixed = trial % 2 == 1;
    double e = between(&rng, 0, 1), friction = trial % 3 == 0 ? 0 : 0.6;
    S2BodyId body[BODIES];
    add_box(world, rough(fixed_at(0, -1), friction, e), 40, 2);
    for (int i = 0; i < BODIES; i++) {
      double own = mixed ? between(&rng, 0, 1) : e;
      S2BodyDef def = rough(at(i % 4 + 0.5 * (i / 4), 0.5 + 0.9 * (i / 4)), friction, own);
      def.velocity = s2_vec2(between(&rng, -3, 3), between(&rng, -3, 3));
      def.angular_velocity = between(&rng, -3, 3);
      def.density = between(&rng, 0.2, 5);
      body[i] = add_disc(world, def, 0.5);
    }
    if (trial % 4 >= 2) {
      S2JointDef hinge = hinge_def(body[1], body[2], 1.5, 0.5);
      S2JointId joint;
      must(s2_joint_create(world, &hinge, &joint));
    }
    double energy = s2_world_energy(world).kinetic;
    for (int i = 0; i < 30; i++) {
      must(s2_world_step(world));
      double now = s2_world_energy(world).kinetic;
      if (!(now <= energy * (1 + 1e-9))) {
        fail_msg("trial %d step %d: energy %.17g -> %.17g", trial, i, energy, now);
      }
      energy = now;
    }
    assert_int_equal(s2_world_stats(world)->unsolved_solves, 0);
    s2_world_destroy(world);
  }
}

// A hinged pair hit at one end: the impulses sum to the change of momentum, joints included.
static void joints_take_part(void **state) {
  (void)state;
  S2World *world = world_of(S2_SPECULATIVE, 0, 1.0 / 120);
  S2BodyDef ball = rough(at(0, 1.005), 0, 1);
  ball.velocity = s2_vec2(0, -2);
  S2BodyId hit = add_disc(world, ball, 0.5);
  S2BodyId left = add_box(world, rough(at(0, 0.25), 0, 1), 2, 0.5);
  S2BodyId right = add_box(world, rough(at(2, 0.25), 0, 1), 2, 0.5);
  S2JointDef hinge = hinge_def(left, right, 1, 0.25);
  S2JointId joint;
  must(s2_joint_create(world, &hinge, &joint));
  double before = s2_world_energy(world).kinetic;
  steps(world, 1);
  near(s2_world_energy(world).kinetic, before, 1e-12 * before);
  S2JointInfo info;
  must(s2_joint_info(world, joint, &info));
  near(info.impulse.y, -2 * get(world, right, S2_BODY_VY) * 0.5, 1e-9); // mass 1, on a
  assert_true(fabs(info.impulse.y) > 0.01);
  near(get(world, left, S2_BODY_VY) - get(world, left, S2_BODY_OMEGA) * -1,
       get(world, right, S2_BODY_VY) + get(world, right, S2_BODY_OMEGA) * -1, 1e-9);
  assert_true(get(world, hit, S2_BODY_VY) > -2);
  s2_world_destroy(world);
}

// Stacks at rest have no impacts.
static void stacks_rest(void **state) {
  (void)state;
  S2World *world = world_of(S2_SPECULATIVE, -10, 1.0 / 60);
  add_box(world, rough(fixed_at(0, -1), 0.6, 0.5), 40, 2);
  S2BodyId top = {0, 0};
  for (int i = 0; i < 8; i++) {
    top = add_box(world, rough(at(0, i + 0.5), 0.6, 0.5), 1, 1);
  }
  steps_solved(world, 300, 1e-9, 1e-9);
  near(get(world, top, S2_BODY_Y), 7.5, 1e-9);
  near(get(world, top, S2_BODY_VY), 0, 1e-9);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_touching_cradle_passes_the_impact_on),
      cmocka_unit_test(one_restitution_blends),
      cmocka_unit_test(two_bodies_are_newtons),
      cmocka_unit_test(one_contact_is_as_before),
      cmocka_unit_test(energy_is_never_gained),
      cmocka_unit_test(joints_take_part),
      cmocka_unit_test(stacks_rest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
