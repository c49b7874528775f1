// Quantities of a world by name, as columns of a table over time, for example "cart.x" and
// "energy.total".
#ifndef S2_COLUMN_H
#define S2_COLUMN_H

#include "dynamics/dynamics.h"

typedef struct S2Column {
  int number;       // internal index of the quantity
  S2BodyId body;    // only one of these is used
  S2JointId joint;  //
  const char *unit; // static text; "" if there is no unit
} S2Column;

// Finds the column of a name. Names of the world: energy.kinetic, energy.potential, energy.total,
// momentum.angular, momentum.x, momentum.y, residual, penetration, joint_error, contacts, step, and
// audit.passage, .jump, .slip, .momentum, .energy, .distance, .drift (S2AuditResiduals). Names of
// the first body of that name: NAME.x, .y, .angle, .vx, .vy, .omega; of the first joint:
// NAME.angle, .speed, .force_x, .force_y, .torque, .error. S2_INVALID: there is no such column.
S2Status s2_column_find(const S2World *world, const char *name, S2Column *column);

// Returns the present value of the column, or NaN if the body or joint no longer exists.
double s2_column_read(S2World *world, const S2Column *column);

#endif
