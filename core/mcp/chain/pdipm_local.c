// The local form factors the matrix 1 + A D. D is block diagonal and holds the responses of the
// units of each node. The matrix has the pattern of A + A'. It is not symmetric, but it is as well
// conditioned as A + D^-1, because it only scales the columns of A + D^-1.
#include "mcp/chain/pdipm_local.h"

#include "mcp/solvers.h"

#include <string.h>

// ---- Building ---------------------------------------------------------------------------------

static void fill_columns(S2LocalMobility *local, int nodes, S2Arena *arena) {
  const S2Mobility *a = local->a;
  int32_t blocks = a->start[nodes];
  local->column_start = S2_TAKE_ZEROED(arena, int32_t, nodes + 1);
  local->column_row = S2_TAKE(arena, int32_t, blocks);
  local->column_block = S2_TAKE(arena, int32_t, blocks);
  for (int32_t p = 0; p < blocks; p++) {
    local->column_start[a->column[p] + 1]++;
  }
  for (int i = 0; i < nodes; i++) {
    local->column_start[i + 1] += local->column_start[i];
  }
  // Store the blocks of A by columns. column_start holds the starts of the columns, and rows are
  // visited in ascending order.
  S2ArenaMark mark = s2_arena_mark(arena);
  int32_t *next = S2_TAKE(arena, int32_t, nodes + 1);
  memcpy(next, local->column_start, sizeof(int32_t) * (size_t)(nodes + 1));
  for (int32_t i = 0; i < nodes; i++) {
    for (int32_t p = a->start[i]; p < a->start[i + 1]; p++) {
      int32_t at = next[a->column[p]]++;
      local->column_row[at] = i;
      local->column_block[at] = p;
    }
  }
  s2_arena_rewind(arena, mark);
}

static void add_edge(S2LocalMobility *local, int32_t i, int32_t j, int32_t below, int32_t above) {
  local->edge[2 * local->edges] = i;
  local->edge[2 * local->edges + 1] = j;
  local->edge_block[2 * local->edges] = below;
  local->edge_block[2 * local->edges + 1] = above;
  local->edges++;
}

// Finds the edges: walks along row i and column i of A together, up to the diagonal.
static void fill_edges(S2LocalMobility *local, int nodes, S2Arena *arena) {
  const S2Mobility *a = local->a;
  int32_t blocks = a->start[nodes];
  local->edge = S2_TAKE(arena, int32_t, 2 * blocks);
  local->edge_block = S2_TAKE(arena, int32_t, 2 * blocks);
  local->slot = S2_TAKE(arena, int32_t, blocks);
  local->diagonal = S2_TAKE(arena, int32_t, nodes);
  // A pair has an edge if either of its blocks exists.
  for (int32_t i = 0; i < nodes; i++) {
    int32_t p = a->start[i], q = local->column_start[i];
    int32_t p_end = a->start[i + 1], q_end = local->column_start[i + 1];
    for (;;) {
      int32_t row = p < p_end ? a->column[p] : i, column = q < q_end ? local->column_row[q] : i;
      int32_t j = row < column ? row : column;
      if (j >= i) {
        break;
      }
      add_edge(local, i, j, row == j ? p : -1, column == j ? local->column_block[q] : -1);
      p += row == j;
      q += column == j;
    }
    local->diagonal[i] = p;
  }
}

void s2_local_init(S2System *system, S2Arena *arena) {
  int nodes = system->nodes;
  S2LocalMobility *local = S2_TAKE(arena, S2LocalMobility, 1);
  *local = (S2LocalMobility){.a = system->problem->mobility};
  system->local = local;
  int32_t blocks = local->a->start[nodes];
  local->block = S2_TAKE(arena, S2Quad, 3 * (size_t)blocks);
  for (int32_t p = 0; p < blocks; p++) {
    const double *from = local->a->block + 9 * (size_t)p;
    for (int c = 0; c < 3; c++) {
      local->block[3 * (size_t)p + (size_t)c] = (S2Quad){from[c], from[3 + c], from[6 + c], 0};
    }
  }
  local->impulse = S2_TAKE(arena, S2Quad, nodes + 1);
  local->response = S2_TAKE(arena, S2Quad, 3 * (size_t)nodes);
  fill_columns(local, nodes, arena);
  fill_edges(local, nodes, arena);
}

void s2_local_prepare(S2System *system, S2Arena *arena) {
  S2LocalMobility *local = system->local;
  s2_blocksparse_init(&system->sparse, system->nodes, local->edges, local->edge, local->slot,
                      arena);
}

// ---- Products ---------------------------------------------------------------------------------

// Adds block x to `sum`. Vectors are passed by pointers, because there is no fixed calling
// convention for vectors by value.
S2_INLINE void add_times(S2Quad *sum, const S2Quad *block, const S2Quad *x) {
  *sum += block[0] * (*x)[0] + block[1] * (*x)[1] + block[2] * (*x)[2];
}

S2_WIDE void s2_local_push_all(const S2System *system, const double *lambda, double factor,
                               S2Quad *y) {
  const S2LocalMobility *local = system->local;
  memset(local->impulse, 0, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    double n = factor * unit->g[0] * lambda[2 * k], t = factor * unit->g[1] * lambda[2 * k + 1];
    S2UnitRows j;
    s2_unit_rows(system, unit, &j);
    local->impulse[unit->a] += j.ja[0] * n + j.ja[1] * t;
  }
  for (int i = 0; i < system->nodes; i++) {
    S2Quad sum = {0};
    for (int32_t p = local->a->start[i]; p < local->a->start[i + 1]; p++) {
      add_times(&sum, local->block + 3 * (size_t)p, &local->impulse[local->a->column[p]]);
    }
    y[i] += sum;
  }
}

S2_WIDE void s2_local_push(const S2System *system, int k, const double change[2], S2Quad *v) {
  const S2LocalMobility *local = system->local;
  const S2Unit *unit = &system->unit[k];
  S2UnitRows j;
  s2_unit_rows(system, unit, &j);
  S2Quad impulse = j.ja[0] * (unit->g[0] * change[0]) + j.ja[1] * (unit->g[1] * change[1]);
  int32_t end = local->column_start[unit->a + 1];
  for (int32_t p = local->column_start[unit->a]; p < end; p++) {
    add_times(&v[local->column_row[p]], local->block + 3 * (size_t)local->column_block[p],
              &impulse);
  }
}

S2Response s2_local_coupling(const S2System *system, int k) {
  const S2Unit *unit = &system->unit[k];
  const S2Quad *block = system->local->block + 3 * (size_t)system->local->diagonal[unit->a];
  S2UnitRows j;
  s2_unit_rows(system, unit, &j);
  double w[2][2];
  for (int s = 0; s < 2; s++) {
    S2Quad moved = {0}, impulse = j.ja[s] * unit->g[s];
    add_times(&moved, block, &impulse);
    for (int r = 0; r < 2; r++) {
      S2Quad u = j.ja[r] * moved;
      w[r][s] = u[0] + u[1] + u[2];
    }
  }
  return (S2Response){w[0][0] + unit->c[0], w[0][1], w[1][0], w[1][1] + unit->c[1]};
}

// ---- The linear system ------------------------------------------------------------------------

static void fill_response(const S2System *system, const S2Response *response) {
  S2Quad *d = system->local->response;
  memset(d, 0, 3 * sizeof(S2Quad) * (size_t)system->nodes);
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    const S2Response *r = &response[k];
    S2UnitRows j;
    s2_unit_rows(system, unit, &j);
    for (int c = 0; c < 3; c++) {
      double n = unit->g[0] * (r->nn * j.ja[0][c] + r->nt * j.ja[1][c]);
      double t = unit->g[1] * (r->tn * j.ja[0][c] + r->tt * j.ja[1][c]);
      d[3 * unit->a + c] += j.ja[0] * n + j.ja[1] * t;
    }
  }
}

bool s2_local_factor(S2System *system, const S2Response *response) {
  const S2LocalMobility *local = system->local;
  S2BlockSparse *matrix = &system->sparse;
  fill_response(system, response);
  s2_blocksparse_clear(matrix, true);
  // Diagonal blocks of K = 1 + A D: 1 + A_ii D_i.
  for (int i = 0; i < system->nodes; i++) {
    S2Quad *diagonal = matrix->diagonal + 3 * (size_t)matrix->place[i];
    const S2Quad *block = local->block + 3 * (size_t)local->diagonal[i];
    for (int c = 0; c < 3; c++) {
      add_times(&diagonal[c], block, &local->response[3 * i + c]);
      diagonal[c][c] += 1;
    }
  }
  // The other blocks are K_ij = A_ij D_j. The order of elimination decides whether a block is
  // stored below the diagonal or, transposed, above it.
  for (int32_t e = 0; e < local->edges; e++) {
    int32_t i = local->edge[2 * e], j = local->edge[2 * e + 1];
    int32_t ij = local->edge_block[2 * e], ji = local->edge_block[2 * e + 1];
    if (matrix->place[i] < matrix->place[j]) {
      int32_t node = i, block = ij;
      i = j, j = node;
      ij = ji, ji = block;
    }
    double *lower = matrix->lower + S2_BLOCK * (size_t)local->slot[e];
    double *upper = matrix->upper + S2_BLOCK * (size_t)local->slot[e];
    for (int c = 0; c < 3 && ij >= 0; c++) {
      S2Quad column = {0};
      add_times(&column, local->block + 3 * (size_t)ij, &local->response[3 * j + c]);
      s2_quad_store(lower + 3 * c, &column);
    }
    // The upper block is stored transposed.
    for (int c = 0; c < 3 && ji >= 0; c++) {
      S2Quad column = {0};
      add_times(&column, local->block + 3 * (size_t)ji, &local->response[3 * i + c]);
      for (int r = 0; r < 3; r++) {
        upper[3 * r + c] = column[r];
      }
    }
  }
  return s2_blocksparse_factor(matrix);
}
