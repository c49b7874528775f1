// Once the active rows are known, the step problem is linear. Proximal steps with one factorisation
// solve its equations. Every pass divides the error of an active row by WEIGHT times the stiffness
// of the row. (The stiffness is scaled: a single row has stiffness 1.) The error of the free motion
// is multiplied by WEIGHT times the unit round-off. Redundant rows need no special treatment,
// because the method finds the impulses nearest to the given impulses.
#include "mcp/chain/pdipm_stages.h"

#include <math.h>
#include <string.h>

// Both factors are equal if WEIGHT is the inverse square root of the unit round-off.
static const double WEIGHT = 1e8;
// First weight for problems with joints only, with a careful factorisation. (Other factorisations
// stall at residuals of 1e-12 with a weight of 1e11.) The softest direction of a chain of 100 links
// has a stiffness of 6e-8. In this direction, a pass with WEIGHT reduces the error by a factor of
// 7, and a pass with STIFF_WEIGHT by a factor of 600.
static const double STIFF_WEIGHT = 1e10;

// A friction impulse within this relative distance of its bound counts as being at the bound.
static const double AT_BOUND = 1e-7;

enum { PASSES = 12 };
// Stop when a pass leaves more than this fraction of the residual.
static const double GAIN = 0.5;

typedef struct Refinement {
  S2System *system;
  const S2Mode *mode;
  S2Response *response;
  double *lambda, *u, *du, *base;
  S2Quad *v, *q;
} Refinement;

void s2_refine_modes(const S2System *system, const double *u, const double *lambda, S2Mode *mode) {
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    double n = lambda[2 * k], t = lambda[2 * k + 1];
    mode[k] = S2_STICK;
    if (unit->kind == S2_UNIT_BILATERAL) {
      continue;
    }
    // The modes follow from the normal map: x = lambda - u for normal and boxed rows, and y
    // compared with mu x for friction rows.
    double x = n - (u[2 * k] + unit->c[0] * n + unit->b0[0]);
    if (unit->kind == S2_UNIT_BOX) {
      mode[k] = x > unit->hi ? S2_SLIDE_PLUS : x < unit->lo ? S2_SLIDE_MINUS : S2_STICK;
      continue;
    }
    double y = t - (u[2 * k + 1] + unit->c[1] * t + unit->b0[1]), bound = unit->mu * x;
    if (!(x > 0)) {
      mode[k] = S2_SEPARATE;
    } else if (unit->kind == S2_UNIT_CONTACT && fabs(y) > bound) {
      mode[k] = y > 0 ? S2_SLIDE_PLUS : S2_SLIDE_MINUS;
    }
  }
}

S2Mode s2_impulse_mode(const S2Unit *unit, const double *lambda) {
  double n = lambda[0], t = lambda[1];
  switch (unit->kind) {
  case S2_UNIT_BOX:
    return n >= unit->hi ? S2_SLIDE_PLUS : n <= unit->lo ? S2_SLIDE_MINUS : S2_STICK;
  case S2_UNIT_NORMAL:
    return n > 0 ? S2_STICK : S2_SEPARATE;
  case S2_UNIT_CONTACT:
    if (!(n > 0)) {
      return S2_SEPARATE;
    }
    if (fabs(t) < unit->mu * n * (1 - AT_BOUND)) {
      return S2_STICK;
    }
    return t > 0 ? S2_SLIDE_PLUS : S2_SLIDE_MINUS;
  case S2_UNIT_BILATERAL:
    break;
  }
  return S2_STICK;
}

bool s2_refine_respond(const S2System *system, const S2Mode *mode, double weight,
                       S2Response *response) {
  bool sliding = false;
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    S2Response *d = &response[k];
    // An active row yields by 1 / weight, so -d lambda / d u = weight / (1 + weight C).
    double normal = weight / (1 + weight * unit->c[0]);
    *d = (S2Response){0};
    switch (mode[k]) {
    case S2_SEPARATE:
      break;
    case S2_STICK:
      d->nn = normal;
      d->tt = unit->rows == 2 ? weight / (1 + weight * unit->c[1]) : 0;
      break;
    case S2_SLIDE_PLUS:
    case S2_SLIDE_MINUS:
      if (unit->kind == S2_UNIT_BOX) {
        break; // at a bound, whatever the velocity
      }
      d->nn = normal;
      d->tn = (mode[k] == S2_SLIDE_PLUS ? unit->mu : -unit->mu) * normal;
      sliding = true;
      break;
    }
  }
  return sliding;
}

// Computes the change of the impulses of a unit at fixed node velocities. u contains the velocities
// of its rows.
static void stand_still(const Refinement *refinement, int k) {
  const S2Unit *unit = &refinement->system->unit[k];
  const S2Response *d = &refinement->response[k];
  const double *l = refinement->lambda + 2 * k, *u = refinement->u + 2 * k;
  double *base = refinement->base + 2 * k;
  double un = u[0] + unit->c[0] * l[0] + unit->b0[0];
  double ut = u[1] + unit->c[1] * l[1] + unit->b0[1];
  base[0] = -d->nn * un;
  base[1] = -d->tt * ut;
  if (refinement->mode[k] == S2_SEPARATE) {
    base[0] = -l[0];
    base[1] = -l[1];
  } else if (unit->kind == S2_UNIT_BOX && refinement->mode[k] != S2_STICK) {
    base[0] = (refinement->mode[k] == S2_SLIDE_PLUS ? unit->hi : unit->lo) - l[0];
    base[1] = 0;
  } else if (refinement->mode[k] != S2_STICK) {
    double slope = refinement->mode[k] == S2_SLIDE_PLUS ? unit->mu : -unit->mu;
    base[1] = slope * (l[0] + base[0]) - l[1];
  }
}

// Makes one correction: d lambda = base - D J dv, with the nodes in balance. Uses J v and the
// imbalance from the last call of s2_system_residual.
static void refine_pass(Refinement *refinement) {
  S2System *system = refinement->system;
  S2Quad *q = refinement->q;
  // Compute the impulses at fixed velocities, then the response of the nodes: K q = imbalance - A
  // J' base.
  for (int k = 0; k < system->units; k++) {
    stand_still(refinement, k);
  }
  memcpy(q, system->scratch, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  s2_system_push_all(system, refinement->base, -1, q);
  s2_system_solve(system, q, q);
  s2_system_row_velocity(system, q, refinement->du);
  // dv = -q, and d lambda = base + D J q.
  for (int i = 0; i < system->nodes; i++) {
    refinement->v[i] -= q[i];
  }
  for (int k = 0; k < system->units; k++) {
    const S2Response *d = &refinement->response[k];
    const double *du = refinement->du + 2 * k, *base = refinement->base + 2 * k;
    refinement->lambda[2 * k] += base[0] + d->nn * du[0] + d->nt * du[1];
    refinement->lambda[2 * k + 1] += base[1] + d->tn * du[0] + d->tt * du[1];
  }
}

// Makes passes with one factorisation. Writes the best point found to v and lambda, and returns its
// residual.
static double run_passes(Refinement *refinement, double weight, bool careful, double best,
                         S2Quad *v, double *lambda) {
  S2System *system = refinement->system;
  size_t nodes = sizeof(S2Quad) * (size_t)(system->nodes + 1);
  size_t units = sizeof(double) * (size_t)(2 * system->units);
  double last = INFINITY;
  // Factor once for these modes and this weight.
  memcpy(refinement->v, v, nodes);
  memcpy(refinement->lambda, lambda, units);
  system->sparse.careful = careful;
  bool nonsymmetric = s2_refine_respond(system, refinement->mode, weight, refinement->response);
  bool regular = s2_system_factor(system, refinement->response, nonsymmetric);
  s2_system_residual(system, refinement->v, refinement->lambda, refinement->u);
  // Each pass divides the error of a row by the weight times the stiffness of the row, until only
  // rounding is left.
  for (int i = 0; i < PASSES && regular; i++) {
    refine_pass(refinement);
    double residual = s2_system_residual(system, refinement->v, refinement->lambda, refinement->u);
    if (residual < best) {
      best = residual;
      memcpy(v, refinement->v, nodes);
      memcpy(lambda, refinement->lambda, units);
    }
    if (best <= S2_REFINED || !(residual < GAIN * last)) {
      break;
    }
    last = residual;
  }
  return best;
}

double s2_refine_solve(S2System *system, const S2Mode *mode, S2Quad *v, double *lambda,
                       int *factorizations, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int two = 2 * system->units;
  Refinement refinement = {
      .system = system,
      .mode = mode,
      .response = S2_TAKE(arena, S2Response, system->units),
      .lambda = S2_TAKE(arena, double, two),
      .u = S2_TAKE(arena, double, two),
      .du = S2_TAKE(arena, double, two),
      .base = S2_TAKE(arena, double, two),
      .v = S2_TAKE(arena, S2Quad, system->nodes + 1),
      .q = S2_TAKE(arena, S2Quad, system->nodes + 1),
  };
  double best = s2_system_residual(system, v, lambda, refinement.u);
  // Problems with joints only permit a larger weight if the factorisation is careful.
  if (system->contacts == 0) {
    (*factorizations)++;
    best = run_passes(&refinement, STIFF_WEIGHT, true, best, v, lambda);
  }
  if (!(best <= S2_REFINED)) {
    (*factorizations)++;
    // Only piles use the accurate factorisation. Smaller problems can fall back on Lemke's method.
    system->sparse.accurate = system->contacts >= S2_PILE_CONTACTS;
    best = run_passes(&refinement, WEIGHT, false, best, v, lambda);
    system->sparse.accurate = false;
  }
  s2_arena_rewind(arena, mark);
  return best;
}
