// Private to core/mcp: the step problem in terms of impulses only, u = G lambda + q, and the
// reduced problem of the contacts after the bilateral rows are eliminated.
#ifndef S2_SCHUR_H
#define S2_SCHUR_H

#include "linalg/double2.h"
#include "mcp/mcp.h"

#include <stdbool.h>

// The scaled system, in which G has a unit diagonal: lambda = scale * (scaled lambda), and (scaled
// u) = scale * u.
typedef struct S2Schur {
  int rows;
  double *g, *q; // scaled G (rows x rows) and q before elimination
  double *scale; // rows
  double *s,
      *left;     // s: matrix after elimination; left: its right side; only valid for rows without a
                 // pivot
  bool *pivoted; // true if the bilateral row was eliminated, false if it is redundant
} S2Schur;

bool s2_schur_is_bilateral(const S2Row *row);

// Computes G = J W^-1 J' + C and q = J W^-1 c + b.
S2Schur s2_schur_assemble(const S2Problem *problem, S2Arena *arena);

// Gaussian elimination of the bilateral rows with diagonal pivoting, which reveals redundant rows.
// With `precise`, all numbers including the entries of G have twice as many digits. This takes
// about 20 times as much work. It is needed if a light body connects heavy bodies, because each
// elimination then cancels as many digits as the mass ratio has.
void s2_schur_eliminate(S2Schur *schur, const S2Problem *problem, bool precise, S2Arena *arena);

// Returns the entry of J W^-1 J' for rows x and y with twice the digits. Not available in the local
// form.
S2Double2 s2_schur_precise(const S2Problem *problem, const S2Row *x, const S2Row *y);

// Returns the limit for the diagonal of s up to which a row is redundant.
double s2_schur_redundant(bool precise);

#endif
