// Derivatives of step problems against central differences of re-solved problems, exact and on the
// central path; and what they say where there is no derivative.
#include "base/memory.h"
#include "base/rng.h"
#include "mcp/mcp_vjp.h"
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

static S2McpGradient pointers(Gradient *g) {
  return (S2McpGradient){.mass = g->mass,
                         .rhs = g->rhs,
                         .ja = g->ja,
                         .jb = g->jb,
                         .bias = g->bias,
                         .compliance = g->compliance,
                         .mu = g->mu};
}

// ---- Problems ---------------------------------------------------------------------------------

static double spread(S2Rng *rng, double decades) {
  return pow(10, decades * (s2_rng_uniform(rng) - 0.5));
}

static S2Row *add_row(Case *c, int a, int b, double px, double py, double nx, double ny) {
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
static void add_contact(Case *c, int a, int b, double px, double py, double nx, double ny,
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

static void add_hinge(Case *c, int a, int b, double px, double py) {
  int32_t group = c->rows;
  for (int k = 0; k < 2; k++) {
    S2Row *row = add_row(c, a, b, px, py, k == 0, k == 1);
    row->lo = -INFINITY;
    row->group = group;
  }
}

static void finish(Case *c, S2Rng *rng, double fastest) {
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
// rows compliant; contacts at most twice as many as bodies, so that most sets of them are regular.
static void make_random(Case *c, uint64_t seed) {
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

static bool solve(Case *c, S2Arena *arena) {
  if (c->kappa > 0) {
    S2SolverOptions options = {.tolerance = 3e-14, .max_iterations = 60};
    S2SmoothSolution solution = {.v = c->v, .lambda = c->lambda, .z = c->z};
    s2_mcp_smooth_solve(&c->problem, c->kappa, &options, arena, &solution);
    return solution.residual <= 1e-12;
  }
  // Warm, so that where there are several solutions the same one is found again.
  S2SolverOptions options = {.solver = S2_SOLVER_PDIPM, .tolerance = 1e-12, .max_iterations = 50};
  S2Solution solution = {.v = c->v, .lambda = c->lambda};
  return s2_mcp_solve(&c->problem, &options, arena, &solution) == S2_SOLVED;
}

typedef enum Mode { OPEN, STICK, AHEAD, BACK, FRICTIONLESS, MODES } Mode;

// What every contact does; returns the smallest distance from a switch, in scaled units.
static double modes_of(const Case *c, Mode *mode) {
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

static unsigned vjp(const Case *c, const double *dv, const double *dlambda, Gradient *gradient,
                    S2Arena *arena) {
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
  bool moved;   // a mode changed within the differences, or one of them was not solved
} Check;

static double loss(const Case *c) {
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
static double loss_at(Check *check, const double *data, double change) {
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

static double central(Check *check, const double *data, double step) {
  return (loss_at(check, data, step) - loss_at(check, data, -step)) / (2 * step);
}

static double ahead(Check *check, const double *data, double step) {
  return (loss_at(check, data, step) - loss_at(check, data, 0)) / step;
}

// Richardson's extrapolation of three step lengths (each a quarter of the one before).
static double difference(Check *check, const double *data, double step, bool one_sided) {
  double a[3], ratio = one_sided ? 4 : 16;
  for (int i = 0; i < 3; i++, step /= 4) {
    a[i] = one_sided ? ahead(check, data, step) : central(check, data, step);
  }
  double b0 = a[1] + (a[1] - a[0]) / (ratio - 1), b1 = a[2] + (a[2] - a[1]) / (ratio - 1);
  return b1 + (b1 - b0) / (ratio * ratio - 1);
}

// One number of the data: its derivative is compared in parts of the largest of its block (mass,
// rhs, ...), or of a thousandth of the largest of all; `unit` makes numbers of a block comparable.
typedef struct Datum {
  const double *at;
  double derivative, unit;
  int block;
  bool one_sided; // mu = 0 cannot fall
} Datum;

enum { BLOCKS = 7, DATA = 6 * NODES + 9 * ROWS, PROBES = 5 }; // PROBES: of a block

static int list(const Case *c, const Gradient *g, Datum *datum) {
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
    if (row->compliance > 0) { // below 0 there is no such problem
      datum[count++] = (Datum){&row->compliance, g->compliance[i], w[i], 5, false};
    }
    if (row->coupled_to >= 0) {
      datum[count++] = (Datum){&row->mu, g->mu[i], 1, 6, row->mu == 0};
    }
  }
  return count;
}

static void check_against_differences(Check *check, const Gradient *g, double step, S2Rng *rng) {
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

// Problems nearer to a switch of modes than this (scaled) are left out: the differences reach about
// a tenth of it.
static const double MARGIN = 1e-2;

enum { PROBLEMS = 300 };

static const double AGREE = 1e-6; // relative error

static void exact_derivatives_agree_with_differences(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(7);
  int seen[MODES + 1] = {0}, checked = 0, redundant = 0, hinged = 0, compliant = 0;
  double worst = 0;
  for (uint64_t seed = 1; seed <= PROBLEMS; seed++) {
    make_random(&c, seed);
    Check check = {.base = &c, .arena = &arena};
    if (!solve(&c, &arena) || modes_of(&c, check.mode) < MARGIN) {
      continue;
    }
    unsigned flags = vjp(&c, c.dv, c.dlambda, &g, &arena);
    if (flags & S2_VJP_REDUNDANT) {
      redundant++;
      continue;
    }
    assert_int_equal(flags, 0);
    check_against_differences(&check, &g, 1e-3, &rng);
    if (check.moved) {
      continue;
    }
    checked++;
    hinged += c.row[0].lo == -INFINITY;
    for (int i = 0; i < c.rows; i++) {
      seen[check.mode[i]]++;
      compliant += c.row[i].compliance > 0 && c.lambda[i] != 0;
    }
    worst = fmax(worst, check.worst);
  }
  print_message("%d checked, %d redundant, worst %.1e; open %d stick %d slide %d %d, mu 0 %d\n",
                checked, redundant, worst, seen[OPEN], seen[STICK], seen[AHEAD], seen[BACK],
                seen[FRICTIONLESS]);
  assert_true(worst <= AGREE);
  assert_true(checked >= 0.8 * PROBLEMS && redundant <= 0.05 * PROBLEMS);
  for (int mode = 0; mode < MODES; mode++) {
    assert_true(seen[mode] >= 20);
  }
  assert_true(hinged >= 50 && compliant >= 50);
  s2_arena_free(&arena);
}

// The pairs of a solved problem by their definition; returns the largest |z s w / V^2 - kappa|.
static double off_the_path(const Case *c) {
  double u[ROWS], w[ROWS], worst = 0, scale = c->problem.velocity_scale;
  s2_mcp_row_velocity(&c->problem, c->v, u);
  s2_mcp_delassus_diagonal(&c->problem, w);
  for (int i = 0; i < c->rows; i++) {
    const S2Row *row = &c->row[i];
    if (row->lo == -INFINITY || row->coupled_to >= 0) {
      continue;
    }
    const double *z = c->z + 4 * i;
    double un = u[i] + row->compliance * c->lambda[i] + row->bias;
    assert_true(z[0] == c->lambda[i] && z[0] > 0);
    worst = fmax(worst, fabs(z[0] * un * w[i] / (scale * scale) - c->kappa));
    if (i + 1 == c->rows || row[1].coupled_to != i || row[1].mu <= 0) {
      continue;
    }
    double ut = u[i + 1] + row[1].compliance * c->lambda[i + 1] + row[1].bias;
    double s[4] = {0, z[3] + ut, z[3] - ut, row[1].mu * z[0] - z[1] - z[2]};
    assert_true(fabs(z[1] - z[2] - c->lambda[i + 1]) <= 1e-14 * fmax(z[1], z[2]));
    for (int k = 1; k < 4; k++) {
      assert_true(z[k] > 0);
      worst = fmax(worst, fabs(z[k] * s[k] * w[i + 1] / (scale * scale) - c->kappa));
    }
  }
  return worst;
}

static void smooth_derivatives_agree_with_differences(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(7);
  int checked = 0, unsolved = 0, redundant = 0;
  double worst = 0;
  for (uint64_t seed = 1; seed <= PROBLEMS; seed++) {
    make_random(&c, seed);
    c.kappa = pow(10, -(double)s2_rng_integer(&rng, 1, 4));
    if (!solve(&c, &arena)) {
      unsolved++;
      continue;
    }
    assert_true(off_the_path(&c) <= 2e-12);
    Check check = {.base = &c, .arena = &arena};
    unsigned flags = vjp(&c, c.dv, c.dlambda, &g, &arena);
    if (flags & S2_VJP_REDUNDANT) { // hinges
      redundant++;
      continue;
    }
    assert_int_equal(flags, 0);
    check_against_differences(&check, &g, 3e-5, &rng);
    for (int i = 0; i < c.rows; i++) {
      assert_true(c.row[i].mu > 0 || g.mu[i] == 0);
    }
    checked += !check.moved;
    worst = fmax(worst, check.worst);
  }
  print_message("%d checked, %d not solved, %d redundant, worst %.1e\n", checked, unsolved,
                redundant, worst);
  assert_true(worst <= AGREE);
  assert_true(checked >= 0.95 * PROBLEMS && unsolved <= 0.04 * PROBLEMS);
  s2_arena_free(&arena);
}

// Far from switches the path ends at the solution with its derivative.
static void smooth_derivatives_tend_to_exact_ones(void **state) {
  (void)state;
  static Case c, path;
  static Gradient g, h;
  S2Arena arena;
  s2_arena_init(&arena);
  int checked = 0, other = 0;
  for (uint64_t seed = 1; seed <= 150; seed++) {
    Mode mode[ROWS];
    make_random(&c, seed);
    path = c;
    path.kappa = 1e-9;
    path.problem.mass = path.mass;
    path.problem.rhs = path.rhs;
    path.problem.row = path.row;
    if (!solve(&c, &arena) || modes_of(&c, mode) < 0.05 || !solve(&path, &arena) ||
        vjp(&c, c.dv, c.dlambda, &g, &arena) != 0) {
      continue;
    }
    double apart = 0, largest = 0, error = 0;
    for (int i = 0; i < 3 * c.nodes; i++) {
      apart = fmax(apart, fabs(c.v[i] - path.v[i]));
    }
    if (apart > 1e-4) { // problems may have several solutions
      other++;
      continue;
    }
    assert_int_equal(vjp(&path, c.dv, c.dlambda, &h, &arena), 0);
    for (int i = 0; i < 3 * c.nodes; i++) {
      error = fmax(error, fabs(g.rhs[i] - h.rhs[i]));
      largest = fmax(largest, fabs(g.rhs[i]));
    }
    for (int i = 0; i < c.rows; i++) {
      error = fmax(error, fabs(g.bias[i] - h.bias[i]));
      largest = fmax(largest, fabs(g.bias[i]));
    }
    assert_true(error <= 1e-4 * largest);
    checked++;
  }
  print_message("%d checked, %d times another solution\n", checked, other);
  assert_true(checked >= 80 && other <= 10);
  s2_arena_free(&arena);
}

// ---- Known answers ----------------------------------------------------------------------------

// A flat box (half height 0.1) on contacts below its centre at `arm[i]`; its weight leans by
// `slope`.
static void make_box(Case *c, int contacts, const double *arm, double mu, double mass, double slope,
                     S2Rng *rng) {
  *c = (Case){.nodes = 1, .place = {0, 0.1}, .mass = {mass / 6, mass, mass}};
  c->rhs[1] = mass * slope;
  c->rhs[2] = -mass;
  for (int i = 0; i < contacts; i++) {
    add_contact(c, 0, S2_GROUND, arm[i], 0, 0, 1, mu);
  }
  finish(c, rng, fmax(1, fabs(slope)));
  memset(c->dlambda, 0, sizeof c->dlambda);
}

static void check_number(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-7 * fmax(1, fabs(expected)))) {
    fail_msg("%.12g is not %.12g", value, expected);
  }
}

// Lets four contacts with friction bear what they bear together, each some of it.
static void share(Case *c, const double *arm) {
  double load = 0, torque = 0, friction = 0, first = 0, second = 0;
  for (int i = 0; i < 4; i++) {
    load += c->lambda[2 * i];
    torque += c->lambda[2 * i] * arm[i];
    friction += c->lambda[2 * i + 1];
    first += arm[i];
    second += arm[i] * arm[i];
  }
  double slope = (4 * torque - first * load) / (4 * second - first * first);
  for (int i = 0; i < 4; i++) {
    c->lambda[2 * i] = (load - slope * first) / 4 + slope * arm[i];
    c->lambda[2 * i + 1] = c->lambda[2 * i] * friction / load;
  }
}

// Four contacts share the load in many ways; velocities do not depend on which.
static void box_on_four_contacts(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(3);
  int slid[3] = {0};
  for (int k = 0; k < 200; k++) {
    double half = 0.5 + s2_rng_uniform(&rng), arm[4] = {-half, -half / 3, half / 4, half};
    double mu = 0.1 + 0.3 * s2_rng_uniform(&rng), mass = spread(&rng, 4);
    double slope = 0.8 * (2 * s2_rng_uniform(&rng) - 1);
    if (fabs(fabs(slope) - mu) < 0.01) {
      continue;
    }
    make_box(&c, 4, arm, mu, mass, slope, &rng);
    assert_true(solve(&c, &arena));
    share(&c, arm);
    assert_true(s2_mcp_residual(&c.problem, c.v, c.lambda, &arena).scaled <= 1e-12);
    int way = fabs(slope) < mu ? 0 : slope > 0 ? 1 : -1;
    slid[way + 1]++;
    assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena), S2_VJP_REDUNDANT);
    double dmu = g.mu[1] + g.mu[3] + g.mu[5] + g.mu[7];
    check_number(c.v[1], way * (fabs(slope) - mu));
    check_number(g.rhs[0] * mass, 0); // a little turning load changes who bears what
    check_number(g.rhs[1] * mass, way != 0 ? c.dv[1] : 0);
    check_number(g.rhs[2] * mass, way * mu * c.dv[1]);
    check_number(g.mass[1] * mass, way != 0 ? -c.dv[1] * c.v[1] : 0);
    check_number(g.mass[2] * mass, 0);
    check_number(dmu, -way * c.dv[1]);
    // The whole load is determined, one contact's is not.
    for (int i = 0; i < 8; i += 2) {
      c.dlambda[i] = 1;
    }
    assert_int_equal(vjp(&c, NULL, c.dlambda, &g, &arena), S2_VJP_REDUNDANT);
    check_number(g.rhs[1], 0);
    check_number(g.rhs[2], -1);
    c.dlambda[0] = 2;
    assert_int_equal(vjp(&c, NULL, c.dlambda, &g, &arena), S2_VJP_REDUNDANT | S2_VJP_UNDETERMINED);
  }
  assert_true(slid[0] >= 30 && slid[1] >= 30 && slid[2] >= 30);
  s2_arena_free(&arena);
}

// Without friction the loads of least norm (weighted by w) are l = G J (J' G J)^-1 f, G = 1 / w,
// for the weight and torque f: what dl/dlambda of a single contact is taken to mean.
static void undetermined_loads_are_those_of_least_norm(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(4);
  const double arm[4] = {-0.7, -0.2, 0.1, 0.6};
  make_box(&c, 4, arm, -1, 3, 0.2, &rng);
  assert_true(solve(&c, &arena));
  double w[ROWS], a = 0, b = 0, d = 0; // J' G J = [a b; b d] on (torque, weight)
  s2_mcp_delassus_diagonal(&c.problem, w);
  for (int i = 0; i < 4; i++) {
    a += arm[i] * arm[i] / w[i];
    b += arm[i] / w[i];
    d += 1 / w[i];
  }
  for (int i = 0; i < 4; i++) {
    memset(c.dlambda, 0, sizeof c.dlambda);
    c.dlambda[i] = 1;
    assert_int_equal(vjp(&c, NULL, c.dlambda, &g, &arena), S2_VJP_REDUNDANT | S2_VJP_UNDETERMINED);
    check_number(g.rhs[0], -(arm[i] * d - b) / w[i] / (a * d - b * b));
    check_number(g.rhs[1], 0);
    check_number(g.rhs[2], -(a - arm[i] * b) / w[i] / (a * d - b * b));
  }
  s2_arena_free(&arena);
}

static void contacts_on_the_boundary_are_flagged(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(5);
  const double arm = 0;
  make_box(&c, 1, &arm, 0.5, 2, 0.1, &rng);
  c.rhs[2] = 0; // touches and does not press: taken as not there
  c.lambda[0] = c.lambda[1] = 0;
  c.v[1] = 0.1;
  assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena), S2_VJP_WEAK);
  check_number(g.rhs[2], c.dv[2] / 2);
  assert_true(g.bias[0] == 0 && g.mu[1] == 0);
  const double arms[2] = {-2, 2};
  make_box(&c, 2, arms, 0.5, 2, 0.5, &rng);
  assert_true(solve(&c, &arena)); // all the friction there is, and no sliding: taken as sticking
  check_number(c.v[1], 0);
  assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena) & ~(unsigned)S2_VJP_REDUNDANT, S2_VJP_WEAK);
  check_number(g.rhs[1], 0);
  s2_arena_free(&arena);
}

// A ball on the floor: l (l - m) = kappa V^2 m for the weight m (rhs is -m), whatever its inertia.
static void ball_on_the_floor_of_the_path(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(6);
  const double arm = 0, m = 3;
  make_box(&c, 1, &arm, -1, m, 0, &rng);
  c.kappa = 0.01;
  assert_true(solve(&c, &arena));
  double root = sqrt(m * m + 4 * c.kappa * m * m), l = (m + root) / 2;
  check_number(c.lambda[0], l);
  c.dlambda[0] = 1;
  assert_int_equal(vjp(&c, NULL, c.dlambda, &g, &arena), 0);
  check_number(g.rhs[2], -(1 + m / root) / 2);
  // kappa V^2 / w = kappa m grows with m: l^2 + rhs l = kappa m^2
  check_number(g.mass[2], 2 * c.kappa * m / root);
  s2_arena_free(&arena);
}

// Hinges only: the adjoint is the problem itself with dl/dv for a force. The heavy end makes the
// rows a million times softer together than each alone.
static void chain_with_a_heavy_end_is_its_own_adjoint(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(10);
  for (double heavy = 1; heavy <= 1e6; heavy *= 100) {
    c = (Case){.nodes = NODES};
    for (int i = 0; i < NODES; i++) {
      double mass = i == NODES - 1 ? heavy : 1;
      c.place[2 * i] = i + 0.5;
      memcpy(c.mass + 3 * (size_t)i, (double[3]){mass / 12, mass, mass}, 3 * sizeof(double));
      add_hinge(&c, i, i - 1, i, 0);
    }
    finish(&c, &rng, 1);
    assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena) & (S2_VJP_UNDETERMINED | S2_VJP_SINGULAR), 0);
    memcpy(c.rhs, c.dv, sizeof c.rhs);
    S2SolverOptions options = {.solver = S2_SOLVER_PDIPM,
                               .tolerance = 1e-10,
                               .max_iterations = 50}; // at 1e4 it ends with 2e-11
    S2Solution solution = {.v = c.v, .lambda = c.lambda};
    assert_int_equal(s2_mcp_solve(&c.problem, &options, &arena, &solution), S2_SOLVED);
    double largest = 0, error = 0;
    for (int i = 0; i < 3 * NODES; i++) {
      largest = fmax(largest, fabs(c.v[i]));
      error = fmax(error, fabs(c.v[i] - g.rhs[i]));
    }
    assert_true(error <= 1e-9 * largest);
  }
  s2_arena_free(&arena);
}

// A heavy box on a stack of light ones: the floor bears what lies on it.
static void floor_bears_a_stack(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(11);
  enum { BOXES = 6 };
  for (double heavy = 1; heavy <= 1e4; heavy *= 10) {
    c = (Case){.nodes = BOXES};
    for (int i = 0; i < BOXES; i++) {
      double mass = i == BOXES - 1 ? heavy : 1;
      c.place[2 * i + 1] = i + 0.5;
      memcpy(c.mass + 3 * (size_t)i, (double[3]){mass / 6, mass, mass}, 3 * sizeof(double));
      c.rhs[3 * i + 2] = -mass;
      add_contact(&c, i, i - 1, -0.5, i, 0, 1, 0.5);
      add_contact(&c, i, i - 1, 0.5, i, 0, 1, 0.5);
    }
    finish(&c, &rng, 1);
    assert_true(solve(&c, &arena));
    memset(c.dlambda, 0, sizeof c.dlambda);
    c.dlambda[0] = c.dlambda[2] = 1;
    assert_int_equal(vjp(&c, NULL, c.dlambda, &g, &arena), S2_VJP_REDUNDANT);
    for (int i = 0; i < BOXES; i++) {
      check_number(g.rhs[3 * i + 1], 0);
      check_number(g.rhs[3 * i + 2], -1);
    }
  }
  s2_arena_free(&arena);
}

// ---- Odd input --------------------------------------------------------------------------------

static void nothing_to_do(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  c = (Case){.nodes = 1, .mass = {1, 2, 2}, .v = {3, 4, 5}};
  S2Rng rng = s2_rng_seeded(8);
  finish(&c, &rng, 1);
  assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena), 0);
  check_number(g.rhs[1], c.dv[1] / 2);
  check_number(g.mass[1], -c.dv[1] * 2); // v = rhs / m
  S2McpGradient none = {0};
  assert_int_equal(s2_mcp_vjp(&c.problem, c.v, c.lambda, c.dv, NULL, &none, &arena), 0);
  assert_int_equal(s2_mcp_vjp(&c.problem, c.v, c.lambda, NULL, NULL, &none, &arena), 0);
  c.kappa = 0.1;
  assert_true(solve(&c, &arena));
  assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena), 0);
  check_number(g.rhs[1], c.dv[1] / 2);
  c.problem.nodes = 0;
  assert_int_equal(vjp(&c, NULL, NULL, &g, &arena), 0);
  c.kappa = 0;
  assert_int_equal(vjp(&c, NULL, NULL, &g, &arena), 0);
  s2_arena_free(&arena);
}

static void numbers_that_are_not_finite(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(9);
  const double arm[2] = {-1, 1};
  for (int k = 0; k < 2; k++) {
    make_box(&c, 2, arm, 0.5, 1, 0.7, &rng);
    c.kappa = k * 0.01;
    assert_true(solve(&c, &arena));
    double *const places[] = {c.dv + 1, c.dlambda + 2, c.v + 1, c.lambda + 1, c.mass + 1};
    for (int i = 0; i < 5; i++) {
      double kept = *places[i];
      for (int j = 0; j < 2; j++) {
        *places[i] = j == 0 ? NAN : INFINITY;
        assert_true(vjp(&c, c.dv, c.dlambda, &g, &arena) & S2_VJP_SINGULAR);
      }
      *places[i] = kept;
    }
    assert_false(vjp(&c, c.dv, c.dlambda, &g, &arena) & S2_VJP_SINGULAR);
  }
  S2SmoothSolution solution = {.v = c.v, .lambda = c.lambda, .z = c.z};
  const double kappas[] = {0, -1, NAN, INFINITY};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(s2_mcp_smooth_solve(&c.problem, kappas[i], NULL, &arena, &solution),
                     S2_UNSUPPORTED);
    S2McpGradient none = {0};
    assert_true(s2_mcp_smooth_vjp(&c.problem, kappas[i], &solution, c.dv, NULL, &none, &arena) &
                S2_VJP_SINGULAR);
  }
  c.rhs[1] = NAN;
  assert_int_equal(s2_mcp_smooth_solve(&c.problem, 0.1, NULL, &arena, &solution),
                   S2_MAX_ITERATIONS);
  s2_arena_free(&arena);
}

static void one_factorisation_serves_many_products(void **state) {
  (void)state;
  static Case c;
  static Gradient g, h;
  S2Arena arena;
  s2_arena_init(&arena);
  make_random(&c, 8);
  assert_true(solve(&c, &arena));
  S2McpGradient to = pointers(&h);
  S2McpLinear *linear = s2_mcp_linearise(&c.problem, c.v, c.lambda, &arena);
  for (int k = 0; k < 3; k++) {
    memset(&g, 0, sizeof g);
    memset(&h, 0, sizeof h);
    unsigned flags = vjp(&c, c.dv, c.dlambda, &g, &arena);
    assert_int_equal(s2_mcp_linear_vjp(linear, c.dv, c.dlambda, &to), flags);
    assert_memory_equal(&g, &h, sizeof g);
    c.dv[0] += 1;
  }
  s2_arena_free(&arena);
}

static void the_heap_is_left_alone(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  uint64_t before = 0;
  for (int k = 0; k < 3; k++) {
    before = s2_memory_count();
    s2_arena_reset(&arena);
    make_random(&c, 8);
    assert_true(solve(&c, &arena));
    vjp(&c, c.dv, c.dlambda, &g, &arena);
    c.kappa = 0.01;
    assert_true(solve(&c, &arena));
    vjp(&c, c.dv, c.dlambda, &g, &arena);
  }
  assert_true(s2_memory_count() == before);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_derivatives_agree_with_differences),
      cmocka_unit_test(smooth_derivatives_agree_with_differences),
      cmocka_unit_test(smooth_derivatives_tend_to_exact_ones),
      cmocka_unit_test(box_on_four_contacts),
      cmocka_unit_test(undetermined_loads_are_those_of_least_norm),
      cmocka_unit_test(contacts_on_the_boundary_are_flagged),
      cmocka_unit_test(ball_on_the_floor_of_the_path),
      cmocka_unit_test(chain_with_a_heavy_end_is_its_own_adjoint),
      cmocka_unit_test(floor_bears_a_stack),
      cmocka_unit_test(nothing_to_do),
      cmocka_unit_test(numbers_that_are_not_finite),
      cmocka_unit_test(one_factorisation_serves_many_products),
      cmocka_unit_test(the_heap_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
