// The functions of an MPCC and the matrices of its Newton system. Private to core/plan/mpcc*.c.
#ifndef S2_MPCC_PROBLEM_H
#define S2_MPCC_PROBLEM_H

#include "plan/mpcc.h"

#include "base/arena.h"
#include "diff/formula/program.h"
#include "linalg/sparseldl.h"

// Unknowns that second derivatives couple. Their block is made positive semidefinite.
typedef struct S2MpccBlock {
  int size;
  const int32_t *variable; // of this stage and the next
  const int32_t *entry;    // size x size: index of the second derivative in a stage's list, or -1
  const int32_t *slot;     // stages x size (size + 1) / 2, by rows: value of the matrix
  double *value;           // of the same elements
} S2MpccBlock;

typedef struct S2MpccKind {
  int first, stages; // the stages of this kind
  int at;            // the first of their rows
  int equals, positives, products, rows;
  S2FormulaProgram *values, *slopes, *second; // cost and rows; gradient and Jacobian; Hessian
  int gradients;                              // the slopes of the cost come first
  const int32_t *gradient;                    // their variables
  int entries;                                // of the Jacobian of one stage, by rows
  const int32_t *start, *column;              // rows + 1, entries
  int seconds;
  int blocks;
  S2MpccBlock *block;
  const int32_t *equal_slot;  // stages x entries of equations: value of the matrix
  const int32_t *clique_slot; // stages x pairs of entries of each other row
  int equal_entries, cliques; // numbers per stage
  double *gradient_out;       // stages x (gradients + entries)
  double *second_out;         // stages x seconds
} S2MpccKind;

typedef struct S2MpccProblem {
  int width, stages, unknowns, rows, equations;
  bool curvature;
  int kinds;
  S2MpccKind kind[3];
  const int32_t *equation; // rows: index among the equations, or -1
  const bool *is_product;  // rows
  S2SparseLdl matrix;      // unknowns, then equations
  const bool *positive;    // signs of its pivots
  double *values;          // stages x (1 + rows of a stage), scratch
  double *block;           // scratch for projections of the largest block
} S2MpccProblem;

S2Status s2_mpcc_problem_init(S2MpccProblem *problem, const S2MpccDef *def, S2Arena *arena);
void s2_mpcc_problem_free(S2MpccProblem *problem);

// Returns the kind of a row of a stage in words. *index becomes its number among those of its kind.
const char *s2_mpcc_row_name(const S2MpccKind *kind, int row, int *index);

// Computes all rows, with kappa - a b for products, and returns the cost.
double s2_mpcc_values(S2MpccProblem *problem, const double *x, double kappa, double *rows);
// Computes the gradient of the cost, and the Jacobian of the rows, which stays in the kinds.
void s2_mpcc_slopes(S2MpccProblem *problem, const double *x, double *gradient);
// Fills the matrix. y are multipliers of the rows, `weight` belongs to inequalities (1 / C), and
// `soft` is C of equations. `delta` is added to the diagonal of W.
void s2_mpcc_fill(S2MpccProblem *problem, const double *x, const double *y, const double *weight,
                  double soft, double delta);
// Returns dx' W dx for the W of the last call of s2_mpcc_fill, without the inequalities.
double s2_mpcc_bend(const S2MpccProblem *problem, const double *dx, double delta);
// Adds `factor` times J' y to `out`, for all rows or only for the inequalities.
void s2_mpcc_add_transposed(const S2MpccProblem *problem, bool all, double factor, const double *y,
                            double *out);
// out = J dx for the inequalities; the values of equations are not written.
void s2_mpcc_times_inequalities(const S2MpccProblem *problem, const double *dx, double *out);

// Replaces symmetric matrices by their positive semidefinite parts. Element (i, j) of matrix k is
// a[(i * size + j) * S2_MPCC_LANES + k]. `work` has space for as many numbers.
enum { S2_MPCC_LANES = 8 };
void s2_mpcc_project(int size, double *a, double *work);

#endif
