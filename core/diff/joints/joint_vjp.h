// Derivatives of the constraint rows of one joint. Private to core/diff.
#ifndef S2_JOINT_VJP_H
#define S2_JOINT_VJP_H

#include "diff/joints/measure_vjp.h"
#include "diff/joints/step_adjoint.h"
#include "dynamics/step/solve_kind.h"

typedef struct S2JointUndo { // a joint in a solve
  const S2Step *step;
  const S2Island *island;
  const S2RowsAdjoint *rows;
  S2StepAdjoint *bar;
  S2SolveKind kind;
  const S2Joint *joint;
  S2JointGradient *gradient;
  int32_t slot;
  S2JointAt at;
  S2PlaceBar place;
  const S2Assembly *assembly;
  S2Blend world_blend, blend; // of the world; of the joint in this solve
  double length, still;       // m, size of the island; m/s, slower speeds are rounding errors
} S2JointUndo;

// Impulses and speeds of compliant rows. The arrays are indexed by equation, not by row.
typedef struct S2SoftSum {
  int count;
  bool soft[S2_JOINT_EQUATIONS];      // false if the equation is rigid
  double impulse[S2_JOINT_EQUATIONS]; // N s: the total impulse.
  // Adjoint of the residual l/h + K (g + h alpha ((1 - beta) u_k + beta u)) + D (alpha u + ...).
  double force[S2_JOINT_EQUATIONS];
  double speed[S2_JOINT_EQUATIONS]; // u, including the rate
} S2SoftSum;

// Passes the adjoint `force` on to the values and initial speeds of the rows (`bars`), to the
// weights and settings of the joint, and to h. (compliance_vjp.c)
void s2_joint_soften_vjp(S2JointUndo *undo, const S2JointRow *rows, const S2SoftSum *sum,
                         S2RowBar *bars);

// The matrix of compliance or damping of the equations, and the adjoint of its weights from the
// adjoint of the matrix. The latter is made symmetric: both entries of a symmetric pair get their
// mean.
void s2_joint_weights_of(const S2JointWeights *weights, const S2JointRow *rows, int count,
                         double matrix[S2_JOINT_EQUATIONS][S2_JOINT_EQUATIONS]);
void s2_joint_weights_bar(const S2JointRow *rows, int count, int size,
                          double bar[S2_JOINT_EQUATIONS][S2_JOINT_EQUATIONS],
                          S2WeightsGradient *to);

// Differentiates the rows of geometric stiffness in a solve, one for each entry of `acts`.
// (geometric_vjp.c)
void s2_joint_geometric_vjp(S2JointUndo *undo);

// Derivatives with respect to fields that are exactly 0, so that the solve has no row for them.
// (zero_vjp.c)
void s2_joint_zero_vjp(S2JointUndo *undo, const S2Assembly *assembly);
// Sets a flag if a compliance of 0 is a parameter.
void s2_joint_zero_flag(const S2Joint *joint, int32_t slot, S2WorldGradient *all);

// ---- joint_undo.c -------------------------------------------------------------------------------

// The vector from the anchor of a to the centre of a, and its adjoint for an impulse on a.
S2Vec2 s2_joint_arm(const S2JointUndo *undo);
void s2_joint_arm_vjp(S2JointUndo *undo, S2Vec2 push);

// Each function writes 3 numbers for each body of the joint, or zeros for an absent body. The first
// writes the velocities in the solution, which are the prescribed velocities for ground. The second
// writes the velocities at the start. The third writes the adjoints of the momenta, which are 0 for
// ground.
void s2_joint_velocities(const S2JointUndo *undo, double v[S2_JOINT_COLUMNS]);
void s2_joint_start(const S2JointUndo *undo, double v[S2_JOINT_COLUMNS]);
void s2_joint_momenta_bar(const S2JointUndo *undo, double p[S2_JOINT_COLUMNS]);
// Returns the number of columns of the joint's gradient.
static inline int s2_joint_columns(const S2Joint *joint) {
  return s2_joint_is_wide(joint) ? S2_JOINT_COLUMNS : 6;
}
static inline int32_t s2_joint_body(const S2Joint *joint, int i) {
  return i < 6 ? (i < 3 ? joint->a : joint->b) : joint->more[i / 3 - 2];
}
// Returns the number in `of` that belongs to component i of the joint's bodies, or NULL if that
// body is the world. `of` has 3 numbers per slot.
static inline double *s2_joint_number(const S2Joint *joint, double *of, int i) {
  int32_t slot = s2_joint_body(joint, i);
  return slot == S2_NONE ? NULL : of + 3 * slot + i % 3;
}
// Returns the node of the body to which component i belongs, or S2_GROUND.
static inline int s2_joint_node(const S2JointUndo *undo, int i) {
  int32_t slot = s2_joint_body(undo->joint, i);
  return slot == S2_NONE ? S2_GROUND : undo->step->node_of[slot];
}

#endif
