// Private to core: LU factorisation of a small dense matrix with complete pivoting, which reveals
// the rank. Singular but consistent systems are common here, because of redundant joints and
// hyperstatic contacts.
#ifndef S2_DENSE_LU_H
#define S2_DENSE_LU_H

#include "base/arena.h"

typedef struct S2DenseLu {
  int n, rank;
  // n x n, row-major: U on and above the diagonal, L with unit diagonal below it
  double *a;
  int *row;     // row[i]: original index of row i
  int *column;  // column[i]: original index of column i
  double *work; // n
} S2DenseLu;

// Factors the n x n row-major matrix `a` in place. The result refers to `a`. The factorisation ends
// at a pivot of at most `rank_tolerance` times the largest entry of `a`, which counts as zero.
S2DenseLu s2_dense_lu_factor(int n, double *a, double rank_tolerance, S2Arena *arena);

// Solves A x = b in place: b is passed in x, n numbers. If rank < n, the result is the basic
// solution: unknowns without a pivot are 0, and equations without a pivot are ignored.
void s2_dense_lu_solve(const S2DenseLu *lu, double *x);

// Returns a basis of the null space: vectors x with A x = 0. The result is a row-major matrix of
// rank x (n - rank) numbers in the arena. Each column describes one vector. In vector c, the
// unknown at pivot position rank + c is -1, and the other unknowns without a pivot are 0. Column c
// contains the unknowns with a pivot.
double *s2_dense_lu_null(const S2DenseLu *lu, S2Arena *arena);

#endif
