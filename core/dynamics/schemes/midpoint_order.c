// The order of a midpoint step's unknowns: bodies and joints as they are met going out from one end
// of the island (Cuthill and McKee 1969), which keeps what acts on each other close by.
#include "dynamics/schemes/midpoint.h"

#include <string.h>

typedef struct Walk {
  int32_t *queue; // bodies, then joints by their number + bodies
  bool *seen;
  int count;
} Walk;

static void order_visit(Walk *walk, int32_t vertex) {
  if (!walk->seen[vertex]) {
    walk->seen[vertex] = true;
    walk->queue[walk->count++] = vertex;
  }
}

// Breadth first from a body; the last one met is an end of the island.
static void walk_from(Walk *walk, const S2MidpointGraph *graph, int32_t first) {
  memset(walk->seen, 0, sizeof(bool) * (size_t)(graph->nodes + graph->joints));
  walk->count = 0;
  order_visit(walk, first);
  for (int i = 0; i < walk->count; i++) {
    int32_t vertex = walk->queue[i];
    if (vertex < graph->nodes) {
      for (int32_t k = graph->start[vertex]; k < graph->start[vertex + 1]; k++) {
        order_visit(walk, graph->nodes + graph->joint[k]);
      }
    } else {
      for (int side = 0; side < 2; side++) {
        int32_t body = graph->body[2 * (vertex - graph->nodes) + side];
        if (body >= 0) {
          order_visit(walk, body);
        }
      }
    }
  }
  for (int32_t i = 0; i < graph->nodes + graph->joints; i++) { // held together by contacts alone
    order_visit(walk, i);
  }
}

static void list_joints(S2MidpointGraph *graph, S2Arena *arena) {
  graph->start = S2_TAKE_ZEROED(arena, int32_t, graph->nodes + 2);
  graph->joint = S2_TAKE(arena, int32_t, 2 * graph->joints);
  int32_t *next = graph->start + 1; // filled one place further: ends up as the starts
  for (int i = 0; i < 2 * graph->joints; i++) {
    if (graph->body[i] >= 0) {
      next[graph->body[i] + 1] += 1;
    }
  }
  for (int i = 0; i < graph->nodes; i++) {
    next[i + 1] += next[i];
  }
  for (int i = 0; i < 2 * graph->joints; i++) {
    if (graph->body[i] >= 0) {
      graph->joint[next[graph->body[i]]++] = i / 2;
    }
  }
}

int32_t *s2_midpoint_order(S2MidpointGraph *graph, S2Arena *arena) {
  int all = graph->nodes + graph->joints;
  list_joints(graph, arena);
  Walk walk = {S2_TAKE(arena, int32_t, all), S2_TAKE(arena, bool, all), 0};
  int32_t first = 0;
  for (int pass = 0; pass < 2; pass++) { // out to one end, and back from there
    walk_from(&walk, graph, first);
    for (int i = 0; i < all; i++) {
      first = walk.queue[i] < graph->nodes ? walk.queue[i] : first;
    }
  }
  walk_from(&walk, graph, first);
  return walk.queue;
}
