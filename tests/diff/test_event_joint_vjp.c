// Derivatives of event stepping with joints, compared with closed forms and with differences
// (world_differences.h).
#include "joint_ways.h"

static S2World *event_world(S2Vec2 gravity, double dt) {
  S2World *world = world_new(0, dt);
  S2WorldDef def = *s2_world_settings(world);
  def.stepping = S2_EVENT;
  def.gravity = gravity;
  def.tolerance = 1e-12;
  must(s2_world_configure(world, &def));
  return world;
}

typedef struct Seen {
  int meetings, struck, shaken, fed, floating, mended, limits, staged, steps, splits;
} Seen;

static void look(const S2World *start, int steps, Seen *seen) {
  S2World *world;
  must(s2_world_clone(start, &world));
  S2Trace *trace = s2_trace_new();
  for (int k = 0; k < steps; k++) {
    must(s2_world_step_traced(world, trace));
    for (int i = 0; i < trace->notes.at.count; i++) {
      const S2Note *note = s2_note_at(&trace->notes, i);
      bool jointed = note->of != NULL && note->of->island.joints > 0;
      seen->meetings += jointed && note->act == S2_ACT_ARRIVE && note->arrive.meets;
      seen->struck += jointed && note->act == S2_ACT_STRUCK;
      seen->shaken += note->act == S2_ACT_SHAKE;
      seen->fed += note->act == S2_ACT_FEEDBACK && note->solve.fraction > 0;
      seen->floating += note->act == S2_ACT_SPIN_V2;
      seen->mended += jointed && note->act == S2_ACT_PROJECT;
      seen->staged += note->act == S2_ACT_RATTLE || note->act == S2_ACT_PIECE;
      seen->limits += note->act == S2_ACT_SOLVE && note->solve.kind == S2_SOLVE_LIMITS;
    }
  }
  seen->steps += steps;
  seen->splits += (int)s2_world_stats(world)->splits;
  s2_trace_free(trace);
  s2_world_destroy(world);
}

// ---- Closed forms -----------------------------------------------------------------------------

enum { NUMBERS = 3 };
typedef double Known(const double p[NUMBERS]); // a result of a scene as a function of its numbers

// Extrapolated central differences of the closed form.
static double slope_of(Known *known, const double p[NUMBERS], int i) {
  double d[2];
  for (int k = 0; k < 2; k++) {
    double size = 1e-3 / (1 + k), up[NUMBERS], down[NUMBERS];
    memcpy(up, p, sizeof up);
    memcpy(down, p, sizeof down);
    up[i] += size;
    down[i] -= size;
    d[k] = (known(up) - known(down)) / (2 * size);
  }
  return (4 * d[1] - d[0]) / 3;
}

// dl/d(start), where l is number `of` of the last state's positions.
static void derive(const S2World *start, int steps, int of, S2WorldGradient *g) {
  S2World *world;
  must(s2_world_clone(start, &world));
  S2Trace **trace = calloc((size_t)steps, sizeof *trace);
  for (int k = 0; k < steps; k++) {
    trace[k] = s2_trace_new();
    must(s2_world_step_traced(world, trace[k]));
  }
  s2_world_gradient_fit(g, world);
  g->q[of] = 1;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int k = steps - 1; k >= 0; k--) {
    must(s2_trace_vjp(trace[k], g, &arena));
    s2_trace_free(trace[k]);
  }
  s2_arena_free(&arena);
  free(trace);
  s2_world_destroy(world);
}

// K(kappa), by the arithmetic-geometric mean.
static double quarter(double kappa) {
  double a = 1, b = sqrt(1 - kappa * kappa);
  for (int i = 0; i < 12; i++) {
    double mean = (a + b) / 2;
    b = sqrt(a * b);
    a = mean;
  }
  return acos(-1.0) / (2 * a);
}

// sn(u, kappa), by the same means (Abramowitz and Stegun 16.4).
static double sn(double u, double kappa) {
  double a[12] = {1}, c[12] = {kappa}, b = sqrt(1 - kappa * kappa);
  for (int i = 1; i < 12; i++) {
    a[i] = (a[i - 1] + b) / 2;
    c[i] = (a[i - 1] - b) / 2;
    b = sqrt(a[i - 1] * b);
  }
  double phi = ldexp(a[11] * u, 11);
  for (int i = 11; i > 0; i--) {
    phi = (phi + asin(c[i] / a[i] * sin(phi))) / 2;
  }
  return sin(phi);
}

// A disc on an arm of 1 m strikes a wall at its lowest point: on a hinge it turns with the arm, on
// a rod (distance) it does not.
static const double ARM = 1, RADIUS = 0.2, UNTIL = 1.3;

// By the initial angle, restitution and gravity.
static double swung(const double p[NUMBERS], double inertia) { // inertia of the disc over its mass
  double w = sqrt(p[2] * ARM / (ARM * ARM + inertia)), kappa = sin(p[0] / 2);
  double left = UNTIL - quarter(kappa) / w;
  return 2 * asin(p[1] * kappa * sn(w * left, p[1] * kappa));
}

static double swung_on_hinge(const double p[NUMBERS]) {
  return swung(p, RADIUS * RADIUS / 2);
}

static double swung_on_rod(const double p[NUMBERS]) {
  return ARM * sin(swung(p, 0)); // x
}

static void pendulum(bool rod, int count, const double p[NUMBERS], double found[NUMBERS + 1]) {
  S2World *world = event_world(s2_vec2(0, -p[2]), UNTIL / count);
  add_box(world, rough(fixed_at(-RADIUS - 0.5, -1), 0, p[1]), 1, 4);
  S2BodyDef def = rough(at(ARM * sin(p[0]), -ARM * cos(p[0])), 0, p[1]);
  def.angle = p[0];
  S2BodyId disc = add_disc(world, def, RADIUS);
  S2JointDef joint = joint_def(rod ? S2_DISTANCE : S2_HINGE, disc, no_body);
  joint.anchor_a = rod ? def.position : s2_vec2(0, 0);
  joint.anchor_b = rod ? s2_vec2(0, 0) : joint.anchor_b;
  S2JointId id;
  must(s2_joint_create(world, &joint, &id));
  S2WorldGradient g = {0};
  derive(world, count, rod ? 4 : 3, &g);
  double along[3] = {1, ARM * cos(p[0]), ARM * sin(p[0])};
  found[0] = 0;
  for (int c = 0; c < 3; c++) {
    found[0] += along[c] * g.q[3 + c];
  }
  found[1] = g.body[0].restitution + g.body[1].restitution;
  found[2] = -g.gravity.y;
  assert_int_equal(g.flags & ~(unsigned)S2_GRADIENT_WEAK, 0);
  s2_world_gradient_free(&g);
  steps(world, count);
  found[3] = get(world, disc, rod ? S2_BODY_X : S2_BODY_ANGLE);
  s2_world_destroy(world);
}

// Two balls on a rod fall on a floor without friction: the height of the one that strikes, after
// the impact.
static const double HALF = 0.4, BALL = 0.1, FALLEN = 0.4;

// By the tilt of the rod, restitution and the height of its middle.
static double bounced(const double p[NUMBERS]) {
  double g = 9.8, fall = sqrt(2 * (p[2] - HALF * sin(p[0]) - BALL) / g), left = FALLEN - fall;
  double u = g * fall, across = cos(p[0]);
  double impulse = (1 + p[1]) * u * 2 / (1 + across * across); // over the mass of a ball
  double v = impulse / 2 - u, turn = -impulse * across / (2 * HALF);
  double middle = HALF * sin(p[0]) + BALL + v * left - g * left * left / 2;
  return middle - HALF * sin(p[0] + turn * left);
}

static void dumbbell(int count, const double p[NUMBERS], double found[NUMBERS + 1]) {
  S2World *world = event_world(s2_vec2(0, -9.8), FALLEN / count);
  add_box(world, rough(fixed_at(0, -1), 0, p[1]), 60, 2);
  S2Vec2 arm = s2_scale(HALF, s2_vec2(cos(p[0]), sin(p[0])));
  S2BodyDef low = rough(at(-arm.x, p[2] - arm.y), 0, p[1]),
            high = rough(at(arm.x, p[2] + arm.y), 0, p[1]);
  S2BodyId ball = add_disc(world, low, BALL);
  S2JointDef rod = joint_def(S2_DISTANCE, ball, add_disc(world, high, BALL));
  rod.anchor_a = low.position;
  rod.anchor_b = high.position;
  S2JointId id;
  must(s2_joint_create(world, &rod, &id));
  S2WorldGradient g = {0};
  derive(world, count, 5, &g);
  found[0] = arm.y * g.q[4] - arm.x * g.q[5] - arm.y * g.q[7] + arm.x * g.q[8];
  found[1] = g.body[0].restitution + g.body[1].restitution;
  found[2] = g.q[5] + g.q[8];
  assert_int_equal(g.flags & ~(unsigned)S2_GRADIENT_WEAK, 0);
  s2_world_gradient_free(&g);
  steps(world, count);
  found[3] = get(world, ball, S2_BODY_Y);
  s2_world_destroy(world);
}

static double found_error(int scene, int count, const double p[NUMBERS], Known *known,
                          double found[NUMBERS + 1]) {
  if (scene == 2) {
    dumbbell(count, p, found);
  } else {
    pendulum(scene == 1, count, p, found);
  }
  return found[NUMBERS] - known(p);
}

// Errors vanish with the square of the step, since flows of jointed bodies are of second order and
// impacts are located at their exact times.
static void closed_forms(void **state) {
  (void)state;
  const double swing[NUMBERS] = {0.9, 0.7, 9.8}, fall[NUMBERS] = {0.5, 0.9, 0.7};
  const char *const name[] = {"hinge", "rod", "dumbbell"};
  Known *const known[] = {swung_on_hinge, swung_on_rod, bounced};
  for (int k = 0; k < 3; k++) {
    const double *p = k == 2 ? fall : swing;
    for (int n = 60; n <= 60 * 64; n *= 8) {
      double found[NUMBERS + 1], worst = fabs(found_error(k, n, p, known[k], found));
      for (int i = 0; i < NUMBERS; i++) {
        double exact = slope_of(known[k], p, i);
        worst = fmax(worst, fabs(found[i] - exact));
        if (getenv("S2_SHOW") != NULL) {
          printf("%s, %d steps: %.6f, off by %.1e\n", name[k], n, exact, found[i] - exact);
        }
      }
      assert_true(worst < 4.0 / n / n);
    }
  }
}

// ---- Differences ------------------------------------------------------------------------------

// The joint attaches one body to the base, and a hinge attaches another body to the first. Both
// soon strike the floor or the wall.
static S2World *falling(S2JointType type, Way joint, int seed) {
  S2Rng rng = s2_rng_seeded(700 + (uint64_t)seed);
  S2World *world = event_world(s2_vec2(0.7, -9.8), 1.0 / 60);
  S2BodyDef floor = rough(fixed_at(0, -1.52), 0.3, 0.6);
  floor.angle = 0.03;
  add_box(world, floor, 60, 2);
  S2BodyDef wall = rough(at(1.95, 0), 0.3, 0.5);
  wall.angle = -0.1;
  if (seed % 3 == 0) {
    wall.type = S2_KINEMATIC;
    wall.velocity = s2_vec2(-0.3, 0.1);
    wall.angular_velocity = 0.1;
  } else {
    wall.type = S2_STATIC;
  }
  add_box(world, wall, 0.4, 3);
  S2BodyDef place = rough(at(0, 0), 0.2, 0.5);
  place.type = seed % 4 == 1 ? S2_KINEMATIC : S2_STATIC;
  place.velocity = seed % 4 == 1 ? s2_vec2(0.3, -0.2) : s2_vec2(0, 0);
  place.angular_velocity = seed % 4 == 1 ? 0.4 : 0;
  place.angle = 0.2;
  S2BodyId base = add_box(world, place, 0.2, 0.2);
  bool lively = type != S2_LOCK && type != S2_WELD;
  S2BodyDef first = rough(
      moving(0.6, -0.2, lively ? 0.2 : 0, lively ? -0.5 : 0, lively ? s2_rng_normal(&rng) : 0), 0.2,
      0.3 + 0.4 * s2_rng_uniform(&rng));
  first.angle = 0.3;
  S2BodyId one = add_box(world, first, 0.7, 0.3);
  S2BodyDef second = rough(moving(1.3, -0.3, 0.1, -0.5 - s2_rng_uniform(&rng), -0.3), 0.4,
                           0.3 + 0.4 * s2_rng_uniform(&rng));
  S2BodyId two = add_box(world, second, 0.5, 0.2);
  S2JointId hinges[2];
  S2JointDef hinge = s2_joint_def(S2_HINGE);
  hinge.a = two;
  hinge.b = one;
  hinge.anchor_a = s2_vec2(1, -0.25);
  must(s2_joint_create(world, &hinge, &hinges[1]));
  if (type == S2_GEAR) {
    hinge.a = two;
    hinge.b = s2_joint_def(S2_HINGE).b;
    S2JointDef slider = s2_joint_def(S2_SLIDER);
    slider.a = one;
    slider.anchor_a = s2_vec2(0.2, 0.1);
    slider.axis = s2_vec2(0.8, -0.6);
    must(s2_joint_create(world, &slider, &hinges[0]));
  }
  // on the base alone the rope's length would be held twice
  S2BodyId other = type == S2_PULLEY ? two : base;
  if (!add_joint(world, type, joint, one, other, s2_vec2(0.3, 0.1), hinges)) {
    s2_world_destroy(world);
    return NULL;
  }
  return world;
}

// For the derivatives of a class: losses are about 10, and differences have errors from the
// corrections.
static const double LEAST = 5e-2;
// The same for numbers that separate joints (world_differences.h).
static const double TORN = 1e-5;

static void each_type(void **state) {
  (void)state;
  const Way ways[] = {AS_IS,   SCALAR, DAMPED,         MATRIX,        LIMITED,      LIMITED_BELOW,
                      PINCHED, MOTOR,  MOTOR_AT_BOUND, MOTOR_ENDLESS, DRY_FRICTION, CURVED};
  enum { WAYS_HERE = sizeof ways / sizeof *ways };
  Count counts[CLASSES] = {{0}};
  // Both flows: the acts of the step by projection occur where all islands use it.
  Seen seen[2] = {{0}};
  for (int n = 0; n < 2 * TYPES * WAYS_HERE; n++) {
    int k = n / 2, flow = n % 2;
    S2JointType type = types[k % TYPES];
    // a new type leaves the scenes of the other types unchanged
    int seed = k / TYPES * 11 + k % TYPES;
    S2World *world = falling(type, ways[k / TYPES], seed);
    if (world == NULL) {
      continue;
    }
    S2WorldDef def = *s2_world_settings(world);
    def.flow = flow == 1 ? S2_FLOW_PROJECTED : S2_FLOW_AUTO;
    must(s2_world_configure(world, &def));
    char name[96];
    snprintf(name, sizeof name, "%s, %s", s2_joint_type_name(type), way_name[ways[k / TYPES]]);
    double askew = type == S2_GROUND_FRICTION ? 2e-4 : 0;
    int before = counts[OF_NOTHING].compared;
    compare_to(name, world, 12, (uint64_t)seed, fmax(TORN, askew), fmax(1e-6, askew), LEAST,
               counts);
    if (counts[OF_NOTHING].compared > before) {
      look(world, 12, &seen[flow]);
    }
    s2_world_destroy(world);
  }
  report("each type", counts);
  for (int flow = 0; flow < 2 && getenv("S2_SHOW") != NULL; flow++) {
    const Seen *of = &seen[flow];
    printf("%d steps, %d splits: %d meetings, %d struck, %d shaken, %d fed, %d floating, %d "
           "corrected, "
           "%d stops, %d by two stages\n",
           of->steps, of->splits, of->meetings, of->struck, of->shaken, of->fed, of->floating,
           of->mended, of->limits, of->staged);
  }
  if (getenv("S2_ONLY") != NULL) {
    return;
  }
  assert_true(counts[OF_NOTHING].compared > 9 * counts[OF_NOTHING].skipped);
  assert_true(counts[OF_NOTHING].nonzero <= 1); // partial: a meeting whose time is not exact
  for (int flow = 0; flow < 2; flow++) {
    assert_true(seen[flow].meetings > 100 && seen[flow].struck > 50);
  }
  assert_true(seen[0].staged > 500);
  assert_true(seen[1].shaken > 100 && seen[1].mended > 100 && seen[1].fed > 100 &&
              seen[1].limits > 0 && seen[1].staged == 0);
  const Class of[] = {OF_Q,
                      OF_V,
                      OF_F,
                      OF_MASS,
                      OF_INERTIA,
                      OF_FRICTION,
                      OF_RESTITUTION,
                      OF_ANGULAR_DAMPING,
                      OF_GRAVITY_SCALE,
                      OF_VERTEX_X,
                      OF_VERTEX_Y,
                      OF_GRAVITY_X,
                      OF_GRAVITY_Y,
                      OF_DT,
                      OF_ANCHOR_A,
                      OF_ANCHOR_B,
                      OF_AXIS,
                      OF_ANGLE0,
                      OF_LENGTH,
                      OF_RATIO,
                      OF_SUM,
                      OF_GOAL,
                      OF_RATE,
                      OF_STIFFNESS,
                      OF_QUADRATIC,
                      OF_CUBIC,
                      OF_COMPLIANCE,
                      OF_ANGULAR_COMPLIANCE,
                      OF_COMPLIANCE_MATRIX,
                      OF_DAMPING,
                      OF_ANGULAR_DAMPER,
                      OF_DAMPING_MATRIX,
                      OF_LIMIT_LO,
                      OF_LIMIT_HI,
                      OF_MOTOR_SPEED,
                      OF_MOTOR_MAX,
                      OF_DRY,
                      OF_MAX_FORCE,
                      OF_MAX_TORQUE};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    if (counts[of[i]].nonzero == 0 && getenv("S2_PICKED") == NULL) {
      fail_msg("nothing depends on %s", class_name[of[i]]);
    }
  }
}

int main(void) {
  pick(4); // numbers of a class
  partial_too = false;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(closed_forms),
      cmocka_unit_test(each_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
