// Square sparse matrices of 2 x 2 blocks on the edges of a graph, factored as L D U without
// pivoting. The pattern is symmetric, the values need not be.
//
// The matrices are those of joints with two rows each, which blocksparse.h would pad to 3 x 3
// blocks. On trees there is no fill, so a factorisation takes time proportional to the number of
// joints. The method is right-looking by columns, and the pattern lists the block that each update
// changes. All memory comes from the arena given to init.
#ifndef S2_PAIRSPARSE_H
#define S2_PAIRSPARSE_H

#include "linalg/pattern.h"

#include <stdbool.h>

// The two numbers of a node. Every operation is elementwise.
typedef double S2Two __attribute__((vector_size(16)));

typedef struct S2PairBlock { // a block by columns
  S2Two column[2];
} S2PairBlock;

typedef struct S2PairSparse {
  S2SparsePattern pattern;
  int32_t *target; // the block below the diagonal of each update, in the order of the factorisation
  S2PairBlock *diagonal; // per place: K_cc, then D_c
  S2PairBlock *lower;    // per block: K_rc, then L_rc
  S2PairBlock *upper;    // per block: K_cr
  S2PairBlock *inverse;  // per place: D_c^-1
  S2Two *work;           // per place: scratch of a solve
  S2Two *bound;          // per place: the smallest permitted pivots
} S2PairSparse;

// Computes the elimination order and the pattern, as s2_blocksparse_init does. Returns false if the
// factorisation would have more than `most` updates of blocks off the diagonal.
bool s2_pairsparse_init(S2PairSparse *matrix, int nodes, int edges, const int32_t *edge,
                        int32_t *slot, int64_t most, S2Arena *arena);

// Sets all values to 0. The caller then adds the values. The block of a node is at
// diagonal[place[node]]. For an edge, let r be the end with the higher place and c the other end.
// Add K_rc to lower[slot] and K_cr to upper[slot].
void s2_pairsparse_clear(S2PairSparse *matrix);

// Replaces the values by the factors. Returns false if a pivot is at most the fraction `least` of
// the diagonal entry of its row, or is not finite. The matrix must then be filled again. If x is
// not NULL, also replaces x by K^-1 x, which takes less time than s2_pairsparse_solve.
bool s2_pairsparse_factor(S2PairSparse *matrix, double least, double *x);

// Replaces x, which has two numbers per node, by K^-1 x.
void s2_pairsparse_solve(const S2PairSparse *matrix, double *x);

#endif
