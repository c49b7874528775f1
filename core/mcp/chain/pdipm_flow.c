// Endless sweeps of Gauss-Seidel approximate a flow whose attractors are solutions. Its long smooth
// stretches end where single contacts snap. A proximal step with compliance e is an implicit Euler
// step of length 1 / e along the flow. Each step is solved by a few undamped mode changes or,
// across a snap, by path following from the step before. If both fail, sweeps from the present
// point continue the flow, across snaps if necessary.
#include "mcp/chain/pdipm_follow.h"

#include <limits.h>
#include <math.h>
#include <string.h>

// Compliances of the flow, scaled: the first, the largest and the smallest; the factor by which
// they rise after a failed step, and by which they fall at first. A failed step costs as much as
// ten successful ones. So each failure reduces the rate of the fall, down to FLOW_SLOWEST; long
// flows then need a third less time.
static const double FLOW_BEGIN = 1e-2, FLOW_SOFTEST = 0.3, FLOW_HARDEST = 1e-9, FLOW_SOFTEN = 10,
                    FLOW_HARDEN = 3, FLOW_SLOWER = 0.8, FLOW_SLOWEST = 1.3;
// Paths are checked (S2FollowStart.looks) until this many steps have failed. Later paths pass
// through folds.
enum { FLOW_LOOKS = 20 };
// Residual below which the present modes are tried for an exact solution. Above that residual the
// modes are seldom right.
static const double FLOW_NEAR = 1e-5;
// Solves of an easy step, and easy steps in a row; mode changes of a step, segments of a path
// across a snap, and of the finish.
enum { FLOW_EASY = 2, FLOW_GOOD = 3 };
enum { FLOW_SOLVES = 8, FLOW_SEGMENTS = 40, FLOW_FINISH = 2 };
// Sweeps after a failed step, whose path has taken some 10 factorisations; the sweeps take a fifth
// of that time. They solve 70 of the 141 problems at which this flow fails without them. For 368
// first solves of pours they save the flow a quarter of its factorisations. 100 sweeps are too few;
// 300 take more time than they save.
enum { FLOW_SWEEPS = 200 };
// FLOW_RAY: steps of the largest length in the same modes, with residuals that agree to within
// FLOW_SAME, after which the flow is on a ray. The impulses are then so large that their initial
// values do not matter, and the modes stay. FLOW_ASKS: factorisations after which the flow asks
// whether there is a solution at all.
enum { FLOW_RAY = 10, FLOW_ASKS = 200 };
static const double FLOW_SAME = 1e-2;

typedef struct Flow {
  S2Follow follow;
  double *x, *lambda, *tried; // of the present point; of an exact attempt
  S2Quad *v, *v_tried;
  S2Mode *mode;
  double compliance, harden, best;
  bool accepted;     // whether a step has succeeded
  int good, changed; // successful steps in a row; modes that the last one changed
  int failures;      // failed steps
  int steady;        // consecutive steps that may be on a ray
  double missed;     // residual after the last of them
} Flow;

// Starts at its point, with the modes that the impulses there show.
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

// One proximal step from the present point with up to about `most` factorisations. Returns the
// number of solves, or 0 after a failure.
static int flow_step(Flow *flow, int most, int *factorizations, S2Arena *arena) {
  S2Follow *follow = &flow->follow;
  S2System *system = follow->system;
  size_t rows = sizeof(double) * (size_t)(2 * system->units);
  // From the last modes by undamped changes ...
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
  // ... otherwise along the path from the last point, if that belongs to the flow.
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

// Continues by sweeps from the present point.
static double flow_sweep(Flow *flow, double enough, S2Arena *arena) {
  double residual =
      s2_nncg_sweeps(flow->follow.system, FLOW_SWEEPS, enough, flow->v, flow->lambda, arena);
  flow_begin(flow);
  return residual;
}

// Takes the modes of the step. True: the modes have not changed, and have not been solved exactly
// yet.
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

// Whether the flow is on a ray after a step with this many solves and this residual.
static bool flow_on_ray(Flow *flow, int solves, double residual) {
  bool same = flow->changed == 0 && solves <= FLOW_EASY && !(flow->compliance > FLOW_HARDEST) &&
              residual > FLOW_NEAR && fabs(residual - flow->missed) <= FLOW_SAME * flow->missed;
  flow->steady = same ? flow->steady + 1 : 0;
  flow->missed = residual;
  return flow->steady >= FLOW_RAY;
}

// Whether the flow should end without a solution.
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
    // Failed: shorten the steps, and continue from sweeps (unless work is counted, because sweeps
    // have then had their share). At the start, the shortest step would be repeated without end.
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
    // Easy steps: lengthen them.
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
