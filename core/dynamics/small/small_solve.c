// Searches the modes and impulses of the problem of a stage (small_problem.h).
#include "dynamics/small/small_problem.h"
#include "linalg/numbers.h"

#include <string.h>

enum {
  TRIES = 20,     // largest number of modes to try
  AT_ONCE = 6,    // tries in which all wrong units change their modes
  EDGE_TRIES = 4, // tries after units on the edge between two modes have changed
  SOLVES = 2,     // solves per factor within a try
  ALL_UNITS = 3   // largest number of units whose modes are all tried (at most 4^3 tries)
};

// These numbers have the values and reasons of active.c.
static const double REPEATS = 1e-11, ALIKE = 1e-10, ROUNDING = 1e-14;

S2SmallProblem *s2_small_new_problem(S2Arena *arena) {
  return S2_TAKE(arena, S2SmallProblem, 1);
}

// ---- The system of the modes -------------------------------------------------------------------

// u = q + G x
static void small_speeds_of(S2SmallProblem *to) {
  int n = to->rows;
  for (int k = 0; k < n; k++) {
    double sum = 0;
    for (int j = 0; j < n; j++) {
      sum += to->g[k][j] * to->x[j];
    }
    to->u[k] = to->q[k] + sum;
  }
}

// Lists the held rows of the modes, and sets x of the other rows to their bounds or to 0.
static void small_collect(S2SmallProblem *to) {
  to->held = 0;
  memset(to->x, 0, sizeof(double) * (size_t)to->rows);
  for (int i = 0; i < to->units; i++) {
    const Unit *unit = &to->unit[i];
    int k = unit->first;
    if (unit->kind == BOX && unit->mode != STICK) {
      to->x[k] = unit->mode == PLUS ? unit->hi : unit->lo;
    } else if (unit->mode != OPEN) {
      bool slides = unit->kind == CONTACT && unit->mode != STICK;
      double slope = !slides ? 0 : unit->mode == PLUS ? unit->mu : -unit->mu;
      to->of[to->held++] = (Held){k, slides ? k + 1 : -1, slope};
      if (unit->kind == CONTACT && !slides) {
        to->of[to->held++] = (Held){k + 1, -1, 0};
      }
    }
  }
}

static void small_swap_rows(S2SmallProblem *to, int i, int k) {
  double row[S2_SMALL_SIDED];
  size_t size = sizeof(double) * (size_t)to->held;
  memcpy(row, to->lu[i], size);
  memcpy(to->lu[i], to->lu[k], size);
  memcpy(to->lu[k], row, size);
  int t = to->pivot_row[i];
  to->pivot_row[i] = to->pivot_row[k];
  to->pivot_row[k] = t;
}

static void small_swap_columns(S2SmallProblem *to, int j, int k) {
  for (int i = 0; i < to->held; i++) {
    s2_swap_numbers(&to->lu[i][j], &to->lu[i][k]);
  }
  int t = to->pivot_column[j];
  to->pivot_column[j] = to->pivot_column[k];
  to->pivot_column[k] = t;
}

// Factors the system of the held rows with complete pivoting, which finds dependent rows.
static void small_decompose(S2SmallProblem *to) {
  int n = to->held;
  double first = 0;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      const Held *on = &to->of[j];
      const double *g = to->g[to->of[i].row];
      to->lu[i][j] = g[on->row] + (on->friction >= 0 ? on->slope * g[on->friction] : 0);
    }
    to->pivot_row[i] = to->pivot_column[i] = i;
  }
  // Bring the largest remaining entry to the diagonal, then eliminate its column.
  for (to->rank = 0; to->rank < n; to->rank++) {
    int k = to->rank, row = k, column = k;
    double most = -1;
    for (int i = k; i < n; i++) {
      for (int j = k; j < n; j++) {
        if (fabs(to->lu[i][j]) > most) {
          most = fabs(to->lu[i][j]);
          row = i;
          column = j;
        }
      }
    }
    first = k == 0 ? most : first;
    if (!(most > REPEATS * first)) {
      break;
    }
    if (row != k) {
      small_swap_rows(to, row, k);
    }
    if (column != k) {
      small_swap_columns(to, column, k);
    }
    // Keep the factors in place of the zeros.
    double inverse = 1 / to->lu[k][k];
    for (int i = k + 1; i < n; i++) {
      double factor = to->lu[i][k] *= inverse;
      for (int j = k + 1; j < n; j++) {
        to->lu[i][j] -= factor * to->lu[k][j];
      }
    }
  }
}

// Solves with the factors of the held rows. Unknowns of dependent rows become 0.
static void small_solve_held(const S2SmallProblem *to, double *change) {
  double y[S2_SMALL_SIDED] = {0};
  int rank = to->rank;
  for (int i = 0; i < rank; i++) {
    double sum = change[to->pivot_row[i]];
    for (int j = 0; j < i; j++) {
      sum -= to->lu[i][j] * y[j];
    }
    y[i] = sum;
  }
  for (int i = rank - 1; i >= 0; i--) {
    double sum = y[i];
    for (int j = i + 1; j < rank; j++) {
      sum -= to->lu[i][j] * y[j];
    }
    y[i] = sum / to->lu[i][i];
  }
  for (int i = 0; i < to->held; i++) {
    change[to->pivot_column[i]] = i < rank ? y[i] : 0;
  }
}

static double small_held_speed(const S2SmallProblem *to) {
  double worst = 0;
  for (int i = 0; i < to->held; i++) {
    int k = to->of[i].row;
    worst = s2_larger(worst, fabs(to->u[k]) * to->size[k]);
  }
  return worst;
}

static void small_solve_modes(S2SmallProblem *to, double scale) {
  double change[S2_SMALL_SIDED];
  small_speeds_of(to);
  for (int pass = 0; pass < SOLVES && small_held_speed(to) > ROUNDING * scale; pass++) {
    for (int i = 0; i < to->held; i++) {
      change[i] = -to->u[to->of[i].row];
    }
    small_solve_held(to, change);
    for (int i = 0; i < to->held; i++) {
      const Held *held = &to->of[i];
      to->x[held->row] += change[i];
      if (held->friction >= 0) {
        to->x[held->friction] = held->slope * to->x[held->row];
      }
    }
    small_speeds_of(to);
  }
}

// ---- The whole problem -------------------------------------------------------------------------

// Sets y to L^-1 times the speeds of the equations, and u to the speeds of the other rows once the
// equations are satisfied. Returns the largest error of a held row, m/s.
static double small_reduce(const S2SmallStage *stage, S2SmallProblem *to, double *y) {
  double worst = 0;
  for (int i = 0; i < to->equations; i++) {
    int r = to->equation[i];
    y[i] = stage->r[r];
    worst = s2_larger(worst, fabs(y[i]) * to->weight[r]);
  }
  s2_small_forward(to, y);
  for (int k = 0; k < to->rows; k++) {
    int r = to->row[k];
    const double *row = to->s[to->equations + k];
    double u = stage->r[r];
    for (int c = 0; c < to->equations; c++) {
      u -= row[c] * y[c];
    }
    to->u[k] = u / to->root[r];
  }
  return s2_larger(worst, small_held_speed(to));
}

// Adds to y the effect of a change of x_k on the speeds of the equations.
static void small_push_equations(const S2SmallProblem *to, int k, double change, double *y) {
  double impulse = change / to->root[to->row[k]];
  for (int c = 0; c < to->equations; c++) {
    y[c] += to->z[k][c] * impulse;
  }
}

// Corrects the impulses of the equations, where y holds L^-1 times their speeds.
static void small_meet_equations(S2SmallStage *stage, const S2SmallProblem *to, double *y) {
  s2_small_back(to, y);
  for (int i = 0; i < to->equations; i++) {
    stage->x[to->equation[i]] -= y[i];
  }
}

// Sets the impulses at bounds and the friction of sliding contacts, which follow exactly.
static void small_write_bounds(S2SmallStage *stage, const S2SmallProblem *to) {
  for (int i = 0; i < to->units; i++) {
    const Unit *unit = &to->unit[i];
    int r = to->row[unit->first];
    bool plus = unit->mode == PLUS, slides = plus || unit->mode == MINUS;
    if (slides && unit->kind == BOX) {
      stage->x[r] = plus ? stage->hi[r] : stage->lo[r];
    } else if (slides) {
      double mu = stage->small->row[r + 1].mu;
      stage->x[r + 1] = (plus ? mu : -mu) * stage->x[r];
    }
  }
}

static void small_read_impulses(const S2SmallStage *stage, S2SmallProblem *to) {
  for (int k = 0; k < to->rows; k++) {
    to->x[k] = stage->x[to->row[k]] * to->root[to->row[k]];
  }
}

// Computes the impulses of all rows from x of the condensed rows.
static void small_write_impulses(S2SmallStage *stage, const S2SmallProblem *to) {
  double y[S2_SMALL_EQUATIONS] = {0};
  for (int k = 0; k < to->rows; k++) {
    int r = to->row[k];
    small_push_equations(to, k, to->x[k] - stage->x[r] * to->root[r], y);
    stage->x[r] = to->x[k] / to->root[r];
  }
  small_meet_equations(stage, to, y);
  small_write_bounds(stage, to);
}

// ---- Least norm --------------------------------------------------------------------------------

// Computes the impulses of all rows, multiplied by `root`, for a unit of the dependent unknown c.
static void small_null_impulses(const S2SmallStage *stage, const S2SmallProblem *to, int c,
                                double *all) {
  int rank = to->rank;
  double unknown[S2_SMALL_SIDED], y[S2_SMALL_EQUATIONS] = {0};
  for (int i = rank - 1; i >= 0; i--) {
    double sum = to->lu[i][rank + c];
    for (int j = i + 1; j < rank; j++) {
      sum -= to->lu[i][j] * unknown[j];
    }
    unknown[i] = sum / to->lu[i][i];
  }
  unknown[rank] = -1;
  // Set the held rows, then compute the resulting impulses of the equations.
  memset(all, 0, sizeof(double) * (size_t)stage->small->rows);
  for (int i = 0; i <= rank; i++) {
    const Held *held = &to->of[to->pivot_column[i < rank ? i : rank + c]];
    all[to->row[held->row]] = unknown[i];
    small_push_equations(to, held->row, unknown[i], y);
    if (held->friction >= 0) {
      all[to->row[held->friction]] = held->slope * unknown[i];
      small_push_equations(to, held->friction, held->slope * unknown[i], y);
    }
  }
  s2_small_back(to, y);
  for (int i = 0; i < to->equations; i++) {
    int r = to->equation[i];
    all[r] = -y[i] * to->root[r];
  }
}

// Finds an orthonormal basis of the impulses that do not change the speed of a held row.
static void small_find_basis(const S2SmallStage *stage, S2SmallProblem *to) {
  int rows = stage->small->rows;
  for (int c = 0; c < to->held - to->rank; c++) {
    double *z = to->basis[c];
    small_null_impulses(stage, to, c, z);
    for (int i = 0; i < 2 * c; i++) { // repeat Gram-Schmidt to reach full precision
      const double *other = to->basis[i % c];
      double part = s2_numbers_dot(z, other, rows);
      for (int r = 0; r < rows; r++) {
        z[r] -= part * other[r];
      }
    }
    double length = sqrt(s2_numbers_dot(z, z, rows));
    for (int r = 0; r < rows; r++) {
      z[r] /= length;
    }
  }
}

// Removes the part of the impulses that does not change the speed of a held row.
static void small_take_least_norm(S2SmallStage *stage, const S2SmallProblem *to) {
  for (int c = 0; c < to->held - to->rank; c++) {
    const double *z = to->basis[c];
    double part = 0;
    for (int i = 0; i < to->equations; i++) {
      int r = to->equation[i];
      part += z[r] * stage->x[r] * to->root[r];
    }
    for (int k = 0; k < to->rows; k++) {
      int r = to->row[k];
      part += z[r] * stage->x[r] * to->root[r];
    }
    for (int i = 0; i < to->equations; i++) {
      int r = to->equation[i];
      stage->x[r] -= part * z[r] / to->root[r];
    }
    for (int k = 0; k < to->rows; k++) {
      int r = to->row[k];
      stage->x[r] -= part * z[r] / to->root[r];
    }
  }
  small_write_bounds(stage, to);
}

// Returns the largest step of x along `way` (one number per condensed row) before a unit reaches a
// bound.
static double small_reach_of(const S2SmallProblem *to, const double *way) {
  double reach = INFINITY;
  for (int i = 0; i < to->units; i++) {
    const Unit *unit = &to->unit[i];
    int k = unit->first;
    double room[3] = {INFINITY, INFINITY, INFINITY}, rate[3] = {0}, x = to->x[k];
    if (unit->kind == BOX && unit->mode == STICK) {
      room[0] = unit->hi - x;
      room[1] = x - unit->lo;
      rate[0] = way[k];
      rate[1] = -way[k];
    } else if (unit->kind != BOX) {
      room[0] = x;
      rate[0] = -way[k];
    }
    // The two sides of the friction cone.
    if (unit->kind == CONTACT && unit->mode == STICK) {
      double t = to->x[k + 1], across = way[k + 1];
      room[1] = unit->mu * x - t;
      rate[1] = across - unit->mu * way[k];
      room[2] = unit->mu * x + t;
      rate[2] = -across - unit->mu * way[k];
    }
    for (int c = 0; c < 3; c++) {
      reach = rate[c] > 0 ? fmin(reach, fmax(room[c], 0) / rate[c]) : reach;
    }
  }
  return reach;
}

// Dependent held rows may require different speeds, so that no impulse satisfies them all. This
// function moves x along their null impulses until one of these rows is beyond its bound, and its
// unit changes its mode. The motion stays the same.
static void small_strain(S2SmallProblem *to) {
  static const double STRAIN = 1e9, BEYOND = 2; // as in active.c
  double way[S2_SMALL_SIDED];
  for (int c = 0; c < to->held - to->rank; c++) {
    const double *z = to->basis[c];
    double met = 0, most = 0;
    for (int i = 0; i < to->held; i++) {
      int k = to->of[i].row;
      double part = z[to->row[k]] * to->u[k];
      met += part;
      most = fmax(most, fabs(part) * to->size[k]);
    }
    if (!(most > to->slack)) {
      continue;
    }
    for (int k = 0; k < to->rows; k++) {
      way[k] = met > 0 ? -z[to->row[k]] : z[to->row[k]];
    }
    double reach = small_reach_of(to, way);
    double far = fmax(STRAIN * fabs(met), isfinite(reach) ? BEYOND * reach : 0);
    for (int k = 0; k < to->rows; k++) {
      to->x[k] += far * way[k];
    }
  }
}

// ---- The search --------------------------------------------------------------------------------

// Starts from the guess x with its speeds r: satisfies the equations and chooses the first modes.
static void small_begin_search(S2SmallStage *stage, S2SmallProblem *to) {
  double y[S2_SMALL_EQUATIONS];
  to->held = 0;
  small_reduce(stage, to, y);
  small_meet_equations(stage, to, y);
  small_read_impulses(stage, to);
  for (int k = 0; k < to->rows; k++) {
    double sum = 0;
    for (int j = 0; j < to->rows; j++) {
      sum += to->g[k][j] * to->x[j];
    }
    to->q[k] = to->u[k] - sum;
  }
  for (int i = 0; i < to->units; i++) {
    to->unit[i].mode = s2_small_first_mode(to, &to->unit[i]);
  }
}

// Refines the impulses of the linear problem until only rounding errors are left.
static void small_refine(S2SmallStage *stage, S2SmallProblem *to) {
  enum { FINISHES = 4 };
  static const double GAIN = 0.5;
  double last = INFINITY, enough = ROUNDING * stage->scale;
  bool corrected = true;
  for (int pass = 0; corrected; pass++) {
    s2_small_velocity(stage);
    s2_small_speeds(stage);
    double worst = s2_small_correct(stage, to, enough);
    corrected = !(worst <= enough);
    if (corrected && (pass == FINISHES || !(worst <= GAIN * last))) {
      break;
    }
    last = worst;
  }
  if (corrected) {
    double y[S2_SMALL_EQUATIONS];
    s2_small_velocity(stage);
    s2_small_speeds(stage);
    small_reduce(stage, to, y);
  }
  small_read_impulses(stage, to);
}

// Returns true if an earlier try with the same rule had the present modes.
static bool small_circles(const S2SmallProblem *to, Mode seen[][S2_SMALL_UNITS], int from,
                          int try) {
  size_t size = sizeof(Mode) * (size_t)to->units;
  for (int i = 0; i < to->units; i++) {
    seen[try][i] = to->unit[i].mode;
  }
  int i = from;
  while (i < try && memcmp(seen[i], seen[try], size) != 0) {
    i++;
  }
  return i < try;
}

// Solves with the present modes. Returns the number of wrong modes, and changes them. If no mode is
// wrong, the impulses are refined.
static int small_try(S2SmallStage *stage, S2SmallProblem *to, bool all) {
  stage->small->tries += 1;
  small_collect(to);
  small_decompose(to);
  small_solve_modes(to, stage->scale);
  if (to->rank < to->held) {
    small_find_basis(stage, to);
    small_write_impulses(stage, to);
    small_take_least_norm(stage, to);
    small_read_impulses(stage, to);
    small_speeds_of(to);
    small_strain(to);
  }
  int wrong = s2_small_change_modes(stage, to, all);
  if (wrong == 0) {
    small_write_impulses(stage, to);
    if (stage->refines) { // the refined impulses may indicate other modes
      small_refine(stage, to);
      wrong = s2_small_change_modes(stage, to, all);
    }
  }
  return wrong;
}

// Tries all modes of at most ALL_UNITS units, for problems on which the search fails. An example is
// one contact that must stick: joints couple its normal and its tangent, so it would open if it
// slid, and slide if it opened. The first modes that hold count. For each unit, sticking comes
// before sliding, and sliding before opening.
static bool small_try_all(S2SmallStage *stage, S2SmallProblem *to) {
  static const Mode MODES[] = {STICK, PLUS, MINUS, OPEN};
  enum { COUNT = sizeof MODES / sizeof MODES[0] };
  int total = to->units > 0 && to->units <= ALL_UNITS ? 1 : 0;
  for (int i = 0; i < to->units; i++) {
    total *= COUNT;
  }
  double x[S2_SMALL_ROWS];
  memcpy(x, stage->x, sizeof x);
  for (int choice = 0; choice < total; choice++) {
    bool exists = true;
    for (int i = 0, rest = choice; i < to->units; i++, rest /= COUNT) {
      Unit *unit = &to->unit[i];
      unit->mode = MODES[rest % COUNT];
      bool slides = unit->mode == PLUS || unit->mode == MINUS;
      exists &= unit->kind == CONTACT || (unit->kind == BOX ? unit->mode != OPEN : !slides);
    }
    if (exists && small_try(stage, to, true) == 0) {
      return true;
    }
    memcpy(stage->x, x, sizeof x);
  }
  return false;
}

// Searches modes that hold, in at most `most` tries. On success, the impulses are refined.
static bool small_search(S2SmallStage *stage, S2SmallProblem *to, int most) {
  Mode seen[TRIES][S2_SMALL_UNITS];
  for (int try = 0; try < most; try++) {
    bool all = try < AT_ONCE;
    if (small_circles(to, seen, all ? 0 : AT_ONCE, try)) {
      return false;
    }
    int wrong = small_try(stage, to, all);
    if (wrong == 0) {
      return true;
    }
    if (!all && wrong > most - try - 1) {
      return false;
    }
  }
  return false;
}

// Sets units on the edge between two modes to stick or to press. Returns false if there are none.
static bool small_hold_edges(S2SmallProblem *to) {
  bool changed = false;
  for (int i = 0; i < to->units; i++) {
    Unit *unit = &to->unit[i];
    int slides = unit->kind == CONTACT && unit->mode != OPEN;
    bool still = fabs(to->u[unit->first + slides] * unit->size[slides]) <= to->slack;
    if (unit->mode != STICK && still) {
      unit->mode = unit->mode == OPEN ? s2_small_closing_mode(to, unit) : STICK;
      changed = true;
    }
  }
  return changed;
}

// Returns true if two velocities of all nodes are equal.
static bool small_moves_alike(const S2SmallStage *stage, const double *v) {
  double apart = 0;
  for (int i = 0; i < 3 * stage->small->nodes; i++) {
    double size = i % 3 == 0 ? stage->small->length : 1;
    apart = s2_larger(apart, fabs(stage->v[i] - v[i]) * size);
  }
  return apart <= ALIKE * stage->scale;
}

// Clips the impulses to their bounds, which accepted impulses may exceed by SLACK.
void s2_small_clip(S2SmallStage *stage, const S2SmallProblem *to) {
  for (int k = 0; k < to->rows; k++) {
    int r = to->row[k];
    const S2SmallRow *row = &stage->small->row[r];
    stage->x[r] = row->law == S2_RATTLE_FRICTION
                      ? s2_clip(stage->x[r], row->mu * stage->x[r - 1])
                      : fmin(fmax(stage->x[r], stage->lo[r]), stage->hi[r]);
  }
}

// Returns true if at most one mode of a single contact without joints can hold (closed.c chooses
// among several).
static bool small_one_mode(const S2SmallProblem *to) {
  const Unit *unit = &to->unit[0];
  bool alone = to->equations == 0 && to->units == 1 && unit->kind == CONTACT;
  return !alone || unit->mu * fabs(to->g[0][1]) < to->g[0][0] * (1 - S2_SMALL_DEPENDENT);
}

bool s2_small_solve(S2SmallStage *stage, S2SmallProblem *to) {
  double v[3 * S2_SMALL_SEATS], x[S2_SMALL_ROWS];
  Mode modes[S2_SMALL_UNITS] = {OPEN};
  if (!small_one_mode(to)) {
    return false;
  }
  small_begin_search(stage, to);
  if (!small_search(stage, to, TRIES) && !small_try_all(stage, to)) {
    return false;
  }
  size_t rows = sizeof(double) * (size_t)stage->small->rows;
  bool factored = false;
  for (int pass = 0; pass < 2; pass++) {
    s2_small_clip(stage, to);
    memcpy(x, stage->x, rows);
    for (int i = 0; i < to->units; i++) {
      modes[i] = to->unit[i].mode;
    }
    factored = pass > 0 || !small_hold_edges(to);
    if (factored) {
      break;
    }
    s2_small_velocity(stage);
    memcpy(v, stage->v, sizeof v);
    bool found = small_search(stage, to, EDGE_TRIES);
    s2_small_velocity(stage);
    if (!found || !small_moves_alike(stage, v)) {
      break;
    }
  }
  // The last search may have changed the modes. Restore the modes of the answer.
  if (!factored) {
    for (int i = 0; i < to->units; i++) {
      to->unit[i].mode = modes[i];
    }
    small_collect(to);
    small_decompose(to);
    small_find_basis(stage, to);
    memcpy(stage->x, x, rows);
  }
  return true;
}

double s2_small_correct(S2SmallStage *stage, S2SmallProblem *to, double enough) {
  double y[S2_SMALL_EQUATIONS], change[S2_SMALL_SIDED];
  double worst = small_reduce(stage, to, y);
  if (worst <= enough) {
    return worst;
  }
  // Correct the held rows, then the equations.
  for (int i = 0; i < to->held; i++) {
    change[i] = -to->u[to->of[i].row];
  }
  small_solve_held(to, change);
  for (int i = 0; i < to->held; i++) {
    const Held *held = &to->of[i];
    int r = to->row[held->row];
    small_push_equations(to, held->row, change[i], y);
    stage->x[r] += change[i] / to->root[r];
    if (held->friction >= 0) {
      small_push_equations(to, held->friction, held->slope * change[i], y);
    }
  }
  small_meet_equations(stage, to, y);
  small_write_bounds(stage, to);
  if (to->rank < to->held) {
    small_take_least_norm(stage, to);
  }
  return worst;
}

void s2_small_states(const S2SmallStage *stage, const S2SmallProblem *to) {
  S2Small *small = stage->small;
  S2RattleState *state = small->state[stage->second];
  for (int r = 0; r < small->rows; r++) {
    double x = stage->x[r], near = 1e-9 * (stage->hi[r] - stage->lo[r]); // as in rattle_certified.c
    S2RattleLaw law = small->row[r].law;
    bool held = small->points > 0 || law == S2_RATTLE_EQUATION;
    state[r] = stage->known[r] ? S2_RATTLE_KNOWN
               : held          ? S2_RATTLE_HELD
               : law == S2_RATTLE_LIMIT
                   ? (x * to->w[r] > stage->r[r] ? S2_RATTLE_HELD : S2_RATTLE_OPEN)
               : x >= stage->hi[r] - near ? S2_RATTLE_AT_HI
               : x <= stage->lo[r] + near ? S2_RATTLE_AT_LO
                                          : S2_RATTLE_HELD;
  }
}

S2Residual s2_small_residual(const S2SmallStage *stage, const S2SmallProblem *to) {
  S2Residual residual = {0};
  double scaled = 0;
  for (int i = 0; i < to->equations; i++) {
    int r = to->equation[i];
    double error = fabs(stage->r[r]);
    residual.joint = s2_larger(residual.joint, error);
    scaled = s2_larger(scaled, error * to->weight[r]);
  }
  // Compute the residual of the other rows by the law of each kind, as s2_mcp_residual does.
  for (int k = 0; k < to->rows; k++) {
    int r = to->row[k];
    const S2SmallRow *row = &stage->small->row[r];
    double x = stage->x[r], w = to->w[r], speed = stage->r[r], error;
    if (row->law == S2_RATTLE_LIMIT) {
      residual.complementarity = s2_larger(residual.complementarity, fabs(speed > x ? x : speed));
      error = fabs(speed > w * x ? w * x : speed);
    } else {
      bool rough = row->law == S2_RATTLE_FRICTION;
      double hi = rough ? row->mu * fmax(stage->x[r - 1], 0) : stage->hi[r];
      double lo = rough ? -hi : stage->lo[r], aim = x - speed / w;
      double excess = fabs(x - (aim > hi ? hi : aim < lo ? lo : aim));
      residual.cone = s2_larger(residual.cone, excess);
      error = excess * w;
    }
    scaled = s2_larger(scaled, error * to->weight[r]);
  }
  residual.scaled = scaled / stage->scale;
  return residual;
}
