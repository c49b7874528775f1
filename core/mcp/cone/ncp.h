// Nonlinear complementarity problems over cones. Given parameters theta, find x, y and z with
//
//     c(x, y, z; theta) = 0,   y o z = kappa e,   y and z in K
//
// K is a product of nonnegative numbers and second-order cones (cone.h). x may contain planar
// rotations and unit quaternions (ncp_space.h). kappa is 0 for a solution, or positive for a point
// on the central path. The number of equations in c is the dimension of x plus the number of
// entries of K.
//
// The method is the primal-dual interior-point method of Dojo (Howell, Le Cleac'h, Kolter, Schwager
// and Manchester, "Dojo: a differentiable physics engine for robotics", 2022). It uses Mehrotra's
// predictor and corrector with one factorisation per step, and a line search on either violation.
// This version differs in cases where Dojo's method stalls. The kappa of the corrector replaces the
// last kappa. The affine direction aims at the final kappa, even if it is above 0. Points that are
// jammed against the boundary are lifted off it. Matrices are dense. The problem may be nonconvex,
// so the method may fail even if there is a solution.
#ifndef S2_NCP_H
#define S2_NCP_H

#include "base/arena.h"
#include "base/status.h"
#include "mcp/cone/cone.h"
#include "mcp/cone/ncp_space.h"
#include "mcp/history.h"
#include "mcp/mcp.h"

#include <stdbool.h>

// Maximum total number of entries in x, y and z. The matrix then takes 32 MB.
enum { S2_NCP_MAX_SIZE = 2048 };

// A callback that writes c or one of its derivatives at a point to `out`. If it returns false, the
// solve ends with S2_ABORTED.
typedef bool S2NcpFunction(void *user, const double *x, const double *y, const double *z,
                           const double *theta, double *out);

typedef struct S2Ncp {
  S2NcpSpace x;
  S2Cones cones;
  int parameters;
  const double *theta; // `parameters` numbers, borrowed

  S2NcpFunction *residual; // Computes c, which has (dimension of x) + (size of the cones) numbers.
  // Computes dc/dw, row-major, for w = (x, y, z) as stored. Derivatives in directions that change
  // the length of a rotation or quaternion are ignored. NULL means central differences with step
  // 6e-6 max(1, |w_i|), accurate to about 1e-10 of the size of c. c must then be defined up to this
  // distance outside the cones.
  S2NcpFunction *jacobian;
  S2NcpFunction *theta_jacobian; // computes dc/dtheta, row-major; NULL means central differences
  void *user;
} S2Ncp;

typedef struct S2NcpOptions {
  // Tolerances of r_vio and b_vio, > 0. They are absolute, so scale c and the cones to about 1.
  double r_tol, b_tol;
  // The final kappa, >= 0. If it is above 0, the solve ends on the central path, where solutions
  // vary smoothly with theta. It should then be well above b_tol.
  double kappa;
  int max_iter;    // >= 0
  double ls_scale; // factor by which the line search shortens a rejected step; in (0, 1)
  int max_ls;      // Maximum number of steps of the line search, >= 1.
  // The target kappa is never below b_tol / undercut. (INFINITY removes this limit.) Once steps
  // without progress outnumber steps with progress by no_progress_max, each further step without
  // progress multiplies undercut by no_progress_undercut.
  double undercut;
  int no_progress_max;
  double no_progress_undercut;
  // Regularisation >= 0. If the matrix is rank-deficient and no step succeeds, reg e is added to y
  // and z in the matrix.
  double reg;
  // Select variants of Mehrotra's method, for comparison. `corrector` corrects the direction for
  // the products that the affine direction neglects. `centering`, from 0 to 1, is the target of
  // kappa as a fraction of the mean product y o z. At 0 the target is the smallest allowed kappa.
  // If `centering` is negative, the affine step length determines the fraction.
  bool corrector;
  double centering;
} S2NcpOptions;

typedef struct S2NcpInfo {
  // S2_SOLVED if and only if r_vio <= r_tol and b_vio <= b_tol. S2_SINGULAR if the matrix is
  // rank-deficient or values are not finite. Otherwise S2_MAX_ITERATIONS, even if the solve ended
  // early because no step reduced a violation.
  S2SolveStatus status;
  double r_vio; // max |c_i|
  double b_vio; // max |(y o z - kappa e)_i|, with kappa from the options
  int iterations;
} S2NcpInfo;

S2NcpOptions s2_ncp_options(void); // The defaults.

// Checks the shape of the problem. Returns S2_INVALID and sets the error message if the shape is
// wrong.
S2Status s2_ncp_check(const S2Ncp *ncp);

// On input x is the start. Its rotations and quaternions may have any length except 0. On output x
// is the last point. y and z start at e. Returns S2_INVALID if the shape of the problem, the
// options or the start are invalid, and S2_ABORTED if a callback returned false. `history` may be
// NULL; it records the larger violation as the residual. Scratch memory comes from `arena` and is
// released.
S2Status s2_ncp_solve(const S2Ncp *ncp, const S2NcpOptions *options, double *x, double *y,
                      double *z, S2History *history, S2Arena *arena, S2NcpInfo *info);

// Computes the derivative of a solution (x, y, z) with respect to theta by the implicit function
// theorem. kappa, and therefore the products y o z, are constant. dw_dtheta is row-major and refers
// to the stored numbers. It has (size of x) + 2 (size of the cones) rows of `parameters` numbers.
// If the matrix is rank-deficient, the solution has no derivative: *regular becomes false, and all
// numbers become NaN. At kappa = 0 this happens if y_i = z_i = 0, or if the solution is not unique.
S2Status s2_ncp_derivative(const S2Ncp *ncp, const double *x, const double *y, const double *z,
                           double *dw_dtheta, bool *regular, S2Arena *arena);

// Computes dl_dtheta = dw_dtheta' dl_dw by one solve with the transposed matrix.
S2Status s2_ncp_pull_back(const S2Ncp *ncp, const double *x, const double *y, const double *z,
                          const double *dl_dw, double *dl_dtheta, bool *regular, S2Arena *arena);

#endif
