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

// x (n): on input the start, on output the minimum of x'h x / 2 + g'x with lo <= x <= hi. `free`
// (n): whether each number is not held by a bound. `factor` (n x n): the Cholesky factor of h for
// the free numbers, in their order, with stride n. Returns false if h is not positive definite for
// them.
bool s2_boxqp(const S2BoxQp *qp, S2Arena *arena, double *x, bool *free, double *factor);

// Solves L L' y = b in place, for the first n rows and columns of a factor with this stride.
void s2_boxqp_solve(int n, int stride, const double *factor, double *b);

#endif
