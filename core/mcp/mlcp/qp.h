// Convex quadratic and linear programs, dense:
//
//     min 1/2 x' P x + q' x    with  A x = b,  G x <= h
//
// solved as the mixed complementarity problem of their optimality conditions (mlcp.h), with
// multipliers y (of A x = b) and z >= 0:  P x + q + A' y + G' z = 0,  z' (h - G x) = 0.
#ifndef S2_QP_H
#define S2_QP_H

#include "base/arena.h"
#include "mcp/history.h"
#include "mcp/mcp.h"

#include <stdbool.h>

typedef struct S2Qp {
  int n, equalities, inequalities;
  const double *p, *q; // n x n, n. P may be NULL: a linear program. Only P + P' counts.
  const double *a, *b; // equalities x n, equalities; may be NULL when there are none
  const double *g, *h; // inequalities x n, inequalities; likewise. h_i = INFINITY: no condition
} S2Qp;

typedef struct S2QpOptions {
  double tolerance;   // solved: residual <= tolerance; 0 means 1e-9
  int max_iterations; // of the interior point; 0 means 100
  S2History *history; // NULL: none
  // Above 0: the point of the central path, z_i (h - G x)_i = kappa, which varies smoothly with all
  // data: the best x for the objective - kappa sum log(h - G x).
  double kappa;
} S2QpOptions;

typedef struct S2QpSolution {
  double *x, *y, *z; // n, equalities, inequalities: the caller's
  // The caller's, or NULL. With S2_INFEASIBLE because no point satisfies the constraints: e and
  // f >= 0, largest 1, with A' e + G' f = 0 and b' e + h' f < 0.
  double *proof_y, *proof_z;
  // n, the caller's, or NULL. With S2_INFEASIBLE and `unbounded`: d, largest 1, with P d = 0,
  // A d = 0, G d <= 0 and q' d < 0.
  double *direction;
  S2SolveStatus status;
  // With S2_INFEASIBLE: the constraints may have a point, but no best point, because the objective
  // falls without end along `direction`.
  bool unbounded;
  int iterations;
  double objective;
  // Max norms. Each row is divided by its largest number (unknowns and multipliers count as 1 at
  // least), but at most by: |A x - b| max(1, |b_i|), G x - h max(1, |h_i|), |P x + q + A' y + G' z|
  // max(1, max |q|). Complementarity: the smaller of h - G x and z divided by max(1, max |q|); with
  // kappa |z o (h - G x) - kappa|.
  double primal, dual, complementarity;
  double residual; // the largest of the three; NaN when the input is not finite
  double kappa;    // as in the options: s2_qp_vjp reads it
} S2QpSolution;

// The residual alone decides whether a problem is solved. Otherwise S2_INFEASIBLE (proved),
// S2_UNSUPPORTED (P not positive semidefinite, or more than S2_MLCP_MAX unknowns and multipliers),
// S2_SINGULAR (input not finite) or S2_MAX_ITERATIONS with the best point found. `options` may be
// NULL. Scratch memory comes from the arena and is released again; nothing else is allocated. With
// kappa, solved also means |z o (h - G x) - kappa| <= kappa / 1000. A program then needs a point
// with G x < h and bounded optimal points; otherwise there is no central path, and the result is
// S2_MAX_ITERATIONS.
S2SolveStatus s2_qp_solve(const S2Qp *problem, const S2QpOptions *options, S2Arena *arena,
                          S2QpSolution *solution);

typedef struct S2QpGradient { // shapes of S2Qp; each may be NULL
  double *p, *q, *a, *b, *g, *h;
} S2QpGradient;

// From dl/dx, dl/dy, dl/dz (each may be NULL: 0) to dl/d(data) at a solution; the set of active
// constraints stays. With solution->kappa > 0 the derivative is along the central path. It reads x,
// y, z and kappa of the solution. False if there is no such derivative:
// - a constraint holds with equality and has z_i = 0 (both within 1e-9); it counts as inactive;
// - active constraints are redundant, or the solution is not unique; the result then has least
//   norm;
// - numbers are not finite; the result is NaN.
bool s2_qp_vjp(const S2Qp *problem, const S2QpSolution *solution, const double *dl_dx,
               const double *dl_dy, const double *dl_dz, const S2QpGradient *gradient,
               S2Arena *arena);

#endif
