// Private to core/mcp: refines a solution to the last digits.
#ifndef S2_EXACT_H
#define S2_EXACT_H

#include "mcp/mcp.h"

// Solves, with twice the digits, the equations of the modes that solution->lambda indicates.
// Changes modes that do not hold, until the scaled residual is at most `aim`. Returns true if the
// residual is at most `tolerance`. Then v, lambda, low (unless it is NULL) and the residual are
// replaced. Otherwise returns false and leaves `solution` unchanged. This happens if the problem is
// too large or in the local form, or if no valid modes were found.
bool s2_exact_finish(const S2Problem *problem, double tolerance, double aim, S2Arena *arena,
                     S2Solution *solution);

#endif
