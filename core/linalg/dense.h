// Small dense systems through LAPACKE. Column-major, no workspace, no heap.
#ifndef S2_DENSE_H
#define S2_DENSE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct S2Dense {
  int size;
  bool nonsymmetric;
  double *a;      // size * size numbers: the values, then the factors
  int32_t *pivot; // size numbers; used only if nonsymmetric
} S2Dense;

// Replaces the values by the Cholesky factor (symmetric; only the lower triangle is read) or by L U
// with row pivoting. Returns false if the matrix is singular or not positive definite.
bool s2_dense_factor(S2Dense *matrix);

// Solves K x = b in place: x := K^-1 x
void s2_dense_solve(const S2Dense *matrix, double *x);
// Solves for `count` vectors, one after another.
void s2_dense_solve_many(const S2Dense *matrix, double *x, int count);

// Limits BLAS to one thread. Islands are already solved in parallel, and waking a second thread
// takes longer than solving these systems. The call is cheap, and solvers make it once per problem.
void s2_dense_single_threaded(void);

// Ends the threads that OpenBLAS started when it was loaded, for a process that does not use them.
// For about a tenth of a second these threads wait in busy loops. Meanwhile, everything else runs
// at half speed where two threads share a core.
void s2_dense_end_threads(void);

// OpenBLAS allocates its working memory in the first call that needs it, and keeps it. If there is
// not enough memory, OpenBLAS retries endlessly. This function makes OpenBLAS allocate the memory
// in advance, and returns false if there is not enough.
enum { S2_DENSE_BUFFER = 1 << 27 }; // bytes; the largest value of OpenBLAS's BUFFER_SIZE
bool s2_dense_take_buffer(void);

#endif
