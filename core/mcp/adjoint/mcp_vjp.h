// Derivatives of step problems (mcp.h) and points of their central path.
//
// A vector-Jacobian product turns dl/d(v, lambda) of a loss l into dl/d(all data). It solves one
// linear system, the transpose of the solution's first-order conditions: K' [p; y] = dl/d(v,
// lambda), dl/d(data) = -[p; y]' dF/d(data).
//
// Exact (s2_mcp_vjp): every contact keeps its mode at the solution (separating, sticking, sliding
// either way). Smooth (s2_mcp_smooth_vjp): the pairs of a contact satisfy z o s = kappa. The
// solution then varies smoothly with the data, and also depends on contacts that do not touch yet.
#ifndef S2_MCP_VJP_H
#define S2_MCP_VJP_H

#include "mcp/mcp.h"

// If both sides of a pair are below this limit, a solution with the usual tolerance of 1e-9 does
// not show which of them is 0. (The sides are scaled, so that impulses and velocities are compared
// with 1.)
static const double S2_VJP_EDGE = 1e-7;

// ---- Points of the central path ---------------------------------------------------------------
// In scaled units, velocities are divided by V, and impulses are multiplied by w / V, where w =
// diag(J W^-1 J' + C) is the row's Delassus diagonal. With u = J v + C lambda + b, the pairs of a
// contact are
//
//     z0 = lambda_n,                   s0 = u_n             z_i s_i = kappa, z, s > 0;
//     z1, z2: z1 - z2 = lambda_t,      s1 = z3 + u_t        without friction (mu <= 0) the first
//     z3, a bound of the sliding speed s2 = z3 - u_t        only, and lambda_t = 0
//                                      s3 = mu z0 - z1 - z2
//
// In SI units z_i s_i is the energy kappa V^2 / w. The impulses and velocities of a contact at
// kappa have an error of about sqrt(kappa) if it hardly touches. Otherwise their error is about
// kappa divided by the larger side of the pair.

typedef struct S2SmoothSolution {
  double *v;      // output, 3 per node
  double *lambda; // output, 1 per row.
  // Output, 4 per row: the pairs of a contact (N s, N s, N s, m/s) at its normal row, 0 at other
  // rows.
  double *z;
  // The largest of three errors: |z_i s_i - kappa| with s as defined by v and z; |W v - J' lambda -
  // c| over W V; and |u| over V of bilateral rows (angular rows times L).
  double residual;
  S2SolveStatus status;
  int iterations;
} S2SmoothSolution;

// Solves without a guess, by Mehrotra's predictor-corrector method aimed at kappa. If `options` is
// NULL, the tolerance is 1e-10 with at most 100 iterations. `options->solver` is ignored. Returns
// S2_SOLVED if and only if residual <= tolerance. Otherwise returns S2_MAX_ITERATIONS with the best
// point found, or S2_UNSUPPORTED if kappa is not positive and finite. The central path may not
// exist if contacts can squeeze a body without bound.
S2SolveStatus s2_mcp_smooth_solve(const S2Problem *problem, double kappa,
                                  const S2SolverOptions *options, S2Arena *arena,
                                  S2SmoothSolution *solution);

// ---- Derivatives ------------------------------------------------------------------------------

// The validity of a derivative. With no flag set (0), the result is the exact derivative.
typedef enum S2VjpFlag {
  // A contact is on the boundary of two modes (both sides of a pair below 1e-7, scaled). It counts
  // as separating rather than touching, and as sticking rather than sliding. The derivative is
  // one-sided.
  S2_VJP_WEAK = 1,
  // Active rows are exactly or nearly linearly dependent, so impulses are not unique. dl/d(bias,
  // ja, jb, compliance, mu) have least norm and are only correct for changes that keep the rows
  // compatible. The derivatives with respect to mass and rhs are always correct, except in the
  // local form, where mobility and rhs also represent rows.
  S2_VJP_REDUNDANT = 2,
  // dl/dlambda refers to a quantity that is not determined. (The same may hold for dl/dv, if
  // friction depends on how redundant contacts share their load.) If the impulses have least norm,
  // like the impulses of S2_SOLVER_ACTIVE, the result is the derivative of these impulses, and the
  // flag concerns only dl/dlambda. Otherwise the undetermined part of the derivative is left out.
  // The remaining system may have no solution, or a solution far larger than dl/dv. Then friction
  // of sliding contacts counts as a given force and active rows yield a little. This approximation
  // is bounded.
  S2_VJP_UNDETERMINED = 4,
  // The linear system was not solved, or a number is not finite. Do not use the result.
  S2_VJP_SINGULAR = 8,
  // Rows of contacts are linearly dependent. This includes contacts that touch without pressing,
  // but not two points that stick along the same tangent. After a small change of the data, such
  // rows may contradict each other. A two-sided derivative may therefore not exist.
  S2_VJP_TIED = 1 << 16
} S2VjpFlag;

// dl/d(data). Each pointer may be NULL. Results overwrite the arrays. V and L count as constants.
typedef struct S2McpGradient {
  double *mass, *rhs; // 3 per node; mass is not written in the local form
  double *ja, *jb;    // 3 per row; 0 for the ground
  double *bias;       // 1 per row, like the arrays below
  double *compliance;
  // For friction rows, else 0. At mu = 0 it is the right-sided derivative.
  double *mu;
  // For boxed rows whose impulse is at that bound, else 0. Set only by exact derivatives.
  double *lo, *hi;
  double *mobility; // 9 per block of problem->mobility, if it is not NULL.
  // 1 per row: the part of the derivatives above that acts through the row's Delassus diagonal w. w
  // scales kappa and the norm of shared impulses. 0 for rows whose w has no effect.
  double *w;
} S2McpGradient;

// dl_dv (3 per node) and dl_dlambda (1 per row) may be NULL, which counts as 0. (v, lambda) must be
// a solution, which is not checked. The residual of the solution should be below 1e-9 for an
// accurate derivative. Returns flags. The cost is one factorisation of 3 x 3 node blocks and about
// ten solves with it (thirty in the local form).
unsigned s2_mcp_vjp(const S2Problem *problem, const double *v, const double *lambda,
                    const double *dl_dv, const double *dl_dlambda, const S2McpGradient *gradient,
                    S2Arena *arena);

// Options that select another valid derivative.
typedef enum S2VjpOther {
  // Contacts on the edge between two modes get the other mode: touching or sliding.
  S2_VJP_OTHER_SIDE = 1,
  // With S2_VJP_TIED, dl/d(bias, ja, jb, compliance) do not have least norm. They agree with the
  // derivatives of least norm for all changes that keep the rows compatible.
  S2_VJP_OTHER_SHARE = 2
} S2VjpOther;

unsigned s2_mcp_vjp_other(const S2Problem *problem, unsigned other, const double *v,
                          const double *lambda, const double *dl_dv, const double *dl_dlambda,
                          const S2McpGradient *gradient, S2Arena *arena);

// Like s2_mcp_vjp, but computes the derivative at a point on the central path. It accounts for the
// dependence of w on the data.
unsigned s2_mcp_smooth_vjp(const S2Problem *problem, double kappa, const S2SmoothSolution *solution,
                           const double *dl_dv, const double *dl_dlambda,
                           const S2McpGradient *gradient, S2Arena *arena);

// For many products at one point, s2_mcp_linearise computes the factorisation only once. Its
// arguments must stay valid and unchanged while the S2McpLinear, which is allocated in the arena,
// is used.
typedef struct S2McpLinear S2McpLinear;
S2McpLinear *s2_mcp_linearise(const S2Problem *problem, const double *v, const double *lambda,
                              S2Arena *arena);
S2McpLinear *s2_mcp_smooth_linearise(const S2Problem *problem, double kappa,
                                     const S2SmoothSolution *solution, S2Arena *arena);
unsigned s2_mcp_linear_vjp(S2McpLinear *linear, const double *dl_dv, const double *dl_dlambda,
                           const S2McpGradient *gradient);

#endif
