// Private to core/mcp: the ways to differentiate a step problem.
#ifndef S2_MCP_VJP_STAGES_H
#define S2_MCP_VJP_STAGES_H

#include "mcp/mcp_vjp.h"
#include "mcp/pdipm_stages.h"

#include <stdbool.h>

typedef struct S2VjpPoint { // a solution, scaled
  const S2System *system;
  const double *u, *lambda; // 2 a unit; u is J v
  const double *u_row;      // 1 a row, not scaled: J v
} S2VjpPoint;

typedef struct S2VjpModes {
  S2Mode *mode;       // a unit
  signed char *bound; // a row: of boxed rows, -1 at lo, 1 at hi, 0 between; zeroed before
  double *sign;       // a row: of friction rows that slide, which way; zeroed before
} S2VjpModes;

// What contacts and boxed rows do at a solution, S2_VJP_WEAK where one is on the edge of two modes:
// it then separates, sticks, or is between its bounds; `beyond`: the other of the two.
unsigned s2_vjp_modes(const S2VjpPoint *at, bool beyond, const S2VjpModes *to);

// s2_mcp_vjp where few rows hold and they are independent; false: it is not, nothing is written.
bool s2_mcp_vjp_small(const S2Problem *problem, const double *v, const double *lambda,
                      const double *dl_dv, const double *dl_dlambda, const S2McpGradient *gradient,
                      S2Arena *arena, unsigned *flags);

#endif
