// Position projection: removes remaining overlaps and joint errors from q1 (or q0).
#ifndef S2_PROJECT_H
#define S2_PROJECT_H

#include "dynamics/step/assemble.h"

// The first two functions return false if aborted.
// Projects as the setting `stabilization` specifies.
bool s2_step_project(S2Step *step);
bool s2_islands_project(S2Step *step);                  // projects until no error remains
void s2_step_project_start(S2Step *step);               // projects q0, for S2_PRE
void s2_island_project(S2Step *step, S2Island *island); // projects the positions of one island

typedef struct S2JointErrors { // equations of an island's joints at q1
  int rows;                    // rows, in the order of the problem
  double *value;               // per row: the value g
  S2RowSides *side;            // per row
  double largest;              // m: largest error of a joint's equations; keeps a NaN
  bool limited;                // whether the island also has joint limits
  bool pins;                   // whether all joints are rigid hinges without limits
} S2JointErrors;
// m: the largest overlap or joint error of an island at q1. Springs do not count. `errors` may be
// NULL; its arrays need room for S2_JOINT_EQUATIONS + 1 rows per joint. (violation.c)
double s2_step_violation(const S2Step *step, S2Island *island, S2JointErrors *errors);

typedef struct S2Shaken { // total displacements by joints
  double *dq;             // 3 per node, including nodes of gears
  double *lambda;         // 1 per joint equation, at most S2_JOINT_ROWS per joint
  S2JointPart *part;
  int count;
} S2Shaken;
// Removes the errors of joint equations from q1 along the joints' rows at q0, with a single
// factorisation. *worst: the island's violation. `errors`: the errors at q1, before and after.
// Returns false, with q1 unchanged, if other errors are larger (before or after), or if the method
// does not apply. (shake.c)
bool s2_step_shake(S2Step *step, S2Island *island, S2JointErrors *errors, S2Shaken *shaken,
                   double *worst);

// Removes from v2 the energy that the step and its projection to q1 have added. `fed`: whether the
// projection has added the joint displacements to v2. (repay.c)
void s2_island_repay(S2Step *step, const S2Island *island, bool fed);
// Whether the energy that the step has added before any projection is at most the fraction `part`
// of the kinetic energy from which it may be taken.
bool s2_island_can_pay(const S2Step *step, const S2Island *island, double part);

#endif
