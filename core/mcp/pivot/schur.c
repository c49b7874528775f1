#include "mcp/pivot/schur.h"

#include "linalg/double2.h"
#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

// A row is redundant if elimination reduces its scaled diagonal, which is 1 at first, below this
// limit. The diagonal of an independent row is usually at least the mass ratio (about 1e-7), and
// smaller only across several links. The diagonal of a redundant row is a rounding error, about
// 1e-15. With twice the digits, it is as small as the squared rounding errors of the Jacobians.
static const double REDUNDANT = 1e-11;
static const double REDUNDANT_PRECISE = 1e-18;

double s2_schur_redundant(bool precise) {
  return precise ? REDUNDANT_PRECISE : REDUNDANT;
}

bool s2_schur_is_bilateral(const S2Row *row) {
  return row->coupled_to < 0 && row->lo == -INFINITY;
}

S2Schur s2_schur_assemble(const S2Problem *problem, S2Arena *arena) {
  int rows = problem->rows;
  size_t square = (size_t)rows * (size_t)rows;
  S2Schur schur = {
      .rows = rows,
      .g = S2_TAKE(arena, double, square),
      .q = S2_TAKE(arena, double, rows),
      .scale = S2_TAKE(arena, double, rows),
      .s = S2_TAKE(arena, double, square),
      .left = S2_TAKE(arena, double, rows),
      .pivoted = S2_TAKE_ZEROED(arena, bool, rows),
  };
  // Compute G = J W^-1 J' + C, which is symmetric except in the local form.
  for (int i = 0; i < rows; ++i) {
    for (int j = i; j < rows; ++j) {
      const S2Row *x = &problem->row[i], *y = &problem->row[j];
      double entry = s2_mcp_delassus(problem, x, y) + (i == j ? x->compliance : 0);
      schur.g[i * rows + j] = schur.g[j * rows + i] = entry;
      if (problem->mobility != NULL && i != j) {
        schur.g[j * rows + i] = s2_mcp_delassus(problem, y, x);
      }
    }
  }
  // Compute q = J W^-1 c + b, the velocities of the rows without impulses.
  S2ArenaMark mark = s2_arena_mark(arena);
  double *v = S2_TAKE(arena, double, 3 * problem->nodes);
  double *none = S2_TAKE_ZEROED(arena, double, rows);
  s2_mcp_velocity(problem, none, v);
  s2_mcp_row_velocity(problem, v, schur.q);
  s2_arena_rewind(arena, mark);
  // Scale to a unit diagonal.
  for (int i = 0; i < rows; ++i) {
    double diagonal = schur.g[i * rows + i];
    schur.scale[i] = diagonal > 0 ? 1 / sqrt(diagonal) : 1;
    schur.q[i] = (schur.q[i] + problem->row[i].bias) * schur.scale[i];
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < rows; ++j) {
      schur.g[i * rows + j] *= schur.scale[i] * schur.scale[j];
    }
  }
  return schur;
}

// Returns the bilateral row with the largest diagonal of s that is not yet eliminated, or -1 if no
// diagonal is above `redundant`.
static int find_pivot(const S2Schur *schur, const S2Problem *problem, const double *diagonal,
                      double redundant) {
  int pivot = -1;
  double largest = redundant;
  for (int i = 0; i < schur->rows; ++i) {
    bool open = s2_schur_is_bilateral(&problem->row[i]) && !schur->pivoted[i];
    if (open && diagonal[i] > largest) {
      largest = diagonal[i];
      pivot = i;
    }
  }
  return pivot;
}

static void schur_eliminate(S2Schur *schur, const S2Problem *problem, S2Arena *arena) {
  int rows = schur->rows;
  double *diagonal = S2_TAKE(arena, double, rows);
  memcpy(schur->s, schur->g, sizeof(double) * (size_t)rows * (size_t)rows);
  memcpy(schur->left, schur->q, sizeof(double) * (size_t)rows);
  // Repeatedly eliminate the joint row with the largest remaining diagonal from all remaining rows.
  for (int done = 0; done < rows; ++done) {
    for (int i = 0; i < rows; ++i) {
      diagonal[i] = schur->s[i * rows + i];
    }
    int pivot = find_pivot(schur, problem, diagonal, REDUNDANT);
    if (pivot < 0) {
      break;
    }
    schur->pivoted[pivot] = true;
    // s_i -= (s_ip / s_pp) s_p, including the right side.
    const double *restrict pivot_row = schur->s + pivot * rows;
    for (int i = 0; i < rows; ++i) {
      double *restrict row = schur->s + i * rows;
      if (schur->pivoted[i] || row[pivot] == 0) {
        continue;
      }
      double factor = row[pivot] / pivot_row[pivot];
      for (int j = 0; j < rows; ++j) {
        row[j] -= factor * pivot_row[j];
      }
      schur->left[i] -= factor * schur->left[pivot];
    }
  }
}

static S2Double2 precise_weighted(const double *j, const double *mass, const double *k) {
  S2Double2 sum = {0, 0};
  for (int l = 0; l < 3; ++l) {
    S2Double2 product = s2_double2_product(j[l], k[l]);
    sum = s2_double2_add(sum, s2_double2_divide(product, (S2Double2){mass[l], 0}));
  }
  return sum;
}

S2Double2 s2_schur_precise(const S2Problem *problem, const S2Row *x, const S2Row *y) {
  S2Double2 sum = {0, 0};
  for (int side = 0; side < 4; ++side) {
    int node = side < 2 ? x->a : x->b, other = side % 2 == 0 ? y->a : y->b;
    if (node >= 0 && node == other) {
      sum = s2_double2_add(sum, precise_weighted(side < 2 ? x->ja : x->jb, problem->mass + 3 * node,
                                                 side % 2 == 0 ? y->ja : y->jb));
    }
  }
  return sum;
}

static S2Double2 precise_free_velocity(const S2Problem *problem, const S2Row *row) {
  S2Double2 sum = {row->bias, 0};
  if (row->a >= 0) {
    sum = s2_double2_add(
        sum, precise_weighted(row->ja, problem->mass + 3 * row->a, problem->rhs + 3 * row->a));
  }
  if (row->b >= 0) {
    sum = s2_double2_add(
        sum, precise_weighted(row->jb, problem->mass + 3 * row->b, problem->rhs + 3 * row->b));
  }
  return sum;
}

static void eliminate_precisely(S2Schur *schur, const S2Problem *problem, S2Arena *arena) {
  int rows = schur->rows, width = rows + 1;
  double *diagonal = S2_TAKE(arena, double, rows);
  S2Double2 *s = S2_TAKE(arena, S2Double2, (size_t)rows * (size_t)width); // q is the last column.
  // Compute G and q again, with twice the digits in all operations.
  for (int i = 0; i < rows; ++i) {
    for (int j = i; j < rows; ++j) {
      S2Double2 entry = s2_schur_precise(problem, &problem->row[i], &problem->row[j]);
      if (i == j) {
        entry = s2_double2_add(entry, (S2Double2){problem->row[i].compliance, 0});
      }
      s[i * width + j] = s[j * width + i] = entry;
    }
    s[i * width + rows] = precise_free_velocity(problem, &problem->row[i]);
  }
  // Eliminate as in double precision. The sizes of pivots are compared after scaling.
  for (int done = 0; done < rows; ++done) {
    // Scale the diagonal and convert it to doubles.
    for (int i = 0; i < rows; ++i) {
      diagonal[i] = s[i * width + i].hi * schur->scale[i] * schur->scale[i];
    }
    int pivot = find_pivot(schur, problem, diagonal, REDUNDANT_PRECISE);
    if (pivot < 0) {
      break;
    }
    schur->pivoted[pivot] = true;
    const S2Double2 *pivot_row = s + pivot * width;
    for (int i = 0; i < rows; ++i) {
      S2Double2 *row = s + i * width;
      if (schur->pivoted[i] || row[pivot].hi == 0) {
        continue;
      }
      S2Double2 factor = s2_double2_negate(s2_double2_divide(row[pivot], pivot_row[pivot]));
      for (int j = 0; j < width; ++j) {
        row[j] = s2_double2_add(row[j], s2_double2_multiply(factor, pivot_row[j]));
      }
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < rows; ++j) {
      schur->s[i * rows + j] = s[i * width + j].hi * schur->scale[i] * schur->scale[j];
    }
    schur->left[i] = s[i * width + rows].hi * schur->scale[i];
  }
}

void s2_schur_eliminate(S2Schur *schur, const S2Problem *problem, bool precise, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  memset(schur->pivoted, 0, sizeof(bool) * (size_t)schur->rows);
  if (precise && problem->mobility == NULL) {
    eliminate_precisely(schur, problem, arena);
  } else {
    schur_eliminate(schur, problem, arena);
  }
  s2_arena_rewind(arena, mark);
}
