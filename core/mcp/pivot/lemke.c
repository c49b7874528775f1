// Solves the step problem by pivoting (Stewart and Trinkle 1996).
//
// 1. Velocities are eliminated, which gives u = G lambda + q with the Delassus matrix G = J W^-1 J'
//    + C.
// 2. Rows are scaled to a unit diagonal, so that small values do not depend on masses.
// 3. Bilateral rows are eliminated (schur.c). Redundant rows keep lambda = 0. The remaining problem
//    of the contacts is scaled to a unit diagonal again.
// 4. The remaining problem is an LCP. A contact with friction has z = (lambda_n, beta+, beta-, s)
//    and the rows
//
//        u_n                                 (lambda_t = beta+ - beta-)
//        u_t + s
//       -u_t + s
//        mu lambda_n - beta+ - beta-
//
//    where s is the sliding speed. A contact without friction has only z = lambda_n. A boxed row
//    has z = (lambda - lo, p) with the rows u + p and hi - lambda. The matrix is copositive, so
//    Lemke's method finds a solution if the frictionless problem has a solution.
// 5. The final basis shows whether a contact separates, sticks or slides, and in which direction.
//    The linear system of these modes, including bilateral rows, is solved again. Its residuals are
//    computed from the velocities.
#include "mcp/pivot/lemke.h"

#include "mcp/pivot/dense_lu.h"
#include "mcp/pivot/lcp_pivot.h"
#include "mcp/pivot/schur.h"
#include "mcp/solvers.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

// Rank tolerances of the scaled active-set system, whose entries are about 1. Rounding leaves
// pivots of 1e-15 for redundant rows. Light links between heavy bodies give valid pivots that are
// nearly as small. The second value is used if the first value does not reach the tolerance.
static const double ACTIVE_RANK[] = {1e-12, 1e-15};

// A free velocity (the velocity without impulses) counts as a rounding error if it is below a
// fraction of the largest free velocity. The fraction is EMPTY_NOISE for rows that joints leave no
// freedom, and NOISE for other rows. The elimination of a row without freedom cancels all leading
// digits, and the loss of digits grows with the mass ratio.
static const double NOISE = 1e-14;
static const double EMPTY_NOISE = 1e-10;

// Refine again if the residual is at most this multiple of the tolerance.
static const double CLOSE = 100;

// Try no other basis if the residual is within this multiple of the rounding error.
static const double AT_ROUNDING = 4;

enum {
  REFINEMENTS = 8,         // maximum number of refinements of the active-set solve
  ATTEMPTS = 3,            // default settings, careful settings, another covering vector
  PIVOTS_BASE = 50,        // pivots per attempt, plus the following number per variable
  PIVOTS_PER_VARIABLE = 5, // pivots per variable; Lemke usually needs one or two
};

// A boxed row is in mode SEPARATE at its lower bound, NO_TANGENT between its bounds and AT_TOP at
// its upper bound.
typedef enum Mode { SEPARATE = 0, STICK, SLIDE_BACK, SLIDE_AHEAD, NO_TANGENT, AT_TOP } Mode;

typedef struct Work {
  const S2Problem *problem;
  S2Arena *arena;
  S2History *history;
  S2Schur schur;
  int contacts, n;   // contacts include boxed rows; n is the size of the LCP
  int *normal;       // normal row of each contact
  int *first;        // first LCP variable of each contact
  bool *friction;    // true if the contact has a friction row with mu > 0
  bool *box;         // true if the contact is a boxed row
  double *left;      // schur.left, scaled, for boxed rows at their lower bounds
  double *lcp_scale; // like schur.scale, but for the rows of the LCP
  double unit;       // the right side of the LCP is divided by this size
  double *m, *q, *z; // the LCP
  bool *basic;
  double *lambda, *best_lambda, *v;
  S2Residual best;
  double tolerance; // on best.scaled
} Work;

static bool lemke_supported(const S2Problem *problem) {
  int contacts = 0, bilateral = 0;
  for (int i = 0; i < problem->rows; ++i) {
    const S2Row *row = &problem->row[i];
    // Skip friction rows, because they belong to their contacts.
    if (row->coupled_to >= 0) {
      assert(row->coupled_to == i - 1);
      continue;
    }
    bool free = row->lo == -INFINITY && row->hi == INFINITY;
    bool box = isfinite(row->lo) && isfinite(row->hi) && row->lo < row->hi;
    if (!free && !box && !(row->lo == 0 && row->hi == INFINITY)) {
      return false;
    }
    bilateral += free;
    contacts += !free;
  }
  return contacts <= S2_LEMKE_MAX_CONTACTS && bilateral <= S2_LEMKE_MAX_JOINT_ROWS;
}

// Removes rounding errors. If joints prevent any motion along a contact row, elimination leaves
// rounding errors in place of zeros. A right side of -1e-17 in such an empty row would make the
// problem infeasible.
static void drop_noise(Work *work, double redundant) {
  int rows = work->schur.rows;
  double *s = work->schur.s, *left = work->schur.left;
  // Rounding errors are compared with the largest velocity before elimination.
  double free = 0;
  for (int i = 0; i < rows; ++i) {
    free = fmax(free, fabs(work->schur.q[i]));
  }
  for (int i = 0; i < rows; ++i) {
    // Clear a row along which no motion is possible.
    bool empty = s[i * rows + i] <= redundant;
    for (int j = 0; j < rows && empty; ++j) {
      s[i * rows + j] = s[j * rows + i] = 0;
    }
    if (fabs(left[i]) <= (empty ? EMPTY_NOISE : NOISE) * free) {
      left[i] = 0;
    }
    work->lcp_scale[i] = empty ? 1 : 1 / sqrt(s[i * rows + i]);
  }
  // Scale the remaining rows to a unit diagonal again.
  for (int i = 0; i < rows; ++i) {
    left[i] *= work->lcp_scale[i];
    for (int j = 0; j < rows; ++j) {
      s[i * rows + j] *= work->lcp_scale[i] * work->lcp_scale[j];
    }
  }
  for (int i = 0; i < rows; ++i) {
    work->lcp_scale[i] *= work->schur.scale[i];
  }
}

// Shifts the impulses of boxed rows so that their lower bounds are zero.
static void shift_boxes(Work *work) {
  int rows = work->schur.rows;
  memcpy(work->left, work->schur.left, sizeof(double) * (size_t)rows);
  for (int c = 0; c < work->contacts; ++c) {
    // With lambda = lo + z, the effect of lo on all rows moves to the right side.
    if (work->box[c]) {
      int j = work->normal[c];
      double lo = work->problem->row[j].lo / work->lcp_scale[j];
      for (int i = 0; i < rows; ++i) {
        work->left[i] += work->schur.s[i * rows + j] * lo;
      }
    }
  }
}

// Sets the unit of the LCP. Returns true if a contact would penetrate without impulses.
static bool is_pressing(Work *work) {
  bool pressing = false;
  work->unit = 0;
  for (int c = 0; c < work->contacts; ++c) {
    const double *left = work->left + work->normal[c];
    pressing = pressing || left[0] < 0;
    work->unit = fmax(work->unit, work->friction[c] ? fmax(-left[0], fabs(left[1])) : -left[0]);
  }
  return pressing;
}

// Returns lambda_t / lambda_n at the friction bound, with both impulses scaled by `scale`.
static double scaled_mu(const Work *work, int contact, const double *scale) {
  int i = work->normal[contact];
  return work->problem->row[i + 1].mu * scale[i] / scale[i + 1];
}

// Builds the matrix and the right side of step 4.
static void build_lcp(Work *work) {
  int n = work->n, rows = work->schur.rows;
  const double *s = work->schur.s, *left = work->left;
  memset(work->m, 0, sizeof(double) * (size_t)n * (size_t)n);
  memset(work->q, 0, sizeof(double) * (size_t)n);
  // Copy the entries of G between the rows of contact c and the columns of contact d.
  for (int c = 0; c < work->contacts; ++c) {
    int i = work->normal[c], at = work->first[c];
    for (int d = 0; d < work->contacts; ++d) {
      int j = work->normal[d];
      double *m = work->m + at * n + work->first[d];
      m[0] = s[i * rows + j];
      // beta+ and beta- act on the tangent in opposite directions.
      if (work->friction[d]) {
        m[1] = s[i * rows + j + 1];
        m[2] = -m[1];
      }
      // u_t + s and -u_t + s have all tangent entries with both signs.
      if (work->friction[c]) {
        m[n] = s[(i + 1) * rows + j];
        m[2 * n] = -m[n];
      }
      if (work->friction[c] && work->friction[d]) {
        double tt = s[(i + 1) * rows + j + 1];
        m[n + 1] = m[2 * n + 2] = tt;
        m[n + 2] = m[2 * n + 1] = -tt;
      }
    }
    work->q[at] = left[i] / work->unit;
    // A boxed row has the conditions u + p >= 0 and hi - lo - z >= 0.
    if (work->box[c]) {
      const S2Row *row = &work->problem->row[i];
      work->m[at * n + at + 1] = 1;
      work->m[(at + 1) * n + at] = -1;
      work->q[at + 1] = (row->hi - row->lo) / (work->lcp_scale[i] * work->unit);
    }
    // Add the sliding speed s to both tangent rows, and write the row mu lambda_n - beta+ - beta-.
    if (work->friction[c]) {
      double *m = work->m + at * n + at;
      m[n + 3] = m[2 * n + 3] = 1;
      m[3 * n] = scaled_mu(work, c, work->lcp_scale);
      m[3 * n + 1] = m[3 * n + 2] = -1;
      work->q[at + 1] = left[i + 1] / work->unit;
      work->q[at + 2] = -work->q[at + 1];
    }
  }
}

// Determines the mode of a contact from the final basis. If the contact presses, at most two of
// beta+, beta- and s are basic. If s and one of the other two are basic, the contact slides.
static Mode lemke_mode_of(const Work *work, int contact) {
  const bool *basic = work->basic + work->first[contact];
  if (!basic[0]) {
    return SEPARATE;
  }
  if (work->box[contact]) {
    return basic[1] ? AT_TOP : NO_TANGENT;
  }
  if (!work->friction[contact] || (!basic[1] && !basic[2])) {
    return NO_TANGENT;
  }
  if ((basic[1] && basic[2]) || !basic[3]) {
    return STICK;
  }
  return basic[1] ? SLIDE_BACK : SLIDE_AHEAD; // beta+ pushes ahead, which opposes sliding back
}

// Clips lambda to its bounds exactly.
static void lemke_clip(const S2Problem *problem, double *lambda) {
  for (int i = 0; i < problem->rows; ++i) {
    const S2Row *row = &problem->row[i];
    if (row->coupled_to >= 0) {
      double bound = row->mu * lambda[i - 1];
      lambda[i] = fmin(bound, fmax(-bound, lambda[i]));
    } else if (!s2_schur_is_bilateral(row)) {
      lambda[i] = fmin(row->hi, fmax(row->lo, lambda[i]));
    }
  }
}

// Computes the residual of a clipped copy of work->lambda, and keeps this copy if it is the best so
// far.
static double lemke_judge(Work *work) {
  S2ArenaMark mark = s2_arena_mark(work->arena);
  size_t bytes = sizeof(double) * (size_t)work->problem->rows;
  double *lambda = s2_arena_take(work->arena, bytes);
  // Clip to the bounds, as s2_lemke_solve does with its final answer.
  memcpy(lambda, work->lambda, bytes);
  lemke_clip(work->problem, lambda);
  s2_mcp_velocity(work->problem, lambda, work->v);
  S2Residual residual = s2_mcp_residual(work->problem, work->v, lambda, work->arena);
  if (residual.scaled < work->best.scaled) {
    work->best = residual;
    memcpy(work->best_lambda, lambda, bytes);
  }
  s2_arena_rewind(work->arena, mark);
  return residual.scaled;
}

typedef struct Active {
  int count;
  int *row;      // row of unknown k and equation k
  double *fixed; // Impulses of all other rows, which are the bounds of boxed rows, and 0 otherwise.
  // Scaled ratio of friction to normal impulse if the contact slides, otherwise 0.
  double *slope;
} Active;

static Active collect_active(const Work *work) {
  int rows = work->schur.rows;
  Active active = {
      .row = S2_TAKE(work->arena, int, rows),
      .slope = S2_TAKE_ZEROED(work->arena, double, rows),
      .fixed = S2_TAKE_ZEROED(work->arena, double, rows),
  };
  // All joint rows that are not redundant are active.
  for (int i = 0; i < rows; ++i) {
    if (work->schur.pivoted[i]) {
      active.row[active.count++] = i;
    }
  }
  // Depending on its mode, a contact adds no row, its normal row, or both rows. If it slides, its
  // friction impulse follows from the normal impulse by a slope.
  for (int c = 0; c < work->contacts; ++c) {
    Mode mode = lemke_mode_of(work, c);
    if (mode == SEPARATE || mode == AT_TOP) {
      const S2Row *row = &work->problem->row[work->normal[c]];
      active.fixed[work->normal[c]] = mode == AT_TOP ? row->hi : row->lo;
      continue;
    }
    if (mode == SLIDE_BACK || mode == SLIDE_AHEAD) {
      double slope = scaled_mu(work, c, work->schur.scale);
      active.slope[active.count] = mode == SLIDE_BACK ? slope : -slope;
    }
    active.row[active.count++] = work->normal[c];
    if (mode == STICK) {
      active.row[active.count++] = work->normal[c] + 1;
    }
  }
  return active;
}

static S2DenseLu factor_active(const Work *work, const Active *active, double rank_tolerance) {
  int count = active->count, rows = work->schur.rows;
  double *a = S2_TAKE(work->arena, double, (size_t)count *(size_t)count);
  // The column of a sliding contact is its normal column plus slope times its tangent column.
  for (int k = 0; k < count; ++k) {
    const double *g = work->schur.g + active->row[k] * rows;
    for (int l = 0; l < count; ++l) {
      int j = active->row[l];
      a[k * count + l] = g[j] + (active->slope[l] != 0 ? active->slope[l] * g[j + 1] : 0);
    }
  }
  return s2_dense_lu_factor(count, a, rank_tolerance, work->arena);
}

// step := -u, scaled, of the active rows at work->lambda.
static void active_velocities(Work *work, const Active *active, double *u, double *step) {
  const S2Problem *problem = work->problem;
  s2_mcp_velocity(problem, work->lambda, work->v);
  s2_mcp_row_velocity(problem, work->v, u);
  for (int k = 0; k < active->count; ++k) {
    int i = active->row[k];
    double speed = u[i] + problem->row[i].compliance * work->lambda[i] + problem->row[i].bias;
    step[k] = -work->schur.scale[i] * speed;
  }
}

// Solves the system of the active rows. It starts from lambda = 0, which discards the rounding
// errors of the dictionary.
static void solve_active(Work *work, double rank_tolerance) {
  S2ArenaMark mark = s2_arena_mark(work->arena);
  const double *scale = work->schur.scale;
  Active active = collect_active(work);
  S2DenseLu lu = factor_active(work, &active, rank_tolerance);
  double *step = S2_TAKE(work->arena, double, active.count);
  double *u = S2_TAKE(work->arena, double, work->schur.rows);
  // Start from lambda = 0, except for boxed rows at a bound. Then take steps by the residuals of
  // the rows, computed from the velocities.
  memcpy(work->lambda, active.fixed, sizeof(double) * (size_t)work->schur.rows);
  double last = INFINITY;
  // Each pass gains as many digits as the factors have.
  for (int pass = 0; pass <= REFINEMENTS; ++pass) {
    active_velocities(work, &active, u, step);
    s2_dense_lu_solve(&lu, step);
    for (int k = 0; k < active.count; ++k) {
      int i = active.row[k];
      work->lambda[i] += scale[i] * step[k];
      if (active.slope[k] != 0) {
        work->lambda[i + 1] = active.slope[k] * work->lambda[i] * scale[i + 1] / scale[i];
      }
    }
    double now = lemke_judge(work);
    // Continue until rounding dominates. Slightly above the tolerance, another pass may still
    // succeed.
    bool close = now > work->tolerance && now <= CLOSE * work->tolerance;
    if (!(now < last / 2) && !close) {
      break;
    }
    last = now;
  }
  s2_arena_rewind(work->arena, mark);
}

// Step 5.
static void lemke_polish(Work *work) {
  solve_active(work, ACTIVE_RANK[0]);
  if (!(work->best.scaled <= work->tolerance)) {
    solve_active(work, ACTIVE_RANK[1]);
  }
}

// Returns true if the best point is as accurate as impulses in double precision permit. If heavy
// bodies push a light body from both sides, the rounding errors of the impulses alone move it.
static bool at_rounding(const Work *work) {
  const S2Problem *problem = work->problem;
  if (problem->mobility != NULL) {
    return false; // mobility matrices have unknown rounding errors
  }
  S2ArenaMark mark = s2_arena_mark(work->arena);
  // Sum the magnitudes of all momenta that act on each node, which bounds their rounding errors.
  double *size = S2_TAKE(work->arena, double, 3 * problem->nodes);
  for (int i = 0; i < 3 * problem->nodes; ++i) {
    size[i] = fabs(problem->rhs[i]);
  }
  for (int i = 0; i < problem->rows; ++i) {
    const S2Row *row = &problem->row[i];
    for (int k = 0; k < 3; ++k) {
      if (row->a >= 0) {
        size[3 * row->a + k] += fabs(row->ja[k] * work->best_lambda[i]);
      }
      if (row->b >= 0) {
        size[3 * row->b + k] += fabs(row->jb[k] * work->best_lambda[i]);
      }
    }
  }
  // Convert the magnitudes to velocities. Their product with the unit round-off is the smallest
  // possible residual.
  double largest = 0;
  for (int i = 0; i < 3 * problem->nodes; ++i) {
    double speed = size[i] / problem->mass[i];
    largest = fmax(largest, i % 3 == 0 ? speed * problem->length : speed);
  }
  s2_arena_rewind(work->arena, mark);
  return work->best.scaled * problem->velocity_scale <= AT_ROUNDING * DBL_EPSILON * largest;
}

// Writes a covering vector of irregular numbers between 1 and 2, 1 plus the fractional parts of
// multiples of the golden ratio. This may avoid a ray or an unlucky tie that occurred with a vector
// of ones.
static void other_cover(double *cover, int n) {
  const double golden = 0.61803398874989485;
  for (int i = 0; i < n; ++i) {
    double x = golden * (i + 1);
    cover[i] = 1 + (x - floor(x));
  }
}

static void read_dictionary(Work *work) {
  memset(work->lambda, 0, sizeof(double) * (size_t)work->schur.rows);
  for (int c = 0; c < work->contacts; ++c) {
    int i = work->normal[c];
    const double *z = work->z + work->first[c];
    work->lambda[i] = work->problem->row[i].lo + work->lcp_scale[i] * work->unit * z[0];
    if (work->friction[c]) {
      work->lambda[i + 1] = work->lcp_scale[i + 1] * work->unit * (z[1] - z[2]);
    }
  }
}

// Runs steps 4 and 5 with several settings for rounding, until the residual is at most the
// tolerance.
static S2SolveStatus lemke_pivot(Work *work, int attempts, int *pivots) {
  int n = work->n;
  // Build the problem of step 4. Stop if a number is too large for a double.
  build_lcp(work);
  if (!s2_all_finite(work->m, (size_t)n * (size_t)n) || !s2_all_finite(work->q, (size_t)n)) {
    return S2_SINGULAR;
  }
  double *cover = S2_TAKE(work->arena, double, n);
  for (int i = 0; i < n; ++i) {
    cover[i] = 1;
  }
  S2LcpPivoting pivoting = s2_lcp_pivoting_default(n, cover);
  pivoting.history = work->history;
  pivoting.max_pivots = PIVOTS_BASE + PIVOTS_PER_VARIABLE * n;
  S2SolveStatus status = S2_SINGULAR;
  // Try the default settings, then careful settings, then another covering vector.
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (attempt == 1) {
      s2_lcp_pivoting_careful(&pivoting);
    } else if (attempt > 1) {
      other_cover(cover, n);
    }
    int spent = 0;
    S2SolveStatus ended = s2_lcp_pivot(n, work->m, work->q, work->z, work->basic, NULL, NULL,
                                       &pivoting, work->arena, &spent);
    *pivots += spent;
    // Refine even after a failure, because the vertex may still be a solution. For example,
    // pivoting fails if contacts squeeze a body from opposite sides and rounding makes their rows
    // contradict each other by 1e-16. It also fails if many contacts neither press nor slide,
    // because all pivots are then rounding errors.
    lemke_polish(work);
    if (!(work->best.scaled <= work->tolerance)) {
      read_dictionary(work);
      lemke_judge(work);
    }
    if (work->best.scaled <= work->tolerance) {
      return S2_SOLVED;
    }
    if (at_rounding(work)) {
      return S2_SINGULAR;
    }
    // Report a ray rather than the numerical failure of another attempt.
    status = ended == S2_RAY || status == S2_RAY ? S2_RAY : S2_SINGULAR;
  }
  return status;
}

static Work work_take(const S2Problem *problem, double tolerance, S2Arena *arena) {
  int rows = problem->rows;
  Work work = {
      .problem = problem,
      .arena = arena,
      .normal = S2_TAKE(arena, int, rows),
      .first = S2_TAKE(arena, int, rows),
      .friction = S2_TAKE_ZEROED(arena, bool, rows),
      .box = S2_TAKE_ZEROED(arena, bool, rows),
      .left = S2_TAKE(arena, double, rows),
      .lcp_scale = S2_TAKE(arena, double, rows),
      .lambda = S2_TAKE_ZEROED(arena, double, rows),
      .best_lambda = S2_TAKE_ZEROED(arena, double, rows),
      .v = S2_TAKE(arena, double, 3 * problem->nodes),
      .best = {.scaled = INFINITY},
      .tolerance = tolerance,
  };
  // List the contacts and their variables: 4 with friction, 2 for a boxed row, else 1.
  for (int i = 0; i < rows; ++i) {
    const S2Row *row = &problem->row[i];
    if (row->coupled_to < 0 && !s2_schur_is_bilateral(row)) {
      int c = work.contacts++;
      work.friction[c] = i + 1 < rows && row[1].coupled_to == i && row[1].mu > 0;
      work.normal[c] = i;
      work.first[c] = work.n;
      work.box[c] = isfinite(row->hi);
      work.n += work.friction[c] ? 4 : work.box[c] ? 2 : 1;
    }
  }
  work.m = S2_TAKE(arena, double, (size_t)work.n *(size_t)work.n);
  work.q = S2_TAKE(arena, double, work.n);
  work.z = S2_TAKE(arena, double, work.n);
  work.basic = S2_TAKE_ZEROED(arena, bool, work.n);
  work.schur = s2_schur_assemble(problem, arena);
  return work;
}

S2SolveStatus s2_lemke_solve(const S2Problem *problem, const S2SolverOptions *options,
                             S2Arena *arena, S2Solution *solution) {
  solution->iterations = 0;
  if (!lemke_supported(problem)) {
    return s2_solver_refuse(problem, arena, solution);
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  Work work = work_take(problem, options->tolerance, arena);
  work.history = options->history;
  S2SolveStatus status = S2_SINGULAR;
  bool finished = false;
  bool joints = problem->rows > 0 && s2_schur_is_bilateral(&problem->row[0]);
  // First eliminate joints in double precision, then with twice the digits.
  for (int precise = 0; precise <= (joints ? 1 : 0) && !finished; ++precise) {
    s2_schur_eliminate(&work.schur, problem, precise, arena);
    drop_noise(&work, s2_schur_redundant(precise));
    shift_boxes(&work);
    // If no contact would penetrate without impulses, skip the pivoting.
    if (is_pressing(&work)) {
      // With joints, make only one attempt, because a failure is most likely caused by imprecise
      // elimination.
      int attempts = joints && !precise ? 1 : ATTEMPTS;
      status = lemke_pivot(&work, attempts, &solution->iterations);
    } else {
      memset(work.basic, 0, sizeof(bool) * (size_t)work.n);
      lemke_polish(&work);
      status = work.best.scaled <= options->tolerance ? S2_SOLVED : S2_SINGULAR;
    }
    finished = status == S2_SOLVED || at_rounding(&work);
  }
  // Return the best impulses of all attempts and their velocities.
  memcpy(solution->lambda, work.best_lambda, sizeof(double) * (size_t)problem->rows);
  s2_mcp_velocity(problem, solution->lambda, solution->v);
  solution->residual = s2_mcp_residual(problem, solution->v, solution->lambda, arena);
  s2_arena_rewind(arena, mark);
  return solution->status = status;
}
