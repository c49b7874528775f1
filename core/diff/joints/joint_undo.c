// A joint in a solve that is differentiated: the velocities that act on it, and the destinations of
// adjoints.
#include "diff/joints/joint_vjp.h"

#include <string.h>

void s2_joint_velocities(const S2JointUndo *undo, double v[S2_JOINT_COLUMNS]) {
  memset(v, 0, sizeof *v * S2_JOINT_COLUMNS);
  for (int i = 0; i < s2_joint_columns(undo->joint); i++) {
    int node = s2_joint_node(undo, i);
    const double *given = s2_joint_number(undo->joint, undo->step->free_v, i);
    v[i] = node != S2_GROUND ? undo->rows->v[3 * node + i % 3] : given != NULL ? *given : 0;
  }
}

void s2_joint_start(const S2JointUndo *undo, double v[S2_JOINT_COLUMNS]) {
  memset(v, 0, sizeof *v * S2_JOINT_COLUMNS);
  for (int i = 0; i < s2_joint_columns(undo->joint); i++) {
    const double *at = s2_joint_number(undo->joint, undo->step->v0, i);
    v[i] = at == NULL ? 0 : *at;
  }
}

void s2_joint_momenta_bar(const S2JointUndo *undo, double p[S2_JOINT_COLUMNS]) {
  memset(p, 0, sizeof *p * S2_JOINT_COLUMNS);
  for (int i = 0; i < s2_joint_columns(undo->joint); i++) {
    int node = s2_joint_node(undo, i);
    p[i] = node == S2_GROUND ? 0 : undo->rows->rhs[3 * node + i % 3];
  }
}

S2Vec2 s2_joint_arm(const S2JointUndo *undo) {
  int32_t a = undo->joint->a;
  return a == S2_NONE ? s2_vec2(0, 0) : s2_rotate(s2_rot(undo->at.q[3 * a]), undo->joint->local_a);
}

void s2_joint_arm_vjp(S2JointUndo *undo, S2Vec2 push) {
  int32_t a = undo->joint->a;
  double torque = undo->rows->reaction == NULL ? 0 : undo->rows->reaction[3 * undo->slot];
  if (a != S2_NONE && torque != 0) {
    S2Vec2 bar = s2_scale(torque, s2_left(push));
    undo->place.q[3 * a] += s2_dot(s2_left(s2_joint_arm(undo)), bar);
    S2Vec2 local = s2_unrotate(s2_rot(undo->at.q[3 * a]), bar);
    undo->gradient->local_a = s2_add(undo->gradient->local_a, local);
  }
}
