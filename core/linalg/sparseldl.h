// Sparse symmetric quasi-definite matrices with scalar entries, factored as L D L' without
// pivoting.
//
// A quasi-definite matrix [ W J'; J -C ], with W and C positive definite, has such a factorisation
// in every order, and the signs of its pivots are known in advance (Vanderbei 1995). Optimal
// control problems lead to such matrices. The method is left-looking by columns, with the order of
// linalg/order.h. Pattern and order are computed once. All memory comes from the arena given to
// init and lives as long as the arena.
#ifndef S2_SPARSELDL_H
#define S2_SPARSELDL_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct S2SparseLdl {
  int n, entries, fill; // fill: entries of L below its diagonal
  int32_t *order;       // order[k]: index eliminated k-th
  int32_t *place;       // inverse of order
  // The matrix: its lower triangle in elimination order, by columns, each of which begins with the
  // diagonal entry.
  int32_t *start, *row; // n + 1, entries
  int32_t *index;       // entries: order[row]
  double *value;        // entries; filled by the caller
  // L below its diagonal by columns.
  int32_t *l_start, *l_row; // n + 1, fill; rows ascend within a column
  double *l;                // fill
  double *pivot, *inverse;  // n; inverse: 1 / pivot
  // The same entries by rows.
  int32_t *r_start, *r_column, *r_at; // n + 1, fill, fill
  bool *extends; // column k + 1 has the same rows as column k, apart from row k + 1
  double *work;  // 2 n
} S2SparseLdl;

// Computes order and pattern. entry[2 e] and entry[2 e + 1] are the row and the column of entry e,
// in either triangle. An entry may occur several times. slot[e] becomes its index in `value`. The
// diagonal need not be listed: the slot of diagonal entry i is start[place[i]].
void s2_sparseldl_init(S2SparseLdl *matrix, int n, int entries, const int32_t *entry, int32_t *slot,
                       S2Arena *arena);

// Computes the factors and keeps the values. positive[i] is true if pivot i must be positive, and
// false if it must be negative. Returns false if a pivot has the wrong sign, is zero or is not
// finite.
bool s2_sparseldl_factor(S2SparseLdl *matrix, const bool *positive);

// Solves A x = b with the factors. x may be b.
void s2_sparseldl_solve(S2SparseLdl *matrix, const double *b, double *x);

// residual = b - A x. Returns the largest magnitude of its entries.
double s2_sparseldl_residual(const S2SparseLdl *matrix, const double *b, const double *x,
                             double *residual);

#endif
