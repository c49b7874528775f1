// Private to core/mcp: the last digits of an answer.
#ifndef S2_EXACT_H
#define S2_EXACT_H

#include "mcp/mcp.h"

// Solves, with twice the digits, the equations of the modes that solution->lambda shows. Changes
// modes that do not hold, until the scaled residual is at most `aim`. True: it is at most
// `tolerance`, and v, lambda, low (unless NULL) and the residual are replaced. False: `solution` is
// unchanged, because the problem is too large or in the local form, or no modes were found that
// hold.
bool s2_exact_finish(const S2Problem *problem, double tolerance, double aim, S2Arena *arena,
                     S2Solution *solution);

#endif
