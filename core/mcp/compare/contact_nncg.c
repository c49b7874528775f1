// Nonsmooth nonlinear conjugate gradients (Silcowitz-Hansen, Niebe, Erleben 2010). The change in a
// sweep of projected Gauss-Seidel serves as the negative gradient of a function whose minimum is
// the solution. A Fletcher-Reeves direction is added after each sweep. Norms weight impulses by g
// of their rows, so they are energies for any masses.
#include "mcp/compare/relaxation.h"

#include <string.h>

S2_WIDE static double nncg_difference(const S2System *system, const double *lambda,
                                      const double *before, double *r) {
  double sum = 0;
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    for (int s = 0; s < 2; s++) {
      double change = r[2 * k + s] = lambda[2 * k + s] - before[2 * k + s];
      sum += unit->g[s] * change * change;
    }
  }
  return sum;
}

S2SolveStatus s2_contact_nncg_solve(const S2Problem *problem, const S2SolverOptions *options,
                                    S2Arena *arena, S2Solution *solution) {
  S2Relaxation run;
  if (!s2_relaxation_begin(&run, problem, options, arena, solution)) {
    return s2_relaxation_end(&run, solution);
  }
  int size = 2 * run.system.units;
  double *before = S2_TAKE(arena, double, size), *r = S2_TAKE(arena, double, size);
  double *p = S2_TAKE_ZEROED(arena, double, size), last = 0; // |r|^2 of the previous sweep.
  // Each sweep acts as a gradient step, and the change of the impulses is r.
  for (;;) {
    memcpy(before, run.lambda, sizeof(double) * (size_t)size);
    s2_relaxation_sweep(&run, S2_SWEEP_ROWS, 1, false);
    double now = nncg_difference(&run.system, run.lambda, before, r);
    // Compute the residual before a direction is added, so that the point is inside the cones.
    if (run.sweeps % S2_SWEEPS_PER_CHECK == 0 && !s2_relaxation_check(&run)) {
      break;
    }
    // Fletcher and Reeves: beta = |r|^2 / |last r|^2.
    if (last > 0 && now <= last) {
      double beta = now / last;
      for (int i = 0; i < size; i++) {
        run.lambda[i] += beta * p[i];
        p[i] = beta * p[i] + r[i];
      }
      s2_system_velocity(&run.system, run.lambda, run.v);
    } else if (last > 0) {
      memset(p, 0, sizeof(double) * (size_t)size); // restart
    } else {
      memcpy(p, r, sizeof(double) * (size_t)size);
    }
    last = now;
  }
  return s2_relaxation_end(&run, solution);
}
