// Private to core/mcp: Lemke's complementary pivoting by itself (lcp.h says what it is), for
// callers that scale a problem and finish its answer on their own.
#ifndef S2_LCP_PIVOT_H
#define S2_LCP_PIVOT_H

#include "mcp/mcp.h"

#include <stdbool.h>

// How the bare method treats rounding. The attempts of a solver differ in nothing else.
typedef struct S2LcpPivoting {
  int max_pivots;
  int refresh;         // pivots after which the dictionary is recomputed from M
  double zero;         // entries of an entering column up to this size are taken for 0
  const double *cover; // n values > 0
  S2History *history;  // or NULL
} S2LcpPivoting;

// The first of the attempts made when the caller knows nothing better; cover is all ones.
S2LcpPivoting s2_lcp_pivoting_default(int n, const double *ones);

// Turns it into the attempt to make after a failure or a ray: refreshed often, it can trust much
// smaller entries, at several times the cost.
void s2_lcp_pivoting_careful(S2LcpPivoting *pivoting);

// The bare method, for callers that scaled M to entries of about 1 themselves and finish the
// answer on their own: no equilibration, no clean-up. z and `basic` (whether z_i is in the basis)
// are the last vertex, or without a solution the one with the least covering variable. When that is
// tiny the vertex may solve the problem as far as rounding lets anyone tell. `ray` as for
// s2_lcp_lemke, or NULL.
S2SolveStatus s2_lcp_pivot(int n, const double *m, const double *q, double *z, bool *basic,
                           double *ray, double *ray_cover, const S2LcpPivoting *pivoting,
                           S2Arena *arena, int *pivots);

#endif
