#include "linalg/pattern.h"

#include "linalg/order.h"

#include <string.h>

// Lists the neighbours of every node without duplicates, in the order of the edges.
static void pattern_adjacency(int nodes, int edges, const int32_t *edge, int32_t *start,
                              int32_t *neighbour, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int32_t *first = S2_TAKE_ZEROED(arena, int32_t, nodes + 1);
  int32_t *fill = S2_TAKE(arena, int32_t, nodes);
  int32_t *all = S2_TAKE(arena, int32_t, 2 * edges);
  int32_t *seen = S2_TAKE(arena, int32_t, nodes);
  // List the neighbours with duplicates: count, accumulate the counts, then fill.
  for (int k = 0; k < 2 * edges; k++) {
    first[edge[k] + 1]++;
  }
  for (int i = 0; i < nodes; i++) {
    first[i + 1] += first[i];
    fill[i] = first[i];
    seen[i] = -1;
  }
  for (int e = 0; e < edges; e++) {
    int32_t a = edge[2 * e], b = edge[2 * e + 1];
    all[fill[a]++] = b;
    all[fill[b]++] = a;
  }
  // Remove duplicates: each neighbour of a node is marked with that node.
  int32_t count = 0;
  for (int i = 0; i < nodes; i++) {
    start[i] = count;
    for (int32_t p = first[i]; p < first[i + 1]; p++) {
      if (seen[all[p]] != i) {
        seen[all[p]] = i;
        neighbour[count++] = all[p];
      }
    }
  }
  start[nodes] = count;
  s2_arena_rewind(arena, mark);
}

// Visits all columns in which row i of L has a block, and appends i to them if `next` is given.
// These are the columns on the paths of the elimination tree from the neighbours of i up to i (Liu
// 1990). Rows come in ascending order, so every column is sorted at the end.
static int32_t visit_row(S2SparsePattern *pattern, int32_t i, const int32_t *start,
                         const int32_t *neighbour, int32_t *parent, int32_t *mark, int32_t *next) {
  int32_t count = 0, node = pattern->order[i];
  mark[i] = i;
  for (int32_t p = start[node]; p < start[node + 1]; p++) {
    for (int32_t k = pattern->place[neighbour[p]]; k < i && mark[k] != i; k = parent[k]) {
      mark[k] = i;
      count++;
      if (parent[k] < 0) {
        parent[k] = i;
      }
      if (next == NULL) {
        pattern->column_start[k + 1]++;
      } else {
        pattern->row[next[k]++] = i;
      }
    }
  }
  return count;
}

static void find_pattern(S2SparsePattern *pattern, const int32_t *start, const int32_t *neighbour,
                         S2Arena *arena) {
  int n = pattern->nodes;
  pattern->column_start = S2_TAKE_ZEROED(arena, int32_t, n + 1);
  pattern->row_start = S2_TAKE(arena, int32_t, n + 1);
  int32_t *parent = S2_TAKE(arena, int32_t, n), *mark = S2_TAKE(arena, int32_t, n);
  int32_t *next = S2_TAKE(arena, int32_t, n);
  // The first pass only counts the blocks of each row and column of L.
  for (int i = 0; i < n; i++) {
    parent[i] = mark[i] = -1;
  }
  pattern->row_start[0] = 0;
  for (int i = 0; i < n; i++) {
    int32_t count = visit_row(pattern, i, start, neighbour, parent, mark, NULL);
    pattern->row_start[i + 1] = pattern->row_start[i] + count;
  }
  // The second pass stores the blocks. Rows come in ascending order, so columns are sorted.
  for (int k = 0; k < n; k++) {
    pattern->column_start[k + 1] += pattern->column_start[k];
    next[k] = pattern->column_start[k];
    mark[k] = -1;
  }
  pattern->blocks = pattern->column_start[n];
  pattern->row = S2_TAKE(arena, int32_t, pattern->blocks);
  pattern->row_column = S2_TAKE(arena, int32_t, pattern->blocks);
  pattern->row_block = S2_TAKE(arena, int32_t, pattern->blocks);
  for (int i = 0; i < n; i++) {
    visit_row(pattern, i, start, neighbour, parent, mark, next);
  }
  // List the same blocks sorted by rows.
  memcpy(next, pattern->row_start, sizeof(int32_t) * (size_t)n);
  for (int k = 0; k < n; k++) {
    for (int32_t p = pattern->column_start[k]; p < pattern->column_start[k + 1]; p++) {
      int32_t at = next[pattern->row[p]]++;
      pattern->row_column[at] = k;
      pattern->row_block[at] = p;
    }
  }
}

static int32_t pattern_find_block(const S2SparsePattern *pattern, int32_t a, int32_t b) {
  int32_t i = pattern->place[a], j = pattern->place[b];
  int32_t r = i > j ? i : j, c = i > j ? j : i;
  int32_t low = pattern->column_start[c], high = pattern->column_start[c + 1] - 1;
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (pattern->row[middle] < r) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void s2_pattern_init(S2SparsePattern *pattern, int nodes, int edges, const int32_t *edge,
                     int32_t *slot, S2Arena *arena) {
  *pattern = (S2SparsePattern){.nodes = nodes};
  pattern->order = S2_TAKE(arena, int32_t, nodes);
  pattern->place = S2_TAKE(arena, int32_t, nodes);
  int32_t *start = S2_TAKE(arena, int32_t, nodes + 1);
  int32_t *neighbour = S2_TAKE(arena, int32_t, 2 * edges);
  // Find the order, then the pattern, then the positions of the edges' blocks in the pattern.
  pattern_adjacency(nodes, edges, edge, start, neighbour, arena);
  if (nodes > 0) {
    s2_order_minimum_degree(nodes, start, neighbour, pattern->order, arena);
  }
  for (int k = 0; k < nodes; k++) {
    pattern->place[pattern->order[k]] = k;
  }
  find_pattern(pattern, start, neighbour, arena);
  for (int e = 0; e < edges; e++) {
    slot[e] = pattern_find_block(pattern, edge[2 * e], edge[2 * e + 1]);
  }
}
