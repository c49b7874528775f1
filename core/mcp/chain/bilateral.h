// A direct solver for independent bilateral rows: S = J W^-1 J' + C on the graph of joints (two
// joints are neighbours if they share a node), factored once. For islands connected by joints only.
#ifndef S2_BILATERAL_H
#define S2_BILATERAL_H

#include "linalg/blocksparse.h"
#include "mcp/mcp.h"

#include <stdbool.h>

typedef struct S2RowSides { // as in S2Row; the numbers of the ground are not read
  double a[3], b[3];
} S2RowSides;

typedef struct S2Bilateral {
  const S2Problem *problem; // the rows and masses that `factor` reads
  int groups;
  int32_t *first; // groups + 1: the rows of each group, up to three
  int32_t *start; // nodes + 1: the links of each node,
  int32_t *link;  // 2 group + side: a group with rows on the node, and the node's side of them
  int32_t *slot;  // of pairs of links of one node, in order
  S2BlockSparse matrix; // S, one node for each group
  double *diagonal;     // diagonal of S, one number per row
  S2Quad *x;            // scratch
} S2Bilateral;

// Finds the order and pattern for the rows of a problem, which the caller keeps. False if this
// solver does not support it: a row is not bilateral, or a node has so many rows that the graph of
// joints is dense.
bool s2_bilateral_init(S2Bilateral *bilateral, const S2Problem *problem, S2Arena *arena);

// False if rows repeat others exactly or nearly. With `left` (one for each row) S = left W^-1 J' +
// C: the velocities of these rows per impulse along the problem's rows.
bool s2_bilateral_factor(S2Bilateral *bilateral, const S2RowSides *left);

// The smallest pivot of a successful factorisation, as a fraction of its row's diagonal.
double s2_bilateral_least_pivot(const S2Bilateral *bilateral);

// The first row, in the order of elimination, that made a factorisation fail because it repeats
// others; -1: none.
int s2_bilateral_redundant(const S2Bilateral *bilateral);

// x = S^-1 x, one number per row.
void s2_bilateral_apply(const S2Bilateral *bilateral, double *x);

// Solves the whole problem from the guess in `solution->lambda`, to the last digits. The velocities
// are exactly those that the impulses produce. False, with the guess unchanged: the rows cannot be
// factored, or the tolerance is missed.
bool s2_bilateral_solve(const S2Problem *problem, const S2SolverOptions *options, S2Arena *arena,
                        S2Solution *solution);

#endif
