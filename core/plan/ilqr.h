// Trajectories by iLQR, with or without contacts. iLQR uses the world's own steps with exact
// derivatives, and the Gauss-Newton approximation of the costs. Controls respect their limits
// (Tassa, Mansard, Todorov 2014). Terminal goals use an augmented Lagrangian (Howell, Jackson,
// Manchester 2019, "ALTRO", section III).
#ifndef S2_ILQR_H
#define S2_ILQR_H

#include "plan/cost.h"
#include "plan/model.h"

typedef struct S2IlqrGoal { // goal: y[output] = value at the end
  int output;
  double value;
} S2IlqrGoal;

typedef struct S2IlqrDef {
  S2Model *model; // the caller's
  S2Cost cost;    // cost of the outputs y and controls u of the model; copied
  const S2IlqrGoal *goals;
  int goal_count;
  double tolerance; // relative change of the cost at convergence
  double violation; // largest allowed violation of a goal, in its unit
} S2IlqrDef;

typedef enum S2IlqrState {
  S2_ILQR_GOING,
  S2_ILQR_CONVERGED, // the cost has converged and all goals are met
  S2_ILQR_STUCK,     // no step decreases the cost, whatever the regularisation
} S2IlqrState;

typedef struct S2IlqrResult { // result of an iteration
  S2IlqrState state;
  int iterations;   // total
  double cost;      // cost without the contribution of goals
  double violation; // largest violation of a goal
  double step;      // length of the step, or 0 if no step was found
  double mu;        // regularisation
  unsigned flags;   // S2GradientFlag
  int threads;      // number of threads that shared the last iteration
} S2IlqrResult;

typedef struct S2Ilqr S2Ilqr;

S2Status s2_ilqr_new(const S2IlqrDef *def, int knots, S2Ilqr **ilqr);
void s2_ilqr_free(S2Ilqr *ilqr);

// Starts from the trajectory that these controls (knots x m) produce. Keeps the multipliers of the
// goals.
S2Status s2_ilqr_set(S2Ilqr *ilqr, const double *u, S2IlqrResult *result);
// Starts from the trajectory that feedback about a planned trajectory x ((knots + 1) x n) produces.
// The gains are knots x m x n. Use this for a different initial state, or if the controls u alone
// would be unstable. The applied controls are written to u.
S2Status s2_ilqr_follow(S2Ilqr *ilqr, const double *u, const double *x, const double *gain,
                        S2IlqrResult *result);
// Computes the gradient of the cost with respect to the controls (knots x m) at the present
// trajectory. Goals are excluded.
S2Status s2_ilqr_gradient(S2Ilqr *ilqr, double *gradient);
// Resets the multipliers of goals. Call it after the initial state or the cost has changed.
void s2_ilqr_forget(S2Ilqr *ilqr);
// Performs one iteration: derivatives, backward pass, line search.
S2Status s2_ilqr_iterate(S2Ilqr *ilqr, S2IlqrResult *result);

// The best plan so far; its arrays belong to the solver.
typedef struct S2IlqrPlan {
  int knots, n, m, p;
  const double *u, *x, *y, *gain; // knots x m, (knots + 1) x n, (knots + 1) x p, knots x m x n
} S2IlqrPlan;
S2IlqrPlan s2_ilqr_plan(const S2Ilqr *ilqr);
// Computes feedback gains for the present trajectory, but takes no step. *expected receives the
// decrease of the cost that a full step without regularisation would give, relative to the cost
// including goals.
S2Status s2_ilqr_gains(S2Ilqr *ilqr, double *expected);

// Computes the value of each cost term on the present trajectory, and the magnitude of its largest
// derivative with respect to a command. Both arrays have one entry per term.
S2Status s2_ilqr_terms(S2Ilqr *ilqr, double *value, double *slope);

#endif
