#include "mcp/chain/pdipm_step.h"

#include <math.h>
#include <string.h>

// Added to w: keeps D finite for contacts that hold more than the nodes can move (hyperstatic).
// Far below any w that is still to be decided.
static const double PROXIMAL_CONTACT = 1e-13;

// The same for bilateral rows, whose equations are refined afterwards: with 1e-9, two refinements
// leave 1e-18 of the joint error of well-posed joints.
static const double PROXIMAL_JOINT = 1e-9;
enum { JOINT_REFINEMENTS = 2 };

// Below this complementarity the matrix is ill enough for a step of iterative refinement to pay.
static const double REFINE_BELOW = 1e-4;

static const double STEP_MARGIN = 0.99; // of the way to the boundary, while far from the solution

static const double CROWDED = 0.1;  // a step shorter than this is spent on centring instead,
static const double CENTRING = 0.5; // aiming at this part of the mean complementarity

S2Interior s2_interior_make(S2System *system, S2Arena *arena) {
  int n = system->nodes + 1, two = 2 * system->units, four = 4 * system->units;
  S2Interior ip = {
      .system = system,
      .joint_proximal = PROXIMAL_JOINT,
      .joint_refinements = JOINT_REFINEMENTS,
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
  // The mean of z o s is taken over all pairs; joints have none.
  for (int k = 0; k < system->units; k++) {
    ip.pairs += s2_unit_pairs(&system->unit[k]);
    ip.joints |= system->unit[k].kind == S2_UNIT_BILATERAL;
  }
  return ip;
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

S2Response s2_pairs_respond(const S2Unit *unit, const double *w, double joint_proximal) {
  S2Response d = {0};
  if (unit->kind == S2_UNIT_BILATERAL) {
    d.nn = 1 / (unit->c[0] + joint_proximal);
    d.tt = unit->rows == 2 ? 1 / (unit->c[1] + joint_proximal) : 0;
    return d;
  }
  d.nn = 1 / (w[0] + (unit->kind == S2_UNIT_BOX ? w[1] : 0) + unit->c[0]);
  if (unit->kind == S2_UNIT_CONTACT) {
    Tangent t = tangent_of(unit, w);
    d.tn = (t.p - t.q) * unit->mu * d.nn / t.total * t.damp;
    d.tt = t.stiffness * t.damp;
  }
  return d;
}

void s2_pairs_adjoint(const S2Unit *unit, const double *w, const double h[2], double y[4]) {
  y[0] = h[0] / (w[0] + unit->c[0]);
  y[1] = y[2] = y[3] = 0;
  if (unit->kind == S2_UNIT_BOX) {
    y[0] = h[0] / (w[0] + w[1] + unit->c[0]);
    y[1] = -y[0];
  }
  // The friction pairs by their eliminated form (tangent_of), then the normal with its share of mu.
  if (unit->kind == S2_UNIT_CONTACT) {
    Tangent t = tangent_of(unit, w);
    double share = h[1] * t.damp / t.total;
    y[1] = share * t.p * (2 * t.q + w[3]);
    y[2] = -share * t.q * (2 * t.p + w[3]);
    y[3] = share * (t.q - t.p);
    y[0] = (h[0] - unit->mu * y[3]) / (w[0] + unit->c[0]);
  }
}

// dz of a contact whose rows move by (un, ut): the solution of
//     (w + F) dz = e - G du,  F the constant coupling of the four pairs.
static void contact_change(double dz[4], const S2Unit *unit, const double *w, const double *e,
                           double un, double ut) {
  // Both ends of a box: z0 and z1 change by the same, the other way round.
  if (unit->kind == S2_UNIT_BOX) {
    dz[0] = (e[0] - e[1] - un) / (w[0] + w[1] + unit->c[0]);
    dz[1] = -dz[0];
    return;
  }
  dz[0] = (e[0] - un) / (w[0] + unit->c[0]);
  if (unit->kind != S2_UNIT_CONTACT) {
    return;
  }
  // The pairs of friction: z3 from both sides' sum, z1 and z2 from what z3 leaves.
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

void s2_interior_measure(S2Interior *ip) {
  const S2System *system = ip->system;
  double sum = 0;
  // Impulses as the pairs say them, and the velocities of the rows with those.
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    double *z = ip->z + 4 * k, *s = ip->s + 4 * k, *gap = ip->gap + 4 * k;
    double *l = ip->lambda + 2 * k;
    if (unit->kind != S2_UNIT_BILATERAL) {
      l[0] = unit->kind == S2_UNIT_BOX ? unit->lo + z[0] : z[0];
      l[1] = unit->kind == S2_UNIT_CONTACT ? z[1] - z[2] : 0;
    }
    double un = ip->u[2 * k] + unit->c[0] * l[0] + unit->b0[0];
    double ut = ip->u[2 * k + 1] + unit->c[1] * l[1] + unit->b0[1];
    if (unit->kind == S2_UNIT_BILATERAL) {
      ip->e[4 * k] = -un;
      ip->e[4 * k + 1] = -ut;
      continue;
    }
    // gap: what s is off from its definition, (u_n, u_t + z3, -u_t + z3, mu z0 - z1 - z2) - s.
    gap[0] = un - s[0];
    gap[1] = ut + z[3] - s[1];
    gap[2] = -ut + z[3] - s[2];
    gap[3] = unit->mu * z[0] - z[1] - z[2] - s[3];
    if (unit->kind == S2_UNIT_BOX) {
      gap[0] = un - s[0] + s[1];
      gap[1] = 0;
    }
    for (int i = 0; i < s2_unit_pairs(unit); i++) {
      sum += z[i] * s[i];
    }
  }
  ip->mean = sum / ip->pairs;
}

static void subtract_response(const S2Interior *ip, double *lambda, const double *du) {
  for (int k = 0; k < ip->system->units; k++) {
    const S2Response *d = &ip->response[k];
    lambda[2 * k] -= d->nn * du[2 * k] + d->nt * du[2 * k + 1];
    lambda[2 * k + 1] -= d->tn * du[2 * k] + d->tt * du[2 * k + 1];
  }
}

// dv and the changes of impulse for the right side e, the linear system refined on its way.
static void interior_solve_linear(S2Interior *ip, int refinements) {
  S2System *system = ip->system;
  int n = system->nodes, units = system->units;
  // Impulses while the nodes stand still.
  for (int k = 0; k < units; k++) {
    const S2Unit *unit = &system->unit[k];
    double dz[4] = {0}, *base = ip->base + 2 * k;
    if (unit->kind == S2_UNIT_BILATERAL) {
      base[0] = ip->response[k].nn * ip->e[4 * k];
      base[1] = ip->response[k].tt * ip->e[4 * k + 1];
    } else {
      contact_change(dz, unit, ip->w + 4 * k, ip->e + 4 * k, 0, 0);
      base[0] = dz[0];
      base[1] = unit->kind == S2_UNIT_CONTACT ? dz[1] - dz[2] : 0;
    }
  }
  // dv = K^-1 (A J' base - imbalance), change = base - D J dv; then what that misses, again.
  for (int i = 0; i <= n; i++) {
    ip->dv[i] = (S2Quad){0};
    ip->q[i] = -ip->imbalance[i];
  }
  memset(ip->change, 0, sizeof(double) * (size_t)(2 * units));
  // Only joints are softened by the proximal term, so they alone leave something for a next pass.
  for (int pass = 0;; pass++) {
    s2_system_push_all(system, ip->base, 1, ip->q);
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
      ip->q[i] = -ip->imbalance[i] - ip->dv[i];
    }
    s2_system_push_all(system, ip->change, 1, ip->q);
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
static double interior_find_direction(S2Interior *ip, int refinements) {
  const S2System *system = ip->system;
  // Newton for z o s -> target with s eliminated: (w + F) dz = e - G du, e = -gap - target / z.
  for (int k = 0; k < system->units; k++) {
    for (int i = 4 * k; i < 4 * k + s2_unit_pairs(&system->unit[k]); i++) {
      ip->e[i] = -ip->gap[i] - ip->target[i] / ip->z[i];
    }
  }
  // Pairs by the velocities found, and the longest step that keeps both sides of all >= 0.
  interior_solve_linear(ip, refinements);
  double step = 1;
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    if (unit->kind == S2_UNIT_BILATERAL) {
      continue;
    }
    contact_change(ip->dz + 4 * k, unit, ip->w + 4 * k, ip->e + 4 * k, ip->du[2 * k],
                   ip->du[2 * k + 1]);
    for (int i = 4 * k; i < 4 * k + s2_unit_pairs(unit); i++) {
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

// Where Mehrotra's corrector aims, `ahead` being z's where the affine step (towards kappa) ends.
static double aim_at(const S2Interior *ip, double ahead, double kappa) {
  if (kappa > 0) {
    double left = ip->mean - kappa, ratio = left > 0 ? (ahead / ip->pairs - kappa) / left : 0;
    ratio = fmin(1, fmax(0, ratio));
    return fmax(kappa, ratio * ratio * ratio * ip->mean);
  }
  double ratio = ahead / (ip->pairs * ip->mean);
  return ratio * ratio * ratio * ip->mean;
}

// The part of the way to go when the boundary is `step` away (1: a full step stays inside).
static double interior_shorten(const S2Interior *ip, double step, double kappa) {
  if (kappa > 0 && step == 1) { // Newton on the path itself converges quadratically
    return 1;
  }
  return fmin(1, step * fmax(STEP_MARGIN, kappa > 0 ? 0 : 1 - ip->mean));
}

bool s2_interior_step(S2Interior *ip, double kappa) {
  S2System *system = ip->system;
  int four = 4 * system->units;
  // The matrix of this iteration: w = s / z of each pair, condensed to K.
  for (int k = 0; k < four; k++) {
    ip->w[k] = ip->s[k] / ip->z[k] + PROXIMAL_CONTACT;
    ip->target[k] = ip->z[k] * ip->s[k] - kappa;
  }
  for (int k = 0; k < system->units; k++) {
    ip->response[k] = s2_pairs_respond(&system->unit[k], ip->w + 4 * k, ip->joint_proximal);
  }
  if (!s2_system_factor(system, ip->response, true)) {
    return false;
  }
  // Predictor: straight for kappa. How far it gets says how much centring is needed.
  double step = interior_find_direction(ip, ip->joints ? 1 : 0), ahead = 0;
  for (int k = 0; k < system->units; k++) {
    for (int i = 4 * k; i < 4 * k + s2_unit_pairs(&system->unit[k]); i++) {
      ahead += (ip->z[i] + step * ip->dz[i]) * (ip->s[i] + step * ip->ds[i]);
    }
  }
  // Corrector: with the product dz o ds that the predictor neglects.
  double aim = aim_at(ip, ahead, kappa);
  for (int k = 0; k < four; k++) {
    ip->target[k] = ip->z[k] * ip->s[k] + ip->dz[k] * ip->ds[k] - aim;
  }
  int refinements = ip->joints ? ip->joint_refinements : ip->mean < REFINE_BELOW ? 1 : 0;
  step = interior_find_direction(ip, refinements);
  if (step < CROWDED) {
    // Some pairs are far below the mean: the way out is back to the middle.
    for (int k = 0; k < four; k++) {
      ip->target[k] = ip->z[k] * ip->s[k] - fmax(kappa, CENTRING * ip->mean);
    }
    step = interior_find_direction(ip, refinements);
  }
  // Not quite to the boundary.
  step = interior_shorten(ip, step, kappa);
  if (!isfinite(step)) {
    return false;
  }
  ip->taken = step;
  // Impulses of joints and velocities are unknowns of their own; those of contacts follow from z.
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    for (int i = 4 * k; i < 4 * k + s2_unit_pairs(unit); i++) {
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
