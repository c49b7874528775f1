// Divides the system into nodes of three unknowns and groups of up to three rows, and factors W.
#include "mcp/kkt/kkt_stages.h"

#include <string.h>

enum { GROUP = 3, BODY = 3 };

// Lists the distinct bodies of row i in ascending order. Returns their number.
static int row_bodies(const S2Csr *j, int i, int32_t *body) {
  int count = 0;
  for (int32_t p = j->start[i]; p < j->start[i + 1]; p++) {
    int32_t b = j->column[p] / BODY;
    if (count == 0 || body[count - 1] != b) {
      body[count++] = b;
    }
  }
  return count;
}

// Neighbouring rows on the same bodies form a group, such as the rows of a joint or a contact.
static void kkt_blocks_find_groups(S2KktScaled *kkt, S2Arena *arena) {
  kkt->group_start = S2_TAKE(arena, int32_t, kkt->m + 1);
  S2ArenaMark mark = s2_arena_mark(arena);
  int32_t *first = S2_TAKE(arena, int32_t, kkt->bodies),
          *now = S2_TAKE(arena, int32_t, kkt->bodies);
  int count = 0;
  for (int i = 0; i < kkt->m; i++) {
    int bodies = row_bodies(&kkt->j, i, now);
    // A group has at most three neighbouring rows with the same bodies.
    bool joins = kkt->groups > 0 && i - kkt->group_start[kkt->groups - 1] < GROUP &&
                 bodies == count && memcmp(now, first, sizeof(int32_t) * (size_t)bodies) == 0;
    if (!joins) {
      kkt->group_start[kkt->groups++] = i;
      memcpy(first, now, sizeof(int32_t) * (size_t)bodies);
      count = bodies;
    }
  }
  kkt->group_start[kkt->groups] = kkt->m;
  s2_arena_rewind(arena, mark);
}

// Adds the entries of `matrix` with first_row <= row < end to the links of one node. These links
// begin at links[begin]. Returns the new number of links.
static int add_links(const S2Csr *matrix, int node, int first_row, int end, int columns_end,
                     S2KktLink *links, int begin, int count, int32_t *last) {
  for (int i = first_row; i < end; i++) {
    for (int32_t p = matrix->start[i]; p < matrix->start[i + 1]; p++) {
      int32_t body = matrix->column[p] / BODY;
      if (body >= columns_end) {
        continue;
      }
      // Create the block at the first entry between a node and a body.
      if (last[body] < begin) {
        last[body] = count;
        links[count++] = (S2KktLink){.row = node, .column = body};
      }
      links[last[body]].block[3 * (i - first_row) + matrix->column[p] % BODY] += matrix->value[p];
    }
  }
  return count;
}

static void kkt_blocks_find_links(S2KktScaled *kkt, S2Arena *arena) {
  int n = kkt->n;
  kkt->link = S2_TAKE(arena, S2KktLink, kkt->j.start[kkt->m]);
  kkt->coupling = S2_TAKE(arena, S2KktLink, kkt->w.start[n]);
  kkt->w_block = S2_TAKE_ZEROED(arena, double, 9 * kkt->bodies);
  S2ArenaMark mark = s2_arena_mark(arena);
  int32_t *last = S2_TAKE(arena, int32_t, kkt->bodies);
  memset(last, -1, sizeof(int32_t) * (size_t)kkt->bodies);
  // Collect the blocks of J between groups and bodies.
  for (int g = 0; g < kkt->groups; g++) {
    kkt->links = add_links(&kkt->j, g, kkt->group_start[g], kkt->group_start[g + 1], kkt->bodies,
                           kkt->link, kkt->links, kkt->links, last);
  }
  memset(last, -1, sizeof(int32_t) * (size_t)kkt->bodies);
  // Collect the blocks of W. Blocks below the diagonal become couplings. Diagonal blocks go to
  // w_block and are padded to full bodies.
  for (int k = 0; k < kkt->bodies; k++) {
    int first = BODY * k, end = first + BODY < n ? first + BODY : n;
    kkt->couplings =
        add_links(&kkt->w, k, first, end, k, kkt->coupling, kkt->couplings, kkt->couplings, last);
    for (int i = first; i < first + BODY; i++) {
      double *row = kkt->w_block + 9 * k + 3 * (i - first);
      if (i >= n) {
        row[i - first] = 1;
        continue;
      }
      for (int32_t p = kkt->w.start[i]; p < kkt->w.start[i + 1]; p++) {
        if (kkt->w.column[p] / BODY == k) {
          row[kkt->w.column[p] % BODY] += kkt->w.value[p];
        }
      }
    }
  }
  s2_arena_rewind(arena, mark);
}

static bool factor_mass(S2KktScaled *kkt, S2Arena *arena) {
  int32_t *edge = S2_TAKE(arena, int32_t, 2 * kkt->couplings);
  int32_t *slot = S2_TAKE(arena, int32_t, kkt->couplings);
  for (int k = 0; k < kkt->couplings; k++) {
    edge[2 * k] = kkt->coupling[k].row;
    edge[2 * k + 1] = kkt->coupling[k].column;
  }
  // Factor W = L D L' in blocks. W is positive definite if all pivots are.
  s2_blocksparse_init(&kkt->mass, kkt->bodies, kkt->couplings, edge, slot, arena);
  s2_blocksparse_clear(&kkt->mass, false);
  for (int k = 0; k < kkt->bodies; k++) {
    s2_blocksparse_add(&kkt->mass, -1, k, k, kkt->w_block + 9 * k);
  }
  for (int k = 0; k < kkt->couplings; k++) {
    const S2KktLink *coupling = &kkt->coupling[k];
    s2_blocksparse_add(&kkt->mass, slot[k], coupling->row, coupling->column, coupling->block);
  }
  return s2_blocksparse_factor(&kkt->mass) && s2_blocksparse_positive(&kkt->mass);
}

S2SolveStatus s2_kkt_prepare(S2KktScaled *kkt, S2Arena *arena) {
  kkt->bodies = (kkt->n + BODY - 1) / BODY;
  kkt_blocks_find_groups(kkt, arena);
  kkt_blocks_find_links(kkt, arena);
  return factor_mass(kkt, arena) ? S2_SOLVED : S2_UNSUPPORTED;
}

// ---- Products ---------------------------------------------------------------------------------

void s2_kkt_mass_solve(const S2KktScaled *kkt, const double *b, double *x, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Quad *q = S2_TAKE_ZEROED(arena, S2Quad, kkt->bodies);
  for (int i = 0; i < kkt->n; i++) {
    q[i / BODY][i % BODY] = b[i];
  }
  s2_blocksparse_solve(&kkt->mass, q, q);
  for (int i = 0; i < kkt->n; i++) {
    x[i] = q[i / BODY][i % BODY];
  }
  s2_arena_rewind(arena, mark);
}

void s2_kkt_velocity(const S2KktScaled *kkt, const double *lambda, double *v, S2Arena *arena) {
  memcpy(v, kkt->c, sizeof(double) * (size_t)kkt->n);
  s2_csr_add_transposed_times(&kkt->j, 1, lambda, v);
  s2_kkt_mass_solve(kkt, v, v, arena);
}

// ---- The preconditioner -----------------------------------------------------------------------

// Added to the diagonals of the blocks, whose entries are about 1. This keeps the blocks regular if
// rows are linearly dependent. A smaller value would amplify rounding errors, and a preconditioner
// need not be exact.
static const double PRECONDITIONER_FLOOR = 1e-6;

// Inverts a symmetric positive definite 3 x 3 matrix in place by Gauss-Jordan elimination.
static void kkt_blocks_invert(double a[9]) {
  // Eliminate one column at a time.
  for (int k = 0; k < 3; k++) {
    double pivot = a[4 * k];
    a[4 * k] = 1;
    for (int c = 0; c < 3; c++) {
      a[3 * k + c] /= pivot;
    }
    for (int r = 0; r < 3; r++) {
      double factor = a[3 * r + k];
      if (r == k) {
        continue;
      }
      a[3 * r + k] = 0;
      for (int c = 0; c < 3; c++) {
        a[3 * r + c] -= factor * a[3 * k + c];
      }
    }
  }
}

double *s2_kkt_group_inverse(const S2KktScaled *kkt, S2Arena *arena) {
  double *inverse = S2_TAKE_ZEROED(arena, double, 9 * kkt->groups);
  // Sum G W_k^-1 G' over the bodies of each group.
  for (int k = 0; k < kkt->links; k++) {
    const S2KktLink *link = &kkt->link[k];
    double mass[9], *to = inverse + 9 * link->row;
    memcpy(mass, kkt->w_block + 9 * link->column, sizeof mass);
    kkt_blocks_invert(mass);
    for (int r = 0; r < 3; r++) {
      for (int c = 0; c < 3; c++) {
        for (int i = 0; i < 9; i++) {
          to[3 * r + c] += link->block[3 * r + i / 3] * mass[i] * link->block[3 * c + i % 3];
        }
      }
    }
  }
  // Add the compliance, or 1 for the missing rows of a small group, and invert the blocks.
  for (int g = 0; g < kkt->groups; g++) {
    int rows = kkt->group_start[g + 1] - kkt->group_start[g];
    for (int r = 0; r < 3; r++) {
      inverse[9 * g + 4 * r] +=
          r < rows ? kkt->compliance[kkt->group_start[g] + r] + PRECONDITIONER_FLOOR : 1;
    }
    kkt_blocks_invert(inverse + 9 * g);
  }
  return inverse;
}

void s2_kkt_group_times(const S2KktScaled *kkt, const double *inverse, const double *b, double *x) {
  for (int g = 0; g < kkt->groups; g++) {
    int first = kkt->group_start[g], rows = kkt->group_start[g + 1] - first;
    for (int r = 0; r < rows; r++) {
      double sum = 0;
      for (int c = 0; c < rows; c++) {
        sum += inverse[9 * g + 3 * r + c] * b[first + c];
      }
      x[first + r] = sum;
    }
  }
}
