// A direct solver for independent bilateral rows, for islands connected by joints only. It factors
// S = J W^-1 J' + C once, on the graph of joints. Two joints are neighbours in this graph if they
// share a node.
#ifndef S2_BILATERAL_H
#define S2_BILATERAL_H

#include "linalg/blocksparse.h"
#include "mcp/mcp.h"

#include <stdbool.h>

typedef struct S2RowSides { // like ja and jb of S2Row; entries for the ground are not read
  double a[3], b[3];
} S2RowSides;

typedef struct S2Bilateral {
  const S2Problem *problem; // the rows and masses that `factor` reads
  int groups;
  int32_t *first; // first row of each group of up to three rows; groups + 1 numbers
  int32_t *start; // First link of each node; nodes + 1 numbers.
  // 2 * group + side for each link; the group has rows on the node, which is at this side of them
  int32_t *link;
  int32_t *slot;        // slots of the pairs of links of each node, in order
  S2BlockSparse matrix; // matrix S, with one node for each group
  double *diagonal;     // diagonal of S, one number per row
  S2Quad *x;            // scratch
} S2Bilateral;

// Finds the order and pattern for the rows of a problem. The caller must keep the problem. Returns
// false if a row is not bilateral or the graph of joints is dense.
bool s2_bilateral_init(S2Bilateral *bilateral, const S2Problem *problem, S2Arena *arena);

// Factors S. Returns false if rows are exactly or nearly linearly dependent. With `left`, which has
// one entry per row, S = left W^-1 J' + C: the velocities along the rows `left` per impulse along
// the rows of the problem.
bool s2_bilateral_factor(S2Bilateral *bilateral, const S2RowSides *left);

// Returns the smallest pivot of a successful factorisation, as a fraction of its row's diagonal.
double s2_bilateral_least_pivot(const S2Bilateral *bilateral);

// Returns the first row (in the order of elimination) that depends linearly on other rows and made
// the factorisation fail. Returns -1 if there is none.
int s2_bilateral_redundant(const S2Bilateral *bilateral);

// Replaces x, which has one number per row, with S^-1 x.
void s2_bilateral_apply(const S2Bilateral *bilateral, double *x);

// Solves the whole problem to full precision, starting from the guess in `solution->lambda`. The
// velocities agree exactly with the impulses. Returns false and leaves the guess unchanged if the
// rows cannot be factored or the tolerance is not reached.
bool s2_bilateral_solve(const S2Problem *problem, const S2SolverOptions *options, S2Arena *arena,
                        S2Solution *solution);

#endif
