// Functions of the poses with their first and second derivatives: rigid rows of joints, coordinates
// of joints and bodies. Private to core/diff/linear.
#ifndef S2_LINES_H
#define S2_LINES_H

#include "diff/linear/reduce.h"
#include "dynamics/joints/joint.h"
#include "linalg/dense.h"

typedef struct S2Line { // a function of the poses
  double value;
  double *j;       // n: its gradient
  double *turn;    // n: how J v changes with q
  double rest;     // the part of its speed that bodies without a column and moving goals bring
  int32_t slot[2]; // of the bodies it bends with; S2_NONE: none
  S2JointHessian bend;
} S2Line;

typedef struct S2Lines {
  const S2World *world;
  S2Arena *arena;
  int n;
  int32_t *column; // a body slot: its first column, S2_NONE: it has none
} S2Lines;

S2Lines s2_lines_of(const S2World *world, S2Arena *arena);
S2Line s2_lines_new(const S2Lines *lines); // that of 0
// Adds a derivative by (angle, x, y) of a body.
void s2_line_add_slot(const S2Lines *lines, S2Line *line, int32_t slot, const double j[3]);
// out += factor Hess w, w over the columns
void s2_line_bend(const S2Lines *lines, const S2Line *line, double factor, const double *w,
                  double *out);
// out += factor Hess w, w the velocities of bodies without columns (that move by themselves)
void s2_line_bend_along(const S2Lines *lines, const S2Line *line, double factor, double *out);
S2Line s2_line_of_coordinate(const S2Lines *lines, const S2Coordinate *coordinate);
int s2_line_parts_of(const S2Joint *joint); // coordinates it has

// u = 1 of a force on a body where it is now: N m, N, N.
void s2_input_push(const S2World *world, const S2Input *input, double push[3]);

// Forces of actuators that turn with the poses: along what joints measure, dF/dq = u Hess, and
// fixed to a body, where only its angle counts.
typedef struct S2Turning {
  S2Lines lines;
  int count;
  S2Line *line;
  double *u, *force, *by_pose; // by_pose, force: n numbers to work with
} S2Turning;

// Those of the commands that count now; `backwards`: (dF/dq)' instead of dF/dq.
S2Status s2_turning_of(S2World *world, bool backwards, S2Arena *arena, S2Turning *turning);

// ---- Which rows are independent ---------------------------------------------------------------

typedef struct S2Basis { // orthonormal
  int n, count;
  double *at;
  const double *scale; // n: square roots of masses, over which numbers of rows are measured
  double *try;
} S2Basis;

S2Basis s2_basis_new(const S2Lines *lines);
// True: the row is none that the others make, and is one of them from now on.
bool s2_basis_extend(S2Basis *basis, const double *row);
// The independent rigid rows, into `kept` (n of them at most); returns how many.
int s2_basis_constrain(const S2Lines *lines, S2Basis *basis, S2Line *kept);

// ---- The square system ------------------------------------------------------------------------

// The system K of the present poses and velocities.
typedef struct S2LineSystem {
  S2Lines lines;
  S2Line *line;     // n: rigid rows, then coordinates
  int rigid, count; // how many of the former; and of both
  S2Dense factor;   // of K
} S2LineSystem;

// The rigid rows alone, without coordinates and K.
S2Status s2_lines_hold(const S2World *world, const S2Reduction *reduction, S2Arena *arena,
                       S2LineSystem *system);
S2Status s2_lines_solve_for(const S2World *world, const S2Reduction *reduction, S2Arena *arena,
                            S2LineSystem *system);
// Velocities have changed since, those of bodies with columns.
void s2_lines_retune(S2LineSystem *system);

// ---- The functions of reduce.h for a given system ----------------------------------------------

// Where number k of q is in the state ({q, v} of each body); that of v is 3 further on.
static inline int s2_reduction_place(int k) {
  return 6 * (k / 3) + k % 3;
}

// `mu` (NULL or one a rigid row): v = settled v + M^-1 J' mu.
S2Status s2_reduction_settle_by(S2World *world, S2LineSystem *system, double *mu);
void s2_reduction_lift_by(const S2LineSystem *system, int m, double *lift); // of settled velocities
S2Status s2_reduction_lift_of(S2World *world, S2LineSystem *system, int m, double *lift);
S2Status s2_reduction_lower_by(const S2LineSystem *system, int m, double *lower);

#endif
