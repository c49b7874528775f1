#include "mcp/mlcp.h"

#include "mcp/mlcp_stages.h"

#include <math.h>
#include <string.h>

static const double TOLERANCE = 1e-9;

enum { MAX_ITERATIONS = 100 };

// ---- The problem as one matrix ----------------------------------------------------------------

static S2Mixed make(const S2Mlcp *problem, S2Arena *arena) {
  size_t n = (size_t)problem->n, m = (size_t)problem->m, size = n + m;
  S2Mixed p = {problem->n, problem->m, S2_TAKE(arena, double, size *size + 1),
               S2_TAKE(arena, double, size + 1)};
  for (size_t i = 0; i < size; i++) {
    bool is_free = i < n;
    size_t row = is_free ? i : i - n;
    const double *left = is_free ? problem->a_uu : problem->d_vu;
    const double *right = is_free ? problem->c_uv : problem->b_vv;
    for (size_t j = 0; j < n; j++) {
      p.k[i * size + j] = left[row * n + j];
    }
    for (size_t j = 0; j < m; j++) {
      p.k[i * size + n + j] = right[row * m + j];
    }
    p.r[i] = is_free ? problem->a_free[row] : problem->b_row[row];
  }
  return p;
}

// ---- Solving ----------------------------------------------------------------------------------

typedef struct Run {
  S2Mixed p;
  double *x, *f, *trial; // the best point, K x + r there, another
  double residual;
} Run;

static void consider(Run *run, const double *x, double *f) {
  int size = s2_mixed_size(&run->p);
  s2_mixed_apply(&run->p, x, f);
  double residual = s2_mixed_residual(&run->p, x, f);
  if (residual < run->residual) {
    run->residual = residual;
    s2_mixed_copy(run->x, x, (size_t)size);
  }
}

static bool prove(const S2Mlcp *problem, S2MlcpSolution *solution, S2Arena *arena) {
  S2Conditions conditions = {
      .free = problem->n,
      .bounded = problem->m,
      .equations = problem->n,
      .inequalities = problem->m,
      .e = problem->a_uu,
      .c = problem->c_uv,
      .d = problem->d_vu,
      .b = problem->b_vv,
      .e_constant = problem->a_free,
      .d_constant = problem->b_row,
  };
  double *p = S2_TAKE(arena, double, problem->n + 1), *t = S2_TAKE(arena, double, problem->m + 1);
  if (!s2_conditions_conflict(&conditions, p, t, arena)) {
    return false;
  }
  if (solution->proof_free != NULL) {
    s2_mixed_copy(solution->proof_free, p, (size_t)problem->n);
  }
  if (solution->proof_row != NULL) {
    s2_mixed_copy(solution->proof_row, t, (size_t)problem->m);
  }
  return true;
}

static S2SolveStatus solve(Run *run, const S2Mlcp *problem, const S2MlcpOptions *options,
                           double allowed, S2MlcpSolution *solution, S2Arena *arena) {
  solution->iterations = s2_mixed_interior(
      &run->p, options->max_iterations > 0 ? options->max_iterations : MAX_ITERATIONS,
      options->history, run->trial, arena);
  consider(run, run->trial, run->f);
  if (run->residual <= allowed) {
    return S2_SOLVED;
  }
  if (prove(problem, solution, arena)) {
    return S2_INFEASIBLE;
  }
  S2SolveStatus status = s2_mixed_pivot(&run->p, run->trial, arena);
  if (s2_mixed_finite(run->trial, (size_t)s2_mixed_size(&run->p))) {
    consider(run, run->trial, run->f);
    s2_mixed_finish(&run->p, run->trial, arena);
    consider(run, run->trial, run->f);
  }
  if (run->residual <= allowed) {
    return S2_SOLVED;
  }
  return status == S2_RAY ? S2_RAY : S2_MAX_ITERATIONS;
}

static void deliver(Run *run, S2MlcpSolution *solution) {
  int n = run->p.n, m = run->p.m;
  s2_mixed_apply(&run->p, run->x, run->f);
  solution->residual = s2_mixed_residual(&run->p, run->x, run->f);
  solution->r_vio = s2_mixed_largest(run->f, (size_t)n);
  solution->b_vio = 0;
  for (int i = 0; i < n; i++) {
    solution->u[i] = run->x[i];
  }
  for (int i = 0; i < m; i++) {
    solution->v[i] = run->x[n + i];
    solution->w[i] = run->f[n + i];
    solution->b_vio = fmax(solution->b_vio, fabs(solution->v[i] * solution->w[i]));
  }
}

S2SolveStatus s2_mlcp_solve(const S2Mlcp *problem, const S2MlcpOptions *options, S2Arena *arena,
                            S2MlcpSolution *solution) {
  static const S2MlcpOptions defaults = {0};
  options = options != NULL ? options : &defaults;
  int n = problem->n, m = problem->m;
  s2_mixed_clear(solution->u, (size_t)n);
  s2_mixed_clear(solution->v, (size_t)m);
  s2_mixed_clear(solution->w, (size_t)m);
  solution->iterations = 0;
  solution->residual = solution->r_vio = solution->b_vio = NAN;
  if (n > S2_MLCP_MAX - m) {
    return solution->status = S2_UNSUPPORTED;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  size_t size = (size_t)n + (size_t)m;
  Run run = {
      .p = make(problem, arena),
      .x = S2_TAKE_ZEROED(arena, double, size + 1),
      .f = S2_TAKE(arena, double, size + 1),
      .trial = S2_TAKE(arena, double, size + 1),
      .residual = INFINITY,
  };
  if (!s2_mixed_finite(run.p.k, size * size) || !s2_mixed_finite(run.p.r, size)) {
    s2_arena_rewind(arena, mark);
    return solution->status = S2_SINGULAR;
  }
  consider(&run, run.x, run.f);
  double tolerance = options->tolerance > 0 ? options->tolerance : TOLERANCE;
  double allowed = tolerance * fmax(1, s2_mixed_largest(run.p.r, size));
  solution->status = solve(&run, problem, options, allowed, solution, arena);
  deliver(&run, solution);
  s2_arena_rewind(arena, mark);
  return solution->status;
}

// ---- Derivatives ------------------------------------------------------------------------------

// With l = K^-T (dl/du, dl/dv) on the active set, a change dK, dr of the data changes the loss by
// -l' (dK x + dr).
static void outer(double *to, const double *l, int rows, const double *x, int columns) {
  for (int i = 0; to != NULL && i < rows; i++) {
    for (int j = 0; j < columns; j++) {
      to[(size_t)i * (size_t)columns + (size_t)j] = -l[i] * x[j];
    }
  }
}

static void negate(double *to, const double *l, int count) {
  for (int i = 0; to != NULL && i < count; i++) {
    to[i] = -l[i];
  }
}

bool s2_mlcp_vjp(const S2Mlcp *problem, const S2MlcpSolution *solution, const double *dl_du,
                 const double *dl_dv, const S2MlcpGradient *gradient, S2Arena *arena) {
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = problem->n, m = problem->m;
  S2Mixed p = make(problem, arena);
  double *x = S2_TAKE(arena, double, n + m + 1), *l = S2_TAKE(arena, double, n + m + 1);
  double *g = S2_TAKE_ZEROED(arena, double, n + m + 1);
  s2_mixed_copy(x, solution->u, (size_t)n);
  s2_mixed_copy(x + n, solution->v, (size_t)m);
  if (dl_du != NULL) {
    s2_mixed_copy(g, dl_du, (size_t)n);
  }
  if (dl_dv != NULL) {
    s2_mixed_copy(g + n, dl_dv, (size_t)m);
  }
  bool regular = s2_mixed_adjoint(&p, x, g, l, arena);
  outer(gradient->a_uu, l, n, solution->u, n);
  outer(gradient->c_uv, l, n, solution->v, m);
  outer(gradient->d_vu, l + n, m, solution->u, n);
  outer(gradient->b_vv, l + n, m, solution->v, m);
  negate(gradient->a_free, l, n);
  negate(gradient->b_row, l + n, m);
  s2_arena_rewind(arena, mark);
  return regular;
}
