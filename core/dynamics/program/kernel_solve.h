// Private to the kernels: solves for the velocities at the end of the step and their impulses, as
// mcp/chain/bilateral.c does for an island's problem.
#ifndef S2_KERNEL_SOLVE_H
#define S2_KERNEL_SOLVE_H

// Arrays have the sizes of the table, which the analyzer does not know.
// NOLINTBEGIN(clang-analyzer-*)

#include "dynamics/program/kernel_factor.h"
#include "dynamics/world/world.h"

// Data that all parts of a step share.
typedef struct Run {
  const S2Table *table;
  const Constants *of;
  State *state;
  Nodes v0, force, free_v, v1, v2, q1;
  Real ground_v[S2_TABLE_GROUNDS][3];
  Real frame_x, frame_y; // m/s: mean velocity of the island's grounds
  Rows start, end;       // rows at the poses before and after the step
  Factor factor;         // factors of the matrix of the initial rows
  Pairs lambda;
  Mask missed;
} Run;

// Limits of the corrections, as in bilateral.c: their largest number, the reduction of the residual
// that each must achieve, and the residual at which they stop.
enum { CORRECTIONS = 6 };
static const double GAIN = 0.5, ROUNDING = 1e-14;

// Computes the mean velocity of the grounds. Each body counts once per joint.
S2_INLINE void solve_frame(Run *run) {
  const S2Table *t = run->table;
  Real x = real(0), y = real(0);
  int count = 0;
  for (int side = 0; side < 2 * t->joints && t->rides; side++) {
    int ground = (side % 2 == 0 ? t->a : t->b)[side / 2] - t->nodes;
    if (ground >= 0 && !t->stands[ground]) {
      x = x + run->ground_v[ground][1];
      y = y + run->ground_v[ground][2];
    }
    count += ground >= 0;
  }
  double part = count > 0 ? 1.0 / count : 1;
  run->frame_x = part * x;
  run->frame_y = part * y;
}

S2_INLINE Real solve_faster(const Run *run, Real speed, const Real v[3]) {
  Real x = v[1] - run->frame_x, y = v[2] - run->frame_y, turn = run->of->length * size(v[0]);
  Mask may = MASK(size(x) + size(y) > speed);
  if (any(may)) {
    speed = select(may, larger(speed, root(x * x + y * y)), speed);
  }
  return select(MASK(turn > speed), turn, speed);
}

// Computes the forces and the unconstrained motion. Returns V, the velocity scale of residuals.
S2_KERNEL Real solve_free(Run *run) {
  const S2Table *t = run->table;
  const Constants *of = run->of;
  solve_frame(run);
  Real speed = of->speed;
  if (t->rides) {
    Real along = root(run->frame_x * run->frame_x + run->frame_y * run->frame_y);
    speed = larger(speed, S2_FRAME_ROUNDING * along);
  }
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    Real *force = run->force.at[i], *v0 = run->v0.at[i], *free_v = run->free_v.at[i];
    S2_UNROLL for (int c = 0; c < 3; c++) {
      Real mass = c == 0 ? of->node[i].inertia : of->node[i].mass;
      v0[c] = run->state->v[i][c];
      force[c] = run->state->force[i][c];
      force[c] = c > 0 ? force[c] + of->node[i].weight[c - 1] : force[c];
      free_v[c] = (mass * v0[c] + of->h * force[c]) / mass;
    }
    speed = solve_faster(run, speed, v0);
    speed = solve_faster(run, speed, free_v);
  }
  return speed;
}

// Writes the biases that moving ground adds to the rows. Returns V, raised by the resulting speeds.
S2_KERNEL Real solve_biases(const Run *run, Real speed, Pairs *bias) {
  const S2Table *t = run->table;
  const Constants *of = run->of;
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      Real sum = real(0), w = real(0);
      S2_UNROLL for (int side = 0; side < 2; side++) {
        int seat = side == 0 ? t->a[g] : t->b[g];
        const Real *j = side == 0 ? run->start.a[g][r] : run->start.b[g][r];
        S2_UNROLL for (int c = 0; c < 3; c++) {
          if (seat < t->nodes) {
            w = w + j[c] * j[c] / (c == 0 ? of->node[seat].inertia : of->node[seat].mass);
          } else if (!t->stands[seat - t->nodes]) {
            sum = sum + j[c] * run->ground_v[seat - t->nodes][c];
          }
        }
      }
      // Repeat row_drives(), but without its early return.
      bool angular = t->type[g] == S2_TABLE_SLIDER && r == 1;
      Real brings = select(MASK(w > real(0)), size(sum) * w / w, real(0));
      brings = larger(speed, angular ? brings * of->length : brings);
      speed = select(MASK(sum != real(0)), brings, speed);
      bias->at[g][r] = sum;
    }
  }
  return speed;
}

// Computes the velocities v that the impulses cause, and writes the errors of the rows to x.
// Returns the largest error as a speed. *raw: the largest error, without lengths for angles.
S2_KERNEL Real solve_miss(const Run *run, const Nodes *rhs, const Pairs *bias, const Pairs *lambda,
                          Nodes *v, Pairs *x, Real *raw) {
  const S2Table *t = run->table;
  Real worst = real(0);
  *raw = real(0);
  nodes_copy(t, rhs, v);
  rows_velocity(t, run->of, &run->start, lambda, v);
  rows_see(t, &run->start, v, bias, x);
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      Real error = size(x->at[g][r]);
      *raw = keep_larger(*raw, error);
      bool angular = t->type[g] == S2_TABLE_SLIDER && r == 1;
      worst = keep_larger(worst, angular ? error * run->of->length : error);
    }
  }
  return worst;
}

// Improves the impulses by repeated corrections and keeps the best result.
S2_KERNEL void solve_motion(Run *run) {
  const S2Table *t = run->table;
  State *state = run->state;
  Real speed = solve_free(run), raw, infinite = real(INFINITY), best = infinite;
  Pairs bias, now, x;
  Nodes rhs, v;
  if (t->rides) {
    speed = solve_biases(run, speed, &bias);
  } else {
    pairs_clear(t, &bias);
  }
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    S2_UNROLL for (int c = 0; c < 3; c++) {
      Real mass = c == 0 ? run->of->node[i].inertia : run->of->node[i].mass;
      rhs.at[i][c] = mass * run->free_v.at[i][c] + real(0);
      run->v1.at[i][c] = run->free_v.at[i][c];
    }
  }
  // Start with the impulses of the last step.
  factor_fill(t, run->of, &run->start, &run->start, true, &run->factor);
  run->missed |= factor_symmetric(t, &run->factor);
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    now.at[g][0] = run->lambda.at[g][0] = state->lambda[g][0];
    now.at[g][1] = run->lambda.at[g][1] = state->lambda[g][1];
  }
  (void)solve_miss(run, &rhs, &bias, &now, &v, &x, &raw);
  Mask active = MASK(best > real(0));
  // Keep the best lambda and its velocities. Each lane stops by the conditions of
  // bilateral_correct().
  for (int pass = 0; pass < CORRECTIONS && any(active); pass++) {
    factor_apply(t, &run->factor, true, &x);
    S2_UNROLL for (int g = 0; g < t->joints; g++) {
      now.at[g][0] = now.at[g][0] - x.at[g][0];
      now.at[g][1] = now.at[g][1] - x.at[g][1];
    }
    Real residual = solve_miss(run, &rhs, &bias, &now, &v, &x, &raw) / speed;
    Mask better = active & MASK(residual < best), slow = MASK(residual > GAIN * best);
    S2_UNROLL for (int g = 0; g < t->joints; g++) {
      run->lambda.at[g][0] = select(better, now.at[g][0], run->lambda.at[g][0]);
      run->lambda.at[g][1] = select(better, now.at[g][1], run->lambda.at[g][1]);
    }
    S2_UNROLL for (int i = 0; i < t->nodes; i++) {
      S2_UNROLL for (int c = 0; c < 3; c++) {
        run->v1.at[i][c] = select(better, v.at[i][c], run->v1.at[i][c]);
      }
    }
    best = select(better, residual, best);
    state->joint = select(better, raw, state->joint);
    active = better & ~slow & ~MASK(best <= real(ROUNDING));
  }
  state->residual = best;
  run->missed |= ~MASK(best <= run->of->tolerance);
}

// NOLINTEND(clang-analyzer-*)
#endif
