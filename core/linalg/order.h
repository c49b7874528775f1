// Elimination orders that reduce the fill of sparse factors.
#ifndef S2_ORDER_H
#define S2_ORDER_H

#include "base/arena.h"

#include <stdint.h>

// Fills order[0..nodes-1]: order[k] is the k-th node to eliminate. The graph is given by the
// neighbours of each node, neighbour[start[i]] .. neighbour[start[i + 1] - 1], without the node
// itself and without duplicates. Every edge is listed at both ends. In a forest, leaves come first.
// Other graphs use approximate minimum degree (Amestoy, Davis, Duff 1996) with libamd if it was
// available at build time, otherwise a plain minimum degree on quotient graphs. This function is
// deterministic and never fails.
void s2_order_minimum_degree(int nodes, const int32_t *start, const int32_t *neighbour,
                             int32_t *order, S2Arena *arena);

// Uses the built-in method even if libamd is available (for tests).
void s2_order_builtin(int nodes, const int32_t *start, const int32_t *neighbour, int32_t *order,
                      S2Arena *arena);

#endif
