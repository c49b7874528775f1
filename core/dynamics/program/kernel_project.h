// Private to the kernels: the positions after a step, as in project.c and shake.c. Projection
// removes the joint errors that linearised rows cause, and feeds the displacement back to the
// velocities.
#ifndef S2_KERNEL_PROJECT_H
#define S2_KERNEL_PROJECT_H

// Arrays have the sizes of the table, which the analyzer does not know.
// NOLINTBEGIN(clang-analyzer-*)

#include "dynamics/program/kernel_spin.h"

// Safety margin for bounds that only the general path computes exactly. The general path does the
// steps near these bounds.
static const double NEARLY = 0.99;

// Computes an upper bound of (h w)^2, divided by h^2 and the sum of the force magnitudes. It is no
// smaller than the bounds in geometric.c.
S2_INLINE Real joint_swing(const Run *run, const Rows *rows, const Seats *seats, int g) {
  const S2Table *t = run->table;
  const Real *swing = run->of->joint[g].swing, *value = rows->value.at[g];
  if (t->type[g] == S2_TABLE_HINGE) {
    return larger(swing[0], swing[1] + swing[2] * (size(value[0]) + size(value[1])));
  }
  const Real *qa = seats->q[t->a[g]], *qb = seats->q[t->b[g]];
  return swing[0] + swing[1] * (size(qa[1] - qb[1]) + size(qa[2] - qb[2]));
}

typedef struct Shake {
  Seats *seats;
  Nodes from, dq; // initial q1, and its total displacement
  Pairs lambda;
  Factor whole;   // Newton's matrix
  Mask newton;    // lanes that use Newton's matrix
  Mask small;     // lanes in which no pass turned a body too far
  Mask converged; // lanes in which SHAKE has converged
} Shake;

S2_KERNEL void project_place(Run *run, Seats *seats, const Nodes *q) {
  S2_UNROLL for (int i = 0; i < run->table->nodes; i++) {
    memcpy(seats->q[i], q->at[i], sizeof seats->q[i]);
    run->missed |= seats_turn(seats, i);
  }
}

// Computes the rows at q1. `ground`: true to move the ground to its final pose first.
S2_KERNEL void project_measure(Run *run, Seats *seats, bool ground) {
  const S2Table *t = run->table;
  for (int k = 0; k < t->grounds && ground; k++) {
    int seat = t->nodes + k;
    for (int c = 0; c < 3 && t->goes[k]; c++) {
      seats->q[seat][c] = seats->q[seat][c] + run->of->h * run->ground_v[k][c];
    }
    if (t->goes[k]) {
      run->missed |= seats_turn(seats, seat);
    }
  }
  project_place(run, seats, &run->q1);
  rows_measure(t, run->of, seats, &run->end);
}

// Makes one pass in the lanes `act`. Returns the largest new rotation.
S2_KERNEL Real shake_pass(Run *run, Shake *shake, Mask act) {
  const S2Table *t = run->table;
  // Lanes that have a Newton matrix use it; the others use the matrix of the solve.
  for (int way = 0; way < 2; way++) {
    Pairs change;
    Mask on = act & (way == 0 ? ~shake->newton : shake->newton);
    if (any(on)) {
      pairs_copy(t, &run->end.value, &change);
      factor_apply(t, way == 0 ? &run->factor : &shake->whole, way == 0, &change);
      S2_UNROLL for (int g = 0; g < t->joints; g++) {
        S2_UNROLL for (int r = 0; r < 2; r++) {
          Real *l = &shake->lambda.at[g][r];
          *l = select(on, *l - change.at[g][r], *l);
        }
      }
    }
  }
  Nodes dq;
  nodes_clear(t, &dq);
  rows_velocity(t, run->of, &run->start, &shake->lambda, &dq);
  Real turn = real(0);
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    turn = keep_larger(turn, size(dq.at[i][0] - shake->dq.at[i][0]));
    S2_UNROLL for (int c = 0; c < 3; c++) {
      Real *q = &run->q1.at[i][c], *d = &shake->dq.at[i][c];
      *q = select(act, shake->from.at[i][c] + dq.at[i][c], *q);
      *d = select(act, dq.at[i][c], *d);
    }
  }
  return turn;
}

S2_KERNEL void shake_factor(Run *run, Shake *shake, Mask slow, Mask act) {
  const S2Table *t = run->table;
  if (!any(shake->newton & act & ~slow)) {
    factor_fill(t, run->of, &run->start, &run->end, false, &shake->whole);
    run->missed |= slow & factor_whole(t, &shake->whole);
    shake->newton |= slow;
    return;
  }
  // Some lanes keep an older matrix.
  Factor fresh;
  factor_fill(t, run->of, &run->start, &run->end, false, &fresh);
  run->missed |= slow & factor_whole(t, &fresh);
  factor_select(t, slow, &fresh, &shake->whole);
  shake->newton |= slow;
}

// Removes the errors at q1 in the lanes `on`, down to the tolerance `done`.
S2_KERNEL void shake_run(Run *run, Shake *shake, Mask on, Real done) {
  Real before = real(INFINITY), now = run->end.worst;
  Mask act = on;
  nodes_copy(run->table, &run->q1, &shake->from);
  shake->newton = on & ~on;
  shake->small = on;
  nodes_clear(run->table, &shake->dq);
  pairs_clear(run->table, &shake->lambda);
  // Each lane stops separately, by the conditions of s2_step_shake.
  for (int pass = 0; pass < S2_SHAKE_DIRECT_PASSES; pass++) {
    act &= shake->small & MASK(now > done) & MASK(now < before / real(2));
    if (!any(act)) {
      break;
    }
    before = select(act, now, before);
    Real turn = shake_pass(run, shake, act);
    shake->small &= ~act | MASK(turn <= real(S2_PROJECTION_TURN));
    run->state->passes = run->state->passes + select(act, real(1), real(0));
    project_measure(run, shake->seats, false);
    now = run->end.worst;
    Mask slow = act & shake->small & MASK(now * (now / before) * (now / before) > done);
    if (any(slow)) {
      shake_factor(run, shake, slow, act);
    }
  }
  shake->converged = shake->small & MASK(now <= done);
}

// Returns the largest s in [0, 1] with a s^2 + b s <= room. a and room must not be negative.
S2_INLINE Real largest_fraction(Real a, Real b, Real room) {
  room = larger(room, real(0));
  Real of = root(b * b + real(4) * a * room), two = real(2);
  Real part = select(MASK(b > real(0)), two * room / (b + of), (of - b) / (two * a));
  return select(MASK(a + b <= room), real(1), part);
}

// m/s: the mean velocity of the island's grounds, counting each body once. For a floating island,
// this is the velocity of its first body.
S2_INLINE void feedback_frame(const Run *run, Real *x, Real *y) {
  const S2Table *t = run->table;
  *x = t->floats ? run->v0.at[0][1] : real(0);
  *y = t->floats ? run->v0.at[0][2] : real(0);
  for (int k = 0; k < t->grounds && t->rides; k++) {
    if (!t->stands[k]) {
      *x = *x + run->ground_v[k][1];
      *y = *y + run->ground_v[k][2];
    }
  }
  if (t->rides) {
    double part = 1.0 / t->grounds;
    *x = part * *x;
    *y = part * *y;
  }
}

// Returns the fraction of the displacements that is fed back to the velocities.
S2_KERNEL Real feedback_fraction(const Run *run, const Nodes *dq) {
  Real a = real(0), free_b = a, free_room = a, b = a, room = a, turn = a, two = real(2);
  Real h = run->of->h, frame[3];
  frame[0] = real(0);
  feedback_frame(run, &frame[1], &frame[2]);
  S2_UNROLL for (int i = 0; i < run->table->nodes; i++) {
    turn = larger(turn, h * size(run->v1.at[i][0]));
    S2_UNROLL for (int c = 0; c < 3; c++) {
      Real m = c == 0 ? run->of->node[i].inertia : run->of->node[i].mass;
      Real v0 = run->v0.at[i][c] - frame[c], v2 = run->v2.at[i][c] - frame[c];
      Real free_v = run->free_v.at[i][c] - frame[c];
      Real push = h * run->force.at[i][c] / two, more = dq->at[i][c] / h;
      a = a + m * more * more / two;
      free_b = free_b + m * v2 * more;
      free_room = free_room + m * (free_v * free_v - v2 * v2) / two;
      b = b + (m * v2 - push) * more;
      room = room + (m * (v0 * v0 - v2 * v2) / two + push * (v0 + v2));
    }
  }
  Real fraction = largest_fraction(a, free_b, free_room);
  Real less = smaller(fraction, largest_fraction(a, b, room));
  return select(MASK(turn > real(S2_FEEDBACK_TURN)), less, fraction);
}

// Adds the reactions of impulses along the initial rows: the force on a at its anchor, and the
// torque about the anchor. Only rows that measure angles have such a torque.
S2_KERNEL void project_react(Run *run, const Pairs *impulse, Mask on) {
  const S2Table *t = run->table;
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    Real *reaction = run->state->reaction[g];
    S2_UNROLL for (int r = 0; r < 2; r++) {
      S2_UNROLL for (int c = 0; c < 3; c++) {
        Real push = rows_push(t, &run->start, g, r, c);
        reaction[c] = select(on, reaction[c] + push * impulse->at[g][r], reaction[c]);
      }
    }
  }
}

// Adds the given fraction of the joint displacements to velocities and impulses.
S2_KERNEL void feedback_add(Run *run, Shake *shake, Real fraction, Mask on) {
  const S2Table *t = run->table;
  Real h = run->of->h, factor = fraction / h;
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      Real *impulse = &shake->lambda.at[g][r], *l = &run->lambda.at[g][r];
      *impulse = factor * (*impulse + real(0));
      *l = select(on, *l + *impulse, *l);
    }
  }
  project_react(run, &shake->lambda, on);
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      Real *v = &run->v2.at[i][c];
      *v = select(on, *v + fraction * shake->dq.at[i][c] / h, *v);
    }
  }
}

// Runs SHAKE in the lanes `on`, and feeds its displacement back.
S2_KERNEL void project_shake(Run *run, Seats *seats, Mask on, Real done) {
  const S2Table *t = run->table;
  Real spin = real(0), energy = real(0);
  Whole whole;
  if (t->floats) { // energy before any projection
    energy = larger(larger(energy, spin_kinetic(run, &run->free_v)), spin_kinetic(run, &run->v2));
    energy = energy * (1 + S2_SPIN_ROUNDING);
    spin_whole(run, &run->q1, &whole);
    spin = spin_of(run, &whole, &run->v2);
  }
  Shake shake;
  shake.seats = seats;
  shake_run(run, &shake, on, done);
  run->missed |= on & ~shake.converged;
  // Only feed back the displacements without rotation, because a rigid rotation does not violate
  // any joint.
  Nodes before;
  nodes_copy(t, &shake.dq, &before);
  if (t->floats) {
    spin_whole(run, &run->q1, &whole);
    spin_give_back(run, &whole, spin, real(INFINITY), on);
    spin_set(run, &whole, real(0), on, &shake.dq);
  }
  Real fraction = feedback_fraction(run, &shake.dq);
  for (int i = 0; i < t->nodes && t->floats; i++) {
    Real turn[3];
    S2_UNROLL for (int c = 0; c < 3; c++) {
      turn[c] = shake.dq.at[i][c] - before.at[i][c];
    }
    spin_correct(run, i, turn, fraction / run->of->h, on);
  }
  feedback_add(run, &shake, fraction, on);
  if (t->floats) {
    spin_give_back(run, &whole, spin, energy, on);
  }
}

// Moves the positions by the velocities and projects them. `seats` contains the initial poses.
S2_KERNEL void project(Run *run, Seats *seats) {
  const S2Table *t = run->table;
  const Constants *of = run->of;
  Real far = real(0);
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      run->q1.at[i][c] = seats->q[i][c] + of->h * run->v1.at[i][c];
    }
    far = larger(far, larger(size(run->q1.at[i][1]), size(run->q1.at[i][2])));
  }
  nodes_copy(t, &run->v1, &run->v2);
  project_measure(run, seats, true);
  // Errors below `done` are rounding errors. The general path does steps that start with joint
  // errors.
  Real done = larger(S2_PROJECTION_TOLERANCE * of->length, S2_PROJECTION_ROUNDING * far);
  Real most = larger(S2_PROJECTION_TRIGGER * of->length, real(2) * done);
  Mask on = ~MASK(run->end.worst <= most);
  run->missed |= on & ~MASK(run->start.worst <= NEARLY * S2_FEEDBACK_START * of->length);
  on &= ~run->missed;
  if (any(on)) {
    project_shake(run, seats, on, done);
  }
}

// NOLINTEND(clang-analyzer-*)
#endif
