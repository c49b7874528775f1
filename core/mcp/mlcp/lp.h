// Linear programs: min c' x with A_ub x <= b_ub, A_eq x = b_eq, lo <= x <= hi. They are solved as
// quadratic programs without a quadratic term (qp.h).
#ifndef S2_LP_H
#define S2_LP_H

#include "mcp/mlcp/qp.h"

typedef struct S2Lp {
  int n, inequalities, equalities;
  const double *c;           // n
  const double *a_ub, *b_ub; // inequalities x n numbers; b_ub may contain INFINITY
  const double *a_eq, *b_eq; // equalities x n numbers, equalities numbers
  const double *lo, *hi;     // n numbers, may be infinite; NULL means no bounds on this side
} S2Lp;

typedef struct S2LpSolution {
  double *x, *y, *z; // n, equalities and inequalities numbers, allocated by the caller.
  // Multipliers >= 0 of the bounds, n each, allocated by the caller. They satisfy c + A_eq' y +
  // A_ub' z - lower + upper = 0 and are 0 if a bound is infinite.
  double *lower, *upper;
  // NULL, or allocated by the caller. They are set with S2_INFEASIBLE if no point satisfies the
  // constraints, as in S2QpSolution. Then A_eq' y + A_ub' z - lower + upper = 0 and b_eq' y + b_ub'
  // z - lo' lower + hi' upper < 0.
  double *proof_y, *proof_z, *proof_lower, *proof_upper;
  double *direction; // NULL, or n numbers allocated by the caller
  S2SolveStatus status;
  bool unbounded;
  int iterations;
  double objective, primal, dual, complementarity, residual;
  double kappa; // copy of options.kappa, which s2_lp_vjp reads
} S2LpSolution;

// Solves the program like s2_qp_solve. Bounds with lo_i = hi_i become equations.
S2SolveStatus s2_lp_solve(const S2Lp *problem, const S2QpOptions *options, S2Arena *arena,
                          S2LpSolution *solution);

typedef struct S2LpGradient { // same shapes as in S2Lp; each may be NULL
  double *c, *a_ub, *b_ub, *a_eq, *b_eq, *lo, *hi;
} S2LpGradient;

// Derivatives of a loss with respect to the solution, shaped like S2LpSolution. NULL counts as 0.
typedef struct S2LpLoss {
  const double *x, *y, *z, *lower, *upper;
} S2LpLoss;

// Computes the derivatives as in s2_qp_vjp. Reads x, y, z, lower, upper and kappa of the solution.
// If kappa is 0, an optimal vertex depends only on its tight rows, and its multipliers depend on c
// and on the coefficients of these rows. If lo_i = hi_i, each bound gets half of the derivative
// with respect to their common value. Infinite bounds get 0.
bool s2_lp_vjp(const S2Lp *problem, const S2LpSolution *solution, const S2LpLoss *loss,
               const S2LpGradient *gradient, S2Arena *arena);

#endif
