// Proofs that linear conditions contradict each other. There is always a point with the smallest
// violation in the least-squares sense. If its violations (p, t) are not zero, they are the proof:
//
//     min |p|^2 / 2 + |t|^2 / 2,   p = E u + C v + a,   D u + B v + b + t >= 0,   v >= 0
//
//     E' p - D' t = 0            (free u)
//     p - E u - C v - a = 0      (free p)
//     0 <= v _|_ C' p - B' t >= 0
//     0 <= t _|_ D u + B v + t + b >= 0     =>   a' p - b' t = |p|^2 + |t|^2
//
// This is a monotone mixed problem, which the interior-point method solves. With -p in place of p
// these are the conditions of Farkas' lemma.
#include "mcp/mixed/mixed.h"

#include <math.h>
#include <string.h>

// Smallest gain of a proof relative to its largest entry, in equilibrated conditions. Smaller gains
// may be rounding errors.
static const double LEAST_GAIN = 1e-9;
// Largest permitted error in the equations of a proof, as a fraction of its gain. Only a point that
// is larger than the data by the inverse of this fraction could satisfy the conditions in spite of
// the proof.
static const double LEAST_REACH = 1e-8;

enum { EQUILIBRATIONS = 8, MAX_ITERATIONS = 100 };

typedef struct Work {
  // Columns are u, then v. Rows are equations, then inequalities.
  int free, columns, equations, rows;
  double *k, *r; // [E C; D B] and (a, b), equilibrated
  double *row;   // row scales: k = row * original * column
} Work;

static double conditions_original(const S2Conditions *s, int i, int j) {
  bool equation = i < s->equations, is_free = j < s->free;
  const double *block = equation ? (is_free ? s->e : s->c) : (is_free ? s->d : s->b);
  int at_row = equation ? i : i - s->equations, at_column = is_free ? j : j - s->free;
  size_t width = (size_t)(is_free ? s->free : s->bounded);
  return block[(size_t)at_row * width + (size_t)at_column];
}

static Work conditions_make(const S2Conditions *s, S2Arena *arena) {
  Work w = {s->free, s->free + s->bounded, s->equations, s->equations + s->inequalities, NULL, NULL,
            NULL};
  size_t rows = (size_t)w.rows, columns = (size_t)w.columns;
  w.k = S2_TAKE(arena, double, rows *columns + 1);
  w.r = S2_TAKE(arena, double, rows + 1);
  w.row = S2_TAKE(arena, double, rows + 1);
  double *by_row = S2_TAKE(arena, double, rows + 1);
  double *by_column = S2_TAKE(arena, double, columns + 1);
  // Copy all conditions to one matrix.
  for (int i = 0; i < w.rows; i++) {
    w.row[i] = 1;
    for (int j = 0; j < w.columns; j++) {
      w.k[(size_t)i * columns + (size_t)j] = conditions_original(s, i, j);
    }
  }
  // Scale rows and columns by powers of two to a largest entry of about 1.
  for (int pass = 0; pass < EQUILIBRATIONS; pass++) {
    for (size_t i = 0; i < rows; i++) {
      by_row[i] = s2_half_inverse(s2_largest(w.k + i * columns, columns));
    }
    for (size_t j = 0; j < columns; j++) {
      double largest = 0;
      for (size_t i = 0; i < rows; i++) {
        largest = fmax(largest, fabs(w.k[i * columns + j]));
      }
      by_column[j] = s2_half_inverse(largest);
    }
    for (size_t i = 0; i < rows; i++) {
      w.row[i] *= by_row[i];
      for (size_t j = 0; j < columns; j++) {
        w.k[i * columns + j] *= by_row[i] * by_column[j];
      }
    }
  }
  // Scale the right side, too, so that tolerances are relative to the data.
  int exponent = 0;
  for (int i = 0; i < w.rows; i++) {
    w.r[i] = w.row[i] * (i < w.equations ? s->e_constant[i] : s->d_constant[i - w.equations]);
  }
  frexp(s2_largest(w.r, rows), &exponent);
  for (int i = 0; i < w.rows; i++) {
    w.r[i] = ldexp(w.r[i], -exponent);
  }
  return w;
}

// Builds the mixed problem of the least violation, with the unknowns (u, p, v, t).
static S2Mixed least_violation(const Work *w, S2Arena *arena) {
  int bounded = w->columns - w->free, inequalities = w->rows - w->equations;
  S2Mixed p = {w->free + w->equations, bounded + inequalities, NULL, NULL};
  size_t size = (size_t)s2_mixed_size(&p), columns = (size_t)w->columns;
  p.k = S2_TAKE_ZEROED(arena, double, size *size + 1);
  p.r = S2_TAKE_ZEROED(arena, double, size + 1);
  // A row of p or t has a diagonal entry and couples to the columns of its condition. Except for
  // the diagonal, K is skew-symmetric.
  for (int i = 0; i < w->rows; i++) {
    bool equation = i < w->equations;
    size_t at = (size_t)(equation ? w->free + i : p.n + bounded + i - w->equations);
    double sign = equation ? -1 : 1;
    p.k[at * size + at] = 1;
    p.r[at] = sign * w->r[i];
    for (int j = 0; j < w->columns; j++) {
      size_t other = (size_t)(j < w->free ? j : p.n + j - w->free);
      double entry = sign * w->k[(size_t)i * columns + (size_t)j];
      p.k[at * size + other] = entry;
      p.k[other * size + at] = -entry;
    }
  }
  return p;
}

// Returns true if y = (-p, t), scaled to a largest entry of 1, proves the conflict.
static bool conditions_proves(const Work *w, const double *y) {
  double gain = 0, miss = 0;
  // Compute gain = -r' y, and miss, the largest entry of K' y. For bounded unknowns only positive
  // entries count.
  for (int i = 0; i < w->rows; i++) {
    gain -= w->r[i] * y[i];
  }
  for (int j = 0; j < w->columns; j++) {
    double sum = 0;
    for (int i = 0; i < w->rows; i++) {
      sum += w->k[(size_t)i * (size_t)w->columns + (size_t)j] * y[i];
    }
    miss = fmax(miss, j < w->free ? fabs(sum) : sum);
  }
  return gain >= LEAST_GAIN && miss <= LEAST_REACH * gain;
}

bool s2_conditions_conflict(const S2Conditions *conditions, double *p, double *t, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  Work w = conditions_make(conditions, arena);
  bool proved = false;
  if (s2_all_finite(w.k, (size_t)w.rows * (size_t)w.columns) &&
      s2_all_finite(w.r, (size_t)w.rows)) {
    // Find the point of least violation.
    S2Mixed least = least_violation(&w, arena);
    double *x = S2_TAKE(arena, double, s2_mixed_size(&least) + 1);
    double *y = S2_TAKE(arena, double, w.rows + 1);
    s2_mixed_interior(&least, 0, MAX_ITERATIONS, NULL, x, arena);
    const double *violated = x + least.n + w.columns - w.free;
    // The violations of that point are the proof. Scale them to a largest entry of 1.
    for (int i = 0; i < w.rows; i++) {
      y[i] = i < w.equations ? -x[w.free + i] : violated[i - w.equations];
    }
    double largest = s2_largest(y, (size_t)w.rows);
    for (int i = 0; i < w.rows; i++) {
      y[i] /= largest > 0 ? largest : 1;
    }
    // Check the proof in equilibrated units, in which sizes are comparable.
    proved = s2_all_finite(y, (size_t)w.rows) && conditions_proves(&w, y);
    for (int i = 0; i < w.rows; i++) {
      y[i] *= w.row[i];
    }
    // Convert the proof to the caller's units.
    largest = s2_largest(y, (size_t)w.rows);
    for (int i = 0; i < w.rows && proved; i++) {
      *(i < w.equations ? &p[i] : &t[i - w.equations]) = y[i] / largest + 0.0; // avoids -0
    }
  }
  s2_arena_rewind(arena, mark);
  return proved;
}
