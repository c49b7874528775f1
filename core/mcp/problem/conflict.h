// Proofs that a step problem has no solution. Private to core.
#ifndef S2_CONFLICT_H
#define S2_CONFLICT_H

#include "mcp/mcp.h"

#include <stdbool.h>

// Largest number of bodies' velocities and rows; the effort grows with its cube.
enum { S2_CONFLICT_MAX = 512 };

// True if there is a proof that no velocities v satisfy the hard rows, J v + b = 0 on bilateral
// ones and J v + b >= 0 on normal ones. The proof is a multiplier d (>= 0 on normal rows) that was
// found and checked, with J' d = 0 and b' d < 0 (Farkas). Friction limits impulses only, and
// compliant rows yield, so neither takes part. The step problem has a solution if and only if there
// is such a v (Stewart and Trinkle 1996, and Lemke's theorem for copositive matrices). False proves
// nothing: the conditions may miss a common point by about rounding, or there are more than
// S2_CONFLICT_MAX numbers. `proof`: NULL, or receives d, 1 per row (0 on rows that take no part;
// unchanged without a proof).
bool s2_mcp_conflict(const S2Problem *problem, double *proof, S2Arena *arena);

// Searches for such a proof in problems of any size, by one run of a solver on rows that are all
// slightly compliant. Its proofs are as certain, but it misses a few proofs that the other function
// finds.
bool s2_mcp_conflict_by(S2SolverFn *solve, const S2Problem *problem, const S2SolverOptions *options,
                        double *proof, S2Arena *arena);
// Searches for a proof by the interior point on sparse matrices (pdipm.c).
bool s2_mcp_conflict_quick(const S2Problem *problem, const S2SolverOptions *options, double *proof,
                           S2Arena *arena);

#endif
