// Private to core/mcp: mixed problems as one matrix, the common form of linear, mixed and quadratic
// problems, and of proofs that conditions contradict each other.
#ifndef S2_MIXED_H
#define S2_MIXED_H

#include "base/arena.h"
#include "linalg/numbers.h"
#include "mcp/history.h"
#include "mcp/mcp.h"

#include <math.h>
#include <stdbool.h>

// K x + r = 0 for the first n rows; 0 <= x _|_ w = K x + r >= 0 for the last m.
typedef struct S2Mixed {
  int n, m;
  double *k, *r; // row-major (n + m)^2, n + m
} S2Mixed;

static inline int s2_mixed_size(const S2Mixed *p) {
  return p->n + p->m;
}

// Bounds of the pairs; NULL: all 0, all infinite. w_i >= 0 at lo_i, <= 0 at hi_i, 0 between.
typedef struct S2Bounds {
  const double *lo, *hi;
} S2Bounds;

static inline double s2_bounds_lo(const S2Bounds *bounds, int i) {
  return bounds->lo != NULL ? bounds->lo[i] : 0;
}

static inline double s2_bounds_hi(const S2Bounds *bounds, int i) {
  return bounds->hi != NULL ? bounds->hi[i] : (double)INFINITY;
}

// Pairs only; a copy.
S2Mixed s2_mixed_pairs(int count, const double *matrix, const double *right, S2Arena *arena);

// f := K x + r, rounded once
void s2_mixed_apply(const S2Mixed *p, const double *x, double *f);
// The unit of row i: the largest of its numbers |r_i| and |K_ij| max(1, |x_j|), but at most `most`.
// So every row has a meaningful unit: a row of 1e-150 does not hold for all x, and a row of 1e150
// does not hide errors of others.
double s2_mixed_row_unit(const S2Mixed *p, const double *x, int i, double most);
// The distance of a pair (x, w) from lo <= x <= hi _|_ w, in units of x_unit and w_unit.
double s2_mixed_pair_miss(double x, double w, double lo, double hi, double x_unit, double w_unit);
// max |f_i| of the equations and |min(x_i, f_i)| of the pairs; f from s2_mixed_apply.
double s2_mixed_residual(const S2Mixed *p, const double *x, const double *f);
// The allowed |x_i f_i - kappa| on the central path: the tolerance, and a small fraction of kappa,
// because a point whose products have errors of kappa is on no path.
double s2_mixed_path_tolerance(double tolerance, double kappa);

// max |x_i f_i - kappa| of the pairs; infinite if x_i or f_i is not positive.
double s2_mixed_off_path(const S2Mixed *p, const double *x, const double *f, double kappa);

// K' = S K S, which keeps the problem monotone, with rows and columns of size 1 and a right side r'
// of size 1: x = unit S x', w = unit w' / S, so all x o w shrink by unit^2. Powers of two are
// exact. s: one per row; returns unit. kappa counts as a right side of the size of its root.
double s2_mixed_equilibrate(S2Mixed *scaled, double *s, const S2Mixed *p, double kappa);

// mixed_interior.c: leaves the best point found in x (pairs >= 0); returns the number of
// iterations. With kappa > 0 it searches for the point of the central path, x_i w_i = kappa.
int s2_mixed_interior(const S2Mixed *p, double kappa, int max_iterations, S2History *history,
                      double *x, S2Arena *arena);
// Finds a point of the central path (kappa > 0), starting next to a solution x of the problem. If x
// is regular, a path with small kappa ends there, even if the problem is not monotone.
int s2_mixed_path_near(const S2Mixed *p, double kappa, int max_iterations, S2History *history,
                       double *x, S2Arena *arena);

// mixed_active.c: sets w_i = 0 for pairs with x_i > w_i and solves that system (with the least
// change if it is singular). Then changes the sides of pairs with a wrong sign, and keeps
// the point with the smallest residual.
void s2_mixed_finish(const S2Mixed *p, double *x, S2Arena *arena);

// mixed_active.c: walks from x through sets of pairs at a bound until no pair requires a different
// side. It solves each set separately, so that small rows are not lost beside large ones. x is
// exactly at its bounds. False if the walk does not end, or ends in numbers too large for a double.
bool s2_mixed_walk(const S2Mixed *p, const S2Bounds *bounds, double *x, S2Arena *arena);

// mixed_active.c: solves K' l = r for a p of equations only. False, with l of least norm, if K is
// singular to rounding.
bool s2_mixed_transposed(const S2Mixed *p, double *l, S2Arena *arena);

// mixed_adjoint.c: from g = dl/dx at a solution x to l: a change dK, dr of the data changes the
// loss by -l' (dK x + dr). Pairs stay on their side; with kappa > 0, on the central path w_i =
// kappa / (x_i - lo_i) - kappa / (hi_i - x_i). to_lo, to_hi: dl/d(bounds), m each, or NULL; if lo_i
// = hi_i, each bound gets half of the derivative with respect to their common value. False if there
// is no such derivative: a pair on the edge between two sides (taken as at the bound), a singular
// system (least norm), or numbers that are not finite (NaN).
bool s2_mixed_adjoint(const S2Mixed *p, const S2Bounds *bounds, const double *x, double kappa,
                      const double *g, double *l, double *to_lo, double *to_hi, S2Arena *arena);

// mixed_box.c: the same problem with lower bounds of 0 only. Unknowns without bounds join the
// equations. Unknowns with only an upper bound change their sign. An unknown with both bounds has a
// second pair (s, hi - x), where s is the negative part of its w. An unknown with lo = hi is a
// constant.
typedef struct S2Box {
  S2Mixed p;
  int n, m;     // of the original
  int *at;      // m: index in p of pair i, or -1: constant
  double *from; // m: pair i is from + sign x_at
  double *sign; // m
} S2Box;
S2Box s2_box_make(const S2Mixed *p, const S2Bounds *bounds, S2Arena *arena);
void s2_box_point(const S2Box *box, const S2Bounds *bounds, const double *x, double *to); // n + m
// Converts multipliers of the rows of p to multipliers of the original rows; largest 1.
void s2_box_proof(const S2Box *box, const S2Bounds *bounds, const double *free_rows,
                  const double *pair_rows, double *to);

// Linear conditions  E u + C v + a = 0,  D u + B v + b >= 0,  v >= 0, any shape.
typedef struct S2Conditions {
  int free, bounded, equations, inequalities; // sizes of u and v, rows of E, rows of D
  const double *e, *c, *d, *b;                // row-major; NULL when empty
  const double *e_constant, *d_constant;      // a, b
} S2Conditions;

// mixed_conflict.c: true if they provably have no point: E' p + D' t = 0, C' p + B' t <= 0, t >= 0,
// a' p + b' t < 0, with largest |p|, |t| of 1.
bool s2_conditions_conflict(const S2Conditions *conditions, double *p, double *t, S2Arena *arena);

#endif
