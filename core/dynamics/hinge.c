// Hinge: two bodies (or a body and the world) share a point. Rows of the lcp-physics appendix,
// A.4.1.
//
// Every joint type has a file like this one with the same functions in the same order.
#include "dynamics/joint.h"

static S2Vec2 anchor(const double *q, int32_t slot, S2Vec2 local) {
  return slot == S2_NONE ? local : s2_pose_point(s2_slot_pose(q, slot), local);
}

static S2Vec2 arm(const double *q, int32_t slot, S2Vec2 local) {
  return slot == S2_NONE ? s2_vec2(0, 0) : s2_rotate(s2_rot(q[3 * slot]), local);
}

// g(q) = (x_a + R_a l_a) - (x_b + R_b l_b), so J_a = [-r_y 1 0; r_x 0 1] and J_b = -[same].
int s2_hinge_rows(const S2Joint *joint, const double *q, S2JointRow rows[3]) {
  S2Vec2 ra = arm(q, joint->a, joint->local_a), rb = arm(q, joint->b, joint->local_b);
  rows[0] = (S2JointRow){.ja = {-ra.y, 1, 0}, .jb = {rb.y, -1, 0}};
  rows[1] = (S2JointRow){.ja = {ra.x, 0, 1}, .jb = {-rb.x, 0, -1}};
  return 2;
}

// The difference of the anchors, taken relative to body a so that it keeps its digits far away.
void s2_hinge_error(const S2Joint *joint, const double *q, double error[3]) {
  if (joint->a == S2_NONE || joint->b == S2_NONE) {
    S2Vec2 g = s2_sub(anchor(q, joint->a, joint->local_a), anchor(q, joint->b, joint->local_b));
    error[0] = g.x;
    error[1] = g.y;
    return;
  }
  const double *qa = q + 3 * joint->a, *qb = q + 3 * joint->b;
  S2Vec2 ra = arm(q, joint->a, joint->local_a), rb = arm(q, joint->b, joint->local_b);
  error[0] = (qa[1] - qb[1]) + (ra.x - rb.x);
  error[1] = (qa[2] - qb[2]) + (ra.y - rb.y);
}

S2Status s2_hinge_create(S2World *world, const S2HingeDef *def, S2JointId *id) {
  *id = (S2JointId){0, 0};
  S2_TRY(s2_world_idle(world));
  S2Joint joint = {.type = S2_HINGE};
  S2_TRY(s2_joint_prepare(world, def->a, def->b, def->collide, def->name, &joint));
  if (!isfinite(def->anchor.x) || !isfinite(def->anchor.y)) {
    return s2_error(S2_INVALID, "anchor: finite numbers expected, got {%g, %g}", def->anchor.x,
                    def->anchor.y);
  }
  joint.local_a = s2_joint_local(world, joint.a, def->anchor);
  joint.local_b = s2_joint_local(world, joint.b, def->anchor);
  *id = s2_joint_add(world, &joint);
  return s2_ok();
}
