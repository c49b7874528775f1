// The elimination order of a symmetric sparsity pattern and the pattern of its factors.
// Sparse matrices with blocks of any size use it (blocksparse.h, pairsparse.h).
#ifndef S2_PATTERN_H
#define S2_PATTERN_H

#include "base/arena.h"

#include <stdint.h>

typedef struct S2SparsePattern {
  int nodes;
  int blocks;            // below the diagonal, including fill
  int32_t *order;        // order[k]: node eliminated k-th
  int32_t *place;        // inverse of order: place[order[k]] = k
  int32_t *column_start; // nodes + 1
  int32_t *row;          // per block: the row (a place, ascending within a column)
  int32_t *row_start;    // nodes + 1: start of each row in the list of blocks by rows
  int32_t *row_column;   // columns of these blocks, ascending within a row
  int32_t *row_block;
} S2SparsePattern;

// Computes the elimination order (linalg/order.h) and the pattern. `edge` holds two distinct nodes
// per edge. An edge may occur several times and in both directions. slot[e] becomes the block of
// edge e. All memory comes from the arena.
void s2_pattern_init(S2SparsePattern *pattern, int nodes, int edges, const int32_t *edge,
                     int32_t *slot, S2Arena *arena);

#endif
