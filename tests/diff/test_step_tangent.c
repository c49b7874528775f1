// Forward derivatives of steps of small islands, compared with backward sweeps over the same steps
// and with differences.
#include "dynamics/small/small_worlds.h"

#include "diff/forward/step_tangent.h"
#include "diff/linear/linearize.h"
#include "diff/step/trace_notes.h"

enum { MOST = 6 * 12 };

typedef struct Count {
  int steps, forward; // steps in which a body has moved; steps with a forward derivative
  int apart;          // steps whose derivatives differ
} Count;

// Computes the derivative of the next step by forward tangents (n states x n states, in the order
// of s2_world_state), on a clone. Returns false if the step has no forward derivative.
static bool forward(const S2World *start, S2Arena *arena, double *a) {
  S2World *world;
  must(s2_world_clone(start, &world));
  S2Lines lines = s2_lines_of(world, arena);
  int n = lines.n;
  S2Tangents tangents = s2_tangents_new(n, 2 * n, 0, arena);
  for (int i = 0; i < n; i++) {
    tangents.q[i * tangents.columns + s2_reduction_place(i)] = 1;
    tangents.v[i * tangents.columns + s2_reduction_place(i) + 3] = 1;
  }
  S2Trace *trace = s2_trace_new();
  trace->keeps_pieces = true;
  must(s2_world_step_traced(world, trace));
  bool good = s2_step_tangent(world, &trace->notes, &lines, arena, &tangents);
  for (int i = 0; i < n && good; i++) {
    for (int d = 0; d < 2 * n; d++) {
      a[s2_reduction_place(i) * 2 * n + d] = tangents.q[i * tangents.columns + d];
      a[(s2_reduction_place(i) + 3) * 2 * n + d] = tangents.v[i * tangents.columns + d];
    }
  }
  s2_trace_free(trace);
  s2_world_destroy(world);
  return good;
}

// The largest difference of two products (n x n) (n x m), as a fraction of the largest entry.
static double distance(const double *a, const double *b, const double *lift, int n, int m) {
  double most = 1, apart = 0;
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < m; k++) {
      double x = 0, y = 0;
      for (int c = 0; c < n; c++) {
        x += a[i * n + c] * lift[c * m + k];
        y += b[i * n + c] * lift[c * m + k];
      }
      most = fmax(most, fabs(y));
      apart = fmax(apart, fabs(x - y));
    }
  }
  return apart / most;
}

// The motions that rigid joints allow (n x *m).
static const double *allowed_motions(const S2World *start, S2Arena *arena, int *m) {
  S2World *world;
  S2Reduction reduction;
  must(s2_world_clone(start, &world));
  must(s2_reduction_choose(world, NULL, 0, arena, &reduction));
  *m = 2 * reduction.m;
  double *lift = S2_TAKE(arena, double, 2 * reduction.n * *m + 1);
  must(s2_reduction_lift(world, &reduction, arena, lift));
  s2_world_destroy(world);
  return lift;
}

static void compare_step(const S2World *start, Count *count) {
  static double a[MOST * MOST];
  S2Arena arena;
  s2_arena_init(&arena);
  count->steps += 1;
  if (forward(start, &arena, a)) {
    S2World *world;
    S2Linear linear;
    must(s2_world_clone(start, &world));
    must(s2_world_linearize(world, NULL, 0, &arena, &linear));
    assert_true(linear.states <= MOST);
    int m;
    const double *lift = allowed_motions(start, &arena, &m);
    double apart = distance(a, linear.a, lift, linear.states, m);
    count->forward += 1;
    count->apart += apart > 1e-8;
    s2_world_destroy(world);
  }
  s2_arena_free(&arena);
}

// Random trees with all kinds of rows, which fall on a floor. (All but two of about 970 derivatives
// agree to 1e-9 of their largest entry.)
static void test_agrees_with_sweeps(void **state) {
  (void)state;
  Count count = {.steps = 0};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    S2World *world = random_world(seed);
    for (int step = 0; step < 100; step++) {
      push(world, seed + 1000 * (uint64_t)step);
      if (step % 5 == 0) {
        compare_step(world, &count);
      }
      must(s2_world_step(world));
    }
    s2_world_destroy(world);
  }
  assert_int_equal(count.apart, 0);
  assert_true(count.forward > count.steps / 2);
}

// A leg of two links with springs, whose foot stands flat on the floor.
static S2World *standing_leg(uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  S2WorldDef def = s2_world_def();
  def.gravity = s2_vec2(0, -9.81);
  def.dt = 1.0 / 60;
  S2World *world;
  must(s2_world_create(&def, &world));
  S2BodyDef body = s2_body_def();
  body.type = S2_STATIC;
  body.position = s2_vec2(0, -0.5);
  body.category = FLOOR;
  add_box(world, body, 40, 1);
  S2BodyId last = {0, 0};
  for (int i = 0; i < 3; i++) {
    body = s2_body_def();
    body.position = i == 0 ? s2_vec2(between(&rng, 0, 0.06), 0.03) : s2_vec2(0, 0.42 * i - 0.13);
    body.mass = between(&rng, 0.5, 4);
    body.category = PARTS;
    body.mask = i == 0 ? FLOOR : 0;
    S2BodyId link = add_box(world, body, i == 0 ? 0.25 : 0.1, i == 0 ? 0.06 : 0.42);
    if (i > 0) {
      S2JointDef joint = s2_joint_def(S2_HINGE);
      joint.a = link;
      joint.b = last;
      joint.anchor_a = s2_vec2(0, 0.42 * i - 0.34);
      joint.stiffness = 200;
      joint.damping = (S2JointWeights){.linear = 10, .angular = 10};
      S2JointId hinge;
      must(s2_joint_create(world, &joint, &hinge));
    }
    last = link;
  }
  return world;
}

// The friction of the two points of a flat foot is redundant. If it is at its bound at one point
// while the other one sticks, the foot stands still, and the step has a derivative.
static void test_flat_foot(void **state) {
  (void)state;
  Count count = {.steps = 0};
  for (uint64_t seed = 1; seed <= 20; seed++) {
    S2World *world = standing_leg(seed);
    for (int step = 0; step < 30; step++) {
      S2Rng rng = s2_rng_seeded(seed + 1000 * (uint64_t)step);
      S2Vec2 force = s2_vec2(between(&rng, -40, 40), 0);
      must(s2_body_apply_force(world, s2_world_body(world, 3), force, NULL));
      compare_step(world, &count);
      must(s2_world_step(world));
    }
    s2_world_destroy(world);
  }
  assert_int_equal(count.apart, 0);
  assert_int_equal(count.forward, count.steps);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_agrees_with_sweeps),
                                     cmocka_unit_test(test_flat_foot)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
