// Solves mixed problems whose active set is known, so that they are linear systems. Redundant rows
// make these systems singular but consistent. A complete orthogonal factorisation then gives the
// solution of least norm.
#include "mcp/mixed/mixed.h"

#include "linalg/dense.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

// A matrix counts as singular if its reciprocal condition number is below this limit.
static const double RANK = 1e-12;

// Do not improve a residual that is at most this fraction of the right side.
static const double GOOD = 1e-12;

enum {
  MOVES = 8,       // maximum number of moves that change all wrong pairs at once
  MOST_MOVES = 40, // maximum number of all moves; after the first MOVES, each move changes one pair
  CORRECTIONS = 30
};

// ---- Active set -------------------------------------------------------------------------------

typedef struct Active {
  int count;
  int *index;    // all free unknowns, and pairs with w_i = 0
  double *full;  // the matrix, column-major, count^2 numbers
  double *spent; // copy of the matrix that the solvers overwrite
  double *change, *before;
  S2Dense lu;
  bool regular; // true if lu contains usable factors
  double worst; // smallest reciprocal condition number of a regular matrix
  S2Arena *arena;
} Active;

static Active active_make(const S2Mixed *p, S2Arena *arena) {
  size_t size = (size_t)s2_mixed_size(p);
  Active active = {
      .index = S2_TAKE(arena, int, size + 1),
      .full = S2_TAKE(arena, double, size *size + 1),
      .spent = S2_TAKE(arena, double, size *size + 1),
      .change = S2_TAKE(arena, double, size + 1),
      .before = S2_TAKE(arena, double, size + 1),
      .worst = RANK,
      .arena = arena,
  };
  active.lu.pivot = S2_TAKE(arena, int32_t, size + 1);
  active.lu.nonsymmetric = true;
  return active;
}

// Factors the matrix by LU and estimates its condition number. This is far cheaper than the
// least-norm solution.
static bool active_factor(Active *active) {
  int count = active->count;
  size_t bytes = sizeof(double) * (size_t)count * (size_t)count;
  if (count == 0) {
    return true;
  }
  // Compute LU, and LAPACK's estimate of the reciprocal condition number.
  S2ArenaMark mark = s2_arena_mark(active->arena);
  double *work = S2_TAKE(active->arena, double, 4 * count), condition = 0;
  lapack_int *counts = S2_TAKE(active->arena, lapack_int, count);
  double norm = LAPACKE_dlange_work(LAPACK_COL_MAJOR, '1', count, count, active->full, count, work);
  memcpy(active->spent, active->full, bytes);
  active->lu.size = count;
  active->lu.a = active->spent;
  bool regular = s2_dense_factor(&active->lu) &&
                 LAPACKE_dgecon_work(LAPACK_COL_MAJOR, '1', count, active->spent, count, norm,
                                     &condition, work, counts) == 0 &&
                 condition > active->worst;
  s2_arena_rewind(active->arena, mark);
  return regular;
}

// Prepares solves with the matrix of the free unknowns and the marked pairs, or with its transpose.
static void active_prepare(Active *active, const S2Mixed *p, const bool *in, bool transposed) {
  size_t size = (size_t)s2_mixed_size(p), count = 0;
  // List all free unknowns and the marked pairs.
  for (int i = 0; i < (int)size; i++) {
    if (i < p->n || in[i]) {
      active->index[count++] = i;
    }
  }
  active->count = (int)count;
  // Copy their rows and columns of K, stored by columns as in LAPACK.
  for (size_t i = 0; i < count; i++) {
    const double *row = p->k + (size_t)active->index[i] * size;
    for (size_t j = 0; j < count; j++) {
      active->full[transposed ? i * count + j : j * count + i] = row[active->index[j]];
    }
  }
  active->regular = active_factor(active);
}

// change := the solution or, if the matrix is singular, the least-squares solution of least norm.
static void active_solve(Active *active) {
  int count = active->count;
  if (active->regular) {
    if (count > 0) {
      s2_dense_solve(&active->lu, active->change);
    }
    return;
  }
  // The matrix is singular: dgelsy computes the least-squares solution of least norm.
  S2ArenaMark mark = s2_arena_mark(active->arena);
  lapack_int rank = 0, length = 5 * count + 1; // workspace length of the unblocked method
  lapack_int *order = S2_TAKE_ZEROED(active->arena, lapack_int, count);
  double *work = S2_TAKE(active->arena, double, length);
  memcpy(active->spent, active->full, sizeof(double) * (size_t)count * (size_t)count);
  LAPACKE_dgelsy_work(LAPACK_COL_MAJOR, count, count, 1, active->spent, count, active->change,
                      count, order, RANK, &rank, work, length);
  s2_arena_rewind(active->arena, mark);
}

// ---- Finish -----------------------------------------------------------------------------------

// Applies Newton's correction to x on the active set, as long as it improves any equation. If sizes
// differ strongly, some equations need many corrections. On return f is K x + r.
static void active_correct(Active *active, const S2Mixed *p, double *x, double *f) {
  s2_mixed_apply(p, x, f);
  // Apply dx = -K_AA^-1 (K x + r)_A, as long as it halves the error of at least one equation.
  bool gained = true;
  for (int pass = 0; pass < CORRECTIONS && gained; pass++) {
    for (int i = 0; i < active->count; i++) {
      active->change[i] = -f[active->index[i]];
      active->before[i] = fabs(f[active->index[i]]);
    }
    active_solve(active);
    for (int i = 0; i < active->count; i++) {
      x[active->index[i]] += active->change[i];
    }
    s2_mixed_apply(p, x, f);
    gained = false;
    for (int i = 0; i < active->count; i++) {
      gained = gained || fabs(f[active->index[i]]) < active->before[i] / 2;
    }
  }
}

// Walks from x through active sets. Keeps the best point in x and returns its residual.
static double active_walk(Active *active, const S2Mixed *p, double *x, double best, bool *in,
                          double *trial, double *f) {
  int n = p->n, size = s2_mixed_size(p);
  bool moved = true;
  s2_mixed_apply(p, x, f);
  // Set w = 0 for pairs with x > w.
  for (int i = n; i < size; i++) {
    in[i] = x[i] > f[i];
  }
  memcpy(trial, x, sizeof(double) * (size_t)size);
  // Solve on the active set, move all pairs that became negative, and keep the best point.
  for (int move = 0; move < MOVES && moved; move++) {
    for (int i = n; i < size; i++) {
      trial[i] = in[i] ? trial[i] : 0;
    }
    active_prepare(active, p, in, false);
    active_correct(active, p, trial, f);
    moved = false;
    for (int i = n; i < size; i++) {
      bool wrong = in[i] ? trial[i] < 0 : f[i] < 0;
      in[i] = in[i] != wrong;
      trial[i] = in[i] && !wrong ? trial[i] : 0;
      moved = moved || wrong;
    }
    s2_mixed_apply(p, trial, f);
    double residual = s2_mixed_residual(p, trial, f);
    if (!isfinite(residual)) {
      break;
    }
    if (residual <= best || !isfinite(best)) {
      best = residual;
      memcpy(x, trial, sizeof(double) * (size_t)size);
    }
  }
  return best;
}

void s2_mixed_finish(const S2Mixed *p, double *x, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int size = s2_mixed_size(p);
  Active active = active_make(p, arena);
  double *f = S2_TAKE(arena, double, size + 1), *trial = S2_TAKE(arena, double, size + 1);
  bool *in = S2_TAKE_ZEROED(arena, bool, size + 1);
  s2_mixed_apply(p, x, f);
  double best = active_walk(&active, p, x, s2_mixed_residual(p, x, f), in, trial, f);
  if (!(best <= GOOD * fmax(1, s2_largest(p->r, (size_t)size)))) {
    // The matrix may be ill-conditioned rather than singular. Try LU, which can handle that.
    active.worst = 0;
    active_walk(&active, p, x, best, in, trial, f);
  }
  s2_arena_rewind(arena, mark);
}

// ---- Between bounds ---------------------------------------------------------------------------

// Returns the side of a pair according to its numbers: -1 at lo, 0 between the bounds, 1 at hi.
static int active_side_of(double x, double w, double lo, double hi) {
  return lo < hi && x - lo > w && hi - x > -w ? 0 : lo == hi || x - lo <= w ? -1 : 1;
}

// Changes the sides of all wrong pairs. If `one` is set, changes only the last wrong pair. This is
// Murty's rule, which terminates if all principal minors are positive. Returns false if no pair is
// wrong.
static bool change_sides(const S2Mixed *p, const S2Bounds *bounds, bool one, int *side,
                         const double *x, const double *f) {
  bool changed = false;
  for (int i = p->m - 1; i >= 0 && !(one && changed); i--) {
    double lo = s2_bounds_lo(bounds, i), hi = s2_bounds_hi(bounds, i), v = x[p->n + i];
    double w = f[p->n + i];
    int now = side[i];
    // A pair that exceeds a bound moves to this bound. A pair at a bound whose w has the wrong sign
    // moves between the bounds.
    if (now == 0) {
      side[i] = v < lo ? -1 : v > hi ? 1 : 0;
    } else if (lo < hi && (now < 0 ? w < 0 : w > 0)) {
      side[i] = 0;
    }
    changed = changed || side[i] != now;
  }
  return changed;
}

bool s2_mixed_walk(const S2Mixed *original, const S2Bounds *bounds, double *x, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = original->n, m = original->m, size = n + m;
  S2Mixed p = {n, m, S2_TAKE(arena, double, (size_t)size *(size_t)size + 1),
               S2_TAKE(arena, double, size + 1)};
  double *s = S2_TAKE(arena, double, size + 1), *f = S2_TAKE(arena, double, size + 1);
  double *lo = S2_TAKE(arena, double, m + 1), *hi = S2_TAKE(arena, double, m + 1);
  // Equilibrate the problem, so that large rows do not swamp small rows.
  double unit = s2_mixed_equilibrate(&p, s, original, 0);
  bool *in = S2_TAKE_ZEROED(arena, bool, size + 1);
  int *side = S2_TAKE(arena, int, m + 1);
  S2Bounds scaled = {lo, hi};
  Active active = active_make(&p, arena);
  // Convert the point and the bounds to scaled units, and find the side of each pair.
  for (int i = 0; i < size; i++) {
    x[i] = x[i] / unit / s[i];
  }
  s2_mixed_apply(&p, x, f);
  for (int i = 0; i < m; i++) {
    lo[i] = s2_bounds_lo(bounds, i) / unit / s[n + i];
    hi[i] = s2_bounds_hi(bounds, i) / unit / s[n + i];
    side[i] = active_side_of(x[n + i], f[n + i], lo[i], hi[i]);
  }
  // Solve for the pairs between their bounds, with the other pairs exactly at their bounds. Repeat
  // until no pair requires a different side.
  bool moved = s2_all_finite(p.k, (size_t)size * (size_t)size) && s2_all_finite(f, (size_t)size);
  for (int move = 0; move < MOST_MOVES && moved; move++) {
    for (int i = 0; i < m; i++) {
      in[n + i] = side[i] == 0;
      x[n + i] = side[i] < 0 ? lo[i] : side[i] > 0 ? hi[i] : x[n + i];
    }
    active_prepare(&active, &p, in, false);
    active_correct(&active, &p, x, f);
    moved = change_sides(&p, &scaled, move >= MOVES, side, x, f);
  }
  // Convert to the caller's units, with exact bounds.
  for (int i = 0; i < size; i++) {
    int at = i < n ? 0 : side[i - n];
    x[i] = at < 0   ? s2_bounds_lo(bounds, i - n)
           : at > 0 ? s2_bounds_hi(bounds, i - n)
                    : unit * s[i] * x[i];
  }
  s2_arena_rewind(arena, mark);
  return !moved && s2_all_finite(x, (size_t)size);
}

// ---- Adjoint ----------------------------------------------------------------------------------

bool s2_mixed_transposed(const S2Mixed *p, double *l, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  size_t size = (size_t)p->n, bytes = sizeof(double) * size;
  double *scale = S2_TAKE(arena, double, size + 1);
  S2Mixed scaled = {p->n, 0, S2_TAKE(arena, double, size *size + 1),
                    S2_TAKE(arena, double, size + 1)};
  Active active = active_make(p, arena);
  s2_dense_single_threaded();
  const bool *no_pairs = S2_TAKE_ZEROED(arena, bool, size + 1);
  // First try the equilibrated matrix, which shows whether it is regular.
  double unit = s2_mixed_equilibrate(&scaled, scale, p, 0);
  active_prepare(&active, &scaled, no_pairs, true);
  bool regular = active.regular;
  memcpy(active.change, scaled.r, bytes);
  // If it is singular, solve in the original units, because the least norm depends on the units.
  if (!regular) { // least norm in the caller's units
    active_prepare(&active, p, no_pairs, true);
    active.regular = false;
    memcpy(active.change, p->r, bytes);
  }
  active_solve(&active);
  for (size_t i = 0; i < size; i++) {
    l[i] = regular ? unit * scale[i] * active.change[i] : active.change[i];
  }
  s2_arena_rewind(arena, mark);
  return regular;
}
