// Optimal control with complementarity constraints: problems with known answers.
#include "plan/mpcc_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 400, MOST_ITERATIONS = 300 };
static const double TOLERANCE = 1e-6; // expected decrease of the cost at convergence, relative

static void assert_near(double is, double was, double allowed) {
  if (!(fabs(is - was) <= allowed)) {
    fail_msg("%.17g is not within %g of %.17g", is, allowed, was);
  }
}

static void must(S2Status status) {
  if (status.code != S2_OK) {
    fail_msg("%s", status.message);
  }
}

static S2FormulaGraph *graph; // of the running test

static S2Formula num(double x) {
  return s2_formula_number(graph, x);
}
static S2Formula var(int k) {
  return s2_formula_variable(graph, 0, k);
}
static S2Formula add(S2Formula a, S2Formula b) {
  return s2_formula_binary(graph, S2_FORMULA_ADD, a, b);
}
static S2Formula sub(S2Formula a, S2Formula b) {
  return s2_formula_binary(graph, S2_FORMULA_SUBTRACT, a, b);
}
static S2Formula mul(S2Formula a, S2Formula b) {
  return s2_formula_binary(graph, S2_FORMULA_MULTIPLY, a, b);
}
static S2Formula square(S2Formula a) {
  return mul(a, a);
}

static int begin(void **state) {
  (void)state;
  graph = s2_formula_graph_new();
  return 0;
}
static int end(void **state) {
  (void)state;
  s2_formula_graph_free(graph);
  return 0;
}

static S2MpccDef def_of(int width, int stages, S2MpccStage first, S2MpccStage running,
                        S2MpccStage last) {
  return (S2MpccDef){.graph = graph,
                     .width = width,
                     .stages = stages,
                     .first = first,
                     .running = running,
                     .last = last,
                     .tolerance = TOLERANCE,
                     .violation = 1e-6};
}

// Searches from zeros until the search ends.
static S2MpccResult solve(const S2MpccDef *def, double smoothing, double *x) {
  S2Mpcc *mpcc;
  S2MpccResult result;
  double zeros[MOST] = {0};
  must(s2_mpcc_new(def, &mpcc));
  must(s2_mpcc_start(mpcc, zeros, smoothing, &result));
  while (result.state == S2_MPCC_GOING && result.iterations < MOST_ITERATIONS) {
    must(s2_mpcc_iterate(mpcc, &result));
  }
  memcpy(x, s2_mpcc_point(mpcc), sizeof *x * (size_t)(def->width * def->stages));
  s2_mpcc_free(mpcc);
  return result;
}

// ---- Known answers ----------------------------------------------------------------------------

// The point of the corner x >= 0, y >= 0, x y = 0 that is nearest to (1, 2) is (0, 2).
static void test_corner(void **state) {
  (void)state;
  S2Formula positive[2] = {var(0), var(1)}, product[2] = {var(0), var(1)};
  S2MpccStage stage = {.cost = add(square(sub(var(0), num(1))), square(sub(var(1), num(2)))),
                       .positives = 2,
                       .positive = positive,
                       .products = 1,
                       .product = product};
  S2MpccDef def = def_of(2, 3, stage, stage, stage);
  for (int curved = 0; curved < 2; curved++) {
    double x[MOST];
    def.curvature = curved == 1;
    S2MpccResult result = solve(&def, 1, x);
    assert_int_equal(result.state, S2_MPCC_CONVERGED);
    for (int i = 0; i < 3; i++) {
      assert_near(x[2 * i], 0, 1e-6);
      assert_near(x[2 * i + 1], 2, 1e-6);
    }
    assert_near(result.cost, 3, 1e-5);
    assert_true(result.product <= 2.1e-7 /* a fifth of the violation */ && result.positive == 0 &&
                result.equal == 0);
  }
}

// A pusher at u moves a block by d = f, if it reaches the block at 1. With contact, d = u - 1, and
// (d - 2)^2 + u^2 / 10 is least at u = 3 / 1.1.
static void test_push_through_a_gap(void **state) {
  (void)state;
  S2Formula u = var(0), d = var(1), f = var(2);
  S2Formula gap = sub(add(num(1), d), u), equal[1] = {sub(d, f)};
  S2Formula positive[2] = {f, gap}, product[2] = {f, gap};
  S2MpccStage stage = {.cost = add(square(sub(d, num(2))), mul(num(0.1), square(u))),
                       .equals = 1,
                       .equal = equal,
                       .positives = 2,
                       .positive = positive,
                       .products = 1,
                       .product = product};
  S2MpccDef def = def_of(3, 2, stage, stage, stage);
  double x[MOST];
  S2MpccResult result = solve(&def, 1, x);
  assert_int_equal(result.state, S2_MPCC_CONVERGED);
  for (int i = 0; i < 2; i++) {
    assert_near(x[3 * i], 3 / 1.1, 1e-4);
    assert_near(x[3 * i + 1], 3 / 1.1 - 1, 1e-4);
  }
}

// min (x - 3)^2 with x <= 2
static void test_bound(void **state) {
  (void)state;
  S2Formula positive[1] = {sub(num(2), var(0))};
  S2MpccStage stage = {.cost = square(sub(var(0), num(3))), .positives = 1, .positive = positive};
  S2MpccDef def = def_of(1, 2, stage, stage, stage);
  double x[MOST];
  assert_int_equal(solve(&def, 1, x).state, S2_MPCC_CONVERGED);
  assert_near(x[0], 2, 1e-6);
}

// Without products and inequalities, a linear system with a quadratic cost is the LQR problem. The
// cost is x0' P x0, where P follows from Riccati's recursion.
static void test_lqr(void **state) {
  (void)state;
  enum { N = 40 };
  const double dt = 0.1, R = 0.1, x0 = 1, v0 = -0.5;
  S2Formula x = var(0), v = var(1), u = var(2), xn = var(3), vn = var(4);
  S2Formula dynamics[4] = {sub(sub(xn, x), mul(num(dt), v)), sub(sub(vn, v), mul(num(dt), u)),
                           sub(x, num(x0)), sub(v, num(v0))};
  S2Formula states = add(square(x), square(v));
  S2MpccStage running = {
      .cost = add(states, mul(num(R), square(u))), .equals = 2, .equal = dynamics};
  S2MpccStage first = running, last = {.cost = add(states, square(u))};
  first.equals = 4;
  S2MpccDef def = def_of(3, N, first, running, last);
  double found[MOST];
  S2MpccResult result = solve(&def, 1, found);
  assert_int_equal(result.state, S2_MPCC_CONVERGED);

  double a = 1, b = 0, c = 1; // P = [a b; b c], from the last stage backwards
  double gain[N][2];
  for (int k = N - 2; k >= 0; k--) {
    // A = [1 dt; 0 1], B = [0; dt]: P A, B'P B + R, and B'P A
    double pa[2][2] = {{a, a * dt + b}, {b, b * dt + c}};
    double bpb = dt * dt * c + R, bpa[2] = {dt * pa[1][0], dt * pa[1][1]};
    double apa[3] = {pa[0][0], pa[0][1], dt * pa[0][1] + pa[1][1]};
    gain[k][0] = bpa[0] / bpb;
    gain[k][1] = bpa[1] / bpb;
    a = 1 + apa[0] - bpa[0] * bpa[0] / bpb;
    b = apa[1] - bpa[0] * bpa[1] / bpb;
    c = 1 + apa[2] - bpa[1] * bpa[1] / bpb;
  }
  assert_near(result.cost, a * x0 * x0 + 2 * b * x0 * v0 + c * v0 * v0, 1e-6);
  for (int k = 0; k < N - 1; k++) {
    assert_near(found[3 * k + 2], -gain[k][0] * found[3 * k] - gain[k][1] * found[3 * k + 1], 1e-5);
  }
}

// The cost may depend on the next stage: the shortest path from 0 to 1 is a straight line.
static void test_cost_of_two_stages(void **state) {
  (void)state;
  enum { N = 11 };
  S2Formula start[1] = {var(0)}, goal[1] = {sub(var(0), num(1))};
  S2MpccStage running = {.cost = square(sub(var(1), var(0)))};
  S2MpccStage first = running, last = {.cost = num(0), .equals = 1, .equal = goal};
  first.equals = 1;
  first.equal = start;
  S2MpccDef def = def_of(1, N, first, running, last);
  double x[MOST];
  assert_int_equal(solve(&def, 1, x).state, S2_MPCC_CONVERGED);
  for (int i = 0; i < N; i++) {
    assert_near(x[i], i / (N - 1.0), 1e-5);
  }
}

// With curvature, a nonconvex equation is solved: the point of the unit circle nearest to (3, 4).
static void test_circle(void **state) {
  (void)state;
  S2Formula equal[1] = {sub(add(square(var(0)), square(var(1))), num(1))};
  S2MpccStage stage = {.cost = add(square(sub(var(0), num(3))), square(sub(var(1), num(4)))),
                       .equals = 1,
                       .equal = equal};
  S2MpccDef def = def_of(2, 2, stage, stage, stage);
  def.curvature = true;
  double x[MOST];
  assert_int_equal(solve(&def, 1, x).state, S2_MPCC_CONVERGED);
  assert_near(x[0], 0.6, 1e-6);
  assert_near(x[1], 0.8, 1e-6);
}

// ---- Failures ---------------------------------------------------------------------------------

static void test_contradictions_do_not_converge(void **state) {
  (void)state;
  S2Formula equal[2] = {var(0), sub(var(0), num(1))};
  S2MpccStage free = {.cost = square(var(0))}, stage = free;
  stage.equals = 2;
  stage.equal = equal;
  S2MpccDef def = def_of(1, 4, free, stage, free);
  double x[MOST];
  S2MpccResult result = solve(&def, 1, x);
  assert_int_not_equal(result.state, S2_MPCC_CONVERGED);
  assert_true(result.equal >= 0.5 - 1e-9); // the least possible
  assert_int_equal(result.worst, S2_MPCC_EQUAL);
  assert_true(result.worst_stage == 1 || result.worst_stage == 2);
}

static void assert_refused(S2Status status, const char *text) {
  assert_int_equal(status.code, S2_INVALID);
  if (strstr(status.message, text) == NULL) {
    fail_msg("'%s' does not contain '%s'", status.message, text);
  }
}

static void test_bad_input(void **state) {
  (void)state;
  S2MpccStage stage = {.cost = square(var(0))};
  S2MpccDef def = def_of(1, 2, stage, stage, stage), bad = def;
  S2Mpcc *mpcc;
  bad.width = 0;
  assert_refused(s2_mpcc_new(&bad, &mpcc), "width: at least 1 unknown expected, got 0");
  assert_null(mpcc);
  bad = def;
  bad.stages = 1;
  assert_refused(s2_mpcc_new(&bad, &mpcc), "stages: at least 2 expected, got 1");
  bad = def;
  bad.tolerance = 0;
  assert_refused(s2_mpcc_new(&bad, &mpcc), "tolerance: a number above 0 expected, got 0");
  bad = def;
  bad.violation = -1;
  assert_refused(s2_mpcc_new(&bad, &mpcc), "violation: a number above 0 expected, got -1");
  S2Formula constant[2] = {var(0), num(3)};
  bad = def;
  bad.last.equals = 2;
  bad.last.equal = constant;
  assert_refused(s2_mpcc_new(&bad, &mpcc), "stage 2: equal[2] does not depend on an unknown");
  assert_null(mpcc);

  S2Formula inverse[1] = {s2_formula_power(graph, var(0), -1)};
  bad = def;
  bad.last.positives = 1;
  bad.last.positive = inverse;
  S2MpccResult result;
  double zeros[2] = {0, 0};
  must(s2_mpcc_new(&bad, &mpcc));
  assert_refused(s2_mpcc_start(mpcc, zeros, 1, &result), "positive[1] of stage 2 is inf");
  assert_refused(s2_mpcc_start(mpcc, zeros, 0, &result), "smoothing: a number above 0");
  s2_mpcc_free(mpcc);
}

// ---- Parts ------------------------------------------------------------------------------------

static void test_same_bits(void **state) {
  (void)state;
  S2Formula gap = sub(var(0), num(1)), positive[2] = {var(1), gap}, product[2] = {var(1), gap};
  S2MpccStage stage = {.cost = add(square(sub(var(0), var(2))), square(sub(var(1), num(0.3)))),
                       .positives = 2,
                       .positive = positive,
                       .products = 1,
                       .product = product};
  S2MpccStage last = stage;
  last.cost = square(var(1));
  S2MpccDef def = def_of(2, 30, stage, stage, last);
  double once[MOST], again[MOST];
  solve(&def, 1, once);
  solve(&def, 1, again);
  assert_memory_equal(once, again, sizeof(double) * 60);
}

static void test_projection(void **state) {
  (void)state;
  enum { SIZE = 3, ALL = SIZE * SIZE * S2_MPCC_LANES };
  double a[ALL] = {0}, was[ALL], work[ALL];
  for (int lane = 0; lane < S2_MPCC_LANES; lane++) {
    for (int i = 0; i < SIZE; i++) {
      for (int j = 0; j <= i; j++) {
        double value = sin(1 + 3.1 * i + 1.7 * j + 0.9 * lane);
        a[(i * SIZE + j) * S2_MPCC_LANES + lane] = value;
        a[(j * SIZE + i) * S2_MPCC_LANES + lane] = value;
      }
    }
  }
  // lane 0: [0 1 0; 1 0 0; 0 0 -2] has the positive part [.5 .5 0; .5 .5 0; 0 0 0]
  const double first[9] = {0, 1, 0, 1, 0, 0, 0, 0, -2};
  const double expected[9] = {0.5, 0.5, 0, 0.5, 0.5, 0, 0, 0, 0};
  for (int k = 0; k < 9; k++) {
    a[k * S2_MPCC_LANES] = first[k];
  }
  memcpy(was, a, sizeof a);
  s2_mpcc_project(SIZE, a, work);
  for (int k = 0; k < 9; k++) {
    assert_near(a[k * S2_MPCC_LANES], expected[k], 1e-14);
  }
  // a is positive semidefinite, so is a - was, and their product is zero: this defines the part
  for (int lane = 0; lane < S2_MPCC_LANES; lane++) {
    for (int i = 0; i < SIZE; i++) {
      assert_true(a[(i * SIZE + i) * S2_MPCC_LANES + lane] >= -1e-14);
      for (int j = 0; j < SIZE; j++) {
        double sum = 0;
        for (int k = 0; k < SIZE; k++) {
          int kj = (k * SIZE + j) * S2_MPCC_LANES + lane;
          sum += a[(i * SIZE + k) * S2_MPCC_LANES + lane] * (a[kj] - was[kj]);
        }
        assert_near(sum, 0, 1e-13);
      }
    }
  }
}

// The gradient and the Jacobian against differences, for rows and costs of two stages.
static void test_slopes_agree_with_differences(void **state) {
  (void)state;
  enum { W = 2, N = 5 };
  S2Formula equal[1] = {sub(s2_formula_unary(graph, S2_FORMULA_SIN, var(2)), mul(var(0), var(1)))};
  S2Formula positive[1] = {sub(num(9), mul(var(0), var(3)))}, product[2] = {var(0), var(1)};
  S2MpccStage running = {.cost = mul(square(var(0)), var(2)),
                         .equals = 1,
                         .equal = equal,
                         .positives = 1,
                         .positive = positive,
                         .products = 1,
                         .product = product};
  S2MpccStage last = {.cost = square(var(1))};
  S2MpccDef def = def_of(W, N, running, running, last);
  S2Arena arena;
  s2_arena_init(&arena);
  S2MpccProblem problem;
  must(s2_mpcc_problem_init(&problem, &def, &arena));
  double x[W * N], dx[W * N], gradient[W * N], rows[MOST], up[MOST], down[MOST], along[MOST];
  double y[MOST], back[W * N];
  for (int k = 0; k < W * N; k++) {
    x[k] = sin(1 + k);
    dx[k] = cos(2.3 * k);
    back[k] = 0;
  }
  s2_mpcc_values(&problem, x, 0, rows);
  s2_mpcc_slopes(&problem, x, gradient);
  s2_mpcc_times_inequalities(&problem, dx, along);
  const double step = 1e-5;
  double moved[W * N], slope = 0, dual = 0, primal = 0;
  for (int k = 0; k < W * N; k++) {
    moved[k] = x[k] + step * dx[k];
    slope += gradient[k] * dx[k];
  }
  double change = s2_mpcc_values(&problem, moved, 0, up);
  for (int k = 0; k < W * N; k++) {
    moved[k] = x[k] - step * dx[k];
  }
  change -= s2_mpcc_values(&problem, moved, 0, down);
  assert_near(slope, change / (2 * step), 1e-8);
  for (int k = 0; k < problem.rows; k++) {
    y[k] = cos(k);
    primal += y[k] * (up[k] - down[k]) / (2 * step);
    if (problem.equation[k] < 0) {
      assert_near(along[k], (up[k] - down[k]) / (2 * step), 1e-8);
    }
  }
  s2_mpcc_add_transposed(&problem, true, 1, y, back);
  for (int k = 0; k < W * N; k++) {
    dual += back[k] * dx[k];
  }
  assert_near(dual, primal, 1e-8);
  s2_mpcc_problem_free(&problem);
  s2_arena_free(&arena);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_corner),
      TEST(test_push_through_a_gap),
      TEST(test_bound),
      TEST(test_lqr),
      TEST(test_cost_of_two_stages),
      TEST(test_circle),
      TEST(test_contradictions_do_not_converge),
      TEST(test_bad_input),
      TEST(test_same_bits),
      TEST(test_projection),
      TEST(test_slopes_agree_with_differences),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
