// Private to core/mcp: the linear system of a cone interior point step,
//
//     [ dc/dx   dc/dy        dc/dz     ] [dx]
//     [   0    [z + reg e]  [y + reg e]] [dy] = b        [a]: the matrix of v -> a o v
//                                        [dz]
//
// with x in its tangent space. Dense, equilibrated by powers of two, LU with complete pivoting.
#ifndef S2_NCP_SYSTEM_H
#define S2_NCP_SYSTEM_H

#include "linalg/numbers.h"
#include "mcp/cone/ncp.h"
#include "mcp/pivot/dense_lu.h"

// Cube root of the rounding unit, at which truncation and rounding errors of central differences
// balance.
static const double S2_NCP_DIFFERENCE = 6.0554544523933429e-6;

typedef struct S2NcpSystem {
  const S2Ncp *ncp;
  int dimension, cone; // of x's tangent space; of y, and of z
  int equations, size; // of c: dimension + cone; of the matrix: equations + cone
  double *matrix;      // row-major; its factors after factorisation
  double *row_scale, *column_scale;
  S2DenseLu lu;                  // in memory of the last factorisation
  double *user;                  // the user's Jacobian, or NULL
  double *plus, *minus;          // c on both sides of a point, for differences
  double *point;                 // for x, y and z
  double *direction, *magnitude; // of tangent vectors
} S2NcpSystem;

// Dimensions and memory, for a problem that passed s2_ncp_check.
S2NcpSystem s2_ncp_system(const S2Ncp *ncp, S2Arena *arena);

// The matrix at a point. False: a function returned false.
bool s2_ncp_system_assemble(S2NcpSystem *system, const double *x, const double *y, const double *z,
                            double reg);

// Factors the matrix, or its transpose. False if an entry is not finite; the rank is in `lu`.
bool s2_ncp_system_factor(S2NcpSystem *system, bool transposed, S2Arena *arena);

// In place; the basic solution if the matrix is rank-deficient.
void s2_ncp_system_solve(const S2NcpSystem *system, double *b);

// The offset of a row in a row-major matrix, also the size of that many rows.
static inline size_t s2_ncp_offset(int row, int stride) {
  return (size_t)row * (size_t)stride;
}

static inline double *s2_ncp_take_matrix(S2Arena *arena, int rows, int columns) {
  return s2_arena_take(arena, sizeof(double) * s2_ncp_offset(rows, columns));
}

S2Status s2_ncp_aborted(void); // the error when a function returned false

#endif
