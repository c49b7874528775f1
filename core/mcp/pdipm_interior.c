// Primal-dual interior point (Mehrotra 1992) for the step problem. A contact has four pairs,
//
//   z0 = lambda_n,  s0 = u_n                       u = J v + C lambda + b
//   z1, z2 with lambda_t = z1 - z2,                s1 = u_t + z3,  s2 = -u_t + z3
//   z3 = sliding speed,                            s3 = mu z0 - z1 - z2
//
// z, s >= 0, z o s = 0, a frictionless one only the first. Newton's equations of a contact, with
// w = s / z, are solved for its impulses at once, which leaves K dv = q on the nodes,
// K = W + J' D J, where D (2 x 2) couples the tangent to the normal and not back.
#include "mcp/pdipm_stages.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

// Added to w: keeps D finite for contacts that hold more than the nodes can move (hyperstatic).
// Far below any w that is still to be decided.
static const double PROXIMAL_CONTACT = 1e-13;

// The same for bilateral rows, whose equations are refined afterwards.
static const double PROXIMAL_JOINT = 1e-9;

// Below this complementarity the matrix is ill enough for a step of iterative refinement to pay.
static const double REFINE_BELOW = 1e-4;

enum {
  STALL = 12,           // iterations without halving the complementarity: it will not come any more
  JOINT_REFINEMENTS = 2 // prox 1e-9: two leave 1e-18 of the joint error of well-posed joints
};

static const double STEP_MARGIN = 0.99; // of the way to the boundary, while far from the solution

static const double EXHAUSTED = 1e-14; // mean complementarity: round-off rules below

static const double CROWDED = 0.1;  // a step shorter than this is spent on centring instead,
static const double CENTRING = 0.5; // aiming at this part of the mean complementarity

typedef struct Interior {
  S2System *system;
  S2Quad *v, *dv, *imbalance, *q;
  double *lambda, *change, *base, *u, *du;        // 2 a unit
  double *z, *s, *dz, *ds, *w, *e, *gap, *target; // 4 a unit
  S2Response *response;
  int pairs;
  bool joints;
  double mean; // z's / pairs
} Interior;

static int pairs_of(const S2Unit *unit) {
  return unit->kind == S2_UNIT_CONTACT ? 4 : unit->kind == S2_UNIT_NORMAL ? 1 : 0;
}

static Interior make(S2System *system, S2Arena *arena) {
  int n = system->nodes + 1, two = 2 * system->units, four = 4 * system->units;
  Interior ip = {
      .system = system,
      .v = S2_TAKE_ZEROED(arena, S2Quad, n),
      .dv = S2_TAKE_ZEROED(arena, S2Quad, n),
      .imbalance = S2_TAKE(arena, S2Quad, n),
      .q = S2_TAKE(arena, S2Quad, n),
      .lambda = S2_TAKE_ZEROED(arena, double, two),
      .change = S2_TAKE_ZEROED(arena, double, two),
      .base = S2_TAKE(arena, double, two),
      .u = S2_TAKE(arena, double, two),
      .du = S2_TAKE(arena, double, two),
      .z = S2_TAKE_ZEROED(arena, double, four),
      .s = S2_TAKE_ZEROED(arena, double, four),
      .dz = S2_TAKE_ZEROED(arena, double, four),
      .ds = S2_TAKE_ZEROED(arena, double, four),
      .w = S2_TAKE_ZEROED(arena, double, four),
      .e = S2_TAKE_ZEROED(arena, double, four),
      .gap = S2_TAKE_ZEROED(arena, double, four),
      .target = S2_TAKE_ZEROED(arena, double, four),
      .response = S2_TAKE(arena, S2Response, system->units),
  };
  for (int k = 0; k < system->units; k++) {
    ip.pairs += pairs_of(&system->unit[k]);
    ip.joints |= system->unit[k].kind == S2_UNIT_BILATERAL;
  }
  return ip;
}

// ---- Starting points --------------------------------------------------------------------------

static void start_cold(Interior *ip, const S2InteriorStart *start) {
  S2Rng rng = s2_rng_seeded(start->seed);
  for (int k = 0; k < 4 * ip->system->units; k++) {
    double a = 1, b = 1;
    if (start->spread > 0) {
      a = exp(start->spread * (2 * s2_rng_uniform(&rng) - 1));
      b = exp(start->spread * (2 * s2_rng_uniform(&rng) - 1));
    }
    ip->z[k] = start->impulse * a;
    ip->s[k] = start->velocity * b;
  }
}

static void start_warm(Interior *ip, const S2InteriorStart *start, const S2Quad *v,
                       const double *lambda) {
  const S2System *system = ip->system;
  memcpy(ip->v, v, sizeof(S2Quad) * (size_t)system->nodes);
  memcpy(ip->lambda, lambda, sizeof(double) * (size_t)(2 * system->units));
  s2_system_row_velocity(system, v, ip->u);
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    double n = lambda[2 * k], t = lambda[2 * k + 1];
    double un = ip->u[2 * k] + unit->c[0] * n + unit->b0[0];
    double ut = ip->u[2 * k + 1] + unit->c[1] * t + unit->b0[1], speed = fabs(ut);
    // What the cone leaves is shared among its three parts, so that none starts at the boundary.
    double slack = fmax(0, unit->mu * n - fabs(t));
    double z[4] = {n, fmax(t, 0) + slack / 4, fmax(-t, 0) + slack / 4, speed};
    double s[4] = {un, speed + ut, speed - ut, slack / 2};
    for (int i = 0; i < 4; i++) {
      ip->z[4 * k + i] = fmax(z[i], start->floor);
      ip->s[4 * k + i] = fmax(s[i], start->floor);
    }
  }
}

// ---- One contact ------------------------------------------------------------------------------

typedef struct Tangent { // the eliminated friction pairs
  double p, q, total, stiffness, damp;
} Tangent;

static Tangent tangent_of(const S2Unit *unit, const double *w) {
  Tangent t = {.p = 1 / w[1], .q = 1 / w[2]};
  t.total = t.p + t.q + w[3];
  t.stiffness = ((t.p + t.q) * w[3] + 4 * t.p * t.q) / t.total;
  t.damp = 1 / (1 + t.stiffness * unit->c[1]);
  return t;
}

static S2Response respond(const S2Unit *unit, const double *w) {
  S2Response d = {0};
  if (unit->kind == S2_UNIT_BILATERAL) {
    d.nn = 1 / (unit->c[0] + PROXIMAL_JOINT);
    d.tt = unit->rows == 2 ? 1 / (unit->c[1] + PROXIMAL_JOINT) : 0;
    return d;
  }
  d.nn = 1 / (w[0] + unit->c[0]);
  if (unit->kind == S2_UNIT_CONTACT) {
    Tangent t = tangent_of(unit, w);
    d.tn = (t.p - t.q) * unit->mu * d.nn / t.total * t.damp;
    d.tt = t.stiffness * t.damp;
  }
  return d;
}

// dz of a contact whose rows move by (un, ut): the solution of
//     (w + F) dz = e - G du,  F the constant coupling of the four pairs.
static void contact_change(double dz[4], const S2Unit *unit, const double *w, const double *e,
                           double un, double ut) {
  dz[0] = (e[0] - un) / (w[0] + unit->c[0]);
  if (unit->kind != S2_UNIT_CONTACT) {
    return;
  }
  Tangent t = tangent_of(unit, w);
  double e3 = e[3] - unit->mu * dz[0];
  // A compliant tangent row moves by its own impulse, which the first pass finds.
  for (int pass = unit->c[1] > 0 ? 0 : 1; pass < 2; pass++) {
    double e1 = e[1] - ut, e2 = e[2] + ut;
    dz[3] = (e3 + t.p * e1 + t.q * e2) / t.total;
    dz[1] = t.p * (e1 - dz[3]);
    dz[2] = t.q * (e2 - dz[3]);
    ut += pass == 0 ? unit->c[1] * (dz[1] - dz[2]) * t.damp : 0;
  }
}

// ---- The direction ----------------------------------------------------------------------------

// gap = what the definitions of s miss, e of bilateral rows = what they miss, mean = z's / pairs.
static void measure(Interior *ip) {
  const S2System *system = ip->system;
  double sum = 0;
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    double *z = ip->z + 4 * k, *s = ip->s + 4 * k, *gap = ip->gap + 4 * k;
    double *l = ip->lambda + 2 * k;
    if (unit->kind != S2_UNIT_BILATERAL) {
      l[0] = z[0];
      l[1] = unit->kind == S2_UNIT_CONTACT ? z[1] - z[2] : 0;
    }
    double un = ip->u[2 * k] + unit->c[0] * l[0] + unit->b0[0];
    double ut = ip->u[2 * k + 1] + unit->c[1] * l[1] + unit->b0[1];
    if (unit->kind == S2_UNIT_BILATERAL) {
      ip->e[4 * k] = -un;
      ip->e[4 * k + 1] = -ut;
      continue;
    }
    gap[0] = un - s[0];
    gap[1] = ut + z[3] - s[1];
    gap[2] = -ut + z[3] - s[2];
    gap[3] = unit->mu * z[0] - z[1] - z[2] - s[3];
    for (int i = 0; i < pairs_of(unit); i++) {
      sum += z[i] * s[i];
    }
  }
  ip->mean = sum / ip->pairs;
}

static void subtract_response(const Interior *ip, double *lambda, const double *du) {
  for (int k = 0; k < ip->system->units; k++) {
    const S2Response *d = &ip->response[k];
    lambda[2 * k] -= d->nn * du[2 * k] + d->nt * du[2 * k + 1];
    lambda[2 * k + 1] -= d->tn * du[2 * k] + d->tt * du[2 * k + 1];
  }
}

// dv and the changes of impulse for the right side e, the linear system refined on its way.
static void solve_linear(Interior *ip, int refinements) {
  S2System *system = ip->system;
  int n = system->nodes, units = system->units;
  for (int k = 0; k < units; k++) {
    const S2Unit *unit = &system->unit[k];
    double dz[4] = {0}, *base = ip->base + 2 * k;
    if (unit->kind == S2_UNIT_BILATERAL) {
      base[0] = ip->response[k].nn * ip->e[4 * k];
      base[1] = ip->response[k].tt * ip->e[4 * k + 1];
    } else {
      contact_change(dz, unit, ip->w + 4 * k, ip->e + 4 * k, 0, 0);
      base[0] = dz[0];
      base[1] = dz[1] - dz[2];
    }
  }
  for (int i = 0; i <= n; i++) {
    ip->dv[i] = (S2Quad){0};
    ip->q[i] = -ip->imbalance[i];
  }
  memset(ip->change, 0, sizeof(double) * (size_t)(2 * units));
  for (int pass = 0;; pass++) {
    s2_system_add_impulses(system, ip->base, 1, ip->q);
    s2_system_solve(system, ip->q, ip->q);
    for (int i = 0; i < n; i++) {
      ip->dv[i] += ip->q[i];
    }
    s2_system_row_velocity(system, ip->q, ip->du);
    for (int k = 0; k < 2 * units; k++) {
      ip->change[k] += ip->base[k];
    }
    subtract_response(ip, ip->change, ip->du);
    s2_system_row_velocity(system, ip->dv, ip->du);
    if (pass == refinements) {
      return;
    }
    for (int i = 0; i <= n; i++) {
      ip->q[i] = -ip->imbalance[i] - system->mass[i] * ip->dv[i];
    }
    s2_system_add_impulses(system, ip->change, 1, ip->q);
    for (int k = 0; k < units; k++) {
      const S2Unit *unit = &system->unit[k];
      const double *l = ip->change + 2 * k, *du = ip->du + 2 * k, *e = ip->e + 4 * k;
      double *base = ip->base + 2 * k;
      bool joint = unit->kind == S2_UNIT_BILATERAL;
      base[0] = joint ? ip->response[k].nn * (e[0] - du[0] - unit->c[0] * l[0]) : 0;
      base[1] = joint ? ip->response[k].tt * (e[1] - du[1] - unit->c[1] * l[1]) : 0;
    }
  }
}

// All changes for z o s -> target; returns the longest step that keeps z, s >= 0, at most 1.
static double find_direction(Interior *ip, int refinements) {
  const S2System *system = ip->system;
  for (int k = 0; k < system->units; k++) {
    for (int i = 4 * k; i < 4 * k + pairs_of(&system->unit[k]); i++) {
      ip->e[i] = -ip->gap[i] - ip->target[i] / ip->z[i];
    }
  }
  solve_linear(ip, refinements);
  double step = 1;
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    if (unit->kind == S2_UNIT_BILATERAL) {
      continue;
    }
    contact_change(ip->dz + 4 * k, unit, ip->w + 4 * k, ip->e + 4 * k, ip->du[2 * k],
                   ip->du[2 * k + 1]);
    for (int i = 4 * k; i < 4 * k + pairs_of(unit); i++) {
      ip->ds[i] = -(ip->target[i] + ip->s[i] * ip->dz[i]) / ip->z[i];
      if (ip->dz[i] < 0) {
        step = fmin(step, -ip->z[i] / ip->dz[i]);
      }
      if (ip->ds[i] < 0) {
        step = fmin(step, -ip->s[i] / ip->ds[i]);
      }
    }
  }
  return step;
}

// One predictor-corrector step; false when the matrix is singular or the direction not finite.
static bool iterate(Interior *ip) {
  S2System *system = ip->system;
  int four = 4 * system->units;
  for (int k = 0; k < four; k++) {
    ip->w[k] = ip->s[k] / ip->z[k] + PROXIMAL_CONTACT;
    ip->target[k] = ip->z[k] * ip->s[k];
  }
  for (int k = 0; k < system->units; k++) {
    ip->response[k] = respond(&system->unit[k], ip->w + 4 * k);
  }
  if (!s2_system_factor(system, ip->response, true)) {
    return false;
  }
  double step = find_direction(ip, ip->joints ? 1 : 0), ahead = 0;
  for (int k = 0; k < system->units; k++) {
    for (int i = 4 * k; i < 4 * k + pairs_of(&system->unit[k]); i++) {
      ahead += (ip->z[i] + step * ip->dz[i]) * (ip->s[i] + step * ip->ds[i]);
    }
  }
  double ratio = ahead / (ip->pairs * ip->mean), aim = ratio * ratio * ratio * ip->mean;
  for (int k = 0; k < four; k++) {
    ip->target[k] = ip->z[k] * ip->s[k] + ip->dz[k] * ip->ds[k] - aim;
  }
  int refinements = ip->joints ? JOINT_REFINEMENTS : ip->mean < REFINE_BELOW ? 1 : 0;
  step = find_direction(ip, refinements);
  if (step < CROWDED) {
    // Some pairs are far below the mean: the way out is back to the middle.
    for (int k = 0; k < four; k++) {
      ip->target[k] = ip->z[k] * ip->s[k] - CENTRING * ip->mean;
    }
    step = find_direction(ip, refinements);
  }
  step *= fmax(STEP_MARGIN, 1 - ip->mean);
  step = fmin(1, step);
  if (!isfinite(step)) {
    return false;
  }
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    for (int i = 4 * k; i < 4 * k + pairs_of(unit); i++) {
      ip->z[i] += step * ip->dz[i];
      ip->s[i] += step * ip->ds[i];
    }
    if (unit->kind == S2_UNIT_BILATERAL) {
      ip->lambda[2 * k] += step * ip->change[2 * k];
      ip->lambda[2 * k + 1] += step * ip->change[2 * k + 1];
    }
  }
  for (int i = 0; i < system->nodes; i++) {
    ip->v[i] += step * ip->dv[i];
  }
  return true;
}

// The point reached, and the best one so far as the caller's.
typedef struct Progress {
  S2Quad *v;
  double *lambda, best;
  S2Mode *mode, *mode_before;
  bool tried; // these modes
} Progress;

static void keep_if_better(const Interior *ip, Progress *progress, double residual) {
  const S2System *system = ip->system;
  if (!(residual >= progress->best)) {
    progress->best = residual;
    memcpy(progress->v, ip->v, sizeof(S2Quad) * (size_t)(system->nodes + 1));
    memcpy(progress->lambda, ip->lambda, sizeof(double) * (size_t)(2 * system->units));
  }
}

// Modes that two iterations agree on are most likely those of the solution, which then is found
// exactly at the price of one more factorisation: this saves the last iterations, and the end game
// is where the interior point fails when rows are weakly active.
static void cross_over(Interior *ip, Progress *progress, int *factorizations, S2Arena *arena) {
  S2System *system = ip->system;
  s2_refine_modes(system, ip->u, ip->lambda, progress->mode);
  bool same =
      memcmp(progress->mode, progress->mode_before, sizeof(S2Mode) * (size_t)system->units) == 0;
  if (!same) {
    progress->tried = false;
    S2Mode *other = progress->mode_before;
    progress->mode_before = progress->mode;
    progress->mode = other;
  } else if (!progress->tried) {
    progress->tried = true;
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
  S2ArenaMark mark = s2_arena_mark(arena);
  Interior ip = make(system, arena);
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
  for (int i = 0, since = 0;; i++, since++) {
    s2_system_row_velocity(system, ip.v, ip.u);
    measure(&ip);
    keep_if_better(&ip, &progress, s2_system_residual(system, ip.v, ip.lambda, ip.u));
    if (progress.best > tolerance) {
      cross_over(&ip, &progress, factorizations, arena);
    }
    if (ip.mean < milestone / 2) {
      milestone = ip.mean;
      since = 0;
    }
    if (progress.best <= tolerance || i == max_iterations || since == STALL ||
        !(ip.mean > EXHAUSTED)) {
      break;
    }
    s2_system_imbalance(system, ip.v, ip.lambda, ip.imbalance);
    (*factorizations)++;
    if (!iterate(&ip)) {
      break;
    }
  }
  s2_arena_rewind(arena, mark);
  return progress.best;
}
