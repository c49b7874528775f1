// Computes derivatives of solutions with the functions for mixed problems, here without free
// unknowns.
#include "mcp/lcp/lcp.h"
#include "mcp/mixed/mixed.h"

bool s2_lcp_vjp(const S2LcpProblem *problem, const S2LcpSolution *solution, const double *dl_dz,
                const S2LcpGradient *gradient, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = problem->n;
  S2Mixed p = s2_mixed_pairs(n, problem->m, problem->q, arena);
  double *l = S2_TAKE(arena, double, n + 1);
  bool regular = s2_mixed_adjoint(&p, &(S2Bounds){0}, solution->z, solution->kappa, dl_dz, l, NULL,
                                  NULL, arena);
  // Compute dl/dM = -l z' and dl/dq = -l.
  for (int i = 0; i < n; i++) {
    for (int j = 0; gradient->m != NULL && j < n; j++) {
      gradient->m[(size_t)i * (size_t)n + (size_t)j] = 0 - l[i] * solution->z[j]; // no -0
    }
    if (gradient->q != NULL) {
      gradient->q[i] = 0 - l[i];
    }
  }
  s2_arena_rewind(arena, mark);
  return regular;
}
