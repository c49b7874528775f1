// Derivatives with respect to joint parameters that are exactly 0. The assembly leaves out their
// rows, so the derivative is the one towards positive values. A small positive value adds a row
// whose impulse is known to first order. The impulse of a friction, motor, servo or lock with the
// bound F is h F, against the speed along its row. The impulse of a damper d is h d times that
// speed. The rest of the island responds to the impulse as in the solve. The adjoint of the
// right-hand side already includes this response.
#include "diff/joints/joint_vjp.h"
#include "dynamics/joints/rows.h"

// Returns the adjoint of an impulse along a row, through the velocities that the impulse changes.
static double zero_push_bar(const S2JointUndo *undo, const S2JointRow *row) {
  double p[S2_JOINT_COLUMNS], bar = 0;
  s2_joint_momenta_bar(undo, p);
  for (int i = 0; i < 3; i++) {
    bar += row->ja[i] * p[i] + row->jb[i] * p[3 + i];
  }
  return bar;
}

// Like zero_push_bar, but includes the reaction of the joint.
static double zero_impulse_bar(const S2JointUndo *undo, const S2JointRow *row) {
  double bar = zero_push_bar(undo, row);
  if (undo->rows->reaction != NULL) {
    const double *reaction = undo->rows->reaction + 3 * undo->slot;
    S2Vec2 arm = s2_joint_arm(undo);
    bar += row->ja[0] * reaction[0];
    bar += row->ja[1] * (reaction[1] + reaction[0] * arm.y);
    bar += row->ja[2] * (reaction[2] - reaction[0] * arm.x);
  }
  return bar;
}

static double zero_speed(const S2JointUndo *undo, const S2JointRow *row) {
  double v[S2_JOINT_COLUMNS], speed = row->rate;
  s2_joint_velocities(undo, v);
  for (int i = 0; i < 3; i++) {
    speed += row->ja[i] * v[i] + row->jb[i] * v[3 + i];
  }
  return speed;
}

// Returns the sign of a speed along a row, or 0 if the speed is only rounding error. The row would
// then stick without an impulse.
static double zero_side(const S2JointUndo *undo, const S2JointRow *row, double speed) {
  double linear = hypot(row->ja[1], row->ja[2]) + hypot(row->jb[1], row->jb[2]);
  double angular = fabs(row->ja[0]) + fabs(row->jb[0]);
  double least = undo->still * (linear + angular / undo->length);
  return fabs(speed) <= least ? 0 : speed < 0 ? -1 : 1;
}

// Motors and dry friction.
static void zero_drive_vjp(S2JointUndo *undo) {
  const S2Joint *joint = undo->joint;
  const S2WorldGradient *all = undo->bar->gradient;
  bool motor =
      joint->has_motor && joint->motor_max == 0 && S2_TRACKS_JOINT(all, undo->slot, motor_max);
  bool dry = joint->friction == 0 && S2_TRACKS_JOINT(all, undo->slot, friction);
  if (joint->type == S2_CONSTRAINT || s2_joint_kind(joint->type)->drive == NULL ||
      !(motor || dry)) {
    return;
  }
  S2JointRow row;
  s2_joint_kind(joint->type)->drive(&undo->at, &row, NULL);
  double speed = zero_speed(undo, &row), bar = undo->step->h * zero_impulse_bar(undo, &row);
  if (motor) {
    undo->gradient->motor_max -= bar * zero_side(undo, &row, speed - joint->motor_speed);
  }
  if (dry) {
    undo->gradient->friction -= bar * zero_side(undo, &row, speed);
  }
}

// A servo pushes towards the speed that its gains demand. Its effort is not part of the joint's
// reaction.
static void zero_servo_vjp(S2JointUndo *undo) {
  const S2Joint *joint = undo->joint;
  if (!joint->has_servo || joint->servo_max != 0 ||
      !S2_TRACKS_JOINT(undo->bar->gradient, undo->slot, servo_max)) {
    return;
  }
  S2Servo servo;
  s2_servo_row(&undo->at, undo->step->h, undo->step->v0, undo->kind == S2_SOLVE_MOTION, &servo);
  if (isfinite(servo.soft[0].compliance)) { // with gains
    double excess = zero_speed(undo, &servo.row) + servo.soft[0].bias;
    double side = zero_side(undo, &servo.row, excess);
    undo->gradient->servo_max -= undo->step->h * side * zero_push_bar(undo, &servo.row);
  }
}

// The damping of a joint without compliance and without a spring. If the damping becomes positive,
// it acts like a spring of stiffness 0 along the coordinate.
static void zero_damping_vjp(S2JointUndo *undo) {
  const S2Joint *joint = undo->joint;
  if (joint->has_spring || (s2_joint_kind(joint->type)->parts & S2_HAS_STIFFNESS) == 0 ||
      !s2_joint_is_rigid(joint) ||
      !S2_TRACKS_JOINT(undo->bar->gradient, undo->slot, damping.linear)) {
    return;
  }
  S2Joint sprung = *joint;
  sprung.has_spring = true;
  S2JointAt at = undo->at;
  at.joint = &sprung;
  S2JointRow rows[S2_JOINT_EQUATIONS];
  int count = s2_joint_rows(&at, rows);
  s2_joint_speeds(joint, undo->step->v0, rows, count);
  for (int i = 0; i < count; i++) {
    if (s2_joint_sprung(&sprung, i)) {
      double alpha = undo->blend.alpha;
      double w = alpha * zero_speed(undo, &rows[i]) + (1 - alpha) * rows[i].speed;
      undo->gradient->damping.linear -= undo->step->h * w * zero_impulse_bar(undo, &rows[i]);
    }
  }
}

// Bounded locks whose bound is 0.
static void zero_locks_vjp(S2JointUndo *undo) {
  if (!s2_lock_yields(undo->joint)) {
    return;
  }
  S2BoundedRow rows[S2_JOINT_EQUATIONS];
  int count = s2_lock_bounded_rows(&undo->at, rows);
  for (int i = 0; i < count; i++) {
    const S2JointRow *row = &rows[i].row;
    if (rows[i].most == 0) {
      // If it moves at the goal's speed, the lock pushes towards the goal.
      double side = zero_side(undo, row, zero_speed(undo, row));
      side = side != 0 ? side : row->value > 0 ? 1 : row->value < 0 ? -1 : 0;
      double bar = undo->step->h * side * zero_impulse_bar(undo, row);
      *(rows[i].component == 0 ? &undo->gradient->max_torque : &undo->gradient->max_force) -= bar;
    }
  }
}

// The ground pushes against the body's velocity, taken as one vector.
static void zero_ground_vjp(S2JointUndo *undo) {
  const S2Joint *joint = undo->joint;
  if (joint->type != S2_GROUND_FRICTION || undo->kind != S2_SOLVE_MOTION) {
    return;
  }
  double v[S2_JOINT_COLUMNS], h = undo->step->h;
  s2_joint_velocities(undo, v);
  S2Vec2 along = s2_vec2(v[1], v[2]);
  double size = s2_length(along);
  S2JointRow turn = {.ja = {1, 0, 0}}, slide = {.ja = {0, along.x / size, along.y / size}};
  if (joint->max_torque == 0) {
    double side = zero_side(undo, &turn, v[0]);
    undo->gradient->max_torque -= h * side * zero_impulse_bar(undo, &turn);
  }
  if (joint->max_force == 0 && size > undo->still) {
    undo->gradient->max_force -= h * zero_impulse_bar(undo, &slide);
  }
}

// The friction of a user-defined constraint: its coefficient times the impulse of its normal row.
static void zero_coupled_vjp(S2JointUndo *undo, const S2Assembly *assembly) {
  const S2Joint *joint = undo->joint;
  if (joint->type != S2_CONSTRAINT || joint->coupled == S2_NONE || joint->friction != 0 ||
      !s2_solve_traits(undo->kind).friction) {
    return;
  }
  S2JointRow row;
  s2_joint_kind(joint->type)->coordinate(&undo->at, &row, NULL);
  for (int r = 0; r < assembly->parts; r++) {
    if (assembly->part[r].joint == joint->coupled && assembly->part[r].row == S2_JOINT_LO) {
      double side = zero_side(undo, &row, zero_speed(undo, &row));
      undo->gradient->friction -= side * undo->rows->lambda[r] * zero_impulse_bar(undo, &row);
    }
  }
}

// Rigid joints and joints with a tiny compliance are stepped by different methods, so the
// derivative has a jump.
void s2_joint_zero_flag(const S2Joint *joint, int32_t slot, S2WorldGradient *all) {
  const S2JointWeights *c = &joint->compliance;
  if ((s2_joint_kind(joint->type)->parts & S2_HAS_COMPLIANCE) == 0 || c->size > 0 ||
      all->tracked == NULL) {
    return;
  }
  bool linear = c->linear == 0 && S2_TRACKS_JOINT(all, slot, compliance.linear);
  bool angular = c->angular == 0 && S2_TRACKS_JOINT(all, slot, compliance.angular);
  all->flags |= linear || angular ? S2_GRADIENT_JUMP : 0;
}

void s2_joint_zero_vjp(S2JointUndo *undo, const S2Assembly *assembly) {
  zero_coupled_vjp(undo, assembly);
  if (s2_solve_traits(undo->kind).takes_time) {
    zero_drive_vjp(undo);
    zero_servo_vjp(undo);
    zero_damping_vjp(undo);
    zero_locks_vjp(undo);
    zero_ground_vjp(undo);
  }
  // Projections also set this flag, because they may remove everything that the loss depends on.
  s2_joint_zero_flag(undo->joint, undo->slot, undo->bar->gradient);
}
