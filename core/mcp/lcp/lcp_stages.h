// Private to core/mcp: the methods of s2_lcp_solve and the functions that they share.
#ifndef S2_LCP_STAGES_H
#define S2_LCP_STAGES_H

#include "linalg/numbers.h"
#include "mcp/lcp/lcp.h"

// ---- Methods ----------------------------------------------------------------------------------

// The arguments of a method. All numbers of the problem are finite, and at least one q_i is
// negative.
typedef struct S2LcpRun {
  const S2LcpProblem *problem;
  // Options with the caller's tolerance, max_iterations and omega.
  const S2LcpSolverOptions *options;
  double allowed; // largest residual of a solved problem
  S2Arena *arena;
  double *z;        // output, n numbers of any sign, which are clipped at 0 afterwards
  double *ray;      // output, n numbers, if has_ray is set
  S2LcpSolver used; // input and output
  int iterations;   // out
  bool has_ray;     // out
  bool proved;      // output with S2_RAY: the ray proves that no z >= 0 has M z + q >= 0
} S2LcpRun;

// Returns the result that the method reports. S2_SOLVED is checked by the residual. S2_INFEASIBLE
// is trusted.
typedef S2SolveStatus S2LcpStage(S2LcpRun *run);
S2LcpStage s2_lcp_auto_stage;      // lcp_auto.c
S2LcpStage s2_lcp_lemke_stage;     // lcp_auto.c: s2_lcp_lemke as a stage
S2LcpStage s2_lcp_restart_stage;   // lcp_restart.c: Lemke from other bases, if it ended on a ray
S2LcpStage s2_lcp_bpp_stage;       // lcp_bpp.c
S2LcpStage s2_lcp_enumerate_stage; // lcp_enumerate.c
S2LcpStage s2_lcp_pgs_stage;       // lcp_pgs.c
S2LcpStage s2_lcp_newton_stage;    // lcp_newton.c
S2LcpStage s2_lcp_pdipm_stage;     // lcp_pdipm.c.

// ---- Scaling ----------------------------------------------------------------------------------

double s2_lcp_row(int n, const double *m, const double *q, const double *z, int i); // (M z + q)_i.
// Computes row i of M z + q, with twice the digits if rounding could decide whether a residual is
// `allowed`. Far along a direction d with M d = 0, the rounding error of M z hides q, so a distant
// point would look like a solution of any problem.
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

// The residual of a scaled point in the caller's units.
double s2_lcp_unscaled_residual(const S2LcpScaled *s, const double *z, const double *w);
void s2_lcp_unscale(const S2LcpScaled *s, double *z); // converts z, clipped at 0

#endif
