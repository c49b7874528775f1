// Path following. The law of every contact is a function of x = impulse - velocity, the normal map
// of Robinson (1992). It is linear in each mode of the contact, so the residual G(x) is piecewise
// linear. From any x0, the solutions of G(x) = t G(x0) form a path that starts at t = 1. It
// consists of straight segments, one for each set of modes. The solver follows the path to t = 0
// through all its turns, which may lead away from the solution for a while. At the end of a segment
// one contact changes its mode. (Lemke's method follows such a path from another start. PATH of
// Dirkse and Ferris (1995) follows such paths, after Ralph (1994).) The residual may rise along the
// path, so the path can reach a solution where line searches stop in a local minimum.
//
// A compliance 1 / weight relative to the starting impulses makes segments unique for hyperstatic
// contacts. A larger compliance gives fewer turns. Therefore a path solves one step of the proximal
// method of newton.c and not the whole problem.
#include "mcp/chain/pdipm_follow.h"

#include <limits.h>
#include <math.h>
#include <string.h>

// If t exceeds this limit, the path counts as going to infinity.
static const double FARTHEST = 1e4;

// After LOOK_SEGMENTS segments of a path, t must be at most LOOK_LEFT. In flows of piles, 63 % of
// all paths reached t = 0 within 20 segments. Only a fifth of the paths that failed this check did
// so.
enum { LOOK_SEGMENTS = 6 };
static const double LOOK_LEFT = 0.8;

// With undamped mode changes, x violates its mode if it is beyond a border by more than this scaled
// distance.
static const double VIOLATED = 1e-11;

// If x0 depends on impulses only, each unit starts at least this scaled distance from the border of
// its mode.
static const double APART = 1e-9;

// The end of a segment, where unit `unit` leaves its mode. `unit` is -1 if no unit does.
typedef struct Crossing {
  int unit;
  S2Mode from, to;
  double step;
} Crossing;

S2Follow s2_follow_make(S2System *system, double weight, S2Arena *arena) {
  int two = 2 * system->units, n = system->nodes + 1;
  return (S2Follow){
      .system = system,
      .weight = weight,
      .x = S2_TAKE(arena, double, two),
      .lambda = S2_TAKE(arena, double, two),
      .r = S2_TAKE(arena, double, two),
      .dx = S2_TAKE(arena, double, two),
      .dlambda = S2_TAKE(arena, double, two),
      .u = S2_TAKE(arena, double, two),
      .base = S2_TAKE(arena, double, two),
      .v = S2_TAKE_ZEROED(arena, S2Quad, n),
      .dv = S2_TAKE(arena, S2Quad, n),
      .mode = S2_TAKE(arena, S2Mode, system->units),
      .response = S2_TAKE(arena, S2Response, system->units),
  };
}

static double follow_slope(const S2Unit *unit, S2Mode mode) {
  return mode == S2_SLIDE_PLUS ? unit->mu : -unit->mu;
}

// Returns true if the impulses of a unit in this mode are fixed.
static bool is_held(const S2Unit *unit, S2Mode mode) {
  return mode == S2_SEPARATE || (unit->kind == S2_UNIT_BOX && mode != S2_STICK);
}

// Computes u = J v + C lambda + b of all rows.
S2_WIDE void s2_follow_row_speeds(S2Follow *follow, const double *lambda) {
  const S2System *system = follow->system;
  s2_system_velocity(system, lambda, follow->v);
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    double u[2];
    s2_system_unit_velocity(system, k, follow->v, u);
    for (int r = 0; r < 2; r++) {
      follow->u[2 * k + r] = u[r] + (unit->c[r] * lambda[2 * k + r] + unit->b0[r]);
    }
  }
}

static S2Mode follow_mode_of(const S2Unit *unit, const double *x) {
  if (unit->kind == S2_UNIT_BILATERAL) {
    return S2_STICK;
  }
  if (unit->kind == S2_UNIT_BOX) {
    return x[0] > unit->hi ? S2_SLIDE_PLUS : x[0] < unit->lo ? S2_SLIDE_MINUS : S2_STICK;
  }
  if (!(x[0] > 0)) {
    return S2_SEPARATE;
  }
  if (unit->kind == S2_UNIT_NORMAL || fabs(x[1]) <= unit->mu * x[0]) {
    return S2_STICK;
  }
  return x[1] > 0 ? S2_SLIDE_PLUS : S2_SLIDE_MINUS;
}

// Computes x of a unit in the mode that its impulses alone indicate. The row velocities u do not
// influence the mode, because the impulses may be the solution for slightly different rows.
static void follow_start_held(const S2Unit *unit, const double *lambda, const double *u,
                              double *x) {
  S2Mode mode = s2_impulse_mode(unit, lambda);
  double side = mode == S2_SLIDE_PLUS ? 1 : -1;
  x[0] = lambda[0];
  x[1] = lambda[1];
  if (mode == S2_SEPARATE) {
    x[0] = -fmax(APART, u[0]);
    x[1] = unit->rows == 2 ? -u[1] : 0;
  } else if (mode != S2_STICK && unit->kind == S2_UNIT_BOX) {
    x[0] = (side > 0 ? unit->hi : unit->lo) + side * fmax(APART, -side * u[0]);
  } else if (mode != S2_STICK) {
    x[1] = side * (unit->mu * lambda[0] + APART + fmax(0, -side * u[1]));
  }
}

// Computes the impulses of a unit from x, by the law of its mode.
static void follow_impulses(const S2Unit *unit, S2Mode mode, const double *x, double *lambda) {
  if (unit->kind == S2_UNIT_BOX) {
    lambda[0] = mode == S2_STICK ? x[0] : mode == S2_SLIDE_PLUS ? unit->hi : unit->lo;
    lambda[1] = 0;
    return;
  }
  bool separate = mode == S2_SEPARATE, stick = mode == S2_STICK;
  lambda[0] = separate ? 0 : x[0];
  lambda[1] = separate || unit->rows < 2 ? 0 : stick ? x[1] : follow_slope(unit, mode) * x[0];
}

void s2_follow_begin(S2Follow *follow, const double *lambda, bool by_impulses) {
  const S2System *system = follow->system;
  // x = lambda - u determines the mode, and the mode determines the impulses.
  s2_follow_row_speeds(follow, lambda);
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    double *x = follow->x + 2 * k;
    bool bilateral = unit->kind == S2_UNIT_BILATERAL;
    x[0] = lambda[2 * k] - (bilateral ? 0 : follow->u[2 * k]);
    x[1] = lambda[2 * k + 1] - (bilateral ? 0 : follow->u[2 * k + 1]);
    if (by_impulses) {
      follow_start_held(unit, lambda + 2 * k, follow->u + 2 * k, x);
    }
    follow->mode[k] = follow_mode_of(unit, x);
    follow_impulses(unit, follow->mode[k], x, follow->lambda + 2 * k);
  }
  // G(x) = u(lambda(x)) - lambda(x) + x.
  s2_follow_row_speeds(follow, follow->lambda);
  for (int k = 0; k < 2 * system->units; k++) {
    follow->r[k] = follow->u[k] - follow->lambda[k] + follow->x[k];
  }
}

// Computes the responses. Returns true if the matrix is not symmetric.
static bool follow_respond(S2Follow *follow) {
  bool sliding = false;
  for (int k = 0; k < follow->system->units; k++) {
    const S2Unit *unit = &follow->system->unit[k];
    S2Mode mode = follow->mode[k];
    S2Response *d = &follow->response[k];
    *d = (S2Response){0};
    if (is_held(unit, mode)) {
      continue;
    }
    d->nn = follow->weight / (1 + follow->weight * unit->c[0]);
    if (mode != S2_STICK) {
      d->tn = follow_slope(unit, mode) * d->nn;
      sliding = true;
    } else if (unit->rows == 2) {
      d->tt = follow->weight / (1 + follow->weight * unit->c[1]);
    }
  }
  return sliding;
}

// Computes the rates of all variables along the segment as t falls. Returns false if the matrix is
// singular.
S2_WIDE bool s2_follow_rates(S2Follow *follow) {
  S2System *system = follow->system;
  // Factor K = 1 + A J' D J with the responses of the current modes, once per segment.
  bool nonsymmetric = follow_respond(follow);
  if (!s2_system_factor(system, follow->response, nonsymmetric)) {
    return false;
  }
  // Compute the impulses at fixed node velocities, then the response of the nodes: K dv = A J'
  // base.
  for (int k = 0; k < system->units; k++) {
    const S2Response *d = &follow->response[k];
    const double *r = follow->r + 2 * k;
    follow->base[2 * k] = -d->nn * r[0];
    follow->base[2 * k + 1] = -d->tn * r[0] - d->tt * r[1];
  }
  memset(follow->dv, 0, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  s2_system_push_all(system, follow->base, 1, follow->dv);
  s2_system_solve(system, follow->dv, follow->dv);
  // Compute impulses and x = lambda - u from the row velocities: dlambda = base - D du.
  for (int k = 0; k < system->units; k++) {
    const S2Response *d = &follow->response[k];
    const double *r = follow->r + 2 * k;
    double du[2];
    s2_system_unit_velocity(system, k, follow->dv, du);
    double *dl = follow->dlambda + 2 * k, *dx = follow->dx + 2 * k;
    double compliance = follow->system->unit[k].c[1] + 1 / follow->weight;
    dl[0] = follow->base[2 * k] - d->nn * du[0];
    dl[1] = follow->base[2 * k + 1] - d->tn * du[0] - d->tt * du[1];
    S2Mode mode = follow->mode[k];
    dx[0] = is_held(&system->unit[k], mode) ? -du[0] - r[0] : dl[0];
    dx[1] = mode == S2_STICK ? dl[1] : dl[1] * (1 - compliance) - du[1] - r[1];
  }
  return true;
}

static void follow_turn(S2Follow *follow) {
  for (int k = 0; k < 2 * follow->system->units; k++) {
    follow->dx[k] = -follow->dx[k];
    follow->dlambda[k] = -follow->dlambda[k];
  }
}

// ---- Borders ----------------------------------------------------------------------------------

// Returns the distance of x from the border between `mode` and `other`, which is positive inside
// `mode`. Returns the rate of this distance if x is a rate dx and `edges` is 0.
S2_INLINE double follow_inside(const S2Unit *unit, S2Mode mode, S2Mode other, const double *x,
                               double edges) {
  if (unit->kind == S2_UNIT_BOX) {
    S2Mode end = mode == S2_STICK ? other : mode;
    double past = end == S2_SLIDE_PLUS ? x[0] - edges * unit->hi : edges * unit->lo - x[0];
    return mode == S2_STICK ? -past : past;
  }
  if (mode == S2_SEPARATE) {
    return -x[0];
  }
  if (other == S2_SEPARATE) {
    return x[0];
  }
  S2Mode slide = mode == S2_STICK ? other : mode;
  double beyond = (slide == S2_SLIDE_PLUS ? x[1] : -x[1]) - unit->mu * x[0];
  return mode == S2_STICK ? -beyond : beyond;
}

S2_INLINE void try_border(const S2Follow *follow, int k, S2Mode other, Crossing *first) {
  const S2Unit *unit = &follow->system->unit[k];
  S2Mode mode = follow->mode[k];
  double rate = follow_inside(unit, mode, other, follow->dx + 2 * k, 0);
  if (rate < 0) {
    double inside = follow_inside(unit, mode, other, follow->x + 2 * k, 1);
    double step = inside > 0 ? inside / -rate : 0;
    if (step < first->step) {
      *first = (Crossing){k, mode, other, step};
    }
  }
}

// Finds the first border within a step of length `most`.
static Crossing find_crossing(const S2Follow *follow, double most) {
  Crossing first = {.unit = -1, .step = most};
  // A mode has borders only with the modes that it can change into.
  for (int k = 0; k < follow->system->units; k++) {
    const S2Unit *unit = &follow->system->unit[k];
    S2Mode mode = follow->mode[k];
    if (unit->kind == S2_UNIT_BILATERAL) {
      continue;
    }
    if (mode == S2_SEPARATE) {
      try_border(follow, k, S2_STICK, &first);
    } else if (mode != S2_STICK) {
      if (unit->kind == S2_UNIT_CONTACT) {
        try_border(follow, k, S2_SEPARATE, &first);
      }
      try_border(follow, k, S2_STICK, &first);
    } else if (unit->kind != S2_UNIT_NORMAL) {
      try_border(follow, k, S2_SLIDE_PLUS, &first);
      try_border(follow, k, S2_SLIDE_MINUS, &first);
    } else {
      try_border(follow, k, S2_SEPARATE, &first);
    }
  }
  if (first.unit >= 0 && first.from == S2_SEPARATE &&
      follow->system->unit[first.unit].kind == S2_UNIT_CONTACT) {
    // At zero normal impulse the cone has no width, so a closing contact first slides.
    int t = 2 * first.unit + 1;
    double x = follow->x[t] + first.step * follow->dx[t];
    first.to = x > 0 ? S2_SLIDE_PLUS : S2_SLIDE_MINUS;
  }
  return first;
}

bool s2_follow_solve(S2System *system, const S2FollowStart *start, S2Quad *v, double *lambda,
                     int *factorizations, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Follow follow = s2_follow_make(system, start->weight, arena);
  s2_follow_begin(&follow, lambda, start->by_impulses);
  system->sparse.accurate = start->weight > S2_ACCURATE_WEIGHT;
  double t = 1;
  Crossing crossing = {.unit = -1};
  // Each iteration follows one segment of the path: find its direction, then its end.
  for (int i = 0; i < start->segments && t > 0 && t < FARTHEST; i++) {
    (*factorizations)++;
    if (!s2_follow_rates(&follow)) {
      break;
    }
    // The path must enter the new mode, even if t rises.
    bool rises =
        crossing.unit >= 0 && follow_inside(&system->unit[crossing.unit], crossing.to,
                                            crossing.from, follow.dx + 2 * crossing.unit, 0) < 0;
    if (rises) {
      follow_turn(&follow);
    }
    crossing = find_crossing(&follow, rises ? INFINITY : t);
    if (!isfinite(crossing.step)) {
      break;
    }
    // Go to the end of the segment, where one contact changes to its new mode.
    for (int k = 0; k < 2 * system->units; k++) {
      follow.x[k] += crossing.step * follow.dx[k];
      follow.lambda[k] += crossing.step * follow.dlambda[k];
    }
    t = crossing.unit < 0 ? 0 : rises ? t + crossing.step : t - crossing.step;
    if (crossing.unit >= 0) {
      follow.mode[crossing.unit] = crossing.to;
    }
    if (start->looks && i + 1 == LOOK_SEGMENTS && t > LOOK_LEFT) {
      break;
    }
  }
  // Compute the velocities again, because rounding errors of many steps have accumulated.
  bool arrived = t <= 0;
  if (arrived) {
    memcpy(lambda, follow.lambda, sizeof(double) * (size_t)(2 * system->units));
    s2_system_velocity(system, lambda, v);
  }
  system->sparse.accurate = false;
  s2_arena_rewind(arena, mark);
  return arrived;
}

// ---- Changes of modes -----------------------------------------------------------------------

// Returns the scaled distance by which a unit is beyond the border of its mode.
static double follow_violation(const S2Unit *unit, S2Mode mode, const double *x) {
  if (unit->kind == S2_UNIT_BILATERAL) {
    return 0;
  }
  if (mode == S2_STICK) {
    if (unit->kind == S2_UNIT_NORMAL) {
      return -x[0];
    }
    return fmax(-follow_inside(unit, mode, S2_SLIDE_PLUS, x, 1),
                -follow_inside(unit, mode, S2_SLIDE_MINUS, x, 1));
  }
  double stick = -follow_inside(unit, mode, S2_STICK, x, 1);
  bool cone = unit->kind == S2_UNIT_CONTACT && mode != S2_SEPARATE;
  return cone ? fmax(stick, -x[0]) : stick;
}

void s2_follow_measure(S2Follow *follow, const double *anchor) {
  const S2System *system = follow->system;
  for (int k = 0; k < system->units; k++) {
    follow_impulses(&system->unit[k], follow->mode[k], follow->x + 2 * k, follow->lambda + 2 * k);
  }
  s2_follow_row_speeds(follow, follow->lambda);
  for (int k = 0; k < 2 * system->units; k++) {
    follow->r[k] = follow->u[k] - follow->lambda[k] + follow->x[k] +
                   (follow->lambda[k] - anchor[k]) / follow->weight;
  }
}

int s2_follow_change_modes(S2Follow *follow, const double *anchor, int most, int *left,
                           int *factorizations) {
  S2System *system = follow->system;
  *left = system->units + 1;
  for (int solve = 1; solve <= most; solve++) {
    // Go to the point where G is 0 if the modes do not change.
    s2_follow_measure(follow, anchor);
    (*factorizations)++;
    if (!s2_follow_rates(follow)) {
      return 0;
    }
    int violated = 0;
    for (int k = 0; k < system->units; k++) {
      const S2Unit *unit = &system->unit[k];
      double *x = follow->x + 2 * k;
      x[0] += follow->dx[2 * k];
      x[1] += follow->dx[2 * k + 1];
      if (follow_violation(unit, follow->mode[k], x) > VIOLATED) {
        violated++;
        follow->mode[k] = follow_mode_of(unit, x);
      }
    }
    if (violated == 0) {
      return solve;
    }
    // Give up if the number of violations does not fall. The changes then seldom converge, and
    // following the path costs no more.
    if (violated >= *left) {
      return 0;
    }
    *left = violated;
  }
  return 0;
}

// ---- Finish -----------------------------------------------------------------------------------

// The finish makes nearly rigid proximal steps of weight FINISH_WEIGHT. In a step the residual may
// rise by the factor FINISH_RISE.
static const double FINISH_WEIGHT = 1e8, FINISH_RISE = 3;
enum { FINISH_STEPS = 8, FINISH_SOLVES = 6 };

// Makes one proximal step from the modes that the impulses indicate. First changes all violated
// modes at once, which redundant rows need. If this fails, changes one mode at a time along the
// path.
static bool finish_step(S2Follow *follow, int segments, S2Quad *v, double *lambda,
                        int *factorizations, S2Arena *arena) {
  S2System *system = follow->system;
  s2_system_clip(system, lambda);
  s2_follow_begin(follow, lambda, true);
  int most = segments < FINISH_SOLVES ? segments : FINISH_SOLVES;
  system->sparse.accurate = true;
  int left;
  bool arrived = s2_follow_change_modes(follow, lambda, most, &left, factorizations) > 0;
  system->sparse.accurate = false;
  if (arrived) {
    s2_follow_measure(follow, lambda);
    memcpy(lambda, follow->lambda, sizeof(double) * (size_t)(2 * system->units));
    s2_system_velocity(system, lambda, v);
    return true;
  }
  S2FollowStart start = {.weight = FINISH_WEIGHT, .segments = segments, .by_impulses = true};
  return left <= segments && s2_follow_solve(system, &start, v, lambda, factorizations, arena);
}

double s2_finish_solve(S2System *system, int segments, int most, double tolerance, S2Quad *v,
                       double *lambda, int *factorizations, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int two = 2 * system->units;
  double *at = S2_TAKE(arena, double, two), *u = S2_TAKE(arena, double, two);
  S2Quad *v_at = S2_TAKE_ZEROED(arena, S2Quad, system->nodes + 1);
  double best = s2_system_residual(system, v, lambda, u), last = INFINITY;
  S2Follow follow = s2_follow_make(system, FINISH_WEIGHT, arena);
  memcpy(at, lambda, sizeof(double) * (size_t)two);
  // Take steps while they succeed and do not diverge. Return the best point to the caller.
  int end = most < INT_MAX ? *factorizations + most : INT_MAX;
  for (int i = 0; i < FINISH_STEPS && *factorizations < end && !(best <= tolerance); i++) {
    int longest = segments < end - *factorizations ? segments : end - *factorizations;
    if (!finish_step(&follow, longest, v_at, at, factorizations, arena)) {
      break;
    }
    double residual = s2_system_residual(system, v_at, at, u);
    s2_history_add(system->history, residual, 1, 1 / FINISH_WEIGHT);
    if (residual < best) {
      best = residual;
      memcpy(lambda, at, sizeof(double) * (size_t)two);
      memcpy(v, v_at, sizeof(S2Quad) * (size_t)(system->nodes + 1));
    }
    if (!(residual < FINISH_RISE * last)) {
      break;
    }
    last = residual;
  }
  s2_arena_rewind(arena, mark);
  return best;
}
