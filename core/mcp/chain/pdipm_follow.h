// Shared by path following (pdipm_follow.c) and the flow (pdipm_flow.c): a point of the normal map
// x = lambda - u with its modes and the rates of all its variables.
#ifndef S2_PDIPM_FOLLOW_H
#define S2_PDIPM_FOLLOW_H

#include "mcp/chain/pdipm_stages.h"

// Larger weights make pivots ill-conditioned.
#define S2_ACCURATE_WEIGHT 1e6

typedef struct S2Follow {
  S2System *system;
  double weight;
  double *x, *lambda, *r;          // 2 per unit; r = G(x0)
  double *dx, *dlambda, *u, *base; // rates as t falls
  S2Quad *v, *dv;                  // nodes + 1: velocities, and their rates
  S2Mode *mode;
  S2Response *response;
} S2Follow;

S2Follow s2_follow_make(S2System *system, double weight, S2Arena *arena);

// Sets x0 = lambda - u(lambda) or, with `by_impulses`, x0 in the modes that the impulses show. Then
// sets its modes, its impulses by the law, and G there.
void s2_follow_begin(S2Follow *follow, const double *lambda, bool by_impulses);

// u = J v + C lambda + b of all rows, with the velocities v of lambda.
void s2_follow_row_speeds(S2Follow *follow, const double *lambda);

// The rates dx and dlambda with which G falls from r to 0 in the present modes; one factorisation.
// False if the matrix is singular.
bool s2_follow_rates(S2Follow *follow);

// The impulses of x in the present modes, and G there relative to the anchor.
void s2_follow_measure(S2Follow *follow, const double *anchor);

// Repeats: solves the proximal step against `anchor` in the present modes, then changes the
// violated modes; at most `most` times. Returns the number of solves, or 0 on failure. `left`: the
// number of violated modes at the best of these points.
int s2_follow_change_modes(S2Follow *follow, const double *anchor, int most, int *left,
                           int *factorizations);

#endif
