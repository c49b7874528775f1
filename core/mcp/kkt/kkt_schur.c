// Factors S = J W^-1 J' + C, which is symmetric and positive definite once delta is added. If W is
// block-diagonal, S is factored in blocks, which is faster for all sizes. Otherwise S is a dense
// matrix.
#include "linalg/dense.h"
#include "mcp/kkt/kkt_stages.h"

#include <string.h>

// Maximum number of pairs of groups that share a body. A pair takes 80 bytes, and more in the
// factorisation, so a body with very many rows would need too much memory. "ldl" can solve such
// systems.
enum { PAIRS_MAX = 20000000 };

typedef struct Schur {
  const S2KktScaled *kkt;
  S2Arena *arena;
  bool dense;
  double *s; // for the dense method: S without delta, m x m
  S2Dense factor;
  S2BlockSparse matrix; // of groups
  int pairs;
  S2KktLink *pair; // blocks of S between two groups, or of a group with itself
  int32_t *slot;
  S2Quad *x;
} Schur;

// ---- Dense ------------------------------------------------------------------------------------

static void assemble_dense(Schur *schur) {
  const S2KktScaled *kkt = schur->kkt;
  int n = kkt->n, m = kkt->m;
  size_t size = (size_t)m;
  schur->s = S2_TAKE(schur->arena, double, size *size);
  schur->factor = (S2Dense){.size = m, .a = S2_TAKE(schur->arena, double, size *size)};
  memset(schur->s, 0, sizeof(double) * size * size);
  S2ArenaMark mark = s2_arena_mark(schur->arena);
  double *x = S2_TAKE(schur->arena, double, n);
  // Compute row i of S, J (W^-1 J_i') + C, by one solve with W.
  for (int i = 0; i < m; i++) {
    memset(x, 0, sizeof(double) * (size_t)n);
    for (int32_t p = kkt->j.start[i]; p < kkt->j.start[i + 1]; p++) {
      x[kkt->j.column[p]] += kkt->j.value[p];
    }
    s2_kkt_mass_solve(kkt, x, x, schur->arena);
    s2_csr_add_times(&kkt->j, 1, x, schur->s + (size_t)i * size);
    schur->s[(size_t)i * (size + 1)] += kkt->compliance[i];
  }
  s2_arena_rewind(schur->arena, mark);
}

// ---- In blocks --------------------------------------------------------------------------------

// Sorts the links by bodies. The links of body k begin at link[by_body[start[k]]].
static int32_t *sort_links(const S2KktScaled *kkt, int32_t *start, S2Arena *arena) {
  int32_t *by_body = S2_TAKE(arena, int32_t, kkt->links);
  int32_t *next = S2_TAKE(arena, int32_t, kkt->bodies);
  memset(start, 0, sizeof(int32_t) * (size_t)(kkt->bodies + 1));
  // Count the links of each body, add up the counts, and fill in the links.
  for (int k = 0; k < kkt->links; k++) {
    start[kkt->link[k].column + 1]++;
  }
  for (int k = 0; k < kkt->bodies; k++) {
    start[k + 1] += start[k];
    next[k] = start[k];
  }
  for (int k = 0; k < kkt->links; k++) {
    by_body[next[kkt->link[k].column]++] = k;
  }
  return by_body;
}

// Computes block = G W^-1 H' for two links of one body.
static void pair_block(const S2BlockSparse *mass, const S2KktLink *g, const S2KktLink *h,
                       double *block) {
  const S2Quad *inverse = mass->inverse + 3 * mass->place[g->column];
  for (int r = 0; r < 3; r++) {
    const double *x = g->block + 3 * r;
    S2Quad row = inverse[0] * x[0] + inverse[1] * x[1] + inverse[2] * x[2];
    for (int c = 0; c < 3; c++) {
      const double *y = h->block + 3 * c;
      block[3 * r + c] = row[0] * y[0] + row[1] * y[1] + row[2] * y[2];
    }
  }
}

static bool assemble_blocks(Schur *schur) {
  const S2KktScaled *kkt = schur->kkt;
  S2Arena *arena = schur->arena;
  int32_t *start = S2_TAKE(arena, int32_t, kkt->bodies + 1);
  int32_t *by_body = sort_links(kkt, start, arena);
  // Count the pairs of groups that share a body. Their number is limited by memory.
  int64_t pairs = 0;
  for (int k = 0; k < kkt->bodies; k++) {
    int64_t rows = start[k + 1] - start[k];
    pairs += rows * (rows + 1) / 2;
  }
  if (pairs > PAIRS_MAX) {
    return false;
  }
  schur->pair = S2_TAKE(arena, S2KktLink, pairs);
  schur->slot = S2_TAKE(arena, int32_t, pairs);
  schur->x = S2_TAKE(arena, S2Quad, kkt->groups);
  // Compute the block of each pair, G W_k^-1 H', and add an edge if it is between two groups.
  int32_t *edge = S2_TAKE(arena, int32_t, 2 * pairs), edges = 0;
  for (int k = 0; k < kkt->bodies; k++) {
    for (int32_t p = start[k]; p < start[k + 1]; p++) {
      const S2KktLink *g = &kkt->link[by_body[p]];
      for (int32_t q = start[k]; q <= p; q++) {
        const S2KktLink *h = &kkt->link[by_body[q]];
        S2KktLink *pair = &schur->pair[schur->pairs++];
        pair->row = g->row;
        pair->column = h->row;
        pair_block(&kkt->mass, g, h, pair->block);
        if (p != q) {
          edge[2 * edges] = g->row;
          edge[2 * edges++ + 1] = h->row;
        }
      }
    }
  }
  s2_blocksparse_init(&schur->matrix, kkt->groups, edges, edge, schur->slot, arena);
  schur->matrix.careful = true; // linearly dependent rows have the pivot delta
  return true;
}

static void fill_blocks(Schur *schur, double delta) {
  const S2KktScaled *kkt = schur->kkt;
  int32_t edges = 0;
  s2_blocksparse_clear(&schur->matrix, false);
  for (int k = 0; k < schur->pairs; k++) {
    const S2KktLink *pair = &schur->pair[k];
    int32_t slot = pair->row != pair->column ? schur->slot[edges++] : -1;
    s2_blocksparse_add(&schur->matrix, slot, pair->row, pair->column, pair->block);
  }
  // Add C + delta to the diagonal, or 1 for the missing rows of a small group.
  for (int g = 0; g < kkt->groups; g++) {
    int first = kkt->group_start[g], rows = kkt->group_start[g + 1] - first;
    double block[9] = {0};
    for (int r = 0; r < 3; r++) {
      block[4 * r] = r < rows ? kkt->compliance[first + r] + delta : 1;
    }
    s2_blocksparse_add(&schur->matrix, -1, g, g, block);
  }
}

// ---- Both -------------------------------------------------------------------------------------

static bool kkt_schur_factor(void *method, double delta) {
  Schur *schur = method;
  size_t size = (size_t)schur->kkt->m;
  if (!schur->dense) {
    fill_blocks(schur, delta);
    return s2_blocksparse_factor(&schur->matrix);
  }
  memcpy(schur->factor.a, schur->s, sizeof(double) * size * size);
  for (size_t i = 0; i < size; i++) {
    schur->factor.a[i * (size + 1)] += delta;
  }
  return s2_dense_factor(&schur->factor);
}

// y = (S + delta)^-1 y
static void solve_schur(Schur *schur, double *y) {
  const S2KktScaled *kkt = schur->kkt;
  if (schur->dense) {
    s2_dense_solve(&schur->factor, y);
    return;
  }
  memset(schur->x, 0, sizeof(S2Quad) * (size_t)kkt->groups);
  for (int g = 0; g < kkt->groups; g++) {
    for (int i = kkt->group_start[g]; i < kkt->group_start[g + 1]; i++) {
      schur->x[g][i - kkt->group_start[g]] = y[i];
    }
  }
  s2_blocksparse_solve(&schur->matrix, schur->x, schur->x);
  for (int g = 0; g < kkt->groups; g++) {
    for (int i = kkt->group_start[g]; i < kkt->group_start[g + 1]; i++) {
      y[i] = schur->x[g][i - kkt->group_start[g]];
    }
  }
}

static void kkt_schur_solve(void *method, double *x, double *y) {
  Schur *schur = method;
  const S2KktScaled *kkt = schur->kkt;
  S2ArenaMark mark = s2_arena_mark(schur->arena);
  // y := (S + delta)^-1 (y - J W^-1 x), x := W^-1 (x + J' y)
  double *free_motion = S2_TAKE(schur->arena, double, kkt->n);
  s2_kkt_mass_solve(kkt, x, free_motion, schur->arena);
  s2_csr_add_times(&kkt->j, -1, free_motion, y);
  solve_schur(schur, y);
  s2_csr_add_transposed_times(&kkt->j, 1, y, x);
  s2_kkt_mass_solve(kkt, x, x, schur->arena);
  s2_arena_rewind(schur->arena, mark);
}

void s2_kkt_solve_schur(S2KktRun *run) {
  const S2KktScaled *kkt = run->kkt;
  Schur schur = {.kkt = kkt, .arena = run->arena};
  schur.dense = kkt->couplings > 0 || !assemble_blocks(&schur);
  if (schur.dense && kkt->m > S2_KKT_DENSE_MAX) {
    run->status = S2_UNSUPPORTED;
    return;
  }
  if (schur.dense) {
    s2_dense_single_threaded();
    assemble_dense(&schur);
  }
  s2_kkt_refine(run, &(S2KktDirect){&schur, kkt_schur_factor, kkt_schur_solve});
}
