// An impact at the end of a step: v2 = v1 + Z J'p2, where Z is the inverse mass matrix restricted
// to motions that the joints allow.
#include "diff/linear/lcs_work.h"

#include <string.h>

// An impact row acts if the corresponding row of the motion is closed at the end of the motion:
//     J v2 + WEIGHT (row of the motion) >= 0
// This is accurate unless the final gap is within 1/WEIGHT of the initial one.
static const double WEIGHT = 1e4;

static double *impact_masses(const S2LcsWork *work) {
  const S2World *world = work->world;
  double *mass = s2_lcs_numbers(work, 1, work->n);
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i], at = work->rows.lines.column[slot];
    const S2Body *body = &world->bodies.at[slot];
    for (int c = 0; c < 3 && at != S2_NONE; c++) {
      mass[at + c] = c == 0 ? body->inertia : body->mass;
    }
  }
  return mass;
}

// Computes Z = P (P'MP)^-1 P' with dq = P dr. Z is the change of velocity per impulse while the
// joints hold.
static S2Status impact_find_jump(S2LcsWork *work) {
  int n = work->n, m = work->m, half = m / 2;
  double *mass = impact_masses(work), *p = s2_lcs_numbers(work, half, n);
  for (int k = 0; k < half; k++) { // P', a row per coordinate
    for (int i = 0; i < n; i++) {
      p[k * n + i] = s2_lcs_lift_q(work, i)[k];
    }
  }
  S2Dense reduced = {.size = half,
                     .nonsymmetric = true,
                     .a = s2_lcs_numbers(work, half, half),
                     .pivot = S2_TAKE(work->arena, int32_t, half + 1)};
  for (int i = 0; i < half; i++) {
    for (int k = 0; k < half; k++) {
      for (int c = 0; c < n; c++) {
        reduced.a[i * half + k] += p[i * n + c] * mass[c] * p[k * n + c];
      }
    }
  }
  if (half > 0 && !s2_dense_factor(&reduced)) {
    return s2_error(S2_INVALID, "lcs: the coordinates do not determine the motion");
  }
  // Columns of (P'MP)^-1 P', multiplied by P.
  double *column = s2_lcs_numbers(work, 1, half);
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < half; k++) {
      column[k] = p[k * n + i];
    }
    s2_dense_solve(&reduced, column);
    for (int c = 0; c < n; c++) {
      for (int k = 0; k < half; k++) {
        work->jump[c * n + i] += p[k * n + c] * column[k];
      }
    }
  }
  return s2_ok();
}

// Adds impact rows for the contacts, limits and drives that take part in an impact.
void s2_lcs_add_impact(const S2LcsWork *work) {
  S2Lcs *lcs = work->lcs;
  for (int p = 0; p < work->rows.part_count; p++) {
    S2LcsPart *part = &work->rows.part[p];
    bool strikes = (part->kind == S2_LCS_CONTACT && !part->soft) || part->kind == S2_LCS_LIMIT_LO ||
                   part->kind == S2_LCS_LIMIT_HI;
    part->impact = strikes ? lcs->rows : -1;
    lcs->rows += strikes ? part->rows : 0;
  }
}

// Fills E, H, F and c of the impact row that corresponds to row r. The rows of the motion must be
// known. E does not yet contain the jump.
static void impact_row(const S2LcsWork *work, const S2LcsPart *part, int r) {
  const S2LcsRows *rows = &work->rows;
  const S2LcsRow *row = &rows->row[r];
  S2Lcs *lcs = work->lcs;
  int n = work->n, m = work->m, inputs = work->inputs, shift = part->impact - part->row;
  int to = r + shift;
  S2LcsSpeed speed = {
      .e = lcs->e + to * m, .h = lcs->h + to * inputs, .f = lcs->f + to * lcs->rows};
  if (row->line >= 0) {
    const S2LcsLine *line = &rows->line[row->line];
    s2_lcs_speed(work, r, &speed);
    speed.value += row->slack >= 0 ? row->sign * line->bias : 0; // speed of a moving surface along
                                                                 // the row
    for (int p = 0; p < rows->part_count; p++) {
      for (int k = rows->part[p].impact; k >= 0 && k < rows->part[p].impact + rows->part[p].rows;
           k++) {
        const S2LcsRow *of = &rows->row[k - rows->part[p].impact + rows->part[p].row];
        for (int i = 0; i < n * n && of->line >= 0; i++) {
          speed.f[k] += row->sign * line->line.j[i / n] * work->jump[i] * of->sign *
                        rows->line[of->line].line.j[i % n];
        }
      }
    }
  }
  // A normal row of the impact acts only if the gap is closed at the end of the motion.
  if (row->line >= 0 && row->slack < 0) {
    speed.value += WEIGHT * lcs->c[r];
    for (int k = 0; k < m; k++) {
      speed.e[k] += WEIGHT * lcs->e[r * m + k];
    }
    for (int k = 0; k < inputs; k++) {
      speed.h[k] += WEIGHT * lcs->h[r * inputs + k];
    }
    for (int k = 0; k < lcs->first; k++) {
      speed.f[k] += WEIGHT * lcs->f[r * lcs->rows + k];
    }
  }
  for (int k = part->row; k < part->row + part->rows; k++) {
    speed.f[k + shift] += s2_lcs_coupling(work, part, r, k);
  }
  lcs->c[to] = speed.value;
}

// The derivative of the jump: J and Z turn with the poses. With dq = P dr, s the jump of the
// coordinates' speeds, w = P s = Z J'p2 and J_e'mu = M w - J'p2 (K, P: reduce.h),
//     dw = N dq + Z (d(J'p2) + dJ_e' mu - M N dq)     N = -K^-1 (dK w)
static S2Status impact_turn(S2LcsWork *work, const double *impulse, double *bend) {
  S2LineSystem system;
  int n = work->n, m = work->m;
  S2_TRY(s2_lines_solve_for(work->world, &work->reduction, work->arena, &system));
  double *turn = s2_lcs_numbers(work, n, n), *inner = s2_lcs_numbers(work, n, m);
  double *mu = s2_lcs_numbers(work, 1, n), *mass = impact_masses(work);
  S2Dense adjoint = {.size = n,
                     .nonsymmetric = true,
                     .a = s2_lcs_numbers(work, n, n),
                     .pivot = S2_TAKE(work->arena, int32_t, n + 1)};
  // The columns of K' are the gradients.
  for (int i = 0; i < n; i++) {
    memcpy(adjoint.a + i * n, system.line[i].j, sizeof(double) * (size_t)n);
    mu[i] = mass[i] * work->jumped[i] - impulse[i];
  }
  if (n > 0 && !s2_dense_factor(&adjoint)) {
    return s2_error(S2_INVALID, "lcs: the coordinates do not determine the motion");
  }
  s2_dense_solve(&adjoint, mu);
  // N by columns of the state: -K^-1 times the change of the lines' speeds as they turn.
  for (int i = 0; i < n; i++) {
    s2_line_bend(&system.lines, &system.line[i], -1, work->jumped, turn + i * n);
  }
  double *column = s2_lcs_numbers(work, m, n);
  for (int i = 0; i < n; i++) {
    for (int c = 0; c < n; c++) {
      for (int k = 0; k < m; k++) {
        column[k * n + i] += turn[i * n + c] * s2_lcs_lift_q(work, c)[k];
      }
    }
  }
  s2_dense_solve_many(&system.factor, column, m);
  // The columns that Z multiplies.
  for (int r = 0; r < system.rigid; r++) {
    S2LcsLine line = {.line = system.line[r]};
    s2_lcs_bend(&work->rows, &line, mu[r], bend);
  }
  for (int i = 0; i < n; i++) {
    for (int c = 0; c < n; c++) {
      s2_lcs_multiply(1, 1, m, &bend[i * n + c], s2_lcs_lift_q(work, c), inner + i * m);
    }
    for (int k = 0; k < m; k++) {
      work->jump_v[i * m + k] = column[k * n + i];
      inner[i * m + k] -= mass[i] * column[k * n + i];
    }
  }
  s2_lcs_multiply(n, n, m, work->jump, inner, work->jump_v);
  return s2_ok();
}

S2Status s2_lcs_impact(S2LcsWork *work) {
  S2Lcs *lcs = work->lcs;
  const S2LcsRows *rows = &work->rows;
  int n = work->n, m = work->m;
  S2_TRY(impact_find_jump(work));
  for (int p = 0; p < rows->part_count; p++) {
    const S2LcsPart *part = &rows->part[p];
    for (int r = part->row; part->impact >= 0 && r < part->row + part->rows; r++) {
      impact_row(work, part, r);
    }
  }
  S2_TRY(s2_lcs_solve(work, lcs->first, lcs->rows));
  // The jump of the velocities, and its derivative with respect to the state.
  double *impulse = s2_lcs_numbers(work, 1, n), *bend = s2_lcs_numbers(work, n, n);
  s2_lcs_push(work, lcs->lambda, true, impulse, bend);
  s2_lcs_multiply(n, n, 1, work->jump, impulse, work->jumped);
  S2_TRY(impact_turn(work, impulse, bend));
  // d(J w) = J dw + w' dJ is also part of the row.
  for (int p = 0; p < rows->part_count; p++) {
    const S2LcsPart *part = &rows->part[p];
    for (int k = 0; part->impact >= 0 && k < part->rows; k++) {
      const S2LcsRow *row = &rows->row[part->row + k];
      double *e = lcs->e + (part->impact + k) * m, *turn = s2_lcs_numbers(work, 1, n);
      for (int i = 0; i < n && row->line >= 0; i++) {
        double j = row->sign * rows->line[row->line].line.j[i];
        s2_lcs_multiply(1, 1, m, &j, work->jump_v + i * m, e);
      }
      if (row->line >= 0) {
        s2_line_bend(&rows->lines, &rows->line[row->line].line, row->sign, work->jumped, turn);
      }
      for (int i = 0; i < n; i++) {
        s2_lcs_multiply(1, 1, m, &turn[i], s2_lcs_lift_q(work, i), e);
      }
    }
  }
  return s2_ok();
}

// The speeds that w causes depend on q1, which depends on the coordinates. Adds this dependence to
// the speed rows of a matrix with `columns` columns, whose first rows belong to the coordinates.
static void impact_carry(const S2LcsWork *work, const double *by_r, int columns, double *matrix) {
  int half = work->m / 2;
  s2_lcs_multiply(half, half, columns, by_r, matrix, matrix + half * columns);
}

S2Status s2_lcs_impact_state(S2LcsWork *work, S2World *free) {
  S2Lcs *lcs = work->lcs;
  const S2LcsRows *rows = &work->rows;
  int n = work->n, m = work->m, half = m / 2;
  // Derivatives of the final speeds of the coordinates, for velocities with and without w.
  double *without = s2_lcs_numbers(work, m, 2 * n), *with = s2_lcs_numbers(work, m, 2 * n);
  double *lift = s2_lcs_numbers(work, 2 * n, m), *by_r = s2_lcs_numbers(work, half, half);
  S2_TRY(s2_reduction_lower(free, &work->reduction, work->arena, without));
  S2_TRY(s2_reduction_lift(free, &work->reduction, work->arena, lift));
  for (int i = 0; i < free->order.count; i++) {
    int32_t slot = free->order.at[i], at = rows->lines.column[slot];
    for (int c = 0; c < 3 && at != S2_NONE; c++) {
      free->v.at[3 * slot + c] += work->jumped[at + c];
    }
  }
  S2_TRY(s2_reduction_lower(free, &work->reduction, work->arena, with));
  for (int k = 0; k < half; k++) {
    for (int i = 0; i < n; i++) {
      int at = s2_reduction_place(i);
      double turned = with[(half + k) * 2 * n + at] - without[(half + k) * 2 * n + at];
      s2_lcs_multiply(1, 1, half, &turned, lift + at * m, by_r + k * half);
    }
  }
  impact_carry(work, by_r, m, lcs->a);
  impact_carry(work, by_r, work->inputs, lcs->b);
  impact_carry(work, by_r, lcs->rows, lcs->dl);
  // The dependence of w itself on the state and on the impulses of the impact.
  double *jump_x = s2_lcs_numbers(work, m, n), *by_v = s2_lcs_numbers(work, m, n);
  for (int i = half; i < m; i++) {
    for (int c = 0; c < n; c++) {
      by_v[i * n + c] = with[i * 2 * n + s2_reduction_place(c) + 3];
    }
  }
  s2_lcs_multiply(m, n, m, by_v, work->jump_v, lcs->a);
  s2_lcs_multiply(m, n, n, by_v, work->jump, jump_x);
  for (int p = 0; p < rows->part_count; p++) {
    const S2LcsPart *part = &rows->part[p];
    for (int k = 0; part->impact >= 0 && k < part->rows; k++) {
      const S2LcsRow *row = &rows->row[part->row + k];
      for (int i = 0; i < m * n && row->line >= 0; i++) {
        lcs->dl[i / n * lcs->rows + part->impact + k] +=
            jump_x[i] * row->sign * rows->line[row->line].line.j[i % n];
      }
    }
  }
  return s2_ok();
}
