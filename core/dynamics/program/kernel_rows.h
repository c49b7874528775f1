// Private to the kernels: the rows of an island's joints at given poses, as in measure.c.
#ifndef S2_KERNEL_ROWS_H
#define S2_KERNEL_ROWS_H

// Arrays have the sizes of the table, which the analyzer does not know.
// NOLINTBEGIN(clang-analyzer-*)

#include "dynamics/program/lanes.h"

typedef struct Constants {
  S2_TABLE_CONSTANTS(Real)
} Constants;

typedef struct State {
  S2_TABLE_STATE(Real)
} State;

typedef struct Pairs { // one number per row
  Real at[S2_TABLE_JOINTS][2];
} Pairs;

typedef struct Nodes { // angle, x, y of each node, or their rates
  Real at[S2_TABLE_NODES][3];
} Nodes;

// These functions copy only the entries that are in use.
S2_INLINE void pairs_copy(const S2Table *t, const Pairs *from, Pairs *to) {
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    to->at[g][0] = from->at[g][0];
    to->at[g][1] = from->at[g][1];
  }
}

S2_INLINE void pairs_clear(const S2Table *t, Pairs *to) {
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    to->at[g][0] = to->at[g][1] = real(0);
  }
}

S2_INLINE void nodes_copy(const S2Table *t, const Nodes *from, Nodes *to) {
  int i = 0;
  do { // at least one entry exists
    to->at[i][0] = from->at[i][0];
    to->at[i][1] = from->at[i][1];
    to->at[i][2] = from->at[i][2];
  } while (++i < t->nodes);
}

S2_INLINE void nodes_clear(const S2Table *t, Nodes *to) {
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    to->at[i][0] = to->at[i][1] = to->at[i][2] = real(0);
  }
}

typedef struct Seats { // poses of nodes and grounds
  Real q[S2_TABLE_SEATS][3], cosine[S2_TABLE_SEATS], sine[S2_TABLE_SEATS];
} Seats;

typedef struct Rows {
  Real a[S2_TABLE_JOINTS][2][3], b[S2_TABLE_JOINTS][2][3];
  Pairs value;
  Real worst; // m: largest error of a joint; angles times the island's length
} Rows;

// Returns the lanes with a large angle or a NaN. In the general path, the C library computes the
// sines of such angles.
S2_INLINE Mask seats_turn(Seats *seats, int i) {
  lanes_sincos(seats->q[i][0], &seats->sine[i], &seats->cosine[i]);
  return ~MASK(size(seats->q[i][0]) < real(S2_SINCOS_MOST));
}

S2_KERNEL void rows_joint(const S2Table *t, const Constants *of, const Seats *at, int g,
                          Rows *rows) {
  int a = t->a[g], b = t->b[g];
  bool hinge = t->type[g] == S2_TABLE_HINGE;
  const Real *qa = at->q[a], *qb = at->q[b], *la = of->joint[g].arm_a, *lb = of->joint[g].arm_b;
  Real ca = at->cosine[a], sa = at->sine[a], cb = at->cosine[b], sb = at->sine[b];
  // The arms, the vector between the anchors, and the arm of a's anchor on b.
  Real rax = ca * la[0] - sa * la[1], ray = sa * la[0] + ca * la[1];
  Real rbx = cb * lb[0] - sb * lb[1], rby = sb * lb[0] + cb * lb[1];
  Real apart_x = (qa[1] - qb[1]) + (rax - rbx), apart_y = (qa[2] - qb[2]) + (ray - rby);
  Real wx = apart_x + rbx, wy = apart_y + rby;
  // A hinge has rows along x and y of b. A slider has a row across the axis and a row for the
  // angle.
  const Real *across = of->joint[g].across;
  Real ux = hinge ? cb : cb * across[0] - sb * across[1];
  Real uy = hinge ? sb : sb * across[0] + cb * across[1];
  Real none = real(0), one = real(1);
  Real *ja = rows->a[g][0], *jb = rows->b[g][0];
  rows->value.at[g][0] = ux * apart_x + uy * apart_y;
  ja[0] = rax * uy - ray * ux, ja[1] = ux, ja[2] = uy;
  jb[0] = -(wx * uy - wy * ux), jb[1] = -ux, jb[2] = -uy;
  ja = rows->a[g][1], jb = rows->b[g][1];
  if (hinge) {
    Real tx = -uy, ty = ux;
    rows->value.at[g][1] = tx * apart_x + ty * apart_y;
    ja[0] = rax * ty - ray * tx, ja[1] = tx, ja[2] = ty;
    jb[0] = -(wx * ty - wy * tx), jb[1] = -tx, jb[2] = -ty;
  } else {
    rows->value.at[g][1] = qa[0] - qb[0] - of->joint[g].angle;
    ja[0] = one, ja[1] = none, ja[2] = none;
    jb[0] = -one, jb[1] = none, jb[2] = none;
  }
}

S2_KERNEL void rows_measure_all(const S2Table *t, const Constants *of, const Seats *at,
                                Rows *rows) {
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    rows_joint(t, of, at, g, rows);
  }
}

S2_KERNEL void rows_measure(const S2Table *t, const Constants *of, const Seats *at, Rows *rows) {
  Real most = real(0);
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    rows_joint(t, of, at, g, rows);
    Real first = rows->value.at[g][0], second = rows->value.at[g][1];
    second = t->type[g] == S2_TABLE_SLIDER ? second * of->length : second;
    most = keep_larger(most, first * first + second * second);
  }
  rows->worst = root(most);
}

// The largest error of a joint, as in s2_step_commit.
S2_KERNEL Real rows_error(const S2Table *t, const Constants *of, const Rows *rows) {
  Real most = real(0);
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    Real first = rows->value.at[g][0], second = rows->value.at[g][1];
    second = t->type[g] == S2_TABLE_SLIDER ? second * of->joint[g].size : second;
    most = larger(most, first * first + second * second);
  }
  return root(most);
}

// v := M^-1 (v + J' lambda).
S2_INLINE void rows_velocity(const S2Table *t, const Constants *of, const Rows *rows,
                             const Pairs *pairs, Nodes *nodes) {
  const Real(*lambda)[2] = pairs->at;
  Real(*v)[3] = nodes->at;
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      for (int c = 0; c < 3 && t->a[g] < t->nodes; c++) {
        v[t->a[g]][c] = v[t->a[g]][c] + rows->a[g][r][c] * lambda[g][r];
      }
      for (int c = 0; c < 3 && t->b[g] < t->nodes; c++) {
        v[t->b[g]][c] = v[t->b[g]][c] + rows->b[g][r][c] * lambda[g][r];
      }
    }
  }
  S2_UNROLL for (int i = 0; i < t->nodes; i++) {
    v[i][0] = v[i][0] / of->node[i].inertia;
    v[i][1] = v[i][1] / of->node[i].mass;
    v[i][2] = v[i][2] / of->node[i].mass;
  }
}

// u = J v + bias, over the sides with unknown velocities.
S2_INLINE void rows_see(const S2Table *t, const Rows *rows, const Nodes *v, const Pairs *bias,
                        Pairs *u) {
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      Real sum = real(0);
      if (t->a[g] < t->nodes) {
        const Real *j = rows->a[g][r], *of = v->at[t->a[g]];
        sum = j[0] * of[0] + j[1] * of[1] + j[2] * of[2];
      }
      if (t->b[g] < t->nodes) {
        const Real *j = rows->b[g][r], *of = v->at[t->b[g]];
        sum = sum + j[0] * of[0] + j[1] * of[1] + j[2] * of[2];
      }
      u->at[g][r] = sum + bias->at[g][r];
    }
  }
}

// Computes the biases that moving ground adds to the rows.
S2_INLINE void rows_ground(const S2Table *t, const Rows *rows, Real ground_v[][3], Pairs *bias) {
  S2_UNROLL for (int g = 0; g < t->joints; g++) {
    S2_UNROLL for (int r = 0; r < 2; r++) {
      Real sum = real(0);
      S2_UNROLL for (int side = 0; side < 2; side++) {
        int seat = side == 0 ? t->a[g] : t->b[g];
        const Real *j = side == 0 ? rows->a[g][r] : rows->b[g][r];
        S2_UNROLL for (int c = 0; c < 3; c++) {
          if (seat >= t->nodes && !t->stands[seat - t->nodes]) {
            sum = sum + j[c] * ground_v[seat - t->nodes][c];
          }
        }
      }
      bias->at[g][r] = sum;
    }
  }
}

// Returns the effect of a unit impulse along a row, which is the torque about the anchor on a (c =
// 0) or the force (c = 1, 2). The torque is about the origin if a is the world.
S2_INLINE Real rows_push(const S2Table *t, const Rows *rows, int g, int r, int c) {
  bool world = t->a[g] >= t->nodes && t->stands[t->a[g] - t->nodes];
  return c > 0 || world ? rows->a[g][r][c] : real(t->type[g] == S2_TABLE_SLIDER && r == 1 ? 1 : 0);
}

// NOLINTEND(clang-analyzer-*)
#endif
