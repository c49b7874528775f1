// Solves the linear system of bilateral constraint rows. Find velocities v and impulses lambda with
//
//     W v - J' lambda = c            momentum
//     J v + C lambda + b = 0         rows
//
// W is sparse, symmetric and positive definite, J is any sparse matrix, and C >= 0 is diagonal.
// Rows may be redundant. Then v is still unique, and lambda is near the solution of least norm.
#ifndef S2_KKT_H
#define S2_KKT_H

#include "base/arena.h"
#include "linalg/csr.h"
#include "mcp/history.h"
#include "mcp/mcp.h"

#include <stdbool.h>

typedef enum S2KktSolver {
  S2_KKT_LDL = 0, // factors the whole system, with constraint rows as nodes of the graph
  S2_KKT_SCHUR,   // factors J W^-1 J' + C
  S2_KKT_CG,      // conjugate gradients on J W^-1 J' + C, which is not assembled
  S2_KKT_MINRES,  // MINRES (Paige and Saunders 1975) on the whole system
  S2_KKT_SOLVER_COUNT
} S2KktSolver;

enum { S2_KKT_DENSE_MAX = 4096 }; // largest number of rows that "schur" treats as a dense matrix

typedef struct S2Kkt {
  int n, m;
  S2Csr w;                  // n x n
  S2Csr j;                  // m x n
  const double *compliance; // diagonal of C, m numbers; NULL means 0
  const double *c, *b;      // n and m numbers.
  // Weights of v_i and of the speed of row k in the residual. Use the size of the bodies as the
  // weight of an angular velocity. NULL means 1.
  const double *v_weight, *row_weight; // n and m numbers.
  // Unit of the residual. 0 means the largest of all weighted |c_i / W_ii| and |b_k|.
  double velocity_scale;
} S2Kkt;

typedef struct S2KktOptions {
  S2KktSolver solver;
  double tolerance;   // solved if residual <= tolerance; 0 means 1e-9
  int max_iterations; // Refinement passes, or steps of cg and minres; 0 means the default in kkt.c.
  // NULL means no history. All residuals of cg, and those within a GMRES cycle, are estimates. The
  // residual at the end of a cycle is exact.
  S2History *history;
} S2KktOptions;

typedef struct S2KktSolution {
  double *v, *lambda; // n and m numbers, allocated by the caller.
  // NULL, or m numbers allocated by the caller. With S2_INFEASIBLE it receives y with J' y = 0, C y
  // = 0, b' y > 0 and a largest entry of 1.
  double *proof;
  S2SolveStatus status;
  int iterations;
  double residual; // result of s2_kkt_residual; NaN if the input is not finite
} S2KktSolution;

// The residual alone decides whether a system is solved. The other results are:
// - S2_INFEASIBLE: there is a proof that rows contradict each other;
// - S2_UNSUPPORTED: W is not symmetric or not positive definite, or C < 0. The solver "schur" also
//   returns it if there are too many rows for its dense matrix, which it needs if W is not
//   block-diagonal or if too many rows share one body;
// - S2_SINGULAR: the input is not finite, or results are too large for a double;
// - S2_MAX_ITERATIONS, with the best point found.
//
// `options` may be NULL. Scratch memory comes from the arena and is released again; nothing else is
// allocated.
S2SolveStatus s2_kkt_solve(const S2Kkt *kkt, const S2KktOptions *options, S2Arena *arena,
                           S2KktSolution *solution);

// Returns the largest weighted |(W v - J' lambda - c)_i / W_ii| or |(J v + C lambda + b)_k|,
// divided by velocity_scale.
double s2_kkt_residual(const S2Kkt *kkt, const double *v, const double *lambda, S2Arena *arena);

// Builds the system of a step problem. Its residual equals `scaled` of s2_mcp_residual. Returns
// false if the problem has rows that are not bilateral.
bool s2_kkt_from_problem(const S2Problem *problem, S2Arena *arena, S2Kkt *kkt);

// Return the short lower-case name and the one-line summary of a solver, or NULL for invalid
// values.
const char *s2_kkt_solver_name(S2KktSolver solver);
const char *s2_kkt_solver_summary(S2KktSolver solver);

#endif
