// Step problems with derivatives that are known or follow from central differences: common code of
// the tests of exact and of smooth derivatives.
#ifndef S2_TEST_MCP_VJP_PROBLEMS_H
#define S2_TEST_MCP_VJP_PROBLEMS_H

#include "sanitized.h"

#include "base/rng.h"
#include "mcp/adjoint/mcp_vjp.h"
#include "mcp/solvers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 12, ROWS = 24, BODIES = 4 }; // BODIES: of random problems

typedef struct Case {
  int nodes, rows;
  double mass[3 * NODES], rhs[3 * NODES], place[2 * NODES];
  S2Row row[ROWS];
  S2Problem problem;
  double v[3 * NODES], lambda[ROWS], z[4 * ROWS];
  double dv[3 * NODES], dlambda[ROWS]; // the loss is dv' v + dlambda' lambda
  double kappa;                        // 0: exact
} Case;

typedef struct Gradient {
  double mass[3 * NODES], rhs[3 * NODES], ja[3 * ROWS], jb[3 * ROWS];
  double bias[ROWS], compliance[ROWS], mu[ROWS];
} Gradient;

static inline S2McpGradient pointers(Gradient *g) {
  return (S2McpGradient){.mass = g->mass,
                         .rhs = g->rhs,
                         .ja = g->ja,
                         .jb = g->jb,
                         .bias = g->bias,
                         .compliance = g->compliance,
                         .mu = g->mu};
}

// ---- Problems ---------------------------------------------------------------------------------

static inline double spread(S2Rng *rng, double decades) {
  return pow(10, decades * (s2_rng_uniform(rng) - 0.5));
}

static inline S2Row *add_row(Case *c, int a, int b, double px, double py, double nx, double ny) {
  S2Row *row = &c->row[c->rows++];
  *row = (S2Row){.a = a, .b = b, .coupled_to = -1, .group = c->rows, .hi = INFINITY};
  for (int side = 0; side < 2; side++) {
    int node = side == 0 ? a : b;
    double sign = side == 0 ? 1 : -1, *j = side == 0 ? row->ja : row->jb;
    if (node >= 0) {
      double rx = px - c->place[2 * node], ry = py - c->place[2 * node + 1];
      j[0] = sign * (rx * ny - ry * nx);
      j[1] = sign * nx;
      j[2] = sign * ny;
    }
  }
  return row;
}

// mu < 0: no friction row.
static inline void add_contact(Case *c, int a, int b, double px, double py, double nx, double ny,
                               double mu) {
  S2Row *normal = add_row(c, a, b, px, py, nx, ny);
  if (mu >= 0) {
    S2Row *friction = add_row(c, a, b, px, py, ny, -nx);
    friction->coupled_to = (int32_t)(normal - c->row);
    friction->group = normal->group;
    friction->mu = mu;
    friction->hi = 0;
  }
}

static inline void add_hinge(Case *c, int a, int b, double px, double py) {
  int32_t group = c->rows;
  for (int k = 0; k < 2; k++) {
    S2Row *row = add_row(c, a, b, px, py, k == 0, k == 1);
    row->lo = -INFINITY;
    row->group = group;
  }
}

static inline void finish(Case *c, S2Rng *rng, double fastest) {
  c->problem = (S2Problem){.nodes = c->nodes,
                           .rows = c->rows,
                           .mass = c->mass,
                           .rhs = c->rhs,
                           .row = c->row,
                           .velocity_scale = fastest,
                           .length = 1};
  double w[ROWS];
  s2_mcp_delassus_diagonal(&c->problem, w);
  for (int i = 0; i < 3 * c->nodes; i++) {
    c->dv[i] = s2_rng_normal(rng);
  }
  for (int i = 0; i < c->rows; i++) {
    c->dlambda[i] = w[i] * s2_rng_normal(rng);
  }
}

// One to four bodies of masses over four decades, hinges, contacts with and without friction, some
// rows compliant; at most twice as many contacts as bodies, so that most sets of them are regular.
static inline void make_random(Case *c, uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  *c = (Case){.nodes = (int)s2_rng_integer(&rng, 1, BODIES)};
  double fastest = 0;
  for (int i = 0; i < c->nodes; i++) {
    double mass = spread(&rng, 4);
    c->place[2 * i] = 4 * s2_rng_uniform(&rng);
    c->place[2 * i + 1] = 4 * s2_rng_uniform(&rng);
    c->mass[3 * i] = mass * (0.05 + 0.3 * s2_rng_uniform(&rng));
    c->mass[3 * i + 1] = c->mass[3 * i + 2] = mass;
    for (int k = 0; k < 3; k++) {
      double v = s2_rng_normal(&rng);
      c->rhs[3 * i + k] = c->mass[3 * i + k] * v;
      fastest = fmax(fastest, fabs(v));
    }
  }
  int hinges = c->nodes > 1 ? (int)s2_rng_integer(&rng, 0, 2) : 0;
  for (int i = 0; i < hinges; i++) {
    int a = i + 1 < c->nodes ? i + 1 : 1;
    add_hinge(c, a, (int)s2_rng_integer(&rng, -1, a - 1), 4 * s2_rng_uniform(&rng),
              4 * s2_rng_uniform(&rng));
  }
  int contacts = (int)s2_rng_integer(&rng, 1, 2 * c->nodes);
  for (int i = 0; i < contacts; i++) {
    int a = (int)s2_rng_integer(&rng, 0, c->nodes - 1), b = (int)s2_rng_integer(&rng, -1, a - 1);
    const double *pa = c->place + 2 * a, *pb = b >= 0 ? c->place + 2 * b : pa;
    double by = b >= 0 ? pb[1] : pa[1] - 1;
    double angle = atan2(pa[1] - by, pa[0] - pb[0]) + 0.5 * s2_rng_normal(&rng);
    double px = (pa[0] + pb[0]) / 2 + 0.3 * s2_rng_normal(&rng);
    double py = (pa[1] + by) / 2 + 0.3 * s2_rng_normal(&rng), kind = s2_rng_uniform(&rng);
    double mu = kind < 0.1 ? -1 : kind < 0.2 ? 0 : 1.2 * s2_rng_uniform(&rng);
    add_contact(c, a, b, px, py, cos(angle), sin(angle), mu);
  }
  for (int i = 0; i < c->rows; i++) {
    c->row[i].bias = s2_rng_uniform(&rng) < 0.5 ? 0.3 * s2_rng_normal(&rng) : 0;
  }
  double w[ROWS];
  finish(c, &rng, fastest);
  s2_mcp_delassus_diagonal(&c->problem, w);
  for (int i = 0; i < c->rows; i++) {
    c->row[i].compliance = s2_rng_uniform(&rng) < 0.2 ? w[i] * s2_rng_uniform(&rng) : 0;
  }
}

// ---- Solutions --------------------------------------------------------------------------------

static inline bool solve(Case *c, S2Arena *arena) {
  if (c->kappa > 0) {
    S2SolverOptions options = {.tolerance = 3e-14, .max_iterations = 60};
    S2SmoothSolution solution = {.v = c->v, .lambda = c->lambda, .z = c->z};
    s2_mcp_smooth_solve(&c->problem, c->kappa, &options, arena, &solution);
    return solution.residual <= 1e-12;
  }
  // With a warm start, so that if there are several solutions the same one is found again.
  S2SolverOptions options = {.solver = S2_SOLVER_PDIPM, .tolerance = 1e-12, .max_iterations = 50};
  S2Solution solution = {.v = c->v, .lambda = c->lambda};
  return s2_mcp_solve(&c->problem, &options, arena, &solution) == S2_SOLVED;
}

typedef enum Mode { OPEN, STICK, AHEAD, BACK, FRICTIONLESS, MODES } Mode;

// The mode of every contact; returns the smallest distance from a switch, in scaled units.
static inline double modes_of(const Case *c, Mode *mode) {
  double u[ROWS], w[ROWS], margin = INFINITY, scale = c->problem.velocity_scale;
  s2_mcp_row_velocity(&c->problem, c->v, u);
  s2_mcp_delassus_diagonal(&c->problem, w);
  for (int i = 0; i < c->rows; i++) {
    const S2Row *row = &c->row[i];
    mode[i] = MODES;
    if (row->lo == -INFINITY || row->coupled_to >= 0) {
      continue;
    }
    double n = c->lambda[i] * w[i] / scale;
    double x = n - (u[i] + row->compliance * c->lambda[i] + row->bias) / scale;
    bool friction = i + 1 < c->rows && row[1].coupled_to == i;
    margin = fmin(margin, fabs(x));
    mode[i] = x < 0 ? OPEN : friction && row[1].mu > 0 ? STICK : FRICTIONLESS;
    if (x < 0 || !friction) {
      continue;
    }
    double t = c->lambda[i + 1] * w[i + 1] / scale;
    double slip = (u[i + 1] + row[1].compliance * c->lambda[i + 1] + row[1].bias) / scale;
    double y = t - slip, bound = row[1].mu * w[i + 1] / w[i] * x;
    margin = fmin(margin, fabs(fabs(y) - bound));
    if (row[1].mu > 0 && fabs(y) > bound) {
      mode[i] = y > 0 ? BACK : AHEAD;
    }
  }
  return margin;
}

static inline unsigned vjp(const Case *c, const double *dv, const double *dlambda,
                           Gradient *gradient, S2Arena *arena) {
  S2McpGradient to = pointers(gradient);
  if (c->kappa > 0) {
    S2SmoothSolution at = {.v = (double *)c->v, .lambda = (double *)c->lambda, .z = (double *)c->z};
    return s2_mcp_smooth_vjp(&c->problem, c->kappa, &at, dv, dlambda, &to, arena);
  }
  return s2_mcp_vjp(&c->problem, c->v, c->lambda, dv, dlambda, &to, arena);
}

// ---- Central differences ----------------------------------------------------------------------

typedef struct Check {
  Case *base;
  S2Arena *arena;
  Mode mode[ROWS];
  double worst; // relative error so far
  bool moved;   // a mode changed within the differences, or a problem was not solved
} Check;

static inline double loss(const Case *c) {
  double sum = 0;
  for (int i = 0; i < 3 * c->nodes; i++) {
    sum += c->dv[i] * c->v[i];
  }
  for (int i = 0; i < c->rows; i++) {
    sum += c->dlambda[i] * c->lambda[i];
  }
  return sum;
}

// The loss with one number of the data changed; `data` points into the base.
static inline double loss_at(Check *check, const double *data, double change) {
  static Case c;
  Mode mode[ROWS];
  c = *check->base;
  *(double *)((char *)&c + ((const char *)data - (const char *)check->base)) += change;
  c.problem.mass = c.mass;
  c.problem.rhs = c.rhs;
  c.problem.row = c.row;
  s2_arena_reset(check->arena);
  check->moved |= !solve(&c, check->arena);
  modes_of(&c, mode);
  for (int i = 0; i < c.rows && c.kappa == 0; i++) {
    check->moved |= mode[i] != check->mode[i];
  }
  return loss(&c);
}

static inline double central(Check *check, const double *data, double step) {
  return (loss_at(check, data, step) - loss_at(check, data, -step)) / (2 * step);
}

static inline double ahead(Check *check, const double *data, double step) {
  return (loss_at(check, data, step) - loss_at(check, data, 0)) / step;
}

// Richardson's extrapolation of three step lengths (each a quarter of the one before).
static inline double difference(Check *check, const double *data, double step, bool one_sided) {
  double a[3], ratio = one_sided ? 4 : 16;
  for (int i = 0; i < 3; i++, step /= 4) {
    a[i] = one_sided ? ahead(check, data, step) : central(check, data, step);
  }
  double b0 = a[1] + (a[1] - a[0]) / (ratio - 1), b1 = a[2] + (a[2] - a[1]) / (ratio - 1);
  return b1 + (b1 - b0) / (ratio * ratio - 1);
}

// One number of the data: its derivative is compared relative to the largest of its block (mass,
// rhs, ...), or to a thousandth of the largest of all; `unit` makes numbers of a block comparable.
typedef struct Datum {
  const double *at;
  double derivative, unit;
  int block;
  bool one_sided; // mu = 0 cannot decrease
} Datum;

enum { BLOCKS = 7, DATA = 6 * NODES + 9 * ROWS, PROBES = 5 }; // PROBES: of a block

static inline int list(const Case *c, const Gradient *g, Datum *datum) {
  int count = 0;
  double w[ROWS], scale = c->problem.velocity_scale;
  s2_mcp_delassus_diagonal(&c->problem, w);
  for (int i = 0; i < 3 * c->nodes; i++) {
    datum[count++] = (Datum){&c->mass[i], g->mass[i], c->mass[i], 0, false};
    datum[count++] = (Datum){&c->rhs[i], g->rhs[i], c->mass[i] * scale, 1, false};
  }
  for (int i = 0; i < c->rows; i++) {
    const S2Row *row = &c->row[i];
    for (int k = 0; k < 3; k++) {
      if (row->a >= 0) {
        datum[count++] = (Datum){&row->ja[k], g->ja[3 * i + k], 1, 2, false};
      }
      if (row->b >= 0) {
        datum[count++] = (Datum){&row->jb[k], g->jb[3 * i + k], 1, 3, false};
      }
    }
    datum[count++] = (Datum){&row->bias, g->bias[i], scale, 4, false};
    if (row->compliance > 0) { // a negative compliance is not allowed
      datum[count++] = (Datum){&row->compliance, g->compliance[i], w[i], 5, false};
    }
    if (row->coupled_to >= 0) {
      datum[count++] = (Datum){&row->mu, g->mu[i], 1, 6, row->mu == 0};
    }
  }
  return count;
}

static inline void check_against_differences(Check *check, const Gradient *g, double step,
                                             S2Rng *rng) {
  static Datum datum[DATA];
  double largest[BLOCKS] = {0}, overall = 0;
  int size[BLOCKS] = {0}, count = list(check->base, g, datum);
  for (int i = 0; i < count; i++) {
    double *most = &largest[datum[i].block];
    *most = fmax(*most, fabs(datum[i].derivative) * datum[i].unit);
    overall = fmax(overall, *most);
    size[datum[i].block]++;
  }
  for (int i = 0; i < count && !check->moved; i++) {
    const Datum *d = &datum[i];
    if (s2_rng_uniform(rng) * size[d->block] > PROBES || (d->one_sided && check->base->kappa > 0)) {
      continue;
    }
    double expected = difference(check, d->at, step * d->unit, d->one_sided);
    double error = fabs(expected - d->derivative) * d->unit;
    if (!check->moved) {
      error /= fmax(largest[d->block], 1e-3 * overall);
      check->worst = fmax(check->worst, error);
    }
  }
}

enum { PROBLEMS = S2_FEWER(300, 60) };

static const double AGREE = 1e-6; // relative error

// ---- Known solutions ---------------------------------------------------------------------------

// A flat box (half height 0.1) on contacts below its centre at `arm[i]`; its weight is tilted by
// `slope`.
static inline void make_box(Case *c, int contacts, const double *arm, double mu, double mass,
                            double slope, S2Rng *rng) {
  *c = (Case){.nodes = 1, .place = {0, 0.1}, .mass = {mass / 6, mass, mass}};
  c->rhs[1] = mass * slope;
  c->rhs[2] = -mass;
  for (int i = 0; i < contacts; i++) {
    add_contact(c, 0, S2_GROUND, arm[i], 0, 0, 1, mu);
  }
  finish(c, rng, fmax(1, fabs(slope)));
  memset(c->dlambda, 0, sizeof c->dlambda);
}

static inline void check_number(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-7 * fmax(1, fabs(expected)))) {
    fail_msg("%.12g is not %.12g", value, expected);
  }
}

// Is there no derivative if one of dl/dv, dl/dlambda, v, lambda, mass is not finite?
static inline void check_not_finite(Case *c, Gradient *g, S2Arena *arena) {
  double *const places[] = {c->dv + 1, c->dlambda + 2, c->v + 1, c->lambda + 1, c->mass + 1};
  for (int i = 0; i < 5; i++) {
    double kept = *places[i];
    for (int j = 0; j < 2; j++) {
      *places[i] = j == 0 ? NAN : INFINITY;
      assert_true(vjp(c, c->dv, c->dlambda, g, arena) & S2_VJP_SINGULAR);
    }
    *places[i] = kept;
  }
  assert_false(vjp(c, c->dv, c->dlambda, g, arena) & S2_VJP_SINGULAR);
}

#endif
