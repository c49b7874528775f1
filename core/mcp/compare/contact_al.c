// The augmented Lagrangian method (Hestenes 1969, Powell 1969; Simo and Laursen 1992 for contact).
// `anchor` are the impulses of the last outer step. In an outer step, friction bounds are fixed at
// mu times the normal impulses (Tresca's law). With a weight sigma, the law of a row is
//
//     lambda(u) = proj(anchor - sigma u) on [0, inf), [-bound, bound] or the whole line.
//
// lambda(u) is the negative gradient of a convex, piecewise quadratic function of u. Therefore the
// solution of v = A (c + J' lambda(J v)) is the minimum of a strongly convex function. Newton with
// an exact line search finds it from any start, because its matrix is symmetric and positive
// definite. Then the anchor and the bounds move to the new lambda.
//
// For fixed bounds this method always converges. The update of the bounds is the fixed-point
// iteration of Haslinger (1983), which is certain to converge only for small friction.
#include "mcp/chain/solve_run.h"
#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

// Scaled rows have a Delassus diagonal of 1, so an outer step multiplies the error of significant
// impulses by about 1 / sigma. The weight grows while the residual falls. If the residual does not
// fall, the friction bounds oscillate. The weight then shrinks, because shorter steps of the
// impulses damp this oscillation.
static const double SIGMA = 1e4, SIGMA_LEAST = 0.3, SIGMA_MOST = 1e7;
static const double SIGMA_GROWTH = 1.5, SIGMA_SHRINK = 3;

// Each outer step moves the friction bounds by a fraction of the distance to their new values. The
// fraction is halved, down to SHARE_LEAST, if the largest distance has grown. Otherwise it is
// multiplied by SHARE_GROWTH, up to 1.
static const double SHARE_LEAST = 0.02, SHARE_GROWTH = 1.2;

// Friction bounds and normal impulses of squeezed bodies may increase each other without limit. If
// the residual exceeds this multiple of the best residual, the method returns to the best point.
static const double RUNAWAY = 100, RUNAWAY_LEAST = 1e-3;

// An inner problem is solved only to this fraction of the whole residual, because its solution is
// provisional.
static const double INNER_ACCURACY = 0.05;

// An inner problem takes at most INNERS Newton steps. There are at most OUTERS_PER_ITERATION outer
// steps per iteration that the caller permits. Near the end an outer step costs at most one
// factorisation.
enum { INNERS = 40, OUTERS_PER_ITERATION = 20 };
// Progress is unlikely after this many outer steps that do not halve the residual.
enum { STALL = 100 };

// The line search ends when the slope has fallen to this fraction, which makes it exact up to
// rounding.
static const double FLAT = 1e-9;
enum { SEARCHES = 40 };

typedef struct Al {
  S2SolveRun *run;
  // Two numbers per unit: the impulses eta with v = A (c + J' (g o eta)), their change, the
  // impulses of the last outer step, and the change of u.
  double *eta, *d_eta, *anchor, *du;
  double *bound;                 // 1 per unit
  double sigma, share, mismatch; // `share` is the fraction by which bounds move to their new values
  S2Quad *imbalance;
  S2Response *response, *factored; // responses at lambda, and in the factored matrix
  bool ready;                      // true if there is a factored matrix
} Al;

static Al al_make(S2SolveRun *run) {
  S2Arena *arena = run->arena;
  int units = run->system.units, nodes = run->system.nodes + 1;
  return (Al){
      .run = run,
      .eta = S2_TAKE(arena, double, 2 * units),
      .d_eta = S2_TAKE(arena, double, 2 * units),
      .anchor = S2_TAKE(arena, double, 2 * units),
      .du = S2_TAKE(arena, double, 2 * units),
      .bound = S2_TAKE(arena, double, units),
      .imbalance = S2_TAKE(arena, S2Quad, nodes),
      .response = S2_TAKE_ZEROED(arena, S2Response, units),
      .factored = S2_TAKE_ZEROED(arena, S2Response, units),
      .sigma = SIGMA,
  };
}

// ---- The law ----------------------------------------------------------------------------------

// Computes the impulse of row r of unit k at the row velocity u = J v. `stiffness` receives -d
// lambda / d u.
static double row_law(const Al *al, int k, int r, double u, double *stiffness) {
  const S2Unit *unit = &al->run->system.unit[k];
  double soft = 1 + al->sigma * unit->c[r];
  double x = (al->anchor[2 * k + r] - al->sigma * (u + unit->b0[r])) / soft;
  double low = -INFINITY, high = INFINITY;
  if (unit->kind == S2_UNIT_BOX) {
    low = unit->lo;
    high = unit->hi;
  } else if (unit->kind != S2_UNIT_BILATERAL) {
    low = r == 0 ? 0 : -al->bound[k];
    high = r == 0 ? INFINITY : al->bound[k];
  }
  *stiffness = x > low && x < high ? al->sigma / soft : 0;
  return fmin(high, fmax(low, x));
}

// Computes lambda and the response of all rows at u + step du.
static void al_apply_law(Al *al, double step) {
  S2SolveRun *run = al->run;
  // Rows are independent of each other, because their bounds are fixed.
  for (int k = 0; k < run->system.units; k++) {
    S2Response *d = &al->response[k];
    *d = (S2Response){0};
    double *lambda = run->lambda + 2 * k, *u = run->u + 2 * k, *du = al->du + 2 * k;
    lambda[0] = row_law(al, k, 0, u[0] + step * du[0], &d->nn);
    lambda[1] = run->system.unit[k].rows < 2 ? 0 : row_law(al, k, 1, u[1] + step * du[1], &d->tt);
  }
}

// ---- The inner problem ------------------------------------------------------------------------

// Returns the slope of the convex function along (dv, d_eta) at `step`. It only needs quantities of
// rows: dv' W (v + step dv - A (c + J' lambda)) = du' g o (eta + step d_eta - lambda).
static double al_slope(const Al *al, double step, double *curvature) {
  const S2SolveRun *run = al->run;
  double sum = 0;
  *curvature = 0;
  for (int k = 0; k < run->system.units; k++) {
    const S2Unit *unit = &run->system.unit[k];
    for (int i = 2 * k, r = 0; r < unit->rows; i++, r++) {
      double stiffness;
      double lambda = row_law(al, k, r, run->u[i] + step * al->du[i], &stiffness);
      sum += unit->g[r] * al->du[i] * (al->eta[i] + step * al->d_eta[i] - lambda);
      *curvature += unit->g[r] * al->du[i] * (al->d_eta[i] + stiffness * al->du[i]);
    }
  }
  return sum;
}

// Finds the zero of the slope. The slope is piecewise linear and increasing, so Newton ends at the
// root of one linear piece. A bracket prevents oscillation.
static double al_search(const Al *al) {
  double curvature, low = 0, high = INFINITY, step = 1;
  double first = fabs(al_slope(al, 0, &curvature));
  // Take Newton steps on the slope. If a step leaves the bracket, take the middle of the bracket,
  // or double the step if there is no upper limit.
  for (int i = 0; i < SEARCHES; i++) {
    double now = al_slope(al, step, &curvature);
    if (!(fabs(now) > FLAT * first)) {
      break;
    }
    if (now < 0) {
      low = step;
    } else {
      high = step;
    }
    double next = step - now / curvature;
    if (!(next > low && next < high)) {
      next = isinf(high) ? 2 * step : (low + high) / 2;
    }
    step = next;
  }
  return step;
}

static double al_largest_imbalance(Al *al) {
  const S2SolveRun *run = al->run;
  double worst = 0, length = run->system.problem->length;
  s2_system_imbalance(&run->system, run->v, run->lambda, al->imbalance);
  for (int i = 0; i < run->system.nodes; i++) {
    S2Quad f = al->imbalance[i];
    worst = fmax(worst, fmax(fabs(f[0]) * length, fmax(fabs(f[1]), fabs(f[2]))));
  }
  return worst;
}

// Factors the matrix if the responses have changed.
static bool al_factor(Al *al) {
  S2SolveRun *run = al->run;
  size_t size = sizeof(S2Response) * (size_t)run->system.units;
  // A change of the active rows requires a new factorisation.
  if (!al->ready || memcmp(al->response, al->factored, size) != 0) {
    memcpy(al->factored, al->response, size);
    run->iterations++;
    al->ready = s2_system_factor(&run->system, al->response, false);
  }
  return al->ready;
}

// Makes one Newton step. Returns false if the matrix is singular, which only rounding can cause.
// Sets `done` if the full step stays in the same linear piece, so that the new point is the
// minimum.
static bool step_inner(Al *al, bool *done) {
  S2SolveRun *run = al->run;
  S2System *system = &run->system;
  if (!al_factor(al)) {
    return false;
  }
  // Compute dv = -K^-1 imbalance and the corresponding impulses d eta = lambda - D du - eta.
  s2_system_solve(system, al->imbalance, al->imbalance);
  s2_system_row_velocity(system, al->imbalance, al->du);
  for (int k = 0; k < system->units; k++) {
    const S2Response *d = &al->response[k];
    for (int i = 2 * k, r = 0; r < 2; i++, r++) {
      al->du[i] = -al->du[i];
      al->d_eta[i] = run->lambda[i] - (r == 0 ? d->nn : d->tt) * al->du[i] - al->eta[i];
    }
  }
  // If no row leaves its linear piece, the full step reaches the minimum.
  al_apply_law(al, 1);
  size_t size = sizeof(S2Response) * (size_t)system->units;
  *done = memcmp(al->response, al->factored, size) == 0;
  double step = *done ? 1 : al_search(al);
  // The velocities are computed from eta, so that they correspond to it exactly and the search can
  // use rows only.
  for (int i = 0; i < 2 * system->units; i++) {
    al->eta[i] += step * al->d_eta[i];
  }
  s2_system_velocity(system, al->eta, run->v);
  if (system->history != NULL) {
    double residual = s2_system_residual(system, run->v, al->eta, run->u);
    s2_history_add(system->history, residual, step, 0);
  }
  return true;
}

// Solves the inner problem to its minimum, or until the largest imbalance is at most `enough`. The
// resulting impulses are eta, because lambda(u) contains the rounding error of u times sigma.
static void al_solve_inner(Al *al, double enough) {
  S2SolveRun *run = al->run;
  S2System *system = &run->system;
  bool done = false;
  memset(al->du, 0, sizeof(double) * (size_t)(2 * system->units));
  // Make at least one Newton step. Otherwise the outer step would change nothing if the imbalance
  // at the anchor is already small.
  for (int i = 0; i < INNERS && !done; i++) {
    s2_system_row_velocity(system, run->v, run->u);
    al_apply_law(al, 0);
    if ((al_largest_imbalance(al) <= enough && i > 0) || !step_inner(al, &done)) {
      break;
    }
  }
  // Clip eta to the bounds of the inner problem.
  for (int k = 0; k < system->units; k++) {
    bool box = system->unit[k].kind == S2_UNIT_BOX;
    bool contact = system->unit[k].kind != S2_UNIT_BILATERAL && !box;
    double n = al->eta[2 * k], t = al->eta[2 * k + 1];
    run->lambda[2 * k] = contact ? fmax(0, n) : box ? s2_unit_clip(&system->unit[k], n) : n;
    run->lambda[2 * k + 1] = contact ? fmax(-al->bound[k], fmin(al->bound[k], t)) : t;
  }
}

// ---- Outer steps ------------------------------------------------------------------------------

static double coulomb_bound(const Al *al, int k) {
  return al->run->system.unit[k].mu * fmax(0, al->run->lambda[2 * k]);
}

static void al_restart(Al *al, double share) {
  for (int k = 0; k < al->run->system.units; k++) {
    al->bound[k] = coulomb_bound(al, k);
  }
  al->share = fmax(SHARE_LEAST, share);
  al->mismatch = INFINITY;
}

static void set_anchor(Al *al) {
  const S2SolveRun *run = al->run;
  size_t size = sizeof(double) * (size_t)(2 * run->system.units);
  memcpy(al->anchor, run->lambda, size);
  memcpy(al->eta, run->lambda, size);
  // Find the largest distance of a friction bound from mu times its normal impulse.
  double mismatch = 0;
  for (int k = 0; k < run->system.units; k++) {
    mismatch = fmax(mismatch, fabs(coulomb_bound(al, k) - al->bound[k]));
  }
  // If the bounds move away from the fixed point, shorten their steps.
  bool worse = mismatch > al->mismatch;
  al->share = worse ? fmax(SHARE_LEAST, al->share / 2) : fmin(1, al->share * SHARE_GROWTH);
  al->mismatch = mismatch;
  for (int k = 0; k < run->system.units; k++) {
    al->bound[k] += al->share * (coulomb_bound(al, k) - al->bound[k]);
  }
}

static void al_solve(S2SolveRun *run, int outers) {
  Al al = al_make(run);
  double residual = run->best, milestone = INFINITY;
  al_restart(&al, 1);
  // Each outer step sets the anchor, solves the inner problem and computes the residual.
  for (int i = 0, since = 0; i < outers && since < STALL && !s2_run_solved(run); i++, since++) {
    set_anchor(&al);
    al_solve_inner(&al, fmax(run->tolerance / 5, INNER_ACCURACY * fmin(residual, 1)));
    s2_system_velocity(&run->system, run->lambda, run->v);
    double last = residual;
    residual = s2_run_measure(run);
    if (isnan(residual)) {
      break;
    }
    // Increase the weight while the residual falls. Otherwise reduce it, so that the bounds
    // oscillate less.
    al.sigma = residual < last ? fmin(SIGMA_MOST, al.sigma * SIGMA_GROWTH)
                               : fmax(SIGMA_LEAST, al.sigma / SIGMA_SHRINK);
    if (run->best < milestone / 2) {
      milestone = run->best;
      since = 0;
    }
    // Bodies are squeezed, so return to the best point and shorten the steps of the bounds.
    if (residual > RUNAWAY * fmax(run->best, RUNAWAY_LEAST)) {
      s2_run_back(run);
      al_restart(&al, al.share / 4);
    }
  }
}

S2SolveStatus s2_contact_al_solve(const S2Problem *problem, const S2SolverOptions *options,
                                  S2Arena *arena, S2Solution *solution) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2SolveRun run = s2_run_begin(problem, options, solution, arena);
  if (!s2_run_solved(&run)) {
    s2_run_start(&run);
    s2_system_prepare(&run.system, arena);
    al_solve(&run, OUTERS_PER_ITERATION * options->max_iterations);
  }
  s2_run_end(&run, solution);
  s2_arena_rewind(arena, mark);
  return solution->status;
}
