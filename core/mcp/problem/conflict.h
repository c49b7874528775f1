// Whether a step problem can have a solution at all. Private to core.
#ifndef S2_CONFLICT_H
#define S2_CONFLICT_H

#include "mcp/mcp.h"

#include <stdbool.h>

// Bodies' velocities and rows that are looked at; the effort grows with the cube.
enum { S2_CONFLICT_MAX = 512 };

// True when it was proved that no velocities v satisfy the hard rows, J v + b = 0 on bilateral ones
// and J v + b >= 0 on normal ones: a multiplier d (>= 0 on normal rows) was found and checked with
// J' d = 0 and b' d < 0 (Farkas). Friction acts on impulses only and rows with compliance give way,
// so neither takes part. The step problem has a solution just where there is such a v (Stewart and
// Trinkle 1996, and Lemke's theorem for copositive matrices). False proves nothing: conditions that
// miss a common point by about rounding, or more than S2_CONFLICT_MAX numbers. `proof`: NULL, or 1
// a row, where d goes (0 on rows that take no part; left alone where nothing is proved).
bool s2_mcp_conflict(const S2Problem *problem, double *proof, S2Arena *arena);

// The same for problems with masses of any size, by one run of a solver on rows that all give way a
// little. What it proves is as sure; it misses a few that the other proves.
bool s2_mcp_conflict_by(S2SolverFn *solve, const S2Problem *problem, const S2SolverOptions *options,
                        double *proof, S2Arena *arena);
// By the interior point on sparse matrices (pdipm.c).
bool s2_mcp_conflict_quick(const S2Problem *problem, const S2SolverOptions *options, double *proof,
                           S2Arena *arena);

#endif
