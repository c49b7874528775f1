// Geometric stiffness: a force of constant size along the gradient of g turns as the bodies move.
// With lambda/h the force of the last step, K = -sum (lambda/h) Hess(g) is the stiffness that this
// turning amounts to (the notes on Compliant). For a distance it is the tension over the length,
// across it.
#include "dynamics/joint.h"

#include <string.h>

// Parts of the largest eigenvalue: below it is rounding.
static const double NOTHING = 1e-13;

static void add(double k[36], double factor, const S2JointHessian *hessian) {
  for (int i = 0; i < 36; i++) {
    k[i] += factor * hessian->at[i / 6][i % 6];
  }
}

// What stands still takes part in no product: leaving it out keeps eigenvalues those of what moves.
static void leave_out(double k[36], int side) {
  for (int i = 0; i < 36; i++) {
    if (i / 18 == side || i % 6 / 3 == side) {
      k[i] = 0;
    }
  }
}

static void assemble(const S2JointAt *at, S2Blend blend, double k[36]) {
  const S2Joint *joint = at->joint;
  const S2JointKind *kind = s2_joint_kind(joint->type);
  S2JointRow rows[S2_JOINT_EQUATIONS];
  S2JointHessian hessians[S2_JOINT_EQUATIONS];
  S2SoftRow soft[S2_JOINT_EQUATIONS]; // impulses belong to these combinations of the equations
  int count = kind->rows(at, rows);
  s2_joint_speeds(joint, at->world->v.at, rows, count);
  kind->hessians(at, hessians);
  s2_joint_soften(joint, rows, count, blend, soft);
  memset(k, 0, 36 * sizeof(double));
  for (int i = 0; i < count; i++) {
    for (int r = 0; r < count; r++) {
      add(k, -joint->impulse[i] / joint->reaction_time * soft[i].mix[r], &hessians[r]);
    }
  }
  double limit = joint->impulse[S2_JOINT_LO] - joint->impulse[S2_JOINT_HI];
  if (limit != 0 && kind->coordinate != NULL) {
    kind->coordinate(at, &rows[0], &hessians[0]);
    add(k, -limit / joint->reaction_time, &hessians[0]);
  }
}

int s2_joint_geometric(const S2JointAt *at, S2Blend blend, S2StiffRow rows[S2_GEOMETRIC_ROWS]) {
  const S2Joint *joint = at->joint;
  if (!(joint->reaction_time > 0)) { // it has not acted yet
    return 0;
  }
  double k[36], value[6], q[36], largest = 0;
  assemble(at, blend, k);
  const int32_t slots[2] = {joint->a, joint->b};
  for (int side = 0; side < 2; side++) {
    if (slots[side] == S2_NONE || at->world->bodies.at[slots[side]].type == S2_STATIC) {
      leave_out(k, side);
    }
  }
  s2_joint_eigen(6, k, value, q);
  for (int i = 0; i < 6; i++) {
    largest = fmax(largest, fabs(value[i]));
  }
  int count = 0;
  for (int i = 0; i < 6; i++) {
    if (fabs(value[i]) > NOTHING * largest) {
      rows[count].stiffness = value[i];
      for (int c = 0; c < 3; c++) {
        rows[count].ja[c] = q[6 * c + i];
        rows[count].jb[c] = q[6 * (c + 3) + i];
      }
      count += 1;
    }
  }
  return count;
}
