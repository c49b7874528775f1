// How often and how fast solvers solve given step problems, each from its own guess.
//
//   bench_piles [--solver NAME] [--cap N] [--budget WORK] [--verbose] FILE...
//
//   FILE       a step problem (docs/problem-format.md); FILE.guess, if it exists, contains
//              the impulses to start from, raw doubles, one a row
//   --solver   auto (default) or another
//   --cap      of factorisations, within which a problem counts as solved "within" (default 600)
//   --budget   work that each solve may take (S2SolverOptions.budget)
//
// Prints for each class (the name of the file up to the first '_') how many were solved to 1e-9,
// how many within the cap, and mean, median and worst of factorisations and times.
#include "bench.h"

#include "mcp/mcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double PILES_TOLERANCE = 1e-9;
enum { MOST_CLASSES = 16, MOST_FILES = 1024 };

typedef struct PileClass {
  char name[64];
  int count, solved, within;
  double iterations[MOST_FILES], ms[MOST_FILES], worst;
} PileClass;

static PileClass classes[MOST_CLASSES];
static int class_count;

static PileClass *class_of(const char *path) {
  const char *file = strrchr(path, '/');
  file = file == NULL ? path : file + 1;
  size_t length = strcspn(file, "_");
  for (int i = 0; i < class_count; i++) {
    if (strlen(classes[i].name) == length && memcmp(classes[i].name, file, length) == 0) {
      return &classes[i];
    }
  }
  if (class_count == MOST_CLASSES) {
    fprintf(stderr, "bench_piles: more than %d classes\n", MOST_CLASSES);
    exit(2);
  }
  PileClass *made = &classes[class_count++];
  snprintf(made->name, sizeof made->name, "%.*s", (int)length, file);
  return made;
}

// Impulses from FILE.guess; zeros without it.
static void read_guess(const char *path, const S2Problem *problem, double *lambda) {
  char guess[4096];
  snprintf(guess, sizeof guess, "%s.guess", path);
  FILE *file = fopen(guess, "rb");
  if (file == NULL) {
    return;
  }
  // Older files contain the velocities before the impulses.
  fseek(file, 0, SEEK_END);
  long size = ftell(file), rows = (long)sizeof(double) * problem->rows;
  fseek(file, size - rows, SEEK_SET);
  if (fread(lambda, sizeof(double), (size_t)problem->rows, file) != (size_t)problem->rows) {
    memset(lambda, 0, (size_t)rows);
  }
  fclose(file);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void report(PileClass *c) {
  double iterations = 0, ms = 0;
  for (int i = 0; i < c->count; i++) {
    iterations += c->iterations[i] / c->count;
    ms += c->ms[i] / c->count;
  }
  qsort(c->iterations, (size_t)c->count, sizeof(double), by_size);
  qsort(c->ms, (size_t)c->count, sizeof(double), by_size);
  printf("%-10s %2d of %2d solved, %2d within the cap; factorisations mean %.0f, median %.0f, most "
         "%.0f; "
         "ms mean %.1f, median %.1f, most %.1f; worst residual %.1e\n",
         c->name, c->solved, c->count, c->within, iterations, c->iterations[c->count / 2],
         c->iterations[c->count - 1], ms, c->ms[c->count / 2], c->ms[c->count - 1], c->worst);
}

int main(int argc, char **argv) {
  S2SolverOptions options = {.solver = S2_SOLVER_AUTO,
                             .tolerance = PILES_TOLERANCE,
                             .max_iterations = s2_world_def().max_iterations};
  int cap = 600, first = 1;
  bool verbose = false;
  for (; first < argc && argv[first][0] == '-'; first++) {
    if (strcmp(argv[first], "--verbose") == 0) {
      verbose = true;
    } else if (first + 1 < argc && strcmp(argv[first], "--solver") == 0) {
      options.solver = s2_solver_from_name(argv[++first]);
    } else if (first + 1 < argc && strcmp(argv[first], "--cap") == 0) {
      cap = atoi(argv[++first]);
    } else if (first + 1 < argc && strcmp(argv[first], "--budget") == 0) {
      options.bounded = true;
      options.budget = atof(argv[++first]);
    } else {
      fprintf(stderr, "bench_piles: %s: unknown option\n", argv[first]);
      return 2;
    }
  }
  if (argc - first > MOST_FILES) {
    fprintf(stderr, "bench_piles: more than %d files\n", MOST_FILES);
    return 2;
  }
  S2Arena arena;
  s2_arena_init(&arena);
  for (int i = first; i < argc; i++) {
    S2Problem *problem = NULL;
    S2Status status = s2_problem_read(argv[i], &problem);
    if (status.code != S2_OK) {
      fprintf(stderr, "%s\n", status.message);
      return 2;
    }
    s2_arena_reset(&arena);
    S2Solution solution = {.v = S2_TAKE_ZEROED(&arena, double, 3 * problem->nodes),
                           .lambda = S2_TAKE_ZEROED(&arena, double, problem->rows)};
    read_guess(argv[i], problem, solution.lambda);
    double start = bench_ms();
    s2_mcp_solve(problem, &options, &arena, &solution);
    double ms = bench_ms() - start;
    PileClass *c = class_of(argv[i]);
    c->iterations[c->count] = solution.iterations;
    c->ms[c->count++] = ms;
    c->solved += solution.status == S2_SOLVED;
    c->within += solution.status == S2_SOLVED && solution.iterations <= cap;
    c->worst = c->worst > solution.residual.scaled ? c->worst : solution.residual.scaled;
    if (verbose) {
      printf("%s: %s, residual %.1e, %d factorisations, %.1f ms\n", argv[i],
             s2_solve_status_name(solution.status), solution.residual.scaled, solution.iterations,
             ms);
      fflush(stdout);
    }
    s2_problem_free(problem);
  }
  for (int i = 0; i < class_count; i++) {
    report(&classes[i]);
  }
  return 0;
}
