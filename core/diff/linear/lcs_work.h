// Private to core/diff/linear: an LCS that is being made (lcs.c, lcs_impact.c).
#ifndef S2_LCS_WORK_H
#define S2_LCS_WORK_H

#include "diff/linear/lcs_lines.h"

typedef struct S2LcsWork { // a system that is being made
  S2World *world;          // where it starts; stays there
  const S2LcsDef *def;
  S2Arena *arena;
  S2Lcs *lcs;
  S2Reduction reduction;
  S2LcsRows rows;
  int n, m, inputs; // numbers of q that move; 2 coordinates; inputs
  double h;
  S2Input *input;                           // inputs, then a force along each number of q
  double *lift;                             // 2n x m
  double *impulse;                          // n: J'p at the point of linearisation
  double *bend;                             // n x n: d(J'p)/dq
  double *v, *v_free;                       // n: v1 there, and with lambda = 0
  double *by_state, *by_impulse, *by_input; // of v1: n x m, n x n, n x inputs
  bool strikes, struck;                     // there are rows of an impact; the step had one
  double *jump, *jump_v;                    // Z; n x m: how Z J'p2 follows the state
  double *jumped;                           // n: Z J'p2
} S2LcsWork;

// Zeroed, in the arena.
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

// m numbers: how number i of q follows the state.
static inline const double *s2_lcs_lift_q(const S2LcsWork *work, int i) {
  return work->lift + (size_t)s2_reduction_place(i) * (size_t)work->m;
}

// Row r of the motion: J v1 and how that changes; `value` is at lambda = 0. Adds to arrays.
typedef struct S2LcsSpeed {
  double value;
  double *e, *h, *f;
} S2LcsSpeed;
void s2_lcs_speed(const S2LcsWork *work, int r, S2LcsSpeed *to);
// The further entry of F for row r and lambda k, both of one part: compliance, slacks.
double s2_lcs_coupling(const S2LcsWork *work, const S2LcsPart *part, int r, int k);
// Into `lambda` the rows from..to - 1 at x0, u0, those before being there.
S2Status s2_lcs_solve(const S2LcsWork *work, int from, int to);
// Impulses along the lines with `lambda`, of the motion or the impact: J'p (n) and d(J'p)/dq (n x
// n).
void s2_lcs_push(const S2LcsWork *work, const double *lambda, bool impact, double *impulse,
                 double *bend);

// lcs_impact.c
void s2_lcs_add_impact(const S2LcsWork *work); // gives the parts that take part their rows
S2Status s2_lcs_impact(S2LcsWork *work);       // these rows, and their lambda
// x+ by the impact: behind A, B and D of the step without it, whose end `free` is at.
S2Status s2_lcs_impact_state(S2LcsWork *work, S2World *free);

#endif
