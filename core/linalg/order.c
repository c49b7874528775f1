#include "linalg/order.h"

#include <stdbool.h>
#include <string.h>

// Orders a forest by eliminating leaves first. This order causes no fill and needs no degrees.
// Returns false if the graph has a cycle.
static bool order_forest(int nodes, const int32_t *start, const int32_t *neighbour, int32_t *order,
                         S2Arena *arena) {
  if (start[nodes] / 2 >= nodes) { // more edges than a forest has
    return false;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  int32_t *degree = S2_TAKE(arena, int32_t, nodes);
  int count = 0;
  for (int32_t i = 0; i < nodes; i++) {
    degree[i] = start[i + 1] - start[i];
  }
  for (int32_t i = 0; i < nodes; i++) { // follows the path from each leaf inwards
    for (int32_t leaf = i; leaf >= 0 && degree[leaf] >= 0 && degree[leaf] <= 1;) {
      int32_t next = -1;
      order[count++] = leaf;
      degree[leaf] = -1;
      // The remaining neighbour of the leaf, if any, may have become a leaf.
      for (int32_t p = start[leaf]; p < start[leaf + 1]; p++) {
        if (degree[neighbour[p]] >= 0) {
          next = neighbour[p];
        }
      }
      if (next >= 0) {
        degree[next]--;
      }
      leaf = next;
    }
  }
  s2_arena_rewind(arena, mark);
  return count == nodes;
}

#ifdef S2_HAVE_AMD
#include <amd.h>

// amd_2 works in memory from the caller, while amd_order would use the heap.
void s2_order_minimum_degree(int nodes, const int32_t *start, const int32_t *neighbour,
                             int32_t *order, S2Arena *arena) {
  if (order_forest(nodes, start, neighbour, order, arena)) {
    return;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  int entries = start[nodes];
  int room = entries + entries / 5 + nodes + 1; // libamd recommends one fifth more, plus n
  int *pool = S2_TAKE(arena, int, room);
  int *list = S2_TAKE(arena, int, 8 * nodes);
  int *begin = list, *length = list + nodes, *variables = list + 2 * nodes;
  int *next = list + 3 * nodes, *head = list + 4 * nodes, *elements = list + 5 * nodes;
  int *degree = list + 6 * nodes, *work = list + 7 * nodes;
  // libamd overwrites its input, so pass copies.
  for (int i = 0; i < nodes; i++) {
    begin[i] = start[i];
    length[i] = start[i + 1] - start[i];
  }
  memcpy(pool, neighbour, sizeof(int) * (size_t)entries);
  double control[AMD_CONTROL], info[AMD_INFO];
  amd_defaults(control);
  amd_2(nodes, begin, pool, length, room, entries, variables, next, order, head, elements, degree,
        work, control, info);
  s2_arena_rewind(arena, mark);
}
#else
void s2_order_minimum_degree(int nodes, const int32_t *start, const int32_t *neighbour,
                             int32_t *order, S2Arena *arena) {
  if (!order_forest(nodes, start, neighbour, order, arena)) {
    s2_order_builtin(nodes, start, neighbour, order, arena);
  }
}
#endif

// Quotient graph: when node p is eliminated, it becomes an element, whose list contains the nodes
// that p connected. The new element absorbs the elements that contained p. So lists never grow much
// longer than in the original graph.
typedef struct Quotient {
  int32_t **list;  // list of a node: its nodes, then its elements; list of an element: its nodes
  int32_t *nodes;  // number of nodes in a node's list, or length of an element's list
  int32_t *length; // length of the list
  int32_t *degree; // upper bound on the number of neighbours of a node
  int32_t *mark;
  bool *gone; // eliminated (and now an element), or absorbed
  bool *absorbed;
} Quotient;

// Collects the remaining neighbours of `p` in a new list, and marks them with `stamp`.
static int32_t order_gather(Quotient *graph, int32_t p, int32_t stamp, int32_t *out) {
  int32_t count = 0;
  graph->mark[p] = stamp;
  for (int32_t k = 0; k < graph->length[p]; k++) {
    // An entry of the list is a node, or an element that represents all of its nodes.
    int32_t q = graph->list[p][k];
    bool element = k >= graph->nodes[p];
    const int32_t *from = element ? graph->list[q] : &graph->list[p][k];
    int32_t length = element ? graph->length[q] : 1;
    for (int32_t m = 0; m < length; m++) {
      int32_t i = from[m];
      if (!graph->gone[i] && graph->mark[i] != stamp) {
        graph->mark[i] = stamp;
        out[count++] = i;
      }
    }
    if (element) {
      graph->absorbed[q] = true;
    }
  }
  return count;
}

// Updates the list of node i after p has become an element. Nodes that are reachable through p are
// removed.
static void order_prune(Quotient *graph, int32_t i, int32_t p, int32_t stamp) {
  int32_t *list = graph->list[i];
  int32_t kept = 0, nodes = 0, degree = 0;
  // Keep nodes that are not reachable through p.
  for (int32_t k = 0; k < graph->nodes[i]; k++) {
    if (graph->mark[list[k]] != stamp && !graph->gone[list[k]]) {
      list[kept++] = list[k];
    }
  }
  nodes = degree = kept;
  // Keep elements that p has not absorbed, and add p.
  int32_t elements = graph->length[i] - graph->nodes[i];
  for (int32_t k = 0; k < elements; k++) {
    int32_t e = list[graph->nodes[i] + k];
    if (!graph->absorbed[e]) {
      list[kept++] = e;
      degree += graph->length[e];
    }
  }
  list[kept++] = p;
  graph->nodes[i] = nodes;
  graph->length[i] = kept;
  graph->degree[i] = degree + graph->length[p] - 1;
}

void s2_order_builtin(int nodes, const int32_t *start, const int32_t *neighbour, int32_t *order,
                      S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  Quotient graph = {
      .list = S2_TAKE(arena, int32_t *, nodes),
      .nodes = S2_TAKE(arena, int32_t, nodes),
      .length = S2_TAKE(arena, int32_t, nodes),
      .degree = S2_TAKE(arena, int32_t, nodes),
      .mark = S2_TAKE(arena, int32_t, nodes),
      .gone = S2_TAKE_ZEROED(arena, bool, nodes),
      .absorbed = S2_TAKE_ZEROED(arena, bool, nodes),
  };
  // Nodes of equal degree are in a linked list, with the most recently added node at the front.
  int32_t *next = S2_TAKE(arena, int32_t, nodes), *previous = S2_TAKE(arena, int32_t, nodes);
  int32_t *found = S2_TAKE(arena, int32_t, nodes);
  int32_t *head = S2_TAKE(arena, int32_t, nodes + 1);
  memset(head, -1, sizeof(int32_t) * (size_t)(nodes + 1));
  for (int32_t i = nodes - 1; i >= 0; i--) {
    int32_t length = start[i + 1] - start[i];
    // Reserve one more entry than there are neighbours. A node always loses a neighbour before it
    // gains the corresponding element.
    graph.list[i] = S2_TAKE(arena, int32_t, length + 1);
    memcpy(graph.list[i], neighbour + start[i], sizeof(int32_t) * (size_t)length);
    graph.nodes[i] = graph.length[i] = graph.degree[i] = length;
    graph.mark[i] = -1;
    next[i] = head[length];
    previous[i] = -1;
    if (next[i] >= 0) {
      previous[next[i]] = i;
    }
    head[length] = i;
  }
  // Eliminate a node of least degree and make it an element.
  int32_t least = 0;
  for (int32_t k = 0; k < nodes; k++) {
    while (head[least] < 0) {
      least++;
    }
    int32_t p = head[least];
    head[least] = next[p];
    if (next[p] >= 0) {
      previous[next[p]] = -1;
    }
    order[k] = p;
    int32_t count = order_gather(&graph, p, k, found);
    int32_t *joined = S2_TAKE(arena, int32_t, count);
    memcpy(joined, found, sizeof(int32_t) * (size_t)count);
    graph.gone[p] = true;
    graph.list[p] = joined;
    graph.length[p] = graph.nodes[p] = count;
    // Update the list of each neighbour of the element, then move the neighbour to the list for its
    // new degree.
    for (int32_t m = 0; m < count; m++) {
      int32_t i = joined[m], degree = graph.degree[i];
      if (previous[i] >= 0) {
        next[previous[i]] = next[i];
      } else {
        head[degree] = next[i];
      }
      if (next[i] >= 0) {
        previous[next[i]] = previous[i];
      }
      order_prune(&graph, i, p, k);
      int32_t most = nodes - k - 2;
      degree = graph.degree[i] = graph.degree[i] < most ? graph.degree[i] : most;
      next[i] = head[degree];
      previous[i] = -1;
      if (next[i] >= 0) {
        previous[next[i]] = i;
      }
      head[degree] = i;
      least = degree < least ? degree : least;
    }
  }
  s2_arena_rewind(arena, mark);
}
