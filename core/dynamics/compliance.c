// Rows that give way: with stiffness K = C^-1 and damping D, implicit Euler puts the force at the
// end of the step,
//
//     lambda = -h (K (g + h u) + D u),    u = J v + rate,
//
// which is the row u + C' lambda + b = 0 with C' = (h (h K + D))^-1 and b = h C' K g (the notes on
// Compliant, eq. 37 at alpha = beta = 1, with damping). Multiplied out by C there is nothing left
// that a rigid row, C = 0, could not pass through.
#include "dynamics/joint.h"

#include <string.h>

enum { N = S2_JOINT_EQUATIONS };

// Parts of the largest eigenvalue: below it is rounding, and the row is rigid.
static const double RIGID = 1e-13;

typedef struct Matrix {
  double at[N][N];
} Matrix;

// Eigenvalues and, in the columns of `q`, eigenvectors of a symmetric matrix: cyclic Jacobi
// rotations, which leave a diagonal matrix as it is.
static void eigen(int n, Matrix a, double value[N], Matrix *q) {
  *q = (Matrix){{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  enum { SWEEPS = 30 }; // converges quadratically: 4 to 6 are seen
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    double off = 0, size = 0;
    for (int i = 0; i < n; i++) {
      size = fmax(size, fabs(a.at[i][i]));
      for (int j = i + 1; j < n; j++) {
        off = fmax(off, fabs(a.at[i][j]));
      }
    }
    if (!(off > 1e-300 && off > 1e-17 * size)) {
      break;
    }
    for (int i = 0; i < n; i++) {
      for (int j = i + 1; j < n; j++) {
        if (a.at[i][j] == 0) {
          continue;
        }
        double theta = (a.at[j][j] - a.at[i][i]) / (2 * a.at[i][j]);
        double t = copysign(1, theta) / (fabs(theta) + hypot(theta, 1));
        double c = 1 / hypot(t, 1), s = t * c;
        for (int k = 0; k < n; k++) {
          double x = a.at[k][i], y = a.at[k][j];
          a.at[k][i] = c * x - s * y;
          a.at[k][j] = s * x + c * y;
        }
        for (int k = 0; k < n; k++) {
          double x = a.at[i][k], y = a.at[j][k];
          a.at[i][k] = c * x - s * y;
          a.at[j][k] = s * x + c * y;
        }
        for (int k = 0; k < n; k++) {
          double x = q->at[k][i], y = q->at[k][j];
          q->at[k][i] = c * x - s * y;
          q->at[k][j] = s * x + c * y;
        }
      }
    }
  }
  for (int i = 0; i < n; i++) {
    value[i] = a.at[i][i];
  }
}

bool s2_joint_row_angular(const S2JointRow *row) {
  return row->ja[1] == 0 && row->ja[2] == 0 && row->jb[1] == 0 && row->jb[2] == 0;
}

static Matrix weights_matrix(const S2JointWeights *weights, const S2JointRow *rows, int count) {
  Matrix matrix = {0};
  for (int i = 0; i < count; i++) {
    matrix.at[i][i] = s2_joint_row_angular(&rows[i]) ? weights->angular : weights->linear;
    for (int j = 0; j < count && weights->size > 0; j++) {
      matrix.at[i][j] = weights->matrix[i * weights->size + j];
    }
  }
  return matrix;
}

// C' and b of one row; c may be infinite (damping alone). Of both forms the one that does not
// overflow.
static void soften_row(S2SoftRow *soft, double c, double d, double h) {
  soft->rigid = c == 0;
  soft->bias = soft->row.rate;
  if (h == 0 || c == 0) {
    return;
  }
  if (c <= 1) {
    soft->compliance = c / (h * (h + d * c));
    soft->bias += soft->row.value / (h + d * c);
    return;
  }
  double force = h / c + d; // of a unit speed over the step
  soft->compliance = 1 / (h * force);
  soft->bias += force > 0 ? soft->row.value / c / force : 0;
}

static S2JointRow combine(const S2JointRow *rows, int count, const Matrix *q, int column) {
  S2JointRow sum = {0};
  for (int k = 0; k < count; k++) {
    double part = q->at[k][column];
    sum.value += part * rows[k].value;
    sum.rate += part * rows[k].rate;
    for (int c = 0; c < 3; c++) {
      sum.ja[c] += part * rows[k].ja[c];
      sum.jb[c] += part * rows[k].jb[c];
    }
  }
  return sum;
}

// x = a^-1 b for a symmetric positive definite 3 x 3 matrix, from its eigenvectors.
static void solve(int n, Matrix a, const double *b, double *x) {
  double value[N] = {0};
  Matrix q;
  eigen(n, a, value, &q);
  memset(x, 0, sizeof(double) * (size_t)n);
  for (int k = 0; k < n; k++) {
    double part = 0;
    for (int i = 0; i < n; i++) {
      part += q.at[i][k] * b[i];
    }
    for (int i = 0; i < n; i++) {
      x[i] += q.at[i][k] * part / value[k];
    }
  }
}

// The soft rows, already along the eigenvectors of C with eigenvalues c > 0: with S = sqrt(C) and
// E = S D S, C' = S (h (h + E))^-1 S and b = S (h + E)^-1 S^-1 g, turned so that C' is diagonal.
static void soften_coupled(S2SoftRow *soft, int n, const double *c, Matrix d, double h) {
  Matrix inner = {0}, outer = {0}, q;
  double bias[N] = {0}, given[N] = {0}, column[N], value[N] = {0};
  for (int i = 0; i < n; i++) {
    given[i] = soft[i].row.value / sqrt(c[i]);
    for (int j = 0; j < n; j++) {
      inner.at[i][j] = sqrt(c[i]) * d.at[i][j] * sqrt(c[j]) + (i == j ? h : 0);
    }
  }
  solve(n, inner, given, bias);
  for (int j = 0; j < n; j++) {
    double unit[N] = {0};
    unit[j] = sqrt(c[j]) / h;
    solve(n, inner, unit, column);
    for (int i = 0; i < n; i++) {
      outer.at[i][j] = sqrt(c[i]) * column[i];
    }
  }
  for (int i = 0; i < n; i++) {
    bias[i] *= sqrt(c[i]);
    for (int j = 0; j < i; j++) { // symmetric but for rounding
      outer.at[i][j] = outer.at[j][i] = (outer.at[i][j] + outer.at[j][i]) / 2;
    }
  }
  eigen(n, outer, value, &q);
  S2JointRow rows[N];
  for (int i = 0; i < n; i++) {
    rows[i] = soft[i].row;
  }
  for (int k = 0; k < n; k++) {
    soft[k] = (S2SoftRow){.row = combine(rows, n, &q, k), .compliance = value[k]};
    soft[k].bias = soft[k].row.rate;
    for (int i = 0; i < n; i++) {
      soft[k].bias += q.at[i][k] * bias[i];
    }
  }
}

static void soften_matrix(const S2Joint *joint, const S2JointRow *rows, int count, double h,
                          S2SoftRow *soft) {
  Matrix c = weights_matrix(&joint->compliance, rows, count), q;
  Matrix d = weights_matrix(&joint->damping, rows, count), turned = {0};
  double give[N] = {0}, eigenvalue[N] = {0}, largest = 0;
  int order[N] = {0}, rigid = 0, n = 0;
  eigen(count, c, eigenvalue, &q);
  for (int i = 0; i < count; i++) {
    largest = fmax(largest, eigenvalue[i]);
  }
  for (int pass = 0; pass < 2; pass++) { // rigid ones first
    for (int i = 0; i < count; i++) {
      if ((eigenvalue[i] <= RIGID * largest) == (pass == 0)) {
        order[n] = i;
        soft[n] = (S2SoftRow){.row = combine(rows, count, &q, i), .rigid = pass == 0};
        soft[n].bias = soft[n].row.rate;
        rigid += pass == 0;
        n += 1;
      }
    }
  }
  if (h == 0 || rigid == count) {
    return;
  }
  for (int i = rigid; i < count; i++) {
    give[i - rigid] = eigenvalue[order[i]];
    for (int j = rigid; j < count; j++) {
      double sum = 0;
      for (int k = 0; k < count; k++) {
        for (int l = 0; l < count; l++) {
          sum += q.at[k][order[i]] * d.at[k][l] * q.at[l][order[j]];
        }
      }
      turned.at[i - rigid][j - rigid] = sum;
    }
  }
  soften_coupled(soft + rigid, count - rigid, give, turned, h);
}

// The row of a joint that its spring acts on; -1: all (mouse).
static int sprung(S2JointType type) {
  return type == S2_WHEEL ? 1 : -1;
}

void s2_joint_soften(const S2Joint *joint, const S2JointRow *rows, int count, double h,
                     S2SoftRow soft[S2_JOINT_EQUATIONS]) {
  if (joint->compliance.size > 0 || joint->damping.size > 0) {
    soften_matrix(joint, rows, count, h, soft);
    return;
  }
  bool springs = (s2_joint_kind(joint->type)->parts & S2_HAS_STIFFNESS) != 0;
  for (int i = 0; i < count; i++) {
    bool angular = s2_joint_row_angular(&rows[i]);
    double c = angular ? joint->compliance.angular : joint->compliance.linear;
    double d = angular ? joint->damping.angular : joint->damping.linear;
    if (springs) {
      bool is = sprung(joint->type) < 0 || sprung(joint->type) == i;
      c = is ? 1 / joint->stiffness : 0;
      d = joint->damping.linear;
    }
    soft[i] = (S2SoftRow){.row = rows[i]};
    soften_row(&soft[i], c, d, h);
  }
}

double s2_joint_energy(const S2Joint *joint, const S2JointRow *rows, int count) {
  double energy = 0;
  if ((s2_joint_kind(joint->type)->parts & S2_HAS_STIFFNESS) != 0) {
    for (int i = 0; i < count; i++) {
      if (sprung(joint->type) < 0 || sprung(joint->type) == i) {
        energy += joint->stiffness * rows[i].value * rows[i].value / 2;
      }
    }
    return energy;
  }
  double value[N] = {0}, largest = 0;
  Matrix q;
  eigen(count, weights_matrix(&joint->compliance, rows, count), value, &q);
  for (int i = 0; i < count; i++) {
    largest = fmax(largest, value[i]);
  }
  for (int i = 0; i < count; i++) {
    if (value[i] > RIGID * largest) {
      S2JointRow row = combine(rows, count, &q, i);
      energy += row.value * row.value / (2 * value[i]);
    }
  }
  return energy;
}

S2Status s2_joint_check_weights(const char *what, const S2JointWeights *weights, int rows) {
  const double numbers[2] = {weights->linear, weights->angular};
  for (int i = 0; i < 2; i++) {
    if (!(numbers[i] >= 0) || !isfinite(numbers[i])) {
      return s2_error(S2_INVALID, "%s: a finite number not below 0 expected, got %g", what,
                      numbers[i]);
    }
  }
  if (weights->size == 0) {
    return s2_ok();
  }
  if (weights->size != rows) {
    return s2_error(S2_INVALID, "%s: a number or a %d x %d matrix expected, got %d x %d", what,
                    rows, rows, weights->size, weights->size);
  }
  Matrix matrix = {0}, q;
  double value[N] = {0}, largest = 0;
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < rows; j++) {
      matrix.at[i][j] = weights->matrix[i * rows + j];
      if (!isfinite(matrix.at[i][j])) {
        return s2_error(S2_INVALID, "%s: finite numbers expected, got %g in row %d, column %d",
                        what, matrix.at[i][j], i + 1, j + 1);
      }
      largest = fmax(largest, fabs(matrix.at[i][j]));
    }
  }
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < i; j++) {
      if (fabs(matrix.at[i][j] - matrix.at[j][i]) > 1e-12 * largest) {
        return s2_error(S2_INVALID,
                        "%s: a symmetric matrix expected, got %g and %g across the "
                        "diagonal",
                        what, matrix.at[i][j], matrix.at[j][i]);
      }
    }
  }
  eigen(rows, matrix, value, &q);
  for (int i = 0; i < rows; i++) {
    if (value[i] < -1e-12 * largest) {
      return s2_error(S2_INVALID,
                      "%s: a positive semidefinite matrix expected, got the "
                      "eigenvalue %g",
                      what, value[i]);
    }
  }
  return s2_ok();
}
