// Derivatives of solutions with respect to theta, computed with the matrix of a step at the
// solution.
#include "mcp/cone/ncp.h"
#include "mcp/cone/ncp_system.h"

#include <math.h>

static bool theta_jacobian(const S2NcpSystem *system, const double *x, const double *y,
                           const double *z, double *jacobian, S2Arena *arena) {
  const S2Ncp *ncp = system->ncp;
  int parameters = ncp->parameters;
  if (ncp->theta_jacobian != NULL) {
    return ncp->theta_jacobian(ncp->user, x, y, z, ncp->theta, jacobian);
  }
  double *theta = S2_TAKE(arena, double, parameters);
  s2_copy_numbers(theta, ncp->theta, (size_t)parameters);
  // Compute central differences. Divide by the rounded step, ahead - behind.
  for (int k = 0; k < parameters; ++k) {
    double h = S2_NCP_DIFFERENCE * fmax(1, fabs(ncp->theta[k]));
    double ahead = ncp->theta[k] + h, behind = ncp->theta[k] - h;
    theta[k] = ahead;
    bool good = ncp->residual(ncp->user, x, y, z, theta, system->plus);
    if (good) {
      theta[k] = behind;
      good = ncp->residual(ncp->user, x, y, z, theta, system->minus);
    }
    if (!good) {
      return false;
    }
    theta[k] = ncp->theta[k];
    for (int i = 0; i < system->equations; ++i) {
      jacobian[s2_ncp_offset(i, parameters) + (size_t)k] =
          (system->plus[i] - system->minus[i]) / (ahead - behind);
    }
  }
  return true;
}

// Prepares the data for both derivatives. Sets *regular to true if the factored matrix has full
// rank.
static S2Status ncp_derivative_prepare(S2NcpSystem *system, const double *x, const double *y,
                                       const double *z, bool transposed, double **jacobian,
                                       bool *regular, S2Arena *arena) {
  *regular = false;
  *jacobian = s2_ncp_take_matrix(arena, system->equations, system->ncp->parameters);
  if (!s2_ncp_system_assemble(system, x, y, z, 0) ||
      !theta_jacobian(system, x, y, z, *jacobian, arena)) {
    return s2_ncp_aborted();
  }
  *regular = s2_ncp_system_factor(system, transposed, arena) && system->lu.rank == system->size;
  return s2_ok();
}

// dw/dtheta = -K^-1 (dc/dtheta, 0), one column at a time.
static void ncp_derivative_solve_columns(const S2NcpSystem *system, const double *x,
                                         const double *jacobian, double *dw_dtheta,
                                         S2Arena *arena) {
  const S2NcpSpace *space = &system->ncp->x;
  int parameters = system->ncp->parameters, cones = 2 * system->cone;
  double *column = S2_TAKE(arena, double, system->size);
  for (int k = 0; k < parameters; ++k) {
    for (int i = 0; i < system->size; ++i) {
      column[i] = i < system->equations ? -jacobian[s2_ncp_offset(i, parameters) + (size_t)k] : 0;
    }
    s2_ncp_system_solve(system, column);
    // Convert tangent coordinates to the stored numbers.
    s2_ncp_space_push(space, x, column, system->point);
    s2_copy_numbers(system->point + space->size, column + system->dimension, (size_t)cones);
    for (int i = 0; i < space->size + cones; ++i) {
      dw_dtheta[s2_ncp_offset(i, parameters) + (size_t)k] = system->point[i];
    }
  }
}

S2Status s2_ncp_derivative(const S2Ncp *ncp, const double *x, const double *y, const double *z,
                           double *dw_dtheta, bool *regular, S2Arena *arena) {
  *regular = false;
  S2_TRY(s2_ncp_check(ncp));
  S2ArenaMark mark = s2_arena_mark(arena);
  S2NcpSystem system = s2_ncp_system(ncp, arena);
  double *jacobian;
  S2Status status = ncp_derivative_prepare(&system, x, y, z, false, &jacobian, regular, arena);
  size_t count = s2_ncp_offset(ncp->x.size + 2 * system.cone, ncp->parameters);
  if (*regular) {
    ncp_derivative_solve_columns(&system, x, jacobian, dw_dtheta, arena);
    *regular = s2_all_finite(dw_dtheta, count);
  }
  if (!*regular) {
    s2_fill_numbers(dw_dtheta, (int)count, NAN);
  }
  s2_arena_rewind(arena, mark);
  return status;
}

S2Status s2_ncp_pull_back(const S2Ncp *ncp, const double *x, const double *y, const double *z,
                          const double *dl_dw, double *dl_dtheta, bool *regular, S2Arena *arena) {
  *regular = false;
  S2_TRY(s2_ncp_check(ncp));
  S2ArenaMark mark = s2_arena_mark(arena);
  S2NcpSystem system = s2_ncp_system(ncp, arena);
  double *jacobian, *adjoint = S2_TAKE(arena, double, system.size);
  S2Status status = ncp_derivative_prepare(&system, x, y, z, true, &jacobian, regular, arena);
  if (*regular) {
    // Solve K' a = dl/dw, then compute dl/dtheta = -(dc/dtheta)' a.
    s2_ncp_space_pull(&ncp->x, x, dl_dw, adjoint);
    s2_copy_numbers(adjoint + system.dimension, dl_dw + ncp->x.size, 2 * (size_t)system.cone);
    s2_ncp_system_solve(&system, adjoint);
    s2_fill_numbers(dl_dtheta, ncp->parameters, 0);
    for (int i = 0; i < system.equations; ++i) {
      for (int k = 0; k < ncp->parameters; ++k) {
        dl_dtheta[k] -= adjoint[i] * jacobian[s2_ncp_offset(i, ncp->parameters) + (size_t)k];
      }
    }
    *regular = s2_all_finite(dl_dtheta, (size_t)ncp->parameters);
  }
  if (!*regular) {
    s2_fill_numbers(dl_dtheta, ncp->parameters, NAN);
  }
  s2_arena_rewind(arena, mark);
  return status;
}
