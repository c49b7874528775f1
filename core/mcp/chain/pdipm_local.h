// Data of the local form of pdipm_system.h, which replace the data of bodies.
#ifndef S2_PDIPM_LOCAL_H
#define S2_PDIPM_LOCAL_H

#include "mcp/chain/pdipm_system.h"

struct S2LocalMobility {
  const S2Mobility *a;
  S2Quad *block;         // 3 columns per block
  int32_t *column_start; // start of each column; nodes + 1 numbers
  int32_t *column_row;   // row of each block, ascending within a column
  int32_t *column_block;
  int32_t *diagonal;   // index of block (i, i) of each node
  int32_t edges;       // number of pairs i > j with at least one block
  int32_t *edge;       // 2 numbers per pair
  int32_t *edge_block; // 2 per pair: blocks (i, j) and (j, i), or -1 if there is no block
  int32_t *slot;       // slot of each pair in the sparse matrix
  S2Quad *impulse;     // scratch, nodes + 1
  S2Quad *response;    // scratch, 3 columns per node
};

void s2_local_init(S2System *system, S2Arena *arena);    // fills system->local
void s2_local_prepare(S2System *system, S2Arena *arena); // fills system->sparse
void s2_local_push_all(const S2System *system, const double *lambda, double factor, S2Quad *y);
bool s2_local_factor(S2System *system, const S2Response *response);

#endif
