// Linear complementarity problems, dense or sparse. Given a matrix M (n x n) and a vector q (n),
// find z with
//
//     w = M z + q,   z >= 0,   w >= 0,   z' w = 0.
#ifndef S2_LCP_H
#define S2_LCP_H

#include "linalg/csr.h"
#include "mcp/history.h"
#include "mcp/mcp.h"

#include <stdbool.h>

// ---- One entry for all methods ----------------------------------------------------------------

typedef struct S2LcpProblem {
  int n;
  const double *m, *q; // row-major n x n, and n numbers; may be NULL if n = 0
} S2LcpProblem;

typedef enum S2LcpSolver {
  S2_LCP_AUTO = 0,
  S2_LCP_LEMKE,
  S2_LCP_BPP,       // block principal pivoting, with Murty's least index rule against cycling
  S2_LCP_ENUMERATE, // tries all possible sets of positive z_i, for n <= S2_LCP_ENUMERATE_MAX
  S2_LCP_PGS,       // over-relaxed projected Gauss-Seidel; needs a positive diagonal
  S2_LCP_NEWTON,    // semismooth Newton on the Fischer-Burmeister function with line search
  S2_LCP_PDIPM,     // Mehrotra's interior-point method, for monotone problems (z' M z >= 0)
  S2_LCP_SOLVER_COUNT
} S2LcpSolver;

enum {
  S2_LCP_ENUMERATE_MAX = 16, // maximum number of rows for enumeration, which then tries 2^16 sets
  S2_LCP_MAX = 32768, // largest number of rows of any problem, so that indices of M fit into an int
};

typedef struct S2LcpSolverOptions {
  S2LcpSolver solver;
  double tolerance; // Solved if residual <= tolerance max(1, max|q|); 0 means 1e-9.
  // Maximum number of pivots, block moves, sweeps or factorisations of each method. 0 means the
  // default of the method.
  int max_iterations;
  double omega; // over-relaxation of pgs, between 0 and 2; 0 means 1.
  // NULL means no history. `auto` appends the records of its methods one after the other.
  S2History *history;
  // If kappa is above 0, the solver computes the point on the central path with z_i w_i = kappa,
  // which varies smoothly with M and q. S2_LCP_AUTO and S2_LCP_PDIPM support this and are then the
  // same method. The other solvers return S2_UNSUPPORTED.
  double kappa;
} S2LcpSolverOptions;

typedef struct S2LcpSolution {
  double *z, *w;        // n each, allocated by the caller
  double *ray;          // n, allocated by the caller, or NULL; see has_ray
  S2SolveStatus status; // S2_INFEASIBLE: there is a proof that no solution exists
  S2LcpSolver used;     // the method that found this answer
  int iterations;       // Iterations of all methods.
  // max_i |min(z_i, w_i)|, or NaN if the input is not finite. With kappa: max_i |z_i w_i - kappa|,
  // or infinite if any z_i or w_i is not positive.
  double residual;
  double kappa; // copy of options.kappa, which s2_lcp_vjp reads
  bool has_ray; // true if the problem is unsolved and `ray` contains the ray of Lemke's method
} S2LcpSolution;

// Writes z >= 0 and the computed w = M z + q: a solution, or the best point found. For all methods,
// the residual alone decides whether a problem is solved. M and q may be of any kind, but a method
// may return S2_UNSUPPORTED. Returns S2_SINGULAR if numbers are not finite or results are too large
// for a double. `options` may be NULL. Scratch memory comes from the arena and is released. Nothing
// else is allocated.
//
// S2_LCP_AUTO tries block pivoting first, which takes few iterations if M is positive definite,
// then Lemke. Lemke may end on a ray that proves nothing, or fail because of rounding. Then
// enumeration decides for n up to S2_LCP_ENUMERATE_MAX. If the problem is larger or still
// undecided, it tries Lemke from other bases and covering vectors, Newton, the interior-point
// method, and block pivoting without a short limit. The result of an unsolved problem is S2_RAY if
// Lemke ended on a ray.
//
// With kappa, a problem is solved if the residual is at most tolerance and at most kappa / 1000. A
// monotone problem has a central path if some z > 0 has w > 0, and the method finds it. Other
// problems may have no, one or many points with z_i w_i = kappa. If the interior-point method finds
// none, it searches near a solution. If that fails, the result is S2_MAX_ITERATIONS.
S2SolveStatus s2_lcp_solve(const S2LcpProblem *problem, const S2LcpSolverOptions *options,
                           S2Arena *arena, S2LcpSolution *solution);

// Maximum number of rows of a sparse M that may be converted to a dense matrix.
enum { S2_LCP_DENSE_MAX = 2048 };

// Solves a problem with a sparse M by the chain of the step problem: the interior-point method,
// Newton and Gauss-Seidel with sparse factors. Each node of the local form (mcp.h) has three
// unknowns. If the chain fails, S2_LCP_AUTO uses the dense methods. S2_LCP_PDIPM uses only the
// chain, and the other solvers use only the dense methods. They return S2_UNSUPPORTED for more than
// S2_LCP_DENSE_MAX rows. `used` is S2_LCP_PDIPM if the chain found the answer.
S2SolveStatus s2_lcp_sparse_solve(const S2Csr *m, const double *q,
                                  const S2LcpSolverOptions *options, S2Arena *arena,
                                  S2LcpSolution *solution);

typedef struct S2LcpGradient { // same shapes as in S2LcpProblem; each may be NULL
  double *m, *q;
} S2LcpGradient;

// Computes dl/dM and dl/dq from dl/dz (n numbers) at a solution. Reads only z and kappa of the
// solution. If kappa is 0, each z_i stays on its side: rows with z_i > w_i hold with equality. If
// kappa is above 0, z_i w_i stays equal to kappa. Returns false if there is no such derivative, for
// one of these reasons:
// - z_i and w_i are both within 1e-9 of 0, and count as z_i = 0;
// - the active set is singular, and the result has least norm;
// - numbers are not finite, and the result is NaN.
bool s2_lcp_vjp(const S2LcpProblem *problem, const S2LcpSolution *solution, const double *dl_dz,
                const S2LcpGradient *gradient, S2Arena *arena);

// Return the short lower-case name and the one-line summary of a solver, or NULL for invalid
// values. s2_lcp_solver_from_name returns S2_LCP_SOLVER_COUNT for an unknown name.
const char *s2_lcp_solver_name(S2LcpSolver solver);
const char *s2_lcp_solver_summary(S2LcpSolver solver);
S2LcpSolver s2_lcp_solver_from_name(const char *name);

// Read and write a problem as text that preserves all digits (docs/problem-format.md). Reading
// allocates one block, which s2_lcp_free releases.
S2Status s2_lcp_write(const S2LcpProblem *problem, const char *path);
S2Status s2_lcp_read(const char *path, S2LcpProblem **problem);
void s2_lcp_free(S2LcpProblem *problem);

// ---- Lemke's method alone ---------------------------------------------------------------------

// Lemke's complementary pivoting (Lemke 1965; Cottle, Pang, Stone, "The Linear Complementarity
// Problem", algorithm 4.4.5) with the lexicographic ratio test, which cannot cycle. It ends at a
// solution or on a ray. If M is copositive-plus, as in all monotone problems, a ray means that no z
// satisfies M z + q >= 0 and z >= 0. For other M a ray alone proves nothing.

typedef struct S2LcpOptions {
  // 0 means the default. Some families of problems need 2^n pivots (Murty, Fathi).
  int max_pivots;
  // The covering vector d: n positive finite numbers. NULL means all ones.
  const double *cover;
  // NULL means no history. It has one entry per pivot, with step 1 and the covering variable as mu.
  // mu and the residual refer to the equilibrated problem with max(-q) = 1.
  S2History *history;
} S2LcpOptions;

typedef struct S2LcpInfo {
  int pivots;
  double residual;  // max_i |min(z_i, w_i)|; not finite if the input is not finite
  bool infeasible;  // with S2_RAY, true if the ray proves that no z >= 0 has M z + q >= 0
  double ray_cover; // with S2_RAY, growth of the covering variable along the ray, >= 0
} S2LcpInfo;

// M is row-major, n x n, and q has n entries. Writes z >= 0 and the computed w = M z + q, n numbers
// each. They are always finite, and rounding may leave w slightly below 0. If `ray` is not NULL and
// the status is S2_RAY, writes the direction of z along the secondary ray, with a largest entry of
// 1. If there is no solution, z is the vertex with the smallest covering variable on the path.
// `options` may be NULL. Rows and columns are equilibrated first, and the covering vector applies
// to the equilibrated problem. The final basis is solved again with refinement. S2_SOLVED requires
// a residual that is small relative to M, z and q. S2_MAX_ITERATIONS means that the pivot limit was
// reached. S2_SINGULAR means that the input is not finite, a covering entry is not positive, a
// result is too large for a double, or all attempts failed because of rounding.
S2SolveStatus s2_lcp_lemke(int n, const double *m, const double *q, double *z, double *w,
                           double *ray, const S2LcpOptions *options, S2Arena *arena,
                           S2LcpInfo *info);

#endif
