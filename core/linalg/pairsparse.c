#include "linalg/pairsparse.h"

#include <math.h>
#include <string.h>

// ---- Pattern ----------------------------------------------------------------------------------

// Lists the targets of the updates. Column k updates the block (i, j) for all rows j < i of column
// k. Returns false if there are more than `most` updates.
static bool find_targets(S2PairSparse *matrix, int64_t most, S2Arena *arena) {
  const S2SparsePattern *pattern = &matrix->pattern;
  const int32_t *start = pattern->column_start, *row = pattern->row;
  int64_t count = 0;
  for (int k = 0; k < pattern->nodes; k++) {
    int64_t length = start[k + 1] - start[k];
    count += length * (length - 1) / 2;
  }
  if (count > most) {
    return false;
  }
  int32_t *target = matrix->target = S2_TAKE(arena, int32_t, count);
  for (int k = 0; k < pattern->nodes; k++) {
    for (int32_t p = start[k]; p < start[k + 1]; p++) {
      // Column row[p] contains all rows of column k below row[p]. Both are ascending.
      int32_t at = start[row[p]];
      for (int32_t q = p + 1; q < start[k + 1]; q++) {
        while (row[at] != row[q]) {
          at++;
        }
        *target++ = at;
      }
    }
  }
  return true;
}

bool s2_pairsparse_init(S2PairSparse *matrix, int nodes, int edges, const int32_t *edge,
                        int32_t *slot, int64_t most, S2Arena *arena) {
  *matrix = (S2PairSparse){.target = NULL};
  s2_pattern_init(&matrix->pattern, nodes, edges, edge, slot, arena);
  if (!find_targets(matrix, most, arena)) {
    return false;
  }
  size_t blocks = (size_t)matrix->pattern.blocks, places = (size_t)nodes;
  matrix->lower = S2_TAKE(arena, S2PairBlock, 2 * blocks + 2 * places);
  matrix->upper = matrix->lower + blocks;
  matrix->diagonal = matrix->upper + blocks;
  matrix->inverse = matrix->diagonal + places;
  matrix->work = S2_TAKE(arena, S2Two, 2 * places);
  matrix->bound = matrix->work + places;
  return true;
}

void s2_pairsparse_clear(S2PairSparse *matrix) {
  size_t blocks = (size_t)matrix->pattern.blocks, places = (size_t)matrix->pattern.nodes;
  memset(matrix->lower, 0, sizeof(S2PairBlock) * (2 * blocks + places));
}

// ---- Factorisation ----------------------------------------------------------------------------

static inline S2PairBlock pair_times(const S2PairBlock *a, const S2PairBlock *b) {
  S2Two x = b->column[0], y = b->column[1];
  return (S2PairBlock){
      {a->column[0] * x[0] + a->column[1] * x[1], a->column[0] * y[0] + a->column[1] * y[1]}};
}

static inline void pair_subtract(S2PairBlock *from, const S2PairBlock *a, double factor) {
  from->column[0] -= a->column[0] * factor;
  from->column[1] -= a->column[1] * factor;
}

static inline S2PairBlock pair_scale(const S2PairBlock *a, double factor) {
  return (S2PairBlock){{a->column[0] * factor, a->column[1] * factor}};
}

// Applies column k, whose blocks are scaled, to the blocks off the diagonal. Returns the next
// target.
static const int32_t *update_blocks(S2PairSparse *matrix, int k, const int32_t *target) {
  const int32_t *start = matrix->pattern.column_start;
  S2PairBlock *lower = matrix->lower, *upper = matrix->upper;
  for (int32_t p = start[k]; p < start[k + 1]; p++) {
    for (int32_t q = p + 1; q < start[k + 1]; q++, target++) {
      S2PairBlock below = pair_times(&lower[q], &upper[p]);
      S2PairBlock above = pair_times(&lower[p], &upper[q]);
      pair_subtract(&lower[*target], &below, 1);
      pair_subtract(&upper[*target], &above, 1);
    }
  }
  return target;
}

// Computes y -= block * w.
static inline void take_product(S2Two *y, const S2PairBlock *block, const S2Two *w) {
  *y -= block->column[0] * (*w)[0] + block->column[1] * (*w)[1];
}

// Copies x to the scratch memory in the order of elimination.
static void load_places(const S2PairSparse *matrix, const double *x) {
  for (int k = 0; k < matrix->pattern.nodes; k++) {
    const double *of = x + 2 * (size_t)matrix->pattern.order[k];
    matrix->work[k] = (S2Two){of[0], of[1]};
  }
}

// Computes x_k = D_k^-1 (y_k - sum U_kr x_r), from the last k to the first. The scratch memory
// contains y.
static void solve_upper(const S2PairSparse *matrix, double *x) {
  const int32_t *start = matrix->pattern.column_start, *row = matrix->pattern.row;
  S2Two *w = matrix->work;
  for (int k = matrix->pattern.nodes - 1; k >= 0; k--) {
    const S2PairBlock *inverse = &matrix->inverse[k];
    double *to = x + 2 * (size_t)matrix->pattern.order[k];
    S2Two y = w[k];
    for (int32_t p = start[k]; p < start[k + 1]; p++) {
      take_product(&y, &matrix->upper[p], &w[row[p]]);
    }
    w[k] = inverse->column[0] * y[0] + inverse->column[1] * y[1];
    to[0] = w[k][0];
    to[1] = w[k][1];
  }
}

// Factors all columns, and solves L y = x in the scratch memory. Both wait for the last columns, so
// together they take little more time than the factorisation.
static bool factor_columns(S2PairSparse *matrix) {
  const int32_t *start = matrix->pattern.column_start, *row = matrix->pattern.row;
  const int32_t *target = matrix->target;
  S2PairBlock *lower = matrix->lower;
  bool regular = true;
  for (int k = 0; k < matrix->pattern.nodes; k++) {
    const S2PairBlock d = matrix->diagonal[k];
    double first = d.column[0][0];
    double determinant = first * d.column[1][1] - d.column[1][0] * d.column[0][1];
    // The second pivot is determinant / first. Comparisons with NaN are false.
    double factor = 1 / determinant;
    regular &= first > matrix->bound[k][0] && determinant > matrix->bound[k][1] * first &&
               isfinite(factor);
    S2PairBlock adjugate = {{{d.column[1][1], -d.column[0][1]}, {-d.column[1][0], first}}};
    matrix->inverse[k] = pair_scale(&adjugate, factor);
    S2Two y = matrix->work[k];
    // The products with the adjugate do not have to wait for the division.
    for (int32_t p = start[k]; p < start[k + 1]; p++) {
      S2PairBlock l = pair_times(&lower[p], &adjugate), change = pair_times(&l, &matrix->upper[p]);
      pair_subtract(&matrix->diagonal[row[p]], &change, factor);
      lower[p] = pair_scale(&l, factor);
      take_product(&matrix->work[row[p]], &lower[p], &y);
    }
    target = update_blocks(matrix, k, target);
  }
  return regular;
}

bool s2_pairsparse_factor(S2PairSparse *matrix, double least, double *x) {
  for (int k = 0; k < matrix->pattern.nodes; k++) {
    const S2PairBlock *d = &matrix->diagonal[k];
    matrix->bound[k] = (S2Two){least * d->column[0][0], least * d->column[1][1]};
  }
  if (x == NULL) {
    memset(matrix->work, 0, sizeof(S2Two) * (size_t)matrix->pattern.nodes);
    return factor_columns(matrix);
  }
  load_places(matrix, x);
  bool regular = factor_columns(matrix);
  solve_upper(matrix, x);
  return regular;
}

void s2_pairsparse_solve(const S2PairSparse *matrix, double *x) {
  const int32_t *start = matrix->pattern.column_start, *row = matrix->pattern.row;
  S2Two *w = matrix->work;
  load_places(matrix, x);
  // L y = x
  for (int k = 0; k < matrix->pattern.nodes; k++) {
    S2Two y = w[k];
    for (int32_t p = start[k]; p < start[k + 1]; p++) {
      take_product(&w[row[p]], &matrix->lower[p], &y);
    }
  }
  solve_upper(matrix, x);
}
