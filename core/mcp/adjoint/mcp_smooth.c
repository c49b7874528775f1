// Points on the central path of a step problem. The interior-point method finds them by aiming at
// kappa instead of 0.
#include "linalg/numbers.h"
#include "mcp/adjoint/mcp_vjp.h"
#include "mcp/chain/pdipm_step.h"

#include <math.h>
#include <string.h>

static const double DEFAULT_TOLERANCE = 1e-10; // of S2SmoothSolution.residual
enum { DEFAULT_ITERATIONS = 100 };

// The proximal term of joints. It is larger than in pdipm_step.c, because the inverse of a node's
// block loses digits with the square of the joint's contribution. More refinements are then needed
// to remove its effect.
static const double PROXIMAL_JOINT = 1e-7;
enum { JOINT_REFINEMENTS = 5 };

// Initial values of z and s, tried in turn until one leads to the path.
static const double STARTS[][2] = {{1, 1}, {10, 10}, {0.1, 10}};

// Returns S2SmoothSolution.residual. u = J v must be up to date.
static double residual_of(const S2Interior *ip, double kappa) {
  const S2System *system = ip->system;
  double worst = 0;
  S2ArenaMark mark = s2_arena_mark(ip->arena);
  S2Quad *imbalance = S2_TAKE(ip->arena, S2Quad, system->nodes + 1);
  s2_system_imbalance(system, ip->v, ip->lambda, imbalance);
  // The residuals of nodes and equations are the same as for a solution. The residual of a pair is
  // |z s - kappa|, where s is computed from z and v.
  for (int i = 0; i < system->nodes; i++) {
    S2Quad error = imbalance[i];
    worst = s2_larger(worst, fabs(error[0]) * system->problem->length);
    worst = s2_larger(worst, fabs(error[1]));
    worst = s2_larger(worst, fabs(error[2]));
  }
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    const double *z = ip->z + 4 * k, *s = ip->s + 4 * k;
    double gap[4];
    s2_interior_gap(ip, k, gap);
    if (unit->kind == S2_UNIT_BILATERAL) {
      worst = s2_larger(worst, fabs(gap[0]) * s2_unit_arm(system, unit, 0));
      worst = s2_larger(worst, fabs(gap[1]) * s2_unit_arm(system, unit, 1));
    }
    for (int i = 0; i < s2_unit_pairs(unit); i++) {
      worst = s2_larger(worst, fabs(z[i] * (s[i] + gap[i]) - kappa));
    }
  }
  s2_arena_rewind(ip->arena, mark);
  return worst;
}

// Converts to SI units and puts the pairs into the order that the vjp expects.
static void smooth_write(const S2Interior *ip, S2SmoothSolution *solution) {
  const S2System *system = ip->system;
  double scale = system->problem->velocity_scale;
  s2_system_write(system, ip->v, ip->lambda, solution->v, solution->lambda);
  memset(solution->z, 0, sizeof(double) * 4 * (size_t)system->problem->rows);
  for (int k = 0; k < system->units; k++) {
    const S2Unit *unit = &system->unit[k];
    double unscale[4] = {unit->g[0] * scale, unit->g[1] * scale, unit->g[1] * scale, scale};
    for (int i = 0; i < s2_unit_pairs(unit); i++) {
      solution->z[4 * unit->row + i] = ip->z[4 * k + i] * unscale[i];
    }
  }
}

static void smooth_start(S2Interior *ip, const double *from) {
  const S2System *system = ip->system;
  memset(ip->v, 0, sizeof(S2Quad) * (size_t)(system->nodes + 1));
  memset(ip->lambda, 0, sizeof(double) * 2 * (size_t)system->units);
  for (int i = 0; i < 4 * system->units; i++) {
    ip->z[i] = from[0];
    ip->s[i] = from[1];
  }
}

S2SolveStatus s2_mcp_smooth_solve(const S2Problem *problem, double kappa,
                                  const S2SolverOptions *options, S2Arena *arena,
                                  S2SmoothSolution *solution) {
  solution->residual = INFINITY;
  solution->iterations = 0;
  if (!(kappa > 0 && isfinite(kappa))) {
    return solution->status = S2_UNSUPPORTED;
  }
  double tolerance = options != NULL ? options->tolerance : DEFAULT_TOLERANCE;
  int most = options != NULL ? options->max_iterations : DEFAULT_ITERATIONS;
  S2ArenaMark mark = s2_arena_mark(arena);
  S2System system;
  s2_system_init(&system, problem, arena);
  s2_system_prepare(&system, arena);
  S2Interior ip = s2_interior_make(&system, arena);
  ip.joint_proximal = PROXIMAL_JOINT;
  ip.joint_refinements = JOINT_REFINEMENTS;
  const int starts = (int)(sizeof STARTS / sizeof *STARTS);
  // Try each start until one leads to the path. Keep the best point of all.
  for (int i = 0; i < starts && !(solution->residual <= tolerance); i++) {
    smooth_start(&ip, STARTS[i]);
    for (int iteration = 0;; iteration++) {
      s2_system_row_velocity(&system, ip.v, ip.u);
      s2_interior_measure(&ip);
      double residual = residual_of(&ip, kappa);
      if (!(residual >= solution->residual)) {
        solution->residual = residual;
        smooth_write(&ip, solution);
      }
      if (residual <= tolerance || iteration == most || !s2_interior_step(&ip, kappa)) {
        break;
      }
      solution->iterations++;
    }
  }
  s2_arena_rewind(arena, mark);
  bool good = solution->residual <= tolerance;
  return solution->status = good ? S2_SOLVED : S2_MAX_ITERATIONS;
}
