// Minimises a convex quadratic function in a box by projected Newton steps on the free numbers, as
// in Tassa, Mansard, Todorov (2014), "Control-limited differential dynamic programming", algorithm
// 1.
#ifndef S2_BOXQP_H
#define S2_BOXQP_H

#include "base/arena.h"

#include <stdbool.h>

typedef struct S2BoxQp {
  int n;
  const double *h;       // n x n, symmetric, positive definite for the free numbers
  const double *g;       // n
  const double *lo, *hi; // n numbers each, lo <= hi; may be infinite
} S2BoxQp;

// Minimises x'h x / 2 + g'x with lo <= x <= hi. x (n numbers) contains the start on input and the
// minimum on output. free[i] is set to true unless a bound holds x_i. `factor` (n x n) receives the
// Cholesky factor of h for the free numbers, in their order, with stride n. Returns false if h is
// not positive definite for the free numbers.
bool s2_boxqp(const S2BoxQp *qp, S2Arena *arena, double *x, bool *free, double *factor);

// Solves L L' y = b in place, for the first n rows and columns of a factor with this stride.
void s2_boxqp_solve(int n, int stride, const double *factor, double *b);

#endif
