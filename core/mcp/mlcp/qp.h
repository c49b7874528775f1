// Dense convex quadratic and linear programs:
//
//     min 1/2 x' P x + q' x    with  A x = b,  G x <= h
//
// They are solved as the mixed complementarity problem of their optimality conditions (mlcp.h),
// with multipliers y of A x = b and z >= 0 of G x <= h: P x + q + A' y + G' z = 0, z' (h - G x) =
// 0.
#ifndef S2_QP_H
#define S2_QP_H

#include "base/arena.h"
#include "mcp/history.h"
#include "mcp/mcp.h"

#include <stdbool.h>

typedef struct S2Qp {
  int n, equalities, inequalities;
  // P: n x n; q: n. NULL for P means a linear program. Only the symmetric part of P counts.
  const double *p, *q;
  const double *a, *b; // equalities x n matrix and its right side; may be NULL if there are none
  // inequalities x n matrix and its right side; may be NULL if there are none. h_i = INFINITY means
  // no condition.
  const double *g, *h;
} S2Qp;

typedef struct S2QpOptions {
  double tolerance;   // solved if residual <= tolerance; 0 means 1e-9
  int max_iterations; // maximum number of interior-point iterations; 0 means 100
  S2History *history; // NULL means no history.
  // If kappa is above 0, the solver computes the point on the central path with z_i (h - G x)_i =
  // kappa, which varies smoothly with all data. Its x minimises objective - kappa sum log(h - G x).
  double kappa;
} S2QpOptions;

typedef struct S2QpSolution {
  double *x, *y, *z; // n, equalities and inequalities numbers, allocated by the caller.
  // NULL, or allocated by the caller. If the result is S2_INFEASIBLE because no point satisfies the
  // constraints, they receive e and f >= 0 with A' e + G' f = 0 and b' e + h' f < 0, scaled to a
  // largest entry of 1.
  double *proof_y, *proof_z;
  // NULL, or n numbers allocated by the caller. With S2_INFEASIBLE and `unbounded` it receives d
  // with P d = 0, A d = 0, G d <= 0 and q' d < 0, scaled to a largest entry of 1.
  double *direction;
  S2SolveStatus status;
  // Set with S2_INFEASIBLE if there is no minimum because the objective falls without limit along
  // `direction`. The constraints may be feasible in this case.
  bool unbounded;
  int iterations;
  double objective;
  // Max norms. primal: |A x - b| and the positive part of G x - h. dual: |P x + q + A' y + G' z|.
  // Each row is divided by its largest number, where unknowns and multipliers count as at least 1,
  // but at most by max(1, |b_i|), max(1, |h_i|) or max(1, max |q|). complementarity: the smaller of
  // h - G x and z, where z is divided by max(1, max |q|). With kappa it is |z o (h - G x) - kappa|.
  double primal, dual, complementarity;
  double residual; // the largest of the three; NaN if the input is not finite
  double kappa;    // copy of options.kappa, which s2_qp_vjp reads
} S2QpSolution;

// The residual alone decides whether a problem is solved. S2_INFEASIBLE means that there is a
// proof. S2_UNSUPPORTED means that P is not positive semidefinite, or that there are more than
// S2_MLCP_MAX unknowns and multipliers. S2_SINGULAR means that the input is not finite. Otherwise
// the result is S2_MAX_ITERATIONS with the best point found. `options` may be NULL. Scratch memory
// comes from the arena and is released. No other memory is used. With kappa, a solution must also
// satisfy |z o (h - G x) - kappa| <= kappa / 1000. A central path exists only if there is a point
// with G x < h and the optimal points are bounded. If there is no central path, the result is
// S2_MAX_ITERATIONS.
S2SolveStatus s2_qp_solve(const S2Qp *problem, const S2QpOptions *options, S2Arena *arena,
                          S2QpSolution *solution);

typedef struct S2QpGradient { // same shapes as in S2Qp; each may be NULL
  double *p, *q, *a, *b, *g, *h;
} S2QpGradient;

// Computes dl/d(data) from dl/dx, dl/dy and dl/dz at a solution, with a fixed set of active
// constraints. NULL counts as 0. If solution->kappa > 0, the derivative is along the central path.
// Reads x, y, z and kappa of the solution. Returns false if there is no such derivative, for one of
// these reasons:
// - a constraint holds with equality and has z_i = 0 (both within 1e-9), and counts as inactive;
// - active constraints are redundant, or the solution is not unique, and the result has least norm;
// - numbers are not finite, and the result is NaN.
bool s2_qp_vjp(const S2Qp *problem, const S2QpSolution *solution, const double *dl_dx,
               const double *dl_dy, const double *dl_dz, const S2QpGradient *gradient,
               S2Arena *arena);

#endif
