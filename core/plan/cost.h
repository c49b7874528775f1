// The cost of a trajectory: norms of residuals r = y - goal, where y is what a world shows, each
// with a weight in the time before the end and another at the end, and of the controls.
//
//   cost = sum over knots k = 1 .. K of period (sum w rho(r_k) + sum c u_{k-1}^2 / 2) + sum W
//   rho(r_K)
//
// with norms rho as in batch/judge.h.
#ifndef S2_COST_H
#define S2_COST_H

#include "batch/judge.h"

#include <stdbool.h>

typedef struct S2PlanTerm {
  int first, count;   // of y
  const double *goal; // count
  double weight;      // over time, 1/s of what it counts
  double terminal;    // at the end
  bool wrap;          // residuals are angles: taken to -pi .. pi
  S2Norm norm;
  double p; // of the norm: what is small, or the power
} S2PlanTerm;

typedef struct S2Cost {
  const S2PlanTerm *terms;
  int count;
  const double *controls; // a weight for each number of u
  int inputs;
} S2Cost;

// rho of `count` residuals, slope (count) and curvature (count x count, positive semidefinite: what
// is not convex is left out, as Gauss and Newton do).
double s2_plan_norm(S2Norm norm, double p, int count, const double *r, double *slope,
                    double *curvature);

// Of one term, without its weight.
double s2_cost_term(const S2PlanTerm *term, const double *y);
// All terms at one time, u NULL at the end.
double s2_cost_stage(const S2Cost *cost, const double *y, const double *u);

// Adds, times `scale`, what the terms have as derivatives by x: lx (n) += scale dy'g, lxx (n x n)
// += scale dy'H dy with dy (numbers of y x n). `last`: the weights at the end.
typedef struct S2CostSlope {
  int n;
  double *lx, *lxx;
  double *work; // n + (the most numbers of a term) (2 + n + that number) numbers
} S2CostSlope;
void s2_cost_slope(const S2Cost *cost, const double *y, const double *dy, double scale, bool last,
                   const S2CostSlope *slope);
int s2_cost_work(const S2Cost *cost, int n); // numbers that `work` has to have

#endif
