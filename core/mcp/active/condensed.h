// A small step problem in the impulses of its one-sided rows alone. Equations are eliminated: with
// S = J W^-1 J' + C of the equations, B what the other rows see of their impulses and G0 the other
// rows' own matrix, the others obey
//
//     u = G x + q,    G = G0 - B S^-1 B',    lambda of the equations = lambda_0 - S^-1 B' x.
#ifndef S2_CONDENSED_H
#define S2_CONDENSED_H

#include "mcp/mcp.h"

#include <stdbool.h>

typedef struct S2Condensed {
  const S2Problem *problem;
  int equations, rows;  // how many are eliminated, and how many are left
  int *equation, *row;  // their indices in the problem, ascending
  const double *root;   // problem->rows: square root of each row's Delassus diagonal w
  double *l, *d;        // S = L D L': L row by row (a row has `equations` numbers), and D^-1
  int *reach, *z_reach; // first entry of a row of L, and of z, that is not 0
  double *z;            // L^-1 B', `equations` numbers for each row that is left
  double *g;            // rows x rows: G, scaled by 1 / root on both sides
} S2Condensed;

// Eliminates the equations of a problem that has masses. Equations that repeat others, or nearly,
// are left with the one-sided rows. False, with nothing made: more than `most` rows are one-sided,
// there are too many equations for dense elimination, or a row or a node has no finite mobility.
bool s2_condense(S2Condensed *condensed, const S2Problem *problem, int most, S2Arena *arena);

// e := L^-1 e, and e := S^-1 of the argument of that; `equations` numbers.
void s2_condensed_forward(const S2Condensed *condensed, double *e);
void s2_condensed_back(const S2Condensed *condensed, double *e);

// u = J v + C lambda + b of all rows and v, the velocities of the impulses.
void s2_condensed_speeds(const S2Problem *problem, const double *lambda, double *v, double *u);

#endif
