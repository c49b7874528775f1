// Mixed linear complementarity problems, dense: find u (free) and v with
//
//     A u + C v + a = 0
//     w = D u + B v + b,   v >= 0,   w >= 0,   v' w = 0
//
// or, with bounds, lo <= v <= hi where w_i >= 0 at lo_i, w_i <= 0 at hi_i and w_i = 0 between.
//
// Mehrotra's predictor-corrector interior point with the start of Mattingley and Boyd ("CVXGEN",
// 2012), for all monotone problems ([A C; D B] positive semidefinite, symmetric or not; convex QPs
// are among them). The active set that it finds is solved exactly, so answers have all their
// digits. For problems that it cannot solve, u is eliminated and Lemke's method is tried.
#ifndef S2_MLCP_H
#define S2_MLCP_H

#include "base/arena.h"
#include "mcp/history.h"
#include "mcp/mcp.h"

#include <stdbool.h>

enum { S2_MLCP_MAX = 4096 }; // unknowns: the matrix of 128 MB is held a few times

typedef struct S2Mlcp {
  int n, m;                     // free unknowns u and pairs (v, w)
  const double *a_uu, *c_uv;    // A: n x n, C: n x m, row-major; may be NULL when empty
  const double *d_vu, *b_vv;    // D: m x n, B: m x m
  const double *a_free, *b_row; // a: n, b: m
  // m each, lo <= hi; NULL: all 0, all INFINITY. -INFINITY, INFINITY: another free unknown
  const double *lo, *hi;
} S2Mlcp;

typedef struct S2MlcpOptions {
  double tolerance;   // solved: residual <= tolerance; 0 means 1e-9
  int max_iterations; // of the interior point; 0 means 100
  S2History *history; // NULL: none
  // Above 0: the point of the central path, v_i w_i = kappa or, with bounds,
  // w_i = kappa / (v_i - lo_i) - kappa / (hi_i - v_i), which varies smoothly with all data.
  double kappa;
} S2MlcpOptions;

typedef struct S2MlcpSolution {
  double *u, *v, *w; // n, m, m: the caller's
  // n and m, the caller's, or both NULL. With S2_INFEASIBLE: e and f, largest 1, with which the
  // combined rows state 0 < 0: A' e + D' f = 0, and a' e + b' f + c' v < 0 for every v within the
  // bounds, c = C' e + B' f. f_i >= 0 where v_i has only a lower bound, <= 0 with only an upper
  // one, any value with none, 0 with both. Without bounds that is c <= 0 and a' e + b' f < 0: no v
  // >= 0 has w >= 0.
  double *proof_free, *proof_row;
  S2SolveStatus status;
  int iterations;
  // The largest of |A u + C v + a| and, for each pair, the smaller of w_i and the distance from v_i
  // to the bound it should be at, the latter divided by max(1, |v_i|). Rows are divided by their
  // largest number, |K_ij| max(1, |x_j|) or |r_i|, but at most by max(1, max |a|, max |b|). With
  // kappa the larger of r_vio and b_vio. NaN if the input is not finite
  double residual;
  double r_vio; // max |A u + C v + a|
  // max |v_i w_i|; with bounds the distance from the bound that w_i indicates, times w_i (without
  // bounds |w_i|); with kappa max |v_i w_i - kappa|, for each bound with its part of w_i
  double b_vio;
  double kappa; // as in the options: s2_mlcp_vjp reads it
} S2MlcpSolution;

// The residual alone decides whether a problem is solved. The other results are:
// - S2_INFEASIBLE: it is proved that not even the inequalities have a point (also if lo_i > hi_i,
//   with zeros for a proof);
// - S2_RAY: Lemke's method ended on a ray that proves nothing;
// - S2_SINGULAR: input not finite, or results too large for a double;
// - S2_UNSUPPORTED: above S2_MLCP_MAX;
// - S2_MAX_ITERATIONS, with the best point found.
//
// `options` may be NULL. Scratch memory comes from the arena and is released again; nothing else is
// allocated. With kappa, solved means r_vio <= tolerance max(1, max |a|, max |b|) and b_vio <=
// tolerance and b_vio <= kappa / 1000. There is a central path if the problem is monotone and has a
// point with all v, w > 0 (within the bounds). For other problems the search also starts next to a
// solution. Without success the result is S2_MAX_ITERATIONS.
S2SolveStatus s2_mlcp_solve(const S2Mlcp *problem, const S2MlcpOptions *options, S2Arena *arena,
                            S2MlcpSolution *solution);

typedef struct S2MlcpGradient { // shapes of S2Mlcp; each may be NULL
  double *a_uu, *c_uv, *d_vu, *b_vv, *a_free, *b_row, *lo, *hi;
} S2MlcpGradient;

// From dl/du and dl/dv (NULL: 0) to dl/d(data) at a solution; pairs stay on their side. With
// solution->kappa > 0 the derivative is along the central path. If lo_i = hi_i, each bound gets
// half of the derivative with respect to their common value. False if there is no such derivative:
// - a pair is on the edge of two sides (v_i - lo_i and w_i, or hi_i - v_i and w_i, within 1e-9); it
//   counts as at the bound;
// - the active set is singular; the result then has least norm;
// - numbers are not finite; the result is NaN.
bool s2_mlcp_vjp(const S2Mlcp *problem, const S2MlcpSolution *solution, const double *dl_du,
                 const double *dl_dv, const S2MlcpGradient *gradient, S2Arena *arena);

#endif
