// Interior-point method for mixed problems (Mehrotra 1992; starting point by Mattingley and Boyd).
// Newton's equations
//
//     [ A   C         ] [du]   [ -r1        ]    r1 = A u + C v + a,  r2 = D u + B v + b - w
//     [ D   B + W / V ] [dv] = [ -r2 - t / v]    t: required reduction of v o w
//
// are solved by LU without condensation. Elimination of v would square the spread of W / V, which
// loses the directions in which a linear program has no curvature.
#include "mcp/mixed/mixed.h"

#include "linalg/dense.h"

#include <math.h>
#include <string.h>

// Added to the diagonal of the equilibrated matrix, which is then regular for every monotone
// problem, even with redundant rows. Refinement removes its effect on the result.
static const double PROXIMAL = 1e-10;

enum { REFINEMENTS = 2, STALL = 15, SETTLED = 2 };

static const double STEP_MARGIN = 0.99; // fraction of the distance to the boundary
static const double CROWDED = 0.1;      // take a centring step instead of a shorter step
// target of a centring step / mean complementarity
static const double CENTRING = 0.5;
// Iterations end at this scaled residual. s2_mixed_finish reduces it further.
static const double DONE = 1e-13;

typedef struct Interior {
  S2Mixed p;
  double *x, *w, *f;     // w: m
  double *dx, *dw, *rhs; // rhs is preserved while dx is refined
  double *target;        // m
  double *ratio;         // w / v, m numbers
  double *best, *work;
  double best_merit, mean;
  double kappa; // final target of all v_i w_i
  S2Dense lu;
} Interior;

// ---- One iteration ----------------------------------------------------------------------------

static Interior mixed_interior_make(const S2Mixed *scaled, S2Arena *arena) {
  int size = s2_mixed_size(scaled), m = scaled->m;
  Interior ip = {
      .p = *scaled,
      .x = S2_TAKE_ZEROED(arena, double, size + 1),
      .w = S2_TAKE_ZEROED(arena, double, m + 1),
      .f = S2_TAKE_ZEROED(arena, double, size + 1),
      .dx = S2_TAKE_ZEROED(arena, double, size + 1),
      .dw = S2_TAKE_ZEROED(arena, double, m + 1),
      .rhs = S2_TAKE_ZEROED(arena, double, size + 1),
      .target = S2_TAKE_ZEROED(arena, double, m + 1),
      .ratio = S2_TAKE_ZEROED(arena, double, m + 1),
      .best = S2_TAKE_ZEROED(arena, double, size + 1),
      .work = S2_TAKE_ZEROED(arena, double, size + 1),
      .best_merit = INFINITY,
      .lu = {.size = size, .nonsymmetric = true},
  };
  ip.lu.a = S2_TAKE(arena, double, (size_t)size *(size_t)size + 1);
  ip.lu.pivot = S2_TAKE(arena, int32_t, size + 1);
  return ip;
}

static bool mixed_interior_factor(Interior *ip) {
  int size = s2_mixed_size(&ip->p), n = ip->p.n;
  for (int i = 0; i < size; i++) {
    for (int j = 0; j < size; j++) {
      ip->lu.a[(size_t)j * (size_t)size + (size_t)i] =
          ip->p.k[(size_t)i * (size_t)size + (size_t)j];
    }
    ip->lu.a[(size_t)i * ((size_t)size + 1)] += PROXIMAL + (i >= n ? ip->ratio[i - n] : 0);
  }
  return s2_dense_factor(&ip->lu);
}

// dx := (K + ratio)^-1 rhs
static void mixed_interior_solve(Interior *ip) {
  int size = s2_mixed_size(&ip->p), n = ip->p.n;
  memcpy(ip->dx, ip->rhs, sizeof(double) * (size_t)size);
  s2_dense_solve(&ip->lu, ip->dx);
  // Refine with the residual rhs - (K + ratio) dx, which has no proximal term.
  for (int pass = 0; pass < REFINEMENTS; pass++) {
    for (int i = 0; i < size; i++) {
      const double *row = ip->p.k + (size_t)i * (size_t)size;
      double sum = ip->rhs[i] - (i >= n ? ip->ratio[i - n] * ip->dx[i] : 0);
      for (int j = 0; j < size; j++) {
        sum -= row[j] * ip->dx[j];
      }
      ip->work[i] = sum;
    }
    s2_dense_solve(&ip->lu, ip->work);
    for (int i = 0; i < size; i++) {
      ip->dx[i] += ip->work[i];
    }
  }
}

// Computes the direction that reduces v o w by `target`. Returns the longest step, at most 1, that
// keeps v, w >= 0.
static double mixed_interior_find_direction(Interior *ip) {
  int n = ip->p.n, m = ip->p.m;
  // The right side of Newton's equations is -r1, and -r2 - t / v.
  for (int i = 0; i < n; i++) {
    ip->rhs[i] = -ip->f[i];
  }
  for (int i = 0; i < m; i++) {
    ip->rhs[n + i] = ip->w[i] - ip->f[n + i] - ip->target[i] / ip->x[n + i];
  }
  mixed_interior_solve(ip);
  // Compute dw from v dw + w dv = -t, and the longest step that keeps v, w >= 0.
  double step = 1;
  for (int i = 0; i < m; i++) {
    double v = ip->x[n + i], dv = ip->dx[n + i];
    ip->dw[i] = -(ip->target[i] + ip->w[i] * dv) / v;
    if (dv < 0) {
      step = fmin(step, -v / dv);
    }
    if (ip->dw[i] < 0) {
      step = fmin(step, -ip->w[i] / ip->dw[i]);
    }
  }
  return step;
}

// Makes one predictor-corrector step. Returns its length, or 0 if there is no step.
static double mixed_interior_iterate(Interior *ip) {
  int n = ip->p.n, m = ip->p.m;
  // The predictor aims at kappa.
  for (int i = 0; i < m; i++) {
    ip->ratio[i] = ip->w[i] / ip->x[n + i];
    ip->target[i] = ip->w[i] * ip->x[n + i] - ip->kappa;
  }
  if (!mixed_interior_factor(ip)) {
    return 0;
  }
  // The mean after the predictor step determines the target of the corrector.
  double step = mixed_interior_find_direction(ip), ahead = 0;
  for (int i = 0; i < m; i++) {
    ahead += (ip->x[n + i] + step * ip->dx[n + i]) * (ip->w[i] + step * ip->dw[i]);
  }
  double excess = ip->mean - ip->kappa;
  double fraction = excess > 0 ? fmax(0, ahead / m - ip->kappa) / excess : 0;
  double aim = fmax(fraction * fraction * fraction * ip->mean, ip->kappa);
  for (int i = 0; i < m; i++) {
    // Include the product dv o dw, which the predictor neglects.
    ip->target[i] = ip->x[n + i] * ip->w[i] + ip->dx[n + i] * ip->dw[i] - aim;
  }
  step = mixed_interior_find_direction(ip);
  // If the step is short, some pair is too close to zero. Take a centring step instead.
  if (step < CROWDED) {
    for (int i = 0; i < m; i++) {
      ip->target[i] = ip->x[n + i] * ip->w[i] - fmax(CENTRING * ip->mean, ip->kappa);
    }
    step = mixed_interior_find_direction(ip);
  }
  // If there are only equations, take a full step.
  step = fmin(1, STEP_MARGIN * step);
  if (m == 0) {
    step = 1;
  }
  if (!s2_all_finite(ip->dx, (size_t)n + (size_t)m) || !s2_all_finite(ip->dw, (size_t)m)) {
    return 0;
  }
  for (int i = 0; i < n + m; i++) {
    ip->x[i] += step * ip->dx[i];
  }
  for (int i = 0; i < m; i++) {
    ip->w[i] += step * ip->dw[i];
  }
  return step;
}

// Computes f, the mean and the residual. Keeps the best point.
static double mixed_interior_measure(Interior *ip) {
  int n = ip->p.n, m = ip->p.m, size = n + m;
  s2_mixed_apply(&ip->p, ip->x, ip->f);
  double merit = s2_largest(ip->f, (size_t)n), sum = 0;
  // The residual includes the equations, the difference between w and K x + r, and the smaller
  // number of each pair.
  for (int i = 0; i < m; i++) {
    sum += ip->x[n + i] * ip->w[i];
    merit = fmax(merit, fabs(ip->f[n + i] - ip->w[i]));
    double larger = fmax(ip->x[n + i], ip->w[i]), smaller = fmin(ip->x[n + i], ip->w[i]);
    merit = fmax(merit, ip->kappa > 0 ? fabs(smaller - ip->kappa / larger) : smaller);
  }
  ip->mean = m > 0 ? sum / m : 0;
  if (merit < ip->best_merit && s2_all_finite(ip->x, (size_t)size)) {
    ip->best_merit = merit;
    memcpy(ip->best, ip->x, sizeof(double) * (size_t)size);
  }
  return merit;
}

// ---- The solve --------------------------------------------------------------------------------

// Solves the problem with v + w = 0, then shifts v and w until they are positive.
static bool mixed_interior_start(Interior *ip) {
  int n = ip->p.n, m = ip->p.m;
  // If 1 is added to the diagonal of the pairs, the solution of (K + 1) x = -r has w = -v.
  for (int i = 0; i < m; i++) {
    ip->ratio[i] = 1;
  }
  if (!mixed_interior_factor(ip)) {
    return false;
  }
  for (int i = 0; i < n + m; i++) {
    ip->rhs[i] = -ip->p.r[i];
  }
  mixed_interior_solve(ip);
  memcpy(ip->x, ip->dx, sizeof(double) * ((size_t)n + (size_t)m));
  // Shift all v, and all w, until they are positive.
  double lowest_v = INFINITY, lowest_w = INFINITY;
  for (int i = 0; i < m; i++) {
    ip->w[i] = -ip->x[n + i];
    lowest_v = fmin(lowest_v, ip->x[n + i]);
    lowest_w = fmin(lowest_w, ip->w[i]);
  }
  for (int i = 0; i < m; i++) {
    ip->x[n + i] += lowest_v > 0 ? 0 : 1 - lowest_v;
    ip->w[i] += lowest_w > 0 ? 0 : 1 - lowest_w;
  }
  return s2_all_finite(ip->x, (size_t)n + (size_t)m);
}

// Starts at x, with every pair moved to the central path.
static void start_near(Interior *ip, const double *x) {
  int n = ip->p.n, m = ip->p.m;
  double least = sqrt(ip->kappa);
  s2_copy_numbers(ip->x, x, (size_t)n + (size_t)m);
  s2_mixed_apply(&ip->p, ip->x, ip->f);
  for (int i = 0; i < m; i++) {
    bool is_v = ip->x[n + i] > ip->f[n + i];
    double larger = fmax(least, fmax(ip->x[n + i], ip->f[n + i])), smaller = ip->kappa / larger;
    ip->x[n + i] = is_v ? larger : smaller;
    ip->w[i] = is_v ? smaller : larger;
  }
}

static int mixed_interior_run(Interior *ip, int max_iterations, S2History *history) {
  double merit = mixed_interior_measure(ip), halved = merit;
  int iterations = 0, since = 0;
  // Points on the central path are not refined afterwards, so these steps must reach full
  // precision.
  while (iterations < max_iterations && since < STALL &&
         (merit > DONE || (ip->kappa > 0 && since < SETTLED))) {
    double step = mixed_interior_iterate(ip);
    if (!(step > 0)) {
      break;
    }
    iterations += 1;
    merit = mixed_interior_measure(ip);
    s2_history_add(history, merit, step, ip->mean);
    since += 1;
    if (merit < halved / 2) {
      halved = merit;
      since = 0;
    }
  }
  return iterations;
}

static int solve_from(const S2Mixed *p, bool near, double kappa, int max_iterations,
                      S2History *history, double *x, S2Arena *arena) {
  // Work in units in which the matrix and the right side have size 1.
  S2ArenaMark mark = s2_arena_mark(arena);
  int size = s2_mixed_size(p), iterations = 0;
  S2Mixed scaled = {p->n, p->m, S2_TAKE(arena, double, (size_t)size *(size_t)size + 1),
                    S2_TAKE(arena, double, size + 1)};
  double *s = S2_TAKE(arena, double, size + 1), unit = s2_mixed_equilibrate(&scaled, s, p, kappa);
  for (int i = 0; i < size; i++) {
    x[i] = near ? x[i] / unit / s[i] : 0;
  }
  // Iterate from the standard start or from a point near x. Without kappa, then solve the equations
  // of the active set exactly.
  if (size > 0 && s2_all_finite(scaled.k, (size_t)size * (size_t)size) &&
      s2_all_finite(scaled.r, (size_t)size)) {
    s2_dense_single_threaded();
    Interior ip = mixed_interior_make(&scaled, arena);
    ip.kappa = kappa / unit / unit;
    if (near) {
      start_near(&ip, x);
    }
    iterations =
        near || mixed_interior_start(&ip) ? mixed_interior_run(&ip, max_iterations, history) : 0;
    if (kappa == 0) {
      s2_mixed_finish(&scaled, ip.best, arena);
    }
    for (int i = 0; i < size; i++) {
      x[i] = unit * s[i] * ip.best[i];
    }
  }
  s2_arena_rewind(arena, mark);
  return iterations;
}

int s2_mixed_interior(const S2Mixed *p, double kappa, int max_iterations, S2History *history,
                      double *x, S2Arena *arena) {
  return solve_from(p, false, kappa, max_iterations, history, x, arena);
}

int s2_mixed_path_near(const S2Mixed *p, double kappa, int max_iterations, S2History *history,
                       double *x, S2Arena *arena) {
  return solve_from(p, true, kappa, max_iterations, history, x, arena);
}
