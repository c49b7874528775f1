// Private to core/dynamics/rattle: steps of linkages, which are islands of rigid hinges and sliders
// without other rows.
//
// rattle.c solves the same equations to the same tolerances for all joints, with lists of rows. In
// a linkage each joint has two equations, so all numbers are in flat arrays, matrices have 2 x 2
// blocks, and joints are measured in one pass. Both results differ by rounding errors. Programs
// (dynamics/program) step islands of up to S2_TABLE_NODES bodies with the bits of rattle.c, so this
// code takes only larger islands.
#ifndef S2_LINKAGE_H
#define S2_LINKAGE_H

#include "dynamics/rattle/rattle.h"
#include "linalg/pairsparse.h"
#include "linalg/quad.h"

typedef struct S2LinkageSide { // derivatives of two rows with respect to (angle, x, y) of a body
  S2Two j[3];
} S2LinkageSide;

typedef struct S2LinkageRows { // the two equations of a joint at given poses
  S2Two value;
  S2LinkageSide a, b;
} S2LinkageRows;

typedef struct S2LinkageLink { // the rows of a joint on a node
  int32_t joint, place;        // its place in the order of elimination
  int32_t side;                // index of its S2LinkageSide in an array of S2LinkageRows, in S2Two
} S2LinkageLink;

typedef struct S2LinkageJoint {
  int32_t slot;
  int32_t a, b; // seats
  bool slides;  // a slider, otherwise a hinge
  S2Vec2 local_a, local_b;
  S2Vec2 across; // slider: the direction of its first equation, in the axes of b
  double angle;  // slider: the constant of its second equation, rad
  // For s2_linkage_loads_turn: the arm at a divided by the inertia of a, the arm at b, and the
  // inverse inertia of b. Inertias of ground are infinite.
  double swing_a, arm_b, light_b;
} S2LinkageJoint;

typedef enum S2LinkageOutcome {
  S2_LINKAGE_SOLVED,
  S2_LINKAGE_TOO_LONG,  // the piece must be divided
  S2_LINKAGE_ELSEWHERE, // rattle.c must step the island
} S2LinkageOutcome;

typedef struct S2Linkage {
  S2Step *step;
  S2Island *island;
  // Seats are places of bodies in the arrays. The nodes of the island come first, then ground
  // bodies, whose inverse masses and velocities are 0. Joint i has the rows 2 i and 2 i + 1.
  int nodes, seats, joints, rows;
  S2LinkageJoint *joint;
  double *inertial, *damping, *force; // 3 per node, as in S2Rattle
  double *q0, *q1;                    // 3 per seat
  double *v0, *u, *v1;                // 3 per seat
  double *angle, *sine, *cosine;      // per seat: scratch of the measurement
  double *inverse, *rhs;              // 3 per seat: 1/mass of the stage, and its momentum
  double *size;                       // per row: 1, or the size of a body (m) for angles
  double *l, *k, *residual, *change;  // per row
  double *impulse, *reaction;         // sums over pieces: one number per row, 3 per joint
  S2LinkageRows *at0, *at1;           // per joint: rows at q0, q1
  // The links of node i begin at link[start[i]]. `slot`: the block of each pair of links of a node.
  int32_t *start, *slot;
  S2LinkageLink *link;
  S2PairSparse matrix;
  S2LinkageSide *pushed;   // scratch: one per link of a node
  double h, done;          // s, as in S2Rattle
  double tolerance, speed; // as in S2Rattle
  double rounding, enough, placed;
  S2Residual worst;
  int certified; // number of linear problems solved
} S2Linkage;

// Steps the island in pieces, as s2_island_rattle does. Returns false if the island is not a
// linkage or needs the general path. The step is then unchanged. (linkage.c)
bool s2_linkage_island(S2Step *step, S2Island *island, const S2LawFrame *frame);

// Functions in linkage_rows.c.
// Finds the links of nodes, the order of elimination and the pattern of the matrix. Returns false
// if the graph of joints is dense.
bool s2_linkage_find_pattern(S2Linkage *linkage);
// Computes the rows at the poses q (3 per seat).
void s2_linkage_measure(S2Linkage *linkage, const double *q, S2LinkageRows *rows);
// Factors the matrix S = left W^-1 right' of two sets of rows, and replaces x by S^-1 x. Returns
// false if rows are linearly dependent.
bool s2_linkage_factor(S2Linkage *linkage, const S2LinkageRows *left, const S2LinkageRows *right,
                       double *x);
// Computes the velocities v (3 per seat) that the impulses x along the rows give.
void s2_linkage_velocity(const S2Linkage *linkage, const S2LinkageRows *rows, const double *x,
                         double *v);
// Computes the speeds along the rows, one per row, at the velocities v (3 per seat).
void s2_linkage_speeds(const S2Linkage *linkage, const S2LinkageRows *rows, const double *v,
                       double *speed);

// Functions in linkage_stage.c: the two stages of a piece, from guesses of their impulses l and k.
// They return false if they find no solution.
S2LinkageOutcome s2_linkage_first(S2Linkage *linkage);
bool s2_linkage_second(S2Linkage *linkage);

// Functions in linkage_turns.c, as in rattle_turns.c.
// Returns the largest rotation (rad) that affects rows, for bodies with the velocities v (3 per
// seat) over the time h.
double s2_linkage_seen_turn(const S2Linkage *linkage, const double *v, double h);
bool s2_linkage_turns_too_far(const S2Linkage *linkage);
bool s2_linkage_loads_turn(const S2Linkage *linkage);
bool s2_linkage_rows_bring(const S2Linkage *linkage);

#endif
