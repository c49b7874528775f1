#include "linalg/csr.h"

#include <string.h>

static S2Csr csr_make(int rows, int columns, int entries, S2Arena *arena) {
  return (S2Csr){
      .rows = rows,
      .columns = columns,
      .start = S2_TAKE_ZEROED(arena, int32_t, rows + 1),
      .column = S2_TAKE(arena, int32_t, entries),
      .value = S2_TAKE(arena, double, entries),
  };
}

// Converts the counts in start[1..] to start positions.
static void csr_accumulate(S2Csr *matrix) {
  for (int i = 0; i < matrix->rows; i++) {
    matrix->start[i + 1] += matrix->start[i];
  }
}

S2Csr s2_csr_transpose(const S2Csr *matrix, S2Arena *arena) {
  int entries = matrix->start[matrix->rows];
  S2Csr transpose = csr_make(matrix->columns, matrix->rows, entries, arena);
  S2ArenaMark mark = s2_arena_mark(arena);
  int32_t *next = S2_TAKE(arena, int32_t, matrix->columns);
  // Count by columns, accumulate the counts, then fill row by row.
  for (int p = 0; p < entries; p++) {
    transpose.start[matrix->column[p] + 1]++;
  }
  csr_accumulate(&transpose);
  memcpy(next, transpose.start, sizeof(int32_t) * (size_t)matrix->columns);
  for (int i = 0; i < matrix->rows; i++) {
    for (int32_t p = matrix->start[i]; p < matrix->start[i + 1]; p++) {
      int32_t at = next[matrix->column[p]]++;
      transpose.column[at] = i;
      transpose.value[at] = matrix->value[p];
    }
  }
  s2_arena_rewind(arena, mark);
  return transpose;
}

// Merges consecutive entries of the same column. The matrix must be sorted.
static void csr_merge(S2Csr *matrix) {
  int32_t kept = 0, from = 0;
  for (int i = 0; i < matrix->rows; i++) {
    int32_t begin = kept, end = matrix->start[i + 1];
    // After sorting, entries at the same position are consecutive.
    for (int32_t p = from; p < end; p++) {
      if (kept > begin && matrix->column[kept - 1] == matrix->column[p]) {
        matrix->value[kept - 1] += matrix->value[p];
      } else {
        matrix->column[kept] = matrix->column[p];
        matrix->value[kept++] = matrix->value[p];
      }
    }
    from = end;
    matrix->start[i + 1] = kept;
  }
}

S2Csr s2_csr_from_triplets(int rows, int columns, int count, const S2Triplet *triplet,
                           S2Arena *arena) {
  S2Csr result = csr_make(rows, columns, count, arena);
  S2ArenaMark mark = s2_arena_mark(arena);
  // Sort by columns first: transposing the result sorts every row and keeps the order of
  // duplicates.
  S2Csr by_columns = csr_make(columns, rows, count, arena);
  int32_t *next = S2_TAKE(arena, int32_t, rows + columns);
  for (int k = 0; k < count; k++) {
    by_columns.start[triplet[k].column + 1]++;
    result.start[triplet[k].row + 1]++;
  }
  csr_accumulate(&by_columns);
  csr_accumulate(&result);
  // Fill by columns, in the given order.
  memcpy(next, by_columns.start, sizeof(int32_t) * (size_t)columns);
  for (int k = 0; k < count; k++) {
    int32_t at = next[triplet[k].column]++;
    by_columns.column[at] = triplet[k].row;
    by_columns.value[at] = triplet[k].value;
  }
  // Transpose the result, which sorts it by rows.
  memcpy(next, result.start, sizeof(int32_t) * (size_t)rows);
  for (int j = 0; j < columns; j++) {
    for (int32_t p = by_columns.start[j]; p < by_columns.start[j + 1]; p++) {
      int32_t at = next[by_columns.column[p]]++;
      result.column[at] = j;
      result.value[at] = by_columns.value[p];
    }
  }
  csr_merge(&result);
  s2_arena_rewind(arena, mark);
  return result;
}

S2Csr s2_csr_from_dense(int rows, int columns, const double *values, S2Arena *arena) {
  size_t size = (size_t)rows * (size_t)columns;
  int entries = 0;
  for (size_t k = 0; k < size; k++) {
    entries += values[k] != 0;
  }
  S2Csr matrix = csr_make(rows, columns, entries, arena);
  int32_t at = 0;
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < columns; j++) {
      double value = values[(size_t)i * (size_t)columns + (size_t)j];
      if (value != 0) {
        matrix.column[at] = j;
        matrix.value[at++] = value;
      }
    }
    matrix.start[i + 1] = at;
  }
  return matrix;
}

S2Csr s2_csr_diagonal(int n, const double *diagonal, S2Arena *arena) {
  S2Csr matrix = csr_make(n, n, n, arena);
  for (int i = 0; i < n; i++) {
    matrix.start[i + 1] = i + 1;
    matrix.column[i] = i;
    matrix.value[i] = diagonal[i];
  }
  return matrix;
}

void s2_csr_add_times(const S2Csr *matrix, double factor, const double *x, double *y) {
  for (int i = 0; i < matrix->rows; i++) {
    double sum = 0;
    for (int32_t p = matrix->start[i]; p < matrix->start[i + 1]; p++) {
      sum += matrix->value[p] * x[matrix->column[p]];
    }
    y[i] += factor * sum;
  }
}

void s2_csr_add_transposed_times(const S2Csr *matrix, double factor, const double *x, double *y) {
  for (int i = 0; i < matrix->rows; i++) {
    double f = factor * x[i];
    for (int32_t p = matrix->start[i]; p < matrix->start[i + 1]; p++) {
      y[matrix->column[p]] += f * matrix->value[p];
    }
  }
}
