// Options of the step in pairs: each pair works as both options describe, or is refused.
#include "worlds.h"

static S2JointId make(S2World *world, S2JointDef def) {
  S2JointId joint;
  must(s2_joint_create(world, &def, &joint));
  return joint;
}

static bool rolls(void *user, S2World *world, S2ConstraintCall *call) {
  (void)world;
  double speed = *(const double *)user; // speed of the goal, m/s; 0: none
  if (call->value != NULL) {
    call->value[0] = call->q[0][1] - speed * call->t;
  }
  // along x, for a goal; otherwise a runner that does not move sideways
  if (call->jacobian != NULL) {
    call->jacobian[0][1] = speed != 0 ? 1 : -sin(call->q[0][0]);
    call->jacobian[0][2] = speed != 0 ? 0 : cos(call->q[0][0]);
  }
  return true;
}

static S2World *world_of(S2WorldDef def) {
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

static void blending_refuses_what_does_without(void **state) {
  (void)state;
  for (int option = 0; option < 2; option++) {
    for (int blend = 0; blend < 4; blend++) {
      S2WorldDef def = fixed_def();
      def.restitution_model = option == 0 ? S2_REFLECTIONS : S2_NEWTON;
      def.stabilization = option == 1 ? S2_BAUMGARTE : S2_PROJECTION;
      def.alpha = blend == 0 ? 0.5 : 1;
      def.beta = blend == 1 ? 0.5 : 1;
      def.geometric_stiffness = blend == 2 ? S2_GEOMETRIC_PSD : S2_GEOMETRIC_OFF;
      S2World *world;
      S2Status status = s2_world_create(&def, &world);
      assert_int_equal(status.code, blend < 3 ? S2_INVALID : S2_OK);
      if (status.code == S2_OK) {
        s2_world_destroy(world);
      } else {
        assert_non_null(strstr(status.message, "requires alpha = beta = 1"));
      }
    }
  }
}

// A chain with a spring and a motor over a floor, hit by discs.
static void fill(S2World *world, bool ground_holds) {
  add_box(world, rough(fixed_at(0, -2), 0.5, 0.5), 20, 1);
  S2BodyId last = no_body;
  for (int i = 0; i < 4; i++) {
    S2BodyId next = add_box(world, rough(at(0.5 + i, 0), 0.5, 0.5), 1, 0.2);
    S2JointDef def = hinge_def(next, last, i, 0);
    def.has_motor = i == 2;
    def.motor_speed = 1;
    def.motor_max = 2;
    def.compliance.linear = i == 3 ? 1e-3 : 0;
    make(world, def);
    last = next;
  }
  for (int i = 0; i < 3; i++) {
    S2BodyDef def = rough(at(1 + i, 1), 0.5, 0.5);
    def.velocity = s2_vec2(0, -2);
    add_disc(world, def, 0.2);
  }
  if (!ground_holds) {
    return;
  }
  S2BodyDef def = rough(at(-3, -1), 0, 0);
  def.velocity = s2_vec2(1, 0);
  S2JointDef ground = s2_joint_def(S2_GROUND_FRICTION);
  ground.a = add_disc(world, def, 0.3);
  ground.max_force = 0.5;
  ground.max_torque = 0.1;
  make(world, ground);
}

// All formulations of the step problem have the same solution, combined with each of the other
// options.
static void formulations_go_with_everything(void **state) {
  (void)state;
  for (int option = 0; option < 5; option++) {
    double first = 0;
    for (int form = 0; form < 4; form++) {
      S2WorldDef def = fixed_def();
      def.dt = 0.01;
      def.restitution_model = option == 1 ? S2_REFLECTIONS : S2_NEWTON;
      def.substeps = option == 2 ? 3 : 1;
      def.stabilization = option == 3 ? S2_BAUMGARTE : option == 4 ? S2_POST : S2_PROJECTION;
      def.formulation = form < 3 ? (S2Formulation)form : S2_FORM_VELOCITY;
      def.elasticity = form == 3 ? S2_AS_STIFFNESS : S2_AS_COMPLIANCE;
      S2World *world = world_of(def);
      fill(world, def.restitution_model == S2_NEWTON);
      steps_solved(world, 30, 1e-9, INFINITY);
      S2BodyId body[16];
      int count = s2_world_bodies(world, body, 16);
      double sum = 0;
      for (int i = 0; i < count; i++) {
        sum += (i + 1) * (get(world, body[i], S2_BODY_X) + get(world, body[i], S2_BODY_ANGLE));
      }
      if (form > 0) {
        near(sum, first, 1e-5);
      }
      first = form == 0 ? sum : first;
      s2_world_destroy(world);
    }
  }
}

// A step of n parts equals n steps, bit for bit, for all kinds of parts.
static void substeps_are_steps(void **state) {
  (void)state;
  for (int option = 0; option < 4; option++) {
    double sum[2] = {0, 0};
    for (int parts = 0; parts < 2; parts++) {
      S2WorldDef def = fixed_def();
      def.dt = parts == 0 ? 1.0 / 64 : 1.0 / 16;
      def.substeps = parts == 0 ? 1 : 4;
      def.alpha = def.beta = option == 1 || option == 2 ? 0.6 : 1;
      def.geometric_stiffness = option == 2 ? S2_GEOMETRIC_ON : S2_GEOMETRIC_OFF;
      def.restitution_model = option == 3 ? S2_REFLECTIONS : S2_NEWTON;
      S2World *world = world_of(def);
      fill(world, def.restitution_model == S2_NEWTON);
      steps(world, parts == 0 ? 32 : 8);
      S2BodyId body[16];
      int count = s2_world_bodies(world, body, 16);
      for (int i = 0; i < count; i++) {
        double q[3];
        must(s2_body_q(world, body[i], q));
        sum[parts] += (i + 1) * (q[0] + 2 * q[1] + 3 * q[2]);
      }
      s2_world_destroy(world);
    }
    assert_true(sum[0] == sum[1]);
  }
}

// A constraint of the program is evaluated at its own time in every part.
static void constraints_in_parts(void **state) {
  (void)state;
  double speed = 0.7;
  for (int option = 0; option < 4; option++) {
    S2WorldDef def = fixed_def();
    def.gravity = s2_vec2(0, 0);
    def.dt = 0.02;
    def.substeps = option == 0 ? 1 : 5;
    def.beta = option == 2 ? 0.5 : 1;
    def.restitution_model = option == 3 ? S2_REFLECTIONS : S2_NEWTON;
    S2World *world = world_of(def);
    s2_world_set_callbacks(world, &(S2Callbacks){.user = &speed, .constraint = rolls});
    S2JointDef own = s2_joint_def(S2_CONSTRAINT);
    own.a = add_disc(world, at(0, 0), 0.5);
    own.rows = 1;
    make(world, own);
    for (int i = 0; i < 50; i++) {
      steps_solved(world, 1, 1e-9, 0);
      near(get(world, own.a, S2_BODY_X), speed * s2_world_time(world), 1e-9);
    }
    s2_world_destroy(world);
  }
}

// A runner that must not move sideways constrains speeds, which blending must not reverse.
static void runners_do_not_go_sideways_when_blended(void **state) {
  (void)state;
  double speed = 0;
  S2WorldDef settings = fixed_def();
  settings.gravity = s2_vec2(0, 0);
  settings.dt = 0.01;
  settings.alpha = settings.beta = 0.5;
  S2World *world = world_of(settings);
  s2_world_set_callbacks(world, &(S2Callbacks){.user = &speed, .constraint = rolls});
  S2BodyDef def = at(0, 0);
  def.velocity = s2_vec2(1, 1);
  S2JointDef own = s2_joint_def(S2_CONSTRAINT);
  own.a = add_box(world, def, 1, 0.2);
  own.rows = 1;
  own.velocity_only = own.has_jacobian = true;
  make(world, own);
  for (int i = 0; i < 20; i++) {
    steps_solved(world, 1, 1e-9, 0);
    near(get(world, own.a, S2_BODY_VY), 0, 1e-9);
  }
  s2_world_destroy(world);
}

static void reflections_refuse_ground_friction(void **state) {
  (void)state;
  S2WorldDef settings = fixed_def();
  settings.restitution_model = S2_REFLECTIONS;
  S2World *world = world_of(settings);
  S2JointDef ground = s2_joint_def(S2_GROUND_FRICTION);
  ground.a = add_disc(world, at(0, 0), 0.3);
  ground.max_force = 0.5;
  S2JointId friction = make(world, ground);
  assert_int_equal(s2_world_step(world).code, S2_INVALID);
  must(s2_joint_destroy(world, friction));
  must(s2_world_step(world));
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blending_refuses_what_does_without),
      cmocka_unit_test(formulations_go_with_everything),
      cmocka_unit_test(substeps_are_steps),
      cmocka_unit_test(constraints_in_parts),
      cmocka_unit_test(runners_do_not_go_sideways_when_blended),
      cmocka_unit_test(reflections_refuse_ground_friction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
