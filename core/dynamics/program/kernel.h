// Private to the kernels: one step of an island of joints. The kernel repeats the operations of the
// general path in the same order, so the results are bit-identical. (See context.h, speculative.c,
// bilateral.c, project.c and shake.c.) The kernel sets `missed` in cases that it does not support.
// The general path then does the step.
#ifndef S2_KERNEL_H
#define S2_KERNEL_H

// Arrays have the sizes of the table, which the analyzer does not know.
// NOLINTBEGIN(clang-analyzer-*)

#include "dynamics/program/kernel_rattle.h"

S2_KERNEL void kernel_seats(Run *run, Seats *seats) {
  const S2Table *t = run->table;
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    memcpy(seats->q[i], run->state->q[i], sizeof seats->q[i]);
    run->missed |= seats_turn(seats, i);
  }
  S2_UNROLL for (int k = 0; k < t->grounds; k++) {
    int seat = t->nodes + k;
    S2_UNROLL for (int c = 0; c < 3; c++) {
      seats->q[seat][c] = run->state->ground_q[k][c];
      run->ground_v[k][c] = run->state->ground_v[k][c];
    }
    if (t->stands[k]) {
      seats->cosine[seat] = real(1);
      seats->sine[seat] = real(0);
    } else {
      run->missed |= seats_turn(seats, seat);
    }
  }
}

// Returns the lanes in which the forces of the last step may turn too fast for this step.
S2_KERNEL Mask kernel_stiff(const Run *run, const Seats *seats) {
  const S2Table *t = run->table;
  const State *state = run->state;
  Mask stiff = MASK(real(0) != real(0));
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    Real force = size(state->lambda[g][0]) + size(state->lambda[g][1]);
    Real turns = run->of->h * run->of->h * force * joint_swing(run, &run->start, seats, g);
    stiff |= ~MASK(turns <= NEARLY * S2_TURNS_TOO_FAST * state->acted[g]);
  }
  return stiff;
}

S2_KERNEL void kernel_write(const Run *run) {
  const S2Table *t = run->table;
  State *state = run->state;
  Real sum = real(0);
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      state->q[i][c] = run->q1.at[i][c];
      state->v[i][c] = run->v2.at[i][c];
      sum = sum + (size(run->q1.at[i][c]) + size(run->v2.at[i][c]));
    }
  }
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    state->lambda[g][0] = run->lambda.at[g][0];
    state->lambda[g][1] = run->lambda.at[g][1];
    sum = sum + (size(run->lambda.at[g][0]) + size(run->lambda.at[g][1]));
  }
  // The general path rejects results that are not finite.
  Mask missed = run->missed | ~MASK(sum < real(INFINITY));
  state->missed = select(missed, real(1), real(0));
}

S2_KERNEL void kernel_step(const S2Table *t, const Constants *of, State *state, Real *record) {
  Run run;
  run.table = t;
  run.of = of;
  run.state = state;
  run.missed = MASK(real(0) != real(0));
  Real none = real(0);
  state->passes = state->residual = state->joint = state->balance = none;
  Seats seats;
  kernel_seats(&run, &seats);
  rows_measure(t, of, &seats, &run.start);
  run.missed |= kernel_stiff(&run, &seats);
  for (int i = 0; i < t->nodes && t->floats; i++) {
    state->corrected[i][0] = state->corrected[i][1] = state->corrected[i][2] = none;
  }
  if (t->rattles) {
    stages_run(&run, &seats, record);
    kernel_write(&run);
    return;
  }
  solve_motion(&run);
  // Add the reactions of the solve first; the projection adds its own later.
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    run.lambda.at[g][0] = run.lambda.at[g][0] + none;
    run.lambda.at[g][1] = run.lambda.at[g][1] + none;
    state->reaction[g][0] = state->reaction[g][1] = state->reaction[g][2] = none;
  }
  project_react(&run, &run.lambda, MASK(none == none));
  project(&run, &seats);
  state->error = rows_error(t, of, &run.end);
  kernel_write(&run);
}

// NOLINTEND(clang-analyzer-*)
#endif
