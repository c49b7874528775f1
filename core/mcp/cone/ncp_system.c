#include "mcp/cone/ncp_system.h"

#include <math.h>
#include <string.h>

// Pivots of the equilibrated matrix up to this fraction of the largest pivot count as rounding
// errors.
static const double RANK_TOLERANCE = 1e-14;

S2NcpSystem s2_ncp_system(const S2Ncp *ncp, S2Arena *arena) {
  int dimension = s2_ncp_space_dimension(&ncp->x), cone = s2_cones_size(&ncp->cones);
  int equations = dimension + cone, size = equations + cone, stored = ncp->x.size + 2 * cone;
  return (S2NcpSystem){
      .ncp = ncp,
      .dimension = dimension,
      .cone = cone,
      .equations = equations,
      .size = size,
      .matrix = s2_ncp_take_matrix(arena, size, size),
      .row_scale = S2_TAKE(arena, double, size),
      .column_scale = S2_TAKE(arena, double, size),
      .user = ncp->jacobian != NULL ? s2_ncp_take_matrix(arena, equations, stored) : NULL,
      .plus = S2_TAKE(arena, double, equations),
      .minus = S2_TAKE(arena, double, equations),
      .point = S2_TAKE(arena, double, stored),
      .direction = S2_TAKE(arena, double, dimension),
      .magnitude = S2_TAKE(arena, double, dimension),
  };
}

// ---- dc/dw ------------------------------------------------------------------------------------

static bool ncp_system_evaluate(const S2Ncp *ncp, const double *x, const double *y, const double *z,
                                double *c) {
  return ncp->residual(ncp->user, x, y, z, ncp->theta, c);
}

static double *ncp_system_entry(const S2NcpSystem *system, int row, int column) {
  return system->matrix + s2_ncp_offset(row, system->size) + column;
}

static void set_difference(S2NcpSystem *system, int column, double width) {
  for (int i = 0; i < system->equations; ++i) {
    *ncp_system_entry(system, i, column) = (system->plus[i] - system->minus[i]) / width;
  }
}

// Differences with respect to x. The steps are in the tangent space, so the residual is evaluated
// only at rotations and quaternions of unit length.
static bool difference_x(S2NcpSystem *system, const double *x, const double *y, const double *z) {
  const S2Ncp *ncp = system->ncp;
  memset(system->direction, 0, sizeof(double) * (size_t)system->dimension);
  s2_ncp_space_magnitude(&ncp->x, x, system->magnitude);
  // Compute dc/dd_k by central differences along tangent coordinate k.
  for (int k = 0; k < system->dimension; ++k) {
    double h = S2_NCP_DIFFERENCE * fmax(1, system->magnitude[k]);
    system->direction[k] = 1;
    s2_ncp_space_move(&ncp->x, x, system->direction, h, system->point);
    bool good = ncp_system_evaluate(ncp, system->point, y, z, system->plus);
    if (good) {
      s2_ncp_space_move(&ncp->x, x, system->direction, -h, system->point);
      good = ncp_system_evaluate(ncp, system->point, y, z, system->minus);
    }
    if (!good) {
      return false;
    }
    system->direction[k] = 0;
    set_difference(system, k, 2 * h);
  }
  return true;
}

// Differences with respect to `varied`, which is y or z.
static bool difference_cone(S2NcpSystem *system, int column, const double *x, const double *y,
                            const double *z, const double *varied) {
  double *copy = system->point;
  const double *at_y = varied == y ? copy : y, *at_z = varied == z ? copy : z;
  s2_copy_numbers(copy, varied, (size_t)system->cone);
  // Divide by the rounded step, ahead - behind.
  for (int k = 0; k < system->cone; ++k) {
    double h = S2_NCP_DIFFERENCE * fmax(1, fabs(varied[k]));
    double ahead = varied[k] + h, behind = varied[k] - h;
    copy[k] = ahead;
    bool good = ncp_system_evaluate(system->ncp, x, at_y, at_z, system->plus);
    if (good) {
      copy[k] = behind;
      good = ncp_system_evaluate(system->ncp, x, at_y, at_z, system->minus);
    }
    if (!good) {
      return false;
    }
    copy[k] = varied[k];
    set_difference(system, column + k, ahead - behind);
  }
  return true;
}

// Evaluates the user's Jacobian and maps the columns of x to the tangent space.
static bool users_jacobian(S2NcpSystem *system, const double *x, const double *y, const double *z) {
  const S2Ncp *ncp = system->ncp;
  int numbers = ncp->x.size, stored = numbers + 2 * system->cone;
  if (!ncp->jacobian(ncp->user, x, y, z, ncp->theta, system->user)) {
    return false;
  }
  for (int i = 0; i < system->equations; ++i) {
    const double *row = system->user + s2_ncp_offset(i, stored);
    s2_ncp_space_pull(&ncp->x, x, row, ncp_system_entry(system, i, 0));
    s2_copy_numbers(ncp_system_entry(system, i, system->dimension), row + numbers,
                    2 * (size_t)system->cone);
  }
  return true;
}

static void ncp_system_transpose(double *a, int n) {
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < i; ++k) {
      double t = a[s2_ncp_offset(i, n) + (size_t)k];
      a[s2_ncp_offset(i, n) + (size_t)k] = a[s2_ncp_offset(k, n) + (size_t)i];
      a[s2_ncp_offset(k, n) + (size_t)i] = t;
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
  // Fill the rows of the products with [z + reg e] in the columns of y, and [y + reg e] in the
  // columns of z.
  memset(ncp_system_entry(system, system->equations, 0), 0,
         sizeof(double) * s2_ncp_offset(system->cone, system->size));
  s2_cones_add_product_matrix(cones, z, reg, ncp_system_entry(system, system->equations, y_column),
                              system->size);
  s2_cones_add_product_matrix(cones, y, reg, ncp_system_entry(system, system->equations, z_column),
                              system->size);
  return true;
}

// ---- Factors ----------------------------------------------------------------------------------

// Returns a power of two that scales `size` to about 1, or 1 if `size` is 0.
static double ncp_system_scale_of(double size) {
  return size > 0 ? ldexp(1, -ilogb(size)) : 1;
}

// Scales rows, then columns, until their largest entries are about 1. Otherwise the numerical rank
// would depend on the units. Returns false if an entry is not finite.
static bool ncp_system_equilibrate(S2NcpSystem *system) {
  int n = system->size;
  double *column = system->column_scale;
  memset(column, 0, sizeof(double) * (size_t)n);
  // Scale the rows, and find the largest entries of the columns.
  for (int i = 0; i < n; ++i) {
    double *row = ncp_system_entry(system, i, 0), largest = 0;
    for (int k = 0; k < n; ++k) {
      if (!isfinite(row[k])) {
        return false;
      }
      largest = fmax(largest, fabs(row[k]));
    }
    system->row_scale[i] = ncp_system_scale_of(largest);
    for (int k = 0; k < n; ++k) {
      row[k] *= system->row_scale[i];
      column[k] = fmax(column[k], fabs(row[k]));
    }
  }
  for (int k = 0; k < n; ++k) {
    column[k] = ncp_system_scale_of(column[k]);
  }
  // Then scale the columns.
  for (int i = 0; i < n; ++i) {
    double *row = ncp_system_entry(system, i, 0);
    for (int k = 0; k < n; ++k) {
      row[k] *= column[k];
    }
  }
  return true;
}

bool s2_ncp_system_factor(S2NcpSystem *system, bool transposed, S2Arena *arena) {
  if (transposed) {
    ncp_system_transpose(system->matrix, system->size);
  }
  if (!ncp_system_equilibrate(system)) {
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

S2Status s2_ncp_aborted(void) {
  return s2_error(S2_ABORTED, "a callback of the problem requested a stop");
}
