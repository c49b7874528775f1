// Block principal pivoting (Kostreva 1978; Judice and Pires 1994; Portugal, Judice and Vicente
// 1994): guess which z_i are positive, solve for them, and move all variables that are on the wrong
// side to the other side together. This may cycle. If the number of wrong variables has not fallen
// for PATIENCE moves, Murty's rule takes over until the number falls. Murty's rule moves only the
// last wrong variable, and cannot cycle for P matrices.
#include "mcp/lcp/lcp_stages.h"

#include "linalg/dense.h"

#include <math.h>
#include <string.h>

enum {
  PATIENCE = 10, // block moves without progress before Murty's rule is used, as in Portugal et al.
  ITERATIONS_LEAST = 200,
  ITERATIONS_PER_ROW = 2,
};

// Negative values up to this fraction of the terms of their sums count as rounding.
static const double ROUNDING = 1e-13;

typedef struct Blocks {
  int n;
  const double *m, *q;
  bool symmetric;
  double *row_max; // of |M|
  bool *in;        // true if z_i is basic
  int *index;
  double *z, *w;
  double *a, *b;
  int32_t *pivot;
} Blocks;

// Computes a dot product with four interleaved sums. This avoids a long chain of additions and
// gives the same result on every machine.
static double bpp_dot(int n, const double *x, const double *y) {
  double sum[4] = {0};
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int k = 0; k < 4; ++k) {
      sum[k] += x[i + k] * y[i + k];
    }
  }
  for (; i < n; ++i) {
    sum[0] += x[i] * y[i];
  }
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

static void bpp_survey(Blocks *blocks) {
  int n = blocks->n;
  blocks->symmetric = true;
  // Find the largest entry of each row, which bounds its rounding error. Also check whether M is
  // symmetric.
  for (int i = 0; i < n; ++i) {
    const double *row = blocks->m + (size_t)i * (size_t)n;
    double largest = 0;
    for (int j = 0; j < n; ++j) {
      largest = fmax(largest, fabs(row[j]));
    }
    blocks->row_max[i] = largest;
    for (int j = 0; j < i && blocks->symmetric; ++j) {
      blocks->symmetric = row[j] == blocks->m[(size_t)j * (size_t)n + (size_t)i];
    }
  }
}

static void bpp_gather(Blocks *blocks, int count, bool symmetric) {
  // Copy M_BB by columns, or only its lower triangle if it is symmetric.
  for (int j = 0; j < count; ++j) {
    double *column = blocks->a + (size_t)j * (size_t)count;
    size_t at = (size_t)blocks->index[j];
    for (int i = symmetric ? j : 0; i < count; ++i) {
      size_t from = (size_t)blocks->index[i];
      column[i] = symmetric ? blocks->m[at * (size_t)blocks->n + from]
                            : blocks->m[from * (size_t)blocks->n + at];
    }
  }
}

static void bpp_product(Blocks *blocks) {
  for (int i = 0; i < blocks->n; ++i) {
    blocks->w[i] =
        blocks->q[i] + bpp_dot(blocks->n, blocks->m + (size_t)i * (size_t)blocks->n, blocks->z);
  }
}

// Computes z for the current set and w = M z + q, with one refinement. Returns false if the block
// is singular.
static bool solve_block(Blocks *blocks) {
  int count = 0;
  for (int i = 0; i < blocks->n; ++i) {
    if (blocks->in[i]) {
      blocks->index[count++] = i;
    }
  }
  memset(blocks->z, 0, sizeof(double) * (size_t)blocks->n);
  // Solve M_BB z_B = -q_B by Cholesky or, if M is not symmetric or Cholesky fails, by LU.
  S2Dense dense = {.size = count, .a = blocks->a, .pivot = blocks->pivot};
  bool regular = true;
  if (count > 0) {
    bpp_gather(blocks, count, blocks->symmetric);
    regular = blocks->symmetric && s2_dense_factor(&dense);
    if (!regular) {
      dense.nonsymmetric = true;
      bpp_gather(blocks, count, false);
      regular = s2_dense_factor(&dense);
    }
    for (int i = 0; i < count; ++i) {
      blocks->b[i] = -blocks->q[blocks->index[i]];
    }
    if (regular) {
      s2_dense_solve(&dense, blocks->b);
    }
  }
  // Compute w = M z + q, then make one refinement step that uses w of the basic rows as residuals.
  for (int i = 0; i < count && regular; ++i) {
    blocks->z[blocks->index[i]] = blocks->b[i];
  }
  bpp_product(blocks);
  for (int i = 0; i < count && regular; ++i) {
    blocks->b[i] = -blocks->w[blocks->index[i]];
  }
  if (count > 0 && regular) {
    s2_dense_solve(&dense, blocks->b);
  }
  for (int i = 0; i < count && regular; ++i) {
    blocks->z[blocks->index[i]] += blocks->b[i];
    regular = isfinite(blocks->z[blocks->index[i]]);
  }
  return regular;
}

// Marks and counts all variables on the wrong side. Also finds the last one.
static int count_wrong(const Blocks *blocks, bool *wrong, int *last) {
  double largest = 0, sum = 0;
  // A variable is on the wrong side if it is negative by more than the rounding error of its sum.
  for (int i = 0; i < blocks->n; ++i) {
    largest = fmax(largest, fabs(blocks->z[i]));
    sum += fabs(blocks->z[i]);
  }
  int count = 0;
  for (int i = 0; i < blocks->n; ++i) {
    double rounding = ROUNDING * (fabs(blocks->q[i]) + blocks->row_max[i] * sum);
    wrong[i] = blocks->in[i] ? blocks->z[i] < -ROUNDING * largest : blocks->w[i] < -rounding;
    if (wrong[i]) {
      count += 1;
      *last = i;
    }
  }
  return count;
}

static double bpp_measure(const Blocks *blocks) {
  double residual = 0;
  for (int i = 0; i < blocks->n; ++i) {
    residual = fmax(residual, fabs(fmin(blocks->z[i], blocks->w[i])));
  }
  return residual;
}

S2SolveStatus s2_lcp_bpp_stage(S2LcpRun *run) {
  int n = run->problem->n;
  size_t size = (size_t)n;
  S2ArenaMark mark = s2_arena_mark(run->arena);
  Blocks blocks = {
      .n = n,
      .m = run->problem->m,
      .q = run->problem->q,
      .row_max = S2_TAKE(run->arena, double, size),
      .in = S2_TAKE_ZEROED(run->arena, bool, size),
      .index = S2_TAKE(run->arena, int, size),
      .z = S2_TAKE(run->arena, double, size),
      .w = S2_TAKE(run->arena, double, size),
      .a = S2_TAKE(run->arena, double, size *size),
      .b = S2_TAKE(run->arena, double, size),
      .pivot = S2_TAKE(run->arena, int32_t, size),
  };
  bool *wrong = S2_TAKE(run->arena, bool, size);
  // First guess: z_i is positive if q_i is negative.
  bpp_survey(&blocks);
  int limit = run->options->max_iterations > 0 ? run->options->max_iterations
                                               : ITERATIONS_LEAST + ITERATIONS_PER_ROW * n;
  int best = n + 1, patience = PATIENCE, last = 0;
  double least = INFINITY;
  S2SolveStatus status = S2_MAX_ITERATIONS;
  for (int i = 0; i < n; ++i) {
    blocks.in[i] = blocks.q[i] < 0;
  }
  // Each iteration solves for z, counts the variables on the wrong side and moves them.
  while (run->iterations < limit) {
    run->iterations += 1;
    if (!solve_block(&blocks)) {
      status = S2_SINGULAR;
      break;
    }
    int count = count_wrong(&blocks, wrong, &last);
    double residual = bpp_measure(&blocks);
    s2_history_add(run->options->history, residual, 1, 0);
    if (count == 0 || residual < least) {
      least = residual;
      memcpy(run->z, blocks.z, sizeof(double) * size);
    }
    if (count == 0) {
      status = S2_SOLVED;
      break;
    }
    // A smaller number of wrong variables is progress. Without progress for PATIENCE moves, move
    // only the last wrong variable.
    if (count < best) {
      best = count;
      patience = PATIENCE;
    } else {
      patience -= patience > 0;
    }
    for (int i = 0; i < n; ++i) {
      bool moves = patience > 0 ? wrong[i] : i == last;
      blocks.in[i] = blocks.in[i] != moves;
    }
  }
  s2_arena_rewind(run->arena, mark);
  return status;
}
