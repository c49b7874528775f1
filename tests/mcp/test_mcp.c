// Exact solvers on complementarity problems with known solutions.
#include "base/arena.h"
#include "base/rng.h"
#include "mcp/lcp/lcp.h"
#include "mcp/mcp.h"
#include "mcp/pivot/lemke.h"
#include "mcp/solvers.h"

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

enum { PATH_SIZE = 512, NAME_SIZE = 64, MAX_NODES = 64, MAX_ROWS = 256 };

static const double TOLERANCE = 1e-9;

// ---- reading the test set

typedef struct Entry {
  char name[NAME_SIZE];
  bool solvable, unique, velocity_unique;
} Entry;

typedef struct Lcp {
  int n;
  double *m, *q;
} Lcp;

static FILE *open_data(const char *name, const char *suffix) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/lcp/%s%s", S2_TEST_DATA, name, suffix);
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    fail_msg("cannot open %s", path);
  }
  return file;
}

static void skip_comments(FILE *file) {
  int c = fgetc(file);
  while (c == '#' || c == '\n') {
    while (c != '\n' && c != EOF) {
      c = fgetc(file);
    }
    c = fgetc(file);
  }
  ungetc(c, file);
}

static int next_int(FILE *file) {
  int value = 0;
  assert_int_equal(fscanf(file, "%d", &value), 1);
  return value;
}

static void next_doubles(FILE *file, double *x, int count) {
  for (int i = 0; i < count; ++i) {
    assert_int_equal(fscanf(file, "%lf", &x[i]), 1);
  }
}

static Lcp read_lcp(const char *name, S2Arena *arena) {
  FILE *file = open_data(name, ".lcp");
  skip_comments(file);
  Lcp lcp = {.n = next_int(file)};
  lcp.m = S2_TAKE(arena, double, lcp.n *lcp.n);
  lcp.q = S2_TAKE(arena, double, lcp.n);
  next_doubles(file, lcp.m, lcp.n * lcp.n);
  next_doubles(file, lcp.q, lcp.n);
  fclose(file);
  return lcp;
}

// The first solution listed.
static double *read_solution(const char *name, int n, S2Arena *arena) {
  FILE *file = open_data(name, ".sol");
  skip_comments(file);
  assert_true(next_int(file) >= 1);
  assert_int_equal(next_int(file), n);
  double *z = S2_TAKE(arena, double, n);
  next_doubles(file, z, n);
  fclose(file);
  return z;
}

typedef void EntryTest(const Entry *entry, S2Arena *arena);

// Calls `test` for the entries whose name starts with `prefix`; returns their number.
static int each_entry(const char *prefix, EntryTest *test) {
  FILE *file = open_data("manifest", ".txt");
  skip_comments(file);
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
    if (strncmp(name, prefix, strlen(prefix)) == 0) {
      S2Arena arena;
      s2_arena_init(&arena);
      test(&entry, &arena);
      s2_arena_free(&arena);
      count += 1;
    }
  }
  fclose(file);
  return count;
}

static double size_of(const double *x, int n) {
  double size = 0;
  for (int i = 0; i < n; ++i) {
    size = fmax(size, fabs(x[i]));
  }
  return size;
}

static double distance(const double *x, const double *y, int n) {
  double size = 0;
  for (int i = 0; i < n; ++i) {
    size = fmax(size, fabs(x[i] - y[i]));
  }
  return size;
}

static double lcp_residual(const Lcp *lcp, const double *z) {
  double residual = 0;
  for (int i = 0; i < lcp->n; ++i) {
    double w = lcp->q[i];
    for (int j = 0; j < lcp->n; ++j) {
      w += lcp->m[i * lcp->n + j] * z[j];
    }
    residual = fmax(residual, fabs(fmin(z[i], w)));
  }
  return residual;
}

// ---- the LCP core

static bool among(const char *name, const char *const *list) {
  for (; *list != NULL; ++list) {
    if (strcmp(name, *list) == 0) {
      return true;
    }
  }
  return false;
}

// The ray (z + t dz, z_0 + t dz_0) keeps w >= 0 and z' w = 0 in the covered problem: dz >= 0 and (M
// dz)_i >= 0 up to the cover's share; a reported certificate is checked by its definition.
static void check_ray(const Lcp *lcp, const double *ray, const S2LcpInfo *info) {
  assert_true(size_of(ray, lcp->n) == 1 || info->ray_cover > 0);
  double along_q = 0, worst = 0;
  for (int j = 0; j < lcp->n; ++j) {
    assert_true(ray[j] >= 0);
    double sum = 0;
    for (int i = 0; i < lcp->n; ++i) {
      sum += lcp->m[i * lcp->n + j] * ray[i];
    }
    worst = fmax(worst, sum);
    along_q += lcp->q[j] * ray[j];
  }
  if (info->infeasible) {
    assert_true(worst <= TOLERANCE * fmax(1, size_of(lcp->m, lcp->n * lcp->n)));
    assert_true(along_q < 0);
  }
}

static void check_lcp(const Entry *entry, S2Arena *arena) {
  // Solutions exist, but the path from this covering vector does not lead to them.
  static const char *const rays[] = {"classic/ray_but_solvable", "random/bimatrix_n40", NULL};
  // Condition 1e8: z is not determined to the compared digits.
  static const char *const sensitive[] = {"random/spd_cond1e8_n50", NULL};
  // Nonempty feasible set, no solution: no certificate of infeasibility can exist.
  static const char *const feasible[] = {"unsolvable/feasible_no_sol2", NULL};
  Lcp lcp = read_lcp(entry->name, arena);
  double *z = S2_TAKE(arena, double, lcp.n), *w = S2_TAKE(arena, double, lcp.n);
  double *ray = S2_TAKE_ZEROED(arena, double, lcp.n);
  S2LcpInfo info;
  S2LcpOptions options = {.max_pivots = 1 << 22};
  S2SolveStatus status = s2_lcp_lemke(lcp.n, lcp.m, lcp.q, z, w, ray, &options, arena, &info);
  double residual = lcp_residual(&lcp, z), allowed = TOLERANCE * fmax(1, size_of(lcp.q, lcp.n));
  if (!entry->solvable || among(entry->name, rays)) {
    assert_int_equal(status, S2_RAY);
    assert_true(residual > allowed);
    check_ray(&lcp, ray, &info);
    if (info.infeasible != (!entry->solvable && !among(entry->name, feasible))) {
      fail_msg("%s: claimed %d", entry->name, info.infeasible);
    }
    return;
  }
  if (status != S2_SOLVED || !(residual <= allowed)) {
    fail_msg("%s: %s, residual %g, %d pivots", entry->name, s2_solve_status_name(status), residual,
             info.pivots);
  }
  assert_true(fabs(residual - info.residual) <= allowed);
  if (entry->unique && !among(entry->name, sensitive)) {
    double *known = read_solution(entry->name, lcp.n, arena);
    double off = distance(z, known, lcp.n) / fmax(1, size_of(known, lcp.n));
    if (!(off <= TOLERANCE)) {
      fail_msg("%s: z is off by %g", entry->name, off);
    }
  }
}

static void lcp_classic(void **state) {
  (void)state;
  assert_int_equal(each_entry("classic/", check_lcp), 49);
}

static void lcp_random(void **state) {
  (void)state;
  assert_int_equal(each_entry("random/", check_lcp), 6);
}

static void lcp_contact(void **state) {
  (void)state;
  assert_int_equal(each_entry("contact/", check_lcp), 26);
}

static void lcp_unsolvable(void **state) {
  (void)state;
  assert_int_equal(each_entry("unsolvable/", check_lcp), 6);
}

static S2SolveStatus lcp_one(double m, double q, double *z) {
  S2Arena arena;
  s2_arena_init(&arena);
  double w;
  S2LcpInfo info;
  S2SolveStatus status = s2_lcp_lemke(1, &m, &q, z, &w, NULL, NULL, &arena, &info);
  s2_arena_free(&arena);
  return status;
}

static void lcp_smallest(void **state) {
  (void)state;
  double z = -1;
  assert_int_equal(lcp_one(2, -4, &z), S2_SOLVED);
  assert_true(z == 2);
  assert_int_equal(lcp_one(1e-200, -1e-200, &z), S2_SOLVED);
  assert_true(z == 1);
  assert_int_equal(lcp_one(0, 0, &z), S2_SOLVED);
  assert_true(z == 0);
  assert_int_equal(lcp_one(-1, 1, &z), S2_SOLVED);
  assert_true(z == 0);
  assert_int_equal(lcp_one(0, -1, &z), S2_RAY);
  assert_int_equal(lcp_one(-1, -1, &z), S2_RAY);
  assert_int_equal(lcp_one((double)NAN, -1, &z), S2_SINGULAR);
  assert_int_equal(lcp_one(1, (double)NAN, &z), S2_SINGULAR);
  assert_int_equal(lcp_one((double)INFINITY, -1, &z), S2_SINGULAR);
  assert_int_equal(lcp_one(1, -(double)INFINITY, &z), S2_SINGULAR);
  assert_int_equal(lcp_one(1e-300, -1e300, &z), S2_SINGULAR); // z overflows
}

static void lcp_arguments(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2LcpInfo info;
  assert_int_equal(s2_lcp_lemke(0, NULL, NULL, NULL, NULL, NULL, NULL, &arena, &info), S2_SOLVED);
  const double m[4] = {2, 1, 1, 2}, q[2] = {-5, -6}, bad[2] = {1, 0}, good[2] = {3, 1};
  double z[2], w[2];
  S2LcpOptions options = {.cover = bad};
  assert_int_equal(s2_lcp_lemke(2, m, q, z, w, NULL, &options, &arena, &info), S2_SINGULAR);
  options.cover = good;
  assert_int_equal(s2_lcp_lemke(2, m, q, z, w, NULL, &options, &arena, &info), S2_SOLVED);
  assert_true(fabs(z[0] - 4.0 / 3) < 1e-15 && fabs(z[1] - 7.0 / 3) < 1e-15);
  options.max_pivots = 1;
  assert_int_equal(s2_lcp_lemke(2, m, q, z, w, NULL, &options, &arena, &info), S2_MAX_ITERATIONS);
  assert_int_equal(info.pivots, 1);
  s2_arena_free(&arena);
}

// ---- step problems

typedef struct Scene {
  S2Problem problem;
  double mass[3 * MAX_NODES], rhs[3 * MAX_NODES];
  S2Row row[MAX_ROWS];
  double v[3 * MAX_NODES], lambda[MAX_ROWS];
} Scene;

static S2Solution solve(Scene *scene, S2SolverFn *solver, S2Arena *arena) {
  S2SolverOptions options = {.tolerance = TOLERANCE, .max_iterations = 50};
  memset(scene->v, 0, sizeof scene->v);
  memset(scene->lambda, 0, sizeof scene->lambda);
  S2Solution solution = {.v = scene->v, .lambda = scene->lambda};
  S2SolveStatus status = solver(&scene->problem, &options, arena, &solution);
  assert_int_equal(status, solution.status);
  S2Residual judged = s2_mcp_residual(&scene->problem, scene->v, scene->lambda, arena);
  assert_memory_equal(&judged, &solution.residual, sizeof judged);
  return solution;
}

static void scene_reset(Scene *scene) {
  memset(scene, 0, sizeof *scene);
  scene->problem = (S2Problem){
      .mass = scene->mass,
      .rhs = scene->rhs,
      .row = scene->row,
      .velocity_scale = 1,
      .length = 1,
  };
}

// The columns of the files are (x, y, angle), those of the library (angle, x, y).
static void read_jacobian(FILE *file, S2Row *row, int nodes) {
  row->a = row->b = S2_GROUND;
  for (int node = 0; node < nodes; ++node) {
    double j[3];
    next_doubles(file, j, 3);
    if (j[0] == 0 && j[1] == 0 && j[2] == 0) {
      continue;
    }
    bool second = row->a != S2_GROUND;
    assert_true(row->b == S2_GROUND);
    *(second ? &row->b : &row->a) = node;
    double *to = second ? row->jb : row->ja;
    to[0] = j[2];
    to[1] = j[0];
    to[2] = j[1];
  }
}

// Every contact gets a friction row; with mu = 0 it has no effect.
static void read_scene(const char *name, Scene *scene, S2Arena *arena) {
  scene_reset(scene);
  FILE *file = open_data(name, ".jac");
  skip_comments(file);
  int contacts = next_int(file), nodes = next_int(file);
  assert_true(nodes <= MAX_NODES && 2 * contacts <= MAX_ROWS);
  for (int friction = 0; friction < 2; ++friction) {
    for (int c = 0; c < contacts; ++c) {
      S2Row *row = &scene->row[2 * c + friction];
      read_jacobian(file, row, nodes);
      row->coupled_to = friction == 1 ? 2 * c : -1;
      row->hi = INFINITY;
      row->group = c;
    }
  }
  double *numbers = S2_TAKE(arena, double, 3 * nodes + contacts);
  next_doubles(file, numbers, contacts);
  for (int c = 0; c < contacts; ++c) {
    scene->row[2 * c + 1].mu = numbers[c];
  }
  next_doubles(file, numbers, 3 * nodes);
  for (int k = 0; k < 3 * nodes; ++k) {
    scene->mass[k / 3 * 3 + (k % 3 + 1) % 3] = 1 / numbers[k];
  }
  next_doubles(file, numbers, 3 * nodes);
  for (int k = 0; k < 3 * nodes; ++k) {
    int to = k / 3 * 3 + (k % 3 + 1) % 3;
    scene->rhs[to] = scene->mass[to] * numbers[k];
  }
  scene->problem.velocity_scale = fmax(size_of(numbers, 3 * nodes), 1e-3);
  next_doubles(file, numbers, contacts);
  for (int c = 0; c < contacts; ++c) {
    scene->row[2 * c].bias = numbers[c];
  }
  fclose(file);
  for (int c = 0; c < contacts && read_lcp(name, arena).n == contacts; ++c) {
    scene->row[2 * c + 1].mu = 0; // the problem of this name omits friction
  }
  scene->problem.nodes = nodes;
  scene->problem.rows = 2 * contacts;
}

// Velocities of the solution z = (lambda_n; beta+; beta-; s) or (lambda_n) in the file.
static double *known_velocities(const char *name, const Scene *scene, S2Arena *arena) {
  int contacts = scene->problem.rows / 2;
  bool friction = false;
  for (int c = 0; c < contacts; ++c) {
    friction = friction || scene->row[2 * c + 1].mu > 0;
  }
  const double *z = read_solution(name, friction ? 4 * contacts : contacts, arena);
  double *lambda = S2_TAKE_ZEROED(arena, double, 2 * contacts);
  double *v = S2_TAKE(arena, double, 3 * scene->problem.nodes);
  for (int c = 0; c < contacts; ++c) {
    lambda[2 * c] = z[c];
    lambda[2 * c + 1] = friction ? z[contacts + c] - z[2 * contacts + c] : 0;
  }
  s2_mcp_velocity(&scene->problem, lambda, v);
  return v;
}

static void check_scene(const Entry *entry, S2Arena *arena) {
  Scene *scene = S2_TAKE(arena, Scene, 1);
  read_scene(entry->name, scene, arena);
  S2Solution solution = solve(scene, s2_lemke_solve, arena);
  if (scene->problem.rows > 2 * S2_LEMKE_MAX_CONTACTS) {
    assert_int_equal(solution.status, S2_UNSUPPORTED);
    return;
  }
  if (!(solution.residual.scaled <= TOLERANCE) || solution.status != S2_SOLVED) {
    fail_msg("%s: %s, residual %g", entry->name, s2_solve_status_name(solution.status),
             solution.residual.scaled);
  }
  if (entry->velocity_unique) {
    const double *known = known_velocities(entry->name, scene, arena);
    double off = distance(scene->v, known, 3 * scene->problem.nodes);
    if (!(off <= TOLERANCE * fmax(1, scene->problem.velocity_scale))) {
      fail_msg("%s: velocities are off by %g", entry->name, off);
    }
  }
}

static void lemke_contact_scenes(void **state) {
  (void)state;
  assert_int_equal(each_entry("contact/", check_scene), 26);
}

static void lemke_crushed_stack(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Scene *scene = S2_TAKE(&arena, Scene, 1);
  read_scene("unsolvable/crush_stack8_mu0", scene, &arena);
  S2Solution solution = solve(scene, s2_lemke_solve, &arena);
  assert_int_equal(solution.status, S2_RAY);
  assert_true(solution.residual.scaled > 1e-3);
  s2_arena_free(&arena);
}

// ---- random problems

static double between(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static void add_node(Scene *scene, S2Rng *rng, double decades) {
  int node = scene->problem.nodes++;
  double m = pow(10, between(rng, -decades / 2, decades / 2));
  double *mass = scene->mass + 3 * node, *rhs = scene->rhs + 3 * node;
  mass[0] = m * between(rng, 0.05, 0.5);
  mass[1] = mass[2] = m;
  for (int k = 0; k < 3; ++k) {
    rhs[k] = mass[k] * (between(rng, -1, 1) - (k == 2 ? 0.3 : 0));
  }
}

// A direction seen from the centres of a and b (arms pa, pb), + on a and - on b.
static void set_jacobian(S2Row *row, const double *pa, const double *pb, double x, double y) {
  const double ja[3] = {pa[0] * y - pa[1] * x, x, y};
  const double jb[3] = {-(pb[0] * y - pb[1] * x), -x, -y};
  if (row->a != S2_GROUND) {
    memcpy(row->ja, ja, sizeof ja);
  }
  if (row->b != S2_GROUND) {
    memcpy(row->jb, jb, sizeof jb);
  }
}

static S2Row *add_row(Scene *scene, int a, int b, int group) {
  assert_true(scene->problem.rows < MAX_ROWS);
  S2Row *row = &scene->row[scene->problem.rows++];
  *row = (S2Row){.a = a, .b = b, .coupled_to = -1, .group = group, .lo = 0, .hi = INFINITY};
  return row;
}

static void add_contact(Scene *scene, int a, int b, const double *pa, const double *pb,
                        double angle, double mu, bool friction) {
  int group = scene->problem.rows;
  S2Row *row = add_row(scene, a, b, group);
  set_jacobian(row, pa, pb, cos(angle), sin(angle));
  if (friction) {
    row = add_row(scene, a, b, group);
    row->coupled_to = group;
    row->mu = mu;
    set_jacobian(row, pa, pb, -sin(angle), cos(angle));
  }
}

static void add_hinge(Scene *scene, int a, int b, const double *pa, const double *pb) {
  int group = scene->problem.rows;
  for (int k = 0; k < 2; ++k) {
    S2Row *row = add_row(scene, a, b, group);
    row->lo = -INFINITY;
    set_jacobian(row, pa, pb, k == 0, k == 1);
  }
}

static void single_contact(Scene *scene, S2Rng *rng) {
  const double arms[4] = {between(rng, -1, 1), between(rng, -1, 1), between(rng, -1, 1),
                          between(rng, -1, 1)};
  scene_reset(scene);
  int nodes = (int)s2_rng_integer(rng, 1, 2);
  for (int i = 0; i < nodes; ++i) {
    add_node(scene, rng, 6);
  }
  bool friction = s2_rng_uniform(rng) < 0.8, turned = s2_rng_uniform(rng) < 0.5;
  int a = turned && nodes == 1 ? S2_GROUND : 0;
  int b = nodes == 2 ? 1 : turned ? 0 : S2_GROUND;
  double mu = s2_rng_uniform(rng) < 0.1 ? 0 : between(rng, 0, 4);
  add_contact(scene, a, b, arms, arms + 2, between(rng, 0, 6.3), mu, friction);
  scene->row[0].bias = between(rng, -0.5, 0.5);
  double compliance = s2_rng_uniform(rng) < 0.3 ? between(rng, 0, 1) : 0;
  for (int i = 0; i < scene->problem.rows; ++i) {
    scene->row[i].compliance = compliance;
  }
}

// mu |W_nt| < W_nn, with a margin for rounding: the solution is unique.
static bool is_unique(const Scene *scene) {
  if (scene->problem.rows < 2) {
    return true;
  }
  double nn = scene->row[0].compliance, nt = 0;
  for (int k = 0; k < 3; ++k) {
    for (int side = 0; side < 2; ++side) {
      int node = side == 0 ? scene->row[0].a : scene->row[0].b;
      const double *n = side == 0 ? scene->row[0].ja : scene->row[0].jb;
      const double *t = side == 0 ? scene->row[1].ja : scene->row[1].jb;
      nn += node == S2_GROUND ? 0 : n[k] * n[k] / scene->mass[3 * node + k];
      nt += node == S2_GROUND ? 0 : n[k] * t[k] / scene->mass[3 * node + k];
    }
  }
  return scene->row[1].mu * fabs(nt) < 0.99 * nn;
}

static void closed_against_lemke(void **state) {
  (void)state;
  enum { CASES = 4000 };
  int compared = 0;
  double worst = 0;
  S2Arena arena;
  s2_arena_init(&arena);
  Scene *scene = S2_TAKE(&arena, Scene, 1);
  for (int seed = 0; seed < CASES; ++seed) {
    S2Rng rng = s2_rng_seeded((uint64_t)seed);
    single_contact(scene, &rng);
    int size = 3 * scene->problem.nodes;
    double lemke[6];
    S2Solution solution = solve(scene, s2_lemke_solve, &arena);
    if (solution.status != S2_SOLVED) {
      fail_msg("seed %d: lemke %s, residual %g", seed, s2_solve_status_name(solution.status),
               solution.residual.scaled);
    }
    memcpy(lemke, scene->v, sizeof(double) * (size_t)size);
    solution = solve(scene, s2_closed_solve, &arena);
    if (solution.status != S2_SOLVED || !(solution.residual.scaled <= 1e-12)) {
      fail_msg("seed %d: closed form %s, residual %g", seed, s2_solve_status_name(solution.status),
               solution.residual.scaled);
    }
    worst = fmax(worst, solution.residual.scaled);
    if (is_unique(scene)) {
      double off = distance(scene->v, lemke, size);
      compared += 1;
      if (!(off <= TOLERANCE)) {
        fail_msg("seed %d: closed form and lemke differ by %g", seed, off);
      }
    }
  }
  print_message("closed form: %d compared, worst residual %.1e\n", compared, worst);
  assert_true(compared > CASES / 2 && compared < CASES);
  s2_arena_free(&arena);
}

// Bodies at random places, hinged to each other or the ground as requested (some hinges twice,
// which is redundant), touching in points between their centres (some twice). v = 0 satisfies all
// rows, so a solution exists.
static void random_island(Scene *scene, S2Rng *rng) {
  scene_reset(scene);
  int nodes = (int)s2_rng_integer(rng, 1, 8);
  int contacts = (int)s2_rng_integer(rng, 1, 20), hinges = (int)s2_rng_integer(rng, -4, 4);
  double center[8][2], decades = s2_rng_uniform(rng) < 0.5 ? 6 : 1;
  for (int i = 0; i < nodes; ++i) {
    center[i][0] = between(rng, -2, 2);
    center[i][1] = between(rng, -2, 2);
    add_node(scene, rng, decades);
  }
  double arms[4] = {0, 0, 0, 0};
  int a = 0, b = S2_GROUND;
  double angle = 0, mu = between(rng, 0, 2);
  for (int i = 0; i < hinges + contacts; ++i) {
    bool again = i > 0 && s2_rng_uniform(rng) < 0.2;
    if (!again || (hinges > 0 && i == hinges)) {
      a = (int)s2_rng_integer(rng, 0, nodes - 1);
      b = (int)s2_rng_integer(rng, -1, nodes - 1);
      b = b == a ? S2_GROUND : b;
      double x = b < 0 ? center[a][0] : (center[a][0] + center[b][0]) / 2 + between(rng, -0.2, 0.2);
      double y = b < 0 ? center[a][1] - 0.5 : (center[a][1] + center[b][1]) / 2;
      arms[0] = x - center[a][0];
      arms[1] = y - center[a][1];
      arms[2] = b < 0 ? 0 : x - center[b][0];
      arms[3] = b < 0 ? 0 : y - center[b][1];
      angle = between(rng, 0, 6.3);
    }
    if (i < hinges) {
      add_hinge(scene, a, b, arms, arms + 2);
    } else {
      double this_mu = s2_rng_uniform(rng) < 0.2 ? 0 : mu;
      add_contact(scene, a, b, arms, arms + 2, angle, this_mu, s2_rng_uniform(rng) < 0.9);
      S2Row *normal = &scene->row[scene->row[scene->problem.rows - 1].group];
      normal->bias = s2_rng_uniform(rng) < 0.5 ? 0 : between(rng, 0, 0.3);
    }
  }
  bool soft = s2_rng_uniform(rng) < 0.2;
  for (int i = 0; i < scene->problem.rows && soft; ++i) {
    scene->row[i].compliance = s2_rng_uniform(rng) < 0.3 ? between(rng, 0, 0.1) : 0;
  }
}

static void lemke_random_islands(void **state) {
  (void)state;
  enum { CASES = 1500 };
  int failed = 0, fine = 0, pivots = 0;
  double worst = 0;
  S2Arena arena;
  s2_arena_init(&arena);
  Scene *scene = S2_TAKE(&arena, Scene, 1);
  for (int seed = 0; seed < CASES; ++seed) {
    S2Rng rng = s2_rng_seeded((uint64_t)seed);
    random_island(scene, &rng);
    S2Solution solution = solve(scene, s2_lemke_solve, &arena);
    worst = fmax(worst, solution.residual.scaled);
    fine += solution.residual.scaled <= 1e-13;
    pivots += solution.iterations;
    if (solution.status != S2_SOLVED || !(solution.residual.scaled <= TOLERANCE)) {
      failed += 1;
      print_message("seed %d: %s, residual %g, %d rows, %d pivots\n", seed,
                    s2_solve_status_name(solution.status), solution.residual.scaled,
                    scene->problem.rows, solution.iterations);
    }
  }
  print_message("islands: worst residual %.1e, %d of %d below 1e-13, %d pivots each\n", worst, fine,
                CASES, pivots / CASES);
  s2_arena_free(&arena);
  assert_int_equal(failed, 0);
}

// ---- special problems of one contact

static Scene *rod(S2Arena *arena, double mu, double speed) {
  // A thin rod at 45 degrees, its tip on the ground below and left of the centre: W_nt is large.
  Scene *scene = S2_TAKE(arena, Scene, 1);
  const double arm[2] = {-0.5, -0.5}, none[2] = {0, 0};
  scene_reset(scene);
  scene->problem.nodes = 1;
  scene->mass[0] = 1.0 / 12;
  scene->mass[1] = scene->mass[2] = 1;
  scene->rhs[1] = speed;
  scene->rhs[2] = 0.1;
  add_contact(scene, 0, S2_GROUND, arm, none, acos(0.0), mu, true);
  return scene;
}

static void closed_several_solutions(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  // W_nn = W_tt = 4, W_nt = 3, free velocities (.1, -speed): leaving. For mu > 4/3 and the right
  // direction of sliding the impulse of sticking solves the problem as well; but a contact that
  // separates without an impulse must separate.
  for (int way = -1; way <= 1; way += 2) {
    Scene *scene = rod(&arena, 2, way * 1.0);
    S2Solution solution = solve(scene, s2_closed_solve, &arena);
    assert_int_equal(solution.status, S2_SOLVED);
    double u[2];
    s2_mcp_row_velocity(&scene->problem, scene->v, u);
    assert_true(scene->lambda[0] == 0 && scene->lambda[1] == 0);
    assert_true(fabs(u[0] - 0.1) < 1e-15);
    assert_true(fabs(u[1] + way) < 1e-15);
  }
  // Approaching, with so much friction that the tip catches: it sticks in either direction of
  // sliding.
  for (int way = -1; way <= 1; way += 2) {
    Scene *scene = rod(&arena, 2, way * 0.05);
    scene->rhs[2] = -0.1;
    S2Solution solution = solve(scene, s2_closed_solve, &arena);
    assert_int_equal(solution.status, S2_SOLVED);
    double u[2];
    s2_mcp_row_velocity(&scene->problem, scene->v, u);
    assert_true(scene->lambda[0] > 0.01);
    assert_true(fabs(u[0]) < 1e-15 && fabs(u[1]) < 1e-15);
  }
  s2_arena_free(&arena);
}

static void closed_takes_only_its_own(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  Scene *scene = rod(&arena, 0.5, 1);
  const double arm[2] = {0.5, -0.5}, none[2] = {0, 0};
  add_contact(scene, 0, S2_GROUND, arm, none, acos(0.0), 0.5, true);
  assert_int_equal(solve(scene, s2_closed_solve, &arena).status, S2_UNSUPPORTED);
  assert_int_equal(solve(scene, s2_lemke_solve, &arena).status, S2_SOLVED);
  scene->problem.rows = 0;
  assert_int_equal(solve(scene, s2_closed_solve, &arena).status, S2_SOLVED);
  assert_true(scene->v[1] == 1);
  assert_int_equal(solve(scene, s2_lemke_solve, &arena).status, S2_SOLVED);
  assert_true(scene->v[1] == 1);
  add_hinge(scene, 0, S2_GROUND, arm, none);
  assert_int_equal(solve(scene, s2_closed_solve, &arena).status, S2_UNSUPPORTED);
  s2_arena_free(&arena);
}

static void solvers_refuse_nan(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2SolverFn *const solvers[] = {s2_closed_solve, s2_lemke_solve};
  for (int k = 0; k < 2; ++k) {
    Scene *scene = rod(&arena, 0.5, 1);
    scene->rhs[0] = NAN;
    S2SolverOptions options = {.tolerance = TOLERANCE};
    S2Solution solution = {.v = scene->v, .lambda = scene->lambda};
    assert_int_equal(solvers[k](&scene->problem, &options, &arena, &solution), S2_SINGULAR);
    assert_false(solution.residual.scaled <= TOLERANCE);
  }
  s2_arena_free(&arena);
}

// The error of an impulse counts by the motion that it causes, whatever the compliance of its row.
// (The error of the row itself contains rounding times the compliance.)
static void soft_rows_count_by_what_they_move(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  static const double compliances[] = {0, 1e-6, 1, 1e6};
  const double mass[3] = {2, 3, 3}, none[3] = {0, 0, 0}, off = 1e-3, w = 1.0 / 3;
  for (int k = 0; k < 4; k++) {
    for (int bilateral = 0; bilateral < 2; bilateral++) {
      double c = compliances[k], exact = 1 / (w + c), impulse = exact + off, v[3];
      S2Row row = {.a = 0,
                   .b = S2_GROUND,
                   .coupled_to = -1,
                   .ja = {0, 0, 1},
                   .lo = bilateral ? -INFINITY : 0,
                   .hi = INFINITY,
                   .compliance = c,
                   .bias = -1};
      S2Problem problem = {.nodes = 1,
                           .rows = 1,
                           .mass = mass,
                           .rhs = none,
                           .row = &row,
                           .velocity_scale = 1,
                           .length = 1};
      s2_mcp_velocity(&problem, &impulse, v);
      // A contact's min(w l, u) is its speed here, as it presses.
      double scaled = s2_mcp_residual(&problem, v, &impulse, &arena).scaled;
      double moved = fmin(w * off, bilateral ? INFINITY : w * impulse);
      assert_true(fabs(scaled - moved) <= 1e-9 * moved);
    }
  }
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(soft_rows_count_by_what_they_move),
      cmocka_unit_test(lcp_smallest),
      cmocka_unit_test(lcp_arguments),
      cmocka_unit_test(lcp_classic),
      cmocka_unit_test(lcp_random),
      cmocka_unit_test(lcp_contact),
      cmocka_unit_test(lcp_unsolvable),
      cmocka_unit_test(lemke_contact_scenes),
      cmocka_unit_test(lemke_crushed_stack),
      cmocka_unit_test(closed_against_lemke),
      cmocka_unit_test(closed_several_solutions),
      cmocka_unit_test(closed_takes_only_its_own),
      cmocka_unit_test(solvers_refuse_nan),
      cmocka_unit_test(lemke_random_islands),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
