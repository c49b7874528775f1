// Elementwise operations. Each operation is one row of a table, with its value and its partial
// derivatives; the loops are written once. The arguments are x and y, the result is o. If an
// element has no effect on the loss (g = 0), nothing is added to the adjoints of its arguments,
// even if the derivative is infinite.
#include "diff/tape/array.h"

#include <math.h>
#include <stdio.h>

const char *s2_size_text(S2Size shape, char text[S2_SIZE_TEXT]) {
  if (shape.axes == 0) {
    snprintf(text, S2_SIZE_TEXT, "a number");
  } else if (shape.axes == 1) {
    snprintf(text, S2_SIZE_TEXT, "%d", shape.columns);
  } else {
    snprintf(text, S2_SIZE_TEXT, "%d x %d", shape.rows, shape.columns);
  }
  return text;
}

bool s2_array_finite(size_t count, const double *a) {
  double sum = 0; // the sum is zero unless some number is not finite
  for (size_t i = 0; i < count; i++) {
    sum += a[i] * 0;
  }
  return sum == 0;
}

static double element_sign(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}

// ---- One argument -----------------------------------------------------------------------------

#define UNARY_TABLE(ROW)                                                                           \
  ROW(NEGATE, "negate", -x, -1)                                                                    \
  ROW(ABS, "abs", fabs(x), element_sign(x))                                                        \
  ROW(SIGN, "sign", element_sign(x), 0)                                                            \
  ROW(FLOOR, "floor", floor(x), 0)                                                                 \
  ROW(RELU, "relu", x > 0 ? x : x * 0 + 0, x > 0 ? 1 : 0)                                          \
  ROW(SQRT, "sqrt", sqrt(x), 0.5 / o)                                                              \
  ROW(EXP, "exp", exp(x), o)                                                                       \
  ROW(LOG, "log", log(x), 1 / x)                                                                   \
  ROW(SIN, "sin", sin(x), cos(x))                                                                  \
  ROW(COS, "cos", cos(x), -sin(x))                                                                 \
  ROW(TAN, "tan", tan(x), 1 + o * o)                                                               \
  ROW(ASIN, "asin", asin(x), 1 / sqrt(1 - x * x))                                                  \
  ROW(ACOS, "acos", acos(x), -1 / sqrt(1 - x * x))                                                 \
  ROW(ATAN, "atan", atan(x), 1 / (1 + x * x))                                                      \
  ROW(SINH, "sinh", sinh(x), cosh(x))                                                              \
  ROW(COSH, "cosh", cosh(x), sinh(x))                                                              \
  ROW(TANH, "tanh", tanh(x), 1 - o * o)

#define UNARY_FORWARD(NAME, TEXT, VALUE, PARTIAL)                                                  \
  case S2_ARRAY_##NAME:                                                                            \
    for (size_t i = 0; i < count; i++) {                                                           \
      double x = a[i];                                                                             \
      out[i] = VALUE;                                                                              \
    }                                                                                              \
    break;
#define UNARY_BACKWARD(NAME, TEXT, VALUE, PARTIAL)                                                 \
  case S2_ARRAY_##NAME:                                                                            \
    for (size_t i = 0; i < count; i++) {                                                           \
      double x = a[i], o = out[i], g = dl_dout[i];                                                 \
      (void)x, (void)o;                                                                            \
      dl_da[i] += g == 0 ? 0 : g * (PARTIAL);                                                      \
    }                                                                                              \
    break;
#define NAME_OF(NAME, TEXT, ...) [S2_ARRAY_##NAME] = TEXT,

const char *s2_array_unary_name(S2ArrayUnary op) {
  static const char *const names[] = {UNARY_TABLE(NAME_OF)};
  return op < S2_ARRAY_UNARY_COUNT ? names[op] : NULL;
}

void s2_array_unary(S2ArrayUnary op, size_t count, const double *a, double *out) {
  switch (op) {
    UNARY_TABLE(UNARY_FORWARD)
  case S2_ARRAY_UNARY_COUNT:
    break;
  }
}

void s2_array_unary_vjp(S2ArrayUnary op, size_t count, const double *a, const double *out,
                        const double *dl_dout, double *dl_da) {
  switch (op) {
    UNARY_TABLE(UNARY_BACKWARD)
  case S2_ARRAY_UNARY_COUNT:
    break;
  }
}

// ---- Two arguments ----------------------------------------------------------------------------

S2Status s2_array_broadcast(S2Size a, S2Size b, S2Size *out) {
  bool fit = (a.rows == b.rows || a.rows == 1 || b.rows == 1) &&
             (a.columns == b.columns || a.columns == 1 || b.columns == 1);
  if (!fit) {
    char a_text[S2_SIZE_TEXT], b_text[S2_SIZE_TEXT];
    return s2_error(S2_INVALID, "shapes do not fit: %s and %s", s2_size_text(a, a_text),
                    s2_size_text(b, b_text));
  }
  *out = (S2Size){a.axes > b.axes ? a.axes : b.axes, a.rows == 1 ? b.rows : a.rows,
                  a.columns == 1 ? b.columns : a.columns};
  return s2_ok();
}

// d(x^y)/dy. For x = 0 < y it is 0, because 0^y is 0 for all y > 0.
static double element_power_exponent_partial(double x, double y, double o) {
  return x == 0 && y > 0 ? 0 : o * log(x);
}

// fraction of the derivative of a maximum that x receives
static double element_tie(double x, double y) {
  return x > y ? 1 : x < y ? 0 : 0.5;
}

#define BINARY_TABLE(ROW)                                                                          \
  ROW(ADD, "add", x + y, 1, 1)                                                                     \
  ROW(SUBTRACT, "subtract", x - y, 1, -1)                                                          \
  ROW(MULTIPLY, "multiply", x *y, y, x)                                                            \
  ROW(DIVIDE, "divide", x / y, 1 / y, -o / y)                                                      \
  ROW(POWER, "power", y == 2 ? x * x : pow(x, y), y == 0 ? 0 : y * pow(x, y - 1),                  \
      element_power_exponent_partial(x, y, o))                                                     \
  ROW(ATAN2, "atan2", atan2(x, y), y / (x * x + y * y), -x / (x * x + y * y))                      \
  ROW(MAXIMUM, "max", x > y || isnan(x) ? x : y, element_tie(x, y), element_tie(y, x))             \
  ROW(MINIMUM, "min", x < y || isnan(x) ? x : y, element_tie(y, x), element_tie(x, y))             \
  ROW(LESS, "less", x < y, 0, 0)                                                                   \
  ROW(LESS_EQUAL, "less_equal", x <= y, 0, 0)                                                      \
  ROW(EQUAL, "equal", x == y, 0, 0)

// Strides of the arguments for a result of rows x columns.
typedef struct Loop {
  size_t rows, columns;
  size_t a_row, a_column, b_row, b_column; // strides; 0: the argument is repeated
} Loop;

static Loop element_loop_over(S2Size a, S2Size b) {
  Loop loop = {.rows = (size_t)(a.rows == 1 ? b.rows : a.rows),
               .columns = (size_t)(a.columns == 1 ? b.columns : a.columns),
               .a_row = a.rows == 1 ? 0 : (size_t)a.columns,
               .a_column = a.columns == 1 ? 0 : 1,
               .b_row = b.rows == 1 ? 0 : (size_t)b.columns,
               .b_column = b.columns == 1 ? 0 : 1};
  bool same = a.rows == b.rows && a.columns == b.columns;
  if (same || s2_size_count(a) == 1 || s2_size_count(b) == 1) { // one long row
    loop.columns *= loop.rows;
    loop.rows = 1;
    loop.a_column = s2_size_count(a) == 1 ? 0 : 1;
    loop.b_column = s2_size_count(b) == 1 ? 0 : 1;
  }
  return loop;
}

// Use three separate inner loops, so that the compiler can vectorise each.
#define BINARY_FORWARD(NAME, TEXT, VALUE, PARTIAL_A, PARTIAL_B)                                    \
  case S2_ARRAY_##NAME:                                                                            \
    for (size_t r = 0; r < loop.rows; r++, out += loop.columns) {                                  \
      const double *p = a + r * loop.a_row, *q = b + r * loop.b_row;                               \
      if (loop.a_column != 0 && loop.b_column != 0) {                                              \
        for (size_t i = 0; i < loop.columns; i++) {                                                \
          double x = p[i], y = q[i];                                                               \
          out[i] = VALUE;                                                                          \
        }                                                                                          \
      } else if (loop.a_column != 0) {                                                             \
        double y = *q;                                                                             \
        for (size_t i = 0; i < loop.columns; i++) {                                                \
          double x = p[i];                                                                         \
          out[i] = VALUE;                                                                          \
        }                                                                                          \
      } else {                                                                                     \
        double x = *p;                                                                             \
        for (size_t i = 0; i < loop.columns; i++) {                                                \
          double y = q[i * loop.b_column];                                                         \
          out[i] = VALUE;                                                                          \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    break;
// Handles one argument at a time, because both may be the same array. `to` can be restrict, because
// it overlaps none of the other arrays.
#define BINARY_ADJOINT(TO, ROW, COLUMN, PARTIAL)                                                   \
  for (size_t r = 0; (TO) != NULL && r < loop.rows; r++) {                                         \
    const double *p = in->a + r * loop.a_row, *q = in->b + r * loop.b_row;                         \
    const double *outs = out + r * loop.columns, *gs = dl_dout + r * loop.columns;                 \
    double *restrict to = (TO) + r * (ROW);                                                        \
    for (size_t i = 0; i < loop.columns; i++) {                                                    \
      double x = p[i * loop.a_column], y = q[i * loop.b_column], o = outs[i], g = gs[i];           \
      (void)x, (void)y, (void)o;                                                                   \
      to[i * (COLUMN)] += g == 0 ? 0 : g * (PARTIAL);                                              \
    }                                                                                              \
  }
#define BINARY_BACKWARD(NAME, TEXT, VALUE, PARTIAL_A, PARTIAL_B)                                   \
  case S2_ARRAY_##NAME:                                                                            \
    BINARY_ADJOINT(dl_da, loop.a_row, loop.a_column, PARTIAL_A)                                    \
    BINARY_ADJOINT(dl_db, loop.b_row, loop.b_column, PARTIAL_B)                                    \
    break;

const char *s2_array_binary_name(S2ArrayBinary op) {
  static const char *const names[] = {BINARY_TABLE(NAME_OF)};
  return op < S2_ARRAY_BINARY_COUNT ? names[op] : NULL;
}

void s2_array_binary(S2ArrayBinary op, S2Size a_shape, const double *a, S2Size b_shape,
                     const double *b, double *out) {
  Loop loop = element_loop_over(a_shape, b_shape);
  switch (op) {
    BINARY_TABLE(BINARY_FORWARD)
  case S2_ARRAY_BINARY_COUNT:
    break;
  }
}

void s2_array_binary_vjp(S2ArrayBinary op, const S2ArrayPair *in, const double *out,
                         const double *dl_dout, double *dl_da, double *dl_db) {
  Loop loop = element_loop_over(in->a_shape, in->b_shape);
  switch (op) {
    BINARY_TABLE(BINARY_BACKWARD)
  case S2_ARRAY_BINARY_COUNT:
    break;
  }
}
