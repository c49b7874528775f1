// Projected conjugate gradients. If the friction bounds are fixed (Tresca's law), the problem is a
// convex quadratic program on a box,
//
//     min 1/2 x' A x + b' x,   lo <= x <= hi,   A = g^1/2 (J W^-1 J' + C) g^1/2,  x = g^1/2 lambda
//
// where A has a unit diagonal, so that the scaling acts as the preconditioner. MPRGP (Dostal 2009,
// algorithm 5.8) solves it. MPRGP uses conjugate gradients on the free part. It makes a projected
// gradient step if an iterate leaves the box, and a step along the chopped gradient if the active
// bounds have the larger part of the error. An outer loop sets the bounds to mu lambda_n and
// repeats. This is Haslinger's fixed-point iteration, which contracts only for small friction.
#include "mcp/compare/relaxation.h"

#include "base/rng.h"
#include "linalg/numbers.h"

#include <math.h>
#include <string.h>

// The inner problem is solved to this fraction of the previous residual. More would be wasted,
// because its bounds are only approximate.
static const double INNER_FRACTION = 0.1;
// Smallest tolerance of the inner problem, as a fraction of the caller's tolerance. Smaller values
// fail on contacts that carry almost no load. With 0.25, four times as many steps of a pyramid with
// base 10 miss the tolerance.
static const double FINAL_FRACTION = 0.5;
enum { INNER_SWEEPS = 200 }; // Maximum number of sweeps between updates of the bounds.

// Length of the projected gradient steps times the norm of A. It must be less than 2, with a margin
// because the estimated norm may be too small.
static const double GRADIENT_STEP = 1.4;
enum { POWER_STEPS = 12, SEED = 1 };

typedef struct Box {
  S2Relaxation *run;
  int size;
  double *root;                                // g^1/2
  double *x, *lo, *hi, *gradient;              // gradient = A x + b
  double *direction, *image, *freed, *chopped; // p, A p, free gradient, chopped gradient
  double *scaled;                              // scratch of pcg_apply: impulses
  S2Quad *response;                            // scratch of pcg_apply: velocities
  double step;
} Box;

// y = A x
S2_WIDE static void pcg_apply(Box *box, const double *x, double *y) {
  const S2System *system = &box->run->system;
  memset(box->response, 0, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  // Convert x = g^1/2 lambda to impulses, compute their velocities, and convert these to the units
  // of x.
  for (int k = 0; k < system->units; k++) {
    double change[2] = {x[2 * k] / box->root[2 * k], x[2 * k + 1] / box->root[2 * k + 1]};
    box->scaled[2 * k] = change[0];
    box->scaled[2 * k + 1] = change[1];
    if (change[0] != 0 || change[1] != 0) {
      s2_system_push(system, k, change, box->response);
    }
  }
  s2_system_row_velocity(system, box->response, y);
  for (int i = 0; i < box->size; i++) {
    y[i] = box->root[i] * (y[i] + system->unit[i / 2].c[i % 2] * box->scaled[i]);
  }
  box->run->sweeps += 1;
}

static void find_gradient(Box *box) {
  S2Relaxation *run = box->run;
  const S2System *system = &run->system;
  for (int i = 0; i < box->size; i++) {
    run->lambda[i] = box->x[i] / box->root[i];
  }
  s2_system_velocity(system, run->lambda, run->v);
  s2_system_row_velocity(system, run->v, run->u);
  for (int i = 0; i < box->size; i++) {
    const S2Unit *unit = &system->unit[i / 2];
    double u = run->u[i] + unit->c[i % 2] * run->lambda[i] + unit->b0[i % 2];
    box->gradient[i] = box->root[i] * u;
  }
  run->sweeps += 1;
}

// Computes the free and the chopped gradient. Returns their largest velocity error.
static double pcg_split(Box *box) {
  double worst = 0;
  for (int i = 0; i < box->size; i++) {
    double x = box->x[i], g = box->gradient[i];
    // An entry that is not at a bound is free. An entry at a bound is chopped if its gradient leads
    // away from the bound.
    bool low = x <= box->lo[i], high = x >= box->hi[i];
    box->freed[i] = low || high ? 0 : g;
    box->chopped[i] = low && high ? 0 : low ? fmin(g, 0) : high ? fmax(g, 0) : 0;
    double velocity = fabs(box->freed[i] + box->chopped[i]) / box->root[i];
    worst = fmax(worst,
                 velocity * s2_unit_arm(&box->run->system, &box->run->system.unit[i / 2], i % 2));
  }
  return worst;
}

// Returns true if the free part of the error is larger than the chopped part. The free part is
// reduced near bounds.
static bool pcg_proportional(const Box *box) {
  double sum = 0;
  for (int i = 0; i < box->size; i++) {
    double f = box->freed[i], x = box->x[i];
    double room = (f > 0 ? x - box->lo[i] : x - box->hi[i]) / box->step;
    sum += f * (f > 0 ? fmin(f, room) : fmax(f, room));
  }
  return s2_numbers_dot(box->chopped, box->chopped, box->size) <= sum;
}

// Returns the longest step along -d that stays in the box.
static double pcg_longest_step(const Box *box, const double *d) {
  double length = INFINITY;
  for (int i = 0; i < box->size; i++) {
    if (d[i] != 0) {
      length = fmin(length, (box->x[i] - (d[i] > 0 ? box->lo[i] : box->hi[i])) / d[i]);
    }
  }
  return fmax(length, 0);
}

static void pcg_advance(Box *box, double length, const double *d) {
  for (int i = 0; i < box->size; i++) {
    box->x[i] = fmin(box->hi[i], fmax(box->lo[i], box->x[i] - length * d[i]));
    box->gradient[i] -= length * box->image[i];
  }
}

static void pcg_restart(Box *box) {
  memcpy(box->direction, box->freed, sizeof(double) * (size_t)box->size);
}

// Makes one step of MPRGP. Returns false if A is not positive along the direction, possibly because
// of rounding.
static bool pcg_step(Box *box) {
  // Step along the conjugate direction, or along the chopped gradient if most of the error is at
  // the bounds.
  bool by_free = pcg_proportional(box);
  const double *d = by_free ? box->direction : box->chopped;
  pcg_apply(box, d, box->image);
  double curvature = s2_numbers_dot(d, box->image, box->size),
         slope = s2_numbers_dot(box->gradient, d, box->size);
  if (!(curvature > 0 && slope > 0)) {
    return false;
  }
  double longest = pcg_longest_step(box, d), length = slope / curvature;
  pcg_advance(box, fmin(length, longest), d);
  pcg_split(box);
  // If the box limits the step, make a projected gradient step beyond it, and restart.
  if (by_free && length > longest) { // expansion
    for (int i = 0; i < box->size; i++) {
      double x = box->x[i] - box->step * box->freed[i];
      box->x[i] = fmin(box->hi[i], fmax(box->lo[i], x));
    }
    find_gradient(box);
    pcg_split(box);
    pcg_restart(box);
  } else if (by_free) {
    // Compute the next direction, conjugate to the last direction.
    double gamma = s2_numbers_dot(box->freed, box->image, box->size) / curvature;
    for (int i = 0; i < box->size; i++) {
      box->direction[i] = box->freed[i] - gamma * box->direction[i];
    }
  } else {
    pcg_restart(box);
  }
  return true;
}

static void pcg_minimise(Box *box, double tolerance, int limit) {
  find_gradient(box);
  double error = pcg_split(box);
  pcg_restart(box);
  while (error > tolerance && box->run->sweeps < limit) {
    if (!pcg_step(box)) {
      return;
    }
    error = pcg_split(box);
  }
}

// Computes the bounds from the normal impulses of x, and clips x to them.
static void pcg_set_bounds(Box *box) {
  const S2System *system = &box->run->system;
  // Normal impulses are >= 0, tangential impulses are within mu times the current lambda_n, and
  // joints are free.
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    bool bilateral = unit->kind == S2_UNIT_BILATERAL;
    double n = fmax(box->x[2 * k], 0) / box->root[2 * k];
    double bound = bilateral ? INFINITY : unit->mu * n * box->root[2 * k + 1];
    box->lo[2 * k] = bilateral ? -INFINITY : 0;
    box->hi[2 * k] = INFINITY;
    box->hi[2 * k + 1] = unit->rows == 2 ? bound : 0;
    box->lo[2 * k + 1] = -box->hi[2 * k + 1];
    if (unit->kind == S2_UNIT_BOX) {
      box->lo[2 * k] = unit->lo * box->root[2 * k];
      box->hi[2 * k] = unit->hi * box->root[2 * k];
    }
  }
  for (int i = 0; i < box->size; i++) {
    box->x[i] = fmin(box->hi[i], fmax(box->lo[i], box->x[i]));
  }
}

static double estimate_norm(Box *box) {
  S2Rng rng = s2_rng_seeded(SEED);
  double norm = 0, *x = box->direction;
  for (int i = 0; i < box->size; i++) {
    x[i] = i % 2 < box->run->system.unit[i / 2].rows ? s2_rng_normal(&rng) : 0;
  }
  // Estimate the norm of A by power iteration.
  for (int k = 0; k < POWER_STEPS; k++) {
    double length = sqrt(s2_numbers_dot(x, x, box->size));
    for (int i = 0; i < box->size && length > 0; i++) {
      x[i] /= length;
    }
    pcg_apply(box, x, box->image);
    norm = fmax(norm, sqrt(s2_numbers_dot(box->image, box->image, box->size)));
    memcpy(x, box->image, sizeof(double) * (size_t)box->size);
  }
  return norm > 0 ? norm : 1;
}

static Box make_box(S2Relaxation *run) {
  Box box = {.run = run, .size = 2 * run->system.units};
  double **arrays[] = {&box.root,      &box.x,     &box.lo,    &box.hi,      &box.gradient,
                       &box.direction, &box.image, &box.freed, &box.chopped, &box.scaled};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    *arrays[i] = S2_TAKE_ZEROED(run->arena, double, box.size);
  }
  box.response = S2_TAKE_ZEROED(run->arena, S2Quad, run->system.nodes + 1);
  for (int i = 0; i < box.size; i++) {
    box.root[i] = sqrt(run->system.unit[i / 2].g[i % 2]);
    box.x[i] = run->lambda[i] * box.root[i];
  }
  box.step = GRADIENT_STEP / estimate_norm(&box);
  return box;
}

S2SolveStatus s2_contact_pcg_solve(const S2Problem *problem, const S2SolverOptions *options,
                                   S2Arena *arena, S2Solution *solution) {
  S2Relaxation run;
  if (s2_relaxation_begin(&run, problem, options, arena, solution)) {
    bool friction = false;
    for (int k = 0; k < run.system.units; k++) {
      friction |= run.system.unit[k].kind == S2_UNIT_CONTACT;
    }
    Box box = make_box(&run);
    double final = FINAL_FRACTION * options->tolerance;
    // Set the bounds, then solve the problem on this box with a limited number of sweeps. Repeat.
    do {
      pcg_set_bounds(&box);
      int limit = friction ? (int)fmin(run.limit, run.sweeps + INNER_SWEEPS) : run.limit;
      pcg_minimise(&box, friction ? fmax(final, INNER_FRACTION * run.residual) : final, limit);
      for (int i = 0; i < box.size; i++) {
        run.lambda[i] = box.x[i] / box.root[i];
      }
    } while (s2_relaxation_check(&run));
  }
  return s2_relaxation_end(&run, solution);
}
