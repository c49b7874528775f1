// Dense arrays of numbers with one or two axes, row-major: operations on them, and the
// vector-Jacobian product ("vjp") of each operation.
//
// This file does not depend on tapes; array_tape.h makes nodes from these functions. A vjp adds to
// the given adjoints, which may be NULL if they are not needed. The caller provides the memory for
// results. Results may be infinite or NaN for some arguments, but factorisations return a status
// instead.
#ifndef S2_DIFF_ARRAY_H
#define S2_DIFF_ARRAY_H

#include "base/arena.h"
#include "base/status.h"

#include <stddef.h>

// A number (0 axes: 1 x 1), a list (1 axis: 1 x n) or a matrix (2 axes). A list is a row, so that
// axes are aligned from the last one, as NumPy does.
typedef struct S2Size {
  int axes, rows, columns;
} S2Size;

static inline S2Size s2_size_number(void) {
  return (S2Size){0, 1, 1};
}

static inline S2Size s2_size_list(int count) {
  return (S2Size){1, 1, count};
}

static inline S2Size s2_size_matrix(int rows, int columns) {
  return (S2Size){2, rows, columns};
}

static inline size_t s2_size_count(S2Size shape) {
  return (size_t)shape.rows * (size_t)shape.columns;
}

static inline bool s2_size_equal(S2Size a, S2Size b) {
  return a.axes == b.axes && a.rows == b.rows && a.columns == b.columns;
}

enum { S2_SIZE_TEXT = 32 };
const char *s2_size_text(S2Size shape, char text[S2_SIZE_TEXT]); // "2 x 3", "3", "a number".

// ---- Element by element -----------------------------------------------------------------------

typedef enum S2ArrayUnary {
  S2_ARRAY_NEGATE,
  S2_ARRAY_ABS, // the derivative at 0 is 0, the mean of both sides; all kinks use the mean
  S2_ARRAY_SIGN,
  S2_ARRAY_FLOOR,
  S2_ARRAY_RELU, // the derivative at 0 is 0
  S2_ARRAY_SQRT,
  S2_ARRAY_EXP,
  S2_ARRAY_LOG,
  S2_ARRAY_SIN,
  S2_ARRAY_COS,
  S2_ARRAY_TAN,
  S2_ARRAY_ASIN,
  S2_ARRAY_ACOS,
  S2_ARRAY_ATAN,
  S2_ARRAY_SINH,
  S2_ARRAY_COSH,
  S2_ARRAY_TANH,
  S2_ARRAY_UNARY_COUNT
} S2ArrayUnary;

typedef enum S2ArrayBinary {
  S2_ARRAY_ADD,
  S2_ARRAY_SUBTRACT,
  S2_ARRAY_MULTIPLY,
  S2_ARRAY_DIVIDE,
  S2_ARRAY_POWER,
  S2_ARRAY_ATAN2,
  S2_ARRAY_MAXIMUM, // for equal numbers, each gets half of the derivative
  S2_ARRAY_MINIMUM,
  S2_ARRAY_LESS, // this and the following functions return 1 or 0, and have no derivative
  S2_ARRAY_LESS_EQUAL,
  S2_ARRAY_EQUAL,
  S2_ARRAY_BINARY_COUNT
} S2ArrayBinary;

const char *s2_array_unary_name(S2ArrayUnary op); // such as "negate"; NULL after the last operation
const char *s2_array_binary_name(S2ArrayBinary op);

void s2_array_unary(S2ArrayUnary op, size_t count, const double *a, double *out);
void s2_array_unary_vjp(S2ArrayUnary op, size_t count, const double *a, const double *out,
                        const double *dl_dout, double *dl_da);

// Axes that are missing or have size 1 are repeated. Returns S2_INVALID if the shapes are
// incompatible; the message names both.
S2Status s2_array_broadcast(S2Size a, S2Size b, S2Size *out);
void s2_array_binary(S2ArrayBinary op, S2Size a_shape, const double *a, S2Size b_shape,
                     const double *b, double *out);

typedef struct S2ArrayPair {
  S2Size a_shape, b_shape;
  const double *a, *b;
} S2ArrayPair;

void s2_array_binary_vjp(S2ArrayBinary op, const S2ArrayPair *in, const double *out,
                         const double *dl_dout, double *dl_da, double *dl_db);

// ---- Along axes -------------------------------------------------------------------------------

typedef enum S2ArrayReduce {
  S2_ARRAY_SUM,
  S2_ARRAY_MEAN,
  S2_ARRAY_MAX,
  S2_ARRAY_MIN
} S2ArrayReduce;

// Reductions remove the given axis. If several numbers are the largest or smallest, the first of
// them gets the derivative.
typedef enum S2ArrayAxis { S2_ARRAY_ALL, S2_ARRAY_OVER_ROWS, S2_ARRAY_OVER_COLUMNS } S2ArrayAxis;

S2Size s2_array_reduce_shape(S2Size in, S2ArrayAxis axis);
// Only a sum may reduce an empty array.
void s2_array_reduce(S2ArrayReduce op, S2ArrayAxis axis, S2Size in, const double *a, double *out);
void s2_array_reduce_vjp(S2ArrayReduce op, S2ArrayAxis axis, S2Size in, const double *a,
                         const double *dl_dout, double *dl_da);

// The square root of the sum of squares. Its derivative at 0 is 0.
double s2_array_norm(size_t count, const double *a);
void s2_array_norm_vjp(size_t count, const double *a, double norm, double dl_dout, double *dl_da);

// ---- Numbers at other places ------------------------------------------------------------------

// A block of `rows` x `columns` numbers in an array. Used for transposes, rows, slices and
// reshaping.
typedef struct S2ArrayBlock {
  int rows, columns;
  ptrdiff_t start, row_stride, column_stride; // in numbers
} S2ArrayBlock;

// Gather copies the block of a to out (dense); scatter copies a (dense) to the block of out. The
// last two functions add to `out` instead of overwriting it.
void s2_array_gather(const S2ArrayBlock *block, const double *a, double *out);
void s2_array_scatter(const S2ArrayBlock *block, const double *a, double *out);
void s2_array_gather_add(const S2ArrayBlock *block, const double *a, double *out);
void s2_array_scatter_add(const S2ArrayBlock *block, const double *a, double *out);

// ---- Linear algebra ---------------------------------------------------------------------------

typedef enum S2ArrayFlip { S2_ARRAY_PLAIN, S2_ARRAY_TRANSPOSED } S2ArrayFlip;

// out (m x n) = add * out + scale * A B, where A (m x k) and B (k x n) may be stored transposed.
typedef struct S2ArrayProduct {
  int m, k, n;
  S2ArrayFlip a_flip, b_flip;
  double scale, add;
} S2ArrayProduct;

void s2_array_product(const S2ArrayProduct *product, const double *a, const double *b, double *out);
// The vjp of out = A B.
void s2_array_product_vjp(int m, int k, int n, const double *a, const double *b,
                          const double *dl_dout, double *dl_da, double *dl_db);

// These functions return S2_UNSOLVED with a reason, such as "singular matrix", if the factorisation
// fails. They take workspace from `arena`. You may release it afterwards.

// X = A^-1 B, where B and X are n x columns. `factors` (n x n) and `pivot` (n) are outputs for the
// vjp.
S2Status s2_array_solve(int n, int columns, const double *a, const double *b, double *x,
                        double *factors, int *pivot, S2Arena *arena);
void s2_array_solve_vjp(int n, int columns, const double *factors, const int *pivot,
                        const double *x, const double *dl_dx, double *dl_da, double *dl_db,
                        S2Arena *arena);

S2Status s2_array_inverse(int n, const double *a, double *out, S2Arena *arena);
void s2_array_inverse_vjp(int n, const double *out, const double *dl_dout, double *dl_da,
                          S2Arena *arena);

double s2_array_determinant(int n, const double *a, S2Arena *arena);
// The derivative is also correct for singular matrices.
S2Status s2_array_determinant_vjp(int n, const double *a, double dl_dout, double *dl_da,
                                  S2Arena *arena);

// Lower triangular L with L L' = (A + A') / 2 and zeros above the diagonal.
S2Status s2_array_cholesky(int n, const double *a, double *out);
void s2_array_cholesky_vjp(int n, const double *out, const double *dl_dout, double *dl_da,
                           S2Arena *arena);

// The shortest x that minimises |A x - b|, for each column of b. A is rows x n. `rank` may be NULL.
S2Status s2_array_least_squares(int rows, int n, int columns, const double *a, const double *b,
                                double *x, int *rank, S2Arena *arena);
typedef struct S2ArrayLeastSquares {
  int rows, n, columns;
  const double *a, *b, *x;
} S2ArrayLeastSquares;
S2Status s2_array_least_squares_vjp(const S2ArrayLeastSquares *in, const double *dl_dx,
                                    double *dl_da, double *dl_db, S2Arena *arena);

// A = Q R, where Q is rows x k, R is k x columns with a diagonal >= 0, and k = min(rows, columns).
S2Status s2_array_qr(int rows, int columns, const double *a, double *q, double *r, S2Arena *arena);
S2Status s2_array_qr_vjp(int rows, int columns, const double *q, const double *r,
                         const double *dl_dq, const double *dl_dr, double *dl_da, S2Arena *arena);

// A = U diag(s) V', where U is rows x k, V is columns x k, and k = min(rows, columns). The values s
// are in descending order. In each column of U, the component with the largest magnitude is
// positive.
S2Status s2_array_svd(int rows, int columns, const double *a, double *u, double *s, double *v,
                      S2Arena *arena);
typedef struct S2ArraySvd {
  int rows, columns;
  const double *u, *s, *v;
} S2ArraySvd;
// Returns S2_UNSOLVED if singular values are equal or zero, unless dl_du and dl_dv are zero.
S2Status s2_array_svd_vjp(const S2ArraySvd *in, const double *dl_du, const double *dl_ds,
                          const double *dl_dv, double *dl_da, S2Arena *arena);

// Eigenvalues in order of their real parts, and unit eigenvectors as the columns of `vectors`. For
// a pair re +- im i, the two columns are the real and imaginary parts. `imaginary` is zero for
// symmetric A.
S2Status s2_array_eigen(int n, const double *a, double *values, double *imaginary, double *vectors,
                        S2Arena *arena);
// Supports only real eigenvalues. Equal eigenvalues are allowed only if the loss does not
// distinguish them.
S2Status s2_array_eigen_vjp(int n, const double *values, const double *vectors,
                            const double *dl_dvalues, const double *dl_dvectors, double *dl_da,
                            S2Arena *arena);

S2Status s2_array_exponential(int n, const double *a, double *out, S2Arena *arena);
S2Status s2_array_exponential_vjp(int n, const double *a, const double *dl_dout, double *dl_da,
                                  S2Arena *arena);

bool s2_array_finite(size_t count, const double *a);

#endif
