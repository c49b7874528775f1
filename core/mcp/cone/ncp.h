// Nonlinear complementarity problems over cones: given parameters theta, find x, y, z with
//
//     c(x, y, z; theta) = 0,   y o z = kappa e,   y and z in K
//
// where K is a product of nonnegative numbers and second-order cones (cone.h), x may hold planar
// rotations and unit quaternions (ncp_space.h), and kappa is 0 or a chosen point of the central
// path. c has as many equations as x has dimensions plus K has entries.
//
// The method is the primal-dual interior point of Dojo (Howell, Le Cleac'h, Kolter, Schwager and
// Manchester, "Dojo: a differentiable physics engine for robotics", 2022): Mehrotra's predictor and
// corrector with one factorisation per step, and a line search on either violation. This version
// differs where that method stalls. The corrector's kappa replaces the last one, the affine
// direction aims at a final kappa above 0, too, and points jammed against the boundary are lifted
// off it. Matrices are dense. The problem need not be convex, so the method may fail although there
// is a solution.
#ifndef S2_NCP_H
#define S2_NCP_H

#include "base/arena.h"
#include "base/status.h"
#include "mcp/cone/cone.h"
#include "mcp/cone/ncp_space.h"
#include "mcp/history.h"
#include "mcp/mcp.h"

#include <stdbool.h>

enum { S2_NCP_MAX_SIZE = 2048 }; // numbers of x, y and z together: a matrix of 32 MB

// Writes c or one of its derivatives at a point to `out`. False ends the solve with S2_ABORTED.
typedef bool S2NcpFunction(void *user, const double *x, const double *y, const double *z,
                           const double *theta, double *out);

typedef struct S2Ncp {
  S2NcpSpace x;
  S2Cones cones;
  int parameters;
  const double *theta; // `parameters` numbers; borrowed

  S2NcpFunction *residual; // c: dimension of x + size of the cones numbers
  // dc/dw for w = (x, y, z) as stored, row-major. The entries for the direction in which a rotation
  // or quaternion would leave unit length do not matter. NULL: central differences of step 6e-6
  // max(1, |w_i|), accurate to about 1e-10 of c's size; c must be defined that far outside the
  // cones.
  S2NcpFunction *jacobian;
  S2NcpFunction *theta_jacobian; // dc/dtheta, row-major; NULL: central differences likewise
  void *user;
} S2Ncp;

typedef struct S2NcpOptions {
  double r_tol, b_tol; // on r_vio and b_vio, > 0; absolute, so scale c and the cones to about 1
  // The final kappa, >= 0. Above 0 the solve ends on the central path, where solutions vary
  // smoothly with theta; it should be well above b_tol.
  double kappa;
  int max_iter;    // >= 0
  double ls_scale; // the line search multiplies a refused step by this; in (0, 1)
  int max_ls;      // steps tried, >= 1
  // The target kappa is never below b_tol / undercut (INFINITY: no such floor). Once steps without
  // progress outnumber those with progress by no_progress_max, each further one multiplies undercut
  // by no_progress_undercut.
  double undercut;
  int no_progress_max;
  double no_progress_undercut;
  // added (times e) to y and z if the matrix is rank-deficient and no step succeeds; >= 0
  double reg;
  // Variants of Mehrotra's method, for comparison. `corrector`: whether the direction is corrected
  // for the products that the affine one neglects. `centering`: fraction of the mean product y o z
  // at which kappa is aimed, 0 to 1 (0: the final kappa or the floor at once); below 0: chosen by
  // the length of the affine direction.
  bool corrector;
  double centering;
} S2NcpOptions;

typedef struct S2NcpInfo {
  // S2_SOLVED exactly when r_vio <= r_tol and b_vio <= b_tol. Otherwise S2_MAX_ITERATIONS (also if
  // no step made either violation smaller). S2_SINGULAR: not solved, and the matrix was
  // rank-deficient or values are not finite.
  S2SolveStatus status;
  double r_vio; // max |c_i|
  double b_vio; // max |(y o z - kappa e)_i|, with the kappa of the options
  int iterations;
} S2NcpInfo;

S2NcpOptions s2_ncp_options(void); // the defaults

// Checks the shape of the problem. S2_INVALID: the message names the reason.
S2Status s2_ncp_check(const S2Ncp *ncp);

// x is the start on input; its rotations and quaternions may have any length except 0. On output it
// is the last point. y and z start at e. S2_INVALID concerns the shape of the problem, the options
// or the start; S2_ABORTED: a function returned false. `history` may be NULL; its residual is the
// larger violation. Scratch memory comes from `arena` and is released again.
S2Status s2_ncp_solve(const S2Ncp *ncp, const S2NcpOptions *options, double *x, double *y,
                      double *z, S2History *history, S2Arena *arena, S2NcpInfo *info);

// The derivative of a solution (x, y, z) with respect to theta, from the implicit function theorem:
// kappa (and with it the products y o z) stays constant. dw_dtheta is row-major and refers to the
// stored numbers. It has (size of x + 2 size of the cones) rows of `parameters` numbers. If the
// matrix is rank-deficient, the solution has no derivative: *regular is false, and the numbers are
// NaN. At kappa = 0 this happens if y_i = z_i = 0, or if the solution is one of many.
S2Status s2_ncp_derivative(const S2Ncp *ncp, const double *x, const double *y, const double *z,
                           double *dw_dtheta, bool *regular, S2Arena *arena);

// dl_dtheta = dw_dtheta' dl_dw, by one solve with the transposed matrix.
S2Status s2_ncp_pull_back(const S2Ncp *ncp, const double *x, const double *y, const double *z,
                          const double *dl_dw, double *dl_dtheta, bool *regular, S2Arena *arena);

#endif
