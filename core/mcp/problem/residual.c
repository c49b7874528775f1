// The parts of the residual, with V and L of the problem and w_i = diag(J W^-1 J' + C) of row i:
//
//   dynamics   d = W v - J' lambda - c               raw |d|, scaled |d / W| / V
//   normal     m = min(w lambda_n, u_n)              raw |min(lambda_n, u_n)|, scaled |m| / V
//   friction   e = w (lambda_t - s2_clip(lambda_t - u_t / w, -mu l, mu l)), l = max(lambda_n, 0)
//                                                    raw |e / w|, scaled |e| / V
//   boxed      the same between lo and hi, in `cone`
//   bilateral  u                                     raw |u|, scaled |u| / V
//
// Here u = J v + C lambda + b. All parts are max norms. Angular quantities are multiplied by L
// before they are scaled. These are the first component of d / W, and rows whose Jacobian has only
// an angular part. Rows with a compliance C are multiplied by (w_i - C) / w_i, because an impulse
// error dl changes u by w_i dl but the velocities of bodies only by (w_i - C) dl. `scaled` is the
// largest of all parts. Any NaN makes it NaN, which no tolerance accepts.
#include "mcp/solvers.h"

#include "linalg/numbers.h"

#include <math.h>

bool s2_row_is_angular(const S2Row *row) {
  return row->ja[1] == 0 && row->ja[2] == 0 && row->jb[1] == 0 && row->jb[2] == 0;
}

double s2_row_weight(const S2Problem *problem, const S2Row *row) {
  double unit = s2_row_is_angular(row) ? problem->length : 1;
  if (row->compliance > 0) {
    double w = s2_mcp_delassus(problem, row, row);
    unit *= w > 0 ? w / (w + row->compliance) : 1;
  }
  return unit;
}

// Computes velocities from the impulses lambda + low.
static void residual_balance(const S2Problem *problem, const double *lambda, const double *low,
                             double *v, S2Arena *arena) {
  if (low == NULL || problem->mobility != NULL) {
    s2_mcp_velocity(problem, lambda, v);
    return;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Double2 *sum = S2_TAKE(arena, S2Double2, problem->rows);
  S2Double2 *balanced = S2_TAKE(arena, S2Double2, 3 * problem->nodes);
  for (int i = 0; i < problem->rows; i++) {
    sum[i] = (S2Double2){lambda[i], low[i]};
  }
  s2_mcp_velocity_precise(problem, sum, balanced);
  for (int i = 0; i < 3 * problem->nodes; i++) {
    v[i] = balanced[i].hi;
  }
  s2_arena_rewind(arena, mark);
}

// Returns |lambda - clip(lambda - push, lo, hi)|.
static double residual_excess(double lambda, double push, double lo, double hi) {
  double aim = lambda - push;
  return fabs(lambda - (aim > hi ? hi : aim < lo ? lo : aim));
}

// Returns the same for a friction row with bounds +- mu lambda_n, whose impulses are sums of two
// doubles. Between the bounds, returns |push| directly, because lambda - (lambda - push) would lose
// digits.
static double residual_cone(const S2Row *row, const double *lambda, const double *low,
                            double push) {
  int n = row->coupled_to;
  S2Double2 tangent = {lambda[n + 1], low[n + 1]}, normal = {lambda[n], low[n]};
  S2Double2 bound = s2_double2_multiply(normal, (S2Double2){row->mu, 0});
  double above = s2_double2_add(tangent, s2_double2_negate(bound)).hi;
  double below = s2_double2_add(tangent, bound).hi;
  return fabs(push < above ? above : push > below ? below : push);
}

S2Residual s2_mcp_residual_of_sum(const S2Problem *problem, const double *v, const double *lambda,
                                  const double *low, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  double *u = S2_TAKE(arena, double, problem->rows);
  double *balanced = S2_TAKE(arena, double, 3 * problem->nodes);
  s2_mcp_row_velocity(problem, v, u);
  residual_balance(problem, lambda, low, balanced, arena);
  // Dynamics: compare v with W^-1 (c + J' lambda), the velocities that result from the impulses.
  S2Residual residual = {0};
  double scaled = 0; // largest error as a velocity
  for (int i = 0; i < 3 * problem->nodes; i++) {
    double error = fabs(v[i] - balanced[i]);
    double inertia = problem->mobility == NULL ? problem->mass[i] : 1;
    residual.dynamics = s2_larger(residual.dynamics, error * inertia);
    scaled = s2_larger(scaled, i % 3 == 0 ? error * problem->length : error);
  }
  // Rows: compute the residual by the law of each kind of row, in its own units and as a velocity.
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    double speed = u[i] + row->compliance * lambda[i] + row->bias, error;
    bool bilateral = row->coupled_to < 0 && row->hi == INFINITY && row->lo == -INFINITY;
    double w = bilateral ? 0 : s2_mcp_delassus(problem, row, row) + row->compliance;
    double push = w > 0 ? speed / w : 0;
    // Friction and boxed rows: compare lambda with lambda - u / w clipped to the bounds.
    if (row->coupled_to >= 0 || (!bilateral && isfinite(row->hi))) {
      double most = row->coupled_to >= 0 ? row->mu * fmax(lambda[row->coupled_to], 0) : row->hi;
      double least = row->coupled_to >= 0 ? -most : row->lo;
      bool sums = low != NULL && row->coupled_to >= 0 && lambda[row->coupled_to] > 0;
      double excess = sums ? residual_cone(row, lambda, low, push)
                           : residual_excess(lambda[i], push, least, most);
      residual.cone = s2_larger(residual.cone, excess);
      error = excess * w;
    } else if (bilateral) {
      error = fabs(speed);
      residual.joint = s2_larger(residual.joint, error);
    } else {
      // Normal rows: min(w lambda, u).
      double least = speed > lambda[i] ? lambda[i] : speed;
      residual.complementarity = s2_larger(residual.complementarity, fabs(least));
      error = fabs(speed > w * lambda[i] ? w * lambda[i] : speed);
    }
    scaled = s2_larger(scaled, error * s2_row_weight(problem, row));
  }
  residual.scaled = scaled / problem->velocity_scale;
  s2_arena_rewind(arena, mark);
  return residual;
}

S2Residual s2_mcp_residual(const S2Problem *problem, const double *v, const double *lambda,
                           S2Arena *arena) {
  return s2_mcp_residual_of_sum(problem, v, lambda, NULL, arena);
}

S2SolveStatus s2_solver_refuse(const S2Problem *problem, S2Arena *arena, S2Solution *solution) {
  solution->iterations = 0;
  solution->residual = s2_mcp_residual(problem, solution->v, solution->lambda, arena);
  return solution->status = S2_UNSUPPORTED;
}
