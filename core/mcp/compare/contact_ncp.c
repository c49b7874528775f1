// The primal-dual interior-point method of Dojo (Howell, Le Cleac'h, Kolter, Schwager, Manchester
// 2022), applied to the step problem. ncp.c is the general version. A contact has a pair of numbers
// and a pair of vectors in the two-dimensional second-order cone,
//
//     lambda_n o s_n = kappa,   (y0, lambda_t) o (psi, s_t) = (kappa, 0),   y0 = mu lambda_n,
//
// where s_n = u_n and s_t = u_t at the solution. This cone is an orthant rotated by 45 degrees:
// with
//
//     p = (lambda_n, y0 + lambda_t, y0 - lambda_t),   q = (s_n, psi + s_t, psi - s_t)
//
// the products become p_i q_i = kappa. The method stores p and q, which avoids cancellation near
// the boundary. The changes of a contact follow in closed form from the changes of its velocities.
// This leaves a linear system with the matrix 1 + A J' D J on the nodes.
//
// All equations except the products are linear, so a step of length a leaves the fraction 1 - a of
// their errors. Dojo uses a line search, which requires one of the two violations to fall. This
// method does not need it.
//
// If the final kappa (S2SolverOptions.kappa) is above 0, the method ends on the central path, where
// p_i q_i = kappa. This point is the answer, whatever its residual.
#include "linalg/numbers.h"
#include "mcp/chain/solve_run.h"
#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

// The same constants as in ncp.c. TAU is the smallest fraction of the distance to the boundary that
// a step may cover. TAU_MAX and TAU_CONE_MAX are the upper limits for numbers and cones. If the
// step is below SHORT, the direction without the correction is tried. If the step is still below
// JAMMED, the point is lifted off the boundary.
static const double TAU = 0.95, TAU_MAX = 1 - 1e-8, TAU_CONE_MAX = 0.99;
static const double SHORT = 0.5, JAMMED = 0.05;
enum { MAX_LIFTS = 3 };
// A violation has decreased enough if it is below this fraction of its former value.
static const double PROGRESS = 0.8;
static const double UNDERCUT = 5, NO_PROGRESS_UNDERCUT = 10;
enum { NO_PROGRESS_MAX = 3 };

// This value is added to q / p. It keeps D small enough for a factorisation without pivoting, but
// the products miss their targets by this value times p dp. With 1e-13, 10 % fewer shaken piles of
// discs are solved.
static const double PROXIMAL_CONTACT = 1e-8;

// The proximal term of bilateral rows. Refinements remove its effect: each pass multiplies the
// error of a row by about this value divided by the stiffness of the row. The rounding errors of
// velocities appear in the impulses divided by this value, so it must not be much smaller. 1e-9
// fails on chains of seven hinges.
static const double PROXIMAL_JOINT = 1e-6;
enum { PASSES = 6 };
// Refinement stops when the error is at most PASS_ENOUGH, or when a pass leaves more than the
// fraction PASS_GAIN.
static const double PASS_GAIN = 0.5, PASS_ENOUGH = 1e-13;

enum { ITERATIONS = 2 }; // maximum number of iterations, as a multiple of the caller's limit
enum { FINISHES = 5 };   // maximum number of exact solves at the end
// If the final kappa is above 0, all violations must be at most PATH_PART * kappa or PATH_ROUNDING,
// whichever is larger.
static const double PATH_PART = 1e-6, PATH_ROUNDING = 1e-12;
// Progress is unlikely after this many iterations that do not halve the violations.
enum { STALL = 40 };

typedef struct Cone {
  S2SolveRun *run;
  double *joint;           // impulses of bilateral rows, 2 per unit
  double *p, *q, *dp, *dq; // 3 numbers per unit.
  // w = q / p, and the target e of p dq + q dp; 3 numbers per unit. For bilateral rows e is -u.
  double *w, *e;
  double *gap; // errors of s_n, s_t and y0, 3 per unit
  double *base, *change, *du;
  S2Quad *imbalance, *dv, *x;
  S2Response *response;
  S2Mode *mode, *mode_before;
  bool tried; // True if the equations of mode_before have been solved.
  // violations of the linear equations and of the products, and the mean product
  double r, b, mean, undercut;
  double kappa; // final value of kappa; 0 for the solution
  int no_progress, lifts;
} Cone;

static Cone contact_ncp_make(S2SolveRun *run, const S2SolverOptions *options) {
  S2Arena *arena = run->arena;
  int units = run->system.units, nodes = run->system.nodes + 1;
  Cone cone = {
      .run = run,
      .joint = S2_TAKE_ZEROED(arena, double, 2 * units),
      .p = S2_TAKE(arena, double, 3 * units),
      .q = S2_TAKE(arena, double, 3 * units),
      .dp = S2_TAKE_ZEROED(arena, double, 3 * units),
      .dq = S2_TAKE_ZEROED(arena, double, 3 * units),
      .w = S2_TAKE(arena, double, 3 * units),
      .e = S2_TAKE_ZEROED(arena, double, 3 * units),
      .gap = S2_TAKE_ZEROED(arena, double, 3 * units),
      .base = S2_TAKE(arena, double, 2 * units),
      .change = S2_TAKE(arena, double, 2 * units),
      .du = S2_TAKE(arena, double, 2 * units),
      .imbalance = S2_TAKE(arena, S2Quad, nodes),
      .dv = S2_TAKE_ZEROED(arena, S2Quad, nodes),
      .x = S2_TAKE_ZEROED(arena, S2Quad, nodes),
      .response = S2_TAKE(arena, S2Response, units),
      .mode = S2_TAKE_ZEROED(arena, S2Mode, units),
      .mode_before = S2_TAKE_ZEROED(arena, S2Mode, units),
      .undercut = options->undercut > 0 ? options->undercut : UNDERCUT,
      .kappa = options->kappa,
  };
  // Start in the middle of the cones, at p = q = 1.
  for (int i = 0; i < 3 * units; i++) {
    cone.p[i] = cone.q[i] = 1; // the neutral elements
  }
  return cone;
}

static int pairs_of(const S2Unit *unit) {
  return unit->kind == S2_UNIT_CONTACT ? 3 : unit->kind == S2_UNIT_NORMAL ? 1 : 0;
}

// ---- Measures ---------------------------------------------------------------------------------

static void read_impulses(Cone *cone) {
  const S2System *system = &cone->run->system;
  for (int k = 0; k < system->units; k++) {
    double *lambda = cone->run->lambda + 2 * k;
    const double *p = cone->p + 3 * k;
    int pairs = pairs_of(&system->unit[k]);
    lambda[0] = pairs > 0 ? p[0] : cone->joint[2 * k];
    lambda[1] = pairs == 3 ? (p[1] - p[2]) / 2 : pairs == 1 ? 0 : cone->joint[2 * k + 1];
  }
}

static void measure_unit(Cone *cone, int k) {
  const S2Unit *unit = &cone->run->system.unit[k];
  const double *lambda = cone->run->lambda + 2 * k, *u = cone->run->u + 2 * k;
  const double *p = cone->p + 3 * k, *q = cone->q + 3 * k;
  double un = u[0] + unit->c[0] * lambda[0] + unit->b0[0];
  double ut = u[1] + unit->c[1] * lambda[1] + unit->b0[1], *gap = cone->gap + 3 * k;
  // Errors of equations count as linear violations.
  if (unit->kind == S2_UNIT_BILATERAL) {
    cone->e[3 * k] = -un;
    cone->e[3 * k + 1] = -ut;
    cone->r = s2_larger(cone->r, fmax(fabs(un), fabs(ut)));
    return;
  }
  // Compute the error of s_n and its product. With friction, add the errors and products of the
  // cone.
  gap[0] = un - q[0];
  cone->r = s2_larger(cone->r, fabs(gap[0]));
  cone->b = s2_larger(cone->b, fabs(p[0] * q[0] - cone->kappa));
  cone->mean += p[0] * q[0];
  if (unit->kind == S2_UNIT_CONTACT) {
    gap[1] = ut - (q[1] - q[2]) / 2;
    gap[2] = unit->mu * p[0] - (p[1] + p[2]) / 2;
    double product = (p[1] * q[1] + p[2] * q[2]) / 2, uneven = (p[1] * q[1] - p[2] * q[2]) / 2;
    cone->r = s2_larger(cone->r, fmax(fabs(gap[1]), fabs(gap[2])));
    cone->b =
        s2_larger(cone->b, fabs(product - cone->kappa) + (cone->kappa > 0 ? fabs(uneven) : 0));
    cone->mean += product;
  }
}

// Computes the violations at the point, and all other quantities that depend on the point.
static void contact_ncp_measure(Cone *cone) {
  S2SolveRun *run = cone->run;
  S2System *system = &run->system;
  read_impulses(cone);
  s2_run_measure(run);
  s2_system_imbalance(system, run->v, run->lambda, cone->imbalance);
  // r is the largest error of the linear equations of nodes and rows. b is the largest error of the
  // products.
  cone->r = cone->b = cone->mean = 0;
  for (int i = 0; i < system->nodes; i++) {
    S2Quad f = cone->imbalance[i];
    cone->r = s2_larger(cone->r, fabs(f[0]) * system->problem->length);
    cone->r = s2_larger(cone->r, fmax(fabs(f[1]), fabs(f[2])));
  }
  int degree = 0;
  for (int k = 0; k < system->units; k++) {
    measure_unit(cone, k);
    degree += (pairs_of(&system->unit[k]) + 1) / 2;
  }
  cone->mean /= degree > 0 ? degree : 1;
}

// ---- One contact ------------------------------------------------------------------------------

static S2Response contact_ncp_respond(const S2Unit *unit, const double *w) {
  S2Response d = {0};
  if (unit->kind == S2_UNIT_BILATERAL) {
    d.nn = 1 / (unit->c[0] + PROXIMAL_JOINT);
    d.tt = unit->rows == 2 ? 1 / (unit->c[1] + PROXIMAL_JOINT) : 0;
    return d;
  }
  d.nn = 1 / (w[0] + unit->c[0]);
  if (unit->kind == S2_UNIT_CONTACT) {
    d.tt = 1 / ((w[1] + w[2]) / 2 + unit->c[1]);
    d.tn = -(w[1] - w[2]) / 2 * unit->mu * d.nn * d.tt;
  }
  return d;
}

// Computes the change of the impulses of a contact at fixed velocities of its rows.
static void contact_base(const Cone *cone, int k, double *change) {
  const S2Unit *unit = &cone->run->system.unit[k];
  const double *p = cone->p + 3 * k, *w = cone->w + 3 * k, *e = cone->e + 3 * k;
  const double *gap = cone->gap + 3 * k;
  const S2Response *d = &cone->response[k];
  // d lambda_n follows from e0 = p0 dq0 + q0 dp0 at a fixed velocity.
  change[0] = (e[0] / p[0] - gap[0]) * d->nn;
  change[1] = 0;
  // d lambda_t follows from the two products of the cone, whose bound changes by mu d lambda_n.
  if (unit->kind == S2_UNIT_CONTACT) {
    double bound = gap[2] + unit->mu * change[0]; // of y0
    double push = (e[1] / p[1] - e[2] / p[2] - (w[1] - w[2]) * bound) / 2;
    change[1] = (push - gap[1]) * d->tt;
  }
}

// ---- The direction ----------------------------------------------------------------------------

static void start_linear(Cone *cone) {
  const S2System *system = &cone->run->system;
  // Compute the impulses at fixed node velocities, and the imbalance of the nodes.
  for (int k = 0; k < system->units; k++) {
    const S2Response *d = &cone->response[k];
    double *base = cone->base + 2 * k;
    if (system->unit[k].kind == S2_UNIT_BILATERAL) {
      base[0] = d->nn * cone->e[3 * k];
      base[1] = d->tt * cone->e[3 * k + 1];
    } else {
      contact_base(cone, k, base);
    }
  }
  memset(cone->change, 0, sizeof(double) * (size_t)(2 * system->units));
  for (int i = 0; i <= system->nodes; i++) {
    cone->dv[i] = (S2Quad){0};
    cone->x[i] = -cone->imbalance[i];
  }
}

// Computes the residual of (dv, change) in the linear system. x receives the residual of the
// momentum balance. base receives the residual of bilateral rows, multiplied by their response.
// Returns the largest residual.
static double contact_ncp_miss(Cone *cone) {
  S2System *system = &cone->run->system;
  double worst = 0;
  for (int i = 0; i <= system->nodes; i++) {
    cone->x[i] = -cone->imbalance[i] - cone->dv[i];
  }
  // Nodes: -imbalance - dv + A J' change.
  s2_system_push_all(system, cone->change, 1, cone->x);
  for (int i = 0; i < system->nodes; i++) {
    worst = fmax(worst, fmax(fabs(cone->x[i][1]), fabs(cone->x[i][2])));
    worst = fmax(worst, fabs(cone->x[i][0]) * system->problem->length);
  }
  // Equations: e - J dv - C change, converted to impulses.
  memset(cone->base, 0, sizeof(double) * (size_t)(2 * system->units));
  s2_system_row_velocity(system, cone->dv, cone->du);
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    const S2Response *d = &cone->response[k];
    for (int r = 0; r < 2 && unit->kind == S2_UNIT_BILATERAL; r++) {
      int i = 2 * k + r;
      double error = cone->e[3 * k + r] - cone->du[i] - unit->c[r] * cone->change[i];
      worst = fmax(worst, fabs(error));
      cone->base[i] = (r == 0 ? d->nn : d->tt) * error;
    }
  }
  return worst;
}

// Computes dv and the changes of the impulses. Refines the result, because the proximal term
// disturbs bilateral rows.
static void contact_ncp_solve_linear(Cone *cone) {
  S2System *system = &cone->run->system;
  start_linear(cone);
  double last = INFINITY;
  // Compute dv += K^-1 x and change += base - D J (K^-1 x). Repeat this for the remaining error.
  for (int pass = 0; pass < PASSES; pass++) {
    s2_system_push_all(system, cone->base, 1, cone->x);
    s2_system_solve(system, cone->x, cone->x);
    s2_system_row_velocity(system, cone->x, cone->du);
    for (int i = 0; i < system->nodes; i++) {
      cone->dv[i] += cone->x[i];
    }
    for (int k = 0; k < system->units; k++) {
      const S2Response *d = &cone->response[k];
      const double *du = cone->du + 2 * k, *base = cone->base + 2 * k;
      cone->change[2 * k] += base[0] - d->nn * du[0];
      cone->change[2 * k + 1] += base[1] - d->tn * du[0] - d->tt * du[1];
    }
    double error = contact_ncp_miss(cone);
    if (error <= PASS_ENOUGH || !(error < PASS_GAIN * last)) {
      break;
    }
    last = error;
  }
}

// Computes the direction towards p q = kappa. With `corrected`, includes the products dp dq of the
// last direction.
static void contact_ncp_find_direction(Cone *cone, double kappa, bool corrected) {
  const S2System *system = &cone->run->system;
  // The right sides are kappa - p q, minus the product dp dq of the last direction if `corrected`
  // is set.
  for (int k = 0; k < system->units; k++) {
    for (int i = 3 * k; i < 3 * k + pairs_of(&system->unit[k]); i++) {
      cone->e[i] = kappa - cone->p[i] * cone->q[i] - (corrected ? cone->dp[i] * cone->dq[i] : 0);
    }
  }
  contact_ncp_solve_linear(cone);
  // Compute dp from the changes of the impulses, and dq = e / p - w dp.
  for (int k = 0; k < system->units; k++) {
    int pairs = pairs_of(&system->unit[k]);
    const double *change = cone->change + 2 * k;
    double bound = cone->gap[3 * k + 2] + system->unit[k].mu * change[0];
    cone->dp[3 * k] = change[0];
    cone->dp[3 * k + 1] = bound + change[1];
    cone->dp[3 * k + 2] = bound - change[1];
    for (int i = 3 * k; i < 3 * k + pairs; i++) {
      cone->dq[i] = cone->e[i] / cone->p[i] - cone->w[i] * cone->dp[i];
    }
  }
}

// Returns the longest step, at most 1, that covers at most the fraction `tau` of the distance to
// the boundary.
static double contact_ncp_reach(const Cone *cone, double tau) {
  const S2System *system = &cone->run->system;
  double step = 1;
  for (int k = 0; k < system->units; k++) {
    for (int i = 3 * k; i < 3 * k + pairs_of(&system->unit[k]); i++) {
      double limit = i == 3 * k ? tau : fmin(tau, TAU_CONE_MAX);
      step = cone->dp[i] < 0 ? fmin(step, limit * cone->p[i] / -cone->dp[i]) : step;
      step = cone->dq[i] < 0 ? fmin(step, limit * cone->q[i] / -cone->dq[i]) : step;
    }
  }
  return step;
}

// Computes the next target of kappa from the step length along the affine direction.
static double contact_ncp_next_kappa(const Cone *cone) {
  const S2System *system = &cone->run->system;
  double step = contact_ncp_reach(cone, TAU), ahead = 0;
  int degree = 0;
  // Compute the mean product at the point where the affine direction meets the boundary.
  for (int k = 0; k < system->units; k++) {
    int pairs = pairs_of(&system->unit[k]);
    for (int i = 3 * k; i < 3 * k + pairs; i++) {
      double product = (cone->p[i] + step * cone->dp[i]) * (cone->q[i] + step * cone->dq[i]);
      ahead += i == 3 * k ? product : product / 2;
    }
    degree += (pairs + 1) / 2;
  }
  double sigma = fmin(1, fmax(0, ahead / degree / cone->mean));
  double least = cone->kappa > 0 ? cone->kappa : cone->run->tolerance / cone->undercut;
  return fmax(sigma * sigma * sigma * cone->mean, least);
}

// ---- Steps ------------------------------------------------------------------------------------

static void contact_ncp_lift(Cone *cone) {
  const S2System *system = &cone->run->system;
  double height = sqrt(cone->mean);
  cone->lifts++;
  for (int k = 0; k < system->units; k++) {
    for (int i = 3 * k; i < 3 * k + pairs_of(&system->unit[k]); i++) {
      cone->p[i] += height;
      cone->q[i] += height;
    }
  }
}

static void contact_ncp_move(Cone *cone, double step) {
  S2SolveRun *run = cone->run;
  for (int i = 0; i < 3 * run->system.units; i++) {
    cone->p[i] += step * cone->dp[i];
    cone->q[i] += step * cone->dq[i];
  }
  for (int i = 0; i < 2 * run->system.units; i++) {
    cone->joint[i] += step * cone->change[i]; // used only for bilateral rows
  }
  for (int i = 0; i < run->system.nodes; i++) {
    run->v[i] += step * cone->dv[i];
  }
}

// Lowers the smallest allowed kappa if it prevents the violations from falling.
static void contact_ncp_watch_progress(Cone *cone, double r, double b) {
  double tolerance = cone->run->tolerance;
  bool fell = (cone->r >= tolerance && cone->r < PROGRESS * r) ||
              (cone->b >= tolerance && cone->b < PROGRESS * b);
  cone->no_progress += fell ? -(cone->no_progress > 0) : 1;
  if (cone->no_progress >= NO_PROGRESS_MAX) {
    cone->undercut *= NO_PROGRESS_UNDERCUT;
  }
}

// Makes one iteration. Returns false if the matrix is singular or the direction is not finite.
static bool contact_ncp_iterate(Cone *cone, double *kappa, double *step) {
  S2SolveRun *run = cone->run;
  // Factor the matrix once for all directions of this iteration.
  for (int k = 0; k < run->system.units; k++) {
    for (int i = 3 * k; i < 3 * k + 3; i++) {
      cone->w[i] = cone->q[i] / cone->p[i] + PROXIMAL_CONTACT;
    }
    cone->response[k] = contact_ncp_respond(&run->system.unit[k], cone->w + 3 * k);
  }
  run->iterations++;
  if (!s2_system_factor(&run->system, cone->response, true)) {
    return false;
  }
  // Compute the predictor, then the corrector towards the target kappa.
  contact_ncp_find_direction(cone, cone->kappa, false);
  *kappa = contact_ncp_next_kappa(cone);
  double tau = fmin(fmax(TAU, 1 - pow(fmax(cone->r, cone->b), 2)), TAU_MAX);
  contact_ncp_find_direction(cone, *kappa, true);
  *step = contact_ncp_reach(cone, tau);
  // If the step is too short, try the direction without the correction.
  if (*step < SHORT) {
    double corrected = *step;
    contact_ncp_find_direction(cone, *kappa, false);
    *step = contact_ncp_reach(cone, tau);
    // Otherwise compute the corrected direction again. It requires the affine direction first.
    if (*step < corrected) {
      contact_ncp_find_direction(cone, cone->kappa, false);
      contact_ncp_find_direction(cone, *kappa, true);
      *step = corrected;
    }
  }
  if (!isfinite(*step)) {
    return false;
  }
  // If the point is still jammed against the boundary, lift it off.
  if (*step < JAMMED && cone->lifts < MAX_LIFTS) {
    contact_ncp_lift(cone);
    *step = 0;
  } else {
    contact_ncp_move(cone, *step);
  }
  return true;
}

// Modes that occur in two consecutive iterations are most likely the modes of the solution. One
// more factorisation then solves their equations exactly.
static void contact_ncp_cross_over(Cone *cone) {
  S2SolveRun *run = cone->run;
  S2System *system = &run->system;
  S2Mode *before = cone->mode_before;
  cone->mode_before = cone->mode;
  cone->mode = before;
  s2_refine_modes(system, run->u, run->lambda, cone->mode);
  size_t size = sizeof(S2Mode) * (size_t)system->units;
  bool same = memcmp(cone->mode, cone->mode_before, size) == 0;
  // Try a set of modes once, after two consecutive iterations with these modes.
  if (!same || cone->tried) {
    cone->tried = same;
    return;
  }
  cone->tried = true;
  // Solve in the arrays of the current point, which is restored afterwards.
  S2ArenaMark mark = s2_arena_mark(run->arena);
  S2Quad *v = S2_TAKE(run->arena, S2Quad, system->nodes + 1);
  memcpy(v, run->v, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  double residual =
      s2_refine_solve(system, cone->mode, run->v, run->lambda, &run->iterations, run->arena);
  s2_run_keep(run, residual);
  memcpy(run->v, v, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  read_impulses(cone);
  s2_arena_rewind(run->arena, mark);
}

// Returns true if the method has reached its end point.
static bool contact_ncp_there(const Cone *cone) {
  return cone->kappa > 0 ? fmax(cone->r, cone->b) <= fmax(PATH_PART * cone->kappa, PATH_ROUNDING)
                         : s2_run_solved(cone->run);
}

// Makes the current point the answer, even if another point has a smaller residual.
static void contact_ncp_answer(Cone *cone) {
  cone->run->best = INFINITY;
  s2_run_measure(cone->run);
}

// Starts in the middle of the cones (p = q = 1), with the velocities of the best point.
static void contact_ncp_solve(S2SolveRun *run, const S2SolverOptions *options) {
  S2ArenaMark mark = s2_arena_mark(run->arena);
  int max_iterations = ITERATIONS * options->max_iterations;
  s2_run_back(run);
  Cone cone = contact_ncp_make(run, options);
  contact_ncp_measure(&cone);
  double milestone = INFINITY, step = 1;
  // Each iteration makes a step and computes the violations. If they do not fall, it lowers the
  // smallest allowed kappa. Then it tries the modes.
  for (int i = 0, since = 0; i < max_iterations && since < STALL && !contact_ncp_there(&cone);
       i++, since++) {
    double r = cone.r, b = cone.b, kappa;
    if (!contact_ncp_iterate(&cone, &kappa, &step)) {
      break;
    }
    contact_ncp_measure(&cone);
    contact_ncp_watch_progress(&cone, r, b);
    if (fmax(cone.r, cone.b) < milestone / 2) {
      milestone = fmax(cone.r, cone.b);
      since = 0;
    }
    if (run->system.history != NULL) {
      s2_history_add(run->system.history,
                     s2_system_residual(&run->system, run->v, run->lambda, run->u), step, kappa);
    }
    if (cone.kappa == 0 && !s2_run_solved(run)) {
      contact_ncp_cross_over(&cone);
    }
  }
  if (cone.kappa > 0) {
    contact_ncp_answer(&cone);
  }
  s2_arena_rewind(run->arena, mark);
}

// Solves the equations of the best point's modes exactly, for runs whose last steps fail. The
// result shows which modes were wrong.
static void contact_ncp_finish(S2SolveRun *run) {
  S2System *system = &run->system;
  S2ArenaMark mark = s2_arena_mark(run->arena);
  S2Mode *mode = S2_TAKE(run->arena, S2Mode, system->units);
  // The exact solution may indicate other modes. Repeat while the residual improves.
  for (int i = 0; i < FINISHES && !s2_run_solved(run); i++) {
    double before = run->best;
    s2_run_back(run);
    s2_system_row_velocity(system, run->v, run->u);
    s2_refine_modes(system, run->u, run->lambda, mode);
    double residual =
        s2_refine_solve(system, mode, run->v, run->lambda, &run->iterations, run->arena);
    s2_run_keep(run, residual);
    if (!(run->best < before)) {
      break;
    }
  }
  s2_arena_rewind(run->arena, mark);
}

static bool has_boxes(const S2Problem *problem) {
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    if (row->coupled_to < 0 && isfinite(row->hi)) {
      return true;
    }
  }
  return false;
}

S2SolveStatus s2_contact_ncp_solve(const S2Problem *problem, const S2SolverOptions *options,
                                   S2Arena *arena, S2Solution *solution) {
  if (has_boxes(problem)) { // rows with two bounds are not cones
    return s2_solver_refuse(problem, arena, solution);
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  S2SolveRun run = s2_run_begin(problem, options, solution, arena);
  if (options->kappa > 0 || !s2_run_solved(&run)) {
    s2_run_start(&run);
    s2_system_prepare(&run.system, arena);
    contact_ncp_solve(&run, options);
    if (options->kappa == 0) {
      contact_ncp_finish(&run);
    }
  }
  s2_run_end(&run, solution);
  s2_arena_rewind(arena, mark);
  return solution->status;
}
