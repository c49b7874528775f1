// Dense mixed linear complementarity problems. Find u (free) and v with
//
//     A u + C v + a = 0
//     w = D u + B v + b,   v >= 0,   w >= 0,   v' w = 0
//
// With bounds, lo <= v <= hi, where w_i >= 0 at lo_i, w_i <= 0 at hi_i, and w_i = 0 between them.
//
// The solver is Mehrotra's predictor-corrector interior-point method with the starting point of
// Mattingley and Boyd ("CVXGEN", 2012). It solves all monotone problems, where [A C; D B] is
// positive semidefinite but may be nonsymmetric. Convex QPs are examples. The equations of the
// active set that it finds are solved exactly, so solutions have full precision. For problems that
// it cannot solve, u is eliminated and Lemke's method is tried.
#ifndef S2_MLCP_H
#define S2_MLCP_H

#include "base/arena.h"
#include "mcp/history.h"
#include "mcp/mcp.h"

#include <stdbool.h>

enum { S2_MLCP_MAX = 4096 }; // maximum number of unknowns, whose matrix takes 128 MB

typedef struct S2Mlcp {
  int n, m;                     // numbers of free unknowns u and of pairs (v, w)
  const double *a_uu, *c_uv;    // A: n x n, C: n x m, row-major; may be NULL if empty
  const double *d_vu, *b_vv;    // D: m x n, B: m x m
  const double *a_free, *b_row; // a: n numbers, b: m numbers.
  // m each, lo <= hi. NULL means all lo are 0, or all hi are INFINITY. A pair from -INFINITY to
  // INFINITY is another free unknown.
  const double *lo, *hi;
} S2Mlcp;

typedef struct S2MlcpOptions {
  double tolerance;   // solved if residual <= tolerance; 0 means 1e-9
  int max_iterations; // maximum number of interior-point iterations; 0 means 100
  S2History *history; // NULL means no history.
  // If kappa is above 0, the solver computes the point on the central path, which varies smoothly
  // with all data. There v_i w_i = kappa or, with bounds, w_i = kappa / (v_i - lo_i) - kappa /
  // (hi_i - v_i).
  double kappa;
} S2MlcpOptions;

typedef struct S2MlcpSolution {
  double *u, *v, *w; // n, m and m numbers, allocated by the caller.
  // n and m numbers allocated by the caller, or both NULL. With S2_INFEASIBLE they receive e and f,
  // scaled to a largest entry of 1, for which the combined rows state 0 < 0. This means that A' e +
  // D' f = 0, and a' e + b' f + c' v < 0 for every v within the bounds, where c = C' e + B' f. f_i
  // is >= 0 if v_i has only a lower bound, <= 0 if it has only an upper bound, and 0 if it has
  // both. If v_i has no bound, f_i may have any sign. With the default bounds, c <= 0 and a' e + b'
  // f < 0, so no v >= 0 has w >= 0.
  double *proof_free, *proof_row;
  S2SolveStatus status;
  int iterations;
  // The largest error of an equation or a pair. The error of an equation is |A u + C v + a|. The
  // error of a pair is the smaller of two numbers: |w_i|, and the distance of v_i from the bound at
  // which it should be, divided by max(1, |v_i|). Equations and w_i are divided by the largest
  // number in their row, |K_ij| max(1, |x_j|) or |r_i|, but at most by max(1, max |a|, max |b|).
  // With kappa, the residual is the larger of r_vio and b_vio. It is NaN if the input is not
  // finite.
  double residual;
  double r_vio; // max |A u + C v + a|.
  // max |v_i w_i|. With bounds, the distance from the bound that w_i indicates replaces v_i. For
  // unknowns without bounds it is |w_i|. With kappa it is max |v_i w_i - kappa|, computed for each
  // bound with its part of w_i.
  double b_vio;
  double kappa; // copy of options.kappa, which s2_mlcp_vjp reads
} S2MlcpSolution;

// The residual alone decides whether a problem is solved. The other results are:
// - S2_INFEASIBLE: there is a proof that no point satisfies even the equations and inequalities
//   (also if lo_i > hi_i, with zeros in place of a proof);
// - S2_RAY: Lemke's method ended on a ray that proves nothing;
// - S2_SINGULAR: the input is not finite, or results are too large for a double;
// - S2_UNSUPPORTED: there are more than S2_MLCP_MAX unknowns;
// - S2_MAX_ITERATIONS, with the best point found.
//
// `options` may be NULL. Scratch memory comes from the arena and is released. No other memory is
// allocated. With kappa, a problem is solved if r_vio <= tolerance max(1, max |a|, max |b|), b_vio
// <= tolerance and b_vio <= kappa / 1000. There is a central path if the problem is monotone and
// has a point with all v, w > 0 within the bounds. If the first search fails, another search starts
// near a solution. If that fails, too, the result is S2_MAX_ITERATIONS.
S2SolveStatus s2_mlcp_solve(const S2Mlcp *problem, const S2MlcpOptions *options, S2Arena *arena,
                            S2MlcpSolution *solution);

typedef struct S2MlcpGradient { // same shapes as in S2Mlcp; each may be NULL
  double *a_uu, *c_uv, *d_vu, *b_vv, *a_free, *b_row, *lo, *hi;
} S2MlcpGradient;

// Computes dl/d(data) from dl/du and dl/dv at a solution. NULL counts as 0. Pairs stay on their
// side or, if solution->kappa > 0, on the central path. If lo_i = hi_i, each bound gets half of the
// derivative with respect to their common value. Returns false if there is no such derivative, for
// one of these reasons:
// - a pair is on the edge between two sides, and counts as at the bound: w_i and its distance from
//   a bound are within 1e-9 of 0;
// - the active set is singular, and the result has least norm;
// - numbers are not finite, and the result is NaN.
bool s2_mlcp_vjp(const S2Mlcp *problem, const S2MlcpSolution *solution, const double *dl_du,
                 const double *dl_dv, const S2MlcpGradient *gradient, S2Arena *arena);

#endif
