// Converts the step problem to other unknowns.
// The notes on Compliant use velocities in eq. 13, accelerations in eq. 58 and changes of velocity
// in eq. 60. The new unknowns are x = (v - v_k)/s and f, where the impulses are l = s f.
//
//     W x - J' f = (c - W v_k)/s,    J x + C f + (b + J v_k)/s,    bounds over s.
//
// The scale s is 1 for changes of velocity. For accelerations it is h, and f are forces. The exact
// solutions are the same. Only rounding errors differ.
#include "dynamics/step/solve.h"

#include <string.h>

static double scale_of(const S2Step *step) {
  return step->world->kept.def.formulation == S2_FORM_ACCELERATION ? step->h : 1;
}

// Returns the velocity v_k of an unknown. It is 0 for copies of a constraint's bodies, because
// their rows include the velocity.
static double before_of(const S2Assembly *assembly, const double *before, int i) {
  return assembly->place[i] == S2_NONE ? 0 : before[assembly->place[i]];
}

S2Problem s2_step_pose(const S2Step *step, const S2Assembly *assembly, const double *before) {
  S2Problem posed = assembly->problem;
  if (step->world->kept.def.formulation == S2_FORM_VELOCITY) {
    return posed;
  }
  double scale = scale_of(step);
  double *rhs = S2_TAKE(step->arena, double, 3 * posed.nodes);
  S2Row *rows = S2_TAKE(step->arena, S2Row, posed.rows);
  // The right-hand side becomes (c - W v_k)/s. Convert the guess in the same way.
  for (int i = 0; i < 3 * posed.nodes; i++) {
    double v = before_of(assembly, before, i);
    rhs[i] = (posed.rhs[i] - posed.mass[i] * v) / scale;
    assembly->v[i] = (assembly->v[i] - v) / scale;
  }
  // The bias becomes (b + J v_k)/s. Divide the bounds and guesses of impulses by s.
  for (int i = 0; i < posed.rows; i++) {
    S2Row *row = &rows[i];
    *row = posed.row[i];
    for (int c = 0; c < 3; c++) {
      row->bias +=
          row->a == S2_GROUND ? 0 : row->ja[c] * before_of(assembly, before, 3 * row->a + c);
      row->bias +=
          row->b == S2_GROUND ? 0 : row->jb[c] * before_of(assembly, before, 3 * row->b + c);
    }
    row->bias /= scale;
    row->lo /= scale;
    row->hi /= scale;
    assembly->lambda[i] /= scale;
  }
  posed.rhs = rhs;
  posed.row = rows;
  posed.velocity_scale /= scale;
  return posed;
}

void s2_step_unpose(const S2Step *step, const S2Assembly *assembly, const double *before,
                    double tolerance, S2Solution *solution) {
  if (step->world->kept.def.formulation == S2_FORM_VELOCITY) {
    return;
  }
  const S2Problem *problem = &assembly->problem;
  double scale = scale_of(step);
  for (int i = 0; i < 3 * problem->nodes; i++) {
    solution->v[i] = before_of(assembly, before, i) + scale * solution->v[i];
  }
  for (int i = 0; i < problem->rows; i++) {
    solution->lambda[i] *= scale;
    solution->low[i] *= scale;
  }
  solution->residual =
      s2_mcp_residual_of_sum(problem, solution->v, solution->lambda, solution->low, step->arena);
  bool good = solution->residual.scaled <= tolerance;
  if (good || solution->status == S2_SOLVED) {
    solution->status = good ? S2_SOLVED : S2_MAX_ITERATIONS;
  }
}
