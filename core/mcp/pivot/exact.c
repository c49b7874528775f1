// Refines a solution to the last digits.
//
// The rounding error of an impulse, at most half a unit in the last place of lambda, changes the
// velocity of its row by this error times the row's Delassus diagonal w. This matters for light
// nodes between heavy nodes, and for nodes with a small inertia. Let V be the velocity scale of the
// problem. If w lambda = 1e7 V, the error is about 1e-9 V, and no impulses in double precision have
// a smaller residual. The problem still has a solution with ordinary velocities. Therefore this
// file represents impulses as sums of two doubles, lambda + low, until velocities are computed from
// them:
//
// 1. The modes follow from the normal map lambda - u / w, with twice the digits. A contact
//    separates, presses, sticks or slides. A boxed row is at a bound or inside.
// 2. The active rows are equations A d = -u for the change d of their impulses. A is the Delassus
//    matrix. The column of a sliding contact is its normal column plus or minus mu times its
//    tangent column. A is assembled and eliminated with twice the digits and complete pivoting.
//    Linearly dependent rows keep their impulses.
// 3. If the new point has different modes, repeat these steps.
// 4. Linearly dependent rows may require slightly different velocities, such as the rows of two
//    corners that stick while the body turns. Impulses z of these rows that balance each other (A z
//    = 0) do not change any velocity. Their multiples are added, in the direction that opposes the
//    errors of the rows, until a row reaches its bound. This row is then released.
#include "mcp/pivot/exact.h"

#include "linalg/numbers.h"
#include "mcp/pivot/schur.h"
#include "mcp/solvers.h"

#include <string.h>

// Pivots up to this value, the square of 1e-13, count as 0. Scaled pivots are 1 at first. Rows
// whose relative difference is below 1e-13 differ only by the rounding of their Jacobians.
static const double REPEATS = 1e-26;

enum { CHANGES = 64 }; // maximum number of mode changes

// Limits the sum of n^3, where n is the number of rows of each elimination. An elimination takes 8
// n^3 operations. The limit permits one elimination of 460 rows, or CHANGES eliminations of 115
// rows. A search up to the limit takes about 0.5 s.
static const double MOST_WORK = 1e8;

typedef enum Mode { LOOSE = 0, HELD, AT_LOW, AT_HIGH } Mode; // mode of a row

typedef struct Exact {
  const S2Problem *problem;
  S2Arena *arena;
  S2Double2 *lambda, *u; // rows
  S2Double2 *v;          // velocities that the impulses give, 3 per node
  // For each row: its Delassus diagonal w, and a power of two near 1 / sqrt(w).
  double *w, *scale;
  Mode *mode; // mode of each row; a friction row slides if it is AT_LOW or AT_HIGH
  int count;
  int *row; // row that belongs to equation k and unknown k
} Exact;

static S2Double2 exact_of(double x) {
  return (S2Double2){x, 0};
}

static S2Double2 exact_times(S2Double2 x, double factor) {
  return s2_double2_multiply(x, exact_of(factor));
}

static S2Double2 exact_sees(const S2Double2 *v, const double *j, S2Double2 sum) {
  for (int k = 0; k < 3; k++) {
    sum = s2_double2_add(sum, exact_times(v[k], j[k]));
  }
  return sum;
}

// Computes v = W^-1 (c + J' lambda) and u = J v + C lambda + b.
static void exact_evaluate(Exact *exact) {
  const S2Problem *problem = exact->problem;
  const S2Double2 *v = exact->v;
  s2_mcp_velocity_precise(problem, exact->lambda, exact->v);
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    S2Double2 sum =
        s2_double2_add(exact_of(row->bias), exact_times(exact->lambda[i], row->compliance));
    sum = row->a >= 0 ? exact_sees(v + 3 * row->a, row->ja, sum) : sum;
    exact->u[i] = row->b >= 0 ? exact_sees(v + 3 * row->b, row->jb, sum) : sum;
  }
}

// Returns lambda - bound - u / w, which is positive if the normal map lambda - u / w is above the
// bound.
static double exact_beyond(const Exact *exact, int i, S2Double2 bound) {
  S2Double2 off = s2_double2_add(exact->lambda[i], s2_double2_negate(bound));
  return off.hi - exact->u[i].hi / exact->w[i];
}

static Mode exact_friction_mode(const Exact *exact, int i) {
  const S2Row *row = &exact->problem->row[i];
  S2Double2 bound = exact_times(exact->lambda[i - 1], row->mu);
  // Use the normal map of the normal row for the bound.
  double slack = row->mu * -exact->u[i - 1].hi / exact->w[i - 1];
  if (exact_beyond(exact, i, bound) > slack) {
    return AT_HIGH;
  }
  return exact_beyond(exact, i, s2_double2_negate(bound)) < -slack ? AT_LOW : HELD;
}

// Determines the modes from lambda and u. Returns true if a mode has changed.
static bool exact_read_modes(Exact *exact) {
  const S2Problem *problem = exact->problem;
  bool changed = false;
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    Mode mode = HELD;
    if (!(exact->w[i] > 0)) {
      mode = LOOSE;
    } else if (row->coupled_to >= 0) {
      bool pressed = exact->mode[i - 1] == HELD;
      mode = pressed && row->mu > 0 ? exact_friction_mode(exact, i) : LOOSE;
    } else if (row->lo != -INFINITY) {
      bool above = row->hi < INFINITY && exact_beyond(exact, i, exact_of(row->hi)) > 0;
      mode = above ? AT_HIGH : exact_beyond(exact, i, exact_of(row->lo)) > 0 ? HELD : AT_LOW;
    }
    changed |= mode != exact->mode[i];
    exact->mode[i] = mode;
  }
  return changed;
}

// Sets impulses at their bounds, and lists the active rows.
static void exact_collect(Exact *exact) {
  const S2Problem *problem = exact->problem;
  exact->count = 0;
  for (int i = 0; i < problem->rows; i++) {
    const S2Row *row = &problem->row[i];
    Mode mode = exact->mode[i];
    if (mode == HELD) {
      exact->row[exact->count++] = i;
    } else if (mode == LOOSE) {
      exact->lambda[i] = exact_of(0);
    } else if (row->coupled_to >= 0) {
      exact->lambda[i] = exact_times(exact->lambda[i - 1], mode == AT_HIGH ? row->mu : -row->mu);
    } else {
      exact->lambda[i] = exact_of(mode == AT_HIGH ? row->hi : row->lo);
    }
  }
}

// Returns the change of the friction impulse per change of the normal impulse lambda_i if the
// contact slides, otherwise 0.
static double exact_slope(const Exact *exact, int i) {
  const S2Problem *problem = exact->problem;
  if (i + 1 >= problem->rows || problem->row[i + 1].coupled_to != i) {
    return 0;
  }
  Mode mode = exact->mode[i + 1];
  double mu = problem->row[i + 1].mu;
  return mode == AT_HIGH ? mu : mode == AT_LOW ? -mu : 0;
}

// Returns the scaled equations: A, with -u as the last column.
static S2Double2 *exact_equations(const Exact *exact) {
  const S2Problem *problem = exact->problem;
  int n = exact->count, width = n + 1;
  S2Double2 *a = S2_TAKE(exact->arena, S2Double2, (size_t)n * (size_t)width);
  for (int k = 0; k < n; k++) {
    int i = exact->row[k];
    for (int l = 0; l < n; l++) {
      int j = exact->row[l];
      double slope = exact_slope(exact, j), unit = exact->scale[i] * exact->scale[j];
      S2Double2 entry = s2_schur_precise(problem, &problem->row[i], &problem->row[j]);
      if (i == j) {
        entry = s2_double2_add(entry, exact_of(problem->row[i].compliance));
      }
      if (slope != 0) {
        S2Double2 along = s2_schur_precise(problem, &problem->row[i], &problem->row[j + 1]);
        entry = s2_double2_add(entry, exact_times(along, slope));
      }
      a[k * width + l] = exact_times(entry, unit);
    }
    a[k * width + n] = exact_times(s2_double2_negate(exact->u[i]), exact->scale[i]);
  }
  return a;
}

// The equations after elimination. The first `rank` rows contain U and the transformed right side.
typedef struct Elimination {
  int n, rank;
  S2Double2 *a; // n x (n + 1) numbers
  int *column;  // original index of unknown k
} Elimination;

// Moves the largest remaining entry to (rank, rank). Returns false if this entry is only a rounding
// error.
static bool exact_bring_pivot(const Elimination *to) {
  S2Double2 *a = to->a;
  int n = to->n, k = to->rank, width = n + 1, best_row = k, best_column = k;
  double best = REPEATS;
  bool found = false;
  for (int i = k; i < n; i++) {
    for (int j = k; j < n; j++) {
      double size = fabs(a[i * width + j].hi);
      if (size > best) {
        best = size;
        best_row = i;
        best_column = j;
        found = true;
      }
    }
  }
  // Exchange rows with their right sides, and columns with their indices.
  for (int j = 0; j < width && best_row != k; j++) {
    S2Double2 kept = a[k * width + j];
    a[k * width + j] = a[best_row * width + j];
    a[best_row * width + j] = kept;
  }
  for (int i = 0; i < n && best_column != k; i++) {
    S2Double2 kept = a[i * width + k];
    a[i * width + k] = a[i * width + best_column];
    a[i * width + best_column] = kept;
  }
  int kept = to->column[k];
  to->column[k] = to->column[best_column];
  to->column[best_column] = kept;
  return found;
}

static Elimination exact_eliminate(const Exact *exact) {
  int n = exact->count, width = n + 1;
  Elimination to = {.n = n, .a = exact_equations(exact), .column = S2_TAKE(exact->arena, int, n)};
  for (int k = 0; k < n; k++) {
    to.column[k] = k;
  }
  for (; to.rank < n && exact_bring_pivot(&to); to.rank++) {
    const S2Double2 *pivot_row = to.a + to.rank * width;
    for (int i = to.rank + 1; i < n; i++) {
      S2Double2 *row = to.a + i * width;
      if (row[to.rank].hi == 0) {
        continue;
      }
      S2Double2 factor = s2_double2_negate(s2_double2_divide(row[to.rank], pivot_row[to.rank]));
      for (int j = to.rank + 1; j < width; j++) {
        row[j] = s2_double2_add(row[j], s2_double2_multiply(factor, pivot_row[j]));
      }
    }
  }
  return to;
}

// x := U^-1 times column c of the eliminated equations, for the first `rank` unknowns.
static void exact_back(const Elimination *from, int c, S2Double2 *x) {
  int width = from->n + 1;
  for (int k = from->rank - 1; k >= 0; k--) {
    const S2Double2 *row = from->a + k * width;
    S2Double2 sum = row[c];
    for (int l = k + 1; l < from->rank; l++) {
      sum = s2_double2_add(sum, s2_double2_negate(s2_double2_multiply(row[l], x[l])));
    }
    x[k] = s2_double2_divide(sum, row[k]);
  }
}

// lambda_i += change. If the contact slides, changes its friction impulse accordingly.
static void exact_change(Exact *exact, int i, S2Double2 change) {
  double slope = exact_slope(exact, i);
  exact->lambda[i] = s2_double2_add(exact->lambda[i], change);
  if (slope != 0) {
    exact->lambda[i + 1] = exact_times(exact->lambda[i], slope);
  }
}

// Solves for the impulses. Leaves the unknowns beyond the rank unchanged.
static void exact_solve(Exact *exact, const Elimination *from) {
  S2ArenaMark mark = s2_arena_mark(exact->arena);
  S2Double2 *x = S2_TAKE(exact->arena, S2Double2, from->n);
  exact_back(from, from->n, x);
  for (int k = 0; k < from->rank; k++) {
    int i = exact->row[from->column[k]];
    exact_change(exact, i, exact_times(x[k], exact->scale[i]));
  }
  s2_arena_rewind(exact->arena, mark);
}

// Computes impulses z, one per row, that balance each other and involve unknown c, which is beyond
// the rank. Chooses the sign of z that opposes the errors of the rows. Returns the scaled sum of
// these errors along z.
static double exact_balance(const Exact *exact, const Elimination *from, int c, double *z) {
  S2ArenaMark mark = s2_arena_mark(exact->arena);
  S2Double2 *x = S2_TAKE(exact->arena, S2Double2, from->n);
  memset(z, 0, sizeof(double) * (size_t)exact->problem->rows);
  exact_back(from, c, x);
  x[c] = exact_of(-1);
  double met = 0;
  for (int k = 0; k <= c; k++) {
    int i = exact->row[from->column[k]];
    if (k < from->rank || k == c) {
      z[i] = -x[k].hi * exact->scale[i];
      met += z[i] * exact->u[i].hi;
    }
  }
  for (int i = 0; i < exact->problem->rows && met > 0; i++) {
    z[i] = -z[i];
  }
  s2_arena_rewind(exact->arena, mark);
  return fabs(met);
}

// Returns the multiple of z at which the row reaches a bound, and writes this bound to `bound`.
static double exact_reach(const Exact *exact, int i, const double *z, Mode *bound) {
  const S2Row *row = &exact->problem->row[i];
  double lo = row->lo, hi = row->hi, lo_rate = 0, hi_rate = 0, at = exact->lambda[i].hi;
  if (row->coupled_to >= 0) {
    hi = row->mu * exact->lambda[i - 1].hi;
    hi_rate = row->mu * z[i - 1];
    lo = -hi;
    lo_rate = -hi_rate;
  }
  double up = z[i] - hi_rate > 0 ? fmax(hi - at, 0) / (z[i] - hi_rate) : INFINITY;
  double down = lo_rate - z[i] > 0 ? fmax(at - lo, 0) / (lo_rate - z[i]) : INFINITY;
  *bound = up < down ? AT_HIGH : AT_LOW;
  return fmin(up, down);
}

// Returns true if an active row is violated by more than `aim`. After a solve, this can happen only
// if rows are linearly dependent.
static bool exact_misses(const Exact *exact, double aim) {
  const S2Problem *problem = exact->problem;
  for (int k = 0; k < exact->count; k++) {
    int i = exact->row[k];
    double unit = s2_row_weight(problem, &problem->row[i]);
    if (fabs(exact->u[i].hi) * unit > aim * problem->velocity_scale) {
      return true;
    }
  }
  return false;
}

// If linearly dependent rows are violated, releases one of the rows that oppose each other. Returns
// false if there is no such row.
static bool exact_release(Exact *exact, const Elimination *from, double aim) {
  if (from->rank == from->n || !exact_misses(exact, aim)) {
    return false;
  }
  S2ArenaMark mark = s2_arena_mark(exact->arena);
  int rows = exact->problem->rows;
  double *z = S2_TAKE(exact->arena, double, rows);
  int worst = -1;
  double most = 0;
  for (int c = from->rank; c < from->n; c++) {
    double met = exact_balance(exact, from, c, z);
    if (met > most) {
      most = met;
      worst = c;
    }
  }
  int first = -1;
  double least = INFINITY;
  Mode at = HELD;
  if (worst >= 0) {
    exact_balance(exact, from, worst, z);
    for (int k = 0; k < exact->count; k++) {
      Mode bound;
      double reach = exact_reach(exact, exact->row[k], z, &bound);
      if (reach < least) {
        least = reach;
        first = exact->row[k];
        at = bound;
      }
    }
  }
  for (int k = 0; k < exact->count && first >= 0; k++) {
    int i = exact->row[k];
    exact_change(exact, i, exact_of(least * z[i]));
  }
  if (first >= 0) {
    exact->mode[first] = at;
    bool pressed = first + 1 < rows && exact->problem->row[first + 1].coupled_to == first;
    if (pressed) { // separate the contact of this normal row
      exact->mode[first + 1] = LOOSE;
    }
  }
  s2_arena_rewind(exact->arena, mark);
  return first >= 0;
}

static Exact exact_begin(const S2Problem *problem, const double *lambda, S2Arena *arena) {
  int rows = problem->rows;
  Exact exact = {
      .problem = problem,
      .arena = arena,
      .lambda = S2_TAKE(arena, S2Double2, rows),
      .u = S2_TAKE(arena, S2Double2, rows),
      .v = S2_TAKE(arena, S2Double2, 3 * problem->nodes),
      .w = S2_TAKE(arena, double, rows),
      .scale = S2_TAKE(arena, double, rows),
      .mode = S2_TAKE_ZEROED(arena, Mode, rows),
      .row = S2_TAKE(arena, int, rows),
  };
  s2_mcp_delassus_diagonal(problem, exact.w);
  for (int i = 0; i < rows; i++) {
    exact.lambda[i] = exact_of(lambda[i]);
    exact.scale[i] = s2_half_inverse(exact.w[i]);
  }
  exact_evaluate(&exact);
  exact_read_modes(&exact);
  return exact;
}

// Clips impulses to their bounds. Impulses may exceed them slightly if rounding errors decided the
// modes.
static void exact_clip(const Exact *exact) {
  for (int i = 0; i < exact->problem->rows; i++) {
    const S2Row *row = &exact->problem->row[i];
    S2Double2 lo = exact_of(row->lo), hi = exact_of(row->hi);
    if (row->coupled_to >= 0) {
      hi = exact_times(exact->lambda[i - 1], row->mu);
      lo = s2_double2_negate(hi);
    }
    if (s2_double2_less(exact->lambda[i], lo)) {
      exact->lambda[i] = lo;
    } else if (s2_double2_less(hi, exact->lambda[i])) {
      exact->lambda[i] = hi;
    }
  }
}

// Computes the answer and its residual. First tries impulses in double precision. If their residual
// is above `aim`, uses sums of two doubles.
static void exact_judge(Exact *exact, double aim, S2Solution *found) {
  const S2Problem *problem = exact->problem;
  exact_clip(exact);
  for (int i = 0; i < problem->rows; i++) {
    found->lambda[i] = exact->lambda[i].hi;
    found->low[i] = 0;
  }
  s2_mcp_velocity(problem, found->lambda, found->v);
  found->residual = s2_mcp_residual(problem, found->v, found->lambda, exact->arena);
  if (found->residual.scaled <= aim) {
    return;
  }
  s2_mcp_velocity_precise(problem, exact->lambda, exact->v);
  for (int i = 0; i < problem->rows; i++) {
    found->low[i] = exact->lambda[i].lo;
  }
  for (int i = 0; i < 3 * problem->nodes; i++) {
    found->v[i] = exact->v[i].hi;
  }
  found->residual =
      s2_mcp_residual_of_sum(problem, found->v, found->lambda, found->low, exact->arena);
}

static S2Solution exact_answer(const S2Problem *problem, S2Arena *arena) {
  return (S2Solution){.v = S2_TAKE(arena, double, 3 * problem->nodes),
                      .lambda = S2_TAKE(arena, double, problem->rows),
                      .low = S2_TAKE(arena, double, problem->rows),
                      .residual = {.scaled = INFINITY}};
}

// Solves in the current modes, and changes the modes until they belong to a solution. Returns the
// best answer found.
static S2Solution exact_search(Exact *exact, double aim) {
  size_t rows = (size_t)exact->problem->rows;
  S2Solution best = exact_answer(exact->problem, exact->arena);
  S2Solution next = exact_answer(exact->problem, exact->arena);
  S2Double2 *kept = S2_TAKE(exact->arena, S2Double2, rows);
  bool changed = true;
  double work = 0;
  for (int change = 0; change < CHANGES && changed; change++) {
    S2ArenaMark mark = s2_arena_mark(exact->arena);
    exact_collect(exact);
    double n = exact->count;
    work += n * n * n;
    if (work > MOST_WORK) {
      break;
    }
    exact_evaluate(exact);
    Elimination equations = exact_eliminate(exact);
    exact_solve(exact, &equations);
    memcpy(kept, exact->lambda, rows * sizeof *kept);
    exact_judge(exact, aim, &next);
    if (next.residual.scaled < best.residual.scaled) {
      S2Solution worse = best;
      best = next;
      next = worse;
    }
    if (best.residual.scaled <= aim) {
      break;
    }
    memcpy(exact->lambda, kept, rows * sizeof *kept);
    exact_evaluate(exact);
    // Release rows first. Until then the impulses of linearly dependent rows do not show their
    // modes.
    changed = exact_release(exact, &equations, aim) || exact_read_modes(exact);
    s2_arena_rewind(exact->arena, mark);
  }
  return best;
}

bool s2_exact_finish(const S2Problem *problem, double tolerance, double aim, S2Arena *arena,
                     S2Solution *solution) {
  size_t rows = (size_t)problem->rows;
  if (problem->mass == NULL || !s2_all_finite(solution->lambda, rows)) {
    return false;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  Exact exact = exact_begin(problem, solution->lambda, arena);
  S2Solution best = exact_search(&exact, aim);
  bool good = best.residual.scaled <= tolerance;
  if (good) {
    memcpy(solution->v, best.v, sizeof(double) * (size_t)(3 * problem->nodes));
    memcpy(solution->lambda, best.lambda, rows * sizeof(double));
    if (solution->low != NULL) {
      memcpy(solution->low, best.low, rows * sizeof(double));
    }
    solution->residual = best.residual;
    solution->status = S2_SOLVED;
  }
  s2_arena_rewind(arena, mark);
  return good;
}
