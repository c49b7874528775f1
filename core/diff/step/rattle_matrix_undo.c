// Derivatives of matrices of compliance C and damping D in the two-stage flow. For any combination
// of rows, the joint's original equations hold. With K = C^-1 in the directions that have
// compliance,
//
//     stage 1    l + h/2 K g + D (g1 - g0)/2 = 0,    g = (g0 + g1)/2 (trapezoid) or g1
//     stage 2    k + h/2 (K (g1 + h/2 w) + D w) = 0,    w = J1 v1 + rate
//
// The rows divide this by the factor E of their speed. It is (h theta K + D)/2 h in stage 1, with
// theta 1/2 or 1, and h/2 (h/2 K + D) in stage 2. So the adjoint of the equations is t = E^-1 y.
// Directions without compliance are left unchanged.
#include "diff/joints/joint_vjp.h"
#include "diff/step/rattle_undo.h"

#include <string.h>

enum { N = S2_JOINT_EQUATIONS };
static const double RIGID = 1e-13; // the same threshold as in compliance.c

typedef struct Coupled { // a joint whose equations are coupled
  const S2Joint *joint;
  int place, count;
  bool trapezoid;
  S2JointRow rows[2][N]; // at q0, q1.
  // K, D in compliant directions, and the projection to these directions
  double k[N][N], d[N][N], on[N][N];
  double y[N], g0[N], g1[N];
} Coupled;

static void matrix_times(int n, double a[N][N], const double *x, double *y) {
  double sum[N] = {0};
  for (int i = 0; i < n * n; i++) {
    sum[i / n] += a[i / n][i % n] * x[i % n];
  }
  memcpy(y, sum, sizeof(double) * (size_t)n);
}

// Computes K, the projection P to the compliant directions, and P D P.
static void take_matrices(Coupled *coupled) {
  int n = coupled->count;
  double c[N][N] = {{0}}, d[N][N] = {{0}}, packed[N * N] = {0}, value[N] = {0}, q[N * N];
  double largest = 0;
  s2_joint_weights_of(&coupled->joint->compliance, coupled->rows[0], n, c);
  s2_joint_weights_of(&coupled->joint->damping, coupled->rows[0], n, d);
  for (int i = 0; i < n * n; i++) {
    packed[i] = c[i / n][i % n];
  }
  s2_joint_eigen(n, packed, value, q);
  for (int i = 0; i < n; i++) {
    largest = fmax(largest, value[i]);
  }
  for (int i = 0; i < n * n; i++) {
    for (int e = 0; e < n; e++) {
      double part = value[e] > RIGID * largest ? q[i / n * n + e] * q[i % n * n + e] : 0;
      coupled->on[i / n][i % n] += part;
      coupled->k[i / n][i % n] += part != 0 ? part / value[e] : 0;
    }
  }
  // P D P
  for (int j = 0; j < n; j++) {
    double column[N] = {0};
    for (int i = 0; i < n; i++) {
      column[i] = coupled->on[i][j];
    }
    matrix_times(n, d, column, column);
    matrix_times(n, coupled->on, column, column);
    for (int i = 0; i < n; i++) {
      coupled->d[i][j] = column[i];
    }
  }
}

static void take_rows(const S2RattlePiece *piece, bool second, Coupled *coupled) {
  const S2Rattle *rattle = &piece->rattle;
  for (int end = 0; end < 2; end++) {
    double elapsed = rattle->done + (end == 1 ? rattle->h : 0);
    S2JointAt at = {rattle->step->world, coupled->joint, end == 1 ? rattle->q1 : rattle->q0,
                    elapsed, NULL};
    coupled->count = s2_joint_rows(&at, coupled->rows[end]);
  }
  // The adjoints y of the equations, and the values of the equations, in compliant directions.
  const int32_t *of = rattle->row_of[coupled->place];
  for (int i = 0; i < coupled->count; i++) {
    const S2RattleTerm *term = of[i] < 0 ? NULL : &rattle->term[of[i]];
    for (int k = 0; term != NULL && term->soft && k < coupled->count; k++) {
      coupled->y[k] += (second ? piece->mix[of[i]] : term->mix)[k] * piece->y[of[i]];
      coupled->trapezoid = term->trapezoid;
    }
    coupled->g0[i] = coupled->rows[0][i].value;
    coupled->g1[i] = coupled->rows[1][i].value;
  }
  take_matrices(coupled);
  matrix_times(coupled->count, coupled->on, coupled->y, coupled->y);
  matrix_times(coupled->count, coupled->on, coupled->g0, coupled->g0);
  matrix_times(coupled->count, coupled->on, coupled->g1, coupled->g1);
}

// Replaces x with (a K + b D)^-1 x in the compliant directions.
static void divide_where_soft(Coupled *coupled, double a, double b, double *x) {
  static const double one[3] = {1, 1, 1};
  int n = coupled->count;
  // rest = projection to the compliant directions - (a K + b D)
  double rest[9] = {0}, padded[3] = {0};
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      rest[3 * i + j] = coupled->on[i][j] - a * coupled->k[i][j] - b * coupled->d[i][j];
    }
    padded[i] = x[i];
  }
  s2_laws_solve(one, rest, false, padded);
  memcpy(x, padded, sizeof(double) * (size_t)n);
}

// Passes on the adjoints of C and D. `t` is the adjoint of the equations. `s` and `g` are the
// vectors that D and K multiply, including their factors.
static void weights_vjp(const S2RattlePiece *piece, Coupled *coupled, const double *t,
                        const double *s, const double *g) {
  int n = coupled->count;
  double k_t[N], k_g[N] = {0}, c_bar[N][N] = {{0}}, d_bar[N][N] = {{0}};
  matrix_times(n, coupled->k, t, k_t);
  matrix_times(n, coupled->k, g, k_g);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      c_bar[i][j] = k_t[i] * k_g[j]; // dK = -K dC K
      d_bar[i][j] = -t[i] * s[j];
    }
  }
  int32_t slot = piece->rattle.island->joint[coupled->place];
  S2JointGradient *gradient = &piece->undo->gradient->joint[slot];
  const S2Joint *joint = coupled->joint;
  s2_joint_weights_bar(coupled->rows[0], n, joint->compliance.size, c_bar, &gradient->compliance);
  s2_joint_weights_bar(coupled->rows[0], n, joint->damping.size, d_bar, &gradient->damping);
}

static void first_matrices_vjp(S2RattlePiece *piece, Coupled *coupled, S2RowBar *bars) {
  int n = coupled->count;
  double h = piece->rattle.h, theta = coupled->trapezoid ? 0.5 : 1;
  double t[N] = {0}, g[N] = {0}, change[N] = {0}, k_t[N], d_t[N], k_g[N];
  for (int i = 0; i < n; i++) {
    t[i] = coupled->y[i] / h;
    g[i] = h / 2 * (theta * coupled->g1[i] + (1 - theta) * coupled->g0[i]);
    change[i] = (coupled->g1[i] - coupled->g0[i]) / 2;
  }
  divide_where_soft(coupled, h / 2 * theta, 0.5, t);
  matrix_times(n, coupled->k, t, k_t);
  matrix_times(n, coupled->d, t, d_t);
  matrix_times(n, coupled->k, g, k_g);
  for (int i = 0; i < n; i++) {
    bars[i].value += d_t[i] / 2 - h / 2 * (1 - theta) * k_t[i];
    piece->h_bar -= t[i] * k_g[i] / h;
  }
  weights_vjp(piece, coupled, t, change, g);
}

// Returns w = J1 v1 + rate of an equation.
static double equation_speed(const S2RattlePiece *piece, const Coupled *coupled, int i) {
  const S2Step *step = piece->rattle.step;
  const S2JointRow *row = &coupled->rows[1][i];
  const int32_t slots[2] = {coupled->joint->a, coupled->joint->b};
  double w = row->rate;
  for (int k = 0; k < 6; k++) {
    int32_t slot = slots[k / 3], node = slot == S2_NONE ? S2_GROUND : step->node_of[slot];
    double ground = slot == S2_NONE ? 0 : s2_rattle_ground_end(&piece->rattle)[3 * slot + k % 3];
    double v = node == S2_GROUND ? ground : piece->rattle.v1[3 * node + k % 3];
    w += (k < 3 ? row->ja[k] : row->jb[k - 3]) * v;
  }
  return w;
}

static void second_matrices_vjp(S2RattlePiece *piece, Coupled *coupled, S2RowBar *bars) {
  int n = coupled->count;
  double h = piece->rattle.h, half = h / 2;
  double t[N] = {0}, g[N] = {0}, w[N] = {0}, change[N] = {0}, k_t[N], k_g[N], k_w[N], d_w[N];
  for (int i = 0; i < n; i++) {
    t[i] = coupled->y[i];
    w[i] = equation_speed(piece, coupled, i);
  }
  matrix_times(n, coupled->on, w, w);
  for (int i = 0; i < n; i++) {
    g[i] = half * (coupled->g1[i] + half * w[i]);
    change[i] = half * w[i];
  }
  divide_where_soft(coupled, half * half, half, t);
  matrix_times(n, coupled->k, t, k_t);
  matrix_times(n, coupled->k, g, k_g);
  matrix_times(n, coupled->k, w, k_w);
  matrix_times(n, coupled->d, w, d_w);
  for (int i = 0; i < n; i++) {
    bars[i].value -= half * k_t[i];
    piece->h_bar -= t[i] * (k_g[i] / h + half / 2 * k_w[i] + d_w[i] / 2);
  }
  weights_vjp(piece, coupled, t, change, g);
}

void s2_rattle_matrices_vjp(S2RattlePiece *piece, bool second, S2RowBar *bars) {
  const S2Rattle *rattle = &piece->rattle;
  for (int i = 0; i < rattle->island->joints; i++) {
    const S2Joint *joint = &rattle->step->world->joints.at[rattle->island->joint[i]];
    if (!s2_rattle_coupled(joint)) {
      continue;
    }
    Coupled coupled = {.joint = joint, .place = i};
    take_rows(piece, second, &coupled);
    if (!second) {
      first_matrices_vjp(piece, &coupled, bars + N * i);
    } else if (!coupled.trapezoid) {
      second_matrices_vjp(piece, &coupled, bars + N * i);
    }
  }
}
