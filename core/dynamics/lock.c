// Lock: angle, x or y of one body held in the world, or moved at a given rate or as the program
// says (the X, Y, rotation and total constraints of lcp-physics).
#include "dynamics/joint.h"

static int rows(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]) {
  const S2Joint *joint = at->joint;
  double goal[3], rate[3];
  int count = 0;
  s2_lock_goal(at, goal, rate);
  for (int i = 0; i < 3; i++) {
    if (joint->locked[i]) {
      rows[count] = (S2JointRow){.value = at->q[3 * joint->a + i] - goal[i], .rate = -rate[i]};
      rows[count++].ja[i] = i == 0 ? s2_measure_turn(at) : 1;
    }
  }
  return count;
}

static void hessians(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]) {
  (void)at;
  for (int i = 0; i < S2_JOINT_EQUATIONS; i++) {
    hessians[i] = (S2JointHessian){0};
  }
}

static S2Status create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  const bool locked[3] = {def->lock_angle, def->lock_x, def->lock_y};
  const double rate[3] = {def->angular_velocity, def->velocity.x, def->velocity.y};
  static const char *const names[3] = {"angular_velocity", "velocity.x", "velocity.y"};
  int count = 0;
  if (joint->a == S2_NONE || joint->b != S2_NONE) {
    return s2_error(S2_INVALID, "a lock holds one body: a expected, and no b");
  }
  for (int i = 0; i < 3; i++) {
    if (!isfinite(rate[i])) {
      return s2_error(S2_INVALID, "%s: finite number expected, got %g", names[i], rate[i]);
    }
    if (!locked[i] && rate[i] != 0) {
      return s2_error(S2_INVALID, "%s: 0 expected where nothing is locked, got %g", names[i],
                      rate[i]);
    }
    joint->locked[i] = locked[i];
    joint->rate[i] = rate[i];
    joint->goal[i] = world->q.at[3 * joint->a + i];
    count += locked[i];
  }
  if (count == 0) {
    return s2_error(S2_INVALID, "a lock needs at least one of x, y and angle");
  }
  joint->driven = def->driven;
  return s2_ok();
}

const S2JointKind s2_lock_kind = {
    .name = "lock",
    .parts = S2_HAS_COMPLIANCE,
    .rows = rows,
    .hessians = hessians,
    .create = create,
};
