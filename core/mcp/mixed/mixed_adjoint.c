// Derivatives of solutions of mixed problems. On the active set, let F be the unknowns that are not
// at a bound. Then K_FF dx_F = -(dK x + dr)_F - K_Fb dx_b. On the central path
//
//     K dx + dK x + dr = dw,   w_i = kappa / (x_i - lo_i) - kappa / (hi_i - x_i)
//
// so (K + D) dx = -(dK x + dr) + ... with D_ii = kappa / (x_i - lo_i)^2 + kappa / (hi_i - x_i)^2.
#include "linalg/numbers.h"
#include "mcp/mixed/mixed.h"

// A pair is on the edge between two sides if |w| and the distance of x from a bound are both at
// most this value. Solutions have this accuracy. The limit for w is multiplied by the size of the
// right side if that is above 1.
static const double EDGE = 1e-9;

typedef enum Side { INSIDE, AT_LO, AT_HI, FIXED } Side;

typedef struct Sides {
  Side *side;            // n + m
  double *lower, *upper; // kappa / (x - lo)^2 and kappa / (hi - x)^2, n + m each
  bool clear;            // true if no pair is on an edge
} Sides;

// Computes the slopes of w on the path, where kappa relates w to the distances from the bounds. The
// smaller number of a pair is computed from the larger number, because a small difference from a
// bound may have no correct digits.
static void find_slopes(Sides *sides, int i, double below, double above, double w, double kappa) {
  double lower = kappa / below, upper = kappa / above; // w is lower - upper
  if (below <= above && w + upper > below) {
    lower = w + upper;
  } else if (above < below && lower - w > above) {
    upper = lower - w;
  }
  sides->lower[i] = lower * (lower / kappa);
  sides->upper[i] = upper * (upper / kappa);
}

static void find_side(Sides *sides, const S2Mixed *p, int i, double below, double above, double w) {
  double edge = EDGE * fmax(1, fabs(p->r[i]));
  double distance = fmin(fabs(below), fabs(above));
  sides->side[i] = below <= w ? AT_LO : above <= -w ? AT_HI : INSIDE;
  sides->clear = sides->clear && !(distance <= EDGE && fabs(w) <= edge);
}

static Sides find_sides(const S2Mixed *p, const S2Bounds *bounds, const double *x, const double *f,
                        double kappa, S2Arena *arena) {
  int size = s2_mixed_size(p);
  Sides sides = {.side = S2_TAKE(arena, Side, size + 1),
                 .lower = S2_TAKE_ZEROED(arena, double, size + 1),
                 .upper = S2_TAKE_ZEROED(arena, double, size + 1),
                 .clear = true};
  // A pair is at a bound or, on the path, between the bounds. Free unknowns are inside.
  for (int i = 0; i < size; i++) {
    double lo = i < p->n ? -INFINITY : s2_bounds_lo(bounds, i - p->n);
    double hi = i < p->n ? INFINITY : s2_bounds_hi(bounds, i - p->n);
    sides.side[i] = lo == hi ? FIXED : INSIDE;
    if (lo < hi && kappa > 0) {
      find_slopes(&sides, i, x[i] - lo, hi - x[i], f[i], kappa);
    } else if (lo < hi && i >= p->n) {
      find_side(&sides, p, i, x[i] - lo, hi - x[i], f[i]);
    }
  }
  return sides;
}

// Returns the derivative of the loss with respect to an x_i at a bound. It includes the response of
// the unknowns between their bounds.
static double mixed_adjoint_worth(const S2Mixed *p, const double *g, const double *l, int i) {
  int size = s2_mixed_size(p);
  double sum = g[i];
  for (int k = 0; k < size; k++) {
    sum -= l[k] * p->k[(size_t)k * (size_t)size + (size_t)i];
  }
  return sum;
}

static void find_bounds(const S2Mixed *p, const Sides *sides, const double *g, const double *l,
                        double *to_lo, double *to_hi) {
  // If x_i is at a bound, the derivative with respect to this bound is the derivative with respect
  // to x_i. On the central path, the bound acts through its term of w. If x_i is fixed, each bound
  // gets half.
  for (int i = 0; i < p->m; i++) {
    int at = p->n + i;
    Side side = sides->side[at];
    double value = side != INSIDE ? mixed_adjoint_worth(p, g, l, at) : 0;
    double share = side == FIXED ? 0.5 : 1;
    if (to_lo != NULL) {
      to_lo[i] = side == INSIDE ? l[at] * sides->lower[at] : side != AT_HI ? share * value : 0;
    }
    if (to_hi != NULL) {
      to_hi[i] = side == INSIDE ? l[at] * sides->upper[at] : side != AT_LO ? share * value : 0;
    }
  }
}

static bool mixed_adjoint_solve(const S2Mixed *p, const Sides *sides, const double *g, double *l,
                                S2Arena *arena) {
  size_t size = (size_t)s2_mixed_size(p), count = 0;
  size_t *index = S2_TAKE(arena, size_t, size + 1);
  for (size_t i = 0; i < size; i++) {
    if (sides->side[i] == INSIDE) {
      index[count++] = i;
    }
  }
  // Set up (K + D)' for the unknowns inside. D contains the slopes of the central path, and is 0
  // without kappa.
  S2Mixed inside = {(int)count, 0, S2_TAKE(arena, double, count *count + 1),
                    S2_TAKE(arena, double, count + 1)};
  double *solution = S2_TAKE(arena, double, count + 1);
  // Copy K_FF and g_F, and add D.
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < count; j++) {
      inside.k[i * count + j] = p->k[index[i] * size + index[j]];
    }
    inside.k[i * (count + 1)] += sides->lower[index[i]] + sides->upper[index[i]];
    inside.r[i] = g[index[i]];
  }
  s2_clear_numbers(l, size);
  if (!s2_all_finite(inside.k, count * count)) {
    l[0] = NAN;
    return false;
  }
  // Set l to 0 for the other unknowns, because they do not change.
  bool regular = s2_mixed_transposed(&inside, solution, arena);
  for (size_t i = 0; i < count; i++) {
    l[index[i]] = solution[i];
  }
  return regular;
}

bool s2_mixed_adjoint(const S2Mixed *p, const S2Bounds *bounds, const double *x, double kappa,
                      const double *g, double *l, double *to_lo, double *to_hi, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  size_t size = (size_t)s2_mixed_size(p);
  bool finite = s2_all_finite(p->k, size * size) && s2_all_finite(p->r, size) &&
                s2_all_finite(x, size) && s2_all_finite(g, size);
  bool regular = false;
  if (finite) {
    double *f = S2_TAKE(arena, double, size + 1);
    s2_mixed_apply(p, x, f);
    Sides sides = find_sides(p, bounds, x, f, kappa, arena);
    regular = mixed_adjoint_solve(p, &sides, g, l, arena) && sides.clear;
    find_bounds(p, &sides, g, l, to_lo, to_hi);
    finite = s2_all_finite(l, size);
  }
  if (!finite) {
    s2_fill_numbers(l, (int)size, NAN);
    s2_fill_numbers(to_lo, p->m, NAN);
    s2_fill_numbers(to_hi, p->m, NAN);
  }
  s2_arena_rewind(arena, mark);
  return regular && finite;
}
