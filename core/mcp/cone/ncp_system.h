// Private to core/mcp: the linear system of a step of the cone interior-point method,
//
//     [ dc/dx   dc/dy        dc/dz     ] [dx]
//     [   0    [z + reg e]  [y + reg e]] [dy] = b        [a]: the matrix of v -> a o v
//                                        [dz]
//
// where dx is in the tangent space of x. The matrix is dense, is equilibrated by powers of two, and
// is factored by LU with complete pivoting.
#ifndef S2_NCP_SYSTEM_H
#define S2_NCP_SYSTEM_H

#include "linalg/numbers.h"
#include "mcp/cone/ncp.h"
#include "mcp/pivot/dense_lu.h"

// Relative step of central differences, the cube root of the unit round-off. At this step
// truncation and rounding errors balance.
static const double S2_NCP_DIFFERENCE = 6.0554544523933429e-6;

typedef struct S2NcpSystem {
  const S2Ncp *ncp;
  int dimension, cone; // Dimension of the tangent space of x, and size of y and z.
  // equations = dimension + cone is the size of c. The matrix has size = equations + cone rows.
  int equations, size;
  double *matrix; // row-major; overwritten by its factors
  double *row_scale, *column_scale;
  S2DenseLu lu;                  // factors from the last call of s2_ncp_system_factor
  double *user;                  // values of the user's Jacobian, or NULL
  double *plus, *minus;          // c on both sides of a point, for central differences
  double *point;                 // scratch for x, y and z
  double *direction, *magnitude; // scratch for tangent vectors
} S2NcpSystem;

// Computes the dimensions and allocates the memory for a problem that has passed s2_ncp_check.
S2NcpSystem s2_ncp_system(const S2Ncp *ncp, S2Arena *arena);

// Computes the matrix at a point. Returns false if a callback returned false.
bool s2_ncp_system_assemble(S2NcpSystem *system, const double *x, const double *y, const double *z,
                            double reg);

// Factors the matrix or its transpose. Returns false if an entry is not finite. The rank is in
// `lu`.
bool s2_ncp_system_factor(S2NcpSystem *system, bool transposed, S2Arena *arena);

// Solves in place. If the matrix is rank-deficient, the result is a basic solution.
void s2_ncp_system_solve(const S2NcpSystem *system, double *b);

// Returns the offset of a row in a row-major matrix.
static inline size_t s2_ncp_offset(int row, int stride) {
  return (size_t)row * (size_t)stride;
}

static inline double *s2_ncp_take_matrix(S2Arena *arena, int rows, int columns) {
  return s2_arena_take(arena, sizeof(double) * s2_ncp_offset(rows, columns));
}

S2Status s2_ncp_aborted(void); // the error if a callback returned false

#endif
