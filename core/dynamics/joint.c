// Joints: what all types share.
#include "dynamics/joint.h"

#include <stdio.h>
#include <string.h>

int s2_joint_row_count(const S2Joint *joint) {
  switch (joint->type) {
  case S2_HINGE:
    return 2;
  }
  return 0;
}

int s2_joint_rows(const S2Joint *joint, const double *q, S2JointRow rows[3]) {
  switch (joint->type) {
  case S2_HINGE:
    return s2_hinge_rows(joint, q, rows);
  }
  return 0;
}

void s2_joint_error(const S2Joint *joint, const double *q, double error[3]) {
  switch (joint->type) {
  case S2_HINGE:
    s2_hinge_error(joint, q, error);
    break;
  }
}

bool s2_joint_active(const S2World *world, const S2Joint *joint) {
  const S2Body *a = joint->a == S2_NONE ? NULL : &world->bodies.at[joint->a];
  const S2Body *b = joint->b == S2_NONE ? NULL : &world->bodies.at[joint->b];
  bool off = !joint->enabled || (a != NULL && !a->enabled) || (b != NULL && !b->enabled);
  return !off && ((a != NULL && s2_body_moves(a)) || (b != NULL && s2_body_moves(b)));
}

// ---- Making and destroying --------------------------------------------------------------------

S2Status s2_joint_prepare(const S2World *world, S2BodyId a, S2BodyId b, bool collide,
                          const char *name, S2Joint *joint) {
  joint->a = joint->b = S2_NONE;
  if (a.index != 0) {
    S2_TRY(s2_body_slot(world, a, &joint->a));
  }
  if (b.index != 0) {
    S2_TRY(s2_body_slot(world, b, &joint->b));
  }
  if (joint->a == joint->b) {
    return joint->a == S2_NONE
               ? s2_error(S2_INVALID, "a joint needs at least one body")
               : s2_error(S2_INVALID, "a joint needs two different bodies, got the same one twice");
  }
  if (name != NULL && strlen(name) >= S2_NAME_SIZE) {
    return s2_error(S2_INVALID, "name: at most %d bytes expected, got %zu", S2_NAME_SIZE - 1,
                    strlen(name));
  }
  snprintf(joint->name, sizeof joint->name, "%s", name == NULL ? "" : name);
  joint->enabled = true;
  joint->collide = collide;
  double angle_a = joint->a == S2_NONE ? 0 : world->q.at[3 * joint->a];
  double angle_b = joint->b == S2_NONE ? 0 : world->q.at[3 * joint->b];
  joint->angle0 = angle_a - angle_b;
  return s2_ok();
}

S2Vec2 s2_joint_local(const S2World *world, int32_t slot, S2Vec2 point) {
  return slot == S2_NONE ? point : s2_pose_local(s2_slot_pose(world->q.at, slot), point);
}

static bool excludes(const S2Joint *joint) {
  return !joint->collide && joint->a != S2_NONE && joint->b != S2_NONE;
}

S2JointId s2_joint_add(S2World *world, const S2Joint *joint) {
  int32_t slot = world->kept.free_joint;
  if (slot != S2_NONE) {
    world->kept.free_joint = world->joints.at[slot].a; // the free list's link
  } else {
    slot = s2_array_push(world->joints);
  }
  world->joints.at[slot] = *joint;
  world->joints.at[slot].serial = world->next_serial++;
  *s2_array_append(world->joint_order) = slot;
  if (excludes(joint)) {
    s2_world_exclude(world, joint->a, joint->b, false);
  }
  return (S2JointId){(uint32_t)slot + 1, world->joints.at[slot].serial};
}

void s2_joint_destroy_slot(S2World *world, int32_t slot) {
  S2Joint *joint = &world->joints.at[slot];
  if (excludes(joint)) {
    s2_world_include(world, joint->a, joint->b, false);
  }
  int i = 0;
  while (world->joint_order.at[i] != slot) {
    i += 1;
  }
  memmove(world->joint_order.at + i, world->joint_order.at + i + 1,
          sizeof(int32_t) * (size_t)(world->joint_order.count - 1 - i));
  world->joint_order.count -= 1;
  memset(joint, 0, sizeof *joint);
  joint->a = world->kept.free_joint;
  world->kept.free_joint = slot;
}

static S2Status joint_slot(const S2World *world, S2JointId id, int32_t *slot) {
  *slot = (int32_t)id.index - 1;
  if (!s2_joint_alive(world, id)) {
    return s2_error(S2_STALE, "the joint is destroyed");
  }
  return s2_ok();
}

S2Status s2_joint_destroy(S2World *world, S2JointId id) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(joint_slot(world, id, &slot));
  s2_joint_destroy_slot(world, slot);
  return s2_ok();
}

bool s2_joint_alive(const S2World *world, S2JointId id) {
  return id.index != 0 && id.index <= (uint32_t)world->joints.count && id.serial != 0 &&
         world->joints.at[id.index - 1].serial == id.serial;
}

S2Status s2_joint_set_enabled(S2World *world, S2JointId id, bool enabled) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(joint_slot(world, id, &slot));
  world->joints.at[slot].enabled = enabled;
  memset(world->joints.at[slot].impulse, 0, sizeof world->joints.at[slot].impulse);
  return s2_ok();
}

// ---- Reading ----------------------------------------------------------------------------------

static S2Vec2 anchor(const S2World *world, int32_t slot, S2Vec2 local) {
  return slot == S2_NONE ? local : s2_pose_point(s2_slot_pose(world->q.at, slot), local);
}

S2Status s2_joint_info(const S2World *world, S2JointId id, S2JointInfo *info) {
  int32_t slot;
  S2_TRY(joint_slot(world, id, &slot));
  const S2Joint *joint = &world->joints.at[slot];
  double error[3] = {0};
  s2_joint_error(joint, world->q.at, error);
  double angle = (joint->a == S2_NONE ? 0 : world->q.at[3 * joint->a]) -
                 (joint->b == S2_NONE ? 0 : world->q.at[3 * joint->b]);
  double speed = (joint->a == S2_NONE ? 0 : world->v.at[3 * joint->a]) -
                 (joint->b == S2_NONE ? 0 : world->v.at[3 * joint->b]);
  S2Vec2 impulse = {joint->impulse[0], joint->impulse[1]};
  *info = (S2JointInfo){
      .type = joint->type,
      .a = s2_body_id(world, joint->a),
      .b = s2_body_id(world, joint->b),
      .enabled = joint->enabled,
      .collide = joint->collide,
      .name = joint->name,
      .anchor_a = anchor(world, joint->a, joint->local_a),
      .anchor_b = anchor(world, joint->b, joint->local_b),
      .impulse = impulse,
      .force = s2_scale(world->kept.def.substeps / world->kept.def.dt, impulse),
      .angle = angle - joint->angle0,
      .speed = speed,
      .error = hypot(error[0], error[1]),
  };
  return s2_ok();
}

int s2_world_joints(const S2World *world, S2JointId *joints, int capacity) {
  for (int i = 0; i < world->joint_order.count && i < capacity; i++) {
    int32_t slot = world->joint_order.at[i];
    joints[i] = (S2JointId){(uint32_t)slot + 1, world->joints.at[slot].serial};
  }
  return world->joint_order.count;
}
