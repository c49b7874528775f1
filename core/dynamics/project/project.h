// Position projection: removes remaining overlaps and joint errors from q1 (or q0).
#ifndef S2_PROJECT_H
#define S2_PROJECT_H

#include "dynamics/step/assemble.h"

// Projects as the setting `stabilization` specifies. Like the next function, returns false if
// aborted.
bool s2_step_project(S2Step *step);
bool s2_islands_project(S2Step *step);                  // projects until no error remains
void s2_step_project_start(S2Step *step);               // projects q0, for S2_PRE
void s2_island_project(S2Step *step, S2Island *island); // projects the positions of one island

typedef struct S2JointErrors { // equations of an island's joints at q1
  int rows;                    // number of rows, in the order of the problem's rows
  double *value;               // per row: the value g of its equation
  S2RowSides *side;            // per row
  double largest;              // m: largest error of a joint's equations; NaN if any error is NaN
  bool limited;                // true if the island also has joint limits
  bool pins;                   // true if all joints are rigid hinges without limits
} S2JointErrors;
// m: the largest overlap or joint error of an island at q1. Springs do not count. `errors` may be
// NULL. Its arrays need room for S2_JOINT_EQUATIONS + 1 rows per joint. (violation.c)
double s2_step_violation(const S2Step *step, S2Island *island, S2JointErrors *errors);

typedef struct S2Shaken { // total displacements caused by joints
  double *dq;             // 3 per node, including nodes of gears
  double *lambda;         // 1 per joint equation, at most S2_JOINT_ROWS per joint
  S2JointPart *part;
  int count;
} S2Shaken;
// Removes joint errors from q1 with a single factorisation, by displacements along the joints' rows
// at q0. On entry and on return, *worst is the island's largest error (m), and `errors` contains
// the joint errors at q1. Returns false and leaves q1 unchanged if an error of another kind is
// larger, or if the method does not apply. (shake.c)
bool s2_step_shake(S2Step *step, S2Island *island, S2JointErrors *errors, S2Shaken *shaken,
                   double *worst);

// Removes from v2 the energy that the step and its projection to q1 have added. `fed`: whether the
// projection has added the joint displacements to v2. (repay.c)
void s2_island_repay(S2Step *step, const S2Island *island, bool fed);
// Returns true if the energy added by the step is at most `part` times the kinetic energy from
// which it can be removed. Call this before any projection.
bool s2_island_can_pay(const S2Step *step, const S2Island *island, double part);

#endif
