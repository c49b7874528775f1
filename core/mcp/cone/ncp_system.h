// Private to core/mcp: the linear system of a cone interior point step,
//
//     [ dc/dx   dc/dy        dc/dz     ] [dx]
//     [   0    [z + reg e]  [y + reg e]] [dy] = b        [a]: the matrix of v -> a o v
//                                        [dz]
//
// with x in its tangent space. Dense, equilibrated by powers of two, LU with complete pivoting.
#ifndef S2_NCP_SYSTEM_H
#define S2_NCP_SYSTEM_H

#include "mcp/cone/ncp.h"
#include "mcp/pivot/dense_lu.h"

#include <string.h>

typedef struct S2NcpSystem {
  const S2Ncp *ncp;
  int dimension, cone; // of x's tangent space; of y, and of z
  int equations, size; // of c: dimension + cone; of the matrix: equations + cone
  double *matrix;      // row-major; the factors once there are some
  double *row_scale, *column_scale;
  S2DenseLu lu;                  // in memory of the last factorisation
  double *user;                  // the user's Jacobian; NULL without
  double *plus, *minus;          // c on both sides of a point, for differences
  double *point;                 // room for x, y and z
  double *direction, *magnitude; // of tangent vectors
} S2NcpSystem;

// Dimensions and memory, for a problem that passed s2_ncp_check.
S2NcpSystem s2_ncp_system(const S2Ncp *ncp, S2Arena *arena);

// The matrix at a point. False: a function returned false.
bool s2_ncp_system_assemble(S2NcpSystem *system, const double *x, const double *y, const double *z,
                            double reg);

// Factors the matrix, or its transpose. False when it holds a value that is not finite; the rank is
// in `lu`.
bool s2_ncp_system_factor(S2NcpSystem *system, bool transposed, S2Arena *arena);

// In place; the basic solution when the rank is not full.
void s2_ncp_system_solve(const S2NcpSystem *system, double *b);

// Copies numbers; of none, from anywhere.
static inline void s2_ncp_copy(double *to, const double *from, int count) {
  if (count > 0) {
    memcpy(to, from, sizeof(double) * (size_t)count);
  }
}

S2Status s2_ncp_aborted(void); // the error when a function returned false

#endif
