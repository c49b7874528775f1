// Enumeration. The problem is solvable if and only if, for at least one of the 2^n sets A, the
// system
//
//     M_iA z_A + q_i = 0 (i in A),   M_iA z_A + q_i >= 0 (i not in A),   z_A >= 0
//
// has a solution. Each system consists of a few linear inequalities. The first phase of the simplex
// method with Bland's rule decides whether it has a solution, and works even if the basis is
// singular. This file shares no code with the other methods, because their tests compare results
// with it.
#include "mcp/lcp/lcp_stages.h"

#include <math.h>

enum {
  N = S2_LCP_ENUMERATE_MAX,
  PASSES = 8,        // number of scaling passes
  WIDTH = N + 1,     // one column for z_j (j in A) or w_j (otherwise), and one for the right side
  ARTIFICIAL = N,    // first index of the artificial basic variables
  PIVOTS_MAX = 2000, // prevents endless loops if rounding defeats Bland's rule
};

// Entries of the tableau up to this value count as 0. Entries are about 1.
static const double ZERO = 1e-12;
// Entries between NOISE and ZERO may be significant, so a tableau that neglects them proves
// nothing.
static const double NOISE = 1e-13;
static const double FEASIBLE = 1e-9; // a solution has at most this sum of infeasibilities
static const double DOUBT = 1e-7;    // up to this sum of infeasibilities, nothing is proved

typedef struct Tableau {
  int n;
  double m[N][N], q[N];   // scaled
  double column[N], unit; // z = column * unit * (scaled z)
  double a[N][WIDTH];     // the tableau
  double cost[WIDTH];     // sum of all rows whose basic variable is artificial
  bool doubtful;          // true if a neglected entry may be significant
  int basic[N];           // basic variable of each row: a column, or ARTIFICIAL + row
} Tableau;

// Returns a power of two near 1 / sqrt(a), where a is the largest entry of the row or column.
// Scaling by powers of two is exact.
static double factor_of(const Tableau *t, bool of_row, int i) {
  double largest = 0;
  for (int j = 0; j < t->n; ++j) {
    largest = fmax(largest, fabs(of_row ? t->m[i][j] : t->m[j][i]));
  }
  return largest > 0 ? exp2(-floor(log2(largest) / 2)) : 1;
}

// Scales the problem so that the largest entries of rows and columns are about 1 for any units.
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
  // Repeatedly divide rows and columns by the square roots of their largest entries.
  for (int pass = 0; pass < PASSES; ++pass) {
    // Find the factors of all rows and columns before applying any.
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
    t->unit = fmax(t->unit, -t->q[i]); // rows with q_i > 0 impose no condition
  }
  for (int i = 0; i < n && t->unit > 0; ++i) {
    t->q[i] /= t->unit;
  }
}

// Sets up M_iA z_A - w_i = -q_i, with the sign that makes the right side >= 0. w_i is basic if
// possible.
static void enumerate_fill(Tableau *t, unsigned set) {
  int n = t->n;
  for (int j = 0; j <= n; ++j) {
    t->cost[j] = 0;
  }
  // Column j belongs to z_j if j is in the set, else to w_j.
  for (int i = 0; i < n; ++i) {
    bool inside = (set >> i & 1) != 0, turned = t->q[i] >= 0;
    double sign = turned ? -1 : 1;
    for (int j = 0; j < n; ++j) {
      t->a[i][j] = (set >> j & 1) != 0 ? sign * t->m[i][j] : 0;
    }
    if (!inside) {
      t->a[i][i] = -sign;
    }
    // w_i can be the first basic variable if q_i >= 0. Other rows get an artificial variable.
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
  // Compute the cost as the sum of all rows that still have their artificial variable.
  t->basic[row] = column;
  for (int j = 0; j <= t->n; ++j) {
    t->cost[j] = 0;
    for (int i = 0; i < t->n; ++i) {
      t->cost[j] += t->basic[i] >= ARTIFICIAL ? t->a[i][j] : 0;
    }
  }
}

// Returns the row with the smallest ratio. Among equal ratios it is the row of the first variable
// (Bland's rule).
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

// Runs the first phase. Returns the remaining sum of infeasibilities.
static double first_phase(Tableau *t) {
  for (int count = 0; count < PIVOTS_MAX; ++count) {
    // Bland's rule: choose the first column that lowers the cost, and the first row among the
    // smallest ratios.
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
    worst = error <= worst ? worst : error; // propagates NaN
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
  // For every set A, test whether there is a z_A >= 0 with w >= 0.
  for (unsigned set = 0; set < 1u << problem->n; ++set) {
    if (limit > 0 && run->iterations == limit) {
      return S2_MAX_ITERATIONS;
    }
    run->iterations += 1;
    enumerate_fill(&t, set);
    double left = first_phase(&t);
    t.doubtful = t.doubtful || !(left > DOUBT);
    // If the tableau has a solution, compute its residual in the original problem.
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
