#include "linalg/blocksparse.h"

#include "linalg/pattern.h"

#include <math.h>
#include <string.h>

static size_t blocksparse_bytes(int32_t blocks) {
  return sizeof(double) * S2_BLOCK * (size_t)blocks;
}

// ---- Pattern ----------------------------------------------------------------------------------

// Computes the cost of each column, which includes updates by earlier columns, its blocks, and its
// pivot (PIVOT_COST).
static void find_costs(S2BlockSparse *matrix, S2Arena *arena) {
  enum { PIVOT_COST = 4 };
  const int32_t *start = matrix->column_start;
  matrix->cost = S2_TAKE(arena, int32_t, matrix->nodes);
  for (int32_t j = 0; j < matrix->nodes; j++) {
    matrix->cost[j] = PIVOT_COST + start[j + 1] - start[j];
    for (int32_t e = matrix->row_start[j]; e < matrix->row_start[j + 1]; e++) {
      matrix->cost[j] += start[matrix->row_column[e] + 1] - matrix->row_block[e];
    }
    matrix->cost_of_all += matrix->cost[j];
  }
}

void s2_blocksparse_init(S2BlockSparse *matrix, int nodes, int edges, const int32_t *edge,
                         int32_t *slot, S2Arena *arena) {
  S2SparsePattern pattern;
  s2_pattern_init(&pattern, nodes, edges, edge, slot, arena);
  *matrix = (S2BlockSparse){.nodes = nodes,
                            .blocks = pattern.blocks,
                            .order = pattern.order,
                            .place = pattern.place,
                            .column_start = pattern.column_start,
                            .row = pattern.row,
                            .row_start = pattern.row_start,
                            .row_column = pattern.row_column,
                            .row_block = pattern.row_block};
  // Column k + 1 extends column k if column k has one more row and their other rows are equal. Then
  // both columns are applied together.
  matrix->extends = S2_TAKE(arena, bool, nodes);
  for (int k = 0; k < nodes; k++) {
    int32_t p = matrix->column_start[k], q = matrix->column_start[k + 1];
    matrix->extends[k] = k + 1 < nodes && q > p && matrix->row[p] == k + 1 &&
                         q - p == matrix->column_start[k + 2] - q + 1;
  }
  matrix->stale = S2_TAKE_ZEROED(arena, bool, nodes);
  find_costs(matrix, arena);
  matrix->position = S2_TAKE(arena, int32_t, nodes);
  // one more entry, because the load of the last block reads it
  size_t numbers = S2_BLOCK * (size_t)matrix->blocks + 1;
  matrix->lower = S2_TAKE(arena, double, numbers);
  matrix->upper = S2_TAKE(arena, double, numbers);
  matrix->lower[numbers - 1] = matrix->upper[numbers - 1] = 0;
  matrix->diagonal = S2_TAKE(arena, S2Quad, 3 * nodes);
  matrix->inverse = S2_TAKE(arena, S2Quad, 3 * nodes);
  matrix->work = S2_TAKE(arena, S2Quad, nodes);
}

void s2_blocksparse_clear(S2BlockSparse *matrix, bool nonsymmetric) {
  matrix->nonsymmetric = nonsymmetric;
  memset(matrix->lower, 0, blocksparse_bytes(matrix->blocks));
  memset(matrix->diagonal, 0, 3 * sizeof(S2Quad) * (size_t)matrix->nodes);
  if (nonsymmetric) {
    memset(matrix->upper, 0, blocksparse_bytes(matrix->blocks));
  }
}

void s2_blocksparse_add(S2BlockSparse *matrix, int32_t slot, int32_t a, int32_t b,
                        const double block[9]) {
  if (a == b) {
    S2Quad *to = matrix->diagonal + 3 * matrix->place[a];
    for (int k = 0; k < 9; k++) {
      to[k % 3][k / 3] += block[k];
    }
    return;
  }
  bool a_below = matrix->place[a] > matrix->place[b];
  double *to = matrix->lower + S2_BLOCK * (size_t)slot;
  for (int k = 0; k < S2_BLOCK; k++) {
    to[a_below ? 3 * (k % 3) + k / 3 : k] += block[k];
  }
}

// ---- Block kernels ----------------------------------------------------------------------------
// Small 3 x 3 factors are column-major: t[3 * column + row].

// Computes t = D V'.
S2_INLINE void times_transpose(double t[9], const S2Quad *d, const double *v) {
  for (int c = 0; c < 3; c++) {
    S2Quad column = d[0] * v[c] + d[1] * v[3 + c] + d[2] * v[6 + c];
    s2_quad_store(t + 3 * c, &column);
  }
}

// Computes s = D' L'.
S2_INLINE void transpose_times_transpose(double s[9], const S2Quad *d, const double *l) {
  for (int c = 0; c < 3; c++) {
    for (int r = 0; r < 3; r++) {
      s[3 * c + r] = d[r][0] * l[c] + d[r][1] * l[3 + c] + d[r][2] * l[6 + c];
    }
  }
}

// Reads a column of a block in one instruction. Three separate reads would take three. The fourth
// lane is the next number in memory and is ignored.
typedef double QuadAnywhere __attribute__((vector_size(32), aligned(8), may_alias));

S2_INLINE void blocksparse_load(S2Quad to[3], const double *from) {
  for (int c = 0; c < 3; c++) {
    to[c] = *(const QuadAnywhere *)(from + 3 * c);
  }
}

// The store of the next column overwrites each column's fourth lane. The store of the last column
// must not overwrite the next block.
S2_INLINE void blocksparse_store(double *to, const S2Quad column[3]) {
  *(QuadAnywhere *)to = column[0];
  *(QuadAnywhere *)(to + 3) = column[1];
  s2_quad_store(to + 6, &column[2]);
}

// Computes p = a t.
S2_INLINE void blocksparse_times(S2Quad p[3], const S2Quad a[3], const double t[9]) {
  for (int c = 0; c < 3; c++) {
    p[c] = a[0] * t[3 * c] + a[1] * t[3 * c + 1] + a[2] * t[3 * c + 2];
  }
}

// Subtracts a t from a diagonal block w, whose fourth lane is 0.
S2_INLINE void subtract_pivot(S2Quad *w, const double *a, const double t[9]) {
  S2Quad x[3], p[3];
  for (int c = 0; c < 3; c++) {
    s2_quad_load(&x[c], a + 3 * c);
  }
  blocksparse_times(p, x, t);
  for (int c = 0; c < 3; c++) {
    w[c] -= p[c];
  }
}

// Subtracts t times the blocks of an earlier column `a`, below row `row[0]`, from a later column.
S2_INLINE void blocksparse_update(double *column, const double *a, const int32_t *row,
                                  int32_t count, const double t[9], const int32_t *position) {
  for (int32_t q = 0; q < count; q++) {
    double *w = column + S2_BLOCK * (size_t)position[row[q]];
    S2Quad x[3], p[3], sum[3];
    blocksparse_load(x, a + S2_BLOCK * (size_t)q);
    blocksparse_load(sum, w);
    blocksparse_times(p, x, t);
    for (int c = 0; c < 3; c++) {
      sum[c] -= p[c];
    }
    blocksparse_store(w, sum);
  }
}

// Subtracts two earlier columns with equal rows together, which halves the memory traffic.
S2_INLINE void update_two(double *column, const double *a, const double *b, const int32_t *row,
                          int32_t count, const double t[9], const double u[9],
                          const int32_t *position) {
  for (int32_t q = 0; q < count; q++) {
    double *w = column + S2_BLOCK * (size_t)position[row[q]];
    S2Quad x[3], y[3], p[3], r[3], sum[3];
    blocksparse_load(x, a + S2_BLOCK * (size_t)q);
    blocksparse_load(y, b + S2_BLOCK * (size_t)q);
    blocksparse_load(sum, w);
    blocksparse_times(p, x, t);
    blocksparse_times(r, y, u);
    for (int c = 0; c < 3; c++) {
      sum[c] -= p[c] + r[c];
    }
    blocksparse_store(w, sum);
  }
}

// Replaces every block a of a column with a t.
S2_INLINE void blocksparse_scale(double *a, int32_t count, const double t[9]) {
  for (int32_t q = 0; q < count; q++, a += S2_BLOCK) {
    S2Quad x[3], scaled[3];
    blocksparse_load(x, a);
    blocksparse_times(scaled, x, t);
    blocksparse_store(a, scaled);
  }
}

// Computes the inverse by cofactors. This needs only one division, and its accuracy is independent
// of the scaling of rows and columns.
S2_INLINE bool blocksparse_invert(S2Quad *inverse, const S2Quad *d) {
  double a = d[0][0], b = d[1][0], c = d[2][0];
  double e = d[0][1], f = d[1][1], g = d[2][1];
  double p = d[0][2], q = d[1][2], r = d[2][2];
  double c0 = f * r - g * q, c1 = g * p - e * r, c2 = e * q - f * p;
  double determinant = a * c0 + b * c1 + c * c2;
  double k = 1 / determinant;
  inverse[0] = (S2Quad){c0 * k, c1 * k, c2 * k, 0};
  inverse[1] = (S2Quad){(c * q - b * r) * k, (a * r - c * p) * k, (b * p - a * q) * k, 0};
  inverse[2] = (S2Quad){(b * g - c * f) * k, (c * e - a * g) * k, (a * f - b * e) * k, 0};
  return isfinite(k);
}

// Computes the inverse of an ill-conditioned d with more digits than a double. In double precision,
// cofactors lose the square of the condition number. With weights of 1e8, this loss would cause
// errors of 1e-4 even if the active set is correct.
S2_INLINE bool blocksparse_invert_accurately(S2Quad *inverse, const S2Quad *d) {
  long double a = d[0][0], b = d[1][0], c = d[2][0];
  long double e = d[0][1], f = d[1][1], g = d[2][1];
  long double p = d[0][2], q = d[1][2], r = d[2][2];
  long double c0 = f * r - g * q, c1 = g * p - e * r, c2 = e * q - f * p;
  long double k = 1 / (a * c0 + b * c1 + c * c2);
  inverse[0] = (S2Quad){(double)(c0 * k), (double)(c1 * k), (double)(c2 * k), 0};
  inverse[1] = (S2Quad){(double)((c * q - b * r) * k), (double)((a * r - c * p) * k),
                        (double)((b * p - a * q) * k), 0};
  inverse[2] = (S2Quad){(double)((b * g - c * f) * k), (double)((c * e - a * g) * k),
                        (double)((a * f - b * e) * k), 0};
  return isfinite((double)k);
}

// Factors a symmetric d = l D l' with scalars instead of inverting it. Column k contains 1 / D_k
// and the entries of l below it. Pivoting is not needed, because d is definite.
S2_INLINE bool blocksparse_split(S2Quad *factor, const S2Quad *d) {
  double i0 = 1 / d[0][0], l1 = d[0][1] * i0, l2 = d[0][2] * i0;
  double i1 = 1 / (d[1][1] - l1 * d[0][1]), e = d[1][2] - l2 * d[0][1], l3 = e * i1;
  double i2 = 1 / (d[2][2] - l2 * d[0][2] - l3 * e);
  factor[0] = (S2Quad){i0, l1, l2, 0};
  factor[1] = (S2Quad){0, i1, l3, 0};
  factor[2] = (S2Quad){0, 0, i2, 0};
  return isfinite(i0) && isfinite(i1) && isfinite(i2);
}

// Replaces every block a of a column with a d^-1, by substitution.
S2_INLINE void blocksparse_substitute(double *a, int32_t count, const S2Quad *factor) {
  double l1 = factor[0][1], l2 = factor[0][2], l3 = factor[1][2];
  for (int32_t q = 0; q < count; q++, a += S2_BLOCK) {
    S2Quad x[3];
    blocksparse_load(x, a);
    x[1] = x[1] - l1 * x[0];
    x[2] = (x[2] - l2 * x[0] - l3 * x[1]) * factor[2][2];
    x[1] = x[1] * factor[1][1] - l3 * x[2];
    x[0] = x[0] * factor[0][0] - l1 * x[1] - l2 * x[2];
    blocksparse_store(a, x);
  }
}

// ---- Factorisation ----------------------------------------------------------------------------

// Applies all earlier columns to column j of the matrix.
S2_INLINE void blocksparse_eliminate(S2BlockSparse *matrix, int32_t j) {
  bool both = matrix->nonsymmetric;
  const int32_t *start = matrix->column_start;
  double *lower = matrix->lower, *upper = both ? matrix->upper : matrix->lower;
  double *lower_j = lower + S2_BLOCK * (size_t)start[j],
         *upper_j = upper + S2_BLOCK * (size_t)start[j];
  S2Quad *pivot = matrix->diagonal + 3 * j;
  int32_t end = matrix->row_start[j + 1];
  // Column k changes column j by L_ik D_k U_kj' for all rows i of column k from j on.
  for (int32_t e = matrix->row_start[j]; e < end; e++) {
    int32_t k = matrix->row_column[e], p = matrix->row_block[e];
    const double *l = lower + S2_BLOCK * (size_t)p, *u = upper + S2_BLOCK * (size_t)p;
    const S2Quad *d = matrix->diagonal + 3 * k;
    const int32_t *below = matrix->row + p + 1;
    int32_t count = start[k + 1] - p - 1;
    double t[9], s[9], t2[9], s2[9];
    times_transpose(t, d, u);
    subtract_pivot(pivot, l, t);
    // Two columns with the same rows below are applied together.
    if (e + 1 < end && matrix->extends[k] && matrix->row_column[e + 1] == k + 1) {
      size_t p2 = (size_t)matrix->row_block[e + 1];
      const double *l2 = lower + S2_BLOCK * p2, *u2 = upper + S2_BLOCK * p2;
      times_transpose(t2, d + 3, u2);
      subtract_pivot(pivot, l2, t2);
      update_two(lower_j, l + S2_BLOCK, l2 + S2_BLOCK, below, count, t, t2, matrix->position);
      if (both) {
        transpose_times_transpose(s, d, l);
        transpose_times_transpose(s2, d + 3, l2);
        update_two(upper_j, u + S2_BLOCK, u2 + S2_BLOCK, below, count, s, s2, matrix->position);
      }
      e++;
      continue;
    }
    // Apply below the diagonal, and also above it if the matrix is not symmetric.
    blocksparse_update(lower_j, l + S2_BLOCK, below, count, t, matrix->position);
    if (both) {
      transpose_times_transpose(s, d, l);
      blocksparse_update(upper_j, u + S2_BLOCK, below, count, s, matrix->position);
    }
  }
}

// Factors column j after all earlier ones. Returns false if its pivot is singular.
S2_INLINE bool blocksparse_factor_column(S2BlockSparse *matrix, int32_t j) {
  const int32_t *start = matrix->column_start;
  // Store the positions of this column's rows, for the updates.
  for (int32_t p = start[j]; p < start[j + 1]; p++) {
    matrix->position[matrix->row[p]] = p - start[j];
  }
  blocksparse_eliminate(matrix, j);
  S2Quad *inverse = matrix->inverse + 3 * j;
  int32_t count = start[j + 1] - start[j];
  // If D_j is ill-conditioned, compute L_ij = K_ij D_j^-1 by substitution.
  if (matrix->careful && !matrix->nonsymmetric) {
    bool regular = blocksparse_split(inverse, matrix->diagonal + 3 * j);
    blocksparse_substitute(matrix->lower + S2_BLOCK * (size_t)start[j], count, inverse);
    return regular;
  }
  // Otherwise use the inverse, and compute U in the same way.
  bool regular = matrix->accurate ? blocksparse_invert_accurately(inverse, matrix->diagonal + 3 * j)
                                  : blocksparse_invert(inverse, matrix->diagonal + 3 * j);
  double t[9];
  for (int k = 0; k < 9; k++) {
    t[k] = inverse[k / 3][k % 3];
  }
  blocksparse_scale(matrix->lower + S2_BLOCK * (size_t)start[j], count, t);
  if (matrix->nonsymmetric) {
    for (int k = 0; k < 9; k++) {
      t[k] = inverse[k % 3][k / 3];
    }
    blocksparse_scale(matrix->upper + S2_BLOCK * (size_t)start[j], count, t);
  }
  return regular;
}

S2_WIDE bool s2_blocksparse_factor(S2BlockSparse *matrix) {
  bool regular = true;
  for (int32_t j = 0; j < matrix->nodes && regular; j++) {
    regular = blocksparse_factor_column(matrix, j);
  }
  return regular;
}

double s2_blocksparse_spread(S2BlockSparse *matrix) {
  const int32_t *start = matrix->column_start;
  double cost = 0;
  for (int32_t j = 0; j < matrix->nodes; j++) {
    if (!matrix->stale[j]) {
      continue;
    }
    cost += matrix->cost[j];
    // Mark only the first column that depends on column j. That column marks the next one in turn.
    if (start[j + 1] > start[j]) {
      matrix->stale[matrix->row[start[j]]] = true;
    }
    size_t first = S2_BLOCK * (size_t)start[j], size = blocksparse_bytes(start[j + 1] - start[j]);
    memset(matrix->diagonal + 3 * j, 0, 3 * sizeof(S2Quad));
    memset(matrix->lower + first, 0, size);
    if (matrix->nonsymmetric) {
      memset(matrix->upper + first, 0, size);
    }
  }
  return matrix->nodes > 0 ? cost / matrix->cost_of_all : 0;
}

S2_WIDE bool s2_blocksparse_refactor(S2BlockSparse *matrix) {
  bool regular = true;
  for (int32_t j = 0; j < matrix->nodes; j++) {
    if (matrix->stale[j]) {
      regular = regular && blocksparse_factor_column(matrix, j);
      matrix->stale[j] = false;
    }
  }
  return regular;
}

bool s2_blocksparse_positive(const S2BlockSparse *matrix) {
  for (int j = 0; j < matrix->nodes; j++) {
    const S2Quad *d = matrix->diagonal + 3 * j;
    double minor = d[0][0] * d[1][1] - d[1][0] * d[0][1];
    double determinant = minor * d[2][2] - d[2][0] * (d[0][2] * d[1][1] - d[1][2] * d[0][1]) -
                         d[2][1] * (d[1][2] * d[0][0] - d[0][2] * d[1][0]);
    if (!(d[0][0] > 0 && minor > 0 && determinant > 0)) {
      return false;
    }
  }
  return true;
}

S2_WIDE void s2_blocksparse_solve(const S2BlockSparse *matrix, const S2Quad *b, S2Quad *x) {
  const int32_t *start = matrix->column_start;
  S2Quad *w = matrix->work;
  int32_t n = matrix->nodes;
  for (int32_t i = 0; i < n; i++) {
    w[i] = b[matrix->order[i]];
  }
  // L y = b
  for (int32_t j = 0; j < n; j++) {
    double y0 = w[j][0], y1 = w[j][1], y2 = w[j][2];
    for (int32_t p = start[j]; p < start[j + 1]; p++) {
      S2Quad l[3];
      blocksparse_load(l, matrix->lower + S2_BLOCK * (size_t)p);
      w[matrix->row[p]] -= l[0] * y0 + l[1] * y1 + l[2] * y2;
    }
  }
  // Compute x_j = D_j^-1 y_j - sum U_ij' x_i from the last j to the first.
  const double *upper = matrix->nonsymmetric ? matrix->upper : matrix->lower;
  for (int32_t j = n - 1; j >= 0; j--) {
    const S2Quad *inverse = matrix->inverse + 3 * j;
    S2Quad s0 = {0}, s1 = {0}, s2 = {0};
    for (int32_t p = start[j]; p < start[j + 1]; p++) {
      S2Quad u[3], y = w[matrix->row[p]];
      blocksparse_load(u, upper + S2_BLOCK * (size_t)p);
      s0 += u[0] * y;
      s1 += u[1] * y;
      s2 += u[2] * y;
    }
    S2Quad sum = {s0[0] + s0[1] + s0[2], s1[0] + s1[1] + s1[2], s2[0] + s2[1] + s2[2], 0};
    // Apply D_j^-1 with the factors of D_j.
    if (matrix->careful && !matrix->nonsymmetric) {
      double y1 = w[j][1] - inverse[0][1] * w[j][0];
      double y2 = w[j][2] - inverse[0][2] * w[j][0] - inverse[1][2] * y1;
      double x2 = y2 * inverse[2][2], x1 = y1 * inverse[1][1] - inverse[1][2] * x2;
      double x0 = w[j][0] * inverse[0][0] - inverse[0][1] * x1 - inverse[0][2] * x2;
      w[j] = (S2Quad){x0, x1, x2, 0} - sum;
      continue;
    }
    w[j] = inverse[0] * w[j][0] + inverse[1] * w[j][1] + inverse[2] * w[j][2] - sum;
  }
  for (int32_t i = 0; i < n; i++) {
    x[matrix->order[i]] = w[i];
  }
}
