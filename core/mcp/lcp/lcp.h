// Linear complementarity problems, dense or sparse: given M (n x n) and q (n), find
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
  const double *m, *q; // row-major n x n, and n; may be NULL for n = 0
} S2LcpProblem;

typedef enum S2LcpSolver {
  S2_LCP_AUTO = 0,
  S2_LCP_LEMKE,
  S2_LCP_BPP,       // block principal pivoting, with Murty's least index rule against cycling
  S2_LCP_ENUMERATE, // every choice of positive z_i: n <= S2_LCP_ENUMERATE_MAX
  S2_LCP_PGS,       // projected Gauss-Seidel, over-relaxed; positive diagonals only
  S2_LCP_NEWTON,    // semismooth Newton on the Fischer-Burmeister function, line search
  S2_LCP_PDIPM,     // Mehrotra's interior point, for monotone problems (z' M z >= 0)
  S2_LCP_SOLVER_COUNT
} S2LcpSolver;

enum {
  S2_LCP_ENUMERATE_MAX = 16, // rows: 2^16 choices
  S2_LCP_MAX = 32768,        // rows of any problem: indices of M stay within an int
};

typedef struct S2LcpSolverOptions {
  S2LcpSolver solver;
  double tolerance;   // solved: residual <= tolerance max(1, max|q|); 0 means 1e-9
  int max_iterations; // pivots, blocks, sweeps or factorisations of each method; 0: its default
  double omega;       // of pgs, in ]0, 2[; 0 means 1
  S2History *history; // NULL: none. `auto` appends the records of its methods one after the other
  // Above 0: the point of the central path, z_i w_i = kappa, which varies smoothly with M and q.
  // Only S2_LCP_AUTO and S2_LCP_PDIPM support it (and are then the same method); for others it is
  // S2_UNSUPPORTED.
  double kappa;
} S2LcpSolverOptions;

typedef struct S2LcpSolution {
  double *z, *w;        // n each, the caller's
  double *ray;          // n, the caller's, or NULL: see has_ray
  S2SolveStatus status; // S2_INFEASIBLE: proved that there is no solution
  S2LcpSolver used;     // the method of this answer
  int iterations;       // of all methods tried
  double residual;      // max_i |min(z_i, w_i)|; NaN when the input is not finite. With kappa
                        // max_i |z_i w_i - kappa|, infinite where z_i or w_i is not positive
  double kappa;         // as in the options: s2_lcp_vjp reads it
  bool has_ray;         // not solved, and Lemke's method ended on the ray in `ray`
} S2LcpSolution;

// Writes z >= 0 and w = M z + q as computed: a solution, or the best point found. The residual
// alone decides whether a problem is solved, for all methods. M and q may be of any kind
// (symmetric, monotone ...), but a method may return S2_UNSUPPORTED. Numbers that are not finite,
// and results too large for a double, are S2_SINGULAR. `options` may be NULL. Scratch memory comes
// from the arena and is released again; nothing else is allocated.
//
// S2_LCP_AUTO: block pivoting first (few iterations if M is positive definite), then Lemke. If
// Lemke ends on a ray that proves nothing, or fails because of rounding, enumeration decides for n
// up to S2_LCP_ENUMERATE_MAX. Above that it tries Lemke from other bases and covering vectors, then
// Newton and the interior point from other starts. An unsolved problem is S2_RAY if Lemke ended on
// a ray.
//
// With kappa, solved means a residual of at most tolerance and at most kappa / 1000. A monotone
// problem has a central path if some z > 0 has w > 0, and the method finds it. Other problems may
// have one or many points with z_i w_i = kappa; if the interior point finds none, it searches next
// to a solution. Without success the result is S2_MAX_ITERATIONS.
S2SolveStatus s2_lcp_solve(const S2LcpProblem *problem, const S2LcpSolverOptions *options,
                           S2Arena *arena, S2LcpSolution *solution);

// rows up to which a sparse M is converted to a dense one if necessary
enum { S2_LCP_DENSE_MAX = 2048 };

// Solves a problem with a sparse M, by the stages of the step problem's solver (three unknowns per
// node of the local form in mcp.h): interior point, Newton, Gauss-Seidel, with sparse factors. If
// that fails, S2_LCP_AUTO uses the dense methods; S2_LCP_LEMKE, _BPP and _ENUMERATE use them at
// once. Above S2_LCP_DENSE_MAX rows these methods return S2_UNSUPPORTED. `used` is S2_LCP_PDIPM if
// the sparse chain found the answer.
S2SolveStatus s2_lcp_sparse_solve(const S2Csr *m, const double *q,
                                  const S2LcpSolverOptions *options, S2Arena *arena,
                                  S2LcpSolution *solution);

typedef struct S2LcpGradient { // shapes of S2LcpProblem; each may be NULL
  double *m, *q;
} S2LcpGradient;

// From dl/dz (n) to dl/dM and dl/dq at a solution. Only z and kappa of the solution are read. With
// kappa 0 each z_i stays on its side (z_i > w_i: its row holds with equality); above 0, z_i w_i
// stays kappa. False if there is no such derivative:
// - z_i and w_i are both within 1e-9 of 0; they count as z_i = 0;
// - the active set is singular; the result then has least norm;
// - numbers are not finite; the result is NaN.
bool s2_lcp_vjp(const S2LcpProblem *problem, const S2LcpSolution *solution, const double *dl_dz,
                const S2LcpGradient *gradient, S2Arena *arena);

// Short lower-case name and a one-line summary; NULL beyond the last. s2_lcp_solver_from_name
// returns S2_LCP_SOLVER_COUNT for an unknown name.
const char *s2_lcp_solver_name(S2LcpSolver solver);
const char *s2_lcp_solver_summary(S2LcpSolver solver);
S2LcpSolver s2_lcp_solver_from_name(const char *name);

// Text file of a problem with all digits (docs/problem-format.md). Reading allocates one block;
// release it with s2_lcp_free.
S2Status s2_lcp_write(const S2LcpProblem *problem, const char *path);
S2Status s2_lcp_read(const char *path, S2LcpProblem **problem);
void s2_lcp_free(S2LcpProblem *problem);

// ---- Lemke's method alone ---------------------------------------------------------------------

// Lemke's complementary pivoting (Lemke 1965; Cottle, Pang, Stone, "The Linear Complementarity
// Problem", algorithm 4.4.5) with the lexicographic ratio test, which cannot cycle. It ends at a
// solution or on a ray. For copositive-plus M (all monotone problems among them) a ray means that
// not even M z + q >= 0, z >= 0 has a point; for other M it proves nothing by itself.

typedef struct S2LcpOptions {
  int max_pivots;      // 0 means the default; families with 2^n pivots exist (Murty, Fathi)
  const double *cover; // the covering vector d: n values > 0 and finite; NULL means all ones
  // NULL: none. One entry for each pivot; step 1, mu the covering variable; mu and the residual are
  // values of the equilibrated problem with max(-q) = 1
  S2History *history;
} S2LcpOptions;

typedef struct S2LcpInfo {
  int pivots;
  double residual;  // max_i |min(z_i, w_i)|, w = M z + q; not finite when the input is not
  bool infeasible;  // with S2_RAY: the ray proves (checked) that no z >= 0 has M z + q >= 0
  double ray_cover; // with S2_RAY: growth of the covering variable along the ray, >= 0
} S2LcpInfo;

// M is row-major, n x n; q has n entries. Writes z >= 0 and w = M z + q as computed (n each, always
// finite; rounding may leave w slightly below 0). If `ray` is not NULL and the status is S2_RAY,
// writes the direction of z (n values, largest 1) along the secondary ray. Without a solution z is
// the vertex with the smallest covering variable on the path. `options` may be NULL. Rows and
// columns are equilibrated first; the covering vector applies to the equilibrated problem. The
// final basis is solved again, with refinement. S2_SOLVED requires a residual that is small
// relative to M, z and q. S2_MAX_ITERATIONS: the pivot limit. S2_SINGULAR: the input is not finite,
// a covering entry is not positive, a result is too large for a double, or all attempts failed
// because of rounding.
S2SolveStatus s2_lcp_lemke(int n, const double *m, const double *q, double *z, double *w,
                           double *ray, const S2LcpOptions *options, S2Arena *arena,
                           S2LcpInfo *info);

#endif
