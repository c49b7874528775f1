// Linear complementarity problems, dense: given M (n x n) and q (n), find
//
//     w = M z + q,   z >= 0,   w >= 0,   z' w = 0.
//
// Lemke's complementary pivoting (Lemke 1965; Cottle, Pang, Stone, "The Linear Complementarity
// Problem", algorithm 4.4.5) with the lexicographic ratio test, which cannot cycle. It ends at a
// solution or on a ray. For copositive-plus M (all monotone problems among them) a ray means that
// not even M z + q >= 0, z >= 0 has a point; for other M it proves nothing by itself.
#ifndef S2_LCP_H
#define S2_LCP_H

#include "mcp/mcp.h"

#include <stdbool.h>

typedef struct S2LcpOptions {
  int max_pivots;      // 0 means the default; families with 2^n pivots exist (Murty, Fathi)
  const double *cover; // the covering vector d: n values > 0 and finite; NULL means all ones
} S2LcpOptions;

typedef struct S2LcpInfo {
  int pivots;
  double residual;  // max_i |min(z_i, w_i)|, w = M z + q; not finite when the input is not
  bool infeasible;  // with S2_RAY: the ray was checked to prove that no z >= 0 has M z + q >= 0
  double ray_cover; // with S2_RAY: how the covering variable grows along the ray, >= 0
} S2LcpInfo;

// M is row-major, n x n; q has n entries. Writes z >= 0 and w = M z + q as computed (n each, always
// finite; rounding may leave w slightly below 0) and, when `ray` is not NULL and the status is
// S2_RAY, the direction of z (n values, largest 1) along the secondary ray. Without a solution z is
// the vertex with the least covering variable met on the way.
// `options` may be NULL. Rows and columns are equilibrated first; the covering vector applies to
// the equilibrated problem. The final basis is solved afresh, with refinement.
// S2_SOLVED is returned only when the residual is small for the size of M, z and q;
// S2_MAX_ITERATIONS at the pivot cap; S2_SINGULAR when the input is not finite, a covering entry
// not positive, a result too large for a double, or rounding defeated every attempt.
S2SolveStatus s2_lcp_lemke(int n, const double *m, const double *q, double *z, double *w,
                           double *ray, const S2LcpOptions *options, S2Arena *arena,
                           S2LcpInfo *info);

// How the bare method treats rounding. The attempts of a solver differ in nothing else.
typedef struct S2LcpPivoting {
  int max_pivots;
  int refresh;         // pivots after which the dictionary is recomputed from M
  double zero;         // entries of an entering column up to this size are taken for 0
  const double *cover; // n values > 0
} S2LcpPivoting;

// The first of the attempts made when the caller knows nothing better; cover is all ones.
S2LcpPivoting s2_lcp_pivoting_default(int n, const double *ones);

// Turns it into the attempt to make after a failure or a ray: refreshed often, it can trust much
// smaller entries, at several times the cost.
void s2_lcp_pivoting_careful(S2LcpPivoting *pivoting);

// The bare method, for callers that scaled M to entries of about 1 themselves and finish the
// answer on their own: no equilibration, no clean-up. z and `basic` (whether z_i is in the basis)
// are the last vertex, or without a solution the one with the least covering variable. When that is
// tiny the vertex may solve the problem as far as rounding lets anyone tell. `ray` as above, or
// NULL.
S2SolveStatus s2_lcp_pivot(int n, const double *m, const double *q, double *z, bool *basic,
                           double *ray, double *ray_cover, const S2LcpPivoting *pivoting,
                           S2Arena *arena, int *pivots);

#endif
