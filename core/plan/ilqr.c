#include "plan/ilqr.h"

#include "base/memory.h"
#include "plan/backward.h"

#include <math.h>
#include <string.h>

// Limits and factor of the regularisation, as in the code of Tassa (2014). Repeated increases or
// decreases accelerate.
static const double MU_LEAST = 1e-6, MU_MOST = 1e10, MU_FACTOR = 1.6;
static const double ENOUGH = 1e-4; // fraction of the expected decrease that a step must achieve
static const double SHORTER = 0.5; // factor for shortening a step that decreases too little.
// Steps above LONG_STEP reduce the regularisation. Steps below SHORT_STEP increase it.
static const double LONG_STEP = 0.5, SHORT_STEP = 0.25;
enum { SEARCHES = 12 };                 // shortest step: 1/2048 of the full step
static const double PENALTY_START = 10; // initial penalty, in cost per squared unit of the goal
static const double PENALTY_FACTOR = 10, PENALTY_MOST = 1e10;
static const double SETTLING = 1e-4; // update multipliers below this relative change of cost
// A step that lowers the cost by less than this fraction of the expected decrease has overshot the
// minimum, so the regularisation increases.
static const double OVERSHOT = 0.05;
// After a step that hardly lowers the cost, the search goes on if the expected decrease exceeds
// SLACK times the tolerance, but not for more than SLOW such steps in succession.
static const double SLACK = 100;
enum { SLOW = 5 };

typedef struct Path { // a trajectory
  double *u, *x, *y;
  double cost, merit; // merit is the cost including goals
} Path;

struct S2Ilqr {
  S2IlqrDef def;
  S2Arena arena, scratch;
  int knots, n, m, p;
  Path now, seen;             // `seen` is the linearised trajectory, equal to `now` up to rounding
  Path next[S2_MODEL_TRIALS]; // trials of a line search that run at the same time
  S2ModelTrial trial[S2_MODEL_TRIALS];
  bool grows; // true if the cost of a trajectory grows from knot to knot
  double *a, *b, *dy, *lx, *lxx, *lu, *luu, *k, *gain, *work;
  double *lo, *hi;
  double *free, *gradient; // zero weights for commands (m), scratch (knots x m)
  double *multiplier;      // of goals
  double penalty;
  double mu, mu_factor;
  int slow;    // number of successive steps that hardly lowered the cost
  bool sloped; // true if the derivatives belong to `now`
  S2IlqrResult result;
};

static Path ilqr_path(S2Ilqr *ilqr) {
  int knots = ilqr->knots;
  return (Path){.u = S2_TAKE_ZEROED(&ilqr->arena, double, knots * ilqr->m + 1),
                .x = S2_TAKE_ZEROED(&ilqr->arena, double, (knots + 1) * ilqr->n + 1),
                .y = S2_TAKE_ZEROED(&ilqr->arena, double, (knots + 1) * ilqr->p + 1)};
}

static void ilqr_keep_cost(S2Ilqr *ilqr) {
  S2Cost *cost = &ilqr->def.cost;
  S2PlanTerm *terms = S2_TAKE(&ilqr->arena, S2PlanTerm, cost->count + 1);
  for (int i = 0; i < cost->count; i++) {
    terms[i] = cost->terms[i];
    double *goal = S2_TAKE(&ilqr->arena, double, terms[i].count + 1);
    memcpy(goal, cost->terms[i].goal, sizeof(double) * (size_t)terms[i].count);
    terms[i].goal = goal;
  }
  double *controls = S2_TAKE(&ilqr->arena, double, cost->inputs + 1);
  memcpy(controls, cost->controls, sizeof(double) * (size_t)cost->inputs);
  cost->terms = terms;
  cost->controls = controls;
  S2IlqrGoal *goals = S2_TAKE(&ilqr->arena, S2IlqrGoal, ilqr->def.goal_count + 1);
  for (int i = 0; i < ilqr->def.goal_count; i++) {
    goals[i] = ilqr->def.goals[i];
  }
  ilqr->def.goals = goals;
}

// Returns true if no term of the cost can be negative.
static bool ilqr_grows(const S2Ilqr *ilqr) {
  const S2Cost *cost = &ilqr->def.cost;
  bool grows = ilqr->def.goal_count == 0;
  for (int i = 0; i < cost->count; i++) {
    const S2PlanTerm *term = &cost->terms[i];
    grows &= term->norm != S2_NORM_LINEAR && term->weight >= 0 && term->terminal >= 0;
  }
  for (int i = 0; i < cost->inputs; i++) {
    grows &= cost->controls[i] >= 0;
  }
  return grows;
}

S2Status s2_ilqr_new(const S2IlqrDef *def, int knots, S2Ilqr **out) {
  S2Ilqr *ilqr = s2_memory_take_zeroed(sizeof *ilqr);
  ilqr->def = *def;
  s2_arena_init(&ilqr->arena);
  s2_arena_init(&ilqr->scratch);
  S2Arena *arena = &ilqr->arena;
  int n = s2_model_states(def->model), m = s2_model_inputs(def->model);
  int p = s2_model_outputs(def->model);
  ilqr->knots = knots;
  ilqr->n = n;
  ilqr->m = m;
  ilqr->p = p;
  ilqr_keep_cost(ilqr);
  // Allocates the trajectories and all arrays with one entry per knot.
  ilqr->now = ilqr_path(ilqr);
  for (int i = 0; i < S2_MODEL_TRIALS; i++) {
    ilqr->next[i] = ilqr_path(ilqr);
  }
  ilqr->seen = ilqr_path(ilqr);
  ilqr->a = S2_TAKE(arena, double, knots *n *n + 1);
  ilqr->b = S2_TAKE(arena, double, knots *n *m + 1);
  ilqr->dy = S2_TAKE(arena, double, (knots + 1) * p * n + 1);
  ilqr->lx = S2_TAKE(arena, double, (knots + 1) * n + 1);
  ilqr->lxx = S2_TAKE(arena, double, (knots + 1) * n * n + 1);
  ilqr->lu = S2_TAKE(arena, double, knots *m + 1);
  ilqr->luu = S2_TAKE(arena, double, knots *m + 1);
  ilqr->k = S2_TAKE_ZEROED(arena, double, knots *m + 1);
  ilqr->gain = S2_TAKE_ZEROED(arena, double, knots *m *n + 1);
  ilqr->work = S2_TAKE(arena, double, s2_cost_work(&ilqr->def.cost, n));
  ilqr->lo = S2_TAKE(arena, double, m + 1);
  ilqr->hi = S2_TAKE(arena, double, m + 1);
  ilqr->free = S2_TAKE_ZEROED(arena, double, m + 1);
  ilqr->gradient = S2_TAKE(arena, double, knots *m + 1);
  ilqr->multiplier = S2_TAKE_ZEROED(arena, double, def->goal_count + 1);
  ilqr->penalty = PENALTY_START;
  ilqr->mu_factor = 1;
  ilqr->grows = ilqr_grows(ilqr);
  s2_model_range(def->model, ilqr->lo, ilqr->hi);
  *out = ilqr;
  return s2_ok();
}

void s2_ilqr_free(S2Ilqr *ilqr) {
  if (ilqr != NULL) {
    s2_arena_free(&ilqr->arena);
    s2_arena_free(&ilqr->scratch);
    s2_memory_free(ilqr);
  }
}

// ---- The cost of a trajectory -----------------------------------------------------------------

static double ilqr_goal_gap(const S2Ilqr *ilqr, const Path *path, int i) {
  const S2IlqrGoal *goal = &ilqr->def.goals[i];
  return path->y[ilqr->knots * ilqr->p + goal->output] - goal->value;
}

static void ilqr_judge(const S2Ilqr *ilqr, Path *path) {
  double period = s2_model_period(ilqr->def.model), sum = 0;
  for (int i = 0; i < ilqr->knots; i++) {
    sum += s2_cost_stage(&ilqr->def.cost, path->y + (i + 1) * ilqr->p, path->u + i * ilqr->m);
  }
  path->cost = period * sum + s2_cost_stage(&ilqr->def.cost, path->y + ilqr->knots * ilqr->p, NULL);
  path->merit = path->cost;
  for (int i = 0; i < ilqr->def.goal_count; i++) {
    double gap = ilqr_goal_gap(ilqr, path, i);
    path->merit += gap * (ilqr->multiplier[i] + 0.5 * ilqr->penalty * gap);
  }
}

static double ilqr_violation(const S2Ilqr *ilqr, const Path *path) {
  double most = 0;
  for (int i = 0; i < ilqr->def.goal_count; i++) {
    most = fmax(most, fabs(ilqr_goal_gap(ilqr, path, i)));
  }
  return most;
}

// Computes derivatives of `cost`, which may be only a part of the whole cost, at all knots.
static void ilqr_slopes_of(S2Ilqr *ilqr, const S2Cost *cost) {
  int n = ilqr->n, m = ilqr->m, p = ilqr->p;
  double period = s2_model_period(ilqr->def.model);
  memset(ilqr->lx, 0, sizeof(double) * (size_t)((ilqr->knots + 1) * n));
  memset(ilqr->lxx, 0, sizeof(double) * (size_t)((ilqr->knots + 1) * n * n));
  for (int i = 0; i <= ilqr->knots; i++) {
    bool last = i == ilqr->knots;
    // The state at a knot belongs to the period before it. The first state is given and has no
    // cost.
    S2CostSlope slope = {n, ilqr->lx + i * n, ilqr->lxx + i * n * n, ilqr->work};
    const double *y = ilqr->now.y + i * p, *dy = ilqr->dy + i * p * n;
    if (i > 0) {
      s2_cost_slope(cost, y, dy, period, false, &slope);
    }
    if (last) {
      s2_cost_slope(cost, y, dy, 1, true, &slope);
    }
    for (int j = 0; j < m && !last; j++) {
      double weight = period * cost->controls[j];
      ilqr->lu[i * m + j] = weight * ilqr->now.u[i * m + j];
      ilqr->luu[i * m + j] = weight;
    }
  }
}

static void ilqr_cost_slopes(S2Ilqr *ilqr) {
  int n = ilqr->n, p = ilqr->p;
  ilqr_slopes_of(ilqr, &ilqr->def.cost);
  // Add the multiplier and penalty terms of goals.
  double *lx = ilqr->lx + ilqr->knots * n, *lxx = ilqr->lxx + ilqr->knots * n * n;
  for (int g = 0; g < ilqr->def.goal_count; g++) {
    const double *row = ilqr->dy + (ilqr->knots * p + ilqr->def.goals[g].output) * n;
    double force = ilqr->multiplier[g] + ilqr->penalty * ilqr_goal_gap(ilqr, &ilqr->now, g);
    for (int i = 0; i < n; i++) {
      lx[i] += force * row[i];
      for (int j = 0; j < n; j++) {
        lxx[i * n + j] += ilqr->penalty * row[i] * row[j];
      }
    }
  }
}

// ---- An iteration -----------------------------------------------------------------------------

static void ilqr_more(S2Ilqr *ilqr) {
  ilqr->mu_factor = fmax(MU_FACTOR, ilqr->mu_factor * MU_FACTOR);
  ilqr->mu = fmax(MU_LEAST, ilqr->mu * ilqr->mu_factor);
}

static void ilqr_less(S2Ilqr *ilqr) {
  ilqr->mu_factor = fmin(1 / MU_FACTOR, ilqr->mu_factor / MU_FACTOR);
  ilqr->mu = ilqr->mu * ilqr->mu_factor;
  ilqr->mu = ilqr->mu < MU_LEAST ? 0 : ilqr->mu;
}

static S2Status ilqr_slopes(S2Ilqr *ilqr) {
  if (ilqr->sloped) {
    return s2_ok();
  }
  S2ModelSlope slope = {ilqr->a, ilqr->b, ilqr->dy, 0};
  S2_TRY(s2_model_linearize(ilqr->def.model, ilqr->now.u, ilqr->seen.x, ilqr->seen.y, &slope));
  ilqr->result.flags |= slope.flags;
  ilqr->sloped = true;
  return s2_ok();
}

static bool ilqr_backward(S2Ilqr *ilqr, double dv[2]) {
  int at;
  s2_arena_reset(&ilqr->scratch);
  S2Backward problem = {ilqr->knots, ilqr->n,   ilqr->m,  ilqr->a,   ilqr->b,
                        ilqr->lx,    ilqr->lxx, ilqr->lu, ilqr->luu, ilqr->now.u,
                        ilqr->lo,    ilqr->hi,  ilqr->mu};
  return s2_backward(&problem, &ilqr->scratch, ilqr->k, ilqr->gain, dv, &at);
}

// Computes gains at all knots, with as much regularisation as necessary.
static bool ilqr_directions(S2Ilqr *ilqr, double dv[2]) {
  while (!ilqr_backward(ilqr, dv)) {
    ilqr_more(ilqr);
    if (ilqr->mu > MU_MOST) {
      return false;
    }
  }
  return true;
}

// Makes a trial the current trajectory if it has derivatives. It has none if bodies rotate too far
// in a step.
static bool ilqr_take(S2Ilqr *ilqr, int k) {
  Path before = ilqr->now;
  ilqr->now = ilqr->next[k];
  ilqr->next[k] = before;
  ilqr->sloped = false;
  s2_model_choose(ilqr->def.model, &ilqr->trial[k], k);
  if (ilqr_slopes(ilqr).code == S2_OK) {
    return true;
  }
  ilqr->next[k] = ilqr->now;
  ilqr->now = before;
  return false;
}

// Ends a trial that already costs more than the present trajectory.
static bool ilqr_ends(void *user, S2ModelTrial *trial, const double *y, const double *u) {
  const S2Ilqr *ilqr = user;
  trial->sum += s2_model_period(ilqr->def.model) * s2_cost_stage(&ilqr->def.cost, y, u);
  return trial->sum > ilqr->now.merit;
}

// Runs `count` trials, of which the first takes this step.
static void ilqr_try(S2Ilqr *ilqr, double step, int count) {
  S2Feedback feedback = {ilqr->now.x, ilqr->k, ilqr->gain};
  for (int k = 0; k < count; k++) {
    const Path *next = &ilqr->next[k];
    memcpy(next->u, ilqr->now.u, sizeof(double) * (size_t)(ilqr->knots * ilqr->m));
    ilqr->trial[k] = (S2ModelTrial){.u = next->u, .x = next->x, .y = next->y, .step = step};
    step *= SHORTER;
  }
  s2_model_try(ilqr->def.model, &feedback, ilqr->grows ? ilqr_ends : NULL, ilqr, ilqr->trial,
               count);
}

// Shortens the step until it lowers the cost enough, and takes it. Returns the step, or 0 if no
// step succeeds. Several steps are tried at the same time, and the longest one that succeeds
// counts.
static double ilqr_search(S2Ilqr *ilqr, const double dv[2]) {
  double step = 1;
  for (int i = 0; i < SEARCHES;) {
    int trials = s2_model_trials(ilqr->def.model);
    int count = SEARCHES - i < trials ? SEARCHES - i : trials;
    ilqr_try(ilqr, step, count);
    for (int k = 0; k < count; k++, i++, step *= SHORTER) {
      if (!ilqr->trial[k].good) {
        continue;
      }
      ilqr_judge(ilqr, &ilqr->next[k]);
      double expected = -(step * dv[0] + step * step * dv[1]);
      bool falls = ilqr->now.merit - ilqr->next[k].merit >= ENOUGH * expected && expected > 0;
      if (falls && ilqr_take(ilqr, k)) {
        return step;
      }
    }
  }
  return 0;
}

// Updates the multipliers of goals after the inner problem has converged, or ends the solve.
static S2IlqrState ilqr_settled(S2Ilqr *ilqr, double violation) {
  if (ilqr->def.goal_count == 0 || violation <= ilqr->def.violation) {
    return S2_ILQR_CONVERGED;
  }
  if (ilqr->penalty >= PENALTY_MOST) {
    return S2_ILQR_STUCK;
  }
  for (int i = 0; i < ilqr->def.goal_count; i++) {
    ilqr->multiplier[i] += ilqr->penalty * ilqr_goal_gap(ilqr, &ilqr->now, i);
  }
  ilqr->penalty = fmin(PENALTY_MOST, ilqr->penalty * PENALTY_FACTOR);
  ilqr->slow = 0;
  ilqr->mu = 0;
  ilqr->mu_factor = 1;
  ilqr_judge(ilqr, &ilqr->now);
  return S2_ILQR_GOING;
}

// Returns true if a step that lowered the cost by `change` ends the inner problem.
static bool ilqr_settles(S2Ilqr *ilqr, double change, double expected, double size) {
  bool goals = ilqr->def.goal_count > 0 && ilqr_violation(ilqr, &ilqr->now) > ilqr->def.violation;
  double least = (goals ? SETTLING : ilqr->def.tolerance) * size;
  ilqr->slow = change <= least ? ilqr->slow + 1 : 0;
  return ilqr->slow > 0 && (expected <= SLACK * least || ilqr->slow >= SLOW);
}

void s2_ilqr_forget(S2Ilqr *ilqr) {
  memset(ilqr->multiplier, 0, sizeof(double) * (size_t)ilqr->def.goal_count);
  ilqr->penalty = PENALTY_START;
}

S2Status s2_ilqr_set(S2Ilqr *ilqr, const double *u, S2IlqrResult *result) {
  // Clip commands to the ranges of the actuators.
  for (int i = 0; i < ilqr->knots * ilqr->m; i++) {
    int j = i % ilqr->m;
    ilqr->now.u[i] = u[i] < ilqr->lo[j] ? ilqr->lo[j] : u[i] > ilqr->hi[j] ? ilqr->hi[j] : u[i];
  }
  ilqr->sloped = false;
  ilqr->mu = 0;
  ilqr->mu_factor = 1;
  ilqr->slow = 0;
  S2_TRY(s2_model_run(ilqr->def.model, ilqr->now.u, NULL, false, ilqr->now.x, ilqr->now.y));
  ilqr_judge(ilqr, &ilqr->now);
  ilqr->result =
      (S2IlqrResult){.cost = ilqr->now.cost, .violation = ilqr_violation(ilqr, &ilqr->now)};
  *result = ilqr->result;
  return s2_ok();
}

S2Status s2_ilqr_follow(S2Ilqr *ilqr, const double *u, const double *x, const double *gain,
                        S2IlqrResult *result) {
  // Leave the planned controls unchanged and apply only the feedback.
  S2Feedback feedback = {x, NULL, gain};
  const Path *next = &ilqr->next[0];
  memcpy(next->u, u, sizeof(double) * (size_t)(ilqr->knots * ilqr->m));
  S2Status status = s2_model_run(ilqr->def.model, next->u, &feedback, false, next->x, next->y);
  return s2_ilqr_set(ilqr, status.code == S2_OK ? next->u : u, result);
}

// Computes the derivative of the cost with respect to u at all knots from the current slopes.
// Resets the scratch memory.
static void ilqr_adjoint(S2Ilqr *ilqr, double *gradient) {
  int n = ilqr->n, m = ilqr->m;
  s2_arena_reset(&ilqr->scratch);
  double *way = S2_TAKE(&ilqr->scratch, double, n + 1);
  double *before = S2_TAKE(&ilqr->scratch, double, n + 1);
  // Compute the derivative of the cost-to-go with respect to the state, from the end to the start.
  memcpy(way, ilqr->lx + ilqr->knots * n, sizeof(double) * (size_t)n);
  for (int knot = ilqr->knots - 1; knot >= 0; knot--) {
    const double *a = ilqr->a + knot * n * n, *b = ilqr->b + knot * n * m;
    for (int j = 0; j < m; j++) {
      double sum = ilqr->lu[knot * m + j];
      for (int i = 0; i < n; i++) {
        sum += b[i * m + j] * way[i];
      }
      gradient[knot * m + j] = sum;
    }
    for (int i = 0; i < n; i++) {
      before[i] = ilqr->lx[knot * n + i];
      for (int k = 0; k < n; k++) {
        before[i] += a[k * n + i] * way[k];
      }
    }
    memcpy(way, before, sizeof(double) * (size_t)n);
  }
}

S2Status s2_ilqr_gradient(S2Ilqr *ilqr, double *gradient) {
  S2_TRY(ilqr_slopes(ilqr));
  ilqr_slopes_of(ilqr, &ilqr->def.cost);
  ilqr_adjoint(ilqr, gradient);
  return s2_ok();
}

S2Status s2_ilqr_terms(S2Ilqr *ilqr, double *value, double *slope) {
  S2_TRY(ilqr_slopes(ilqr));
  int knots = ilqr->knots, p = ilqr->p, numbers = knots * ilqr->m;
  double period = s2_model_period(ilqr->def.model);
  for (int i = 0; i < ilqr->def.cost.count; i++) {
    // Evaluate the term alone. `now.u` has no effect, because the weights of commands are 0.
    S2Cost one = {ilqr->def.cost.terms + i, 1, ilqr->free, ilqr->m};
    value[i] = s2_cost_stage(&one, ilqr->now.y + knots * p, NULL);
    for (int k = 1; k <= knots; k++) {
      value[i] += period * s2_cost_stage(&one, ilqr->now.y + k * p, ilqr->now.u);
    }
    ilqr_slopes_of(ilqr, &one);
    ilqr_adjoint(ilqr, ilqr->gradient);
    slope[i] = 0;
    for (int k = 0; k < numbers; k++) {
      slope[i] = fmax(slope[i], fabs(ilqr->gradient[k]));
    }
  }
  return s2_ok();
}

S2Status s2_ilqr_iterate(S2Ilqr *ilqr, S2IlqrResult *result) {
  double dv[2];
  S2IlqrResult *r = &ilqr->result;
  S2_TRY(ilqr_slopes(ilqr));
  ilqr_cost_slopes(ilqr);
  r->iterations++;
  r->threads = s2_model_threads(ilqr->def.model);
  r->step = 0;
  r->state = S2_ILQR_GOING;
  bool descends = ilqr_directions(ilqr, dv);
  double expected = descends ? -(dv[0] + dv[1]) : 0;
  double before = ilqr->now.merit, size = fabs(before) + ilqr->def.tolerance;
  // The trajectory has converged for these multipliers, because no decrease is expected.
  bool settled = descends && expected <= ilqr->def.tolerance * size && ilqr->mu == 0;
  if (descends && !settled) {
    r->step = ilqr_search(ilqr, dv);
    if (r->step > 0) {
      double change = before - ilqr->now.merit;
      bool overshot = change < OVERSHOT * -(r->step * dv[0] + r->step * r->step * dv[1]);
      if (overshot || r->step < SHORT_STEP) {
        ilqr_more(ilqr);
      } else if (r->step >= LONG_STEP) {
        ilqr_less(ilqr);
      }
      settled = ilqr_settles(ilqr, change, expected, size);
    } else {
      ilqr_more(ilqr);
    }
  }
  if (!descends || ilqr->mu > MU_MOST) {
    r->state = S2_ILQR_STUCK;
  }
  r->violation = ilqr_violation(ilqr, &ilqr->now);
  if (settled) {
    r->state = ilqr_settled(ilqr, r->violation);
  }
  r->cost = ilqr->now.cost;
  r->mu = ilqr->mu;
  *result = *r;
  return s2_ok();
}

S2Status s2_ilqr_gains(S2Ilqr *ilqr, double *expected) {
  double dv[2], mu = ilqr->mu, factor = ilqr->mu_factor;
  S2_TRY(ilqr_slopes(ilqr));
  ilqr_cost_slopes(ilqr);
  // Predict without regularisation, and compute the gains with that of the last iteration.
  ilqr->mu = 0;
  bool plain = ilqr_directions(ilqr, dv);
  bool same = plain && ilqr->mu == mu;
  *expected = plain ? -(dv[0] + dv[1]) / (fabs(ilqr->now.merit) + ilqr->def.tolerance) : INFINITY;
  ilqr->mu = mu;
  ilqr->mu_factor = factor;
  return same || ilqr_directions(ilqr, dv)
             ? s2_ok()
             : s2_error(S2_UNSOLVED, "gains: the cost is not convex in the controls");
}

S2IlqrPlan s2_ilqr_plan(const S2Ilqr *ilqr) {
  return (S2IlqrPlan){ilqr->knots, ilqr->n,     ilqr->m,     ilqr->p,
                      ilqr->now.u, ilqr->now.x, ilqr->now.y, ilqr->gain};
}
