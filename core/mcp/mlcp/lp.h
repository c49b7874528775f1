// Linear programs:  min c' x  with  A_ub x <= b_ub,  A_eq x = b_eq,  lo <= x <= hi, solved as
// quadratic programs without curvature (qp.h).
#ifndef S2_LP_H
#define S2_LP_H

#include "mcp/mlcp/qp.h"

typedef struct S2Lp {
  int n, inequalities, equalities;
  const double *c;           // n
  const double *a_ub, *b_ub; // inequalities x n, inequalities; b_ub may hold INFINITY
  const double *a_eq, *b_eq; // equalities x n, equalities
  const double *lo, *hi;     // n; may be infinite. NULL: no bounds on that side
} S2Lp;

typedef struct S2LpSolution {
  double *x, *y, *z; // n, equalities, inequalities: the caller's
  // n each, the caller's: multipliers >= 0 of the bounds,
  // c + A_eq' y + A_ub' z - lower + upper = 0; 0 where a bound is infinite.
  double *lower, *upper;
  // The caller's, or NULL: with S2_INFEASIBLE because no point satisfies the constraints, as in
  // S2QpSolution: A_eq' y + A_ub' z - lower + upper = 0, b_eq' y + b_ub' z - lo' lower + hi' upper
  // < 0
  double *proof_y, *proof_z, *proof_lower, *proof_upper;
  double *direction; // n, the caller's, or NULL
  S2SolveStatus status;
  bool unbounded;
  int iterations;
  double objective, primal, dual, complementarity, residual;
  double kappa; // as in the options: s2_lp_vjp reads it
} S2LpSolution;

// Solves the program as s2_qp_solve does. Bounds with lo_i = hi_i become equations.
S2SolveStatus s2_lp_solve(const S2Lp *problem, const S2QpOptions *options, S2Arena *arena,
                          S2LpSolution *solution);

typedef struct S2LpGradient { // shapes of S2Lp; each may be NULL
  double *c, *a_ub, *b_ub, *a_eq, *b_eq, *lo, *hi;
} S2LpGradient;

typedef struct S2LpLoss { // dl/d(solution), shapes of S2LpSolution; each may be NULL: 0
  const double *x, *y, *z, *lower, *upper;
} S2LpLoss;

// The derivative, as in s2_qp_vjp, from the solution's x, y, z, lower, upper and kappa. Without
// kappa an optimal vertex depends on the tight rows only, and its multipliers on c and the rows'
// coefficients. If lo_i = hi_i, each bound gets half of the derivative with respect to their common
// value. Infinite bounds get 0.
bool s2_lp_vjp(const S2Lp *problem, const S2LpSolution *solution, const S2LpLoss *loss,
               const S2LpGradient *gradient, S2Arena *arena);

#endif
