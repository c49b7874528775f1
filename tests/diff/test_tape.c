// The tape: random expressions compared with central differences, nodes of other kinds, memory,
// misuse.
#include "base/memory.h"
#include "base/rng.h"
#include "diff/tape/tape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { INPUTS = 4, OPERATIONS = 60, GRAPHS = 200 };

static const double AGREE = 1e-8; // relative error

typedef struct Operation {
  int kind, a, b; // operands: indices of earlier results, inputs first
} Operation;

static void random_graph(S2Rng *rng, Operation *graph) {
  for (int i = 0; i < OPERATIONS; i++) {
    graph[i].kind = (int)s2_rng_integer(rng, 0, 5);
    graph[i].a = (int)s2_rng_integer(rng, 0, INPUTS + i - 1);
    graph[i].b = (int)s2_rng_integer(rng, 0, INPUTS + i - 1);
  }
}

// Smooth and bounded, so that differences are accurate: values stay within a few units.
static double operate(int kind, double a, double b, double *da, double *db) {
  *db = 0;
  switch (kind) {
  case 0:
    *da = *db = 0.5;
    return (a + b) / 2;
  case 1:
    *da = 1, *db = -1;
    return a - b;
  case 2:
    *da = b * cos(a * b), *db = a * cos(a * b);
    return sin(a * b);
  case 3: {
    double c = 1 + b * b;
    *da = 1 / c, *db = -2 * a * b / (c * c);
    return a / c;
  }
  case 4:
    *da = 1 - tanh(a) * tanh(a);
    return tanh(a);
  default:
    *da = cos(a);
    return sin(a);
  }
}

static double evaluate(const Operation *graph, const double *x) {
  double value[INPUTS + OPERATIONS], da, db;
  memcpy(value, x, INPUTS * sizeof *x);
  for (int i = 0; i < OPERATIONS; i++) {
    value[INPUTS + i] = operate(graph[i].kind, value[graph[i].a], value[graph[i].b], &da, &db);
  }
  return value[INPUTS + OPERATIONS - 1];
}

static double slope(const Operation *graph, const double *x, int k) {
  double d[2], step = 1e-3;
  for (int i = 0; i < 2; i++, step /= 2) {
    double at[INPUTS], side[4];
    memcpy(at, x, sizeof at);
    for (int j = 0; j < 4; j++) { // five points: the error is of the fourth order
      static const double WHERE[4] = {-2, -1, 1, 2};
      at[k] = x[k] + WHERE[j] * step;
      side[j] = evaluate(graph, at);
    }
    d[i] = (side[0] - 8 * side[1] + 8 * side[2] - side[3]) / (12 * step);
  }
  return d[1] + (d[1] - d[0]) / 15;
}

typedef struct Taped {
  S2Var input, var[INPUTS + OPERATIONS], output;
} Taped;

// The input `constant` (-1: none) is recorded as a plain number: it gets no derivative.
static Taped record(S2Tape *tape, const Operation *graph, const double *x, int constant) {
  Taped taped = {.input = s2_tape_input(tape, x, INPUTS)};
  double value[INPUTS + OPERATIONS];
  for (int i = 0; i < INPUTS; i++) {
    value[i] = x[i];
    taped.var[i] = i == constant ? 0 : s2_tape_element(tape, taped.input, i);
  }
  for (int i = 0; i < OPERATIONS; i++) {
    double da, db;
    int a = graph[i].a, b = graph[i].b;
    double result = operate(graph[i].kind, value[a], value[b], &da, &db);
    value[INPUTS + i] = result;
    taped.var[INPUTS + i] = graph[i].kind < 4
                                ? s2_tape_scalar2(tape, result, taped.var[a], da, taped.var[b], db)
                                : s2_tape_scalar1(tape, result, taped.var[a], da);
  }
  taped.output = taped.var[INPUTS + OPERATIONS - 1];
  return taped;
}

static void graphs_agree_with_differences(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(5);
  S2Tape *tape = s2_tape_new();
  double worst = 0;
  int nonzero = 0;
  for (int n = 0; n < GRAPHS; n++) {
    Operation graph[OPERATIONS];
    random_graph(&rng, graph);
    double x[INPUTS];
    for (int i = 0; i < INPUTS; i++) {
      x[i] = 2 * s2_rng_uniform(&rng) - 1;
    }
    int constant = n % 3 == 0 ? (int)s2_rng_integer(&rng, 0, INPUTS - 1) : -1;
    s2_tape_clear(tape);
    Taped taped = record(tape, graph, x, constant);
    if (taped.output != 0) {
      assert_true(*s2_tape_value(tape, taped.output) == evaluate(graph, x));
    }
    assert_int_equal(s2_tape_sweep(tape, taped.output, NULL).code, S2_OK);
    double found[INPUTS];
    memcpy(found, s2_tape_adjoint(tape, taped.input), sizeof found);
    for (int i = 0; i < INPUTS; i++) {
      double expected = i == constant ? 0 : slope(graph, x, i);
      double error = fabs(found[i] - expected) / fmax(1, fabs(expected));
      worst = fmax(worst, error);
      nonzero += found[i] != 0;
    }
    // Many outputs are computed forwards; these are the same sums in another order.
    S2TapeNumber outputs[OPERATIONS], inputs[INPUTS];
    double matrix[OPERATIONS][INPUTS];
    for (int i = 0; i < OPERATIONS; i++) {
      outputs[i] = (S2TapeNumber){taped.var[INPUTS + i], 0};
    }
    for (int i = 0; i < INPUTS; i++) {
      inputs[i] = (S2TapeNumber){taped.input, i};
    }
    assert_int_equal(
        s2_tape_jacobian(tape, OPERATIONS, outputs, INPUTS, inputs, &matrix[0][0]).code, S2_OK);
    for (int i = 0; i < INPUTS; i++) {
      double forward = matrix[OPERATIONS - 1][i];
      assert_true(fabs(forward - found[i]) <= 1e-12 * fmax(1, fabs(found[i])));
    }
  }
  assert_true(worst <= AGREE);
  assert_true(nonzero > GRAPHS);
  s2_tape_free(tape);
}

static void sweeps_can_be_repeated(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(6);
  Operation graph[OPERATIONS];
  random_graph(&rng, graph);
  const double x[INPUTS] = {0.3, -0.7, 1.1, 0.2};
  S2Tape *tape = s2_tape_new();
  Taped taped = record(tape, graph, x, -1);
  double first[INPUTS], again[INPUTS], seed = 3;
  assert_int_equal(s2_tape_sweep(tape, taped.output, NULL).code, S2_OK);
  memcpy(first, s2_tape_adjoint(tape, taped.input), sizeof first);
  assert_int_equal(s2_tape_sweep(tape, taped.var[INPUTS + 3], NULL).code, S2_OK); // another output
  assert_int_equal(s2_tape_sweep(tape, taped.output, NULL).code, S2_OK);
  memcpy(again, s2_tape_adjoint(tape, taped.input), sizeof again);
  assert_memory_equal(first, again, sizeof first); // the same bits
  assert_int_equal(s2_tape_sweep(tape, taped.output, &seed).code, S2_OK);
  for (int i = 0; i < INPUTS; i++) {
    assert_true(fabs(s2_tape_adjoint(tape, taped.input)[i] - 3 * first[i]) <=
                1e-14 * fabs(first[i]));
  }
  s2_tape_free(tape);
}

// y = A x as a node, and a counter that acts on the world of this test.
typedef struct Product {
  double a[6]; // 2 x 3
  S2Var x;
  int swept, released, started;
} Product;

static S2Status product_backward(S2Tape *tape, S2Var node, void *data) {
  Product *product = data;
  const double *dy = s2_tape_adjoint(tape, node);
  double *dx = s2_tape_adjoint(tape, product->x);
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 3; j++) {
      dx[j] += dy[i] * product->a[3 * i + j];
    }
  }
  product->swept += 1;
  return s2_ok();
}

static S2Status act_backward(S2Tape *tape, S2Var node, void *data) {
  Product *product = data;
  assert_int_equal(s2_tape_count(tape, node), 0);
  assert_true(s2_tape_sweeping(tape));
  assert_int_equal(product->swept, 0); // later acts are undone before
  S2Status again = s2_tape_sweep(tape, node, NULL);
  return again.code == S2_BUSY ? s2_ok() : s2_error(S2_INVALID, "a sweep within a sweep");
}

static void count_release(void *data) {
  ((Product *)data)->released += 1;
}
static void count_start(void *data) {
  ((Product *)data)->started += 1;
  ((Product *)data)->swept = 0;
}

static void other_nodes(void **state) {
  (void)state;
  Product product = {.a = {1, 2, 3, 4, 5, 6}};
  const double x[3] = {1, -1, 2}, y[2] = {5, 11};
  S2Tape *tape = s2_tape_new();
  for (int round = 1; round <= 3; round++) {
    product.started = 0;
    product.x = s2_tape_input(tape, x, 3);
    S2Var node = s2_tape_node(tape, 2, y, product_backward, count_release, &product);
    assert_int_equal(s2_tape_count(tape, node), 2);
    assert_true(s2_tape_value(tape, node)[1] == 11);
    s2_tape_node(tape, 0, NULL, act_backward, NULL, &product);
    s2_tape_at_start(tape, count_start, &product);
    S2Var second = s2_tape_element(tape, node, 1);
    S2Var square = s2_tape_scalar2(tape, 121, second, 11, second, 11);
    for (int i = 0; i < 2; i++) {
      assert_int_equal(s2_tape_sweep(tape, square, NULL).code, S2_OK);
      const double *dx = s2_tape_adjoint(tape, product.x);
      assert_true(dx[0] == 22 * 4 && dx[1] == 22 * 5 && dx[2] == 22 * 6);
      assert_int_equal(product.swept, 1);
    }
    const double seed[2] = {1, -1};
    assert_int_equal(s2_tape_sweep(tape, node, seed).code, S2_OK);
    assert_true(s2_tape_adjoint(tape, product.x)[2] == 3 - 6);
    assert_int_equal(product.started, 3);
    // In forward mode, a node that only has a backward function requires one sweep a row.
    const S2TapeNumber outputs[4] = {{square, 0}, {node, 1}, {node, 0}, {0, 0}};
    const S2TapeNumber inputs[2] = {{product.x, 1}, {product.x, 2}};
    double matrix[8];
    assert_int_equal(s2_tape_jacobian(tape, 4, outputs, 2, inputs, matrix).code, S2_OK);
    const double expected[8] = {22 * 5, 22 * 6, 5, 6, 2, 3, 0, 0};
    assert_memory_equal(matrix, expected, sizeof expected);
    s2_tape_clear(tape);
    assert_int_equal(product.released, round);
  }
  s2_tape_node(tape, 1, NULL, NULL, count_release, &product);
  s2_tape_free(tape);
  assert_int_equal(product.released, 4);
  s2_tape_free(NULL);
}

static S2Status fail_backward(S2Tape *tape, S2Var node, void *data) {
  (void)tape, (void)node, (void)data;
  return s2_error(S2_INVALID, "no derivative of %s", "this");
}

static void failures_and_constants(void **state) {
  (void)state;
  S2Tape *tape = s2_tape_new();
  const double one = 1;
  S2Var x = s2_tape_input(tape, &one, 1);
  assert_int_equal(s2_tape_scalar1(tape, 1, 0, 5), 0);
  assert_int_equal(s2_tape_scalar2(tape, 1, 0, 5, 0, 6), 0);
  assert_int_equal(s2_tape_element(tape, 0, 0), 0);
  assert_int_equal(s2_tape_count(tape, 0), 0);
  assert_null(s2_tape_value(tape, 0));
  assert_int_equal(s2_tape_sweep(tape, 0, NULL).code, S2_OK); // a constant: all adjoints are zero
  assert_true(*s2_tape_adjoint(tape, x) == 0);
  assert_null(s2_tape_adjoint(tape, 0));
  assert_int_equal(s2_tape_sweep(tape, 77, NULL).code, S2_INVALID);
  S2Var act = s2_tape_node(tape, 0, NULL, NULL, NULL, NULL);
  assert_int_equal(s2_tape_sweep(tape, act, NULL).code, S2_INVALID);
  S2Var bad = s2_tape_node(tape, 1, NULL, fail_backward, NULL, NULL);
  S2Status status = s2_tape_sweep(tape, bad, NULL);
  assert_int_equal(status.code, S2_INVALID);
  assert_string_equal(status.message, "no derivative of this");
  assert_false(s2_tape_sweeping(tape));
  assert_int_equal(s2_tape_sweep(tape, x, NULL).code, S2_OK); // and it can continue
  assert_true(*s2_tape_adjoint(tape, x) == 1);
  s2_tape_free(tape);
}

static void infinite_slopes_count_only_where_asked_for(void **state) {
  (void)state;
  S2Tape *tape = s2_tape_new();
  const double zero = 0;
  S2Var x = s2_tape_input(tape, &zero, 1);
  S2Var root = s2_tape_scalar1(tape, 0, x, (double)INFINITY);
  S2Var unused = s2_tape_scalar2(tape, 0, root, 0, x, 2); // 0 sqrt(x) + 2 x
  assert_int_equal(s2_tape_sweep(tape, unused, NULL).code, S2_OK);
  assert_true(*s2_tape_adjoint(tape, x) == 2);
  const S2TapeNumber both[2] = {{unused, 0}, {root, 0}}, input = {x, 0};
  double slopes[2];
  for (int i = 0; i < 2; i++) { // forwards, and backwards where one row is asked for
    assert_int_equal(s2_tape_jacobian(tape, 2 - i, both, 1, &input, slopes).code, S2_OK);
    assert_true(slopes[0] == 2 && (i == 1 || isinf(slopes[1])));
  }
  assert_int_equal(s2_tape_sweep(tape, root, NULL).code, S2_OK);
  assert_true(isinf(*s2_tape_adjoint(tape, x)));
  s2_tape_free(tape);
}

static void fill(S2Tape *tape, int operations) {
  const double x[2] = {1, 2};
  S2Var input = s2_tape_input(tape, x, 2);
  S2Var a = s2_tape_element(tape, input, 0), b = s2_tape_element(tape, input, 1);
  for (int i = 0; i < operations; i++) {
    a = s2_tape_scalar2(tape, 1, a, 0.5, b, 0.5);
    if (i % 100 == 0) {
      unsigned char *memory = s2_tape_take(tape, 100);
      assert_int_equal((uintptr_t)memory % 16, 0);
      memset(memory, 0xff, 100);
    }
  }
  assert_int_equal(s2_tape_sweep(tape, a, NULL).code, S2_OK);
}

static void memory_is_kept_for_the_next(void **state) {
  (void)state;
  S2Tape *tape = s2_tape_new();
  size_t empty = s2_tape_bytes(tape);
  fill(tape, 50000);
  size_t full = s2_tape_bytes(tape);
  assert_int_equal(s2_tape_nodes(tape), 50003);
  assert_true(full >= empty + (size_t)50000 * 48);
  assert_true(full <= empty + (size_t)50000 * 48 * 2 + 100000);
  s2_tape_count_bytes(tape, 12345);
  assert_int_equal(s2_tape_bytes(tape), full + 12345);
  s2_tape_count_bytes(tape, -345);
  assert_int_equal(s2_tape_bytes(tape), full + 12000);
  assert_int_equal(s2_tape_peak(tape), full + 12345);
  s2_tape_clear(tape);
  assert_int_equal(s2_tape_nodes(tape), 0);
  assert_int_equal(s2_tape_peak(tape), empty);
  fill(tape, 50000); // (the arena reaches its size)
  s2_tape_clear(tape);
  uint64_t before = s2_memory_count();
  fill(tape, 50000);
  assert_int_equal(s2_memory_count(), before);
  assert_int_equal(s2_tape_bytes(tape), full);
  s2_tape_free(tape);
}

// A sweep of the nodes after a given one; a sweep of the whole gives the same as before.
static void the_newest_nodes_alone(void **state) {
  (void)state;
  S2Tape *tape = s2_tape_new();
  const double p = 3, x[2] = {2, 5};
  S2Var of_p = s2_tape_input(tape, &p, 1);
  S2Var square = s2_tape_scalar1(tape, 9, of_p, 6);
  S2Var first = s2_tape_next(tape), input = s2_tape_input(tape, x, 2);
  assert_int_equal(input, first);
  S2Var of_x = s2_tape_element(tape, input, 1);
  S2Var y = s2_tape_scalar2(tape, 45, square, 5, of_x, 9); // p^2 x_1
  for (int i = 0; i < 2; i++) {
    assert_int_equal(s2_tape_sweep_since(tape, y, first).code, S2_OK);
    assert_true(s2_tape_adjoint(tape, input)[0] == 0 && s2_tape_adjoint(tape, input)[1] == 9);
    assert_int_equal(s2_tape_sweep(tape, y, NULL).code, S2_OK);
    assert_true(*s2_tape_adjoint(tape, of_p) == 30 && s2_tape_adjoint(tape, input)[1] == 9);
  }
  s2_tape_free(tape);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(graphs_agree_with_differences),
      cmocka_unit_test(sweeps_can_be_repeated),
      cmocka_unit_test(the_newest_nodes_alone),
      cmocka_unit_test(other_nodes),
      cmocka_unit_test(failures_and_constants),
      cmocka_unit_test(infinite_slopes_count_only_where_asked_for),
      cmocka_unit_test(memory_is_kept_for_the_next),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
