// The local form of pdipm_system.h: the data that it has in place of the data of bodies.
#ifndef S2_PDIPM_LOCAL_H
#define S2_PDIPM_LOCAL_H

#include "mcp/chain/pdipm_system.h"

struct S2LocalMobility {
  const S2Mobility *a;
  S2Quad *block;         // 3 columns per block
  int32_t *column_start; // nodes + 1: blocks by columns,
  int32_t *column_row;   // their rows ascending
  int32_t *column_block;
  int32_t *diagonal;   // nodes: blocks (i, i)
  int32_t edges;       // pairs i > j with a block on either side
  int32_t *edge;       // 2 per pair
  int32_t *edge_block; // 2 per pair: blocks (i, j) and (j, i), -1 where there is none
  int32_t *slot;       // of the pair in the sparse matrix
  S2Quad *impulse;     // nodes + 1: scratch
  S2Quad *response;    // 3 columns per node: scratch
};

void s2_local_init(S2System *system, S2Arena *arena);    // fills system->local
void s2_local_prepare(S2System *system, S2Arena *arena); // fills system->sparse
void s2_local_push_all(const S2System *system, const double *lambda, double factor, S2Quad *y);
bool s2_local_factor(S2System *system, const S2Response *response);

#endif
