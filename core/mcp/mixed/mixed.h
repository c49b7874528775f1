// Private to core/mcp: mixed problems with a single matrix. This is the common form of linear,
// mixed and quadratic problems, and of proofs that conditions contradict each other.
#ifndef S2_MIXED_H
#define S2_MIXED_H

#include "base/arena.h"
#include "linalg/numbers.h"
#include "mcp/history.h"
#include "mcp/mcp.h"

#include <math.h>
#include <stdbool.h>

// Equations K x + r = 0 for the first n rows. Pairs 0 <= x _|_ w = K x + r >= 0 for the last m
// rows.
typedef struct S2Mixed {
  int n, m;
  double *k, *r; // K, row-major, (n + m)^2 numbers; r, n + m numbers
} S2Mixed;

static inline int s2_mixed_size(const S2Mixed *p) {
  return p->n + p->m;
}

// Bounds of the pairs. If NULL, all lo are 0, and all hi are infinite. w_i >= 0 at lo_i, w_i <= 0
// at hi_i, and w_i = 0 between them.
typedef struct S2Bounds {
  const double *lo, *hi;
} S2Bounds;

static inline double s2_bounds_lo(const S2Bounds *bounds, int i) {
  return bounds->lo != NULL ? bounds->lo[i] : 0;
}

static inline double s2_bounds_hi(const S2Bounds *bounds, int i) {
  return bounds->hi != NULL ? bounds->hi[i] : (double)INFINITY;
}

// Builds a problem that has only pairs, from copies of the data.
S2Mixed s2_mixed_pairs(int count, const double *matrix, const double *right, S2Arena *arena);

// f := K x + r, rounded only once.
void s2_mixed_apply(const S2Mixed *p, const double *x, double *f);
// The unit of row i: the largest of |r_i| and all |K_ij| max(1, |x_j|), but at most `most`. This
// unit ensures that a row of size 1e-150 is not satisfied by every x, and that a row of size 1e150
// does not hide errors of other rows.
double s2_mixed_row_unit(const S2Mixed *p, const double *x, int i, double most);
// Returns the amount by which a pair (x, w) violates lo <= x <= hi _|_ w, in units of x_unit and
// w_unit.
double s2_mixed_pair_miss(double x, double w, double lo, double hi, double x_unit, double w_unit);
// Returns the largest |f_i| of the equations and |min(x_i, f_i)| of the pairs. f comes from
// s2_mixed_apply.
double s2_mixed_residual(const S2Mixed *p, const double *x, const double *f);
// Returns the largest allowed |x_i f_i - kappa| on the central path. This is the tolerance or a
// small fraction of kappa, whichever is smaller, because a point whose products have errors as
// large as kappa is not on the path.
double s2_mixed_path_tolerance(double tolerance, double kappa);

// Returns the largest |x_i f_i - kappa| of the pairs, or infinity if any x_i or f_i is not
// positive.
double s2_mixed_off_path(const S2Mixed *p, const double *x, const double *f, double kappa);

// Scales the problem to K' = S K S, which preserves monotonicity, so that rows, columns and the
// right side r' have size 1. Then x = unit S x' and w = unit w' / S, and all x o w are divided by
// unit^2. All scales are powers of two, so scaling is exact. `s` receives S, one number per row.
// Returns unit. kappa counts as a right side of the size sqrt(kappa).
double s2_mixed_equilibrate(S2Mixed *scaled, double *s, const S2Mixed *p, double kappa);

// mixed_interior.c: solves the problem from a standard start. Leaves the best point found in x,
// with pairs >= 0, and returns the number of iterations. If kappa > 0, searches for the point on
// the central path with x_i w_i = kappa.
int s2_mixed_interior(const S2Mixed *p, double kappa, int max_iterations, S2History *history,
                      double *x, S2Arena *arena);
// Searches for a point on the central path (kappa > 0), starting near a solution x of the problem.
// If x is regular, a path with small kappa ends at x, even if the problem is not monotone.
int s2_mixed_path_near(const S2Mixed *p, double kappa, int max_iterations, S2History *history,
                       double *x, S2Arena *arena);

// mixed_active.c: sets w_i = 0 for pairs with x_i > w_i and solves the resulting system. If the
// system is singular, makes the smallest change that solves it. Then moves pairs with a wrong sign
// to the other side, and keeps the point with the smallest residual.
void s2_mixed_finish(const S2Mixed *p, double *x, S2Arena *arena);

// mixed_active.c: walks from x through active sets until no pair needs to change sides. Solves each
// system in scaled units, so that large rows do not swamp small rows. Leaves x exactly at its
// active bounds. Returns false if the walk does not end, or if it ends in numbers that are too
// large for a double.
bool s2_mixed_walk(const S2Mixed *p, const S2Bounds *bounds, double *x, S2Arena *arena);

// mixed_active.c: solves K' l = r for a problem with equations only. If K is numerically singular,
// returns false, and l has least norm.
bool s2_mixed_transposed(const S2Mixed *p, double *l, S2Arena *arena);

// mixed_adjoint.c: computes the adjoint l from the derivative g of the loss with respect to x at a
// solution. A change dK, dr of the data changes the loss by -l' (dK x + dr). Pairs stay on their
// side or, if kappa > 0, on the central path, w_i = kappa / (x_i - lo_i) - kappa / (hi_i - x_i).
// to_lo and to_hi receive the derivatives with respect to the bounds, m each, or are NULL. If lo_i
// = hi_i, each bound gets half of the derivative with respect to their common value. Returns false
// if there is no such derivative. Then either a pair is on the edge between two sides and counts as
// at the bound, or the system is singular and l has least norm, or numbers are not finite and the
// result is NaN.
bool s2_mixed_adjoint(const S2Mixed *p, const S2Bounds *bounds, const double *x, double kappa,
                      const double *g, double *l, double *to_lo, double *to_hi, S2Arena *arena);

// mixed_box.c: reformulates a problem with bounds as a problem whose only bounds are lower bounds
// of 0. Unknowns without bounds become free unknowns. Unknowns with only an upper bound change
// their sign. An unknown with two bounds gets a second pair (s, hi - x), where s is the negative
// part of its w. An unknown with lo = hi is a constant.
typedef struct S2Box {
  S2Mixed p;
  int n, m;     // sizes of the original problem
  int *at;      // index in p of each pair, or -1 for a constant; m numbers
  double *from; // value of pair i is from_i + sign_i x_at; m numbers
  double *sign; // m numbers
} S2Box;
S2Box s2_box_make(const S2Mixed *p, const S2Bounds *bounds, S2Arena *arena);
// Converts x of p to the n + m unknowns of the original problem.
void s2_box_point(const S2Box *box, const S2Bounds *bounds, const double *x, double *to);
// Converts multipliers of the rows of p to multipliers of the original rows, scaled to a largest
// entry of 1.
void s2_box_proof(const S2Box *box, const S2Bounds *bounds, const double *free_rows,
                  const double *pair_rows, double *to);

// Linear conditions E u + C v + a = 0, D u + B v + b >= 0, v >= 0. Matrices may have any shape.
typedef struct S2Conditions {
  int free, bounded, equations, inequalities; // sizes of u and v, numbers of rows of E and D
  const double *e, *c, *d, *b;                // row-major; NULL if empty
  const double *e_constant, *d_constant;      // a, b
} S2Conditions;

// mixed_conflict.c: returns true if there is a proof that no point satisfies the conditions. The
// proof consists of p and t >= 0 with E' p + D' t = 0, C' p + B' t <= 0 and a' p + b' t < 0, scaled
// to a largest entry of 1.
bool s2_conditions_conflict(const S2Conditions *conditions, double *p, double *t, S2Arena *arena);

#endif
