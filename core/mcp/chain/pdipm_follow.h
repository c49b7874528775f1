// What path following (pdipm_follow.c) and the flow (pdipm_flow.c) share: a point of the normal map
// x = lambda - u with the modes it is in, and the rates of everything there.
#ifndef S2_PDIPM_FOLLOW_H
#define S2_PDIPM_FOLLOW_H

#include "mcp/chain/pdipm_stages.h"

// Weights beyond make pivots ill-conditioned.
#define S2_ACCURATE_WEIGHT 1e6

typedef struct S2Follow {
  S2System *system;
  double weight;
  double *x, *lambda, *r;          // 2 a unit; r = G(x0)
  double *dx, *dlambda, *u, *base; // rates as t falls
  S2Quad *v, *dv;                  // nodes + 1: velocities, and their rates
  S2Mode *mode;
  S2Response *response;
} S2Follow;

S2Follow s2_follow_make(S2System *system, double weight, S2Arena *arena);

// x0 = lambda - u(lambda) or, `by_impulses`, in the modes these show; its modes, its impulses by
// the law, and G there.
void s2_follow_begin(S2Follow *follow, const double *lambda, bool by_impulses);

// u = J v + C lambda + b of all rows, v being the velocities that lambda brings.
void s2_follow_row_speeds(S2Follow *follow, const double *lambda);

// dx and dlambda for which G falls from r to 0 in the present modes, one factorisation; false when
// the matrix is singular.
bool s2_follow_rates(S2Follow *follow);

// Impulses of x in the present modes, and G there against the anchor.
void s2_follow_measure(S2Follow *follow, const double *anchor);

// Solves the proximal step against `anchor` in the present modes, changes those that are violated
// there, and so on, at most so many times; the number of solves, or 0 when that does not end.
// `left`: how many were violated at the best of them.
int s2_follow_change_modes(S2Follow *follow, const double *anchor, int most, int *left,
                           int *factorizations);

#endif
