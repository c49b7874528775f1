#include "mcp/contact/contact_form.h"

#include "mcp/solvers.h"

#include <math.h>
#include <string.h>

static bool csr_finite(const S2Csr *matrix) {
  return s2_all_finite(matrix->value, (size_t)matrix->start[matrix->rows]);
}

// Writes a normal row and the friction row that follows it.
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

S2Problem s2_contact_local_form(const S2ContactProblem *problem, int32_t *place, S2Arena *arena) {
  int n = problem->contacts;
  double *rhs = S2_TAKE(arena, double, 3 * n), scale = s2_largest(problem->q, 2 * (size_t)n);
  S2Row *row = S2_TAKE(arena, S2Row, 2 * n);
  // Node k represents the velocity (0, u_n, u_t) of contact k, and A consists of the blocks of W.
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
      .mobility = s2_mobility_from_csr(problem->w, 2, 1, place, arena),
      .velocity_scale = scale > 0 ? scale : 1,
      .length = 1,
  };
}

S2Problem s2_contact_step_problem(const S2ContactProblem *problem, S2Arena *arena) {
  return s2_contact_local_form(problem, NULL, arena);
}

bool s2_contact_finite(const S2ContactProblem *problem) {
  int n = problem->contacts;
  return csr_finite(problem->w) && s2_all_finite(problem->q, 2 * (size_t)n) &&
         s2_all_finite(problem->mu, (size_t)n);
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

// Adds one column of H to a row of a contact. Returns false if the contact involves a third body.
static bool fill_jacobian(S2Row *row, int which, const S2Csr *columns, int column) {
  for (int32_t p = columns->start[column]; p < columns->start[column + 1]; p++) {
    int32_t body = columns->column[p] / 3, lane = columns->column[p] % 3;
    if (columns->value[p] == 0) {
      continue;
    }
    // Assign the first body, then the second body. A contact with a third body does not fit a step
    // problem.
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

// Builds the step problem of bodies with three degrees of freedom each. Returns false if the
// problem does not have this form.
static bool body_problem(const S2GlobalContactProblem *problem, S2Problem *step, S2Arena *arena) {
  int bodies = (problem->freedoms + 2) / 3, n = problem->contacts;
  if (!is_diagonal(problem->m)) {
    return false;
  }
  double *mass = S2_TAKE(arena, double, 3 * bodies),
         *rhs = S2_TAKE_ZEROED(arena, double, 3 * bodies);
  for (int i = problem->freedoms; i < 3 * bodies; i++) {
    mass[i] = 1; // padding of the last body
  }
  // Each body has three degrees of freedom. Pad the last body if necessary.
  diagonal_of(problem->m, mass);
  memcpy(rhs, problem->q, sizeof(double) * (size_t)problem->freedoms);
  S2Row *row = S2_TAKE(arena, S2Row, 2 * n);
  S2Csr columns = s2_csr_transpose(problem->h, arena);
  // Fill the rows of each contact from its columns of H.
  for (int k = 0; k < n; k++) {
    S2Row *rows = row + 2 * k;
    fill_rows(rows, k, problem->mu[k]);
    for (int which = 0; which < 2; which++) {
      rows[which].bias = problem->b[2 * k + which];
      if (!fill_jacobian(rows, which, &columns, 2 * k + which)) {
        return false;
      }
    }
    if (rows->a < 0) { // The contact moves no body. The Jacobian is zero, so any node will do.
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

static bool form_factor(const S2Csr *m, S2ContactMass *f, S2Arena *arena) {
  int entries = m->start[m->rows], edges = 0;
  f->rows = m->rows;
  f->blocks = (m->rows + 2) / 3;
  f->x = S2_TAKE(arena, S2Quad, f->blocks + 1);
  int32_t *edge = S2_TAKE(arena, int32_t, 2 * entries), *slot = S2_TAKE(arena, int32_t, entries);
  // Blocks of M below the diagonal become edges.
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
  // Fill the blocks in the same order.
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
        double *block = f->matrix.lower + S2_BLOCK * (size_t)slot[edges++];
        bool below = f->matrix.place[i / 3] > f->matrix.place[j / 3];
        block[below ? 3 * (j % 3) + i % 3 : 3 * (i % 3) + j % 3] = m->value[p];
      }
    }
  }
  return s2_blocksparse_factor(&f->matrix) && pivots_positive(&f->matrix);
}

static void form_solve(const S2ContactMass *f, double *x) {
  for (int i = 0; i < f->blocks; i++) {
    f->x[i] = (S2Quad){0};
  }
  for (int i = 0; i < f->rows; i++) {
    f->x[i / 3][i % 3] = x[i];
  }
  s2_blocksparse_solve(&f->matrix, f->x, f->x);
  for (int i = 0; i < f->rows; i++) {
    x[i] = f->x[i / 3][i % 3];
  }
}

// Computes W = H' M^-1 H, without entries that are exactly 0.
static S2Csr form_condense(const S2GlobalContactProblem *problem, const S2ContactMass *f,
                           S2Arena *arena) {
  int rows = 2 * problem->contacts, freedoms = problem->freedoms;
  S2Csr columns = s2_csr_transpose(problem->h, arena);
  double *x = S2_TAKE(arena, double, freedoms);
  S2Csr w = {.rows = rows,
             .columns = rows,
             .start = S2_TAKE_ZEROED(arena, int32_t, rows + 1),
             .column = S2_TAKE(arena, int32_t, (size_t)rows * (size_t)rows),
             .value = S2_TAKE(arena, double, (size_t)rows *(size_t)rows)};
  // x = M^-1 h_j, w_ij = h_i' x
  for (int j = 0; j < rows; j++) { // row j, which is also column j
    memset(x, 0, sizeof(double) * (size_t)freedoms);
    for (int32_t p = columns.start[j]; p < columns.start[j + 1]; p++) {
      x[columns.column[p]] = columns.value[p];
    }
    form_solve(f, x);
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

static S2SolveStatus condensed_form(const S2GlobalContactProblem *problem, S2GlobalForm *form,
                                    S2Arena *arena) {
  int rows = 2 * problem->contacts, freedoms = problem->freedoms;
  if (problem->contacts > S2_CONTACT_CONDENSE_MAX) {
    return S2_UNSUPPORTED;
  }
  if (!form_factor(problem->m, &form->mass, arena)) {
    return S2_SINGULAR;
  }
  // q = H' M^-1 q + b
  double *v = S2_TAKE(arena, double, freedoms), *q = S2_TAKE(arena, double, rows);
  memcpy(v, problem->q, sizeof(double) * (size_t)freedoms);
  form_solve(&form->mass, v);
  memcpy(q, problem->b, sizeof(double) * (size_t)rows);
  s2_csr_add_transposed_times(problem->h, 1, v, q);
  S2Csr w = form_condense(problem, &form->mass, arena);
  S2ContactProblem local = {problem->contacts, &w, q, problem->mu};
  form->step = s2_contact_step_problem(&local, arena);
  form->v = S2_TAKE(arena, double, 3 * problem->contacts);
  memcpy(form->v, form->step.rhs, sizeof(double) * 3 * (size_t)problem->contacts);
  return s2_contact_finite(&local) ? S2_SOLVED : S2_SINGULAR;
}

static S2SolveStatus finish_bodies(S2GlobalForm *form, S2Arena *arena) {
  S2Problem *step = &form->step;
  for (int i = 0; i < 3 * step->nodes; i++) {
    if (!(step->mass[i] > 0)) {
      return S2_SINGULAR;
    }
  }
  form->v = S2_TAKE(arena, double, 3 * step->nodes);
  // Set V to the largest velocity that a row has without impulses.
  S2ArenaMark mark = s2_arena_mark(arena);
  double *none = S2_TAKE_ZEROED(arena, double, step->rows);
  double *u = S2_TAKE(arena, double, step->rows), scale = 0;
  s2_mcp_velocity(step, none, form->v);
  s2_mcp_row_velocity(step, form->v, u);
  for (int i = 0; i < step->rows; i++) {
    scale = fmax(scale, fabs(u[i] + step->row[i].bias));
  }
  step->velocity_scale = scale > 0 ? scale : 1;
  s2_arena_rewind(arena, mark);
  return S2_SOLVED;
}

S2SolveStatus s2_contact_global_form(const S2GlobalContactProblem *problem, S2GlobalForm *form,
                                     S2Arena *arena) {
  int n = problem->contacts;
  bool finite = csr_finite(problem->m) && csr_finite(problem->h) &&
                s2_all_finite(problem->q, (size_t)problem->freedoms) &&
                s2_all_finite(problem->b, 2 * (size_t)n) && s2_all_finite(problem->mu, (size_t)n);
  *form = (S2GlobalForm){0};
  if (!finite) {
    return S2_SINGULAR;
  }
  form->bodies = problem->freedoms > 0 && body_problem(problem, &form->step, arena);
  return form->bodies ? finish_bodies(form, arena) : condensed_form(problem, form, arena);
}

void s2_global_form_respond(const S2GlobalForm *form, int freedoms, double *x) {
  if (!form->bodies) {
    form_solve(&form->mass, x);
    return;
  }
  for (int i = 0; i < freedoms; i++) {
    x[i] /= form->step.mass[i];
  }
}
