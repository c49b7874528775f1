// Private to core/mcp: the solvers that s2_mcp_solve calls, and the products that they share.
#ifndef S2_SOLVERS_H
#define S2_SOLVERS_H

#include "linalg/csr.h"
#include "linalg/double2.h"
#include "linalg/numbers.h"
#include "mcp/mcp.h"

#include <stdbool.h>

// The caller of these solvers sets `used`.
S2SolverFn s2_closed_solve;         // closed.c: at most one contact, no bilateral rows
S2SolverFn s2_active_solve;         // active.c: up to 20 contacts, limits and boxed rows
S2SolverFn s2_lemke_solve;          // lemke.c: dense lexicographic pivoting
S2SolverFn s2_pdipm_solve;          // pdipm.c: interior-point method, then Newton and PGS
S2SolverFn s2_contact_newton_solve; // contact_newton.c
S2SolverFn s2_contact_al_solve;     // contact_al.c
S2SolverFn s2_linear_solve;         // kkt_problem.c
S2SolverFn s2_contact_ncp_solve;    // contact_ncp.c
S2SolverFn s2_contact_nsgs_solve, s2_contact_pgs_solve, s2_contact_si_solve; // contact_sweeps.c
S2SolverFn s2_contact_nncg_solve;                                            // contact_nncg.c
S2SolverFn s2_contact_pcg_solve;                                             // contact_pcg.c.

// active.c: the contact modes of a solution, for correcting small violations of its rows. The modes
// stay in the arena, and corrections go to `solution->lambda`. `problem` and `solution` must
// therefore exist as long as the modes.
typedef struct S2ActiveModes S2ActiveModes;
// Solves the problem and returns its modes. Returns NULL if there is no solution, or if this solver
// does not support the problem.
S2ActiveModes *s2_active_keep(const S2Problem *problem, const S2SolverOptions *options,
                              S2Arena *arena, S2Solution *solution);
// Sets the speeds of the rows, one number per row. Returns the largest violation of an active row,
// m/s.
double s2_active_missed(S2ActiveModes *kept, const double *speed);
// Removes the violations that s2_active_missed has found, using the rows and masses of the problem.
// Takes the correction of least norm if it is not unique.
void s2_active_correct(S2ActiveModes *kept);

// Functions of products.c.
// u := J v, 1 per row.
void s2_mcp_row_velocity(const S2Problem *problem, const double *v, double *u);
void s2_mcp_velocity_precise(const S2Problem *problem, const S2Double2 *lambda, S2Double2 *v);
// d := diag(J W^-1 J' + C), 1 per row.
void s2_mcp_delassus_diagonal(const S2Problem *problem, double *d);
double s2_mcp_delassus(const S2Problem *problem, const S2Row *x, const S2Row *y);
// Returns a block of the mobility, 9 row-major numbers, or NULL if A has no such block.
const double *s2_mobility_block(const S2Mobility *mobility, int row, int column);

// residual.c: sets the result of a solver that does not support the problem.
S2SolveStatus s2_solver_refuse(const S2Problem *problem, S2Arena *arena, S2Solution *solution);
bool s2_row_is_angular(const S2Row *row);
// residual.c: returns the weight of the velocity error of a row. The weight contains L for angular
// rows and, for compliant rows, the fraction of the error that moves bodies.
double s2_row_weight(const S2Problem *problem, const S2Row *row);

// mobility.c: builds a mobility from the matrix A. Each node takes `rows` (at most 3) rows and
// columns of A, beginning at lane `lane` of its blocks. If `place` is not NULL, it receives the
// index into `block` of each entry of A.
const S2Mobility *s2_mobility_from_csr(const S2Csr *a, int rows, int lane, int32_t *place,
                                       S2Arena *arena);
const S2Mobility *s2_mobility_transpose(const S2Mobility *a, int nodes, S2Arena *arena);

#endif
