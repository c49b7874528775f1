// The step problem by pivoting (Stewart and Trinkle 1996).
//
// 1. Velocities are eliminated: u = G lambda + q with the Delassus matrix G = J W^-1 J' + C.
// 2. Rows are scaled to a unit diagonal, so that masses play no part in what counts as small.
// 3. Bilateral rows are eliminated by symmetric Gaussian elimination with diagonal pivoting, which
//    reveals redundant joints: rows without a pivot repeat others and keep lambda = 0.
// 4. What is left is the LCP with z = (lambda_n, beta+, beta-, s) per frictional contact,
//
//        u_n                                 (lambda_t = beta+ - beta-)
//        u_t + s
//       -u_t + s
//        mu lambda_n - beta+ - beta-
//
//    and z = lambda_n alone where there is no friction. s is the sliding speed. The matrix is
//    copositive, so Lemke's method finds a solution where the frictionless problem has one.
// 5. Its final basis says which contact separates, sticks or slides which way. That linear system
//    is solved afresh, bilateral rows included, with residuals taken through the velocities.
#include "mcp/lemke.h"

#include "mcp/dense_lu.h"
#include "mcp/lcp.h"
#include "mcp/solvers.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// A scaled diagonal (at first 1) below this after elimination is a redundant bilateral row. Honest
// ones go down to the mass ratio, 1e-7 or so; rounding leaves 1e-15.
static const double REDUNDANT = 1e-11;

// Rank tolerance of the active-set system, for the same reason.
static const double ACTIVE_RANK = 1e-12;

// Free velocities below these parts of the largest are rounding: of any row, and of rows that have
// no freedom (whose elimination cancels everything, at a cost of the mass ratio).
static const double NOISE = 1e-14;
static const double EMPTY_NOISE = 1e-10;

enum {
  REFINEMENTS = 4, // of the active-set solve; each gains the digits the factor has
  ATTEMPTS = 4,    // plain; careful; careful with two other covering vectors
};

typedef enum Mode { SEPARATE = 0, STICK, SLIDE_BACK, SLIDE_AHEAD, NO_TANGENT } Mode;

typedef struct Work {
  const S2Problem *problem;
  S2Arena *arena;
  int rows, bilateral, contacts, n; // n: size of the LCP
  double *g;                        // rows x rows, scaled G
  double *q;                        // rows, scaled u at lambda = 0
  double *scale;                    // rows: lambda = scale * scaled lambda, scaled u = scale * u
  bool *pivoted;                    // bilateral rows kept
  int *normal;                      // contact -> its normal row
  int *first;                       // contact -> its first variable in the LCP
  bool *friction;                   // contact has a friction row with mu > 0
  double unit;                      // what the LCP has to overcome, scaled: q over this is about 1
  double *m, *lcp_q, *z;
  bool *basic;
  double *lambda, *best_lambda, *v;
  S2Residual best;
} Work;

static bool supported(const S2Problem *problem) {
  int contacts = 0, bilateral = 0;
  for (int i = 0; i < problem->rows; ++i) {
    const S2Row *row = &problem->row[i];
    if (row->coupled_to >= 0) {
      assert(row->coupled_to == i - 1);
      continue;
    }
    bool free = row->lo == -INFINITY && row->hi == INFINITY;
    if (!free && !(row->lo == 0 && row->hi == INFINITY)) {
      return false;
    }
    bilateral += free;
    contacts += !free;
  }
  return contacts <= S2_LEMKE_MAX_CONTACTS && bilateral <= S2_LEMKE_MAX_JOINT_ROWS;
}

static double weighted(const double *j, const double *mass, const double *k) {
  return j[0] * k[0] / mass[0] + j[1] * k[1] / mass[1] + j[2] * k[2] / mass[2];
}

static double delassus(const S2Problem *problem, const S2Row *x, const S2Row *y) {
  double sum = 0;
  const double *mass = problem->mass;
  if (x->a >= 0) {
    sum += x->a == y->a ? weighted(x->ja, mass + 3 * x->a, y->ja) : 0;
    sum += x->a == y->b ? weighted(x->ja, mass + 3 * x->a, y->jb) : 0;
  }
  if (x->b >= 0) {
    sum += x->b == y->a ? weighted(x->jb, mass + 3 * x->b, y->ja) : 0;
    sum += x->b == y->b ? weighted(x->jb, mass + 3 * x->b, y->jb) : 0;
  }
  return sum;
}

// u := J v + C lambda + b for v := W^-1 (c + J' lambda).
static void velocities(const Work *work, const double *lambda, double *v, double *u) {
  const S2Problem *problem = work->problem;
  s2_mcp_velocity(problem, lambda, v);
  s2_mcp_row_velocity(problem, v, u);
  for (int i = 0; i < work->rows; ++i) {
    u[i] += problem->row[i].compliance * lambda[i] + problem->row[i].bias;
  }
}

static void assemble(Work *work) {
  const S2Problem *problem = work->problem;
  int rows = work->rows;
  for (int i = 0; i < rows; ++i) {
    for (int j = i; j < rows; ++j) {
      double entry = delassus(problem, &problem->row[i], &problem->row[j]);
      entry += i == j ? problem->row[i].compliance : 0;
      work->g[i * rows + j] = work->g[j * rows + i] = entry;
    }
  }
  for (int i = 0; i < rows; ++i) {
    double diagonal = work->g[i * rows + i];
    work->scale[i] = diagonal > 0 ? 1 / sqrt(diagonal) : 1;
  }
  memset(work->lambda, 0, sizeof(double) * (size_t)rows);
  velocities(work, work->lambda, work->v, work->q);
  for (int i = 0; i < rows; ++i) {
    work->q[i] *= work->scale[i];
    for (int j = 0; j < rows; ++j) {
      work->g[i * rows + j] *= work->scale[i] * work->scale[j];
    }
  }
}

static bool is_bilateral(const S2Row *row) {
  return row->coupled_to < 0 && row->lo == -INFINITY;
}

// Eliminates the bilateral rows from the scaled matrix `s` (rows x rows) and right side `q`.
static void eliminate_bilateral(Work *work, double *s, double *q) {
  int rows = work->rows;
  for (int done = 0; done < work->bilateral; ++done) {
    int pivot = -1;
    double largest = REDUNDANT;
    for (int i = 0; i < rows; ++i) {
      bool open = is_bilateral(&work->problem->row[i]) && !work->pivoted[i];
      if (open && s[i * rows + i] > largest) {
        largest = s[i * rows + i];
        pivot = i;
      }
    }
    if (pivot < 0) {
      break;
    }
    work->pivoted[pivot] = true;
    const double *restrict pivot_row = s + pivot * rows;
    for (int i = 0; i < rows; ++i) {
      double *restrict row = s + i * rows;
      if (work->pivoted[i] || row[pivot] == 0) {
        continue;
      }
      double factor = row[pivot] / pivot_row[pivot];
      for (int j = 0; j < rows; ++j) {
        row[j] -= factor * pivot_row[j];
      }
      q[i] -= factor * q[pivot];
    }
  }
}

// Where joints leave a contact row no freedom, elimination leaves rounding in place of zeros. A
// negative 1e-17 on the right of an empty row would make the problem infeasible. Returns whether
// some contact would penetrate without impulses, and sets the unit of what is left.
static bool drop_noise(Work *work, double *s, double *q) {
  int rows = work->rows;
  double free = 0, deepest = 0;
  for (int i = 0; i < rows; ++i) {
    free = fmax(free, fabs(work->q[i]));
  }
  for (int i = 0; i < rows; ++i) {
    bool empty = s[i * rows + i] <= REDUNDANT;
    for (int j = 0; j < rows && empty; ++j) {
      s[i * rows + j] = s[j * rows + i] = 0;
    }
    if (fabs(q[i]) <= (empty ? EMPTY_NOISE : NOISE) * free) {
      q[i] = 0;
    }
  }
  work->unit = 0;
  for (int c = 0; c < work->contacts; ++c) {
    int i = work->normal[c];
    deepest = fmax(deepest, -q[i]);
    work->unit = fmax(work->unit, work->friction[c] ? fmax(-q[i], fabs(q[i + 1])) : -q[i]);
  }
  return deepest > 0;
}

// The matrix and right side of step 4.
static void build_lcp(Work *work, const double *s, const double *q) {
  int n = work->n, rows = work->rows;
  memset(work->m, 0, sizeof(double) * (size_t)n * (size_t)n);
  memset(work->lcp_q, 0, sizeof(double) * (size_t)n);
  for (int c = 0; c < work->contacts; ++c) {
    int i = work->normal[c], at = work->first[c];
    for (int d = 0; d < work->contacts; ++d) {
      int j = work->normal[d], to = work->first[d];
      double *m = work->m + at * n + to;
      double nn = s[i * rows + j];
      m[0] = nn;
      if (work->friction[d]) {
        m[1] = s[i * rows + j + 1];
        m[2] = -m[1];
      }
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
    work->lcp_q[at] = q[i] / work->unit;
    if (work->friction[c]) {
      double *m = work->m + at * n + at;
      m[n + 3] = m[2 * n + 3] = 1;
      m[3 * n] = work->problem->row[i + 1].mu * work->scale[i] / work->scale[i + 1];
      m[3 * n + 1] = m[3 * n + 2] = -1;
      work->lcp_q[at + 1] = q[i + 1] / work->unit;
      work->lcp_q[at + 2] = -q[i + 1] / work->unit;
    }
  }
}

// Reads the mode of a contact off the final basis. Of beta+, beta- and s, two are basic at most
// when the contact presses; a basic s with one of the others is sliding.
static Mode mode_of(const Work *work, int contact) {
  const bool *basic = work->basic + work->first[contact];
  if (!basic[0]) {
    return SEPARATE;
  }
  if (!work->friction[contact] || (!basic[1] && !basic[2])) {
    return NO_TANGENT;
  }
  if (basic[1] && basic[2]) {
    return STICK;
  }
  if (!basic[3]) {
    return STICK;
  }
  return basic[1] ? SLIDE_BACK : SLIDE_AHEAD; // beta+ pushes ahead, against sliding back
}

// Coefficient of lambda_t per lambda_n at the bound, in scaled variables.
static double slide_slope(const Work *work, int contact, Mode mode) {
  int i = work->normal[contact];
  double slope = work->problem->row[i + 1].mu * work->scale[i] / work->scale[i + 1];
  return mode == SLIDE_BACK ? slope : mode == SLIDE_AHEAD ? -slope : 0;
}

// Puts lambda into its bounds exactly.
static void clip(const S2Problem *problem, double *lambda) {
  for (int i = 0; i < problem->rows; ++i) {
    const S2Row *row = &problem->row[i];
    if (row->coupled_to >= 0) {
      double bound = row->mu * lambda[i - 1];
      lambda[i] = fmin(bound, fmax(-bound, lambda[i]));
    } else if (!is_bilateral(row)) {
      lambda[i] = fmax(0, lambda[i]);
    }
  }
}

// Judges work->lambda (clipped in a copy) and keeps it when it is the best so far.
static double judge(Work *work) {
  S2ArenaMark mark = s2_arena_mark(work->arena);
  size_t bytes = sizeof(double) * (size_t)work->rows;
  double *lambda = s2_arena_take(work->arena, bytes);
  memcpy(lambda, work->lambda, bytes);
  clip(work->problem, lambda);
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
  int *row;      // unknown and equation k belong to this row
  double *slope; // sliding: the friction row after it follows with this slope; else 0
} Active;

static Active collect_active(const Work *work) {
  Active active = {
      .row = S2_TAKE(work->arena, int, work->rows),
      .slope = S2_TAKE_ZEROED(work->arena, double, work->rows),
  };
  for (int i = 0; i < work->rows; ++i) {
    if (work->pivoted[i]) {
      active.row[active.count++] = i;
    }
  }
  for (int c = 0; c < work->contacts; ++c) {
    Mode mode = mode_of(work, c);
    if (mode == SEPARATE) {
      continue;
    }
    active.slope[active.count] = slide_slope(work, c, mode);
    active.row[active.count++] = work->normal[c];
    if (mode == STICK) {
      active.row[active.count++] = work->normal[c] + 1;
    }
  }
  return active;
}

// Step 5. Starts from lambda = 0; a dictionary's worth of rounding is thus forgotten.
static void polish(Work *work) {
  S2ArenaMark mark = s2_arena_mark(work->arena);
  Active active = collect_active(work);
  int count = active.count, rows = work->rows;
  double *a = S2_TAKE(work->arena, double, (size_t)count *(size_t)count);
  double *step = S2_TAKE(work->arena, double, count);
  double *u = S2_TAKE(work->arena, double, rows);
  for (int k = 0; k < count; ++k) {
    const double *g = work->g + active.row[k] * rows;
    for (int l = 0; l < count; ++l) {
      int j = active.row[l];
      a[k * count + l] = g[j] + (active.slope[l] != 0 ? active.slope[l] * g[j + 1] : 0);
    }
  }
  S2DenseLu lu = s2_dense_lu_factor(count, a, ACTIVE_RANK, work->arena);
  memset(work->lambda, 0, sizeof(double) * (size_t)rows);
  double last = INFINITY;
  for (int pass = 0; pass <= REFINEMENTS; ++pass) {
    velocities(work, work->lambda, work->v, u);
    for (int k = 0; k < count; ++k) {
      step[k] = -work->scale[active.row[k]] * u[active.row[k]];
    }
    s2_dense_lu_solve(&lu, step);
    for (int k = 0; k < count; ++k) {
      int i = active.row[k];
      work->lambda[i] += work->scale[i] * step[k];
      if (active.slope[k] != 0) {
        work->lambda[i + 1] =
            active.slope[k] * work->lambda[i] * work->scale[i + 1] / work->scale[i];
      }
    }
    double now = judge(work);
    if (!(now < last / 2)) {
      break; // as far as rounding lets it go
    }
    last = now;
  }
  s2_arena_rewind(work->arena, mark);
}

// Covering vectors of the later attempts: fixed numbers between 1 and 2 without a pattern (golden
// ratio steps), so that a ray or an unlucky tie met with all ones is left aside.
static void other_cover(double *cover, int n, int attempt) {
  const double golden = 0.61803398874989485;
  for (int i = 0; i < n; ++i) {
    double x = golden * (i + 1) * attempt;
    cover[i] = 1 + (x - floor(x));
  }
}

static void read_dictionary(Work *work) {
  memset(work->lambda, 0, sizeof(double) * (size_t)work->rows);
  for (int c = 0; c < work->contacts; ++c) {
    int i = work->normal[c];
    const double *z = work->z + work->first[c];
    work->lambda[i] = work->scale[i] * work->unit * z[0];
    if (work->friction[c]) {
      work->lambda[i + 1] = work->scale[i + 1] * work->unit * (z[1] - z[2]);
    }
  }
}

static S2SolveStatus pivot(Work *work, const S2SolverOptions *options, S2Solution *solution) {
  int n = work->n;
  double *cover = S2_TAKE(work->arena, double, n);
  for (int i = 0; i < n; ++i) {
    cover[i] = 1;
  }
  S2LcpPivoting pivoting = s2_lcp_pivoting_default(n, cover);
  S2SolveStatus status = S2_SINGULAR;
  for (int attempt = 0; attempt < ATTEMPTS && status != S2_SOLVED; ++attempt) {
    if (attempt == 1) {
      s2_lcp_pivoting_careful(&pivoting);
    } else if (attempt > 1) {
      other_cover(cover, n, attempt);
    }
    int pivots = 0;
    S2SolveStatus ended = s2_lcp_pivot(n, work->m, work->lcp_q, work->z, work->basic, NULL, NULL,
                                       &pivoting, work->arena, &pivots);
    solution->iterations += pivots;
    if (ended == S2_SOLVED || ended == S2_RAY) {
      // Also after a ray: contacts that squeeze a body from opposite sides leave rows that rounding
      // makes contradictory by 1e-16, and the vertex before the ray is then a solution.
      polish(work);
      if (!(work->best.scaled <= options->tolerance)) {
        read_dictionary(work);
        judge(work);
      }
      bool solved = work->best.scaled <= options->tolerance;
      ended = solved ? S2_SOLVED : ended == S2_SOLVED ? S2_SINGULAR : S2_RAY;
    }
    // A ray is the more telling answer than a numerical failure of another attempt.
    status = ended == S2_SOLVED || status != S2_RAY ? ended : status;
  }
  return status;
}

static bool all_finite(const double *x, int count) {
  for (int i = 0; i < count; ++i) {
    if (!isfinite(x[i])) {
      return false;
    }
  }
  return true;
}

static Work work_take(const S2Problem *problem, S2Arena *arena) {
  int rows = problem->rows;
  size_t square = (size_t)rows * (size_t)rows;
  Work work = {
      .problem = problem,
      .arena = arena,
      .rows = rows,
      .g = S2_TAKE(arena, double, square),
      .q = S2_TAKE(arena, double, rows),
      .scale = S2_TAKE(arena, double, rows),
      .pivoted = S2_TAKE_ZEROED(arena, bool, rows),
      .normal = S2_TAKE(arena, int, rows),
      .first = S2_TAKE(arena, int, rows),
      .friction = S2_TAKE_ZEROED(arena, bool, rows),
      .lambda = S2_TAKE_ZEROED(arena, double, rows),
      .best_lambda = S2_TAKE_ZEROED(arena, double, rows),
      .v = S2_TAKE(arena, double, 3 * problem->nodes),
      .best = {.scaled = INFINITY},
  };
  for (int i = 0; i < rows; ++i) {
    const S2Row *row = &problem->row[i];
    if (is_bilateral(row)) {
      work.bilateral += 1;
    } else if (row->coupled_to < 0) {
      int c = work.contacts++;
      work.friction[c] = i + 1 < rows && row[1].coupled_to == i && row[1].mu > 0;
      work.normal[c] = i;
      work.first[c] = work.n;
      work.n += work.friction[c] ? 4 : 1;
    }
  }
  work.m = S2_TAKE(arena, double, (size_t)work.n *(size_t)work.n);
  work.lcp_q = S2_TAKE(arena, double, work.n);
  work.z = S2_TAKE(arena, double, work.n);
  work.basic = S2_TAKE_ZEROED(arena, bool, work.n);
  return work;
}

S2SolveStatus s2_lemke_solve(const S2Problem *problem, const S2SolverOptions *options,
                             S2Arena *arena, S2Solution *solution) {
  solution->iterations = 0;
  if (!supported(problem)) {
    solution->residual = s2_mcp_residual(problem, solution->v, solution->lambda, arena);
    solution->status = S2_UNSUPPORTED;
    return solution->status;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  Work work = work_take(problem, arena);
  assemble(&work);
  size_t square = (size_t)work.rows * (size_t)work.rows;
  double *s = S2_TAKE(arena, double, square), *q = S2_TAKE(arena, double, work.rows);
  memcpy(s, work.g, sizeof(double) * square);
  memcpy(q, work.q, sizeof(double) * (size_t)work.rows);
  eliminate_bilateral(&work, s, q);
  bool pressing = drop_noise(&work, s, q);
  polish(&work); // joints only: the answer, or something to return whatever happens
  solution->status = S2_SINGULAR;
  if (pressing || !(work.best.scaled <= options->tolerance)) {
    build_lcp(&work, s, q);
    bool sound = all_finite(work.m, work.n * work.n) && all_finite(work.lcp_q, work.n);
    solution->status = sound ? pivot(&work, options, solution) : S2_SINGULAR;
  }
  solution->status = work.best.scaled <= options->tolerance ? S2_SOLVED : solution->status;
  memcpy(solution->lambda, work.best_lambda, sizeof(double) * (size_t)work.rows);
  s2_mcp_velocity(problem, solution->lambda, solution->v);
  solution->residual = work.best;
  s2_arena_rewind(arena, mark);
  return solution->status;
}
