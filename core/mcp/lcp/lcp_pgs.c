// Projected Gauss-Seidel with over-relaxation (Cryer 1971). It converges if M is symmetric positive
// definite and 0 < omega < 2, and if M is diagonally dominant and omega <= 1.
#include "mcp/lcp/lcp_stages.h"

#include <math.h>
#include <string.h>

enum { SWEEPS = 10000 }; // convergence is linear, so more sweeps would hardly help

S2SolveStatus s2_lcp_pgs_stage(S2LcpRun *run) {
  int n = run->problem->n;
  const double *m = run->problem->m, *q = run->problem->q;
  double omega = run->options->omega;
  for (int i = 0; i < n; ++i) {
    if (!(m[(size_t)i * (size_t)n + (size_t)i] > 0)) {
      return S2_UNSUPPORTED;
    }
  }
  int limit = run->options->max_iterations > 0 ? run->options->max_iterations : SWEEPS;
  double *z = run->z;
  memset(z, 0, sizeof(double) * (size_t)n);
  while (run->iterations < limit) {
    // A sweep sets z_i := max(0, z_i - omega w_i / M_ii), using the updated z of earlier rows.
    double seen = 0; // largest residual of a row before it changes
    for (int i = 0; i < n; ++i) {
      double w = s2_lcp_row(n, m, q, z, i);
      seen = fmax(seen, fabs(fmin(z[i], w)));
      z[i] = fmax(0, z[i] - omega * w / m[(size_t)i * (size_t)n + (size_t)i]);
    }
    run->iterations += 1;
    // The residual costs as much as a sweep, so it is computed only if it is likely to be small.
    double residual = seen;
    if (run->options->history != NULL || seen <= run->allowed) {
      residual = s2_lcp_residual(n, m, q, z, run->allowed);
      s2_history_add(run->options->history, residual, 1, 0);
    }
    if (seen <= run->allowed && residual <= run->allowed) {
      return S2_SOLVED;
    }
    if (!isfinite(seen) || !s2_all_finite(z, (size_t)n)) {
      return S2_SINGULAR; // z is too large for a double
    }
  }
  return S2_MAX_ITERATIONS;
}
