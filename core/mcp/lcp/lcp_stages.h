// Private to core/mcp: the methods of s2_lcp_solve and the functions that they share.
#ifndef S2_LCP_STAGES_H
#define S2_LCP_STAGES_H

#include "linalg/numbers.h"
#include "mcp/lcp/lcp.h"

// ---- Methods ----------------------------------------------------------------------------------

// Arguments of a method. The caller ensures that all numbers of the problem are finite and that at
// least one q_i is negative.
typedef struct S2LcpRun {
  const S2LcpProblem *problem;
  // the caller's tolerance, max_iterations and omega
  const S2LcpSolverOptions *options;
  double allowed; // largest residual of a solved problem
  S2Arena *arena;
  double *z;        // output, n numbers of any sign; negative numbers are set to 0 afterwards
  double *ray;      // output, n numbers, if has_ray is set
  S2LcpSolver used; // input and output
  int iterations;   // out
  bool has_ray;     // out
  bool proved;      // output with S2_RAY: the ray proves that no z >= 0 has M z + q >= 0
} S2LcpRun;

// Returns the result that the method reports. The caller checks S2_SOLVED by the residual and
// trusts S2_INFEASIBLE.
typedef S2SolveStatus S2LcpStage(S2LcpRun *run);
S2LcpStage s2_lcp_auto_stage;      // lcp_auto.c
S2LcpStage s2_lcp_lemke_stage;     // lcp_auto.c: s2_lcp_lemke as a stage
S2LcpStage s2_lcp_restart_stage;   // lcp_restart.c: Lemke's method from other bases
S2LcpStage s2_lcp_bpp_stage;       // lcp_bpp.c
S2LcpStage s2_lcp_enumerate_stage; // lcp_enumerate.c
S2LcpStage s2_lcp_pgs_stage;       // lcp_pgs.c
S2LcpStage s2_lcp_newton_stage;    // lcp_newton.c
S2LcpStage s2_lcp_pdipm_stage;     // lcp_pdipm.c.

// ---- Scaling ----------------------------------------------------------------------------------

double s2_lcp_row(int n, const double *m, const double *q, const double *z, int i); // (M z + q)_i
// Computes row i of M z + q, with twice the digits if rounding could decide whether a residual is
// `allowed`. This matters far along a direction d with M d = 0. There the rounding error of M z
// hides q, so a distant point would seem to solve any problem.
double s2_lcp_sure_row(int n, const double *m, const double *q, const double *z, int i,
                       double allowed);
// Returns max |min(z, w)|, accurate enough to compare with `allowed`, or infinity if a number is
// not finite.
double s2_lcp_residual(int n, const double *m, const double *q, const double *z, double allowed);

// A scaled problem with w' = R w and z = C z'. Positive scales preserve complementarity.
typedef struct S2LcpScaled {
  int n;
  double *m, *q;        // R M C, R q / unit
  double *row, *column; // R, C
  double unit;          // max(-R q), so that the largest entry of the scaled -q is 1
} S2LcpScaled;

// Scales rows and columns by powers of two until their largest entries are about 1, within a factor
// of about 2. The result may still be too large for a double, so check it with s2_all_finite.
S2LcpScaled s2_lcp_equilibrate(int n, const double *m, const double *q, S2Arena *arena);

// Solves M_BB z_B = -q_B again, with refinement, for the z_i that are marked as basic. Keeps the
// result if it is better than z. Returns the residual of the better point.
double s2_lcp_clean_up(const S2LcpScaled *s, double *z, const bool *basic, S2Arena *arena);

// Calls s2_lcp_clean_up for a method that does not report its basis: z_i counts as basic if z_i >
// w_i.
double s2_lcp_finish(const S2LcpScaled *s, double *z, const double *w, S2Arena *arena);

// Returns the residual of a scaled point in the caller's units.
double s2_lcp_unscaled_residual(const S2LcpScaled *s, const double *z, const double *w);
void s2_lcp_unscale(const S2LcpScaled *s, double *z); // converts z and clips it at 0

#endif
