// Frictional contact given as matrices: local, global and the step problem of bodies must agree,
// files must keep every bit, and bad input must be refused.
#include "base/rng.h"
#include "mcp/contact/contact.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const S2SolverOptions OPTIONS = {
    .solver = S2_SOLVER_AUTO, .tolerance = 1e-10, .max_iterations = 50};

enum { MAX_BODIES = 12, MAX_CONTACTS = 20, SCENES = 300 };

typedef struct Random {
  int bodies, contacts;
  S2Csr m, h, w;
  double *q, *b, *mu, *local_q; // q, b: global form; local_q: free velocities of the local form
} Random;

static double uniform(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

// M: diagonal, or 3 x 3 blocks that also couple neighbouring bodies.
static S2Csr random_mass(S2Rng *rng, int bodies, bool coupled, S2Arena *arena) {
  int n = 3 * bodies;
  double *dense = S2_TAKE_ZEROED(arena, double, n *n);
  for (int i = 0; i < n; i++) {
    dense[i * n + i] = uniform(rng, .5, 4);
  }
  for (int k = 0; coupled && k < 2 * n; k++) { // plus x x', which keeps it positive definite
    int i = (int)(s2_rng_uniform(rng) * n), j = (int)(s2_rng_uniform(rng) * n);
    double x = uniform(rng, -1, 1), y = uniform(rng, -1, 1);
    dense[i * n + i] += x * x;
    dense[j * n + j] += y * y;
    dense[i * n + j] += x * y;
    dense[j * n + i] += x * y;
  }
  return s2_csr_from_dense(n, n, dense, arena);
}

// Contacts of unit boxes at random places: normals at random, arms below 1; some against the
// ground.
static Random random_scene(uint64_t seed, bool coupled, S2Arena *arena) {
  S2Rng rng = s2_rng_seeded(seed);
  Random scene = {.bodies = 1 + (int)(s2_rng_uniform(&rng) * MAX_BODIES)};
  scene.contacts = 1 + (int)(s2_rng_uniform(&rng) * MAX_CONTACTS);
  int n = 3 * scene.bodies, rows = 2 * scene.contacts;
  scene.m = random_mass(&rng, scene.bodies, coupled, arena);
  S2Triplet *t = S2_TAKE(arena, S2Triplet, 6 * rows);
  int count = 0;
  scene.mu = S2_TAKE(arena, double, scene.contacts);
  scene.b = S2_TAKE(arena, double, rows);
  scene.q = S2_TAKE(arena, double, n);
  for (int k = 0; k < scene.contacts; k++) {
    double angle = uniform(&rng, 0, 6.28), c = cos(angle), s = sin(angle);
    const double frame[2][2] = {{c, s}, {-s, c}};
    int a = (int)(s2_rng_uniform(&rng) * scene.bodies),
        b = (int)(s2_rng_uniform(&rng) * scene.bodies);
    for (int side = 0; side < (a == b ? 1 : 2); side++) {
      double x = uniform(&rng, -.7, .7), y = uniform(&rng, -.7, .7), sign = side == 0 ? 1 : -1;
      int at = 3 * (side == 0 ? a : b);
      for (int r = 0; r < 2; r++) {
        const double j[3] = {frame[r][0], frame[r][1], x * frame[r][1] - y * frame[r][0]};
        for (int l = 0; l < 3; l++) {
          t[count++] = (S2Triplet){at + l, 2 * k + r, sign * j[l]};
        }
      }
    }
    scene.mu[k] = s2_rng_uniform(&rng) < .2 ? 0 : uniform(&rng, 0, 1);
    scene.b[2 * k] = uniform(&rng, 0, .5); // gaps: a solution exists
    scene.b[2 * k + 1] = uniform(&rng, -.1, .1);
  }
  for (int i = 0; i < n; i++) {
    scene.q[i] = uniform(&rng, -2, 2);
  }
  scene.h = s2_csr_from_triplets(n, rows, count, t, arena);
  return scene;
}

// W and its q by solving with a dense copy of M, Gauss-Jordan: independent of the code of
// contact.c.
static void condense(Random *scene, S2Arena *arena) {
  int n = 3 * scene->bodies, rows = 2 * scene->contacts, width = n + rows + 1;
  double *a = S2_TAKE_ZEROED(arena, double, n *width);
  for (int i = 0; i < n; i++) {
    for (int32_t p = scene->m.start[i]; p < scene->m.start[i + 1]; p++) {
      a[i * width + scene->m.column[p]] = scene->m.value[p];
    }
    for (int32_t p = scene->h.start[i]; p < scene->h.start[i + 1]; p++) {
      a[i * width + n + scene->h.column[p]] = scene->h.value[p];
    }
    a[i * width + n + rows] = scene->q[i];
  }
  for (int i = 0; i < n; i++) {
    for (int r = 0; r < n; r++) {
      double f = r == i ? 0 : a[r * width + i] / a[i * width + i];
      for (int j = i; j < width && f != 0; j++) {
        a[r * width + j] -= f * a[i * width + j];
      }
    }
  }
  double *w = S2_TAKE_ZEROED(arena, double, rows *rows);
  scene->local_q = S2_TAKE(arena, double, rows);
  memcpy(scene->local_q, scene->b, sizeof(double) * (size_t)rows);
  for (int i = 0; i < n; i++) {
    for (int32_t p = scene->h.start[i]; p < scene->h.start[i + 1]; p++) {
      double f = scene->h.value[p] / a[i * width + i];
      for (int j = 0; j < rows; j++) {
        w[scene->h.column[p] * rows + j] += f * a[i * width + n + j];
      }
      scene->local_q[scene->h.column[p]] += f * a[i * width + n + rows];
    }
  }
  scene->w = s2_csr_from_dense(rows, rows, w, arena);
}

static S2ContactSolution room(const Random *scene, S2Arena *arena) {
  return (S2ContactSolution){.r = S2_TAKE_ZEROED(arena, double, 2 * scene->contacts),
                             .u = S2_TAKE_ZEROED(arena, double, 2 * scene->contacts),
                             .v = S2_TAKE_ZEROED(arena, double, 3 * scene->bodies)};
}

static double difference(const double *x, const double *y, int count) {
  double worst = 0;
  for (int i = 0; i < count; i++) {
    worst = fmax(worst, fabs(x[i] - y[i]));
  }
  return worst;
}

// Coulomb's law, checked contact by contact without the library's residual.
static void assert_coulomb(const Random *scene, const S2ContactSolution *s, double tolerance) {
  for (int k = 0; k < scene->contacts; k++) {
    double rn = s->r[2 * k], rt = s->r[2 * k + 1], un = s->u[2 * k], ut = s->u[2 * k + 1];
    assert_true(rn >= -tolerance && un >= -tolerance);
    assert_true(fmin(rn, un) <= tolerance);
    assert_true(fabs(rt) <= scene->mu[k] * rn + tolerance);
    if (fabs(ut) > 100 * tolerance) {
      assert_true(fabs(rt + copysign(scene->mu[k] * rn, ut)) <= 100 * tolerance);
    }
  }
}

// For small friction the velocities are unique; otherwise both must be solutions.
static void forms_agree(void **state) {
  (void)state;
  int solved = 0, same = 0;
  S2Arena arena;
  s2_arena_init(&arena);
  for (uint64_t seed = 1; seed <= SCENES; seed++) {
    s2_arena_reset(&arena);
    Random scene = random_scene(seed, seed % 2 == 0, &arena);
    condense(&scene, &arena);
    S2GlobalContactProblem global = {3 * scene.bodies, scene.contacts, &scene.m, &scene.h,
                                     scene.q,          scene.b,        scene.mu};
    S2ContactProblem local = {scene.contacts, &scene.w, scene.local_q, scene.mu};
    S2ContactSolution one = room(&scene, &arena), two = room(&scene, &arena);
    s2_contact_solve_global(&global, &OPTIONS, &arena, &one);
    s2_contact_solve(&local, &OPTIONS, &arena, &two);
    assert_int_equal(one.status, S2_SOLVED);
    assert_int_equal(two.status, S2_SOLVED);
    assert_coulomb(&scene, &one, 1e-8);
    assert_coulomb(&scene, &two, 1e-8);
    solved++;
    same += difference(one.u, two.u, 2 * scene.contacts) < 1e-7;
    // M v = H r + q
    double *f = S2_TAKE(&arena, double, 3 * scene.bodies);
    memcpy(f, scene.q, sizeof(double) * (size_t)(3 * scene.bodies));
    s2_csr_add_times(&scene.h, 1, one.r, f);
    s2_csr_add_times(&scene.m, -1, one.v, f);
    double *zero = S2_TAKE_ZEROED(&arena, double, 3 * scene.bodies);
    assert_true(difference(f, zero, 3 * scene.bodies) < 1e-8);
  }
  s2_arena_free(&arena);
  assert_int_equal(solved, SCENES);
  assert_true(same > SCENES * 9 / 10);
}

static void closed_examples(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  const double diagonal[2] = {1, 1}, mu = .5;
  S2Csr w = s2_csr_diagonal(2, diagonal, &arena);
  const double q[4][2] = {{-1, 2}, {-1, .2}, {1, 5}, {-1, -2}};
  const double r[4][2] = {{1, -.5}, {1, -.2}, {0, 0}, {1, .5}}; // slide, stick, part, slide
  for (int i = 0; i < 4; i++) {
    double found[2] = {0}, u[2];
    S2ContactProblem problem = {1, &w, q[i], &mu};
    S2ContactSolution solution = {.r = found, .u = u};
    assert_int_equal(s2_contact_solve(&problem, &OPTIONS, &arena, &solution), S2_SOLVED);
    assert_true(difference(found, r[i], 2) < 1e-15);
  }
  s2_arena_free(&arena);
}

static void bad_numbers(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  double diagonal[2] = {1, 1}, mu = .5, q[2] = {-1, 2}, r[2] = {0}, u[2], v[3];
  S2ContactSolution solution = {.r = r, .u = u, .v = v};
  double *const spoiled[] = {&diagonal[1], &q[0], &mu};
  for (int i = 0; i < 3; i++) {
    double kept = *spoiled[i];
    *spoiled[i] = i == 1 ? INFINITY : NAN;
    S2Csr w = s2_csr_diagonal(2, diagonal, &arena);
    S2ContactProblem problem = {1, &w, q, &mu};
    assert_int_equal(s2_contact_solve(&problem, &OPTIONS, &arena, &solution), S2_SINGULAR);
    assert_true(isfinite(r[0]) && isfinite(u[0]));
    *spoiled[i] = kept;
  }
  // a force that pulls has no solution
  const double pulling[2] = {-1, 1};
  S2Csr w = s2_csr_diagonal(2, pulling, &arena);
  S2ContactProblem problem = {1, &w, q, &mu};
  assert_int_not_equal(s2_contact_solve(&problem, &OPTIONS, &arena, &solution), S2_SOLVED);
  assert_true(solution.residual.scaled > OPTIONS.tolerance);
  // M must be positive definite, with either guess
  const double dense[9] = {1, 2, 0, 2, 1, 0, 0, 0, 1}, flat[9] = {1, 0, 0, 0, 0, 0, 0, 0, 1};
  const double h_dense[6] = {1, 0, 0, 1, 0, 0}, momentum[3] = {-1, 2, 0}, b[2] = {0};
  S2Csr h = s2_csr_from_dense(3, 2, h_dense, &arena);
  for (int i = 0; i < 2; i++) {
    S2Csr m = s2_csr_from_dense(3, 3, i == 0 ? dense : flat, &arena);
    S2GlobalContactProblem global = {3, 1, &m, &h, momentum, b, &mu};
    assert_int_equal(s2_contact_solve_global(&global, &OPTIONS, &arena, &solution), S2_SINGULAR);
  }
  s2_arena_free(&arena);
}

static void nothing_at_all(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Csr w = s2_csr_from_triplets(0, 0, 0, NULL, &arena);
  S2ContactProblem problem = {0, &w, NULL, NULL};
  S2ContactSolution solution = {0};
  assert_int_equal(s2_contact_solve(&problem, &OPTIONS, &arena, &solution), S2_SOLVED);
  const double one[3] = {1, 2, 3};
  double v[3];
  S2Csr m = s2_csr_diagonal(3, one, &arena), h = s2_csr_from_triplets(3, 0, 0, NULL, &arena);
  S2GlobalContactProblem global = {3, 0, &m, &h, one, NULL, NULL};
  solution.v = v;
  assert_int_equal(s2_contact_solve_global(&global, &OPTIONS, &arena, &solution), S2_SOLVED);
  assert_true(fabs(v[0] - 1) + fabs(v[1] - 1) + fabs(v[2] - 1) < 1e-15);
  // velocities beyond the range of doubles
  const double light[3] = {0.1, 0.1, 0.1}, huge[3] = {1e308, 0, 0};
  const double at_rest[2] = {0}, rough = .5;
  double r[2] = {0}, u[2];
  S2Csr few = s2_csr_diagonal(3, light, &arena);
  solution = (S2ContactSolution){.r = r, .u = u, .v = v};
  for (int contacts = 0; contacts < 2; contacts++) {
    S2Csr columns = s2_csr_from_triplets(3, 2 * contacts, 0, NULL, &arena);
    S2GlobalContactProblem flung = {3, contacts, &few, &columns, huge, at_rest, &rough};
    assert_int_equal(s2_contact_solve_global(&flung, &OPTIONS, &arena, &solution), S2_SINGULAR);
    assert_true(v[0] == 0 && !isfinite(solution.residual.scaled));
  }
  s2_arena_free(&arena);
}

static void extremes(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int power = -150; power <= 150; power += 50) {
    double w_scale = pow(10, power), diagonal[2] = {w_scale, w_scale}, mu = .5;
    for (int other = -150; other <= 150; other += 50) {
      double v = pow(10, other), q[2] = {-v, 2 * v}, r[2] = {0}, u[2];
      S2Csr w = s2_csr_diagonal(2, diagonal, &arena);
      S2ContactProblem problem = {1, &w, q, &mu};
      S2ContactSolution solution = {.r = r, .u = u};
      S2SolveStatus status = s2_contact_solve(&problem, &OPTIONS, &arena, &solution);
      double exact = v / w_scale;
      if (status == S2_SOLVED) {
        assert_true(fabs(r[0] - exact) <= 1e-9 * exact && fabs(r[1] + exact / 2) <= 1e-9 * exact);
      } else {
        // only where the result is beyond the range of doubles
        assert_true(!(exact > 1e-300 && exact < 1e300));
      }
    }
  }
  s2_arena_free(&arena);
}

// ---- Files ------------------------------------------------------------------------------------

static bool same_csr(const S2Csr *a, const S2Csr *b) {
  int count = a->start[a->rows];
  return a->rows == b->rows && a->columns == b->columns && count == b->start[b->rows] &&
         memcmp(a->column, b->column, sizeof(int32_t) * (size_t)count) == 0 &&
         memcmp(a->value, b->value, sizeof(double) * (size_t)count) == 0;
}

static void files_keep_bits(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  for (uint64_t seed = 1; seed <= 10; seed++) {
    Random scene = random_scene(seed, true, &arena);
    condense(&scene, &arena);
    int rows = 2 * scene.contacts;
    S2ContactProblem local = {scene.contacts, &scene.w, scene.local_q, scene.mu};
    S2GlobalContactProblem global = {3 * scene.bodies, scene.contacts, &scene.m, &scene.h,
                                     scene.q,          scene.b,        scene.mu};
    S2ContactFile *file;
    assert_int_equal(s2_contact_write(&local, "test_contact.fc").code, S2_OK);
    assert_int_equal(s2_contact_read("test_contact.fc", &file).code, S2_OK);
    assert_false(file->global);
    assert_true(same_csr(file->local_form.w, &scene.w));
    assert_memory_equal(file->local_form.q, scene.local_q, sizeof(double) * (size_t)rows);
    assert_memory_equal(file->local_form.mu, scene.mu, sizeof(double) * (size_t)scene.contacts);
    s2_contact_free(file);
    assert_int_equal(s2_contact_write_global(&global, "test_contact.fc").code, S2_OK);
    assert_int_equal(s2_contact_read("test_contact.fc", &file).code, S2_OK);
    assert_true(file->global);
    assert_true(same_csr(file->global_form.m, &scene.m) && same_csr(file->global_form.h, &scene.h));
    assert_memory_equal(file->global_form.b, scene.b, sizeof(double) * (size_t)rows);
    s2_contact_free(file);
  }
  remove("test_contact.fc");
  s2_arena_free(&arena);
}

static void bad_files(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"", "1: the file ends where 'nc' was expected"},
      {"nc x", "nc must be an integer, not 'x'"},
      {"nc -1", "nc is -1; it must be in 0.."},
      {"nc 1000000000\nW 2 2 0\nq 0 0 mu 0", "nc is 1000000000; it must be in 0.."},
      {"nc 1\nV 2 2 0", "2: expected 'W' or 'M'"},
      {"nc 1\nW 3 3 0 q 1 2 mu 1", "the matrix is 3 x 3; 2 x 2 was expected"},
      {"nc 1\nW 2 2 2\n0 0 1\n5 0 1 q 1 2 mu 1", "4: row is 5; it must be in 0..1"},
      {"nc 1\nW 2 2 2\n0 0 1\n", "the file ends where row was expected"},
      {"nc 1\nW 2 2 0\nr 1 2", "3: expected 'q', found 'r'"},
      {"nc 1\nWW 2 2 0", "2: expected 'W', found 'WW'"},
      {"nc 1\nW 2 2 0 q 1 2\nmu -1\n\n", "3: mu[0] is -1; it must not be negative"},
      {"nc 1\nW 2 2 0 q 1 2 mu 1 1", "2: unexpected '1'"},
      {"nc 1\nM 2 3 0\nH 2 2 0 q 1 1 b 1 1 mu 1", "M is 2 x 3; it must be square"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    FILE *out = fopen("test_contact.bad", "w");
    assert_non_null(out);
    fputs(cases[i][0], out);
    fclose(out);
    S2ContactFile *file;
    S2Status status = s2_contact_read("test_contact.bad", &file);
    assert_int_equal(status.code, S2_INVALID);
    assert_null(file);
    if (strstr(status.message, cases[i][1]) == NULL) {
      fail_msg("case %d: %s", (int)i, status.message);
    }
  }
  remove("test_contact.bad");
  S2ContactFile *file;
  assert_int_equal(s2_contact_read("does/not/exist", &file).code, S2_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(closed_examples), cmocka_unit_test(forms_agree),
      cmocka_unit_test(bad_numbers),     cmocka_unit_test(nothing_at_all),
      cmocka_unit_test(extremes),        cmocka_unit_test(files_keep_bits),
      cmocka_unit_test(bad_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
