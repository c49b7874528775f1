// Lock: holds the angle, x or y of one body, or moves it at a given rate or by a callback. (These
// are the X, Y, rotation and total constraints of lcp-physics.)
//
// A component with a bound (max_force for x and y, max_torque for the angle) is not an equation.
// Like a motor, it is a row with a bounded force. It follows the speed of the goal and returns to
// the goal. Impacts and projections ignore it.
#include "dynamics/joints/joint.h"

static double bound_of(const S2Joint *joint, int component) {
  return component == 0 ? joint->max_torque : joint->max_force;
}

static bool is_bounded(const S2Joint *joint, int component) {
  return joint->locked[component] && isfinite(bound_of(joint, component));
}

bool s2_lock_yields(const S2Joint *joint) {
  return joint->type == S2_LOCK &&
         (is_bounded(joint, 0) || is_bounded(joint, 1) || is_bounded(joint, 2));
}

int s2_lock_component(const S2Joint *joint, int row) {
  // Number the rows of unbounded locked components first, then those of bounded ones.
  for (int i = 0; i < 6; i++) {
    bool bounded = i >= 3;
    if (joint->locked[i % 3] && is_bounded(joint, i % 3) == bounded && row-- == 0) {
      return i % 3;
    }
  }
  return S2_NONE;
}

static S2JointRow row_of(const S2JointAt *at, int i, const double goal[3], const double rate[3]) {
  // With value = q - goal and rate = -(speed of the goal), a row of 0 follows the goal.
  S2JointRow row = {.value = at->q[3 * at->joint->a + i] - goal[i], .rate = -rate[i]};
  row.ja[i] = 1;
  return row;
}

static int lock_equations(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]) {
  double goal[3], rate[3];
  int count = 0;
  s2_lock_goal(at, goal, rate);
  for (int i = 0; i < 3; i++) {
    if (at->joint->locked[i] && !is_bounded(at->joint, i)) {
      rows[count++] = row_of(at, i, goal, rate);
    }
  }
  return count;
}

int s2_lock_bounded_rows(const S2JointAt *at, S2BoundedRow rows[S2_JOINT_EQUATIONS]) {
  const S2Joint *joint = at->joint;
  const S2Body *body = &at->world->bodies.at[joint->a];
  double goal[3], rate[3];
  int count = 0, equations = 0;
  s2_lock_goal(at, goal, rate);
  // The impulses of bounded components come after the impulses of the equations.
  for (int i = 0; i < 3; i++) {
    equations += joint->locked[i] && !is_bounded(joint, i);
  }
  for (int i = 0; i < 3; i++) {
    if (is_bounded(joint, i)) {
      rows[count] = (S2BoundedRow){.row = row_of(at, i, goal, rate),
                                   .component = i,
                                   .index = equations + count,
                                   .most = bound_of(joint, i),
                                   .mass = i == 0 ? body->inertia : body->mass};
      count += 1;
    }
  }
  return count;
}

S2LockReturn s2_lock_return(double off, double push, double h) {
  // Return to the goal in this step if the distance is short enough to brake in one step.
  double far = fabs(off), reach = push * h * h, sign = off < 0 ? -1 : 1;
  if (far <= reach) {
    return (S2LockReturn){.speed = off / h, .by_off = 1 / h, .by_h = -off / (h * h)};
  }
  // Otherwise return at the speed v = push h (s - 1/2). If each later step reduces the speed by
  // push h, the motion ends at the goal.
  double s = sqrt(0.25 + 2 * far / reach);
  return (S2LockReturn){.speed = sign * push * h * (s - 0.5),
                        .by_off = 1 / (h * s),
                        .by_push = sign * (h * (s - 0.5) - far / (push * h * s)),
                        .by_h = sign * (push * (s - 0.5) - 2 * far / (h * h * s))};
}

double s2_lock_goal_kept(double goal, double q, double push, double h, bool *held) {
  // Keep a goal within `reach` of the body. Otherwise move it to that distance, on the same side.
  double reach = S2_LOCK_LAG * push * h * h;
  *held = fabs(goal - q) <= reach;
  return *held ? goal : goal < q ? q - reach : q + reach;
}

static void lock_hessians(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]) {
  (void)at;
  for (int i = 0; i < S2_JOINT_EQUATIONS; i++) {
    hessians[i] = (S2JointHessian){0};
  }
}

static S2Status lock_create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  const bool locked[3] = {def->lock_angle, def->lock_x, def->lock_y};
  const double rate[3] = {def->angular_velocity, def->velocity.x, def->velocity.y};
  static const char *const names[3] = {"angular_velocity", "velocity.x", "velocity.y"};
  int count = 0;
  // A lock holds exactly one body, and only locked components may have a speed.
  if (joint->a == S2_NONE || joint->b != S2_NONE) {
    return s2_error(S2_INVALID, "a lock holds one body: give a and leave out b");
  }
  for (int i = 0; i < 3; i++) {
    if (!isfinite(rate[i])) {
      return s2_error(S2_INVALID, "%s: finite number expected, got %g", names[i], rate[i]);
    }
    if (!locked[i] && rate[i] != 0) {
      return s2_error(S2_INVALID, "%s: 0 expected for a coordinate that is not locked, got %g",
                      names[i], rate[i]);
    }
    joint->locked[i] = locked[i];
    joint->rate[i] = rate[i];
    joint->goal[i] = world->q.at[3 * joint->a + i];
    count += locked[i];
  }
  // A bound may be infinite, which makes the component an equation.
  const double bounds[2] = {def->max_force, def->max_torque};
  for (int i = 0; i < 2; i++) {
    if (!(bounds[i] >= 0)) {
      return s2_error(S2_INVALID, "%s: a number not below 0 expected, got %g",
                      i == 0 ? "max_force" : "max_torque", bounds[i]);
    }
  }
  joint->max_force = bounds[0];
  joint->max_torque = bounds[1];
  // A lock with a bound has no compliance. Every lock must hold at least one component.
  if (s2_lock_yields(joint) && !s2_joint_is_rigid(joint)) {
    return s2_error(S2_INVALID, "%s: cannot be combined with compliance: leave one of them out",
                    isfinite(bounds[0]) ? "max_force" : "max_torque");
  }
  if (count == 0) {
    return s2_error(S2_INVALID, "a lock needs at least one of x, y and angle");
  }
  joint->driven = def->driven;
  return s2_ok();
}

const S2JointKind s2_lock_kind = {
    .traits = {.name = "lock",
               .keys = S2_KEYS("body", "x", "y", "angle", "velocity", "angular_velocity",
                               "compliance", "damping", "max_force", "max_torque", "stabilization"),
               .dots = S2_DOTS_RING},
    .parts = S2_HAS_COMPLIANCE,
    .bound = INFINITY,
    .fields = S2_FIELD_BIT(MAX_FORCE) | S2_FIELD_BIT(MAX_TORQUE),
    .rows = lock_equations,
    .hessians = lock_hessians,
    .create = lock_create,
};
