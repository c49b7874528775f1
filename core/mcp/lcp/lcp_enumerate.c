// Enumeration: the problem is solvable exactly when, for at least one of the 2^n sets A, the system
//
//     M_iA z_A + q_i = 0 (i in A),   M_iA z_A + q_i >= 0 (i not in A),   z_A >= 0
//
// has a solution. Each is a small system of linear inequalities, decided by the first phase of the
// simplex method with Bland's rule, which does not depend on a regular basis. This file shares no
// code with the other methods, because their tests compare with it.
#include "mcp/lcp/lcp_stages.h"

#include <math.h>

enum {
  N = S2_LCP_ENUMERATE_MAX,
  PASSES = 8,        // of scaling; each halves the spread's logarithm
  WIDTH = N + 1,     // columns z_j (in A) or w_j (not in A), and the right side
  ARTIFICIAL = N,    // basic variables from here on
  PIVOTS_MAX = 2000, // Bland's rule ends long before; a guard against rounding
};

static const double ZERO = 1e-12; // entries of the tableau, relative to 1
// entries between this and ZERO may be significant: nothing is proved
static const double NOISE = 1e-13;
static const double FEASIBLE = 1e-9; // sum of infeasibilities, relative to 1
static const double DOUBT = 1e-7;    // up to this nothing is proved either way

typedef struct Tableau {
  int n;
  double m[N][N], q[N];   // scaled
  double column[N], unit; // z = column unit scaled z
  double a[N][WIDTH];     // the tableau
  double cost[WIDTH];     // sum of the rows of artificial variables
  bool doubtful;          // a neglected entry may be significant
  int basic[N];           // variable of a row: column, or ARTIFICIAL + row
} Tableau;

// The power of two, which rounds nothing, next to 1 / sqrt of the largest entry of a row or column.
static double factor_of(const Tableau *t, bool of_row, int i) {
  double largest = 0;
  for (int j = 0; j < t->n; ++j) {
    largest = fmax(largest, fabs(of_row ? t->m[i][j] : t->m[j][i]));
  }
  return largest > 0 ? exp2(-floor(log2(largest) / 2)) : 1;
}

// Makes the largest entries of rows and columns about 1, whatever units they had.
static void enumerate_scale(Tableau *t, const S2LcpProblem *problem) {
  int n = problem->n;
  double row[N], column[N];
  t->n = n;
  t->unit = 0;
  for (int i = 0; i < n; ++i) {
    t->q[i] = problem->q[i];
    t->column[i] = 1;
    for (int j = 0; j < n; ++j) {
      t->m[i][j] = problem->m[i * n + j];
    }
  }
  // Roots of the largest entries of rows and columns, several times.
  for (int pass = 0; pass < PASSES; ++pass) {
    // A right side of size 1.
    for (int i = 0; i < n; ++i) {
      row[i] = factor_of(t, true, i);
      column[i] = factor_of(t, false, i);
    }
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        t->m[i][j] *= row[i] * column[j];
      }
      t->q[i] *= row[i];
      t->column[i] *= column[i];
    }
  }
  for (int i = 0; i < n; ++i) {
    t->unit = fmax(t->unit, -t->q[i]); // rows with q_i > 0 require nothing
  }
  for (int i = 0; i < n && t->unit > 0; ++i) {
    t->q[i] /= t->unit;
  }
}

// M_iA z_A - w_i = -q_i, with the sign that makes the right side >= 0; w_i is basic where possible.
static void enumerate_fill(Tableau *t, unsigned set) {
  int n = t->n;
  for (int j = 0; j <= n; ++j) {
    t->cost[j] = 0;
  }
  // Column j is z_j where j is in the set, else w_j.
  for (int i = 0; i < n; ++i) {
    bool inside = (set >> i & 1) != 0, turned = t->q[i] >= 0;
    double sign = turned ? -1 : 1;
    for (int j = 0; j < n; ++j) {
      t->a[i][j] = (set >> j & 1) != 0 ? sign * t->m[i][j] : 0;
    }
    if (!inside) {
      t->a[i][i] = -sign;
    }
    // w_i can be the first basic variable where q_i >= 0; other rows get an artificial one.
    t->a[i][n] = fabs(t->q[i]);
    t->basic[i] = !inside && turned ? i : ARTIFICIAL + i;
    for (int j = 0; j <= n && t->basic[i] >= ARTIFICIAL; ++j) {
      t->cost[j] += t->a[i][j];
    }
  }
}

static void enumerate_pivot(Tableau *t, int row, int column) {
  double inverse = 1 / t->a[row][column];
  for (int j = 0; j <= t->n; ++j) {
    t->a[row][j] *= inverse;
  }
  t->a[row][column] = 1;
  // The column becomes a unit vector.
  for (int i = 0; i < t->n; ++i) {
    double factor = t->a[i][column];
    if (i == row || factor == 0) {
      continue;
    }
    for (int j = 0; j <= t->n; ++j) {
      t->a[i][j] -= factor * t->a[row][j];
    }
    t->a[i][column] = 0;
  }
  // The cost is the sum of the rows that still have their artificial variable.
  t->basic[row] = column;
  for (int j = 0; j <= t->n; ++j) {
    t->cost[j] = 0;
    for (int i = 0; i < t->n; ++i) {
      t->cost[j] += t->basic[i] >= ARTIFICIAL ? t->a[i][j] : 0;
    }
  }
}

// The row with the smallest ratio; among equal ratios, the row of the first variable (Bland's
// rule).
static int enumerate_leaving_row(Tableau *t, int column) {
  int best = -1;
  double least = INFINITY;
  for (int i = 0; i < t->n; ++i) {
    t->doubtful = t->doubtful || (t->a[i][column] > NOISE && t->a[i][column] <= ZERO);
    if (t->a[i][column] > ZERO) {
      double ratio = fmax(0, t->a[i][t->n]) / t->a[i][column];
      if (ratio < least - ZERO ||
          (best >= 0 && ratio <= least + ZERO && t->basic[i] < t->basic[best])) {
        least = fmin(least, ratio);
        best = i;
      }
    }
  }
  return best;
}

// The remaining sum of infeasibilities.
static double first_phase(Tableau *t) {
  for (int count = 0; count < PIVOTS_MAX; ++count) {
    // Bland: the first column that lowers the cost, the first row among the least ratios.
    int entering = 0;
    while (entering < t->n && !(t->cost[entering] > ZERO)) {
      t->doubtful = t->doubtful || t->cost[entering] > NOISE;
      ++entering;
    }
    int row = entering < t->n ? enumerate_leaving_row(t, entering) : -1;
    if (row < 0) {
      return t->cost[t->n];
    }
    enumerate_pivot(t, row, entering);
  }
  return DOUBT;
}

static void enumerate_read_point(const Tableau *t, unsigned set, double *z) {
  for (int j = 0; j < t->n; ++j) {
    z[j] = 0;
  }
  for (int i = 0; i < t->n; ++i) {
    int j = t->basic[i];
    if (j < ARTIFICIAL && (set >> j & 1) != 0) {
      z[j] = fmax(0, t->a[i][t->n]) * t->column[j] * t->unit;
    }
  }
}

static double min_map(const S2LcpProblem *problem, const double *z) {
  double worst = 0;
  for (int i = 0; i < problem->n; ++i) {
    double w = problem->q[i];
    for (int j = 0; j < problem->n; ++j) {
      w += problem->m[i * problem->n + j] * z[j];
    }
    double error = fabs(z[i] < w ? z[i] : w);
    worst = error <= worst ? worst : error; // a NaN stays
  }
  return worst;
}

S2SolveStatus s2_lcp_enumerate_stage(S2LcpRun *run) {
  const S2LcpProblem *problem = run->problem;
  if (problem->n > N) {
    return S2_UNSUPPORTED;
  }
  Tableau t = {0};
  enumerate_scale(&t, problem);
  double z[N] = {0}, best = INFINITY;
  int limit = run->options->max_iterations;
  // For every set A: is there a z_A >= 0 with w >= 0?
  for (unsigned set = 0; set < 1u << problem->n; ++set) {
    if (limit > 0 && run->iterations == limit) {
      return S2_MAX_ITERATIONS;
    }
    run->iterations += 1;
    enumerate_fill(&t, set);
    double left = first_phase(&t);
    t.doubtful = t.doubtful || !(left > DOUBT);
    // The tableau has a solution; the numbers of the problem decide.
    if (left <= FEASIBLE) {
      enumerate_read_point(&t, set, z);
      double residual = min_map(problem, z);
      if (residual < best) {
        best = residual;
        for (int i = 0; i < problem->n; ++i) {
          run->z[i] = z[i];
        }
      }
    }
    s2_history_add(run->options->history, best, 1, 0);
    if (best <= run->allowed) {
      return S2_SOLVED;
    }
  }
  return t.doubtful ? S2_SINGULAR : S2_INFEASIBLE;
}
