// A small step problem reduced to the impulses of its one-sided rows. The equations are eliminated.
// Let S = J W^-1 J' + C of the equations, B the speeds of the other rows per unit impulse of the
// equations, and G0 the matrix of the other rows. Then the other rows satisfy
//
//     u = G x + q,    G = G0 - B S^-1 B',    lambda of the equations = lambda_0 - S^-1 B' x.
#ifndef S2_CONDENSED_H
#define S2_CONDENSED_H

#include "mcp/mcp.h"

#include <stdbool.h>

typedef struct S2Condensed {
  const S2Problem *problem;
  int equations, rows;  // number of eliminated equations, and of remaining rows
  int *equation, *row;  // their indices in the problem, ascending
  const double *root;   // problem->rows: square root of each row's Delassus diagonal w
  double *l, *d;        // S = L D L': L row by row (a row has `equations` numbers), and D^-1
  int *reach, *z_reach; // first nonzero entry of a row of L, and of z
  double *z;            // L^-1 B', `equations` numbers for each remaining row
  double *g;            // rows x rows: G, scaled by 1 / root on both sides
} S2Condensed;

// Eliminates the equations of a problem that has masses. Equations that repeat others exactly or
// nearly stay with the one-sided rows. False, with nothing changed: more than `most` rows are
// one-sided, there are too many equations for dense elimination, or a row or a node has no finite
// mobility.
bool s2_condense(S2Condensed *condensed, const S2Problem *problem, int most, S2Arena *arena);

// e := L^-1 e; and e := S^-1 e0 from e = L^-1 e0. Both take `equations` numbers.
void s2_condensed_forward(const S2Condensed *condensed, double *e);
void s2_condensed_back(const S2Condensed *condensed, double *e);

// v := the velocities of the impulses, and u = J v + C lambda + b of all rows.
void s2_condensed_speeds(const S2Problem *problem, const double *lambda, double *v, double *u);

#endif
