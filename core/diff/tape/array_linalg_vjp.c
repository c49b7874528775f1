// Vector-Jacobian products of factorisations of matrices. In the comments g_ is the adjoint of the
// name that follows it, and .* an elementwise product.
#include "diff/tape/array.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

static double *linalg_take(S2Arena *arena, int rows, int columns) {
  return S2_TAKE(arena, double, (size_t)rows *(size_t)columns + 1);
}

// out = add * out + scale * A B, where all matrices are dense.
static void linalg_multiply(int m, int k, int n, const double *a, S2ArrayFlip a_flip,
                            const double *b, S2ArrayFlip b_flip, double scale, double add,
                            double *out) {
  const S2ArrayProduct product = {m, k, n, a_flip, b_flip, scale, add};
  s2_array_product(&product, a, b, out);
}

#define PLAIN   S2_ARRAY_PLAIN
#define FLIPPED S2_ARRAY_TRANSPOSED

static bool linalg_all_zero(size_t count, const double *a) {
  for (size_t i = 0; i < count; i++) {
    if (a[i] != 0) {
      return false;
    }
  }
  return true;
}

// Numbers count as equal if their difference is below this fraction of the largest number.
static double linalg_gap_limit(int n, double largest) {
  return 16 * DBL_EPSILON * n * largest;
}

void s2_array_inverse_vjp(int n, const double *out, const double *dl_dout, double *dl_da,
                          S2Arena *arena) {
  double *left = linalg_take(arena, n, n); // g_A = -Y' g_Y Y'
  linalg_multiply(n, n, n, out, FLIPPED, dl_dout, PLAIN, 1, 0, left);
  linalg_multiply(n, n, n, left, PLAIN, out, FLIPPED, -1, 1, dl_da);
}

// g_A = g_d * (cofactors of A). The cofactors are det(U) det(V) U diag(product of the other s) V'.
S2Status s2_array_determinant_vjp(int n, const double *a, double dl_dout, double *dl_da,
                                  S2Arena *arena) {
  double *u = linalg_take(arena, n, n), *s = linalg_take(arena, n, 1),
         *v = linalg_take(arena, n, n);
  S2_TRY(s2_array_svd(n, n, a, u, s, v, arena));
  double turned = s2_array_determinant(n, u, arena) * s2_array_determinant(n, v, arena);
  for (int k = 0; k < n; k++) {
    double others = turned < 0 ? -1 : 1;
    for (int i = 0; i < n; i++) {
      others *= i == k ? 1 : s[i];
    }
    for (int i = 0; i < n; i++) {
      u[(size_t)i * (size_t)n + (size_t)k] *= others;
    }
  }
  linalg_multiply(n, n, n, u, PLAIN, v, FLIPPED, dl_dout, 1, dl_da);
  return s2_ok();
}

// g_A = symmetric part of L^-T P L^-1, where P is the lower triangle of L' g_L with half its
// diagonal.
void s2_array_cholesky_vjp(int n, const double *out, const double *dl_dout, double *dl_da,
                           S2Arena *arena) {
  size_t width = (size_t)n;
  double *p = linalg_take(arena, n, n);
  linalg_multiply(n, n, n, out, FLIPPED, dl_dout, PLAIN, 1, 0, p);
  for (size_t i = 0; i < width; i++) {
    p[i * width + i] /= 2;
    for (size_t j = i + 1; j < width; j++) {
      p[i * width + j] = 0;
    }
  }
  if (n > 0) {
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, n, n, 1, out, n, p,
                n);
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, n, n, 1, out, n,
                p, n);
  }
  for (size_t i = 0; i < width; i++) {
    for (size_t j = 0; j < width; j++) {
      dl_da[i * width + j] += (p[i * width + j] + p[j * width + i]) / 2;
    }
  }
}

// With P the pseudo-inverse, w = P' g_x, h = g_x - P A g_x and r = b - A x (Golub, Pereyra 1973):
// g_b = w, g_A = r (P w)' - w x' + (P' x) h'.
S2Status s2_array_least_squares_vjp(const S2ArrayLeastSquares *in, const double *dl_dx,
                                    double *dl_da, double *dl_db, S2Arena *arena) {
  int m = in->rows, n = in->n, c = in->columns, k = m < n ? m : n;
  // P = V diag(1/s) U'
  double *u = linalg_take(arena, m, k), *s = linalg_take(arena, k, 1),
         *v = linalg_take(arena, n, k);
  S2_TRY(s2_array_svd(m, n, in->a, u, s, v, arena));
  for (int j = 0; j < k; j++) {
    if (!(s[j] > DBL_EPSILON * (m > n ? m : n) * s[0])) {
      return s2_error(S2_UNSOLVED,
                      "least squares: no derivative, because the matrix does not have full rank");
    }
    for (int i = 0; i < n; i++) {
      v[(size_t)i * (size_t)k + (size_t)j] /= s[j];
    }
  }
  // w = P' g_x
  double *pseudo = linalg_take(arena, n, m), *w = linalg_take(arena, m, c);
  linalg_multiply(n, k, m, v, PLAIN, u, FLIPPED, 1, 0, pseudo);
  linalg_multiply(m, n, c, pseudo, FLIPPED, dl_dx, PLAIN, 1, 0, w);
  if (dl_db != NULL) {
    for (size_t i = 0; i < (size_t)m * (size_t)c; i++) {
      dl_db[i] += w[i];
    }
  }
  if (dl_da != NULL) {
    // r = b - A x, P w, h = g_x - P A g_x, P' x
    double *r = linalg_take(arena, m, c), *pw = linalg_take(arena, n, c),
           *h = linalg_take(arena, n, c);
    double *image = linalg_take(arena, m, c), *px = linalg_take(arena, m, c);
    memcpy(r, in->b, (size_t)m * (size_t)c * sizeof *r);
    linalg_multiply(m, n, c, in->a, PLAIN, in->x, PLAIN, -1, 1, r);
    linalg_multiply(n, m, c, pseudo, PLAIN, w, PLAIN, 1, 0, pw);
    linalg_multiply(m, n, c, in->a, PLAIN, dl_dx, PLAIN, 1, 0, image);
    memcpy(h, dl_dx, (size_t)n * (size_t)c * sizeof *h);
    linalg_multiply(n, m, c, pseudo, PLAIN, image, PLAIN, -1, 1, h);
    linalg_multiply(m, n, c, pseudo, FLIPPED, in->x, PLAIN, 1, 0, px);
    // The three terms of g_A.
    linalg_multiply(m, c, n, r, PLAIN, pw, FLIPPED, 1, 1, dl_da);
    linalg_multiply(m, c, n, w, PLAIN, in->x, FLIPPED, -1, 1, dl_da);
    linalg_multiply(m, c, n, px, PLAIN, h, FLIPPED, 1, 1, dl_da);
  }
  return s2_ok();
}

// In these formulas, X and R are only the first k columns of A and of R, so X = Q R. g_X = (g_Q + Q
// S) R^-T, where S is symmetric with the lower triangle of R g_R' - g_Q' Q. The remaining columns
// are Y = Q V, so g_Y = Q g_V, and g_Q receives Y g_V'.
S2Status s2_array_qr_vjp(int rows, int columns, const double *q, const double *r,
                         const double *dl_dq, const double *dl_dr, double *dl_da, S2Arena *arena) {
  int k = rows < columns ? rows : columns, behind = columns - k;
  size_t width = (size_t)k;
  double *square = linalg_take(arena, k, k), *g_square = linalg_take(arena, k, k),
         *s = linalg_take(arena, k, k);
  double *v = linalg_take(arena, k, behind), *g_v = linalg_take(arena, k, behind),
         *y = linalg_take(arena, rows, behind);
  double *g_x = linalg_take(arena, rows, k), *g_y = linalg_take(arena, rows, behind), largest = 0;
  const S2ArrayBlock first = {k, k, 0, columns, 1}, last = {k, behind, k, columns, 1};
  // R and its adjoint: the square part, followed by V.
  s2_array_gather(&first, r, square);
  s2_array_gather(&first, dl_dr, g_square);
  s2_array_gather(&last, r, v);
  s2_array_gather(&last, dl_dr, g_v);
  // Linearly dependent columns do not determine Q.
  for (size_t i = 0; i < width; i++) {
    largest = fmax(largest, fabs(square[i * (width + 1)]));
  }
  for (size_t i = 0; i < width; i++) {
    if (!(square[i * (width + 1)] > linalg_gap_limit(k, largest))) {
      return s2_error(S2_UNSOLVED, "qr: no derivative, because the columns are linearly dependent");
    }
  }
  // g_Q += Y g_V'
  memcpy(g_x, dl_dq, (size_t)rows * width * sizeof *g_x);
  linalg_multiply(rows, k, behind, q, PLAIN, v, PLAIN, 1, 0, y);
  linalg_multiply(rows, behind, k, y, PLAIN, g_v, FLIPPED, 1, 1, g_x);
  // S: the lower triangle of R g_R' - g_Q' Q, mirrored above the diagonal.
  linalg_multiply(k, k, k, square, PLAIN, g_square, FLIPPED, 1, 0, s);
  linalg_multiply(k, rows, k, g_x, FLIPPED, q, PLAIN, -1, 1, s);
  for (size_t i = 0; i < width; i++) {
    for (size_t j = i + 1; j < width; j++) {
      s[i * width + j] = s[j * width + i];
    }
  }
  // g_X = (g_Q + Q S) R^-T
  linalg_multiply(rows, k, k, q, PLAIN, s, PLAIN, 1, 1, g_x);
  if (k > 0) {
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasUpper, CblasTrans, CblasNonUnit, rows, k, 1, square,
                k, g_x, k);
  }
  // g_Y = Q g_V
  linalg_multiply(rows, k, behind, q, PLAIN, g_v, PLAIN, 1, 0, g_y);
  const S2ArrayBlock to_x = {rows, k, 0, columns, 1}, to_y = {rows, behind, k, columns, 1};
  s2_array_scatter_add(&to_x, g_x, dl_da);
  s2_array_scatter_add(&to_y, g_y, dl_da);
  return s2_ok();
}

// ---- Singular values --------------------------------------------------------------------------

// w += (F .* (B' g_B - g_B' B)) with F_ij = 1 / (s_j^2 - s_i^2), times s_j (U) or s_i (V).
static void linalg_add_turning(const S2ArraySvd *in, int rows, int k, const double *b,
                               const double *dl_db, bool by_row, double *w, S2Arena *arena) {
  size_t width = (size_t)k;
  double *inner = linalg_take(arena, k, k);
  linalg_multiply(k, rows, k, b, FLIPPED, dl_db, PLAIN, 1, 0, inner);
  for (size_t i = 0; i < width; i++) {
    for (size_t j = 0; j < width; j++) {
      if (i != j) {
        double si = in->s[i], sj = in->s[j];
        double turn = (inner[i * width + j] - inner[j * width + i]) / ((sj - si) * (sj + si));
        w[i * width + j] += turn * (by_row ? si : sj);
      }
    }
  }
}

// out (rows x k) = (I - B B') g_B diag(1 / s)
static void linalg_outside(const S2ArraySvd *in, int rows, int k, const double *b,
                           const double *dl_db, double *out, S2Arena *arena) {
  double *inner = linalg_take(arena, k, k);
  linalg_multiply(k, rows, k, b, FLIPPED, dl_db, PLAIN, 1, 0, inner);
  memcpy(out, dl_db, (size_t)rows * (size_t)k * sizeof *out);
  linalg_multiply(rows, k, k, b, PLAIN, inner, PLAIN, -1, 1, out);
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < k; j++) {
      out[(size_t)i * (size_t)k + (size_t)j] /= in->s[j];
    }
  }
}

// Townsend 2016, "Differentiating the singular value decomposition".
S2Status s2_array_svd_vjp(const S2ArraySvd *in, const double *dl_du, const double *dl_ds,
                          const double *dl_dv, double *dl_da, S2Arena *arena) {
  int m = in->rows, n = in->columns, k = m < n ? m : n;
  size_t width = (size_t)k;
  bool vectors =
      !linalg_all_zero((size_t)m * width, dl_du) || !linalg_all_zero((size_t)n * width, dl_dv);
  double *w = S2_TAKE_ZEROED(arena, double, width *width + 1), *left = linalg_take(arena, m, k);
  // Singular vectors of almost equal values are undetermined, because they may rotate.
  for (size_t i = 0; i < width; i++) {
    w[i * (width + 1)] = dl_ds[i];
    bool close = i + 1 < width ? in->s[i] - in->s[i + 1] <= linalg_gap_limit(k, in->s[0])
                               : m != n && in->s[i] <= linalg_gap_limit(k, in->s[0]);
    // U (diag(g_s) + turning) V'
    if (vectors && close) {
      return s2_error(S2_UNSOLVED,
                      "svd: the vectors of equal or zero singular values have no derivative");
    }
  }
  if (vectors) {
    linalg_add_turning(in, m, k, in->u, dl_du, false, w, arena);
    linalg_add_turning(in, n, k, in->v, dl_dv, true, w, arena);
  }
  linalg_multiply(m, k, k, in->u, PLAIN, w, PLAIN, 1, 0, left);
  linalg_multiply(m, k, n, left, PLAIN, in->v, FLIPPED, 1, 1, dl_da);
  // Add the part outside the spans of U and V.
  if (vectors && m > k) {
    linalg_outside(in, m, k, in->u, dl_du, left, arena);
    linalg_multiply(m, k, n, left, PLAIN, in->v, FLIPPED, 1, 1, dl_da);
  }
  if (vectors && n > k) {
    double *right = linalg_take(arena, n, k);
    linalg_outside(in, n, k, in->v, dl_dv, right, arena);
    linalg_multiply(m, k, n, in->u, PLAIN, right, FLIPPED, 1, 1, dl_da);
  }
  return s2_ok();
}

// ---- Eigenvalues, exponential -----------------------------------------------------------------

// g_A = V^-T (diag(g_values) + E .* T) V', E_ij = 1 / (value_j - value_i), and T = V' g_V - V'V
// diag(V' g_V). The second term keeps the columns at unit length.
S2Status s2_array_eigen_vjp(int n, const double *values, const double *vectors,
                            const double *dl_dvalues, const double *dl_dvectors, double *dl_da,
                            S2Arena *arena) {
  size_t width = (size_t)n, size = width * width;
  double *inner = linalg_take(arena, n, n), *gram = linalg_take(arena, n, n),
         *w = linalg_take(arena, n, n);
  double *right = linalg_take(arena, n, n), *flipped = linalg_take(arena, n, n),
         *factors = linalg_take(arena, n, n);
  int *pivot = S2_TAKE(arena, int, n + 1);
  bool turned = !linalg_all_zero(size, dl_dvectors);
  double largest = 0, steepest = 0;
  // Values count as equal if they differ by less than this.
  for (size_t i = 0; i < width; i++) {
    largest = fmax(largest, fabs(values[i]));
    steepest = fmax(steepest, fabs(dl_dvalues[i]));
  }
  // V' g_V and V'V
  linalg_multiply(n, n, n, vectors, FLIPPED, dl_dvectors, PLAIN, 1, 0, inner);
  linalg_multiply(n, n, n, vectors, FLIPPED, vectors, PLAIN, 1, 0, gram);
  // E .* T plus diag(g_values). Equal values are allowed only if the loss does not distinguish
  // them.
  for (size_t i = 0; i < width; i++) {
    for (size_t j = 0; j < width; j++) {
      double gap = values[j] - values[i], difference = dl_dvalues[j] - dl_dvalues[i];
      w[i * width + j] = i == j ? dl_dvalues[i] : 0;
      if (i != j && fabs(gap) <= linalg_gap_limit(n, largest)) {
        if (turned || fabs(difference) > linalg_gap_limit(n, steepest)) {
          return s2_error(S2_UNSOLVED, "eig: equal eigenvalues have no derivative");
        }
      } else if (i != j) {
        w[i * width + j] =
            (inner[i * width + j] - gram[i * width + j] * inner[j * width + j]) / gap;
      }
    }
  }
  // V^-T (w V')
  linalg_multiply(n, n, n, w, PLAIN, vectors, FLIPPED, 1, 0, right);
  const S2ArrayBlock transposed = {n, n, 0, 1, n};
  s2_array_gather(&transposed, vectors, flipped);
  S2_TRY(s2_array_solve(n, n, flipped, right, inner, factors, pivot, arena));
  for (size_t i = 0; i < size; i++) {
    dl_da[i] += inner[i];
  }
  return s2_ok();
}

// exp([A' G; 0 A']) contains the derivative of exp at A' along G, which is g_A (Higham 2008, 3.16).
// The derivative is linear in G, so G is scaled to norm 1 to avoid squarings.
S2Status s2_array_exponential_vjp(int n, const double *a, const double *dl_dout, double *dl_da,
                                  S2Arena *arena) {
  size_t size = (size_t)n * (size_t)n;
  double scale = s2_array_norm(size, dl_dout);
  if (scale == 0) {
    return s2_ok();
  }
  double *block = S2_TAKE_ZEROED(arena, double, 4 * size + 1),
         *out = linalg_take(arena, 2 * n, 2 * n);
  double *g = linalg_take(arena, n, n);
  for (size_t i = 0; i < size; i++) {
    g[i] = dl_dout[i] / scale;
  }
  const S2ArrayBlock top = {n, n, 0, 1, 2 * n}, beside = {n, n, n, 2 * n, 1};
  const S2ArrayBlock bottom = {n, n, (ptrdiff_t)n * (2 * n + 1), 1, 2 * n};
  s2_array_scatter(&top, a, block);
  s2_array_scatter(&bottom, a, block);
  s2_array_scatter(&beside, g, block);
  S2_TRY(s2_array_exponential(2 * n, block, out, arena));
  s2_array_gather(&beside, out, g);
  for (size_t i = 0; i < size; i++) {
    dl_da[i] += scale * g[i];
  }
  return s2_ok();
}
