#include "mcp/cone/ncp.h"

#include "linalg/numbers.h"
#include "mcp/cone/ncp_system.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

// Fraction of the distance to the boundary that a step may cover. For the corrected direction, the
// fraction grows from this value as the violations fall.
static const double TAU = 0.95;

// Upper limits of that fraction, so that rounding cannot move a point onto the boundary. The limit
// of second-order cones is lower, because their products lose digits near the curved boundary.
static const double TAU_MAX = 1 - 1e-8, TAU_SOC_MAX = 0.99;

// A step makes progress if it reduces a violation below this fraction of its old value.
static const double PROGRESS = 0.8;

// If the boundary limits the corrected step to less than this length, the uncorrected direction is
// tried.
static const double SHORT = 0.5;

// If the boundary limits a step to less than this length, y and z are moved away from the boundary,
// at most MAX_LIFTS times. Such a short step means that some product of y and z vanished long
// before the others. Without these lifts, 1 % of random convex problems are not solved. More lifts
// do not help.
static const double JAMMED = 0.05;
enum { MAX_LIFTS = 3 };

typedef struct Point {
  double *x, *y, *z;
  double r, b; // violations
} Point;

typedef struct Solver {
  const S2Ncp *ncp;
  const S2NcpOptions *options;
  S2NcpSystem system;
  double degree;
  Point now, trial;
  double *c;         // c at the last measured point
  double *product;   // y o z at that point
  double *direction; // (dx, dy, dz), where dx is in the tangent space
  double *affine;    // (dx, dy, dz) of the predictor
  double undercut;
  int no_progress, lifts;
  bool stop; // true if a callback returned false
} Solver;

// ---- Options and checks -----------------------------------------------------------------------

S2NcpOptions s2_ncp_options(void) {
  return (S2NcpOptions){
      .r_tol = 1e-8,
      .b_tol = 1e-8,
      .kappa = 0,
      .max_iter = 50,
      .ls_scale = 0.5,
      .max_ls = 25,
      .undercut = 5,
      .no_progress_max = 3,
      .no_progress_undercut = 10,
      .reg = 1e-10,
      .corrector = true,
      .centering = -1,
  };
}

S2Status s2_ncp_check(const S2Ncp *ncp) {
  if (!s2_ncp_space_valid(&ncp->x)) {
    return s2_error(S2_INVALID,
                    "rotations (2 numbers) and quaternions (4) must be in ascending order, must "
                    "not overlap, and must lie within the %d numbers of x",
                    ncp->x.size);
  }
  // Check all sizes. Their sum must not exceed the limit of the matrix.
  int64_t numbers = (int64_t)ncp->x.size + 2 * (int64_t)ncp->cones.orthant;
  if (ncp->cones.orthant < 0 || ncp->cones.soc_count < 0 || ncp->parameters < 0) {
    return s2_error(S2_INVALID, "sizes must not be negative");
  }
  for (int i = 0; i < ncp->cones.soc_count; ++i) {
    if (ncp->cones.soc[i] < 1) {
      return s2_error(S2_INVALID, "second-order cone %d has size %d; it must be at least 1", i + 1,
                      ncp->cones.soc[i]);
    }
    numbers += 2 * (int64_t)ncp->cones.soc[i];
  }
  if (numbers > S2_NCP_MAX_SIZE) {
    return s2_error(
        S2_INVALID,
        "the sizes of x and of the cones (counted twice) add up to %lld; the limit is %d",
        (long long)numbers, S2_NCP_MAX_SIZE);
  }
  return s2_ok();
}

static S2Status check_option(bool good, const char *name, const char *domain, double value) {
  return good ? s2_ok() : s2_error(S2_INVALID, "%s must be %s, not %g", name, domain, value);
}

static S2Status ncp_check_options(const S2NcpOptions *o) {
  S2_TRY(check_option(o->r_tol > 0, "r_tol", "above 0", o->r_tol));
  S2_TRY(check_option(o->b_tol > 0, "b_tol", "above 0", o->b_tol));
  S2_TRY(check_option(o->kappa >= 0 && isfinite(o->kappa), "kappa", "at least 0", o->kappa));
  S2_TRY(check_option(o->max_iter >= 0, "max_iter", "at least 0", o->max_iter));
  S2_TRY(
      check_option(o->ls_scale > 0 && o->ls_scale < 1, "ls_scale", "between 0 and 1", o->ls_scale));
  S2_TRY(check_option(o->max_ls >= 1, "max_ls", "at least 1", o->max_ls));
  S2_TRY(check_option(o->undercut > 0, "undercut", "above 0", o->undercut));
  S2_TRY(
      check_option(o->no_progress_max >= 1, "no_progress_max", "at least 1", o->no_progress_max));
  S2_TRY(check_option(o->no_progress_undercut >= 1, "no_progress_undercut", "at least 1",
                      o->no_progress_undercut));
  S2_TRY(check_option(o->centering <= 1, "centering", "at most 1", o->centering));
  return check_option(o->reg >= 0 && isfinite(o->reg), "reg", "at least 0", o->reg);
}

// ---- Measures ---------------------------------------------------------------------------------

// Returns NaN if an entry is NaN.
static double max_norm(const double *v, int count) {
  double norm = 0;
  for (int i = 0; i < count; ++i) {
    norm = fabs(v[i]) <= norm ? norm : fabs(v[i]);
    if (isnan(norm)) {
      break;
    }
  }
  return norm;
}

// product := y o z - kappa e
static void ncp_miss(const Solver *solver, const double *y, const double *z, double kappa,
                     double *product) {
  const S2Cones *cones = &solver->ncp->cones;
  s2_cones_product(cones, y, z, product);
  s2_cones_add_neutral(cones, -kappa, product);
}

static void set_neutral(const S2Cones *cones, double *v) {
  memset(v, 0, sizeof(double) * (size_t)s2_cones_size(cones));
  s2_cones_add_neutral(cones, 1, v);
}

static void ncp_measure(Solver *solver, Point *point) {
  const S2Ncp *ncp = solver->ncp;
  point->r = point->b = NAN;
  if (!ncp->residual(ncp->user, point->x, point->y, point->z, ncp->theta, solver->c)) {
    solver->stop = true;
    return;
  }
  ncp_miss(solver, point->y, point->z, solver->options->kappa, solver->product);
  point->r = max_norm(solver->c, solver->system.equations);
  point->b = max_norm(solver->product, solver->system.cone);
}

static bool ncp_solved(const Solver *solver) {
  return solver->now.r <= solver->options->r_tol && solver->now.b <= solver->options->b_tol;
}

// ---- One step ---------------------------------------------------------------------------------

static double cone_step(const Solver *solver, const double *direction, double tau) {
  const S2Cones *cones = &solver->ncp->cones;
  const double *dy = direction + solver->system.dimension, *dz = dy + solver->system.cone;
  double tau_soc = fmin(tau, TAU_SOC_MAX);
  return fmin(s2_cones_step(cones, solver->now.y, dy, tau, tau_soc),
              s2_cones_step(cones, solver->now.z, dz, tau, tau_soc));
}

static double mean_product(const Solver *solver) {
  return s2_numbers_dot(solver->now.y, solver->now.z, solver->system.cone) / solver->degree;
}

// Returns the next target of kappa, computed from the step length along the affine direction.
static double ncp_next_kappa(const Solver *solver) {
  const S2NcpOptions *options = solver->options;
  int cone = solver->system.cone;
  const Point *now = &solver->now;
  const double *dy = solver->affine + solver->system.dimension, *dz = dy + cone;
  double lowest = options->kappa > 0 ? options->kappa : options->b_tol / solver->undercut;
  if (cone == 0) {
    return lowest;
  }
  double nu = mean_product(solver);
  if (options->centering >= 0) {
    return fmax(options->centering * nu, lowest);
  }
  // Compute the mean of y o z at the point where the affine direction meets the boundary.
  double step = cone_step(solver, solver->affine, TAU);
  double change = s2_numbers_dot(now->y, dz, cone) + s2_numbers_dot(dy, now->z, cone) +
                  step * s2_numbers_dot(dy, dz, cone);
  double nu_affine = nu + step * change / solver->degree;
  // Mehrotra's rule aims at the cube of the remaining fraction. If the mean product is below the
  // final kappa, nothing remains to be reduced.
  double ratio = nu > options->kappa ? (nu_affine - options->kappa) / (nu - options->kappa) : 0;
  double sigma = fmin(1, fmax(0, ratio));
  return fmax(sigma * sigma * sigma * nu, lowest);
}

// Writes the direction towards kappa to b. With `corrected`, it accounts for the products dy o dz,
// which the affine direction neglects.
static void ncp_find_direction(const Solver *solver, double kappa, bool corrected, double *b) {
  const S2NcpSystem *system = &solver->system;
  const double *dy = solver->affine + system->dimension, *dz = dy + system->cone;
  double *second = b + system->equations;
  // The right side is -(c, y o z - kappa e + dy o dz), where dy o dz is the correction.
  ncp_miss(solver, solver->now.y, solver->now.z, kappa, second);
  if (corrected) {
    s2_cones_product(&solver->ncp->cones, dy, dz, solver->product);
    for (int i = 0; i < system->cone; ++i) {
      second[i] += solver->product[i];
    }
  }
  s2_copy_numbers(b, solver->c, (size_t)system->equations);
  for (int i = 0; i < system->size; ++i) {
    b[i] = -b[i];
  }
  s2_ncp_system_solve(system, b);
}

static void ncp_move(Solver *solver, double step) {
  const Point *now = &solver->now;
  int cone = solver->system.cone;
  const double *dy = solver->direction + solver->system.dimension, *dz = dy + cone;
  s2_ncp_space_move(&solver->ncp->x, now->x, solver->direction, step, solver->trial.x);
  for (int i = 0; i < cone; ++i) {
    solver->trial.y[i] = now->y[i] + step * dy[i];
    solver->trial.z[i] = now->z[i] + step * dz[i];
  }
}

static void ncp_copy_point(const Solver *solver, Point *to, const Point *from) {
  s2_copy_numbers(to->x, from->x, (size_t)solver->ncp->x.size);
  s2_copy_numbers(to->y, from->y, (size_t)solver->system.cone);
  s2_copy_numbers(to->z, from->z, (size_t)solver->system.cone);
}

static bool ncp_is_inside(const Solver *solver, const Point *point) {
  const S2Cones *cones = &solver->ncp->cones;
  return s2_cones_margin(cones, point->y) > 0 && s2_cones_margin(cones, point->z) > 0;
}

// Returns true if one of the violations is smaller at the trial point. Accepts any finite point if
// r is below its tolerance, because rounding errors in r must not stop the progress of the other
// violation.
static bool is_better(const Solver *solver) {
  const Point *now = &solver->now, *trial = &solver->trial;
  if (!isfinite(trial->r) || !isfinite(trial->b)) {
    return false;
  }
  bool settled = solver->system.cone > 0 && trial->r <= solver->options->r_tol;
  return settled || trial->r < now->r || trial->b < now->b;
}

// Line search: shortens the step until one of the violations falls. Returns the step, or 0 if no
// step succeeds.
static double ncp_search(Solver *solver, double step) {
  const S2NcpOptions *options = solver->options;
  for (int i = 0; i < options->max_ls; ++i, step *= options->ls_scale) {
    // Shorten a step that leaves the cones or reduces neither violation.
    ncp_move(solver, step);
    if (!ncp_is_inside(solver, &solver->trial)) {
      continue; // happens if long vectors near the boundary of a second-order cone are rounded
    }
    ncp_measure(solver, &solver->trial);
    if (solver->stop) {
      return 0;
    }
    if (is_better(solver)) {
      return step;
    }
  }
  return 0;
}

// Lowers the smallest allowed kappa if it prevents the violations from falling.
static void ncp_watch_progress(Solver *solver) {
  const S2NcpOptions *options = solver->options;
  const Point *now = &solver->now, *trial = &solver->trial;
  bool r_fell = trial->r >= options->r_tol && trial->r < PROGRESS * now->r;
  bool b_fell = trial->b >= options->b_tol && trial->b < PROGRESS * now->b;
  solver->no_progress += r_fell || b_fell ? -(solver->no_progress > 0) : 1;
  if (solver->no_progress >= options->no_progress_max) {
    solver->undercut *= options->no_progress_undercut;
  }
}

static void ncp_accept(Solver *solver) {
  Point t = solver->now;
  solver->now = solver->trial;
  solver->trial = t;
}

// Makes a trial point by moving y and z away from the boundary, by the size that they have on the
// central path. Returns false if no more lifts are allowed or the point is not finite.
static bool ncp_lift(Solver *solver) {
  const S2Cones *cones = &solver->ncp->cones;
  if (solver->system.cone == 0 || solver->lifts == MAX_LIFTS || solver->stop) {
    return false;
  }
  // Compute the size that y and z would have if all products were equal.
  double height = sqrt(mean_product(solver));
  ncp_copy_point(solver, &solver->trial, &solver->now);
  s2_cones_add_neutral(cones, height, solver->trial.y);
  s2_cones_add_neutral(cones, height, solver->trial.z);
  ncp_measure(solver, &solver->trial);
  solver->lifts += 1;
  return isfinite(solver->trial.r) && isfinite(solver->trial.b);
}

// Finds the direction and the longest step within the boundary. The correction assumes a full
// affine step, so it is omitted if it leaves only a short step and the uncorrected direction
// permits a longer one.
static double ncp_aim(Solver *solver, double kappa) {
  double tau = fmin(fmax(TAU, 1 - pow(fmax(solver->now.r, solver->now.b), 2)), TAU_MAX);
  bool corrected = solver->options->corrector;
  // Take the corrected direction. If its step is short and the uncorrected direction permits a
  // longer step, take the uncorrected direction.
  ncp_find_direction(solver, kappa, corrected, solver->direction);
  double reach = cone_step(solver, solver->direction, tau);
  if (corrected && reach < SHORT) {
    ncp_find_direction(solver, kappa, false, solver->affine);
    double plain = cone_step(solver, solver->affine, tau);
    if (plain > reach) {
      s2_copy_numbers(solver->direction, solver->affine, (size_t)solver->system.size);
      reach = plain;
    }
  }
  return isfinite(max_norm(solver->direction, solver->system.size)) ? reach : 0;
}

// Computes the next point with the current factorisation and writes it to the trial point. Returns
// the step along the direction, 0 for a lift, or a negative number if both fail.
static double ncp_advance(Solver *solver, double *kappa) {
  // Compute the predictor, its target kappa, and the direction towards this kappa.
  ncp_find_direction(solver, solver->options->kappa, false, solver->affine);
  *kappa = ncp_next_kappa(solver);
  double reach = ncp_aim(solver, *kappa);
  double step = reach < JAMMED ? 0 : ncp_search(solver, reach);
  // If neither a step nor a lift succeeds, take the short step.
  if (step > 0 || ncp_lift(solver)) {
    return step;
  }
  step = reach > 0 && reach < JAMMED ? ncp_search(solver, reach) : 0;
  return step > 0 ? step : -1;
}

// Makes one step with a matrix regularised by `reg`. Returns the result of ncp_advance.
static double ncp_attempt(Solver *solver, double reg, double *kappa, S2Arena *arena) {
  S2NcpSystem *system = &solver->system;
  const Point *now = &solver->now;
  S2ArenaMark mark = s2_arena_mark(arena);
  double step = -1;
  system->lu.rank = 0;
  if (!s2_ncp_system_assemble(system, now->x, now->y, now->z, reg)) {
    solver->stop = true;
  } else if (s2_ncp_system_factor(system, false, arena)) {
    step = ncp_advance(solver, kappa);
  }
  s2_arena_rewind(arena, mark);
  return step;
}

// Makes one iteration. Returns S2_SOLVED if the solve can continue. The regularised matrix is a
// last resort, because it is not the matrix of Newton's method. The difference matters if an entry
// of y is large and the entry of z is at most `reg`.
static S2SolveStatus ncp_iterate(Solver *solver, S2History *history, S2Arena *arena) {
  const S2NcpSystem *system = &solver->system;
  double kappa = 0, reg = solver->options->reg, step = ncp_attempt(solver, 0, &kappa, arena);
  bool full = system->lu.rank == system->size;
  // If there is no step and the matrix is rank-deficient, regularise the matrix and try again.
  if (step < 0 && !full && reg > 0 && !solver->stop) {
    ncp_measure(solver, &solver->now); // restore c, which belongs to the last trial point
    step = solver->stop ? step : ncp_attempt(solver, reg, &kappa, arena);
  }
  if (step < 0) {
    return full ? S2_MAX_ITERATIONS : S2_SINGULAR;
  }
  ncp_watch_progress(solver);
  s2_history_add(history, fmax(solver->trial.r, solver->trial.b), step, kappa);
  ncp_accept(solver);
  return S2_SOLVED;
}

// ---- The solve --------------------------------------------------------------------------------

static S2SolveStatus ncp_run(Solver *solver, S2History *history, S2Arena *arena, int *iterations) {
  ncp_measure(solver, &solver->now);
  while (!solver->stop && !ncp_solved(solver)) {
    if (!isfinite(solver->now.r) || !isfinite(solver->now.b)) {
      return S2_SINGULAR;
    }
    if (*iterations == solver->options->max_iter) {
      return S2_MAX_ITERATIONS;
    }
    S2SolveStatus status = ncp_iterate(solver, history, arena);
    if (status != S2_SOLVED) {
      return status;
    }
    *iterations += 1;
  }
  return S2_SOLVED;
}

static Point take_point(const Solver *solver, S2Arena *arena) {
  return (Point){.x = S2_TAKE(arena, double, solver->ncp->x.size),
                 .y = S2_TAKE(arena, double, solver->system.cone),
                 .z = S2_TAKE(arena, double, solver->system.cone)};
}

static void set_up(Solver *solver, const double *x, S2Arena *arena) {
  const S2Ncp *ncp = solver->ncp;
  solver->system = s2_ncp_system(ncp, arena);
  solver->degree = s2_cones_degree(&ncp->cones);
  solver->now = take_point(solver, arena);
  solver->trial = take_point(solver, arena);
  solver->c = S2_TAKE(arena, double, solver->system.equations);
  solver->product = S2_TAKE(arena, double, solver->system.cone);
  solver->direction = S2_TAKE(arena, double, solver->system.size);
  solver->affine = S2_TAKE(arena, double, solver->system.size);
  solver->undercut = solver->options->undercut;
  s2_copy_numbers(solver->now.x, x, (size_t)ncp->x.size);
  set_neutral(&ncp->cones, solver->now.y);
  set_neutral(&ncp->cones, solver->now.z);
}

S2Status s2_ncp_solve(const S2Ncp *ncp, const S2NcpOptions *options, double *x, double *y,
                      double *z, S2History *history, S2Arena *arena, S2NcpInfo *info) {
  *info = (S2NcpInfo){.status = S2_SINGULAR, .r_vio = NAN, .b_vio = NAN};
  S2_TRY(s2_ncp_check(ncp));
  S2_TRY(ncp_check_options(options));
  int flat = s2_ncp_space_normalise(&ncp->x, x);
  if (flat >= 0) {
    return s2_error(S2_INVALID, "the rotation or quaternion at number %d of x has length 0",
                    flat + 1);
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  Solver solver = {.ncp = ncp, .options = options};
  set_up(&solver, x, arena);
  info->status = ncp_run(&solver, history, arena, &info->iterations);
  info->r_vio = solver.now.r;
  info->b_vio = solver.now.b;
  ncp_copy_point(&solver, &(Point){.x = x, .y = y, .z = z}, &solver.now);
  s2_arena_rewind(arena, mark);
  return solver.stop ? s2_ncp_aborted() : s2_ok();
}
