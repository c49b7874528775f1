// Position projection: what is left of overlaps and joint errors is taken out of q1 (or q0).
#ifndef S2_PROJECT_H
#define S2_PROJECT_H

#include "dynamics/step/assemble.h"

// False, here and below: aborted.
bool s2_step_project(S2Step *step);                     // as the world's setting asks for
bool s2_islands_project(S2Step *step);                  // until nothing is left
void s2_step_project_start(S2Step *step);               // q0, under S2_PRE
void s2_island_project(S2Step *step, S2Island *island); // until nothing is left, of one island

typedef struct S2JointErrors { // the equations of an island's joints at q1
  int rows;                    // in the order of the problem
  double *value;               // a row: g
  S2RowSides *side;            // a row
  double largest;              // m, of a joint's equations; keeps a NaN
  bool limited;                // are there limits beside them?
  bool pins;                   // are all of them rigid hinges without limits?
} S2JointErrors;
// The largest overlap or joint error of an island at q1, m. Springs are not snapped to rest.
// `errors` may be NULL, its arrays have room for S2_JOINT_EQUATIONS + 1 rows a joint.
// (violation.c)
double s2_step_violation(const S2Step *step, S2Island *island, S2JointErrors *errors);

typedef struct S2Shaken { // what joints displaced so far
  double *dq;             // 3 a node, those of gears too
  double *lambda;         // 1 a joint equation, S2_JOINT_ROWS a joint at most
  S2JointPart *part;
  int count;
} S2Shaken;
// Removes the errors of the joints' equations from q1 along their rows at q0, all by one
// factorisation; `worst` is the island's violation, `errors` are those at q1, before and after.
// False, and q1 is as it was, where more is violated than those, before or after, or where this
// cannot do it. (shake.c)
bool s2_step_shake(S2Step *step, S2Island *island, S2JointErrors *errors, S2Shaken *shaken,
                   double *worst);

// Takes from v2 the energy that the step and its projection (to q1) have brought. `fed`: the
// projection has put into v2 what joints displaced. (repay.c)
void s2_island_repay(S2Step *step, const S2Island *island, bool fed);
// Is what the step has brought, before any projection, no more than this part of the kinetic energy
// that it may be taken from?
bool s2_island_can_pay(const S2Step *step, const S2Island *island, double part);

#endif
