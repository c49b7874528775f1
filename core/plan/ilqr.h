// Trajectories by iLQR, in contact or free: steps as they are, their derivatives exact, costs by
// Gauss and Newton. Controls within their limits (Tassa, Mansard, Todorov 2014); goals at the end
// by an augmented Lagrangian (Howell, Jackson, Manchester 2019, "ALTRO", section III).
#ifndef S2_ILQR_H
#define S2_ILQR_H

#include "plan/cost.h"
#include "plan/model.h"

typedef struct S2IlqrGoal { // y[output] = value at the end
  int output;
  double value;
} S2IlqrGoal;

typedef struct S2IlqrDef {
  S2Model *model; // the caller's
  S2Cost cost;    // of y and u of the model; copied
  const S2IlqrGoal *goals;
  int goal_count;
  double tolerance; // relative change of the cost that counts as none
  double violation; // of goals, in their units
} S2IlqrDef;

typedef enum S2IlqrState {
  S2_ILQR_GOING,
  S2_ILQR_CONVERGED, // the cost changes no more, and goals are met
  S2_ILQR_STUCK,     // no step brings a decrease, whatever the regularisation
} S2IlqrState;

typedef struct S2IlqrResult { // after an iteration
  S2IlqrState state;
  int iterations;   // in all
  double cost;      // without what goals add
  double violation; // the largest of goals
  double step;      // that was taken; 0: none
  double mu;        // regularisation
  unsigned flags;   // S2GradientFlag
} S2IlqrResult;

typedef struct S2Ilqr S2Ilqr;

S2Status s2_ilqr_new(const S2IlqrDef *def, int knots, S2Ilqr **ilqr);
void s2_ilqr_free(S2Ilqr *ilqr);

// The trajectory of these controls (knots x m), to begin with. Multipliers of goals stay.
S2Status s2_ilqr_set(S2Ilqr *ilqr, const double *u, S2IlqrResult *result);
// The same by feedback about a trajectory x ((knots + 1) x n) with gains (knots x m x n), as they
// were planned: from another state, or where u alone would fall. It becomes what was given.
S2Status s2_ilqr_follow(S2Ilqr *ilqr, const double *u, const double *x, const double *gain,
                        S2IlqrResult *result);
// d(cost)/du of the present trajectory (knots x m), goals left out.
S2Status s2_ilqr_gradient(S2Ilqr *ilqr, double *gradient);
// The starting state or the cost has changed: multipliers of goals are forgotten.
void s2_ilqr_forget(S2Ilqr *ilqr);
// One iteration: derivatives, backward pass, search along the change.
S2Status s2_ilqr_iterate(S2Ilqr *ilqr, S2IlqrResult *result);

// The best so far; arrays belong to the solver.
typedef struct S2IlqrPlan {
  int knots, n, m, p;
  const double *u, *x, *y, *gain; // knots x m, (knots + 1) x n, (knots + 1) x p, knots x m x n
} S2IlqrPlan;
S2IlqrPlan s2_ilqr_plan(const S2Ilqr *ilqr);
// Gains about the present trajectory, as an iteration without a step makes them. *expected: the
// decrease that the full step without regularisation promises, relative to what the trajectory
// costs with its goals.
S2Status s2_ilqr_gains(S2Ilqr *ilqr, double *expected);

// What each term of the cost adds on the present trajectory, and the largest change of that by a
// command: |d(value)/du|. Both have an entry a term.
S2Status s2_ilqr_terms(S2Ilqr *ilqr, double *value, double *slope);

#endif
