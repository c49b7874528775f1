// Linear algebra of arrays with LAPACK. LAPACK reads our rows as columns, so it sees the transpose
// of each matrix.
#include "diff/tape/array.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

static double *linalg_take(S2Arena *arena, int rows, int columns) {
  return S2_TAKE(arena, double, (size_t)rows *(size_t)columns + 1);
}

static void linalg_transpose(int rows, int columns, const double *a, double *out) {
  const S2ArrayBlock block = {columns, rows, 0, 1, columns};
  s2_array_gather(&block, a, out);
}

static S2Status linalg_not_finite(void) {
  return s2_error(S2_UNSOLVED, "the matrix is not finite");
}

static S2Status linalg_no_convergence(const char *what) {
  return s2_error(S2_UNSOLVED, "%s: no convergence", what);
}

// ---- Linear systems ---------------------------------------------------------------------------

static double linalg_largest_row_sum(int n, const double *a) {
  double largest = 0;
  for (int i = 0; i < n; i++) {
    double sum = 0;
    for (int j = 0; j < n; j++) {
      sum += fabs(a[(size_t)i * (size_t)n + (size_t)j]);
    }
    largest = fmax(largest, sum);
  }
  return largest;
}

enum {
  SMALL = 16
}; // largest number of rows for which the overhead of a LAPACK call exceeds its
   // work.

// x := K^-1 x or K^-T x for the LAPACK factors of a small K.
static void linalg_solve_small(int n, const double *factors, const int *pivot, bool transposed,
                               double *x) {
  // K = P L U: for K, swap rows first.
  for (int i = 0; !transposed && i < n; i++) {
    double swapped = x[i];
    x[i] = x[pivot[i] - 1];
    x[pivot[i] - 1] = swapped;
  }
  for (int j = 0; j < n; j++) { // L x or U' x
    const double *column = factors + (ptrdiff_t)j * n;
    for (int i = 0; transposed && i < j; i++) {
      x[j] -= column[i] * x[i];
    }
    x[j] /= transposed ? column[j] : 1;
    for (int i = j + 1; !transposed && i < n; i++) {
      x[i] -= column[i] * x[j];
    }
  }
  for (int j = n - 1; j >= 0; j--) { // U x or L' x
    const double *column = factors + (ptrdiff_t)j * n;
    for (int i = j + 1; transposed && i < n; i++) {
      x[j] -= column[i] * x[i];
    }
    x[j] /= transposed ? 1 : column[j];
    for (int i = 0; !transposed && i < j; i++) {
      x[i] -= column[i] * x[j];
    }
  }
  // For K', swap rows last.
  for (int i = n - 1; transposed && i >= 0; i--) {
    double swapped = x[i];
    x[i] = x[pivot[i] - 1];
    x[pivot[i] - 1] = swapped;
  }
}

// Multiplies the columns of `x` by K^-1 or K^-T. The columns are stored one after another.
static void linalg_solve_columns(int n, int columns, const double *factors, const int *pivot,
                                 bool transposed, double *x) {
  if (n > SMALL) {
    LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, transposed ? 'T' : 'N', n, columns, factors, n, pivot, x,
                        n);
    return;
  }
  for (int i = 0; i < columns; i++) {
    linalg_solve_small(n, factors, pivot, transposed, x + (ptrdiff_t)i * n);
  }
}

// Computes 1 / (|K| |K^-1|) of the factored K in the maximum column sum norm. `norm` is |K|.
static double linalg_condition_of(int n, const double *factors, const int *pivot, double norm,
                                  S2Arena *arena) {
  double condition = 0, inverse = 0;
  if (n > SMALL) {
    double *work = linalg_take(arena, 4, n);
    int *integers = S2_TAKE(arena, int, n);
    LAPACKE_dgecon_work(LAPACK_COL_MAJOR, '1', n, factors, n, norm, &condition, work, integers);
    return condition;
  }
  for (int j = 0; j < n; j++) {
    double column[SMALL] = {0}, sum = 0;
    column[j] = 1;
    linalg_solve_small(n, factors, pivot, false, column);
    for (int i = 0; i < n; i++) {
      sum += fabs(column[i]);
    }
    inverse = fmax(inverse, sum);
  }
  return 1 / (norm * inverse);
}

S2Status s2_array_solve(int n, int columns, const double *a, const double *b, double *x,
                        double *factors, int *pivot, S2Arena *arena) {
  size_t size = (size_t)n * (size_t)n;
  if (n == 0) {
    return s2_ok();
  }
  if (!s2_array_finite(size, a)) {
    return linalg_not_finite();
  }
  memcpy(factors, a, size * sizeof *a);
  if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, factors, n, pivot) != 0) {
    return s2_error(S2_UNSOLVED, "singular matrix");
  }
  // the factored matrix is the transpose: its column sums are our row sums
  double condition = linalg_condition_of(n, factors, pivot, linalg_largest_row_sum(n, a), arena);
  if (!(condition >= DBL_EPSILON)) {
    return s2_error(S2_UNSOLVED, "singular matrix to working precision (condition 1/%.2g)",
                    condition);
  }
  double *right = linalg_take(arena, columns, n);
  linalg_transpose(n, columns, b, right);
  linalg_solve_columns(n, columns, factors, pivot, true, right);
  linalg_transpose(columns, n, right, x);
  return s2_ok();
}

void s2_array_solve_vjp(int n, int columns, const double *factors, const int *pivot,
                        const double *x, const double *dl_dx, double *dl_da, double *dl_db,
                        S2Arena *arena) {
  if (n == 0 || columns == 0) {
    return;
  }
  double *right = linalg_take(arena, columns, n), *back = linalg_take(arena, n, columns);
  linalg_transpose(n, columns, dl_dx, right);
  linalg_solve_columns(n, columns, factors, pivot, false, right);
  linalg_transpose(columns, n, right, back); // A^-T dl/dX
  if (dl_da != NULL) {
    const S2ArrayProduct outer = {n, columns, n, S2_ARRAY_PLAIN, S2_ARRAY_TRANSPOSED, -1, 1};
    s2_array_product(&outer, back, x, dl_da);
  }
  size_t size = (size_t)n * (size_t)columns;
  for (size_t i = 0; dl_db != NULL && i < size; i++) {
    dl_db[i] += back[i];
  }
}

S2Status s2_array_inverse(int n, const double *a, double *out, S2Arena *arena) {
  double *identity = linalg_take(arena, n, n), *factors = linalg_take(arena, n, n);
  int *pivot = S2_TAKE(arena, int, n + 1);
  memset(identity, 0, (size_t)n * (size_t)n * sizeof *identity);
  for (int i = 0; i < n; i++) {
    identity[(size_t)i * (size_t)(n + 1)] = 1;
  }
  return s2_array_solve(n, n, a, identity, out, factors, pivot, arena);
}

double s2_array_determinant(int n, const double *a, S2Arena *arena) {
  double *factors = linalg_take(arena, n, n), product = 1;
  int *pivot = S2_TAKE(arena, int, n + 1);
  if (n == 0) {
    return 1;
  }
  memcpy(factors, a, (size_t)n * (size_t)n * sizeof *a);
  LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, factors, n, pivot);
  for (int i = 0; i < n; i++) {
    product *= factors[(size_t)i * (size_t)(n + 1)];
    product = pivot[i] != i + 1 ? -product : product;
  }
  return product;
}

S2Status s2_array_cholesky(int n, const double *a, double *out) {
  size_t width = (size_t)n;
  for (size_t i = 0; i < width; i++) {
    for (size_t j = 0; j < width; j++) {
      out[i * width + j] = j > i ? 0 : (a[i * width + j] + a[j * width + i]) / 2;
    }
  }
  if (!s2_array_finite(width * width, out)) {
    return linalg_not_finite();
  }
  if (n > 0 && LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, out, n) != 0) {
    return s2_error(S2_UNSOLVED, "the matrix is not positive definite");
  }
  return s2_ok();
}

S2Status s2_array_least_squares(int rows, int n, int columns, const double *a, const double *b,
                                double *x, int *rank, S2Arena *arena) {
  int k = rows < n ? rows : n, full = 0;
  double *u = linalg_take(arena, rows, k), *s = linalg_take(arena, k, 1),
         *v = linalg_take(arena, n, k);
  double *inner = linalg_take(arena, k, columns);
  S2_TRY(s2_array_svd(rows, n, a, u, s, v, arena));
  const S2ArrayProduct left = {k, rows, columns, S2_ARRAY_TRANSPOSED, S2_ARRAY_PLAIN, 1, 0};
  s2_array_product(&left, u, b, inner);
  for (int i = 0; i < k; i++) {
    bool counts = s[i] > DBL_EPSILON * (rows > n ? rows : n) * s[0];
    full += counts;
    for (int j = 0; j < columns; j++) {
      double *to = &inner[(size_t)i * (size_t)columns + (size_t)j];
      *to = counts ? *to / s[i] : 0;
    }
  }
  const S2ArrayProduct right = {n, k, columns, S2_ARRAY_PLAIN, S2_ARRAY_PLAIN, 1, 0};
  s2_array_product(&right, v, inner, x);
  if (rank != NULL) {
    *rank = full;
  }
  return s2_ok();
}

// ---- Decompositions ---------------------------------------------------------------------------

S2Status s2_array_qr(int rows, int columns, const double *a, double *q, double *r, S2Arena *arena) {
  int k = rows < columns ? rows : columns;
  if (k == 0) {
    return s2_ok();
  }
  if (!s2_array_finite((size_t)rows * (size_t)columns, a)) {
    return linalg_not_finite();
  }
  // LAPACK needs columns. First query the workspace size for both calls.
  double *factors = linalg_take(arena, columns, rows), *tau = linalg_take(arena, k, 1), wanted[2];
  linalg_transpose(rows, columns, a, factors);
  LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, rows, columns, factors, rows, tau, &wanted[0], -1);
  LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, rows, k, k, factors, rows, tau, &wanted[1], -1);
  int size = (int)fmax(wanted[0], wanted[1]);
  double *work = linalg_take(arena, size, 1);
  // R is stored on and above the diagonal.
  LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, rows, columns, factors, rows, tau, work, size);
  for (int i = 0; i < k; i++) {
    for (int j = 0; j < columns; j++) {
      r[(size_t)i * (size_t)columns + (size_t)j] =
          j < i ? 0 : factors[(size_t)j * (size_t)rows + (size_t)i];
    }
  }
  // Q is computed from the part below the diagonal.
  LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, rows, k, k, factors, rows, tau, work, size);
  linalg_transpose(k, rows, factors, q);
  // Make the result unique: no number on the diagonal of R is negative.
  for (int i = 0; i < k; i++) {
    double *row = r + (size_t)i * (size_t)columns;
    if (row[i] < 0) {
      for (int j = i; j < columns; j++) {
        row[j] = -row[j];
      }
      for (int j = 0; j < rows; j++) {
        q[(size_t)j * (size_t)k + (size_t)i] *= -1;
      }
    }
  }
  return s2_ok();
}

// Returns true if the number with the largest magnitude in a column is negative. If there are
// several, the first one counts.
static bool linalg_points_down(int rows, int columns, const double *a, int column) {
  double largest = 0;
  for (int i = 0; i < rows; i++) {
    double x = a[(size_t)i * (size_t)columns + (size_t)column];
    largest = fabs(x) > fabs(largest) ? x : largest;
  }
  return largest < 0;
}

static void linalg_negate_column(int rows, int columns, double *a, int column) {
  for (int i = 0; i < rows; i++) {
    a[(size_t)i * (size_t)columns + (size_t)column] *= -1;
  }
}

S2Status s2_array_svd(int rows, int columns, const double *a, double *u, double *s, double *v,
                      S2Arena *arena) {
  int k = rows < columns ? rows : columns;
  if (k == 0) {
    return s2_ok();
  }
  if (!s2_array_finite((size_t)rows * (size_t)columns, a)) {
    return linalg_not_finite();
  }
  // A' = V diag(s) U', so LAPACK's U is our V by columns, and its V' is our U by rows.
  double *copy = linalg_take(arena, rows, columns), *v_columns = linalg_take(arena, k, columns),
         wanted = 0;
  int *integers = S2_TAKE(arena, int, 8 * (size_t)k);
  memcpy(copy, a, (size_t)rows * (size_t)columns * sizeof *a);
  LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'S', columns, rows, copy, columns, s, v_columns, columns, u,
                      k, &wanted, -1, integers);
  int size = (int)wanted;
  double *work = linalg_take(arena, size, 1);
  if (LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'S', columns, rows, copy, columns, s, v_columns,
                          columns, u, k, work, size, integers) != 0) {
    return linalg_no_convergence("singular values");
  }
  linalg_transpose(k, columns, v_columns, v);
  // Make the signs unique: in each column of U, the number with the largest magnitude is positive.
  for (int i = 0; i < k; i++) {
    if (linalg_points_down(rows, k, u, i)) {
      linalg_negate_column(rows, k, u, i);
      linalg_negate_column(columns, k, v, i);
    }
  }
  return s2_ok();
}

static bool linalg_is_symmetric(int n, const double *a) {
  for (size_t i = 0; i < (size_t)n; i++) {
    for (size_t j = 0; j < i; j++) {
      if (a[i * (size_t)n + j] != a[j * (size_t)n + i]) {
        return false;
      }
    }
  }
  return true;
}

// Writes the eigenvectors to `columns`, one after another.
static S2Status linalg_symmetric_eigen(int n, const double *a, double *values, double *columns,
                                       S2Arena *arena) {
  double wanted = 0;
  memcpy(columns, a, (size_t)n * (size_t)n * sizeof *a);
  LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'L', n, columns, n, values, &wanted, -1);
  int size = (int)wanted;
  double *work = linalg_take(arena, size, 1);
  if (LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'L', n, columns, n, values, work, size) != 0) {
    return linalg_no_convergence("eigenvalues");
  }
  return s2_ok();
}

static S2Status linalg_general_eigen(int n, const double *a, double *values, double *imaginary,
                                     double *columns, S2Arena *arena) {
  double *copy = linalg_take(arena, n, n), *re = linalg_take(arena, n, 1),
         *im = linalg_take(arena, n, 1), wanted = 0;
  double *found = linalg_take(arena, n, n);
  int *order = S2_TAKE(arena, int, n);
  // Right eigenvectors as columns, in LAPACK's order.
  linalg_transpose(n, n, a, copy);
  LAPACKE_dgeev_work(LAPACK_COL_MAJOR, 'N', 'V', n, copy, n, re, im, NULL, n, found, n, &wanted,
                     -1);
  int size = (int)wanted;
  double *work = linalg_take(arena, size, 1);
  if (LAPACKE_dgeev_work(LAPACK_COL_MAJOR, 'N', 'V', n, copy, n, re, im, NULL, n, found, n, work,
                         size) != 0) {
    return linalg_no_convergence("eigenvalues");
  }
  // Sort by real parts with an insertion sort.
  for (int i = 0; i < n; i++) { // a stable sort keeps conjugate pairs together
    int at = i;
    for (; at > 0 && re[order[at - 1]] > re[i]; at--) {
      order[at] = order[at - 1];
    }
    order[at] = i;
  }
  // Write values and vectors in that order.
  for (int i = 0; i < n; i++) {
    values[i] = re[order[i]];
    imaginary[i] = im[order[i]];
    memcpy(columns + (size_t)i * (size_t)n, found + (size_t)order[i] * (size_t)n,
           (size_t)n * sizeof *columns);
  }
  return s2_ok();
}

S2Status s2_array_eigen(int n, const double *a, double *values, double *imaginary, double *vectors,
                        S2Arena *arena) {
  if (n == 0) {
    return s2_ok();
  }
  if (!s2_array_finite((size_t)n * (size_t)n, a)) {
    return linalg_not_finite();
  }
  double *columns = linalg_take(arena, n, n);
  if (linalg_is_symmetric(n, a)) {
    memset(imaginary, 0, (size_t)n * sizeof *imaginary);
    S2_TRY(linalg_symmetric_eigen(n, a, values, columns, arena));
  } else {
    S2_TRY(linalg_general_eigen(n, a, values, imaginary, columns, arena));
  }
  linalg_transpose(n, n, columns, vectors);
  for (int i = 0; i < n; i++) {
    if (imaginary[i] == 0 && linalg_points_down(n, n, vectors, i)) {
      linalg_negate_column(n, n, vectors, i);
    }
  }
  return s2_ok();
}

// ---- Exponential ------------------------------------------------------------------------------

// Higham 2005, "The scaling and squaring method for the matrix exponential revisited": the [13/13]
// Pade approximant is exact to rounding up to this norm.
static const double PADE_RADIUS = 5.371920351148152;
enum { PADE_COUNT = 14 };
static const double pade[PADE_COUNT] = {64764752532480000,
                                        32382376266240000,
                                        7771770303897600,
                                        1187353796428800,
                                        129060195264000,
                                        10559470521600,
                                        670442572800,
                                        33522128640,
                                        1323241920,
                                        40840800,
                                        960960,
                                        16380,
                                        182,
                                        1};

static void linalg_add_scaled(size_t size, double scale, const double *a, double *out) {
  for (size_t i = 0; i < size; i++) {
    out[i] += scale * a[i];
  }
}

S2Status s2_array_exponential(int n, const double *a, double *out, S2Arena *arena) {
  size_t size = (size_t)n * (size_t)n, bytes = size * sizeof *a;
  if (!s2_array_finite(size, a)) {
    return linalg_not_finite();
  }
  // Use exp(a) = exp(a / 2^s)^(2^s). Choose s so that the approximant is exact for a / 2^s.
  int squarings = 0;
  frexp(linalg_largest_row_sum(n, a) / PADE_RADIUS, &squarings);
  squarings = squarings < 0 ? 0 : squarings;
  const S2ArrayProduct times = {n, n, n, S2_ARRAY_PLAIN, S2_ARRAY_PLAIN, 1, 0};
  double *x = linalg_take(arena, n, n), *square = linalg_take(arena, n, n),
         *power = linalg_take(arena, n, n);
  double *even = S2_TAKE_ZEROED(arena, double, size + 1), *factors = linalg_take(arena, n, n);
  double *odd = S2_TAKE_ZEROED(arena, double, size + 1), *next = linalg_take(arena, n, n);
  int *pivot = S2_TAKE(arena, int, n + 1);
  for (size_t i = 0; i < size; i++) {
    x[i] = ldexp(a[i], -squarings);
    power[i] = i % ((size_t)n + 1) == 0;
  }
  s2_array_product(&times, x, x, square);
  // Even and odd powers of the Pade approximant.
  for (int i = 0; i < PADE_COUNT; i += 2) {
    linalg_add_scaled(size, pade[i], power, even);
    linalg_add_scaled(size, pade[i + 1], power, odd);
    s2_array_product(&times, power, square, next);
    memcpy(power, next, bytes);
  }
  s2_array_product(&times, x, odd, next); // odd powers; exp(x) = (even - odd)^-1 (even + odd)
  for (size_t i = 0; i < size; i++) {
    power[i] = even[i] + next[i];
    even[i] -= next[i];
  }
  S2_TRY(s2_array_solve(n, n, even, power, out, factors, pivot, arena));
  // Squares the result once for each halving.
  for (; squarings > 0; squarings--) {
    s2_array_product(&times, out, out, next);
    memcpy(out, next, bytes);
  }
  return s2_ok();
}
