// The cone interior point: options, refusals, unusual numbers and calls.
#include "base/memory.h"
#include "mcp/solvers.h"
#include "ncp_problems.h"

#include <stdio.h>

// ---- Options -----------------------------------------------------------------------------------

enum { HISTORY = 60 };

typedef struct Record {
  S2Iterate at[HISTORY];
  S2History history;
} Record;

static void solve_recorded(const S2Ncp *ncp, const S2NcpOptions *options, Answer *a, Record *r) {
  S2Arena arena;
  s2_arena_init(&arena);
  r->history = (S2History){.at = r->at, .capacity = HISTORY};
  memset(a, 0, sizeof *a);
  S2Status status = s2_ncp_solve(ncp, options, a->x, a->y, a->z, &r->history, &arena, &a->info);
  assert_int_equal(status.code, S2_OK);
  assert_int_equal(r->history.count, a->info.iterations);
  check_honest(ncp, options, a);
  s2_arena_free(&arena);
}

// A friction contact that slides.
static void sliding_problem(Affine *p, S2Ncp *ncp) {
  const double g[3] = {1, 0.2, 1}, q[2] = {-1, 3};
  friction_problem(p, ncp, g, q, 0.5);
}

static void test_iterations_run_out(void **state) {
  (void)state;
  Affine p;
  S2Ncp ncp;
  Answer a;
  Record r;
  sliding_problem(&p, &ncp);
  S2NcpOptions options = s2_ncp_options();
  solve_recorded(&ncp, &options, &a, &r);
  assert_int_equal(a.info.status, S2_SOLVED);
  assert_near(r.at[a.info.iterations - 1].residual, fmax(a.info.r_vio, a.info.b_vio), 0);
  int needed = a.info.iterations;
  for (int limit = 0; limit <= needed; ++limit) {
    options.max_iter = limit;
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, limit < needed ? S2_MAX_ITERATIONS : S2_SOLVED);
    assert_int_equal(a.info.iterations, limit);
  }
}

static void test_undercut(void **state) {
  (void)state;
  Affine p;
  S2Ncp ncp;
  Answer a;
  Record r;
  sliding_problem(&p, &ncp);
  S2NcpOptions options = s2_ncp_options();
  const double undercuts[] = {1.5, 5, 100};
  for (int i = 0; i < 3; ++i) { // the floor alone; published code stalls above it
    options.undercut = undercuts[i];
    options.no_progress_undercut = 1;
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, S2_SOLVED);
    assert_true(a.info.iterations <= 10);
    for (int k = 0; k < r.history.count; ++k) {
      assert_true(r.at[k].mu >= options.b_tol / undercuts[i]);
    }
  }
  options.undercut = INFINITY;
  solve_recorded(&ncp, &options, &a, &r);
  assert_int_equal(a.info.status, S2_SOLVED);
  assert_true(r.at[r.history.count - 1].mu < options.b_tol / 1000);
}

// A floor above the tolerance is lowered as soon as the rule for missing progress acts.
static void test_no_progress(void **state) {
  (void)state;
  Affine p;
  S2Ncp ncp;
  Answer a, late;
  Record r;
  sliding_problem(&p, &ncp);
  S2NcpOptions options = s2_ncp_options();
  options.undercut = 0.5;
  solve_recorded(&ncp, &options, &a, &r);
  assert_int_equal(a.info.status, S2_SOLVED);
  options.no_progress_max = 20;
  solve_recorded(&ncp, &options, &late, &r);
  assert_int_equal(late.info.status, S2_SOLVED);
  assert_true(late.info.iterations > a.info.iterations + 10);
  options.no_progress_undercut = 1;
  solve_recorded(&ncp, &options, &a, &r);
  assert_int_not_equal(a.info.status, S2_SOLVED);
  assert_near(a.info.b_vio, 2 * options.b_tol, 1e-3 * options.b_tol);
}

// Newton's method alone diverges from 3.
static bool arctangent(void *user, const double *x, const double *y, const double *z,
                       const double *theta, double *c) {
  (void)user;
  (void)y;
  (void)z;
  (void)theta;
  c[0] = atan(x[0] + 3);
  return true;
}

static void test_line_search(void **state) {
  (void)state;
  S2Ncp ncp = {.x = {.size = 1}, .residual = arctangent};
  S2NcpOptions options = s2_ncp_options();
  Answer a;
  Record r;
  const double scales[] = {0.5, 0.3};
  for (int i = 0; i < 2; ++i) {
    options.ls_scale = scales[i];
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, S2_SOLVED);
    assert_near(a.x[0], -3, 1e-7);
    double first = log(r.at[0].step) / log(scales[i]);
    assert_true(first > 0.5);
    assert_near(first, round(first), 1e-12);
  }
  options.max_ls = 1;
  solve_recorded(&ncp, &options, &a, &r);
  assert_int_equal(a.info.status, S2_MAX_ITERATIONS);
  assert_int_equal(a.info.iterations, 0);
}

static void test_regularisation(void **state) {
  (void)state;
  Affine p;
  Answer a;
  Record r;
  S2NcpOptions options = s2_ncp_options();
  for (int i = 0; i < 2; ++i, options.reg = 0) {
    const double m[4] = {0, 0, 0, 0}, q[2] = {0, 0}, one = 1, none = 0;
    S2Ncp ncp = lcp_problem(&p, 2, m, q); // z = 0, any y
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, S2_SOLVED);
    ncp = lcp_problem(&p, 1, &one, &none); // y = z = 0
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, S2_SOLVED);
    ncp = affine_problem(&p, (S2Cones){0}, 2); // x1 + x2 = 1, twice; then = 1 and = 2
    p.a[0][0] = p.a[0][1] = p.a[1][0] = p.a[1][1] = 1;
    p.b[0] = p.b[1] = -1;
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, S2_SOLVED);
    assert_near(a.x[0] + a.x[1], 1, 1e-8);
    p.b[1] = -2;
    solve_recorded(&ncp, &options, &a, &r);
    assert_int_equal(a.info.status, S2_SINGULAR);
  }
}

// Mehrotra's two ideas can be disabled; the solution is the same, with more iterations in total.
static void test_parts_of_the_method(void **state) {
  (void)state;
  Affine p;
  S2Ncp ncp;
  Answer whole, a;
  Record r;
  S2Rng rng = s2_rng_seeded(9);
  // the whole method, without correction, with a tenth of the product, with both changes
  int sums[4] = {0};
  for (int problem = 0; problem < 100; ++problem) {
    double g[3] = {1, 0.3 - 0.6 * s2_rng_uniform(&rng), 1};
    double q[2] = {-0.1 - 2 * s2_rng_uniform(&rng), 2 - 4 * s2_rng_uniform(&rng)};
    friction_problem(&p, &ncp, g, q, 0.5);
    for (int i = 0; i < 4; ++i) {
      S2NcpOptions options = s2_ncp_options();
      options.corrector = i % 2 == 0;
      options.centering = i < 2 ? -1 : 0.1;
      solve_recorded(&ncp, &options, &a, &r);
      assert_int_equal(a.info.status, S2_SOLVED);
      whole = i == 0 ? a : whole;
      assert_near(a.y[0], whole.y[0], 1e-4);
      assert_near(a.y[2], whole.y[2], 1e-4);
      sums[i] += a.info.iterations;
      assert_true(i < 2 || r.at[0].mu == 0.1); // the products are 1 at first
    }
  }
  assert_true(sums[0] < sums[1] && sums[0] < sums[2] && sums[2] < sums[3]);
  S2NcpOptions options = s2_ncp_options();
  options.centering = 0; // straight at the floor
  solve_recorded(&ncp, &options, &a, &r);
  assert_near(r.at[0].mu, options.b_tol / options.undercut, 0);
}

// z = y - v on the central path: y = (v + sqrt(v^2 + 4 kappa)) / 2.
static void test_central_path(void **state) {
  (void)state;
  Affine p;
  Answer a;
  const double one = 1, speeds[] = {-10, -1, 0, 1, 10};
  S2NcpOptions options = fine_options();
  for (int i = 0; i < 5; ++i) {
    for (double kappa = 1e-6; kappa < 200; kappa *= 10) {
      double v = speeds[i];
      S2Ncp ncp = lcp_problem(&p, 1, &one, &(double){-v});
      options.kappa = kappa;
      solve(&ncp, &options, &a);
      assert_int_equal(a.info.status, S2_SOLVED);
      assert_true(a.info.iterations <= 10);
      double y =
          v > 0 ? (v + sqrt(v * v + 4 * kappa)) / 2 : 2 * kappa / (sqrt(v * v + 4 * kappa) - v);
      assert_near(a.y[0], y, 2 * FINE * (1 + y) / (2 * y - v)); // r_tol and b_tol, over y + z
    }
  }
}

static void test_refusals(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Affine p;
  double room[8] = {0};
  S2NcpInfo info;
  const double one = 1;
  struct {
    S2NcpOptions options;
    const char *message;
  } cases[11];
  for (int i = 0; i < 11; ++i) {
    cases[i].options = s2_ncp_options();
  }
  cases[0].options.r_tol = 0, cases[0].message = "r_tol must be above 0, not 0";
  cases[1].options.b_tol = NAN, cases[1].message = "b_tol must be above 0, not nan";
  cases[2].options.kappa = -1, cases[2].message = "kappa must be at least 0, not -1";
  cases[3].options.max_iter = -1, cases[3].message = "max_iter must be at least 0, not -1";
  cases[4].options.ls_scale = 1, cases[4].message = "ls_scale must be between 0 and 1, not 1";
  cases[5].options.max_ls = 0, cases[5].message = "max_ls must be at least 1, not 0";
  cases[6].options.undercut = 0, cases[6].message = "undercut must be above 0, not 0";
  cases[7].options.no_progress_max = 0;
  cases[7].message = "no_progress_max must be at least 1, not 0";
  cases[8].options.no_progress_undercut = 0.5;
  cases[8].message = "no_progress_undercut must be at least 1, not 0.5";
  cases[9].options.reg = INFINITY, cases[9].message = "reg must be at least 0, not inf";
  cases[10].options.centering = 2, cases[10].message = "centering must be at most 1, not 2";
  S2Ncp ncp = lcp_problem(&p, 1, &one, &one);
  for (int i = 0; i < 11; ++i) {
    S2Status status = s2_ncp_solve(&ncp, &cases[i].options, room, room, room, NULL, &arena, &info);
    assert_int_equal(status.code, S2_INVALID);
    assert_string_equal(status.message, cases[i].message);
  }
  const int empty = 0, first = 0;
  S2NcpOptions options = s2_ncp_options();
  ncp.cones = (S2Cones){.soc_count = 1, .soc = &empty};
  assert_string_equal(s2_ncp_check(&ncp).message,
                      "second-order cone 1 has size 0; it must be at least 1");
  ncp.cones = (S2Cones){.orthant = 2000000000};
  assert_string_equal(
      s2_ncp_check(&ncp).message,
      "the sizes of x and of the cones (counted twice) add up to 4000000000; the limit is 2048");
  ncp.cones = (S2Cones){.orthant = -1};
  assert_int_equal(s2_ncp_check(&ncp).code, S2_INVALID);
  ncp = (S2Ncp){.x = {.size = 2, .rotations = 1, .rotation = &first}, .residual = rod_residual};
  S2Status status = s2_ncp_solve(&ncp, &options, room, room, room, NULL, &arena, &info);
  assert_string_equal(status.message, "the rotation or quaternion at number 1 of x has length 0");
  s2_arena_free(&arena);
}

// ---- Unusual numbers and calls -----------------------------------------------------------------

static void test_nothing(void **state) {
  (void)state;
  Affine p;
  Answer a;
  S2Ncp ncp = affine_problem(&p, (S2Cones){0}, 0);
  solve_fine(&ncp, &a);
  assert_int_equal(a.info.iterations, 0);
  assert_true(a.info.r_vio == 0 && a.info.b_vio == 0);
}

static void test_extreme_numbers(void **state) {
  (void)state;
  Affine p;
  Answer a;
  S2NcpOptions options = s2_ncp_options();
  const double sizes[] = {1e-300, 1e-150, 1e-20, 1e20, 1e150, 1e300};
  for (int i = 0; i < 6; ++i) {
    for (int k = 0; k < 6; ++k) {
      for (int sign = -1; sign <= 1; sign += 2) {
        double m = sizes[i], q = sign * sizes[k];
        S2Ncp ncp = lcp_problem(&p, 1, &m, &q);
        memset(&a, 0, sizeof a);
        solve(&ncp, &options, &a);
      }
    }
  }
}

typedef struct Trouble {
  int calls, at; // the number of calls, and the call that fails
  bool stop;     // by returning false, otherwise by a NaN
} Trouble;

static bool troubled(void *user, const double *x, const double *y, const double *z,
                     const double *theta, double *c) {
  (void)theta;
  Trouble *trouble = user;
  bool now = trouble->calls++ == trouble->at;
  c[0] = now && !trouble->stop ? NAN : z[0] - y[0] - x[0];
  c[1] = x[0] * x[0] * x[0] - 8;
  return !(now && trouble->stop);
}

static void test_trouble(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  const S2NcpOptions options = s2_ncp_options();
  int solved = 0, calls = 1000;
  for (int at = 0; at < calls; ++at) {
    for (int stop = 0; stop < 2; ++stop) {
      Trouble trouble = {.at = at, .stop = stop};
      S2Ncp ncp = {
          .x = {.size = 1}, .cones = {.orthant = 1}, .residual = troubled, .user = &trouble};
      double x = 1, y, z;
      S2NcpInfo info;
      S2Status status = s2_ncp_solve(&ncp, &options, &x, &y, &z, NULL, &arena, &info);
      assert_int_equal(arena.used, 0);
      if (stop) {
        assert_int_equal(status.code, trouble.calls > at ? S2_ABORTED : S2_OK);
        assert_true(status.code == S2_OK || trouble.calls == at + 1);
        calls = status.code == S2_OK ? at : calls;
      } else {
        assert_int_equal(status.code, S2_OK);
        bool small = info.r_vio <= options.r_tol && info.b_vio <= options.b_tol;
        assert_int_equal(info.status == S2_SOLVED, small);
        assert_true(at > 0 || (info.status == S2_SINGULAR && isnan(info.r_vio)));
        solved += small;
      }
    }
  }
  assert_true(calls < 1000 && solved > 0);
  s2_arena_free(&arena);
}

// c is defined on one side only; the line search stays there.
static bool logarithm(void *user, const double *x, const double *y, const double *z,
                      const double *theta, double *c) {
  (void)user;
  (void)y;
  (void)z;
  (void)theta;
  c[0] = log(x[0] + 5);
  return true;
}

static void test_leaves_the_domain(void **state) {
  (void)state;
  S2Ncp ncp = {.x = {.size = 1}, .residual = logarithm};
  Answer a = {0};
  solve_fine(&ncp, &a);
  assert_near(a.x[0], -4, 1e-10);
}

static void test_same_bits_and_no_heap(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(16);
  S2Arena arena;
  s2_arena_init(&arena);
  Affine p;
  S2Ncp ncp;
  Answer first, again;
  random_program(&rng, &p, &ncp, some_cones(5), 7, 0.3);
  S2NcpOptions options = s2_ncp_options();
  uint64_t before = 0;
  for (int i = 0; i < 4; ++i) {
    memset(&again, 0, sizeof again);
    s2_arena_reset(&arena);
    before = i == 2 ? s2_memory_count() : before;
    s2_ncp_solve(&ncp, &options, again.x, again.y, again.z, NULL, &arena, &again.info);
    first = i == 0 ? again : first;
    assert_memory_equal(&again.x, &first.x, sizeof again.x);
    assert_memory_equal(&again.y, &first.y, sizeof again.y);
    assert_memory_equal(&again.z, &first.z, sizeof again.z);
  }
  assert_int_equal(s2_memory_count(), before);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_iterations_run_out),
      cmocka_unit_test(test_undercut),
      cmocka_unit_test(test_no_progress),
      cmocka_unit_test(test_line_search),
      cmocka_unit_test(test_regularisation),
      cmocka_unit_test(test_central_path),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_extreme_numbers),
      cmocka_unit_test(test_trouble),
      cmocka_unit_test(test_parts_of_the_method),
      cmocka_unit_test(test_leaves_the_domain),
      cmocka_unit_test(test_same_bits_and_no_heap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
