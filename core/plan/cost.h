// The cost of a trajectory is a weighted sum of norms of residuals r = y - goal, where y are
// outputs of a world. Each norm has a running weight and a terminal weight. Controls also have
// weights.
//
//   cost = sum over knots k = 1 .. K of period (sum w rho(r_k) + sum c u_{k-1}^2 / 2)
//            + sum W rho(r_K)
//
// with norms rho as in batch/judge.h.
#ifndef S2_COST_H
#define S2_COST_H

#include "batch/judge.h"

#include <stdbool.h>

typedef struct S2PlanTerm {
  int first, count;   // of y
  const double *goal; // count
  double weight;      // running weight, 1/s of the units of the norm
  double terminal;    // terminal
  bool wrap;          // residuals are angles and are wrapped to -pi .. pi
  S2Norm norm;
  double p; // parameter of the norm (smoothing length or power)
} S2PlanTerm;

typedef struct S2Cost {
  const S2PlanTerm *terms;
  int count;
  const double *controls; // one weight for each number of u
  int inputs;
} S2Cost;

// Returns rho of `count` residuals, and computes its slope (count) and curvature (count x count).
// The curvature is positive semidefinite, because nonconvex parts are omitted as in the
// Gauss-Newton method.
double s2_plan_norm(S2Norm norm, double p, int count, const double *r, double *slope,
                    double *curvature);

// Returns the norm of one term, without its weight.
double s2_cost_term(const S2PlanTerm *term, const double *y);
// Returns the sum of all terms at one time. u is NULL at the end.
double s2_cost_stage(const S2Cost *cost, const double *y, const double *u);

// Adds `scale` times the derivatives of the terms with respect to x: lx (n) += scale dy'g, lxx (n x
// n) += scale dy'H dy, with dy (numbers of y x n). If `last` is set, uses the terminal weights.
typedef struct S2CostSlope {
  int n;
  double *lx, *lxx;
  double *work; // n + k (2 + n + k) numbers, where k is the largest number of residuals of a term
} S2CostSlope;
void s2_cost_slope(const S2Cost *cost, const double *y, const double *dy, double scale, bool last,
                   const S2CostSlope *slope);
int s2_cost_work(const S2Cost *cost, int n); // required size of `work`

#endif
