// Times of the sparse linear systems.
//
//   bench_linalg
//
// First the system of a step, K = W + J' D J on 3 x 3 blocks, for pyramids of bricks (two contacts
// with the ground or four with the two bricks below) and piles of discs (on a triangular lattice,
// every disc touching up to six), compared with LAPACK's dpotrf of the smallest in the same run.
// Then the methods for bilateral rows on square nets of bodies hinged to their neighbours and, at
// one corner, to the ground. Every time is the best of a few, in ms of this thread.
#include "bench.h"

#include "base/arena.h"
#include "base/rng.h"
#include "linalg/dense.h"
#include "mcp/chain/pdipm_system.h"
#include "mcp/kkt/kkt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 5, SEED = 1 };

// D: of the order of values in the middle of an interior-point solve
static const double STIFFNESS = 1e3;
static const double PATIENCE = 1000; // ms: a longer solve is not repeated

// ---- Problems ---------------------------------------------------------------------------------

typedef struct Scene {
  S2Problem problem;
  S2Row *row;
  double *mass, *rhs;
} Scene;

static Scene make_scene(int nodes, int most_rows) {
  Scene scene = {
      .row = take((size_t)most_rows, sizeof(S2Row)),
      .mass = take(3 * (size_t)nodes, sizeof(double)),
      .rhs = take(3 * (size_t)nodes, sizeof(double)),
  };
  S2Rng rng = s2_rng_seeded(SEED);
  for (int i = 0; i < 3 * nodes; i++) {
    scene.mass[i] = i % 3 == 0 ? 1.0 / 6 : 1;
    scene.rhs[i] = scene.mass[i] * s2_rng_normal(&rng);
  }
  scene.problem = (S2Problem){.nodes = nodes, .velocity_scale = 1, .length = 1};
  scene.problem.mass = scene.mass;
  scene.problem.rhs = scene.rhs;
  scene.problem.row = scene.row;
  return scene;
}

static void free_scene(Scene *scene) {
  free(scene->row);
  free(scene->mass);
  free(scene->rhs);
}

// A row along (dx, dy) at (xa, ya) from the centre of a and (xb, yb) from that of b.
static S2Row *add_row(Scene *scene, int a, int b, const double at[4], double dx, double dy) {
  S2Row *row = &scene->row[scene->problem.rows++];
  *row = (S2Row){.a = a, .b = b, .coupled_to = -1};
  row->ja[0] = at[0] * dy - at[1] * dx;
  row->ja[1] = dx;
  row->ja[2] = dy;
  if (b >= 0) {
    row->jb[0] = -(at[2] * dy - at[3] * dx);
    row->jb[1] = -dx;
    row->jb[2] = -dy;
  }
  return row;
}

static void add_contact(Scene *scene, int a, int b, const double at[4], double nx, double ny) {
  int normal = scene->problem.rows;
  S2Row *n = add_row(scene, a, b, at, nx, ny);
  n->hi = INFINITY;
  n->group = normal / 2;
  S2Row *t = add_row(scene, a, b, at, -ny, nx);
  t->coupled_to = normal;
  t->group = normal / 2;
  t->mu = 0.5;
}

// Bricks 2 wide and 1 high, `base` in the lowest row.
static Scene pyramid(int base) {
  Scene scene = make_scene(base * (base + 1) / 2, 4 * base * base);
  int first = 0;
  for (int level = 0; level < base; level++) {
    int count = base - level, below = first - (count + 1);
    for (int i = 0; i < count; i++) {
      for (int k = 0; k < (level == 0 ? 2 : 4); k++) {
        double x = level == 0 ? 2 * k - 1 : k < 2 ? k - 1 : k - 2;
        double other = k < 2 ? x + 1 : x - 1;
        const double at[4] = {x, -0.5, other, 0.5};
        add_contact(&scene, first + i, level == 0 ? S2_GROUND : below + i + k / 2, at, 0, 1);
      }
    }
    first += count;
  }
  return scene;
}

// side x side discs of radius 1/2; the lowest row touches the ground.
static Scene pile(int side) {
  Scene scene = make_scene(side * side, 2 * (3 * side * side + side));
  static const double c = 0.5, s = 0.86602540378443865; // cos, sin 60 degrees
  for (int y = 0; y < side; y++) {
    for (int x = 0; x < side; x++) {
      int a = y * side + x, shift = y % 2;
      if (x > 0) {
        add_contact(&scene, a, a - 1, (const double[]){-0.5, 0, 0.5, 0}, 1, 0);
      }
      if (y == 0) {
        add_contact(&scene, a, S2_GROUND, (const double[]){0, -0.5, 0, 0}, 0, 1);
      }
      for (int k = 0; k < 2 && y > 0; k++) {
        int other = x - 1 + shift + k;
        double dx = k == 0 ? c : -c;
        if (other >= 0 && other < side) {
          const double at[4] = {-dx / 2, -s / 2, dx / 2, s / 2};
          add_contact(&scene, a, a - side - x + other, at, dx, s);
        }
      }
    }
  }
  return scene;
}

static void add_hinge(Scene *scene, int a, int b, const double at[4]) {
  int group = scene->problem.rows / 2;
  for (int k = 0; k < 2; k++) {
    S2Row *row = add_row(scene, a, b, at, k == 0, k == 1);
    row->lo = -INFINITY;
    row->hi = INFINITY;
    row->group = group;
  }
}

static Scene net(int side) {
  Scene scene = make_scene(side * side, 4 * side * side + 2);
  add_hinge(&scene, 0, S2_GROUND, (const double[]){-0.5, 0, 0, 0});
  for (int a = 0; a < side * side; a++) {
    if (a % side > 0) {
      add_hinge(&scene, a, a - 1, (const double[]){-0.5, 0, 0.5, 0});
    }
    if (a >= side) {
      add_hinge(&scene, a, a - side, (const double[]){0, -0.5, 0, 0.5});
    }
  }
  return scene;
}

// ---- Measuring --------------------------------------------------------------------------------

static double time_dpotrf(int n) {
  size_t size = (size_t)n * (size_t)n;
  double *k = take(size, sizeof(double)), *a = take(size, sizeof(double)), best = INFINITY;
  // The time of dpotrf does not depend on the values: a diagonally dominant full matrix.
  for (size_t i = 0; i < size; i++) {
    k[i] = i % ((size_t)n + 1) == 0 ? n : 0.5;
  }
  s2_dense_single_threaded();
  for (int r = 0; r < REPEATS; r++) {
    memcpy(a, k, sizeof(double) * size);
    S2Dense dense = {.size = n, .a = a};
    double start = bench_ms();
    bool regular = s2_dense_factor(&dense);
    best = fmin(best, bench_ms() - start);
    if (!regular) {
      fprintf(stderr, "bench_linalg: dpotrf failed\n");
      exit(1);
    }
  }
  free(k);
  free(a);
  return best;
}

static void measure_step(const char *name, const Scene *scene, bool compare) {
  S2Arena arena;
  s2_arena_init(&arena);
  double order = INFINITY, symmetric = INFINITY, nonsymmetric = INFINITY, solve = INFINITY;
  double dpotrf = NAN;
  int blocks = 0;
  for (int r = 0; r < REPEATS; r++) {
    s2_arena_reset(&arena);
    S2System system;
    s2_system_init(&system, &scene->problem, &arena);
    double start = bench_ms();
    s2_system_prepare(&system, &arena);
    order = fmin(order, bench_ms() - start);
    S2Response *response = S2_TAKE(&arena, S2Response, system.units);
    for (int k = 0; k < system.units; k++) {
      response[k] = (S2Response){.nn = STIFFNESS, .tt = STIFFNESS};
    }
    bool regular = true;
    start = bench_ms();
    regular = regular && s2_system_factor(&system, response, false);
    symmetric = fmin(symmetric, bench_ms() - start);
    S2Quad *x = S2_TAKE(&arena, S2Quad, system.nodes + 1);
    memcpy(x, system.rhs, sizeof(S2Quad) * (size_t)(system.nodes + 1));
    start = bench_ms();
    s2_system_solve(&system, x, x);
    solve = fmin(solve, bench_ms() - start);
    for (int k = 0; k < system.units; k++) { // sliding
      response[k] = (S2Response){.nn = STIFFNESS, .tn = 0.5 * STIFFNESS};
    }
    start = bench_ms();
    regular = regular && s2_system_factor(&system, response, true);
    nonsymmetric = fmin(nonsymmetric, bench_ms() - start);
    if (!regular) {
      fprintf(stderr, "bench_linalg: %s: singular\n", name);
    }
    blocks = system.sparse.blocks;
    if (compare && r == REPEATS - 1) {
      dpotrf = time_dpotrf(3 * system.nodes);
    }
  }
  printf("%-8s %8d %7d %9d %9.3f %9.3f %9.3f %9.3f", name, scene->problem.rows / 2,
         scene->problem.nodes, blocks, order, symmetric, nonsymmetric, solve);
  if (compare) {
    printf(" %9.3f %8.4f", dpotrf, symmetric / dpotrf);
  }
  printf("\n");
  fflush(stdout);
  s2_arena_free(&arena);
}

static void measure_kkt(const char *name, const Scene *scene) {
  S2Arena arena;
  s2_arena_init(&arena);
  int n = 3 * scene->problem.nodes, m = scene->problem.rows;
  double *v = take((size_t)n, sizeof(double)), *lambda = take((size_t)m, sizeof(double));
  S2Kkt kkt;
  s2_kkt_from_problem(&scene->problem, &arena, &kkt);
  for (int solver = 0; solver < S2_KKT_SOLVER_COUNT; solver++) {
    S2KktOptions options = {.solver = (S2KktSolver)solver};
    S2KktSolution solution = {.v = v, .lambda = lambda};
    double best = INFINITY;
    for (int r = 0; r < REPEATS && (r == 0 || best < PATIENCE); r++) {
      double start = bench_ms();
      s2_kkt_solve(&kkt, &options, &arena, &solution);
      best = fmin(best, bench_ms() - start);
    }
    printf("%-8s %8d %8d %-8s %10.3f %8d %9.1e  %s\n", name, scene->problem.nodes, m,
           s2_kkt_solver_name((S2KktSolver)solver), best, solution.iterations, solution.residual,
           s2_solve_status_name(solution.status));
    fflush(stdout);
  }
  free(v);
  free(lambda);
  s2_arena_free(&arena);
}

int main(void) {
  static const int bases[] = {22, 32, 50, 71, 100}; // 2 base^2 contacts
  static const int sides[] = {18, 26, 41, 58, 82};  // about 3 side^2
  static const int nets[] = {3, 4, 5, 10, 20, 40};
  printf("%-8s %8s %7s %9s %9s %9s %9s %9s %9s %8s\n", "scene", "contacts", "bodies", "blocks",
         "order", "L D L'", "L U", "solve", "dpotrf", "ratio");
  for (int i = 0; i < 5; i++) {
    Scene scene = pyramid(bases[i]);
    measure_step("pyramid", &scene, i == 0);
    free_scene(&scene);
  }
  for (int i = 0; i < 5; i++) {
    Scene scene = pile(sides[i]);
    measure_step("pile", &scene, i == 0);
    free_scene(&scene);
  }
  printf("\n%-8s %8s %8s %-8s %10s %8s %9s\n", "scene", "bodies", "rows", "method", "ms", "steps",
         "residual");
  for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
    Scene scene = net(nets[i]);
    measure_kkt("net", &scene);
    free_scene(&scene);
  }
  return 0;
}
