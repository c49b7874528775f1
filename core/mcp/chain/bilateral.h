// Independent bilateral rows solved directly: S = J W^-1 J' + C on the graph of joints (two are
// neighbours where they share a node), factored once. For islands that joints alone hold.
#ifndef S2_BILATERAL_H
#define S2_BILATERAL_H

#include "linalg/blocksparse.h"
#include "mcp/mcp.h"

#include <stdbool.h>

typedef struct S2RowSides { // as S2Row has them; nobody looks at that of the ground
  double a[3], b[3];
} S2RowSides;

typedef struct S2Bilateral {
  const S2Problem *problem; // whose rows and masses factor reads
  int groups;
  int32_t *first;       // groups + 1: the rows of each, up to three
  int32_t *start;       // nodes + 1: the links of each node,
  int32_t *link;        // 2 group + side: a group with rows on it, and which side of them it is
  int32_t *slot;        // of pairs of links of one node, in order
  S2BlockSparse matrix; // S, a group a node
  double *diagonal;     // of S, a row
  S2Quad *x;            // scratch
} S2Bilateral;

// Finds order and pattern for the rows of a problem, which stay the caller's. False where there is
// nothing to be solved with: a row is not bilateral, a node has so many rows that the graph of
// joints is dense, or the problem has the local form.
bool s2_bilateral_init(S2Bilateral *bilateral, const S2Problem *problem, S2Arena *arena);

// False where rows repeat others, or nearly. With `left` (a row) S = left W^-1 J' + C: what these
// rows see of impulses along those of the problem.
bool s2_bilateral_factor(S2Bilateral *bilateral, const S2RowSides *left);

// Of what was factored: the smallest part that elimination left of a row's diagonal.
double s2_bilateral_least_pivot(const S2Bilateral *bilateral);

// Of what could not be factored: the first row, in the order of elimination, that repeats others;
// -1: none does.
int s2_bilateral_redundant(const S2Bilateral *bilateral);

// x = S^-1 x, a number a row.
void s2_bilateral_apply(const S2Bilateral *bilateral, double *x);

// The whole problem from the guess in `solution->lambda`, to the last digits: velocities are those
// of the impulses exactly. False, and the guess is as it was, where the rows cannot be factored or
// the tolerance is missed.
bool s2_bilateral_solve(const S2Problem *problem, const S2SolverOptions *options, S2Arena *arena,
                        S2Solution *solution);

#endif
