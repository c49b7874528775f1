// Private to core: LU of a small dense matrix with complete pivoting, which reveals the rank.
// Singular but consistent systems are common here, because of redundant joints and hyperstatic
// contacts.
#ifndef S2_DENSE_LU_H
#define S2_DENSE_LU_H

#include "base/arena.h"

typedef struct S2DenseLu {
  int n, rank;
  double *a;    // n x n row-major: L below the diagonal (unit), U on and above
  int *row;     // row[i]: the row of the matrix that became row i
  int *column;  // likewise for columns
  double *work; // n
} S2DenseLu;

// Factors the n x n row-major matrix `a` in place (kept by the result). Pivots not above
// `rank_tolerance` times the largest entry of `a` count as zero and end the factorisation.
S2DenseLu s2_dense_lu_factor(int n, double *a, double rank_tolerance, S2Arena *arena);

// x := a solution of A x = b, in place (b in, x out; n values). For rank < n it is the basic
// solution: unknowns without a pivot are 0, and equations without one are ignored.
void s2_dense_lu_solve(const S2DenseLu *lu, double *x);

// The null space: vectors x with A x = 0. Column c of the result (row-major, rank x (n - rank), in
// the arena) describes one vector: its unknown at pivot position rank + c is -1, the other unknowns
// without a pivot are 0, and the column holds the unknowns with a pivot.
double *s2_dense_lu_null(const S2DenseLu *lu, S2Arena *arena);

#endif
