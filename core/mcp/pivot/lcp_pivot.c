// Lemke's method on a condensed dictionary.
//
// The dictionary expresses the n basic variables in terms of the n + 1 nonbasic variables, x_i =
// value_i + sum_j t_ij y_j. A pivot exchanges a basic and a nonbasic variable in place (Jordan
// exchange). The first dictionary is w = q + M z + d z_0.
//
// Lexicographic rule: perturb q by (e, e^2, ..., e^n), e -> 0. Then w_k acts like w_k - e^k. In the
// perturbed value of row i, the coefficient of e^k is -t_ij if w_k is the nonbasic variable of
// column j. It is 1 if w_k is the basic variable of row i. No copy of the inverse basis is needed.
#include "mcp/pivot/lcp_pivot.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
  ROW_ALIGNMENT = 8,   // doubles per cache line; each row of the dictionary starts at a cache line
  REFRESH_LEAST = 64,  // minimum number of pivots between refreshes
  PIVOTS_PER_ROW = 60, // limit of pivots; Lemke usually takes n to 4 n
  PIVOTS_LEAST = 4000,
  CAREFUL_REFRESH = 8,
};

// Entries up to this value count as 0. Entries of M are about 1. If an entry is exactly 0, rounding
// leaves 1e-16 times a growth factor of up to 1e3. Nonzero entries of step problems can be as small
// as the mass ratio, about 1e-7.
static const double PIVOT_ZERO = 1e-12;

static const double CAREFUL_ZERO = 1e-14;

// A basic variable x is tied if it is within this fraction of 1 + |x| of 0 after the step.
static const double TIE = 1e-12;

typedef struct Dictionary {
  int n, stride;
  // n rows. Columns 0..n belong to the nonbasic variables, and column n + 1 is the value.
  double *t;
  int *basic;    // variable of each row: z_i is i, w_i is n + i, z_0 is 2 n
  int *nonbasic; // variable of each column
  int *place;    // for each variable: its row, or n + its column
  double *ratio; // n, scratch for the ratio test
  int *tied;     // n, likewise
} Dictionary;

static double *lemke_row_of(const Dictionary *d, int row) {
  return d->t + (size_t)row * (size_t)d->stride;
}

static double *value_of(const Dictionary *d, int row) {
  return lemke_row_of(d, row) + d->n + 1;
}

static bool is_basic(const Dictionary *d, int variable) {
  return d->place[variable] < d->n;
}

static int column_of(const Dictionary *d, int variable) {
  return d->place[variable] - d->n;
}

static int complement_of(const Dictionary *d, int variable) {
  return variable < d->n ? variable + d->n : variable - d->n;
}

static Dictionary dictionary_take(int n, S2Arena *arena) {
  int stride = (n + 2 + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
  return (Dictionary){
      .n = n,
      .stride = stride,
      .t = S2_TAKE_ZEROED(arena, double, (size_t)n *(size_t)stride),
      .basic = S2_TAKE(arena, int, n),
      .nonbasic = S2_TAKE(arena, int, n + 1),
      .place = S2_TAKE(arena, int, 2 * n + 1),
      .ratio = S2_TAKE(arena, double, n),
      .tied = S2_TAKE(arena, int, n),
  };
}

static void dictionary_start(Dictionary *d, const double *m, const double *q, const double *cover) {
  int n = d->n;
  // Write w = q + M z + d z_0, where the w are basic and z and z_0 are nonbasic.
  for (int i = 0; i < n; ++i) {
    double *row = lemke_row_of(d, i);
    memcpy(row, m + (size_t)i * (size_t)n, sizeof(double) * (size_t)n);
    row[n] = cover[i];
    row[n + 1] = q[i];
    d->basic[i] = n + i;
    d->place[n + i] = i;
    d->nonbasic[i] = i;
    d->place[i] = n + i;
  }
  d->nonbasic[n] = 2 * n;
  d->place[2 * n] = 2 * n;
}

static void lemke_exchange(Dictionary *d, int r, int s) {
  // Solve the pivot row for the entering variable.
  int width = d->n + 2;
  double *restrict pivot_row = lemke_row_of(d, r);
  double inverse = 1 / pivot_row[s];
  for (int j = 0; j < width; ++j) {
    pivot_row[j] *= -inverse;
  }
  pivot_row[s] = inverse;
  // Substitute this variable in all other rows: t_ij += t_is t_rj.
  for (int i = 0; i < d->n; ++i) {
    double *restrict row = lemke_row_of(d, i);
    double factor = row[s];
    if (i == r || factor == 0) {
      continue;
    }
    row[s] = 0;
    for (int j = 0; j < width; ++j) {
      row[j] += factor * pivot_row[j];
    }
  }
  // Exchange the two variables.
  int leaving = d->basic[r], entering = d->nonbasic[s];
  d->basic[r] = entering;
  d->place[entering] = r;
  d->nonbasic[s] = leaving;
  d->place[leaving] = d->n + s;
}

// Recomputes the dictionary of the current basis from M. It exchanges the variables that have
// entered and left the basis, each time with the largest pivot. Returns false if the basis is
// numerically singular. The dictionary is then unusable.
static bool lemke_refresh(Dictionary *d, const double *m, const double *q, const double *cover,
                          double zero, S2Arena *arena) {
  // List all z and z_0 that are basic, and all w that are nonbasic. Both lists have the same
  // length.
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = d->n, entering_count = 0, leaving_count = 0;
  int *entering = S2_TAKE(arena, int, n + 1), *leaving = S2_TAKE(arena, int, n + 1);
  for (int i = 0; i < n; ++i) {
    if (is_basic(d, i)) {
      entering[entering_count++] = i;
    }
    if (!is_basic(d, n + i)) {
      leaving[leaving_count++] = n + i;
    }
  }
  if (is_basic(d, 2 * n)) {
    entering[entering_count++] = 2 * n;
  }
  assert(entering_count == leaving_count);
  // Start from M, which discards the rounding errors of all exchanges.
  dictionary_start(d, m, q, cover);
  bool regular = true;
  // Repeatedly pivot on the largest entry between variables that must enter and variables that must
  // leave.
  for (int count = entering_count; count > 0 && regular; --count) {
    int best_in = 0, best_out = 0;
    double best = 0;
    for (int o = 0; o < count; ++o) {
      const double *row = lemke_row_of(d, d->place[leaving[o]]);
      for (int e = 0; e < count; ++e) {
        double size = fabs(row[column_of(d, entering[e])]);
        if (size > best) {
          best = size;
          best_in = e;
          best_out = o;
        }
      }
    }
    regular = best > zero;
    if (regular) {
      lemke_exchange(d, d->place[leaving[best_out]], column_of(d, entering[best_in]));
      entering[best_in] = entering[count - 1];
      leaving[best_out] = leaving[count - 1];
    }
  }
  s2_arena_rewind(arena, mark);
  return regular;
}

// Returns the coefficient of e^(k+1) in the perturbed value of a row.
static double lemke_perturbation(const Dictionary *d, int row, int k) {
  int w = d->n + k;
  if (is_basic(d, w)) {
    return d->place[w] == row ? 1 : 0;
  }
  return -lemke_row_of(d, row)[column_of(d, w)];
}

// Keeps the tied rows with the smallest quotient of the e^(k+1) coefficient and the rate of
// descent.
static int thin_ties(Dictionary *d, int tied, int s, double sign, int k) {
  double least = INFINITY, largest = 0;
  // Divide the coefficients of e^(k+1) by the rate at which the row falls.
  for (int c = 0; c < tied; ++c) {
    int i = d->tied[c];
    d->ratio[c] = lemke_perturbation(d, i, k) / (-sign * lemke_row_of(d, i)[s]);
    least = fmin(least, d->ratio[c]);
    largest = fmax(largest, fabs(d->ratio[c]));
  }
  // Rows that differ from the smallest quotient only by rounding are kept for the next power of e.
  int kept = 0;
  for (int c = 0; c < tied; ++c) {
    if (d->ratio[c] <= least + TIE * largest) {
      d->tied[kept++] = d->tied[c];
    }
  }
  return kept;
}

// Returns the row whose variable leaves when column s enters, or -1 on a ray. If sign is 1, the
// entering variable grows until the first basic variable reaches 0. sign is -1 for the first pivot:
// z_0 falls from infinity until the first row would become negative.
static int lemke_leaving_row(Dictionary *d, int s, double sign, double zero) {
  int n = d->n;
  double largest = 0;
  for (int i = 0; i < n; ++i) {
    largest = fmax(largest, fabs(lemke_row_of(d, i)[s]));
  }
  // Treat smaller entries of the entering column as zeros.
  double threshold = zero * fmax(1, largest);
  // Find the range of the variable: the smallest ratio of value to slope.
  double least = INFINITY;
  for (int i = 0; i < n; ++i) {
    double slope = sign * lemke_row_of(d, i)[s];
    if (slope < -threshold) {
      // Except at the first pivot, only rounding makes values negative.
      double value = sign > 0 ? fmax(0, *value_of(d, i)) : *value_of(d, i);
      least = fmin(least, value / -slope);
    }
  }
  if (least == INFINITY) {
    return -1;
  }
  // List all rows that limit the variable, up to rounding.
  int tied = 0;
  for (int i = 0; i < n; ++i) {
    double slope = sign * lemke_row_of(d, i)[s], value = *value_of(d, i);
    if (slope < -threshold && value + slope * least <= TIE * (1 + fabs(value))) {
      if (d->basic[i] == 2 * n) {
        return i; // z_0 can reach 0, which gives a solution even if other rows are tied
      }
      d->tied[tied++] = i;
    }
  }
  // Choose one of the tied rows by successive powers of e, which prevents cycling.
  for (int k = 0; k < n && tied > 1; ++k) {
    tied = thin_ties(d, tied, s, sign, k);
  }
  return d->tied[0];
}

static void lemke_read_point(const Dictionary *d, double *z, bool *basic) {
  for (int i = 0; i < d->n; ++i) {
    basic[i] = is_basic(d, i);
    z[i] = basic[i] ? fmax(0, *value_of(d, d->place[i])) : 0;
  }
}

// Records the history. This costs as much as a pivot, so it is done only on request.
static void lemke_record(S2History *history, const Dictionary *d, const double *m, const double *q,
                         double cover) {
  int n = d->n;
  double residual = 0;
  // Compute the largest |min(z, w)|, with w = M z + q for the basic z.
  for (int i = 0; i < n; ++i) {
    double w = q[i], z = is_basic(d, i) ? fmax(0, *value_of(d, d->place[i])) : 0;
    for (int j = 0; j < n; ++j) {
      if (is_basic(d, j)) {
        w += m[(size_t)i * (size_t)n + (size_t)j] * fmax(0, *value_of(d, d->place[j]));
      }
    }
    residual = fmax(residual, fabs(fmin(z, w)));
  }
  s2_history_add(history, residual, 1, cover);
}

static void read_ray(const Dictionary *d, int s, double *ray, double *ray_cover) {
  int n = d->n;
  double cover = 0, largest = 0;
  // Along the ray, basic variables change by column s, and the entering variable changes by 1.
  for (int i = 0; i <= 2 * n; ++i) {
    double rate =
        is_basic(d, i) ? fmax(0, lemke_row_of(d, d->place[i])[s]) : (column_of(d, i) == s);
    if (i < n && ray != NULL) {
      ray[i] = rate;
    }
    if (i < n) {
      largest = fmax(largest, rate);
    }
    if (i == 2 * n) {
      cover = rate;
    }
  }
  // Normalise the ray to a largest z of 1.
  double scale = largest > 0 ? 1 / largest : 1;
  for (int i = 0; i < n && ray != NULL; ++i) {
    ray[i] *= scale;
  }
  if (ray_cover != NULL) {
    *ray_cover = cover * scale;
  }
}

S2LcpPivoting s2_lcp_pivoting_default(int n, const double *ones) {
  int per_rows = PIVOTS_PER_ROW * n;
  return (S2LcpPivoting){
      .max_pivots = per_rows > PIVOTS_LEAST ? per_rows : PIVOTS_LEAST,
      .refresh = REFRESH_LEAST + 2 * n,
      .zero = PIVOT_ZERO,
      .cover = ones,
  };
}

void s2_lcp_pivoting_careful(S2LcpPivoting *pivoting) {
  pivoting->refresh = CAREFUL_REFRESH;
  pivoting->zero = CAREFUL_ZERO;
}

S2SolveStatus s2_lcp_pivot(int n, const double *m, const double *q, double *z, bool *basic,
                           double *ray, double *ray_cover, const S2LcpPivoting *pivoting,
                           S2Arena *arena, int *pivots) {
  // z = 0 is a solution if no q_i is negative.
  bool solved = true;
  for (int i = 0; i < n; ++i) {
    solved = solved && q[i] >= 0;
    z[i] = 0;
    basic[i] = false;
  }
  *pivots = 0;
  if (solved) {
    return S2_SOLVED;
  }
  // z_0 enters first, with the smallest value that makes all w >= 0.
  S2ArenaMark mark = s2_arena_mark(arena);
  Dictionary d = dictionary_take(n, arena);
  dictionary_start(&d, m, q, pivoting->cover);
  S2SolveStatus status = S2_MAX_ITERATIONS;
  double least = INFINITY; // smallest z_0
  int entering = 2 * n;
  int row = lemke_leaving_row(&d, n, -1, 0);
  while (*pivots < pivoting->max_pivots) {
    // If no row limits the entering variable, the path ends on a ray.
    int s = column_of(&d, entering);
    if (row < 0) {
      status = S2_RAY;
      read_ray(&d, s, ray, ray_cover);
      break;
    }
    // Exchange the variables. z_0 is the remaining violation.
    int leaving = d.basic[row];
    lemke_exchange(&d, row, s);
    *pivots += 1;
    double cover = is_basic(&d, 2 * n) ? fmax(0, *value_of(&d, d.place[2 * n])) : 0;
    if (pivoting->history != NULL) {
      lemke_record(pivoting->history, &d, m, q, cover);
    }
    // The best vertex has the smallest z_0.
    if (leaving == 2 * n || cover < least) {
      least = cover;
      lemke_read_point(&d, z, basic);
    }
    if (leaving == 2 * n) {
      status = S2_SOLVED;
      break;
    }
    if (*pivots % pivoting->refresh == 0 &&
        !lemke_refresh(&d, m, q, pivoting->cover, pivoting->zero, arena)) {
      status = S2_SINGULAR;
      break;
    }
    // The complement of the leaving variable enters next, so z and w of a pair are never both
    // basic.
    entering = complement_of(&d, leaving);
    row = lemke_leaving_row(&d, column_of(&d, entering), 1, pivoting->zero);
  }
  s2_arena_rewind(arena, mark);
  return status;
}
