// Derivatives of step problems (mcp.h) and points of their central path.
//
// A vector-Jacobian product turns dl/d(v, lambda) of a loss l into dl/d(all data). It solves one
// linear system, the transpose of the solution's first-order conditions: K' [p; y] = dl/d(v,
// lambda), dl/d(data) = -[p; y]' dF/d(data).
//
// Exact (s2_mcp_vjp): every contact keeps its mode at the solution (separating, sticking, sliding
// either way). Smooth (s2_mcp_smooth_vjp): the pairs of a contact have z o s = kappa, so the
// solution varies smoothly with the data and depends also on contacts that do not touch yet.
#ifndef S2_MCP_VJP_H
#define S2_MCP_VJP_H

#include "mcp/mcp.h"

// A pair with both sides below this (scaled, so that impulses and velocities are compared with 1)
// cannot be distinguished from 0 in a solution with the usual tolerance of 1e-9.
static const double S2_VJP_EDGE = 1e-7;

// ---- Points of the central path ---------------------------------------------------------------
// In scaled units (velocities over V; impulses times the row's Delassus diagonal w = diag(J W^-1 J'
// + C) over V) the pairs of a contact, with u = J v + C lambda + b, are
//
//     z0 = lambda_n,                   s0 = u_n             z_i s_i = kappa, z, s > 0;
//     z1, z2: z1 - z2 = lambda_t,      s1 = z3 + u_t        without friction (mu <= 0) the first
//     z3, a bound of the sliding speed s2 = z3 - u_t        only, and lambda_t = 0
//                                      s3 = mu z0 - z1 - z2
//
// In SI z_i s_i is the energy kappa V^2 / w. At kappa the impulses and velocities of a contact have
// an error of about sqrt(kappa) where it hardly touches, otherwise of kappa divided by the larger
// side of the pair.

typedef struct S2SmoothSolution {
  double *v;      // 3 per node, out
  double *lambda; // 1 per row, out
  double *z;      // 4 per row, out: the pairs of the contact whose normal row it is (N s, N s, N s,
                  // m/s); 0 on other rows
  // Largest of |z_i s_i - kappa|, s as defined by v and z, of |W v - J' lambda - c| over W V and of
  // |u| of bilateral rows over V (angular ones times L).
  double residual;
  S2SolveStatus status;
  int iterations;
} S2SmoothSolution;

// Solves without a guess, by Mehrotra's predictor-corrector aimed at kappa. `options` may be NULL:
// tolerance 1e-10, 100 iterations; `solver` is ignored. S2_SOLVED if and only if residual <=
// tolerance. Otherwise S2_MAX_ITERATIONS with the best point met, or S2_UNSUPPORTED if kappa is not
// positive and finite. Contacts that can squeeze a body without bound may have no central path.
S2SolveStatus s2_mcp_smooth_solve(const S2Problem *problem, double kappa,
                                  const S2SolverOptions *options, S2Arena *arena,
                                  S2SmoothSolution *solution);

// ---- Derivatives ------------------------------------------------------------------------------

// The validity of a derivative; 0: it is the derivative.
typedef enum S2VjpFlag {
  // A contact is on the boundary of two modes (both sides of a pair below 1e-7, scaled). It counts
  // as separating rather than touching, and as sticking rather than sliding. The derivative is
  // one-sided.
  S2_VJP_WEAK = 1,
  // Active rows repeat each other exactly or nearly, so impulses are not unique. dl/d(bias, ja, jb,
  // compliance, mu) have least norm; they are right for changes of the rows that keep them
  // compatible. The derivatives with respect to mass and rhs are right without this condition. In
  // the local form the same holds for the mobility and rhs as for bias, because they stand for the
  // rows as well.
  S2_VJP_REDUNDANT = 2,
  // dl/dlambda (or dl/dv, if friction depends on how redundant contacts share their load) asks for
  // a quantity that is not determined. If the impulses have least norm, as those of
  // S2_SOLVER_ACTIVE do, the result is the derivative of these; the flag then only concerns
  // dl/dlambda. Otherwise that part of the derivative is left out. If the remaining system has no
  // solution, or one far larger than dl/dv, friction of sliding contacts counts as a given force
  // and active rows yield a little. This approximation stays bounded.
  S2_VJP_UNDETERMINED = 4,
  // The linear system was not solved, or a number is not finite. Do not use the result.
  S2_VJP_SINGULAR = 8,
  // Rows of contacts, including contacts that only touch, repeat each other. (Two points that stick
  // on one tangent do not count.) A change of the rows may make them contradict each other. Then
  // there is no two-sided derivative.
  S2_VJP_TIED = 1 << 16
} S2VjpFlag;

// dl/d(data). Each pointer may be NULL. Results are written, not added. V and L count as constants.
typedef struct S2McpGradient {
  double *mass, *rhs; // 3 per node; mass is not written in the local form
  double *ja, *jb;    // 3 per row; 0 on the ground
  double *bias;       // 1 per row, like the rest
  double *compliance;
  double *mu;       // on friction rows, else 0; at mu = 0 the right-sided derivative
  double *lo, *hi;  // of boxed rows with the impulse at that bound; else 0; exact only
  double *mobility; // 9 per block of problem->mobility, if there is one
  double *w; // 1 per row: the share of the above that acts through w = diag(J W^-1 J' + C), which
             // scales kappa and the norm of shared impulses; else 0
} S2McpGradient;

// dl_dv (3 per node) and dl_dlambda (1 per row) may be NULL, which is 0. (v, lambda) must be a
// solution; this is not checked. Its residual should be below 1e-9 for an accurate derivative.
// Returns flags. The cost is one factorisation of 3 x 3 node blocks and about ten solves with it
// (thirty in the local form).
unsigned s2_mcp_vjp(const S2Problem *problem, const double *v, const double *lambda,
                    const double *dl_dv, const double *dl_dlambda, const S2McpGradient *gradient,
                    S2Arena *arena);

// Another derivative that the data permit.
typedef enum S2VjpOther {
  // Contacts on an edge count as being on its other side: they touch, or slide.
  S2_VJP_OTHER_SIDE = 1,
  // With S2_VJP_TIED, dl/d(bias, ja, jb, compliance) do not have least norm. They agree with the
  // derivatives of least norm for changes of the rows that keep the rows compatible.
  S2_VJP_OTHER_SHARE = 2
} S2VjpOther;

unsigned s2_mcp_vjp_other(const S2Problem *problem, unsigned other, const double *v,
                          const double *lambda, const double *dl_dv, const double *dl_dlambda,
                          const S2McpGradient *gradient, S2Arena *arena);

// The derivative at a point of the central path; otherwise as s2_mcp_vjp. It accounts for the
// dependence of w on the data.
unsigned s2_mcp_smooth_vjp(const S2Problem *problem, double kappa, const S2SmoothSolution *solution,
                           const double *dl_dv, const double *dl_dlambda,
                           const S2McpGradient *gradient, S2Arena *arena);

// For many products at one point: s2_mcp_linearise makes the factorisation once. Its arguments must
// stay valid and unchanged while the S2McpLinear is used, which lives in the arena.
typedef struct S2McpLinear S2McpLinear;
S2McpLinear *s2_mcp_linearise(const S2Problem *problem, const double *v, const double *lambda,
                              S2Arena *arena);
S2McpLinear *s2_mcp_smooth_linearise(const S2Problem *problem, double kappa,
                                     const S2SmoothSolution *solution, S2Arena *arena);
unsigned s2_mcp_linear_vjp(S2McpLinear *linear, const double *dl_dv, const double *dl_dlambda,
                           const S2McpGradient *gradient);

#endif
