// Private to core/mcp: shared by the methods of kkt.h.
//
// Scaling: v_i over 2^k ~ W_ii^-1/2, lambda_k over 2^k ~ (J diag(W)^-1 J' + C)_kk^-1/2. So W has a
// diagonal of about 1 and rows have a length of about 1, for all units and mass ratios. Powers of
// two do not round. Three unknowns form a node of the block-sparse matrices, and so do up to three
// neighbouring rows on the same bodies.
#ifndef S2_KKT_STAGES_H
#define S2_KKT_STAGES_H

#include "linalg/blocksparse.h"
#include "mcp/kkt/kkt.h"

#include <stddef.h>

// A block between two nodes, row-major: of J between a group of rows and a body, or of W.
typedef struct S2KktLink {
  int32_t row, column; // group or body; body
  double block[9];
} S2KktLink;

typedef struct S2KktScaled {
  int n, m;
  S2Csr w, j;
  double *compliance, *c, *b;
  double *v_unit, *row_unit;       // v = v_unit o scaled v, lambda = row_unit o scaled lambda
  double *v_measure, *row_measure; // factors from the scaled equations to the measure
  int bodies, groups;
  int32_t *group_start; // groups + 1: rows of a group
  int links, couplings;
  S2KktLink *link;     // of J, by groups
  S2KktLink *coupling; // of W off its diagonal blocks, row > column
  double *w_block;     // 9 per body
  S2BlockSparse mass;  // W factored
} S2KktScaled;

// The search for a solution: the best point so far and its residual.
typedef struct S2KktRun {
  const S2KktScaled *kkt;
  double tolerance;
  int max_iterations, iterations;
  S2History *history;
  double *v, *lambda; // scaled
  double best;
  S2SolveStatus status; // reason of a failure
  double *r_v, *r_row; // scratch: residuals of the last measured point, W v - J' lambda - c and J v
                       // + C lambda + b
  const double *witness; // m, or NULL: speeds that may prove a contradiction of rows (scaled)
  S2Arena *arena;
} S2KktRun;

// The weight of an unknown or row; W_ii; the unit of the residual (kkt_residual.c).
static inline double s2_kkt_weight(const double *weights, int i) {
  return weights != NULL ? weights[i] : 1;
}
double s2_kkt_diagonal(const S2Csr *w, int i);
double s2_kkt_velocity_scale(const S2Kkt *kkt);

// Measures a point, leaves its residuals in r_v and r_row, keeps it if it is the best, and returns
// its residual.
double s2_kkt_offer(S2KktRun *run, const double *v, const double *lambda);
static inline bool s2_kkt_done(const S2KktRun *run) {
  return run->best <= run->tolerance;
}

// Finds nodes, groups and links and factors W. S2_SOLVED, or S2_UNSUPPORTED if W is not positive
// definite.
S2SolveStatus s2_kkt_prepare(S2KktScaled *kkt, S2Arena *arena);

// x = W^-1 b; x may be b.
void s2_kkt_mass_solve(const S2KktScaled *kkt, const double *b, double *x, S2Arena *arena);
// v = W^-1 (c + J' lambda)
void s2_kkt_velocity(const S2KktScaled *kkt, const double *lambda, double *v, S2Arena *arena);
// The inverse of the diagonal blocks of J blockdiag(W)^-1 J' + C, 9 per group: a preconditioner.
double *s2_kkt_group_inverse(const S2KktScaled *kkt, S2Arena *arena);
// x = P b, where P are those blocks; x may not be b.
void s2_kkt_group_times(const S2KktScaled *kkt, const double *inverse, const double *b, double *x);

// The methods; each fills run->status.
void s2_kkt_solve_ldl(S2KktRun *run);
void s2_kkt_solve_schur(S2KktRun *run);
void s2_kkt_solve_cg(S2KktRun *run);
void s2_kkt_solve_minres(S2KktRun *run);

// Refinement for ldl and schur (kkt_refine.c). `factor` prepares the system with `delta` added to
// C. `solve` replaces x and y, the right sides of  W x - J' y = .., J x + (C + delta) y = .., by
// the solution.
typedef struct S2KktDirect {
  void *method;
  bool (*factor)(void *method, double delta);
  void (*solve)(void *method, double *x, double *y);
} S2KktDirect;
void s2_kkt_refine(S2KktRun *run, const S2KktDirect *direct);

#endif
