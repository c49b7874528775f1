// Reformulates mixed problems with bounds (see S2Box). Monotone problems stay monotone.
#include "mcp/mixed/mixed.h"

static bool is_fixed(double lo, double hi) {
  return lo == hi;
}

static bool has_both(double lo, double hi) {
  return lo < hi && isfinite(lo) && isfinite(hi);
}

// Assigns an index to each unknown, and finds the sizes.
static S2Box box_plan(const S2Mixed *p, const S2Bounds *bounds, S2Arena *arena) {
  int m = p->m, pairs = 0;
  S2Box box = {.p = {.n = p->n},
               .n = p->n,
               .m = m,
               .at = S2_TAKE(arena, int, m + 1),
               .from = S2_TAKE_ZEROED(arena, double, m + 1),
               .sign = S2_TAKE(arena, double, m + 1)};
  // Classify each pair as a constant, a free unknown, or a pair measured from one of its bounds.
  for (int i = 0; i < m; i++) {
    double lo = s2_bounds_lo(bounds, i), hi = s2_bounds_hi(bounds, i);
    bool is_free = lo == -INFINITY && hi == INFINITY;
    box.at[i] = is_fixed(lo, hi) ? -1 : is_free ? box.p.n++ : 0;
    box.from[i] = isfinite(lo) ? lo : isfinite(hi) ? hi : 0;
    box.sign[i] = !isfinite(lo) && isfinite(hi) ? -1 : 1;
  }
  // Pairs come after all free unknowns. The second pairs of unknowns with two bounds are last.
  for (int i = 0; i < m; i++) {
    bool is_free = s2_bounds_lo(bounds, i) == -INFINITY && s2_bounds_hi(bounds, i) == INFINITY;
    if (box.at[i] >= 0 && !is_free) {
      box.at[i] = box.p.n + pairs++;
    }
  }
  for (int i = 0; i < m; i++) {
    pairs += has_both(s2_bounds_lo(bounds, i), s2_bounds_hi(bounds, i));
  }
  box.p.m = pairs;
  return box;
}

static int box_place(const S2Box *box, int i) {
  return i < box->n ? i : box->at[i - box->n];
}

static double sign_of(const S2Box *box, int i) {
  return i < box->n ? 1 : box->sign[i - box->n];
}

S2Box s2_box_make(const S2Mixed *p, const S2Bounds *bounds, S2Arena *arena) {
  S2Box box = box_plan(p, bounds, arena);
  size_t size = (size_t)s2_mixed_size(p), wide = (size_t)s2_mixed_size(&box.p);
  box.p.k = S2_TAKE_ZEROED(arena, double, wide *wide + 1);
  box.p.r = S2_TAKE_ZEROED(arena, double, wide + 1);
  // Compute r' = K x + r at the bounds from which pairs are measured, with the signs of rows and
  // columns.
  double *origin = S2_TAKE_ZEROED(arena, double, size + 1), *f = S2_TAKE(arena, double, size + 1);
  s2_copy_numbers(origin + p->n, box.from, (size_t)p->m);
  s2_mixed_apply(p, origin, f);
  for (int i = 0; i < (int)size; i++) {
    int row = box_place(&box, i);
    for (int j = 0; row >= 0 && j < (int)size; j++) {
      int column = box_place(&box, j);
      if (column >= 0) {
        box.p.k[(size_t)row * wide + (size_t)column] =
            sign_of(&box, i) * sign_of(&box, j) * p->k[(size_t)i * size + (size_t)j];
      }
    }
    if (row >= 0) {
      box.p.r[row] = sign_of(&box, i) * f[i];
    }
  }
  // For a second bound, add s to the row of x, and add the row hi - lo - x for s.
  size_t slack = wide;
  for (int i = p->m - 1; i >= 0; i--) {
    double lo = s2_bounds_lo(bounds, i), hi = s2_bounds_hi(bounds, i);
    if (has_both(lo, hi)) {
      slack -= 1;
      box.p.k[(size_t)box.at[i] * wide + slack] = 1;
      box.p.k[slack * wide + (size_t)box.at[i]] = -1;
      box.p.r[slack] = hi - lo;
    }
  }
  return box;
}

void s2_box_point(const S2Box *box, const S2Bounds *bounds, const double *x, double *to) {
  s2_copy_numbers(to, x, (size_t)box->n);
  for (int i = 0; i < box->m; i++) {
    double value = box->from[i] + (box->at[i] >= 0 ? box->sign[i] * x[box->at[i]] : 0);
    double lo = s2_bounds_lo(bounds, i), hi = s2_bounds_hi(bounds, i);
    to[box->n + i] = value < lo ? lo : value > hi ? hi : value; // NaN stays
  }
}

void s2_box_proof(const S2Box *box, const S2Bounds *bounds, const double *free_rows,
                  const double *pair_rows, double *to) {
  int size = box->n + box->m;
  for (int i = 0; i < size; i++) {
    int at = box_place(box, i);
    bool both =
        i >= box->n && has_both(s2_bounds_lo(bounds, i - box->n), s2_bounds_hi(bounds, i - box->n));
    double value = at < 0 || both ? 0 : at < box->p.n ? free_rows[at] : pair_rows[at - box->p.n];
    to[i] = sign_of(box, i) * value;
  }
  double largest = s2_largest(to, (size_t)size);
  for (int i = 0; i < size; i++) {
    to[i] = to[i] / (largest > 0 ? largest : 1) + 0.0; // avoids -0
  }
}
