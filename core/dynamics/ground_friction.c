// Ground friction: dry friction of a body on the plane of a world seen from above. The torque and
// the force are bounded apart: |torque| <= max_torque, and |force| <= max_force, a disc.
//
// The disc becomes two boxed rows, along and across the body's momentum p but for the ground. With
// nothing else touching the body that is exact: the force that takes most of |p| lies along p, up
// to the bound, and the row across carries nothing. Forces of others turn the momentum by O(h)
// against what they were in the last step. Where the row across carries more than a part of 1e-3 of
// the bound, as when something begins to push, the rows are turned and the island is solved again.
#include "dynamics/step.h"

static int rows(const S2JointAt *at, S2JointRow rows[S2_JOINT_EQUATIONS]) {
  (void)at;
  (void)rows;
  return 0;
}

static void hessians(const S2JointAt *at, S2JointHessian hessians[S2_JOINT_EQUATIONS]) {
  (void)at;
  for (int i = 0; i < S2_JOINT_EQUATIONS; i++) {
    hessians[i] = (S2JointHessian){0};
  }
}

void s2_ground_friction_rows(const S2Joint *joint, S2Vec2 momentum, S2JointRow rows[3],
                             double bounds[3]) {
  double size = s2_length(momentum);
  S2Vec2 along = size > 0 ? s2_scale(1 / size, momentum) : s2_vec2(1, 0), across = s2_left(along);
  rows[0] = (S2JointRow){.ja = {1, 0, 0}};
  rows[1] = (S2JointRow){.ja = {0, along.x, along.y}};
  rows[2] = (S2JointRow){.ja = {0, across.x, across.y}};
  bounds[0] = joint->max_torque;
  bounds[1] = bounds[2] = joint->max_force;
}

bool s2_step_ground_turned(S2Step *step, const S2Island *island, const S2Assembly *assembly,
                           const double *v, const double *lambda) {
  bool turned = false;
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    const S2Joint *joint = &step->world->joints.at[slot];
    if (joint->type != S2_GROUND_FRICTION || !(joint->max_force > 0)) {
      continue;
    }
    const double *now = v + 3 * step->node_of[joint->a];
    double ground[2] = {0, 0};
    for (int k = 0; k < assembly->parts; k++) {
      const S2JointPart *part = &assembly->part[k];
      if (part->joint == slot && part->row > 0) {
        ground[0] += part->push[1] * lambda[k];
        ground[1] += part->push[2] * lambda[k];
        double across = part->row == 2 ? fabs(lambda[k]) : 0;
        turned |= across > S2_GROUND_ASKEW * joint->max_force * step->h;
      }
    }
    for (int c = 0; c < 2; c++) {
      int32_t at = 3 * joint->a + c + 1;
      double all = step->mass[at] * (now[c + 1] - step->free_v[at]);
      step->pushed[2 * slot + c] = (all - ground[c]) / step->h;
    }
  }
  return turned;
}

static S2Status create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  (void)world;
  const double bounds[2] = {def->max_force, def->max_torque};
  static const char *const names[2] = {"max_force", "max_torque"};
  if (joint->a == S2_NONE || joint->b != S2_NONE) {
    return s2_error(S2_INVALID, "ground friction acts on one body: a expected, and no b");
  }
  for (int i = 0; i < 2; i++) {
    if (!isfinite(bounds[i]) || !(bounds[i] >= 0)) {
      return s2_error(S2_INVALID, "%s: a finite number not below 0 expected, got %g", names[i],
                      bounds[i]);
    }
  }
  joint->max_force = def->max_force;
  joint->max_torque = def->max_torque;
  return s2_ok();
}

const S2JointKind s2_ground_friction_kind = {
    .name = "ground_friction",
    .rows = rows,
    .hessians = hessians,
    .create = create,
};
