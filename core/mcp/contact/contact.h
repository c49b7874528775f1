// Frictional contact problems in the plane, as matrices. Contact k owns the entries 2 k (normal)
// and 2 k + 1 (tangent) of reactions r (impulses, N s) and velocities u (m/s):
//
//     0 <= u_n  _|_  r_n >= 0,   |r_t| <= mu r_n,   r_t against u_t at that bound
//
// Local form:  u = W r + q, W the Delassus matrix.
// Global form: M v = H r + q,  u = H' v + b, M symmetric positive definite.
//
// Both are the step problem of mcp.h, with the same solvers and the same residual.
#ifndef S2_CONTACT_H
#define S2_CONTACT_H

#include "linalg/csr.h"
#include "mcp/adjoint/mcp_vjp.h"

enum { S2_CONTACT_CONDENSE_MAX = 4096 }; // contacts of a global form whose W is formed: 800 MB

typedef struct S2ContactProblem {
  int contacts;
  const S2Csr *w;   // 2n x 2n
  const double *q;  // 2n, m/s
  const double *mu; // n, >= 0
} S2ContactProblem;

typedef struct S2GlobalContactProblem {
  int freedoms, contacts;
  const S2Csr *m;   // freedoms x freedoms; only the lower triangle with the diagonal is read
  const S2Csr *h;   // freedoms x 2n
  const double *q;  // freedoms, N s: momentum without contacts
  const double *b;  // 2n, m/s
  const double *mu; // n, >= 0
} S2GlobalContactProblem;

typedef struct S2ContactSolution {
  double *r;           // 2n, the caller's; in: a guess (zeros: cold), out: the solution
  double *u;           // 2n, the caller's; out
  double *v;           // freedoms, the caller's; out; global form only
  double *z;           // 4n, the caller's; out; points of the central path only
  double kappa;        // 0: a solution; else its kappa on the central path
  S2Residual residual; // scaled: velocities over max |q| (global form: |H' M^-1 q + b|)
  S2SolveStatus status;
  S2Solver used;
  int iterations;
} S2ContactSolution;

// Solves in local form. The tolerance applies to the scaled residual. On failure the best point
// found is returned with its residual; S2_SINGULAR if data are not finite. Scratch memory comes
// from the arena and is released again.
S2SolveStatus s2_contact_solve(const S2ContactProblem *problem, const S2SolverOptions *options,
                               S2Arena *arena, S2ContactSolution *solution);

// Solves in global form. If M is diagonal and no contact joins more than two bodies of three
// freedoms, it works on bodies and does not form a matrix; otherwise it uses the local form, W = H'
// M^-1 H. S2_SINGULAR also if M is not positive definite; S2_UNSUPPORTED above
// S2_CONTACT_CONDENSE_MAX.
S2SolveStatus s2_contact_solve_global(const S2GlobalContactProblem *problem,
                                      const S2SolverOptions *options, S2Arena *arena,
                                      S2ContactSolution *solution);

// Points of the central path (mcp_vjp.h), smooth in all data, instead of solutions: each contact
// has pairs with z_i s_i W_kk = kappa > 0 (m^2/s^2), where k is its normal for
//
//     z0 = r_n, s0 = u_n,     and its tangent for the others, which exist if mu > 0:
//     z1 - z2 = r_t, s1 = z3 + u_t, s2 = z3 - u_t, s3 = mu z0 - z1 - z2
//
// So velocities of contacts that hardly touch are about the root of kappa. No guess is used.
// S2_SOLVED if and only if residual.scaled is at most the tolerance: it compares momentum and z_i
// s_i W_kk / V^2, the latter also relative to kappa / (1000 V^2). V is the larger of that root and
// the velocity scale above. The rest of `residual` is the distance of the point from a solution.
// S2_UNSUPPORTED: kappa is not positive and finite.
S2SolveStatus s2_contact_smooth_solve(const S2ContactProblem *problem, double kappa,
                                      const S2SolverOptions *options, S2Arena *arena,
                                      S2ContactSolution *solution);
S2SolveStatus s2_contact_smooth_solve_global(const S2GlobalContactProblem *problem, double kappa,
                                             const S2SolverOptions *options, S2Arena *arena,
                                             S2ContactSolution *solution);

// Converts derivatives of a loss with respect to a solution (each may be NULL, which is 0; v:
// global form only) to derivatives with respect to the data (each may be NULL; written, not added).
typedef struct S2ContactLoss {
  const double *r, *u, *v;
} S2ContactLoss;

typedef struct S2LocalContactGradient {
  double *w; // one per entry of problem->w; entries of 0 have a derivative, too
  double *q, *mu;
} S2LocalContactGradient;

typedef struct S2GlobalContactGradient {
  double *m, *h; // one per entry; 0 above the diagonal of M, which is not read
  double *q, *b, *mu;
} S2GlobalContactGradient;

// For a solution or, with solution->kappa > 0, a point of the central path. It reads r, u, v
// (global form), z (on the path) and kappa, and does not check that they are a solution. Returns
// S2VjpFlags. With S2_VJP_REDUNDANT the derivatives with respect to w, q (global form: h, b) and mu
// are right for changes that keep contacts compatible; in a global form those with respect to m and
// q are right without this condition.
unsigned s2_contact_vjp(const S2ContactProblem *problem, const S2ContactSolution *solution,
                        const S2ContactLoss *loss, const S2LocalContactGradient *gradient,
                        S2Arena *arena);
unsigned s2_contact_vjp_global(const S2GlobalContactProblem *problem,
                               const S2ContactSolution *solution, const S2ContactLoss *loss,
                               const S2GlobalContactGradient *gradient, S2Arena *arena);

// Builds the step problem of the local form, for callers that solve it with other methods. Memory
// comes from the arena.
S2Problem s2_contact_step_problem(const S2ContactProblem *problem, S2Arena *arena);

// Text files with all digits (docs/problem-format.md). Reading gives one of the two forms; its
// numbers live until the file is freed.
typedef struct S2ContactFile {
  bool global;                        // which form it is:
  S2ContactProblem local_form;        // set unless global
  S2GlobalContactProblem global_form; // set when global
  S2Csr matrix[2];                    // w; or m and h
  S2Arena memory;
} S2ContactFile;

S2Status s2_contact_read(const char *path, S2ContactFile **file);
void s2_contact_free(S2ContactFile *file);
S2Status s2_contact_write(const S2ContactProblem *problem, const char *path);
S2Status s2_contact_write_global(const S2GlobalContactProblem *problem, const char *path);

#endif
