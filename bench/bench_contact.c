// Solves frictional contact problems from files and prints accuracy and times.
//
//   bench_contact [--solver NAME] [--tolerance T] FILE...
//
// FILE is a problem in local or global form (docs/problem-format.md). The output is the number of
// contacts, the status, the solver that gave the solution, the scaled residual (velocities over the
// largest of q) and the largest violations in the file's own units, and the best time of a few, in
// ms of this thread.
#include "bench.h"

#include "mcp/contact/contact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 5 };
static const double PATIENCE = 1000; // ms: a longer solve is not repeated

static void solve_once(const S2ContactFile *file, const S2SolverOptions *options, S2Arena *arena,
                       S2ContactSolution *solution) {
  int n = file->global ? file->global_form.contacts : file->local_form.contacts;
  memset(solution->r, 0, sizeof(double) * 2 * (size_t)n);
  if (file->global) {
    s2_contact_solve_global(&file->global_form, options, arena, solution);
  } else {
    s2_contact_solve(&file->local_form, options, arena, solution);
  }
}

static bool run(const char *path, const S2SolverOptions *options) {
  S2ContactFile *file;
  S2Status status = s2_contact_read(path, &file);
  if (status.code != S2_OK) {
    fprintf(stderr, "%s\n", status.message);
    return false;
  }
  int n = file->global ? file->global_form.contacts : file->local_form.contacts;
  int freedoms = file->global ? file->global_form.freedoms : 0;
  S2Arena arena;
  s2_arena_init(&arena);
  S2ContactSolution solution = {
      .r = S2_TAKE(&arena, double, 2 * n),
      .u = S2_TAKE(&arena, double, 2 * n),
      .v = S2_TAKE(&arena, double, freedoms),
  };
  double best = INFINITY;
  for (int k = 0; k < REPEATS && (k == 0 || best < PATIENCE); k++) {
    double start = bench_ms();
    solve_once(file, options, &arena, &solution);
    best = fmin(best, bench_ms() - start);
  }
  const char *name = strrchr(path, '/');
  printf("%-44s %6d %-14s %-7s %6d %9.2e %9.2e %9.2e %10.3f\n", name != NULL ? name + 1 : path, n,
         s2_solve_status_name(solution.status), s2_solver_name(solution.used), solution.iterations,
         solution.residual.scaled, solution.residual.complementarity, solution.residual.cone, best);
  s2_arena_free(&arena);
  s2_contact_free(file);
  return true;
}

int main(int argc, char **argv) {
  S2SolverOptions options = {.solver = S2_SOLVER_AUTO, .tolerance = 1e-9, .max_iterations = 50};
  bool fine = true;
  printf("%-44s %6s %-14s %-7s %6s %9s %9s %9s %10s\n", "problem", "nc", "status", "by", "iter",
         "scaled", "normal", "cone", "ms");
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--solver") == 0 && i + 1 < argc) {
      options.solver = s2_solver_from_name(argv[++i]);
      if (options.solver == S2_SOLVER_COUNT) {
        fprintf(stderr, "no solver '%s'\n", argv[i]);
        return 2;
      }
    } else if (strcmp(argv[i], "--tolerance") == 0 && i + 1 < argc) {
      options.tolerance = strtod(argv[++i], NULL);
    } else {
      fine = run(argv[i], &options) && fine;
    }
  }
  return fine ? 0 : 1;
}
