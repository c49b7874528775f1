// Exact derivatives of step problems compared with central differences of re-solved problems; and
// the flags where there is no derivative.
#include "mcp_vjp_problems.h"

#include "base/memory.h"

// Problems nearer to a switch of modes than this (scaled) are left out: the differences reach about
// a tenth of it.
static const double MARGIN = 1e-2;

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
    assert_true(seen[mode] >= S2_FEWER(20, 3));
  }
  assert_true(hinged >= S2_FEWER(50, 8) && compliant >= S2_FEWER(50, 8));
  s2_arena_free(&arena);
}

// ---- Known solutions ---------------------------------------------------------------------------

// Distributes a load over four contacts with friction, a part of it to each.
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

// Four contacts share the load in many ways; velocities do not depend on the distribution.
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
    assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena), S2_VJP_REDUNDANT | S2_VJP_TIED);
    double dmu = g.mu[1] + g.mu[3] + g.mu[5] + g.mu[7];
    check_number(c.v[1], way * (fabs(slope) - mu));
    check_number(g.rhs[0] * mass, 0); // a small rotating load changes the distribution
    check_number(g.rhs[1] * mass, way != 0 ? c.dv[1] : 0);
    check_number(g.rhs[2] * mass, way * mu * c.dv[1]);
    check_number(g.mass[1] * mass, way != 0 ? -c.dv[1] * c.v[1] : 0);
    check_number(g.mass[2] * mass, 0);
    check_number(dmu, -way * c.dv[1]);
    // The whole load is determined, one contact's is not.
    for (int i = 0; i < 8; i += 2) {
      c.dlambda[i] = 1;
    }
    const unsigned held = S2_VJP_REDUNDANT | S2_VJP_TIED;
    assert_int_equal(vjp(&c, NULL, c.dlambda, &g, &arena), held);
    check_number(g.rhs[1], 0);
    check_number(g.rhs[2], -1);
    c.dlambda[0] = 2;
    assert_int_equal(vjp(&c, NULL, c.dlambda, &g, &arena), held | S2_VJP_UNDETERMINED);
  }
  assert_true(slid[0] >= 30 && slid[1] >= 30 && slid[2] >= 30);
  s2_arena_free(&arena);
}

// Without friction the loads of least norm (weighted by w) are l = G J (J' G J)^-1 f, G = 1 / w,
// for the weight and torque f: this defines dl/dlambda of a single contact.
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
    assert_int_equal(vjp(&c, NULL, c.dlambda, &g, &arena),
                     S2_VJP_REDUNDANT | S2_VJP_TIED | S2_VJP_UNDETERMINED);
    check_number(g.rhs[0], -(arm[i] * d - b) / w[i] / (a * d - b * b));
    check_number(g.rhs[1], 0);
    check_number(g.rhs[2], -(a - arm[i] * b) / w[i] / (a * d - b * b));
  }
  s2_arena_free(&arena);
}

// A change of the rows may make them contradict each other: derivatives along such changes are
// arbitrary, those along changes that keep the rows compatible are unique.
static void rows_that_are_tied(void **state) {
  (void)state;
  static Case c;
  static Gradient g, other;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(8);
  const double arm[3] = {-1, 0.2, 0.7};
  for (int points = 2; points <= 3; points++) {
    make_box(&c, points, arm, 0.5, 2, 0.1, &rng);
    assert_true(solve(&c, &arena));
    const unsigned tied = points == 3 ? S2_VJP_TIED : 0; // two share no more than friction
    assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena), S2_VJP_REDUNDANT | tied);
    S2McpGradient to = pointers(&other);
    assert_int_equal(
        s2_mcp_vjp_other(&c.problem, S2_VJP_OTHER_SHARE, c.v, c.lambda, c.dv, NULL, &to, &arena),
        S2_VJP_REDUNDANT | tied);
    double lift[2] = {0, 0}, turn[2] = {0, 0}, most = 0;
    for (int r = 0; r < 2 * points; r++) {
      most = fmax(most, fabs(g.bias[r] - other.bias[r]));
      lift[0] += g.bias[r] * c.row[r].ja[2];
      lift[1] += other.bias[r] * c.row[r].ja[2];
      turn[0] += g.bias[r] * c.row[r].ja[0];
      turn[1] += other.bias[r] * c.row[r].ja[0];
    }
    assert_true(points == 3 ? most > 1e-5 : most == 0);
    check_number(lift[1], lift[0]);
    check_number(turn[1], turn[0]);
    for (int i = 0; i < 3; i++) {
      check_number(other.rhs[i], g.rhs[i]);
      check_number(other.mass[i], g.mass[i]);
    }
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
  c.rhs[2] = 0; // touches and does not press: counts as open
  c.lambda[0] = c.lambda[1] = 0;
  c.v[1] = 0.1;
  assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena), S2_VJP_WEAK);
  check_number(g.rhs[2], c.dv[2] / 2);
  assert_true(g.bias[0] == 0 && g.mu[1] == 0);
  const double arms[2] = {-2, 2};
  make_box(&c, 2, arms, 0.5, 2, 0.5, &rng);
  assert_true(solve(&c, &arena)); // largest friction, and no sliding: counts as sticking
  check_number(c.v[1], 0);
  assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena) & ~(unsigned)S2_VJP_REDUNDANT, S2_VJP_WEAK);
  check_number(g.rhs[1], 0);
  s2_arena_free(&arena);
}

static void what_is_near_a_boundary_is_on_its_side(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(6);
  const double arms[2] = {-2, 2}, slow = 1e-9; // the problem's velocities are about 1
  for (int way = -1; way <= 1; way += 2) {
    make_box(&c, 2, arms, 0.5, 2, way * (0.5 + slow), &rng);
    assert_true(solve(&c, &arena));
    assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena), 0);
    check_number(g.rhs[1] * 2, c.dv[1]); // it slides
    make_box(&c, 2, arms, 0.5, 2, way * (0.5 - slow), &rng);
    assert_true(solve(&c, &arena));
    assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena), S2_VJP_REDUNDANT);
    check_number(g.rhs[1], 0); // it sticks
  }
  s2_arena_free(&arena);
}

static void a_boundary_with_the_same_on_both_sides_is_none(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(7);
  const double arm = 0;
  make_box(&c, 1, &arm, -1, 2, 0.1, &rng); // without friction
  c.rhs[2] = 0;                            // touches and does not press
  c.lambda[0] = c.lambda[1] = 0;
  c.v[0] = c.v[2] = 0;
  c.v[1] = 0.1;
  c.dv[0] = c.dv[2] = 0;
  c.dv[1] = 1;
  assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena), 0);
  check_number(g.rhs[1] * 2, 1);
  c.dv[2] = 1;
  assert_int_equal(vjp(&c, c.dv, NULL, &g, &arena), S2_VJP_WEAK);
  s2_arena_free(&arena);
}

// Hinges only: the adjoint is the problem itself with dl/dv for a force. The heavy end makes the
// rows a million times softer together than each one alone.
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

// A heavy box on a stack of light ones: the floor bears the whole stack.
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

// ---- Odd input ---------------------------------------------------------------------------------

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
  c.problem.nodes = 0;
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
  make_box(&c, 2, arm, 0.5, 1, 0.7, &rng);
  assert_true(solve(&c, &arena));
  check_not_finite(&c, &g, &arena);
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
  S2McpGradient fresh = pointers(&g), to = pointers(&h);
  S2McpLinear *linear = s2_mcp_linearise(&c.problem, c.v, c.lambda, &arena);
  for (int k = 0; k < 3; k++) {
    memset(&g, 0, sizeof g);
    memset(&h, 0, sizeof h);
    S2McpLinear *again = s2_mcp_linearise(&c.problem, c.v, c.lambda, &arena);
    unsigned flags = s2_mcp_linear_vjp(again, c.dv, c.dlambda, &fresh);
    assert_int_equal(s2_mcp_linear_vjp(linear, c.dv, c.dlambda, &to), flags);
    assert_memory_equal(&g, &h, sizeof g);
    c.dv[0] += 1;
  }
  s2_arena_free(&arena);
}

// The difference of numbers that belong together, relative to the largest.
static double apart(const double *x, const double *y, int count, double least) {
  double most = least, worst = 0;
  for (int i = 0; i < count; i++) {
    most = fmax(most, fabs(x[i]));
    worst = fmax(worst, fabs(x[i] - y[i]));
  }
  return worst / most;
}

// The result of the problem's own method compared with the general one; the flags of both.
static unsigned compare_ways(Case *c, S2Arena *arena) {
  static Gradient g, h;
  memset(&g, 0, sizeof g);
  memset(&h, 0, sizeof h);
  unsigned own = vjp(c, c->dv, c->dlambda, &g, arena);
  S2McpGradient to = pointers(&h);
  S2McpLinear *linear = s2_mcp_linearise(&c->problem, c->v, c->lambda, arena);
  unsigned flags = s2_mcp_linear_vjp(linear, c->dv, c->dlambda, &to);
  assert_int_equal(own, flags);
  double least = 1e-9;
  assert_true(apart(h.mass, g.mass, 3 * c->nodes, least) < 1e-8);
  assert_true(apart(h.rhs, g.rhs, 3 * c->nodes, least) < 1e-8);
  assert_true(apart(h.ja, g.ja, 3 * c->rows, least) < 1e-8);
  assert_true(apart(h.jb, g.jb, 3 * c->rows, least) < 1e-8);
  assert_true(apart(h.bias, g.bias, c->rows, least) < 1e-8);
  assert_true(apart(h.compliance, g.compliance, c->rows, least) < 1e-8);
  assert_true(apart(h.mu, g.mu, c->rows, least) < 1e-8);
  return flags;
}

// The graph of joints, which is the method for islands of joints: chains, rigid and with compliant
// joints, a closed one, and one that is held twice at the same place, which is left to the general
// method.
static void joints_by_their_graph_agree(void **state) {
  (void)state;
  enum { LINKS = 11 };
  static Case c;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(12);
  for (int kind = 0; kind < 4; kind++) {
    c = (Case){.nodes = LINKS};
    for (int i = 0; i < LINKS; i++) {
      c.place[2 * i] = i + 0.5;
      c.place[2 * i + 1] = 0.1 * (i + 0.5) * (i + 0.5);
      double mass = 1 + i % 3;
      memcpy(c.mass + 3 * (size_t)i, (double[3]){mass / 12, mass, mass}, 3 * sizeof(double));
      add_hinge(&c, i, i - 1, i, 0.1 * i * i);
    }
    if (kind >= 2) {
      double at = kind == 2 ? LINKS : 0;
      add_hinge(&c, kind == 2 ? LINKS - 1 : 0, -1, at, 0.1 * at * at);
    }
    finish(&c, &rng, 1);
    for (int r = 0; r < c.rows; r++) {
      c.row[r].compliance = kind == 1 && r % 4 < 2 ? 0.1 * (r + 1) : 0;
      c.dlambda[r] = kind == 3 ? 0 : s2_rng_normal(&rng);
    }
    assert_true(solve(&c, &arena));
    unsigned flags = compare_ways(&c, &arena);
    assert_int_equal(flags, kind == 3 ? S2_VJP_REDUNDANT : 0);
  }
  s2_arena_free(&arena);
}

// Elimination, the method for small problems, compared with the general one.
static void both_ways_agree(void **state) {
  (void)state;
  static Case c;
  S2Arena arena;
  s2_arena_init(&arena);
  int compared = 0, redundant = 0;
  for (uint64_t seed = 1; seed <= PROBLEMS; seed++) {
    s2_arena_reset(&arena);
    make_random(&c, seed);
    if (!solve(&c, &arena)) {
      continue;
    }
    compared += 1;
    redundant += (compare_ways(&c, &arena) & S2_VJP_REDUNDANT) != 0;
  }
  assert_true(compared > PROBLEMS / 2 && redundant < compared / 2);
  s2_arena_free(&arena);
}

// Three motors on a body: one cannot reach its speed, one cannot hold the body back, and one is
// strong enough. The impulse of a fourth motor is 0 and not at a bound.
static void boxed_rows_at_their_bounds(void **state) {
  (void)state;
  static const double mass[3] = {2, 3, 3}, rhs[3] = {1, 2, 3};
  S2Row row[4] = {
      {.a = 0,
       .b = -1,
       .coupled_to = -1,
       .group = 0,
       .ja = {1, 0.5, 0},
       .lo = -0.1,
       .hi = 0.2,
       .bias = -9},
      {.a = 0,
       .b = -1,
       .coupled_to = -1,
       .group = 1,
       .ja = {0, 1, 0.3},
       .lo = -0.3,
       .hi = 0.2,
       .bias = 7},
      {.a = 0,
       .b = -1,
       .coupled_to = -1,
       .group = 2,
       .ja = {0.2, 0, 1},
       .lo = -50,
       .hi = 50,
       .bias = -2},
      {.a = 0, .b = -1, .coupled_to = -1, .group = 3, .ja = {1, 1, 0}, .lo = -5, .hi = 5},
  };
  S2Problem problem = {.nodes = 1,
                       .rows = 4,
                       .mass = mass,
                       .rhs = rhs,
                       .row = row,
                       .velocity_scale = 1,
                       .length = 1};
  S2Arena arena;
  s2_arena_init(&arena);
  S2SolverOptions options = {.solver = S2_SOLVER_PDIPM, .tolerance = 1e-13, .max_iterations = 50};
  const double dv[3] = {1, -2, 0.7}, dlambda[4] = {0.3, 0.4, -0.2, 0.6};
  double v[3] = {0}, lambda[4] = {0};
  S2Solution solution = {.v = v, .lambda = lambda};
  problem.rows = 3;
  assert_int_equal(s2_mcp_solve(&problem, &options, &arena, &solution), S2_SOLVED);
  row[3].bias = -(v[0] + v[1]); // aims at the present speed
  problem.rows = 4;
  assert_int_equal(s2_mcp_solve(&problem, &options, &arena, &solution), S2_SOLVED);
  assert_true(lambda[0] == row[0].hi && lambda[1] == row[1].lo && fabs(lambda[3]) < 1e-12);
  for (int way = 0; way < 2; way++) {
    double lo[4], hi[4], bias[4];
    S2McpGradient to = {.bias = bias, .lo = lo, .hi = hi};
    unsigned flags = way == 0 ? s2_mcp_vjp(&problem, v, lambda, dv, dlambda, &to, &arena)
                              : s2_mcp_linear_vjp(s2_mcp_linearise(&problem, v, lambda, &arena), dv,
                                                  dlambda, &to);
    assert_int_equal(flags, 0);
    for (int k = 0; k < 4; k++) {
      const double derivative[3] = {lo[k], hi[k], bias[k]};
      for (int field = 0; field < 3; field++) {
        double *at = field == 0 ? &row[k].lo : field == 1 ? &row[k].hi : &row[k].bias;
        double kept = *at, l[2];
        for (int side = 0; side < 2; side++) {
          double v1[3] = {0}, lambda1[4] = {0};
          S2Solution moved = {.v = v1, .lambda = lambda1};
          *at = kept + (side == 0 ? -1e-3 : 1e-3);
          assert_int_equal(s2_mcp_solve(&problem, &options, &arena, &moved), S2_SOLVED);
          l[side] = 0;
          for (int i = 0; i < 4; i++) {
            l[side] += dlambda[i] * lambda1[i] + (i < 3 ? dv[i] * v1[i] : 0);
          }
        }
        *at = kept;
        assert_true(fabs((l[1] - l[0]) / 2e-3 - derivative[field]) < 1e-8);
      }
    }
    assert_true(hi[0] != 0 && lo[0] == 0 && lo[1] != 0 && hi[1] == 0 && lo[2] == 0 && hi[3] == 0);
    assert_true(bias[0] == 0 && bias[1] == 0 && bias[2] != 0 && bias[3] != 0);
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
  }
  assert_true(s2_memory_count() == before);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_derivatives_agree_with_differences),
      cmocka_unit_test(box_on_four_contacts),
      cmocka_unit_test(undetermined_loads_are_those_of_least_norm),
      cmocka_unit_test(rows_that_are_tied),
      cmocka_unit_test(contacts_on_the_boundary_are_flagged),
      cmocka_unit_test(what_is_near_a_boundary_is_on_its_side),
      cmocka_unit_test(a_boundary_with_the_same_on_both_sides_is_none),
      cmocka_unit_test(chain_with_a_heavy_end_is_its_own_adjoint),
      cmocka_unit_test(floor_bears_a_stack),
      cmocka_unit_test(nothing_to_do),
      cmocka_unit_test(numbers_that_are_not_finite),
      cmocka_unit_test(one_factorisation_serves_many_products),
      cmocka_unit_test(both_ways_agree),
      cmocka_unit_test(joints_by_their_graph_agree),
      cmocka_unit_test(boxed_rows_at_their_bounds),
      cmocka_unit_test(the_heap_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
