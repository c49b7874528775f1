// Joints: rigid hinges that nothing drives or limits.
#include "diff/step_adjoint.h"

#include <string.h>

static S2Status check(const S2Step *step, const S2Joint *joint) {
  const S2WorldDef *def = &step->world->kept.def;
  const S2JointWeights *give = &joint->compliance;
  bool known = joint->type == S2_HINGE && give->size == 0 && give->linear == 0 &&
               !joint->has_motor && !(joint->friction > 0) && joint->limit_lo == -INFINITY &&
               joint->limit_hi == INFINITY && def->beta == 1 &&
               def->geometric_stiffness == S2_GEOMETRIC_OFF;
  return known ? s2_ok()
               : s2_error(S2_INVALID, "gradient: no derivative of this joint yet (%s)",
                          s2_joint_type_name(joint->type));
}

// One row, of the function with this Hessian.
static void row_vjp(const S2Step *step, const S2Joint *joint, S2Kind kind, const S2JointRow *row,
                    const S2JointHessian *hessian, const S2RowsAdjoint *rows, int r,
                    S2StepAdjoint *adjoint) {
  const int32_t slot[2] = {joint->a, joint->b};
  double *pose = kind == S2_POSITIONS ? adjoint->q1 : adjoint->q0, bar[6];
  bool motion = kind == S2_MOTION || kind == S2_REBOUND;
  bool biased = step->world->kept.def.stabilization == S2_BAUMGARTE;
  double mend = kind == S2_POSITIONS ? 1 : motion && biased ? S2_BAUMGARTE_FACTOR / step->h : 0;
  for (int side = 0; side < 2; side++) {
    const double *j = side == 0 ? row->ja : row->jb;
    bool ground = slot[side] == S2_NONE || step->node_of[slot[side]] == S2_GROUND;
    for (int c = 0; c < 3; c++) {
      bool moving = ground && slot[side] != S2_NONE && kind != S2_POSITIONS;
      double known = moving ? rows->bias[r] * step->free_v[3 * slot[side] + c] : 0;
      bar[3 * side + c] = ground ? known : (side == 0 ? rows->ja : rows->jb)[3 * r + c];
      if (moving) {
        adjoint->free_v[3 * slot[side] + c] += rows->bias[r] * j[c];
      }
    }
  }
  if (mend != 0 && kind != S2_POSITIONS) {
    adjoint->h -= rows->bias[r] * mend * row->value / step->h;
  }
  for (int side = 0; side < 2; side++) {
    const double *j = side == 0 ? row->ja : row->jb;
    for (int c = 0; c < 3 && slot[side] != S2_NONE; c++) {
      double sum = mend * rows->bias[r] * j[c];
      for (int k = 0; k < 6; k++) {
        sum += hessian->at[3 * side + c][k] * bar[k];
      }
      pose[3 * slot[side] + c] += sum;
    }
  }
}

S2Status s2_joint_rows_vjp(const S2Step *step, const S2Island *island, S2Kind kind,
                           const S2Assembly *assembly, const S2RowsAdjoint *rows,
                           S2StepAdjoint *adjoint) {
  for (int i = 0; i < island->joints; i++) {
    S2_TRY(check(step, &step->world->joints.at[island->joint[i]]));
  }
  for (int r = 0; r < assembly->parts; r++) {
    const S2JointPart *part = &assembly->part[r];
    const S2Joint *joint = &step->world->joints.at[part->joint];
    S2JointAt at = {step->world, joint, kind == S2_POSITIONS ? step->q1 : step->q0, 0};
    S2JointRow values[S2_JOINT_EQUATIONS];
    S2JointHessian hessians[S2_JOINT_EQUATIONS];
    s2_hinge_kind.rows(&at, values);
    s2_hinge_kind.hessians(&at, hessians);
    row_vjp(step, joint, kind, &values[part->row], &hessians[part->row], rows, r, adjoint);
  }
  return s2_ok();
}

S2Status s2_midpoint_vjp(const S2Step *step, const S2Island *island, const double *before,
                         double *before_bar, // NOLINT(readability-non-const-parameter): not yet
                         S2StepAdjoint *adjoint) {
  (void)step, (void)island, (void)before, (void)before_bar, (void)adjoint;
  return s2_error(S2_INVALID, "gradient: no derivative of nonlinear steps yet");
}
