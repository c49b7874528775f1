// Derivatives of the two-stage flow with respect to parameters that are 0: one-sided, towards
// positive values.
#include "diff/step/rattle_undo.h"

#include <string.h>

// Dry friction or a motor with the bound 0 has no row. With a positive bound, its force opposes the
// speed of its coordinate: the mean speed in stage 1, and the speed at the end in both stages
// together. A coordinate at rest may be pushed either way, so its derivative counts as 0.
typedef struct Zero {
  int32_t slot;
  bool effort;        // an actuator effort, which is not a reaction of the joint
  S2RowSides side[2]; // row sides at both ends of the piece
  double speed[2], value[2];
} Zero;

static Zero zero_of(const S2RattlePiece *piece, int32_t slot, double asked) {
  const S2Rattle *rattle = &piece->rattle;
  const S2Step *step = rattle->step;
  const S2Joint *joint = &step->world->joints.at[slot];
  Zero zero = {.slot = slot};
  S2JointRow row[2];
  for (int i = 0; i < 2; i++) {
    double elapsed = rattle->done + (i == 0 ? 0 : rattle->h);
    S2JointAt at = {step->world, joint, i == 0 ? rattle->q0 : rattle->q1, elapsed, NULL};
    s2_joint_kind(joint->type)->drive(&at, &row[i], NULL);
    memcpy(zero.side[i].a, row[i].ja, sizeof row[i].ja);
    memcpy(zero.side[i].b, row[i].jb, sizeof row[i].jb);
  }
  // The mean speed of the coordinate over the piece, and its speed at the end.
  zero.value[0] = row[0].value;
  zero.value[1] = row[1].value;
  zero.speed[0] = (row[1].value - row[0].value) / rattle->h - asked;
  zero.speed[1] = row[1].rate - asked;
  const int32_t slots[2] = {joint->a, joint->b};
  for (int i = 0; i < 6; i++) {
    int32_t of = slots[i / 3];
    double j = i < 3 ? row[1].ja[i] : row[1].jb[i - 3];
    int32_t node = of == S2_NONE ? S2_GROUND : step->node_of[of];
    double v = node != S2_GROUND ? rattle->v1[3 * node + i % 3] : 0;
    zero.speed[1] +=
        j * (of == S2_NONE || node != S2_GROUND ? v : s2_rattle_ground_end(rattle)[3 * of + i % 3]);
  }
  return zero;
}

static double zero_pushed(const S2RattlePiece *piece, const Zero *zero, int end) {
  const S2Joint *joint = &piece->rattle.step->world->joints.at[zero->slot];
  const int32_t *node_of = piece->rattle.step->node_of;
  const S2RowSides *side = &zero->side[end];
  double sum = zero->effort ? 0 : s2_rattle_reaction_pull(piece, zero->slot, side, end != 0);
  for (int c = 0; c < 3; c++) {
    int32_t a = joint->a == S2_NONE ? S2_GROUND : node_of[joint->a];
    int32_t b = joint->b == S2_NONE ? S2_GROUND : node_of[joint->b];
    sum += a == S2_GROUND ? 0 : zero->side[end].a[c] * piece->p[3 * a + c];
    sum += b == S2_GROUND ? 0 : zero->side[end].b[c] * piece->p[3 * b + c];
  }
  return sum;
}

static double zero_against(double speed, double still) {
  return fabs(speed) <= still ? 0 : speed < 0 ? 1 : -1;
}

// Springs and servos without gains have no row. With small gains, the impulse in each stage is -h/2
// (stiffness * mean value + damping * mean speed). `index` is an equation of `joint`, or
// S2_OF_DRIVE for its actuator. The value is measured from `goal`.
static void zero_soft_vjp(const S2RattlePiece *piece, int32_t slot, const S2Joint *joint, int index,
                          double goal, bool end, double *stiffness, double *damping) {
  const S2Rattle *rattle = &piece->rattle;
  Zero zero = {.slot = slot, .effort = index == S2_OF_DRIVE};
  double value[2];
  for (int i = 0; i < 2; i++) {
    S2JointRow rows[S2_JOINT_EQUATIONS], *row = rows;
    double elapsed = rattle->done + (i == 0 ? 0 : rattle->h);
    S2JointAt at = {rattle->step->world, joint, i == 0 ? rattle->q0 : rattle->q1, elapsed, NULL};
    if (index == S2_OF_DRIVE) {
      s2_joint_kind(joint->type)->drive(&at, row, NULL);
    } else {
      if (index >= s2_joint_rows(&at, rows)) {
        return;
      }
      row += index;
    }
    value[i] = row->value - goal;
    memcpy(zero.side[i].a, row->ja, sizeof row->ja);
    memcpy(zero.side[i].b, row->jb, sizeof row->jb);
  }
  // Half of the impulse acts in each stage.
  double pushed = piece->half * zero_pushed(piece, &zero, end);
  *stiffness -= pushed * (value[0] + value[1]) / 2;
  *damping -= pushed * (value[1] - value[0]) / rattle->h;
}

static void zero_gains_vjp(const S2RattlePiece *piece, int32_t slot, bool end) {
  const S2Rattle *rattle = &piece->rattle;
  const S2Joint *joint = &rattle->step->world->joints.at[slot];
  S2JointGradient *g = &piece->undo->gradient->joint[slot];
  bool springs = (s2_joint_kind(joint->type)->parts & S2_HAS_STIFFNESS) != 0;
  bool none = joint->stiffness == 0 && joint->damping.linear == 0;
  double unused = 0;
  // Damping alone is a spring without stiffness.
  S2Joint sprung = *joint;
  sprung.has_spring = true;
  for (int i = 0; i < S2_JOINT_EQUATIONS && springs; i++) {
    bool idle = joint->has_spring ? none : s2_joint_is_rigid(joint);
    if (idle && s2_joint_sprung(&sprung, i)) {
      zero_soft_vjp(piece, slot, &sprung, i, 0, end, joint->has_spring ? &g->stiffness : &unused,
                    &g->damping.linear);
    }
  }
  if (s2_servo_acts(joint, rattle->h) && joint->servo_kp == 0 && joint->servo_kd == 0) {
    zero_soft_vjp(piece, slot, joint, S2_OF_DRIVE, joint->servo_goal, end, &g->servo_kp,
                  &g->servo_kd);
  }
}

// Differentiates a servo with a bound of 0. With a positive bound, its force in both stages would
// oppose kp times the mean position error plus kd times the mean speed.
static void zero_servo_most_vjp(const S2RattlePiece *piece, int32_t slot, double still, bool end) {
  const S2Joint *joint = &piece->rattle.step->world->joints.at[slot];
  if (!joint->has_servo || joint->servo_max != 0 || joint->servo_kp + joint->servo_kd == 0) {
    return;
  }
  Zero zero = zero_of(piece, slot, 0);
  zero.effort = true;
  double off = (zero.value[0] + zero.value[1]) / 2 - joint->servo_goal;
  double excess = joint->servo_kp * off + joint->servo_kd * zero.speed[0];
  double least = still * (joint->servo_kp * piece->rattle.h + joint->servo_kd);
  piece->undo->gradient->joint[slot].servo_max +=
      zero_against(excess, least) * piece->half * zero_pushed(piece, &zero, end);
}

// Differentiates ground friction with a bound of 0. With a positive bound, its force would oppose
// the mean velocity in both stages, and its torque would oppose the rotation.
static void zero_disc_vjp(const S2RattlePiece *piece, int32_t slot, double still, bool end) {
  const S2Rattle *rattle = &piece->rattle;
  const S2WorldGradient *all = piece->undo->gradient;
  const S2Joint *joint = &rattle->step->world->joints.at[slot];
  const double *u = rattle->u + 3 * rattle->step->node_of[joint->a];
  const double *v1 = rattle->v1 + 3 * rattle->step->node_of[joint->a];
  S2JointGradient *g = &piece->undo->gradient->joint[slot];
  double speed = hypot(u[1], u[2]);
  if (joint->max_force == 0 && S2_TRACKS_JOINT(all, slot, max_force) && speed > still) {
    S2RowSides along = {.a = {0, u[1] / speed, u[2] / speed}};
    Zero zero = {.slot = slot, .side = {along, along}};
    g->max_force -= piece->half * zero_pushed(piece, &zero, end);
  }
  if (joint->max_torque == 0 && S2_TRACKS_JOINT(all, slot, max_torque)) {
    S2RowSides turn = {.a = {1, 0, 0}};
    Zero zero = {.slot = slot, .side = {turn, turn}};
    double slow = still / rattle->island->length, first = zero_against(u[0], slow);
    double impulse = end ? 2 * zero_against(v1[0], slow) - first : first;
    g->max_torque += impulse * piece->half * zero_pushed(piece, &zero, end);
  }
}

// A limit without restitution stops the coordinate. The derivative with respect to the restitution
// would need the speed of arrival, which is recorded only for limits with restitution.
static void flag_zero_rebounds(const S2RattlePiece *piece) {
  const S2Rattle *rattle = &piece->rattle;
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    bool arrives = term->law == S2_RATTLE_LIMIT && !s2_rattle_of_contact(term) && rattle->late[r] &&
                   rattle->l[r] == 0 && rattle->second[r] != S2_RATTLE_KNOWN;
    int32_t slot = arrives ? rattle->island->joint[term->place] : S2_NONE;
    if (arrives && term->restitution == 0 &&
        S2_TRACKS_JOINT(piece->undo->gradient, slot, restitution)) {
      piece->undo->gradient->flags |= S2_GRADIENT_PARTIAL;
    }
  }
}

// Nonlinear springs are stepped by projection instead, so the loss jumps when a nonlinear term
// becomes nonzero.
static void flag_zero_curves(const S2RattlePiece *piece, int32_t slot) {
  S2WorldGradient *all = piece->undo->gradient;
  const S2Joint *joint = &piece->rattle.step->world->joints.at[slot];
  bool curve = joint->has_spring && all->tracked != NULL &&
               (S2_TRACKS_JOINT(all, slot, quadratic) || S2_TRACKS_JOINT(all, slot, cubic));
  all->flags |= curve ? S2_GRADIENT_JUMP : 0;
}

// Differentiates stage 2 if `end` is set, otherwise stage 1. The array p holds the adjoint momenta
// of the piece.
void s2_rattle_zeros_vjp(const S2RattlePiece *piece, bool end) {
  const S2Rattle *rattle = &piece->rattle;
  const S2WorldGradient *all = piece->undo->gradient;
  double still = 1e-10 * rattle->speed; // slower motion is rounding error
  if (end) {
    flag_zero_rebounds(piece);
  }
  for (int i = 0; i < rattle->island->joints; i++) {
    int32_t slot = rattle->island->joint[i];
    const S2Joint *joint = &rattle->step->world->joints.at[slot];
    bool drives = s2_joint_kind(joint->type)->drive != NULL;
    flag_zero_curves(piece, slot);
    if (joint->type == S2_GROUND_FRICTION) {
      zero_disc_vjp(piece, slot, still, end);
      continue;
    }
    bool dry = joint->friction == 0 && S2_TRACKS_JOINT(all, slot, friction);
    bool motor = joint->has_motor && joint->motor_max == 0 && S2_TRACKS_JOINT(all, slot, motor_max);
    if (S2_TRACKS_JOINT(all, slot, damping.linear) || S2_TRACKS_JOINT(all, slot, stiffness) ||
        S2_TRACKS_JOINT(all, slot, servo_kp) || S2_TRACKS_JOINT(all, slot, servo_kd)) {
      zero_gains_vjp(piece, slot, end);
    }
    if (S2_TRACKS_JOINT(all, slot, servo_max)) {
      zero_servo_most_vjp(piece, slot, still, end);
    }
    for (int k = 0; k < 2 && drives; k++) {
      if (!(k == 0 ? dry : motor)) {
        continue;
      }
      Zero zero = zero_of(piece, slot, k == 0 ? 0 : joint->motor_speed);
      double first = zero_against(zero.speed[0], still), pushed = zero_pushed(piece, &zero, end);
      // k = (l + k) - l in stage 2
      double impulse = end ? 2 * zero_against(zero.speed[1], still) - first : first;
      S2JointGradient *g = &piece->undo->gradient->joint[slot];
      *(k == 0 ? &g->friction : &g->motor_max) += impulse * piece->half * pushed;
    }
  }
}
