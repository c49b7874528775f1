// Private to core/mcp.
#ifndef S2_MLCP_PIVOT_H
#define S2_MLCP_PIVOT_H

#include "mcp/mixed/mixed.h"

// Eliminates the free unknowns and solves the remaining linear complementarity problem.
S2SolveStatus s2_mixed_pivot(const S2Mixed *p, double *x, S2Arena *arena);

#endif
