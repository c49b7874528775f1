// Derivatives where contacts share a load that their rows do not determine: the active set finds
// the impulses of least norm, which change with the data. Random chains whose bodies slide flat on
// the ground, each contact with its own friction, so that the shares change the motion.
#include "mcp_vjp_problems.h"

enum {
  LINKS = 3,
  POINTS = 4,
  PARAMETERS = 5 * LINKS + 3 * LINKS * POINTS + 3 * LINKS,
  SCENES = 300
};
static const double MARGIN = 1e-2, STEP = 1e-4, CHANGED = 1e-7;

// The parameters of a chain: its rows are compatible for all their values.
typedef struct Chain {
  int links, points; // links, and points of each link
  double parameter[PARAMETERS];
} Chain;

static double range(S2Rng *rng, double lo, double hi) {
  return lo + (hi - lo) * s2_rng_uniform(rng);
}

static void make_chain(Chain *chain, S2Rng *rng) {
  *chain = (Chain){.links = (int)s2_rng_integer(rng, 1, LINKS)};
  chain->points = (int)s2_rng_integer(rng, 2, chain->links == LINKS ? POINTS - 1 : POINTS);
  double *next = chain->parameter;
  for (int i = 0; i < LINKS; i++) { // place and height of the hinge behind; mass, inertia, height
    *next++ = range(rng, 0.4, 0.6);
    *next++ = range(rng, -0.05, 0.1);
    *next++ = spread(rng, 1);
    *next++ = range(rng, 0.05, 0.3);
    *next++ = range(rng, 0.05, 0.2);
    for (int k = 0; k < POINTS; k++) { // place, friction, tangential compliance of a point
      *next++ = -0.4 + 0.8 * (k + range(rng, -0.3, 0.3)) / (chain->points - 1);
      *next++ = range(rng, 0.05, 0.5);
      *next++ = s2_rng_uniform(rng) < 0.5 ? range(rng, 0.0, 0.1) : 0;
    }
  }
  for (int i = 0; i < LINKS; i++) { // velocities without impulses
    *next++ = range(rng, -0.02, 0.02);
    *next++ = range(rng, 0.5, 2);
    *next++ = range(rng, -2, -1);
  }
}

static void build_case(const Chain *chain, Case *c) {
  S2Rng rng = s2_rng_seeded(1);
  const double *link = chain->parameter, *v = chain->parameter + LINKS * (5 + 3 * POINTS);
  *c = (Case){.nodes = chain->links};
  for (int i = 0; i < chain->links; i++) {
    const double *of = link + i * (5 + 3 * POINTS);
    c->place[2 * i] = i;
    c->place[2 * i + 1] = of[4];
    const double mass[3] = {of[2] * of[3], of[2], of[2]};
    for (int k = 0; k < 3; k++) {
      c->mass[3 * i + k] = mass[k];
      c->rhs[3 * i + k] = mass[k] * v[3 * i + k];
    }
  }
  for (int i = 1; i < chain->links; i++) {
    const double *of = link + i * (5 + 3 * POINTS);
    add_hinge(c, i, i - 1, i - of[0], of[1]);
    c->row[c->rows - 1].hi = c->row[c->rows - 2].hi = INFINITY;
  }
  for (int i = 0; i < chain->links; i++) {
    const double *point = link + i * (5 + 3 * POINTS) + 5;
    for (int k = 0; k < chain->points; k++, point += 3) {
      add_contact(c, i, S2_GROUND, i + point[0], 0, 0, 1, point[1]);
      c->row[c->rows - 1].compliance = point[2];
    }
  }
  finish(c, &rng, 1);
}

static bool solve_active(Case *c, S2Arena *arena) {
  S2SolverOptions options = {.solver = S2_SOLVER_ACTIVE, .tolerance = 1e-12, .max_iterations = 50};
  S2Solution solution = {.v = c->v, .lambda = c->lambda};
  return s2_mcp_solve(&c->problem, &options, arena, &solution) == S2_SOLVED;
}

// The sum of the gradient times the change of all data that parameter `which` causes.
static double along(const Chain *chain, int which, double step, const Gradient *g) {
  static Case less, more;
  static Datum before[DATA], after[DATA];
  Chain to = *chain;
  to.parameter[which] = chain->parameter[which] - step;
  build_case(&to, &less);
  to.parameter[which] = chain->parameter[which] + step;
  build_case(&to, &more);
  int count = list(&less, g, before);
  double sum = 0;
  list(&more, g, after);
  for (int i = 0; i < count; i++) {
    sum += before[i].derivative * (*after[i].at - *before[i].at) / (2 * step);
  }
  return sum;
}

// The loss of `base` with the parameter changed; NAN: not solved, or in other modes.
static double changed_loss(const Chain *chain, int which, double change, const Case *base,
                           const Mode *modes, S2Arena *arena) {
  static Case c;
  Mode mode[ROWS];
  Chain to = *chain;
  to.parameter[which] += change;
  build_case(&to, &c);
  memcpy(c.dv, base->dv, sizeof c.dv);
  memcpy(c.dlambda, base->dlambda, sizeof c.dlambda);
  memcpy(c.v, base->v, sizeof c.v);
  memcpy(c.lambda, base->lambda, sizeof c.lambda);
  s2_arena_reset(arena);
  bool solved = solve_active(&c, arena);
  modes_of(&c, mode);
  return solved && memcmp(mode, modes, sizeof *mode * (size_t)c.rows) == 0 ? loss(&c) : NAN;
}

typedef struct Share {
  int sliding, scenes, asked, compared, moved;
  double worst;
} Share;

static void compare_scene(const Chain *chain, Case *c, const Mode *mode, bool loads, Share *share,
                          S2Arena *arena) {
  static Gradient g;
  for (int i = 0; i < c->rows && !loads; i++) {
    c->dlambda[i] = 0;
  }
  unsigned flags = vjp(c, c->dv, c->dlambda, &g, arena);
  if ((flags & S2_VJP_REDUNDANT) == 0) {
    return;
  }
  share->scenes++;
  for (int r = 0; r < c->rows; r++) {
    share->sliding += mode[r] == AHEAD || mode[r] == BACK;
  }
  share->asked += (flags & S2_VJP_UNDETERMINED) != 0;
  assert_int_equal(flags & (S2_VJP_WEAK | S2_VJP_SINGULAR), 0);
  assert_true(loads || (flags & S2_VJP_UNDETERMINED) == 0);
  for (int which = 0; which < PARAMETERS; which++) {
    if (chain->parameter[which] == 0) { // no compliance, below which there is no such problem
      continue;
    }
    double step = STEP * fmax(0.1, fabs(chain->parameter[which]));
    double a = changed_loss(chain, which, step, c, mode, arena),
           b = changed_loss(chain, which, -step, c, mode, arena),
           far = changed_loss(chain, which, 2 * step, c, mode, arena),
           back = changed_loss(chain, which, -2 * step, c, mode, arena);
    double expected = (8 * (a - b) - (far - back)) / (12 * step);
    if (isnan(expected)) {
      share->moved++;
      continue;
    }
    double value = along(chain, which, step, &g);
    double error = fabs(value - expected) / fmax(1, fabs(expected));
    share->worst = fmax(share->worst, error);
    share->compared++;
  }
}

// Velocities that depend on the shares have their derivative; so have the shares, with a flag.
static void shares_of_least_norm_change_with_the_data(void **state) {
  (void)state;
  static Case c;
  S2Arena arena;
  s2_arena_init(&arena);
  for (int loads = 0; loads < 2; loads++) {
    S2Rng rng = s2_rng_seeded(21);
    Share share = {0};
    for (int k = 0; k < SCENES; k++) {
      Chain chain;
      Mode mode[ROWS];
      make_chain(&chain, &rng);
      build_case(&chain, &c);
      s2_arena_reset(&arena);
      if (solve_active(&c, &arena) && modes_of(&c, mode) > MARGIN) {
        compare_scene(&chain, &c, mode, loads, &share, &arena);
      }
    }
    print_message("%d scenes, %d flagged, %d compared, %d in other modes, worst %.1e\n",
                  share.scenes, share.asked, share.compared, share.moved, share.worst);
    assert_true(share.worst <= CHANGED);
    assert_true(share.scenes >= SCENES / 3 && share.sliding >= 2 * share.scenes);
    assert_true(share.moved <= share.compared / 100);
    assert_true(loads ? share.asked == share.scenes : share.asked == 0);
  }
  s2_arena_free(&arena);
}

// The interior point shares loads in another way, which the problem does not define.
static void other_shares_are_flagged(void **state) {
  (void)state;
  static Case c;
  static Gradient g;
  S2Arena arena;
  s2_arena_init(&arena);
  S2Rng rng = s2_rng_seeded(22);
  int flagged = 0;
  for (int k = 0; k < SCENES; k++) {
    Chain chain;
    make_chain(&chain, &rng);
    build_case(&chain, &c);
    memset(c.dlambda, 0, sizeof c.dlambda);
    Case known = c;
    s2_arena_reset(&arena);
    bool both = solve_active(&known, &arena) && solve(&c, &arena);
    double apart = 0;
    for (int i = 0; i < c.rows; i++) {
      apart = fmax(apart, fabs(c.lambda[i] - known.lambda[i]));
    }
    // Different friction: the motion depends on the shares, and the loss on the motion.
    double slower = fabs(c.v[1] - known.v[1]);
    if (both && apart > 1e-3 && slower > 1e-3) {
      assert_true(vjp(&c, c.dv, NULL, &g, &arena) & S2_VJP_UNDETERMINED);
      flagged++;
    }
  }
  assert_true(flagged >= 10);
  s2_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shares_of_least_norm_change_with_the_data),
      cmocka_unit_test(other_shares_are_flagged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
