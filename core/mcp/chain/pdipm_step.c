#include "mcp/chain/pdipm_step.h"

#include <math.h>
#include <string.h>

// This value is added to w. It keeps D finite for hyperstatic contacts, which constrain more than
// the nodes can move. It is far below w of all pairs whose modes are still undecided.
static const double PROXIMAL_CONTACT = 1e-13;

// The proximal term of bilateral rows. Refinements remove its effect: with a term of 1e-9, two
// refinements reduce the error of well-posed joints to 1e-18 of its value.
static const double PROXIMAL_JOINT = 1e-9;
enum { JOINT_REFINEMENTS = 2 };

// Below this complementarity the matrix is so ill-conditioned that iterative refinement pays off.
static const double REFINE_BELOW = 1e-4;

// Fraction of the distance to the boundary that a step may cover while it is far from the solution.
static const double STEP_MARGIN = 0.99;

static const double CROWDED = 0.1; // A shorter step is replaced by a centring step.
// The target of a centring step is this fraction of the mean complementarity.
static const double CENTRING = 0.5;

// Temporary memory of one step. It is half of the total memory, and other code can use it between
// steps.
typedef struct Direction {
  S2Quad *dv, *imbalance, *q;
  double *change, *base, *du; // 2 numbers per unit
  double *dz, *ds;            // 4 numbers per unit
  S2Response *response;
  double aim;  // target value of z o s
  bool second; // true to include the product dz o ds of the previous direction
} Direction;

S2Interior s2_interior_make(S2System *system, S2Arena *arena) {
  int n = system->nodes + 1, two = 2 * system->units, four = 4 * system->units;
  S2Interior ip = {
      .system = system,
      .arena = arena,
      .joint_proximal = PROXIMAL_JOINT,
      .joint_refinements = JOINT_REFINEMENTS,
      .v = S2_TAKE_ZEROED(arena, S2Quad, n),
      .lambda = S2_TAKE_ZEROED(arena, double, two),
      .u = S2_TAKE(arena, double, two),
      .z = S2_TAKE_ZEROED(arena, double, four),
      .s = S2_TAKE_ZEROED(arena, double, four),
  };
  // Count the pairs for the mean of z o s. Joints have no pairs.
  for (int k = 0; k < system->units; k++) {
    ip.pairs += s2_unit_pairs(&system->unit[k]);
    ip.joints |= system->unit[k].kind == S2_UNIT_BILATERAL;
  }
  return ip;
}

static Direction direction_make(const S2Interior *ip) {
  int n = ip->system->nodes + 1, two = 2 * ip->system->units, four = 4 * ip->system->units;
  return (Direction){
      .dv = S2_TAKE(ip->arena, S2Quad, n),
      .imbalance = S2_TAKE(ip->arena, S2Quad, n),
      .q = S2_TAKE(ip->arena, S2Quad, n),
      .change = S2_TAKE(ip->arena, double, two),
      .base = S2_TAKE(ip->arena, double, two),
      .du = S2_TAKE(ip->arena, double, two),
      .dz = S2_TAKE(ip->arena, double, four),
      .ds = S2_TAKE(ip->arena, double, four),
      .response = S2_TAKE(ip->arena, S2Response, ip->system->units),
  };
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
  // Solve the eliminated form of the friction pairs (tangent_of). Then solve the normal pair, which
  // depends on them through mu.
  if (unit->kind == S2_UNIT_CONTACT) {
    Tangent t = tangent_of(unit, w);
    double share = h[1] * t.damp / t.total;
    y[1] = share * t.p * (2 * t.q + w[3]);
    y[2] = -share * t.q * (2 * t.p + w[3]);
    y[3] = share * (t.q - t.p);
    y[0] = (h[0] - unit->mu * y[3]) / (w[0] + unit->c[0]);
  }
}

// Computes dz of a contact whose rows have the velocities (un, ut), as the solution of
//     (w + F) dz = e - G du,  where F is the constant coupling of the four pairs.
static void contact_change(double dz[4], const S2Unit *unit, const double *w, const double *e,
                           double un, double ut) {
  // In a boxed row, z0 and z1 change by opposite amounts.
  if (unit->kind == S2_UNIT_BOX) {
    dz[0] = (e[0] - e[1] - un) / (w[0] + w[1] + unit->c[0]);
    dz[1] = -dz[0];
    return;
  }
  dz[0] = (e[0] - un) / (w[0] + unit->c[0]);
  if (unit->kind != S2_UNIT_CONTACT) {
    return;
  }
  // Friction pairs: compute z3 from the sum of both sides, then z1 and z2 from z3.
  Tangent t = tangent_of(unit, w);
  double e3 = e[3] - unit->mu * dz[0];
  // The velocity of a compliant tangent row depends on its impulse, so a first pass finds this
  // impulse.
  for (int pass = unit->c[1] > 0 ? 0 : 1; pass < 2; pass++) {
    double e1 = e[1] - ut, e2 = e[2] + ut;
    dz[3] = (e3 + t.p * e1 + t.q * e2) / t.total;
    dz[1] = t.p * (e1 - dz[3]);
    dz[2] = t.q * (e2 - dz[3]);
    ut += pass == 0 ? unit->c[1] * (dz[1] - dz[2]) * t.damp : 0;
  }
}

// ---- The direction ----------------------------------------------------------------------------

// Computes u of a unit, including compliance and bias.
S2_INLINE void interior_rows(const S2Interior *ip, int k, double u[2]) {
  const S2Unit *unit = &ip->system->unit[k];
  for (int r = 0; r < 2; r++) {
    u[r] = ip->u[2 * k + r] + unit->c[r] * ip->lambda[2 * k + r] + unit->b0[r];
  }
}

void s2_interior_measure(S2Interior *ip) {
  const S2System *system = ip->system;
  double sum = 0;
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    const double *z = ip->z + 4 * k, *s = ip->s + 4 * k;
    double *l = ip->lambda + 2 * k;
    if (unit->kind != S2_UNIT_BILATERAL) {
      l[0] = unit->kind == S2_UNIT_BOX ? unit->lo + z[0] : z[0];
      l[1] = unit->kind == S2_UNIT_CONTACT ? z[1] - z[2] : 0;
    }
    for (int i = 0; i < s2_unit_pairs(unit); i++) {
      sum += z[i] * s[i];
    }
  }
  ip->mean = sum / ip->pairs;
}

// Computes (u_n, u_t + z3, -u_t + z3, mu z0 - z1 - z2) - s.
void s2_interior_gap(const S2Interior *ip, int k, double gap[4]) {
  const S2Unit *unit = &ip->system->unit[k];
  const double *z = ip->z + 4 * k, *s = ip->s + 4 * k;
  double u[2];
  interior_rows(ip, k, u);
  switch (unit->kind) {
  case S2_UNIT_BILATERAL:
    gap[0] = u[0];
    gap[1] = u[1];
    break;
  case S2_UNIT_BOX:
    gap[0] = u[0] - s[0] + s[1];
    gap[1] = 0;
    break;
  case S2_UNIT_NORMAL:
  case S2_UNIT_CONTACT:
    gap[0] = u[0] - s[0];
    gap[1] = u[1] + z[3] - s[1];
    gap[2] = -u[1] + z[3] - s[2];
    gap[3] = unit->mu * z[0] - z[1] - z[2] - s[3];
    break;
  }
}

static void interior_ratios(const S2Interior *ip, int k, double w[4]) {
  for (int i = 0; i < 4; i++) {
    w[i] = ip->s[4 * k + i] / ip->z[4 * k + i] + PROXIMAL_CONTACT;
  }
}

// `target` is the amount by which Newton must reduce z o s. With s eliminated, the equations are (w
// + F) dz = e - G du, where e = -gap - target / z. For bilateral rows e is the negative error of
// the row.
static void interior_targets(const S2Interior *ip, const Direction *way, int k, double target[4],
                             double e[4]) {
  const S2Unit *unit = &ip->system->unit[k];
  double gap[4];
  s2_interior_gap(ip, k, gap);
  for (int i = 0; i < 4; i++) {
    target[i] = e[i] = 0;
  }
  if (unit->kind == S2_UNIT_BILATERAL) {
    e[0] = -gap[0];
    e[1] = -gap[1];
    return;
  }
  for (int i = 0, j = 4 * k; i < s2_unit_pairs(unit); i++, j++) {
    target[i] = ip->z[j] * ip->s[j] + (way->second ? way->dz[j] * way->ds[j] : 0) - way->aim;
    e[i] = -gap[i] - target[i] / ip->z[j];
  }
}

static void subtract_response(const S2System *system, const Direction *way) {
  double *change = way->change, *du = way->du;
  for (int k = 0; k < system->units; k++) {
    const S2Response *d = &way->response[k];
    change[2 * k] -= d->nn * du[2 * k] + d->nt * du[2 * k + 1];
    change[2 * k + 1] -= d->tn * du[2 * k] + d->tt * du[2 * k + 1];
  }
}

// Computes dv and the changes of the impulses, and refines the solution of the linear system.
static void interior_solve_linear(const S2Interior *ip, const Direction *way, int refinements) {
  S2System *system = ip->system;
  int n = system->nodes, units = system->units;
  // Compute the impulses at fixed node velocities.
  for (int k = 0; k < units; k++) {
    const S2Unit *unit = &system->unit[k];
    double dz[4] = {0}, *base = way->base + 2 * k, w[4], e[4], target[4];
    interior_targets(ip, way, k, target, e);
    if (unit->kind == S2_UNIT_BILATERAL) {
      base[0] = way->response[k].nn * e[0];
      base[1] = way->response[k].tt * e[1];
    } else {
      interior_ratios(ip, k, w);
      contact_change(dz, unit, w, e, 0, 0);
      base[0] = dz[0];
      base[1] = unit->kind == S2_UNIT_CONTACT ? dz[1] - dz[2] : 0;
    }
  }
  // Compute dv = K^-1 (A J' base - imbalance) and change = base - D J dv. Repeat this for the
  // remaining error.
  for (int i = 0; i <= n; i++) {
    way->dv[i] = (S2Quad){0};
    way->q[i] = -way->imbalance[i];
  }
  memset(way->change, 0, sizeof(double) * (size_t)(2 * units));
  // The proximal term softens only joints, so only joints need further passes.
  for (int pass = 0;; pass++) {
    s2_system_push_all(system, way->base, 1, way->q);
    s2_system_solve(system, way->q, way->q);
    for (int i = 0; i < n; i++) {
      way->dv[i] += way->q[i];
    }
    s2_system_row_velocity(system, way->q, way->du);
    for (int k = 0; k < 2 * units; k++) {
      way->change[k] += way->base[k];
    }
    subtract_response(system, way);
    s2_system_row_velocity(system, way->dv, way->du);
    if (pass == refinements) {
      return;
    }
    for (int i = 0; i <= n; i++) {
      way->q[i] = -way->imbalance[i] - way->dv[i];
    }
    s2_system_push_all(system, way->change, 1, way->q);
    for (int k = 0; k < units; k++) {
      const S2Unit *unit = &system->unit[k];
      const double *l = way->change + 2 * k, *du = way->du + 2 * k;
      double *base = way->base + 2 * k, e[4], target[4];
      base[0] = base[1] = 0;
      if (unit->kind == S2_UNIT_BILATERAL) {
        interior_targets(ip, way, k, target, e);
        base[0] = way->response[k].nn * (e[0] - du[0] - unit->c[0] * l[0]);
        base[1] = way->response[k].tt * (e[1] - du[1] - unit->c[1] * l[1]);
      }
    }
  }
}

// Computes all changes of a step towards z o s = aim. Returns the longest step, at most 1, that
// keeps z, s >= 0.
static double interior_find_direction(const S2Interior *ip, const Direction *way, int refinements) {
  const S2System *system = ip->system;
  interior_solve_linear(ip, way, refinements);
  double step = 1;
  // Compute the pairs from these velocities, and the longest step that keeps both sides of all
  // pairs >= 0.
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    double w[4], e[4], target[4];
    if (unit->kind == S2_UNIT_BILATERAL) {
      continue;
    }
    interior_targets(ip, way, k, target, e);
    interior_ratios(ip, k, w);
    contact_change(way->dz + 4 * k, unit, w, e, way->du[2 * k], way->du[2 * k + 1]);
    for (int i = 0, j = 4 * k; i < s2_unit_pairs(unit); i++, j++) {
      way->ds[j] = -(target[i] + ip->s[j] * way->dz[j]) / ip->z[j];
      if (way->dz[j] < 0) {
        step = fmin(step, -ip->z[j] / way->dz[j]);
      }
      if (way->ds[j] < 0) {
        step = fmin(step, -ip->s[j] / way->ds[j]);
      }
    }
  }
  return step;
}

// Returns the target of Mehrotra's corrector. `ahead` is z's at the end of the predictor step.
static double aim_at(const S2Interior *ip, double ahead, double kappa) {
  if (kappa > 0) {
    double left = ip->mean - kappa, ratio = left > 0 ? (ahead / ip->pairs - kappa) / left : 0;
    ratio = fmin(1, fmax(0, ratio));
    return fmax(kappa, ratio * ratio * ratio * ip->mean);
  }
  double ratio = ahead / (ip->pairs * ip->mean);
  return ratio * ratio * ratio * ip->mean;
}

// Returns the step length to take if the boundary is at `step`, both as fractions of the direction.
// If `step` is 1, a full step stays inside.
static double interior_shorten(const S2Interior *ip, double step, double kappa) {
  // Take full steps, because Newton converges quadratically at a point on the path.
  if (kappa > 0 && step == 1) {
    return 1;
  }
  return fmin(1, step * fmax(STEP_MARGIN, kappa > 0 ? 0 : 1 - ip->mean));
}

// Computes the direction by predictor and corrector. Returns the step length along this direction,
// or NAN if the matrix is singular.
static double interior_direct(const S2Interior *ip, Direction *way, double kappa) {
  S2System *system = ip->system;
  // Factor the matrix of this iteration. It depends on w = s / z of each pair and is condensed to
  // K.
  for (int k = 0; k < system->units; k++) {
    double w[4];
    interior_ratios(ip, k, w);
    way->response[k] = s2_pairs_respond(&system->unit[k], w, ip->joint_proximal);
  }
  if (!s2_system_factor(system, way->response, true)) {
    return NAN;
  }
  s2_system_imbalance(system, ip->v, ip->lambda, way->imbalance);
  // The predictor aims at kappa. Its step length determines the necessary centring.
  way->aim = kappa;
  double step = interior_find_direction(ip, way, ip->joints ? 1 : 0), ahead = 0;
  for (int k = 0; k < system->units; k++) {
    for (int i = 4 * k; i < 4 * k + s2_unit_pairs(&system->unit[k]); i++) {
      ahead += (ip->z[i] + step * way->dz[i]) * (ip->s[i] + step * way->ds[i]);
    }
  }
  // The corrector includes the product dz o ds, which the predictor neglects.
  way->aim = aim_at(ip, ahead, kappa);
  way->second = true;
  int refinements = ip->joints ? ip->joint_refinements : ip->mean < REFINE_BELOW ? 1 : 0;
  step = interior_find_direction(ip, way, refinements);
  if (step < CROWDED) {
    // Some pairs are far below the mean, so step back towards the middle.
    way->aim = fmax(kappa, CENTRING * ip->mean);
    way->second = false;
    step = interior_find_direction(ip, way, refinements);
  }
  // Stay inside the boundary.
  return interior_shorten(ip, step, kappa);
}

bool s2_interior_step(S2Interior *ip, double kappa) {
  S2System *system = ip->system;
  S2ArenaMark mark = s2_arena_mark(ip->arena);
  Direction way = direction_make(ip);
  double step = interior_direct(ip, &way, kappa);
  bool finite = isfinite(step);
  // Update the unknowns: velocities, impulses of joints, and pairs. The impulses of contacts follow
  // from z.
  for (int k = 0; k < system->units && finite; k++) {
    const S2Unit *unit = &system->unit[k];
    for (int i = 4 * k; i < 4 * k + s2_unit_pairs(unit); i++) {
      ip->z[i] += step * way.dz[i];
      ip->s[i] += step * way.ds[i];
    }
    if (unit->kind == S2_UNIT_BILATERAL) {
      ip->lambda[2 * k] += step * way.change[2 * k];
      ip->lambda[2 * k + 1] += step * way.change[2 * k + 1];
    }
  }
  for (int i = 0; i < system->nodes && finite; i++) {
    ip->v[i] += step * way.dv[i];
  }
  ip->taken = finite ? step : ip->taken;
  s2_arena_rewind(ip->arena, mark);
  return finite;
}
