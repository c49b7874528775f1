// A point of the normal map x = lambda - u, with its modes and the rates of all its variables.
// Shared by path following (pdipm_follow.c) and the flow (pdipm_flow.c).
#ifndef S2_PDIPM_FOLLOW_H
#define S2_PDIPM_FOLLOW_H

#include "mcp/chain/pdipm_stages.h"

// Largest weight. Larger weights make pivots ill-conditioned.
#define S2_ACCURATE_WEIGHT 1e6

typedef struct S2Follow {
  S2System *system;
  double weight;
  double *x, *lambda, *r;          // 2 per unit, with r = G(x0)
  double *dx, *dlambda, *u, *base; // rates of change as t falls
  S2Quad *v, *dv;                  // velocities and their rates, nodes + 1 each
  S2Mode *mode;
  S2Response *response;
} S2Follow;

S2Follow s2_follow_make(S2System *system, double weight, S2Arena *arena);

// Sets x0 = lambda - u(lambda). With `by_impulses`, sets x0 in the modes that the impulses indicate
// instead. Then computes the modes, the impulses by the law, and G at x0.
void s2_follow_begin(S2Follow *follow, const double *lambda, bool by_impulses);

// Computes u = J v + C lambda + b of all rows, where v are the velocities that lambda gives.
void s2_follow_row_speeds(S2Follow *follow, const double *lambda);

// Computes the rates dx and dlambda with which G falls from r to 0 in the current modes, with one
// factorisation. Returns false if the matrix is singular.
bool s2_follow_rates(S2Follow *follow);

// Computes the impulses of x in the current modes, and the residual G of the proximal step against
// `anchor`.
void s2_follow_measure(S2Follow *follow, const double *anchor);

// Solves the proximal step against `anchor` in the current modes, then changes the violated modes.
// Repeats this at most `most` times. Returns the number of solves, or 0 on failure. `left` receives
// the smallest number of violated modes.
int s2_follow_change_modes(S2Follow *follow, const double *anchor, int most, int *left,
                           int *factorizations);

#endif
