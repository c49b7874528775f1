// Runs Lemke's method from other starts. This is useful if the method ends on a ray that proves
// nothing. The principal pivot transform exchanges z_i and w_i in the rows of a regular principal
// block. The transformed problem is equivalent, but Lemke's path starts elsewhere. For a bimatrix
// game, M = [0 A; B' 0] with A, B > 0, every path from the original basis ends on a ray at once,
// for any covering vector. A path that starts from a pair of pure strategies is the path of Lemke
// and Howson.
#include "mcp/lcp/lcp_stages.h"
#include "mcp/pivot/lcp_pivot.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

enum {
  // 48 starts solve 84 % of random dense problems with 20 rows, and 200 starts solve 94 %.
  STARTS = 200,
  MOVES_MAX = 8, // maximum number of exchanges before a start; each exchanges one or two rows
  SEED = 1964,
};

// Smaller pivots and determinants would lose digits. (Entries are about 1.)
static const double REGULAR = 1e-2;

// Maximum number of dictionary entries to compute, about a second of work. Problems with many rows
// therefore get fewer starts.
static const double WORK = 1e9;

// Random entries of covering vectors lie between exp(-SPREAD) and exp(SPREAD).
static const double SPREAD = 1.5;

typedef struct Start {
  int n;
  double *m, *q;
  bool *turned; // true if z_i and w_i are exchanged
} Start;

// Solves row `row` of w = M z + q for z_column, and substitutes z_column in the other rows.
static void restart_exchange(Start *start, int row, int column) {
  int n = start->n;
  double *pivot_row = start->m + row * n, inverse = 1 / pivot_row[column];
  // Compute z_column = (w_row - q - other terms) / pivot.
  for (int j = 0; j < n; ++j) {
    pivot_row[j] *= -inverse;
  }
  pivot_row[column] = inverse;
  start->q[row] *= -inverse;
  // Substitute z_column in all other rows.
  for (int i = 0; i < n; ++i) {
    double factor = start->m[i * n + column];
    if (i == row || factor == 0) {
      continue;
    }
    start->m[i * n + column] = 0;
    for (int j = 0; j < n; ++j) {
      start->m[i * n + j] += factor * pivot_row[j];
    }
    start->q[i] += factor * start->q[row];
  }
}

// Exchanges z and w of rows i and k. m[i][k] must be usable as the first pivot.
static void exchange_pair(Start *start, int i, int k) {
  int n = start->n;
  restart_exchange(start, i, k);
  restart_exchange(start, k, i);
  // Row i now represents z_k, and column k represents w_i. Restore their order.
  for (int j = 0; j < n; ++j) {
    s2_swap_numbers(&start->m[i * n + j], &start->m[k * n + j]);
  }
  s2_swap_numbers(&start->q[i], &start->q[k]);
  for (int j = 0; j < n; ++j) {
    s2_swap_numbers(&start->m[j * n + i], &start->m[j * n + k]);
  }
}

// Exchanges row i. If its diagonal is too small, exchanges it together with a random partner.
static void restart_move(Start *start, int i, S2Rng *rng) {
  int n = start->n;
  const double *m = start->m;
  if (fabs(m[i * n + i]) > REGULAR) {
    restart_exchange(start, i, i);
    start->turned[i] = !start->turned[i];
    return;
  }
  // From a random position, find the first partner that gives a regular 2 x 2 block.
  int first = (int)s2_rng_integer(rng, 0, n - 1);
  for (int step = 0; step < n; ++step) {
    int k = (first + step) % n;
    double determinant = m[i * n + i] * m[k * n + k] - m[i * n + k] * m[k * n + i];
    if (k != i && fabs(m[i * n + k]) > REGULAR && fabs(determinant) > REGULAR) {
      exchange_pair(start, i, k);
      start->turned[i] = !start->turned[i];
      start->turned[k] = !start->turned[k];
      return;
    }
  }
}

static void restart_prepare(Start *start, const S2LcpScaled *s, int moves, S2Rng *rng) {
  size_t n = (size_t)s->n;
  memcpy(start->m, s->m, sizeof(double) * n * n);
  memcpy(start->q, s->q, sizeof(double) * n);
  memset(start->turned, 0, sizeof(bool) * n);
  for (int k = 0; k < moves; ++k) {
    restart_move(start, (int)s2_rng_integer(rng, 0, s->n - 1), rng);
  }
}

S2SolveStatus s2_lcp_restart_stage(S2LcpRun *run) {
  int n = run->problem->n;
  size_t size = (size_t)n;
  // Equilibrate once, for all starts.
  S2ArenaMark mark = s2_arena_mark(run->arena);
  S2LcpScaled s = s2_lcp_equilibrate(n, run->problem->m, run->problem->q, run->arena);
  if (!s2_all_finite(s.m, size * size) || !s2_all_finite(s.q, size)) {
    s2_arena_rewind(run->arena, mark);
    return S2_SINGULAR;
  }
  Start start = {
      .n = n,
      .m = S2_TAKE(run->arena, double, size *size),
      .q = S2_TAKE(run->arena, double, size),
      .turned = S2_TAKE(run->arena, bool, size),
  };
  double *cover = S2_TAKE(run->arena, double, size), *z = S2_TAKE(run->arena, double, size);
  bool *basic = S2_TAKE(run->arena, bool, size);
  S2LcpPivoting pivoting = s2_lcp_pivoting_default(n, cover);
  if (run->options->max_iterations > 0) {
    pivoting.max_pivots = run->options->max_iterations;
  }
  // Each start makes some random exchanges, chooses a random covering vector and runs Lemke's
  // method.
  S2Rng rng = s2_rng_seeded(SEED);
  double least = INFINITY, work = 0;
  for (int k = 0; k < STARTS && work < WORK && !(least <= run->allowed); ++k) {
    int moves = k % (MOVES_MAX + 1);
    restart_prepare(&start, &s, moves, &rng);
    for (int i = 0; i < n; ++i) {
      cover[i] = exp(SPREAD * (2 * s2_rng_uniform(&rng) - 1));
    }
    int pivots = 0;
    S2SolveStatus status =
        s2_lcp_pivot(n, start.m, start.q, z, basic, NULL, NULL, &pivoting, run->arena, &pivots);
    run->iterations += pivots;
    work += (double)(pivots + moves) * n * n;
    for (int i = 0; i < n; ++i) {
      basic[i] = basic[i] != start.turned[i];
      z[i] = 0;
    }
    // Keep only the set of positive z_i, and solve the original problem for these z_i.
    if (status != S2_SOLVED) {
      continue;
    }
    s2_lcp_clean_up(&s, z, basic, run->arena);
    s2_lcp_unscale(&s, z);
    double residual = s2_lcp_residual(n, run->problem->m, run->problem->q, z, run->allowed);
    s2_history_add(run->options->history, residual, 1, 0);
    if (residual < least) {
      least = residual;
      memcpy(run->z, z, sizeof(double) * size);
    }
  }
  s2_arena_rewind(run->arena, mark);
  return least <= run->allowed ? S2_SOLVED : S2_RAY;
}
