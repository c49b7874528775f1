#define _DEFAULT_SOURCE // NOLINT(bugprone-reserved-identifier): MAP_ANON
#include "linalg/dense.h"

#include <lapacke.h>
#include <sys/mman.h>

// These declarations replace a header, because the name of OpenBLAS's header differs between
// systems.
void openblas_set_num_threads(int threads);
int openblas_get_num_threads(void);
// OpenBLAS calls this function before a fork. Its serial variant does not have it.
extern int blas_thread_shutdown_(void) __attribute__((weak));

void s2_dense_single_threaded(void) {
  // Setting the number, even to the same value, would start threads that have been ended.
  if (openblas_get_num_threads() != 1) {
    openblas_set_num_threads(1);
  }
}

void s2_dense_end_threads(void) {
  s2_dense_single_threaded();
  if (blas_thread_shutdown_ != NULL) {
    (void)blas_thread_shutdown_();
  }
}

bool s2_dense_take_buffer(void) {
  // Test whether there is memory for the buffer, because OpenBLAS does not return if its own
  // allocation fails.
  const size_t buffer = (size_t)S2_DENSE_BUFFER;
  void *room = mmap(NULL, buffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (room == MAP_FAILED) {
    return false;
  }
  munmap(room, buffer);
  // A factorisation of the smallest matrix makes OpenBLAS allocate the buffer.
  double a[] = {2, 1, 1, 2};
  lapack_int pivot[2];
  return LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, 2, 2, a, 2, pivot) == 0;
}

bool s2_dense_factor(S2Dense *matrix) {
  int n = matrix->size;
  if (n == 0) { // LAPACK rejects a leading dimension of 0
    return true;
  }
  if (matrix->nonsymmetric) {
    return LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, matrix->a, n, matrix->pivot) == 0;
  }
  return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, matrix->a, n) == 0;
}

void s2_dense_solve_many(const S2Dense *matrix, double *x, int count) {
  int n = matrix->size;
  if (n == 0) {
    return;
  }
  if (matrix->nonsymmetric) {
    LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, count, matrix->a, n, matrix->pivot, x, n);
  } else {
    LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', n, count, matrix->a, n, x, n);
  }
}

void s2_dense_solve(const S2Dense *matrix, double *x) {
  s2_dense_solve_many(matrix, x, 1);
}
