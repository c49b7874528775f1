// Landings without restitution dissipate energy: heaps, overhangs, wedges and jointed chains of all
// kinds come to rest in every stepping and both flows. By projection the total energy of none of
// them ever grows. By the two stages it oscillates as rows turn, with second order, and never
// exceeds that of the start. Further, no impact, whatever its restitution and friction, returns
// more energy than the contacts took.
//
//     S2_SCENES=2000 build/tests/test_rest     runs that many scenes of each kind and stepping
#include "worlds.h"

// Fractions of the initial energy: the gain of a step by rounding, and the value below which all
// bodies are at rest.
static const double ROUNDING = 1e-12, AT_REST = 1e-12;

// Bodies that slide without friction never stop: of that kind only the energy is compared.
typedef enum Kind { HEAP, OVERHANG, WEDGE, CHAINS, SMOOTH, KINDS } Kind;
static const char *const kind_name[KINDS] = {"heap", "overhang", "wedge", "chains", "smooth"};
static const char *const stepping_name[] = {"speculative", "bisect", "event", "auto"};

static double between(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static S2BodyId any_polygon(S2World *world, S2Rng *rng, S2BodyDef def) {
  if (s2_rng_uniform(rng) < 0.6) {
    return add_box(world, def, between(rng, 0.3, 0.8), between(rng, 0.3, 0.8));
  }
  const S2Vec2 v[3] = {{-0.3, -0.2}, {0.3, -0.2}, {between(rng, -0.2, 0.2), 0.4}};
  double radius = s2_rng_uniform(rng) < 0.3 ? 0.05 : 0;
  return add_body(world, def, v, 3, radius);
}

// Between a floor and two walls; there are no discs, as they roll or spin on without friction.
static S2World *scene_of(Kind kind, S2Stepping stepping, S2FlowRule flow, uint64_t seed,
                         double restitution) {
  S2Rng rng = s2_rng_seeded(seed);
  S2WorldDef def = fixed_def();
  def.gravity = s2_vec2(0, -9.81);
  def.dt = s2_rng_uniform(&rng) < 0.5 ? 1.0 / 60 : 1.0 / 240;
  def.stepping = stepping;
  def.flow = flow;
  def.contact = kind == SMOOTH ? S2_FRICTIONLESS : S2_COULOMB;
  S2World *world;
  must(s2_world_create(&def, &world));
  double friction = between(&rng, 0.2, 1);
  add_box(world, rough(fixed_at(0, -0.5), friction, restitution), 20, 1);
  add_box(world, rough(fixed_at(-3, 5), friction, restitution), 1, 10);
  add_box(world, rough(fixed_at(3, 5), friction, restitution), 1, 10);
  if (kind == OVERHANG) {
    add_box(world, rough(at(0, 0.2), friction, restitution), 0.5, 0.4);
    S2BodyDef top = rough(at(between(&rng, -0.22, 0.22), 0.6502), friction, restitution);
    top.angle = between(&rng, -1e-3, 1e-3);
    top.angular_velocity = between(&rng, -0.1, 0.1);
    add_box(world, top, 0.4, 0.5);
    return world;
  }
  if (kind == WEDGE) {
    const S2Vec2 left[3] = {{-2.5, 0}, {0, 0}, {-2.5, 2}}, right[3] = {{2.5, 0}, {2.5, 2}, {0, 0}};
    add_body(world, rough(fixed_at(0, 0), friction, restitution), left, 3, 0);
    add_body(world, rough(fixed_at(0, 0), friction, restitution), right, 3, 0);
  }
  int count = 1 + (int)(8 * s2_rng_uniform(&rng));
  S2BodyId last = no_body;
  double last_x = 0, last_y = 0;
  for (int i = 0; i < count; i++) {
    double x = between(&rng, -1.5, 1.5), y = (kind == WEDGE ? 2.5 : 1) + 0.8 * i;
    S2BodyDef body = rough(at(x, y), friction, restitution);
    body.angle = between(&rng, 0, 6);
    body.velocity = s2_vec2(between(&rng, -2, 2), between(&rng, -3, 0));
    body.angular_velocity = between(&rng, -5, 5);
    body.mass = pow(10, between(&rng, -1, 1));
    S2BodyId id = any_polygon(world, &rng, body);
    if (kind == CHAINS && i % 3 != 0) {
      S2JointDef joint = hinge_def(last, id, (x + last_x) / 2, (y + last_y) / 2);
      joint.friction = 0.3; // N m: so that suspended bodies come to rest within the test
      S2JointId made;
      must(s2_joint_create(world, &joint, &made));
    }
    last = id;
    last_x = x;
    last_y = y;
  }
  return world;
}

static double total(const S2World *world, double *kinetic) {
  S2Energy energy = s2_world_energy(world);
  *kinetic = energy.kinetic;
  return energy.kinetic + energy.potential;
}

static int scenes(int fewest) {
  const char *more = getenv("S2_SCENES");
  return more != NULL ? atoi(more) : S2_FEWER(fewest, (fewest + 7) / 8);
}

// Fractions of the initial energy: the largest gain of a step, the largest excess over the start,
// and the largest rise above the least value so far. `rests`: all bodies are at rest within `most`
// seconds.
typedef struct Energies {
  double gain, above, climb;
  bool rests;
} Energies;

static Energies run_scene(S2World *world, double most) {
  double kinetic, start = total(world, &kinetic), before = start, least = start;
  Energies energies = {0};
  int rested = 0, limit = (int)(most / s2_world_settings(world)->dt);
  for (int i = 0; i < limit && rested < 30; i++) {
    must(s2_world_step(world));
    double now = total(world, &kinetic);
    energies.gain = fmax(energies.gain, (now - before) / start);
    energies.above = fmax(energies.above, (now - start) / start);
    energies.climb = fmax(energies.climb, (now - least) / start);
    before = now;
    least = fmin(least, now);
    rested = kinetic < AT_REST * start ? rested + 1 : 0;
  }
  energies.rests = rested >= 30;
  return energies;
}

// In the flow by two stages the turn of rows within a step changes the energy; this bounds the sum,
// as a fraction of the initial energy. The largest sums are those of steps with more than four
// meetings: in the rest of such a step near bodies are held in place but keep their speed, forces
// raise it meanwhile, and the bodies strike in the next step.
static const double SWAYS = 5e-4;

// The number of scenes of one kind whose energy grew, or that still move after `most` seconds.
static int run_kind(Kind kind, S2Stepping stepping, S2FlowRule flow, int count, double most) {
  int grew = 0, moving = 0;
  double worst = 0;
  for (int k = 0; k < count; k++) {
    S2World *world = scene_of(kind, stepping, flow, 1000 * (uint64_t)kind + (uint64_t)k, 0);
    bool sways = s2_world_rattles(s2_world_settings(world));
    Energies energies = run_scene(world, most);
    double gain = sways ? energies.above : energies.gain;
    bool grows = gain > ROUNDING || (sways && energies.climb > SWAYS);
    if (grows) {
      print_message("%s, %s, scene %d: %.2e of the energy gained, it rose by %.2e\n",
                    kind_name[kind], stepping_name[stepping], k, gain, energies.climb);
    }
    bool moves = !energies.rests && kind != SMOOTH;
    if (moves) {
      print_message("%s, %s, scene %d: still moving\n", kind_name[kind], stepping_name[stepping],
                    k);
    }
    grew += grows;
    moving += moves;
    worst = fmax(worst, sways ? energies.climb : gain);
    s2_world_destroy(world);
  }
  if (getenv("S2_SCENES") != NULL) {
    print_message("%s, %s: %d scenes, %d grew (most %.1e), %d still move\n", kind_name[kind],
                  stepping_name[stepping], count, grew, worst, moving);
  }
  return grew + moving;
}

// In all steppings by projection; and by the default, which is event stepping with the two stages
// for islands of this size.
static int run_all(Kind kind, int count, double most) {
  int wrong = 0;
  for (S2Stepping stepping = S2_SPECULATIVE; stepping <= S2_EVENT; stepping++) {
    wrong += run_kind(kind, stepping, S2_FLOW_PROJECTED, count, most);
  }
  return wrong + run_kind(kind, S2_AUTO, S2_FLOW_AUTO, count, most);
}

static void landings_take_energy_and_end(void **state) {
  (void)state;
  int wrong = 0;
  for (Kind kind = HEAP; kind < SMOOTH; kind++) {
    wrong += run_all(kind, scenes(8), 40);
  }
  assert_int_equal(wrong, 0);
}

// Rows are those of the start of a step, and bodies that turn within it end where other rows hold:
// by projection the correction lifts them, and velocities must provide the energy.
static void smooth_heaps_gain_nothing(void **state) {
  (void)state;
  assert_int_equal(run_all(SMOOTH, scenes(10), 4), 0);
}

// The turn of rows is of second order: half of the step leaves a quarter of the oscillation, in the
// mean over the heaps.
static void energy_sways_with_the_square_of_the_step(void **state) {
  (void)state;
  double product = 1;
  int count = S2_FEWER(8, 3);
  for (int k = 0; k < count; k++) {
    double climb[2];
    for (int i = 0; i < 2; i++) {
      S2World *world = scene_of(HEAP, S2_AUTO, S2_FLOW_AUTO, (uint64_t)k, 0);
      S2WorldDef def = *s2_world_settings(world);
      def.dt /= i + 1;
      must(s2_world_configure(world, &def));
      Energies energies = run_scene(world, 40);
      assert_true(energies.rests && energies.above <= ROUNDING);
      climb[i] = energies.climb;
      s2_world_destroy(world);
    }
    product *= climb[0] / climb[1];
  }
  double fold = pow(product, 1.0 / count);
  print_message("energy falls %.2f-fold with half the step\n", fold);
  assert_true(fold > 3.6);
}

// A box that overhangs another rocks at 0.05 rad/s: this motion once never ended.
static void an_overhang_rests(void **state) {
  (void)state;
  for (S2Stepping stepping = S2_SPECULATIVE; stepping <= S2_AUTO; stepping++) {
    S2WorldDef def = fixed_def();
    def.gravity = s2_vec2(0, -9.81);
    def.stepping = stepping;
    S2World *world;
    must(s2_world_create(&def, &world));
    add_box(world, rough(fixed_at(0, -0.5), 0.5, 0), 10, 1);
    add_box(world, rough(at(0, 0.25), 0.5, 0), 0.5, 0.5);
    S2BodyDef top = rough(at(0.21, 0.75), 0.5, 0);
    top.angular_velocity = 0.05;
    S2BodyId box = add_box(world, top, 0.5, 0.5);
    steps(world, 1200);
    near(get(world, box, S2_BODY_OMEGA), 0, 1e-11);
    near(get(world, box, S2_BODY_X), 0.21, 1e-3);
    double x = get(world, box, S2_BODY_X);
    steps(world, 1200);
    near(get(world, box, S2_BODY_X), x, 1e-12);
    s2_world_destroy(world);
  }
}

static void impacts_give_back_no_more_than_they_took(void **state) {
  (void)state;
  const double restitution[] = {0.3, 0.9, 1};
  for (int e = 0; e < 3; e++) {
    for (int k = 0; k < scenes(6); k++) {
      S2World *world =
          scene_of(HEAP, S2_SPECULATIVE, S2_FLOW_AUTO, 500 + (uint64_t)k, restitution[e]);
      double kinetic, start = total(world, &kinetic), before = start;
      for (int i = 0; i < 400; i++) {
        must(s2_world_step(world));
        double now = total(world, &kinetic);
        if (now > before + ROUNDING * start) {
          fail_msg("e = %g, scene %d, step %d: %.2e of the energy gained", restitution[e], k, i + 1,
                   (now - before) / start);
        }
        before = now;
      }
      s2_world_destroy(world);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_overhang_rests),
      cmocka_unit_test(landings_take_energy_and_end),
      cmocka_unit_test(smooth_heaps_gain_nothing),
      cmocka_unit_test(energy_sways_with_the_square_of_the_step),
      cmocka_unit_test(impacts_give_back_no_more_than_they_took),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
