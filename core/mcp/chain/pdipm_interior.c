// The primal-dual interior-point method for the step problem: its starting points and its stopping
// criteria. A single step is in pdipm_step.c.
#include "mcp/chain/pdipm_stages.h"
#include "mcp/chain/pdipm_step.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

// Progress is unlikely after this many iterations that do not halve the complementarity.
enum { STALL = 12 };

static const double EXHAUSTED = 1e-14; // Mean complementarity below which rounding dominates.

// ---- Starting points --------------------------------------------------------------------------

static void start_cold(S2Interior *ip, const S2InteriorStart *start) {
  S2Rng rng = s2_rng_seeded(start->seed);
  // All pairs start with the same values, multiplied by random factors if a start has failed
  // before.
  for (int k = 0; k < 4 * ip->system->units; k++) {
    double a = 1, b = 1;
    if (start->spread > 0) {
      a = exp(start->spread * (2 * s2_rng_uniform(&rng) - 1));
      b = exp(start->spread * (2 * s2_rng_uniform(&rng) - 1));
    }
    ip->z[k] = start->impulse * a;
    ip->s[k] = start->velocity * b;
  }
  for (int k = 0; k < ip->system->units; k++) {
    const S2Unit *unit = &ip->system->unit[k];
    if (unit->kind == S2_UNIT_BOX) { // the distances from the two bounds add up to the width
      ip->z[4 * k] = ip->z[4 * k + 1] = (unit->hi - unit->lo) / 2;
    }
  }
}

static void start_warm(S2Interior *ip, const S2InteriorStart *start, const S2Quad *v,
                       const double *lambda) {
  const S2System *system = ip->system;
  memcpy(ip->v, v, sizeof(S2Quad) * (size_t)system->nodes);
  memcpy(ip->lambda, lambda, sizeof(double) * (size_t)(2 * system->units));
  s2_system_row_velocity(system, v, ip->u);
  // Set the pairs from the impulses and velocities of the guess, but not below the floor.
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    double n = lambda[2 * k], t = lambda[2 * k + 1];
    double un = ip->u[2 * k] + unit->c[0] * n + unit->b0[0];
    double ut = ip->u[2 * k + 1] + unit->c[1] * t + unit->b0[1], speed = fabs(ut);
    // The three pairs of the friction cone share the slack, so that none of them starts at the
    // boundary.
    double slack = fmax(0, unit->mu * n - fabs(t));
    double z[4] = {n, fmax(t, 0) + slack / 4, fmax(-t, 0) + slack / 4, speed};
    double s[4] = {un, speed + ut, speed - ut, slack / 2};
    for (int i = 0; i < 4; i++) {
      ip->z[4 * k + i] = fmax(z[i], start->floor);
      ip->s[4 * k + i] = fmax(s[i], start->floor);
    }
    // The distances of a boxed row from its two bounds add up to its width, so the floor is limited
    // to a fraction of the width.
    if (unit->kind == S2_UNIT_BOX) {
      double width = unit->hi - unit->lo, least = fmin(start->floor, width / 4);
      double inside = fmax(least, fmin(width - least, n - unit->lo));
      ip->z[4 * k] = inside;
      ip->z[4 * k + 1] = width - inside;
      ip->s[4 * k] = fmax(un, start->floor);
      ip->s[4 * k + 1] = fmax(-un, start->floor);
    }
  }
}

// Progress of the iterations. v and lambda are the caller's arrays and hold the best point so far.
typedef struct Progress {
  S2Quad *v;
  double *lambda, best;
  S2Mode *mode, *mode_before;
  bool tried; // true if the equations of the current modes have been solved
} Progress;

static void keep_if_better(const S2Interior *ip, Progress *progress, double residual) {
  const S2System *system = ip->system;
  if (!(residual >= progress->best)) {
    progress->best = residual;
    memcpy(progress->v, ip->v, sizeof(S2Quad) * (size_t)(system->nodes + 1));
    memcpy(progress->lambda, ip->lambda, sizeof(double) * (size_t)(2 * system->units));
  }
}

// Modes that occur in two consecutive iterations are most likely the modes of the solution. One
// more factorisation then solves their equations exactly. This avoids the last iterations, which
// may fail if rows are weakly active.
static void interior_cross_over(S2Interior *ip, Progress *progress, int *factorizations,
                                S2Arena *arena) {
  S2System *system = ip->system;
  s2_refine_modes(system, ip->u, ip->lambda, progress->mode);
  bool same =
      memcmp(progress->mode, progress->mode_before, sizeof(S2Mode) * (size_t)system->units) == 0;
  // The modes differ from the last modes and have not been tried.
  if (!same) {
    progress->tried = false;
    S2Mode *other = progress->mode_before;
    progress->mode_before = progress->mode;
    progress->mode = other;
  } else if (!progress->tried) {
    progress->tried = true;
    // The same modes occurred twice. Solve their equations in a copy, and keep the result if it is
    // the best point.
    S2ArenaMark mark = s2_arena_mark(arena);
    S2Quad *v = S2_TAKE(arena, S2Quad, system->nodes + 1);
    double *lambda = S2_TAKE(arena, double, 2 * system->units);
    memcpy(v, ip->v, sizeof(S2Quad) * (size_t)(system->nodes + 1));
    memcpy(lambda, ip->lambda, sizeof(double) * (size_t)(2 * system->units));
    double residual = s2_refine_solve(system, progress->mode, v, lambda, factorizations, arena);
    if (residual < progress->best) {
      progress->best = residual;
      memcpy(progress->v, v, sizeof(S2Quad) * (size_t)(system->nodes + 1));
      memcpy(progress->lambda, lambda, sizeof(double) * (size_t)(2 * system->units));
    }
    s2_arena_rewind(arena, mark);
  }
}

double s2_interior_solve(S2System *system, const S2InteriorStart *start, double tolerance,
                         int max_iterations, S2Quad *v, double *lambda, int *factorizations,
                         S2Arena *arena) {
  // The guess is the best point so far.
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Interior ip = s2_interior_make(system, arena);
  Progress progress = {
      .v = v,
      .lambda = lambda,
      .best = s2_system_residual(system, v, lambda, ip.u),
      .mode = S2_TAKE_ZEROED(arena, S2Mode, system->units),
      .mode_before = S2_TAKE_ZEROED(arena, S2Mode, system->units),
  };
  if (start->warm) {
    start_warm(&ip, start, v, lambda);
  } else {
    start_cold(&ip, start);
  }
  double milestone = INFINITY;
  // Each iteration measures the point, tries its modes, checks the progress and steps towards z o s
  // = 0.
  for (int i = 0, since = 0;; i++, since++) {
    s2_system_row_velocity(system, ip.v, ip.u);
    s2_interior_measure(&ip);
    double residual = s2_system_residual(system, ip.v, ip.lambda, ip.u);
    keep_if_better(&ip, &progress, residual);
    if (i > 0) {
      s2_history_add(system->history, residual, ip.taken, ip.mean);
    }
    if (progress.best > tolerance) {
      interior_cross_over(&ip, &progress, factorizations, arena);
    }
    // Progress means that the mean of z o s has halved. If it does not halve for several
    // iterations, rounding dominates.
    if (ip.mean < milestone / 2) {
      milestone = ip.mean;
      since = 0;
    }
    if (progress.best <= tolerance || i == max_iterations || since == STALL ||
        !(ip.mean > EXHAUSTED)) {
      break;
    }
    // Take a predictor-corrector step with one factorisation.
    (*factorizations)++;
    if (!s2_interior_step(&ip, 0)) {
      break;
    }
  }
  s2_arena_rewind(arena, mark);
  return progress.best;
}
