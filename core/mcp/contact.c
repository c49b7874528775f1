#include "mcp/contact.h"

#include "linalg/blocksparse.h"
#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

static bool all_finite(const double *x, int count) {
  for (int i = 0; i < count; i++) {
    if (!isfinite(x[i])) {
      return false;
    }
  }
  return true;
}

static bool csr_finite(const S2Csr *matrix) {
  return all_finite(matrix->value, matrix->start[matrix->rows]);
}

static double largest(const double *x, int count) {
  double most = 0;
  for (int i = 0; i < count; i++) {
    most = fmax(most, fabs(x[i]));
  }
  return most;
}

// A normal row and the friction row that follows it.
static void fill_rows(S2Row *row, int contact, double mu) {
  int normal = 2 * contact;
  row[0] = (S2Row){
      .a = S2_GROUND, .b = S2_GROUND, .coupled_to = -1, .group = contact, .lo = 0, .hi = INFINITY};
  row[1] = (S2Row){.a = S2_GROUND,
                   .b = S2_GROUND,
                   .coupled_to = normal,
                   .group = contact,
                   .hi = INFINITY,
                   .mu = mu};
}

// ---- Local form -------------------------------------------------------------------------------

// Pairs of rows and columns become blocks, whose lanes (0, normal, tangent) leave the first unused.
static const S2Mobility *mobility_of(const S2ContactProblem *problem, S2Arena *arena) {
  int n = problem->contacts;
  const S2Csr *w = problem->w;
  int32_t most = w->start[2 * n] + n;
  S2Mobility *mobility = S2_TAKE(arena, S2Mobility, 1);
  int32_t *start = S2_TAKE(arena, int32_t, n + 1), *column = S2_TAKE(arena, int32_t, most);
  int32_t *row = S2_TAKE(arena, int32_t, n + 1);
  double *block = S2_TAKE_ZEROED(arena, double, 9 * (size_t)most);
  int32_t count = 0;
  for (int32_t k = 0; k < n; k++) {
    int32_t p[2] = {w->start[2 * k], w->start[2 * k + 1]};
    int32_t end[2] = {w->start[2 * k + 1], w->start[2 * k + 2]};
    bool diagonal = false;
    start[k] = count;
    row[k] = 2 * k;
    for (;;) {
      int32_t next = diagonal ? n : k;
      for (int r = 0; r < 2; r++) {
        if (p[r] < end[r] && w->column[p[r]] / 2 < next) {
          next = w->column[p[r]] / 2;
        }
      }
      if (next == n) {
        break;
      }
      diagonal |= next == k;
      column[count] = next;
      for (int r = 0; r < 2; r++) {
        for (; p[r] < end[r] && w->column[p[r]] / 2 == next; p[r]++) {
          block[9 * (size_t)count + (size_t)(3 * (r + 1) + 1 + w->column[p[r]] % 2)] =
              w->value[p[r]];
        }
      }
      count++;
    }
  }
  start[n] = count;
  row[n] = 2 * n;
  *mobility = (S2Mobility){.start = start, .column = column, .block = block, .row = row};
  return mobility;
}

S2Problem s2_contact_step_problem(const S2ContactProblem *problem, S2Arena *arena) {
  int n = problem->contacts;
  double *rhs = S2_TAKE(arena, double, 3 * n), scale = largest(problem->q, 2 * n);
  S2Row *row = S2_TAKE(arena, S2Row, 2 * n);
  for (int k = 0; k < n; k++) {
    fill_rows(row + 2 * k, k, problem->mu[k]);
    row[2 * k].a = row[2 * k + 1].a = k;
    row[2 * k].ja[1] = row[2 * k + 1].ja[2] = 1;
    rhs[3 * k] = 0;
    rhs[3 * k + 1] = problem->q[2 * k];
    rhs[3 * k + 2] = problem->q[2 * k + 1];
  }
  return (S2Problem){
      .nodes = n,
      .rows = 2 * n,
      .rhs = rhs,
      .row = row,
      .mobility = mobility_of(problem, arena),
      .velocity_scale = scale > 0 ? scale : 1,
      .length = 1,
  };
}

static S2SolveStatus refuse(S2ContactSolution *solution, const S2SolverOptions *options,
                            int contacts, S2SolveStatus status) {
  if (contacts > 0) {
    memset(solution->r, 0, sizeof(double) * 2 * (size_t)contacts);
    memset(solution->u, 0, sizeof(double) * 2 * (size_t)contacts);
  }
  solution->residual =
      (S2Residual){.dynamics = NAN, .complementarity = NAN, .cone = NAN, .scaled = NAN};
  solution->iterations = 0;
  solution->used = options->solver;
  return solution->status = status;
}

// Runs the solvers; v has 3 numbers a node, in: a guess.
static S2SolveStatus run(const S2Problem *step, const S2SolverOptions *options, double *v,
                         S2Arena *arena, S2ContactSolution *solution) {
  S2Solution found = {.v = v, .lambda = solution->r};
  s2_mcp_solve(step, options, arena, &found);
  s2_mcp_row_velocity(step, v, solution->u);
  for (int i = 0; i < step->rows; i++) {
    solution->u[i] += step->row[i].bias;
  }
  bool fits = all_finite(solution->r, step->rows) && all_finite(solution->u, step->rows) &&
              all_finite(v, 3 * step->nodes) && !isnan(found.residual.scaled);
  if (!fits && found.status != S2_UNSUPPORTED) {
    return refuse(solution, options, step->rows / 2, S2_SINGULAR);
  }
  solution->residual = found.residual;
  solution->used = found.used;
  solution->iterations = found.iterations;
  return solution->status = found.status;
}

S2SolveStatus s2_contact_solve(const S2ContactProblem *problem, const S2SolverOptions *options,
                               S2Arena *arena, S2ContactSolution *solution) {
  int n = problem->contacts;
  if (!csr_finite(problem->w) || !all_finite(problem->q, 2 * n) || !all_finite(problem->mu, n)) {
    return refuse(solution, options, n, S2_SINGULAR);
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Problem step = s2_contact_step_problem(problem, arena);
  double *v = S2_TAKE(arena, double, 3 * n);
  memcpy(v, step.rhs, sizeof(double) * 3 * (size_t)n);
  run(&step, options, v, arena, solution);
  s2_arena_rewind(arena, mark);
  return solution->status;
}

// ---- Global form ------------------------------------------------------------------------------

static bool is_diagonal(const S2Csr *m) {
  for (int i = 0; i < m->rows; i++) {
    for (int32_t p = m->start[i]; p < m->start[i + 1]; p++) {
      if (m->column[p] != i && m->value[p] != 0) {
        return false;
      }
    }
  }
  return true;
}

static void diagonal_of(const S2Csr *m, double *diagonal) {
  for (int i = 0; i < m->rows; i++) {
    diagonal[i] = 0;
    for (int32_t p = m->start[i]; p < m->start[i + 1]; p++) {
      diagonal[i] += m->column[p] == i ? m->value[p] : 0;
    }
  }
}

// One column of H into the row of contact k; false where a third body turns up.
static bool fill_jacobian(S2Row *row, int which, const S2Csr *columns, int column) {
  for (int32_t p = columns->start[column]; p < columns->start[column + 1]; p++) {
    int32_t body = columns->column[p] / 3, lane = columns->column[p] % 3;
    if (columns->value[p] == 0) {
      continue;
    }
    if (row->a < 0 || row->a == body) {
      row[0].a = row[1].a = body;
      row[which].ja[lane] = columns->value[p];
    } else if (row->b < 0 || row->b == body) {
      row[0].b = row[1].b = body;
      row[which].jb[lane] = columns->value[p];
    } else {
      return false;
    }
  }
  return true;
}

static void swap_sides(S2Row *row) {
  S2Row old = *row;
  row->a = old.b;
  row->b = old.a;
  memcpy(row->ja, old.jb, sizeof old.jb);
  memcpy(row->jb, old.ja, sizeof old.ja);
}

// The step problem of bodies with three freedoms each; false when it is none.
static bool body_problem(const S2GlobalContactProblem *problem, S2Problem *step, S2Arena *arena) {
  int bodies = (problem->freedoms + 2) / 3, n = problem->contacts;
  if (!is_diagonal(problem->m)) {
    return false;
  }
  double *mass = S2_TAKE(arena, double, 3 * bodies),
         *rhs = S2_TAKE_ZEROED(arena, double, 3 * bodies);
  for (int i = problem->freedoms; i < 3 * bodies; i++) {
    mass[i] = 1; // fills up the last body
  }
  diagonal_of(problem->m, mass);
  memcpy(rhs, problem->q, sizeof(double) * (size_t)problem->freedoms);
  S2Row *row = S2_TAKE(arena, S2Row, 2 * n);
  S2Csr columns = s2_csr_transpose(problem->h, arena);
  for (int k = 0; k < n; k++) {
    S2Row *rows = row + 2 * k;
    fill_rows(rows, k, problem->mu[k]);
    for (int which = 0; which < 2; which++) {
      rows[which].bias = problem->b[2 * k + which];
      if (!fill_jacobian(rows, which, &columns, 2 * k + which)) {
        return false;
      }
    }
    if (rows->a < 0) { // nothing that moves: any body will do, as the Jacobian is zero
      rows[0].a = rows[1].a = 0;
    }
    if (rows->b >= 0 && rows->b < rows->a) {
      swap_sides(&rows[0]);
      swap_sides(&rows[1]);
    }
  }
  *step = (S2Problem){
      .nodes = bodies, .rows = 2 * n, .mass = mass, .rhs = rhs, .row = row, .length = 1};
  return true;
}

// x = M^-1 x by blocks of three, or false when a pivot is not positive.
typedef struct Factor {
  int blocks;
  S2BlockSparse matrix;
  S2Quad *x;
} Factor;

static bool pivots_positive(const S2BlockSparse *matrix) {
  for (int k = 0; k < matrix->nodes; k++) {
    const S2Quad *d = matrix->diagonal + 3 * (size_t)k;
    double minor = d[0][0] * d[1][1] - d[0][1] * d[1][0];
    double cofactor = d[0][1] * d[1][2] - d[1][1] * d[0][2];
    double determinant =
        d[2][2] * minor + d[2][0] * cofactor - d[2][1] * (d[0][0] * d[1][2] - d[1][0] * d[0][2]);
    if (!(d[0][0] > 0 && minor > 0 && determinant > 0)) {
      return false;
    }
  }
  return true;
}

static bool factor(const S2Csr *m, Factor *f, S2Arena *arena) {
  int entries = m->start[m->rows], edges = 0;
  f->blocks = (m->rows + 2) / 3;
  f->x = S2_TAKE(arena, S2Quad, f->blocks + 1);
  int32_t *edge = S2_TAKE(arena, int32_t, 2 * entries), *slot = S2_TAKE(arena, int32_t, entries);
  for (int i = 0; i < m->rows; i++) {
    for (int32_t p = m->start[i]; p < m->start[i + 1]; p++) {
      if (m->column[p] / 3 < i / 3) {
        edge[2 * edges] = i / 3;
        edge[2 * edges + 1] = m->column[p] / 3;
        edges++;
      }
    }
  }
  s2_blocksparse_init(&f->matrix, f->blocks, edges, edge, slot, arena);
  s2_blocksparse_clear(&f->matrix, false);
  edges = 0;
  for (int i = 0; i < 3 * f->blocks; i++) {
    S2Quad *diagonal = f->matrix.diagonal + 3 * (size_t)f->matrix.place[i / 3];
    if (i >= m->rows) {
      diagonal[i % 3][i % 3] = 1;
      continue;
    }
    for (int32_t p = m->start[i]; p < m->start[i + 1]; p++) {
      int32_t j = m->column[p];
      if (j / 3 == i / 3 && j <= i) {
        diagonal[j % 3][i % 3] = m->value[p];
        diagonal[i % 3][j % 3] = m->value[p];
      } else if (j / 3 < i / 3) {
        S2Quad *block = f->matrix.lower + 3 * (size_t)slot[edges++];
        bool below = f->matrix.place[i / 3] > f->matrix.place[j / 3];
        block[below ? j % 3 : i % 3][below ? i % 3 : j % 3] = m->value[p];
      }
    }
  }
  return s2_blocksparse_factor(&f->matrix) && pivots_positive(&f->matrix);
}

static void solve(const Factor *f, int rows, double *x) {
  for (int i = 0; i < f->blocks; i++) {
    f->x[i] = (S2Quad){0};
  }
  for (int i = 0; i < rows; i++) {
    f->x[i / 3][i % 3] = x[i];
  }
  s2_blocksparse_solve(&f->matrix, f->x, f->x);
  for (int i = 0; i < rows; i++) {
    x[i] = f->x[i / 3][i % 3];
  }
}

// W = H' M^-1 H, entries that are exactly 0 left out.
static S2Csr condense(const S2GlobalContactProblem *problem, const Factor *f, S2Arena *arena) {
  int rows = 2 * problem->contacts, freedoms = problem->freedoms;
  S2Csr columns = s2_csr_transpose(problem->h, arena);
  double *x = S2_TAKE(arena, double, freedoms);
  S2Csr w = {.rows = rows,
             .columns = rows,
             .start = S2_TAKE_ZEROED(arena, int32_t, rows + 1),
             .column = S2_TAKE(arena, int32_t, (size_t)rows * (size_t)rows),
             .value = S2_TAKE(arena, double, (size_t)rows *(size_t)rows)};
  for (int j = 0; j < rows; j++) { // row j, which is column j too
    memset(x, 0, sizeof(double) * (size_t)freedoms);
    for (int32_t p = columns.start[j]; p < columns.start[j + 1]; p++) {
      x[columns.column[p]] = columns.value[p];
    }
    solve(f, freedoms, x);
    int32_t at = w.start[j];
    for (int i = 0; i < rows; i++) {
      double sum = 0;
      for (int32_t p = columns.start[i]; p < columns.start[i + 1]; p++) {
        sum += columns.value[p] * x[columns.column[p]];
      }
      if (sum != 0) {
        w.column[at] = i;
        w.value[at++] = sum;
      }
    }
    w.start[j + 1] = at;
  }
  return w;
}

static S2SolveStatus solve_condensed(const S2GlobalContactProblem *problem,
                                     const S2SolverOptions *options, S2Arena *arena,
                                     S2ContactSolution *solution) {
  int rows = 2 * problem->contacts, freedoms = problem->freedoms;
  Factor f;
  if (problem->contacts > S2_CONTACT_CONDENSE_MAX) {
    return refuse(solution, options, problem->contacts, S2_UNSUPPORTED);
  }
  if (!factor(problem->m, &f, arena)) {
    return refuse(solution, options, problem->contacts, S2_SINGULAR);
  }
  double *v = solution->v, *q = S2_TAKE(arena, double, rows);
  memcpy(v, problem->q, sizeof(double) * (size_t)freedoms);
  solve(&f, freedoms, v);
  memcpy(q, problem->b, sizeof(double) * (size_t)rows);
  s2_csr_add_transposed_times(problem->h, 1, v, q);
  S2Csr w = condense(problem, &f, arena);
  S2ContactProblem local = {problem->contacts, &w, q, problem->mu};
  s2_contact_solve(&local, options, arena, solution);
  memcpy(v, problem->q, sizeof(double) * (size_t)freedoms);
  s2_csr_add_times(problem->h, 1, solution->r, v);
  solve(&f, freedoms, v);
  return solution->status;
}

static S2SolveStatus solve_bodies(const S2GlobalContactProblem *problem, S2Problem *step,
                                  const S2SolverOptions *options, S2Arena *arena,
                                  S2ContactSolution *solution) {
  double *v = S2_TAKE(arena, double, 3 * step->nodes);
  double *none = S2_TAKE_ZEROED(arena, double, step->rows);
  for (int i = 0; i < problem->freedoms; i++) {
    if (!(step->mass[i] > 0)) {
      return refuse(solution, options, problem->contacts, S2_SINGULAR);
    }
  }
  s2_mcp_velocity(step, none, v);
  s2_mcp_row_velocity(step, v, solution->u);
  double scale = 0;
  for (int i = 0; i < step->rows; i++) {
    scale = fmax(scale, fabs(solution->u[i] + step->row[i].bias));
  }
  step->velocity_scale = scale > 0 ? scale : 1;
  run(step, options, v, arena, solution);
  memcpy(solution->v, v, sizeof(double) * (size_t)problem->freedoms);
  return solution->status;
}

S2SolveStatus s2_contact_solve_global(const S2GlobalContactProblem *problem,
                                      const S2SolverOptions *options, S2Arena *arena,
                                      S2ContactSolution *solution) {
  int n = problem->contacts;
  memset(solution->v, 0, sizeof(double) * (size_t)problem->freedoms);
  bool finite = csr_finite(problem->m) && csr_finite(problem->h) &&
                all_finite(problem->q, problem->freedoms) && all_finite(problem->b, 2 * n) &&
                all_finite(problem->mu, n);
  if (!finite) {
    return refuse(solution, options, n, S2_SINGULAR);
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Problem step;
  if (problem->freedoms > 0 && body_problem(problem, &step, arena)) {
    solve_bodies(problem, &step, options, arena, solution);
  } else {
    solve_condensed(problem, options, arena, solution);
  }
  s2_arena_rewind(arena, mark);
  if (!all_finite(solution->v, problem->freedoms)) { // does not fit into a double
    memset(solution->v, 0, sizeof(double) * (size_t)problem->freedoms);
    refuse(solution, options, n, S2_SINGULAR);
  }
  return solution->status;
}
