// Derivatives of solutions compared with central differences: on the active set where problems have
// margins, on the central path where they need none.
#include "sanitized.h"

#include "base/arena.h"
#include "base/rng.h"
#include "mcp/lcp/lcp.h"
#include "mcp/mlcp/lp.h"
#include "mcp/mlcp/mlcp.h"
#include "mcp/mlcp/qp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MAX = 6, SQUARE = MAX * MAX, BLOCKS = 8, PROBLEMS = S2_FEWER(250, 12) };

static const double kappas[] = {1, 1e-2, 1e-4};

// A problem of any kind: its data, the weights of a loss of its solution, and the gradient.
typedef struct Case {
  int n, e, m;                      // sizes; their meaning depends on the kind
  double data[BLOCKS][SQUARE];      // blocks, named as in the kind's own struct
  double to[BLOCKS][SQUARE];        // dl/d(data)
  double out[5][MAX], loss[5][MAX]; // solution and dl/d(solution)
  double kappa;                     // size of numbers, for steps
  S2SolveStatus status;
} Case;

typedef void Kind(Case *c, bool derive, bool *regular);

static double dot(const double *a, const double *b, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

static void fill(S2Rng *rng, double *to, int count) {
  for (int i = 0; i < count; ++i) {
    to[i] = s2_rng_normal(rng);
  }
}

static double loss_of(Kind *kind, Case *c) {
  double sum = 0;
  kind(c, false, NULL);
  if (c->status != S2_SOLVED) {
    fail_msg("not solved: %s", s2_solve_status_name(c->status));
  }
  for (int i = 0; i < 5; ++i) {
    sum += dot(c->loss[i], c->out[i], MAX);
  }
  return sum;
}

// Central difference of fourth order.
static double difference(Kind *kind, Case *c, double *entry, double step) {
  double kept = *entry, sides[4];
  static const int at[4] = {-2, -1, 1, 2};
  for (int i = 0; i < 4; ++i) {
    *entry = kept + at[i] * step;
    sides[i] = loss_of(kind, c);
  }
  *entry = kept;
  return (8 * (sides[2] - sides[1]) - (sides[3] - sides[0])) / (12 * step);
}

// All entries of one block; returns the largest derivative. The path bends over distances of about
// the root of kappa.
static double check_block(Kind *kind, Case *c, int block, int count) {
  double step = c->kappa > 0 ? 3e-4 * sqrt(c->kappa) : 1e-5, largest = 0;
  for (int i = 0; i < count; ++i) {
    if (!isfinite(c->data[block][i])) {
      assert_true(c->to[block][i] == 0);
      continue;
    }
    double expected = difference(kind, c, &c->data[block][i], step);
    if (!(fabs(c->to[block][i] - expected) <= 1e-6 * fmax(1, fabs(expected)))) {
      fail_msg("block %d, entry %d, kappa %g: derivative %.12g, central difference %.12g", block, i,
               c->kappa, c->to[block][i], expected);
    }
    largest = fmax(largest, fabs(expected));
  }
  return largest;
}

// The derivative, which must exist.
static void derive(Kind *kind, Case *c) {
  bool regular = false;
  assert_true(isfinite(loss_of(kind, c)));
  kind(c, true, &regular);
  assert_true(regular);
}

// F F' / size + 1 + skew: eigenvalues of the symmetric part of 1 and more.
static void draw_monotone(S2Rng *rng, double *k, int size, bool symmetric) {
  double f[SQUARE * 4];
  fill(rng, f, size * size);
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      double sum = i == j ? 1 : 0;
      for (int l = 0; l < size; ++l) {
        sum += f[i * size + l] * f[j * size + l] / size;
      }
      k[i * size + j] = sum + (symmetric ? 0 : (f[i * size + j] - f[j * size + i]) / 2);
    }
  }
}

// ---- sim.lcp ----------------------------------------------------------------------------------

static void lcp(Case *c, bool derivative, bool *regular) {
  S2Arena arena;
  s2_arena_init(&arena);
  double w[MAX];
  S2LcpProblem problem = {c->n, c->data[0], c->data[1]};
  S2LcpSolution solution = {.z = c->out[0], .w = w, .kappa = c->kappa};
  if (derivative) {
    *regular =
        s2_lcp_vjp(&problem, &solution, c->loss[0], &(S2LcpGradient){c->to[0], c->to[1]}, &arena);
  } else {
    S2LcpSolverOptions options = {.kappa = c->kappa, .tolerance = 1e-12};
    c->status = s2_lcp_solve(&problem, &options, &arena, &solution);
    assert_true(solution.kappa == c->kappa);
  }
  assert_true(arena.used == 0);
  s2_arena_free(&arena);
}

// q for which a random z, w with half the pairs on either side is the solution; `edge`: both sides
// of the first pair are 0.
static void draw_lcp(S2Rng *rng, Case *c, bool edge) {
  double z[MAX];
  *c = (Case){.n = (int)s2_rng_integer(rng, 1, MAX)};
  draw_monotone(rng, c->data[0], c->n, false);
  for (int i = 0; i < c->n; ++i) {
    z[i] = i % 2 == 1 ? 0.1 + s2_rng_uniform(rng) : 0;
  }
  for (int i = 0; i < c->n; ++i) {
    double w = i % 2 == 1 || (edge && i == 0) ? 0 : 0.1 + s2_rng_uniform(rng);
    c->data[1][i] = w - dot(c->data[0] + i * c->n, z, c->n);
  }
  fill(rng, c->loss[0], c->n);
}

static void lcp_on_the_active_set(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(31);
  double largest = 0;
  for (int k = 0; k < PROBLEMS; ++k) {
    Case c;
    draw_lcp(&rng, &c, false);
    derive(lcp, &c);
    largest = fmax(largest, check_block(lcp, &c, 0, c.n * c.n));
    largest = fmax(largest, check_block(lcp, &c, 1, c.n));
  }
  assert_true(largest > 0.1);
}

static void lcp_without_derivative(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(32);
  for (int k = 0; k < PROBLEMS; ++k) {
    Case c;
    bool regular = true;
    draw_lcp(&rng, &c, true);
    loss_of(lcp, &c);
    lcp(&c, true, &regular);
    assert_false(regular); // on an edge
    // The same unknown twice: only the sum of both is determined.
    draw_lcp(&rng, &c, false);
    c.n = 2;
    for (int i = 0; i < 4; ++i) {
      c.data[0][i] = 1 + s2_rng_uniform(&rng);
      c.data[0][i] = c.data[0][0];
    }
    c.data[1][0] = c.data[1][1] = -1;
    double half = 0.5 / c.data[0][0];
    c.out[0][0] = c.out[0][1] = half;
    c.loss[0][0] = c.loss[0][1] = 1;
    lcp(&c, true, &regular);
    assert_false(regular);
    assert_true(fabs(c.to[1][0] + half) <= 1e-12); // least norm: half each
    assert_true(fabs(c.to[1][1] + half) <= 1e-12);
  }
}

static void lcp_with_numbers_that_are_not_finite(void **state) {
  (void)state;
  for (int k = 0; k < 4; ++k) {
    Case c = {.n = 1, .kappa = k % 2};
    bool regular = true;
    c.data[0][0] = k < 2 ? (double)NAN : 1;
    c.data[1][0] = -1;
    c.out[0][0] = 1;
    c.loss[0][0] = k < 2 ? 1 : (double)INFINITY;
    lcp(&c, true, &regular);
    assert_false(regular);
    assert_true(isnan(c.to[0][0]) && isnan(c.to[1][0]));
  }
}

// Any q: also pairs on the edge.
static void lcp_on_the_central_path(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(33);
  double largest = 0;
  for (int k = 0; k < PROBLEMS; ++k) {
    Case c;
    draw_lcp(&rng, &c, k % 3 == 0);
    c.kappa = kappas[k % 3];
    derive(lcp, &c);
    largest = fmax(largest, check_block(lcp, &c, 0, c.n * c.n));
    largest = fmax(largest, check_block(lcp, &c, 1, c.n));
  }
  assert_true(largest > 0.1);
}

// With a small kappa the path is near the solution, and so are the derivatives.
static void the_path_leads_to_the_active_set(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(34);
  for (int k = 0; k < PROBLEMS; ++k) {
    Case c, smooth;
    draw_lcp(&rng, &c, false);
    smooth = c;
    smooth.kappa = 1e-8;
    derive(lcp, &c);
    derive(lcp, &smooth);
    for (int i = 0; i < c.n * c.n; ++i) {
      assert_true(fabs(c.to[0][i] - smooth.to[0][i]) <= 1e-4);
      assert_true(i >= c.n || fabs(c.out[0][i] - smooth.out[0][i]) <= 1e-6);
      assert_true(i >= c.n || fabs(c.to[1][i] - smooth.to[1][i]) <= 1e-4);
    }
  }
}

static void paths_that_exist_are_found(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(35);
  int solved = 0, total = 0;
  for (int k = 0; k < S2_FEWER(2000, 150); ++k) {
    // Any rank, with skew parts, and a point with z, w > 0
    int n = (int)s2_rng_integer(&rng, 1, 20), rank = (int)s2_rng_integer(&rng, 0, n);
    double m[400], f[400], q[20], z[20], w[20];
    fill(&rng, f, n * n);
    for (int i = 0; i < n; ++i) {
      z[i] = s2_rng_uniform(&rng);
      for (int j = 0; j < n; ++j) {
        m[i * n + j] = (f[i * n + j] - f[j * n + i]) / 2;
        for (int l = 0; l < rank; ++l) {
          m[i * n + j] += f[i * n + l] * f[j * n + l];
        }
      }
    }
    for (int i = 0; i < n; ++i) {
      q[i] = s2_rng_uniform(&rng) - dot(m + i * n, z, n);
    }
    S2Arena arena;
    s2_arena_init(&arena);
    S2LcpSolverOptions options = {.kappa = pow(10, -(k % 9))};
    S2LcpSolution solution = {.z = z, .w = w};
    total += 1;
    if (s2_lcp_solve(&(S2LcpProblem){n, m, q}, &options, &arena, &solution) == S2_SOLVED) {
      solved += 1;
      for (int i = 0; i < n; ++i) {
        assert_true(z[i] > 0 && w[i] > 0);
        assert_true(fabs(z[i] * w[i] - options.kappa) <= fmin(1e-9, 1e-3 * options.kappa));
      }
    } else {
      assert_int_equal(solution.status, S2_MAX_ITERATIONS);
    }
    s2_arena_free(&arena);
  }
  assert_true(1000 * solved >= 999 * total);
}

// Not monotone: some have points z o w = kappa; a reported one must be one.
static void paths_of_other_problems(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(36);
  int solved = 0, total = 0, regular_ones = 0;
  for (int k = 0; k < S2_FEWER(2000, 150); ++k) {
    Case c = {.n = (int)s2_rng_integer(&rng, 1, MAX)};
    for (int i = 0; i < c.n * c.n; ++i) {
      c.data[0][i] = (double)s2_rng_integer(&rng, -2, 2);
    }
    for (int i = 0; i < c.n; ++i) {
      c.data[1][i] = (double)s2_rng_integer(&rng, -2, 2);
    }
    lcp(&c, false, NULL);
    if (c.status != S2_SOLVED) {
      continue;
    }
    total += 1;
    c.kappa = 1e-4;
    lcp(&c, false, NULL);
    solved += c.status == S2_SOLVED;
    for (int i = 0; c.status == S2_SOLVED && i < c.n; ++i) {
      double w = c.data[1][i] + dot(c.data[0] + i * c.n, c.out[0], c.n);
      assert_true(c.out[0][i] > 0 && w > 0 && fabs(c.out[0][i] * w - c.kappa) <= 1e-9);
    }
    if (c.status == S2_SOLVED) {
      bool regular = false;
      c.loss[0][0] = 1;
      lcp(&c, true, &regular);
      regular_ones += regular;
      assert_true(!regular || isfinite(c.to[1][0]));
    }
  }
  assert_true(10 * solved >= 7 * total && solved <= total);
  assert_true(100 * regular_ones >= 99 * solved);
}

static void paths_that_do_not_exist(void **state) {
  (void)state;
  Case c = {.n = 1, .kappa = 1e-4};
  lcp(&c, false, NULL); // w = 0
  assert_int_equal(c.status, S2_MAX_ITERATIONS);
  c.data[0][0] = -1; // w = -z
  lcp(&c, false, NULL);
  assert_int_equal(c.status, S2_MAX_ITERATIONS);
  S2Arena arena;
  s2_arena_init(&arena);
  S2LcpSolverOptions options = {.kappa = 1, .solver = S2_LCP_LEMKE};
  double one = 1, z, w;
  S2LcpSolution solution = {.z = &z, .w = &w};
  assert_int_equal(s2_lcp_solve(&(S2LcpProblem){1, &one, &one}, &options, &arena, &solution),
                   S2_UNSUPPORTED);
  s2_arena_free(&arena);
}

// ---- sim.mlcp with bounds ---------------------------------------------------------------------

// Data: A, C, D, B, a, b, lo, hi. Solution: u, v.
static void mlcp(Case *c, bool derivative, bool *regular) {
  S2Arena arena;
  s2_arena_init(&arena);
  double w[MAX];
  S2Mlcp problem = {.n = c->n,
                    .m = c->m,
                    .a_uu = c->data[0],
                    .c_uv = c->data[1],
                    .d_vu = c->data[2],
                    .b_vv = c->data[3],
                    .a_free = c->data[4],
                    .b_row = c->data[5],
                    .lo = c->data[6],
                    .hi = c->data[7]};
  S2MlcpSolution solution = {.u = c->out[0], .v = c->out[1], .w = w, .kappa = c->kappa};
  if (derivative) {
    S2MlcpGradient to = {.a_uu = c->to[0],
                         .c_uv = c->to[1],
                         .d_vu = c->to[2],
                         .b_vv = c->to[3],
                         .a_free = c->to[4],
                         .b_row = c->to[5],
                         .lo = c->to[6],
                         .hi = c->to[7]};
    *regular = s2_mlcp_vjp(&problem, &solution, c->loss[0], c->loss[1], &to, &arena);
  } else {
    S2MlcpOptions options = {.kappa = c->kappa, .tolerance = 1e-11};
    c->status = s2_mlcp_solve(&problem, &options, &arena, &solution);
  }
  assert_true(arena.used == 0);
  s2_arena_free(&arena);
}

// Bounds of every kind, and the solution at or well between them; `edge`: v_1 is at a bound and w_1
// = 0.
static void draw_mlcp(S2Rng *rng, Case *c, bool edge) {
  double k[SQUARE * 4], x[2 * MAX];
  *c = (Case){.n = (int)s2_rng_integer(rng, 0, 3), .m = (int)s2_rng_integer(rng, 1, 4)};
  int n = c->n, m = c->m, size = n + m;
  draw_monotone(rng, k, size, false);
  double w[2 * MAX] = {0};
  fill(rng, x, n);
  for (int i = 0; i < m; ++i) {
    int kind = (int)s2_rng_integer(rng, 0, 3), side = (int)s2_rng_integer(rng, 0, 2);
    double lo = s2_rng_normal(rng), hi = lo + 1 + s2_rng_uniform(rng);
    side = edge && i == 0 ? 1 : side;
    kind = edge && i == 0 ? 0 : kind;
    c->data[6][i] = kind & 1 ? -INFINITY : lo;
    c->data[7][i] = kind & 2 ? INFINITY : hi;
    bool at_lo = side == 1 && !(kind & 1), at_hi = side == 2 && !(kind & 2);
    x[n + i] = at_lo ? lo : at_hi ? hi : lo + 0.2 + 0.6 * s2_rng_uniform(rng);
    w[n + i] = (0.2 + s2_rng_uniform(rng)) * (edge && i == 0 ? 0 : at_lo ? 1 : at_hi ? -1 : 0);
  }
  for (int i = 0; i < size; ++i) {
    *(i < n ? &c->data[4][i] : &c->data[5][i - n]) = w[i] - dot(k + i * size, x, size);
    for (int j = 0; j < size; ++j) {
      int block = 2 * (i >= n) + (j >= n), width = j < n ? n : m;
      c->data[block][(i < n ? i : i - n) * width + (j < n ? j : j - n)] = k[i * size + j];
    }
  }
  fill(rng, c->loss[0], n);
  fill(rng, c->loss[1], m);
}

static void check_mlcp(Case *c, double largest[BLOCKS]) {
  int n = c->n, m = c->m;
  const int counts[BLOCKS] = {n * n, n * m, m * n, m * m, n, m, m, m};
  for (int i = 0; i < BLOCKS; ++i) {
    largest[i] = fmax(largest[i], check_block(mlcp, c, i, counts[i]));
  }
}

static void boxes_on_the_active_set(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(41);
  double largest[BLOCKS] = {0};
  for (int k = 0; k < PROBLEMS; ++k) {
    Case c;
    draw_mlcp(&rng, &c, false);
    derive(mlcp, &c);
    check_mlcp(&c, largest);
  }
  for (int i = 0; i < BLOCKS; ++i) {
    assert_true(largest[i] > 0.1);
  }
}

static void boxes_on_the_central_path(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(42);
  double largest[BLOCKS] = {0};
  for (int k = 0; k < PROBLEMS; ++k) {
    Case c;
    draw_mlcp(&rng, &c, k % 3 == 0);
    c.kappa = kappas[k % 3];
    derive(mlcp, &c);
    check_mlcp(&c, largest);
  }
  for (int i = 0; i < BLOCKS; ++i) {
    assert_true(largest[i] > 0.1);
  }
}

static void boxes_without_derivative(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(43);
  for (int k = 0; k < PROBLEMS; ++k) {
    Case c;
    bool regular = true;
    draw_mlcp(&rng, &c, true);
    loss_of(mlcp, &c);
    mlcp(&c, true, &regular);
    assert_false(regular);
  }
}

// Moving both bounds of a constant together moves the constant.
static void constants(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(44);
  for (int k = 0; k < PROBLEMS; ++k) {
    Case c;
    draw_mlcp(&rng, &c, false);
    c.data[6][0] = c.data[7][0] = s2_rng_normal(&rng);
    for (int i = 1; i < c.m; ++i) {
      c.data[6][i] = -INFINITY; // one linear system: no edges
      c.data[7][i] = INFINITY;
    }
    c.kappa = k % 2 == 0 ? 0 : 1e-2;
    derive(mlcp, &c);
    assert_true(c.out[1][0] == c.data[6][0]);
    double kept = c.data[6][0], sum = c.to[6][0] + c.to[7][0];
    assert_true(c.to[6][0] == c.to[7][0]);
    c.data[6][0] = c.data[7][0] = kept + 1e-3;
    double above = loss_of(mlcp, &c);
    c.data[6][0] = c.data[7][0] = kept - 1e-3;
    double expected = (above - loss_of(mlcp, &c)) / 2e-3;
    assert_true(fabs(sum - expected) <= 1e-8 * fmax(1, fabs(expected)));
  }
}

// ---- sim.qp -----------------------------------------------------------------------------------

// Data: P, q, A, b, G, h. Solution: x, y, z.
static void qp(Case *c, bool derivative, bool *regular) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2Qp problem = {c->n,       c->e,       c->m,       c->data[0], c->data[1],
                  c->data[2], c->data[3], c->data[4], c->data[5]};
  S2QpSolution solution = {.x = c->out[0], .y = c->out[1], .z = c->out[2], .kappa = c->kappa};
  if (derivative) {
    S2QpGradient to = {c->to[0], c->to[1], c->to[2], c->to[3], c->to[4], c->to[5]};
    *regular = s2_qp_vjp(&problem, &solution, c->loss[0], c->loss[1], c->loss[2], &to, &arena);
  } else {
    S2QpOptions options = {.kappa = c->kappa, .tolerance = 1e-11};
    c->status = s2_qp_solve(&problem, &options, &arena, &solution);
  }
  assert_true(arena.used == 0);
  s2_arena_free(&arena);
}

// Programs with a point strictly within the constraints.
static void qp_on_the_central_path(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(51);
  double largest[BLOCKS] = {0};
  for (int k = 0; k < PROBLEMS; ++k) {
    Case c = {.n = (int)s2_rng_integer(&rng, 1, 5), .kappa = kappas[k % 3]};
    c.e = (int)s2_rng_integer(&rng, 0, c.n > 2);
    c.m = (int)s2_rng_integer(&rng, 1, 6);
    double x[MAX];
    draw_monotone(&rng, c.data[0], c.n, true);
    fill(&rng, c.data[1], c.n);
    fill(&rng, c.data[2], c.e * c.n);
    fill(&rng, c.data[4], c.m * c.n);
    fill(&rng, x, c.n);
    for (int i = 0; i < c.e; ++i) {
      c.data[3][i] = dot(c.data[2] + i * c.n, x, c.n);
    }
    for (int i = 0; i < c.m; ++i) {
      c.data[5][i] = dot(c.data[4] + i * c.n, x, c.n) + 0.1 + s2_rng_uniform(&rng);
    }
    c.data[5][0] = k % 7 == 0 ? INFINITY : c.data[5][0];
    fill(&rng, c.loss[0], c.n);
    fill(&rng, c.loss[1], c.e);
    fill(&rng, c.loss[2], c.m);
    derive(qp, &c);
    const int counts[] = {c.n * c.n, c.n, c.e * c.n, c.e, c.m * c.n, c.m};
    for (int i = 0; i < 6; ++i) {
      largest[i] = fmax(largest[i], check_block(qp, &c, i, counts[i]));
    }
  }
  for (int i = 0; i < 6; ++i) {
    assert_true(largest[i] > 0.1);
  }
}

// The first row holds with equality: without its multiplier (an edge), or given twice.
static void qp_without_derivative(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(52);
  for (int k = 0; k < PROBLEMS; ++k) {
    Case c = {.n = (int)s2_rng_integer(&rng, 1, 5), .m = 2};
    bool twice = k % 2 == 0, regular = true;
    double x[MAX];
    draw_monotone(&rng, c.data[0], c.n, true);
    fill(&rng, c.data[4], c.n);
    for (int i = 0; i < c.n; ++i) {
      c.data[4][c.n + i] = c.data[4][i];
    }
    fill(&rng, x, c.n);
    fill(&rng, c.loss[0], c.n);
    c.data[5][0] = dot(c.data[4], x, c.n);
    c.data[5][1] = c.data[5][0] + (twice ? 0 : 1);
    for (int i = 0; i < c.n; ++i) {
      c.data[1][i] = -dot(c.data[0] + i * c.n, x, c.n) - (twice ? c.data[4][i] : 0);
    }
    assert_true(isfinite(loss_of(qp, &c)));
    qp(&c, true, &regular);
    assert_false(regular);
    // A loss of x alone does not depend on the division of a multiplier: moving both rows is
    // defined.
    if (twice) {
      assert_true(fabs(c.to[5][0] - c.to[5][1]) <= 1e-10);
      double both = c.to[5][0] + c.to[5][1];
      c.data[5][0] += 1e-4;
      c.data[5][1] += 1e-4;
      double above = loss_of(qp, &c);
      c.data[5][0] -= 2e-4;
      c.data[5][1] -= 2e-4;
      assert_true(fabs(both - (above - loss_of(qp, &c)) / 2e-4) <= 1e-7 * fmax(1, fabs(both)));
    }
  }
}

static void qp_without_central_path(void **state) {
  (void)state;
  Case c = {.n = 1, .m = 2, .kappa = 1e-3}; // x <= 1, -x <= -1: nothing strictly between
  c.data[0][0] = 1;
  c.data[4][0] = c.data[5][0] = 1;
  c.data[4][1] = c.data[5][1] = -1;
  qp(&c, false, NULL);
  assert_int_equal(c.status, S2_MAX_ITERATIONS);
  c.data[5][1] = -2; // not even that
  qp(&c, false, NULL);
  assert_int_equal(c.status, S2_INFEASIBLE);
}

// ---- sim.lp -----------------------------------------------------------------------------------

// Data: c, A_ub, b_ub, A_eq, b_eq, lo, hi. Solution: x, y, z, lower, upper.
static void lp(Case *c, bool derivative, bool *regular) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2Lp problem = {.n = c->n,
                  .inequalities = c->m,
                  .equalities = c->e,
                  .c = c->data[0],
                  .a_ub = c->data[1],
                  .b_ub = c->data[2],
                  .a_eq = c->data[3],
                  .b_eq = c->data[4],
                  .lo = c->data[5],
                  .hi = c->data[6]};
  S2LpSolution solution = {.x = c->out[0],
                           .y = c->out[1],
                           .z = c->out[2],
                           .lower = c->out[3],
                           .upper = c->out[4],
                           .kappa = c->kappa};
  if (derivative) {
    S2LpLoss loss = {c->loss[0], c->loss[1], c->loss[2], c->loss[3], c->loss[4]};
    S2LpGradient to = {c->to[0], c->to[1], c->to[2], c->to[3], c->to[4], c->to[5], c->to[6]};
    *regular = s2_lp_vjp(&problem, &solution, &loss, &to, &arena);
  } else {
    S2QpOptions options = {.kappa = c->kappa, .tolerance = 1e-11};
    c->status = s2_lp_solve(&problem, &options, &arena, &solution);
  }
  assert_true(arena.used == 0);
  s2_arena_free(&arena);
}

// A bounded set around x, some bounds missing where rows close it.
static void draw_lp(S2Rng *rng, Case *c, double kappa) {
  *c = (Case){.n = (int)s2_rng_integer(rng, 1, 4), .kappa = kappa};
  c->e = (int)s2_rng_integer(rng, 0, c->n > 2);
  c->m = (int)s2_rng_integer(rng, 0, 4);
  double x[MAX];
  fill(rng, c->data[0], c->n);
  fill(rng, c->data[1], c->m * c->n);
  fill(rng, c->data[3], c->e * c->n);
  fill(rng, x, c->n);
  for (int i = 0; i < c->m; ++i) {
    c->data[2][i] = dot(c->data[1] + i * c->n, x, c->n) + 0.1 + s2_rng_uniform(rng);
  }
  for (int i = 0; i < c->e; ++i) {
    c->data[4][i] = dot(c->data[3] + i * c->n, x, c->n);
  }
  for (int i = 0; i < c->n; ++i) {
    // A side with a positive cost of leaving may be open.
    bool open = c->e == 0 && s2_rng_uniform(rng) < 0.3;
    c->data[5][i] = open && c->data[0][i] < 0 ? -INFINITY : x[i] - 0.2 - s2_rng_uniform(rng);
    c->data[6][i] = open && c->data[0][i] > 0 ? INFINITY : x[i] + 0.2 + s2_rng_uniform(rng);
  }
  for (int i = 0; i < 5; ++i) {
    fill(rng, c->loss[i], i == 1 ? c->e : i == 2 ? c->m : c->n);
  }
}

// Far from edges, and small enough for differences?
static bool has_margins(const Case *c) {
  for (int i = 0; i < c->m + c->n; ++i) {
    bool is_row = i < c->m;
    int j = i - c->m;
    double slack = is_row ? c->data[2][i] - dot(c->data[1] + i * c->n, c->out[0], c->n)
                          : c->out[0][j] - c->data[5][j];
    double z = is_row ? c->out[2][i] : c->out[3][j];
    double other = is_row ? INFINITY : fmax(c->data[6][j] - c->out[0][j], c->out[4][j]);
    if (!(fmax(slack, z) > 0.02 && other > 0.02 && fabs(z) < 10)) {
      return false;
    }
  }
  return true;
}

static int check_lps(uint64_t seed, int problems, bool path) {
  S2Rng rng = s2_rng_seeded(seed);
  double largest[BLOCKS] = {0};
  int checked = 0;
  for (int k = 0; k < problems; ++k) {
    Case c;
    draw_lp(&rng, &c, path ? kappas[k % 3] : 0);
    loss_of(lp, &c);
    if (!path && !has_margins(&c)) {
      continue;
    }
    derive(lp, &c);
    const int counts[] = {c.n, c.m * c.n, c.m, c.e * c.n, c.e, c.n, c.n};
    for (int i = 0; i < 7; ++i) {
      largest[i] = fmax(largest[i], check_block(lp, &c, i, counts[i]));
    }
    checked += 1;
  }
  for (int i = 0; i < 7; ++i) {
    assert_true(largest[i] > 0.1);
  }
  return checked;
}

static void lp_on_the_active_set(void **state) {
  (void)state;
  assert_true(check_lps(61, 500, false) >= 200);
}

static void lp_on_the_central_path(void **state) {
  (void)state;
  assert_true(check_lps(62, PROBLEMS, true) == PROBLEMS);
}

static void lp_with_a_fixed_unknown(void **state) {
  (void)state;
  Case c = {.n = 2, .e = 1}; // x1 = 1, x1 + x2 = 3; cost x2
  memcpy(c.data[0], (double[]){0, 1}, sizeof(double[2]));
  memcpy(c.data[3], (double[]){1, 1}, sizeof(double[2]));
  c.data[4][0] = 3;
  c.data[5][0] = c.data[6][0] = 1;
  c.data[6][1] = INFINITY;
  c.loss[0][1] = 1;
  derive(lp, &c);
  assert_true(fabs(c.out[0][1] - 2) <= 1e-12);
  assert_true(fabs(c.to[4][0] - 1) <= 1e-12);   // dx2/db_eq
  assert_true(fabs(c.to[5][0] + 0.5) <= 1e-12); // half of dx2/dx1 = -1
  assert_true(fabs(c.to[6][0] + 0.5) <= 1e-12);
  memset(c.loss, 0, sizeof c.loss);
  c.loss[3][0] = 1; // the multiplier of the bound: the price, 1, of the row
  derive(lp, &c);
  assert_true(fabs(c.out[3][0] + c.out[4][0] - 1) <= 1e-12);
  c.loss[0][0] = 0;
  c.data[0][0] = c.data[0][1] = 0; // cost 0: neither bound's multiplier has a derivative
  bool regular = true;
  loss_of(lp, &c);
  lp(&c, true, &regular);
  assert_false(regular);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lcp_on_the_active_set),
      cmocka_unit_test(lcp_without_derivative),
      cmocka_unit_test(lcp_with_numbers_that_are_not_finite),
      cmocka_unit_test(lcp_on_the_central_path),
      cmocka_unit_test(the_path_leads_to_the_active_set),
      cmocka_unit_test(paths_that_exist_are_found),
      cmocka_unit_test(paths_of_other_problems),
      cmocka_unit_test(paths_that_do_not_exist),
      cmocka_unit_test(boxes_on_the_active_set),
      cmocka_unit_test(boxes_on_the_central_path),
      cmocka_unit_test(boxes_without_derivative),
      cmocka_unit_test(constants),
      cmocka_unit_test(qp_on_the_central_path),
      cmocka_unit_test(qp_without_derivative),
      cmocka_unit_test(qp_without_central_path),
      cmocka_unit_test(lp_on_the_active_set),
      cmocka_unit_test(lp_on_the_central_path),
      cmocka_unit_test(lp_with_a_fixed_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
