// Batches of copies of one world: the bits of separate worlds, whether programs step them or not.
#include "worlds.h"

#include "batch/batch.h"
#include "dynamics/control/control.h"
#include "dynamics/copies/copies.h"

#include <string.h>

enum { WORLDS = 21, OBSERVED = 7, STEPS = 120 };

typedef enum Kind { HANGING, FLOATING, TOUCHING } Kind;

// HANGING: a cart on a rail with a pole. FLOATING: two rods with a hinge and a free disc. TOUCHING:
// the cart and the pole above a floor that the pole can reach.
static S2World *build(Kind kind) {
  S2WorldDef def = s2_world_def();
  def.dt = 0.02;
  S2World *world;
  must(s2_world_create(&def, &world));
  S2BodyId cart = add_box(world, at(0, 1), 0.4, 0.2), pole = add_box(world, at(0, 1.5), 0.05, 1);
  S2JointDef hinge = hinge_def(pole, cart, 0, 1);
  S2JointId turns, on_rail = {0, 0};
  must(s2_joint_create(world, &hinge, &turns));
  if (kind == FLOATING) {
    add_disc(world, at(50, 0), 0.3);
  } else {
    S2JointDef rail = joint_def(S2_SLIDER, cart, no_body);
    rail.anchor_a = s2_vec2(0, 1);
    rail.axis = s2_vec2(1, 0);
    must(s2_joint_create(world, &rail, &on_rail));
  }
  if (kind == TOUCHING) {
    add_box(world, fixed_at(0, -0.5), 20, 1.4);
  }
  S2ActuatorDef push = s2_actuator_def();
  int index;
  push.name = "push";
  push.lo = -5;
  push.hi = 5;
  push.body = cart;
  push.direction = s2_vec2(1, 0);
  must(s2_actuator_create(world, &push, &index));
  static const char *const swing[] = {"angle", "speed", "cos_angle"}, *const place[] = {"x", "vx",
                                                                                        "omega",
                                                                                        "touches"};
  S2ObservationDef see = {.name = "pole", .joint = turns, .fields = swing, .field_count = 3};
  must(s2_observation_create(world, &see, &index));
  see = (S2ObservationDef){.name = "cart", .body = cart, .fields = place, .field_count = 4};
  must(s2_observation_create(world, &see, &index));
  assert_int_equal(s2_world_observation_size(world), OBSERVED);
  return world;
}

typedef struct Side {
  S2World *worlds[WORLDS];
  S2Workers *workers;
  S2Judge *judge;
  S2Batch *batch;
  double seen[WORLDS * OBSERVED], rewards[WORLDS], terminated[WORLDS], truncated[WORLDS],
      final[WORLDS * OBSERVED], unsolved[WORLDS], changes[WORLDS];
  S2BatchResult result;
} Side;

// Draws of fast spins make single steps of programs fail.
static void open_side(Side *side, Kind kind, bool copies, int threads, S2AutoReset autoreset) {
  memset(side, 0, sizeof *side);
  int count = copies ? 1 : WORLDS;
  for (int i = 0; i < count; i++) {
    side->worlds[i] = build(kind);
  }
  S2JointId hinge = s2_world_joint(side->worlds[0], 0);
  S2BodyId cart = s2_world_body(side->worlds[0], 0);
  S2CostTerm term = {.count = 1,
                     .of = {{.kind = S2_READ_JOINT, .joint = hinge, .field = S2_JOINT_SPEED}},
                     .scale = {10},
                     .weight = 1,
                     .norm = S2_NORM_QUADRATIC};
  S2Bound bounds[2] = {{{.kind = S2_READ_BODY, .body = cart, .field = S2_BODY_X}, -1.5, 1.5},
                       {{.kind = S2_READ_BODY, .body = cart, .field = S2_BODY_VY}, -90, 90}};
  must(s2_judge_create(side->worlds[0], 1, 1, &term, 2, bounds, &side->judge));
  S2Draw draws[3] = {
      {.of = {.kind = S2_READ_JOINT, .joint = hinge, .field = S2_JOINT_ANGLE}, .a = -1, .b = 1},
      {.of = {.kind = S2_READ_JOINT, .joint = hinge, .field = S2_JOINT_SPEED},
       .kind = S2_DRAW_NORMAL,
       .b = 60},
      {.of = {.kind = S2_READ_BODY, .body = cart, .field = S2_BODY_VX},
       .a = -1,
       .b = 1,
       .relative = true}};
  S2BatchDef def = {.autoreset = autoreset,
                    .worth = S2_WORTH_PERIODS,
                    .constant = 1,
                    .max_steps = 25,
                    .seed = 3,
                    .judge = side->judge,
                    .copies = copies,
                    .draws = 3,
                    .draw = draws};
  side->workers = s2_workers_new(threads);
  must(s2_batch_create(&def, side->worlds, WORLDS, side->workers, &side->batch));
  side->result = (S2BatchResult){side->seen,  side->rewards,  side->terminated, side->truncated,
                                 side->final, side->unsolved, side->changes};
}

static void close_side(Side *side) {
  s2_batch_free(side->batch);
  s2_judge_free(side->judge);
  s2_workers_free(side->workers);
  for (int i = 0; i < WORLDS && side->worlds[i] != NULL; i++) {
    s2_world_destroy(side->worlds[i]);
  }
}

static void compare(Kind kind, int threads, S2AutoReset autoreset, int period) {
  Side copies, alone;
  open_side(&copies, kind, true, threads, autoreset);
  open_side(&alone, kind, false, 1, autoreset);
  S2Rng rng = s2_rng_seeded(5);
  double u[WORLDS], mask[WORLDS];
  int ended = 0, kept = 0;
  s2_batch_reset(copies.batch, NULL, NULL, copies.seen);
  s2_batch_reset(alone.batch, NULL, NULL, alone.seen);
  for (int k = 0; k < STEPS; k++) {
    for (int i = 0; i < WORLDS; i++) {
      u[i] = s2_rng_uniform(&rng) * 16 - 8;
      mask[i] = s2_rng_uniform(&rng) < 0.1;
    }
    must(s2_batch_step(copies.batch, u, period, &copies.result));
    must(s2_batch_step(alone.batch, u, period, &alone.result));
    assert_memory_equal(copies.seen, alone.seen, sizeof alone.seen);
    assert_memory_equal(copies.rewards, alone.rewards, sizeof alone.rewards);
    assert_memory_equal(copies.terminated, alone.terminated, sizeof alone.terminated);
    assert_memory_equal(copies.truncated, alone.truncated, sizeof alone.truncated);
    assert_memory_equal(copies.final, alone.final, sizeof alone.final);
    assert_memory_equal(copies.unsolved, alone.unsolved, sizeof alone.unsolved);
    assert_memory_equal(copies.changes, alone.changes, sizeof alone.changes);
    for (int i = 0; i < WORLDS; i++) {
      ended += copies.terminated[i] + copies.truncated[i] > 0;
      // Reading a copy must not change its future.
      const S2World *world;
      if (k % 10 == 0 && i % 4 == 0) {
        must(s2_batch_copy(copies.batch, i, &world));
        assert_true(s2_world_hash(world) == s2_world_hash(alone.worlds[i]));
        kept++;
      }
    }
    if (autoreset == S2_RESET_DISABLED) {
      s2_batch_reset(copies.batch, NULL, mask, copies.seen);
      s2_batch_reset(alone.batch, NULL, mask, alone.seen);
      assert_memory_equal(copies.seen, alone.seen, sizeof alone.seen);
    }
  }
  assert_true(ended > WORLDS && kept > 0);
  close_side(&copies);
  close_side(&alone);
}

static void test_copies_have_the_bits_of_worlds(void **state) {
  (void)state;
  for (Kind kind = HANGING; kind <= TOUCHING; kind++) {
    compare(kind, 1, S2_RESET_NEXT_STEP, 1);
    compare(kind, 3, S2_RESET_SAME_STEP, 4);
    compare(kind, 2, S2_RESET_DISABLED, 2);
  }
}

static void test_a_stage_takes_only_worlds_of_programs(void **state) {
  (void)state;
  S2World *world = build(HANGING);
  S2Stage *stage = s2_stage_new(world);
  if (stage == NULL) { // a processor without vectors of four numbers
    s2_world_destroy(world);
    skip();
  }
  // A copy takes less than a tenth of an image.
  assert_true(s2_copy_size(stage) * (int)sizeof(double) < (int)s2_world_image_size(world) / 10);
  s2_stage_free(stage);
  must(s2_body_apply_force(world, s2_world_body(world, 0), s2_vec2(1, 0), NULL));
  assert_null(s2_stage_new(world)); // a force for the next step
  s2_world_destroy(world);
  world = build(TOUCHING);
  assert_null(s2_stage_new(world));
  s2_world_destroy(world);
}

static void test_only_copies_can_be_read(void **state) {
  (void)state;
  Side side;
  open_side(&side, HANGING, false, 1, S2_RESET_NEXT_STEP);
  const S2World *world;
  S2Status status = s2_batch_copy(side.batch, 0, &world);
  assert_int_equal(status.code, S2_INVALID);
  assert_string_equal(status.message, "the worlds of this batch are not copies");
  close_side(&side);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_copies_have_the_bits_of_worlds),
      cmocka_unit_test(test_a_stage_takes_only_worlds_of_programs),
      cmocka_unit_test(test_only_copies_can_be_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
