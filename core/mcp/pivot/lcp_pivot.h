// Private to core/mcp: Lemke's complementary pivoting alone (see lcp.h), for callers that scale a
// problem and refine its answer themselves.
#ifndef S2_LCP_PIVOT_H
#define S2_LCP_PIVOT_H

#include "mcp/mcp.h"

#include <stdbool.h>

// The treatment of rounding. The attempts of a solver differ only in this.
typedef struct S2LcpPivoting {
  int max_pivots;
  int refresh;         // pivots after which the dictionary is recomputed from M
  double zero;         // entries of an entering column up to this size count as 0
  const double *cover; // n values > 0
  S2History *history;  // or NULL
} S2LcpPivoting;

// The first attempt, for callers without further knowledge; cover is all ones.
S2LcpPivoting s2_lcp_pivoting_default(int n, const double *ones);

// Changes the treatment to that of the attempt after a failure or a ray: with frequent refreshes
// that attempt can trust much smaller entries, at several times the cost.
void s2_lcp_pivoting_careful(S2LcpPivoting *pivoting);

// The bare method, for callers that have scaled M to entries of about 1 and refine the answer
// themselves: no equilibration, no clean-up. z and `basic` (whether z_i is in the basis) are the
// last vertex or, without a solution, the vertex with the smallest covering variable. If that
// variable is tiny, the vertex may solve the problem up to rounding. `ray` as for s2_lcp_lemke, or
// NULL.
S2SolveStatus s2_lcp_pivot(int n, const double *m, const double *q, double *z, bool *basic,
                           double *ray, double *ray_cover, const S2LcpPivoting *pivoting,
                           S2Arena *arena, int *pivots);

#endif
