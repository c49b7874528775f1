// A step problem with bilateral rows only, as a linear system.
#include "mcp/kkt/kkt.h"

#include <math.h>

static int add_side(S2Triplet *triplet, int count, int row, int node, const double *j) {
  for (int k = 0; k < 3 && node >= 0; k++) {
    if (j[k] != 0) {
      triplet[count++] = (S2Triplet){row, 3 * node + k, j[k]};
    }
  }
  return count;
}

static bool is_angular(const S2Row *row) {
  return row->ja[1] == 0 && row->ja[2] == 0 && row->jb[1] == 0 && row->jb[2] == 0;
}

bool s2_kkt_from_problem(const S2Problem *problem, S2Arena *arena, S2Kkt *kkt) {
  int n = 3 * problem->nodes, m = problem->rows;
  for (int i = 0; i < m; i++) {
    const S2Row *row = &problem->row[i];
    if (row->coupled_to >= 0 || row->lo != -INFINITY || row->hi != INFINITY) {
      return false;
    }
  }
  double *compliance = S2_TAKE(arena, double, m), *b = S2_TAKE(arena, double, m);
  double *v_weight = S2_TAKE(arena, double, n), *row_weight = S2_TAKE(arena, double, m);
  *kkt = (S2Kkt){
      .n = n,
      .m = m,
      .w = s2_csr_diagonal(n, problem->mass, arena),
      .compliance = compliance,
      .c = problem->rhs,
      .b = b,
      .v_weight = v_weight,
      .row_weight = row_weight,
      .velocity_scale = problem->velocity_scale,
  };
  S2Triplet *triplet = S2_TAKE(arena, S2Triplet, 6 * m);
  int count = 0;
  for (int i = 0; i < m; i++) {
    const S2Row *row = &problem->row[i];
    count = add_side(triplet, count, i, row->a, row->ja);
    count = add_side(triplet, count, i, row->b, row->jb);
    compliance[i] = row->compliance;
    b[i] = row->bias;
    row_weight[i] = is_angular(row) ? problem->length : 1;
  }
  for (int i = 0; i < n; i++) {
    v_weight[i] = i % 3 == 0 ? problem->length : 1;
  }
  kkt->j = s2_csr_from_triplets(m, n, count, triplet, arena);
  return true;
}
