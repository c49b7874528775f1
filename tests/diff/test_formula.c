// Formulas: values and derivatives against closed forms and differences, and programs.
#include "diff/formula/program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double is, double was, double allowed) {
  if (!(fabs(is - was) <= allowed)) {
    fail_msg("%.17g is not within %g of %.17g", is, allowed, was);
  }
}

enum { VARIABLES = 3 };

// Computes formulas at one point.
static void compute(const S2FormulaGraph *graph, int count, const S2Formula *formulas,
                    const double *x, double *out) {
  S2FormulaProgram *program = s2_formula_compile(graph, count, formulas);
  S2FormulaPoints points = {
      .count = 1, .x = x, .x_stride = VARIABLES, .out = out, .out_stride = count};
  s2_formula_run(program, &points);
  s2_formula_program_free(program);
}

static S2Formula binary(S2FormulaGraph *graph, S2FormulaOp op, S2Formula a, S2Formula b) {
  return s2_formula_binary(graph, op, a, b);
}

static void test_equal_formulas_are_stored_once(void **state) {
  (void)state;
  S2FormulaGraph *graph = s2_formula_graph_new();
  S2Formula x = s2_formula_variable(graph, 0, 0), y = s2_formula_variable(graph, 0, 1);
  S2Formula zero = s2_formula_number(graph, 0), one = s2_formula_number(graph, 1);
  assert_int_equal(binary(graph, S2_FORMULA_ADD, x, y), binary(graph, S2_FORMULA_ADD, y, x));
  assert_int_not_equal(binary(graph, S2_FORMULA_SUBTRACT, x, y),
                       binary(graph, S2_FORMULA_SUBTRACT, y, x));
  assert_int_equal(binary(graph, S2_FORMULA_ADD, x, zero), x);
  assert_int_equal(binary(graph, S2_FORMULA_MULTIPLY, one, x), x);
  assert_int_equal(binary(graph, S2_FORMULA_DIVIDE, x, one), x);
  assert_int_equal(binary(graph, S2_FORMULA_MULTIPLY, x, zero), zero);
  assert_int_equal(binary(graph, S2_FORMULA_SUBTRACT, x, x), zero);
  assert_int_equal(s2_formula_number(graph, -0.0), zero);
  assert_int_equal(s2_formula_power(graph, x, 2), binary(graph, S2_FORMULA_MULTIPLY, x, x));
  double number;
  S2Formula six =
      binary(graph, S2_FORMULA_MULTIPLY, s2_formula_number(graph, 2), s2_formula_number(graph, 3));
  assert_true(s2_formula_constant(graph, six, &number));
  assert_near(number, 6, 0);
  // Many nodes, so that the table grows. Each is found again.
  for (int i = 0; i < 3000; i++) {
    S2Formula f = s2_formula_number(graph, 100 + i);
    assert_int_equal(s2_formula_number(graph, 100 + i), f);
  }
  s2_formula_graph_free(graph);
}

// A formula with all operations. The arguments of log and sqrt are positive.
static S2Formula all_operations(S2FormulaGraph *graph) {
  S2Formula x = s2_formula_variable(graph, 0, 0), y = s2_formula_variable(graph, 0, 1);
  S2Formula z = s2_formula_variable(graph, 0, 2);
  S2Formula f = binary(graph, S2_FORMULA_MULTIPLY, s2_formula_unary(graph, S2_FORMULA_SIN, x), y);
  f = binary(graph, S2_FORMULA_SUBTRACT, f, s2_formula_unary(graph, S2_FORMULA_COS, z));
  f = binary(graph, S2_FORMULA_DIVIDE, f, binary(graph, S2_FORMULA_ADD, y, z));
  f = binary(graph, S2_FORMULA_ADD, f, s2_formula_unary(graph, S2_FORMULA_EXP, f));
  S2Formula square = binary(graph, S2_FORMULA_MULTIPLY, f, f);
  S2Formula above = binary(graph, S2_FORMULA_ADD, square, s2_formula_number(graph, 1));
  f = binary(graph, S2_FORMULA_ADD, f, s2_formula_unary(graph, S2_FORMULA_LOG, above));
  f = binary(graph, S2_FORMULA_ADD, f, s2_formula_unary(graph, S2_FORMULA_SQRT, above));
  f = binary(graph, S2_FORMULA_MULTIPLY, f, s2_formula_unary(graph, S2_FORMULA_TANH, x));
  f = binary(graph, S2_FORMULA_ADD, f, s2_formula_unary(graph, S2_FORMULA_ATAN, square));
  f = binary(graph, S2_FORMULA_ADD, f, s2_formula_power(graph, above, 1.7));
  return binary(graph, S2_FORMULA_ADD, f, s2_formula_power(graph, y, -3));
}

static double by_hand(const double p[VARIABLES]) {
  double f = (sin(p[0]) * p[1] - cos(p[2])) / (p[1] + p[2]);
  f += exp(f);
  double above = f * f + 1, square = f * f;
  f = (f + log(above) + sqrt(above)) * tanh(p[0]) + atan(square) + pow(above, 1.7);
  return f + 1 / (p[1] * p[1] * p[1]);
}

static void test_derivatives_agree_with_differences(void **state) {
  (void)state;
  S2FormulaGraph *graph = s2_formula_graph_new();
  S2Formula f = all_operations(graph), list[1 + VARIABLES + VARIABLES * VARIABLES];
  S2FormulaSlope first[VARIABLES], second[VARIABLES];
  int count = 0;
  list[count++] = f;
  assert_int_equal(s2_formula_gradient(graph, f, 0, VARIABLES, first), VARIABLES);
  for (int i = 0; i < VARIABLES; i++) {
    assert_int_equal(first[i].index, i);
    list[count++] = first[i].slope;
  }
  for (int i = 0; i < VARIABLES; i++) {
    assert_int_equal(s2_formula_gradient(graph, first[i].slope, 0, VARIABLES, second), VARIABLES);
    for (int j = 0; j < VARIABLES; j++) {
      list[count++] = second[j].slope;
    }
  }
  double x[VARIABLES] = {0.7, 0.9, -0.3}, out[16], up[16], down[16];
  compute(graph, count, list, x, out);
  assert_near(out[0], by_hand(x), 1e-14);
  const double step = 1e-5; // differences are right to about 1e-9
  for (int j = 0; j < VARIABLES; j++) {
    double moved[VARIABLES] = {x[0], x[1], x[2]};
    moved[j] = x[j] + step;
    compute(graph, count, list, moved, up);
    moved[j] = x[j] - step;
    compute(graph, count, list, moved, down);
    for (int i = 0; i <= VARIABLES; i++) { // f, then its gradient
      double slope = (up[i] - down[i]) / (2 * step);
      double exact = i == 0 ? out[1 + j] : out[1 + VARIABLES + (i - 1) * VARIABLES + j];
      assert_near(exact, slope, 1e-7 * fmax(1, fabs(exact)));
    }
  }
  s2_formula_graph_free(graph);
}

static void test_gradients_list_only_what_f_depends_on(void **state) {
  (void)state;
  S2FormulaGraph *graph = s2_formula_graph_new();
  S2Formula x = s2_formula_variable(graph, 0, 0), z = s2_formula_variable(graph, 0, 2);
  S2Formula y = s2_formula_variable(graph, 1, 1); // of another array
  S2FormulaSlope slopes[VARIABLES];
  S2Formula f = binary(graph, S2_FORMULA_MULTIPLY, binary(graph, S2_FORMULA_ADD, x, y), z);
  assert_int_equal(s2_formula_gradient(graph, f, 0, VARIABLES, slopes), 2);
  assert_int_equal(slopes[0].index, 0);
  assert_int_equal(slopes[0].slope, z);
  assert_int_equal(slopes[1].index, 2);
  assert_int_equal(s2_formula_gradient(graph, f, 1, 2, slopes), 1);
  assert_int_equal(s2_formula_gradient(graph, f, 0, 1, slopes), 1);
  f = binary(graph, S2_FORMULA_SUBTRACT, binary(graph, S2_FORMULA_ADD, x, z), x);
  assert_int_equal(s2_formula_gradient(graph, f, 0, VARIABLES, slopes), 1); // x cancels
  f = s2_formula_number(graph, 3);
  assert_int_equal(s2_formula_gradient(graph, f, 0, VARIABLES, slopes), 0);
  s2_formula_graph_free(graph);
}

// Any number of points gives the bits of one point at a time, with both arrays.
static void test_points_do_not_affect_each_other(void **state) {
  (void)state;
  enum { POINTS = 19, OUTPUTS = 3 };
  S2FormulaGraph *graph = s2_formula_graph_new();
  S2Formula f = all_operations(graph), y = s2_formula_variable(graph, 1, 1);
  S2Formula list[OUTPUTS] = {f, s2_formula_number(graph, 2.5),
                             binary(graph, S2_FORMULA_MULTIPLY, f, y)};
  S2FormulaProgram *program = s2_formula_compile(graph, OUTPUTS, list);
  assert_true(s2_formula_program_length(program) > OUTPUTS);
  double x[POINTS * VARIABLES], ys[POINTS * 2], all[POINTS * OUTPUTS], one[OUTPUTS];
  for (int i = 0; i < POINTS * VARIABLES; i++) {
    x[i] = 0.5 + 0.1 * sin(i);
  }
  for (int i = 0; i < POINTS * 2; i++) {
    ys[i] = i;
  }
  for (int count = 1; count <= POINTS; count++) {
    S2FormulaPoints points = {count, x, ys, VARIABLES, 2, all, OUTPUTS};
    s2_formula_run(program, &points);
    for (int i = 0; i < count; i++) {
      S2FormulaPoints point = {1, x + i * VARIABLES, ys + 2 * i, VARIABLES, 2, one, OUTPUTS};
      s2_formula_run(program, &point);
      assert_memory_equal(one, all + i * OUTPUTS, sizeof one);
      assert_near(one[1], 2.5, 0);
      assert_near(one[2], one[0] * ys[2 * i + 1], 0);
    }
  }
  s2_formula_program_free(program);
  s2_formula_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equal_formulas_are_stored_once),
      cmocka_unit_test(test_derivatives_agree_with_differences),
      cmocka_unit_test(test_gradients_list_only_what_f_depends_on),
      cmocka_unit_test(test_points_do_not_affect_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
