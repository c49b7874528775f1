// What is measured, with V, L of the problem and w_i = diag(J W^-1 J' + C) of row i:
//
//   dynamics   d = W v - J' lambda - c               raw |d|, scaled |d / W| / V
//   normal     m = min(w lambda_n, u_n)              raw |min(lambda_n, u_n)|, scaled |m| / V
//   friction   e = w (lambda_t - s2_clip(lambda_t - u_t / w, -mu l, mu l)), l = max(lambda_n, 0)
//                                                    raw |e / w|, scaled |e| / V
//   boxed      the same between lo and hi, in `cone`
//   bilateral  u                                     raw |u|, scaled |u| / V
//
// u = J v + C lambda + b. All are max norms. Angular things (the first component of d / W, and rows
// whose Jacobian has an angular part only) are multiplied by L before they are scaled. `scaled` is
// the largest of the four. A NaN anywhere makes it NaN, which is below no tolerance.
#include "mcp/solvers.h"

#include "linalg/numbers.h"

#include <math.h>

bool s2_row_is_angular(const S2Row *row) {
  return row->ja[1] == 0 && row->ja[2] == 0 && row->jb[1] == 0 && row->jb[2] == 0;
}

S2Residual s2_mcp_residual(const S2Problem *problem, const double *v, const double *lambda,
                           S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  double *u = S2_TAKE(arena, double, problem->rows);
  double *balanced = S2_TAKE(arena, double, 3 * problem->nodes);
  s2_mcp_row_velocity(problem, v, u);
  s2_mcp_velocity(problem, lambda, balanced);
  // Dynamics: v against W^-1 (c + J' lambda), the velocities that belong to the impulses.
  S2Residual residual = {0};
  double scaled = 0; // all measured in velocities first
  for (int i = 0; i < 3 * problem->nodes; i++) {
    double error = fabs(v[i] - balanced[i]);
    double inertia = problem->mobility == NULL ? problem->mass[i] : 1;
    residual.dynamics = s2_larger(residual.dynamics, error * inertia);
    scaled = s2_larger(scaled, i % 3 == 0 ? error * problem->length : error);
  }
  // Rows: what the law of each kind leaves over, in its own units and as a velocity.
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    double speed = u[i] + row->compliance * lambda[i] + row->bias, error;
    bool bilateral = row->coupled_to < 0 && row->hi == INFINITY && row->lo == -INFINITY;
    double w = bilateral ? 0 : s2_mcp_delassus(problem, row, row) + row->compliance;
    // Friction: lambda_t against clip(lambda_t - u_t / w, -mu l, mu l).
    if (row->coupled_to >= 0) {
      double bound = row->mu * fmax(lambda[row->coupled_to], 0);
      double push = w > 0 ? speed / w : 0;
      double excess = fabs(lambda[i] - s2_clip(lambda[i] - push, bound));
      residual.cone = s2_larger(residual.cone, excess);
      error = excess * w;
    } else if (bilateral) {
      error = fabs(speed);
      residual.joint = s2_larger(residual.joint, error);
      // Boxed rows: the same between lo and hi.
    } else if (isfinite(row->hi)) {
      double aim = lambda[i] - (w > 0 ? speed / w : 0);
      double excess = fabs(lambda[i] - (aim > row->hi ? row->hi : aim < row->lo ? row->lo : aim));
      residual.cone = s2_larger(residual.cone, excess);
      error = excess * w;
    } else {
      // Normal rows: min(w lambda, u).
      double least = speed > lambda[i] ? lambda[i] : speed;
      residual.complementarity = s2_larger(residual.complementarity, fabs(least));
      error = fabs(speed > w * lambda[i] ? w * lambda[i] : speed);
    }
    scaled = s2_larger(scaled, s2_row_is_angular(row) ? error * problem->length : error);
  }
  residual.scaled = scaled / problem->velocity_scale;
  s2_arena_rewind(arena, mark);
  return residual;
}

S2SolveStatus s2_solver_refuse(const S2Problem *problem, S2Arena *arena, S2Solution *solution) {
  solution->iterations = 0;
  solution->residual = s2_mcp_residual(problem, solution->v, solution->lambda, arena);
  return solution->status = S2_UNSUPPORTED;
}
