// Derivative of dynamics/joints/compliance.c.
//
// In any basis and scale of its rows, a compliant joint obeys
//
//     r = l/h + K (g + h alpha ((1 - beta) u_k + beta u)) + D (alpha u + (1 - alpha) u_k) = 0
//
// in the joint's original equations. Here l is the total impulse, and g includes the bend of the
// step if the bend is used. Let t' be the adjoint of r, t = K t' the adjoint of C r, and
// w = alpha u + (1 - alpha) u_k. Then the derivative with respect to C is t (l/h + D w)', and the
// derivative with respect to D is t' w'. They need no eigenvectors. Directions in which a matrix C
// has no compliance are left unchanged.
#include "diff/joints/answers.h"
#include "diff/joints/joint_vjp.h"

#include <string.h>

enum { N = S2_JOINT_EQUATIONS };

typedef struct Bend { // data that all rows share
  double h, alpha, beta, h_bar, alpha_bar, beta_bar;
  double bent, bent_bar; // of S2Blend
} Bend;

static void compliance_take_bend(S2JointUndo *undo, const Bend *bend) {
  undo->bar->h += bend->h_bar;
  if (!undo->step->stiff[undo->slot]) { // stiff joints use 1 instead of the world's values
    undo->bar->gradient->alpha += bend->alpha_bar;
    undo->bar->gradient->beta += bend->beta_bar;
  }
  if (bend->bent > 0) { // the bend uses the world's alpha
    undo->bar->gradient->alpha += bend->bent_bar;
  }
}

// Returns g, including the bend of the step.
static double compliance_seen(const Bend *b, const S2JointRow *row) {
  return row->value + (b->bent > 0 ? b->bent * b->h * b->h / 2 * row->bend : 0);
}

static void compliance_seen_vjp(Bend *b, const S2JointRow *row, double t, S2RowBar *bar) {
  bar->value += t;
  if (b->bent > 0) {
    bar->bend += t * b->bent * b->h * b->h / 2;
    b->h_bar += t * b->bent * b->h * row->bend;
    b->bent_bar += t * b->h * b->h / 2 * row->bend;
  }
}

// Differentiates one row of stiffness k. `t` is the adjoint of C r, `t_` the adjoint of r, and d_t
// the damping of the row times t_.
static void compliance_row_vjp(Bend *b, const S2JointRow *row, double t, double t_, double d_t,
                               double l, double u, double u_k, S2RowBar *bar) {
  compliance_seen_vjp(b, row, t, bar);
  bar->speed += b->h * b->alpha * (1 - b->beta) * t + (1 - b->alpha) * d_t;
  b->h_bar += t * b->alpha * (b->beta * u + (1 - b->beta) * u_k) - t_ * l / (b->h * b->h);
  b->alpha_bar += t * b->h * (b->beta * u + (1 - b->beta) * u_k) + d_t * (u - u_k);
  b->beta_bar += t * b->h * b->alpha * (u - u_k);
}

static void compliance_curve_vjp(S2JointUndo *undo, Bend *b, const S2JointRow *row,
                                 const S2SoftSum *sum, S2RowBar *bar) {
  const S2Joint *joint = undo->joint;
  S2JointGradient *g = undo->gradient;
  // The force is force + tangent (h alpha ((1 - beta) u_k + beta u)), with the tangent of the
  // spring's law.
  S2JointRow at = *row;
  at.value = compliance_seen(b, row);
  double x = at.value, u = sum->speed[0], u_k = row->speed, t = sum->force[0];
  double force, tangent, d = joint->damping.linear;
  s2_spring_pull(joint, &at, &force, &tangent);
  // A softening law uses only the tangent at the start (beta = 0).
  double beta = tangent > 0 ? b->beta : 0;
  // the displacement that the tangent multiplies
  double along = b->h * b->alpha * ((1 - beta) * u_k + beta * u);
  double bent = 2 * joint->quadratic + 6 * joint->cubic * x;
  if (joint->has_law) { // the law was called with the value without the bend
    bar->value += s2_answer_pull_vjp(undo->at.world, undo->slot, row->value, t, t * along);
  } else {
    compliance_seen_vjp(b, row, t * (tangent + bent * along), bar);
  }
  // Adjoints of the initial speed and of the coefficients of the spring law.
  bar->speed += t * (b->h * b->alpha * (1 - beta) * tangent + (1 - b->alpha) * d);
  g->stiffness += t * (x + along);
  g->quadratic += t * x * (x + 2 * along);
  g->cubic += t * x * x * (x + 3 * along);
  g->damping.linear += t * (b->alpha * u + (1 - b->alpha) * u_k);
  // Adjoints of the settings h, alpha and beta.
  b->h_bar += t * (tangent * along / b->h - sum->impulse[0] / (b->h * b->h));
  b->alpha_bar += t * (tangent * along / b->alpha + d * (u - u_k));
  b->beta_bar += tangent > 0 ? t * b->h * b->alpha * tangent * (u - u_k) : 0;
}

static void compliance_scalars_vjp(S2JointUndo *undo, Bend *b, const S2JointRow *rows,
                                   const S2SoftSum *sum, S2RowBar *bars) {
  const S2Joint *joint = undo->joint;
  S2JointGradient *g = undo->gradient;
  bool springs = joint->has_spring;
  for (int i = 0; i < sum->count; i++) {
    if (!sum->soft[i]) {
      continue;
    }
    // Springs have the stiffness k, other joints 1/C.
    bool angular = s2_joint_row_angular(&rows[i]) && !springs;
    double c = angular ? joint->compliance.angular : joint->compliance.linear;
    double d = angular ? joint->damping.angular : joint->damping.linear;
    double k = springs ? joint->stiffness : 1 / c, t_ = sum->force[i], t = k * t_;
    double u = sum->speed[i], u_k = rows[i].speed, w = b->alpha * u + (1 - b->alpha) * u_k;
    // Adjoints of the row and of the damping along it.
    compliance_row_vjp(b, &rows[i], t, t_, d * t_, sum->impulse[i], u, u_k, &bars[i]);
    *(angular ? &g->damping.angular : &g->damping.linear) += t_ * w;
    if (springs) {
      // Springs: k x + q x^2 + c x^3 about 0
      double x = compliance_seen(b, &rows[i]),
             along = b->h * b->alpha * ((1 - b->beta) * u_k + b->beta * u);
      g->stiffness += t_ * (x + along);
      g->quadratic += t_ * x * (x + 2 * along); // about 0
      g->cubic += t_ * x * x * (x + 3 * along);
    } else {
      *(angular ? &g->compliance.angular : &g->compliance.linear) +=
          t * (sum->impulse[i] / b->h + d * w);
    }
  }
}

void s2_joint_weights_of(const S2JointWeights *weights, const S2JointRow *rows, int count,
                         double matrix[N][N]) {
  memset(matrix, 0, sizeof(double) * N * N);
  for (int i = 0; i < count; i++) {
    matrix[i][i] = s2_joint_row_angular(&rows[i]) ? weights->angular : weights->linear;
    for (int j = 0; j < count && weights->size > 0; j++) {
      matrix[i][j] = weights->matrix[i * weights->size + j];
    }
  }
}

void s2_joint_weights_bar(const S2JointRow *rows, int count, int size, double bar[N][N],
                          S2WeightsGradient *to) {
  for (int i = 0; i < count; i++) {
    for (int j = 0; j < count && size > 0; j++) {
      to->matrix[i * size + j] += (bar[i][j] + bar[j][i]) / 2;
    }
    if (size == 0) {
      *(s2_joint_row_angular(&rows[i]) ? &to->angular : &to->linear) += bar[i][i];
    }
  }
}

static void compliance_multiply(int n, double a[N][N], const double *x, double *y) {
  for (int i = 0; i < n; i++) {
    y[i] = 0;
    for (int j = 0; j < n; j++) {
      y[i] += a[i][j] * x[j];
    }
  }
}

// Writes C^-1 x to y, in the directions that have compliance. Removes the other directions from x.
static void compliance_divide(int n, double c[N][N], double *x, double *y) {
  double packed[N * N], value[N], q[N * N], largest = 0, part[N] = {0};
  for (int i = 0; i < n * n; i++) {
    packed[i] = c[i / n][i % n];
  }
  // C = Q diag(value) Q'. Directions whose eigenvalue is above rounding error are compliant.
  s2_joint_eigen(n, packed, value, q);
  for (int k = 0; k < n; k++) {
    largest = fmax(largest, value[k]);
  }
  memset(y, 0, sizeof(double) * (size_t)n);
  for (int k = 0; k < n; k++) {
    double along = 0;
    for (int i = 0; i < n; i++) {
      along += q[i * n + k] * x[i];
    }
    for (int i = 0; i < n && value[k] > 1e-13 * largest; i++) { // same threshold as in compliance.c
      y[i] += q[i * n + k] * along / value[k];
      part[i] += q[i * n + k] * along;
    }
  }
  memcpy(x, part, sizeof(double) * (size_t)n);
}

static void compliance_matrices_vjp(S2JointUndo *undo, Bend *b, const S2JointRow *rows,
                                    const S2SoftSum *sum, S2RowBar *bars) {
  const S2Joint *joint = undo->joint;
  int n = sum->count;
  double c[N][N], d[N][N], t[N], t_[N], w[N] = {0}, u[N], u_k[N], none[N], d_t[N], d_w[N];
  double c_bar[N][N] = {{0}}, d_bar[N][N] = {{0}};
  // Collect both matrices, the adjoints t' and the speeds of all equations.
  s2_joint_weights_of(&joint->compliance, rows, n, c);
  s2_joint_weights_of(&joint->damping, rows, n, d);
  for (int i = 0; i < n; i++) {
    t_[i] = sum->force[i];
    u[i] = sum->speed[i];
    u_k[i] = rows[i].speed;
  }
  // t = K t'. Rigid directions contribute nothing.
  compliance_divide(n, c, t_, t);
  compliance_divide(n, c, u, none); // remove speeds in rigid directions
  compliance_divide(n, c, u_k, none);
  for (int i = 0; i < n; i++) {
    w[i] = b->alpha * u[i] + (1 - b->alpha) * u_k[i];
  }
  // D t' and D w, in the compliant directions only.
  compliance_multiply(n, d, t_, d_t);
  compliance_multiply(n, d, w, d_w);
  compliance_divide(n, c, d_t, none);
  compliance_divide(n, c, d_w, none);
  for (int i = 0; i < n; i++) {
    // Adjoints of each equation.
    compliance_row_vjp(b, &rows[i], t[i], t_[i], d_t[i], sum->impulse[i], u[i], u_k[i], &bars[i]);
    for (int j = 0; j < n; j++) {
      // Adjoints of C: t (l/h + D w)', and of D: t' w'.
      c_bar[i][j] = t[i] * (sum->impulse[j] / b->h + d_w[j]);
      d_bar[i][j] = t_[i] * w[j];
    }
  }
  s2_joint_weights_bar(rows, n, joint->compliance.size, c_bar, &undo->gradient->compliance);
  s2_joint_weights_bar(rows, n, joint->damping.size, d_bar, &undo->gradient->damping);
}

void s2_joint_soften_vjp(S2JointUndo *undo, const S2JointRow *rows, const S2SoftSum *sum,
                         S2RowBar *bars) {
  const S2Joint *joint = undo->joint;
  const S2Blend *blend = &undo->blend;
  Bend bend = {.h = blend->h, .alpha = blend->alpha, .beta = blend->beta, .bent = blend->bent};
  if (joint->compliance.size > 0 || joint->damping.size > 0) {
    compliance_matrices_vjp(undo, &bend, rows, sum, bars);
  } else if (s2_spring_curved(joint)) {
    compliance_curve_vjp(undo, &bend, rows, sum, bars);
  } else {
    compliance_scalars_vjp(undo, &bend, rows, sum, bars);
  }
  compliance_take_bend(undo, &bend);
}
