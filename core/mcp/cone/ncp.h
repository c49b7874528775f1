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
// corrector with one factorisation a step, and a line search on either violation. It differs where
// that method stalls: the corrector's kappa replaces the last one, a final kappa above 0 is aimed
// at by the affine direction too, and points jammed against the boundary are lifted off it.
// Matrices are dense; nothing is convex, so a problem that has a solution may still end without.
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
  // dc/dw for w = (x, y, z) as stored, row-major; what a row says about the direction in which a
  // rotation or quaternion would leave unit length does not matter. NULL: central differences of
  // step 6e-6 max(1, |w_i|), good to 1e-10 or so of c's size; c must be defined that far outside
  // the cones.
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
  double ls_scale; // the line search multiplies a refused step by it; in (0, 1)
  int max_ls;      // steps tried, >= 1
  // kappa is not aimed below b_tol / undercut (INFINITY: no such floor). When steps without
  // progress outnumber those with it by no_progress_max, every one more multiplies undercut by
  // no_progress_undercut.
  double undercut;
  int no_progress_max;
  double no_progress_undercut;
  double reg; // added (times e) to y and z in a matrix that lacks rank and shows no way; >= 0
  // Of Mehrotra's two ideas, for those who compare: is the direction corrected for what the affine
  // one neglects? And kappa is aimed at this part of the mean product y o z, 0 to 1 (0: at the
  // final kappa or the floor at once); below 0: chosen by how far the affine direction gets.
  bool corrector;
  double centering;
} S2NcpOptions;

typedef struct S2NcpInfo {
  // S2_SOLVED exactly when r_vio <= r_tol and b_vio <= b_tol. Otherwise S2_MAX_ITERATIONS, which
  // also says that no step made either violation smaller, or S2_SINGULAR: the same with a matrix
  // that had not full rank, or values that are not finite.
  S2SolveStatus status;
  double r_vio; // max |c_i|
  double b_vio; // max |(y o z - kappa e)_i|, with the kappa of the options
  int iterations;
} S2NcpInfo;

S2NcpOptions s2_ncp_options(void); // the defaults

// Is the shape of the problem one that can be solved? S2_INVALID says why not.
S2Status s2_ncp_check(const S2Ncp *ncp);

// x, in: where to start, its rotations and quaternions of any length but 0. Out: the last point. y
// and z, out only, start at e. An error (S2_INVALID) is about the problem's shape, the options or
// the start; S2_ABORTED says that a function returned false. `history` may be NULL: its residual is
// the larger violation. Scratch memory comes from `arena` and is given back.
S2Status s2_ncp_solve(const S2Ncp *ncp, const S2NcpOptions *options, double *x, double *y,
                      double *z, S2History *history, S2Arena *arena, S2NcpInfo *info);

// How a solution (x, y, z) follows theta, by the implicit function theorem: kappa (and with it the
// products y o z) stays what it is. dw_dtheta is row-major, (size of x + 2 size of the cones) rows
// of `parameters` numbers, in the numbers stored. *regular is false, and the numbers are NaN, where
// the solution has no derivative: the matrix has not full rank. At kappa = 0 that is a solution
// with y_i = z_i = 0, or one of many.
S2Status s2_ncp_derivative(const S2Ncp *ncp, const double *x, const double *y, const double *z,
                           double *dw_dtheta, bool *regular, S2Arena *arena);

// dl_dtheta = dw_dtheta' dl_dw, by one solve with the transposed matrix.
S2Status s2_ncp_pull_back(const S2Ncp *ncp, const double *x, const double *y, const double *z,
                          const double *dl_dw, double *dl_dtheta, bool *regular, S2Arena *arena);

#endif
