// An active-set solver for small problems.
//
// A unit is a contact with its friction, a limit or a boxed row. Each unit is in a mode. A contact
// or limit is open, sticks, or slides in one direction. A boxed row is at its upper bound, at its
// lower bound or between them. Once all modes are given, the problem is a linear system in the
// impulses of the active rows. Joints are eliminated first (condensed.h), so the system is small if
// there are few contacts.
//
// 1. The guess gives the first modes: the sign of impulse minus velocity decides.
// 2. Each try solves the linear system of its modes, then gives every unit the mode that the
//    solution indicates. A sticking contact is first set to slide, and may open only in a later
//    try. From try AT_ONCE on, only the unit with the largest violation changes its mode, which
//    ends most cycles. The search fails if there are more wrong units than remaining tries.
// 3. Once the modes hold, corrections with the same factors reduce the velocity errors of the
//    active rows to rounding.
// 4. Some units may then be on the edge between two modes: their mode is sliding but they do not
//    slip, or their mode is open but they do not separate. These units are set to stick or to
//    press, and a few more tries follow. If they lead to the same motion, their impulses are the
//    answer, because they depend less on the guess.
//
// Active rows may be linearly dependent, like the friction rows of two corners of one box. Many
// impulses then give the same motion. Each try uses the impulses of least norm in its modes, so the
// answer has least norm, too. The squared norm is the sum of w lambda^2 over the active rows,
// including joints, where w is the row's Delassus diagonal. The answer therefore depends on the
// modes, not on the order of the rows.
#include "mcp/active/active.h"
#include "linalg/numbers.h"
#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

enum {
  UNITS_MOST = 20,
  TRIES = 20,
  AT_ONCE = 6,
  EDGE_TRIES = 4,
  SOLVES = 2,   // solves per factorisation within a try
  FINISHES = 4, // largest number of corrections of an answer
};

// Pivots below this fraction of the largest entry belong to linearly dependent rows (schur.c).
static const double REPEATS = 1e-11;

// Linearly dependent rows may have velocity errors that no impulse removes. The impulses then move
// by STRAIN times the error (both scaled), but at least by BEYOND times the distance at which the
// first unit reaches a bound.
static const double STRAIN = 1e9, BEYOND = 2;

// Tolerance of all inequalities, as a fraction of V. Impulses are multiplied by w. Smaller
// violations count as rounding.
static const double SLACK = 1e-12;

// Two motions count as equal if their velocities differ by at most this fraction of V.
static const double ALIKE = 1e-10;

// Corrections end when the velocity errors of the rows are at most ROUNDING of V. They also end
// when a correction removes less than the fraction GAIN of the error, because the remainder is
// rounding.
static const double ROUNDING = 1e-14, GAIN = 0.5;

static void find_units(Active *active) {
  active->units = 0;
  for (int k = 0; k < active->of.rows; k++) {
    const S2Row *row = active_row_of(active, k);
    active->size[k] = active_root_of(active, k) * s2_row_weight(active->of.problem, row);
    // A friction row belongs to the contact in the preceding row. If mu is 0, its impulse is 0.
    if (row->coupled_to >= 0) {
      Unit *contact = &active->unit[active->units - 1];
      contact->kind = row->mu > 0 ? CONTACT : NORMAL;
      contact->mu = row->mu * active_root_of(active, k) / active_root_of(active, k - 1);
      contact->size[1] = active->size[k];
      continue;
    }
    Kind kind = row->lo == -INFINITY ? EQUATION : row->hi < INFINITY ? BOX : NORMAL;
    active->unit[active->units++] = (Unit){.kind = kind, .first = k, .size = {active->size[k], 0}};
  }
}

// Computes u = q + G x by the columns of G, which is symmetric. All sums grow in parallel, and each
// adds its terms in order.
static void speeds_of(const Active *active) {
  int n = active->of.rows;
  double *restrict u = active->u;
  memset(u, 0, sizeof(double) * (size_t)n);
  for (int j = 0; j < n; j++) {
    const double *restrict g = active->of.g + (size_t)j * (size_t)n;
    double x = active->x[j];
    for (int k = 0; k < n && x != 0; k++) {
      u[k] += g[k] * x;
    }
  }
  for (int k = 0; k < n; k++) {
    u[k] = active->q[k] + u[k];
  }
}

// ---- The system of the modes --------------------------------------------------------------------

static void active_hold(Active *active, int row, double slope) {
  active->held[active->held_count++] =
      (Held){.row = row, .friction = slope != 0 ? row + 1 : -1, .slope = slope};
}

// Lists the active rows. Sets x of the other rows to their bounds or to 0.
static void active_collect(Active *active) {
  active->held_count = 0;
  memset(active->x, 0, sizeof(double) * (size_t)active->of.rows);
  for (int i = 0; i < active->units; i++) {
    const Unit *unit = &active->unit[i];
    bool bound = unit->kind == BOX && unit->mode != STICK;
    if (bound) {
      active->x[unit->first] = s2_active_bound(active, unit, unit->mode);
    } else if (unit->mode != OPEN) {
      double slope = unit->mode == PLUS ? unit->mu : unit->mode == MINUS ? -unit->mu : 0;
      active_hold(active, unit->first, slope);
      if (unit->kind == CONTACT && unit->mode == STICK) {
        active_hold(active, unit->first + 1, 0);
      }
    }
  }
}

// Factors the system of the active rows. Complete pivoting finds linearly dependent rows.
static void active_decompose(Active *active) {
  int n = active->held_count;
  double *a = S2_TAKE(active->arena, double, (size_t)n *(size_t)n);
  for (int i = 0; i < n; i++) {
    // Computes the speed of an active row per unit of each unknown.
    const double *g = active->of.g + (size_t)active->held[i].row * (size_t)active->of.rows;
    double *to = a + (size_t)i * (size_t)n;
    for (int j = 0; j < n; j++) {
      const Held *on = &active->held[j];
      to[j] = g[on->row] + (on->friction >= 0 ? on->slope * g[on->friction] : 0);
    }
  }
  active->lu = s2_dense_lu_factor(n, a, REPEATS, active->arena);
}

// Computes the change of the unknowns that makes the speeds of the active rows 0.
static void active_correction(const Active *active, double *change) {
  for (int i = 0; i < active->held_count; i++) {
    change[i] = -active->u[active->held[i].row];
  }
  s2_dense_lu_solve(&active->lu, change);
}

// Returns the largest speed of an active row in u, m/s.
static double held_speed(const Active *active) {
  double worst = 0;
  for (int i = 0; i < active->held_count; i++) {
    int k = active->held[i].row;
    worst = s2_larger(worst, fabs(active->u[k]) * active->size[k]);
  }
  return worst;
}

static void solve_modes(Active *active) {
  double *change = S2_TAKE(active->arena, double, active->held_count);
  double enough = ROUNDING * active->of.problem->velocity_scale;
  speeds_of(active);
  for (int pass = 0; pass < SOLVES && held_speed(active) > enough; pass++) {
    active_correction(active, change);
    for (int i = 0; i < active->held_count; i++) {
      const Held *held = &active->held[i];
      active->x[held->row] += change[i];
      if (held->friction >= 0) {
        active->x[held->friction] = held->slope * active->x[held->row];
      }
    }
    speeds_of(active);
  }
}

// ---- The whole problem --------------------------------------------------------------------------

// Uses the speeds of all rows. Sets y to L^-1 times the speeds of the equations, and u to the
// speeds of the other rows once the equations are satisfied. Returns the largest error of an active
// row, m/s.
static double active_reduce(Active *active, double *y) {
  const S2Condensed *of = &active->of;
  const S2Problem *problem = of->problem;
  double worst = 0;
  for (int i = 0; i < of->equations; i++) {
    const S2Row *row = &problem->row[of->equation[i]];
    y[i] = active->speed[of->equation[i]];
    worst = s2_larger(worst, fabs(y[i]) * s2_row_weight(problem, row));
  }
  s2_condensed_forward(of, y);
  for (int k = 0; k < of->rows; k++) {
    const double *z = of->z + (size_t)k * (size_t)of->equations;
    double u = active->speed[of->row[k]];
    for (int c = of->z_reach[k]; c < of->equations; c++) {
      u -= z[c] * of->d[c] * y[c];
    }
    active->u[k] = u / active_root_of(active, k);
  }
  return s2_larger(worst, held_speed(active));
}

// Computes y and u from the speeds at lambda; returns the largest error of an active row, m/s.
static double active_measure(Active *active, double *y) {
  s2_condensed_speeds(active->of.problem, active->lambda, active->v, active->speed);
  return active_reduce(active, y);
}

// Adds to y the effect of a change of x_k: L^-1 times the change in the speeds of the equations.
static void push_equations(const Active *active, int k, double change, double *y) {
  const S2Condensed *of = &active->of;
  const double *z = of->z + (size_t)k * (size_t)of->equations;
  double impulse = change / active_root_of(active, k);
  for (int c = of->z_reach[k]; c < of->equations; c++) {
    y[c] += z[c] * impulse;
  }
}

// Corrects the impulses of the equations by -S^-1 e, where y holds L^-1 e on entry.
static void meet_equations(Active *active, double *y) {
  const S2Condensed *of = &active->of;
  s2_condensed_back(of, y);
  for (int i = 0; i < of->equations; i++) {
    active->lambda[of->equation[i]] -= y[i];
  }
}

static void write_row(Active *active, int k, double x) {
  active->x[k] = x;
  active->lambda[active->of.row[k]] = x / active_root_of(active, k);
}

// Sets the impulses at bounds and the friction impulses of sliding contacts, which follow exactly
// from other numbers.
static void write_bounds(Active *active) {
  for (int i = 0; i < active->units; i++) {
    const Unit *unit = &active->unit[i];
    const S2Row *row = active_row_of(active, unit->first);
    double *lambda = &active->lambda[active->of.row[unit->first]];
    bool plus = unit->mode == PLUS, slides = plus || unit->mode == MINUS;
    if (slides && unit->kind == BOX) {
      lambda[0] = plus ? row->hi : row->lo;
    } else if (slides) {
      lambda[1] = (plus ? row[1].mu : -row[1].mu) * lambda[0];
    }
  }
}

static void active_read_impulses(Active *active) {
  for (int k = 0; k < active->of.rows; k++) {
    active->x[k] = active->lambda[active->of.row[k]] * active_root_of(active, k);
  }
}

// Starts from the guess: satisfies the equations and computes x and q of the other rows.
static void active_begin(Active *active, const S2Solution *guess) {
  const S2Condensed *of = &active->of;
  const S2Problem *problem = of->problem;
  double *y = S2_TAKE(active->arena, double, of->equations);
  for (int i = 0; i < problem->rows; i++) {
    active->lambda[i] = isfinite(guess->lambda[i]) ? guess->lambda[i] : 0;
  }
  // Friction rows of contacts without friction have no impulse.
  for (int i = 0; i < active->units; i++) {
    const Unit *unit = &active->unit[i];
    int row = of->row[unit->first];
    if (unit->kind == NORMAL && row + 1 < problem->rows &&
        problem->row[row + 1].coupled_to == row) {
      active->lambda[row + 1] = 0;
    }
  }
  active->held_count = 0;
  active_measure(active, y);
  meet_equations(active, y);
  memset(active->q, 0, sizeof(double) * (size_t)of->rows);
  active_read_impulses(active);
  for (int k = 0; k < of->rows; k++) {
    int n = of->rows;
    active->q[k] = active->u[k] - s2_numbers_dot(of->g + (size_t)k * (size_t)n, active->x, n);
  }
  for (int i = 0; i < active->units; i++) {
    active->unit[i].mode = s2_active_first_mode(active, &active->unit[i]);
  }
}

// Computes lambda from x.
static void write_impulses(Active *active) {
  double *y = S2_TAKE_ZEROED(active->arena, double, active->of.equations);
  for (int k = 0; k < active->of.rows; k++) {
    double before = active->lambda[active->of.row[k]] * active_root_of(active, k);
    push_equations(active, k, active->x[k] - before, y);
    write_row(active, k, active->x[k]);
  }
  meet_equations(active, y);
  write_bounds(active);
}

// ---- Least norm ---------------------------------------------------------------------------------

// Computes impulses from column c of `unknowns` that do not change the speed of any active row.
// `to` receives the impulses of all rows, multiplied by `root`.
static void null_impulses(Active *active, const double *unknowns, int c, double *to) {
  const S2Condensed *of = &active->of;
  const S2DenseLu *lu = &active->lu;
  int rank = lu->rank, count = lu->n - rank;
  double *y = S2_TAKE_ZEROED(active->arena, double, of->equations);
  // Set the active rows, then compute the resulting impulses of the equations.
  memset(to, 0, sizeof(double) * (size_t)of->problem->rows);
  for (int i = 0; i <= rank; i++) {
    const Held *held = &active->held[lu->column[i < rank ? i : rank + c]];
    double z = i < rank ? unknowns[i * count + c] : -1;
    to[of->row[held->row]] = z;
    push_equations(active, held->row, z, y);
    if (held->friction >= 0) {
      push_equations(active, held->friction, held->slope * z, y);
    }
  }
  s2_condensed_back(of, y);
  for (int i = 0; i < of->equations; i++) {
    to[of->equation[i]] = -y[i] * of->root[of->equation[i]];
  }
}

// Finds an orthonormal basis of the impulses that do not change the speed of any active row.
static void find_basis(Active *active) {
  int rows = active->of.problem->rows, count = active->lu.n - active->lu.rank;
  active->basis = S2_TAKE(active->arena, double, (size_t)count *(size_t)rows);
  active->basis_count = count;
  const double *unknowns = s2_dense_lu_null(&active->lu, active->arena);
  for (int c = 0; c < count; c++) {
    double *z = active->basis + (size_t)c * (size_t)rows;
    null_impulses(active, unknowns, c, z);
    for (int pass = 0; pass < 2; pass++) { // Repeat Gram-Schmidt to reach full precision.
      for (int e = 0; e < c; e++) {
        const double *other = active->basis + (size_t)e * (size_t)rows;
        double part = s2_numbers_dot(z, other, rows);
        for (int i = 0; i < rows; i++) {
          z[i] -= part * other[i];
        }
      }
    }
    double length = sqrt(s2_numbers_dot(z, z, rows));
    for (int i = 0; i < rows; i++) {
      z[i] /= length;
    }
  }
}

// Removes the part of lambda that does not change the speed of any active row.
static void take_least_norm(Active *active) {
  const double *root = active->of.root;
  int rows = active->of.problem->rows;
  for (int c = 0; c < active->basis_count; c++) {
    const double *z = active->basis + (size_t)c * (size_t)rows;
    double part = 0;
    for (int i = 0; i < rows; i++) {
      part += z[i] * active->lambda[i] * root[i];
    }
    for (int i = 0; i < rows; i++) {
      active->lambda[i] -= part * z[i] / root[i];
    }
  }
  write_bounds(active);
}

// Returns the largest step of x along `way` before a unit reaches a bound. `way` has one number per
// row of the problem.
static double active_reach_of(const Active *active, const double *way) {
  double reach = INFINITY;
  for (int i = 0; i < active->units; i++) {
    const Unit *unit = &active->unit[i];
    int k = unit->first;
    double room[3] = {INFINITY, INFINITY, INFINITY}, rate[3] = {0};
    double x = active->x[k], along = way[active->of.row[k]];
    if (unit->kind == BOX && unit->mode == STICK) {
      room[0] = s2_active_bound(active, unit, PLUS) - x;
      room[1] = x - s2_active_bound(active, unit, MINUS);
      rate[0] = along;
      rate[1] = -along;
    } else if (unit->kind != BOX && unit->kind != EQUATION) {
      room[0] = x;
      rate[0] = -along;
    }
    // The two sides of the friction cone.
    if (unit->kind == CONTACT && unit->mode == STICK) {
      double t = active->x[k + 1], across = way[active->of.row[k + 1]];
      room[1] = unit->mu * x - t;
      rate[1] = across - unit->mu * along;
      room[2] = unit->mu * x + t;
      rate[2] = -across - unit->mu * along;
    }
    for (int c = 0; c < 3; c++) {
      reach = rate[c] > 0 ? fmin(reach, fmax(room[c], 0) / rate[c]) : reach;
    }
  }
  return reach;
}

// Linearly dependent rows may require different speeds, so that no impulse satisfies them all. This
// function moves x along their null impulses until one of these rows is beyond its bound and its
// unit changes its mode. The motion stays the same.
static void active_strain(Active *active) {
  const S2Condensed *of = &active->of;
  int rows = of->problem->rows;
  double *way = S2_TAKE(active->arena, double, rows);
  for (int c = 0; c < active->basis_count; c++) {
    const double *z = active->basis + (size_t)c * (size_t)rows;
    double met = 0, most = 0;
    for (int i = 0; i < active->held_count; i++) {
      int k = active->held[i].row;
      double part = z[of->row[k]] * active->u[k];
      met += part;
      most = fmax(most, fabs(part) * active->size[k]);
    }
    if (!(most > active->slack)) {
      continue;
    }
    // Move along the null impulse to beyond the nearest bound.
    for (int i = 0; i < rows; i++) {
      way[i] = met > 0 ? -z[i] : z[i];
    }
    double reach = active_reach_of(active, way);
    double far = fmax(STRAIN * fabs(met), isfinite(reach) ? BEYOND * reach : 0);
    for (int k = 0; k < of->rows; k++) {
      active->x[k] += far * way[of->row[k]];
    }
  }
}

// ---- Solving ------------------------------------------------------------------------------------

// Corrects the impulses for the errors in y and u.
static void correct_held(Active *active, double *change, double *y) {
  active_correction(active, change);
  for (int i = 0; i < active->held_count; i++) {
    const Held *held = &active->held[i];
    push_equations(active, held->row, change[i], y);
    write_row(active, held->row, active->x[held->row] + change[i]);
    if (held->friction >= 0) {
      push_equations(active, held->friction, held->slope * change[i], y);
    }
  }
  meet_equations(active, y);
  write_bounds(active);
}

// Corrects the impulses for the velocity errors of the active rows until only rounding is left.
static void active_refine(Active *active) {
  const S2Condensed *of = &active->of;
  double *y = S2_TAKE(active->arena, double, of->equations);
  double *change = S2_TAKE(active->arena, double, active->held_count);
  double enough = ROUNDING * of->problem->velocity_scale, last = INFINITY;
  double worst = active_measure(active, y);
  for (int pass = 0; pass < FINISHES && worst > enough && worst <= GAIN * last; pass++) {
    correct_held(active, change, y);
    last = worst;
    worst = active_measure(active, y);
  }
}

// Refines the impulses to full precision once the modes hold. On return, x, u and lambda belong to
// the answer.
static void active_finish(Active *active) {
  write_impulses(active);
  active_refine(active);
  if (active->lu.rank < active->lu.n) {
    take_least_norm(active);
    active_measure(active, S2_TAKE(active->arena, double, active->of.equations));
  }
  active_read_impulses(active);
}

// Clips the impulses to their bounds, which accepted impulses may exceed by SLACK.
static void clip_impulses(const Active *active, double *lambda) {
  const S2Problem *problem = active->of.problem;
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    lambda[i] = row->coupled_to >= 0 ? s2_clip(active->lambda[i], row->mu * lambda[i - 1])
                                     : fmin(fmax(active->lambda[i], row->lo), row->hi);
  }
}

static void take_answer(const Active *active, S2Solution *solution) {
  memcpy(solution->v, active->v, sizeof(double) * (size_t)(3 * active->of.problem->nodes));
  clip_impulses(active, solution->lambda);
}

// Changes the modes of units on the edge between two modes: sliding units stick, and open units
// press. Returns false if there are no such units.
static bool hold_edges(Active *active) {
  bool changed = false;
  for (int i = 0; i < active->units; i++) {
    Unit *unit = &active->unit[i];
    int slides = unit->kind == CONTACT && unit->mode != OPEN;
    bool still = fabs(active->u[unit->first + slides] * unit->size[slides]) <= active->slack;
    if (unit->mode != STICK && still) {
      unit->mode = unit->mode == OPEN ? s2_active_closing_mode(active, unit) : STICK;
      changed = true;
    }
  }
  return changed;
}

// Returns true if the impulses of the search lead to the motion v.
static bool moves_alike(const Active *active, const double *v) {
  const S2Problem *problem = active->of.problem;
  double apart = 0;
  for (int i = 0; i < 3 * problem->nodes; i++) {
    apart = s2_larger(apart, fabs(active->v[i] - v[i]) * (i % 3 == 0 ? problem->length : 1));
  }
  return apart <= ALIKE * problem->velocity_scale;
}

// Records the modes of a try. Returns true if the search cycles: an earlier try with the same rule
// had these modes.
static bool active_circles(const Active *active, unsigned char *seen, int from, int try) {
  size_t units = (size_t)active->units;
  unsigned char *now = seen + (size_t)try * units;
  for (int i = 0; i < active->units; i++) {
    now[i] = (unsigned char)active->unit[i].mode;
  }
  int i = from;
  while (i < try && memcmp(seen + (size_t)i * units, now, units) != 0) {
    i++;
  }
  return i < try;
}

// Makes tries up to number `last`. Returns true if it found modes that hold, with their impulses
// refined.
static bool active_search(Active *active, int last, S2History *history, int *tries) {
  bool found = false;
  int first = *tries;
  unsigned char *seen =
      S2_TAKE(active->arena, unsigned char, (size_t)(last - first) * (size_t)active->units);
  while (*tries < last && !found) {
    S2ArenaMark mark = s2_arena_mark(active->arena);
    bool all = *tries < first + AT_ONCE;
    if (active_circles(active, seen, all ? *tries - first : AT_ONCE, *tries - first)) {
      return false;
    }
    *tries += 1;
    active_collect(active);
    active_decompose(active);
    solve_modes(active);
    if (active->lu.rank < active->lu.n) {
      find_basis(active);
      write_impulses(active);
      take_least_norm(active);
      active_read_impulses(active);
      speeds_of(active);
      active_strain(active);
    }
    s2_history_add(
        history,
        history != NULL ? s2_active_violation(active) / active->of.problem->velocity_scale : 0, 1,
        0);
    // If the modes hold for these impulses, refine the impulses and check the modes again.
    int wrong = s2_active_change_modes(active, all);
    if (wrong == 0) {
      active_finish(active);
      found = s2_active_change_modes(active, all) == 0;
    }
    // Each further try corrects one wrong unit, so stop if there are more than the remaining tries.
    last = all || wrong <= last - *tries ? last : *tries;
    if (!found) { // keep the factor for the caller after success
      s2_arena_rewind(active->arena, mark);
    }
  }
  return found;
}

// Searches from the guess. Then makes units on the edge between two modes stick or press, and
// searches again. `modes` may be NULL, otherwise it receives the mode of each unit in the answer.
// Returns false if there is no answer.
static bool active_run(Active *active, const S2SolverOptions *options, S2Solution *solution,
                       Mode *modes) {
  bool found = active_search(active, TRIES, options->history, &solution->iterations), edges = found;
  for (int pass = 0; pass < 2 && edges; pass++) {
    take_answer(active, solution);
    for (int i = 0; i < active->units && modes != NULL; i++) {
      modes[i] = active->unit[i].mode;
    }
    int last = solution->iterations + EDGE_TRIES;
    active->factored = pass > 0 || !hold_edges(active);
    edges = !active->factored &&
            active_search(active, last, options->history, &solution->iterations) &&
            moves_alike(active, solution->v);
  }
  return found;
}

// Returns false if this solver does not support the problem.
static bool active_set_up(Active *active, const S2Problem *problem, const S2SolverOptions *options,
                          S2Arena *arena, S2Solution *solution) {
  *active = (Active){.arena = arena};
  solution->iterations = 0;
  if (!s2_condense(&active->of, problem, 2 * UNITS_MOST, arena)) {
    return false;
  }
  int n = active->of.rows;
  active->unit = S2_TAKE(arena, Unit, n);
  active->held = S2_TAKE(arena, Held, n);
  active->x = S2_TAKE(arena, double, n);
  active->q = S2_TAKE(arena, double, n);
  active->u = S2_TAKE(arena, double, n);
  active->size = S2_TAKE(arena, double, n);
  active->lambda = S2_TAKE(arena, double, problem->rows);
  active->speed = S2_TAKE(arena, double, problem->rows);
  active->v = S2_TAKE(arena, double, 3 * problem->nodes);
  active->slack = fmin(SLACK, options->tolerance) * problem->velocity_scale;
  find_units(active);
  active_begin(active, solution);
  return true;
}

S2SolveStatus s2_active_solve(const S2Problem *problem, const S2SolverOptions *options,
                              S2Arena *arena, S2Solution *solution) {
  Active active;
  if (!active_set_up(&active, problem, options, arena, solution)) {
    return s2_solver_refuse(problem, arena, solution);
  }
  return active_run(&active, options, solution, NULL) ? S2_SOLVED : S2_MAX_ITERATIONS;
}

// ---- Corrections in the modes of an answer ------------------------------------------------------

struct S2ActiveModes {
  Active active;
  Mode *modes;          // modes of the answer
  double *y;            // L^-1 times the errors of the equations
  S2Solution *solution; // The solution whose impulses are corrected.
  // Set by the first correction, which factors the system. Most answers need no correction.
  bool factored;
};

S2ActiveModes *s2_active_keep(const S2Problem *problem, const S2SolverOptions *options,
                              S2Arena *arena, S2Solution *solution) {
  S2ActiveModes *kept = S2_TAKE(arena, S2ActiveModes, 1);
  Active *active = &kept->active;
  if (!active_set_up(active, problem, options, arena, solution)) {
    return NULL;
  }
  kept->factored = false;
  kept->solution = solution;
  kept->y = S2_TAKE(arena, double, active->of.equations);
  kept->modes = S2_TAKE(arena, Mode, active->units);
  return active_run(active, options, solution, kept->modes) ? kept : NULL;
}

// Factors the system in the modes of the answer. The last search may have left a different one.
static void factor_kept(S2ActiveModes *kept) {
  Active *active = &kept->active;
  if (!active->factored) {
    for (int i = 0; i < active->units; i++) {
      active->unit[i].mode = kept->modes[i];
    }
    active_collect(active);
    active_decompose(active);
  }
  find_basis(active);
  active->lambda = kept->solution->lambda;
  active_read_impulses(active);
  kept->factored = true;
}

double s2_active_missed(S2ActiveModes *kept, const double *speed) {
  if (!kept->factored) {
    factor_kept(kept);
  }
  memcpy(kept->active.speed, speed, sizeof(double) * (size_t)kept->active.of.problem->rows);
  return active_reduce(&kept->active, kept->y);
}

void s2_active_correct(S2ActiveModes *kept) {
  Active *active = &kept->active;
  S2ArenaMark mark = s2_arena_mark(active->arena);
  correct_held(active, S2_TAKE(active->arena, double, active->held_count), kept->y);
  take_least_norm(active);
  clip_impulses(active, active->lambda);
  active_read_impulses(active);
  s2_arena_rewind(active->arena, mark);
}
