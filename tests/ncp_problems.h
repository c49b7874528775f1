// Problems for the cone interior point, and solves with checks of the properties that always hold.
#ifndef S2_TEST_NCP_PROBLEMS_H
#define S2_TEST_NCP_PROBLEMS_H

#include "base/arena.h"
#include "cones.h"
#include "mcp/cone/ncp.h"

#include <string.h>

enum { MAX = 64 }; // unknowns and equations of any problem here

static const double FINE = 1e-11; // tolerance of solves whose answers are compared digit by digit

// ---- Affine problems ---------------------------------------------------------------------------

// c = A w + b + T theta + cubic x^3, the last in the equations of the same number
typedef struct Affine {
  int equations, numbers, cone, stored, parameters;
  double a[MAX][MAX], b[MAX], t[MAX][MAX], cubic;
} Affine;

static inline double stored_at(const Affine *p, const double *x, const double *y, const double *z,
                               int i) {
  return i < p->numbers             ? x[i]
         : i < p->numbers + p->cone ? y[i - p->numbers]
                                    : z[i - p->numbers - p->cone];
}

static inline bool affine_residual(void *user, const double *x, const double *y, const double *z,
                                   const double *theta, double *c) {
  const Affine *p = user;
  for (int i = 0; i < p->equations; ++i) {
    c[i] = p->b[i];
    for (int k = 0; k < p->stored; ++k) {
      c[i] += p->a[i][k] * stored_at(p, x, y, z, k);
    }
    for (int k = 0; k < p->parameters; ++k) {
      c[i] += p->t[i][k] * theta[k];
    }
    c[i] += i < p->numbers ? p->cubic * x[i] * x[i] * x[i] : 0;
  }
  return true;
}

static inline bool affine_jacobian(void *user, const double *x, const double *y, const double *z,
                                   const double *theta, double *j) {
  (void)y;
  (void)z;
  (void)theta;
  const Affine *p = user;
  for (int i = 0; i < p->equations; ++i) {
    for (int k = 0; k < p->stored; ++k) {
      double bend = i == k && i < p->numbers ? 3 * p->cubic * x[i] * x[i] : 0;
      j[i * p->stored + k] = p->a[i][k] + bend;
    }
  }
  return true;
}

// No unknowns, equations or parameters except those of the cones.
static inline S2Ncp affine_problem(Affine *p, S2Cones cones, int numbers) {
  memset(p, 0, sizeof *p);
  p->numbers = numbers;
  p->cone = s2_cones_size(&cones);
  p->equations = numbers + p->cone;
  p->stored = numbers + 2 * p->cone;
  assert_true(p->stored <= MAX);
  return (S2Ncp){.x = {.size = numbers},
                 .cones = cones,
                 .residual = affine_residual,
                 .jacobian = affine_jacobian,
                 .user = p};
}

// z = M y + q
static inline S2Ncp lcp_problem(Affine *p, int n, const double *m, const double *q) {
  S2Ncp ncp = affine_problem(p, (S2Cones){.orthant = n}, 0);
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < n; ++k) {
      p->a[i][k] = -m[i * n + k];
    }
    p->a[i][n + i] = 1;
    p->b[i] = -q[i];
  }
  return ncp;
}

typedef struct Answer {
  double x[MAX], y[MAX], z[MAX];
  S2NcpInfo info;
} Answer;

static inline S2NcpOptions fine_options(void) {
  S2NcpOptions options = s2_ncp_options();
  options.r_tol = options.b_tol = FINE;
  return options;
}

// Holds in all cases: the status is true, the point is finite and in the cones.
static inline void check_honest(const S2Ncp *ncp, const S2NcpOptions *options, const Answer *at) {
  int cone = s2_cones_size(&ncp->cones);
  double c[MAX], product[MAX], r = 0, b = 0;
  ncp->residual(ncp->user, at->x, at->y, at->z, ncp->theta, c);
  for (int i = 0; i < s2_ncp_space_dimension(&ncp->x) + cone; ++i) {
    r = fmax(r, fabs(c[i]));
  }
  s2_cones_product(&ncp->cones, at->y, at->z, product);
  s2_cones_add_neutral(&ncp->cones, -options->kappa, product);
  for (int i = 0; i < cone; ++i) {
    b = fmax(b, fabs(product[i]));
  }
  assert_true(at->info.r_vio == r && at->info.b_vio == b);
  assert_int_equal(at->info.status == S2_SOLVED, r <= options->r_tol && b <= options->b_tol);
  assert_true(cone == 0 || s2_cones_margin(&ncp->cones, at->y) > 0);
  assert_true(cone == 0 || s2_cones_margin(&ncp->cones, at->z) > 0);
  assert_true(at->info.iterations <= options->max_iter);
}

static inline void solve(const S2Ncp *ncp, const S2NcpOptions *options, Answer *answer) {
  S2Arena arena;
  s2_arena_init(&arena);
  S2Status status =
      s2_ncp_solve(ncp, options, answer->x, answer->y, answer->z, NULL, &arena, &answer->info);
  assert_int_equal(status.code, S2_OK);
  assert_int_equal(arena.used, 0);
  check_honest(ncp, options, answer);
  s2_arena_free(&arena);
}

static inline void solve_fine(const S2Ncp *ncp, Answer *answer) {
  S2NcpOptions options = fine_options();
  solve(ncp, &options, answer);
  assert_int_equal(answer->info.status, S2_SOLVED);
}

// ---- Kinds of problems ---------------------------------------------------------------------

// y = (ln, mu ln, lt), z = (un, psi, ut), u = G l + q
static inline void friction_problem(Affine *p, S2Ncp *ncp, const double g[3], const double q[2],
                                    double mu) {
  static const int two = 2;
  *ncp = affine_problem(p, (S2Cones){.orthant = 1, .soc_count = 1, .soc = &two}, 0);
  p->a[0][3] = p->a[1][5] = p->a[2][1] = 1;
  p->a[0][0] = -g[0];
  p->a[0][2] = p->a[1][0] = -g[1];
  p->a[1][2] = -g[2];
  p->a[2][0] = -mu;
  p->b[0] = -q[0];
  p->b[1] = -q[1];
}

// minimise x'P x / 2 + cubic x^4 / 4 + p'x with s = G x + h in K: a random one with a point inside.
// y is s, z its multiplier; theta shifts p and h.
static inline void random_program(S2Rng *rng, Affine *p, S2Ncp *ncp, S2Cones cones, int numbers,
                                  double cubic) {
  int cone = s2_cones_size(&cones);
  double root[MAX], g[MAX * MAX], inside[MAX], at[MAX];
  *ncp = affine_problem(p, cones, numbers);
  p->cubic = cubic;
  for (int i = 0; i < numbers; ++i) {
    random_vector(rng, root, numbers, 1);
    for (int k = 0; k < numbers; ++k) {
      for (int l = 0; l < numbers; ++l) {
        p->a[k][l] += root[k] * root[l];
      }
    }
    p->a[i][i] += 0.1;
    p->b[i] = 3 * s2_rng_normal(rng);
  }
  random_vector(rng, g, cone * numbers, 1);
  random_vector(rng, at, numbers, 1);
  random_inside(rng, &cones, inside, 0.1);
  for (int i = 0; i < cone; ++i) {
    double *row = p->a[numbers + i];
    row[numbers + i] = 1;
    p->b[numbers + i] = -inside[i];
    for (int k = 0; k < numbers; ++k) {
      row[k] = -g[i * numbers + k];
      p->a[k][numbers + cone + i] = -g[i * numbers + k];
      p->b[numbers + i] += g[i * numbers + k] * at[k];
    }
  }
}

static const int SOME_SIZES[] = {3, 2};

static inline S2Cones some_cones(int trial) {
  return (S2Cones){.orthant = 1 + trial % 4, .soc_count = trial % 3, .soc = SOME_SIZES};
}

enum { MAX_CONTACTS = 6 };

// Contacts between bodies of unit inertia, or with the ground, at random places:
// y = (ln, then mu ln and lt of each), z = (un, then psi and ut of each), u = J (v + J' l).
static inline void random_contacts(uint64_t seed, int contacts, int bodies, double mu, Affine *p,
                                   S2Ncp *ncp) {
  static const int sizes[MAX_CONTACTS] = {2, 2, 2, 2, 2, 2};
  S2Rng rng = s2_rng_seeded(seed);
  double j[2 * MAX_CONTACTS][3 * MAX_CONTACTS] = {{0}}, v[3 * MAX_CONTACTS];
  int row_of[2 * MAX_CONTACTS];
  random_vector(&rng, v, 3 * bodies, 1);
  for (int c = 0; c < contacts; ++c) {
    int a = (int)s2_rng_integer(&rng, 0, bodies - 1), b = (int)s2_rng_integer(&rng, -1, bodies - 1);
    double angle = uniform(&rng, 0, 6), arms[4];
    random_vector(&rng, arms, 4, 1);
    for (int e = 0; e < 2; ++e, angle += asin(1)) {
      double x = cos(angle), y = sin(angle), *row = j[2 * c + e];
      const double at_a[3] = {arms[0] * y - arms[1] * x, x, y};
      const double at_b[3] = {arms[2] * y - arms[3] * x, x, y};
      for (int k = 0; k < 3; ++k) {
        row[3 * a + k] += at_a[k];
        if (b >= 0 && b != a) {
          row[3 * b + k] -= at_b[k];
        }
      }
      row_of[2 * c + e] = e == 0 ? c : contacts + 2 * c + 1;
    }
  }
  *ncp = affine_problem(p, (S2Cones){.orthant = contacts, .soc_count = contacts, .soc = sizes}, 0);
  for (int i = 0; i < 2 * contacts; ++i) {
    int row = row_of[i];
    p->a[row][p->cone + row] = 1;
    for (int d = 0; d < 3 * bodies; ++d) {
      p->b[row] -= j[i][d] * v[d];
      for (int k = 0; k < 2 * contacts; ++k) {
        p->a[row][row_of[k]] -= j[i][d] * j[k][d];
      }
    }
  }
  for (int c = 0; c < contacts; ++c) {
    p->a[contacts + 2 * c][contacts + 2 * c] = 1;
    p->a[contacts + 2 * c][c] = -mu;
  }
}

// A rod held by a spring at the angle theta, its end above the floor:
//     sin(angle - theta) - 2 cos(angle) z = 0,   y = 1 + 2 sin(angle)
static inline bool rod_residual(void *user, const double *x, const double *y, const double *z,
                                const double *theta, double *c) {
  (void)user;
  c[0] = x[1] * cos(theta[0]) - x[0] * sin(theta[0]) - 2 * x[0] * z[0];
  c[1] = y[0] - 1 - 2 * x[1];
  return true;
}

#endif
