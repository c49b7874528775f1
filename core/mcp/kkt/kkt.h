// The linear system of bilateral rows: velocities v and multipliers (impulses) lambda with
//
//     W v - J' lambda = c            momentum
//     J v + C lambda + b = 0         rows
//
// W is symmetric positive definite and sparse, J any sparse matrix, C >= 0 diagonal. Rows may be
// redundant: v is still unique, and lambda is then near the solution of least norm.
#ifndef S2_KKT_H
#define S2_KKT_H

#include "base/arena.h"
#include "linalg/csr.h"
#include "mcp/history.h"
#include "mcp/mcp.h"

#include <stdbool.h>

typedef enum S2KktSolver {
  S2_KKT_LDL = 0, // factors the whole system, with rows as nodes of its graph
  S2_KKT_SCHUR,   // factors J W^-1 J' + C
  S2_KKT_CG,      // conjugate gradients on that matrix, which is never formed
  S2_KKT_MINRES,  // minimal residuals (Paige & Saunders 1975) on the whole system
  S2_KKT_SOLVER_COUNT
} S2KktSolver;

enum { S2_KKT_DENSE_MAX = 4096 }; // largest number of rows that "schur" treats as a dense matrix

typedef struct S2Kkt {
  int n, m;
  S2Csr w;                  // n x n
  S2Csr j;                  // m x n
  const double *compliance; // m: the diagonal of C; NULL: 0
  const double *c, *b;      // n, m
  // Weights of the residual: the size of one unit of v_i, or of the speed of row k. For an angular
  // velocity it is the size of the bodies. NULL: 1.
  const double *v_weight, *row_weight; // n, m
  double velocity_scale; // unit of the residual; 0: the largest weighted |c_i / W_ii| and |b_k|
} S2Kkt;

typedef struct S2KktOptions {
  S2KktSolver solver;
  double tolerance;   // solved: residual <= tolerance; 0 means 1e-9
  int max_iterations; // passes of refinement, or steps of cg and minres; 0: see kkt.c
  // NULL: none. Residuals within a cycle of minimal residuals, and those of cg, are estimates by
  // the recurrence; only the residual at its end is measured.
  S2History *history;
} S2KktOptions;

typedef struct S2KktSolution {
  double *v, *lambda; // n, m: the caller's
  // m, the caller's, or NULL. With S2_INFEASIBLE: y, largest 1, with J' y = 0, C y = 0, b' y > 0.
  double *proof;
  S2SolveStatus status;
  int iterations;
  double residual; // s2_kkt_residual; NaN when the input is not finite
} S2KktSolution;

// The residual alone decides whether a system is solved. The other results are:
// - S2_INFEASIBLE: it is proved that rows contradict each other;
// - S2_UNSUPPORTED: W not symmetric or not positive definite, C < 0, too many rows on one unknown
//   or on a W that is not block-diagonal;
// - S2_SINGULAR: input not finite, or results too large for a double;
// - S2_MAX_ITERATIONS, with the best point found.
//
// `options` may be NULL. Scratch memory comes from the arena and is released again; nothing else is
// allocated.
S2SolveStatus s2_kkt_solve(const S2Kkt *kkt, const S2KktOptions *options, S2Arena *arena,
                           S2KktSolution *solution);

// The largest of |(W v - J' lambda - c)_i / W_ii| and |(J v + C lambda + b)_k|, weighted, divided
// by velocity_scale.
double s2_kkt_residual(const S2Kkt *kkt, const double *v, const double *lambda, S2Arena *arena);

// The system of a step problem; its residual is `scaled` of s2_mcp_residual. False if the problem
// has rows that are not bilateral.
bool s2_kkt_from_problem(const S2Problem *problem, S2Arena *arena, S2Kkt *kkt);

// Short lower-case name and a one-line summary; NULL beyond the last.
const char *s2_kkt_solver_name(S2KktSolver solver);
const char *s2_kkt_solver_summary(S2KktSolver solver);

#endif
