// Every method for linear complementarity problems on every file of a folder.
//
//   bench_testset FOLDER
//
// FOLDER contains manifest.csv, whose first five columns are file, n, class, solvable, unique, and
// the .lcp and .sol files that it names (docs/problem-format.md); FOLDER/mlcp/*.mlcp are mixed
// problems: rows cols equations pairs, a flag for each row (1: pair), the matrix row by row, the
// vector. One line for each file, `auto` only, and the failures of the other methods; sums at the
// end. `agrees` compares with the manifest: a unique solution with the .sol file, an unsolvable
// problem with a status other than solved.
#include "bench.h"

#include "base/arena.h"
#include "base/token.h"
#include "mcp/lcp/lcp.h"
#include "mcp/mlcp/mlcp.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 1024, LINE_SIZE = 4096, FIELD_SIZE = 128, FIELDS = 5, MIXED_MAX = 1024 };

static const double SAME =
    1e-6; // relative to max(1, |z|): a unique z may be worse conditioned than w

typedef struct Sum {
  int files, solved, solvable, disagree;
  double ms;
} Sum;

// Largest difference to the first solution of the .sol file; NaN when it cannot be read.
static double difference(const char *lcp_path, int n, const double *z) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%.*s.sol", (int)(strlen(lcp_path) - strlen(".lcp")), lcp_path);
  S2Tokens tokens;
  double worst = 0, value = 0;
  bool good = s2_tokens_open(&tokens, path).code == S2_OK;
  for (int i = 0; good && i < n + 2; ++i) {
    good = s2_tokens_seek(&tokens, "a number").code == S2_OK &&
           s2_tokens_real(&tokens, "a number", S2_FINITE_REALS, &value).code == S2_OK;
    if (i >= 2) {
      worst = fmax(worst, fabs(value - z[i - 2]) / fmax(1, fabs(value)));
    }
  }
  s2_tokens_close(&tokens);
  return good ? worst : NAN;
}

static void run_file(const char *folder, char field[FIELDS][FIELD_SIZE], Sum *sums,
                     S2Arena *arena) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/%s", folder, field[0]);
  S2LcpProblem *problem;
  S2Status read = s2_lcp_read(path, &problem);
  if (read.code != S2_OK) {
    printf("%-44s %s\n", field[0], read.message);
    sums[S2_LCP_AUTO].disagree += 1;
    return;
  }
  size_t n = (size_t)problem->n;
  double *z = take_doubles(n), *w = take_doubles(n);
  bool solvable = strcmp(field[3], "yes") == 0, unique = strcmp(field[4], "yes") == 0;
  for (int solver = 0; solver < S2_LCP_SOLVER_COUNT; ++solver) {
    S2LcpSolverOptions options = {.solver = (S2LcpSolver)solver};
    S2LcpSolution solution = {.z = z, .w = w};
    double start = bench_ms();
    s2_lcp_solve(problem, &options, arena, &solution);
    double ms = bench_ms() - start;
    bool solved = solution.status == S2_SOLVED;
    bool wrong = solved && unique && !(difference(path, problem->n, z) <= SAME);
    wrong = wrong || (solved && strcmp(field[3], "no") == 0) ||
            (solvable && solution.status == S2_INFEASIBLE);
    Sum *sum = &sums[solver];
    sum->files += 1;
    sum->solvable += solvable;
    sum->solved += solved;
    sum->disagree += wrong;
    sum->ms += ms;
    if (solver == S2_LCP_AUTO || wrong) {
      printf("%-44s %5d %-9s %-14s %8.1e %9.3f %s\n", field[0], problem->n,
             s2_lcp_solver_name((S2LcpSolver)solver), s2_solve_status_name(solution.status),
             solution.residual, ms,
             wrong                ? "DISAGREES"
             : solved != solvable ? "missed"
             : !solved            ? "agrees (unsolvable)"
                                  : "agrees");
    }
  }
  free(z);
  free(w);
  s2_lcp_free(problem);
}

// ---- Mixed problems ---------------------------------------------------------------------------

typedef struct MixedFile {
  int size, pairs;
  int *row;      // equations first, then pairs
  double *k, *r; // as in the file
} MixedFile;

static S2Status next_integer(S2Tokens *tokens, const char *name, long hi, int *value) {
  S2_TRY(s2_tokens_seek(tokens, name));
  return s2_tokens_integer(tokens, name, 0, hi, value);
}

static S2Status read_mixed(S2Tokens *tokens, MixedFile *file) {
  int columns, equations, flag[MIXED_MAX];
  S2_TRY(next_integer(tokens, "rows", MIXED_MAX, &file->size));
  S2_TRY(next_integer(tokens, "columns", MIXED_MAX, &columns));
  S2_TRY(next_integer(tokens, "equations", MIXED_MAX, &equations));
  S2_TRY(next_integer(tokens, "pairs", MIXED_MAX, &file->pairs));
  if (columns != file->size) {
    return s2_tokens_complain(tokens, "not square: %d x %d", file->size, columns);
  }
  size_t size = (size_t)file->size;
  int count = 0;
  for (int i = 0; i < file->size; ++i) {
    S2_TRY(next_integer(tokens, "a flag", 1, &flag[i]));
  }
  file->row = calloc(size + 1, sizeof *file->row);
  for (int kind = 0; kind < 2 && file->row != NULL; ++kind) {
    for (int i = 0; i < file->size; ++i) {
      if (flag[i] == kind) {
        file->row[count++] = i;
      }
    }
  }
  file->pairs = 0;
  for (int i = 0; i < file->size; ++i) {
    file->pairs += flag[i];
  }
  file->k = take_doubles(size * size);
  file->r = take_doubles(size);
  for (size_t i = 0; i < size * size + size; ++i) {
    double *to = i < size * size ? &file->k[i] : &file->r[i - size * size];
    S2_TRY(s2_tokens_seek(tokens, "a number"));
    S2_TRY(s2_tokens_real(tokens, "a number", S2_FINITE_REALS, to));
  }
  return s2_ok();
}

// Rows from..from + rows and columns at..at + columns of the sorted matrix.
static double *block(const MixedFile *file, int from, int rows, int at, int columns) {
  size_t height = (size_t)rows, width = (size_t)columns;
  double *to = take_doubles(height * width);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      to[i * columns + j] = file->k[file->row[from + i] * file->size + file->row[at + j]];
    }
  }
  return to;
}

static void solve_mixed(const char *name, const MixedFile *file, Sum *sum, S2Arena *arena) {
  int m = file->pairs, n = file->size - m;
  double *part[4] = {block(file, 0, n, 0, n), block(file, 0, n, n, m), block(file, n, m, 0, n),
                     block(file, n, m, n, m)};
  double *r = take_doubles((size_t)file->size), *x = take_doubles((size_t)n + 2 * (size_t)m);
  for (int i = 0; i < file->size; ++i) {
    r[i] = file->r[file->row[i]];
  }
  S2Mlcp problem = {.n = n,
                    .m = m,
                    .a_uu = part[0],
                    .c_uv = part[1],
                    .d_vu = part[2],
                    .b_vv = part[3],
                    .a_free = r,
                    .b_row = r + n};
  S2MlcpSolution solution = {.u = x, .v = x + n, .w = x + n + m};
  double start = bench_ms();
  s2_mlcp_solve(&problem, NULL, arena, &solution);
  double ms = bench_ms() - start;
  sum->files += 1;
  sum->solved += solution.status == S2_SOLVED;
  sum->ms += ms;
  printf("%-44s %5d %-9s %-14s %8.1e %9.3f\n", name, file->size, "mlcp",
         s2_solve_status_name(solution.status), solution.residual, ms);
  for (int i = 0; i < 4; ++i) {
    free(part[i]);
  }
  free(r);
  free(x);
}

static int is_mixed(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return length > 5 && strcmp(entry->d_name + length - 5, ".mlcp") == 0;
}

static void run_mixed(const char *folder, Sum *sum, S2Arena *arena) {
  char path[PATH_SIZE];
  struct dirent **entry;
  snprintf(path, sizeof path, "%s/mlcp", folder);
  int count = scandir(path, &entry, is_mixed, alphasort);
  for (int i = 0; i < count; ++i) {
    snprintf(path, sizeof path, "%s/mlcp/%s", folder, entry[i]->d_name);
    S2Tokens tokens;
    MixedFile file = {0};
    S2Status status = s2_tokens_open(&tokens, path);
    if (status.code == S2_OK) {
      status = read_mixed(&tokens, &file);
    }
    s2_tokens_close(&tokens);
    if (status.code == S2_OK) {
      solve_mixed(entry[i]->d_name, &file, sum, arena);
    } else {
      printf("%-44s left out: %s\n", entry[i]->d_name, status.message);
    }
    free(file.row);
    free(file.k);
    free(file.r);
    free(entry[i]);
  }
  if (count >= 0) {
    free(entry);
  }
}

int main(int argc, char **argv) {
  char line[LINE_SIZE], field[FIELDS][FIELD_SIZE];
  if (argc != 2) {
    fprintf(stderr, "usage: bench_testset FOLDER\n");
    return 2;
  }
  snprintf(line, sizeof line, "%s/manifest.csv", argv[1]);
  FILE *manifest = fopen(line, "r");
  if (manifest == NULL) {
    fprintf(stderr, "bench_testset: cannot read '%s'\n", line);
    return 1;
  }
  S2Arena arena;
  s2_arena_init(&arena);
  Sum sums[S2_LCP_SOLVER_COUNT] = {{0}}, mixed = {0};
  while (fgets(line, sizeof line, manifest) != NULL) {
    int read = sscanf(line, "%127[^,],%127[^,],%127[^,],%127[^,],%127[^,]", field[0], field[1],
                      field[2], field[3], field[4]);
    if (read == FIELDS && strstr(field[0], ".lcp") != NULL) {
      run_file(argv[1], field, sums, &arena);
    }
  }
  fclose(manifest);
  run_mixed(argv[1], &mixed, &arena);
  printf("\n%-10s %6s %9s %7s %10s %10s\n", "method", "files", "solvable", "solved", "disagree",
         "ms");
  for (int solver = 0; solver < S2_LCP_SOLVER_COUNT; ++solver) {
    const Sum *sum = &sums[solver];
    printf("%-10s %6d %9d %7d %10d %10.1f\n", s2_lcp_solver_name((S2LcpSolver)solver), sum->files,
           sum->solvable, sum->solved, sum->disagree, sum->ms);
  }
  printf("%-10s %6d %9s %7d %10s %10.1f\n", "mlcp", mixed.files, "-", mixed.solved, "-", mixed.ms);
  s2_arena_free(&arena);
  return 0;
}
