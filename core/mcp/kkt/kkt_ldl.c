// Factors the whole system, with constraint rows as nodes of the graph. [W -J'; -J -C - delta] is
// quasi-definite (Vanderbei 1995): it has an L D L' factorisation without pivoting for every order
// of elimination. If a row is eliminated before its bodies, its pivot is delta. D is then
// ill-conditioned, and the matrix must be `careful`. Eliminating bodies before their rows does not
// help: in measurements refinement failed more often, because rows that are nearly linearly
// dependent still have small pivots.
#include "mcp/kkt/kkt_stages.h"

#include <string.h>

typedef struct Ldl {
  const S2KktScaled *kkt;
  S2BlockSparse matrix; // bodies, then groups
  int32_t *slot;        // slot of each link, followed by the slot of each coupling
  S2Quad *x;
} Ldl;

static bool ldl_factor(void *method, double delta) {
  Ldl *ldl = method;
  const S2KktScaled *kkt = ldl->kkt;
  s2_blocksparse_clear(&ldl->matrix, false);
  // Assemble [W -J'; -J -C - delta]. First add the blocks of bodies.
  for (int k = 0; k < kkt->bodies; k++) {
    s2_blocksparse_add(&ldl->matrix, -1, k, k, kkt->w_block + 9 * k);
  }
  // Add the blocks of groups, with -1 for missing rows of a group.
  for (int g = 0; g < kkt->groups; g++) {
    int first = kkt->group_start[g], rows = kkt->group_start[g + 1] - first;
    double block[9] = {0};
    for (int r = 0; r < 3; r++) {
      block[4 * r] = r < rows ? -(kkt->compliance[first + r] + delta) : -1;
    }
    s2_blocksparse_add(&ldl->matrix, -1, kkt->bodies + g, kkt->bodies + g, block);
  }
  // Add the couplings: -J, then the off-diagonal blocks of W.
  for (int k = 0; k < kkt->links; k++) {
    const S2KktLink *link = &kkt->link[k];
    double block[9];
    for (int i = 0; i < 9; i++) {
      block[i] = -link->block[i];
    }
    s2_blocksparse_add(&ldl->matrix, ldl->slot[k], kkt->bodies + link->row, link->column, block);
  }
  for (int k = 0; k < kkt->couplings; k++) {
    const S2KktLink *coupling = &kkt->coupling[k];
    s2_blocksparse_add(&ldl->matrix, ldl->slot[kkt->links + k], coupling->row, coupling->column,
                       coupling->block);
  }
  return s2_blocksparse_factor(&ldl->matrix);
}

static void ldl_solve(void *method, double *x, double *y) {
  Ldl *ldl = method;
  const S2KktScaled *kkt = ldl->kkt;
  memset(ldl->x, 0, sizeof(S2Quad) * (size_t)ldl->matrix.nodes);
  // In the matrix the rows have the opposite sign, so change the sign of y.
  for (int i = 0; i < kkt->n; i++) {
    ldl->x[i / 3][i % 3] = x[i];
  }
  for (int g = 0; g < kkt->groups; g++) {
    for (int i = kkt->group_start[g]; i < kkt->group_start[g + 1]; i++) {
      ldl->x[kkt->bodies + g][i - kkt->group_start[g]] = -y[i];
    }
  }
  s2_blocksparse_solve(&ldl->matrix, ldl->x, ldl->x);
  for (int i = 0; i < kkt->n; i++) {
    x[i] = ldl->x[i / 3][i % 3];
  }
  for (int g = 0; g < kkt->groups; g++) {
    for (int i = kkt->group_start[g]; i < kkt->group_start[g + 1]; i++) {
      y[i] = ldl->x[kkt->bodies + g][i - kkt->group_start[g]];
    }
  }
}

void s2_kkt_solve_ldl(S2KktRun *run) {
  const S2KktScaled *kkt = run->kkt;
  int nodes = kkt->bodies + kkt->groups, edges = kkt->links + kkt->couplings;
  Ldl ldl = {
      .kkt = kkt,
      .slot = S2_TAKE(run->arena, int32_t, edges),
      .x = S2_TAKE(run->arena, S2Quad, nodes),
  };
  int32_t *edge = S2_TAKE(run->arena, int32_t, 2 * edges);
  for (int k = 0; k < kkt->links; k++) {
    edge[2 * k] = kkt->bodies + kkt->link[k].row;
    edge[2 * k + 1] = kkt->link[k].column;
  }
  for (int k = 0; k < kkt->couplings; k++) {
    edge[2 * (kkt->links + k)] = kkt->coupling[k].row;
    edge[2 * (kkt->links + k) + 1] = kkt->coupling[k].column;
  }
  s2_blocksparse_init(&ldl.matrix, nodes, edges, edge, ldl.slot, run->arena);
  ldl.matrix.careful = true;
  s2_kkt_refine(run, &(S2KktDirect){&ldl, ldl_factor, ldl_solve});
}
