// Square sparse matrices of 3 x 3 blocks on the edges of a graph, factored without pivoting: L D L'
// if the values are symmetric, otherwise L D U (the pattern is always symmetric).
//
// The code is made for K = W + J' D J of a contact solver, whose pivots stay well away from 0. The
// method is left-looking by columns, with the elimination order of linalg/order.h. All memory comes
// from the arena given to init and lives as long as the arena.
#ifndef S2_BLOCKSPARSE_H
#define S2_BLOCKSPARSE_H

#include "base/arena.h"
#include "linalg/quad.h"

#include <stdbool.h>
#include <stdint.h>

enum { S2_BLOCK = 9 }; // numbers of a block off the diagonal

// A block is 3 columns of 3 numbers; on the diagonal it is 3 quads whose fourth lane is 0.
typedef struct S2BlockSparse {
  int nodes;
  int blocks;            // below the diagonal, including fill
  int32_t *order;        // order[k]: node eliminated k-th
  int32_t *place;        // place[order[k]] = k
  int32_t *column_start; // nodes + 1
  int32_t *row;          // per block: the row (a place, ascending within a column)
  int32_t *row_start;    // nodes + 1: the same blocks by rows,
  int32_t *row_column;   // their columns ascending
  int32_t *row_block;
  int32_t *position; // scratch memory of the factorisation
  bool *extends;     // column k + 1 continues column k (same rows below)
  bool *stale;       // per place: its column must be factored again (s2_blocksparse_refactor)
  int32_t *cost;     // per place: cost of factoring its column, in products of two blocks
  double cost_of_all;
  double *lower;    // per block: K_rc, then L_rc
  double *upper;    // per block: K_cr', then U_cr'; unused while symmetric
  S2Quad *diagonal; // per place: K_cc, then D_c
  S2Quad *inverse;  // per place: D_c^-1; if careful, the factors of D_c with scalars
  S2Quad *work;     // nodes
  bool nonsymmetric;
  // The caller sets this after init for symmetric matrices with ill-conditioned D_c, such as
  // quasi-definite ones. Then D_c is divided by substitution, because an explicit inverse loses the
  // square of the condition number.
  bool careful;
  // The caller sets this for other ill-conditioned matrices, such as those of rows with weights
  // beyond 1e6. Then the cofactors of D_c's inverse are computed with more digits.
  bool accurate;
} S2BlockSparse;

// Finds order and pattern. `edge` holds two distinct nodes per edge. An edge may occur several
// times and in both directions. slot[e] becomes the block of edge e.
void s2_blocksparse_init(S2BlockSparse *matrix, int nodes, int edges, const int32_t *edge,
                         int32_t *slot, S2Arena *arena);

// Sets all values to 0. Then the caller writes them. The block of a node is at diagonal[3 *
// place[node]]. For an edge, let r and c be its ends of higher and lower place: K_rc goes to
// lower[S2_BLOCK * slot] and, if nonsymmetric, the transpose of K_cr to upper[S2_BLOCK * slot].
void s2_blocksparse_clear(S2BlockSparse *matrix, bool nonsymmetric);

// Adds a block (row-major) to K_ab and, unless a = b, its transpose to K_ba of a symmetric matrix.
// `slot` is the slot of the edge between a and b; it is not used if a = b.
void s2_blocksparse_add(S2BlockSparse *matrix, int32_t slot, int32_t a, int32_t b,
                        const double block[9]);

// Replaces the values by the factors. False: a pivot block is singular or not finite, and the
// matrix must be filled again.
bool s2_blocksparse_factor(S2BlockSparse *matrix);

// Factors a matrix of which few columns have changed since the last factorisation. Only these
// columns and the columns that depend on them are factored; the bits of the result are those of a
// whole factorisation. First mark the columns of changed values in `stale` and call
// s2_blocksparse_spread. That function marks the dependent columns, too, sets the values of all
// marked columns to 0 and returns their fraction of the cost of a whole factorisation. Then write
// these values and call refactor, which replaces them by the factors. False as above; afterwards
// `stale` is all false.
double s2_blocksparse_spread(S2BlockSparse *matrix);
bool s2_blocksparse_refactor(S2BlockSparse *matrix);

// Whether the symmetric matrix just factored is positive definite.
bool s2_blocksparse_positive(const S2BlockSparse *matrix);

// x = K^-1 b, one quad per node; x may be b.
void s2_blocksparse_solve(const S2BlockSparse *matrix, const S2Quad *b, S2Quad *x);

#endif
