// The adjoint of a step problem has the form of a step problem. Let p be the adjoint of the
// momentum, and eta the adjoint of the impulses (minus the multipliers of the row equations). Then
//
//     W p - J' eta = dl/dv
//     stick, joints    J p + C eta + dl/dlambda = 0
//     separate         eta = 0
//     slide            lambda_t = sigma mu lambda_n transposes to eta_t = 0,
//                      (Jn + sigma mu Jt) p + Cn eta_n + dl/dlambda_n + sigma mu dl/dlambda_t = 0
//     smooth           J p + dl/dlambda + D'^-1 eta = 0, -D the response of lambda to u on the path
//
// Therefore it is solved like a step problem, with K = W + J' D' J. Active rows have a proximal
// term in K, and a few more steps remove the effect of that term. The data enter the equations in
// products, so
//
//     dl/dW = -p v,  dl/dc = p,  dl/dJ = lambda p' + eta v',  dl/db = eta,  dl/dC = eta lambda,
//     dl/dmu = sigma lambda_n (dl/dlambda_t + Jt p)  of a sliding contact.
//
// In the local form, v = A J' lambda + c, the adjoint of the nodes' equation is dl/dv + J' eta. p
// then denotes A' times that adjoint, so the equations of the rows stay unchanged:
//
//     p - A' J' eta = A' dl/dv,    dl/dc = dl/dv + J' eta,    dl/dA = dl/dc (J' lambda)'
//
// This is the local form of a problem with the mobility A'. `system` holds that problem.
//
// In this file eta is scaled like an impulse, but without V: the eta in the equations above is g o
// eta. p and dl/dv are not scaled.
#include "mcp/adjoint/mcp_vjp.h"
#include "mcp/adjoint/mcp_vjp_stages.h"

#include "base/rng.h"
#include "mcp/chain/pdipm_stages.h"
#include "mcp/chain/pdipm_step.h"
#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

// In the factored matrix M, active rows yield by 1 / WEIGHT of their impulse, so M is regular for
// all rows. WEIGHT is as large as precision permits: the inverse of a node's 3 x 3 block loses
// WEIGHT^2 unit round-offs. M^-1 is the preconditioner of generalised conjugate residuals
// (Eisenstat, Elman, Schultz 1983) on K'. It needs one direction for each stiff group of rows, and
// another for each row softer than 1 / WEIGHT. (In this scale a single row has stiffness 1.)
static const double WEIGHT = 1e6;
enum { DIRECTIONS = S2_VJP_DIRECTIONS, ROUNDS = 4 };
// Number of refinements of a solve in the local form. Each leaves 1e-4 of the error (WEIGHT^2 unit
// round-offs).
enum { REFINEMENTS = 2 };
// A round ends when it has reduced the residual by this factor. The residual is then computed
// again.
static const double REDUCE = 1e-9;
// Stop after a round that leaves more than this fraction of the residual.
static const double GAIN = 0.5;
// A direction is ignored if it changes less than this fraction of the residual.
static const double NOTHING = 1e-9;

// ACCEPT is the largest residual of a solution. Residuals up to ENOUGH are not reduced further.
// Both are fractions of dl/d(v, lambda).
static const double ACCEPT = 1e-9, ENOUGH = 1e-14;
// Largest accepted size of p relative to dl/dv. Without friction p is never larger than dl/dv.
static const double FAR = 10;
// Largest accepted eta. With larger values products have no correct digits, so a small residual is
// a coincidence.
static const double GROWN = 1e10;

// A part of a residual that proximal passes do not reduce cannot be removed by any p and eta. After
// SIEVE passes the parts of rows stiffer than 3e-6 (scaled) are below REMAINS.
enum { SIEVE = 5, PROBES = 3, PASSES = 2 }; // the second pass removes the rounding of the first
static const double REMAINS = 1e-3, DOUBT = 1e-8;

// Largest relative difference of p between the two sides of an edge.
static const double SAME = 1e-9;

// PURE more proximal passes remove soft rows from the null impulses. (If no rows are tied, almost
// nothing is left.) Adding null impulses gives another derivative. Their size is OTHER times
// dl/d(v, lambda), which is so small that their rounding errors are negligible. If the two
// derivatives agree to 1e-9, they would agree to 1e-6 with null impulses of full size.
enum { PURE = 15 };
static const double OTHER = 1e-3;

// ---- The adjoint system -----------------------------------------------------------------------

static S2VjpPair vjp_take(const S2System *system, S2Arena *arena) {
  return (S2VjpPair){S2_TAKE_ZEROED(arena, S2Quad, system->nodes + 1),
                     S2_TAKE_ZEROED(arena, double, 2 * system->units)};
}

static void vjp_clear(const S2McpLinear *l, S2VjpPair *x) {
  memset(x->node, 0, sizeof(S2Quad) * (size_t)(l->system.nodes + 1));
  memset(x->unit, 0, sizeof(double) * 2 * (size_t)l->system.units);
}

static void vjp_add(const S2McpLinear *l, double factor, const S2VjpPair *x, S2VjpPair *y) {
  for (int i = 0; i < l->system.nodes; i++) {
    y->node[i] += factor * x->node[i];
  }
  for (int k = 0; k < 2 * l->system.units; k++) {
    y->unit[k] += factor * x->unit[k];
  }
}

// Returns the inner product of two residuals, an energy. Nodes have the weights W^-1 (or 1 / diag
// A), and rows have the weights g.
static double vjp_dot(const S2McpLinear *l, const S2VjpPair *x, const S2VjpPair *y) {
  double sum = 0;
  for (int i = 0; i < l->system.nodes; i++) {
    S2Quad energy = x->node[i] * y->node[i] * l->energy[i];
    sum += energy[0] + energy[1] + energy[2];
  }
  for (int k = 0; k < 2 * l->system.units; k++) {
    sum += l->system.unit[k / 2].g[k % 2] * x->unit[k] * y->unit[k];
  }
  return sum;
}

// Computes r = data - K' x, where NULL data count as 0. Leaves J p in u.
static void vjp_miss(S2McpLinear *l, const S2VjpPair *data, const S2VjpPair *x, S2VjpPair *r) {
  const S2System *system = &l->system;
  // Nodes: dl/dv - W p + J' eta. In the local form, A' times both parts.
  for (int i = 0; i <= system->nodes; i++) {
    r->node[i] = l->mobility == NULL ? -system->mass[i] * x->node[i] : -x->node[i];
  }
  if (l->mobility == NULL) {
    s2_system_add_impulses(system, x->unit, 1, r->node);
  } else {
    s2_system_push_all(system, x->unit, 1, r->node);
  }
  // Rows: dl/dlambda + J p, then C eta or D'^-1 eta for the active rows.
  s2_system_row_velocity(system, x->node, l->u);
  memcpy(r->unit, l->u, sizeof(double) * 2 * (size_t)system->units);
  if (data != NULL) {
    vjp_add(l, 1, data, r);
  }
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    const S2Response *d = &l->response[k], *soft = &l->soft[k];
    const double *eta = x->unit + 2 * k;
    double n = r->unit[2 * k], t = r->unit[2 * k + 1];
    // On the path, the adjoint of the tangent also contributes to the normal row.
    if (s2_vjp_is_smooth(l, k)) {
      n += soft->nn * eta[0] + soft->nt * eta[1];
      t += soft->tt * eta[1];
    } else if (d->nn > 0) { // the tangent of a sliding contact contributes to the normal row
      n += unit->c[0] * eta[0] + d->nt / d->nn * t;
      t += unit->c[1] * eta[1];
    }
    r->unit[2 * k] = d->nn > 0 ? n : 0;
    r->unit[2 * k + 1] = d->tt > 0 ? t : 0;
  }
}

// Computes x = (1 + A' J' D' J)^-1 x. In the local form, the inverse of a block loses digits if its
// rows are linearly dependent, or if no row acts in some direction. Refinement leaves an error of
// 1e-10.
static void solve_nodes(S2McpLinear *l, S2Quad *x) {
  const S2System *system = &l->system;
  size_t size = sizeof(S2Quad) * (size_t)(system->nodes + 1);
  if (l->mobility != NULL) {
    memcpy(l->right, x, size);
  }
  s2_system_solve(system, x, x);
  // Local form only: solve again for the residual of (1 + A' J' D' J) x.
  for (int pass = 0; pass < REFINEMENTS && l->mobility != NULL; pass++) {
    s2_system_row_velocity(system, x, l->u);
    for (int k = 0; k < system->units; k++) {
      const S2Response *d = &l->response[k];
      double n = l->u[2 * k], t = l->u[2 * k + 1];
      l->u[2 * k] = d->nn * n + d->nt * t;
      l->u[2 * k + 1] = d->tt * t;
    }
    for (int i = 0; i <= system->nodes; i++) {
      l->rest[i] = l->right[i] - x[i];
    }
    s2_system_push_all(system, l->u, -1, l->rest);
    s2_system_solve(system, l->rest, l->rest);
    for (int i = 0; i < system->nodes; i++) {
      x[i] += l->rest[i];
    }
  }
}

// Computes x = M^-1 r.
static void vjp_approximate(S2McpLinear *l, const S2VjpPair *r, S2VjpPair *x) {
  const S2System *system = &l->system;
  memcpy(x->node, r->node, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  // Compute the multipliers at p = 0, then p from these multipliers, then add the effect of p to
  // the multipliers.
  for (int k = 0; k < system->units; k++) {
    const S2Response *d = &l->response[k];
    x->unit[2 * k] = -d->nn * r->unit[2 * k] - (d->tt > 0 ? d->nt * r->unit[2 * k + 1] : 0);
    x->unit[2 * k + 1] = -d->tt * r->unit[2 * k + 1];
  }
  if (l->mobility == NULL) {
    s2_system_add_impulses(system, x->unit, 1, x->node);
    for (int i = 0; i < system->nodes; i++) {
      x->node[i] *= system->inverse_mass[i];
    }
  } else {
    s2_system_push_all(system, x->unit, 1, x->node);
  }
  solve_nodes(l, x->node);
  s2_system_row_velocity(system, x->node, l->u);
  for (int k = 0; k < system->units; k++) {
    const S2Response *d = &l->response[k];
    x->unit[2 * k] -= d->nn * l->u[2 * k] + d->nt * l->u[2 * k + 1];
    x->unit[2 * k + 1] -= d->tt * l->u[2 * k + 1];
  }
}

// Runs conjugate residuals until r has shrunk to `enough` or no direction remains.
static void vjp_descend(S2McpLinear *l, double enough) {
  for (int i = 0; i < DIRECTIONS; i++) {
    S2VjpPair *step = &l->step[i], *change = &l->change[i];
    double size = sqrt(vjp_dot(l, &l->r, &l->r));
    if (!(size > enough)) {
      return;
    }
    // Take the direction M^-1 r. Make its effect on r orthogonal to the effects of all earlier
    // directions.
    vjp_approximate(l, &l->r, step);
    vjp_miss(l, NULL, step, change);
    for (int j = 0; j < i; j++) {
      double along = -vjp_dot(l, &l->change[j], change);
      vjp_add(l, along, &l->step[j], step);
      vjp_add(l, along, &l->change[j], change);
    }
    // Normalise it. A direction with almost no effect is the last one.
    double norm = sqrt(vjp_dot(l, change, change));
    if (!(norm > NOTHING * size)) {
      return;
    }
    vjp_add(l, 1 / norm - 1, step, step);
    vjp_add(l, 1 / norm - 1, change, change);
    // Take the step along this direction that reduces r most.
    double way = -vjp_dot(l, &l->r, change);
    vjp_add(l, way, step, &l->x);
    vjp_add(l, way, change, &l->r);
  }
}

static void vjp_copy(const S2McpLinear *l, S2VjpPair *to, const S2VjpPair *from) {
  memcpy(to->node, from->node, sizeof(S2Quad) * (size_t)(l->system.nodes + 1));
  memcpy(to->unit, from->unit, sizeof(double) * 2 * (size_t)l->system.units);
}

// Solves for p and eta, starting from zero. Returns the size of the residual.
static double vjp_solve(S2McpLinear *l, double size) {
  vjp_clear(l, &l->x);
  double missed = size, last = INFINITY;
  // Each round improves x along several directions, then recomputes the residual. Stop when the
  // residual is only rounding.
  for (int round = 0; round < ROUNDS && missed > ENOUGH * size && missed < GAIN * last; round++) {
    last = missed;
    vjp_copy(l, &l->kept, &l->x);
    vjp_miss(l, &l->data, &l->x, &l->r);
    vjp_descend(l, fmax(REDUCE * missed, ENOUGH * size));
    vjp_miss(l, &l->data, &l->x, &l->r);
    missed = sqrt(vjp_dot(l, &l->r, &l->r));
  }
  // The round added only rounding errors, or directions along which no row acts.
  if (missed > last) {
    vjp_copy(l, &l->x, &l->kept);
    missed = last;
  }
  vjp_miss(l, &l->data, &l->x, &l->r);
  return missed;
}

// Updates a residual r of the rows after one step x += M^-1 r. The new residual is the change of
// eta divided by WEIGHT. Parts of r that no x can remove stay unchanged, and all other parts
// shrink.
static void vjp_sieve(S2McpLinear *l) {
  vjp_approximate(l, &l->r, &l->step[0]);
  vjp_clear(l, &l->r);
  vjp_add(l, -1 / WEIGHT, &l->step[0], &l->r);
  memset(l->r.node, 0, sizeof(S2Quad) * (size_t)(l->system.nodes + 1));
}

static double size_of_eta(const S2McpLinear *l) {
  double sum = 0;
  for (int k = 0; k < 2 * l->system.units; k++) {
    sum += l->system.unit[k / 2].g[k % 2] * l->x.unit[k] * l->x.unit[k];
  }
  return sqrt(sum);
}

// Removes the undetermined part from the data. This is the part of the residual r that no x can
// remove.
static void leave_out_undetermined(S2McpLinear *l) {
  for (int i = 0; i < SIEVE; i++) {
    vjp_sieve(l);
  }
  vjp_add(l, -1, &l->r, &l->data);
}

// Returns true if active rows are linearly dependent. In this case, a part of almost any residual
// passes the sieve. This part may be small in a random residual, so doubtful cases need another
// one.
static bool vjp_redundant(S2McpLinear *l) {
  S2Rng rng = s2_rng_seeded(1);
  for (int probe = 0; probe < PROBES; probe++) {
    vjp_clear(l, &l->r);
    // A random residual in the active rows, with entries of about size 1.
    for (int k = 0; k < 2 * l->system.units; k++) {
      const S2Response *d = &l->response[k / 2];
      bool holds = (k % 2 == 0 ? d->nn : d->tt) > 0;
      l->r.unit[k] = holds ? s2_rng_normal(&rng) / sqrt(l->system.unit[k / 2].g[k % 2]) : 0;
    }
    double size = vjp_dot(l, &l->r, &l->r);
    for (int i = 0; i < SIEVE; i++) {
      vjp_sieve(l);
    }
    // Almost nothing passes five sieves unless rows are linearly dependent.
    double left = vjp_dot(l, &l->r, &l->r);
    if (!(left > DOUBT * DOUBT * size)) {
      return false;
    }
    if (left > REMAINS * REMAINS * size) {
      return true;
    }
  }
  return false;
}

// ---- Linearisation ----------------------------------------------------------------------------

// Computes y = A x with 3 numbers per node.
static void mobility_times(const S2Mobility *a, int nodes, const double *x, S2Quad *y) {
  for (int i = 0; i < nodes; i++) {
    y[i] = (S2Quad){0};
    for (int32_t p = a->start[i]; p < a->start[i + 1]; p++) {
      const double *block = a->block + 9 * (size_t)p, *from = x + 3 * (size_t)a->column[p];
      for (int r = 0; r < 3; r++) {
        y[i][r] += block[3 * r] * from[0] + block[3 * r + 1] * from[1] + block[3 * r + 2] * from[2];
      }
    }
  }
}

static S2Quad *energy_of(const S2Mobility *a, int nodes, S2Arena *arena) {
  S2Quad *energy = S2_TAKE_ZEROED(arena, S2Quad, nodes + 1);
  for (int i = 0; i < nodes; i++) {
    const double *block = s2_mobility_block(a, i, i);
    for (int r = 0; r < 3; r++) {
      energy[i][r] = block[4 * r] > 0 ? 1 / block[4 * r] : 1;
    }
  }
  return energy;
}

// Allocates all directions at once, although most are never written.
static void take_directions(S2McpLinear *l, S2Arena *arena) {
  int nodes = l->system.nodes + 1, units = 2 * l->system.units;
  S2Quad *node = S2_TAKE(arena, S2Quad, 2 * DIRECTIONS * nodes);
  double *unit = S2_TAKE(arena, double, 2 * DIRECTIONS * units);
  for (int i = 0; i < DIRECTIONS; i++, node += 2 * nodes, unit += 2 * units) {
    l->step[i] = (S2VjpPair){node, unit};
    l->change[i] = (S2VjpPair){node + nodes, unit + units};
  }
}

static S2McpLinear *vjp_make(const S2Problem *problem, const double *v, const double *lambda,
                             S2Arena *arena) {
  S2McpLinear *l = S2_TAKE(arena, S2McpLinear, 1);
  *l = (S2McpLinear){.v = v,
                     .lambda = lambda,
                     .problem = *problem,
                     .mobility = problem->mobility,
                     .arena = arena,
                     .yields = S2_VJP_NO_UNIT};
  S2System *system = &l->system;
  // The adjoint system uses A'.
  if (l->mobility != NULL) {
    l->problem.mobility = s2_mobility_transpose(l->mobility, problem->nodes, arena);
  }
  s2_system_init(system, &l->problem, arena);
  s2_system_prepare(system, arena);
  // Allocate the responses, the vectors of the adjoint system, and its results by rows and nodes.
  l->energy =
      l->mobility != NULL ? energy_of(l->mobility, problem->nodes, arena) : system->inverse_mass;
  l->soft = S2_TAKE_ZEROED(arena, S2Response, system->units);
  l->response = S2_TAKE_ZEROED(arena, S2Response, system->units);
  l->coupled = S2_TAKE(arena, S2Response, system->units);
  l->data = vjp_take(system, arena);
  l->x = vjp_take(system, arena);
  l->r = vjp_take(system, arena);
  l->kept = vjp_take(system, arena);
  take_directions(l, arena);
  l->u = S2_TAKE_ZEROED(arena, double, 2 * system->units);
  l->tie = S2_TAKE(arena, double, 2 * system->units);
  l->right = S2_TAKE(arena, S2Quad, system->nodes + 1);
  l->rest = S2_TAKE(arena, S2Quad, system->nodes + 1);
  l->bound = S2_TAKE_ZEROED(arena, signed char, problem->rows);
  l->sign = S2_TAKE_ZEROED(arena, double, problem->rows);
  l->p_node = S2_TAKE_ZEROED(arena, double, 3 * problem->nodes);
  l->rhs = S2_TAKE_ZEROED(arena, double, 3 * problem->nodes);
  l->force = S2_TAKE_ZEROED(arena, double, 3 * problem->nodes);
  l->eta_row = S2_TAKE_ZEROED(arena, double, problem->rows);
  l->u_row = S2_TAKE_ZEROED(arena, double, problem->rows);
  l->share_r = S2_TAKE(arena, double, problem->rows);
  l->share_z = S2_TAKE(arena, double, problem->rows);
  l->share_pr = S2_TAKE(arena, double, 3 * problem->nodes);
  l->share_pz = S2_TAKE(arena, double, 3 * problem->nodes);
  return l;
}

static S2Response vjp_transposed(const S2Unit *unit, const S2Response *d) {
  const double *g = unit->g;
  return (S2Response){d->nn, d->tn * g[1] / g[0], d->nt * g[0] / g[1], d->tt};
}

static void vjp_transpose(S2McpLinear *l) {
  for (int k = 0; k < l->system.units; k++) {
    l->response[k] = vjp_transposed(&l->system.unit[k], &l->response[k]);
  }
}

// Sets the response of a contact on the path. Its normal responds to its tangent (vjp_transposed),
// but the tangent does not respond to the normal.
static void vjp_soften(S2McpLinear *l, int k) {
  const S2Unit *unit = &l->system.unit[k];
  S2Response forward = s2_pairs_respond(unit, l->w + 4 * k, 0), d = vjp_transposed(unit, &forward);
  S2Response *soft = &l->soft[k];
  *soft = (S2Response){.nn = 1 / d.nn};
  // (D'^-1 + 1 / WEIGHT)^-1, which is triangular like D'.
  double normal = soft->nn + 1 / WEIGHT;
  l->response[k] = (S2Response){.nn = 1 / normal};
  if (unit->kind == S2_UNIT_CONTACT) {
    soft->nt = -d.nt / (d.nn * d.tt);
    soft->tt = 1 / d.tt;
    double tangent = soft->tt + 1 / WEIGHT;
    l->response[k].nt = -soft->nt / (normal * tangent);
    l->response[k].tt = 1 / tangent;
  }
}

static void vjp_factor(S2McpLinear *l) {
  // Sliding makes the matrix nonsymmetric.
  for (int k = 0; k < l->system.units; k++) {
    l->slides |= l->response[k].nt != 0;
  }
  // If active rows are linearly dependent, check whether contacts take part, and whether friction
  // yields to joints.
  if (l->system.nodes > 0 && !s2_system_factor(&l->system, l->response, l->slides)) {
    l->flags |= S2_VJP_SINGULAR;
  } else if (l->system.units > 0 && vjp_redundant(l)) {
    l->flags |= S2_VJP_REDUNDANT;
    int pair = S2_VJP_NO_UNIT;
    S2VjpTie tie = l->kappa == 0 ? s2_vjp_tie(l, &pair) : S2_TIE_NONE;
    for (int i = 0; i < PURE && tie != S2_TIE_NONE; i++) {
      vjp_sieve(l);
    }
    tie = tie != S2_TIE_NONE ? s2_vjp_tie(l, &pair) : S2_TIE_NONE;
    l->flags |= tie == S2_TIE_HOLDS ? S2_VJP_TIED : 0;
    l->yields = tie == S2_TIE_YIELDS ? pair : S2_VJP_NO_UNIT;
    if (tie != S2_TIE_NONE) {
      memcpy(l->tie, l->r.unit, sizeof(double) * 2 * (size_t)l->system.units);
    }
  }
}

// Contacts on the edge between two modes get the other mode if `beyond` is set.
static S2McpLinear *vjp_linearise(const S2Problem *problem, const double *v, const double *lambda,
                                  bool beyond, S2Arena *arena) {
  S2McpLinear *l = vjp_make(problem, v, lambda, arena);
  S2System *system = &l->system;
  if (!s2_all_finite(v, 3 * (size_t)problem->nodes) ||
      !s2_all_finite(lambda, (size_t)problem->rows)) {
    l->flags = S2_VJP_SINGULAR;
    return l;
  }
  // Find the modes of the solution. Their responses (vjp_transposed) give M.
  S2Mode *mode = S2_TAKE(arena, S2Mode, system->units);
  s2_system_read(system, v, lambda, l->x.node, l->x.unit);
  s2_system_row_velocity(system, l->x.node, l->u);
  s2_mcp_row_velocity(problem, v, l->u_row);
  S2VjpPoint at = {system, l->u, l->x.unit, l->u_row};
  l->flags |= s2_vjp_modes(&at, beyond, &(S2VjpModes){mode, l->bound, l->sign});
  s2_refine_respond(system, mode, WEIGHT, l->response);
  vjp_transpose(l);
  vjp_factor(l);
  return l;
}

S2McpLinear *s2_mcp_linearise(const S2Problem *problem, const double *v, const double *lambda,
                              S2Arena *arena) {
  S2McpLinear *l = vjp_linearise(problem, v, lambda, false, arena);
  // If a contact is on an edge, also linearise on the other side. Both derivatives may agree.
  if ((l->flags & S2_VJP_WEAK) != 0) {
    l->beyond = vjp_linearise(problem, v, lambda, true, arena);
    // This tie may include contacts that touch without pressing.
    if ((l->beyond->flags & S2_VJP_TIED) != 0) {
      l->flags |= S2_VJP_TIED;
      l->tie = l->beyond->tie;
      l->yields = S2_VJP_NO_UNIT;
    }
  }
  return l;
}

S2McpLinear *s2_mcp_smooth_linearise(const S2Problem *problem, double kappa,
                                     const S2SmoothSolution *solution, S2Arena *arena) {
  S2McpLinear *l = vjp_make(problem, solution->v, solution->lambda, arena);
  S2System *system = &l->system;
  l->kappa = kappa;
  l->w = S2_TAKE(arena, double, 4 * system->units);
  l->z = S2_TAKE(arena, double, 4 * system->units);
  bool good = kappa > 0 && s2_all_finite(solution->v, 3 * (size_t)problem->nodes) &&
              s2_all_finite(solution->lambda, (size_t)problem->rows);
  double scale = problem->velocity_scale;
  S2Mode *mode = S2_TAKE_ZEROED(arena, S2Mode, system->units);
  // The scaled pairs, with w = s / z = kappa / z^2.
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    double unscale[4] = {unit->g[0] * scale, unit->g[1] * scale, unit->g[1] * scale, scale};
    mode[k] = unit->kind == S2_UNIT_BILATERAL ? S2_STICK : S2_SEPARATE;
    for (int i = 0; i < s2_unit_pairs(unit); i++) {
      double z = solution->z[4 * unit->row + i] / unscale[i];
      l->z[4 * k + i] = z;
      l->w[4 * k + i] = kappa / (z * z);
      good = good && z > 0 && isfinite(l->w[4 * k + i]);
    }
  }
  if (!good) {
    l->flags = S2_VJP_SINGULAR;
    return l;
  }
  // Joints respond as in the exact case. The responses of contacts come from their pairs.
  s2_refine_respond(system, mode, WEIGHT, l->response);
  vjp_transpose(l);
  for (int k = 0; k < system->units; k++) {
    if (s2_vjp_is_smooth(l, k)) {
      vjp_soften(l, k);
    }
  }
  vjp_factor(l);
  return l;
}

// ---- Gradients --------------------------------------------------------------------------------

// Reads dl/d(v, lambda) and returns its size.
static double vjp_read(S2McpLinear *l, const double *dl_dv, const double *dl_dlambda) {
  const S2System *system = &l->system;
  double sum = 0;
  for (int i = 0; i < system->nodes; i++) {
    const double *d = dl_dv != NULL ? dl_dv + 3 * (size_t)i : (const double[3]){0};
    l->data.node[i] = (S2Quad){d[0], d[1], d[2], 0};
    memcpy(l->rhs + 3 * (size_t)i, d, 3 * sizeof(double));
  }
  // Local form: A' dl/dv.
  if (l->mobility != NULL) {
    mobility_times(l->problem.mobility, system->nodes, l->rhs, l->data.node);
  }
  // Measure the size as an energy.
  for (int i = 0; i < system->nodes; i++) {
    S2Quad energy = l->data.node[i] * l->data.node[i] * l->energy[i];
    sum += energy[0] + energy[1] + energy[2];
  }
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    for (int r = 0; r < 2; r++) {
      double d = dl_dlambda != NULL && r < unit->rows ? dl_dlambda[unit->row + r] : 0;
      l->data.unit[2 * k + r] = d;
      sum += unit->g[r] * d * d;
    }
  }
  return sqrt(sum);
}

// Converts the adjoint to the problem's order of nodes and rows.
static void vjp_unpack(S2McpLinear *l) {
  const S2System *system = &l->system;
  for (int i = 0; i < 3 * system->nodes; i++) {
    l->p_node[i] = l->x.node[i / 3][i % 3];
  }
  // J p of all rows, and eta by rows in the caller's units.
  s2_mcp_row_velocity(system->problem, l->p_node, l->u_row);
  memset(l->eta_row, 0, sizeof(double) * (size_t)system->problem->rows);
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    for (int r = 0; r < unit->rows; r++) {
      l->eta_row[unit->row + r] = l->x.unit[2 * k + r] * unit->g[r];
    }
  }
  if (l->mobility == NULL) {
    memcpy(l->rhs, l->p_node, sizeof(double) * 3 * (size_t)system->nodes);
    return;
  }
  memset(l->force, 0, sizeof(double) * 3 * (size_t)system->nodes);
  // Local form: compute dl/dc = dl/dv + J' eta, and J' lambda for dl/dA.
  for (int i = 0; i < l->problem.rows; i++) { // rhs holds dl/dv
    const S2Row *row = &l->problem.row[i];
    for (int k = 0; k < 3; k++) {
      l->rhs[3 * row->a + k] += row->ja[k] * l->eta_row[i];
      l->force[3 * row->a + k] += row->ja[k] * l->lambda[i];
    }
  }
}

static bool vjp_solved(const S2McpLinear *l, double missed, double size) {
  return missed <= ACCEPT * size && size_of_eta(l) <= GROWN * size;
}

// Returns the size of p in the norm of dl/dv.
static double vjp_reach(const S2McpLinear *l) {
  double sum = 0;
  for (int i = 0; i < l->system.nodes; i++) {
    S2Quad x = l->x.node[i], w = l->mobility == NULL ? 1 / l->energy[i] : l->energy[i];
    for (int c = 0; c < 3; c++) {
      sum += x[c] * x[c] * w[c];
    }
  }
  return sqrt(sum);
}

// Removes the undetermined part from the data, then solves from zero. Returns the residual.
static double solve_determined(S2McpLinear *l, double missed, double size) {
  vjp_clear(l, &l->x);
  vjp_miss(l, &l->data, &l->x, &l->r);
  for (int pass = 0; pass == 0 || (pass < PASSES && !(missed <= ACCEPT * size)); pass++) {
    leave_out_undetermined(l);
    missed = vjp_solve(l, size);
  }
  return missed;
}

// If sliding contacts share a load redundantly, their shares are not determined. Near such cases,
// derivatives grow without bound from step to step. This function treats friction as a given force
// and lets rows yield by 1 / WEIGHT. The resulting system is symmetric and has a solution for all
// dl/d(v, lambda). p is at most as large as dl/dv, and eta is at most sqrt(WEIGHT) times as large
// as dl/dv.
static void solve_yielding(S2McpLinear *l) {
  S2System *system = &l->system;
  memcpy(l->coupled, l->response, sizeof *l->response * (size_t)system->units);
  for (int k = 0; k < system->units; k++) {
    l->response[k].nt = 0;
  }
  vjp_clear(l, &l->x);
  // Friction is a given force, so the system is symmetric: factor it once.
  if (s2_system_factor(system, l->response, false)) {
    vjp_miss(l, &l->data, &l->x, &l->r);
    leave_out_undetermined(l);
    vjp_approximate(l, &l->data, &l->x);
    vjp_miss(l, &l->data, &l->x, &l->r);
  } else {
    l->flags |= S2_VJP_SINGULAR;
  }
  memcpy(l->response, l->coupled, sizeof *l->response * (size_t)system->units);
  if (!s2_system_factor(system, l->response, true)) { // restore the factors for the next product
    l->flags |= S2_VJP_SINGULAR;
  }
}

// Solves for p and eta and sets the flags. Returns false if a number is not finite.
static bool solve_flagged(S2McpLinear *l, const double *dl_dv, const double *dl_dlambda,
                          unsigned *flags) {
  double size = vjp_read(l, dl_dv, dl_dlambda), missed = vjp_solve(l, size);
  l->shared = false;
  if (!isfinite(missed) || vjp_solved(l, missed, size)) {
    return isfinite(missed);
  }
  // If a residual remains, the reason may be that the loss depends on how rows share a load.
  S2ArenaMark mark = s2_arena_mark(l->arena);
  bool shared = s2_vjp_share(l, dl_dv, dl_dlambda, size, l->arena, flags);
  s2_arena_rewind(l->arena, mark);
  if (shared) {
    return true;
  }
  missed = solve_determined(l, missed, size);
  bool good = vjp_solved(l, missed, size);
  // If the system has no solution, or p is far larger than dl/dv, use the bounded approximation.
  if (l->kappa == 0 && l->slides && !(good && vjp_reach(l) <= FAR * size)) {
    vjp_read(l, dl_dv, dl_dlambda);
    solve_yielding(l);
    good = (l->flags & S2_VJP_SINGULAR) == 0;
  }
  *flags |= S2_VJP_UNDETERMINED | (good ? 0 : S2_VJP_SINGULAR);
  return isfinite(vjp_dot(l, &l->x, &l->x)) && isfinite(vjp_dot(l, &l->r, &l->r));
}

// Returns true if the edges do not matter, because the derivatives on both sides agree.
static bool same_beyond(S2McpLinear *l, const double *dl_dv, const double *dl_dlambda) {
  S2McpLinear *beyond = l->beyond;
  unsigned flags = beyond->flags;
  if ((flags & S2_VJP_SINGULAR) != 0 || !solve_flagged(beyond, dl_dv, dl_dlambda, &flags) ||
      (flags & (S2_VJP_UNDETERMINED | S2_VJP_SINGULAR)) != 0) {
    return false;
  }
  double size = vjp_reach(l);
  vjp_add(l, -1, &l->x, &beyond->x);
  return vjp_reach(beyond) <= SAME * size;
}

// Adds null impulses to eta, which gives another valid derivative if rows are tied.
static void add_tie(S2McpLinear *l, double size) {
  S2VjpPair tie = {l->r.node, l->tie};
  vjp_clear(l, &l->r); // a tie consists of impulses only
  double own = sqrt(vjp_dot(l, &tie, &tie));
  vjp_add(l, OTHER * size / own, &tie, &l->x);
}

// Makes the friction part of eta 0 where friction yields to joints, by adding a multiple of the
// tie.
static void let_yield(S2McpLinear *l) {
  S2VjpPair tie = {l->r.node, l->tie};
  double pull = s2_vjp_pull(&l->system, l->x.unit, l->yields);
  vjp_clear(l, &l->r); // a tie consists of impulses only
  vjp_add(l, -pull / s2_vjp_pull(&l->system, l->tie, l->yields), &tie, &l->x);
}

unsigned s2_mcp_linear_vjp(S2McpLinear *l, const double *dl_dv, const double *dl_dlambda,
                           const S2McpGradient *gradient) {
  const S2Problem *problem = l->system.problem;
  unsigned flags = l->flags;
  s2_vjp_fill(problem, gradient, flags & S2_VJP_SINGULAR ? NAN : 0);
  if (flags & S2_VJP_SINGULAR || problem->nodes == 0) {
    return flags;
  }
  // Solve for p and eta, with flags. The result must be finite.
  if (!solve_flagged(l, dl_dv, dl_dlambda, &flags)) {
    s2_vjp_fill(problem, gradient, NAN);
    return flags | S2_VJP_SINGULAR;
  }
  // If both sides of all edges agree, clear the flag.
  if (l->beyond != NULL && same_beyond(l, dl_dv, dl_dlambda)) {
    flags &= ~(unsigned)S2_VJP_WEAK;
  }
  // Redundant rows permit other multipliers, so remove friction that yields, or add a multiple of
  // the tie.
  if (l->yields != S2_VJP_NO_UNIT) {
    let_yield(l);
  }
  if (l->other && (flags & S2_VJP_TIED) != 0) {
    add_tie(l, vjp_read(l, dl_dv, dl_dlambda));
  }
  vjp_unpack(l);
  s2_vjp_write(l, dl_dlambda, gradient);
  return flags;
}

unsigned s2_mcp_vjp(const S2Problem *problem, const double *v, const double *lambda,
                    const double *dl_dv, const double *dl_dlambda, const S2McpGradient *gradient,
                    S2Arena *arena) {
  unsigned small = 0;
  if (s2_mcp_vjp_bilateral(problem, v, lambda, dl_dv, dl_dlambda, gradient, arena)) {
    return 0;
  }
  if (s2_mcp_vjp_small(problem, v, lambda, dl_dv, dl_dlambda, gradient, arena, &small)) {
    return small;
  }
  // The faster methods for joints alone and for few rows do not apply, so use the general method,
  // which is ten times slower.
  S2ArenaMark mark = s2_arena_mark(arena);
  S2McpLinear *l = s2_mcp_linearise(problem, v, lambda, arena);
  unsigned flags = s2_mcp_linear_vjp(l, dl_dv, dl_dlambda, gradient);
  s2_arena_rewind(arena, mark);
  return flags;
}

unsigned s2_mcp_vjp_other(const S2Problem *problem, unsigned other, const double *v,
                          const double *lambda, const double *dl_dv, const double *dl_dlambda,
                          const S2McpGradient *gradient, S2Arena *arena) {
  bool beyond = (other & S2_VJP_OTHER_SIDE) != 0;
  unsigned small = 0;
  if (!beyond && s2_mcp_vjp_bilateral(problem, v, lambda, dl_dv, dl_dlambda, gradient, arena)) {
    return 0;
  }
  if (s2_mcp_vjp_small(problem, v, lambda, dl_dv, dl_dlambda, gradient, arena, &small)) {
    return small;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  S2McpLinear *l = beyond ? vjp_linearise(problem, v, lambda, true, arena)
                          : s2_mcp_linearise(problem, v, lambda, arena);
  l->other = (other & S2_VJP_OTHER_SHARE) != 0;
  unsigned flags = s2_mcp_linear_vjp(l, dl_dv, dl_dlambda, gradient);
  s2_arena_rewind(arena, mark);
  return flags;
}

unsigned s2_mcp_smooth_vjp(const S2Problem *problem, double kappa, const S2SmoothSolution *solution,
                           const double *dl_dv, const double *dl_dlambda,
                           const S2McpGradient *gradient, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  S2McpLinear *l = s2_mcp_smooth_linearise(problem, kappa, solution, arena);
  unsigned flags = s2_mcp_linear_vjp(l, dl_dv, dl_dlambda, gradient);
  s2_arena_rewind(arena, mark);
  return flags;
}
