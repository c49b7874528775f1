// Sparse matrices by rows. Memory comes from the given arena and lives as long as the arena.
#ifndef S2_CSR_H
#define S2_CSR_H

#include "base/arena.h"

#include <stdint.h>

typedef struct S2Csr {
  int rows, columns;
  int32_t *start;  // rows + 1 start positions
  int32_t *column; // column of each entry, ascending within a row
  double *value;
} S2Csr;

typedef struct S2Triplet {
  int32_t row, column;
  double value;
} S2Triplet;

// Entries at the same position are summed in the given order. Zeros remain as entries.
S2Csr s2_csr_from_triplets(int rows, int columns, int count, const S2Triplet *triplet,
                           S2Arena *arena);
// Stores the nonzero entries of a row-major matrix (including NaN).
S2Csr s2_csr_from_dense(int rows, int columns, const double *values, S2Arena *arena);
S2Csr s2_csr_diagonal(int n, const double *diagonal, S2Arena *arena);
S2Csr s2_csr_transpose(const S2Csr *matrix, S2Arena *arena);

// Adds A x or A' x, multiplied by `factor`, to y.
void s2_csr_add_times(const S2Csr *matrix, double factor, const double *x, double *y);
void s2_csr_add_transposed_times(const S2Csr *matrix, double factor, const double *x, double *y);

#endif
