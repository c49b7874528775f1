// Small islands in flat arrays: their steps agree with those of the general path from the same
// state.
#include "dynamics/small/small_worlds.h"

#include "dynamics/small/small.h"
#include "mcp/mcp.h"

#include <unistd.h>

// Compares steps of two copies of a world. Both start each step from the same state.
typedef struct Pair {
  S2World *fast, *plain;
  int steps, apart; // number of steps, and of steps whose velocities differ
} Pair;

static void compare(Pair *pair) {
  double fastest = 0.1, worst = 0;
  for (int i = 0; i < 3 * pair->fast->bodies.count; i++) {
    fastest = fmax(fastest, fabs(pair->fast->v.at[i]));
    worst = fmax(worst, fabs(pair->fast->v.at[i] - pair->plain->v.at[i]));
  }
  pair->steps += 1;
  pair->apart += worst > 1e-8 * fastest;
}

static void run(uint64_t seed, int steps, Pair *pair) {
  pair->fast = random_world(seed);
  pair->plain = random_world(seed);
  s2_world_set_flat(pair->plain, false);
  for (int i = 0; i < steps; i++) {
    size_t size = s2_world_image_size(pair->fast);
    void *image = malloc(size);
    s2_world_image_write(pair->fast, image);
    must(s2_world_image_read(pair->plain, image, size));
    free(image);
    push(pair->fast, seed + 1000 * (uint64_t)i);
    push(pair->plain, seed + 1000 * (uint64_t)i);
    must(s2_world_step(pair->fast));
    must(s2_world_step(pair->plain));
    compare(pair);
  }
  s2_world_destroy(pair->fast);
  s2_world_destroy(pair->plain);
}

// Random trees with limits, motors, servos, springs and friction on a floor. A few steps have
// several solutions, because bodies share loads in an undetermined ratio while friction acts. The
// two paths may then choose different ones. (In 200 worlds these are 25 of 20,000 steps, 20 of them
// in one world.)
static void test_agrees(void **state) {
  (void)state;
  Pair pair = {.steps = 0};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    run(seed, 100, &pair);
  }
  assert_true(pair.steps == 6000);
  assert_true(pair.apart <= 3);
}

static S2World *stepped_by_events(double dt) {
  S2WorldDef def = s2_world_def();
  def.gravity = s2_vec2(0, -9.81);
  def.dt = dt;
  S2World *world;
  must(s2_world_create(&def, &world));
  return world;
}

// A chain whose joints have every kind of row, more than the arrays hold.
static S2World *crowded_world(void) {
  S2World *world = stepped_by_events(1.0 / 120);
  S2BodyId last = {0, 0};
  for (int i = 0; i < 8; i++) {
    S2BodyId link = add_box(world, at(0.5 * i + 0.25, 2), 0.5, 0.1);
    S2JointDef def = hinge_def(link, last, 0.5 * i, 2);
    def.stiffness = 20;
    S2JointId hinge;
    must(s2_joint_create(world, &def, &hinge));
    must(s2_joint_set_limits(world, hinge, -0.4, 0.4));
    must(s2_joint_set(world, hinge, S2_JOINT_MOTOR_MAX, 0.3));
    must(s2_joint_set(world, hinge, S2_JOINT_FRICTION, 0.2));
    last = link;
  }
  return world;
}

static bool drag(void *user, S2World *world, S2ForceCall *call) {
  (void)user;
  double v[3];
  must(s2_body_v(world, call->body, v));
  call->force[0] -= 5 * v[0];
  return true;
}

// A pendulum with limits in a viscous fluid.
static S2World *lawful_world(void) {
  S2World *world = stepped_by_events(1.0 / 60);
  S2BodyId body = add_box(world, at(0.5, 0), 1, 0.1), none = {0, 0};
  S2JointDef def = hinge_def(body, none, 0, 0);
  S2JointId hinge;
  must(s2_joint_create(world, &def, &hinge));
  must(s2_joint_set_limits(world, hinge, -2, 2));
  must(s2_body_set_force_law(world, body, true));
  s2_world_set_callbacks(world, &(S2Callbacks){.force = drag});
  return world;
}

// The general path steps what the arrays do not describe.
static void test_left_to_general(void **state) {
  (void)state;
  S2World *(*const make[])(void) = {crowded_world, lawful_world};
  for (int i = 0; i < 2; i++) {
    S2World *fast = make[i](), *plain = make[i]();
    s2_world_set_flat(plain, false);
    for (int step = 0; step < 100; step++) {
      must(s2_world_step(fast));
      must(s2_world_step(plain));
      size_t size = sizeof(double) * 3 * (size_t)fast->bodies.count;
      assert_memory_equal(fast->q.at, plain->q.at, size);
      assert_memory_equal(fast->v.at, plain->v.at, size);
    }
    (s2_world_destroy)(fast);
    (s2_world_destroy)(plain);
  }
}

// The problems of both stages are written and can be solved again.
static void test_dumps(void **state) {
  (void)state;
  char folder[] = "/tmp/sim2d-small-XXXXXX", path[sizeof folder + 40];
  assert_non_null(mkdtemp(folder));
  S2World *world = random_world(3);
  must(s2_world_dump_problems(world, folder));
  int found = 0;
  for (int step = 0; step < 60; step++) {
    must(s2_world_step(world));
    for (int i = 0; i < 20; i++) {
      S2Problem *problem;
      snprintf(path, sizeof path, "%s/problem-%06d-%02d.txt", folder, step, i);
      if (access(path, R_OK) != 0) {
        break;
      }
      must(s2_problem_read(path, &problem));
      S2SolverOptions options = {.tolerance = 1e-9, .max_iterations = 100};
      S2Solution solution = {.v = calloc(3 * (size_t)problem->nodes, sizeof(double)),
                             .lambda = calloc((size_t)problem->rows, sizeof(double))};
      s2_arena_reset(&world->arena);
      assert_int_equal(s2_mcp_solve(problem, &options, &world->arena, &solution), S2_SOLVED);
      free(solution.v);
      free(solution.lambda);
      s2_problem_free(problem);
      unlink(path);
      found += 1;
    }
  }
  assert_true(found >= 60);
  s2_world_destroy(world);
  rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_agrees), cmocka_unit_test(test_dumps),
                                     cmocka_unit_test(test_left_to_general)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
