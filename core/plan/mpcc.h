// Optimal control with complementarity constraints (a mathematical program with complementarity
// constraints, MPCC). A motion consists of N stages with w unknowns each. The solver searches for
//
//     min sum cost(x_i, x_{i+1})    with    equal = 0,    positive >= 0,    a >= 0, b >= 0, a b = 0
//
// where all functions are formulas of the unknowns of a stage and of the next stage
// (diff/formula/formula.h). Contacts have this form: a is a force and b a gap. State a >= 0 and
// b >= 0 as positive formulas. A product alone is the condition a b <= 0.
//
// This is an interior-point method. Products are relaxed to a b <= kappa (Scholtes 2001), and kappa
// decreases with the barrier weight mu (Raghunathan and Biegler 2005), so contacts may begin and
// end during the search. Newton's system is
//
//     W dx - J' y = -dcost,    J dx + C y = -b,
//
// where W is the second derivative of the cost and, with `curvature`, of the equations, made
// positive semidefinite. C is slack divided by multiplier. Inequalities are eliminated into W, and
// a sparse L D L' factorisation solves the rest (linalg/sparseldl.h). Its pattern is computed once,
// and its cost grows linearly with the number of stages. A merit function of cost, barrier and
// violations accepts steps. Rejected steps are corrected to second order or shortened. The result
// need not be the global optimum.
#ifndef S2_MPCC_H
#define S2_MPCC_H

#include "base/status.h"
#include "diff/formula/formula.h"

// A kind of stage. Variable k of array 0 is unknown k of this stage for k < w, and unknown k - w of
// the next stage otherwise.
typedef struct S2MpccStage {
  S2Formula cost;
  int equals, positives, products;
  const S2Formula *equal;    // equals
  const S2Formula *positive; // positives
  const S2Formula *product;  // products pairs
} S2MpccStage;

typedef struct S2MpccDef {
  S2FormulaGraph *graph; // the caller's; only used by s2_mpcc_new, which adds derivatives
  int width;             // w, number of unknowns of a stage
  int stages;            // N, at least 2
  S2MpccStage first, running, last; // the last stage may not depend on a next stage
  bool curvature;                   // use second derivatives of the equations
  double violation; // largest violation at convergence, in the units of the formulas, such as 1e-6
  double tolerance; // largest `expected` decrease of the cost at convergence, such as 1e-4
} S2MpccDef;

typedef enum S2MpccState {
  S2_MPCC_GOING,
  S2_MPCC_CONVERGED, // all conditions hold, and the steps no longer change the unknowns
  S2_MPCC_STUCK,     // no step decreases the merit, however short
} S2MpccState;

typedef enum S2MpccRow { S2_MPCC_EQUAL, S2_MPCC_POSITIVE, S2_MPCC_PRODUCT } S2MpccRow;

// Violations are in the units of the formulas: |equal|, -positive, and the product a b. They are
// those of the problem itself, without relaxation.
typedef struct S2MpccResult {
  S2MpccState state;
  int iterations; // total
  double cost;
  double equal, positive, product; // largest violation of each kind
  S2MpccRow worst;                 // the largest of all violations: its kind,
  int worst_stage, worst_row;      // stage, and row among those of its kind, counted from 0
  double mu, kappa;                // present relaxation
  double expected;       // expected decrease of the cost / (1 + |cost|), at the end of the search
  double change;         // relative change of the unknowns in the last step
  double regularisation; // diagonal weight added to W
} S2MpccResult;

typedef struct S2Mpcc S2Mpcc;

S2Status s2_mpcc_new(const S2MpccDef *def, S2Mpcc **mpcc);
void s2_mpcc_free(S2Mpcc *mpcc); // NULL: nothing

// Starts a search from x (stages x width). `smoothing` is the first value of mu and kappa. Returns
// S2_INVALID if a formula is not finite there.
S2Status s2_mpcc_start(S2Mpcc *mpcc, const double *x, double smoothing, S2MpccResult *result);
// Performs one iteration. Does nothing if the search has ended.
S2Status s2_mpcc_iterate(S2Mpcc *mpcc, S2MpccResult *result);
// The present point, stages x width. It belongs to the solver.
const double *s2_mpcc_point(const S2Mpcc *mpcc);

// Sizes of the linear system: unknowns and equations, and entries of its factor.
void s2_mpcc_sizes(const S2Mpcc *mpcc, int *order, int *fill);

#endif
