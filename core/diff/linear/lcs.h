// A step as a linear complementarity system (LCS) about the present state, in the independent
// coordinates that joints allow:
//
//     x+ = A x + B u + D lambda + d,    0 <= lambda  _|_  E x + F lambda + H u + c >= 0
//
// The state x contains the values of the coordinates, then their speeds, as in
// s2_world_linearize_reduced. The vector lambda contains the impulses (N s, N m s) of contacts,
// limits and bounded drives, and slacks (m/s, rad/s). Each contact, limit and drive has its own
// rows. Joints are eliminated. In the plane Coulomb's cone is an interval, so three rows and a
// slack represent it exactly (Stewart and Trinkle 1996; Anitescu and Potra 1997):
//
//     normal    J_n v + gap/h
//     tangents  J_t v + sigma - s,  -J_t v + sigma + s      s: speed of the surface
//     slack     mu lambda_n - lambda_t+ - lambda_t-
//
// The impulse p of a drive with bounded effort lies in [-m, m]. It is represented by lambda = p +
// m, with the impulse -m as a part of d:
//
//     drive     J v - goal + slack
//     slack     2 m - lambda
//
// Here v is v1 of the speculative step by projection (docs/stepping-options.md), regardless of the
// world's stepping and flow. That step has one impulse per row. The two-stage flow would have two.
// `difference` is the final state of the world's own step minus the final state of the
// speculative step. v1 moves the positions. If the step ends with an impact, rows of the same kinds
// for v2 follow all other rows. They affect only speeds.
#ifndef S2_LCS_H
#define S2_LCS_H

#include "diff/linear/linearize.h"

typedef enum S2LcsKind {
  S2_LCS_CONTACT,  // contact point: one normal row; or normal, two tangents, slack
  S2_LCS_LIMIT_LO, // limit of a joint: one row
  S2_LCS_LIMIT_HI,
  S2_LCS_MOTOR, // drive with bounded effort: a row and its slack
  S2_LCS_FRICTION,
} S2LcsKind;

typedef struct S2LcsPart { // consecutive rows of one contact point, limit or drive
  S2LcsKind kind;
  S2BodyId a, b;         // CONTACT: the normal points from b to a
  S2JointId joint;       // the others
  S2Vec2 point, normal;  // CONTACT: world, m
  double gap;            // m or rad; for a limit the distance to it
  double friction, most; // CONTACT: mu; a drive: N s or N m s
  bool soft;             // compliant contacts take no part in impacts
  int row, rows;         // first row and number of rows
  int impact;            // first of its `rows` impact rows, or -1
} S2LcsPart;

typedef struct S2Lcs { // in the arena; matrices are row-major
  int states, inputs, rows;
  int first;              // number of rows before the impact rows
  double *a, *b, *dl, *d; // states x (states, inputs, rows, 1); dl: D
  double *e, *f, *h, *c;  // rows x (states, rows, inputs, 1)
  double *x0, *next;      // the state before and after the step
  double *lambda;         // solution for the step at x0, u0
  double *defect;         // the part of `next` that no row causes; d includes it
  double *difference;     // final state of the world's own step from x0, u0, minus `next`
  int coordinates, parts;
  S2Coordinate *coordinate;
  S2LcsPart *part;
} S2Lcs;

typedef enum S2LcsImpacts { S2_LCS_AS_STEP, S2_LCS_NO_IMPACT, S2_LCS_IMPACT } S2LcsImpacts;

typedef struct S2LcsDef {
  const S2Input *inputs;
  const double *u0; // present inputs: commands of actuators, 0 for other inputs
  int input_count;
  const S2Coordinate *wanted; // as s2_world_linearize_reduced
  int wanted_count;
  double margin; // m: rows exist for gaps below this, and for gaps that may close in the step
  S2LcsImpacts impacts; // when to add impact rows: if the step has an impact, never, or always
} S2LcsDef;

// `world` must be a clone. Its state does not change. Returns S2_INVALID with a message that names
// a setting, joint or body that an LCS cannot describe.
S2Status s2_world_lcs(S2World *world, const S2LcsDef *def, S2Arena *arena, S2Lcs *lcs);

// Reads 2 count numbers: first the values of the coordinates, then their speeds. The speeds do not
// include the part of the velocities that violates the joints.
S2Status s2_coordinates_read(S2World *world, const S2Coordinate *coordinate, int count,
                             S2Arena *arena, double *x);

#endif
