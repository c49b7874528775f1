#include "plan/mpcc.h"

#include "plan/mpcc_problem.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

static const double KAPPA_SHARE = 0.2; // final bound on products / allowed violation
static const double ROW_SHARE = 0.5;   // final violation of rows / allowed violation
static const double MU_SHARE = 0.01;   // final barrier weight / allowed violation
static const double PROXIMAL = 1e-8;   // softness of equations; redundant equations are solvable
static const double EDGE = 0.99;       // fraction of the step at which a slack would become 0
static const double STEP_END = 1e-3;   // a smaller relative change counts as no change
static const double NOTHING = 1e-12;   // violation that counts as zero
static const double SUFFICIENT = 1e-4; // minimum share of the predicted descent
static const double ROUNDING = 1e-10;  // relative rounding error of the merit
static const double SHARE = 0.7;   // share of nu times violations that a cost increase may use up
static const double CENTRAL = 1e6; // multipliers are kept within this factor of mu / slack
static const double DELTA_FIRST = 1e-2, DELTA_LEAST = 1e-6, DELTA_MOST = 1e6;
static const double DELTA_END = 1e8;     // diagonal weight at which steps become negligible
static const double DELTA_RAISED = 1e-4; // least diagonal weight after a failed step
static const double NU_FIRST = 10;
static const double SLACK_FIRST = 0.1; // least first slack
static const double SOLVED = 1e-10;    // accepted residual of linear systems, relative
enum { WAIT = 40 };                    // maximum number of iterations for one mu
enum { HALVINGS = 11 };
enum { LOG_FACTORS = 4 }; // slacks are far from the fourth root of the largest double
enum { REFINEMENTS = 4 };

// The functions of math.h for these are calls that keep NaN apart, which takes longer than the
// rest.
static inline double mpcc_larger(double a, double b) {
  return a > b ? a : b;
}
static inline double mpcc_smaller(double a, double b) {
  return a < b ? a : b;
}

struct S2Mpcc {
  S2MpccProblem problem;
  S2Arena arena;
  // the present point and the trial point of a search
  double *x, *rows, *slack, *x_trial, *rows_trial, *slack_trial;
  double *y, *gradient;
  double *weight;                                 // 1 / C of inequalities
  double *b, *new_y;                              // rows
  double *dx, *ds, *dy;                           // the step
  double *bent, *ds_bent, *dy_bent;               // the step that is corrected to second order
  double *rhs, *solution, *residual, *correction; // of the linear system
  double cost, mu, kappa, nu, delta, far, descent;
  double tolerance, mu_end, kappa_end, feasible;
  int waited, inequalities;
  S2MpccResult result;
};

static bool is_equal(const S2Mpcc *m, int row) {
  return m->problem.equation[row] >= 0;
}

// ---- Construction -----------------------------------------------------------------------------

static S2Status mpcc_check(const S2MpccDef *def) {
  if (def->width < 1) {
    return s2_error(S2_INVALID, "width: at least 1 unknown expected, got %d", def->width);
  }
  if (def->stages < 2) {
    return s2_error(S2_INVALID, "stages: at least 2 expected, got %d", def->stages);
  }
  if (!(def->tolerance > 0)) {
    return s2_error(S2_INVALID, "tolerance: a number above 0 expected, got %g", def->tolerance);
  }
  if (!(def->violation > 0)) {
    return s2_error(S2_INVALID, "violation: a number above 0 expected, got %g", def->violation);
  }
  return s2_memory_room((size_t)def->stages, sizeof(double) * 100 * (size_t)def->width,
                        "a plan with this number of stages");
}

typedef struct Construction {
  const S2MpccDef *def;
  S2Mpcc *mpcc;
  S2Status status;
} Construction;

static S2Status mpcc_build(void *user) {
  Construction *call = user;
  S2Mpcc *m = s2_memory_take_zeroed(sizeof *m);
  s2_arena_init(&m->arena);
  call->status = s2_mpcc_problem_init(&m->problem, call->def, &m->arena);
  if (call->status.code != S2_OK) {
    s2_mpcc_free(m);
    return s2_ok();
  }
  // arrays by their length
  double **unknowns[] = {&m->x, &m->x_trial, &m->gradient, &m->dx, &m->bent};
  double **rows[] = {&m->rows, &m->slack,  &m->rows_trial, &m->slack_trial,
                     &m->y,    &m->weight, &m->b,          &m->new_y,
                     &m->ds,   &m->dy,     &m->ds_bent,    &m->dy_bent};
  double **both[] = {&m->rhs, &m->solution, &m->residual, &m->correction};
  for (size_t i = 0; i < sizeof unknowns / sizeof *unknowns; i++) {
    *unknowns[i] = S2_TAKE_ZEROED(&m->arena, double, m->problem.unknowns + 1);
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    *rows[i] = S2_TAKE_ZEROED(&m->arena, double, m->problem.rows + 1);
  }
  for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
    *both[i] = S2_TAKE_ZEROED(&m->arena, double, m->problem.matrix.n + 1);
  }
  // The relaxation ends where its violations are a fraction of the allowed ones.
  m->tolerance = call->def->tolerance;
  m->kappa_end = KAPPA_SHARE * call->def->violation;
  m->mu_end = MU_SHARE * call->def->violation;
  m->feasible = ROW_SHARE * call->def->violation;
  m->inequalities = m->problem.rows - m->problem.equations;
  call->mpcc = m;
  return s2_ok();
}

S2Status s2_mpcc_new(const S2MpccDef *def, S2Mpcc **mpcc) {
  *mpcc = NULL;
  S2_TRY(mpcc_check(def));
  Construction call = {def, NULL, s2_ok()};
  S2_TRY(s2_memory_building(mpcc_build, &call));
  *mpcc = call.mpcc;
  return call.status;
}

void s2_mpcc_free(S2Mpcc *mpcc) {
  if (mpcc != NULL) {
    s2_mpcc_problem_free(&mpcc->problem);
    s2_arena_free(&mpcc->arena);
    s2_memory_free(mpcc);
  }
}

const double *s2_mpcc_point(const S2Mpcc *mpcc) {
  return mpcc->x;
}

void s2_mpcc_sizes(const S2Mpcc *mpcc, int *order, int *fill) {
  *order = mpcc->problem.matrix.n;
  *fill = mpcc->problem.matrix.fill;
}

// ---- Merit ------------------------------------------------------------------------------------

// Returns the sum of all violations. The violation of an equation is its row. The violation of an
// inequality is the error of its slack. Slacks of equations are 0.
static double mpcc_missed(const S2Mpcc *m, const double *rows, const double *slack) {
  double sum = 0;
  for (int k = 0; k < m->problem.rows; k++) {
    sum += fabs(rows[k] - slack[k]);
  }
  return sum;
}

// The merit is cost plus barrier plus nu times violations.
static double mpcc_merit(const S2Mpcc *m, double cost, const double *rows, const double *slack) {
  double barrier = 0, product = 1;
  int factors = 0;
  for (int k = 0; k < m->problem.rows; k++) {
    if (!is_equal(m, k)) { // one logarithm for several slacks saves time
      product *= slack[k];
      if (++factors == LOG_FACTORS) {
        barrier += log(product);
        product = 1;
        factors = 0;
      }
    }
  }
  barrier += log(product);
  return cost - m->mu * barrier + m->nu * mpcc_missed(m, rows, slack);
}

// Returns the longest step along d that keeps v positive.
static double mpcc_reach(const S2Mpcc *m, const double *v, const double *d) {
  double far = 1;
  for (int k = 0; k < m->problem.rows; k++) {
    if (!is_equal(m, k) && d[k] < 0) {
      far = mpcc_smaller(far, -EDGE * v[k] / d[k]);
    }
  }
  return far;
}

// Finds the largest of the values from row `first` on in one stage, and notes the largest of all.
static void mpcc_measure_rows(S2Mpcc *m, S2MpccRow which, int stage, const double *rows, int count,
                              double *most, double *worst) {
  for (int k = 0; k < count; k++) {
    double missed = which == S2_MPCC_EQUAL     ? fabs(rows[k])
                    : which == S2_MPCC_PRODUCT ? m->kappa - rows[k]
                                               : -rows[k];
    *most = mpcc_larger(missed, *most);
    if (missed > *worst) {
      *worst = missed;
      m->result.worst = which;
      m->result.worst_stage = stage;
      m->result.worst_row = k;
    }
  }
}

// Writes the violations of the problem without relaxation to the result.
static void mpcc_measure(S2Mpcc *m) {
  S2MpccResult *result = &m->result;
  double worst = -1;
  result->equal = result->positive = result->product = 0;
  for (int i = 0; i < m->problem.kinds; i++) {
    const S2MpccKind *kind = &m->problem.kind[i];
    for (int s = 0; s < kind->stages; s++) {
      const double *rows = m->rows + kind->at + s * kind->rows;
      int stage = kind->first + s;
      mpcc_measure_rows(m, S2_MPCC_EQUAL, stage, rows, kind->equals, &result->equal, &worst);
      rows += kind->equals;
      mpcc_measure_rows(m, S2_MPCC_POSITIVE, stage, rows, kind->positives, &result->positive,
                        &worst);
      rows += kind->positives;
      mpcc_measure_rows(m, S2_MPCC_PRODUCT, stage, rows, kind->products, &result->product, &worst);
    }
  }
  result->cost = m->cost;
  result->mu = m->mu;
  result->kappa = m->kappa;
  result->regularisation = m->delta;
}

// ---- Newton's step ----------------------------------------------------------------------------

// Solves the factored system for `rhs`, with iterative refinement, because quasi-definite factors
// without pivoting lose digits.
static void mpcc_linear(S2Mpcc *m) {
  S2SparseLdl *matrix = &m->problem.matrix;
  double size = 0, before = INFINITY;
  for (int k = 0; k < matrix->n; k++) {
    size = mpcc_larger(size, fabs(m->rhs[k]));
  }
  s2_sparseldl_solve(matrix, m->rhs, m->solution);
  for (int pass = 0; pass < REFINEMENTS; pass++) {
    double missed = s2_sparseldl_residual(matrix, m->rhs, m->solution, m->residual);
    if (missed <= SOLVED * size || !(missed < 0.5 * before)) {
      break;
    }
    before = missed;
    s2_sparseldl_solve(matrix, m->residual, m->correction);
    for (int k = 0; k < matrix->n; k++) {
      m->solution[k] += m->correction[k];
    }
  }
}

// Computes Newton's step with the present factors. `more` is added to the violations of rows and
// slacks; NULL: zeros.
static void mpcc_newton(S2Mpcc *m, const double *more, double *dx, double *ds, double *dy) {
  const S2MpccProblem *problem = &m->problem;
  int unknowns = problem->unknowns;
  double *scaled = m->new_y; // of inequalities: -b / C
  for (int k = 0; k < problem->rows; k++) {
    double extra = more == NULL ? 0 : more[k];
    if (is_equal(m, k)) {
      m->b[k] = m->rows[k] - PROXIMAL * m->y[k] + extra;
      m->rhs[unknowns + problem->equation[k]] = -m->b[k];
    } else {
      m->b[k] = m->rows[k] - m->slack[k] - m->mu / m->y[k] + extra;
      scaled[k] = -m->b[k] * m->weight[k];
    }
  }
  for (int k = 0; k < unknowns; k++) {
    m->rhs[k] = -m->gradient[k];
  }
  s2_mpcc_add_transposed(problem, false, 1, scaled, m->rhs);
  mpcc_linear(m);
  memcpy(dx, m->solution, sizeof *dx * (size_t)unknowns);
  s2_mpcc_times_inequalities(problem, dx, m->new_y);
  // The slacks follow from the multipliers, because slack times multiplier equals mu to first
  // order.
  for (int k = 0; k < problem->rows; k++) {
    if (is_equal(m, k)) {
      dy[k] = -m->solution[unknowns + problem->equation[k]] - m->y[k];
      ds[k] = 0;
    } else {
      double new_y = -(m->b[k] + m->new_y[k]) * m->weight[k];
      dy[k] = new_y - m->y[k];
      ds[k] = m->mu / m->y[k] - m->slack[k] / m->y[k] * new_y;
    }
  }
}

// Returns the slope of cost and barrier along the step, and half of their second derivative.
static double mpcc_slope(const S2Mpcc *m, double *bend) {
  double slope = 0, sum = s2_mpcc_bend(&m->problem, m->dx, m->delta);
  for (int k = 0; k < m->problem.rows; k++) {
    if (!is_equal(m, k)) {
      slope -= m->mu * m->ds[k] / m->slack[k];
      sum += m->y[k] / m->slack[k] * m->ds[k] * m->ds[k];
    }
  }
  for (int k = 0; k < m->problem.unknowns; k++) {
    slope += m->gradient[k] * m->dx[k];
  }
  *bend = sum / 2;
  return slope;
}

// ---- Search -----------------------------------------------------------------------------------

typedef struct Search {
  double here, descent;
} Search;

static void mpcc_exchange(double **a, double **b) {
  double *c = *a;
  *a = *b;
  *b = c;
}

// Tries a fraction of a step. If the merit decreases enough, the point becomes the present one.
// Otherwise its rows are in rows_trial.
static bool mpcc_accepts(S2Mpcc *m, const Search *search, const double *dx, const double *ds,
                         double length) {
  for (int k = 0; k < m->problem.unknowns; k++) {
    m->x_trial[k] = m->x[k] + length * dx[k];
  }
  double cost = s2_mpcc_values(&m->problem, m->x_trial, m->kappa, m->rows_trial);
  for (int k = 0; k < m->problem.rows; k++) { // a slack may grow to the value of its row
    m->slack_trial[k] =
        is_equal(m, k) ? 0 : mpcc_larger(m->slack[k] + length * ds[k], m->rows_trial[k]);
  }
  double merit = mpcc_merit(m, cost, m->rows_trial, m->slack_trial);
  // Close to a solution, merits differ by rounding errors of the cost and of violations.
  double rounding = ROUNDING * fabs(search->here) + m->nu * NOTHING * m->problem.rows;
  if (!(merit <= search->here + SUFFICIENT * length * search->descent + rounding)) {
    return false;
  }
  mpcc_exchange(&m->x, &m->x_trial);
  mpcc_exchange(&m->rows, &m->rows_trial);
  mpcc_exchange(&m->slack, &m->slack_trial);
  m->cost = cost;
  return true;
}

// Corrects the step for the curvature of the rows that the trial point has shown. The corrected
// step is in `bent`, `ds_bent` and `dy_bent`.
static void mpcc_correct(S2Mpcc *m, double length) {
  double *more = m->slack_trial; // no longer needed after the trial
  for (int k = 0; k < m->problem.rows; k++) {
    double rest = 1 - length;
    more[k] = is_equal(m, k) ? m->rows_trial[k] - rest * m->rows[k]
                             : m->rows_trial[k] - m->slack[k] - length * m->ds[k] -
                                   rest * (m->rows[k] - m->slack[k]);
  }
  mpcc_newton(m, more, m->bent, m->ds_bent, m->dy_bent);
}

// Takes the step. If the merit does not decrease, the step is corrected or shortened. Returns the
// length, or 0.
static double mpcc_search(S2Mpcc *m, double slope) {
  Search search;
  search.here = mpcc_merit(m, m->cost, m->rows, m->slack);
  search.descent = m->descent = slope - m->nu * mpcc_missed(m, m->rows, m->slack);
  if (mpcc_accepts(m, &search, m->dx, m->ds, m->far)) {
    return m->far;
  }
  mpcc_correct(m, m->far);
  double far = mpcc_reach(m, m->slack, m->ds_bent);
  if (mpcc_accepts(m, &search, m->bent, m->ds_bent, far)) {
    mpcc_exchange(&m->dx, &m->bent);
    mpcc_exchange(&m->dy, &m->dy_bent);
    return far;
  }
  double length = m->far / 2;
  for (int i = 0; i < HALVINGS; i++) {
    if (mpcc_accepts(m, &search, m->dx, m->ds, length)) {
      return length;
    }
    length /= 2;
  }
  return 0;
}

// ---- Iterations -------------------------------------------------------------------------------

static void mpcc_update_multipliers(S2Mpcc *m, double length) {
  double far = mpcc_reach(m, m->y, m->dy);
  for (int k = 0; k < m->problem.rows; k++) {
    if (is_equal(m, k)) {
      m->y[k] += length * m->dy[k];
    } else { // near the values that follow from the slacks
      double central = m->mu / m->slack[k];
      m->y[k] =
          mpcc_smaller(mpcc_larger(m->y[k] + far * m->dy[k], central / CENTRAL), central * CENTRAL);
    }
  }
}

// Computes Newton's step at the present point, with a diagonal weight. Returns false if the linear
// system cannot be solved.
static bool mpcc_direction(S2Mpcc *m, double delta) {
  S2MpccProblem *problem = &m->problem;
  s2_mpcc_slopes(problem, m->x, m->gradient);
  for (int k = 0; k < problem->rows; k++) {
    m->weight[k] = is_equal(m, k) ? 0 : m->y[k] / m->slack[k];
  }
  s2_mpcc_fill(problem, m->x, m->y, m->weight, PROXIMAL, delta);
  if (!s2_sparseldl_factor(&problem->matrix, problem->positive)) {
    return false;
  }
  mpcc_newton(m, NULL, m->dx, m->ds, m->dy);
  return true;
}

// Predicts the decrease of the cost by a full step with the least diagonal weight, relative to the
// cost. Small steps alone do not show that a minimum is near, because a large weight shortens them.
static double mpcc_expected(S2Mpcc *m) {
  double bend;
  if (!mpcc_direction(m, DELTA_LEAST)) {
    return INFINITY;
  }
  return fabs(mpcc_slope(m, &bend)) / (1 + fabs(m->cost));
}

// Returns true if a step was made.
static bool mpcc_step(S2Mpcc *m) {
  const S2MpccProblem *problem = &m->problem;
  if (!mpcc_direction(m, m->delta)) {
    return false;
  }
  double bend, slope = mpcc_slope(m, &bend), missed = mpcc_missed(m, m->rows, m->slack);
  m->far = mpcc_reach(m, m->slack, m->ds);
  if (missed > NOTHING) {
    m->nu = mpcc_larger(m->nu, (slope + mpcc_larger(bend, 0)) / (SHARE * missed));
  }
  double length = mpcc_search(m, slope);
  if (!(length > 0)) {
    return false;
  }
  mpcc_update_multipliers(m, length);
  double step = 0, size = 0;
  for (int k = 0; k < problem->unknowns; k++) {
    step += length * m->dx[k] * length * m->dx[k];
    size += m->x[k] * m->x[k];
  }
  m->result.change = size > 0 ? sqrt(step / size) : 0;
  if (length > m->far / 2) {
    m->delta = mpcc_larger(m->delta / 3, DELTA_LEAST);
  } else if (length <= m->far / 10) { // short steps increase the weight
    m->delta = mpcc_smaller(3 * m->delta, DELTA_MOST);
  }
  return true;
}

// Lowers the relaxation if the problem with the present one is solved.
static void mpcc_continue(S2Mpcc *m, double largest) {
  bool settled = -m->descent < 0.1 * m->mu * m->inequalities || m->result.change < STEP_END ||
                 m->waited >= WAIT;
  if (largest < mpcc_larger(m->feasible, 10 * m->mu) && settled) {
    double before = m->kappa;
    m->mu = mpcc_larger(mpcc_smaller(0.2 * m->mu, pow(m->mu, 1.5)), m->mu_end);
    m->kappa = mpcc_larger(m->mu, m->kappa_end);
    m->waited = 0;
    for (int k = 0; k < m->problem.rows; k++) {
      m->rows[k] += m->problem.is_product[k] ? m->kappa - before : 0;
    }
  }
}

static S2Status mpcc_not_finite(const S2Mpcc *m, int row) {
  int i = 0;
  while (row >= m->problem.kind[i].at + m->problem.kind[i].stages * m->problem.kind[i].rows) {
    i++;
  }
  const S2MpccKind *kind = &m->problem.kind[i];
  int index, stage = (row - kind->at) / kind->rows;
  const char *name = s2_mpcc_row_name(kind, (row - kind->at) % kind->rows, &index);
  return s2_error(S2_INVALID, "guess: %s[%d] of stage %d is %g there; change the guess", name,
                  index + 1, kind->first + stage + 1, m->rows[row]);
}

S2Status s2_mpcc_start(S2Mpcc *m, const double *x, double smoothing, S2MpccResult *result) {
  if (!(smoothing > 0) || !isfinite(smoothing)) {
    return s2_error(S2_INVALID, "smoothing: a number above 0 expected, got %g", smoothing);
  }
  memmove(m->x, x, sizeof *x * (size_t)m->problem.unknowns);
  m->mu = smoothing;
  m->kappa = mpcc_larger(m->mu, m->kappa_end);
  m->nu = NU_FIRST;
  m->delta = DELTA_FIRST;
  m->waited = 0;
  m->result = (S2MpccResult){.state = S2_MPCC_GOING};
  m->cost = s2_mpcc_values(&m->problem, m->x, m->kappa, m->rows);
  if (!isfinite(m->cost)) {
    return s2_error(S2_INVALID, "guess: the cost is %g there; change the guess", m->cost);
  }
  for (int k = 0; k < m->problem.rows; k++) {
    if (!isfinite(m->rows[k])) {
      return mpcc_not_finite(m, k);
    }
    // Slacks begin inside their bounds, and slack times multiplier is mu.
    m->slack[k] = is_equal(m, k) ? 0 : mpcc_larger(m->rows[k], SLACK_FIRST);
    m->y[k] = is_equal(m, k) ? 0 : m->mu / m->slack[k];
  }
  mpcc_measure(m);
  *result = m->result;
  return s2_ok();
}

S2Status s2_mpcc_iterate(S2Mpcc *m, S2MpccResult *result) {
  if (m->result.state == S2_MPCC_GOING) {
    m->result.iterations++;
    m->waited++;
    bool moved = mpcc_step(m);
    double largest = 0;
    for (int k = 0; k < m->problem.rows; k++) {
      largest = mpcc_larger(largest, fabs(m->rows[k] - m->slack[k]));
    }
    // A larger weight makes the next step shorter.
    if (!moved) {
      m->delta = mpcc_larger(10 * m->delta, DELTA_RAISED);
    }
    if (m->delta > DELTA_END) {
      m->result.state = S2_MPCC_STUCK;
    } else if (moved && m->mu <= m->mu_end) {
      if (largest < m->feasible && m->result.change < STEP_END) {
        m->result.expected = mpcc_expected(m);
        if (m->result.expected <= m->tolerance) {
          m->result.state = S2_MPCC_CONVERGED;
        }
      }
    } else if (moved) {
      mpcc_continue(m, largest);
    }
    mpcc_measure(m);
  }
  *result = m->result;
  return s2_ok();
}
