// Square sparse matrices of 3 x 3 blocks on the edges of a graph, factored without pivoting: L D L'
// if the values are symmetric, otherwise L D U (the pattern is always symmetric).
//
// The code is designed for matrices K = W + J' D J of a contact solver, whose pivots are well away
// from 0. The method is left-looking by columns, with the elimination order of linalg/order.h. All
// memory comes from the arena given to init and lives as long as the arena.
#ifndef S2_BLOCKSPARSE_H
#define S2_BLOCKSPARSE_H

#include "base/arena.h"
#include "linalg/quad.h"

#include <stdbool.h>
#include <stdint.h>

enum { S2_BLOCK = 9 }; // size of a block off the diagonal.

// A block has 3 columns of 3 numbers. A diagonal block has 3 quads whose fourth lane is 0.
typedef struct S2BlockSparse {
  int nodes;
  int blocks;            // below the diagonal, including fill
  int32_t *order;        // order[k]: node eliminated k-th
  int32_t *place;        // inverse of order: place[order[k]] = k
  int32_t *column_start; // nodes + 1
  int32_t *row;          // per block: the row (a place, ascending within a column)
  int32_t *row_start;    // nodes + 1: start of each row in the list of blocks by rows
  int32_t *row_column;   // columns of these blocks, ascending within a row
  int32_t *row_block;
  int32_t *position; // scratch memory of the factorisation
  bool *extends;     // true if column k + 1 continues column k (same rows below)
  bool *stale;       // per place: whether its column must be factored again
                     // (s2_blocksparse_refactor)
  int32_t *cost;     // per place: cost of factoring its column, in products of two blocks
  double cost_of_all;
  double *lower;    // per block: K_rc, then L_rc
  double *upper;    // per block: K_cr', then U_cr'; unused while symmetric
  S2Quad *diagonal; // per place: K_cc, then D_c
  S2Quad *inverse;  // per place: D_c^-1, or the scalar factors of D_c if `careful`
  S2Quad *work;     // nodes
  bool nonsymmetric;
  // The caller sets this after init for symmetric matrices with ill-conditioned D_c, for example
  // quasi-definite matrices. Then D_c^-1 is applied by substitution, because an explicit inverse
  // loses the square of the condition number.
  bool careful;
  // The caller sets this for other ill-conditioned matrices, such as those of rows with weights
  // beyond 1e6. Then the cofactors of D_c's inverse are computed with more digits.
  bool accurate;
} S2BlockSparse;

// Computes the elimination order and the pattern. `edge` holds two distinct nodes per edge. An edge
// may occur several times and in both directions. slot[e] becomes the block of edge e.
void s2_blocksparse_init(S2BlockSparse *matrix, int nodes, int edges, const int32_t *edge,
                         int32_t *slot, S2Arena *arena);

// Sets all values to 0. The caller then writes the values. The block of a node is at diagonal[3 *
// place[node]]. For an edge, let r be the end with the higher place and c the other end. Write K_rc
// to lower[S2_BLOCK * slot]. If the matrix is not symmetric, also write the transpose of K_cr to
// upper[S2_BLOCK * slot].
void s2_blocksparse_clear(S2BlockSparse *matrix, bool nonsymmetric);

// Adds a block (row-major) to K_ab and, unless a = b, its transpose to K_ba of a symmetric matrix.
// `slot` is the slot of the edge between a and b, and is not used if a = b.
void s2_blocksparse_add(S2BlockSparse *matrix, int32_t slot, int32_t a, int32_t b,
                        const double block[9]);

// Replaces the values by the factors. Returns false if a pivot block is singular or not finite. The
// matrix must then be filled again.
bool s2_blocksparse_factor(S2BlockSparse *matrix);

// Factors a matrix in which few columns have changed since the last factorisation. Only these
// columns and the columns that depend on them are factored. The result is bit for bit the same as
// after a full factorisation. First mark the columns of changed values in `stale` and call
// s2_blocksparse_spread. That function also marks the dependent columns, sets the values of all
// marked columns to 0, and returns their fraction of the cost of a full factorisation. Then write
// these values and call refactor, which replaces them by the factors. It returns false in the same
// cases as above. Afterwards all entries of `stale` are false.
double s2_blocksparse_spread(S2BlockSparse *matrix);
bool s2_blocksparse_refactor(S2BlockSparse *matrix);

// Returns true if the symmetric matrix that was just factored is positive definite.
bool s2_blocksparse_positive(const S2BlockSparse *matrix);

// Computes x = K^-1 b with one quad per node. x may be b.
void s2_blocksparse_solve(const S2BlockSparse *matrix, const S2Quad *b, S2Quad *x);

#endif
