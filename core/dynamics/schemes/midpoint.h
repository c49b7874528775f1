// Private to the midpoint step.
#ifndef S2_MIDPOINT_H
#define S2_MIDPOINT_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct S2MidpointGraph {
  int nodes, joints;
  const int32_t *body; // 2 a joint: its nodes, negative: the ground
  int32_t *start;      // a node, filled by s2_midpoint_order:
  int32_t *joint;      // its joints
} S2MidpointGraph;

// All nodes and joints (by number + nodes) in a good order for a band matrix.
int32_t *s2_midpoint_order(S2MidpointGraph *graph, S2Arena *arena);

#endif
