// Private to core/mcp: the ways to differentiate a step problem.
#ifndef S2_MCP_VJP_STAGES_H
#define S2_MCP_VJP_STAGES_H

#include "mcp/mcp_vjp.h"

#include <stdbool.h>

// Both sides of a pair below this (scaled; impulses and velocities compare with 1) cannot be told
// from 0 in a solution with the usual tolerance of 1e-9.
static const double S2_VJP_EDGE = 1e-7;

// Smallest pivot, of rows scaled to 1, of rows that are sure not to repeat each other: below 3e-6
// the general way calls them redundant.
static const double S2_VJP_INDEPENDENT = 1e-4;

// s2_mcp_vjp where few rows hold and they are independent; false: it is not, nothing is written.
bool s2_mcp_vjp_small(const S2Problem *problem, const double *v, const double *lambda,
                      const double *dl_dv, const double *dl_dlambda, const S2McpGradient *gradient,
                      S2Arena *arena, unsigned *flags);

// The same where all rows are bilateral and independent, and many enough for that to pay.
bool s2_mcp_vjp_bilateral(const S2Problem *problem, const double *v, const double *lambda,
                          const double *dl_dv, const double *dl_dlambda,
                          const S2McpGradient *gradient, S2Arena *arena);

#endif
