// Worlds on a tape, from C: writing, reading, measuring, creating and copying; steps with and
// without checkpoints. tests/lua/diff/test_world_gradient.lua has the rest.
#include "diff/world/world_checkpoint.h"
#include "diff/world/world_tape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void good(S2Status status) {
  if (status.code != S2_OK) {
    print_error("%s\n", status.message);
    fail();
  }
}

static void near(double got, double want, double tolerance) {
  if (!(fabs(got - want) <= tolerance * fmax(1, fabs(want)))) {
    print_error("%.16g, expected %.16g\n", got, want);
    fail();
  }
}

static const double PI = 3.14159265358979323846;
static const S2Vec2 centre = {0, 0};

static S2BodyDef ball(double radius, S2ShapeDef *shape) {
  *shape = (S2ShapeDef){.vertices = &centre,
                        .count = 1,
                        .radius = radius,
                        .friction = (double)NAN,
                        .restitution = (double)NAN,
                        .density = (double)NAN};
  S2BodyDef def = s2_body_def();
  def.shapes = shape;
  def.shape_count = 1;
  return def;
}

static S2World *world_of_a_ball(double gravity, S2BodyId *id) {
  S2WorldDef def = s2_world_def();
  def.stepping = S2_SPECULATIVE;
  S2World *world;
  S2ShapeDef shape;
  def.gravity = s2_vec2(0, gravity);
  def.dt = 0.1;
  good(s2_world_create(&def, &world));
  S2BodyDef body = ball(0.5, &shape);
  good(s2_body_create(world, &body, id));
  return world;
}

static S2Var read_y(S2WorldTape *on, const S2World *world) {
  S2Place place = s2_place(S2_PLACE_Q, 0, 2);
  return s2_world_tape_read_places(on, world, 1, &place);
}

static void write_vy(S2WorldTape *on, S2World *world, S2BodyId id, double value, S2Var var) {
  S2Place place = s2_place(S2_PLACE_V, 0, 2);
  S2Term term = {.to = 0, .from = var, .factor = 1};
  good(s2_body_set(world, id, S2_BODY_VY, value));
  s2_world_tape_write(on, world, 1, &place, var == 0 ? 0 : 1, &term);
}

// y after 10 steps of 0.1 s: vy 1 s + g (0.1 s)^2 (1 + ... + 10).
static double fall(int every, double speed, double gravity, double slope[2], size_t *bytes) {
  S2Tape *tape = s2_tape_new();
  S2BodyId id;
  unsigned flags = 0;
  S2World *world = world_of_a_ball(gravity, &id);
  S2WorldTape *on = s2_world_tape_new(tape, &flags);
  double given[2] = {speed, gravity};
  S2Var input = s2_tape_input(tape, given, 2);
  S2Place places[2] = {s2_place(S2_PLACE_V, 0, 2), s2_place(S2_PLACE_WORLD, 0, S2_OF_GRAVITY_Y)};
  S2Term terms[2] = {{.to = 0, .from = input, .factor = 1},
                     {.to = 1, .from = input, .index = 1, .factor = 1}};
  good(s2_body_set(world, id, S2_BODY_VY, speed));
  s2_world_tape_write(on, world, 2, places, 2, terms);
  for (int i = 0; i < 10; i++) {
    good(s2_world_tape_step(on, world, every));
  }
  S2Var y = read_y(on, world);
  double value = *s2_tape_value(tape, y);
  *bytes = s2_tape_bytes(tape);
  s2_world_destroy(world); // the tape does not need it any more
  for (int twice = 0; twice < 2; twice++) {
    good(s2_tape_sweep(tape, y, NULL));
    memcpy(slope, s2_tape_adjoint(tape, input), 2 * sizeof *slope);
  }
  assert_int_equal(flags, 0);
  s2_tape_free(tape);
  return value;
}

static void a_fall_has_the_slopes_of_its_sums(void **state) {
  (void)state;
  double slope[2], again[2];
  size_t bytes, kept;
  double y = fall(0, 3, -10, slope, &bytes);
  near(y, 3 - 10 * 0.01 * 55, 1e-14);
  near(slope[0], 1, 1e-14);
  near(slope[1], 0.55, 1e-14);
  for (int every = 1; every <= 16; every *= 4) {
    assert_true(fall(every, 3, -10, again, &kept) == y);
    assert_memory_equal(again, slope, sizeof slope);
    assert_true(every == 1 || kept < bytes); // an image per step is larger than its notes
  }
}

// Contacts call filter and pre-solve where the program has them; where it has none, the repetition
// of a step must not call any.
static void contacts_without_callbacks_are_made_again(void **state) {
  (void)state;
  enum { STEPS = 8 };
  S2BodyId id;
  S2ShapeDef shape;
  S2World *world = world_of_a_ball(-10, &id), *end;
  S2BodyDef floor = ball(1, &shape);
  floor.type = S2_STATIC;
  floor.position = s2_vec2(0, -1.6);
  good(s2_body_create(world, &floor, &id));
  good(s2_world_clone(world, &end));
  S2WorldGradient plain = {0}, again = {0};
  S2Trace *trace[STEPS];
  S2Arena arena;
  s2_arena_init(&arena);
  s2_world_gradient_fit(&plain, world);
  s2_world_gradient_fit(&again, world);
  plain.q[2] = again.q[2] = 1;
  for (int k = 0; k < STEPS; k++) {
    trace[k] = s2_trace_new();
    good(s2_world_step_traced(end, trace[k]));
  }
  for (int k = STEPS - 1; k >= 0; k--) {
    good(s2_trace_vjp(trace[k], &plain, &arena));
    s2_trace_free(trace[k]);
  }
  S2Checkpoints *checkpoints = s2_checkpoints_new();
  S2Segment *segment[STEPS];
  int index[STEPS];
  for (int k = 0; k < STEPS; k++) {
    good(s2_checkpoints_step(checkpoints, world, STEPS / 2, &segment[k], &index[k]));
  }
  s2_checkpoints_free(checkpoints);
  for (int k = STEPS - 1; k >= 0; k--) {
    const S2Trace *made;
    good(s2_segment_trace(segment[k], index[k], &made));
    good(s2_trace_vjp(made, &again, &arena));
    if (index[k] == 0) {
      s2_segment_free(segment[k]);
    }
  }
  assert_true(plain.q[2] != 1); // it touched the floor
  assert_memory_equal(plain.q, again.q, 6 * sizeof(double));
  assert_memory_equal(plain.v, again.v, 6 * sizeof(double));
  s2_world_gradient_free(&plain);
  s2_world_gradient_free(&again);
  s2_arena_free(&arena);
  s2_world_destroy(world);
  s2_world_destroy(end);
}

static void what_is_overwritten_no_longer_matters(void **state) {
  (void)state;
  S2Tape *tape = s2_tape_new();
  S2BodyId id;
  S2World *world = world_of_a_ball(0, &id);
  S2WorldTape *on = s2_world_tape_new(tape, NULL), *kept = s2_world_tape_new(tape, NULL);
  double two = 2;
  S2Var input = s2_tape_input(tape, &two, 1);
  write_vy(on, world, id, 2, input);
  good(s2_world_tape_step(on, world, 0));
  s2_world_tape_copy(kept, on); // a snapshot
  write_vy(on, world, id, 7, 0);
  good(s2_world_tape_step(on, world, 0));
  S2Var plain = read_y(on, world); // 0.1 s by input, 0.1 s by 7 m/s
  near(*s2_tape_value(tape, plain), 0.9, 1e-14);
  s2_world_tape_copy(on, kept);
  good(s2_world_tape_step(on, world, 0)); // as the tape records it: from the snapshot
  S2Var restored = read_y(on, world);
  s2_world_tape_copy(on, NULL); // constants
  S2Var constant = read_y(on, world);
  good(s2_tape_sweep(tape, plain, NULL));
  near(*s2_tape_adjoint(tape, input), 0.1, 1e-14);
  good(s2_tape_sweep(tape, restored, NULL));
  near(*s2_tape_adjoint(tape, input), 0.2, 1e-14);
  good(s2_tape_sweep(tape, constant, NULL));
  near(*s2_tape_adjoint(tape, input), 0, 0);
  s2_world_destroy(world);
  s2_tape_free(tape);
}

static S2Status build(void *user, S2World *world, int which, double by) {
  const double *radius = user;
  S2ShapeDef shape;
  S2BodyDef def = ball(*radius + (which == 0 ? by : 0), &shape);
  def.friction = which == 1 ? by : 0; // at the end of its domain
  def.contact_viscosity = 0;
  S2BodyId id;
  return s2_body_create(world, &def, &id);
}

static void measure_mass(const void *user, const S2World *world, double *number) {
  double mass = 0, inertia = 0;
  (void)s2_body_get(world, *(const S2BodyId *)user, S2_BODY_MASS, &mass);
  (void)s2_body_get(world, *(const S2BodyId *)user, S2_BODY_INERTIA, &inertia);
  *number = sin(mass) * inertia;
}

static void constructors_and_measures_go_by_differences(void **state) {
  (void)state;
  S2Tape *tape = s2_tape_new();
  S2BodyId id;
  // its radius and friction are 0.5, independent of the input
  S2World *world = world_of_a_ball(0, &id);
  S2WorldTape *on = s2_world_tape_new(tape, NULL);
  double radius = 0.5, values[2] = {0.5, 0}, number;
  good(s2_body_set(world, id, S2_BODY_FRICTION, 0));
  S2Var input = s2_tape_input(tape, &values[0], 1), friction = s2_tape_input(tape, &values[1], 1);
  S2Var vars[2] = {input, friction};
  S2Made made = {build, &radius, 2, vars, values};
  good(s2_world_tape_made_body(on, world, 0, &made));
  S2Place mass = s2_place(S2_PLACE_BODY, 0, S2_OF_MASS);
  S2Place places[2] = {mass, s2_place(S2_PLACE_BODY, 0, S2_OF_INERTIA)};
  S2Place rubs = s2_place(S2_PLACE_BODY, 0, S2_OF_FRICTION);
  S2Var m = s2_world_tape_read_places(on, world, 1, &mass);
  S2Var mu = s2_world_tape_read_places(on, world, 1, &rubs);
  S2Var product = s2_world_tape_measure(on, world, 1, &number, measure_mass, &id, 2, places);
  double density = *s2_tape_value(tape, m) / (PI * radius * radius);
  double r = radius, area = PI * r * r, slope = density * 2 * PI * r;
  double inertia = density * area * r * r / 2;
  good(s2_tape_sweep(tape, m, NULL));
  near(*s2_tape_adjoint(tape, input), slope, 1e-11);
  good(s2_tape_sweep(tape, product, NULL));
  near(number, sin(density * area) * inertia, 1e-13);
  near(*s2_tape_adjoint(tape, input),
       cos(density * area) * slope * inertia + sin(density * area) * 4 * inertia / r, 1e-9);
  good(s2_tape_sweep(tape, mu, NULL));
  near(*s2_tape_adjoint(tape, friction), 1, 1e-12);
  near(*s2_tape_adjoint(tape, input), 0, 0);
  s2_world_destroy(world);
  s2_tape_free(tape);
}

static S2Status build_more(void *user, S2World *world, int which, double by) {
  static const S2Vec2 corners[4] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  S2ShapeDef shape;
  S2BodyDef def = ball(0.5, &shape);
  shape.vertices = corners;
  shape.count = which >= 0 && by > 0 ? 4 : 3;
  S2BodyId id;
  (void)user;
  return s2_body_create(world, &def, &id);
}

static void shapes_that_change_their_vertices_are_refused(void **state) {
  (void)state;
  S2Tape *tape = s2_tape_new();
  S2BodyId id;
  S2World *world = world_of_a_ball(0, &id);
  S2WorldTape *on = s2_world_tape_new(tape, NULL);
  double one = 1;
  S2Var input = s2_tape_input(tape, &one, 1);
  S2Made made = {build_more, NULL, 1, &input, &one};
  S2Status status = s2_world_tape_made_body(on, world, 0, &made);
  assert_int_equal(status.code, S2_UNAVAILABLE);
  assert_non_null(strstr(status.message, "different vertices"));
  s2_world_destroy(world);
  s2_tape_free(tape);
}

static void places_lead_where_they_say(void **state) {
  (void)state;
  S2BodyId id;
  S2World *world = world_of_a_ball(-3, &id);
  S2WorldGradient gradient = {0};
  S2Place places[64], *at = places;
  s2_world_gradient_fit(&gradient, world);
  int count = s2_body_places(world, 0, places, 64);
  assert_int_equal(count, 9 + S2_BODY_NUMBERS + 3 + 2);
  assert_int_equal(s2_body_places(world, 0, NULL, 0), count);
  for (int i = 0; i < count; i++, at++) { // no two are equal
    double *bar = s2_place_gradient(&gradient, *at);
    near(*bar, 0, 0);
    *bar = i + 1;
  }
  near(gradient.body[0].contact_viscosity, 9 + S2_OF_CONTACT_VISCOSITY + 1, 0);
  near(gradient.piece[0].radius, 9 + S2_BODY_NUMBERS + 1, 0);
  near(s2_place_value(world, s2_place(S2_PLACE_WORLD, 0, S2_OF_GRAVITY_Y)), -3, 0);
  near(s2_place_value(world, s2_place(S2_PLACE_PIECE, 0, 0)), 0.5, 0);
  assert_ptr_equal(s2_place_gradient(&gradient, s2_place(S2_PLACE_WORLD, 0, S2_OF_TIME)),
                   &gradient.time);
  s2_world_gradient_free(&gradient);
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fall_has_the_slopes_of_its_sums),
      cmocka_unit_test(contacts_without_callbacks_are_made_again),
      cmocka_unit_test(what_is_overwritten_no_longer_matters),
      cmocka_unit_test(constructors_and_measures_go_by_differences),
      cmocka_unit_test(shapes_that_change_their_vertices_are_refused),
      cmocka_unit_test(places_lead_where_they_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
