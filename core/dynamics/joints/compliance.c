// Compliant rows. A row has the stiffness K = C^-1 and the damping D. Its force is alpha times the
// force at the end of the step plus 1 - alpha times the force at its start. The impulse is
// therefore
//
//     lambda = -h (K (g + h alpha ((1 - beta) u_k + beta u)) + alpha D u + (1 - alpha) D u_k),
//     u = J v + rate,    u_k: u at the start of the step,
//
// This is the row u + C' lambda + b = 0 with C' = (h alpha (h beta K + D))^-1 and b = h C' (K g +
// (h alpha (1 - beta) K + (1 - alpha) D) u_k). It is eq. 37 of the notes on Compliant, extended by
// damping. Multiplied by C, this form also holds for a rigid row, C = 0. In the stiffness form, the
// part of lambda that is known before the solve is a given impulse, and the row has b = 0. If C'
// would be infinite (alpha = 0, or beta = 0 without damping), all of lambda is a given impulse.
#include "dynamics/joints/joint.h"

#include <string.h>

enum { N = S2_JOINT_EQUATIONS };

// Eigenvalues below this fraction of the largest one are rounding errors. Their rows are rigid.
static const double RIGID = 1e-13;
// If alpha * beta is below this, the stiffness form is used, where the elastic force at the start
// is a given impulse. In the other form, C' and b grow like 1/(alpha beta), and the rounding error
// of b would reach the tolerance of a solve.
static const double NEARLY_EXPLICIT = 1e-3;
// If alpha and beta are at least this value, every step damps oscillations that are too fast to
// resolve. A step then leaves at most the fraction (1 - alpha)(1 - beta)/(alpha beta) = 0.44.
static const double DAMPED = 0.6;

typedef struct Matrix {
  double at[N][N];
} Matrix;

// Applies the Jacobi rotation that makes a[i][j] zero.
static void eigen_rotate(int n, int i, int j, double *a, double *q) {
  if (a[i * n + j] == 0) {
    return;
  }
  // Two rotations make a[i][j] zero. Take the smaller one, with the tangent t (Golub, Van Loan).
  double theta = (a[j * n + j] - a[i * n + i]) / (2 * a[i * n + j]);
  double t = copysign(1, theta) / (fabs(theta) + hypot(theta, 1));
  double c = 1 / hypot(t, 1), s = t * c;
  // a := R' a R, first the columns, then the rows. q := q R accumulates the rotations.
  for (int k = 0; k < n; k++) {
    double x = a[k * n + i], y = a[k * n + j];
    a[k * n + i] = c * x - s * y;
    a[k * n + j] = s * x + c * y;
  }
  for (int k = 0; k < n; k++) {
    double x = a[i * n + k], y = a[j * n + k];
    a[i * n + k] = c * x - s * y;
    a[j * n + k] = s * x + c * y;
  }
  for (int k = 0; k < n; k++) {
    double x = q[k * n + i], y = q[k * n + j];
    q[k * n + i] = c * x - s * y;
    q[k * n + j] = s * x + c * y;
  }
}

// Eigenvalues by cyclic Jacobi rotations, which leave a diagonal matrix unchanged.
void s2_joint_eigen(int n, double *a, double *value, double *q) {
  for (int i = 0; i < n * n; i++) {
    q[i] = i % (n + 1) == 0;
  }
  enum { SWEEPS = 30 }; // quadratic convergence, usually in 4 to 6 sweeps.
  // One sweep rotates every pair once. Stop when the off-diagonal part is only rounding.
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    double off = 0, size = 0;
    for (int i = 0; i < n; i++) {
      size = fmax(size, fabs(a[i * n + i]));
      for (int j = i + 1; j < n; j++) {
        off = fmax(off, fabs(a[i * n + j]));
      }
    }
    if (!(off > 1e-300 && off > 1e-17 * size)) {
      break;
    }
    for (int i = 0; i < n; i++) {
      for (int j = i + 1; j < n; j++) {
        eigen_rotate(n, i, j, a, q);
      }
    }
  }
  for (int i = 0; i < n; i++) {
    value[i] = a[i * n + i];
  }
}

static void eigen(int n, Matrix a, double value[N], Matrix *q) {
  double packed[N * N], columns[N * N];
  for (int i = 0; i < n * n; i++) {
    packed[i] = a.at[i / n][i % n];
  }
  s2_joint_eigen(n, packed, value, columns);
  *q = (Matrix){{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  for (int i = 0; i < n * n; i++) {
    q->at[i / n][i % n] = columns[i];
  }
}

bool s2_joint_row_angular(const S2JointRow *row) {
  bool angular = row->ja[1] == 0 && row->ja[2] == 0 && row->jb[1] == 0 && row->jb[2] == 0;
  for (int i = 0; i < 2; i++) {
    angular = angular && row->more[i][1] == 0 && row->more[i][2] == 0;
  }
  return angular;
}

static Matrix weights_matrix(const S2JointWeights *weights, const S2JointRow *rows, int count) {
  // Without a given matrix, make a diagonal matrix from the two numbers.
  Matrix matrix = {0};
  for (int i = 0; i < count; i++) {
    matrix.at[i][i] = s2_joint_row_angular(&rows[i]) ? weights->angular : weights->linear;
    for (int j = 0; j < count && weights->size > 0; j++) {
      matrix.at[i][j] = weights->matrix[i * weights->size + j];
    }
  }
  return matrix;
}

// If the positions must satisfy a rigid row at the end of the step, g + h ((1 - beta) u_k + beta u)
// + 1/2 h^2 bend = 0, the row is u = -((1 - beta) u_k + g/h + h/2 bend)/beta. This is eq. 24 with
// the additional term bend = v' Hess(g) v. With geometric stiffness, the row and its force turn
// together, and u_k stays O(h^2). A larger u_k is an error, so the row contains the bend but not
// u_k. Without geometric stiffness, the row contains u_k but not the bend: u_k is half of the row's
// turn in a step, and reversing u_k conserves energy. For beta < 1/2, speed errors would grow by
// (1 - beta)/beta, so the row for beta = 1/2 is used. Projection removes the remaining error. At
// beta = 1, rows are at velocity level, and only projection corrects positions. If no projection
// follows, rows with geometric stiffness correct the positions at beta = 1, too.
//
// The final force of a compliant row also includes the bend: g + h alpha (..) + alpha/2 h^2 bend.
// Without the bend, each step would stretch a stiff turning spring, which creates energy. The bend
// is computed with the velocities at the start of the step. It is used with implicit Euler. It is
// also used with geometric stiffness, if alpha and beta damp oscillations that are too fast for the
// step. In other cases, the oscillations of such a spring would grow.
S2Blend s2_joint_blend(const S2WorldDef *def, double h) {
  // met: true if rigid rows correct the positions at the end of the step. turns: true if forces
  // turn with their rows.
  double beta = fmax(def->beta, 0.5);
  bool turns = def->geometric_stiffness != S2_GEOMETRIC_OFF;
  bool alone = turns && def->stabilization == S2_NO_STABILIZATION;
  bool met = h > 0 && (def->beta < 1 || alone);
  bool euler = def->alpha == 1 && def->beta == 1;
  bool damped = fmin(def->alpha, def->beta) >= DAMPED;
  return (S2Blend){
      .h = h,
      .alpha = def->alpha,
      .beta = def->beta,
      .reflect = met && !turns ? (1 - beta) / beta : 0,
      .ahead = met && turns ? 1 / beta : 0,
      .project = met && alone ? 1 / (beta * h) : 0,
      .bent = h > 0 && (euler || (turns && damped)) ? def->alpha : 0,
      .stiffness = def->elasticity == S2_AS_STIFFNESS || def->alpha * def->beta < NEARLY_EXPLICIT,
  };
}

void s2_joint_speeds(const S2Joint *joint, const double *v, S2JointRow *rows, int count) {
  // u = J v + rate. Gears and constraints may act on two further bodies.
  for (int i = 0; i < count; i++) {
    rows[i].speed = rows[i].rate;
    for (int c = 0; c < 3; c++) {
      rows[i].speed += joint->a == S2_NONE ? 0 : rows[i].ja[c] * v[3 * joint->a + c];
      rows[i].speed += joint->b == S2_NONE ? 0 : rows[i].jb[c] * v[3 * joint->b + c];
    }
    for (int c = 0; c < 6; c++) {
      int32_t slot = joint->more[c / 3];
      rows[i].speed += slot == S2_NONE ? 0 : rows[i].more[c / 3][c % 3] * v[3 * slot + c % 3];
    }
  }
}

void s2_joint_bends(const S2Joint *joint, const double *v, const S2JointHessian *hessians,
                    S2JointRow *rows, int count) {
  // bend_r = v' Hess(g_r) v, where v contains the velocities of both bodies.
  double both[6] = {0};
  for (int c = 0; c < 3; c++) {
    both[c] = joint->a == S2_NONE ? 0 : v[3 * joint->a + c];
    both[3 + c] = joint->b == S2_NONE ? 0 : v[3 * joint->b + c];
  }
  for (int r = 0; r < count; r++) {
    rows[r].bend = 0;
    for (int i = 0; i < 36; i++) {
      rows[r].bend += both[i / 6] * hessians[r].at[i / 6][i % 6] * both[i % 6];
    }
  }
}

void s2_joint_bend_rows(const S2JointAt *at, const double *v, S2JointRow *rows, int count) {
  const S2Joint *joint = at->joint;
  if (!s2_joint_is_wide(joint)) {
    S2JointHessian hessians[S2_JOINT_EQUATIONS];
    s2_joint_hessians(at, hessians);
    s2_joint_bends(joint, v, hessians, rows, count);
    return;
  }
  // Here v contains the velocities of all bodies.
  double hessians[S2_JOINT_EQUATIONS][S2_JOINT_COLUMNS][S2_JOINT_COLUMNS];
  double all[S2_JOINT_COLUMNS];
  s2_joint_all_velocities(joint, v, all);
  s2_constraint_hessians(at, hessians);
  for (int r = 0; r < count; r++) {
    rows[r].bend = 0;
    for (int i = 0; i < S2_JOINT_COLUMNS * S2_JOINT_COLUMNS; i++) {
      int row = i / S2_JOINT_COLUMNS, column = i % S2_JOINT_COLUMNS;
      rows[r].bend += all[row] * hessians[r][row][column] * all[column];
    }
  }
}

double s2_joint_return(S2Blend blend, const S2JointRow *row) {
  return blend.reflect * row->speed + blend.ahead * blend.h / 2 * row->bend +
         blend.project * row->value;
}

// Sets the stiffness and the given impulse of a row.
static void stiffen_row(S2SoftRow *soft, double stiffness, double given) {
  soft->bias = soft->row.rate;
  soft->compliance = stiffness > 0 ? 1 / stiffness : INFINITY;
  soft->given = given;
}

static void see_bend(S2SoftRow *soft, S2Blend blend) {
  soft->row.value += blend.bent * blend.h * blend.h / 2 * soft->row.bend;
}

// Computes C' and b of one row. Chooses a form that does not overflow. c may be infinite (pure
// damping).
static void soften_row(S2SoftRow *soft, double c, double d, S2Blend blend) {
  double h = blend.h, alpha = blend.alpha, beta = blend.beta;
  const S2JointRow *row = &soft->row;
  // The final value of a compliant row includes the bend. For a rigid row, s2_joint_return adds it.
  if (c > 0) {
    see_bend(soft, blend);
  }
  soft->rigid = c == 0;
  soft->bias = row->rate;
  // Only the position error counts, because a projection has no duration.
  if (h == 0) {
    return;
  }
  // Rigid row: C' = 0, and b is the rate plus the required speed.
  if (c == 0) {
    soft->bias += s2_joint_return(blend, row);
    return;
  }
  // Stiffness form: the row adds 1/C' = h alpha (h beta K + D) to W. The rest of the force is
  // given.
  if (blend.stiffness) {
    double added = h * alpha * (h * beta / c + d);
    double given =
        -h * (row->value / c + (h * alpha * (1 - beta) / c + d * (1 - alpha)) * row->speed);
    // If alpha beta is almost 0, only the stiffness form is possible.
    if ((isfinite(added) && isfinite(given)) || alpha * beta < NEARLY_EXPLICIT) {
      stiffen_row(soft, added, given);
      return;
    }
  }
  // For small C, use C' = C/(h alpha (h beta + D C)).
  if (c <= 1) {
    double known = row->value + (h * alpha * (1 - beta) + d * c * (1 - alpha)) * row->speed;
    soft->compliance = c / (h * alpha * (h * beta + d * c));
    soft->bias += known / (alpha * (h * beta + d * c));
    return;
  }
  // For a large or infinite C, multiply numerator and denominator of that formula by K.
  double force = h * beta / c + d; // force per unit speed over the step
  double known = row->value / c + (h * alpha * (1 - beta) / c + d * (1 - alpha)) * row->speed;
  soft->compliance = 1 / (h * alpha * force);
  soft->bias += force > 0 ? known / (alpha * force) : 0;
}

S2SoftRow s2_soften_gap(double gap, double speed, double compliance, double damping,
                        S2Blend blend) {
  S2SoftRow soft = {.row = {.value = fmin(gap, 0), .rate = fmax(gap, 0) / blend.h, .speed = speed}};
  // Use implicit Euler before the bodies touch, with b = gap/h.
  if (gap >= 0) {
    blend.alpha = blend.beta = 1;
  }
  soften_row(&soft, compliance, damping, blend);
  return soft;
}

// Combines the rows with the coefficients in a column of q. These rows may already be combinations.
static S2SoftRow rows_combine(const S2SoftRow *rows, int count, const Matrix *q, int column) {
  // Combine every member that depends linearly on the rows.
  S2SoftRow sum = {0};
  for (int k = 0; k < count; k++) {
    double share = q->at[k][column];
    sum.row.value += share * rows[k].row.value;
    sum.row.rate += share * rows[k].row.rate;
    sum.row.speed += share * rows[k].row.speed;
    sum.row.bend += share * rows[k].row.bend;
    sum.given += share * rows[k].given;
    for (int c = 0; c < 3; c++) {
      sum.row.ja[c] += share * rows[k].row.ja[c];
      sum.row.jb[c] += share * rows[k].row.jb[c];
    }
    for (int c = 0; c < 2; c++) {
      sum.row.more[0][c] += share * rows[k].row.more[0][c];
      sum.row.more[1][c] += share * rows[k].row.more[1][c];
    }
    for (int i = 0; i < N; i++) {
      sum.mix[i] += share * rows[k].mix[i];
    }
  }
  return sum;
}

// Solves a x = b for a symmetric positive definite matrix of at most 3 x 3, from its eigenvectors.
static void eigen_solve(int n, Matrix a, const double *b, double *x) {
  // x = Q diag(1/value) Q' b.
  double value[N] = {0};
  Matrix q;
  eigen(n, a, value, &q);
  memset(x, 0, sizeof(double) * (size_t)n);
  for (int k = 0; k < n; k++) {
    double share = 0;
    for (int i = 0; i < n; i++) {
      share += q.at[i][k] * b[i];
    }
    for (int i = 0; i < n; i++) {
      x[i] += q.at[i][k] * share / value[k];
    }
  }
}

// Converts soft rows along the eigenvectors of C (eigenvalues c > 0) to rows along the eigenvectors
// of h alpha (h beta K + D). The rest of the force is a given impulse.
static void stiffen_coupled(S2SoftRow *soft, int n, const double *c, Matrix d, S2Blend blend) {
  double h = blend.h, alpha = blend.alpha, beta = blend.beta, value[N] = {0}, largest = 0;
  Matrix added = {0}, q;
  S2SoftRow rows[N];
  // added = h alpha (D + h beta K). given: the rest of lambda (see the top of this file).
  for (int i = 0; i < n; i++) {
    rows[i] = soft[i];
    rows[i].given = -h * (soft[i].row.value + h * alpha * (1 - beta) * soft[i].row.speed) / c[i];
    for (int j = 0; j < n; j++) {
      added.at[i][j] = h * alpha * (d.at[i][j] + (i == j ? h * beta / c[i] : 0));
      rows[i].given -= h * (1 - alpha) * d.at[i][j] * soft[j].row.speed;
    }
  }
  // The rows are independent along the eigenvectors of `added`. Eigenvalues near 0 add no row.
  eigen(n, added, value, &q);
  for (int k = 0; k < n; k++) {
    largest = fmax(largest, value[k]);
  }
  for (int k = 0; k < n; k++) {
    soft[k] = rows_combine(rows, n, &q, k);
    stiffen_row(&soft[k], value[k] > RIGID * largest ? value[k] : 0, soft[k].given);
  }
}

// Coupled rows in the compliance form. With S = sqrt(C) and E = S D S: C' = S (h alpha (h beta +
// E))^-1 S and b = S (alpha (h beta + E))^-1 (S^-1 g + (h alpha (1 - beta) S^-1 + (1 - alpha) S D)
// u_k). The rows are then rotated so that C' is diagonal.
static void soften_coupled(S2SoftRow *soft, int n, const double *c, Matrix d, S2Blend blend) {
  double h = blend.h, alpha = blend.alpha, beta = blend.beta;
  Matrix inner = {0}, outer = {0}, q;
  double bias[N] = {0}, given[N] = {0}, column[N], value[N] = {0};
  // inner = alpha (h beta + E). given = S^-1 g + h alpha (1 - beta) S^-1 u_k + (1 - alpha) S D u_k.
  for (int i = 0; i < n; i++) {
    given[i] = (soft[i].row.value + h * alpha * (1 - beta) * soft[i].row.speed) / sqrt(c[i]);
    for (int j = 0; j < n; j++) {
      inner.at[i][j] = alpha * (sqrt(c[i]) * d.at[i][j] * sqrt(c[j]) + (i == j ? h * beta : 0));
      given[i] += (1 - alpha) * sqrt(c[i]) * d.at[i][j] * soft[j].row.speed;
    }
  }
  // bias = inner^-1 given; the factor S is applied below.
  eigen_solve(n, inner, given, bias);
  // outer = S inner^-1 S / h = C', computed column by column.
  for (int j = 0; j < n; j++) {
    double unit[N] = {0};
    unit[j] = sqrt(c[j]) / h;
    eigen_solve(n, inner, unit, column);
    for (int i = 0; i < n; i++) {
      outer.at[i][j] = sqrt(c[i]) * column[i];
    }
  }
  // Multiply bias by S, and remove the asymmetry that rounding causes in `outer`.
  for (int i = 0; i < n; i++) {
    bias[i] *= sqrt(c[i]);
    for (int j = 0; j < i; j++) { // symmetric except for rounding
      outer.at[i][j] = outer.at[j][i] = (outer.at[i][j] + outer.at[j][i]) / 2;
    }
  }
  // Rows along the eigenvectors of C', where it is diagonal.
  eigen(n, outer, value, &q);
  S2SoftRow rows[N];
  memcpy(rows, soft, sizeof(S2SoftRow) * (size_t)n);
  for (int k = 0; k < n; k++) {
    soft[k] = rows_combine(rows, n, &q, k);
    soft[k].compliance = value[k];
    soft[k].bias = soft[k].row.rate;
    for (int i = 0; i < n; i++) {
      soft[k].bias += q.at[i][k] * bias[i];
    }
  }
}

static void soften_matrix(const S2Joint *joint, const S2JointRow *rows, int count, S2Blend blend,
                          S2SoftRow *soft) {
  // Take C and D as matrices over the rows of the joint.
  Matrix c = weights_matrix(&joint->compliance, rows, count), q;
  Matrix d = weights_matrix(&joint->damping, rows, count), turned = {0};
  double give[N] = {0}, eigenvalue[N] = {0}, largest = 0;
  int order[N] = {0}, rigid = 0, n = 0;
  S2SoftRow plain[N];
  for (int i = 0; i < count; i++) {
    plain[i] = (S2SoftRow){.row = rows[i]};
    plain[i].mix[i] = 1;
  }
  // Work along the eigenvectors of C. An eigenvalue of 0 means a rigid direction; any other
  // eigenvalue means a compliant direction.
  eigen(count, c, eigenvalue, &q);
  for (int i = 0; i < count; i++) {
    largest = fmax(largest, eigenvalue[i]);
  }
  for (int pass = 0; pass < 2; pass++) { // rigid directions first
    for (int i = 0; i < count; i++) {
      if ((eigenvalue[i] <= RIGID * largest) == (pass == 0)) {
        order[n] = i;
        soft[n] = rows_combine(plain, count, &q, i);
        soft[n].rigid = pass == 0;
        soft[n].bias = soft[n].row.rate;
        // Rigid directions become rows of a rigid joint. Damping couples the other directions; see
        // below.
        if (soft[n].rigid && blend.h > 0) {
          soft[n].bias += s2_joint_return(blend, &soft[n].row);
        } else {
          see_bend(&soft[n], blend);
        }
        rigid += pass == 0;
        n += 1;
      }
    }
  }
  if (blend.h == 0 || rigid == count) {
    return;
  }
  // Damping matrix of the compliant directions: Q' D Q.
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
  (blend.stiffness ? stiffen_coupled : soften_coupled)(soft + rigid, count - rigid, give, turned,
                                                       blend);
}

// Uses the tangent of a nonlinear spring at the start of the step. Rows cannot have negative
// stiffness, so a negative tangent only contributes to the given impulse, through the initial
// speed.
static void soften_curve(S2SoftRow *soft, const S2Joint *joint, double d, S2Blend blend) {
  double h = blend.h, alpha = blend.alpha, force, tangent;
  soft->bias = soft->row.rate;
  soft->compliance = INFINITY;
  if (h == 0) {
    // A projection has no duration, so the spring does not act.
    return;
  }
  see_bend(soft, blend);
  // Replace K with the initial tangent. A negative tangent acts only through the initial speed.
  s2_spring_pull(joint, &soft->row, &force, &tangent);
  double beta = tangent > 0 ? blend.beta : 0;
  double start = h * alpha * (1 - beta) * tangent + (1 - alpha) * d;
  stiffen_row(soft, h * alpha * (h * beta * tangent + d), -h * (force + start * soft->row.speed));
}

void s2_joint_soften(const S2Joint *joint, const S2JointRow *rows, int count, S2Blend blend,
                     S2SoftRow soft[S2_JOINT_EQUATIONS]) {
  // Matrices couple the rows, so use combinations of rows along eigenvectors. Single numbers act on
  // each row separately.
  if (joint->compliance.size > 0 || joint->damping.size > 0) {
    soften_matrix(joint, rows, count, blend, soft);
    return;
  }
  for (int i = 0; i < count; i++) {
    bool angular = s2_joint_row_angular(&rows[i]);
    double c = angular ? joint->compliance.angular : joint->compliance.linear;
    double d = angular ? joint->damping.angular : joint->damping.linear;
    // A spring acts on some rows; the others are rigid.
    if (joint->has_spring) {
      c = s2_joint_sprung(joint, i) ? 1 / joint->stiffness : 0;
      d = joint->damping.linear;
    }
    soft[i] = (S2SoftRow){.row = rows[i]};
    soft[i].mix[i] = 1;
    if (s2_spring_curved(joint)) {
      soften_curve(&soft[i], joint, d, blend);
    } else {
      soften_row(&soft[i], c, d, blend);
    }
  }
}

double s2_joint_energy(const S2Joint *joint, const S2JointRow *rows, int count) {
  double energy = 0;
  // Potential of a spring: k x^2/2 + quadratic x^3/3 + cubic x^4/4.
  if (joint->has_spring) {
    for (int i = 0; i < count; i++) {
      if (s2_joint_sprung(joint, i)) {
        double x = rows[i].value;
        energy += joint->stiffness * x * x / 2;
        energy += x * x * x * (joint->quadratic / 3 + joint->cubic * x / 4);
      }
    }
    return energy;
  }
  // Potential of compliance: g' C^-1 g / 2, along the compliant eigenvectors of C.
  double value[N] = {0}, largest = 0;
  Matrix q;
  S2SoftRow plain[N];
  for (int i = 0; i < count; i++) {
    plain[i] = (S2SoftRow){.row = rows[i]};
  }
  eigen(count, weights_matrix(&joint->compliance, rows, count), value, &q);
  for (int i = 0; i < count; i++) {
    largest = fmax(largest, value[i]);
  }
  for (int i = 0; i < count; i++) {
    if (value[i] > RIGID * largest) {
      S2JointRow row = rows_combine(plain, count, &q, i).row;
      energy += row.value * row.value / (2 * value[i]);
    }
  }
  return energy;
}

S2Status s2_joint_check_weights(const char *what, const S2JointWeights *weights, int rows) {
  // A single number stands for a multiple of the unit matrix.
  const double numbers[2] = {weights->linear, weights->angular};
  for (int i = 0; i < 2; i++) {
    if (!(numbers[i] >= 0) || !isfinite(numbers[i])) {
      return s2_error(S2_INVALID, "%s: a finite number not below 0 expected, got %g", what,
                      numbers[i]);
    }
  }
  // The size of a matrix must equal the number of rows of the joint. Its elements must be finite,
  // and it must be symmetric and positive semidefinite.
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
  // Symmetric except for rounding.
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
  // No negative eigenvalues except for rounding.
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

bool s2_joint_is_rigid(const S2Joint *joint) {
  return joint->compliance.size == 0 && joint->damping.size == 0 && joint->compliance.linear == 0 &&
         joint->compliance.angular == 0 && !joint->has_spring;
}
