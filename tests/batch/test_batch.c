// Batches and rollouts: worlds in a batch have the bits of worlds that are stepped alone, whichever
// thread steps them.
#include "worlds.h"

#include "base/memory.h"
#include "batch/batch.h"
#include "batch/rollout.h"
#include "dynamics/control/control.h"

enum { WORLDS = 24, STEPS = 150, BODIES = 4, CONTROLS = 3, OBSERVED = 5 };

static double range(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

// A floor, a cart on a rail with a pole, and a disc that is pushed: joints and contacts. Sizes,
// masses and materials are random, handles are not.
static S2World *build(uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  S2WorldDef def = s2_world_def();
  def.dt = 0.01;
  S2World *world;
  must(s2_world_create(&def, &world));
  add_box(world, rough(fixed_at(0, -1), range(&rng, 0, 1), range(&rng, 0, 0.9)), 20, 2);
  S2BodyId cart = add_box(world, at(0, 2), 0.4, 0.2);
  S2BodyId pole = add_box(world, at(0, 2.5), 0.05, range(&rng, 0.8, 1.2));
  S2BodyId disc = add_disc(
      world, rough(at(range(&rng, -2, -1), range(&rng, 0.3, 1.5)), 0.5, range(&rng, 0, 0.9)),
      range(&rng, 0.1, 0.3));
  S2JointDef rail = joint_def(S2_SLIDER, cart, no_body), hinge = hinge_def(pole, cart, 0, 2);
  rail.anchor_a = s2_vec2(0, 2);
  rail.axis = s2_vec2(1, 0);
  S2JointId on_rail, turns;
  must(s2_joint_create(world, &rail, &on_rail));
  must(s2_joint_create(world, &hinge, &turns));
  // Three commands, one of them delayed, and the observations.
  S2ActuatorDef push = s2_actuator_def();
  int index;
  push.name = "push";
  push.joint = on_rail;
  push.lo = -20;
  push.hi = 20;
  must(s2_actuator_create(world, &push, &index));
  S2ActuatorDef spin = s2_actuator_def();
  spin.name = "spin";
  spin.kind = S2_ACTUATOR_TORQUE;
  spin.body = disc;
  spin.delay = 0.025;
  must(s2_actuator_create(world, &spin, &index));
  S2ActuatorDef hold = s2_actuator_def();
  hold.name = "hold";
  hold.kind = S2_ACTUATOR_POSITION;
  hold.joint = turns;
  hold.kp = 2;
  hold.kd = 0.2;
  must(s2_actuator_create(world, &hold, &index));
  assert_int_equal(index, CONTROLS - 1);
  static const char *const swing[] = {"angle", "speed"}, *const place[] = {"x", "y", "omega"};
  S2ObservationDef see = {.name = "pole", .joint = turns, .fields = swing, .field_count = 2};
  must(s2_observation_create(world, &see, &index));
  see = (S2ObservationDef){
      .name = "disc", .body = disc, .fields = place, .field_count = 3, .noise = 0.01};
  must(s2_observation_create(world, &see, &index));
  assert_int_equal(s2_world_observation_size(world), OBSERVED);
  return world;
}

static S2BodyId disc_of(const S2World *world) {
  return s2_world_body(world, BODIES - 1);
}

static S2Reading body_reading(S2BodyId body, S2BodyField field) {
  return (S2Reading){.kind = S2_READ_BODY, .body = body, .field = (int)field};
}

static S2Reading joint_reading(S2JointId joint, S2JointField field) {
  return (S2Reading){.kind = S2_READ_JOINT, .joint = joint, .field = (int)field};
}

// Upright pole, disc in the middle, small commands; the episode ends when the disc is far away.
static S2Judge *judge_of(const S2World *world) {
  S2JointId hinge = s2_world_joint(world, 1);
  S2CostTerm terms[3] = {
      {.count = 2,
       .of = {joint_reading(hinge, S2_JOINT_ANGLE), joint_reading(hinge, S2_JOINT_SPEED)},
       .wrap = false,
       .weight = 1,
       .terminal = 3,
       .norm = S2_NORM_SMOOTH_ABS,
       .p = 0.1},
      {.count = 1,
       .of = {body_reading(disc_of(world), S2_BODY_X)},
       .goal = {0.5},
       .weight = 0.5,
       .norm = S2_NORM_QUADRATIC},
      {.count = 1,
       .of = {{.kind = S2_READ_CONTROL, .field = 0}},
       .weight = 0.01,
       .norm = S2_NORM_QUADRATIC}};
  S2Bound bound = {body_reading(disc_of(world), S2_BODY_X), -2.5, 0.5};
  S2Judge *judge;
  must(s2_judge_create(world, CONTROLS, 3, terms, 1, &bound, &judge));
  return judge;
}

static void random_commands(S2Rng *rng, double *u, int count) {
  for (int i = 0; i < count; i++) {
    u[i] = range(rng, -3, 3);
  }
}

// ---- Same bits --------------------------------------------------------------------------------

typedef struct Out {
  uint64_t hash[WORLDS];
  double observations[WORLDS * OBSERVED], rewards[WORLDS], returns[WORLDS], terminated[WORLDS],
      truncated[WORLDS], final[WORLDS * OBSERVED];
  int ended;
} Out;

static void run_batch(int threads, S2AutoReset autoreset, Out *out) {
  S2World *worlds[WORLDS];
  for (int i = 0; i < WORLDS; i++) {
    worlds[i] = build(100 + (uint64_t)i);
  }
  S2Workers *workers = s2_workers_new(threads);
  S2Judge *judge = judge_of(worlds[0]);
  S2Draw draws[2] = {
      {.of = joint_reading(s2_world_joint(worlds[0], 1), S2_JOINT_ANGLE), .a = -0.3, .b = 0.3},
      {.of = body_reading(disc_of(worlds[0]), S2_BODY_VX), .kind = S2_DRAW_NORMAL, .b = 1}};
  S2BatchDef def = {.autoreset = autoreset,
                    .max_steps = 40,
                    .seed = 7,
                    .judge = judge,
                    .draws = 2,
                    .draw = draws};
  S2Batch *batch;
  must(s2_batch_create(&def, worlds, WORLDS, workers, &batch));
  memset(out, 0, sizeof *out);
  s2_batch_reset(batch, NULL, NULL, out->observations);
  S2BatchResult result = {
      out->observations, out->rewards, out->terminated, out->truncated, out->final, NULL, NULL};
  S2Rng rng = s2_rng_seeded(3);
  double u[WORLDS * CONTROLS];
  for (int k = 0; k < STEPS; k++) {
    random_commands(&rng, u, WORLDS * CONTROLS);
    must(s2_batch_step(batch, u, 1 + k % 3, &result));
    assert_int_equal(s2_batch_failures(batch), 0);
    for (int i = 0; i < WORLDS; i++) {
      out->returns[i] += out->rewards[i];
      out->ended += out->terminated[i] != 0 || out->truncated[i] != 0;
    }
  }
  for (int i = 0; i < WORLDS; i++) {
    out->hash[i] = s2_world_hash(worlds[i]);
    s2_world_destroy(worlds[i]);
  }
  s2_batch_free(batch);
  s2_judge_free(judge);
  s2_workers_free(workers);
}

static void test_any_number_of_threads_gives_the_same_bits(void **state) {
  (void)state;
  static Out one, many;
  for (int mode = 0; mode < 3; mode++) {
    run_batch(1, (S2AutoReset)mode, &one);
    assert_true(one.ended > WORLDS); // episodes were reset
    for (int threads = 2; threads <= 5; threads += 3) {
      run_batch(threads, (S2AutoReset)mode, &many);
      assert_memory_equal(&one, &many, sizeof one);
    }
  }
}

// A world of a batch gives the bits of the same world stepped by hand.
static void test_neighbours_do_not_matter(void **state) {
  (void)state;
  S2World *worlds[WORLDS], *alone[WORLDS];
  for (int i = 0; i < WORLDS; i++) {
    worlds[i] = build((uint64_t)i);
    alone[i] = build((uint64_t)i);
  }
  S2Workers *workers = s2_workers_new(2);
  S2BatchDef def = {.autoreset = S2_RESET_DISABLED};
  S2Batch *batch;
  must(s2_batch_create(&def, worlds, WORLDS, workers, &batch));
  double u[WORLDS * CONTROLS], seen[WORLDS * OBSERVED], own[OBSERVED];
  double rewards[WORLDS], terminated[WORLDS], truncated[WORLDS];
  S2BatchResult result = {seen, rewards, terminated, truncated, NULL, NULL, NULL};
  S2Rng rng = s2_rng_seeded(5);
  for (int k = 0; k < STEPS; k++) {
    random_commands(&rng, u, WORLDS * CONTROLS);
    must(s2_batch_step(batch, u, 2, &result));
    for (int i = 0; i < WORLDS; i++) {
      must(s2_world_act(alone[i], u + CONTROLS * i, CONTROLS, NULL));
      steps(alone[i], 2);
      must(s2_world_observe(alone[i], own));
      assert_true(s2_world_hash(worlds[i]) == s2_world_hash(alone[i]));
      assert_memory_equal(own, seen + OBSERVED * i, sizeof own);
      assert_true(rewards[i] == 0 && terminated[i] == 0 && truncated[i] == 0);
    }
  }
  for (int i = 0; i < WORLDS; i++) {
    s2_world_destroy(worlds[i]);
    s2_world_destroy(alone[i]);
  }
  s2_batch_free(batch);
  s2_workers_free(workers);
}

// ---- Episodes ---------------------------------------------------------------------------------

typedef struct Small {
  S2World *worlds[2];
  S2Workers *workers;
  S2Judge *judge;
  S2Batch *batch;
  double seen[2 * OBSERVED], rewards[2], terminated[2], truncated[2], final[2 * OBSERVED];
  S2BatchResult result;
} Small;

static void small_open(Small *small, S2AutoReset autoreset, int64_t max_steps) {
  *small = (Small){.workers = s2_workers_new(2)};
  small->worlds[0] = build(1);
  small->worlds[1] = build(1);
  small->judge = judge_of(small->worlds[0]);
  S2BatchDef def = {.autoreset = autoreset, .max_steps = max_steps, .judge = small->judge};
  must(s2_batch_create(&def, small->worlds, 2, small->workers, &small->batch));
  small->result = (S2BatchResult){
      small->seen, small->rewards, small->terminated, small->truncated, small->final, NULL, NULL};
}

static void small_close(Small *small) {
  s2_batch_free(small->batch);
  s2_judge_free(small->judge);
  s2_workers_free(small->workers);
  s2_world_destroy(small->worlds[0]);
  s2_world_destroy(small->worlds[1]);
}

static void test_the_next_step_resets(void **state) {
  (void)state;
  Small small;
  small_open(&small, S2_RESET_NEXT_STEP, 3);
  uint64_t start = s2_world_hash(small.worlds[0]);
  for (int k = 0; k < 3; k++) {
    must(s2_batch_step(small.batch, NULL, 1, &small.result));
    assert_true(small.truncated[0] == (k == 2));
  }
  assert_true(s2_world_time(small.worlds[0]) > 0 && small.rewards[0] < 0);
  must(s2_batch_step(small.batch, NULL, 1, &small.result));
  assert_true(s2_world_hash(small.worlds[0]) == start);
  assert_true(small.rewards[0] == 0 && small.truncated[0] == 0 && small.terminated[0] == 0);
  must(s2_batch_step(small.batch, NULL, 1, &small.result));
  near(s2_world_time(small.worlds[0]), 0.01, 1e-15);
  small_close(&small);
}

static void test_the_same_step_resets_and_keeps_the_end(void **state) {
  (void)state;
  Small small;
  small_open(&small, S2_RESET_SAME_STEP, 0);
  uint64_t start = s2_world_hash(small.worlds[0]);
  double first[OBSERVED];
  must(s2_world_observe(small.worlds[0], first));
  // One of them is moved beyond the bound.
  must(s2_body_set(small.worlds[1], disc_of(small.worlds[1]), S2_BODY_X, 4));
  must(s2_batch_step(small.batch, NULL, 5, &small.result));
  assert_true(small.terminated[0] == 0 && small.terminated[1] == 1 && small.truncated[1] == 0);
  assert_true(s2_world_hash(small.worlds[1]) == start && s2_world_hash(small.worlds[0]) != start);
  assert_memory_equal(small.seen + OBSERVED, first, sizeof first);
  near(small.final[OBSERVED + 2], 4, 0.2); // x with noise
  near(s2_world_time(small.worlds[0]), 0.05, 1e-15);
  small_close(&small);
}

static void test_nothing_is_reset_where_that_is_disabled(void **state) {
  (void)state;
  Small small;
  small_open(&small, S2_RESET_DISABLED, 2);
  uint64_t start = s2_world_hash(small.worlds[0]);
  for (int k = 0; k < 4; k++) {
    must(s2_batch_step(small.batch, NULL, 1, &small.result));
    assert_true(small.truncated[0] == (k >= 1));
  }
  near(s2_world_time(small.worlds[0]), 0.04, 1e-15);
  const double mask[2] = {1, 0};
  s2_batch_reset(small.batch, NULL, mask, small.seen);
  assert_true(s2_world_hash(small.worlds[0]) == start && s2_world_hash(small.worlds[1]) != start);
  must(s2_batch_step(small.batch, NULL, 1, &small.result));
  assert_true(small.truncated[0] == 0 && small.truncated[1] == 1);
  small_close(&small);
}

static void test_one_that_fails_stops_no_other(void **state) {
  (void)state;
  Small small;
  small_open(&small, S2_RESET_NEXT_STEP, 0);
  must(s2_body_destroy(small.worlds[0], disc_of(small.worlds[0])));
  const double u[2 * CONTROLS] = {1, 1, 0, 1, 1, 0};
  must(s2_batch_step(small.batch, u, 2, &small.result));
  S2Status why;
  assert_int_equal(s2_batch_failures(small.batch), 1);
  assert_int_equal(s2_batch_failed(small.batch, 0, &why), 0);
  assert_string_equal(why.message, "actuator 'spin': its joint or body is destroyed");
  assert_int_equal(s2_batch_failed(small.batch, 1, &why), -1);
  assert_true(isnan(small.rewards[0]) && small.truncated[0] == 1 && small.truncated[1] == 0);
  near(s2_world_time(small.worlds[1]), 0.02, 1e-15);
  assert_true(s2_world_time(small.worlds[0]) == 0);
  // Its reset returns the disc to its start.
  must(s2_batch_step(small.batch, u, 1, &small.result));
  must(s2_batch_step(small.batch, u, 1, &small.result));
  assert_int_equal(s2_batch_failures(small.batch), 0);
  near(s2_world_time(small.worlds[0]), 0.01, 1e-15);
  small_close(&small);
}

static void test_a_place_and_images_bring_a_batch_back(void **state) {
  (void)state;
  Small small;
  small_open(&small, S2_RESET_NEXT_STEP, 5);
  must(s2_batch_step(small.batch, NULL, 1, &small.result));
  size_t size = s2_world_image_size(small.worlds[0]);
  void *image = malloc(size);
  s2_world_image_write(small.worlds[0], image);
  S2BatchPlace place = s2_batch_place(small.batch, 0);
  assert_int_equal(place.steps, 1);
  uint64_t hash[2];
  for (int twice = 0; twice < 2; twice++) {
    must(s2_world_image_read(small.worlds[0], image, size));
    s2_batch_set_place(small.batch, 0, &place);
    for (int k = 0; k < 9; k++) {
      must(s2_batch_step(small.batch, NULL, 1, &small.result));
    }
    hash[twice] = s2_world_hash(small.worlds[0]);
  }
  assert_true(hash[0] == hash[1]);
  free(image);
  small_close(&small);
}

static void test_steps_take_no_memory(void **state) {
  (void)state;
  Small small;
  small_open(&small, S2_RESET_SAME_STEP, 50);
  const double u[2 * CONTROLS] = {1, 0.1, 0, -1, 0.1, 0};
  for (int k = 0; k < 120; k++) {
    must(s2_batch_step(small.batch, u, 1, &small.result));
  }
  s2_workers_free(small.workers); // alone: counts are per thread
  small.workers = s2_workers_new(1);
  S2BatchDef def = {.autoreset = S2_RESET_SAME_STEP, .max_steps = 50, .judge = small.judge};
  s2_batch_free(small.batch);
  must(s2_batch_create(&def, small.worlds, 2, small.workers, &small.batch));
  for (int k = 0; k < 120; k++) {
    must(s2_batch_step(small.batch, u, 1, &small.result));
  }
  uint64_t before = s2_memory_count();
  for (int k = 0; k < 200; k++) {
    must(s2_batch_step(small.batch, u, 1, &small.result));
  }
  assert_true(s2_memory_count() == before);
  small_close(&small);
}

// ---- Bad input --------------------------------------------------------------------------------

static void expect(S2Status status, const char *message) {
  assert_int_equal(status.code, S2_INVALID);
  assert_string_equal(status.message, message);
}

// ---- Periods ----------------------------------------------------------------------------------

enum { PERIOD = 3, LONGEST = 20 };

// A cost of the program, the number of the world, in addition to that of the judge.
static S2Status pay(void *user, int world, const double *commands, double *reward,
                    bool *terminated) {
  (void)user;
  (void)commands;
  (void)terminated;
  *reward += world;
  return s2_ok();
}

static unsigned judges(void *user, int world) {
  (void)user;
  return world % 2 == 0 ? S2_OWN_JUDGE : 0;
}

// Clipped commands, all steps, and the final cost: the same numbers as computed by hand.
static void test_a_period_is_judged_at_its_end(void **state) {
  (void)state;
  S2World *worlds[WORLDS], *alone[WORLDS];
  for (int i = 0; i < WORLDS; i++) {
    worlds[i] = build((uint64_t)i);
    alone[i] = build((uint64_t)i);
  }
  S2Judge *judge = judge_of(worlds[0]);
  S2Workers *workers = s2_workers_new(3);
  S2BatchDef def = {.autoreset = S2_RESET_DISABLED,
                    .worth = S2_WORTH_PERIODS,
                    .constant = 2,
                    .max_steps = LONGEST,
                    .judge = judge,
                    .program = {.own = judges, .judge = pay}};
  S2Batch *batch;
  must(s2_batch_create(&def, worlds, WORLDS, workers, &batch));
  double u[WORLDS * CONTROLS], seen[WORLDS * OBSERVED];
  double rewards[WORLDS], terminated[WORLDS], truncated[WORLDS];
  S2BatchResult result = {seen, rewards, terminated, truncated, NULL, NULL, NULL};
  S2Rng rng = s2_rng_seeded(5);
  int ended = 0;
  for (int k = 1; k <= LONGEST; k++) {
    random_commands(&rng, u, WORLDS * CONTROLS);
    u[0] = INFINITY; // clipped to the 20 of the actuator
    must(s2_batch_step(batch, u, PERIOD, &result));
    assert_int_equal(s2_batch_failures(batch), 0);
    u[0] = 20;
    for (int i = 0; i < WORLDS; i++) {
      double reward, last;
      bool over;
      must(s2_world_act(alone[i], u + CONTROLS * i, CONTROLS, NULL));
      steps(alone[i], PERIOD);
      must(s2_judge_reward(judge, alone[i], u + CONTROLS * i, 2, &reward));
      must(s2_judge_ended(judge, alone[i], u + CONTROLS * i, &over));
      must(s2_judge_terminal(judge, alone[i], u + CONTROLS * i, &last));
      reward += i % 2 == 0 ? i : 0;
      reward -= over || k == LONGEST ? last : 0;
      assert_true(s2_world_hash(worlds[i]) == s2_world_hash(alone[i]));
      assert_true(rewards[i] == reward && terminated[i] == (over ? 1 : 0));
      assert_true(truncated[i] == (k == LONGEST && !over ? 1 : 0));
      ended += over;
    }
  }
  assert_in_range(ended, 1, WORLDS * LONGEST - 1);
  // A command that is nan fails its own world only.
  u[CONTROLS] = NAN;
  must(s2_batch_step(batch, u, 1, &result));
  S2Status why;
  assert_int_equal(s2_batch_failures(batch), 1);
  assert_int_equal(s2_batch_failed(batch, 0, &why), 1);
  for (int i = 0; i < WORLDS; i++) {
    s2_world_destroy(worlds[i]);
    s2_world_destroy(alone[i]);
  }
  s2_batch_free(batch);
  s2_judge_free(judge);
  s2_workers_free(workers);
}

// A world of the batch is replaced by another one, with its own random draws; a reset returns it to
// its start.
static void test_a_world_can_be_replaced(void **state) {
  (void)state;
  S2World *worlds[2] = {build(1), build(2)}, *other = build(3);
  S2Workers *workers = s2_workers_new(1);
  S2BatchDef def = {.autoreset = S2_RESET_SAME_STEP, .worth = S2_WORTH_PERIODS, .max_steps = 1};
  S2Batch *batch;
  must(s2_batch_create(&def, worlds, 2, workers, &batch));
  S2Draw draw = {.of = body_reading(disc_of(other), S2_BODY_VX), .a = 2, .b = 3};
  uint64_t before = s2_world_hash(other);
  s2_batch_set_world(batch, 1, other, NULL, 1, &draw);
  double seen[2 * OBSERVED], rewards[2], terminated[2], truncated[2], speed;
  S2BatchResult result = {seen, rewards, terminated, truncated, NULL, NULL, NULL};
  must(s2_batch_step(batch, NULL, 5, &result));
  assert_true(truncated[1] == 1 && s2_world_time(other) == 0);
  must(s2_body_get(other, disc_of(other), S2_BODY_VX, &speed));
  assert_true(speed >= 2 && speed <= 3);
  assert_true(s2_batch_unchanged(batch, 1));
  must(s2_batch_rewind(batch, 1));
  assert_true(s2_world_hash(other) == before && s2_batch_unchanged(batch, 1));
  // A reset keeps the prepared data of steps, except where more than the motion has changed.
  uint64_t changes = s2_world_changes(other);
  must(s2_batch_rewind(batch, 1));
  assert_true(s2_world_changes(other) == changes);
  must(s2_body_set(other, disc_of(other), S2_BODY_MASS, 7));
  assert_false(s2_batch_unchanged(batch, 1));
  s2_batch_free(batch);
  s2_workers_free(workers);
  s2_world_destroy(worlds[0]);
  s2_world_destroy(worlds[1]);
  s2_world_destroy(other);
}

// A world with observations that the script added fails with a message and writes nothing.
static void test_a_world_that_observes_more_fails(void **state) {
  (void)state;
  Small small;
  small_open(&small, S2_RESET_DISABLED, 0);
  static const char *const speed[] = {"vx"};
  S2ObservationDef see = {
      .name = "more", .body = disc_of(small.worlds[1]), .fields = speed, .field_count = 1};
  int index;
  must(s2_observation_create(small.worlds[1], &see, &index));
  s2_batch_observe(small.batch, small.seen);
  S2Status why;
  assert_int_equal(s2_batch_failed(small.batch, 0, &why), 1);
  expect(why, "it observes 6 numbers, not 5");
  small_close(&small);
}

static void test_worlds_have_to_be_alike(void **state) {
  (void)state;
  S2World *worlds[3] = {build(1), build(2), build(3)};
  S2Workers *workers = s2_workers_new(1);
  S2BatchDef def = {0};
  S2Batch *batch;
  expect(s2_batch_create(&def, worlds, 0, workers, &batch), "1 world or more expected, got 0");
  S2BodyId more = add_disc(worlds[2], at(5, 5), 0.1);
  expect(s2_batch_create(&def, worlds, 3, workers, &batch),
         "world 3 differs from world 1: it has 5 bodies, not 4");
  must(s2_body_destroy(worlds[2], more));
  must(s2_batch_create(&def, worlds, 3, workers, &batch));
  s2_batch_free(batch);
  must(s2_body_destroy(worlds[2], disc_of(worlds[2])));
  more = add_disc(worlds[2], at(5, 5), 0.1);
  expect(s2_batch_create(&def, worlds, 3, workers, &batch),
         "world 3 differs from world 1: bodies were created or destroyed in a different order, "
         "from body 4 on");
  must(s2_joint_destroy(worlds[1], s2_world_joint(worlds[1], 1)));
  expect(s2_batch_create(&def, worlds, 3, workers, &batch),
         "world 2 differs from world 1: it has 1 joints, not 2");
  for (int i = 0; i < 3; i++) {
    s2_world_destroy(worlds[i]);
  }
  s2_workers_free(workers);
}

static void test_commands_have_to_be_finite(void **state) {
  (void)state;
  Small small;
  small_open(&small, S2_RESET_NEXT_STEP, 0);
  double u[2 * CONTROLS] = {0, 0, 0, 0, NAN, 0};
  uint64_t hash = s2_world_hash(small.worlds[0]);
  expect(s2_batch_step(small.batch, u, 1, &small.result),
         "world 2, command 2: a finite number expected, got nan");
  expect(s2_batch_step(small.batch, NULL, 0, &small.result), "1 step or more expected, got 0");
  assert_true(s2_world_hash(small.worlds[0]) == hash);
  small_close(&small);
}

static void test_draws_have_to_be_possible(void **state) {
  (void)state;
  S2World *world = build(1);
  S2Workers *workers = s2_workers_new(1);
  S2Batch *batch;
  S2Draw draw = {.of = body_reading(disc_of(world), S2_BODY_MASS), .a = -2, .b = -1};
  S2BatchDef def = {.draws = 1, .draw = &draw};
  S2Status status = s2_batch_create(&def, &world, 1, workers, &batch);
  assert_int_equal(status.code, S2_INVALID);
  draw.a = 3;
  expect(s2_batch_create(&def, &world, 1, workers, &batch),
         "draw 1: lo <= hi expected, got 3 and -1");
  s2_world_destroy(world);
  s2_workers_free(workers);
}

// ---- Rollouts ---------------------------------------------------------------------------------

enum { SAMPLES = 12, KNOTS = 10, HOLD = 2, LENGTH = KNOTS * CONTROLS };

static void test_rollouts_are_the_world_stepped_by_hand(void **state) {
  (void)state;
  S2World *world = build(9);
  must(
      // one command is delayed
      s2_world_act(world, (const double[CONTROLS]){2, 1, 0.5}, CONTROLS, NULL));
  steps(world, 1);
  S2Judge *judge = judge_of(world);
  S2Rng rng = s2_rng_seeded(2);
  double u[SAMPLES * LENGTH], costs[2][SAMPLES], gradient[2][SAMPLES * LENGTH];
  int size = s2_world_state_size(world);
  double *states[2];
  random_commands(&rng, u, SAMPLES * LENGTH);
  uint64_t hash = s2_world_hash(world);
  for (int t = 0; t < 2; t++) {
    states[t] = malloc(sizeof(double) * (size_t)(SAMPLES * KNOTS * size));
    S2Workers *workers = s2_workers_new(1 + 2 * t);
    S2Rollout rollout = {SAMPLES, KNOTS, HOLD, u, judge, costs[t], states[t], gradient[t]};
    int failed = -1;
    must(s2_rollout(workers, world, &rollout, &failed, NULL));
    assert_int_equal(failed, 0);
    s2_workers_free(workers);
  }
  assert_true(s2_world_hash(world) == hash);
  assert_memory_equal(costs[0], costs[1], sizeof costs[0]);
  assert_memory_equal(gradient[0], gradient[1], sizeof gradient[0]);
  assert_memory_equal(states[0], states[1], sizeof(double) * (size_t)(SAMPLES * KNOTS * size));
  // The same rollouts by hand.
  for (int i = 0; i < SAMPLES; i++) {
    S2World *copy;
    must(s2_world_clone(world, &copy));
    double sum = 0, cost, *now = malloc(sizeof(double) * (size_t)size);
    for (int k = 0; k < KNOTS; k++) {
      const double *command = u + i * LENGTH + k * CONTROLS;
      must(s2_world_act(copy, command, CONTROLS, NULL));
      for (int s = 0; s < HOLD; s++) {
        double before = s2_world_time(copy);
        steps(copy, 1);
        must(s2_judge_running(judge, copy, command, &cost));
        sum += (s2_world_time(copy) - before) * cost;
      }
      s2_world_state(copy, now);
      assert_memory_equal(now, states[0] + (i * KNOTS + k) * size, sizeof(double) * (size_t)size);
    }
    must(s2_judge_terminal(judge, copy, u + (i + 1) * LENGTH - CONTROLS, &cost));
    assert_true(sum + cost == costs[0][i]);
    free(now);
    s2_world_destroy(copy);
  }
  free(states[0]);
  free(states[1]);
  s2_judge_free(judge);
  s2_world_destroy(world);
}

static void test_gradients_of_rollouts_are_those_of_differences(void **state) {
  (void)state;
  S2World *world = build(4);
  // Avoid impacts, because steps of fixed length do not split at them.
  must(s2_body_set(world, disc_of(world), S2_BODY_Y, 3));
  S2Judge *judge = judge_of(world);
  S2Workers *workers = s2_workers_new(2);
  S2Rng rng = s2_rng_seeded(2);
  double u[LENGTH], gradient[LENGTH], cost;
  random_commands(&rng, u, LENGTH);
  S2Rollout rollout = {1, KNOTS, HOLD, u, judge, &cost, NULL, gradient};
  must(s2_rollout(workers, world, &rollout, NULL, NULL));
  rollout.gradient = NULL;
  const double h = 1e-4; // central differences: an error of h^2, rounding of 1e-12 / h
  for (int i = 0; i < LENGTH; i++) {
    double was = u[i], side[2];
    for (int k = 0; k < 2; k++) {
      u[i] = was + (k == 0 ? h : -h);
      must(s2_rollout(workers, world, &rollout, NULL, NULL));
      side[k] = cost;
    }
    u[i] = was;
    near(gradient[i], (side[0] - side[1]) / (2 * h), 1e-7);
  }
  s2_workers_free(workers);
  s2_judge_free(judge);
  s2_world_destroy(world);
}

static void test_a_sequence_that_fails_costs_infinitely(void **state) {
  (void)state;
  S2World *world = build(4);
  S2Judge *judge = judge_of(world);
  must(s2_body_destroy(world, disc_of(world)));
  S2Workers *workers = s2_workers_new(2);
  double u[2 * CONTROLS] = {0}, costs[2], gradient[2 * CONTROLS];
  S2Rollout rollout = {2, 1, 1, u, judge, costs, NULL, gradient};
  int failed;
  S2Status why;
  must(s2_rollout(workers, world, &rollout, &failed, &why));
  assert_int_equal(failed, 2);
  assert_string_equal(why.message, "sequence 1: actuator 'spin': its joint or body is destroyed");
  assert_true(isinf(costs[0]) && isinf(costs[1]) && isnan(gradient[0]));
  u[CONTROLS + 1] = INFINITY;
  expect(s2_rollout(workers, world, &rollout, &failed, &why),
         "sequence 2, knot 1, control 2: a finite number expected, got inf");
  rollout.hold = 0;
  expect(s2_rollout(workers, world, &rollout, &failed, &why),
         "1 or more sequences, knots and steps expected, got 2, 1 and 0");
  s2_workers_free(workers);
  s2_judge_free(judge);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_any_number_of_threads_gives_the_same_bits),
      cmocka_unit_test(test_neighbours_do_not_matter),
      cmocka_unit_test(test_the_next_step_resets),
      cmocka_unit_test(test_the_same_step_resets_and_keeps_the_end),
      cmocka_unit_test(test_nothing_is_reset_where_that_is_disabled),
      cmocka_unit_test(test_one_that_fails_stops_no_other),
      cmocka_unit_test(test_a_place_and_images_bring_a_batch_back),
      cmocka_unit_test(test_steps_take_no_memory),
      cmocka_unit_test(test_a_period_is_judged_at_its_end),
      cmocka_unit_test(test_a_world_can_be_replaced),
      cmocka_unit_test(test_a_world_that_observes_more_fails),
      cmocka_unit_test(test_worlds_have_to_be_alike),
      cmocka_unit_test(test_commands_have_to_be_finite),
      cmocka_unit_test(test_draws_have_to_be_possible),
      cmocka_unit_test(test_rollouts_are_the_world_stepped_by_hand),
      cmocka_unit_test(test_gradients_of_rollouts_are_those_of_differences),
      cmocka_unit_test(test_a_sequence_that_fails_costs_infinitely),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
