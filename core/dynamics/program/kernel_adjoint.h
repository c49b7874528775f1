// Private to the kernels: the derivative of a step by the two-stage flow, from its record. With P
// and L for the rows at the start and the end of a piece, a piece solves
//
//     M u = M v0 + h/2 f + P' l,    g(q1) = 0,     q1 = q0 + h u
//     M v1 = M u + h/2 f + L' k,    L v1 = 0
//
// Its adjoint is, from the last equation to the first, with momenta m and multipliers y of the
// rows,
//
//     m2 = v1_bar - L' y2,   L M^-1 m2 = 0,     m1 = m2 + h q1_bar - L' y1,   P M^-1 m1 = 0
//
// This is the same derivative as that of the notes (diff/step/rattle_undo.c), for rigid rows.
#ifndef S2_KERNEL_ADJOINT_H
#define S2_KERNEL_ADJOINT_H

// Arrays have the sizes of the table, which the analyzer does not know.
// NOLINTBEGIN(clang-analyzer-*)

#include "dynamics/program/kernel_factor.h"

typedef struct Bars {
  S2_TABLE_BARS(Real)
} Bars;

typedef struct AtSeats { // three numbers for each seat; those of grounds are 0 unless set
  Real at[S2_TABLE_SEATS][3];
} AtSeats;

// A piece of the record.
typedef struct Recorded {
  const Real (*q1)[3], (*v1)[3], (*l)[2], (*k)[2];
} Recorded;

typedef struct Adjoint {
  const Constants *of;
  Bars *bars;
  Seats seats[2]; // at the start and at the end of the piece
  Rows rows[2];   //
  Factor factor;  // matrix of the current equations
  Real h, done;   // s: length of the piece, and its start as a time since the start of the step
  AtSeats q_bar;  // adjoint of the poses at the end of the piece, later at its start
  AtSeats v1;     // velocities at the end of the piece
  AtSeats m;      // the momenta m of a stage, divided by the masses
  Nodes momentum; // the momenta
  Pairs y;
  bool asked; // true if `bars` has adjoints of impulses and reactions
  Mask missed;
} Adjoint;

S2_INLINE Recorded adjoint_recorded(const S2Table *t, const Real *record, int piece) {
  const Real *at = record + s2_table_head(t) + piece * s2_table_piece(t);
  int nodes = 3 * t->nodes, rows = 2 * t->joints;
  return (Recorded){(const Real(*)[3])at, (const Real(*)[3])(at + nodes),
                    (const Real(*)[2])(at + 2 * nodes), (const Real(*)[2])(at + 2 * nodes + rows)};
}

// Computes the rows at the poses q of the nodes, at the time `at` since the start of the step.
S2_KERNEL void adjoint_place(const S2Table *t, Adjoint *adjoint, const Real *record,
                             const Real (*q)[3], Real at, bool end) {
  Seats *seats = &adjoint->seats[end];
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    memcpy(seats->q[i], q[i], sizeof seats->q[i]);
    (void)seats_turn(seats, i);
  }
  const Real(*ground)[3] = (const Real(*)[3])(record + (size_t)(3 * t->nodes));
  S2_UNROLL for (int k = 0; k < t->grounds; k++) {
    int seat = t->nodes + k;
    S2_UNROLL for (int c = 0; c < 3; c++) {
      seats->q[seat][c] = ground[k][c] + at * ground[t->grounds + k][c];
    }
    if (t->stands[k]) {
      seats->cosine[seat] = real(1);
      seats->sine[seat] = real(0);
    } else {
      (void)seats_turn(seats, seat);
    }
  }
  rows_measure_all(t, adjoint->of, seats, &adjoint->rows[end]);
}

// The adjoint of impulse r of joint g in a stage with the given rows.
S2_INLINE Real adjoint_asked(const S2Table *t, const Adjoint *adjoint, const Rows *rows, int g,
                             int r) {
  Real sum = adjoint->bars->lambda[g][r];
  S2_UNROLL for (int c = 0; c < 3; c++) {
    sum = sum + adjoint->bars->reaction[g][c] * rows_push(t, rows, g, r, c);
  }
  return sum;
}

// Makes the momenta fulfil the equations `see` M^-1 momentum = 0 by impulses along the rows `push`.
// Sets `y`, the momenta and `m`. `asked`: the adjoints of the impulses are added to y.
S2_KERNEL void adjoint_solve(const S2Table *t, Adjoint *adjoint, bool push_end, bool see_end,
                             const Rows *asked, Mask on) {
  const Constants *of = adjoint->of;
  const Rows *push = &adjoint->rows[push_end], *see = &adjoint->rows[see_end];
  Real(*m)[3] = adjoint->m.at, (*momentum)[3] = adjoint->momentum.at;
  bool symmetric = push_end == see_end;
  factor_fill(t, of, push, see, symmetric, &adjoint->factor);
  Mask poor = symmetric ? factor_symmetric(t, &adjoint->factor) : factor_whole(t, &adjoint->factor);
  adjoint->missed |= on & poor;
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      m[i][c] = momentum[i][c] * of->node[i].inverse[c > 0];
    }
  }
  // The right-hand side: the speeds of the rows that the momenta cause.
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    const Real *a = m[t->a[g]], *b = m[t->b[g]];
    S2_UNROLL for (int r = 0; r < 2; r++) {
      const Real *ja = see->a[g][r], *jb = see->b[g][r];
      adjoint->y.at[g][r] = (ja[0] * a[0] + ja[1] * a[1] + ja[2] * a[2]) +
                            (jb[0] * b[0] + jb[1] * b[1] + jb[2] * b[2]);
      if (asked != NULL) {
        adjoint->y.at[g][r] = adjoint->y.at[g][r] + adjoint_asked(t, adjoint, asked, g, r);
      }
    }
  }
  factor_apply(t, &adjoint->factor, symmetric, &adjoint->y);
  // Apply the impulses.
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      Real y = adjoint->y.at[g][r];
      S2_UNROLL for (int c = 0; c < 3; c++) {
        if (t->a[g] < t->nodes) {
          momentum[t->a[g]][c] = momentum[t->a[g]][c] - push->a[g][r][c] * y;
        }
        if (t->b[g] < t->nodes) {
          momentum[t->b[g]][c] = momentum[t->b[g]][c] - push->b[g][r][c] * y;
        }
      }
    }
  }
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      m[i][c] = momentum[i][c] * of->node[i].inverse[c > 0];
    }
  }
}

// Passes the adjoints ja, jb of the directions of a joint's rows on to the poses of its bodies.
// Directions: see rows_joint().
S2_KERNEL void adjoint_joint(const S2Table *t, Adjoint *adjoint, bool end, int g, Real ja[2][3],
                             Real jb[2][3]) {
  const Seats *at = &adjoint->seats[end];
  int a = t->a[g], b = t->b[g];
  bool hinge = t->type[g] == S2_TABLE_HINGE;
  const Real *qa = at->q[a], *qb = at->q[b], *la = adjoint->of->joint[g].arm_a;
  Real ca = at->cosine[a], sa = at->sine[a];
  Real rax = ca * la[0] - sa * la[1], ray = sa * la[0] + ca * la[1];
  Real wx = (qa[1] - qb[1]) + rax, wy = (qa[2] - qb[2]) + ray;
  Real *to_a = adjoint->q_bar.at[a], *to_b = adjoint->q_bar.at[b];
  // The second row of a slider has constant directions.
  for (int r = 0; r < (hinge ? 2 : 1); r++) {
    Real ux = adjoint->rows[end].a[g][r][1], uy = adjoint->rows[end].a[g][r][2];
    Real w_bar_x = -(jb[r][0] * uy), w_bar_y = jb[r][0] * ux;
    Real arm_bar_x = ja[r][0] * uy + w_bar_x, arm_bar_y = w_bar_y - ja[r][0] * ux;
    Real u_bar_x = (ja[r][1] - jb[r][1]) + (jb[r][0] * wy - ja[r][0] * ray);
    Real u_bar_y = (ja[r][2] - jb[r][2]) + (ja[r][0] * rax - jb[r][0] * wx);
    to_a[0] = to_a[0] + (arm_bar_y * rax - arm_bar_x * ray);
    to_a[1] = to_a[1] + w_bar_x;
    to_a[2] = to_a[2] + w_bar_y;
    to_b[0] = to_b[0] + (u_bar_y * ux - u_bar_x * uy);
    to_b[1] = to_b[1] - w_bar_x;
    to_b[2] = to_b[2] - w_bar_y;
  }
}

// Adds the adjoints of all rows at one end of the piece. The rows act with `impulse` on m. In stage
// 2, `y` also multiplies the velocities v1.
S2_KERNEL void adjoint_rows(const S2Table *t, Adjoint *adjoint, bool end,
                            const Real (*impulse)[2]) {
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    Real ja[2][3], jb[2][3];
    const Real *ma = adjoint->m.at[t->a[g]], *mb = adjoint->m.at[t->b[g]];
    const Real *reaction = adjoint->bars->reaction[g];
    bool world = t->a[g] >= t->nodes && t->stands[t->a[g] - t->nodes];
    const Real *va = adjoint->v1.at[t->a[g]], *vb = adjoint->v1.at[t->b[g]];
    S2_UNROLL for (int r = 0; r < 2; r++) {
      S2_UNROLL for (int c = 0; c < 3; c++) {
        ja[r][c] = impulse[g][r] * ma[c];
        jb[r][c] = impulse[g][r] * mb[c];
        if (adjoint->asked && (c > 0 || world)) {
          ja[r][c] = ja[r][c] + impulse[g][r] * reaction[c];
        }
        if (end) {
          ja[r][c] = ja[r][c] - adjoint->y.at[g][r] * va[c];
          jb[r][c] = jb[r][c] - adjoint->y.at[g][r] * vb[c];
        }
      }
    }
    adjoint_joint(t, adjoint, end, g, ja, jb);
  }
}

// q_bar -= factor J' y, for the values of the rows.
S2_KERNEL void adjoint_values(const S2Table *t, Adjoint *adjoint, bool end, Real factor) {
  const Rows *rows = &adjoint->rows[end];
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    Real *a = adjoint->q_bar.at[t->a[g]], *b = adjoint->q_bar.at[t->b[g]];
    S2_UNROLL for (int r = 0; r < 2; r++) {
      Real y = factor * adjoint->y.at[g][r];
      S2_UNROLL for (int c = 0; c < 3; c++) {
        a[c] = a[c] - rows->a[g][r][c] * y;
        b[c] = b[c] - rows->b[g][r][c] * y;
      }
    }
  }
}

// Moves the adjoints of ground poses at the time `at` to the pose and velocity of the ground.
S2_KERNEL void adjoint_ground(const S2Table *t, Adjoint *adjoint, Real at, Mask on) {
  Bars *bars = adjoint->bars;
  S2_UNROLL for (int k = 0; k < t->grounds; k++) {
    Real *from = adjoint->q_bar.at[t->nodes + k];
    S2_UNROLL for (int c = 0; c < 3; c++) {
      Real *q = &bars->ground_q[k][c], *v = &bars->ground_v[k][c];
      *q = select(on, *q + from[c], *q);
      *v = select(on, *v + at * from[c], *v);
      from[c] = real(0);
    }
  }
}

S2_KERNEL void adjoint_forces(const S2Table *t, Adjoint *adjoint, Mask on) {
  Real half = adjoint->h / real(2);
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      Real *force = &adjoint->bars->force[i][c];
      *force = select(on, *force + half * adjoint->m.at[i][c], *force);
    }
  }
}

// Adds the adjoints of the velocities of grounds in stage 2, in the order of the joints.
S2_KERNEL void adjoint_ground_speeds(const S2Table *t, Adjoint *adjoint, Mask on) {
  for (int n = 0; n < 2 * t->joints && t->rides; n++) {
    int g = n / 2, k = (n % 2 == 0 ? t->a[g] : t->b[g]) - t->nodes;
    for (int i = 0; i < 6 && k >= 0; i++) {
      int r = i / 3, c = i % 3;
      Real *v = &adjoint->bars->ground_v[k][c];
      Real j = n % 2 == 0 ? adjoint->rows[1].a[g][r][c] : adjoint->rows[1].b[g][r][c];
      *v = select(on, *v - adjoint->y.at[g][r] * j, *v);
    }
  }
}

// Differentiates a piece in the lanes `on`. The rows of the piece are placed.
S2_KERNEL void adjoint_piece(const S2Table *t, Adjoint *adjoint, const Recorded *piece, Mask on) {
  Bars *bars = adjoint->bars;
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    memcpy(adjoint->v1.at[i], piece->v1[i], sizeof piece->v1[i]);
    memcpy(adjoint->q_bar.at[i], bars->q[i], sizeof bars->q[i]);
    memcpy(adjoint->momentum.at[i], bars->v[i], sizeof bars->v[i]);
  }
  // Stage 2.
  adjoint_solve(t, adjoint, true, true, adjoint->asked ? &adjoint->rows[1] : NULL, on);
  adjoint_forces(t, adjoint, on);
  adjoint_rows(t, adjoint, true, piece->k);
  adjoint_ground_speeds(t, adjoint, on);
  // Stage 1.
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      Real *momentum = &adjoint->momentum.at[i][c];
      *momentum = *momentum + adjoint->h * adjoint->q_bar.at[i][c];
    }
  }
  adjoint_solve(t, adjoint, true, false, adjoint->asked ? &adjoint->rows[0] : NULL, on);
  adjoint_forces(t, adjoint, on);
  adjoint_values(t, adjoint, true, real(1) / adjoint->h);
  adjoint_ground(t, adjoint, adjoint->done + adjoint->h, on);
  adjoint_rows(t, adjoint, false, piece->l);
  adjoint_ground(t, adjoint, adjoint->done, on);
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      bars->q[i][c] = select(on, adjoint->q_bar.at[i][c], bars->q[i][c]);
      bars->v[i][c] = select(on, adjoint->momentum.at[i][c], bars->v[i][c]);
    }
  }
}

// The poses at the start of a step count as projected onto the joints, as in
// s2_rattle_placings_vjp.
S2_KERNEL void adjoint_placed(const S2Table *t, Adjoint *adjoint) {
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    memcpy(adjoint->q_bar.at[i], adjoint->bars->q[i], sizeof adjoint->bars->q[i]);
    memcpy(adjoint->momentum.at[i], adjoint->bars->q[i], sizeof adjoint->bars->q[i]);
  }
  adjoint_solve(t, adjoint, false, false, NULL, MASK(real(0) == real(0)));
  adjoint_values(t, adjoint, false, real(1));
  adjoint_ground(t, adjoint, real(0), MASK(real(0) == real(0)));
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    memcpy(adjoint->bars->q[i], adjoint->q_bar.at[i], sizeof adjoint->bars->q[i]);
  }
}

S2_KERNEL void kernel_adjoint(const S2Table *t, const Constants *of, const Real *record, bool asked,
                              Bars *bars) {
  Adjoint adjoint;
  adjoint.of = of;
  adjoint.bars = bars;
  adjoint.asked = asked;
  adjoint.missed = MASK(real(0) != real(0));
  const Real(*ground_v)[3] = (const Real(*)[3])(record + (size_t)(3 * t->nodes + 3 * t->grounds));
  Real pieces = record[s2_table_head(t) - 1];
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    bars->force[i][0] = bars->force[i][1] = bars->force[i][2] = real(0);
  }
  S2_UNROLL for (int k = 0; k < t->grounds; k++) {
    int seat = t->nodes + k;
    S2_UNROLL for (int c = 0; c < 3; c++) {
      bars->ground_q[k][c] = bars->ground_v[k][c] = real(0);
      adjoint.q_bar.at[seat][c] = adjoint.m.at[seat][c] = real(0);
      adjoint.v1.at[seat][c] = ground_v[k][c];
    }
  }
  // From the last piece to the first. Each lane has its own number of pieces.
  adjoint.h = of->h / pieces;
  for (int k = S2_TABLE_PIECES - 1; k >= 0; k--) {
    Mask on = MASK(pieces > real(k));
    if (!any(on)) {
      continue;
    }
    Recorded piece = adjoint_recorded(t, record, k);
    const Real(*q0)[3] = k == 0 ? (const Real(*)[3])record : adjoint_recorded(t, record, k - 1).q1;
    adjoint.done = real(k) * adjoint.h;
    adjoint_place(t, &adjoint, record, q0, adjoint.done, false);
    adjoint_place(t, &adjoint, record, piece.q1, adjoint.done + adjoint.h, true);
    adjoint_piece(t, &adjoint, &piece, on);
  }
  adjoint_placed(t, &adjoint);
  bars->missed = select(adjoint.missed, real(1), real(0));
}

// NOLINTEND(clang-analyzer-*)
#endif
