// Complementarity problems of one island, and their solvers. This layer works with constraint rows
// and nodes, and does not know bodies.
//
// The step problem is a mixed complementarity problem with Coulomb coupling. The unknowns are the
// velocities v (3 per node: angular, x, y) and one multiplier (an impulse) per row:
//
//     W v - J' lambda = c                        W = diag(mass), c = rhs (or the local form, below)
//     u = J v + C lambda + b                     u: one per row
//     lambda in [lo, hi],  u complementary:      lo < lambda < hi => u = 0,
//                                                lambda = lo => u >= 0, lambda = hi => u <= 0
//
// A row with `coupled_to = k >= 0` is a friction row with the bounds -mu lambda_k and mu lambda_k.
// It directly follows its normal row k, which has the bounds 0 and infinity. In the plane two
// opposite tangents span the exact Coulomb cone, so no linearisation is needed (lcp-physics
// appendix, eq. 22, 23).
//
// A problem has these kinds of rows, in this order:
//   bilateral rows  (lo = -inf, hi = +inf; `group` rows of one joint are neighbours), then
//   boxed rows      (lo < hi, both finite: motors, dry friction in joints), then
//   contacts (a normal row, lo = 0, hi = +inf, and its friction row if it has one;
//                    limits are normal rows without friction).
#ifndef S2_MCP_H
#define S2_MCP_H

#include "base/arena.h"
#include "base/status.h"
#include "mcp/history.h"

#include <stdint.h>

enum { S2_GROUND = -1 }; // node index of everything that is fixed in this problem

typedef struct S2Row {
  int32_t a, b;       // nodes; one of them may be S2_GROUND
  int32_t coupled_to; // Index of the normal row, or -1.
  // All rows of a joint or a contact have the same group. Groups are in ascending order.
  int32_t group;
  double ja[3], jb[3]; // Jacobians for v_a and v_b, columns (angular, x, y); zero for the ground
  double lo, hi;       // bounds of lambda, N s; ignored for coupled rows
  double mu;           // friction coefficient of a coupled row
  double compliance;   // C, velocity per impulse: m/s per N s, or rad/s per N m s
  double bias;         // b, m/s or rad/s
} S2Row;

// In the local form, the response of the nodes to impulses is given directly, v = rhs + A J'
// lambda, instead of masses. Frictional contact problems u = W r + q have this form, with A = W and
// one node per contact, whose velocity is (0, u_n, u_t). Sparse LCPs also have this form, with up
// to three rows per node. Every row has b = S2_GROUND, and rhs contains the velocities without
// impulses.
typedef struct S2Mobility {
  const int32_t *start;  // first block of each row of A; nodes + 1 numbers
  const int32_t *column; // column of each block, ascending within a row; one is the diagonal
  const double *block;   // 9 per block, row-major; A may be nonsymmetric or singular
  const int32_t *row;    // first row of each node (rows are consecutive); nodes + 1 numbers
} S2Mobility;

typedef struct S2Problem S2Problem;
struct S2Problem {
  int nodes, rows;
  const double *mass; // 3 per node (I, m, m), all > 0; NULL in the local form
  const double *rhs;  // right side M v_k + h f, 3 per node (N m s, N s)
  const S2Row *row;
  const S2Mobility *mobility; // NULL, or the local form
  double velocity_scale;      // V, the unit of the scaled residual, m/s; > 0.
  // L, the size of the bodies (m), > 0. It converts angular quantities to linear quantities.
  double length;
};

// Max norms in SI units. Tolerances apply to `scaled`, which has no unit. It measures velocities in
// units of V, after angular velocities are multiplied by L. Impulses are converted to velocities by
// the Delassus diagonal of their row.
typedef struct S2Residual {
  // |W v - J' lambda - c|, N s (N m s for the angular part). Local form: |v - A J' lambda - rhs|,
  // m/s.
  double dynamics;
  double complementarity; // |min(lambda, u)| of normal rows, with lambda in N s and u in m/s.
  // |lambda_t - clip(lambda_t - u_t / W_tt, -mu lambda_n, mu lambda_n)|, N s. Boxed rows have the
  // bounds lo and hi instead.
  double cone;
  double joint; // |u| over bilateral rows, m/s
  double scaled;
} S2Residual;

typedef enum S2Solver {
  S2_SOLVER_AUTO = 0, // tries closed forms, then the solvers in the order of docs/solvers.md
  S2_SOLVER_CLOSED,   // exact solution of a single contact of one or two nodes
  S2_SOLVER_PDIPM,    // interior point on 3 x 3 node blocks, then Newton and PGS
  S2_SOLVER_LEMKE,    // Lemke's method with dense lexicographic pivoting
  S2_SOLVER_NEWTON,   // proximal semismooth Newton on the law of Alart and Curnier
  S2_SOLVER_AL,       // augmented Lagrangian; Newton solves its convex inner problem
  S2_SOLVER_NCP,      // interior-point method on the friction cone, as in Dojo
  S2_SOLVER_NSGS,     // Gauss-Seidel that solves each contact exactly
  S2_SOLVER_PGS,      // projected Gauss-Seidel by rows, forwards and backwards
  S2_SOLVER_SI,       // sequential impulses, as in game engines
  S2_SOLVER_NNCG,     // PGS accelerated by nonsmooth nonlinear conjugate gradients
  S2_SOLVER_PCG,      // projected conjugate gradients with fixed friction bounds
  S2_SOLVER_LINEAR,   // bilateral rows only; method: S2SolverOptions.linear
  S2_SOLVER_PROGRAM,  // S2SolverOptions.program
  S2_SOLVER_ACTIVE,   // active-set method for up to 20 contacts, limits and boxed rows
  S2_SOLVER_COUNT     // recordings store these values, so add new solvers directly before this line
} S2Solver;

typedef enum S2SolveStatus {
  S2_SOLVED = 0,
  S2_MAX_ITERATIONS,
  S2_RAY, // a pivoting method ended on a ray; usually there is no solution
  S2_SINGULAR,
  S2_INFEASIBLE, // there is a proof that no point satisfies the constraints
  S2_UNSUPPORTED // the solver does not support the problem, or it is too large
} S2SolveStatus;

// The method of S2_SOLVER_LINEAR (kkt.h). With a value other than AUTO, S2_SOLVER_AUTO uses
// S2_SOLVER_LINEAR for problems with bilateral rows only. With AUTO, S2_SOLVER_AUTO chooses a
// method itself, and S2_SOLVER_LINEAR uses L D L'.
typedef enum S2LinearSolver {
  S2_LINEAR_AUTO = 0,
  S2_LINEAR_LDLT,
  S2_LINEAR_CHOLESKY,
  S2_LINEAR_CG,
  S2_LINEAR_MINRES,
  S2_LINEAR_COUNT
} S2LinearSolver;

typedef struct S2SolverOptions S2SolverOptions;

// A solver that the caller supplies, for S2_SOLVER_PROGRAM. `lambda` (1 per row) contains a guess
// on input and receives the impulses. Velocities are computed from these impulses. If `solve`
// returns false, the result is S2_UNSUPPORTED, unless the residual is within the tolerance.
typedef struct S2ProgramSolver {
  bool (*solve)(void *user, const S2Problem *problem, const S2SolverOptions *options,
                double *lambda, int *iterations);
  void *user;
} S2ProgramSolver;

// Work per second, for converting times to budgets (S2SolverOptions.budget). A CPU core of 2026
// achieves this rate, within a factor of 2, for piles of 300 to 1000 discs.
#define S2_WORK_RATE 8e6
// Limit of the work without a budget, for islands of more than 20 contacts. It corresponds to about
// 8 s. If a solve fails after a tenth of this work, the step skips optional solves, because they
// would probably fail, too.
#define S2_PATIENCE         (8 * S2_WORK_RATE)
#define S2_PATIENCE_OF_STEP (0.1 * S2_PATIENCE)

struct S2SolverOptions {
  S2Solver solver;
  double tolerance;   // limit of S2Residual.scaled
  int max_iterations; // maximum number of interior-point iterations; other limits scale with it
  double omega;       // over-relaxation of sweeps; 0 means 1.
  // For S2_SOLVER_NCP. If kappa > 0, the solver returns the point of the central path with this
  // kappa, whose residual is about sqrt(kappa). If kappa is 0, it returns the solution, and kappa
  // stays at or above the tolerance divided by `undercut` during the search. An `undercut` of 0
  // means 5.
  double kappa, undercut;
  // NULL means no history. If several methods run, each appends its own records.
  S2History *history;
  S2LinearSolver linear;
  // NULL, or receives the factorisation of a problem of joints only (bilateral.h). Its memory stays
  // in the arena, and its member `problem` is NULL. If another method solved the problem, its
  // member `groups` is 0.
  struct S2Bilateral *keep;
  S2ProgramSolver program; // for S2_SOLVER_PROGRAM; if it is zero, every problem is unsupported
  // Set this if the guess comes from a solve that changed its initial impulses. S2_SOLVER_AUTO and
  // S2_SOLVER_PDIPM then keep the guess only if it is as good as an exact solution. Otherwise the
  // impulses that stopped a body could be kept in the next step, because they are within the
  // tolerance. They would set the body in motion again, and every second step would need a solve.
  bool fresh;
  // Treats guessed velocities as zero if they are only rounding errors. If zero velocities and the
  // guessed impulses solve the problem to a thousandth of the tolerance, S2_SOLVER_AUTO returns
  // them.
  bool rest;
  // Set this for impacts. The caller then uses only the velocities, so impulses need not share
  // loads evenly. The flow (docs/solvers-piles.md) then solves piles even without a guess, in half
  // the time of the interior-point method.
  bool impact;
  // For callers that have an alternative to this solve. If above 0, the solve of a pile ends after
  // this many factorisations of the flow, even without a solution.
  int attempt;
  // With `bounded`, S2_SOLVER_AUTO and S2_SOLVER_PDIPM spend at most the work `budget` on an island
  // of more than 20 contacts. Work is the number of blocks of the factored matrix times the number
  // of factorisations, including partial factorisations. The answer is the best point found within
  // the budget. Results are bitwise reproducible for the same problem and budget.
  bool bounded;
  double budget;
};

typedef struct S2Solution {
  double *v;      // 3 per node; in: a guess (previous velocities); out: the solution
  double *lambda; // 1 per row; in: a guess (zeros for a cold start); out: the solution
  // NULL, or 1 per row: the digits of the impulses beyond double precision. The residual belongs to
  // (v, lambda + low). low is 0 unless the rounding error of lambda alone would change the velocity
  // of a light node by more than the tolerance (docs/solvers.md, "The last digits").
  double *low;
  S2Residual residual;
  S2SolveStatus status;
  S2Solver used; // the solver that found this answer
  int iterations;
  // Work of S2_SOLVER_PDIPM in the unit of the budget. 0 for islands of at most 20 contacts.
  double work;
  bool cut; // true if the solve ended because the budget was spent
} S2Solution;

// Solves `problem`. Scratch memory comes from `arena` and is released. On failure, `solution`
// receives the best point found and its residual. Returns S2_UNSUPPORTED if a row is not of one of
// the kinds listed above. The function is deterministic and never prints.
S2SolveStatus s2_mcp_solve(const S2Problem *problem, const S2SolverOptions *options, S2Arena *arena,
                           S2Solution *solution);

// A solver function. It behaves like s2_mcp_solve.
typedef S2SolveStatus S2SolverFn(const S2Problem *problem, const S2SolverOptions *options,
                                 S2Arena *arena, S2Solution *solution);

// Computes the residual of any (v, lambda). The residual alone decides whether a problem is solved.
S2Residual s2_mcp_residual(const S2Problem *problem, const double *v, const double *lambda,
                           S2Arena *arena);
// Computes the residual for impulses lambda + low, which are sums of two doubles. low may be NULL,
// which counts as 0.
S2Residual s2_mcp_residual_of_sum(const S2Problem *problem, const double *v, const double *lambda,
                                  const double *low, S2Arena *arena);

// Computes v = W^-1 (c + J' lambda), or v = rhs + A J' lambda in the local form.
void s2_mcp_velocity(const S2Problem *problem, const double *lambda, double *v);

// Return the short lower-case name and the one-line summary of a solver, or NULL for invalid
// values. s2_solver_from_name returns S2_SOLVER_COUNT for an unknown name.
extern const char *const s2_solver_names[S2_SOLVER_COUNT + 1]; // ends with NULL
const char *s2_solver_name(S2Solver solver);
// Returns the built-in solver with this index, below S2_SOLVERS_BUILT_IN. All solvers are built-in
// except S2_SOLVER_PROGRAM.
enum { S2_SOLVERS_BUILT_IN = S2_SOLVER_COUNT - 1 };
S2Solver s2_solver_built_in(int index);
const char *s2_solver_summary(S2Solver solver);
S2Solver s2_solver_from_name(const char *name);
const char *s2_solve_status_name(S2SolveStatus status);

// Read and write a problem as text that preserves all digits (docs/problem-format.md). Reading
// allocates one block, which s2_problem_free releases.
S2Status s2_problem_write(const S2Problem *problem, const char *path);
S2Status s2_problem_read(const char *path, S2Problem **problem);
void s2_problem_free(S2Problem *problem);

#endif
