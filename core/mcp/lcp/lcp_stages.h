// Private to core/mcp: the methods of s2_lcp_solve and their common functions.
#ifndef S2_LCP_STAGES_H
#define S2_LCP_STAGES_H

#include "linalg/numbers.h"
#include "mcp/lcp/lcp.h"

// ---- Methods ----------------------------------------------------------------------------------

// The arguments of a method. All numbers of the problem are finite and some q_i < 0.
typedef struct S2LcpRun {
  const S2LcpProblem *problem;
  const S2LcpSolverOptions *options; // with the caller's tolerance, max_iterations and omega
  double allowed;                    // residual that counts as solved
  S2Arena *arena;
  double *z;        // n: out, any numbers; they are clipped at 0 and measured afterwards
  double *ray;      // n: out when has_ray
  S2LcpSolver used; // in and out
  int iterations;   // out
  bool has_ray;     // out
  bool proved;      // out, with S2_RAY: the ray proves that no z >= 0 has M z + q >= 0
} S2LcpRun;

// Returns the method's own result. S2_SOLVED is checked by the residual; S2_INFEASIBLE is trusted.
typedef S2SolveStatus S2LcpStage(S2LcpRun *run);
S2LcpStage s2_lcp_auto_stage;      // lcp_auto.c
S2LcpStage s2_lcp_lemke_stage;     // lcp_auto.c: s2_lcp_lemke as a stage
S2LcpStage s2_lcp_restart_stage;   // lcp_restart.c: Lemke from other bases, after a ray
S2LcpStage s2_lcp_bpp_stage;       // lcp_bpp.c
S2LcpStage s2_lcp_enumerate_stage; // lcp_enumerate.c
S2LcpStage s2_lcp_pgs_stage;       // lcp_pgs.c
S2LcpStage s2_lcp_newton_stage;    // lcp_newton.c
S2LcpStage s2_lcp_pdipm_stage;     // lcp_pdipm.c

// ---- Scaling ----------------------------------------------------------------------------------

double s2_lcp_row(int n, const double *m, const double *q, const double *z, int i); // (M z + q)_i
// Row i of M z + q, with twice the digits if rounding could decide whether a residual is `allowed`.
// Along a direction with M d = 0, rounding of M z hides q at a distant point, which then looks like
// a solution of any problem.
double s2_lcp_sure_row(int n, const double *m, const double *q, const double *z, int i,
                       double allowed);
// max |min(z, w)|, accurate enough to compare with `allowed`; infinite if a number is not finite
double s2_lcp_residual(int n, const double *m, const double *q, const double *z, double allowed);

// Positive scales keep the problem: w' = R w, z = C z'.
typedef struct S2LcpScaled {
  int n;
  double *m, *q;        // R M C, R q / unit
  double *row, *column; // R, C
  double unit;          // max(-R q), so the scaled -q has a largest entry of 1
} S2LcpScaled;

// Scales rows and columns by powers of two until their largest entries are about within a factor of
// 2 of 1. The result may still be too large for a double: check it with s2_lcp_finite.
S2LcpScaled s2_lcp_equilibrate(int n, const double *m, const double *q, S2Arena *arena);

// Solves M_BB z_B = -q_B again for the z marked as basic, with refinement, and keeps the result if
// it is better than z. Returns the residual of the kept z.
double s2_lcp_clean_up(const S2LcpScaled *s, double *z, const bool *basic, S2Arena *arena);

// Cleans up the result of a method that returns only numbers: z_i counts as basic if it exceeds its
// w_i.
double s2_lcp_finish(const S2LcpScaled *s, double *z, const double *w, S2Arena *arena);

// Residual of a scaled point in the caller's units.
double s2_lcp_unscaled_residual(const S2LcpScaled *s, const double *z, const double *w);
void s2_lcp_unscale(const S2LcpScaled *s, double *z); // and clips at 0

#endif
