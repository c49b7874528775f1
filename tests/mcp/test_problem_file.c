// Text files of step problems: bit-exact round trip, messages, and all other contents.
#include "base/arena.h"
#include "base/rng.h"
#include "mcp/mcp.h"
#include "mcp/solvers.h"
#include "temporary.h"

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
#include <unistd.h>

enum { PATH_SIZE = TEMPORARY_SIZE, MAX_NODES = 9, MAX_ROWS = 40 };

static void temporary_path(char *path) {
  temporary_name(path, "problem");
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
}

static void write_text(const char *path, const char *text, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static void assert_same_problem(const S2Problem *x, const S2Problem *y) {
  size_t bytes = 3 * sizeof(double) * (size_t)x->nodes;
  assert_int_equal(x->nodes, y->nodes);
  assert_int_equal(x->rows, y->rows);
  assert_memory_equal(&x->velocity_scale, &y->velocity_scale, sizeof(double));
  assert_memory_equal(&x->length, &y->length, sizeof(double));
  assert_memory_equal(x->mass, y->mass, bytes);
  assert_memory_equal(x->rhs, y->rhs, bytes);
  assert_memory_equal(x->row, y->row, sizeof(S2Row) * (size_t)x->rows);
}

// Any sign, any magnitude that a double can have.
static double wild(S2Rng *rng) {
  double x = ldexp(s2_rng_normal(rng), (int)s2_rng_integer(rng, -1070, 1020));
  return isfinite(x) ? x : 1;
}

static void problem_round_trip(void **state) {
  (void)state;
  char path[PATH_SIZE];
  temporary_path(path);
  for (int seed = 0; seed < 200; ++seed) {
    S2Rng rng = s2_rng_seeded((uint64_t)seed);
    double mass[3 * MAX_NODES], rhs[3 * MAX_NODES];
    S2Row rows[MAX_ROWS] = {{0}};
    int nodes = (int)s2_rng_integer(&rng, 1, MAX_NODES);
    S2Problem written = {
        .nodes = nodes,
        .rows = (int)s2_rng_integer(&rng, 0, MAX_ROWS),
        .mass = mass,
        .rhs = rhs,
        .row = rows,
        .velocity_scale = fabs(wild(&rng)) + 5e-324,
        .length = fabs(wild(&rng)) + 5e-324,
    };
    for (int i = 0; i < 3 * nodes; ++i) {
      mass[i] = fabs(wild(&rng)) + 5e-324;
      rhs[i] = i == 1 ? -0.0 : wild(&rng);
    }
    for (int i = 0; i < written.rows; ++i) {
      S2Row *row = &rows[i];
      bool bilateral = i < written.rows / 3,
           friction = !bilateral && i > 0 && rows[i - 1].lo == 0 && rows[i - 1].coupled_to < 0;
      row->a = (int32_t)s2_rng_integer(&rng, 0, nodes - 1);
      row->b = (int32_t)s2_rng_integer(&rng, S2_GROUND, nodes - 1);
      row->coupled_to = friction ? i - 1 : -1;
      row->group = i / 2;
      row->lo = bilateral ? -INFINITY : 0;
      row->hi = friction ? 0 : INFINITY;
      row->mu = fabs(wild(&rng));
      row->compliance = fabs(wild(&rng));
      row->bias = wild(&rng);
      for (int k = 0; k < 3; ++k) {
        row->ja[k] = wild(&rng);
        row->jb[k] = row->b == S2_GROUND ? 0 : wild(&rng);
      }
    }
    assert_int_equal(s2_problem_write(&written, path).code, S2_OK);
    S2Problem *problem;
    S2Status status = s2_problem_read(path, &problem);
    if (status.code != S2_OK) {
      fail_msg("seed %d: %s", seed, status.message);
    }
    assert_same_problem(problem, &written);
    s2_problem_free(problem);
  }
  remove(path);
}

static const char ball[] = "sim2d-problem 1\n"
                           "velocity_scale 0.1\n"
                           "length 0.2 # of the ball\n"
                           "nodes 1\n"
                           "rows 2\n"
                           "\n"
                           "node 0.005 1 1   0 0.3 -0.1\r\n"
                           "row 0 -1 -1 0  0 inf 0 0 0  0 0 1  0 0 0\n"
                           "row 0 -1 0 0  0 0 0.5 0 0  0.1 1 0  0 0 0\n"
                           "end\n";

static void problem_from_text(void **state) {
  (void)state;
  char path[PATH_SIZE];
  temporary_path(path);
  write_text(path, ball, sizeof ball - 1);
  S2Problem *problem;
  assert_int_equal(s2_problem_read(path, &problem).code, S2_OK);
  S2Arena arena;
  s2_arena_init(&arena);
  double v[3], lambda[2];
  S2Solution solution = {.v = v, .lambda = lambda};
  S2SolverOptions options = {.tolerance = 1e-12};
  assert_int_equal(s2_closed_solve(problem, &options, &arena, &solution), S2_SOLVED);
  assert_true(fabs(v[1] - 0.25) < 1e-15 && fabs(v[2]) < 1e-15); // mu m g h = .05 N s
  s2_arena_free(&arena);
  s2_problem_free(problem);
  remove(path);
}

static void problem_malformed(void **state) {
  (void)state;
  static const struct {
    const char *find, *replace, *message; // the message without the path
  } cases[] = {
      {"sim2d-problem 1", "sim2d-world 1", ":1: expected 'sim2d-problem', found 'sim2d-world'"},
      {"problem 1", "problem 2", ":1: version is 2; it must be in 1..1"},
      {"problem 1", "problem", ":1: version is missing"},
      {"0.1\n", "0\n", ":2: velocity_scale is 0; it must be above 0"},
      {"0.2 #", "-2 #", ":3: length is -2; it must be above 0"},
      {"0.2 #", "0.2 0.3 #", ":3: unexpected '0.3'"},
      {"0.2 #", "long #", ":3: length must be a number, not 'long'"},
      {"0.2 #", "#", ":3: length is missing"},
      {"nodes 1", "nodes -1", ":4: nodes is -1; it must be in 0..2147483647"},
      {"nodes 1", "nodes 1.5", ":4: nodes must be an integer, not '1.5'"},
      {"nodes 1", "nodes 2147483647", ":4: 2147483647 nodes do not fit into a file of this size"},
      {"nodes 1", "nodes 99999999999999999999",
       ":4: nodes is 99999999999999999999; it must be in 0..2147483647"},
      {"nodes 1", "nodes 2", ":8: expected 'node', found 'row'"},
      {"nodes 1", "nodes 0", ":7: expected 'row', found 'node'"},
      {"rows 2", "rows 2000000000", ":5: 2000000000 rows do not fit into a file of this size"},
      {"rows 2", "rows 1", ":9: expected 'end', found 'row'"},
      {"rows 2", "rows 3", ":10: expected 'row', found 'end'"},
      {"0.005 1", "0 1", ":7: mass is 0; it must be above 0"},
      {"0.005 1", "nan 1", ":7: mass is not a number (nan)"},
      {"0.005 1", "1e999 1", ":7: mass must be finite"},
      {"0.3 -0.1", "0.3", ":7: right side is missing"},
      {"row 0 -1 -1 0", "row -1 -1 -1 0",
       ":8: a row needs at least one node: both are -1 (ground)"},
      {"row 0 -1 -1 0", "row 1 -1 -1 0", ":8: node a is 1; it must be in -1..0"},
      {"row 0 -1 -1 0", "row 0 -1 0 0",
       ":8: row 0 is coupled to row 0; a friction row must directly follow its normal row "
       "(lo = 0)"},
      {"row 0 -1 0 0", "row 0 -1 1 0",
       ":9: row 1 is coupled to row 1; a friction row must directly follow its normal row "
       "(lo = 0)"},
      {"-1 -1 0  0 inf", "-1 -1 1  0 inf", ":9: group 0 after 1: groups must ascend"},
      {"0 inf 0", "0 -1 0", ":8: bounds 0..-1 are empty"},
      {"0.5 0 0", "-0.5 0 0", ":9: mu is -0.5; it must not be negative"},
      {"0.5 0 0", "0.5 -1 0", ":9: compliance is -1; it must not be negative"},
      {"0.5 0 0", "inf 0 0", ":9: mu must be finite"},
      {"end\n", "", ":10: the file ends where 'end' was expected"},
  };
  char path[PATH_SIZE], text[2 * sizeof ball];
  temporary_path(path);
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    const char *at = strstr(ball, cases[k].find);
    assert_non_null(at);
    int size = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - ball), ball, cases[k].replace,
                        at + strlen(cases[k].find));
    write_text(path, text, (size_t)size);
    S2Problem *problem;
    S2Status status = s2_problem_read(path, &problem);
    assert_int_equal(status.code, S2_INVALID);
    assert_null(problem);
    assert_int_equal(strncmp(status.message, path, strlen(path)), 0);
    assert_string_equal(status.message + strlen(path), cases[k].message);
  }
  remove(path);
}

// Every prefix and 2,000 files with a few wrong bytes: an error or a problem, never anything else.
static void problem_fuzzed(void **state) {
  (void)state;
  enum { CASES = 2000 };
  char path[PATH_SIZE], text[sizeof ball];
  temporary_path(path);
  int accepted = 0;
  S2Rng rng = s2_rng_seeded(1);
  for (size_t k = 0; k < CASES + sizeof ball - 2; ++k) {
    size_t size = k < sizeof ball - 2 ? k : sizeof ball - 1;
    memcpy(text, ball, sizeof ball);
    for (int64_t i = s2_rng_integer(&rng, 1, 4); i > 0 && size == sizeof ball - 1; --i) {
      static const char bytes[] = "0123456789-+.einfax \n\t#";
      text[s2_rng_integer(&rng, 0, (int64_t)size - 1)] =
          s2_rng_uniform(&rng) < 0.1 ? (char)s2_rng_integer(&rng, -128, 127)
                                     : bytes[s2_rng_integer(&rng, 0, (int64_t)sizeof bytes - 2)];
    }
    write_text(path, text, size);
    S2Problem *problem;
    S2Status status = s2_problem_read(path, &problem);
    assert_true((status.code == S2_OK) == (problem != NULL));
    assert_true((status.code == S2_OK) == (status.message[0] == 0));
    assert_true(size == sizeof ball - 1 || status.code == S2_INVALID || size == sizeof ball - 2);
    accepted += status.code == S2_OK;
    s2_problem_free(problem);
  }
  assert_true(accepted > CASES / 50 && accepted < CASES / 2);
  remove(path);
}

static void problem_no_file(void **state) {
  (void)state;
  S2Problem *problem;
  S2Status status = s2_problem_read("/nonexistent/x.problem", &problem);
  assert_int_equal(status.code, S2_IO);
  assert_string_equal(status.message,
                      "cannot read '/nonexistent/x.problem': No such file or directory");
  assert_null(problem);
  assert_int_equal(s2_problem_read("/tmp", &problem).code, S2_IO);
  S2Problem empty = {.velocity_scale = 1, .length = 1};
  assert_int_equal(s2_problem_write(&empty, "/nonexistent/x.problem").code, S2_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(problem_round_trip), cmocka_unit_test(problem_from_text),
      cmocka_unit_test(problem_malformed),  cmocka_unit_test(problem_fuzzed),
      cmocka_unit_test(problem_no_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
