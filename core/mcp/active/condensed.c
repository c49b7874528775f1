#include "mcp/active/condensed.h"

#include "mcp/solvers.h"

#include <math.h>

// The largest number of equations for dense elimination. If joints are created in order along a
// chain, L has few nonzero entries, and only these are used.
enum { EQUATIONS_MOST = 96 };

// If elimination leaves at most this fraction of an equation's diagonal, the equation counts as
// linearly dependent. With larger pivots the entries of G have ten correct digits, and corrections
// supply the rest.
static const double REPEATS = 1e-6;

typedef struct Side { // one side of a row: the node, J and W^-1 J'
  int node;
  double j[3], push[3];
} Side;

static Side condensed_side_of(const S2Problem *problem, int node, const double *j) {
  Side side = {.node = node};
  for (int c = 0; c < 3 && node >= 0; c++) {
    side.j[c] = j[c];
    side.push[c] = j[c] / problem->mass[3 * node + c];
  }
  return side;
}

// Returns the velocity at side x per unit impulse at side y.
static double side_sees(const Side *x, const Side *y) {
  return x->node >= 0 && x->node == y->node
             ? x->j[0] * y->push[0] + x->j[1] * y->push[1] + x->j[2] * y->push[2]
             : 0;
}

// Returns an entry of J W^-1 J'. `x` and `y` each point to the two sides of a row.
static double condensed_sees(const Side *x, const Side *y) {
  return side_sees(x, y) + side_sees(x, y + 1) + side_sees(x + 1, y) + side_sees(x + 1, y + 1);
}

static bool condensed_is_equation(const S2Row *row) {
  return row->coupled_to < 0 && row->lo == -INFINITY && row->hi == INFINITY;
}

// Adds the row of L D L' for equation `next` of the problem. Returns false and adds nothing if the
// equation depends linearly on the equations before it.
static bool condensed_add_equation(S2Condensed *to, const Side *sides, int next) {
  const S2Problem *problem = to->problem;
  int i = to->equations;
  double *row = to->l + (size_t)i * EQUATIONS_MOST;
  double diagonal =
      condensed_sees(sides + 2 * next, sides + 2 * next) + problem->row[next].compliance;
  double left = diagonal;
  int reach = i;
  for (int j = 0; j < i; j++) {
    row[j] = condensed_sees(sides + 2 * next, sides + 2 * to->equation[j]);
    reach = row[j] != 0 && reach == i ? j : reach;
  }
  // row[j] first holds L_ij D_j. It becomes L_ij once no later column needs L_ij D_j.
  for (int j = reach; j < i; j++) {
    const double *other = to->l + (size_t)j * EQUATIONS_MOST;
    for (int c = to->reach[j] > reach ? to->reach[j] : reach; c < j; c++) {
      row[j] -= row[c] * other[c];
    }
  }
  for (int j = reach; j < i; j++) {
    double with_d = row[j];
    row[j] *= to->d[j];
    left -= with_d * row[j];
  }
  if (!(left > REPEATS * diagonal)) {
    return false;
  }
  to->reach[i] = reach;
  to->d[i] = 1 / left;
  to->equation[to->equations++] = next;
  return true;
}

// Computes z, which is L^-1 times the column of B for row k.
static void reduce_row(S2Condensed *to, const Side *sides, int k) {
  double *z = to->z + (size_t)k * (size_t)to->equations;
  const Side *of = sides + 2 * to->row[k];
  int reach = to->equations;
  for (int i = 0; i < to->equations; i++) {
    z[i] = condensed_sees(of, sides + 2 * to->equation[i]);
    reach = z[i] != 0 && reach == to->equations ? i : reach;
  }
  to->z_reach[k] = reach;
  for (int i = reach; i < to->equations; i++) {
    const double *l = to->l + (size_t)i * EQUATIONS_MOST;
    for (int c = to->reach[i] > reach ? to->reach[i] : reach; c < i; c++) {
      z[i] -= l[c] * z[c];
    }
  }
}

static void fill_matrix(S2Condensed *to, const Side *sides) {
  int n = to->rows, m = to->equations;
  for (int k = 0; k < n; k++) {
    const double *z = to->z + (size_t)k * (size_t)m;
    for (int l = 0; l <= k; l++) {
      const double *y = to->z + (size_t)l * (size_t)m;
      double entry = condensed_sees(sides + 2 * to->row[k], sides + 2 * to->row[l]);
      entry += k == l ? to->problem->row[to->row[k]].compliance : 0;
      int from = to->z_reach[k] > to->z_reach[l] ? to->z_reach[k] : to->z_reach[l];
      for (int c = from; c < m; c++) {
        entry -= z[c] * to->d[c] * y[c];
      }
      entry /= to->root[to->row[k]] * to->root[to->row[l]];
      to->g[k * n + l] = entry;
      to->g[l * n + k] = entry;
    }
  }
}

// Returns the sides of all rows and writes the square roots of the Delassus diagonal to `root`.
// Returns NULL if one of these roots or a mass is not finite and positive.
static Side *take_sides(const S2Problem *problem, double *root, S2Arena *arena) {
  bool good = true;
  for (int i = 0; i < 3 * problem->nodes; i++) {
    good &= problem->mass[i] > 0;
  }
  Side *sides = S2_TAKE(arena, Side, 2 * problem->rows);
  for (int i = 0; i < problem->rows && good; i++) {
    const S2Row *row = &problem->row[i];
    sides[2 * i] = condensed_side_of(problem, row->a, row->ja);
    sides[2 * i + 1] = condensed_side_of(problem, row->b, row->jb);
    double w = condensed_sees(sides + 2 * i, sides + 2 * i) + row->compliance;
    root[i] = sqrt(w);
    good = w > 0 && isfinite(w);
  }
  return good ? sides : NULL;
}

bool s2_condense(S2Condensed *condensed, const S2Problem *problem, int most, S2Arena *arena) {
  int equations = 0, rows = problem->rows;
  for (int i = 0; i < rows; i++) {
    equations += condensed_is_equation(&problem->row[i]);
  }
  double *root = S2_TAKE(arena, double, rows);
  *condensed = (S2Condensed){.problem = problem, .root = root};
  if (problem->mass == NULL || equations > EQUATIONS_MOST || rows - equations > most) {
    return false;
  }
  const Side *sides = take_sides(problem, root, arena);
  if (sides == NULL) {
    return false;
  }
  size_t square = (size_t)equations * EQUATIONS_MOST;
  condensed->equation = S2_TAKE(arena, int, equations);
  condensed->reach = S2_TAKE(arena, int, equations);
  condensed->d = S2_TAKE(arena, double, equations);
  condensed->l = S2_TAKE(arena, double, square);
  condensed->row = S2_TAKE(arena, int, rows);
  // Equations that are nearly linearly dependent are kept as rows.
  for (int i = 0; i < rows; i++) {
    if (!condensed_is_equation(&problem->row[i]) || !condensed_add_equation(condensed, sides, i)) {
      condensed->row[condensed->rows++] = i;
    }
  }
  size_t n = (size_t)condensed->rows;
  condensed->z_reach = S2_TAKE(arena, int, n);
  condensed->z = S2_TAKE(arena, double, n *(size_t)condensed->equations);
  condensed->g = S2_TAKE(arena, double, n *n);
  for (int k = 0; k < condensed->rows; k++) {
    reduce_row(condensed, sides, k);
  }
  fill_matrix(condensed, sides);
  return true;
}

void s2_condensed_forward(const S2Condensed *condensed, double *e) {
  for (int i = 0; i < condensed->equations; i++) {
    const double *l = condensed->l + (size_t)i * EQUATIONS_MOST;
    for (int c = condensed->reach[i]; c < i; c++) {
      e[i] -= l[c] * e[c];
    }
  }
}

void s2_condensed_back(const S2Condensed *condensed, double *e) {
  for (int i = 0; i < condensed->equations; i++) {
    e[i] *= condensed->d[i];
  }
  for (int i = condensed->equations - 1; i >= 0; i--) {
    const double *l = condensed->l + (size_t)i * EQUATIONS_MOST;
    for (int c = condensed->reach[i]; c < i; c++) {
      e[c] -= l[c] * e[i];
    }
  }
}

void s2_condensed_speeds(const S2Problem *problem, const double *lambda, double *v, double *u) {
  s2_mcp_velocity(problem, lambda, v);
  s2_mcp_row_velocity(problem, v, u);
  for (int i = 0; i < problem->rows; i++) {
    u[i] += problem->row[i].compliance * lambda[i] + problem->row[i].bias;
  }
}
