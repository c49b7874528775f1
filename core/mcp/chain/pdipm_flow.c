// Gauss-Seidel sweeps approximate a continuous flow whose attractors are solutions. The flow is
// smooth until a contact suddenly changes its mode, which is called a snap. A proximal step with
// compliance e is an implicit Euler step of length 1 / e along the flow. Each step is solved by a
// few undamped mode changes or, across a snap, by path following from the previous step. If both
// fail, sweeps from the current point continue the flow, even across snaps.
#include "mcp/chain/pdipm_follow.h"

#include <limits.h>
#include <math.h>
#include <string.h>

// Scaled compliances of the flow. The first three values are the initial, the largest and the
// smallest compliance. FLOW_SOFTEN is the factor by which the compliance grows after a failed step.
// FLOW_HARDEN is the factor by which it first shrinks after an easy step. A failed step costs as
// much as ten successful steps, so each failure reduces the second factor, down to FLOW_SLOWEST.
// Long flows then take a third less time.
static const double FLOW_BEGIN = 1e-2, FLOW_SOFTEST = 0.3, FLOW_HARDEST = 1e-9, FLOW_SOFTEN = 10,
                    FLOW_HARDEN = 3, FLOW_SLOWER = 0.8, FLOW_SLOWEST = 1.3;
// Paths are checked (S2FollowStart.looks) until this many steps have failed. After that, paths may
// pass through folds.
enum { FLOW_LOOKS = 20 };
// If the residual is below this limit, try to solve the equations of the current modes exactly. At
// larger residuals the modes are seldom correct.
static const double FLOW_NEAR = 1e-5;
// A step is easy if it needs at most FLOW_EASY solves. After FLOW_GOOD successful steps, an easy
// step reduces the compliance faster. FLOW_SOLVES limits the solves with undamped mode changes in a
// step. FLOW_SEGMENTS limits the segments of a path across a snap. FLOW_FINISH limits the segments
// of a path in the finish.
enum { FLOW_EASY = 2, FLOW_GOOD = 3 };
enum { FLOW_SOLVES = 8, FLOW_SEGMENTS = 40, FLOW_FINISH = 2 };
// Number of sweeps after a failed step. The sweeps take a fifth of the time of the failed path.
// They solve half of the problems at which the flow fails without them. In first solves of poured
// bodies they save a quarter of the factorisations. 100 sweeps are too few, and 300 sweeps take
// more time than they save.
enum { FLOW_SWEEPS = 200 };
// The flow is on a ray after FLOW_RAY steps of the largest length with the same modes and with
// residuals that agree to within FLOW_SAME. The impulses are then so large that their initial
// values do not matter, and the modes stay the same. After FLOW_ASKS factorisations the flow checks
// whether there is a solution at all.
enum { FLOW_RAY = 10, FLOW_ASKS = 200 };
static const double FLOW_SAME = 1e-2;

typedef struct Flow {
  S2Follow follow;
  double *x, *lambda, *tried; // current point x, lambda; lambda of an exact attempt
  S2Quad *v, *v_tried;
  S2Mode *mode;
  double compliance, harden, best;
  bool accepted;     // true if a step has succeeded
  int good, changed; // consecutive successful steps; mode changes in the last step
  int failures;      // failed steps
  int steady;        // number of consecutive steps that may be on a ray
  double missed;     // residual after the last step
} Flow;

// Starts the flow at its current point, in the modes that x = lambda - u indicates.
static void flow_begin(Flow *flow) {
  const S2System *system = flow->follow.system;
  s2_follow_begin(&flow->follow, flow->lambda, false);
  memcpy(flow->mode, flow->follow.mode, sizeof(S2Mode) * (size_t)system->units);
  memcpy(flow->x, flow->follow.x, sizeof(double) * (size_t)(2 * system->units));
}

static Flow flow_make(S2System *system, const S2Quad *v, const double *lambda, S2Arena *arena) {
  int two = 2 * system->units, n = system->nodes + 1;
  Flow flow = {
      .follow = s2_follow_make(system, 1 / FLOW_BEGIN, arena),
      .x = S2_TAKE(arena, double, two),
      .lambda = S2_TAKE(arena, double, two),
      .tried = S2_TAKE(arena, double, two),
      .v = S2_TAKE(arena, S2Quad, n),
      .v_tried = S2_TAKE(arena, S2Quad, n),
      .mode = S2_TAKE(arena, S2Mode, system->units),
      .compliance = FLOW_BEGIN,
      .harden = FLOW_HARDEN,
      .changed = 1,
  };
  flow.best = s2_system_residual(system, v, lambda, flow.follow.u);
  memcpy(flow.lambda, lambda, sizeof(double) * (size_t)two);
  memcpy(flow.v, v, sizeof(S2Quad) * (size_t)n);
  flow_begin(&flow);
  return flow;
}

// Makes one proximal step from the current point with up to about `most` factorisations. Returns
// the number of solves, or 0 if it fails.
static int flow_step(Flow *flow, int most, int *factorizations, S2Arena *arena) {
  S2Follow *follow = &flow->follow;
  S2System *system = follow->system;
  size_t rows = sizeof(double) * (size_t)(2 * system->units);
  // Try undamped mode changes, starting from the last modes.
  follow->weight = 1 / flow->compliance;
  system->sparse.accurate = follow->weight > S2_ACCURATE_WEIGHT;
  memcpy(follow->mode, flow->mode, sizeof(S2Mode) * (size_t)system->units);
  memcpy(follow->x, flow->x, rows);
  int left;
  int solves = s2_follow_change_modes(follow, flow->lambda, most < FLOW_SOLVES ? most : FLOW_SOLVES,
                                      &left, factorizations);
  if (solves > 0) {
    s2_follow_measure(follow, flow->lambda);
    memcpy(flow->lambda, follow->lambda, rows);
    s2_system_clip(system, flow->lambda);
    s2_system_velocity(system, flow->lambda, flow->v);
    return solves;
  }
  // If they fail, follow the path from the last point, provided that this point belongs to the
  // flow.
  S2FollowStart start = {.weight = follow->weight,
                         .segments = most < FLOW_SEGMENTS ? most : FLOW_SEGMENTS,
                         .looks = flow->failures < FLOW_LOOKS};
  if (!flow->accepted ||
      !s2_follow_solve(system, &start, flow->v, flow->lambda, factorizations, arena)) {
    return 0;
  }
  s2_follow_begin(follow, flow->lambda, false);
  return FLOW_SOLVES;
}

static void flow_keep(Flow *flow, double residual, const S2Quad *v, const double *lambda,
                      S2Quad *v_best, double *lambda_best) {
  const S2System *system = flow->follow.system;
  if (residual < flow->best) {
    flow->best = residual;
    memcpy(lambda_best, lambda, sizeof(double) * (size_t)(2 * system->units));
    memcpy(v_best, v, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  }
}

// Continues by sweeps from the current point.
static double flow_sweep(Flow *flow, double enough, S2Arena *arena) {
  double residual =
      s2_nncg_sweeps(flow->follow.system, FLOW_SWEEPS, enough, flow->v, flow->lambda, arena);
  flow_begin(flow);
  return residual;
}

// Takes over the modes of the step. Returns true if they have hardly changed and have not yet been
// solved exactly.
static bool flow_take_modes(Flow *flow) {
  const S2System *system = flow->follow.system;
  int before = flow->changed;
  flow->changed = 0;
  for (int k = 0; k < system->units; k++) {
    flow->changed += flow->mode[k] != flow->follow.mode[k];
  }
  memcpy(flow->mode, flow->follow.mode, sizeof(S2Mode) * (size_t)system->units);
  memcpy(flow->x, flow->follow.x, sizeof(double) * (size_t)(2 * system->units));
  return flow->changed <= 1 && (flow->changed > 0 || before > 0);
}

// Returns true if the flow is on a ray after a step with this many solves and this residual.
static bool flow_on_ray(Flow *flow, int solves, double residual) {
  bool same = flow->changed == 0 && solves <= FLOW_EASY && !(flow->compliance > FLOW_HARDEST) &&
              residual > FLOW_NEAR && fabs(residual - flow->missed) <= FLOW_SAME * flow->missed;
  flow->steady = same ? flow->steady + 1 : 0;
  flow->missed = residual;
  return flow->steady >= FLOW_RAY;
}

// Returns true if the flow should end without a solution.
static bool flow_in_vain(S2FlowWatch *watch, int taken) {
  if (watch->hopeless != NULL && !watch->asked && (watch->ray || taken > FLOW_ASKS)) {
    watch->asked = true;
    watch->proved = watch->hopeless(watch->user);
  }
  return watch->ray || watch->proved;
}

double s2_flow_solve(S2System *system, int most, bool strictly, double tolerance,
                     S2FlowWatch *watch, S2Quad *v, double *lambda, int *factorizations,
                     S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  Flow flow = flow_make(system, v, lambda, arena);
  int first = *factorizations, last = first + most;
  double end = system->spent + most;
  watch->ray = false;
  while (!(flow.best <= tolerance)) {
    int left = strictly ? (int)(end - system->spent) : last - *factorizations;
    if (left <= 0 || flow_in_vain(watch, *factorizations - first)) {
      break;
    }
    int solves = flow_step(&flow, strictly ? left : INT_MAX, factorizations, arena);
    // If the step failed, shorten the steps and continue from sweeps. If work is limited, skip the
    // sweeps, because they have already used their share of the budget. Until a step has succeeded,
    // sweep only if the shortest step has failed, which would otherwise fail again forever.
    if (solves == 0) {
      bool shortest = !(flow.compliance < FLOW_SOFTEST);
      flow.compliance = fmin(FLOW_SOFTEST, flow.compliance * FLOW_SOFTEN);
      flow.harden = fmax(FLOW_SLOWEST, pow(flow.harden, FLOW_SLOWER));
      flow.good = 0;
      flow.failures++;
      if ((flow.accepted || shortest) && !strictly) {
        double swept = flow_sweep(&flow, S2_SWEPT * tolerance, arena);
        flow_keep(&flow, swept, flow.v, flow.lambda, v, lambda);
      }
      continue;
    }
    flow.accepted = true;
    flow.good++;
    bool stand = flow_take_modes(&flow);
    double residual = s2_system_residual(system, flow.v, flow.lambda, flow.follow.u);
    s2_history_add(system->history, residual, 1, flow.compliance);
    flow_keep(&flow, residual, flow.v, flow.lambda, v, lambda);
    if (!(flow.best <= tolerance) && stand && residual < FLOW_NEAR) {
      memcpy(flow.tried, flow.lambda, sizeof(double) * (size_t)(2 * system->units));
      memcpy(flow.v_tried, flow.v, sizeof(S2Quad) * (size_t)(system->nodes + 1));
      residual = s2_finish_solve(system, FLOW_FINISH, INT_MAX, tolerance, flow.v_tried, flow.tried,
                                 factorizations, arena);
      flow_keep(&flow, residual, flow.v_tried, flow.tried, v, lambda);
    }
    watch->ray = flow_on_ray(&flow, solves, residual);
    // After easy steps, lengthen the steps.
    bool easy = solves <= FLOW_EASY, fair = solves <= 2 * FLOW_EASY && flow.good > 1;
    double harden = easy && flow.good > FLOW_GOOD ? flow.harden * flow.harden
                    : easy || fair                ? flow.harden
                                                  : 1;
    flow.compliance = fmax(flow.compliance / harden, FLOW_HARDEST);
  }
  system->sparse.accurate = false;
  s2_arena_rewind(arena, mark);
  return flow.best;
}
