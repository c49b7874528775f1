// Private to core/mcp: the methods behind s2_lcp_solve and what they share.
#ifndef S2_LCP_STAGES_H
#define S2_LCP_STAGES_H

#include "linalg/numbers.h"
#include "mcp/lcp/lcp.h"

// ---- Methods ----------------------------------------------------------------------------------

// What a method works on. All numbers of the problem are finite and some q_i < 0.
typedef struct S2LcpRun {
  const S2LcpProblem *problem;
  const S2LcpSolverOptions *options; // tolerance, max_iterations and omega as the caller gave them
  double allowed;                    // residual that counts as solved
  S2Arena *arena;
  double *z;        // n: out, any numbers; they are clipped at 0 and judged afterwards
  double *ray;      // n: out when has_ray
  S2LcpSolver used; // in and out
  int iterations;   // out
  bool has_ray;     // out
  bool proved;      // out, beside S2_RAY: the ray proves that no z >= 0 has M z + q >= 0
} S2LcpRun;

// Returns what the method believes; S2_SOLVED is never taken on its word, but S2_INFEASIBLE is.
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
// The same, with twice the digits where rounding could decide whether a residual is `allowed`.
// Along a direction with M d = 0 a point far out hides q behind the rounding of M z, and looks like
// a solution of any problem.
double s2_lcp_sure_row(int n, const double *m, const double *q, const double *z, int i,
                       double allowed);
// max |min(z, w)|, sure enough to compare with `allowed`; infinite when a number is not finite
double s2_lcp_residual(int n, const double *m, const double *q, const double *z, double allowed);

// Positive scales keep the problem: w' = R w, z = C z'.
typedef struct S2LcpScaled {
  int n;
  double *m, *q;        // R M C, R q / unit
  double *row, *column; // R, C
  double unit;          // max(-R q): what is to be overcome has size 1
} S2LcpScaled;

// Scales rows and columns by powers of two until their largest entries are within 2 of 1 or so.
// The result may be too large for a double all the same: look at it with s2_lcp_finite.
S2LcpScaled s2_lcp_equilibrate(int n, const double *m, const double *q, S2Arena *arena);

// Solves M_BB z_B = -q_B afresh for the z marked as basic, with refinement, and keeps it when that
// is better than z. Returns the residual of what z is then.
double s2_lcp_clean_up(const S2LcpScaled *s, double *z, const bool *basic, S2Arena *arena);

// The same for a method that has numbers only: basic is what is larger than its w.
double s2_lcp_finish(const S2LcpScaled *s, double *z, const double *w, S2Arena *arena);

// Residual in the caller's units of a scaled point.
double s2_lcp_unscaled_residual(const S2LcpScaled *s, const double *z, const double *w);
void s2_lcp_unscale(const S2LcpScaled *s, double *z); // and clips at 0

#endif
