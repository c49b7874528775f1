// Smooth derivatives of steps: those of the central path at the data of the step.
#include "worlds.h"

#include "diff/step/trace.h"
#include "mcp/adjoint/mcp_vjp.h"

typedef struct Disc {
  S2World *world;
  S2BodyId body;
} Disc;

// A sliding disc at this height above the floor (m).
static Disc stepped_disc(S2Stepping stepping, double gap, double smoothing) {
  Disc disc = {.world = world_new(-9.8, 1.0 / 60)};
  S2WorldDef def = *s2_world_settings(disc.world);
  def.stepping = stepping;
  def.tolerance = 1e-12;
  def.gradient = smoothing > 0 ? S2_GRADIENT_SMOOTH : S2_GRADIENT_EXACT;
  def.smoothing = smoothing > 0 ? smoothing : def.smoothing;
  must(s2_world_configure(disc.world, &def));
  add_box(disc.world, rough(fixed_at(0, -0.5), 0.5, 0), 10, 1);
  S2BodyDef body = rough(at(0, 0.2 + gap), 0.5, 0);
  body.velocity = s2_vec2(0.3, 0);
  disc.body = add_disc(disc.world, body, 0.2);
  return disc;
}

static Disc disc_above(double gap, double smoothing) {
  return stepped_disc(S2_SPECULATIVE, gap, smoothing);
}

static void free_disc(Disc disc) {
  s2_world_destroy(disc.world);
}

// dl/d(all) for l = weight' v after a step (angular, x, y of the disc).
static void derivative(Disc disc, const double weight[3], S2WorldGradient *g) {
  S2Arena arena;
  S2World *world;
  S2Trace *trace = s2_trace_new();
  int at = 3 * (int)(disc.body.index - 1);
  s2_arena_init(&arena);
  must(s2_world_clone(disc.world, &world));
  must(s2_world_step_traced(world, trace));
  s2_world_gradient_fit(g, world);
  s2_world_gradient_clear(g);
  memcpy(g->v + at, weight, 3 * sizeof(double));
  must(s2_trace_vjp(trace, g, &arena));
  s2_trace_free(trace);
  s2_arena_free(&arena);
  s2_world_destroy(world);
}

// weight' v on the central path of the step's problem, with the same scale for every force.
static double on_path(Disc disc, const double force[3], double kappa, double *scale,
                      const double weight[3]) {
  S2World *world;
  S2Problem *problem;
  S2BodyId node[4];
  S2Arena arena;
  s2_arena_init(&arena);
  must(s2_world_clone(disc.world, &world));
  must(s2_body_apply_torque(world, disc.body, force[0]));
  must(s2_body_apply_force(world, disc.body, s2_vec2(force[1], force[2]), NULL));
  must(s2_world_problem(world, &problem, node, 4));
  assert_int_equal(problem->nodes, 1);
  assert_int_equal(problem->rows, 2);
  *scale = *scale > 0 ? *scale : problem->velocity_scale;
  problem->velocity_scale = *scale;
  double v[3] = {0}, lambda[2] = {0}, z[8] = {0};
  S2SmoothSolution solution = {.v = v, .lambda = lambda, .z = z};
  S2SolverOptions options = {.tolerance = 1e-13, .max_iterations = 100};
  s2_mcp_smooth_solve(problem, kappa, &options, &arena, &solution);
  assert_true(solution.residual < 1e-12);
  s2_problem_free(problem);
  s2_world_destroy(world);
  s2_arena_free(&arena);
  return weight[0] * v[0] + weight[1] * v[1] + weight[2] * v[2];
}

static void is_that_of_the_path(void **state) {
  (void)state;
  const double gaps[] = {0, 1e-3, 4e-3, 8e-3}, weight[3] = {0.7, -1.1, 0.9}, none[3] = {0};
  for (int k = 0; k < 4; k++) {
    for (double kappa = 1e-2; kappa > 1e-6; kappa *= 0.01) {
      Disc disc = disc_above(gaps[k], kappa);
      S2WorldGradient g = {0};
      double scale = 0;
      derivative(disc, weight, &g);
      assert_int_equal(g.flags, 0);
      (void)on_path(disc, none, kappa, &scale, weight);
      for (int c = 0; c < 3; c++) {
        double table[2], size = 2e-4;
        for (int i = 0; i < 2; i++, size /= 2) {
          double up[3] = {0}, down[3] = {0};
          up[c] = size;
          down[c] = -size;
          table[i] = (on_path(disc, up, kappa, &scale, weight) -
                      on_path(disc, down, kappa, &scale, weight)) /
                     (2 * size);
        }
        double known = table[1] + (table[1] - table[0]) / 3;
        double mine = g.f[3 * (disc.body.index - 1) + (uint32_t)c];
        if (!(fabs(mine - known) <= 2e-7)) {
          fail_msg("gap %g, kappa %g, force %d: %.12g, differences %.12g", gaps[k], kappa, c, mine,
                   known);
        }
      }
      s2_world_gradient_free(&g);
      free_disc(disc);
    }
  }
}

// Above the floor, friction and the floor's height have no effect, but their smooth derivatives are
// not 0. On the floor, the same holds for a push up.
static void knows_of_contacts_to_come(void **state) {
  (void)state;
  const double slide[3] = {0, 1, 0}, rise[3] = {0, 0, 1};
  for (int on = 0; on < 2; on++) {
    S2WorldGradient exact = {0}, smooth = {0};
    Disc plain = disc_above(on ? 1e-3 : 6e-3, 0), other = disc_above(on ? 1e-3 : 6e-3, 1e-4);
    int at = 3 * (int)(plain.body.index - 1);
    derivative(plain, on ? rise : slide, &exact);
    derivative(other, on ? rise : slide, &smooth);
    if (on) {
      assert_true(fabs(exact.f[at + 2]) < 1e-12);
      assert_true(smooth.f[at + 2] > 1e-6);
    } else {
      assert_true(exact.body[plain.body.index - 1].friction == 0);
      assert_true(smooth.body[plain.body.index - 1].friction < -1e-6);
    }
    s2_world_gradient_free(&exact);
    s2_world_gradient_free(&smooth);
    free_disc(plain);
    free_disc(other);
  }
}

static void goes_to_the_exact_one(void **state) {
  (void)state;
  const double weight[3] = {0.7, -1.1, 0.9};
  double last = INFINITY;
  for (double kappa = 1e-4; kappa > 1e-11; kappa *= 1e-3) {
    S2WorldGradient exact = {0}, smooth = {0};
    Disc plain = disc_above(1e-3, 0), other = disc_above(1e-3, kappa);
    derivative(plain, weight, &exact);
    derivative(other, weight, &smooth);
    double off = 0;
    for (int i = 0; i < 3 * exact.slots; i++) {
      off = fmax(off, fabs(exact.q[i] - smooth.q[i]) + fabs(exact.v[i] - smooth.v[i]));
    }
    assert_true(off < last / 10);
    last = off;
    s2_world_gradient_free(&exact);
    s2_world_gradient_free(&smooth);
    free_disc(plain);
    free_disc(other);
  }
  assert_true(last < 1e-4);
}

static const S2Stepping split[] = {S2_AUTO, S2_EVENT};
enum { SPLIT = sizeof split / sizeof *split };

// Existing contacts are smooth in split steps, too, with the same kappa whatever the length of the
// remaining piece.
static void split_steps_smooth_what_touches(void **state) {
  (void)state;
  const double weight[3] = {0.7, -1.1, 0.9}, kappas[] = {1e-2, 1e-4, 1e-6};
  for (int s = 0; s < SPLIT; s++) {
    // The disc rests during the whole step, so by projection both worlds make one solve. The two
    // stages make two solves at kappa, each for half of the step; their derivative differs by a
    // term of order kappa.
    for (int i = 0; i < 6; i++) {
      int k = i / 2;
      Disc disc = stepped_disc(split[s], 0, kappas[k]), fixed = disc_above(0, kappas[k]);
      S2WorldDef def = *s2_world_settings(disc.world);
      def.flow = i % 2 == 0 ? S2_FLOW_PROJECTED : S2_FLOW_AUTO;
      must(s2_world_configure(disc.world, &def));
      double bound = i % 2 == 0 ? 1e-9 : 1e-9 + 2e-2 * kappas[k];
      S2WorldGradient mine = {0}, known = {0};
      derivative(disc, weight, &mine);
      derivative(fixed, weight, &known);
      assert_int_equal(mine.flags, 0);
      for (int c = 0; c < 3; c++) {
        int at = 3 * (int)(disc.body.index - 1) + c;
        near(mine.f[at], known.f[at], bound);
      }
      s2_world_gradient_free(&mine);
      s2_world_gradient_free(&known);
      free_disc(disc);
      free_disc(fixed);
    }
    double last = INFINITY;
    for (int k = 0; k < 3; k++) { // it lands within the step, and rests for the remainder
      Disc disc = stepped_disc(split[s], 1e-3, kappas[k]), plain = stepped_disc(split[s], 1e-3, 0);
      S2WorldGradient mine = {0}, exact = {0};
      derivative(disc, weight, &mine);
      derivative(plain, weight, &exact);
      assert_int_equal(mine.flags, 0);
      int at = 3 * (int)(disc.body.index - 1);
      double off = fabs(mine.v[at + 1] - exact.v[at + 1]);
      assert_true(off > 10 * kappas[k] && off < 1e3 * kappas[k] && off < last / 10);
      last = off;
      s2_world_gradient_free(&mine);
      s2_world_gradient_free(&exact);
      free_disc(disc);
      free_disc(plain);
    }
  }
}

// Split steps meet future contacts at a time and have no row for them, so the derivative reports
// contacts in reach.
static void split_steps_tell_of_contacts_to_come(void **state) {
  (void)state;
  const double weight[3] = {0.7, -1.1, 0.9};
  for (int s = 0; s < SPLIT; s++) {
    for (int far = 0; far < 2; far++) {
      double gap = far ? 1 : 6e-3;
      Disc disc = stepped_disc(split[s], gap, 1e-4), plain = stepped_disc(split[s], gap, 0);
      S2WorldGradient smooth = {0}, exact = {0};
      derivative(disc, weight, &smooth);
      derivative(plain, weight, &exact);
      assert_int_equal(exact.flags, 0);
      assert_int_equal(smooth.flags, far ? 0 : S2_GRADIENT_PARTIAL);
      assert_memory_equal(smooth.v, exact.v, sizeof(double) * 3 * (size_t)exact.slots);
      s2_world_gradient_free(&smooth);
      s2_world_gradient_free(&exact);
      free_disc(disc);
      free_disc(plain);
    }
  }
}

// The central path has no boxed rows: a solve with such rows has its exact derivative, and a flag
// reports this.
static void says_what_is_not_smooth(void **state) {
  (void)state;
  const double weight[3] = {1, 0, 0};
  for (int motor = 0; motor < 2; motor++) {
    Disc disc = disc_above(1e-3, 1e-4);
    if (motor) {
      S2BodyDef far = at(0, 1);
      S2BodyId other = add_disc(disc.world, far, 0.1);
      S2JointDef hinge = hinge_def(disc.body, other, 0, 0.4);
      S2JointId joint;
      hinge.has_motor = true;
      hinge.motor_max = 0.1;
      hinge.motor_speed = 1;
      must(s2_joint_create(disc.world, &hinge, &joint));
    }
    S2WorldGradient g = {0};
    derivative(disc, weight, &g);
    assert_int_equal((g.flags & S2_GRADIENT_PARTIAL) != 0, motor);
    s2_world_gradient_free(&g);
    free_disc(disc);
  }
}

// The result of a step is the same, to the bit.
static void leaves_steps_alone(void **state) {
  (void)state;
  Disc exact = disc_above(0.1, 0), smooth = disc_above(0.1, 1e-3);
  for (int k = 0; k < 50; k++) {
    steps(exact.world, 1);
    steps(smooth.world, 1);
    assert_true(s2_world_hash(exact.world) == s2_world_hash(smooth.world));
  }
  S2WorldDef def = *s2_world_settings(exact.world);
  def.smoothing = 0;
  S2Status status = s2_world_configure(exact.world, &def);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "smoothing"));
  free_disc(exact);
  free_disc(smooth);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_that_of_the_path),
      cmocka_unit_test(knows_of_contacts_to_come),
      cmocka_unit_test(goes_to_the_exact_one),
      cmocka_unit_test(split_steps_smooth_what_touches),
      cmocka_unit_test(split_steps_tell_of_contacts_to_come),
      cmocka_unit_test(says_what_is_not_smooth),
      cmocka_unit_test(leaves_steps_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
