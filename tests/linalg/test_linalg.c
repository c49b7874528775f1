// Block-sparse and dense factors, compared with LAPACK on random graphs, and the elimination
// orders.
#include "base/rng.h"
#include "linalg/blocksparse.h"
#include "linalg/dense.h"
#include "linalg/order.h"
#include "linalg/pairsparse.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double ACCURACY = 1e-12; // relative; the matrices are diagonally dominant

typedef struct Case {
  int nodes, edges;
  int32_t *edge, *slot;
  double *full; // 3 nodes x 3 nodes, column-major
  S2BlockSparse sparse;
} Case;

static double signed_uniform(S2Rng *rng) {
  return 2 * s2_rng_uniform(rng) - 1;
}

typedef enum Shape { RANDOM, HUBS, PARTS, CHAIN, COMPLETE, SHAPES } Shape;

// The other end of a random edge of node a.
static int32_t neighbour_of(Shape shape, int32_t a, int nodes, S2Rng *rng) {
  switch (shape) {
  case HUBS: // two nodes that are joined to most others
    return a < 2 ? (int32_t)s2_rng_integer(rng, 2, nodes - 1) : (int32_t)s2_rng_integer(rng, 0, 1);
  case PARTS: // three graphs without edges between them, and single nodes
    return a + 3 < nodes ? a + 3 : a % 3;
  case CHAIN:
    return a + 1 < nodes ? a + 1 : a - 1;
  case RANDOM:
  case COMPLETE:
  case SHAPES:
    break;
  }
  int32_t b = (int32_t)s2_rng_integer(rng, 0, nodes - 2);
  return b < a ? b : b + 1;
}

static void make_edges(Case *c, Shape shape, S2Rng *rng) {
  if (shape == COMPLETE) {
    c->edges = 0;
    for (int a = 0; a < c->nodes; a++) {
      for (int b = 0; b < a; b++) {
        c->edge[2 * c->edges] = a;
        c->edge[2 * c->edges++ + 1] = b;
      }
    }
    return;
  }
  for (int e = 0; e < c->edges; e++) {
    c->edge[2 * e] = (int32_t)s2_rng_integer(rng, 0, c->nodes - 1);
    c->edge[2 * e + 1] = neighbour_of(shape, c->edge[2 * e], c->nodes, rng);
  }
}

// Edges, some of them twice and reversed, and values for all of their blocks.
static Case make_case(Shape shape, int nodes, int edges, bool nonsymmetric, uint64_t seed,
                      S2Arena *arena) {
  S2Rng rng = s2_rng_seeded(seed);
  int n = 3 * nodes, most = nodes * nodes > edges ? nodes * nodes : edges;
  Case c = {.nodes = nodes, .edges = edges};
  c.edge = S2_TAKE(arena, int32_t, 2 * most);
  c.slot = S2_TAKE(arena, int32_t, most);
  c.full = S2_TAKE_ZEROED(arena, double, n *n);
  make_edges(&c, shape, &rng);
  s2_blocksparse_init(&c.sparse, nodes, c.edges, c.edge, c.slot, arena);
  s2_blocksparse_clear(&c.sparse, nonsymmetric);
  for (int e = 0; e < c.edges; e++) {
    int a = c.edge[2 * e], b = c.edge[2 * e + 1];
    bool a_below = c.sparse.place[a] > c.sparse.place[b];
    int r = 3 * (a_below ? a : b), s = 3 * (a_below ? b : a);
    for (int i = 0; i < 3; i++) {
      for (int j = 0; j < 3; j++) {
        double low = signed_uniform(&rng), high = nonsymmetric ? signed_uniform(&rng) : low;
        c.full[r + i + (s + j) * n] += low;
        c.full[s + j + (r + i) * n] += high;
        c.sparse.lower[S2_BLOCK * c.slot[e] + 3 * j + i] += low;
        if (nonsymmetric) {
          c.sparse.upper[S2_BLOCK * c.slot[e] + 3 * j + i] += high;
        }
      }
    }
  }
  for (int i = 0; i < n; i++) {
    double sum = 1;
    for (int j = 0; j < n; j++) {
      sum += fabs(c.full[i + j * n]) + fabs(c.full[j + i * n]);
    }
    c.full[i + i * n] = sum;
    c.sparse.diagonal[3 * c.sparse.place[i / 3] + i % 3][i % 3] = sum;
  }
  return c;
}

// Factors and solves with a random right side, and compares with LAPACK's LU.
static void compare_with_lapack(Case *c, uint64_t seed, double accuracy, S2Arena *arena) {
  int n = 3 * c->nodes;
  S2Rng rng = s2_rng_seeded(seed + 1000);
  S2Quad *b = S2_TAKE_ZEROED(arena, S2Quad, c->nodes);
  double *x = S2_TAKE(arena, double, n);
  for (int i = 0; i < n; i++) {
    x[i] = b[i / 3][i % 3] = signed_uniform(&rng);
  }
  S2Dense dense = {
      .size = n, .nonsymmetric = true, .a = c->full, .pivot = S2_TAKE(arena, int32_t, n)};
  assert_true(s2_dense_factor(&dense));
  s2_dense_solve(&dense, x);
  assert_true(s2_blocksparse_factor(&c->sparse));
  s2_blocksparse_solve(&c->sparse, b, b);
  for (int i = 0; i < n; i++) {
    assert_true(b[i / 3][3] == 0);
    if (!(fabs(b[i / 3][i % 3] - x[i]) <= accuracy)) {
      fail_msg("seed %d, entry %d: %g, LAPACK %g", (int)seed, i, b[i / 3][i % 3], x[i]);
    }
  }
}

static void check_against_lapack(bool nonsymmetric) {
  S2Arena arena;
  s2_arena_init(&arena);
  for (uint64_t seed = 1; seed <= 60; seed++) {
    for (int shape = 0; shape < SHAPES; shape++) {
      s2_arena_reset(&arena);
      int nodes = 7 + (int)(seed * 7 % 40), edges = nodes / 2 + (int)(seed * 13 % 90);
      Case c = make_case((Shape)shape, nodes, edges, nonsymmetric, seed, &arena);
      c.sparse.careful = seed % 2 == 0; // changes only rounding
      compare_with_lapack(&c, seed, ACCURACY, &arena);
      assert_true(nonsymmetric || s2_blocksparse_positive(&c.sparse));
    }
  }
  s2_arena_free(&arena);
}

static void test_symmetric_factor_agrees_with_lapack(void **state) {
  (void)state;
  check_against_lapack(false);
}

static void test_nonsymmetric_factor_agrees_with_lapack(void **state) {
  (void)state;
  check_against_lapack(true);
}

// The largest entry of K x - b after a solve with a random b.
static double solve_and_measure(Case *c, uint64_t seed, S2Arena *arena) {
  int n = 3 * c->nodes;
  double largest = 0;
  S2Rng rng = s2_rng_seeded(seed);
  S2Quad *b = S2_TAKE_ZEROED(arena, S2Quad, c->nodes), *x = S2_TAKE(arena, S2Quad, c->nodes);
  for (int i = 0; i < n; i++) {
    b[i / 3][i % 3] = signed_uniform(&rng);
  }
  assert_true(s2_blocksparse_factor(&c->sparse));
  s2_blocksparse_solve(&c->sparse, b, x);
  for (int i = 0; i < n; i++) {
    double sum = -b[i / 3][i % 3];
    for (int j = 0; j < n; j++) {
      sum += c->full[i + j * n] * x[j / 3][j % 3];
    }
    largest = fmax(largest, fabs(sum));
  }
  return largest;
}

// [A G'; G -B] with A = 1, B small: no pivot is 0 in any order of the nodes, but those of nodes of
// G may be as small as B. The resulting errors are the unit round-off times |G|^2 / B^2 (Gill,
// Saunders & Shinnerl 1996).
static void test_quasi_definite_factor_solves(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  static const double small[] = {1, 1e-1, 1e-2};
  for (uint64_t seed = 1; seed <= 90; seed++) {
    s2_arena_reset(&arena);
    int bodies = 3 + (int)(seed * 7 % 20), groups = 1 + (int)(seed * 5 % (uint64_t)bodies);
    int nodes = bodies + groups, n = 3 * nodes;
    S2Rng rng = s2_rng_seeded(seed);
    Case c = {.nodes = nodes, .edges = 2 * groups};
    c.edge = S2_TAKE(&arena, int32_t, 2 * c.edges);
    c.slot = S2_TAKE(&arena, int32_t, c.edges);
    c.full = S2_TAKE_ZEROED(&arena, double, n *n);
    for (int e = 0; e < c.edges; e++) {
      c.edge[2 * e] = bodies + e / 2;
      c.edge[2 * e + 1] = (int32_t)((e / 2 + (e % 2) * (1 + (int)(seed % 2))) % bodies);
    }
    s2_blocksparse_init(&c.sparse, nodes, c.edges, c.edge, c.slot, &arena);
    c.sparse.careful = true;
    s2_blocksparse_clear(&c.sparse, false);
    for (int i = 0; i < nodes; i++) {
      double entry = i < bodies ? 1 : -small[seed % 3];
      s2_blocksparse_add(&c.sparse, -1, i, i, (double[]){entry, 0, 0, 0, entry, 0, 0, 0, entry});
      for (int k = 3 * i; k < 3 * i + 3; k++) {
        c.full[k * (n + 1)] = entry;
      }
    }
    for (int e = 0; e < c.edges; e++) {
      double block[9];
      int r = 3 * c.edge[2 * e], s = 3 * c.edge[2 * e + 1];
      for (int k = 0; k < 9; k++) {
        block[k] = signed_uniform(&rng) + (k % 4 == 0 ? 2 : 0);
        c.full[r + k / 3 + (s + k % 3) * n] += block[k];
        c.full[s + k % 3 + (r + k / 3) * n] += block[k];
      }
      s2_blocksparse_add(&c.sparse, c.slot[e], r / 3, s / 3, block);
    }
    double left = solve_and_measure(&c, seed, &arena);
    if (!(left <= 1e-14 / (small[seed % 3] * small[seed % 3]))) {
      fail_msg("seed %d, B = %g: %g left over", (int)seed, small[seed % 3], left);
    }
    assert_false(s2_blocksparse_positive(&c.sparse));
  }
  s2_arena_free(&arena);
}

static void test_matrix_without_nodes(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2BlockSparse matrix;
  s2_blocksparse_init(&matrix, 0, 0, NULL, NULL, &arena);
  s2_blocksparse_clear(&matrix, false);
  assert_true(s2_blocksparse_factor(&matrix) && s2_blocksparse_positive(&matrix));
  s2_blocksparse_solve(&matrix, NULL, NULL);
  s2_arena_free(&arena);
}

static void test_nan_is_refused(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int k = 0; k < 4; k++) {
    Case c = make_case(RANDOM, 6, 12, k % 2 == 1, 1, &arena);
    c.sparse.careful = k >= 2;
    c.sparse.diagonal[3 * c.sparse.place[2]][0] = NAN;
    assert_false(s2_blocksparse_factor(&c.sparse));
  }
  s2_arena_free(&arena);
}

static void test_matrix_without_edges(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2BlockSparse matrix;
  s2_blocksparse_init(&matrix, 3, 0, NULL, NULL, &arena);
  s2_blocksparse_clear(&matrix, true);
  S2Quad x[3] = {{1, 2, 3, 0}, {4, 5, 6, 0}, {7, 8, 9, 0}};
  for (int i = 0; i < 9; i++) {
    matrix.diagonal[3 * matrix.place[i / 3] + i % 3][i % 3] = i + 1;
  }
  assert_true(s2_blocksparse_factor(&matrix));
  s2_blocksparse_solve(&matrix, x, x);
  for (int i = 0; i < 9; i++) {
    assert_true(fabs(x[i / 3][i % 3] - 1) <= ACCURACY);
  }
  s2_arena_free(&arena);
}

static void test_singular_matrices_are_refused(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2BlockSparse matrix;
  s2_blocksparse_init(&matrix, 1, 0, NULL, NULL, &arena);
  s2_blocksparse_clear(&matrix, false);
  assert_false(s2_blocksparse_factor(&matrix));
  double zeros[4] = {0}, indefinite[4] = {1, 2, 2, 1};
  int32_t pivot[2];
  S2Dense dense = {.size = 2, .nonsymmetric = true, .a = zeros, .pivot = pivot};
  assert_false(s2_dense_factor(&dense));
  dense = (S2Dense){.size = 2, .a = indefinite, .pivot = pivot};
  assert_false(s2_dense_factor(&dense));
  s2_arena_free(&arena);
}

// Number of blocks of the factor of a square grid in an order, counted by elimination on sets.
static int count_fill(int side, const int32_t *order) {
  int n = side * side, fill = 0;
  bool *next = calloc((size_t)n * (size_t)n, sizeof(bool)), *gone = calloc((size_t)n, sizeof(bool));
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++) {
      int dx = abs(i % side - k % side), dy = abs(i / side - k / side);
      next[i * n + k] = next[k * n + i] = dx + dy == 1;
    }
  }
  for (int step = 0; step < n; step++) {
    int p = order[step];
    assert_false(gone[p]); // a permutation names no node twice
    gone[p] = true;
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < n && next[p * n + i] && !gone[i]; k++) {
        next[i * n + k] |= next[p * n + k] && k != i;
      }
      fill += next[p * n + i] && !gone[i];
    }
  }
  free(next);
  free(gone);
  return fill;
}

static void test_orders_keep_factors_sparse(void **state) {
  (void)state;
  enum { SIDE = 12, NODES = SIDE * SIDE };
  S2Arena arena;
  s2_arena_init(&arena);
  int32_t start[NODES + 1], neighbour[4 * NODES], order[NODES], natural[NODES], count = 0;
  for (int i = 0; i < NODES; i++) {
    start[i] = count;
    natural[i] = i;
    for (int k = 0; k < NODES; k++) {
      if (abs(i % SIDE - k % SIDE) + abs(i / SIDE - k / SIDE) == 1) {
        neighbour[count++] = k;
      }
    }
  }
  start[NODES] = count;
  int banded = count_fill(SIDE, natural);
  s2_order_minimum_degree(NODES, start, neighbour, order, &arena);
  assert_true(count_fill(SIDE, order) < 0.7 * banded);
  s2_order_builtin(NODES, start, neighbour, order, &arena);
  assert_true(count_fill(SIDE, order) < 0.7 * banded);
  s2_arena_free(&arena);
}

static void test_forests_get_no_fill(void **state) {
  (void)state;
  enum { NODES = 60, FORESTS = 200 };
  S2Rng rng = s2_rng_seeded(5);
  S2Arena arena;
  s2_arena_init(&arena);
  for (int k = 0; k < FORESTS; k++) {
    bool next[NODES][NODES] = {{false}};
    int32_t start[NODES + 1], neighbour[2 * NODES], order[NODES], count = 0;
    for (int i = 1; i < NODES; i++) { // each to an earlier one, or to none
      int to = (int)s2_rng_integer(&rng, -1, i - 1);
      if (to >= 0) {
        next[i][to] = next[to][i] = true;
      }
    }
    for (int i = 0; i < NODES; i++) {
      start[i] = count;
      for (int j = 0; j < NODES; j++) {
        if (next[i][j]) {
          neighbour[count++] = j;
        }
      }
    }
    start[NODES] = count;
    s2_order_minimum_degree(NODES, start, neighbour, order, &arena);
    bool gone[NODES] = {false};
    for (int i = 0; i < NODES; i++) { // every node once, and as a leaf at its turn
      int left = 0;
      assert_false(gone[order[i]]);
      gone[order[i]] = true;
      for (int j = 0; j < NODES; j++) {
        left += next[order[i]][j] && !gone[j];
      }
      assert_true(left <= 1);
    }
  }
  s2_arena_free(&arena);
}

// ---- Blocks of 2 x 2 ----------------------------------------------------------------------------

// K = (2 1 | 1 0), (0 3 | 0 1), (1 0 | 4 1), (0 1 | 0 5) by rows, with x = (1, 2, 3, 4).
static void test_pair_factor_of_a_known_matrix(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2PairSparse matrix;
  const int32_t edge[2] = {0, 1};
  int32_t slot[1];
  assert_true(s2_pairsparse_init(&matrix, 2, 1, edge, slot, 0, &arena));
  s2_pairsparse_clear(&matrix);
  const S2PairBlock own[2] = {{{{2, 0}, {1, 3}}}, {{{4, 0}, {1, 5}}}};
  matrix.diagonal[matrix.pattern.place[0]] = own[0];
  matrix.diagonal[matrix.pattern.place[1]] = own[1];
  matrix.lower[slot[0]] = matrix.upper[slot[0]] = (S2PairBlock){{{1, 0}, {0, 1}}};
  double x[4] = {2 * 1 + 2 + 3, 3 * 2 + 4, 1 + 4 * 3 + 4, 2 + 5 * 4};
  assert_true(s2_pairsparse_factor(&matrix, 1e-11, x));
  for (int i = 0; i < 4; i++) {
    assert_true(fabs(x[i] - (i + 1)) < 1e-15 * 100);
  }
  s2_arena_free(&arena);
}

// Adds random values to block (row, column) of the sparse matrix and of the dense one.
static void add_pair(S2PairBlock *to, double *full, int n, int row, int column, S2Rng *rng) {
  for (int j = 0; j < 2; j++) {
    for (int i = 0; i < 2; i++) {
      double value = signed_uniform(rng);
      to->column[j][i] += value;
      full[2 * row + i + (2 * column + j) * n] += value;
    }
  }
}

static void check_pairs(Shape shape, uint64_t seed, S2Arena *arena) {
  S2Rng rng = s2_rng_seeded(seed);
  int nodes = 7 + (int)(seed * 7 % 40), n = 2 * nodes, most = nodes * nodes + 90;
  Case c = {.nodes = nodes, .edges = nodes / 2 + (int)(seed * 13 % 90)};
  c.edge = S2_TAKE(arena, int32_t, 2 * most);
  c.slot = S2_TAKE(arena, int32_t, most);
  c.full = S2_TAKE_ZEROED(arena, double, n *n);
  make_edges(&c, shape, &rng);
  S2PairSparse matrix;
  assert_true(
      s2_pairsparse_init(&matrix, nodes, c.edges, c.edge, c.slot, (int64_t)n * n * n, arena));
  s2_pairsparse_clear(&matrix);
  const int32_t *place = matrix.pattern.place;
  for (int e = 0; e < c.edges; e++) {
    int a = c.edge[2 * e], b = c.edge[2 * e + 1], r = place[a] > place[b] ? a : b, s = a + b - r;
    add_pair(&matrix.lower[c.slot[e]], c.full, n, r, s, &rng);
    add_pair(&matrix.upper[c.slot[e]], c.full, n, s, r, &rng);
  }
  double *x = S2_TAKE(arena, double, n), *y = S2_TAKE(arena, double, n);
  double *b = S2_TAKE(arena, double, n);
  for (int i = 0; i < n; i++) {
    double sum = 1;
    for (int j = 0; j < n; j++) {
      sum += fabs(c.full[i + j * n]) + fabs(c.full[j + i * n]);
    }
    c.full[i + i * n] = sum;
    matrix.diagonal[place[i / 2]].column[i % 2][i % 2] = sum;
    x[i] = y[i] = b[i] = signed_uniform(&rng);
  }
  // The factorisation and the separate solve agree with LAPACK.
  S2Dense dense = {
      .size = n, .nonsymmetric = true, .a = c.full, .pivot = S2_TAKE(arena, int32_t, n)};
  assert_true(s2_dense_factor(&dense));
  s2_dense_solve(&dense, b);
  assert_true(s2_pairsparse_factor(&matrix, 1e-11, x));
  s2_pairsparse_solve(&matrix, y);
  for (int i = 0; i < n; i++) {
    assert_true(fabs(x[i] - b[i]) <= ACCURACY && x[i] == y[i]);
  }
}

static void test_pair_factors_agree_with_lapack(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (uint64_t seed = 1; seed <= 60; seed++) {
    for (int shape = 0; shape < SHAPES; shape++) {
      s2_arena_reset(&arena);
      check_pairs((Shape)shape, seed, &arena);
    }
  }
  s2_arena_free(&arena);
}

// Both rows of one node are equal, so the second pivot is a rounding error.
static void test_pair_factor_refuses_dependent_rows(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2PairSparse matrix;
  assert_true(s2_pairsparse_init(&matrix, 1, 0, NULL, NULL, 0, &arena));
  const double second[3] = {3, 3 * (1 + 1e-13), NAN};
  for (int i = 0; i < 3; i++) {
    matrix.diagonal[0] = (S2PairBlock){{{3, 3}, {3, second[i]}}};
    assert_false(s2_pairsparse_factor(&matrix, 1e-11, NULL));
  }
  matrix.diagonal[0] = (S2PairBlock){{{3, 3}, {3, 3 * (1 + 1e-9)}}};
  assert_true(s2_pairsparse_factor(&matrix, 1e-11, NULL));
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forests_get_no_fill),
      cmocka_unit_test(test_symmetric_factor_agrees_with_lapack),
      cmocka_unit_test(test_nonsymmetric_factor_agrees_with_lapack),
      cmocka_unit_test(test_quasi_definite_factor_solves),
      cmocka_unit_test(test_matrix_without_nodes),
      cmocka_unit_test(test_nan_is_refused),
      cmocka_unit_test(test_matrix_without_edges),
      cmocka_unit_test(test_singular_matrices_are_refused),
      cmocka_unit_test(test_orders_keep_factors_sparse),
      cmocka_unit_test(test_pair_factor_of_a_known_matrix),
      cmocka_unit_test(test_pair_factors_agree_with_lapack),
      cmocka_unit_test(test_pair_factor_refuses_dependent_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
