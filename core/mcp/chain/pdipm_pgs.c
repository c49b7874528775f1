// Projected Gauss-Seidel, normal row then tangent row of a contact. Scalar steps with the current
// cone converge to Coulomb's law; a projection onto the whole cone would not.
#include "linalg/numbers.h"
#include "mcp/chain/pdipm_stages.h"

#include <math.h>
#include <string.h>

// In scaled units the diagonal of the Delassus matrix is 1, so a row's step is its velocity. Both
// rows update the nodes together; the tangent sees the change of the normal through the coupling g.
S2_INLINE void pgs_relax(const S2System *system, int k, const S2Response *g, S2Quad *v,
                         double *lambda) {
  const S2Unit *unit = &system->unit[k];
  bool bilateral = unit->kind == S2_UNIT_BILATERAL;
  double u[2], change[2] = {0, 0};
  s2_system_unit_velocity(system, k, v, u);
  // The normal row: one step by its velocity, clipped to its bounds.
  double n = lambda[0] - (u[0] + unit->c[0] * lambda[0] + unit->b0[0]);
  if (unit->kind == S2_UNIT_BOX) {
    n = s2_unit_clip(unit, n);
  } else if (!bilateral) {
    n = n > 0 ? n : 0;
  }
  change[0] = n - lambda[0];
  lambda[0] = n;
  // The tangent sees the change of the normal through g, and is clipped to the bound of the new
  // normal impulse.
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

// Clips the impulses to their bounds; sets their velocities and the couplings of all units.
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
  // Sweeps alternate their direction, so that neither end of a stack is favoured.
  for (int sweep = 0; sweep < sweeps; sweep++) {
    for (int i = 0; i < system->units; i++) {
      int k = sweep % 2 == 0 ? i : system->units - 1 - i;
      pgs_relax(system, k, &coupling[k], v, lambda + 2 * k);
    }
  }
  s2_system_velocity(system, lambda, v); // the updates above have accumulated rounding
  double residual = s2_system_residual(system, v, lambda, u);
  s2_arena_rewind(arena, mark);
  return residual;
}

// ---- Sweeps of piles ----------------------------------------------------------------------------

typedef double Pair __attribute__((vector_size(16))); // of a normal and a tangent

// A unit of any kind, laid out for sweeps only. Velocities are multiplied by the root of their
// masses, so the same rows convert in both directions. The bounds do not depend on the kind.
typedef struct SweptUnit {
  S2Quad ja[2], jb[2];
  Pair g, c, b0;
  double tn;       // of the scaled Delassus matrix: u_t per lambda_n
  double lo, hi;   // of the normal impulse
  double mu, free; // the tangent's bound: mu lambda_n + free (0 or infinite)
  int32_t a, b;
} SweptUnit;

// Neighbouring units usually share a body, and the processor would finish one unit before it begins
// the next. So a sweep interleaves this many parts of the list.
enum { SWEEP_PARTS = 4 };

typedef struct Sweeper {
  int units, nodes;
  SweptUnit *unit; // in the order of a sweep
  int32_t *of;     // their indices in S2System.unit
  // Vectors over nodes, times the roots of masses: velocities, also of the ground; velocities
  // before a sweep; velocities of p.
  S2Quad *v, *before, *v_of_p;
  Pair *lambda, *r, *p; // of units; the change by a sweep; the conjugate direction
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

// Starts from the given impulses, clipped to their bounds, and their velocities.
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
  // Roots of inverse masses; velocities divided by them.
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

// The change by a sweep.
typedef struct Change {
  double square; // of impulses, weighted by their row's g: an energy for all masses
  double most;   // largest change of a row's impulse, scaled: about the residual
} Change;

// These two functions do not handle NaN; each is one instruction.
S2_INLINE double sweep_larger(double a, double b) {
  return a > b ? a : b;
}

S2_INLINE double sweep_smaller(double a, double b) {
  return a < b ? a : b;
}

// One sweep. r receives its change, which serves as minus a gradient.
S2_WIDE static Change nncg_sweep(const Sweeper *sweeper) {
  S2Quad *v = sweeper->v;
  Pair square = {0, 0}, most = {0, 0};
  for (int k = 0; k < sweeper->units; k++) {
    const SweptUnit *unit = &sweeper->unit[k];
    Pair before = sweeper->lambda[k];
    // The velocities of both rows.
    S2Quad va = v[unit->a], vb = v[unit->b];
    S2Quad n = unit->ja[0] * va + unit->jb[0] * vb, t = unit->ja[1] * va + unit->jb[1] * vb;
    Pair u = {n[0] + n[1] + n[2], t[0] + t[1] + t[2]};
    Pair free = before - (u + unit->c * before + unit->b0);
    // Each row steps by its velocity. The tangent sees the change of the normal and its bound.
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

// Adds p to the impulses, then sets p = beta p + kept r; the velocities likewise.
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
    // The last sweep adds no direction, so that impulses stay within their bounds.
    if (now.most <= enough || sweep + 1 == sweeps) {
      break;
    }
    // Fletcher and Reeves, beta = |r|^2 / |last r|^2; restarted if the gradient grows.
    bool grows = last > 0 && !(now.square <= last);
    double beta = last > 0 && !grows ? now.square / last : 0, kept = grows ? 0 : 1;
    nncg_extend(&sweeper, beta, kept);
    last = now.square;
  }
  for (int k = 0; k < system->units; k++) {
    lambda[2 * sweeper.of[k]] = sweeper.lambda[k][0];
    lambda[2 * sweeper.of[k] + 1] = sweeper.lambda[k][1];
  }
  s2_system_velocity(system, lambda, v); // the updates above have accumulated rounding
  double *u = S2_TAKE(arena, double, 2 * system->units);
  double residual = s2_system_residual(system, v, lambda, u);
  s2_history_add(system->history, residual, 1, 0);
  s2_arena_rewind(arena, mark);
  return residual;
}
