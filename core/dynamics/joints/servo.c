// Servo: a spring and damper with a bounded force hold a joint's coordinate at a goal, in addition
// to the joint's own spring. Its row is the row of a spring with implicit Euler:
//
//     u + C' lambda + b = 0,   C' = (h (h kp + kd))^-1,   b = h C' kp (value - goal),
//     |lambda| <= h max,
//
// The servo is therefore stable for all gains, inertias and step lengths h. As far as the bound
// permits, lambda = -h (kp (value+
// - goal) + kd u+), where value+ and u+ are values at the end of the step.
#include "dynamics/joints/joint.h"

bool s2_servo_acts(const S2Joint *joint, double h) {
  return joint->has_servo && joint->servo_max * h > 0;
}

S2Joint s2_servo_spring(const S2Joint *joint) {
  return (S2Joint){.type = S2_SPRING,
                   .has_spring = true,
                   .stiffness = joint->servo_kp,
                   .damping = {.linear = joint->servo_kd, .angular = joint->servo_kd}};
}

void s2_servo_row(const S2JointAt *at, double h, const double *v0, bool bends, S2Servo *servo) {
  const S2Joint *joint = at->joint;
  *servo = (S2Servo){
      .spring = s2_servo_spring(joint),
      .blend = {.h = h, .alpha = 1, .beta = 1, .bent = bends ? 1 : 0},
  };
  s2_joint_kind(joint->type)->drive(at, &servo->row, &servo->hessian);
  servo->row.value -= joint->servo_goal;
  s2_joint_speeds(joint, v0, &servo->row, 1);
  s2_joint_bends(joint, v0, &servo->hessian, &servo->row, 1);
  s2_joint_soften(&servo->spring, &servo->row, 1, servo->blend, servo->soft);
}
