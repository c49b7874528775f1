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
  double *turn;    // n: the derivative of J v with respect to q
  double rest;     // speed due to moving goals and to bodies without columns
  int32_t slot[2]; // bodies on which its second derivative depends, or S2_NONE
  S2JointHessian bend;
} S2Line;

typedef struct S2Lines {
  const S2World *world;
  S2Arena *arena;
  int n;
  int32_t *column; // first column of each body slot, or S2_NONE
} S2Lines;

S2Lines s2_lines_of(const S2World *world, S2Arena *arena);
S2Line s2_lines_new(const S2Lines *lines); // the line of a function that is 0 everywhere.
// Adds the derivative with respect to (angle, x, y) of a body.
void s2_line_add_slot(const S2Lines *lines, S2Line *line, int32_t slot, const double j[3]);
// out += factor Hess w, where w covers the columns
void s2_line_bend(const S2Lines *lines, const S2Line *line, double factor, const double *w,
                  double *out);
// out += factor Hess w, where w contains the velocities of bodies without columns, whose motion is
// prescribed
void s2_line_bend_along(const S2Lines *lines, const S2Line *line, double factor, double *out);
S2Line s2_line_of_coordinate(const S2Lines *lines, const S2Coordinate *coordinate);
int s2_line_parts_of(const S2Joint *joint); // returns the number of coordinates of a joint

// Returns the force on a body for u = 1 in its present pose: N m, N, N.
void s2_input_push(const S2World *world, const S2Input *input, double push[3]);

// Actuator forces that turn with the poses. For a force along a joint coordinate, dF/dq = u Hess. A
// force fixed to a body depends only on its angle.
typedef struct S2Turning {
  S2Lines lines;
  int count;
  S2Line *line;
  double *u, *force, *by_pose; // by_pose and force are scratch memory for n numbers
} S2Turning;

// Uses the current commands. If `backwards` is true, (dF/dq)' replaces dF/dq.
S2Status s2_turning_of(S2World *world, bool backwards, S2Arena *arena, S2Turning *turning);

// ---- Which rows are independent ---------------------------------------------------------------

typedef struct S2Basis { // orthonormal
  int n, count;
  double *at;
  const double *scale; // n: square roots of masses, which scale the entries of rows
  double *try;
} S2Basis;

S2Basis s2_basis_new(const S2Lines *lines);
// Adds a row to the basis. Returns false if the row depends on rows already in the basis.
bool s2_basis_extend(S2Basis *basis, const double *row);
// Writes the independent rigid rows to `kept` (at most n) and returns their number.
int s2_basis_constrain(const S2Lines *lines, S2Basis *basis, S2Line *kept);

// ---- The square system ------------------------------------------------------------------------

// The square system K at the present poses and velocities.
typedef struct S2LineSystem {
  S2Lines lines;
  S2Line *line;     // n: rigid rows, then coordinates
  int rigid, count; // number of rigid rows; number of all rows
  S2Dense factor;   // of K
} S2LineSystem;

// Builds only the rigid rows, and neither coordinates nor K.
S2Status s2_lines_hold(const S2World *world, const S2Reduction *reduction, S2Arena *arena,
                       S2LineSystem *system);
S2Status s2_lines_solve_for(const S2World *world, const S2Reduction *reduction, S2Arena *arena,
                            S2LineSystem *system);
// Updates the lines after the velocities of bodies with columns have changed.
void s2_lines_retune(S2LineSystem *system);

// ---- The functions of reduce.h for a given system ----------------------------------------------

// Returns the index of entry k of q in the state ({q, v} of each body). The velocity of that entry
// comes 3 entries later.
static inline int s2_reduction_place(int k) {
  return 6 * (k / 3) + k % 3;
}

// Settles the velocities: v = settled v + M^-1 J' mu. `mu` has one number per rigid row, or is
// NULL.
S2Status s2_reduction_settle_by(S2World *world, S2LineSystem *system, double *mu);
// The velocities must be settled.
void s2_reduction_lift_by(const S2LineSystem *system, int m, double *lift);
S2Status s2_reduction_lift_of(S2World *world, S2LineSystem *system, int m, double *lift);
S2Status s2_reduction_lower_by(const S2LineSystem *system, int m, double *lower);

#endif
