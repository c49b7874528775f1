// Checks the conditions of implicit blending.
// With beta = 0, positions move only with the velocities at the start of the step, so rigid rows
// cannot correct their positions.
#include "dynamics/step/assemble.h"

static bool has_rigid_row(const S2World *world, const S2Joint *joint) {
  const S2JointKind *kind = s2_joint_kind(joint->type);
  S2JointAt at = {world, joint, world->q.at, 0, NULL};
  S2JointRow rows[S2_JOINT_EQUATIONS];
  S2SoftRow soft[S2_JOINT_EQUATIONS];
  int count = s2_joint_rows(&at, rows);
  s2_joint_soften(joint, rows, count, s2_joint_blend(&world->kept.def, 0), soft);
  // A lock that has yielded returns to its goal at a certain speed. With beta = 0, this speed would
  // not move it.
  bool rigid = s2_lock_yields(joint);
  rigid |= kind->coordinate != NULL && joint->limit_lo == joint->limit_hi;
  for (int i = 0; i < count; i++) {
    rigid |= soft[i].rigid;
  }
  return rigid;
}

S2Status s2_world_check_blend(const S2World *world) {
  if (world->kept.def.beta > 0) {
    return s2_ok();
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    const S2Joint *joint = &world->joints.at[world->joint_order.at[i]];
    if (s2_joint_active(world, joint) && has_rigid_row(world, joint)) {
      return s2_error(
          S2_INVALID, "beta = 0 cannot hold %s '%s': a rigid joint needs beta > 0, or compliance",
          s2_joint_type_name(joint->type), joint->name[0] != '\0' ? joint->name : "unnamed");
    }
  }
  return s2_ok();
}
