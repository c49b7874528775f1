// An LCS while it is built (lcs.c, lcs_impact.c). Private to core/diff/linear.
#ifndef S2_LCS_WORK_H
#define S2_LCS_WORK_H

#include "diff/linear/lcs_lines.h"

typedef struct S2LcsWork {
  S2World *world; // the world at the start, which does not change
  const S2LcsDef *def;
  S2Arena *arena;
  S2Lcs *lcs;
  S2Reduction reduction;
  S2LcsRows rows;
  int n, m, inputs; // length of q; 2 coordinates; number of inputs
  double h;
  S2Input *input;                           // the inputs, followed by a force along each entry of q
  double *lift;                             // 2n x m
  double *impulse;                          // n: J'p at the point of linearisation
  double *bend;                             // n x n: d(J'p)/dq
  double *v, *v_free;                       // n: v1 at that point, and v1 for lambda = 0
  double *by_state, *by_impulse, *by_input; // derivatives of v1: n x m, n x n, n x inputs
  bool strikes, struck;                     // whether the system has impact rows; whether the step
                                            // had an impact
  double *jump, *jump_v; // Z; n x m: derivative of Z J'p2 with respect to the state
  double *jumped;        // n: Z J'p2
} S2LcsWork;

// Returns zeroed numbers in the arena.
static inline double *s2_lcs_numbers(const S2LcsWork *work, int rows, int columns) {
  return S2_TAKE_ZEROED(work->arena, double, (size_t)rows *(size_t)columns + 1);
}

// out (a x c) += x (a x b) y (b x c)
static inline void s2_lcs_multiply(int a, int b, int c, const double *x, const double *y,
                                   double *out) {
  for (int i = 0; i < a; i++) {
    for (int k = 0; k < b; k++) {
      double factor = x[i * b + k];
      for (int j = 0; j < c && factor != 0; j++) {
        out[i * c + j] += factor * y[k * c + j];
      }
    }
  }
}

// Returns m numbers, the derivative of entry i of q with respect to the state.
static inline const double *s2_lcs_lift_q(const S2LcsWork *work, int i) {
  return work->lift + (size_t)s2_reduction_place(i) * (size_t)work->m;
}

// J v1 of row r of the motion at lambda = 0. Its derivatives are added to the arrays.
typedef struct S2LcsSpeed {
  double value;
  double *e, *h, *f;
} S2LcsSpeed;
void s2_lcs_speed(const S2LcsWork *work, int r, S2LcsSpeed *to);
// Returns the additional entry of F for row r and lambda k of the same part. It contains the
// compliance and the slacks.
double s2_lcs_coupling(const S2LcsWork *work, const S2LcsPart *part, int r, int k);
// Solves the rows `from` .. `to` - 1 at x0, u0 for lambda. Earlier rows must be solved.
S2Status s2_lcs_solve(const S2LcsWork *work, int from, int to);
// Computes J'p (n) and d(J'p)/dq (n x n) for the impulses `lambda` along the lines. They are
// impulses of the impact if `impact` is true, otherwise of the motion.
void s2_lcs_push(const S2LcsWork *work, const double *lambda, bool impact, double *impulse,
                 double *bend);

// lcs_impact.c
void s2_lcs_add_impact(const S2LcsWork *work); // adds impact rows to the parts that need them
S2Status s2_lcs_impact(S2LcsWork *work);       // fills the impact rows and solves them
// Adds the impact to A, B and D of a step without impacts. `free` holds the final state of that
// step.
S2Status s2_lcs_impact_state(S2LcsWork *work, S2World *free);

#endif
