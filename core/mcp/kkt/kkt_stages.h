// Private to core/mcp: shared by the methods of kkt.h.
//
// Scaling: v_i is divided by a power of two near W_ii^-1/2, and lambda_k by a power of two near (J
// diag(W)^-1 J' + C)_kk^-1/2. W then has a diagonal of about 1, and rows have a length of about 1,
// for any physical units and mass ratios. Powers of two cause no rounding. In block-sparse
// matrices, three velocities form a node, and so do up to three neighbouring rows on the same
// bodies.
#ifndef S2_KKT_STAGES_H
#define S2_KKT_STAGES_H

#include "linalg/blocksparse.h"
#include "mcp/kkt/kkt.h"

#include <stddef.h>

// A row-major block of J (between a group of rows and a body) or of W (between two bodies).
typedef struct S2KktLink {
  int32_t row, column; // The row is a group or a body. The column is a body.
  double block[9];
} S2KktLink;

typedef struct S2KktScaled {
  int n, m;
  S2Csr w, j;
  double *compliance, *c, *b;
  // v = v_unit o (scaled v), lambda = row_unit o (scaled lambda)
  double *v_unit, *row_unit;
  // Convert errors of the scaled equations to the residual.
  double *v_measure, *row_measure;
  int bodies, groups;
  int32_t *group_start; // first row of each group; groups + 1 numbers
  int links, couplings;
  S2KktLink *link;     // blocks of J, sorted by groups
  S2KktLink *coupling; // blocks of W below its diagonal blocks, row > column
  double *w_block;     // diagonal blocks of W, 9 numbers per body
  S2BlockSparse mass;  // W factored
} S2KktScaled;

// State of a solve: the best point so far and its residual.
typedef struct S2KktRun {
  const S2KktScaled *kkt;
  double tolerance;
  int max_iterations, iterations;
  S2History *history;
  double *v, *lambda; // scaled
  double best;
  S2SolveStatus status; // Result of the method.
  // Residuals of the last measured point: W v - J' lambda - c and J v + C lambda + b.
  double *r_v, *r_row;
  // NULL, or m scaled row speeds that may prove that rows contradict each other.
  const double *witness;
  S2Arena *arena;
} S2KktRun;

// Functions of kkt_residual.c: the weight of an unknown or a row, W_ii, and the unit of the
// residual.
static inline double s2_kkt_weight(const double *weights, int i) {
  return weights != NULL ? weights[i] : 1;
}
double s2_kkt_diagonal(const S2Csr *w, int i);
double s2_kkt_velocity_scale(const S2Kkt *kkt);

// Writes the residuals of a point to r_v and r_row. Returns the largest, and keeps the point if it
// is the best so far.
double s2_kkt_offer(S2KktRun *run, const double *v, const double *lambda);
static inline bool s2_kkt_done(const S2KktRun *run) {
  return run->best <= run->tolerance;
}

// Finds nodes, groups and links, and factors W. Returns S2_SOLVED, or S2_UNSUPPORTED if W is not
// positive definite.
S2SolveStatus s2_kkt_prepare(S2KktScaled *kkt, S2Arena *arena);

// x := W^-1 b. x may be b.
void s2_kkt_mass_solve(const S2KktScaled *kkt, const double *b, double *x, S2Arena *arena);
// v := W^-1 (c + J' lambda)
void s2_kkt_velocity(const S2KktScaled *kkt, const double *lambda, double *v, S2Arena *arena);
// Returns a preconditioner: the inverses of the diagonal blocks of J blockdiag(W)^-1 J' + C, 9
// numbers per group.
double *s2_kkt_group_inverse(const S2KktScaled *kkt, S2Arena *arena);
// x := P b, where P consists of the blocks in `inverse`. x must not be b.
void s2_kkt_group_times(const S2KktScaled *kkt, const double *inverse, const double *b, double *x);

// The methods. Each of them sets run->status.
void s2_kkt_solve_ldl(S2KktRun *run);
void s2_kkt_solve_schur(S2KktRun *run);
void s2_kkt_solve_cg(S2KktRun *run);
void s2_kkt_solve_minres(S2KktRun *run);

// Refinement for ldl and schur (kkt_refine.c). `factor` factors the system with `delta` added to C.
// `solve` replaces the right sides x and y of W x - J' y = .. and J x + (C + delta) y = .. by the
// solution.
typedef struct S2KktDirect {
  void *method;
  bool (*factor)(void *method, double delta);
  void (*solve)(void *method, double *x, double *y);
} S2KktDirect;
void s2_kkt_refine(S2KktRun *run, const S2KktDirect *direct);

#endif
