#include "mcp/cone/ncp_system.h"

#include <math.h>
#include <string.h>

// Cube root of the rounding unit: where the errors of central differences by truncation and by
// rounding balance.
static const double DIFFERENCE = 6.0554544523933429e-6;

// A pivot of the equilibrated matrix up to this part of the largest one is rounding.
static const double RANK_TOLERANCE = 1e-14;

static size_t offset(int row, int stride) {
  return (size_t)row * (size_t)stride;
}

static double *take_matrix(S2Arena *arena, int rows, int columns) {
  return s2_arena_take(arena, sizeof(double) * offset(rows, columns));
}

S2NcpSystem s2_ncp_system(const S2Ncp *ncp, S2Arena *arena) {
  int dimension = s2_manifold_dimension(&ncp->x), cone = s2_cones_size(&ncp->cones);
  int equations = dimension + cone, size = equations + cone, stored = ncp->x.size + 2 * cone;
  return (S2NcpSystem){
      .ncp = ncp,
      .dimension = dimension,
      .cone = cone,
      .equations = equations,
      .size = size,
      .matrix = take_matrix(arena, size, size),
      .row_scale = S2_TAKE(arena, double, size),
      .column_scale = S2_TAKE(arena, double, size),
      .user = ncp->jacobian != NULL ? take_matrix(arena, equations, stored) : NULL,
      .plus = S2_TAKE(arena, double, equations),
      .minus = S2_TAKE(arena, double, equations),
      .point = S2_TAKE(arena, double, stored),
      .direction = S2_TAKE(arena, double, dimension),
      .magnitude = S2_TAKE(arena, double, dimension),
  };
}

// ---- dc/dw ------------------------------------------------------------------------------------

static bool evaluate(const S2Ncp *ncp, const double *x, const double *y, const double *z,
                     double *c) {
  return ncp->residual(ncp->user, x, y, z, ncp->theta, c);
}

static double *entry(const S2NcpSystem *system, int row, int column) {
  return system->matrix + offset(row, system->size) + column;
}

static void set_difference(S2NcpSystem *system, int column, double width) {
  for (int i = 0; i < system->equations; ++i) {
    *entry(system, i, column) = (system->plus[i] - system->minus[i]) / width;
  }
}

// Along the manifold, so that the residual sees unit lengths only.
static bool difference_x(S2NcpSystem *system, const double *x, const double *y, const double *z) {
  const S2Ncp *ncp = system->ncp;
  memset(system->direction, 0, sizeof(double) * (size_t)system->dimension);
  s2_manifold_magnitude(&ncp->x, x, system->magnitude);
  for (int k = 0; k < system->dimension; ++k) {
    double h = DIFFERENCE * fmax(1, system->magnitude[k]);
    system->direction[k] = 1;
    s2_manifold_move(&ncp->x, x, system->direction, h, system->point);
    bool good = evaluate(ncp, system->point, y, z, system->plus);
    if (good) {
      s2_manifold_move(&ncp->x, x, system->direction, -h, system->point);
      good = evaluate(ncp, system->point, y, z, system->minus);
    }
    if (!good) {
      return false;
    }
    system->direction[k] = 0;
    set_difference(system, k, 2 * h);
  }
  return true;
}

// `varied` is y or z.
static bool difference_cone(S2NcpSystem *system, int column, const double *x, const double *y,
                            const double *z, const double *varied) {
  double *copy = system->point;
  const double *at_y = varied == y ? copy : y, *at_z = varied == z ? copy : z;
  s2_ncp_copy(copy, varied, system->cone);
  for (int k = 0; k < system->cone; ++k) {
    double h = DIFFERENCE * fmax(1, fabs(varied[k]));
    double ahead = varied[k] + h, behind = varied[k] - h;
    copy[k] = ahead;
    bool good = evaluate(system->ncp, x, at_y, at_z, system->plus);
    if (good) {
      copy[k] = behind;
      good = evaluate(system->ncp, x, at_y, at_z, system->minus);
    }
    if (!good) {
      return false;
    }
    copy[k] = varied[k];
    set_difference(system, column + k, ahead - behind);
  }
  return true;
}

// The user's Jacobian, with x's columns turned to its tangent space.
static bool users_jacobian(S2NcpSystem *system, const double *x, const double *y, const double *z) {
  const S2Ncp *ncp = system->ncp;
  int numbers = ncp->x.size, stored = numbers + 2 * system->cone;
  if (!ncp->jacobian(ncp->user, x, y, z, ncp->theta, system->user)) {
    return false;
  }
  for (int i = 0; i < system->equations; ++i) {
    const double *row = system->user + offset(i, stored);
    s2_manifold_pull(&ncp->x, x, row, entry(system, i, 0));
    s2_ncp_copy(entry(system, i, system->dimension), row + numbers, 2 * system->cone);
  }
  return true;
}

static void transpose(double *a, int n) {
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < i; ++k) {
      double t = a[offset(i, n) + (size_t)k];
      a[offset(i, n) + (size_t)k] = a[offset(k, n) + (size_t)i];
      a[offset(k, n) + (size_t)i] = t;
    }
  }
}

bool s2_ncp_system_assemble(S2NcpSystem *system, const double *x, const double *y, const double *z,
                            double reg) {
  const S2Cones *cones = &system->ncp->cones;
  int y_column = system->dimension, z_column = system->equations;
  if (system->user != NULL) {
    if (!users_jacobian(system, x, y, z)) {
      return false;
    }
  } else if (!difference_x(system, x, y, z) || !difference_cone(system, y_column, x, y, z, y) ||
             !difference_cone(system, z_column, x, y, z, z)) {
    return false;
  }
  memset(entry(system, system->equations, 0), 0,
         sizeof(double) * offset(system->cone, system->size));
  s2_cones_add_product_matrix(cones, z, reg, entry(system, system->equations, y_column),
                              system->size);
  s2_cones_add_product_matrix(cones, y, reg, entry(system, system->equations, z_column),
                              system->size);
  return true;
}

// ---- Factors ----------------------------------------------------------------------------------

// A power of two that brings the size near 1; 1 for 0.
static double scale_of(double size) {
  return size > 0 ? ldexp(1, -ilogb(size)) : 1;
}

// Rows, then columns, to a largest entry near 1, for the rank is judged by sizes. False when there
// is an entry that is not finite.
static bool equilibrate(S2NcpSystem *system) {
  int n = system->size;
  double *column = system->column_scale;
  memset(column, 0, sizeof(double) * (size_t)n);
  for (int i = 0; i < n; ++i) {
    double *row = entry(system, i, 0), largest = 0;
    for (int k = 0; k < n; ++k) {
      if (!isfinite(row[k])) {
        return false;
      }
      largest = fmax(largest, fabs(row[k]));
    }
    system->row_scale[i] = scale_of(largest);
    for (int k = 0; k < n; ++k) {
      row[k] *= system->row_scale[i];
      column[k] = fmax(column[k], fabs(row[k]));
    }
  }
  for (int k = 0; k < n; ++k) {
    column[k] = scale_of(column[k]);
  }
  for (int i = 0; i < n; ++i) {
    double *row = entry(system, i, 0);
    for (int k = 0; k < n; ++k) {
      row[k] *= column[k];
    }
  }
  return true;
}

bool s2_ncp_system_factor(S2NcpSystem *system, bool transposed, S2Arena *arena) {
  if (transposed) {
    transpose(system->matrix, system->size);
  }
  if (!equilibrate(system)) {
    return false;
  }
  system->lu = s2_dense_lu_factor(system->size, system->matrix, RANK_TOLERANCE, arena);
  return true;
}

void s2_ncp_system_solve(const S2NcpSystem *system, double *b) {
  for (int i = 0; i < system->size; ++i) {
    b[i] *= system->row_scale[i];
  }
  s2_dense_lu_solve(&system->lu, b);
  for (int i = 0; i < system->size; ++i) {
    b[i] *= system->column_scale[i];
  }
}

// ---- Derivatives with respect to theta --------------------------------------------------------

S2Status s2_ncp_aborted(void) {
  return s2_error(S2_ABORTED, "a function of the problem asked to stop");
}

static bool theta_jacobian(const S2NcpSystem *system, const double *x, const double *y,
                           const double *z, double *jacobian, S2Arena *arena) {
  const S2Ncp *ncp = system->ncp;
  int parameters = ncp->parameters;
  if (ncp->theta_jacobian != NULL) {
    return ncp->theta_jacobian(ncp->user, x, y, z, ncp->theta, jacobian);
  }
  double *theta = S2_TAKE(arena, double, parameters);
  s2_ncp_copy(theta, ncp->theta, parameters);
  for (int k = 0; k < parameters; ++k) {
    double h = DIFFERENCE * fmax(1, fabs(ncp->theta[k]));
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
      jacobian[offset(i, parameters) + (size_t)k] =
          (system->plus[i] - system->minus[i]) / (ahead - behind);
    }
  }
  return true;
}

// Everything both derivatives need. *regular says whether the factors can be used.
static S2Status prepare(S2NcpSystem *system, const double *x, const double *y, const double *z,
                        bool transposed, double **jacobian, bool *regular, S2Arena *arena) {
  *regular = false;
  *jacobian = take_matrix(arena, system->equations, system->ncp->parameters);
  if (!s2_ncp_system_assemble(system, x, y, z, 0) ||
      !theta_jacobian(system, x, y, z, *jacobian, arena)) {
    return s2_ncp_aborted();
  }
  *regular = s2_ncp_system_factor(system, transposed, arena) && system->lu.rank == system->size;
  return s2_ok();
}

static void fill(double *values, size_t count, double value) {
  for (size_t i = 0; i < count; ++i) {
    values[i] = value;
  }
}

static bool finite(const double *values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!isfinite(values[i])) {
      return false;
    }
  }
  return true;
}

// dw/dtheta = -K^-1 (dc/dtheta, 0), a column at a time.
static void solve_columns(const S2NcpSystem *system, const double *x, const double *jacobian,
                          double *dw_dtheta, S2Arena *arena) {
  const S2Manifold *manifold = &system->ncp->x;
  int parameters = system->ncp->parameters, cones = 2 * system->cone;
  double *column = S2_TAKE(arena, double, system->size);
  for (int k = 0; k < parameters; ++k) {
    for (int i = 0; i < system->size; ++i) {
      column[i] = i < system->equations ? -jacobian[offset(i, parameters) + (size_t)k] : 0;
    }
    s2_ncp_system_solve(system, column);
    s2_manifold_push(manifold, x, column, system->point);
    s2_ncp_copy(system->point + manifold->size, column + system->dimension, cones);
    for (int i = 0; i < manifold->size + cones; ++i) {
      dw_dtheta[offset(i, parameters) + (size_t)k] = system->point[i];
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
  S2Status status = prepare(&system, x, y, z, false, &jacobian, regular, arena);
  size_t count = offset(ncp->x.size + 2 * system.cone, ncp->parameters);
  if (*regular) {
    solve_columns(&system, x, jacobian, dw_dtheta, arena);
    *regular = finite(dw_dtheta, count);
  }
  if (!*regular) {
    fill(dw_dtheta, count, NAN);
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
  S2Status status = prepare(&system, x, y, z, true, &jacobian, regular, arena);
  if (*regular) {
    s2_manifold_pull(&ncp->x, x, dl_dw, adjoint);
    s2_ncp_copy(adjoint + system.dimension, dl_dw + ncp->x.size, 2 * system.cone);
    s2_ncp_system_solve(&system, adjoint);
    fill(dl_dtheta, (size_t)ncp->parameters, 0);
    for (int i = 0; i < system.equations; ++i) {
      for (int k = 0; k < ncp->parameters; ++k) {
        dl_dtheta[k] -= adjoint[i] * jacobian[offset(i, ncp->parameters) + (size_t)k];
      }
    }
    *regular = finite(dl_dtheta, (size_t)ncp->parameters);
  }
  if (!*regular) {
    fill(dl_dtheta, (size_t)ncp->parameters, NAN);
  }
  s2_arena_rewind(arena, mark);
  return status;
}
