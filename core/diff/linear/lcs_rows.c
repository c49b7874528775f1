// Functions for the rows of both the motion and the impact of an LCS.
#include "diff/linear/lcs_work.h"

#include "mcp/lcp/lcp.h"

#include <string.h>

// A solution of the LCP is accepted if its residual is at most this, regardless of the solver's
// status. x+ is then accurate to 1e-9, like the system itself.
static const double GOOD = 1e-9;

void s2_lcs_push(const S2LcsWork *work, const double *lambda, bool impact, double *impulse,
                 double *bend) {
  const S2LcsRows *rows = &work->rows;
  int n = work->n;
  double *p = s2_lcs_numbers(work, 1, rows->line_count);
  // Sum the impulses along each line.
  for (int l = 0; l < rows->line_count; l++) {
    p[l] = impact ? 0 : rows->line[l].base;
  }
  for (int i = 0; i < rows->part_count && lambda != NULL; i++) {
    const S2LcsPart *part = &rows->part[i];
    int first = impact ? part->impact : part->row;
    for (int k = 0; k < part->rows && first >= 0; k++) {
      const S2LcsRow *row = &rows->row[part->row + k];
      if (row->line >= 0) {
        p[row->line] += row->sign * lambda[first + k];
      }
    }
  }
  memset(impulse, 0, sizeof(double) * (size_t)n);
  memset(bend, 0, sizeof(double) * (size_t)(n * n));
  for (int l = 0; l < rows->line_count; l++) {
    for (int i = 0; i < n && p[l] != 0; i++) {
      impulse[i] += p[l] * rows->line[l].line.j[i];
    }
    if (p[l] != 0) {
      s2_lcs_bend(rows, &rows->line[l], p[l], bend);
    }
  }
}

double s2_lcs_coupling(const S2LcsWork *work, const S2LcsPart *part, int r, int k) {
  const S2LcsRow *row = &work->rows.row[r];
  const S2LcsRow *column = &work->rows.row[k];
  if (row->line >= 0) {
    double compliance = column->line == row->line ? work->rows.line[row->line].compliance : 0;
    return k == row->slack ? 1 : compliance;
  }
  // mu lambda_n minus both tangents, or the remaining effort of a drive
  if (part->kind == S2_LCS_CONTACT) {
    return k == part->row ? part->friction : column->slack == r ? -1 : 0;
  }
  return column->slack == r ? -1 : 0;
}

void s2_lcs_speed(const S2LcsWork *work, int r, S2LcsSpeed *to) {
  const S2LcsRows *rows = &work->rows;
  const S2LcsRow *row = &rows->row[r];
  const S2LcsLine *line = &rows->line[row->line];
  int n = work->n, m = work->m, inputs = work->inputs;
  S2ArenaMark mark = s2_arena_mark(work->arena);
  double *j = s2_lcs_numbers(work, 1, n), *turn = s2_lcs_numbers(work, 1, n);
  double *by_impulse = s2_lcs_numbers(work, 1, n);
  for (int i = 0; i < n; i++) {
    j[i] = row->sign * line->line.j[i];
  }
  // d(J v) = J dv + v' dJ
  s2_lcs_turn(rows, line, row->sign, work->v, turn);
  to->value = row->sign * s2_lcs_along(rows, line, work->v_free);
  s2_lcs_multiply(1, n, m, j, work->by_state, to->e);
  for (int i = 0; i < n; i++) {
    s2_lcs_multiply(1, 1, m, &turn[i], s2_lcs_lift_q(work, i), to->e);
  }
  s2_lcs_multiply(1, n, inputs, j, work->by_input, to->h);
  // Each impulse acts along the line of its row.
  s2_lcs_multiply(1, n, n, j, work->by_impulse, by_impulse);
  for (int k = 0; k < rows->row_count; k++) {
    const S2LcsRow *of = &rows->row[k];
    for (int i = 0; i < n && of->line >= 0; i++) {
      to->f[k] += by_impulse[i] * of->sign * rows->line[of->line].line.j[i];
    }
  }
  s2_arena_rewind(work->arena, mark);
}

S2Status s2_lcs_solve(const S2LcsWork *work, int from, int to) {
  S2Lcs *lcs = work->lcs;
  int n = to - from;
  double *f = s2_lcs_numbers(work, n, n), *q = s2_lcs_numbers(work, 1, n),
         *w = s2_lcs_numbers(work, 1, n);
  for (int i = 0; i < n; i++) {
    const double *row = lcs->f + (from + i) * lcs->rows;
    q[i] = lcs->c[from + i];
    s2_lcs_multiply(1, from, 1, row, lcs->lambda, &q[i]);
    memcpy(f + i * n, row + from, sizeof(double) * (size_t)n);
  }
  S2LcpSolverOptions options = {.tolerance = work->world->kept.def.tolerance};
  S2LcpSolution solution = {.z = lcs->lambda + from, .w = w};
  S2SolveStatus found = s2_lcp_solve(&(S2LcpProblem){n, f, q}, &options, work->arena, &solution);
  return found == S2_SOLVED || solution.residual < GOOD
             ? s2_ok()
             : s2_error(S2_UNSOLVED, "lcs: the step problem was not solved (%s)",
                        s2_solve_status_name(found));
}
