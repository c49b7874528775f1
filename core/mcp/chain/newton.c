// Proximal semismooth Newton on the law of Alart and Curnier (1991). Given the impulses `anchor` of
// the last outer step and a weight sigma, the law of a row gives impulses for any velocity:
//
//     x = max(0, anchor_n - sigma u_n),  y = clip(anchor_t - sigma u_t, -mu x, mu x)
//
// Newton solves v = A (c + J' lambda(v)) with a line search. If anchor = lambda, this is the
// original problem, so each outer step moves the anchor to lambda. Hyperstatic contacts need no
// special treatment, because the method finds the multipliers nearest to the anchor.
//
// The weight adapts. With a large weight few outer steps are needed, but Newton may oscillate when
// contacts slide, because the problem is then not monotone. With a small weight, W dominates the
// inner problem, which can then always be solved. Therefore the weight grows while Newton needs few
// steps and shrinks when Newton fails. This method solves violent states, such as a touching pile
// with random velocities, at which the interior-point method stalls.
#include "mcp/chain/pdipm_stages.h"

#include <math.h>
#include <string.h>

// A step must achieve this fraction of the predicted decrease.
static const double SUFFICIENT = 0.1;
// After this number of halvings, take the step with the smallest merit.
enum { HALVINGS = 8 };

// Factors by which the weight grows and shrinks. They were tuned on pyramids and piles of discs:
// twice the growth or half the shrinkage solves 1 to 3 % fewer problems.
static const double GROW = 1.5, SHRINK = 3;
// Largest weight. Larger weights lose digits to rounding and save no outer steps.
static const double SIGMA_MOST = 1e6;
static const double SIGMA_LEAST = 0.3; // smallest weight, at which inner problems are almost linear
enum { FEW_STEPS = 2, SOME_STEPS = 4 };

// An inner problem is solved only to this fraction of the whole residual, because its solution is
// provisional.
static const double INNER_ACCURACY = 0.05;

// Gauss-Seidel sweeps move the point away after this many consecutive failures. The first failure
// only reduces the weight, because sweeps undo much progress.
enum { STIR_AFTER = 2, STIR_SWEEPS = 20 };

const S2NewtonWay s2_newton_cold = {.weight = 10,
                                    .outers = 12,
                                    .inners = 8,
                                    .follow_after = 50,
                                    .follow_segments = 400,
                                    .most = S2_NEWTON_MOST};

typedef struct Newton {
  S2System *system;
  S2Quad *v, *imbalance, *dv;
  double *lambda, *anchor, *u, *du;
  S2Response *response;
  S2Mode *mode, *mode_before;
  S2Quad *at, *next; // velocities at the anchor, and current velocities of the inner problem
  bool tried;        // true if the equations of mode_before have been solved exactly
  int failures;      // consecutive failures of the inner problem
} Newton;

static Newton newton_make(S2System *system, S2Arena *arena) {
  int n = system->nodes + 1, units = system->units;
  return (Newton){
      .system = system,
      .v = S2_TAKE_ZEROED(arena, S2Quad, n),
      .imbalance = S2_TAKE(arena, S2Quad, n),
      .dv = S2_TAKE_ZEROED(arena, S2Quad, n),
      .lambda = S2_TAKE(arena, double, 2 * units),
      .anchor = S2_TAKE(arena, double, 2 * units),
      .u = S2_TAKE(arena, double, 2 * units),
      .du = S2_TAKE(arena, double, 2 * units),
      .response = S2_TAKE(arena, S2Response, units),
      .mode = S2_TAKE(arena, S2Mode, units),
      .mode_before = S2_TAKE(arena, S2Mode, units),
      .at = S2_TAKE_ZEROED(arena, S2Quad, n),
      .next = S2_TAKE_ZEROED(arena, S2Quad, n),
  };
}

static void newton_copy_point(const S2System *system, S2Quad *v, double *lambda,
                              const S2Quad *v_from, const double *lambda_from) {
  memcpy(v, v_from, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  memcpy(lambda, lambda_from, sizeof(double) * (size_t)(2 * system->units));
}

// ---- The law ----------------------------------------------------------------------------------

// Computes the impulses, the mode and the response of one unit at row velocities u = J v.
static S2Mode newton_apply_law(const S2Unit *unit, double sigma, const double *u,
                               const double *anchor, double *lambda, S2Response *d) {
  // Compute the impulse without bounds, including the compliance of the row.
  double kn = sigma / (1 + sigma * unit->c[0]), kt = sigma / (1 + sigma * unit->c[1]);
  double x = (anchor[0] - sigma * (u[0] + unit->b0[0])) / (1 + sigma * unit->c[0]);
  double y = (anchor[1] - sigma * (u[1] + unit->b0[1])) / (1 + sigma * unit->c[1]);
  S2Mode mode = S2_STICK;
  *d = (S2Response){.nn = kn, .tt = unit->rows == 2 ? kt : 0};
  // For boxed rows, clip the impulse to its bounds.
  if (unit->kind == S2_UNIT_BOX) {
    double free = x;
    x = s2_unit_clip(unit, free);
    mode = x < free ? S2_SLIDE_PLUS : x > free ? S2_SLIDE_MINUS : S2_STICK;
    d->nn = mode == S2_STICK ? kn : 0;
  } else if (unit->kind != S2_UNIT_BILATERAL) {
    // For contacts, clip the normal impulse at 0, then clip the friction impulse to the cone of the
    // new normal impulse.
    double bound = unit->mu * x;
    if (!(x > 0)) {
      x = y = 0;
      mode = S2_SEPARATE;
      *d = (S2Response){0};
    } else if (unit->kind == S2_UNIT_NORMAL) {
      y = 0;
    } else if (y > bound) {
      y = bound;
      mode = S2_SLIDE_PLUS;
      *d = (S2Response){.nn = kn, .tn = unit->mu * kn};
    } else if (y < -bound) {
      y = -bound;
      mode = S2_SLIDE_MINUS;
      *d = (S2Response){.nn = kn, .tn = -unit->mu * kn};
    }
  }
  lambda[0] = x;
  lambda[1] = unit->rows == 2 ? y : 0;
  return mode;
}

// Evaluates the law of all units at v + step dv (u and du are their row velocities). Returns the
// merit |v - A (c + J' lambda)|^2 in the norm of W, and updates imbalance, lambda, mode and
// response.
static double newton_evaluate(Newton *newton, double sigma, const S2Quad *v, double step) {
  S2System *system = newton->system;
  // Compute the impulses that the law gives at v + step dv.
  for (int k = 0; k < system->units; k++) {
    double u[2] = {newton->u[2 * k] + step * newton->du[2 * k],
                   newton->u[2 * k + 1] + step * newton->du[2 * k + 1]};
    newton->mode[k] = newton_apply_law(&system->unit[k], sigma, u, newton->anchor + 2 * k,
                                       newton->lambda + 2 * k, &newton->response[k]);
  }
  // Compute the imbalance of the nodes as an energy.
  double merit = 0;
  for (int i = 0; i <= system->nodes; i++) {
    newton->v[i] = v[i] + step * newton->dv[i];
  }
  s2_system_imbalance(system, newton->v, newton->lambda, newton->imbalance);
  for (int i = 0; i < system->nodes; i++) {
    S2Quad f = newton->imbalance[i] * newton->imbalance[i] * system->weight[i];
    merit += f[0] + f[1] + f[2];
  }
  return merit;
}

static bool any_sliding(const Newton *newton) {
  for (int k = 0; k < newton->system->units; k++) {
    if (newton->mode[k] >= S2_SLIDE_PLUS) {
      return true;
    }
  }
  return false;
}

static double newton_largest_imbalance(const Newton *newton) {
  double worst = 0;
  for (int i = 0; i < newton->system->nodes; i++) {
    S2Quad f = newton->imbalance[i];
    worst = fmax(worst,
                 fmax(fabs(f[0]) * newton->system->problem->length, fmax(fabs(f[1]), fabs(f[2]))));
  }
  return worst;
}

// Halves the step until the merit decreases enough. If it never does, takes the step with the
// smallest merit.
static double newton_search(Newton *newton, double sigma, const S2Quad *v, double merit,
                            double *taken) {
  double step = 1, best = 1, least = INFINITY;
  for (int halvings = 0; halvings < HALVINGS; halvings++, step /= 2) {
    double now = newton_evaluate(newton, sigma, v, step);
    if (now < merit * (1 - SUFFICIENT * step)) {
      *taken = step;
      return now;
    }
    if (now < least) {
      least = now;
      best = step;
    }
  }
  *taken = best;
  return newton_evaluate(newton, sigma, v, best);
}

// ---- Newton -----------------------------------------------------------------------------------

// Takes Newton steps from `v` at the given anchor until the largest imbalance is at most `enough`.
// Returns false if that fails. Writes the impulses to `lambda`.
static bool newton_solve_inner(Newton *newton, double sigma, int inners, double enough, S2Quad *v,
                               int *factorizations) {
  S2System *system = newton->system;
  // Evaluate the law at v, without a step.
  memset(newton->dv, 0, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  memset(newton->du, 0, sizeof(double) * (size_t)(2 * system->units));
  s2_system_row_velocity(system, v, newton->u);
  double merit = newton_evaluate(newton, sigma, v, 0);
  // Solve K dv = -(v - A (c + J' lambda(v))), then search along dv for a smaller merit.
  for (int i = 0; i < inners && !(newton_largest_imbalance(newton) <= enough); i++) {
    (*factorizations)++;
    if (!s2_system_factor(system, newton->response, any_sliding(newton))) {
      return false;
    }
    s2_system_solve(system, newton->imbalance, newton->dv);
    for (int k = 0; k < system->nodes; k++) {
      newton->dv[k] = -newton->dv[k];
    }
    s2_system_row_velocity(system, newton->dv, newton->du);
    double step, now = newton_search(newton, sigma, v, merit, &step);
    memcpy(v, newton->v, sizeof(S2Quad) * (size_t)(system->nodes + 1));
    // Compute the residual of the whole problem, which only the history needs.
    if (system->history != NULL) {
      s2_history_add(system->history, s2_system_residual(system, v, newton->lambda, newton->u),
                     step, 0);
    }
    s2_system_row_velocity(system, v, newton->u);
    if (!(now < merit)) {
      break;
    }
    merit = now;
  }
  return newton_largest_imbalance(newton) <= enough;
}

// Solves the equations of the anchor's modes exactly if the same modes have occurred in two
// consecutive outer steps. Tries each set of modes only once.
static double try_modes(Newton *newton, double best, S2Quad *v, double *lambda, int *factorizations,
                        S2Arena *arena) {
  S2System *system = newton->system;
  s2_refine_modes(system, newton->u, newton->anchor, newton->mode);
  // Try modes that occur in two consecutive outer steps, and try them only once.
  size_t size = sizeof(S2Mode) * (size_t)system->units;
  if (memcmp(newton->mode, newton->mode_before, size) != 0) {
    memcpy(newton->mode_before, newton->mode, size);
    newton->tried = false;
    return best;
  }
  if (newton->tried) {
    return best;
  }
  newton->tried = true;
  // Solve in the memory of the inner problem. Keep the result if it is the best so far.
  newton_copy_point(system, newton->v, newton->lambda, newton->at, newton->anchor);
  double residual =
      s2_refine_solve(system, newton->mode, newton->v, newton->lambda, factorizations, arena);
  if (!(residual < best)) {
    return best;
  }
  newton_copy_point(system, v, lambda, newton->v, newton->lambda);
  return residual;
}

// Makes one outer step. Returns false if its inner problem is not solved.
static bool newton_step(Newton *newton, double sigma, int inners, double enough, int follow,
                        int *factorizations, S2Arena *arena) {
  S2System *system = newton->system;
  memcpy(newton->next, newton->at, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  if (newton_solve_inner(newton, sigma, inners, enough, newton->next, factorizations)) {
    newton_copy_point(system, newton->at, newton->anchor, newton->next, newton->lambda);
    return true;
  }
  S2FollowStart start = {.weight = sigma, .segments = follow};
  return follow > 0 &&
         s2_follow_solve(system, &start, newton->at, newton->anchor, factorizations, arena);
}

double s2_newton_solve(S2System *system, const S2NewtonWay *way, double tolerance, S2Quad *v,
                       double *lambda, int *factorizations, S2Arena *arena) {
  // The anchor starts at the guess.
  S2ArenaMark mark = s2_arena_mark(arena);
  Newton newton = newton_make(system, arena);
  double best = s2_system_residual(system, v, lambda, newton.u), now = best;
  newton_copy_point(system, newton.at, newton.anchor, v, lambda);
  s2_refine_modes(system, newton.u, lambda, newton.mode_before);
  int last = *factorizations + way->most;
  double sigma = way->weight;
  // Each outer step solves the inner problem, moves the anchor to its solution and adapts the
  // weight.
  for (int outer = 0; outer < way->outers && *factorizations < last && !(best <= tolerance);
       outer++) {
    int before = *factorizations;
    double enough = fmax(tolerance / 5, INNER_ACCURACY * fmin(now, 1));
    int follow = outer >= way->follow_after ? way->follow_segments : 0;
    // If the inner problem is solved, measure the residual and try the modes of this point.
    if (newton_step(&newton, sigma, way->inners, enough, follow, factorizations, arena)) {
      now = s2_system_residual(system, newton.at, newton.anchor, newton.u);
      if (now < best) {
        best = now;
        newton_copy_point(system, v, lambda, newton.at, newton.anchor);
      }
      if (best > tolerance) {
        best = try_modes(&newton, best, v, lambda, factorizations, arena);
      }
      // If the step took few factorisations, increase the weight to save outer steps.
      int steps = *factorizations - before;
      double growth = steps <= FEW_STEPS ? GROW * GROW : steps <= SOME_STEPS ? GROW : 1;
      sigma = fmin(SIGMA_MOST, sigma * growth);
      newton.failures = 0;
    } else {
      // The inner problem was not solved, so reduce the weight. After repeated failures, move away
      // by sweeps.
      sigma = fmax(SIGMA_LEAST, sigma / SHRINK);
      if (++newton.failures >= STIR_AFTER) {
        now = s2_pgs_solve(system, STIR_SWEEPS, newton.at, newton.anchor, arena);
      }
    }
  }
  s2_arena_rewind(arena, mark);
  return best;
}
