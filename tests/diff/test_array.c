// Arrays: the values of the operations, and every derivative on a tape, compared with central
// differences.
#include "base/rng.h"
#include "diff/tape/array_tape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 320, ROUNDS = 10 };              // numbers in a case, random arguments for each
static const double STEP = 1e-3, AGREE = 1e-8; // AGREE: relative to the largest derivative

// ---- Derivatives of random problems -----------------------------------------------------------

// Computes `out` from the arguments a and b, and its node if there is a tape. Returns the number of
// elements.
typedef struct Case Case;
typedef size_t Compute(const Case *test, S2Tape *tape, const S2Array *a, const S2Array *b,
                       double *out, S2Var *node);
struct Case {
  const char *name;
  Compute *compute;
  int op, axis;
  S2Size a, b;   // b: 0 rows where there is no second one
  double lo, hi; // range of random arguments
};

static double random_in(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

// Both arguments are blocks of one input, so that its node has all derivatives.
static size_t compute(const Case *test, S2Tape *tape, const double *x, S2Var input, double *out,
                      S2Var *node) {
  size_t size_a = s2_size_count(test->a), size_b = s2_size_count(test->b);
  S2Array all = {s2_size_list((int)(size_a + size_b)), x, input}, a = {test->a, x, 0};
  S2Array b = {test->b, x + size_a, 0};
  const S2ArrayBlock block_a = {1, (int)size_a, 0, 0, 1};
  const S2ArrayBlock block_b = {1, (int)size_b, (ptrdiff_t)size_a, 0, 1};
  if (tape != NULL) {
    a.var = s2_note_gather(tape, &block_a, &all, a.data);
    b.var = s2_note_gather(tape, &block_b, &all, b.data);
  }
  return test->compute(test, tape, &a, &b, out, node);
}

static double loss(const Case *test, const double *x, const double *weights) {
  double out[MOST], sum = 0;
  size_t count = compute(test, NULL, x, 0, out, NULL);
  assert_true(count <= MOST);
  for (size_t i = 0; i < count; i++) {
    sum += weights[i] * out[i];
  }
  return sum;
}

static void check(const Case *test, uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  double x[MOST], weights[MOST], out[MOST];
  size_t size = s2_size_count(test->a) + s2_size_count(test->b);
  for (size_t i = 0; i < MOST; i++) {
    x[i] = random_in(&rng, test->lo, test->hi);
    weights[i] = random_in(&rng, -1, 1);
  }
  S2Tape *tape = s2_tape_new();
  S2Var node = 0;
  compute(test, tape, x, s2_tape_input(tape, x, (int)size), out, &node);
  assert_int_not_equal(node, 0);
  S2Status status = s2_tape_sweep(tape, node, weights);
  assert_string_equal(status.message, "");
  const double *got = s2_tape_adjoint(tape, 1);
  double worst = 0, largest = 1e-3;
  for (size_t i = 0; i < size; i++) {
    double at = x[i], f[4];
    for (int k = 0; k < 4; k++) {
      const double steps[] = {-2, -1, 1, 2};
      x[i] = at + steps[k] * STEP;
      f[k] = loss(test, x, weights);
    }
    x[i] = at;
    double want = (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * STEP);
    worst = fmax(worst, fabs(got[i] - want));
    largest = fmax(largest, fabs(want));
  }
  if (!(worst <= AGREE * largest)) {
    fail_msg("%s, seed %d: off by %g of %g", test->name, (int)seed, worst, largest);
  }
  s2_tape_free(tape);
}

static void check_all(const Case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
      check(&cases[i], seed);
    }
  }
}

#define CHECK_ALL(CASES) check_all(CASES, sizeof(CASES) / sizeof(CASES)[0])
#define MATRIX(ROWS, COLUMNS)                                                                      \
  { 2, ROWS, COLUMNS }

// ---- Elements ---------------------------------------------------------------------------------

static size_t compute_unary(const Case *test, S2Tape *tape, const S2Array *a, const S2Array *b,
                            double *out, S2Var *node) {
  (void)b;
  size_t count = s2_size_count(a->shape);
  s2_array_unary((S2ArrayUnary)test->op, count, a->data, out);
  if (tape != NULL) {
    *node = s2_note_unary(tape, (S2ArrayUnary)test->op, a, out);
  }
  return count;
}

static void test_unary(void **state) {
  (void)state;
  for (int op = 0; op < S2_ARRAY_UNARY_COUNT; op++) {
    double lo = 0.2, hi = 0.8;
    const Case test = {s2_array_unary_name((S2ArrayUnary)op),
                       compute_unary,
                       op,
                       0,
                       MATRIX(2, 3),
                       MATRIX(0, 0),
                       lo,
                       hi};
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
      check(&test, seed);
    }
  }
  // on both sides of the kinks, and at them
  const double x[] = {-2, 0, 3}, ones[] = {1, 1, 1};
  double out[3], slope[3] = {0};
  s2_array_unary(S2_ARRAY_RELU, 3, x, out);
  s2_array_unary_vjp(S2_ARRAY_RELU, 3, x, out, ones, slope);
  assert_memory_equal(slope, ((double[]){0, 0, 1}), sizeof slope);
  memset(slope, 0, sizeof slope);
  s2_array_unary_vjp(S2_ARRAY_ABS, 3, x, out, ones, slope);
  assert_memory_equal(slope, ((double[]){-1, 0, 1}), sizeof slope);
}

static size_t compute_binary(const Case *test, S2Tape *tape, const S2Array *a, const S2Array *b,
                             double *out, S2Var *node) {
  S2Size shape;
  S2Status status = s2_array_broadcast(a->shape, b->shape, &shape);
  assert_int_equal(status.code, S2_OK);
  s2_array_binary((S2ArrayBinary)test->op, a->shape, a->data, b->shape, b->data, out);
  if (tape != NULL) {
    *node = s2_note_binary(tape, (S2ArrayBinary)test->op, a, b, shape, out);
  }
  return s2_size_count(shape);
}

static void test_binary(void **state) {
  (void)state;
  const S2Size shapes[][2] = {{MATRIX(2, 3), MATRIX(2, 3)}, {MATRIX(2, 3), {1, 1, 3}},
                              {{1, 1, 3}, MATRIX(2, 3)},    {MATRIX(2, 1), {1, 1, 3}},
                              {{1, 1, 3}, MATRIX(2, 1)},    {MATRIX(2, 3), {0, 1, 1}},
                              {{0, 1, 1}, MATRIX(2, 3)},    {MATRIX(2, 3), MATRIX(2, 1)},
                              {{1, 1, 4}, {1, 1, 4}},       {{0, 1, 1}, {0, 1, 1}}};
  for (int op = 0; op < S2_ARRAY_LESS; op++) {
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
      // no kink within a step of the difference
      bool kink = op == S2_ARRAY_MAXIMUM || op == S2_ARRAY_MINIMUM;
      const Case test = {s2_array_binary_name((S2ArrayBinary)op),
                         compute_binary,
                         op,
                         0,
                         shapes[i][0],
                         shapes[i][1],
                         kink ? -50 : 0.5,
                         kink ? 50 : 2};
      for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        check(&test, seed);
      }
    }
  }
}

static void test_broadcast(void **state) {
  (void)state;
  S2Size out;
  S2Status status = s2_array_broadcast(s2_size_matrix(2, 3), s2_size_list(2), &out);
  assert_int_equal(status.code, S2_INVALID);
  assert_string_equal(status.message, "shapes do not fit: 2 x 3 and 2");
  status = s2_array_broadcast(s2_size_matrix(0, 3), s2_size_list(3), &out);
  assert_int_equal(status.code, S2_OK);
  assert_int_equal(out.rows, 0);
  const double column[] = {10, 20}, row[] = {1, 2, 3}, want[] = {11, 12, 13, 21, 22, 23};
  double sum[6];
  s2_array_binary(S2_ARRAY_ADD, s2_size_matrix(2, 1), column, s2_size_list(3), row, sum);
  assert_memory_equal(sum, want, sizeof want);
}

// An element that does not enter the loss gets 0, not nan, where its derivative is infinite.
static void test_infinite_slopes(void **state) {
  (void)state;
  const double x[] = {0, 4}, g[] = {0, 1};
  double out[2], slope[2] = {0};
  s2_array_unary(S2_ARRAY_SQRT, 2, x, out);
  s2_array_unary_vjp(S2_ARRAY_SQRT, 2, x, out, g, slope);
  assert_memory_equal(slope, ((double[]){0, 0.25}), sizeof slope);
  const double power = 3;
  double exponent = 0;
  const S2ArrayPair pair = {s2_size_list(2), s2_size_number(), x, &power};
  s2_array_binary(S2_ARRAY_POWER, pair.a_shape, x, pair.b_shape, &power, out);
  s2_array_binary_vjp(S2_ARRAY_POWER, &pair, out, (double[]){1, 0}, NULL, &exponent);
  assert_true(exponent == 0); // 0^y does not change with y
}

// ---- Axes -------------------------------------------------------------------------------------

static size_t compute_reduce(const Case *test, S2Tape *tape, const S2Array *a, const S2Array *b,
                             double *out, S2Var *node) {
  (void)b;
  S2ArrayReduce op = (S2ArrayReduce)test->op;
  S2ArrayAxis axis = (S2ArrayAxis)test->axis;
  s2_array_reduce(op, axis, a->shape, a->data, out);
  if (tape != NULL) {
    *node = s2_note_reduce(tape, op, axis, a, out);
  }
  return s2_size_count(s2_array_reduce_shape(a->shape, axis));
}

static void test_reduce(void **state) {
  (void)state;
  for (int op = S2_ARRAY_SUM; op <= S2_ARRAY_MIN; op++) {
    for (int axis = S2_ARRAY_ALL; axis <= S2_ARRAY_OVER_COLUMNS; axis++) {
      const Case test = {"reduce", compute_reduce, op, axis, MATRIX(3, 11), MATRIX(0, 0), -50, 50};
      for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        check(&test, seed);
      }
    }
  }
  const double a[] = {1, 5, 3, 4, 2, 6};
  double out[3];
  s2_array_reduce(S2_ARRAY_SUM, S2_ARRAY_OVER_ROWS, s2_size_matrix(2, 3), a, out);
  assert_memory_equal(out, ((double[]){5, 7, 9}), sizeof out);
  s2_array_reduce(S2_ARRAY_MAX, S2_ARRAY_OVER_COLUMNS, s2_size_matrix(2, 3), a, out);
  assert_memory_equal(out, ((double[]){5, 6}), 2 * sizeof *out);
  s2_array_reduce(S2_ARRAY_MIN, S2_ARRAY_ALL, s2_size_list(3), (double[]){1, NAN, 0}, out);
  assert_true(isnan(out[0]));
}

static void test_long_sums(void **state) {
  (void)state;
  enum { LONG = 100000 };
  static double a[LONG];
  for (int i = 0; i < LONG; i++) {
    a[i] = 0.1;
  }
  double sum;
  s2_array_reduce(S2_ARRAY_SUM, S2_ARRAY_ALL, s2_size_list(LONG), a, &sum);
  assert_true(fabs(sum - 10000) <= 1e-10); // added one after the other: 2e-8
}

static size_t compute_norm(const Case *test, S2Tape *tape, const S2Array *a, const S2Array *b,
                           double *out, S2Var *node) {
  (void)test, (void)b;
  *out = s2_array_norm(s2_size_count(a->shape), a->data);
  if (tape != NULL) {
    *node = s2_note_norm(tape, a, *out);
  }
  return 1;
}

static void test_norm(void **state) {
  (void)state;
  const Case cases[] = {{"norm", compute_norm, 0, 0, MATRIX(2, 3), MATRIX(0, 0), -1, 1}};
  CHECK_ALL(cases);
  assert_true(fabs(s2_array_norm(2, (double[]){3e200, 4e200}) - 5e200) <= 1e185);
  assert_true(fabs(s2_array_norm(2, (double[]){3e-310, 4e-310}) - 5e-310) <= 1e-323);
  assert_true(isnan(s2_array_norm(2, (double[]){NAN, 1})));
  double slope[2] = {0};
  s2_array_norm_vjp(2, slope, 0, 1, slope);
  assert_true(slope[0] == 0 && slope[1] == 0);
}

static size_t compute_join(const Case *test, S2Tape *tape, const S2Array *a, const S2Array *b,
                           double *out, S2Var *node) {
  (void)test;
  // [a'; b'] with a 2 x 3, b 2 x 1, and a constant where the last number would be
  const S2ArrayPart parts[] = {{a->var, {2, 3, 0, 1, 2}}, {b->var, {2, 1, 6, 1, 2}}};
  out[8] = 7;
  s2_array_scatter(&parts[0].block, a->data, out);
  s2_array_scatter(&parts[1].block, b->data, out);
  if (tape != NULL) {
    *node = s2_note_join(tape, 2, parts, 9, out);
  }
  return 9;
}

static void test_join(void **state) {
  (void)state;
  const Case cases[] = {{"join", compute_join, 0, 0, MATRIX(2, 3), MATRIX(2, 1), -1, 1}};
  CHECK_ALL(cases);
}

// ---- Linear algebra ---------------------------------------------------------------------------

static size_t compute_product(const Case *test, S2Tape *tape, const S2Array *a, const S2Array *b,
                              double *out, S2Var *node) {
  (void)test;
  int m = a->shape.rows, k = a->shape.columns, n = b->shape.columns;
  const S2ArrayProduct product = {m, k, n, S2_ARRAY_PLAIN, S2_ARRAY_PLAIN, 1, 0};
  s2_array_product(&product, a->data, b->data, out);
  if (tape != NULL) {
    *node = s2_note_product(tape, m, k, n, a, b, out);
  }
  return (size_t)m * (size_t)n;
}

static void test_product(void **state) {
  (void)state;
  const Case cases[] = {
      {"small product", compute_product, 0, 0, MATRIX(2, 3), MATRIX(3, 4), -1, 1},
      {"product by BLAS", compute_product, 0, 0, MATRIX(9, 8), MATRIX(8, 10), -1, 1}};
  CHECK_ALL(cases);
  // Both methods give the same, in each layout.
  S2Rng rng = s2_rng_seeded(1);
  enum { N = 9 };
  double a[N * N], b[N * N], by_blas[N * N], by_hand[N * N];
  for (int i = 0; i < N * N; i++) {
    a[i] = random_in(&rng, -1, 1);
    b[i] = random_in(&rng, -1, 1);
  }
  for (int flips = 0; flips < 4; flips++) {
    S2ArrayFlip a_flip = (S2ArrayFlip)(flips & 1), b_flip = (S2ArrayFlip)(flips >> 1);
    for (int i = 0; i < N * N; i++) {
      by_blas[i] = by_hand[i] = 1;
    }
    const S2ArrayProduct product = {N, N, N, a_flip, b_flip, 2, 3};
    s2_array_product(&product, a, b, by_blas);
    for (int i = 0; i < N; i++) {
      for (int j = 0; j < N; j++) {
        double sum = 0;
        for (int k = 0; k < N; k++) {
          sum += (a_flip ? a[k * N + i] : a[i * N + k]) * (b_flip ? b[j * N + k] : b[k * N + j]);
        }
        assert_true(fabs(by_blas[i * N + j] - (3 + 2 * sum)) <= 1e-13);
      }
    }
  }
}

// Random matrices with different numbers added on the diagonal: well conditioned, with distinct
// singular values and eigenvalues. `shifted` holds the results.
static S2Array shift(S2Tape *tape, const S2Array *a, double step, double *shifted) {
  double more[MOST] = {0};
  size_t width = (size_t)a->shape.columns;
  for (size_t i = 0; i < (size_t)a->shape.rows && i < width; i++) {
    more[i * width + i] = 1 + (double)i * step;
  }
  S2Array sum = {a->shape, shifted, 0};
  const S2Array plus = {a->shape, more, 0};
  s2_array_binary(S2_ARRAY_ADD, a->shape, a->data, a->shape, more, shifted);
  if (tape != NULL) {
    sum.var = s2_note_binary(tape, S2_ARRAY_ADD, a, &plus, a->shape, shifted);
  }
  return sum;
}

static size_t compute_solve(const Case *test, S2Tape *tape, const S2Array *a, const S2Array *b,
                            double *out, S2Var *node) {
  (void)test;
  int n = a->shape.rows, columns = b->shape.columns, pivot[MOST];
  double factors[MOST], shifted[MOST];
  S2Array sum = shift(tape, a, 0.5, shifted);
  S2Arena arena;
  s2_arena_init(&arena);
  S2Status status = s2_array_solve(n, columns, sum.data, b->data, out, factors, pivot, &arena);
  s2_arena_free(&arena);
  assert_string_equal(status.message, "");
  if (tape != NULL) {
    *node = s2_note_array_solve(tape, n, columns, &sum, b, out, factors, pivot);
  }
  return (size_t)n * (size_t)columns;
}

static size_t compute_least_squares(const Case *test, S2Tape *tape, const S2Array *a,
                                    const S2Array *b, double *out, S2Var *node) {
  (void)test;
  int rows = a->shape.rows, n = a->shape.columns, columns = b->shape.columns;
  double shifted[MOST];
  S2Array sum = shift(tape, a, 0.5, shifted);
  S2Arena arena;
  s2_arena_init(&arena);
  S2Status status = s2_array_least_squares(rows, n, columns, sum.data, b->data, out, NULL, &arena);
  s2_arena_free(&arena);
  assert_string_equal(status.message, "");
  if (tape != NULL) {
    *node = s2_note_least_squares(tape, columns, &sum, b, out);
  }
  return (size_t)n * (size_t)columns;
}

static size_t compute_factor(const Case *test, S2Tape *tape, const S2Array *a, const S2Array *b,
                             double *out, S2Var *node) {
  (void)b;
  S2ArrayFactor factor = (S2ArrayFactor)test->op;
  double shifted[MOST];
  S2Array sum = shift(tape, a, test->axis != 0 ? 1 : 0.5, shifted);
  S2Arena arena;
  s2_arena_init(&arena);
  S2Status status = s2_array_factor(factor, a->shape, shifted, out, &arena);
  s2_arena_free(&arena);
  assert_string_equal(status.message, "");
  if (tape != NULL) {
    *node = s2_note_factor(tape, factor, &sum, out);
  }
  return s2_array_factor_size(factor, a->shape);
}

static void test_linear_algebra(void **state) {
  (void)state;
  const S2Size none = MATRIX(0, 0);
  const Case cases[] = {
      {"solve", compute_solve, 0, 0, MATRIX(4, 4), MATRIX(4, 2), 0, 0.4},
      {"solve by LAPACK", compute_solve, 0, 0, MATRIX(17, 17), MATRIX(17, 1), -0.1, 0.1},
      {"tall least squares", compute_least_squares, 0, 0, MATRIX(5, 3), MATRIX(5, 2), 0, 0.4},
      {"wide least squares", compute_least_squares, 0, 0, MATRIX(3, 5), MATRIX(3, 1), 0, 0.4},
      {"inverse", compute_factor, S2_ARRAY_INVERSE, 0, MATRIX(4, 4), none, 0, 0.3},
      {"determinant", compute_factor, S2_ARRAY_DETERMINANT, 0, MATRIX(4, 4), none, -1, 1},
      {"cholesky", compute_factor, S2_ARRAY_CHOLESKY, 0, MATRIX(4, 4), none, 0, 0.2},
      {"exponential", compute_factor, S2_ARRAY_EXPONENTIAL, 0, MATRIX(4, 4), none, -1, 1},
      {"large exponential", compute_factor, S2_ARRAY_EXPONENTIAL, 0, MATRIX(2, 2), none, -9, 9},
      {"square qr", compute_factor, S2_ARRAY_QR, 0, MATRIX(4, 4), none, 0, 0.4},
      {"tall qr", compute_factor, S2_ARRAY_QR, 0, MATRIX(6, 4), none, 0, 0.4},
      {"wide qr", compute_factor, S2_ARRAY_QR, 0, MATRIX(3, 5), none, 0, 0.4},
      {"square svd", compute_factor, S2_ARRAY_SVD, 1, MATRIX(3, 3), none, -0.1, 0.1},
      {"tall svd", compute_factor, S2_ARRAY_SVD, 1, MATRIX(5, 3), none, -0.1, 0.1},
      {"wide svd", compute_factor, S2_ARRAY_SVD, 1, MATRIX(3, 5), none, -0.1, 0.1},
      {"eigen", compute_factor, S2_ARRAY_EIGEN, 1, MATRIX(4, 4), none, -0.1, 0.1}};
  CHECK_ALL(cases);
}

static void test_eigen_of_symmetric(void **state) {
  (void)state;
  // [[2, 1], [1, 2]]: 1 with (1, -1), 3 with (1, 1)
  const double a[] = {2, 1, 1, 2}, g_values[] = {0, 1}, none[4] = {0};
  double out[8], slope[4] = {0};
  S2Arena arena;
  s2_arena_init(&arena);
  assert_int_equal(s2_array_factor(S2_ARRAY_EIGEN, s2_size_matrix(2, 2), a, out, &arena).code,
                   S2_OK);
  assert_true(fabs(out[0] - 1) < 1e-15 && fabs(out[1] - 3) < 1e-15);
  assert_int_equal(s2_array_eigen_vjp(2, out, out + 2, g_values, none, slope, &arena).code, S2_OK);
  for (int i = 0; i < 4; i++) {
    assert_true(fabs(slope[i] - 0.5) < 1e-15); // v v'
  }
  s2_arena_free(&arena);
}

static void test_refusals(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  const double singular[] = {1, 2, 2, 4}, nearly[] = {1, 1, 1, 1 + 1e-16}, bad[] = {1, NAN, 0, 1};
  const double unit[] = {1, 0, 0, 1}, g[] = {1, 2, 0, 0}, none[4] = {0};
  double out[8], factors[4], slope[4] = {0};
  int pivot[2];
  S2Status status = s2_array_solve(2, 1, singular, g, out, factors, pivot, &arena);
  assert_string_equal(status.message, "singular matrix");
  status = s2_array_inverse(2, nearly, out, &arena);
  assert_non_null(strstr(status.message, "singular matrix"));
  status = s2_array_inverse(2, bad, out, &arena);
  assert_string_equal(status.message, "the matrix is not finite");
  status = s2_array_cholesky(2, (double[]){1, 2, 2, 1}, out);
  assert_string_equal(status.message, "the matrix is not positive definite");
  status = s2_array_svd(2, 2, bad, out, out + 4, out + 6, &arena);
  assert_string_equal(status.message, "the matrix is not finite");
  // equal eigenvalues: their sum has a derivative, a single one has none
  status = s2_array_eigen_vjp(2, (double[]){1, 1}, unit, g, none, slope, &arena);
  assert_string_equal(status.message, "eig: equal eigenvalues have no derivative");
  status = s2_array_eigen_vjp(2, (double[]){1, 1}, unit, (double[]){1, 1}, none, slope, &arena);
  assert_int_equal(status.code, S2_OK);
  assert_memory_equal(slope, unit, sizeof unit);
  const S2ArraySvd svd = {2, 2, unit, (double[]){1, 1}, unit};
  status = s2_array_svd_vjp(&svd, g, none, none, slope, &arena);
  assert_int_equal(status.code, S2_UNSOLVED);
  const S2ArrayLeastSquares flat = {2, 2, 1, singular, g, g};
  status = s2_array_least_squares_vjp(&flat, g, slope, NULL, &arena);
  assert_int_equal(status.code, S2_UNSOLVED);
  s2_arena_free(&arena);
}

static void test_determinant_of_singular(void **state) {
  (void)state;
  // det [[a, b], [c, d]] = ad - bc: derivative {d, -c, -b, a}
  const double a[] = {1, 2, 2, 4}, want[] = {4, -2, -2, 1};
  double slope[4] = {0};
  S2Arena arena;
  s2_arena_init(&arena);
  assert_true(s2_array_determinant(2, a, &arena) == 0);
  assert_int_equal(s2_array_determinant_vjp(2, a, 1, slope, &arena).code, S2_OK);
  for (int i = 0; i < 4; i++) {
    assert_true(fabs(slope[i] - want[i]) <= 1e-14);
  }
  s2_arena_free(&arena);
}

static void test_exponential(void **state) {
  (void)state;
  // a rotation by 20 rad, scaled and squared
  const double a[] = {0, -20, 20, 0}, want[] = {cos(20), -sin(20), sin(20), cos(20)};
  double out[4];
  S2Arena arena;
  s2_arena_init(&arena);
  assert_int_equal(s2_array_exponential(2, a, out, &arena).code, S2_OK);
  for (int i = 0; i < 4; i++) {
    assert_true(fabs(out[i] - want[i]) <= 1e-13);
  }
  s2_arena_free(&arena);
}

static void test_empty(void **state) {
  (void)state;
  double nothing[1], slope[1] = {0};
  S2Arena arena;
  s2_arena_init(&arena);
  for (int i = 0; i <= S2_ARRAY_EIGEN; i++) {
    S2ArrayFactor factor = (S2ArrayFactor)i;
    assert_int_equal(s2_array_factor(factor, s2_size_matrix(0, 0), nothing, nothing, &arena).code,
                     S2_OK);
  }
  assert_int_equal(s2_array_least_squares(0, 0, 0, nothing, nothing, nothing, NULL, &arena).code,
                   S2_OK);
  s2_array_cholesky_vjp(0, nothing, nothing, slope, &arena);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unary),
      cmocka_unit_test(test_binary),
      cmocka_unit_test(test_broadcast),
      cmocka_unit_test(test_infinite_slopes),
      cmocka_unit_test(test_reduce),
      cmocka_unit_test(test_long_sums),
      cmocka_unit_test(test_norm),
      cmocka_unit_test(test_join),
      cmocka_unit_test(test_product),
      cmocka_unit_test(test_linear_algebra),
      cmocka_unit_test(test_eigen_of_symmetric),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_determinant_of_singular),
      cmocka_unit_test(test_exponential),
      cmocka_unit_test(test_empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
