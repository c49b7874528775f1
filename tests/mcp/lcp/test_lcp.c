// The methods for linear complementarity problems, each alone and as the chain.
#include "sanitized.h"

#include "base/arena.h"
#include "base/memory.h"
#include "base/rng.h"
#include "mcp/lcp/lcp.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
  PATH_SIZE = 512,
  NAME_SIZE = 64,
  FUZZ = S2_FEWER(30000, 500),
  FUZZ_ROWS = 6,
  MAX_ROWS = 512
};

static const double TOLERANCE = 1e-9;

// ---- Helpers ----------------------------------------------------------------------------------

static double z_store[MAX_ROWS], w_store[MAX_ROWS], ray_store[MAX_ROWS];

static S2LcpSolution solve(const S2LcpProblem *problem, S2LcpSolver solver, S2Arena *arena) {
  S2LcpSolverOptions options = {.solver = solver};
  S2LcpSolution solution = {.z = z_store, .w = w_store, .ray = ray_store};
  assert_true(problem->n <= MAX_ROWS);
  S2SolveStatus status = s2_lcp_solve(problem, &options, arena, &solution);
  assert_int_equal(status, solution.status);
  return solution;
}

static double size_of(const double *x, int n) {
  double size = 0;
  for (int i = 0; i < n; ++i) {
    size = fmax(size, fabs(x[i]));
  }
  return size;
}

// Holds for every result of every method: the status agrees with the residual. The residual is
// computed here independently of the library, with more digits.
static void check_answer(const S2LcpProblem *problem, const S2LcpSolution *solution) {
  long double residual = 0, noise = 0,
              allowed = TOLERANCE * fmax(1, size_of(problem->q, problem->n));
  for (int i = 0; i < problem->n; ++i) {
    long double w = problem->q[i], size = fabs(problem->q[i]), z = solution->z[i];
    for (int j = 0; j < problem->n; ++j) {
      long double term = (long double)problem->m[i * problem->n + j] * solution->z[j];
      w += term;
      size += fabsl(term);
    }
    assert_true(isfinite(solution->z[i]) && z >= 0);
    assert_true(fabsl(w - solution->w[i]) <= allowed + 1e-13L * size);
    residual = fmaxl(residual, fabsl(fminl(z, w)));
    noise = fmaxl(noise, LDBL_EPSILON * size);
  }
  if (noise > allowed) {
    return; // too large even for these digits
  }
  if ((residual <= allowed) != (solution->status == S2_SOLVED)) {
    fail_msg("%s with a residual of %Lg", s2_solve_status_name(solution->status), residual);
  }
  assert_true(fabsl(residual - solution->residual) <= allowed);
}

static bool no_solution(S2SolveStatus status) {
  return status == S2_RAY || status == S2_INFEASIBLE;
}

// ---- The test set -----------------------------------------------------------------------------

typedef struct Entry {
  char name[NAME_SIZE];
  bool solvable, unique, velocity_unique;
} Entry;

static void path_of(char path[PATH_SIZE], const char *name, const char *suffix) {
  snprintf(path, PATH_SIZE, "%s/lcp/%s%s", S2_TEST_DATA, name, suffix);
}

static FILE *open_data(const char *name, const char *suffix) {
  char path[PATH_SIZE];
  path_of(path, name, suffix);
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    fail_msg("cannot open %s", path);
  }
  int c = fgetc(file);
  while (c == '#' || c == '\n') {
    while (c != '\n' && c != EOF) {
      c = fgetc(file);
    }
    c = fgetc(file);
  }
  ungetc(c, file);
  return file;
}

static int next_int(FILE *file) {
  int value = 0;
  assert_int_equal(fscanf(file, "%d", &value), 1);
  return value;
}

static double *next_doubles(FILE *file, int count, S2Arena *arena) {
  double *x = S2_TAKE(arena, double, count);
  for (int i = 0; i < count; ++i) {
    assert_int_equal(fscanf(file, "%lf", &x[i]), 1);
  }
  return x;
}

// The first solution listed.
static double *read_solution(const char *name, int n, S2Arena *arena) {
  FILE *file = open_data(name, ".sol");
  assert_true(next_int(file) >= 1);
  assert_int_equal(next_int(file), n);
  double *z = next_doubles(file, n, arena);
  fclose(file);
  return z;
}

// The difference of the velocities v + W^-1 J' lambda of two solutions, relative to their size.
static double velocity_off(const Entry *entry, const double *z, const double *known, int n,
                           S2Arena *arena) {
  FILE *file = open_data(entry->name, ".jac");
  int contacts = next_int(file), columns = 3 * next_int(file);
  double *normal = next_doubles(file, contacts * columns, arena);
  double *tangent = next_doubles(file, contacts * columns, arena);
  next_doubles(file, contacts, arena); // friction
  double *inverse_mass = next_doubles(file, columns, arena);
  double *v = next_doubles(file, columns, arena);
  fclose(file);
  bool friction = n == 4 * contacts;
  double off = 0, size = 1;
  for (int c = 0; c < columns; ++c) {
    double impulse = 0, difference = 0;
    for (int i = 0; i < contacts; ++i) {
      double n_c = normal[i * columns + c], t_c = tangent[i * columns + c];
      impulse += n_c * known[i];
      difference += n_c * (z[i] - known[i]);
      if (friction) {
        int plus = contacts + i, minus = 2 * contacts + i;
        impulse += t_c * (known[plus] - known[minus]);
        difference += t_c * ((z[plus] - known[plus]) - (z[minus] - known[minus]));
      }
    }
    off = fmax(off, fabs(inverse_mass[c] * difference));
    size = fmax(size, fabs(v[c] + inverse_mass[c] * impulse));
  }
  return off / size;
}

static void check_entry(const Entry *entry, S2Arena *arena) {
  // Condition 1e8: z is not determined to the compared digits.
  bool sensitive = strcmp(entry->name, "random/spd_cond1e8_n50") == 0;
  char path[PATH_SIZE];
  path_of(path, entry->name, ".lcp");
  S2LcpProblem *problem;
  S2Status read = s2_lcp_read(path, &problem);
  if (read.code != S2_OK) {
    fail_msg("%s", read.message);
  }
  int n = problem->n;
  S2LcpSolution solution = solve(problem, S2_LCP_AUTO, arena);
  check_answer(problem, &solution);
  if (entry->solvable ? solution.status != S2_SOLVED : !no_solution(solution.status)) {
    fail_msg("%s: %s, residual %g", entry->name, s2_solve_status_name(solution.status),
             solution.residual);
  }
  if (entry->solvable && (entry->unique || entry->velocity_unique) && !sensitive) {
    double *known = read_solution(entry->name, n, arena), off = 0;
    for (int i = 0; i < n && entry->unique; ++i) {
      off = fmax(off, fabs(solution.z[i] - known[i]) / fmax(1, size_of(known, n)));
    }
    if (entry->velocity_unique) {
      off = fmax(off, velocity_off(entry, solution.z, known, n, arena));
    }
    if (!(off <= TOLERANCE)) {
      fail_msg("%s: off by %g", entry->name, off);
    }
  }
  for (int other = S2_LCP_AUTO + 1; other < S2_LCP_SOLVER_COUNT; ++other) {
    solution = solve(problem, (S2LcpSolver)other, arena);
    check_answer(problem, &solution);
    if (entry->solvable && solution.status == S2_INFEASIBLE) {
      fail_msg("%s: %s disproves it", entry->name, s2_lcp_solver_name((S2LcpSolver)other));
    }
  }
  s2_lcp_free(problem);
}

static void test_set(void **state) {
  (void)state;
  FILE *file = open_data("manifest", ".txt");
  int count = 0;
  char name[NAME_SIZE], kind[16], solvable[8], unique[8], velocity_unique[8];
  while (fscanf(file, "%63s %15s %7s %7s %7s", name, kind, solvable, unique, velocity_unique) ==
         5) {
    Entry entry = {
        .solvable = strcmp(solvable, "yes") == 0,
        .unique = strcmp(unique, "yes") == 0,
        .velocity_unique = strcmp(velocity_unique, "yes") == 0,
    };
    *strrchr(name, '.') = 0;
    memcpy(entry.name, name, sizeof name);
    S2Arena arena;
    s2_arena_init(&arena);
    check_entry(&entry, &arena);
    s2_arena_free(&arena);
    count += 1;
  }
  fclose(file);
  assert_int_equal(count, 87);
}

// ---- Fuzz -------------------------------------------------------------------------------------

// Entries from {-2..2}: degenerate, singular and unsolvable problems of every kind.
static void random_problem(S2Rng *rng, int n, double *m, double *q) {
  int64_t zeros = s2_rng_integer(rng, 0, 3); // this many of 4 entries are 0, on average
  for (int i = 0; i < n * n; ++i) {
    m[i] = s2_rng_integer(rng, 0, 3) < zeros ? 0 : (double)s2_rng_integer(rng, -2, 2);
  }
  for (int i = 0; i < n; ++i) {
    q[i] = (double)s2_rng_integer(rng, -2, 2);
  }
}

typedef struct Tally {
  int solvable, unsolvable;
  int solved[S2_LCP_SOLVER_COUNT];
} Tally;

static void fuzz_one(S2Rng *rng, S2Arena *arena, Tally *tally) {
  double m[FUZZ_ROWS * FUZZ_ROWS], q[FUZZ_ROWS];
  int n = (int)s2_rng_integer(rng, 1, FUZZ_ROWS);
  random_problem(rng, n, m, q);
  S2LcpProblem problem = {n, m, q};
  S2LcpSolution solution = solve(&problem, S2_LCP_ENUMERATE, arena);
  check_answer(&problem, &solution);
  bool solvable = solution.status == S2_SOLVED;
  assert_true(solvable || solution.status == S2_INFEASIBLE);
  tally->solvable += solvable;
  tally->unsolvable += !solvable;
  for (int k = 0; k < S2_LCP_SOLVER_COUNT; ++k) {
    solution = solve(&problem, (S2LcpSolver)k, arena);
    check_answer(&problem, &solution);
    bool solved = solution.status == S2_SOLVED;
    tally->solved[k] += solved;
    if ((solved && !solvable) || (solution.status == S2_INFEASIBLE && solvable)) {
      fail_msg("%s and enumerate disagree", s2_lcp_solver_name((S2LcpSolver)k));
    }
    if (k == S2_LCP_AUTO && !solved) {
      assert_true(!solvable && solution.status == S2_INFEASIBLE);
    }
  }
}

static void fuzz(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(3);
  Tally tally = {0};
  for (int i = 0; i < FUZZ; ++i) {
    fuzz_one(&rng, &arena, &tally);
  }
  s2_arena_free(&arena);
  print_message("%d solvable, %d not; solved by", tally.solvable, tally.unsolvable);
  for (int k = 0; k < S2_LCP_SOLVER_COUNT; ++k) {
    print_message(" %s %d", s2_lcp_solver_name((S2LcpSolver)k), tally.solved[k]);
  }
  print_message("\n");
  assert_true(tally.solvable > FUZZ / 4 && tally.unsolvable > FUZZ / 8);
}

// The same kind with rows, columns and q scaled by powers of two, which rounds nothing: solutions
// are only scaled.
static void fuzz_scaled(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(4);
  int solved = 0;
  for (int i = 0; i < FUZZ / 10; ++i) {
    double m[FUZZ_ROWS * FUZZ_ROWS], q[FUZZ_ROWS];
    int n = (int)s2_rng_integer(&rng, 1, FUZZ_ROWS);
    random_problem(&rng, n, m, q);
    S2LcpProblem problem = {n, m, q};
    S2SolveStatus plain = solve(&problem, S2_LCP_ENUMERATE, &arena).status;
    for (int r = 0; r < n; ++r) {
      double row = ldexp(1, (int)s2_rng_integer(&rng, 0, 20));
      double column = ldexp(1, (int)s2_rng_integer(&rng, -13, 13));
      for (int k = 0; k < n; ++k) {
        m[r * n + k] *= row;
        m[k * n + r] *= column;
      }
      q[r] *= row;
    }
    for (int k = 0; k < S2_LCP_SOLVER_COUNT; ++k) {
      S2LcpSolution solution = solve(&problem, (S2LcpSolver)k, &arena);
      check_answer(&problem, &solution);
      bool settles = k == S2_LCP_AUTO || k == S2_LCP_ENUMERATE;
      if ((settles && solution.status != plain) ||
          (solution.status == S2_INFEASIBLE && plain == S2_SOLVED)) {
        fail_msg("problem %d: %s says %s, unscaled it is %s", i, s2_lcp_solver_name((S2LcpSolver)k),
                 s2_solve_status_name(solution.status), s2_solve_status_name(plain));
      }
    }
    solved += plain == S2_SOLVED;
  }
  assert_true(solved > FUZZ / 40);
  s2_arena_free(&arena);
}

// ---- Extremes ---------------------------------------------------------------------------------

static S2LcpSolution solve_one(double m, double q, S2LcpSolver solver) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2LcpProblem problem = {1, &m, &q};
  S2LcpSolution solution = solve(&problem, solver, &arena);
  if (isfinite(m) && isfinite(q)) {
    check_answer(&problem, &solution);
  }
  s2_arena_free(&arena);
  return solution;
}

static void smallest(void **state) {
  (void)state;
  for (int k = 0; k < S2_LCP_SOLVER_COUNT; ++k) {
    S2LcpSolver solver = (S2LcpSolver)k;
    S2Arena arena;
    s2_arena_init(&arena);
    S2LcpProblem none = {0, NULL, NULL};
    assert_int_equal(solve(&none, solver, &arena).status, S2_SOLVED);
    s2_arena_free(&arena);
    assert_int_equal(solve_one(2, -4, solver).status, S2_SOLVED);
    assert_true(fabs(z_store[0] - 2) <= TOLERANCE);
    assert_int_equal(solve_one(-1, 1, solver).status, S2_SOLVED);
    assert_int_equal(solve_one(0, 0, solver).status, S2_SOLVED);
    assert_int_equal(solve_one(0, 3, solver).status, S2_SOLVED);
    assert_true(z_store[0] == 0 && w_store[0] == 3);
    // without a solution: no method may report one
    const double hopeless[4][2] = {{0, -1}, {-1, -1}, {-1e150, -1e150}, {0, -1e-8}};
    for (int i = 0; i < 4; ++i) {
      S2SolveStatus status = solve_one(hopeless[i][0], hopeless[i][1], solver).status;
      assert_int_not_equal(status, S2_SOLVED);
      if (solver == S2_LCP_AUTO || solver == S2_LCP_ENUMERATE) {
        assert_int_equal(status, S2_INFEASIBLE);
      }
    }
    // values that are not finite
    const double bad[4][2] = {
        {(double)NAN, -1}, {1, (double)NAN}, {(double)INFINITY, -1}, {1, -(double)INFINITY}};
    for (int i = 0; i < 4; ++i) {
      S2LcpSolution solution = solve_one(bad[i][0], bad[i][1], solver);
      assert_int_equal(solution.status, S2_SINGULAR);
      assert_true(isnan(solution.residual) && z_store[0] == 0);
    }
    assert_int_not_equal(solve_one(1e-300, -1e300, solver).status, S2_SOLVED); // z overflows
  }
}

static void very_large_and_small(void **state) {
  (void)state;
  const double scales[][2] = {
      {1e150, -1e150}, {1e-150, -1}, {1e150, -1}, {1e-150, -1e-150}, {1e-150, -1e150}};
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < S2_LCP_SOLVER_COUNT; ++k) {
      double m = scales[i][0], q = scales[i][1];
      assert_int_equal(solve_one(m, q, (S2LcpSolver)k).status, S2_SOLVED);
    }
    solve_one(scales[i][0], scales[i][1], S2_LCP_AUTO);
    assert_true(fabs(z_store[0] / (-scales[i][1] / scales[i][0]) - 1) < 1e-15);
  }
  S2Arena arena;
  s2_arena_init(&arena);
  // both in one problem: z = (1e-150, 1e150)
  const double m[4] = {1e150, 0, 0, 1e-150}, q[2] = {-1, -1};
  S2LcpProblem problem = {2, m, q};
  for (int k = 0; k < S2_LCP_SOLVER_COUNT; ++k) {
    S2LcpSolution solution = solve(&problem, (S2LcpSolver)k, &arena);
    check_answer(&problem, &solution);
    assert_int_equal(solution.status, S2_SOLVED);
  }
  s2_arena_free(&arena);
}

// The same contact twice, and a row of zeros: M is singular, w is unique.
static void redundant(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  const double m[16] = {2, 2, 1, 0, 2, 2, 1, 0, 1, 1, 3, 0, 0, 0, 0, 0}, q[4] = {-4, -4, -7, 0};
  S2LcpProblem problem = {4, m, q};
  const S2LcpSolver able[] = {S2_LCP_AUTO, S2_LCP_LEMKE, S2_LCP_ENUMERATE, S2_LCP_NEWTON,
                              S2_LCP_PDIPM};
  for (int k = 0; k < 5; ++k) {
    S2LcpSolution solution = solve(&problem, able[k], &arena);
    check_answer(&problem, &solution);
    assert_int_equal(solution.status, S2_SOLVED);
    assert_true(fabs(z_store[0] + z_store[1] - 1) < 1e-8 && fabs(z_store[2] - 2) < 1e-8);
  }
  assert_int_equal(solve(&problem, S2_LCP_PGS, &arena).status, S2_UNSUPPORTED);
  s2_arena_free(&arena);
}

// M (1, 2) and (1, 2)' / 2 vanish: far along that ray rounding hides q, and in plain arithmetic the
// residual of (2e18, 1e18) is 0. There is no solution.
static void far_out(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  const double m[4] = {-1, 2, 1, -2}, q[2] = {-2, -2};
  S2LcpProblem problem = {2, m, q};
  for (int k = 0; k < S2_LCP_SOLVER_COUNT; ++k) {
    assert_int_not_equal(solve(&problem, (S2LcpSolver)k, &arena).status, S2_SOLVED);
  }
  s2_arena_free(&arena);
}

// Solvable by z = (2/e + 1, 2/e), unsolvable with -e for e: no method may confuse the two while e
// is larger than rounding, even if it cannot solve the problem.
static void nearly_singular(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  const double q[2] = {-1, -1};
  for (double e = 1e-3; e > 2e-13; e /= 10) {
    for (int sign = -1; sign < 2; sign += 2) {
      const double m[4] = {1, -1, -1, 1 + sign * e};
      S2LcpProblem problem = {2, m, q};
      for (int k = 0; k < S2_LCP_SOLVER_COUNT; ++k) {
        S2LcpSolution solution = solve(&problem, (S2LcpSolver)k, &arena);
        assert_int_not_equal(solution.status, sign > 0 ? S2_INFEASIBLE : S2_SOLVED);
        if (k == S2_LCP_AUTO) {
          assert_int_equal(solution.status, sign > 0 ? S2_SOLVED : S2_INFEASIBLE);
        }
      }
    }
  }
  s2_arena_free(&arena);
}

// ---- Contract ---------------------------------------------------------------------------------

// A stiff chain: symmetric positive definite, n rows.
static S2LcpProblem chain(int n, S2Arena *arena) {
  double *m = S2_TAKE_ZEROED(arena, double, n *n), *q = S2_TAKE(arena, double, n);
  for (int i = 0; i < n; ++i) {
    m[i * n + i] = 2.5;
    if (i > 0) {
      m[i * n + i - 1] = m[(i - 1) * n + i] = -1;
    }
    q[i] = i % 3 == 0 ? 1 : -1;
  }
  return (S2LcpProblem){n, m, q};
}

static void limits_are_told(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2LcpProblem problem = chain(12, &arena), large = chain(17, &arena);
  for (int k = 1; k < S2_LCP_SOLVER_COUNT; ++k) {
    S2LcpSolverOptions options = {.solver = (S2LcpSolver)k, .max_iterations = 1};
    S2LcpSolution solution = {.z = z_store, .w = w_store, .ray = ray_store};
    s2_lcp_solve(&problem, &options, &arena, &solution);
    check_answer(&problem, &solution);
    // One block, or the signs after one factorisation, are enough here for the others.
    if (k == S2_LCP_LEMKE || k == S2_LCP_ENUMERATE || k == S2_LCP_PGS) {
      assert_int_equal(solution.status, S2_MAX_ITERATIONS);
      assert_int_equal(solution.iterations, 1);
    }
  }
  assert_int_equal(solve(&large, S2_LCP_ENUMERATE, &arena).status, S2_UNSUPPORTED);
  s2_arena_free(&arena);
}

static void history_ends_at_the_solution(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2LcpProblem problem = chain(12, &arena);
  for (int k = 0; k < S2_LCP_SOLVER_COUNT; ++k) {
    S2Iterate at[4096];
    S2History history = {.at = at, .capacity = 4096};
    S2LcpSolverOptions options = {.solver = (S2LcpSolver)k, .history = &history};
    S2LcpSolution with = {.z = z_store, .w = w_store};
    s2_lcp_solve(&problem, &options, &arena, &with);
    S2LcpSolution without = solve(&problem, (S2LcpSolver)k, &arena);
    assert_int_equal(history.count, with.iterations);
    assert_true(at[history.count - 1].residual <= TOLERANCE);
    assert_true(with.residual == without.residual && with.iterations == without.iterations);
  }
  s2_arena_free(&arena);
}

static void no_heap_and_the_same_again(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Arena store;
  s2_arena_init(&store);
  S2LcpProblem problem = chain(12, &store);
  for (int k = 0; k < S2_LCP_SOLVER_COUNT; ++k) {
    solve(&problem, (S2LcpSolver)k, &arena);
    s2_arena_reset(&arena);
    double first[12];
    memcpy(first, z_store, sizeof first);
    uint64_t before = s2_memory_count();
    solve(&problem, (S2LcpSolver)k, &arena);
    assert_int_equal(arena.used, 0);
    assert_int_equal(s2_memory_count() - before, 0);
    assert_memory_equal(first, z_store, sizeof first);
  }
  s2_arena_free(&store);
  s2_arena_free(&arena);
}

static void names(void **state) {
  (void)state;
  for (int k = 0; k < S2_LCP_SOLVER_COUNT; ++k) {
    assert_int_equal(s2_lcp_solver_from_name(s2_lcp_solver_name((S2LcpSolver)k)), k);
    assert_non_null(s2_lcp_solver_summary((S2LcpSolver)k));
  }
  assert_int_equal(s2_lcp_solver_from_name("lemk"), S2_LCP_SOLVER_COUNT);
  assert_null(s2_lcp_solver_name(S2_LCP_SOLVER_COUNT));
}

// ---- Files ------------------------------------------------------------------------------------

static void file_round_trip(void **state) {
  (void)state;
  const double m[4] = {1.0 / 3, -1e-300, 5e300, 0}, q[2] = {-0.1, 7};
  S2LcpProblem problem = {2, m, q}, *read;
  assert_int_equal(s2_lcp_write(&problem, "round_trip.lcp").code, S2_OK);
  assert_int_equal(s2_lcp_read("round_trip.lcp", &read).code, S2_OK);
  assert_int_equal(read->n, 2);
  assert_memory_equal(read->m, m, sizeof m);
  assert_memory_equal(read->q, q, sizeof q);
  s2_lcp_free(read);
  S2LcpProblem none = {0, NULL, NULL};
  assert_int_equal(s2_lcp_write(&none, "round_trip.lcp").code, S2_OK);
  assert_int_equal(s2_lcp_read("round_trip.lcp", &read).code, S2_OK);
  assert_int_equal(read->n, 0);
  s2_lcp_free(read);
  assert_int_equal(s2_lcp_read("no_such_file.lcp", &read).code, S2_IO);
  assert_null(read);
  remove("round_trip.lcp");
}

static void file_errors(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "bad.lcp:1: the file ends where n was expected"},
      {"# only this", "bad.lcp:1: the file ends where n was expected"},
      {"two\n", "bad.lcp:1: n must be a number, not 'two'"},
      {"# a\n1.5\n", "bad.lcp:2: n is 1.5; it must be an integer in 0..32768"},
      {"-1\n", "bad.lcp:1: n is -1; it must be an integer in 0..32768"},
      {"30000\n1\n", "bad.lcp:1: the file is too short for n = 30000"},
      {"2\n1 0\n0 x\n1 1\n", "bad.lcp:3: M[2][2] must be a number, not 'x'"},
      {"2\n1 0\n0 1\n1        \n", "bad.lcp:5: the file ends where q[2] was expected"},
      {"1\n2\n-4\n5\n", "bad.lcp:4: unexpected '5'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    FILE *file = fopen("bad.lcp", "w");
    assert_non_null(file);
    fputs(cases[i].text, file);
    fclose(file);
    S2LcpProblem *read;
    S2Status status = s2_lcp_read("bad.lcp", &read);
    assert_int_equal(status.code, S2_INVALID);
    assert_string_equal(status.message, cases[i].message);
    assert_null(read);
  }
  remove("bad.lcp");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_set),
      cmocka_unit_test(fuzz),
      cmocka_unit_test(fuzz_scaled),
      cmocka_unit_test(smallest),
      cmocka_unit_test(very_large_and_small),
      cmocka_unit_test(redundant),
      cmocka_unit_test(far_out),
      cmocka_unit_test(nearly_singular),
      cmocka_unit_test(limits_are_told),
      cmocka_unit_test(history_ends_at_the_solution),
      cmocka_unit_test(no_heap_and_the_same_again),
      cmocka_unit_test(names),
      cmocka_unit_test(file_round_trip),
      cmocka_unit_test(file_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
