// Spaces of unknowns that include planar rotations and unit quaternions.
//
// A planar rotation consists of the two numbers (cos, sin). Its tangent space has one dimension,
// the angle in rad. (An angle itself is a plain number and needs no special treatment.) A
// quaternion consists of the four numbers (w, x, y, z) and has unit length. Its tangent space has
// three dimensions, the rotation vector d in rad in the rotated frame: q moves to q exp(d / 2). All
// other numbers are Euclidean. Tangent coordinates have the same order as the stored numbers.
#ifndef S2_NCP_SPACE_H
#define S2_NCP_SPACE_H

#include <stdbool.h>

typedef struct S2NcpSpace {
  int size;              // numbers stored
  int rotations;         // planar rotations
  const int *rotation;   // index of the first number of each rotation, ascending; borrowed
  int quaternions;       // likewise
  const int *quaternion; // index of the first number of each quaternion; parts must not overlap
} S2NcpSpace;

int s2_ncp_space_dimension(const S2NcpSpace *m); // Returns the dimension of the tangent space.

// Returns true if the parts are in ascending order, do not overlap and are within x.
bool s2_ncp_space_valid(const S2NcpSpace *m);

// Writes the default point, which consists of zeros and identity rotations.
void s2_ncp_space_origin(const S2NcpSpace *m, double *x);

// Normalises rotations and quaternions. Returns the index of a part of length 0, or -1.
int s2_ncp_space_normalise(const S2NcpSpace *m, double *x);

// moved := x moved by `step` times the tangent vector d. `moved` may be x.
void s2_ncp_space_move(const S2NcpSpace *m, const double *x, const double *d, double step,
                       double *moved);

// pull: tangent := G' row. push: ambient := G d. G = dx / dd at x has `size` rows and `dimension`
// columns.
void s2_ncp_space_pull(const S2NcpSpace *m, const double *x, const double *row, double *tangent);
void s2_ncp_space_push(const S2NcpSpace *m, const double *x, const double *d, double *ambient);

// Writes the magnitude of each tangent coordinate: |x_i| for a Euclidean number, 1 for a rotation.
void s2_ncp_space_magnitude(const S2NcpSpace *m, const double *x, double *magnitude);

#endif
