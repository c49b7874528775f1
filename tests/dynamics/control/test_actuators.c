// Actuators and observations that belong to a world.
#include "worlds.h"

#include "base/rng.h"
#include "dynamics/control/control.h"

static int add_actuator(S2World *world, S2ActuatorDef def) {
  int index = -1;
  def.name = def.name == NULL ? "it" : def.name;
  must(s2_actuator_create(world, &def, &index));
  return index;
}

static void test_each_kind_does_what_it_says(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyDef def = at(0, 0);
  def.mass = 2;
  S2BodyId free_body = add_box(world, def, 1, 1);
  def.position = s2_vec2(5, 0);
  S2BodyId sliding = add_box(world, def, 1, 1);
  S2JointDef slider = joint_def(S2_SLIDER, sliding, no_body);
  slider.anchor_a = s2_vec2(5, 0);
  slider.axis = s2_vec2(0, 1);
  S2JointId rail;
  must(s2_joint_create(world, &slider, &rail));
  S2ActuatorDef push = s2_actuator_def(), turn = push, along = push, hold = push;
  push.body = turn.body = free_body;
  push.direction = s2_vec2(0, 3);
  turn.kind = S2_ACTUATOR_TORQUE;
  along.joint = hold.joint = rail;
  along.hi = 6;
  hold.kind = S2_ACTUATOR_POSITION;
  hold.kp = 40;
  hold.kd = 9;
  hold.implicit = false;
  add_actuator(world, push);
  add_actuator(world, turn);
  add_actuator(world, along);
  add_actuator(world, hold);
  assert_int_equal(s2_world_actuator_count(world), 4);
  // No force acts before the first command; then a command holds, clipped to its range.
  const double u[4] = {4, 1, 10, 0.5};
  int clipped = -1;
  must(s2_world_act(world, u, 4, &clipped));
  assert_int_equal(clipped, 1);
  s2_world_set_actuated(world, false); // a program applies the commands itself
  steps(world, 1);
  near(get(world, free_body, S2_BODY_VY), 0, 0);
  s2_world_set_actuated(world, true);
  steps(world, 1);
  near(get(world, free_body, S2_BODY_VX), 0, 1e-15);
  near(get(world, free_body, S2_BODY_VY), 0.02, 1e-12);
  near(get(world, free_body, S2_BODY_OMEGA), 0.01 / get(world, free_body, S2_BODY_INERTIA), 1e-12);
  near(get(world, sliding, S2_BODY_VY), 0.01 * (6 + 40 * 0.5) / 2, 1e-12);
  double force[3];
  must(s2_body_force(world, free_body, force)); // acts in this step alone
  near(force[2], 0, 0);
  s2_world_destroy(world);
}

// Implicit Euler of the servo together with the joint's own spring and damping, up to its bound.
static void test_a_position_is_held_implicitly(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(37);
  for (int k = 0; k < 200; k++) {
    double h = pow(10, -3 + 1.5 * s2_rng_uniform(&rng)),
           mass = pow(10, -3 + 5 * s2_rng_uniform(&rng));
    S2World *world = world_new(0, h);
    S2BodyDef def = at(0, 0);
    def.mass = mass;
    S2JointDef slider = joint_def(S2_SLIDER, add_box(world, def, 1, 1), no_body);
    slider.anchor_a = s2_vec2(0, 0);
    slider.axis = s2_vec2(1, 0);
    slider.stiffness = k % 3 == 0 ? 0 : 50 * s2_rng_uniform(&rng);
    slider.damping.linear = slider.damping.angular = k % 2 == 0 ? 0 : s2_rng_uniform(&rng);
    S2JointId rail;
    must(s2_joint_create(world, &slider, &rail));
    S2ActuatorDef hold = s2_actuator_def();
    hold.joint = rail;
    hold.kind = S2_ACTUATOR_POSITION;
    hold.kp = pow(10, 4 * s2_rng_uniform(&rng));
    hold.kd = pow(10, 3 * s2_rng_uniform(&rng));
    hold.most = k % 4 == 0 ? pow(10, 2 * s2_rng_uniform(&rng)) : INFINITY;
    int index = add_actuator(world, hold);
    double goal = s2_rng_uniform(&rng), x = 0, u = 0;
    must(s2_world_act(world, &goal, 1, NULL));
    for (int i = 0; i < 50; i++) {
      double kp = hold.kp, kd = hold.kd, own_k = slider.stiffness, own_d = slider.damping.linear;
      double next = (mass * u + h * (kp * (goal - x) - own_k * x)) /
                    (mass + h * (own_d + kd + h * (own_k + kp)));
      double force = kp * (goal - x - h * next) - kd * next;
      if (fabs(force) > hold.most) {
        force = copysign(hold.most, force);
        next = (mass * u + h * (force - own_k * x)) / (mass + h * (own_d + h * own_k));
      }
      x += h * next;
      u = next;
      steps(world, 1);
      double at_x;
      must(s2_joint_get(world, rail, S2_JOINT_TRANSLATION, &at_x));
      near(at_x, x, 1e-7);
      if (i == 25) { // new gains count from the next step on
        hold.kp /= 2;
        must(s2_actuator_tune(world, index, hold.kp, hold.kd, hold.most));
      }
    }
    s2_world_destroy(world);
  }
}

static void test_delays_are_whole_steps_and_come_back_with_images(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01), *clone;
  S2BodyId body = add_disc(world, at(0, 0), 0.5);
  S2ActuatorDef push = s2_actuator_def();
  push.body = body;
  push.direction = s2_vec2(1, 0);
  push.delay = 0.025; // three steps
  add_actuator(world, push);
  steps(world, 2);
  must(s2_actuator_command(world, 0, 1, NULL));
  steps(world, 1);
  must(s2_actuator_command(world, 0, -5, NULL));
  size_t size = s2_world_image_size(world);
  void *image = malloc(size);
  s2_world_image_write(world, image);
  must(s2_world_clone(world, &clone));
  steps(world, 2);
  near(get(world, body, S2_BODY_VX), 0, 0);
  steps(world, 1);
  near(get(world, body, S2_BODY_VX), 0.01 / get(world, body, S2_BODY_MASS), 1e-12);
  steps(world, 3);
  uint64_t hash = s2_world_hash(world);
  assert_true(get(world, body, S2_BODY_VX) < 0);
  steps(clone, 6);
  assert_true(s2_world_hash(clone) == hash);
  must(s2_world_image_read(world, image, size));
  steps(world, 6);
  assert_true(s2_world_hash(world) == hash);
  free(image);
  s2_world_destroy(world);
  s2_world_destroy(clone);
}

static void test_a_step_that_fails_leaves_no_force(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyId a = add_disc(world, at(0, 0), 0.5), b = add_disc(world, at(5, 0), 0.5);
  S2ActuatorDef push = s2_actuator_def();
  push.direction = s2_vec2(1, 0);
  push.body = a;
  add_actuator(world, push);
  push.body = b;
  push.name = "gone";
  add_actuator(world, push);
  must(s2_world_act(world, (const double[2]){1, 1}, 2, NULL));
  must(s2_body_destroy(world, b));
  S2Status status = s2_world_step(world);
  assert_int_equal(status.code, S2_STALE);
  assert_string_equal(status.message, "actuator 'gone': its joint or body is destroyed");
  double force[3];
  must(s2_body_force(world, a, force));
  near(force[1], 0, 0);
  near(s2_world_time(world), 0, 0);
  s2_world_destroy(world);
}

static void test_observations_are_read_with_noise_of_seed_and_time(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyId body = add_disc(world, at(3, 4), 0.5);
  static const char *const fields[] = {"y", "x"}, *const wrong[] = {"z"};
  S2ObservationDef def = {.name = "place", .body = body, .fields = fields, .field_count = 2};
  int index;
  must(s2_observation_create(world, &def, &index));
  def.noise = 0.1;
  must(s2_observation_create(world, &def, &index));
  assert_int_equal(s2_world_observation_size(world), 4);
  double seen[4], again[4];
  s2_world_set_noise_seed(world, 5);
  must(s2_world_observe(world, seen));
  near(seen[0], 4, 0);
  near(seen[1], 3, 0);
  assert_true(seen[2] != 4 && fabs(seen[2] - 4) < 1);
  must(s2_world_observe(world, again));
  assert_memory_equal(seen, again, sizeof seen);
  steps(world, 1);
  must(s2_world_observe(world, again));
  assert_true(seen[2] != again[2]);
  def.fields = wrong;
  def.field_count = 1;
  S2Status status = s2_observation_create(world, &def, &index);
  assert_int_equal(status.code, S2_INVALID);
  assert_string_equal(status.message, "observation 'place': there is no field 'z'");
  must(s2_body_destroy(world, body));
  assert_int_equal(s2_world_observe(world, again).code, S2_STALE);
  s2_world_destroy(world);
}

static void test_commands_and_definitions_that_cannot_be(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  S2BodyId body = add_disc(world, at(0, 0), 0.5);
  S2ActuatorDef def = s2_actuator_def();
  int index;
  def.name = "it";
  assert_int_equal(s2_actuator_create(world, &def, &index).code, S2_INVALID); // acts on nothing
  def.body = body;
  assert_int_equal(s2_actuator_create(world, &def, &index).code, S2_INVALID); // no direction
  def.direction = s2_vec2(1, 0);
  def.lo = 2;
  def.hi = 1;
  assert_int_equal(s2_actuator_create(world, &def, &index).code, S2_INVALID);
  def.hi = 3;
  must(s2_actuator_create(world, &def, &index));
  const double u[2] = {NAN, 1};
  S2Status status = s2_world_act(world, u, 1, NULL);
  assert_string_equal(status.message, "'it': finite number expected, got nan");
  status = s2_world_act(world, u, 2, NULL);
  assert_string_equal(status.message, "1 values expected, one per actuator, got 2");
  assert_int_equal(s2_actuator_command(world, 1, 0, NULL).code, S2_INVALID);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_kind_does_what_it_says),
      cmocka_unit_test(test_a_position_is_held_implicitly),
      cmocka_unit_test(test_delays_are_whole_steps_and_come_back_with_images),
      cmocka_unit_test(test_a_step_that_fails_leaves_no_force),
      cmocka_unit_test(test_observations_are_read_with_noise_of_seed_and_time),
      cmocka_unit_test(test_commands_and_definitions_that_cannot_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
