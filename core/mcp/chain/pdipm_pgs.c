// Projected Gauss-Seidel, normal row then tangent row of a contact: scalar steps with the current
// cone converge to Coulomb's law where a projection on the cone as a whole would not.
#include "linalg/numbers.h"
#include "mcp/chain/pdipm_stages.h"

#include <math.h>
#include <string.h>

// In scaled units the diagonal of the Delassus matrix is 1: a row's own step is its velocity. The
// nodes hear of both rows at once, the tangent of the normal through the coupling g.
S2_INLINE void pgs_relax(const S2System *system, int k, const S2Response *g, S2Quad *v,
                         double *lambda) {
  const S2Unit *unit = &system->unit[k];
  bool bilateral = unit->kind == S2_UNIT_BILATERAL;
  double u[2], change[2] = {0, 0};
  s2_system_unit_velocity(system, k, v, u);
  // The normal row: one step of its own velocity, into its bounds.
  double n = lambda[0] - (u[0] + unit->c[0] * lambda[0] + unit->b0[0]);
  if (unit->kind == S2_UNIT_BOX) {
    n = s2_unit_clip(unit, n);
  } else if (!bilateral) {
    n = n > 0 ? n : 0;
  }
  change[0] = n - lambda[0];
  lambda[0] = n;
  // The tangent feels the change of the normal through g, and the bound of the new normal impulse.
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

// Impulses within their bounds, the velocities that belong to them, and couplings of all units.
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
  // There and back again, so that neither end of a stack is favoured.
  for (int sweep = 0; sweep < sweeps; sweep++) {
    for (int i = 0; i < system->units; i++) {
      int k = sweep % 2 == 0 ? i : system->units - 1 - i;
      pgs_relax(system, k, &coupling[k], v, lambda + 2 * k);
    }
  }
  s2_system_velocity(system, lambda, v); // the updates above have rounded many times
  double residual = s2_system_residual(system, v, lambda, u);
  s2_arena_rewind(arena, mark);
  return residual;
}

// What a sweep has changed.
typedef struct Change {
  double square; // of impulses, which weigh by their row's g: an energy whatever the masses are
  double most;   // of a row's impulse, scaled: about the residual
} Change;

// One sweep, and in r what it has changed, which is taken for minus a gradient.
S2_WIDE static Change nncg_sweep(const S2System *system, const S2Response *coupling, S2Quad *v,
                                 double *lambda, double *r) {
  Change change = {0, 0};
  for (int k = 0; k < system->units; k++) {
    double before[2] = {lambda[2 * k], lambda[2 * k + 1]};
    pgs_relax(system, k, &coupling[k], v, lambda + 2 * k);
    for (int s = 0; s < 2; s++) {
      double by = r[2 * k + s] = lambda[2 * k + s] - before[s];
      change.square += system->unit[k].g[s] * by * by;
      change.most = s2_larger(change.most, fabs(by));
    }
  }
  return change;
}

S2_WIDE double s2_nncg_sweeps(const S2System *system, int sweeps, double enough, S2Quad *v,
                              double *lambda, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int two = 2 * system->units, n = system->nodes;
  double *r = S2_TAKE(arena, double, two), *p = S2_TAKE_ZEROED(arena, double, two), last = 0;
  // Velocities before a sweep, and those that the impulses p bring.
  S2Quad *before = S2_TAKE(arena, S2Quad, n), *v_of_p = S2_TAKE_ZEROED(arena, S2Quad, n);
  const S2Response *coupling = pgs_begin(system, v, lambda, arena);
  for (int sweep = 0; sweep < sweeps; sweep++) {
    memcpy(before, v, sizeof(S2Quad) * (size_t)n);
    Change now = nncg_sweep(system, coupling, v, lambda, r);
    // Nothing is added to the last sweep, which leaves impulses within their bounds.
    if (now.most <= enough || sweep + 1 == sweeps) {
      break;
    }
    // Fletcher and Reeves, beta = |r|^2 / |last r|^2, begun anew where the gradient grows.
    bool grows = last > 0 && !(now.square <= last);
    double beta = last > 0 && !grows ? now.square / last : 0, kept = grows ? 0 : 1;
    for (int i = 0; i < two; i++) {
      lambda[i] += beta * p[i];
      p[i] = beta * p[i] + kept * r[i];
    }
    for (int i = 0; i < n; i++) {
      S2Quad made = v[i] - before[i];
      v[i] += beta * v_of_p[i];
      v_of_p[i] = beta * v_of_p[i] + kept * made;
    }
    last = now.square;
  }
  s2_system_velocity(system, lambda, v); // the updates above have rounded many times
  double residual = s2_system_residual(system, v, lambda, r);
  s2_history_add(system->history, residual, 1, 0);
  s2_arena_rewind(arena, mark);
  return residual;
}
