// Derivatives of contact problems compared with central differences of re-solved ones: local and
// global form, exact and on the central path; and the flags where there is no derivative.
#include "sanitized.h"

#include "base/memory.h"
#include "base/rng.h"
#include "mcp/contact/contact.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { BODIES = 3, CONTACTS = 5, FREEDOMS = 3 * BODIES, ROWS = 2 * CONTACTS };

typedef enum Shape { LOCAL, BODIES_DIAGONAL, COUPLED } Shape; // the form; of global ones, their M

// Dense, with entries that are 0: they have derivatives as well.
typedef struct Data {
  double w[ROWS * ROWS], local_q[ROWS];
  double m[FREEDOMS * FREEDOMS], h[FREEDOMS * ROWS], q[FREEDOMS], b[ROWS];
  double mu[CONTACTS];
} Data;

typedef struct Case {
  Shape shape;
  int freedoms, contacts;
  double kappa; // 0: exact
  Data data;
  double r[ROWS], u[ROWS], v[FREEDOMS], z[4 * CONTACTS];
  double dr[ROWS], du[ROWS], dv[FREEDOMS]; // the loss is dr' r + du' u + dv' v
} Case;

// ---- Problems ---------------------------------------------------------------------------------

// H of contacts at random places or, when `repeat`, all on one edge between two bodies.
static void fill_contacts(Case *c, bool repeat, S2Rng *rng) {
  int n = c->contacts, rows = 2 * n, bodies = c->freedoms / 3, a = 0, b = -1;
  double angle = 0, place[4] = {0};
  for (int k = 0; k < n; k++) {
    if (!repeat || k == 0) {
      a = (int)s2_rng_integer(rng, 0, bodies - 1);
      b = (int)s2_rng_integer(rng, -1, a - 1);
      angle = 6.28 * s2_rng_uniform(rng);
    }
    double along = repeat ? k - 1.1 : 0;
    for (int side = 0; side < (b < 0 ? 1 : 2); side++) {
      double *at = place + 2 * (size_t)side, sign = side == 0 ? 1 : -1;
      for (int i = 0; i < 2 && (!repeat || k == 0); i++) {
        at[i] = s2_rng_normal(rng);
      }
      double x = at[0] - along * sin(angle), y = at[1] + along * cos(angle);
      for (int t = 0; t < 2; t++) {
        double jx = t == 0 ? cos(angle) : -sin(angle), jy = t == 0 ? sin(angle) : cos(angle);
        const double j[3] = {x * jy - y * jx, jx, jy};
        for (int i = 0; i < 3; i++) {
          c->data.h[(3 * (side == 0 ? a : b) + i) * rows + 2 * k + t] = sign * j[i];
        }
      }
    }
    double kind = s2_rng_uniform(rng);
    c->data.mu[k] = repeat && k > 0 ? c->data.mu[0] : kind < 0.15 ? 0 : 0.8 * s2_rng_uniform(rng);
  }
}

// W = H' M^-1 H, q = H' M^-1 q + b for a diagonal M.
static void condense(Case *c) {
  int n = c->freedoms, rows = 2 * c->contacts;
  Data *d = &c->data;
  for (int i = 0; i < rows; i++) {
    d->local_q[i] = d->b[i];
    for (int k = 0; k < n; k++) {
      d->local_q[i] += d->h[k * rows + i] * d->q[k] / d->m[k * n + k];
    }
    for (int j = 0; j < rows; j++) {
      d->w[i * rows + j] = 0;
      for (int k = 0; k < n; k++) {
        d->w[i * rows + j] += d->h[k * rows + i] * d->h[k * rows + j] / d->m[k * n + k];
      }
    }
  }
}

static void make_random(Case *c, Shape shape, bool repeat, uint64_t seed) {
  S2Rng rng = s2_rng_seeded(seed);
  *c = (Case){.shape = shape, .freedoms = 3 * (int)s2_rng_integer(&rng, 1, BODIES)};
  c->contacts = repeat ? 3 : (int)s2_rng_integer(&rng, 1, c->freedoms / 3 + 2);
  int n = c->freedoms, rows = 2 * c->contacts;
  fill_contacts(c, repeat, &rng);
  for (int i = 0; i < n; i++) {
    double mass = pow(10, 2 * s2_rng_uniform(&rng) - 1);
    c->data.m[i * n + i] = mass;
    c->data.q[i] = mass * s2_rng_normal(&rng);
    c->dv[i] = shape == LOCAL ? 0 : s2_rng_normal(&rng);
    for (int k = 0; k < rows && repeat; k += 2) { // pressed
      c->data.q[i] = (k == 0 ? 0.5 : 1) * c->data.q[i] - c->data.h[i * rows + k];
    }
  }
  for (int i = 0; i < rows; i++) {
    c->data.b[i] = repeat ? 0 : 0.2 * s2_rng_normal(&rng);
    c->dr[i] = s2_rng_normal(&rng);
    c->du[i] = s2_rng_normal(&rng);
  }
  condense(c);
  double largest = 0;
  for (int i = 0; i < rows * rows; i++) {
    largest = fmax(largest, fabs(c->data.w[i]));
  }
  for (int i = 0; i < rows * rows && !repeat && shape == LOCAL; i++) { // not symmetric
    c->data.w[i] += largest * (i % (rows + 1) == 0 ? 0.1 : 0.02 * s2_rng_normal(&rng));
  }
  for (int i = 0; i < n && shape == COUPLED; i++) {
    int j = (int)s2_rng_integer(&rng, 0, n - 1);
    double both = 0.3 * sqrt(c->data.m[i * n + i] * c->data.m[j * n + j]) / n;
    c->data.m[i * n + j] = c->data.m[j * n + i] = i == j ? c->data.m[i * n + i] : both;
  }
}

// ---- Solutions --------------------------------------------------------------------------------

// With the zeros of a matrix.
static S2Csr pattern(int rows, int columns, const double *value, S2Arena *arena) {
  S2Triplet *t = S2_TAKE(arena, S2Triplet, rows * columns);
  for (int i = 0; i < rows * columns; i++) {
    t[i] = (S2Triplet){i / columns, i % columns, value[i]};
  }
  return s2_csr_from_triplets(rows, columns, rows * columns, t, arena);
}

typedef struct Posed {
  S2Csr matrix[2];
  S2ContactProblem local;
  S2GlobalContactProblem global;
  S2ContactSolution solution;
} Posed;

static Posed *pose(Case *c, S2Arena *arena) {
  Posed *p = S2_TAKE_ZEROED(arena, Posed, 1);
  Data *d = &c->data;
  int n = c->freedoms, rows = 2 * c->contacts;
  if (c->shape == LOCAL) {
    p->matrix[0] = pattern(rows, rows, d->w, arena);
    p->local = (S2ContactProblem){c->contacts, &p->matrix[0], d->local_q, d->mu};
  } else {
    p->matrix[0] = pattern(n, n, d->m, arena);
    p->matrix[1] = pattern(n, rows, d->h, arena);
    p->global =
        (S2GlobalContactProblem){n, c->contacts, &p->matrix[0], &p->matrix[1], d->q, d->b, d->mu};
  }
  p->solution = (S2ContactSolution){.r = c->r, .u = c->u, .v = c->v, .z = c->z, .kappa = c->kappa};
  return p;
}

static bool solve(Case *c, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  Posed *p = pose(c, arena);
  // With a warm start, so that if there are several solutions the same one is found again.
  S2SolverOptions options = {.solver = S2_SOLVER_PDIPM, .tolerance = 1e-12, .max_iterations = 50};
  if (c->kappa > 0) {
    options.tolerance = 3e-14;
    if (c->shape == LOCAL) {
      s2_contact_smooth_solve(&p->local, c->kappa, &options, arena, &p->solution);
    } else {
      s2_contact_smooth_solve_global(&p->global, c->kappa, &options, arena, &p->solution);
    }
  } else if (c->shape == LOCAL) {
    s2_contact_solve(&p->local, &options, arena, &p->solution);
  } else {
    s2_contact_solve_global(&p->global, &options, arena, &p->solution);
  }
  s2_arena_rewind(arena, mark);
  return p->solution.residual.scaled <= 1e-12;
}

static unsigned vjp(Case *c, const S2ContactLoss *loss, Data *to, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  Posed *p = pose(c, arena);
  unsigned flags;
  if (c->shape == LOCAL) {
    S2LocalContactGradient gradient = {to->w, to->local_q, to->mu};
    flags = s2_contact_vjp(&p->local, &p->solution, loss, &gradient, arena);
  } else {
    S2GlobalContactGradient gradient = {to->m, to->h, to->q, to->b, to->mu};
    flags = s2_contact_vjp_global(&p->global, &p->solution, loss, &gradient, arena);
  }
  s2_arena_rewind(arena, mark);
  return flags;
}

typedef enum Mode { OPEN, STICK, AHEAD, BACK, FRICTIONLESS, MODES } Mode;

// W_ii
static double own(const Case *c, int i) {
  int n = c->freedoms, rows = 2 * c->contacts;
  double sum = 0;
  for (int k = 0; k < n; k++) {
    double h = c->data.h[k * rows + i];
    sum += h * h / c->data.m[k * n + k];
  }
  return c->shape == LOCAL ? c->data.w[i * rows + i] : sum;
}

static double speed_of(const Case *c) {
  double scale = 0;
  for (int i = 0; i < 2 * c->contacts; i++) {
    scale = fmax(scale, fabs(c->data.local_q[i]));
  }
  return scale;
}

// The mode of every contact; returns the smallest distance from a switch, relative to the
// velocities.
static double modes_of(const Case *c, Mode *mode) {
  double margin = INFINITY, scale = speed_of(c);
  for (int k = 0; k < c->contacts; k++) {
    double wn = own(c, 2 * k), wt = own(c, 2 * k + 1), mu = c->data.mu[k];
    double x = wn * c->r[2 * k] - c->u[2 * k], y = wt * c->r[2 * k + 1] - c->u[2 * k + 1];
    double bound = mu * wt / wn * x;
    margin = fmin(margin, fabs(x));
    mode[k] = x < 0 ? OPEN : mu > 0 ? STICK : FRICTIONLESS;
    if (x < 0) {
      continue;
    }
    margin = fmin(margin, fabs(fabs(y) - bound));
    if (mu > 0 && fabs(y) > bound) {
      mode[k] = y > 0 ? AHEAD : BACK;
    }
  }
  return margin / scale;
}

// ---- Central differences ----------------------------------------------------------------------

typedef struct Check {
  Case *base;
  S2Arena *arena;
  Mode mode[CONTACTS];
  double worst;    // relative error so far
  int compared[4]; // by block
  bool moved;      // a mode changed within the differences, or a problem was not solved
} Check;

static double loss_of(const Case *c) {
  double sum = 0;
  for (int i = 0; i < 2 * c->contacts; i++) {
    sum += c->dr[i] * c->r[i] + c->du[i] * c->u[i];
  }
  for (int i = 0; i < c->freedoms && c->shape != LOCAL; i++) {
    sum += c->dv[i] * c->v[i];
  }
  return sum;
}

static double loss_with(Check *check, const Data *data) {
  Mode mode[CONTACTS];
  Case c = *check->base;
  c.data = *data;
  check->moved |= !solve(&c, check->arena);
  modes_of(&c, mode);
  for (int k = 0; k < c.contacts && c.kappa == 0; k++) {
    bool slides = mode[k] == AHEAD || mode[k] == BACK;
    bool began = slides && check->mode[k] == FRICTIONLESS; // where mu rises from 0
    check->moved |= mode[k] != check->mode[k] && !began;
  }
  return loss_of(&c);
}

// The loss with one number of the data changed; `at` points into the base.
static double loss_at(Check *check, const double *at, double change) {
  Data data = check->base->data;
  *(double *)((char *)&data + ((const char *)at - (const char *)&check->base->data)) += change;
  return loss_with(check, &data);
}

// Richardson's extrapolation of three step lengths (each a quarter of the one before).
static double difference(Check *check, const double *at, double step, bool one_sided) {
  double a[3], ratio = one_sided ? 4 : 16;
  for (int i = 0; i < 3; i++, step /= 4) {
    a[i] = one_sided ? (loss_at(check, at, step) - loss_at(check, at, 0)) / step
                     : (loss_at(check, at, step) - loss_at(check, at, -step)) / (2 * step);
  }
  double b0 = a[1] + (a[1] - a[0]) / (ratio - 1), b1 = a[2] + (a[2] - a[1]) / (ratio - 1);
  return b1 + (b1 - b0) / (ratio * ratio - 1);
}

enum { PROBES = 6 }; // numbers of a block that are compared, on average

// Numbers of one block (W, q, ...), relative to the largest derivative of the block times its size.
static void check_block(Check *check, int block, const double *at, const double *derivative,
                        int count, double step, S2Rng *rng) {
  double unit = 0, largest = 0;
  bool is_mu = at == check->base->data.mu;
  for (int i = 0; i < count; i++) {
    unit = fmax(unit, fabs(at[i]));
    largest = fmax(largest, fabs(derivative[i]));
  }
  unit = is_mu || unit == 0 ? 1 : unit;
  for (int i = 0; i < count && !check->moved; i++) {
    bool one_sided = is_mu && at[i] == 0;
    if (s2_rng_uniform(rng) * count > PROBES || (one_sided && check->base->kappa > 0)) {
      continue;
    }
    double expected = difference(check, at + i, step * unit, one_sided);
    if (!check->moved) {
      double error = fabs(expected - derivative[i]) * unit;
      double whole = fmax(largest * unit, 1e-3 * fabs(loss_of(check->base)));
      check->worst = fmax(check->worst, error / whole);
      check->compared[block]++;
    }
  }
}

static void check_all(Check *check, const Data *g, double step, S2Rng *rng) {
  const Case *c = check->base;
  const Data *d = &c->data;
  int n = c->freedoms, rows = 2 * c->contacts;
  check_block(check, 0, d->mu, g->mu, c->contacts, step, rng);
  if (c->shape == LOCAL) {
    check_block(check, 1, d->w, g->w, rows * rows, step, rng);
    check_block(check, 2, d->local_q, g->local_q, rows, step, rng);
    return;
  }
  check_block(check, 1, d->m, g->m, n * n, step, rng);
  check_block(check, 2, d->h, g->h, n * rows, step, rng);
  check_block(check, 3, d->q, g->q, n, step, rng);
  check_block(check, 3, d->b, g->b, rows, step, rng);
}

// Problems nearer to a switch of modes than this are left out: the differences would cross it.
static const double MARGIN = 1e-2;
static const double AGREE = 1e-6; // relative error
enum { PROBLEMS = S2_FEWER(300, 24) };

typedef struct Count {
  int checked, redundant, unsolved, near, moved, seen[MODES];
  double worst;
} Count;

static Count compare(Shape shape, bool smooth, double step) {
  static Case c;
  static Data g;
  Count count = {0};
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(7);
  for (uint64_t seed = 1; seed <= PROBLEMS; seed++) {
    s2_arena_reset(&arena);
    make_random(&c, shape, false, seed);
    double speed = speed_of(&c);
    c.kappa = smooth ? speed * speed * pow(10, -(double)s2_rng_integer(&rng, 1, 4)) : 0;
    Check check = {.base = &c, .arena = &arena};
    if (!solve(&c, &arena)) {
      count.unsolved++;
      continue;
    }
    if (modes_of(&c, check.mode) < MARGIN && !smooth) {
      count.near++;
      continue;
    }
    unsigned flags = vjp(&c, &(S2ContactLoss){c.dr, c.du, c.dv}, &g, &arena);
    if (flags & S2_VJP_REDUNDANT) {
      count.redundant++;
      continue;
    }
    assert_int_equal(flags, 0);
    check_all(&check, &g, step, &rng);
    if (check.moved) {
      count.moved++;
      continue;
    }
    count.checked++;
    count.worst = fmax(count.worst, check.worst);
    for (int k = 0; k < c.contacts; k++) {
      count.seen[check.mode[k]]++;
    }
  }
  print_message("%d checked, %d redundant, %d unsolved, %d near, %d moved, worst %.1e; "
                "open %d stick %d slide %d %d, mu 0 %d\n",
                count.checked, count.redundant, count.unsolved, count.near, count.moved,
                count.worst, count.seen[OPEN], count.seen[STICK], count.seen[AHEAD],
                count.seen[BACK], count.seen[FRICTIONLESS]);
  s2_arena_free(&arena);
  return count;
}

static void check_count(const Count *count) {
  assert_true(count->worst <= AGREE);
  assert_true(count->checked >= 0.9 * PROBLEMS);
  for (int mode = 0; mode < MODES; mode++) {
    assert_true(count->seen[mode] >= PROBLEMS / 6);
  }
}

static void exact_derivatives_agree_with_differences(void **state) {
  (void)state;
  for (int shape = LOCAL; shape <= COUPLED; shape++) {
    Count count = compare((Shape)shape, false, 1e-3);
    check_count(&count);
  }
}

// The steps are shorter because of the curvature of the path, so rounding is larger.
static void smooth_derivatives_agree_with_differences(void **state) {
  (void)state;
  for (int shape = LOCAL; shape <= COUPLED; shape++) {
    Count count = compare((Shape)shape, true, 2e-4);
    check_count(&count);
  }
}

// ---- Redundant contacts -----------------------------------------------------------------------

// The problem whose masses and momenta have moved by `way` along a direction; W and q follow from
// them.
static const Data *moved_along(const Case *base, const Data *direction, double way) {
  static Case c;
  c = *base;
  for (int i = 0; i < c.freedoms; i++) {
    int at = i * (c.freedoms + 1);
    c.data.m[at] += way * direction->m[at];
    c.data.q[i] += way * direction->q[i];
  }
  condense(&c);
  return &c.data;
}

static double loss_slope(Check *check, const Data *direction) {
  double a[3], step = 1e-3;
  for (int i = 0; i < 3; i++, step /= 4) {
    double ahead = loss_with(check, moved_along(check->base, direction, step));
    a[i] = (ahead - loss_with(check, moved_along(check->base, direction, -step))) / (2 * step);
  }
  double b0 = a[1] + (a[1] - a[0]) / 15, b1 = a[2] + (a[2] - a[1]) / 15;
  return b1 + (b1 - b0) / 255;
}

// The same from a gradient; parts of the data outside of this form are 0 in it. *size: of the
// terms.
static double gradient_slope(const Case *base, const Data *gradient, const Data *direction,
                             double *size) {
  const double step = 1e-4;
  double sum = 0;
  Data ahead = *moved_along(base, direction, step), back = *moved_along(base, direction, -step);
  const double *a = (const double *)&ahead, *b = (const double *)&back;
  *size = 0;
  for (size_t i = 0; i < sizeof(Data) / sizeof(double); i++) {
    double part = ((const double *)gradient)[i] * (a[i] - b[i]) / (2 * step);
    sum += part;
    *size = fmax(*size, fabs(part));
  }
  return sum;
}

// Three contacts on one edge: the distribution of the load is undetermined, velocities are not. In
// the local form W and q change together, as masses and momenta require.
static void compare_redundant(Shape shape) {
  static Case c;
  static Data g, direction;
  int checked = 0;
  double worst = 0;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(3);
  for (uint64_t seed = 1; seed <= PROBLEMS; seed++) {
    s2_arena_reset(&arena);
    make_random(&c, shape, true, seed);
    Check check = {.base = &c, .arena = &arena};
    bool touching = solve(&c, &arena) && modes_of(&c, check.mode) >= MARGIN;
    for (int k = 0; k < c.contacts; k++) {
      touching = touching && check.mode[k] != OPEN;
    }
    if (!touching) {
      continue;
    }
    memset(c.dr, 0, sizeof c.dr);
    memset(&g, 0, sizeof g);
    const unsigned held = S2_VJP_REDUNDANT | S2_VJP_TIED;
    assert_int_equal(vjp(&c, &(S2ContactLoss){NULL, c.du, c.dv}, &g, &arena), held);
    for (int i = 0; i < c.freedoms; i++) {
      int at = i * (c.freedoms + 1);
      direction.m[at] = c.data.m[at] * s2_rng_normal(&rng);
      direction.q[i] = c.data.m[at] * s2_rng_normal(&rng);
    }
    double size, expected = loss_slope(&check, &direction);
    double error = fabs(gradient_slope(&c, &g, &direction, &size) - expected);
    error /= fmax(size, 1e-3 * speed_of(&c)); // where nothing moves, size is 0
    worst = check.moved ? worst : fmax(worst, error);
    checked += !check.moved;
    c.dr[0] = 1; // one of three loads, which is undetermined
    unsigned flags = vjp(&c, &(S2ContactLoss){c.dr, NULL, NULL}, &g, &arena);
    assert_int_equal(flags, held | S2_VJP_UNDETERMINED);
  }
  print_message("%d checked, worst %.1e\n", checked, worst);
  s2_arena_free(&arena);
  assert_true(checked >= PROBLEMS / 3);
  assert_true(worst <= AGREE);
}

static void redundant_contacts(void **state) {
  (void)state;
  for (int shape = LOCAL; shape <= COUPLED; shape++) {
    compare_redundant((Shape)shape);
  }
}

// ---- Known solutions --------------------------------------------------------------------------

static void check_number(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-9 * fmax(1, fabs(expected)))) {
    fail_msg("%.12g is not %.12g", value, expected);
  }
}

// r_n = -q_n / a, u_t = q_t - mu b r_n: a ball on the floor, sliding; W has only a diagonal, so
// nothing else has a derivative.
static void sliding_ball(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  const double a = 2, b = 3, diagonal[2] = {a, b}, q[2] = {-1, 4}, mu = 0.5;
  S2Csr w = s2_csr_diagonal(2, diagonal, &arena);
  S2ContactProblem problem = {1, &w, q, &mu};
  double r[2] = {-q[0] / a, q[0] / a * mu}, u[2] = {0, q[1] + mu * b * q[0] / a};
  double dw[2], dq[2], dmu;
  S2ContactSolution at = {.r = r, .u = u};
  S2LocalContactGradient to = {dw, dq, &dmu};
  S2ContactLoss tangent = {.u = (const double[2]){0, 1}};
  assert_int_equal(s2_contact_vjp(&problem, &at, &tangent, &to, &arena), 0);
  check_number(dw[0], -mu * b * q[0] / (a * a));
  check_number(dw[1], mu * q[0] / a);
  check_number(dq[0], mu * b / a);
  check_number(dq[1], 1);
  check_number(dmu, b * q[0] / a);
  S2LocalContactGradient none = {0};
  assert_int_equal(s2_contact_vjp(&problem, &at, &tangent, &none, &arena), 0);
  s2_arena_free(&arena);
}

static void contacts_on_the_boundary_are_flagged(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  const double diagonal[2] = {1, 1}, mu = 0.5;
  double r[2], u[2], dq[2];
  S2Csr w = s2_csr_diagonal(2, diagonal, &arena);
  S2LocalContactGradient to = {.q = dq};
  const double q[3][2] = {{0, 1}, {-1, 0.5}, {-1, 0.4}}; // touches; largest friction; sticks
  for (int i = 0; i < 3; i++) {
    r[0] = -q[i][0], r[1] = i == 0 ? 0 : -q[i][1], u[0] = 0, u[1] = i == 0 ? 1 : 0;
    S2ContactProblem problem = {1, &w, q[i], &mu};
    S2ContactSolution at = {.r = r, .u = u};
    S2ContactLoss loss = {.u = (const double[2]){1, 1}};
    assert_int_equal(s2_contact_vjp(&problem, &at, &loss, &to, &arena), i == 2 ? 0 : S2_VJP_WEAK);
    check_number(dq[0], i == 0 ? 1 : 0);
    check_number(dq[1], i == 0 ? 1 : 0);
  }
  s2_arena_free(&arena);
}

// The pairs by their definition.
static void points_are_on_the_path(void **state) {
  (void)state;
  static Case c;
  S2Arena arena;
  s2_arena_init(&arena);
  int pairs = 0;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    s2_arena_reset(&arena);
    make_random(&c, seed % 2 == 0 ? LOCAL : BODIES_DIAGONAL, false, seed);
    c.kappa = 1e-2;
    if (!solve(&c, &arena)) {
      continue;
    }
    for (int k = 0; k < c.contacts; k++) {
      const double *z = c.z + 4 * k, *u = c.u + 2 * k, wt = own(&c, 2 * k + 1);
      assert_true(z[0] == c.r[2 * k] && z[0] > 0);
      assert_true(fabs(z[0] * u[0] * own(&c, 2 * k) / c.kappa - 1) < 1e-6);
      double s[4] = {0, z[3] + u[1], z[3] - u[1], c.data.mu[k] * z[0] - z[1] - z[2]};
      for (int i = 1; i < 4 && c.data.mu[k] > 0; i++) {
        assert_true(z[i] > 0 && fabs(z[i] * s[i] * wt / c.kappa - 1) < 1e-6);
        pairs++;
      }
      assert_true(fabs(z[1] - z[2] - c.r[2 * k + 1]) <= 1e-12 * fmax(z[1], z[2]));
    }
  }
  assert_true(pairs > 500);
  s2_arena_free(&arena);
}

// ---- Odd input --------------------------------------------------------------------------------

static void nothing_to_do(void **state) {
  (void)state;
  S2Arena arena;
  s2_arena_init(&arena);
  S2SolverOptions options = {.tolerance = 1e-10, .max_iterations = 50};
  S2Csr w = s2_csr_diagonal(0, NULL, &arena), m = s2_csr_diagonal(3, (double[]){1, 2, 2}, &arena);
  S2Csr h = s2_csr_from_triplets(3, 0, 0, NULL, &arena);
  S2ContactProblem local = {.w = &w};
  double v[3], none[1]; // no numbers, but a valid address
  S2ContactSolution solution = {.r = none, .u = none, .z = none};
  S2LocalContactGradient to = {0};
  assert_int_equal(s2_contact_smooth_solve(&local, 0.1, &options, &arena, &solution), S2_SOLVED);
  assert_int_equal(s2_contact_vjp(&local, &solution, &(S2ContactLoss){0}, &to, &arena), 0);
  const double q[3] = {3, 4, 6}, dv[3] = {1, 1, 2};
  double dm[3], dq[3];
  S2GlobalContactProblem global = {.freedoms = 3, .m = &m, .h = &h, .q = q};
  S2GlobalContactGradient all = {.m = dm, .q = dq};
  for (int i = 0; i < 2; i++) {
    solution = (S2ContactSolution){.r = none, .u = none, .v = v, .z = none};
    S2SolveStatus status =
        i == 0 ? s2_contact_solve_global(&global, &options, &arena, &solution)
               : s2_contact_smooth_solve_global(&global, 0.1, &options, &arena, &solution);
    assert_int_equal(status, S2_SOLVED);
    S2ContactLoss loss = {.v = dv};
    assert_int_equal(s2_contact_vjp_global(&global, &solution, &loss, &all, &arena), 0);
    check_number(dq[2], 1);
    check_number(dm[2], -3); // v = q / m
  }
  s2_arena_free(&arena);
}

static bool all_nan(const Data *g, const Case *c) {
  int rows = 2 * c->contacts;
  const double *q = c->shape == LOCAL ? g->local_q : g->b;
  const double *first = c->shape == LOCAL ? g->w : g->m;
  bool nan = isnan(first[0]) && isnan(g->mu[0]);
  for (int i = 0; i < rows; i++) {
    nan = nan && isnan(q[i]);
  }
  return nan;
}

static void numbers_that_are_not_finite(void **state) {
  (void)state;
  static Case c;
  static Data g;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int k = 0; k < 6; k++) {
    make_random(&c, (Shape)(k / 2), false, 5);
    c.kappa = k % 2 * 0.01;
    assert_true(solve(&c, &arena));
    S2ContactLoss loss = {c.dr, c.du, c.dv};
    double *const common[] = {c.dr, c.du + 1, c.r, c.data.mu};
    double *const local[] = {c.data.w, c.data.local_q + 1, c.u};
    double *const global[] = {c.data.m, c.data.q, c.data.b, c.data.h};
    for (int i = 0; i < (c.shape == LOCAL ? 7 : 8); i++) {
      double *place = i < 4 ? common[i] : c.shape == LOCAL ? local[i - 4] : global[i - 4];
      double kept = *place;
      for (int j = 0; j < 2; j++) {
        *place = j == 0 ? NAN : INFINITY;
        assert_true(vjp(&c, &loss, &g, &arena) & S2_VJP_SINGULAR);
        assert_true(all_nan(&g, &c));
      }
      *place = kept;
    }
    assert_false(vjp(&c, &loss, &g, &arena) & S2_VJP_SINGULAR);
  }
  s2_arena_free(&arena);
}

static void a_path_needs_a_kappa(void **state) {
  (void)state;
  static Case c;
  S2Arena arena;
  s2_arena_init(&arena);
  S2SolverOptions options = {.tolerance = 1e-10, .max_iterations = 50};
  const double kappas[] = {0, -1, NAN, INFINITY};
  for (int i = 0; i < 4; i++) {
    make_random(&c, LOCAL, false, 5);
    Posed *p = pose(&c, &arena);
    assert_int_equal(s2_contact_smooth_solve(&p->local, kappas[i], &options, &arena, &p->solution),
                     S2_UNSUPPORTED);
    make_random(&c, COUPLED, false, 5);
    p = pose(&c, &arena);
    assert_int_equal(
        s2_contact_smooth_solve_global(&p->global, kappas[i], &options, &arena, &p->solution),
        S2_UNSUPPORTED);
  }
  s2_arena_free(&arena);
}

static void the_heap_is_left_alone(void **state) {
  (void)state;
  static Case c;
  static Data g;
  S2Arena arena;
  s2_arena_init(&arena);
  uint64_t before = 0;
  for (int k = 0; k < 3; k++) {
    before = s2_memory_count();
    for (int i = 0; i < 6; i++) {
      s2_arena_reset(&arena);
      make_random(&c, (Shape)(i / 2), false, 8);
      c.kappa = i % 2 * 0.01;
      assert_true(solve(&c, &arena));
      vjp(&c, &(S2ContactLoss){c.dr, c.du, c.dv}, &g, &arena);
    }
  }
  assert_true(s2_memory_count() == before);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_derivatives_agree_with_differences),
      cmocka_unit_test(smooth_derivatives_agree_with_differences),
      cmocka_unit_test(redundant_contacts),
      cmocka_unit_test(sliding_ball),
      cmocka_unit_test(contacts_on_the_boundary_are_flagged),
      cmocka_unit_test(points_are_on_the_path),
      cmocka_unit_test(nothing_to_do),
      cmocka_unit_test(numbers_that_are_not_finite),
      cmocka_unit_test(a_path_needs_a_kappa),
      cmocka_unit_test(the_heap_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
