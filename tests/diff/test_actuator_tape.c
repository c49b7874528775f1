// Actuators and observations on a tape: exact derivatives with respect to commands, gains,
// directions and the state, against extrapolated central differences of untracked steps.
#include "diff/control/world_measures.h"
#include "diff/world/world_tape.h"
#include "dynamics/control/control.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS = 6, INPUTS = 16, NUMBERS = 12, SEEN = 8 };

static void good(S2Status status) {
  if (status.code != S2_OK) {
    print_error("%s\n", status.message);
    fail();
  }
}

static void near(const char *what, int which, double got, double want, double tolerance) {
  if (!(fabs(got - want) <= tolerance * fmax(1, fabs(want)))) {
    print_error("%s, input %d: %.12g, expected %.12g\n", what, which, got, want);
    fail();
  }
}

// A world of two boxes, a joint between them and an actuator.
typedef struct Case {
  const char *name;
  S2JointType joint; // S2_JOINT_TYPE_COUNT: the actuator acts on the first box
  S2ActuatorKind kind;
  bool explicitly, fixed;
  double most, delay; // 0: no bound; steps
} Case;

static const Case cases[] = {
    {"torque of a hinge", S2_HINGE, S2_ACTUATOR_TORQUE, false, false, 0, 0},
    {"torque with a delay", S2_HINGE, S2_ACTUATOR_TORQUE, false, false, 0, 1.5},
    {"motor of a hinge", S2_HINGE, S2_ACTUATOR_SPEED, false, false, 5, 0},
    {"servo of a hinge", S2_HINGE, S2_ACTUATOR_POSITION, false, false, 0, 0},
    {"explicit servo of a hinge", S2_HINGE, S2_ACTUATOR_POSITION, true, false, 0, 0},
    {"saturated servo of a hinge", S2_HINGE, S2_ACTUATOR_POSITION, true, false, 2, 0},
    {"force of a slider", S2_SLIDER, S2_ACTUATOR_FORCE, false, false, 0, 0},
    {"motor of a slider", S2_SLIDER, S2_ACTUATOR_SPEED, false, false, 5, 0},
    {"servo of a slider", S2_SLIDER, S2_ACTUATOR_POSITION, false, false, 0, 1},
    {"explicit servo of a slider", S2_SLIDER, S2_ACTUATOR_POSITION, true, false, 0, 0},
    {"torque of a wheel", S2_WHEEL, S2_ACTUATOR_TORQUE, false, false, 0, 0},
    {"force of a wheel", S2_WHEEL, S2_ACTUATOR_FORCE, false, false, 0, 0},
    {"force of a spring", S2_SPRING, S2_ACTUATOR_FORCE, false, false, 0, 0},
    {"explicit servo of a spring", S2_SPRING, S2_ACTUATOR_POSITION, true, false, 0, 0},
    {"force of a rope", S2_ROPE, S2_ACTUATOR_FORCE, false, false, 0, 0},
    {"force on a body", S2_JOINT_TYPE_COUNT, S2_ACTUATOR_FORCE, false, false, 0, 0},
    {"torque on a body", S2_JOINT_TYPE_COUNT, S2_ACTUATOR_TORQUE, false, false, 0, 0},
    {"thruster", S2_JOINT_TYPE_COUNT, S2_ACTUATOR_FORCE, false, true, 0, 0},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static S2BodyId box(S2World *world, double width, double height, double x, double angle) {
  const S2Vec2 vertices[4] = {{-width / 2, -height / 2},
                              {width / 2, -height / 2},
                              {width / 2, height / 2},
                              {-width / 2, height / 2}};
  S2ShapeDef shape = {.vertices = vertices,
                      .count = 4,
                      .friction = (double)NAN,
                      .restitution = (double)NAN,
                      .density = (double)NAN};
  S2BodyDef def = s2_body_def();
  S2BodyId id;
  def.shapes = &shape;
  def.shape_count = 1;
  def.position = s2_vec2(x, 0.1 * x);
  def.angle = angle;
  def.velocity = s2_vec2(0.3 - x, 0.4);
  def.angular_velocity = 0.7 - 2 * x;
  def.mask = 0;
  good(s2_body_create(world, &def, &id));
  return id;
}

// Inputs 0 .. STEPS - 1 are commands, then kp, kd, most, direction and point, then the angle, x and
// vx of the second box, and the local anchor of the joint.
static void usual(const Case *of, double p[INPUTS]) {
  const double rest[INPUTS - STEPS] = {
      30, 0.2, of->most > 0 ? of->most : 1e3, 0.8, 0.6, 0.1, 0.2, 0.4, 1, -0.7};
  for (int k = 0; k < STEPS; k++) {
    p[k] = 0.5 + 0.3 * cos(2.0 * k);
  }
  memcpy(p + STEPS, rest, sizeof rest);
}

static S2World *build(const Case *of, const double *p) {
  S2World *world;
  S2WorldDef world_def = s2_world_def();
  world_def.dt = 1.0 / 100;
  good(s2_world_create(&world_def, &world));
  S2BodyId a = box(world, 0.6, 0.2, 0, 0.3), b = box(world, 0.2, 0.5, 1, 0.4);
  S2ActuatorDef def = s2_actuator_def();
  def.name = "u";
  def.kind = of->kind;
  def.delay = of->delay * world_def.dt;
  def.implicit = !of->explicitly;
  def.fixed = of->fixed;
  if (of->joint == S2_JOINT_TYPE_COUNT) {
    def.body = a;
    def.direction = s2_vec2(p[STEPS + 3], p[STEPS + 4]);
    def.at = of->fixed ? s2_vec2(p[STEPS + 5], p[STEPS + 6]) : s2_vec2(0, 0);
  } else {
    S2JointDef joint = s2_joint_def(of->joint);
    joint.a = a;
    joint.b = b;
    joint.anchor_a = s2_vec2(0.3, 0.05);
    joint.anchor_b =
        of->joint == S2_SPRING || of->joint == S2_ROPE ? s2_vec2(0.9, 0.2) : joint.anchor_a;
    joint.axis = s2_vec2(0.8, 0.6);
    joint.max_length = of->joint == S2_ROPE ? 5 : (double)NAN; // slack
    joint.stiffness = of->joint == S2_SPRING || of->joint == S2_WHEEL ? 40 : 0;
    good(s2_joint_create(world, &joint, &def.joint));
  }
  if (of->kind == S2_ACTUATOR_POSITION) {
    def.kp = p[STEPS];
    def.kd = p[STEPS + 1];
    def.most = p[STEPS + 2];
  } else if (of->kind == S2_ACTUATOR_SPEED) {
    def.most = of->most;
  }
  int index;
  good(s2_actuator_create(world, &def, &index));
  good(s2_body_set(world, b, S2_BODY_ANGLE, p[STEPS + 7]));
  good(s2_body_set(world, b, S2_BODY_X, p[STEPS + 8]));
  good(s2_body_set(world, b, S2_BODY_VX, p[STEPS + 9]));
  return world;
}

// A number that depends on all coordinates of both boxes.
static double loss_of(const S2World *world, double weights[NUMBERS]) {
  double sum = 0;
  for (int i = 0; i < NUMBERS; i++) {
    S2Place place = s2_place(i < 6 ? S2_PLACE_Q : S2_PLACE_V, i % 6 / 3, i % 3);
    weights[i] = sin(1.0 + i);
    sum += weights[i] * s2_place_value(world, place);
  }
  return sum;
}

static double run_plain(const Case *of, const double *p) {
  double weights[NUMBERS];
  S2World *world = build(of, p);
  for (int k = 0; k < STEPS; k++) {
    good(s2_world_act(world, &p[k], 1, NULL));
    good(s2_world_step(world));
  }
  double loss = loss_of(world, weights);
  s2_world_destroy(world);
  return loss;
}

static void track(S2World *world, S2Tape *tape, S2ActuatorNumber number, S2Var input, int which) {
  uint64_t origin = s2_tape_origin(tape, s2_tape_element(tape, input, which));
  s2_actuator_set_origin(world, 0, number, origin);
}

// The derivatives of the same run on a tape.
static double run_taped(const Case *of, const double *p, double gradient[INPUTS]) {
  double weights[NUMBERS];
  S2Tape *tape = s2_tape_new();
  s2_tape_set_generation(tape, 7);
  S2Var input = s2_tape_input(tape, p, INPUTS);
  S2World *world = build(of, p);
  S2WorldTape *on = s2_world_tape_new(tape, NULL);
  const S2Place places[3] = {s2_place(S2_PLACE_Q, 1, 0), s2_place(S2_PLACE_Q, 1, 1),
                             s2_place(S2_PLACE_V, 1, 1)};
  S2Term terms[NUMBERS];
  for (int i = 0; i < 3; i++) {
    terms[i] = (S2Term){.to = i, .from = input, .index = STEPS + 7 + i, .factor = 1};
  }
  s2_world_tape_write(on, world, 3, places, 3, terms);
  if (of->kind == S2_ACTUATOR_POSITION && of->explicitly) {
    track(world, tape, S2_ACTUATOR_KP, input, STEPS);
    track(world, tape, S2_ACTUATOR_KD, input, STEPS + 1);
    track(world, tape, S2_ACTUATOR_MOST, input, STEPS + 2);
  }
  if (of->joint == S2_JOINT_TYPE_COUNT) { // a unit vector, whose length is a constant
    track(world, tape, S2_ACTUATOR_DIRECTION_X, input, STEPS + 3);
    track(world, tape, S2_ACTUATOR_DIRECTION_Y, input, STEPS + 4);
    track(world, tape, S2_ACTUATOR_AT_X, input, STEPS + 5);
    track(world, tape, S2_ACTUATOR_AT_Y, input, STEPS + 6);
  }
  for (int k = 0; k < STEPS; k++) {
    good(s2_world_act(world, &p[k], 1, NULL));
    track(world, tape, S2_ACTUATOR_COMMAND, input, k);
    good(s2_world_tape_step(on, world, 0));
  }
  double loss = loss_of(world, weights);
  for (int i = 0; i < NUMBERS; i++) {
    S2Place place = s2_place(i < 6 ? S2_PLACE_Q : S2_PLACE_V, i % 6 / 3, i % 3);
    terms[i] = (S2Term){.source = place, .factor = weights[i]};
  }
  S2Var output = s2_world_tape_read(on, world, 1, &loss, NUMBERS, terms);
  good(s2_tape_sweep(tape, output, NULL));
  memcpy(gradient, s2_tape_adjoint(tape, input), sizeof(double) * INPUTS);
  s2_world_destroy(world);
  s2_tape_free(tape);
  return loss;
}

static double difference(const Case *of, const double *p, int which) {
  double q[INPUTS], slope[2];
  memcpy(q, p, sizeof q);
  for (int k = 0; k < 2; k++) {
    double h = (k == 0 ? 1e-3 : 5e-4) * fmax(1, fabs(p[which]));
    q[which] = p[which] + h;
    slope[k] = run_plain(of, q);
    q[which] = p[which] - h;
    slope[k] = (slope[k] - run_plain(of, q)) / (2 * h);
  }
  return slope[1] + (slope[1] - slope[0]) / 3;
}

static void efforts_have_exact_slopes(void **state) {
  (void)state;
  for (int c = 0; c < CASES; c++) {
    const Case *of = &cases[c];
    double p[INPUTS], gradient[INPUTS];
    usual(of, p);
    double loss = run_taped(of, p, gradient), biggest = 0;
    assert_true(loss == run_plain(of, p)); // bit for bit
    for (int i = 0; i < INPUTS; i++) {
      bool gain = i >= STEPS && i < STEPS + 3;
      bool direction = i == STEPS + 3 || i == STEPS + 4;
      bool servo = of->kind == S2_ACTUATOR_POSITION && !of->explicitly;
      if ((gain && servo) || direction) { // the joint's numbers; see the next test
        continue;
      }
      near(of->name, i, gradient[i], difference(of, p, i), 2e-8);
      biggest = fmax(biggest, i < STEPS ? fabs(gradient[i]) : 0);
    }
    assert_true(of->most == 2 || biggest > 1e-6); // a saturated effort ignores the command
  }
}

// The world normalises directions, so differences change them along the circle.
static void directions_have_slopes(void **state) {
  (void)state;
  for (int c = 0; c < CASES; c++) {
    const Case *of = &cases[c];
    double p[INPUTS], gradient[INPUTS], q[INPUTS], ends[4];
    if (of->joint != S2_JOINT_TYPE_COUNT || of->kind != S2_ACTUATOR_FORCE) {
      continue;
    }
    usual(of, p);
    (void)run_taped(of, p, gradient);
    memcpy(q, p, sizeof q);
    for (int k = 0; k < 4; k++) {
      double angle =
          atan2(p[STEPS + 4], p[STEPS + 3]) + (k % 2 == 0 ? 1 : -1) * (k < 2 ? 1e-3 : 5e-4);
      q[STEPS + 3] = cos(angle);
      q[STEPS + 4] = sin(angle);
      ends[k] = run_plain(of, q);
    }
    double wide = (ends[0] - ends[1]) / 2e-3, narrow = (ends[2] - ends[3]) / 1e-3;
    double slope = p[STEPS + 3] * gradient[STEPS + 4] - p[STEPS + 4] * gradient[STEPS + 3];
    near(of->name, -1, slope, narrow + (narrow - wide) / 3, 1e-8);
    assert_true(fabs(slope) > 1e-6);
  }
}

// Anchors and axes are numbers of the joint. They enter the direction of the force.
static void joints_give_slopes_to_their_numbers(void **state) {
  (void)state;
  const S2JointType types[] = {S2_SLIDER, S2_WHEEL, S2_SPRING};
  for (int t = 0; t < 3; t++) {
    Case of = {"numbers of a joint", types[t], S2_ACTUATOR_FORCE, false, false, 0, 0};
    double p[INPUTS];
    usual(&of, p);
    S2World *world = build(&of, p);
    S2Tape *tape = s2_tape_new();
    S2WorldTape *on = s2_world_tape_new(tape, NULL);
    for (int number = S2_OF_LOCAL_A; number <= S2_OF_AXIS_LAST; number++) {
      S2Place place = s2_place(S2_PLACE_JOINT, 0, number);
      double *at = s2_place_in(world, place), was = *at, seen[3];
      S2Var input = s2_tape_input(tape, &was, 1), var = 0;
      const S2Term term = {.to = 0, .from = input, .factor = 1};
      s2_world_tape_write(on, world, 1, &place, 1, &term);
      double value;
      S2Measured measured;
      assert_true(s2_measured_at(world, 0, s2_joint_measure(&world->joints.at[0], S2_JOINT_SPEED),
                                 &measured));
      for (int k = 0; k < 2; k++) {
        *at = was + (k == 0 ? 1e-5 : -1e-5);
        S2JointAt here = {world, &world->joints.at[0], world->q.at, 0, NULL};
        S2JointRow row;
        measured.measure(&here, &row, NULL);
        seen[k] = 0;
        for (int i = 0; i < 3; i++) {
          seen[k] += row.ja[i] * world->v.at[i] + row.jb[i] * world->v.at[3 + i];
        }
      }
      *at = was;
      value = 0;
      assert_true(s2_world_tape_joint_field(on, world, 0, S2_JOINT_SPEED, value, &var));
      good(s2_tape_sweep(tape, var, NULL));
      near(of.name, number, *s2_tape_adjoint(tape, input), (seen[0] - seen[1]) / 2e-5, 1e-8);
    }
    s2_world_destroy(world);
    s2_tape_free(tape);
  }
}

static bool stop(void *user) {
  (void)user;
  return false;
}

// A step that fails applies no actuators, so it must leave no derivative.
static void failed_steps_leave_no_slopes(void **state) {
  (void)state;
  const Case *of = &cases[0];
  double p[INPUTS], value = 3, slope[2];
  usual(of, p);
  S2World *world = build(of, p);
  S2Tape *tape = s2_tape_new();
  S2Var input = s2_tape_input(tape, &value, 1);
  S2WorldTape *on = s2_world_tape_new(tape, NULL);
  good(s2_world_act(world, &value, 1, NULL));
  s2_actuator_set_origin(world, 0, S2_ACTUATOR_COMMAND, s2_tape_origin(tape, input));
  const S2Callbacks none = {0}, stops = {.proceed = stop};
  s2_world_set_callbacks(world, &stops);
  assert_int_equal(s2_world_tape_step(on, world, 0).code, S2_ABORTED);
  s2_world_set_callbacks(world, &none);
  good(s2_world_tape_step(on, world, 0));
  S2Place place = s2_place(S2_PLACE_V, 0, 0);
  good(s2_tape_sweep(tape, s2_world_tape_read_places(on, world, 1, &place), NULL));
  double once = *s2_tape_adjoint(tape, input);
  s2_world_destroy(world);
  s2_tape_free(tape);
  for (int k = 0; k < 2; k++) {
    double u = value + (k == 0 ? 1e-3 : -1e-3);
    world = build(of, p);
    good(s2_world_act(world, &u, 1, NULL));
    good(s2_world_step(world));
    slope[k] = world->v.at[0];
    s2_world_destroy(world);
  }
  near("after a failed step", 0, once, (slope[0] - slope[1]) / 2e-3, 1e-8);
}

// Images contain origins, but another recording must not take them for its own nodes.
static void origins_belong_to_a_recording(void **state) {
  (void)state;
  double p[INPUTS], value = 3;
  usual(&cases[0], p);
  S2World *world = build(&cases[0], p), *copy;
  S2Tape *tape = s2_tape_new();
  s2_tape_set_generation(tape, 1);
  S2Var input = s2_tape_input(tape, &value, 1);
  good(s2_world_act(world, &value, 1, NULL));
  assert_int_equal(s2_actuator_origin(world, 0, S2_ACTUATOR_COMMAND), 0);
  s2_actuator_set_origin(world, 0, S2_ACTUATOR_COMMAND, s2_tape_origin(tape, input));
  good(s2_world_clone(world, &copy));
  uint64_t origin = s2_actuator_origin(copy, 0, S2_ACTUATOR_COMMAND);
  assert_int_equal(s2_tape_var(tape, origin), input);
  s2_tape_clear(tape);
  s2_tape_set_generation(tape, 2);
  assert_int_equal(s2_tape_var(tape, origin), 0);
  // a new command is a constant
  good(s2_world_act(copy, &value, 1, NULL));
  assert_int_equal(s2_actuator_origin(copy, 0, S2_ACTUATOR_COMMAND), 0);
  s2_world_destroy(world);
  s2_world_destroy(copy);
  s2_tape_free(tape);
}

// All observed fields whose derivatives are known, against differences of s2_world_observe.
static void observations_have_exact_slopes(void **state) {
  (void)state;
  double p[INPUTS], numbers[SEEN], plain[SEEN], ends[2][SEEN];
  S2Var vars[SEEN];
  usual(&cases[6], p);
  S2World *world = build(&cases[6], p);
  const char *const of_joint[] = {"translation", "speed"};
  const char *const of_body[] = {"angle", "vx", "omega", "cos_angle", "sin_angle", "touches"};
  S2ObservationDef joint = {
      .name = "j", .joint = {1, world->joints.at[0].serial}, .fields = of_joint, .field_count = 2};
  S2ObservationDef body = {.name = "b",
                           .body = {1, world->bodies.at[0].serial},
                           .fields = of_body,
                           .field_count = 6,
                           .noise = 0.1};
  int index;
  good(s2_observation_create(world, &joint, &index));
  good(s2_observation_create(world, &body, &index));
  s2_world_set_noise_seed(world, 5);
  S2Tape *tape = s2_tape_new();
  S2WorldTape *on = s2_world_tape_new(tape, NULL);
  // every coordinate is an input
  S2Place places[NUMBERS];
  double values[NUMBERS];
  S2Term terms[NUMBERS];
  for (int i = 0; i < NUMBERS; i++) {
    places[i] = s2_place(i < 6 ? S2_PLACE_Q : S2_PLACE_V, i % 6 / 3, i % 3);
    values[i] = s2_place_value(world, places[i]);
  }
  S2Var input = s2_tape_input(tape, values, NUMBERS);
  for (int i = 0; i < NUMBERS; i++) {
    terms[i] = (S2Term){.to = i, .from = input, .index = i, .factor = 1};
  }
  s2_world_tape_write(on, world, NUMBERS, places, NUMBERS, terms);
  good(s2_world_tape_observe(on, world, numbers, vars));
  good(s2_world_observe(world, plain));
  assert_memory_equal(numbers, plain, sizeof plain);
  assert_int_equal(vars[SEEN - 1], 0); // touches
  for (int k = 0; k + 1 < SEEN; k++) {
    double gradient[NUMBERS];
    good(s2_tape_sweep(tape, vars[k], NULL));
    memcpy(gradient, s2_tape_adjoint(tape, input), sizeof gradient);
    for (int i = 0; i < NUMBERS; i++) {
      for (int side = 0; side < 2; side++) {
        *s2_place_in(world, places[i]) = values[i] + (side == 0 ? 1e-5 : -1e-5);
        good(s2_world_observe(world, ends[side]));
      }
      *s2_place_in(world, places[i]) = values[i];
      near("observation", k, gradient[i], (ends[0][k] - ends[1][k]) / 2e-5, 1e-8);
    }
  }
  // a field without a known derivative
  const char *const mass[] = {"mass"};
  body.fields = mass;
  body.field_count = 1;
  good(s2_observation_create(world, &body, &index));
  double more[SEEN + 1];
  S2Var more_vars[SEEN + 1];
  assert_int_equal(s2_world_tape_observe(on, world, more, more_vars).code, S2_UNAVAILABLE);
  s2_world_destroy(world);
  s2_tape_free(tape);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(efforts_have_exact_slopes),
      cmocka_unit_test(directions_have_slopes),
      cmocka_unit_test(joints_give_slopes_to_their_numbers),
      cmocka_unit_test(failed_steps_leave_no_slopes),
      cmocka_unit_test(origins_belong_to_a_recording),
      cmocka_unit_test(observations_have_exact_slopes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
