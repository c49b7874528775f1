// Projected Gauss-Seidel. It updates the normal row of a contact, then the tangent row. Scalar
// steps with the current friction bound converge to Coulomb's law. Projections onto the whole cone
// would not.
#include "linalg/numbers.h"
#include "mcp/chain/pdipm_stages.h"

#include <math.h>
#include <string.h>

// In scaled units the diagonal of the Delassus matrix is 1, so the step of a row equals its
// velocity. The nodes are updated once for both rows. The coupling g therefore accounts for the
// change of the normal impulse in the tangent row.
S2_INLINE void pgs_relax(const S2System *system, int k, const S2Response *g, S2Quad *v,
                         double *lambda) {
  const S2Unit *unit = &system->unit[k];
  bool bilateral = unit->kind == S2_UNIT_BILATERAL;
  double u[2], change[2] = {0, 0};
  s2_system_unit_velocity(system, k, v, u);
  // The normal row takes one step by its velocity and is clipped to its bounds.
  double n = lambda[0] - (u[0] + unit->c[0] * lambda[0] + unit->b0[0]);
  if (unit->kind == S2_UNIT_BOX) {
    n = s2_unit_clip(unit, n);
  } else if (!bilateral) {
    n = n > 0 ? n : 0;
  }
  change[0] = n - lambda[0];
  lambda[0] = n;
  // The tangent row accounts for the change of the normal impulse through g. It is clipped to the
  // bound that the new normal impulse gives.
  if (unit->rows == 2) {
    double bound = unit->mu * n;
    double t = lambda[1] - (u[1] + g->tn * change[0] + unit->c[1] * lambda[1] + unit->b0[1]);
    if (!bilateral) {
      t = s2_clip(t, bound);
    }
    change[1] = t - lambda[1];
    lambda[1] = t;
  }
  if (change[0] != 0 || change[1] != 0) {
    s2_system_push(system, k, change, v);
  }
}

// Clips the impulses to their bounds, then computes their velocities and the couplings of all
// units.
static const S2Response *pgs_begin(const S2System *system, S2Quad *v, double *lambda,
                                   S2Arena *arena) {
  S2Response *coupling = S2_TAKE(arena, S2Response, system->units);
  for (int k = 0; k < system->units; k++) {
    coupling[k] = s2_system_coupling(system, k);
  }
  s2_system_clip(system, lambda);
  s2_system_velocity(system, lambda, v);
  return coupling;
}

S2_WIDE double s2_pgs_solve(const S2System *system, int sweeps, S2Quad *v, double *lambda,
                            S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  double *u = S2_TAKE(arena, double, 2 * system->units);
  const S2Response *coupling = pgs_begin(system, v, lambda, arena);
  // Alternate the direction of the sweeps to favour neither end of a stack.
  for (int sweep = 0; sweep < sweeps; sweep++) {
    for (int i = 0; i < system->units; i++) {
      int k = sweep % 2 == 0 ? i : system->units - 1 - i;
      pgs_relax(system, k, &coupling[k], v, lambda + 2 * k);
    }
  }
  s2_system_velocity(system, lambda, v); // recompute, because the updates accumulate rounding
  double residual = s2_system_residual(system, v, lambda, u);
  s2_arena_rewind(arena, mark);
  return residual;
}

// ---- Sweeps of piles ----------------------------------------------------------------------------

typedef double Pair __attribute__((vector_size(16))); // Values of a normal row and a tangent row.

// A unit of any kind, laid out for sweeps only. Velocities are multiplied by the square root of the
// masses, so that the same rows convert impulses to velocities of nodes, and velocities of nodes to
// velocities of rows. The bounds have the same form for all kinds of units.
typedef struct SweptUnit {
  S2Quad ja[2], jb[2];
  Pair g, c, b0;
  double tn;       // u_t per lambda_n: an entry of the scaled Delassus matrix
  double lo, hi;   // bounds of the normal impulse
  double mu, free; // bound of the tangent impulse: mu lambda_n + free, where free is 0 or infinite
  int32_t a, b;
} SweptUnit;

// A sweep interleaves this many parts of the list of units. Neighbouring units usually share a
// body, so the processor would otherwise have to finish one unit before it begins the next.
enum { SWEEP_PARTS = 4 };

typedef struct Sweeper {
  int units, nodes;
  SweptUnit *unit; // units in the order of a sweep
  int32_t *of;     // Index of each unit in S2System.unit.
  // Velocities, velocities before a sweep, and velocities of the direction p. They are vectors over
  // nodes, multiplied by the square roots of the masses. The first one includes the ground.
  S2Quad *v, *before, *v_of_p;
  // The impulses, their change in a sweep, and the conjugate direction, as vectors over units.
  Pair *lambda, *r, *p;
} Sweeper;

static void swept_unit(const S2System *system, int k, const S2Quad *root, SweptUnit *swept) {
  const S2Unit *unit = &system->unit[k];
  bool bilateral = unit->kind == S2_UNIT_BILATERAL, box = unit->kind == S2_UNIT_BOX;
  *swept = (SweptUnit){
      .g = {unit->g[0], unit->g[1]},
      .c = {unit->c[0], unit->c[1]},
      .b0 = {unit->b0[0], unit->b0[1]},
      .tn = s2_system_coupling(system, k).tn,
      .lo = bilateral ? -INFINITY
            : box     ? unit->lo
                      : 0,
      .hi = box ? unit->hi : INFINITY,
      .mu = bilateral || unit->rows < 2 ? 0 : unit->mu,
      .free = bilateral && unit->rows == 2 ? INFINITY : 0,
      .a = unit->a,
      .b = unit->b,
  };
  S2UnitRows j;
  s2_unit_rows(system, unit, &j);
  for (int r = 0; r < 2; r++) {
    swept->ja[r] = j.ja[r] * root[unit->a];
    swept->jb[r] = j.jb[r] * root[unit->b];
  }
}

// Starts from the given impulses, which are clipped to their bounds, and from their velocities.
static Sweeper sweeper_make(const S2System *system, const S2Quad *v, const double *lambda,
                            S2Arena *arena) {
  int n = system->nodes, units = system->units;
  Sweeper sweeper = {
      .units = units,
      .nodes = n,
      .unit = S2_TAKE(arena, SweptUnit, units),
      .of = S2_TAKE(arena, int32_t, units),
      .v = S2_TAKE_ZEROED(arena, S2Quad, n + 1),
      .before = S2_TAKE(arena, S2Quad, n),
      .v_of_p = S2_TAKE_ZEROED(arena, S2Quad, n),
      .lambda = S2_TAKE(arena, Pair, units),
      .r = S2_TAKE(arena, Pair, units),
      .p = S2_TAKE_ZEROED(arena, Pair, units),
  };
  // Compute the square roots of the inverse masses, and divide the velocities by them.
  S2Quad *root = S2_TAKE_ZEROED(arena, S2Quad, n + 1);
  for (int i = 0; i < n; i++) {
    for (int c = 0; c < 3; c++) {
      root[i][c] = sqrt(system->inverse_mass[i][c]);
      sweeper.v[i][c] = v[i][c] * sqrt(system->mass[i][c]);
    }
  }
  // Take one unit of each part in turn.
  int each = (units + SWEEP_PARTS - 1) / SWEEP_PARTS, at = 0;
  for (int first = 0; first < each; first++) {
    for (int k = first; k < units; k += each, at++) {
      swept_unit(system, k, root, &sweeper.unit[at]);
      sweeper.lambda[at] = (Pair){lambda[2 * k], lambda[2 * k + 1]};
      sweeper.of[at] = k;
    }
  }
  return sweeper;
}

// The size of the change that a sweep makes.
typedef struct Change {
  // Squared change of the impulses, weighted by g of their rows. It is an energy for any masses.
  double square;
  double most; // largest scaled change of an impulse, which is approximately the residual
} Change;

// Each of these two functions compiles to one instruction. They do not handle NaN.
S2_INLINE double sweep_larger(double a, double b) {
  return a > b ? a : b;
}

S2_INLINE double sweep_smaller(double a, double b) {
  return a < b ? a : b;
}

// Makes one sweep. Its change of the impulses goes to r and serves as a negative gradient.
S2_WIDE static Change nncg_sweep(const Sweeper *sweeper) {
  S2Quad *v = sweeper->v;
  Pair square = {0, 0}, most = {0, 0};
  for (int k = 0; k < sweeper->units; k++) {
    const SweptUnit *unit = &sweeper->unit[k];
    Pair before = sweeper->lambda[k];
    // Compute the velocities of both rows.
    S2Quad va = v[unit->a], vb = v[unit->b];
    S2Quad n = unit->ja[0] * va + unit->jb[0] * vb, t = unit->ja[1] * va + unit->jb[1] * vb;
    Pair u = {n[0] + n[1] + n[2], t[0] + t[1] + t[2]};
    Pair free = before - (u + unit->c * before + unit->b0);
    // Each row steps by its velocity. The tangent row uses the new normal impulse and the bound
    // that it gives.
    double normal = sweep_smaller(sweep_larger(free[0], unit->lo), unit->hi);
    double bound = unit->mu * normal + unit->free;
    double tangent = free[1] - unit->tn * (normal - before[0]);
    tangent = sweep_smaller(sweep_larger(tangent, -bound), bound);
    Pair after = {normal, tangent}, by = after - before, push = unit->g * by;
    sweeper->lambda[k] = after;
    sweeper->r[k] = by;
    v[unit->a] = va + (unit->ja[0] * push[0] + unit->ja[1] * push[1]);
    v[unit->b] = vb + (unit->jb[0] * push[0] + unit->jb[1] * push[1]);
    square += push * by;
    for (int s = 0; s < 2; s++) {
      most[s] = sweep_larger(fabs(by[s]), most[s]);
    }
  }
  return (Change){square[0] + square[1], sweep_larger(most[0], most[1])};
}

// Adds beta p to the impulses, then replaces p with beta p + kept r. Updates the velocities in the
// same way.
S2_WIDE static void nncg_extend(const Sweeper *sweeper, double beta, double kept) {
  for (int k = 0; k < sweeper->units; k++) {
    Pair more = beta * sweeper->p[k];
    sweeper->lambda[k] += more;
    sweeper->p[k] = more + kept * sweeper->r[k];
  }
  for (int i = 0; i < sweeper->nodes; i++) {
    S2Quad more = beta * sweeper->v_of_p[i], made = sweeper->v[i] - sweeper->before[i];
    sweeper->v[i] += more;
    sweeper->v_of_p[i] = more + kept * made;
  }
}

double s2_nncg_sweeps(const S2System *system, int sweeps, double enough, S2Quad *v, double *lambda,
                      S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  s2_system_clip(system, lambda);
  s2_system_velocity(system, lambda, v);
  Sweeper sweeper = sweeper_make(system, v, lambda, arena);
  double last = 0;
  for (int sweep = 0; sweep < sweeps; sweep++) {
    memcpy(sweeper.before, sweeper.v, sizeof(S2Quad) * (size_t)system->nodes);
    Change now = nncg_sweep(&sweeper);
    // After the last sweep no direction is added, so that the impulses stay within their bounds.
    if (now.most <= enough || sweep + 1 == sweeps) {
      break;
    }
    // Fletcher and Reeves: beta = |r|^2 / |last r|^2. Restart if the gradient grows.
    bool grows = last > 0 && !(now.square <= last);
    double beta = last > 0 && !grows ? now.square / last : 0, kept = grows ? 0 : 1;
    nncg_extend(&sweeper, beta, kept);
    last = now.square;
  }
  for (int k = 0; k < system->units; k++) {
    lambda[2 * sweeper.of[k]] = sweeper.lambda[k][0];
    lambda[2 * sweeper.of[k] + 1] = sweeper.lambda[k][1];
  }
  s2_system_velocity(system, lambda, v); // recompute, because the updates accumulate rounding
  double *u = S2_TAKE(arena, double, 2 * system->units);
  double residual = s2_system_residual(system, v, lambda, u);
  s2_history_add(system->history, residual, 1, 0);
  s2_arena_rewind(arena, mark);
  return residual;
}
