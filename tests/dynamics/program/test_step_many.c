// Worlds that are stepped together have the bits of worlds stepped alone, in any combination.
#include "programs.h"

#include "dynamics/program/stock/stock.h"

enum { KINDS = 7, EACH = 9, STEPS = S2_FEWER(80, 12) };

typedef struct Crowd { // the same worlds twice
  int count;
  S2World *side[KINDS * EACH + 8], *alone[KINDS * EACH + 8];
} Crowd;

static void join(Crowd *crowd, S2World *side, S2World *alone, int lanes) {
  s2_world_set_lanes(side, lanes);
  s2_world_set_lanes(alone, 0);
  crowd->side[crowd->count] = side;
  crowd->alone[crowd->count++] = alone;
}

// A ball on the floor: no program can step it.
static S2World *ball_world(void) {
  S2World *world = world_new(-10, 1.0 / 60);
  S2BodyDef def = at(0, -1);
  def.type = S2_STATIC;
  add_box(world, def, 10, 2);
  def = at(0, 0.5);
  def.restitution = 0.5;
  add_disc(world, def, 0.2);
  return world;
}

// Worlds of some kinds in random order, each with its own numbers.
static Crowd crowd_new(uint64_t seed, int lanes, S2FlowRule flow) {
  Crowd crowd = {0};
  for (int i = 0; i < KINDS * EACH; i++) {
    Recipe recipe = {.shape = 100 * seed + (uint64_t)(i % KINDS),
                     .numbers = 1000 * seed + (uint64_t)i,
                     .flow = flow,
                     .floor = i % 3 == 0};
    join(&crowd, recipe_world(recipe), recipe_world(recipe), lanes);
  }
  for (int i = 0; i < 3; i++) {
    join(&crowd, ball_world(), ball_world(), lanes);
  }
  return crowd;
}

static void crowd_free(Crowd *crowd) {
  for (int i = 0; i < crowd->count; i++) {
    s2_world_destroy(crowd->side[i]);
    s2_world_destroy(crowd->alone[i]);
  }
}

static void crowd_step(Crowd *crowd, int step) {
  for (int i = 0; i < crowd->count; i++) {
    recipe_push(crowd->side[i], (uint64_t)i, step);
    recipe_push(crowd->alone[i], (uint64_t)i, step);
    must(s2_world_step(crowd->alone[i]));
  }
  must(s2_worlds_step_many(crowd->side, crowd->count, NULL));
}

static void crowd_compare(const Crowd *crowd) {
  for (int i = 0; i < crowd->count; i++) {
    char where[64];
    snprintf(where, sizeof where, "world %d", i);
    assert_same_world(crowd->side[i], crowd->alone[i], where);
  }
}

static void run_crowd(int lanes, S2FlowRule flow) {
  int programs = 0;
  uint64_t seeds = flow == S2_FLOW_PROJECTED ? S2_FEWER(6, 2) : S2_FEWER(3, 2);
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    Crowd crowd = crowd_new(seed, lanes, flow);
    for (int step = 0; step < STEPS; step++) {
      crowd_step(&crowd, step);
      crowd_compare(&crowd);
    }
    for (int i = 0; i < crowd.count; i++) {
      programs += has_program(crowd.side[i]);
    }
    crowd_free(&crowd);
  }
  assert_true(programs >= ((int)seeds - 1) * KINDS * EACH);
}

static void test_one_lane(void **state) {
  (void)state;
  run_crowd(1, S2_FLOW_PROJECTED);
  run_crowd(1, S2_FLOW_RATTLE);
}

static void test_four_lanes(void **state) {
  (void)state;
  run_crowd(4, S2_FLOW_PROJECTED);
  run_crowd(4, S2_FLOW_RATTLE);
}

static void test_eight_lanes(void **state) {
  (void)state;
  run_crowd(8, S2_FLOW_PROJECTED);
  run_crowd(8, S2_FLOW_RATTLE);
}

// Two bodies, the first on a rail or a pin of the world: the tables of stock.h.
static S2World *stock_world(S2Stock stock, uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  S2WorldDef def = s2_world_def();
  def.dt = 1.0 / (60 + 30 * pick(&rng, 3));
  bool stages =
      stock == S2_STOCK_CART_POLE_IN_STAGES || stock == S2_STOCK_DOUBLE_PENDULUM_IN_STAGES;
  def.flow = stages ? S2_FLOW_RATTLE : S2_FLOW_PROJECTED;
  S2World *world;
  must(s2_world_create(&def, &world));
  S2BodyId one = recipe_body(world, &rng, S2_DYNAMIC), two = recipe_body(world, &rng, S2_DYNAMIC);
  bool rail = stock == S2_STOCK_CART_POLE || stock == S2_STOCK_CART_POLE_IN_STAGES;
  S2JointDef joint = joint_def(rail ? S2_SLIDER : S2_HINGE, one, no_body);
  joint.anchor_a = s2_vec2(between(&rng, -1, 1), between(&rng, -1, 1));
  joint.axis = s2_vec2(1, between(&rng, -1, 1));
  S2JointId id;
  must(s2_joint_create(world, &joint, &id));
  joint = hinge_def(two, one, between(&rng, -1, 1), between(&rng, -1, 1));
  must(s2_joint_create(world, &joint, &id));
  return world;
}

// The kernels made for one table also have the bits of the general path.
static void test_stock(void **state) {
  (void)state;
  static const S2Stock stocks[4] = {S2_STOCK_CART_POLE, S2_STOCK_DOUBLE_PENDULUM,
                                    S2_STOCK_CART_POLE_IN_STAGES,
                                    S2_STOCK_DOUBLE_PENDULUM_IN_STAGES};
  for (int lanes = 1; lanes <= 8; lanes = lanes == 1 ? 4 : 2 * lanes) {
    Crowd crowd = {0};
    for (uint64_t i = 0; i < 52; i++) {
      S2Stock stock = stocks[i % 4];
      join(&crowd, stock_world(stock, i), stock_world(stock, i), lanes);
    }
    for (int step = 0; step < S2_FEWER(150, 20); step++) {
      crowd_step(&crowd, step);
      crowd_compare(&crowd);
    }
    for (int i = 0; i < crowd.count; i++) {
      const S2Program *program = crowd.side[i]->program;
      assert_non_null(program);
      assert_int_equal(program->island[0].table.stock, stocks[i % 4]);
    }
    crowd_free(&crowd);
  }
}

// Worlds that cannot be stepped together, or not at all.
static void test_bad_input(void **state) {
  (void)state;
  Recipe recipe = {.shape = 1, .numbers = 1, .flow = S2_FLOW_PROJECTED};
  S2World *a = recipe_world(recipe), *b = recipe_world(recipe), *c = recipe_world(recipe);
  S2World *twice[] = {a, b, a}, *none[] = {a, NULL}, *all[] = {a, b, c};
  S2Status each[3];
  S2Status status = s2_worlds_step_many(twice, 3, each);
  assert_int_equal(status.code, S2_INVALID);
  assert_string_equal(status.message, "worlds[2]: listed twice");
  status = s2_worlds_step_many(none, 2, each);
  assert_int_equal(status.code, S2_INVALID);
  assert_string_equal(status.message, "worlds[1]: a world expected, got NULL");
  assert_int_equal(s2_world_step_count(a), 0);
  must(s2_worlds_step_many(all, 0, NULL));
  must(s2_worlds_step_many(all, 3, each));
  assert_int_equal(s2_world_step_count(a), 1);
  s2_world_destroy(a);
  s2_world_destroy(b);
  s2_world_destroy(c);
}

// One world fails: the others are stepped, and each one has its own status.
static void test_one_fails(void **state) {
  (void)state;
  Recipe recipe = {.shape = 2, .numbers = 2, .flow = S2_FLOW_RATTLE};
  enum { COUNT = 6, BAD = 3 };
  S2World *world[COUNT], *alone = recipe_world(recipe);
  S2Status each[COUNT];
  for (int i = 0; i < COUNT; i++) {
    world[i] = recipe_world(recipe);
  }
  for (int i = 0; i < 5; i++) {
    must(s2_worlds_step_many(world, COUNT, each));
    must(s2_world_step(alone));
  }
  for (int k = 0; k < 2; k++) {
    S2BodyId body = s2_world_body(world[BAD], 1);
    must(s2_body_apply_force(world[BAD], body, s2_vec2(1e308, 0), NULL));
  }
  S2Status status = s2_worlds_step_many(world, COUNT, each);
  must(s2_world_step(alone));
  assert_int_equal(status.code, S2_INVALID);
  for (int i = 0; i < COUNT; i++) {
    assert_int_equal(each[i].code, i == BAD ? S2_INVALID : S2_OK);
    if (i != BAD) {
      assert_same_world(world[i], alone, "beside one that fails");
    }
    s2_world_destroy(world[i]);
  }
  assert_non_null(strstr(each[BAD].message, "is not finite in step"));
  s2_world_destroy(alone);
}

// A caller may step the remaining worlds itself.
static S2Status count_alone(void *user, S2World *world, int index) {
  int *count = user;
  *count += 1 + 0 * index;
  return s2_world_step(world);
}

static void test_alone(void **state) {
  (void)state;
  Crowd crowd = crowd_new(3, 8, S2_FLOW_PROJECTED);
  int alone = 0;
  for (int i = 0; i < 3; i++) {
    must(s2_worlds_step_with(crowd.side, crowd.count, NULL, count_alone, &alone, NULL));
  }
  alone = 0;
  must(s2_worlds_step_with(crowd.side, crowd.count, NULL, count_alone, &alone, NULL));
  // the balls, and other worlds that a program cannot step
  assert_true(alone >= 3 && alone < crowd.count / 2);
  crowd_free(&crowd);
}

// A chain above a floor, whose actuator pushes it down: whether bodies come near each other depends
// on the actuator.
static S2World *pushed_world(void) {
  S2WorldDef def = s2_world_def();
  def.dt = 0.01;
  S2World *world;
  must(s2_world_create(&def, &world));
  S2BodyDef floor = at(0, -1);
  floor.type = S2_STATIC;
  add_box(world, floor, 20, 2);
  S2BodyId body = add_box(world, at(0, 0.6), 0.4, 0.4), arm = add_box(world, at(0, 1.2), 0.1, 0.8);
  S2JointDef hinge = hinge_def(arm, body, 0, 0.8);
  S2JointId turns;
  must(s2_joint_create(world, &hinge, &turns));
  S2ActuatorDef push = s2_actuator_def();
  int index;
  push.name = "push";
  push.body = body;
  push.direction = s2_vec2(0.1, -1);
  must(s2_actuator_create(world, &push, &index));
  return world;
}

static void test_actuators_push_before_the_search_for_near_bodies(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(4);
  for (int run = 0; run < 30; run++) {
    S2World *side = pushed_world(), *alone = pushed_world();
    s2_world_set_lanes(alone, 0);
    for (int step = 0, contacts = 0; step < 40 && contacts == 0; step++) {
      double u = 300 * s2_rng_uniform(&rng);
      must(s2_world_act(side, &u, 1, NULL));
      must(s2_world_act(alone, &u, 1, NULL));
      must(s2_world_step(alone));
      must(s2_worlds_step_many(&side, 1, NULL));
      assert_same_world(side, alone, "a pushed chain");
      (void)s2_world_contacts(alone, &contacts);
    }
    s2_world_destroy(side);
    s2_world_destroy(alone);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_actuators_push_before_the_search_for_near_bodies),
      cmocka_unit_test(test_one_lane),
      cmocka_unit_test(test_four_lanes),
      cmocka_unit_test(test_eight_lanes),
      cmocka_unit_test(test_stock),
      cmocka_unit_test(test_bad_input),
      cmocka_unit_test(test_one_fails),
      cmocka_unit_test(test_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
