// Private to the kernels: one step of an island by the two-stage flow, if all rows are rigid
// equations. The kernel repeats the operations of the general path (rattle/rattle.c,
// rattle_stage.c) in the same order, so the results are bit-identical. `missed` marks lanes that
// need more than S2_TABLE_PIECES pieces or that are not supported. The general path steps these
// lanes.
#ifndef S2_KERNEL_RATTLE_H
#define S2_KERNEL_RATTLE_H

// Arrays have the sizes of the table, which the analyzer does not know.
// NOLINTBEGIN(clang-analyzer-*)

#include "dynamics/program/kernel_project.h"
#include "dynamics/rattle/rattle_numbers.h"

typedef struct Stages {
  Seats seats;  // poses of the nodes and grounds
  Nodes q0;     // poses at the start of the piece; Run.v0 has the velocities
  Nodes rhs;    // right-hand side of the current stage
  Pairs l, k;   // N s, N m s: impulses of stage 1 and stage 2
  Pairs off;    // m/s, rad/s: errors of the rows of the current stage
  Real h, done; // s: length of the piece, and its start as a time since the start of the step
  Real speed;   // m/s: velocity scale V of stage 2
  Real rounding, enough; // m
  Factor whole;          // matrix of stage 1.
  // Results of the lanes for which the number of pieces was sufficient.
  Nodes q, v;
  Pairs lambda;
} Stages;

// ---- Both stages ------------------------------------------------------------------------------

// m/s: the largest error of all rows.
S2_KERNEL Real stages_worst(const Run *run, const Pairs *off) {
  const S2Table *t = run->table;
  Real worst = real(0);
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    Real first = size(off->at[g][0]), second = size(off->at[g][1]);
    second = t->type[g] == S2_TABLE_SLIDER ? second * run->of->length : second;
    worst = keep_larger(worst, first);
    worst = keep_larger(worst, second);
  }
  return worst;
}

// Returns the largest error of the rows in raw units, without multiplying angles by lengths.
S2_KERNEL Real stages_raw(const Run *run, const Pairs *off) {
  Real worst = real(0);
  S2_UNROLL for (int g = 0; g < run->table->joints; g++) {
    worst = keep_larger(worst, size(off->at[g][0]));
    worst = keep_larger(worst, size(off->at[g][1]));
  }
  return worst;
}

S2_INLINE void stages_rhs(const Run *run, Stages *stages, const Nodes *v) {
  Real half = stages->h / real(2), (*rhs)[3] = stages->rhs.at;
  S2_UNROLL for (int i = 0; i < run->table->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      Real mass = c == 0 ? run->of->node[i].inertia : run->of->node[i].mass;
      rhs[i][c] = mass * v->at[i][c] + half * run->force.at[i][c];
    }
  }
}

S2_INLINE void pairs_subtract(const S2Table *t, Pairs *from, const Pairs *what, Mask on) {
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      Real *x = &from->at[g][r];
      *x = select(on, *x - what->at[g][r], *x);
    }
  }
}

// Records the residual of the stage, and marks the lanes in which the stage is not solved.
S2_INLINE void stages_accept(Run *run, const Pairs *off, Real speed, Mask on) {
  State *state = run->state;
  Real scaled = stages_worst(run, off) / speed, raw = stages_raw(run, off);
  run->missed |= on & ~MASK(scaled <= real(S2_RATTLE_SOLVED));
  state->residual = select(on, keep_larger(state->residual, scaled), state->residual);
  state->joint = select(on, keep_larger(state->joint, raw), state->joint);
}

// Moves the ground to its pose at the end of the piece.
S2_KERNEL void stages_ground(Run *run, Stages *stages) {
  const S2Table *t = run->table;
  Seats *seats = &stages->seats;
  for (int k = 0; k < t->grounds && t->rides; k++) {
    int seat = t->nodes + k;
    for (int c = 0; c < 3 && t->goes[k]; c++) {
      Real way = (stages->done + stages->h) * run->ground_v[k][c], q = run->state->ground_q[k][c];
      seats->q[seat][c] = select(MASK(way != real(0)), q + way, q);
    }
    if (t->goes[k]) {
      run->missed |= seats_turn(seats, seat);
    }
  }
}

// ---- Stage 1 ----------------------------------------------------------------------------------

// Computes the rows at the poses q1, and their errors as speeds.
S2_INLINE void stages_place(Run *run, Stages *stages) {
  S2_UNROLL for (int i = 0; i < run->table->nodes; i++) {
    memcpy(stages->seats.q[i], run->q1.at[i], sizeof stages->seats.q[i]);
    run->missed |= seats_turn(&stages->seats, i);
  }
  rows_measure_all(run->table, run->of, &stages->seats, &run->end);
  // Errors divided by the length of the piece.
  S2_UNROLL for (int g = 0; g < run->table->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      stages->off.at[g][r] = run->end.value.at[g][r] / stages->h + real(0);
    }
  }
}

// Computes the velocities that the impulses l cause, the resulting poses, and the errors of the
// rows at these poses. Returns the largest error, m.
S2_KERNEL Real first_measure(Run *run, Stages *stages) {
  const S2Table *t = run->table;
  Real h = stages->h;
  nodes_copy(t, &stages->rhs, &run->v1);
  rows_velocity(t, run->of, &run->start, &stages->l, &run->v1);
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      run->q1.at[i][c] = stages->q0.at[i][c] + h * run->v1.at[i][c];
    }
  }
  stages_place(run, stages);
  return h * stages_worst(run, &stages->off);
}

// Computes J1 M^-1 J0' in the lanes `fresh`. The lanes `older` keep their matrices.
S2_KERNEL void first_factor(Run *run, Stages *stages, Mask fresh, Mask older) {
  const S2Table *t = run->table;
  Factor *whole = &stages->whole;
  if (!any(older)) {
    factor_fill(t, run->of, &run->start, &run->end, false, whole);
    run->missed |= fresh & factor_whole(t, whole);
    return;
  }
  Factor *made = &run->factor; // run->factor is free until stage 2
  factor_fill(t, run->of, &run->start, &run->end, false, made);
  run->missed |= fresh & factor_whole(t, made);
  factor_select(t, fresh, made, whole);
}

// Newton's method, as in stage_newton().
S2_KERNEL void first_solve(Run *run, Stages *stages, Mask on) {
  Real now = first_measure(run, stages), before = real(INFINITY);
  Real rounding =
      larger(real(100) * stages->enough, real(S2_RATTLE_ROUNDING) * stages->speed * stages->h);
  Mask act = on, factored = on & ~on;
  for (int pass = 0; pass < S2_RATTLE_PASSES; pass++) {
    act &= MASK(now > stages->enough) & ~(factored & MASK(now >= before));
    act &= ~run->missed;
    if (!any(act)) {
      break;
    }
    Mask fresh = act & (~factored | MASK(now > real(S2_RATTLE_CHORD) * before));
    if (any(fresh)) {
      first_factor(run, stages, fresh, act & ~fresh);
      factored |= fresh;
    }
    Pairs change;
    pairs_copy(run->table, &stages->off, &change);
    factor_apply(run->table, &stages->whole, false, &change);
    pairs_subtract(run->table, &stages->l, &change, act);
    before = select(act, now, before);
    now = first_measure(run, stages);
  }
  run->missed |= on & ~MASK(now <= rounding);
}

// rad: the part of node i's rotation that affects the rows at both poses, as in
// s2_rattle_seen_turn().
S2_KERNEL Real seen_turn(const Run *run, const Rows *from, const Rows *to, int i, Real turn) {
  const S2Table *t = run->table;
  if (!any(MASK(turn > real(S2_RATTLE_TURN)))) {
    return turn;
  }
  Real lever = real(0);
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      bool angular = t->type[g] == S2_TABLE_SLIDER && r == 1;
      if (!angular && t->a[g] == i) {
        lever = larger(lever, larger(size(from->a[g][r][0]), size(to->a[g][r][0])));
      }
      if (!angular && t->b[g] == i) {
        lever = larger(lever, larger(size(from->b[g][r][0]), size(to->b[g][r][0])));
      }
    }
  }
  Real part = turn * (lever * root(run->of->node[i].mass / run->of->node[i].inertia));
  return select(MASK(turn > real(S2_RATTLE_TURN)), smaller(turn, part), turn);
}

// Returns the lanes in which bodies or row forces turn too far, as in s2_rattle_turns_too_far().
S2_KERNEL Mask first_turns(const Run *run, const Stages *stages) {
  const S2Table *t = run->table;
  Mask far = MASK(real(0) != real(0));
  Real most = real(S2_RATTLE_TURN * S2_RATTLE_TURN * (1 + 1e-9));
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      if (t->type[g] == S2_TABLE_HINGE) {
        continue;
      }
      const Real *from = run->start.b[g][r], *to = run->end.b[g][r];
      Real x = to[1] - from[1], y = to[2] - from[2];
      Real square = from[1] * from[1] + from[2] * from[2];
      far |= MASK(stages->l.at[g][r] != real(0)) & MASK(x * x + y * y > most * square);
    }
  }
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    Real turn = seen_turn(run, &run->start, &run->end, i, size(stages->h * run->v1.at[i][0]));
    far |= MASK(turn > real(S2_RATTLE_TURN * (1 + 1e-9)));
  }
  return far;
}

// Returns the lanes in which forces of stage 1 may turn too fast, as in s2_rattle_loads_turn().
S2_KERNEL Mask first_stiff(const Run *run, const Stages *stages) {
  const S2Table *t = run->table;
  Real h = stages->h;
  Mask stiff = MASK(real(0) != real(0));
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    Real impulse = size(stages->l.at[g][0]) + size(stages->l.at[g][1]);
    Real turns = h * h * impulse * joint_swing(run, &run->end, &stages->seats, g);
    stiff |= ~MASK(turns <= real(NEARLY * S2_RATTLE_SWINGS) * (h / real(2)));
  }
  return stiff;
}

// ---- Stage 2 ----------------------------------------------------------------------------------

// Computes the velocities that the impulses k cause, and the errors of the rows. Returns the
// largest error times h, m.
S2_KERNEL Real second_measure(Run *run, Stages *stages, const Pairs *bias) {
  const S2Table *t = run->table;
  nodes_copy(t, &stages->rhs, &run->v2);
  rows_velocity(t, run->of, &run->end, &stages->k, &run->v2);
  rows_see(t, &run->end, &run->v2, bias, &stages->off);
  return stages->h * stages_worst(run, &stages->off);
}

S2_KERNEL void second_solve(Run *run, Stages *stages, Mask on) {
  const S2Table *t = run->table;
  Pairs bias;
  rows_ground(t, &run->end, run->ground_v, &bias);
  stages_rhs(run, stages, &run->v1);
  Real now = second_measure(run, stages, &bias), before = real(INFINITY), h = stages->h;
  Real rounding = larger(real(100) * stages->enough, real(S2_RATTLE_ROUNDING) * stages->speed * h);
  Real enough = smaller(stages->enough, real(0.1 * S2_RATTLE_ROUNDING) * stages->speed * h);
  Mask act = on & ~run->missed & MASK(now > enough);
  if (any(act)) {
    factor_fill(t, run->of, &run->end, &run->end, true, &run->factor);
    run->missed |= act & factor_symmetric(t, &run->factor);
  }
  for (int pass = 0; pass < S2_RATTLE_PASSES && any(act); pass++) {
    Pairs change;
    pairs_copy(t, &stages->off, &change);
    factor_apply(t, &run->factor, true, &change);
    pairs_subtract(t, &stages->k, &change, act);
    before = select(act, now, before);
    now = second_measure(run, stages, &bias);
    act &= MASK(now > enough) & ~MASK(now >= before) & ~MASK(now > real(S2_RATTLE_CHORD) * before);
  }
  run->missed |= on & ~MASK(now <= rounding);
}

// J: the kinetic energy at the velocities v, as in moving_energy() of rattle.
S2_KERNEL Real stages_energy(const Run *run, const Nodes *v) {
  const S2Table *t = run->table;
  Real x = run->frame_x, y = run->frame_y, mass = real(0), moving = real(0);
  if (t->grounds == 0) {
    x = y = real(0);
    S2_UNROLL for (int i = 0; i < t->nodes; i++) {
      mass = mass + run->of->node[i].mass;
      x = x + run->of->node[i].mass * v->at[i][1];
      y = y + run->of->node[i].mass * v->at[i][2];
    }
    x = x / mass;
    y = y / mass;
  }
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      Real inertial = c == 0 ? run->of->node[i].inertia : run->of->node[i].mass;
      Real own = v->at[i][c] - (c == 0 ? real(0) : c == 1 ? x : y);
      moving = moving + inertial * (own * own) / real(2);
    }
  }
  return moving;
}

// Returns the lanes in which turning rows add or take too much energy, as in
// s2_rattle_rows_bring().
S2_KERNEL Mask second_brings(Run *run, const Stages *stages, Mask on) {
  const S2Table *t = run->table;
  // Check the rows only in lanes in which a body turns far.
  Real turn = real(0);
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    turn = keep_larger(turn, size(stages->h * run->v1.at[i][0]));
  }
  on &= MASK(turn > real(S2_RATTLE_SWAY_TURN));
  if (!any(on)) {
    return on;
  }
  // Compute the work of the rows of both stages at the mean velocities of the piece.
  Pairs ground, first, second;
  rows_ground(t, &run->start, run->ground_v, &ground);
  rows_see(t, &run->start, &run->v1, &ground, &first);
  rows_ground(t, &run->end, run->ground_v, &ground);
  rows_see(t, &run->end, &run->v1, &ground, &second);
  Real work = real(0), given = real(0);
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      Real l = stages->l.at[g][r], k = stages->k.at[g][r];
      work = work + (l * first.at[g][r] + k * second.at[g][r]);
    }
  }
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      Real inertial = c == 0 ? run->of->node[i].inertia : run->of->node[i].mass;
      Real forced = stages->h * run->force.at[i][c] / inertial;
      given = given + inertial * (forced * forced) / real(2);
    }
  }
  Real before = stages_energy(run, &run->v0) + given;
  Real allowed = real(S2_RATTLE_SWAY) * (before + stages_energy(run, &run->v2));
  return on & MASK(size(work / real(2)) > allowed);
}

// ---- The step ---------------------------------------------------------------------------------

S2_INLINE Real stages_tolerance(const Run *run) {
  return smaller(larger(run->of->tolerance, real(S2_RATTLE_FINEST)), real(S2_RATTLE_SOLVED));
}

// The velocity scale V of stage 1, as in place_speed() of rattle.
S2_INLINE Real stages_place_speed(const Run *run, const Stages *stages) {
  Real rounded = real(S2_RATTLE_NO_SPEED) * stages->rounding;
  return larger(stages->speed, rounded / (stages_tolerance(run) * stages->h));
}

// The general path does steps that start with joint errors, because it projects such poses.
S2_KERNEL void stages_begin(Run *run, Stages *stages) {
  const S2Table *t = run->table;
  Real far = real(0), off = far, length = run->of->length;
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    far = larger(far, larger(size(run->state->q[i][1]), size(run->state->q[i][2])));
  }
  stages->rounding = real(S2_RATTLE_ROUNDED) * (length + far);
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      bool angular = t->type[g] == S2_TABLE_SLIDER && r == 1;
      Real value = run->start.value.at[g][r];
      off = keep_larger(off, size(angular ? value * length : value));
    }
  }
  Real placed = larger(real(S2_PROJECTION_TRIGGER) * length, real(100) * stages->rounding);
  run->missed |= ~MASK(off <= placed);
}

// Finds the lanes in which the initial guess solves stage 1 with all bodies at rest, as in
// s2_rattle_rests(). Records their residuals and returns the lanes.
S2_KERNEL Mask stages_rest(Run *run, Stages *stages, Mask on) {
  const S2Table *t = run->table;
  State *state = run->state;
  Real fastest = real(0), worst = fastest, balance = fastest, length = run->of->length;
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    fastest = keep_larger(fastest, size(run->v0.at[i][0]) * length);
    fastest = keep_larger(fastest, size(run->v0.at[i][1]));
    fastest = keep_larger(fastest, size(run->v0.at[i][2]));
  }
  Mask rests = on & MASK(fastest <= real(S2_RATTLE_SOLVED) * stages->speed);
  if (!any(rests)) {
    return rests;
  }
  // Compute the velocities that the impulses would cause, and the rows at the initial poses.
  Nodes v;
  nodes_copy(t, &stages->rhs, &v);
  rows_velocity(t, run->of, &run->start, &stages->l, &v);
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      Real error = size(v.at[i][c]);
      run->q1.at[i][c] = stages->q0.at[i][c];
      balance =
          keep_larger(balance, error * (c == 0 ? run->of->node[i].inertia : run->of->node[i].mass));
      worst = keep_larger(worst, c == 0 ? error * length : error);
    }
  }
  stages_place(run, stages);
  Real scaled = keep_larger(worst, stages_worst(run, &stages->off));
  scaled = scaled / stages_place_speed(run, stages);
  rests &= MASK(scaled <= real(S2_RATTLE_ROUNDING));
  Real raw = stages_raw(run, &stages->off);
  state->residual = select(rests, larger(state->residual, scaled), state->residual);
  state->joint = select(rests, larger(state->joint, raw), state->joint);
  state->balance = select(rests, larger(state->balance, balance), state->balance);
  return rests;
}

// Keeps the poses in the lanes `rests` and sets the velocities to 0.
S2_KERNEL void stages_stay(Run *run, Stages *stages, Mask rests) {
  const S2Table *t = run->table;
  if (!any(rests)) {
    return;
  }
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      run->q1.at[i][c] = select(rests, stages->q0.at[i][c], run->q1.at[i][c]);
      run->v1.at[i][c] = select(rests, real(0), run->v1.at[i][c]);
    }
  }
  stages_place(run, stages);
}

// Adds the impulses and reactions of both stages, as in rattle_add_impulses().
S2_KERNEL void stages_react(Run *run, const Stages *stages, Mask on) {
  const S2Table *t = run->table;
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    Real *reaction = run->state->reaction[g];
    S2_UNROLL for (int r = 0; r < 2; r++) {
      Real l = stages->l.at[g][r], k = stages->k.at[g][r];
      run->lambda.at[g][r] = run->lambda.at[g][r] + (l + k);
      S2_UNROLL for (int c = 0; c < 3; c++) {
        Real first = rows_push(t, &run->start, g, r, c), second = rows_push(t, &run->end, g, r, c);
        Real more = (real(0) + first * l) + (real(0) + second * k);
        reaction[c] = select(on, reaction[c] + more, reaction[c]);
      }
    }
  }
}

// Steps one piece in the lanes `on`, from the guess l. Returns the lanes in which bodies or rows
// turn too far for a piece of this length.
S2_KERNEL Mask stages_piece(Run *run, Stages *stages, Mask on) {
  const S2Table *t = run->table;
  Real enough = smaller(real(S2_RATTLE_PLACE) * run->of->length,
                        real(S2_RATTLE_WAY) * stages_tolerance(run) * stages->speed * stages->h);
  stages->enough = larger(enough, stages->rounding);
  stages_ground(run, stages);
  stages_rhs(run, stages, &run->v0);
  Mask rests = stages_rest(run, stages, on), far = on & ~on;
  on &= ~rests & ~run->missed;
  bool moves = any(on);
  // Lanes at rest already have their impulses.
  if (moves) {
    first_solve(run, stages, on);
    stages_accept(run, &stages->off, stages_place_speed(run, stages), on);
  }
  stages_stay(run, stages, rests);
  pairs_copy(t, &stages->l, &stages->k);
  if (moves) {
    far = on & ~run->missed & first_turns(run, stages);
    on &= ~far;
    run->missed |= on & first_stiff(run, stages);
    on &= ~run->missed;
    second_solve(run, stages, on);
    far |= second_brings(run, stages, on);
    stages_accept(run, &stages->off, stages->speed, on);
  }
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      Real v = moves ? run->v2.at[i][c] : real(0);
      run->v2.at[i][c] = select(rests, real(0), v);
    }
  }
  stages_react(run, stages, on | rests);
  return far;
}

// Restores the state from before the step. The initial guess is half of the last impulse.
S2_KERNEL void stages_again(Run *run, Stages *stages, const Seats *seats, int pieces, Mask on) {
  const S2Table *t = run->table;
  State *state = run->state;
  Real none = real(0);
  stages->h = run->of->h / real(pieces);
  stages->done = none;
  state->residual = select(on, none, state->residual);
  state->joint = select(on, none, state->joint);
  state->balance = select(on, none, state->balance);
  memcpy(stages->q0.at, state->q, sizeof stages->q0.at[0] * (size_t)t->nodes);
  memcpy(run->v0.at, state->v, sizeof run->v0.at[0] * (size_t)t->nodes);
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      stages->l.at[g][r] = state->lambda[g][r] / real(2) * real(1.0 / pieces);
      run->lambda.at[g][r] = none;
    }
    S2_UNROLL for (int c = 0; c < 3; c++) {
      state->reaction[g][c] = select(on, none, state->reaction[g][c]);
    }
  }
  if (pieces > 1) { // earlier attempts may have moved the ground
    rows_measure_all(t, run->of, seats, &run->start);
  }
}

// Starts the next piece at the end of this one.
S2_KERNEL void stages_go_on(Run *run, Stages *stages) {
  const S2Table *t = run->table;
  nodes_copy(t, &run->q1, &stages->q0);
  nodes_copy(t, &run->v2, &run->v0);
  memcpy(&run->start, &run->end, sizeof run->start);
  stages->done = stages->done + stages->h;
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      stages->l.at[g][r] = (stages->l.at[g][r] + stages->k.at[g][r]) / real(2);
    }
  }
}

// Stores the state at the end of the last piece in the lanes `on`.
S2_KERNEL void stages_keep(Run *run, Stages *stages, Mask on) {
  const S2Table *t = run->table;
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      stages->q.at[i][c] = select(on, run->q1.at[i][c], stages->q.at[i][c]);
      stages->v.at[i][c] = select(on, run->v2.at[i][c], stages->v.at[i][c]);
    }
  }
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      Real *lambda = &stages->lambda.at[g][r];
      *lambda = select(on, run->lambda.at[g][r], *lambda);
    }
  }
  run->state->error = select(on, rows_error(t, run->of, &run->end), run->state->error);
}

// Records the state before the step, for its derivative.
S2_KERNEL void stages_record_start(const Run *run, Real *record) {
  const S2Table *t = run->table;
  const State *state = run->state;
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    memcpy(record + (ptrdiff_t)(3 * i), state->q[i], sizeof state->q[i]);
  }
  Real *ground = record + (ptrdiff_t)(3 * t->nodes);
  S2_UNROLL for (int k = 0; k < t->grounds; k++) {
    memcpy(ground + (ptrdiff_t)(3 * k), state->ground_q[k], sizeof state->ground_q[k]);
    memcpy(ground + (ptrdiff_t)(3 * (t->grounds + k)), run->ground_v[k], sizeof run->ground_v[k]);
  }
}

// Records the piece `index` in the lanes `on`.
S2_KERNEL void stages_record(const Run *run, const Stages *stages, int index, Mask on,
                             Real *record) {
  const S2Table *t = run->table;
  Real *q = record + (ptrdiff_t)(s2_table_head(t) + index * s2_table_piece(t));
  Real *v = q + (ptrdiff_t)(3 * t->nodes), *l = v + (ptrdiff_t)(3 * t->nodes);
  Real *k = l + (ptrdiff_t)(2 * t->joints);
  S2_UNROLL for (int i = 0; i < 3 * t->nodes; i++) {
    q[i] = select(on, run->q1.at[i / 3][i % 3], q[i]);
    v[i] = select(on, run->v2.at[i / 3][i % 3], v[i]);
  }
  S2_UNROLL for (int r = 0; r < 2 * t->joints; r++) {
    l[r] = select(on, stages->l.at[r / 2][r % 2], l[r]);
    k[r] = select(on, stages->k.at[r / 2][r % 2], k[r]);
  }
}

// Solves both stages from the initial rows. Each lane has its own number of pieces, large enough to
// keep rotations small.
S2_KERNEL void stages_run(Run *run, const Seats *seats, Real *record) {
  const S2Table *t = run->table;
  Stages stages;
  stages.seats = *seats;
  stages.speed = solve_free(run);
  stages_begin(run, &stages);
  nodes_clear(t, &stages.q);
  nodes_clear(t, &stages.v);
  pairs_clear(t, &stages.lambda);
  run->state->error = real(0);
  Real turn = real(0);
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    Real of = run->of->h * size(run->state->v[i][0]);
    turn = keep_larger(turn, seen_turn(run, &run->start, &run->start, i, of));
  }
  if (record != NULL) {
    stages_record_start(run, record);
  }
  // Double the number of pieces until it is sufficient.
  Mask left = ~run->missed;
  for (int pieces = 1; pieces <= S2_TABLE_PIECES && any(left); pieces *= 2) {
    Mask on = left & MASK(turn <= real(pieces * S2_RATTLE_TURN));
    if (!any(on)) {
      continue;
    }
    stages_again(run, &stages, seats, pieces, on);
    for (int i = 0; i < pieces && any(on); i++) {
      if (i > 0) {
        stages_go_on(run, &stages);
      }
      on &= ~stages_piece(run, &stages, on) & ~run->missed;
      if (record != NULL) {
        stages_record(run, &stages, i, on, record);
      }
    }
    stages_keep(run, &stages, on);
    run->state->passes = select(on, real(pieces), run->state->passes);
    left &= ~on & ~run->missed;
  }
  run->missed |= left;
  if (record != NULL) {
    record[s2_table_head(t) - 1] = run->state->passes;
  }
  nodes_copy(t, &stages.q, &run->q1);
  nodes_copy(t, &stages.v, &run->v2);
  pairs_copy(t, &stages.lambda, &run->lambda);
}

// NOLINTEND(clang-analyzer-*)
#endif
