// Private to core/mcp: what the solvers of mixed problems and of quadratic programs share.
#ifndef S2_MLCP_STAGES_H
#define S2_MLCP_STAGES_H

#include "base/arena.h"
#include "mcp/history.h"
#include "mcp/mcp.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// K x + r = 0 for the first n rows; 0 <= x _|_ w = K x + r >= 0 for the last m.
typedef struct S2Mixed {
  int n, m;
  double *k, *r; // row-major (n + m)^2, n + m
} S2Mixed;

static inline int s2_mixed_size(const S2Mixed *p) {
  return p->n + p->m;
}

// Empty arrays of callers may be NULL.
static inline void s2_mixed_copy(double *to, const double *from, size_t count) {
  if (count > 0) {
    memcpy(to, from, sizeof(double) * count);
  }
}

static inline void s2_mixed_clear(double *to, size_t count) {
  if (count > 0) {
    memset(to, 0, sizeof(double) * count);
  }
}

bool s2_mixed_finite(const double *x, size_t count);
double s2_mixed_largest(const double *x, size_t count); // max |x_i|, at least 0

// f := K x + r, rounded once
void s2_mixed_apply(const S2Mixed *p, const double *x, double *f);
// max |f_i| of the equations and |min(x_i, f_i)| of the pairs; f as s2_mixed_apply leaves it.
double s2_mixed_residual(const S2Mixed *p, const double *x, const double *f);

// mlcp_interior.c. Leaves the best point found in x (pairs >= 0); returns the iterations spent.
int s2_mixed_interior(const S2Mixed *p, int max_iterations, S2History *history, double *x,
                      S2Arena *arena);

// mlcp_active.c. Takes pairs with x_i > w_i for w_i = 0, solves that afresh, with the least change
// where it is singular, moves pairs that came out negative, and keeps what has a smaller residual.
void s2_mixed_finish(const S2Mixed *p, double *x, S2Arena *arena);

// mlcp_active.c. Solves K' l = g on the active set (pairs with x_i > w_i; the others have l_i = 0).
// False as s2_mlcp_vjp says.
bool s2_mixed_adjoint(const S2Mixed *p, const double *x, const double *g, double *l,
                      S2Arena *arena);

// mlcp_pivot.c. Eliminates the free unknowns and lets Lemke's method do the rest.
S2SolveStatus s2_mixed_pivot(const S2Mixed *p, double *x, S2Arena *arena);

// Linear conditions  E u + C v + a = 0,  D u + B v + b >= 0,  v >= 0, any shape.
typedef struct S2Conditions {
  int free, bounded, equations, inequalities; // sizes of u and v, rows of E, rows of D
  const double *e, *c, *d, *b;                // row-major; NULL when empty
  const double *e_constant, *d_constant;      // a, b
} S2Conditions;

// mlcp_conflict.c. True when they were proved to have no point:
// E' p + D' t = 0, C' p + B' t <= 0, t >= 0, a' p + b' t < 0, the largest of |p|, |t| being 1.
bool s2_conditions_conflict(const S2Conditions *conditions, double *p, double *t, S2Arena *arena);

#endif
