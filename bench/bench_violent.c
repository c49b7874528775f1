// How often solvers succeed on violent states: a touching pyramid whose boxes have random
// velocities, one step.
//
//   bench_violent [--solver NAME | --solver all] [--base B]
//                 [--speed S] [--friction MU] [--seeds N] [--cap S] [--dump DIR]
//                 [--world]
//
//   --solver   auto (default): rates and times by size, speed and friction; another one: the same;
//              all: one line a solver and size
//   --base     pyramids of B rows only (default: 5, 10 and 20); likewise --speed, --friction
//   --seeds    of each class (default 20)
//   --cap      a solver that took S seconds for one size skips the rest of that size (default
//              none); skipped problems print as "-"
//   --dump     writes the problems that were not solved into the folder
//   --world    also takes the step by s2_world_step and counts where that and the solve disagree
//
// The states are those of violent_set.h, s their speed. All boxes touch, so the step's problem is
// one island, which is solved from a cold start (zero impulses) to 1e-8. Times are of this thread.
#include "bench.h"

#include "violent_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int bases[] = {5, 10, 20};
static const double speeds[] = {0.01, 1, 10};
static const double frictions[] = {0, 0.1, 0.6, 1.5};
enum { BASES = 3, SPEEDS = 3, FRICTIONS = 4, MOST_SEEDS = 1000 };

typedef struct Options {
  const char *solver, *dump;
  int base, seeds;
  double speed, friction; // the only ones, if not negative
  double cap;             // s
  bool world;
} Options;

// One class of problems, and its results.
typedef struct Tally {
  int asked, tried, solved;
  double ms[SPEEDS * FRICTIONS * MOST_SEEDS];
  double worst; // scaled residual
} Tally;

static S2Solution solve(S2Solver solver, const S2Problem *problem, const double *v, S2Arena *arena,
                        double *ms) {
  S2SolverOptions options = {.solver = solver,
                             .tolerance = VIOLENT_TOLERANCE,
                             .max_iterations = s2_world_def().max_iterations};
  S2Solution solution = {.v = S2_TAKE(arena, double, 3 * problem->nodes),
                         .lambda = S2_TAKE_ZEROED(arena, double, problem->rows)};
  memcpy(solution.v, v, 3 * sizeof(double) * (size_t)problem->nodes);
  double start = bench_ms();
  s2_mcp_solve(problem, &options, arena, &solution);
  *ms = bench_ms() - start;
  return solution;
}

// ---- Measuring --------------------------------------------------------------------------------

typedef struct Agreement {
  int steps, solved, differ;
} Agreement;

static void step_too(S2World *world, bool solved, Agreement *agreement) {
  violent_must(s2_world_step(world));
  const S2WorldStats *stats = s2_world_stats(world);
  bool good = stats->unsolved == 0;
  if (stats->islands != 1) {
    fprintf(stderr, "bench_violent: %d islands where 1 was expected\n", stats->islands);
  }
  agreement->steps += 1;
  agreement->solved += good;
  agreement->differ += good != solved;
}

static void run_one(const Options *options, S2Solver solver, int base, double speed,
                    double friction, int seed, S2Arena *arena, Tally *tally, Agreement *agreement) {
  S2World *world = violent_build(base, speed, friction, seed);
  double *v, ms;
  S2Problem *problem = violent_problem(world, &v);
  S2Solution solution = solve(solver, problem, v, arena, &ms);
  bool solved = solution.status == S2_SOLVED;
  tally->ms[tally->tried++] = ms;
  tally->solved += solved;
  if (solution.status != S2_UNSUPPORTED) {
    tally->worst = fmax(tally->worst, solution.residual.scaled);
  }
  if (!solved && options->dump != NULL) {
    char path[4096];
    snprintf(path, sizeof path, "%s/violent-%s-B%d-s%g-mu%g-%d.txt", options->dump,
             s2_solver_name(solver), base, speed, friction, seed);
    violent_must(s2_problem_write(problem, path));
  }
  s2_problem_free(problem);
  free(v);
  if (options->world) {
    step_too(world, solved, agreement);
  }
  s2_world_destroy(world);
  s2_arena_reset(arena);
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print(const char *label, Tally *tally) {
  printf("%-28s", label);
  if (tally->tried < tally->asked) {
    printf(" %9s %9s %9s %9s %9s\n", "-", "-", "-", "-", "-");
  } else {
    char rate[32];
    snprintf(rate, sizeof rate, "%d/%d", tally->solved, tally->tried);
    qsort(tally->ms, (size_t)tally->tried, sizeof *tally->ms, compare);
    printf(" %9s %9.3f %9.3f %9.2f %9.1e\n", rate, tally->ms[tally->tried / 2],
           tally->ms[tally->tried * 9 / 10], tally->ms[tally->tried - 1], tally->worst);
  }
  fflush(stdout);
}

static void add(Tally *sum, const Tally *part) {
  memcpy(sum->ms + sum->tried, part->ms, sizeof *part->ms * (size_t)part->tried);
  sum->asked += part->asked;
  sum->tried += part->tried;
  sum->solved += part->solved;
  sum->worst = fmax(sum->worst, part->worst);
}

// All problems of one size with one solver.
static void run_size(const Options *options, S2Solver solver, int base, bool classes,
                     Agreement *agreement) {
  Tally *sum = calloc(1, sizeof *sum), *part = calloc(1, sizeof *part);
  if (sum == NULL || part == NULL) {
    fprintf(stderr, "bench_violent: out of memory\n");
    exit(1);
  }
  S2Arena arena;
  s2_arena_init(&arena);
  double start = bench_ms();
  char label[64];
  for (int i = 0; i < SPEEDS; i++) {
    for (int k = 0; k < FRICTIONS; k++) {
      if ((options->speed >= 0 && speeds[i] != options->speed) ||
          (options->friction >= 0 && frictions[k] != options->friction)) {
        continue;
      }
      memset(part, 0, sizeof *part);
      part->asked = options->seeds;
      for (int seed = 1; seed <= options->seeds && bench_ms() - start < 1e3 * options->cap;
           seed++) {
        run_one(options, solver, base, speeds[i], frictions[k], seed, &arena, part, agreement);
      }
      if (classes) {
        snprintf(label, sizeof label, "B = %-2d  s = %-4g  mu = %g", base, speeds[i], frictions[k]);
        print(label, part);
      }
      add(sum, part);
    }
  }
  snprintf(label, sizeof label, "%-8s  B = %-2d  all", s2_solver_name(solver), base);
  print(label, sum);
  s2_arena_free(&arena);
  free(sum);
  free(part);
}

static Options parse(int argc, char **argv) {
  Options options = {.solver = "auto", .seeds = 20, .cap = INFINITY, .speed = -1, .friction = -1};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--world") == 0) {
      options.world = true;
      continue;
    }
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--solver") == 0) {
      options.solver = value;
    } else if (strcmp(argv[i], "--dump") == 0) {
      options.dump = value;
    } else if (strcmp(argv[i], "--base") == 0) {
      options.base = atoi(value);
    } else if (strcmp(argv[i], "--speed") == 0) {
      options.speed = atof(value);
    } else if (strcmp(argv[i], "--friction") == 0) {
      options.friction = atof(value);
    } else if (strcmp(argv[i], "--seeds") == 0) {
      options.seeds = atoi(value);
    } else if (strcmp(argv[i], "--cap") == 0) {
      options.cap = atof(value);
    } else {
      violent_must(s2_error(S2_INVALID, "unknown option '%s'", argv[i]));
    }
    i++;
  }
  bool all = strcmp(options.solver, "all") == 0;
  if (!all && s2_solver_from_name(options.solver) == S2_SOLVER_COUNT) {
    violent_must(s2_error(S2_INVALID, "unknown solver '%s'", options.solver));
  }
  if (options.seeds < 1 || options.seeds > MOST_SEEDS) {
    violent_must(s2_error(S2_INVALID, "--seeds: 1 to %d expected", MOST_SEEDS));
  }
  return options;
}

int main(int argc, char **argv) {
  Options options = parse(argc, argv);
  bool all = strcmp(options.solver, "all") == 0;
  printf("%-28s %9s %9s %9s %9s %9s\n", "", "solved", "median ms", "p90 ms", "worst ms",
         "residual");
  Agreement agreement = {0};
  for (int solver = 0; solver < S2_SOLVER_COUNT; solver++) {
    if (!all && solver != (int)s2_solver_from_name(options.solver)) {
      continue;
    }
    for (int i = 0; i < BASES; i++) {
      if (options.base == 0 || options.base == bases[i]) {
        run_size(&options, (S2Solver)solver, bases[i], !all, &agreement);
      }
    }
  }
  if (options.world) {
    printf("steps of a world (solver auto): %d of %d solved, %d differ\n", agreement.solved,
           agreement.steps, agreement.differ);
  }
  return 0;
}
