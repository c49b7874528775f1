// Derivatives of trajectories: forward mode compared with sweeps back over the notes.
#include "../dynamics/program/programs.h"

#include "diff/world/world_gradient.h"
#include "dynamics/control/control.h"
#include "plan/model.h"

enum { WORLDS = S2_FEWER(120, 30), KNOTS = 3, STEPS = 3, STATES = 48, INPUTS = 12 };

typedef struct Slopes {
  int n, m;
  double x[(KNOTS + 1) * STATES], a[KNOTS * STATES * STATES], b[KNOTS * STATES * INPUTS];
} Slopes;

// A motor at each joint, and a force on each body.
static int add_motors(S2World *world) {
  int count = 0;
  for (int i = 0; i < world->joint_order.count && count < INPUTS; i++) {
    int32_t slot = world->joint_order.at[i];
    const S2Joint *joint = &world->joints.at[slot];
    S2ActuatorDef def = s2_actuator_def();
    char name[16];
    snprintf(name, sizeof name, "%d", count++);
    def.name = name;
    def.kind = joint->type == S2_HINGE ? S2_ACTUATOR_TORQUE : S2_ACTUATOR_FORCE;
    def.joint = (S2JointId){(uint32_t)slot + 1, joint->serial};
    int index;
    must(s2_actuator_create(world, &def, &index));
  }
  return count;
}

static void slopes_of(S2World *world, double push, Slopes *slopes) {
  S2ModelDef def = {.world = world, .knots = KNOTS, .steps = STEPS};
  S2Model *model;
  must(s2_model_open(&def, &model));
  slopes->n = s2_model_states(model);
  slopes->m = s2_model_inputs(model);
  assert_true(slopes->n <= STATES && slopes->m <= INPUTS);
  double u[KNOTS * INPUTS], y[1];
  for (int i = 0; i < KNOTS * slopes->m; i++) {
    u[i] = push * sin(1 + 3.7 * i);
  }
  S2ModelSlope slope = {slopes->a, slopes->b, y, 0};
  must(s2_model_linearize(model, u, slopes->x, y, &slope));
  assert_int_equal(slope.flags & S2_GRADIENT_SINGULAR, 0);
  s2_model_close(model);
}

// Relative to the largest entry of each matrix.
static void assert_close(const double *is, const double *was, int count, const char *what,
                         int world) {
  double most = 1e-3;
  for (int i = 0; i < count; i++) {
    most = fmax(most, fabs(was[i]));
  }
  for (int i = 0; i < count; i++) {
    if (!(fabs(is[i] - was[i]) <= 1e-8 * most)) {
      fail_msg("world %d: %s[%d] is %.12g, backwards it is %.12g", world, what, i, is[i], was[i]);
    }
  }
}

static Slopes fast_slopes, plain_slopes; // large

static void compare(S2World *fast, S2World *plain, double push, int world) {
  slopes_of(fast, push, &fast_slopes);
  slopes_of(plain, push, &plain_slopes);
  int n = plain_slopes.n, m = plain_slopes.m;
  assert_int_equal(fast_slopes.n, n);
  assert_close(fast_slopes.x, plain_slopes.x, (KNOTS + 1) * n, "x", world);
  for (int k = 0; k < KNOTS; k++) {
    assert_close(fast_slopes.a + k * n * n, plain_slopes.a + k * n * n, n * n, "a", world);
    assert_close(fast_slopes.b + k * n * m, plain_slopes.b + k * n * m, n * m, "b", world);
  }
}

static void test_random_worlds(void **state) {
  (void)state;
  int hangs = 0;
  for (int seed = 1; seed <= WORLDS; seed++) {
    Recipe recipe = {.shape = (uint64_t)seed, .numbers = (uint64_t)seed, .flow = S2_FLOW_PROJECTED};
    S2World *fast = recipe_world(recipe), *plain = recipe_world(recipe);
    s2_world_set_lanes(plain, 0);
    add_motors(fast);
    add_motors(plain);
    for (int i = 0; i < 30; i++) {
      must(s2_world_step(fast));
      must(s2_world_step(plain));
    }
    hangs += s2_program_hangs(fast);
    compare(fast, plain, 0.5, seed);
    s2_world_destroy(fast);
    s2_world_destroy(plain);
  }
  assert_true(hangs > WORLDS / 2);
}

// Steps without joint errors: at rest, upright, with and without a push.
static void test_at_rest(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    S2World *worlds[2];
    for (int i = 0; i < 2; i++) {
      worlds[i] = world_new(-9.81, 0.01);
      S2BodyDef def = at(0, way % 2 == 0 ? -0.5 : 0.5);
      def.mask = 0;
      S2BodyId pole = add_box(worlds[i], def, 0.1, 1), bob;
      def.position.y *= 3;
      bob = add_box(worlds[i], def, 0.1, 1);
      S2JointDef pivot = hinge_def(pole, no_body, 0, 0);
      S2JointDef elbow = hinge_def(bob, pole, 0, way % 2 == 0 ? -1 : 1);
      S2JointId id;
      must(s2_joint_create(worlds[i], &pivot, &id));
      must(s2_joint_create(worlds[i], &elbow, &id));
      add_motors(worlds[i]);
      s2_world_set_lanes(worlds[i], i == 0 ? 8 : 0);
      for (int k = 0; k < 5; k++) {
        must(s2_world_step(worlds[i]));
      }
    }
    assert_true(s2_program_hangs(worlds[0]));
    compare(worlds[0], worlds[1], way < 2 ? 0 : 1, -1 - way);
    s2_world_destroy(worlds[0]);
    s2_world_destroy(worlds[1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_worlds),
      cmocka_unit_test(test_at_rest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
