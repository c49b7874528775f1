// Projected Gauss-Seidel, normal row then tangent row of a contact: scalar steps with the current
// cone converge to Coulomb's law where a projection on the cone as a whole would not.
#include "mcp/pdipm_stages.h"

#include <math.h>

S2_INLINE void set(const S2System *system, const S2Unit *unit, int r, double value, S2Quad *v,
                   double *lambda) {
  double change = (value - *lambda) * unit->g[r];
  *lambda = value;
  v[unit->a] += system->inverse_mass[unit->a] * unit->ja[r] * change;
  v[unit->b] += system->inverse_mass[unit->b] * unit->jb[r] * change;
}

S2_INLINE double speed(const S2Unit *unit, int r, const S2Quad *v, double lambda) {
  S2Quad s = unit->ja[r] * v[unit->a] + unit->jb[r] * v[unit->b];
  return s[0] + s[1] + s[2] + unit->c[r] * lambda + unit->b0[r];
}

// In scaled units the diagonal of the Delassus matrix is 1: a row's own step is its velocity.
S2_INLINE void relax(const S2System *system, const S2Unit *unit, S2Quad *v, double *lambda) {
  double n = lambda[0] - speed(unit, 0, v, lambda[0]);
  bool bilateral = unit->kind == S2_UNIT_BILATERAL;
  set(system, unit, 0, bilateral ? n : fmax(n, 0), v, lambda);
  if (unit->rows < 2) {
    return;
  }
  double t = lambda[1] - speed(unit, 1, v, lambda[1]), bound = unit->mu * lambda[0];
  set(system, unit, 1, bilateral ? t : fmax(-bound, fmin(bound, t)), v, lambda + 1);
}

S2_WIDE double s2_pgs_solve(const S2System *system, int sweeps, S2Quad *v, double *lambda,
                            S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  double *u = S2_TAKE(arena, double, 2 * system->units);
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    if (unit->kind != S2_UNIT_BILATERAL) {
      double n = lambda[2 * k] = fmax(lambda[2 * k], 0), t = lambda[2 * k + 1];
      lambda[2 * k + 1] = fmax(-unit->mu * n, fmin(unit->mu * n, t));
    }
  }
  s2_system_velocity(system, lambda, v);
  for (int sweep = 0; sweep < sweeps; sweep++) {
    for (int i = 0; i < system->units; i++) {
      int k = sweep % 2 == 0 ? i : system->units - 1 - i;
      relax(system, &system->unit[k], v, lambda + 2 * k);
    }
  }
  s2_system_velocity(system, lambda, v); // the updates above have rounded many times
  double residual = s2_system_residual(system, v, lambda, u);
  s2_arena_rewind(arena, mark);
  return residual;
}
