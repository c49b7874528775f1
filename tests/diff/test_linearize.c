// A step as a linear map, compared with differences of steps, in maximal and in reduced
// coordinates.
#include "worlds.h"

#include "diff/linear/reduce.h"
#include "diff/world/world_gradient.h"
#include "dynamics/world/world.h"

static S2World *exact_world(void) {
  S2World *world = world_new(-9.8, 1.0 / 100);
  S2WorldDef def = *s2_world_settings(world);
  def.tolerance = 1e-13;
  must(s2_world_configure(world, &def));
  return world;
}

static S2BodyDef moving(double x, double y, double omega, double vx, double vy) {
  S2BodyDef def = at(x, y);
  def.angular_velocity = omega;
  def.velocity = s2_vec2(vx, vy);
  return def;
}

// ---- Maximal ----------------------------------------------------------------------------------

enum { MOST = 64 };

static void after(const S2World *start, const double *state, const S2Input *input, double u,
                  double *out) {
  S2World *world;
  must(s2_world_clone(start, &world));
  // As s2_world_set_state, but keeps the warm start.
  const double *from = state;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    if (world->bodies.at[slot].type == S2_DYNAMIC) {
      memcpy(world->q.at + 3 * slot, from, 3 * sizeof(double));
      memcpy(world->v.at + 3 * slot, from + 3, 3 * sizeof(double));
      from += 6;
    }
  }
  world->boxes_stale = true;
  if (input != NULL && input->kind == S2_INPUT_FORCE) {
    must(s2_body_apply_torque(world, input->body, u * input->amount[0]));
    must(s2_body_apply_force(world, input->body,
                             s2_vec2(u * input->amount[1], u * input->amount[2]), NULL));
  } else if (input != NULL) {
    double speed;
    must(s2_joint_get(world, input->joint, S2_JOINT_MOTOR_SPEED, &speed));
    must(s2_joint_set(world, input->joint, S2_JOINT_MOTOR_SPEED, speed + u * input->amount[0]));
  }
  must(s2_world_step(world));
  s2_world_state(world, out);
  s2_world_destroy(world);
}

// d(state after)/d(one number) by extrapolated central differences.
static void slope(const S2World *start, const double *state, int of, const S2Input *input,
                  double *out) {
  double size = 1e-3, value[4][MOST], moved[MOST];
  int n = s2_world_state_size(start);
  for (int k = 0; k < 4; k++) {
    double step = size * (k % 2 == 0 ? 1 : -1) / (1 + k / 2);
    memcpy(moved, state, sizeof(double) * (size_t)n);
    if (of >= 0) {
      moved[of] += step;
    }
    after(start, moved, input, of >= 0 ? 0 : step, value[k]);
  }
  for (int i = 0; i < n; i++) {
    double wide = (value[0][i] - value[1][i]) / (2 * size),
           narrow = (value[2][i] - value[3][i]) / size;
    out[i] = narrow + (narrow - wide) / 3;
  }
}

static void check(const S2World *start, const S2Input *inputs, int count) {
  S2World *world;
  S2Arena arena;
  S2Linear linear;
  double state[MOST], column[MOST];
  s2_arena_init(&arena);
  s2_world_state(start, state);
  must(s2_world_clone(start, &world));
  must(s2_world_linearize(world, inputs, count, &arena, &linear));
  assert_int_equal(linear.states, s2_world_state_size(start));
  assert_int_equal(linear.flags & (S2_GRADIENT_PARTIAL | S2_GRADIENT_SINGULAR), 0);
  for (int k = 0; k < linear.states + count; k++) {
    bool input = k >= linear.states;
    slope(start, state, input ? -1 : k, input ? &inputs[k - linear.states] : NULL, column);
    double size = 0;
    for (int i = 0; i < linear.states; i++) {
      size = fmax(size, fabs(column[i]));
    }
    for (int i = 0; i < linear.states; i++) {
      double mine =
          input ? linear.b[i * count + k - linear.states] : linear.a[i * linear.states + k];
      if (!(fabs(mine - column[i]) <= 1e-6 * fmax(size, 1))) {
        fail_msg("[%d][%d]: %.10g, differences %.10g", i, k, mine, column[i]);
      }
    }
  }
  s2_arena_free(&arena);
  s2_world_destroy(world);
}

// In flight, and landing with a turn within the step.
static void free_and_landing(void **state) {
  (void)state;
  S2World *world = exact_world();
  S2BodyDef floor = fixed_at(0, -0.5);
  floor.friction = 0.3;
  add_box(world, floor, 10, 1);
  S2BodyDef def = moving(0.1, 0.205, 3, 1.5, -2);
  def.linear_damping = 0.2;
  add_box(world, moving(3, 4, 1, 2, 3), 0.3, 0.2);
  def.restitution = 0.5;
  S2BodyId lands = add_disc(world, def, 0.2);
  const S2Input inputs[2] = {{.kind = S2_INPUT_FORCE, .body = lands, .amount = {0, 1, 0}},
                             {.kind = S2_INPUT_FORCE, .body = lands, .amount = {0.2, 0, 1}}};
  check(world, inputs, 2);
  s2_world_destroy(world);
}

// A cart on a rail and two links on it.
typedef struct Cart {
  S2World *world;
  S2BodyId cart, link[2];
  S2JointId rail, hinge[2];
} Cart;

static Cart cart(bool motor) {
  Cart c = {.world = exact_world()};
  c.cart = add_box(c.world, moving(0, 0, 0, 0, 0), 0.4, 0.2);
  S2JointDef rail = joint_def(S2_SLIDER, c.cart, (S2BodyId){0, 0});
  rail.anchor_a = s2_vec2(0, 0);
  rail.axis = s2_vec2(1, 0);
  rail.compliance.linear = rail.compliance.angular = motor ? 1e-3 : 0;
  must(s2_joint_create(c.world, &rail, &c.rail));
  S2BodyId below = c.cart;
  for (int k = 0; k < 2; k++) {
    c.link[k] = add_box(c.world, moving(0, 0.25 + 0.5 * k, 0, 0, 0), 0.05, 0.5);
    S2JointDef hinge = hinge_def(c.link[k], below, 0, 0.5 * k);
    if (motor) {
      hinge.has_motor = k == 1;
      hinge.motor_speed = 0.4;
      hinge.compliance.linear = 1e-3;
      hinge.damping.linear = 5;
    }
    must(s2_joint_create(c.world, &hinge, &c.hinge[k]));
    below = c.link[k];
  }
  return c;
}

// Compliant joints: whether and how often rigid ones are corrected depends on their error, so
// differences about a state without errors belong to another branch.
static void jointed(void **state) {
  (void)state;
  Cart c = cart(true);
  steps(c.world, 20);
  const S2Input inputs[2] = {{.kind = S2_INPUT_FORCE, .body = c.cart, .amount = {0, 1, 0}},
                             {.kind = S2_INPUT_MOTOR_SPEED, .joint = c.hinge[1], .amount = {1}}};
  check(c.world, inputs, 2);
  s2_world_destroy(c.world);
}

// ---- Reduced ----------------------------------------------------------------------------------

// Sets the cart with its links to coordinates x, angles relative to the body below, and their
// speeds.
static void place(const Cart *c, S2World *world, const double r[6]) {
  double angle = 0, omega = 0;
  S2Vec2 p = {r[0], 0}, v = {r[3], 0};
  must(s2_body_set_q(world, c->cart, (double[3]){0, r[0], 0}));
  must(s2_body_set_v(world, c->cart, (double[3]){0, r[3], 0}));
  for (int k = 0; k < 2; k++) {
    angle += r[1 + k];
    omega += r[4 + k];
    S2Vec2 half = s2_vec2(-0.25 * sin(angle), 0.25 * cos(angle));
    S2Vec2 turn = s2_scale(omega, s2_left(half));
    must(s2_body_set_q(world, c->link[k], (double[3]){angle, p.x + half.x, p.y + half.y}));
    must(s2_body_set_v(world, c->link[k], (double[3]){omega, v.x + turn.x, v.y + turn.y}));
    p = s2_add_scaled(p, 2, half);
    v = s2_add_scaled(v, 2, turn);
  }
}

// The coordinates of the state after a step, and their speeds, without the part of velocities that
// the next step takes back.
static void reduced_after(const Cart *c, const double r[6], double force, double out[6]) {
  S2World *world;
  must(s2_world_clone(c->world, &world));
  place(c, world, r);
  must(s2_body_apply_force(world, c->cart, s2_vec2(force, 0), NULL));
  must(s2_world_step(world));
  S2Arena arena;
  S2Reduction reduction;
  s2_arena_init(&arena);
  must(s2_reduction_choose(world, NULL, 0, &arena, &reduction));
  must(s2_reduction_settle(world, &reduction, &arena));
  s2_arena_free(&arena);
  must(s2_joint_get(world, c->rail, S2_JOINT_TRANSLATION, &out[0]));
  must(s2_joint_get(world, c->rail, S2_JOINT_SPEED, &out[3]));
  for (int k = 0; k < 2; k++) {
    must(s2_joint_get(world, c->hinge[k], S2_JOINT_ANGLE, &out[1 + k]));
    must(s2_joint_get(world, c->hinge[k], S2_JOINT_SPEED, &out[4 + k]));
  }
  s2_world_destroy(world);
}

static void reduced(void **state) {
  (void)state;
  Cart c = cart(false);
  const double r[6] = {0.3, 0.4, -0.7, 0.5, 1.1, -0.8};
  place(&c, c.world, r);
  S2World *world;
  S2Arena arena;
  S2Linear linear;
  s2_arena_init(&arena);
  must(s2_world_clone(c.world, &world));
  const S2Input push = {.kind = S2_INPUT_JOINT_FORCE, .joint = c.rail, .amount = {1}};
  must(s2_world_linearize_reduced(world, &push, 1, NULL, 0, &arena, &linear));
  assert_int_equal(linear.states, 6);
  assert_int_equal(linear.coordinates, 3);
  assert_int_equal(linear.coordinate[0].joint.index, c.rail.index);
  assert_int_equal(linear.coordinate[2].joint.index, c.hinge[1].index);
  for (int k = 0; k < 7; k++) {
    double value[4][6], moved[6], size = 1e-3;
    for (int i = 0; i < 4; i++) {
      double step = size * (i % 2 == 0 ? 1 : -1) / (1 + i / 2);
      memcpy(moved, r, sizeof moved);
      moved[k % 6] += k < 6 ? step : 0;
      reduced_after(&c, moved, k < 6 ? 0 : step, value[i]);
    }
    for (int i = 0; i < 6; i++) {
      double wide = (value[0][i] - value[1][i]) / (2 * size);
      double narrow = (value[2][i] - value[3][i]) / size, known = narrow + (narrow - wide) / 3;
      double mine = k < 6 ? linear.a[6 * i + k] : linear.b[i];
      if (!(fabs(mine - known) <= 1e-6)) {
        fail_msg("reduced [%d][%d]: %.10g, differences %.10g", i, k, mine, known);
      }
    }
  }
  s2_world_destroy(world);
  s2_arena_free(&arena);
  s2_world_destroy(c.world);
}

static void chosen_coordinates(void **state) {
  (void)state;
  Cart c = cart(false);
  S2World *world;
  S2Arena arena;
  S2Linear linear;
  s2_arena_init(&arena);
  must(s2_world_clone(c.world, &world));
  const S2Coordinate good[3] = {{.body = c.cart}, {.body = c.link[1]}, {.joint = c.hinge[0]}};
  // The second link gives its angle and x; with the cart the coordinates are complete.
  S2Status status = s2_world_linearize_reduced(world, NULL, 0, good, 3, &arena, &linear);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "coordinates[3]"));
  must(s2_world_linearize_reduced(world, NULL, 0, good, 2, &arena, &linear));
  assert_int_equal(linear.coordinates, 3);
  assert_int_equal(linear.coordinate[0].part, 1);
  status = s2_world_linearize_reduced(world, NULL, 0, good, 1, &arena, &linear);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "2 of the 3 motions"));
  s2_world_destroy(world);
  s2_arena_free(&arena);
  s2_world_destroy(c.world);
}

// ---- Misuse -----------------------------------------------------------------------------------

static bool pull(void *user, S2World *world, S2ForceCall *call) {
  (void)user, (void)world;
  call->force[1] += 1;
  return true;
}

static void misuse(void **state) {
  (void)state;
  Cart c = cart(false);
  S2Arena arena;
  S2Linear linear;
  s2_arena_init(&arena);
  uint64_t hash = s2_world_hash(c.world);
  const struct {
    S2Input input;
    const char *says;
  } wrong[] = {
      {{.kind = S2_INPUT_MOTOR_SPEED, .joint = c.rail, .amount = {1}}, "no motor"},
      {{.kind = S2_INPUT_JOINT_TORQUE, .joint = c.rail, .amount = {1}}, "torque cannot act"},
      {{.kind = S2_INPUT_JOINT_FORCE, .joint = c.hinge[0], .amount = {1}}, "force cannot act"},
      {{.kind = S2_INPUT_FORCE, .body = c.cart, .amount = {NAN, 0, 0}}, "finite"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    S2Status status = s2_world_linearize(c.world, &wrong[i].input, 1, &arena, &linear);
    assert_int_equal(status.code, S2_INVALID);
    assert_non_null(strstr(status.message, wrong[i].says));
  }
  assert_true(s2_world_hash(c.world) == hash);
  // A law reports in a step whether it has a derivative; that step is then undone.
  must(s2_body_set_force_law(c.world, c.cart, true));
  s2_world_set_callbacks(c.world, &(S2Callbacks){.force = pull});
  S2Status status = s2_world_linearize(c.world, NULL, 0, &arena, &linear);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "force law"));
  assert_true(s2_world_hash(c.world) == hash);
  s2_arena_free(&arena);
  s2_world_destroy(c.world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(free_and_landing),   cmocka_unit_test(jointed), cmocka_unit_test(reduced),
      cmocka_unit_test(chosen_coordinates), cmocka_unit_test(misuse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
