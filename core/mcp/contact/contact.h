// Planar frictional contact problems, given by matrices. Contact k has the entries 2 k (normal) and
// 2 k + 1 (tangent) in the reactions r (impulses, N s) and in the velocities u (m/s). They satisfy
//
//     0 <= u_n _|_ r_n >= 0, |r_t| <= mu r_n, and r_t opposes u_t at that bound
//
// Local form:  u = W r + q, where W is the Delassus matrix.
// Global form: M v = H r + q,  u = H' v + b, where M is symmetric positive definite.
//
// Both forms are converted to the step problem of mcp.h, with the same solvers and the same
// residual.
#ifndef S2_CONTACT_H
#define S2_CONTACT_H

#include "linalg/csr.h"
#include "mcp/adjoint/mcp_vjp.h"

// Largest number of contacts of a global form for which W is computed. W then takes 800 MB.
enum { S2_CONTACT_CONDENSE_MAX = 4096 };

typedef struct S2ContactProblem {
  int contacts;
  const S2Csr *w;   // 2n x 2n
  const double *q;  // 2n, m/s
  const double *mu; // n, >= 0
} S2ContactProblem;

typedef struct S2GlobalContactProblem {
  int freedoms, contacts;
  // freedoms x freedoms; only the diagonal and the lower triangle are read
  const S2Csr *m;
  const S2Csr *h;   // freedoms x 2n
  const double *q;  // freedoms, N s: momentum before contact impulses
  const double *b;  // 2n, m/s
  const double *mu; // n, >= 0
} S2GlobalContactProblem;

typedef struct S2ContactSolution {
  double *r;    // 2n, allocated by the caller; a guess or zeros on input, the solution on output
  double *u;    // 2n, allocated by the caller; out
  double *v;    // freedoms, allocated by the caller; out; global form only
  double *z;    // 4n, allocated by the caller; out; central path only
  double kappa; // 0 for a solution, else kappa of a point on the central path.
  // For `scaled`, velocities are divided by max |q|, or by max |H' M^-1 q + b| in the global form.
  S2Residual residual;
  S2SolveStatus status;
  S2Solver used;
  int iterations;
} S2ContactSolution;

// Solves a problem in local form. The tolerance applies to the scaled residual. On failure,
// `solution` receives the best point found and its residual. Returns S2_SINGULAR if data are not
// finite. Scratch memory comes from the arena and is released.
S2SolveStatus s2_contact_solve(const S2ContactProblem *problem, const S2SolverOptions *options,
                               S2Arena *arena, S2ContactSolution *solution);

// Solves a problem in global form. If M is diagonal and no contact involves more than two bodies of
// three freedoms, it works on bodies and computes no matrix. Otherwise it uses the local form with
// W = H' M^-1 H. Returns S2_SINGULAR also if M is not positive definite, and S2_UNSUPPORTED if W
// would need more than S2_CONTACT_CONDENSE_MAX contacts.
S2SolveStatus s2_contact_solve_global(const S2GlobalContactProblem *problem,
                                      const S2SolverOptions *options, S2Arena *arena,
                                      S2ContactSolution *solution);

// Computes points on the central path (mcp_vjp.h), which vary smoothly with all data, instead of
// solutions. Each contact has pairs with z_i s_i W_kk = kappa > 0 (m^2/s^2). k is its normal row
// for
//
//     z0 = r_n, s0 = u_n, and its tangent row for the other pairs, which exist if mu > 0:
//     z1 - z2 = r_t, s1 = z3 + u_t, s2 = z3 - u_t, s3 = mu z0 - z1 - z2
//
// The velocities of contacts that hardly touch are then about the square root of kappa. No guess is
// used. V is the larger of this root and the velocity scale above. Returns S2_SOLVED if and only if
// residual.scaled is at most the tolerance and at most kappa / (1000 V^2). residual.scaled is the
// largest error of the momentum and of z_i s_i W_kk / V^2. The other members of `residual` give the
// distance of the point from a solution. Returns S2_UNSUPPORTED if kappa is not positive and
// finite.
S2SolveStatus s2_contact_smooth_solve(const S2ContactProblem *problem, double kappa,
                                      const S2SolverOptions *options, S2Arena *arena,
                                      S2ContactSolution *solution);
S2SolveStatus s2_contact_smooth_solve_global(const S2GlobalContactProblem *problem, double kappa,
                                             const S2SolverOptions *options, S2Arena *arena,
                                             S2ContactSolution *solution);

// Derivatives of a loss with respect to a solution. Each may be NULL, which counts as 0. v is for
// the global form only. s2_contact_vjp converts them to derivatives with respect to the data. Each
// result may be NULL, and results overwrite the arrays.
typedef struct S2ContactLoss {
  const double *r, *u, *v;
} S2ContactLoss;

typedef struct S2LocalContactGradient {
  double *w; // one per entry of problem->w; entries that are 0 have a derivative, too
  double *q, *mu;
} S2LocalContactGradient;

typedef struct S2GlobalContactGradient {
  double *m, *h; // one per entry; 0 for entries above the diagonal of M, which are not read
  double *q, *b, *mu;
} S2GlobalContactGradient;

// Vector-Jacobian product at a solution or, if solution->kappa > 0, at a point on the central path.
// It reads r, u, kappa, v in the global form, and z on the path. It does not check that they are a
// solution. Returns S2VjpFlags. With S2_VJP_REDUNDANT, the derivatives with respect to w and q
// (global form: h and b) and mu are correct for changes that keep contacts compatible. In the
// global form, the derivatives with respect to m and q are correct without this condition.
unsigned s2_contact_vjp(const S2ContactProblem *problem, const S2ContactSolution *solution,
                        const S2ContactLoss *loss, const S2LocalContactGradient *gradient,
                        S2Arena *arena);
unsigned s2_contact_vjp_global(const S2GlobalContactProblem *problem,
                               const S2ContactSolution *solution, const S2ContactLoss *loss,
                               const S2GlobalContactGradient *gradient, S2Arena *arena);

// Builds the step problem of the local form, for callers that solve it with other methods. Memory
// comes from the arena.
S2Problem s2_contact_step_problem(const S2ContactProblem *problem, S2Arena *arena);

// Text files that preserve all digits (docs/problem-format.md). A file contains a problem in one of
// the two forms. Its numbers are valid until s2_contact_free is called.
typedef struct S2ContactFile {
  bool global;                        // true if the file has the global form
  S2ContactProblem local_form;        // set unless global
  S2GlobalContactProblem global_form; // set when global
  S2Csr matrix[2];                    // w, or m and h
  S2Arena memory;
} S2ContactFile;

S2Status s2_contact_read(const char *path, S2ContactFile **file);
void s2_contact_free(S2ContactFile *file);
S2Status s2_contact_write(const S2ContactProblem *problem, const char *path);
S2Status s2_contact_write_global(const S2GlobalContactProblem *problem, const char *path);

#endif
