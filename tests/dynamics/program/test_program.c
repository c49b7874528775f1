// Worlds stepped by programs have the bits of the general path.
#include "programs.h"

enum { WORLDS = 150, STEPS = 200 };

// Random trees, chains and loops, on ground that is at rest or moves, or on nothing, with external
// forces. At least the fraction `part` of the steps must be taken by programs.
static void run_random_worlds(S2FlowRule flow, bool floor, double part) {
  int by_program = 0, count = 0;
  for (uint64_t seed = 1; seed <= (floor ? WORLDS / 2 : WORLDS); seed++) {
    Recipe recipe = {.shape = seed, .numbers = seed, .flow = flow, .floor = floor};
    S2World *plain = recipe_world(recipe), *fast = recipe_world(recipe);
    char where[64];
    snprintf(where, sizeof where, "world %d", (int)seed);
    s2_world_set_lanes(plain, 0);
    for (int i = 0; i < STEPS; i++) {
      recipe_push(plain, seed, i);
      recipe_push(fast, seed, i);
      must(s2_world_step(plain));
      s2_arena_reset(&fast->arena);
      must(s2_world_step(fast));
      by_program += fast->arena.used == 0; // the memory that the general path uses
      count += 1;
      assert_same_world(plain, fast, where);
    }
    // Programs take no speculative steps of worlds in which bodies may collide.
    bool searches = floor && s2_world_settings(fast)->stepping == S2_SPECULATIVE;
    assert_true(has_program(fast) != searches);
    assert_false(has_program(plain));
    s2_world_destroy(plain);
    s2_world_destroy(fast);
  }
  assert_true(by_program > part * count);
}

static void test_random_worlds(void **state) {
  (void)state;
  run_random_worlds(S2_FLOW_PROJECTED, false, 0.8);
}

// The same by the two stages; the general path takes steps in which bodies turn too far.
static void test_random_stages(void **state) {
  (void)state;
  run_random_worlds(S2_FLOW_RATTLE, false, 0.6);
}

// The same above a floor, which bodies reach in many worlds. The general path takes the steps in
// which bodies are near each other or the floor.
static void test_above_a_floor(void **state) {
  (void)state;
  run_random_worlds(S2_FLOW_RATTLE, true, 0.1);
}

// A pole on a cart on a rail.
typedef struct Cart {
  S2World *world;
  S2BodyId cart, pole;
  S2JointId rail, pivot;
} Cart;

static Cart cart_new(int lanes) {
  Cart made;
  S2WorldDef def = s2_world_def();
  must(s2_world_create(&def, &made.world));
  S2BodyDef body = at(0, 0);
  body.mass = 1;
  made.cart = add_box(made.world, body, 0.5, 0.3);
  body = at(0.2, 0.5);
  body.angle = -0.4;
  body.mass = 0.1;
  made.pole = add_box(made.world, body, 0.1, 1);
  S2JointDef rail = joint_def(S2_SLIDER, made.cart, no_body);
  rail.axis = s2_vec2(1, 0);
  rail.anchor_a = s2_vec2(0, 0);
  must(s2_joint_create(made.world, &rail, &made.rail));
  S2JointDef pivot = hinge_def(made.pole, made.cart, 0, 0);
  must(s2_joint_create(made.world, &pivot, &made.pivot));
  s2_world_set_lanes(made.world, lanes);
  return made;
}

// Did the program take the step of the world?
static bool step_by_program(S2World *world) {
  s2_arena_reset(&world->arena);
  must(s2_world_step(world));
  return world->arena.used == 0; // the memory that the general path uses
}

static void step_both(const Cart *plain, const Cart *fast, int count, const char *where) {
  for (int i = 0; i < count; i++) {
    must(s2_world_step(plain->world));
    must(s2_world_step(fast->world));
    assert_same_world(plain->world, fast->world, where);
  }
}

typedef void Change(const Cart *cart);

static void add_a_body(const Cart *cart) {
  S2BodyId id = add_box(cart->world, at(1, 1), 0.2, 0.2);
  S2JointDef def = hinge_def(id, cart->pole, 1, 1);
  S2JointId joint;
  must(s2_joint_create(cart->world, &def, &joint));
  must(s2_world_no_contact(cart->world, id, cart->cart, true));
}
static void destroy_a_joint(const Cart *cart) {
  must(s2_joint_destroy(cart->world, cart->rail));
}
static void destroy_a_body(const Cart *cart) {
  must(s2_body_destroy(cart->world, cart->pole));
}
static void weigh_more(const Cart *cart) {
  must(s2_body_set(cart->world, cart->pole, S2_BODY_MASS, 3));
}
static void fall_faster(const Cart *cart) {
  must(s2_body_set(cart->world, cart->pole, S2_BODY_GRAVITY_SCALE, 2));
}
static void damp(const Cart *cart) {
  must(s2_body_set(cart->world, cart->pole, S2_BODY_ANGULAR_DAMPING, 2));
}
static void limit(const Cart *cart) {
  must(s2_joint_set_limits(cart->world, cart->pivot, -0.1, 0.1));
}
static void drive(const Cart *cart) {
  must(s2_joint_set(cart->world, cart->pivot, S2_JOINT_MOTOR_MAX, 2));
  must(s2_joint_set(cart->world, cart->pivot, S2_JOINT_MOTOR_SPEED, 2));
}
static void disable_a_joint(const Cart *cart) {
  must(s2_joint_set(cart->world, cart->rail, S2_JOINT_ENABLED, 0));
}
static void disable_a_body(const Cart *cart) {
  must(s2_body_set(cart->world, cart->cart, S2_BODY_ENABLED, 0));
}
static void hold_a_body(const Cart *cart) {
  must(s2_body_set(cart->world, cart->cart, S2_BODY_TYPE, S2_KINEMATIC));
  must(s2_body_set_v(cart->world, cart->cart, (const double[3]){0.3, 1, 0}));
}
static void place(const Cart *cart) { // as resets do: with joint errors, which are then projected
  must(s2_body_set_q(cart->world, cart->pole, (const double[3]){0.1, 0, 0.5}));
}
static void push(const Cart *cart) {
  must(s2_body_apply_impulse(cart->world, cart->pole, s2_vec2(0.1, 0), NULL));
}
static void step_longer(const Cart *cart) {
  S2WorldDef def = *s2_world_settings(cart->world);
  def.dt = 1.0 / 50;
  def.gravity = s2_vec2(1, -3);
  must(s2_world_configure(cart->world, &def));
}
static void be_frank(const Cart *cart) { // a setting that programs do not support
  S2WorldDef def = *s2_world_settings(cart->world);
  def.alpha = def.beta = 0.5;
  must(s2_world_configure(cart->world, &def));
}
static void take_a_floor(const Cart *cart) { // onto which the pole falls
  add_box(cart->world, fixed_at(0, -1.2), 10, 2);
}
// Its own image: the program is kept if only the motion has changed since.
static void go_back(const Cart *cart) {
  size_t size = s2_world_image_size(cart->world);
  void *image = malloc(size);
  s2_world_image_write(cart->world, image);
  uint64_t changes = cart->world->changes;
  steps(cart->world, 10);
  bool had = has_program(cart->world);
  must(s2_world_image_return(cart->world, image, size, changes));
  assert_true(has_program(cart->world) == had);
  steps(cart->world, 3);
  must(s2_joint_set(cart->world, cart->rail, S2_JOINT_FRICTION, 0.1));
  steps(cart->world, 3);
  must(s2_world_image_return(cart->world, image, size, changes));
  assert_false(has_program(cart->world));
  free(image);
}
static void restore(const Cart *cart) {
  size_t size = s2_world_image_size(cart->world);
  void *image = malloc(size);
  s2_world_image_write(cart->world, image);
  steps(cart->world, 10);
  must(s2_world_image_read(cart->world, image, size));
  assert_false(has_program(cart->world));
  free(image);
}

static const struct {
  const char *name;
  Change *change;
  bool program; // is there a program afterwards?
} changes[] = {
    {"a body more", add_a_body, true},
    {"a joint less", destroy_a_joint, true},
    {"a body less", destroy_a_body, true},
    {"another mass", weigh_more, true},
    {"another gravity scale", fall_faster, true},
    {"damping", damp, false},
    {"limits", limit, false},
    {"a motor", drive, false},
    {"a joint that is off", disable_a_joint, true},
    {"a body that is off", disable_a_body, true}, // this also disables both joints
    {"a body that is held", hold_a_body, true},
    {"a body placed", place, true},
    {"a body pushed", push, true},
    {"steps of another length", step_longer, true},
    {"steps of another way", be_frank, false},
    {"a floor", take_a_floor, true},
    {"a snapshot restored", restore, true},
    {"a way back", go_back, true},
};

// After any change between steps they have the bits of the general path.
static void test_changes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    Cart plain = cart_new(0), fast = cart_new(8);
    step_both(&plain, &fast, 20, changes[i].name);
    assert_true(has_program(fast.world));
    changes[i].change(&plain);
    changes[i].change(&fast);
    step_both(&plain, &fast, 100, changes[i].name);
    if (has_program(fast.world) != changes[i].program) {
      fail_msg("%s: a program: %d", changes[i].name, !changes[i].program);
    }
    s2_world_destroy(plain.world);
    s2_world_destroy(fast.world);
  }
}

// In a world that is not changed, the program takes all steps except the first, and they use no
// memory.
static void test_which_steps(void **state) {
  (void)state;
  Cart cart = cart_new(1);
  assert_false(step_by_program(cart.world));
  assert_false(step_by_program(cart.world)); // this step makes the program
  uint64_t taken = s2_memory_count();
  for (int i = 0; i < 50; i++) {
    assert_true(step_by_program(cart.world));
  }
  assert_int_equal(s2_memory_count(), taken);
  // The pole has a joint error, so the general path takes one step, and the program the next.
  place(&cart);
  assert_false(step_by_program(cart.world));
  steps(cart.world, 2);
  assert_true(step_by_program(cart.world));
  s2_world_destroy(cart.world);
}

static bool no_more(void *user) {
  int *left = user;
  return (*left)-- > 0;
}

// An aborted step leaves no trace.
static void test_stopped(void **state) {
  (void)state;
  Cart cart = cart_new(1);
  steps(cart.world, 5);
  int left = 3;
  s2_world_set_callbacks(cart.world, &(S2Callbacks){.user = &left, .proceed = no_more});
  steps(cart.world, 3);
  uint64_t hash = s2_world_hash(cart.world);
  S2Status status = s2_world_step(cart.world);
  assert_int_equal(status.code, S2_ABORTED);
  assert_string_equal(status.message, "the step was stopped by a callback");
  assert_true(s2_world_hash(cart.world) == hash);
  s2_world_set_callbacks(cart.world, NULL);
  steps(cart.world, 5);
  assert_true(has_program(cart.world));
  s2_world_destroy(cart.world);
}

// A step with a result that is not finite is refused, by both flows, with a program and without.
static void test_not_finite(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    S2World *world = recipe_world((Recipe){
        .shape = 2, .numbers = 2, .flow = i % 2 == 0 ? S2_FLOW_PROJECTED : S2_FLOW_RATTLE});
    s2_world_set_lanes(world, i / 2);
    steps(world, 5);
    assert_true(has_program(world) == (i / 2 == 1));
    uint64_t hash = s2_world_hash(world);
    must(s2_body_apply_force(world, s2_world_body(world, 1), s2_vec2(1e308, 0), NULL));
    must(s2_body_apply_force(world, s2_world_body(world, 1), s2_vec2(1e308, 0), NULL));
    S2Status status = s2_world_step(world);
    assert_int_equal(status.code, S2_INVALID);
    assert_non_null(strstr(status.message, "is not finite in step"));
    assert_true(s2_world_hash(world) == hash);
    s2_world_destroy(world);
  }
}

// Statistics of steps: of a cart-pole that swings, alone and with another body in free fall.
static void test_statistics(void **state) {
  (void)state;
  Cart cart = cart_new(1);
  S2BodyDef def = at(0, 5);
  def.mask = 0;
  S2BodyId ball = add_disc(cart.world, def, 0.1);
  steps(cart.world, 120);
  assert_true(has_program(cart.world));
  const S2WorldStats *stats = s2_world_stats(cart.world);
  assert_int_equal(stats->steps, 120);
  assert_int_equal(stats->solves, 2 * 120); // a solve for each of the two stages
  assert_int_equal(stats->islands, 1);
  assert_int_equal(stats->projections, 0); // both stages hold the joints
  assert_true(s2_world_residuals(cart.world).solve.scaled < 1e-12);
  assert_true(s2_world_residuals(cart.world).joint_error < 1e-10);
  // After 1 s it has fallen by g/2; the rail carries both weights except for the part of the pole's
  // acceleration.
  assert_true(fabs(get(cart.world, ball, S2_BODY_Y) - (5 - 9.81 / 2)) < 1e-9);
  double force;
  must(s2_joint_get(cart.world, cart.rail, S2_JOINT_FORCE, &force));
  assert_true(force > 0.9 * 9.81 && force < 2 * 9.81);
  int events;
  (void)s2_world_events(cart.world, &events);
  assert_int_equal(events, 0);
  s2_world_destroy(cart.world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_worlds), cmocka_unit_test(test_random_stages),
      cmocka_unit_test(test_changes),       cmocka_unit_test(test_which_steps),
      cmocka_unit_test(test_stopped),       cmocka_unit_test(test_not_finite),
      cmocka_unit_test(test_statistics),    cmocka_unit_test(test_above_a_floor),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
