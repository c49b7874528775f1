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

// |change|^2 and the changes themselves, which are minus a gradient; impulses weigh by their row's
// g, which makes it an energy whatever the masses are.
S2_WIDE static double nncg_gradient(const S2System *system, const double *lambda,
                                    const double *before, double *r) {
  double sum = 0;
  for (int k = 0; k < system->units; k++) {
    for (int s = 0; s < 2; s++) {
      double change = r[2 * k + s] = lambda[2 * k + s] - before[2 * k + s];
      sum += system->unit[k].g[s] * change * change;
    }
  }
  return sum;
}

S2_WIDE double s2_nncg_sweeps(const S2System *system, int sweeps, S2Quad *v, double *lambda,
                              S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int two = 2 * system->units;
  size_t size = sizeof(double) * (size_t)two;
  double *before = S2_TAKE(arena, double, two), *r = S2_TAKE(arena, double, two);
  double *p = S2_TAKE_ZEROED(arena, double, two), *u = S2_TAKE(arena, double, two), last = 0;
  const S2Response *coupling = pgs_begin(system, v, lambda, arena);
  for (int sweep = 0; sweep < sweeps; sweep++) {
    memcpy(before, lambda, size);
    for (int k = 0; k < system->units; k++) {
      pgs_relax(system, k, &coupling[k], v, lambda + 2 * k);
    }
    double now = nncg_gradient(system, lambda, before, r);
    // Fletcher and Reeves, beta = |r|^2 / |last r|^2, begun anew where the gradient grows; nothing
    // is added to the last sweep, which leaves impulses within their bounds.
    if (last > 0 && now <= last && sweep + 1 < sweeps) {
      double beta = now / last;
      for (int i = 0; i < two; i++) {
        lambda[i] += beta * p[i];
        p[i] = beta * p[i] + r[i];
      }
      s2_system_velocity(system, lambda, v);
    } else if (last > 0) {
      memset(p, 0, size);
    } else {
      memcpy(p, r, size);
    }
    last = now;
  }
  s2_system_velocity(system, lambda, v);
  double residual = s2_system_residual(system, v, lambda, u);
  s2_arena_rewind(arena, mark);
  return residual;
}
