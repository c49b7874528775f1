// Builds the blocks of the local form from a sparse matrix.
#include "mcp/solvers.h"

const S2Mobility *s2_mobility_from_csr(const S2Csr *a, int rows, int lane, int32_t *place,
                                       S2Arena *arena) {
  int nodes = (a->rows + rows - 1) / rows;
  int32_t most = a->start[a->rows] + nodes;
  S2Mobility *mobility = S2_TAKE(arena, S2Mobility, 1);
  int32_t *start = S2_TAKE(arena, int32_t, nodes + 1), *column = S2_TAKE(arena, int32_t, most);
  int32_t *row = S2_TAKE(arena, int32_t, nodes + 1);
  double *block = S2_TAKE_ZEROED(arena, double, 9 * (size_t)most);
  int32_t count = 0;
  // Visit the rows of a node together, block after block. The diagonal block always exists.
  for (int32_t k = 0; k < nodes; k++) {
    int32_t p[3] = {0, 0, 0}, end[3] = {0, 0, 0};
    bool diagonal = false;
    start[k] = count;
    row[k] = rows * k;
    for (int r = 0; r < 3 && r < rows && rows * k + r < a->rows; r++) {
      p[r] = a->start[rows * k + r];
      end[r] = a->start[rows * k + r + 1];
    }
    // Find the next block of columns with an entry in one of the rows.
    for (;;) {
      int32_t next = diagonal ? nodes : k;
      for (int r = 0; r < 3; r++) {
        if (p[r] < end[r] && a->column[p[r]] / rows < next) {
          next = a->column[p[r]] / rows;
        }
      }
      if (next == nodes) {
        break;
      }
      // Copy the entries of the block to their lanes.
      diagonal |= next == k;
      column[count] = next;
      for (int r = 0; r < 3; r++) {
        for (; p[r] < end[r] && a->column[p[r]] / rows == next; p[r]++) {
          int32_t at = 9 * count + 3 * (r + lane) + lane + a->column[p[r]] % rows;
          block[at] = a->value[p[r]];
          if (place != NULL) {
            place[p[r]] = at;
          }
        }
      }
      count++;
    }
  }
  start[nodes] = count;
  row[nodes] = a->rows;
  *mobility = (S2Mobility){.start = start, .column = column, .block = block, .row = row};
  return mobility;
}

const S2Mobility *s2_mobility_transpose(const S2Mobility *a, int nodes, S2Arena *arena) {
  int32_t blocks = a->start[nodes];
  int32_t *start = S2_TAKE_ZEROED(arena, int32_t, nodes + 2);
  int32_t *column = S2_TAKE(arena, int32_t, blocks);
  double *block = S2_TAKE(arena, double, 9 * (size_t)blocks);
  // Count the blocks of column c in start[c + 2]. After the sums and the fill below, start[c] is
  // the position of the first block of column c.
  for (int32_t p = 0; p < blocks; p++) {
    start[a->column[p] + 2]++;
  }
  for (int i = 1; i <= nodes; i++) {
    start[i + 1] += start[i];
  }
  for (int32_t i = 0; i < nodes; i++) {
    for (int32_t p = a->start[i]; p < a->start[i + 1]; p++) {
      int32_t at = start[a->column[p] + 1]++;
      column[at] = i;
      for (size_t k = 0; k < 9; k++) {
        block[9 * (size_t)at + 3 * (k % 3) + k / 3] = a->block[9 * (size_t)p + k];
      }
    }
  }
  S2Mobility *transposed = S2_TAKE(arena, S2Mobility, 1);
  *transposed = (S2Mobility){.start = start, .column = column, .block = block, .row = a->row};
  return transposed;
}
