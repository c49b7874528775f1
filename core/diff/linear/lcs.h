// A step as a linear complementarity system about the present state, in coordinates that joints
// leave free:
//
//     x+ = A x + B u + D lambda + d,    0 <= lambda  _|_  E x + F lambda + H u + c >= 0
//
// x: values of coordinates, then their speeds, as s2_world_linearize_reduced has them. lambda:
// impulses (N s, N m s) of contacts, limits and bounded drives, which the step problem has as rows
// of its own, and slacks (m/s, rad/s). Joints are eliminated. In the plane Coulomb's cone is an
// interval, so that three rows and a slack say all of it (Stewart and Trinkle 1996; Anitescu and
// Potra 1997):
//
//     normal    J_n v + gap/h
//     tangents  J_t v + sigma - s,  -J_t v + sigma + s      s: speed of the surface
//     slack     mu lambda_n - lambda_t+ - lambda_t-
//
// A drive of bounded effort, p in [-m, m], is lambda = p + m beside the impulse -m in d:
//
//     drive     J v - goal + slack
//     slack     2 m - lambda
//
// v is v1 of the speculative step by projection (docs/stepping-options.md), whatever stepping and
// flow the world has: it has one impulse a row, and the two stages would have two. `difference` is
// how far the world's own step ends from that one. v1 carries the positions. If the step ends with
// an impact, rows of the same kinds for v2 follow all others and act only on speeds.
#ifndef S2_LCS_H
#define S2_LCS_H

#include "diff/linear/linearize.h"

typedef enum S2LcsKind {
  S2_LCS_CONTACT,  // a point: normal row alone, or normal, two tangents, slack
  S2_LCS_LIMIT_LO, // of a joint: a row
  S2_LCS_LIMIT_HI,
  S2_LCS_MOTOR, // of bounded effort: a row and its slack
  S2_LCS_FRICTION,
} S2LcsKind;

typedef struct S2LcsPart { // neighbouring rows that belong together
  S2LcsKind kind;
  S2BodyId a, b;         // CONTACT: the normal points from b to a
  S2JointId joint;       // the others
  S2Vec2 point, normal;  // CONTACT: world, m
  double gap;            // m or rad; of a limit the distance to it
  double friction, most; // CONTACT: mu; a drive: N s or N m s
  bool soft;             // CONTACT: gives way, and takes no part in impacts
  int row, rows;         // the first of them, how many
  int impact;            // the first of as many rows of the impact; -1: none
} S2LcsPart;

typedef struct S2Lcs { // in the arena; matrices are row-major
  int states, inputs, rows;
  int first;              // rows before those of the impact
  double *a, *b, *dl, *d; // states x (states, inputs, rows, 1); dl: D
  double *e, *f, *h, *c;  // rows x (states, rows, inputs, 1)
  double *x0, *next;      // the state, and that after the step
  double *lambda;         // of the step at x0, u0
  double *defect;         // states: of next, what rows did not bring and d has
  double *difference;     // states: the world's own step from x0, u0 less `next`
  int coordinates, parts;
  S2Coordinate *coordinate;
  S2LcsPart *part;
} S2Lcs;

typedef enum S2LcsImpacts { S2_LCS_AS_STEP, S2_LCS_NO_IMPACT, S2_LCS_IMPACT } S2LcsImpacts;

typedef struct S2LcsDef {
  const S2Input *inputs;
  const double *u0; // that act already: commands of actuators, 0 of other inputs
  int input_count;
  const S2Coordinate *wanted; // as s2_world_linearize_reduced
  int wanted_count;
  double margin;        // m: gaps up to here have rows, beside what may meet within the step
  S2LcsImpacts impacts; // rows for them: as the step at hand has one, never, always
} S2LcsDef;

// `world` is a clone, which stays where it is. S2_INVALID names a setting, joint or body that has
// no such rows.
S2Status s2_world_lcs(S2World *world, const S2LcsDef *def, S2Arena *arena, S2Lcs *lcs);

// Coordinates and their speeds, of velocities without what is against the joints: 2 count numbers.
S2Status s2_coordinates_read(S2World *world, const S2Coordinate *coordinate, int count,
                             S2Arena *arena, double *x);

#endif
