// A small step problem, reduced to the impulses of its one-sided rows. The equations are
// eliminated. Let S = J W^-1 J' + C be the matrix of the equations, G0 the same matrix for the
// other rows, and B the speeds of the other rows per unit impulse of the equations. Then the other
// rows satisfy
//
//     u = G x + q,    G = G0 - B S^-1 B',    lambda of the equations = lambda_0 - S^-1 B' x.
#ifndef S2_CONDENSED_H
#define S2_CONDENSED_H

#include "mcp/mcp.h"

#include <stdbool.h>

typedef struct S2Condensed {
  const S2Problem *problem;
  int equations, rows;  // number of eliminated equations, and of remaining rows
  int *equation, *row;  // indices of the equations and of the rows in the problem, ascending
  const double *root;   // for each row of the problem: square root of its Delassus diagonal w
  double *l, *d;        // factors of S = L D L': L by rows of `equations` numbers, and D^-1
  int *reach, *z_reach; // first nonzero entry of each row of L and of z
  double *z;            // L^-1 B', `equations` numbers for each remaining row
  double *g;            // rows x rows: G, scaled by 1 / root on both sides
} S2Condensed;

// Eliminates the equations of a problem that has masses. Equations that are exactly or nearly
// linearly dependent stay with the one-sided rows. Returns false and changes nothing if more than
// `most` rows are one-sided, if there are too many equations for dense elimination, or if a row or
// a node has no finite mobility.
bool s2_condense(S2Condensed *condensed, const S2Problem *problem, int most, S2Arena *arena);

// s2_condensed_forward computes e := L^-1 e. s2_condensed_back turns this result into S^-1 times
// the original e. `e` has `equations` numbers.
void s2_condensed_forward(const S2Condensed *condensed, double *e);
void s2_condensed_back(const S2Condensed *condensed, double *e);

// Computes the velocities v that the impulses give, and u = J v + C lambda + b of all rows.
void s2_condensed_speeds(const S2Problem *problem, const double *lambda, double *v, double *u);

#endif
