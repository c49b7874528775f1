// Private to core/mcp: the core of Lemke's complementary pivoting (see lcp.h), for callers that
// scale the problem and refine the solution themselves.
#ifndef S2_LCP_PIVOT_H
#define S2_LCP_PIVOT_H

#include "mcp/mcp.h"

#include <stdbool.h>

// Settings of an attempt, mainly for the treatment of rounding errors.
typedef struct S2LcpPivoting {
  int max_pivots;
  int refresh;         // recompute the dictionary from M after this many pivots
  double zero;         // entries of an entering column up to this size count as 0
  const double *cover; // covering vector, n positive numbers
  S2History *history;  // or NULL
} S2LcpPivoting;

// Returns the settings of a first attempt. `ones` must be n ones.
S2LcpPivoting s2_lcp_pivoting_default(int n, const double *ones);

// Changes the settings for another attempt, after a failure or a ray. This attempt recomputes the
// dictionary often, so it can trust much smaller entries, but costs several times as much.
void s2_lcp_pivoting_careful(S2LcpPivoting *pivoting);

// Lemke's method without equilibration and without refinement, for callers that have scaled M to
// entries of about 1. z and `basic` (whether z_i is in the basis) receive the last vertex or, if
// there is no solution, the vertex with the smallest covering variable. If this variable is tiny,
// the vertex may solve the problem up to rounding. `ray` is the same as in s2_lcp_lemke, or NULL.
S2SolveStatus s2_lcp_pivot(int n, const double *m, const double *q, double *z, bool *basic,
                           double *ray, double *ray_cover, const S2LcpPivoting *pivoting,
                           S2Arena *arena, int *pivots);

#endif
