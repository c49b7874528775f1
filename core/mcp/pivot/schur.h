// Private to core/mcp: the step problem in impulses alone, u = G lambda + q, and the reduced
// problem of the contacts after the bilateral rows are eliminated.
#ifndef S2_SCHUR_H
#define S2_SCHUR_H

#include "linalg/double2.h"
#include "mcp/mcp.h"

#include <stdbool.h>

// The scaled system, whose G has a unit diagonal: lambda = scale * scaled lambda, scaled u = scale
// * u.
typedef struct S2Schur {
  int rows;
  double *g, *q; // rows x rows and rows: scaled G and q, nothing eliminated
  double *scale; // rows
  double *s,
      *left;     // s and its right side after elimination; only entries of rows without a pivot are
                 // meaningful
  bool *pivoted; // bilateral rows that were eliminated; the others repeat them
} S2Schur;

bool s2_schur_is_bilateral(const S2Row *row);

// G = J W^-1 J' + C and q = J W^-1 c + b.
S2Schur s2_schur_assemble(const S2Problem *problem, S2Arena *arena);

// Gaussian elimination of the bilateral rows with diagonal pivoting, which reveals redundant ones.
// With `precise` the numbers have twice as many digits, from the entries of G on: if a light body
// links heavy ones, each elimination cancels as many digits as the mass ratio has. This takes about
// 20 times as much work.
void s2_schur_eliminate(S2Schur *schur, const S2Problem *problem, bool precise, S2Arena *arena);

// Entry of J W^-1 J' at rows x and y with twice the digits; not in the local form.
S2Double2 s2_schur_precise(const S2Problem *problem, const S2Row *x, const S2Row *y);

// Rows with a diagonal of s up to this have no freedom left.
double s2_schur_redundant(bool precise);

#endif
