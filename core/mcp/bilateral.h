// Independent bilateral rows solved directly: S = J W^-1 J' + C on the graph of joints (two are
// neighbours where they share a node), factored L D L' once. For islands that joints alone hold.
#ifndef S2_BILATERAL_H
#define S2_BILATERAL_H

#include "linalg/blocksparse.h"
#include "mcp/mcp.h"

#include <stdbool.h>

typedef struct S2Bilateral {
  int groups;
  int32_t *first;       // groups + 1: the rows of each, up to three
  S2BlockSparse matrix; // S, a group a node
  S2Quad *x;            // scratch
} S2Bilateral;

// False, and nothing to be solved with: a row is not bilateral, rows repeat others (or nearly), a
// node has so many rows that the graph of joints is dense, or the problem has the local form.
bool s2_bilateral_factor(S2Bilateral *bilateral, const S2Problem *problem, S2Arena *arena);

// x = S^-1 x, a number a row.
void s2_bilateral_apply(const S2Bilateral *bilateral, double *x);

// The whole problem from the guess in `solution->lambda`, to the last digits: velocities are those
// of the impulses exactly. False, and the guess is as it was, where the rows cannot be factored or
// the tolerance is missed.
bool s2_bilateral_solve(const S2Problem *problem, const S2SolverOptions *options, S2Arena *arena,
                        S2Solution *solution);

#endif
