// Small dense systems through LAPACKE. Column-major, no workspace, no heap.
#ifndef S2_DENSE_H
#define S2_DENSE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct S2Dense {
  int size;
  bool nonsymmetric;
  double *a;      // size * size: the values, then the factors
  int32_t *pivot; // size; used when nonsymmetric
} S2Dense;

// Overwrites the values by the Cholesky factor (symmetric; only the lower triangle is read) or by
// L U with row pivoting. False when singular or not positive definite.
bool s2_dense_factor(S2Dense *matrix);

// x := K^-1 x
void s2_dense_solve(const S2Dense *matrix, double *x);
// The same for `count` of them, one behind the other.
void s2_dense_solve_many(const S2Dense *matrix, double *x, int count);

// One thread for BLAS: islands are what runs in parallel here, and a second thread costs more to
// wake than these systems take. Cheap; the solvers call it once a problem.
void s2_dense_single_threaded(void);

// OpenBLAS takes its working memory with the first call that needs it, keeps it, and asks again and
// again, for ever, when there is none. This takes it now; false: there is no room for it.
enum { S2_DENSE_BUFFER = 1 << 27 }; // bytes; its BUFFER_SIZE where that is largest
bool s2_dense_take_buffer(void);

#endif
