// Complementarity problems of one island and the solvers for them. This layer knows rows and nodes,
// not bodies.
//
// The step problem is a mixed complementarity problem with Coulomb coupling. Unknowns: the
// velocities v (3 per node: angular, x, y) and one multiplier (an impulse) per row:
//
//     W v - J' lambda = c                        W = diag(mass), c = rhs (or the local form, below)
//     u = J v + C lambda + b                     u: one per row
//     lambda in [lo, hi],  u complementary:      lo < lambda < hi => u = 0,
//                                                lambda = lo => u >= 0, lambda = hi => u <= 0
//
// A row with `coupled_to = k >= 0` is a friction row: its bounds are -mu lambda_k .. mu lambda_k.
// It directly follows its normal row (k = its index - 1), which has bounds 0 .. infinity. In the
// plane two opposite tangents span the exact Coulomb cone, so no linearisation is needed
// (lcp-physics appendix, eq. 22, 23).
//
// The kinds of row, always in this order within a problem:
//   bilateral rows  (lo = -inf, hi = +inf; `group` rows of one joint are neighbours), then
//   boxed rows      (lo < hi, both finite: motors, dry friction in joints), then
//   contacts        (a normal row, lo = 0, hi = +inf, and its friction row where there is one;
//                    limits are normal rows alone).
#ifndef S2_MCP_H
#define S2_MCP_H

#include "base/arena.h"
#include "base/status.h"
#include "mcp/history.h"

#include <stdint.h>

enum { S2_GROUND = -1 }; // node index of everything that does not move in this problem

typedef struct S2Row {
  int32_t a, b;       // nodes; either may be S2_GROUND (never both)
  int32_t coupled_to; // index of the normal row, or -1
  int32_t group; // the same for all rows of one joint or one contact; ascending through the problem
  double ja[3], jb[3]; // Jacobian on v_a and v_b, columns (angular, x, y); zero on the ground
  double lo, hi;       // N s; ignored on coupled rows
  double mu;           // friction coefficient of a coupled row
  double compliance;   // C, m/(N s) or rad/(N m s): (velocity per impulse)
  double bias;         // b, m/s or rad/s
} S2Row;

// Local form: the response of the nodes to impulses is given directly, v = rhs + A J' lambda,
// instead of masses. Frictional contact problems u = W r + q take this form with one node for each
// contact, its velocity (0, u_n, u_t), and A = W. So do sparse LCPs, with up to three rows for each
// node. In this form every row has b = S2_GROUND, and rhs holds the velocities without impulses.
typedef struct S2Mobility {
  const int32_t *start;  // nodes + 1: blocks of each row of A
  const int32_t *column; // ascending within a row; one of them is the diagonal
  const double *block;   // 9 per block, row-major; A need be neither symmetric nor regular
  const int32_t *row;    // nodes + 1: the rows of each node, which are consecutive in the problem
} S2Mobility;

typedef struct S2Problem S2Problem;
struct S2Problem {
  int nodes, rows;
  const double *mass; // 3 per node (I, m, m), all > 0; NULL in the local form
  const double *rhs;  // 3 per node: M v_k + h f (N m s, N s)
  const S2Row *row;
  const S2Mobility *mobility; // NULL, or the local form
  double velocity_scale;      // V of the scaled residual, m/s; > 0
  double length; // L: size of the bodies (m), converts angular measures to linear ones; > 0
};

// Max norms in SI. Tolerances apply to `scaled` (velocities over V, angular ones times L first;
// impulses times the row's Delassus diagonal over V), so it has no unit.
typedef struct S2Residual {
  double dynamics;        // |W v - J' lambda - c|, N s (N m s for the angular part); local form:
                          // |v - A J' lambda - rhs|, m/s
  double complementarity; // |min(lambda, u)| over normal rows, with lambda in N s, u in m/s
  double cone; // |lambda_t - clip(lambda_t - u_t / W_tt, -mu lambda_n, mu lambda_n)|, N s; likewise
               // for boxed rows with their lo and hi
  double joint; // |u| over bilateral rows, m/s
  double scaled;
} S2Residual;

typedef enum S2Solver {
  S2_SOLVER_AUTO = 0, // closed forms, then the chain documented in docs/solvers.md
  S2_SOLVER_CLOSED,   // one contact (of one or two nodes), exact
  S2_SOLVER_PDIPM,    // interior point, condensed to 3 x 3 node blocks, Newton finish, PGS polish
  S2_SOLVER_LEMKE,    // lexicographic pivoting, dense
  S2_SOLVER_NEWTON,   // proximal semismooth Newton on the law of Alart and Curnier
  S2_SOLVER_AL,       // augmented Lagrangian, its convex inner problem by Newton
  S2_SOLVER_NCP,      // interior point on the friction cone (Dojo's)
  S2_SOLVER_NSGS,     // Gauss-Seidel, each contact solved exactly
  S2_SOLVER_PGS,      // projected Gauss-Seidel row by row, forwards and backwards
  S2_SOLVER_SI,       // sequential impulses, as in game engines
  S2_SOLVER_NNCG,     // nonsmooth nonlinear conjugate gradients over pgs
  S2_SOLVER_PCG,      // projected conjugate gradients between given friction bounds
  S2_SOLVER_LINEAR,   // bilateral rows only, by S2SolverOptions.linear
  S2_SOLVER_PROGRAM,  // S2SolverOptions.program
  S2_SOLVER_ACTIVE,   // active set of the condensed problem, up to 20 contacts, limits and boxes
  S2_SOLVER_COUNT     // recordings store these numbers: add new ones just before
} S2Solver;

typedef enum S2SolveStatus {
  S2_SOLVED = 0,
  S2_MAX_ITERATIONS,
  S2_RAY, // Lemke ended on a secondary ray: most often infeasible
  S2_SINGULAR,
  S2_INFEASIBLE, // proved: no point satisfies the constraints
  S2_UNSUPPORTED // this solver does not take this kind of problem (too large, ...)
} S2SolveStatus;

// The method of S2_SOLVER_LINEAR (kkt.h). With a value other than AUTO, S2_SOLVER_AUTO uses
// S2_SOLVER_LINEAR for problems that have bilateral rows only. AUTO means the refinement of the
// interior point if S2_SOLVER_AUTO chooses the solver, else L D L'.
typedef enum S2LinearSolver {
  S2_LINEAR_AUTO = 0,
  S2_LINEAR_LDLT,
  S2_LINEAR_CHOLESKY,
  S2_LINEAR_CG,
  S2_LINEAR_MINRES,
  S2_LINEAR_COUNT
} S2LinearSolver;

typedef struct S2SolverOptions S2SolverOptions;

// S2_SOLVER_PROGRAM: a solver that the program supplies. It finds a guess in `lambda` (1 per row)
// and leaves the impulses there; velocities are computed from them. If it returns false, the guess
// is the answer.
typedef struct S2ProgramSolver {
  bool (*solve)(void *user, const S2Problem *problem, const S2SolverOptions *options,
                double *lambda, int *iterations);
  void *user;
} S2ProgramSolver;

// Work (S2SolverOptions.budget) per second, to convert times: the rate of a core of 2026 in piles
// of 300 to 1000 discs, within a factor of 2.
#define S2_WORK_RATE 8e6
// Work after which the solve of an island of more than 20 contacts ends without a budget: 8 s.
// After a failure that took a tenth of that work, a step skips optional solves, because they would
// fail, too.
#define S2_PATIENCE         (8 * S2_WORK_RATE)
#define S2_PATIENCE_OF_STEP (0.1 * S2_PATIENCE)

struct S2SolverOptions {
  S2Solver solver;
  double tolerance;   // on S2Residual.scaled
  int max_iterations; // of the interior point; other parts scale from it
  double omega;       // over-relaxation of sweeps; 0 means 1
  // S2_SOLVER_NCP: `kappa` is the point of the central path at which the solver ends (0: the
  // solution; above 0 the residual is about its root). `undercut` is the factor by which the
  // solver's smallest kappa is below the tolerance; 0 means 5.
  double kappa, undercut;
  S2History *history; // NULL: none. Chains append the records of their methods one after the other
  S2LinearSolver linear;
  // NULL, or receives the factor of joints alone (bilateral.h) if that solved the problem. Its
  // memory stays in the arena; its problem must not be read. groups = 0: another method solved the
  // problem.
  struct S2Bilateral *keep;
  S2ProgramSolver program; // of S2_SOLVER_PROGRAM; zeros: it supports no problem
  // The guess comes from a solve that had to change its own guess. S2_SOLVER_AUTO and
  // S2_SOLVER_PDIPM then keep the guess only if it is as good as an exact solution. (A body that
  // comes to rest leaves the impulses that have stopped it. Kept within the tolerance, they would
  // set it in motion again, and every second step would need a solve.)
  bool fresh;
  // Treats guessed velocities of the size of rounding as zero. If zero velocities solve the problem
  // with the guessed impulses, to a thousandth of the tolerance, S2_SOLVER_AUTO returns them.
  bool rest;
  // The problem is an impact. Only its velocities are used, so its impulses need not share loads
  // evenly. Piles are then solved along the flow even without a guess, in half the time of an
  // interior point.
  bool impact;
  // Above 0: the caller has an alternative if no solution is found soon. The solve of a pile ends
  // without an answer after a flow of this many factorisations.
  int attempt;
  // With `bounded`, S2_SOLVER_AUTO and S2_SOLVER_PDIPM spend at most `budget` of work on an island
  // of more than 20 contacts. Work counts the blocks of the factored matrix times the
  // factorisations, whole ones and parts. The answer is the best point met within the budget. The
  // same problem and budget give the same bits.
  bool bounded;
  double budget;
};

typedef struct S2Solution {
  double *v;      // 3 per node; in: a guess (previous velocities), out: the solution
  double *lambda; // 1 per row; in: a guess (warm start; zeros when cold), out: the solution
  // NULL, or 1 per row: the digits of the impulses beyond a double. The residual belongs to (v,
  // lambda + low). 0 unless the rounding of lambda alone would move a light node by more than the
  // tolerance (docs/solvers.md, "The last digits").
  double *low;
  S2Residual residual;
  S2SolveStatus status;
  S2Solver used; // the solver that found this answer
  int iterations;
  double work; // in the unit of the budget, of S2_SOLVER_PDIPM on islands of more than 20 contacts;
               // else 0
  bool cut;    // whether the budget ended the solve
} S2Solution;

// Solves `problem`. Scratch memory comes from `arena` and is released again. It never prints. On
// failure it leaves the best point found and its residual. Kinds of rows other than those above are
// S2_UNSUPPORTED. Deterministic.
S2SolveStatus s2_mcp_solve(const S2Problem *problem, const S2SolverOptions *options, S2Arena *arena,
                           S2Solution *solution);

// A solver with the same contract.
typedef S2SolveStatus S2SolverFn(const S2Problem *problem, const S2SolverOptions *options,
                                 S2Arena *arena, S2Solution *solution);

// The residual of (v, lambda), for an answer from any source. The residual alone decides whether a
// problem is solved.
S2Residual s2_mcp_residual(const S2Problem *problem, const double *v, const double *lambda,
                           S2Arena *arena);
// The residual for impulses lambda + low, which are sums of two doubles; low may be NULL, which is
// 0.
S2Residual s2_mcp_residual_of_sum(const S2Problem *problem, const double *v, const double *lambda,
                                  const double *low, S2Arena *arena);

// v = W^-1 (c + J' lambda), or rhs + A J' lambda in the local form.
void s2_mcp_velocity(const S2Problem *problem, const double *lambda, double *v);

// Short lower-case name and a one-line summary; NULL beyond the last solver. s2_solver_from_name
// returns S2_SOLVER_COUNT for an unknown name.
extern const char *const s2_solver_names[S2_SOLVER_COUNT + 1]; // ends with NULL
const char *s2_solver_name(S2Solver solver);
// Solver number `index` of the S2_SOLVERS_BUILT_IN solvers, which are all except S2_SOLVER_PROGRAM.
enum { S2_SOLVERS_BUILT_IN = S2_SOLVER_COUNT - 1 };
S2Solver s2_solver_built_in(int index);
const char *s2_solver_summary(S2Solver solver);
S2Solver s2_solver_from_name(const char *name);
const char *s2_solve_status_name(S2SolveStatus status);

// Text file of a problem with all digits (docs/problem-format.md). Reading allocates one block;
// release it with s2_problem_free.
S2Status s2_problem_write(const S2Problem *problem, const char *path);
S2Status s2_problem_read(const char *path, S2Problem **problem);
void s2_problem_free(S2Problem *problem);

#endif
