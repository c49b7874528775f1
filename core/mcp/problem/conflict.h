// Proofs that a step problem has no solution. Private to core.
#ifndef S2_CONFLICT_H
#define S2_CONFLICT_H

#include "mcp/mcp.h"

#include <stdbool.h>

// Largest total number of velocity components and rows. The cost grows with the cube of this
// number.
enum { S2_CONFLICT_MAX = 512 };

// Returns true if there is a proof that no velocities v satisfy the hard rows: J v + b = 0 for
// bilateral rows and J v + b >= 0 for normal rows. The proof is a checked multiplier d, >= 0 for
// normal rows, with J' d = 0 and b' d < 0 (Farkas' lemma). Friction rows and compliant rows are
// ignored, because friction limits only impulses and compliant rows can yield. The step problem has
// a solution if and only if there is such a v (Stewart and Trinkle 1996, and Lemke's theorem for
// copositive matrices). A result of false proves nothing, because rounding may hide a
// contradiction, or there may be more than S2_CONFLICT_MAX numbers. `proof` is NULL, or receives d,
// 1 per row. d is 0 for rows that take no part. Without a proof, `proof` is unchanged.
bool s2_mcp_conflict(const S2Problem *problem, double *proof, S2Arena *arena);

// Searches for such a proof in problems of any size, by solving the problem once with slightly
// compliant rows. Its proofs are checked in the same way, but it misses a few that s2_mcp_conflict
// finds.
bool s2_mcp_conflict_by(S2SolverFn *solve, const S2Problem *problem, const S2SolverOptions *options,
                        double *proof, S2Arena *arena);
// Searches for a proof by the interior-point method with sparse matrices (pdipm.c).
bool s2_mcp_conflict_quick(const S2Problem *problem, const S2SolverOptions *options, double *proof,
                           S2Arena *arena);

#endif
