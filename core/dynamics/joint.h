// Private to core/dynamics: what joint types have in common.
#ifndef S2_JOINT_H
#define S2_JOINT_H

#include "dynamics/world.h"

typedef struct S2JointRow {
  double ja[3], jb[3]; // gradient of the position error wrt (angle, x, y) of a and b
} S2JointRow;

// By type: number of rows (at most 3), their Jacobian and position error at poses q.
int s2_joint_rows(const S2Joint *joint, const double *q, S2JointRow rows[3]);
int s2_joint_row_count(const S2Joint *joint);
void s2_joint_error(const S2Joint *joint, const double *q, double error[3]);

// Is it part of the next step: enabled, with at least one body that moves and none disabled?
bool s2_joint_active(const S2World *world, const S2Joint *joint);

// For the create functions: checks bodies and name and fills what all types share; anchors into the
// frame of a slot (or of the world); adds the finished joint.
S2Status s2_joint_prepare(const S2World *world, S2BodyId a, S2BodyId b, bool collide,
                          const char *name, S2Joint *joint);
S2Vec2 s2_joint_local(const S2World *world, int32_t slot, S2Vec2 point);
S2JointId s2_joint_add(S2World *world, const S2Joint *joint);

// hinge.c
int s2_hinge_rows(const S2Joint *joint, const double *q, S2JointRow rows[3]);
void s2_hinge_error(const S2Joint *joint, const double *q, double error[3]);

#endif
