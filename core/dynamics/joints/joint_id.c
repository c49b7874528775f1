// Finds the joint of a handle, its index in the world, and its name for messages.
#include "dynamics/joints/joint.h"

#include <stdio.h>

void s2_joint_label(const S2World *world, int32_t slot, char label[S2_NAME_SIZE + 32]) {
  const S2Joint *joint = &world->joints.at[slot];
  if (joint->name[0] != 0) {
    snprintf(label, S2_NAME_SIZE + 32, "%s '%s'", s2_joint_type_name(joint->type), joint->name);
  } else {
    snprintf(label, S2_NAME_SIZE + 32, "%s #%d", s2_joint_type_name(joint->type),
             s2_world_joint_place(world, slot) + 1);
  }
}

bool s2_joint_alive(const S2World *world, S2JointId id) {
  return id.index != 0 && id.index <= (uint32_t)world->joints.count && id.serial != 0 &&
         world->joints.at[id.index - 1].serial == id.serial;
}

S2Status s2_joint_slot(const S2World *world, S2JointId id, int32_t *slot) {
  *slot = (int32_t)id.index - 1;
  if (!s2_joint_alive(world, id)) {
    return s2_error(S2_STALE, "the joint is destroyed");
  }
  return s2_ok();
}

S2JointId s2_world_joint(const S2World *world, int index) {
  if (index < 0 || index >= world->joint_order.count) {
    return (S2JointId){0, 0};
  }
  int32_t slot = world->joint_order.at[index];
  return (S2JointId){(uint32_t)slot + 1, world->joints.at[slot].serial};
}

int s2_world_joint_place(const S2World *world, int32_t slot) {
  uint32_t serial = world->joints.at[slot].serial;
  int first = 0, last = world->joint_order.count;
  while (first < last) {
    int middle = first + (last - first) / 2;
    if (world->joints.at[world->joint_order.at[middle]].serial < serial) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}
