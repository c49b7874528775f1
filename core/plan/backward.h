// The backward pass of iLQR. It finds the best change of the controls of a trajectory for
// linearised steps and quadratic costs, with limits on controls (Tassa, Mansard, Todorov 2014,
// equations 5 to 11).
#ifndef S2_BACKWARD_H
#define S2_BACKWARD_H

#include "base/arena.h"

#include <stdbool.h>

typedef struct S2Backward {
  int knots, n, m;     // number of steps, length of a state, length of a control
  const double *a, *b; // knots x n x n, knots x n x m: x+ = a x + b u about the trajectory.
  // derivatives of the cost, (knots + 1) x n and (knots + 1) x n x n; the last knot has terminal
  // costs
  const double *lx, *lxx;
  const double *lu, *luu; // knots x m (gradient), knots x m (diagonal)
  const double *u;        // knots x m: current controls
  const double *lo, *hi;  // m: limits of the controls, which may be infinite
  double mu;              // weight on a change of the next state, as in equation 10a
} S2Backward;

// Computes k (knots x m) and gain (knots x m x n) for u' = u + step k + gain (x' - x). Gains are 0
// where a limit is active. The expected change of the cost is step dv[0] + step^2 dv[1]. Returns
// false if the problem is not convex at knot *at.
bool s2_backward(const S2Backward *problem, S2Arena *arena, double *k, double *gain, double dv[2],
                 int *at);

#endif
