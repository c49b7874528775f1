// Private to core/mcp: the ways to differentiate a step problem.
#ifndef S2_MCP_VJP_STAGES_H
#define S2_MCP_VJP_STAGES_H

#include "mcp/mcp_vjp.h"

#include <stdbool.h>

// s2_mcp_vjp where few rows hold and they are independent; false: it is not, nothing is written.
bool s2_mcp_vjp_small(const S2Problem *problem, const double *v, const double *lambda,
                      const double *dl_dv, const double *dl_dlambda, const S2McpGradient *gradient,
                      S2Arena *arena, unsigned *flags);

#endif
